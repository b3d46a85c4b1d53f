/* The synthetic prior: random tables with a target, on which the in-context transformer is trained.
 *
 * A task is a pure function of (TAB_PRIOR_VERSION, seed, index, shape): the generator is counter-based, so
 * tasks come out byte for byte alike whatever the number of threads and the order they are drawn in (on one
 * processor type and libm). No server, no BLAS: tools/pretrain/prior.py loads this folder as a shared
 * library.
 *
 * The mixture (structural causal models after Hollmann et al., Nature 2025, and Qu et al., TabICL, 2025;
 * rules and level effects are our additions) is docs/pretraining.md; families.c, additive.c and levels.c
 * draw columns and a numeric target, ordered.c lets some of the tables drift along their rows
 * (decision 0387), prior.c makes a table of it: classes, quantised and warped columns, missing cells;
 * filter.c drops tasks that nobody could learn. */
#ifndef TAB_PRIOR_H
#define TAB_PRIOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAB_PRIOR_VERSION 3
#define TAB_PRIOR_ROWS 4096 /* the largest shape */
#define TAB_PRIOR_COLS 100
#define TAB_PRIOR_CLASSES 10

typedef enum {
    TAB_PRIOR_GRAPH,    /* random causal graph, 32 % */
    TAB_PRIOR_NET,      /* one random network over latent causes, 9 % */
    TAB_PRIOR_TREES,    /* sum of oblivious trees, 9 % */
    TAB_PRIOR_RULES,    /* XOR, parity, lookup, AND, OR, shallow tree, product, 7 % */
    TAB_PRIOR_LEVELS,   /* columns of many levels, each with its own effect, 15 % */
    TAB_PRIOR_ADDITIVE, /* a noisy sum of effects of single columns, 28 % */
    TAB_PRIOR_FAMILIES
} tab_prior_family;

typedef struct {
    int32_t rows;       /* 64..TAB_PRIOR_ROWS; the first `context` of them are the labelled ones */
    int32_t context;    /* 16..rows - 1 */
    int32_t cols;       /* 1..TAB_PRIOR_COLS */
    int32_t regression; /* 1: y is standardised numeric; 0: y is a class 0..classes-1 */
    int32_t easy;       /* 1: little noise, no missing cells, at most 3 classes: the first steps */
} tab_prior_shape;

typedef struct {
    int32_t family, classes; /* classes is 0 for regression */
    int32_t attempts;        /* draws until one passed the filter */
    int32_t missing;         /* the task has missing cells */
    int32_t kept;            /* failed the filter and was kept as one of the 5 % */
    int32_t ordered;         /* the rows are moments in order: the queries come after the context */
} tab_prior_info;

typedef struct tab_prior tab_prior; /* scratch of one thread, about 12 MB */
tab_prior *tab_prior_new(void);
void tab_prior_free(tab_prior *p); /* NULL is fine */

/* The shape of batch `index`: rows LogU(low, high) rounded to 64, columns LogU(2, 64), context share
 * U(.3, .9); rows x cols <= 40,000, or <= 80,000 where `high` passes 1,024. */
void tab_prior_shape_of(uint64_t seed, uint64_t index, int low, int high, tab_prior_shape *ret);

/* The family that task `index` will be of. */
tab_prior_family tab_prior_family_of(uint64_t seed, uint64_t index);

/* One task. x (rows, cols) row-major, NaN where missing; y (rows); cat (cols) 1 where the values are codes
 * of a category. Every class stands in the context; no column is constant there. */
void tab_prior_draw(tab_prior *p, uint64_t seed, uint64_t index, const tab_prior_shape *s, float *x, float *y,
                    uint8_t *cat, tab_prior_info *info);

/* `count` tasks of one shape, indexes first.., end to end in the same layout; info may be NULL.
 * Returns 0, or -1 when out of memory or the shape is not a legal one. */
int tab_prior_batch(uint64_t seed, uint64_t first, int count, const tab_prior_shape *s, float *x, float *y,
                    uint8_t *cat, tab_prior_info *info);

#endif
