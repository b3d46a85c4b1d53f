/* The in-context transformer's forward pass: labelled rows in, then answers for other rows, nothing fitted.
 *
 *   cells (m, n, e) -> column stage -> row refinement -> column stage -> pooling -> rows (n, d)
 *                   -> blocks: context rows attend to each other, query rows to them -> vote of the context
 *
 * A column stage: a few learned inducing rows read the context's cells (with their labels), then every cell
 * reads them, so its cost is linear in the rows (Lee et al., Set Transformer, ICML 2019). Query rows
 * influence nothing: what they read is computed once (tab_pfn_encode) and kept, and a query's answer is,
 * bit for bit, the same whatever others are in its call. tools/pretrain/net.py is the same network in
 * PyTorch; a test holds the two together. After Hollmann et al. (Nature 2025), Qu et al. (TabICL, ICML
 * 2025). One thread; no state. */
#ifndef TAB_PFN_NET_H
#define TAB_PFN_NET_H

#include <stdatomic.h>

#include "common/base/arena.h"
#include "services/inference/engine/learn/pfn/weights.h"

typedef struct {
    size_t n, m;
    const float *x;     /* (m, n) column by column; NaN where missing */
    const uint8_t *cat; /* (m) 1 where the values are codes of a category */
} tab_pfn_table;

typedef struct tab_pfn_context tab_pfn_context;

/* Reads a context: slot (n) in 0..9, the classes' label slots; code (m, TAB_PFN_CODE), what tells columns
 * apart. Columns that are constant should have been dropped. n >= 1, m >= 1. The result lives in the arena
 * (about 4 (n (64 blocks + d) + m (4 e inducing + n)) bytes) and borrows w. NULL: memory, or cancelled. */
tab_pfn_context *tab_pfn_encode(const tab_pfn *w, tab_arena *a, const tab_pfn_table *t, const uint8_t *slot,
                                const float *code, const atomic_bool *cancel);

/* The same with a numeric target (n), finite, of any scale; w->numeric. */
tab_pfn_context *tab_pfn_encode_numeric(const tab_pfn *w, tab_arena *a, const tab_pfn_table *t,
                                        const float *target, const float *code, const atomic_bool *cancel);

/* logp (n, TAB_PFN_SLOTS): log-probabilities of the slots that the context holds, the others at -INFINITY.
 * The table has the context's columns. False: memory. Thread-safe. */
bool tab_pfn_query(const tab_pfn_context *c, const tab_pfn_table *t, float *logp) TAB_CHECKED;

/* Where the context's target is numeric: mean (n) of it, the context's targets by their weights, so
 * between the lowest and the highest of them; and, where quantile is not NULL, (n, TAB_PFN_LEVELS)
 * quantiles of the same distribution at .05, .1 ... .95, rising. False: memory. Thread-safe. */
bool tab_pfn_query_numeric(const tab_pfn_context *c, const tab_pfn_table *t, float *mean,
                           float *quantile) TAB_CHECKED;

/* Multiply-adds of encoding and of one query, for budgets. */
double tab_pfn_encode_work(const tab_pfn *w, size_t n, size_t m);
double tab_pfn_query_work(const tab_pfn *w, size_t n, size_t m);

/* For tests: called with a stage's name and values, context rows only. */
typedef void (*tab_pfn_tap)(void *arg, const char *stage, const float *v, size_t numbers);
extern _Thread_local tab_pfn_tap tab_pfn_tap_fn;
extern _Thread_local void *tab_pfn_tap_arg;
#endif
