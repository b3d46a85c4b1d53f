/* What is written down of labelled rows and not of the others, or computed from their targets, is not read:
 * customers and their orders, of which asked customers have as many, fewer, or ones of another state; and
 * branches with the share of their customers who left. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/relational/parts.h"

enum { CUSTOMER, ORDER, BRANCH, TABLES, CUSTOMERS = 600, BRANCHES = 60 };
enum { ID, AT, AGE, LEFT, JOINED };

typedef enum { AS_OTHERS, FEWER, OPEN, FEWER_YET, OPEN_YET } orders_of_asked; /* YET: they joined last */
typedef enum { OF_LAST_YEAR, OF_THESE, AS_PERCENT, AS_COUNT } rate_is;

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

static bool is_asked(size_t i)
{
    return draw(i, 1) < 0.3;
}

static size_t branch_of(size_t i)
{
    return (size_t)(BRANCHES * draw(i, 2));
}

static bool left(size_t i)
{
    return draw(i, 3) < 0.2 + 0.6 * draw(branch_of(i), 4);
}

typedef struct {
    tab_builder *b[5];
    tab_column col[5];
} columns;

static void begin(tab_arena *a, columns *c, size_t n, const char *const *name)
{
    for (size_t i = 0; i < n; i++)
        c->b[i] = tab_builder_new(a, tab_str_of(name[i]));
}

static tab_table end(columns *c, const char *id, size_t n, size_t rows)
{
    for (size_t i = 0; i < n; i++)
        cr_assert(tab_builder_finish(c->b[i], &c->col[i]));
    return (tab_table){ .id = tab_str_of(id), .rows = rows, .cols = n, .col = c->col };
}

static tab_table customers(tab_arena *a, columns *c, bool last)
{
    static const char *const name[] = { "customer_id", "branch_id", "age", "churned", "joined" };
    begin(a, c, 5, name);
    for (size_t i = 0; i < CUSTOMERS; i++) {
        tab_builder_number(c->b[ID], (double)(7 * i + 1001));
        tab_builder_number(c->b[AT], (double)(3 * branch_of(i) + 5000));
        tab_builder_number(c->b[AGE], round(20 + 50 * draw(i, 5)));
        if (is_asked(i))
            tab_builder_null(c->b[LEFT]);
        else
            tab_builder_text(c->b[LEFT], left(i) ? TAB_S("yes") : TAB_S("no"));
        char day[32];
        snprintf(day, sizeof day, "%d-%02d-%02d", last && is_asked(i) ? 2024 : 2023,
                 1 + (int)(12 * draw(i, 10)), 1 + (int)(28 * draw(i, 11)));
        tab_builder_text(c->b[JOINED], tab_str_of(day));
    }
    return end(c, "customers", 5, CUSTOMERS);
}

static tab_table orders(tab_arena *a, columns *c, orders_of_asked how)
{
    static const char *const name[] = { "order_id", "customer_id", "amount", "state" };
    size_t n = 0;
    begin(a, c, 4, name);
    for (size_t i = 0; i < CUSTOMERS; i++) {
        size_t many = 2 + (size_t)(4 * draw(i, 6));
        for (size_t k = 0; k < (is_asked(i) && (how == FEWER || how == FEWER_YET) ? 1 : many); k++, n++) {
            tab_builder_number(c->b[0], (double)(n + 70000));
            tab_builder_number(c->b[1], (double)(7 * i + 1001));
            tab_builder_number(c->b[2], round(1000 * draw(n, 7)) / 10);
            tab_builder_text(c->b[3], is_asked(i) && (how == OPEN || how == OPEN_YET) ? TAB_S("open")
                                      : draw(n, 8) < 0.5                              ? TAB_S("paid")
                                                                                      : TAB_S("returned"));
        }
    }
    return end(c, "orders", 4, n);
}

static tab_table branches(tab_arena *a, columns *c, rate_is how)
{
    static const char *const name[] = { "branch_id", "rate", "size" };
    double all[BRANCHES] = { 0 }, gone[BRANCHES] = { 0 };
    begin(a, c, 3, name);
    for (size_t i = 0; i < CUSTOMERS; i++)
        if (!is_asked(i))
            all[branch_of(i)]++, gone[branch_of(i)] += left(i);
    for (size_t b = 0; b < BRANCHES; b++) {
        double rate = how == OF_LAST_YEAR ? 0.2 + 0.6 * draw(b, 4) : gone[b] / fmax(1, all[b]);
        tab_builder_number(c->b[0], (double)(3 * b + 5000));
        tab_builder_number(c->b[1], how == AS_PERCENT ? round(100 * rate)
                                    : how == AS_COUNT ? gone[b]
                                                      : round(1000 * rate) / 1000);
        tab_builder_number(c->b[2], round(100 * draw(b, 9)));
    }
    return end(c, "branches", 3, BRANCHES);
}

typedef struct {
    tab_arena *arena;
    tab_engine e;
    columns c[TABLES];
    tab_table t[TABLES];
    tab_profile *p[TABLES];
    tab_links *l;
} world;

static void open_world(world *w, orders_of_asked how, rate_is rate)
{
    static tab_reference known[] = {
        { .child_table = ORDER, .child = 1, .parent_table = CUSTOMER, .parent = 0, .p = 0.9 },
        { .child_table = CUSTOMER, .child = AT, .parent_table = BRANCH, .parent = 0, .p = 0.9 }
    };
    static const tab_references refs = { .n = 2, .ref = known };
    memset(w, 0, sizeof *w);
    w->arena = w->e.arena = tab_arena_new((size_t)1 << 30);
    w->t[CUSTOMER] = customers(w->arena, &w->c[CUSTOMER], how == FEWER_YET || how == OPEN_YET);
    w->t[ORDER] = orders(w->arena, &w->c[ORDER], how);
    w->t[BRANCH] = branches(w->arena, &w->c[BRANCH], rate);
    for (size_t i = 0; i < TABLES; i++)
        cr_assert_eq(tab_profile_table(&w->e, &w->t[i], &w->p[i], NULL), TAB_OK);
    cr_assert_eq(tab_links_new(&w->e, w->p, TABLES, &refs, CUSTOMER, LEFT, TAB_AS_OF_EVIDENCE, &w->l, NULL),
                 TAB_OK);
}

/* How many candidates' names begin so. */
static size_t named(const world *w, const char *start)
{
    size_t n = 0;
    for (size_t i = 0; i < w->l->features; i++)
        n += strncmp(w->l->feature[i].name, start, strlen(start)) == 0;
    return n;
}

static const char *warning(world *w)
{
    tab_link_told told;
    cr_assert_eq(tab_links_tell(&w->e, w->l, NULL, &told, NULL), TAB_OK);
    return told.warnings == 0 ? "" : told.warning[0];
}

Test(shifted, what_asked_rows_have_as_the_others_is_read)
{
    world w;
    open_world(&w, AS_OTHERS, OF_LAST_YEAR);
    cr_expect_eq(named(&w, "orders (count)"), 1);
    cr_expect_eq(named(&w, "orders.amount"), 4);
    cr_expect_gt(named(&w, "orders.state"), 0);
    cr_expect_str_empty(warning(&w));
    tab_arena_free(w.arena);
}

Test(shifted, counts_and_sums_of_fewer_rows_are_not_made)
{
    world w;
    open_world(&w, FEWER, OF_LAST_YEAR);
    cr_expect_eq(named(&w, "orders (count)"), 0);
    cr_expect_eq(named(&w, "orders.amount"), 0, "their sums tell what their mean is made of");
    const char *told = warning(&w);
    cr_expect(strstr(told, "left_out: ") == told && strstr(told, "of `orders` differ between") != NULL, "%s",
              told);
    cr_expect(strstr(told, "`orders (count)`: median 1, of the others 3") != NULL ||
                  strstr(told, "`orders (count)`: median 1, of the others 4") != NULL,
              "%s", told);
    tab_arena_free(w.arena);
}

Test(shifted, a_state_that_only_labelled_rows_have_taints_its_column_alone)
{
    world w;
    open_world(&w, OPEN, OF_LAST_YEAR);
    cr_expect_eq(named(&w, "orders.state"), 0);
    cr_expect_eq(named(&w, "orders (count)"), 1);
    cr_expect_eq(named(&w, "orders.amount"), 4);
    tab_arena_free(w.arena);
}

Test(shifted, that_later_customers_have_fewer_yet_is_for_earlier_cuts_to_judge)
{
    world w;
    open_world(&w, FEWER_YET, OF_LAST_YEAR);
    cr_expect_eq(named(&w, "orders (count)"), 1);
    cr_expect_eq(named(&w, "orders.amount"), 4);
    tab_arena_free(w.arena);
    open_world(&w, OPEN_YET, OF_LAST_YEAR);
    cr_expect_eq(named(&w, "orders.state"), 0, "a state that they have not reached is none");
    tab_arena_free(w.arena);
}

/* Whether the branches' rate is said to be made of their customers' targets; of their size never. */
static bool made(rate_is how)
{
    world w;
    bool of[TAB_LINK_FEATURES] = { false }, rate = false, size = false;
    open_world(&w, AS_OTHERS, how);
    cr_assert(tab_link_made_of_target(w.l, w.p[CUSTOMER], NULL, LEFT, of));
    for (size_t i = 0; i < w.l->features; i++) {
        rate = rate || (of[i] && strcmp(w.l->feature[i].name, "branches.rate") == 0);
        size = size || (of[i] && strcmp(w.l->feature[i].name, "branches.size") == 0);
    }
    cr_expect_not(size);
    tab_arena_free(w.arena);
    return rate;
}

Test(shifted, a_rate_that_was_counted_from_these_targets_is_told_from_one_of_last_year)
{
    cr_expect_not(made(OF_LAST_YEAR));
    cr_expect(made(OF_THESE));
    cr_expect(made(AS_PERCENT));
    cr_expect(made(AS_COUNT));
}
