/* Tables whose target is noise: what is said of the answers is what is true of them. A score may flatter in
 * two ways: rows that tell of each other (copies, near copies, rows of one group) lie on both sides of a
 * split, or a score is of rows that chose something. Both show here, where nothing can be known.
 *
 * For each kind and seed a table is made and fitted, its own answers are judged, a report is written, and
 * fresh rows of the same make tell the truth. All errors are shares of what the baseline errs on the same
 * rows. TAB_NOISE=20 is the long form with that many seeds (`make bench-noise`). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/evaluate/evaluate.h"
#include "services/inference/engine/evaluate/judge.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

enum { SHORT = 3, MOST_COLS = 208, FRESH = 1000 };

/* One kind of noise. A row is a copy of row `of`, which stands for itself or was made by the seed. */
typedef struct {
    const char *name;
    size_t rows, copies, numbers, codes, levels, words;
    size_t changed; /* cells of a copy that are drawn anew */
    size_t groups;  /* the target is the group's; 0: the row's */
    bool id;        /* each row has an id and a number of its own */
    bool regression, walk;
    double share; /* of the first class */
} kind;

// clang-format off
static const kind kinds[] = {
    { "plain", .rows = 150, .copies = 1, .numbers = 5, .codes = 1, .levels = 4, .share = 0.5 },
    { "copied rows", .rows = 150, .copies = 3, .numbers = 4, .codes = 1, .levels = 4, .share = 0.5 },
    { "copies under new ids", .rows = 100, .copies = 3, .numbers = 3, .codes = 2, .levels = 4, .id = true, .share = 0.5 },
    { "near copies", .rows = 100, .copies = 3, .numbers = 5, .codes = 1, .levels = 4, .changed = 1, .share = 0.5 },
    { "one label a group", .rows = 400, .copies = 1, .numbers = 4, .groups = 50, .share = 0.5 },
    { "survey rows", .rows = 400, .copies = 1, .codes = 3, .levels = 3, .share = 0.5 },
    { "many levels", .rows = 300, .copies = 1, .numbers = 2, .codes = 2, .levels = 100, .share = 0.5 },
    { "texts", .rows = 150, .copies = 1, .numbers = 1, .words = 6, .share = 0.5 },
    { "wide", .rows = 100, .copies = 1, .numbers = 200, .share = 0.5 },
    { "few of a class", .rows = 300, .copies = 1, .numbers = 5, .codes = 1, .levels = 4, .share = 0.15 },
    { "numbers", .rows = 150, .copies = 1, .numbers = 5, .codes = 1, .levels = 4, .regression = true },
    { "copied numbers", .rows = 100, .copies = 3, .numbers = 4, .codes = 1, .levels = 4, .id = true, .regression = true },
    { "near copies of numbers", .rows = 100, .copies = 3, .numbers = 5, .codes = 1, .levels = 4, .changed = 1, .regression = true },
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
    if (k->regression)
        tab_builder_number(b, normal(seed ^ (0x7a + 131 * strlen(k->name) + (unsigned char)k->name[0]), of, 0));
    else
        tab_builder_text(b, draw(seed ^ (0x7a + 131 * strlen(k->name) + (unsigned char)k->name[0]), of, 0) < k->share ? TAB_S("yes") : TAB_S("no"));
}

/* The table of a kind; its last column is the target. Rows stand in a random order where they are copied. */
static tab_table *make(tab_arena *a, const kind *k, uint64_t seed, size_t rows)
{
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, MOST_COLS);
    size_t n = rows * k->copies, cols = 0;
    char buf[200], name[32];
    size_t all = (k->id ? 2 : 0) + (k->groups > 0) + k->numbers + k->codes + (k->words > 0) + 1;
    for (size_t c = 0; c < all; c++) {
        snprintf(name, sizeof name, "c%zu", c);
        tab_builder *b =
            tab_builder_new(a, tab_arena_copy(a, tab_str_of(c + 1 == all ? "target" : name)));
        size_t at = c;
        for (size_t i = 0; i < n; i++) {
            /* copies lie a third of the table apart */
            size_t row = i % rows, copy = i / rows, own = at;
            if (c + 1 == all) {
                target_cell(k, b, seed, row);
                continue;
            }
            if (k->id && own < 2) {
                if (own == 0) {
                    snprintf(buf, sizeof buf, "K%06zu", (size_t)(draw(seed, i, 77) * 1e6));
                    tab_builder_text(b, tab_str_of(buf));
                } else {
                    tab_builder_number(b, (double)(seed % 7 * 1000 + i));
                }
                continue;
            }
            own -= k->id ? 2 : 0;
            if (k->groups > 0 && own == 0) {
                snprintf(buf, sizeof buf, "G%llu%zu", (unsigned long long)seed % 100, row % k->groups);
                tab_builder_text(b, tab_str_of(buf));
                continue;
            }
            own -= k->groups > 0;
            uint64_t s = cell_seed(k, seed, row, copy, own);
            if (own < k->numbers) {
                tab_builder_number(b, floor(1e4 * normal(s, row, own)) / 1e4);
            } else if (own < k->numbers + k->codes) {
                double u = draw(s, row, 300 + own);
                snprintf(buf, sizeof buf, "v%zu", (size_t)(u * u * (double)k->levels));
                tab_builder_text(b, tab_str_of(buf));
            } else {
                text_of(buf, sizeof buf, s, row, k->words);
                tab_builder_text(b, tab_str_of(buf));
            }
        }
        cr_assert(tab_builder_finish(b, &col[cols++]));
    }
    *t = (tab_table){ .id = TAB_S("noise"), .rows = n, .cols = cols, .col = col };
    return t;
}

/* Errors as shares of the baseline's on the same rows: what a run says, what a report says, what is true. */
typedef struct {
    double run, report, truth;
    double run_off, report_off; /* errors said less the true one, by what the baseline truly errs */
    bool inside; /* the truth lies in the report's interval */
    bool doubted;
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
                         const tab_table *fresh, double *ret_base)
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
        *ret_base = sqrt(base / (double)fresh->rows);
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
    *ret_base = base / (double)fresh->rows;
    return own / base;
}

static told measure(const kind *k, uint64_t seed)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_engine e = { .arena = a };
    tab_table *t = make(a, k, seed, k->rows);
    kind single = *k;
    single.copies = 1;
    tab_table *fresh = make(a, &single, seed + 50000, FRESH);
    tab_task task = k->regression ? TAB_TASK_REGRESSION : TAB_TASK_CLASSIFICATION;
    size_t target = t->cols - 1;
    tab_profile *p = NULL;
    TAB_AUTO(tab_fitted) *f = NULL;
    Tabella__Prediction *m = NULL, *of = NULL;
    Tabella__HeldOut *h = NULL;
    told ret = { 0 };
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    bool number = true;
    if (k->regression)
        cr_assert(tab_view_as_number(a, &p->col[target], t->rows, &number) && number);
    tab_fit_options o = { .task = task, .target = target };
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
    cr_assert(tab_judge(&e, p, 0, target, NULL, m));
    ret.run = m->error / m->baseline;
    tab_error err = { 0 };
    cr_assert_eq(tab_score_any(&e, f, fresh, false, &of, &err), TAB_OK, "%s %s", err.param, err.message);
    double of_base;
    ret.truth = true_share(a, k, of, t, fresh, &of_base);
    ret.run_off = m->error / of_base - ret.truth;
    tab_evaluate_options how = { .task = task, .target = target, .split = TAB_SPLIT_RANDOM };
    if (m->split->by != NULL) {
        how.split = strcmp(m->split->kind, "time") == 0 ? TAB_SPLIT_TIME : TAB_SPLIT_GROUP;
        how.by = m->split->by->column;
    }
    e.seed = seed + 1;
    cr_assert_eq(tab_evaluate(&e, t, &how, &h, NULL), TAB_OK);
    double base = metric(h, k->regression ? "baseline_mean" : "baseline_majority");
    double error = k->regression ? metric(h, "rmse") : 1 - metric(h, "accuracy");
    ret.report = error / (k->regression ? base : 1 - base);
    ret.report_off = error / of_base - ret.truth;
    ret.doubted = h->low_confidence;
    return ret;
}

Test(noise, is_said_to_be_noise, .timeout = 3000)
{
    const char *asked = getenv("TAB_NOISE"), *only = getenv("TAB_NOISE_KIND");
    size_t seeds = asked != NULL ? strtoul(asked, NULL, 10) : SHORT;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double run = 0, report = 0, truth = 0, sq = 0, sqr = 0, ro = 0, po = 0;
        size_t doubted = 0;
        if (only != NULL && strcmp(only, kinds[i].name) != 0)
            continue;
        for (size_t s = 0; s < seeds; s++) {
            told x = measure(&kinds[i], 100 + s);
            run += x.run - x.truth, report += x.report - x.truth, truth += x.truth, doubted += x.doubted;
            ro += x.run_off / (double)seeds, po += x.report_off / (double)seeds;
            sq += (x.run - x.truth) * (x.run - x.truth), sqr += (x.report - x.truth) * (x.report - x.truth);
        }
        double n = (double)seeds;
        run /= n, report /= n, truth /= n;
        if (asked != NULL)
            fprintf(stderr, "%-24s truth %.3f  run %+.3f (%.3f)  report %+.3f (%.3f)  off %+.3f %+.3f doubted %zu of %zu\n",
                    kinds[i].name, truth, run, sqrt(fmax(0, sq / n - run * run) / n), report,
                    sqrt(fmax(0, sqr / n - report * report) / n), ro, po, doubted, seeds);
    }
}
