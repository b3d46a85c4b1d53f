/* See generate.h. A table is made from a line of plans.txt: its columns in order, some left out or repeated,
 * strangers between them; a locale, rows that belong together, an order of rows; then missing cells and
 * marks. */
#include "tools/train/generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/sector/sectors.h"
#include "tools/train/maker.h"

static const char PLANS[] = "tools/train/plans.txt";

typedef struct {
    char *line; /* "sector: column; column" */
    const char *columns;
    int sector; /* or ANY */
} plan;

enum { MOST = 40, PLAN_MOST = 2048, ANY = -1 };

static size_t read_plans(tab_arena *a, plan *p)
{
    FILE *f = fopen(PLANS, "r");
    char *line = NULL;
    size_t cap = 0, n = 0;
    ssize_t k;
    if (f == NULL) {
        fprintf(stderr, "cannot read %s (run from the project's root)\n", PLANS);
        return 0;
    }
    while ((k = getline(&line, &cap, f)) > 0 && n < PLAN_MOST) {
        if (k > 0 && line[k - 1] == '\n')
            line[--k] = 0;
        char *colon = strchr(line, ':');
        if (line[0] == '#' || colon == NULL)
            continue;
        tab_str all = tab_arena_copy(a, (tab_str){ line, (size_t)k + 1 });
        p[n].line = (char *)(uintptr_t)all.p;
        p[n].columns = p[n].line + (colon - line) + 1;
        tab_str sector = { line, (size_t)(colon - line) };
        p[n].sector = tab_str_eq(sector, TAB_S("any")) ? ANY : tab_sector_of(sector);
        if (p[n].sector < 0 && !tab_str_eq(sector, TAB_S("any"))) {
            fprintf(stderr, "%s: no sector %.40s\n", PLANS, line);
            exit(1);
        }
        n++;
    }
    free(line);
    fclose(f);
    return n;
}

/* "3*role argument" */
static size_t read_spec(const char *from, size_t n, spec *s)
{
    char buf[560], name[40] = "";
    size_t times = 1;
    while (n > 0 && *from == ' ')
        from++, n--;
    while (n > 0 && from[n - 1] == ' ')
        n--;
    snprintf(buf, sizeof buf, "%.*s", (int)n, from);
    const char *p = buf;
    if (p[0] >= '1' && p[0] <= '9' && p[1] == '*') {
        times = (size_t)(p[0] - '0');
        p += 2;
    }
    size_t k = strcspn(p, " ");
    snprintf(name, sizeof name, "%.*s", (int)k, p);
    snprintf(s->arg, sizeof s->arg, "%.470s", p[k] == ' ' ? p + k + 1 : "");
    s->role = tab_role_of(tab_str_of(name));
    if (s->role < 0) {
        fprintf(stderr, "%s: no role %s\n", PLANS, name);
        exit(1);
    }
    return times;
}

/* A number of JSON that a double holds, as the CSV reader takes it. */
static bool plain_number(tab_str s, double *x)
{
    char buf[24], *end;
    size_t i = s.n > 0 && s.p[0] == '-';
    if (s.n == 0 || s.n > 15 || i >= s.n || s.p[i] < '0' || s.p[i] > '9' ||
        (s.p[i] == '0' && i + 1 < s.n && s.p[i + 1] != '.') || s.p[s.n - 1] == '.')
        return false;
    for (size_t k = i; k < s.n; k++)
        if (!(s.p[k] >= '0' && s.p[k] <= '9') && s.p[k] != '.')
            return false;
    memcpy(buf, s.p, s.n);
    buf[s.n] = 0;
    *x = strtod(buf, &end);
    return *end == 0;
}

/* Missing cells and marks, then the builder. */
static bool finish(maker *m, const spec *s, tab_column *col)
{
    static const char *const marks[] = { "NA",   "N/A", "-",       "?", "unknown", "None", "null",
                                         "-999", "n/a", "Unknown", ".", "--",      "999",  "nan" };
    chance *c = m->c;
    double missing = chance_of(c, 0.22)
                         ? chance_of(c, 0.2) ? chance_unit(c) * 0.9 : 0.25 * chance_unit(c) * chance_unit(c)
                         : 0;
    const char *mark =
        missing > 0 && chance_of(c, 0.25) && s->role != TAB_ROLE_FLAG ? marks[chance_below(c, 14)] : NULL;
    bool plain = true;
    double x;
    if (missing > 0)
        for (size_t i = 0; i < m->rows; i++)
            if (chance_of(c, missing))
                m->cell[i] = mark == NULL ? (tab_str){ NULL, 0 } : tab_str_of(mark);
    for (size_t i = 0; i < m->rows && plain; i++)
        plain = m->cell[i].p == NULL || m->cell[i].n == 0 || plain_number(m->cell[i], &x);
    if (plain && chance_of(c, 0.05))
        plain = false; /* numbers sent as text */
    tab_builder *b = tab_builder_new(m->a, TAB_S(""));
    if (b == NULL)
        return false;
    for (size_t i = 0; i < m->rows; i++) {
        tab_str w = m->cell[i];
        if (w.p == NULL || w.n == 0)
            tab_builder_null(b);
        else if (plain && plain_number(w, &x))
            tab_builder_number(b, x);
        else
            tab_builder_text(b, w);
    }
    return tab_builder_finish(b, col);
}

/* Rows of one thing (a patient's visits, a firm's years) share what describes the thing. */
static bool goes_with_group(maker *m, int role)
{
    switch (tab_role_family[role]) {
    case TAB_FAMILY_PERSON:
    case TAB_FAMILY_CONTACT:
    case TAB_FAMILY_PLACE:
    case TAB_FAMILY_THING:
    case TAB_FAMILY_VOCABULARY:
        return chance_of(m->c, 0.8);
    case TAB_FAMILY_IDENTIFIER:
        return chance_of(m->c, 0.35);
    case TAB_FAMILY_CATEGORY:
    case TAB_FAMILY_FLAG:
        return chance_of(m->c, 0.5);
    case TAB_FAMILY_QUANTITY:
    case TAB_FAMILY_GEO:
        return chance_of(m->c, 0.12);
    default:
        return false;
    }
}

static bool make_column(maker *m, const spec *s, tab_column *col)
{
    bool numeric = false, made = false, ok;
    m->cell = tab_arena_new_of(m->a, tab_str, m->rows);
    m->now = tab_arena_new_of(m->a, double, m->rows);
    drift_column(m);
    if (m->cell == NULL || m->now == NULL || !make_numbers(m, s, &numeric))
        return false;
    if (numeric) {
        if (strstr(s->arg, "total") == NULL && strstr(s->arg, "product") == NULL && m->group != NULL &&
            goes_with_group(m, s->role))
            for (size_t i = 0; i < m->rows; i++) {
                m->cell[i] = m->cell[m->group[i]];
                m->now[i] = m->now[m->group[i]];
            }
        if (s->role == TAB_ROLE_AMOUNT || s->role == TAB_ROLE_COUNT || s->role == TAB_ROLE_MEASURE ||
            s->role == TAB_ROLE_PERCENTAGE) {
            m->last[0] = m->last[1];
            m->last[1] = m->now;
        }
        return finish(m, s, col);
    }
    switch (s->role) {
    case TAB_ROLE_DATE:
    case TAB_ROLE_DATETIME:
    case TAB_ROLE_BIRTH_DATE:
    case TAB_ROLE_TIME:
    case TAB_ROLE_PERIOD:
    case TAB_ROLE_MONTH:
    case TAB_ROLE_WEEKDAY:
    case TAB_ROLE_DURATION:
        ok = make_times(m, s);
        break;
    default:
        ok = make_codes(m, s, &made);
        if (ok && !made)
            ok = make_texts(m, s);
    }
    if (!ok)
        return false;
    if (m->group != NULL && goes_with_group(m, s->role))
        for (size_t i = 0; i < m->rows; i++)
            m->cell[i] = m->cell[m->group[i]];
    return finish(m, s, col);
}

/* Open, high, low, close from a walk: four columns whose order never breaks. */
static bool make_ohlc(maker *m, tab_column *col, int *role)
{
    double close = exp(1 + 6 * chance_unit(m->c)), wild = 0.004 + 0.03 * chance_unit(m->c);
    int decimals = chance_of(m->c, 0.7) ? 2 : 4;
    tab_builder *b[4];
    for (int k = 0; k < 4; k++)
        if ((b[k] = tab_builder_new(m->a, TAB_S(""))) == NULL)
            return false;
    double scale = pow(10, decimals);
    for (size_t i = 0; i < m->rows; i++) {
        double open = close * (1 + 0.3 * wild * chance_normal(m->c));
        close = fmax(0.5, open * (1 + wild * chance_normal(m->c)));
        double v[4] = { open, fmax(open, close) * (1 + 0.5 * wild * chance_unit(m->c)),
                        fmin(open, close) * (1 - 0.5 * wild * chance_unit(m->c)), close };
        for (int k = 0; k < 4; k++)
            tab_builder_number(b[k], round(v[k] * scale) / scale);
    }
    for (int k = 0; k < 4; k++) {
        role[k] = TAB_ROLE_AMOUNT;
        if (!tab_builder_finish(b[k], &col[k]))
            return false;
    }
    return true;
}

/* What any table may have beside what its trade asks for. */
static const char *const anywhere[] = { "id",
                                        "id ref",
                                        "datetime",
                                        "date",
                                        "text",
                                        "flag",
                                        "code",
                                        "status",
                                        "category",
                                        "year",
                                        "name",
                                        "email",
                                        "count 0..60",
                                        "country",
                                        "city",
                                        "url",
                                        "username",
                                        "uuid",
                                        "currency_code",
                                        "unit",
                                        "label",
                                        "version",
                                        "rank",
                                        "measure 0..100",
                                        "percentage 0..100",
                                        "hash",
                                        "phone",
                                        "address",
                                        "language",
                                        "timezone",
                                        "list",
                                        "json",
                                        "range",
                                        "postal_code",
                                        "domain",
                                        "file_path",
                                        "color",
                                        "weekday",
                                        "month",
                                        "period",
                                        "duration",
                                        "coordinates",
                                        "national_id",
                                        "tax_id",
                                        "passport",
                                        "driver_license",
                                        "birth_date",
                                        "account_number",
                                        "iban",
                                        "credit_card",
                                        "ip_address",
                                        "mac_address",
                                        "imei",
                                        "password",
                                        "license_plate",
                                        "vin",
                                        "isbn",
                                        "gtin",
                                        "doi",
                                        "lei",
                                        "isin",
                                        "bic",
                                        "crypto_address",
                                        "user_agent",
                                        "medical_code",
                                        "industry_code",
                                        "religion",
                                        "nationality",
                                        "marital_status",
                                        "education_level",
                                        "ethnicity",
                                        "species",
                                        "airport_code",
                                        "ticker",
                                        "first_name",
                                        "last_name",
                                        "job_title",
                                        "organization",
                                        "product",
                                        "title",
                                        "place",
                                        "region",
                                        "country_code",
                                        "time",
                                        "date_part",
                                        "latitude",
                                        "longitude",
                                        "rating",
                                        "amount 1..5000",
                                        "age",
                                        "gender" };

/* Rows of one thing side by side, 2 to 16 of them: in a quarter of the tables. False: out of memory. */
static bool draw_groups(maker *m)
{
    if (!chance_of(m->c, 0.25))
        return true;
    uint32_t *group = tab_arena_new_of(m->a, uint32_t, m->rows), at = 0;
    if (group == NULL)
        return false;
    size_t each = 2 + chance_below(m->c, 15);
    for (size_t i = 0; i < m->rows; i++) {
        at = i % each == 0 ? (uint32_t)i : at;
        group[i] = at;
    }
    m->group = group;
    return true;
}

/* Rows, country, script and groups of a table. False: out of memory. */
static bool begin_table(maker *m)
{
    chance *c = m->c;
    m->loc = &train_locales[chance_of(c, 0.4) ? chance_below(c, 2) : chance_below(c, train_locale_count)];
    m->rows = chance_of(c, 0.35) ? 8 + (size_t)exp(2.5 + 3.2 * chance_unit(c))
                                 : 120 + (size_t)exp(4 + 3 * chance_unit(c));
    if (chance_of(c, 0.05)) /* in a long table everything but keys repeats */
        m->rows *= 4 + chance_below(c, 5);
    if (!drift_begin(m))
        return false;
    for (int tries = 0; chance_of(c, 0.12) && m->script == 0 && tries < 20; tries++) {
        m->script = -1; /* any */
        m->script = script_of(word_of(m, "city"));
    }
    return draw_groups(m);
}

/* The columns of a table while it is made. */
typedef struct {
    tab_column *col; /* (MOST) */
    int *role;       /* (MOST) */
    size_t n;
} columns;

static bool add_column(maker *m, const spec *s, columns *k)
{
    k->role[k->n] = s->role;
    return make_column(m, s, &k->col[k->n++]);
}

/* The plan's columns: some left out, some repeated, some strangers between them. */
static bool add_columns(maker *m, const plan *p, columns *k)
{
    chance *c = m->c;
    double keep = chance_of(c, 0.3) ? 1 : 0.5 + 0.5 * chance_unit(c),
           extra = chance_of(c, 0.5) ? 0 : 0.12 * chance_unit(c);
    spec s;
    for (const char *from = p->columns; from != NULL && *from != 0 && k->n + 12 < MOST;) {
        const char *to = strchr(from, ';');
        size_t len = to == NULL ? strlen(from) : (size_t)(to - from), times = read_spec(from, len, &s);
        from = to == NULL ? NULL : to + 1;
        if (chance_of(c, extra)) { /* a stranger */
            spec x = { 0 };
            const char *any = anywhere[chance_below(c, sizeof anywhere / sizeof *anywhere)];
            read_spec(any, strlen(any), &x);
            if (!add_column(m, &x, k))
                return false;
        }
        if (!chance_of(c, keep))
            continue;
        if (s.role == TAB_ROLE_AMOUNT && strcmp(s.arg, "o") == 0) {
            if (!make_ohlc(m, k->col + k->n, k->role + k->n))
                return false;
            k->n += 4;
            continue;
        }
        if (times > 1)
            times = 1 + chance_below(c, times + 2);
        for (size_t i = 0; i < times && k->n + 8 < MOST; i++)
            if (!add_column(m, &s, k))
                return false;
    }
    if (k->n > 0)
        return true;
    read_spec("id", 2, &s); /* all were left out */
    return add_column(m, &s, k);
}

static bool make_table(tab_arena *a, chance *c, const plan *p, int sector, tab_labelled *t)
{
    columns k = { tab_arena_new_of(a, tab_column, MOST), tab_arena_new_of(a, int, MOST), 0 };
    int *type = tab_arena_new_of(a, int, MOST);
    tab_table *table = tab_arena_new_of(a, tab_table, 1);
    maker m = { .a = a, .c = c, .sector = tab_sectors[sector].slug };
    if (k.col == NULL || k.role == NULL || type == NULL || table == NULL || !begin_table(&m) ||
        !add_columns(&m, p, &k))
        return false;
    if (chance_of(c, 0.3)) /* some columns elsewhere */
        for (size_t swap = 0; swap < 3; swap++) {
            size_t i = chance_below(c, k.n), j = chance_below(c, k.n);
            tab_column x = k.col[i];
            int r = k.role[i];
            k.col[i] = k.col[j], k.role[i] = k.role[j];
            k.col[j] = x, k.role[j] = r;
        }
    for (size_t i = 0; i < k.n; i++)
        type[i] = -1;
    *table = (tab_table){ .id = TAB_S("generated"), .rows = m.rows, .cols = k.n, .col = k.col };
    *t = (tab_labelled){ .table = table, .role = k.role, .type = type, .sector = sector };
    snprintf(t->source, sizeof t->source, "%.90s", p->line); /* tables of one plan stay together in folds */
    return true;
}

bool tab_generate_tables(tab_arena *a, size_t n, uint64_t seed, tab_labelled **ret, size_t *count)
{
    plan *p = tab_arena_new_of(a, plan, PLAN_MOST);
    tab_labelled *t = tab_arena_new_of(a, tab_labelled, n * TAB_SECTORS);
    *count = 0;
    if (t == NULL || p == NULL)
        return false;
    size_t plans = read_plans(a, p);
    chance c = { seed };
    for (int s = 0; s < TAB_SECTORS; s++) {
        size_t mine[64], k = 0;
        for (size_t i = 0; i < plans && k < 64; i++)
            if (p[i].sector == s || p[i].sector == ANY)
                mine[k++] = i;
        for (size_t i = 0; i < n && k > 0; i++)
            if (!make_table(a, &c, &p[mine[i % k]], s, &t[(*count)++])) {
                fputs("out of memory\n", stderr);
                return false;
            }
    }
    *ret = t;
    return *count > 0;
}
