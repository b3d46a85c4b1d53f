/* See lists.h. */
#include "common/files/lists.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "common/files/json_rows.h"

/* Is the text a list that is empty or begins with an object? */
static bool begins_as_list(tab_str s, bool *objects)
{
    size_t i = 1;
    while (i < s.n && strchr(" \t\r\n", s.p[i]) != NULL)
        i++;
    bool object = i < s.n && s.p[i] == '{';
    *objects = *objects || object;
    return s.n > 1 && s.p[0] == '[' && (object || (i < s.n && s.p[i] == ']'));
}

static bool holds_lists(const tab_column *c)
{
    bool lists = c->layout == TAB_CODED && c->levels > 0, objects = false;
    for (size_t i = 0, from = 0; lists && i < c->levels; from = c->end[i++])
        lists = c->kind[i] == TAB_CELL_TEXT &&
                begins_as_list((tab_str){ c->text + from, c->end[i] - from }, &objects);
    return lists && objects;
}

static int by_number(const void *x, const void *y)
{
    const double *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

/* Whole numbers, all there, all distinct. */
static bool numbers_name(const tab_column *c, size_t rows)
{
    double *x = malloc((rows + 1) * sizeof *x);
    bool is = x != NULL;
    for (size_t i = 0; i < rows && is; i++) {
        x[i] = c->num[i];
        is = x[i] == floor(x[i]); /* no NaN is */
    }
    if (is)
        qsort(x, rows, sizeof *x, by_number);
    for (size_t i = 1; i < rows && is; i++)
        is = x[i] != x[i - 1];
    free(x);
    return is;
}

static bool names_rows(const tab_column *c, size_t rows)
{
    if (c->layout == TAB_NUMBERS)
        return numbers_name(c, rows);
    bool is = c->levels == rows; /* each level is there once at least */
    for (size_t i = 0; i < rows && is; i++)
        is = c->code[i] != TAB_NULL;
    return is;
}

static bool is_id(tab_str name)
{
    bool id = name.n >= 2 && strncasecmp(name.p + name.n - 2, "id", 2) == 0;
    return id && (name.n == 2 || (name.n == 3 && name.p[0] == '_'));
}

/* The column by which a row is known; t->cols: there is none. */
static size_t key_of(const tab_table *t)
{
    size_t key = t->cols;
    for (size_t k = 0; k < t->cols; k++)
        if ((key == t->cols || is_id(t->col[k].name)) && !holds_lists(&t->col[k]) &&
            names_rows(&t->col[k], t->rows)) {
            key = k;
            if (is_id(t->col[k].name))
                break;
        }
    return key;
}

static bool has_name(const tab_table *t, tab_str name)
{
    for (size_t k = 0; k < t->cols; k++)
        if (tab_str_eq(t->col[k].name, name))
            return true;
    return false;
}

/* The name, with as many _ behind it as make it one that t does not have. */
static tab_str free_name(tab_arena *a, const tab_table *t, const char *name)
{
    char text[256];
    int n = snprintf(text, sizeof text, "%s", name);
    size_t len = n > 0 && (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    while (has_name(t, (tab_str){ text, len }) && len + 1 < sizeof text)
        text[len++] = '_';
    return tab_arena_copy(a, (tab_str){ text, len });
}

/* Rows counted from 1. */
static bool count_rows(tab_arena *a, const tab_table *t, tab_column *ret)
{
    tab_builder *b = tab_builder_new(a, free_name(a, t, "row"));
    for (size_t i = 0; i < t->rows && b != NULL; i++)
        tab_builder_number(b, (double)(i + 1));
    return b != NULL && tab_builder_finish(b, ret);
}

/* The table of column k's lists, whose first column refers to the key (NULL: the table has one row, and none
 * is needed). *ret NULL: they are no JSON, or too much. */
static tab_status list_table(tab_arena *a, const tab_table *t, size_t k, const tab_column *key, size_t cols,
                             uint64_t cells, const tab_table **ret, tab_error *err)
{
    const tab_table *own;
    const uint32_t *parent;
    char name[256];
    tab_status s = tab_json_lists_read(a, &t->col[k], t->rows, t->id, cols > 0 ? cols - 1 : 0, cells, &own,
                                       &parent, err);
    *ret = NULL;
    if (s == TAB_OK && key == NULL)
        *ret = own;
    if (s != TAB_OK || key == NULL)
        return s == TAB_VALIDATION ? TAB_OK : s;
    tab_table *out = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, own->cols + 1);
    snprintf(name, sizeof name, "%.*s_%.*s", (int)(t->id.n < 120 ? t->id.n : 120), t->id.p,
             (int)(key->name.n < 120 ? key->name.n : 120), key->name.p);
    tab_builder *b = tab_builder_new(a, free_name(a, own, name));
    if (out == NULL || col == NULL || b == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < own->rows; i++)
        tab_builder_cell(b, tab_cell_at(key, parent[i]));
    if (!tab_builder_finish(b, &col[0]))
        return tab_no_memory(err);
    memcpy(col + 1, own->col, own->cols * sizeof *col);
    *out = (tab_table){ .id = t->id, .rows = own->rows, .cols = own->cols + 1, .col = col };
    *ret = out;
    return TAB_OK;
}

tab_status tab_lists_part(tab_arena *a, const tab_table *t, size_t cols, uint64_t cells, size_t most,
                          const tab_table **ret_rest, tab_lists_table *ret, size_t *ret_n, tab_error *err)
{
    size_t key = t->cols, n = 0, kept = 0, lists = 0;
    tab_column row;
    *ret_rest = t;
    *ret_n = 0;
    for (size_t k = 0; k < t->cols; k++)
        lists += holds_lists(&t->col[k]);
    if (lists == 0)
        return TAB_OK;
    bool keyed = t->rows > 1;
    key = keyed ? key_of(t) : t->cols;
    tab_table *rest = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    if (rest == NULL || col == NULL || (keyed && key == t->cols && !count_rows(a, t, &row)))
        return tab_no_memory(err);
    const tab_column *by = !keyed ? NULL : key < t->cols ? &t->col[key] : &row;
    if (keyed && key == t->cols)
        col[kept++] = row;
    for (size_t k = 0; k < t->cols; k++) {
        const tab_table *own = NULL;
        if (n < most && holds_lists(&t->col[k]))
            TAB_TRY(list_table(a, t, k, by, cols, cells, &own, err));
        if (own == NULL)
            col[kept++] = t->col[k];
        else
            ret[n++] = (tab_lists_table){ own, t->col[k].name };
    }
    *rest = *t;
    rest->col = col;
    rest->cols = kept;
    if (n > 0)
        *ret_rest = kept > 0 ? rest : NULL;
    *ret_n = n;
    return TAB_OK;
}
