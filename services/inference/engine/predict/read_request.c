/* New rows read by the fitted table's columns, for fitted.c: the readers of profile/ with the role and type
 * already known. A request's few rows are never profiled, so a column of three numbers is not taken for
 * something else. */
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/predict/fitted_parts.h"
#include "services/inference/engine/profile/features/column.h"

/* Whether exactly one column of t has the name; *at: which. */
static bool unique_name(const tab_table *t, tab_str name, size_t *at)
{
    size_t n = 0;
    for (size_t c = 0; c < t->cols; c++)
        if (tab_str_eq(t->col[c].name, name))
            *at = c, n++;
    return n == 1;
}

/* Where the fitted column c stands in t: by name where it is unique on both sides, else by position. */
static bool find_column(const tab_fitted *f, size_t c, const tab_table *t, size_t *at)
{
    /* a name that the fitted table has twice says nothing */
    size_t same = 0;
    tab_str name = f->column[c].name;
    for (size_t i = 0; i < f->cols; i++)
        same += tab_str_eq(f->column[i].name, name);
    if (name.n > 0 && same == 1) {
        if (unique_name(t, name, at))
            return true;
        return false;
    }
    *at = c;
    return c < t->cols;
}

/* Whether t has the fitted table's names in its order: then every column stands in its own place. */
static bool in_order(const tab_fitted *f, const tab_table *t)
{
    bool same = t->cols == f->cols;
    for (size_t c = 0; same && c < f->cols; c++)
        same = tab_str_eq(t->col[c].name, f->column[c].name);
    return same;
}

/* Columns that no feature reads are not looked for. */
tab_status tab_serve_values(tab_arena *a, const tab_fitted *f, const tab_table *t, bool strict,
                            tab_values **ret, tab_error *err)
{
    tab_values *values = tab_arena_new_of(a, tab_values, f->cols + 1);
    if (values == NULL)
        return tab_no_memory(err);
    bool ordered = in_order(f, t);
    for (size_t c = 0; c < f->cols; c++) {
        size_t at = c;
        const tab_fitted_column *own = &f->column[c];
        if (!own->used && !own->told && own->only.n == 0)
            continue;
        if (!ordered && !find_column(f, c, t, &at)) {
            if (!own->used)
                continue;
            return tab_fail(err, TAB_VALIDATION, "tables[0].columns",
                            "column %zu of the pinned table is missing", c);
        }
        /* read as the fitted column's type, whatever the cells would look like alone */
        tab_column_profile p = { .index = at, .column = &t->col[at], .type = own->type, .role = own->role };
        tab_reading r;
        if (!tab_read_known(a, &t->col[at], t->rows, &r, &p))
            return tab_no_memory(err);
        values[c] = tab_values_of(&p);
        /* A cell that is neither missing nor a mark like "?" nor of the type: the caller is told which. */
        bool number = own->type == TAB_NUMERIC || own->type == TAB_DATETIME;
        if (strict && own->used && number && p.number != NULL && t->col[at].layout == TAB_CODED)
            for (size_t i = 0; i < t->rows; i++) {
                bool mark = r.code[i] == TAB_NULL || r.foreign[r.code[i]] != 0;
                if (isnan(p.number[i]) && !mark) {
                    char param[128];
                    snprintf(param, sizeof param, "tables[0].rows[%zu][%zu]", i, at);
                    return tab_fail(err, TAB_VALIDATION, param, "this value cannot be read as %s",
                                    tab_type_name(own->type));
                }
            }
    }
    *ret = values;
    return TAB_OK;
}
