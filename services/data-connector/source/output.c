/* What a run writes (source.h): whose a table is, its rows as they come, the .csv that is made of them. */
#include <assert.h>

#include "services/data-connector/source/cells.h"
#include "services/data-connector/source/source.h"

enum { WRITERS = 40 }; /* names of runs that a comment holds; MySQL's has room for 2048 characters */

static bool names(const char *comment, const char *once)
{
    size_t n = strlen(once);
    for (const char *p = strstr(comment, once); p != NULL; p = strstr(p + 1, once))
        if ((p == comment || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

static bool same_columns(const tab_table *t, const char *const *columns, size_t n)
{
    bool same = t->cols == n;
    for (size_t k = 0; same && k < n; k++)
        same = tab_str_eq(t->col[k].name, tab_str_of(columns[k]));
    return same;
}

tab_status output_may(const output *o, const char *comment, const char *const *columns, size_t n_columns,
                      bool *ret_done, tab_error *err)
{
    *ret_done = comment != NULL && names(comment, o->once);
    if (comment == NULL || *ret_done)
        return TAB_OK;
    if (o->mode == OUT_NEW)
        return tab_fail(
            err, TAB_CONFLICT, "options.out",
            "this table already exists; name another one or set options.out_mode to append or replace");
    if (strncmp(comment, "job_", 4) != 0)
        return tab_fail(
            err, TAB_CONFLICT, "options.out",
            "this table was not written by a run, and runs never change other tables; name a new one");
    /* before the pass it is not known yet which of its columns a run will write, but the first is */
    bool fits = o->table != NULL ? same_columns(o->table, columns, n_columns)
                                 : n_columns > 0 && strcmp(columns[0], "row") == 0;
    if (!fits)
        return tab_fail(err, TAB_CONFLICT, "options.out",
                        "this table has other columns than the predictions; name a new one");
    return TAB_OK;
}

const char *output_comment(const output *o, tab_arena *a, const char *before)
{
    size_t n = 0, names_left = WRITERS - 1;
    if (before == NULL || o->mode != OUT_APPEND)
        return o->once;
    for (; before[n] != '\0'; n++)
        if (before[n] == ' ' && --names_left == 0)
            break;
    return tab_arena_printf(a, "%s %.*s", o->once, (int)n, before);
}

/* ---- rows ------------------------------------------------------------------------------------ */

cells_kind output_kind(const output *o, size_t column)
{
    assert(column < o->table->cols);
    return o->n_kinds == 0 ? cells_of(&o->table->col[column]) : (cells_kind)o->kinds[column];
}

tab_status output_more(const output *o, tab_arena *a, const tab_table **ret, tab_error *err)
{
    *ret = NULL;
    if (o->more == NULL)
        return TAB_OK;
    TAB_TRY(o->more(o->arg, a, ret, err));
    return *ret == NULL || (*ret)->cols == o->table->cols
               ? TAB_OK
               : tab_fail(err, TAB_INTERNAL, "", "rows of other columns than those before");
}

/* ---- the .csv ---------------------------------------------------------------------------------- */

static void csv_text(tab_out *o, tab_str s)
{
    bool plain = s.n > 0;
    for (size_t i = 0; i < s.n && plain; i++)
        plain = strchr(",\"\r\n ", s.p[i]) == NULL;
    if (plain) {
        tab_out_bytes(o, s.p, s.n);
        return;
    }
    tab_out_bytes(o, "\"", 1);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            tab_out_bytes(o, "\"", 1);
        tab_out_bytes(o, s.p + i, 1);
    }
    tab_out_bytes(o, "\"", 1);
}

static void csv_names(tab_out *o, const tab_table *t)
{
    for (size_t k = 0; k < t->cols; k++) {
        tab_out_bytes(o, ",", k > 0);
        csv_text(o, t->col[k].name);
    }
    tab_out_bytes(o, "\n", 1);
}

static void csv_rows(tab_out *o, const tab_table *t)
{
    char digits[32];
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t k = 0; k < t->cols; k++) {
            tab_str x = cell_out(&t->col[k], i, digits);
            tab_out_bytes(o, ",", k > 0);
            if (x.p != NULL)
                csv_text(o, x);
        }
        tab_out_bytes(o, "\n", 1);
    }
}

tab_status output_part(output_parts *p, const output *o, tab_error *err)
{
    static const size_t scratch = (size_t)2 << 30;
    p->text.n = 0;
    if (!o->csv) {
        p->last = true;
        p->bytes = o->file;
        return TAB_OK;
    }
    if (!p->begun) {
        csv_names(&p->text, o->table);
        csv_rows(&p->text, o->table);
        p->begun = true;
    }
    while (!p->last && p->text.n < OUTPUT_PART) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(scratch);
        const tab_table *t = NULL;
        if (a == NULL)
            return tab_no_memory(err);
        TAB_TRY(output_more(o, a, &t, err));
        p->last = t == NULL;
        if (t != NULL)
            csv_rows(&p->text, t);
    }
    p->bytes = tab_out_text(&p->text);
    return p->text.failed ? tab_no_memory(err) : TAB_OK;
}

tab_status output_whole(output_parts *p, const output *o, tab_error *err)
{
    tab_out all = { 0 };
    TAB_TRY(output_part(p, o, err));
    while (!p->last) {
        tab_out_bytes(&all, p->bytes.p, p->bytes.n);
        tab_status s = output_part(p, o, err);
        if (s != TAB_OK) {
            tab_out_free(&all);
            return s;
        }
    }
    if (all.n == 0)
        return TAB_OK;
    tab_out_bytes(&all, p->bytes.p, p->bytes.n);
    tab_out_free(&p->text);
    p->text = all;
    p->bytes = tab_out_text(&p->text);
    return all.failed ? tab_no_memory(err) : TAB_OK;
}

void output_parts_free(output_parts *p)
{
    tab_out_free(&p->text);
}
