/* The pair model: which columns of two tables are one attribute, and which rows one entity, where nobody has
 * said either. Each answer would be easy with the other: columns can be compared once some rows are known to
 * be the same, and rows once columns are. So the two are found in turn, from a start that needs neither:
 *
 *   rows without a schema ---> seeds ---> columns ---> candidates ---> p of each pair ---> sure pairs
 *   (all words of a row)                     ^                                                |
 *                                            +------------------ once more ------------------+
 *
 *   1. Nearest rows (rows.c). A row is the weighed set of its words and 3-grams, whatever column they stand
 *      in; rare ones weigh more. Each row gets its nearest few of the other table by cosine.
 *   2. Seeds. Pairs that are each other's best, with a margin over the second, and nearer to one another than
 *      to any row of their own tables. The last condition tells a match from a table of look-alikes; where
 *      fewer than ten remain (both tables hold duplicates) it is given up.
 *   3. Columns (align/). Probabilities from values, formats and names, and from how the seeds' cells agree; a
 *      best assignment makes them one to one. Keys have their say before it: columns of different keys are
 *      never one attribute, a reference and its key always are.
 *   4. Candidates (blocking.c): pairs that share a rare enough value of an aligned column, and the nearest
 *      rows of step 1. No pair that is not a candidate can be a match; this bounds the work.
 *   5. Evidence and probability (evidence/): per attribute a likelihood ratio (Fellegi & Sunter) with term
 *      frequencies, then probabilities that are calibrated on this very pair of tables by decoys
 *      (evidence/calibrate.c).
 *   6. The sure pairs know the columns better than the seeds did: columns are aligned again by them, and if
 *      any assignment changed, steps 4 and 5 are done again, once. Two rounds are where answers settle.
 *
 * What holds: the answer depends on the two tables, the key plan and the terms of all tables, on no clock and
 * no order of threads; ties are broken by row numbers. Tables that the plan holds apart (a list and its
 * entries) get columns and no rows, and so do observations of the same things at other moments. A number in
 * another unit is scaled by the median ratio of the known pairs, where six in ten of them agree on it.
 *
 * Cost is that of the nearest rows: an index of postings, n times the candidates of a row. Above LARGE rows a
 * sample asks for seeds, columns are settled on it, and there is one round of rows. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/link/pairs/geo.h"
#include "services/inference/engine/link/pairs/link.h"

enum { LARGE = 20000, SAMPLE = 4000, SEEDS_MAX = 400, SURE_MAX = 1000, FEW = 20 };

tab_status tab_link_tables_new(const tab_engine *e, const tab_views *v, tab_arena *a, tab_link_table **ret,
                               tab_error *err)
{
    tab_link_table *t = calloc(v->n, sizeof *t);
    tab_sparse *s = calloc(v->n, sizeof *s);
    tab_status st = t == NULL || s == NULL ? tab_fail(err, TAB_INTERNAL, "", "out of memory") : TAB_OK;
    uint32_t grams = 0; /* hashed 3-grams: where their index stays small beside the rows */
    if (v->total_rows <= 2 * LARGE * (v->n > 2 ? 2 : 1))
        for (grams = 1 << 15; grams < (1 << 18) && grams < 32 * v->total_rows; grams *= 2)
            ;
    for (size_t i = 0; st == TAB_OK && i < v->n; i++)
        st = tab_rows_whole(e, v, i, grams, &s[i], err);
    if (st == TAB_OK)
        st = tab_rows_weigh(e, s, v->n, v->terms, err);
    for (size_t i = 0; s != NULL && t != NULL && i < v->n; i++) {
        t[i].whole = s[i];
        if (st == TAB_OK)
            st = tab_index_build(e, &s[i], &t[i].index, err);
        if (st == TAB_OK)
            st = tab_signatures_new(e, v, i, a, &t[i].signature, err);
    }
    free(s);
    if (st != TAB_OK)
        tab_link_tables_free(t, v->n);
    else
        *ret = t;
    return st;
}

void tab_link_tables_free(tab_link_table *t, size_t n)
{
    for (size_t i = 0; t != NULL && i < n; i++) {
        tab_sparse_free(&t[i].whole);
        tab_index_free(&t[i].index);
    }
    free(t);
}

static size_t place(const tab_asked *q, uint32_t row)
{
    size_t lo = 0, hi = q->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (q->row[mid] < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < q->n && q->row[lo] == row ? lo : SIZE_MAX;
}

static tab_status near_rows(const tab_engine *e, tab_link_table *from, tab_link_table *to, tab_arena *a,
                            tab_asked *q, tab_error *err)
{
    q->cross = tab_arena_new_of(a, tab_near, q->n * TAB_NEAR);
    if (tab_arena_full(a))
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    return tab_rows_near(e, &from->whole, q->row, q->n, &to->whole, &to->index, false, false, q->cross, err);
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void all_rows(tab_asked *q, size_t rows)
{
    q->n = rows;
    for (size_t i = 0; i < rows && q->row != NULL; i++)
        q->row[i] = (uint32_t)i;
}

typedef struct {
    float margin;
    uint32_t a, b;
} seed;

static int surest_first(const void *a, const void *b)
{
    const seed *x = a, *y = b;
    if (x->margin != y->margin)
        return x->margin > y->margin ? -1 : 1;
    return (x->a > y->a) - (x->a < y->a);
}

/* Mutually best rows with a clear margin, the surest first: those that are nearer to one another than to
 * any row of their own tables; where tables hold duplicates and few such exist, all of them. */
static tab_status choose_seeds(const tab_engine *e, tab_link_table *A, tab_link_table *B, const tab_asked *qa,
                               const tab_asked *qb, tab_arena *a, tab_row_pairs *ret, tab_error *err)
{
    enum { TRIED = SEEDS_MAX * 5 / 4 };
    seed *s = tab_arena_new_of(a, seed, qa->n);
    uint32_t *ra = tab_arena_new_of(a, uint32_t, TRIED), *rb = tab_arena_new_of(a, uint32_t, TRIED);
    tab_near *own_a = tab_arena_new_of(a, tab_near, TRIED * TAB_NEAR);
    tab_near *own_b = tab_arena_new_of(a, tab_near, TRIED * TAB_NEAR);
    size_t n = 0;
    if (tab_arena_full(a))
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    for (size_t i = 0; i < qa->n; i++) {
        const tab_near *x = qa->cross + i * TAB_NEAR;
        size_t j = x->row == TAB_NULL ? SIZE_MAX : place(qb, x->row);
        if (j == SIZE_MAX || qb->cross[j * TAB_NEAR].row != qa->row[i])
            continue;
        float rival = fmaxf(x[1].score, qb->cross[j * TAB_NEAR + 1].score);
        if (x->score > rival && x->score >= 0.15f)
            s[n++] = (seed){ x->score - rival + 0.3f * x->score, qa->row[i], x->row };
    }
    qsort(s, n, sizeof *s, surest_first);
    n = n < TRIED ? n : TRIED;
    for (size_t i = 0; i < n; i++) {
        ra[i] = s[i].a;
        rb[i] = s[i].b;
    }
    tab_status st = tab_rows_near(e, &A->whole, ra, n, &A->whole, &A->index, true, false, own_a, err);
    if (st == TAB_OK)
        st = tab_rows_near(e, &B->whole, rb, n, &B->whole, &B->index, true, false, own_b, err);
    size_t m = 0;
    for (size_t i = 0; i < n && st == TAB_OK; i++) {
        float own = fmaxf(own_a[i * TAB_NEAR].score, own_b[i * TAB_NEAR].score);
        if (tab_sparse_dot(&A->whole, s[i].a, &B->whole, s[i].b) > own && m < SEEDS_MAX) {
            ra[m] = s[i].a;
            rb[m++] = s[i].b;
        }
    }
    if (m < 10)
        for (m = 0; m < n && m < SEEDS_MAX; m++) {
            ra[m] = s[m].a;
            rb[m] = s[m].b;
        }
    *ret = (tab_row_pairs){ m, ra, rb };
    return st;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* b = scale * a on nearly all matched rows, when the units differ; else 1. */
static double unit_scale(const tab_view *x, const tab_view *y, const tab_row_pairs *rows, double *ratio)
{
    size_t n = 0, near = 0;
    for (size_t i = 0; i < rows->n; i++) {
        uint32_t p = x->code[rows->a[i]], q = y->code[rows->b[i]];
        if (p == TAB_NULL || q == TAB_NULL)
            continue;
        double s = x->value[p].number, t = y->value[q].number;
        if (s != 0 && t != 0 && isfinite(s) && isfinite(t) && (s > 0) == (t > 0))
            ratio[n++] = t / s;
    }
    if (n < 8)
        return 1;
    qsort(ratio, n, sizeof *ratio, by_value);
    double m = ratio[n / 2];
    for (size_t i = 0; i < n; i++)
        near += fabs(ratio[i] - m) <= 0.03 * m;
    return fabs(m - 1) > 0.02 && near * 10 >= n * 6 ? m : 1;
}

/* Whether columns i and j are compared as they are: neither is joined, nor a joined column's whole. */
static bool stands_alone(const tab_linkage *l, size_t i, size_t j)
{
    for (size_t k = 0; k < l->joins; k++) {
        const tab_joined *x = &l->joined[k];
        size_t part = x->second ? j : i, whole = x->second ? i : j;
        if (x->column == TAB_NULL)
            continue;
        if (whole == x->whole)
            return false;
        for (uint32_t p = 0; p < x->parts; p++)
            if (part == x->part[p])
                return false;
    }
    return true;
}

/* Unit and numbers of both sides, in a's. */
static void take_numbers(const tab_view *x, const tab_view *y, const tab_row_pairs *rows, double *ratio,
                         tab_arena *a, tab_attribute *t)
{
    t->numeric = x->sorted_n > 0 && y->sorted_n > 0;
    if (!t->numeric)
        return;
    t->scale = unit_scale(x, y, rows, ratio);
    t->sorted = tab_arena_new_of(a, double, x->sorted_n + y->sorted_n);
    if (t->sorted == NULL)
        return;
    for (size_t k = 0; k < x->sorted_n; k++)
        t->sorted[t->sorted_n++] = x->sorted[k];
    for (size_t k = 0; k < y->sorted_n; k++)
        t->sorted[t->sorted_n++] = y->sorted[k] / t->scale;
    qsort(t->sorted, t->sorted_n, sizeof *t->sorted, by_value);
}

static tab_status take_attributes(const tab_views *v, tab_linkage *l, float least, const tab_row_pairs *rows,
                                  tab_arena *a, tab_error *err)
{
    const tab_table_view *A = &v->table[l->ta], *B = &v->table[l->tb];
    l->attr = tab_arena_new_of(a, tab_attribute, l->cols_a + l->joins);
    double *ratio = tab_arena_new_of(a, double, rows->n);
    l->attrs = 0;
    for (size_t i = 0; i < l->cols_a && !tab_arena_full(a); i++) {
        uint32_t j = l->match[i];
        if (j == TAB_NULL || l->column_p[i * l->cols_b + j] < least || !stands_alone(l, i, j))
            continue;
        tab_attribute *t = &l->attr[l->attrs++];
        *t = (tab_attribute){
            .a = i, .b = j, .scale = 1, .confidence = (double)l->column_p[i * l->cols_b + j]
        };
        take_numbers(&A->col[i], &B->col[j], rows, ratio, a, t);
    }
    for (size_t k = 0; k < l->joins && !tab_arena_full(a); k++) {
        const tab_joined *x = &l->joined[k];
        if (x->column != TAB_NULL)
            l->attr[l->attrs++] = (tab_attribute){ .a = x->second ? x->whole : x->column,
                                                   .b = x->second ? x->column : x->whole,
                                                   .scale = 1,
                                                   .confidence = (double)x->held };
    }
    return tab_arena_full(a) || !tab_geo_find(A, B, l->attr, l->attrs, a)
               ? tab_fail(err, TAB_INTERNAL, "", "out of memory")
               : TAB_OK;
}

/* What the keys say of the columns' probabilities. */
static void heed_keys(const tab_keys *k, tab_linkage *l)
{
    for (size_t i = 0; i < l->cols_a; i++)
        for (size_t j = 0; j < l->cols_b; j++)
            if (tab_keys_differ(k, l->ta, i, l->tb, j))
                l->column_p[i * l->cols_b + j] = 0;
    for (size_t r = 0; r < k->n; r++) {
        const tab_reference *q = &k->ref[r];
        bool there = q->child_table == l->ta && q->parent_table == l->tb;
        if (!there && !(q->child_table == l->tb && q->parent_table == l->ta))
            continue;
        float *p = &l->column_p[(there ? q->child : q->parent) * l->cols_b + (there ? q->parent : q->child)];
        *p = fmaxf(*p, (float)q->p);
        for (uint32_t i = 0; i < q->also; i++) {
            const uint32_t *x = there ? q->child_also : q->parent_also,
                           *y = there ? q->parent_also : q->child_also;
            p = &l->column_p[x[i] * l->cols_b + y[i]];
            *p = fmaxf(*p, (float)q->p);
        }
    }
}

static tab_status align(const tab_engine *e, const tab_views *v, tab_link_table *tables, const tab_keys *keys,
                        tab_linkage *l, const tab_row_pairs *rows, float *features, tab_error *err)
{
    tab_status st = tab_align_scores(e, v, l->ta, l->tb, tables[l->ta].signature, tables[l->tb].signature,
                                     rows, l->column_p, features, err);
    if (st != TAB_OK)
        return st;
    heed_keys(keys, l);
    return tab_align_assign(l->cols_a, l->cols_b, l->column_p, 0.3f, l->match, err);
}

static tab_status match_rows(const tab_engine *e, const tab_views *v, tab_link_table *tables, tab_linkage *l,
                             const tab_row_pairs *known, const tab_asked *qa, const tab_asked *qb,
                             tab_arena *a, tab_error *err)
{
    tab_status st = take_attributes(v, l, 0.5f, known, a, err);
    if (st == TAB_OK)
        st = tab_block_pairs(e, v, l->ta, l->tb, l->attr, l->attrs, qa == NULL ? NULL : qa->cross,
                             qb == NULL ? NULL : qb->cross, a, &l->c, err);
    if (st == TAB_OK)
        st = tab_score_pairs(e, v, tables, l, known, a, err);
    return st;
}

/* Matches that are nearly certain, from all over the tables. */
static tab_status sure_pairs(const tab_linkage *l, tab_arena *a, tab_row_pairs *ret, tab_error *err)
{
    size_t n = 0, m = 0;
    uint32_t *ra = tab_arena_new_of(a, uint32_t, SURE_MAX), *rb = tab_arena_new_of(a, uint32_t, SURE_MAX);
    if (tab_arena_full(a))
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    for (size_t i = 0; i < l->c.n; i++)
        n += l->c.kept[i] && l->c.p[i] >= 0.9f;
    size_t step = n / SURE_MAX + 1, k = 0;
    for (size_t i = 0; i < l->c.n; i++)
        if (l->c.kept[i] && l->c.p[i] >= 0.9f && k++ % step == 0) {
            ra[m] = l->c.a[i];
            rb[m++] = l->c.b[i];
        }
    *ret = (tab_row_pairs){ m, ra, rb };
    return TAB_OK;
}

/* The rows of B that a sample of A's found, each once. */
static void found_rows(const tab_asked *qa, size_t rows, tab_asked *qb)
{
    for (size_t i = 0; i < qa->n; i++)
        if (qa->cross[i * TAB_NEAR].row != TAB_NULL && qb->n < rows)
            qb->row[qb->n++] = qa->cross[i * TAB_NEAR].row;
    qsort(qb->row, qb->n, sizeof *qb->row, ascending);
    size_t n = 0;
    for (size_t i = 0; i < qb->n; i++)
        if (i == 0 || qb->row[i] != qb->row[i - 1])
            qb->row[n++] = qb->row[i];
    qb->n = n;
}

/* Nearest rows both ways, and those that seem to match. Of large tables a sample of a's rows asks. */
static tab_status seed_rows(const tab_engine *e, tab_link_table *tables, const tab_linkage *l, size_t rows_a,
                            size_t rows_b, tab_arena *a, tab_half_linked *h, tab_error *err)
{
    tab_asked *qa = &h->a, *qb = &h->b;
    h->large = rows_a > LARGE || rows_b > LARGE;
    qa->row = tab_arena_new_of(a, uint32_t, rows_a);
    qb->row = tab_arena_new_of(a, uint32_t, rows_b);
    if (tab_arena_full(a))
        return tab_no_memory(err);
    if (h->large && rows_a > SAMPLE) {
        qa->n = SAMPLE;
        for (size_t i = 0; i < SAMPLE; i++)
            qa->row[i] = (uint32_t)(rows_a * i / SAMPLE);
    } else {
        all_rows(qa, rows_a);
    }
    TAB_TRY(near_rows(e, &tables[l->ta], &tables[l->tb], a, qa, err));
    if (h->large)
        found_rows(qa, rows_b, qb);
    else
        all_rows(qb, rows_b);
    TAB_TRY(near_rows(e, &tables[l->tb], &tables[l->ta], a, qb, err));
    return choose_seeds(e, &tables[l->ta], &tables[l->tb], qa, qb, a, &h->seeds, err);
}

tab_status tab_link_columns(const tab_engine *e, const tab_views *v, tab_link_table *tables,
                            const tab_key_plan *plan, size_t ta, size_t tb, tab_arena *a, tab_linkage *l,
                            tab_half_linked *h, tab_error *err)
{
    const tab_table_view *A = &v->table[ta], *B = &v->table[tb];
    *l = (tab_linkage){ .ta = ta, .tb = tb, .cols_a = A->cols, .cols_b = B->cols };
    *h = (tab_half_linked){ .apart = true };
    l->column_p = tab_arena_new_of(a, float, A->cols * B->cols);
    l->match = tab_arena_new_of(a, uint32_t, A->cols);
    l->features = tab_arena_new_of(a, float, A->cols * B->cols * TAB_ALIGN_FEATURES);
    if (tab_arena_full(a))
        return tab_no_memory(err);
    for (size_t i = 0; i < A->cols; i++)
        l->match[i] = TAB_NULL;
    if (plan->apart[ta * v->n + tb]) {
        heed_keys(&plan->keys, l);
        return tab_align_assign(l->cols_a, l->cols_b, l->column_p, 0.3f, l->match, err);
    }
    if (A->rows == 0 || B->rows == 0)
        return TAB_OK;
    TAB_TRY(seed_rows(e, tables, l, A->rows, B->rows, a, h, err));
    TAB_TRY(align(e, v, tables, &plan->keys, l, &h->seeds, l->features, err));
    /* observations of the same things at other moments have columns in common, but no rows */
    h->apart = plan->moments[ta * v->n + tb];
    if (!h->apart)
        l->joins = tab_joined_find(v, A, B, &h->seeds, l->match, l->column_p, l->joined);
    return TAB_OK;
}

tab_status tab_link_join(tab_views *v, tab_linkage *l, tab_error *err)
{
    for (size_t i = 0; i < l->joins; i++) {
        tab_joined *j = &l->joined[i];
        const tab_view *whole = &v->table[j->second ? l->ta : l->tb].col[j->whole];
        TAB_TRY(tab_joined_build(v, j->second ? l->tb : l->ta, whole, j, err));
    }
    return TAB_OK;
}

/* A host that is read as a name finds rows; it is not told to be one attribute with it. */
static void forget_hosts(const tab_views *v, tab_linkage *l)
{
    for (size_t i = 0; i < l->cols_a; i++) {
        uint32_t j = l->match[i];
        if (j == TAB_NULL || v->table[l->ta].col[i].hosts == v->table[l->tb].col[j].hosts)
            continue;
        l->match[i] = TAB_NULL;
        l->column_p[i * l->cols_b + j] = 0;
    }
}

/* Rows that hold one value of a key that both tables share are one entity, as surely as it is their key:
 * nothing else is in common, so there is nothing to compare. */
static tab_status link_keyed(const tab_engine *e, const tab_views *v, tab_link_table *tables,
                             const tab_reference *r, tab_arena *a, tab_linkage *l, tab_error *err)
{
    bool there = r->child_table == l->ta;
    size_t rows = v->table[r->child_table].rows, rows_a = v->table[l->ta].rows, n = 0;
    tab_candidates *c = &l->c;
    uint32_t *partner = tab_arena_new_of(a, uint32_t, rows_a), *to = tab_reference_rows(v, r);
    *c = (tab_candidates){ .a = tab_arena_new_of(a, uint32_t, rows_a),
                           .b = tab_arena_new_of(a, uint32_t, rows_a) };
    bool ok = partner != NULL && to != NULL && c->a != NULL && c->b != NULL;
    for (uint32_t i = 0; ok && i < rows_a; i++)
        partner[i] = TAB_NULL;
    for (uint32_t i = 0; ok && i < rows; i++)
        if (to[i] != TAB_NULL)
            partner[there ? i : to[i]] = there ? to[i] : i;
    free(to);
    if (!ok)
        return tab_no_memory(err);
    for (uint32_t i = 0; i < rows_a; i++)
        if (partner[i] != TAB_NULL) {
            c->a[n] = i;
            c->b[n++] = partner[i];
        }
    tab_row_pairs known = { n, c->a, c->b };
    TAB_TRY(take_attributes(v, l, 0.5f, &known, a, err));
    c->n = n;
    c->attrs = l->attrs;
    TAB_TRY(tab_score_pairs(e, v, tables, l, &known, a, err));
    l->many_a = l->many_b = false;
    l->keyed = true;
    for (size_t i = 0; i < n; i++) {
        c->kept[i] = true;
        c->p[i] = (float)r->p;
    }
    return TAB_OK;
}

static tab_status link_rows(const tab_engine *e, const tab_views *v, tab_link_table *tables,
                            const tab_key_plan *plan, tab_half_linked *h, tab_arena *a, tab_linkage *l,
                            tab_error *err)
{
    uint32_t key = plan->keyed[l->ta * v->n + l->tb];
    if (key != TAB_NULL)
        return link_keyed(e, v, tables, &plan->keys.ref[key], a, l, err);
    if (h->apart)
        return TAB_OK;
    const tab_asked *qa = h->large ? NULL : &h->a, *qb = h->large ? NULL : &h->b;
    TAB_TRY(match_rows(e, v, tables, l, &h->seeds, qa, qb, a, err));
    /* The matches know the columns better than the seeds do; where they say otherwise, once more. */
    tab_row_pairs sure;
    TAB_TRY(sure_pairs(l, a, &sure, err));
    if (sure.n < FEW)
        return TAB_OK;
    uint32_t *before = tab_arena_new_of(a, uint32_t, l->cols_a);
    if (before == NULL)
        return tab_no_memory(err);
    memcpy(before, l->match, l->cols_a * sizeof *before);
    TAB_TRY(align(e, v, tables, &plan->keys, l, &sure, l->features, err));
    if (h->large || memcmp(before, l->match, l->cols_a * sizeof *before) == 0)
        return TAB_OK;
    return match_rows(e, v, tables, l, &sure, qa, qb, a, err);
}

tab_status tab_link_rows(const tab_engine *e, const tab_views *v, tab_link_table *tables,
                         const tab_key_plan *plan, tab_half_linked *h, tab_arena *a, tab_linkage *l,
                         tab_error *err)
{
    TAB_TRY(link_rows(e, v, tables, plan, h, a, l, err));
    forget_hosts(v, l);
    return TAB_OK;
}
