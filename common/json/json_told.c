/* See json_told.h. */
#include "common/json/json_told.h"

#include <math.h>
#include <stdio.h>

enum { COLUMNS_MOST = 2000, MARKS_MOST = 32, MARK_BYTES = 256, NAME_BYTES = 4096, MEMBERS = 5 };

static const char *const types[] = { "categorical", "numeric", "datetime", "text", "boolean", NULL };
static const char *const uses[] = { "feature", "key", "ignore", NULL };

/* The members of an entry in the order of tab_told_column, and what each may be. */
static const struct {
    const char *name, *is;
} members[MEMBERS] = { { "table", "a table's id" },
                       { "column", "a column's name" },
                       { "role", "a role as profiles name it" },
                       { "type", "one of: categorical, numeric, datetime, text, boolean" },
                       { "use", "one of: feature, key, ignore" } };

const char *tab_told_member(size_t i)
{
    return members[i].name;
}

/* One of the words; NULL ends them. */
static bool one_of(tab_str s, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++)
        if (tab_str_eq(s, tab_str_of(words[i])))
            return true;
    return false;
}

static tab_status read_column(const tab_json *x, size_t i, const char *const *roles, tab_told_column *ret,
                              tab_error *err)
{
    const char *const *const words[MEMBERS] = { NULL, NULL, roles, types, uses };
    tab_str text[MEMBERS] = { { NULL, 0 } };
    char path[128];
    snprintf(path, sizeof path, "options.columns[%zu]", i);
    if (x->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, path, "`%s` must be an object", path);
    for (const tab_json *m = x->first; m != NULL; m = m->next) {
        size_t k = 0;
        while (k < MEMBERS && !tab_str_eq(m->key, tab_str_of(members[k].name)))
            k++;
        snprintf(path, sizeof path, "options.columns[%zu].%.*s", i, (int)(m->key.n < 64 ? m->key.n : 64),
                 m->key.p);
        if (k == MEMBERS)
            return tab_fail(err, TAB_VALIDATION, path, "an entry of `options.columns` has no field `%.*s`",
                            (int)(m->key.n < 64 ? m->key.n : 64), m->key.p);
        bool fits = m->kind == TAB_JSON_STRING && (m->text.n > 0 || k == 1) && m->text.n <= NAME_BYTES &&
                    (words[k] == NULL || one_of(m->text, words[k]));
        if (!fits)
            return tab_fail(err, TAB_VALIDATION, path, "`%s` is %s", path, members[k].is);
        text[k] = m->text;
    }
    snprintf(path, sizeof path, "options.columns[%zu].column", i);
    if (tab_json_get(x, "column") == NULL)
        return tab_fail(err, TAB_VALIDATION, path, "`%s` is required", path);
    snprintf(path, sizeof path, "options.columns[%zu]", i);
    if (text[2].n + text[3].n + text[4].n == 0)
        return tab_fail(err, TAB_VALIDATION, path, "`%s` must say a role, a type or a use", path);
    *ret = (tab_told_column){ text[0], text[1], text[2], text[3], text[4] };
    return TAB_OK;
}

tab_status tab_told_columns(tab_arena *a, const tab_json *list, const char *const *roles,
                            const tab_told_column **ret, size_t *ret_n, tab_error *err)
{
    *ret = NULL;
    *ret_n = 0;
    if (list == NULL)
        return TAB_OK;
    if (list->kind != TAB_JSON_ARRAY || list->count > COLUMNS_MOST)
        return tab_fail(err, TAB_VALIDATION, "options.columns",
                        "`options.columns` must be an array of at most %d objects", COLUMNS_MOST);
    tab_told_column *c = tab_arena_new_of(a, tab_told_column, list->count + 1);
    if (c == NULL)
        return tab_no_memory(err);
    size_t n = 0;
    for (const tab_json *x = list->first; x != NULL; x = x->next, n++)
        TAB_TRY(read_column(x, n, roles, &c[n], err));
    *ret = c;
    *ret_n = n;
    return TAB_OK;
}

tab_status tab_told_marks_read(tab_arena *a, const tab_json *list, tab_told_marks *ret, tab_error *err)
{
    *ret = (tab_told_marks){ .automatic =
                                 list->kind == TAB_JSON_STRING && tab_str_eq(list->text, TAB_S("auto")) };
    if (ret->automatic)
        return TAB_OK;
    if (list->kind != TAB_JSON_ARRAY || list->count > MARKS_MOST)
        return tab_fail(
            err, TAB_VALIDATION, "options.missing_values",
            "`options.missing_values` must be \"auto\" or an array of at most %d strings and numbers",
            MARKS_MOST);
    tab_str *text = tab_arena_new_of(a, tab_str, list->count + 1);
    double *number = tab_arena_new_of(a, double, list->count + 1);
    if (text == NULL || number == NULL)
        return tab_no_memory(err);
    for (const tab_json *x = list->first; x != NULL; x = x->next) {
        if (x->kind == TAB_JSON_NUMBER && isfinite(x->num))
            number[ret->numbers++] = x->num;
        else if (x->kind == TAB_JSON_STRING && x->text.n <= MARK_BYTES)
            text[ret->texts++] = x->text;
        else
            return tab_fail(err, TAB_VALIDATION, "options.missing_values",
                            "a missing value must be a number or a string of at most %d bytes", MARK_BYTES);
    }
    ret->text = text;
    ret->number = number;
    return TAB_OK;
}
