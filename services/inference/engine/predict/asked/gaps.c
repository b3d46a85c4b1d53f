/* See gaps.h; fitted.c asks, after arrange.h has found rows alike. */
#include "services/inference/engine/predict/asked/gaps.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* FEWEST: rows in gaps that are worth it. FARTHER: how much farther from the next labelled row of its series
 * the asked row in the middle of all is than a labelled one. By hand. */
enum { FEWEST = 3 };
static const double FARTHER = 2.5, MOSTLY = 0.5;

typedef struct {
    uint32_t series;
    int64_t at;
} moment;

static int by_moment(const void *a, const void *b)
{
    const moment *x = a, *y = b;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static bool timed(const tab_series *s, size_t r)
{
    return s->series[r] != TAB_NULL && s->index[r] != INT64_MIN;
}

static double middle(double *v, size_t n)
{
    qsort(v, n, sizeof *v, tab_ascending_double);
    return n > 0 ? v[n / 2] : (double)NAN;
}

/* The labelled moments (n) about a row's: how far the nearer one is, and how many steps lie between both.
 * False: it is not between two. */
static bool between(const moment *known, size_t n, const moment *m, double *near, double *gap)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (by_moment(&known[mid], m) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0 || lo == n || known[lo].series != m->series || known[lo - 1].series != m->series)
        return false;
    *near = (double)(known[lo].at - m->at < m->at - known[lo - 1].at ? known[lo].at - m->at
                                                                     : m->at - known[lo - 1].at);
    *gap = (double)(known[lo].at - known[lo - 1].at - 1);
    return true;
}

/* How long the gaps are that the asked rows lie in, in steps; 0: they lie beside labelled ones. */
static double measure(const tab_asked *asked, size_t rows, moment *known, double *near, double *gap)
{
    const tab_series *s = &asked->series;
    size_t n = 0, in = 0, alike = 0;
    for (size_t r = 0; r < rows; r++)
        if (!asked->open[r] && timed(s, r))
            known[n++] = (moment){ s->series[r], s->index[r] };
    qsort(known, n, sizeof *known, by_moment);
    for (size_t i = 1; i < n; i++)
        if (known[i].series == known[i - 1].series)
            near[in++] = (double)(known[i].at - known[i - 1].at);
    double usual = middle(near, in);
    in = 0;
    for (size_t r = 0; r < rows; r++) {
        if (!asked->open[r] || asked->of[r] != TAB_REGIME_ALIKE)
            continue;
        moment m = { timed(s, r) ? s->series[r] : TAB_NULL, s->index[r] };
        alike++;
        in += timed(s, r) && between(known, n, &m, &near[in], &gap[in]);
    }
    bool far =
        in >= FEWEST && (double)in > MOSTLY * (double)alike && middle(near, in) >= FARTHER * fmax(usual, 1);
    return far ? fmax(1, middle(gap, in)) : 0;
}

bool tab_gaps_places(tab_arena *a, const tab_asked *asked, const tab_data *data, size_t rows, uint64_t seed,
                     float **place, double *steps)
{
    const tab_series *s = &asked->series;
    *place = NULL;
    if (!asked->timed || asked->asked == 0 || asked->asked >= rows)
        return true;
    moment *known = malloc((rows + 1) * sizeof *known);
    double *near = malloc((rows + 1) * sizeof *near), *gap = malloc((rows + 1) * sizeof *gap);
    bool ok = known != NULL && near != NULL && gap != NULL;
    *steps = ok ? measure(asked, rows, known, near, gap) : 0;
    free(known), free(near), free(gap);
    if (!ok || *steps <= 0)
        return ok;
    *place = tab_arena_new_of(a, float, data->rows + 1);
    for (size_t i = 0; *place != NULL && i < data->rows; i++) {
        size_t r = data->row[i];
        uint64_t of = timed(s, r) ? (uint64_t)(int64_t)floor((double)s->index[r] / *steps) : 1u << 31;
        uint64_t who = timed(s, r) ? s->series[r] : (uint64_t)r;
        (*place)[i] = (float)tab_unit(tab_mix2(tab_mix2(of, who), seed ^ 0x9a95));
    }
    return *place != NULL;
}

bool tab_gaps_apart(const tab_engine *e, const tab_profile *p, tab_split want, tab_fitted *f)
{
    float *place = NULL;
    double steps = 0;
    if (want != TAB_SPLIT_AUTO || f->split.kind != TAB_SPLIT_RANDOM || f->problem.unit != NULL)
        return true;
    if (!tab_gaps_places(f->arena, &f->asked, f->data, f->rows, e->seed, &place, &steps))
        return false;
    if (place == NULL)
        return true;
    f->split.place = place;
    f->split.kind = TAB_SPLIT_TIME;
    f->split.column = f->asked.series.times == 1 ? f->asked.series.time[0] : p->table->cols;
    f->split.reason = tab_arena_printf(
        f->arena,
        "rows to predict are in gaps of about %.0f steps in time; the split leaves out stretches of the "
        "same length",
        steps);
    return f->split.reason != NULL;
}
