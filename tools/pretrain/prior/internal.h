/* What the files of this folder share. Inside, blocks of columns are column-major: (width, rows). */
#ifndef TAB_PRIOR_INTERNAL_H
#define TAB_PRIOR_INTERNAL_H

#include "tools/pretrain/prior/prior.h"
#include "tools/pretrain/prior/random.h"

#define NODE_WIDTH 24
#define GRAPH_NODES 32
#define POOL (GRAPH_NODES * NODE_WIDTH) /* columns a family may make before some are chosen */

struct tab_prior {
    float *pool;   /* (POOL, rows) what the family made */
    float *work;   /* (6 * NODE_WIDTH, rows) scratch of a function */
    float *table;  /* (TAB_PRIOR_COLS, rows) the chosen columns */
    float *target; /* (4, rows) numeric target and up to three more coordinates of it */
    int *order;    /* (2 * rows) */
    float *sorted; /* (rows) */
    int *label;    /* (rows) */
    uint8_t cat[TAB_PRIOR_COLS];
};

/* What a family leaves behind besides p->table and p->target. */
typedef struct {
    int dims;    /* coordinates of the target, 1..4 */
    int classes; /* when p->label is already the class; else 0 */
} drawn;

/* Fill p->table (cols, n), p->cat, which is zeros, and p->target: the families up to TAB_PRIOR_RULES, and
 * the other two. Calls go one way: prior.c -> additive.c, levels.c -> families.c -> functions.c -> sort.c
 * (decision 0256). */
drawn tab_prior_family_draw(tab_prior *p, tab_rand *r, tab_prior_family f, const tab_prior_shape *s);
drawn tab_prior_additive(tab_prior *p, tab_rand *r, const tab_prior_shape *s);
drawn tab_prior_levels(tab_prior *p, tab_rand *r, const tab_prior_shape *s);

/* ordered.c: the rows become moments in order, so that the queries are later than the context: columns and
 * the numeric target (dims coordinates) drift, effects change, and a column may tell the time. */
void tab_prior_order(tab_prior *p, tab_rand *r, const tab_prior_shape *s, int dims);

/* levels.c: column v (n) as codes of many levels, the most frequent first. */
void tab_prior_fine_codes(tab_rand *r, float *v, int n);

/* out (width, n): independent columns, or those of common clusters or of a walk along the rows. */
void tab_prior_roots(tab_rand *r, float *out, int width, int n);
/* p->table: such columns in groups, some mixed. */
void tab_prior_inputs(tab_prior *p, tab_rand *r, const tab_prior_shape *s);

/* functions.c: random functions of a block, in (p, n) -> out (q, n). */
void tab_prior_mix(tab_rand *r, const float *in, int p, float *out, int q, int n); /* linear */
void tab_prior_trees(tab_rand *r, const float *in, int p, float *out, int q, int n, int trees,
                     int *leaf); /* a sum of oblivious trees; leaf (n) is scratch */
/* One of all kinds; p->work is scratch. */
void tab_prior_apply(tab_prior *p, tab_rand *r, const float *in, int width, float *out, int q, int n);
void tab_prior_activate(tab_rand *r, float *v, int n); /* v (n): a random function of each value */

static inline float tab_prior_clip(float v, float a)
{
    return v > a ? a : v < -a ? -a : v; /* NaN passes; standardise removes it */
}

/* Mean 0, SD 1 over n values, clipped at 30; all equal: zeros. Returns false then. */
bool tab_prior_standardise(float *v, int n);
void tab_prior_sort(float *v, int n); /* ascending */
/* Column v (n) becomes codes 0..levels-1 of the intervals between some of its own values; cut (levels). */
void tab_prior_cut(tab_rand *r, float *v, int n, float *cut, int levels);

/* Can 16 random trees tell more of the class than its frequencies do, out of bag? */
bool tab_prior_learnable(tab_prior *p, tab_rand *r, const tab_prior_shape *s, const float *y, int classes);

#endif
