#include "services/inference/engine/link/groups/confirm.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/agreement.h"

enum { MOST = 1000 }; /* matched rows that are looked at */
/* What is as likely as this in view of all evidence, the matched rows among it, is not taken back: the
 * ward and the diagnosis of a patient differ from visit to visit. */
static const float SURE = 0.9f;

/* Of tab_row_agreement's features: chosen by hand so that no column of tests/bench/match that is right
 * falls. */
static bool confirmed(const float *f)
{
    enum { ABOVE_CHANCE = 1, EQUAL = 2, ORDER = 3, FOLLOWS = 4, TRUST = 7 };
    float trust = f[TRUST];
    return trust == 0 || f[ABOVE_CHANCE] >= 0.1f * trust || f[EQUAL] >= 0.5f * trust ||
           f[ORDER] >= 0.3f * trust || f[FOLLOWS] >= 0.1f * trust;
}

tab_status tab_link_confirm(const tab_views *v, tab_linkage *l, double threshold, tab_error *err)
{
    const tab_candidates *c = &l->c;
    size_t n = 0, m = 0, k = 0;
    for (size_t i = 0; i < c->n; i++)
        n += c->kept[i] && (double)c->p[i] >= threshold;
    if (n < 5)
        return TAB_OK;
    size_t step = n / MOST + 1;
    uint32_t *at = calloc(4 * n, sizeof *at);
    float *all = calloc(n, sizeof *all);
    tab_rank_point *point = calloc(n, sizeof *point);
    bool ok = at != NULL && all != NULL && point != NULL;
    for (size_t i = 0; ok && i < c->n; i++)
        if (c->kept[i] && (double)c->p[i] >= threshold && k++ % step == 0) {
            at[m] = c->a[i];
            at[n + m] = c->b[i];
            all[m++] = INFINITY; /* no pair of rows was chosen for two columns alone */
        }
    for (size_t i = 0; ok && i < l->cols_a; i++) {
        tab_row_pairs rows = { m, at, at + n };
        tab_agreement_scratch scratch = { point, at + 2 * n, at + 3 * n };
        float f[TAB_ALIGN_ROW_FEATURES] = { 0 };
        if (l->match[i] == TAB_NULL || l->column_p[i * l->cols_b + l->match[i]] >= SURE)
            continue;
        tab_row_agreement(v, &v->table[l->ta].col[i], &v->table[l->tb].col[l->match[i]], &rows, all, &scratch,
                          f);
        if (!confirmed(f))
            l->match[i] = TAB_NULL;
    }
    free(at);
    free(all);
    free(point);
    return ok ? TAB_OK : tab_no_memory(err);
}
