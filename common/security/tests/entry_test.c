#include "common/security/entry.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char hash[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char other_hash[] = "baaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const tab_entry entry = { .grant = { .org = "org_a",
                                            .key = "key_b",
                                            .plan = "pro",
                                            .scopes = 5,
                                            .key_rpm = 1200,
                                            .org_rpm = 6000,
                                            .endpoint_rpm = 6000,
                                            .cells_per_minute = 50000000,
                                            .endpoint_concurrency = 64,
                                            .batch_concurrency = 4,
                                            .version = 7 },
                                 .epoch = 6,
                                 .until_s = 1800000000 };

static tab_identity_key key_of(const char *secret)
{
    tab_identity_key k;
    cr_assert(tab_identity_key_set(&k, tab_str_of(secret)));
    return k;
}

Test(entry, is_read_as_it_was_signed)
{
    tab_identity_key k = key_of("0123456789abcdef0123456789abcdef");
    char text[TAB_ENTRY_TEXT];
    tab_entry e;
    size_t n = tab_entry_write(&k, tab_str_of(hash), &entry, text, sizeof text);
    cr_assert(n > 0 && n == strlen(text));
    cr_expect_eq(strncmp(text, "org_a key_b 5 pro 1200 6000 6000 50000000 64 4 7 6 1800000000 ", 61), 0);
    cr_assert(tab_entry_read(&k, tab_str_of(hash), (tab_str){ text, n }, &e));
    cr_expect(e.is_signed && e.epoch == 6 && e.until_s == 1800000000 && e.grant.version == 7);
    cr_expect_str_eq(e.grant.org, "org_a");
    cr_expect(tab_entry_read(NULL, tab_str_of(hash), (tab_str){ text, n }, &e) && e.epoch == 6,
              "a gateway without the secret reads it as well");
}

Test(entry, unsigned_is_for_those_without_a_secret)
{
    tab_identity_key k = key_of("0123456789abcdef0123456789abcdef");
    char text[TAB_ENTRY_TEXT];
    tab_entry e;
    size_t n = tab_entry_write(NULL, tab_str_of(hash), &entry, text, sizeof text);
    cr_assert_str_eq(text, "org_a key_b 5 pro 1200 6000 6000 50000000 64 4 7");
    cr_expect(tab_entry_read(NULL, tab_str_of(hash), (tab_str){ text, n }, &e) && !e.is_signed);
    cr_expect_not(tab_entry_read(&k, tab_str_of(hash), (tab_str){ text, n }, &e));
}

Test(entry, nothing_of_it_can_be_changed_or_moved)
{
    tab_identity_key k = key_of("0123456789abcdef0123456789abcdef");
    tab_identity_key other = key_of("0123456789abcdef0123456789abcdeg");
    char text[TAB_ENTRY_TEXT];
    tab_entry e;
    size_t n = tab_entry_write(&k, tab_str_of(hash), &entry, text, sizeof text);
    cr_expect_not(tab_entry_read(&k, tab_str_of(other_hash), (tab_str){ text, n }, &e), "another key's");
    cr_expect_not(tab_entry_read(&other, tab_str_of(hash), (tab_str){ text, n }, &e), "another secret's");
    for (size_t i = 0; i < n; i++) {
        char was = text[i];
        text[i] = was == '9' ? '8' : '9';
        cr_expect_not(tab_entry_read(&k, tab_str_of(hash), (tab_str){ text, n }, &e), "byte %zu", i);
        text[i] = was;
    }
    for (size_t i = 0; i < n; i++)
        cr_expect_not(tab_entry_read(&k, tab_str_of(hash), (tab_str){ text, i }, &e), "cut at %zu", i);
}

Test(entry, what_is_too_small_is_said)
{
    tab_identity_key k = key_of("0123456789abcdef0123456789abcdef");
    char text[TAB_ENTRY_TEXT];
    size_t n = tab_entry_write(&k, tab_str_of(hash), &entry, text, sizeof text);
    for (size_t size = 1; size <= n; size++)
        cr_expect_eq(tab_entry_write(&k, tab_str_of(hash), &entry, text, size), 0, "%zu", size);
}

Test(epoch, is_signed_for_its_organization)
{
    tab_identity_key k = key_of("0123456789abcdef0123456789abcdef");
    char text[TAB_EPOCH_TEXT];
    uint64_t x;
    size_t n = tab_epoch_write(&k, TAB_S("org_a"), 41, text, sizeof text);
    cr_assert(n > 0 && tab_epoch_read(&k, TAB_S("org_a"), (tab_str){ text, n }, &x) && x == 41);
    cr_expect_not(tab_epoch_read(&k, TAB_S("org_b"), (tab_str){ text, n }, &x));
    text[0] = '3';
    cr_expect_not(tab_epoch_read(&k, TAB_S("org_a"), (tab_str){ text, n }, &x));
    cr_expect_not(tab_epoch_read(&k, TAB_S("org_a"), TAB_S("41"), &x));
    cr_expect_not(tab_epoch_read(&k, TAB_S("org_a"), TAB_S(""), &x));
}
