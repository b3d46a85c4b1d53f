/* Gradient boosted trees on binned features.
 *
 * Round m adds, for each margin F, a tree that minimises the second-order expansion of the loss around F
 * (Friedman, Annals of Statistics 2001; Chen & Guestrin, KDD 2016): with g, h the loss's first and second
 * derivatives at each row and sums G, H over a leaf, the best leaf value and the gain of a split are
 *
 *   v = -G / (H + lambda)        gain = GL^2/(HL + lambda) + GR^2/(HR + lambda) - G^2/(H + lambda)
 *
 *   regression   squared error       g = F - y             h = 1                 one margin
 *   two classes  logistic            g = p - [y = 1]       h = p (1 - p)         one margin
 *   K classes    softmax             g = p_k - [y = k]     h = p_k (1 - p_k) K / (K - 1)    K margins
 *
 * Sums over bins are one histogram a leaf and feature: 2 doubles a bin, the larger child's by subtraction.
 * Trees grow best leaf first. A missing number goes to the side that gains more. The levels of a category are
 * ordered by G / (H + s), in which order one cut is optimal (Fisher, JASA 1958), shrunk more strongly since
 * the order is itself fitted. Rows are sampled by a hash of their content, columns by one of theirs.
 *
 * Comparing gains needs no division: gain + const = N / D with D > 0, and N1 / D1 > N2 / D2 is
 * N1 D2 > N2 D1. The scan over bins is the larger part of a small table's time. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/boost.h"

typedef struct {
    double eta, lambda, min_hess, columns, rows; /* the last two: shares sampled a tree */
    size_t leaves, depth, patience;
    uint64_t salt;
} recipe;

typedef double pair __attribute__((vector_size(16)));   /* G, H */
typedef float gh_pair __attribute__((vector_size(8))); /* g, h of a row */

typedef struct {
    uint32_t at, count; /* its rows: order[at .. at + count) */
    uint32_t depth, node;
    int32_t slot; /* of its histograms */
    double g, h;
    /* the best split found */
    double gain;
    int32_t feature; /* -1: none */
    uint8_t cut;
    bool missing_left;
    bool by_set;
    uint64_t set[4];
} leaf;

typedef struct {
    const tab_problem *p;
    const tab_fit_task *t;
    const recipe *r;
    size_t n, margins; /* context rows; trees a round */
    uint8_t **bin;     /* (features)(n) context rows' bins, missing = the feature's last */
    uint32_t *bins;    /* (features) bins with the missing one */
    uint32_t *offset;  /* (features) where a feature's bins start in a histogram; by tree */
    uint32_t *column, columns;
    float *margin; /* (margins, n) */
    float *held;   /* (margins, held_n) */
    uint32_t *order, *spare, *rest; /* rest: context rows that the tree's sample leaves out */
    gh_pair *gh, *gh_spare;
    size_t sampled, left_out;
    float *prob; /* (margins, n) softmax */
    pair *pool;  /* (leaves + 1) histograms */
    size_t pool_stride;
    leaf *leaf;
    double *importance;
    /* the forest so far */
    tab_tree_node *node;
    size_t nodes, node_room;
    uint64_t (*set)[4];
    size_t sets, set_room;
    uint32_t *root;
    bool failed;
} work;

/* ---- histograms --------------------------------------------------------------------------------------- */

static void fill(const work *w, const leaf *l, pair *hist)
{
    const uint32_t *order = w->order + l->at;
    const gh_pair *gh = w->gh + l->at;
    for (uint32_t c = 0; c < w->columns; c++) {
        uint32_t f = w->column[c];
        pair *h = hist + w->offset[f];
        const uint8_t *bin = w->bin[f];
        memset(h, 0, w->bins[f] * sizeof *h);
        for (uint32_t i = 0; i < l->count; i++)
            h[bin[order[i]]] += __builtin_convertvector(gh[i], pair);
    }
}

/* ---- the best split of a leaf ------------------------------------------------------------------------- */

typedef struct {
    double num, den; /* GL^2/(HL+l) + GR^2/(HR+l) as a fraction */
} score;

static inline bool better(const leaf *l, double min_hess, double lambda, double gl, double hl, score *best)
{
    double gr = l->g - gl, hr = l->h - hl;
    if (hl < min_hess || hr < min_hess)
        return false;
    double a = hl + lambda, b = hr + lambda;
    double num = gl * gl * b + gr * gr * a, den = a * b;
    if (num * best->den <= best->num * den)
        return false;
    best->num = num;
    best->den = den;
    return true;
}

static void split_number(const work *w, leaf *l, uint32_t f, const pair *h, score *best)
{
    const double lambda = w->r->lambda, least = w->r->min_hess;
    uint32_t last = w->bins[f] - 1; /* the missing bin */
    double mg = h[last][0], mh = h[last][1];
    double g = 0, hs = 0;
    for (uint32_t b = 0; b + 1 < last; b++) {
        if (h[b][1] == 0)
            continue;
        g += h[b][0];
        hs += h[b][1];
        if (better(l, least, lambda, g, hs, best))
            l->feature = (int32_t)f, l->cut = (uint8_t)b, l->by_set = false,
            l->missing_left = mh == 0 && 2 * hs > l->h;
        if (mh > 0 && better(l, least, lambda, g + mg, hs + mh, best))
            l->feature = (int32_t)f, l->cut = (uint8_t)b, l->by_set = false, l->missing_left = true;
    }
    if (mh > 0 && better(l, least, lambda, l->g - mg, l->h - mh, best)) /* present against missing */
        l->feature = (int32_t)f, l->cut = TAB_BIN_MISSING - 1, l->by_set = false, l->missing_left = false;
}

typedef struct {
    double key;
    uint32_t bin;
} ordered;

static int by_key(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->bin > y->bin) - (x->bin < y->bin);
}

static void split_set(const work *w, leaf *l, uint32_t f, const pair *h, score *best)
{
    const recipe *r = w->r;
    ordered o[256];
    uint32_t n = 0, bins = w->bins[f];
    double mean_h = l->h / l->count, smooth = 10 * mean_h, least = 2 * mean_h;
    double lambda = r->lambda + smooth;
    double parent = l->g * l->g / (l->h + lambda); /* stricter shrinkage also weighs the parent */
    double plain = l->g * l->g / (l->h + r->lambda);
    for (uint32_t b = 0; b < bins; b++)
        if (h[b][1] > least)
            o[n++] = (ordered){ h[b][0] / (h[b][1] + smooth), b };
    if (n < 2)
        return;
    qsort(o, n, sizeof *o, by_key);
    /* The gain under the stricter lambda must beat the best so far, both measured above their parents. */
    score own = { best->num / best->den - plain + parent, 1 };
    if (own.num < parent)
        own.num = parent;
    bool found = false;
    uint32_t end = 0;
    double g = 0, hs = 0;
    for (uint32_t i = 0; i + 1 < n; i++) {
        g += h[o[i].bin][0];
        hs += h[o[i].bin][1];
        if (better(l, r->min_hess, lambda, g, hs, &own))
            found = true, end = i + 1;
    }
    if (!found)
        return;
    best->num = own.num / own.den - parent + plain;
    best->den = 1;
    l->feature = (int32_t)f;
    l->by_set = true;
    double left = 0;
    bool in[256] = { false };
    for (uint32_t i = 0; i < end; i++)
        in[o[i].bin] = true, left += h[o[i].bin][1];
    memset(l->set, 0, sizeof l->set);
    bool rest_left = 2 * left > l->h; /* levels too rare to be ordered go with the larger side */
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t at = b == TAB_BIN_MISSING ? bins - 1 : b;
        bool known = at < bins && (b < bins - 1 || b == TAB_BIN_MISSING) && h[at][1] > least;
        if (known ? in[at] : rest_left)
            l->set[b / 64] |= (uint64_t)1 << (b % 64);
    }
}

static void find_split(const work *w, leaf *l)
{
    l->feature = -1;
    l->gain = 0;
    if (l->count < 2 || l->depth >= w->r->depth || l->h < 2 * w->r->min_hess)
        return;
    double parent = l->g * l->g / (l->h + w->r->lambda);
    score best = { parent * (1 + 1e-9) + 1e-12, 1 };
    const pair *hist = w->pool + (size_t)l->slot * w->pool_stride;
    for (uint32_t c = 0; c < w->columns; c++) {
        uint32_t f = w->column[c];
        if (w->p->enc->f[f].kind == TAB_FEATURE_CODE)
            split_set(w, l, f, hist + w->offset[f], &best);
        else
            split_number(w, l, f, hist + w->offset[f], &best);
    }
    if (l->feature >= 0)
        l->gain = best.num / best.den - parent;
}

/* ---- growing one tree --------------------------------------------------------------------------------- */

static bool goes_left(const tab_tree_node *node, const uint64_t (*set)[4], uint8_t bin)
{
    if (node->by_set)
        return set[node->set][bin / 64] >> (bin % 64) & 1;
    return bin == TAB_BIN_MISSING ? node->missing_left : bin <= node->cut;
}

static uint32_t new_node(work *w)
{
    if (w->nodes == w->node_room) {
        size_t room = w->node_room * 2 + 1024;
        void *p = realloc(w->node, room * sizeof *w->node);
        if (p == NULL) {
            w->failed = true;
            return 0;
        }
        w->node = p;
        w->node_room = room;
    }
    w->node[w->nodes] = (tab_tree_node){ .feature = -1 };
    return (uint32_t)w->nodes++;
}

static uint32_t new_set(work *w, const uint64_t *set)
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

/* Moves a leaf's rows so that those going left come first, both sides in their old order. */
static uint32_t partition(work *w, const leaf *l, const tab_tree_node *node)
{
    uint32_t *order = w->order + l->at, left = 0, right = 0;
    gh_pair *gh = w->gh + l->at;
    const uint8_t *bin = w->bin[l->feature];
    uint32_t missing = w->bins[l->feature] - 1;
    for (uint32_t i = 0; i < l->count; i++) {
        uint8_t b = bin[order[i]];
        if (goes_left(node, (const uint64_t(*)[4])w->set, b == missing ? TAB_BIN_MISSING : b)) {
            order[left] = order[i];
            gh[left++] = gh[i];
        } else {
            w->spare[right] = order[i];
            w->gh_spare[right++] = gh[i];
        }
    }
    memcpy(order + left, w->spare, right * sizeof *order);
    memcpy(gh + left, w->gh_spare, right * sizeof *gh);
    return left;
}

static void totals(leaf *l, const work *w)
{
    pair sum = { 0, 0 };
    for (uint32_t i = 0; i < l->count; i++)
        sum += __builtin_convertvector(w->gh[l->at + i], pair);
    l->g = sum[0];
    l->h = sum[1];
}

/* Grows a tree over the sampled rows and gives its root's node. Leaves stay in w->leaf[0..*count). */
static uint32_t grow(work *w, size_t *count)
{
    const recipe *r = w->r;
    leaf *leaves = w->leaf;
    size_t n = 1;
    uint32_t root = new_node(w);
    leaves[0] = (leaf){ .count = (uint32_t)w->sampled, .node = root, .slot = 0 };
    totals(&leaves[0], w);
    fill(w, &leaves[0], w->pool);
    find_split(w, &leaves[0]);
    while (n < r->leaves && !w->failed) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            if (leaves[i].gain > leaves[best].gain)
                best = i;
        if (leaves[best].feature < 0 || !(leaves[best].gain > 0))
            break;
        leaf parent = leaves[best];
        uint32_t left = new_node(w), right = new_node(w);
        uint32_t set = parent.by_set ? new_set(w, parent.set) : 0;
        if (w->failed)
            break;
        tab_tree_node *node = &w->node[parent.node];
        *node = (tab_tree_node){ .feature = parent.feature, .left = left, .right = right, .set = set,
                                 .cut = parent.cut, .by_set = parent.by_set,
                                 .missing_left = parent.missing_left, .cover = (float)parent.h,
                                 .value = (float)(-parent.g / (parent.h + r->lambda) * r->eta) };
        w->importance[parent.feature] += parent.gain;
        uint32_t lefts = partition(w, &parent, node);
        leaf *a = &leaves[best], *b = &leaves[n];
        *a = (leaf){ .at = parent.at, .count = lefts, .depth = parent.depth + 1, .node = left };
        *b = (leaf){ .at = parent.at + lefts, .count = parent.count - lefts, .depth = parent.depth + 1,
                     .node = right };
        totals(a, w);
        totals(b, w);
        leaf *small = a->count <= b->count ? a : b, *large = small == a ? b : a;
        small->slot = (int32_t)n;
        large->slot = parent.slot;
        n++;
        if (n == r->leaves) /* the last split: nobody asks for more */
            a->feature = b->feature = -1, a->gain = b->gain = 0;
        else {
            pair *hs = w->pool + (size_t)small->slot * w->pool_stride;
            pair *hl = w->pool + (size_t)large->slot * w->pool_stride;
            fill(w, small, hs);
            size_t used = 0;
            for (uint32_t c = 0; c < w->columns; c++)
                used += w->bins[w->column[c]];
            for (size_t i = 0; i < used; i++) {
                hl[i] -= hs[i];
                if (hl[i][1] < 1e-9) /* a bin that emptied holds rounding, not rows */
                    hl[i] = (pair){ 0, 0 };
            }
            find_split(w, a);
            find_split(w, b);
        }
    }
    for (size_t i = 0; i < n; i++) {
        tab_tree_node *node = &w->node[leaves[i].node];
        node->value = (float)(-leaves[i].g / (leaves[i].h + r->lambda) * r->eta);
        node->cover = (float)leaves[i].h;
    }
    *count = n;
    return root;
}

static float tree_value(const tab_tree_node *node, const uint64_t (*set)[4], uint32_t at, uint8_t *const *bin,
                        uint32_t row)
{
    while (node[at].feature >= 0)
        at = goes_left(&node[at], set, bin[node[at].feature][row]) ? node[at].left : node[at].right;
    return node[at].value;
}

/* ---- one fit ------------------------------------------------------------------------------------------ */

static void sample(work *w, size_t round)
{
    const recipe *r = w->r;
    uint64_t seed = tab_mix2(w->p->seed ^ r->salt, round);
    w->sampled = w->left_out = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (r->rows >= 1 || tab_unit(tab_mix2(w->p->data->hash[w->t->context[i]], seed)) < r->rows)
            w->order[w->sampled++] = (uint32_t)i;
        else
            w->rest[w->left_out++] = (uint32_t)i;
    }
    w->columns = 0;
    size_t features = w->p->enc->n, used = 0;
    double share = r->columns;
    if (share * (double)features > 300)
        share = 300 / (double)features;
    if (features <= 3)
        share = 1;
    for (int widen = 0; w->columns == 0 && widen < 64; widen++)
        for (size_t f = 0; f < features; f++) {
            const tab_feature *g = &w->p->enc->f[f];
            uint64_t h = tab_mix2(g->hash + g->derive * 131 + g->part, seed + 7919 * (uint64_t)(widen + 1));
            if (tab_unit(h) < share && (used + w->bins[f] <= w->pool_stride)) {
                w->column[w->columns++] = (uint32_t)f;
                w->offset[f] = (uint32_t)used;
                used += w->bins[f];
            }
        }
}

/* Gradients of margin k at the sampled rows, in their order. */
static void gradients(work *w, size_t k)
{
    const tab_problem *p = w->p;
    const uint32_t *ctx = w->t->context;
    const float *margin = w->margin + k * w->n;
    if (!p->classification) {
        for (size_t i = 0; i < w->sampled; i++)
            w->gh[i] = (gh_pair){ margin[w->order[i]] - p->y[ctx[w->order[i]]], 1 };
    } else if (w->margins == 1) {
        for (size_t i = 0; i < w->sampled; i++) {
            float q = 1 / (1 + expf(-margin[w->order[i]]));
            float h = q * (1 - q);
            w->gh[i] = (gh_pair){ q - (p->label[ctx[w->order[i]]] == 1), h > 1e-6f ? h : 1e-6f };
        }
    } else {
        float scale = (float)w->margins / (float)(w->margins - 1);
        const float *prob = w->prob + k * w->n;
        for (size_t i = 0; i < w->sampled; i++) {
            float q = prob[w->order[i]], h = q * (1 - q) * scale;
            w->gh[i] = (gh_pair){ q - (p->label[ctx[w->order[i]]] == k), h > 1e-6f ? h : 1e-6f };
        }
    }
}

static void softmax(work *w)
{
    for (size_t i = 0; i < w->n; i++) {
        float top = w->margin[i], sum = 0;
        for (size_t k = 1; k < w->margins; k++)
            top = fmaxf(top, w->margin[k * w->n + i]);
        for (size_t k = 0; k < w->margins; k++)
            sum += w->prob[k * w->n + i] = expf(w->margin[k * w->n + i] - top);
        for (size_t k = 0; k < w->margins; k++)
            w->prob[k * w->n + i] /= sum;
    }
}

static double held_loss(const work *w)
{
    double loss = 0;
    size_t n = w->t->held_n;
    for (size_t i = 0; i < n; i++) {
        uint32_t row = w->t->held[i];
        if (!w->p->classification) {
            double d = (double)(w->held[i] - w->p->y[row]);
            loss += d * d;
        } else if (w->margins == 1) {
            double z = (double)(w->p->label[row] == 1 ? w->held[i] : -w->held[i]);
            loss += z > 0 ? log1p(exp(-z)) : log1p(exp(z)) - z;
        } else {
            double top = (double)w->held[i], sum = 0;
            for (size_t k = 1; k < w->margins; k++)
                top = fmax(top, (double)w->held[k * n + i]);
            for (size_t k = 0; k < w->margins; k++)
                sum += exp((double)w->held[k * n + i] - top);
            loss += log(sum) + top - (double)w->held[w->p->label[row] * n + i];
        }
    }
    return loss;
}

static bool prepare(work *w, float *base)
{
    const tab_problem *p = w->p;
    const tab_fit_task *t = w->t;
    size_t features = p->enc->n, n = w->n, margins = w->margins, total = 0;
    w->bin = calloc(features + 1, sizeof *w->bin);
    w->bins = calloc(features + 1, sizeof *w->bins);
    w->offset = calloc(features + 1, sizeof *w->offset);
    w->column = calloc(features + 1, sizeof *w->column);
    w->importance = calloc(features + 1, sizeof *w->importance);
    w->margin = malloc((n * margins + 1) * sizeof *w->margin);
    w->prob = margins > 1 ? malloc(n * margins * sizeof *w->prob) : NULL;
    w->held = malloc((t->held_n * margins + 1) * sizeof *w->held);
    w->order = malloc((n + 1) * sizeof *w->order);
    w->spare = malloc((n + 1) * sizeof *w->spare);
    w->rest = malloc((n + 1) * sizeof *w->rest);
    w->gh = aligned_alloc(16, (n + 2) / 2 * 16);
    w->gh_spare = aligned_alloc(16, (n + 2) / 2 * 16);
    w->leaf = calloc(w->r->leaves + 1, sizeof *w->leaf);
    if (w->bin == NULL || w->bins == NULL || w->offset == NULL || w->column == NULL ||
        w->importance == NULL || w->margin == NULL || w->held == NULL || w->order == NULL ||
        w->spare == NULL || w->rest == NULL || w->gh == NULL || w->gh_spare == NULL || w->leaf == NULL ||
        (margins > 1 && w->prob == NULL))
        return false;
    w->bin[0] = malloc(features * n + 1);
    if (w->bin[0] == NULL)
        return false;
    for (size_t f = 0; f < features; f++) {
        uint8_t *to = w->bin[f] = w->bin[0] + f * n;
        const uint8_t *from = p->data->bin[f];
        uint8_t last = (uint8_t)p->enc->f[f].bins;
        w->bins[f] = (uint32_t)last + 1;
        total += w->bins[f];
        for (size_t i = 0; i < n; i++) {
            uint8_t b = from[t->context[i]];
            to[i] = b == TAB_BIN_MISSING ? last : b;
        }
    }
    /* A histogram pool beyond 64 MB buys nothing: fewer columns a tree then. */
    size_t most = ((size_t)64 << 20) / sizeof(pair) / (w->r->leaves + 1);
    w->pool_stride = total < most ? total : most < 512 ? 512 : most;
    w->pool = aligned_alloc(64, ((w->r->leaves + 1) * w->pool_stride * sizeof(pair) + 63) / 64 * 64);
    if (w->pool == NULL)
        return false;

    if (p->classification) {
        double count[2] = { 0, 0 };
        for (size_t k = 0; k < margins; k++) {
            size_t c = 0;
            for (size_t i = 0; i < n; i++)
                c += p->label[t->context[i]] == (margins == 1 ? 1 : k);
            if (margins == 1) {
                count[1] = (double)c, count[0] = (double)(n - c);
                base[0] = (float)log((count[1] + 0.5) / (count[0] + 0.5));
            } else {
                base[k] = (float)log(((double)c + 0.5) / ((double)n + 0.5 * (double)margins));
            }
        }
    } else {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += (double)p->y[t->context[i]];
        base[0] = (float)(sum / (double)n);
    }
    for (size_t k = 0; k < margins; k++) {
        for (size_t i = 0; i < n; i++)
            w->margin[k * n + i] = base[k];
        for (size_t i = 0; i < t->held_n; i++)
            w->held[k * t->held_n + i] = base[k];
    }
    return true;
}

static void release(work *w)
{
    if (w->bin != NULL)
        free(w->bin[0]);
    free(w->bin), free(w->bins), free(w->offset), free(w->column), free(w->importance);
    free(w->margin), free(w->prob), free(w->held), free(w->order), free(w->spare), free(w->rest);
    free(w->gh), free(w->gh_spare), free(w->leaf), free(w->pool);
    free(w->node), free(w->set), free(w->root);
}

static tab_boost *boost(const tab_problem *p, const tab_fit_task *t, const recipe *r, size_t most,
                        double *curve)
{
    size_t margins = p->classification && p->outputs > 2 ? p->outputs : 1;
    work w = { .p = p, .t = t, .r = r, .n = t->n, .margins = margins };
    tab_boost *model = tab_arena_new_of(t->arena, tab_boost, 1);
    float *base = tab_arena_new_of(t->arena, float, margins);
    w.root = malloc((most * margins + 1) * sizeof *w.root);
    bool ok = model != NULL && base != NULL && w.root != NULL && t->n > 0 && prepare(&w, base);
    size_t round = 0, best_round = 0;
    double best = INFINITY;
    if (ok) {
        best = held_loss(&w);
        if (curve != NULL)
            curve[0] = best;
    }
    for (; ok && round < most && p->enc->n > 0; round++) {
        if (t->cancel != NULL && atomic_load_explicit(t->cancel, memory_order_relaxed)) {
            ok = false;
            break;
        }
        if (margins > 1)
            softmax(&w);
        bool grew = false;
        for (size_t k = 0; k < margins; k++) {
            sample(&w, round);
            gradients(&w, k);
            size_t leaves;
            uint32_t root = grow(&w, &leaves);
            w.root[round * margins + k] = root;
            if (w.failed) {
                ok = false;
                break;
            }
            grew = grew || leaves > 1;
            float *margin = w.margin + k * w.n;
            const uint64_t(*set)[4] = (const uint64_t(*)[4])w.set;
            for (size_t l = 0; l < leaves; l++)
                for (uint32_t i = 0; i < w.leaf[l].count; i++)
                    margin[w.order[w.leaf[l].at + i]] += w.node[w.leaf[l].node].value;
            for (size_t i = 0; i < w.left_out; i++)
                margin[w.rest[i]] += tree_value(w.node, set, root, p->data->bin, t->context[w.rest[i]]);
            for (size_t i = 0; i < t->held_n; i++)
                w.held[k * t->held_n + i] += tree_value(w.node, set, root, p->data->bin, t->held[i]);
        }
        if (!ok)
            break;
        double loss = held_loss(&w);
        if (curve != NULL)
            curve[round + 1] = loss;
        if (loss < best)
            best = loss, best_round = round + 1;
        if ((t->held_n > 0 && round + 1 >= best_round + r->patience) || !grew) {
            round++;
            break;
        }
    }
    for (size_t i = round + 1; ok && curve != NULL && i <= most; i++)
        curve[i] = INFINITY;
    if (ok) {
        *model = (tab_boost){ .margins = margins, .outputs = p->outputs, .rounds = round,
                              .classification = p->classification, .features = p->enc->n, .base = base };
        model->node = tab_arena_new_of(t->arena, tab_tree_node, w.nodes + 1);
        model->set = tab_arena_alloc(t->arena, w.sets + 1, sizeof *model->set);
        model->root = tab_arena_new_of(t->arena, uint32_t, round * margins + 1);
        model->importance = tab_arena_new_of(t->arena, float, p->enc->n + 1);
        ok = !tab_arena_full(t->arena);
    }
    if (ok) {
        if (w.nodes > 0)
            memcpy(model->node, w.node, w.nodes * sizeof *w.node);
        if (w.sets > 0)
            memcpy(model->set, w.set, w.sets * sizeof *w.set);
        memcpy(model->root, w.root, round * margins * sizeof *w.root);
        double sum = 0;
        for (size_t f = 0; f < p->enc->n; f++)
            sum += w.importance[f];
        for (size_t f = 0; f < p->enc->n; f++)
            model->importance[f] = sum > 0 ? (float)(w.importance[f] / sum) : 0;
    }
    release(&w);
    return ok ? model : NULL;
}

void tab_boost_margins(const tab_boost *m, const tab_data *q, const uint32_t *row, size_t n, float *out)
{
    const uint64_t(*set)[4] = (const uint64_t(*)[4])m->set;
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * m->margins, m->base, m->margins * sizeof *out);
    for (size_t t = 0; t < m->rounds * m->margins; t++)
        for (size_t i = 0; i < n; i++)
            out[i * m->margins + t % m->margins] += tree_value(m->node, set, m->root[t], q->bin, row[i]);
}

static void boost_predict(const void *model, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                          size_t n, float *out)
{
    const tab_boost *m = model;
    enum { BLOCK = 256 };
    float z[BLOCK];
    (void)enc;
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t b = n - at < BLOCK ? n - at : BLOCK;
        if (!m->classification || m->margins > 1) {
            tab_boost_margins(m, q, row + at, b, out + at * m->margins);
            continue;
        }
        tab_boost_margins(m, q, row + at, b, z);
        for (size_t i = 0; i < b; i++) {
            out[2 * (at + i)] = 0;
            out[2 * (at + i) + 1] = z[i];
        }
    }
}

static void boost_stop(void *model, size_t step)
{
    tab_boost *m = model;
    if (step < m->rounds)
        m->rounds = step;
}

static const float *boost_importance(const void *model)
{
    return ((const tab_boost *)model)->importance;
}

/* Rounds are limited by work, rows x features x margins a round: never by the clock. */
static size_t rounds_for(const tab_problem *p, size_t n, size_t most, double budget)
{
    double features = (double)(p->enc->n < 300 ? p->enc->n : 300);
    double a_round = ((double)n * features + 4000 * features) *
                     (double)(p->classification && p->outputs > 2 ? p->outputs : 1);
    double rounds = budget / (a_round + 1);
    return rounds >= (double)most ? most : rounds < 20 ? 20 : (size_t)rounds;
}

static const recipe DEEP = { .eta = 0.07, .lambda = 2, .min_hess = 1.5, .columns = 0.6, .rows = 0.8,
                             .leaves = 28, .depth = 9, .patience = 30, .salt = 0xb005 };
static const recipe SHALLOW = { .eta = 0.10, .lambda = 2, .min_hess = 2, .columns = 0.7, .rows = 0.9,
                                .leaves = 5, .depth = 3, .patience = 30, .salt = 0x5a11 };

/* Twenty million rows x features a second is what the plain loops reach; see docs/decisions/0050. */
enum { STEPS = 500, BRISK_STEPS = 180, FAST_STEPS = 120, QUICK_STEPS = 30 };
static const double BUDGET = 1.2e9;

static double boost_work(const tab_problem *p, size_t n)
{
    double features = (double)(p->enc->n < 300 ? p->enc->n : 300);
    return (double)n * features * (double)(p->classification && p->outputs > 2 ? p->outputs : 1) *
           (double)rounds_for(p, n, STEPS, BUDGET);
}

static const recipe FAST = { .eta = 0.2, .lambda = 3, .min_hess = 3, .columns = 0.7, .rows = 0.8,
                             .leaves = 10, .depth = 5, .patience = 12, .salt = 0xfa57 };

static const recipe BRISK = { .eta = 0.13, .lambda = 2, .min_hess = 2, .columns = 0.6, .rows = 0.8,
                              .leaves = 18, .depth = 7, .patience = 15, .salt = 0xb715 };
static const recipe QUICK = { .eta = 0.3, .lambda = 5, .min_hess = 4, .columns = 0.8, .rows = 1,
                              .leaves = 6, .depth = 4, .patience = 6, .salt = 0x90c };

static tab_boost *fit_with(const recipe *own, size_t steps, double budget, const tab_problem *p,
                           const tab_fit_task *t, double *curve)
{
    recipe r = *own;
    size_t most = rounds_for(p, t->n, steps, budget);
    if (curve != NULL)
        for (size_t i = 0; i <= steps; i++)
            curve[i] = INFINITY;
    if (p->classification && p->outputs > 2)
        r.eta *= 1.4; /* a tree a class each round: fewer, longer steps */
    double want = 14 / r.eta; /* rounds that a full fit at this rate takes */
    if ((double)most < want)
        r.eta = fmin(0.3, r.eta * want / (double)most);
    return boost(p, t, &r, most, curve);
}

static void *fit_deep(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    return fit_with(&DEEP, STEPS, BUDGET, p, t, curve);
}

static void *fit_shallow(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    return fit_with(&SHALLOW, STEPS, BUDGET, p, t, curve);
}

static void *fit_brisk(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    return fit_with(&BRISK, BRISK_STEPS, BUDGET / 8, p, t, curve);
}

static void *fit_fast(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    return fit_with(&FAST, FAST_STEPS, BUDGET / 8, p, t, curve);
}

static void *fit_quick(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    return fit_with(&QUICK, QUICK_STEPS, BUDGET / 40, p, t, curve);
}

const tab_learner tab_learn_boost = { .name = "boost", .configs = 1, .work = boost_work, .fit = fit_deep,
                                      .steps = STEPS, .stop = boost_stop, .predict = boost_predict,
                                      .importance = boost_importance };
const tab_learner tab_learn_boost_shallow = { .name = "boost-shallow", .configs = 1, .work = boost_work,
                                              .fit = fit_shallow, .steps = STEPS, .stop = boost_stop,
                                              .predict = boost_predict, .importance = boost_importance };
const tab_learner tab_learn_boost_brisk = { .name = "boost-brisk", .configs = 1, .work = boost_work,
                                            .fit = fit_brisk, .steps = BRISK_STEPS, .stop = boost_stop,
                                            .predict = boost_predict, .importance = boost_importance };
const tab_learner tab_learn_boost_fast = { .name = "boost-fast", .configs = 1, .work = boost_work,
                                           .fit = fit_fast, .steps = FAST_STEPS, .stop = boost_stop,
                                           .predict = boost_predict, .importance = boost_importance };
const tab_learner tab_learn_boost_quick = { .name = "boost-quick", .configs = 1, .work = boost_work,
                                            .fit = fit_quick, .steps = QUICK_STEPS, .stop = boost_stop,
                                            .predict = boost_predict, .importance = boost_importance };
