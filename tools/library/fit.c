/* See tabella.h: a model that is fitted once and answers rows one by one, as an endpoint of the service
 * does. Profile and tables stay in the arena: their marks of missing values are those of the rows, too. */
#include "tools/library/library.h"

#include "services/inference/engine/message.h"
#include "services/inference/engine/pool.h"
#include "services/inference/engine/profile/given.h"

static tab_status fit(tabella *t, const tab_engine *e, tab_error *err)
{
    tab_references refs = { 0 };
    tab_linked linked = { 0 };
    tab_selection s;
    TAB_TRY(tab_profile_given(e, t->table[0], &t->o.given, &t->profile, err));
    if (!tab_sectors_pool(e->arena, &t->profile, 1, &refs))
        return tab_no_memory(err);
    TAB_TRY(tab_select_target(e, &t->profile, 1, &refs, &t->o, &s, err));
    if (s.none)
        return tab_fail(err, TAB_VALIDATION, "target", "these rows hold nothing to predict");
    return tab_fit_linked(e, &t->profile, 1, &refs, &s, &t->o, true, &linked, &t->fitted, err);
}

int tabella_fit(tabella *t)
{
    TAB_AUTO(tab_pool) *pool = NULL;
    tab_engine e;
    tab_error err = { 0 };
    if (library_begin(t, &e, &pool) != 0)
        return -1;
    if (t->n != 1)
        return library_failed(t, "tables", "a model needs a target");
    if (t->o.horizon > 0)
        return library_failed(t, "horizon", "a horizon applies to runs; a fitted model predicts rows");
    return fit(t, &e, &err) == TAB_OK ? 0 : library_failed(t, err.param, err.message);
}

static bool same_columns(const tab_table *a, const tab_table *b)
{
    bool same = a->cols == b->cols;
    for (size_t c = 0; same && c < a->cols; c++)
        same = tab_str_eq(a->col[c].name, b->col[c].name);
    return same;
}

static tab_status serve(tabella *t, const tabella *fitted, const tab_engine *e, Tabella__Bundle *b,
                        tab_error *err)
{
    const tab_table *rows = tab_void_cells(e->arena, fitted->profile, t->table[0]);
    tab_scoring s = { 0 };
    const tab_scoring *only = &s;
    if (rows == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_score_read(e, fitted->fitted, rows, &s, err));
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
    if (t->n != 1 || !same_columns(fitted->profile->table, t->table[0]))
        return library_failed(t, "tables[0].columns",
                              "rows must have the columns of the fitted table, in its order");
    Tabella__Bundle *b = tab_message(t->arena, Tabella__Bundle, TABELLA__BUNDLE__INIT);
    if (b == NULL)
        return library_failed(t, "", "out of memory");
    if (tab_base_find(fitted->o.base, &base, &err) != TAB_OK || serve(t, fitted, &e, b, &err) != TAB_OK)
        return library_failed(t, err.param, err.message);
    b->base_model = (char *)(uintptr_t)base->name;
    b->records_total = t->table[0]->rows;
    return library_print(t, b);
}
