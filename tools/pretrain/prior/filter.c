/* Is there anything to learn? Sixteen small extra trees (Geurts et al. 2006: random columns, random cuts, the
 * best of a few by impurity), each on a bootstrap of at most 256 rows, vote on the rows they have not seen.
 * The task passes when their squared error is below that of the class shares (the mean) with a one-sided
 * paired z-test at 5 %, and when no single column gives the class away. */
#include "tools/pretrain/prior/internal.h"

#include <string.h>

enum { SAMPLE = 256, TREES = 16, DEPTH = 5, NODES = 1 << DEPTH };

/* Impurity left by a split: -(sum over classes count^2 / n) of both sides (Gini), or for numbers
 * -(sum^2 / n) (variance); smaller is better. */
typedef struct {
    double sum[2][TAB_PRIOR_CLASSES];
    int n[2];
} split;

static double left_over(const split *q, int k)
{
    double s = 0.0;
    for (int side = 0; side < 2; side++)
        for (int c = 0; c < k && q->n[side] > 0; c++)
            s -= q->sum[side][c] * q->sum[side][c] / q->n[side];
    return s;
}

bool tab_prior_learnable(tab_prior *p, tab_rand *r, const tab_prior_shape *s, const float *y, int classes)
{
    int n = s->rows < SAMPLE ? s->rows : SAMPLE, k = s->regression ? 1 : classes, row[SAMPLE], seen[SAMPLE];
    float vote[SAMPLE][TAB_PRIOR_CLASSES] = { 0 }, mean[TAB_PRIOR_CLASSES] = { 0 };
    for (int i = 0; i < n; i++) { /* evenly over the table: context and queries alike */
        row[i] = (int)((long)i * s->rows / n);
        if (s->regression)
            mean[0] += y[row[i]] / (float)n;
        else
            mean[(int)y[row[i]]] += 1.0f / (float)n;
    }
    memset(seen, 0, sizeof seen);
    int tries = 2;
    while (tries * tries < s->cols)
        tries++;
    for (int t = 0; t < TREES; t++) {
        int bag[SAMPLE], node[SAMPLE], left[SAMPLE] = { 0 };
        for (int i = 0; i < n; i++) {
            bag[i] = rnd_int(r, n);
            left[bag[i]] = 1;
            node[i] = 0;
        }
        int column[2 * NODES];
        float cut[2 * NODES];
        /* Level by level; a node of the complete tree of depth DEPTH holds one random-best split. */
        for (int level = 0, base = 0; level < DEPTH; base += 1 << level, level++) {
            for (int q = 0; q < 1 << level; q++) {
                int member[SAMPLE], have = 0, at = base + q;
                for (int i = 0; i < n; i++)
                    if (node[i] == q)
                        member[have++] = row[bag[i]];
                column[at] = -1;
                double best = 0.0;
                for (int a = 0; a < tries && have > 3; a++) {
                    int c = rnd_int(r, s->cols);
                    const float *v = p->table + (size_t)c * (size_t)s->rows;
                    float at_cut = v[member[rnd_int(r, have)]];
                    if (!(at_cut == at_cut))
                        continue;
                    split z = { 0 };
                    for (int i = 0; i < have; i++) {
                        int side = v[member[i]] > at_cut; /* missing goes low */
                        float yi = y[member[i]];
                        z.n[side]++;
                        if (s->regression)
                            z.sum[side][0] += (double)yi;
                        else
                            z.sum[side][(int)yi] += 1.0;
                    }
                    double score = left_over(&z, k);
                    if (z.n[0] > 0 && z.n[1] > 0 && (column[at] < 0 || score < best)) {
                        best = score;
                        column[at] = c;
                        cut[at] = at_cut;
                    }
                }
            }
            for (int i = 0; i < n; i++) {
                int at = base + node[i], c = column[at];
                node[i] = 2 * node[i] +
                          (c >= 0 && p->table[(size_t)c * (size_t)s->rows + (size_t)row[bag[i]]] > cut[at]);
            }
        }
        float leaf[NODES][TAB_PRIOR_CLASSES] = { 0 }, weight[NODES] = { 0 };
        for (int i = 0; i < n; i++) {
            weight[node[i]] += 1.0f;
            if (s->regression)
                leaf[node[i]][0] += y[row[bag[i]]];
            else
                leaf[node[i]][(int)y[row[bag[i]]]] += 1.0f;
        }
        for (int i = 0; i < n; i++) {
            if (left[i])
                continue;
            int q = 0;
            for (int level = 0, base = 0; level < DEPTH; base += 1 << level, level++) {
                int c = column[base + q];
                q = 2 * q +
                    (c >= 0 && p->table[(size_t)c * (size_t)s->rows + (size_t)row[i]] > cut[base + q]);
            }
            seen[i]++;
            for (int c = 0; c < k; c++) /* two pseudo-rows of the prior */
                vote[i][c] += (leaf[q][c] + 2.0f * mean[c]) / (weight[q] + 2.0f);
        }
    }
    double sum = 0.0, sq = 0.0;
    int m = 0;
    for (int i = 0; i < n; i++) {
        if (seen[i] == 0)
            continue;
        double gain = 0.0;
        for (int c = 0; c < k; c++) {
            double truth = s->regression ? (double)y[row[i]] : (int)y[row[i]] == c;
            double e0 = (double)mean[c] - truth, e1 = (double)(vote[i][c] / (float)seen[i]) - truth;
            gain += e0 * e0 - e1 * e1;
        }
        sum += gain;
        sq += gain * gain;
        m++;
    }
    if (m < 16)
        return false;
    double average = sum / m, variance = sq / m - average * average;
    if (average <= 1.645 * sqrt(variance / m) + 1e-9)
        return false;
    if (s->regression || classes != 2)
        return true;
    /* One cut of one column that tells the two classes apart on the sample: nothing to learn from it. */
    for (int c = 0; c < s->cols; c++) {
        const float *v = p->table + (size_t)c * (size_t)s->rows;
        float top[2] = { -INFINITY, -INFINITY }, low[2] = { INFINITY, INFINITY };
        for (int i = 0; i < n; i++) {
            int q = (int)y[row[i]];
            float w = v[row[i]] == v[row[i]] ? v[row[i]] : -1e30f;
            top[q] = fmaxf(top[q], w);
            low[q] = fminf(low[q], w);
        }
        if (top[0] < low[1] || top[1] < low[0])
            return false;
    }
    return true;
}
