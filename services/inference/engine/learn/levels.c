/* See levels.h: ordered target statistics of categories with many levels (decision 0096). stack.c fits them
 * once a fold, from the fold's own context; stack_answer.c reads them for new rows. A statistic becomes a
 * feature of its own, behind the problem's features, so that learners need not know of it. */
#include "services/inference/engine/learn/levels.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/screen.h"

/* NAMED: levels that the trees hold in bins of their own (decision 0096). MOST_CLASSES: beyond, a mean a
 * class would be too many columns. MOST_ADDED bounds the statistics of one table. Only tables with a column
 * of more than NAMED levels reach these numbers; none of tests/bench/predict with under 5,000 rows does, so
 * their best values are not known. */
enum { NAMED = TAB_BINS - 1, MOST_CLASSES = 6, MOST_ADDED = 60 };
static const double PRIOR = 4; /* rows' worth of the overall mean in a level's */

/* The target that statistic k averages: the number, or whether the label is class `k`. */
static double target_of(const tab_problem *p, uint32_t row, size_t k)
{
    return p->classification ? p->label[row] == k : (double)p->y[row];
}

/* The mean of a level, drawn to the overall one by PRIOR rows. */
static double blend(double sum, double count, double overall)
{
    return (sum + PRIOR * overall) / (count + PRIOR);
}

/* Statistic i for all rows of the problem: context rows in order, others by all of the context. */
static bool read_own(tab_levels *v, const tab_problem *p, const uint32_t *context, size_t n, size_t i,
                     size_t k, double overall, double *value)
{
    const uint32_t *code = p->data->code[v->code[i]];
    size_t levels = v->levels[i], rows = p->data->rows;
    /* by level; then one for levels that the encoder does not know, and one for missing cells */
    double *sum = calloc(levels + 2, sizeof *sum), *count = calloc(levels + 2, sizeof *count);
    bool ok = sum != NULL && count != NULL;
    for (size_t at = 0, r = 0; ok && at < n; at = r) { /* copies of a row do not read each other */
        for (r = at; r < n && p->data->hash[context[r]] == p->data->hash[context[at]]; r++) {
            size_t c = code[context[r]] == TAB_NULL ? levels + 1 : code[context[r]];
            value[context[r]] = blend(sum[c], count[c], overall);
        }
        for (size_t q = at; q < r; q++) {
            size_t c = code[context[q]] == TAB_NULL ? levels + 1 : code[context[q]];
            sum[c] += target_of(p, context[q], k);
            count[c]++;
        }
    }
    /* what other rows read: the mean over all context rows */
    for (size_t c = 0; ok && c < levels + 2; c++)
        v->mean[i][c] = (float)blend(sum[c], count[c], overall);
    /* context is ascending: the rows between its members are the others */
    for (size_t r = 0, at = 0; ok && r < rows; r++) {
        if (at < n && context[at] == r) {
            at++;
            continue;
        }
        value[r] = (double)v->mean[i][code[r] == TAB_NULL ? levels + 1 : code[r]];
    }
    free(sum), free(count);
    return ok;
}

/* The problem's pointers of the features that are read. */
static void pick(const tab_levels *v, const tab_data *from, tab_data *to)
{
    for (size_t i = 0; i < v->plain; i++) {
        size_t at = v->kept == NULL ? i : v->kept[i];
        to->x[i] = from->x[at];
        to->code[i] = from->code[at];
        to->bin[i] = from->bin[at];
    }
}

/* Features in all. */
static size_t width(const tab_levels *v)
{
    return v->plain + v->n + v->mades;
}

/* A shallow copy of the data with room for what is added. */
static bool room_for(tab_arena *a, const tab_levels *v, const tab_data *from, tab_data *to)
{
    size_t all = width(v) + 1;
    *to = *from;
    to->x = tab_arena_new_of(a, float *, all);
    to->code = tab_arena_new_of(a, uint32_t *, all);
    to->bin = tab_arena_new_of(a, uint8_t *, all);
    if (tab_arena_full(a))
        return false;
    pick(v, from, to);
    to->n = width(v);
    return true;
}

/* Value (rows) as feature `at`, scaled and binned by the context's values. sorted (rows + 1): scratch. False:
 * the arena is full. */
static bool add_feature(tab_arena *a, tab_levels *v, tab_feature *own, size_t at, const uint32_t *context,
                        size_t n, const double *value, double *sorted)
{
    size_t rows = v->data.rows, present = 0;
    own->edge = tab_arena_new_of(a, float, TAB_BINS);
    v->data.x[at] = tab_arena_new_of(a, float, rows + 1);
    v->data.bin[at] = tab_arena_new_of(a, uint8_t, rows + 1);
    if (tab_arena_full(a))
        return false;
    for (size_t r = 0; r < n; r++)
        if (!isnan(value[context[r]]))
            sorted[present++] = value[context[r]];
    own->has_missing = present < n;
    if (!tab_number_fit(own, sorted, present))
        return false;
    for (size_t r = 0; r < rows; r++) {
        v->data.x[at][r] = tab_number_scaled(own, value[r]);
        v->data.bin[at][r] = tab_number_bin(own, v->data.x[at][r]);
    }
    return true;
}

/* Statistic i: the mean of target k over the levels of feature f, as a feature of its own, whose hash is made
 * with `salt`. value and sorted (rows + 1): scratch. False: the arena is full. */
static bool add_statistic(tab_arena *a, tab_levels *v, tab_feature *g, const tab_problem *p,
                          const uint32_t *context, size_t n, size_t f, size_t i, size_t k, uint64_t salt,
                          double *value, double *sorted)
{
    size_t at = v->plain + i;
    g[at] = (tab_feature){ .kind = TAB_FEATURE_NUMBER,
                           .derive = TAB_DERIVE_VALUE,
                           .source = g[f].source,
                           .hash = tab_mix2(g[f].hash, salt),
                           .scale = 1,
                           .sd = 1 };
    v->code[i] = v->kept == NULL ? (uint32_t)f : v->kept[f];
    v->levels[i] = g[f].levels;
    v->mean[i] = tab_arena_new_of(a, float, g[f].levels + 2);
    if (tab_arena_full(a))
        return false;
    /* the mean that rare levels are drawn to */
    double overall = 0;
    for (size_t r = 0; r < n; r++)
        overall += target_of(p, context[r], k) / (double)n;
    return read_own(v, p, context, n, i, k, overall, value) &&
           add_feature(a, v, &g[at], at, context, n, value, sorted);
}

/* The made columns, behind the statistics; value, sorted: scratch. False: the arena is full, or memory. */
static bool add_made(tab_arena *a, tab_levels *v, tab_feature *g, const tab_problem *p,
                     const uint32_t *context, size_t n, const tab_made_list *made, double *value,
                     double *sorted)
{
    for (size_t i = 0; i < v->mades; i++) {
        const tab_made_recipe *r = &made->recipe[i];
        const tab_feature *one = &p->enc->f[r->a], *other = &p->enc->f[r->b];
        size_t at = v->plain + v->n + i;
        g[at] = (tab_feature){ .kind = TAB_FEATURE_NUMBER,
                               .derive = TAB_DERIVE_VALUE,
                               .source = one->source,
                               .hash = tab_mix2(tab_mix2(one->hash, other->hash), 0x3ade + r->kind),
                               .scale = 1,
                               .sd = 1 };
        if (!tab_made_fit(a, p, context, n, r, &v->made[i], value) ||
            !add_feature(a, v, &g[at], at, context, n, value, sorted))
            return false;
    }
    return true;
}

static bool has_many(const tab_feature *f)
{
    return f->kind == TAB_FEATURE_CODE && f->levels > NAMED;
}

/* One statistic a category for numbers and two classes, one a class for up to MOST_CLASSES. */
bool tab_levels_fit(tab_arena *a, const tab_problem *p, const uint32_t *context, size_t n,
                    const tab_made_list *made, tab_levels **ret)
{
    *ret = NULL;
    size_t stats = !p->classification || p->outputs <= 2 ? 1 : p->outputs, many = 0, rows = p->data->rows;
    size_t plain = p->enc->n;
    uint32_t *kept = NULL;
    if (n == 0)
        return true;
    if (!tab_screen(a, p, context, n, &kept, &plain))
        return false;
    for (size_t f = 0; f < plain && stats <= MOST_CLASSES; f++)
        many += has_many(&p->enc->f[kept == NULL ? f : kept[f]]);
    size_t mades = made == NULL ? 0 : made->n;
    if (many == 0 && kept == NULL && mades == 0)
        return true;
    tab_levels *v = tab_arena_new_of(a, tab_levels, 1);
    if (v == NULL)
        return false;
    v->plain = plain;
    v->kept = kept;
    v->n = many * stats < MOST_ADDED ? many * stats : MOST_ADDED;
    v->code = tab_arena_new_of(a, uint32_t, v->n + 1);
    v->levels = tab_arena_new_of(a, size_t, v->n + 1);
    v->mean = tab_arena_new_of(a, float *, v->n + 1);
    v->mades = mades;
    v->made = tab_arena_new_of(a, tab_made, mades + 1);
    tab_feature *g = tab_arena_new_of(a, tab_feature, width(v));
    if (tab_arena_full(a) || !room_for(a, v, p->data, &v->data))
        return false;
    /* the features that are read, with room behind them */
    for (size_t f = 0; f < plain; f++)
        g[f] = p->enc->f[kept == NULL ? f : kept[f]];
    v->enc = *p->enc;
    v->enc.f = g;
    v->enc.n = width(v);
    double *value = malloc((rows + 1) * sizeof *value), *sorted = malloc((rows + 1) * sizeof *sorted);
    bool ok = value != NULL && sorted != NULL;
    size_t i = 0;
    for (size_t f = 0; ok && f < v->plain; f++) {
        if (!has_many(&g[f]))
            continue;
        for (size_t s = 0; ok && s < stats && i < v->n; s++, i++)
            ok = add_statistic(a, v, g, p, context, n, f, i, stats == 1 ? 1 : s, 0x7a6 + s, value, sorted);
    }
    ok = ok && add_made(a, v, g, p, context, n, made, value, sorted);
    free(value), free(sorted);
    if (ok)
        *ret = v;
    return ok;
}

/* What feature k of those added is worth in row `row` of q. */
static double added(const tab_levels *v, const tab_feature *f, const tab_data *q, size_t k, uint32_t row)
{
    if (k >= v->n)
        return tab_made_value(&v->made[k - v->n], f, q, row);
    uint32_t c = q->code[v->code[k]][row];
    return (double)v->mean[k][c == TAB_NULL ? v->levels[k] + 1 : c];
}

/* New rows read what their level's mean is over all context rows. Made columns are of tables whose features
 * are all read (propose.h), so that theirs stand where the problem's do. */
bool tab_levels_read(const tab_levels *v, const tab_data *q, const uint32_t *row, size_t n, tab_data *ret)
{
    size_t all = width(v) + 1;
    *ret = *q;
    ret->n = width(v);
    ret->x = calloc(all, sizeof *ret->x);
    ret->code = calloc(all, sizeof *ret->code);
    ret->bin = calloc(all, sizeof *ret->bin);
    bool ok = ret->x != NULL && ret->code != NULL && ret->bin != NULL;
    if (ok) {
        pick(v, q, ret);
    }
    for (size_t i = 0; ok && i < v->n + v->mades; i++) {
        const tab_feature *f = &v->enc.f[v->plain + i];
        /* only the asked rows get a value */
        float *x = ret->x[v->plain + i] = malloc((q->rows + 1) * sizeof *x);
        uint8_t *bin = ret->bin[v->plain + i] = malloc(q->rows + 1);
        ok = x != NULL && bin != NULL;
        for (size_t r = 0; ok && r < n; r++) {
            x[row[r]] = tab_number_scaled(f, added(v, v->enc.f, q, i, row[r]));
            bin[row[r]] = tab_number_bin(f, x[row[r]]);
        }
    }
    if (!ok)
        tab_levels_free(v, ret);
    return ok;
}

void tab_levels_free(const tab_levels *v, tab_data *d)
{
    for (size_t i = v->plain; i < width(v); i++) {
        if (d->x != NULL)
            free(d->x[i]);
        if (d->bin != NULL)
            free(d->bin[i]);
    }
    free(d->x), free(d->code), free(d->bin);
}

/* The means of one category's levels after the other. */
typedef struct {
    const tab_levels *v;
    size_t i;
} next_mean;

static void pack_mean(tab_pack *p, void *each, const void *context)
{
    float **mean = each;
    next_mean *next = (next_mean *)(uintptr_t)context;
    size_t n = tab_pack_clears(p) || next->v->levels == NULL ? 0 : next->v->levels[next->i++] + 2;
    TAB_PACK(p, *mean, n);
}

void tab_pack_levels(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_levels *v = each;
    next_mean next = { v, 0 };
    tab_pack_encoder(p, &v->enc, NULL);
    tab_pack_data(p, &v->data, NULL);
    TAB_PACK(p, v->kept, v->plain);
    TAB_PACK(p, v->code, v->n);
    TAB_PACK(p, v->levels, v->n);
    TAB_PACK_EACH(p, v->mean, v->n, pack_mean, &next);
    TAB_PACK_EACH(p, v->made, v->mades, tab_pack_made, NULL);
}
