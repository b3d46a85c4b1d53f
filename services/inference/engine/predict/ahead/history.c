/* See history.h; ahead.c reads. Runs of a series are found by bisection, means by sums up to each row. */
#include "services/inference/engine/predict/ahead/history.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* SLOPE: values that a trend is read from. BACK, OFTEN: periods that a place in one is averaged over, beside
 * a period's mean and beside a line. LINED: values that a line needs. */
enum { SLOPE = 12, BACK = 3, OFTEN = 6, LINED = 8 };
static const double SMOOTH[2] = { 0.3, 0.1 }, DAMP = 0.5, NEAR = 0.5, GAP = 4;

typedef struct {
    uint32_t series, row;
    double pos, y;
} entry;

static int by_time(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    if (x->pos < y->pos || x->pos > y->pos)
        return x->pos < y->pos ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Sums, and what is smoothed, of one series' run. */
static void accumulate(tab_history *h, size_t from, size_t to)
{
    for (size_t i = from + 1; i < to; i++)
        assert(h->pos[i - 1] <= h->pos[i]); /* until() bisects */
    for (size_t i = from; i < to;) {
        size_t end = i;
        double mean = 0;
        while (end < to && !(h->pos[end] > h->pos[i]))
            mean += h->y[end++];
        mean /= (double)(end - i);
        for (size_t k = i; k < end; k++) {
            double x = h->pos[k] - h->pos[from], add[3] = { x, x * x, x * h->y[k] };
            h->sum[k + 1] = (k > from ? h->sum[k] : 0) + h->y[k];
            for (size_t s = 0; s < 3; s++)
                h->line[s][k + 1] = (k > from ? h->line[s][k] : 0) + add[s];
            h->last[k] = mean;
            for (size_t s = 0; s < 2; s++)
                h->smooth[s][k] =
                    i == from ? mean : h->smooth[s][i - 1] + SMOOTH[s] * (mean - h->smooth[s][i - 1]);
        }
        i = end;
    }
}

/* Rows lo..hi that come up to x: the place behind the last of them. */
static size_t until(const tab_history *h, size_t lo, size_t hi, double x)
{
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (h->pos[mid] <= x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* A run of rows: a series up to a moment. */
typedef struct {
    const tab_history *h;
    size_t from, to;
} past;

/* The mean of the rows after `after` up to `upto`; NaN: none. */
static double mean_of(const past *p, double after, double upto)
{
    size_t i = until(p->h, p->from, p->to, after), j = until(p->h, p->from, p->to, upto);
    double before = i > p->from ? p->h->sum[i] : 0;
    return j > i ? (p->h->sum[j] - before) / (double)(j - i) : (double)NAN;
}

/* The value at x: of the rows about it, else between its neighbours where they are near. */
static double value_at(const past *p, double x)
{
    double near = mean_of(p, x - NEAR, x + NEAR);
    size_t j = until(p->h, p->from, p->to, x);
    if (!isnan(near) || j == p->from || j == p->to)
        return near;
    double a = p->h->pos[j - 1], b = p->h->pos[j];
    if (b - a > GAP)
        return (double)NAN;
    return p->h->last[j - 1] + (p->h->last[j] - p->h->last[j - 1]) * (x - a) / (b - a);
}

/* The place of a time in a period. */
static size_t place_of(size_t places, double length, double pos)
{
    double at = fmod(pos, length);
    at = at < 0 ? at + length : at;
    return at >= 0 && at < (double)places ? (size_t)at : places - 1;
}

/* The deviation of row i of the series from the mean of the period about it, and that mean; NaN: the series
 * has no whole period about it. */
static double deviation(const tab_history *h, const past *p, size_t i, double length, double *mean)
{
    double from = h->pos[i] - length / 2, to = from + length;
    bool whole = from >= h->pos[p->from] - NEAR && to <= h->pos[p->to - 1] + NEAR;
    *mean = whole ? mean_of(p, from, to) : (double)NAN;
    return h->y[i] - *mean;
}

/* Adds each deviation to the sums of its place, as it is and in proportion to the level: sum (places, 4) and,
 * where a series has a slot, its own. */
static void add_deviations(const tab_history *h, double length, const tab_wave *w, double *sum, double *own)
{
    for (size_t s = 0; s < h->series; s++) {
        past p = { h, h->from[s], h->from[s + 1] };
        for (size_t i = p.from; i < p.to; i++) {
            double mean, off = deviation(h, &p, i, length, &mean);
            size_t k = place_of(w->places, length, h->pos[i]);
            double add[4] = { off, 1, off * mean, mean * mean };
            for (size_t j = 0; !isnan(off) && j < 4; j++)
                sum[4 * k + j] += add[j];
            for (size_t j = 0; own != NULL && !isnan(off) && j < 2; j++)
                own[2 * (w->slot[s] * w->places + k) + j] += add[2 * w->relative + j];
        }
    }
}

/* Whether shares of the level leave less of the deviations than their means do: sum (places, 4). What a mean
 * explains is its sum's square by what it is divided by. */
static bool in_shares(const double *sum, size_t places)
{
    double told[2] = { 0 };
    for (size_t k = 0; k < places; k++)
        for (size_t j = 0; j < 2; j++) {
            const double *v = sum + 4 * k + 2 * j;
            told[j] += v[1] > 0 ? v[0] * v[0] / v[1] : 0;
        }
    return told[1] > told[0];
}

/* The season of all series and of each that has a whole period. False: the arena is full. */
static bool pool_season(tab_arena *a, tab_history *h, double length, tab_wave *w)
{
    double sum[4 * TAB_PAST_PLACES] = { 0 };
    if (!(length > 1) || length > TAB_PAST_PLACES)
        return true;
    w->places = (size_t)ceil(length);
    w->slot = tab_arena_new_of(a, uint32_t, h->series + 1);
    w->all = tab_arena_new_of(a, double, 2 * w->places);
    if (tab_arena_full(a))
        return false;
    for (size_t s = 0; s < h->series; s++) {
        bool whole = h->from[s + 1] > h->from[s] &&
                     h->pos[h->from[s + 1] - 1] - h->pos[h->from[s]] >= length - 2 * NEAR;
        w->slot[s] = whole ? (uint32_t)w->known++ : TAB_NULL;
    }
    add_deviations(h, length, w, sum, NULL);
    w->relative = in_shares(sum, w->places);
    w->own = tab_arena_new_of(a, double, 2 * w->known * w->places + 1);
    if (w->own == NULL)
        return false;
    memset(sum, 0, sizeof sum);
    add_deviations(h, length, w, sum, w->own);
    for (size_t k = 0; k < w->places; k++)
        for (size_t j = 0; j < 2; j++)
            w->all[2 * k + j] = sum[4 * k + 2 * w->relative + j];
    return true;
}

/* The mean deviation of a place over all series but this one; NaN: none tells. */
static double of_others(const tab_wave *w, double length, uint32_t series, double pos)
{
    size_t k = place_of(w->places, length, pos);
    const double *all = w->all + 2 * k;
    const double *own = w->slot[series] < w->known ? w->own + 2 * (w->slot[series] * w->places + k) : NULL;
    double sum = all[0] - (own != NULL ? own[0] : 0), by = all[1] - (own != NULL ? own[1] : 0);
    return by > 1e-9 * all[1] ? sum / by : (double)NAN;
}

/* A series' level, the mean of its last values without the season of the others, and that season at pos; NaN:
 * it is not known. */
static double by_others(const past *p, size_t s, uint32_t series, double pos)
{
    const tab_history *h = p->h;
    const tab_wave *w = &h->wave[s];
    double length = h->season[s], n = 0, sum = 0;
    if (w->all == NULL || w->slot == NULL || w->own == NULL || w->places == 0)
        return (double)NAN;
    for (size_t i = p->to; i > p->from && h->pos[i - 1] > h->pos[p->to - 1] - length; i--) {
        double off = of_others(w, length, series, h->pos[i - 1]);
        if (isnan(off))
            continue;
        sum += w->relative ? h->y[i - 1] : h->y[i - 1] - off;
        n += w->relative ? 1 + off : 1;
    }
    double there = of_others(w, length, series, pos);
    return !(n > 0) ? (double)NAN : w->relative ? sum / n * (1 + there) : sum / n + there;
}

/* The slope of the last values a step, by least squares. */
static double slope(const past *p)
{
    size_t from = p->to - p->from > SLOPE ? p->to - SLOPE : p->from;
    double n = (double)(p->to - from), x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = from; i < p->to; i++)
        x += p->h->pos[i] / n, y += p->h->y[i] / n;
    for (size_t i = from; i < p->to; i++) {
        double d = p->h->pos[i] - x;
        xx += d * d, xy += d * (p->h->y[i] - y);
    }
    return xx > 0 ? xy / xx : 0;
}

/* The line through all values, by least squares: its value at the series' first row and its slope. */
static void line_of(const past *p, double *at, double *slope_of)
{
    const tab_history *h = p->h;
    double n = (double)(p->to - p->from), y = h->sum[p->to] / n, x = h->line[0][p->to] / n;
    double xx = h->line[1][p->to] / n - x * x, xy = h->line[2][p->to] / n - x * y;
    *slope_of = n >= LINED && xx > 0 ? xy / xx : 0;
    *at = y - *slope_of * x;
}

/* The forecasts of one period. line: that through all values. */
static void by_season(const past *p, double length, double pos, double tau, double last, const double *line,
                      double *out)
{
    double back = ceil((pos - tau) / length - 1e-9), at = pos - back * length;
    double mean = mean_of(p, tau - length, tau), before = mean_of(p, tau - 2 * length, tau - length);
    out[TAB_PAST_SAME] = value_at(p, at);
    out[TAB_PAST_CHANGE] = last + out[TAB_PAST_SAME] - value_at(p, tau - back * length);
    out[TAB_PAST_GROWTH] = out[TAB_PAST_SAME] + back * (mean - before);
    double off = 0, n = 0;
    for (size_t k = 0; k < BACK; k++) {
        double x = at - (double)k * length, own = value_at(p, x);
        double about = mean_of(p, fmin(x + length / 2, tau) - length, fmin(x + length / 2, tau));
        if (!isnan(own) && !isnan(about))
            off += own - about, n++;
    }
    out[TAB_PAST_SHAPE] = n > 0 ? mean + off / n : (double)NAN;
    double first = p->h->pos[p->from];
    off = n = 0;
    for (size_t k = 0; k < OFTEN; k++) {
        double x = at - (double)k * length, own = value_at(p, x);
        if (!isnan(own))
            off += own - line[0] - line[1] * (x - first), n++;
    }
    out[TAB_PAST_SLOPED] = n > 0 ? line[0] + line[1] * (pos - first) + off / n : (double)NAN;
}

tab_history *tab_history_new(tab_arena *a, const tab_series *s, const double *pos, const double *y,
                             size_t rows)
{
    tab_history *h = tab_arena_new_of(a, tab_history, 1);
    entry *o = malloc((rows + 1) * sizeof *o);
    size_t n = 0;
    for (size_t r = 0; o != NULL && r < rows; r++)
        if (!isnan(y[r]) && !isnan(pos[r]) && s->series[r] != TAB_NULL)
            o[n++] = (entry){ s->series[r], (uint32_t)r, pos[r], y[r] };
    if (h != NULL && o != NULL) {
        *h = (tab_history){ .series = s->n, .rows = n, .seasons = s->seasons };
        memcpy(h->season, s->season, sizeof h->season);
        h->kinds = TAB_PAST_PLAIN + h->seasons * TAB_PAST_BY_SEASON;
        h->from = tab_arena_new_of(a, size_t, s->n + 2);
        h->row = tab_arena_new_of(a, uint32_t, n + 1);
        double **of[] = { &h->pos,       &h->y,       &h->sum,     &h->last,   &h->smooth[0],
                          &h->smooth[1], &h->line[0], &h->line[1], &h->line[2] };
        for (size_t k = 0; k < sizeof of / sizeof *of; k++)
            *of[k] = tab_arena_new_of(a, double, n + 2);
    }
    if (h == NULL || o == NULL || tab_arena_full(a)) {
        free(o);
        return NULL;
    }
    qsort(o, n, sizeof *o, by_time);
    for (size_t i = 0, k = 0; k <= s->n; k++) {
        while (i < n && o[i].series < k)
            i++;
        h->from[k] = i;
    }
    for (size_t i = 0; i < n; i++) {
        h->pos[i] = o[i].pos;
        h->y[i] = o[i].y;
        h->row[i] = o[i].row;
    }
    for (size_t k = 0; k < s->n; k++)
        accumulate(h, h->from[k], h->from[k + 1]);
    free(o);
    for (size_t k = 0; k < h->seasons; k++)
        if (!pool_season(a, h, h->season[k], &h->wave[k]))
            return NULL;
    return h;
}

size_t tab_history_read(const tab_history *h, uint32_t series, double pos, double tau, double *out)
{
    if (series == TAB_NULL || series >= h->series)
        return 0;
    past p = { h, h->from[series], 0 };
    p.to = until(h, p.from, h->from[series + 1], tau);
    if (p.to == p.from)
        return 0;
    assert(h->pos[p.to - 1] <= tau); /* nothing of what came later is read */
    size_t end = p.to - 1, n = p.to - p.from;
    double last = h->last[end], ahead = pos - h->pos[end], span = h->pos[end] - h->pos[p.from];
    out[TAB_PAST_LAST] = last;
    out[TAB_PAST_THREE] = (h->sum[p.to] - (n > 3 ? h->sum[p.to - 3] : 0)) / (double)(n > 3 ? 3 : n);
    out[TAB_PAST_SMOOTH] = h->smooth[0][end];
    out[TAB_PAST_SLOW] = h->smooth[1][end];
    out[TAB_PAST_MEAN] = h->sum[p.to] / (double)n;
    out[TAB_PAST_DRIFT] = last + (span > 0 ? ahead * (last - h->last[p.from]) / span : 0);
    out[TAB_PAST_TREND] = last + DAMP * ahead * slope(&p);
    double line[2];
    line_of(&p, &line[0], &line[1]);
    out[TAB_PAST_LINE] = line[0] + line[1] * (pos - h->pos[p.from]);
    for (size_t s = 0; s < h->seasons; s++)
        by_season(&p, h->season[s], pos, tau, last, line, out + TAB_PAST_PLAIN + s * TAB_PAST_BY_SEASON);
    for (size_t k = 0; k < TAB_PAST_PLAIN; k++)
        out[k] = isfinite(out[k]) ? out[k] : last;
    for (size_t s = 0; s < h->seasons; s++) {
        double *own = out + TAB_PAST_PLAIN + s * TAB_PAST_BY_SEASON, others = (double)NAN;
        for (size_t k = 0; k < TAB_PAST_BY_SEASON; k++) {
            if (isfinite(own[k]))
                continue;
            others = isnan(others) ? by_others(&p, s, series, pos) : others;
            own[k] = isfinite(others) ? others : last;
        }
    }
    return n;
}

size_t tab_history_rows(const tab_history *h, uint32_t series, double tau)
{
    bool none = series == TAB_NULL || series >= h->series;
    return none ? 0 : until(h, h->from[series], h->from[series + 1], tau) - h->from[series];
}

uint32_t tab_history_row(const tab_history *h, uint32_t series, double tau)
{
    if (series == TAB_NULL || series >= h->series)
        return TAB_NULL;
    size_t to = until(h, h->from[series], h->from[series + 1], tau);
    return to > h->from[series] ? h->row[to - 1] : TAB_NULL;
}
