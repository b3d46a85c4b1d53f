/* Columns as keys/ compares them: sorted sets of values with what tells an identifier from a count. */
#ifndef TAB_KEY_COLUMNS_H
#define TAB_KEY_COLUMNS_H

#include "services/inference/engine/align/view.h"

typedef enum { TAB_KEY_TEXT, TAB_KEY_WHOLE, TAB_KEY_DATE, TAB_KEY_OTHER } tab_key_kind;

/* One column. Values are distinct in normal form. */
typedef struct {
    uint32_t table, column;
    tab_key_kind kind; /* OTHER: numbers that are not whole, which name nothing */
    uint32_t n;        /* distinct values */
    uint32_t *key;     /* (n) ids of normal forms (tab_value.key), ascending */
    uint32_t *rows;    /* (n) rows that hold each */
    uint32_t *rank;    /* (n) place among the others: of numbers by size, of texts by first row */
    double *number;    /* (numbers) WHOLE and DATE: ascending, not aligned with key; else NULL */
    uint32_t numbers;  /* values that are numbers: nearly all */
    size_t present;
    bool unique;         /* each value stands in one row, but for one value in fifty */
    bool calendar;       /* dates one after another at even steps, or whole numbers that are such years */
    bool counter;        /* it numbers the rows of its table from 0 or 1 on, in their order (decision 0415) */
    uint32_t place, nth; /* columns before it in its table, and unique ones; row indexes are not counted */
    double least, most;
    double slope;    /* rank correlation of a value's size with its rows: counts fall as they grow */
    double climbing; /* share of neighbouring rows whose value is greater than the one before */
    double smooth; /* correlation of the rows of neighbouring numbers: a measure's frequencies form a curve */
    double round;  /* rows of multiples of five beyond their share of the values: people round measures */
    double length, digits, words; /* means over values: characters, share of digits, words */
} tab_key_column;

/* All columns of all tables, table by table. at[t] is the first of table t, at[n] their number. */
typedef struct {
    size_t *at;
    tab_key_column *col;
} tab_key_columns;

/* Whether every table leads with a counter of its rows, all from one start. */
bool tab_key_columns_lead(const tab_views *v, const tab_key_columns *k);
/* Takes these counters for row indexes, or no longer: their kind becomes OTHER, and the others' places are
 * told without them. */
void tab_key_columns_index(const tab_views *v, tab_key_columns *k, bool index);

/* Lives in a. TAB_INTERNAL: out of memory. */
tab_status tab_key_columns_new(const tab_engine *e, const tab_views *v, tab_arena *a, tab_key_columns *ret,
                               tab_error *err) TAB_CHECKED;

#endif
