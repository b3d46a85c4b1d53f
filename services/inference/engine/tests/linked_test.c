/* Customers who leave, and their orders: the whole pass reads both, the same however its loops are run. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/bundle.h"
#include "services/inference/engine/evaluate/held_out.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/link/cross_tables.h"

enum { CUSTOMERS = 400, TABLES = 2, LEFT = 2 };

static uint32_t draw(size_t a, size_t b, uint32_t n)
{
    return (uint32_t)(tab_mix2(a, b) % n);
}

/* Who ordered little leaves (told: the orders say so; else a coin does). */
static const tab_table *table(tab_arena *a, size_t which, bool told)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    fputs(which == 0 ? "id,age,left\n" : "number,customer,amount,state\n", f);
    for (size_t i = 0, order = 0; i < CUSTOMERS; i++) {
        unsigned orders = draw(i, 1, 9), key = 100000 + (unsigned)i * 7919 % 899981;
        bool leaves = told ? orders + draw(i, 2, 3) < 5 : draw(i, 3, 2);
        if (which == 0)
            fprintf(f, "%u,%u,%s\n", key, 18 + draw(i, 4, 60), leaves ? "yes" : "no");
        for (unsigned k = 0; which == 1 && k < orders; k++, order++)
            fprintf(f, "P%05zu,%u,%.2f,%s\n", order * 3 + 17, key, draw(order, 5, 9000) / 100.0,
                    draw(order, 6, 3) ? "paid" : "open");
    }
    fclose(f);
    const tab_table *t = NULL;
    cr_assert_eq(
        tab_csv_read(a, (tab_str){ text, n }, tab_str_of(which == 0 ? "people" : "orders"), &t, NULL, NULL),
        TAB_OK);
    free(text);
    return t;
}

typedef struct {
    tab_arena *arena;
    tab_engine e;
    const tab_table *t[TABLES];
    tab_profile *p[TABLES];
    tab_pass_parts parts;
    Tabella__Bundle *b;
} world;

static void backwards(void *arg, size_t n, void (*fn)(void *, size_t), void *ctx)
{
    (void)arg;
    while (n-- > 0)
        fn(ctx, n);
}

static void run(world *w, size_t tables, bool told, bool back)
{
    *w = (world){ .arena = tab_arena_new((size_t)2 << 30) };
    w->e = (tab_engine){ .arena = w->arena, .parallel_for = back ? backwards : NULL };
    w->parts = (tab_pass_parts){ .arena = w->arena, .profile = w->p };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_COLUMN;
    o.target_column = TAB_S("people.left");
    o.explain = true;
    for (size_t i = 0; i < tables; i++)
        w->t[i] = table(w->arena, i, told);
    cr_assert_eq(tab_engine_pass(&w->e, w->t, tables, &o, &w->parts, &w->b, NULL), TAB_OK);
    cr_assert_not_null(w->b->prediction);
}

static void end(world *w)
{
    tab_fitted_free(w->parts.fitted);
    tab_arena_free(w->arena);
}

static size_t packed(const world *w, uint8_t **ret)
{
    size_t n = tabella__prediction__get_packed_size(w->b->prediction);
    *ret = tab_arena_alloc(w->arena, n, 1);
    return tabella__prediction__pack(w->b->prediction, *ret);
}

static double log_loss(const world *w, const tab_links *links)
{
    tab_evaluate_options o = { .task = TAB_TASK_CLASSIFICATION, .target = LEFT, .links = links };
    Tabella__HeldOut *h = NULL;
    cr_assert_eq(tab_evaluate(&w->e, w->t[0], &o, &h, NULL), TAB_OK);
    for (size_t i = 0; i < h->n_metrics; i++)
        if (strcmp(h->metrics[i]->name, "log_loss") == 0)
            return h->metrics[i]->value;
    cr_assert_fail("no log_loss");
    return 0;
}

/* The held-out rows are answered better, and reasons name what is made of the orders. */
Test(linked, orders_tell_who_leaves)
{
    world w;
    run(&w, TABLES, true, false);
    cr_assert_not_null(w.parts.linked.set);
    cr_assert_lt(log_loss(&w, w.parts.linked.links), 0.8 * log_loss(&w, NULL));
    const Tabella__Results *r = w.b->prediction->results;
    size_t named = 0;
    for (size_t i = 0; i < r->n_row; i++)
        for (size_t k = 0; k < r->reasons[i]->n_reasons; k++) {
            const ProtobufCBinaryData *of = &r->reasons[i]->reasons[k]->column->address;
            named += of->len > 7 && memcmp(of->data, "orders ", 7) == 0;
            cr_assert(memcmp(of->data, "people.orders", of->len < 13 ? of->len : 13) != 0);
        }
    cr_assert_gt(named, r->n_row / 2);
    end(&w);
}

/* New rows ask by their key; one that nobody knows is answered, too. */
Test(linked, new_rows_are_answered_by_their_keys)
{
    world w;
    run(&w, TABLES, true, false);
    static const char text[] = "id,age,left\n100000,40,\n999999,40,\n";
    const tab_table *t = NULL;
    tab_table *wide = NULL;
    Tabella__Prediction *m = NULL;
    cr_assert_eq(tab_csv_read(w.arena, TAB_S(text), TAB_S("people"), &t, NULL, NULL), TAB_OK);
    cr_assert_eq(tab_links_rows(&w.e, w.parts.linked.links, w.parts.linked.set, t, &wide, NULL), TAB_OK);
    cr_assert_eq(tab_score(&w.e, w.parts.fitted, wide, true, &m, NULL), TAB_OK);
    cr_assert_eq(m->results->n_row, 2);
    cr_assert_neq(m->results->probabilities[0], m->results->probabilities[2]);
    /* and that the orders say nothing of it is said */
    cr_assert(tab_links_doubt(w.arena, w.parts.linked.set, wide, m));
    cr_assert_eq(m->n_doubts, 1);
    cr_assert_eq(m->results->n_doubt, 2);
    cr_assert_eq(m->results->doubt[0], 0);
    cr_assert_eq(m->results->doubt[1], 1);
    end(&w);
}

Test(linked, one_answer_however_loops_are_run)
{
    world a, b;
    uint8_t *x, *y;
    run(&a, TABLES, true, false);
    run(&b, TABLES, true, true);
    size_t n = packed(&a, &x), m = packed(&b, &y);
    cr_assert_eq(n, m);
    cr_assert_arr_eq(x, y, n);
    end(&a);
    end(&b);
}

/* Where orders say nothing the answers are those of the table alone. */
Test(linked, noise_changes_nothing)
{
    world a, b;
    uint8_t *x, *y;
    run(&a, TABLES, false, false);
    run(&b, 1, false, false);
    cr_assert_not_null(a.parts.linked.links);
    cr_assert_null(a.parts.linked.set);
    cr_assert_eq(a.b->prediction->n_linked, 1);
    cr_assert_eq(a.b->prediction->linked[0]->table, 1);
    a.b->prediction->n_linked = 0;
    size_t n = packed(&a, &x), m = packed(&b, &y);
    cr_assert_eq(n, m);
    cr_assert_arr_eq(x, y, n);
    end(&a);
    end(&b);
}

/* People, and audits of them: of those with a target alone, or, where one_class, of the heads alone. */
static const tab_table *audited(tab_arena *a, size_t which, bool one_class)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    fputs(which == 0 ? "id,x,coin\n" : "audit,person,score\n", f);
    for (size_t i = 0, audit = 0; i < CUSTOMERS; i++) {
        bool heads = draw(i, 21, 2) == 0, asked = !one_class && i % 5 == 0;
        unsigned key = 100000 + (unsigned)i * 7919 % 899981;
        if (which == 0)
            fprintf(f, "%u,%u.5,%s\n", key, draw(i, 22, 900), asked ? "" : heads ? "heads" : "tails");
        for (size_t k = 0; which == 1 && !asked && (heads || !one_class) && k <= draw(i, 23, 3); k++, audit++)
            fprintf(f, "A%05zu,%u,%u.25\n", audit * 3 + 17, key,
                    draw(audit, 24, 100) + (heads && !one_class ? 60 : 0));
    }
    fclose(f);
    const tab_table *t = NULL;
    cr_assert_eq(
        tab_csv_read(a, (tab_str){ text, n }, tab_str_of(which == 0 ? "people" : "audits"), &t, NULL, NULL),
        TAB_OK);
    free(text);
    return t;
}

static void audit(world *w, bool one_class)
{
    *w = (world){ .arena = tab_arena_new((size_t)2 << 30) };
    w->e = (tab_engine){ .arena = w->arena };
    w->parts = (tab_pass_parts){ .arena = w->arena, .profile = w->p };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_COLUMN;
    o.target_column = TAB_S("people.coin");
    for (size_t i = 0; i < TABLES; i++)
        w->t[i] = audited(w->arena, i, one_class);
    cr_assert_eq(tab_engine_pass(&w->e, w->t, TABLES, &o, &w->parts, &w->b, NULL), TAB_OK);
    cr_assert_not_null(w->b->prediction);
}

/* A table of the rows with a target alone tells nothing of those that are asked, well as it tells the
 * others. */
Test(linked, what_asked_rows_lack_is_left_out_and_named)
{
    world w;
    audit(&w, false);
    cr_assert_null(w.parts.linked.set);
    const Tabella__Prediction *m = w.b->prediction;
    cr_assert_eq(m->n_linked, 1);
    cr_assert_eq(m->linked[0]->rows_used, 0);
    cr_assert_eq(m->linked[0]->rows_left_out, w.t[1]->rows);
    cr_assert_gt(m->error, 0.4);
    cr_assert_eq(w.b->n_warnings, 1);
    cr_assert_eq(strncmp(w.b->warnings[0], "left_out: 100% of the rows with a target", 40), 0, "%s",
                 w.b->warnings[0]);
    end(&w);
}

/* Rows that exist for one class alone give it away by being there: it is said, and they are not read. */
Test(linked, rows_of_one_class_alone_are_a_leak)
{
    world w;
    audit(&w, true);
    cr_assert_null(w.parts.linked.set);
    const Tabella__Prediction *m = w.b->prediction;
    cr_assert_gt(m->error, 0.4);
    cr_assert_gt(m->n_leaks, 0);
    cr_assert_str_eq(m->leaks[0]->kind, "copy");
    cr_assert_eq(memcmp(m->leaks[0]->column->address.data, "audits (count)", 14), 0);
    cr_assert_eq(w.b->n_warnings, m->n_leaks);
    cr_assert_eq(strncmp(w.b->warnings[0], "likely_leak: `audits (count)`", 29), 0, "%s", w.b->warnings[0]);
    end(&w);
}

/* A state that is made from snapshots links as the pass does. */
Test(linked, references_are_the_same_either_way)
{
    world w;
    run(&w, TABLES, true, false);
    Tabella__Bundle found = TABELLA__BUNDLE__INIT;
    tab_references a, b;
    cr_assert_eq(tab_cross_tables(&w.e, w.p, TABLES, 0.2, &found, &a, NULL), TAB_OK);
    cr_assert_eq(tab_references_find(&w.e, w.p, TABLES, &b, NULL), TAB_OK);
    cr_assert_gt(a.n, 0);
    cr_assert_eq(a.n, b.n);
    for (size_t i = 0; i < a.n; i++)
        cr_assert(a.ref[i].child_table == b.ref[i].child_table && a.ref[i].child == b.ref[i].child &&
                  a.ref[i].parent_table == b.ref[i].parent_table && a.ref[i].parent == b.ref[i].parent &&
                  a.ref[i].p == b.ref[i].p && a.ref[i].one_to_one == b.ref[i].one_to_one);
    end(&w);
}
