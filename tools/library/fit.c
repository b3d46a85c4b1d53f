/* See tabella.h: a model that is fitted once and answers rows one by one, as an endpoint of the service
 * does. Profile and tables stay in the arena: their marks of missing values are those of the rows, too. */
#include "tools/library/library.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/message.h"
#include "services/inference/engine/pool.h"
#include "services/inference/engine/profile/given.h"

static tab_status fit(tabella *t, const tab_engine *e, tab_error *err)
{
    tab_references refs = { 0 };
    tab_linked linked = { 0 };
    tab_selection *s = &t->selection;
    TAB_TRY(tab_profile_given(e, t->table[0], &t->o.given, &t->profile, err));
    if (!tab_sectors_pool(e->arena, &t->profile, 1, &refs))
        return tab_no_memory(err);
    TAB_TRY(tab_select_target(e, &t->profile, 1, &refs, &t->o, s, err));
    if (s->none)
        return tab_fail(err, TAB_VALIDATION, "target", "these rows hold nothing to predict; name a column");
    return tab_fit_linked(e, &t->profile, 1, &refs, s, &t->o, true, &linked, &t->fitted, err);
}

int tabella_fit(tabella *t)
{
    TAB_AUTO(tab_pool) *pool = NULL;
    tab_engine e;
    tab_error err = { 0 };
    if (library_begin(t, &e, &pool) != 0)
        return -1;
    if (t->n != 1)
        return library_failed(t, "tables", "a model is fitted to the rows of one table");
    if (t->o.horizon > 0)
        return library_failed(t, "horizon", "a horizon applies to runs; a fitted model predicts rows");
    return fit(t, &e, &err) == TAB_OK ? 0 : library_error(t, &err);
}

/* Where the column of this name is; t->cols: nowhere. Names that stand twice are nowhere. */
static size_t place_of(const tab_table *t, tab_str name)
{
    size_t at = t->cols, n = 0;
    for (size_t c = 0; c < t->cols; c++)
        if (tab_str_eq(t->col[c].name, name)) {
            at = c;
            n++;
        }
    return n == 1 ? at : t->cols;
}

static bool same_columns(const tab_table *a, const tab_table *b)
{
    bool same = a->cols == b->cols;
    for (size_t c = 0; same && c < a->cols; c++)
        same = tab_str_eq(a->col[c].name, b->col[c].name);
    return same;
}

/* A column of no known cell. */
static bool void_column(tab_arena *a, tab_str name, size_t rows, tab_column *ret)
{
    double *num = tab_arena_new_of(a, double, rows + 1);
    for (size_t r = 0; num != NULL && r < rows; r++)
        num[r] = NAN;
    *ret = (tab_column){ .name = name, .layout = TAB_NUMBERS, .num = num };
    return num != NULL;
}

/* The rows under the fitted columns: as they stand, or by their names where each stands once; the target may
 * lack. from[c]: where the fitted column c came from. */
static tab_status by_name(tabella *t, const tabella *fitted, const tab_table **ret, size_t *from,
                          tab_error *err)
{
    const tab_table *pinned = fitted->profile->table, *rows = t->table[0];
    size_t target = fitted->selection.column, known = 0;
    tab_column *col = tab_arena_new_of(t->arena, tab_column, pinned->cols + 1);
    tab_table *own = tab_arena_new_of(t->arena, tab_table, 1);
    *ret = rows;
    if (col == NULL || own == NULL)
        return tab_no_memory(err);
    for (size_t c = 0; c < pinned->cols; c++)
        from[c] = c;
    if (same_columns(pinned, rows))
        return TAB_OK;
    for (size_t c = 0; c < pinned->cols; c++) {
        tab_str name = pinned->col[c].name;
        from[c] = place_of(rows, name);
        if (from[c] < rows->cols && place_of(pinned, name) == c) {
            col[c] = rows->col[from[c]];
            known++;
        } else if (c != target) {
            return tab_fail(err, TAB_VALIDATION, "tables[0].columns",
                            "the rows lack the column \"%.*s\" of the fitted table, or have it twice",
                            (int)(name.n < 64 ? name.n : 64), name.p);
        } else if (!void_column(t->arena, name, rows->rows, &col[c])) {
            return tab_no_memory(err);
        }
    }
    for (size_t c = 0; known < rows->cols && c < rows->cols; c++)
        if (place_of(pinned, rows->col[c].name) == pinned->cols)
            return tab_fail(err, TAB_VALIDATION, "tables[0].columns",
                            "the fitted table has no column \"%.*s\"",
                            (int)(rows->col[c].name.n < 64 ? rows->col[c].name.n : 64), rows->col[c].name.p);
    *own = (tab_table){ .id = rows->id, .rows = rows->rows, .cols = pinned->cols, .col = col };
    *ret = own;
    return TAB_OK;
}

/* A cell that does not fit is named by its column and by its place in the rows as they were given. */
static void name_cell(const tab_table *pinned, const size_t *from, tab_error *err)
{
    char said[sizeof err->message];
    size_t r, c;
    if (sscanf(err->param, "tables[0].rows[%zu][%zu]", &r, &c) != 2 || c >= pinned->cols)
        return;
    memcpy(said, err->message, sizeof said);
    (void)!tab_fail(err, err->status, "", "column \"%.*s\", row %zu: %s",
                    (int)(pinned->col[c].name.n < 64 ? pinned->col[c].name.n : 64), pinned->col[c].name.p, r,
                    said);
    snprintf(err->param, sizeof err->param, "tables[0].rows[%zu][%zu]", r, from[c]);
}

static tab_status serve(tabella *t, const tabella *fitted, const tab_engine *e, Tabella__Bundle *b,
                        tab_error *err)
{
    const tab_table *pinned = fitted->profile->table, *rows = NULL;
    size_t *from = tab_arena_new_of(e->arena, size_t, pinned->cols + 1);
    tab_scoring s = { 0 };
    const tab_scoring *only = &s;
    if (from == NULL)
        return tab_no_memory(err);
    TAB_TRY(by_name(t, fitted, &rows, from, err));
    rows = tab_void_cells(e->arena, fitted->profile, rows);
    if (rows == NULL)
        return tab_no_memory(err);
    tab_status done = tab_score_read(e, fitted->fitted, rows, &s, err);
    if (done != TAB_OK) {
        name_cell(pinned, from, err);
        return done;
    }
    if (!tab_score_together(e, fitted->fitted, &only, 1))
        return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
    TAB_TRY(tab_score_end(e, fitted->fitted, &s, t->o.explain, &b->prediction, err));
    b->warnings = s.strange;
    b->n_warnings = s.stranges;
    return TAB_OK;
}

int tabella_serve(tabella *t, const tabella *fitted)
{
    TAB_AUTO(tab_pool) *pool = NULL;
    tab_engine e;
    tab_error err = { 0 };
    const tab_base *base = NULL;
    if (library_begin(t, &e, &pool) != 0)
        return -1;
    if (fitted->fitted == NULL)
        return library_failed(t, "", "serve by a tabella that tabella_fit has fitted");
    if (t->n != 1)
        return library_failed(t, "tables", "rows are those of one table");
    Tabella__Bundle *b = tab_message(t->arena, Tabella__Bundle, TABELLA__BUNDLE__INIT);
    if (b == NULL)
        return library_no_memory(t);
    if (tab_base_find(fitted->o.base, &base, &err) != TAB_OK || serve(t, fitted, &e, b, &err) != TAB_OK)
        return library_error(t, &err);
    b->base_model = (char *)(uintptr_t)base->name;
    b->records_total = t->table[0]->rows;
    t->served = true;
    t->served_by = library_hold(fitted);
    return library_print(t, b);
}
