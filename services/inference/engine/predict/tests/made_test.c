/* A made column in what people meet: a served row is answered by it, also by a model that was kept as bytes,
 * for any number of threads, and reasons name it in words. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

enum { FITTED = 2200, SERVED = 20, COLS = 3, THREADS = 3 };

typedef struct {
    size_t n;
    void (*fn)(void *, size_t);
    void *ctx;
    atomic_size_t next;
} loop;

static void *work(void *arg)
{
    loop *l = arg;
    for (size_t i; (i = atomic_fetch_add(&l->next, 1)) < l->n;)
        l->fn(l->ctx, i);
    return NULL;
}

static void parallel(void *arg, size_t n, void (*fn)(void *, size_t), void *ctx)
{
    (void)arg;
    loop l = { .n = n, .fn = fn, .ctx = ctx };
    pthread_t t[THREADS];
    for (size_t i = 1; i < THREADS; i++)
        cr_assert_eq(pthread_create(&t[i], NULL, work, &l), 0);
    work(&l);
    for (size_t i = 1; i < THREADS; i++)
        pthread_join(t[i], NULL);
}

/* Prices and rooms; what is asked turns with the price of a room. */
static tab_table houses(tab_arena *a, size_t from, size_t rows)
{
    static const char *const name[COLS] = { "price", "rooms", "sold" };
    tab_column *col = tab_arena_new_of(a, tab_column, COLS);
    tab_builder *b[COLS];
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(name[c]));
    for (size_t i = from; i < from + rows; i++) {
        double price = 20 + 100 * tab_unit(tab_mix2(i, 1)), rooms = 10 + 90 * tab_unit(tab_mix2(i, 2));
        tab_builder_number(b[0], price);
        tab_builder_number(b[1], rooms);
        tab_builder_number(b[2], sin(5 * log(price / rooms)) + 0.2 * tab_unit(tab_mix2(i, 3)));
    }
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    return (tab_table){ .id = TAB_S("houses"), .rows = rows, .cols = COLS, .col = col };
}

static void pack(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_pack_fitted(p, (tab_fitted **)each);
}

/* The answers of f to rows that it has not seen, as bytes. */
static void *answers(const tab_engine *e, const tab_fitted *f, size_t *n)
{
    tab_table q = houses(e->arena, FITTED, SERVED);
    Tabella__Prediction *m = NULL;
    cr_assert_eq(tab_score(e, f, &q, true, &m, NULL), TAB_OK);
    *n = tabella__prediction__get_packed_size(m);
    uint8_t *p = tab_arena_new_of(e->arena, uint8_t, *n + 1);
    tabella__prediction__pack(m, p);
    return p;
}

/* In how many of the results the first reason is a made one. */
static size_t made_first(const tab_engine *e, const tab_fitted *f)
{
    tab_table q = houses(e->arena, FITTED, SERVED);
    Tabella__Prediction *m = NULL;
    cr_assert_eq(tab_score(e, f, &q, true, &m, NULL), TAB_OK);
    size_t n = 0;
    for (size_t i = 0; i < SERVED; i++) {
        const Tabella__ResultReasons *r = m->results->reasons[i];
        cr_assert_gt(r->n_reasons, 0);
        const Tabella__ColumnRef *c = r->reasons[0]->column;
        bool made = c->column >= COLS;
        n += made;
        if (made)
            cr_expect(c->address.len > 20 && memcmp(c->address.data, "houses.", 7) == 0, "%.*s",
                      (int)c->address.len, (const char *)c->address.data);
    }
    return n;
}

Test(made, served_rows_are_answered_by_it_and_reasons_name_it, .timeout = 900)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    tab_engine one = { .arena = a }, many = { .arena = a, .parallel_for = parallel };
    tab_table t = houses(a, 0, FITTED);
    tab_profile *p = NULL;
    TAB_AUTO(tab_fitted) *f = NULL, *g = NULL;
    tab_fit_options o = { .base = "base-2", .target = COLS - 1, .task = TAB_TASK_REGRESSION };
    cr_assert_eq(tab_profile_table(&one, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&one, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&many, p, &o, &g, NULL), TAB_OK);
    cr_expect_gt(made_first(&one, f), SERVED / 2);
    size_t n, m, k, size;
    void *own = answers(&one, f, &n), *other = answers(&many, g, &m), *kept = NULL, *back = NULL;
    cr_expect(n == m && memcmp(own, other, n) == 0, "%d threads answer otherwise", THREADS);
    uint8_t *packed = NULL;
    tab_error err = { 0 };
    cr_assert_eq(tab_pack_write(&f, sizeof f, pack, &packed, &size, &err), TAB_OK, "%s", err.message);
    cr_assert_eq(tab_pack_read(a, (tab_str){ (char *)packed, size }, sizeof f, pack, &back, NULL), TAB_OK);
    kept = answers(&one, *(tab_fitted **)back, &k);
    cr_expect(n == k && memcmp(own, kept, n) == 0, "kept as bytes it answers otherwise");
    free(packed);
}
