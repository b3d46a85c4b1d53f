/* Customers, their towns, their orders and the orders' items: every value that ways give is held against one
 * that is counted row by row. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/relational/parts.h"

enum { CUSTOMER, TOWN, ORDER, ITEM, TABLES };
enum { CUSTOMERS = 160, TOWNS = 30, ORDERS = 500, ITEMS = 900 };
enum { ID, AT_TOWN, SINCE, LEFT };                   /* of customers */
enum { O_ID, O_CUSTOMER, O_DAY, O_AMOUNT, O_STATE }; /* of orders */
static const char *const ids[] = { "customers", "towns", "orders", "items" };

typedef struct {
    tab_arena *arena;
    tab_engine e;
    const tab_table *t[TABLES];
    tab_profile **p;
    tab_links *l;
} world;

static uint32_t draw(size_t a, size_t b, uint32_t n)
{
    return (uint32_t)(tab_mix2(a, b) % n);
}

/* Days are counted from 2023-01-01 on; customers 0 to 9 have no order, 10 to 14 no date, 15 to 19 a town that
 * is none. later: what orders say from the customer's date on is different. */
static uint32_t since_of(size_t customer)
{
    return 100 + draw(customer, 1, 500);
}

static size_t customer_of(size_t order)
{
    return 10 + draw(order, 2, CUSTOMERS - 10);
}

static void day_text(char out[48], uint32_t n)
{
    static const int length[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int year = 2023 + (int)n / 365, rest = (int)n % 365, month = 0;
    while (rest >= length[month])
        rest -= length[month++];
    snprintf(out, 48, "%04d-%02d-%02d", year, month + 1, rest + 1);
}

static void write_table(FILE *f, size_t table, bool later)
{
    char day[48];
    fputs(table == CUSTOMER ? "id,town,since,left\n"
          : table == TOWN   ? "town,size,kind\n"
          : table == ORDER  ? "order,customer,day,amount,state\n"
                            : "order,weight\n",
          f);
    for (size_t i = 0; table == CUSTOMER && i < CUSTOMERS; i++) {
        day_text(day, since_of(i));
        fprintf(f, "C-%04u,T%03u,%s,%s\n", 7000 + (unsigned)i * 3,
                i >= 15 && i < 20 ? 900 : draw(i, 3, TOWNS), i >= 10 && i < 15 ? "" : day,
                draw(i, 4, 2) ? "yes" : "no");
    }
    for (size_t i = 0; table == TOWN && i < TOWNS; i++)
        fprintf(f, "T%03u,%u,%s\n", (unsigned)i, 1000 + draw(i, 5, 90000), draw(i, 6, 2) ? "old" : "new");
    for (size_t i = 0; table == ORDER && i < ORDERS; i++) {
        uint32_t at = draw(i, 7, 700);
        bool other = later && at >= since_of(customer_of(i));
        day_text(day, at);
        fprintf(f, "%u,C-%04u,%s,%.2f,%s\n", 50001 + (unsigned)i, 7000 + (unsigned)customer_of(i) * 3, day,
                other ? 1e6 : draw(i, 8, 10000) / 100.0,
                other ? "paid" : (const char *[]){ "paid", "open", "late" }[draw(i, 9, 3)]);
    }
    for (size_t i = 0; table == ITEM && i < ITEMS; i++)
        fprintf(f, "%u,%.1f\n", 50001 + draw(i, 10, ORDERS), draw(i, 11, 500) / 10.0);
}

static const tab_table *read_table(tab_arena *a, size_t table, bool later)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    write_table(f, table, later);
    fclose(f);
    const tab_table *t = NULL;
    cr_assert_eq(tab_csv_read(a, (tab_str){ text, n }, tab_str_of(ids[table]), &t, NULL, NULL), TAB_OK);
    free(text);
    return t;
}

static tab_reference known[] = {
    { .child_table = CUSTOMER, .child = AT_TOWN, .parent_table = TOWN, .parent = 0, .p = 0.9 },
    { .child_table = ORDER, .child = O_CUSTOMER, .parent_table = CUSTOMER, .parent = ID, .p = 0.9 },
    { .child_table = ITEM, .child = 0, .parent_table = ORDER, .parent = O_ID, .p = 0.9 },
};

static const tab_references all = { .n = 3, .ref = known }, town = { .n = 1, .ref = known },
                            below = { .n = 2, .ref = &known[1] };

static world begin(bool later)
{
    world w = { .arena = tab_arena_new((size_t)1 << 30) };
    w.e = (tab_engine){ .arena = w.arena };
    w.p = tab_arena_new_of(w.arena, tab_profile *, TABLES);
    for (size_t t = 0; t < TABLES; t++) {
        w.t[t] = read_table(w.arena, t, later);
        cr_assert_eq(tab_profile_table(&w.e, w.t[t], &w.p[t], NULL), TAB_OK);
    }
    cr_assert_eq(w.p[CUSTOMER]->col[SINCE].type, TAB_DATETIME);
    cr_assert_eq(w.p[ORDER]->col[O_DAY].type, TAB_DATETIME);
    cr_assert_eq(tab_links_new(&w.e, w.p, TABLES, &all, CUSTOMER, LEFT, TAB_AS_OF_EVIDENCE, &w.l, NULL),
                 TAB_OK);
    cr_assert_not_null(w.l);
    return w;
}

/* All candidates of all customers. */
static void fill(world *w, const tab_link_feature ***f, tab_link_values *v)
{
    *f = tab_arena_new_of(w->arena, const tab_link_feature *, w->l->features);
    for (size_t k = 0; k < w->l->features; k++)
        (*f)[k] = &w->l->feature[k];
    tab_subjects s;
    cr_assert(tab_subjects_pinned(w->arena, w->l, NULL, CUSTOMERS, &s));
    cr_assert_eq(tab_link_fill(&w->e, w->l, *f, w->l->features, &s, v, NULL), TAB_OK);
}

static size_t named(const world *w, const char *name)
{
    for (size_t k = 0; k < w->l->features; k++)
        if (strcmp(w->l->feature[k].name, name) == 0)
            return k;
    cr_assert_fail("no candidate %s", name);
    return 0;
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

typedef struct {
    double n, sum, least, most, last, late, since, items, weight;
} counted;

/* What the customer's orders before its date say, counted row by row. */
static counted count(const world *w, size_t customer)
{
    counted c = { .least = (double)NAN, .most = (double)NAN, .last = (double)NAN, .since = (double)NAN };
    double cut = w->p[CUSTOMER]->col[SINCE].number[customer], last = -1e300;
    for (size_t i = 0; i < ORDERS; i++) {
        double at = w->p[ORDER]->col[O_DAY].number[i], x = w->p[ORDER]->col[O_AMOUNT].number[i];
        if (customer_of(i) != customer || !(at < cut))
            continue;
        c.n++;
        c.sum += x;
        c.least = fmin(c.least, x);
        c.most = fmax(c.most, x);
        c.late += draw(i, 9, 3) == 2;
        if (at >= last) {
            last = at;
            c.last = x;
            c.since = (cut - at) / 86400;
        }
    }
    for (size_t i = 0; i < ITEMS; i++) {
        size_t order = draw(i, 10, ORDERS);
        if (customer_of(order) != customer || !(w->p[ORDER]->col[O_DAY].number[order] < cut))
            continue;
        c.items++;
        c.weight += w->p[ITEM]->col[1].number[i];
    }
    return c;
}

Test(relational, what_is_said_of_rows_is_what_counting_gives)
{
    world w = begin(false);
    const tab_link_feature **f;
    tab_link_values v;
    fill(&w, &f, &v);
    double **x = v.number;
    size_t n = named(&w, "orders (count)"), sum = named(&w, "orders.amount (sum)"),
           mean = named(&w, "orders.amount (mean)"), least = named(&w, "orders.amount (min)"),
           most = named(&w, "orders.amount (max)"), last = named(&w, "orders.amount (last)"),
           since = named(&w, "orders (days since the last)"), late = named(&w, "orders.state = late (share)"),
           hits = named(&w, "orders.state = late (count)"), items = named(&w, "items (count)"),
           weight = named(&w, "items.weight (sum)"), kind = named(&w, "towns.kind");
    size_t before = 0;
    for (size_t i = 0; i < CUSTOMERS; i++) {
        bool dated = i < 10 || i >= 15;
        counted c = count(&w, i);
        before += c.n > 0;
        /* without orders: none, which is known; without a date: not known */
        cr_assert(same(x[n][i], dated ? c.n : (double)NAN), "count of %zu: %g", i, x[n][i]);
        cr_assert(same(x[sum][i], dated ? c.sum : (double)NAN));
        cr_assert(same(x[mean][i], c.n > 0 ? c.sum / c.n : (double)NAN));
        cr_assert(same(x[least][i], c.least) && same(x[most][i], c.most) && same(x[last][i], c.last));
        cr_assert(same(x[since][i], c.since));
        cr_assert(same(x[late][i], c.n > 0 ? c.late / c.n : (double)NAN));
        cr_assert(same(x[hits][i], dated ? c.late : (double)NAN));
        cr_assert(same(x[items][i], dated ? c.items : (double)NAN) &&
                  same(x[weight][i], dated ? c.weight : (double)NAN));
        cr_assert_eq(v.code[kind][i] == TAB_NULL, i >= 15 && i < 20);
        if (v.code[kind][i] != TAB_NULL)
            cr_assert_eq(w.p[TOWN]->col[2].level[v.code[kind][i]].p[0],
                         draw(draw(i, 3, TOWNS), 6, 2) ? 'o' : 'n');
    }
    cr_assert_gt(before, CUSTOMERS / 4);
    tab_arena_free(w.arena);
}

Test(relational, later_rows_say_nothing)
{
    world a = begin(false), b = begin(true);
    const tab_link_feature **fa, **fb;
    tab_link_values va, vb;
    fill(&a, &fa, &va);
    fill(&b, &fb, &vb);
    static const char *const name[] = { "orders (count)", "orders.amount (sum)", "orders.amount (max)",
                                        "orders.amount (last)", "orders.state = late (share)" };
    for (size_t k = 0; k < sizeof name / sizeof *name; k++)
        cr_assert_arr_eq(va.number[named(&a, name[k])], vb.number[named(&b, name[k])],
                         CUSTOMERS * sizeof(double), "%s", name[k]);
    tab_arena_free(a.arena);
    tab_arena_free(b.arena);
}

/* Served rows have the bytes of pinned ones; a key that nobody knows has nothing. */
Test(relational, new_rows_are_as_pinned_ones)
{
    world w = begin(false);
    const tab_link_feature **f;
    tab_link_values v;
    fill(&w, &f, &v);
    tab_link_set whole = { w.l->features, f };
    tab_table *wide = NULL;
    cr_assert_eq(tab_links_rows(&w.e, w.l, &whole, w.t[CUSTOMER], &wide, NULL), TAB_OK);
    cr_assert_eq(wide->cols, w.t[CUSTOMER]->cols + whole.n);
    for (size_t k = 0; k < whole.n; k++) {
        const tab_column *c = &wide->col[w.t[CUSTOMER]->cols + k];
        cr_assert(tab_str_eq(c->name, tab_link_set_name(&whole, k)));
        if (f[k]->kind != TAB_LINK_CODE)
            cr_assert_arr_eq(c->num, v.number[k], CUSTOMERS * sizeof(double), "%s", f[k]->name);
    }
    static const char text[] = "id,town,since,left\nC-9999,T001,2024-01-01,\n";
    const tab_table *row = NULL;
    cr_assert_eq(tab_csv_read(w.arena, TAB_S(text), TAB_S("customers"), &row, NULL, NULL), TAB_OK);
    cr_assert_eq(tab_links_rows(&w.e, w.l, &whole, row, &wide, NULL), TAB_OK);
    cr_assert(isnan(wide->col[4 + named(&w, "orders (count)")].num[0]));
    cr_assert_not(isnan(wide->col[4 + named(&w, "towns.size")].num[0]));
    tab_arena_free(w.arena);
}

/* No way starts from the target or leads back to its table. */
Test(relational, ways_never_lead_back)
{
    world w = begin(false);
    for (size_t i = 0; i < w.l->ways; i++) {
        const tab_way *way = &w.l->way[i];
        for (size_t h = 0; h < way->ups + way->downs + way->sides; h++)
            cr_assert_neq(way->hop[h].to->table, CUSTOMER);
    }
    tab_links *l = NULL;
    cr_assert_eq(tab_links_new(&w.e, w.p, TABLES, &town, CUSTOMER, AT_TOWN, TAB_AS_OF_EVIDENCE, &l, NULL),
                 TAB_OK);
    cr_assert_null(l);
    tab_arena_free(w.arena);
}

static tab_links *links_of(world *w, const tab_references *refs, size_t as_of)
{
    tab_links *l = NULL;
    cr_assert_eq(tab_links_new(&w->e, w->p, TABLES, refs, CUSTOMER, LEFT, as_of, &l, NULL), TAB_OK);
    cr_assert_not_null(l);
    return l;
}

static double *dates(world *w)
{
    return (double *)(uintptr_t)w->p[CUSTOMER]->col[SINCE].number;
}

/* Dates that all orders come after say when customers began, whatever else the table refers to. */
Test(relational, dates_of_a_beginning_do_not_cut)
{
    world w = begin(false);
    for (size_t i = 0; i < CUSTOMERS; i++)
        dates(&w)[i] = -1e9;
    const tab_references *const refs[] = { &below, &all };
    for (size_t k = 0; k < 2; k++) {
        tab_links *l = links_of(&w, refs[k], TAB_AS_OF_EVIDENCE);
        cr_assert_eq(l->date[SINCE].kind, TAB_DATE_BEGINNING);
        for (size_t i = 0; i < l->ways; i++)
            cr_assert_not(l->way[i].cut);
    }
    tab_arena_free(w.arena);
}

/* Dates with orders on both sides are when customers are asked about; with few of them before it is in doubt,
 * and customers without a target decide: if they have later orders as the others do, those are known. */
Test(relational, a_date_in_doubt_is_decided_by_the_rows_that_are_asked)
{
    world w = begin(false);
    cr_assert_eq(w.l->date[SINCE].kind, TAB_DATE_MOMENT);
    for (size_t i = 0; i < CUSTOMERS; i++)
        dates(&w)[i] = 1672531200 + 86400.0 * 70; /* a tenth of the orders is before */
    tab_links *l = links_of(&w, &all, TAB_AS_OF_EVIDENCE);
    cr_assert_eq(l->date[SINCE].kind, TAB_DATE_MOMENT);
    w.l = l;
    for (size_t asked = 0; asked < 2; asked++) {
        tab_column *left = (tab_column *)(uintptr_t)&w.p[CUSTOMER]->table->col[LEFT];
        tab_builder *b = tab_builder_new(w.arena, left->name);
        for (size_t i = 0; i < CUSTOMERS; i++)
            if (i % 4 == 0 || (i < 10 && asked == 1))
                tab_builder_null(b);
            else
                tab_builder_text(b, TAB_S("yes"));
        cr_assert(tab_builder_finish(b, left));
        /* the second time no order of theirs is later */
        for (size_t i = 0; asked == 1 && i < CUSTOMERS; i += 4)
            dates(&w)[i] = 1e10;
        l = links_of(&w, &all, TAB_AS_OF_EVIDENCE);
        cr_assert_eq(l->asked > 0, true);
        cr_assert_eq(l->date[SINCE].kind, asked == 0 ? TAB_DATE_KNOWN : TAB_DATE_MOMENT);
        cr_assert_eq(l->moments, asked == 0 ? 0 : 1);
    }
    tab_arena_free(w.arena);
}

/* The caller's word wins over what is seen. */
Test(relational, a_moment_that_is_given_cuts)
{
    world w = begin(false);
    for (size_t i = 0; i < CUSTOMERS; i++)
        dates(&w)[i] = -1e9;
    tab_links *l = links_of(&w, &all, SINCE);
    for (size_t i = 0; i < l->ways; i++)
        cr_assert(l->way[i].cut == (l->way[i].downs > 0));
    l = links_of(&w, &all, TAB_AS_OF_NONE);
    cr_assert_eq(l->moments, 0);
    tab_arena_free(w.arena);
}

/* What only customers with a target have says nothing of the others. */
Test(relational, what_asked_rows_lack_is_not_read)
{
    world w = begin(false);
    tab_column *left = (tab_column *)(uintptr_t)&w.p[CUSTOMER]->table->col[LEFT];
    tab_builder *b = tab_builder_new(w.arena, left->name);
    for (size_t i = 0; i < CUSTOMERS; i++)
        if (i < 10) /* they have no order */
            tab_builder_null(b);
        else
            tab_builder_text(b, TAB_S("yes"));
    cr_assert(tab_builder_finish(b, left));
    tab_links *l = links_of(&w, &all, TAB_AS_OF_NONE);
    for (size_t i = 0; i < l->ways; i++)
        cr_assert_eq(l->way[i].absent, l->way[i].downs > 0);
    for (size_t k = 0; k < l->features; k++)
        cr_assert_eq(l->feature[k].way->downs, 0);
    tab_arena_free(w.arena);
}
