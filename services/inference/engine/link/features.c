/* From evidence to features that mean the same on every data set: evidence against what chance needs,
 * against what the row could give at most, against rivals for the same row, and against decoys: the
 * nearest rows of the same table, which are as similar as things that are not one entity come. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/link/link.h"

enum { DECOYS = 3, CHUNKS = 64 };

typedef struct {
    const tab_engine *e;
    const tab_views *v;
    const tab_linkage *l;
    const tab_table_view *t;
    bool second;
    const tab_near *near;
    float *own_s, *own_cos, *self;
} decoying;

/* Evidence of two rows of one table, by the attributes' weights. */
static double own_evidence(const decoying *d, size_t row, size_t other)
{
    double sum = 0;
    for (size_t k = 0; k < d->l->attrs; k++) {
        tab_attribute t = d->l->attr[k];
        const tab_view *w = &d->t->col[d->second ? t.b : t.a];
        uint32_t p = w->code[row], q = w->code[other];
        if (p == TAB_NULL || q == TAB_NULL)
            continue;
        double scale = t.scale;
        tab_value x = w->value[p], y = w->value[q];
        if (d->second && t.numeric) { /* the attribute's numbers are in a's unit */
            x.number /= scale;
            y.number /= scale;
        }
        t.scale = 1;
        tab_token_match tokens;
        uint8_t level = tab_compare(d->v, &t, &x, &y, &tokens);
        sum += tab_evidence(d->l, k, level, &tokens,
                            log((double)(w->value[p].rows + w->value[q].rows) / (double)(2 * w->present)));
    }
    return sum;
}

static void decoy_chunk(void *ctx, size_t chunk)
{
    decoying *d = ctx;
    for (size_t r = d->t->rows * chunk / CHUNKS; r < d->t->rows * (chunk + 1) / CHUNKS; r++) {
        if ((r & 255) == 0 && tab_engine_cancelled(d->e))
            return;
        d->self[r] = (float)own_evidence(d, r, r);
        d->own_s[r] = -20;
        d->own_cos[r] = 0;
        for (size_t k = 0; d->near != NULL && k < DECOYS; k++) {
            const tab_near *x = &d->near[r * TAB_NEAR + k];
            if (x->row == TAB_NULL)
                break;
            d->own_cos[r] = fmaxf(d->own_cos[r], x->score);
            d->own_s[r] = fmaxf(d->own_s[r], (float)own_evidence(d, r, x->row));
        }
    }
}

/* Best and second best of a value over the candidates of each row. */
typedef struct {
    float first, second;
    uint32_t who;
} best_two;

static void note(best_two *b, float x, uint32_t i)
{
    if (x > b->first) {
        b->second = b->first;
        b->first = x;
        b->who = i;
    } else if (x > b->second) {
        b->second = x;
    }
}

static float rival(const best_two *b, uint32_t i)
{
    return b->who == i ? b->second : b->first;
}

static float within(float x, float lo, float hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static size_t at_least(const float *sorted, size_t n, float x)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (sorted[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return n - lo;
}

tab_status tab_pair_features(const tab_engine *e, const tab_views *v, tab_linkage *l, double log_none, const tab_own_near *own, tab_arena *a, tab_error *err)
{
    const tab_table_view *A = &v->table[l->ta], *B = &v->table[l->tb];
    tab_candidates *c = &l->c;
    size_t na = A->rows, nb = B->rows, n = na + nb;
    float *own_s = tab_arena_new_of(a, float, n), *own_cos = tab_arena_new_of(a, float, n);
    float *self = tab_arena_new_of(a, float, n);
    best_two *s2 = tab_arena_new_of(a, best_two, n), *c2 = tab_arena_new_of(a, best_two, n);
    float *decoy = tab_arena_new_of(a, float, n), *target = tab_arena_new_of(a, float, n);
    float *decoy_c = tab_arena_new_of(a, float, n), *target_c = tab_arena_new_of(a, float, n);
    if (tab_arena_full(a))
        return tab_fail(err, TAB_INTERNAL, "", "memory is out");
    decoying da = { e, v, l, A, false, own->a, own_s, own_cos, self };
    decoying db = { e, v, l, B, true, own->b, own_s + na, own_cos + na, self + na };
    tab_engine_for(e, CHUNKS, decoy_chunk, &da);
    tab_engine_for(e, CHUNKS, decoy_chunk, &db);
    if (tab_engine_cancelled(e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    for (size_t i = 0; i < n; i++) {
        s2[i] = (best_two){ -20, -20, TAB_NULL };
        c2[i] = (best_two){ 0, 0, TAB_NULL };
    }
    for (uint32_t i = 0; i < c->n; i++) {
        float z = c->evidence[i];
        note(&s2[c->a[i]], z, i);
        note(&s2[na + c->b[i]], z, i);
        note(&c2[c->a[i]], c->cosine[i], i);
        note(&c2[na + c->b[i]], c->cosine[i], i);
    }
    for (size_t i = 0; i < n; i++) {
        float scale = fmaxf(self[i], 1);
        decoy[i] = own_s[i] / scale;
        target[i] = s2[i].first / scale;
        decoy_c[i] = own_cos[i];
        target_c[i] = c2[i].first;
    }
    qsort(decoy, n, sizeof *decoy, ascending);
    qsort(target, n, sizeof *target, ascending);
    qsort(decoy_c, n, sizeof *decoy_c, ascending);
    qsort(target_c, n, sizeof *target_c, ascending);

    size_t sure = 0;
    float *share = malloc((n + 1) * sizeof *share);
    if (share == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "memory is out");
    for (size_t i = 0; i < n; i++)
        if (s2[i].first - (float)log_none > 4)
            share[sure++] = s2[i].first / fmaxf(self[i], 1);
    qsort(share, sure, sizeof *share, ascending);
    float typical = sure > 0 ? share[sure / 4] : 1;
    free(share);
    /* Rows with two partners as good as partners are, on each side: many-to-many needs both. */
    size_t certain[2] = { 0, 0 }, repeats[2] = { 0, 0 };
    for (size_t i = 0; i < n; i++) {
        certain[i >= na] += s2[i].first - (float)log_none > 4;
        repeats[i >= na] += s2[i].first - (float)log_none > 4 && s2[i].second - (float)log_none > 4 &&
                            s2[i].second / fmaxf(self[i], 1) >= typical;
    }
    double ra = certain[0] > 0 ? (double)repeats[0] / (double)certain[0] : 0;
    double rb = certain[1] > 0 ? (double)repeats[1] / (double)certain[1] : 0;
    l->repeat_share = fmin(ra, rb);

    tab_status st = tab_calibrate(v, l, self, log_none, err);
    if (st != TAB_OK)
        return st;
    for (uint32_t i = 0; i < c->n; i++) {
        size_t x = c->a[i], y = na + c->b[i];
        float s = c->evidence[i], z = s - (float)log_none, cosine = c->cosine[i];
        float least_self = fmaxf(fminf(self[x], self[y]), 1), ratio = s / least_self;
        float negative = 0, positive = 0, worst = 0;
        size_t present = 0, equal = 0;
        for (size_t k = 0; k < l->attrs; k++) {
            uint8_t level = c->level[i * l->attrs + k];
            float w = (float)l->weight[k * TAB_LEVELS + level];
            present += level != TAB_MISSING;
            equal += level == TAB_EQUAL;
            if (level == TAB_MISSING)
                continue;
            worst = fminf(worst, w);
            *(w < 0 ? &negative : &positive) += w;
        }
        float gap_a = within(s - rival(&s2[x], i), -12, 12) / 10, gap_b = within(s - rival(&s2[y], i), -12, 12) / 10;
        float cgap_a = cosine - rival(&c2[x], i), cgap_b = cosine - rival(&c2[y], i);
        float d_a = within(s - own_s[x], -12, 12) / 10, d_b = within(s - own_s[y], -12, 12) / 10;
        float t = ratio * 0.999f;
        float *f = c->feature + (size_t)i * TAB_PAIR_FEATURES;
        *f++ = within(z, 0, 20) / 10;
        *f++ = within(z, -20, 0) / 10;
        *f++ = fminf(gap_a, gap_b);
        *f++ = fmaxf(gap_a, gap_b);
        *f++ = fminf(within(fminf(gap_a, gap_b), -1.2f, 0), 0);
        *f++ = cosine;
        *f++ = fminf(cgap_a, cgap_b);
        *f++ = fmaxf(cgap_a, cgap_b);
        *f++ = fminf(fminf(cgap_a, cgap_b), 0);
        *f++ = cosine - fmaxf(own_cos[x], own_cos[y]);
        *f++ = cosine - fminf(own_cos[x], own_cos[y]);
        *f++ = fminf(d_a, d_b);
        *f++ = fmaxf(d_a, d_b);
        *f++ = within(ratio, -1, 1.2f);
        *f++ = within(ratio - 0.5f, 0, 0.7f);
        *f++ = logf(((float)at_least(decoy, n, t) + 1) / ((float)at_least(target, n, t) + 1)) / 3;
        *f++ = logf(((float)at_least(decoy_c, n, cosine * 0.999f) + 1) /
                    ((float)at_least(target_c, n, cosine * 0.999f) + 1)) / 3;
        *f++ = l->attrs > 0 ? (float)present / (float)l->attrs : 0;
        *f++ = present > 0 ? (float)equal / (float)present : 0;
        *f++ = within(logf(c->p[i] + 1e-6f) - logf(1 - c->p[i] + 1e-6f), -10, 10) / 10;
        *f++ = within(negative, -15, 0) / 10;
        *f++ = within(worst, -8, 0) / 5;
        *f++ = (float)l->seed_share;
        *f++ = (float)l->share;
        *f++ = 1 / sqrtf(1 + (float)l->attrs);
        *f++ = cosine * cosine;
        *f++ = within(logf(c->chance[i] + 1e-6f) - logf(1 - c->chance[i] + 1e-6f), -10, 10) / 10;
        *f++ = within(least_self, 0, 60) / 40;
    }
    return TAB_OK;
}
