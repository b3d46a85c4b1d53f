/* See labelled.h: reads the three lists of a folder, then each table that they name. */
#include "tools/train/labelled.h"

#include <stdio.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/sector/sectors.h"

/* ---- the folder ------------------------------------------------------------------------------ */

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

static const tab_table *csv(tab_arena *a, const char *folder, const char *name)
{
    char path[1024];
    const tab_table *t;
    tab_error err = { 0 };
    snprintf(path, sizeof path, "%s/%s.csv", folder, name);
    tab_str s = slurp(a, path);
    if (s.p == NULL || tab_csv_read(a, s, tab_arena_copy(a, tab_str_of(name)), &t, NULL, &err) != TAB_OK) {
        fprintf(stderr, "cannot read %s %s\n", path, err.message);
        return NULL;
    }
    return t;
}

static tab_str text_at(const tab_table *t, size_t row, size_t col)
{
    return col < t->cols ? tab_cell_at(&t->col[col], row).text : TAB_S("");
}

static tab_labelled *find(tab_labelled *t, size_t n, tab_str name)
{
    for (size_t i = 0; i < n; i++)
        if (tab_str_eq(tab_str_of(t[i].name), name))
            return &t[i];
    return NULL;
}

static tab_labelled *need(tab_arena *a, const char *folder, tab_labelled *t, size_t *n, size_t cap,
                          tab_str name)
{
    tab_labelled *x = find(t, *n, name);
    if (x != NULL || *n == cap || name.n >= sizeof x->name)
        return x;
    x = &t[*n];
    *x = (tab_labelled){ .sector = -1 };
    memcpy(x->name, name.p, name.n);
    x->table = csv(a, folder, x->name);
    if (x->table == NULL)
        return NULL;
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
    tab_labelled *t = tab_arena_new_of(a, tab_labelled, MOST);
    const tab_table *labels = csv(a, folder, "labels"), *sectors = csv(a, folder, "sectors"),
                    *sources = csv(a, folder, "sources");
    *n = 0;
    if (t == NULL || labels == NULL || sectors == NULL || sources == NULL)
        return false;
    for (size_t i = 0; i < labels->rows; i++) {
        tab_labelled *x = need(a, folder, t, n, MOST, text_at(labels, i, 0));
        for (size_t k = 0; x != NULL && k < x->table->cols; k++)
            if (tab_str_eq(x->table->col[k].name, text_at(labels, i, 1))) {
                x->role[k] = tab_role_of(text_at(labels, i, 3));
                for (int y = 0; y <= TAB_BOOLEAN; y++)
                    if (tab_str_eq(text_at(labels, i, 2), tab_str_of(tab_type_name((tab_type)y))))
                        x->type[k] = y;
                break;
            }
    }
    for (size_t i = 0; i < sectors->rows; i++) {
        tab_labelled *x = need(a, folder, t, n, MOST, text_at(sectors, i, 0));
        if (x != NULL)
            x->sector = tab_sector_of(text_at(sectors, i, 1));
    }
    for (size_t i = 0; i < sources->rows; i++) {
        tab_labelled *x = find(t, *n, text_at(sources, i, 0));
        tab_str path = text_at(sources, i, 2);
        if (x != NULL)
            /* a collection of many packages: each is a source of its own ("csv/agridat/...") */
            snprintf(x->source, sizeof x->source, "%.*s/%.*s", TAB_STR(text_at(sources, i, 1)),
                     (int)package_of(path), path.p);
    }
    *ret = t;
    return *n > 0;
}
