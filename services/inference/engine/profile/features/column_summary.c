/* See column_summary.h and decision 0060: the sample from which a column's features are computed. profile.c
 * calls tab_summarize once a column. The cost is one hash a distinct value, and the sample's size does not
 * grow with the column. */
#include "services/inference/engine/profile/features/column_summary.h"

#include <assert.h>
#include <math.h>

/* A max-heap of the smallest hashes seen, so that one pass keeps the sample whatever the column's size. */
typedef struct {
    uint64_t hash;
    uint32_t level;
} entry;

/* Restores the heap below entry i. */
static void sift_down(entry *h, size_t n, size_t i)
{
    for (;;) {
        size_t big = i, l = 2 * i + 1, r = l + 1;
        if (l < n && h[l].hash > h[big].hash)
            big = l;
        if (r < n && h[r].hash > h[big].hash)
            big = r;
        if (big == i)
            return;
        entry t = h[i];
        h[i] = h[big];
        h[big] = t;
        i = big;
    }
}

/* Keeps e where it is among the TAB_SAMPLE smallest hashes seen. */
static void push(entry *h, size_t *n, entry e)
{
    if (*n < TAB_SAMPLE) {
        size_t i = (*n)++;
        h[i] = e;
        /* sift up: a parent is at least as great as its children */
        while (i > 0 && h[(i - 1) / 2].hash < h[i].hash) {
            entry t = h[i];
            h[i] = h[(i - 1) / 2];
            h[(i - 1) / 2] = t;
            i = (i - 1) / 2;
        }
    } else if (e.hash < h[0].hash) {
        /* the greatest of the kept hashes, at the root, gives way */
        h[0] = e;
        sift_down(h, *n, 0);
    }
}

/* Heap sort: the heap's entries in rising order of their hashes. The result does not depend on the order in
 * which the values came, as two values with one hash are practically excluded. */
static void drain(entry *h, size_t n)
{
    while (n > 1) {
        entry t = h[0];
        h[0] = h[--n];
        h[n] = t;
        sift_down(h, n, 0);
    }
}

/* Plain counts over the rows in their order: moments, range, and how neighbouring rows differ. */
static void walk_numbers(const tab_reading *r, tab_summary *s)
{
    double before = (double)NAN;
    for (size_t i = 0; i < r->rows; i++) {
        double x;
        if (r->column->layout == TAB_NUMBERS)
            x = r->column->num[i];
        else
            x = r->num == NULL || r->code[i] == TAB_NULL ? (double)NAN : r->num[r->code[i]];
        if (isnan(x))
            continue;
        /* The first number has no neighbour before it. A row without a number is skipped, so the neighbours
         * of a gap are compared with each other. */
        if (s->numbers == 0) {
            s->min = s->max = x;
        } else {
            s->up += x > before;
            s->down += x < before;
            s->same += x == before;
            s->unit_steps += x - before == 1;
            s->steps_squared += (x - before) * (x - before);
        }
        s->numbers++;
        s->integers += x == floor(x);
        s->sum += x;
        s->sum_squares += x * x;
        s->min = fmin(s->min, x);
        s->max = fmax(s->max, x);
        before = x;
    }
}

/* The seed 1 keeps the sample's hashes apart from those of other uses. */
bool tab_summarize(tab_reading *r, tab_summary *ret)
{
    tab_summary s = { .rows = r->rows, .nulls = r->nulls };
    entry heap[TAB_SAMPLE];
    size_t n = 0;
    if (!tab_read_levels(r))
        return false;
    for (size_t k = 0; k < r->levels; k++) {
        s.bytes += r->level[k].n * r->count[k];
        push(heap, &n, (entry){ tab_wyhash(r->level[k].p, r->level[k].n, 1), (uint32_t)k });
    }
    drain(heap, n);
    s.n = n;
    /* Nothing was left out: what is counted over the sample is exact. */
    s.whole = n == r->levels;
    s.value = tab_arena_new_of(r->arena, tab_sampled, n);
    if (s.value == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        assert(i == 0 || heap[i - 1].hash <= heap[i].hash); /* what is known of n is read off the last */
        tab_str t = r->level[heap[i].level];
        if (t.n > TAB_SAMPLE_BYTES)
            t.n = TAB_SAMPLE_BYTES;
        s.value[i] = (tab_sampled){ heap[i].hash, r->count[heap[i].level], t };
    }
    walk_numbers(r, &s);
    assert(s.n <= TAB_SAMPLE && s.integers <= s.numbers && s.numbers <= s.rows);
    assert(s.numbers == 0 || s.up + s.down + s.same + 1 == s.numbers);
    *ret = s;
    return true;
}

/* The k-th smallest of D uniform hashes lies near k / D: with the largest kept hash h in 0..1, D is about
 * (k - 1) / h, which is unbiased (Bar-Yossef et al. 2002; Beyer et al. 2007). */
double tab_summary_distinct(const tab_summary *s)
{
    if (s->whole || s->n < 2)
        return (double)s->n;
    return (double)(s->n - 1) / ((double)s->value[s->n - 1].hash / 0x1p64);
}
