/* See internal.h. Times that are few beside their range are sorted; all others are counted into buckets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/order.h"
#include "services/inference/engine/profile/cells/parse.h"
#include "services/inference/engine/series/internal.h"

bool tab_ranked_new(tab_arena *a, size_t rows, tab_ranked *ret)
{
    *ret = (tab_ranked){ .when = tab_arena_new_of(a, double, rows + 1),
                         .rank = tab_arena_new_of(a, uint32_t, rows + 1),
                         .order = tab_arena_new_of(a, uint32_t, rows + 1) };
    return !tab_arena_full(a);
}

typedef struct {
    double when;
    uint32_t row;
} stamped;

static int by_when(const void *a, const void *b)
{
    const stamped *x = a, *y = b;
    if (x->when != y->when) // NOLINT: the very time
        return x->when < y->when ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static double divisor(double x, double y)
{
    while (y > 0) {
        double r = fmod(x, y);
        x = y;
        y = r;
    }
    return x;
}

/* lo, hi and the greatest common divisor of whole times; 0 where some is not whole. */
static double spacing(const double *when, size_t rows, double *lo, double *hi)
{
    double g = 0, least = INFINITY, most = -INFINITY;
    bool whole = true;
    for (size_t r = 0; r < rows; r++)
        if (!isnan(when[r]))
            least = fmin(least, when[r]), most = fmax(most, when[r]);
    *lo = least, *hi = most;
    for (size_t r = 0; r < rows && whole; r++) {
        double d = when[r] - least;
        if (isnan(d))
            continue;
        whole = d == trunc(d) && d < 9e15; // NOLINT: whole
        if (g != 1)                        // NOLINT: nothing smaller
            g = g > 0 && d > 0 ? (fmod(d, g) > 0 ? divisor(g, d) : g) : fmax(g, d);
    }
    return whole ? fmax(g, 1) : 0;
}

static bool count_out(size_t rows, tab_ranked *r, double lo, double g, size_t buckets)
{
    uint32_t *at = calloc(buckets + 1, sizeof *at);
    if (at == NULL)
        return false;
    for (size_t i = 0; i < rows; i++)
        if (!isnan(r->when[i]))
            at[(size_t)((r->when[i] - lo) / g)]++;
    uint32_t before = 0;
    for (size_t b = 0; b < buckets; b++) {
        uint32_t n = at[b];
        at[b] = before;
        before += n;
    }
    r->known = before;
    for (size_t i = 0; i < rows; i++)
        if (!isnan(r->when[i]))
            r->order[at[(size_t)((r->when[i] - lo) / g)]++] = (uint32_t)i;
    free(at);
    return true;
}

static bool sort_out(size_t rows, tab_ranked *r)
{
    stamped *t = malloc((rows + 1) * sizeof *t);
    bool sorted = true;
    if (t == NULL)
        return false;
    r->known = 0;
    for (size_t i = 0; i < rows; i++)
        if (!isnan(r->when[i])) {
            sorted = sorted && (r->known == 0 || t[r->known - 1].when <= r->when[i]);
            t[r->known++] = (stamped){ r->when[i], (uint32_t)i };
        }
    if (!sorted)
        qsort(t, r->known, sizeof *t, by_when);
    for (size_t i = 0; i < r->known; i++)
        r->order[i] = t[i].row;
    free(t);
    return true;
}

/* Whether nearly all times are of one day of their months, or of months' ends. */
static bool one_day_a_month(const tab_ranked *r)
{
    size_t at[32] = { 0 }, n = 0, most = 0, late = 0;
    for (size_t i = 0; i < r->known; i++) {
        double when = r->when[r->order[i]];
        int y, m, d;
        if (i > 0 && when == r->when[r->order[i - 1]]) // NOLINT: the very time
            continue;
        tab_civil_from_days((int64_t)floor(when / 86400), &y, &m, &d);
        n++, at[d]++, late += d >= 28;
        most = at[d] > most ? at[d] : most;
        if (n == 64 && 2 * most < n && 2 * late < n)
            return false;
    }
    return (double)most >= 0.95 * (double)n || (double)late >= 0.95 * (double)n;
}

/* The share of neighbouring times that are as far apart as the median; months are one step, 28 days or 31. */
enum { GAPS = 8192 }; /* that are looked at */
static bool even_share(tab_ranked *r, bool calendar)
{
    size_t n = 0, near = 0, step = 1 + r->known / GAPS;
    double *gap = malloc((r->known / step + 2) * sizeof *gap);
    if (gap == NULL)
        return false;
    for (size_t i = 1; i < r->known; i += step) {
        double d = r->when[r->order[i]] - r->when[r->order[i - 1]];
        if (d > 0)
            gap[n++] = d;
    }
    qsort(gap, n, sizeof *gap, tab_ascending_double);
    double middle = n > 0 ? gap[n / 2] : 0;
    double within = calendar && middle > 27.5 * 86400 && one_day_a_month(r) ? 0.1 : 0.02;
    for (size_t i = 0; i < n; i++)
        near += fabs(gap[i] - middle) <= within * middle;
    r->even = n > 0 ? (double)near / (double)n : 0;
    free(gap);
    return true;
}

bool tab_rank_times(size_t rows, bool calendar, tab_ranked *r)
{
    double lo = 0, hi = 0, g = spacing(r->when, rows, &lo, &hi);
    double range = g > 0 && hi >= lo ? (hi - lo) / g : (double)INFINITY;
    bool few = range < 4 * (double)rows + 4096;
    if (!(few ? count_out(rows, r, lo, g, (size_t)range + 1) : sort_out(rows, r)))
        return false;
    r->times = 0;
    for (size_t i = 0; i < rows; i++)
        r->rank[i] = TAB_NULL;
    for (size_t i = 0; i < r->known; i++) {
        bool same = i > 0 && r->when[r->order[i]] == r->when[r->order[i - 1]]; // NOLINT: the very time
        r->times += !same;
        r->rank[r->order[i]] = (uint32_t)r->times - 1;
    }
    return even_share(r, calendar);
}
