/* What bundle.c gives to serving beside the whole pass (engine.h). */
#ifndef TAB_BUNDLE_H
#define TAB_BUNDLE_H

#include "services/inference/engine/predict/fitted.h"
#include "services/inference/engine/predict/select.h"

/* A profiled table as the bundle's `tables[]` shows it. Lives in the arena; NULL when it is full. */
Tabella__TableUnderstanding *tab_understanding(tab_arena *a, const tab_profile *p);

/* What a pass makes on its way and an endpoint goes on serving with: the same as made by tab_profile_table,
 * tab_select and tab_fit one after the other. */
typedef struct {
    tab_arena *arena;      /* given: profiles and selection live here */
    tab_profile **profile; /* (n) given; filled */
    tab_selection selection;
    tab_fitted *fitted; /* the caller's to free, also after an error; NULL without a prediction */
} tab_pass_parts;

/* tab_engine_run that leaves its parts behind; parts may be NULL. The bundle points into parts->arena. */
tab_status tab_engine_pass(const tab_engine *e, const tab_table *const *tables, size_t n,
                           const tab_run_options *o, tab_pass_parts *parts, Tabella__Bundle **ret,
                           tab_error *err) TAB_CHECKED;

#endif
