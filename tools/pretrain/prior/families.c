/* The families of prior.h but two (additive.c, levels.c): each draws raw columns and a numeric (or class)
 * target out of the pieces of functions.c. */
#include "tools/pretrain/prior/internal.h"

#include <string.h>

/* ---- choosing the columns -------------------------------------------------------------------- */
/* The table's columns out of the first `made` of the pool. */
static void choose_columns(tab_prior *p, tab_rand *r, int made, const tab_prior_shape *s)
{
    int pick[POOL], n = s->rows;
    for (int j = 0; j < made; j++)
        pick[j] = j;
    rnd_shuffle(r, pick, made);
    for (int c = 0; c < s->cols; c++) {
        float *v = p->table + (size_t)c * (size_t)n;
        if (c < made) {
            memcpy(v, p->pool + (size_t)pick[c] * (size_t)n, (size_t)n * sizeof *v);
        } else { /* fewer than asked for: a noisy copy of one, or noise */
            const float *from = p->pool + (size_t)pick[rnd_int(r, made)] * (size_t)n;
            float keep = rnd_chance(r, 0.4f) ? 0.0f : rnd_range(r, 0.2f, 1.0f);
            for (int i = 0; i < n; i++)
                v[i] = keep * from[i] + sqrtf(1.0f - keep * keep) * rnd_normal(r);
        }
    }
}

/* A causal graph: nodes in causal order, each with a block of columns in p->pool. */
typedef struct {
    int nodes, width[GRAPH_NODES], at[GRAPH_NODES + 1]; /* node j's columns: at[j] .. at[j + 1] */
    float a, b[GRAPH_NODES], c[GRAPH_NODES];            /* i is a parent of j with log-odds a + b[i] + c[j] */
    bool root[GRAPH_NODES];
} graph;

/* Widths and the odds of edges; wide enough for `need` columns, where it can be. */
static graph shape_graph(tab_rand *r, int need)
{
    graph g = { .nodes = rnd_log_int(r, 2, GRAPH_NODES) };
    int made = 0;
    g.a = rnd_cauchy(r);
    for (int j = 0; j < g.nodes; j++) {
        g.b[j] = rnd_cauchy(r);
        g.c[j] = rnd_cauchy(r);
        g.width[j] = rnd_log_int(r, 1, NODE_WIDTH);
        made += g.width[j];
    }
    for (int j = 0; made < need && j < g.nodes; j++) {
        int room = NODE_WIDTH - g.width[j], more = need - made < room ? need - made : room;
        g.width[j] += more;
        made += more;
    }
    return g;
}

/* parents (GRAPH_NODES): at most five of node j's; gives their number. */
static int parents_of(tab_rand *r, const graph *g, int j, int *parents)
{
    int np = 0;
    for (int i = 0; i < j; i++)
        if (rnd_chance(r, 1.0f / (1.0f + expf(-tab_prior_clip(g->a + g->b[i] + g->c[j], 30.0f)))))
            parents[np++] = i;
    if (np == 0 && j == g->nodes - 1 && j > 0) /* the graph has at least one edge */
        parents[np++] = rnd_int(r, j);
    rnd_shuffle(r, parents, np);
    return np > 5 ? 5 : np;
}

/* out (width[j], n): a random function of the parents side by side, or a sum, product or maximum of functions
 * of each. */
static void from_parents(tab_prior *p, tab_rand *r, const graph *g, int j, const int *parents, int np, int n,
                         float *out)
{
    float how = rnd_unit(r), *in = p->table; /* scratch until the columns are chosen */
    float *part = p->work + (size_t)(4 * NODE_WIDTH) * (size_t)n;
    if (how < 0.4f) { /* concatenation: up to 24 of the parents' coordinates */
        int have = 0;
        for (int k = 0; k < np; k++)
            for (int d = 0, q = parents[k]; d < g->width[q] && have < NODE_WIDTH; d++)
                if (np == 1 || have < (k + 1) * NODE_WIDTH / np)
                    memcpy(in + (size_t)have++ * (size_t)n, p->pool + (size_t)(g->at[q] + d) * (size_t)n,
                           (size_t)n * sizeof *in);
        tab_prior_apply(p, r, in, have, out, g->width[j], n);
        return;
    }
    for (int k = 0; k < np; k++) {
        const float *x = p->pool + (size_t)g->at[parents[k]] * (size_t)n;
        tab_prior_apply(p, r, x, g->width[parents[k]], k == 0 ? out : part, g->width[j], n);
        if (k == 0)
            continue;
        for (int d = 0; d < g->width[j]; d++)
            tab_prior_standardise(part + (size_t)d * (size_t)n, n);
        for (size_t i = 0; i < (size_t)g->width[j] * (size_t)n; i++)
            out[i] = how < 0.8f   ? out[i] + part[i]
                     : how < 0.9f ? tab_prior_clip(out[i], 30.0f) * part[i]
                                  : fmaxf(out[i], part[i]);
    }
}

/* Node j's columns, standardised, of random scales, with noise where they have parents. */
static void draw_node(tab_prior *p, tab_rand *r, const tab_prior_shape *s, graph *g, int j)
{
    int n = s->rows, parents[GRAPH_NODES];
    float *out = p->pool + (size_t)g->at[j] * (size_t)n;
    g->at[j + 1] = g->at[j] + g->width[j];
    int np = parents_of(r, g, j, parents);
    g->root[j] = np == 0;
    if (np == 0)
        tab_prior_roots(r, out, g->width[j], n);
    else
        from_parents(p, r, g, j, parents, np, n, out);
    float noise = rnd_chance(r, 0.7f) ? rnd_log(r, 1e-3f, s->easy ? 0.1f : 0.5f) : 0.0f;
    for (int d = 0; d < g->width[j]; d++) {
        float *v = out + (size_t)d * (size_t)n, w = expf(rnd_normal(r));
        tab_prior_standardise(v, n);
        for (int i = 0; i < n; i++)
            v[i] = w * (v[i] + (noise > 0.0f && np > 0 ? noise * rnd_normal(r) : 0.0f));
    }
}

/* A node for the target: a child where eight tries find one. */
static int target_node(tab_rand *r, const graph *g)
{
    for (int k = 0; k < 8; k++) {
        int j = rnd_int(r, g->nodes);
        if (!g->root[j])
            return j;
    }
    return g->nodes - 1;
}

static drawn draw_graph(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows;
    graph g = shape_graph(r, s->cols + 4);
    for (int j = 0; j < g.nodes; j++)
        draw_node(p, r, s, &g, j);
    /* the target's coordinates leave the pool; other coordinates of its node stay half of the time */
    int t = target_node(r, &g), total = g.at[g.nodes], dims = g.width[t] < 4 ? g.width[t] : 4;
    if (total - dims < 1)
        dims = 1;
    for (int d = 0; d < dims; d++)
        memcpy(p->target + (size_t)d * (size_t)n, p->pool + (size_t)(g.at[t] + d) * (size_t)n,
               (size_t)n * sizeof *p->target);
    int drop = rnd_chance(r, 0.5f) && total - g.width[t] >= 1 ? g.width[t] : dims;
    if (total - drop < 1)
        drop = total - 1;
    memmove(p->pool + (size_t)g.at[t] * (size_t)n, p->pool + (size_t)(g.at[t] + drop) * (size_t)n,
            (size_t)(total - g.at[t] - drop) * (size_t)n * sizeof *p->pool);
    choose_columns(p, r, total - drop, s);
    return (drawn){ dims, 0 };
}

static drawn draw_net(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows, latent = rnd_log_int(r, 2, 16), layers = 2 + rnd_int(r, 4), made = latent, from = 0;
    int width = latent, wide = rnd_log_int(r, 4, NODE_WIDTH);
    float noise = rnd_log(r, 1e-3f, s->easy ? 0.1f : 0.3f);
    int kind = rnd_chance(r, 0.5f) ? 1 : 0;
    tab_prior_roots(r, p->pool, latent, n);
    for (int l = 0; l < layers; l++) {
        float *out = p->pool + (size_t)made * (size_t)n;
        tab_prior_mix(r, p->pool + (size_t)from * (size_t)n, width, out, wide, n);
        tab_rand same = { rnd_bits(r), 0 };
        for (int d = 0; d < wide; d++) {
            float *v = out + (size_t)d * (size_t)n;
            tab_rand act = same; /* one activation a layer, or one a unit */
            tab_prior_standardise(v, n);
            tab_prior_activate(kind ? &act : r, v, n);
            tab_prior_standardise(v, n);
            for (int i = 0; i < n; i++)
                v[i] += noise * rnd_normal(r);
        }
        from = made;
        width = wide;
        made += wide;
    }
    int dims = wide < 4 ? wide : 4;
    if (rnd_chance(r, 0.3f))
        dims = 1;
    made -= dims;
    memcpy(p->target, p->pool + (size_t)made * (size_t)n, (size_t)dims * (size_t)n * sizeof *p->target);
    choose_columns(p, r, made, s);
    return (drawn){ dims, 0 };
}

/* Independent or linearly mixed columns: the inputs of trees, rules, sums and level effects. */
void tab_prior_inputs(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows;
    for (int c = 0; c < s->cols;) {
        int w = 1 + rnd_int(r, 6);
        if (w > s->cols - c)
            w = s->cols - c;
        float *out = p->table + (size_t)c * (size_t)n;
        tab_prior_roots(r, out, w, n);
        if (w > 1 && rnd_chance(r, 0.5f)) {
            tab_prior_mix(r, out, w, p->work, w, n);
            for (int d = 0; d < w; d++) {
                float *m = p->work + (size_t)d * (size_t)n, *o = out + (size_t)d * (size_t)n;
                tab_prior_standardise(m, n);
                for (int i = 0; i < n; i++)
                    o[i] = 0.5f * o[i] + m[i];
            }
        }
        c += w;
    }
}

static drawn draw_trees(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows, use = s->cols < 64 ? s->cols : 64, dims = rnd_chance(r, 0.5f) ? 1 : 3;
    tab_prior_inputs(p, r, s);
    tab_prior_trees(r, p->table, use, p->target, dims, n, rnd_log_int(r, 1, 64), p->order);
    if (rnd_chance(r, 0.3f)) { /* trees over a smooth trend */
        tab_prior_mix(r, p->table, use, p->work, dims, n);
        for (int d = 0; d < dims; d++) {
            float *t = p->target + (size_t)d * (size_t)n, *m = p->work + (size_t)d * (size_t)n;
            tab_prior_standardise(t, n);
            tab_prior_standardise(m, n);
            for (int i = 0; i < n; i++)
                t[i] += 0.7f * m[i];
        }
    }
    return (drawn){ dims, 0 };
}

enum { XOR, PARITY, LOOKUP, ALL, ANY, BRANCH, PRODUCT, RULES };

/* A rule of up to four columns d, each true above its cut. */
typedef struct {
    int kind, need, d[4];
    float cut[4];
    int table[25], classes; /* LOOKUP: the class of two codes 0 .. 4 */
} rule;

/* Balanced drivers, so that no single column tells an XOR; half of them of two values. */
static void balance_drivers(tab_prior *p, tab_rand *r, int n, rule *q)
{
    for (int k = 0; k < q->need; k++) {
        float *v = p->table + (size_t)q->d[k] * (size_t)n;
        memcpy(p->sorted, v, (size_t)n * sizeof *v);
        tab_prior_sort(p->sorted, n);
        float want = q->kind == ALL || q->kind == ANY ? powf(0.5f, 1.0f / (float)q->need) : 0.5f;
        q->cut[k] = p->sorted[(int)((float)(n - 1) * (q->kind == ALL ? 1.0f - want : want))];
        if (rnd_chance(r, 0.5f)) {
            for (int i = 0; i < n; i++)
                v[i] = v[i] > q->cut[k] ? 1.0f : 0.0f;
            q->cut[k] = 0.5f;
        }
    }
}

/* Two columns of codes, and a class for each pair of them. */
static void fill_lookup(tab_prior *p, tab_rand *r, const tab_prior_shape *s, int levels, rule *q)
{
    q->classes = s->regression ? 2 : 2 + rnd_int(r, 3);
    for (int k = 0; k < 25; k++)
        q->table[k] = rnd_int(r, q->classes);
    q->table[0] = 0;
    q->table[1] = 1;
    for (int k = 0; k < 2; k++) {
        float *v = p->table + (size_t)q->d[k] * (size_t)s->rows;
        for (int i = 0; i < s->rows; i++)
            v[i] = (float)rnd_int(r, levels);
        p->cat[q->d[k]] = 1;
    }
}

/* The class that the rule gives row i. */
static int rule_holds(const tab_prior *p, const rule *q, int n, int i)
{
    float x[4];
    bool bit[4];
    for (int k = 0; k < 4; k++) {
        x[k] = p->table[(size_t)q->d[k] * (size_t)n + (size_t)i];
        bit[k] = x[k] > q->cut[k < q->need ? k : q->need - 1];
    }
    int y = q->kind == ALL;
    switch (q->kind) {
    case XOR:
        return bit[0] ^ bit[1];
    case PARITY:
        return bit[0] ^ bit[1] ^ bit[2];
    case LOOKUP:
        return q->table[5 * (int)x[0] + (int)x[1]];
    case ALL:
    case ANY:
        for (int k = 0; k < q->need; k++)
            y = q->kind == ALL ? y && bit[k] : y || bit[k];
        return y;
    case BRANCH:
        return bit[0] ? bit[1] : !bit[q->need > 2 ? 2 : 1];
    default:
        return x[0] * x[1] > 0.0f;
    }
}

static drawn draw_rules(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    static const float share[RULES] = { 25, 20, 10, 7.5f, 7.5f, 20, 10 };
    int n = s->rows, col[TAB_PRIOR_COLS] = { 0 };
    rule q = { .kind = rnd_pick(r, share, RULES), .classes = 2 };
    q.need = q.kind == PARITY ? 3 : q.kind == ALL || q.kind == ANY ? 2 + rnd_int(r, 3) : 2;
    float flip = rnd_range(r, 0.0f, s->easy ? 0.05f : 0.15f); /* rows whose class is drawn anew */
    tab_prior_inputs(p, r, s);
    for (int c = 0; c < s->cols; c++)
        col[c] = c;
    rnd_shuffle(r, col, s->cols);
    if (q.need > s->cols)
        q.need = s->cols;
    for (int k = 0; k < 4; k++)
        q.d[k] = col[k < q.need ? k : q.need - 1];
    balance_drivers(p, r, n, &q);
    int levels = 2 + rnd_int(r, 4);
    if (q.kind == LOOKUP)
        fill_lookup(p, r, s, levels, &q);
    for (int i = 0; i < n; i++) {
        int y = rule_holds(p, &q, n, i);
        p->label[i] = rnd_chance(r, flip) ? rnd_int(r, q.classes) : y;
        p->target[i] = (float)p->label[i];
    }
    return (drawn){ 1, q.classes };
}

drawn tab_prior_family_draw(tab_prior *p, tab_rand *r, tab_prior_family f, const tab_prior_shape *s)
{
    switch (f) {
    case TAB_PRIOR_GRAPH:
        return draw_graph(p, r, s);
    case TAB_PRIOR_NET:
        return draw_net(p, r, s);
    case TAB_PRIOR_TREES:
        return draw_trees(p, r, s);
    default:
        return draw_rules(p, r, s);
    }
}
