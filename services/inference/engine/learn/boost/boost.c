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
 * boost_grow.c grows the trees, best leaf first, on fixed-point gradients. Here: which rows and columns a
 * tree sees (by a hash of their content), gradients, rounds and when to stop. boost_answer.c gives
 * the margins of new rows; boost_recipes.c holds the recipes and calls what is here. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/boost/boost_fit.h"
#include "services/inference/engine/learn/boost/boost_slopes.h"

typedef tab_boost_recipe recipe;
typedef tab_boost_work work;

/* ---- one fit --------------------------------------------------------------------------------- */

/* The rows and columns of a round's trees, by hashes of their content, so that no order of either has a
 * say. At most some 300 columns a tree (of wide tables every tree sees a part), and as many as the
 * histogram pool holds. */
static void sample(work *w, size_t round)
{
    const recipe *r = w->r;
    tab_grower *g = &w->grow;
    uint64_t seed = tab_mix2(w->p->seed ^ r->salt, round);
    size_t in = 0, out = 0;
    for (size_t i = 0; i < w->n; i++) { /* both are written, one end moves on: no branch to guess */
        bool take = r->rows >= 1 || tab_unit(tab_mix2(w->hash[i], seed)) < r->rows;
        w->pick[in] = (uint32_t)i;
        w->rest[out] = (uint32_t)i;
        in += take;
        out += !take;
    }
    for (size_t i = w->n; i < w->rows; i++)
        w->rest[out++] = (uint32_t)i;
    /* The columns: each is drawn with probability `share`; another set of draws where none was, 64 times at
     * most. A column has a run of the tree's histogram, beginning at offset[]. */
    g->sampled = in;
    g->others = out;
    g->columns = 0;
    size_t features = w->p->enc->n, used = 0;
    double share = r->columns;
    if (share * (double)features > 300)
        share = 300 / (double)features;
    if (features <= 3)
        share = 1;
    for (int widen = 0; g->columns == 0 && widen < 64; widen++)
        for (size_t f = 0; f < features; f++) {
            const tab_feature *q = &w->p->enc->f[f];
            uint64_t h = tab_mix2(q->hash + q->derive * 131 + q->part, seed + 7919 * (uint64_t)(widen + 1));
            if (tab_unit(h) < share && used + tab_grow_width(g->bins[f]) <= g->pool_stride) {
                g->column[g->columns++] = (uint32_t)f;
                g->offset[f] = (uint32_t)used;
                used += tab_grow_width(g->bins[f]);
            }
        }
}

/* Gradients of margin k at the sampled rows, made fixed-point, in the order in which the tree starts. */
static void gradients(work *w, size_t k)
{
    const tab_problem *p = w->p;
    tab_grower *grow = &w->grow;
    const uint32_t *pick = w->pick;
    const float *margin = w->margin + k * w->rows;
    /* g and h as real numbers, by the table at the head */
    size_t n = grow->sampled;
    float *g = w->slope, *h = w->bend;
    if (!p->classification) {
        for (size_t i = 0; i < n; i++)
            g[i] = margin[pick[i]] - w->y[pick[i]], h[i] = 1;
    } else if (w->margins == 1) {
        for (size_t i = 0; i < n; i++) {
            float q = 1 / (1 + expf(-margin[pick[i]]));
            g[i] = q - (w->label[pick[i]] == 1), h[i] = q * (1 - q);
        }
    } else {
        float scale = (float)w->margins / (float)(w->margins - 1);
        const float *prob = w->prob + k * w->n;
        for (size_t i = 0; i < n; i++) {
            float q = prob[pick[i]];
            g[i] = q - (w->label[pick[i]] == k), h[i] = q * (1 - q) * scale;
        }
    }
    tab_grow_begin(grow, g, h, !p->classification, pick, w->rest);
}

/* Rows whose margins are read side by side: a class's margins lie together, so that of thousands of classes a
 * row at a time would miss the caches at each. */
enum { SIDE = 64 };

/* Class probabilities of all rows, from their margins. */
static void softmax(work *w)
{
    for (size_t at = 0; at < w->n; at += SIDE) {
        size_t b = w->n - at < SIDE ? w->n - at : SIDE;
        /* the greatest margin is taken off first, so that no exponential overflows */
        float top[SIDE], sum[SIDE] = { 0 };
        memcpy(top, w->margin + at, b * sizeof *top);
        for (size_t k = 1; k < w->margins; k++) {
            const float *x = w->margin + k * w->rows + at;
            for (size_t i = 0; i < b; i++)
                top[i] = x[i] > top[i] ? x[i] : top[i];
        }
        for (size_t k = 0; k < w->margins; k++) {
            const float *x = w->margin + k * w->rows + at;
            float *q = w->prob + k * w->n + at;
            for (size_t i = 0; i < b; i++)
                sum[i] += q[i] = expf(x[i] - top[i]);
        }
        for (size_t k = 0; k < w->margins; k++) {
            float *q = w->prob + k * w->n + at;
            for (size_t i = 0; i < b; i++)
                q[i] /= sum[i];
        }
    }
}

/* The same for held rows of several classes: their summed log-loss. */
static double held_log_loss(const work *w)
{
    double loss = 0;
    for (size_t at = 0; at < w->t->held_n; at += SIDE) {
        size_t b = w->t->held_n - at < SIDE ? w->t->held_n - at : SIDE;
        const float *held = w->margin + w->n + at;
        float top[SIDE];
        double sum[SIDE] = { 0 };
        memcpy(top, held, b * sizeof *top);
        for (size_t k = 1; k < w->margins; k++)
            for (size_t i = 0; i < b; i++)
                top[i] = held[k * w->rows + i] > top[i] ? held[k * w->rows + i] : top[i];
        for (size_t k = 0; k < w->margins; k++)
            for (size_t i = 0; i < b; i++)
                sum[i] += exp((double)held[k * w->rows + i] - (double)top[i]);
        for (size_t i = 0; i < b; i++)
            loss +=
                log(sum[i]) + (double)top[i] - (double)held[w->p->label[w->t->held[at + i]] * w->rows + i];
    }
    return loss;
}

/* The held rows' summed loss: squared error, or log-loss without overflow. */
static double held_loss(const work *w)
{
    if (w->r->shared)
        return tab_boost_shared_loss(w);
    if (w->margins > 1)
        return held_log_loss(w);
    double loss = 0;
    const float *held = w->margin + w->n;
    for (size_t i = 0; i < w->t->held_n; i++) {
        uint32_t row = w->t->held[i];
        if (!w->p->classification) {
            double d = (double)(held[i] - w->p->y[row]);
            loss += d * d;
        } else {
            double z = (double)(w->p->label[row] == 1 ? held[i] : -held[i]);
            loss += z > 0 ? log1p(exp(-z)) : log1p(exp(z)) - z;
        }
    }
    return loss;
}

/* Room for one fit, but for bins and histograms. False: out of memory; release() frees what there is. */
static bool allocate(work *w)
{
    tab_grower *g = &w->grow;
    size_t features = w->p->enc->n, n = w->n, rows = w->rows, margins = w->margins;
    /* the grower's arrays, then the fit's own */
    g->bin = calloc(features + 1, sizeof *g->bin);
    g->bins = calloc(features + 1, sizeof *g->bins);
    g->offset = calloc(features + 1, sizeof *g->offset);
    g->column = calloc(features + 1, sizeof *g->column);
    g->importance = calloc(features + 1, sizeof *g->importance);
    g->order = malloc((rows + 1) * sizeof *g->order);
    g->other = malloc((rows + 1) * sizeof *g->other);
    g->spare = malloc((rows + 1) * sizeof *g->spare);
    g->gh = malloc((rows + 1) * sizeof *g->gh);
    g->gh_spare = malloc((rows + 1) * sizeof *g->gh_spare);
    g->leaf = calloc(w->r->leaves + 1, sizeof *g->leaf);
    size_t wide = w->r->shared ? tab_boost_stride(margins) : margins;
    w->margin = malloc((rows * wide + 1) * sizeof *w->margin);
    w->prob = margins > 1 ? malloc((n * wide + 1) * sizeof *w->prob) : NULL;
    w->direction = malloc(wide * sizeof *w->direction);
    w->row = malloc((rows + 1) * sizeof *w->row);
    w->hash = malloc((n + 1) * sizeof *w->hash);
    w->label = malloc((n + 1) * sizeof *w->label);
    w->y = malloc((n + 1) * sizeof *w->y);
    w->pick = malloc((rows + 1) * sizeof *w->pick);
    w->rest = malloc((rows + 1) * sizeof *w->rest);
    w->slope = malloc((n + 1) * sizeof *w->slope);
    w->bend = malloc((n + 1) * sizeof *w->bend);
    if (g->bin == NULL || g->bins == NULL || g->offset == NULL || g->column == NULL ||
        g->importance == NULL || g->order == NULL || g->other == NULL || g->spare == NULL || g->gh == NULL ||
        g->gh_spare == NULL || g->leaf == NULL || w->margin == NULL || w->direction == NULL ||
        w->row == NULL || w->hash == NULL || w->label == NULL || w->y == NULL || w->pick == NULL ||
        w->rest == NULL || w->slope == NULL || w->bend == NULL || (margins > 1 && w->prob == NULL))
        return false;
    return true;
}

/* The bins of the fit's rows, a missing one as the feature's last, and room for histograms of them. */
static bool copy_bins(work *w)
{
    const tab_problem *p = w->p;
    tab_grower *g = &w->grow;
    size_t features = p->enc->n, rows = w->rows, total = 0;
    g->bin[0] = malloc(features * rows + 1);
    if (g->bin[0] == NULL)
        return false;
    for (size_t f = 0; f < features; f++) {
        uint8_t *to = g->bin[f] = g->bin[0] + f * rows;
        const uint8_t *from = p->data->bin[f];
        uint8_t last = (uint8_t)p->enc->f[f].bins;
        g->bins[f] = (uint32_t)last + 1;
        total += tab_grow_width(g->bins[f]);
        for (size_t i = 0; i < rows; i++) {
            uint8_t b = from[w->row[i]];
            to[i] = b == TAB_BIN_MISSING ? last : b;
        }
    }
    /* A histogram pool beyond 64 MB buys nothing: fewer columns a tree then. */
    size_t most = ((size_t)64 << 20) / sizeof *g->pool / (w->r->leaves + 1) / 4 * 4;
    g->pool_stride = total < most ? total : most < 512 ? 512 : most;
    g->pool = aligned_alloc(64, ((w->r->leaves + 1) * g->pool_stride * sizeof *g->pool + 63) / 64 * 64);
    return g->pool != NULL;
}

/* base (margins): where the margins start, the mean or the log-odds of the classes with half a row of each.
 * */
static void base_of(const work *w, float *base)
{
    const tab_problem *p = w->p;
    const tab_fit_task *t = w->t;
    size_t n = w->n, margins = w->margins;
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
}

/* Everything that a fit needs before its first round. */
static bool prepare(work *w, float *base)
{
    const tab_problem *p = w->p;
    const tab_fit_task *t = w->t;
    size_t n = w->n, rows = w->rows, margins = w->margins;
    if (!allocate(w))
        return false;
    /* context rows first, then the held ones */
    memcpy(w->row, t->context, n * sizeof *w->row);
    if (t->held_n > 0)
        memcpy(w->row + n, t->held, t->held_n * sizeof *w->row);
    for (size_t i = 0; i < n; i++) {
        w->hash[i] = p->data->hash[w->row[i]];
        w->label[i] = p->classification ? p->label[w->row[i]] : 0;
        w->y[i] = p->classification ? 0 : p->y[w->row[i]];
    }
    if (!copy_bins(w))
        return false;
    base_of(w, base);
    if (w->r->shared)
        tab_boost_shared_start(w, base);
    for (size_t k = 0; k < margins && !w->r->shared; k++)
        for (size_t i = 0; i < rows; i++)
            w->margin[k * rows + i] = base[k];
    return true;
}

/* Frees what there is, also after a fit that failed. */
static void release(work *w)
{
    tab_grower *g = &w->grow;
    if (g->bin != NULL)
        free(g->bin[0]);
    free(g->bin), free(g->bins), free(g->offset), free(g->column), free(g->importance), free(g->order);
    free(g->other), free(g->spare), free(g->gh), free(g->gh_spare), free(g->leaf), free(g->pool);
    free(g->node), free(g->cover), free(g->set);
    free(w->margin), free(w->prob), free(w->direction), free(w->row), free(w->hash), free(w->label),
        free(w->y), free(w->pick), free(w->rest), free(w->slope), free(w->bend);
    free(w->root), free(w->depth), free(w->number), free(w->slopes);
}

/* The slopes of the leaves of the tree at `root`, before it moves any margin. False: out of memory. */
static bool add_slopes(work *w, uint32_t root, size_t leaves)
{
    tab_grower *g = &w->grow;
    if (g->nodes > w->slope_room) {
        tab_leaf_slopes *s = realloc(w->slopes, g->node_room * sizeof *s);
        if (s == NULL)
            return false;
        w->slopes = s;
        w->slope_room = g->node_room;
    }
    tab_slope_fit t = { w->p, g, w->row, w->margin, w->y, w->number, w->r->eta };
    memset(w->slopes + root, 0, (g->nodes - root) * sizeof *w->slopes);
    for (size_t l = 0; l < leaves; l++) {
        tab_leaf_slopes *s = &w->slopes[g->leaf[l].node];
        tab_slopes_fit(&t, root, &g->leaf[l], s);
        for (size_t j = 0; j < TAB_SLOPES; j++) /* what the slopes add in the mean is none of theirs */
            g->node[g->leaf[l].node].value -= s->slope[j] * s->mid[j];
    }
    return true;
}

/* Rows row[0..n) of the fit stand in the leaf at node `at`, which moves their margins. */
static void move(const work *w, uint32_t at, const uint32_t *row, size_t n, float *margin)
{
    const tab_tree_node *node = &w->grow.node[at];
    if (w->number == NULL) {
        for (size_t i = 0; i < n; i++)
            margin[row[i]] += node->value;
        return;
    }
    for (size_t i = 0; i < n; i++)
        margin[row[i]] += tab_slopes_add(node, &w->slopes[at], w->number, w->p->data, w->row[row[i]]);
}

/* One tree for margin k, which moves all rows' margins by its leaves. False: out of memory. */
static bool add_tree(work *w, size_t round, size_t k, bool *grew)
{
    tab_grower *g = &w->grow;
    size_t at = round * w->margins + k, leaves;
    /* the tree, and the steps to its farthest leaf, which walks need (boost_answer.c) */
    gradients(w, k);
    w->root[at] = tab_grow(g, &leaves);
    w->depth[at] = 0;
    for (size_t l = 0; l < leaves; l++)
        if (g->leaf[l].depth > w->depth[at])
            w->depth[at] = (uint8_t)g->leaf[l].depth;
    if (g->failed || (w->number != NULL && !add_slopes(w, w->root[at], leaves)))
        return false;
    *grew = *grew || leaves > 1;
    /* each row stands in exactly one leaf, sampled or led along */
    float *margin = w->margin + k * w->rows;
    for (size_t l = 0; l < leaves; l++) {
        const tab_grow_leaf *leaf = &g->leaf[l];
        move(w, leaf->node, g->order + leaf->at, leaf->count, margin);
        move(w, leaf->node, g->other + leaf->other_at, leaf->others, margin);
    }
    return true;
}

/* Rounds until `most`, until the held loss has not fallen for `patience` rounds, or until no tree splits.
 * *rounds: how many. False: cancelled or out of memory. */
static bool add_rounds(work *w, size_t most, double *curve, size_t *rounds)
{
    const tab_fit_task *t = w->t;
    /* curve[0] is the loss of the starting margins */
    size_t round = 0, best_round = 0;
    double best = held_loss(w);
    if (curve != NULL)
        curve[0] = best;
    for (; round < most && w->p->enc->n > 0; round++) {
        if (t->cancel != NULL && atomic_load_explicit(t->cancel, memory_order_relaxed))
            return false;
        /* probabilities are those before the round, for all of its trees */
        if (w->margins > 1 && !w->r->shared)
            softmax(w);
        bool grew = false;
        sample(w, round);
        if (w->r->shared && !tab_boost_shared_round(w, round, &grew))
            return false;
        for (size_t k = 0; k < w->margins && !w->r->shared; k++)
            if (!add_tree(w, round, k, &grew))
                return false;
        double loss = held_loss(w);
        if (curve != NULL)
            curve[round + 1] = loss;
        if (loss < best)
            best = loss, best_round = round + 1;
        /* along another direction a shared tree may split */
        if ((t->held_n > 0 && round + 1 >= best_round + w->r->patience) || (!grew && !w->r->shared)) {
            round++;
            break;
        }
    }
    /* rounds that were not made have no loss */
    for (size_t i = round + 1; curve != NULL && i <= most; i++)
        curve[i] = INFINITY;
    *rounds = round;
    return true;
}

/* The leaves' slopes in the fit's arena, with the numbers that any of them reads. False: it is full. */
static bool keep_slopes(const work *w, tab_boost *model)
{
    tab_arena *a = w->t->arena;
    size_t features = w->p->enc->n, nodes = w->grow.nodes;
    uint32_t *place = tab_arena_new_of(a, uint32_t, features + 1); /* + 1; 0: read by none */
    model->slopes = tab_arena_new_of(a, tab_leaf_slopes, nodes + 1);
    model->number = tab_arena_new_of(a, tab_slope_number, features + 1);
    if (tab_arena_full(a))
        return false;
    memcpy(model->slopes, w->slopes, nodes * sizeof *w->slopes);
    for (size_t i = 0; i < nodes; i++)
        for (size_t j = 0; j < TAB_SLOPES; j++) {
            uint32_t *f = &model->slopes[i].number[j];
            bool reads = model->slopes[i].slope[j] != 0;
            if (reads && place[*f] == 0) {
                model->number[model->numbers++] = w->number[*f];
                place[*f] = (uint32_t)model->numbers;
            }
            *f = reads ? place[*f] - 1 : 0;
        }
    if (model->numbers == 0)
        model->slopes = NULL;
    return true;
}

/* The grown trees in the fit's arena. False: it is full. */
static bool keep_model(const work *w, size_t rounds, float *base, tab_boost *model)
{
    const tab_problem *p = w->p;
    const tab_grower *g = &w->grow;
    tab_arena *a = w->t->arena;
    size_t trees = rounds * w->margins;
    *model = (tab_boost){ .margins = w->margins,
                          .outputs = p->outputs,
                          .rounds = rounds,
                          .grown = rounds,
                          .classification = p->classification,
                          .shared = w->r->shared,
                          .features = p->enc->n,
                          .base = base };
    /* the grower's arrays are larger than needed: the trees are copied to the fit's arena */
    model->node = tab_arena_new_of(a, tab_tree_node, g->nodes + 1);
    model->cover = tab_arena_new_of(a, float, g->nodes + 1);
    model->set = tab_arena_alloc(a, g->sets + 1, sizeof *model->set);
    model->root = tab_arena_new_of(a, uint32_t, trees + 1);
    model->depth = tab_arena_new_of(a, uint8_t, trees + 1);
    model->importance = tab_arena_new_of(a, float, p->enc->n + 1);
    if (tab_arena_full(a))
        return false;
    if (g->nodes > 0) {
        memcpy(model->node, g->node, g->nodes * sizeof *g->node);
        memcpy(model->cover, g->cover, g->nodes * sizeof *g->cover);
    }
    if (g->sets > 0)
        memcpy(model->set, g->set, g->sets * sizeof *g->set);
    if (w->number != NULL && g->nodes > 0 && !keep_slopes(w, model))
        return false;
    memcpy(model->root, w->root, trees * sizeof *w->root);
    memcpy(model->depth, w->depth, trees);
    /* importance as shares of all gain */
    double sum = 0;
    for (size_t f = 0; f < p->enc->n; f++)
        sum += g->importance[f];
    for (size_t f = 0; f < p->enc->n; f++)
        model->importance[f] = sum > 0 ? (float)(g->importance[f] / sum) : 0;
    return true;
}

tab_boost *tab_boost_fit(const tab_problem *p, const tab_fit_task *t, const recipe *r, size_t most,
                         double *curve)
{
    assert(r->leaves <= TAB_TREE_LEAVES && (!r->shared || (p->classification && p->outputs > 2)));
    /* two classes need one margin, more need one each */
    size_t margins = p->classification && p->outputs > 2 ? p->outputs : 1, rounds = 0;
    work w = { .p = p, .t = t, .r = r, .n = t->n, .rows = t->n + t->held_n, .margins = margins };
    w.grow.e = t->e;
    w.grow.enc = p->enc;
    w.grow.r = r;
    tab_boost *model = tab_arena_new_of(t->arena, tab_boost, 1);
    float *base = tab_arena_new_of(t->arena, float, margins);
    w.root = malloc((most * margins + 1) * sizeof *w.root);
    w.depth = malloc(most * margins + 1);
    bool sloped = r->slopes && !p->classification;
    if (sloped && (w.number = calloc(p->enc->n + 1, sizeof *w.number)) != NULL)
        tab_slope_numbers(p->enc, w.number);
    bool ok = model != NULL && base != NULL && w.root != NULL && w.depth != NULL && t->n > 0 &&
              (!sloped || w.number != NULL) && prepare(&w, base) && add_rounds(&w, most, curve, &rounds) &&
              keep_model(&w, rounds, base, model);
    release(&w);
    return ok ? model : NULL;
}
