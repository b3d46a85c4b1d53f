/* What a caller says of a table before it is read: marks that stand for "missing" and what columns are
 * (`options.missing_values`, `options.columns`). Decision 0293. */
#ifndef TAB_PROFILE_GIVEN_H
#define TAB_PROFILE_GIVEN_H

#include "services/inference/engine/pack/pack.h"
#include "services/inference/engine/profile/profile.h"

/* tab_profile_table of the table as the caller says it is: (*ret)->table has null where a cell is void. All
 * lives in e->arena but t's own cells; nothing of g is kept. Entries of other tables are passed
 * over. g NULL: tab_profile_table. Errors: VALIDATION ("options.columns[i].column" and its like),
 * CANCELLED, INTERNAL. */
tab_status tab_profile_given(const tab_engine *e, const tab_table *t, const tab_given *g, tab_profile **ret,
                             tab_error *err) TAB_CHECKED;

/* t with null where a cell is void by p, whose columns it has: t itself where there is none. NULL: the arena
 * is full. */
const tab_table *tab_void_cells(tab_arena *a, const tab_profile *p, const tab_table *t);

/* A profile's voids (pack/pack.h). */
void tab_pack_voids(tab_pack *p, const struct tab_voids *const *at);
#endif
