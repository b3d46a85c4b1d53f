/* The assignment of columns beside all assignments that there are: none is worth more. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/align/align.h"

enum { MOST = 5 };

static double unit(uint64_t *r)
{
    *r ^= *r << 13, *r ^= *r >> 7, *r ^= *r << 17;
    return ((double)(*r >> 11) + 0.5) / 9007199254740992.0;
}

static double odds(double p)
{
    p = fmin(fmax(p, 1e-6), 1 - 1e-6);
    return log(p / (1 - p));
}

/* What a pair is worth: its log-odds above the threshold's, and a little for being one. */
static double worth(float p, float least)
{
    return p < least ? 0 : odds((double)p) - odds((double)least) + 1e-3;
}

/* The greatest sum of columns i.. of a, where taken[j] are gone. */
static double greatest(size_t i, size_t na, size_t nb, const float *p, float least, bool *taken)
{
    if (i == na)
        return 0;
    double best = greatest(i + 1, na, nb, p, least, taken);
    for (size_t j = 0; j < nb; j++)
        if (!taken[j] && p[i * nb + j] >= least) {
            taken[j] = true;
            best = fmax(best, worth(p[i * nb + j], least) + greatest(i + 1, na, nb, p, least, taken));
            taken[j] = false;
        }
    return best;
}

static double assigned(size_t na, size_t nb, const float *p, float least, const uint32_t *match)
{
    bool taken[MOST] = { false };
    double sum = 0;
    for (size_t i = 0; i < na; i++) {
        if (match[i] == TAB_NULL)
            continue;
        cr_assert(match[i] < nb && !taken[match[i]], "a column has one partner");
        cr_assert(p[i * nb + match[i]] >= least, "and none below the threshold");
        taken[match[i]] = true;
        sum += worth(p[i * nb + match[i]], least);
    }
    return sum;
}

Test(assign, none_of_all_assignments_is_worth_more)
{
    uint64_t r = 88172645463325252;
    float p[MOST * MOST];
    uint32_t match[MOST];
    tab_error err;
    for (int round = 0; round < 3000; round++) {
        size_t na = 1 + (size_t)(MOST * unit(&r)), nb = 1 + (size_t)(MOST * unit(&r));
        float least = round % 3 == 0 ? 0.5f : 0.3f;
        double empty = round % 4 * 0.25;
        for (size_t i = 0; i < na * nb; i++)
            p[i] = unit(&r) < empty ? 0 : (float)pow(unit(&r), round % 2 == 0 ? 1 : 0.3);
        for (size_t i = round % 5; i < na * nb; i += 5)
            p[i] = least; /* a pair at the threshold is worth more than none */
        cr_assert_eq(tab_align_assign(na, nb, p, least, match, &err), TAB_OK);
        bool taken[MOST] = { false };
        double best = greatest(0, na, nb, p, least, taken), is = assigned(na, nb, p, least, match);
        cr_assert_float_eq(is, best, 1e-6, "round %d: %g, and %g is possible", round, is, best);
    }
}

Test(assign, a_pair_at_the_threshold_is_taken_and_one_of_no_probability_is_not)
{
    uint32_t match[2];
    tab_error err;
    const float at[] = { 0.3f, 0, 0, 0.29f }, none[] = { 0, 0, 0, 0 }, sure[] = { 1, 1, 1, 0.5f };
    cr_assert_eq(tab_align_assign(2, 2, at, 0.3f, match, &err), TAB_OK);
    cr_expect(match[0] == 0 && match[1] == TAB_NULL);
    cr_assert_eq(tab_align_assign(2, 2, none, 0, match, &err), TAB_OK);
    cr_expect(match[0] == TAB_NULL && match[1] == TAB_NULL);
    cr_assert_eq(tab_align_assign(2, 2, sure, 0.3f, match, &err), TAB_OK);
    cr_expect(match[0] == 1 && match[1] == 0, "two sure ones before a sure and a likely one");
}

/* Parts of more than 400 columns are assigned greedily: the likeliest first. */
Test(assign, large_parts_are_assigned_likeliest_first)
{
    enum { WIDE = 401 };
    static float p[WIDE * WIDE];
    static uint32_t match[WIDE];
    static bool taken[WIDE];
    tab_error err;
    for (size_t i = 0; i < WIDE; i++)
        for (size_t j = 0; j < WIDE; j++)
            p[i * WIDE + j] = i == j ? 0.9f : 0.4f + 0.2f * (float)((i * 7 + j * 13) % 97) / 97;
    p[0 * WIDE + 5] = 0.95f; /* takes column 5 from row 5 */
    cr_assert_eq(tab_align_assign(WIDE, WIDE, p, 0.3f, match, &err), TAB_OK);
    cr_expect_eq(match[0], 5);
    for (size_t i = 0; i < WIDE; i++) {
        cr_assert(match[i] < WIDE && !taken[match[i]]);
        taken[match[i]] = true;
        cr_expect(i == 0 || i == 5 || match[i] == i, "%zu", i);
    }
    cr_expect_eq(match[5], 0, "what is left");
}
