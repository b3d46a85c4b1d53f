/* Tables whose target is noise: what is said of the answers is what is true of them. A score may flatter in
 * two ways: rows that tell of each other (copies, near copies, rows of one group) lie on both sides of a
 * split, or a score is of rows that chose something. Both show here, where nothing can be known (decisions
 * 0391, 0392).
 *
 * For each kind and seed a table is made and fitted, its own answers are judged, a report is written, and
 * fresh rows of the same make tell the truth. An error is told as a share of what the baseline errs on the
 * same rows: 1 says that nothing is known. The long form, `make bench-noise`, has TAB_NOISE=20 seeds and
 * prints a line a kind; TAB_NOISE_KIND is one of them. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/evaluate/answer_quality.h"
#include "services/inference/engine/evaluate/held_out.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

enum { SHORT = 4, MOST_COLS = 208, FRESH = 1000 };
/* In the mean of a kind no score may flatter by more, beside three standard errors; nor may it of all kinds.
 * */
static const double MOST = 0.05, MOST_OF_ALL = 0.02;

/* One kind of noise: rows, each `copies` times, and what they hold. */
typedef struct {
    const char *name;
    size_t rows, copies, numbers, codes, levels, words;
    size_t changed; /* cells of a copy that are drawn anew */
    size_t groups;  /* the target is the group's; 0: the row's */
    bool id;        /* each row has an id and a number of its own */
    bool days;      /* groups are days */
    bool regression;
    double share; /* of the first class */
} kind;

// clang-format off
static const kind kinds[] = {
    { "plain", .rows = 150, .copies = 1, .numbers = 5, .codes = 1, .levels = 4, .share = 0.5 },
    { "copied rows", .rows = 150, .copies = 3, .numbers = 4, .codes = 1, .levels = 4, .share = 0.5 },
    { "copies under new ids", .rows = 100, .copies = 3, .numbers = 3, .codes = 2, .levels = 4,
      .id = true, .share = 0.5 },
    { "near copies", .rows = 100, .copies = 3, .numbers = 5, .codes = 1, .levels = 4,
      .changed = 1, .share = 0.5 },
    { "one label a group", .rows = 400, .copies = 1, .numbers = 4, .groups = 50, .share = 0.5 },
    { "one label a day", .rows = 360, .copies = 1, .numbers = 3, .groups = 60, .days = true, .share = 0.5 },
    { "ids", .rows = 120, .copies = 1, .numbers = 3, .id = true, .share = 0.5 },
    { "few rows", .rows = 40, .copies = 1, .numbers = 3, .codes = 1, .levels = 3, .share = 0.5 },
    { "survey rows", .rows = 400, .copies = 1, .codes = 3, .levels = 3, .share = 0.5 },
    { "many levels", .rows = 300, .copies = 1, .numbers = 2, .codes = 2, .levels = 100, .share = 0.5 },
    { "texts", .rows = 150, .copies = 1, .numbers = 1, .words = 6, .share = 0.5 },
    { "wide", .rows = 100, .copies = 1, .numbers = 200, .share = 0.5 },
    { "few of a class", .rows = 300, .copies = 1, .numbers = 5, .codes = 1, .levels = 4, .share = 0.15 },
    { "numbers", .rows = 150, .copies = 1, .numbers = 5, .codes = 1, .levels = 4, .regression = true },
    { "copied numbers", .rows = 100, .copies = 3, .numbers = 4, .codes = 1, .levels = 4,
      .id = true, .regression = true },
    { "near copies of numbers", .rows = 100, .copies = 3, .numbers = 5, .codes = 1, .levels = 4,
      .changed = 1, .regression = true },
    { "one number a group", .rows = 400, .copies = 1, .numbers = 4, .groups = 50, .regression = true },
};
// clang-format on

static double draw(uint64_t seed, size_t a, size_t b)
{
    return tab_unit(tab_mix2(tab_mix2(seed, a), b));
}

static double normal(uint64_t seed, size_t a, size_t b)
{
    return sqrt(-2 * log(1 - draw(seed, a, 2 * b))) * cos(2 * 3.14159265358979 * draw(seed, a, 2 * b + 1));
}

/* Copy `copy` of row `row`: which seed its cell c is drawn with. */
static uint64_t cell_seed(const kind *k, uint64_t seed, size_t row, size_t copy, size_t c)
{
    size_t cols = k->numbers + k->codes;
    for (size_t i = 0; copy > 0 && i < k->changed; i++)
        if ((size_t)(draw(seed + 7 * copy, row, 900 + i) * (double)cols) == c)
            return seed + 1000 * copy;
    return seed;
}

static void text_of(char *buf, size_t n, uint64_t seed, size_t row, size_t words)
{
    static const char *const part[] = { "ka", "lo", "mir", "ten", "su", "pra", "vel", "on" };
    size_t at = 0;
    for (size_t w = 0; w < words && at + 16 < n; w++) {
        for (size_t s = 0; s < 2; s++)
            at += (size_t)snprintf(buf + at, n - at, "%s",
                                   part[(size_t)(draw(seed, row, 500 + 2 * w + s) * 8)]);
        at += (size_t)snprintf(buf + at, n - at, "%s", w + 1 < words ? " " : "");
    }
}

static void target_cell(const kind *k, tab_builder *b, uint64_t seed, size_t row)
{
    size_t of = k->groups > 0 ? row % k->groups : row;
    uint64_t own = seed ^ (uint64_t)(0x7a + 131 * (k - kinds)); /* kinds do not share their noise */
    if (k->regression)
        tab_builder_number(b, normal(own, of, 0));
    else
        tab_builder_text(b, draw(own, of, 0) < k->share ? TAB_S("yes") : TAB_S("no"));
}

/* What column `own` of the features holds in a copy of a row. */
static void feature_cell(const kind *k, tab_builder *b, uint64_t seed, size_t row, size_t copy, size_t own)
{
    char buf[200];
    uint64_t s = cell_seed(k, seed, row, copy, own);
    if (own < k->numbers) {
        tab_builder_number(b, floor(1e4 * normal(s, row, own)) / 1e4);
        return;
    }
    double u = draw(s, row, 300 + own);
    if (own < k->numbers + k->codes)
        snprintf(buf, sizeof buf, "v%zu", (size_t)(u * u * (double)k->levels));
    else
        text_of(buf, sizeof buf, s, row, k->words);
    tab_builder_text(b, tab_str_of(buf));
}

/* An id and a number of each row's own, or the row's group. */
static void key_cell(const kind *k, tab_builder *b, uint64_t seed, size_t i, size_t column)
{
    char buf[32];
    if (k->id && column == 1) {
        tab_builder_number(b, (double)(seed % 7 * 1000 + i));
        return;
    }
    if (k->id)
        snprintf(buf, sizeof buf, "K%06zu", (size_t)(draw(seed, i, 77) * 1e6));
    else if (k->days) /* fresh ones are of another year */
        snprintf(buf, sizeof buf, "%d-%02zu-%02zu", seed < 50000 ? 2024 : 2025, 1 + i % k->groups / 28,
                 1 + i % k->groups % 28);
    else
        snprintf(buf, sizeof buf, "G%llu-%zu", (unsigned long long)seed, i % k->groups);
    tab_builder_text(b, tab_str_of(buf));
}

/* The table of a kind; its last column is the target. Copies lie a table's length apart. */
static tab_table *make(tab_arena *a, const kind *k, uint64_t seed, size_t copies, size_t rows)
{
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, MOST_COLS);
    size_t keys = k->id ? 2 : k->groups > 0, cols = keys + k->numbers + k->codes + (k->words > 0) + 1;
    for (size_t c = 0; c < cols; c++) {
        const char *name = c + 1 == cols ? "target" : tab_arena_printf(a, "c%zu", c);
        tab_builder *b = tab_builder_new(a, tab_str_of(name));
        for (size_t i = 0; i < rows * copies; i++) {
            if (c + 1 == cols)
                target_cell(k, b, seed, i % rows);
            else if (c < keys)
                key_cell(k, b, seed, i, c);
            else
                feature_cell(k, b, seed, i % rows, i / rows, c - keys);
        }
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    *t = (tab_table){ .id = TAB_S("noise"), .rows = rows * copies, .cols = cols, .col = col };
    return t;
}

/* Errors as shares of the baseline's on the same rows: what a run says, what a report says, what is true. */
typedef struct {
    double run, report, truth;
    bool doubted, bounded, outside; /* the report's score has an interval; its truth lies outside it */
} told;

static double metric(const Tabella__HeldOut *h, const char *name)
{
    for (size_t i = 0; i < h->n_metrics; i++)
        if (strcmp(h->metrics[i]->name, name) == 0)
            return h->metrics[i]->value;
    return (double)NAN;
}

/* Of fresh rows: the model's error and that of the commonest class, or of the mean, of the fitted rows. */
static double true_share(tab_arena *a, const kind *k, const Tabella__Prediction *m, const tab_table *t,
                         const tab_table *fresh)
{
    const tab_column *y = &fresh->col[fresh->cols - 1], *seen = &t->col[t->cols - 1];
    double own = 0, base = 0, mean = 0;
    if (k->regression) {
        for (size_t i = 0; i < t->rows; i++)
            mean += tab_cell_at(seen, i).num / (double)t->rows;
        for (size_t i = 0; i < fresh->rows; i++) {
            double v = tab_cell_at(y, i).num;
            own += (v - m->results->value[i]) * (v - m->results->value[i]);
            base += (v - mean) * (v - mean);
        }
        return sqrt(own / base);
    }
    size_t classes = m->results->n_probabilities / m->results->n_row, top = 0;
    const uint32_t *was = tab_truth_of(a, seen, t->rows, m->classes, classes);
    const uint32_t *is = tab_truth_of(a, y, fresh->rows, m->classes, classes);
    size_t *count = tab_arena_new_of(a, size_t, classes + 1);
    for (size_t i = 0; i < t->rows; i++)
        count[was[i]]++;
    for (size_t c = 1; c < classes; c++)
        top = count[c] > count[top] ? c : top;
    for (size_t i = 0; i < fresh->rows; i++)
        own += is[i] != m->results->label[i], base += is[i] != top;
    return own / base;
}

/* What a report's score is in truth: the accuracy of answers to what is drawn by itself, an AUC of a half, or
 * the share of the variance that answers other than the mean lose. */
static double true_score(const kind *k, const Tabella__HeldOut *h, const Tabella__Prediction *m)
{
    double sum = 0;
    size_t n = m->results->n_row;
    if (!k->regression)
        return strcmp(h->metric, "auc") == 0 || k->share == 0.5 ? 0.5 : (double)NAN;
    for (size_t i = 0; i < n; i++)
        sum += m->results->value[i] * m->results->value[i];
    return -sum / (double)n;
}

static told measure(const kind *k, uint64_t seed)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_engine e = { .arena = a };
    tab_table *t = make(a, k, seed, k->copies, k->rows), *fresh = make(a, k, seed + 50000, 1, FRESH);
    tab_task task = k->regression ? TAB_TASK_REGRESSION : TAB_TASK_CLASSIFICATION;
    size_t target = t->cols - 1;
    tab_profile *p = NULL;
    TAB_AUTO(tab_fitted) *f = NULL;
    Tabella__Prediction *m = NULL, *of = NULL;
    Tabella__HeldOut *h = NULL;
    told ret = { 0 };
    bool number = true;
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    if (k->regression)
        cr_assert(tab_view_as_number(a, &p->col[target], t->rows, &number) && number);
    /* a run */
    tab_fit_options o = { .task = task, .target = target };
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
    cr_assert(tab_answer_quality(&e, p, 0, target, NULL, m));
    ret.run = m->error / m->baseline;
    cr_assert_eq(tab_score_any(&e, f, fresh, false, &of, NULL), TAB_OK);
    ret.truth = true_share(a, k, of, t, fresh);
    /* a report, split as the run was */
    tab_evaluate_options how = { .task = task, .target = target, .split = TAB_SPLIT_RANDOM };
    if (m->split->by != NULL) {
        how.split = strcmp(m->split->kind, "time") == 0 ? TAB_SPLIT_TIME : TAB_SPLIT_GROUP;
        how.by = m->split->by->column;
    }
    e.seed = seed;
    cr_assert_eq(tab_evaluate(&e, t, &how, &h, NULL), TAB_OK);
    double base = metric(h, k->regression ? "baseline_mean" : "baseline_majority");
    ret.report = k->regression ? metric(h, "rmse") / base : (1 - metric(h, "accuracy")) / (1 - base);
    ret.doubted = h->low_confidence;
    double score = true_score(k, h, of);
    ret.bounded = h->has_interval && !isnan(score);
    ret.outside = ret.bounded && (score < h->score_low || score > h->score_high);
    return ret;
}

/* The mean of n values, of which `sum` and the sum of squares are known, and its standard error. */
typedef struct {
    double sum, square, n;
} mean;

static void add(mean *m, double x)
{
    m->sum += x, m->square += x * x, m->n++;
}

static double error_of(const mean *m)
{
    double at = m->sum / m->n;
    return sqrt(fmax(0, m->square / m->n - at * at) / fmax(1, m->n - 1));
}

Test(noise, is_said_to_be_noise, .timeout = 3600)
{
    const char *asked = getenv("TAB_NOISE"), *only = getenv("TAB_NOISE_KIND");
    size_t seeds = asked != NULL ? strtoul(asked, NULL, 10) : SHORT, reports = 0, doubted = 0;
    size_t bounded = 0, outside = 0;
    mean all = { 0 };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        mean run = { 0 }, report = { 0 }, truth = { 0 };
        if (only != NULL && strcmp(only, kinds[i].name) != 0)
            continue;
        size_t off = 0;
        for (size_t s = 0; s < seeds; s++) {
            told x = measure(&kinds[i], 100 + s);
            add(&run, x.run - x.truth), add(&report, x.report - x.truth), add(&truth, x.truth);
            add(&all, x.run - x.truth), add(&all, x.report - x.truth);
            doubted += x.doubted, reports++;
            bounded += x.bounded, outside += x.outside, off += x.outside;
        }
        cr_expect_gt(run.sum / run.n, -MOST - 3 * error_of(&run), "%s: a run flatters", kinds[i].name);
        cr_expect_gt(report.sum / report.n, -MOST - 3 * error_of(&report), "%s: a report flatters",
                     kinds[i].name);
        if (asked != NULL)
            fprintf(stderr, "%-24s truth %.3f  run %+.3f (%.3f)  report %+.3f (%.3f)  outside %zu\n",
                    kinds[i].name, truth.sum / truth.n, run.sum / run.n, error_of(&run),
                    report.sum / report.n, error_of(&report), off);
    }
    if (asked != NULL)
        fprintf(stderr, "outside the 95 %% interval of the score: %zu of %zu\n", outside, bounded);
    cr_expect_gt(all.sum / all.n, -MOST_OF_ALL);
    cr_expect_gt(10 * bounded, 9 * reports);
    cr_expect_gt(20 * doubted, 17 * reports, "%zu of %zu reports are doubted", doubted, reports);
}
