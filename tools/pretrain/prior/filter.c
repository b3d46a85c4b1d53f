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

/* The sample that trees are grown on and judged by. */
typedef struct {
    const tab_prior *p;
    const tab_prior_shape *s;
    const float *y;
    int n, k;                              /* rows of the sample; classes, or 1 for numbers */
    int tries;                             /* columns tried a split */
    int row[SAMPLE];                       /* (n) where they stand in the table */
    float mean[TAB_PRIOR_CLASSES];         /* (k) class shares, or the mean */
    int seen[SAMPLE];                      /* (n) trees that had not the row in their bag */
    float vote[SAMPLE][TAB_PRIOR_CLASSES]; /* (n, k) the sum of their answers */
} sample;

/* A complete tree of depth DEPTH, level by level; column -1: no split, all go left. */
typedef struct {
    int column[2 * NODES];
    float cut[2 * NODES];
} tree;

static float value_of(const sample *a, int column, int row)
{
    return a->p->table[(size_t)column * (size_t)a->s->rows + (size_t)row];
}

/* The child of node q of a level that begins at `base`, for a row of the table. */
static int child(const sample *a, const tree *t, int base, int q, int row)
{
    int c = t->column[base + q];
    return 2 * q + (c >= 0 && value_of(a, c, row) > t->cut[base + q]);
}

/* The best of a few random cuts of random columns over the rows of one node. */
static void grow_node(const sample *a, tab_rand *r, const int *member, int have, tree *t, int at)
{
    t->column[at] = -1;
    double best = 0.0;
    for (int i = 0; i < a->tries && have > 3; i++) {
        int c = rnd_int(r, a->s->cols);
        float cut = value_of(a, c, member[rnd_int(r, have)]);
        if (!(cut == cut))
            continue;
        split z = { 0 };
        for (int j = 0; j < have; j++) {
            int side = value_of(a, c, member[j]) > cut; /* missing goes low */
            float y = a->y[member[j]];
            z.n[side]++;
            if (a->s->regression)
                z.sum[side][0] += (double)y;
            else
                z.sum[side][(int)y] += 1.0;
        }
        double score = left_over(&z, a->k);
        if (z.n[0] > 0 && z.n[1] > 0 && (t->column[at] < 0 || score < best)) {
            best = score;
            t->column[at] = c;
            t->cut[at] = cut;
        }
    }
}

/* A tree on a bootstrap. in_bag (n): rows it has seen; node (n): the leaf of each draw, bag (n): its row. */
static void grow_tree(const sample *a, tab_rand *r, tree *t, bool *in_bag, int *bag, int *node)
{
    for (int i = 0; i < a->n; i++) {
        bag[i] = rnd_int(r, a->n);
        in_bag[bag[i]] = true;
        node[i] = 0;
    }
    for (int level = 0, base = 0; level < DEPTH; base += 1 << level, level++) {
        for (int q = 0; q < 1 << level; q++) {
            int member[SAMPLE], have = 0;
            for (int i = 0; i < a->n; i++)
                if (node[i] == q)
                    member[have++] = a->row[bag[i]];
            grow_node(a, r, member, have, t, base + q);
        }
        for (int i = 0; i < a->n; i++)
            node[i] = child(a, t, base, node[i], a->row[bag[i]]);
    }
}

/* One tree, and its vote on the rows that it has not seen. */
static void add_votes(sample *a, tab_rand *r)
{
    tree t;
    bool in_bag[SAMPLE] = { false };
    int bag[SAMPLE], node[SAMPLE];
    grow_tree(a, r, &t, in_bag, bag, node);
    float leaf[NODES][TAB_PRIOR_CLASSES] = { 0 }, weight[NODES] = { 0 };
    for (int i = 0; i < a->n; i++) {
        float y = a->y[a->row[bag[i]]];
        weight[node[i]] += 1.0f;
        if (a->s->regression)
            leaf[node[i]][0] += y;
        else
            leaf[node[i]][(int)y] += 1.0f;
    }
    for (int i = 0; i < a->n; i++) {
        if (in_bag[i])
            continue;
        int q = 0;
        for (int level = 0, base = 0; level < DEPTH; base += 1 << level, level++)
            q = child(a, &t, base, q, a->row[i]);
        a->seen[i]++;
        for (int c = 0; c < a->k; c++) /* two pseudo-rows of the prior */
            a->vote[i][c] += (leaf[q][c] + 2.0f * a->mean[c]) / (weight[q] + 2.0f);
    }
}

/* Is the trees' squared error below that of the shares (the mean), by a one-sided paired z-test at 5 %? */
static bool beats_mean(const sample *a)
{
    double sum = 0.0, sq = 0.0;
    int m = 0;
    for (int i = 0; i < a->n; i++) {
        if (a->seen[i] == 0)
            continue;
        double gain = 0.0;
        for (int c = 0; c < a->k; c++) {
            double truth = a->s->regression ? (double)a->y[a->row[i]] : (int)a->y[a->row[i]] == c;
            double e0 = (double)a->mean[c] - truth, e1 = (double)(a->vote[i][c] / (float)a->seen[i]) - truth;
            gain += e0 * e0 - e1 * e1;
        }
        sum += gain;
        sq += gain * gain;
        m++;
    }
    if (m < 16)
        return false;
    double average = sum / m, variance = sq / m - average * average;
    return !(average <= 1.645 * sqrt(variance / m) + 1e-9);
}

/* Does one cut of one column tell the two classes apart on the sample? Nothing is to be learned from that. */
static bool given_away(const sample *a)
{
    for (int c = 0; c < a->s->cols; c++) {
        float top[2] = { -INFINITY, -INFINITY }, low[2] = { INFINITY, INFINITY };
        for (int i = 0; i < a->n; i++) {
            int q = (int)a->y[a->row[i]];
            float v = value_of(a, c, a->row[i]), w = v == v ? v : -1e30f;
            top[q] = fmaxf(top[q], w);
            low[q] = fminf(low[q], w);
        }
        if (top[0] < low[1] || top[1] < low[0])
            return true;
    }
    return false;
}

bool tab_prior_learnable(tab_prior *p, tab_rand *r, const tab_prior_shape *s, const float *y, int classes)
{
    sample a = { .p = p,
                 .s = s,
                 .y = y,
                 .n = s->rows < SAMPLE ? s->rows : SAMPLE,
                 .k = s->regression ? 1 : classes,
                 .tries = 2 };
    for (int i = 0; i < a.n; i++) { /* evenly over the table: context and queries alike */
        a.row[i] = (int)((long)i * s->rows / a.n);
        if (s->regression)
            a.mean[0] += y[a.row[i]] / (float)a.n;
        else
            a.mean[(int)y[a.row[i]]] += 1.0f / (float)a.n;
    }
    while (a.tries * a.tries < s->cols) /* about the root of the columns */
        a.tries++;
    for (int t = 0; t < TREES; t++)
        add_votes(&a, r);
    return beats_mean(&a) && (s->regression || classes != 2 || !given_away(&a));
}
