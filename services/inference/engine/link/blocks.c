/* Candidates from the aligned attributes: words, letters, whole values, neighbouring numbers and pairs of
 * values of each row become features, qualified by their attribute, and rows that share rare ones meet. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/align/text.h"
#include "services/inference/engine/link/link.h"

enum { SPACE_BITS = 20, PAIRED = 8 };

typedef struct {
    const tab_views *v;
    const tab_table_view *t;
    const tab_attribute *attr;
    size_t attrs;
    bool second; /* the table is the pair's b */
    bool letters;
    size_t rows_both;
} blocking;

static uint32_t feature(uint64_t kind, uint64_t a, uint64_t b)
{
    return (uint32_t)(tab_hash_mix(tab_hash_mix(kind, a), b) >> 17) & ((1u << SPACE_BITS) - 1);
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
            tab_row_add(sink, feature(100 + k, (uint64_t)(scaled * 2), 1));
            tab_row_add(sink, feature(100 + k, (uint64_t)(scaled * 2) + 1, 1));
        } else {
            for (uint32_t i = 0; i < x->tok_n && i < 64; i++) {
                tab_row_add(sink, feature(300 + k, b->v->tok[x->tok + i], 2));
                tab_row_add(sink, feature(1, b->v->tok[x->tok + i], 3));
            }
            tab_str s = tab_value_text(b->v, x);
            if (b->letters || x->tok_n <= 2)
                for (size_t i = 0; i + 3 <= s.n && i < 48; i++)
                    tab_row_add(sink, feature(500 + k, tab_hash_bytes(s.p + i, 3, 7), 4));
        }
        tab_row_add(sink, feature(700 + k, id, 5));
        if (paired < PAIRED)
            key[paired++] = tab_hash_mix(id, k);
    }
    for (size_t i = 0; i < paired; i++)
        for (size_t j = i + 1; j < paired; j++)
            tab_row_add(sink, feature(2, key[i], key[j]));
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

enum { TAKEN = 6 }; /* of each row's neighbours by each search */

static size_t collect(const tab_near *near, size_t rows, bool swapped, uint64_t *out)
{
    size_t n = 0;
    for (size_t i = 0; near != NULL && i < rows; i++)
        for (size_t k = 0; k < TAKEN && near[i * TAB_NEAR + k].row != TAB_NULL; k++) {
            uint64_t r = near[i * TAB_NEAR + k].row;
            out[n++] = swapped ? r << 32 | i : (uint64_t)i << 32 | r;
        }
    return n;
}

tab_status tab_block_pairs(const tab_engine *e, const tab_views *v, size_t ta, size_t tb,
                           const tab_attribute *attr, size_t attrs, const tab_near *extra_ab,
                           const tab_near *extra_ba, tab_arena *a, tab_candidates *ret, tab_error *err)
{
    size_t na = v->table[ta].rows, nb = v->table[tb].rows;
    bool letters = na + nb <= 40000;
    blocking ba = { v, &v->table[ta], attr, attrs, false, letters, na + nb };
    blocking bb = { v, &v->table[tb], attr, attrs, true, letters, na + nb };
    tab_sparse s[2] = { { 0 }, { 0 } };
    tab_index x[2] = { { 0 }, { 0 } };
    tab_near *ab = malloc((na * TAB_NEAR + 1) * sizeof *ab), *ba_near = malloc((nb * TAB_NEAR + 1) * sizeof *ba_near);
    tab_status st = ab == NULL || ba_near == NULL ? tab_fail(err, TAB_INTERNAL, "", "memory is out") : TAB_OK;
    size_t space = (size_t)1 << SPACE_BITS;
    if (st == TAB_OK)
        st = tab_rows_build(e, na, space, fill, &ba, &s[0], err);
    if (st == TAB_OK)
        st = tab_rows_build(e, nb, space, fill, &bb, &s[1], err);
    if (st == TAB_OK)
        st = tab_rows_weigh(s, 2, space, err);
    if (st == TAB_OK)
        st = tab_index_build(&s[1], &x[1], err);
    if (st == TAB_OK)
        st = tab_rows_near(e, &s[0], NULL, na, &s[1], &x[1], tab_link_budget(na), false, ab, err);
    tab_index_free(&x[1]);
    if (st == TAB_OK)
        st = tab_index_build(&s[0], &x[0], err);
    if (st == TAB_OK)
        st = tab_rows_near(e, &s[1], NULL, nb, &s[0], &x[0], tab_link_budget(nb), false, ba_near, err);
    tab_index_free(&x[0]);
    tab_sparse_free(&s[0]);
    tab_sparse_free(&s[1]);
    uint64_t *pairs = st == TAB_OK ? malloc(((na + nb) * 2 * TAB_NEAR + 1) * sizeof *pairs) : NULL;
    if (st == TAB_OK && pairs == NULL)
        st = tab_fail(err, TAB_INTERNAL, "", "memory is out");
    if (st == TAB_OK) {
        size_t n = collect(ab, na, false, pairs), m = 0;
        n += collect(ba_near, nb, true, pairs + n);
        n += collect(extra_ab, na, false, pairs + n);
        n += collect(extra_ba, nb, true, pairs + n);
        qsort(pairs, n, sizeof *pairs, ascending);
        for (size_t i = 0; i < n; i++)
            if (i == 0 || pairs[i] != pairs[i - 1])
                pairs[m++] = pairs[i];
        *ret = (tab_candidates){ .n = m, .attrs = attrs };
        ret->a = tab_arena_new_of(a, uint32_t, m);
        ret->b = tab_arena_new_of(a, uint32_t, m);
        for (size_t i = 0; i < m && !tab_arena_full(a); i++) {
            ret->a[i] = (uint32_t)(pairs[i] >> 32);
            ret->b[i] = (uint32_t)pairs[i];
        }
        if (tab_arena_full(a))
            st = tab_fail(err, TAB_INTERNAL, "", "memory is out");
    }
    free(pairs);
    free(ab);
    free(ba_near);
    return st;
}
