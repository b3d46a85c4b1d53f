/* Has an entity one row a table, or several? Decided by the data: where many rows of a table have several
 * partners, each as good as partners are, with a cliff behind the last, the other table has several rows
 * an entity (decision 0136). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/link/pairs/link.h"

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
            tab_agreement g = { .level = TAB_EQUAL, .rare = logf((float)x->rows / (float)w->present) };
            g.shared = x->tok_n > 255 ? 255 : (uint8_t)x->tok_n;
            for (uint32_t i = 0; i < x->tok_n; i++)
                g.gain += m->v->rarity[m->v->tok[x->tok + i]];
            sum += tab_evidence(m->l, k, &g);
        }
        m->self[r] = (float)sum;
    }
}

enum { TOP = 6 };

typedef struct {
    float s[TOP]; /* best first */
} best_few;

static void note(best_few *b, float x)
{
    for (int i = 0; i < TOP; i++)
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

/* What partners look like to one side's rows. */
typedef struct {
    float none;    /* evidence that a pair of strangers has to beat */
    float certain; /* a match for sure */
    float typical; /* share of the evidence with itself that three quarters of the sure partners reach */
} usual;

/* Partners of a row that stand together: as many as lie before the widest gap, where each is a partner for
 * sure, hardly less than the first, and the gap is more than twice what lies between first and last.
 * Variants of one thing (sizes, seasons) fall off evenly. */
static int partners(const best_few *b, const usual *u)
{
    static const float HARDLY = 0.7f;
    int n = 1;
    float widest = -1;
    for (int k = 0; k < TOP; k++) {
        float next = k + 1 < TOP ? fmaxf(b->s[k + 1], u->none) : u->none;
        if (b->s[k] - next > widest) {
            widest = b->s[k] - next;
            n = k + 1;
        }
    }
    float first = b->s[0], last = b->s[n - 1];
    return last > u->certain && last >= HARDLY * first && first - last < widest / 2 ? n : 1;
}

/* Shares of one side's surely matched rows. shares: x holds n. */
typedef struct {
    size_t sure;
    double second, several; /* whose second candidate is like a partner; who have several partners */
    double noise;           /* standard deviation of several */
} side_share;

static side_share shares(const best_few *b, const float *self, size_t n, usual *u, float *x)
{
    side_share s = { 0 };
    for (size_t i = 0; i < n; i++)
        if (b[i].s[0] > u->certain)
            x[s.sure++] = b[i].s[0] / fmaxf(self[i], 1);
    qsort(x, s.sure, sizeof *x, ascending);
    u->typical = s.sure > 0 ? x[s.sure / 4] : 1;
    for (size_t i = 0; i < n; i++) {
        if (!(b[i].s[0] > u->certain))
            continue;
        s.second += b[i].s[1] > u->certain && b[i].s[1] / fmaxf(self[i], 1) >= u->typical;
        s.several += partners(&b[i], u) > 1;
    }
    s.second /= fmax((double)s.sure, 1);
    s.several /= fmax((double)s.sure, 1);
    s.noise = sqrt(s.several * (1 - s.several) / fmax((double)s.sure, 1));
    return s;
}

static void relate(tab_linkage *l, const best_few *best, const float *self, size_t na, size_t nb, float *x)
{
    enum { FEW = 20 };
    static const double MANY = 0.35, MOST = 0.5, NONE = 0.1, SECOND = 0.25;
    static const float CLIFF = 2.1f;
    usual u = { (float)l->log_none, (float)l->log_none + 4, 1 };
    side_share a = shares(best, self, na, &u, x), b = shares(best + na, self + na, nb, &u, x);
    size_t n = na + nb, gaps = 0;
    /* The cliff: the gap between the second and the third candidate, small where both are chance. */
    for (size_t i = 0; i < n; i++)
        if (best[i].s[2] > -25)
            x[gaps++] = best[i].s[1] - best[i].s[2];
    qsort(x, gaps, sizeof *x, ascending);
    bool cliff = gaps > 20 && x[gaps / 2] >= CLIFF;
    bool sure = a.sure >= FEW && b.sure >= FEW;
    bool both = (a.second >= SECOND && b.second >= SECOND && cliff) ||
                (sure && a.several >= MOST && b.several >= MOST);
    /* one to many wants the one side clear of repeats: else rows are variants of one another */
    l->many_b = both || (sure && a.several - a.noise >= MANY && b.several <= NONE);
    l->many_a = both || (sure && b.several - b.noise >= MANY && a.several <= NONE);
}

tab_status tab_rows_per_entity(const tab_engine *e, const tab_views *v, tab_linkage *l, float **ret_self,
                               tab_error *err)
{
    const tab_table_view *A = &v->table[l->ta], *B = &v->table[l->tb];
    const tab_candidates *c = &l->c;
    size_t na = A->rows, nb = B->rows, n = na + nb;
    float *self = malloc((n + 1) * sizeof *self), *x = malloc((n + 1) * sizeof *x);
    best_few *best = calloc(n + 1, sizeof *best);
    if (self == NULL || x == NULL || best == NULL) {
        free(self);
        free(x);
        free(best);
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    }
    mirroring ma = { e, v, l, A, false, self }, mb = { e, v, l, B, true, self + na };
    tab_engine_for(e, CHUNKS, self_chunk, &ma);
    tab_engine_for(e, CHUNKS, self_chunk, &mb);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < TOP; k++)
            best[i].s[k] = -30;
    for (size_t i = 0; i < c->n; i++) {
        note(&best[c->a[i]], c->evidence[i]);
        note(&best[na + c->b[i]], c->evidence[i]);
    }
    relate(l, best, self, na, nb, x);
    free(x);
    free(best);
    *ret_self = self;
    return TAB_OK;
}
