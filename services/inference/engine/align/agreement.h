/* How well two columns agree over rows that seem to match: equal values, equal order, one value determined
 * by the other. */
#ifndef TAB_ALIGN_AGREEMENT_H
#define TAB_ALIGN_AGREEMENT_H

#include "services/inference/engine/align/align.h"

typedef struct {
    double x, y;
    uint32_t rx, ry;
} tab_rank_point;

/* Two columns are not judged by rows whose shared words they hold more than this part of: those rows were
 * chosen for them (decision 0220). */
#define TAB_AGREEMENT_ELSEWHERE 0.8f

/* The caller's memory: room for as many of each as there are pairs of rows. */
typedef struct {
    tab_rank_point *point;
    uint32_t *x, *y;
} tab_agreement_scratch;

/* shared: (rows->n) what the words that both rows hold weigh (idf). A pair of rows that shares little
 * beside these two columns' words was chosen for them, and says nothing of them. f:
 * (TAB_ALIGN_ROW_FEATURES), left as it is where fewer than five pairs have a value in both columns. In
 * order: mean likeness; the same above chance; share of equal values; Spearman's rank correlation of
 * numbers; Goodman and Kruskal's lambda, the smaller and the larger of both directions; share of pairs
 * with one value missing; trust in all of these by the number of pairs. */
void tab_row_agreement(const tab_views *v, const tab_view *wa, const tab_view *wb, const tab_row_pairs *rows,
                       const float *shared, tab_agreement_scratch *scratch, float *f);

/* f (TAB_ALIGN_FEATURES): a day beside another kind of number, such as a salary, is as a text beside a
 * number, unless matched rows rise or fall in both: days may be written as numbers (decision 0841). */
void tab_tell_days_apart(const tab_view *wa, const tab_view *wb, float *f);

#endif
