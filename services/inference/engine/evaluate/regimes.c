#include "services/inference/engine/evaluate/regimes.h"

#include <math.h>

#include "services/inference/engine/message.h"

/* RANGES: of distances, as wide as each other. LEAST: rows that say something of one. By hand. */
enum { RANGES = 4, LEAST = 10, GUESSES = 4 };
static const double UNKNOWN = 1e-6; /* the least probability that is counted */

/* The sums of one range. */
typedef struct {
    size_t rows, covered;
    double loss, baseline[GUESSES], distance; /* of the mean or the shares, then of the guesses */
} sums;

/* What a guess of row i loses: the mean's or the shares' where there is none. */
static double lost(const tab_regime_rows *v, size_t i, double guess)
{
    if (v->truth != NULL) {
        double off = v->truth[i] - (isnan(guess) ? v->mean : guess);
        return off * off;
    }
    double share = v->class[i] < v->classes ? v->share[v->class[i]] : 0;
    return -log(fmax(isnan(guess) ? share : guess, UNKNOWN));
}

static double least(const double *v, size_t n)
{
    double best = v[0];
    for (size_t i = 1; i < n; i++)
        best = fmin(best, v[i]);
    return best;
}

static void add(const tab_regime_rows *v, size_t i, sums *s)
{
    const Tabella__Results *r = v->m->results;
    s->rows++;
    s->distance += v->distance == NULL ? 0 : v->distance[i];
    s->baseline[0] += lost(v, i, (double)NAN);
    for (size_t k = 0; k < v->guesses; k++)
        s->baseline[1 + k] += lost(v, i, v->guess[i * v->guesses + k]);
    if (v->truth != NULL) {
        size_t levels = v->m->n_quantile_levels;
        const double *q = r->quantiles + i * levels;
        double off = v->truth[i] - r->value[i];
        s->loss += off * off;
        s->covered += v->truth[i] >= q[1] && v->truth[i] <= q[levels - 2];
        return;
    }
    bool known = v->class[i] < v->classes;
    s->loss -= log(fmax(known ? r->probabilities[i * v->classes + v->class[i]] : 0, UNKNOWN));
}

bool tab_regimes_add(tab_arena *a, const tab_regime_rows *v, Tabella__HeldOut *h)
{
    sums s[RANGES] = { 0 };
    size_t n = v->m->results->n_row;
    double most = 0;
    if (h->regimes == NULL)
        h->regimes = tab_arena_new_of(a, Tabella__RegimeQuality *, 2 * RANGES + 1);
    for (size_t i = 0; v->distance != NULL && i < n; i++)
        most = fmax(most, v->distance[i]);
    for (size_t i = 0; i < n; i++) {
        size_t k = v->distance == NULL || !(most > 0) ? 0 : (size_t)(RANGES * v->distance[i] / most);
        if (v->distance == NULL || v->distance[i] > 0)
            add(v, i, &s[k < RANGES ? k : RANGES - 1]);
    }
    for (size_t k = 0; h->regimes != NULL && k < RANGES; k++) {
        if (s[k].rows < LEAST)
            continue;
        Tabella__RegimeQuality *q = tab_message(a, Tabella__RegimeQuality, TABELLA__REGIME_QUALITY__INIT);
        if (q == NULL)
            return false;
        double rows = (double)s[k].rows, loss = s[k].loss / rows;
        double base = least(s[k].baseline, 1 + v->guesses) / rows;
        bool number = v->truth != NULL;
        q->regime = tab_text(v->regime);
        q->metric = tab_text(number ? "rmse" : "log_loss");
        q->rows = q->judged = s[k].rows;
        q->score = number ? sqrt(loss) : loss;
        q->baseline = number ? sqrt(base) : base;
        q->score = isfinite(q->score) ? q->score : 0;
        q->baseline = isfinite(q->baseline) ? q->baseline : 0;
        q->has_coverage = number;
        q->coverage = number ? (double)s[k].covered / rows : 0;
        q->has_distance = v->distance != NULL;
        q->distance = q->has_distance ? s[k].distance / rows : 0;
        h->regimes[h->n_regimes++] = q;
    }
    return h->regimes != NULL;
}
