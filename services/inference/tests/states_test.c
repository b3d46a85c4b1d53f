#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "services/inference/states/states.h"

static atomic_int freed;

static void free_state(void *state)
{
    atomic_fetch_add(&freed, 1);
    free(state);
}

typedef struct {
    atomic_int fits;
    int value;
    size_t bytes;
    tab_status fail;
    useconds_t slow;
    const atomic_bool *until; /* fits end when it is true; NULL: at once */
} recipe;

static tab_status fit(void *arg, void **ret, size_t *ret_bytes, tab_error *err)
{
    recipe *r = arg;
    atomic_fetch_add(&r->fits, 1);
    usleep(r->slow);
    while (r->until != NULL && !atomic_load(r->until))
        usleep(1000);
    if (r->fail != TAB_OK)
        return tab_fail(err, r->fail, "x", "no fit");
    int *v = malloc(sizeof *v);
    *v = r->value;
    *ret = v;
    *ret_bytes = r->bytes;
    return TAB_OK;
}

static void *same(void *arg)
{
    return arg;
}

static void nothing(void *own)
{
    (void)own;
}

static const tab_states_maker maker = { same, fit, nothing };

static int take(tab_states *s, const char *key, recipe *r, bool *warm)
{
    tab_loan *loan = NULL;
    if (tab_states_take(s, tab_str_of(key), &maker, r, NULL, &loan, warm, NULL) != TAB_OK)
        return -1;
    int v = *(int *)tab_loan_state(loan);
    tab_states_give(s, loan);
    return v;
}

Test(states, second_call_is_warm)
{
    TAB_AUTO(tab_states) *s = tab_states_new(100, free_state);
    recipe r = { .value = 7, .bytes = 10 };
    bool warm = true;
    cr_expect_eq(take(s, "a", &r, &warm), 7);
    cr_expect_not(warm);
    cr_expect_eq(take(s, "a", &r, &warm), 7);
    cr_expect(warm);
    cr_expect_eq(r.fits, 1);
}

Test(states, least_recently_used_goes_first)
{
    TAB_AUTO(tab_states) *s = tab_states_new(20, free_state);
    recipe r = { .value = 1, .bytes = 10 };
    bool warm;
    take(s, "a", &r, &warm);
    take(s, "b", &r, &warm);
    take(s, "a", &r, &warm);
    take(s, "c", &r, &warm); /* b goes */
    cr_expect_eq(tab_states_look(s).count, 2u);
    cr_expect_eq(tab_states_look(s).bytes, 20u);
    take(s, "a", &r, &warm);
    cr_expect(warm);
    take(s, "b", &r, &warm);
    cr_expect_not(warm);
}

Test(states, borrowed_state_outlives_its_eviction)
{
    atomic_store(&freed, 0);
    tab_states *s = tab_states_new(10, free_state);
    recipe r = { .value = 5, .bytes = 10 };
    bool warm;
    tab_loan *loan = NULL;
    cr_assert_eq(tab_states_take(s, TAB_S("a"), &maker, &r, NULL, &loan, &warm, NULL), TAB_OK);
    take(s, "b", &r, &warm); /* pushes a out */
    cr_expect_eq(freed, 0);
    cr_expect_eq(*(int *)tab_loan_state(loan), 5);
    tab_states_give(s, loan);
    cr_expect_eq(freed, 1);
    tab_states_free(s);
    cr_expect_eq(freed, 2);
}

typedef struct {
    tab_states *s;
    recipe *r;
    int got;
} caller;

static void *call(void *arg)
{
    caller *c = arg;
    bool warm;
    c->got = take(c->s, "one", c->r, &warm);
    return NULL;
}

Test(states, burst_of_misses_fits_once)
{
    TAB_AUTO(tab_states) *s = tab_states_new(100, free_state);
    recipe r = { .value = 3, .bytes = 1, .slow = 50000 };
    pthread_t t[16];
    caller c[16];
    for (int i = 0; i < 16; i++) {
        c[i] = (caller){ s, &r, 0 };
        pthread_create(&t[i], NULL, call, &c[i]);
    }
    for (int i = 0; i < 16; i++) {
        pthread_join(t[i], NULL);
        cr_expect_eq(c[i].got, 3);
    }
    cr_expect_eq(r.fits, 1);
}

Test(states, failed_fit_is_everyones_error_and_is_not_kept)
{
    TAB_AUTO(tab_states) *s = tab_states_new(100, free_state);
    recipe bad = { .fail = TAB_NOT_FOUND }, good = { .value = 9, .bytes = 1 };
    tab_loan *loan = NULL;
    bool warm;
    tab_error err = { 0 };
    cr_expect_eq(tab_states_take(s, TAB_S("k"), &maker, &bad, NULL, &loan, &warm, &err), TAB_NOT_FOUND);
    cr_expect_str_eq(err.message, "no fit");
    cr_expect_eq(take(s, "k", &good, &warm), 9);
    cr_expect_eq(tab_states_look(s).count, 1u);
}

Test(states, drop_forgets_an_endpoint)
{
    TAB_AUTO(tab_states) *s = tab_states_new(100, free_state);
    recipe r = { .value = 1, .bytes = 1 };
    bool warm;
    take(s, "ep1/base-2/1", &r, &warm);
    take(s, "ep2/base-2/1", &r, &warm);
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    size_t n;
    const char **key = tab_states_keys(s, a, &n);
    cr_assert(n == 2 && strcmp(key[0], "ep1/base-2/1") == 0 && strcmp(key[1], "ep2/base-2/1") == 0);
    tab_states_drop(s, TAB_S("ep1/"));
    cr_assert(tab_states_keys(s, a, &n) != NULL && n == 1);
    take(s, "ep2/base-2/1", &r, &warm);
    cr_expect(warm);
    take(s, "ep1/base-2/1", &r, &warm);
    cr_expect_not(warm);
}

Test(states, what_was_made_elsewhere_is_warm_and_never_replaces)
{
    TAB_AUTO(tab_states) *s = tab_states_new(100, free_state);
    recipe r = { .value = 7, .bytes = 10 };
    bool warm = false;
    tab_loan *loan = NULL, *late = NULL;
    int *made = malloc(sizeof *made), *again = malloc(sizeof *again);
    *made = 5;
    *again = 6;
    cr_assert(tab_states_put(s, TAB_S("a"), made, 10, &loan));
    cr_expect_eq(take(s, "a", &r, &warm), 5);
    cr_expect(warm);
    /* a second one serves its own loan alone and goes with it */
    int before = freed;
    cr_assert(tab_states_put(s, TAB_S("a"), again, 10, &late));
    cr_expect_eq(*(int *)tab_loan_state(late), 6);
    cr_expect_eq(take(s, "a", &r, &warm), 5);
    tab_states_give(s, late);
    cr_expect_eq(freed, before + 1);
    tab_states_give(s, loan);
    tab_states_figures f = tab_states_look(s);
    cr_expect(f.count == 1 && f.bytes == 10 && f.kept == 1 && r.fits == 0);
    /* it takes part in the bound like any other */
    recipe big = { .value = 8, .bytes = 95 };
    cr_expect_eq(take(s, "b", &big, &warm), 8);
    cr_expect_eq(tab_states_look(s).count, 1);
}

/* The first caller leaves; the fit goes on, and the next call finds what came of it. */
Test(states, a_fit_outlives_its_callers)
{
    tab_states *s = tab_states_new(100, free_state);
    atomic_bool gone = true, go = false;
    recipe r = { .value = 4, .bytes = 1, .until = &go };
    tab_loan *loan = NULL;
    bool warm = false;
    tab_error err = { 0 };
    cr_expect_eq(tab_states_take(s, TAB_S("a"), &maker, &r, &gone, &loan, &warm, &err), TAB_CANCELLED);
    atomic_store(&go, true);
    tab_states_wait(s);
    cr_expect_eq(take(s, "a", &r, &warm), 4);
    cr_expect(warm);
    cr_expect_eq(r.fits, 1);
    /* nobody asks again: it is freed with the rest */
    cr_expect_eq(tab_states_take(s, TAB_S("b"), &maker, &r, &gone, &loan, &warm, &err), TAB_CANCELLED);
    tab_states_free(s);
    cr_expect_eq(r.fits, 2);
}

/* Whoever holds a state can hand it on: it lives until both have given it back. */
Test(states, a_borrowed_state_is_borrowed_again)
{
    TAB_AUTO(tab_states) *s = tab_states_new(100, free_state);
    recipe r = { .value = 6, .bytes = 10 };
    tab_loan *loan = NULL;
    bool warm;
    cr_assert_eq(tab_states_take(s, TAB_S("o/a"), &maker, &r, NULL, &loan, &warm, NULL), TAB_OK);
    tab_loan *again = tab_states_again(s, loan);
    int before = freed;
    tab_states_drop(s, TAB_S("o/"));
    tab_states_give(s, loan);
    cr_expect_eq(freed, before);
    cr_expect_eq(*(int *)tab_loan_state(again), 6);
    tab_states_give(s, again);
    cr_expect_eq(freed, before + 1);
}

Test(states, fits_of_a_prefix_are_counted_but_for_one)
{
    TAB_AUTO(tab_states) *s = tab_states_new(100, free_state);
    atomic_bool gone = true, go = false;
    recipe r = { .value = 4, .bytes = 1, .until = &go };
    tab_loan *loan = NULL;
    bool warm;
    const char *const key[] = { "one/a", "one/b", "one/ab", "other/a" };
    for (size_t i = 0; i < 4; i++)
        cr_expect_neq(tab_states_take(s, tab_str_of(key[i]), &maker, &r, &gone, &loan, &warm, NULL), TAB_OK);
    cr_expect_eq(tab_states_fitting(s, TAB_S("one/"), TAB_S("one/a")), 2);
    cr_expect_eq(tab_states_fitting(s, TAB_S("one/"), TAB_S("one/c")), 3);
    atomic_store(&go, true);
    tab_states_wait(s);
    cr_expect_eq(tab_states_fitting(s, TAB_S("one/"), TAB_S("one/c")), 0);
}

Test(states, so_many_fits_at_once_and_no_more)
{
    TAB_AUTO(tab_states) *s = tab_states_new(1000, free_state);
    atomic_bool gone = true, go = false;
    recipe r = { .value = 4, .bytes = 1, .until = &go };
    tab_loan *loan = NULL;
    bool warm;
    tab_error err = { 0 };
    for (int i = 0; i <= TAB_STATES_FITS; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        tab_status st = tab_states_take(s, tab_str_of(key), &maker, &r, &gone, &loan, &warm, &err);
        cr_expect_eq(st, i < TAB_STATES_FITS ? TAB_CANCELLED : TAB_UNAVAILABLE);
    }
    atomic_store(&go, true);
    tab_states_wait(s);
    cr_expect_eq(take(s, "new", &r, &warm), 4);
}
