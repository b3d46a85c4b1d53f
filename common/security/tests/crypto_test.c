#include "common/security/crypto.h"

#include <criterion/criterion.h>

#define KEY "k1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define FRESH "k2:1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100"

Test(run_keys, what_is_sealed_opens_at_its_place_under_any_key_of_the_ring)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    tab_run_keys old, both, fresh, none, opens;
    cr_assert(tab_run_keys_read(KEY, true, &old) && tab_run_keys_read(FRESH "," KEY, true, &both));
    cr_assert(tab_run_keys_read(FRESH, true, &fresh) && tab_run_keys_read("", true, &none));
    cr_assert(tab_run_keys_read(KEY, false, &opens));
    tab_run_keys bad;
    cr_assert(!tab_run_keys_read("unset", true, &bad));

    const tab_str plain = TAB_S("{\"rows\": 3}");
    tab_str sealed, got;
    cr_assert_eq(tab_run_seal(&old, a, plain, TAB_S("here"), &sealed, NULL), TAB_OK);
    cr_assert(sealed.n > plain.n && (uint8_t)sealed.p[0] <= 32);
    static const struct {
        const char *name;
        size_t ring;
        const char *place;
        bool opens;
    } cases[] = {
        { "its own", 0, "here", true },       { "a newer key in front", 1, "here", true },
        { "opening alone", 4, "here", true }, { "the key thrown away", 2, "here", false },
        { "no keys", 3, "here", false },      { "moved", 0, "there", false },
    };
    const tab_run_keys *ring[] = { &old, &both, &fresh, &none, &opens };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_status s = tab_run_open(ring[cases[i].ring], a, sealed, tab_str_of(cases[i].place), &got, NULL);
        cr_expect_eq(s == TAB_OK, cases[i].opens, "%s", cases[i].name);
        cr_expect(s != TAB_OK || tab_str_eq(got, plain), "%s", cases[i].name);
    }
    for (size_t i = 0; i < sizeof ring / sizeof *ring; i++)
        tab_keyring_free(ring[i]->ring);
}

Test(run_keys, what_was_never_sealed_is_read_as_it_is)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    const tab_str values[] = { TAB_S("{}"), TAB_S("\x28\xb5\x2f\xfd zstd"), TAB_S("") };
    tab_run_keys none, some, opens;
    cr_assert(tab_run_keys_read("", true, &none) && tab_run_keys_read(KEY, true, &some));
    cr_assert(tab_run_keys_read(KEY, false, &opens));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        tab_str got = { NULL, 0 };
        cr_expect(tab_run_open(&some, a, values[i], TAB_S("here"), &got, NULL) == TAB_OK &&
                  tab_str_eq(got, values[i]));
        cr_expect(tab_run_open(&none, a, values[i], TAB_S("here"), &got, NULL) == TAB_OK &&
                  tab_str_eq(got, values[i]));
        cr_expect(tab_run_seal(&opens, a, values[i], TAB_S("here"), &got, NULL) == TAB_OK &&
                  tab_str_eq(got, values[i]));
    }
    tab_keyring_free(some.ring);
    tab_keyring_free(opens.ring);
}

/* What is read into an arena that is full is missing, which is no wrong key, and no empty text. */
Test(run_keys, without_memory_no_key_is_wrong)
{
    TAB_AUTO(tab_arena) *small = tab_arena_new(64);
    tab_run_keys some;
    tab_str got;
    tab_error err = { 0 };
    cr_assert(tab_run_keys_read(KEY, true, &some));
    cr_assert_null(tab_arena_alloc(small, 1 << 20, 1));
    tab_status s = tab_run_open(&some, small, TAB_S(""), TAB_S("here"), &got, &err);
    cr_expect_eq(s, tab_no_memory(NULL));
    s = tab_unseal(some.ring, small, TAB_S(""), TAB_S("here"), &got, &err);
    cr_expect(s == tab_no_memory(NULL) && strstr(err.message, "key") == NULL, "%s", err.message);
    tab_keyring_free(some.ring);
}
