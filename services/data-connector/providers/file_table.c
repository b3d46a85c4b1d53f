/* See file_table.h. */
#include "services/data-connector/providers/file_table.h"

#include <stdio.h>

#include "common/files/files.h"
#include "services/data-connector/data.h"

static tab_status choose(const source *s, const tab_file *f, const tab_table **ret, tab_error *err)
{
    char all[200] = "";
    *ret = f->table[0];
    if (s->sheet[0] == '\0' && f->n == 1)
        return TAB_OK;
    for (size_t i = 0; i < f->n; i++) {
        tab_str name = f->sheet[i].n > 0 ? f->sheet[i] : f->table[i]->id;
        size_t n = strlen(all);
        if (s->sheet[0] != '\0' && tab_str_eq(name, tab_str_of(s->sheet))) {
            *ret = f->table[i];
            return TAB_OK;
        }
        snprintf(all + n, sizeof all - n, "%s%.*s", n > 0 ? ", " : "", (int)(name.n < 40 ? name.n : 40),
                 name.p);
    }
    return s->sheet[0] != '\0'
               ? tab_fail(err, TAB_VALIDATION, "options.sheet",
                          "The file has no such table; its tables are %s.", all)
               : tab_fail(
                     err, TAB_VALIDATION, "options.sheet",
                     "The file holds %zu tables and a connection reads one; choose it with `sheet` from %s.",
                     f->n, all);
}

tab_status file_table(const source *s, tab_arena *a, tab_str name, tab_str bytes, const tab_table **ret,
                      tab_error *err)
{
    const tab_file_limits most = { (uint64_t)s->read_mib << 20, DATA_MOST_CELLS, DATA_MOST_COLS, 64, false };
    tab_file f;
    if (sqlite_is(bytes))
        return sqlite_table(s, a, bytes, name, ret, err);
    tab_status st = tab_file_read(a, name, bytes, &most, &f, err);
    if (st == TAB_VALIDATION && err != NULL && err->param[0] == '\0')
        snprintf(err->param, sizeof err->param, "source");
    TAB_TRY(st);
    if (f.notes.n > 0)
        *s->notes = f.notes;
    return choose(s, &f, ret, err);
}

bool name_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;
    while (*name != '\0')
        if (*pattern == '*') {
            star = pattern++;
            from = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star + 1;
            name = ++from;
        } else {
            return false;
        }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool key_matches(const char *folder, const char *pattern, const char *key)
{
    size_t n = strlen(folder);
    return key != NULL && strncmp(key, folder, n) == 0 && key[n] != '\0' && name_matches(pattern, key + n);
}

/* The union's column for column k of t: the one of its name, where t has the name once; the n-th of it
 * for the n-th. */
static size_t place(const tab_str *names, size_t n, const tab_table *t, size_t k)
{
    size_t nth = 0;
    for (size_t i = 0; i < k; i++)
        nth += tab_str_eq(t->col[i].name, t->col[k].name);
    for (size_t i = 0; i < n; i++)
        if (tab_str_eq(names[i], t->col[k].name) && nth-- == 0)
            return i;
    return n;
}

static tab_status append(tab_arena *a, tab_builder *b, const tab_column *c, size_t before, size_t rows,
                         tab_error *err)
{
    uint32_t *known = tab_arena_new_of(a, uint32_t, c->levels + 1);
    if (known == NULL)
        return tab_no_memory(err);
    tab_builder_pad(b, before);
    for (size_t i = 0; i < rows; i++)
        tab_builder_copy(b, c, i, known);
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status tables_union(tab_arena *a, const tab_table *const *t, size_t n, tab_str id, const tab_table **ret,
                        tab_error *err)
{
    tab_str *names = tab_arena_new_of(a, tab_str, DATA_MOST_COLS);
    tab_builder **b = tab_arena_new_of(a, tab_builder *, DATA_MOST_COLS);
    tab_table *all = tab_arena_new_of(a, tab_table, 1);
    size_t cols = 0, rows = 0;
    if (names == NULL || b == NULL || all == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < t[i]->cols; k++) {
            size_t at = place(names, cols, t[i], k);
            if (at == DATA_MOST_COLS)
                return tab_fail(err, TAB_VALIDATION, "source",
                                "The files have more than %d columns in total.", DATA_MOST_COLS);
            if (at == cols) {
                names[cols] = t[i]->col[k].name;
                if ((b[cols] = tab_builder_new(a, names[cols])) == NULL)
                    return tab_no_memory(err);
                cols++;
            }
            TAB_TRY(append(a, b[at], &t[i]->col[k], rows, t[i]->rows, err));
        }
        rows += t[i]->rows;
        if (cols > 0 && rows > DATA_MOST_CELLS / cols)
            return tab_fail(err, TAB_VALIDATION, "source", "A table can have at most %d cells.",
                            DATA_MOST_CELLS);
    }
    tab_column *col = tab_arena_new_of(a, tab_column, cols);
    for (size_t k = 0; k < cols; k++) {
        tab_builder_pad(b[k], rows);
        if (col == NULL || !tab_builder_finish(b[k], &col[k]))
            return tab_no_memory(err);
    }
    *all = (tab_table){ .id = id, .rows = rows, .cols = cols, .col = col };
    *ret = all;
    return TAB_OK;
}
