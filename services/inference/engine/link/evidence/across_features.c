/* See across.h: the numbers that the trees read of a pair of two tables. */
#include <math.h>

#include "services/inference/engine/link/evidence/across.h"

/* How many of n ascending values are at least v. */
static double reach(const float *x, size_t n, float v)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (x[mid] < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (double)(n - lo);
}

static void both(float *x, int feature, float p, float q)
{
    x[feature] = fmaxf(p, q);
    x[feature + 1] = fminf(p, q);
}

void tab_across_features(const tab_across *s, size_t i, float *x)
{
    const tab_twin_pairs *t = &s->s;
    uint32_t a = t->a[i], b = tab_twin_node(t, i);
    const tab_own_near *p = &s->own[a], *q = &s->own[b];
    float cosine = t->cosine[i], evidence = t->evidence[i];
    tab_twin_features(t, i, x);
    x[TAB_ACROSS_RULE_EVIDENCE] = s->rule_evidence[i];
    x[TAB_ACROSS_RULE_P] = s->rule_p[i];
    x[TAB_ACROSS_RULE_KEPT] = s->rule_kept[i];
    x[TAB_ACROSS_RULE_SELF] =
        (float)((double)s->rule_evidence[i] + s->rules->log_none) / fmaxf(fminf(t->self[a], t->self[b]), 1);
    both(x, TAB_ACROSS_RULE_BEST, p->rule, q->rule);
    both(x, TAB_ACROSS_OWN_COSINE, cosine - p->cosine, cosine - q->cosine);
    both(x, TAB_ACROSS_OWN_EVIDENCE, evidence - p->evidence, evidence - q->evidence);
    both(x, TAB_ACROSS_OTHER_COSINE, cosine - p->other_cosine, cosine - q->other_cosine);
    both(x, TAB_ACROSS_OTHER_EVIDENCE, evidence - p->other_evidence, evidence - q->other_evidence);
    both(x, TAB_ACROSS_TWINS, p->twins, q->twins);
    for (int k = 0; k < 2; k++) {
        float v = k == 0 ? cosine : evidence;
        double cross = reach(s->best[0][k], t->rows, v), own = reach(s->best[1][k], t->rows, v),
               other = reach(s->best[2][k], t->rows, v);
        x[TAB_ACROSS_NULL_COSINE + k] = (float)log((other + 1) / (double)(t->rows + 1));
        x[TAB_ACROSS_EXCESS_COSINE + k] = (float)log((cross + 1) / (other + 1));
        x[TAB_ACROSS_EXCESS_ALL_COSINE + k] = (float)log((cross + 1) / (own + 1));
    }
}
