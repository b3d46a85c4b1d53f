/* One origin of one series: all members' paths. */
#include <assert.h>
#include <math.h>

#include "services/inference/engine/forecast/parts.h"

enum {
    WINDOW = 600,
    CYCLES = 8
}; /* smoothing reads the last WINDOW values, or CYCLES of the longest period */

typedef struct {
    tab_arena *a;
    const double *y;
    size_t n, horizon, periods;
    const size_t *period;
    bool positive;
} origin;

/* One way to take the season off: z = y - season or y / factor. */
typedef struct {
    double *z, *season, *weight;
    bool times;
} view;

static bool view_make(const origin *o, bool times, view *v)
{
    size_t all = o->n + o->horizon;
    *v = (view){ .z = tab_arena_new_of(o->a, double, o->n),
                 .season = tab_arena_new_of(o->a, double, all),
                 .weight = times ? tab_arena_new_of(o->a, double, o->n) : NULL,
                 .times = times };
    if (tab_arena_full(o->a))
        return false;
    memcpy(v->z, o->y, o->n * sizeof *v->z);
    if (times)
        for (size_t t = 0; t < o->n; t++)
            v->z[t] = log(o->y[t]);
    if (!tab_season_estimate(o->a, v->z, o->n, o->period, o->periods, o->horizon, v->season))
        return false;
    for (size_t t = 0; t < all; t++)
        if (times)
            v->season[t] = exp(v->season[t]);
    for (size_t t = 0; t < o->n; t++) {
        v->z[t] = times ? o->y[t] / v->season[t] : o->y[t] - v->season[t];
        if (times)
            v->weight[t] = v->season[t] * v->season[t];
    }
    return true;
}

static void put_back(const origin *o, const view *v, double *path)
{
    for (size_t h = 0; h < o->horizon; h++)
        path[h] = v->times ? path[h] * v->season[o->n + h] : path[h] + v->season[o->n + h];
}

/* Adds the second view's path by how likely it is beside the first's. */
static void blend(size_t n, size_t horizon, double *path, double error, const double *other, double rival)
{
    double share = error > 0 && rival > 0 ? 1 / (1 + exp(fmin(50, 0.5 * (double)n * log(rival / error))))
                                          : rival < error;
    for (size_t h = 0; h < horizon; h++)
        path[h] += share * (other[h] - path[h]);
}

static const tab_member smoothed[TAB_SMOOTH_KINDS] = { TAB_MEMBER_SES, TAB_MEMBER_THETA, TAB_MEMBER_DAMPED,
                                                       TAB_MEMBER_TREND };

/* What one view says by every kind of smoothing and by autoregression: paths (TAB_MEMBERS, horizon). */
static bool view_paths(const origin *o, const view *v, double *path, double error[TAB_MEMBERS],
                       tab_response *r)
{
    size_t h = o->horizon, m = o->periods > 0 ? o->period[o->periods - 1] : 1;
    double *p = tab_arena_new_of(o->a, double, TAB_SMOOTH_KINDS *h), e[TAB_SMOOTH_KINDS];
    double *state = tab_arena_new_of(o->a, double, m *TAB_SEASON_STATES);
    if (p == NULL || state == NULL)
        return false;
    tab_smooth_view s = { .z = v->z, .weight = v->weight, .n = o->n, .horizon = h };
    tab_smooth(&s, p, e, r);
    for (size_t k = 0; k < TAB_SMOOTH_KINDS; k++) {
        memcpy(path + smoothed[k] * h, p + k * h, h * sizeof *path);
        error[smoothed[k]] = e[k];
    }
    if (o->periods > 0)
        error[TAB_MEMBER_WINTERS] = tab_smooth_season(&s, m, state, path + TAB_MEMBER_WINTERS * h);
    else {
        memcpy(path + TAB_MEMBER_WINTERS * h, path + TAB_MEMBER_THETA * h, h * sizeof *path);
        error[TAB_MEMBER_WINTERS] = error[TAB_MEMBER_THETA];
    }
    if (!tab_autoregress(o->a, v->z, o->n, o->period, o->periods, h, path + TAB_MEMBER_AR * h,
                         &error[TAB_MEMBER_AR]))
        return false;
    for (size_t k = TAB_MEMBER_SES; k <= TAB_MEMBER_AR; k++)
        put_back(o, v, path + k * h);
    return true;
}

/* After how many steps the whole pattern is back: the longer period where it holds the shorter one; else, as
 * of weeks in a year, the shorter one, which is known better. */
static size_t whole_period(const origin *o)
{
    if (o->periods == 0)
        return 1;
    return o->periods > 1 && o->period[1] % o->period[0] == 0 ? o->period[1] : o->period[0];
}

/* The last value of the phase, or the last one. */
static void last_path(const origin *o, double *path)
{
    size_t m = whole_period(o);
    for (size_t h = 0; h < o->horizon; h++)
        path[h] = o->y[o->n - m + h % m];
}

/* The mean of the last seasons at this phase, or of the last values. */
static void mean_path(const origin *o, double *path)
{
    size_t m = whole_period(o);
    size_t most = o->periods > 0 ? 4 : o->n / 2 > 12 ? o->n / 2 : 12, times = o->n / m;
    times = times > most ? most : times;
    for (size_t h = 0; h < o->horizon; h++) {
        path[h] = 0;
        for (size_t k = 1; k <= times; k++)
            path[h] += o->y[o->n - k * m + h % m] / (double)times;
    }
}

/* Damped trend of the logarithm, with the season of the logarithm. */
static bool growth_path(const origin *o, double *path)
{
    size_t all = o->n + o->horizon;
    double *z = tab_arena_new_of(o->a, double, o->n), *season = tab_arena_new_of(o->a, double, all);
    double *p = tab_arena_new_of(o->a, double, TAB_SMOOTH_KINDS * o->horizon), e[TAB_SMOOTH_KINDS];
    if (z == NULL || season == NULL || p == NULL)
        return false;
    for (size_t t = 0; t < o->n; t++)
        z[t] = log(o->y[t]);
    if (!tab_season_estimate(o->a, z, o->n, o->period, o->periods, o->horizon, season))
        return false;
    for (size_t t = 0; t < o->n; t++)
        z[t] -= season[t];
    tab_response r;
    tab_smooth(&(tab_smooth_view){ .z = z, .n = o->n, .horizon = o->horizon }, p, e, &r);
    for (size_t h = 0; h < o->horizon; h++)
        path[h] = exp(p[TAB_SMOOTH_DAMPED * o->horizon + h] + season[o->n + h]);
    return true;
}

/* Folded at the shortest period: cycles end at the origin, so many values before them are left out. */
typedef struct {
    size_t m, cycles, start;
    size_t kinds;  /* cycles in the longer period: the days of a week; 1: none */
    double *level; /* (cycles + ahead) mean of each */
    double *shape; /* (kinds, m) a cycle beside its level: times it where all is positive, else added */
} folded;

/* The shape of each kind is that of its last three cycles. */
static void fold_shapes(const origin *o, folded *f)
{
    for (size_t kind = 0; kind < f->kinds; kind++) {
        double *shape = f->shape + kind * f->m, total = 0, kept = 0;
        for (size_t c = f->cycles; c-- > 0 && kept < 3;) {
            if (c % f->kinds != kind)
                continue;
            const double *y = o->y + f->start + c * f->m;
            kept++;
            total += f->level[c];
            for (size_t p = 0; p < f->m; p++)
                shape[p] += o->positive ? y[p] : y[p] - f->level[c];
        }
        for (size_t p = 0; p < f->m; p++)
            shape[p] /= o->positive ? total : kept;
    }
}

/* Level of a cycle times the shape within it. */
static bool fold_path(const origin *o, double *path)
{
    folded f = { .m = o->period[0], .cycles = o->n / o->period[0], .kinds = 1 };
    size_t ahead = (o->horizon + f.m - 1) / f.m;
    f.start = o->n - f.cycles * f.m;
    if (o->periods > 1 && o->period[1] % f.m == 0 && o->n >= 3 * o->period[1])
        f.kinds = o->period[1] / f.m;
    f.level = tab_arena_new_of(o->a, double, f.cycles + ahead);
    f.shape = tab_arena_new_of(o->a, double, f.kinds *f.m);
    if (f.level == NULL || f.shape == NULL)
        return false;
    for (size_t c = 0; c < f.cycles; c++)
        for (size_t p = 0; p < f.m; p++)
            f.level[c] += o->y[f.start + c * f.m + p] / (double)f.m;
    fold_shapes(o, &f);
    double error;
    if (!tab_autoregress(o->a, f.level, f.cycles, &f.kinds, f.kinds > 1, ahead, f.level + f.cycles, &error))
        return false;
    for (size_t h = 0; h < o->horizon; h++) {
        size_t c = f.cycles + h / f.m;
        double shape = f.shape[c % f.kinds * f.m + h % f.m];
        path[h] = o->positive ? f.level[c] * shape : f.level[c] + shape;
    }
    return true;
}

/* A member's path leaves what the series has shown by a quarter of its range and as much again as its length
 * ahead may bring, no farther. */
static void hold(const origin *o, double *path)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t t = 0; t < o->n; t++) {
        low = fmin(low, o->y[t]);
        high = fmax(high, o->y[t]);
    }
    double range = high - low;
    for (size_t h = 0; h < o->horizon; h++) {
        double room = range * (.25 + 2.5 * (double)(h + 1) / (double)o->n);
        double p = isfinite(path[h]) ? path[h] : o->y[o->n - 1];
        p = fmax(low - room, fmin(high + room, p));
        path[h] = low >= 0 ? fmax(p, 0) : p;
    }
}

/* Errors k steps ahead are one-step errors and what each has left in level and trend (Hyndman et al. 2008,
 * 6.3). */
static void spread_of(const tab_response *r, size_t horizon, double *spread)
{
    double sum = 1, left = r->level, step = r->trend;
    for (size_t h = 0; h < horizon; h++) {
        spread[h] = sqrt(sum);
        step *= r->damp;
        left += step;
        sum += left * left;
    }
}

static double noise_of(const origin *o, double error)
{
    double size = 0;
    for (size_t t = 0; t < o->n; t++)
        size += fabs(o->y[t]) / (double)o->n;
    return fmax(sqrt(error), fmax(1e-9 * size, 1e-12));
}

bool tab_outlook_make(tab_arena *a, const double *y, size_t n, const size_t *period, size_t periods,
                      size_t horizon, tab_outlook *ret)
{
    assert(n > 0 && horizon > 0);
    while (periods > 0 && n < 2 * period[periods - 1])
        periods--;
    size_t most = periods > 0 ? CYCLES * period[periods - 1] : 0;
    most = most > WINDOW ? most : WINDOW;
    origin o = { a, y, n, horizon, periods, period, true };
    if (n > most) {
        o.y = y + (n - most);
        o.n = most;
    }
    for (size_t t = 0; t < o.n; t++)
        o.positive &= o.y[t] > 0;
    double *path = tab_arena_new_of(a, double, TAB_MEMBERS *horizon), error[TAB_MEMBERS];
    double *other = tab_arena_new_of(a, double, TAB_MEMBERS *horizon), rival[TAB_MEMBERS];
    if (path == NULL || other == NULL)
        return false;
    view plus, times;
    tab_response response, another;
    double *spread = tab_arena_new_of(a, double, horizon);
    if (!view_make(&o, false, &plus) || !view_paths(&o, &plus, path, error, &response))
        return false;
    double least = fmin(error[TAB_MEMBER_SES], fmin(error[TAB_MEMBER_DAMPED], error[TAB_MEMBER_WINTERS]));
    if (o.positive && periods > 0) {
        if (!view_make(&o, true, &times) || !view_paths(&o, &times, other, rival, &another))
            return false;
        for (size_t k = TAB_MEMBER_SES; k < TAB_MEMBER_AR; k++)
            blend(o.n, horizon, path + k * horizon, error[k], other + k * horizon, rival[k]);
        double *ar = path + TAB_MEMBER_AR * horizon;
        blend(o.n, horizon, ar, error[TAB_MEMBER_DAMPED], other + TAB_MEMBER_AR * horizon,
              rival[TAB_MEMBER_DAMPED]);
        least = fmin(least, fmin(rival[TAB_MEMBER_SES], rival[TAB_MEMBER_DAMPED]));
    }
    last_path(&o, path + TAB_MEMBER_LAST * horizon);
    mean_path(&o, path + TAB_MEMBER_MEAN * horizon);
    double *damped = path + TAB_MEMBER_DAMPED * horizon, *growth = path + TAB_MEMBER_GROWTH * horizon;
    memcpy(growth, damped, horizon * sizeof *growth);
    if (o.positive && !growth_path(&o, growth))
        return false;
    double *fold = path + TAB_MEMBER_FOLD * horizon;
    memcpy(fold, path + TAB_MEMBER_THETA * horizon, horizon * sizeof *fold);
    if (periods > 0 && o.n >= 3 * period[0] && !fold_path(&o, fold))
        return false;
    for (size_t k = 0; k < TAB_MEMBERS; k++)
        hold(&o, path + k * horizon);
    if (spread == NULL)
        return false;
    spread_of(&response, horizon, spread);
    for (size_t h = 0; h < horizon; h++)
        assert(!(spread[h] < (h > 0 ? spread[h - 1] : 1))); /* NaN: what came overflows a double */
    *ret = (tab_outlook){ .path = path, .spread = spread, .noise = noise_of(&o, least) };
    return !tab_arena_full(a);
}
