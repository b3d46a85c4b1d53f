/* What a prediction says of the regimes in which its rows are asked, for fitted.c: the regime of each row,
 * the answers of later ones, and how good answers of each kind were for labelled rows kept apart in the
 * same way. No figure is of rows that made it: later rows are judged by weights and bands of other cuts,
 * the others by the quantiles of other folds (cross-conformal: Vovk, Annals of Mathematics and AI 2015). */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* What stands, before earlier cuts, for the fitted model, which is more: the cheapest base. */
static const char PLAIN[] = "base-1";

static double limit(double v, double lo, double hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

void tab_write_classes(const tab_fitted *f, Tabella__Results *r, size_t i, const double *p)
{
    size_t best = 0;
    double all = 0;
    for (size_t k = 0; k < f->classes; k++) {
        assert(!(p[k] < 0));
        all += p[k];
        r->probabilities[i * f->classes + k] = p[k];
        best = p[k] > p[best] ? k : best;
    }
    assert(!(all > 1 + 1e-5)); /* what is missing is left to classes that nobody knows */
    r->label[i] = (uint32_t)best;
}

/* A target that was never negative, or never positive, stays so; beyond its range it may go. */
void tab_write_number(const tab_fitted *f, Tabella__Results *r, size_t i, double value, double spread,
                      const double *quantile)
{
    double least = f->least >= 0 ? 0 : -1.7e308, most = f->most <= 0 ? 0 : 1.7e308;
    r->value[i] = limit(value, least, most);
    r->std[i] = limit(spread, 0, 1e308);
    for (size_t l = 0; l < TAB_LEVELS; l++)
        r->quantiles[i * TAB_LEVELS + l] = limit(quantile[l], least, most);
    tab_check_quantiles(r->quantiles + i * TAB_LEVELS);
}

/* Writes result `i` of a later row of the table: drawn to the shares, or wider, where its numbers lie farther
 * out than later rows did before. */
void tab_ahead_write(const tab_fitted *f, Tabella__Results *r, size_t i, size_t row)
{
    const tab_ahead *h = f->ahead;
    double far = f->far != NULL ? (double)f->far[row] : 0, quantile[TAB_LEVELS];
    if (f->task == TAB_TASK_CLASSIFICATION) {
        tab_write_classes(f, r, i, h->probability + row * f->classes);
        double *p = r->probabilities + i * f->classes;
        double all = 0;
        for (size_t k = 0; far > 0 && k < f->classes; k++)
            all += p[k];
        for (size_t k = 0; far > 0 && k < f->classes; k++)
            p[k] = (1 - far) * p[k] + far * all * exp((double)f->stack->prior[k]);
        if (far > 0)
            tab_write_classes(f, r, i, p);
        return;
    }
    double value = h->value[row], spread = h->spread[row], wide = 1;
    if (far > 0 && spread > 0)
        wide = sqrt(1 + far * f->scale * f->scale / (spread * spread));
    for (size_t l = 0; l < TAB_LEVELS; l++)
        quantile[l] = value + wide * (h->quantile[row * TAB_LEVELS + l] - value);
    tab_write_number(f, r, i, value, wide * spread, quantile);
}

/* The name that a regime goes by: rows before all labelled ones are not later. */
static tab_regime said(const tab_fitted *f, uint8_t regime)
{
    return f->asked.turned && regime == TAB_REGIME_LATER ? TAB_REGIME_ALIKE : (tab_regime)regime;
}

/* The regime of each result; nothing where all rows are alike. False: the arena is full. */
bool tab_regimes_write(tab_arena *a, const tab_fitted *f, Tabella__Results *r)
{
    bool any = false;
    for (size_t i = 0; f->asked.of != NULL && i < r->n_row; i++)
        any = any || said(f, f->asked.of[r->row[i]]) != TAB_REGIME_ALIKE;
    if (!any)
        return true;
    r->n_regime = r->n_row;
    r->regime = tab_arena_new_of(a, uint32_t, r->n_row + 1);
    for (size_t i = 0; r->regime != NULL && i < r->n_row; i++)
        r->regime[i] = said(f, f->asked.of[r->row[i]]);
    return r->regime != NULL;
}

static const char *const split_names[] = { "auto", "random", "time", "group" };

/* How the fitted rows were kept apart. NULL: the arena is full. */
Tabella__Split *tab_split_message(tab_arena *a, const tab_fitted *f)
{
    Tabella__Split *m = tab_message(a, Tabella__Split, TABELLA__SPLIT__INIT);
    if (m == NULL)
        return NULL;
    m->kind = tab_text(split_names[f->split.kind]);
    m->reason = tab_text(tab_arena_copy(a, tab_str_of(f->split.reason)).p);
    m->metric = tab_text(f->split.measured ? "skill" : "");
    m->score = f->split.score;
    m->random_score = f->split.random_score;
    if (f->split.column == f->cols)
        return m;
    m->by = tab_message(a, Tabella__ColumnRef, TABELLA__COLUMN_REF__INIT);
    if (m->by == NULL)
        return NULL;
    tab_str address = tab_arena_copy(a, f->column[f->split.column].address);
    m->by->table = f->table;
    m->by->column = (uint32_t)f->split.column;
    m->by->address = (ProtobufCBinaryData){ address.n, (uint8_t *)tab_text(address.p) };
    return m;
}

/* The split's score is of the rows that all else is said of, out of fold. How much more rows kept apart at
 * random would have said, a small model told. */
void tab_split_score(tab_fitted *f)
{
    tab_arrangement *r = &f->split;
    double gap = r->kind == TAB_SPLIT_RANDOM ? 0 : r->random_score - r->score;
    r->score = f->stack->prior_loss > 0 ? 1 - f->stack->loss / f->stack->prior_loss : 0;
    r->random_score = fmin(1, r->score + gap);
}

/* False: the arena is full. */
static bool says_apart(tab_fitted *f, const tab_ahead_apart *of)
{
    bool one = of->times < 2;
    if (of->rows > 0)
        f->split.reason = tab_arena_printf(
            f->arena,
            "%s; %zu rows of the %s known %s are farther off than any before, as if %s incomplete; "
            "nothing is learned from them, and intervals are widened to include them",
            f->split.reason, of->rows, f->asked.turned ? "first" : "last",
            one ? "time" : tab_arena_printf(f->arena, "%.0f times", of->times),
            one ? "it were" : "they were");
    if (of->stuck > 0 && f->split.reason != NULL)
        f->split.reason = tab_arena_printf(
            f->arena,
            "%s; %zu rows repeat the %s value of their series as none before did, as if it were stuck; "
            "nothing is learned from them, and intervals are widened to include that value",
            f->split.reason, of->stuck, f->asked.turned ? "first" : "last");
    return f->split.reason != NULL;
}

/* The split's score and reason by what earlier cuts bore out. False: the arena is full. */
static bool says(tab_fitted *f)
{
    const tab_ahead *h = f->ahead;
    double loss = 0;
    if (f->alone) {
        f->split.measured = false;
        f->split.reason = tab_arena_printf(
            f->arena, "%s; all rows with a target belong to one group, so how groups differ is not known",
            f->split.reason);
        return f->split.reason != NULL;
    }
    if ((h == NULL || h->judged == 0) && f->asked.rows[TAB_REGIME_LATER] > 0 &&
        f->split.kind == TAB_SPLIT_TIME) {
        f->split.measured = false;
        f->split.reason = tab_arena_printf(
            f->arena,
            "%s; too few rows %s cut to evaluate such rows, so the figures are for the known rows, split by "
            "time",
            f->split.reason, f->asked.turned ? "follow a later" : "precede an earlier");
        return f->split.reason != NULL;
    }
    const tab_later *served = f->later[TAB_LATER];
    if (served != NULL && h == NULL)
        return says_apart(f, tab_later_apart(served));
    if (h == NULL || f->split.kind != TAB_SPLIT_TIME)
        return true;
    for (size_t k = 0; k < h->ranges; k++)
        loss += h->range[k].loss;
    f->split.measured = true;
    f->split.score = h->mean_loss > 0 ? 1 - loss / h->mean_loss : 0;
    f->split.reason = tab_arena_printf(
        f->arena,
        "%s: evaluated on %zu rows %s cut%s, where predictions are %.0f%% better than the %s %s the cut; "
        "for rows split at random a small model is %.0f%% better. Predicted by %s",
        f->split.reason, h->judged,
        tab_arena_printf(f->arena, f->asked.turned ? "before %zu later" : "after %zu earlier", h->origins),
        h->origins == 1 ? "" : "s", 100 * fmax(0, f->split.score),
        f->task == TAB_TASK_CLASSIFICATION ? "shares" : "mean", f->asked.turned ? "after" : "before",
        100 * fmax(0, f->split.random_score), h->method);
    if (!says_apart(f, &h->apart))
        return false;
    if (f->unseen > 0 && f->split.reason != NULL)
        f->split.reason = tab_arena_printf(
            f->arena,
            "%s; %zu rows to predict belong to a series without a known target and are predicted as a "
            "new group",
            f->split.reason, f->unseen);
    if (h->unbornes > 0 && f->split.reason != NULL)
        f->split.reason = tab_arena_printf(
            f->arena,
            "%s; %zu rows to predict are at a time of year that no row with a target is at, or have a value "
            "or a day of the week that no evaluated row has: their predictions are not borne out, and "
            "their intervals are wider",
            f->split.reason, h->unbornes);
    if (h->unknown > 0 && f->split.reason != NULL)
        f->split.reason = tab_arena_printf(
            f->arena,
            "%s; %zu of these rows are of a class that no row %s their cut has, so up to %.0f%% of a "
            "prediction is reserved for unknown classes",
            f->split.reason, h->novel, f->asked.turned ? "after" : "before", 100 * h->unknown);
    return f->split.reason != NULL;
}

/* How far out, by the range before, the rows after the middle of the labelled ones' times lie. False:
 * memory. */
static bool drifted(const tab_asked *asked, size_t rows, const double *x, double *ret)
{
    const double *when = asked->series.when;
    double *time = malloc((rows + 1) * sizeof *time), least = (double)NAN, most = (double)NAN;
    size_t n = 0;
    *ret = 0;
    if (time == NULL)
        return false;
    for (size_t r = 0; r < rows; r++)
        if (!asked->open[r] && !isnan(when[r]))
            time[n++] = when[r];
    qsort(time, n, sizeof *time, tab_ascending_double);
    double middle = n > 0 ? time[n / 2] : 0;
    free(time);
    for (size_t r = 0; r < rows; r++)
        if (!asked->open[r] && when[r] < middle)
            least = fmin(least, x[r]), most = fmax(most, x[r]);
    for (size_t r = 0; r < rows; r++)
        if (!asked->open[r] && when[r] >= middle)
            *ret = fmax(*ret, tab_beyond_range(least, most, x[r]));
    return true;
}

/* Marks the asked rows with a number out of the range of the labelled rows. Later rows are judged by rows
 * after earlier cuts, and are out of range where they lie farther out than these did. False: the arena is
 * full, or memory. */
static bool mark_far(const tab_profile *p, const bool *asked, tab_fitted *f)
{
    f->far = tab_arena_new_of(f->arena, float, f->rows + 1);
    for (size_t c = 0; f->far != NULL && c < f->cols; c++) {
        tab_values values = tab_values_of(&p->col[c]);
        const double *x;
        double least = (double)NAN, most = (double)NAN, unknown[2] = { -1, -1 }, drift = -1;
        if (!tab_numbers_read(f->arena, f->column[c].levels, &values, f->rows, &x))
            return false;
        if (!f->column[c].used || x == NULL || p->col[c].type == TAB_DATETIME ||
            p->col[c].type == TAB_BOOLEAN)
            continue;
        for (size_t r = 0; r < f->rows; r++)
            if (!asked[r])
                least = fmin(least, x[r]), most = fmax(most, x[r]);
        for (size_t r = 0; r < f->rows; r++) {
            double d = asked[r] ? tab_beyond_range(least, most, x[r]) : 0;
            bool later = d > 0 && f->asked.of[r] == TAB_REGIME_LATER;
            if (later && drift < 0 && !drifted(&f->asked, f->rows, x, &drift))
                return false;
            if (!(d > 0) || (later && d <= drift))
                continue;
            if (unknown[0] < 0 && !tab_beyond_of(f, x, least, most, unknown))
                return false;
            double moves = unknown[x[r] > most] * d;
            if (f->task == TAB_TASK_CLASSIFICATION)
                f->far[r] = fmaxf(f->far[r], tab_beyond_classes(unknown[x[r] > most], d));
            else
                f->far[r] += (float)(moves * moves);
            if (f->asked.of[r] == TAB_REGIME_ALIKE) {
                f->asked.of[r] = TAB_REGIME_OUT_OF_RANGE;
                f->asked.rows[TAB_REGIME_ALIKE]--;
                f->asked.rows[TAB_REGIME_OUT_OF_RANGE]++;
            }
        }
    }
    return f->far != NULL;
}

/* Of log-probabilities only `left` is borne out: the rest is the classes' shares. */
void tab_draw_to_shares(const tab_stack *s, double left, float *out)
{
    for (size_t k = 0; left < 1 && k < s->outputs; k++)
        out[k] = (float)log(left * exp((double)out[k]) + (1 - left) * exp((double)s->prior[k]) + 1e-12);
}

float tab_asked_beyond(const tab_fitted *f, size_t row, float *out)
{
    const tab_stack *s = f->stack;
    if (f->asked.of == NULL)
        return 0;
    bool fresh = f->asked.of[row] == TAB_REGIME_NEW_GROUP && f->split.kind == TAB_SPLIT_RANDOM;
    if (fresh && s->classification)
        tab_draw_to_shares(s, f->split.fresh_left, out);
    float far = f->far != NULL ? f->far[row] : 0;
    if (s->classification)
        tab_draw_to_shares(s, 1 - (double)far, out);
    return far + (f->few != NULL ? f->few[row] : 0) +
           (fresh && !s->classification ? (float)f->split.fresh_gap : 0);
}

/* How the rows without a target lie to the others. */
tab_status tab_fit_regimes(const tab_profile *p, size_t own, bool served, tab_fitted *f, tab_error *err)
{
    bool *asked = tab_arena_new_of(f->arena, bool, f->rows + 1);
    if (asked == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < f->rows; i++)
        asked[i] = f->task == TAB_TASK_CLASSIFICATION ? f->label[i] == TAB_NULL : isnan(f->y[i]);
    TAB_TRY(tab_regime_find(f->arena, p, f->target, own, asked, &f->asked, err));
    bool ok = served || tab_regime_turn(f->rows, &f->asked);
    ok = ok && (f->asked.asked == 0 || (mark_far(p, asked, f) && (served || tab_one_value(p, f))));
    return ok ? TAB_OK : tab_no_memory(err);
}

/* What answers the rows that come later, or before: those that are asked, and those that will be served. */
tab_status tab_fit_ahead(const tab_engine *e, const tab_profile *p, const bool *use, bool served,
                         tab_fitted *f, tab_error *err)
{
    bool asked = f->asked.rows[TAB_REGIME_LATER] > 0;
    served = served && f->clock.s != NULL;
    if (!asked && !served)
        return says(f) ? TAB_OK : tab_no_memory(err);
    double *y = tab_arena_new_of(f->arena, double, f->rows + 1);
    uint64_t *hash = tab_arena_new_of(f->arena, uint64_t, f->rows + 1);
    if (y == NULL || hash == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < f->rows; i++)
        hash[f->data->row[i]] = f->data->hash[i];
    /* the cells themselves: f->y is rounded, and what it rounds to is neither 0 nor whole */
    tab_column_profile own = p->col[f->target];
    bool numbers = true;
    if (f->task == TAB_TASK_REGRESSION && own.type != TAB_DATETIME &&
        !tab_view_as_number(f->arena, &own, f->rows, &numbers))
        return tab_no_memory(err);
    const double *number = own.number;
    for (size_t i = 0; f->task == TAB_TASK_REGRESSION && i < f->rows; i++)
        y[i] = isnan(f->y[i]) ? (double)NAN : number[i];
    tab_ahead_task t = { .p = p,
                         .use = use,
                         .classification = f->task == TAB_TASK_CLASSIFICATION,
                         .classes = f->classes,
                         .label = f->label,
                         .y = y,
                         .asked = &f->asked,
                         .hash = hash,
                         .seed = e->seed };
    const tab_base *plain = NULL;
    if (asked)
        TAB_TRY(tab_ahead_few(f->arena, &t, &f->ahead, err));
    if (asked && f->ahead == NULL)
        TAB_TRY(tab_ahead_run(e, f->arena, &t, &f->ahead, err));
    if (!tab_unseen_series(e, f))
        return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
    t.served = true;
    if (served) {
        tab_asked turned;
        if (!tab_regime_turned(f->arena, f->rows, &f->asked, &turned))
            return tab_no_memory(err);
        TAB_TRY(tab_base_find(PLAIN, &plain, err));
        TAB_TRY(tab_later_fit(e, f->arena, &t, &turned, &plain->recipe, f->later, err));
        if (f->later[TAB_LATER] != NULL && !tab_fresh_fit(e, &plain->recipe, f))
            return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled")
                                           : tab_no_memory(err);
    }
    return says(f) ? TAB_OK : tab_no_memory(err);
}

Tabella__Results *tab_fitted_judged(tab_arena *a, const tab_fitted *f)
{
    const tab_ahead *h = f->ahead;
    if (h == NULL || h->judged == 0 || f->split.kind != TAB_SPLIT_TIME)
        return NULL;
    Tabella__Results *r = tab_results_new(a, f, h->judged);
    if (r == NULL || tab_arena_full(a))
        return NULL;
    memcpy(r->row, h->row, h->judged * sizeof *r->row);
    for (size_t i = 0; i < h->judged && f->task == TAB_TASK_CLASSIFICATION; i++) {
        const double *p = h->judged_probability + i * f->classes;
        for (size_t k = 0; k < f->classes; k++) {
            r->probabilities[i * f->classes + k] = p[k];
            r->label[i] = p[k] > p[r->label[i]] ? (uint32_t)k : r->label[i];
        }
    }
    if (f->task == TAB_TASK_REGRESSION) {
        memcpy(r->value, h->judged_value, h->judged * sizeof *r->value);
        memcpy(r->quantiles, h->judged_quantile, h->judged * TAB_LEVELS * sizeof *r->quantiles);
    }
    return r;
}

/* A line of m->regimes; metric and regime are filled. NULL: the arena is full. */
static Tabella__RegimeQuality *line(tab_arena *a, const tab_fitted *f, tab_regime regime,
                                    Tabella__Prediction *m)
{
    Tabella__RegimeQuality *q = tab_message(a, Tabella__RegimeQuality, TABELLA__REGIME_QUALITY__INIT);
    if (q == NULL)
        return NULL;
    q->regime = tab_text(tab_regime_names[said(f, (uint8_t)regime)]);
    q->metric = tab_text(f->task == TAB_TASK_REGRESSION ? "rmse" : "log_loss");
    m->regimes[m->n_regimes++] = q;
    return q;
}

static double mean_of(const tab_fitted *f, double sum, double n)
{
    double mean = n > 0 ? sum / n : 0;
    mean = f->task == TAB_TASK_REGRESSION ? sqrt(mean) : mean;
    return isfinite(mean) ? mean : 0;
}

/* Later rows, by range of distances: the asked ones of each. */
static bool later(tab_arena *a, const tab_fitted *f, Tabella__Prediction *m)
{
    const tab_ahead *h = f->ahead;
    size_t rows[TAB_AHEAD_RANGES] = { 0 };
    for (size_t r = 0; r < f->rows; r++)
        if (h->answered[r] && !h->unborne[r]) { /* the range whose mean is nearest */
            size_t best = 0;
            for (size_t k = 1; k < h->ranges; k++)
                if (fabs(h->range[k].distance - h->distance[r]) <
                    fabs(h->range[best].distance - h->distance[r]))
                    best = k;
            rows[best]++;
        }
    for (size_t k = 0; k < h->ranges; k++) {
        const tab_ahead_quality *own = &h->range[k];
        if (own->judged == 0 && rows[k] == 0)
            continue;
        Tabella__RegimeQuality *q = line(a, f, TAB_REGIME_LATER, m);
        if (q == NULL)
            return false;
        q->rows = rows[k];
        q->judged = own->judged;
        q->score = mean_of(f, own->loss, (double)own->judged);
        q->baseline = mean_of(f, own->baseline, (double)own->judged);
        q->has_coverage = h->banded && own->judged > 0;
        q->coverage = q->has_coverage ? (double)own->covered / (double)own->judged : 0;
        q->has_distance = true;
        q->distance = own->distance;
    }
    Tabella__RegimeQuality *q = h->unbornes > 0 ? line(a, f, TAB_REGIME_LATER, m) : NULL;
    if (q != NULL)
        q->rows = h->unbornes; /* none like them was judged */
    return h->unbornes == 0 || q != NULL;
}

/* How many asked rows a known one stands for. */
static double stands_for(const tab_fitted *f, size_t i)
{
    return f->mix != NULL ? (double)f->mix[i] : 1;
}

/* The share of rows within the 80 % interval of the other folds' residuals. NaN: memory. */
static double cross_coverage(const tab_fitted *f)
{
    const tab_stack *s = f->stack;
    tab_weighed *other = malloc((f->rows + 1) * sizeof *other);
    double in = 0, all = 0;
    for (size_t k = 0; other != NULL && k < s->folds; k++) {
        size_t n = 0;
        for (size_t i = 0; i < f->rows; i++)
            if (!isnan(f->problem.y[i]) && s->fold[i] != k)
                other[n++] =
                    (tab_weighed){ (double)(f->problem.y[i] - s->oof[i]) / (double)f->interval->oof_scale[i],
                                   stands_for(f, i) };
        qsort(other, n, sizeof *other, tab_ascending_weighed);
        if (n < 10)
            continue;
        double low = tab_weighed_quantile(other, n, 0.1), high = tab_weighed_quantile(other, n, 0.9);
        low = fmin(low, f->interval->wider[1] * low); /* as tab_widen_quantiles */
        high = fmax(high, f->interval->wider[TAB_LEVELS - 2] * high);
        for (size_t i = 0; i < f->rows; i++)
            if (!isnan(f->problem.y[i]) && s->fold[i] == k) {
                double u = (double)(f->problem.y[i] - s->oof[i]) / (double)f->interval->oof_scale[i];
                in += u >= low && u <= high ? stands_for(f, i) : 0, all += stands_for(f, i);
            }
    }
    bool ok = other != NULL;
    free(other);
    return ok && all > 0 ? in / all : (double)NAN;
}

/* Log-losses of rows out of fold, at the temperature that other folds' rows have, and of the shares, each as
 * often as it stands for asked ones. False: memory. */
static bool classes_as_asked(const tab_fitted *f, double *loss, double *prior)
{
    const tab_stack *s = f->stack;
    size_t k = s->outputs;
    double all = 0, own = 0, base = 0;
    float *out = malloc((k + 1) * sizeof *out);
    for (size_t i = 0; out != NULL && i < f->data->rows; i++) {
        uint32_t class = f->problem.label[i];
        if (class == TAB_NULL || s->fold[i] >= s->folds)
            continue;
        memcpy(out, s->oof + i * k, k * sizeof *out);
        tab_heat_apply(f->heat[s->fold[i]], k, out);
        double w = stands_for(f, i);
        all += w, own -= w * (double)out[class], base -= w * (double)s->prior[class];
    }
    *loss = all > 0 ? own / all : 0, *prior = all > 0 ? base / all : 0;
    bool ok = out != NULL;
    free(out);
    return ok;
}

/* The mean squared errors of rows out of fold and of the mean, each as often as it stands for asked ones. */
static void as_asked(const tab_fitted *f, double *loss, double *prior)
{
    double all = 0, mean = 0, own = 0, base = 0;
    for (size_t i = 0; i < f->rows; i++)
        if (!isnan(f->problem.y[i])) {
            double w = stands_for(f, i), off = (double)(f->problem.y[i] - f->stack->oof[i]);
            all += w, own += w * off * off, mean += (double)f->problem.y[i];
        }
    mean /= (double)(f->rows - f->asked.asked);
    for (size_t i = 0; i < f->rows; i++)
        if (!isnan(f->problem.y[i]))
            base += stands_for(f, i) * pow((double)f->problem.y[i] - mean, 2);
    *loss = all > 0 ? own / all : 0, *prior = all > 0 ? base / all : 0;
}

/* Rows that are kept apart as the fitted ones were: alike, or of new groups. */
static bool as_fitted(tab_arena *a, const tab_fitted *f, tab_regime regime, Tabella__Prediction *m)
{
    const tab_stack *s = f->stack;
    Tabella__RegimeQuality *q = line(a, f, regime, m);
    if (q == NULL)
        return false;
    q->rows = f->asked.rows[regime];
    q->judged = f->rows - f->asked.asked;
    bool number = f->task == TAB_TASK_REGRESSION;
    double loss = s->loss, prior = s->prior_loss;
    if (f->mix != NULL && !number && !classes_as_asked(f, &loss, &prior))
        return false;
    if (f->mix != NULL && number)
        as_asked(f, &loss, &prior);
    q->score = (number ? sqrt(fmax(0, loss)) * f->scale : loss);
    q->baseline = (number ? sqrt(fmax(0, prior)) * f->scale : prior);
    double covered = number ? cross_coverage(f) : (double)NAN;
    q->has_coverage = !isnan(covered);
    q->coverage = q->has_coverage ? covered : 0;
    return isfinite(q->score) && isfinite(q->baseline) ? true : (q->score = q->baseline = 0, true);
}

bool tab_regime_quality(tab_arena *a, const tab_fitted *f, Tabella__Prediction *m)
{
    if (f->task == TAB_TASK_ANOMALY || f->asked.asked == 0 || f->asked.asked == f->rows)
        return true;
    m->regimes = tab_arena_new_of(a, Tabella__RegimeQuality *, TAB_REGIMES + TAB_AHEAD_RANGES + 1);
    if (m->regimes == NULL || (f->ahead != NULL && !later(a, f, m)))
        return false;
    bool gaps = f->split.kind == TAB_SPLIT_TIME && f->asked.rows[TAB_REGIME_LATER] == 0; /* gaps.h */
    tab_regime kind = f->split.kind == TAB_SPLIT_GROUP            ? TAB_REGIME_NEW_GROUP
                      : gaps || f->split.kind == TAB_SPLIT_RANDOM ? TAB_REGIME_ALIKE
                                                                  : TAB_REGIME_LATER;
    bool none = f->alone || f->cut_off != NULL; /* no known row is as the asked ones are */
    bool judged = kind != TAB_REGIME_LATER && f->asked.rows[kind] > 0 && !none;
    if (judged && !as_fitted(a, f, kind, m))
        return false;
    for (size_t g = 0; g < TAB_REGIMES; g++) {
        bool told =
            (g == kind && !none) || (g == TAB_REGIME_LATER && f->ahead != NULL) || f->asked.rows[g] == 0;
        Tabella__RegimeQuality *q = told ? NULL : line(a, f, (tab_regime)g, m);
        if (q != NULL)
            q->rows = f->asked.rows[g];
    }
    return !tab_arena_full(a);
}
