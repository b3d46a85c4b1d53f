/* Tables that are joined by when: a day, or a town and a day, however each writes its days. What ways give is
 * held against the row that was looked up by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/relational/parts.h"

enum { DAYS = 120, TOWNS = 4, LATER = 30 /* days that sales begin after the weather's */ };
static const char *const town[TOWNS] = { "Bergen", "Hamburg", "Lima", "Porto" };
static const char *const place[TOWNS] = { "BERGEN", "hamburg", "Lima", "Porto" };

typedef struct {
    tab_arena *arena;
    tab_engine e;
    tab_profile *p[2];
    tab_references refs;
} world;

/* Noon temperatures, in tenths. */
static int warmth(size_t day, size_t where)
{
    return (int)(tab_mix2(day, 100 + where) % 400) - 50;
}

/* From 2025-01-01 on, as a year, a month and a day. */
static void date_of(size_t day, unsigned ret[3])
{
    static const unsigned length[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    unsigned rest = (unsigned)day, month = 0;
    while (rest >= length[month])
        rest -= length[month++];
    ret[0] = 2025, ret[1] = month + 1, ret[2] = rest + 1;
}

static void write_sales(FILE *f, size_t towns)
{
    fputs(towns > 1 ? "town,date,sold\n" : "date,sold\n", f);
    for (size_t i = 0; i < DAYS * towns; i++) {
        size_t day = LATER + i / towns, where = i % towns;
        unsigned d[3];
        date_of(day, d);
        if (towns > 1)
            fprintf(f, "%s,", town[where]);
        fprintf(f, "%02u/%02u/%u,%u\n", d[2], d[1], d[0], (unsigned)(tab_mix2(i, 7) % 900));
    }
}

static void write_weather(FILE *f, size_t towns)
{
    fputs(towns > 1 ? "day,place,warmth\n" : "day,warmth\n", f);
    for (size_t i = 0; i < DAYS * towns; i++) {
        unsigned d[3];
        date_of(i / towns, d);
        fprintf(f, "%u-%02u-%02u", d[0], d[1], d[2]);
        if (towns > 1)
            fprintf(f, ",%s", place[i % towns]);
        fprintf(f, ",%d\n", warmth(i / towns, i % towns));
    }
}

static tab_profile *read_table(world *w, const char *id, void (*write)(FILE *, size_t), size_t towns)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    cr_assert_not_null(f);
    write(f, towns);
    fclose(f);
    const tab_table *t = NULL;
    tab_profile *p = NULL;
    cr_assert_eq(tab_csv_read(w->arena, (tab_str){ text, n }, tab_str_of(id), &t, NULL, NULL), TAB_OK);
    cr_assert_eq(tab_profile_table(&w->e, t, &p, NULL), TAB_OK);
    free(text);
    return p;
}

static world begin(void (*first)(FILE *, size_t), void (*second)(FILE *, size_t), size_t towns)
{
    world w = { .arena = tab_arena_new((size_t)1 << 30) };
    w.e = (tab_engine){ .arena = w.arena };
    w.p[0] = read_table(&w, "sales", first, towns);
    w.p[1] = read_table(&w, "weather", second, towns);
    cr_assert_eq(tab_references_find(&w.e, w.p, 2, &w.refs, NULL), TAB_OK);
    return w;
}

/* The weather of sales rows, of which row i is of day LATER + i / towns, is that day's; new rows as well. */
static void check_weather(world *w, size_t towns)
{
    tab_links *l = NULL;
    size_t sold = towns > 1 ? 2 : 1;
    cr_assert_eq(tab_links_new(&w->e, w->p, 2, &w->refs, 0, sold, TAB_AS_OF_EVIDENCE, &l, NULL), TAB_OK);
    cr_assert_not_null(l);
    cr_assert_eq(l->features, 1);
    cr_assert_str_eq(l->feature[0].name, "weather.warmth");
    const tab_link_feature *f[] = { &l->feature[0] };
    tab_link_set set = { 1, f };
    tab_table *wide = NULL;
    cr_assert_eq(tab_links_rows(&w->e, l, &set, w->p[0]->table, &wide, NULL), TAB_OK);
    for (size_t i = 0; i < DAYS * towns; i++) {
        double x = wide->col[sold + 1].num[i];
        if (LATER + i / towns < DAYS)
            cr_assert_eq(x, warmth(LATER + i / towns, i % towns), "row %zu", i);
        else
            cr_assert(isnan(x), "row %zu", i);
    }
}

Test(calendars, series_of_days_are_joined_by_the_day)
{
    world w = begin(write_sales, write_weather, 1);
    cr_assert_eq(w.refs.n, 1);
    cr_expect(tab_reference_plain(&w.refs.ref[0]) && w.refs.ref[0].one_to_one);
    cr_expect_geq(w.refs.ref[0].p, 0.9);
    cr_expect_eq(w.refs.ref[0].held, DAYS - LATER);
    check_weather(&w, 1);
    tab_arena_free(w.arena);
}

Test(calendars, panels_are_joined_by_thing_and_day)
{
    world w = begin(write_sales, write_weather, TOWNS);
    cr_assert_eq(w.refs.n, 1);
    cr_expect_eq(w.refs.ref[0].also, 1);
    cr_expect_geq(w.refs.ref[0].p, 0.9);
    check_weather(&w, TOWNS);
    tab_arena_free(w.arena);
}

/* Days on which something happened are no calendar, though none is there twice. */
static void write_events(FILE *f, size_t seed)
{
    fputs("happened,cost\n", f);
    for (size_t day = 0; day < 3 * DAYS; day++)
        if (tab_mix2(day, seed) % 4 == 0) {
            unsigned d[3];
            date_of(day, d);
            fprintf(f, "%u-%02u-%02u,%u\n", d[0], d[1], d[2], (unsigned)(tab_mix2(day, 9) % 500));
        }
}

static void write_others(FILE *f, size_t seed)
{
    write_events(f, seed + 50);
}

Test(calendars, days_on_which_something_happened_are_none)
{
    world w = begin(write_events, write_others, 1);
    cr_expect_eq(w.refs.n, 0);
    tab_arena_free(w.arena);
}
