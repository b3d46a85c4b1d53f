/* See evaluate.h: how good the answers for one target are, for an endpoint's report. The daemon calls
 * tab_evaluate on the rows that an endpoint is pinned to.
 *
 *   strata ─> split ─> subset (train, held) ─> answer_held    profile and fit on train, score held
 *          ─> grade    classify, regress, detect or separate; the weakest slice (slice.c); doubts
 *
 * The split is by a hash of the row's number (or entity) and the seed: within each class the quarter with the
 * least hashes is held out, at least one row of a class that has two. So the same snapshot and seed hold out
 * the same rows. */
#include "services/inference/engine/evaluate/evaluate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "common/order.h"
#include "services/inference/engine/evaluate/judge.h"
#include "services/inference/engine/evaluate/quality_metrics.h"
#include "services/inference/engine/evaluate/slice.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/arrange.h"
#include "services/inference/engine/predict/select.h"
#include "services/inference/engine/profile/given.h"

/* LEAST_ROWS: fewer rows with a target are an error. SMALL_TEST and FEW_ANOMALIES: fewer held-out rows or
 * labelled anomalies among them are said to be few (decision 0191). Chosen by hand, not measured. */
enum { LEAST_ROWS = 8, SMALL_TEST = 30, FEW_ANOMALIES = 5 };
/* The share of the rows that is held out; chosen by hand. A target that is missing in more than half of
 * the rows is warned of. */
static const double HELD_SHARE = 0.25, MOSTLY_MISSING = 0.5;
/* Answers that are off by more are not called calibrated, however few rows there are to tell by. */
static const double MOST_OFF = 0.1;

/* A row with a target, as the split orders it. */
typedef struct {
    uint64_t hash;
    uint32_t row, class;
} keyed;

/* For qsort: strata together, then by hash. */
static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* test[row] for every row with a target; class (rows): TAB_NULL where the target is missing. */
static bool split(const uint32_t *class, const uint32_t *entity, size_t rows, uint64_t seed, bool *test)
{
    keyed *k = malloc((rows + 1) * sizeof *k);
    size_t n = 0;
    if (k == NULL)
        return false;
    /* entities go together, so they are not held out class by class */
    for (size_t i = 0; i < rows; i++)
        if (class[i] != TAB_NULL)
            k[n++] = (keyed){ tab_mix2(entity != NULL ? entity[i] : i, seed + 11), (uint32_t)i,
                              entity != NULL ? 0 : class[i] };
    qsort(k, n, sizeof *k, by_key);
    for (size_t i = 0; i < n;) {
        /* one class, or all rows; the first HELD_SHARE of its hashes are held out */
        size_t end = i;
        while (end < n && k[end].class == k[i].class)
            end++;
        size_t want = (size_t)((double)(end - i) * HELD_SHARE + 0.5);
        if (want == 0 && end - i > 1)
            want = 1;
        for (size_t j = i; j < end; j++) {
            /* rows of one entity go together */
            bool same = j > i && entity != NULL && k[j].hash == k[j - 1].hash;
            test[k[j].row] = same ? test[k[j - 1].row] : j - i < want;
        }
        i = end;
    }
    free(k);
    return true;
}

/* A row and its time. */
typedef struct {
    double time;
    uint32_t row;
} dated;

static int by_time(const void *a, const void *b)
{
    const dated *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* test[row] for the last HELD_SHARE of the rows with a target; none has the time of one that stays. False:
 * memory. */
static bool split_late(const uint32_t *class, const double *time, size_t rows, bool *test)
{
    dated *k = malloc((rows + 1) * sizeof *k);
    size_t n = 0;
    if (k == NULL)
        return false;
    for (size_t i = 0; i < rows; i++)
        if (class[i] != TAB_NULL && !isnan(time[i]))
            k[n++] = (dated){ time[i], (uint32_t)i };
    qsort(k, n, sizeof *k, by_time);
    size_t from = n - (size_t)((double)n * HELD_SHARE + 0.5);
    while (from > 0 && from < n && !(k[from].time > k[from - 1].time))
        from++;
    for (size_t i = from; i < n; i++)
        test[k[i].row] = true;
    free(k);
    return true;
}

/* The rows with pick[row] == which, as a table of its own. */
static tab_table *subset(tab_arena *a, const tab_table *t, const bool *pick, bool which)
{
    tab_table *s = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    if (s == NULL || col == NULL)
        return NULL;
    *s = (tab_table){ .id = t->id, .cols = t->cols, .col = col };
    for (size_t c = 0; c < t->cols; c++) {
        /* cells are copied, so that the parts are tables like any other */
        tab_builder *b = tab_builder_new(a, t->col[c].name);
        for (size_t r = 0; b != NULL && r < t->rows; r++)
            if (pick[r] == which)
                tab_builder_cell(b, tab_cell_at(&t->col[c], r));
        if (b == NULL)
            return NULL;
        s->rows = tab_builder_rows(b);
        if (!tab_builder_finish(b, &col[c]))
            return NULL;
    }
    return s;
}

/* A metric that is not finite (an AUC of one class) is left out. */
static double metric(const Tabella__HeldOut *h, const char *name)
{
    for (size_t i = 0; i < h->n_metrics; i++)
        if (strcmp(h->metrics[i]->name, name) == 0)
            return h->metrics[i]->value;
    return 0;
}

static void add_metric(tab_arena *a, Tabella__HeldOut *h, const char *name, double value)
{
    Tabella__Metric *m = tab_message(a, Tabella__Metric, TABELLA__METRIC__INIT);
    if (h->metrics == NULL)
        h->metrics = tab_arena_new_of(a, Tabella__Metric *, 16);
    /* at most 16 metrics a report */
    if (m == NULL || h->metrics == NULL || !isfinite(value))
        return;
    m->name = tab_text(name);
    m->value = value;
    h->metrics[h->n_metrics++] = m;
}

/* Precision, recall and F1 of each class. count (3, classes + 1): rows that are of it, that are answered so,
 * and both. False: the arena is full. */
static bool add_classes(tab_arena *a, const Tabella__Prediction *m, const size_t *count, size_t classes,
                        Tabella__HeldOut *h)
{
    h->per_class = tab_arena_new_of(a, Tabella__ClassMetrics *, classes + 1);
    h->classes = tab_arena_new_of(a, ProtobufCBinaryData, classes + 1);
    for (size_t k = 0; h->per_class != NULL && h->classes != NULL && k < classes; k++) {
        Tabella__ClassMetrics *c = tab_message(a, Tabella__ClassMetrics, TABELLA__CLASS_METRICS__INIT);
        if (c == NULL)
            return false;
        double both = (double)count[2 * (classes + 1) + k], own = (double)count[k];
        double said = (double)count[classes + 1 + k];
        c->label = tab_class_text(a, m->classes, k);
        c->support = count[k];
        c->precision = said > 0 ? both / said : 0;
        c->recall = own > 0 ? both / own : 0;
        c->f1 = own + said > 0 ? 2 * both / (own + said) : 0;
        h->per_class[h->n_per_class++] = c;
        h->classes[h->n_classes++] = c->label;
    }
    return true;
}

/* Metrics of a classification. The baseline answers the commonest class of the training rows. error
 * (rows): 1 for a miss. False: the arena is full. */
static bool classify(tab_arena *a, const tab_table *test, const tab_table *train, size_t target,
                     const Tabella__Prediction *m, Tabella__HeldOut *h, double *error)
{
    const Tabella__Results *r = m->results;
    size_t n = r->n_row, classes = n > 0 ? r->n_probabilities / n : 0, hits = 0;
    const uint32_t *truth = tab_truth_of(a, &test->col[target], n, m->classes, classes);
    const uint32_t *seen = tab_truth_of(a, &train->col[target], train->rows, m->classes, classes);
    size_t *count = tab_arena_new_of(a, size_t, 3 * (classes + 1)); /* truth, answered, both */
    /* common: of the training rows; count: true, answered and both, one list after the other */
    size_t *common = tab_arena_new_of(a, size_t, classes + 1), top = 0, baseline = 0;
    double *confidence = tab_arena_new_of(a, double, n + 1);
    if (truth == NULL || seen == NULL || count == NULL || common == NULL || confidence == NULL)
        return false;
    /* the commonest class of the training rows */
    for (size_t i = 0; i < train->rows; i++)
        common[seen[i]]++;
    for (size_t k = 1; k < classes; k++)
        top = common[k] > common[top] ? k : top;
    /* hits and counts of every held row; its error is whether it was missed */
    for (size_t i = 0; i < n; i++) {
        bool hit = r->label[i] == truth[i];
        error[i] = !hit;
        hits += hit;
        baseline += truth[i] == top;
        confidence[i] = r->probabilities[i * classes + r->label[i]];
        count[truth[i]]++;
        count[classes + 1 + r->label[i]]++;
        count[2 * (classes + 1) + truth[i]] += hit;
    }
    double accuracy = (double)hits / (double)n, base = (double)baseline / (double)n;
    double ece = tab_ece(r->probabilities, truth, n, classes);
    /* the headline figure, then all of them */
    h->metric = tab_text("accuracy");
    h->score = accuracy;
    add_metric(a, h, "accuracy", accuracy);
    add_metric(a, h, "auc", tab_auc_classes(r->probabilities, truth, n, classes));
    add_metric(a, h, "log_loss", tab_log_loss(r->probabilities, truth, n, classes));
    add_metric(a, h, "ece", ece);
    add_metric(a, h, "baseline_majority", base);
    add_metric(a, h, "lift_pp", 100 * (accuracy - base));
    if (!add_classes(a, m, count, classes, h))
        return false;
    /* Calibrated: neither the mean confidence nor its bins are off by more than chance explains. */
    double z = tab_calibration_z(r->probabilities, truth, n, classes);
    h->calibrated = fabs(z) < 2.58 && ece < fmin(0.02 + 1.6 / sqrt((double)n), MOST_OFF);
    if (!tab_calibration_classes(a, confidence, error, n, &h->calibration, &h->n_calibration))
        return false;
    qsort(confidence, n, sizeof *confidence, tab_ascending_double);
    h->spread = tab_arena_printf(a, "confidences from %.2f to %.2f (10th to 90th percentile)",
                                 confidence[n / 10], confidence[n - 1 - n / 10]);
    return !tab_arena_full(a);
}

/* Shares of a spread that is next to nothing (1e-320) end at a double's range. */
static double share_of(double x, double spread)
{
    return spread > 0 ? fmin(x / spread, DBL_MAX) : 0;
}

/* How many held rows lie at or below each quantile: its level, where it is calibrated. False: the arena is
 * full. */
static bool add_quantiles(tab_arena *a, const double *truth, const Tabella__Prediction *m,
                          Tabella__HeldOut *h)
{
    const Tabella__Results *r = m->results;
    size_t n = r->n_row, levels = m->n_quantile_levels;
    h->quantile_calibration = tab_arena_new_of(a, Tabella__QuantileCalibration *, levels + 1);
    for (size_t l = 0; h->quantile_calibration != NULL && l < levels; l++) {
        Tabella__QuantileCalibration *c =
            tab_message(a, Tabella__QuantileCalibration, TABELLA__QUANTILE_CALIBRATION__INIT);
        if (c == NULL)
            return false;
        c->nominal = m->quantile_levels[l];
        for (size_t i = 0; i < n; i++)
            c->observed += (truth[i] <= r->quantiles[i * levels + l]) / (double)n;
        h->quantile_calibration[h->n_quantile_calibration++] = c;
    }
    return tab_calibration_quantiles(a, truth, m, n, &h->calibration, &h->n_calibration);
}

/* Metrics of a regression. All sums are of values over the largest one, so that squares stay finite. 2.58
 * standard errors are a two-sided test at 1 %. error (rows): squared errors. False: the arena is full. */
static bool regress(tab_arena *a, const double *truth, const double *train, size_t trained,
                    const Tabella__Prediction *m, Tabella__HeldOut *h, double *error)
{
    const Tabella__Results *r = m->results;
    size_t n = r->n_row, levels = m->n_quantile_levels, low = 0, high = 0;
    double mean = 0, train_mean = 0, unit = 0;
    /* one unit for all sums */
    for (size_t i = 0; i < n; i++)
        unit = fmax(unit, fmax(fabs(truth[i]), fabs(r->value[i])));
    unit = unit > 0 ? unit : 1; /* squares of values / unit stay finite */
    for (size_t i = 0; i < n; i++)
        mean += truth[i] / unit / (double)n;
    for (size_t i = 0; i < trained; i++)
        train_mean += train[i] / unit / (double)trained;
    /* the levels 0.1 and 0.9, whose interval should cover 80 % */
    double var = 0, mse = 0, mae = 0, base = 0, covered = 0, width = 0;
    for (size_t l = 0; l < levels; l++) {
        low = fabs(m->quantile_levels[l] - 0.1) < 1e-9 ? l : low;
        high = fabs(m->quantile_levels[l] - 0.9) < 1e-9 ? l : high;
    }
    for (size_t i = 0; i < n; i++) {
        double t = truth[i] / unit, d = r->value[i] / unit - t;
        error[i] = d * d;
        mse += d * d / (double)n;
        mae += fabs(d) / (double)n;
        var += (t - mean) * (t - mean) / (double)n;
        base += (t - train_mean) * (t - train_mean) / (double)n;
        const double *q = r->quantiles + i * levels;
        covered += (q[low] <= truth[i] && truth[i] <= q[high]) / (double)n;
        width += (q[high] / unit - q[low] / unit) / (double)n;
    }
    if (!add_quantiles(a, truth, m, h))
        return false;
    /* one less the share of the variance that is left; 0 where there is none */
    double r2 = var > 0 ? 1 - share_of(mse, var) : 0;
    h->metric = tab_text("r2");
    h->score = r2;
    /* back in the target's units, where a figure has any */
    add_metric(a, h, "rmse", sqrt(mse) * unit);
    add_metric(a, h, "nrmse", sqrt(share_of(mse, var)));
    add_metric(a, h, "mae", mae * unit);
    add_metric(a, h, "r2", r2);
    add_metric(a, h, "coverage_80", covered);
    add_metric(a, h, "baseline_mean", sqrt(base) * unit);
    add_metric(a, h, "lift_pp", base > 0 ? 100 * (1 - sqrt(share_of(mse, base))) : 0);
    h->calibrated = fabs(covered - 0.8) < fmin(0.02 + 2.58 * 0.4 / sqrt((double)n), MOST_OFF);
    h->spread =
        tab_arena_printf(a, "80 %% intervals are %.3g standard deviations of the target wide in the mean",
                         share_of(width, sqrt(var)));
    return !tab_arena_full(a);
}

/* Without labels: how far the scores of flagged rows lie above the others', and whether as many are
 * flagged as expected. */
static bool separate(tab_arena *a, const Tabella__Prediction *m, Tabella__HeldOut *h)
{
    const Tabella__Results *r = m->results;
    double above = 0, below = 0;
    size_t flagged = 0, n = r->n_row;
    for (size_t i = 0; i < n; i++) {
        bool hit = r->anomaly_score[i] >= m->threshold;
        flagged += hit;
        *(hit ? &above : &below) += r->anomaly_score[i];
    }
    /* the mean score on either side; the share of flagged rows, with a two-sided test at 1 % of the expected
     * 5 % */
    above /= flagged > 0 ? (double)flagged : 1;
    below /= flagged < n ? (double)(n - flagged) : 1;
    double share = (double)flagged / (double)n, slack = 2.58 * sqrt(0.05 * 0.95 / (double)n) + 0.01;
    h->metric = tab_text("score_separation");
    h->score = flagged > 0 && flagged < n ? above - below : 0;
    add_metric(a, h, "score_separation", h->score);
    add_metric(a, h, "flagged_share", share);
    add_metric(a, h, "baseline_share", m->expected_share);
    add_metric(a, h, "lift_pp", 100 * h->score); /* rows flagged at random are apart by 0 in the mean */
    h->calibrated = fabs(share - m->expected_share) < slack;
    h->spread =
        tab_arena_printf(a, "%.1f %% of held-out rows stand at or above the threshold; %.1f %% were expected",
                         100 * share, 100 * m->expected_share);
    return !tab_arena_full(a);
}

/* Scores against labels. error (rows): rows on the wrong side of the threshold. */
static bool detect(tab_arena *a, const Tabella__Prediction *m, const bool *anomaly, Tabella__HeldOut *h,
                   double *error)
{
    const Tabella__Results *r = m->results;
    /* rows that are flagged, labelled, and both */
    double both = 0, flagged = 0, there = 0, n = (double)r->n_row;
    for (size_t i = 0; i < r->n_row; i++) {
        bool hit = r->anomaly_score[i] >= m->threshold;
        flagged += hit;
        there += anomaly[i];
        both += hit && anomaly[i];
        error[i] = hit != anomaly[i];
    }
    /* the share of flagged rows may be off by 2.58 standard errors */
    double share = flagged / n, base = there / n,
           slack = 2.58 * sqrt(m->expected_share * (1 - m->expected_share) / n) + 0.01;
    h->metric = tab_text("pr_auc");
    h->score = tab_average_precision(r->anomaly_score, anomaly, r->n_row);
    add_metric(a, h, "precision", flagged > 0 ? both / flagged : 0);
    add_metric(a, h, "recall", both / there);
    add_metric(a, h, "pr_auc", h->score);
    add_metric(a, h, "auc", tab_auc(r->anomaly_score, anomaly, r->n_row));
    add_metric(a, h, "flagged_share", share);
    add_metric(a, h, "baseline_share", base);
    add_metric(a, h, "lift_pp", 100 * (h->score - base));
    h->calibrated = fabs(share - m->expected_share) < slack;
    h->spread =
        tab_arena_printf(a, "%.1f %% of held-out rows stand at or above the threshold; %.1f %% are labelled",
                         100 * share, 100 * base);
    return !tab_arena_full(a);
}

/* Why a step gave up. */
static tab_status failed(const tab_engine *e, tab_error *err)
{
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
}

/* Strata of the split: a class's code, a label, one stratum for numbers; TAB_NULL where the target is
 * missing. */
static size_t strata(const tab_profile *p, const tab_evaluate_options *o, tab_task task, uint32_t *class)
{
    size_t present = 0;
    /* labels are strata, so that anomalies stand on both sides */
    if (o->labels && task == TAB_TASK_ANOMALY && tab_anomaly_labels(p, o->target, class)) {
        for (size_t i = 0; i < p->table->rows; i++)
            present += class[i] != TAB_NULL;
        return present;
    }
    for (size_t i = 0; i < p->table->rows; i++) {
        /* one stratum for numbers, one a class for categories */
        class[i] = 0;
        if (task == TAB_TASK_REGRESSION)
            class[i] = isnan(p->col[o->target].number[i]) ? TAB_NULL : 0;
        else if (task == TAB_TASK_CLASSIFICATION && p->col[o->target].code != NULL)
            class[i] = p->col[o->target].code[i];
        else if (task == TAB_TASK_CLASSIFICATION)
            class[i] = isnan(p->col[o->target].number[i]) ? TAB_NULL : 0;
        present += class[i] != TAB_NULL;
    }
    return present;
}

/* The task that is asked for, or the one that the target's type suggests. */
static tab_status settle_task(tab_arena *a, tab_profile *p, const tab_evaluate_options *o, tab_task *task,
                              tab_error *err)
{
    *task = o->task;
    if (*task == TAB_TASK_ANOMALY)
        return TAB_OK;
    if (o->target >= p->table->cols)
        return tab_fail(err, TAB_VALIDATION, "target.column", "no such column");
    tab_column_profile *c = &p->col[o->target];
    if (*task == TAB_TASK_AUTO)
        *task = tab_numeric_target(c) ? TAB_TASK_REGRESSION : TAB_TASK_CLASSIFICATION;
    bool number = true;
    if (*task == TAB_TASK_REGRESSION && c->type != TAB_DATETIME &&
        !tab_view_as_number(a, c, p->table->rows, &number))
        return tab_no_memory(err);
    return number ? TAB_OK : tab_fail(err, TAB_VALIDATION, "task.type", "regression needs a numeric target");
}

/* Adds to the rows that are fitted on, and to the held ones, what linked tables say of them; it is chosen by
 * the first alone. row: which rows of the table they are. */
static tab_status link(const tab_engine *e, const tab_evaluate_options *o, tab_task task, const uint32_t *row,
                       tab_profile **p, const tab_table **held, tab_error *err)
{
    tab_link_set *set = NULL;
    tab_table *wide = NULL;
    bool number = true;
    if (task == TAB_TASK_REGRESSION && (*p)->col[o->target].type != TAB_DATETIME &&
        !tab_view_as_number(e->arena, &(*p)->col[o->target], (*p)->table->rows, &number))
        return tab_no_memory(err);
    if (number)
        TAB_TRY(tab_links_choose(e, o->links, *p, row, o->target, task, &set, err));
    if (set == NULL)
        return TAB_OK;
    TAB_TRY(tab_links_widen(e, o->links, set, *p, row, p, err));
    TAB_TRY(tab_links_rows(e, o->links, set, *held, &wide, err));
    *held = wide;
    return TAB_OK;
}

/* Fits on train, whose columns are profiled anew: nothing of the held-out rows is known to it. *ret: the
 * answers for the held-out rows. */
static tab_status answer_held(const tab_engine *e, const tab_evaluate_options *o, tab_task task,
                              const bool *test, const tab_table *train, const tab_table *held,
                              Tabella__Prediction **ret, tab_error *err)
{
    /* profiled anew: not even the roles know the held rows */
    tab_profile *q = NULL;
    tab_given columns = o->given == NULL ? (tab_given){ 0 } : *o->given;
    columns.missing_auto = false; /* void cells are null by now */
    columns.missing_texts = columns.missing_numbers = 0;
    TAB_TRY(tab_profile_given(e, train, &columns, &q, err));
    if (o->links != NULL && task != TAB_TASK_ANOMALY) {
        uint32_t *row = tab_arena_new_of(e->arena, uint32_t, train->rows + 1);
        for (uint32_t i = 0, n = 0; row != NULL && n < train->rows; i++)
            if (!test[i])
                row[n++] = i;
        if (row == NULL)
            return tab_no_memory(err);
        TAB_TRY(link(e, o, task, row, &q, &held, err));
    }
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_fit_options fit = { .base = o->base,
                            .task = task,
                            .target = o->target,
                            .labels = o->labels,
                            .table = o->table,
                            .own = train->cols,
                            .split = o->split == TAB_SPLIT_TIME || o->split == TAB_SPLIT_GROUP
                                         ? TAB_SPLIT_AUTO
                                         : TAB_SPLIT_RANDOM };
    TAB_TRY(tab_fit(e, q, &fit, &f, err));
    return tab_score_any(e, f, held, false, ret, err);
}

/* The score's 95 % interval: percentiles of RESAMPLES bootstrap samples of the held rows (Efron & Tibshirani,
 * An Introduction to the Bootstrap, 1993). error (n): of each row; truth (n): of numbers, whose variance is
 * sampled along, or NULL. */
enum { RESAMPLES = 200, RESAMPLED_CELLS = 4000000 };
static void interval(const tab_engine *e, const double *error, const double *truth, size_t n,
                     Tabella__HeldOut *h)
{
    double score[RESAMPLES], unit = 0;
    size_t rounds = n * RESAMPLES > RESAMPLED_CELLS ? 40 : RESAMPLES;
    for (size_t i = 0; truth != NULL && i < n; i++)
        unit = fmax(unit, fabs(truth[i]));
    unit = unit > 0 ? unit : 1;
    double all = 0, own = 0;
    for (size_t i = 0; i < n; i++)
        own += error[i];
    for (size_t b = 0; b < rounds; b++) {
        double sum = 0, mean = 0, square = 0;
        for (size_t i = 0; i < n; i++) {
            size_t k = (size_t)(tab_unit(tab_mix2(i + b * n, e->seed ^ 0xb007)) * (double)n);
            double t = truth == NULL ? 0 : truth[k] / unit;
            sum += error[k], mean += t, square += t * t;
        }
        all = square - mean * mean / (double)n;
        score[b] = truth == NULL ? 1 - sum / (double)n : all > 0 ? sum / all : 0;
    }
    qsort(score, rounds, sizeof *score, tab_ascending_double);
    double low = score[rounds / 40], high = score[rounds - 1 - rounds / 40];
    if (truth != NULL) {
        /* errors are in a unit of their own: the share that is left of the score itself says which */
        double mean = 0, square = 0;
        for (size_t i = 0; i < n; i++)
            mean += truth[i] / unit, square += truth[i] / unit * (truth[i] / unit);
        all = square - mean * mean / (double)n;
        double per = own > 0 && all > 0 ? (1 - h->score) / (own / all) : 0;
        double least = 1 - per * high;
        high = 1 - per * low;
        low = least;
    }
    h->has_interval = isfinite(low) && isfinite(high);
    h->score_low = h->has_interval ? fmin(low, h->score) : 0;
    h->score_high = h->has_interval ? fmax(high, h->score) : 0;
}

/* A score whose interval reaches down to the baseline's is doubted. */
static void doubt_score(tab_arena *a, Tabella__HeldOut *h)
{
    double base = 0; /* of r2 */
    for (size_t i = 0; i < h->n_metrics; i++)
        if (strcmp(h->metrics[i]->name, "baseline_majority") == 0)
            base = h->metrics[i]->value;
    if (h->low_confidence || !h->has_interval || h->score_low > base)
        return;
    h->low_confidence = true;
    h->low_confidence_reason = tab_arena_printf(
        a, "a score that is no better than the baseline's beyond chance: 95 %% lie in %.3f to %.3f",
        h->score_low, h->score_high);
}

/* What the report warns of: a mostly missing target, few held-out rows, few labelled anomalies among them. */
static void doubt(tab_arena *a, Tabella__HeldOut *h, double missing, bool labels, size_t anomalies)
{
    h->low_confidence_reason = tab_text("");
    h->low_confidence =
        missing > MOSTLY_MISSING || h->test_rows < SMALL_TEST || (labels && anomalies < FEW_ANOMALIES);
    /* the first of the reasons that holds is given */
    if (missing > MOSTLY_MISSING)
        h->low_confidence_reason =
            tab_arena_printf(a, "a mostly missing target: %.0f %% of the rows have none", 100 * missing);
    else if (h->test_rows < SMALL_TEST)
        h->low_confidence_reason =
            tab_arena_printf(a, "a small test partition: %llu rows", (unsigned long long)h->test_rows);
    else if (h->low_confidence)
        h->low_confidence_reason =
            tab_arena_printf(a, "a small test partition: %zu of its rows are labelled anomalies", anomalies);
}

/* The split of a table, and what is known of its rows. */
typedef struct {
    const tab_profile *p;
    tab_task task;
    uint32_t *class; /* (rows) stratum, TAB_NULL without a target */
    bool *test;      /* (rows) held out */
    size_t present;  /* rows with a target */
    bool apart;      /* held out by time, group or entity */
    tab_table *train, *held;
} partition;

/* Metrics, baseline and weakest slice of the answers m. False: the arena is full. */
static bool grade(const tab_engine *e, const partition *s, const tab_evaluate_options *o,
                  const Tabella__Prediction *m, Tabella__HeldOut *h)
{
    tab_arena *a = e->arena;
    size_t rows = s->p->table->rows, anomalies = 0;
    bool labels = s->task == TAB_TASK_ANOMALY && o->labels, *anomaly = NULL, ok;
    if (labels && (anomaly = tab_arena_new_of(a, bool, h->test_rows + 1)) == NULL)
        return false;
    /* labelled anomalies among the held rows, in their order */
    for (size_t i = 0, n = 0; labels && i < rows; i++)
        if (s->test[i])
            anomalies += anomaly[n++] = s->class[i] == 1;
    h->stratified = (s->task == TAB_TASK_CLASSIFICATION || labels) && !s->apart;
    double *error = tab_arena_new_of(a, double, h->test_rows + 1);
    double *truth = tab_arena_new_of(a, double, h->test_rows + 1),
           *seen = tab_arena_new_of(a, double, s->present + 1);
    if (error == NULL || truth == NULL || seen == NULL)
        return false;
    /* the truth of the held rows, and of the others for the baseline */
    if (s->task == TAB_TASK_CLASSIFICATION) {
        ok = classify(a, s->held, s->train, o->target, m, h, error);
    } else if (s->task == TAB_TASK_REGRESSION) {
        const double *number = s->p->col[o->target].number;
        size_t n = 0, k = 0;
        for (size_t i = 0; i < rows; i++) {
            if (s->test[i])
                truth[n++] = number[i];
            else if (s->class[i] != TAB_NULL)
                seen[k++] = number[i];
        }
        ok = regress(a, truth, seen, k, m, h, error);
    } else {
        ok = anomalies > 0 ? detect(a, m, anomaly, h, error) : separate(a, m, h);
    }
    if (!ok)
        return false;
    /* a slice needs an error by row */
    h->weakest_slice = tab_text("");
    if (s->task != TAB_TASK_ANOMALY || labels)
        h->target = tab_column_ref(a, s->p->table, o->table, o->target);
    if (s->task != TAB_TASK_ANOMALY || anomalies > 0)
        h->weakest_slice = tab_slices(a, s->p, s->test, o->target, error,
                                      s->task != TAB_TASK_REGRESSION ? -1 : metric(h, "rmse"), o->table,
                                      &h->slices, &h->n_slices);
    if (s->task != TAB_TASK_ANOMALY)
        interval(e, error, s->task == TAB_TASK_REGRESSION ? truth : NULL, h->test_rows, h);
    doubt(a, h, 1 - (double)s->present / (double)rows, labels, anomalies);
    doubt_score(a, h);
    return !tab_arena_full(a) && h->weakest_slice != NULL;
}

tab_status tab_evaluate(const tab_engine *e, const tab_table *t, const tab_evaluate_options *o,
                        Tabella__HeldOut **ret, tab_error *err)
{
    static const char *const names[] = { "", "classification", "regression", "anomaly" };
    tab_arena *a = e->arena;
    tab_profile *p = NULL;
    partition s = { 0 };
    TAB_TRY(tab_profile_given(e, t, o->given, &p, err));
    t = p->table;
    TAB_TRY(settle_task(a, p, o, &s.task, err));
    s.p = p;
    s.class = tab_arena_new_of(a, uint32_t, t->rows + 1);
    s.test = tab_arena_new_of(a, bool, t->rows + 1);
    Tabella__HeldOut *h = tab_message(a, Tabella__HeldOut, TABELLA__HELD_OUT__INIT);
    if (s.class == NULL || s.test == NULL || h == NULL)
        return failed(e, err);
    /* which rows are held out */
    s.present = strata(p, o, s.task, s.class);
    if (s.present < LEAST_ROWS)
        return tab_fail(err, TAB_VALIDATION, "target.column",
                        "too few rows have a target to hold any out (%zu)", s.present);
    const double *time = o->split == TAB_SPLIT_TIME ? tab_times_of(&p->col[o->by], t->rows) : NULL;
    const uint32_t *group = o->split == TAB_SPLIT_GROUP ? tab_groups_of(a, &p->col[o->by], t->rows) : NULL;
    if ((o->split == TAB_SPLIT_TIME && time == NULL) || (o->split == TAB_SPLIT_GROUP && group == NULL))
        return tab_fail(err, TAB_VALIDATION, "options.split",
                        "the column neither orders nor groups the rows");
    s.apart = time != NULL || group != NULL || o->entity != NULL;
    if (time != NULL ? !split_late(s.class, time, t->rows, s.test)
                     : !split(s.class, group != NULL ? group : o->entity, t->rows, e->seed, s.test))
        return failed(e, err);
    for (size_t i = 0; i < t->rows; i++)
        h->test_rows += s.test[i];
    if (h->test_rows == 0) /* one entity: nothing can be held out */
        return tab_fail(err, TAB_VALIDATION, "target.column", "the rows cannot be split");
    /* fit without them, and compare the answers with what they are */
    s.train = subset(a, t, s.test, false);
    s.held = subset(a, t, s.test, true);
    if (s.train == NULL || s.held == NULL)
        return failed(e, err);
    Tabella__Prediction *m = NULL;
    TAB_TRY(answer_held(e, o, s.task, s.test, s.train, s.held, &m, err));
    h->task = tab_text(names[s.task]);
    h->split_method = tab_text("in_context_holdout");
    h->train_rows = s.present - h->test_rows;
    h->seed = e->seed;
    h->unit = tab_text(group != NULL ? "group" : time == NULL && o->entity != NULL ? "entity" : "row");
    h->note = tab_text("An estimate on held-out rows of this snapshot; serving uses all of its rows.");
    if (!grade(e, &s, o, m, h))
        return failed(e, err);
    *ret = h;
    return TAB_OK;
}
