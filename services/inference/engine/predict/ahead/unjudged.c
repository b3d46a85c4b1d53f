/* See ahead_parts.h: what is asked beyond all that the cuts judged.
 *
 * Errors after earlier cuts say how far off answers are, of what came up after these. Three things may not
 * have: a place of the year that the known times do not reach, farther ahead than was judged; a value of a
 * column that the past has, a holiday of which one was seen; a day of the week that no row is of. Nothing
 * bears out what is told of them, so bands reach as far as the table itself says that they may have to
 * (decision 0652):
 *
 *   a season not lived through  as far as the level moved over as many steps before: whatever it is, it
 *                               goes on as its own even or odd reflection, or as a mixture of both
 *   a value that none judged    from the simple forecast to that and what rows with the value were off from
 *                               their neighbours without it, which is the answer
 *   a day of the week           by the variance between the known ones, as a group that nobody knows */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/units.h"
#include "services/inference/engine/predict/ahead/ahead_parts.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* ---- a season not lived through --------------------------------------------------------------- */

/* WINDOWS: of the known times, whose means are levels. */
enum { WINDOWS = 16 };
static const double YEAR_SECONDS = 365.25 * 86400, YEAR_WORKDAYS = 261;

double tab_ahead_year(const tab_series *s)
{
    if (!s->calendar || !(s->step > 0))
        return 0;
    return s->unit == TAB_STEP_SECONDS    ? YEAR_SECONDS / s->step
           : s->unit == TAB_STEP_MONTHS   ? 12 / s->step
           : s->unit == TAB_STEP_WORKDAYS ? YEAR_WORKDAYS
                                          : 0;
}

/* The mean of a series' rows in (tau - width, tau]; NaN: there are none. */
static double level(const tab_history *h, uint32_t series, double tau, double width)
{
    size_t from = h->from[series], to = from + tab_history_rows(h, series, tau);
    size_t at = from + tab_history_rows(h, series, tau - width);
    if (to == at)
        return (double)NAN;
    return (h->sum[to] - (at > from ? h->sum[at] : 0)) / (double)(to - at);
}

/* Half the mean square of what rows a period apart differ by. */
static double noise(const tab_history *h, uint32_t series, size_t period)
{
    double sum = 0, n = 0;
    for (size_t i = h->from[series] + period; i < h->from[series + 1]; i++)
        sum += (h->y[i] - h->y[i - period]) * (h->y[i] - h->y[i - period]) / 2, n++;
    return n > 0 ? sum / n : 0;
}

/* How far the level moved within as many steps before tau as lie ahead of it, beyond what noise makes of
 * the means. *last: the level there. */
static double moved(const tab_history *h, uint32_t series, double first, const tab_moment *m, double *last)
{
    double period = h->seasons > 0 ? h->season[0] : 1;
    double width = period * ceil(fmax(1, (m->tau - first + 1) / WINDOWS) / period), most = 0, lags = 0;
    *last = level(h, series, m->tau, width);
    for (double back = width / 2; back <= m->pos - m->tau && m->tau - back > first; back += width / 2) {
        double off = fabs(*last - level(h, series, m->tau - back, width));
        most = isnan(off) ? most : fmax(most, off);
        lags++;
    }
    double chance = 2 * noise(h, series, (size_t)period) / width * 2 * log(2 + lags);
    return sqrt(fmax(0, most * most - chance));
}

void tab_ahead_unlived(const tab_ahead_view *c, tab_ahead_answers *r)
{
    const tab_ahead_work *w = c->w;
    for (size_t i = 0; i < c->asked; i++) {
        const tab_moment *m = &c->moment[c->n + i];
        double last, far;
        if (!(m->pos - m->tau > w->reach) || !(w->year > 1) || m->pos - w->year >= w->first ||
            tab_history_rows(c->h[0], m->series, m->tau) == 0)
            continue;
        far = moved(c->h[0], m->series, w->first, m, &last);
        if (far > 0)
            r->low[i] = last - far, r->high[i] = last + far;
    }
}

/* ---- values that none judged ------------------------------------------------------------------ */

/* LEVELS: distinct values of a column that has some. LOOK: rows to either side that are, NEAR: of which so
 * many are taken. SHRINK: as in ahead_past.c. SURE: standard errors. */
enum { LEVELS = TAB_AHEAD_LEVELS, LOOK = 60, NEAR = 2, WEEK = 7 };
static const double SHRINK = 3, SURE = 2, SAME = 0.01;

typedef struct {
    const tab_ahead_work *w;
    const tab_history *h; /* of all labelled rows */
    uint64_t *key;        /* (rows of the table) of the column that is at work */
    double *unit;         /* (series) the mean change from row to row */
} looked;

/* Whether rows i and j of the history are at one place in the period. */
static bool same_place(const tab_history *h, size_t i, size_t j)
{
    double length = h->seasons > 0 ? h->season[0] : 1, off = fabs(h->pos[i] - h->pos[j]) / length;
    return fabs(off - round(off)) < SAME;
}

/* The mean of the rows beside row i of the history that have another value; NaN: there are none. */
static double beside(const looked *v, size_t i, size_t from, size_t to)
{
    const tab_history *h = v->h;
    uint64_t own = v->key[h->row[i]];
    double sum = 0, n = 0, before = 0, after = 0;
    for (size_t k = 1; k <= LOOK; k++) {
        if (before < NEAR && i >= from + k && v->key[h->row[i - k]] != own && same_place(h, i, i - k))
            sum += h->y[i - k], n++, before++;
        if (after < NEAR && i + k < to && v->key[h->row[i + k]] != own && same_place(h, i, i + k))
            sum += h->y[i + k], n++, after++;
    }
    return n > 0 ? sum / n : (double)NAN;
}

/* What rows with the value `key` are off from their neighbours, by series: effect (series), each drawn to
 * that of all. False: nothing beyond chance, or memory. */
static bool effect_of(const looked *v, uint64_t key, double *effect)
{
    const tab_history *h = v->h;
    double n = 0, mean = 0, square = 0, within = 0, pairs = 0, *rows = calloc(h->series + 1, sizeof *rows);
    for (size_t s = 0; rows != NULL && s < h->series; s++) {
        double own = 0, about = 0;
        for (size_t i = h->from[s]; i < h->from[s + 1]; i++) {
            if (v->key[h->row[i]] != key)
                continue;
            double off = (h->y[i] - beside(v, i, h->from[s], h->from[s + 1])) / v->unit[s], d = off - own;
            if (isnan(off))
                continue;
            own += d / ++rows[s], about += d * (off - own);
            d = off - mean, mean += d / ++n, square += d * (off - mean);
        }
        effect[s] = own;
        within += about, pairs += rows[s] > 0 ? rows[s] - 1 : 0;
    }
    double variance = pairs > 0 ? within / pairs : n > 1 ? square / (n - 1) : 0;
    bool sure = rows != NULL && n >= 2 && mean * mean > SURE * SURE * variance / n;
    for (size_t s = 0; sure && s < h->series; s++)
        effect[s] = v->unit[s] * (rows[s] * effect[s] + SHRINK * mean) / (rows[s] + SHRINK);
    free(rows);
    return sure;
}

/* A value of the column at work, and how many labelled, judged and asked rows have it. */
typedef struct {
    uint64_t key;
    size_t known, judged, asked;
} had;

/* The value's entry, a new one where there is room. */
static had *entry(had *of, size_t *n, uint64_t key)
{
    for (size_t k = 0; k < *n; k++)
        if (of[k].key == key)
            return &of[k];
    if (key == 0 || *n == LEVELS)
        return NULL;
    of[*n] = (had){ .key = key };
    return &of[(*n)++];
}

/* Counts the values of the column. */
static size_t count(const looked *v, const tab_ahead_origin *o, size_t origins, had *of)
{
    const tab_ahead_work *w = v->w;
    size_t n = 0;
    for (size_t r = 0; r < w->rows; r++) {
        had *own = entry(of, &n, v->key[r]);
        bool known = !isnan(w->t->y[r]);
        if (own == NULL)
            continue;
        own->known += known;
        own->asked += w->t->served || w->t->asked->of[r] == TAB_REGIME_LATER;
    }
    for (size_t k = 0; k < origins; k++)
        for (size_t i = 0; i < o[k].n; i++) {
            had *own = entry(of, &n, v->key[o[k].moment[i].row]);
            if (own != NULL)
                own->judged++;
        }
    return n;
}

/* Whether a column may have such values: of few, and neither a time nor the name of a series. */
static bool may(const tab_ahead_work *w, size_t column)
{
    const tab_series *s = &w->t->asked->series;
    const tab_column_profile *q = &w->t->p->col[column];
    bool told = false;
    for (size_t k = 0; k < s->times; k++)
        told = told || s->time[k] == column;
    for (size_t k = 0; k < s->keys; k++)
        told = told || s->key[k] == column;
    return w->t->use[column] && !told && q->distinct > 1 && q->distinct <= LEVELS &&
           (q->number != NULL || q->code != NULL);
}

/* What rows of a value that no labelled row has may be off, by the variance between those of the values that
 * are there (Searle, Casella & McCulloch, 1992), each beside its series' level. */
static void rest_of(const looked *v, const had *of, size_t n, size_t column, tab_ahead_unjudged *ret)
{
    const tab_history *h = v->h;
    double rows[LEVELS] = { 0 }, mean[LEVELS] = { 0 }, within = 0, between = 0, all = 0, total = 0, sizes = 0;
    double groups = 0, width = h->seasons > 0 ? h->season[0] : WEEK;
    for (size_t s = 0; s < h->series; s++)
        for (size_t i = h->from[s]; i < h->from[s + 1]; i++) {
            size_t k = 0;
            while (k < n && of[k].key != v->key[h->row[i]])
                k++;
            double off = (h->y[i] - level(h, (uint32_t)s, h->pos[i] + floor(width / 2), width)) / v->unit[s];
            if (k == n || isnan(off))
                continue;
            double d = off - mean[k];
            mean[k] += d / ++rows[k], within += d * (off - mean[k]);
            all += (off - all) / ++total;
        }
    for (size_t k = 0; k < n; k++) {
        groups += rows[k] > 0, sizes += rows[k] * rows[k];
        between += rows[k] * (mean[k] - all) * (mean[k] - all);
    }
    if (groups < 2 || total <= groups)
        return;
    within /= total - groups;
    between = between / (groups - 1) - within;
    if (!(between > SURE * within * sqrt(2 / (groups - 1) + 2 / (total - groups))))
        return;
    between /= (total - sizes / total) / (groups - 1);
    tab_ahead_rest *rest = &ret->rest[ret->rests++];
    *rest = (tab_ahead_rest){ .column = column,
                              .more = tab_groups_reach(between * (1 + 1 / groups), within, groups) };
    for (size_t k = 0; k < n; k++)
        if (of[k].known > 0)
            rest->key[rest->keys++] = of[k].key;
}

/* The values of one column. False: the arena is full. */
static bool look_at(tab_arena *a, looked *v, size_t column, const tab_ahead_origin *o, size_t origins,
                    tab_ahead_unjudged *ret)
{
    const tab_ahead_work *w = v->w;
    had of[LEVELS];
    size_t labelled = 0;
    tab_values values = tab_values_of(&w->t->p->col[column]);
    for (size_t r = 0; r < w->rows; r++) {
        v->key[r] = tab_units_key(&values, r);
        labelled += !isnan(w->t->y[r]);
    }
    size_t n = count(v, o, origins, of), fresh = 0;
    for (size_t k = 0; k < n; k++)
        fresh += of[k].known == 0 && of[k].asked > 0;
    bool words = w->t->p->col[column].code != NULL && w->t->p->col[column].number == NULL;
    if (words && (fresh > 0 || w->t->served) && ret->rests < TAB_AHEAD_EVENTS)
        rest_of(v, of, n, column, ret);
    for (size_t k = 0; k < n && ret->events < TAB_AHEAD_EVENTS; k++) {
        if (of[k].judged > 0 || of[k].asked == 0 || of[k].known < 2 || 2 * of[k].known > labelled)
            continue;
        tab_ahead_event *e = &ret->event[ret->events];
        *e = (tab_ahead_event){ column, of[k].key, tab_arena_new_of(a, double, v->h->series + 1) };
        if (e->effect == NULL)
            return false;
        ret->events += effect_of(v, of[k].key, e->effect);
    }
    return true;
}

/* ---- days of the week ------------------------------------------------------------------------- */

static size_t weekday(double when)
{
    double day = fmod(floor(when / 86400), WEEK);
    return isnan(day) ? WEEK : (size_t)(day < 0 ? day + WEEK : day);
}

/* Sums of the days of one series or of all. */
typedef struct {
    double n[WEEK], mean[WEEK], within;
} day_sums;

/* A series' rows about the mean of the week around them. */
static void add_days(const looked *v, size_t series, double week, day_sums *d)
{
    const tab_asked *asked = v->w->t->asked;
    for (size_t i = v->h->from[series]; i < v->h->from[series + 1]; i++) {
        double when = asked->series.when[v->h->row[i]];
        size_t day = weekday(asked->turned ? -when : when);
        double about = level(v->h, (uint32_t)series, v->h->pos[i] + floor(week / 2), week);
        double off = (v->h->y[i] - about) / v->unit[series], by = off - d->mean[day % WEEK];
        if (day == WEEK || isnan(off))
            continue;
        d->mean[day] += by / ++d->n[day];
        d->within += by * (off - d->mean[day]);
    }
}

/* By the analysis of variance between the days that are known, within each series. */
static void days_of(const looked *v, tab_ahead_unjudged *ret)
{
    const tab_series *s = &v->w->t->asked->series;
    double between = 0, within = 0, free = 0, left = 0, each = 0, groups = 0;
    bool by_second = s->unit == TAB_STEP_SECONDS && s->step <= 86400;
    double week = s->unit == TAB_STEP_WORKDAYS ? 5 : by_second ? WEEK * 86400 / s->step : 0;
    for (size_t k = 0; s->calendar && week > 0 && k < v->h->series; k++) {
        day_sums d = { 0 };
        double rows = 0, days = 0, mean = 0, squares = 0;
        add_days(v, k, week, &d);
        for (size_t i = 0; i < WEEK; i++) {
            days += d.n[i] > 0, rows += d.n[i], squares += d.n[i] * d.n[i], mean += d.n[i] * d.mean[i];
            ret->weekdays |= (unsigned)(d.n[i] > 0) << i;
        }
        if (days < 2 || rows <= days)
            continue;
        for (size_t i = 0; i < WEEK; i++)
            between += d.n[i] * (d.mean[i] - mean / rows) * (d.mean[i] - mean / rows);
        within += d.within, free += days - 1, left += rows - days, each += rows - squares / rows;
    }
    for (size_t i = 0; i < WEEK; i++)
        groups += ret->weekdays >> i & 1;
    if (groups < 2 || groups >= WEEK || !(free > 0) || !(left > 0)) {
        ret->weekdays = 0;
        return;
    }
    within /= left;
    between = fmax(0, (between / free - within) / (each / free));
    ret->more = tab_groups_reach(between * (1 + 1 / groups), within, groups);
}

/* ---- all -------------------------------------------------------------------------------------- */

bool tab_ahead_unjudged_find(tab_arena *a, const tab_ahead_work *w, const tab_ahead_origin *o, size_t origins,
                             tab_ahead_unjudged *ret)
{
    TAB_AUTO(tab_arena) *own = tab_arena_new((size_t)1 << 30);
    const tab_series *s = &w->t->asked->series;
    *ret = (tab_ahead_unjudged){ .series = s->n, .unit = tab_arena_new_of(a, double, s->n + 1) };
    double *y = own == NULL ? NULL : tab_arena_new_of(own, double, w->rows + 1);
    looked v = { .w = w, .unit = ret->unit };
    if (y == NULL || ret->unit == NULL)
        return false;
    for (size_t r = 0; r < w->rows; r++)
        y[r] = isnan(w->t->y[r]) ? (double)NAN : w->y[r];
    v.h = tab_history_new(own, s, w->pos, y, w->rows);
    v.key = tab_arena_new_of(own, uint64_t, w->rows + 1);
    if (v.h == NULL || v.key == NULL)
        return false;
    double all = 0, n = 0;
    for (size_t k = 0; k < s->n; k++) {
        size_t from = v.h->from[k], to = v.h->from[k + 1];
        for (size_t i = from + 1; i < to; i++)
            v.unit[k] += fabs(v.h->y[i] - v.h->y[i - 1]) / (double)(to - from - 1);
        all += v.unit[k] > 0 ? log(v.unit[k]) : 0, n += v.unit[k] > 0;
    }
    for (size_t k = 0; k < s->n; k++)
        v.unit[k] = v.unit[k] > 0 ? v.unit[k] : n > 0 ? exp(all / n) : 1;
    for (size_t c = 0; c < w->cols; c++)
        if (may(w, c) && !look_at(a, &v, c, o, origins, ret))
            return false;
    days_of(&v, ret);
    return true;
}

void tab_ahead_unjudged_apply(const tab_ahead_unjudged *v, const tab_values *values, const uint32_t *row,
                              const double *when, tab_ahead_answers *at)
{
    for (size_t i = 0; i < at->n; i++) {
        uint32_t s = at->moment[i].series;
        double base = (double)at->out[TAB_AHEAD_BASE * at->n + i], effect = 0;
        size_t day = weekday(when[i]);
        if (s >= v->series)
            continue;
        if (v->weekdays != 0 && day < WEEK && !(v->weekdays >> day & 1))
            at->more[i] = v->more * v->unit[s] * v->unit[s];
        for (size_t k = 0; k < v->rests; k++) {
            uint64_t key = tab_units_key(&values[v->rest[k].column], row[i]);
            bool known = key == 0;
            for (size_t j = 0; j < v->rest[k].keys; j++)
                known = known || v->rest[k].key[j] == key;
            at->more[i] += known ? 0 : v->rest[k].more * v->unit[s] * v->unit[s];
        }
        for (size_t k = 0; k < v->events; k++)
            if (tab_units_key(&values[v->event[k].column], row[i]) == v->event[k].key)
                effect += v->event[k].effect[s];
        if (effect > 0 || effect < 0) {
            at->instead[i] = base + effect;
            at->low[i] = fmin(base, base + effect), at->high[i] = fmax(base, base + effect);
        }
    }
}
