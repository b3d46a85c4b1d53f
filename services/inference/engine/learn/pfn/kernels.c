/* See kernels.h. */
#include "services/inference/engine/learn/pfn/kernels.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* One body, compiled for three levels of the instruction set; the loader picks. Contraction is off, so all
 * three round alike. (Sanitizers do not go together with the loader's choice.) */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&       \
    !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

typedef float vec __attribute__((vector_size(64)));
typedef int32_t ivec __attribute__((vector_size(64)));

/* Macros and statement expressions rather than functions: vectors passed by value would change the ABI
 * between the levels. */
#define LOAD(p)                                                                                                \
    __extension__({                                                                                            \
        vec l_;                                                                                                \
        memcpy(&l_, (p), sizeof l_);                                                                           \
        l_;                                                                                                    \
    })
#define STORE(p, x)                                                                                            \
    do {                                                                                                       \
        vec s_ = (x);                                                                                          \
        memcpy((p), &s_, sizeof s_);                                                                           \
    } while (0)
#define FILL(x) ((vec){ 0 } + (x))
#define SUM(x)                                                                                                 \
    __extension__({                                                                                            \
        vec t_ = (x);                                                                                          \
        t_ += __builtin_shufflevector(t_, t_, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);           \
        t_ += __builtin_shufflevector(t_, t_, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);           \
        t_ += __builtin_shufflevector(t_, t_, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);           \
        t_[0] + t_[1];                                                                                         \
    })
#define VMAX(a, b)                                                                                             \
    __extension__({                                                                                            \
        vec a_ = (a), b_ = (b);                                                                                \
        ivec m_ = a_ > b_;                                                                                     \
        (vec)(((ivec)a_ & m_) | ((ivec)b_ & ~m_));                                                             \
    })
#define TOP(x)                                                                                                 \
    __extension__({                                                                                            \
        vec t_ = (x);                                                                                          \
        t_ = VMAX(t_, __builtin_shufflevector(t_, t_, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));  \
        t_ = VMAX(t_, __builtin_shufflevector(t_, t_, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));  \
        t_ = VMAX(t_, __builtin_shufflevector(t_, t_, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));  \
        t_[0] > t_[1] ? t_[0] : t_[1];                                                                         \
    })

/* exp on 16 lanes: x = n log 2 + r, |r| <= log(2) / 2, a polynomial in r (Cephes), then n into the exponent */
#define EXP(x)                                                                                                 \
    __extension__({                                                                                            \
        vec x_ = VMAX(x, FILL(-87.0f));                                                                        \
        x_ = -VMAX(-x_, FILL(-88.0f));                                                                         \
        vec m_ = x_ * 1.44269504088896341f + 12582912.0f;                                                      \
        vec n_ = m_ - 12582912.0f;                                                                             \
        vec r_ = x_ - n_ * 0.693359375f;                                                                       \
        r_ = r_ - n_ * -2.12194440e-4f;                                                                        \
        vec y_ = r_ * 1.9875691500e-4f + 1.3981999507e-3f;                                                     \
        y_ = y_ * r_ + 8.3334519073e-3f;                                                                       \
        y_ = y_ * r_ + 4.1665795894e-2f;                                                                       \
        y_ = y_ * r_ + 1.6666665459e-1f;                                                                       \
        y_ = y_ * r_ + 5.0000001201e-1f;                                                                       \
        y_ = y_ * r_ * r_ + r_ + 1.0f;                                                                         \
        y_ * (vec)(((ivec)m_ + (127 - 0x4B400000)) << 23);                                                     \
    })

void tab_pfn_product(size_t n, size_t in, size_t out, const float *x, const float *w, float *y)
{
    float px[TAB_PFN_SMALL * 512], py[TAB_PFN_SMALL * 1024];
    while (n > 0) {
        size_t rows = n >= TAB_PFN_TILE ? TAB_PFN_TILE : n >= TAB_PFN_MIDDLE ? TAB_PFN_MIDDLE : TAB_PFN_SMALL;
        size_t use = rows < n ? rows : n;
        const float *a = x;
        float *c = y;
        if (use < rows) {
            memcpy(px, x, use * in * sizeof *px);
            memset(px + use * in, 0, (rows - use) * in * sizeof *px);
            a = px;
            c = py;
        }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)out, (int)in, 1.0f, a, (int)in, w,
                    (int)out, 0.0f, c, (int)out);
        if (use < rows)
            memcpy(y, py, use * out * sizeof *py);
        x += use * in;
        y += use * out;
        n -= use;
    }
}

CLONES void tab_pfn_rms(size_t n, size_t w, const float *x, const float *gain, float *y)
{
    for (size_t i = 0; i < n; i++, x += w, y += w) {
        vec s = { 0 };
        for (size_t j = 0; j < w; j += 16) {
            vec v = LOAD(x + j);
            s += v * v;
        }
        float k = 1.0f / sqrtf(SUM(s) / (float)w + 1e-6f);
        for (size_t j = 0; j < w; j += 16)
            STORE(y + j, gain != NULL ? LOAD(x + j) * k * LOAD(gain + j) : LOAD(x + j) * k);
    }
}

/* x (1 + tanh u) / 2 = x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + .044715 x^3) */
CLONES void tab_pfn_gelu(size_t n, float *x)
{
    for (size_t i = 0; i < n; i += 16) {
        vec v = LOAD(x + i);
        vec u = v * (v * v * 0.044715f + 1.0f) * -1.59576912160573071f;
        STORE(x + i, v / (EXP(u) + 1.0f));
    }
}

CLONES void tab_pfn_add(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i += 16)
        STORE(y + i, LOAD(y + i) + LOAD(x + i));
}

/* One tile's rows of scores to weights, given the maximum and sum so far; returns what earlier sums are
 * multiplied by. */
CLONES static void soften(float *s, size_t n, float *top, float *sum, float *fade)
{
    size_t whole = (n + 15) / 16 * 16;
    for (size_t j = n; j < whole; j++)
        s[j] = -INFINITY;
    vec m = FILL(*top), t = { 0 };
    for (size_t j = 0; j < whole; j += 16)
        m = VMAX(m, LOAD(s + j));
    float high = TOP(m);
    for (size_t j = 0; j < whole; j += 16) {
        vec p = EXP(LOAD(s + j) - high);
        STORE(s + j, p);
        t += p;
    }
    for (size_t j = n; j < whole; j++) /* padding: at most 2e-38 each in the sum */
        s[j] = 0.0f;
    vec f = EXP(FILL(*top - high));
    *fade = f[0];
    *sum = *sum * f[0] + SUM(t);
    *top = high;
}

/* The next tile's queries, padded; returns its rows. */
static size_t next_tile(size_t left, size_t dim, const float *q, size_t ldq, float *tile, size_t *use)
{
    size_t rows = left >= TAB_PFN_QUERIES ? TAB_PFN_QUERIES : TAB_PFN_FEW;
    *use = left < rows ? left : rows;
    for (size_t i = 0; i < *use; i++)
        memcpy(tile + i * dim, q + i * ldq, dim * sizeof *tile);
    memset(tile + *use * dim, 0, (rows - *use) * dim * sizeof *tile);
    return rows;
}

void tab_pfn_attend(size_t nq, size_t nk, size_t dim, const float *q, size_t ldq, const float *k, size_t ldk,
                    const float *v, size_t ldv, float *o, size_t ldo)
{
    enum { Q = TAB_PFN_QUERIES, K = TAB_PFN_KEYS };
    float tile[Q * 128], s[Q * K], acc[Q * 128], top[Q], sum[Q], fade;
    for (size_t from = 0, use; from < nq; from += use) {
        size_t rows = next_tile(nq - from, dim, q + from * ldq, ldq, tile, &use);
        memset(acc, 0, rows * dim * sizeof *acc);
        for (size_t i = 0; i < rows; i++)
            top[i] = -1e30f, sum[i] = 0.0f;
        for (size_t at = 0; at < nk; at += K) {
            size_t keys = nk - at < K ? nk - at : K;
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)keys, (int)dim, 1.0f, tile, (int)dim,
                        k + at * ldk, (int)ldk, 0.0f, s, K);
            for (size_t i = 0; i < rows; i++) {
                soften(s + i * K, keys, &top[i], &sum[i], &fade);
                for (size_t j = 0; at > 0 && j < dim; j += 16)
                    STORE(acc + i * dim + j, LOAD(acc + i * dim + j) * fade);
            }
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)dim, (int)keys, 1.0f, s, K,
                        v + at * ldv, (int)ldv, 1.0f, acc, (int)dim);
        }
        for (size_t i = 0; i < use; i++)
            for (size_t j = 0; j < dim; j += 16)
                STORE(o + (from + i) * ldo + j, LOAD(acc + i * dim + j) / sum[i]);
    }
}

/* Sum of p v; both in whole vectors, p zero beyond n. */
CLONES static float weighted(const float *p, const float *v, size_t n)
{
    vec t = { 0 };
    for (size_t j = 0; j < n; j += 16)
        t += LOAD(p + j) * LOAD(v + j);
    return SUM(t);
}

void tab_pfn_vote(size_t nq, size_t nk, size_t dim, const float *q, size_t ldq, const float *k, size_t ldk,
                  const uint8_t *slot, const float *value, float *vote)
{
    enum { Q = TAB_PFN_QUERIES, K = TAB_PFN_KEYS, SLOTS = 10 };
    float tile[Q * 128], s[Q * K], acc[Q][SLOTS], top[Q], sum[Q], fade;
    for (size_t from = 0, use; from < nq; from += use) {
        size_t rows = next_tile(nq - from, dim, q + from * ldq, ldq, tile, &use);
        memset(acc, 0, sizeof acc);
        for (size_t i = 0; i < rows; i++)
            top[i] = -1e30f, sum[i] = 0.0f;
        for (size_t at = 0; at < nk; at += K) {
            size_t keys = nk - at < K ? nk - at : K;
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)keys, (int)dim, 1.0f, tile, (int)dim,
                        k + at * ldk, (int)ldk, 0.0f, s, K);
            for (size_t i = 0; i < use; i++) {
                soften(s + i * K, keys, &top[i], &sum[i], &fade);
                if (slot == NULL) {
                    acc[i][0] = acc[i][0] * fade + weighted(s + i * K, value + at, keys);
                    continue;
                }
                for (size_t c = 0; c < SLOTS; c++)
                    acc[i][c] *= fade;
                for (size_t j = 0; j < keys; j++)
                    acc[i][slot[at + j]] += s[i * K + j];
            }
        }
        size_t wide = slot != NULL ? SLOTS : 1;
        for (size_t i = 0; i < use; i++)
            for (size_t c = 0; c < wide; c++)
                vote[(from + i) * wide + c] += acc[i][c] / sum[i];
    }
}

CLONES void tab_pfn_read_inducing(const float *q, const float *kt, size_t k, const float *v, size_t ldv, float *o)
{
    vec s[4], top = FILL(-1e30f), sum = { 0 }, out = { 0 };
    size_t parts = k / 16;
    for (size_t p = 0; p < parts; p++) {
        s[p] = (vec){ 0 };
        for (size_t j = 0; j < 16; j++)
            s[p] += LOAD(kt + j * k + p * 16) * q[j];
        top = VMAX(top, s[p]);
    }
    float high = TOP(top);
    for (size_t p = 0; p < parts; p++) {
        s[p] = EXP(s[p] - high);
        sum += s[p];
    }
    for (size_t p = 0; p < parts; p++)
        for (size_t j = 0; j < 16; j++)
            out += LOAD(v + (p * 16 + j) * ldv) * s[p][j];
    STORE(o, out / SUM(sum));
}

CLONES void tab_pfn_read_row(const float *q, const float *k, const float *v, size_t n, size_t stride, float *score,
                             float *o)
{
    vec own = LOAD(q), sum = { 0 }, out = { 0 }, top = FILL(-1e30f);
    size_t whole = (n + 15) / 16 * 16;
    for (size_t c = 0; c < n; c++)
        score[c] = SUM(own * LOAD(k + c * stride));
    for (size_t c = n; c < whole; c++)
        score[c] = -1e30f;
    for (size_t c = 0; c < whole; c += 16)
        top = VMAX(top, LOAD(score + c));
    float high = TOP(top);
    for (size_t c = 0; c < whole; c += 16) {
        vec p = EXP(LOAD(score + c) - high);
        STORE(score + c, p);
    }
    for (size_t c = n; c < whole; c++)
        score[c] = 0.0f;
    for (size_t c = 0; c < whole; c += 16)
        sum += LOAD(score + c);
    for (size_t c = 0; c < n; c++)
        out += LOAD(v + c * stride) * score[c];
    STORE(o, out / SUM(sum));
}

/* a = q pi / 2 + r in three steps (Cody & Waite), then the two polynomials on [-pi/4, pi/4] (Cephes) */
void tab_pfn_sincos(float a, float *s, float *c)
{
    float q = rintf(a * 0.636619772f);
    float r = ((a - q * 1.5703125f) - q * 4.837512969970703125e-4f) - q * 7.549789948768648e-8f;
    float z = r * r;
    float sn = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
    float cs = ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f;
    switch ((int)q & 3) {
    case 0:
        *s = sn, *c = cs;
        break;
    case 1:
        *s = cs, *c = -sn;
        break;
    case 2:
        *s = -sn, *c = -cs;
        break;
    default:
        *s = -cs, *c = sn;
    }
}
