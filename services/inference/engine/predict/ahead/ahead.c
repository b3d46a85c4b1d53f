/* See ahead.h: the cuts, and what is made of the answers at them. fitted.c calls tab_ahead_run. */
#include "services/inference/engine/predict/ahead/ahead.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/ahead/ahead_parts.h"

/* TAB_AHEAD_ORIGINS: cuts whose later rows are judged. LEAST: labelled rows that the first must leave.
 * FEWEST: judged
 * rows. WINDOWS: moments within a judged span from which it is answered anew. MOST_JUDGED: rows a cut. By
 * hand. */
enum { LEAST = 6, FEWEST = 3, WINDOWS = 4, MOST_JUDGED = 3000 };
/* Of rows that will be served: distances that are learned at, the farthest as a share of the labelled times,
 * which is that from cut to cut as well; and moments up to there from which rows are answered anew. */
enum { SERVED = 64, ANEW = 4 };
static const double SERVED_AHEAD = 0.2;
/* Periods that must lie before a cut at the same place of one: of fewer no member has learned its shape.
 * The share of the time that the first cut must leave, and the one that a period may take to be followed. */
static const double PERIODS = 2, LEAVE = 0.4, FOLLOW = 0.15, HALF = 0.5, NEARLY_ALL = 0.98;

/* ---- what is asked --------------------------------------------------------------------------- */

static bool labelled(const tab_ahead_task *t, size_t r)
{
    return t->classification ? t->label[r] != TAB_NULL : !isnan(t->y[r]);
}

static bool later(const tab_ahead_work *w, size_t r)
{
    return w->t->asked->of[r] == TAB_REGIME_LATER && !isnan(w->pos[r]);
}

/* Distances that a served row may have, as many near as far ones by order of size. */
static void any_distance(tab_ahead_work *w, double first, double last)
{
    w->most = fmax(1, floor(SERVED_AHEAD * (last - first + 1)));
    for (size_t k = 0; k < SERVED; k++)
        w->distance[w->distances++] = round(exp(log(w->most) * (double)k / (SERVED - 1)));
}

/* Times in steps, and for each asked row the moment it is asked at: the end of its own series, or of all. */
static bool places(tab_ahead_work *w, double *last)
{
    const tab_series *s = &w->t->asked->series;
    double *own = tab_arena_new_of(w->a, double, s->n + 1);
    w->pos = tab_arena_new_of(w->a, double, w->rows + 1);
    w->distance = tab_arena_new_of(w->a, double, w->rows + SERVED + 1);
    if (tab_arena_full(w->a))
        return false;
    double first = (double)INFINITY;
    *last = (double)-INFINITY;
    for (size_t k = 0; k <= s->n; k++)
        own[k] = (double)-INFINITY;
    for (size_t r = 0; r < w->rows; r++) {
        w->pos[r] = s->index[r] == INT64_MIN ? (double)NAN : (double)s->index[r];
        if (labelled(w->t, r) && !isnan(w->pos[r])) {
            first = fmin(first, w->pos[r]);
            *last = fmax(*last, w->pos[r]);
            if (s->series[r] != TAB_NULL)
                own[s->series[r]] = fmax(own[s->series[r]], w->pos[r]);
        }
    }
    if (w->t->served) {
        any_distance(w, first, *last);
        w->first = first, w->year = tab_ahead_year(s), w->reach = (double)INFINITY;
        return true;
    }
    w->first = first, w->year = tab_ahead_year(s), w->reach = (double)INFINITY;
    for (size_t r = 0; r < w->rows; r++)
        if (later(w, r)) {
            double from =
                s->series[r] != TAB_NULL && own[s->series[r]] > (double)-INFINITY && w->pos[r] <= *last
                    ? own[s->series[r]]
                    : *last;
            w->distance[w->distances++] = fmax(HALF, w->pos[r] - from);
        }
    qsort(w->distance, w->distances, sizeof *w->distance, tab_ascending_double);
    if (w->distances > 0)
        w->most =
            w->distance[(size_t)ceil(NEARLY_ALL * (double)(w->distances - 1))]; /* of few: the longest */
    return true;
}

/* A sum of a regression through pairs' mean. */
typedef struct {
    double n, x, y, xx, xy;
} pairs;

static void add_pair(pairs *p, double x, double y)
{
    p->n++;
    double dx = x - p->x;
    p->x += dx / p->n;
    p->y += (y - p->y) / p->n;
    p->xx += dx * (x - p->x);
    p->xy += dx * (y - p->y);
}

/* The mean and deviation of rows from..to, as logarithms. False: they do not vary. */
static bool logs_of(const tab_history *h, size_t from, size_t to, double *level, double *spread)
{
    double n = (double)(to - from), mean = 0, square = 0;
    for (size_t i = from; i < to; i++)
        mean += h->y[i] / n;
    for (size_t i = from; i < to; i++)
        square += (h->y[i] - mean) * (h->y[i] - mean) / n;
    *level = log(mean);
    *spread = log(square) / 2;
    return square > 0;
}

/* Whether values vary in proportion to their level: then their logarithms are learned. The rule of Guerrero
 * (Journal of Forecasting 1993) for the powers 0 and 1: the slope of log deviations on log means is nearer
 * to 1 than to 0, of a series' blocks beside each other or, where they are too few, of the series. */
static bool in_proportion(const tab_history *h)
{
    size_t block = h->seasons > 0 && h->season[0] >= 4 && h->season[0] <= 60 ? (size_t)h->season[0] : 8;
    pairs within = { 0 }, between = { 0 };
    double level, spread;
    for (size_t i = 0; i < h->rows; i++)
        if (!(h->y[i] > 0))
            return false;
    for (size_t s = 0; s < h->series; s++) {
        size_t from = h->from[s], to = h->from[s + 1];
        pairs own = { 0 };
        for (size_t b = from; b + block <= to; b += block)
            if (logs_of(h, b, b + block, &level, &spread))
                add_pair(&own, level, spread);
        if (own.n >= 3)
            within.n += own.n, within.xx += own.xx, within.xy += own.xy;
        if (to - from >= 4 && logs_of(h, from, to, &level, &spread))
            add_pair(&between, level, spread);
    }
    if (within.n >= 3 && within.xx > 0.01 * within.n)
        return within.xy / within.xx > HALF;
    return between.n >= 8 && between.xx > 0.25 * between.n && between.xy / between.xx > HALF;
}

static bool transform(tab_ahead_work *w)
{
    const tab_ahead_task *t = w->t;
    w->y = tab_arena_new_of(w->a, double, w->rows + 1);
    if (w->y == NULL || t->classification)
        return w->y != NULL;
    TAB_AUTO(tab_arena) *own = tab_arena_new((size_t)1 << 30);
    tab_history *h = own == NULL ? NULL : tab_history_new(own, &t->asked->series, w->pos, t->y, w->rows);
    if (h == NULL)
        return false;
    w->logged = in_proportion(h);
    w->least = (double)INFINITY;
    for (size_t r = 0; r < w->rows; r++) {
        w->y[r] = w->logged ? log(t->y[r]) : t->y[r];
        w->least = fmin(w->least, w->y[r]);
    }
    return true;
}

/* Columns that no asked row has, and numbers that the asked have and that move within a series. */
static bool covariates(tab_ahead_work *w)
{
    const tab_profile *p = w->t->p;
    const tab_series *s = &w->t->asked->series;
    size_t cols = p->table->cols;
    w->known = tab_arena_new_of(w->a, bool, cols + 1);
    w->lost = tab_arena_new_of(w->a, bool, cols + 1);
    if (tab_arena_full(w->a))
        return false;
    for (size_t c = 0; c < cols && w->covariates < TAB_AHEAD_COVARIATES; c++) {
        const tab_column_profile *q = &p->col[c];
        size_t there = 0, asked = 0;
        bool time = false;
        for (size_t k = 0; k < s->times; k++)
            time = time || s->time[k] == c;
        for (size_t r = 0; r < w->rows; r++)
            if (later(w, r)) {
                asked++;
                there += q->number != NULL ? !isnan(q->number[r]) : q->code != NULL && q->code[r] != TAB_NULL;
            }
        if (!w->t->use[c] || time || (q->number == NULL && q->code == NULL))
            continue;
        w->lost[c] = 20 * there < asked && q->missing < 0.95;
        w->known[c] = !w->lost[c] && q->number != NULL && q->type == TAB_NUMERIC && q->distinct > 2;
        w->covariates += q->number != NULL && (w->lost[c] || w->known[c]);
    }
    return true;
}

bool tab_ahead_open(tab_ahead_work *w, double *last)
{
    w->rows = w->t->p->table->rows;
    w->cols = w->t->p->table->cols;
    return places(w, last) && transform(w) && covariates(w);
}

/* ---- cuts ------------------------------------------------------------------------------------ */

static double first_time(const tab_ahead_work *w)
{
    double first = (double)INFINITY;
    for (size_t r = 0; r < w->rows; r++)
        if (labelled(w->t, r) && !isnan(w->pos[r]))
            first = fmin(first, w->pos[r]);
    return first;
}

size_t tab_ahead_origins(const tab_ahead_work *w, double last, tab_ahead_origin *o)
{
    const tab_series *s = &w->t->asked->series;
    double first = first_time(w), most = fmax(w->most, 1);
    double span = last - first + 1, window = fmin(most, floor(span * LEAVE) + 1);
    window = w->t->served ? fmax(1, floor(span * SERVED_AHEAD)) : window;
    double stride = window;
    double length = s->seasons > 0 ? s->season[0] : 0;
    if (length > window && length <= FOLLOW * span)
        window = stride = length;
    else if (length > 1 && ceil(window / length) * length <= span - fmax(PERIODS * length, LEAVE * span))
        stride = ceil(window / length) * length;
    else if (length <= 1 && window < FOLLOW * span / TAB_AHEAD_ORIGINS)
        window = stride = ceil(FOLLOW * span / TAB_AHEAD_ORIGINS);
    size_t n = 0;
    for (size_t k = 1; k <= TAB_AHEAD_ORIGINS; k++) {
        double cut = last - stride * (double)k;
        size_t before = 0;
        for (size_t r = 0; r < w->rows; r++)
            before += labelled(w->t, r) && w->pos[r] <= cut;
        if (before < LEAST || cut - first + 1 < LEAVE * span)
            break;
        assert(cut < last && (n == 0 || cut < o[n - 1].cut)); /* the latest first */
        o[n++] = (tab_ahead_origin){ .cut = cut,
                                     .window = w->t->served ? last - cut : window,
                                     .step = fmax(most, ceil(window / WINDOWS)) };
    }
    return n;
}

/* From which moment a row at pos after a cut is judged as a served one: one of a few after the cut, the
 * latest
 * half of the time, so that all distances are seen; of what lies farther than is learned at, the cut.
 * draw: 0 to
 * 1. */
static double any_moment(const tab_ahead_work *w, const tab_ahead_origin *o, double pos, double draw)
{
    double step = fmax(1, w->most / ANEW), behind = floor((pos - o->cut - 1e-9) / step);
    double back = draw < HALF ? 0 : floor((2 * draw - 1) * (behind + 1));
    return pos - o->cut > w->most ? o->cut : o->cut + floor((behind - fmin(back, behind)) * step);
}

bool tab_ahead_judged(tab_ahead_work *w, tab_ahead_origin *o)
{
    const tab_series *s = &w->t->asked->series;
    size_t n = 0;
    for (size_t r = 0; r < w->rows; r++)
        n += labelled(w->t, r) && w->pos[r] > o->cut && w->pos[r] <= o->cut + o->window;
    o->moment = tab_arena_new_of(w->a, tab_moment, n + 1);
    double keep = n > MOST_JUDGED ? (double)MOST_JUDGED / (double)n : 1;
    for (size_t r = 0; o->moment != NULL && r < w->rows; r++) {
        if (!labelled(w->t, r) || !(w->pos[r] > o->cut && w->pos[r] <= o->cut + o->window))
            continue;
        double tau = w->t->served
                         ? any_moment(w, o, w->pos[r], tab_unit(tab_mix2(w->t->hash[r], w->t->seed ^ 0x7a0)))
                         : o->cut + floor((w->pos[r] - o->cut - 1e-9) / o->step) * o->step;
        assert(tau >= o->cut && tau < w->pos[r]); /* a row is judged by what came before it */
        if ((w->t->served || w->pos[r] - tau <= fmax(w->most, 1) + 1e-9) &&
            tab_unit(tab_mix2(w->t->hash[r], w->t->seed ^ 0x3d6)) < keep)
            o->moment[o->n++] = (tab_moment){ (uint32_t)r, s->series[r], w->pos[r], tau };
    }
    return o->moment != NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

double tab_ahead_back(const tab_ahead_work *w, double v)
{
    return w->logged ? exp(fmin(v, 700)) : v;
}

static double distance_of(const tab_moment *m)
{
    return m->pos - m->tau;
}

size_t tab_ahead_errors(const tab_ahead_work *w, const tab_ahead_answers *at, size_t cuts, size_t without,
                        const double *weight, tab_ahead_error *v, double *base)
{
    size_t n = 0;
    for (size_t c = 0; c < cuts; c++)
        for (size_t i = 0; c != without && i < at[c].n; i++) {
            const tab_moment *m = &at[c].moment[i];
            double out;
            tab_ahead_combine(&at[c], i, weight + c * TAB_AHEAD_MEMBERS, 1, false, &out);
            base[n] = (w->y[m->row] - (double)at[c].out[TAB_AHEAD_BASE * at[c].n + i]) / at[c].scale[i];
            v[n++] = (tab_ahead_error){ (w->y[m->row] - out) / at[c].scale[i],
                                        at[c].distance[i],
                                        m->series,
                                        (uint32_t)c,
                                        m->pos,
                                        m->tau };
        }
    return n;
}

/* What one judged row adds to the quality at its distance. */
static void add_quality(const tab_ahead_work *w, tab_ahead *h, const tab_moment *m, double loss,
                        double baseline, bool covered)
{
    double d = distance_of(m);
    size_t k = h->ranges > 1 ? (size_t)fmin((double)h->ranges - 1,
                                            floor((double)h->ranges * d / (fmax(w->most, 1) + 1e-9)))
                             : 0;
    tab_ahead_quality *q = &h->range[k];
    q->judged++;
    q->distance += (d - q->distance) / (double)q->judged;
    q->covered += covered;
    q->loss += loss;
    q->baseline += baseline;
}

static bool room_of_all(tab_arena *a, size_t rows, size_t judged, tab_ahead *h)
{
    h->answered = tab_arena_new_of(a, bool, rows + 1);
    h->unborne = tab_arena_new_of(a, bool, rows + 1);
    h->distance = tab_arena_new_of(a, double, rows + 1);
    h->row = tab_arena_new_of(a, uint32_t, judged + 1);
    return !tab_arena_full(a);
}

bool tab_ahead_numbers(tab_arena *a, size_t rows, size_t judged, tab_ahead *h)
{
    h->value = tab_arena_new_of(a, double, rows + 1);
    h->spread = tab_arena_new_of(a, double, rows + 1);
    h->quantile = tab_arena_new_of(a, double, rows *TAB_LEVELS + 1);
    h->judged_value = tab_arena_new_of(a, double, judged + 1);
    h->judged_quantile = tab_arena_new_of(a, double, judged *TAB_LEVELS + 1);
    return room_of_all(a, rows, judged, h);
}

/* Room for the judged rows and the asked ones. */
static bool open_answers(tab_ahead_work *w, size_t judged, tab_ahead *h)
{
    tab_arena *a = w->a;
    size_t k = w->t->classes;
    if (!w->t->classification)
        return tab_ahead_numbers(a, w->rows, judged, h);
    h->probability = tab_arena_new_of(a, double, w->rows *k + 1);
    h->judged_probability = tab_arena_new_of(a, double, judged *k + 1);
    return room_of_all(a, w->rows, judged, h);
}

/* The mean of the rows up to a cut. */
static double mean_before(const tab_ahead_work *w, double cut)
{
    double mean = 0, n = 0;
    for (size_t r = 0; !w->t->classification && r < w->rows; r++)
        if (labelled(w->t, r) && w->pos[r] <= cut)
            mean += (w->t->y[r] - mean) / ++n;
    return mean;
}

/* What is lost by a probability of the true class where as much as `novelty` is left to classes that nobody
 * knows. */
static double loss_of(double p, double novelty, bool novel)
{
    return -log(fmax((novel ? novelty : 0) + (1 - novelty) * p, 1e-12));
}

/* What the last class of the series says of a row's class, whose log-share is given. */
static double stays(const tab_ahead_answers *at, size_t i, uint32_t class, double share)
{
    double part = at->last[i] == TAB_NULL ? 0 : at->stays;
    return (at->last[i] == class ? part : 0) + (1 - part) * exp(share);
}

/* Leaves a share of the probabilities to classes that nobody knows. */
static void leave(double *p, size_t classes, double share)
{
    assert(share >= 0 && share <= 1);
    for (size_t k = 0; k < classes; k++)
        p[k] *= 1 - share;
}

/* Judges each cut's rows by weights and bands of the other cuts. own (cuts, members), heat (cuts): theirs. */
static bool judge(tab_ahead_work *w, const tab_ahead_answers *at, const double *cut, size_t cuts,
                  const double *own, const double *heat, tab_ahead_error *v, double *base, tab_ahead *h)
{
    size_t k = w->t->classes;
    h->banded = cuts > 1 && !w->t->classification;
    for (size_t c = 0; c < cuts; c++) {
        tab_ahead_bands b = { 0 };
        double mean = mean_before(w, cut[c]);
        size_t n =
            w->t->classification ? 0 : tab_ahead_errors(w, at, cuts, cuts > 1 ? c : SIZE_MAX, own, v, base);
        if (n > 0 && !tab_ahead_bands_of(v, base, n, cuts > 1 ? cuts - 1 : 1, NULL, &at[c], &b))
            return false;
        for (size_t i = 0; i < at[c].n; i++) {
            const tab_moment *m = &at[c].moment[i];
            size_t j = h->judged++;
            assert(m->pos > cut[c]); /* the cut's own rows were learned from */
            h->row[j] = m->row;
            if (w->t->classification) {
                double *p = h->judged_probability + j * k;
                tab_ahead_combine(&at[c], i, own + c * TAB_AHEAD_MEMBERS, heat[c], true, p);
                uint32_t own_class = w->t->label[m->row];
                double prior = (double)at[c].out[(TAB_AHEAD_SHARES * at[c].n + i) * k + own_class];
                double novelty = tab_novelty_at(&at[c].novelty, distance_of(m));
                bool novel = at[c].novel[i];
                add_quality(w, h, m, loss_of(p[own_class], novelty, novel),
                            loss_of(stays(&at[c], i, own_class, prior), novelty, novel), false);
                h->mean_loss += loss_of(exp(prior), novelty, novel);
                h->novel += novel;
                leave(p, k, novelty);
                continue;
            }
            double out, scale = at[c].scale[i], truth = w->t->y[m->row];
            tab_ahead_combine(&at[c], i, own + c * TAB_AHEAD_MEMBERS, 1, false, &out);
            double value = h->judged_value[j] = tab_ahead_back(w, out);
            for (size_t l = 0; l < TAB_LEVELS; l++)
                h->judged_quantile[j * TAB_LEVELS + l] =
                    tab_ahead_back(w, out + scale * tab_ahead_quantile(&b, at[c].distance[i], l));
            double last = tab_ahead_back(w, (double)at[c].out[TAB_AHEAD_LAST * at[c].n + i]);
            bool in = truth >= h->judged_quantile[j * TAB_LEVELS + 1] &&
                      truth <= h->judged_quantile[j * TAB_LEVELS + TAB_LEVELS - 2];
            h->mean_loss += (truth - mean) * (truth - mean);
            add_quality(w, h, m, (truth - value) * (truth - value), (truth - last) * (truth - last), in);
        }
    }
    return true;
}

/* By what the scale of the asked at each place in the period (place) grows, for `better`: how the errors
 * at a place lie beside others is known of the best simple forecast alone (ahead_past.c). That the members
 * err less than it is known of the places that were judged; of the others half of that is taken over, as a
 * factor. */
static void places_judged(const tab_ahead_work *w, const tab_ahead_answers *at, size_t cuts, double better,
                          double *place)
{
    const tab_series *s = &w->t->asked->series;
    for (size_t k = 0; k < TAB_AHEAD_PERIOD; k++)
        place[k] = better < 1 ? 1 / sqrt(better) : 1;
    for (size_t c = 0; c < cuts; c++)
        for (size_t i = 0; i < at[c].n; i++)
            place[tab_ahead_place(s->season, s->seasons, at[c].moment[i].pos)] = 1;
}

/* The answers to what is asked, fitted on all labelled rows. */
static bool answer(tab_ahead_work *w, const tab_ahead_answers *z, const double *weight, double heat,
                   const tab_ahead_bands *b, const double *place, tab_ahead *h)
{
    const tab_series *s = &w->t->asked->series;
    size_t k = w->t->classes;
    for (size_t i = 0; i < z->n; i++) {
        const tab_moment *m = &z->moment[i];
        h->answered[m->row] = true;
        h->distance[m->row] = distance_of(m);
        if (w->t->classification) {
            double novelty = tab_novelty_at(&z->novelty, distance_of(m));
            tab_ahead_combine(z, i, weight, heat, true, h->probability + m->row * k);
            leave(h->probability + m->row * k, k, novelty);
            h->unknown = fmax(h->unknown, novelty);
            continue;
        }
        double out, scale = z->scale[i] * place[tab_ahead_place(s->season, s->seasons, m->pos)],
                    spread = scale * tab_ahead_deviation(b, z->distance[i]);
        double off[TAB_LEVELS], at[TAB_LEVELS];
        tab_ahead_combine(z, i, weight, 1, false, &out);
        h->value[m->row] = tab_ahead_back(w, out);
        for (size_t l = 0; l < TAB_LEVELS; l++)
            off[l] = scale * tab_ahead_quantile(b, z->distance[i], l);
        tab_ahead_reach(z, i, out, off, at);
        h->value[m->row] = isnan(z->instead[i]) ? h->value[m->row] : tab_ahead_back(w, z->instead[i]);
        h->unborne[m->row] = !isnan(z->instead[i]) || !isnan(z->low[i]) || z->more[i] > 0;
        h->unbornes += h->unborne[m->row];
        for (size_t l = 0; l < TAB_LEVELS; l++)
            h->quantile[m->row * TAB_LEVELS + l] = tab_ahead_back(w, at[l]);
        h->spread[m->row] = w->logged ? h->value[m->row] * spread : spread;
    }
    return true;
}

/* The members that weigh most, as a sentence. */
static const char *method(tab_arena *a, const tab_ahead_work *w, const double *weight)
{
    static const char *const names[2][TAB_AHEAD_MEMBERS] = {
        { "the best simple forecast", "the last value", "the mean of the series",
          "a straight line through the past", "boosted trees on top of a simple forecast",
          "a linear model on top of a simple forecast", "the row's own columns",
          "the deviation from the series' mean", "formulas fitted to the series" },
        { "shares of the classes", "recent shares", "the row's own columns", "the series' past" }
    };
    size_t first = 0, second = 0;
    for (size_t m = 1; m < TAB_AHEAD_MEMBERS; m++)
        first = weight[m] > weight[first] ? m : first;
    second = first == 0 ? 1 : 0;
    for (size_t m = 0; m < TAB_AHEAD_MEMBERS; m++)
        second = m != first && weight[m] > weight[second] ? m : second;
    const char *const *name = names[w->t->classification];
    if (!(weight[second] > 0))
        return name[first];
    return tab_arena_printf(a, "%s (%.0f%%), %s (%.0f%%)", name[first], 100 * weight[first], name[second],
                            100 * weight[second]);
}

/* What is asked, each at its moment. */
static size_t asked_rows(const tab_ahead_work *w, double last, tab_moment *m)
{
    const tab_series *s = &w->t->asked->series;
    double *own = malloc((s->n + 1) * sizeof *own);
    size_t n = 0;
    for (size_t k = 0; own != NULL && k <= s->n; k++)
        own[k] = (double)-INFINITY;
    for (size_t r = 0; own != NULL && r < w->rows; r++)
        if (labelled(w->t, r) && !isnan(w->pos[r]) && s->series[r] != TAB_NULL)
            own[s->series[r]] = fmax(own[s->series[r]], w->pos[r]);
    for (size_t r = 0; own != NULL && r < w->rows; r++) {
        if (!later(w, r))
            continue;
        bool before = w->pos[r] <= last && s->series[r] != TAB_NULL && own[s->series[r]] > (double)-INFINITY;
        double tau = before ? own[s->series[r]] : last;
        m[n++] = (tab_moment){ (uint32_t)r, s->series[r], w->pos[r], fmin(tau, w->pos[r] - HALF) };
    }
    free(own);
    return n;
}

/* The bands of what is asked. Where it lies farther than was judged, errors grow as all distances that were
 * judged say. v (n), base: errors at the cuts. False: memory. */
static bool bands(const tab_ahead_work *w, const tab_ahead_error *v, const double *base, size_t n,
                  size_t cuts, double span, const tab_ahead_answers *past, tab_ahead_bands *ret)
{
    tab_ahead_growth g;
    double reach = 1;
    for (size_t i = 0; i < n; i++)
        reach = fmax(reach, v[i].distance);
    bool far = w->most > reach;
    return (!far || tab_ahead_growth_of(v, n, cuts, past, reach, span, &g)) &&
           tab_ahead_bands_of(v, base, n, cuts, far ? &g : NULL, past, ret);
}

bool tab_ahead_open_apart(tab_ahead_work *w, tab_ahead_task *own, double *last, tab_ahead_apart *ret)
{
    *ret = (tab_ahead_apart){ 0 };
    if (!tab_ahead_open(w, last))
        return false;
    if (own->classification)
        return true;
    double *y = tab_arena_new_of(w->a, double, w->rows + 1);
    if (y == NULL)
        return false;
    memcpy(y, w->y, w->rows * sizeof *y);
    if (!tab_ahead_last_step(&own->asked->series, w->pos, y, w->rows, ret))
        return false;
    if (ret->rows + ret->stuck == 0)
        return true;
    for (size_t r = 0; r < w->rows; r++)
        y[r] = isnan(y[r]) ? (double)NAN : own->y[r];
    own->y = y;
    w->distances = w->covariates = 0;
    return tab_ahead_open(w, last);
}

/* What is asked beyond all that was judged. False: memory. */
static bool unjudged(const tab_ahead_work *w, const tab_ahead_origin *o, size_t origins,
                     tab_ahead_answers *at)
{
    const tab_asked *asked = w->t->asked;
    tab_ahead_unjudged v;
    tab_values *values = tab_arena_new_of(w->a, tab_values, w->cols + 1);
    double *when = tab_arena_new_of(w->a, double, at->n + 1);
    uint32_t *row = tab_arena_new_of(w->a, uint32_t, at->n + 1);
    if (tab_arena_full(w->a) || !tab_ahead_unjudged_find(w->a, w, o, origins, &v))
        return false;
    for (size_t c = 0; c < w->cols; c++)
        values[c] = tab_values_of(&w->t->p->col[c]);
    for (size_t i = 0; i < at->n; i++) {
        row[i] = at->moment[i].row;
        when[i] = asked->turned ? -asked->series.when[row[i]] : asked->series.when[row[i]];
    }
    tab_ahead_unjudged_apply(&v, values, row, when, at);
    return true;
}

tab_status tab_ahead_run(const tab_engine *e, tab_arena *a, const tab_ahead_task *t, tab_ahead **ret,
                         tab_error *err)
{
    tab_ahead_task known = *t;
    tab_ahead_work w = { .e = e, .a = a, .t = &known };
    tab_ahead_origin o[TAB_AHEAD_ORIGINS];
    tab_ahead_answers at[TAB_AHEAD_ORIGINS + 1];
    double last, cut[TAB_AHEAD_ORIGINS], own[TAB_AHEAD_ORIGINS][TAB_AHEAD_MEMBERS],
        weight[TAB_AHEAD_MEMBERS] = { 0 }, heat[TAB_AHEAD_ORIGINS + 1];
    size_t judged = 0, cuts = 0;
    tab_ahead_apart apart;
    *ret = NULL;
    if (!tab_ahead_open_apart(&w, &known, &last, &apart))
        return tab_no_memory(err);
    size_t n = tab_ahead_origins(&w, last, o);
    for (size_t c = 0; c < n; c++) {
        if (!tab_ahead_judged(&w, &o[c]) || !tab_ahead_cut(&w, o[c].cut, o[c].moment, o[c].n, &at[cuts]))
            return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled")
                                           : tab_no_memory(err);
        cut[cuts] = o[c].cut;
        judged += at[cuts].has[0] ? at[cuts].n : 0;
        cuts += at[cuts].has[0] && at[cuts].n > 0;
    }
    if (cuts == 0 || judged < FEWEST)
        return TAB_OK;
    tab_ahead *h = tab_arena_new_of(a, tab_ahead, 1);
    tab_moment *m = tab_arena_new_of(a, tab_moment, w.rows + 1);
    tab_ahead_error *v = tab_arena_new_of(a, tab_ahead_error, judged + 1);
    double *base = tab_arena_new_of(a, double, judged + 1);
    if (h == NULL || m == NULL || v == NULL || base == NULL || !open_answers(&w, judged, h))
        return tab_no_memory(err);
    h->origins = cuts;
    h->apart = apart;
    h->ranges = w.most > 3 && judged >= 100 ? TAB_AHEAD_RANGES : 1;
    bool ok = tab_ahead_weigh(&w, at, cuts, SIZE_MAX, weight, &heat[cuts]);
    for (size_t c = 0; ok && c < cuts; c++)
        ok = tab_ahead_weigh(&w, at, cuts, cuts > 1 ? c : SIZE_MAX, own[c], &heat[c]);
    tab_ahead_bands b = { 0 };
    size_t asked = asked_rows(&w, last, m);
    ok = ok && judge(&w, at, cut, cuts, own[0], heat, v, base, h);
    for (size_t c = 0, k = 0; ok && c < cuts; c++)
        for (size_t i = 0; i < at[c].n; i++, k++)
            w.reach = fmax(k == 0 ? 0 : w.reach, distance_of(&at[c].moment[i]));
    ok = ok && tab_ahead_cut(&w, last, m, asked, &at[cuts]);
    double *stays = ok && apart.rows + apart.stuck > 0 ? tab_ahead_stays(a, &w, t->y) : NULL;
    ok = ok && (apart.rows + apart.stuck == 0 || stays != NULL);
    if (stays != NULL)
        tab_ahead_reach_apart(stays, t->asked->series.n, &at[cuts]);
    ok = ok && (t->classification || unjudged(&w, o, n, &at[cuts]));
    if (ok && !t->classification)
        ok = bands(&w, v, base, tab_ahead_errors(&w, at, cuts, SIZE_MAX, own[0], v, base), cuts,
                   last - first_time(&w) + 1, &at[cuts], &b);
    double place[TAB_AHEAD_PERIOD];
    places_judged(&w, at, cuts, b.better, place);
    ok = ok && answer(&w, &at[cuts], weight, heat[cuts], &b, place, h);
    if (!ok)
        return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
    h->method = method(a, &w, weight);
    *ret = h;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}
