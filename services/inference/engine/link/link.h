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

enum { TAB_PAIR_FEATURES = 28 };

/* Nearest rows within a row's own table, by whole rows: (rows * TAB_NEAR), or NULL where the table is too
 * large for all of its rows to be asked. */
typedef struct {
    const tab_near *a, *b;
} tab_own_near;

/* Candidate pairs of rows, ascending by a, then b. */
typedef struct {
    size_t n, attrs;
    uint32_t *a, *b;
    float *cosine;  /* whole rows */
    uint8_t *level; /* (n, attrs) */
    tab_token_match *token; /* (n, attrs) */
    float *elsewhere; /* evidence of words shared outside the aligned columns */
    float *feature;  /* (n, TAB_PAIR_FEATURES) what p follows from */
    float *evidence; /* log-likelihood ratio of the attributes (Fellegi-Sunter with term frequencies) */
    float *chance;  /* probability by the gap to rivals; 0 for what is not both rows' best */
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
    double *log_m;  /* (attrs, TAB_LEVELS) */
    double *kept_token; /* (attrs, 2) chance that a token of a's (b's) value is in its partner's */
    double share;   /* of the smaller table's rows that have a partner, estimated */
    bool one_to_one;
    double seed_share, repeat_share;
    bool rate_known;
    double rate; /* of the gaps between rivals (calibrate.c) */
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
                           tab_linkage *l, const tab_row_pairs *seeds, const tab_own_near *own,
                           tab_arena *a, tab_error *err) TAB_CHECKED;

/* Log-likelihood ratio of one attribute. Text of several words counts word by word (a rare word that both
 * sides hold says more than a common one; words of one text depend on one another, so that their sum is
 * damped with their number), everything else by its level, equal values by log_share, their share of the
 * column. */
double tab_evidence(const tab_linkage *l, size_t attr, uint8_t level, const tab_token_match *tokens,
                    double log_share);

/* features.c: what tells a match from a likely pair that is none, in terms that do not depend on the data
 * set. log_none the log-odds against a random pair that evidence has to beat. */
tab_status tab_pair_features(const tab_engine *e, const tab_views *v, tab_linkage *l, double log_none, const tab_own_near *own, tab_arena *a,
                             tab_error *err) TAB_CHECKED;

/* calibrate.c: fills chance. self (rows of a, then of b) is the evidence of each row with itself. */
tab_status tab_calibrate(const tab_views *v, tab_linkage *l, const float *self, double log_none,
                         tab_error *err) TAB_CHECKED;

/* Postings that one query may read: what keeps blocking linear. */
static inline size_t tab_link_budget(size_t queries)
{
    size_t b = 50000000 / (queries + 1);
    return b < 1500 ? 1500 : b > 20000 ? 20000 : b;
}
#endif
