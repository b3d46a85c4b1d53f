/* References by two columns and more: the values of a few columns identify the rows of a table where fewer
 * do not (the lines of an order by order and line), and as many columns of another table hold such tuples
 * (decisions 0348, 0416, 0461).
 *
 *   keys of tables ─> candidates (sets.c) ─> features (set_features.c) ─> p, choice (set_choose.c) */
#ifndef TAB_KEY_SETS_H
#define TAB_KEY_SETS_H

#include "services/inference/engine/keys/key_columns.h"
#include "services/inference/engine/keys/keys.h"

/* What a tuple counts, since tuples of one row's values are seldom free of one another (decision 0348). */
static const double TAB_KEY_SET_FREE = 1.0 / 3;
enum { TAB_KEY_WIDEST = 4 /* columns of a key */ };

/* clang-format off */
#define TAB_KEY_SET_FEATURE_LIST(X)                                                                     \
    X(MISSED)        /* share of the child's tuples that the parent does not hold */                    \
    X(COVERED)       /* share of the parent's tuples that the child holds */                            \
    X(CHANCE_LEAST)  /* logarithm of the share held were the values of a column put in anew: the least */ \
    X(LOOSE)         /* share of its columns that belong to no key, nor do the parent's */              \
    X(REFERS)        /* least probability of a column of the child to refer by itself; 0: does not */   \
    X(EXACT)         /* share of the parent's rows beyond its tuples */                                 \
    X(ONCE)          /* share of the child's rows that their tuple names */                             \
    X(ROWS)          /* logarithm of the child's rows by the parent's */                                \
    X(WITHIN)        /* logarithm of the child's tuples by its values in the column that has most */    \
    X(PARENT_WITHIN) /* the same of the parent */                                                       \
    X(APART)         /* columns of the child between its first and its last that are none of them */    \
    X(ORDER)         /* the child's columns stand in the parent's order */                              \
    X(OTHERS)        /* logarithm of 1 + candidates of other parents for the same columns */            \
    X(SMALLEST)      /* logarithm of the parent's tuples by those of the smallest of these and itself */ \
    X(FIRST)         /* no other way between these tables holds more, or as much by earlier columns */  \
    X(PARENT_UP)     /* logarithm of 1 + candidates that the parent's columns are the child of */       \
    X(BACK)          /* the parent's columns refer to the child's as well */
/* clang-format on */

enum {
#define TAB_X(name) TAB_KEY_SET_F_##name,
    TAB_KEY_SET_FEATURE_LIST(TAB_X)
#undef TAB_X
        TAB_KEY_SET_FEATURES
};

/* Columns are of tab_key_columns.col. child[i] refers to parent[i]. */
typedef struct {
    uint32_t n, child[TAB_KEY_WIDEST], parent[TAB_KEY_WIDEST];
    uint32_t tuples, held;  /* distinct tuples of values of the child; those that the parent has */
    uint32_t parent_tuples; /* distinct ones of the parent */
    size_t child_rows, parent_rows;
    double chance[TAB_KEY_WIDEST]; /* share that the parent would have, were the child's value of the column
                                      put in anew */
    double told;                   /* log-odds of what is held, and of names, against chance; not bounded */
    uint32_t ways;                 /* in which columns of the child were compared with the key */
    float f[TAB_KEY_SET_FEATURES];
    double p;
    bool once;  /* each tuple stands once in the child, too */
    bool panel; /* things by moments, of which the child's lie on the parent's (decision 0640) */
    bool grid;  /* columns of the same names, all of whose tuples the parent has (decision 0661) */
} tab_key_set;

/* What is looked for: single, the references of one column and the keys that columns belong to by themselves.
 * Between tables of which one refers to the other by one column sets are not sought; columns of different
 * keys make no set. */
typedef struct {
    const tab_engine *e;
    const tab_views *v;
    const tab_key_columns *k;
    const tab_keys *single;
    bool *linked;   /* (tables, tables) [child * tables + parent] a single column refers to the parent */
    double *refers; /* (columns) greatest probability, of at least one half, to refer by itself; else 0 */
    uint32_t *key;  /* (columns) the number of the key that a column belongs to by itself, or TAB_NULL */
} tab_key_set_search;

/* Fills s; what it points to lives in a. False: the arena is full. */
bool tab_key_set_search_new(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                            const tab_keys *single, tab_arena *a, tab_key_set_search *s) TAB_CHECKED;

/* All candidates with their features, in a fixed order; p is not filled. They live in a.
 * Errors: CANCELLED, INTERNAL (out of memory). */
tab_status tab_key_sets_candidates(const tab_key_set_search *s, tab_arena *a, tab_key_set **ret,
                                   size_t *ret_n, tab_error *err) TAB_CHECKED;

/* The features: what each candidate tells, and what all of them together tell. */
void tab_key_sets_features(const tab_key_set_search *s, tab_key_set *x, size_t n);

/* The weights that are shipped: of each feature, the constant last (set_weights.h). */
const double *tab_key_set_weights_shipped(void);

/* The probability of one. What is held may be held by chance, to which all ways that were tried have part:
 *
 *   p = logistic(w f) / (1 + ways exp(-TAB_KEY_SET_FREE told))
 *
 * and of a panel 0.95 at the least, of a grid 0.9. */
double tab_key_set_p(const tab_key_set *x, const double *weights);

/* Fills p and chooses: the likeliest first, one parent for columns of a child. What is left moves to the
 * front, by child columns; returns how many. */
size_t tab_key_sets_choose(const tab_key_set_search *s, const double *weights, tab_key_set *x, size_t n);

/* All of it: sets of probability one half and more, by child table, child columns. The result lives in a.
 * Errors: as above. */
tab_status tab_key_sets_find(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                             const tab_keys *single, tab_arena *a, tab_key_set **ret, size_t *ret_n,
                             tab_error *err) TAB_CHECKED;

/* The row of the parent that each row of the child refers to by n columns, or TAB_NULL: (child rows),
 * malloc'd; NULL: out of memory. Of several parent rows with one tuple the first. */
uint32_t *tab_key_set_rows(const tab_table_view *child, const uint32_t *c, const tab_table_view *parent,
                           const uint32_t *p, uint32_t n);

#endif
