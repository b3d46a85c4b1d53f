/* See ahead.h: what is learned from at a cut, and what the past alone says of it: examples at the distances
 * that are asked, simple forecasts of each, the best of them, and the scale of its errors by series and by
 * place in the period. ahead_cut.c reads. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/ahead/ahead_parts.h"

/* MOST: examples. FEW: rows below which each stands at several distances. SHRINK and PLACE_ROWS: rows that
 * what is said of a series, or of a place in the period, weighs against all. MANY: values that tell how a
 * series varies, and series that tell how unlike they are. By hand. */
enum { MOST = 10000, FEW = 1500, COPIES = 3, MANY = 8 };
static const double SHRINK = 3, PLACE_ROWS = 10;
/* OFTEN: runs of errors before the last that tell how far one is off. OFF: how many times the farthest of
 * them the last one is where the level may have moved. By hand (decision 0447). */
enum { OFTEN = 15 };
static const double OFF = 1.5;

static bool labelled(const tab_ahead_task *t, size_t r)
{
    return t->classification ? t->label[r] != TAB_NULL : !isnan(t->y[r]);
}

/* Labelled rows up to the cut, each at a distance drawn from those that are asked. */
bool tab_ahead_examples(tab_ahead_view *c, double cut, const tab_moment *m, size_t n)
{
    tab_ahead_work *w = c->w;
    const tab_series *s = &w->t->asked->series;
    size_t present = 0;
    for (size_t r = 0; r < w->rows; r++)
        present += labelled(w->t, r) && w->pos[r] <= cut && s->series[r] != TAB_NULL;
    size_t copies = present < FEW && !w->t->classification ? COPIES : 1;
    double keep = present > MOST ? (double)MOST / (double)present : 1;
    c->moment = tab_arena_new_of(c->a, tab_moment, present * copies + n + 1);
    if (c->moment == NULL)
        return false;
    for (size_t r = 0; r < w->rows; r++) {
        bool in = labelled(w->t, r) && w->pos[r] <= cut && s->series[r] != TAB_NULL;
        for (size_t k = 0; in && k < copies; k++) {
            double u = tab_unit(tab_mix2(w->t->hash[r] + k, w->t->seed ^ 0xa4ead));
            double d = w->distance[(size_t)(u * (double)w->distances)];
            if (tab_unit(tab_mix2(w->t->hash[r], w->t->seed ^ 0x5a3)) < keep)
                c->moment[c->n++] = (tab_moment){ (uint32_t)r, s->series[r], w->pos[r], w->pos[r] - d };
        }
    }
    if (n > 0)
        memcpy(c->moment + c->n, m, n * sizeof *m);
    c->asked = n;
    return true;
}

/* The past of each class's indicator, or of the values. */
bool tab_ahead_past(tab_ahead_view *c, double cut)
{
    /* a row that is served is judged from moments after the cut, too: it sees what came up to them */
    double upto = cut;
    for (size_t i = c->n; c->w->t->served && i < c->n + c->asked; i++)
        upto = fmax(upto, c->moment[i].tau);
    c->cut = cut;
    tab_ahead_work *w = c->w;
    const tab_ahead_task *t = w->t;
    double *y = tab_arena_new_of(c->a, double, w->rows + 1);
    size_t k = t->classification ? t->classes : 1;
    k = t->classification && k == 2 ? 1 : k;
    c->histories = k < TAB_AHEAD_CLASSES ? k : TAB_AHEAD_CLASSES;
    for (size_t i = 0; y != NULL && i < c->histories; i++) {
        for (size_t r = 0; r < w->rows; r++) {
            bool in = labelled(t, r) && w->pos[r] <= upto;
            y[r] = !in ? (double)NAN : t->classification ? t->label[r] == i : w->y[r];
        }
        c->h[i] = tab_history_new(c->keep, &t->asked->series, w->pos, y, w->rows);
        if (c->h[i] == NULL)
            return false;
    }
    return y != NULL;
}

/* Each series' scale, the mean absolute error of the simple forecast k, drawn to that of all in proportion
 * to how few rows it has. Gives the mean of squared errors in the series' own variation. */
static double scales(tab_ahead_view *c, size_t k, const double *unit, double *scale)
{
    size_t series = c->w->t->asked->series.n;
    double *n = calloc(series + 1, sizeof *n), all = 0, loss = 0, rows = 0;
    for (size_t s = 0; s <= series; s++)
        scale[s] = 0;
    for (size_t i = 0; n != NULL && i < c->n; i++) {
        const tab_moment *m = &c->moment[i];
        double off = fabs(c->w->y[m->row] - c->simple[i * c->kinds + k]);
        if (isnan(off))
            continue;
        scale[m->series] += off;
        n[m->series]++;
        off = fmin(off / unit[m->series], TAB_AHEAD_FAR);
        loss += off * off;
        rows++;
    }
    double weight = 0;
    for (size_t s = 0; n != NULL && s < series; s++)
        if (n[s] > 0 && scale[s] > 0) {
            all += n[s] * log(scale[s] / n[s] / unit[s]);
            weight += n[s];
        }
    all = weight > 0 ? all / weight : 0;
    for (size_t s = 0; n != NULL && s <= series; s++) {
        double own = n[s] > 0 && scale[s] > 0 ? log(scale[s] / n[s] / unit[s]) : all;
        scale[s] = unit[s] * exp((n[s] * own + SHRINK * all) / (n[s] + SHRINK));
    }
    free(n);
    return rows > 0 ? loss / rows : (double)INFINITY;
}

/* The rows of a series up to the cut. */
static size_t rows_of(const tab_ahead_view *c, size_t s)
{
    const tab_history *h = c->h[0];
    size_t from = h->from[s], to = from;
    while (to < h->from[s + 1] && h->pos[to] <= c->cut)
        to++;
    return to - from;
}

/* The logarithm of a deviation of n values varies by 1 / 2 (n - 1) about what it is of, and that of series by
 * what is left. The variation of each is drawn to the mean of all as these two have it (empirical Bayes):
 * three values hardly tell, and say too little of it. */
static void draw_units(const tab_ahead_view *c, double *unit, double mean)
{
    size_t series = c->h[0]->series;
    double between = 0, chance = 0, n = 0;
    for (size_t s = 0; s < series; s++) {
        double rows = (double)rows_of(c, s), off = unit[s] > 0 ? log(unit[s]) - mean : 0;
        if (rows < MANY || !(unit[s] > 0))
            continue;
        between += off * off, chance += 1 / (2 * (rows - 1)), n++;
    }
    if (n < MANY) /* too few to tell how unlike series are */
        return;
    between = fmax(0, (between - chance) / n);
    for (size_t s = 0; s < series; s++) {
        double rows = (double)rows_of(c, s), own = rows > 1 ? 1 / (2 * (rows - 1)) : 0;
        if (rows < 2 || rows >= MANY || !(unit[s] > 0))
            continue;
        double full = log(unit[s] * rows / (rows - 1));
        unit[s] = exp(mean + (full - mean) * between / (between + own));
    }
}

/* The variation of each series: the mean absolute change from row to row, or deviation from its mean. */
static void variations(tab_ahead_view *c, double *unit)
{
    const tab_history *h = c->h[0];
    double all = 0, n = 0;
    for (size_t s = 0; s < h->series; s++) {
        double sum = 0, off = 0;
        size_t from = h->from[s], to = from;
        while (to < h->from[s + 1] && h->pos[to] <= c->cut)
            to++;
        c->mean[s] = to > from ? h->sum[to] / (double)(to - from) : (double)NAN;
        for (size_t i = from; i < to; i++) {
            sum += i > from ? fabs(h->y[i] - h->y[i - 1]) : 0;
            off += fabs(h->y[i] - c->mean[s]);
        }
        unit[s] = to - from > 1 ? fmax(sum, off) / (double)(to - from) : 0;
        all += unit[s] > 0 ? log(unit[s]) : 0;
        n += unit[s] > 0;
    }
    double typical = n > 0 ? exp(all / n) : 1;
    draw_units(c, unit, n > 0 ? all / n : 0);
    for (size_t s = 0; s <= h->series; s++)
        unit[s] = s < h->series && unit[s] > 0 ? unit[s] : typical;
    double sum = 0, rows = 0;
    for (size_t i = 0; i < h->rows; i++)
        if (h->pos[i] <= c->cut)
            sum += h->y[i], rows++;
    c->mean[h->series] = rows > 0 ? sum / rows : (double)NAN;
}

double tab_ahead_steps(const tab_ahead_view *c, const tab_moment *m)
{
    uint32_t before = tab_history_row(c->h[0], m->series, m->tau);
    return m->pos - (before == TAB_NULL ? m->tau : c->pos[before]);
}

/* The place of a time in the first period; 0 where there is none. */
size_t tab_ahead_place(const double *season, size_t seasons, double pos)
{
    double length = seasons > 0 ? floor(season[0] + 0.5) : 1;
    if (!(length > 1) || length > TAB_AHEAD_PERIOD)
        return 0;
    double at = fmod(pos, length);
    return (size_t)(at < 0 ? at + length : at);
}

/* How errors of the best simple forecast at each place in the period lie beside those of all: a place that
 * no earlier cut judged may be worse to tell. Drawn to 1 in proportion to how few rows say so. */
static bool by_place(tab_ahead_view *c)
{
    double square[TAB_AHEAD_PERIOD] = { 0 }, n[TAB_AHEAD_PERIOD] = { 0 }, all = 0, rows = 0;
    const tab_history *h = c->h[0];
    double length = h->seasons > 0 ? h->season[0] : 0;
    c->place = tab_arena_new_of(c->keep, double, TAB_AHEAD_PERIOD);
    for (size_t i = 0; c->place != NULL && i < c->n; i++) {
        const tab_moment *m = &c->moment[i];
        double off = (c->w->y[m->row] - c->simple[i * c->kinds + c->base]) / c->scale[m->series];
        if (isnan(off) || m->tau - h->pos[h->from[m->series]] < length)
            continue; /* no period lies before it */
        off = fmin(fabs(off), TAB_AHEAD_FAR);
        size_t k = tab_ahead_place(h->season, h->seasons, m->pos);
        square[k] += off * off, n[k]++;
        all += off * off, rows++;
    }
    all = rows > 0 && all > 0 ? all / rows : 1;
    for (size_t k = 0; c->place != NULL && k < TAB_AHEAD_PERIOD; k++)
        c->place[k] = sqrt((square[k] + PLACE_ROWS * all) / ((n[k] + PLACE_ROWS) * all));
    return c->place != NULL;
}

void tab_ahead_simple(tab_ahead_view *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const tab_moment *m = &c->moment[i];
        if (tab_history_read(c->h[0], m->series, m->pos, m->tau, c->simple + i * c->kinds) == 0)
            for (size_t k = 0; k < c->kinds; k++)
                c->simple[i * c->kinds + k] = (double)NAN;
    }
}

/* Simple forecasts of all moments, the best of them, and the scales. */
bool tab_ahead_look_back(tab_ahead_view *c)
{
    size_t all = c->n + c->asked, series = c->w->t->asked->series.n;
    c->kinds = c->h[0]->kinds;
    c->simple = tab_arena_new_of(c->a, double, all * c->kinds + 1);
    c->scale = tab_arena_new_of(c->keep, double, series + 1);
    c->mean = tab_arena_new_of(c->keep, double, series + 1);
    double *unit = tab_arena_new_of(c->a, double, series + 1);
    double *own = tab_arena_new_of(c->a, double, series + 1), best = (double)INFINITY;
    if (tab_arena_full(c->a) || tab_arena_full(c->keep))
        return false;
    variations(c, unit);
    tab_ahead_simple(c, all);
    for (size_t k = 0; k < c->kinds; k++) {
        double loss = scales(c, k, unit, own);
        if (loss < best) {
            best = loss;
            c->base = k;
            memcpy(c->scale, own, (series + 1) * sizeof *own);
        }
    }
    if (!(best < (double)INFINITY))
        memcpy(c->scale, unit, (series + 1) * sizeof *unit);
    return by_place(c);
}

static int by_series_and_time(const void *a, const void *b)
{
    const tab_ahead_error *x = a, *y = b;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return (x->pos > y->pos) - (x->pos < y->pos);
}

/* Whether the mean of the last `run` errors (n, by time) is farther off than that of any run before them. */
static bool last_is_off(const tab_ahead_error *v, size_t n, size_t run)
{
    double sum = 0, most = 0, own = 0;
    if (n < run + OFTEN)
        return false;
    for (size_t i = 0; i < n; i++) {
        sum += v[i].error - (i >= run ? v[i - run].error : 0);
        own = fabs(sum) / (double)run;
        most = i + 1 >= run && i + run < n ? fmax(most, own) : most;
    }
    return own > OFF * most;
}

/* c->moved: the last values of a series were missed as no run of values before them was, so that its level
 * may have moved. v (n): errors at all times. False: memory. */
static bool levels_moved(tab_ahead_view *c, const tab_ahead_error *v, size_t n)
{
    static const size_t runs[] = { 3, 6, 12 };
    size_t series = c->w->t->asked->series.n;
    tab_ahead_error *o = malloc((n + 1) * sizeof *o);
    c->moved = tab_arena_new_of(c->keep, bool, series + 1);
    if (o == NULL || c->moved == NULL) {
        free(o);
        return false;
    }
    memcpy(o, v, n * sizeof *o);
    qsort(o, n, sizeof *o, by_series_and_time);
    for (size_t from = 0, to; from < n; from = to) {
        size_t rows = from; /* the errors of one time are one */
        for (to = from; to < n && o[to].series == o[from].series;) {
            tab_ahead_error own = o[to];
            double count = 0;
            for (own.error = 0; to < n && o[to].series == own.series && !(o[to].pos > own.pos); to++)
                own.error += (o[to].error - own.error) / ++count;
            o[rows++] = own;
        }
        for (size_t k = 0; k < sizeof runs / sizeof *runs; k++)
            c->moved[o[from].series] =
                c->moved[o[from].series] || last_is_off(o + from, rows - from, runs[k]);
    }
    free(o);
    return true;
}

/* Errors of the best simple forecast at all examples that have a period before them: in the
 * unit in which those at the cuts are told. */
bool tab_ahead_past_errors(tab_ahead_view *c, tab_ahead_answers *ret)
{
    const tab_history *h = c->h[0];
    double span = fmax(c->w->most, 1), length = h->seasons > 0 ? h->season[0] : 0;
    ret->past = tab_arena_new_of(c->w->a, tab_ahead_error, c->n + 1);
    uint32_t last = 0, seen = TAB_NULL;
    for (size_t i = 0; ret->past != NULL && i < c->n; i++) {
        const tab_moment *m = &c->moment[i];
        double at = c->scale[m->series] * c->place[tab_ahead_place(h->season, h->seasons, m->pos)];
        double off = (c->w->y[m->row] - c->simple[i * c->kinds + c->base]) / at;
        if (isnan(off) || m->tau - h->pos[h->from[m->series]] < length)
            continue;
        uint32_t origin = (uint32_t)fmin(floor(m->pos / span), 1e9);
        last = origin > last ? origin : last;
        ret->past_rows += seen != m->row; /* a row stands at several distances, one after the other */
        seen = m->row;
        ret->past[ret->pasts++] = (tab_ahead_error){ fmax(-TAB_AHEAD_FAR, fmin(TAB_AHEAD_FAR, off)),
                                                     tab_ahead_steps(c, m),
                                                     m->series,
                                                     origin,
                                                     m->pos,
                                                     m->tau };
    }
    ret->spans = (size_t)last + 1;
    return ret->past != NULL && levels_moved(c, ret->past, ret->pasts);
}
