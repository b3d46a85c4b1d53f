/* The rows of a call of outcomes: which count, which are refused and why, and under which ids and days. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/jobs/outcomes/given.h"
#include "services/jobs/outcomes/rows.h"

#define MINUTE 60000000LL
#define DAY (1440 * MINUTE)
#define NOW (20000 * DAY + 5)

static uint8_t key[TAB_RECEIPT_KEY] = { 4, 5, 6 };

typedef struct {
    tab_arena *a;
    Tabella__Endpoint e;
    Tabella__OutcomesRequest q;
    Tabella__OutcomeRow row[16], *rows[16];
    char text[16][TAB_RECEIPT_TEXT];
    given g;
    Tabella__OutcomesReply y;
} call;

static void begin(call *c, tab_arena *a)
{
    *c = (call){ .a = a, .g = { .now = NOW, .kept_days = 30 } };
    tabella__endpoint__init(&c->e);
    tabella__outcomes_request__init(&c->q);
    tabella__outcomes_reply__init(&c->y);
    c->e.id = (char *)"ep_1";
    c->e.receipt_key = (ProtobufCBinaryData){ sizeof key, key };
    c->q.rows = c->rows;
}

/* One more row: a number served then, of an id that begins so, whose outcome is 7. */
static Tabella__OutcomeRow *add(call *c, int64_t served, uint8_t id)
{
    size_t i = c->q.n_rows++;
    tab_receipt r = { .task = TAB_RECEIPT_NUMBER, .at_us = served, .high = 1, .id = { id, 0xab, 0, 9 } };
    c->text[i][tab_receipt_sign(key, TAB_S("ep_1"), &r, c->text[i])] = 0;
    tabella__outcome_row__init(&c->row[i]);
    c->row[i].receipt = c->text[i];
    c->row[i].kind = 2;
    c->row[i].number = 7;
    c->rows[i] = &c->row[i];
    return c->rows[i];
}

static void read_all(call *c)
{
    tab_error err;
    cr_assert_eq(given_read(c->a, &c->e, &c->q, &c->g, &c->y, &err), TAB_OK);
}

Test(given, rows_are_refused_by_their_reason_and_the_others_count)
{
    static call c;
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
    static uint8_t cells[OUTCOME_CELLS + 1];
    begin(&c, a);
    add(&c, NOW, 1)->receipt = (char *)"";
    add(&c, NOW, 2)->cells = (ProtobufCBinaryData){ OUTCOME_CELLS + 1, cells };
    add(&c, NOW, 3)->receipt = (char *)"rct_x";
    add(&c, NOW - 30 * DAY - 1, 4);
    add(&c, NOW + MINUTE + 1, 5);
    add(&c, NOW - DAY, 6)->at_us = NOW - DAY - MINUTE - 1;
    add(&c, NOW, 7)->kind = 0;
    static const char *const why[] = { "the receipt is missing",
                                       "the cells of the row take more than 16 KiB",
                                       "this receipt was not issued by this endpoint, or it was altered",
                                       "the receipt is too old; its outcome came too late to count",
                                       "the receipt is dated in the future",
                                       "the outcome is dated before its prediction was served",
                                       "the outcome is missing" };
    add(&c, NOW, 8)->cells = (ProtobufCBinaryData){ OUTCOME_CELLS, cells };
    add(&c, NOW - 30 * DAY, 9);
    add(&c, NOW + MINUTE, 10);
    add(&c, NOW - DAY, 11)->at_us = NOW - DAY - MINUTE;
    read_all(&c);
    cr_assert_eq(c.y.n_refused, 7);
    for (size_t i = 0; i < 7; i++) {
        cr_expect_eq(c.y.refused[i]->row, i);
        cr_expect_str_eq(c.y.refused[i]->reason, why[i]);
    }
    cr_assert_eq(c.g.n, 4);
    cr_expect_eq(c.y.ignored, 0);
    static const int64_t delay[] = { 0, 30 * DAY, -MINUTE, -MINUTE };
    for (size_t i = 0; i < 4; i++) {
        cr_expect(c.g.of[i].receipt.id[0] == 8 + i && c.g.of[i].row == 7 + i);
        cr_expect_eq(c.g.of[i].delay_us, delay[i], "%zu", i);
        cr_expect_eq(c.g.of[i].outcome.number, 7);
    }
}

Test(given, another_endpoint_s_receipt_is_none)
{
    static call c;
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    begin(&c, a);
    add(&c, NOW, 1);
    c.e.id = (char *)"ep_2";
    read_all(&c);
    cr_expect(c.g.n == 0 && c.y.n_refused == 1);
}

Test(given, of_several_rows_of_a_receipt_the_first_counts)
{
    static call c;
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static const uint8_t id[] = { 9, 3, 9, 1, 3, 1 };
    begin(&c, a);
    for (size_t i = 0; i < 6; i++)
        add(&c, NOW, id[i])->number = 100 + (double)i;
    read_all(&c);
    cr_assert_eq(c.g.n, 3);
    cr_expect(c.y.ignored == 3 && c.y.n_refused == 0);
    cr_expect(c.g.of[0].receipt.id[0] == 1 && c.g.of[0].outcome.number == 103 && c.g.of[0].row == 3);
    cr_expect(c.g.of[1].receipt.id[0] == 3 && c.g.of[1].outcome.number == 101);
    cr_expect(c.g.of[2].receipt.id[0] == 9 && c.g.of[2].outcome.number == 100 && c.g.of[2].row == 0);
}

Test(given, ids_are_known_until_a_day_after_their_receipts_are_taken)
{
    static call c;
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    const char *ids, *ends;
    begin(&c, a);
    add(&c, NOW, 2);
    add(&c, NOW - DAY, 1);
    read_all(&c);
    cr_assert(given_arrays(a, &c.g, &ids, &ends));
    cr_expect_str_eq(ids, "{01ab0009-0000-0000-0000-000000000000,02ab0009-0000-0000-0000-000000000000}");
    cr_expect_str_eq(ends, "{1730592000,1730678400}"); /* days 20030 and 20031 */
    size_t at = 0;
    cr_expect(given_find(&c.g, "01ab0009-0000-0000-0000-000000000000", &at) && at == 0);
    cr_expect(given_find(&c.g, "02ab0009-0000-0000-0000-000000000000", &at) && at == 1);
    at = 2;
    cr_expect_not(given_find(&c.g, "02ab0009-0000-0000-0000-000000000000", &at), "it lies before");
    at = 0;
    cr_expect_not(given_find(&c.g, "03ab0009-0000-0000-0000-000000000000", &at), "nobody asked for it");
    TAB_AUTO(tab_arena) *small = tab_arena_new(64);
    cr_expect_not(given_arrays(small, &c.g, &ids, &ends), "out of memory");
}

Test(given, outcomes_are_told_in_the_order_in_which_rows_were_served)
{
    counted of[4] = { { .receipt = { .at_us = 50, .id = { 7 } } },
                      { .receipt = { .at_us = 40, .id = { 8 } } },
                      { .receipt = { .at_us = 50, .id = { 6 } } },
                      { .receipt = { .at_us = 60, .id = { 1 } } } };
    const counted *p[] = { &of[0], &of[1], &of[2], &of[3] };
    given_as_served(p, 4);
    cr_expect(p[0] == &of[1] && p[1] == &of[2] && p[2] == &of[0] && p[3] == &of[3]);
}

Test(given, days_are_those_of_utc_and_there_is_room_for_all)
{
    cr_expect_eq(outcome_day_of(20000 * DAY), 20000);
    cr_expect_eq(outcome_day_of(20000 * DAY - 1), 19999);
    /* a call a minute before midnight: from the oldest that is taken to one a minute ahead */
    int64_t now = 20001 * DAY - MINUTE;
    cr_expect_eq(outcome_day_of(now + MINUTE) - outcome_day_of(now - 30 * DAY) + 1, outcome_days_most(30));
}

Test(given, without_memory_nothing_is_read)
{
    static call c;
    tab_error err = { 0 };
    size_t refused = 0;
    tab_status s = TAB_UNAVAILABLE;
    for (size_t room = 512; s != TAB_OK && room < (size_t)1 << 20; room += 128, refused++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(room);
        begin(&c, a);
        for (uint8_t i = 0; i < 16; i++)
            add(&c, NOW, i)->receipt = (char *)"";
        s = given_read(a, &c.e, &c.q, &c.g, &c.y, &err);
    }
    cr_expect(s == TAB_OK && c.y.n_refused == 16 && refused > 10, "each room is enough or refused");
}

Test(given, an_id_is_written_as_postgresql_writes_it)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    counted c = { .receipt = { .at_us = NOW } };
    given g = { .of = &c, .n = 1, .kept_days = 0 };
    const char *ids, *ends;
    for (size_t i = 0; i < TAB_RECEIPT_ID; i++)
        c.receipt.id[i] = (uint8_t)(0x10 * i + i + 1);
    cr_assert(given_arrays(a, &g, &ids, &ends));
    cr_expect_str_eq(ids, "{01122334-4556-6778-899a-abbccddeef00}");
    cr_expect_str_eq(ends, "{1728086400}", "a day later at least");
}
