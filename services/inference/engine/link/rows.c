#include "services/inference/engine/link/rows.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text.h"

enum {
    CHUNKS = 64,    /* units of parallel work: fixed, so that results never depend on threads */
    ROW_MAX = 4096, /* features of one row */
    BUDGET = 1000   /* postings that one query reads: what keeps the search linear */
};

struct tab_row_sink {
    uint32_t *id;
    size_t n;
};

void tab_row_add(tab_row_sink *s, uint32_t id)
{
    if (s->n < ROW_MAX)
        s->id[s->n++] = id;
}

/* Shell's method with Ciura's gaps: rows have some hundred features, and the comparison is inline. */
static size_t sort_unique(uint32_t *id, size_t n)
{
    static const size_t gaps[] = { 1750, 701, 301, 132, 57, 23, 10, 4, 1 };
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (size_t gap = gaps[g], i = gap; i < n; i++) {
            uint32_t x = id[i];
            size_t k = i;
            for (; k >= gap && id[k - gap] > x; k -= gap)
                id[k] = id[k - gap];
            id[k] = x;
        }
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || id[i] != id[i - 1])
            id[m++] = id[i];
    return m;
}

typedef struct {
    const tab_engine *e;
    size_t rows;
    tab_row_fill *fill;
    void *ctx;
    uint64_t *at;
    struct chunk {
        uint32_t *id;
        size_t n, cap;
        bool failed;
    } chunk[CHUNKS];
} building;

static void build_chunk(void *ctx, size_t c)
{
    building *b = ctx;
    struct chunk *k = &b->chunk[c];
    tab_row_sink sink = { malloc(ROW_MAX * sizeof(uint32_t)), 0 };
    k->failed = sink.id == NULL;
    for (size_t row = b->rows * c / CHUNKS; row < b->rows * (c + 1) / CHUNKS && !k->failed; row++) {
        if ((row & 255) == 0 && tab_engine_cancelled(b->e))
            break;
        sink.n = 0;
        b->fill(b->ctx, row, &sink);
        if (sink.n == 0) /* at[row + 1] is 0 already; memcpy and qsort want no NULL */
            continue;
        size_t n = sort_unique(sink.id, sink.n);
        if (k->n + n > k->cap) {
            size_t cap = (k->n + n) * 2 + 1024;
            uint32_t *grown = realloc(k->id, cap * sizeof *grown);
            if (grown == NULL) {
                k->failed = true;
                break;
            }
            k->id = grown;
            k->cap = cap;
        }
        memcpy(k->id + k->n, sink.id, n * sizeof *sink.id);
        k->n += n;
        b->at[row + 1] = n;
    }
    free(sink.id);
}

tab_status tab_rows_build(const tab_engine *e, size_t rows, size_t features, tab_row_fill *fill,
                          void *ctx, tab_sparse *ret, tab_error *err)
{
    building b = { .e = e, .rows = rows, .fill = fill, .ctx = ctx };
    *ret = (tab_sparse){ .rows = rows, .features = features };
    b.at = calloc(rows + 1, sizeof *b.at);
    bool failed = b.at == NULL;
    if (!failed)
        tab_engine_for(e, CHUNKS, build_chunk, &b);
    size_t total = 0;
    for (size_t c = 0; c < CHUNKS; c++) {
        failed = failed || b.chunk[c].failed;
        total += b.chunk[c].n;
    }
    ret->at = b.at;
    ret->id = failed ? NULL : malloc((total + 1) * sizeof *ret->id);
    failed = failed || ret->id == NULL;
    for (size_t c = 0, n = 0; c < CHUNKS; c++) {
        if (!failed && b.chunk[c].n > 0)
            memcpy(ret->id + n, b.chunk[c].id, b.chunk[c].n * sizeof *ret->id);
        n += b.chunk[c].n;
        free(b.chunk[c].id);
    }
    for (size_t row = 0; !failed && row < rows; row++)
        b.at[row + 1] += b.at[row];
    if (tab_engine_cancelled(e) || failed) {
        tab_sparse_free(ret);
        return failed ? tab_fail(err, TAB_INTERNAL, "", "memory is out")
                      : tab_fail(err, TAB_CANCELLED, "", "cancelled");
    }
    return TAB_OK;
}

void tab_sparse_free(tab_sparse *s)
{
    free(s->at);
    free(s->id);
    free(s->w);
    *s = (tab_sparse){ 0 };
}

/* ---- whole rows ------------------------------------------------------------------------------ */

typedef struct {
    const tab_views *v;
    const tab_table_view *t;
    uint32_t grams; /* size of the hashed space of 3-grams, a power of 2; 0: words alone */
} whole;

static void add_grams(tab_row_sink *sink, tab_str s, uint32_t base, uint32_t space)
{
    char padded[TAB_NORMAL_MAX + 2];
    if (s.n + 2 > sizeof padded)
        s.n = sizeof padded - 2;
    padded[0] = ' ';
    memcpy(padded + 1, s.p, s.n);
    padded[s.n + 1] = ' ';
    for (size_t i = 0; i + 3 <= s.n + 2; i++)
        tab_row_add(sink, base + (uint32_t)(tab_hash_bytes(padded + i, 3, 7) & (space - 1)));
}

static void fill_whole(void *ctx, size_t row, tab_row_sink *sink)
{
    const whole *w = ctx;
    for (size_t c = 0; c < w->t->cols; c++) {
        const tab_view *col = &w->t->col[c];
        if (col->code[row] == TAB_NULL)
            continue;
        const tab_value *x = &col->value[col->code[row]];
        for (uint32_t i = 0; i < x->tok_n; i++)
            tab_row_add(sink, w->v->tok[x->tok + i]);
        if (w->grams > 0)
            add_grams(sink, tab_value_text(w->v, x), (uint32_t)w->v->terms, w->grams);
    }
}

tab_status tab_rows_whole(const tab_engine *e, const tab_views *v, size_t table, uint32_t grams,
                          tab_sparse *ret, tab_error *err)
{
    whole w = { v, &v->table[table], grams };
    size_t features = v->terms + grams;
    if (features > UINT32_MAX)
        return tab_fail(err, TAB_INTERNAL, "", "too many distinct tokens");
    return tab_rows_build(e, w.t->rows, features, fill_whole, &w, ret, err);
}

tab_status tab_rows_weigh(tab_sparse *s, size_t n, size_t words, tab_error *err)
{
    size_t features = s[0].features, rows = 0;
    float *idf = calloc(features + 1, sizeof *idf);
    bool failed = idf == NULL;
    for (size_t t = 0; t < n && !failed; t++) {
        size_t total = s[t].at[s[t].rows];
        rows += s[t].rows;
        for (size_t i = 0; i < total; i++)
            idf[s[t].id[i]] += 1; /* exact up to 2^24 rows */
        s[t].w = malloc((total + 1) * sizeof *s[t].w);
        failed = s[t].w == NULL;
    }
    for (size_t f = 0; f < features && !failed; f++)
        idf[f] = idf[f] > 0 ? logf(1.0f + (float)rows / idf[f]) : 0;
    for (size_t t = 0; t < n && !failed; t++)
        for (size_t row = 0; row < s[t].rows; row++) {
            float sum[2] = { 0, 0 };
            for (uint64_t i = s[t].at[row]; i < s[t].at[row + 1]; i++) {
                s[t].w[i] = idf[s[t].id[i]];
                sum[s[t].id[i] >= words] += s[t].w[i] * s[t].w[i];
            }
            float share = words < features ? 0.6f : 1.0f;
            float scale[2] = { sum[0] > 0 ? sqrtf(share / sum[0]) : 0,
                               sum[1] > 0 ? sqrtf((1 - share) / sum[1]) : 0 };
            for (uint64_t i = s[t].at[row]; i < s[t].at[row + 1]; i++)
                s[t].w[i] *= scale[s[t].id[i] >= words];
        }
    free(idf);
    return failed ? tab_fail(err, TAB_INTERNAL, "", "memory is out") : TAB_OK;
}

/* ---- the index ------------------------------------------------------------------------------- */

tab_status tab_index_build(const tab_engine *e, const tab_sparse *s, tab_index *ret, tab_error *err)
{
    size_t total = s->at[s->rows];
    *ret = (tab_index){ .features = s->features };
    ret->at = calloc(s->features + 2, sizeof *ret->at);
    ret->posting = malloc((total + 1) * sizeof *ret->posting);
    if (ret->at == NULL || ret->posting == NULL) {
        tab_index_free(ret);
        return tab_fail(err, TAB_INTERNAL, "", "memory is out");
    }
    for (size_t i = 0; i < total; i++)
        ret->at[s->id[i] + 2]++;
    for (size_t f = 0; f < s->features; f++)
        ret->at[f + 2] += ret->at[f + 1];
    for (size_t row = 0; row < s->rows; row++) {
        if ((row & 4095) == 0 && tab_engine_cancelled(e)) {
            tab_index_free(ret);
            return tab_fail(err, TAB_CANCELLED, "", "cancelled");
        }
        for (uint64_t i = s->at[row]; i < s->at[row + 1]; i++) {
            uint64_t to = ret->at[s->id[i] + 1]++;
            ret->posting[to] = (tab_posting){ (uint32_t)row, s->w[i] };
        }
    }
    return TAB_OK;
}

void tab_index_free(tab_index *x)
{
    free(x->at);
    free(x->posting);
    *x = (tab_index){ 0 };
}

/* ---- queries --------------------------------------------------------------------------------- */

float tab_sparse_dot(const tab_sparse *a, size_t row_a, const tab_sparse *b, size_t row_b)
{
    uint64_t i = a->at[row_a], in = a->at[row_a + 1], j = b->at[row_b], jn = b->at[row_b + 1];
    float sum = 0;
    while (i < in && j < jn) {
        uint32_t x = a->id[i], y = b->id[j];
        if (x == y)
            sum += a->w[i] * b->w[j];
        i += x <= y;
        j += y <= x;
    }
    return sum;
}

/* The query's features from the rarest on, to within a factor of two of their postings. */
enum { SIZES = 40 };

static size_t rarest_first(const tab_index *x, const uint32_t *id, size_t n, uint32_t *order)
{
    size_t count[SIZES + 1] = { 0 }, m = 0;
    uint8_t size[ROW_MAX]; /* 0: no postings */
    for (size_t i = 0; i < n; i++) {
        uint64_t k = x->at[id[i] + 1] - x->at[id[i]];
        size[i] = k > 0 ? (uint8_t)(64 - __builtin_clzll(k)) : 0;
        count[size[i]]++;
    }
    count[0] = 0;
    for (size_t k = 0; k <= SIZES; k++) {
        size_t c = count[k];
        count[k] = m;
        m += c;
    }
    for (size_t i = 0; i < n; i++)
        if (size[i] > 0)
            order[count[size[i]]++] = (uint32_t)i;
    return m;
}

typedef struct {
    const tab_engine *e;
    const tab_sparse *q, *target;
    const tab_index *x;
    const uint32_t *query;
    size_t queries;
    bool same, rough;
    tab_near *near;
    atomic_bool failed;
} search;

static bool better(tab_near a, tab_near b)
{
    return a.score != b.score ? a.score > b.score : a.row < b.row;
}

static void keep(tab_near *best, tab_near x)
{
    if (!better(x, best[TAB_NEAR - 1]))
        return;
    size_t i = TAB_NEAR - 1;
    for (; i > 0 && better(x, best[i - 1]); i--)
        best[i] = best[i - 1];
    best[i] = x;
}

/* Of a feature that alone exceeds the budget, as many rows are read as the budget allows, from a place that
 * depends on the query, so that common features cost no more than rare ones. */
static void search_one(const search *s, size_t i, float *score, uint32_t *touched, uint32_t *order)
{
    size_t row = s->query == NULL ? i : s->query[i], n = 0;
    uint64_t from = s->q->at[row], spent = 0;
    size_t m = rarest_first(s->x, s->q->id + from, (size_t)(s->q->at[row + 1] - from), order),
           k = 0;
    for (; k < m && spent < BUDGET; k++) {
        uint32_t f = s->q->id[from + order[k]];
        float w = s->q->w[from + order[k]];
        uint64_t p = s->x->at[f], end = s->x->at[f + 1], all = end - p;
        if (all > BUDGET - spent) {
            if (k > 0)
                break;
            p += (uint64_t)row * 7919 % (all - BUDGET + 1);
            end = p + BUDGET;
        }
        spent += end - p;
        for (; p < end; p++) {
            const tab_posting *t = &s->x->posting[p];
            touched[n] = t->row; /* without a branch: half of the rows are met again */
            n += score[t->row] == 0;
            score[t->row] += w * t->w;
        }
    }
    tab_near *best = s->near + i * TAB_NEAR;
    for (size_t j = 0; j < TAB_NEAR; j++)
        best[j] = (tab_near){ TAB_NULL, 0 };
    for (size_t j = 0; j < n; j++) {
        if (score[touched[j]] >= best[TAB_NEAR - 1].score && !(s->same && touched[j] == row))
            keep(best, (tab_near){ touched[j], score[touched[j]] });
        score[touched[j]] = 0;
    }
    if (k < m && !s->rough) { /* the prefix chose them; now their whole products */
        tab_near found[TAB_NEAR];
        memcpy(found, best, sizeof found);
        for (size_t j = 0; j < TAB_NEAR; j++)
            best[j] = (tab_near){ TAB_NULL, 0 };
        for (size_t j = 0; j < TAB_NEAR && found[j].row != TAB_NULL; j++) {
            found[j].score = tab_sparse_dot(s->q, row, s->target, found[j].row);
            keep(best, found[j]);
        }
    }
}

static void search_chunk(void *ctx, size_t c)
{
    search *s = ctx;
    float *score = calloc(s->target->rows + 1, sizeof *score);
    uint32_t *touched = malloc((s->target->rows + 1) * sizeof *touched);
    uint32_t *order = malloc(ROW_MAX * sizeof *order);
    if (score == NULL || touched == NULL || order == NULL)
        s->failed = true;
    else
        for (size_t i = s->queries * c / CHUNKS; i < s->queries * (c + 1) / CHUNKS; i++) {
            if ((i & 63) == 0 && tab_engine_cancelled(s->e))
                break;
            search_one(s, i, score, touched, order);
        }
    free(score);
    free(touched);
    free(order);
}

tab_status tab_rows_near(const tab_engine *e, const tab_sparse *q, const uint32_t *query,
                         size_t queries, const tab_sparse *target, const tab_index *x, bool same,
                         bool rough, tab_near *near, tab_error *err)
{
    search s = { e, q, target, x, query, queries, same, rough, near, false };
    tab_engine_for(e, CHUNKS, search_chunk, &s);
    if (s.failed)
        return tab_fail(err, TAB_INTERNAL, "", "memory is out");
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : TAB_OK;
}
