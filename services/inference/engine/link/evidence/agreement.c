/* How two rows agree, by attribute and as wholes, and what that is worth by the weights of score.c. */
#include <math.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/link/pairs/geo.h"
#include "services/inference/engine/link/pairs/link.h"
#include "services/inference/engine/profile/roles/roles.h"

/* Whole rows at once. A word in another column is worth less, and a common one nothing. */
double tab_elsewhere(const tab_views *v, const tab_sparse *a, const tab_sparse *b, uint32_t ra, uint32_t rb,
                     double explained, float *ret_cosine)
{
    uint64_t p = a->at[ra], pn = a->at[ra + 1], q = b->at[rb], qn = b->at[rb + 1];
    double sum = -fmax(explained, 0);
    float cosine = 0;
    while (p < pn && q < qn) {
        uint32_t x = a->id[p], y = b->id[q];
        if (x == y) {
            cosine += a->w[p] * b->w[q];
            if (x < v->terms)
                sum += fmax(0, (double)v->rarity[x] - 2.5);
        }
        p += x <= y;
        q += y <= x;
    }
    *ret_cosine = cosine;
    return sum <= 0 ? 0 : 0.5 * sum / (1 + 0.05 * sum);
}

/* Whether two e-mail addresses hold other digits: anna.novak39 and anna.novak16 of one host are two people's,
 * however alike their letters are, which the names say already (decision 0747). */
static bool other_mailbox(const tab_views *v, const tab_view *x, const tab_view *y, const tab_value *p,
                          const tab_value *q)
{
    if (x->profile->role != (int)TAB_ROLE_EMAIL || y->profile->role != (int)TAB_ROLE_EMAIL)
        return false;
    tab_str s = tab_value_text(v, p), t = tab_value_text(v, q);
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < s.n && (s.p[i] < '0' || s.p[i] > '9'))
            i++;
        while (j < t.n && (t.p[j] < '0' || t.p[j] > '9'))
            j++;
        if (i == s.n || j == t.n)
            return i < s.n || j < t.n;
        if (s.p[i] != t.p[j])
            return true;
    }
}

static float rarity_of(const tab_view *x, const tab_view *y, const tab_value *p, const tab_value *q)
{
    return logf((tab_value_count(x, p) + tab_value_count(y, q)) / (float)(x->present + y->present));
}

tab_agreement tab_agree_values(const tab_views *v, const tab_table_view *a, const tab_table_view *b,
                               const tab_attribute *t, uint32_t p, uint32_t q, double *exact)
{
    const tab_view *x = &a->col[t->a], *y = &b->col[t->b];
    tab_agreement g = { .level = TAB_LEVELS - 1 };
    if (other_mailbox(v, x, y, &x->value[p], &y->value[q]))
        return g;
    tab_token_match m;
    g.level = tab_compare(v, t, &x->value[p], &y->value[q], &m);
    g.gain = m.gain;
    g.shared = m.shared;
    g.left_a = m.left_a;
    g.left_b = m.left_b;
    if (exact != NULL)
        *exact += (double)m.exact - 2.5 * m.shared;
    if (g.level == TAB_EQUAL)
        g.rare = rarity_of(x, y, &x->value[p], &y->value[q]);
    return g;
}

tab_agreement tab_agree(const tab_views *v, const tab_table_view *a, const tab_table_view *b,
                        const tab_attribute *t, uint32_t ra, uint32_t rb, double *exact)
{
    const tab_view *x = &a->col[t->a], *y = &b->col[t->b];
    uint32_t p = x->code[ra], q = y->code[rb];
    tab_agreement g = { .level = TAB_MISSING };
    if (p == TAB_NULL || q == TAB_NULL)
        return g;
    if (t->other != NULL)
        g.level = tab_geo_compare(a, b, t, ra, rb, NULL);
    if (g.level == TAB_MISSING)
        return tab_agree_values(v, a, b, t, p, q, exact);
    if (g.level == TAB_EQUAL)
        g.rare = rarity_of(x, y, &x->value[p], &y->value[q]);
    return g;
}

static double evidence(const tab_linkage *l, size_t attr, const tab_agreement *g)
{
    if (g->level == TAB_MISSING)
        return 0;
    double equal =
        g->level == TAB_EQUAL ? l->log_m[attr * TAB_LEVELS + TAB_EQUAL] - (double)g->rare : (double)-INFINITY;
    if (g->shared + g->left_a <= 1 && g->shared + g->left_b <= 1)
        return g->level == TAB_EQUAL ? equal : l->weight[attr * TAB_LEVELS + g->level];
    const double *kept = l->log_kept + 3 * attr;
    double damp = 1 / (1 + 0.15 * (double)(g->shared + g->left_a + g->left_b - 1));
    double e =
        damp * ((double)g->gain + g->shared * kept[0] + 0.6 * (g->left_a * kept[1] + g->left_b * kept[2]));
    return fmax(e, equal); /* an equal value is at least as telling as its frequency says */
}

double tab_evidence(const tab_linkage *l, size_t attr, const tab_agreement *g)
{
    /* a distance is one piece of evidence that two attributes share; equal numbers are two, as rare as
     * they are */
    bool half = l->attr[attr].other != NULL && g->level != TAB_EQUAL;
    return evidence(l, attr, g) * (half ? 0.5 : 1);
}
