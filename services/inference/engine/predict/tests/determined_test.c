/* What follows from other columns is nobody's question: it is never chosen as target. Neither is a column of
 * a table too small to tell anything, where another table tells something. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/choose/select.h"

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

/* A table whose cell (i, j) is a number, or text where cell() has written one. */
typedef double cell_fn(size_t i, size_t j, const char **text);

static tab_profile *profiled(const tab_engine *e, const char *id, const char *const *names, size_t cols,
                             size_t rows, cell_fn *cell)
{
    tab_column *col = tab_arena_new_of(e->arena, tab_column, cols);
    tab_table *t = tab_arena_new_of(e->arena, tab_table, 1);
    tab_profile *p = NULL;
    for (size_t j = 0; j < cols; j++) {
        tab_builder *b = tab_builder_new(e->arena, tab_str_of(names[j]));
        for (size_t i = 0; i < rows; i++) {
            const char *text = NULL;
            double v = cell(i, j, &text);
            if (text != NULL)
                tab_builder_text(b, tab_str_of(text));
            else
                tab_builder_number(b, v);
        }
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    *t = (tab_table){ .id = tab_str_of(id), .rows = rows, .cols = cols, .col = col };
    cr_assert_eq(tab_profile_table(e, t, &p, NULL), TAB_OK);
    return p;
}

/* The reason of the candidate `name`; *ret: what was chosen. */
static const char *reason_of(const tab_engine *e, tab_profile **p, size_t n, const char *name,
                             tab_selection *ret)
{
    tab_run_options o = TAB_RUN_DEFAULTS;
    cr_assert_eq(tab_select(e, p, n, NULL, &o, ret, NULL), TAB_OK);
    for (size_t i = 0; i < ret->target->n_candidates; i++) {
        const Tabella__Candidate *c = ret->target->candidates[i];
        tab_str own = p[c->column->table]->table->col[c->column->column].name;
        if (tab_str_eq(own, tab_str_of(name)))
            return c->reason;
    }
    return "";
}

/* Passengers: whether one travels alone is said by two other columns. */
static double passenger(size_t i, size_t j, const char **text)
{
    size_t siblings = (size_t)(5 * unit(i, 1) * unit(i, 1)), parents = (size_t)(4 * unit(i, 2) * unit(i, 2));
    bool woman = unit(i, 3) < 0.4;
    double class = 1 + floor(3 * unit(i, 4));
    switch (j) {
    case 0:
        return (woman ? 0.7 : 0.2) - 0.1 * (class - 2) > unit(i, 5);
    case 1:
        return class;
    case 2:
        *text = woman ? "female" : "male";
        return 0;
    case 3:
        return floor(70 * unit(i, 6));
    case 4:
        return (double)siblings;
    case 5:
        return (double)parents;
    default:
        *text = siblings + parents == 0 ? "yes" : "no";
        return 0;
    }
}

Test(determined, by_two_columns, .timeout = 300)
{
    static const char *const names[] = { "survived", "class", "sex", "age", "siblings", "parents", "alone" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_selection s;
    tab_profile *p = profiled(&e, "passengers", names, 7, 800, passenger);
    const char *why = reason_of(&e, &p, 1, "alone", &s);
    cr_expect(strstr(why, "not eligible: it follows from ") != NULL && strstr(why, "siblings") != NULL &&
                  strstr(why, "parents") != NULL,
              "%s", why);
    cr_expect(!s.none && s.column == 0, "%zu", s.column);
}

/* Sales: a total of a price, a quantity and what a discount leaves of them, to the cent. */
static double sale(size_t i, size_t j, const char **text)
{
    static const char *const shops[] = { "north", "east", "south" };
    static const double off[] = { 0, 0, 0, 0.05, 0.1, 0.25 };
    size_t shop = tab_mix2(i, 1) % 3;
    double price = round(100 * (4 + 60 * unit(i, 2))) / 100, quantity = 1 + floor(9 * unit(i, 3));
    double discount = off[tab_mix2(i, 4) % 6];
    switch (j) {
    case 0:
        *text = shops[shop];
        return 0;
    case 1:
        return price;
    case 2:
        return quantity;
    case 3:
        return discount;
    case 4:
        return round(100 * price * quantity * (1 - discount)) / 100;
    default:
        return floor(fmin(5, fmax(1, 4.5 - (double)shop + 6 * discount - 0.02 * price + unit(i, 5))));
    }
}

static const char *const sale_names[] = { "shop", "price", "quantity", "discount", "line_total", "rating" };

Test(determined, by_a_product, .timeout = 300)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_selection s;
    tab_profile *p = profiled(&e, "sales", sale_names, 6, 600, sale);
    const char *why = reason_of(&e, &p, 1, "line_total", &s);
    cr_expect_str_eq(why, "not eligible: it follows from price, quantity and discount, by their product");
    cr_expect(!s.none && s.column == 5, "%zu", s.column);
}

/* Orders of one to five pieces: a quantity of few values is a category by its type, and computed all the
 * same. */
static double order(size_t i, size_t j, const char **text)
{
    static const char *const states[] = { "open", "paid", "sent" };
    double price = 2 + floor(39 * unit(i, 21)), pieces = 1 + floor(5 * unit(i, 22));
    if (j == 3)
        *text = states[tab_mix2(i, 23) % 3];
    return j == 0 ? price : j == 1 ? pieces : price * pieces;
}

Test(determined, a_quantity_of_few_values_is_computed_too, .timeout = 300)
{
    static const char *const names[] = { "price", "qty", "amount", "status" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_selection s;
    tab_profile *p = profiled(&e, "orders", names, 4, 300, order);
    const char *why = reason_of(&e, &p, 1, "qty", &s);
    cr_expect_str_eq(why, "not eligible: it follows from price and amount, by their product");
    cr_expect(s.none, "the rest is chance: %zu", s.column);
}

/* Orders most of which have no discount: the ordinary row says nothing of one. */
static double discounted(size_t i, size_t j, const char **text)
{
    static const double off[] = { 0, 0, 0, 0, 0.1, 0.2 };
    double price = 5 + floor(95 * unit(i, 31)), pieces = 1 + floor(9 * unit(i, 32)),
           less = off[tab_mix2(i, 33) % 6];
    (void)text;
    return j == 0 ? price : j == 1 ? pieces : j == 2 ? less : price * pieces * (1 - less);
}

Test(determined, a_discount_that_is_mostly_none, .timeout = 300)
{
    static const char *const names[] = { "price", "qty", "discount", "amount" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_selection s;
    tab_profile *p = profiled(&e, "orders", names, 4, 600, discounted);
    const char *why = reason_of(&e, &p, 1, "discount", &s);
    cr_expect_str_eq(why, "not eligible: it follows from price, qty and amount, by their product");
    cr_expect(s.none, "%zu", s.column);
}

/* Twenty customers, of whom nothing is to be told. */
static double customer(size_t i, size_t j, const char **text)
{
    static char name[32];
    if (j == 0)
        return 1000 + (double)i;
    if (j == 1) {
        snprintf(name, sizeof name, "Customer %zu", i);
        *text = name;
        return 0;
    }
    return j == 2 ? 500 * (1 + floor(20 * unit(i, 7))) : 1990 + floor(30 * unit(i, 8));
}

Test(determined, a_few_rows_are_not_the_question, .timeout = 300)
{
    static const char *const names[] = { "customer", "name", "credit limit", "since" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_selection s;
    tab_profile *p[2] = { profiled(&e, "customers", names, 4, 20, customer),
                          profiled(&e, "sales", sale_names, 6, 600, sale) };
    reason_of(&e, p, 2, "rating", &s);
    cr_expect(!s.none && s.table == 1 && s.column == 5, "%zu, %zu", s.table, s.column);
}
