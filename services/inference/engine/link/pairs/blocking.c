/* Candidates from the aligned attributes: words, letters, whole values, MinHash bands of texts,
 * neighbouring numbers and pairs of values of each row become features, qualified by their attribute, and
 * rows that share rare ones meet. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/align/minhash.h"
#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/link/pairs/link.h"

enum {
    PAIRED = 8,
    WORDY = 8 /* tokens of a text: fewer are found word by word */
};

typedef struct {
    const tab_views *v;
    const tab_table_view *t;
    const tab_attribute *attr;
    size_t attrs;
    bool second;         /* the table is the pair's b */
    bool letters, alone; /* alone: no search of whole rows brings candidates beside these */
    size_t rows_both;
    uint32_t space; /* features are hashed into so many, a power of 2 */
} blocking;

static uint32_t feature(const blocking *b, uint64_t kind, uint64_t x, uint64_t y)
{
    return (uint32_t)(tab_hash_mix(tab_hash_mix(kind, x), y) >> 17) & (b->space - 1);
}

static size_t position(const double *sorted, size_t n, double x)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (sorted[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void fill(void *ctx, size_t row, tab_row_sink *sink)
{
    const blocking *b = ctx;
    uint64_t key[PAIRED];
    size_t paired = 0;
    for (size_t k = 0; k < b->attrs; k++) {
        const tab_attribute *t = &b->attr[k];
        const tab_view *w = &b->t->col[b->second ? t->b : t->a];
        if (w->code[row] == TAB_NULL)
            continue;
        const tab_value *x = &w->value[w->code[row]];
        uint64_t id = x->key;
        if (t->numeric && !isnan(x->number)) {
            double y = b->second ? x->number / t->scale : x->number;
            if (t->scale != 1) { /* equal up to rounding after the change of unit */
                char buf[48];
                int n = snprintf(buf, sizeof buf, "%.3e", y);
                id = tab_hash_bytes(buf, (size_t)n, 5);
            }
            /* sorted neighbourhood: buckets of about ten rows, each row in two neighbouring ones */
            size_t at = position(t->sorted, t->sorted_n, y);
            double scaled = (double)at / (double)(t->sorted_n + 1) * ((double)b->rows_both / 20.0);
            tab_row_add(sink, feature(b, 100 + k, (uint64_t)(scaled * 2), 1));
            tab_row_add(sink, feature(b, 100 + k, (uint64_t)(scaled * 2) + 1, 1));
        } else {
            for (uint32_t i = 0; i < x->tok_n && i < 64; i++)
                tab_row_add(sink, feature(b, 300 + k, b->v->tok[x->tok + i], 2));
            tab_str s = tab_value_text(b->v, x);
            if (b->letters || x->tok_n <= 2)
                for (size_t i = 0; i + 3 <= s.n && i < 48; i++)
                    tab_row_add(sink, feature(b, 500 + k, tab_hash_bytes(s.p + i, 3, 7), 4));
        }
        if (b->alone && x->tok_n >= WORDY) { /* words may all be common ones */
            uint64_t band[TAB_BANDS];
            tab_minhash(b->v->tok + x->tok, x->tok_n < 64 ? x->tok_n : 64, band);
            for (size_t i = 0; i < TAB_BANDS; i++)
                tab_row_add(sink, feature(b, 900 + k, band[i], 6));
        }
        tab_row_add(sink, feature(b, 700 + k, id, 5));
        if (paired < PAIRED)
            key[paired++] = tab_hash_mix(id, k);
    }
    for (size_t i = 0; i < paired; i++)
        for (size_t j = i + 1; j < paired; j++)
            tab_row_add(sink, feature(b, 2, key[i], key[j]));
}

enum { TAKEN = 4 }; /* of each row's neighbours by each search */

static size_t taken(const tab_near *near, size_t i)
{
    size_t k = 0;
    while (near != NULL && k < TAKEN && near[i * TAB_NEAR + k].row != TAB_NULL)
        k++;
    return k;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static size_t sort_unique(uint32_t *x, size_t n)
{
    if (n > 64) /* a row that many others are near to */
        qsort(x, n, sizeof *x, ascending);
    for (size_t i = 1; i < n && n <= 64; i++)
        for (size_t k = i; k > 0 && x[k] < x[k - 1]; k--) {
            uint32_t t = x[k];
            x[k] = x[k - 1];
            x[k - 1] = t;
        }
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || x[i] != x[i - 1])
            x[m++] = x[i];
    return m;
}

/* The searches' pairs by a, then b, each once. ab and ba hold each side's two searches. */
static tab_status unite(const tab_near *const ab[2], size_t na, const tab_near *const ba[2], size_t nb,
                        tab_arena *a, tab_candidates *ret, tab_error *err)
{
    uint32_t *at = calloc(na + 2, sizeof *at);
    size_t n = 0;
    if (at == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    for (size_t i = 0; i < na; i++)
        at[i + 2] = (uint32_t)(taken(ab[0], i) + taken(ab[1], i));
    for (int s = 0; s < 2; s++)
        for (size_t j = 0; j < nb; j++)
            for (size_t k = 0, m = taken(ba[s], j); k < m; k++)
                at[ba[s][j * TAB_NEAR + k].row + 2]++;
    for (size_t i = 0; i < na; i++)
        at[i + 2] += at[i + 1];
    n = at[na + 1];
    uint32_t *b = malloc((n + 1) * sizeof *b);
    if (b == NULL) {
        free(at);
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    }
    for (int s = 0; s < 2; s++) {
        for (size_t i = 0; i < na; i++)
            for (size_t k = 0, m = taken(ab[s], i); k < m; k++)
                b[at[i + 1]++] = ab[s][i * TAB_NEAR + k].row;
        for (size_t j = 0; j < nb; j++)
            for (size_t k = 0, m = taken(ba[s], j); k < m; k++)
                b[at[ba[s][j * TAB_NEAR + k].row + 1]++] = (uint32_t)j;
    }
    size_t m = 0;
    for (size_t i = 0; i < na; i++) { /* at[i] is where row i starts, at[i + 1] where it ends */
        size_t from = at[i], kept = sort_unique(b + from, at[i + 1] - from);
        memmove(b + m, b + from, kept * sizeof *b);
        at[i] = (uint32_t)m;
        m += kept;
    }
    at[na] = (uint32_t)m;
    ret->n = m;
    ret->a = tab_arena_new_of(a, uint32_t, m);
    ret->b = tab_arena_new_of(a, uint32_t, m);
    for (size_t i = 0; i < na && !tab_arena_full(a); i++)
        for (size_t k = at[i]; k < at[i + 1]; k++) {
            ret->a[k] = (uint32_t)i;
            ret->b[k] = b[k];
        }
    free(at);
    free(b);
    return tab_arena_full(a) ? tab_fail(err, TAB_INTERNAL, "", "out of memory") : TAB_OK;
}

static tab_status search(const tab_engine *e, const tab_sparse *q, const tab_sparse *target, tab_near *near,
                         tab_error *err)
{
    tab_index x;
    tab_status st = tab_index_build(e, target, &x, err);
    if (st == TAB_OK)
        st = tab_rows_near(e, q, NULL, q->rows, target, &x, false, true, near, err);
    if (st == TAB_OK)
        tab_index_free(&x);
    return st;
}

tab_status tab_block_pairs(const tab_engine *e, const tab_views *v, size_t ta, size_t tb,
                           const tab_attribute *attr, size_t attrs, const tab_near *extra_ab,
                           const tab_near *extra_ba, tab_arena *a, tab_candidates *ret, tab_error *err)
{
    size_t na = v->table[ta].rows, nb = v->table[tb].rows;
    bool large = extra_ab == NULL,
         letters = large && na + nb <= 40000; /* whole rows have brought letters else */
    uint32_t space = 1 << 14;
    while (space < 1 << 22 && space < 64 * (na + nb))
        space *= 2;
    blocking ba = { v, &v->table[ta], attr, attrs, false, letters, large, na + nb, space };
    blocking bb = { v, &v->table[tb], attr, attrs, true, letters, large, na + nb, space };
    /* The larger table's rows ask: the smaller one's are then asked about often enough. */
    bool from_a = na >= nb, from_b = !from_a;
    tab_sparse s[2] = { { 0 }, { 0 } };
    tab_near *ab = from_a ? malloc((na * TAB_NEAR + 1) * sizeof *ab) : NULL;
    tab_near *ba_near = from_b ? malloc((nb * TAB_NEAR + 1) * sizeof *ba_near) : NULL;
    tab_status st = (from_a && ab == NULL) || (from_b && ba_near == NULL)
                        ? tab_fail(err, TAB_INTERNAL, "", "out of memory")
                        : TAB_OK;
    if (st == TAB_OK)
        st = tab_rows_build(e, na, space, fill, &ba, &s[0], err);
    if (st == TAB_OK)
        st = tab_rows_build(e, nb, space, fill, &bb, &s[1], err);
    if (st == TAB_OK)
        st = tab_rows_weigh(e, s, 2, space, err);
    if (st == TAB_OK && from_a)
        st = search(e, &s[0], &s[1], ab, err);
    if (st == TAB_OK && from_b)
        st = search(e, &s[1], &s[0], ba_near, err);
    tab_sparse_free(&s[0]);
    tab_sparse_free(&s[1]);
    *ret = (tab_candidates){ .attrs = attrs };
    if (st == TAB_OK)
        st = unite((const tab_near *const[2]){ ab, extra_ab }, na,
                   (const tab_near *const[2]){ ba_near, extra_ba }, nb, a, ret, err);
    free(ab);
    free(ba_near);
    return st;
}
