/* What the families are made of: columns without causes, and random functions of a block of columns (a
 * network, trees, the nearest row, quadratic and cosine features). Blocks are column-major, so that every
 * inner loop runs along the rows. */
#include "tools/pretrain/prior/internal.h"

#include <stdlib.h>
#include <string.h>

bool tab_prior_standardise(float *v, int n)
{
    double sum = 0.0, sq = 0.0;
    for (int i = 0; i < n; i++) {
        if (!isfinite(v[i]))
            v[i] = 0.0f;
        v[i] = tab_prior_clip(v[i], 1e6f);
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
        v[i] = tab_prior_clip((v[i] - m) * k, 30.0f);
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
                v[i] = tab_prior_clip(z / sqrtf((a * a + b * b + c * c) / 3.0f + 1e-6f), 20.0f);
            }
            }
        }
        tab_prior_standardise(v, n);
    }
}

/* ---- functions of a block: in (p, n) -> out (q, n) ------------------------------------------- */
void tab_prior_activate(tab_rand *r, float *v, int n)
{
    int kind = rnd_int(r, 12);
    float scale = rnd_log(r, 0.5f, 5.0f), shift = v[rnd_int(r, n)];
    for (int i = 0; i < n; i++) {
        float t = tab_prior_clip(scale * (v[i] - shift), 15.0f);
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

void tab_prior_mix(tab_rand *r, const float *in, int p, float *out, int q, int n)
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
        tab_prior_mix(r, in, p, a, width, n);
        for (int j = 0; j < width; j++) {
            tab_prior_standardise(a + (size_t)j * (size_t)n, n);
            tab_prior_activate(r, a + (size_t)j * (size_t)n, n);
        }
        in = a;
        p = width;
        float *t = a;
        a = b;
        b = t;
    }
    tab_prior_mix(r, in, p, out, q, n);
    if (rnd_chance(r, 0.5f))
        for (int j = 0; j < q; j++)
            tab_prior_activate(r, out + (size_t)j * (size_t)n, n);
}

void tab_prior_trees(tab_rand *r, const float *in, int p, float *out, int q, int n, int trees, int *leaf)
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

void tab_prior_apply(tab_prior *p, tab_rand *r, const float *in, int width, float *out, int q, int n)
{
    /* MLP, trees, discretisation, linear, quadratic, cosine features, product of two */
    static const float weights[] = { 3, 3, 1, 2, 1, 3, 1 };
    float *work = p->work;
    switch (rnd_pick(r, weights, 7)) {
    case 0:
        f_mlp(r, in, width, out, q, n, work);
        break;
    case 1:
        tab_prior_trees(r, in, width, out, q, n, rnd_log_int(r, 1, 16), p->order);
        break;
    case 2:
        f_nearest(r, in, width, out, q, n, p->order);
        break;
    case 3:
        tab_prior_mix(r, in, width, out, q, n);
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
        tab_prior_mix(r, in, width, other, q, n);
        for (size_t i = 0; i < (size_t)q * (size_t)n; i++)
            out[i] = tab_prior_clip(out[i], 30.0f) * tab_prior_clip(other[i], 30.0f);
    }
    }
}

void tab_prior_cut(tab_rand *r, float *v, int n, float *cut, int levels)
{
    for (int k = 0; k + 1 < levels; k++)
        cut[k] = v[rnd_int(r, n)];
    tab_prior_sort(cut, levels - 1);
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (k + 1 < levels && v[i] > cut[k])
            k++;
        v[i] = (float)k;
    }
}
