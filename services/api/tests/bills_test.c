#include <criterion/criterion.h>

#include "proto/events.pb-c.h"
#include "services/api/serve/bills.h"

typedef struct {
    Tabella__WorkDone work;
    Tabella__UsageLine line[2], *usage[2];
} call_bill;

static const Tabella__WorkDone *billed(tab_arena *a, const char *id, const char *org, const char *key,
                                       const char *endpoint, uint64_t cells, uint64_t cached)
{
    call_bill *b = tab_arena_new_of(a, call_bill, 1);
    tabella__work_done__init(&b->work);
    for (int i = 0; i < 2; i++) {
        tabella__usage_line__init(&b->line[i]);
        b->usage[i] = &b->line[i];
    }
    b->line[0].op = STR("serve");
    b->line[0].cells = cells;
    b->line[1].op = STR("cached");
    b->line[1].cells = cached;
    b->work.usage = b->usage;
    b->work.n_usage = cached > 0 ? 2 : 1;
    b->work.event_id = STR(id);
    b->work.org_id = STR(org);
    b->work.key_id = STR(key);
    b->work.endpoint_id = STR(endpoint);
    b->work.kind = STR("serve");
    b->work.surface = STR("api");
    b->work.tables = 2;
    return &b->work;
}

Test(bills, calls_alike_are_one_event_and_the_sums_are_exact)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    const Tabella__WorkDone *w[] = {
        billed(a, "serve_1", "org_a", "key_a", "e1", 20, 100),
        billed(a, "serve_2", "org_a", "key_a", "e1", 40, 100),
        billed(a, "serve_3", "org_a", "key_b", "e1", 1, 100), /* another key */
        billed(a, "serve_4", "org_a", "key_a", "e2", 2, 100), /* another endpoint */
        billed(a, "serve_5", "org_b", "key_a", "e1", 3, 100), /* another organization */
        billed(a, "serve_6", "org_a", "key_a", "e1", 4, 0),   /* other operations */
        billed(a, "serve_7", "org_a", "key_a", "e1", (uint64_t)1 << 40, 100),
    };
    enum { N = sizeof w / sizeof *w };
    Tabella__WorkDone *e[N];
    size_t n = bills_sum(a, w, N, e);
    cr_assert_eq(n, 5);
    cr_assert_str_eq(e[0]->event_id, "serve_1");
    cr_assert_eq(e[0]->calls, 3);
    cr_assert_eq(e[0]->tables, 6);
    cr_assert_eq(e[0]->usage[0]->cells, 60 + ((uint64_t)1 << 40));
    cr_assert_eq(e[0]->usage[1]->cells, 300);
    uint64_t calls = 0, cells = 0;
    for (size_t i = 0; i < n; i++) {
        calls += e[i]->calls;
        for (size_t u = 0; u < e[i]->n_usage; u++)
            cells += e[i]->usage[u]->cells;
        for (size_t k = 0; k < i; k++)
            cr_assert_str_neq(e[i]->event_id, e[k]->event_id);
    }
    cr_assert_eq(calls, N);
    cr_assert_eq(cells, 70 + ((uint64_t)1 << 40) + 600);
    cr_assert_eq(w[0]->usage[0]->cells, 20, "what the calls themselves hold stays");
}

Test(bills, a_lone_call_is_its_own_event)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    cr_assert_eq(bills_sum(a, NULL, 0, NULL), 0, "and none is none");
    const Tabella__WorkDone *w = billed(a, "serve_1", "org_a", "key_a", "e1", 20, 100);
    Tabella__WorkDone *e;
    cr_assert_eq(bills_sum(a, &w, 1, &e), 1);
    cr_assert_eq(e->calls, 1);
    cr_assert_eq(e->usage[0]->cells, 20);
}
