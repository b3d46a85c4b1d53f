/* See joint_parts.h: what a joint normal model expects of one row, by the first formula at the head of
 * joint.c. Called for each row and round of the fit, and for each row of each view.
 *
 * The matrices are small (as many rows as the row has gaps), so plain loops serve. Their order is fixed, and
 * with it every rounding. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/impute/joint_parts.h"

bool tab_joint_room_new(tab_joint_room *s, size_t m)
{
    *s = (tab_joint_room){ .missing = malloc(m * sizeof *s->missing),
                           .l = malloc(m * m * sizeof *s->l),
                           .r = malloc(m * sizeof *s->r),
                           .y = malloc(m * m * sizeof *s->y),
                           .left = malloc(m * m * sizeof *s->left) };
    return s->missing != NULL && s->l != NULL && s->r != NULL && s->y != NULL && s->left != NULL;
}

void tab_joint_room_free(tab_joint_room *s)
{
    free(s->missing), free(s->l), free(s->r), free(s->y), free(s->left);
}

/* Row by row: l_ij = (a_ij - sum over k < j of l_ik l_jk) / l_jj. Precisions are well away from singular; the
 * bound on the root only keeps rounding from a negative one. */
void tab_joint_factor(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double s = a[i * n + j];
            for (size_t k = 0; k < j; k++)
                s -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(s > 1e-12 ? s : 1e-12) : s / a[j * n + j];
        }
}

/* Forward through l, then backward through its transpose. */
void tab_joint_solve(const double *l, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        double s = x[i];
        for (size_t k = 0; k < i; k++)
            s -= l[i * n + k] * x[k];
        x[i] = s / l[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        double s = x[i];
        for (size_t k = i + 1; k < n; k++)
            s -= l[k * n + i] * x[k];
        x[i] = s / l[i * n + i];
    }
}

void tab_joint_complete_row(const tab_joint_model *f, const float *x, size_t m, tab_joint_room *s)
{
    /* the row less its mean; 0 in the gaps, so that sums over all coordinates are sums over O */
    s->n = 0;
    for (size_t i = 0; i < m; i++) {
        if (isnan(x[i]))
            s->missing[s->n++] = (uint32_t)i;
        s->r[i] = isnan(x[i]) ? 0 : (double)x[i] - f->mean[i];
    }
    /* L_MM and v = -L_MO x_O; only the lower triangle of L_MM is read */
    size_t n = s->n;
    double *v = s->y;
    for (size_t i = 0; i < n; i++) {
        const double *row = f->precision + s->missing[i] * m;
        for (size_t k = 0; k <= i; k++)
            s->l[i * n + k] = row[s->missing[k]];
        v[i] = 0;
        for (size_t k = 0; k < m; k++)
            v[i] -= row[k] * s->r[k];
    }
    /* x_M = L_MM^-1 v */
    tab_joint_factor(s->l, n);
    tab_joint_solve(s->l, n, v);
    for (size_t i = 0; i < n; i++)
        s->r[s->missing[i]] = v[i];
}
