/* The families of prior.h but one (additive.c): each draws raw columns and a numeric (or class) target.
 * Blocks are column-major, so that every inner loop runs along the rows. */
#include "tools/pretrain/prior/internal.h"

#include <stdlib.h>
#include <string.h>

static float clip(float v, float a)
{
    return v > a ? a : v < -a ? -a : v; /* NaN passes; standardise removes it */
}

bool tab_prior_standardise(float *v, int n)
{
    double sum = 0.0, sq = 0.0;
    for (int i = 0; i < n; i++) {
        if (!isfinite(v[i]))
            v[i] = 0.0f;
        v[i] = clip(v[i], 1e6f);
        sum += (double)v[i];
    }
    double mean = sum / n;
    for (int i = 0; i < n; i++) {
        double d = (double)v[i] - mean;
        sq += d * d;
    }
    double sd = sqrt(sq / n);
    if (sd < 1e-6 * (1.0 + fabs(mean))) {
        memset(v, 0, (size_t)n * sizeof *v);
        return false;
    }
    float m = (float)mean, k = (float)(1.0 / sd);
    for (int i = 0; i < n; i++)
        v[i] = clip((v[i] - m) * k, 30.0f);
    return true;
}

/* ---- roots ----------------------------------------------------------------------------------- */
void tab_prior_roots(tab_rand *r, float *out, int width, int n)
{
    static const float kinds[] = { 40, 25, 25, 5, 5 };
    int kind = rnd_pick(r, kinds, 5);
    int clusters = 2 + rnd_int(r, 7);
    float share[8], rho = rnd_range(r, 0.5f, 0.98f), spread = rnd_log(r, 0.05f, 0.6f);
    for (int c = 0; c < 8; c++)
        share[c] = c < clusters ? rnd_gamma(r, 1.0f) : 0.0f;
    tab_rand who = { rnd_bits(r), 0 }; /* one cluster a row, the same for every column */
    for (int j = 0; j < width; j++) {
        float *v = out + (size_t)j * (size_t)n, centre[8], past = rnd_normal(r);
        tab_rand w = who;
        for (int c = 0; c < 8; c++)
            centre[c] = rnd_normal(r);
        for (int i = 0; i < n; i++) {
            switch (kind) {
            case 0:
                v[i] = rnd_normal(r);
                break;
            case 1:
                v[i] = rnd_range(r, -1.7320508f, 1.7320508f);
                break;
            case 2:
                v[i] = centre[rnd_pick(&w, share, clusters)] + spread * rnd_normal(r);
                break;
            case 3:
                v[i] = past = rho * past + sqrtf(1.0f - rho * rho) * rnd_normal(r);
                break;
            default: { /* Student t, 3 degrees */
                float a = rnd_normal(r), b = rnd_normal(r), c = rnd_normal(r), z = rnd_normal(r);
                v[i] = clip(z / sqrtf((a * a + b * b + c * c) / 3.0f + 1e-6f), 20.0f);
            }
            }
        }
        tab_prior_standardise(v, n);
    }
}

/* ---- functions of a block: in (p, n) -> out (q, n) ------------------------------------------- */
static void activate(tab_rand *r, float *v, int n)
{
    int kind = rnd_int(r, 12);
    float scale = rnd_log(r, 0.5f, 5.0f), shift = v[rnd_int(r, n)];
    for (int i = 0; i < n; i++) {
        float t = clip(scale * (v[i] - shift), 15.0f);
        switch (kind) {
        case 0:
        case 1:
            t = tanhf(t);
            break;
        case 2:
            t = t > 0.0f ? t : 0.0f;
            break;
        case 3:
            t = t > 0.0f ? t : 0.1f * t;
            break;
        case 4:
            break;
        case 5:
            t = sinf(t);
            break;
        case 6:
            t = fabsf(t);
            break;
        case 7:
            t = t > 0.0f ? 1.0f : 0.0f;
            break;
        case 8:
            t = expf(-t * t);
            break;
        case 9:
            t = logf(fabsf(t) + 0.01f);
            break;
        case 10:
            t = floorf(t);
            break;
        default:
            t = 1.0f / (1.0f + expf(-t));
        }
        v[i] = t;
    }
}

static void mix(tab_rand *r, const float *in, int p, float *out, int q, int n)
{
    float density = rnd_chance(r, 0.5f) ? 1.0f : rnd_range(r, 0.2f, 1.0f);
    for (int j = 0; j < q; j++) {
        float *o = out + (size_t)j * (size_t)n;
        int sure = rnd_int(r, p);
        memset(o, 0, (size_t)n * sizeof *o);
        for (int k = 0; k < p; k++) {
            float w = rnd_normal(r) / sqrtf((float)p * density);
            if (k != sure && !rnd_chance(r, density))
                continue;
            const float *x = in + (size_t)k * (size_t)n;
            for (int i = 0; i < n; i++)
                o[i] += w * x[i];
        }
    }
}

static void f_mlp(tab_rand *r, const float *in, int p, float *out, int q, int n, float *work)
{
    int layers = 1 + rnd_int(r, 3), width = rnd_log_int(r, 1, NODE_WIDTH);
    float *a = work, *b = work + (size_t)NODE_WIDTH * (size_t)n;
    for (int l = 1; l < layers; l++) {
        mix(r, in, p, a, width, n);
        for (int j = 0; j < width; j++) {
            tab_prior_standardise(a + (size_t)j * (size_t)n, n);
            activate(r, a + (size_t)j * (size_t)n, n);
        }
        in = a;
        p = width;
        float *t = a;
        a = b;
        b = t;
    }
    mix(r, in, p, out, q, n);
    if (rnd_chance(r, 0.5f))
        for (int j = 0; j < q; j++)
            activate(r, out + (size_t)j * (size_t)n, n);
}

static void f_trees(tab_rand *r, const float *in, int p, float *out, int q, int n, int trees, int *leaf)
{
    float relevance[64];
    int k = p < 64 ? p : 64;
    for (int j = 0; j < k; j++)
        relevance[j] = rnd_beta(r, 0.5f, 2.0f) + 1e-3f;
    memset(out, 0, (size_t)q * (size_t)n * sizeof *out);
    for (int t = 0; t < trees; t++) {
        int depth = 1 + rnd_int(r, 6);
        memset(leaf, 0, (size_t)n * sizeof *leaf);
        for (int d = 0; d < depth; d++) {
            const float *x = in + (size_t)rnd_pick(r, relevance, k) * (size_t)n;
            float cut = x[rnd_int(r, n)];
            for (int i = 0; i < n; i++)
                leaf[i] = 2 * leaf[i] + (x[i] > cut);
        }
        for (int j = 0; j < q; j++) {
            float value[64], *o = out + (size_t)j * (size_t)n;
            for (int l = 0; l < 1 << depth; l++)
                value[l] = rnd_normal(r);
            for (int i = 0; i < n; i++)
                o[i] += value[leaf[i]];
        }
    }
}

static void f_nearest(tab_rand *r, const float *in, int p, float *out, int q, int n, int *near)
{
    int centres = 2 + rnd_int(r, 15), use = p < 8 ? p : 8;
    int row[16];
    int power = rnd_int(r, 3); /* the metric: 1/2, 1 or 2 */
    for (int c = 0; c < centres; c++)
        row[c] = rnd_int(r, n);
    for (int i = 0; i < n; i++) {
        float best = INFINITY;
        for (int c = 0; c < centres; c++) {
            float d = 0.0f;
            for (int k = 0; k < use; k++) {
                const float *x = in + (size_t)k * (size_t)n;
                float e = fabsf(x[i] - x[row[c]]);
                d += power == 0 ? sqrtf(e) : power == 1 ? e : e * e;
            }
            if (d < best) {
                best = d;
                near[i] = c;
            }
        }
    }
    for (int j = 0; j < q; j++) {
        float value[16], *o = out + (size_t)j * (size_t)n;
        for (int c = 0; c < centres; c++)
            value[c] = rnd_normal(r);
        for (int i = 0; i < n; i++)
            o[i] = value[near[i]];
    }
}

static void f_quadratic(tab_rand *r, const float *in, int p, float *out, int q, int n)
{
    for (int j = 0; j < q; j++) {
        float *o = out + (size_t)j * (size_t)n;
        int terms = 1 + rnd_int(r, 5);
        memset(o, 0, (size_t)n * sizeof *o);
        for (int t = 0; t < terms; t++) {
            const float *a = in + (size_t)rnd_int(r, p) * (size_t)n,
                        *b = in + (size_t)rnd_int(r, p) * (size_t)n;
            float w = rnd_normal(r), one = rnd_chance(r, 0.3f) ? 1.0f : 0.0f;
            for (int i = 0; i < n; i++)
                o[i] += w * a[i] * (one + (1.0f - one) * b[i]);
        }
    }
}

/* A draw of a Gaussian process by random Fourier features (Rahimi & Recht 2007). */
static void f_cosine(tab_rand *r, const float *in, int p, float *out, int q, int n, float *work)
{
    int features = 24;
    float length = rnd_log(r, 0.4f, 4.0f), decay = rnd_range(r, 0.0f, 1.0f);
    float *phi = work; /* (features, n) */
    for (int f = 0; f < features; f++) {
        float *v = phi + (size_t)f * (size_t)n, b = rnd_range(r, 0.0f, 6.2831853f);
        float heavy = rnd_chance(r, 0.3f) ? 1.0f / sqrtf(rnd_gamma(r, 1.0f) + 0.05f) : 1.0f;
        for (int i = 0; i < n; i++)
            v[i] = b;
        for (int k = 0; k < p; k++) {
            float w = heavy * rnd_normal(r) / (length * sqrtf((float)p));
            const float *x = in + (size_t)k * (size_t)n;
            for (int i = 0; i < n; i++)
                v[i] += w * x[i];
        }
        for (int i = 0; i < n; i++)
            v[i] = cosf(v[i]);
    }
    for (int j = 0; j < q; j++) {
        float *o = out + (size_t)j * (size_t)n;
        memset(o, 0, (size_t)n * sizeof *o);
        for (int f = 0; f < features; f++) {
            float a = rnd_normal(r) * powf((float)(f + 1), -decay);
            for (int i = 0; i < n; i++)
                o[i] += a * phi[(size_t)f * (size_t)n + (size_t)i];
        }
    }
}

static void apply(tab_prior *p, tab_rand *r, const float *in, int width, float *out, int q, int n)
{
    /* MLP, trees, discretisation, linear, quadratic, cosine features, product of two */
    static const float weights[] = { 3, 3, 1, 2, 1, 3, 1 };
    float *work = p->work;
    switch (rnd_pick(r, weights, 7)) {
    case 0:
        f_mlp(r, in, width, out, q, n, work);
        break;
    case 1:
        f_trees(r, in, width, out, q, n, rnd_log_int(r, 1, 16), p->order);
        break;
    case 2:
        f_nearest(r, in, width, out, q, n, p->order);
        break;
    case 3:
        mix(r, in, width, out, q, n);
        break;
    case 4:
        f_quadratic(r, in, width, out, q, n);
        break;
    case 5:
        f_cosine(r, in, width, out, q, n, work);
        break;
    default: {
        float *other = work + (size_t)(2 * NODE_WIDTH) * (size_t)n;
        f_mlp(r, in, width, out, q, n, work);
        mix(r, in, width, other, q, n);
        for (size_t i = 0; i < (size_t)q * (size_t)n; i++)
            out[i] = clip(out[i], 30.0f) * clip(other[i], 30.0f);
    }
    }
}

/* ---- choosing the columns -------------------------------------------------------------------- */
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

static drawn draw_graph(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows, nodes = rnd_log_int(r, 2, GRAPH_NODES), width[GRAPH_NODES], at[GRAPH_NODES + 1];
    float a = rnd_cauchy(r), b[GRAPH_NODES], c[GRAPH_NODES], noise_high = s->easy ? 0.1f : 0.5f;
    bool root[GRAPH_NODES];
    int need = s->cols + 4, made = 0;
    at[0] = 0;
    for (int j = 0; j < nodes; j++) {
        b[j] = rnd_cauchy(r);
        c[j] = rnd_cauchy(r);
        width[j] = rnd_log_int(r, 1, NODE_WIDTH);
        made += width[j];
    }
    for (int j = 0; made < need && j < nodes; j++) { /* wide enough for the table, where it can be */
        int more = need - made < NODE_WIDTH - width[j] ? need - made : NODE_WIDTH - width[j];
        width[j] += more;
        made += more;
    }
    for (int j = 0; j < nodes; j++) {
        float *out = p->pool + (size_t)at[j] * (size_t)n;
        int parents[GRAPH_NODES], np = 0;
        at[j + 1] = at[j] + width[j];
        for (int i = 0; i < j; i++)
            if (rnd_chance(r, 1.0f / (1.0f + expf(-clip(a + b[i] + c[j], 30.0f)))))
                parents[np++] = i;
        if (np == 0 && j == nodes - 1 && j > 0) /* the graph has at least one edge */
            parents[np++] = rnd_int(r, j);
        rnd_shuffle(r, parents, np);
        if (np > 5)
            np = 5;
        root[j] = np == 0;
        if (np == 0) {
            tab_prior_roots(r, out, width[j], n);
        } else {
            float how = rnd_unit(r), *in = p->table; /* scratch until the columns are chosen */
            float *part = p->work + (size_t)(4 * NODE_WIDTH) * (size_t)n;
            size_t len = (size_t)width[j] * (size_t)n;
            if (how < 0.4f) { /* concatenation: up to 24 of the parents' coordinates */
                int have = 0;
                for (int k = 0; k < np; k++)
                    for (int d = 0, q = parents[k]; d < width[q] && have < NODE_WIDTH; d++)
                        if (np == 1 || have < (k + 1) * NODE_WIDTH / np)
                            memcpy(in + (size_t)have++ * (size_t)n, p->pool + (size_t)(at[q] + d) * (size_t)n,
                                   (size_t)n * sizeof *in);
                apply(p, r, in, have, out, width[j], n);
            } else {
                for (int k = 0; k < np; k++) {
                    const float *x = p->pool + (size_t)at[parents[k]] * (size_t)n;
                    apply(p, r, x, width[parents[k]], k == 0 ? out : part, width[j], n);
                    if (k == 0)
                        continue;
                    for (int d = 0; d < width[j]; d++)
                        tab_prior_standardise(part + (size_t)d * (size_t)n, n);
                    for (size_t i = 0; i < len; i++)
                        out[i] = how < 0.8f   ? out[i] + part[i]
                                 : how < 0.9f ? clip(out[i], 30.0f) * part[i]
                                              : fmaxf(out[i], part[i]);
                }
            }
        }
        float noise = rnd_chance(r, 0.7f) ? rnd_log(r, 1e-3f, noise_high) : 0.0f;
        for (int d = 0; d < width[j]; d++) {
            float *v = out + (size_t)d * (size_t)n, w = expf(rnd_normal(r));
            tab_prior_standardise(v, n);
            for (int i = 0; i < n; i++)
                v[i] = w * (v[i] + (noise > 0.0f && np > 0 ? noise * rnd_normal(r) : 0.0f));
        }
    }
    /* The target: coordinates of one node, a child where there is one, taken out of the pool. */
    int t = nodes - 1;
    for (int k = 0; k < 8; k++) {
        int j = rnd_int(r, nodes);
        if (!root[j]) {
            t = j;
            break;
        }
    }
    int dims = width[t] < 4 ? width[t] : 4, total = at[nodes];
    if (total - dims < 1)
        dims = 1;
    for (int d = 0; d < dims; d++)
        memcpy(p->target + (size_t)d * (size_t)n, p->pool + (size_t)(at[t] + d) * (size_t)n,
               (size_t)n * sizeof *p->target);
    /* the target's coordinates leave; other coordinates of its node stay half of the time */
    int drop = rnd_chance(r, 0.5f) && total - width[t] >= 1 ? width[t] : dims;
    if (total - drop < 1)
        drop = total - 1;
    memmove(p->pool + (size_t)at[t] * (size_t)n, p->pool + (size_t)(at[t] + drop) * (size_t)n,
            (size_t)(total - at[t] - drop) * (size_t)n * sizeof *p->pool);
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
        mix(r, p->pool + (size_t)from * (size_t)n, width, out, wide, n);
        tab_rand same = { rnd_bits(r), 0 };
        for (int d = 0; d < wide; d++) {
            float *v = out + (size_t)d * (size_t)n;
            tab_rand act = same; /* one activation a layer, or one a unit */
            tab_prior_standardise(v, n);
            activate(kind ? &act : r, v, n);
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

/* Independent or linearly mixed columns: the inputs of trees, rules and level effects. */
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
            mix(r, out, w, p->work, w, n);
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
    f_trees(r, p->table, use, p->target, dims, n, rnd_log_int(r, 1, 64), p->order);
    if (rnd_chance(r, 0.3f)) { /* trees over a smooth trend */
        mix(r, p->table, use, p->work, dims, n);
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

static drawn draw_rules(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    static const float kinds[] = { 25, 20, 10, 7.5f, 7.5f, 20, 10 };
    int n = s->rows, kind = rnd_pick(r, kinds, 7),
        need = kind == 1                ? 3
               : kind == 3 || kind == 4 ? 2 + rnd_int(r, 3)
                                        : 2;
    int d[4], col[TAB_PRIOR_COLS] = { 0 }, classes = 2;
    float flip = rnd_range(r, 0.0f, s->easy ? 0.05f : 0.15f), cut[4];
    tab_prior_inputs(p, r, s);
    for (int c = 0; c < s->cols; c++)
        col[c] = c;
    rnd_shuffle(r, col, s->cols);
    if (need > s->cols)
        need = s->cols;
    for (int k = 0; k < 4; k++)
        d[k] = col[k < need ? k : need - 1];
    for (int k = 0; k < need; k++) { /* balanced drivers: no single column tells an XOR */
        float *v = p->table + (size_t)d[k] * (size_t)n;
        memcpy(p->sorted, v, (size_t)n * sizeof *v);
        tab_prior_sort(p->sorted, n);
        float want = kind == 3 || kind == 4 ? powf(0.5f, 1.0f / (float)need) : 0.5f;
        cut[k] = p->sorted[(int)((float)(n - 1) * (kind == 3 ? 1.0f - want : want))];
        if (rnd_chance(r, 0.5f)) { /* a driver of two values */
            for (int i = 0; i < n; i++)
                v[i] = v[i] > cut[k] ? 1.0f : 0.0f;
            cut[k] = 0.5f;
        }
    }
    int levels = 2 + rnd_int(r, 4), table[25];
    if (kind == 2) {
        classes = s->regression ? 2 : 2 + rnd_int(r, 3);
        for (int k = 0; k < 25; k++)
            table[k] = rnd_int(r, classes);
        table[0] = 0;
        table[1] = 1;
        for (int k = 0; k < 2; k++) {
            float *v = p->table + (size_t)d[k] * (size_t)n;
            for (int i = 0; i < n; i++)
                v[i] = (float)rnd_int(r, levels);
            p->cat[d[k]] = 1;
        }
    }
    for (int i = 0; i < n; i++) {
        float x[4];
        bool bit[4];
        for (int k = 0; k < 4; k++) {
            x[k] = p->table[(size_t)d[k] * (size_t)n + (size_t)i];
            bit[k] = x[k] > cut[k < need ? k : need - 1];
        }
        int y;
        switch (kind) {
        case 0:
            y = bit[0] ^ bit[1];
            break;
        case 1:
            y = bit[0] ^ bit[1] ^ bit[2];
            break;
        case 2:
            y = table[5 * (int)x[0] + (int)x[1]];
            break;
        case 3:
        case 4:
            y = kind == 3;
            for (int k = 0; k < need; k++)
                y = kind == 3 ? y && bit[k] : y || bit[k];
            break;
        case 5:
            y = bit[0] ? bit[1] : !bit[need > 2 ? 2 : 1];
            break;
        default:
            y = x[0] * x[1] > 0.0f;
        }
        p->label[i] = rnd_chance(r, flip) ? rnd_int(r, classes) : y;
        p->target[i] = (float)p->label[i];
    }
    return (drawn){ 1, classes };
}

static drawn draw_levels(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows, wide = 1 + rnd_int(r, s->cols < 4 ? s->cols : 4);
    float effect[300];
    tab_prior_inputs(p, r, s);
    mix(r, p->table, s->cols < 24 ? s->cols : 24, p->target, 1, n);
    tab_prior_standardise(p->target, n);
    for (int i = 0; i < n; i++)
        p->target[i] *= rnd_chance(r, 0.9f) ? 1.0f : 0.5f;
    for (int k = 0; k < wide; k++) {
        int c = rnd_int(r, s->cols), levels = rnd_log_int(r, 8, 300);
        float zipf = rnd_range(r, 0.5f, 1.5f), tau = rnd_log(r, 0.1f, 2.0f),
              *v = p->table + (size_t)c * (size_t)n;
        float cumulative[300], sum = 0.0f;
        bool crossed = rnd_chance(r, 0.5f) && s->cols > 1;
        const float *other = p->table + (size_t)((c + 1) % s->cols) * (size_t)n;
        for (int l = 0; l < levels; l++) {
            sum += powf((float)(l + 1), -zipf);
            cumulative[l] = sum;
            effect[l] = tau * rnd_normal(r);
        }
        for (int i = 0; i < n; i++) {
            float u = rnd_unit(r) * sum;
            int lo = 0, hi = levels - 1;
            while (lo < hi) {
                int mid = (lo + hi) / 2;
                if (cumulative[mid] < u)
                    lo = mid + 1;
                else
                    hi = mid;
            }
            v[i] = (float)lo;
            p->target[i] += effect[lo] * (crossed ? clip(other[i], 3.0f) : 1.0f);
        }
        p->cat[c] = 1; /* codes by frequency; the table step permutes them */
    }
    return (drawn){ 1, 0 };
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
    case TAB_PRIOR_RULES:
        return draw_rules(p, r, s);
    default:
        return draw_levels(p, r, s);
    }
}
