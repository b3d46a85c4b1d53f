/* Answers that hold are told of about as rarely as is said, others soon: decision 0478. */
#include "services/jobs/outcomes/watch.h"

#include <criterion/criterion.h>
#include <math.h>

static uint64_t state = 88172645463325252;

static double uniform(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static Tabella__Watch *fresh(tab_arena *a)
{
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    Tabella__Watch *w = tab_arena_new_of(a, Tabella__Watch, 1);
    cr_assert(w != NULL && watch_begin(a, w, &e, TAB_RECEIPT_NUMBER) && watch_sound(w));
    return w;
}

/* Outcomes until it tells, `most` at most. */
static size_t told_after(double said, double is, size_t most, const Tabella__WatchSide **ret, tab_arena *a)
{
    Tabella__Watch *w = fresh(a);
    for (size_t i = 1; i <= most; i++)
        if ((*ret = watch_tell(w, said, said, uniform() < is)) != NULL)
            return i;
    return most;
}

Test(watch, answers_that_hold_are_left_alone)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    const Tabella__WatchSide *s;
    double sum = 0;
    for (int i = 0; i < 20; i++) {
        double said = 0.6 + 0.02 * (double)i;
        sum += (double)told_after(said, said, 200000, &s, a) / 20;
    }
    cr_expect_gt(sum, WATCH_RARELY / 2.0, "once in %g outcomes", sum);
}

Test(watch, answers_that_do_not_are_told_of_soon)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    const Tabella__WatchSide *s;
    cr_expect_lt(told_after(0.8, 0.5, 1000, &s, a), 150);
    cr_expect_lt((double)s->hits / (double)s->rows, 0.65);
    cr_expect_float_eq(s->said / (double)s->rows, 0.8, 1e-9);
    cr_expect_lt(told_after(0.8, 0.95, 1000, &s, a), 400, "too often right is no truth either");
    cr_expect_gt((double)s->hits / (double)s->rows, 0.85);
}

Test(watch, evidence_begins_anew_when_it_was_told)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Watch *w = fresh(a);
    size_t told = 0;
    for (int i = 0; i < 100; i++)
        told += watch_tell(w, 1, 1, false) != NULL;
    cr_expect(told >= 5 && told < 100, "%zu", told);
    (void)watch_tell(w, NAN, NAN, true);
    cr_expect(watch_sound(w));
    w->n_sides = 1;
    cr_expect_not(watch_sound(w));
}
