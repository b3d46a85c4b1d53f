/* Weights and temperatures of the pool beside their objective, written out here: nothing near them is
 * better. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/learn/stack/opinion_pool.h"

enum { ROWS = 90, CLASSES = 3, MEMBERS = 4 };
static const double DOUBT = 0.25, STEP = 0.004;

typedef struct {
    uint32_t label[ROWS], row[ROWS];
    float y[ROWS], z[MEMBERS][ROWS * CLASSES], prior[CLASSES];
    tab_problem problem;
    tab_stack stack;
} made;

static double unit(uint64_t *r)
{
    *r = *r * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*r >> 33) + 0.5) / 2147483648.0;
}

/* Members that know the label the less the later they come; the last knows nothing. */
static void make_classes(made *m, uint64_t seed)
{
    *m = (made){ .prior = { (float)log(0.5), (float)log(0.3), (float)log(0.2) } };
    for (uint32_t i = 0; i < ROWS; i++) {
        m->row[i] = ROWS - 1 - i;
        double u = unit(&seed);
        m->label[i] = u < 0.5 ? 0 : u < 0.8 ? 1 : 2;
    }
    for (size_t l = 0; l < MEMBERS; l++)
        for (size_t i = 0; i < ROWS; i++) {
            float *z = m->z[l] + i * CLASSES;
            for (size_t j = 0; j < CLASSES; j++)
                z[j] = (float)(2 * unit(&seed) + (j == m->label[i] ? 1.5 - 0.5 * (double)l : 0));
            tab_log_softmax(z, CLASSES, 1);
        }
    m->problem = (tab_problem){ .classification = true, .outputs = CLASSES, .label = m->label };
    m->stack =
        (tab_stack){ .classification = true, .outputs = CLASSES, .members = MEMBERS, .prior = m->prior };
}

/* The summed log-loss of softmax(sum of w z), of labels that are every class alike for DOUBT of a row, and
 * the ridge towards equal weights. */
static double class_loss(const made *m, const double w[MEMBERS + 1])
{
    double loss = 0, doubt = DOUBT / ROWS;
    for (size_t i = 0; i < ROWS; i++) {
        double v[CLASSES] = { 0 }, sum = 0;
        for (size_t j = 0; j < CLASSES; j++) {
            for (size_t l = 0; l < MEMBERS; l++)
                v[j] += w[l] * (double)m->z[l][i * CLASSES + j];
            v[j] += w[MEMBERS] * (double)m->prior[j];
            sum += exp(v[j]);
        }
        for (size_t j = 0; j < CLASSES; j++)
            loss -= ((j == m->label[i]) + doubt / CLASSES) * (v[j] - log(sum));
    }
    for (size_t l = 0; l <= MEMBERS; l++)
        loss += (0.005 * ROWS + 2) / 2 * pow(w[l] - (l < MEMBERS ? 1.0 / MEMBERS : 0), 2);
    return loss;
}

static void weights_of(const made *m, double w[MEMBERS + 1])
{
    for (size_t l = 0; l < MEMBERS; l++)
        w[l] = m->stack.member[l].weight;
    w[MEMBERS] = m->stack.prior_weight;
}

Test(pool_optimal, no_other_weights_of_classifiers_are_better)
{
    static made m;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        make_classes(&m, seed);
        float *z[MEMBERS] = { m.z[0], m.z[1], m.z[2], m.z[3] };
        double w[MEMBERS + 1], is;
        tab_pool_weights(&m.problem, &m.stack, m.row, ROWS, z);
        weights_of(&m, w);
        is = class_loss(&m, w);
        for (size_t l = 0; l <= MEMBERS; l++) {
            cr_assert(w[l] >= 0 && (l == MEMBERS || w[l] == 0 || w[l] >= 0.03), "seed %d: %g", (int)seed,
                      w[l]);
            if (l < MEMBERS && w[l] == 0)
                continue; /* it was too light to be asked */
            for (int side = -1; side <= 1; side += 2) {
                double other[MEMBERS + 1];
                memcpy(other, w, sizeof w);
                other[l] += side * STEP;
                if (other[l] >= 0)
                    cr_expect_gt(class_loss(&m, other), is, "seed %d, weight %zu", (int)seed, l);
            }
        }
    }
}

Test(pool_optimal, a_member_that_says_nothing_is_not_asked)
{
    static made m;
    make_classes(&m, 5);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < CLASSES; j++)
            m.z[3][i * CLASSES + j] = (float)(j == m.label[i] ? -4 : -0.02); /* wrong throughout */
    float *z[MEMBERS] = { m.z[0], m.z[1], m.z[2], m.z[3] };
    tab_pool_weights(&m.problem, &m.stack, m.row, ROWS, z);
    cr_expect_eq(m.stack.member[3].weight, 0);
    cr_expect_gt(m.stack.member[0].weight, 0.03);
}

/* ---- numbers ------------------------------------------------------------------------------------ */

static double square_loss(const made *m, const double w[MEMBERS + 1])
{
    double loss = 0;
    for (size_t i = 0; i < ROWS; i++) {
        double e = (double)m->y[i] - w[MEMBERS] * (double)m->prior[0];
        for (size_t l = 0; l < MEMBERS; l++)
            e -= w[l] * (double)m->z[l][i];
        loss += e * e;
    }
    for (size_t l = 0; l < MEMBERS; l++)
        loss += (0.002 * ROWS + 0.1) * pow(w[l] - 1.0 / MEMBERS, 2);
    return loss;
}

Test(pool_optimal, no_weight_moved_between_two_learners_of_numbers_is_better)
{
    static made m;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t r = seed;
        m = (made){ .prior = { 0.3f } };
        for (size_t i = 0; i < ROWS; i++) {
            m.row[i] = (uint32_t)i;
            m.y[i] = (float)(4 * unit(&r) - 2);
            for (size_t l = 0; l < MEMBERS; l++)
                m.z[l][i] =
                    (float)((0.9 - 0.2 * (double)l) * (double)m.y[i] + (1 + (double)l) * (unit(&r) - 0.5));
        }
        m.problem = (tab_problem){ .outputs = 1, .y = m.y };
        m.stack = (tab_stack){ .outputs = 1, .members = MEMBERS, .prior = m.prior };
        float *z[MEMBERS] = { m.z[0], m.z[1], m.z[2], m.z[3] };
        double w[MEMBERS + 1], sum = 0;
        tab_pool_weights(&m.problem, &m.stack, m.row, ROWS, z);
        weights_of(&m, w);
        for (size_t l = 0; l <= MEMBERS; l++)
            sum += w[l];
        cr_assert_float_eq(sum, 1, 1e-6);
        double is = square_loss(&m, w);
        for (size_t i = 0; i <= MEMBERS; i++)
            for (size_t j = 0; j <= MEMBERS; j++) {
                double other[MEMBERS + 1];
                memcpy(other, w, sizeof w);
                other[i] += STEP;
                other[j] -= STEP;
                bool asked = (i == MEMBERS || w[i] > 0) && other[j] >= 0;
                if (i != j && asked)
                    cr_expect_gt(square_loss(&m, other), is, "seed %d: from %zu to %zu", (int)seed, j, i);
            }
    }
}

/* ---- temperature ------------------------------------------------------------------------------- */

static double tempered(const made *m, double t)
{
    double loss = pow(log(t), 2), doubt = DOUBT / ROWS;
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0;
        for (size_t j = 0; j < CLASSES; j++)
            sum += exp(t * (double)m->z[0][i * CLASSES + j]);
        for (size_t j = 0; j < CLASSES; j++)
            loss -=
                ((j == m->label[i]) + doubt / CLASSES) * (t * (double)m->z[0][i * CLASSES + j] - log(sum));
    }
    return loss;
}

Test(pool_optimal, no_other_temperature_is_better)
{
    static made m;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        make_classes(&m, seed);
        double heat = pow(2, (double)seed / 2 - 2.5); /* from too sure to hardly sure */
        for (size_t i = 0; i < ROWS; i++)
            tab_log_softmax(m.z[0] + i * CLASSES, CLASSES, heat);
        double t = tab_best_temperature(&m.problem, m.row, ROWS, m.z[0]);
        cr_assert(t >= 0.2 && t <= 4, "%g", t);
        cr_expect(t < 0.202 || tempered(&m, t) < tempered(&m, t * 0.99), "seed %d: %g", (int)seed, t);
        cr_expect(t > 3.98 || tempered(&m, t) < tempered(&m, t * 1.01), "seed %d: %g", (int)seed, t);
    }
}

Test(pool_optimal, log_softmax_is_one_and_does_not_overflow)
{
    float z[] = { 1, 3, 2 }, large[] = { 2000, 1000 };
    tab_log_softmax(z, 3, 0.5);
    double sum = exp(0.5) + exp(1.5) + exp(1);
    cr_expect_float_eq((double)z[0], 0.5 - log(sum), 1e-6);
    cr_expect_float_eq((double)z[1], 1.5 - log(sum), 1e-6);
    cr_expect_float_eq((double)z[2], 1 - log(sum), 1e-6);
    tab_log_softmax(large, 2, 1);
    cr_expect(large[0] == 0 && large[1] == -1000);
}
