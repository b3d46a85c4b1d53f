#include "services/data-connector/store/org_keys.h"

#include <criterion/criterion.h>

static const uint8_t one[BLOCK_KEY] = "the data key of one organization",
                     two[BLOCK_KEY] = "the data key of the other one, .";

/* A block of zstd's magic and some rows; its hash is n, 32 times. */
static block made(tab_arena *a, uint8_t n)
{
    block b = { .raw = 100, .bytes = tab_arena_copy(a, TAB_S("\x28\xb5\x2f\xfd rows of an organization")) };
    memset(b.hash, n, sizeof b.hash);
    return b;
}

static tab_str hash_of(const block *b)
{
    return (tab_str){ (const char *)b->hash, BLOCK_HASH };
}

Test(org_keys, a_sealed_block_opens_at_its_place_with_its_key_alone)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    TAB_AUTO(tab_keyring) *mine = tab_keyring_of(":org", one), *other = tab_keyring_of(":org", two);
    block plain = made(a, 7), b = plain, next = made(a, 8);
    tab_str got;
    cr_assert_eq(org_keys_seal(mine, a, "org_1", &b, NULL), TAB_OK);
    cr_assert(tab_data_sealed(b.bytes) && !tab_data_sealed(plain.bytes));
    cr_assert(block_sealed(b.bytes) && !block_sealed(plain.bytes) && !block_sealed(TAB_S("")));
    const struct {
        const char *name;
        const tab_keyring *key;
        const char *org;
        const block *place;
        bool opens;
    } cases[] = {
        { "its own", mine, "org_1", &b, true },
        { "another organization's key", other, "org_1", &b, false },
        { "another organization's place", mine, "org_2", &b, false },
        { "another block's place", mine, "org_1", &next, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_str place = org_keys_context(a, cases[i].org, hash_of(cases[i].place));
        tab_status s = tab_unseal(cases[i].key, a, b.bytes, place, &got, NULL);
        cr_expect_eq(s == TAB_OK, cases[i].opens, "%s", cases[i].name);
        cr_expect(s != TAB_OK || tab_str_eq(got, plain.bytes), "%s", cases[i].name);
    }
}

Test(org_keys, no_bit_of_a_sealed_block_can_be_changed_and_no_byte_left_out)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
    TAB_AUTO(tab_keyring) *mine = tab_keyring_of(":org", one);
    block b = made(a, 7);
    tab_str got;
    cr_assert_eq(org_keys_seal(mine, a, "org_1", &b, NULL), TAB_OK);
    tab_str place = org_keys_context(a, "org_1", hash_of(&b));
    for (size_t bit = 0; bit < 8 * b.bytes.n; bit++) {
        tab_str changed = tab_arena_copy(a, b.bytes);
        ((char *)(uintptr_t)changed.p)[bit / 8] ^= (char)(1 << bit % 8);
        cr_expect_neq(tab_unseal(mine, a, changed, place, &got, NULL), TAB_OK, "bit %zu", bit);
    }
    for (size_t n = 0; n < b.bytes.n; n++)
        cr_expect_neq(tab_unseal(mine, a, (tab_str){ b.bytes.p, n }, place, &got, NULL), TAB_OK, "%zu bytes",
                      n);
}

Test(org_keys, without_a_data_key_blocks_are_stored_as_they_are)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    block plain = made(a, 7), b = plain;
    cr_assert_eq(org_keys_seal(NULL, a, "org_1", &b, NULL), TAB_OK);
    cr_expect(tab_str_eq(b.bytes, plain.bytes));
}

Test(org_keys, no_key_of_runs_can_have_the_name_of_data_keys)
{
    static const char run_key[] = ":org:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    cr_expect_null(tab_keyring_new(run_key));
}
