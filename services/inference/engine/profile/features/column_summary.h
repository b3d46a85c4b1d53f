/* A column in little: what its features are computed from, of bounded size whatever the column's (decision
 * 0060).
 *
 * The heart is a bottom-k sample: the TAB_SAMPLE distinct values with the smallest hashes, each with its
 * exact count. It is a uniform sample of the distinct values that does not depend on the order of rows. It
 * gives dictionary shares, shapes and n-grams over distinct values, weighted quantiles, and by its largest
 * hash an estimate of the number of distinct values (Bar-Yossef et al., 2002). A column with fewer distinct
 * values than the sample holds is held whole. Beside it stand plain counts of the rows. */
#ifndef TAB_COLUMN_SUMMARY_H
#define TAB_COLUMN_SUMMARY_H

#include "services/inference/engine/profile/features/column.h"

enum { TAB_SAMPLE = 320, TAB_SAMPLE_BYTES = 400 };

typedef struct {
    uint64_t hash;  /* of the trimmed text (numbers: of the shortest decimal text) */
    uint64_t count; /* cells of the value */
    tab_str text;   /* cut at TAB_SAMPLE_BYTES; in the summary's arena or the table */
} tab_sampled;

typedef struct {
    uint64_t rows, nulls;
    uint64_t bytes; /* of all texts */
    size_t n;       /* sampled values, by ascending hash */
    bool whole;     /* every distinct value is in the sample */
    tab_sampled *value;

    /* Cells that read as plain numbers, in row order. */
    uint64_t numbers, integers;
    double sum, sum_squares, min, max;
    uint64_t up, down, same, unit_steps; /* between neighbouring rows */
    double steps_squared;                /* sum over them of the difference squared */
} tab_summary;

/* The summary of a column that was read. Lives in r->arena; false when it is full. */
bool tab_summarize(tab_reading *r, tab_summary *ret) TAB_CHECKED;

double tab_summary_distinct(const tab_summary *s); /* exact when whole, else an estimate */
#endif
