/* Pairs of rows of one table that may be one entity, and what each pair shows of itself (decision 0318).
 *
 *   rows ─> near rows ─> pairs ─> agreement on each column ─> evidence ─> features ─> trees (twin_model.h)
 *
 * No feature knows a column's name, role or place: they say how much two rows share, how rare that is, how
 * far they contradict one another, and whether others would be better partners. */
#ifndef TAB_LINK_TWIN_PAIRS_H
#define TAB_LINK_TWIN_PAIRS_H

#include "services/inference/engine/link/evidence/voices.h"
#include "services/inference/engine/link/pairs/link.h"

/* clang-format off */
#define TAB_TWIN_FEATURE_LIST(X)                                                                    \
    X(COSINE)       /* of whole rows: words and 3-grams by their idf */                              \
    X(WORDS)        /* of words alone */                                                             \
    X(GRAMS)        /* of 3-grams alone */                                                           \
    X(HELD)         /* share of one row's words, by idf, that the other holds: the greater */        \
    X(HELD_LEAST)   /* the less */                                                                   \
    X(GRAMS_HELD)   /* the same of 3-grams */                                                        \
    X(GRAMS_LEAST)                                                                                   \
    X(CODES)        /* model numbers and the like that both hold */                                  \
    X(CODES_LEFT)   /* that only one holds: of the row that has fewer of them */                     \
    X(CODES_MORE)   /* of the row that has more */                                                   \
    X(CODE_RARE)    /* rarity of the rarest shared code */                                           \
    X(CODE_APART)   /* of the rarest codes of their own, the less rare */                            \
    X(DIGITS_LEFT)  /* short numbers that only one holds: of the row that has fewer */               \
    X(WORD_RARE)    /* rarity of the rarest shared word */                                           \
    X(WORDS_RARE)   /* sum of the shared words' rarity above a common word's */                      \
    X(KNOWN_APART)  /* rarity of words of their own that other rows know: of the two rarest the less */ \
    X(LEFT)         /* words that only one holds: of the row that has fewer */                       \
    X(LEFT_MORE)    /* of the row that has more */                                                   \
    X(EVIDENCE)     /* sum over columns of log(m / u) */                                             \
    X(WORST)        /* the least column of that sum */                                               \
    X(WORST_NEXT)   /* the second least */                                                           \
    X(BEST)         /* the greatest */                                                               \
    X(BEST_NEXT)                                                                                     \
    X(EVIDENCE_MEAN)/* the sum over the columns with two values */                                   \
    X(BOTH)         /* columns in which both have a value */                                         \
    X(EQUAL)        /* in which they are equal */                                                    \
    X(ALIKE)        /* in which they are nearly */                                                   \
    X(APART)        /* in which they are not at all */                                               \
    X(MISSING)      /* in which one has none */                                                      \
    X(EQUAL_SHARE)  /* of the columns with two values */                                             \
    X(EQUAL_BITS)   /* the same by the columns' entropy */                                           \
    X(APART_BITS)                                                                                    \
    X(APART_TELLS)  /* entropy of the most telling column in which they are apart, in parts of the most */ \
    X(EQUAL_TELLS)                                                                                   \
    X(CHANCE)       /* how rare what they share is, beyond one in the table's rows */                \
    X(RAREST)       /* how rare the rarest equal value is */                                         \
    X(JOINT)        /* CHANCE where columns depend on one another: by the column that makes it least */ \
    X(JOINT_MOST)   /* by the one that makes it greatest */                                          \
    X(APART_USUAL)  /* rows that share their rarest equal value share the column in which they are apart: \
                       how often, at the least */                                                    \
    X(EQUAL_USUAL)  /* the same of columns in which they are equal: the mean */                      \
    X(NUMBERS)      /* mean level of agreement of numbers and dates */                               \
    X(NUMBERS_EQUAL)                                                                                 \
    X(NUMBERS_APART)                                                                                 \
    X(DATES_APART)  /* dates that differ, less those that are equal */                               \
    X(NAMED_APART)  /* texts that differ though other rows hold either: rows of the rarer one */     \
    X(NAMED_TELLS)  /* the greatest entropy of such a column */                                      \
    X(NAMED_LIKE)   /* the least likeness of such texts */                                           \
    X(RANK)         /* of the pair among its rows' pairs by cosine: the better */                    \
    X(RANK_WORSE)                                                                                    \
    X(RANK_EVIDENCE)                                                                                 \
    X(RANK_EVIDENCE_WORSE)                                                                           \
    X(LEAD)         /* of its cosine over the best other pair of its rows: the greater */            \
    X(LEAD_LEAST)                                                                                    \
    X(LEAD_EVIDENCE)                                                                                 \
    X(LEAD_EVIDENCE_LEAST)                                                                           \
    X(ABOVE)        /* its evidence over the mean of its rows' pairs: the greater */                 \
    X(ABOVE_LEAST)                                                                                   \
    X(SELF)         /* its evidence in parts of what a row has with itself: of the two the less */   \
    X(SELF_MORE)
/* clang-format on */

enum {
#define TAB_X(name) TAB_TWIN_##name,
    TAB_TWIN_FEATURE_LIST(TAB_X) TAB_TWIN_FEATURES
#undef TAB_X
};

/* What a token is. */
enum {
    TAB_TERM_WORD,
    TAB_TERM_NUMBER, /* up to three digits: a size, a house, a volume */
    TAB_TERM_CODE,   /* digits among letters, or four digits and more: a model, a year, an account */
    TAB_TERM_RUNNING /* of a column that numbers the rows: not heard */
};

typedef struct {
    const tab_views *v;
    const tab_table_view *t[2]; /* of a's rows and of b's: one table twice, or two */
    const tab_sparse *whole[2];
    bool across;            /* two tables */
    size_t rows;            /* nodes: rows of the first table and, across, those of the second behind them */
    const tab_voice *voice; /* (cols) what a column says, or NULL: all say which row it is */
    const tab_attribute *own[2]; /* the attributes of either table with itself */
    tab_linkage l;   /* its attributes are the columns that tell something, or those that two tables share */
    double *u;       /* (attrs, TAB_LEVELS) levels of random pairs */
    float *entropy;  /* (attrs) nats */
    float *joint;    /* (attrs, attrs) P(equal in the second | equal in the first) */
    uint8_t *term;   /* (v->terms) what a token is: a word, a short number, a code */
    size_t n;        /* pairs */
    uint32_t *a, *b; /* rows, within a table a < b, ascending by a, then b */
    tab_agreement *agree; /* (n, attrs) */
    float *cosine, *evidence;
    float *self;    /* (rows) evidence of a node's row with itself */
    float *p;       /* an answer */
    bool *copy;     /* (n) no column contradicts, and chance does not explain it (twin_rules.h); or NULL */
    uint64_t *at;   /* (rows + 1) into pair */
    uint32_t *pair; /* (2 n) of each node, ascending by the other */
} tab_twin_pairs;

/* The pairs of one table, their agreement and evidence; all of it lives in arena a. voice: as above. */
tab_status tab_twin_pairs_new(const tab_engine *e, const tab_views *v, const tab_link_table *tables,
                              size_t table, const tab_voice *voice, tab_arena *a, tab_twin_pairs *ret,
                              tab_error *err) TAB_CHECKED;

/* Pairs of two tables: of s are given v, t, whole, across, rows, own, l.attr and l.attrs, n, a and b; the
 * rest is counted. seeds: rows that are nearest to one another. */
tab_status tab_twin_pairs_between(const tab_engine *e, tab_twin_pairs *s, const tab_row_pairs *seeds,
                                  tab_arena *a, tab_error *err) TAB_CHECKED;

/* The node of pair i's row b. */
static inline uint32_t tab_twin_node(const tab_twin_pairs *s, size_t i)
{
    return s->across ? s->b[i] + (uint32_t)s->t[0]->rows : s->b[i];
}

/* TAB_TWIN_FEATURES numbers of pair i. */
void tab_twin_features(const tab_twin_pairs *s, size_t i, float *x);

#endif
