/* Pairs of rows of two tables that may be one entity, and what each shows of itself: what a pair within a
 * table shows (twin_pairs.h), what the rules of score.c and calibrate.c say of it, and how it stands beside
 * the nearest rows of either table itself, which show what look-alikes are like that are not one entity. */
#ifndef TAB_LINK_ACROSS_H
#define TAB_LINK_ACROSS_H

#include "services/inference/engine/link/evidence/twin_pairs.h"

/* clang-format off */
#define TAB_ACROSS_FEATURE_LIST(X)                                                                  \
    X(RULE_EVIDENCE)   /* of score.c, over what a random pair has to beat */                         \
    X(RULE_P)          /* of calibrate.c and what follows it; 0 where the assignment took another */ \
    X(RULE_KEPT)                                                                                     \
    X(RULE_SELF)       /* its evidence in parts of what the rows could give */                       \
    X(RULE_BEST)       /* p of the assigned pairs of its rows: the greater */                        \
    X(RULE_BEST_LEAST)                                                                               \
    X(OWN_COSINE)      /* its cosine over the nearest of the rows' own tables: the greater */        \
    X(OWN_COSINE_LEAST)                                                                              \
    X(OWN_EVIDENCE)    /* the same of evidence */                                                    \
    X(OWN_EVIDENCE_LEAST)                                                                            \
    X(OTHER_COSINE)    /* over the nearest that are no copies of the row */                           \
    X(OTHER_COSINE_LEAST)                                                                            \
    X(OTHER_EVIDENCE)                                                                                \
    X(OTHER_EVIDENCE_LEAST)                                                                          \
    X(TWINS)           /* how many copies they have: the more */                                          \
    X(TWINS_LEAST)                                                                                   \
    X(NULL_COSINE)     /* log of the share of rows whose nearest in their own table is as near */    \
    X(NULL_EVIDENCE)                                                                                 \
    X(EXCESS_COSINE)   /* log of how many more rows have one as near in the other table */           \
    X(EXCESS_EVIDENCE)                                                                               \
    X(EXCESS_ALL_COSINE) /* the same where twins count as near rows of the own table */              \
    X(EXCESS_ALL_EVIDENCE)
/* clang-format on */

enum {
    TAB_ACROSS_BASE = TAB_TWIN_FEATURES - 1,
#define TAB_X(name) TAB_ACROSS_##name,
    TAB_ACROSS_FEATURE_LIST(TAB_X) TAB_ACROSS_FEATURES
#undef TAB_X
};

/* The nearest rows of a node in its own table. */
typedef struct {
    float cosine, evidence;             /* of all */
    float other_cosine, other_evidence; /* of those that are not its twins */
    float twins;                        /* rows that differ from it in nothing but spelling (twin_rules.h) */
    float rule;                         /* p of its assigned pairs: the greatest */
} tab_own_near;

typedef struct {
    tab_twin_pairs s;
    const tab_linkage *rules;
    float *rule_evidence, *rule_p; /* (s.n) */
    bool *rule_kept;               /* (s.n) */
    tab_own_near *own;             /* (s.rows) by node */
    /* (s.rows) ascending, over nodes: the best in the other table, in the own, and in the own without twins;
     * of cosine and of evidence */
    float *best[3][2];
    float nearer; /* share of the rows whose nearest of the other table, by evidence, is nearer than any of
                   * their own table that is no copy of theirs */
} tab_across;

/* twins: of the link's two tables, with p. Lives in a. */
tab_status tab_across_new(const tab_engine *e, const tab_views *v, const tab_link_table *tables,
                          const tab_linkage *l, const tab_twin_pairs *const twins[2], tab_arena *a,
                          tab_across *ret, tab_error *err) TAB_CHECKED;

/* TAB_ACROSS_FEATURES numbers of pair i. */
void tab_across_features(const tab_across *s, size_t i, float *x);

#endif
