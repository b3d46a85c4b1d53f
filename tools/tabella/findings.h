/* What a person wants to know of a bundle first: how good the prediction is beside the plain guess, what
 * speaks for it, what was filled, which rows are unusual, what to doubt. Screen and page show the same. */
#ifndef TABELLA_FINDINGS_H
#define TABELLA_FINDINGS_H

#include "services/inference/engine/engine.h"

enum { FINDINGS_SHOWN = 6, FINDINGS_WARNINGS = 4, FINDINGS_FILLS = 40 };

/* Values of one series, the oldest first. */
typedef struct {
    size_t n;
    double *y;
} findings_past;

typedef struct {
    const char *metric;      /* "AUC", "accuracy" or "R2"; NULL: nothing to score */
    double score, low, high; /* of rows answered out of fold; 95 % interval by the bootstrap */
    double plain;            /* the same for the plain guess: chance, the commonest class, the mean */
    const char *guess;       /* what the plain guess is */
    size_t rows;             /* that were scored */
    size_t reasons;          /* columns that moved the predictions most, 0 where not explained */
    struct {
        tab_str column;
        double share;
    } reason[FINDINGS_SHOWN];
    size_t fills, filled; /* columns with filled cells that are listed; all filled cells */
    struct {
        uint32_t table, column;
        size_t cells;
        const char *method;
    } fill[FINDINGS_FILLS];
    uint32_t anomaly_table;
    size_t unusual, anomalies; /* rows at or above the threshold; those listed, the most unusual first */
    struct {
        uint32_t row;
        double score;
    } anomaly[FINDINGS_SHOWN];
    size_t pasts; /* series that are forecast, in the forecast's order */
    findings_past *past;
    size_t warnings;
    const char *warning[FINDINGS_WARNINGS];
} findings;

/* Memory is e->arena's. Fits an anomaly model to the table of the prediction (of the largest one without a
 * prediction) where it is not too large. False: out of memory or cancelled. */
bool findings_of(const tab_engine *e, const tab_table *const *tables, const Tabella__Bundle *b,
                 findings *ret) TAB_CHECKED;
#endif
