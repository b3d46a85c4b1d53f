/* Columns of one table whose words all stand in one column of the other: street, town and postal code beside
 * an address, title, authors and year beside a reference. Joined, they are compared with it as one attribute
 * (decision 0760). What is told of columns is composed.h's; this is for rows alone. */
#ifndef TAB_ALIGN_JOINED_H
#define TAB_ALIGN_JOINED_H

#include "services/inference/engine/align/align.h"

enum { TAB_JOINED_PARTS = 6, TAB_JOINED_MOST = 4 };

typedef struct {
    bool second;                     /* the parts are b's columns, the whole is a's */
    uint32_t part[TAB_JOINED_PARTS]; /* in the order in which they stand in the whole */
    uint32_t parts, whole;
    uint32_t column; /* of the parts' table, once it is built */
    float held;      /* share of the parts' words that stand in the whole, over rows that seem to match */
} tab_joined;

/* What is joined where the pairs of rows seem to match, at most TAB_JOINED_MOST. match (columns of a): their
 * partners so far, with the probability column_p; a column that has another partner is no part. */
size_t tab_joined_find(const tab_views *v, const tab_table_view *a, const tab_table_view *b,
                       const tab_row_pairs *rows, const uint32_t *match, const float *column_p,
                       tab_joined *ret);

/* Makes the joined column of table, whose values have the keys of whole's where they are equal. One thread
 * builds; where the table has TAB_VIEW_JOINED of them already nothing is built and j->column is TAB_NULL. */
tab_status tab_joined_build(tab_views *v, size_t table, const tab_view *whole, tab_joined *j,
                            tab_error *err) TAB_CHECKED;
#endif
