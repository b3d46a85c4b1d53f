/* Of rows that cannot be told apart one is as likely as the other: a match whose row has k candidates as
 * good, none of them taken by a better partner, is one of k, and its probability that of them all over k
 * (decision 0211). Rows of one table that are one entity (duplicates.h) share nothing. */
#include <stdlib.h>

#include "services/inference/engine/link/pairs/link.h"
#include "services/inference/engine/link/pairs/twin_rules.h"

/* Counts of the row's other candidates, one of which is `x` with score `key`: it is as good as the row's
 * match, and its own row has no better one. */
static bool as_good(const float *key, uint32_t match, uint32_t other, float x)
{
    static const float SAME = 1e-3f; /* of a spread of the score */
    return match != TAB_NULL && x >= key[match] - SAME && (other == TAB_NULL || key[other] <= x + SAME);
}

bool tab_tied_matches(const tab_views *v, tab_linkage *l, const float *self)
{
    size_t na = v->table[l->ta].rows, nb = v->table[l->tb].rows;
    tab_candidates *c = &l->c;
    if (c->n == 0)
        return true;
    TAB_AUTO(tab_arena) *own = tab_arena_new(SIZE_MAX / 2);
    const tab_twin_rules *told[2] = { NULL, NULL };
    if (own != NULL) {
        told[0] = tab_twin_rules_new(v, l->ta, own);
        told[1] = tab_twin_rules_new(v, l->tb, own);
    }
    float *key = malloc(c->n * sizeof *key);
    uint32_t *match = malloc((na + nb) * sizeof *match), *ties = calloc(2 * c->n, sizeof *ties);
    bool ok = key != NULL && match != NULL && ties != NULL && told[0] != NULL && told[1] != NULL;
    tab_pair_scale s = tab_pair_scale_of(c, self, na);
    for (size_t r = 0; ok && r < na + nb; r++)
        match[r] = TAB_NULL;
    for (uint32_t i = 0; ok && i < c->n; i++) {
        key[i] =
            tab_pair_key(&s, (double)c->evidence[i], (double)c->cosine[i], tab_pair_ratio(c, self, na, i));
        if (c->kept[i] && !l->many_b)
            match[c->a[i]] = i;
        if (c->kept[i] && !l->many_a)
            match[na + c->b[i]] = i;
    }
    for (uint32_t i = 0; ok && i < c->n; i++) {
        uint32_t a = match[c->a[i]], b = match[na + c->b[i]];
        if (c->kept[i])
            continue;
        if (as_good(key, a, b, key[i]) && tab_twin_rules_p(told[1], c->b[a], c->b[i]) < 0.5f)
            ties[2 * a]++;
        if (as_good(key, b, a, key[i]) && tab_twin_rules_p(told[0], c->a[b], c->a[i]) < 0.5f)
            ties[2 * b + 1]++;
    }
    for (size_t i = 0; ok && i < c->n; i++) {
        uint32_t k = ties[2 * i] > ties[2 * i + 1] ? ties[2 * i] : ties[2 * i + 1];
        c->p[i] /= 1 + (float)k;
    }
    free(key);
    free(match);
    free(ties);
    return ok;
}
