/* Which bills are settled together, and those that are kept for as long as a failover may lose that. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/events.pb-c.h"
#include "services/api/serve/bills_internal.h"

static api self;
static const char s4[TAB_ID] = "s4", s9[TAB_ID] = "s9";

/* A bill of n calls. */
static bill *bill_of(const char *id, size_t n)
{
    Tabella__WorkDone work[4], *all[4];
    bill *b = bill_new(&self);
    cr_assert(b != NULL && n <= 4);
    for (size_t i = 0; i < n; i++) {
        tabella__work_done__init(&work[i]);
        work[i].event_id = STR("serve");
        work[i].org_id = STR(i == 0 ? "org_a" : "org_b");
        all[i] = &work[i];
    }
    if (n > 0)
        cr_assert(bill_fill(b, (const Tabella__WorkDone *const *)all, n));
    snprintf(b->id, sizeof b->id, "%s", id);
    b->state = WRITTEN;
    return b;
}

static void settled(bill *b)
{
    b->next = bills.settled;
    bills.settled = b;
}

Test(kept, what_is_certain_is_settled_and_what_is_being_written_waits)
{
    cr_expect_null(bills_gather(), "nothing is");
    bill *b[4];
    for (size_t i = 0; i < 4; i++) {
        char id[8];
        snprintf(id, sizeof id, "b%zu", i);
        settled(b[i] = bill_of(id, 1));
    }
    b[0]->state = b[2]->state = WRITING; /* annulled, and their rows may yet come */
    b[0]->owed = b[2]->owed = true;
    b[1]->state = UNWRITTEN, b[1]->owed = true;
    settlement *s = bills_gather();
    cr_assert(s != NULL && s->n == 2);
    cr_expect(s->bill[0] == b[3] && s->bill[1] == b[1] && strncmp(s->id, "settled_", 8) == 0);
    cr_expect(bills.settled == b[2] && b[2]->next == b[0] && b[0]->next == NULL);
    cr_expect_null(bills_gather(), "all of them wait");
    b[0]->state = WRITTEN;
    settlement *later = bills_gather();
    cr_assert(later != NULL && later->n == 1 && later->bill[0] == b[0]);
    cr_expect(bills.settled == b[2] && b[2]->next == NULL);
    cr_expect_str_neq(later->id, s->id);
    for (size_t i = 0; i < 4; i++)
        bill_free(b[i]);
    free(s->bill), free(s), free(later->bill), free(later);
}

Test(kept, a_settlement_is_bounded)
{
    for (size_t i = 0; i < SETTLED_MOST + 1; i++) {
        bill *b = calloc(1, sizeof *b);
        cr_assert_not_null(b);
        b->state = WRITTEN;
        settled(b);
    }
    settlement *s = bills_gather();
    cr_assert(s != NULL && s->n == SETTLED_MOST);
    cr_expect(bills.settled != NULL && bills.settled->next == NULL, "the rest is the next one's");
    for (size_t i = 0; i < s->n; i++)
        free(s->bill[i]);
    free(bills.settled);
    bills.settled = NULL;
    free(s->bill), free(s);
}

Test(kept, a_row_bills_unless_the_journal_says_otherwise)
{
    bill b = { .owed = false };
    cr_expect(bill_by_row(&b, true));
    cr_expect_not(bill_by_row(&b, false), "another process found it, or it was lost");
    b.owed = true;
    cr_expect_not(bill_by_row(&b, true));
    cr_expect_not(bill_by_row(&b, false));
}

static bills_kept *four(void)
{
    static const char of[4][TAB_ID] = { "s1", "s1", "s2", "s3" };
    static bills_kept k;
    k = (bills_kept){ .last = &k.first };
    for (size_t i = 0; i < 4; i++) {
        char id[8];
        snprintf(id, sizeof id, "b%zu", i);
        bill *b = bill_of(id, 1 + i % 2);
        bills_keep(&k, of[i], b, 100 + (int64_t)i);
        bill_free(b);
    }
    return &k;
}

Test(kept, settlements_are_asked_for_once)
{
    char *id[4];
    bills_kept *k = four();
    bill *none = bill_of("none", 0);
    bills_keep(k, s4, none, 200);
    bill_free(none);
    cr_expect_eq(k->n, 4, "one of no calls has nothing to lose");
    cr_assert_eq(bills_settlements(k, id), 3);
    cr_expect(strcmp(id[0], "s1") == 0 && strcmp(id[1], "s2") == 0 && strcmp(id[2], "s3") == 0);
    bills_forget(k, 0, 0);
    cr_expect_eq(bills_settlements(k, id), 0);
}

Test(kept, the_oldest_are_forgotten)
{
    bills_kept *k = four();
    bills_forget(k, 4, 100);
    cr_expect_eq(k->n, 4, "none is of before then");
    bills_forget(k, 4, 101);
    cr_expect(k->n == 3 && strcmp(k->first->id, "b1") == 0);
    bills_forget(k, 2, 101);
    cr_expect(k->n == 2 && strcmp(k->first->id, "b2") == 0);
    bills_forget(k, 2, 1000);
    cr_expect(k->n == 0 && k->first == NULL && k->last == &k->first);
    bill *b = bill_of("b9", 1);
    bills_keep(k, s9, b, 5);
    bill_free(b);
    cr_expect(k->n == 1 && strcmp(k->first->id, "b9") == 0 && k->last == &k->first->next);
    bills_forget(k, 0, 0);
}

/* Whichever is taken out, the others stay in their order and the next one comes behind them. */
Test(kept, what_a_failover_lost_is_owed_again)
{
    for (size_t lost = 0; lost < 4; lost++) {
        bills_kept *k = four();
        kept_bill **at = &k->first;
        char want[8];
        for (size_t i = 0; i < lost; i++)
            at = &(*at)->next;
        bill *b = bills_take_back(k, &self, at);
        cr_assert(b != NULL && b->owed && b->state == UNWRITTEN && k->n == 3);
        snprintf(want, sizeof want, "b%zu", lost);
        cr_expect_str_eq(b->id, want);
        cr_expect_eq(b->n, 1 + lost % 2, "all that it billed");
        cr_expect(strcmp(b->event[0]->org_id, "org_a") == 0 && b->event[0]->calls == 1);
        bills_keep(k, s9, b, 900);
        bill_free(b);
        const kept_bill *x = k->first;
        for (size_t i = 0; i < 4; i++)
            if (i != lost) {
                snprintf(want, sizeof want, "b%zu", i);
                cr_expect_str_eq(x->id, want);
                x = x->next;
            }
        cr_expect(x != NULL && x->at == 900 && x->next == NULL && k->last == &x->next);
        bills_forget(k, 0, 0);
    }
}

Test(kept, what_cannot_be_read_stays_kept)
{
    bills_kept *k = four();
    memset(k->first->bytes, 0xff, k->first->n);
    cr_expect_null(bills_take_back(k, &self, &k->first));
    cr_expect(k->n == 4 && strcmp(k->first->id, "b0") == 0);
    bills_forget(k, 0, 0);
}
