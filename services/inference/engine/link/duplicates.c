#include "services/inference/engine/link/duplicates.h"

#include <math.h>
#include <stdlib.h>

#include "common/hash.h"
#include "services/inference/engine/align/normalize_text.h"
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

typedef struct tab_twin_teller {
    const tab_views *v;
    const tab_table_view *t;
    voice *voice; /* (cols) */
    uint32_t *
        /* (heard) columns that are neither absent nor running, those of most values first: they contradict
         * soonest */
        order;
    size_t heard;
    uint32_t *
        /* (rows, heard) of the row's values, TAB_NULL where there is none: what contradicts is seen at one
         * place */
        key;
    double prior; /* log-odds of two rows that share nothing but the table */
} telling;

/* A row's number: every row has one, none twice, and it is a code (uuid, hash, id by its role) or whole
 * numbers that leave few out. A quantity that never repeats (a measurement) and a name that never repeats
 * are not. */
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

/* One text misspelt, abbreviated or in another order: each word has a near one, digits are the same. Words
 * that are common as they stand are no misspelling of one another. */
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
    if (how == MEASURED) {
        k->others += 0.3 * rare;
    } else if (rare > k->rarest) {
        k->others += k->rarest;
        k->rarest = rare;
    } else {
        k->others += rare;
    }
}

static const tab_value *value_at(const tab_view *w, uint32_t row)
{
    return &w->value[w->code[row]];
}

float tab_twin_judge(const telling *s, uint32_t i, uint32_t j)
{
    account k = { 0 };
    const uint32_t *p = s->key + i * s->heard, *q = s->key + j * s->heard;
    for (size_t c = 0; c < s->heard; c++) {
        if (p[c] == q[c])
            k.agree += p[c] != TAB_NULL;
        else if (p[c] == TAB_NULL || q[c] == TAB_NULL)
            k.apart++;
        else if (s->t->col[s->order[c]].kind == TAB_VIEW_TEXT)
            k.differ++;
        else
            return 0;
    }
    if (k.differ > k.agree || k.agree + k.differ < 2 || k.apart > k.agree + k.differ)
        return 0;
    for (size_t c = 0; c < s->heard; c++)
        if (p[c] == q[c] && p[c] != TAB_NULL) {
            const tab_view *w = &s->t->col[s->order[c]];
            const tab_value *x = value_at(w, i), *y = value_at(w, j);
            agree(&k, s->voice[s->order[c]], w, x == y ? x->rows : (double)x->rows + y->rows, 1);
        }
    for (size_t c = 0; c < s->t->cols && k.differ > 0; c++) {
        const tab_view *w = &s->t->col[c];
        if (s->voice[c] < MEASURED || w->code[i] == TAB_NULL || w->code[j] == TAB_NULL)
            continue;
        const tab_value *x = value_at(w, i), *y = value_at(w, j);
        if (x->key == y->key)
            continue;
        if (!misspelt(s->v, x, y))
            return 0;
        agree(&k, s->voice[c], w, (double)x->rows + y->rows, 0.7);
    }
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

/* Rows that share the values of two columns (of one where they are the same) meet: a hash table of the
 * last row of each value, a chain through the rows before it. */
typedef struct {
    const tab_engine *e;
    const telling *s;
    float least;
    struct pair {
        size_t c, d; /* among the columns heard */
        found f;
    } pair[LEADING * (LEADING + 1) / 2];
} meeting;

static uint32_t place(uint64_t key, uint32_t mask)
{
    return (uint32_t)tab_place(key) & mask;
}

static void meet(void *ctx, size_t pair)
{
    enum { AHEAD = 12 };
    meeting *m = ctx;
    const telling *s = m->s;
    found *f = &m->pair[pair].f;
    size_t rows = s->t->rows, n = 0;
    uint32_t mask = 15;
    while (mask < 2 * rows)
        mask = 2 * mask + 1;
    uint32_t *slot = malloc(((size_t)mask + 1) * sizeof *slot), *before = malloc((rows + 1) * sizeof *before),
             *row = malloc((rows + 1) * sizeof *row); /* those that have both values */
    uint64_t *key = malloc((rows + 1) * sizeof *key);
    f->failed = slot == NULL || before == NULL || row == NULL || key == NULL;
    if (!f->failed && !tab_engine_cancelled(m->e)) {
        memset(slot, 0xff, ((size_t)mask + 1) * sizeof *slot);
        for (uint32_t r = 0; r < rows; r++) {
            uint32_t x = s->key[r * s->heard + m->pair[pair].c], y = s->key[r * s->heard + m->pair[pair].d];
            key[n] = tab_hash_mix(x, y);
            row[n] = r;
            n += x != TAB_NULL && y != TAB_NULL;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(&slot[place(key[i + AHEAD], mask)]);
        uint32_t at = place(key[i], mask);
        while (slot[at] != TAB_NULL && key[slot[at]] != key[i])
            at = (at + 1) & mask;
        before[i] = slot[at];
        slot[at] = i;
        uint32_t q = before[i];
        for (int k = 1; k < GROUP && q != TAB_NULL; k++, q = before[q]) {
            float p = tab_twin_judge(s, row[q], row[i]);
            if (p >= m->least)
                add(f, (tab_twin){ row[q], row[i], p });
        }
    }
    free(slot);
    free(before);
    free(row);
    free(key);
}

/* The columns of most values, alone and in pairs; what they find one after the other in *all. */
static tab_status search(const tab_engine *e, const telling *s, float least, found *all, tab_error *err)
{
    meeting m = { .e = e, .s = s, .least = least };
    size_t lead[LEADING], n = 0, pairs = 0;
    for (size_t k = 0; k < s->heard && n < LEADING; k++)
        if (s->t->col[s->order[k]].values >= 2)
            lead[n++] = k;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            m.pair[pairs++] = (struct pair){ .c = lead[i], .d = lead[j] };
    tab_engine_for(e, pairs, meet, &m);
    for (size_t i = 0; i < pairs; i++) {
        found *f = &m.pair[i].f;
        all->failed = all->failed || f->failed;
        for (size_t k = 0; k < f->n && !all->failed; k++)
            add(all, f->twin[k]);
        free(f->twin);
    }
    if (all->failed)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
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
            p = fminf(p, tab_twin_judge(s, i, j));
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
                        ? tab_fail(err, TAB_INTERNAL, "", "out of memory")
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

const telling *tab_twin_teller_new(const tab_views *v, size_t table, tab_arena *a)
{
    static const double SHARE = 0.05; /* of rows that have a twin, before anything is seen */
    const tab_table_view *t = &v->table[table];
    telling *s = tab_arena_new_of(a, telling, 1);
    if (s == NULL)
        return NULL;
    *s = (telling){ .v = v,
                    .t = t,
                    .voice = tab_arena_new_of(a, voice, t->cols),
                    .order = tab_arena_new_of(a, uint32_t, t->cols),
                    .prior = log(SHARE / (double)(t->rows + 1)) };
    if (s->voice == NULL || s->order == NULL)
        return NULL;
    for (uint32_t c = 0; c < t->cols; c++) {
        s->voice[c] = voice_of(&t->col[c], t->rows);
        if (s->voice[c] < MEASURED)
            continue;
        size_t k = s->heard++;
        for (; k > 0 && t->col[s->order[k - 1]].values < t->col[c].values; k--)
            s->order[k] = s->order[k - 1];
        s->order[k] = c;
    }
    s->key = tab_arena_new_of(a, uint32_t, t->rows * s->heard);
    for (size_t k = 0; s->key != NULL && k < s->heard; k++) {
        const tab_view *w = &t->col[s->order[k]];
        for (size_t r = 0; r < t->rows; r++)
            s->key[r * s->heard + k] = w->code[r] == TAB_NULL ? TAB_NULL : w->value[w->code[r]].key;
    }
    return tab_arena_full(a) ? NULL : s;
}

tab_status tab_link_twins(const tab_engine *e, const tab_views *v, size_t table, float least, tab_arena *a,
                          tab_twin **ret, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_arena) *own = tab_arena_new(SIZE_MAX / 2);
    const telling *s = own == NULL ? NULL : tab_twin_teller_new(v, table, own);
    *ret = NULL;
    *ret_n = 0;
    if (s == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    found f = { 0 };
    tab_status st = search(e, s, least, &f, err);
    if (st == TAB_OK && f.n > 0) {
        qsort(f.twin, f.n, sizeof *f.twin, likeliest_first);
        st = group(s, least, &f, a, ret, ret_n, err);
    }
    free(f.twin);
    return st;
}
