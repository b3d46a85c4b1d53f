/* See doubts.h. held_out.c asks when the metrics stand. */
#include "services/inference/engine/evaluate/doubts.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/evaluate/quality_metrics.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/message.h"

/* SMALL_TEST and FEW_ANOMALIES: fewer held-out rows or labelled anomalies among them are said to be few
 * (decision 0191), and so are FEW_BLOCKS of rows that go together. RESAMPLES are drawn, 40 where there are
 * more rows than RESAMPLED_CELLS allow. Chosen by hand, not measured. */
enum {
    SMALL_TEST = 30,
    FEW_BLOCKS = 10,
    FEW_ANOMALIES = 5,
    RESAMPLES = 200,
    FEW_RESAMPLES = 40,
    RESAMPLED_CELLS = 4000000,
    RANKED_ROWS = 20000 /* of an AUC that is drawn again: each round sorts them */
};
/* A target that is missing in more than half of the rows is warned of. */
static const double MOSTLY_MISSING = 0.5;

/* One bootstrap at work: blocks are drawn with their rows (Efron & Tibshirani, An Introduction to the
 * Bootstrap, 1993). */
typedef struct {
    const tab_partition *s;
    uint64_t seed;
    size_t rounds;
    uint32_t *row;   /* (held) by block */
    size_t *from;    /* (blocks + 1) */
    uint32_t *drawn; /* rows of one sample */
} bootstrap;

static size_t draw(const bootstrap *b, size_t round)
{
    size_t n = 0, blocks = b->s->blocks;
    for (size_t i = 0; i < blocks; i++) {
        size_t k = (size_t)(tab_unit(tab_mix2(i + round * blocks, b->seed ^ 0xb007)) * (double)blocks);
        for (size_t r = b->from[k]; r < b->from[k + 1] && n < 4 * b->s->held; r++)
            b->drawn[n++] = b->row[r];
    }
    return n;
}

/* False: memory; free all the same. */
static bool bootstrap_open(bootstrap *b, const tab_partition *s, uint64_t seed)
{
    *b = (bootstrap){ .s = s, .seed = seed };
    b->rounds = s->held * RESAMPLES > RESAMPLED_CELLS ? FEW_RESAMPLES : RESAMPLES;
    b->row = malloc((s->held + 1) * sizeof *b->row);
    b->from = calloc(s->blocks + 2, sizeof *b->from);
    b->drawn = malloc((4 * s->held + 1) * sizeof *b->drawn);
    if (b->row == NULL || b->from == NULL || b->drawn == NULL)
        return false;
    /* a counting sort: from[k + 1] runs to the end of block k */
    for (size_t i = 0; i < s->held; i++)
        b->from[(s->block != NULL ? s->block[i] : i) + 2]++;
    for (size_t k = 2; k <= s->blocks; k++)
        b->from[k] += b->from[k - 1];
    for (size_t i = 0; i < s->held; i++)
        b->row[b->from[(s->block != NULL ? s->block[i] : i) + 1]++] = (uint32_t)i;
    return true;
}

static void bootstrap_free(bootstrap *b)
{
    free(b->row);
    free(b->from);
    free(b->drawn);
}

/* Percentiles of the rounds' scores. */
static void percentiles(double *score, size_t n, double *low, double *high)
{
    qsort(score, n, sizeof *score, tab_ascending_double);
    *low = score[n / 40];
    *high = score[n - 1 - n / 40];
}

/* Accuracy; or the share of the variance that is left, up to the unit of the errors. */
static void bounds(const bootstrap *b, const tab_doubts *d, double unit, double *low, double *high)
{
    double score[RESAMPLES];
    for (size_t k = 0; k < b->rounds; k++) {
        double sum = 0, mean = 0, square = 0;
        size_t n = draw(b, k);
        for (size_t i = 0; i < n; i++) {
            double t = d->truth == NULL ? 0 : d->truth[b->drawn[i]] / unit;
            sum += d->error[b->drawn[i]], mean += t, square += t * t;
        }
        double all = square - mean * mean / (double)n;
        score[k] = d->truth == NULL ? 1 - sum / (double)n : all > 0 ? sum / all : 0;
    }
    percentiles(score, b->rounds, low, high);
}

/* The AUC of the rows that are drawn; a sample of one class says nothing. False: memory. */
static bool auc_bounds(const bootstrap *b, const tab_doubts *d, double *low, double *high)
{
    double score[RESAMPLES], *x = malloc((4 * b->s->held + 1) * sizeof *x);
    bool *y = malloc((4 * b->s->held + 1) * sizeof *y);
    size_t kept = 0, rounds = b->s->held > RANKED_ROWS ? FEW_RESAMPLES : b->rounds;
    for (size_t k = 0; x != NULL && y != NULL && k < rounds; k++) {
        size_t n = draw(b, k);
        for (size_t i = 0; i < n; i++)
            x[i] = d->chance[b->drawn[i]], y[i] = d->positive[b->drawn[i]];
        double auc = tab_auc(x, y, n);
        if (!isnan(auc))
            score[kept++] = auc;
    }
    bool ok = x != NULL && y != NULL;
    *low = *high = (double)NAN;
    if (kept > 0)
        percentiles(score, kept, low, high);
    free(x);
    free(y);
    return ok;
}

/* The score's 95 % interval. */
static bool interval(const bootstrap *b, const tab_doubts *d, Tabella__HeldOut *h)
{
    size_t n = b->s->held;
    double unit = 0, low, high, own = 0;
    for (size_t i = 0; d->truth != NULL && i < n; i++)
        unit = fmax(unit, fabs(d->truth[i]));
    unit = unit > 0 ? unit : 1;
    if (d->chance != NULL && !auc_bounds(b, d, &low, &high))
        return false;
    if (d->chance == NULL)
        bounds(b, d, unit, &low, &high);
    if (d->truth != NULL) {
        /* errors are in a unit of their own: the share that is left of the score itself says which */
        double mean = 0, square = 0;
        for (size_t i = 0; i < n; i++) {
            own += d->error[i];
            mean += d->truth[i] / unit, square += d->truth[i] / unit * (d->truth[i] / unit);
        }
        double all = square - mean * mean / (double)n;
        double per = own > 0 && all > 0 ? (1 - h->score) / (own / all) : 0;
        double least = 1 - per * high;
        high = 1 - per * low;
        low = least;
    }
    h->has_interval = isfinite(low) && isfinite(high);
    h->score_low = h->has_interval ? fmin(low, h->score) : 0;
    h->score_high = h->has_interval ? fmax(high, h->score) : 0;
    return true;
}

/* Whether the answers' log-loss is less than that of the classes' shares, beyond chance. */
static bool gains(const bootstrap *b, const double *gained)
{
    double score[RESAMPLES], low, high;
    for (size_t k = 0; k < b->rounds; k++) {
        double sum = 0;
        size_t n = draw(b, k);
        for (size_t i = 0; i < n; i++)
            sum += gained[b->drawn[i]];
        score[k] = n > 0 ? sum / (double)n : 0;
    }
    percentiles(score, b->rounds, &low, &high);
    return low > 0;
}

static double metric(const Tabella__HeldOut *h, const char *name)
{
    for (size_t i = 0; i < h->n_metrics; i++)
        if (strcmp(h->metrics[i]->name, name) == 0)
            return h->metrics[i]->value;
    return (double)NAN;
}

/* Answers that are no better than the baseline's are doubted: numbers by the share of the variance; classes
 * where neither the hits are more than the commonest class has, nor the probabilities better than the
 * classes' shares. A near-perfect model of a rare class hits no more than the commonest class does. */
static void doubt_skill(tab_arena *a, const bootstrap *b, const tab_doubts *d, Tabella__HeldOut *h)
{
    if (h->low_confidence || !h->has_interval)
        return;
    if (d->gained == NULL) {
        h->low_confidence = !(h->score_low > 0);
        if (h->low_confidence)
            h->low_confidence_reason = tab_arena_printf(
                a, "the score is not significantly better than the baseline: 95%% interval %.3f to %.3f",
                h->score_low, h->score_high);
        return;
    }
    double low, high;
    bounds(b, d, 1, &low, &high);
    h->low_confidence = !(low > metric(h, "baseline_majority")) && !gains(b, d->gained);
    if (h->low_confidence)
        h->low_confidence_reason = tab_arena_printf(
            a,
            "not significantly better than the baseline: log loss %.3f, class shares alone %.3f; accuracy "
            "%.3f (95%% interval %.3f to %.3f), most frequent class alone %.3f",
            metric(h, "log_loss"), metric(h, "baseline_log_loss"), metric(h, "accuracy"), low, high,
            metric(h, "baseline_majority"));
}

bool tab_doubt(const tab_engine *e, const tab_partition *s, const tab_doubts *d, Tabella__HeldOut *h)
{
    tab_arena *a = e->arena;
    bool few = s->block != NULL && s->blocks < FEW_BLOCKS;
    h->low_confidence_reason = tab_text("");
    h->low_confidence = d->missing > MOSTLY_MISSING || h->test_rows < SMALL_TEST || few ||
                        (d->labels && d->anomalies < FEW_ANOMALIES);
    /* the first of the reasons that holds is given */
    if (d->missing > MOSTLY_MISSING)
        h->low_confidence_reason = tab_arena_printf(
            a, "the target is mostly missing: %.0f%% of the rows have none", 100 * d->missing);
    else if (h->test_rows < SMALL_TEST)
        h->low_confidence_reason =
            tab_arena_printf(a, "a small test partition: %llu rows", (unsigned long long)h->test_rows);
    else if (few)
        h->low_confidence_reason = tab_arena_printf(
            a, "a small test partition: its rows belong to %zu groups held out together", s->blocks);
    else if (h->low_confidence)
        h->low_confidence_reason = tab_arena_printf(
            a, "a small test partition: %zu of its rows are labelled anomalies", d->anomalies);
    if (d->error == NULL)
        return !tab_arena_full(a);
    bootstrap b;
    bool ok = bootstrap_open(&b, s, e->seed) && interval(&b, d, h);
    if (ok)
        doubt_skill(a, &b, d, h);
    bootstrap_free(&b);
    return ok && !tab_arena_full(a);
}
