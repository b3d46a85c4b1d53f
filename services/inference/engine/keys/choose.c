/* See choose.h. Greedy: inclusions are taken by falling probability. One that would give its child a second
 * parent, or close a circle of parents, is dropped. */
#include "services/inference/engine/keys/choose.h"

#include <assert.h>
#include <stdlib.h>

typedef struct {
    float p;
    uint32_t at;
} ranked;

/* For qsort. */
static int likeliest_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

bool tab_keys_choose(size_t columns, const tab_inclusion *x, size_t n, float *p)
{
    ranked *order = malloc((n + 1) * sizeof *order);
    uint32_t *up = malloc((columns + 1) * sizeof *up);
    bool ok = order != NULL && up != NULL;
    for (size_t i = 0; ok && i < columns; i++)
        up[i] = TAB_NULL;
    for (size_t i = 0; ok && i < n; i++)
        order[i] = (ranked){ p[i], (uint32_t)i };
    if (ok)
        qsort(order, n, sizeof *order, likeliest_first);
    for (size_t i = 0; ok && i < n; i++) {
        const tab_inclusion *c = &x[order[i].at];
        /* whether the child is above its parent already: then the pair would close a circle */
        uint32_t above = c->parent;
        while (above != TAB_NULL && above != c->child)
            above = up[above];
        assert(c->child < columns && c->parent < columns);
        if (up[c->child] != TAB_NULL || above == c->child)
            p[order[i].at] = 0;
        else
            up[c->child] = c->parent;
    }
    free(order);
    free(up);
    return ok;
}
