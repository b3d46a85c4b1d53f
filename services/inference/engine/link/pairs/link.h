/* Which rows of two tables are one entity: blocking, comparison, unsupervised weights, calibration. */
#ifndef TAB_LINK_H
#define TAB_LINK_H

#include "services/inference/engine/align/joined.h"
#include "services/inference/engine/keys/plan.h"
#include "services/inference/engine/link/pairs/compare.h"
#include "services/inference/engine/link/pairs/rows.h"

/* What linking needs of each table, made once. */
typedef struct {
    tab_sparse whole; /* whole rows, no schema */
    tab_index index;  /* of whole */
    tab_signature *signature;
} tab_link_table;

/* How two rows agree on one attribute. */
typedef struct {
    float gain; /* of shared tokens (tab_token_match) */
    float rare; /* equal values: log of the value's share of both columns */
    uint8_t level, shared, left_a, left_b;
} tab_agreement;

/* Candidate pairs of rows, ascending by a, then b. */
typedef struct {
    size_t n, attrs;
    uint32_t *a, *b;
    tab_agreement *agree; /* (n, attrs) */
    float *elsewhere;     /* evidence of words shared outside the aligned columns */
    float *cosine;        /* whole rows */
    float *evidence;      /* log-likelihood ratio of the attributes (Fellegi-Sunter with term frequencies) */
    float *p;             /* probability of one entity; 0 for what was not kept */
    bool *kept;           /* chosen by the assignment */
} tab_candidates;

typedef struct {
    size_t ta, tb;
    size_t cols_a, cols_b;
    float *column_p;                    /* (cols_a, cols_b) */
    float *features;                    /* (cols_a, cols_b, TAB_ALIGN_FEATURES) what column_p follows from */
    uint32_t *match;                    /* (cols_a) */
    tab_joined joined[TAB_JOINED_MOST]; /* columns of the one that are a column of the other */
    size_t joins;
    tab_attribute *attr;
    size_t attrs;
    tab_candidates c;
    double *weight; /* (attrs, TAB_LEVELS) log(m / u) */
    double *log_m;  /* (attrs, TAB_LEVELS) */
    double *
        /* (attrs, 3) log of the chances that a token is in the partner's value, a's is not, b's is not */
        log_kept;
    double share;    /* of the smaller table's rows that have a partner, estimated */
    double log_none; /* log-odds against a random pair that evidence has to beat */
    /* Whether a row of b may be one entity with several of a's, and a row of a with several of b's: both
     * false, one to one; many_b alone, one to many; both, many to many (rows_per_entity.c). */
    bool many_a, many_b;
    bool keyed;                /* c is what a key says that both tables share (tab_key_plan.keyed) */
    bool learned;              /* c is a learned model's (across_model.h), no longer the rules' */
    uint32_t thing_a, thing_b; /* columns that name what the rows of both are of, where no row is another's;
                                  else TAB_NULL */
} tab_linkage;

/* Two tables, half linked: rows that ask, what they found, and the pairs of rows that seem to match. */
typedef struct {
    size_t n;
    uint32_t *row;   /* (n) */
    tab_near *cross; /* (n, TAB_NEAR) rows of the other table */
} tab_asked;

typedef struct {
    bool large, apart; /* apart: their rows are not matched */
    tab_asked a, b;
    tab_row_pairs seeds;
} tab_half_linked;

/* Links table ta with tb, in three steps, since joined columns are added to the views by one thread. Columns
 * of different keys are not aligned, a reference and its key are; of tables that the plan holds apart nothing
 * else is, and no rows. All of *l and *h lives in arena a. */
tab_status tab_link_columns(const tab_engine *e, const tab_views *v, tab_link_table *tables,
                            const tab_key_plan *plan, size_t ta, size_t tb, tab_arena *a, tab_linkage *l,
                            tab_half_linked *h, tab_error *err) TAB_CHECKED;
tab_status tab_link_join(tab_views *v, tab_linkage *l, tab_error *err) TAB_CHECKED;
tab_status tab_link_rows(const tab_engine *e, const tab_views *v, tab_link_table *tables,
                         const tab_key_plan *plan, tab_half_linked *h, tab_arena *a, tab_linkage *l,
                         tab_error *err) TAB_CHECKED;

/* Links all pairs of tables, by the first table and the second; what is found lives as long as a. */
tab_status tab_link_pairs(const tab_engine *e, tab_views *v, tab_link_table *tables, const tab_key_plan *plan,
                          tab_arena *a, tab_linkage **ret, size_t *ret_n, tab_error *err) TAB_CHECKED;

tab_status tab_link_tables_new(const tab_engine *e, const tab_views *v, tab_arena *a, tab_link_table **ret,
                               tab_error *err) TAB_CHECKED;
void tab_link_tables_free(tab_link_table *t, size_t n);

/* blocking.c: candidates of the attributes; lists are malloc'd by the arena. */
tab_status tab_block_pairs(const tab_engine *e, const tab_views *v, size_t ta, size_t tb,
                           const tab_attribute *attr, size_t attrs, const tab_near *extra_ab,
                           const tab_near *extra_ba, tab_arena *a, tab_candidates *ret,
                           tab_error *err) TAB_CHECKED;

/* agreement.c, score.c: levels, weights and probabilities of the candidates. */
tab_status tab_score_pairs(const tab_engine *e, const tab_views *v, tab_link_table *tables, tab_linkage *l,
                           const tab_row_pairs *seeds, tab_arena *a, tab_error *err) TAB_CHECKED;

/* How row ra of a's table and row rb of b's agree on one attribute. exact, when not NULL, receives the
 * evidence of equal tokens above what common ones have (tab_elsewhere). */
tab_agreement tab_agree(const tab_views *v, const tab_table_view *a, const tab_table_view *b,
                        const tab_attribute *t, uint32_t ra, uint32_t rb, double *exact);

/* The same of two values of the attribute's columns, by text or number: whatever rows hold them. */
tab_agreement tab_agree_values(const tab_views *v, const tab_table_view *a, const tab_table_view *b,
                               const tab_attribute *t, uint32_t p, uint32_t q, double *exact);

/* Log-likelihood ratio of one attribute. Text of several words counts word by word (a rare word that both
 * sides hold says more than a common one; words of one text depend on one another, so that their sum is
 * damped with their number), everything else by its level, equal values by their share of the column. */
double tab_evidence(const tab_linkage *l, size_t attr, const tab_agreement *g);

/* What is counted on one attribute, and its m and chances of tokens from that, with a little of what is
 * usual. u (attrs, TAB_LEVELS): levels of random pairs. */
typedef struct {
    double level[TAB_LEVELS], shared, left_a, left_b;
} tab_tally;
void tab_tally_add(tab_tally *t, const tab_agreement *g, double p);
void tab_weights_learn(tab_linkage *l, size_t attr, const tab_tally *t, const double *u);

/* rows_per_entity.c: the evidence of each row with itself (rows of a, then of b; malloc'd), and whether
 * entities have several rows in a table (many_a, many_b). */
tab_status tab_rows_per_entity(const tab_engine *e, const tab_views *v, tab_linkage *l, float **ret_self,
                               tab_error *err) TAB_CHECKED;

/* Whether a row is an entity, by its table: rows_per_entity.c. real is (rows). False: out of memory. */
bool tab_link_real(const tab_table_view *t, float *real);

/* How candidates are ranked before anything is learned: the sum of evidence, cosine and share of the
 * possible evidence (tab_pair_ratio), each by its spread over the candidates. calibrate.c. */
typedef struct {
    double evidence, cosine, ratio; /* spreads */
} tab_pair_scale;
tab_pair_scale tab_pair_scale_of(const tab_candidates *c, const float *self, size_t rows_a);
double tab_pair_ratio(const tab_candidates *c, const float *self, size_t rows_a, size_t i);
float tab_pair_key(const tab_pair_scale *s, double evidence, double cosine, double ratio);

/* Evidence of words that two rows share in any columns, above what the aligned ones explain (tab_agree's
 * exact), and the rows' cosine. agreement.c. */
double tab_elsewhere(const tab_views *v, const tab_sparse *a, const tab_sparse *b, uint32_t ra, uint32_t rb,
                     double explained, float *ret_cosine);

/* tied_matches.c: shares the p of matches among rows that cannot be told apart. False: out of memory. */
bool tab_tied_matches(const tab_views *v, tab_linkage *l, const float *self);

/* within_table_null.c: lowers the p of matches that are not more than what chance makes alike within each
 * table (decision 0210). */
tab_status tab_link_doubt(const tab_engine *e, const tab_views *v, const tab_link_table *tables,
                          tab_linkage *l, const float *self, double text, tab_error *err) TAB_CHECKED;

/* calibrate.c: the assignment of candidates (kept), one partner for each row that may have but one, and
 * its p, from the model's, which is in p before. text: 0 for tables of short fields, 1 for tables of
 * texts. */
tab_status tab_calibrate(const tab_engine *e, const tab_views *v, tab_linkage *l, const float *self,
                         double text, tab_error *err) TAB_CHECKED;
#endif
