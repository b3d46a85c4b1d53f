/* See held_out.h: how good the answers for one target are, for an endpoint's report. The daemon calls
 * tab_evaluate on the rows that an endpoint is pinned to.
 *
 *   strata ─> units, partition.c ─> (train, held) ─> answer_held.c   profile and fit on train, score held
 *          ─> grade    classify, regress, detect or separate; the weakest slice (slice.c); doubts.c
 *          ─> future   the last rows held out as well, where time orders them; future.c */
#include "services/inference/engine/evaluate/held_out.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/evaluate/answer_quality.h"
#include "services/inference/engine/evaluate/doubts.h"
#include "services/inference/engine/evaluate/parts.h"
#include "services/inference/engine/evaluate/quality_metrics.h"
#include "services/inference/engine/evaluate/slice.h"
#include "services/inference/engine/features/units.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/asked/arrange.h"
#include "services/inference/engine/predict/choose/select.h"
#include "services/inference/engine/profile/given.h"

/* LEAST_ROWS: fewer rows with a target are an error. UNLIKE: the commonest class's share from which on
 * accuracy tells little of two classes, and the headline is the AUC. By hand. */
enum { LEAST_ROWS = 8 };
static const double UNLIKE = 0.7;
/* Answers that are off by more are not called calibrated, however few rows there are to tell by. */
static const double MOST_OFF = 0.1;

/* The value of a metric that was added; 0 where it was left out. */
static double metric(const Tabella__HeldOut *h, const char *name)
{
    for (size_t i = 0; i < h->n_metrics; i++)
        if (strcmp(h->metrics[i]->name, name) == 0)
            return h->metrics[i]->value;
    return 0;
}

/* A metric that is not finite (an AUC of one class) is left out. */
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
    h->class_cells = m->classes;
    return true;
}

/* What the held rows of a classification say row by row, for doubts.c. */
typedef struct {
    double *error, *gained, *second; /* misses; log-loss less; probability of the second of two classes */
    bool *is_second, ranked;         /* ranked: the headline is the AUC */
} row_scores;

/* No probability counts for less, as tab_log_loss has it. */
static double log_of(double p)
{
    return log(fmax(1e-7, p));
}

/* Log-loss of the training rows' shares of the classes, with half a row of each, and what the answers have
 * less. common (classes + 1): rows of each class; the last: of none. */
static double shares_loss(const Tabella__Results *r, const uint32_t *truth, size_t n, const size_t *common,
                          size_t classes, double *gained)
{
    double all = 0.5 * (double)classes, loss = 0;
    for (size_t k = 0; k < classes; k++)
        all += (double)common[k];
    for (size_t i = 0; i < n; i++) {
        bool known = truth[i] < classes;
        double share = known ? ((double)common[truth[i]] + 0.5) / all : 0;
        loss -= log_of(share);
        gained[i] = (known ? log_of(r->probabilities[i * classes + truth[i]]) : log_of(0)) - log_of(share);
    }
    return n > 0 ? loss / (double)n : 0;
}

/* Metrics of a classification. The baseline answers the commonest class of the training rows, or their
 * shares. False: the arena is full. */
static bool classify(tab_arena *a, const tab_table *test, const tab_table *train, size_t target,
                     const Tabella__Prediction *m, Tabella__HeldOut *h, row_scores *of)
{
    const Tabella__Results *r = m->results;
    size_t n = r->n_row, classes = n > 0 ? r->n_probabilities / n : 0, hits = 0;
    const uint32_t *truth = tab_truth_of(a, &test->col[target], n, m->classes, classes);
    const uint32_t *seen = tab_truth_of(a, &train->col[target], train->rows, m->classes, classes);
    size_t *count = tab_arena_new_of(a, size_t, 3 * (classes + 1)); /* truth, answered, both */
    /* common: of the training rows; count: true, answered and both, one list after the other */
    size_t *common = tab_arena_new_of(a, size_t, classes + 1), top = 0, baseline = 0, most = 0;
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
        of->error[i] = !hit;
        hits += hit;
        baseline += truth[i] == top;
        confidence[i] = r->probabilities[i * classes + r->label[i]];
        of->second[i] = classes == 2 ? r->probabilities[2 * i + 1] : 0;
        of->is_second[i] = truth[i] == 1;
        count[truth[i]]++;
        count[classes + 1 + r->label[i]]++;
        count[2 * (classes + 1) + truth[i]] += hit;
    }
    for (size_t k = 0; k < classes; k++)
        most = count[k] > most ? count[k] : most;
    double accuracy = (double)hits / (double)n, base = (double)baseline / (double)n;
    double ece = tab_ece(r->probabilities, truth, n, classes);
    double auc = tab_auc_classes(r->probabilities, truth, n, classes);
    double loss = tab_log_loss(r->probabilities, truth, n, classes);
    double alone = shares_loss(r, truth, n, common, classes, of->gained);
    /* the headline figure, then all of them: of two classes unlike in size the one that hits tell little of
     * is told by its rank */
    of->ranked = classes == 2 && isfinite(auc) && (double)most >= UNLIKE * (double)n;
    h->metric = tab_text(of->ranked ? "auc" : "accuracy");
    h->score = of->ranked ? auc : accuracy;
    add_metric(a, h, "accuracy", accuracy);
    add_metric(a, h, "auc", auc);
    add_metric(a, h, "log_loss", loss);
    add_metric(a, h, "ece", ece);
    add_metric(a, h, "baseline_majority", base);
    add_metric(a, h, "baseline_log_loss", alone);
    add_metric(a, h, "skill", alone > 0 ? 1 - loss / alone : (double)NAN);
    add_metric(a, h, "lift_pp", 100 * (accuracy - base));
    if (!add_classes(a, m, count, classes, h))
        return false;
    /* Calibrated: neither the mean confidence nor its bins are off by more than chance explains. */
    double z = tab_calibration_z(r->probabilities, truth, n, classes);
    h->calibrated = fabs(z) < 2.58 && ece < fmin(0.02 + 1.6 / sqrt((double)n), MOST_OFF);
    if (!tab_calibration_classes(a, confidence, of->error, n, &h->calibration, &h->n_calibration))
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
    return tab_calibration_quantiles(a, truth, m, r, n, &h->calibration, &h->n_calibration);
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
        tab_arena_printf(a, "80%% intervals have a mean width of %.3g standard deviations of the target",
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
    /* the mean score on either side; the share of flagged rows, with a two-sided test at 1 % of what is
     * expected */
    above /= flagged > 0 ? (double)flagged : 1;
    below /= flagged < n ? (double)(n - flagged) : 1;
    double share = (double)flagged / (double)n,
           slack = 2.58 * sqrt(m->expected_share * (1 - m->expected_share) / (double)n) + 0.01;
    h->metric = tab_text("score_separation");
    h->score = flagged > 0 && flagged < n ? above - below : 0;
    add_metric(a, h, "score_separation", h->score);
    add_metric(a, h, "flagged_share", share);
    add_metric(a, h, "baseline_share", m->expected_share);
    add_metric(a, h, "lift_pp", 100 * h->score); /* rows flagged at random are apart by 0 in the mean */
    h->calibrated = fabs(share - m->expected_share) < slack;
    h->spread =
        tab_arena_printf(a, "%.1f%% of held-out rows are at or above the threshold; %.1f%% were expected",
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
        tab_arena_printf(a, "%.1f%% of held-out rows are at or above the threshold; %.1f%% are labelled",
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

/* Metrics, baseline and weakest slice of the answers m. False: the arena is full. */
static bool grade(const tab_engine *e, const tab_held_part *s, const tab_evaluate_options *o,
                  const Tabella__Prediction *m, Tabella__HeldOut *h)
{
    tab_arena *a = e->arena;
    size_t rows = s->p->table->rows, anomalies = 0, n = h->test_rows;
    bool labels = s->task == TAB_TASK_ANOMALY && o->labels, *anomaly = NULL, ok;
    if (labels && (anomaly = tab_arena_new_of(a, bool, n + 1)) == NULL)
        return false;
    /* labelled anomalies among the held rows, in their order */
    for (size_t i = 0, k = 0; labels && i < rows; i++)
        if (s->part.test[i])
            anomalies += anomaly[k++] = s->class[i] == 1;
    h->stratified = (s->task == TAB_TASK_CLASSIFICATION || labels) && !s->apart;
    row_scores of = { .error = tab_arena_new_of(a, double, n + 1),
                      .gained = tab_arena_new_of(a, double, n + 1),
                      .second = tab_arena_new_of(a, double, n + 1),
                      .is_second = tab_arena_new_of(a, bool, n + 1) };
    double *truth = tab_arena_new_of(a, double, n + 1), *seen = tab_arena_new_of(a, double, s->present + 1);
    if (tab_arena_full(a))
        return false;
    bool classes = s->task == TAB_TASK_CLASSIFICATION, numbers = s->task == TAB_TASK_REGRESSION;
    if (classes)
        ok = classify(a, s->held, s->train, o->target, m, h, &of);
    else if (numbers)
        ok = regress(a, truth, seen, tab_read_truth(s, o->target, truth, seen), m, h, of.error);
    else
        ok = anomalies > 0 ? detect(a, m, anomaly, h, of.error) : separate(a, m, h);
    if (!ok)
        return false;
    /* a slice needs an error by row */
    h->weakest_slice = tab_text("");
    if (s->task != TAB_TASK_ANOMALY || labels)
        h->target = tab_column_ref(a, s->p->table, o->table, o->target);
    if (s->task != TAB_TASK_ANOMALY || anomalies > 0)
        h->weakest_slice = tab_slices(a, s->p, s->part.test, o->target, of.error,
                                      numbers ? metric(h, "rmse") : -1, o->table, &h->slices, &h->n_slices);
    tab_doubts d = { .error = classes || numbers ? of.error : NULL,
                     .truth = numbers ? truth : NULL,
                     .gained = classes ? of.gained : NULL,
                     .chance = of.ranked ? of.second : NULL,
                     .positive = of.is_second,
                     .missing = 1 - (double)s->present / (double)rows,
                     .labels = labels,
                     .anomalies = anomalies };
    return tab_doubt(e, &s->part, &d, h) && h->weakest_slice != NULL;
}

/* What goes together where rows are held out: as asked for, or what the rows themselves say. */
static tab_status part_rows(const tab_engine *e, const tab_evaluate_options *o, tab_held_part *s,
                            Tabella__HeldOut *h, tab_error *err)
{
    tab_arena *a = e->arena;
    const tab_profile *p = s->p;
    size_t rows = p->table->rows;
    tab_partition_by by = { .class = s->class, .rows = rows, .seed = e->seed };
    if (o->split == TAB_SPLIT_TIME)
        by.time = tab_times_of(&p->col[o->by], rows);
    by.apart = o->split == TAB_SPLIT_GROUP ? tab_groups_of(a, &p->col[o->by], rows, true) : o->entity;
    bool apart = by.time != NULL || (o->split == TAB_SPLIT_GROUP && by.apart != NULL);
    if (s->task != TAB_TASK_ANOMALY &&
        !tab_units_find(a, p, o->target, s->task == TAB_TASK_REGRESSION, &s->units))
        return failed(e, err);
    if (apart && (by.time == NULL || s->units.kind != TAB_UNITS_COPIES))
        s->units = (tab_units){ 0 };
    /* groups of one target need not be keys */
    bool found = s->units.kind == TAB_UNITS_GROUPS && s->units.column == o->by;
    if (!apart && (o->split == TAB_SPLIT_TIME || (o->split == TAB_SPLIT_GROUP && !found)))
        return tab_fail(err, TAB_VALIDATION, "options.split",
                        "this column neither orders nor groups the rows");
    by.unit = s->units.unit;
    if (by.unit != NULL && by.apart != NULL &&
        (by.apart = tab_units_joined(a, by.unit, by.apart, rows)) == NULL)
        return failed(e, err);
    s->apart = by.time != NULL || by.apart != NULL;
    if (!tab_partition_rows(a, &by, &s->part))
        return failed(e, err);
    if (by.time != NULL && by.unit != NULL && 10 * s->part.held < s->present) {
        by.time = NULL; /* what comes late is copies: the others are held out at random */
        s->apart = by.apart != NULL;
        if (!tab_partition_rows(a, &by, &s->part))
            return failed(e, err);
    }
    h->test_rows = s->part.held;
    if (h->test_rows == 0 || h->test_rows == s->present) /* one entity: nothing can be held out */
        return tab_fail(err, TAB_VALIDATION, "target.column", "the rows cannot be split for evaluation");
    bool group = o->split == TAB_SPLIT_GROUP || (by.apart == NULL && s->units.kind == TAB_UNITS_GROUPS);
    h->unit = tab_text(group                                  ? "group"
                       : by.time == NULL && o->entity != NULL ? "entity"
                       : by.unit != NULL && by.time == NULL   ? "copies"
                                                              : "row");
    h->note = tab_text("Estimated on held-out rows of this snapshot; serving uses all of its rows.");
    if (s->units.kind == TAB_UNITS_GROUPS) {
        tab_str c = tab_column_address(a, p->table, s->units.column);
        h->note = tab_arena_printf(
            a,
            "%s All rows of one %.*s share a target, so they were held out together and the score is for "
            "rows with a new %.*s. A known one is answered from its rows.",
            h->note, (int)(c.n < 64 ? c.n : 64), c.p, (int)(c.n < 64 ? c.n : 64), c.p);
    } else if (s->units.kind == TAB_UNITS_COPIES) {
        h->note = tab_arena_printf(
            a,
            "%s %zu rows are copies of others or differ from them in one cell; copies were held out "
            "together.",
            h->note, s->units.copies);
    }
    return h->note != NULL ? TAB_OK : failed(e, err);
}

tab_status tab_evaluate(const tab_engine *e, const tab_table *t, const tab_evaluate_options *o,
                        Tabella__HeldOut **ret, tab_error *err)
{
    static const char *const names[] = { "", "classification", "regression", "anomaly" };
    tab_arena *a = e->arena;
    tab_profile *p = NULL;
    tab_held_part s = { 0 };
    TAB_TRY(tab_profile_given(e, t, o->given, &p, err));
    t = p->table;
    TAB_TRY(settle_task(a, p, o, &s.task, err));
    s.p = p;
    s.class = tab_arena_new_of(a, uint32_t, t->rows + 1);
    Tabella__HeldOut *h = tab_message(a, Tabella__HeldOut, TABELLA__HELD_OUT__INIT);
    if (s.class == NULL || h == NULL)
        return failed(e, err);
    /* which rows are held out */
    s.present = strata(p, o, s.task, s.class);
    if (s.present < LEAST_ROWS)
        return tab_fail(err, TAB_VALIDATION, "target.column",
                        "too few rows have a target (%zu) to hold any out for evaluation", s.present);
    TAB_TRY(part_rows(e, o, &s, h, err));
    /* fit without them, and compare the answers with what they are */
    s.train = tab_partition_table(a, t, s.part.test, false);
    s.held = tab_partition_table(a, t, s.part.test, true);
    if (s.train == NULL || s.held == NULL)
        return failed(e, err);
    Tabella__Prediction *m = NULL;
    TAB_TRY(tab_answer_held(e, o, s.task, s.part.test, s.train, s.held, &m, err));
    h->task = tab_text(names[s.task]);
    h->split_method = tab_text("in_context_holdout");
    h->train_rows = s.present - h->test_rows;
    h->seed = e->seed;
    if (!grade(e, &s, o, m, h))
        return failed(e, err);
    TAB_TRY(tab_future(e, o, &s, m, h, err));
    *ret = h;
    return TAB_OK;
}
