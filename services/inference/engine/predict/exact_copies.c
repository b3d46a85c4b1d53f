/* See exact_copies.h and decision 0052: rows of equal content ("twins") answer for each other. fitted.c
 * learns how far after the stack is fitted, and applies it to new rows; the fitted rows' own results stay out
 * of fold. */
#include "services/inference/engine/predict/exact_copies.h"

#include <math.h>

/* LEAST_ROWS: rows with a twin: fewer say too little; chosen by hand. SEARCH_STEPS narrow the logarithm of
 * doubt to a thousandth. */
enum { LEAST_ROWS = 20, SEARCH_STEPS = 22 };
static const double LEAST_DOUBT = 1e-6; /* a million agreeing rows would say so */

/* Whether row i has a target. */
static bool has_target(const tab_problem *p, size_t i)
{
    return p->classification ? p->label[i] != TAB_NULL : !isnan(p->y[i]);
}

/* Rows stand sorted by hash: the first of at least `hash`. */
static size_t first_of(const tab_data *d, uint64_t hash)
{
    size_t lo = 0, hi = d->rows;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (d->hash[mid] < hash)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The weight of m twins, from the strength that one has. */
static double blend(double m, double strength)
{
    return m * strength / (1 + (m - 1) * strength);
}

/* alpha at a logarithm of doubt. */
static double alpha_of(double log_doubt)
{
    return 1 / (1 + exp(log_doubt));
}

/* Log-likelihood of each twin's label given the others', at alpha. */
static double likelihood(const tab_problem *p, const tab_stack *s, double alpha)
{
    const tab_data *d = p->data;
    double sum = log(1 - alpha); /* a row of doubt, as Laplace has it */
    for (size_t i = 0; i < d->rows;) {
        /* the group of twins with a target */
        size_t j = i, m = 0;
        for (; j < d->rows && d->hash[j] == d->hash[i]; j++)
            m += has_target(p, j);
        for (size_t a = i; m > 1 && a < j; a++) {
            if (!has_target(p, a))
                continue;
            /* how many of the others have its label */
            size_t same = 0;
            for (size_t b = i; b < j; b++)
                same += b != a && has_target(p, b) && p->label[b] == p->label[a];
            /* the mixture of the stack's answer and the others' labels */
            double w = blend((double)(m - 1), alpha);
            double own = exp((double)s->oof[a * p->outputs + p->label[a]]);
            sum += log((1 - w) * own + w * (double)same / (double)(m - 1) + 1e-12);
            if (a - i > 50) /* a large group has said enough */
                break;
        }
        i = j;
    }
    return sum;
}

/* For numbers the correlation of twins' residuals, shrunk where few rows have a twin; for classes alpha by
 * golden-section search, kept only where the log-likelihood gains 2 and more, as it does by chance in
 * about one fit of forty. */
tab_twins tab_twins_fit(const tab_problem *p, const tab_stack *s)
{
    const tab_data *d = p->data;
    tab_twins t = { 0 };
    size_t rows = 0;
    double cross = 0, own = 0;
    for (size_t i = 0; i < d->rows;) {
        /* a group's residuals: their sum and the sum of their squares */
        size_t j = i, m = 0;
        double sum = 0, square = 0;
        for (; j < d->rows && d->hash[j] == d->hash[i]; j++) {
            if (!has_target(p, j))
                continue;
            m++;
            if (!p->classification) {
                double r = (double)(p->y[j] - s->oof[j]);
                sum += r, square += r * r;
            }
        }
        if (m > 1) {
            rows += m;
            /* the products of all pairs, from those two sums */
            cross += (sum * sum - square) / (double)(m - 1);
            own += square;
        }
        i = j;
    }
    if (rows < LEAST_ROWS)
        return t;
    if (!p->classification) {
        double rho = own > 0 ? cross / own : 0;
        rho *= (double)rows / ((double)rows + LEAST_ROWS);
        t.strength = rho < 0.1 ? 0 : rho > 0.99 ? 0.99 : rho;
        return t;
    }
    /* by the logarithm of doubt = (1 - alpha) / alpha, the rows that the model's answer counts for beside the
     * twins: where all agree it is far below a hundredth (decision 0374) */
    const double golden = 0.6180339887498949;
    double lo = log(LEAST_DOUBT), hi = log(1 / LEAST_DOUBT);
    double a = hi - golden * (hi - lo), b = lo + golden * (hi - lo);
    double fa = likelihood(p, s, alpha_of(a)), fb = likelihood(p, s, alpha_of(b)), none = likelihood(p, s, 0);
    for (int k = 0; k < SEARCH_STEPS; k++) {
        if (fa >= fb) {
            hi = b, b = a, fb = fa, a = hi - golden * (hi - lo);
            fa = likelihood(p, s, alpha_of(a));
        } else {
            lo = a, a = b, fa = fb, b = lo + golden * (hi - lo);
            fb = likelihood(p, s, alpha_of(b));
        }
    }
    if ((fa > fb ? fa : fb) > none + 2) /* a clear gain, not a lucky one */
        t.strength = alpha_of((lo + hi) / 2);
    return t;
}

/* hash: of the new row's content. out (outputs) and *scale are those of the stack on entry, moved on
 * return. */
void tab_twins_apply(const tab_twins *t, const tab_problem *p, const tab_stack *s, const tab_interval *v,
                     uint64_t hash, float *out, float *scale)
{
    const tab_data *d = p->data;
    if (t->strength <= 0)
        return;
    /* the twins of the asked row, and their mean residual */
    size_t first = first_of(d, hash), m = 0, k = p->outputs;
    double residual = 0;
    for (size_t i = first; i < d->rows && d->hash[i] == hash; i++)
        if (has_target(p, i)) {
            m++;
            residual += p->classification ? 0 : (double)(p->y[i] - s->oof[i]);
        }
    if (m == 0)
        return;
    double w = blend((double)m, t->strength);
    if (!p->classification) {
        /* the out-of-fold answer, moved towards the twins; what is known of them makes the interval
         * narrower */
        out[0] = (float)((double)s->oof[first] + w * residual / (double)m);
        *scale = (float)((double)v->oof_scale[first] * sqrt(fmax(0.01, 1 - t->strength * w)));
        return;
    }
    /* the mixture by probabilities; 1e-30 keeps the logarithm finite */
    for (size_t j = 0; j < k; j++)
        out[j] = (float)((1 - w) * exp((double)s->oof[first * k + j]));
    for (size_t i = first; i < d->rows && d->hash[i] == hash; i++)
        if (has_target(p, i))
            out[p->label[i]] += (float)(w / (double)m);
    for (size_t j = 0; j < k; j++)
        out[j] = logf(out[j] > 1e-30f ? out[j] : 1e-30f);
}
