/* See joint.h: the view of a table from which one column is learned, completed by the joint normal model.
 * impute's fill_column.c asks once a column. Gaps in numbers of other columns become expectations, and the
 * expected coordinates of the asked column are added as features. The formulas stand at the head of joint.c.
 *
 * Gaps in categories stay open: a learner reads a missing level as it is. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/impute/joint_parts.h"

/* The asked column's coordinates are from .. to; there are none where the model does not carry it. */
typedef struct {
    const tab_joint *j;
    size_t from, to, rows;
    const uint32_t *at; /* (rows) the joint model's row that stands here; NULL: the same */
    const tab_joint_gaps *gaps;
    uint32_t *here; /* (j->rows) where a row of the joint model's stands, or TAB_NULL; NULL: the same */
    float *own;     /* (to - from, rows) their expectations */
    float **fill;   /* (parts) (rows) numbers with their gaps filled, as coordinates; NULL: not wanted */
    atomic_bool failed;
} view_job;

/* The coordinates of row i of the view: the joint model's, or own (m), without what the view lacks. */
static const float *row_of(const view_job *q, size_t i, const float *x, float *own)
{
    const tab_joint *j = q->j;
    bool any = false;
    for (size_t k = 0; q->gaps != NULL && k < q->gaps->n; k++) {
        size_t c = q->gaps->column[k];
        if (!q->gaps->gone[k][i])
            continue;
        if (!any)
            memcpy(own, x, j->m * sizeof *own);
        any = true;
        for (size_t m = j->from[c]; m < j->to[c]; m++)
            own[m] = NAN;
    }
    return any ? own : x;
}

/* For each row of a block: the expected numbers in its gaps, without the column that is asked for, and the
 * expectation of that column's own coordinates, by the formulas at the head of
 * joint.c. Each block has scratch of its own. */
static void view_block(void *ctx, size_t b)
{
    view_job *q = ctx;
    const tab_joint *j = q->j;
    size_t m = j->m, end = (b + 1) * TAB_JOINT_BLOCK < q->rows ? (b + 1) * TAB_JOINT_BLOCK : q->rows,
           width = q->to - q->from;
    tab_joint_room s;
    bool ok = tab_joint_room_new(&s, m);
    double *d = malloc((width + 1) * sizeof *d);
    float *own = malloc((m + 1) * sizeof *own);
    ok = ok && d != NULL && own != NULL;
    if (!ok)
        atomic_store(&q->failed, true);
    for (size_t i = b * TAB_JOINT_BLOCK; ok && i < end; i++) {
        size_t at = q->at == NULL ? i : q->at[i];
        const float *x = row_of(q, i, j->x + at * m, own);
        const tab_joint_model *f = &j->fold[tab_joint_fold_of(j, at)];
        tab_joint_complete_row(f, x, m, &s);
        memset(d, 0, (width + 1) * sizeof *d);
        /* where the asked column is missing too, the row's completion already does without it */
        if (width > 0 && !isnan(x[q->from])) {
            /* y (width, n) <- Y', left (width, width) <- P and d <- (L r)_B, a coordinate of B at a time */
            for (size_t k = 0; k < width; k++) {
                const double *row = f->precision + (q->from + k) * m;
                double *y = s.y + k * s.n;
                for (size_t c = 0; c < s.n; c++)
                    y[c] = row[s.missing[c]];
                tab_joint_solve(s.l, s.n, y);
                for (size_t l = 0; l <= k; l++) {
                    double v = row[q->from + l];
                    for (size_t c = 0; c < s.n; c++)
                        v -= row[s.missing[c]] * s.y[l * s.n + c];
                    s.left[k * width + l] = v;
                }
                for (size_t c = 0; c < m; c++)
                    d[k] += row[c] * s.r[c];
            }
            /* d <- P^-1 (L r)_B, and every gap moves by Y d */
            tab_joint_factor(s.left, width);
            tab_joint_solve(s.left, width, d);
            for (size_t c = 0; c < s.n; c++)
                for (size_t k = 0; k < width; k++)
                    s.r[s.missing[c]] += s.y[k * s.n + c] * d[k];
        }
        /* x_B less d is its expectation; where it is missing, d is 0 and r holds the expectation */
        for (size_t k = 0; k < width; k++)
            q->own[k * q->rows + i] = (float)(s.r[q->from + k] - d[k] + f->mean[q->from + k]);
        for (size_t k = 0; k < j->parts; k++)
            if (q->fill[k] != NULL)
                q->fill[k][i] = (float)(s.r[j->part[k].at] + f->mean[j->part[k].at]);
    }
    free(d), free(own);
    tab_joint_room_free(&s);
}

/* Appends a number, values (rows), to the view's features. f: the view's own array, which has room. Its
 * source is no column of the table (enc->cols), so that nothing takes it for one. False: memory. */
static bool append(tab_arena *a, tab_encoder *enc, tab_data *d, tab_feature *f, const float *value,
                   uint64_t hash)
{
    tab_feature *g = &f[enc->n];
    *g = (tab_feature){ .kind = TAB_FEATURE_NUMBER,
                        .derive = TAB_DERIVE_VALUE,
                        .source = enc->cols,
                        .hash = hash,
                        .scale = 1,
                        .sd = 1,
                        .edge = tab_arena_new_of(a, float, TAB_BINS) };
    float *x = tab_arena_new_of(a, float, d->rows + 1);
    uint8_t *bin = tab_arena_new_of(a, uint8_t, d->rows + 1);
    double *copy = malloc((d->rows + 1) * sizeof *copy);
    bool ok = copy != NULL && !tab_arena_full(a);
    for (size_t i = 0; ok && i < d->rows; i++)
        copy[i] = (double)value[i];
    ok = ok && tab_number_fit(g, copy, d->rows);
    free(copy);
    if (!ok)
        return false;
    for (size_t i = 0; i < d->rows; i++) {
        x[i] = tab_number_scaled(g, (double)value[i]);
        bin[i] = tab_number_bin(g, x[i]);
    }
    d->x[enc->n] = x;
    d->code[enc->n] = NULL;
    d->bin[enc->n] = bin;
    d->n = ++enc->n;
    return true;
}

/* In rows where the asked column is missing, what another column's gaps were filled with (k) comes before
 * their expectations: whoever filled them did not know the asked cell either (decision 0177). A column
 * without coordinates takes none, since it does not show where it is missing. */
static void take_filled(const view_job *q, const tab_joint_filled *k, const tab_feature *g, float *x)
{
    const tab_joint *j = q->j;
    for (size_t i = 0; q->from < q->to && i < k->n; i++) {
        size_t at = j->place[k->row[i]], here = q->here == NULL ? at : q->here[at];
        if (here != TAB_NULL && isnan(j->x[at * j->m + q->from]))
            x[here] = tab_number_scaled(g, k->value[i]);
    }
}

/* view (j->parts): the place of each part's feature in the view without `source`; views keep the order of
 * features. What it says of parts of `source` is not read. */
static void places_in_view(const tab_joint *j, size_t source, size_t *view)
{
    for (size_t k = 0; k < j->parts; k++)
        for (size_t i = 0; i < j->parts; i++)
            view[k] += j->part[i].feature < j->part[k].feature && j->part[i].source != source;
}

/* Gives the view arrays of its own, with room for `more` features: those it shares must not change. */
static bool own_arrays(tab_arena *a, size_t more, tab_encoder *enc, tab_data *data, tab_feature **ret)
{
    size_t most = enc->n + more;
    tab_feature *f = tab_arena_new_of(a, tab_feature, most);
    float **x = tab_arena_new_of(a, float *, most);
    uint32_t **code = tab_arena_new_of(a, uint32_t *, most);
    uint8_t **bin = tab_arena_new_of(a, uint8_t *, most);
    if (tab_arena_full(a))
        return false;
    memcpy(f, enc->f, enc->n * sizeof *f);
    memcpy(x, data->x, enc->n * sizeof(float *));
    memcpy(code, data->code, enc->n * sizeof(uint32_t *));
    memcpy(bin, data->bin, enc->n * sizeof(uint8_t *));
    enc->f = *ret = f;
    data->x = x, data->code = code, data->bin = bin;
    return true;
}

/* Puts filled numbers in the place of feature at of the view. value (rows): the expected coordinates of part
 * k on entry, the feature's numbers on return: those that are present as they were, expectations read back
 * from z-scores or normal scores, and earlier fills where they may be read. */
static bool fill_feature(tab_arena *a, const view_job *q, const tab_joint_filled *filled, size_t n,
                         tab_feature *g, float **x, uint8_t **bin, float *value)
{
    const tab_joint *j = q->j;
    const float *old = *x;
    uint8_t *bins = tab_arena_new_of(a, uint8_t, q->rows + 1);
    if (bins == NULL)
        return false;
    for (size_t i = 0; i < q->rows; i++) {
        float v = value[i];
        value[i] = !isnan(old[i]) ? old[i]
                   : g->skewed    ? tab_number_of_score(g, j->score, v)
                                  : v * g->sd + g->mean;
    }
    for (size_t i = 0; i < n; i++)
        if (filled[i].column == g->source && (g->derive == TAB_DERIVE_VALUE || g->derive == TAB_DERIVE_LEVEL))
            take_filled(q, &filled[i], g, value);
    for (size_t i = 0; i < q->rows; i++)
        bins[i] = tab_number_bin(g, value[i]);
    *x = value;
    *bin = bins;
    g->has_missing = false;
    return true;
}

/* Where the joint model's rows stand among at[0..n); NULL: the arena is full. */
static uint32_t *places_among(tab_arena *a, const tab_joint *j, const uint32_t *at, size_t n)
{
    uint32_t *here = tab_arena_new_of(a, uint32_t, j->rows + 1);
    for (size_t i = 0; here != NULL && i < j->rows; i++)
        here[i] = TAB_NULL;
    for (size_t i = 0; here != NULL && i < n; i++)
        here[at[i]] = (uint32_t)i;
    return here;
}

bool tab_joint_complete(const tab_engine *e, tab_arena *a, const tab_joint *j, size_t source,
                        const tab_joint_filled *filled, size_t n, const uint32_t *at,
                        const tab_joint_gaps *gaps, tab_encoder *enc, tab_data *data)
{
    size_t width = j->to[source] - j->from[source], rows = data->rows;
    tab_feature *f;
    view_job q = {
        .j = j, .from = j->from[source], .to = j->to[source], .rows = rows, .at = at, .gaps = gaps
    };
    if (at != NULL && (q.here = places_among(a, j, at, rows)) == NULL)
        return false;
    q.own = tab_arena_new_of(a, float, width *rows + 1);
    q.fill = tab_arena_new_of(a, float *, j->parts + 1);
    size_t *view = tab_arena_new_of(a, size_t, j->parts + 1);
    if (!own_arrays(a, width + 1, enc, data, &f))
        return false;
    /* only numbers with gaps are filled */
    places_in_view(j, source, view);
    for (size_t k = 0; k < j->parts; k++) {
        if (j->part[k].source == source)
            continue;
        const tab_feature *g = &f[view[k]];
        if (g->kind == TAB_FEATURE_NUMBER && g->has_missing)
            q.fill[k] = tab_arena_new_of(a, float, rows + 1);
    }
    if (tab_arena_full(a))
        return false;
    /* the expectations, rows in parallel */
    atomic_init(&q.failed, false);
    tab_engine_for(e, (rows + TAB_JOINT_BLOCK - 1) / TAB_JOINT_BLOCK, view_block, &q);
    if (atomic_load(&q.failed))
        return false;
    for (size_t k = 0; k < j->parts; k++)
        if (q.fill[k] != NULL &&
            !fill_feature(a, &q, filled, n, &f[view[k]], &data->x[view[k]], &data->bin[view[k]], q.fill[k]))
            return false;
    /* what is expected of the column itself, a feature a coordinate */
    for (size_t k = 0; k < width; k++)
        if (!append(a, enc, data, f, q.own + k * rows, tab_mix2(enc->column_hash[source], 0x30 + k)))
            return false;
    return true;
}
