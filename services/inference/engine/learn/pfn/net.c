/* See net.h: the forward pass of the in-context transformer, for pfn.c. tools/pretrain/net.py is the same
 * network; names of stages are those of its code and of the test that compares both.
 *
 *   tab_pfn_encode ─> embed ─> column_stage 0 ─> refine ─> column_stage 1 ─> pool ─> context_blocks
 *   tab_pfn_query  ─> embed ─> read_columns 0 ─> refine ─> read_columns 1 ─> pool ─> query_blocks ─> vote
 *
 * What a query reads of the context is kept by encode: each column's inducing rows as keys and values, the
 * keys and values of each block, and the voters. Pieces of the table are held as (columns, rows of the piece,
 * e); a piece is small enough for its activations to stay in the cache, and runs through all stages before
 * the next. */
#include "services/inference/engine/learn/pfn/net.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/learn/pfn/cell_features.h"
#include "services/inference/engine/learn/pfn/tensor_ops.h"
#include "services/inference/engine/learn/pfn/vote.h"

/* PIECE_CELLS and STRIP: cells and rows of a piece that stays in the processor's cache; no answer depends on
 * them. HEAD and ROW_HEAD: widths of attention heads, as trained. */
enum { PIECE_CELLS = 2048, STRIP = 512, HEAD = 16, ROW_HEAD = 32 };

_Thread_local tab_pfn_tap tab_pfn_tap_fn;
_Thread_local void *tab_pfn_tap_arg;

/* What cells of a column read in a column stage: its inducing rows' keys, transposed by head, and values. */
typedef struct {
    float *kt; /* (heads, 16, inducing) */
    float *v;  /* (inducing, e) */
} column_cache;

/* What encode keeps for queries. */
struct tab_pfn_context {
    const tab_pfn *w;
    size_t n, m;
    tab_pfn_stats *stats;                         /* (m) */
    float *code;                                  /* (m, e) the columns' codes through in.col */
    column_cache *column[2];                      /* (m) */
    float *k[TAB_PFN_BLOCKS], *v[TAB_PFN_BLOCKS]; /* of registers + n rows, 32 wide; keys packed */
    tab_pfn_voters vote;
    float ln; /* log(n / 512) */
};

/* What context rows' labels add: (n, e), (n, e) in the two column stages, (n, d) before the blocks. Only
 * numeric targets have these; a class adds the row of its slot. */
typedef struct {
    float *stage[3], *block;
} known_targets;

/* What the label of context row i adds at a stage. */
static const float *label_of(const tab_pfn_context *c, const known_targets *t, int stage, size_t i)
{
    size_t width = stage < 2 ? c->w->e : c->w->d;
    if (c->vote.slot == NULL)
        return t->stage[stage] + i * width;
    return (stage < 2 ? c->w->column[stage].label : c->w->icl_label) + c->vote.slot[i] * width;
}

/* Scratch for `cells` cells of width e or fewer rows of width d. */
typedef struct {
    float *z, *q, *kv, *o, *hidden, *score, *block;
} scratch;

/* False: out of memory. */
static bool scratch_new(scratch *s, size_t cells, size_t width, size_t score)
{
    /* one run of memory: z, q, o of n floats; kv and hidden of 2 n; scores */
    size_t n = cells * width;
    s->block = aligned_alloc(64, ((n * 7 + score + 64) * sizeof(float) + 63) / 64 * 64);
    if (s->block == NULL)
        return false;
    s->z = s->block;
    s->q = s->z + n;
    s->o = s->q + n;
    s->kv = s->o + n;
    s->hidden = s->kv + 2 * n;
    s->score = s->hidden + 2 * n;
    return true;
}

/* The larger one. */
static size_t max_of(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Shows a test what a stage has made. */
static void tap(const char *stage, const float *v, size_t numbers)
{
    if (tab_pfn_tap_fn != NULL)
        tab_pfn_tap_fn(tab_pfn_tap_arg, stage, v, numbers);
}

/* x += MLP(rms(x)) */
static void mlp(size_t n, size_t width, const uint16_t *up, const uint16_t *down, float *x, scratch *s)
{
    tab_pfn_rms(n, width, x, NULL, s->z);
    tab_pfn_product(n, width, 2 * width, s->z, up, s->hidden);
    tab_pfn_gelu(n * 2 * width, s->hidden);
    tab_pfn_product(n, 2 * width, width, s->hidden, down, s->z);
    tab_pfn_add(n * width, s->z, x);
}

/* x += O of what was read, then the MLP */
static void settle(size_t n, size_t width, const uint16_t *o, const uint16_t *up, const uint16_t *down,
                   float *x, scratch *s)
{
    tab_pfn_product(n, width, width, s->o, o, s->z);
    tab_pfn_add(n * width, s->z, x);
    mlp(n, width, up, down, x, s);
}

/* All cells of a piece, x (m, rows, e), read their column's inducing rows. */
static void read_columns(const tab_pfn *w, const tab_pfn_cross *c, const column_cache *cache, size_t m,
                         size_t rows, float *x, scratch *s)
{
    size_t e = w->e, k = w->inducing;
    /* queries of all cells at once; then each cell reads the few rows of its column, head by head */
    tab_pfn_rms(m * rows, e, x, NULL, s->z);
    tab_pfn_product(m * rows, e, e, s->z, c->q, s->q);
    for (size_t j = 0; j < m; j++)
        for (size_t i = j * rows; i < (j + 1) * rows; i++)
            for (size_t h = 0; h < w->cell_heads; h++)
                tab_pfn_read_inducing(s->q + i * e + h * HEAD, cache[j].kt + h * HEAD * k, k,
                                      cache[j].v + h * HEAD, e, s->o + i * e + h * HEAD);
    settle(m * rows, e, c->o, c->up, c->down, x, s);
}

/* Within each row of a piece, t (a, rows, e) reads x (b, rows, e). */
static void read_rows(const tab_pfn *w, const tab_pfn_cross *c, size_t a, size_t b, size_t rows, float *t,
                      const float *x, scratch *s)
{
    size_t e = w->e;
    /* keys and values of what is read, queries of what reads */
    tab_pfn_rms(b * rows, e, x, NULL, s->z);
    tab_pfn_product(b * rows, e, 2 * e, s->z, c->kv, s->kv);
    tab_pfn_rms(a * rows, e, t, NULL, s->z);
    tab_pfn_product(a * rows, e, e, s->z, c->q, s->q);
    /* within a row of the table: nothing is read across rows */
    for (size_t i = 0; i < rows; i++)
        for (size_t u = 0; u < a; u++)
            for (size_t h = 0; h < w->cell_heads; h++)
                tab_pfn_read_row(s->q + (u * rows + i) * e + h * HEAD, s->kv + i * 2 * e + h * HEAD,
                                 s->kv + i * 2 * e + e + h * HEAD, b, rows * 2 * e, s->score,
                                 s->o + (u * rows + i) * e + h * HEAD);
    settle(a * rows, e, c->o, c->up, c->down, t, s);
}

/* The learned tokens, once for each row. */
static void spread_tokens(const float *token, size_t tokens, size_t rows, size_t e, float *t)
{
    for (size_t u = 0; u < tokens; u++)
        for (size_t i = 0; i < rows; i++)
            memcpy(t + (u * rows + i) * e, token + u * e, e * sizeof *t);
}

/* Row refinement of a piece; t (tokens, rows, e) is scratch. */
static void refine(const tab_pfn *w, size_t m, size_t rows, float *x, float *t, scratch *s)
{
    /* twice: the tokens gather from the row's cells, then the cells read the tokens */
    spread_tokens(w->row_token, w->tokens, rows, w->e, t);
    for (int i = 0; i < 2; i++) {
        read_rows(w, &w->gather[i], w->tokens, m, rows, t, x, s);
        read_rows(w, &w->broadcast[i], m, w->tokens, rows, x, t, s);
    }
}

/* r (rows, d): the readout tokens side by side */
static void pool(const tab_pfn *w, size_t m, size_t rows, const float *x, float *t, float *r, scratch *s)
{
    size_t e = w->e;
    /* other tokens gather twice, and are the row */
    spread_tokens(w->pool_token, w->tokens, rows, e, t);
    for (int i = 0; i < 2; i++)
        read_rows(w, &w->pool[i], w->tokens, m, rows, t, x, s);
    for (size_t i = 0; i < rows; i++)
        for (size_t u = 0; u < w->tokens; u++)
            memcpy(r + i * w->d + u * e, t + (u * rows + i) * e, e * sizeof *r);
}

/* Cells of one column, out (n, e), n <= STRIP; s->kv holds the features (48 <= 4 e). */
static void embed(const tab_pfn_context *c, size_t j, const float *x, size_t n, float *out, float *features)
{
    const tab_pfn *w = c->w;
    /* features through a matrix, plus the column's code, normed */
    tab_pfn_cells(w, &c->stats[j], x, n, features);
    tab_pfn_product(n, TAB_PFN_FEATURES, w->e, features, w->in_w, out);
    for (size_t i = 0; i < n; i++)
        tab_pfn_add(w->e, c->code + j * w->e, out + i * w->e);
    tab_pfn_rms(n, w->e, out, w->in_gain, out);
}

/* The inducing rows of one column read its context cells, x (n, e); fills the cache. kv (n, 2 e) and keys
 * (n rounded up to 64, 16) are scratch. */
static void induce(const tab_pfn_context *c, const known_targets *targets, int stage, size_t j,
                   const float *x, float *kv, float *keys, scratch *s)
{
    const tab_pfn *w = c->w;
    const tab_pfn_column *g = &w->column[stage];
    size_t e = w->e, k = w->inducing, n = c->n;
    /* keys and values of the context's cells, each with what its label adds */
    for (size_t at = 0; at < n; at += STRIP) {
        size_t use = n - at < STRIP ? n - at : STRIP;
        memcpy(s->z, x + at * e, use * e * sizeof *x);
        for (size_t i = 0; i < use; i++)
            tab_pfn_add(e, label_of(c, targets, stage, at + i), s->z + i * e);
        tab_pfn_rms(use, e, s->z, NULL, s->z);
        tab_pfn_product(use, e, 2 * e, s->z, g->up.kv, kv + at * 2 * e);
    }
    /* the inducing rows, at most 64 of width 128, read them head by head */
    float h[64 * 128];
    memcpy(h, g->inducing, k * e * sizeof *h);
    tab_pfn_rms(k, e, h, NULL, s->z);
    tab_pfn_product(k, e, e, s->z, g->up.q, s->q);
    for (size_t d = 0; d < e; d += HEAD) {
        tab_pfn_pack_keys(n, HEAD, kv + d, 2 * e, keys);
        tab_pfn_attend(k, n, HEAD, s->q + d, e, keys, kv + e + d, 2 * e, s->o + d, e);
    }
    settle(k, e, g->up.o, g->up.up, g->up.down, h, s);
    tab_pfn_rms(k, e, h, NULL, s->z);
    tab_pfn_product(k, e, 2 * e, s->z, g->down.kv, s->kv);
    /* what the cells will read: keys transposed by head, values as they are */
    column_cache *to = &c->column[stage][j];
    for (size_t i = 0; i < k; i++)
        for (size_t d = 0; d < e; d++) {
            to->kt[d * k + i] = s->kv[i * 2 * e + d]; /* d = head * 16 + coordinate */
            to->v[i * e + d] = s->kv[i * 2 * e + e + d];
        }
}

/* Whether the caller wants no answer any more. */
static bool cancelled(const atomic_bool *cancel)
{
    return cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed);
}

/* A column stage over the whole context, x (m, n, e). */
static bool column_stage(const tab_pfn_context *c, const known_targets *targets, int stage, float *x,
                         float *kv, float *keys, scratch *s, const atomic_bool *cancel)
{
    size_t e = c->w->e;
    for (size_t j = 0; j < c->m; j++) {
        if (cancelled(cancel))
            return false;
        /* first the column's inducing rows read it, then its cells read those */
        float *own = x + j * c->n * e;
        induce(c, targets, stage, j, own, kv, keys, s);
        for (size_t at = 0; at < c->n; at += STRIP)
            read_columns(c->w, &c->w->column[stage].down, &c->column[stage][j], 1,
                         c->n - at < STRIP ? c->n - at : STRIP, own + at * e, s);
    }
    return true;
}

/* Rows of a piece, by the table's width. */
static size_t piece_rows(size_t m)
{
    size_t r = PIECE_CELLS / m;
    return r < 1 ? 1 : r > 128 ? 128 : r;
}

/* Rows at..at+rows of x (m, n, e) to and from a piece (m, rows, e). */
static void cut(const float *x, size_t n, size_t m, size_t e, size_t at, size_t rows, float *piece)
{
    for (size_t j = 0; j < m; j++)
        memcpy(piece + j * rows * e, x + (j * n + at) * e, rows * e * sizeof *x);
}

/* The reverse of cut. */
static void paste(const float *piece, size_t n, size_t m, size_t e, size_t at, size_t rows, float *x)
{
    for (size_t j = 0; j < m; j++)
        memcpy(x + (j * n + at) * e, piece + j * rows * e, rows * e * sizeof *x);
}

/* Scores of head h are multiplied by (n / 512)^s / sqrt(dim). */
static void scale_heads(size_t n, size_t heads, size_t dim, const float *power, float ln, float *q)
{
    /* the power of n is learned: attention stays as sharp in contexts of other sizes than those of
     * training */
    float f[128];
    for (size_t h = 0; h < heads; h++)
        f[h] = expf(power[h] * ln) / sqrtf((float)dim);
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < heads; h++)
            for (size_t j = 0; j < dim; j++)
                q[(i * heads + h) * dim + j] *= f[h];
}

/* One head's values (n, ROW_HEAD) side by side: rows 2^k apart would fall on the same cache lines. */
static void gather_head(size_t n, const float *v, size_t ld, float *out)
{
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * ROW_HEAD, v + i * ld, ROW_HEAD * sizeof *out);
}

/* Registers and context, r (known, d), through the blocks; keeps what queries read. */
static bool context_blocks(tab_pfn_context *c, float *r, const atomic_bool *cancel)
{
    const tab_pfn *w = c->w;
    size_t d = w->d, known = w->registers + c->n;
    scratch s;
    float *keys = malloc((tab_pfn_keys_room(known, ROW_HEAD) + known * ROW_HEAD) * sizeof *keys);
    if (keys == NULL || !scratch_new(&s, known, d, 0)) {
        free(keys);
        return false;
    }
    float *values = keys + tab_pfn_keys_room(known, ROW_HEAD);
    bool ok = true;
    for (size_t i = 0; i < w->blocks && ok; i++) {
        const tab_pfn_block *b = &w->block[i];
        /* one key and value head for queries to come (kept), and heads of its own for the context among
         * itself */
        tab_pfn_rms(known, d, r, NULL, s.z);
        tab_pfn_product(known, d, 2 * ROW_HEAD, s.z, b->kvq, s.kv);
        tab_pfn_pack_keys(known, ROW_HEAD, s.kv, 2 * ROW_HEAD, c->k[i]);
        gather_head(known, s.kv + ROW_HEAD, 2 * ROW_HEAD, c->v[i]);
        tab_pfn_product(known, d, d, s.z, b->q, s.q);
        tab_pfn_product(known, d, 2 * d, s.z, b->kv, s.kv);
        scale_heads(known, w->heads, ROW_HEAD, b->scale, c->ln, s.q);
        /* context rows read each other and the registers, head by head */
        for (size_t h = 0; h < d; h += ROW_HEAD) {
            tab_pfn_pack_keys(known, ROW_HEAD, s.kv + h, 2 * d, keys);
            gather_head(known, s.kv + d + h, 2 * d, values);
            tab_pfn_attend(known, known, ROW_HEAD, s.q + h, d, keys, values, ROW_HEAD, s.o + h, d);
        }
        settle(known, d, b->o, b->up, b->down, r, &s);
        ok = !cancelled(cancel);
    }
    tap("icl", r, known * d);
    /* the keys of the vote */
    tab_pfn_rms(c->n, d, r + w->registers * d, NULL, s.z);
    tab_pfn_product(c->n, d, d, s.z, c->vote.slot != NULL ? w->dec_k : w->num_k, s.q);
    for (size_t h = 0, dim = d / TAB_PFN_VOTES; h < TAB_PFN_VOTES; h++)
        tab_pfn_pack_keys(c->n, dim, s.q + h * dim, d, c->vote.key[h]);
    free(keys);
    free(s.block);
    return ok;
}

/* Standardises the target and embeds it for the three places that read it. */
static bool targets_of(tab_pfn_context *c, tab_arena *a, const float *target, known_targets *k)
{
    const tab_pfn *w = c->w;
    size_t n = c->n, e = w->e;
    k->block = malloc(n * (TAB_PFN_TARGET + 1 + 2 * e + w->d) * sizeof *k->block);
    if (k->block == NULL || !tab_pfn_voters_values(&c->vote, a, target))
        return false;
    /* values beyond 5 deviations are cut, so that one row does not blind the others */
    float *features = k->block + n * (2 * e + w->d), *clipped = features + n * TAB_PFN_TARGET;
    for (size_t i = 0; i < n; i++)
        clipped[i] = fminf(fmaxf(c->vote.value[i], -5.0f), 5.0f);
    if (!tab_pfn_targets(a, clipped, n, features))
        return false;
    for (int s = 0; s < 3; s++) {
        k->stage[s] = k->block + (size_t)s * n * e;
        tab_pfn_product(n, TAB_PFN_TARGET, s < 2 ? e : w->d, features, s < 2 ? w->num_c[s] : w->num_icl,
                        k->stage[s]);
    }
    return true;
}

/* Room for a context, and the statistics of its columns. NULL: the arena is full. */
static tab_pfn_context *context_new(const tab_pfn *w, tab_arena *a, const tab_pfn_table *t,
                                    const uint8_t *slot, const float *code)
{
    tab_pfn_context *c = tab_arena_new_of(a, tab_pfn_context, 1);
    size_t e = w->e, k = w->inducing;
    if (c == NULL)
        return NULL;
    *c = (tab_pfn_context){ .w = w, .n = t->n, .m = t->m, .ln = (float)log((double)t->n / 512.0) };
    /* all that the context keeps, so that a full arena is seen at once */
    c->stats = tab_arena_new_of(a, tab_pfn_stats, t->m);
    c->code = tab_arena_new_of(a, float, t->m *e);
    if (!tab_pfn_voters_new(&c->vote, a, t->n, w->d, slot))
        return NULL;
    for (int s = 0; s < 2; s++) {
        c->column[s] = tab_arena_new_of(a, column_cache, t->m);
        for (size_t j = 0; c->column[s] != NULL && j < t->m; j++) {
            c->column[s][j].kt = tab_arena_new_of(a, float, k *e);
            c->column[s][j].v = tab_arena_new_of(a, float, k *e);
        }
    }
    for (size_t i = 0; i < w->blocks; i++)
        c->v[i] = tab_arena_new_of(a, float, (w->registers + t->n) * ROW_HEAD);
    for (size_t i = 0; i < w->blocks; i++)
        c->k[i] = tab_arena_new_of(a, float, tab_pfn_keys_room(w->registers + t->n, ROW_HEAD));
    if (tab_arena_full(a))
        return NULL;
    for (size_t j = 0; j < t->m; j++) {
        if (!tab_pfn_stats_of(a, t->x + j * t->n, t->n, t->cat[j] != 0, &c->stats[j]))
            return NULL;
        tab_pfn_product(1, TAB_PFN_CODE, e, code + j * TAB_PFN_CODE, w->in_col, c->code + j * e);
    }
    return c;
}

/* Room for reading a context, beside what it keeps. */
typedef struct {
    size_t rows;     /* of a piece */
    float *x;        /* (m, n, e) the cells */
    float *kv;       /* (n, 2 e) keys and values of one column */
    float *keys;     /* one head's keys of a column, packed */
    float *r;        /* (registers + n, d) the rows */
    float *piece;    /* (m + tokens, rows, e) */
    float *features; /* (STRIP, TAB_PFN_FEATURES) */
    scratch s;
} reading;

/* False: out of memory; reading_free frees what there is. */
static bool reading_new(reading *q, const tab_pfn *w, size_t n, size_t m)
{
    size_t e = w->e, rows = piece_rows(m);
    size_t cells = max_of(max_of(m, w->tokens) * rows, max_of(STRIP, w->inducing));
    *q = (reading){ .rows = rows,
                    .x = malloc(m * n * e * sizeof *q->x),
                    .kv = malloc(n * 2 * e * sizeof *q->kv),
                    .keys = malloc(tab_pfn_keys_room(n, HEAD) * sizeof *q->keys),
                    .r = malloc((w->registers + n) * w->d * sizeof *q->r),
                    .piece = malloc((m + w->tokens) * rows * e * sizeof *q->piece),
                    .features = malloc(STRIP * TAB_PFN_FEATURES * sizeof *q->features) };
    return q->x != NULL && q->kv != NULL && q->keys != NULL && q->r != NULL && q->piece != NULL &&
           q->features != NULL && scratch_new(&q->s, cells, e, max_of(m, w->tokens) + 16);
}

static void reading_free(reading *q)
{
    free(q->x), free(q->kv), free(q->keys), free(q->r), free(q->piece), free(q->features), free(q->s.block);
}

/* The context's cells as far as its rows: both column stages run over whole columns, the row refinement
 * between them and the pooling behind them over pieces of rows. False: cancelled. */
static bool read_cells(const tab_pfn_context *c, const known_targets *targets, const tab_pfn_table *t,
                       reading *q, const atomic_bool *cancel)
{
    const tab_pfn *w = c->w;
    size_t e = w->e, n = t->n, m = t->m, rows = q->rows;
    float *tokens = q->piece + m * rows * e;
    for (size_t j = 0; j < m; j++)
        for (size_t at = 0; at < n; at += STRIP)
            embed(c, j, t->x + j * n + at, n - at < STRIP ? n - at : STRIP, q->x + (j * n + at) * e,
                  q->features);
    tap("cells", q->x, m * n * e);
    if (!column_stage(c, targets, 0, q->x, q->kv, q->keys, &q->s, cancel))
        return false;
    tap("column1", q->x, m * n * e);
    for (size_t at = 0; at < n; at += rows) {
        size_t use = n - at < rows ? n - at : rows;
        cut(q->x, n, m, e, at, use, q->piece);
        refine(w, m, use, q->piece, tokens, &q->s);
        paste(q->piece, n, m, e, at, use, q->x);
        if (cancelled(cancel))
            return false;
    }
    tap("rows", q->x, m * n * e);
    if (!column_stage(c, targets, 1, q->x, q->kv, q->keys, &q->s, cancel))
        return false;
    tap("column2", q->x, m * n * e);
    for (size_t at = 0; at < n; at += rows) {
        size_t use = n - at < rows ? n - at : rows;
        cut(q->x, n, m, e, at, use, q->piece);
        pool(w, m, use, q->piece, tokens, q->r + (w->registers + at) * w->d, &q->s);
    }
    tap("pool", q->r + w->registers * w->d, n * w->d);
    return true;
}

/* Reads a context; one of slot and target is NULL. */
static tab_pfn_context *encode(const tab_pfn *w, tab_arena *a, const tab_pfn_table *t, const uint8_t *slot,
                               const float *target, const float *code, const atomic_bool *cancel)
{
    tab_pfn_context *c = context_new(w, a, t, slot, code);
    known_targets targets = { 0 };
    if (c == NULL || (target != NULL && !targets_of(c, a, target, &targets))) {
        free(targets.block);
        return NULL;
    }
    reading q;
    bool ok = reading_new(&q, w, t->n, t->m) && read_cells(c, &targets, t, &q, cancel);
    free(q.x); /* the largest part, before the blocks take theirs */
    q.x = NULL;
    if (ok) {
        /* registers stand before the context's rows; the rows get their labels once more */
        memcpy(q.r, w->icl_register, w->registers * w->d * sizeof *q.r);
        for (size_t i = 0; i < t->n; i++)
            tab_pfn_add(w->d, label_of(c, &targets, 2, i), q.r + (w->registers + i) * w->d);
        ok = context_blocks(c, q.r, cancel);
    }
    reading_free(&q);
    free(targets.block);
    return ok ? c : NULL;
}

tab_pfn_context *tab_pfn_encode(const tab_pfn *w, tab_arena *a, const tab_pfn_table *t, const uint8_t *slot,
                                const float *code, const atomic_bool *cancel)
{
    return encode(w, a, t, slot, NULL, code, cancel);
}

tab_pfn_context *tab_pfn_encode_numeric(const tab_pfn *w, tab_arena *a, const tab_pfn_table *t,
                                        const float *target, const float *code, const atomic_bool *cancel)
{
    return encode(w, a, t, NULL, target, code, cancel);
}

/* Query rows r (n, d) through the blocks; leaves what they ask the vote in s->q. */
static void query_blocks(const tab_pfn_context *c, size_t n, float *r, scratch *s)
{
    const tab_pfn *w = c->w;
    size_t d = w->d, known = w->registers + c->n;
    for (size_t i = 0; i < w->blocks; i++) {
        const tab_pfn_block *b = &w->block[i];
        tab_pfn_rms(n, d, r, NULL, s->z);
        tab_pfn_product(n, d, d, s->z, b->q, s->q);
        scale_heads(n, w->heads, ROW_HEAD, b->scale, c->ln, s->q);
        /* one key and value head for all: (row, head) pairs are its queries */
        tab_pfn_attend(n * w->heads, known, ROW_HEAD, s->q, ROW_HEAD, c->k[i], c->v[i], ROW_HEAD, s->o,
                       ROW_HEAD);
        settle(n, d, b->o, b->up, b->down, r, s);
    }
    tab_pfn_rms(n, d, r, NULL, s->z);
    tab_pfn_product(n, d, d, s->z, c->vote.slot != NULL ? w->dec_q : w->num_q, s->q);
    scale_heads(n, TAB_PFN_VOTES, d / TAB_PFN_VOTES, c->vote.slot != NULL ? w->dec_scale : w->num_scale,
                c->ln, s->q);
}

/* out (n, TAB_PFN_SLOTS) log-probabilities, or (n) means with quantiles or without. */
static bool query(const tab_pfn_context *c, const tab_pfn_table *t, float *out, float *quantile)
{
    const tab_pfn *w = c->w;
    size_t e = w->e, m = c->m, rows = piece_rows(m);
    rows = max_of(1, rows < t->n ? rows : t->n); /* few rows, little to allocate */
    size_t cells = max_of(m, w->tokens) * rows;
    scratch s = { 0 };
    float *piece = malloc((m + w->tokens) * rows * e * sizeof *piece);
    float *features = malloc(STRIP * TAB_PFN_FEATURES * sizeof *features),
          *r = malloc(rows * w->d * sizeof *r),
          *weight = quantile != NULL ? malloc(c->n * sizeof *weight) : NULL;
    bool ok = (quantile == NULL || weight != NULL) && piece != NULL && features != NULL && r != NULL &&
              scratch_new(&s, cells, e, max_of(m, w->tokens) + 16);
    for (size_t at = 0; ok && at < t->n; at += rows) {
        size_t use = t->n - at < rows ? t->n - at : rows;
        for (size_t j = 0; j < m; j++)
            embed(c, j, t->x + j * t->n + at, use, piece + j * use * e, features);
        read_columns(w, &w->column[0].down, c->column[0], m, use, piece, &s);
        refine(w, m, use, piece, piece + m * rows * e, &s);
        read_columns(w, &w->column[1].down, c->column[1], m, use, piece, &s);
        pool(w, m, use, piece, piece + m * rows * e, r, &s);
        query_blocks(c, use, r, &s);
        if (c->vote.slot != NULL)
            tab_pfn_vote_classes(&c->vote, use, s.q, out + at * TAB_PFN_SLOTS);
        else
            tab_pfn_vote_mean(&c->vote, use, s.q, out + at);
        if (quantile != NULL)
            tab_pfn_vote_quantiles(&c->vote, use, s.q, weight, quantile + at * TAB_PFN_LEVELS);
    }
    free(piece);
    free(features);
    free(r);
    free(weight);
    free(s.block);
    return ok;
}

bool tab_pfn_query(const tab_pfn_context *c, const tab_pfn_table *t, float *logp)
{
    return query(c, t, logp, NULL);
}

bool tab_pfn_query_numeric(const tab_pfn_context *c, const tab_pfn_table *t, float *mean, float *quantile)
{
    return query(c, t, mean, quantile);
}

/* ---- in few bytes ---------------------------------------------------------------------------- */

static void pack_stats(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_pfn_stats *s = each;
    TAB_PACK(p, s->sorted, s->have);
}

/* context: the weights. */
static void pack_cache(tab_pack *p, void *each, const void *context)
{
    const tab_pfn *w = context;
    column_cache *c = each;
    TAB_PACK(p, c->kt, w->inducing * w->e);
    TAB_PACK(p, c->v, w->inducing * w->e);
}

static void pack_context(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_pfn_context *c = each;
    const tab_pfn *w = tab_pfn_default(NULL);
    size_t known = w->registers + c->n;
    c->w = w;
    TAB_PACK_EACH(p, c->stats, c->m, pack_stats, NULL);
    TAB_PACK(p, c->code, c->m * w->e);
    for (int s = 0; s < 2; s++)
        TAB_PACK_EACH(p, c->column[s], c->m, pack_cache, w);
    for (size_t i = 0; i < w->blocks; i++) {
        TAB_PACK(p, c->k[i], tab_pfn_keys_room(known, ROW_HEAD));
        TAB_PACK(p, c->v[i], known * ROW_HEAD);
    }
    tab_pack_voters(p, &c->vote, NULL);
    if (tab_pack_clears(p))
        c->w = NULL;
}

void tab_pack_context(tab_pack *p, tab_pfn_context **at)
{
    if (tab_pfn_default(NULL) == NULL) {
        tab_pack_refuse(p);
        return;
    }
    tab_pack_each(p, at, 1, sizeof **at, pack_context, NULL);
}
