/* How many sources are read at once: never more than may be, each in its turn, nobody for another. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "services/data-connector/reader/reads.h"

static const atomic_bool never;

Test(reads, one_place_and_one_organization_have_their_own_bounds)
{
    read_turns r;
    read_turn t[8];
    tab_error err = { 0 };
    const char *one = "postgres://db.example.com/shop/public/a", *same = "postgres://db.example.com/x/y/z",
               *port = "postgres://db.example.com:1/shop/public/a",
               *other = "mariadb://db.example.com/shop/a";
    reads_init(&r, 3, 2);
    cr_assert_eq(reads_enter(&r, &t[0], "a", one, tab_in_ms(0), &never, &err), TAB_OK);
    cr_assert_eq(reads_enter(&r, &t[1], "a", same, tab_in_ms(0), &never, &err), TAB_OK);
    cr_expect_eq(reads_enter(&r, &t[2], "a", one, tab_in_ms(0), &never, &err), TAB_RATE_LIMIT);
    cr_expect_eq(reads_enter(&r, &t[3], "a", port, tab_in_ms(0), &never, &err), TAB_OK);
    cr_expect_eq(reads_enter(&r, &t[4], "a", other, tab_in_ms(0), &never, &err), TAB_RATE_LIMIT);
    cr_expect_eq(reads_enter(&r, &t[5], "b", one, tab_in_ms(0), &never, &err), TAB_OK, "another's");
    reads_leave(&r, &t[3]);
    cr_expect_eq(reads_enter(&r, &t[4], "a", other, tab_in_ms(0), &never, &err), TAB_OK);
    reads_leave(&r, &t[0]);
    reads_leave(&r, &t[1]);
    reads_leave(&r, &t[4]);
    reads_leave(&r, &t[5]);
    cr_expect(r.first == NULL && r.last == &r.first);
}

Test(reads, who_is_no_longer_wanted_does_not_wait)
{
    read_turns r;
    read_turn t[2];
    const atomic_bool gone = true;
    tab_error err = { 0 };
    reads_init(&r, 1, 1);
    cr_assert_eq(reads_enter(&r, &t[0], "a", "s3://x/y", tab_in_s(600), &never, &err), TAB_OK);
    cr_expect_eq(reads_enter(&r, &t[1], "a", "s3://x/y", tab_in_s(600), &gone, &err), TAB_CANCELLED);
    reads_leave(&r, &t[0]);
    cr_expect_null(r.first);
}

static read_turns many;
static atomic_int now, most, done;

static void *reader(void *arg)
{
    read_turn t;
    char place[32];
    snprintf(place, sizeof place, "s3://bucket%d/x", (int)(intptr_t)arg % 3);
    for (int i = 0; i < 50; i++) {
        if (reads_enter(&many, &t, "a", place, TAB_NO_DEADLINE, &never, NULL) != TAB_OK)
            return NULL;
        int n = atomic_fetch_add(&now, 1) + 1, seen = atomic_load(&most);
        while (n > seen && !atomic_compare_exchange_weak(&most, &seen, n))
            continue;
        usleep(100);
        atomic_fetch_sub(&now, 1);
        reads_leave(&many, &t);
        atomic_fetch_add(&done, 1);
    }
    return NULL;
}

Test(reads, many_that_come_at_once_all_come_to_their_turn)
{
    pthread_t thread[12];
    reads_init(&many, 4, 2);
    for (intptr_t i = 0; i < 12; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, reader, (void *)i), 0);
    for (int i = 0; i < 12; i++)
        pthread_join(thread[i], NULL);
    cr_expect_eq(done, 600);
    cr_expect(most >= 1 && most <= 4, "%d", most);
    cr_expect_null(many.first);
}
