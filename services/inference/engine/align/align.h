/* Which columns of two tables hold one attribute, from values alone.
 *
 *   signature(column) x signature(column) ─> features ─┐
 *   rows that seem to match ─> agreement of columns ───┴─> logistic ─> p ─> joint assignment
 */
#ifndef TAB_ALIGN_H
#define TAB_ALIGN_H

#include "services/inference/engine/align/view.h"

typedef struct tab_signature tab_signature; /* of one table's columns */

tab_status tab_signatures_new(const tab_engine *e, const tab_views *v, size_t table, tab_arena *a,
                              tab_signature **ret, tab_error *err) TAB_CHECKED;

/* Rows that are believed to be one entity, and equally many pairs that are not. */
typedef struct {
    size_t n;
    const uint32_t *a, *b;
} tab_row_pairs;

enum {
    TAB_ALIGN_VALUE_FEATURES = 19, /* from the signatures */
    TAB_ALIGN_ROW_FEATURES = 8,    /* from matched rows; all 0 without them */
    TAB_ALIGN_FEATURES = TAB_ALIGN_VALUE_FEATURES + TAB_ALIGN_ROW_FEATURES
};

/* Probability that column i of table ta and column j of table tb are one attribute, in view of the
 * other columns of both: p[i * cols_b + j]. rows may be NULL. features, when not NULL, receives
 * (cols_a * cols_b, TAB_ALIGN_FEATURES), which training reads. */
tab_status tab_align_scores(const tab_engine *e, const tab_views *v, size_t ta, size_t tb,
                            const tab_signature *sa, const tab_signature *sb, const tab_row_pairs *rows,
                            float *p, float *features, tab_error *err) TAB_CHECKED;

/* The one-to-one assignment of greatest total log-odds among the pairs with p >= least: match[i] is the
 * column of b for column i of a, or TAB_NULL. */
tab_status tab_align_assign(size_t cols_a, size_t cols_b, const float *p, float least, uint32_t *match,
                            tab_error *err) TAB_CHECKED;
#endif
