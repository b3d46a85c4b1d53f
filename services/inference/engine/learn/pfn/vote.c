/* See vote.h: how the context answers a query, for net.c. Each head is one attention of the query over the
 * context rows; its weights are votes for the rows' classes, or for their numbers. So a numeric answer is a
 * mean of known targets, never beyond them (decision 0120). */
#include "services/inference/engine/learn/pfn/vote.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/learn/pfn/tensor_ops.h"

/* Keys are packed by the caller. */
bool tab_pfn_voters_new(tab_pfn_voters *v, tab_arena *a, size_t n, size_t d, const uint8_t *slot)
{
    *v = (tab_pfn_voters){ .n = n, .d = d };
    for (size_t h = 0; h < TAB_PFN_VOTES; h++)
        v->key[h] = tab_arena_new_of(a, float, tab_pfn_keys_room(n, d / TAB_PFN_VOTES));
    if (slot != NULL && (v->slot = tab_arena_new_of(a, uint8_t, n)) != NULL)
        for (size_t i = 0; i < n; i++) {
            v->slot[i] = slot[i];
            v->present[slot[i]] = true;
        }
    return !tab_arena_full(a);
}

typedef struct {
    float value;
    uint32_t row;
} ranked;

/* For qsort. */
static int by_value(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->value != y->value)
        return (x->value > y->value) - (x->value < y->value);
    return (x->row > y->row) - (x->row < y->row);
}

/* Ties keep the order of rows. */
bool tab_pfn_voters_values(tab_pfn_voters *v, tab_arena *a, const float *target)
{
    size_t n = v->n;
    /* targets in units of their deviation, and the rows by rising target, for quantiles */
    double sum = 0.0, sq = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (double)target[i];
    v->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        sq += ((double)target[i] - v->mean) * ((double)target[i] - v->mean);
    v->sd = sqrt(sq / (double)n);
    v->value = tab_arena_new_of(a, float, n + 16);
    v->order = tab_arena_new_of(a, uint32_t, n);
    ranked *r = malloc(n * sizeof *r);
    bool ok = v->value != NULL && v->order != NULL && r != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        v->value[i] = (float)(((double)target[i] - v->mean) / (v->sd + 1e-12));
        r[i] = (ranked){ v->value[i], (uint32_t)i };
    }
    if (ok)
        qsort(r, n, sizeof *r, by_value);
    for (size_t i = 0; ok && i < n; i++)
        v->order[i] = r[i].row;
    free(r);
    return ok;
}

/* The heads' votes on q, added up: out (n, wide). */
static void vote(const tab_pfn_voters *v, size_t n, size_t wide, const float *q, float *out)
{
    size_t dim = v->d / TAB_PFN_VOTES;
    memset(out, 0, n * wide * sizeof *out);
    for (size_t h = 0; h < TAB_PFN_VOTES; h++)
        tab_pfn_vote(n, v->n, dim, q + h * dim, v->d, v->key[h], v->slot, v->value, out);
}

/* 1e-5 keeps a class that no vote reaches possible; classes that the context does not hold stay
 * impossible. */
void tab_pfn_vote_classes(const tab_pfn_voters *v, size_t n, const float *q, float *logp)
{
    vote(v, n, TAB_PFN_SLOTS, q, logp);
    for (size_t i = 0; i < n; i++, logp += TAB_PFN_SLOTS) {
        /* the mean over the heads, and a share for classes without a vote */
        float sum = 0.0f;
        for (size_t k = 0; k < TAB_PFN_SLOTS; k++)
            if (v->present[k])
                sum += logp[k] = logp[k] / TAB_PFN_VOTES + 1e-5f;
        for (size_t k = 0; k < TAB_PFN_SLOTS; k++)
            logp[k] = v->present[k] ? logf(logp[k] / sum) : -INFINITY;
    }
}

/* Back in the target's own units. */
void tab_pfn_vote_mean(const tab_pfn_voters *v, size_t n, const float *q, float *mean)
{
    vote(v, n, 1, q, mean);
    for (size_t i = 0; i < n; i++)
        mean[i] = (float)(v->mean + v->sd / TAB_PFN_VOTES * (double)mean[i]);
}

/* One query's quantiles, from the weights of the context's rows, which add up to TAB_PFN_VOTES. */
static void read_quantiles(const tab_pfn_voters *v, const float *weight, float *quantile)
{
    /* A row stands in the middle of its own weight; between two rows' middles the quantile lies on a line. */
    double below = 0, last = 0, from = (double)v->value[v->order[0]];
    size_t l = 0;
    for (size_t i = 0; i < v->n && l < TAB_PFN_LEVELS; i++) {
        double w = (double)weight[v->order[i]], middle = below + w / 2, to = (double)v->value[v->order[i]];
        /* the levels between the row before and this one */
        for (; l < TAB_PFN_LEVELS; l++) {
            double level = (double)(l + 1) / (TAB_PFN_LEVELS + 1) * TAB_PFN_VOTES;
            if (level > middle)
                break;
            double share = i > 0 && middle > last ? (level - last) / (middle - last) : 1;
            quantile[l] = (float)(v->mean + v->sd * (from + (to - from) * share));
        }
        below += w, last = middle, from = to;
    }
    /* levels behind the last middle: the greatest target */
    for (; l < TAB_PFN_LEVELS; l++)
        quantile[l] = (float)(v->mean + v->sd * from);
}

/* weight (context rows) is scratch: the heads' weights of one query, added up. */
void tab_pfn_vote_quantiles(const tab_pfn_voters *v, size_t n, const float *q, float *weight, float *quantile)
{
    size_t dim = v->d / TAB_PFN_VOTES;
    for (size_t i = 0; i < n; i++) {
        memset(weight, 0, v->n * sizeof *weight);
        for (size_t h = 0; h < TAB_PFN_VOTES; h++)
            tab_pfn_weights(v->n, dim, q + i * v->d + h * dim, v->key[h], weight);
        read_quantiles(v, weight, quantile + i * TAB_PFN_LEVELS);
    }
}

void tab_pack_voters(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_pfn_voters *v = each;
    for (size_t h = 0; h < TAB_PFN_VOTES; h++)
        TAB_PACK(p, v->key[h], tab_pfn_keys_room(v->n, v->d / TAB_PFN_VOTES));
    TAB_PACK(p, v->slot, v->n);
    TAB_PACK(p, v->value, (v->n + 15) / 16 * 16); /* zeros behind them are read */
    TAB_PACK(p, v->order, v->n);
}
