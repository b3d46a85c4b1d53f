/* The network's inner loops. A row's sums have one order, whatever rows are in its call, so it comes out
 * bit for bit alike alone and in company; sums over a vector are reduced as a tree. exp is our own
 * polynomial (relative error below 2e-7), so answers do not depend on libm. One thread; nothing is
 * allocated. */
#ifndef TAB_PFN_TENSOR_OPS_H
#define TAB_PFN_TENSOR_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Matrices are bf16 (the upper halves of floats), laid out in panels of 64, 32 or 16 columns, (out /
 * panel, in, panel), once at load: a single row is as quick as they pass through the cache. y (n, out) = x
 * (n, in) w (in, out), w packed; y does not overlap x; in at most 1,024, out a multiple of 16. */
void tab_pfn_pack(size_t in, size_t out, const uint16_t *w, uint16_t *packed);
void tab_pfn_product(size_t n, size_t in, size_t out, const float *x, const uint16_t *w, float *y);

/* y (n, out) = x (n, in) w (in, out), matrices of floats as they lie; any sizes. What the other learners
 * multiply by when they answer (tab_apply): a lone row costs a row, not a tile. */
void tab_row_product(size_t n, size_t in, size_t out, const float *x, const float *w, float *y);

/* y = x / sqrt(mean(x^2) + 1e-6) by rows of width w, a multiple of 16; y may be x. gain (w) or NULL. */
void tab_pfn_rms(size_t n, size_t w, const float *x, const float *gain, float *y);

void tab_pfn_gelu(size_t n, float *x);                /* in its tanh form; n a multiple of 16 */
void tab_pfn_add(size_t n, const float *x, float *y); /* y += x; n a multiple of 16 */

/* Keys (n, dim) in panels of 64, (n / 64, dim, 64), zeros beyond n: tab_pfn_keys_room floats. */
size_t tab_pfn_keys_room(size_t n, size_t dim);
void tab_pfn_pack_keys(size_t n, size_t dim, const float *k, size_t ldk, float *packed);

/* softmax(q k') v in blocks with a running maximum (Milakov & Gimelshein 2018): q (nq, dim) already scaled, k
 * packed, v (nk, dim) with its stride; dim a multiple of 16 up to 128. */
void tab_pfn_attend(size_t nq, size_t nk, size_t dim, const float *q, size_t ldq, const float *k,
                    const float *v, size_t ldv, float *o, size_t ldo);

/* The same where values are slots: vote (nq, 10) += weight of the keys that hold each slot; or numbers, where
 * slot is NULL: vote (nq) += weighted mean of value, which is readable and zero up to a multiple of 16. */
void tab_pfn_vote(size_t nq, size_t nk, size_t dim, const float *q, size_t ldq, const float *k,
                  const uint8_t *slot, const float *value, float *vote);

/* weight (nk) += the softmax of one query's scores, q (dim) already scaled. */
void tab_pfn_weights(size_t nk, size_t dim, const float *q, const float *k, float *weight);

/* Cells read their column's inducing rows: q (16) one head of a cell, kt (16, k) keys transposed, v (k, ldv),
 * k a multiple of 16 up to 64. */
void tab_pfn_read_inducing(const float *q, const float *kt, size_t k, const float *v, size_t ldv, float *o);

/* One head within a row: q (16) reads n keys and values, `stride` floats apart; score (n rounded up to
 * 16). */
void tab_pfn_read_row(const float *q, const float *k, const float *v, size_t n, size_t stride, float *score,
                      float *o);

/* sin and cos of a, |a| <= 1e4, error below 2e-7 */
void tab_pfn_sincos(float a, float *s, float *c);
#endif
