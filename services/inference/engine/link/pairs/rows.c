#include "services/inference/engine/link/pairs/rows.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"

enum {
    CHUNKS = 64,      /* units of parallel work: fixed, so that results never depend on threads */
    ROW_MAX = 4096,   /* features of one row */
    BUDGET = 1000,    /* postings that one query reads: what keeps the search linear */
    BUCKETS = 128,    /* of a row's features while they are sorted */
    PARTS = 128,      /* of the feature space while an index is built */
    ROUND = PARTS / 4 /* of them at once: what travels is kept small */
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

/* Into buckets by the leading bits: hashed features fall evenly, so that what is left to a sort by
 * insertion are a few neighbours. False, and nothing done, where they do not. */
static bool into_buckets(uint32_t *id, uint32_t *spare, size_t n, int shift)
{
    enum { CROWD = 24 };
    uint16_t at[BUCKETS + 1] = { 0 };
    for (size_t i = 0; i < n; i++)
        at[(id[i] >> shift) + 1]++;
    uint16_t most = 0;
    for (size_t k = 1; k <= BUCKETS; k++) {
        most = at[k] > most ? at[k] : most;
        at[k] = (uint16_t)(at[k] + at[k - 1]);
    }
    if (most > CROWD)
        return false;
    for (size_t i = 0; i < n; i++)
        spare[at[id[i] >> shift]++] = id[i];
    memcpy(id, spare, n * sizeof *id);
    return true;
}

/* Shell's method with Ciura's gaps, of which buckets leave the last. */
static size_t sort_unique(uint32_t *id, uint32_t *spare, size_t n, int shift)
{
    static const size_t gaps[] = { 1750, 701, 301, 132, 57, 23, 10, 4, 1 };
    enum { GAPS = sizeof gaps / sizeof *gaps };
    for (size_t g = into_buckets(id, spare, n, shift) ? GAPS - 1 : 0; g < GAPS; g++)
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
    int shift; /* of features into buckets */
    tab_row_fill *fill;
    void *ctx;
    uint64_t *at;
    struct chunk {
        uint32_t *id;
        size_t n, cap, from; /* from: of all the table's */
        bool failed;
    } chunk[CHUNKS];
    uint32_t *all;
} building;

static void build_chunk(void *ctx, size_t c)
{
    building *b = ctx;
    struct chunk *k = &b->chunk[c];
    tab_row_sink sink = { malloc(2 * ROW_MAX * sizeof(uint32_t)), 0 };
    k->failed = sink.id == NULL;
    for (size_t row = b->rows * c / CHUNKS; row < b->rows * (c + 1) / CHUNKS && !k->failed; row++) {
        if ((row & 255) == 0 && tab_engine_cancelled(b->e))
            break;
        sink.n = 0;
        b->fill(b->ctx, row, &sink);
        if (sink.n == 0) /* at[row + 1] is 0 already; memcpy and qsort want no NULL */
            continue;
        size_t n = sort_unique(sink.id, sink.id + ROW_MAX, sink.n, b->shift);
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

static void join_chunk(void *ctx, size_t c)
{
    building *b = ctx;
    struct chunk *k = &b->chunk[c];
    if (k->n > 0)
        memcpy(b->all + k->from, k->id, k->n * sizeof *k->id);
    free(k->id);
    k->id = NULL;
}

/* So many leading bits are not looked at that ids below n fall into `parts`, a power of 2. */
static int shift_to(size_t n, size_t parts)
{
    int shift = 0;
    while ((n - 1) >> shift >= parts)
        shift++;
    return shift;
}

tab_status tab_rows_build(const tab_engine *e, size_t rows, size_t features, tab_row_fill *fill, void *ctx,
                          tab_sparse *ret, tab_error *err)
{
    building b = { .e = e, .rows = rows, .shift = shift_to(features, BUCKETS), .fill = fill, .ctx = ctx };
    *ret = (tab_sparse){ .rows = rows, .features = features };
    b.at = calloc(rows + 1, sizeof *b.at);
    bool failed = b.at == NULL;
    if (!failed)
        tab_engine_for(e, CHUNKS, build_chunk, &b);
    size_t total = 0;
    for (size_t c = 0; c < CHUNKS; c++) {
        failed = failed || b.chunk[c].failed;
        b.chunk[c].from = total;
        total += b.chunk[c].n;
    }
    ret->at = b.at;
    ret->id = failed ? NULL : malloc((total + 1) * sizeof *ret->id);
    failed = failed || ret->id == NULL;
    b.all = ret->id;
    if (!failed)
        tab_engine_for(e, CHUNKS, join_chunk, &b);
    for (size_t c = 0; failed && c < CHUNKS; c++)
        free(b.chunk[c].id);
    for (size_t row = 0; !failed && row < rows; row++)
        b.at[row + 1] += b.at[row];
    if (tab_engine_cancelled(e) || failed) {
        tab_sparse_free(ret);
        return failed ? tab_fail(err, TAB_INTERNAL, "", "out of memory")
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

typedef struct {
    tab_sparse *s;
    size_t words;
    const float *idf;
} weighing;

static void weigh_chunk(void *ctx, size_t chunk)
{
    weighing *g = ctx;
    tab_sparse *s = g->s;
    float share = g->words < s->features ? 0.6f : 1.0f;
    for (size_t row = s->rows * chunk / CHUNKS; row < s->rows * (chunk + 1) / CHUNKS; row++) {
        float sum[2] = { 0, 0 };
        for (uint64_t i = s->at[row]; i < s->at[row + 1]; i++) {
            s->w[i] = g->idf[s->id[i]];
            sum[s->id[i] >= g->words] += s->w[i] * s->w[i];
        }
        float scale[2] = { sum[0] > 0 ? sqrtf(share / sum[0]) : 0,
                           sum[1] > 0 ? sqrtf((1 - share) / sum[1]) : 0 };
        for (uint64_t i = s->at[row]; i < s->at[row + 1]; i++)
            s->w[i] *= scale[s->id[i] >= g->words];
    }
}

tab_status tab_rows_weigh(const tab_engine *e, tab_sparse *s, size_t n, size_t words, tab_error *err)
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
    for (size_t t = 0; t < n && !failed; t++) {
        weighing g = { &s[t], words, idf };
        tab_engine_for(e, CHUNKS, weigh_chunk, &g);
    }
    free(idf);
    return failed ? tab_fail(err, TAB_INTERNAL, "", "out of memory") : TAB_OK;
}

/* ---- the index ------------------------------------------------------------------------------- */

/* A row's feature on its way to the postings. */
typedef struct {
    uint32_t id;
    tab_posting t;
} travelling;

/* Postings written where they belong would each miss the caches: first parted by their feature's leading
 * bits, rows in order, then each part on its own (decision 0215; Manegold, Boncz, Kersten, "Optimizing
 * main-memory join", 2002). */
typedef struct {
    const tab_engine *e;
    const tab_sparse *s;
    tab_index *x;
    int shift;
    uint64_t at[CHUNKS + 1][PARTS]; /* of rows' chunks, where each part's go */
    uint64_t part[PARTS + 1];
    size_t first; /* part of the round */
    travelling *way;
} indexing;

static uint64_t chunk_end(const tab_sparse *s, size_t chunk)
{
    return s->at[s->rows * chunk / CHUNKS];
}

static void count_chunk(void *ctx, size_t chunk)
{
    indexing *g = ctx;
    uint64_t n[PARTS] = { 0 };
    for (uint64_t i = chunk_end(g->s, chunk); i < chunk_end(g->s, chunk + 1); i++)
        n[g->s->id[i] >> g->shift]++;
    memcpy(g->at[chunk + 1], n, sizeof n);
}

static void part_chunk(void *ctx, size_t chunk)
{
    indexing *g = ctx;
    const tab_sparse *s = g->s;
    size_t lo = g->first << g->shift, hi = (g->first + ROUND) << g->shift;
    uint64_t to[PARTS];
    for (size_t p = g->first; p < g->first + ROUND; p++)
        to[p] = g->at[chunk][p] - g->part[g->first];
    for (size_t row = s->rows * chunk / CHUNKS; row < s->rows * (chunk + 1) / CHUNKS; row++) {
        uint64_t i = s->at[row], end = s->at[row + 1];
        while (i < end && s->id[i] < lo)
            i++;
        for (; i < end && s->id[i] < hi; i++)
            g->way[to[s->id[i] >> g->shift]++] = (travelling){ s->id[i], { (uint32_t)row, s->w[i] } };
    }
}

static void post_part(void *ctx, size_t k)
{
    indexing *g = ctx;
    size_t part = g->first + k, lo = part << g->shift, hi = (part + 1) << g->shift;
    const travelling *from = g->way + (g->part[part] - g->part[g->first]),
                     *end = g->way + (g->part[part + 1] - g->part[g->first]);
    uint64_t *at = g->x->at, sum = g->part[part];
    lo = lo < g->x->features ? lo : g->x->features;
    hi = hi < g->x->features ? hi : g->x->features;
    if (tab_engine_cancelled(g->e))
        return;
    for (const travelling *t = from; t < end; t++)
        at[t->id]++;
    for (size_t f = lo; f < hi; f++) {
        uint64_t n = at[f];
        g->x->size[f] = n > 0 ? (uint8_t)(64 - __builtin_clzll(n)) : 0;
        at[f] = sum;
        sum += n;
    }
    for (const travelling *t = from; t < end; t++)
        g->x->posting[at[t->id]++] = t->t;
    for (size_t f = hi; f > lo; f--) /* each has moved on to where the next begins */
        at[f - 1] = f - 1 > lo ? at[f - 2] : g->part[part];
}

tab_status tab_index_build(const tab_engine *e, const tab_sparse *s, tab_index *ret, tab_error *err)
{
    size_t total = s->at[s->rows];
    *ret = (tab_index){ .features = s->features };
    ret->at = calloc(s->features + 1, sizeof *ret->at);
    ret->size = calloc(s->features + 1, sizeof *ret->size);
    ret->posting = malloc((total + 1) * sizeof *ret->posting);
    indexing *g = calloc(1, sizeof *g);
    bool ok = ret->at != NULL && ret->size != NULL && ret->posting != NULL && g != NULL;
    if (ok) {
        *g = (indexing){ .e = e, .s = s, .x = ret, .shift = shift_to(s->features, PARTS) };
        tab_engine_for(e, CHUNKS, count_chunk, g);
        uint64_t most = 0;
        for (size_t p = 0; p < PARTS; p++) {
            g->at[0][p] = g->part[p];
            for (size_t c = 0; c < CHUNKS; c++)
                g->at[c + 1][p] += g->at[c][p];
            g->part[p + 1] = g->at[CHUNKS][p];
            if ((p + 1) % ROUND == 0 && g->part[p + 1] - g->part[p + 1 - ROUND] > most)
                most = g->part[p + 1] - g->part[p + 1 - ROUND];
        }
        g->way = malloc((most + 1) * sizeof *g->way);
        ok = g->way != NULL;
        for (; ok && g->first < PARTS; g->first += ROUND) {
            tab_engine_for(e, CHUNKS, part_chunk, g);
            tab_engine_for(e, ROUND, post_part, g);
        }
        free(g->way);
        ret->at[s->features] = total;
    }
    free(g);
    if (ok && !tab_engine_cancelled(e))
        return TAB_OK;
    tab_index_free(ret);
    return ok ? tab_fail(err, TAB_CANCELLED, "", "cancelled")
              : tab_fail(err, TAB_INTERNAL, "", "out of memory");
}

void tab_index_free(tab_index *x)
{
    free(x->at);
    free(x->size);
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

/* A query's features from the rarest on, to within a factor of two of their postings. */
typedef struct {
    size_t row, n;
    uint64_t from; /* its features in the table's */
    uint32_t order[ROW_MAX];
} ordered;

/* Places in memory asked for before they are needed: of a query's features, and of postings so many
 * features ahead. */
enum { SIZES = 40, FETCHED = 64, AHEAD = 6 };

static void rarest_first(const tab_index *x, const tab_sparse *q, size_t row, ordered *ret)
{
    size_t count[SIZES + 1] = { 0 }, m = 0;
    uint8_t size[ROW_MAX]; /* 0: no postings */
    const uint32_t *id = q->id + q->at[row];
    size_t n = (size_t)(q->at[row + 1] - q->at[row]);
    for (size_t i = 0; i < n; i++) {
        size[i] = x->size[id[i]];
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
            ret->order[count[size[i]]++] = (uint32_t)i;
    ret->row = row;
    ret->from = q->at[row];
    ret->n = m;
    for (size_t k = 0; k < m && k < FETCHED; k++)
        __builtin_prefetch(&x->at[id[ret->order[k]]]);
}

typedef struct {
    const tab_engine *e;
    const tab_sparse *q, *target;
    const tab_index *x;
    const uint32_t *query;
    size_t queries, chunks, k; /* k neighbours a query */
    bool same, rough, wide;    /* wide: rows have many features, and whole products are common */
    tab_near *near;
    atomic_bool failed;
} search;

static size_t queried(const search *s, size_t i)
{
    return s->query == NULL ? i : s->query[i];
}

static bool better(tab_near a, tab_near b)
{
    return a.score != b.score ? a.score > b.score : a.row < b.row;
}

static void keep(tab_near *best, size_t k, tab_near x)
{
    if (!better(x, best[k - 1]))
        return;
    size_t i = k - 1;
    for (; i > 0 && better(x, best[i - 1]); i--)
        best[i] = best[i - 1];
    best[i] = x;
}

/* Of a feature that alone exceeds the budget, as many rows are read as the budget allows, from a place that
 * depends on the query, so that common features cost no more than rare ones. */
/* tab_sparse_dot of a row laid out over the features with rows of the target: what they do not share adds
 * nothing, so that the sums are the same to the bit. */
static float laid_out_dot(const float *laid, const tab_sparse *b, size_t row)
{
    float sum = 0;
    for (uint64_t i = b->at[row]; i < b->at[row + 1]; i++)
        sum += laid[b->id[i]] * b->w[i];
    return sum;
}

static void whole_products(const search *s, size_t row, float *laid, tab_near *best)
{
    tab_near found[TAB_NEAR_MOST];
    uint64_t from = s->q->at[row], end = s->q->at[row + 1];
    memcpy(found, best, s->k * sizeof *found);
    for (size_t j = 0; j < s->k; j++)
        best[j] = (tab_near){ TAB_NULL, 0 };
    for (uint64_t i = from; laid != NULL && i < end; i++)
        laid[s->q->id[i]] = s->q->w[i];
    for (size_t j = 0; j < s->k && found[j].row != TAB_NULL; j++) {
        found[j].score = laid != NULL ? laid_out_dot(laid, s->target, found[j].row)
                                      : tab_sparse_dot(s->q, row, s->target, found[j].row);
        keep(best, s->k, found[j]);
    }
    for (uint64_t i = from; laid != NULL && i < end; i++)
        laid[s->q->id[i]] = 0;
}

static void search_one(const search *s, const ordered *o, tab_near *best, float *score, uint32_t *touched,
                       float *laid)
{
    size_t row = o->row, n = 0, k = 0;
    uint64_t from = o->from, spent = 0;
    const uint32_t *id = s->q->id + from, *order = o->order;
    for (; k < o->n && spent < BUDGET; k++) {
        if (k + AHEAD < o->n)
            __builtin_prefetch(&s->x->posting[s->x->at[id[order[k + AHEAD]]]]);
        uint32_t f = id[order[k]];
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
    for (size_t j = 0; j < s->k; j++)
        best[j] = (tab_near){ TAB_NULL, 0 };
    for (size_t j = 0; j < n; j++) {
        if (score[touched[j]] >= best[s->k - 1].score && !(s->same && touched[j] == row))
            keep(best, s->k, (tab_near){ touched[j], score[touched[j]] });
        score[touched[j]] = 0;
    }
    if (k < o->n && !s->rough) /* the prefix chose them; now their whole products */
        whole_products(s, row, laid, best);
}

static void search_chunk(void *ctx, size_t c)
{
    search *s = ctx;
    float *score = calloc(s->target->rows + 1, sizeof *score);
    uint32_t *touched = malloc((s->target->rows + 1) * sizeof *touched);
    ordered *o =
        malloc(2 * sizeof *o); /* of this query, and of the next, whose places are fetched meanwhile */
    float *laid = s->wide ? calloc(s->target->features + 1, sizeof *laid) : NULL;
    size_t i = s->queries * c / s->chunks, end = s->queries * (c + 1) / s->chunks;
    if (score == NULL || touched == NULL || o == NULL || (s->wide && laid == NULL))
        s->failed = true;
    else if (i < end)
        rarest_first(s->x, s->q, queried(s, i), &o[i & 1]);
    for (; i < end && !s->failed; i++) {
        if ((i & 63) == 0 && tab_engine_cancelled(s->e))
            break;
        if (i + 1 < end)
            rarest_first(s->x, s->q, queried(s, i + 1), &o[(i + 1) & 1]);
        search_one(s, &o[i & 1], s->near + i * s->k, score, touched, laid);
    }
    free(laid);
    free(score);
    free(touched);
    free(o);
}

static tab_status search_all(search s, tab_error *err)
{
    tab_engine_for(s.e, s.chunks, search_chunk, &s);
    if (s.failed)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    return tab_engine_cancelled(s.e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : TAB_OK;
}

enum { WIDE = 40, A_CHUNK = 100 };

static size_t chunks_of(size_t queries)
{
    return queries / A_CHUNK < CHUNKS ? queries / A_CHUNK + 1 : CHUNKS;
}

tab_status tab_rows_near(const tab_engine *e, const tab_sparse *q, const uint32_t *query, size_t queries,
                         const tab_sparse *target, const tab_index *x, bool same, bool rough, tab_near *near,
                         tab_error *err)
{
    search s = { .e = e,
                 .q = q,
                 .target = target,
                 .x = x,
                 .query = query,
                 .queries = queries,
                 .chunks = chunks_of(queries),
                 .k = TAB_NEAR,
                 .same = same,
                 .rough = rough,
                 .wide = !rough && target->at[target->rows] > WIDE * target->rows,
                 .near = near };
    return search_all(s, err);
}

tab_status tab_rows_nearest(const tab_engine *e, const tab_sparse *q, const tab_sparse *target,
                            const tab_index *x, size_t k, tab_near *near, tab_error *err)
{
    search s = { .e = e,
                 .q = q,
                 .target = target,
                 .x = x,
                 .queries = q->rows,
                 .chunks = chunks_of(q->rows),
                 .k = k,
                 .same = q == target,
                 .wide = target->at[target->rows] > WIDE * target->rows,
                 .near = near };
    return search_all(s, err);
}
