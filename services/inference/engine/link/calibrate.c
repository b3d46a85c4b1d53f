/* From evidence to probability, by what the data set itself shows.
 *
 * The evidence of a row's best candidate is compared with its rivals'. If none of a row's candidates were
 * its entity, their evidence would be the upper end of one distribution, whose tail is close to
 * exponential: then the gap between the best and the second is exponential with some rate, and the gap
 * between second and third with twice that rate (Renyi's representation of order statistics). The latter
 * gap is seen on every row, matched or not, and so gives the rate without labels. What a partner looks
 * like (its share of the evidence that the row could give) is learned by EM:
 *
 *   odds(match) = share / (1 - share) * f(ratio) / self  /  (rate * exp(-rate * gap))
 *
 * Rows of tables that hold an entity many times have no gap; there the model of score.c stands alone. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/link/link.h"

enum { BINS = 24, ROUNDS = 12 };

typedef struct {
    float s[3]; /* best first */
    uint32_t who;
} best_three;

static void note(best_three *b, float x, uint32_t i)
{
    if (x > b->s[0]) {
        b->s[2] = b->s[1];
        b->s[1] = b->s[0];
        b->s[0] = x;
        b->who = i;
    } else if (x > b->s[1]) {
        b->s[2] = b->s[1];
        b->s[1] = x;
    } else if (x > b->s[2]) {
        b->s[2] = x;
    }
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

typedef struct {
    uint32_t i;
    float gap, self, ratio, p;
} best_pair;

static size_t bin_of(float ratio)
{
    float x = (ratio + 0.2f) / 1.3f;
    x = x < 0 ? 0 : x > 0.9999f ? 0.9999f : x;
    return (size_t)(x * BINS);
}

/* Density of the ratio among partners: counts smoothed over neighbours, never quite zero. */
static void smooth(const double *count, double *f)
{
    double total = 0;
    for (size_t b = 0; b < BINS; b++) {
        double sum = 0, weight = 0;
        for (size_t k = 0; k < BINS; k++) {
            double d = ((double)b - (double)k) / 2.0, w = exp(-0.5 * d * d);
            sum += w * count[k];
            weight += w;
        }
        f[b] = sum / weight + 0.05;
        total += f[b];
    }
    for (size_t b = 0; b < BINS; b++)
        f[b] = f[b] / total * BINS / 1.3;
}

tab_status tab_calibrate(const tab_views *v, tab_linkage *l, const float *self, double log_none, tab_error *err)
{
    tab_candidates *c = &l->c;
    size_t na = v->table[l->ta].rows, nb = v->table[l->tb].rows, n = na + nb, pairs = 0, gaps = 0;
    best_three *best = malloc((n + 1) * sizeof *best);
    best_pair *pair = malloc((n + 1) * sizeof *pair);
    float *gap = malloc((n + 1) * sizeof *gap);
    if (best == NULL || pair == NULL || gap == NULL) {
        free(best);
        free(pair);
        free(gap);
        return tab_fail(err, TAB_INTERNAL, "", "memory is out");
    }
    for (size_t i = 0; i < n; i++)
        best[i] = (best_three){ { -30, -30, -30 }, TAB_NULL };
    for (uint32_t i = 0; i < c->n; i++) {
        note(&best[c->a[i]], c->evidence[i], i);
        note(&best[na + c->b[i]], c->evidence[i], i);
    }
    for (size_t i = 0; i < n; i++)
        if (best[i].s[2] > -25)
            gap[gaps++] = best[i].s[1] - best[i].s[2];
    qsort(gap, gaps, sizeof *gap, ascending);
    float middle = gaps > 20 ? gap[gaps / 2] : 0.35f;
    double rate = 0.3466 / fmax((double)middle, 0.05);
    rate = fmin(fmax(rate, 0.15), 1.5);

    for (uint32_t i = 0; i < c->n; i++) {
        size_t x = c->a[i], y = na + c->b[i];
        if (best[x].who != i || best[y].who != i)
            continue;
        float rival = fmaxf(best[x].s[1], best[y].s[1]), s = c->evidence[i];
        float most = fmaxf(fminf(self[x], self[y]), 1);
        /* no rival among the candidates: chance would have to bring evidence of log_none by itself */
        rival = fmaxf(rival, (float)log_none - 12);
        pair[pairs++] = (best_pair){ i, s - rival, most, s / most, 0 };
    }
    double share = 0.5, f[BINS];
    for (size_t k = 0; k < pairs; k++)
        pair[k].p = (float)(1 - exp(-rate * fmin(fmax((double)pair[k].gap, 0), 30)));
    for (int round = 0; round < ROUNDS && pairs > 0; round++) {
        double count[BINS] = { 0 }, sum = 0;
        for (size_t k = 0; k < pairs; k++) {
            count[bin_of(pair[k].ratio)] += (double)pair[k].p;
            sum += (double)pair[k].p;
        }
        share = fmin(fmax(sum / (double)pairs, 0.01), 0.99);
        smooth(count, f);
        for (size_t k = 0; k < pairs; k++) {
            double g = fmin(fmax((double)pair[k].gap, 0), 40);
            double odds = log(share / (1 - share)) + log(f[bin_of(pair[k].ratio)] / (double)pair[k].self) -
                          log(rate) + rate * g;
            pair[k].p = (float)(1 / (1 + exp(-odds)));
        }
    }
    l->rate = rate;
    l->rate_known = share > 0.03;
    for (uint32_t i = 0; i < c->n; i++)
        c->chance[i] = 0;
    for (size_t k = 0; k < pairs; k++)
        c->chance[pair[k].i] = pair[k].p;
    free(best);
    free(pair);
    free(gap);
    return TAB_OK;
}
