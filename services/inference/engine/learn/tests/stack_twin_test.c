/* A stack beside its definition, put together anew from its parts: folds by class, each learner fitted on the
 * other folds' rows, steps and configurations where the held rows' losses are least, answers out of fold,
 * temperatures, weights, and a fold's answers by what the others chose. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/stack/opinion_pool.h"
#include "services/inference/engine/learn/stack/stack_answer.h"

enum { ROWS_MOST = 620, K_MOST = 4, STEPS_MOST = 1200, MEMBERS = 5 };

typedef struct {
    tab_arena *a;
    tab_engine e;
    tab_data *data;
    tab_problem p;
    size_t rows, n;
    uint32_t all[ROWS_MOST]; /* rows with a target */
    uint8_t fold[ROWS_MOST];
    size_t folds;
    uint64_t hash[ROWS_MOST];
} world;

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i + 3, j));
}

/* Two numbers, a target of k classes (1: a number) that hangs on both; every eleventh row has none. copies:
 * each third row is the one before again, with its target. */
static void begin(world *w, size_t rows, size_t k, bool copies)
{
    *w = (world){ .a = tab_arena_new((size_t)1 << 30), .rows = rows };
    w->e.arena = w->a;
    tab_column *col = tab_arena_new_of(w->a, tab_column, 2);
    for (size_t j = 0; j < 2; j++) {
        tab_builder *b = tab_builder_new(w->a, j == 0 ? TAB_S("x") : TAB_S("z"));
        for (size_t i = 0; i < rows; i++)
            tab_builder_number(b, unit(copies ? i - (i % 3 == 2) : i, 1 + j));
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    tab_table *t = tab_arena_new_of(w->a, tab_table, 1);
    *t = (tab_table){ .id = TAB_S("t"), .rows = (uint32_t)rows, .cols = 2, .col = col };
    tab_profile *profile;
    const bool use[] = { true, true };
    cr_assert_eq(tab_profile_table(&w->e, t, &profile, NULL), TAB_OK);
    const tab_encoder *enc = tab_encode_fit(&w->e, w->a, profile, use, &w->data);
    float *y = tab_arena_new_of(w->a, float, rows);
    uint32_t *label = tab_arena_new_of(w->a, uint32_t, rows);
    for (size_t i = 0; i < rows; i++) {
        size_t at = w->data->row[i], c = copies ? at - (at % 3 == 2) : at;
        double v = unit(c, 1) + (unit(c, 2) > .4) + unit(c, 3) / 2;
        y[i] = c % 11 == 10 ? NAN : (float)(v - 1);
        label[i] = c % 11 == 10 ? TAB_NULL : (uint32_t)fmin(v * (double)k / 2.2, (double)k - 1);
        if (c % 11 != 10)
            w->all[w->n++] = (uint32_t)i;
        w->hash[i] = w->data->hash[i];
    }
    w->p = (tab_problem){
        .enc = enc, .data = w->data, .classification = k > 1, .outputs = k, .label = label, .y = y, .seed = 5
    };
}

/* Rows go round the folds class by class, those of one content together; class c begins at fold 3 c. */
static void fold_rows(world *w)
{
    size_t next[K_MOST], groups = 0;
    for (size_t c = 0; c < K_MOST; c++)
        next[c] = 3 * c;
    for (size_t i = 0; i < w->n; i++)
        groups += i == 0 || w->hash[w->all[i]] != w->hash[w->all[i - 1]];
    size_t folds = groups < 500 ? 10 : 8;
    w->folds = w->folds > 0 && w->folds < folds ? w->folds : folds;
    memset(w->fold, 255, sizeof w->fold);
    for (size_t i = 0; i < w->n; i++) {
        uint32_t row = w->all[i];
        if (i > 0 && w->hash[row] == w->hash[w->all[i - 1]])
            w->fold[row] = w->fold[w->all[i - 1]];
        else
            w->fold[row] = (uint8_t)(next[w->p.classification ? w->p.label[row] : 0]++ % w->folds);
    }
}

/* One learner's fits of all folds. */
typedef struct {
    void *model[TAB_FOLDS];
    double *curve[TAB_FOLDS], loss;
} fits;

static void *fit(world *w, const tab_learner *l, size_t fold, size_t config, const fits *lead, double steps,
                 double *curve)
{
    uint32_t context[ROWS_MOST], held[ROWS_MOST];
    tab_fit_task t = {
        .context = context, .held = held, .config = config, .lead_steps = steps, .e = &w->e, .arena = w->a
    };
    for (size_t i = 0; i < w->n; i++)
        if (w->fold[w->all[i]] == fold)
            held[t.held_n++] = w->all[i];
        else
            context[t.n++] = w->all[i];
    t.importance = lead != NULL ? tab_learn_boost_fast.importance(lead->model[fold]) : NULL;
    return l->fit(&w->p, &t, curve);
}

static double least_of(const double *curve, size_t steps, size_t *at)
{
    *at = 0;
    for (size_t s = 1; s <= steps; s++)
        *at = curve[s] < curve[*at] ? s : *at;
    return curve[*at];
}

/* The step at which the folds' losses together are least, without one fold's. */
static size_t common_step(const world *w, const tab_learner *l, const fits *f, size_t but)
{
    double least = INFINITY;
    size_t at = 0;
    for (size_t s = 0; s <= l->steps; s++) {
        double sum = 0;
        for (size_t k = 0; k < w->folds; k++) {
            size_t own = s;
            while (!isfinite(f->curve[k][own]) && own > 0)
                own--;
            sum += k == but ? 0 : f->curve[k][own];
        }
        if (sum < least)
            least = sum, at = s;
    }
    return at;
}

/* What a model loses on the rows that the first fold holds. */
static double held_loss(const world *w, const tab_learner *l, const void *model)
{
    double loss = 0;
    for (uint32_t i = 0; i < w->rows; i++) {
        float out[K_MOST];
        if (w->fold[i] != 0)
            continue;
        l->predict(model, w->p.enc, w->data, &i, 1, out);
        if (w->p.classification) {
            tab_log_softmax(out, w->p.outputs, 1);
            loss -= (double)out[w->p.label[i]];
        } else {
            loss += pow((double)(out[0] - w->p.y[i]), 2);
        }
    }
    return loss;
}

/* Fits a learner as the stack should have: with the configuration that is best on the first fold. */
static size_t fit_folds(world *w, const tab_learner *l, const fits *lead, double steps, fits *ret)
{
    size_t config = 0, at;
    double least = INFINITY;
    for (size_t c = 0; c < l->configs && l->configs > 1; c++) {
        double *curve = tab_arena_new_of(w->a, double, l->steps + 1);
        const void *model =
            fit(w, l, 0, c, l->weighs ? lead : NULL, l->weighs ? steps : -1, l->steps > 0 ? curve : NULL);
        cr_assert_not_null(model);
        double loss = l->steps > 0 ? least_of(curve, l->steps, &at) : held_loss(w, l, model);
        if (loss < least)
            least = loss, config = c;
    }
    for (size_t f = 0; f < w->folds; f++) {
        ret->curve[f] = tab_arena_new_of(w->a, double, l->steps + 1);
        ret->model[f] = fit(w, l, f, config, lead, steps, l->steps > 0 ? ret->curve[f] : NULL);
        cr_assert_not_null(ret->model[f]);
    }
    return config;
}

/* Each row's answers: of its own fold's model at the others' step; without a target, the mean of all. */
static void answer(world *w, const tab_learner *l, const fits *f, const tab_member *m, float *z)
{
    size_t k = w->p.outputs;
    float one[K_MOST];
    for (uint32_t i = 0; i < w->rows; i++) {
        double mean[K_MOST] = { 0 };
        for (size_t g = 0; g < w->folds; g++) {
            bool own = w->fold[i] == g;
            if (w->fold[i] != 255 && !own)
                continue;
            if (l->steps > 0)
                l->stop(f->model[g], own ? m->apart[g] : m->step);
            l->predict(f->model[g], w->p.enc, w->data, &i, 1, one);
            if (w->p.classification)
                tab_log_softmax(one, k, 1);
            for (size_t j = 0; j < k; j++)
                mean[j] += (double)one[j] / (own ? 1 : (double)w->folds);
        }
        for (size_t j = 0; j < k; j++)
            z[i * k + j] = (float)mean[j];
        if (w->p.classification)
            tab_log_softmax(z + i * k, k, 1);
    }
}

static void near(const char *what, size_t i, double is, double want)
{
    cr_expect_float_eq(is, want, 2e-4 * fmax(1, fabs(want)), "%s %zu: %.7g, not %.7g", what, i, is, want);
}

/* The mean loss of answers, or of one constant answer. */
static double loss_of(const world *w, const float *z, const float *constant)
{
    double sum = 0;
    for (size_t i = 0; i < w->n; i++) {
        uint32_t row = w->all[i];
        const float *f = constant != NULL ? constant : z + row * w->p.outputs;
        sum += w->p.classification ? -(double)f[w->p.label[row]] : pow((double)f[0] - (double)w->p.y[row], 2);
    }
    return sum / (double)w->n;
}

static void check_prior(const world *w, const tab_stack *s)
{
    for (size_t c = 0; c < w->p.outputs; c++) {
        double count = .5, sum = 0;
        for (size_t i = 0; i < w->n; i++) {
            count += w->p.label[w->all[i]] == c;
            sum += (double)w->p.y[w->all[i]] / (double)w->n;
        }
        near("prior", c, (double)s->prior[c],
             w->p.classification ? log(count / ((double)w->n + .5 * (double)w->p.outputs)) : sum);
    }
    near("the prior's loss", 0, s->prior_loss, loss_of(w, NULL, s->prior));
}

static void combine(const world *w, const tab_stack *s, float *const *z, float *out)
{
    size_t k = w->p.outputs;
    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; j < k; j++) {
            double sum = s->prior_weight * (double)s->prior[j];
            for (size_t l = 0; l < s->members; l++)
                sum += s->member[l].weight * (double)z[l][i * k + j];
            out[i * k + j] = (float)sum;
        }
}

static void tempered(const world *w, float *z, double t)
{
    for (size_t i = 0; i < w->rows && w->p.classification; i++)
        tab_log_softmax(z + i * w->p.outputs, w->p.outputs, t);
}

/* A fold's rows by the weights and the temperature without its say: twice the others' less all. */
static void check_fold(const world *w, const tab_stack *s, size_t fold, const uint32_t *some, size_t n,
                       float *const *z)
{
    tab_stack t = *s;
    uint32_t rest[ROWS_MOST];
    static float out[ROWS_MOST * K_MOST];
    size_t m = 0, k = w->p.outputs;
    double sum, last = 1;
    for (size_t i = 0; i < n; i++)
        if (w->fold[some[i]] != fold)
            rest[m++] = some[i];
    tab_pool_weights(&w->p, &t, rest, m, z);
    sum = t.prior_weight = fmax(0, 2 * t.prior_weight - s->prior_weight);
    for (size_t l = 0; l < t.members; l++)
        sum += t.member[l].weight = fmax(0, 2 * t.member[l].weight - s->member[l].weight);
    if (!w->p.classification && sum > 0) {
        t.prior_weight /= sum;
        for (size_t l = 0; l < t.members; l++)
            t.member[l].weight /= sum;
    }
    combine(w, &t, z, out);
    if (w->p.classification) {
        double own = tab_best_temperature(&w->p, rest, m, out);
        last = fmin(4, fmax(.2, own * own / s->temperature));
    }
    tempered(w, out, last);
    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; w->fold[i] == fold && j < k; j++)
            near("answer", i * k + j, (double)s->oof[i * k + j], (double)out[i * k + j]);
}

/* What new rows are answered: the mean of the folds' models; and how far these lie from it. */
static void check_answers(const world *w, const tab_stack *s)
{
    static float is[ROWS_MOST * K_MOST], z[MEMBERS][ROWS_MOST * K_MOST], out[ROWS_MOST * K_MOST];
    float *at[MEMBERS], apart[ROWS_MOST], one[K_MOST];
    uint32_t row[ROWS_MOST];
    size_t k = w->p.outputs;
    const tab_member *best = NULL;
    for (uint32_t i = 0; i < w->rows; i++)
        row[i] = i;
    for (size_t l = 0; l < s->members; l++) {
        const tab_member *m = &s->member[l];
        at[l] = z[l];
        if (m->learner->importance != NULL && (best == NULL || m->weight > best->weight))
            best = m;
        for (uint32_t i = 0; i < w->rows; i++) {
            double mean[K_MOST] = { 0 };
            for (size_t f = 0; f < w->folds; f++) {
                m->learner->predict(m->model[f], w->p.enc, w->data, &i, 1, one);
                if (w->p.classification)
                    tab_log_softmax(one, k, 1);
                for (size_t j = 0; j < k; j++)
                    mean[j] += (double)one[j] / (double)w->folds;
            }
            for (size_t j = 0; j < k; j++)
                z[l][i * k + j] = (float)mean[j];
        }
        tempered(w, z[l], m->temperature);
    }
    combine(w, s, at, out);
    tempered(w, out, s->temperature);
    cr_assert(tab_stack_predict(s, w->p.enc, w->data, row, w->rows, is));
    for (size_t i = 0; i < w->rows * k; i++)
        near("answer to a new row", i, (double)is[i], (double)out[i]);
    cr_expect_eq(tab_stack_reasons(s), best);
    if (w->p.classification)
        return;
    cr_assert(tab_stack_ambiguity(s, w->p.enc, w->data, row, w->rows, apart));
    for (uint32_t i = 0; i < w->rows; i++) {
        double sum = 0, squares = 0, folds = (double)w->folds;
        for (size_t f = 0; f < w->folds; f++) {
            double answer = 0;
            for (size_t l = 0; l < s->members; l++) {
                s->member[l].learner->predict(s->member[l].model[f], w->p.enc, w->data, &i, 1, one);
                answer += s->member[l].weight * (double)one[0];
            }
            sum += answer;
            squares += answer * answer;
        }
        double want = squares / folds - sum / folds * sum / folds;
        cr_expect_float_eq((double)apart[i], want, 1e-3 * want + 1e-7, "ambiguity of %u: %g, not %g", i,
                           (double)apart[i], want);
    }
}

static void check_stack(world *w, const tab_stack *s, const tab_learner *const *use, size_t count,
                        bool copies)
{
    static float zs[MEMBERS][ROWS_MOST * K_MOST], out[ROWS_MOST * K_MOST];
    float *z[MEMBERS];
    fits lead = { 0 }, own;
    uint32_t some[ROWS_MOST];
    size_t n = 0, at, k = w->p.outputs;
    double steps = 0;
    cr_assert_eq(s->folds, w->folds);
    cr_assert_eq(s->members, count);
    for (size_t i = 0; i < w->rows; i++)
        cr_assert_eq(s->fold[i], w->fold[i], "row %zu", i);
    check_prior(w, s);
    for (size_t i = 0; i < w->n; i++) /* of copies one calibrates */
        if (!copies || !w->p.classification || i == 0 || w->hash[w->all[i]] != w->hash[w->all[i - 1]])
            some[n++] = w->all[i];
    for (size_t l = 0; l < count; l++) {
        const tab_member *m = &s->member[l];
        fits *f = l == 0 ? &lead : &own;
        size_t config = fit_folds(w, use[l], l == 0 ? NULL : &lead, l == 0 ? -1 : steps, f);
        cr_assert(m->learner == use[l] && m->config == config, "member %zu", l);
        for (size_t g = 0; l == 0 && g < w->folds; g++) {
            least_of(f->curve[g], use[0]->steps, &at);
            steps += (double)at / (double)w->folds;
        }
        if (use[l]->steps > 0)
            cr_assert_eq(m->step, common_step(w, use[l], f, w->folds), "step of %zu", l);
        for (size_t g = 0; use[l]->steps > 0 && g < w->folds; g++)
            cr_assert_eq(m->apart[g], common_step(w, use[l], f, g));
        z[l] = zs[l];
        answer(w, use[l], f, m, z[l]);
        if (w->p.classification) {
            near("temperature", l, m->temperature, tab_best_temperature(&w->p, some, n, z[l]));
            tempered(w, z[l], m->temperature);
        }
        near("loss", l, m->loss, loss_of(w, z[l], NULL));
    }
    tab_stack t = *s;
    tab_pool_weights(&w->p, &t, some, n, z);
    near("the prior's weight", 0, s->prior_weight, t.prior_weight);
    for (size_t l = 0; l < count; l++)
        near("weight", l, s->member[l].weight, t.member[l].weight);
    combine(w, s, z, out);
    if (w->p.classification)
        near("last temperature", 0, s->temperature, tab_best_temperature(&w->p, some, n, out));
    tempered(w, out, s->temperature);
    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; w->fold[i] == 255 && j < k; j++)
            near("answer without a target", i, (double)s->oof[i * k + j], (double)out[i * k + j]);
    for (size_t f = 0; f < w->folds; f++)
        check_fold(w, s, f, some, n, z);
    near("the whole loss", 0, s->loss, loss_of(w, s->oof, NULL));
    check_answers(w, s);
}

Test(stack_twin, is_put_together_as_defined, .timeout = 300)
{
    static const struct {
        size_t rows, k, folds;
        bool copies;
    } cases[] = { { 60, 1, 0, false },
                  { 90, 2, 4, false },
                  { 90, 1, 4, true },
                  { 120, 3, 5, true },
                  { 560, 2, 0, false } };
    static const tab_learner *const use[] = { &tab_learn_boost_fast, &tab_learn_linear, &tab_learn_kernel,
                                              &tab_learn_kernel_small, &tab_learn_forest };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world w;
        begin(&w, cases[i].rows, cases[i].k, cases[i].copies);
        w.folds = cases[i].folds;
        fold_rows(&w);
        size_t count = cases[i].rows > 200 ? 2 : MEMBERS;
        tab_recipe r = { .n = count, .folds = cases[i].folds, .work = 1e12 };
        memcpy(r.learner, use, count * sizeof *use);
        const tab_stack *s = tab_stack_fit(&w.e, w.a, &w.p, &r);
        cr_assert_not_null(s);
        check_stack(&w, s, use, count, cases[i].copies);
        tab_arena_free(w.a);
    }
}

/* Nothing to learn: the prior answers, with its shares. */
Test(stack_twin, a_prior_alone_answers_where_nothing_can_be_learned)
{
    world w;
    begin(&w, 30, 2, false);
    const tab_recipe none = { .n = 0, .work = 1e12 };
    const tab_stack *s = tab_stack_fit(&w.e, w.a, &w.p, &none);
    cr_assert(s != NULL && s->members == 0 && s->prior_weight == 1 && s->temperature == 1);
    for (size_t i = 0; i < 60; i++)
        near("answer", i, (double)s->oof[i], (double)s->prior[i % 2]);
    near("loss", 0, s->loss, s->prior_loss);
    /* hardly two rows a class */
    const tab_recipe one = { .learner = { &tab_learn_linear }, .n = 1, .work = 1e12 };
    size_t n = 0;
    for (size_t i = 0; i < 30; i++) {
        uint32_t *label = (uint32_t *)(uintptr_t)w.p.label;
        label[i] = n < 3 ? (uint32_t)(n++ % 2) : TAB_NULL;
    }
    s = tab_stack_fit(&w.e, w.a, &w.p, &one);
    cr_assert(s != NULL && s->members == 0);
    tab_arena_free(w.a);
}

/* Places are runs of folds; what has one place goes round as ever. */
Test(stack_twin, folds_are_runs_of_places)
{
    world w;
    begin(&w, 100, 1, false);
    float *place = tab_arena_new_of(w.a, float, 100);
    const tab_recipe r = { .learner = { &tab_learn_linear }, .n = 1, .folds = 5, .work = 1e12 };
    for (size_t i = 0; i < 100; i++)
        place[i] = (float)unit(i, 9);
    place[3] = 1;
    w.p.place = place;
    const tab_stack *s = tab_stack_fit(&w.e, w.a, &w.p, &r);
    for (size_t i = 0; i < w.n; i++)
        cr_expect_eq(s->fold[w.all[i]], (uint8_t)fminf(4, floorf(place[w.all[i]] * 5)));
    for (size_t i = 0; i < 100; i++) /* a third of the room: in three folds none is empty, in four one is */
        place[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? .4f : .7f;
    s = tab_stack_fit(&w.e, w.a, &w.p, &r);
    cr_expect_eq(s->folds, 3);
    for (size_t i = 0; i < 100; i++)
        place[i] = .5f;
    w.folds = 5;
    fold_rows(&w);
    s = tab_stack_fit(&w.e, w.a, &w.p, &r);
    cr_expect_eq(s->folds, 5);
    for (size_t i = 0; i < 100; i++)
        cr_expect_eq(s->fold[i], w.fold[i]);
    tab_arena_free(w.a);
}

/* Of two learners the one that would be heard for less than three parts in a hundred is not asked, whichever
 * of them it is. */
Test(stack_twin, a_learner_of_numbers_that_says_little_is_not_asked)
{
    enum { ROWS = 1000 };
    static float y[ROWS], z[2][ROWS], prior = 0;
    static uint32_t row[ROWS];
    for (size_t good = 0; good < 2; good++) {
        for (uint32_t i = 0; i < ROWS; i++) {
            row[i] = i;
            y[i] = (float)(6 * unit(i, 41) - 3);
            z[good][i] = y[i] + (float)(.2 * unit(i, 42) - .1);
            z[1 - good][i] = y[i] + (float)(2 * unit(i, 43) - 1);
        }
        tab_problem p = { .outputs = 1, .y = y };
        tab_stack s = { .outputs = 1, .members = 2, .prior = &prior };
        float *const both[] = { z[0], z[1] };
        tab_pool_weights(&p, &s, row, ROWS, both);
        cr_expect(s.member[1 - good].weight == 0 && s.member[good].weight > .97, "%g, %g", s.member[0].weight,
                  s.member[1].weight);
    }
}
