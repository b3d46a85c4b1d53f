#include "services/inference/engine/link/twins.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text.h"
#include "services/inference/engine/link/compare.h"
#include "services/inference/engine/profile/roles.h"

enum {
    LEADING = 6, /* the columns of most values, alone and in pairs, bring rows together */
    GROUP = 8    /* rows that share a value; more share a common one, which says little */
};

/* How a column speaks of two rows being one. */
typedef enum {
    ABSENT,   /* no values */
    RUNNING,  /* a number given to each row as it was written down: twins differ in it */
    MEASURED, /* a quantity: rows agree in it by chance and together with others */
    NAMED     /* what an entity is called or described by */
} voice;

typedef struct {
    const tab_views *v;
    const tab_table_view *t;
    voice *voice;    /* (cols) */
    uint32_t *order; /* (cols) columns of most values first: they contradict soonest */
    double prior;    /* log-odds of two rows that share nothing but the table */
} telling;

/* A row's number: every row has one, none twice, and it is a code (uuid, hash, id by its role) or whole numbers that leave
 * few out. A quantity that never repeats (a measurement) and a name that never repeats are not. */
static bool running(const tab_view *w, size_t rows)
{
    const tab_column_profile *p = w->profile;
    if (w->present != rows || w->values != rows || rows < 2)
        return false;
    if (p->role == TAB_ROLE_ID || p->role == TAB_ROLE_UUID || p->role == TAB_ROLE_HASH)
        return true;
    return w->kind == TAB_VIEW_NUMBER && p->decimals == 0 && w->sorted_n > 0 &&
           w->sorted[w->sorted_n - 1] - w->sorted[0] < 2 * (double)rows;
}

static voice voice_of(const tab_view *w, size_t rows)
{
    if (w->present == 0)
        return ABSENT;
    if (running(w, rows))
        return RUNNING;
    return w->kind == TAB_VIEW_NUMBER ? MEASURED : NAMED;
}

static bool same_digits(tab_str x, tab_str y)
{
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < x.n && (x.p[i] < '0' || x.p[i] > '9'))
            i++;
        while (j < y.n && (y.p[j] < '0' || y.p[j] > '9'))
            j++;
        if (i == x.n || j == y.n)
            return i == x.n && j == y.n;
        if (x.p[i] != y.p[j])
            return false;
    }
}

/* One text misspelt, abbreviated or in another order: each word has a near one, digits are the same. Words that are
 * common as they stand are no misspelling of one another. */
static bool misspelt(const tab_views *v, const tab_value *x, const tab_value *y)
{
    enum { SELDOM = 2 };
    tab_token_match m;
    if (x->tok_n == 0 || y->tok_n == 0 || !same_digits(tab_value_text(v, x), tab_value_text(v, y)))
        return false;
    if (tab_text_similarity(v, x, y, &m) < 0.8 || m.left_a + m.left_b > 0)
        return false;
    uint32_t i = 0, j = 0;
    bool rare_x = false, rare_y = false;
    while (i < x->tok_n || j < y->tok_n) {
        uint32_t p = i < x->tok_n ? v->tok[x->tok + i] : UINT32_MAX,
                 q = j < y->tok_n ? v->tok[y->tok + j] : UINT32_MAX;
        if (p < q)
            rare_x = rare_x || v->df[p] <= SELDOM;
        if (q < p)
            rare_y = rare_y || v->df[q] <= SELDOM;
        i += p <= q;
        j += q <= p;
    }
    return rare_x || rare_y;
}

typedef struct {
    double rarest, others;
    size_t agree, apart, differ;
} account;

/* Columns of one row depend on one another: the rarest agreement counts in full, the others in part. */
static void agree(account *k, voice how, const tab_view *w, double rows, double part)
{
    double rare = part * log((double)w->present / rows);
    k->agree++;
    if (how == MEASURED) {
        k->others += 0.3 * rare;
    } else if (rare > k->rarest) {
        k->others += k->rarest;
        k->rarest = rare;
    } else {
        k->others += rare;
    }
}

/* Adds what column c says of rows i and j; false: it contradicts. Texts that differ are left to a second look. */
static bool listen(const telling *s, size_t c, uint32_t i, uint32_t j, bool second, account *k)
{
    const tab_view *w = &s->t->col[c];
    uint32_t p = w->code[i], q = w->code[j];
    if (s->voice[c] < MEASURED || (p == TAB_NULL && q == TAB_NULL))
        return true;
    if (p == TAB_NULL || q == TAB_NULL) {
        k->apart += !second;
        return true;
    }
    const tab_value *x = &w->value[p], *y = &w->value[q];
    double rows = p == q ? x->rows : (double)x->rows + y->rows;
    bool text = w->kind == TAB_VIEW_TEXT;
    if (x->key == y->key || (!text && x->number == y->number)) {
        if (!second)
            agree(k, s->voice[c], w, rows, 1);
        return true;
    }
    if (!text || (second && !misspelt(s->v, x, y)))
        return false;
    k->differ += !second;
    if (second)
        agree(k, s->voice[c], w, rows, 0.7);
    return true;
}

/* Probability that rows i and j are one entity, by Bayes' rule from what they agree on; 0 where a column contradicts,
 * where they agree on less than two columns, or where most of what is known of either is not known of the other. */
static float judge(const telling *s, uint32_t i, uint32_t j)
{
    account k = { 0 };
    for (size_t c = 0; c < s->t->cols; c++)
        if (!listen(s, s->order[c], i, j, false, &k))
            return 0;
    if (k.differ > k.agree || k.agree + k.differ < 2 || k.apart > k.agree + k.differ)
        return 0;
    for (size_t c = 0; c < s->t->cols && k.differ > 0; c++)
        if (!listen(s, c, i, j, true, &k))
            return 0;
    double z = k.rarest + 0.6 * k.others + s->prior;
    return (float)(0.99 / (1 + exp(-z)));
}

typedef struct {
    tab_twin *twin;
    size_t n, cap;
    bool failed;
} found;

static void add(found *f, tab_twin t)
{
    if (f->n == f->cap) {
        size_t cap = f->cap * 2 + 256;
        tab_twin *grown = realloc(f->twin, cap * sizeof *grown);
        f->failed = f->failed || grown == NULL;
        if (f->failed)
            return;
        f->twin = grown;
        f->cap = cap;
    }
    f->twin[f->n++] = t;
}

static int likeliest_first(const void *a, const void *b)
{
    const tab_twin *x = a, *y = b;
    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

/* Rows that share the values of columns c and d (one column where they are the same) meet: a hash table of the last
 * row of each value, a chain through the rows before it. */
static void meet(const telling *s, size_t c, size_t d, uint32_t *slot, uint32_t mask,
                 uint32_t *before, uint64_t *key, float least, found *f)
{
    const tab_view *x = &s->t->col[c], *y = &s->t->col[d];
    memset(slot, 0xff, ((size_t)mask + 1) * sizeof *slot);
    for (uint32_t r = 0; r < s->t->rows; r++) {
        if (x->code[r] == TAB_NULL || y->code[r] == TAB_NULL)
            continue;
        key[r] = tab_hash_mix(x->value[x->code[r]].key, y->value[y->code[r]].key);
        uint32_t at = (uint32_t)(tab_hash_mix(key[r], 3) >> 20) & mask;
        while (slot[at] != TAB_NULL && key[slot[at]] != key[r])
            at = (at + 1) & mask;
        before[r] = slot[at];
        slot[at] = r;
        uint32_t q = before[r];
        for (int n = 1; n < GROUP && q != TAB_NULL; n++, q = before[q]) {
            float p = judge(s, q, r);
            if (p >= least)
                add(f, (tab_twin){ q, r, p });
        }
    }
}

/* The columns of most values that are not running, most first. */
static size_t leading(const telling *s, size_t lead[LEADING])
{
    size_t n = 0;
    for (size_t k = 0; k < s->t->cols && n < LEADING; k++)
        if (s->voice[s->order[k]] >= MEASURED && s->t->col[s->order[k]].values >= 2)
            lead[n++] = s->order[k];
    return n;
}

static tab_status search(const tab_engine *e, const telling *s, float least, found *f,
                         tab_error *err)
{
    size_t rows = s->t->rows, lead[LEADING], n = leading(s, lead);
    uint32_t mask = 15;
    while (mask < 2 * rows)
        mask = 2 * mask + 1;
    uint32_t *slot = malloc(((size_t)mask + 1) * sizeof *slot),
             *before = malloc((rows + 1) * sizeof *before);
    uint64_t *key = malloc((rows + 1) * sizeof *key);
    f->failed = slot == NULL || before == NULL || key == NULL;
    for (size_t i = 0; i < n && !f->failed && !tab_engine_cancelled(e); i++)
        for (size_t j = i; j < n; j++)
            meet(s, lead[i], lead[j], slot, mask, before, key, least, f);
    free(slot);
    free(before);
    free(key);
    if (f->failed)
        return tab_fail(err, TAB_INTERNAL, "", "memory is out");
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : TAB_OK;
}

/* Least probability over the pairs of two groups (rings through next), at most MOST of them. */
static float between(const telling *s, const uint32_t *next, uint32_t x, uint32_t y)
{
    enum { MOST = 64 };
    float p = 1;
    uint32_t i = x, j = y;
    int left = MOST;
    do {
        do {
            p = fminf(p, judge(s, i, j));
            j = next[j];
        } while (j != y && --left > 0);
        i = next[i];
    } while (i != x && left > 0);
    return p;
}

/* Of the found pairs those that join groups whose rows are all twins, the likeliest first. */
static tab_status group(const telling *s, float least, const found *f, tab_arena *a, tab_twin **ret,
                        size_t *ret_n, tab_error *err)
{
    size_t rows = s->t->rows;
    uint32_t *up = malloc((rows + 1) * sizeof *up), *next = malloc((rows + 1) * sizeof *next);
    *ret = tab_arena_new_of(a, tab_twin, f->n);
    tab_status st = up == NULL || next == NULL || *ret == NULL
                        ? tab_fail(err, TAB_INTERNAL, "", "memory is out")
                        : TAB_OK;
    for (uint32_t r = 0; st == TAB_OK && r < rows; r++)
        up[r] = next[r] = r;
    for (size_t i = 0; st == TAB_OK && i < f->n; i++) {
        uint32_t x = tab_root(up, f->twin[i].a), y = tab_root(up, f->twin[i].b);
        float p = x == y ? 0 : between(s, next, f->twin[i].a, f->twin[i].b);
        if (p < least)
            continue;
        up[x > y ? x : y] = x > y ? y : x;
        tab_splice(next, f->twin[i].a, f->twin[i].b);
        (*ret)[(*ret_n)++] = (tab_twin){ f->twin[i].a, f->twin[i].b, p };
    }
    free(up);
    free(next);
    return st;
}

tab_status tab_link_twins(const tab_engine *e, const tab_views *v, size_t table, float least,
                          tab_arena *a, tab_twin **ret, size_t *ret_n, tab_error *err)
{
    static const double SHARE = 0.05; /* of rows that have a twin, before anything is seen */
    const tab_table_view *t = &v->table[table];
    telling s = { v, t, tab_arena_new_of(a, voice, t->cols), tab_arena_new_of(a, uint32_t, t->cols),
                  log(SHARE / (double)(t->rows + 1)) };
    *ret = NULL;
    *ret_n = 0;
    if (s.voice == NULL || s.order == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "memory is out");
    for (uint32_t c = 0; c < t->cols; c++) {
        s.voice[c] = voice_of(&t->col[c], t->rows);
        size_t k = c;
        for (; k > 0 && t->col[s.order[k - 1]].values < t->col[c].values; k--)
            s.order[k] = s.order[k - 1];
        s.order[k] = c;
    }
    found f = { 0 };
    tab_status st = search(e, &s, least, &f, err);
    if (st == TAB_OK && f.n > 0) {
        qsort(f.twin, f.n, sizeof *f.twin, likeliest_first);
        st = group(&s, least, &f, a, ret, ret_n, err);
    }
    free(f.twin);
    return st;
}
