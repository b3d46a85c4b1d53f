/* The network's inner loops. Every sum has one order, whatever the number of rows in a call: products go
 * through OpenBLAS (one thread) in tiles of fixed shape, padded; the rest is vectors of 16 lanes written out,
 * reduced as a tree. exp is our own polynomial (relative error below 2e-7), so answers do not depend on libm. */
#ifndef TAB_PFN_KERNELS_H
#define TAB_PFN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

enum {
    TAB_PFN_TILE = 256, /* rows of a product; its rest goes in tiles of 64, then of 16 */
    TAB_PFN_MIDDLE = 64,
    TAB_PFN_SMALL = 16,
    TAB_PFN_QUERIES = 128, /* rows of an attention tile; its rest goes in tiles of 32 */
    TAB_PFN_FEW = 32,
    TAB_PFN_KEYS = 512
};

/* y (n, out) = x (n, in) w (in, out); y does not overlap x. in <= 512, out <= 1024. */
void tab_pfn_product(size_t n, size_t in, size_t out, const float *x, const float *w, float *y);

/* y = x / sqrt(mean(x^2) + 1e-6) by rows of width w, a multiple of 16; y may be x. gain (w) or NULL. */
void tab_pfn_rms(size_t n, size_t w, const float *x, const float *gain, float *y);

void tab_pfn_gelu(size_t n, float *x); /* in its tanh form; n a multiple of 16 */
void tab_pfn_add(size_t n, const float *x, float *y); /* y += x; n a multiple of 16 */

/* softmax(q k') v in blocks with a running maximum (Milakov & Gimelshein 2018): q (nq, dim) already scaled,
 * k and v (nk, dim), each with its stride; dim a multiple of 16 up to 128. */
void tab_pfn_attend(size_t nq, size_t nk, size_t dim, const float *q, size_t ldq, const float *k, size_t ldk,
                    const float *v, size_t ldv, float *o, size_t ldo);

/* The same where values are slots: vote (nq, 10) += weight of the keys that hold each slot; or numbers, where
 * slot is NULL: vote (nq) += weighted mean of value, which is readable and zero up to a multiple of 16. */
void tab_pfn_vote(size_t nq, size_t nk, size_t dim, const float *q, size_t ldq, const float *k, size_t ldk,
                  const uint8_t *slot, const float *value, float *vote);

/* Cells read their column's inducing rows: q (16) one head of a cell, kt (16, k) keys transposed, v (k, ldv),
 * k a multiple of 16 up to 64. */
void tab_pfn_read_inducing(const float *q, const float *kt, size_t k, const float *v, size_t ldv, float *o);

/* One head within a row: q (16) reads n keys and values, `stride` floats apart; score (n rounded up to 16). */
void tab_pfn_read_row(const float *q, const float *k, const float *v, size_t n, size_t stride, float *score,
                      float *o);

/* sin and cos of a, |a| <= 1e4, error below 2e-7 */
void tab_pfn_sincos(float a, float *s, float *c);
#endif
