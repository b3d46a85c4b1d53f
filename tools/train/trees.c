/* See trees.h: values become codes of at most BINS bins, and a tree is grown level by level from sums of
 * gradients and hessians by node, feature and bin. */
#include "tools/train/trees.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 64 };
static const double RIDGE = 4, LEAST = 3; /* of a leaf: penalty on its value, least sum of hessians */

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Cuts of each feature at even quantiles: cut[f * BINS + k] is the greatest value of bin k. */
static int bin(size_t n, size_t d, size_t stride, const float *x, float *cut, uint8_t *code)
{
    enum { SEEN = 50000 }; /* values that quantiles are taken from */
    size_t step = n / SEEN + 1, seen = (n + step - 1) / step;
    float *sorted = malloc((seen + 1) * sizeof *sorted);
    if (sorted == NULL)
        return -1;
    for (size_t f = 0; f < d; f++) {
        float *c = cut + f * BINS;
        size_t m = 0;
        for (size_t i = 0; i < seen; i++)
            sorted[i] = x[i * step * stride + f];
        qsort(sorted, seen, sizeof *sorted, ascending);
        for (size_t k = 0; k < BINS; k++) {
            float at = sorted[(k + 1) * (seen - 1) / BINS];
            if (m == 0 || at > c[m - 1])
                c[m++] = at;
        }
        for (size_t k = m; k < BINS; k++)
            c[k] = INFINITY;
        for (size_t i = 0; i < n; i++) {
            size_t lo = 0, hi = BINS - 1; /* the first bin whose cut is no less; else the last */
            while (lo < hi) {
                size_t mid = (lo + hi) / 2;
                if (x[i * stride + f] > c[mid])
                    lo = mid + 1;
                else
                    hi = mid;
            }
            code[i * d + f] = (uint8_t)lo;
        }
    }
    free(sorted);
    return 0;
}

typedef struct {
    double g, h;
} moments;

static double score(moments m)
{
    return m.g * m.g / (m.h + RIDGE);
}

/* What growing a tree needs beside its data. */
typedef struct {
    size_t n, d; /* rows that the tree sees, features */
    const uint32_t *row;
    const uint8_t *code; /* (all rows, d) */
    const float *cut;    /* (d, BINS) */
    double *g, *h;       /* (all rows) gradients and hessians */
    uint32_t *node;      /* (n) scratch, as the next */
    moments *table;
} growing;

static void best_split(const growing *w, uint32_t q, const moments *table, tab_tree *t)
{
    moments all = { 0 };
    for (size_t k = 0; k < BINS; k++) {
        all.g += table[k].g;
        all.h += table[k].h;
    }
    double best = 1e-6;
    t->feature[q] = 0;
    t->cut[q] = INFINITY;
    for (size_t f = 0; f < w->d; f++) {
        moments left = { 0 };
        for (size_t k = 0; k + 1 < BINS; k++) {
            const moments *m = &table[f * BINS + k];
            left.g += m->g;
            left.h += m->h;
            moments right = { all.g - left.g, all.h - left.h };
            if (left.h < LEAST || right.h < LEAST || !isfinite(w->cut[f * BINS + k]))
                continue;
            double gain = score(left) + score(right) - score(all);
            if (gain > best) {
                best = gain;
                t->feature[q] = (uint8_t)f;
                t->cut[q] = w->cut[f * BINS + k];
            }
        }
    }
}

static void grow(const growing *w, float rate, tab_tree *t)
{
    memset(w->node, 0, w->n * sizeof *w->node);
    for (uint32_t level = 0; level < TAB_TREE_DEPTH; level++) {
        uint32_t first = (1u << level) - 1, count = 1u << level;
        memset(w->table, 0, (size_t)count * w->d * BINS * sizeof *w->table);
        for (size_t i = 0; i < w->n; i++) {
            const uint8_t *code = w->code + w->row[i] * w->d;
            moments *m = &w->table[(w->node[i] - first) * w->d * BINS];
            double g = w->g[w->row[i]], h = w->h[w->row[i]];
            for (size_t f = 0; f < w->d; f++, m += BINS) {
                m[code[f]].g += g;
                m[code[f]].h += h;
            }
        }
        for (uint32_t q = 0; q < count; q++)
            best_split(w, first + q, w->table + (size_t)q * w->d * BINS, t);
        for (size_t i = 0; i < w->n; i++) {
            uint32_t q = w->node[i];
            size_t f = t->feature[q];
            w->node[i] = 2 * q + 1 + (w->cut[f * BINS + w->code[w->row[i] * w->d + f]] > t->cut[q]);
        }
    }
    moments leaf[TAB_TREE_LEAVES] = { { 0, 0 } };
    for (size_t i = 0; i < w->n; i++) {
        leaf[w->node[i] - TAB_TREE_SPLITS].g += w->g[w->row[i]];
        leaf[w->node[i] - TAB_TREE_SPLITS].h += w->h[w->row[i]];
    }
    for (size_t k = 0; k < TAB_TREE_LEAVES; k++)
        t->leaf[k] = (float)((double)rate * leaf[k].g / (leaf[k].h + RIDGE));
}

/* Rows of tree k's sample. */
static size_t draw(size_t n, size_t k, double sample, uint32_t *row)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u ^ (k + 1) * 0xd6e8feb86659fd93u;
        x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
        x ^= x >> 32;
        if (sample >= 1 || (double)(x >> 11) * 0x1p-53 < sample)
            row[m++] = (uint32_t)i;
    }
    return m;
}

int trees_fit(const trees_data *t, float rate, double sample, size_t trees, float *ret_start, tab_tree *ret)
{
    size_t n = t->n, d = t->d;
    float *cut = malloc(d * BINS * sizeof *cut);
    uint8_t *code = malloc(n * d);
    double *z = malloc(3 * n * sizeof *z), *g = z + n, *h = g + n;
    uint32_t *node = malloc(2 * n * sizeof *node), *row = node + n;
    moments *table = malloc((size_t)(1 << (TAB_TREE_DEPTH - 1)) * d * BINS * sizeof *table);
    int r = cut == NULL || code == NULL || z == NULL || node == NULL || table == NULL ? -1 : 0;
    if (r == 0)
        r = bin(n, d, t->stride, t->x, cut, code);
    if (r == 0) {
        double yes = 1e-9, no = 1e-9;
        for (size_t i = 0; i < n; i++)
            *(t->y[i] ? &yes : &no) += (double)t->w[i];
        *ret_start = (float)log(yes / no);
        for (size_t i = 0; i < n; i++)
            z[i] = (double)*ret_start;
        for (size_t k = 0; k < trees; k++) {
            for (size_t i = 0; i < n; i++) {
                double p = 1 / (1 + exp(-z[i]));
                g[i] = (double)t->w[i] * (t->y[i] - p);
                h[i] = (double)t->w[i] * p * (1 - p);
            }
            growing w = { draw(n, k, sample, row), d, row, code, cut, g, h, node, table };
            grow(&w, rate, &ret[k]);
            for (size_t i = 0; i < n; i++)
                z[i] = tab_trees_add(z[i], &ret[k], 1, t->x + i * t->stride);
        }
    }
    free(cut);
    free(code);
    free(z);
    free(node);
    free(table);
    return r;
}
