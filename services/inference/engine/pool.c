#include "services/inference/engine/pool.h"

#include <math.h>

#include "services/inference/engine/align/union_find.h"
#include "services/inference/engine/sector/sectors.h"

static const double LEAST = 1e-9; /* a probability that a table gives; none rules a sector out alone */

static size_t first_of(const double *sector)
{
    size_t best = 0;
    for (size_t s = 1; s < TAB_SECTORS; s++)
        best = sector[s] > sector[best] ? s : best;
    return best;
}

/* Tables without cells say nothing. */
static bool says(const tab_profile *p)
{
    return p->sector != NULL && p->table->rows > 0 && p->table->cols > 0;
}

/* What the tables of one group say together, normalised. */
static void pool(tab_profile *const *p, size_t n, uint32_t *up, uint32_t group, double ret[TAB_SECTORS])
{
    double most = -INFINITY, sum = 0;
    size_t tables = 0;
    for (size_t s = 0; s < TAB_SECTORS; s++)
        ret[s] = 0;
    for (size_t t = 0; t < n; t++) {
        if (!says(p[t]) || tab_union_root(up, (uint32_t)t) != group)
            continue;
        tables++;
        for (size_t s = 0; s < TAB_SECTORS; s++)
            ret[s] += log(fmax(p[t]->sector[s], LEAST));
    }
    for (size_t s = 0; s < TAB_SECTORS; s++) {
        ret[s] /= sqrt((double)(tables > 0 ? tables : 1));
        most = fmax(most, ret[s]);
    }
    for (size_t s = 0; s < TAB_SECTORS; s++)
        sum += ret[s] = exp(ret[s] - most);
    for (size_t s = 0; s < TAB_SECTORS; s++)
        ret[s] /= sum;
}

bool tab_sectors_pool(tab_arena *a, tab_profile *const *p, size_t n, const tab_references *refs)
{
    if (refs->n == 0)
        return true;
    uint32_t *up = tab_arena_new_of(a, uint32_t, n);
    double(*pooled)[TAB_SECTORS] = tab_arena_alloc(a, n, sizeof *pooled);
    if (up == NULL || pooled == NULL)
        return false;
    for (size_t t = 0; t < n; t++)
        up[t] = (uint32_t)t;
    for (size_t i = 0; i < refs->n; i++)
        up[tab_union_root(up, refs->ref[i].child_table)] = tab_union_root(up, refs->ref[i].parent_table);
    for (size_t t = 0; t < n; t++)
        pool(p, n, up, tab_union_root(up, (uint32_t)t), pooled[t]);
    for (size_t t = 0; t < n; t++) {
        if (!says(p[t]))
            continue;
        if (first_of(pooled[t]) != first_of(p[t]->sector))
            p[t]->hints = 0;
        p[t]->sector = pooled[t];
    }
    return true;
}
