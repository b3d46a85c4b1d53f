/* The forward pass against vectors from PyTorch (tools/pretrain/export.py vectors), its invariances, and what
 * the weight loader refuses. Tests run from the project's root. */
#include <cblas.h>
#include <criterion/criterion.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/learn/pfn/net.h"
#include "services/inference/engine/learn/pfn/tensor_ops.h"

#define WEIGHTS "services/inference/engine/learn/weights/pfn.tabw"
#define VECTORS "services/inference/engine/learn/pfn/tests/parity.bin"

static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "%s: run from the project's root", path);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *b = malloc(*n + 1);
    cr_assert(b != NULL && fread(b, 1, *n, f) == *n);
    fclose(f);
    return b;
}

/* ---- parity ---------------------------------------------------------------------------------- */
typedef struct {
    uint32_t n, nc, m, classes, taps;
    float *x, *code, *logp;   /* (m, n), (m, 16), (n - nc, 10) or, of a numeric target, (n - nc) means */
    float *target, *quantile; /* (nc), (n - nc, 19) where there are no classes; else NULL */
    uint8_t *slot, *cat;
    const char *tap; /* the first of six */
} sample;

static const char *copy_to(void *to, const char *p, size_t n)
{
    memcpy(to, p, n);
    return p + n;
}

static const char *read_sample(const char *p, sample *s)
{
    *s = (sample){ 0 };
    p = copy_to(s, p, 5 * sizeof(uint32_t));
    size_t n = s->n, m = s->m, nc = s->nc;
    s->x = malloc(n * m * 4);
    s->code = malloc(m * 64);
    s->logp = malloc((n - nc) * 40);
    s->slot = malloc(nc);
    s->cat = malloc(m);
    p = copy_to(s->x, p, n * m * 4);
    if (s->classes == 0) {
        s->target = malloc(nc * 4);
        p = copy_to(s->target, p, nc * 4);
    } else {
        p = copy_to(s->slot, p, nc);
    }
    p = copy_to(s->cat, p, m);
    p = copy_to(s->code, p, m * 64);
    p = copy_to(s->logp, p, (n - nc) * (s->classes == 0 ? 4 : 40));
    if (s->classes == 0) {
        s->quantile = malloc((n - nc) * TAB_PFN_LEVELS * 4);
        p = copy_to(s->quantile, p, (n - nc) * TAB_PFN_LEVELS * 4);
    }
    s->tap = p;
    for (uint32_t i = 0; s->taps && i < 6; i++) {
        uint32_t numbers;
        memcpy(&numbers, p + 8, 4);
        p += 12 + 4 * (size_t)numbers;
    }
    return p;
}

static void drop_sample(sample *s)
{
    free(s->x);
    free(s->code);
    free(s->target);
    free(s->quantile);
    free(s->logp);
    free(s->slot);
    free(s->cat);
}

/* Rows from..from+n of a sample as a table of their own. */
static float *rows_of(const sample *s, size_t from, size_t n)
{
    float *x = malloc(s->m * n * sizeof *x + 1);
    for (size_t j = 0; j < s->m; j++)
        memcpy(x + j * n, s->x + j * s->n + from, n * sizeof *x);
    return x;
}

static void check_tap(void *arg, const char *stage, const float *v, size_t numbers)
{
    const sample *s = arg;
    const char *p = s->tap;
    for (int i = 0; i < 6; i++) {
        uint32_t n;
        memcpy(&n, p + 8, 4);
        if (strcmp(p, stage) == 0) {
            cr_assert_eq(n, numbers, "%s: %zu numbers, PyTorch has %u", stage, numbers, n);
            double sum = 0, off = 0;
            for (size_t k = 0; k < n; k++) {
                float want;
                memcpy(&want, p + 12 + 4 * k, 4);
                sum += (double)(want * want);
                off += (double)((want - v[k]) * (want - v[k]));
            }
            cr_assert_lt(sqrt(off / sum), 1e-4, "%s of %u x %u: relative error %g", stage, s->n, s->m,
                         sqrt(off / sum));
            return;
        }
        p += 12 + 4 * (size_t)n;
    }
    cr_assert_fail("no stage %s", stage);
}

static void with_samples(bool numeric, void (*check)(const tab_pfn *w, sample *s))
{
    openblas_set_num_threads(1);
    const char *why = "";
    const tab_pfn *w = tab_pfn_default(&why);
    cr_assert_not_null(w, "%s", why);
    size_t n;
    const char *other =
        getenv("TAB_PFN_VECTORS"); /* with TAB_PFN_WEIGHTS: another file's (tests/suite/pretrain) */
    char *b = slurp(other != NULL ? other : VECTORS, &n);
    uint32_t count;
    const char *p = copy_to(&count, b, 4);
    cr_assert_eq(count, w->numeric ? 32 : 24);
    for (uint32_t i = 0; i < count; i++) {
        sample s;
        p = read_sample(p, &s);
        if ((s.classes == 0) == numeric)
            check(w, &s);
        drop_sample(&s);
    }
    cr_assert_eq(p, b + n);
    free(b);
}

static tab_pfn_context *encode(const tab_pfn *w, tab_arena *a, const sample *s)
{
    float *x = rows_of(s, 0, s->nc);
    tab_pfn_table t = { s->nc, s->m, x, s->cat };
    tab_pfn_context *c = s->target != NULL ? tab_pfn_encode_numeric(w, a, &t, s->target, s->code, NULL)
                                           : tab_pfn_encode(w, a, &t, s->slot, s->code, NULL);
    cr_assert_not_null(c);
    free(x);
    return c;
}

static void parity(const tab_pfn *w, sample *s)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_pfn_tap_fn = s->taps ? check_tap : NULL;
    tab_pfn_tap_arg = s;
    tab_pfn_context *c = encode(w, a, s);
    tab_pfn_tap_fn = NULL;
    size_t q = s->n - s->nc;
    float *x = rows_of(s, s->nc, q), *logp = malloc(q * 40);
    cr_assert(tab_pfn_query(c, &(tab_pfn_table){ q, s->m, x, s->cat }, logp));
    for (size_t i = 0; i < q * 10; i++)
        cr_assert_float_eq(expf(logp[i]), expf(s->logp[i]), 1e-4f,
                           "%u x %u, %u classes: query %zu slot %zu: %g, PyTorch has %g", s->n, s->m,
                           s->classes, i / 10, i % 10, (double)expf(logp[i]), (double)expf(s->logp[i]));
    free(x);
    free(logp);
}

Test(pfn, equals_pytorch)
{
    with_samples(false, parity);
}

/* Within 1e-4 of the targets' spread (and float's own grain), alone and in company, and never outside the
 * targets. */
static void numeric_parity(const tab_pfn *w, sample *s)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_pfn_context *c = encode(w, a, s);
    size_t q = s->n - s->nc;
    float *x = rows_of(s, s->nc, q), *mean = malloc(q * 4), *quantile = malloc(q * TAB_PFN_LEVELS * 4), one,
          few[TAB_PFN_LEVELS], low = INFINITY, high = -INFINITY;
    double sum = 0, sq = 0;
    for (size_t i = 0; i < s->nc; i++) {
        low = fminf(low, s->target[i]), high = fmaxf(high, s->target[i]);
        sum += (double)s->target[i], sq += (double)s->target[i] * (double)s->target[i];
    }
    double near = 1e-4 * sqrt(fmax(0, sq / s->nc - sum / s->nc * (sum / s->nc))) +
                  1e-6 * fmax(fabs((double)low), fabs((double)high));
    cr_assert(tab_pfn_query_numeric(c, &(tab_pfn_table){ q, s->m, x, s->cat }, mean, quantile));
    for (size_t i = 0; i < q; i++) {
        cr_assert_float_eq((double)mean[i], (double)s->logp[i], near,
                           "%u x %u: query %zu: %g, PyTorch has %g", s->n, s->m, i, (double)mean[i],
                           (double)s->logp[i]);
        cr_assert((double)mean[i] >= (double)low - near && (double)mean[i] <= (double)high + near);
        const float *v = quantile + i * TAB_PFN_LEVELS;
        for (size_t l = 0; l < TAB_PFN_LEVELS; l++) {
            cr_assert_float_eq((double)v[l], (double)s->quantile[i * TAB_PFN_LEVELS + l], 5 * near,
                               "%u x %u: query %zu, quantile %zu: %g, PyTorch has %g", s->n, s->m, i, l,
                               (double)v[l], (double)s->quantile[i * TAB_PFN_LEVELS + l]);
            cr_assert(l == 0 || v[l] >= v[l - 1], "quantiles cross");
            cr_assert((double)v[l] >= (double)low - near && (double)v[l] <= (double)high + near);
        }
        if (i < 5) {
            float *own = rows_of(s, s->nc + i, 1);
            cr_assert(tab_pfn_query_numeric(c, &(tab_pfn_table){ 1, s->m, own, s->cat }, &one, few));
            cr_assert_eq(memcmp(&one, &mean[i], sizeof one), 0, "alone %g, in company %g", (double)one,
                         (double)mean[i]);
            cr_assert_eq(memcmp(few, v, sizeof few), 0);
            cr_assert(tab_pfn_query_numeric(c, &(tab_pfn_table){ 1, s->m, own, s->cat }, few, NULL));
            cr_assert_eq(memcmp(&one, few, sizeof one), 0, "with quantiles and without");
            free(own);
        }
    }
    free(x);
    free(mean);
    free(quantile);
}

Test(pfn, numeric_targets_equal_pytorch)
{
    with_samples(true, numeric_parity);
}

/* A query alone and in company gets the same answer, bit for bit. */
static void alone(const tab_pfn *w, sample *s)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_pfn_context *c = encode(w, a, s);
    size_t q = s->n - s->nc;
    float *x = rows_of(s, s->nc, q), *all = malloc(q * 40), one[10];
    cr_assert(tab_pfn_query(c, &(tab_pfn_table){ q, s->m, x, s->cat }, all));
    for (size_t i = 0; i < q && i < 20; i++) {
        float *own = rows_of(s, s->nc + i, 1);
        cr_assert(tab_pfn_query(c, &(tab_pfn_table){ 1, s->m, own, s->cat }, one));
        cr_assert_eq(memcmp(one, all + i * 10, sizeof one), 0, "query %zu of %u x %u", i, s->n, s->m);
        free(own);
    }
    free(x);
    free(all);
}

Test(pfn, a_query_does_not_depend_on_its_batch)
{
    with_samples(false, alone);
}

/* The order of context rows is no matter. */
static void shuffled(const tab_pfn *w, sample *s)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_pfn_context *c = encode(w, a, s);
    for (size_t i = 0; i < s->nc / 2; i++) {
        size_t o = s->nc - 1 - i;
        uint8_t t = s->slot[i];
        s->slot[i] = s->slot[o];
        s->slot[o] = t;
        for (size_t j = 0; j < s->m; j++) {
            float *v = s->x + j * s->n, f = v[i];
            v[i] = v[o];
            v[o] = f;
        }
    }
    tab_pfn_context *r = encode(w, a, s);
    size_t q = s->n - s->nc;
    float *x = rows_of(s, s->nc, q), *one = malloc(q * 40), *two = malloc(q * 40);
    tab_pfn_table t = { q, s->m, x, s->cat };
    cr_assert(tab_pfn_query(c, &t, one) && tab_pfn_query(r, &t, two));
    for (size_t i = 0; i < q * 10; i++)
        cr_assert_float_eq(expf(one[i]), expf(two[i]), 1e-5f, "%u x %u", s->n, s->m);
    free(x);
    free(one);
    free(two);
}

Test(pfn, the_order_of_rows_is_no_matter)
{
    with_samples(false, shuffled);
}

Test(pfn, extreme_values_give_finite_answers_that_sum_to_one)
{
    openblas_set_num_threads(1);
    const tab_pfn *w = tab_pfn_default(NULL);
    cr_assert_not_null(w);
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    enum { N = 50, M = 4 };
    float x[M * N], code[M * 16], logp[N * 10];
    uint8_t slot[N], cat[M] = { 0, 0, 0, 1 };
    for (size_t i = 0; i < N; i++) {
        x[i] = i % 2 ? 3e38f : -3e38f;
        x[N + i] = i == 7 ? 1e-38f : 0.0f;
        x[2 * N + i] = NAN;
        x[3 * N + i] = (float)(i % 3);
        slot[i] = (uint8_t)(i % 10);
    }
    for (size_t i = 0; i < M * 16; i++)
        code[i] = (float)(i % 5) - 2.0f;
    tab_pfn_table t = { N, M, x, cat };
    tab_pfn_context *c = tab_pfn_encode(w, a, &t, slot, code, NULL);
    cr_assert_not_null(c);
    cr_assert(tab_pfn_query(c, &t, logp));
    for (size_t i = 0; i < N; i++) {
        float sum = 0;
        for (size_t k = 0; k < 10; k++)
            sum += expf(logp[i * 10 + k]);
        cr_assert_float_eq(sum, 1.0f, 1e-4f);
    }
    atomic_bool stop = true;
    cr_assert_null(tab_pfn_encode(w, a, &t, slot, code, &stop));
}

/* ---- kernels --------------------------------------------------------------------------------- */
Test(pfn, kernels_agree_with_libm)
{
    for (int i = -4000; i < 4000; i++) {
        float x[16], a = (float)i * 0.05f, s, c;
        for (int k = 0; k < 16; k++)
            x[k] = (float)i * 0.004f;
        tab_pfn_gelu(16, x);
        double v = (double)((float)i * 0.004f), u = sqrt(2 / M_PI) * (v + 0.044715 * v * v * v);
        cr_assert_float_eq((double)x[5], v * (1 + tanh(u)) / 2, 1e-6 + 4e-7 * fabs(v), "gelu(%g)", v);
        tab_pfn_sincos(a, &s, &c);
        cr_assert_float_eq((double)s, sin((double)a), 4e-7);
        cr_assert_float_eq((double)c, cos((double)a), 4e-7);
    }
}

Test(pfn, attention_in_blocks_is_softmax)
{
    openblas_set_num_threads(1);
    enum { NQ = 37, NK = 1201, D = 32 };
    static float q[NQ * D], k[NK * D], v[NK * D], o[NQ * D];
    for (size_t i = 0; i < NQ * D; i++)
        q[i] = sinf((float)i);
    for (size_t i = 0; i < NK * D; i++)
        k[i] = sinf((float)i * 0.7f) * (i > NK * D / 2 ? 3.0f : 1.0f), v[i] = cosf((float)i * 1.3f);
    static float packed[(NK + 63) * D];
    cr_assert_leq(tab_pfn_keys_room(NK, D), sizeof packed / sizeof *packed);
    tab_pfn_pack_keys(NK, D, k, D, packed);
    tab_pfn_attend(NQ, NK, D, q, D, packed, v, D, o, D);
    for (size_t i = 0; i < NQ; i++) {
        double sum = 0, want[D] = { 0 };
        for (size_t j = 0; j < NK; j++) {
            double s = 0;
            for (size_t d = 0; d < D; d++)
                s += (double)q[i * D + d] * (double)k[j * D + d];
            s = exp(s);
            sum += s;
            for (size_t d = 0; d < D; d++)
                want[d] += s * (double)v[j * D + d];
        }
        for (size_t d = 0; d < D; d++)
            cr_assert_float_eq((double)o[i * D + d], want[d] / sum, 2e-5);
    }
}

/* ---- the loader ------------------------------------------------------------------------------ */
static void sign(char *b, size_t n)
{
    crypto_hash_sha256((unsigned char *)b + n - 32, (unsigned char *)b, n - 32);
}

static void refused(char *b, size_t n, const char *because)
{
    tab_pfn *w = NULL;
    tab_error err = { 0 };
    cr_assert_eq(tab_pfn_load((tab_str){ b, n }, &w, &err), TAB_VALIDATION, "%s", because);
    cr_assert_not_null(strstr(err.message, because), "said \"%s\", not \"%s\"", err.message, because);
    cr_assert_null(w);
}

Test(weights, damaged_truncated_and_foreign_files_are_refused)
{
    size_t n;
    char *own = slurp(WEIGHTS, &n), *b = malloc(n);
    cr_assert_leq(n, (size_t)8 << 20, "weights in the repository are at most 8 MB");
    tab_pfn *w = NULL;
    cr_assert_eq(tab_pfn_load((tab_str){ own, n }, &w, NULL), TAB_OK);
    cr_assert(w->note[0] == '{');
    tab_pfn_free(w);
    for (size_t cut = 0; cut < n; cut += n / 50 + 1)
        refused(memcpy(b, own, n), cut, cut < 96 ? "not a weight file" : "digest");
    for (size_t at = 70; at < n; at += n / 50 + 1) {
        memcpy(b, own, n);
        b[at] ^= 4;
        refused(b, n, "digest");
    }
#define BROKEN(change, because) \
    memcpy(b, own, n);          \
    change;                     \
    sign(b, n);                 \
    refused(b, n, because)
    uint32_t note;
    memcpy(&note, own + 12, 4);
    size_t entry = 64 + note;
    BROKEN(b[0] = 'X', "not a weight file");
    BROKEN(b[8] = 2, "version 2");
    BROKEN(b[16] = 17, "sizes");
    BROKEN(b[56] = 0; b[57] = 0, "directory");
    BROKEN(b[57] = 1, "name");
    BROKEN(b[14] = 0x7f, "directory");
    BROKEN(b[entry] = 'x', "no tensor freq");
    BROKEN(b[entry + 39] = 'x', "name is too long");
    BROKEN(b[entry + 48] ^= 1, "shape of tensor freq");
    BROKEN(b[entry + 56] ^= 1, "offset of tensor freq");
    BROKEN(memset(b + entry + 59, 0x7f, 4), "offset of tensor freq");
    uint32_t tensors;
    memcpy(&tensors, own + 56, 4);
    for (uint32_t i = 0; i < tensors; i++) { /* of the numeric targets' tensors, all or none */
        size_t e = entry + 64 * (size_t)i;
        if (strcmp(own + e, "num.q") == 0) {
            BROKEN(b[e + 4] = 'x', "no tensor num.q");
        } else if (strcmp(own + e, "num.c1") == 0) {
            BROKEN(b[e] = 'x', "tensors that the network does not have");
        }
    }
    uint64_t at;
    memcpy(&at, own + entry + 56, 8);
    BROKEN(memset(b + at, 0xff, 4), "finite number in tensor freq");
    free(own);
    free(b);
}

Test(weights, a_file_that_is_not_there_is_said_so)
{
    tab_pfn *w = NULL;
    tab_error err = { 0 };
    cr_assert_eq(tab_pfn_open("/nowhere/pfn.tabw", &w, &err), TAB_VALIDATION);
    cr_assert_not_null(strstr(err.message, "/nowhere/pfn.tabw"));
    cr_assert_eq(tab_pfn_open("Makefile", &w, &err), TAB_VALIDATION);
    setenv("TAB_PFN_WEIGHTS", "Makefile", 1);
    const char *why = NULL;
    cr_assert_null(tab_pfn_default(&why));
    cr_assert_str_eq(why, "weights: not a weight file");
}
