/* Keys that are elsewhere, here in a wrapper that can be slow, away or wrong. */
#include "common/security/wrapper.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "common/base/time.h"
#include "common/security/crypto.h"

typedef struct {
    pthread_mutex_t gate; /* held by the test: calls hang */
    atomic_int calls;
    atomic_bool away;
} elsewhere;

static tab_status turned(elsewhere *e, const uint8_t *in, uint8_t *ret, tab_error *err)
{
    atomic_fetch_add(&e->calls, 1);
    pthread_mutex_lock(&e->gate);
    pthread_mutex_unlock(&e->gate);
    for (size_t i = 0; i < TAB_WRAP_KEY; i++)
        ret[i] = in[i] ^ 0x5a;
    return atomic_load(&e->away) ? tab_fail(err, TAB_UNAVAILABLE, "", "pulled out") : TAB_OK;
}

static tab_status wrap(void *self, const char *name, const uint8_t key[TAB_WRAP_KEY],
                       uint8_t ret[TAB_WRAPPED_MOST], size_t *ret_n, tab_error *err)
{
    ret[TAB_WRAP_KEY] = (uint8_t)name[0];
    *ret_n = TAB_WRAP_KEY + 1;
    return turned(self, key, ret, err);
}

static tab_status unwrap(void *self, const char *name, tab_str wrapped, uint8_t ret[TAB_WRAP_KEY],
                         tab_error *err)
{
    if (wrapped.n != TAB_WRAP_KEY + 1 || wrapped.p[TAB_WRAP_KEY] != name[0])
        return tab_fail(err, TAB_INTERNAL, "", "another key wrapped it");
    return turned(self, (const uint8_t *)wrapped.p, ret, err);
}

#define ELSEWHERE(e) /* each test is a process of its own */    \
    static elsewhere e = { .gate = PTHREAD_MUTEX_INITIALIZER }; \
    static const tab_wrapper e##_wrapper = { .scheme = "far", .self = &e, .wrap = wrap, .unwrap = unwrap }
#define HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

Test(wrapper, rings_take_names_of_keys_that_are_elsewhere)
{
    ELSEWHERE(e);
    char most[80] = "id:far:", more[sizeof most + 1];
    memset(most + 7, 'x', TAB_WRAP_NAME);
    snprintf(more, sizeof more, "%sx", most);
    const struct {
        const char *text;
        bool good;
    } cases[] = {
        { "id:far:a key", true },
        { "id:far:k,old:" HEX, true },
        { "old:" HEX ",id:far:k:2", true },
        { most, true },
        { more, false },
        { "id:far:", false },
        { "id:far", false },
        { "id:near:k", false },
        { "far:k", false },
        { ":far:k", false },
        { "id:far:k,", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_keyring *k = tab_keyring_with(cases[i].text, &e_wrapper);
        cr_expect_eq(k != NULL, cases[i].good, "%s", cases[i].text);
        tab_keyring_free(k);
        cr_expect(strstr(cases[i].text, "far") == NULL || tab_keyring_new(cases[i].text) == NULL, "%s",
                  cases[i].text);
    }
}

Test(wrapper, what_is_sealed_opens_in_its_place_and_is_rotated_both_ways)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    ELSEWHERE(e);
    const char *rings[] = { "old:" HEX, "f:far:k,old:" HEX, "f:far:k", "g:far:k,f:far:k", "f:far:other" };
    tab_keyring *k[5];
    tab_str far, old, got;
    tab_error err;
    for (size_t i = 0; i < 5; i++)
        cr_assert_not_null(k[i] = tab_keyring_with(rings[i], &e_wrapper));
    cr_assert_eq(tab_seal(k[0], a, TAB_S("plain"), TAB_S("here"), &old, NULL), TAB_OK);
    cr_assert_eq(tab_seal(k[1], a, TAB_S("plain"), TAB_S("here"), &far, NULL), TAB_OK);
    cr_expect(tab_sealed_newest(k[1], far) && !tab_sealed_newest(k[1], old) && !tab_sealed_newest(k[3], far));
    const tab_str sealed[] = { old, far };
    static const bool opens[2][5] = { { true, true, false, false, false },
                                      { false, true, true, true, false } };
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < 5; i++) {
            bool good = tab_unseal(k[i], a, sealed[s], TAB_S("here"), &got, NULL) == TAB_OK;
            cr_expect_eq(good, opens[s][i], "%zu by %s", s, rings[i]);
            cr_expect(!good || tab_str_eq(got, TAB_S("plain")));
        }
    cr_expect_eq(tab_unseal(k[2], a, far, TAB_S("there"), &got, NULL), TAB_INTERNAL);
    for (size_t n = 0; n < far.n; n++) /* cut anywhere it is an error, and nothing behind it is read */
        cr_expect_eq(tab_unseal(k[2], a, tab_arena_copy(a, (tab_str){ far.p, n }), TAB_S("here"), &got, &err),
                     TAB_INTERNAL, "%zu bytes: %s", n, err.message);
    tab_str again;
    cr_assert_eq(tab_seal(k[1], a, TAB_S("plain"), TAB_S("here"), &again, NULL), TAB_OK);
    cr_expect(memcmp(again.p + 3, far.p + 3, TAB_WRAP_KEY) != 0, "each value has a key of its own");
    for (size_t i = 0; i < 5; i++)
        tab_keyring_free(k[i]);
}

Test(wrapper, what_was_unwrapped_is_remembered_for_its_time)
{
    ELSEWHERE(e);
    uint8_t key[TAB_WRAP_KEY] = "a key", got[TAB_WRAP_KEY], wrapped[TAB_WRAPPED_MOST];
    size_t n;
    tab_bounded *keeps = tab_bounded_open(&e_wrapper, 60000, 600000);
    tab_bounded *forgets = tab_bounded_open(&e_wrapper, 60000, 0);
    const tab_wrapper *k = tab_bounded_wrapper(keeps), *f = tab_bounded_wrapper(forgets);
    cr_assert_eq(k->wrap(k->self, "k", key, wrapped, &n, NULL), TAB_OK);
    const tab_str w = { (const char *)wrapped, n };
    cr_assert_eq(f->unwrap(f->self, "k", w, got, NULL), TAB_OK);
    cr_expect(memcmp(got, key, sizeof key) == 0);
    cr_expect_eq(atomic_load(&e.calls), 2);
    atomic_store(&e.away, true);
    memset(got, 0, sizeof got);
    cr_expect_eq(k->unwrap(k->self, "k", w, got, NULL), TAB_OK, "remembered while it is away");
    cr_expect(memcmp(got, key, sizeof key) == 0);
    cr_expect_eq(f->unwrap(f->self, "k", w, got, NULL), TAB_UNAVAILABLE, "its time is over");
    cr_expect_eq(k->unwrap(k->self, "other", w, got, NULL), TAB_INTERNAL, "under its own name alone");
    cr_expect(tab_bounded_close(keeps) && tab_bounded_close(forgets));
}

Test(wrapper, a_call_that_hangs_keeps_nobody_and_ends_later)
{
    ELSEWHERE(e);
    uint8_t key[TAB_WRAP_KEY] = "a key", wrapped[TAB_WRAPPED_MOST];
    size_t n;
    tab_error err;
    static tab_bounded *b;
    b = tab_bounded_open(&e_wrapper, 50, 600000);
    const tab_wrapper *w = tab_bounded_wrapper(b);
    pthread_mutex_lock(&e.gate);
    cr_expect_eq(w->wrap(w->self, "k", key, wrapped, &n, &err), TAB_UNAVAILABLE);
    cr_expect_str_eq(err.message, "the key that seals what is stored is away; try again");
    for (int i = 0; i < 3; i++)
        cr_expect_eq(w->wrap(w->self, "k", key, wrapped, &n, &err), TAB_UNAVAILABLE);
    cr_expect_eq(atomic_load(&e.calls), 1, "it is asked nothing more while it hangs");
    pthread_mutex_unlock(&e.gate);
    tab_deadline soon = tab_in_ms(60000);
    while (w->wrap(w->self, "k", key, wrapped, &n, &err) != TAB_OK && tab_left_ms(soon, 1) > 0)
        ;
    cr_expect_eq(err.status == TAB_UNAVAILABLE && n == TAB_WRAP_KEY + 1, true,
                 "and it goes on when it answers");
    pthread_mutex_lock(&e.gate);
    cr_expect_eq(w->wrap(w->self, "k", key, wrapped, &n, &err), TAB_UNAVAILABLE);
    cr_expect(!tab_bounded_close(b), "it is left behind where it hangs");
    pthread_mutex_unlock(&e.gate);
}
