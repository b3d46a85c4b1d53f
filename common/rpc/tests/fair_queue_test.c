#include "common/rpc/fair_queue.h"

#include <criterion/criterion.h>

/* Pieces of work, each its own letter's: "aab" are two of tenant a and one of tenant b. */
typedef struct {
    tab_turn turn;
    char who[2];
} piece;

static void put(tab_fair_queue *t, size_t lane, piece *p, const char *tenants)
{
    for (size_t i = 0; tenants[i] != 0; i++) {
        p[i] = (piece){ .who = { tenants[i] == '-' ? 0 : tenants[i] } };
        cr_assert(tab_fair_queue_put(t, lane, p[i].who, &p[i].turn));
    }
}

/* All that may start, in order. */
static const char *started(tab_fair_queue *t, char *buf, piece **last)
{
    size_t n = 0;
    for (tab_turn *x; (x = tab_fair_queue_take(t)) != NULL;) {
        piece *p = (piece *)(void *)x;
        buf[n++] = p->who[0] == 0 ? '-' : p->who[0];
        *last = p;
    }
    buf[n] = 0;
    return buf;
}

Test(fair_queue, a_tenant_holds_no_more_than_it_leaves)
{
    static const struct {
        const char *name, *waiting, *want;
        size_t places;
    } cases[] = {
        { "alone: half", "aaaaaaaa", "aa", 4 },
        { "the other half is for who comes", "aaaaaaaab", "ab", 2 },
        { "two: a third each, in turn", "aaaaaaaabbbbbbbb", "abababab", 12 },
        { "one place goes to somebody", "aa", "a", 1 },
        { "order within a tenant, turns between them", "aabbcc", "abcabc", 12 },
        { "the service is not bound", "------", "----", 4 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_fair_queue) *t = tab_fair_queue_new(1, &cases[i].places, 100);
        piece p[32], *last;
        char got[33];
        put(t, 0, p, cases[i].waiting);
        cr_expect_str_eq(started(t, got, &last), cases[i].want, "%s: %s", cases[i].name, got);
        cr_expect(!tab_fair_queue_any(t), "%s", cases[i].name);
    }
}

Test(fair_queue, who_comes_new_starts_at_once)
{
    size_t places = 4;
    TAB_AUTO(tab_fair_queue) *t = tab_fair_queue_new(1, &places, 100);
    piece p[20], q[2], *last = NULL;
    char got[33];
    put(t, 0, p, "aaaaaaaaaaaaaaaaaaaa");
    cr_expect_str_eq(started(t, got, &last), "aa");
    put(t, 0, q, "b");
    cr_expect(tab_fair_queue_any(t));
    cr_expect_str_eq(started(t, got, &last), "b");
    tab_fair_queue_end(t, &last->turn);
    cr_expect_str_eq(started(t, got, &last), "", "b's place is kept for the next");
}

Test(fair_queue, an_end_lets_the_next_start)
{
    size_t places = 2;
    TAB_AUTO(tab_fair_queue) *t = tab_fair_queue_new(1, &places, 100);
    piece p[8], *last = NULL;
    char got[33];
    put(t, 0, p, "aaabb");
    cr_expect_str_eq(started(t, got, &last), "ab");
    tab_fair_queue_end(t, &last->turn); /* b's: a holds one of two */
    cr_expect_str_eq(started(t, got, &last), "b");
    tab_fair_queue_end(t, &p[0].turn);
    cr_expect_str_eq(started(t, got, &last), "a");
    tab_fair_queue_end(t, &p[2].turn); /* which waits: it is forgotten */
    cr_expect(!tab_fair_queue_any(t));
    tab_fair_queue_end(t, &p[2].turn);
    tab_fair_queue_end(t, &p[1].turn);
    cr_expect_str_eq(started(t, got, &last), "");
}

Test(fair_queue, lanes_have_places_of_their_own)
{
    size_t places[] = { 2, 2 };
    TAB_AUTO(tab_fair_queue) *t = tab_fair_queue_new(2, places, 100);
    piece p[8], q[8], *last;
    char got[33];
    put(t, 1, p, "aaaa");
    cr_expect_str_eq(started(t, got, &last), "a");
    put(t, 0, q, "a");
    cr_expect_str_eq(started(t, got, &last), "a", "what its other lane holds is not counted");
}

Test(fair_queue, what_had_its_turn_goes_first_and_what_is_waited_for_needs_no_place)
{
    size_t places = 2;
    TAB_AUTO(tab_fair_queue) *t = tab_fair_queue_new(1, &places, 2);
    piece p[3], first = { .who = "a" }, inner = { .who = "a" }, *last;
    char got[33];
    put(t, 0, p, "a");
    cr_expect(tab_fair_queue_put_first(t, 0, "a", &first.turn));
    cr_expect(tab_fair_queue_put_unbound(t, 0, "a", &inner.turn), "whatever waits");
    cr_expect_eq(tab_fair_queue_take(t), &inner.turn);
    cr_expect_eq(tab_fair_queue_take(t), &first.turn, "what is unbound holds no place");
    cr_expect_eq(tab_fair_queue_take(t), NULL);
    tab_fair_queue_hurry(t, &p[0].turn);
    cr_expect_eq(tab_fair_queue_take(t), &p[0].turn);
    cr_expect(!tab_fair_queue_any(t));
    tab_fair_queue_end(t, &inner.turn);
    tab_fair_queue_end(t, &p[0].turn);
    tab_fair_queue_end(t, &first.turn);
    put(t, 0, p, "ab");
    cr_expect_str_eq(started(t, got, &last), "ab", "all places are free again");
}

Test(fair_queue, no_tenant_fills_the_queue)
{
    size_t places = 1, n = 0;
    TAB_AUTO(tab_fair_queue) *t = tab_fair_queue_new(1, &places, 8);
    piece p[9], q = { .who = "b" };
    for (; n < 9; n++) {
        p[n] = (piece){ .who = "a" };
        if (!tab_fair_queue_put(t, 0, "a", &p[n].turn))
            break;
    }
    cr_expect_eq(n, 4);
    cr_expect(tab_fair_queue_put(t, 0, "b", &q.turn));
}
