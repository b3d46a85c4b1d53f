/* How sure a candidate is (suspects.h): a logistic regression a kind, with the weights of weights.h. Of
 * alternatives one at most is wrong: with odds o each, that is o / (1 + the sum of all). A number that the
 * column's own upper tail goes on to is as likely one of it (decision 0846).
 *
 * A second regression knows what the finders of one kind do not: what another kind says of the cell, whether
 * to the same end, and whether one slip explains it. What is proven within its own column or row (sums,
 * orders, spellings, keys) is left as it is. Decision 0658. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/suspects/parts.h"
#include "services/inference/engine/suspects/weights.h"

static double confidence_of(const tab_suspect *c)
{
    double z = tab_suspect_weights[c->kind][TAB_SUSPECT_FEATURES];
    for (size_t i = 0; i < TAB_SUSPECT_FEATURES; i++)
        z += tab_suspect_weights[c->kind][i] * (double)c->f[i];
    return 1 / (1 + (1 + c->instead) * (1 + c->by_tail) * exp(-z));
}

int tab_suspect_by_cell(const void *a, const void *b)
{
    const tab_suspect *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    if (x->confidence != y->confidence)
        return x->confidence > y->confidence ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static int by_confidence(const void *a, const void *b)
{
    const tab_suspect *x = a, *y = b;
    if (x->confidence != y->confidence)
        return x->confidence > y->confidence ? -1 : 1;
    return tab_suspect_by_cell(a, b);
}

void tab_suspects_settle(tab_suspect *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double p = fmin(fmax(s[i].confidence, 1e-9), 1 - 1e-9);
        const double x[TAB_SUSPECT_SETTLED] = { log(p / (1 - p)), s[i].second, s[i].same, s[i].mended.n > 0 };
        double z = tab_suspect_settled[TAB_SUSPECT_SETTLED];
        for (size_t k = 0; k < TAB_SUSPECT_SETTLED; k++)
            z += tab_suspect_settled[k] * x[k];
        if (s[i].kind < TAB_SUSPECT_IDENTITY)
            s[i].confidence = 1 / (1 + exp(-z));
    }
    if (n > 0)
        qsort(s, n, sizeof *s, by_confidence);
}

size_t tab_suspects_surest(tab_suspect *s, size_t n, size_t most)
{
    for (size_t i = 0; i < n; i++)
        s[i].confidence = confidence_of(&s[i]);
    if (n > 0)
        qsort(s, n, sizeof *s, by_confidence);
    return n < most ? n : most;
}
