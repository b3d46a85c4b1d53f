/* Labelled tables from nothing: for each sector a plan of typical tables, filled by role generators. */
#ifndef TAB_TRAIN_GENERATE_H
#define TAB_TRAIN_GENERATE_H

#include "tools/train/labelled.h"

/* n tables of each sector, all columns labelled; the same for the same seed. */
bool tab_generate_tables(tab_arena *a, size_t n, uint64_t seed, tab_labelled **ret, size_t *count);
#endif
