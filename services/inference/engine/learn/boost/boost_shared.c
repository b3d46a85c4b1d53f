/* One tree a round for all classes: boosting of many classes over many rows (decision 0385). boost.c calls it
 * where a tree a class and round, whose work grows with rows x features x classes, is more than the budget.
 *
 * With F the K margins of a row and p their softmax, a round takes a direction w of the classes, a sign for
 * each by chance. Moving F by s w changes the log-loss by its derivatives along w,
 *
 *   g = sum_k w_k (p_k - [y = k])        h = sum_k w_k^2 p_k - (sum_k w_k p_k)^2 = 1 - (sum_k w_k p_k)^2
 *
 * and one tree is grown on them as for a single margin: it parts the classes of the one sign from those of
 * the other. In the mean over directions the squared sum of g over some rows is the squared length of the sum
 * of all K gradients there, so that its splits are good for all of them (random projections of the gradients:
 * Iosipoi & Vakhrushev, "SketchBoost", NeurIPS 2022; signs by chance: error-correcting output codes,
 * Dietterich & Bakiri, JAIR 1995). Its leaves then get a value for each class, by that class's own sums:
 *
 *   v_k = -G_k / (H_k + lambda)          h_k = p_k (1 - p_k) K / (K - 1)
 *
 * So histograms cost rows x features, and what is left of rows x classes are an exponential, two sums and an
 * addition. The model is the same as of a tree a class: K trees of one shape, in one order of nodes, of which
 * only the leaves differ. A row's margins lie together here, in whole vectors. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/boost/boost_fit.h"
#include "services/inference/engine/learn/clones.h"
#include "services/inference/engine/learn/lanes.h"

enum { LANES = TAB_LANES };
typedef tab_lanes lanes;
typedef tab_lanes_int lanes_int;

/* Below all margins that occur: what fills the last vector has no share. */
static const float NONE = -1e30f;

void tab_boost_shared_start(tab_boost_work *w, const float *base)
{
    size_t stride = tab_boost_stride(w->margins);
    for (size_t i = 0; i < w->rows; i++)
        for (size_t k = 0; k < stride; k++)
            w->margin[i * stride + k] = k < w->margins ? base[k] : NONE;
}

/* The softmax of one row's margins; what is e^-80 of the greatest and less is 0. */
TAB_WIDE_CLONES static void softmax_row(const float *margin, size_t stride, float *prob)
{
    lanes most, sum = { 0 };
    memcpy(&most, margin, sizeof most);
    for (size_t k = LANES; k < stride; k += LANES) {
        lanes x;
        memcpy(&x, margin + k, sizeof x);
        lanes_int more = x > most;
        most = (lanes)(((lanes_int)x & more) | ((lanes_int)most & ~more));
    }
    float top = most[0];
    for (int k = 1; k < LANES; k++)
        top = most[k] > top ? most[k] : top;
    for (size_t k = 0; k < stride; k += LANES) {
        lanes x;
        memcpy(&x, margin + k, sizeof x);
        x -= top;
        lanes_int near = x > -80.0f;
        x = (lanes)((lanes_int)x & near);
        tab_exp_lanes(&x);
        lanes p = (lanes)((lanes_int)x & near);
        sum += p;
        memcpy(prob + k, &p, sizeof p);
    }
    float all = 0;
    for (int k = 0; k < LANES; k++)
        all += sum[k];
    for (size_t k = 0; k < stride; k += LANES) {
        lanes p;
        memcpy(&p, prob + k, sizeof p);
        p /= all;
        memcpy(prob + k, &p, sizeof p);
    }
}

/* sum_k w_k p_k */
TAB_WIDE_CLONES static float along(const float *direction, const float *prob, size_t stride)
{
    lanes sum = { 0 };
    for (size_t k = 0; k < stride; k += LANES) {
        lanes a, b;
        memcpy(&a, direction + k, sizeof a);
        memcpy(&b, prob + k, sizeof b);
        sum += a * b;
    }
    float all = 0;
    for (int k = 0; k < LANES; k++)
        all += sum[k];
    return all;
}

double tab_boost_shared_loss(const tab_boost_work *w)
{
    size_t stride = tab_boost_stride(w->margins);
    double loss = 0;
    for (size_t i = 0; i < w->t->held_n; i++) {
        const float *x = w->margin + (w->n + i) * stride;
        float top = x[0];
        for (size_t k = 1; k < w->margins; k++)
            top = x[k] > top ? x[k] : top;
        double sum = exp((double)x[0] - (double)top);
        for (size_t k = 1; k < w->margins; k++)
            sum += exp((double)x[k] - (double)top);
        loss += log(sum) + (double)top - (double)x[w->p->label[w->t->held[i]]];
    }
    return loss;
}

/* A sign for each class by chance; both signs occur. */
static void draw_direction(tab_boost_work *w, size_t round)
{
    size_t stride = tab_boost_stride(w->margins), plus = 0;
    uint64_t seed = tab_mix2(w->p->seed ^ w->r->salt, 0xd17 + round);
    for (size_t k = 0; k < stride; k++) {
        bool up = k < w->margins && tab_mix2(seed, k) >> 63;
        w->direction[k] = k >= w->margins ? 0 : up ? 1 : -1;
        plus += up;
    }
    if (plus == 0 || plus == w->margins)
        w->direction[seed % w->margins] *= -1;
}

/* Probabilities of the sampled rows, and g and h along the direction. */
static void slopes(tab_boost_work *w)
{
    size_t stride = tab_boost_stride(w->margins);
    for (size_t i = 0; i < w->grow.sampled; i++) {
        uint32_t row = w->pick[i];
        float *prob = w->prob + row * stride;
        softmax_row(w->margin + row * stride, stride, prob);
        float s = along(w->direction, prob, stride);
        w->slope[i] = s - w->direction[w->label[row]];
        w->bend[i] = 1 - s * s;
    }
}

/* g and h of each class over some rows of a leaf, added to their sums. */
TAB_WIDE_CLONES static void add_rows(const float *prob, const uint32_t *order, size_t n, size_t stride,
                                     double *g, double *h)
{
    typedef double wide __attribute__((vector_size(64)));
    typedef float narrow __attribute__((vector_size(32)));
    enum { AHEAD = 12 }; /* a leaf's rows lie scattered, each on lines of its own */
    for (size_t i = 0; i < n; i++) {
        const float *p = prob + order[i] * stride;
        for (size_t k = 0; i + AHEAD < n && k < stride; k += LANES)
            __builtin_prefetch(prob + order[i + AHEAD] * stride + k);
        for (size_t k = 0; k < stride; k += 8) {
            narrow x;
            wide a, b;
            memcpy(&x, p + k, sizeof x);
            memcpy(&a, g + k, sizeof a);
            memcpy(&b, h + k, sizeof b);
            a += __builtin_convertvector(x, wide);
            b += __builtin_convertvector(x - x * x, wide);
            memcpy(g + k, &a, sizeof a);
            memcpy(h + k, &b, sizeof b);
        }
    }
}

/* A leaf's values, for some rows. */
TAB_WIDE_CLONES static void move_rows(float *margin, const uint32_t *order, size_t n, size_t stride,
                                      const float *value)
{
    enum { AHEAD = 12 };
    for (size_t i = 0; i < n; i++) {
        float *x = margin + order[i] * stride;
        for (size_t k = 0; i + AHEAD < n && k < stride; k += LANES)
            __builtin_prefetch(margin + order[i + AHEAD] * stride + k, 1);
        for (size_t k = 0; k < stride; k += LANES) {
            lanes a, b;
            memcpy(&a, x + k, sizeof a);
            memcpy(&b, value + k, sizeof b);
            a += b;
            memcpy(x + k, &a, sizeof a);
        }
    }
}

/* sum (nodes, 2, stride): G and H of each class at the leaves, then at the nodes above, children standing
 * behind their parents. */
static void sum_nodes(const tab_boost_work *w, uint32_t root, size_t leaves, double *sum)
{
    const tab_grower *g = &w->grow;
    size_t stride = tab_boost_stride(w->margins), nodes = g->nodes - root;
    memset(sum, 0, nodes * 2 * stride * sizeof *sum);
    for (size_t l = 0; l < leaves; l++) {
        const tab_grow_leaf *leaf = &g->leaf[l];
        double *own = sum + (leaf->node - root) * 2 * stride;
        add_rows(w->prob, g->order + leaf->at, leaf->count, stride, own, own + stride);
        for (size_t i = 0; i < leaf->count; i++)
            own[w->label[g->order[leaf->at + i]]] -= 1;
    }
    for (size_t i = nodes; i-- > 0;)
        if (g->node[root + i].feature >= 0) {
            const double *left = sum + (g->node[root + i].left - root) * 2 * stride;
            for (size_t k = 0; k < 2 * stride; k++)
                sum[i * 2 * stride + k] = left[k] + left[2 * stride + k];
        }
}

bool tab_boost_shared_round(tab_boost_work *w, size_t round, bool *grew)
{
    tab_grower *g = &w->grow;
    size_t classes = w->margins, stride = tab_boost_stride(classes), leaves;
    draw_direction(w, round);
    slopes(w);
    tab_grow_begin(g, w->slope, w->bend, false, w->pick, w->rest);
    uint32_t root = tab_grow(g, &leaves);
    size_t nodes = g->nodes - root;
    double *sum = g->failed ? NULL : malloc(nodes * 2 * stride * sizeof *sum);
    float *value = g->failed ? NULL : calloc(stride, sizeof *value);
    bool ok = sum != NULL && value != NULL;
    if (ok)
        sum_nodes(w, root, leaves, sum);
    ok = ok && tab_grow_copies(g, root, nodes, classes - 1);
    uint8_t depth = 0;
    for (size_t l = 0; ok && l < leaves; l++)
        depth = g->leaf[l].depth > depth ? (uint8_t)g->leaf[l].depth : depth;
    double scale = (double)classes / (double)(classes - 1);
    for (size_t k = 0; ok && k < classes; k++) {
        tab_tree_node *node = g->node + root + k * nodes;
        for (size_t i = 0; i < nodes; i++) {
            const double *own = sum + i * 2 * stride + k;
            node[i].value = (float)(-own[0] / (own[stride] * scale + w->r->lambda) * w->r->eta);
        }
        w->root[round * classes + k] = root + (uint32_t)(k * nodes);
        w->depth[round * classes + k] = depth;
    }
    for (size_t l = 0; ok && l < leaves; l++) {
        const tab_grow_leaf *leaf = &g->leaf[l];
        for (size_t k = 0; k < classes; k++)
            value[k] = g->node[leaf->node + k * nodes].value;
        move_rows(w->margin, g->order + leaf->at, leaf->count, stride, value);
        move_rows(w->margin, g->other + leaf->other_at, leaf->others, stride, value);
    }
    *grew = *grew || (ok && leaves > 1);
    free(sum);
    free(value);
    return ok;
}
