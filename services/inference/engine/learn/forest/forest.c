/* Extremely randomized trees (Geurts, Ernst & Wehenkel, Machine Learning 2006) on binned features: two
 * learners of the stack, "forest" and "forest-fine" (decision 0181).
 *
 * At each node a few features are drawn, each with one cut drawn uniformly between the least and the greatest
 * bin that its rows hold (a category: a random half of its levels; missing cells: a random side), and the
 * best of these splits is kept: by the decrease of the sum of squares, which for classes, coded one-hot, is
 * Gini's. Trees are grown almost to single rows and averaged: low bias by depth, low variance by randomness,
 * and errors unlike the boosted trees', which is what a stack needs.
 *
 * Every draw is a hash of the tree, the node's way from the root and the number of the draw. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/forest/forest_walk.h"

/* DEEPEST bounds the recursion. MOST_TRIED: features tried at a node of a wide table, a bound of cost.
 * MOST_OUTPUTS: the stack buffer of a vote. TREES: half and twice move log-loss by 0.001 of tuned XGBoost's
 * (decision 0307). */
enum { TREES = 48, DEEPEST = 40, MOST_OUTPUTS = 64, MOST_TRIED = 60 };
/* Least rows of a leaf, for clean and for noisy targets; [classification][config]. Which is better is
 * tried on one fold. Leaves of single rows for classes as in decision 0181. */
static const size_t LEAST[2][2] = { { 2, 6 }, { 1, 6 } };
/* least rows of a leaf of "forest-fine" */
enum { FINE = 1 };

/* The fitted form; leaves point into `value`, k values each. */
typedef struct {
    size_t outputs, k;          /* k: values a leaf: 1, or classes beyond two */
    bool classification, codes; /* codes: some node asks for a category */
    tab_forest_node *node;
    float *value;
    size_t nodes, values;
    size_t trees;
    uint32_t *root; /* (trees) */
    float *prior;   /* (k) */
} forest;

/* What one fit works with; rows are positions in the context. */
typedef struct {
    const tab_problem *p;
    size_t k, mtry, least;
    uint64_t seed;
    uint8_t *const *bin;
    const uint32_t *label;
    const float *y;
    float *value;     /* (rows) of the node at hand, in its rows' order: the target, or 1 for label 1 */
    uint32_t *class;  /* (rows) likewise, beyond two classes */
    uint8_t *own_bin; /* (rows) likewise, of the feature that is tried */
    forest *m;
    size_t nodes, values, node_room, value_room;
    bool failed;
} grower;

/* Room for more nodes and values. g->failed: out of memory. */
static void reserve(grower *g, size_t nodes, size_t values)
{
    if (g->nodes + nodes > g->node_room) {
        size_t room = g->node_room * 2 + 4096;
        void *p = realloc(g->m->node, room * sizeof *g->m->node);
        if (p == NULL) {
            g->failed = true;
            return;
        }
        g->m->node = p;
        g->node_room = room;
    }
    if (g->values + values > g->value_room) {
        size_t room = g->value_room * 2 + 4096 + values;
        void *p = realloc(g->m->value, room * sizeof *g->m->value);
        if (p == NULL) {
            g->failed = true;
            return;
        }
        g->m->value = p;
        g->value_room = room;
    }
}

/* The mean target of the leaf's rows, or their classes' shares. */
static void make_leaf(grower *g, uint32_t at, const uint32_t *row, size_t n)
{
    reserve(g, 0, g->k);
    if (g->failed)
        return;
    float *v = g->m->value + g->values;
    memset(v, 0, g->k * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        if (g->label == NULL)
            v[0] += g->y[row[i]] / (float)n;
        else if (g->k == 1)
            v[0] += (float)(g->label[row[i]] == 1) / (float)n;
        else
            v[g->label[row[i]]] += 1 / (float)n;
    }
    g->m->node[at] = (tab_forest_node){ .left = (uint32_t)g->values, .how = TAB_FOREST_LEAF };
    g->values += g->k;
}

/* What the tried splits of a node share. */
typedef struct {
    double sum;
    uint32_t all[MOST_OUTPUTS];
} whole;

/* How far the split of the node's n rows by `t` brings down the sum of squares, up to a constant of the node.
 * Which way a row goes is a coin's throw: sums are masked, a branch would be guessed wrong every other
 * time. */
static double gain(const grower *g, const tab_forest_split *t, size_t n, uint8_t hi, const whole *w)
{
    enum { WORTH_A_TABLE = 64 };
    const uint8_t *bin = g->own_bin;
    uint8_t way[256];
    size_t nl = 0;
    /* a set's side costs a hash: many rows look it up by bin */
    if (t->code && n > WORTH_A_TABLE) {
        for (uint32_t b = 0; b <= hi; b++)
            way[b] = tab_forest_goes_left(t, (uint8_t)b);
        way[TAB_BIN_MISSING] = t->missing_left;
        for (size_t i = 0; i < n; i++)
            nl += g->own_bin[i] = way[bin[i]];
    } else {
        for (size_t i = 0; i < n; i++)
            nl += g->own_bin[i] = tab_forest_goes_left(t, bin[i]);
    }
    const uint8_t *left_side = g->own_bin;
    /* too few rows on a side: no split */
    if (nl < g->least || n - nl < g->least)
        return -1;
    /* one value a row: sums of squares by the two sums */
    if (g->label == NULL || g->k == 1) {
        double left = 0;
        for (size_t i = 0; i < n; i++)
            left += (double)(g->value[i] * (float)left_side[i]);
        double right = w->sum - left;
        return left * left / (double)nl + right * right / (double)(n - nl) - w->sum * w->sum / (double)n;
    }
    /* classes: squares of the counts, which is Gini's decrease up to a constant */
    uint32_t left[MOST_OUTPUTS];
    memset(left, 0, g->k * sizeof *left);
    for (size_t i = 0; i < n; i++)
        left[g->class[i]] += left_side[i];
    double sl = 0, sr = 0, sa = 0;
    for (size_t k = 0; k < g->k; k++) {
        double l = left[k], a = w->all[k];
        sl += l * l, sr += (a - l) * (a - l), sa += a * a;
    }
    return sl / (double)nl + sr / (double)(n - nl) - sa / (double)n;
}

/* Copies the node's targets to where the splits read them in a row. */
static void open_node(grower *g, const uint32_t *row, size_t n, whole *w)
{
    w->sum = 0;
    if (g->label != NULL && g->k > 1) {
        memset(w->all, 0, g->k * sizeof *w->all);
        for (size_t i = 0; i < n; i++)
            w->all[g->class[i] = g->label[row[i]]]++;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        g->value[i] = g->label == NULL ? g->y[row[i]] : (float)(g->label[row[i]] == 1);
        w->sum += (double)g->value[i];
    }
}

/* Whether all rows have one target: nothing is left to split. */
static bool pure(const grower *g, const uint32_t *row, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (g->label != NULL ? g->label[row[i]] != g->label[row[0]] : g->y[row[i]] != g->y[row[0]])
            return false;
    return true;
}

/* The best of the splits that are tried at a node of n rows; feature -1: none is worth it. */
static tab_forest_split find_split(grower *g, const uint32_t *row, size_t n, uint64_t salt)
{
    tab_forest_split best = { .feature = -1 };
    double most = 1e-9;
    size_t features = g->p->enc->n, tried = 0;
    whole w;
    open_node(g, row, n, &w);
    /* constant features do not count as tried, but only so many draws are made */
    for (size_t draw = 0; tried < g->mtry && draw < 3 * g->mtry; draw++) {
        uint64_t h = tab_mix2(salt, draw);
        uint32_t f = (uint32_t)(h % features);
        const uint8_t *bin = g->bin[f];
        tab_forest_split t = { .feature = (int32_t)f,
                               .code = g->p->enc->f[f].kind == TAB_FEATURE_CODE,
                               .missing_left = h >> 40 & 1,
                               .salt = (uint32_t)(h >> 32) };
        /* the bins that the node's rows hold, and whether some are missing */
        uint8_t lo = TAB_BIN_MISSING, hi = 0;
        bool missing = false;
        for (size_t i = 0; i < n; i++) {
            uint8_t b = bin[row[i]], known = b == TAB_BIN_MISSING ? 0 : b;
            g->own_bin[i] = b;
            missing |= b == TAB_BIN_MISSING;
            lo = b < lo ? b : lo;
            hi = known > hi ? known : hi;
        }
        /* one bin alone can only be split from the missing cells */
        if (hi <= lo && !(missing && hi == lo))
            continue;
        t.cut = hi > lo ? (uint8_t)(lo + (size_t)(tab_unit(tab_mix(h)) * (hi - lo))) : hi;
        if (hi == lo)
            t.missing_left = false, t.code = false;
        tried++;
        double v = gain(g, &t, n, hi, &w);
        if (v > most)
            most = v, best = t;
    }
    return best;
}

/* Makes node `at` an inner one, its children behind all nodes. The index of the left one; g->failed: out of
 * memory. */
static uint32_t make_inner(grower *g, uint32_t at, const tab_forest_split *s)
{
    size_t bins = g->p->enc->f[s->feature].bins, room = tab_forest_room(s, bins);
    reserve(g, room, 0);
    if (g->failed)
        return 0;
    uint32_t left = (uint32_t)g->nodes;
    g->nodes += room;
    g->m->codes = g->m->codes || s->code;
    tab_forest_divide(g->m->node, at, left, s, bins);
    return left;
}

/* One node and, below it, its subtrees. salt makes the draws of this node alone: they do not depend on the
 * size of other nodes. */
static void grow(grower *g, uint32_t at, uint32_t *row, size_t n, int depth, uint64_t salt)
{
    tab_forest_split best = { .feature = -1 };
    if (!g->failed && n >= 2 * g->least && depth < DEEPEST && !pure(g, row, n))
        best = find_split(g, row, n, salt);
    if (g->failed)
        return;
    if (best.feature < 0) {
        make_leaf(g, at, row, n);
        return;
    }
    /* rows of the left child are brought to the front */
    const uint8_t *bin = g->bin[best.feature];
    size_t left = 0, right = n;
    while (left < right) {
        if (tab_forest_goes_left(&best, bin[row[left]])) {
            left++;
        } else {
            uint32_t swap = row[--right];
            row[right] = row[left];
            row[left] = swap;
        }
    }
    uint32_t child = make_inner(g, at, &best);
    if (g->failed)
        return;
    /* the children's salts differ from each other and from those of all other nodes */
    grow(g, child, row, left, depth + 1, tab_mix2(salt, 101));
    grow(g, child + 1, row + left, n - left, depth + 1, tab_mix2(salt, 102));
}

/* Grows the trees over n context rows. row (n): scratch. False: cancelled or out of memory. */
static bool grow_trees(grower *g, const tab_fit_task *t, uint64_t seed, uint32_t *row)
{
    forest *m = g->m;
    for (size_t tree = 0; tree < m->trees; tree++) {
        if (t->cancel != NULL && atomic_load_explicit(t->cancel, memory_order_relaxed))
            return false;
        for (size_t i = 0; i < t->n; i++)
            row[i] = (uint32_t)i;
        reserve(g, 1, 0);
        m->root[tree] = (uint32_t)g->nodes++;
        if (!g->failed)
            grow(g, m->root[tree], row, t->n, 0, tab_mix2(seed, tree));
        if (g->failed)
            return false;
    }
    return true;
}

/* Moves the forest from the growing arrays into the model's arena. False: it is full. */
static bool keep_trees(grower *g, tab_arena *a, bool grown)
{
    forest *m = g->m;
    tab_forest_node *nodes = tab_arena_new_of(a, tab_forest_node, g->nodes + 1);
    float *values = tab_arena_new_of(a, float, g->values + 1);
    bool ok = grown && nodes != NULL && values != NULL;
    if (ok) {
        memcpy(nodes, m->node, g->nodes * sizeof *nodes);
        memcpy(values, m->value, g->values * sizeof *values);
    }
    free(m->node), free(m->value);
    m->node = nodes;
    m->value = values;
    m->nodes = g->nodes;
    m->values = g->values;
    return ok;
}

/* The context rows' targets, and their mean or the shares of the classes. */
static void read_targets(const tab_problem *p, const tab_fit_task *t, size_t k, uint32_t *label, float *y,
                         float *prior)
{
    size_t n = t->n;
    for (size_t i = 0; i < n; i++) {
        label[i] = p->classification ? p->label[t->context[i]] : 0;
        y[i] = p->classification ? 0 : p->y[t->context[i]];
        if (!p->classification)
            prior[0] += y[i] / (float)n;
        else if (k == 1)
            prior[0] += (float)(label[i] == 1) / (float)n;
        else
            prior[label[i]] += 1 / (float)n;
    }
}

/* NULL: too few rows, too many classes, cancelled or out of memory. */
static void *fit(const tab_problem *p, const tab_fit_task *t, size_t trees, bool fine)
{
    if (t->n < 8 || p->outputs > MOST_OUTPUTS || p->enc->n == 0 || p->enc->n > TAB_FOREST_FEATURES)
        return NULL;
    forest *m = tab_arena_new_of(t->arena, forest, 1);
    size_t k = p->classification && p->outputs > 2 ? p->outputs : 1, features = p->enc->n, n = t->n;
    float *prior = tab_arena_new_of(t->arena, float, k);
    uint32_t *root = tab_arena_new_of(t->arena, uint32_t, trees);
    uint32_t *row = malloc(n * sizeof *row), *label = malloc(n * sizeof *label);
    float *y = malloc(n * sizeof *y), *value = malloc(n * sizeof *value);
    uint32_t *class = malloc(n * sizeof *class);
    uint8_t *own_bin = malloc(n);
    uint8_t **bin = malloc(features * sizeof *bin), *bins = malloc(features * n);
    bool ok = m != NULL && prior != NULL && root != NULL && row != NULL && label != NULL && y != NULL &&
              bin != NULL && bins != NULL && value != NULL && class != NULL && own_bin != NULL;
    if (ok) {
        /* bins feature by feature, for the context's rows alone */
        *m = (forest){ .outputs = p->outputs,
                       .k = k,
                       .classification = p->classification,
                       .prior = prior,
                       .trees = trees,
                       .root = root };
        for (size_t f = 0; f < features; f++) {
            bin[f] = bins + f * n;
            for (size_t i = 0; i < n; i++)
                bin[f][i] = p->data->bin[f][t->context[i]];
        }
        read_targets(p, t, k, label, y, prior);
        /* features tried at a node: their root for classes, a third for numbers, as the authors advise */
        double share = p->classification ? sqrt((double)features) + 2 : (double)features / 3 + 2;
        grower g = { .p = p,
                     .k = k,
                     .mtry = (size_t)(share < MOST_TRIED ? share : MOST_TRIED),
                     .bin = bin,
                     .least = fine ? FINE : LEAST[p->classification][t->config],
                     .label = p->classification ? label : NULL,
                     .y = y,
                     .value = value,
                     .class = class,
                     .own_bin = own_bin,
                     .m = m };
        ok = keep_trees(&g, t->arena, grow_trees(&g, t, p->seed + (fine ? 0xf1 : 0xf0), row));
    }
    free(row), free(label), free(y), free(bin), free(bins), free(value), free(class), free(own_bin);
    return ok ? m : NULL;
}

/* The mean over the trees; probabilities are drawn to the prior by half a tree. */
static void forest_predict(const void *model, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                           size_t n, float *out)
{
    const forest *m = model;
    float trees = (float)m->trees;
    bool two = m->classification && m->k == 1;
    size_t stride = two ? 2 : m->k;
    (void)enc;
    /* the sums stand where the answers will */
    memset(out, 0, n * stride * sizeof *out);
    tab_forest_walks w = { m->node, m->root, m->value, m->trees, m->k, m->codes };
    tab_forest_add(&w, q->bin, row, n, out + two, stride);
    for (size_t i = 0; i < n; i++) {
        float *o = out + i * stride;
        if (!m->classification) {
            o[0] /= trees;
        } else if (two) { /* half a tree of the prior keeps the logarithm finite */
            float p = (o[1] + 0.5f * m->prior[0] + 0.01f) / (trees + 0.52f);
            o[0] = logf(1 - p);
            o[1] = logf(p);
        } else {
            for (size_t k = 0; k < m->k; k++)
                o[k] = logf((o[k] + 0.5f * m->prior[k] + 0.01f) / (trees + 1));
        }
    }
}

static void pack(tab_pack *p, void *each, const void *context)
{
    (void)context;
    forest *m = each;
    TAB_PACK(p, m->node, m->nodes);
    TAB_PACK(p, m->value, m->values);
    TAB_PACK(p, m->root, m->trees);
    TAB_PACK(p, m->prior, m->k);
}

static void forest_pack(tab_pack *p, void **model)
{
    tab_pack_each(p, model, 1, sizeof(forest), pack, NULL);
}

static void *forest_fit(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    (void)curve;
    return fit(p, t, TREES, false);
}

/* For the budget: rows x depth x features tried, over all trees. 1.5 and 2 are rough: the budget
 * needs the order of magnitude only (decision 0051). */
static double forest_work(const tab_problem *p, size_t n)
{
    if (p->outputs > MOST_OUTPUTS)
        return 0;
    double share = p->classification ? sqrt((double)p->enc->n) + 2 : (double)p->enc->n / 3 + 2;
    return TREES * (double)n * 1.5 * log2((double)n + 2) * 2 * (share < MOST_TRIED ? share : MOST_TRIED);
}

static void *fine_fit(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    (void)curve;
    return fit(p, t, TREES, true);
}

static double fine_work(const tab_problem *p, size_t n)
{
    return p->classification ? forest_work(p, n) : 0;
}

const tab_learner tab_learn_forest = { .name = "forest",
                                       .configs = 2,
                                       .cap = 20000,
                                       .work = forest_work,
                                       .fit = forest_fit,
                                       .predict = forest_predict,
                                       .pack = forest_pack };
/* Leaves of single rows whatever they are worth alone: Decision 0181. */
const tab_learner tab_learn_forest_fine = { .name = "forest-fine",
                                            .configs = 1,
                                            .cap = 20000,
                                            .work = fine_work,
                                            .fit = fine_fit,
                                            .predict = forest_predict,
                                            .pack = forest_pack };
