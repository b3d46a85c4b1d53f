/* What the passes of net.c cost, in multiply-adds: budgets are held against it (decision 0200). The terms
 * follow the stages of net.h; e is the width of a cell, d that of a row. */
#include "services/inference/engine/learn/pfn/net.h"

/* Multiply-adds of one row's cells through both column stages, the row refinement and the pooling. */
static double cell_work(const tab_pfn *w, size_t m)
{
    double e = w->e, k = w->inducing, t = w->tokens, row = 2 * (double)m + 6 * t;
    double stage = 2 * e * e + 2 * k * e + 4 * e * e; /* read the inducing rows, MLP */
    double refine =
        row * (6 * e * e) + 4 * (double)m * 2 * t * e * 2; /* per row: 2 x (gather, broadcast) + pool */
    return (double)m * (TAB_PFN_FEATURES * e + 2 * stage + 8 * e * e) + refine;
}

/* Multiply-adds of one row through the blocks. */
static double block_work(const tab_pfn *w, double known)
{
    double d = w->d;
    return w->blocks * (6 * d * d + 2 * d * known);
}

/* One query: its cells, its way through the blocks over n rows, the vote. */
double tab_pfn_query_work(const tab_pfn *w, size_t n, size_t m)
{
    return cell_work(w, m) + block_work(w, (double)n) + (double)w->d * (double)n;
}

/* n rows through the cells, the inducing rows that read them, and the blocks among themselves. */
double tab_pfn_encode_work(const tab_pfn *w, size_t n, size_t m)
{
    double e = w->e, induce = 2 * (double)m * (2 * e * e + 2 * w->inducing * e), d = w->d;
    return (double)n * (cell_work(w, m) + induce + block_work(w, (double)n) + w->blocks * 2.5 * d * d);
}
