/* Reads lists.txt and a sector's plan. Both are ours and linked in, so an error is our own mistake: it names
 * table and place, and the tests open every sector. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/generate/plan.h"

enum { LISTS = 400, COLS = TAB_GENERATE_COLS, CHECKS = 16 };

static size_t count(tab_str s, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == c;
    return n;
}

static bool starts(tab_str s, const char *with)
{
    size_t n = strlen(with);
    return s.n >= n && memcmp(s.p, with, n) == 0;
}

static double number(tab_str s)
{
    char buf[40], *end;
    if (s.n == 0 || s.n >= sizeof buf)
        return NAN;
    memcpy(buf, s.p, s.n);
    buf[s.n] = 0;
    double x = strtod(buf, &end);
    return *end == 0 ? x : (double)NAN;
}

static tab_status wrong(const tab_generator *g, tab_str line, const char *what, tab_error *err)
{
    return tab_fail(err, TAB_INTERNAL, "sector", "table %.*s: %s: %.*s",
                    TAB_STR(g->tables > 0 ? g->table[g->tables - 1].name : TAB_S("-")), what,
                    (int)(line.n < 80 ? line.n : 80), line.p);
}

/* ---- lists: "NAME = record; record", a record's fields parted by | ---- */

static size_t first_with(const list *l, size_t field, tab_str s)
{
    size_t i = 0;
    while (i < l->n && !tab_str_eq(l->text[i * l->fields + field], s))
        i++;
    return i;
}

static tab_status read_lists(tab_generator *g, tab_str text, tab_error *err)
{
    g->list = tab_arena_new_of(g->a, list, LISTS);
    if (g->list == NULL)
        return tab_no_memory(err);
    while (text.n > 0) {
        tab_str line = plan_part(&text, '\n');
        if (line.n == 0 || *line.p == '#')
            continue;
        tab_str name = plan_part(&line, '=');
        if (g->lists == LISTS)
            return wrong(g, name, "too many lists", err);
        list *l = &g->list[g->lists++];
        tab_str first = line;
        first = plan_part(&first, ';');
        *l = (list){ .name = name, .n = count(line, ';') + 1, .fields = count(first, '|') + 1 };
        if (l->n >= RECORDS || l->fields > FIELDS)
            return wrong(g, name, "too large a list", err);
        l->text = tab_arena_new_of(g->a, tab_str, l->n * l->fields);
        l->num = tab_arena_new_of(g->a, double, l->n * l->fields);
        l->word = tab_arena_new_of(g->a, bool, l->n * l->fields);
        if (l->text == NULL || l->num == NULL || l->word == NULL)
            return tab_no_memory(err);
        for (size_t i = 0; i < l->n; i++) {
            tab_str record = plan_part(&line, ';');
            if (count(record, '|') + 1 != l->fields)
                return wrong(g, record, "a record has another number of fields", err);
            for (size_t k = 0; k < l->fields; k++) {
                l->text[i * l->fields + k] = plan_part(&record, '|');
                double x = number(l->text[i * l->fields + k]);
                if ((l->word[i * l->fields + k] = isnan(x)))
                    x = (double)first_with(l, k, l->text[i * l->fields + k]);
                l->num[i * l->fields + k] = x;
            }
        }
    }
    return TAB_OK;
}

/* NAME, or NAME@ for this organization's country */
static const list *find_list(const tab_generator *g, tab_str name)
{
    char buf[64];
    if (name.n > 1 && name.n < 50 && name.p[name.n - 1] == '@') {
        int n = snprintf(buf, sizeof buf, "%.*s_%.*s", (int)name.n - 1, name.p, TAB_STR(g->country));
        name = (tab_str){ buf, (size_t)n };
    }
    for (size_t i = 0; i < g->lists; i++)
        if (tab_str_eq(g->list[i].name, name))
            return &g->list[i];
    return NULL;
}

/* ---- columns ---- */

/* COL or TABLE.COL, of what has been read; false: there is none */
static bool find_column(const tab_generator *g, tab_str name, int *ret_parent, int *ret_col)
{
    const table *t = &g->table[g->tables - 1];
    *ret_parent = 0;
    if (count(name, '.') == 1) {
        tab_str above = plan_part(&name, '.');
        int p = plan_parent(g, g->tables - 1, above);
        if (p < 0)
            return false;
        *ret_parent = p + 1;
        t = &g->table[t->parent[p].table];
    }
    *ret_col = plan_column(t, t->cols, name);
    return *ret_col >= 0;
}

static const column *column_at(const tab_generator *g, int parent_at, int col)
{
    const table *t = &g->table[g->tables - 1];
    return &(parent_at == 0 ? t : &g->table[t->parent[parent_at - 1].table])->col[col];
}

static tab_status read_formula(tab_generator *g, column *c, tab_str text, const char *salt, formula *ret,
                               tab_error *err)
{
    return formula_read(g, g->tables - 1, g->table[g->tables - 1].cols, text,
                        generate_key(c->key, tab_str_of(salt), 1), ret, err);
}

static bool room(tab_generator *g, column *c, size_t labels, size_t groups)
{
    c->labels = labels;
    c->groups = groups;
    c->label = tab_arena_new_of(g->a, tab_str, labels);
    c->weight = tab_arena_new_of(g->a, float, labels *groups);
    return c->label != NULL && c->weight != NULL;
}

/* Weights become sums that end at 1. */
static bool sum_up(column *c)
{
    for (size_t k = 0; k < c->groups; k++) {
        float *w = &c->weight[k * c->labels], all = 0;
        for (size_t i = 0; i < c->labels; i++)
            all = w[i] += i == 0 ? 0 : w[i - 1];
        if (!(all > 0))
            return false;
        for (size_t i = 0; i < c->labels; i++)
            w[i] /= all;
        w[c->labels - 1] = 1;
    }
    return true;
}

/* "A:3|B", or "by COL A|B / 3 1 / 1 3" */
static tab_status read_pick(tab_generator *g, column *c, tab_str s, tab_error *err)
{
    tab_str all = s;
    bool by = starts(s, "by ");
    c->of_col = -1;
    if (by) {
        (void)plan_part(&s, ' ');
        if (!find_column(g, plan_part(&s, ' '), &c->of_parent, &c->of_col))
            return wrong(g, all, "no such column", err);
    }
    tab_str labels = plan_part(&s, '/');
    if (!room(g, c, count(labels, '|') + 1, by ? count(s, '/') + 1 : 1))
        return tab_no_memory(err);
    for (size_t i = 0; i < c->labels; i++) {
        tab_str one = plan_part(&labels, '|');
        c->label[i] = plan_part(&one, ':');
        c->weight[i] = one.n > 0 ? (float)number(one) : 1;
    }
    for (size_t k = 0; by && k < c->groups; k++) {
        tab_str w = plan_part(&s, '/');
        for (size_t i = 0; i < c->labels; i++)
            c->weight[k * c->labels + i] = (float)number(plan_part(&w, ' '));
    }
    return sum_up(c) ? TAB_OK : wrong(g, all, "weights are no numbers", err);
}

/* "A|B" before `by`, the rest after it */
static tab_status read_labels(tab_generator *g, column *c, tab_str s, tab_error *err)
{
    if (!room(g, c, count(s, '|') + 1, 1))
        return tab_no_memory(err);
    for (size_t i = 0; i < c->labels; i++)
        c->label[i] = plan_part(&s, '|');
    return TAB_OK;
}

static tab_status read_from(tab_generator *g, column *c, tab_str s, tab_error *err)
{
    tab_str all = s;
    c->of_col = -1;
    if (starts(s, "by ")) {
        (void)plan_part(&s, ' ');
        if (!find_column(g, plan_part(&s, ' '), &c->of_parent, &c->of_col))
            return wrong(g, all, "no such column", err);
    }
    if ((c->each = starts(s, "each ")))
        (void)plan_part(&s, ' ');
    while (s.n > 0 && c->lists < FIELDS)
        if ((c->list[c->lists++] = find_list(g, plan_part(&s, ' '))) == NULL)
            return wrong(g, all, "no such list", err);
    return c->lists > 0 && s.n == 0 ? TAB_OK : wrong(g, all, "lists", err);
}

static tab_status read_field(tab_generator *g, column *c, tab_str s, tab_error *err)
{
    tab_str all = s, of = plan_part(&s, ' ');
    if (c->kind == KIND_FILL && s.n == 0 && (c->list[0] = find_list(g, of)) != NULL) {
        c->of_col = -1;
        c->lists = 1;
        return TAB_OK;
    }
    if (!find_column(g, of, &c->of_parent, &c->of_col) ||
        column_at(g, c->of_parent, c->of_col)->kind != KIND_FROM)
        return wrong(g, all, "no such column of records", err);
    c->field = (int)number(s);
    return TAB_OK;
}

static tab_status read_template(tab_generator *g, column *c, tab_str s, tab_error *err)
{
    tab_str all = s;
    c->piece = tab_arena_new_of(g->a, piece, count(s, '{') + 1);
    if (c->piece == NULL)
        return tab_no_memory(err);
    while (s.n > 0) {
        piece *p = &c->piece[c->pieces++];
        const char *open = memchr(s.p, '{', s.n);
        p->plain = (tab_str){ s.p, open == NULL ? s.n : (size_t)(open - s.p) };
        p->col = -1;
        p->key = generate_key(c->key, TAB_S("piece"), c->pieces);
        if (open == NULL)
            break;
        s.n -= p->plain.n + 1;
        s.p = open + 1;
        if (memchr(s.p, '}', s.n) == NULL)
            return wrong(g, all, "no }", err);
        const char *close = memchr(s.p, '}', s.n);
        tab_str in = { s.p, (size_t)(close - s.p) };
        s.n -= in.n + 1;
        s.p = close + 1;
        if (in.n > 0 && *in.p == '@') {
            p->list = find_list(g, (tab_str){ in.p + 1, in.n - 1 });
            if (p->list == NULL)
                return wrong(g, all, "no such list", err);
            continue;
        }
        tab_str of = plan_part(&in, ':');
        p->how = in.n > 0 ? *in.p : 0;
        if (!find_column(g, of, &p->parent, &p->col))
            return wrong(g, all, "no such column", err);
    }
    return TAB_OK;
}

/* "A|B rate 0.2 auc 0.8 from FORMULA", "2 r2 0.7 from FORMULA" */
static tab_status read_scored(tab_generator *g, column *c, tab_str s, tab_error *err)
{
    tab_str all = s;
    bool outcome = c->kind == KIND_OUTCOME;
    if (outcome) {
        const char *at = memmem(s.p, s.n, " rate ", 6);
        if (at == NULL)
            return wrong(g, all, "no rate", err);
        TAB_TRY(read_labels(g, c, (tab_str){ s.p, (size_t)(at - s.p) }, err));
        s.n -= (size_t)(at + 6 - s.p);
        s.p = at + 6;
        c->rate = number(plan_part(&s, ' '));
    } else {
        c->decimals = (int)number(plan_part(&s, ' '));
    }
    tab_str what = plan_part(&s, ' ');
    c->strength = number(plan_part(&s, ' '));
    if (!tab_str_eq(what, outcome ? TAB_S("auc") : TAB_S("r2")) ||
        !tab_str_eq(plan_part(&s, ' '), TAB_S("from")) || !(c->strength > 0 && c->strength < 1) ||
        (outcome && (c->labels != 2 || !(c->rate > 0 && c->rate < 1))))
        return wrong(g, all, "no stated strength", err);
    c->stated = tab_str_of(outcome ? tab_arena_printf(g->a, "rate %g, AUC %g", c->rate, c->strength)
                                   : tab_arena_printf(g->a, "R2 %g", c->strength));
    return read_formula(g, c, s, "score", &c->e, err);
}

static tab_status read_agg(tab_generator *g, column *c, tab_str s, tab_error *err)
{
    static const char *const what[] = { "sum", "count", "min", "max" };
    tab_str all = s;
    c->decimals = (int)number(plan_part(&s, ' '));
    tab_str how = plan_part(&s, ' ');
    for (c->agg = 0; c->agg < 4 && !tab_str_eq(how, tab_str_of(what[c->agg]));)
        c->agg++;
    c->pattern = s; /* found when the tables below are read */
    return c->agg < 4 ? TAB_OK : wrong(g, all, "sum, count, min or max", err);
}

static tab_status read_kind(tab_generator *g, column *c, tab_str how, tab_str s, tab_error *err)
{
    static const char *const names[] = { "key", "ref",  "pick", "choose",  "from",   "part", "fill", "text",
                                         "num", "date", "time", "outcome", "signal", "code", "copy", "agg" };
    static const char *const codes[] = { "plain", "luhn", "ean", "iban", "vin" };
    size_t k = 0;
    while (k < sizeof names / sizeof *names && !tab_str_eq(how, tab_str_of(names[k])))
        k++;
    c->kind = (kind)k;
    switch (k) {
    case KIND_KEY:
        c->pattern = s;
        c->own = true;
        return TAB_OK;
    case KIND_REF:
        c->of_parent = tab_str_eq(s, TAB_S("self")) ? (int)g->table[g->tables - 1].parents
                                                    : plan_parent(g, g->tables - 1, s) + 1;
        return c->of_parent > 0 ? TAB_OK : wrong(g, s, "no such table above", err);
    case KIND_PICK:
        return read_pick(g, c, s, err);
    case KIND_CHOOSE: {
        tab_str labels = plan_part(&s, '=');
        TAB_TRY(read_labels(g, c, labels, err));
        return read_formula(g, c, s, "value", &c->e, err);
    }
    case KIND_FROM:
        return read_from(g, c, s, err);
    case KIND_PART:
    case KIND_FILL:
        return read_field(g, c, s, err);
    case KIND_TEXT:
        return read_template(g, c, s, err);
    case KIND_NUM:
        c->decimals = (int)number(plan_part(&s, ' '));
        return read_formula(g, c, s, "value", &c->e, err);
    case KIND_DATE:
    case KIND_TIME:
        return read_formula(g, c, s, "value", &c->e, err);
    case KIND_OUTCOME:
    case KIND_SIGNAL:
        return read_scored(g, c, s, err);
    case KIND_CODE:
        for (int i = 1; i < 5; i++)
            if (starts(s, codes[i]) && s.n > strlen(codes[i]) && s.p[strlen(codes[i])] == ' ') {
                c->code = i;
                (void)plan_part(&s, ' ');
            }
        c->pattern = s;
        if (s.n > 1 && *s.p == '@') {
            c->list[0] = find_list(g, (tab_str){ s.p + 1, s.n - 1 });
            return c->list[0] != NULL ? TAB_OK : wrong(g, s, "no such list", err);
        }
        return TAB_OK;
    case KIND_COPY:
        return find_column(g, s, &c->of_parent, &c->of_col) && c->of_parent > 0
                   ? TAB_OK
                   : wrong(g, s, "no such column above", err);
    case KIND_AGG:
        return read_agg(g, c, s, err);
    default:
        return wrong(g, how, "no such kind of column", err);
    }
}

/* "NAME KIND ... ; missing F ; only F ; typo P ; own" */
static tab_status read_column(tab_generator *g, tab_str line, tab_error *err)
{
    table *t = &g->table[g->tables - 1];
    if (t->cols == COLS)
        return wrong(g, line, "too many columns", err);
    column *c = &t->col[t->cols];
    tab_str rest = line, first = plan_part(&rest, ';');
    c->name = plan_part(&first, ' ');
    c->hidden = c->name.n > 0 && c->name.p[0] == '_';
    c->key = generate_key(t->key, c->name, 0);
    if (plan_column(t, t->cols, c->name) >= 0)
        return wrong(g, line, "twice", err);
    tab_str how = plan_part(&first, ' ');
    TAB_TRY(read_kind(g, c, how, first, err));
    while (rest.n > 0) {
        tab_str s = plan_part(&rest, ';'), what = plan_part(&s, ' ');
        if (tab_str_eq(what, TAB_S("missing")))
            TAB_TRY(read_formula(g, c, s, "missing", &c->missing, err));
        else if (tab_str_eq(what, TAB_S("only")))
            TAB_TRY(read_formula(g, c, s, "only", &c->only, err));
        else if (tab_str_eq(what, TAB_S("typo")))
            c->typo = number(s);
        else if (tab_str_eq(what, TAB_S("own")))
            c->own = true;
        else
            return wrong(g, what, "no such word", err);
    }
    c->own |= formula_moves(&c->e);
    t->cols++;
    return TAB_OK;
}

/* "TABLE any", "TABLE after THEIRS OURS", "TABLE lines LEAST MEAN", "TABLE cycle", "PART=TABLE other",
 * "self" */
static tab_status read_parent(tab_generator *g, tab_str s, tab_error *err)
{
    static const char *const names[] = { "any", "after", "lines", "cycle", "other" };
    enum { WAYS = sizeof names / sizeof *names };
    tab_str all = s, as = plan_part(&s, ' '), way = plan_part(&s, ' '), name = plan_part(&as, '=');
    table *t = &g->table[g->tables - 1];
    if (t->parents == PARENTS)
        return wrong(g, all, "too many tables above", err);
    parent *p = &t->parent[t->parents];
    p->key = generate_key(t->key, name, 7 + t->parents);
    p->name = name;
    if (as.n > 0)
        name = as;
    if (tab_str_eq(name, TAB_S("self"))) {
        *p = (parent){ .way = PARENT_SELF, .table = g->tables - 1, .key = p->key };
        t->parents++;
        return TAB_OK;
    }
    while (p->table + 1 < g->tables && !tab_str_eq(g->table[p->table].name, name))
        p->table++;
    int k = 0;
    while (k < WAYS && !tab_str_eq(way, tab_str_of(names[k])))
        k++;
    if (p->table + 1 >= g->tables || k == WAYS ||
        ((k == PARENT_LINES || k == PARENT_CYCLE) && t->parents > 0) ||
        (k == PARENT_OTHER && t->parents == 0))
        return wrong(g, all, "no such table above, or no such way", err);
    p->way = (joining)k;
    const table *above = &g->table[p->table];
    if (k == PARENT_AFTER) {
        p->theirs = plan_column(above, above->cols, plan_part(&s, ' '));
        p->ours = plan_column(t, t->cols, plan_part(&s, ' '));
        if (p->theirs < 0 || p->ours < 0) /* ours stands before its `>` line */
            return wrong(g, all, "no such columns", err);
    } else if (k == PARENT_LINES) {
        p->least = number(plan_part(&s, ' '));
        p->mean = number(plan_part(&s, ' '));
        p->in_group = (size_t)llround(GROUP * p->mean);
        if (!(p->least >= 0) || !(p->mean >= p->least) || p->mean > 100 || p->mean <= 0)
            return wrong(g, all, "lines LEAST MEAN", err);
    }
    t->parents++;
    return TAB_OK;
}

/* "NAME = FORMULA ~0.02" or "NAME" */
static tab_status begin_table(tab_generator *g, tab_str s, tab_error *err)
{
    tab_str all = s;
    if (g->tables == TAB_GENERATE_TABLES)
        return wrong(g, s, "too many tables", err);
    table *t = &g->table[g->tables++];
    tab_str left = plan_part(&s, '=');
    t->name = left;
    t->key = generate_key(g->seed, left, 99);
    t->col = tab_arena_new_of(g->a, column, COLS);
    t->check = tab_arena_new_of(g->a, formula, CHECKS);
    t->check_text = tab_arena_new_of(g->a, tab_str, CHECKS);
    if (t->col == NULL || t->check == NULL || t->check_text == NULL)
        return tab_no_memory(err);
    tab_str rows = plan_part(&s, '~');
    if (s.n > 0)
        t->duplicates = number(s);
    if (!(t->duplicates >= 0 && t->duplicates < 0.5))
        return wrong(g, all, "share of duplicates", err);
    return rows.n == 0 ? TAB_OK : formula_read(g, g->tables - 1, 0, rows, t->key, &t->count, err);
}

tab_status plan_read(tab_generator *g, tab_str lists, tab_str text, tab_error *err)
{
    tab_str main_name = { NULL, 0 };
    TAB_TRY(read_lists(g, lists, err));
    while (text.n > 0) {
        tab_str line = plan_part(&text, '\n');
        if (line.n == 0 || *line.p == '#')
            continue;
        table *t = g->tables > 0 ? &g->table[g->tables - 1] : NULL;
        if (starts(line, "main ")) {
            (void)plan_part(&line, ' ');
            main_name = line;
        } else if (starts(line, "table ")) {
            (void)plan_part(&line, ' ');
            TAB_TRY(begin_table(g, line, err));
        } else if (t == NULL) {
            return wrong(g, line, "before any table", err);
        } else if (*line.p == '>') {
            (void)plan_part(&line, '>');
            while (line.n > 0 && *line.p == ' ')
                line.p++, line.n--;
            TAB_TRY(read_parent(g, line, err));
        } else if (*line.p == '!') {
            (void)plan_part(&line, '!');
            if (t->checks == CHECKS)
                return wrong(g, line, "too many checks", err);
            while (line.n > 0 && *line.p == ' ')
                line.p++, line.n--;
            t->check_text[t->checks] = line;
            TAB_TRY(formula_read(g, g->tables - 1, t->cols, line, t->key, &t->check[t->checks], err));
            t->checks++;
        } else {
            TAB_TRY(read_column(g, line, err));
        }
    }
    for (g->main = 0; g->main < g->tables && !tab_str_eq(g->table[g->main].name, main_name);)
        g->main++;
    return g->main < g->tables ? TAB_OK : wrong(g, main_name, "no main table", err);
}
