/* Inside the joint normal model (joint.h): joint.c fits it, joint_view.c completes tables by it, joint_row.c
 * completes one row, which both need. */
#ifndef TAB_JOINT_PARTS_H
#define TAB_JOINT_PARTS_H

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/impute/joint.h"

/* TAB_JOINT_FOLDS: folds that are left out in turn; 2 and 8 fill classes better by 0.005 and 0.003 of
 * accuracy and numbers alike (decision 0307), which is within the spread of eight tables. TAB_JOINT_BLOCK:
 * rows of a loop's turn, no answer depends on it. */
enum { TAB_JOINT_FOLDS = 4, TAB_JOINT_BLOCK = 256 };

/* A feature's run of coordinates. */
typedef struct {
    size_t feature, source;
    size_t at, width; /* its coordinates: at .. at + width; none where a category has one level */
    size_t first;     /* categories: the level of its first coordinate */
} tab_joint_part;

typedef struct {
    double *mean;      /* (m) */
    double *precision; /* (m, m) inverse of the covariance, both triangles */
} tab_joint_model;

struct tab_joint {
    size_t m, parts;
    tab_joint_part *part; /* (parts) those of one column stand together */
    float score[TAB_KNOTS];
    const float *x;       /* (rows, m) coordinates, NaN where missing */
    const uint64_t *draw; /* (rows) of its fold */
    uint32_t *place;      /* (rows) of a row of the table, among the encoded ones */
    size_t rows, cols;
    size_t *from, *to;                     /* (cols) coordinates of a column; from = to: it has none */
    tab_joint_model fold[TAB_JOINT_FOLDS]; /* fold[f] is fitted without the rows of fold f */
};

/* A row's fold. */
static inline size_t tab_joint_fold_of(const tab_joint *j, size_t row)
{
    return (size_t)(tab_mix2(j->draw[row], 0x1017) % TAB_JOINT_FOLDS);
}

/* Scratch of one row's completion. */
typedef struct {
    uint32_t *missing; /* (n) coordinates that the row lacks, rising; room for m */
    size_t n;
    double *l;    /* (n, n) Cholesky factor of L_MM, lower */
    double *r;    /* (m) the row, centred and completed */
    double *y;    /* (m, m) */
    double *left; /* (m, m) */
} tab_joint_room;

/* False: out of memory; tab_joint_room_free frees what there is. */
bool tab_joint_room_new(tab_joint_room *s, size_t m);
void tab_joint_room_free(tab_joint_room *s);

/* a (n, n) becomes its Cholesky factor, in the lower triangle. */
void tab_joint_factor(double *a, size_t n);
/* x (n) <- (l l')^-1 x, l (n, n) lower */
void tab_joint_solve(const double *l, size_t n, double *x);
/* Completes row x (m), NaN where missing, by its expectation: s->missing, s->l and s->r. */
void tab_joint_complete_row(const tab_joint_model *f, const float *x, size_t m, tab_joint_room *s);
#endif
