/* See fitted.h: fits a model for one target of one table and scores rows by it. bundle.c and evaluate/ fit,
 * the daemon keeps fitted models for its endpoints and scores requests.
 *
 *   tab_fit    target.c ─> features/ ─> learn/stack ─> interval.c (numbers) ─> exact_copies.c
 *              anomaly.c alone, where there is no target
 *   tab_score  read_request.c ─> features/ ─> the same parts ─> later.c, for later rows ─> reasons.c
 *
 * The parts: target.c turns a column into labels or standardised numbers, features/ encodes the rows,
 * learn/stack fits and calibrates, interval.c gives regression its distribution. This file holds them
 * together and writes the messages. */
#include "services/inference/engine/predict/fitted.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/asked/gaps.h"
#include "services/inference/engine/predict/asked/hot_deck.h"
#include "services/inference/engine/predict/asked/missing_shift.h"
#include "services/inference/engine/predict/explain/group_means.h"
#include "services/inference/engine/predict/fitted_parts.h"

static const size_t FITTED_LIMIT = (size_t)16 << 30; /* a bound against runaway fits */
static const double NEAR_WHOLE = 0.02;               /* of a bound of counts, by hand */

void tab_fitted_free(tab_fitted *f)
{
    if (f != NULL)
        tab_arena_free(f->arena); /* f itself lives there; NULL: another's */
}

size_t tab_fitted_bytes(const tab_fitted *f)
{
    size_t models = f->stack == NULL ? 0 : f->stack->bytes;
    if (f->interval != NULL && f->interval->scale != NULL)
        models += f->interval->scale->bytes;
    return (f->arena == NULL ? 0 : tab_arena_used(f->arena)) + models + tab_later_bytes(f->later[TAB_LATER]) +
           tab_later_bytes(f->later[TAB_EARLIER]) + (f->fresh == NULL ? 0 : f->fresh->bytes);
}

const char *tab_fitted_ahead(const tab_fitted *f)
{
    return f->ahead == NULL ? NULL : f->ahead->method;
}

const char *tab_fitted_shift(const tab_fitted *f)
{
    return f->lacking;
}

const char *tab_fitted_single(const tab_fitted *f)
{
    return f->single;
}

/* Of a target that all labelled rows have alike no row tells when it is another. The next row has it with
 * (n + 1) / (n + 2), by the rule of succession (Laplace 1774; decision 0641). False: the arena is full. */
static bool say_single(const tab_problem *p, tab_fitted *f)
{
    size_t n = 0;
    float least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < p->data->rows; i++) {
        bool open = p->classification ? p->label[i] == TAB_NULL : isnan(p->y[i]);
        n += !open;
        least = open || p->classification ? least : fminf(least, p->y[i]);
        most = open || p->classification ? most : fmaxf(most, p->y[i]);
    }
    f->sure = 1;
    if (n == 0 || (p->classification ? f->classes > 1 : least < most))
        return true;
    if (p->classification)
        f->sure = ((double)n + 1) / ((double)n + 2);
    f->single = tab_arena_printf(
        f->arena,
        "all %zu known targets have the same value; nothing shows when a row has another one, and an "
        "empty cell may itself mean another value",
        n);
    return f->single != NULL;
}

const char *tab_fitted_cut_off(const tab_fitted *f)
{
    return f->cut_off;
}

const tab_stack *tab_fitted_stack(const tab_fitted *f)
{
    return f->stack;
}

/* ---- fitting --------------------------------------------------------------------------------- */

/* Why a step gave up. */
static tab_status out_of_memory(const tab_engine *e, tab_error *err)
{
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
}

/* The split as the units have it, for people: rows of one group are kept apart by it where nothing else is
 * asked for. False: the arena is full. */
static bool say_units(const tab_profile *p, tab_split want, tab_fitted *f)
{
    tab_arrangement *r = &f->split;
    const tab_units *u = &f->units;
    if (u->kind == TAB_UNITS_GROUPS && r->kind == TAB_SPLIT_RANDOM) {
        tab_str c = tab_column_address(f->arena, p->table, u->column);
        r->reason = tab_arena_printf(
            f->arena,
            "all rows of one %.*s share a target, so they are kept together and the figures are for rows "
            "with a new %.*s",
            (int)(c.n < 64 ? c.n : 64), c.p, (int)(c.n < 64 ? c.n : 64), c.p);
        if (want != TAB_SPLIT_RANDOM)
            r->kind = TAB_SPLIT_GROUP, r->column = u->column;
    } else if (u->kind == TAB_UNITS_COPIES) {
        r->reason = tab_arena_printf(
            f->arena,
            "%s; %zu rows are copies of others or differ from them in one cell and are kept together with "
            "them",
            r->reason, u->copies);
    } else if (u->kind == TAB_UNITS_REPEATS) {
        r->reason =
            tab_arena_printf(f->arena, "%s; equal rows are treated as repeated measurements", r->reason);
    }
    return r->reason != NULL;
}

/* What is known of a group whose rows have one target: its rows share a fold, so the stack has learned
 * nothing of it out of fold, and a new row of it is answered by theirs. False: the arena is full. */
static bool fit_groups(const tab_profile *p, tab_fitted *f)
{
    size_t column = f->units.column;
    if (f->units.kind != TAB_UNITS_GROUPS || !f->column[column].used)
        return true;
    tab_values v = tab_values_of(&p->col[column]);
    uint64_t *key = tab_arena_new_of(f->arena, uint64_t, f->rows + 1);
    for (size_t i = 0; key != NULL && i < f->rows; i++)
        key[i] = tab_units_key(&v, f->data->row[i]);
    f->group_key = key;
    return key != NULL && tab_twins_fit_keys(f->arena, &f->problem, f->stack, key, &f->group);
}

/* The stack, the intervals and what copies say, for a target that is read. */
static tab_status fit_models(const tab_engine *e, const tab_profile *p, const tab_fit_options *o,
                             const bool *use, tab_fitted *f, const tab_base *base, tab_error *err)
{
    tab_arena *a = f->arena;
    const tab_data *data = f->data;
    /* the target in the order of the encoded rows, which is not the table's */
    uint32_t *label = tab_arena_new_of(a, uint32_t, f->rows + 1);
    float *y = tab_arena_new_of(a, float, f->rows + 1);
    if (label == NULL || y == NULL)
        return out_of_memory(e, err);
    for (size_t i = 0; i < f->rows; i++) {
        label[i] = f->task == TAB_TASK_CLASSIFICATION ? f->label[data->row[i]] : TAB_NULL;
        y[i] = f->task == TAB_TASK_REGRESSION ? f->y[data->row[i]] : NAN;
    }
    f->problem = (tab_problem){ .enc = f->enc,
                                .data = data,
                                .label = label,
                                .y = y,
                                .seed = e->seed,
                                .classification = f->task == TAB_TASK_CLASSIFICATION,
                                .outputs = f->task == TAB_TASK_CLASSIFICATION ? f->classes : 1 };
    uint32_t *unit = NULL;
    if (!say_single(&f->problem, f) ||
        !tab_units_find(a, p, f->target, !f->problem.classification, &f->units) ||
        !tab_units_of(a, &f->units, data, &unit))
        return out_of_memory(e, err);
    f->problem.unit = unit;
    f->problem.repeats = f->units.kind == TAB_UNITS_REPEATS;
    size_t own = o->own > 0 ? o->own : p->table->cols;
    if (o->split != TAB_SPLIT_RANDOM)
        TAB_TRY(tab_fit_regimes(p, own, o->served, f, err));
    TAB_TRY(tab_arrange(e, a, p, &f->problem, f->target, own, o->split, &f->asked, &f->split, err));
    if (!tab_gaps_apart(e, p, o->split, f) || !tab_clock_fit(a, p, &f->asked, &f->clock))
        return out_of_memory(e, err);
    for (size_t k = 0; f->clock.s != NULL && k < f->clock.s->times; k++)
        f->column[f->clock.s->time[k]].told = true;
    for (size_t k = 0; f->clock.s != NULL && k < f->clock.s->keys; k++)
        f->column[f->clock.s->key[k]].told = true;
    if (!say_units(p, o->split, f))
        return out_of_memory(e, err);
    f->problem.place = f->split.place;
    f->stack = tab_stack_fit(e, a, &f->problem, &base->recipe);
    if (f->stack == NULL)
        return out_of_memory(e, err);
    if (!tab_asked_mix(e, f))
        return out_of_memory(e, err);
    if (f->task == TAB_TASK_REGRESSION) {
        f->interval = tab_interval_fit(e, a, &f->problem, f->stack, f->mix, base->scaled_residuals);
        if (f->interval == NULL)
            return out_of_memory(e, err);
    }
    if (!tab_few_groups(p, o->served, f))
        return out_of_memory(e, err);
    tab_split_score(f);
    f->twins = tab_twins_fit(&f->problem, f->stack);
    if (!tab_hot_deck_fit(f) || !fit_groups(p, f) || !tab_new_levels(e, p, o->served, f) ||
        !tab_new_pairs(e, p, o->served, f) || !tab_few_seen(f) || !tab_beyond_fit(p, f))
        return out_of_memory(e, err);
    TAB_TRY(tab_fit_ahead(e, p, use, o->served, f, err));
    return o->served || tab_truncated_fit(f) ? TAB_OK : tab_no_memory(err);
}

tab_status tab_fit(const tab_engine *e, const tab_profile *p, const tab_fit_options *o, tab_fitted **ret,
                   tab_error *err)
{
    const tab_base *base = NULL;
    TAB_TRY(tab_base_find(o->base, &base, err));
    /* sums in one order, whatever the machine; and an arena that outlives the call, with the model in it */
    openblas_set_num_threads(1);
    size_t cols = p->table->cols;
    tab_arena *a = tab_arena_new(FITTED_LIMIT);
    tab_fitted *f = a == NULL ? NULL : tab_arena_new_of(a, tab_fitted, 1);
    if (f == NULL) {
        tab_arena_free(a);
        return tab_no_memory(err);
    }
    /* freed on every way out but the last */
    TAB_AUTO(tab_fitted) *own = f;
    f->arena = a;
    f->base = base;
    f->task = o->task;
    f->table = o->table;
    f->rows = p->table->rows;
    f->target = o->target;
    f->cols = cols;

    /* which columns explain: never the target itself */
    bool *use = tab_arena_new_of(a, bool, cols + 1);
    if (use == NULL)
        return out_of_memory(e, err);
    for (size_t c = 0; c < cols; c++)
        use[c] = (o->use == NULL ? tab_explains(&p->col[c]) : o->use[c]) &&
                 ((f->task == TAB_TASK_ANOMALY && !o->labels) || c != o->target);
    if (f->task != TAB_TASK_ANOMALY) {
        TAB_TRY(tab_target_read(f, p, o->target, err));
        f->address = tab_column_ref(a, p->table, o->table, o->target);
    }
    if (f->task != TAB_TASK_ANOMALY && !tab_group_means(p, o->own > 0 ? o->own : cols, use, f))
        return out_of_memory(e, err);
    /* served rows are others than those that lack a target */
    if (f->task != TAB_TASK_ANOMALY && !o->served) {
        TAB_TRY(tab_asked_cells(p, use, f, &p, err));
        TAB_TRY(tab_missing_shift(p, use, f, &p, err));
    }
    tab_data *data = NULL;
    f->enc = tab_encode_fit(e, a, p, use, &data);
    if (f->enc == NULL || !tab_fitted_columns(f, p, o->own))
        return out_of_memory(e, err);
    f->data = data;
    tab_engine_progress(e, "learn", 0.1);

    /* without a target: detectors, no stack */
    if (f->task == TAB_TASK_ANOMALY) {
        f->anomaly = tab_anomaly_fit(e, a, f->enc, data, base->anomaly_trees, o->cut, e->seed);
        if (f->anomaly == NULL)
            return out_of_memory(e, err);
        *ret = tab_take(&own);
        return TAB_OK;
    }
    TAB_TRY(fit_models(e, p, o, use, f, base, err));
    if (f->unlike != NULL &&
        (f->split.reason = tab_arena_printf(a, "%s; %s", f->split.reason, f->unlike)) == NULL)
        return out_of_memory(e, err);
    if (f->lacking != NULL &&
        (f->split.reason =
             tab_arena_printf(a, "%s; %s, so other rows are evaluated as if it were empty as often in them",
                              f->split.reason, f->lacking)) == NULL)
        return out_of_memory(e, err);
    tab_engine_progress(e, "learn", 1);
    *ret = tab_take(&own);
    return TAB_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

/* The message without its results: task, target, classes or quantile levels, notes. */
static Tabella__Prediction *prediction_of(tab_arena *a, const tab_fitted *f)
{
    static const char *const names[] = { [TAB_TASK_CLASSIFICATION] = "classification",
                                         [TAB_TASK_REGRESSION] = "regression",
                                         [TAB_TASK_ANOMALY] = "anomaly" };
    Tabella__Prediction *m = tab_message(a, Tabella__Prediction, TABELLA__PREDICTION__INIT);
    if (m == NULL)
        return NULL;
    m->task_type = tab_text(names[f->task]);
    m->tier = tab_text("in_context");
    m->time = f->task == TAB_TASK_REGRESSION && f->column[f->target].type == TAB_DATETIME;
    m->table = f->table;
    m->note =
        tab_text("In-context prediction: each row is predicted by models that did not see its own target. An "
                 "endpoint adds a score on held-out rows.");
    /* learners that were left out, each with its reason */
    if (f->stack != NULL && f->stack->skips > 0) {
        m->n_skipped = f->stack->skips;
        m->skipped = tab_arena_new_of(a, char *, m->n_skipped);
        for (size_t i = 0; m->skipped != NULL && i < m->n_skipped; i++)
            m->skipped[i] = tab_text(tab_arena_copy(a, tab_str_of(f->stack->skipped[i])).p);
    }
    if (f->task != TAB_TASK_ANOMALY && (m->split = tab_split_message(a, f)) == NULL)
        return NULL;
    if (f->task == TAB_TASK_ANOMALY) {
        m->note = tab_text(
            "Unsupervised: scores rank rows by how unusual they are. Rows that score at least the threshold "
            "are called anomalies. An endpoint adds a score on held-out rows.");
        m->threshold = f->anomaly->threshold;
        m->expected_share = f->anomaly->expected_share;
        return m;
    }
    /* names are copied, as the message may outlive the model */
    m->target = tab_message(a, Tabella__ColumnRef, TABELLA__COLUMN_REF__INIT);
    if (m->target != NULL) {
        *m->target = *f->address;
        tab_str text =
            tab_arena_copy(a, (tab_str){ (char *)f->address->address.data, f->address->address.len });
        m->target->address.data = (uint8_t *)tab_text(text.p);
    }
    if (f->task == TAB_TASK_CLASSIFICATION) {
        m->classes = tab_cells_message(a, &f->class_cells, f->classes);
    } else {
        m->n_quantile_levels = TAB_LEVELS;
        m->quantile_levels = tab_arena_new_of(a, double, TAB_LEVELS);
        if (m->quantile_levels != NULL)
            memcpy(m->quantile_levels, tab_quantile_level, sizeof tab_quantile_level);
    }
    return m;
}

/* v within lo and hi. */
static double limit(double v, double lo, double hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* The bound of an interval. Of counts many rows have the very same target, and a bound that misses it by a
 * thousandth leaves all of them out: near a whole number it is that. */
static double bound(const tab_fitted *f, double v)
{
    return f->whole && fabs(v - round(v)) < NEAR_WHOLE ? round(v) : v;
}

/* Writes result `i`, of row `row` of d, from the stack's outputs. Regression only: scale; wide: the same,
 * wider beyond the fitted range; reach: how far, in scaled units, the quantiles may then go beyond what the
 * target may be, else 0. fresh: of a group that nobody knows, where rows were kept apart by groups. */
static void write_result(const tab_fitted *f, Tabella__Results *r, size_t i, const tab_data *d, size_t row,
                         const float *out, float scale, float wide, double reach, bool fresh)
{
    if (f->task == TAB_TASK_CLASSIFICATION) {
        /* log-probabilities to probabilities; the likeliest class is the label */
        double *p = r->probabilities + i * f->classes, sum = 0;
        size_t best = 0;
        for (size_t k = 0; k < f->classes; k++) {
            p[k] = exp((double)out[k]);
            sum += p[k];
            if (p[k] > p[best])
                best = k;
        }
        assert(!(sum <= 0)); /* the stack ends in a softmax */
        for (size_t k = 0; k < f->classes; k++)
            p[k] = p[k] / sum * f->sure;
        r->label[i] = (uint32_t)best;
        return;
    }
    /* the location, and quantiles at a fixed number of scales from it, within what the target may be */
    double location = (double)out[0];
    r->value[i] = limit(tab_target_value(f, location), f->least, f->most);
    r->std[i] = limit(f->interval->spread * (double)wide * f->scale, 0, 1e308);
    double least = f->least, most = f->most;
    if (reach > 0) { /* a target that was never negative, or never positive, stays so */
        least = fmax(least - reach * f->scale, least >= 0 ? 0 : -1.7e308);
        most = fmin(most + reach * f->scale, most <= 0 ? 0 : 1.7e308);
    }
    double quantile[TAB_LEVELS];
    tab_interval_quantiles(f->interval, d, row, out[0], scale, quantile);
    if (fresh)
        tab_widen_quantiles(f->wider, quantile);
    for (size_t l = 0; l < TAB_LEVELS; l++)
        r->quantiles[i * TAB_LEVELS + l] =
            bound(f, limit(tab_target_value(f, location + (double)wide * quantile[l]), least, most));
    tab_check_quantiles(r->quantiles + i * TAB_LEVELS);
}

/* The temperature of an asked row's classes. */
static double asked_heat(const tab_fitted *f, size_t row)
{
    double mix = f->mix != NULL ? f->heat[f->stack->folds] : 1;
    return f->few != NULL ? fmax(mix, (double)f->few[row]) : mix;
}

/* The scale of a row whose squared error grows by `beyond`. */
static float wider(const tab_fitted *f, float scale, float beyond)
{
    double spread = f->interval->spread;
    if (!(beyond > 0) || !(spread > 0))
        return scale;
    return (float)sqrt((double)scale * (double)scale + (double)beyond / (spread * spread));
}

/* Rows come in the table's order, out-of-fold answers where the target is present. */
tab_status tab_fitted_results(const tab_engine *e, const tab_fitted *f, bool explain,
                              Tabella__Prediction **ret, tab_error *err)
{
    tab_arena *a = e->arena;
    Tabella__Prediction *m = prediction_of(a, f);
    uint32_t *place = tab_arena_new_of(a, uint32_t, f->rows + 1); /* where a row of the table stands */
    float *own = f->stack == NULL ? NULL : tab_arena_new_of(a, float, f->stack->outputs + 1);
    if (m == NULL || place == NULL || (f->stack != NULL && own == NULL))
        return out_of_memory(e, err);
    /* rows without a target have a list of their own */
    size_t missing = 0;
    for (size_t i = 0; i < f->rows; i++) {
        place[f->data->row[i]] = (uint32_t)i;
        if (f->task != TAB_TASK_ANOMALY)
            missing += f->task == TAB_TASK_CLASSIFICATION ? f->label[i] == TAB_NULL : isnan(f->y[i]);
    }
    m->missing_target = missing;
    m->results = tab_results_new(a, f, f->rows - missing);
    if (missing > 0)
        m->missing_target_results = tab_results_new(a, f, missing);
    if (tab_arena_full(a))
        return out_of_memory(e, err);
    size_t at[2] = { 0, 0 }; /* present, missing */
    for (size_t row = 0; row < f->rows; row++) {
        size_t i = place[row];
        bool absent = f->task == TAB_TASK_CLASSIFICATION ? f->label[row] == TAB_NULL
                      : f->task == TAB_TASK_REGRESSION   ? isnan(f->y[row])
                                                         : false;
        Tabella__Results *r = absent ? m->missing_target_results : m->results;
        size_t k = at[absent]++;
        assert(k < r->n_row && f->data->row[i] == row); /* a row is encoded once, and is in one list */
        r->row[k] = (uint32_t)row;
        if (f->task == TAB_TASK_ANOMALY) {
            r->anomaly_score[k] = (double)f->anomaly->score[i];
            continue;
        }
        if (absent && f->ahead != NULL && f->ahead->answered[row]) {
            tab_ahead_write(f, r, k, row);
            continue;
        }
        if (absent && f->truncated_score != NULL) {
            tab_truncated_write(f, r, k, i);
            continue;
        }
        size_t outputs = f->stack->outputs;
        float scale = f->interval != NULL ? f->interval->oof_scale[i] : 0;
        memcpy(own, f->stack->oof + i * outputs, outputs * sizeof *own);
        if (absent && f->group.strength > 0 && f->group_key[i] != 0)
            tab_twins_apply(&f->group, &f->problem, f->stack, f->interval, f->group_key[i], own, &scale);
        double heat = absent && f->task == TAB_TASK_CLASSIFICATION ? asked_heat(f, row) : 1;
        if (heat > 1 || heat < 1)
            tab_heat_apply(heat, outputs, own);
        if (absent)
            tab_asked_shares(f, own);
        float between = 0;
        if (absent && !tab_hot_deck_answer(f, f->data, i, own, &between))
            return out_of_memory(e, err);
        float beyond = absent ? tab_asked_beyond(f, row, own) + between : 0;
        write_result(f, r, k, f->data, i, own, scale, f->interval != NULL ? wider(f, scale, beyond) : 0,
                     3 * sqrt((double)beyond), false);
    }
    if (explain && !tab_reasons_fitted(e, f, place, m))
        return out_of_memory(e, err);
    if (missing > 0 && (!tab_regimes_write(a, f, m->missing_target_results) || !tab_regime_quality(a, f, m)))
        return out_of_memory(e, err);
    *ret = m;
    return tab_arena_full(a) ? out_of_memory(e, err) : TAB_OK;
}

/* ---- new rows -------------------------------------------------------------------------------- */

/* Rows to be scored, of one request or of several that came at once (decision 0184). */
typedef struct {
    const tab_fitted *f;
    const tab_data *d;
    const tab_scoring *const *part; /* the rows of d, part after part */
    size_t parts;
    atomic_bool failed;
} score_job;

enum { SCORE_ROWS = 240 }; /* five tiles */

/* The results that row i of the job belongs to, and its place there; parts are few and asked in order. */
static Tabella__Results *results_of(const score_job *j, size_t i, size_t *part, size_t *before)
{
    assert(i >= *before); /* rows are asked for in their order */
    while (i - *before >= j->part[*part]->d->rows)
        *before += j->part[(*part)++]->d->rows;
    assert(*part < j->parts);
    return j->part[*part]->m->results;
}

/* Answers of one block of rows, which may belong to several parts. */
static void score_block(void *ctx, size_t b)
{
    score_job *j = ctx;
    const tab_fitted *f = j->f;
    size_t from = b * SCORE_ROWS, n = j->d->rows - from < SCORE_ROWS ? j->d->rows - from : SCORE_ROWS;
    /* part: whose rows these are; before: rows of the parts that came first */
    size_t part = 0, before = 0;
    uint32_t row[SCORE_ROWS];
    float scale[SCORE_ROWS];
    for (size_t i = 0; i < n; i++)
        row[i] = (uint32_t)(from + i);
    if (f->task == TAB_TASK_ANOMALY) {
        if (!tab_anomaly_scores(f->anomaly, f->enc, j->d, row, n, scale))
            atomic_store(&j->failed, true);
        for (size_t i = 0; i < n; i++) {
            Tabella__Results *r = results_of(j, from + i, &part, &before);
            r->anomaly_score[from + i - before] = (double)scale[i];
        }
        return;
    }
    /* the stack's outputs, the local scale, and what equal rows of the fitted table say */
    size_t k = f->stack->outputs;
    float *out = malloc(n * k * sizeof *out);
    bool ok = out != NULL && tab_stack_predict(f->stack, f->enc, j->d, row, n, out);
    if (ok && f->interval != NULL)
        ok = tab_interval_scale(f->interval, f->enc, j->d, row, n, scale);
    float between[SCORE_ROWS] = { 0 };
    for (size_t i = 0; ok && i < n; i++)
        ok = tab_hot_deck_answer(f, j->d, from + i, out + i * k, &between[i]);
    for (size_t i = 0; ok && i < n; i++)
        tab_twins_apply(&f->twins, &f->problem, f->stack, f->interval, j->d->hash[from + i], out + i * k,
                        &scale[i]);
    for (size_t i = 0; ok && i < n; i++) {
        Tabella__Results *r = results_of(j, from + i, &part, &before);
        size_t at = from + i - before;
        if (j->part[part]->group != NULL && j->part[part]->group[at] != 0)
            tab_twins_apply(&f->group, &f->problem, f->stack, f->interval, j->part[part]->group[at],
                            out + i * k, &scale[i]);
        if (j->part[part]->left != NULL)
            tab_draw_to_shares(f->stack, (double)j->part[part]->left[at], out + i * k);
        float beyond = j->part[part]->beyond[at] + between[i], own = f->interval != NULL ? scale[i] : 0;
        bool fresh = f->wider[0] > 0 && r->n_regime > 0 && r->regime[at] == TAB_REGIME_NEW_GROUP;
        write_result(f, r, at, j->d, from + i, out + i * k, own,
                     f->interval != NULL ? wider(f, own, beyond) : 0, 3 * sqrt((double)beyond), fresh);
        if (j->part[part]->side[at] > 0 && f->interval != NULL) /* a member of what answers it */
            r->value[at] = tab_target_value(f, (double)out[i * k]);
    }
    if (!ok)
        atomic_store(&j->failed, true);
    free(out);
}

/* Cells of new rows, parsed and encoded, and room for their results. */
static tab_status read_rows(const tab_engine *e, const tab_fitted *f, const tab_table *t, bool strict,
                            tab_scoring *ret, tab_error *err)
{
    tab_arena *a = e->arena;
    tab_values *values = NULL;
    TAB_TRY(tab_serve_values(a, f, t, strict, &values, err));
    ret->values = values;
    ret->d = tab_encode_rows(e, a, f->enc, values, t->rows);
    ret->m = prediction_of(a, f);
    if (ret->d == NULL || ret->m == NULL)
        return out_of_memory(e, err);
    ret->m->results = tab_results_new(a, f, t->rows);
    if (tab_arena_full(a) || !tab_beyond_read(a, f, values, t->rows, ret) ||
        (strict && !tab_strange_cells(a, f, values, ret)))
        return out_of_memory(e, err);
    for (size_t i = 0; i < t->rows; i++)
        ret->m->results->row[i] = (uint32_t)i;
    if (f->group.strength > 0) {
        ret->group = tab_arena_new_of(a, uint64_t, t->rows + 1);
        for (size_t i = 0; ret->group != NULL && i < t->rows; i++)
            ret->group[i] = tab_units_key(&values[f->units.column], i);
        if (ret->group == NULL)
            return out_of_memory(e, err);
    }
    return TAB_OK;
}

/* Requests are strict: a value that cannot be of its column's type is told to the caller. */
tab_status tab_score_read(const tab_engine *e, const tab_fitted *f, const tab_table *t, tab_scoring *ret,
                          tab_error *err)
{
    return read_rows(e, f, t, true, ret, err);
}

/* The encoded rows of the parts, end to end. */
static const tab_data *joined(tab_arena *a, const tab_fitted *f, const tab_scoring *const *part, size_t n)
{
    size_t rows = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        rows += part[i]->d->rows;
    tab_data *d = tab_data_new(a, f->enc, rows);
    for (size_t i = 0; d != NULL && i < n; at += part[i++]->d->rows) {
        const tab_data *p = part[i]->d;
        assert(p->n == d->n && at + p->rows <= rows); /* encoded by one encoder */
        /* hashes and features of one part behind those of the parts before */
        memcpy(d->hash + at, p->hash, p->rows * sizeof *p->hash);
        for (size_t k = 0; k < d->n; k++) {
            if (p->x[k] != NULL)
                memcpy(d->x[k] + at, p->x[k], p->rows * sizeof **p->x);
            if (p->code[k] != NULL)
                memcpy(d->code[k] + at, p->code[k], p->rows * sizeof **p->code);
            memcpy(d->bin[k] + at, p->bin[k], p->rows);
        }
    }
    return d;
}

/* A single part needs no copy. */
bool tab_score_together(const tab_engine *e, const tab_fitted *f, const tab_scoring *const *part, size_t n)
{
    openblas_set_num_threads(1);
    score_job j = {
        .f = f, .d = n == 1 ? part[0]->d : joined(e->arena, f, part, n), .part = part, .parts = n
    };
    if (j.d == NULL)
        return false;
    atomic_init(&j.failed, false);
    tab_engine_for(e, (j.d->rows + SCORE_ROWS - 1) / SCORE_ROWS, score_block, &j);
    return !atomic_load(&j.failed);
}

/* Reasons are made for each part by itself, after the answers. */
tab_status tab_score_end(const tab_engine *e, const tab_fitted *f, const tab_scoring *s, bool explain,
                         Tabella__Prediction **ret, tab_error *err)
{
    if (s->later[0] + s->later[1] > 0 && !tab_later_write(e, f, s))
        return out_of_memory(e, err);
    if (explain && !tab_reasons_rows(e, f, s->d, s->m->results))
        return out_of_memory(e, err);
    *ret = s->m;
    return tab_arena_full(e->arena) ? out_of_memory(e, err) : TAB_OK;
}

/* tab_score and tab_score_any. */
static tab_status score(const tab_engine *e, const tab_fitted *f, const tab_table *t, bool explain,
                        bool strict, Tabella__Prediction **ret, tab_error *err)
{
    tab_scoring s = { 0 };
    const tab_scoring *only = &s;
    TAB_TRY(read_rows(e, f, t, strict, &s, err));
    if (!tab_score_together(e, f, &only, 1))
        return out_of_memory(e, err);
    return tab_score_end(e, f, &s, explain, ret, err);
}

tab_status tab_score(const tab_engine *e, const tab_fitted *f, const tab_table *t, bool explain,
                     Tabella__Prediction **ret, tab_error *err)
{
    return score(e, f, t, explain, true, ret, err);
}

tab_status tab_score_any(const tab_engine *e, const tab_fitted *f, const tab_table *t, bool explain,
                         Tabella__Prediction **ret, tab_error *err)
{
    return score(e, f, t, explain, false, ret, err);
}
