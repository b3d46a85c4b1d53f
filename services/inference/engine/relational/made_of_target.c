/* See parts.h: numbers of rows that others refer to, held against the targets of these
 * (features/target_means.h, decision 0783). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/features/target_means.h"
#include "services/inference/engine/relational/parts.h"

/* Sums of one class, or of numbers, by the row that is referred to. level: TAB_NULL: of numbers. */
static void sum_up(const tab_way *w, const tab_column_profile *y, const uint32_t *row, size_t n,
                   uint32_t level, tab_target_sums *g)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t to = tab_way_row(w, w->hop[0].from->hash[row == NULL ? i : row[i]]);
        if (to == TAB_NULL)
            continue;
        g[to].all++;
        double v = level == TAB_NULL        ? y->number[i]
                   : y->code[i] == TAB_NULL ? (double)NAN
                                            : (double)(y->code[i] == level);
        if (isnan(v))
            continue;
        g[to].n++, g[to].sum += v, g[to].square += v * v;
    }
}

bool tab_link_made_of_target(const tab_links *l, const tab_profile *p, const uint32_t *row, size_t target,
                             bool *made)
{
    const tab_column_profile *y = &p->col[target];
    bool codes = y->code != NULL;
    size_t levels = !codes ? 1 : y->levels < TAB_TARGET_LEVELS ? y->levels : TAB_TARGET_LEVELS;
    for (size_t i = 0; i < l->ways; i++) {
        const tab_way *w = &l->way[i];
        size_t end = tab_way_end(w), rows = l->p[end]->table->rows;
        if (w->downs > 0 || (!codes && y->number == NULL))
            continue;
        tab_target_sums *g = malloc((rows + 1) * sizeof *g);
        if (g == NULL)
            return false;
        for (uint32_t k = 0; k < levels; k++) {
            memset(g, 0, rows * sizeof *g);
            sum_up(w, y, row, p->table->rows, codes ? k : TAB_NULL, g);
            for (size_t f = 0; f < l->features; f++)
                if (l->feature[f].way == w && l->feature[f].kind == TAB_LINK_NUMBER &&
                    tab_made_of_targets(g, tab_link_numbers(&l->p[end]->col[l->feature[f].column]), rows))
                    made[f] = true;
        }
        free(g);
    }
    return true;
}
