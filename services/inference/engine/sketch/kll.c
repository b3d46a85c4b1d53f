#include "services/inference/engine/sketch/kll.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/order.h"

/* A level is never so small that sorting it costs more in calls than in comparisons. */
enum { LEAST = 32 };

void tab_kll_init(tab_kll *s, size_t k)
{
    assert(k <= TAB_KLL_MOST);
    *s = (tab_kll){ .k = k, .levels = 1, .coin = 0x9E3779B97F4A7C15u };
}

void tab_kll_free(tab_kll *s)
{
    for (size_t h = 0; h < TAB_KLL_LEVELS; h++)
        free(s->item[h]);
}

/* k at the top, two thirds of the level above below it. */
static size_t capacity(const tab_kll *s, size_t h)
{
    size_t c = s->k;
    for (size_t i = h + 1; i < s->levels && c > LEAST; i++)
        c = c * 2 / 3;
    return c > LEAST ? c : LEAST;
}

/* A level holds less than its capacity and half of the level below: less than twice the greatest. */
static bool room(tab_kll *s, size_t h)
{
    if (s->item[h] == NULL)
        s->item[h] = malloc(2 * (s->k + LEAST) * sizeof *s->item[h]);
    return s->item[h] != NULL;
}

static size_t coin(tab_kll *s)
{
    s->coin ^= s->coin << 13;
    s->coin ^= s->coin >> 7;
    s->coin ^= s->coin << 17;
    return (size_t)(s->coin >> 33) & 1;
}

/* Sorts at most 2 k + 2 LEAST numbers. Most come in runs that are in order; qsort of the C library took twice
 * the time of all the rest of a pass over a column. */
static void sort(double *x, size_t n)
{
    enum { RUN = 16 };
    double spare[2 * (TAB_KLL_MOST + LEAST)], *from = x, *to = spare;
    for (size_t a = 0; a < n; a += RUN)
        for (size_t i = a + 1; i < n && i < a + RUN; i++) {
            double y = x[i];
            size_t k = i;
            for (; k > a && x[k - 1] > y; k--)
                x[k] = x[k - 1];
            x[k] = y;
        }
    for (size_t run = RUN; run < n; run *= 2) {
        for (size_t a = 0; a < n; a += 2 * run) {
            size_t mid = a + run < n ? a + run : n, end = a + 2 * run < n ? a + 2 * run : n, i = a, j = mid;
            for (size_t k = a; k < end; k++)
                to[k] = j == end || (i < mid && from[i] <= from[j]) ? from[i++] : from[j++];
        }
        double *other = from;
        from = to;
        to = other;
    }
    if (from != x)
        memcpy(x, from, n * sizeof *x);
}

static bool compact(tab_kll *s, size_t h)
{
    for (; h + 1 < TAB_KLL_LEVELS && s->n[h] >= capacity(s, h); h++) {
        double *x = s->item[h];
        if (!room(s, h + 1))
            return false;
        s->levels = h + 2 > s->levels ? h + 2 : s->levels;
        sort(x, s->n[h]);
        size_t pairs = s->n[h] / 2, odd = s->n[h] % 2;
        for (size_t i = 0, at = coin(s); i < pairs; i++)
            s->item[h + 1][s->n[h + 1]++] = x[2 * i + at];
        x[0] = x[s->n[h] - 1];
        s->n[h] = odd;
    }
    return true;
}

bool tab_kll_add(tab_kll *s, double x)
{
    if (!room(s, 0))
        return false;
    s->least = s->count == 0 || x < s->least ? x : s->least;
    s->most = s->count == 0 || x > s->most ? x : s->most;
    s->count++;
    s->item[0][s->n[0]++] = x;
    return s->n[0] < LEAST || compact(s, 0);
}

bool tab_kll_level(tab_kll *s, size_t h, const char *items, size_t n)
{
    if (h >= TAB_KLL_LEVELS || n >= 2 * (s->k + LEAST) || !room(s, h))
        return false;
    memcpy(s->item[h], items, n * sizeof *s->item[h]);
    s->n[h] = n;
    return true;
}

static int by_value(const void *x, const void *y)
{
    return tab_ascending_double(&((const tab_kll_item *)x)->x, &((const tab_kll_item *)y)->x);
}

tab_kll_item *tab_kll_items(const tab_kll *s, size_t *ret_n)
{
    size_t n = 0, at = 0;
    for (size_t h = 0; h < s->levels; h++)
        n += s->n[h];
    tab_kll_item *all = malloc((n + 1) * sizeof *all);
    for (size_t h = 0; all != NULL && h < s->levels; h++)
        for (size_t i = 0; i < s->n[h]; i++)
            all[at++] = (tab_kll_item){ s->item[h][i], (uint64_t)1 << h };
    if (all != NULL)
        qsort(all, n, sizeof *all, by_value);
    *ret_n = n;
    return all;
}
