/* States as bytes: what is read back answers the same, and nothing that is not such bytes is read. What the
 * daemon does with states of odd tables is in odd.c. */
#include "services/inference/states/state_pack.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/base/proto.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/states/state_disk.h"

enum { COLS = 8 };
static const uint8_t key[STATE_KEY] = "a key";

typedef struct {
    tab_arena *a;
    tab_builder *b[COLS];
    size_t cols;
} maker;

static maker start(tab_arena *a, const char *const *names, size_t n)
{
    maker m = { .a = a, .cols = n };
    for (size_t c = 0; c < n; c++)
        m.b[c] = tab_builder_new(a, tab_str_of(names[c]));
    return m;
}

static const tab_table *done(maker *m, const char *id)
{
    tab_table *t = tab_arena_new_of(m->a, tab_table, 1);
    tab_column *col = tab_arena_new_of(m->a, tab_column, COLS);
    *t = (tab_table){ .id = tab_str_of(id), .rows = tab_builder_rows(m->b[0]), .cols = m->cols, .col = col };
    for (size_t c = 0; c < m->cols; c++)
        cr_assert(tab_builder_finish(m->b[c], &col[c]));
    return t;
}

static double noise(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j)) - 0.5;
}

static void text(tab_arena *a, tab_builder *b, const char *fmt, size_t i)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    tab_builder_text(b, tab_str_of(tab_arena_printf(a, fmt, i)));
#pragma GCC diagnostic pop
}

/* ---- states ---------------------------------------------------------------------------------- */

static serve_state *fitted(tab_arena *a, const tab_table *const *t, size_t n, const char *base,
                           const char *target, tab_task task)
{
    tab_error err = { 0 };
    serve_state *st = NULL;
    Tabella__Bundle *b = NULL;
    tab_run_options run = { .base = base, .explain = true, .task = task };
    run.target = target == NULL ? TAB_TARGET_AUTO : TAB_TARGET_COLUMN;
    run.target_column = tab_str_of(target == NULL ? "" : target);
    tab_engine e = { .arena = a };
    cr_assert_eq(serve_state_new(n, &run, &st, &err), TAB_OK);
    tab_pass_parts parts = { .arena = st->arena, .profile = st->profile };
    for (size_t i = 0; i < n; i++)
        st->table[i] = t[i];
    tab_status s = tab_engine_pass(&e, t, n, &run, &parts, &b, &err);
    cr_assert_eq(s, TAB_OK, "%s: %s", err.param, err.message);
    st->linked = parts.linked;
    st->fitted = parts.fitted;
    st->sel = parts.selection;
    st->key = parts.key;
    cr_assert_eq(serve_state_ready(st, &err), TAB_OK);
    return st;
}

static tab_str written(serve_state *st, const char *name)
{
    uint8_t *bytes = NULL;
    size_t n = 0;
    tab_error err = { 0 };
    cr_assert_eq(state_write(st, tab_str_of(name), key, &bytes, &n, &err), TAB_OK, "%s", err.message);
    return (tab_str){ (char *)bytes, n };
}

static tab_str scored(tab_arena *a, const serve_state *st, const tab_table *rows)
{
    Tabella__Prediction *m = NULL;
    tab_engine e = { .arena = a };
    tab_error err = { 0 };
    tab_table *wide = NULL;
    if (st->linked.set != NULL) {
        cr_assert_eq(tab_links_rows(&e, st->linked.links, st->linked.set, rows, &wide, &err), TAB_OK);
        rows = wide;
    }
    cr_assert_eq(tab_score(&e, st->fitted, rows, true, &m, &err), TAB_OK, "%s", err.message);
    return tab_proto_write(a, &m->base);
}

/* How many of the rows come later than all fitted ones. */
static size_t later(tab_arena *a, const serve_state *st, const tab_table *rows)
{
    tab_engine e = { .arena = a };
    tab_scoring s;
    tab_error err = { 0 };
    cr_assert_eq(tab_score_read(&e, st->fitted, rows, &s, &err), TAB_OK, "%s", err.message);
    return s.later[0] + s.later[1];
}

static tab_str results(tab_arena *a, const serve_state *st)
{
    Tabella__Prediction *m = NULL;
    tab_engine e = { .arena = a };
    tab_error err = { 0 };
    cr_assert_eq(tab_fitted_results(&e, st->fitted, true, &m, &err), TAB_OK);
    return tab_proto_write(a, &m->base);
}

/* Answers for rows and for its own rows are the same bytes, and its bytes again are the same. */
static void hold(tab_arena *a, serve_state *st, const tab_table *rows)
{
    serve_state *again = NULL;
    tab_error err = { 0 };
    tab_str bytes = written(st, "n");
    cr_assert_eq(state_read(bytes, TAB_S("n"), key, &again, &err), TAB_OK, "%s", err.message);
    cr_expect(tab_str_eq(scored(a, st, rows), scored(a, again, rows)));
    cr_expect(tab_str_eq(results(a, st), results(a, again)));
    tab_str twice = written(again, "n");
    cr_expect_eq(bytes.n, twice.n);
    cr_expect(tab_str_eq(bytes, twice), "a state that was read is written otherwise");
    free((char *)(uintptr_t)bytes.p), free((char *)(uintptr_t)twice.p);
    serve_state_free(again);
    serve_state_free(st);
}

/* Numbers, a category of many levels, texts, times and missing cells; of rows from 1,000 on every tenth lies
 * beyond the numbers of the others. */
static const tab_table *mixed(tab_arena *a, size_t from, size_t n, bool number)
{
    static const char *const names[] = { "x", "z", "city", "kind", "when", "note", "y" };
    maker m = start(a, names, 7);
    for (size_t i = from; i < from + n; i++) {
        double x = noise(i, 1), z = noise(i, 2) + (i >= 1000 && i % 10 == 0 ? 3 : 0);
        size_t city = (size_t)(tab_mix2(i, 3) % 300);
        i % 11 == 0 ? tab_builder_null(m.b[0]) : tab_builder_number(m.b[0], x);
        tab_builder_number(m.b[1], z);
        text(a, m.b[2], "city %zu", city);
        text(a, m.b[3], "k%zu", i % 5);
        text(a, m.b[4], "2024-03-%02zu", i % 28 + 1);
        text(a, m.b[5], i % 2 ? "a long note about %zu apples" : "nothing but %zu pears", i % 17);
        double y = 3 * x - z + noise(city, 4) + 0.1 * noise(i, 5) + (i % 5 == 2);
        if (number)
            tab_builder_number(m.b[6], y);
        else
            tab_builder_text(m.b[6], y > 0.6 ? TAB_S("high") : y > 0 ? TAB_S("middle") : TAB_S("low"));
    }
    return done(&m, "t");
}

Test(state_pack, classes_and_numbers_of_each_base, .timeout = 600)
{
    static const char *const bases[] = { "base-1", "base-2", "base-3" };
    for (size_t k = 0; k < 6; k++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        bool number = k % 2 == 1;
        const tab_table *t = mixed(a, 0, 400, number);
        hold(a, fitted(a, &t, 1, bases[k / 2], "y", number ? TAB_TASK_REGRESSION : TAB_TASK_CLASSIFICATION),
             mixed(a, 1000, 30, number));
    }
}

Test(state_pack, anomalies, .timeout = 600)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    const tab_table *t = mixed(a, 0, 300, true);
    hold(a, fitted(a, &t, 1, "base-2", NULL, TAB_TASK_ANOMALY), mixed(a, 1000, 30, true));
}

/* Days of four shops: a number that follows the week, or whether much is sold. Days from `open` on are not
 * known yet. */
static const tab_table *shops(tab_arena *a, size_t from, size_t days, size_t open, bool number)
{
    static const char *const names[] = { "day", "shop", "price", "sales" };
    maker m = start(a, names, 4);
    for (size_t i = 4 * from; i < 4 * (from + days); i++) {
        size_t day = i / 4, shop = i % 4;
        int64_t at = 1704067200 + 86400 * (int64_t)day;
        struct tm tm;
        char text_of[16];
        strftime(text_of, sizeof text_of, "%Y-%m-%d", gmtime_r(&at, &tm));
        tab_builder_text(m.b[0], tab_str_of(text_of));
        text(a, m.b[1], "shop %zu", shop);
        tab_builder_number(m.b[2], 2 + noise(i, 1));
        double sales = 50 + 10 * (double)shop + 8 * sin((double)day / 7 * 6.2832) + 3 * noise(i, 2);
        if (day >= open)
            tab_builder_null(m.b[3]);
        else if (number)
            tab_builder_number(m.b[3], sales);
        else
            tab_builder_text(m.b[3], sales > 68   ? TAB_S("much")
                                     : sales > 58 ? TAB_S("fair")
                                                  : TAB_S("little"));
    }
    return done(&m, "t");
}

/* What answers them is data as all else: members, weights and bands come back as they were. */
Test(state_pack, series_and_later_rows, .timeout = 600)
{
    for (size_t k = 0; k < 4; k++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        bool number = k % 2 == 0;
        const tab_table *t = shops(a, 0, 90, k < 2 ? 80 : 90, number);
        serve_state *st =
            fitted(a, &t, 1, "base-2", "sales", number ? TAB_TASK_REGRESSION : TAB_TASK_CLASSIFICATION);
        const tab_table *rows = shops(a, 70, 60, 70, number);
        cr_expect_gt(later(a, st, rows), 0, "nothing is asked of what answers later rows");
        hold(a, st, rows);
    }
}

Test(state_pack, linked_tables, .timeout = 600)
{
    static const char *const customers[] = { "id", "region", "churned" };
    static const char *const orders[] = { "order", "customer", "amount" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    maker c = start(a, customers, 3), o = start(a, orders, 3), asked = start(a, customers, 3);
    for (size_t i = 0, order = 0; i < 300; i++) {
        size_t n = (size_t)(tab_mix2(i, 1) % 6);
        text(a, c.b[0], "C%05zu", i * 7 + 13);
        text(a, c.b[1], "region %zu", (size_t)(tab_mix2(i, 2) % 4));
        tab_builder_text(c.b[2], n < 2 ? TAB_S("yes") : TAB_S("no"));
        for (size_t k = 0; k < n; k++, order++) {
            text(a, o.b[0], "O%06zu", order * 3 + 1000);
            text(a, o.b[1], "C%05zu", i * 7 + 13);
            tab_builder_number(o.b[2], floor(1000 * tab_unit(tab_mix2(order, 3))) / 10);
        }
        if (i % 30 == 0) {
            text(a, asked.b[0], "C%05zu", i * 7 + 13);
            text(a, asked.b[1], "region %zu", i % 4);
            tab_builder_null(asked.b[2]);
        }
    }
    const tab_table *t[] = { done(&c, "customers"), done(&o, "orders") };
    serve_state *st = fitted(a, t, 2, "base-1", "customers.churned", TAB_TASK_CLASSIFICATION);
    cr_assert_not_null(st->linked.set, "the orders say who stays");
    hold(a, st, done(&asked, "customers"));
}

/* ---- bytes that are none --------------------------------------------------------------------- */

Test(state_pack, what_is_damaged_moved_or_of_another_key_is_refused, .timeout = 600)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    const tab_table *t = mixed(a, 0, 60, false);
    serve_state *st = fitted(a, &t, 1, "base-1", "y", TAB_TASK_CLASSIFICATION), *again = NULL;
    tab_str bytes = written(st, "org/endpoint/1");
    static const uint8_t other[STATE_KEY] = "another key";
    tab_error err = { 0 };
    cr_expect_eq(state_read(bytes, TAB_S("org/endpoint/2"), key, &again, &err), TAB_VALIDATION);
    cr_expect_eq(state_read(bytes, TAB_S("org/endpoint/1"), other, &again, &err), TAB_VALIDATION);
    char *p = (char *)(uintptr_t)bytes.p;
    for (size_t i = 0; i < 400; i++) {
        size_t at = i < 120 ? i : tab_mix2(i, 9) % bytes.n;
        p[at] = (char)(p[at] ^ 1 << i % 8);
        cr_expect_eq(state_read(bytes, TAB_S("org/endpoint/1"), key, &again, &err), TAB_VALIDATION, "%zu",
                     at);
        p[at] = (char)(p[at] ^ 1 << i % 8);
        size_t less = tab_mix2(i, 10) % bytes.n;
        cr_expect_eq(state_read((tab_str){ p, less }, TAB_S("org/endpoint/1"), key, &again, &err),
                     TAB_VALIDATION);
    }
    cr_expect_eq(state_read(bytes, TAB_S("org/endpoint/1"), key, &again, &err), TAB_OK);
    serve_state_free(again);
    serve_state_free(st);
    free(p);
}

/* Behind the digest: bodies of other bytes are read within bounds, or refused. tests/fuzz/state_fuzz.c goes
 * on from here. */
static void spoil(serve_state *st, size_t tries)
{
    uint8_t *body = NULL;
    size_t n = 0, read = 0;
    tab_error err = { 0 };
    cr_assert_eq(state_body_write(st, &body, &n, &err), TAB_OK, "%s", err.message);
    for (size_t i = 0; i < tries; i++) {
        uint8_t *own = malloc(n); /* of its very size, so that a sanitizer sees the byte behind it */
        serve_state *again = NULL;
        cr_assert_not_null(own);
        memcpy(own, body, n);
        for (size_t k = 0; k < 1 + i % 4; k++)
            own[tab_mix2(i, 2 * k) % n] = (uint8_t)tab_mix2(i, 2 * k + 1);
        size_t use = i % 5 == 4 ? tab_mix2(i, 99) % n : n;
        tab_status s = state_body_read((tab_str){ (char *)own, use }, &again, &err);
        cr_expect(s == TAB_OK || s == TAB_VALIDATION || s == TAB_INTERNAL);
        read += s == TAB_OK;
        if (s == TAB_OK)
            serve_state_free(again);
        free(own);
    }
    cr_expect_gt(read, 0);
    cr_expect_lt(read, tries);
    free(body);
    serve_state_free(st);
}

Test(state_pack, bodies_of_other_bytes_are_read_within_bounds, .timeout = 600)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    const tab_table *t = mixed(a, 0, 60, false), *days = shops(a, 0, 30, 30, true);
    spoil(fitted(a, &t, 1, "base-1", "y", TAB_TASK_CLASSIFICATION), 4000);
    spoil(fitted(a, &days, 1, "base-1", "sales", TAB_TASK_REGRESSION), 1000);
}

/* ---- the disk -------------------------------------------------------------------------------- */

static bool holds(state_disk *d, const char *owner, const char *name, const char *what)
{
    tab_str s = state_disk_read(d, tab_str_of(owner), tab_str_of(name));
    bool same = s.p == NULL ? what == NULL : what != NULL && tab_str_eq(s, tab_str_of(what));
    free((char *)(uintptr_t)s.p);
    return same;
}

Test(state_disk, who_seals_takes_no_file_that_is_not_sealed)
{
    static const char sealed[] = "\x04:org and the rest of it";
    char folder[] = "/tmp/tabella-states-XXXXXX", command[200];
    cr_assert_not_null(mkdtemp(folder));
    state_disk *d = state_disk_open(folder, 1000, false);
    cr_assert_not_null(d);
    cr_expect(state_disk_write(d, TAB_S("o/1/"), TAB_S("a"), TAB_S("TABS, as it is")));
    cr_expect(state_disk_write(d, TAB_S("o/1/"), TAB_S("b"), tab_str_of(sealed)));
    state_disk_free(d);
    d = state_disk_open(folder, 1000, true);
    cr_assert_not_null(d);
    cr_expect(holds(d, "o/1/", "a", NULL));
    cr_expect(holds(d, "o/1/", "b", sealed));
    state_disk_free(d);
    snprintf(command, sizeof command, "find %s -name '*.state' | wc -l | grep -qx 1 && rm -r %s", folder,
             folder);
    cr_expect_eq(system(command), 0);
}

Test(state_disk, the_least_used_go_and_a_restart_finds_the_rest)
{
    char folder[] = "/tmp/tabella-states-XXXXXX", command[80];
    cr_assert_not_null(mkdtemp(folder));
    state_disk *d = state_disk_open(folder, 30, false);
    cr_assert_not_null(d);
    cr_expect(state_disk_write(d, TAB_S("o/1/"), TAB_S("a"), TAB_S("0123456789")));
    cr_expect(state_disk_write(d, TAB_S("o/2/"), TAB_S("a"), TAB_S("abcdefghij")));
    cr_expect(state_disk_write(d, TAB_S("o/2/"), TAB_S("b"), TAB_S("ABCDEFGHIJ")));
    cr_expect(holds(d, "o/1/", "a", "0123456789"), "and is used last by this");
    cr_expect(state_disk_write(d, TAB_S("o/3/"), TAB_S("a"), TAB_S("x")));
    cr_expect(holds(d, "o/2/", "a", NULL));
    cr_expect(!state_disk_write(d, TAB_S("o/4/"), TAB_S("a"), TAB_S("more than thirty bytes, all in all")));
    state_disk_free(d);
    d = state_disk_open(folder, 30, false);
    cr_assert_not_null(d);
    cr_expect(holds(d, "o/1/", "a", "0123456789"));
    cr_expect(holds(d, "o/2/", "b", "ABCDEFGHIJ"));
    cr_expect_eq(state_disk_look(d).count, 3);
    state_disk_drop(d, TAB_S("o/2/"));
    cr_expect(holds(d, "o/2/", "b", NULL));
    cr_expect_eq(state_disk_look(d).bytes, 11);
    state_disk_free(d);
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_expect_eq(system(command), 0);
    cr_expect(holds(NULL, "o/1/", "a", NULL), "without a disk nothing is there");
}
