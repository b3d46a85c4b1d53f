/* See schemas.h: reads a folder's tables and its list of known keys, and marks which inclusions are among
 * them. */
#include "tools/train/keys/schemas.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/match/cases.h"

enum { TABLES = 64, MOST_STEPS = 6 /* references that one follows from */ };

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The tables of a folder by name; truth.csv is none. */
static size_t read_tables(tab_arena *a, const char *folder, tab_table *t)
{
    char *names[256], path[2048];
    size_t n = 0, kept = 0;
    DIR *d = opendir(folder);
    if (d == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(d)) != NULL && n < 256;) {
        size_t len = strlen(e->d_name);
        if (len > 4 && strcmp(e->d_name + len - 4, ".csv") == 0 && strcmp(e->d_name, "truth.csv") != 0)
            names[n++] = tab_arena_printf(a, "%.*s", (int)(len - 4), e->d_name);
    }
    closedir(d);
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n && kept < TABLES; i++) {
        snprintf(path, sizeof path, "%s/%s.csv", folder, names[i]);
        if (csv_table(a, path, names[i], &t[kept]))
            kept++;
        else
            fprintf(stderr, "%s: cannot be read\n", path);
    }
    return kept;
}

/* Columns "a|b" of table `table`, as indices of all columns. */
static bool find(const tab_table *t, size_t n, const size_t *at, tab_str table, tab_str columns,
                 uint32_t *out, uint32_t *ret_n)
{
    size_t i = 0;
    while (i < n && !tab_str_eq(t[i].id, table))
        i++;
    *ret_n = 0;
    for (size_t from = 0; i < n && from <= columns.n && *ret_n < 8;) {
        size_t end = from;
        while (end < columns.n && columns.p[end] != '|')
            end++;
        tab_str name = { columns.p + from, end - from };
        size_t c = 0;
        while (c < t[i].cols && !tab_str_eq(t[i].col[c].name, name))
            c++;
        if (c == t[i].cols)
            return false;
        out[(*ret_n)++] = (uint32_t)(at[i] + c);
        from = end + 1;
    }
    return *ret_n > 0;
}

static tab_str cell(tab_arena *a, const tab_table *t, size_t col, size_t row)
{
    tab_cell c = tab_cell_at(&t->col[col], row);
    if (c.kind == TAB_CELL_NUMBER && c.text.n == 0) {
        char buf[32];
        return tab_arena_copy(a, (tab_str){ buf, tab_number_text(c.num, buf) });
    }
    return c.text;
}

/* Whether two references between the same tables lead each row to the same one: the columns of one are copies
 * that stand beside those of the other. */
static bool same_rows(const tab_views *v, const tab_reference *a, const tab_reference *b)
{
    uint32_t *x = tab_reference_rows(v, a), *y = tab_reference_rows(v, b);
    size_t rows = v->table[a->child_table].rows, same = 0, both = 0;
    for (size_t i = 0; x != NULL && y != NULL && i < rows; i++)
        if (x[i] != TAB_NULL && y[i] != TAB_NULL) {
            both++;
            same += x[i] == y[i];
        }
    free(x);
    free(y);
    return both > 0 && (double)same >= 0.95 * (double)both;
}

/* Copies of attributes of a row that is referred to are not asked. */
static void label_copies(schema *s, const tab_views *v)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->truths && s->label[i] == 0; k++) {
            const true_key *t = &s->truth[k];
            const tab_key_column *c = &s->k.col[s->x[i].child], *p = &s->k.col[s->x[i].parent];
            if (t->n > 1 || s->k.col[t->child[0]].table != c->table ||
                s->k.col[t->parent[0]].table != p->table)
                continue;
            tab_reference x = { .child_table = c->table,
                                .child = c->column,
                                .parent_table = p->table,
                                .parent = p->column },
                          y = x;
            y.child = s->k.col[t->child[0]].column;
            y.parent = s->k.col[t->parent[0]].column;
            if (same_rows(v, &x, &y))
                s->label[i] = -1;
        }
}

bool schema_implied(const schema *s, const uint32_t *child, const uint32_t *parent, uint32_t n, size_t deep)
{
    for (size_t k = 0; deep < MOST_STEPS && k < s->truths; k++) {
        const true_key *t = &s->truth[k];
        uint32_t to[8] = { 0 }, held = 0, there = 0;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t q = 0; q < t->n; q++)
                if (t->child[q] == child[i]) {
                    to[i] = t->parent[q];
                    held++;
                    there += to[i] == parent[i];
                }
        if (held == n &&
            ((there == n && (deep > 0 || t->n > n)) || schema_implied(s, to, parent, n, deep + 1)))
            return true;
    }
    return false;
}

static void label(schema *s)
{
    for (size_t i = 0; i < s->n; i++) {
        s->label[i] = schema_implied(s, &s->x[i].child, &s->x[i].parent, 1, 0) ? -1 : 0;
        for (size_t k = 0; k < s->truths; k++)
            for (uint32_t q = 0; q < s->truth[k].n; q++)
                if (s->truth[k].child[q] == s->x[i].child && s->truth[k].parent[q] == s->x[i].parent &&
                    s->truth[k].n == 1)
                    s->label[i] = 1;
    }
}

bool schema_is_set(const tab_key_set *x, const true_key *t)
{
    uint32_t same = 0;
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t q = 0; q < t->n; q++)
            same += t->child[q] == x->child[i] && t->parent[q] == x->parent[i];
    return t->n == x->n && same == x->n;
}

bool schema_has_set(const schema *s, const tab_key_set *x)
{
    bool is = false;
    for (size_t k = 0; k < s->truths; k++)
        is = is || schema_is_set(x, &s->truth[k]);
    return is;
}

/* All references, what rows are, and the candidates of several columns. */
static bool find_all(tab_arena *a, const tab_engine *e, const tab_views *v, schema *s)
{
    tab_error err;
    bool *taken = tab_arena_new_of(a, bool, s->k.at[v->n]);
    if (taken == NULL || tab_keys_find(e, v, 0.5, a, &s->keys, &err) != TAB_OK)
        return false;
    for (size_t i = 0; i < s->keys.n; i++)
        if (tab_reference_plain(&s->keys.ref[i]))
            taken[s->k.at[s->keys.ref[i].child_table] + s->keys.ref[i].child] = true;
    return tab_key_within_find(e, v, &s->k, taken, a, &s->own, &s->owns, &err) == TAB_OK &&
           tab_grains_find(v, &s->keys, a, &s->grain, &err) == TAB_OK &&
           tab_key_set_search_new(e, v, &s->k, &s->keys, a, &s->search) &&
           tab_key_sets_candidates(&s->search, a, &s->set, &s->sets, &err) == TAB_OK;
}

void schema_free(schema *s)
{
    tab_views_free(s->v);
    tab_arena_free(s->work);
}

bool schema_read(tab_arena *a, const char *dir, const char *name, bool wanted, schema *s)
{
    *s = (schema){ 0 };
    char path[1024];
    tab_table *t = tab_arena_new_of(a, tab_table, TABLES), truth;
    tab_arena *work = tab_arena_new(SIZE_MAX / 2);
    snprintf(s->name, sizeof s->name, "%s", name);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    s->tables = read_tables(work, path, t);
    snprintf(path, sizeof path, "%s/%s/family.txt", dir, name);
    FILE *f = fopen(path, "r");
    if (f == NULL || fscanf(f, "%63s", s->family) != 1)
        snprintf(s->family, sizeof s->family, "%s", name);
    if (f != NULL)
        fclose(f);
    snprintf(path, sizeof path, "%s/%s/truth.csv", dir, name);
    bool ok = s->tables > 1 && csv_table(work, path, "truth", &truth);

    s->e = (tab_engine){ .arena = work };
    tab_profile *profile[TABLES];
    tab_views *v = NULL;
    tab_error err;
    for (size_t i = 0; ok && i < s->tables; i++)
        ok = tab_profile_table(&s->e, &t[i], &profile[i], &err) == TAB_OK;
    ok = ok && tab_views_new(&s->e, profile, s->tables, &v, &err) == TAB_OK;
    ok = ok && tab_key_columns_new(&s->e, v, a, &s->k, &err) == TAB_OK;
    ok = ok && tab_inclusions_find(&s->e, v, &s->k, a, &s->x, &s->n, &err) == TAB_OK;
    ok = ok && (!wanted || find_all(a, &s->e, v, s));
    s->table = tab_arena_new_of(a, tab_str, TABLES);
    for (size_t i = 0; ok && i < s->tables; i++)
        s->table[i] = tab_arena_copy(a, t[i].id);
    if (ok) {
        s->columns = s->k.at[s->tables];
        s->title = tab_arena_new_of(a, char *, s->columns);
        s->truth = tab_arena_new_of(a, true_key, truth.rows);
        s->label = tab_arena_new_of(a, int8_t, s->n);
        s->p = tab_arena_new_of(a, float, s->n);
        for (size_t i = 0; i < s->columns; i++) {
            const tab_key_column *c = &s->k.col[i];
            s->title[i] = tab_arena_printf(a, "%.*s.%.*s", TAB_STR(t[c->table].id),
                                           TAB_STR(t[c->table].col[c->column].name));
        }
        for (size_t r = 0; r < truth.rows; r++) {
            true_key *q = &s->truth[s->truths];
            uint32_t m = 0;
            if (find(t, s->tables, s->k.at, cell(work, &truth, 0, r), cell(work, &truth, 1, r), q->child,
                     &q->n) &&
                find(t, s->tables, s->k.at, cell(work, &truth, 2, r), cell(work, &truth, 3, r), q->parent,
                     &m) &&
                m == q->n)
                s->truths++;
            else
                fprintf(stderr, "%s: a key of line %zu is not there\n", path, r + 2);
        }
        for (size_t i = 0; i < s->tables; i++)
            s->rows += t[i].rows;
        label(s);
        label_copies(s, v);
    } else {
        fprintf(stderr, "%s/%s: cannot be read\n", dir, name);
    }
    if (wanted && ok) {
        s->work = work;
        s->v = v;
        return true;
    }
    tab_views_free(v);
    tab_arena_free(work);
    return ok;
}

bool schemas_fit(const schema *s, size_t n, const char *without, schema_rows_fn *rows, size_t d, double l2,
                 double *w)
{
    newton_rows t;
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most += rows(&s[i], NULL);
    bool ok = newton_rows_new(&t, most, d);
    for (size_t i = 0; ok && i < n; i++)
        if (!s[i].silent && (without == NULL || strcmp(s[i].family, without) != 0))
            rows(&s[i], &t);
    ok = ok && newton_fit(&t, l2, w);
    newton_rows_free(&t);
    return ok;
}
