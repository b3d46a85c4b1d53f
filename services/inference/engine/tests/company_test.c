/* A company of six tables: who leaves is told by how long ago the last order was and by tickets; the
 * customer's row has a date of sign-up and a store, and the store a date of its own. A sign-up is no moment
 * that a customer is asked about: the orders behind it count. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/bundle.h"
#include "services/inference/engine/evaluate/held_out.h"
#include "services/inference/engine/features/mix.h"

enum { CUSTOMER, ORDER, ITEM, TICKET, PRODUCT, STORE, TABLES };
enum { CUSTOMERS = 600, PRODUCTS = 40, STORES = 12, END = 900, LEFT = 4 };
static const char *const ids[] = { "customers", "orders", "items", "tickets", "products", "stores" };

static uint32_t draw(size_t a, size_t b, uint32_t n)
{
    return (uint32_t)(tab_mix2(a, b) % n);
}

static void day_text(char out[48], uint32_t n)
{
    static const int length[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int year = 2021 + (int)n / 365, rest = (int)n % 365, month = 0;
    while (rest >= length[month])
        rest -= length[month++];
    snprintf(out, 48, "%04d-%02d-%02d", year, month + 1, rest + 1);
}

typedef struct {
    uint32_t joined, stop, pace, tickets;
} customer;

static customer of(size_t i)
{
    customer c = { .joined = 100 + draw(i, 1, 400), .pace = 10 + draw(i, 2, 60), .tickets = draw(i, 3, 4) };
    c.stop = draw(i, 4, 2) ? END : c.joined + 30 + draw(i, 5, END - c.joined - 30);
    return c;
}

/* The days of a customer's orders; *last: of the last, or of the sign-up. */
static size_t orders_of(size_t i, uint32_t day[64], uint32_t *last)
{
    customer c = of(i);
    size_t n = 0;
    *last = c.joined;
    for (uint32_t at = c.joined + 1 + draw(i, 6, c.pace); at < c.stop && n < 64;
         at += 1 + draw(i * 64 + n, 7, 2 * c.pace))
        *last = day[n++] = at;
    return n;
}

static void write_customers(FILE *f, bool asked)
{
    char joined[48];
    uint32_t day[64], last;
    fputs("customer_id,joined,store_id,age,churn\n", f);
    for (size_t i = 0; i < CUSTOMERS; i++) {
        orders_of(i, day, &last);
        double logit = 0.012 * (double)(END - last) + 0.5 * of(i).tickets - 2.6;
        bool leaves = tab_unit(tab_mix2(i, 8)) < 1 / (1 + exp(-logit));
        day_text(joined, of(i).joined);
        fprintf(f, "%zu,%s,S%02u,%u,%s\n", 10000 + i * 7, joined, draw(i, 9, STORES), 18 + draw(i, 10, 60),
                asked && i % 4 == 0 ? ""
                : leaves            ? "yes"
                                    : "no");
    }
}

static void write_sales(FILE *f, bool items)
{
    char text[48];
    uint32_t day[64], last;
    fputs(items ? "order_id,product_id,qty,price\n" : "order_id,customer_id,ordered\n", f);
    for (size_t i = 0, order = 0; i < CUSTOMERS; i++) {
        size_t n = orders_of(i, day, &last);
        for (size_t k = 0; k < n; k++, order++) {
            day_text(text, day[k]);
            if (!items)
                fprintf(f, "%zu,%zu,%s\n", 500000 + order * 3, 10000 + i * 7, text);
            for (size_t q = 0; items && q <= draw(order, 11, 2); q++)
                fprintf(f, "%zu,P%03u,%u,%u.95\n", 500000 + order * 3, draw(order * 2 + q, 12, PRODUCTS),
                        1 + draw(order * 2 + q, 13, 4), 2 + draw(order * 2 + q, 14, 60));
        }
    }
}

static void write_table(FILE *f, size_t table, bool asked)
{
    char text[48];
    if (table == CUSTOMER)
        write_customers(f, asked);
    if (table == ORDER || table == ITEM)
        write_sales(f, table == ITEM);
    if (table == TICKET)
        fputs("ticket_id,customer_id,opened,priority\n", f);
    for (size_t i = 0, n = 0; table == TICKET && i < CUSTOMERS; i++)
        for (uint32_t k = 0; k < of(i).tickets; k++, n++) {
            day_text(text, of(i).joined + draw(i * 8 + k, 15, END - of(i).joined));
            fprintf(f, "T%05zu,%zu,%s,%s\n", 7 + n * 2, 10000 + i * 7, text, draw(n, 16, 2) ? "high" : "low");
        }
    if (table == PRODUCT)
        fputs("product_id,kind,list_price\n", f);
    for (size_t i = 0; table == PRODUCT && i < PRODUCTS; i++)
        fprintf(f, "P%03zu,%s,%u.50\n", i, (const char *[]){ "food", "toys", "books" }[draw(i, 17, 3)],
                2 + draw(i, 18, 60));
    if (table == STORE)
        fputs("store_id,town,area,opened\n", f);
    for (size_t i = 0; table == STORE && i < STORES; i++) {
        day_text(text, draw(i, 19, 100));
        fprintf(f, "S%02zu,%s,%u,%s\n", i, (const char *[]){ "Graz", "Linz", "Wien" }[draw(i, 20, 3)],
                40 + draw(i, 21, 400), text);
    }
}

typedef struct {
    tab_arena *arena;
    tab_engine e;
    const tab_table *t[TABLES];
    tab_profile *p[TABLES];
    tab_pass_parts parts;
    Tabella__Bundle *b;
    tab_error err;
    tab_status status;
} world;

static void run(world *w, bool asked, const char *as_of)
{
    *w = (world){ .arena = tab_arena_new((size_t)4 << 30) };
    w->e = (tab_engine){ .arena = w->arena };
    w->parts = (tab_pass_parts){ .arena = w->arena, .profile = w->p };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_COLUMN;
    o.target_column = TAB_S("customers.churn");
    o.as_of = tab_str_of(as_of);
    for (size_t i = 0; i < TABLES; i++) {
        char *text = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&text, &n);
        write_table(f, i, asked);
        fclose(f);
        cr_assert_eq(tab_csv_read(w->arena, (tab_str){ text, n }, tab_str_of(ids[i]), &w->t[i], NULL, NULL),
                     TAB_OK);
        free(text);
    }
    w->status = tab_engine_pass(&w->e, w->t, TABLES, &o, &w->parts, &w->b, &w->err);
}

static void end(world *w)
{
    tab_fitted_free(w->parts.fitted);
    tab_arena_free(w->arena);
}

static double auc(world *w)
{
    tab_evaluate_options o = { .task = TAB_TASK_CLASSIFICATION,
                               .target = LEFT,
                               .links = w->parts.linked.links };
    Tabella__HeldOut *h = NULL;
    cr_assert_eq(tab_evaluate(&w->e, w->t[CUSTOMER], &o, &h, NULL), TAB_OK);
    for (size_t i = 0; i < h->n_metrics; i++)
        if (strcmp(h->metrics[i]->name, "auc") == 0)
            return h->metrics[i]->value;
    cr_assert_fail("no auc");
    return 0;
}

static const Tabella__LinkedTable *linked(const world *w, size_t table)
{
    for (size_t i = 0; i < w->b->prediction->n_linked; i++)
        if (w->b->prediction->linked[i]->table == table)
            return w->b->prediction->linked[i];
    return NULL;
}

static size_t warnings(const world *w, const char *word)
{
    size_t n = 0;
    for (size_t i = 0; i < w->b->n_warnings; i++)
        n += strncmp(w->b->warnings[i], word, strlen(word)) == 0;
    return n;
}

Test(company, a_date_of_sign_up_cuts_nothing_off, .timeout = 300)
{
    world w;
    run(&w, true, "");
    cr_assert_eq(w.status, TAB_OK, "%s", w.err.message);
    cr_assert_gt(auc(&w), 0.8);
    for (size_t t = ORDER; t < TABLES; t++) {
        cr_assert_not_null(linked(&w, t), "%s", ids[t]);
        cr_assert_null(linked(&w, t)->as_of);
        cr_assert_eq(linked(&w, t)->rows_left_out, 0);
    }
    cr_assert_eq(linked(&w, ORDER)->rows_used, w.t[ORDER]->rows);
    /* it is said that what came after the date is read, once */
    cr_assert_eq(warnings(&w, "later_rows: rows of"), 1);
    cr_assert_eq(warnings(&w, "left_out:"), 0);
    end(&w);
}

/* Where the caller says that the sign-up is the moment, nothing is known yet, and that is said. */
Test(company, a_moment_that_is_given_is_taken, .timeout = 300)
{
    world w;
    run(&w, false, "customers.joined");
    cr_assert_eq(w.status, TAB_OK, "%s", w.err.message);
    cr_assert_null(w.parts.linked.set);
    cr_assert_eq(linked(&w, ORDER)->rows_used, 0);
    cr_assert_eq(linked(&w, ORDER)->rows_left_out, w.t[ORDER]->rows);
    cr_assert_eq(linked(&w, ORDER)->as_of->column, 1);
    cr_assert_geq(warnings(&w, "left_out:"), 2);
    end(&w);
    run(&w, false, "none");
    cr_assert_eq(w.status, TAB_OK);
    cr_assert_not_null(w.parts.linked.set);
    cr_assert_null(linked(&w, ORDER)->as_of);
    end(&w);
}

Test(company, a_moment_that_does_not_fit_is_refused, .timeout = 300)
{
    static const char *const wrong[] = { "age", "nope", "churn", "orders.ordered" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        world w;
        run(&w, false, wrong[i]);
        cr_assert_eq(w.status, TAB_VALIDATION, "%s", wrong[i]);
        cr_assert_str_eq(w.err.param, "options.as_of");
        end(&w);
    }
}
