/* What bundle.c gives to serving beside the whole pass (engine.h). */
#ifndef TAB_BUNDLE_H
#define TAB_BUNDLE_H

#include "services/inference/engine/predict/choose/select.h"
#include "services/inference/engine/predict/fitted.h"
#include "services/inference/engine/relational/relational.h"

/* A profiled table as the bundle's `tables[]` shows it. Lives in the arena; NULL when it is full. */
Tabella__TableUnderstanding *tab_understanding(tab_arena *a, const tab_profile *p);

/* What tables that are linked with the target's say of its rows; both NULL where they say nothing. */
typedef struct {
    tab_links *links;
    tab_link_set *set;  /* what was chosen; the model reads it behind the table's own columns */
    tab_link_told told; /* of each of the other tables */
    tab_link_copies copies;
} tab_linked;

/* Fits the chosen target, with what linked tables say of it. refs: between the tables; of o: base, split,
 * as_of and anomaly; served as in tab_fit_options. What is linked lives in e->arena; the model is the
 * caller's to free. Errors as tab_fit's, and VALIDATION on "options.as_of" (no such column, no time, nothing
 * linked). */
tab_status tab_fit_linked(const tab_engine *e, tab_profile *const *p, size_t n, const tab_references *refs,
                          const tab_selection *s, const tab_run_options *o, bool served,
                          tab_linked *ret_linked, tab_fitted **ret, tab_error *err) TAB_CHECKED;

/* The target as a pass chooses it: tab_select, and where steps ahead are asked a number unless another
 * task is named. VALIDATION on "options.horizon" where they are told of none. */
tab_status tab_select_target(const tab_engine *e, tab_profile *const *p, size_t n, const tab_references *refs,
                             const tab_run_options *o, tab_selection *s, tab_error *err) TAB_CHECKED;

struct tab_horizon; /* horizon/horizon.h */

/* The target's table with the rows of its next o->horizon steps, profiled; all else of *ret (n) is p. */
tab_status tab_look_ahead(const tab_engine *e, tab_profile *const *p, size_t n, const tab_selection *s,
                          const tab_run_options *o, struct tab_horizon *h, tab_profile *const **ret,
                          tab_error *err) TAB_CHECKED;

/* How many rows a pass with o->horizon makes, and of which table (decision 0394): what it is billed beside
 * its tables. The target is chosen as the pass does. Errors as the pass's. */
tab_status tab_horizon_rows(const tab_engine *e, const tab_table *const *tables, size_t n,
                            const tab_run_options *o, size_t *ret_table, size_t *ret_rows,
                            tab_error *err) TAB_CHECKED;

/* What a pass makes on its way and an endpoint goes on serving with: the same as made by tab_profile_table,
 * tab_select and tab_fit_linked one after the other. */
typedef struct {
    tab_arena *arena;      /* given: profiles and selection live here */
    tab_profile **profile; /* (n) given; filled */
    tab_selection selection;
    const char *const *const *key; /* [table][column] tab_key_columns_named, or NULL for one table */
    tab_linked linked;
    tab_fitted *fitted; /* the caller's to free, also after an error; NULL without a prediction */
} tab_pass_parts;

/* tab_engine_run that leaves its parts behind; parts may be NULL. The bundle points into parts->arena. */
tab_status tab_engine_pass(const tab_engine *e, const tab_table *const *tables, size_t n,
                           const tab_run_options *o, tab_pass_parts *parts, Tabella__Bundle **ret,
                           tab_error *err) TAB_CHECKED;

#endif
