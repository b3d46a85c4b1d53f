/* See chance.h. An entity of many rows makes many pairs: pairs are weighed, so that it counts once. */
#include "services/inference/engine/link/evidence/chance.h"

#include <math.h>
#include <stdlib.h>

static const float SEEN = 0.01f; /* pairs of less are no question */

/* So many times the look-alikes that the twins' model reckons with in a table are feared across: there each
 * stands beside better partners, here nothing better may be there. By the made cases that share nobody
 * (decision 0465). */
static const double FEARED = 2.1;

typedef struct {
    float p;
    uint32_t i;
    double weight;
} answer;

static int likeliest_first(const void *a, const void *b)
{
    const answer *x = a, *y = b;
    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    if (x->i != y->i)
        return x->i < y->i ? -1 : 1;
    return (x->weight < y->weight) - (x->weight > y->weight);
}

/* Of each row of a table one over the rows that are one entity with it. */
static double *row_weights(const tab_twin_pairs *s)
{
    double *w = malloc((s->rows + 1) * sizeof *w);
    for (size_t r = 0; w != NULL && r < s->rows; r++)
        w[r] = 1;
    for (size_t i = 0; w != NULL && i < s->n; i++)
        if (s->p[i] >= 0.5f) {
            w[s->a[i]]++;
            w[s->b[i]]++;
        }
    for (size_t r = 0; w != NULL && r < s->rows; r++)
        w[r] = 1 / w[r];
    return w;
}

/* The pairs that may be one entity. times: 2 within a table, whose pairs of an entity are half as many. */
static size_t list_answers(const tab_twin_pairs *s, const double *wa, const double *wb, double times,
                           answer *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->p[i] >= SEEN)
            ret[n++] = (answer){ s->p[i], (uint32_t)i, times * wa[s->a[i]] * wb[s->b[i]] };
    return n;
}

static double pairs_of(const tab_twin_pairs *s)
{
    return 0.5 * (double)s->rows * ((double)s->rows - 1);
}

/* Pairs as likely as one another, by their weight, and how much of it is chance. */
typedef struct {
    double chance, weight;
    size_t n;
} block;

/* Lowers s->p by the look-alikes (within, n) among the answers across (m): they grow as answers fall, so that
 * neighbours which break that are pooled (pool adjacent violators). One entity more than is expected is
 * reckoned with above all. */
static void lower(tab_twin_pairs *s, const answer *within, size_t n, const answer *across, size_t m,
                  double times, block *stack)
{
    size_t top = 0, at = 0, k = 0;
    double last = -1, alike = 0;
    for (size_t i = 0; i < m; i++) {
        for (; at < n && within[at].p >= across[i].p; at++)
            alike += FEARED * times * within[at].weight * (1 - (double)within[at].p);
        stack[top++] = (block){ alike - last, across[i].weight, 1 };
        last = alike;
        while (top > 1 && stack[top - 2].chance * stack[top - 1].weight >=
                              stack[top - 1].chance * stack[top - 2].weight) {
            top--;
            stack[top - 1].chance += stack[top].chance;
            stack[top - 1].weight += stack[top].weight;
            stack[top - 1].n += stack[top].n;
        }
    }
    for (size_t b = 0; b < top; b++) {
        float p = (float)fmax(1 - stack[b].chance / stack[b].weight, 0);
        for (size_t i = 0; i < stack[b].n; i++, k++)
            s->p[across[k].i] = fminf(s->p[across[k].i], p);
    }
}

bool tab_across_chance(tab_twin_pairs *s, const tab_twin_pairs *const twins[2])
{
    size_t most = twins[0]->n + twins[1]->n + 1;
    double *wa = row_weights(twins[0]), *wb = row_weights(twins[1]);
    answer *within = malloc(most * sizeof *within), *across = malloc((s->n + 1) * sizeof *across);
    block *stack = malloc((s->n + 1) * sizeof *stack);
    bool ok = wa != NULL && wb != NULL && within != NULL && across != NULL && stack != NULL;
    if (ok) {
        double times =
            (double)s->t[0]->rows * (double)s->t[1]->rows / fmax(pairs_of(twins[0]) + pairs_of(twins[1]), 1);
        size_t n = list_answers(twins[0], wa, wa, 2, within);
        n += list_answers(twins[1], wb, wb, 2, within + n);
        size_t m = list_answers(s, wa, wb, 1, across);
        qsort(within, n, sizeof *within, likeliest_first);
        qsort(across, m, sizeof *across, likeliest_first);
        lower(s, within, n, across, m, times, stack);
    }
    free(wa);
    free(wb);
    free(within);
    free(across);
    free(stack);
    return ok;
}
