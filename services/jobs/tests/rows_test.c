/* Rows that are kept with their cells: which of a call's, under which receipts, and what is left of them when
 * some are to be forgotten. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/jobs/outcomes/given.h"
#include "services/jobs/outcomes/rows.h"
#include "services/jobs/outcomes/watch.h"

enum { N = 5, MOST = 16 };

typedef struct {
    Tabella__Endpoint e;
    Tabella__OutcomeRow row[N], *rows[N];
    Tabella__OutcomesRequest q;
    counted of[N];
    const counted *order[N];
} call;

/* Rows 0 to 4 of a call, told in the order in which they were served: 4, 3, 2, 1, 0. */
static void call_of(call *c)
{
    tabella__endpoint__init(&c->e);
    tabella__outcomes_request__init(&c->q);
    for (size_t i = 0; i < N; i++) {
        tabella__outcome_row__init(&c->row[i]);
        c->row[i].kind = 2;
        c->row[i].number = 100 + (double)i;
        c->row[i].receipt = (char *)"rct_of_somebody";
        c->row[i].cells = (ProtobufCBinaryData){ 2, (uint8_t *)(uintptr_t) "{}" };
        c->rows[i] = &c->row[i];
        c->of[i] = (counted){ .row = (uint32_t)i,
                              .receipt = { .task = TAB_RECEIPT_NUMBER, .id = { (uint8_t)(0xa0 + i) } } };
        c->order[i] = &c->of[N - 1 - i];
    }
    c->q.rows = c->rows;
    c->q.n_rows = N;
}

/* Row i and the i-th id belong together: by them rows are forgotten. */
static void expect_kept(const Tabella__KeptOutcomes *k, const char *ids, const char *rows)
{
    char want[N * (OUTCOME_UUID + 1) + 3] = "{";
    cr_assert_eq(k->n_rows, strlen(rows));
    for (size_t i = 0; i < k->n_rows; i++) {
        int row = rows[i] - '0';
        cr_expect_float_eq(k->rows[i]->number, 100 + row, 0);
        cr_expect_str_eq(k->rows[i]->receipt, "", "a receipt is nobody's who reads the rows");
        cr_expect_eq(k->rows[i]->cells.len, 2);
        snprintf(want + strlen(want), sizeof want - strlen(want), "%sa%d000000-0000-0000-0000-000000000000",
                 i == 0 ? "" : ",", row);
    }
    strcat(want, "}");
    cr_expect_str_eq(ids, want);
}

Test(kept_rows, each_has_the_id_of_its_receipt_whichever_are_kept)
{
    static call c;
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    for (unsigned kept = 0; kept < 1u << N; kept++) { /* all subsets */
        Tabella__KeptOutcomes k;
        const char *ids = NULL;
        char rows[N + 1] = "", *at = rows;
        call_of(&c);
        for (size_t i = N; i-- > 0;)
            if ((kept & 1u << i) != 0)
                *at++ = (char)('0' + i);
            else
                c.row[i].cells.len = 0;
        cr_assert(outcome_rows_gather(a, &c.e, &c.q, c.order, N, &k, &ids));
        expect_kept(&k, ids, rows);
        cr_expect_str_eq(c.row[0].receipt, "rct_of_somebody", "the call's own rows stay");
    }
}

Test(kept_rows, need_room_for_all_or_are_none)
{
    static call c;
    size_t refused = 0;
    call_of(&c);
    for (size_t room = 64; room < 4096; room += 64) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(room);
        Tabella__KeptOutcomes k;
        const char *ids = NULL;
        if (outcome_rows_gather(a, &c.e, &c.q, c.order, N, &k, &ids))
            expect_kept(&k, ids, "43210");
        else
            refused++;
    }
    cr_expect(refused > 3 && refused < 60);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

static const char *left_of(const char *places, size_t n)
{
    static Tabella__OutcomeRow row[MOST];
    static char text[MOST + 1];
    Tabella__OutcomeRow *rows[MOST];
    Tabella__KeptOutcomes k = TABELLA__KEPT_OUTCOMES__INIT;
    for (size_t i = 0; i < n; i++)
        rows[i] = &row[i];
    k.rows = rows;
    k.n_rows = n;
    if (!outcome_rows_without(&k, places))
        return "refused";
    for (size_t i = 0; i < k.n_rows; i++)
        text[i] = "0123456789ABCDEF"[rows[i] - row];
    text[k.n_rows] = 0;
    return text;
}

/* Whichever are forgotten, exactly those go, and the others stay in their order. */
Test(kept_rows, without_some_are_the_others)
{
    for (unsigned gone = 0; gone < 1u << N; gone++) {
        char places[32] = "{", left[N + 1] = "", *at = left;
        for (size_t i = 0; i < N; i++)
            if ((gone & 1u << i) != 0)
                snprintf(places + strlen(places), 8, "%s%zu", places[1] == 0 ? "" : ",", i);
            else
                *at++ = (char)('0' + i);
        strcat(places, "}");
        if (gone == 0)
            places[0] = 0; /* none are named */
        cr_expect_str_eq(left_of(places, N), left, "%s", places);
    }
}

Test(kept_rows, places_that_are_none_forget_nothing)
{
    static const char *const places[] = { "{5}", "{0,5}", "{1,0}", "{2,2}", "{0,}",
                                          "{x}", "{0,x}", "{-1}",  "{}" };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        cr_expect_str_eq(left_of(places[i], N), "refused", "%s", places[i]);
    cr_expect_str_eq(left_of("{0}", 0), "refused");
    cr_expect_str_eq(left_of("{4}", N), "0123");
    cr_expect_str_eq(left_of("{0,9,10,15}", MOST), "12345678BCDE", "places of two digits");
}

/* A person who has receipts of the endpoint names its rows, in their order; one that is not the endpoint's
 * names none, and says which it is. */
Test(kept_rows, are_named_by_the_receipts_of_their_endpoint)
{
    static uint8_t key[TAB_RECEIPT_KEY] = { 4, 5, 6 };
    static char text[N][TAB_RECEIPT_TEXT];
    char *receipts[N];
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    Tabella__ForgetOutcomesRequest q = TABELLA__FORGET_OUTCOMES_REQUEST__INIT;
    tab_error err = { 0 };
    const char *ids = NULL;
    e.id = (char *)"ep_1";
    e.receipt_key = (ProtobufCBinaryData){ sizeof key, key };
    for (size_t i = 0; i < N; i++) {
        tab_receipt r = { .task = TAB_RECEIPT_NUMBER, .at_us = 1, .high = 1, .id = { (uint8_t)(0xa0 + i) } };
        text[i][tab_receipt_sign(key, TAB_S("ep_1"), &r, text[i])] = 0;
        receipts[i] = text[i];
    }
    q.receipts = receipts;
    for (q.n_receipts = 0; q.n_receipts <= 2; q.n_receipts++) {
        static const char *const want[] = {
            "{}", "{a0000000-0000-0000-0000-000000000000}",
            "{a0000000-0000-0000-0000-000000000000,a1000000-0000-0000-0000-000000000000}"
        };
        cr_assert_eq(given_to_forget(a, &e, &q, &ids, &err), TAB_OK);
        cr_expect_str_eq(ids, want[q.n_receipts]);
    }
    q.n_receipts = N;
    e.id = (char *)"ep_2";
    cr_expect_eq(given_to_forget(a, &e, &q, &ids, &err), TAB_NOT_FOUND);
    cr_expect_str_eq(err.param, "receipts[0]");
    e.id = (char *)"ep_1";
    receipts[3] = (char *)"rct_x";
    cr_expect_eq(given_to_forget(a, &e, &q, &ids, &err), TAB_NOT_FOUND);
    cr_expect_str_eq(err.param, "receipts[3]");
    TAB_AUTO(tab_arena) *small = tab_arena_new(16);
    cr_expect_neq(given_to_forget(small, &e, &q, &ids, &err), TAB_OK, "out of memory");
}

/* ---- alerts ---------------------------------------------------------------------------------- */

/* However often a side passes, two alerts are a day apart at least, and what could be told then is. */
Test(watch, tells_once_a_day_at_most)
{
    const int64_t day = 86400000000;
    Tabella__Watch w = TABELLA__WATCH__INIT;
    const Tabella__WatchSide side = TABELLA__WATCH_SIDE__INIT;
    cr_expect_not(watch_tells(&w, NULL, 20000 * day), "none has passed");
    cr_expect_eq(w.told_us, 0);
    cr_expect(watch_tells(&w, &side, 20000 * day), "the first");
    int64_t last = 20000 * day;
    for (int64_t now = last; now < 20003 * day; now += day / 7 + 1) {
        bool tells = watch_tells(&w, &side, now);
        cr_expect_eq(tells, now - last >= day);
        last = tells ? now : last;
        cr_expect_eq(w.told_us, last);
    }
    cr_expect_not(watch_tells(&w, &side, last + day - 1));
    cr_expect_not(watch_tells(&w, NULL, last + day));
    cr_expect(watch_tells(&w, &side, last + day));
}

/* Whatever room there is, a watch begins whole or not at all. */
Test(watch, begins_whole_or_not_at_all)
{
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    size_t refused = 0, whole = 0;
    for (size_t room = 1; room < 600; room++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(room);
        Tabella__Watch w;
        bool began = a != NULL && watch_begin(a, &w, &e, TAB_RECEIPT_NUMBER);
        cr_assert(!began || (watch_sound(&w) && w.sides[1]->rows == 0));
        whole += began;
        refused += !began;
    }
    cr_expect(whole > 0 && refused > 0);
}
