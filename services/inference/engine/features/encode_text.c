/* See encode_text.h: short texts as coordinates, for encode.c. A text of characters c1..cm, lower-cased and
 * framed by spaces, holds its 3-grams. Gram g falls into column hash(g) mod W of a sparse matrix A (texts, W)
 * with entry sqrt(count) * log(N / texts with g), each row scaled to length 1. The directions are the right
 * singular vectors V (W, k) of A:
 *
 *   V <- orth(A' (A V))   four times from a fixed start,    coordinates = A V
 *
 * One text costs its length; only V and the weights are kept. */
#include "services/inference/engine/features/encode_text.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"

/* Columns of A, 3-grams read of a text, texts that the directions are fitted on, and rounds of the
 * iteration: four, because subspace iteration converges geometrically (Halko et al.). No table of
 * tests/bench/predict has texts that this reads, so no range could be tried. */
enum { WIDTH = 1024, GRAMS = 256, FIT_TEXTS = 20000, ROUNDS = 4, K = TAB_TEXT_DIRECTIONS };

/* weight: of each column of A, log(N / texts with it). v: the directions, a column of A a row. */
struct tab_text_basis {
    float weight[WIDTH];
    float v[WIDTH][K];
};

typedef struct {
    /* one row of A: its columns that are not zero, in order of first appearance */
    uint16_t column[GRAMS];
    float value[GRAMS];
    size_t n;
} sparse;

/* ASCII only: bytes of other letters are part of their 3-grams as they stand. */
static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

/* The text's grams; at most GRAMS of them are read. */
static void read_grams(tab_str s, const float *weight, sparse *out)
{
    out->n = 0;
    size_t m = s.n + 2;
    for (size_t i = 0; i + 2 < m && i < GRAMS; i++) {
        /* three bytes as one number; a blank before the text and behind it */
        uint64_t g = 0;
        for (size_t k = i; k < i + 3; k++)
            g = g << 8 | (k == 0 || k == m - 1 ? ' ' : lower((unsigned char)s.p[k - 1]));
        uint16_t c = (uint16_t)(tab_mix(g) % WIDTH);
        size_t at = 0;
        while (at < out->n && out->column[at] != c)
            at++;
        if (at == out->n) {
            out->column[at] = c;
            out->value[at] = 0;
            out->n++;
        }
        out->value[at] += 1;
    }
    /* roots of the counts, weighed by rarity, to length 1 */
    double length = 0;
    for (size_t i = 0; i < out->n; i++) {
        out->value[i] = sqrtf(out->value[i]) * (weight == NULL ? 1 : weight[out->column[i]]);
        length += (double)(out->value[i] * out->value[i]);
    }
    float scale = length > 0 ? (float)(1 / sqrt(length)) : 0;
    for (size_t i = 0; i < out->n; i++)
        out->value[i] *= scale;
}

/* Gram-Schmidt over the K columns of v (WIDTH, K). */
static void orthonormal(double (*v)[K])
{
    for (size_t k = 0; k < K; k++) {
        for (size_t j = 0; j < k; j++) {
            double dot = 0;
            for (size_t i = 0; i < WIDTH; i++)
                dot += v[i][k] * v[i][j];
            for (size_t i = 0; i < WIDTH; i++)
                v[i][k] -= dot * v[i][j];
        }
        double length = 0;
        for (size_t i = 0; i < WIDTH; i++)
            length += v[i][k] * v[i][k];
        double scale = length > 1e-24 ? 1 / sqrt(length) : 0;
        for (size_t i = 0; i < WIDTH; i++)
            v[i][k] *= scale;
    }
}

/* Texts are read again in each round instead of being kept: memory stays within 200 KB whatever the
 * column. */
tab_text_basis *tab_text_fit(tab_arena *a, const tab_str *text, size_t n)
{
    if (n < 20)
        return NULL;
    tab_text_basis *b = tab_arena_new_of(a, tab_text_basis, 1);
    double(*v)[K] = calloc(WIDTH, sizeof *v), (*next)[K] = calloc(WIDTH, sizeof *next);
    size_t stride = n / FIT_TEXTS + 1;
    sparse s;
    if (b == NULL || v == NULL || next == NULL) {
        free(v);
        free(next);
        return NULL;
    }
    /* in how many texts each column stands */
    for (size_t t = 0; t < n; t += stride) {
        read_grams(text[t], NULL, &s);
        for (size_t i = 0; i < s.n; i++)
            b->weight[s.column[i]] += 1;
    }
    for (size_t i = 0; i < WIDTH; i++) {
        /* the start is any V that is the same each time: hashes of the place */
        b->weight[i] = (float)log(1 + (double)(n / stride + 1) / (1 + (double)b->weight[i]));
        for (size_t k = 0; k < K; k++)
            v[i][k] = tab_unit(tab_mix2(i, k)) - 0.5;
    }
    orthonormal(v);
    /* a round adds up A' (A v) text by text */
    for (int round = 0; round < ROUNDS; round++) {
        memset(next, 0, WIDTH * sizeof *next);
        for (size_t t = 0; t < n; t += stride) {
            double y[K] = { 0 };
            read_grams(text[t], b->weight, &s);
            for (size_t i = 0; i < s.n; i++)
                for (size_t k = 0; k < K; k++)
                    y[k] += (double)s.value[i] * v[s.column[i]][k];
            for (size_t i = 0; i < s.n; i++)
                for (size_t k = 0; k < K; k++)
                    next[s.column[i]][k] += (double)s.value[i] * y[k];
        }
        double(*swap)[K] = v;
        v = next, next = swap;
        orthonormal(v);
    }
    for (size_t i = 0; i < WIDTH; i++)
        for (size_t k = 0; k < K; k++)
            b->v[i][k] = (float)v[i][k];
    free(v);
    free(next);
    return b;
}

/* All directions are used where there is a basis. */
size_t tab_text_width(const tab_text_basis *b)
{
    return b == NULL ? 0 : K;
}

void tab_text_project(const tab_text_basis *b, size_t part, const tab_str *text, size_t n, double *out)
{
    sparse s;
    for (size_t t = 0; t < n; t++) {
        double y = 0;
        read_grams(text[t], b->weight, &s);
        for (size_t i = 0; i < s.n; i++)
            y += (double)(s.value[i] * b->v[s.column[i]][part]);
        out[t] = y;
    }
}

void tab_pack_text_basis(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_pack_array(p, each, 1, sizeof(tab_text_basis));
}
