/* See tensor_ops.h: the inner loops of net.c, and the row product of the other learners (tab_apply). Products
 * and attention are our own rather than the BLAS's: a row's sums then have one order whatever its company,
 * weights are laid out once, and nothing is packed in a call (decision 0121). */
#include "services/inference/engine/learn/pfn/tensor_ops.h"

#include <math.h>
#include <string.h>

/* One body, compiled for three levels of the instruction set; the loader picks. The upper two fuse
 * multiply and add, so they round alike; the lowest differs in the last bit. (Sanitizers do not go
 * together with the loader's choice.) */
#pragma GCC optimize("fp-contract=fast")
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define WIDE __builtin_cpu_supports("avx512f") /* 32 registers of 16 lanes */
#else
#define CLONES
#define WIDE 1
#endif
#define INLINE static inline __attribute__((always_inline))

/* 16 lanes: floats, their bits, and 16-bit halves */
typedef float vec __attribute__((vector_size(64)));
typedef int32_t ivec __attribute__((vector_size(64)));
typedef uint32_t uvec __attribute__((vector_size(64)));
typedef uint16_t hvec __attribute__((vector_size(32)));

/* Macros and statement expressions rather than functions: vectors passed by value would change the ABI
 * between the levels. */
#define LOAD(p)                      \
    __extension__({                  \
        vec l_;                      \
        memcpy(&l_, (p), sizeof l_); \
        l_;                          \
    })
#define STORE(p, x)                  \
    do {                             \
        vec s_ = (x);                \
        memcpy((p), &s_, sizeof s_); \
    } while (0)
#define FILL(x)                                                          \
    __extension__({                                                      \
        float fill_ = (x);                                               \
        (vec){ fill_, fill_, fill_, fill_, fill_, fill_, fill_, fill_,   \
               fill_, fill_, fill_, fill_, fill_, fill_, fill_, fill_ }; \
    })
/* The sum of 16 lanes as a tree: halves, quarters, pairs. */
#define SUM(x)                                                                                       \
    __extension__({                                                                                  \
        vec t_ = (x);                                                                                \
        t_ += __builtin_shufflevector(t_, t_, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7); \
        t_ += __builtin_shufflevector(t_, t_, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11); \
        t_ += __builtin_shufflevector(t_, t_, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13); \
        t_[0] + t_[1];                                                                               \
    })
#define VMAX(a, b)                                 \
    __extension__({                                \
        vec a_ = (a), b_ = (b);                    \
        ivec m_ = a_ > b_;                         \
        (vec)(((ivec)a_ & m_) | ((ivec)b_ & ~m_)); \
    })
#define TOP(x)                                                                                               \
    __extension__({                                                                                          \
        vec t_ = (x);                                                                                        \
        t_ =                                                                                                 \
            VMAX(t_, __builtin_shufflevector(t_, t_, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)); \
        t_ =                                                                                                 \
            VMAX(t_, __builtin_shufflevector(t_, t_, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)); \
        t_ =                                                                                                 \
            VMAX(t_, __builtin_shufflevector(t_, t_, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)); \
        t_[0] > t_[1] ? t_[0] : t_[1];                                                                       \
    })

/* exp on 16 lanes: x = n log 2 + r, |r| <= log(2) / 2, a polynomial in r (Cephes), then n into the
 * exponent */
#define EXP(x)                                             \
    __extension__({                                        \
        vec x_ = VMAX(x, FILL(-87.0f));                    \
        x_ = -VMAX(-x_, FILL(-88.0f));                     \
        vec m_ = x_ * 1.44269504088896341f + 12582912.0f;  \
        vec n_ = m_ - 12582912.0f;                         \
        vec r_ = x_ - n_ * 0.693359375f;                   \
        r_ = r_ - n_ * -2.12194440e-4f;                    \
        vec y_ = r_ * 1.9875691500e-4f + 1.3981999507e-3f; \
        y_ = y_ * r_ + 8.3334519073e-3f;                   \
        y_ = y_ * r_ + 4.1665795894e-2f;                   \
        y_ = y_ * r_ + 1.6666665459e-1f;                   \
        y_ = y_ * r_ + 5.0000001201e-1f;                   \
        y_ = y_ * r_ * r_ + r_ + 1.0f;                     \
        y_ *(vec)(((ivec)m_ + (127 - 0x4B400000)) << 23);  \
    })

/* 2^x for x <= 0 on 16 lanes: x = n + f, |f| <= 1/2, a polynomial in f (relative error 8e-8) */
#define EXP2(x)                                           \
    __extension__({                                       \
        vec x_ = VMAX(x, FILL(-126.0f));                  \
        vec m_ = x_ + 12582912.0f;                        \
        vec f_ = x_ - (m_ - 12582912.0f);                 \
        vec y_ = f_ * 0.0013276467f + 0.0096755417f;      \
        y_ = y_ * f_ + 0.0555071329f;                     \
        y_ = y_ * f_ + 0.2402211972f;                     \
        y_ = y_ * f_ + 0.6931469671f;                     \
        y_ = y_ * f_ + 1.0000000717f;                     \
        y_ *(vec)(((ivec)m_ + (127 - 0x4B400000)) << 23); \
    })
#define LOG2E 1.44269504088896341f

/* ---- products -------------------------------------------------------------------------------- */

/* Columns of a panel: the greatest of 64, 32 and 16 that divides the width. */
static size_t panel_of(size_t out)
{
    return out % 64 == 0 ? 64 : out % 32 == 0 ? 32 : 16;
}

void tab_pfn_pack(size_t in, size_t out, const uint16_t *w, uint16_t *packed)
{
    size_t p = panel_of(out);
    for (size_t at = 0; at < out; at += p)
        for (size_t k = 0; k < in; k++, packed += p)
            memcpy(packed, w + k * out + at, p * sizeof *packed);
}

/* y (rows, 16 vecs) = x (rows, in) p (in, 16 vecs), each with its stride, or + y. rows and vecs are
 * constants where this is expanded: rows x vecs sums stay in registers. */
#define EACH(i, n) _Pragma("GCC unroll 16") for (size_t i = 0; i < (n); i++)
INLINE void block(size_t rows, size_t vecs, size_t in, const float *x, size_t ldx, const float *p, size_t ldp,
                  float *y, size_t ldy, bool add)
{
    /* each column of x meets one row of p: sums grow in the order of k, whatever the rows beside */
    vec acc[12][4];
    EACH(r, rows) EACH(v, vecs) acc[r][v] = add ? LOAD(y + r * ldy + 16 * v) : (vec){ 0 };
    for (size_t k = 0; k < in; k++, p += ldp) {
        vec w[4];
        EACH(v, vecs) w[v] = LOAD(p + 16 * v);
        EACH(r, rows)
        {
            vec s = FILL(x[r * ldx + k]);
            EACH(v, vecs) acc[r][v] += s * w[v];
        }
    }
    EACH(r, rows) EACH(v, vecs) STORE(y + r * ldy + 16 * v, acc[r][v]);
}
/* n rows by blocks of `rows`, then of 4, then one by one */
#define STRIPES(rows, vecs)                                                           \
    do {                                                                              \
        size_t i_ = 0;                                                                \
        for (; i_ + (rows) <= n; i_ += (rows))                                        \
            block(rows, vecs, in, x + i_ * ldx, ldx, p, ldp, y + i_ * ldy, ldy, add); \
        for (; i_ + 4 <= n; i_ += 4)                                                  \
            block(4, vecs, in, x + i_ * ldx, ldx, p, ldp, y + i_ * ldy, ldy, add);    \
        for (; i_ < n; i_++)                                                          \
            block(1, vecs, in, x + i_ * ldx, ldx, p, ldp, y + i_ * ldy, ldy, add);    \
    } while (0)

/* One panel: y (n, width) = x (n, in) p (in, width), or + y; width 16, 32 or 64. */
CLONES static void panel(size_t n, size_t in, size_t width, const float *x, size_t ldx, const float *p,
                         size_t ldp, float *y, size_t ldy, bool add)
{
    /* 16 registers hold fewer sums: panels of 16 columns, 6 rows at a time */
    if (!WIDE)
        for (; width > 0; width -= 16, p += 16, y += 16)
            STRIPES(6, 1);
    else if (width == 64)
        STRIPES(6, 4);
    else if (width == 32)
        STRIPES(12, 2);
    else
        STRIPES(12, 1);
}

/* 16 bf16 numbers as floats: their bits are the upper halves. */
#define WIDEN(p)                                        \
    __extension__({                                     \
        hvec h_;                                        \
        memcpy(&h_, (p), sizeof h_);                    \
        (vec)(__builtin_convertvector(h_, uvec) << 16); \
    })

/* A panel of weights as floats, for many rows. */
CLONES static void widen(size_t n, const uint16_t *h, float *out)
{
    for (size_t i = 0; i < n; i += 16)
        STORE(out + i, WIDEN(h + i));
}

/* One row of one panel, the weights widened as they come; the sums are those of `panel`. A row is done
 * before the processor has learned to fetch ahead of it far enough: it is told to. */
enum { AHEAD = 2048 }; /* numbers */
#define ROW(vecs)                                              \
    do {                                                       \
        vec a_[4] = { { 0 } };                                 \
        for (size_t k_ = 0; k_ < in; k_++, w += 16 * (vecs)) { \
            vec x_ = FILL(x[k_]);                              \
            __builtin_prefetch(w + AHEAD);                     \
            if ((vecs) == 4)                                   \
                __builtin_prefetch(w + AHEAD + 32);            \
            EACH(v, vecs) a_[v] += x_ * WIDEN(w + 16 * v);     \
        }                                                      \
        EACH(v, vecs) STORE(y + 16 * v, a_[v]);                \
    } while (0)

CLONES static void row(size_t in, size_t width, const float *x, const uint16_t *w, float *y)
{
    if (width == 64)
        ROW(4);
    else if (width == 32)
        ROW(2);
    else
        ROW(1);
}

void tab_pfn_product(size_t n, size_t in, size_t out, const float *x, const uint16_t *w, float *y)
{
    enum { ROWS = 384, MOST = 1024 }; /* their part of x stays in the cache while the panels pass */
    /* a lone row reads the weights as they are; many rows share their widening */
    size_t p = panel_of(out);
    if (n == 1) {
        for (size_t at = 0; at < out; at += p)
            row(in, p, x, w + at * in, y + at);
        return;
    }
    float wide[MOST * 64];
    for (size_t i = 0; i < n; i += ROWS)
        for (size_t at = 0; at < out; at += p) {
            widen(in * p, w + at * in, wide);
            panel(n - i < ROWS ? n - i : ROWS, in, p, x + i * in, in, wide, p, y + i * out + at, out, false);
        }
}

enum { PRODUCT_ROWS = 384, SUMS = 128, PART = 64 };

/* Fewer columns than a vector has lanes: each sum is 64 sums of every 64th product, added up in the end. n
 * x out is SUMS at most. */
CLONES static void narrow_product(size_t n, size_t in, size_t out, const float *x, const float *w, float *y)
{
    float sum[SUMS * PART];
    memset(sum, 0, n * out * PART * sizeof *sum);
    for (size_t k = 0; k < in; k += PART) {
        /* a part of w, column by column, padded with zeros */
        size_t m = in - k < PART ? in - k : PART;
        float column[16 * PART] = { 0 }, last[PART] = { 0 };
        if (out == 1)
            memcpy(column, w + k, m * sizeof *w);
        for (size_t i = 0; out > 1 && i < m; i++)
            for (size_t j = 0; j < out; j++)
                column[j * PART + i] = w[(k + i) * out + j];
        for (size_t r = 0; r < n; r++) {
            const float *own = x + r * in + k;
            if (m < PART)
                own = memcpy(last, own, m * sizeof *own);
            for (size_t j = 0; j < out; j++) {
                float *s = sum + (r * out + j) * PART;
                EACH(v, PART / 16)
                STORE(s + 16 * v, LOAD(s + 16 * v) + LOAD(own + 16 * v) * LOAD(column + j * PART + 16 * v));
            }
        }
    }
    for (size_t i = 0; i < n * out; i++) {
        /* the 64 sums as a tree */
        const float *s = sum + i * PART;
        y[i] = SUM((LOAD(s) + LOAD(s + 16)) + (LOAD(s + 32) + LOAD(s + 48)));
    }
}

void tab_row_product(size_t n, size_t in, size_t out, const float *x, const float *w, float *y)
{
    for (size_t rows; n > 0; n -= rows, x += rows * in, y += rows * out) {
        /* as many rows at once as the buffer of sums holds, or as stay in the cache */
        size_t most = out < 16 ? SUMS / out : PRODUCT_ROWS;
        rows = n < most ? n : most;
        if (out < 16) {
            narrow_product(rows, in, out, x, w, y);
            continue;
        }
        for (size_t at = 0, width; at < out; at += width) {
            width = out - at >= 64 ? 64 : out - at >= 32 ? 32 : 16;
            if (out - at < 16)
                at = out - 16; /* some columns once more: the same sums */
            panel(rows, in, width, x, in, w + at, out, y + at, out, false);
        }
    }
}

#undef EACH

/* One row at a time; its sum of squares is a tree over 16 running sums. */
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

/* ---- attention ------------------------------------------------------------------------------- */
size_t tab_pfn_keys_room(size_t n, size_t dim)
{
    return (n + 63) / 64 * 64 * dim;
}

/* Transposed in panels of 64, so that scores are a product by `panel`. */
void tab_pfn_pack_keys(size_t n, size_t dim, const float *k, size_t ldk, float *packed)
{
    for (size_t at = 0; at < n; at += 64, packed += 64 * dim) {
        size_t use = n - at < 64 ? n - at : 64;
        for (size_t d = 0; d < dim; d++)
            for (size_t i = 0; i < 64; i++)
                packed[d * 64 + i] = i < use ? k[(at + i) * ldk + d] : 0.0f;
    }
}

/* Tile rows of scores (in units of log 2) to weights, given the maximum and sum so far; fade is what
 * earlier sums are multiplied by. Scores beyond n, to a multiple of 16, become zero weights. */
CLONES static void soften(size_t rows, float *s, size_t ld, size_t n, float *top, float *sum, float *fade)
{
    size_t whole = (n + 15) / 16 * 16;
    for (size_t i = 0; i < rows; i++, s += ld) {
        for (size_t j = n; j < whole; j++)
            s[j] = -INFINITY;
        /* the maximum so far and of this tile; then weights and their sum, and what fades */
        vec m = FILL(top[i]), t = { 0 };
        for (size_t j = 0; j < whole; j += 16)
            m = VMAX(m, LOAD(s + j));
        float high = TOP(m);
        for (size_t j = 0; j < whole; j += 16) {
            vec p = EXP2(LOAD(s + j) - high);
            STORE(s + j, p);
            t += p;
        }
        for (size_t j = n; j < whole; j++) /* padding: at most 2e-38 each in the sum */
            s[j] = 0.0f;
        vec f = EXP2(FILL(top[i] - high));
        fade[i] = f[0];
        sum[i] = sum[i] * f[0] + SUM(t);
        top[i] = high;
    }
}

enum { Q = 24, K = 256 }; /* a tile's scores: 24 KB */

/* Scores of Q queries and K keys, and the running maximum and sum of each query. */
typedef struct {
    float q[Q * 128], s[Q * K], top[Q], sum[Q], fade[Q];
} tile;

/* Queries in units of log 2, as EXP2 wants them. */
static void tile_begin(tile *t, size_t rows, size_t dim, const float *q, size_t ldq)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t d = 0; d < dim; d++)
            t->q[i * dim + d] = q[i * ldq + d] * LOG2E;
        t->top[i] = -1e30f;
        t->sum[i] = 0.0f;
    }
}

/* The weights of keys at.., in t->s; returns how many there are. */
static size_t tile_weights(tile *t, size_t rows, size_t dim, const float *k, size_t nk, size_t at)
{
    size_t keys = nk - at < K ? nk - at : K;
    for (size_t j = 0; j < keys; j += 64)
        panel(rows, dim, 64, t->q, dim, k + (at + j) * dim, 64, t->s + j, K, false);
    soften(rows, t->s, K, keys, t->top, t->sum, t->fade);
    return keys;
}

/* o (rows, dim) times by (rows). */
CLONES static void scale_rows(size_t rows, size_t dim, const float *by, float *o, size_t ldo)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < dim; j += 16)
            STORE(o + i * ldo + j, LOAD(o + i * ldo + j) * by[i]);
}

/* A tile's weights fade what earlier tiles have summed; the division by the sum comes last. */
void tab_pfn_attend(size_t nq, size_t nk, size_t dim, const float *q, size_t ldq, const float *k,
                    const float *v, size_t ldv, float *o, size_t ldo)
{
    tile t;
    for (size_t from = 0; from < nq; from += Q) {
        size_t rows = nq - from < Q ? nq - from : Q, width = panel_of(dim);
        float *to = o + from * ldo;
        tile_begin(&t, rows, dim, q + from * ldq, ldq);
        for (size_t at = 0; at < nk; at += K) {
            size_t keys = tile_weights(&t, rows, dim, k, nk, at);
            if (at > 0)
                scale_rows(rows, dim, t.fade, to, ldo);
            for (size_t d = 0; d < dim; d += width)
                panel(rows, keys, width, t.s, K, v + at * ldv + d, ldv, to + d, ldo, at > 0);
        }
        for (size_t i = 0; i < rows; i++)
            t.fade[i] = 1.0f / t.sum[i];
        scale_rows(rows, dim, t.fade, to, ldo);
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

/* As tab_pfn_attend, with classes or one number in place of value vectors. */
void tab_pfn_vote(size_t nq, size_t nk, size_t dim, const float *q, size_t ldq, const float *k,
                  const uint8_t *slot, const float *value, float *vote)
{
    enum { SLOTS = 10 };
    tile t;
    size_t wide = slot != NULL ? SLOTS : 1;
    for (size_t from = 0; from < nq; from += Q) {
        size_t rows = nq - from < Q ? nq - from : Q;
        float acc[Q][SLOTS] = { 0 };
        tile_begin(&t, rows, dim, q + from * ldq, ldq);
        for (size_t at = 0; at < nk; at += K) {
            size_t keys = tile_weights(&t, rows, dim, k, nk, at);
            for (size_t i = 0; i < rows; i++) {
                for (size_t c = 0; c < wide; c++)
                    acc[i][c] *= t.fade[i];
                if (slot == NULL)
                    acc[i][0] += weighted(t.s + i * K, value + at, keys);
                for (size_t j = 0; slot != NULL && j < keys; j++)
                    acc[i][slot[at + j]] += t.s[i * K + j];
            }
        }
        for (size_t i = 0; i < rows; i++)
            for (size_t c = 0; c < wide; c++)
                vote[(from + i) * wide + c] += acc[i][c] / t.sum[i];
    }
}

void tab_pfn_weights(size_t nk, size_t dim, const float *q, const float *k, float *weight)
{
    tile t;
    tile_begin(&t, 1, dim, q, dim);
    for (size_t at = 0; at < nk;
         at += K) /* the maximum and the sum first, then what they make of the scores */
        tile_weights(&t, 1, dim, k, nk, at);
    float sum = t.sum[0];
    for (size_t at = 0; at < nk; at += K) {
        size_t keys = tile_weights(&t, 1, dim, k, nk, at);
        for (size_t j = 0; j < keys; j++)
            weight[at + j] += t.s[j] / sum;
    }
}

/* ---- attention within a column's inducing rows and within rows ------------------------------- */
CLONES void tab_pfn_read_inducing(const float *q, const float *kt, size_t k, const float *v, size_t ldv,
                                  float *o)
{
    /* scores of up to 64 inducing rows in four vectors */
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
        s[p] = EXP2((s[p] - high) * LOG2E);
        sum += s[p];
    }
    for (size_t p = 0; p < parts; p++)
        for (size_t j = 0; j < 16; j++)
            out += LOAD(v + (p * 16 + j) * ldv) * s[p][j];
    STORE(o, out / SUM(sum));
}

CLONES void tab_pfn_read_row(const float *q, const float *k, const float *v, size_t n, size_t stride,
                             float *score, float *o)
{
    /* a score is one vector product; the softmax is over the row's cells */
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
        vec p = EXP2((LOAD(score + c) - high) * LOG2E);
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
    float cs = ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z -
               0.5f * z + 1.0f;
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
