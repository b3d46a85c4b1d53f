/* Inclusion dependencies: columns whose values are among those of another table's unique column, with the
 * features that tell a reference from a coincidence. */
#ifndef TAB_INCLUSIONS_H
#define TAB_INCLUSIONS_H

#include "services/inference/engine/keys/key_columns.h"

/* clang-format off */
#define TAB_KEY_FEATURE_LIST(X)                                                                     \
    X(HELD)        /* share of the child's distinct values that the parent holds */                 \
    X(HELD_ROWS)   /* the same of its rows */                                                       \
    X(COVERED)     /* share of the parent's values that the child holds */                          \
    X(CHILD_N)     /* logarithm of the child's distinct values */                                   \
    X(PARENT_N)    /* logarithm of the parent's */                                                  \
    X(CHANCE)      /* logarithm of the chance that whole numbers of the child's range are held */   \
    X(DENSE)       /* share of the whole numbers in the child's range that the parent holds */      \
    X(CHILD_DENSE) /* share of the whole numbers in its range that the child holds */               \
    X(TOP)         /* chance that a sample of the parent leaves out as much of its upper end */     \
    X(BOTTOM)      /* of its lower end */                                                           \
    X(TOP_GAP)     /* share of the parent's values above the child's */                             \
    X(SPREAD)      /* Kolmogorov's distance of the child's places in the parent from even ones */   \
    X(SPREAD_N)    /* the same times the root of their number */                                    \
    X(SLOPE)       /* how a child's value's rows follow its size */                                 \
    X(CLIMBING)    /* share of the child's rows that are greater than the row before */             \
    X(CHILD_ONCE)  /* distinct values over rows of the child */                                     \
    X(CHILD_NULL)  /* share of the child's rows without value */                                    \
    X(CHILD_PLACE) /* the child's column, from 0; at most 9 */                                      \
    X(PARENT_PLACE)/* the parent's */                                                               \
    X(PARENT_NTH)  /* unique columns before the parent in its table */                              \
    X(PARENT_NULL) /* share of the parent's rows without value */                                   \
    X(CHILD_NTH)   /* -1 where the child is not unique, else unique columns before it */            \
    X(KIND)        /* 0 texts, 1 whole numbers, 2 dates */                                          \
    X(LENGTH)      /* mean length of the child's values */                                          \
    X(LENGTHS)     /* difference of mean lengths, in parts of the greater */                        \
    X(DIGITS)      /* share of digits of the child's values */                                      \
    X(WORDS)       /* mean number of words */                                                       \
    X(LEAST)       /* the parent's least number; at most 1e4, texts -1 */                           \
    X(CHILD_LEAST) /* the child's */                                                                \
    X(ROWS)        /* logarithm of child rows over parent rows */                                   \
    X(RIVALS)      /* logarithm of one and the other parents that hold as much */                   \
    X(BEST)        /* coverage over the best coverage of the child's parents */                     \
    X(SIZE)        /* parent's values over those of the child's smallest parent */                  \
    X(LIKED)       /* logarithm of one and the columns of other tables that the parent holds */     \
    X(SIBLINGS)    /* columns of the child's table that the parent holds, less one */               \
    X(BACK)        /* the child's column is a parent of the parent's too */                         \
    X(TOGETHER)    /* how much other columns of both tables agree over the joined rows */           \
    X(CHILD_KEYED) /* the child's table has a unique column before this one */                      \
    X(PARENT_CLIMB)/* share of the parent's rows that are greater than the row before */            \
    X(PARENT_DENSE)/* share of the whole numbers in its range that the parent holds */              \
    X(CHILD_COLS)  /* logarithm of the columns of the child's table */                              \
    X(PARENT_COLS) /* of the parent's */                                                            \
    X(PARENT_TEXTS)/* columns of texts of the parent's table that are not unique, at most 9 */      \
    X(PARENT_UP)   /* logarithm of one and the columns that hold the parent */                      \
    X(CHILD_LIKED) /* logarithm of one and the columns that the child holds */                      \
    X(LIKED_BEST)  /* LIKED less the greatest of the child's parents */                             \
    X(TOP_BEST)    /* TOP less the greatest of the child's parents */                               \
    X(SPREAD_BEST) /* SPREAD less the least of the child's parents */                               \
    X(SMOOTH)      /* correlation of the rows of the child's neighbouring numbers */                \
    X(ROUND)       /* rows of the child's multiples of five beyond their share of its values */     \
    X(COUNTERS)    /* 1 the parent counts its rows, 2 the child, 3 both */                          \
    X(DRAWN)       /* logarithm of the child's values over those that its rows would draw */        \
    X(SPREAD_ROWS) /* SPREAD of the child's rows, a value counted as often as it stands there */
/* What a first answer for all candidates tells of each. p is the answer's probability. */
#define TAB_KEY_CONTEXT_LIST(X)                                                                     \
    X(FIRST)       /* log-odds of the first answer */                                               \
    X(RIVAL)       /* the greatest log-odds of the child's other parents */                         \
    X(FAME)        /* sum of p of the parent's other children */                                    \
    X(FAME_ELSE)   /* the greatest such sum of the other columns of the parent's table */           \
    X(RISES)       /* sum of p of the parent as a child */                                          \
    X(CHILD_FAME)  /* sum of p of the child as a parent */                                          \
    X(TABLE_REFERS)/* sum of p of the other columns of the child's table, each with its best */     \
    X(TABLES)      /* sum of p of other columns of the child's table to the parent's table */       \
    X(BESIDE)      /* the greatest p of the columns before and after the child in its table */
/* clang-format on */

enum {
#define TAB_X(name) TAB_KEY_F_##name,
    TAB_KEY_FEATURE_LIST(TAB_X)
#undef TAB_X
        TAB_KEY_FEATURES, /* of the first answer; those of the second go on behind */
    TAB_KEY_BEFORE_CONTEXT = TAB_KEY_FEATURES - 1,
#define TAB_X(name) TAB_KEY_F_##name,
    TAB_KEY_CONTEXT_LIST(TAB_X)
#undef TAB_X
        TAB_KEY_ALL
};

/* A candidate: the values of column child are among parent's, but for one in five; of columns that say when,
 * those that lie in the parent's span. */
typedef struct {
    uint32_t child, parent;
    uint32_t held;    /* distinct values of child that parent holds */
    size_t held_rows; /* rows of child that hold them */
    bool calendar;    /* the parent's rows are the moments of a calendar, and the child's lie on it */
    /* of two unique columns with the same values: the logarithm of how many other sets of values, in how
     * many other pairs of columns, might be there as well (accident.c); else 0 */
    double others;
    float f[TAB_KEY_ALL];
} tab_inclusion;

/* By child, then parent. Those of a row index are none. Lives in a. */
tab_status tab_inclusions_find(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                               tab_arena *a, tab_inclusion **ret, size_t *ret_n, tab_error *err) TAB_CHECKED;

/* Leaves out the inclusions of columns that became row indexes (tab_key_columns_index), as if these were not
 * there. Returns how many are left. False in *ok: out of memory. */
size_t tab_inclusions_drop(const tab_views *v, const tab_key_columns *k, tab_inclusion *x, size_t n,
                           bool *ok);

/* Which of n inclusions is that of a child and a parent; n: none. */
size_t tab_inclusion_at(const tab_inclusion *x, size_t n, uint32_t child, uint32_t parent);

/* Fills the features of the second answer. p: (n) of the first. False: out of memory. */
bool tab_inclusions_context(const tab_key_columns *k, tab_inclusion *x, size_t n, const float *p);

#endif
