/* Rows as sparse vectors and the search for near ones: blocking without a schema.
 *
 *   row ─> features (words, character 3-grams, each with its idf weight; unit length)
 *   index: feature -> rows that hold it
 *
 * A query reads its features from the rarest on until a budget of postings is spent (prefix filtering),
 * so that the cost grows with the rows and not with their square. */
#ifndef TAB_LINK_ROWS_H
#define TAB_LINK_ROWS_H

#include "services/inference/engine/align/view.h"

typedef struct {
    size_t rows, features; /* feature ids are below `features` */
    uint64_t *at;          /* (rows + 1) into id and w */
    uint32_t *id;          /* ascending within a row */
    float *w;
} tab_sparse;

typedef struct {
    uint32_t row;
    float w;
} tab_posting;

typedef struct {
    size_t features;
    uint64_t *at;  /* (features + 1) into posting */
    uint8_t *size; /* (features) digits of the number of postings in base 2, 0 for none */
    tab_posting *posting;
} tab_index;

enum { TAB_NEAR = 6 }; /* neighbours kept a query */

typedef struct {
    uint32_t row;
    float score;
} tab_near;

/* Whole rows, every column, no schema: words 0.6 and 3-grams 0.4 of the squared length. grams: the size of
 * the hashed space of 3-grams, a power of 2; 0: words alone. The idf is over all tables. Freed with
 * tab_sparse_free. */
tab_status tab_rows_whole(const tab_engine *e, const tab_views *v, size_t table, uint32_t grams,
                          tab_sparse *ret, tab_error *err) TAB_CHECKED;

/* Rows through given features: fill calls tab_row_add for each feature of a row; features need not be
 * sorted or distinct. */
typedef struct tab_row_sink tab_row_sink;
void tab_row_add(tab_row_sink *s, uint32_t id);
typedef void tab_row_fill(void *ctx, size_t row, tab_row_sink *sink);
tab_status tab_rows_build(const tab_engine *e, size_t rows, size_t features, tab_row_fill *fill, void *ctx,
                          tab_sparse *ret, tab_error *err) TAB_CHECKED;
void tab_sparse_free(tab_sparse *s);

/* Weights of n tables' rows in one feature space: idf over all of them. Features below `words` carry 0.6
 * of a row's squared length, the others 0.4 (all of it where words == features). */
tab_status tab_rows_weigh(const tab_engine *e, tab_sparse *s, size_t n, size_t words,
                          tab_error *err) TAB_CHECKED;

tab_status tab_index_build(const tab_engine *e, const tab_sparse *s, tab_index *ret,
                           tab_error *err) TAB_CHECKED;
void tab_index_free(tab_index *x);

/* The TAB_NEAR highest inner products of each queried row with the index's rows, best first, ties by row;
 * absent places have row TAB_NULL. Row query[i] (or i, when query is NULL) writes near[i * TAB_NEAR ...].
 * `same`: index and queries are one table; a row is not its own neighbour. `rough`: the products are over
 * the features that were read, not over all. */
tab_status tab_rows_near(const tab_engine *e, const tab_sparse *q, const uint32_t *query, size_t queries,
                         const tab_sparse *target, const tab_index *x, bool same, bool rough, tab_near *near,
                         tab_error *err) TAB_CHECKED;

/* The same with k neighbours of every row, k <= TAB_NEAR_MOST; q may be the target: no row is its own. */
enum { TAB_NEAR_MOST = 32 };
tab_status tab_rows_nearest(const tab_engine *e, const tab_sparse *q, const tab_sparse *target,
                            const tab_index *x, size_t k, tab_near *near, tab_error *err) TAB_CHECKED;

float tab_sparse_dot(const tab_sparse *a, size_t row_a, const tab_sparse *b, size_t row_b);
#endif
