/* See exact_copies.h and decision 0052: rows of equal content ("twins") answer for each other. fitted.c
 * learns how far after the stack is fitted, and applies it to new rows; the fitted rows' own results stay out
 * of fold. */
#include "services/inference/engine/predict/asked/exact_copies.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* LEAST_ROWS: rows with a twin: fewer say too little; chosen by hand. SEARCH_STEPS narrow the logarithm of
 * doubt to a thousandth. */
enum { LEAST_ROWS = 20, SEARCH_STEPS = 22 };
static const double LEAST_DOUBT = 1e-6; /* a million agreeing rows would say so */

/* Whether row i has a target. */
static bool has_target(const tab_problem *p, size_t i)
{
    return p->classification ? p->label[i] != TAB_NULL : !isnan(p->y[i]);
}

/* The row that stands at i. */
static size_t at(const tab_twins *t, size_t i)
{
    return t->row != NULL ? t->row[i] : i;
}

/* Rows stand sorted by key: the first of at least `key`. */
static size_t first_of(const tab_twins *t, uint64_t key)
{
    size_t lo = 0, hi = t->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (t->key[mid] < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The weight of m twins, from the strength that one has. */
static double blend(double m, double strength)
{
    double w = m * strength / (1 + (m - 1) * strength);
    assert(m >= 1 && w >= 0 && w <= 1); /* a part of a mixture */
    return w;
}

/* alpha at a logarithm of doubt. */
static double alpha_of(double log_doubt)
{
    return 1 / (1 + exp(log_doubt));
}

/* Log-likelihood of each twin's label given the others', at alpha. */
static double likelihood(const tab_twins *t, const tab_problem *p, const tab_stack *s, double alpha)
{
    double sum = log(1 - alpha); /* a row of doubt, as Laplace has it */
    for (size_t i = 0; i < t->n;) {
        /* the group of twins with a target */
        size_t j = i, m = 0;
        for (; j < t->n && t->key[j] == t->key[i]; j++)
            m += has_target(p, at(t, j));
        for (size_t a = i; m > 1 && a < j; a++) {
            size_t own_row = at(t, a);
            if (!has_target(p, own_row))
                continue;
            /* how many of the others have its label */
            size_t same = 0;
            for (size_t b = i; b < j; b++)
                same += b != a && has_target(p, at(t, b)) && p->label[at(t, b)] == p->label[own_row];
            /* the mixture of the stack's answer and the others' labels */
            double w = blend((double)(m - 1), alpha);
            double own = exp((double)s->oof[own_row * p->outputs + p->label[own_row]]);
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
static double strength_of(const tab_twins *t, const tab_problem *p, const tab_stack *s)
{
    size_t rows = 0;
    double cross = 0, own = 0;
    for (size_t i = 0; i < t->n;) {
        /* a group's residuals: their sum and the sum of their squares */
        size_t j = i, m = 0;
        double sum = 0, square = 0;
        for (; j < t->n && t->key[j] == t->key[i]; j++) {
            if (!has_target(p, at(t, j)))
                continue;
            m++;
            if (!p->classification) {
                double r = (double)(p->y[at(t, j)] - s->oof[at(t, j)]);
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
        return 0;
    if (!p->classification) {
        double rho = own > 0 ? cross / own : 0;
        rho *= (double)rows / ((double)rows + LEAST_ROWS);
        return rho < 0.1 ? 0 : rho > 0.99 ? 0.99 : rho;
    }
    /* by the logarithm of doubt = (1 - alpha) / alpha, the rows that the model's answer counts for beside the
     * twins: where all agree it is far below a hundredth (decision 0374) */
    const double golden = 0.6180339887498949;
    double lo = log(LEAST_DOUBT), hi = log(1 / LEAST_DOUBT);
    double a = hi - golden * (hi - lo), b = lo + golden * (hi - lo), none = likelihood(t, p, s, 0);
    double fa = likelihood(t, p, s, alpha_of(a)), fb = likelihood(t, p, s, alpha_of(b));
    for (int k = 0; k < SEARCH_STEPS; k++) {
        if (fa >= fb) {
            hi = b, b = a, fb = fa, a = hi - golden * (hi - lo);
            fa = likelihood(t, p, s, alpha_of(a));
        } else {
            lo = a, a = b, fa = fb, b = lo + golden * (hi - lo);
            fb = likelihood(t, p, s, alpha_of(b));
        }
    }
    /* a clear gain, not a lucky one */
    return (fa > fb ? fa : fb) > none + 2 ? alpha_of((lo + hi) / 2) : 0;
}

tab_twins tab_twins_fit(const tab_problem *p, const tab_stack *s)
{
    tab_twins t = { .key = p->data->hash, .n = p->data->rows };
    for (size_t i = 1; i < t.n; i++)
        assert(t.key[i - 1] <= t.key[i]); /* encoded rows stand by their hashes: first_of bisects */
    t.strength = strength_of(&t, p, s);
    return t;
}

/* A row and its key. */
typedef struct {
    uint64_t key;
    uint32_t row;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

bool tab_twins_fit_keys(tab_arena *a, const tab_problem *p, const tab_stack *s, const uint64_t *key,
                        tab_twins *ret)
{
    size_t rows = p->data->rows, n = 0;
    keyed *k = malloc((rows + 1) * sizeof *k);
    uint64_t *sorted = tab_arena_new_of(a, uint64_t, rows + 1);
    uint32_t *row = tab_arena_new_of(a, uint32_t, rows + 1);
    bool ok = k != NULL && sorted != NULL && row != NULL;
    for (size_t i = 0; ok && i < rows; i++)
        if (key[i] != 0)
            k[n++] = (keyed){ key[i], (uint32_t)i };
    if (ok)
        qsort(k, n, sizeof *k, by_key);
    for (size_t i = 0; ok && i < n; i++)
        sorted[i] = k[i].key, row[i] = k[i].row;
    free(k);
    *ret = (tab_twins){ .key = sorted, .row = row, .n = n };
    if (ok)
        ret->strength = strength_of(ret, p, s);
    return ok;
}

/* key: of the new row. out (outputs) and *scale are those of the stack on entry, moved on return. */
void tab_twins_apply(const tab_twins *t, const tab_problem *p, const tab_stack *s, const tab_interval *v,
                     uint64_t key, float *out, float *scale)
{
    if (t->strength <= 0)
        return;
    /* the twins of the asked row, their mean target and residual */
    size_t begin = first_of(t, key), m = 0, k = p->outputs;
    double residual = 0, mean = 0;
    for (size_t i = begin; i < t->n && t->key[i] == key; i++)
        if (has_target(p, at(t, i))) {
            m++;
            if (!p->classification) {
                mean += (double)p->y[at(t, i)];
                residual += (double)(p->y[at(t, i)] - s->oof[at(t, i)]);
            }
        }
    if (m == 0)
        return;
    size_t first = at(t, begin);
    bool equal = t->row == NULL; /* in all cells; else the answer starts from the row's own */
    double w = blend((double)m, t->strength);
    if (!p->classification) {
        /* the out-of-fold answer, moved towards the twins; what is known of them makes the interval
         * narrower */
        out[0] = equal ? (float)((double)s->oof[first] + w * residual / (double)m)
                       : (float)((1 - w) * (double)out[0] + w * mean / (double)m);
        *scale =
            (float)((double)(equal ? v->oof_scale[first] : *scale) * sqrt(fmax(0.01, 1 - t->strength * w)));
        return;
    }
    /* the mixture by probabilities; 1e-30 keeps the logarithm finite */
    const float *from = equal ? s->oof + first * k : out;
    for (size_t j = 0; j < k; j++)
        out[j] = (float)((1 - w) * exp((double)from[j]));
    for (size_t i = begin; i < t->n && t->key[i] == key; i++)
        if (has_target(p, at(t, i)))
            out[p->label[at(t, i)]] += (float)(w / (double)m);
    for (size_t j = 0; j < k; j++)
        out[j] = logf(out[j] > 1e-30f ? out[j] : 1e-30f);
}
