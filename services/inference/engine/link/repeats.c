/* Has an entity one row a table, or several? Decided by the data: where rows of both sides have several
 * partners as good as partners are, with a cliff behind them, matches are many-to-many. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/link/link.h"

enum { CHUNKS = 64 };

typedef struct {
    const tab_engine *e;
    const tab_views *v;
    const tab_linkage *l;
    const tab_table_view *t;
    bool second;
    float *self;
} mirroring;

/* Evidence of a row with itself: the most that a partner can have. */
static void self_chunk(void *ctx, size_t chunk)
{
    mirroring *m = ctx;
    for (size_t r = m->t->rows * chunk / CHUNKS; r < m->t->rows * (chunk + 1) / CHUNKS; r++) {
        double sum = 0;
        for (size_t k = 0; k < m->l->attrs; k++) {
            const tab_attribute *t = &m->l->attr[k];
            const tab_view *w = &m->t->col[m->second ? t->b : t->a];
            if (w->code[r] == TAB_NULL)
                continue;
            const tab_value *x = &w->value[w->code[r]];
            tab_agreement g = { .level = TAB_EQUAL,
                                .rare = logf((float)x->rows / (float)w->present) };
            g.shared = x->tok_n > 255 ? 255 : (uint8_t)x->tok_n;
            for (uint32_t i = 0; i < x->tok_n; i++)
                g.gain += m->v->rarity[m->v->tok[x->tok + i]];
            sum += tab_evidence(m->l, k, &g);
        }
        m->self[r] = (float)sum;
    }
}

typedef struct {
    float s[3]; /* best first */
} best_three;

static void note(best_three *b, float x)
{
    for (int i = 0; i < 3; i++)
        if (x > b->s[i]) {
            float t = b->s[i];
            b->s[i] = x;
            x = t;
        }
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Rows that hold one value alone where their table has more columns: a product without a description, or
 * no entity at all but the name of a town. The share of them that have a twin in their own table tells:
 * real[row] is 1 less that share for such a row, 1 for others. */
bool tab_link_real(const tab_table_view *t, float *real)
{
    size_t most = 0, bare = 0, twins = 0, columns = 0;
    uint32_t *only = malloc((t->rows + 1) * sizeof *only);
    for (size_t c = 0; c < t->cols; c++) {
        most = t->col[c].values > most ? t->col[c].values : most;
        columns += t->col[c].present > 0;
    }
    uint32_t *count = calloc(most + 1, sizeof *count);
    if (only == NULL || count == NULL) {
        free(only);
        free(count);
        return false;
    }
    for (size_t r = 0; r < t->rows; r++) {
        size_t n = 0;
        only[r] = TAB_NULL;
        real[r] = 1;
        for (size_t c = 0; c < t->cols && n < 2; c++)
            if (t->col[c].code[r] != TAB_NULL) {
                only[r] = (uint32_t)c;
                n++;
            }
        if (n != 1 || columns < 2)
            only[r] = TAB_NULL;
        bare += only[r] != TAB_NULL;
    }
    for (uint32_t c = 0; c < t->cols && bare > 0; c++) {
        const tab_view *w = &t->col[c];
        memset(count, 0, w->values * sizeof *count);
        for (size_t r = 0; r < t->rows; r++)
            if (only[r] == c)
                count[w->code[r]]++;
        for (size_t r = 0; r < t->rows; r++)
            twins += only[r] == c && count[w->code[r]] > 1;
    }
    for (size_t r = 0; r < t->rows; r++)
        if (only[r] != TAB_NULL)
            real[r] = 1 - (float)twins / (float)(bare + 2);
    free(only);
    free(count);
    return true;
}

tab_status tab_link_repeats(const tab_engine *e, const tab_views *v, tab_linkage *l,
                            float **ret_self, tab_error *err)
{
    const tab_table_view *A = &v->table[l->ta], *B = &v->table[l->tb];
    const tab_candidates *c = &l->c;
    size_t na = A->rows, nb = B->rows, n = na + nb, sure = 0, gaps = 0;
    float *self = malloc((n + 1) * sizeof *self), *x = malloc((n + 1) * sizeof *x);
    best_three *best = malloc((n + 1) * sizeof *best);
    if (self == NULL || x == NULL || best == NULL) {
        free(self);
        free(x);
        free(best);
        return tab_fail(err, TAB_INTERNAL, "", "memory is out");
    }
    mirroring ma = { e, v, l, A, false, self }, mb = { e, v, l, B, true, self + na };
    tab_engine_for(e, CHUNKS, self_chunk, &ma);
    tab_engine_for(e, CHUNKS, self_chunk, &mb);
    for (size_t i = 0; i < n; i++)
        best[i] = (best_three){ { -30, -30, -30 } };
    for (size_t i = 0; i < c->n; i++) {
        note(&best[c->a[i]], c->evidence[i]);
        note(&best[na + c->b[i]], c->evidence[i]);
    }
    float certain = (float)l->log_none + 4;
    for (size_t i = 0; i < n; i++)
        if (best[i].s[0] > certain)
            x[sure++] = best[i].s[0] / fmaxf(self[i], 1);
    qsort(x, sure, sizeof *x, ascending);
    float typical = sure > 0 ? x[sure / 4] : 1;
    size_t ones[2] = { 0, 0 }, twos[2] = { 0, 0 };
    for (size_t i = 0; i < n; i++) {
        ones[i >= na] += best[i].s[0] > certain;
        twos[i >= na] += best[i].s[0] > certain && best[i].s[1] > certain &&
                         best[i].s[1] / fmaxf(self[i], 1) >= typical;
    }
    double ra = ones[0] > 0 ? (double)twos[0] / (double)ones[0] : 0;
    double rb = ones[1] > 0 ? (double)twos[1] / (double)ones[1] : 0;
    l->repeat_share = fmin(ra, rb);

    /* The cliff: the gap between the second and the third candidate, exponential where both are chance. */
    for (size_t i = 0; i < n; i++)
        if (best[i].s[2] > -25)
            x[gaps++] = best[i].s[1] - best[i].s[2];
    qsort(x, gaps, sizeof *x, ascending);
    float middle = gaps > 20 ? x[gaps / 2] : 0.35f;
    l->rate = fmin(fmax(0.3466 / fmax((double)middle, 0.05), 0.15), 1.5);
    l->one_to_one = !(l->repeat_share >= 0.25 && l->rate <= 0.16);
    free(x);
    free(best);
    *ret_self = self;
    return TAB_OK;
}
