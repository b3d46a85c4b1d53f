/* See boost_grow.h: grows one tree, for boost.c. Sums over bins are one histogram a leaf and feature, the
 * larger child's by subtraction. A missing number goes to the side that gains more. The levels of a category
 * are ordered by G / (H + s), in which order one cut is optimal (Fisher, JASA 1958), shrunk more strongly
 * since the order is itself fitted.
 *
 *   tab_grow ─> tab_grow_fill      the root's histograms
 *            ─> find_split         split_number or split_set for each column, by best_cut
 *            ─> divide             the best leaf: partition of its rows, histograms of its children,
 *                                  find_split for both; again until there are enough leaves */
#include "services/inference/engine/learn/boost/boost_grow.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/learn/clones.h"

typedef double four __attribute__((vector_size(32)));
typedef int64_t four_long __attribute__((vector_size(32)));
typedef int32_t four_int __attribute__((vector_size(16)));

/* TOGETHER: columns of one pass over the rows (decisions 0090, 0148: four are 2.5 times as fast as one, five
 * no faster). WORTH_A_LOOP: rows x columns from which a leaf's histograms are shared out to threads; no
 * answer depends on it. */
enum { TOGETHER = 4, WORTH_A_LOOP = 50 * 1000 };

/* The upper half of a packed sum: gradients, in fixed-point units. */
static inline double g_of(int64_t packed)
{
    return (double)(int32_t)(packed >> 32);
}

/* The lower half: second derivatives. */
static inline double h_of(int64_t packed)
{
    return (double)(int32_t)packed;
}

/* ---- histograms ------------------------------------------------------------------------------ */

/* *to += v with the address in a register of its own: an x86 store to base + 8 x index takes a port that
 * loads need, one to a plain address does not. The empty statement keeps the compiler from folding the two
 * (decision 0148). */
static inline void add_at(int64_t *to, int64_t v)
{
    __asm__("" : "+r"(to));
    *to += v;
}

/* Four columns in one pass over the rows: their additions do not wait for each other, and the rows' numbers
 * and gradients are read once. Measured at 0.4 of the time of a column at a time. */
static void fill_four(const uint8_t *const *bin, int64_t *const *hist, const uint32_t *order,
                      const int64_t *gh, size_t n)
{
    const uint8_t *b0 = bin[0], *b1 = bin[1], *b2 = bin[2], *b3 = bin[3];
    int64_t *h0 = hist[0], *h1 = hist[1], *h2 = hist[2], *h3 = hist[3];
#ifndef __clang__ /* builds the fuzz targets only, and does not know the line */
#pragma GCC unroll 2
#endif
    for (size_t i = 0; i < n; i++) {
        uint32_t row = order[i];
        int64_t v = gh[i];
        add_at(h0 + b0[row], v);
        add_at(h1 + b1[row], v);
        add_at(h2 + b2[row], v);
        add_at(h3 + b3[row], v);
    }
}

/* As fill_four, for what is left over. */
static void fill_two(const uint8_t *const *bin, int64_t *const *hist, const uint32_t *order,
                     const int64_t *gh, size_t n)
{
    const uint8_t *b0 = bin[0], *b1 = bin[1];
    int64_t *h0 = hist[0], *h1 = hist[1];
    for (size_t i = 0; i < n; i++) {
        uint32_t row = order[i];
        int64_t v = gh[i];
        add_at(h0 + b0[row], v);
        add_at(h1 + b1[row], v);
    }
}

/* As fill_four. */
static void fill_one(const uint8_t *bin, int64_t *hist, const uint32_t *order, const int64_t *gh, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hist[bin[order[i]]] += gh[i];
}

/* A leaf's histograms to fill; hist (pool_stride). */
typedef struct {
    const tab_grower *w;
    const tab_grow_leaf *l;
    int64_t *hist;
} fill_job;

/* The histograms of TOGETHER columns. */
static void fill_group(void *ctx, size_t group)
{
    const fill_job *j = ctx;
    const tab_grower *w = j->w;
    size_t from = group * TOGETHER, n = w->columns - from < TOGETHER ? w->columns - from : TOGETHER;
    const uint32_t *order = w->order + j->l->at;
    const int64_t *gh = w->gh + j->l->at;
    /* a feature's run of the histogram begins at its offset, and is cleared whole groups of four at a time */
    const uint8_t *bin[TOGETHER];
    int64_t *hist[TOGETHER];
    for (size_t c = 0; c < n; c++) {
        uint32_t f = w->column[from + c];
        bin[c] = w->bin[f];
        hist[c] = j->hist + w->offset[f];
        memset(hist[c], 0, tab_grow_width(w->bins[f]) * sizeof *hist[c]);
    }
    size_t done = 0;
    if (n == TOGETHER) {
        fill_four(bin, hist, order, gh, j->l->count);
        return;
    }
    if (n >= 2)
        fill_two(bin, hist, order, gh, j->l->count), done = 2;
    if (done < n)
        fill_one(bin[done], hist[done], order, gh, j->l->count);
}

void tab_grow_fill(const tab_grower *w, const tab_grow_leaf *l, int64_t *hist)
{
    fill_job j = { .w = w, .l = l, .hist = hist };
    size_t groups = (w->columns + TOGETHER - 1) / TOGETHER;
    if (w->e != NULL && (size_t)l->count * w->columns >= WORTH_A_LOOP)
        tab_engine_for(w->e, groups, fill_group, &j);
    else
        for (size_t g = 0; g < groups; g++)
            fill_group(&j, g);
}

/* ---- the best split of a leaf ---------------------------------------------------------------- */

typedef struct {
    double g, h, lambda,
        least; /* the leaf's sums, the penalty and the least sum of h, in fixed-point units */
} scene;

typedef struct {
    double score; /* GL^2 / (HL + lambda) + GR^2 / (HR + lambda) */
    uint32_t cut; /* bins left of the cut, less one */
} cut;

/* The best cut of a run of n (a multiple of four) prefix sums, each with `more` added; ties take the
 * first. */
TAB_CLONES static cut best_cut(const int64_t *prefix, size_t n, int64_t more, const scene *s, double score)
{
    /* four cuts at a time: the lanes keep their best each, and the lanes are compared at the end */
    four best = { score, score, score, score }, at = { 0, 0, 0, 0 }, index = { 0, 1, 2, 3 };
    four g = { s->g, s->g, s->g, s->g }, h = { s->h, s->h, s->h, s->h };
    four lambda = { s->lambda, s->lambda, s->lambda, s->lambda };
    four least = { s->least, s->least, s->least, s->least };
    four_long add = { more, more, more, more };
    for (size_t i = 0; i < n; i += 4) {
        /* left sums of four cuts, their upper halves (g) and lower halves (h) as doubles */
        four_long sum;
        memcpy(&sum, prefix + i, sizeof sum);
        sum += add;
        four_int half[2];
        memcpy(half, &sum, sizeof half);
        four gl = __builtin_convertvector(__builtin_shufflevector(half[0], half[1], 1, 3, 5, 7), four);
        four hl = __builtin_convertvector(__builtin_shufflevector(half[0], half[1], 0, 2, 4, 6), four);
        /* what is not on the left is on the right; the score of the split is on one denominator, for one
         * division */
        four gr = g - gl, hr = h - hl, a = hl + lambda, b = hr + lambda;
        four own = (gl * gl * b + gr * gr * a) / (a * b);
        /* a cut must leave enough h on both sides and beat the lane's best */
        four_long take = (hl >= least) & (hr >= least) & (own > best);
        best = (four)(((four_long)own & take) | ((four_long)best & ~take));
        at = (four)(((four_long)index & take) | ((four_long)at & ~take));
        index += 4;
    }
    /* ties take the first cut, so that the lanes' number does not show */
    cut r = { score, 0 };
    for (int k = 0; k < 4; k++)
        if (best[k] > r.score || (best[k] == r.score && r.score > score && at[k] < r.cut))
            r = (cut){ best[k], (uint32_t)at[k] };
    return r;
}

/* Cuts of a number: missing cells on the right in the first look, on the left in the second. */
static void split_number(const tab_grower *w, tab_grow_leaf *l, uint32_t f, const int64_t *h, const scene *s,
                         double *best)
{
    uint32_t last = w->bins[f] - 1, n = 0; /* last: the missing bin */
    int64_t prefix[260], sum = 0, missing = h[last];
    uint8_t bin[260];
    for (uint32_t b = 0; b < last; b++) { /* empty bins, most of them in a small leaf, add no cut */
        prefix[n] = sum += h[b];
        bin[n] = (uint8_t)b;
        n += h[b] != 0;
    }
    uint32_t width = n;
    for (; width % 4 != 0; width++)
        prefix[width] = l->sum;                   /* all on the left: refused */
    cut c = best_cut(prefix, width, 0, s, *best); /* a cut at the last full bin: present against missing */
    if (c.score > *best) {
        *best = c.score;
        l->feature = (int32_t)f, l->cut = c.cut + 1 == n ? last - 1 : bin[c.cut], l->by_set = false;
        l->missing_left = missing == 0 && 2 * h_of(prefix[c.cut]) > s->h;
    }
    if (missing == 0)
        return;
    /* the second look: the missing cells are on the left of every cut */
    c = best_cut(prefix, width, missing, s, *best);
    if (c.score > *best) {
        *best = c.score;
        l->feature = (int32_t)f, l->cut = bin[c.cut], l->by_set = false, l->missing_left = true;
    }
}

typedef struct {
    double key;
    uint32_t bin;
} ordered;

/* For qsort: by the ordering key, then by bin. */
static int by_key(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->bin > y->bin) - (x->bin < y->bin);
}

/* Insertion sort for few levels, which most categories have. */
static void sort(ordered *o, uint32_t n)
{
    enum { FEW = 40 };
    if (n > FEW) {
        qsort(o, n, sizeof *o, by_key);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        ordered x = o[i];
        uint32_t k = i;
        for (; k > 0 && by_key(&x, &o[k - 1]) < 0; k--)
            o[k] = o[k - 1];
        o[k] = x;
    }
}

/* Cuts of a category in the order of G / (H + s). Levels whose h is below two mean rows are too rare to be
 * ordered. s is ten mean rows: levels of few rows order by chance otherwise. Neither is sensitive: half and
 * double of either move log-loss by 0.006 and RMSE by 0.009 of tuned XGBoost's, both to the better (decision
 * 0307). */
static void split_set(const tab_grower *w, tab_grow_leaf *l, uint32_t f, const int64_t *h, const scene *s,
                      double *best)
{
    ordered o[256];
    uint32_t n = 0, bins = w->bins[f];
    double mean_h = s->h / l->count, smooth = 10 * mean_h, least = 2 * mean_h;
    scene strict = { s->g, s->h, s->lambda + smooth, s->least };
    double parent = s->g * s->g / (s->h + strict.lambda); /* stricter shrinkage also weighs the parent */
    double plain = s->g * s->g / (s->h + s->lambda);
    for (uint32_t b = 0; b < bins; b++)
        if (h_of(h[b]) > least)
            o[n++] = (ordered){ g_of(h[b]) / (h_of(h[b]) + smooth), b };
    if (n < 2)
        return;
    sort(o, n);
    /* The gain under the stricter lambda must beat the best so far, both measured above their parents. */
    double own = *best - plain + parent;
    if (own < parent)
        own = parent;
    int64_t prefix[260], sum = 0;
    /* prefix sums in the order of the levels; the last level alone is no cut */
    uint32_t width = 0;
    for (; width + 1 < n; width++)
        prefix[width] = sum += h[o[width].bin];
    for (; width % 4 != 0; width++)
        prefix[width] = l->sum; /* all on the left: refused */
    cut c = best_cut(prefix, width, 0, &strict, own);
    if (!(c.score > own))
        return;
    *best = c.score - parent + plain;
    l->feature = (int32_t)f;
    l->by_set = true;
    bool rest_left =
        2 * h_of(prefix[c.cut]) > s->h; /* levels too rare to be ordered go with the larger side */
    memset(l->set, rest_left ? 0xff : 0, sizeof l->set);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t b = o[i].bin == bins - 1 ? TAB_BIN_MISSING : o[i].bin;
        uint64_t bit = (uint64_t)1 << (b % 64);
        l->set[b / 64] = i <= c.cut ? l->set[b / 64] | bit : l->set[b / 64] & ~bit;
    }
}

/* The best split over the tree's columns. The gain must beat no split by a rounding error. */
static void find_split(const tab_grower *w, tab_grow_leaf *l)
{
    /* the recipe's lambda and least h in fixed-point units */
    scene s = { g_of(l->sum), h_of(l->sum), w->r->lambda / w->h_unit, w->r->min_hess / w->h_unit };
    l->feature = -1;
    l->gain = 0;
    if (l->count < 2 || l->depth >= w->r->depth || s.h < 2 * s.least)
        return;
    double parent = s.g * s.g / (s.h + s.lambda);
    double best = parent * (1 + 1e-9) + 1e-12 * w->h_unit / (w->g_unit * w->g_unit);
    const int64_t *hist = w->pool + (size_t)l->slot * w->pool_stride;
    for (uint32_t c = 0; c < w->columns; c++) {
        uint32_t f = w->column[c];
        if (w->enc->f[f].kind == TAB_FEATURE_CODE)
            split_set(w, l, f, hist + w->offset[f], &s, &best);
        else
            split_number(w, l, f, hist + w->offset[f], &s, &best);
    }
    if (l->feature >= 0)
        l->gain = best - parent;
}

/* ---- growing one tree ------------------------------------------------------------------------ */

/* Room for n nodes; their first index. w->failed: out of memory. */
static uint32_t new_nodes(tab_grower *w, size_t n)
{
    if (w->nodes + n > w->node_room) {
        /* nodes and covers grow together; one that grew alone is no harm */
        size_t room = w->node_room * 2 + 1024 + n;
        void *p = realloc(w->node, room * sizeof *w->node);
        if (p != NULL)
            w->node = p;
        void *q = realloc(w->cover, room * sizeof *w->cover);
        if (q != NULL)
            w->cover = q;
        if (p == NULL || q == NULL) {
            w->failed = true;
            return 0;
        }
        w->node_room = room;
    }
    uint32_t at = (uint32_t)w->nodes;
    w->nodes += n;
    return at;
}

/* Keeps a set of bins; its index. */
static uint32_t new_set(tab_grower *w, const uint64_t *set)
{
    if (w->sets == w->set_room) {
        size_t room = w->set_room * 2 + 64;
        void *p = realloc(w->set, room * sizeof *w->set);
        if (p == NULL) {
            w->failed = true;
            return 0;
        }
        w->set = p;
        w->set_room = room;
    }
    memcpy(w->set[w->sets], set, sizeof w->set[0]);
    return (uint32_t)w->sets++;
}

/* Moves a leaf's rows so that those going left come first, both sides in their old order, and sums them.
 * Which way a row goes is a coin's throw: both sides are written and one of the ends moves on, since a branch
 * would be guessed wrong every other time. */
static uint32_t partition(tab_grower *w, const tab_grow_leaf *l, int64_t *ret_sum, uint32_t *ret_others)
{
    uint32_t *order = w->order + l->at, *spare = w->spare, left = 0, right = 0;
    int64_t *gh = w->gh + l->at, *gh_spare = w->gh_spare, sum = 0;
    const uint8_t *bin = w->bin[l->feature];
    uint32_t missing = w->bins[l->feature] - 1;
    /* one table look-up a row tells its side, for numbers and sets alike */
    uint8_t to[256]; /* 1: left */
    for (uint32_t b = 0; b <= missing; b++) {
        uint32_t own = b == missing ? TAB_BIN_MISSING : b;
        to[b] = l->by_set ? l->set[own / 64] >> (own % 64) & 1 : b == missing ? l->missing_left : b <= l->cut;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t row = order[i], is = to[bin[row]];
        int64_t v = gh[i];
        order[left] = spare[right] = row;
        gh[left] = gh_spare[right] = v;
        sum += v & -(int64_t)is;
        left += is;
        right += 1 - is;
    }
    /* the right side was set aside, and follows the left one */
    memcpy(order + left, spare, right * sizeof *order);
    memcpy(gh + left, gh_spare, right * sizeof *gh);
    *ret_sum = sum;
    /* the same for the rows that only follow */
    uint32_t *other = w->other + l->other_at, others = 0;
    right = 0;
    for (uint32_t i = 0; i < l->others; i++) {
        uint32_t row = other[i], is = to[bin[row]];
        other[others] = spare[right] = row;
        others += is;
        right += 1 - is;
    }
    memcpy(other + others, spare, right * sizeof *other);
    *ret_others = others;
    return left;
}

/* The leaf's value by the head of boost.c, times the rate. Inner nodes keep theirs too, for reasons.c. */
static tab_tree_node leaf_node(const tab_grower *w, uint32_t at, const tab_grow_leaf *l)
{
    double v = -g_of(l->sum) * w->g_unit / (h_of(l->sum) * w->h_unit + w->r->lambda) * w->r->eta;
    return (tab_tree_node){ .feature = TAB_LEAF, .left = at, .split = 255, .value = (float)v };
}

/* from -= what, four at once; n a multiple of four. */
TAB_CLONES static void subtract(int64_t *restrict from, const int64_t *restrict what, size_t n)
{
    for (size_t i = 0; i + 4 <= n; i += 4) {
        four_long a, b;
        memcpy(&a, from + i, sizeof a);
        memcpy(&b, what + i, sizeof b);
        a -= b;
        memcpy(from + i, &a, sizeof a);
    }
}

/* Leaf `best` becomes a node with two leaves, itself and leaves[n]. The smaller one's histogram is filled,
 * the larger one's is what is left of the parent's; `used` bins of each. False: out of memory. */
static bool divide(tab_grower *w, tab_grow_leaf *leaves, size_t best, size_t n, size_t used)
{
    tab_grow_leaf parent = leaves[best];
    /* both children stand together, so that a node holds one index */
    uint32_t left = new_nodes(w, 2);
    uint32_t set = parent.by_set ? new_set(w, parent.set) : 0;
    if (w->failed)
        return false;
    tab_tree_node *node = &w->node[parent.node];
    *node = leaf_node(w, parent.node, &parent);
    node->feature = parent.feature;
    node->left = left;
    node->split = parent.by_set         ? set | TAB_SPLIT_SET
                  : parent.missing_left ? (parent.cut + 1) | TAB_SPLIT_MISSING_LEFT
                                        : parent.cut;
    /* cover is the h of a node's rows, for reasons.c; the gain counts for the feature in units of the loss */
    w->cover[parent.node] = (float)(h_of(parent.sum) * w->h_unit);
    w->importance[parent.feature] += parent.gain * w->g_unit * w->g_unit / w->h_unit;
    /* the rows, divided; the right child's sum is what is left of the parent's */
    int64_t sum;
    uint32_t others, lefts = partition(w, &parent, &sum, &others);
    tab_grow_leaf *a = &leaves[best], *b = &leaves[n];
    *a = (tab_grow_leaf){ .at = parent.at,
                          .count = lefts,
                          .other_at = parent.other_at,
                          .others = others,
                          .depth = parent.depth + 1,
                          .node = left,
                          .sum = sum };
    *b = (tab_grow_leaf){ .at = parent.at + lefts,
                          .count = parent.count - lefts,
                          .other_at = parent.other_at + others,
                          .others = parent.others - others,
                          .depth = parent.depth + 1,
                          .node = left + 1,
                          .sum = parent.sum - sum };
    tab_grow_leaf *small = a->count <= b->count ? a : b, *large = small == a ? b : a;
    /* the larger child takes the parent's histogram, the smaller one the next free slot */
    small->slot = (int32_t)n;
    large->slot = parent.slot;
    if (n + 1 == w->r->leaves) { /* the last split: nobody asks for more */
        a->feature = b->feature = -1, a->gain = b->gain = 0;
        return true;
    }
    int64_t *hs = w->pool + (size_t)small->slot * w->pool_stride;
    tab_grow_fill(w, small, hs);
    subtract(w->pool + (size_t)large->slot * w->pool_stride, hs, used);
    find_split(w, a);
    find_split(w, b);
    return true;
}

/* Scaled so that the absolute sums are 2^30 each, and packed (decision 0090). */
void tab_grow_begin(tab_grower *w, const float *g, float *h, bool ones, const uint32_t *pick,
                    const uint32_t *rest)
{
    size_t n = w->sampled;
    double sum_g = 0, sum_h = 0;
    for (size_t i = 0; i < n; i++) {
        h[i] = h[i] > 1e-6f ? h[i] : 1e-6f;
        sum_g += (double)fabsf(g[i]);
        sum_h += (double)h[i];
    }
    double per_g = sum_g > 0 ? 0x1p30 / sum_g : 1, per_h = sum_h > 0 ? 0x1p30 / sum_h : 1;
    if (ones && n > 0)
        per_h = floor(0x1p30 / (double)n);
    w->g_unit = 1 / per_g;
    w->h_unit = 1 / per_h;
    for (size_t i = 0; i < n; i++) {
        double a = (double)g[i] * per_g, b = (double)h[i] * per_h + 0.5;
        int64_t gi = (int32_t)(a + (a < 0 ? -0.5 : 0.5)), hi = (int32_t)b;
        w->gh[i] = gi * ((int64_t)1 << 32) + (hi > 0 ? hi : 1); /* h > 0: a bin without h has no rows */
    }
    /* the tree begins with its sample, and with the others that only follow its splits */
    memcpy(w->order, pick, n * sizeof *w->order);
    memcpy(w->other, rest, w->others * sizeof *w->other);
}

uint32_t tab_grow(tab_grower *w, size_t *count)
{
    const tab_boost_recipe *r = w->r;
    tab_grow_leaf *leaves = w->leaf;
    size_t n = 1, used = 0;
    uint32_t root = new_nodes(w, 1);
    for (uint32_t c = 0; c < w->columns; c++)
        used += tab_grow_width(w->bins[w->column[c]]);
    leaves[0] = (tab_grow_leaf){ .count = (uint32_t)w->sampled, .others = (uint32_t)w->others, .node = root };
    for (size_t i = 0; i < w->sampled; i++)
        leaves[0].sum += w->gh[i];
    tab_grow_fill(w, &leaves[0], w->pool);
    find_split(w, &leaves[0]);
    while (n < r->leaves && !w->failed) {
        /* the leaf with the greatest gain is divided, wherever it stands */
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            if (leaves[i].gain > leaves[best].gain)
                best = i;
        if (leaves[best].feature < 0 || !(leaves[best].gain > 0))
            break;
        if (!divide(w, leaves, best, n, used))
            break;
        n++;
    }
    /* leaves get their values when all splits are made */
    for (size_t i = 0; i < n && !w->failed; i++) {
        w->node[leaves[i].node] = leaf_node(w, leaves[i].node, &leaves[i]);
        w->cover[leaves[i].node] = (float)(h_of(leaves[i].sum) * w->h_unit);
    }
    *count = n;
    return root;
}

bool tab_grow_copies(tab_grower *w, uint32_t root, size_t n, size_t copies)
{
    (void)new_nodes(w, n * copies);
    for (size_t k = 1; k <= copies && !w->failed; k++) {
        uint32_t shift = (uint32_t)(k * n);
        memcpy(w->node + root + shift, w->node + root, n * sizeof *w->node);
        memcpy(w->cover + root + shift, w->cover + root, n * sizeof *w->cover);
        for (size_t i = 0; i < n; i++)
            w->node[root + shift + i].left += shift;
    }
    return !w->failed;
}
