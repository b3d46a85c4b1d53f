/* Where asked rows lie in time, as tests and benches tell it. */
#ifndef TAB_SERIES_PLACES_H
#define TAB_SERIES_PLACES_H

#include "services/inference/engine/series/series.h"

/* Where a row's time lies beside the labelled rows of its series; of a new series, beside those of the
 * table. */
typedef enum { TAB_PLACE_UNKNOWN, TAB_PLACE_BEFORE, TAB_PLACE_AMONG, TAB_PLACE_AFTER } tab_place_relation;

typedef struct {
    tab_place_relation relation;
    int64_t ahead;   /* steps after the last labelled time, 1 or more; 0 unless AFTER */
    bool new_series; /* no labelled row has its keys */
} tab_row_place;

/* ret (rows): of rows that are not asked UNKNOWN. s->kind NONE: UNKNOWN for all. False: memory. */
bool tab_series_place(tab_arena *a, const tab_series *s, size_t rows, const bool *asked, tab_row_place **ret);
#endif
