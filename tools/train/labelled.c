#include "tools/train/labelled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/profile/roles.h"
#include "services/inference/engine/sector/sectors.h"

/* ---- CSV ------------------------------------------------------------------------------------------- */

typedef struct {
    tab_str *cell;
    size_t n, cap, cols; /* row-major; cols of the header */
} cells;

static bool push(cells *c, tab_str s)
{
    if (c->n == c->cap) {
        size_t cap = c->cap == 0 ? 1024 : 2 * c->cap;
        tab_str *more = realloc(c->cell, cap * sizeof *more);
        if (more == NULL)
            return false;
        c->cell = more;
        c->cap = cap;
    }
    c->cell[c->n++] = s;
    return true;
}

/* Quoted cells are unescaped into the arena. Short rows are filled up, long ones cut. */
static bool parse(tab_arena *a, tab_str text, cells *c)
{
    size_t i = 0, col = 0;
    while (i < text.n) {
        tab_str cell;
        if (text.p[i] == '"') {
            size_t from = ++i, quotes = 0;
            while (i < text.n && (text.p[i] != '"' || (i + 1 < text.n && text.p[i + 1] == '"'))) {
                if (text.p[i] == '"') {
                    quotes++;
                    i++;
                }
                i++;
            }
            cell = (tab_str){ text.p + from, i - from };
            if (quotes > 0) {
                char *buf = tab_arena_alloc(a, cell.n, 1);
                if (buf == NULL)
                    return false;
                size_t n = 0;
                for (size_t k = 0; k < cell.n; k++) {
                    buf[n++] = cell.p[k];
                    k += cell.p[k] == '"';
                }
                cell = (tab_str){ buf, n };
            }
            i++;
        } else {
            size_t from = i;
            while (i < text.n && text.p[i] != ',' && text.p[i] != '\n' && text.p[i] != '\r')
                i++;
            cell = (tab_str){ text.p + from, i - from };
        }
        if ((c->cols == 0 || col < c->cols) && !push(c, cell))
            return false;
        col++;
        if (i < text.n && text.p[i] == ',') {
            i++;
            if (i < text.n && text.p[i] != '\n' && text.p[i] != '\r')
                continue;
            if ((c->cols == 0 || col < c->cols) && !push(c, (tab_str){ "", 0 }))
                return false;
            col++;
        }
        while (i < text.n && (text.p[i] == '\r' || text.p[i] == '\n')) {
            if (c->cols == 0)
                c->cols = col;
            for (; col < c->cols; col++)
                if (!push(c, (tab_str){ "", 0 }))
                    return false;
            bool end = text.p[i] == '\n';
            i++;
            if (end)
                break;
        }
        if (i > 0 && i <= text.n && text.p[i - 1] == '\n')
            col = 0;
    }
    if (c->cols == 0)
        c->cols = col;
    while (c->cols > 0 && c->n % c->cols != 0)
        if (!push(c, (tab_str){ "", 0 }))
            return false;
    return c->cols > 0 && c->n >= c->cols;
}

/* A JSON number that a double prints back as it stands. */
static bool plain_number(tab_str s, double *x)
{
    char buf[40];
    if (s.n == 0 || s.n >= 32 || !(s.p[0] == '-' || (s.p[0] >= '0' && s.p[0] <= '9')))
        return false;
    size_t i = s.p[0] == '-';
    if (i >= s.n || s.p[i] < '0' || s.p[i] > '9' || (s.p[i] == '0' && i + 1 < s.n && s.p[i + 1] != '.' && (s.p[i + 1] | 32) != 'e'))
        return false;
    memcpy(buf, s.p, s.n);
    buf[s.n] = 0;
    char *end;
    *x = strtod(buf, &end);
    return end == buf + s.n && isfinite(*x) && strpbrk(buf, "xXpP") == NULL;
}

bool tab_csv_table(tab_arena *a, tab_str text, const char *id, tab_table **ret)
{
    cells c = { 0 };
    if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0) {
        text.p += 3;
        text.n -= 3;
    }
    bool ok = parse(a, text, &c);
    if (ok) {
        size_t rows = c.n / c.cols - 1;
        tab_table *t = tab_arena_new_of(a, tab_table, 1);
        tab_column *col = tab_arena_new_of(a, tab_column, c.cols);
        ok = t != NULL && col != NULL;
        for (size_t k = 0; ok && k < c.cols; k++) {
            bool numbers = true;
            double x;
            for (size_t r = 1; r <= rows && numbers; r++) {
                tab_str s = c.cell[r * c.cols + k];
                numbers = s.n == 0 || plain_number(s, &x);
            }
            tab_builder *b = tab_builder_new(a, c.cell[k]);
            ok = b != NULL;
            for (size_t r = 1; ok && r <= rows; r++) {
                tab_str s = c.cell[r * c.cols + k];
                if (s.n == 0)
                    tab_builder_null(b);
                else if (numbers && plain_number(s, &x))
                    tab_builder_number(b, x);
                else
                    tab_builder_text(b, s);
            }
            ok = ok && tab_builder_finish(b, &col[k]);
        }
        if (ok) {
            *t = (tab_table){ .id = tab_str_of(id), .rows = rows, .cols = c.cols, .col = col };
            *ret = t;
        }
    }
    free(c.cell);
    return ok;
}

/* ---- the folder -------------------------------------------------------------------------------------- */

static tab_str slurp(tab_arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return (tab_str){ NULL, 0 };
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *p = n < 0 ? NULL : tab_arena_alloc(a, (size_t)n + 1, 1);
    size_t got = p == NULL ? 0 : fread(p, 1, (size_t)n, f);
    fclose(f);
    return (tab_str){ p, got };
}

static bool list(tab_arena *a, const char *folder, const char *name, cells *c)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    tab_str s = slurp(a, path);
    if (s.p == NULL || !parse(a, s, c)) {
        fprintf(stderr, "cannot read %s\n", path);
        return false;
    }
    return true;
}

static tab_labelled *find(tab_labelled *t, size_t n, tab_str name)
{
    for (size_t i = 0; i < n; i++)
        if (tab_str_eq(tab_str_of(t[i].name), name))
            return &t[i];
    return NULL;
}

static tab_labelled *need(tab_arena *a, const char *folder, tab_labelled *t, size_t *n, size_t cap, tab_str name)
{
    tab_labelled *x = find(t, *n, name);
    if (x != NULL || *n == cap || name.n >= sizeof x->name)
        return x;
    char path[1024];
    snprintf(path, sizeof path, "%s/%.*s.csv", folder, TAB_STR(name));
    tab_str s = slurp(a, path);
    x = &t[*n];
    *x = (tab_labelled){ .sector = -1 };
    memcpy(x->name, name.p, name.n);
    if (s.p == NULL || !tab_csv_table(a, s, x->name, &x->table)) {
        fprintf(stderr, "cannot read %s\n", path);
        return NULL;
    }
    x->role = tab_arena_new_of(a, int, x->table->cols);
    x->type = tab_arena_new_of(a, int, x->table->cols);
    if (x->role == NULL || x->type == NULL)
        return NULL;
    for (size_t k = 0; k < x->table->cols; k++)
        x->role[k] = x->type[k] = -1;
    ++*n;
    return x;
}

/* Length of "csv/PACKAGE" where the path is one of a collection's, else 0. */
static size_t package_of(tab_str path)
{
    if (path.n < 5 || memcmp(path.p, "csv/", 4) != 0)
        return 0;
    const char *slash = memchr(path.p + 4, '/', path.n - 4);
    return slash == NULL ? 0 : (size_t)(slash - path.p);
}

bool tab_labelled_read(tab_arena *a, const char *folder, tab_labelled **ret, size_t *n)
{
    enum { MOST = 4096 };
    cells labels = { 0 }, sectors = { 0 }, sources = { 0 };
    tab_labelled *t = tab_arena_new_of(a, tab_labelled, MOST);
    *n = 0;
    bool ok = t != NULL && list(a, folder, "labels.csv", &labels) && list(a, folder, "sectors.csv", &sectors) &&
              list(a, folder, "sources.csv", &sources);
    for (size_t i = labels.cols; ok && i + 4 < labels.n; i += labels.cols) {
        tab_labelled *x = need(a, folder, t, n, MOST, labels.cell[i]);
        if (x == NULL)
            continue;
        for (size_t k = 0; k < x->table->cols; k++)
            if (tab_str_eq(x->table->col[k].name, labels.cell[i + 1])) {
                x->role[k] = tab_role_of(labels.cell[i + 3]);
                for (int y = 0; y <= TAB_BOOLEAN; y++)
                    if (tab_str_eq(labels.cell[i + 2], tab_str_of(tab_type_name((tab_type)y))))
                        x->type[k] = y;
                break;
            }
    }
    for (size_t i = sectors.cols; ok && i + 1 < sectors.n; i += sectors.cols) {
        tab_labelled *x = need(a, folder, t, n, MOST, sectors.cell[i]);
        if (x != NULL)
            x->sector = tab_sector_of(sectors.cell[i + 1]);
    }
    for (size_t i = sources.cols; ok && i + 2 < sources.n; i += sources.cols) {
        tab_labelled *x = find(t, *n, sources.cell[i]);
        if (x != NULL)
            /* a collection of many packages: each is a source of its own ("csv/agridat/...") */
            snprintf(x->source, sizeof x->source, "%.*s/%.*s", TAB_STR(sources.cell[i + 1]), (int)package_of(sources.cell[i + 2]),
                     sources.cell[i + 2].p);
    }
    free(labels.cell);
    free(sectors.cell);
    free(sources.cell);
    *ret = t;
    return ok && *n > 0;
}
