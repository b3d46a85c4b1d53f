#include "tools/train/generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/profile/parse.h"
#include "services/inference/engine/profile/roles.h"
#include "services/inference/engine/sector/sectors.h"
#include "tools/train/schemas.h"

/* ---- chance ------------------------------------------------------------------------------------------ */

typedef struct {
    uint64_t s;
} chance;

static uint64_t next(chance *c) /* splitmix64 */
{
    uint64_t z = c->s += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}
static double unit(chance *c) { return (double)(next(c) >> 11) * 0x1p-53; }
static size_t below(chance *c, size_t n) { return n == 0 ? 0 : (size_t)(next(c) % n); }
static double normal(chance *c)
{
    double u = fmax(1e-12, unit(c));
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * unit(c));
}

/* ---- word lists ---------------------------------------------------------------------------------------- */

typedef struct {
    char name[64];
    tab_str *word;
    size_t n;
} list;
static list lists[96];
static size_t list_count;

static const list *words_of(tab_arena *a, const char *name)
{
    for (size_t i = 0; i < list_count; i++)
        if (strcmp(lists[i].name, name) == 0)
            return &lists[i];
    if (list_count == sizeof lists / sizeof *lists)
        return &lists[0];
    list *l = &lists[list_count++];
    char path[256];
    snprintf(l->name, sizeof l->name, "%s", name);
    snprintf(path, sizeof path, "services/inference/engine/lexicon/%s.txt", name);
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        fprintf(stderr, "cannot read %s (run from the project's root)\n", path);
        exit(1);
    }
    char *line = NULL;
    size_t cap = 0, room = 1024;
    ssize_t n;
    l->word = malloc(room * sizeof *l->word);
    while (l->word != NULL && (n = getline(&line, &cap, f)) > 0) {
        if (line[0] == '#')
            continue;
        for (char *p = line, *end = line + n; p < end;) {
            while (p < end && (*p == ' ' || *p == '\n'))
                p++;
            char *q = p;
            while (q < end && *q != ';' && *q != '\n')
                q++;
            if (q > p) {
                if (l->n == room) {
                    tab_str *more = realloc(l->word, 2 * room * sizeof *more);
                    if (more == NULL)
                        exit(1);
                    l->word = more;
                    room *= 2;
                }
                l->word[l->n++] = tab_arena_copy(a, (tab_str){ p, (size_t)(q - p) });
            }
            p = q + 1;
        }
    }
    free(line);
    fclose(f);
    return l;
}

/* ---- one column ------------------------------------------------------------------------------------------ */

typedef struct {
    tab_arena *a;
    chance *c;
    size_t rows;
    const char *sector;
    double *last[2]; /* the two columns of numbers before */
    double *ohlc;
} maker;

static double rounded(double x, int d)
{
    double t = pow(10, d);
    return round(x * t) / t;
}

static tab_str text(maker *m, const char *s) { return tab_arena_copy(m->a, tab_str_of(s)); }

static tab_str title_case(maker *m, tab_str w)
{
    tab_str s = tab_arena_copy(m->a, w);
    char *p = (char *)(uintptr_t)s.p;
    for (size_t i = 0; i < s.n; i++)
        if ((i == 0 || p[i - 1] == ' ') && p[i] >= 'a' && p[i] <= 'z')
            p[i] = (char)(p[i] - 32);
    return s;
}

static tab_str pick(maker *m, const char *name)
{
    const list *l = words_of(m->a, name);
    return l->word[below(m->c, l->n)];
}

static void from_template(chance *c, const char *t, size_t n, char *out)
{
    static const char hexes[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++)
        out[i] = t[i] == '9' ? (char)('0' + below(c, 10)) : t[i] == 'A' ? (char)('A' + below(c, 26)) :
                 t[i] == 'a' ? (char)('a' + below(c, 26)) : t[i] == 'L' ? (char)('L' + below(c, 3)) :
                 t[i] == 'H' ? hexes[below(c, 16)] : t[i];
    out[n] = 0;
}

static void luhn_end(char *d, size_t n)
{
    int sum = 0;
    for (size_t i = 1; i < n; i++) {
        int v = d[n - 1 - i] - '0';
        if (i % 2 == 1 && (v *= 2) > 9)
            v -= 9;
        sum += v;
    }
    d[n - 1] = (char)('0' + (10 - sum % 10) % 10);
}

/* Numbers of a check digit: random digits, then the digit that makes them right. */
static void checked(chance *c, int role, char *d, size_t n)
{
    if (role == TAB_ROLE_CREDIT_CARD) {
        for (size_t i = 1; i < n; i++)
            d[i] = (char)('0' + below(c, 10));
        luhn_end(d, n);
    } else if (role == TAB_ROLE_GTIN || role == TAB_ROLE_ISBN) {
        for (size_t i = 3; i < n; i++)
            d[i] = (char)('0' + below(c, 10));
        int sum = 0;
        for (size_t i = 0; i + 1 < n; i++)
            sum += (d[i] - '0') * (i % 2 == 1 ? 3 : 1);
        d[n - 1] = (char)('0' + (10 - sum % 10) % 10);
    }
}

static void date_text(maker *m, int64_t day, int layout, char *out, size_t n)
{
    static const char *const mon[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    int y, mo, d;
    (void)m;
    tab_civil_from_days(day, &y, &mo, &d);
    switch (layout) {
    case 0: case 1: case 2: snprintf(out, n, "%04d-%02d-%02d", y, mo, d); break;
    case 3: snprintf(out, n, "%d/%d/%d", mo, d, y); break;
    case 4: snprintf(out, n, "%02d/%02d/%04d", d, mo, y); break;
    case 5: snprintf(out, n, "%02d.%02d.%04d", d, mo, y); break;
    case 6: snprintf(out, n, "%02d-%s-%02d", d, mon[mo - 1], y % 100); break;
    case 7: snprintf(out, n, "%s %d, %d", mon[mo - 1], d, y); break;
    case 8: snprintf(out, n, "%04d%02d%02d", y, mo, d); break;
    default: snprintf(out, n, "%04d-%02d-%02d 00:00:00", y, mo, d); break;
    }
}

static bool make_column(maker *m, const char *spec, size_t len, tab_column *col, int *role)
{
    char buf[512], kind = 0, arg[400] = "";
    char role_name[40] = "";
    snprintf(buf, sizeof buf, "%.*s", (int)len, spec);
    if (sscanf(buf, "%39s %c %399[^\n]", role_name, &kind, arg) < 2)
        return false;
    *role = tab_role_of(tab_str_of(role_name));
    if (*role < 0) {
        fprintf(stderr, "no role %s\n", role_name);
        exit(1);
    }
    chance *c = m->c;
    size_t rows = m->rows;
    tab_builder *b = tab_builder_new(m->a, TAB_S(""));
    double *num = tab_arena_new_of(m->a, double, rows);
    if (b == NULL || num == NULL)
        return false;
    double x = 0, y = 0, z = 0;
    char q = 0;
    int got = sscanf(arg, "%lf %lf %lf", &x, &y, &z);
    (void)got;
    double missing = unit(c) < 0.25 ? 0.3 * unit(c) * unit(c) : 0, scale = 1;
    bool numeric = strchr("nulgrismqyo", kind) != NULL && kind != 0;
    int affix = 0; /* how a number is written */
    if (numeric && (*role == TAB_ROLE_AMOUNT) && unit(c) < 0.12)
        affix = 1 + (int)below(c, 4);
    if (numeric && *role == TAB_ROLE_PERCENTAGE && unit(c) < 0.12)
        affix = 5;
    if (numeric && *role == TAB_ROLE_MEASURE && unit(c) < 0.04)
        affix = 6;
    if ((kind == 'l' || kind == 'n') && (*role == TAB_ROLE_AMOUNT || *role == TAB_ROLE_MEASURE) && unit(c) < 0.5)
        scale = exp(0.5 * normal(c));
    int layout = (int)below(c, 10), place = (int)(kind == 'n' || kind == 'l' || kind == 'u' ? z : kind == 'o' || kind == 'y' ? 2 : 0);
    if (place > 0 && unit(c) < 0.2)
        place += unit(c) < 0.5 ? 1 : -1;
    bool sorted = unit(c) < 0.35;
    double walk = x + (y - x) * unit(c);
    /* categories: a few of them, with falling weights */
    tab_str choice[64];
    size_t choices = 0;
    if (kind == 'c') {
        for (char *p = arg; *p != 0 && choices < 64;) {
            char *e = strchr(p, '|');
            size_t n = e == NULL ? strlen(p) : (size_t)(e - p);
            choice[choices++] = tab_arena_copy(m->a, (tab_str){ p, n });
            p += n + (e != NULL);
        }
    } else if (kind == 'x') {
        char name[80];
        snprintf(name, sizeof name, "sector_%s", m->sector);
        size_t want = (size_t)fmax(2, x * (0.5 + unit(c)));
        bool capital = unit(c) < 0.6;
        for (; choices < want && choices < 64; choices++) {
            tab_str w = pick(m, name);
            choice[choices] = capital ? title_case(m, w) : w;
        }
        if (*role == TAB_ROLE_CATEGORY && unit(c) < 0.3) /* nobody spells the class out */
            for (size_t i = 0; i < choices; i++) {
                char t[16];
                snprintf(t, sizeof t, layout < 5 ? "%c" : "type %c", (char)('A' + i));
                choice[i] = text(m, t);
            }
    }
    static const char *const yes[][2] = { { "0", "1" }, { "No", "Yes" }, { "N", "Y" }, { "false", "true" }, { "no", "yes" }, { "False", "True" }, { "F", "T" } };
    const char *const *pair = yes[below(c, 7)];
    bool plain_bool = strcmp(pair[0], "0") == 0;
    double rate = 0.1 + 0.8 * unit(c);
    sscanf(arg, "%*f %*f %c", &q);
    for (size_t i = 0; i < rows; i++) {
        char t[600] = "";
        double v = 0;
        bool is_number = numeric;
        switch (kind) {
        case 'n': v = rounded(((x + y) / 2 + (y - x) / 4 * normal(c)) * scale, place); v = x >= 0 && v < 0 ? rounded(x, place) : v; break;
        case 'u': v = rounded(x + (y - x) * unit(c), place); break;
        case 'l': v = rounded(fabs(x) * exp(fmin(2, y) * normal(c)) * scale, place); v = x < 0 && unit(c) < 0.8 ? -v : v; break;
        case 'g': v = floor(-x * log(fmax(1e-9, unit(c)))); break;
        case 'r':
            v = exp(log(x) + (log(y) - log(x)) * unit(c));
            v = q == 'r' ? (v > 100 ? round(v / 25) * 25 : ceil(v / 5) * 5) : q == '9' ? floor(v) + (unit(c) < 0.7 ? 0.99 : unit(c) < 0.5 ? 0.95 : 0.49) : rounded(v, 2);
            break;
        case 'i': v = floor(x + (y - x + 1) * unit(c)); break;
        case 's': v = x + (double)i; break;
        case 'm': v = m->last[0] && m->last[1] ? rounded(m->last[0][i] * m->last[1][i], 2) : 1; break;
        case 'q': v = m->last[0] && m->last[1] ? rounded(m->last[0][i] + m->last[1][i], 2) : 1; break;
        case 'y': case 'o': walk = fmax(x, fmin(y, walk + (y - x) * 0.01 * normal(c))); v = rounded(walk, place); break;
        case 't': {
            is_number = false;
            from_template(c, arg, strlen(arg), t);
            if (*role == TAB_ROLE_CREDIT_CARD || *role == TAB_ROLE_GTIN || *role == TAB_ROLE_ISBN) {
                strcpy(t, arg);
                checked(c, *role, t, strlen(t));
            }
            break;
        }
        case 'c': case 'x': {
            size_t k = (*role == TAB_ROLE_TITLE || *role == TAB_ROLE_LABEL || *role == TAB_ROLE_ORGANIZATION) ? below(c, choices)
                       : (size_t)((double)choices * pow(unit(c), 1.5));
            tab_str w = choice[k < choices ? k : choices - 1];
            snprintf(t, sizeof t, "%.*s", TAB_STR(w));
            if (*role == TAB_ROLE_TITLE || (*role == TAB_ROLE_LABEL && kind == 'x'))
                snprintf(t, sizeof t, "%s %.*s%s", below(c, 3) ? "The" : "A", TAB_STR(w), below(c, 2) ? " of the Night" : "");
            if (*role == TAB_ROLE_ORGANIZATION && kind == 'x')
                snprintf(t, sizeof t, "%.*s %.*s", TAB_STR(title_case(m, pick(m, "last_name"))), TAB_STR(title_case(m, pick(m, "org_word"))));
            break;
        }
        case 'w': {
            tab_str w = pick(m, arg);
            if (*role == TAB_ROLE_GENDER || *role == TAB_ROLE_CATEGORY || *role == TAB_ROLE_STATUS || *role == TAB_ROLE_ETHNICITY || *role == TAB_ROLE_COUNTRY) {
                if (choices < 4 + below(c, 12))
                    choice[choices < 63 ? choices++ : 63] = w;
                w = choice[below(c, choices)];
            }
            if (*role == TAB_ROLE_PLACE || (*role == TAB_ROLE_ORGANIZATION && strcmp(arg, "org_word") == 0))
                snprintf(t, sizeof t, "%.*s %.*s", TAB_STR(title_case(m, pick(m, "city"))), TAB_STR(title_case(m, w)));
            else if (*role == TAB_ROLE_PRODUCT)
                snprintf(t, sizeof t, "%.*s %.*s", TAB_STR(title_case(m, pick(m, "color"))), TAB_STR(title_case(m, w)));
            else
                snprintf(t, sizeof t, "%.*s", TAB_STR(layout < 7 ? title_case(m, w) : w));
            break;
        }
        case 'd': case 'h': {
            int64_t lo = tab_days_from_civil((int)x, 1, 1), hi = tab_days_from_civil((int)y, 12, 28);
            int64_t day = lo + (int64_t)((double)(hi - lo) * (sorted ? (double)i / (double)rows : unit(c)));
            date_text(m, day, kind == 'h' && layout == 9 ? 0 : layout, t, sizeof t);
            if (kind == 'h') {
                size_t n = strlen(t);
                snprintf(t + n, sizeof t - n, layout % 3 == 2 ? "T%02zu:%02zu:%02zuZ" : " %02zu:%02zu:%02zu", below(c, 24), below(c, 60), below(c, 60));
                if (layout == 8)
                    snprintf(t, sizeof t, "%lld", (long long)(day * 86400 + (int64_t)below(c, 86400)));
            }
            break;
        }
        case 'k':
            snprintf(t, sizeof t, *role == TAB_ROLE_DURATION ? "%zu:%02zu:%02zu" : layout < 5 ? "%02zu:%02zu" : "%02zu:%02zu:%02zu",
                     below(c, 24), below(c, 60), below(c, 60));
            break;
        case 'b': snprintf(t, sizeof t, "%s", pair[unit(c) < rate]); break;
        case 'f':
            if (layout < 7)
                snprintf(t, sizeof t, "%.*s %.*s", TAB_STR(pick(m, "first_name")), TAB_STR(pick(m, "last_name")));
            else
                snprintf(t, sizeof t, "%.*s, %s%.*s", TAB_STR(pick(m, "last_name")), layout == 9 ? "Mr. " : "", TAB_STR(pick(m, "first_name")));
            break;
        case 'e': {
            from_template(c, "aaaaaaa", 4 + below(c, 4), t);
            size_t n = strlen(t);
            snprintf(t + n, sizeof t - n, "%zu@%s", below(c, 100), below(c, 2) ? "example.com" : "mail.org");
            break;
        }
        case 'p': {
            static const char *const shapes[] = { "(999) 999-9999", "999-999-9999", "+1 999 999 9999", "+49 999 9999999", "0999 9999999", "+99 9 9999 9999", "999.999.9999", "09 99 99 99 99" };
            const char *s = shapes[layout % 8];
            from_template(c, s, strlen(s), t);
            break;
        }
        case 'a': {
            static const char *const ways[] = { "Street", "Ave", "Road", "Blvd", "St", "Lane", "Drive" };
            static const char *const other[] = { "Hauptstra\xc3\x9f" "e", "rue de la Paix", "Calle Mayor", "Via Roma" };
            if (layout < 7)
                snprintf(t, sizeof t, "%zu %.*s %s", 1 + below(c, 9999), TAB_STR(pick(m, "last_name")), ways[below(c, 7)]);
            else
                snprintf(t, sizeof t, layout == 7 ? "%s %zu" : "%s, %zu", other[below(c, 4)], 1 + below(c, 200));
            break;
        }
        case 'z': {
            size_t n = 0, k = 8 + below(c, 24);
            char name[80];
            snprintf(name, sizeof name, "sector_%s", m->sector);
            for (size_t w = 0; w < k && n + 60 < sizeof t; w++) {
                tab_str p = pick(m, below(c, 3) == 0 ? name : "stop_word");
                if (p.n < 40)
                    n += (size_t)snprintf(t + n, sizeof t - n, w == 0 ? "%.*s" : " %.*s", TAB_STR(p));
            }
            break;
        }
        default: fprintf(stderr, "no kind %c\n", kind); exit(1);
        }
        num[i] = v;
        if (unit(c) < missing) {
            tab_builder_null(b);
        } else if (is_number && affix == 0) {
            tab_builder_number(b, v);
        } else if (is_number) {
            static const char *const how[] = { "", "$%.2f", "%.2f \xe2\x82\xac", "\xc2\xa3%.0f", "USD %.2f", "%.1f%%", "%.1f kg" };
            snprintf(t, sizeof t, how[affix], affix == 5 && v <= 1 ? v * 100 : v);
            tab_builder_text(b, tab_str_of(t));
        } else {
            char *end;
            double as = strtod(t, &end);
            bool leading = t[0] == '0' && t[1] != 0 && t[1] != '.';
            if (*t != 0 && *end == 0 && !leading && strlen(t) < 15 && strpbrk(t, "xXnNiIpP+") == NULL && (kind != 'b' || plain_bool))
                tab_builder_number(b, as);
            else
                tab_builder_text(b, tab_str_of(t));
        }
    }
    if (numeric) {
        m->last[0] = m->last[1];
        m->last[1] = num;
    }
    return tab_builder_finish(b, col);
}

/* Open, high, low, close from a walk: four columns whose order never breaks. */
static bool make_ohlc(maker *m, tab_column *col, int *role)
{
    double close = 5 + 400 * unit(m->c);
    tab_builder *b[4];
    for (int k = 0; k < 4; k++)
        if ((b[k] = tab_builder_new(m->a, TAB_S(""))) == NULL)
            return false;
    for (size_t i = 0; i < m->rows; i++) {
        double open = close * (1 + 0.004 * normal(m->c));
        close = fmax(0.5, open * (1 + 0.015 * normal(m->c)));
        double high = fmax(open, close) * (1 + 0.008 * unit(m->c)), low = fmin(open, close) * (1 - 0.008 * unit(m->c));
        tab_builder_number(b[0], rounded(open, 2));
        tab_builder_number(b[1], rounded(high, 2));
        tab_builder_number(b[2], rounded(low, 2));
        tab_builder_number(b[3], rounded(close, 2));
    }
    for (int k = 0; k < 4; k++) {
        role[k] = TAB_ROLE_AMOUNT;
        if (!tab_builder_finish(b[k], &col[k]))
            return false;
    }
    return true;
}

static bool make_table(tab_arena *a, chance *c, const char *schema, tab_labelled *t)
{
    enum { MOST = 40 };
    tab_column *col = tab_arena_new_of(a, tab_column, MOST);
    int *role = tab_arena_new_of(a, int, MOST), *type = tab_arena_new_of(a, int, MOST);
    tab_table *table = tab_arena_new_of(a, tab_table, 1);
    const char *p = strchr(schema, ';');
    char sector[40];
    if (col == NULL || role == NULL || type == NULL || table == NULL || p == NULL)
        return false;
    snprintf(sector, sizeof sector, "%.*s", (int)(p - schema), schema);
    maker m = { .a = a, .c = c, .rows = 15 + below(c, 150), .sector = sector };
    size_t n = 0;
    double keep = 0.6 + 0.4 * unit(c);
    while (p != NULL && *p != 0 && n + 4 < MOST) {
        const char *from = p + 1, *to = strchr(from, ';');
        size_t len = to == NULL ? strlen(from) : (size_t)(to - from);
        p = to;
        if (unit(c) > keep)
            continue;
        const char *o = memmem(from, len, " o", 2);
        if (o != NULL && o + 2 == from + len) {
            if (!make_ohlc(&m, col + n, role + n))
                return false;
            n += 4;
        } else if (make_column(&m, from, len, &col[n], &role[n])) {
            n++;
        } else {
            return false;
        }
    }
    if (n == 0 && !make_column(&m, "id s 1", 6, &col[0], &role[n++]))
        return false;
    for (size_t k = 0; k < n; k++)
        type[k] = -1;
    *table = (tab_table){ .id = TAB_S("generated"), .rows = m.rows, .cols = n, .col = col };
    *t = (tab_labelled){ .table = table, .role = role, .type = type, .sector = tab_sector_of(tab_str_of(sector)) };
    snprintf(t->source, sizeof t->source, "%.80s", schema); /* tables of one plan stay together in folds */
    return t->sector >= 0;
}

bool tab_generate_tables(tab_arena *a, size_t n, uint64_t seed, tab_labelled **ret, size_t *count)
{
    enum { SCHEMAS = sizeof schemas / sizeof *schemas };
    tab_labelled *t = tab_arena_new_of(a, tab_labelled, n * TAB_SECTORS);
    *count = 0;
    if (t == NULL)
        return false;
    chance c = { seed };
    for (int s = 0; s < TAB_SECTORS; s++) {
        size_t mine[32], k = 0;
        for (size_t i = 0; i < SCHEMAS && k < 32; i++)
            if (strncmp(schemas[i], tab_sectors[s].slug, strlen(tab_sectors[s].slug)) == 0)
                mine[k++] = i;
        for (size_t i = 0; i < n && k > 0; i++)
            if (!make_table(a, &c, schemas[mine[i % k]], &t[*count])) {
                fprintf(stderr, "plan: %.60s\n", schemas[mine[i % k]]);
                return false;
            } else {
                ++*count;
            }
    }
    *ret = t;
    return true;
}
