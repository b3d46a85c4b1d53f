/* See cases.h: reads a folder of CSV files and its truth into tables and pairs. */
#include "tests/bench/match/cases.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    tab_str *cell; /* row-major, the header first */
    size_t rows, cols;
} grid;

static char *slurp(tab_arena *a, const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *p = size < 0 ? NULL : tab_arena_alloc(a, (size_t)size + 2, 1);
    *n = p == NULL ? 0 : fread(p, 1, (size_t)size, f);
    fclose(f);
    return p;
}

/* RFC 4180. Cells are unquoted in place. */
static bool read_grid(tab_arena *a, const char *path, grid *g)
{
    size_t n, cells = 0, cap = 0;
    char *p = slurp(a, path, &n);
    *g = (grid){ 0 };
    if (p == NULL)
        return false;
    tab_str *cell = NULL;
    for (size_t i = 0; i < n;) {
        char *to = p + i, *from = to;
        if (p[i] == '"') {
            for (i++; i < n && (p[i] != '"' || (i + 1 < n && p[i + 1] == '"')); i++) {
                i += p[i] == '"';
                *to++ = p[i];
            }
            i++;
        } else {
            while (i < n && p[i] != ',' && p[i] != '\n')
                *to++ = p[i++];
        }
        if (cells == cap) {
            cap = cap == 0 ? 4096 : cap * 2;
            cell = realloc(cell, cap * sizeof *cell);
        }
        cell[cells++] = (tab_str){ from, (size_t)(to - from) };
        bool end = i >= n || p[i] == '\n';
        if (end) {
            g->rows++;
            if (g->cols == 0)
                g->cols = cells;
        }
        i++;
        if (i == n && n > 0 && p[n - 1] == ',' && !end)
            cell[cells++] = (tab_str){ p, 0 };
    }
    g->cell = tab_arena_new_of(a, tab_str, cells);
    if (g->cell != NULL && cells > 0)
        memcpy(g->cell, cell, cells * sizeof *cell);
    free(cell);
    return g->cell != NULL && g->cols > 0 && cells == g->rows * g->cols;
}

static bool json_number(tab_str s, double *x)
{
    char buf[40];
    size_t i = 0;
    if (s.n == 0 || s.n >= sizeof buf)
        return false;
    memcpy(buf, s.p, s.n);
    buf[s.n] = 0;
    i += buf[0] == '-';
    if (buf[i] < '0' || buf[i] > '9' || (buf[i] == '0' && buf[i + 1] >= '0' && buf[i + 1] <= '9'))
        return false;
    if (strspn(buf, "-0123456789.eE+") != s.n || buf[s.n - 1] == '.')
        return false;
    char *end;
    *x = strtod(buf, &end);
    return *end == 0;
}

bool csv_table(tab_arena *a, const char *path, const char *id, tab_table *ret)
{
    grid g;
    if (!read_grid(a, path, &g))
        return false;
    tab_column *col = tab_arena_new_of(a, tab_column, g.cols);
    for (size_t c = 0; col != NULL && c < g.cols; c++) {
        bool numbers = true;
        double x;
        for (size_t r = 1; r < g.rows && numbers; r++)
            numbers = g.cell[r * g.cols + c].n == 0 || json_number(g.cell[r * g.cols + c], &x);
        tab_builder *b = tab_builder_new(a, g.cell[c]);
        for (size_t r = 1; r < g.rows; r++) {
            tab_str s = g.cell[r * g.cols + c];
            if (s.n == 0)
                tab_builder_null(b);
            else if (numbers && json_number(s, &x))
                tab_builder_number(b, x);
            else
                tab_builder_text(b, s);
        }
        if (!tab_builder_finish(b, &col[c]))
            return false;
    }
    *ret = (tab_table){ .id = tab_str_of(id), .rows = g.rows - 1, .cols = g.cols, .col = col };
    return col != NULL;
}

static bool column_index(const tab_table *t, tab_str name, uint32_t *ret)
{
    for (size_t c = 0; c < t->cols; c++)
        if (tab_str_eq(t->col[c].name, name)) {
            *ret = (uint32_t)c;
            return true;
        }
    return false;
}

static int in_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(true_pair)); /* only equality and some fixed order matter */
}

static bool read_truth(tab_arena *a, const match_case *m, const char *path, bool columns, true_pair **ret,
                       size_t *ret_n)
{
    grid g;
    if (!read_grid(a, path, &g))
        return false;
    *ret = tab_arena_new_of(a, true_pair, g.rows);
    *ret_n = 0;
    for (size_t r = 1; r < g.rows && *ret != NULL; r++) {
        const tab_str *c = g.cell + r * g.cols;
        true_pair t = { .ta = 0, .tb = 1 };
        tab_str x = c[0], y = c[1];
        if (g.cols == 4) {
            t.ta = (uint32_t)(c[0].p[1] - '1');
            t.tb = (uint32_t)(c[2].p[1] - '1');
            x = c[1];
            y = c[3];
        }
        if (columns) {
            if (!column_index(&m->table[t.ta], x, &t.a) || !column_index(&m->table[t.tb], y, &t.b)) {
                fprintf(stderr, "%s: no column %.*s or %.*s\n", path, TAB_STR(x), TAB_STR(y));
                return false;
            }
        } else {
            t.a = (uint32_t)strtoul(x.p, NULL, 10);
            t.b = (uint32_t)strtoul(y.p, NULL, 10);
        }
        (*ret)[(*ret_n)++] = t;
    }
    qsort(*ret, *ret_n, sizeof **ret, in_order);
    return true;
}

bool case_read(tab_arena *a, const char *dir, const char *name, match_case *ret)
{
    static const char *const two[] = { "a", "b" }, *const many[] = { "t1", "t2", "t3", "t4",
                                                                     "t5", "t6", "t7", "t8" };
    *ret = (match_case){ 0 };
    snprintf(ret->name, sizeof ret->name, "%s", name);
    char path[1024];
    for (size_t t = 0; t < CASE_TABLES; t++) {
        snprintf(path, sizeof path, "%s/%s/%s.csv", dir, name, many[t]);
        if (!csv_table(a, path, many[t], &ret->table[t]))
            break;
        ret->n = t + 1;
    }
    for (size_t t = 0; t < 2 && (ret->n == 0 || ret->n == t); t++) {
        snprintf(path, sizeof path, "%s/%s/%s.csv", dir, name, two[t]);
        if (!csv_table(a, path, two[t], &ret->table[t])) {
            fprintf(stderr, "%s: cannot be read\n", path);
            return false;
        }
        ret->n = t + 1;
    }
    snprintf(path, sizeof path, "%s/%s/columns.csv", dir, name);
    if (!read_truth(a, ret, path, true, &ret->column, &ret->columns))
        return false;
    snprintf(path, sizeof path, "%s/%s/entities.csv", dir, name);
    ret->has_rows = read_truth(a, ret, path, false, &ret->row, &ret->rows);
    return true;
}
