/* See trees.h: values become codes of at most BINS bins, and a tree is grown level by level from sums of
 * gradients and hessians by node, feature and bin. */
#include "tools/train/keys/trees.h"

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
    float *sorted = malloc(n * sizeof *sorted);
    if (sorted == NULL)
        return -1;
    for (size_t f = 0; f < d; f++) {
        float *c = cut + f * BINS;
        size_t m = 0;
        for (size_t i = 0; i < n; i++)
            sorted[i] = x[i * stride + f];
        qsort(sorted, n, sizeof *sorted, ascending);
        for (size_t k = 0; k < BINS; k++) {
            float at = sorted[(k + 1) * (n - 1) / BINS];
            if (m == 0 || at > c[m - 1])
                c[m++] = at;
        }
        for (size_t k = m; k < BINS; k++)
            c[k] = INFINITY;
        for (size_t i = 0; i < n; i++) {
            uint8_t k = 0;
            while (k + 1 < BINS && x[i * stride + f] > c[k])
                k++;
            code[i * d + f] = k;
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

/* One tree on gradients g and hessians h. node (n) is scratch. */
static void grow(size_t n, size_t d, const uint8_t *code, const float *cut, const double *g, const double *h,
                 float rate, uint32_t *node, moments *table, tab_key_tree *t)
{
    memset(node, 0, n * sizeof *node);
    for (uint32_t level = 0; level < TAB_KEY_DEPTH; level++) {
        uint32_t first = (1u << level) - 1, count = 1u << level;
        memset(table, 0, (size_t)count * d * BINS * sizeof *table);
        for (size_t i = 0; i < n; i++)
            for (size_t f = 0; f < d; f++) {
                moments *m = &table[((node[i] - first) * d + f) * BINS + code[i * d + f]];
                m->g += g[i];
                m->h += h[i];
            }
        for (uint32_t q = 0; q < count; q++) {
            moments all = { 0 };
            for (size_t k = 0; k < BINS; k++) {
                all.g += table[(size_t)q * d * BINS + k].g;
                all.h += table[(size_t)q * d * BINS + k].h;
            }
            double best = 1e-6;
            t->feature[first + q] = 0;
            t->cut[first + q] = INFINITY;
            for (size_t f = 0; f < d; f++) {
                moments left = { 0 };
                for (size_t k = 0; k + 1 < BINS; k++) {
                    const moments *m = &table[((size_t)q * d + f) * BINS + k];
                    left.g += m->g;
                    left.h += m->h;
                    moments right = { all.g - left.g, all.h - left.h };
                    if (left.h < LEAST || right.h < LEAST || !isfinite(cut[f * BINS + k]))
                        continue;
                    double gain = score(left) + score(right) - score(all);
                    if (gain > best) {
                        best = gain;
                        t->feature[first + q] = (uint8_t)f;
                        t->cut[first + q] = cut[f * BINS + k];
                    }
                }
            }
        }
        for (size_t i = 0; i < n; i++) {
            uint32_t q = node[i];
            size_t f = t->feature[q];
            node[i] = 2 * q + 1 + (cut[f * BINS + code[i * d + f]] > t->cut[q]);
        }
    }
    moments leaf[TAB_KEY_LEAVES] = { { 0, 0 } };
    for (size_t i = 0; i < n; i++) {
        leaf[node[i] - TAB_KEY_SPLITS].g += g[i];
        leaf[node[i] - TAB_KEY_SPLITS].h += h[i];
    }
    for (size_t k = 0; k < TAB_KEY_LEAVES; k++)
        t->leaf[k] = (float)((double)rate * leaf[k].g / (leaf[k].h + RIDGE));
}

int trees_fit(size_t n, size_t d, size_t stride, const float *x, const uint8_t *y, const float *w, float rate,
              tab_key_stage *ret)
{
    float *cut = malloc(d * BINS * sizeof *cut);
    uint8_t *code = malloc(n * d);
    double *z = malloc(3 * n * sizeof *z), *g = z + n, *h = g + n;
    uint32_t *node = malloc(n * sizeof *node);
    moments *table = malloc((size_t)(1 << (TAB_KEY_DEPTH - 1)) * d * BINS * sizeof *table);
    int r = cut == NULL || code == NULL || z == NULL || node == NULL || table == NULL ? -1 : 0;
    if (r == 0)
        r = bin(n, d, stride, x, cut, code);
    if (r == 0) {
        double yes = 1e-9, no = 1e-9;
        for (size_t i = 0; i < n; i++)
            *(y[i] ? &yes : &no) += (double)w[i];
        ret->start = (float)log(yes / no);
        for (size_t i = 0; i < n; i++)
            z[i] = (double)ret->start;
        for (size_t k = 0; k < TAB_KEY_TREES; k++) {
            for (size_t i = 0; i < n; i++) {
                double p = 1 / (1 + exp(-z[i]));
                g[i] = (double)w[i] * (y[i] - p);
                h[i] = (double)w[i] * p * (1 - p);
            }
            grow(n, d, code, cut, g, h, rate, node, table, &ret->tree[k]);
            for (size_t i = 0; i < n; i++)
                z[i] += (double)ret->tree[k].leaf[node[i] - TAB_KEY_SPLITS];
        }
    }
    free(cut);
    free(code);
    free(z);
    free(node);
    free(table);
    return r;
}
