/* See target_means.h:
 *
 *   D = sum over groups of   n (mean of the targets - line through v)^2   / (variance of the targets within
 *       groups), by how many groups there are
 *
 * is 1 by chance, and 1 - the share of the rows that were counted where v was made of their targets. */
#include "services/inference/engine/features/target_means.h"

#include <math.h>

/* Groups with two labelled rows and more, and all their rows: fewer tell nothing. By hand. */
enum { LEAST_GROUPS = 20, LEAST_ROWS = 100 };
/* APART: the groups' means must differ as much as chance makes them without v, nearly; CLOSE: what is left
 * beside it at most, and SURE by how many standard deviations of a chi-square it must be less. By hand. */
static const double APART = 0.9, CLOSE = 0.7, SURE = 4;

/* What v is of a group's rows. */
typedef enum { MEAN, SUM, SUM_OF_LABELLED, WAYS } made_as;

/* D, and without v in *without. Infinity: it cannot be told. */
static double left_by(const tab_target_sums *g, const double *v, made_as way, size_t groups, double within,
                      double *without, double *used)
{
    double w = 0, mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
    *used = 0;
    for (size_t i = 0; i < groups; i++) {
        if (g[i].n < 2 || isnan(v[i]))
            continue;
        double x = v[i] / (way == SUM ? g[i].all : way == SUM_OF_LABELLED ? g[i].n : 1);
        double y = g[i].sum / g[i].n;
        double dx = x - mx, dy = y - my;
        w += g[i].n;
        mx += g[i].n * dx / w, my += g[i].n * dy / w;
        xx += g[i].n * dx * (x - mx), xy += g[i].n * dx * (y - my), yy += g[i].n * dy * (y - my);
        ++*used;
    }
    if (*used < LEAST_GROUPS || w < LEAST_ROWS || !(xx > 0) || !(within > 0))
        return (double)INFINITY;
    *without = yy / within / (*used - 1);
    return fmax(0, yy - xy * xy / xx) / within / (*used - 2);
}

bool tab_made_of_targets(const tab_target_sums *g, const double *v, size_t groups)
{
    double squares = 0, free = 0;
    for (size_t i = 0; i < groups; i++)
        if (g[i].n >= 2)
            squares += g[i].square - g[i].sum * g[i].sum / g[i].n, free += g[i].n - 1;
    double within = free > 0 ? squares / free : 0;
    for (made_as way = MEAN; way < WAYS; way++) {
        double without = 0, used, left = left_by(g, v, way, groups, within, &without, &used);
        if (left < CLOSE && without > APART && (left - 1) * sqrt((used - 2) / 2) < -SURE)
            return true;
    }
    return false;
}
