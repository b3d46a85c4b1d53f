/* See joint.h: fits the joint normal model of a table, once a table, for impute.c. With x a row's centred
 * coordinates, O those present and M those missing, S the covariance and L = S^-1 its precision,
 *
 *   E[x_M | x_O] = -L_MM^-1 L_MO x_O            cov[x_M | x_O] = L_MM^-1
 *
 * which is all that expectation-maximisation needs (joint_row.c computes it). What is left out a column at a
 * time follows from the same numbers (joint_view.c): with r the row completed so, B the coordinates of a
 * present column, and Y = L_MM^-1 L_MB,
 *
 *   P = L_BB - L_BM Y                           the precision of x_B given the rest of O
 *   d = P^-1 (L r)_B                            x_B less its expectation given the rest of O
 *   E[x_M | x_O without B] = r_M + Y d
 *
 * The covariance is drawn a little towards independence, by PRIOR rows of it. */
#include "services/inference/engine/impute/joint.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/impute/joint_parts.h"
#include "services/inference/engine/learn/linear/solve.h"

/* Sizes and bounds: rows that expectation-maximisation reads, least rows of a table, most coordinates,
 * rounds on all rows and then on each fold, levels of a category. Not sensitive: a quarter of FIT_ROWS, half
 * and twice of the rounds or of LEVELS move the normalised RMSE of filled numbers by 0.0007 and the accuracy
 * of filled classes by 0.002 at most (decision 0307). LEAST_ROWS and WIDEST bound tables that the bench
 * lacks. */
enum { FIT_ROWS = 4000, LEAST_ROWS = 30, WIDEST = 200, ROUNDS = 12, MORE_ROUNDS = 4, LEVELS = 12 };
/* Rows' worth of independence in the covariance. 1 and 16 fill classes worse by 0.003 and 0.004 of accuracy;
 * numbers do not move (decision 0307). */
static const double PRIOR = 4;

/* ---- coordinates ----------------------------------------------------------------------------- */

/* Lays out the coordinates of at most `levels` levels a category; returns their number. A number is one
 * coordinate. A category's codes fall in frequency: its commonest levels are told apart. */
static size_t lay_out(const tab_encoder *enc, size_t levels, tab_joint_part *p)
{
    size_t m = 0;
    for (size_t i = 0; i < enc->n; i++) {
        const tab_feature *f = &enc->f[i];
        size_t width = 1, first = 0;
        /* where every level is named, the commonest follows from the others */
        if (f->kind == TAB_FEATURE_CODE) {
            first = f->levels <= levels;
            width = first ? f->levels - 1 : levels;
        }
        p[i] = (tab_joint_part){ .feature = i, .source = f->source, .at = m, .width = width, .first = first };
        m += width;
    }
    return m;
}

/* For qsort: parts by the column that they read. */
static int by_source(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

typedef struct {
    const tab_joint *j;
    const tab_encoder *enc;
    const tab_data *d;
    float *x;
} read_job;

/* The coordinates of one block of rows: normal scores of skewed numbers, z-scores of others within 5,
 * indicators of levels. */
static void read_block(void *ctx, size_t b)
{
    read_job *q = ctx;
    const tab_joint *j = q->j;
    size_t to = (b + 1) * TAB_JOINT_BLOCK < j->rows ? (b + 1) * TAB_JOINT_BLOCK : j->rows;
    for (size_t k = 0; k < j->parts; k++) {
        const tab_joint_part *p = &j->part[k];
        const tab_feature *f = &q->enc->f[p->feature];
        for (size_t i = b * TAB_JOINT_BLOCK; i < to; i++) {
            float *x = q->x + i * j->m + p->at;
            if (f->kind == TAB_FEATURE_CODE) {
                uint32_t c = q->d->code[p->feature][i];
                for (size_t l = 0; l < p->width; l++)
                    x[l] = c == TAB_NULL ? NAN : (float)(c == p->first + l);
                continue;
            }
            float v = q->d->x[p->feature][i];
            float z = (v - f->mean) / f->sd;
            x[0] = isnan(v)    ? NAN
                   : f->skewed ? tab_number_score(f, j->score, v)
                   : z > 5     ? 5
                   : z < -5    ? -5
                               : z;
        }
    }
}

/* ---- expectation-maximisation ---------------------------------------------------------------- */

void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info);

/* precision <- cov^-1, both triangles; cov is overwritten. False: cov is not positive definite. LAPACK reads
 * columns first, so its upper triangle is our lower one. */
static bool invert(double *cov, double *precision, size_t m)
{
    int n = (int)m, info = 0;
    if (!tab_cholesky(cov, m))
        return false;
    dpotri_("U", &n, cov, &n, &info);
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k <= i; k++)
            precision[i * m + k] = precision[k * m + i] = cov[i * m + k];
    return info == 0;
}

/* Rounds of expectation-maximisation from f, on rows [0, n) that are not of fold `without`. prior (m): the
 * variances of independent coordinates, towards which the covariance is drawn. False: memory, cancelled, or
 * no covariance in numbers.
 *
 *   expectation    each row completed, and the covariance that its gaps still have
 *   maximisation   mean and covariance of the completed rows, plus the mean of those covariances
 *
 * The added 1e-4 of the prior's variance keeps the covariance of collinear columns away from singular. */
static bool maximise(const tab_engine *e, const tab_joint *j, size_t n, size_t without, const double *prior,
                     size_t rounds, tab_joint_model *f)
{
    size_t m = j->m;
    double *r = malloc(n * m * sizeof *r), *cov = malloc(m * m * sizeof *cov);
    tab_joint_room s;
    bool ok = tab_joint_room_new(&s, m) && r != NULL && cov != NULL;
    for (size_t round = 0; ok && round < rounds && !tab_engine_cancelled(e); round++) {
        size_t used = 0;
        memset(cov, 0, m * m * sizeof *cov);
        for (size_t i = 0; i < n; i++) {
            if (tab_joint_fold_of(j, i) == without)
                continue;
            tab_joint_complete_row(f, j->x + i * m, m, &s);
            memcpy(r + used++ * m, s.r, m * sizeof *r);
            /* what the missing coordinates still vary: L_MM^-1, column by column */
            for (size_t a = 0; a < s.n; a++) {
                memset(s.y, 0, s.n * sizeof *s.y);
                s.y[a] = 1;
                tab_joint_solve(s.l, s.n, s.y);
                for (size_t b = 0; b <= a; b++)
                    cov[s.missing[a] * m + s.missing[b]] += s.y[b];
            }
        }
        /* Completed rows are centred by the old mean, so their mean is what it moves by; the old mean counts
         * as one row more. */
        double weight = (double)used + PRIOR;
        for (size_t k = 0; k < m; k++) {
            double sum = 0;
            for (size_t i = 0; i < used; i++)
                sum += r[i * m + k];
            sum /= (double)used + 1;
            f->mean[k] += sum;
            for (size_t i = 0; i < used; i++)
                r[i * m + k] -= sum;
        }
        /* cov <- (r' r + cov) / weight, lower triangle */
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)m, (int)used, 1 / weight, r, (int)m,
                    1 / weight, cov, (int)m);
        for (size_t k = 0; k < m; k++)
            cov[k * m + k] += prior[k] * (PRIOR / weight + 1e-4);
        ok = invert(cov, f->precision, m);
    }
    tab_joint_room_free(&s);
    free(r), free(cov);
    return ok && !tab_engine_cancelled(e);
}

typedef struct {
    const tab_engine *e;
    tab_joint *j;
    size_t n;
    const double *prior;
    atomic_bool failed;
} fold_job;

/* Four rounds more from the fit on all rows, without one fold. */
static void fit_fold(void *ctx, size_t f)
{
    fold_job *q = ctx;
    if (!maximise(q->e, q->j, q->n, f, q->prior, MORE_ROUNDS, &q->j->fold[f]))
        atomic_store(&q->failed, true);
}

/* Gives the parts their place among the coordinates. Parts of one column stand together, so that the column
 * can be left out as one run of coordinates: j->from, j->to. p (j->parts): parts by feature. */
static bool order_parts(tab_arena *a, tab_joint *j, const tab_joint_part *p)
{
    uint64_t(*order)[2] = tab_arena_alloc(a, j->parts, sizeof *order);
    j->part = tab_arena_new_of(a, tab_joint_part, j->parts);
    j->from = tab_arena_new_of(a, size_t, j->cols + 1);
    j->to = tab_arena_new_of(a, size_t, j->cols + 1);
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; i < j->parts; i++) {
        order[i][0] = (uint64_t)p[i].source << 32 | i;
        order[i][1] = i;
    }
    qsort(order, j->parts, sizeof *order, by_source);
    size_t at = 0;
    for (size_t i = 0; i < j->parts; i++) {
        j->part[i] = p[order[i][1]];
        j->part[i].at = at;
        size_t source = j->part[i].source;
        j->from[source] = j->to[source] > 0 ? j->from[source] : at; /* the column's first part begins it */
        at += j->part[i].width;
        j->to[source] = at;
    }
    return true;
}

/* Reads the coordinates of all rows, and which encoded row each row of the table is. */
static bool read_rows(const tab_engine *e, tab_arena *a, const tab_encoder *enc, const tab_data *d,
                      tab_joint *j)
{
    float *x = tab_arena_new_of(a, float, d->rows * j->m);
    j->place = tab_arena_new_of(a, uint32_t, d->rows + 1);
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; i < d->rows; i++)
        j->place[d->row[i]] = (uint32_t)i;
    tab_number_scores(j->score);
    read_job q = { j, enc, d, x };
    tab_engine_for(e, (d->rows + TAB_JOINT_BLOCK - 1) / TAB_JOINT_BLOCK, read_block, &q);
    j->x = x;
    return true;
}

/* Where expectation-maximisation begins: coordinates that are independent of each other, with the mean and
 * the variance of their present values in the first n rows. prior (m): those variances. */
static void start(const tab_joint *j, size_t n, tab_joint_model *f, double *prior)
{
    for (size_t k = 0; k < j->m; k++) {
        double sum = 0, square = 0, seen = 0;
        for (size_t i = 0; i < n; i++) {
            float x = j->x[i * j->m + k];
            if (!isnan(x))
                sum += (double)x, square += (double)(x * x), seen++;
        }
        double mean = seen > 0 ? sum / seen : 0, var = seen > 0 ? square / seen - mean * mean : 0;
        prior[k] = var > 1e-6 ? var : 1e-6;
        f->mean[k] = mean;
        f->precision[k * j->m + k] = 1 / prior[k];
    }
}

/* A model with room for m coordinates, all zero; the arena says whether it is full. */
static tab_joint_model new_model(tab_arena *a, size_t m)
{
    return (tab_joint_model){ tab_arena_new_of(a, double, m), tab_arena_new_of(a, double, m *m) };
}

/* Fits j->fold[]: a model of all rows first, then one a fold, which begins from it and forgets the fold's
 * rows in a few rounds. */
static bool fit_models(const tab_engine *e, tab_arena *a, tab_joint *j)
{
    double *prior = tab_arena_new_of(a, double, j->m);
    tab_joint_model all = new_model(a, j->m);
    for (size_t f = 0; f < TAB_JOINT_FOLDS; f++)
        j->fold[f] = new_model(a, j->m);
    if (tab_arena_full(a))
        return false;
    size_t n = j->rows < FIT_ROWS ? j->rows : FIT_ROWS; /* rows stand by hash: a fair sample */
    start(j, n, &all, prior);
    if (!maximise(e, j, n, TAB_JOINT_FOLDS, prior, ROUNDS, &all)) /* no row is of that fold */
        return false;
    for (size_t f = 0; f < TAB_JOINT_FOLDS; f++) {
        memcpy(j->fold[f].mean, all.mean, j->m * sizeof *all.mean);
        memcpy(j->fold[f].precision, all.precision, j->m * j->m * sizeof *all.precision);
    }
    fold_job g = { .e = e, .j = j, .n = n, .prior = prior };
    atomic_init(&g.failed, false);
    tab_engine_for(e, TAB_JOINT_FOLDS, fit_fold, &g);
    return !atomic_load(&g.failed);
}

/* (rows) What a row's fold is drawn from: its content, and which of equal rows it is. A fold of all rows that
 * are equal would leave out one class of a cell, and its models would say which. NULL: the arena is full. */
static const uint64_t *draws(tab_arena *a, const tab_data *d)
{
    uint64_t *draw = tab_arena_new_of(a, uint64_t, d->rows + 1);
    for (size_t i = 0, same = 0; draw != NULL && i < d->rows; i++) {
        same = i > 0 && d->hash[i] == d->hash[i - 1] ? same + 1 : 0;
        draw[i] = same == 0 ? d->hash[i] : tab_mix2(d->hash[i], same);
    }
    return draw;
}

/* *ret stays NULL where the table is too small or too wide for it. Where the levels of categories take more
 * than WIDEST coordinates, fewer levels of each are told apart. */
bool tab_joint_fit(const tab_engine *e, tab_arena *a, const tab_encoder *enc, const tab_data *d,
                   tab_joint **ret)
{
    *ret = NULL;
    if (d->rows < LEAST_ROWS || enc->n < 2 || enc->n > WIDEST)
        return true;
    tab_joint *j = tab_arena_new_of(a, tab_joint, 1);
    tab_joint_part *p = tab_arena_new_of(a, tab_joint_part, enc->n);
    if (tab_arena_full(a))
        return false;
    size_t levels = LEVELS;
    while (lay_out(enc, levels, p) > WIDEST && levels > 1)
        levels /= 2;
    *j = (tab_joint){
        .m = lay_out(enc, levels, p), .parts = enc->n, .draw = draws(a, d), .rows = d->rows, .cols = enc->cols
    };
    if (j->draw == NULL)
        return false;
    if (j->m == 0 || j->m > WIDEST)
        return true;
    if (!order_parts(a, j, p) || !read_rows(e, a, enc, d, j) || !fit_models(e, a, j))
        return false;
    *ret = j;
    return true;
}
