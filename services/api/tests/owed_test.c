/* Bills of serve calls while PostgreSQL takes none: what is put into the journal in their place, what leaves
 * the queue, and how much an organization may owe. No thread runs; nothing listens where PostgreSQL is. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/events.pb-c.h"
#include "services/api/serve/bills_internal.h"

static api self;

static const char *new_dir(void)
{
    static char dir[64];
    snprintf(dir, sizeof dir, "/tmp/owed-test-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    return dir;
}

/* As bills_open, without its threads. */
static void open_alone(bool journal)
{
    bills.last = &bills.first;
    pthread_cond_init(&bills.came, NULL);
    pthread_cond_init(&bills.certain, NULL);
    bills.owed = tab_gauge("owed_test", "Cells that are owed", NULL);
    cr_assert(journal_open(journal ? new_dir() : NULL));
    self.cfg.owed_s = 60;
    self.cfg.owed_cells = 1000;
    self.pg = tab_pg_open("host=127.0.0.1 port=1 connect_timeout=1", NULL, 1);
    cr_assert_not_null(self.pg);
}

typedef struct {
    Tabella__WorkDone work;
    Tabella__UsageLine line[2], *usage[2];
    char id[32];
} call;

/* n calls of an organization, each of 10 cells and 2 cached ones. */
static void calls_of(call *c, const Tabella__WorkDone **ret, size_t n, const char *org)
{
    for (size_t i = 0; i < n; i++) {
        tabella__work_done__init(&c[i].work);
        for (size_t k = 0; k < 2; k++) {
            tabella__usage_line__init(&c[i].line[k]);
            c[i].usage[k] = &c[i].line[k];
            c[i].line[k].op = STR(k == 0 ? "serve" : "cached");
            c[i].line[k].cells = k == 0 ? 10 : 2;
        }
        snprintf(c[i].id, sizeof c[i].id, "serve_%zu", i);
        c[i].work.event_id = c[i].id;
        c[i].work.org_id = STR(org);
        c[i].work.usage = c[i].usage;
        c[i].work.n_usage = 2;
        ret[i] = &c[i].work;
    }
}

static uint64_t calls_billed(const bill *b)
{
    uint64_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += b->event[i]->calls;
    return n;
}

static void count_record(void *arg, const char *id, tab_str bytes, journal_file *f)
{
    (void)id, (void)f;
    *(size_t *)arg += 1 + 1000 * (bytes.n == 0);
}

/* Records that another process finds, and a thousand for each that bills nothing. */
static size_t in_journal(void)
{
    size_t n = 0;
    journal_close();
    journal_adopt(count_record, &n);
    return n;
}

Test(owed, a_call_that_was_answered_while_postgresql_is_away_is_in_the_journal)
{
    call c[3];
    const Tabella__WorkDone *w[3];
    tab_error err = { 0 };
    open_alone(true);
    calls_of(c, w, 3, "org_a");
    pthread_mutex_lock(&bills.lock);
    bills_away();
    pthread_mutex_unlock(&bills.lock);
    bill *b = bill_begin(&self, w, 3);
    cr_assert_not_null(b);
    cr_expect(b->state == UNWRITTEN && bills.first == NULL && bills.open == 1 && b->calls == 3);
    cr_assert_eq(bill_end(b, w, 3, &err), TAB_OK);
    cr_expect(bills.settled == b && b->next == NULL && b->owed && b->file != NULL && bills.open == 1);
    cr_expect_eq(calls_billed(b), 3);
    bill *fewer = bill_begin(&self, w, 3);
    cr_assert_eq(bill_end(fewer, w, 1, &err), TAB_OK);
    cr_expect_eq(calls_billed(fewer), 1);
    cr_expect(bills.settled == fewer && fewer->next == b, "the last one first");
    bill *none = bill_begin(&self, w, 3);
    cr_assert_eq(bill_end(none, NULL, 0, &err), TAB_OK);
    cr_expect_eq(bills.open, 2, "one of which nothing was answered is dropped");
    cr_expect_eq(in_journal(), 2);
}

Test(owed, what_nobody_has_begun_to_write_leaves_the_queue)
{
    call c[2];
    const Tabella__WorkDone *w[2];
    tab_error err = { 0 };
    bill *b[4];
    open_alone(true);
    calls_of(c, w, 2, "org_a");
    for (size_t i = 0; i < 3; i++) {
        b[i] = bill_begin(&self, w, 2);
        cr_assert(b[i] != NULL && b[i]->state == QUEUED);
    }
    cr_expect(bills.first == b[0] && b[0]->next == b[1] && b[1]->next == b[2] && bills.last == &b[2]->next);
    cr_expect_eq(bill_end(b[1], NULL, 0, &err), TAB_OK);
    cr_expect(bills.first == b[0] && b[0]->next == b[2] && bills.open == 2);
    cr_expect_eq(bill_end(b[2], NULL, 0, &err), TAB_OK);
    cr_expect(b[0]->next == NULL && bills.last == &b[0]->next, "the end of the queue is where it was");
    b[3] = bill_begin(&self, w, 2);
    cr_expect(b[0]->next == b[3] && bills.last == &b[3]->next);
    cr_expect_eq(bill_end(b[0], NULL, 0, &err), TAB_OK);
    cr_expect(bills.first == b[3] && bills.open == 1);
    cr_expect_eq(bill_end(b[3], NULL, 0, &err), TAB_OK);
    cr_expect(bills.first == NULL && bills.last == &bills.first && bills.open == 0 && bills.settled == NULL);
    cr_expect_eq(in_journal(), 0);
}

Test(owed, a_row_that_is_being_written_is_not_waited_for_while_postgresql_is_away)
{
    call c[2];
    const Tabella__WorkDone *w[2];
    tab_error err = { 0 };
    open_alone(true);
    calls_of(c, w, 2, "org_a");
    bill *b = bill_begin(&self, w, 2);
    bills.first = NULL, bills.last = &bills.first;
    b->state = WRITING;
    bills.away = tab_mono_ms();
    cr_expect_eq(bill_end(b, NULL, 0, &err), TAB_OK);
    cr_expect(b->n == 0 && b->owed && bills.settled == b, "its row may be there: the journal says otherwise");
    bill *late = bill_begin(&self, w, 2);
    late->state = WRITTEN;
    late->s = TAB_UNAVAILABLE;
    cr_expect_eq(bill_end(late, w, 2, &err), TAB_OK);
    cr_expect(late->owed && late->n == 1 && calls_billed(late) == 2);
    cr_expect_eq(in_journal(), 1001 + 1, "of one nothing is billed");
}

Test(owed, a_row_that_waits_too_long_goes_to_the_journal)
{
    call c[1];
    const Tabella__WorkDone *w[1];
    tab_error err = { 0 };
    open_alone(true);
    calls_of(c, w, 1, "org_a");
    bill *b = bill_begin(&self, w, 1);
    b->began -= 10000;
    cr_expect_eq(bill_end(b, w, 1, &err), TAB_OK);
    cr_expect(bills.away != 0 && bills.shaken && b->owed && bills.first == NULL);
    cr_expect_eq(in_journal(), 1);
}

Test(owed, without_a_journal_the_row_decides)
{
    call c[2];
    const Tabella__WorkDone *w[2];
    tab_error err = { 0 };
    open_alone(false);
    calls_of(c, w, 2, "org_a");
    bill *b = bill_begin(&self, w, 2), *lost = bill_begin(&self, w, 2), *fewer = bill_begin(&self, w, 2);
    bills.first = NULL, bills.last = &bills.first;
    b->state = lost->state = fewer->state = WRITTEN;
    cr_expect_eq(bill_end(b, w, 2, &err), TAB_OK);
    cr_expect(bills.settled == b && !b->owed && calls_billed(b) == 2, "the row is there");
    lost->s = TAB_UNAVAILABLE;
    cr_expect_eq(bill_end(lost, w, 2, &err), TAB_UNAVAILABLE);
    cr_expect(bills.settled == lost && lost->owed && lost->n == 0, "its calls fail: nothing is billed");
    fewer->s = TAB_UNAVAILABLE;
    cr_expect_eq(bill_end(fewer, w, 1, &err), TAB_UNAVAILABLE);
    cr_expect(fewer->owed && fewer->n == 0);
}

Test(owed, a_row_that_cannot_be_changed_gives_way_to_the_journal)
{
    call c[2];
    const Tabella__WorkDone *w[2];
    tab_error err = { 0 };
    open_alone(true);
    calls_of(c, w, 2, "org_a");
    bill *b = bill_begin(&self, w, 2);
    bills.first = NULL, bills.last = &bills.first;
    b->state = WRITTEN;
    cr_expect_eq(bill_end(b, w, 1, &err), TAB_OK, "PostgreSQL is away");
    cr_expect(b->owed && b->file != NULL && calls_billed(b) == 1);
    cr_expect_eq(in_journal(), 1);
}

/* ---- how much may be owed ---------------------------------------------------------------------- */

static bill *of_cells(tab_arena *a, const char *org, uint64_t cells)
{
    bill *b = tab_arena_new_of(a, bill, 1);
    call *c = tab_arena_new_of(a, call, 1);
    const Tabella__WorkDone *w;
    calls_of(c, &w, 1, org);
    c->line[0].cells = cells - 2; /* and two that are cached */
    b->event = tab_arena_new_of(a, Tabella__WorkDone *, 1);
    b->event[0] = &c->work;
    b->n = 1;
    return b;
}

static tab_status may(const char *org, uint64_t cells)
{
    tab_error err;
    return bill_may(&self, org, cells, &err);
}

Test(owed, as_much_as_the_operator_allows_and_no_more)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    open_alone(true);
    bills_owe(of_cells(a, "org_a", 600), true);
    cr_expect_eq(may("org_a", 100000), TAB_OK, "PostgreSQL is there");
    bills.away = tab_mono_ms() - 5;
    cr_expect_eq(may("org_a", 400), TAB_OK);
    cr_expect_eq(may("org_a", 401), TAB_UNAVAILABLE);
    cr_expect_eq(may("org_b", 1000), TAB_OK);
    cr_expect_eq(may("org_b", 1001), TAB_UNAVAILABLE);
    bills_owe(of_cells(a, "org_a", 400), true);
    cr_expect_eq(may("org_a", 0), TAB_OK);
    cr_expect_eq(may("org_a", 1), TAB_UNAVAILABLE);
    cr_expect_eq(may("org_b", 1000), TAB_OK, "another organization owes nothing");
    bills_owe(of_cells(a, "org_a", 600), false);
    cr_expect_eq(may("org_a", 600), TAB_OK);
    cr_expect_eq(may("org_a", 601), TAB_UNAVAILABLE);
    bills_owe(of_cells(a, "org_a", 5000), false);
    cr_expect_eq(may("org_a", 1000), TAB_OK, "never less than nothing");
    bills.away = tab_mono_ms() - 59000;
    cr_expect_eq(may("org_a", 1), TAB_OK);
    bills.away = tab_mono_ms() - 61000;
    cr_expect_eq(may("org_a", 1), TAB_UNAVAILABLE, "away for too long");
    cr_assert(journal_open(NULL));
    cr_expect_eq(may("org_a", 1), TAB_OK, "without a journal the row decides");
}

Test(owed, away_is_more_than_a_slow_moment)
{
    open_alone(true);
    cr_expect_not(bill_away());
    cr_expect_eq(bills.well, 0);
    bills_well();
    cr_expect_gt(bills.well, 0, "the first time");
    bills_away();
    int64_t since = bills.away;
    cr_expect(since != 0 && bills.shaken && !bill_away());
    bills.away -= 300;
    cr_expect_not(bill_away());
    bills.away = since - 500;
    cr_expect(bill_away());
    bills_away();
    cr_expect_eq(bills.away, since - 500, "since when stays");
    bills_well();
    cr_expect(bills.away == 0 && bills.well >= since && !bill_away());
    bills.well = 7;
    bills_well();
    cr_expect_eq(bills.well, 7, "it was well before");
    bills_away();
    bills_well();
    cr_expect_gt(bills.well, 7);
}

/* More organizations than an entry's neighbourhood holds are counted apart as long as there is room. */
Test(owed, organizations_are_counted_apart)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    open_alone(true);
    bills.away = tab_mono_ms() - 5;
    for (int i = 0; i < 800; i++) {
        char *org = tab_arena_printf(a, "org_%d", i);
        bills_owe(of_cells(a, org, 100 + (uint64_t)i), true);
    }
    for (int i = 0; i < 800; i++) {
        char *org = tab_arena_printf(a, "org_%d", i);
        cr_expect_eq(may(org, 900 - (uint64_t)i), TAB_OK, "%d", i);
        cr_expect_eq(may(org, 901 - (uint64_t)i), TAB_UNAVAILABLE, "%d", i);
        bills_owe(of_cells(a, org, 100 + (uint64_t)i), false);
        cr_expect_eq(may(org, 1000), TAB_OK, "%d", i);
    }
}

/* With its threads, which find nobody where PostgreSQL is: each answer is in the journal all the same, and
 * the settler owes what it cannot settle. */
Test(owed, bills_that_the_writer_cannot_write_go_to_the_journal, .timeout = 60)
{
    static call c[40];
    static const Tabella__WorkDone *w[40];
    tab_error err = { 0 };
    bill *b[20];
    open_alone(true);
    calls_of(c, w, 40, "org_a");
    static char dir[256];
    snprintf(dir, sizeof dir, "%s", new_dir());
    self.cfg.journal = dir;
    cr_assert(bills_open(&self));
    for (size_t i = 0; i < 20; i++)
        cr_assert_not_null(b[i] = bill_begin(&self, w + 2 * i, 2));
    for (size_t i = 0; i < 20; i++)
        cr_expect_eq(bill_end(b[i], w + 2 * i, 1 + i % 2, &err), TAB_OK, "%zu", i);
    pthread_mutex_lock(&bills.lock);
    cr_expect(bills.away != 0 && bills.open == 20 && bills.first == NULL);
    pthread_mutex_unlock(&bills.lock);
    cr_expect_neq(may("org_a", 1000), TAB_OK, "what they owe is counted");
    bills_close(&self);
    size_t n = 0;
    cr_assert(journal_open(dir));
    journal_adopt(count_record, &n);
    cr_expect_eq(n, 20);
}

/* Without a journal a call waits for its row: the writer tells each of them, in whatever groups they come,
 * and one that PostgreSQL did not take fails and is not billed. */
Test(owed, each_call_is_told_what_became_of_its_row, .timeout = 60)
{
    static call c[20];
    static const Tabella__WorkDone *w[20];
    bill *b[20];
    open_alone(false);
    calls_of(c, w, 20, "org_a");
    self.cfg.journal = NULL;
    cr_assert(bills_open(&self));
    for (size_t i = 0; i < 20; i++)
        cr_assert_not_null(b[i] = bill_begin(&self, w + i, 1));
    for (size_t i = 0; i < 20; i++) {
        tab_error err = { 0 };
        cr_expect_eq(bill_end(b[i], w + i, 1, &err), TAB_UNAVAILABLE, "%zu", i);
        cr_expect(err.message[0] != 0);
        cr_expect(b[i]->n == 0 && b[i]->state == WRITTEN && b[i]->owed, "%zu", i);
    }
    bills_close(&self);
}

typedef struct {
    int state; /* of a bill's row */
    tab_status s;
    bool journal;
} case_of;

/* Of three calls the first m were answered; PostgreSQL is away. */
static void expect_billed(const case_of *x, size_t m)
{
    call c[3];
    const Tabella__WorkDone *w[3];
    tab_error err = { 0 };
    bool row = x->state == WRITTEN && x->s == TAB_OK, never = x->state == QUEUED || x->state == UNWRITTEN;
    bool by_row = row && m == 3, kept = x->journal || by_row; /* kept: something says what is billed */
    bool dropped = never && m == 0;
    bills.away = 0;
    bills.settled = NULL;
    bills.open = 0;
    open_alone(x->journal);
    calls_of(c, w, 3, "org_a");
    bill *b = bill_begin(&self, w, 3);
    cr_assert_not_null(b);
    if (x->state != QUEUED)
        bills.first = NULL, bills.last = &bills.first;
    b->state = x->state;
    b->s = x->s;
    bills.away = tab_mono_ms();
    cr_expect_eq(bill_end(b, w, m, &err), kept ? TAB_OK : TAB_UNAVAILABLE);
    cr_expect_eq(bills.open, !dropped);
    cr_expect_eq(bills.settled, dropped ? NULL : b);
    cr_expect(bills.first == NULL && bills.last == &bills.first);
    if (!dropped) {
        cr_expect_eq(calls_billed(b), kept ? m : 0);
        cr_expect_eq(bill_by_row(b, true), by_row, "else the row does not say it");
        cr_expect_eq(b->file != NULL, x->journal && !by_row);
        bill_free(b);
    }
    if (x->journal)
        cr_expect_eq(in_journal(), by_row || dropped ? 0 : m == 0 ? 1001 : 1);
    journal_close();
    tab_pg_free(self.pg);
}

/* Whatever became of its row, and however many of its calls were answered: a call that was answered is billed
 * once, one that was told that it failed never. */
Test(owed, what_was_answered_is_what_is_billed)
{
    static const case_of cases[] = { { QUEUED, TAB_OK, true },           { WRITING, TAB_OK, true },
                                     { UNWRITTEN, TAB_OK, true },        { WRITTEN, TAB_OK, true },
                                     { WRITTEN, TAB_UNAVAILABLE, true }, { WRITTEN, TAB_OK, false },
                                     { WRITTEN, TAB_UNAVAILABLE, false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t m = 0; m <= 3; m++)
            expect_billed(&cases[i], m);
}
