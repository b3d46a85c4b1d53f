/* Intervals, shares and drift beside slow twins written from their equations: sorts at each step, no ring, no
 * place found by halving. Whatever constant or sign is another one in common/calibration fails here. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "common/calibration/drift.h"
#include "common/calibration/intervals.h"
#include "common/calibration/live.h"
#include "common/calibration/shares.h"

enum { N = 500, LEVELS = 3, K = 8, STEPS = 1300 };
static const double level_of[LEVELS] = { 0.1, 0.5, 0.9 };

static double uniform(uint64_t *r)
{
    *r ^= *r << 13, *r ^= *r >> 7, *r ^= *r << 17;
    return ((double)(*r >> 11) + 0.5) / 9007199254740992.0;
}

/* ---- intervals: DtACI as Gibbs & Candes write it --------------------------------------------- */

typedef struct {
    double score[N + STEPS]; /* all that came, the last N count */
    size_t n;
    double level[LEVELS][K], weight[LEVELS][K], offset[LEVELS];
} bands_twin;

/* What has probability p below it, normal and in units of the 0.9 quantile: by Newton's steps. */
static double normal_score(double p)
{
    double x = 0;
    for (int i = 0; i < 200; i++)
        x += fmin(fmax((p - 0.5 * erfc(-x / sqrt(2))) / (exp(-x * x / 2) / sqrt(2 * M_PI)), -0.5), 0.5);
    return x / 1.2815515655446004;
}

static void twin_begin(bands_twin *s)
{
    *s = (bands_twin){ .n = N };
    for (size_t i = 0; i < N; i++) {
        double part = ((double)i + 0.5) * (sqrt(5) - 1) / 2, p = part - floor(part);
        s->score[i] = (double)(float)normal_score(fmin(fmax(p, 0.001), 0.999));
    }
    for (size_t t = 0; t < LEVELS; t++)
        for (size_t k = 0; k < K; k++)
            s->level[t][k] = level_of[t], s->weight[t][k] = 0.125;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double twin_rank(const bands_twin *s, double x)
{
    double less = 0;
    for (size_t i = s->n - N; i < s->n; i++)
        less += s->score[i] < x;
    return (less + 0.5) / 501;
}

static double twin_score(const bands_twin *s, double level)
{
    double all[N], x = 501 * level - 1;
    memcpy(all, s->score + s->n - N, sizeof all);
    qsort(all, N, sizeof *all, ascending);
    if (x <= 0)
        return all[0];
    if (x >= N - 1)
        return all[N - 1];
    size_t k = (size_t)x;
    return all[k] + (x - (double)k) * (all[k + 1] - all[k]);
}

static void twin_served(const bands_twin *s, double expert[LEVELS][K], double at[LEVELS])
{
    for (size_t t = 0; t < LEVELS; t++) {
        at[t] = 0;
        for (size_t k = 0; k < K; k++) {
            expert[t][k] = k == 0 ? (double)t - 1 : (double)(float)twin_score(s, s->level[t][k]);
            at[t] += s->weight[t][k] * expert[t][k];
        }
        double rank = twin_rank(s, at[t]);
        at[t] += twin_score(s, rank + s->offset[t]) - twin_score(s, rank);
    }
    at[0] = fmin(at[0], at[1]);
    at[2] = fmax(at[2], at[1]);
}

static void twin_tell(bands_twin *s, double expert[LEVELS][K], const double at[LEVELS], double y,
                      double delay)
{
    for (size_t t = 0; t < LEVELS; t++) {
        double q = level_of[t], sum = 0;
        double moment = pow(1 - q, 2) * pow(q, 3) + pow(q, 2) * pow(1 - q, 3);
        double eta = sqrt(3.0 / 500 * (log(2.0 * 8 * 500) + 2) / moment);
        for (size_t k = 0; k < K; k++) {
            double off = twin_rank(s, y) - twin_rank(s, expert[t][k]);
            s->weight[t][k] *= exp(-eta * fmax(q * off, (q - 1) * off));
            sum += s->weight[t][k];
        }
        for (size_t k = 0; k < K; k++) {
            s->weight[t][k] = 0.999 * s->weight[t][k] / sum + 0.001 / 8;
            double step = fmin(0.001 * pow(2, (double)k - 1), exp(-1) / (delay + 1));
            if (k > 0)
                s->level[t][k] = fmin(fmax(s->level[t][k] + step * (q - (y <= expert[t][k])), 0), 1);
        }
        s->offset[t] += 0.1 / sqrt(500) / (delay + 1) * (q - (y <= at[t]));
        s->offset[t] = fmin(fmax(s->offset[t], -0.5), 0.5);
    }
    s->score[s->n++] = (double)(float)y;
}

/* A world that stands still, goes wide, moves up and away. */
static double world(size_t i, uint64_t *r)
{
    double u = uniform(r), v = uniform(r), z = sqrt(-2 * log(u)) * cos(2 * M_PI * v);
    return (i < 300 ? z : i < 600 ? 3 * z : i < 900 ? z + 2 : z - 40) / 1.28;
}

static void beside_twin(uint64_t delay, uint64_t seed)
{
    static bands_twin s;
    static tab_bands_state state;
    double expert[LEVELS][K], at[LEVELS];
    tab_bands b;
    uint64_t r = seed;
    twin_begin(&s);
    tab_bands_begin(&state);
    for (size_t i = 0; i < STEPS; i++) {
        twin_served(&s, expert, at);
        tab_bands_of(&state, &b);
        for (size_t t = 0; t < LEVELS; t++) {
            cr_assert_float_eq(b.at[t], at[t], 1e-5 * fmax(1, fabs(at[t])), "step %zu, level %zu: %g %g", i,
                               t, b.at[t], at[t]);
            for (size_t k = 0; k < K; k++) {
                cr_assert_float_eq((double)b.expert[t][k], expert[t][k], 1e-5 * fmax(1, fabs(expert[t][k])),
                                   "step %zu, level %zu, expert %zu", i, t, k);
                cr_assert_float_eq(state.level[t][k], s.level[t][k], 1e-9);
                expert[t][k] = (double)b.expert[t][k]; /* as they were served */
            }
            cr_assert_float_eq(state.offset[t], s.offset[t], 1e-9);
        }
        double y = world(i, &r);
        const bool below[] = { y <= b.at[0], y <= b.at[1], y <= b.at[2] };
        twin_tell(&s, expert, b.at, y, (double)delay);
        tab_bands_tell(&state, (const float(*)[K])b.expert, below, y, delay);
    }
    cr_expect(tab_bands_restore(&state));
}

Test(calibration_reference, intervals_are_those_of_the_equations)
{
    beside_twin(0, 88172645463325252);
}

Test(calibration_reference, intervals_of_late_outcomes_are_those_of_the_equations)
{
    beside_twin(30, 362436069362436069);
}

Test(calibration_reference, scores_lie_where_the_quantiles_say)
{
    static const struct {
        double low, median, high, value, score;
    } cases[] = {
        { 1, 3, 4, 3, 0 },   { 1, 3, 4, 1, -1 },    { 1, 3, 4, 4, 1 },         { 1, 3, 4, 2, -0.5 },
        { 1, 3, 4, 6, 3 },   { 1, 3, 4, -3, -3 },   { 3, 3, 7, 1, -1.5 },      { 3, 3, 7, 3, 0 },
        { 1, 3, 3, 4, 1.5 }, { 0, 1, 2, 1e9, 1e6 }, { 0, 1, 2, -1e300, -1e6 }, { 1, 3, 3, 2, -0.5 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double score = 99;
        cr_assert(tab_bands_score(cases[i].low, cases[i].median, cases[i].high, cases[i].value, &score));
        cr_expect_float_eq(score, cases[i].score, 1e-12, "%zu: %g", i, score);
    }
    double none = 99;
    cr_expect_not(tab_bands_score(3, 1, 4, 2, &none), "the median lies below low");
    cr_expect_not(tab_bands_score(1, 5, 4, 2, &none), "the median lies above high");
    cr_expect_not(tab_bands_score(-(double)INFINITY, 1, 4, 2, &none));
    cr_expect_not(tab_bands_score(NAN, 1, 4, 2, &none));
    cr_expect_not(tab_bands_score(0, 1, 4, -(double)INFINITY, &none));
    cr_expect(none == 99, "what has no score says none");
}

Test(calibration_reference, what_is_served_lies_where_the_thresholds_say)
{
    const double at[] = { -2, 0.5, 3 }, at_low[] = { -3, -1, 1 }, moved_only[] = { -1, 0, 2 };
    static const struct {
        double x, want;
        int end;
    } cases[] = { { 10, 12, 0 }, { 6, 2, -1 },  { 14, 22, 1 }, { 8, 7, 0 },
                  { 12, 17, 0 }, { 18, 32, 0 }, { 2, -8, 0 } };
    /* low 6, median 10, high 14: four a score on each side */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_float_eq(tab_bands_move(at, 6, 10, 14, cases[i].x, cases[i].end), cases[i].want, 1e-12,
                           "%zu", i);
    cr_expect_float_eq(tab_bands_move(at_low, 6, 10, 14, 10, 0), 6, 1e-12, "the median moves below");
    cr_expect_float_eq(tab_bands_move(moved_only, 6, 10, 14, 14, 1), 18, 1e-12);
    cr_expect_float_eq(tab_bands_move((const double[]){ -1, 0.5, 1 }, 6, 10, 14, 10, 0), 12, 1e-12);
    cr_expect_float_eq(tab_bands_move((const double[]){ -2, 0, 1 }, 6, 10, 14, 6, -1), 2, 1e-12);
    cr_expect_float_eq(tab_bands_move(at, 10, 10, 14, 10, 1), 12, 1e-12, "a median, not an end");
    cr_expect_float_eq(tab_bands_move(at, 10, 10, 14, 10, -1), 6, 1e-12, "low, where its side has no width");
    cr_expect(isinf(tab_bands_move(at, 6, 10, 14, (double)INFINITY, 1)), "no number stays as it is");
    cr_expect_float_eq(tab_bands_move(at, 10, 10, 10, 11, 1), 11, 0, "no width");
    cr_expect_float_eq(tab_bands_move(at, 8, 9, 8.5, 11, 1), 11, 0, "no order");
    /* no width above: the first of a score beyond the end is the end itself */
    cr_expect_float_eq(tab_bands_move((const double[]){ -1, 0, 0.5 }, 6, 10, 10, 10, 1), 10, 1e-12);
    cr_expect_float_eq(tab_bands_move((const double[]){ -1, 0, 1.5 }, 6, 10, 10, 10, 1), 12, 1e-12);
}

/* What lies at x once the points (from, to) are joined by lines, the outer ones going on. */
static double joined(const double from[3], const double to[3], double x)
{
    size_t k = x < from[1] ? 0 : 1;
    return to[k] + (x - from[k]) * (to[k + 1] - to[k]) / (from[k + 1] - from[k]);
}

/* Widths and thresholds that are drawn: a value's score lies among -1, 0 and 1 as the value among the
 * quantiles, the threshold of that score among the thresholds as the score among -1, 0 and 1, and what is
 * served among the quantiles again. It rises with what the model said. */
Test(calibration_reference, what_is_served_is_joined_by_lines)
{
    static const double unit[] = { -1, 0, 1 };
    uint64_t r = 88172645463325252;
    for (size_t i = 0; i < 500; i++) {
        double q[3] = { uniform(&r), 0, 0 }, at[3] = { -3 * uniform(&r), 0, 0 }, last = -(double)INFINITY;
        q[1] = q[0] + 0.1 + uniform(&r), q[2] = q[1] + 0.1 + uniform(&r);
        at[1] = at[0] + 0.1 + 2 * uniform(&r), at[2] = at[1] + 0.1 + 2 * uniform(&r);
        for (double x = q[0] - 1; x < q[2] + 1; x += 0.07) {
            double want = joined(unit, q, joined(unit, at, joined(q, unit, x)));
            for (int end = -1; end <= 1; end++)
                cr_assert_float_eq(tab_bands_move(at, q[0], q[1], q[2], x, end), want, 1e-9, "%zu, %g", i, x);
            cr_assert_gt(want, last);
            last = want;
        }
    }
}

/* However they round: what no outcome has moved is the model's answer to the last bit. */
Test(calibration_reference, before_any_outcome_answers_are_the_models_own)
{
    uint64_t r = 521288629521288629;
    for (size_t i = 0; i < 2000; i++) {
        double low = uniform(&r) / 3, median = low + (i % 5 == 0 ? 0 : uniform(&r) / 7),
               high = median + uniform(&r) / 9, x = low - 0.1 + uniform(&r);
        for (int end = -1; end <= 1; end++)
            cr_assert(tab_bands_move(tab_bands_static.at, low, median, high, x, end) == x, "%zu", i);
    }
}

Test(calibration_reference, only_states_that_were_written_are_restored)
{
    static tab_bands_state good, s;
    tab_bands_begin(&good);
    s = good;
    cr_assert(tab_bands_restore(&s));
    for (size_t i = 1; i < N; i++)
        cr_assert_leq(s.sorted[i - 1], s.sorted[i]);
#define CHANGED(s, good, change, sound, want)           \
    do {                                                \
        s = good;                                       \
        change;                                         \
        cr_expect_eq(sound, want, "after %s", #change); \
    } while (0)
#define REFUSED(change) CHANGED(s, good, change, tab_bands_restore(&s), false)
#define TAKEN(change) CHANGED(s, good, change, tab_bands_restore(&s), true)
    REFUSED(s.next = N);
    TAKEN(s.next = N - 1);
    REFUSED(s.score[0] = 1.1e6f);
    REFUSED(s.score[N - 1] = -1.1e6f);
    REFUSED(s.score[7] = (float)NAN);
    TAKEN(s.score[N - 1] = 1e6f);
    REFUSED(s.level[0][0] = -0.01);
    REFUSED(s.level[LEVELS - 1][K - 1] = 1.01);
    REFUSED(s.level[1][3] = NAN);
    TAKEN((s.level[0][1] = 0, s.level[2][1] = 1));
    REFUSED(s.offset[0] = 0.51);
    REFUSED(s.offset[2] = -0.51);
    TAKEN(s.offset[2] = 0.5);
    REFUSED(s.weight[0][0] += 1e-5);
    REFUSED((s.weight[2][0] = -0.125, s.weight[2][1] = 0.375));
    TAKEN((s.weight[2][0] = 0, s.weight[2][1] = 0.25));
}

/* ---- shares ---------------------------------------------------------------------------------- */

enum { TS = TAB_SHARES_TEMPERATURES, SHIFTS = TAB_SHARES_SHIFTS, CLASSES = 4 };
static const double heat[TS] = { 4, 2, 1.4142135623730951, 1, 0.7071067811865476, 0.5, 0.25 };

/* Class CLASSES is all others together. */
typedef struct {
    double shift[SHIFTS][CLASSES], weight[SHIFTS][TS];
} shares_twin;

static void expert_says(const shares_twin *s, size_t j, size_t t, const double *share, const double *parts,
                        size_t n, double *ret)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += ret[k] =
            parts[k] * pow(share[k] / parts[k], 1 / heat[t]) * (k < CLASSES ? exp(s->shift[j][k]) : 1);
    for (size_t k = 0; k < n; k++)
        ret[k] /= sum;
}

static void shares_twin_tell(shares_twin *s, const double *share, const double *parts, size_t n, size_t is)
{
    const double step[SHIFTS] = { 0, 1 / 500.0, 1 / sqrt(500) };
    double sum = 0;
    for (size_t j = 0; j < SHIFTS; j++) {
        double mixed[CLASSES + 1] = { 0 }, p[CLASSES + 1], before = 0;
        for (size_t t = 0; t < TS; t++) {
            expert_says(s, j, t, share, parts, n, p);
            for (size_t k = 0; k < n; k++)
                mixed[k] += s->weight[j][t] * p[k];
            before += s->weight[j][t];
            s->weight[j][t] *= p[is];
            sum += s->weight[j][t];
        }
        for (size_t k = 0; k < CLASSES; k++)
            s->shift[j][k] += before > 0 ? step[j] * ((k == is) - mixed[k] / before) : 0;
    }
    for (size_t j = 0; j < SHIFTS; j++)
        for (size_t t = 0; t < TS; t++)
            s->weight[j][t] = (1 - 1 / 500.0) * s->weight[j][t] / sum + 1 / (500.0 * SHIFTS * TS);
}

Test(calibration_reference, shares_are_those_of_the_equations)
{
    static const uint64_t hash[CLASSES] = { 5, 6, 7, 8 };
    static tab_shares s;
    static shares_twin twin;
    uint64_t r = 88172645463325252;
    tab_shares_begin(&s);
    twin = (shares_twin){ 0 };
    twin.weight[0][3] = 1;
    for (size_t i = 0; i < 600; i++) {
        const uint32_t others =
            (uint32_t)(i % 4); /* that the row does not name; where there are none, one may
                                                    * come all the same */
        double raw[CLASSES + 1], share[CLASSES + 1], parts[CLASSES + 1] = { 1, 1, 1, 1, 1 }, sum = 0;
        parts[CLASSES] = others > 0 ? others : 1;
        for (size_t k = 0; k <= CLASSES; k++)
            sum += raw[k] = 0.05 + uniform(&r) * uniform(&r);
        for (size_t k = 0; k <= CLASSES; k++)
            share[k] = raw[k] / sum;
        size_t is = i % 50 == 0 ? CLASSES : (size_t)(CLASSES * pow(uniform(&r), 3));
        tab_shares_tell(&s, &(tab_shares_row){ CLASSES, hash, share, others, share[CLASSES] }, is);
        shares_twin_tell(&twin, share, parts, CLASSES + (others > 0 || is == CLASSES), is);
        cr_assert(tab_shares_sound(&s));
        for (size_t j = 0; j < SHIFTS; j++) {
            for (size_t k = 0; k < CLASSES; k++)
                cr_assert_float_eq((double)s.shift[j][k], twin.shift[j][k], 1e-4, "step %zu", i);
            for (size_t t = 0; t < TS; t++)
                cr_assert_float_eq(s.weight[j][t], twin.weight[j][t], 1e-5, "step %zu, %zu %zu", i, j, t);
        }
    }
    /* what is served is the mixture of what the experts say */
    const double share[] = { 0.4, 0.3, 0.2, 0.1 }, parts[] = { 1, 1, 1, 1 };
    double want[CLASSES] = { 0 }, p[CLASSES], got[CLASSES], scratch[2 * CLASSES];
    for (size_t j = 0; j < SHIFTS; j++)
        for (size_t t = 0; t < TS; t++) {
            expert_says(&twin, j, t, share, parts, CLASSES, p);
            for (size_t k = 0; k < CLASSES; k++)
                want[k] += twin.weight[j][t] * p[k];
        }
    tab_shares_move(&s, (const size_t[]){ 0, 1, 2, 3 }, share, CLASSES, scratch, got);
    for (size_t k = 0; k < CLASSES; k++)
        cr_expect_float_eq(got[k], want[k], 1e-4, "%zu: %g %g", k, got[k], want[k]);
}

Test(calibration_reference, only_shares_that_were_written_are_sound)
{
    static tab_shares good, s;
    static const uint64_t hash[] = { 1, 2 };
    tab_shares_begin(&good);
    cr_expect(good.weight[0][3] == 1 && good.classes == 0 && tab_shares_sound(&good));
    tab_shares_tell(&good, &(tab_shares_row){ 2, hash, (const double[]){ 0.5, 0.5 }, 0, 0 }, 1);
#define UNSOUND(change) CHANGED(s, good, change, tab_shares_sound(&s), false)
    UNSOUND(s.classes = TAB_SHARES_CLASSES + 1);
    UNSOUND(s.shift[2][1] = 30.5f);
    UNSOUND(s.shift[0][0] = -30.5f);
    UNSOUND(s.weight[0][0] += 1e-5);
    UNSOUND((s.weight[2][6] -= 0.5, s.weight[0][3] += 0.5));
    s = good, s.shift[1][1] = 30;
    cr_expect(tab_shares_sound(&s), "as far as it may go");
    cr_expect_eq(tab_shares_place(&good, 2), 1);
    cr_expect_eq(tab_shares_place(&good, 3), SIZE_MAX);
    cr_expect_eq(tab_shares_place(&good, 0), SIZE_MAX, "places that are not taken have no class");
}

/* ---- as messages ----------------------------------------------------------------------------- */

Test(calibration_reference, what_is_served_travels_and_what_is_not_sound_is_refused)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
    static tab_bands_state state, got_state;
    tab_bands b, got;
    Tabella__LiveCalibration c = TABELLA__LIVE_CALIBRATION__INIT;
    tab_bands_begin(&state);
    state.next = 7;
    state.offset[2] = 0.25;
    state.level[2][7] = 0.875;
    tab_bands_of(&state, &b);
    cr_assert(tab_live_put_bands(a, &b, &c) && tab_live_get_bands(&c, &got));
    cr_expect_arr_eq(&got, &b, sizeof b);
#define CUT(message, field, call)                   \
    do {                                            \
        (message)->n_##field--;                     \
        cr_expect_not(call, "%s is short", #field); \
        (message)->n_##field++;                     \
        cr_assert(call, "%s", #field);              \
    } while (0)
    Tabella__LiveCalibration *m = &c;
    CUT(m, at, tab_live_get_bands(m, &got));
    CUT(m, expert, tab_live_get_bands(m, &got));
#define BROKEN(place, value, call)                \
    do {                                          \
        __typeof__(place) was = place;            \
        place = value;                            \
        cr_expect_not(call, #place " = " #value); \
        place = was;                              \
    } while (0)
    BROKEN(c.expert[0], (float)NAN, tab_live_get_bands(&c, &got));
    BROKEN(c.expert[LEVELS * K - 1], (float)INFINITY, tab_live_get_bands(&c, &got));
    BROKEN(c.at[0], -(double)INFINITY, tab_live_get_bands(&c, &got));
    BROKEN(c.at[2], (double)INFINITY, tab_live_get_bands(&c, &got));
    BROKEN(c.at[1], c.at[0] - 1, tab_live_get_bands(&c, &got));
    BROKEN(c.at[1], c.at[2] + 1, tab_live_get_bands(&c, &got));

    c.at[0] = c.at[2] = c.at[1];
    cr_expect(tab_live_get_bands(&c, &got), "thresholds may meet");

    Tabella__LiveBands *l = tab_live_of_state(a, &state);
    cr_assert(l != NULL && tab_live_get_state(l, &got_state));
    cr_assert(tab_bands_restore(&state));
    cr_expect_arr_eq(&got_state, &state, sizeof state);
    CUT(l, score, tab_live_get_state(l, &got_state));
    CUT(l, level, tab_live_get_state(l, &got_state));
    CUT(l, weight, tab_live_get_state(l, &got_state));
    CUT(l, offset, tab_live_get_state(l, &got_state));
    BROKEN(l->next, N, tab_live_get_state(l, &got_state));
}

Test(calibration_reference, shares_travel_and_what_is_not_sound_is_refused)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
    static tab_shares s, got;
    static const uint64_t hash[] = { 11, 12, 13 };
    Tabella__LiveCalibration c = TABELLA__LIVE_CALIBRATION__INIT, *m = &c;
    tab_shares_begin(&s);
    for (size_t i = 0; i < 50; i++)
        tab_shares_tell(&s, &(tab_shares_row){ 3, hash, (const double[]){ 0.5, 0.3, 0.2 }, 0, 0 }, i % 3);
    cr_assert(tab_live_put_shares(a, &s, &c) && tab_live_get_shares(&c, &got));
    cr_expect_eq(c.n_shift, 9);
    cr_expect_eq(got.classes, 3);
    for (size_t j = 0; j < SHIFTS; j++) {
        cr_expect_arr_eq(got.shift[j], s.shift[j], sizeof s.shift[j]);
        cr_expect_arr_eq(got.weight[j], s.weight[j], sizeof s.weight[j]);
    }
    cr_expect_arr_eq(got.known, s.known, sizeof s.known);
    CUT(m, shift, tab_live_get_shares(m, &got));
    CUT(m, weight, tab_live_get_shares(m, &got));
    CUT(m, known, tab_live_get_shares(m, &got));
    BROKEN(c.weight[0], 2, tab_live_get_shares(&c, &got));
    BROKEN(c.n_known, TAB_SHARES_CLASSES + 1, tab_live_get_shares(&c, &got));
}

/* ---- drift ----------------------------------------------------------------------------------- */

/* 100 pinned rows and 40 served ones in four bins, one empty; worked by hand. */
Test(calibration_reference, drift_is_as_worked_by_hand)
{
    uint64_t r[] = { 50, 30, 20, 0 }, s[] = { 5, 10, 15, 0 }, before[] = { 5, 5 };
    Tabella__DriftColumn c = TABELLA__DRIFT_COLUMN__INIT;
    c.n_pinned = c.n_served = 4;
    c.pinned = r, c.served = s;
    c.n_before = 2, c.before = before;
    double root = sqrt(0.4), x = 0, psi = 0;
    const double served[] = { 10, 15, 15, 0 };
    for (size_t b = 0; b < 4; b++) {
        double p = ((double)r[b] + 0.5) / 102, q = (served[b] + 0.5) / 42;
        x += b == 3 ? 0 : pow(root * (double)r[b] - served[b] / root, 2) / ((double)r[b] + served[b]);
        psi += (q - p) * log(q / p);
    }
    double z = (cbrt(x / 2) - (1 - 2.0 / 18)) / sqrt(2.0 / 18);
    tab_drift_test t = tab_drift_tested(&c, 4);
    cr_expect_eq(t.served, 40);
    cr_expect_float_eq(t.stability, psi, 1e-12, "%g %g", t.stability, psi);
    cr_expect_float_eq(t.p, erfc(z / sqrt(2)) / 2, 1e-12);
    cr_expect_float_eq(t.threshold, 0.0025, 1e-15);
    cr_expect_eq(tab_drift_served(&c, 1), 15);
    cr_expect_eq(tab_drift_served(&c, 2), 15);
    cr_expect_float_eq(tab_drift_tested(&c, 0).threshold, 0.01, 1e-15);
    cr_expect_float_eq(tab_drift_tested(&c, 1).threshold, 0.01, 1e-15);
}

Test(calibration_reference, drift_needs_both_sides_and_twenty_rows)
{
    uint64_t r[] = { 1000, 0 }, s[] = { 0, 19 };
    Tabella__DriftColumn c = TABELLA__DRIFT_COLUMN__INIT;
    c.n_pinned = c.n_served = 2;
    c.pinned = r, c.served = s;
    cr_expect_not(tab_drift_tested(&c, 1).drifted, "nineteen rows");
    s[1] = 20;
    cr_expect(tab_drift_tested(&c, 1).drifted, "twenty");
    s[1] = 0;
    tab_drift_test t = tab_drift_tested(&c, 1);
    cr_expect(!t.drifted && t.p == 1 && t.served == 0 && t.stability == 0 && t.threshold == 0);
    s[1] = 20, r[0] = 0;
    t = tab_drift_tested(&c, 1);
    cr_expect(!t.drifted && t.p == 1 && t.served == 20 && t.stability == 0);
    r[1] = 1000; /* one bin alone: nothing to differ in */
    t = tab_drift_tested(&c, 1);
    cr_expect(!t.drifted && t.p == 1);
}

/* The scores of before any outcome are a normal distribution's at even places, in units of its tenth. */
Test(calibration_reference, a_state_begins_as_the_model_says)
{
    static tab_bands_state s;
    double least = 1, most = 0;
    tab_bands_begin(&s);
    for (size_t i = 0; i < N; i++) {
        double p = fmod(((double)i + 0.5) * 0.6180339887498949, 1), half = 0.5 / N;
        double want = fmin(fmax(p, half), 1 - half),
               got = 0.5 * erfc(-(double)s.score[i] * 1.2815515655446004 / sqrt(2));
        least = fmin(least, got), most = fmax(most, got);
        cr_expect_float_eq(got, want, 2e-7, "%zu: %g %g", i, got, want);
    }
    cr_expect(least < 0.0025 && most > 0.9975, "%g %g", least, most);
    for (size_t t = 0; t < LEVELS; t++)
        for (size_t k = 0; k < K; k++)
            cr_expect(s.level[t][k] == (t == 0 ? 0.1 : t == 1 ? 0.5 : 0.9) && s.weight[t][k] == 1.0 / K);
    cr_expect(s.next == 0 && s.offset[0] == 0 && s.offset[1] == 0 && s.offset[2] == 0);
}

Test(calibration_reference, ends_of_narrow_sides_are_their_own)
{
    const double at[] = { -2, 0.5, 3 };
    /* sides of half and of a whole unit: the median is the median, whichever end is asked for */
    cr_expect_float_eq(tab_bands_move(at, 9.5, 10, 14, 10, -1), 12, 1e-12);
    cr_expect_float_eq(tab_bands_move(at, 6, 10, 10.5, 10, 1), 10.25, 1e-12);
    cr_expect_float_eq(tab_bands_move(at, 9, 10, 14, 10, -1), 12, 1e-12);
    cr_expect_float_eq(tab_bands_move(at, 6, 10, 11, 10, 1), 10.5, 1e-12);
    double score = 9;
    cr_expect(tab_bands_score(3, 3, 3.5, 3, &score) && score == 0);
    cr_expect(tab_bands_score(3, 3.5, 3.5, 3.5, &score) && score == 0);
    cr_expect(tab_bands_score(3, 3.5, 3.5, 4, &score) && fabs(score - 2) < 1e-12);
}

/* Rows whose classes are all named have no share of others, unless one came true that was not named. */
Test(calibration_reference, shares_without_others_are_those_of_the_equations)
{
    static const uint64_t hash[CLASSES] = { 5, 6, 7, 8 };
    static tab_shares s;
    static shares_twin twin;
    uint64_t r = 362436069362436069;
    tab_shares_begin(&s);
    twin = (shares_twin){ 0 };
    twin.weight[0][3] = 1;
    for (size_t i = 0; i < 300; i++) {
        double share[CLASSES + 1], parts[CLASSES + 1] = { 1, 1, 1, 1, 1 }, sum = 0;
        for (size_t k = 0; k < CLASSES; k++)
            sum += share[k] = 0.05 + uniform(&r) * uniform(&r);
        for (size_t k = 0; k < CLASSES; k++)
            share[k] /= sum;
        bool unnamed = i % 40 == 39;
        share[CLASSES] = 1e-9; /* the least that is said of a class */
        size_t is = unnamed ? CLASSES : (size_t)(CLASSES * pow(uniform(&r), 2));
        tab_shares_tell(&s, &(tab_shares_row){ CLASSES, hash, share, 0, 0 }, is);
        shares_twin_tell(&twin, share, parts, unnamed ? CLASSES + 1 : CLASSES, is);
        cr_assert(tab_shares_sound(&s));
        for (size_t j = 0; j < SHIFTS; j++) {
            for (size_t k = 0; k < CLASSES; k++)
                cr_assert_float_eq((double)s.shift[j][k], twin.shift[j][k], 1e-4, "step %zu", i);
            for (size_t t = 0; t < TS; t++)
                cr_assert_float_eq(s.weight[j][t], twin.weight[j][t], 1e-5, "step %zu, %zu %zu", i, j, t);
        }
    }
}

Test(calibration_reference, drift_of_one_row_is_a_figure_all_the_same)
{
    uint64_t r[] = { 1, 0, 0 }, s[] = { 0, 1, 0 };
    Tabella__DriftColumn c = TABELLA__DRIFT_COLUMN__INIT;
    c.n_pinned = c.n_served = 3;
    c.pinned = r, c.served = s;
    tab_drift_test t = tab_drift_tested(&c, 1);
    cr_expect_eq(t.served, 1u);
    cr_expect_float_eq(t.stability, 2 * (1.5 / 2.5 - 0.5 / 2.5) * log(3), 1e-12);
    double z = (cbrt(2) - (1 - 2.0 / 9)) / sqrt(2.0 / 9);
    cr_expect_float_eq(t.p, erfc(z / sqrt(2)) / 2, 1e-12);
    cr_expect_not(t.drifted);
}

/* Whatever room there is, a message is whole or there is none. */
Test(calibration_reference, a_message_without_room_is_none)
{
    static tab_bands_state state;
    static tab_shares s;
    static const uint64_t hash[] = { 11, 12 };
    tab_bands b;
    size_t refused[3] = { 0 };
    tab_bands_begin(&state);
    tab_bands_of(&state, &b);
    tab_shares_begin(&s);
    tab_shares_tell(&s, &(tab_shares_row){ 2, hash, (const double[]){ 0.5, 0.5 }, 0, 0 }, 0);
    for (size_t room = 16; room < (size_t)1 << 16; room += 16) {
        tab_arena *a[3] = { tab_arena_new(room), tab_arena_new(room), tab_arena_new(room) };
        Tabella__LiveCalibration of_bands = TABELLA__LIVE_CALIBRATION__INIT, of_shares = of_bands;
        bool bands = tab_live_put_bands(a[0], &b, &of_bands),
             shares = tab_live_put_shares(a[1], &s, &of_shares);
        const Tabella__LiveBands *l = tab_live_of_state(a[2], &state);
        refused[0] += !bands, refused[1] += !shares, refused[2] += l == NULL;
        cr_expect(!bands || (of_bands.at != NULL && of_bands.expert != NULL));
        cr_expect(!shares ||
                  (of_shares.known != NULL && of_shares.weight != NULL && of_shares.shift != NULL));
        cr_expect(l == NULL ||
                  (l->score != NULL && l->level != NULL && l->weight != NULL && l->offset != NULL));
        for (size_t i = 0; i < 3; i++)
            tab_arena_free(a[i]);
    }
    cr_expect(refused[0] > 0 && refused[1] > 0 && refused[2] > 0);
}
