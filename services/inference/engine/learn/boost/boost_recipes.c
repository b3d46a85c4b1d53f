/* The recipes of boosted trees: how deep, how fast and for how many rounds boost.c fits, and the learners
 * that stacks (engine/recipes.c), imputation and target choice name. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/learn/boost/boost_grow.h"

typedef tab_boost_recipe recipe;

/* The recipes. Rates, depths and shares come from the tables of tests/bench/predict, as whole stacks
 * (decision 0050). Around them answers are flat (decision 0307): DEEP and SHALLOW at 0.7 of their rates,
 * with half and twice of their leaves, or DEEP with half and twice of its least hessian move log-loss by
 * 0.004 of tuned XGBoost's at most; half of the leaves cost 0.011 of RMSE. Half and twice of the leaves of
 * BRISK and FAST impute classes worse by 0.006 of accuracy, half of their rates by 0.004. QUICK chooses
 * targets and was not tried. */
static const recipe DEEP = { .eta = 0.07,
                             .lambda = 2,
                             .min_hess = 1.5,
                             .columns = 0.6,
                             .rows = 0.8,
                             .leaves = 28,
                             .depth = 9,
                             .patience = 30,
                             .salt = 0xb005 };
static const recipe SHALLOW = { .eta = 0.10,
                                .lambda = 2,
                                .min_hess = 2,
                                .columns = 0.7,
                                .rows = 0.9,
                                .leaves = 5,
                                .depth = 3,
                                .patience = 30,
                                .salt = 0x5a11,
                                .slopes = true };
static const recipe FAST = { .eta = 0.2,
                             .lambda = 3,
                             .min_hess = 3,
                             .columns = 0.7,
                             .rows = 0.8,
                             .leaves = 10,
                             .depth = 5,
                             .patience = 12,
                             .salt = 0xfa57 };
static const recipe BRISK = { .eta = 0.13,
                              .lambda = 2,
                              .min_hess = 2,
                              .columns = 0.6,
                              .rows = 0.8,
                              .leaves = 18,
                              .depth = 7,
                              .patience = 15,
                              .salt = 0xb715 };
static const recipe QUICK = { .eta = 0.3,
                              .lambda = 5,
                              .min_hess = 4,
                              .columns = 0.8,
                              .rows = 1,
                              .leaves = 6,
                              .depth = 4,
                              .patience = 6,
                              .salt = 0x90c };

/* Most rounds of each recipe, and the work of one fit: a minute of plain loops at twenty million rows x
 * features a second (decision 0050). */
enum { STEPS = 500, BRISK_STEPS = 180, FAST_STEPS = 120, QUICK_STEPS = 30 };
static const double BUDGET = 1.2e9;

/* Of a round: rows x features x margins, and some 4,000 a feature for the scan over bins. */
static double round_work(const tab_problem *p, size_t n)
{
    double features = (double)(p->enc->n < 300 ? p->enc->n : 300);
    return ((double)n * features + 4000 * features) *
           (double)(p->classification && p->outputs > 2 ? p->outputs : 1);
}

/* Rounds are limited by work: never by the clock. Twenty are made at least, but not of a tree for each of
 * thousands of classes (decision 0192). */
static size_t rounds_for(const tab_problem *p, size_t n, size_t most, double budget)
{
    size_t least = p->classification && p->outputs > TAB_MANY_CLASSES ? 2 : 20;
    double rounds = budget / (round_work(p, n) + 1);
    return rounds >= (double)most ? most : rounds < (double)least ? least : (size_t)rounds;
}

/* Whether all classes share a round's tree (boost_shared.c): where even twenty rounds of a tree a class are
 * more than the budget. Tables of fewer rows are answered as they always were (decision 0385). */
static bool shares(const tab_problem *p, size_t n, double budget)
{
    enum { MANY_ROWS = 40000, LEAST_CLASSES = 5, LEAST_ROUNDS = 20 };
    return p->classification && p->outputs >= LEAST_CLASSES && n >= MANY_ROWS &&
           budget < LEAST_ROUNDS * round_work(p, n);
}

/* Of a round of shared trees: the histograms of one tree, and passes over the margins of all classes. */
static double shared_work(const tab_problem *p, size_t n)
{
    return round_work(p, n) / (double)p->outputs + (double)n * (double)p->outputs;
}

/* A fifth of the recipe's rounds are made at least; of many classes, whose margins cost most, fewer. */
static size_t shared_rounds(const tab_problem *p, size_t n, size_t most, double budget)
{
    size_t least = most / 5;
    if (p->outputs > TAB_MANY_CLASSES)
        least = 2 + least * TAB_MANY_CLASSES / p->outputs;
    double rounds = budget / shared_work(p, n);
    return rounds >= (double)most ? most : rounds < (double)least ? least : (size_t)rounds;
}

/* Whether trees have anything to split: of many classes a tree each is grown, and one of a class of fewer
 * than five rows stays a single leaf (its rows' h sum to less than two leaves' least). False where most rows
 * are of such classes, and where memory is out. */
static bool splits(const tab_problem *p)
{
    enum { LEAST_ROWS = 5 };
    if (!p->classification || p->outputs <= TAB_MANY_CLASSES)
        return true;
    uint32_t *count = calloc(p->outputs, sizeof *count);
    size_t rows = 0, common = 0;
    for (size_t i = 0; count != NULL && i < p->data->rows; i++)
        if (p->label[i] != TAB_NULL)
            rows++, count[p->label[i]]++;
    for (size_t k = 0; count != NULL && k < p->outputs; k++)
        common += count[k] >= LEAST_ROWS ? count[k] : 0;
    free(count);
    return 2 * common >= rows && rows > 0;
}

/* For the budget: rounds that a full fit makes. */
static double boost_work(const tab_problem *p, size_t n)
{
    if (!splits(p))
        return 0;
    if (shares(p, n, BUDGET))
        return shared_work(p, n) * (double)shared_rounds(p, n, STEPS, BUDGET);
    double features = (double)(p->enc->n < 300 ? p->enc->n : 300);
    return (double)n * features * (double)(p->classification && p->outputs > 2 ? p->outputs : 1) *
           (double)rounds_for(p, n, STEPS, BUDGET);
}

/* Rows of a round of shared trees: of a million rows 0.7 of the work of all in each round, for 1.003 of their
 * log-loss. */
static const double SHARED_ROWS = 250000;

/* A fit that has fewer rounds than its rate asks for takes longer steps, up to 0.3: it ends near the same
 * place. */
static tab_boost *fit_with(const recipe *own, size_t steps, double budget, const tab_problem *p,
                           const tab_fit_task *t, double *curve)
{
    recipe r = *own;
    size_t most = rounds_for(p, t->n, steps, budget);
    if (curve != NULL)
        for (size_t i = 0; i <= steps; i++)
            curve[i] = INFINITY;
    if (shares(p, t->n, budget)) { /* a tree for all takes longer steps than a tree a class */
        r.shared = true;
        r.eta = fmin(0.3, 2.8 * r.eta);
        r.rows = fmin(r.rows, SHARED_ROWS / (double)t->n);
        return tab_boost_fit(p, t, &r, shared_rounds(p, t->n, steps, budget), curve);
    }
    if (p->classification && p->outputs > 2)
        r.eta *= 1.4;         /* a tree a class each round: fewer, longer steps */
    double want = 14 / r.eta; /* rounds that a full fit at this rate takes */
    if ((double)most < want)
        r.eta = fmin(0.3, r.eta * want / (double)most);
    return tab_boost_fit(p, t, &r, most, curve);
}

static void *fit_deep(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    return fit_with(&DEEP, STEPS, BUDGET, p, t, curve);
}

static void *fit_shallow(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    return fit_with(&SHALLOW, STEPS, BUDGET, p, t, curve);
}

static void *fit_brisk(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    return fit_with(&BRISK, BRISK_STEPS, BUDGET / 8, p, t, curve);
}

static void *fit_fast(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    return fit_with(&FAST, FAST_STEPS, BUDGET / 8, p, t, curve);
}

static void *fit_quick(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    return fit_with(&QUICK, QUICK_STEPS, BUDGET / 40, p, t, curve);
}

/* Two classes have one margin, the log-odds of the second: the first one's output is 0. */
static void boost_predict(const void *model, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                          size_t n, float *out)
{
    const tab_boost *m = model;
    enum { BLOCK = 1024 };
    float z[BLOCK];
    (void)enc;
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t b = n - at < BLOCK ? n - at : BLOCK;
        if (!m->classification || m->margins > 1) {
            tab_boost_margins(m, q, row + at, b, out + at * m->margins);
            continue;
        }
        tab_boost_margins(m, q, row + at, b, z);
        for (size_t i = 0; i < b; i++) {
            out[2 * (at + i)] = 0;
            out[2 * (at + i) + 1] = z[i];
        }
    }
}

/* Trees are added up, so an earlier stop is a smaller count of rounds. */
static void boost_stop(void *model, size_t step)
{
    tab_boost *m = model;
    m->rounds = step < m->grown ? step : m->grown;
}

/* Shares of the gain. */
static const float *boost_importance(const void *model)
{
    return ((const tab_boost *)model)->importance;
}

const tab_learner tab_learn_boost = { .name = "boost",
                                      .configs = 1,
                                      .work = boost_work,
                                      .fit = fit_deep,
                                      .steps = STEPS,
                                      .stop = boost_stop,
                                      .predict = boost_predict,
                                      .importance = boost_importance };
const tab_learner tab_learn_boost_shallow = { .name = "boost-shallow",
                                              .configs = 1,
                                              .work = boost_work,
                                              .fit = fit_shallow,
                                              .steps = STEPS,
                                              .stop = boost_stop,
                                              .predict = boost_predict,
                                              .importance = boost_importance };
const tab_learner tab_learn_boost_brisk = { .name = "boost-brisk",
                                            .configs = 1,
                                            .work = boost_work,
                                            .fit = fit_brisk,
                                            .steps = BRISK_STEPS,
                                            .stop = boost_stop,
                                            .predict = boost_predict,
                                            .importance = boost_importance };
const tab_learner tab_learn_boost_fast = { .name = "boost-fast",
                                           .configs = 1,
                                           .work = boost_work,
                                           .fit = fit_fast,
                                           .steps = FAST_STEPS,
                                           .stop = boost_stop,
                                           .predict = boost_predict,
                                           .importance = boost_importance };
const tab_learner tab_learn_boost_quick = { .name = "boost-quick",
                                            .configs = 1,
                                            .work = boost_work,
                                            .fit = fit_quick,
                                            .steps = QUICK_STEPS,
                                            .stop = boost_stop,
                                            .predict = boost_predict,
                                            .importance = boost_importance };
