#include "services/inference/engine/link/pairs/twin_rules.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/link/pairs/compare.h"
#include "services/inference/engine/profile/roles/roles.h"

/* How a column speaks of two rows being one. */
typedef enum {
    ABSENT,   /* no values */
    RUNNING,  /* a number given to each row as it was written down: twins differ in it */
    MEASURED, /* a quantity: rows agree in it by chance and together with others */
    NAMED     /* what an entity is called or described by */
} voice;

typedef struct tab_twin_rules {
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
    double *same; /* (heard) pairs of rows with one value */
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

/* How many rows hold a value that two rows share, for its rarity. Of a few rows these two are most of what is
 * known of it, and no witnesses of chance: it is as rare as the others' values say (Good and Turing). */
static double holding(const tab_view *w, const tab_value *x, const tab_value *y)
{
    enum { SHORT = 20 };
    double n = x == y ? x->rows : (double)x->rows + y->rows, once = 0, twice = 0;
    if (w->present >= SHORT || w->kind != TAB_VIEW_TEXT)
        return n;
    for (uint32_t i = 0; i < w->values; i++) {
        once += &w->value[i] != x && &w->value[i] != y && w->value[i].rows == 1;
        twice += &w->value[i] != x && &w->value[i] != y && w->value[i].rows == 2;
    }
    return fmin(n - 2 + fmin((2 * twice + 1) / (once + 1), 1), n);
}

static const tab_value *value_at(const tab_view *w, uint32_t row)
{
    return &w->value[w->code[row]];
}

float tab_twin_rules_p(const telling *s, uint32_t i, uint32_t j)
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
            agree(&k, s->voice[s->order[c]], w, holding(w, x, y), 1);
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
        agree(&k, s->voice[c], w, holding(w, x, y), 0.7);
    }
    double z = k.rarest + 0.6 * k.others + s->prior;
    return (float)(0.99 / (1 + exp(-z)));
}

bool tab_twin_rules_equal(const telling *s, uint32_t i, uint32_t j)
{
    return s->heard == 0 ||
           memcmp(s->key + i * s->heard, s->key + j * s->heard, s->heard * sizeof *s->key) == 0;
}

/* Pairs of a column's values that are equal. */
static double equal_pairs(const tab_view *w)
{
    double same = 0;
    for (uint32_t i = 0; i < w->values; i++)
        same += (double)w->value[i].rows * ((double)w->value[i].rows - 1) / 2;
    return same;
}

/* A row by which of its cells have a value, and by all of them. */
typedef struct {
    uint64_t there, cells;
    uint32_t row;
} written;

static int by_cells(const void *a, const void *b)
{
    const written *x = a, *y = b;
    if (x->there != y->there)
        return x->there < y->there ? -1 : 1;
    if (x->cells != y->cells)
        return x->cells < y->cells ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* The share that chance leaves of n rows that have values in the same columns, equal ones side by side. */
static float left_by_chance(const telling *s, const written *x, size_t n)
{
    double equal = 0, run = 1, expected = (double)n * ((double)n - 1) / 2;
    for (size_t i = 1; i < n; i++) {
        equal += x[i].cells == x[i - 1].cells ? run : 0;
        run = x[i].cells == x[i - 1].cells ? run + 1 : 1;
    }
    /* the equal pairs themselves are no witnesses of chance */
    for (size_t k = 0; k < s->heard && equal > 0; k++)
        if (s->key[x->row * s->heard + k] != TAB_NULL) {
            double present = (double)s->t->col[s->order[k]].present;
            expected *= fmax(0, s->same[k] - equal) / (present * (present - 1) / 2);
        }
    return equal > expected ? (float)(1 - expected / equal) : 0;
}

float *tab_twin_rules_beyond_chance(const telling *s, tab_arena *a)
{
    size_t rows = s->t->rows;
    float *beyond = tab_arena_new_of(a, float, rows);
    written *x = calloc(rows + 1, sizeof *x);
    for (size_t r = 0; x != NULL && beyond != NULL && r < rows; r++) {
        x[r].row = (uint32_t)r;
        for (size_t k = 0; k < s->heard; k++) {
            uint32_t key = s->key[r * s->heard + k];
            x[r].there = tab_hash_mix(x[r].there, key != TAB_NULL);
            x[r].cells = tab_hash_mix(x[r].cells, key);
        }
    }
    if (x != NULL && rows > 0)
        qsort(x, rows, sizeof *x, by_cells);
    for (size_t from = 0, to; x != NULL && beyond != NULL && from < rows; from = to) {
        for (to = from; to < rows && x[to].there == x[from].there; to++)
            ;
        float left = left_by_chance(s, x + from, to - from);
        for (size_t i = from; i < to; i++)
            beyond[x[i].row] = left;
    }
    bool ok = x != NULL;
    free(x);
    return ok ? beyond : NULL;
}

const telling *tab_twin_rules_new(const tab_views *v, size_t table, tab_arena *a)
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
    s->same = tab_arena_new_of(a, double, s->heard);
    for (size_t k = 0; s->key != NULL && s->same != NULL && k < s->heard; k++) {
        const tab_view *w = &t->col[s->order[k]];
        s->same[k] = equal_pairs(w);
        for (size_t r = 0; r < t->rows; r++)
            s->key[r * s->heard + k] = w->code[r] == TAB_NULL ? TAB_NULL : w->value[w->code[r]].key;
    }
    return tab_arena_full(a) ? NULL : s;
}
