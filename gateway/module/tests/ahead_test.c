#include "gateway/module/tab_ahead.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const int64_t second = 1000000, minute = 60000000;
static const char hash_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char hash_b[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/* A key of org that Redis has just let in, all its buckets but the organization's empty of requests. */
static tab_ahead_caller *learn(tab_ahead *t, const char *hash, const char *key, const char *limits,
                               const char *endpoint, int64_t org_full_us, int64_t now)
{
    char entry[200];
    int64_t full_us[TAB_AHEAD_BUCKETS] = { 0, org_full_us, 0 };
    int n = snprintf(entry, sizeof entry, "org %s 31 pro %s 50000000 64 4 1", key, limits);
    tab_ahead_learn(t, hash, tab_str_of(endpoint), (tab_str){ entry, (size_t)n }, TAB_S(""), full_us, now);
    return tab_ahead_find(t, hash, tab_str_of(endpoint));
}

static uint32_t take_all(tab_ahead *t, tab_ahead_caller *c, int64_t now)
{
    uint32_t n = 0;
    for (; tab_ahead_take(t, c, 1, now); n++)
        tab_ahead_keep(t, c, 1);
    return n;
}

Test(ahead, lets_in_a_share_of_the_limit_and_more_once_it_is_paid)
{
    tab_ahead *t = tab_ahead_new(1000, 2, NULL); /* 10 % by two workers: 5 % each */
    tab_ahead_caller *c = learn(t, hash_a, "k", "200 1000 1000", "", 0, second);
    uint32_t owed;
    cr_assert_not_null(c);
    cr_expect_eq(take_all(t, c, second), 10);
    cr_assert_eq(tab_ahead_next(t, &owed), c);
    cr_expect_eq(owed, 10);
    cr_expect_not(tab_ahead_take(t, c, 1, second), "on its way to Redis, it is still ahead");
    int64_t full_us[TAB_AHEAD_BUCKETS] = { 3 * second, second, 0 };
    tab_ahead_paid(t, c, 10, full_us, second);
    cr_expect_eq(tab_ahead_left(c, second).remaining, 190);
    cr_expect_eq(take_all(t, c, second), 10);
    cr_expect_eq(tab_ahead_of(t, c), 10);
    tab_ahead_paid(t, c, 10, NULL, second);
    cr_expect_null(tab_ahead_next(t, &owed), "all was handed over");
    tab_ahead_free(t);
}

Test(ahead, is_bounded_for_an_organization_over_all_its_keys)
{
    tab_ahead *t = tab_ahead_new(100, 1, NULL);
    tab_ahead_caller *a = learn(t, hash_a, "k", "1000 1000 1000", "", 0, second);
    tab_ahead_caller *b = learn(t, hash_b, "l", "1000 1000 1000", "", 0, second);
    cr_expect_eq(take_all(t, a, second), 10);
    cr_expect_eq(take_all(t, b, second), 0);
    tab_ahead_free(t);
}

Test(ahead, asks_where_there_is_no_room_or_no_recent_word)
{
    static const struct {
        const char *name, *limits, *endpoint;
        int64_t org_full_us, later_us;
        uint32_t want;
    } cases[] = {
        { "all of the share", "1000 1000 1000", "", 0, 0, 10 },
        { "the endpoint's limit is the lowest", "1000 1000 400", "e", 0, 0, 4 },
        { "an endpoint's limit where there is none", "1000 1000 400", "", 0, 0, 10 },
        { "a limit of which the share is less than one", "60 1000 1000", "", 0, 0, 0 },
        { "an organization with room for three", "1000 1000 1000", "", 60 * second - 3 * 60000, 0, 3 },
        { "what was heard a second ago", "1000 1000 1000", "", 0, second, 10 },
        { "what was heard longer ago", "1000 1000 1000", "", 0, second + 1, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_ahead *t = tab_ahead_new(100, 1, NULL);
        tab_ahead_caller *c =
            learn(t, hash_a, "k", cases[i].limits, cases[i].endpoint, cases[i].org_full_us, second);
        cr_assert_not_null(c);
        uint32_t got = take_all(t, c, second + cases[i].later_us);
        cr_expect_eq(got, cases[i].want, "%s: got %u", cases[i].name, got);
        tab_ahead_free(t);
    }
}

Test(ahead, forgets_what_changed_and_keeps_what_is_owed)
{
    tab_ahead *t = tab_ahead_new(1000, 1, NULL);
    tab_ahead_caller *c = learn(t, hash_a, "k", "100 100 100", "", 0, second);
    uint32_t owed;
    cr_assert(tab_ahead_take(t, c, 2, second));
    tab_ahead_keep(t, c, 2);
    cr_assert(tab_ahead_take(t, c, 1, second));
    tab_ahead_return(t, c, 1);
    tab_ahead_forget(t, c);
    cr_expect_not(tab_ahead_take(t, c, 1, second));
    cr_expect_eq(learn(t, hash_a, "k", "50 100 100", "", 0, second), c);
    cr_expect_eq(tab_ahead_told(c)->entry.grant.key_rpm, 50);
    cr_expect_eq(take_all(t, c, second), 3, "five, less the two that are owed");
    cr_expect_eq(tab_ahead_next(t, &owed), c);
    cr_expect_eq(owed, 5);
    tab_ahead_paid(t, c, 5, NULL, second);
    tab_ahead_free(t);
}

Test(ahead, remembers_so_many_and_none_that_owes_is_dropped)
{
    tab_ahead *t = tab_ahead_new(1000, 1, NULL);
    tab_ahead_caller *c = learn(t, hash_a, "k", "100 100 100", "", 0, second);
    cr_assert(tab_ahead_take(t, c, 1, second));
    tab_ahead_keep(t, c, 1);
    for (int i = 0; i < 2 * TAB_AHEAD_CALLERS; i++) {
        char hash[65], key[16];
        snprintf(hash, sizeof hash, "%064d", i);
        snprintf(key, sizeof key, "k%d", i);
        cr_assert_not_null(learn(t, hash, key, "100 100000 100", "", 0, second), "%d", i);
    }
    char first[65];
    snprintf(first, sizeof first, "%064d", 0);
    cr_expect_null(tab_ahead_find(t, first, TAB_S("")), "the longest unused");
    cr_expect_eq(tab_ahead_find(t, hash_a, TAB_S("")), c);
    tab_ahead_free(t);
}

Test(ahead, remembers_nothing_that_it_cannot_rely_on)
{
    static const int64_t full_us[TAB_AHEAD_BUCKETS] = { 0 };
    char endpoint[TAB_AHEAD_ENDPOINT + 1];
    memset(endpoint, 'e', sizeof endpoint);
    tab_str entry = TAB_S("org k 31 pro 100 100 100 1 1 1 1");
    tab_ahead *t = tab_ahead_new(1000, 1, NULL), *off = tab_ahead_new(0, 1, NULL);
    tab_ahead_learn(t, hash_a, TAB_S(""), TAB_S("no entry"), TAB_S(""), full_us, second);
    tab_ahead_learn(t, hash_a, (tab_str){ endpoint, sizeof endpoint }, entry, TAB_S(""), full_us, second);
    tab_ahead_learn(off, hash_a, TAB_S(""), entry, TAB_S(""), full_us, second);
    cr_expect_null(tab_ahead_find(t, hash_a, TAB_S("")));
    cr_expect_null(tab_ahead_find(t, hash_a, (tab_str){ endpoint, sizeof endpoint }));
    cr_expect_null(tab_ahead_find(off, hash_a, TAB_S("")));
    cr_assert_not_null(learn(t, hash_a, "k", "100 100 100", "", minute, second));
    cr_expect_not_null(learn(t, hash_a, "other", "100 100 100", "", 0, second));
    cr_expect_not(tab_ahead_take(t, tab_ahead_find(t, hash_a, TAB_S("")), 1, second), "a hash is one key's");
    tab_ahead_free(t);
    tab_ahead_free(off);
}

/* A signed entry of org's key k, as the keys service writes it. */
static tab_str signed_entry(const tab_identity_key *key, const char *hash, uint32_t rpm,
                            char buf[TAB_ENTRY_TEXT])
{
    tab_entry e = { .grant = { .org = "org",
                               .key = "k",
                               .plan = "pro",
                               .key_rpm = rpm,
                               .org_rpm = 100,
                               .endpoint_rpm = 100 },
                    .epoch = 3,
                    .until_s = 2000000000 };
    return (tab_str){ buf, tab_entry_write(key, tab_str_of(hash), &e, buf, TAB_ENTRY_TEXT) };
}

Test(ahead, remembers_only_what_is_signed_and_reads_it_anew_after_a_while)
{
    static const int64_t full_us[TAB_AHEAD_BUCKETS] = { 0 };
    static const int64_t old = TAB_AHEAD_WORD_S * 1000000LL + 2000000;
    tab_identity_key key, other;
    char first[TAB_ENTRY_TEXT], second_one[TAB_ENTRY_TEXT], forged[TAB_ENTRY_TEXT], epoch[TAB_EPOCH_TEXT];
    cr_assert(tab_identity_key_set(&key, TAB_S("a secret of more than thirty-two characters")));
    cr_assert(tab_identity_key_set(&other, TAB_S("another one of more than thirty-two characters")));
    tab_str entry = signed_entry(&key, hash_a, 100, first),
            changed = signed_entry(&key, hash_a, 200, second_one);
    tab_str bad = signed_entry(&other, hash_a, 900, forged), none = TAB_S("");
    tab_str revoked = { epoch, tab_epoch_write(&key, TAB_S("org"), 2, epoch, sizeof epoch) };
    tab_ahead *t = tab_ahead_new(10000, 1, &key);

    tab_ahead_learn(t, hash_a, none, bad, none, full_us, second);
    cr_expect_null(tab_ahead_find(t, hash_a, none), "signed by somebody else");
    tab_ahead_learn(t, hash_b, none, entry, none, full_us, second);
    cr_expect_null(tab_ahead_find(t, hash_b, none), "signed for another hash");
    tab_ahead_learn(t, hash_a, none, entry, TAB_S("9"), full_us, second);
    cr_expect_null(tab_ahead_find(t, hash_a, none), "a revocation that is not signed");

    tab_ahead_learn(t, hash_a, none, entry, revoked, full_us, second);
    tab_ahead_caller *c = tab_ahead_find(t, hash_a, none);
    cr_assert_not_null(c);
    const tab_ahead_word *told = tab_ahead_told(c);
    cr_expect(told->entry.is_signed && told->entry.epoch == 3 && told->entry.until_s == 2000000000);
    cr_expect_eq(told->revoked, 2);
    cr_expect(tab_ahead_take(t, c, 1, second));
    tab_ahead_return(t, c, 1);

    tab_ahead_learn(t, hash_a, none, changed, revoked, full_us, second);
    cr_expect_eq(told->entry.grant.key_rpm, 200);
    tab_ahead_learn(t, hash_a, none, bad, revoked, full_us, second);
    cr_expect_not(tab_ahead_take(t, c, 1, second), "a forged entry ends what was remembered");
    tab_ahead_learn(t, hash_a, none, changed, revoked, full_us, second);
    cr_expect(tab_ahead_take(t, c, 1, second));
    tab_ahead_keep(t, c, 1);
    tab_ahead_paid(t, c, tab_ahead_of(t, c), full_us, old);
    cr_expect_not(tab_ahead_take(t, c, 1, old), "its buckets are fresh, its entry was read too long ago");
    tab_ahead_learn(t, hash_a, none, changed, revoked, full_us, old);
    cr_expect(tab_ahead_take(t, c, 1, old));
    tab_ahead_free(t);
}
