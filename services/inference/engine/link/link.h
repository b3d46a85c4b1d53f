/* Which rows of two tables are one entity: blocking, comparison, unsupervised weights, calibration. */
#ifndef TAB_LINK_H
#define TAB_LINK_H

#include "services/inference/engine/align/align.h"
#include "services/inference/engine/link/compare.h"
#include "services/inference/engine/link/rows.h"

/* What linking needs of each table, made once. */
typedef struct {
    tab_sparse whole;  /* whole rows, no schema */
    tab_index index;   /* of whole */
    tab_signature *signature;
} tab_link_table;

/* Candidate pairs of rows, ascending by a, then b. */
typedef struct {
    size_t n, attrs;
    uint32_t *a, *b;
    float *cosine;  /* whole rows */
    uint8_t *level; /* (n, attrs) */
    float *evidence; /* log-likelihood ratio of the attributes (Fellegi-Sunter with term frequencies) */
    float *p;       /* probability of one entity */
    bool *kept;     /* chosen by the assignment */
} tab_candidates;

typedef struct {
    size_t ta, tb;
    size_t cols_a, cols_b;
    float *column_p;  /* (cols_a, cols_b) */
    float *features;  /* (cols_a, cols_b, TAB_ALIGN_FEATURES) what column_p follows from */
    uint32_t *match;  /* (cols_a) */
    tab_attribute *attr;
    size_t attrs;
    tab_candidates c;
    double *weight; /* (attrs, TAB_LEVELS) log(m / u) */
    double share;   /* of the smaller table's rows that have a partner, estimated */
    bool one_to_one;
} tab_linkage;

/* Links table ta with tb. All of *ret lives in arena a. */
tab_status tab_link_pair(const tab_engine *e, const tab_views *v, tab_link_table *tables, size_t ta,
                         size_t tb, tab_arena *a, tab_linkage *ret, tab_error *err) TAB_CHECKED;

tab_status tab_link_tables_new(const tab_engine *e, const tab_views *v, tab_arena *a,
                               tab_link_table **ret, tab_error *err) TAB_CHECKED;
void tab_link_tables_free(tab_link_table *t, size_t n);

/* blocks.c: candidates of the attributes; lists are malloc'd by the arena. */
tab_status tab_block_pairs(const tab_engine *e, const tab_views *v, size_t ta, size_t tb,
                           const tab_attribute *attr, size_t attrs, const tab_near *extra_ab,
                           const tab_near *extra_ba, tab_arena *a, tab_candidates *ret,
                           tab_error *err) TAB_CHECKED;

/* score.c: levels, weights and probabilities of the candidates. */
tab_status tab_score_pairs(const tab_engine *e, const tab_views *v, tab_link_table *tables,
                           tab_linkage *l, const tab_row_pairs *seeds, tab_arena *a,
                           tab_error *err) TAB_CHECKED;

/* Postings that one query may read: what keeps blocking linear. */
static inline size_t tab_link_budget(size_t queries)
{
    size_t b = 300000000 / (queries + 1);
    return b < 2000 ? 2000 : b > 40000 ? 40000 : b;
}
#endif
