/* What spoke for a table's likeliest sector: the columns without which it would be less likely, and the terms
 * of that sector among their values. */
#ifndef TAB_SECTOR_HINTS_H
#define TAB_SECTOR_HINTS_H

#include "services/inference/engine/profile/profile.h"
#include "services/inference/engine/profile/roles/stages.h"

/* Fills p->hint and p->hints from the staged columns c (p->table->cols), whose answers of stage 1 and
 * readings are there, and p->sector. Words are copied into a. False: it is full. */
bool tab_sector_hints(tab_arena *a, const tab_staged *const *c, tab_profile *p) TAB_CHECKED;
#endif
