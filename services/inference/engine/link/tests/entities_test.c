/* Entities: duplicates within a table, how tables relate, and consistency over more than two tables. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bundle/bundle_json.h"
#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/link/cross_tables.h"
#include "services/inference/engine/link/groups/clusters.h"
#include "services/inference/engine/link/pairs/geo.h"
#include "services/inference/engine/link/tests/tables.h"

static size_t twins_of(const tab_table *t, tab_arena *a, tab_twin **ret)
{
    tab_profile *p;
    tab_views *v;
    tab_error err = { 0 };
    tab_engine e = { .arena = a };
    tab_twin_pairs s;
    size_t n = 0;
    cr_assert_eq(tab_profile_table(&e, t, &p, &err), TAB_OK);
    cr_assert_eq(tab_views_new(&e, &p, 1, &v, &err), TAB_OK);
    tab_link_table *tables;
    cr_assert_eq(tab_link_tables_new(&e, v, a, &tables, &err), TAB_OK);
    cr_assert_eq(tab_twins_judge(&e, v, tables, 0, NULL, a, &s, &err), TAB_OK);
    *ret = NULL;
    if (s.n > 0)
        cr_assert_eq(tab_twin_groups(&s, 0.5f, a, ret, &n, &err), TAB_OK);
    tab_link_tables_free(tables, 1);
    tab_views_free(v);
    return n;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Person k: name, phone, town, street, e-mail. */
static void person(size_t k, size_t col, char out[CELL])
{
    const char *f = given[chance(k, 1, 18)], *l = family[chance(k, 2, 18)];
    if (col == 0)
        snprintf(out, CELL, "%s %s", f, l);
    else if (col == 1)
        snprintf(out, CELL, "212/%u %u", 100 + chance(k, 3, 900), 1000 + chance(k, 4, 9000));
    else if (col == 2)
        snprintf(out, CELL, "%s", town[chance(k, 5, 7)]);
    else if (col == 3)
        snprintf(out, CELL, "%u %s Lane", 1 + chance(k, 6, 200), family[chance(k, 7, 18)]);
    else
        snprintf(out, CELL, "%s.%s%u@mail.example", f, l, chance(k, 8, 1000));
}

enum { PEOPLE = 200, AGAIN = 30 };

/* People with a running number; the last AGAIN rows are the first ones once more: capitals, a lost cell or
 * a letter typed twice. */
static void customers(size_t r, size_t col, char out[CELL])
{
    if (col == 0) {
        snprintf(out, CELL, "%zu", 5000 + r);
        return;
    }
    bool again = r >= PEOPLE;
    size_t k = again ? r - PEOPLE : r;
    person(k, col - 1, out);
    if (again && k % 3 == 0)
        for (char *p = out; *p != 0; p++)
            *p = (char)(*p >= 'a' && *p <= 'z' && col != 5 ? *p - 32 : *p);
    if (again && k % 3 == 1 && col == 2)
        out[0] = 0;
    if (again && k % 3 == 2 && col == 1) { /* "Anna Keller" -> "Anna Kelllxer": a word that nobody else has */
        char *p = strchr(out, ' ') + 3;
        memmove(p + 2, p, strlen(p) + 1);
        p[0] = p[2];
        p[1] = 'x';
    }
}

static void no_twins(size_t r, size_t col, char out[CELL])
{
    person(r, col, out);
}

/* Variants of products: one name, sizes and prices of their own. */
static void variants(size_t r, size_t col, char out[CELL])
{
    static const char *const make[] = { "Acme", "Borealis", "Corvus", "Dynamo" };
    static const char *const what[] = { "drill", "kettle", "lamp", "printer", "router" };
    size_t k = r / 4;
    if (col == 0)
        snprintf(out, CELL, "%s %s %c%u %u cm", make[chance(k, 1, 4)], what[chance(k, 2, 5)],
                 'A' + (char)chance(k, 3, 26), chance(k, 4, 900), 10 + 5 * (unsigned)(r % 4));
    else if (col == 1)
        snprintf(out, CELL, "%s", make[chance(k, 1, 4)]);
    else if (col == 2)
        snprintf(out, CELL, "%u.99", 20 + chance(k, 5, 80) + (unsigned)(r % 4) * 7);
    else
        snprintf(out, CELL, "%s for the workshop, model year 20%u", what[chance(k, 2, 5)],
                 10 + chance(k, 6, 10));
}

/* A country in each year. */
static void panel(size_t r, size_t col, char out[CELL])
{
    static const char *const land[] = { "Austria", "Brazil", "Chile",  "Denmark",
                                        "Egypt",   "France", "Greece", "Hungary" };
    if (col == 0)
        snprintf(out, CELL, "%s", land[r % 8]);
    else if (col == 1)
        snprintf(out, CELL, "%zu", 1990 + r / 8);
    else
        snprintf(out, CELL, "%u.%u", 10 + chance(r, col, 90), chance(r, col + 9, 10));
}

/* Flowers: four lengths and a kind; a few are alike in all. */
static void flowers(size_t r, size_t col, char out[CELL])
{
    static const char *const kind[] = { "setosa", "versicolor", "virginica" };
    if (col == 4)
        snprintf(out, CELL, "%s", kind[r % 3]);
    else
        snprintf(out, CELL, "%zu.%u", 2 + r % 3 + col % 2, chance(r, col, 6));
}

/* Answers to choose from: many rows are alike, no row is an entity that anything names. */
static void answers(size_t r, size_t col, char out[CELL])
{
    static const char *const said[] = { "never", "seldom", "often", "always" };
    snprintf(out, CELL, "%s", said[chance(r, col, col == 0 ? 2 : 4)]);
}

/* What happened when: an event number, a second of its own, who and what. */
static void events(size_t r, size_t col, char out[CELL])
{
    static const char *const what[] = { "login", "logout", "search", "order", "refund" };
    if (col == 0)
        snprintf(out, CELL, "%zu", 900000 + r);
    else if (col == 1)
        snprintf(out, CELL, "2024-03-%02zuT%02u:%02u:%02zu", 1 + r / 60, chance(r, 1, 24), chance(r, 2, 60),
                 r % 60);
    else if (col == 2)
        person(chance(r, 3, 20), 0, out);
    else
        snprintf(out, CELL, "%s", what[chance(r, 4, 5)]);
}

/* Seasons of a series: one title, the number tells them apart. */
static void seasons(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "The %s of %s", family[(r / 6) % 18], town[(r / 6) % 7]);
    else if (col == 1)
        snprintf(out, CELL, "%zu", 1 + r % 6);
    else if (col == 2)
        snprintf(out, CELL, "%s %s", given[(r / 6) % 18], family[(r / 3) % 18]);
    else
        snprintf(out, CELL, "%s", r / 6 % 2 == 0 ? "drama" : "comedy");
}

/* ---- duplicates ------------------------------------------------------------------------------ */

Test(entities, rows_of_one_table_that_are_one_entity_are_found)
{
    tab_arena *a = tab_arena_new(SIZE_MAX / 2);
    tab_table t = table_of(a, "a", PEOPLE + AGAIN, 6, customers);
    tab_twin *w;
    size_t n = twins_of(&t, a, &w), right = 0, worst = 0;
    for (size_t i = 0; i < n; i++) {
        right += w[i].b == w[i].a + PEOPLE;
        worst += w[i].p < 0.9f;
        cr_expect(w[i].p <= 1);
    }
    cr_expect_eq(n, right, "%zu of %zu are wrong", n - right, n);
    cr_expect_geq(right, AGAIN - 5, "%zu of %d found", right, AGAIN);
    cr_expect_leq(worst, 5, "%zu are unsure", worst);
    tab_arena_free(a);
}

Test(entities, tables_without_duplicates_have_none)
{
    static const struct {
        const char *what;
        size_t rows, cols;
        cell_of *cell;
    } sample[] = {
        { "people", 400, 5, no_twins },     { "variants", 400, 4, variants },
        { "panel", 240, 5, panel },         { "flowers", 150, 5, flowers },
        { "answers", 300, 8, answers },     { "events", 600, 4, events },
        { "seasons", 108, 4, seasons },     { "one column", 300, 1, no_twins },
        { "few columns", 300, 2, answers },
    };
    for (size_t i = 0; i < sizeof sample / sizeof *sample; i++) {
        tab_arena *a = tab_arena_new(SIZE_MAX / 2);
        tab_table t = table_of(a, "a", sample[i].rows, sample[i].cols, sample[i].cell);
        tab_twin *w;
        size_t n = twins_of(&t, a, &w);
        cr_expect_eq(n, 0, "%s: %zu, the first rows %u and %u (%f)", sample[i].what, n, n > 0 ? w[0].a : 0,
                     n > 0 ? w[0].b : 0, n > 0 ? (double)w[0].p : 0);
        tab_arena_free(a);
    }
}

enum { CROWD = 24 };

/* An entity of k rows has k (k - 1) / 2 pairs, more than a row has neighbours that were compared. */
static void crowd(size_t r, size_t col, char out[CELL])
{
    person(r < CROWD ? 0 : r, col, out);
    if (r < CROWD && r % 4 == 1 && col == 1)
        out[0] = 0;
    if (r < CROWD && r % 4 == 2 && col == 0)
        memmove(out + 1, out + 2, strlen(out + 1)); /* a letter is lost */
}

Test(entities, all_pairs_of_an_entity_of_many_rows_are_said)
{
    tab_arena *a = tab_arena_new(SIZE_MAX / 2);
    tab_table t = table_of(a, "a", 600, 5, crowd);
    tab_twin *w;
    size_t n = twins_of(&t, a, &w), right = 0;
    for (size_t i = 0; i < n; i++)
        right += w[i].a < CROWD && w[i].b < CROWD;
    cr_expect_eq(n, right, "%zu of %zu are wrong", n - right, n);
    cr_expect_geq(right, CROWD * (CROWD - 1) / 2 * 9 / 10, "%zu found", right);
    tab_arena_free(a);
}

static void half_the_people(size_t r, size_t col, char out[CELL])
{
    person(r < 100 ? r + 50 : r + 1000, col, out);
}

Test(entities, duplicates_are_one_record_that_knows_all_its_rows)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "a", PEOPLE + AGAIN, 6, customers);
    w.table[1] = table_of(w.arena, "b", 200, 5, half_the_people);
    cross(&w);
    const Tabella__UnifiedRows *u = w.unified;
    const Tabella__Duplicates *d = w.map->duplicates;
    cr_assert_not_null(d);
    cr_expect_geq(d->n_row, AGAIN - 5);
    cr_expect_leq(u->n_also_row, d->n_row); /* what is less sure is said, and joins nothing */
    cr_expect_geq(u->n_also_row, AGAIN - 5);
    /* every row is of one entity */
    size_t rows = 0;
    bool *seen = calloc(430, 1);
    for (size_t i = 0; i < u->n_from_row; i++)
        if (u->from_row[i] != TAB_NULL) {
            size_t at = (i % 2 == 0 ? 0 : 230) + u->from_row[i];
            cr_expect_not(seen[at]);
            seen[at] = true;
            rows++;
        }
    for (size_t i = 0; i < u->n_also_row; i++) {
        size_t at = (u->also_table[i] == 0 ? 0 : 230) + u->also_row[i];
        cr_expect_not(seen[at]);
        seen[at] = true;
        rows++;
        cr_expect_eq(u->from_row[2 * u->also_entity[i] + u->also_table[i]] + PEOPLE, u->also_row[i]);
    }
    cr_expect_eq(rows, 430);
    free(seen);
    /* both rows of a person are matched with the person's row of the other table: persons 50 to 149 are in
     * both */
    const Tabella__EntityMatches *m = w.map->entity_matches;
    size_t right = 0;
    for (size_t i = 0; i < m->n_a_row; i++)
        right += m->a_row[i] % PEOPLE == m->b_row[i] + 50;
    cr_expect_eq(right, m->n_a_row, "%zu of %zu matches are wrong", m->n_a_row - right, m->n_a_row);
    cr_expect_geq(right, 95, "%zu matches", right);
    tab_arena_free(w.arena);
}

/* ---- how tables relate ----------------------------------------------------------------------- */

static void visits(size_t r, size_t col, char out[CELL])
{
    person(chance(r, 40, 150), col, out);
    if (r % 7 == 3 && col == 3)
        out[0] = 0;
    if (r % 5 == 1 && col == 0) /* a letter is lost */
        memmove(out + 1, out + 2, strlen(out + 1));
}

static void visits_elsewhere(size_t r, size_t col, char out[CELL])
{
    person(chance(r, 41, 150), col, out);
    if (r % 6 == 2 && col == 1)
        out[0] = 0;
}

static size_t visitor(size_t r)
{
    return chance(r, 40, 150);
}

static size_t visitor_elsewhere(size_t r)
{
    return chance(r, 41, 150);
}

static size_t itself(size_t r)
{
    return r;
}

static size_t shifted(size_t r)
{
    return r < 100 ? r + 50 : r + 1000;
}

Test(entities, how_many_rows_an_entity_has_in_a_table_is_decided_from_the_data)
{
    static const struct {
        const char *want;
        cell_of *cell[2];
        size_t (*who[2])(size_t);
        size_t rows[2];
    } sample[] = {
        { "one_to_one", { no_twins, half_the_people }, { itself, shifted }, { 200, 200 } },
        { "one_to_many", { no_twins, visits }, { itself, visitor }, { 200, 500 } },
        { "many_to_one", { visits, no_twins }, { visitor, itself }, { 500, 200 } },
        { "many_to_many", { visits, visits_elsewhere }, { visitor, visitor_elsewhere }, { 500, 400 } },
    };
    for (size_t i = 0; i < sizeof sample / sizeof *sample; i++) {
        world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
        for (int k = 0; k < 2; k++)
            w.table[k] = table_of(w.arena, k == 0 ? "a" : "b", sample[i].rows[k], 5, sample[i].cell[k]);
        cross(&w);
        cr_assert_eq(w.map->n_relation, 1);
        cr_expect_str_eq(w.map->relation[0]->relation, sample[i].want);
        const Tabella__EntityMatches *m = w.map->entity_matches;
        size_t right = 0, all = 0;
        for (size_t k = 0; k < m->n_a_row; k++)
            right += sample[i].who[0](m->a_row[k]) == sample[i].who[1](m->b_row[k]);
        for (size_t r = 0; r < sample[i].rows[0]; r++)
            for (size_t s = 0; s < sample[i].rows[1]; s++)
                all += sample[i].who[0](r) == sample[i].who[1](s);
        cr_expect_eq(w.map->relation[0]->matches, m->n_a_row);
        cr_expect_geq(right, all * 9 / 10, "%s: %zu of %zu found", sample[i].want, right, all);
        cr_expect_leq(m->n_a_row - right, m->n_a_row / 50, "%s: %zu of %zu wrong", sample[i].want,
                      m->n_a_row - right, m->n_a_row);
        cr_expect_eq(w.linked <= sample[i].rows[0] + sample[i].rows[1], true);
        tab_arena_free(w.arena);
    }
}

/* ---- more than two tables -------------------------------------------------------------------- */

static void later_people(size_t r, size_t col, char out[CELL])
{
    person(r + 60, col, out);
    if (r % 4 == 1 && col == 1)
        out[0] = 0;
}

static void marked_people(size_t r, size_t col, char out[CELL])
{
    person(r + 30, col, out);
    if (r % 3 == 1 && col == 4)
        out[0] = 0;
}

static size_t person_of(uint32_t table, uint32_t row)
{
    static const size_t from[] = { 0, 60, 30 };
    return table == 3 ? shifted(row) : row + from[table];
}

Test(entities, matches_of_four_tables_are_transitive_and_entities_say_the_same)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 4 };
    w.table[0] = table_of(w.arena, "a", 200, 5, no_twins);
    w.table[1] = table_of(w.arena, "b", 180, 5, later_people);
    w.table[2] = table_of(w.arena, "c", 150, 5, marked_people);
    w.table[3] = table_of(w.arena, "d", 200, 5, half_the_people);
    cross(&w);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    const Tabella__UnifiedRows *u = w.unified;
    size_t right = 0, entities = u->n_from_row / 4, linked = 0, pairs = 0;
    for (size_t i = 0; i < m->n_a_row; i++)
        right += person_of(m->a_table[i], m->a_row[i]) == person_of(m->b_table[i], m->b_row[i]);
    cr_expect_geq(right, m->n_a_row * 99 / 100);
    uint32_t *entity = malloc(4 * 200 * sizeof *entity);
    for (size_t e = 0; e < entities; e++) {
        size_t n = 0;
        for (size_t t = 0; t < 4; t++)
            if (u->from_row[e * 4 + t] != TAB_NULL) {
                entity[t * 200 + u->from_row[e * 4 + t]] = (uint32_t)e;
                n++;
            }
        linked += n > 1 ? n : 0;
        pairs += n * (n - 1) / 2;
    }
    for (size_t i = 0; i < m->n_a_row; i++)
        cr_expect_eq(entity[m->a_table[i] * 200 + m->a_row[i]], entity[m->b_table[i] * 200 + m->b_row[i]]);
    free(entity);
    cr_expect_eq(pairs, m->n_a_row, "%zu pairs lie within entities, %zu are reported", pairs, m->n_a_row);
    cr_expect_eq(w.linked, linked);
    /* of the persons 60 to 149, in all four tables, nearly all are one entity */
    size_t whole = 0;
    for (size_t e = 0; e < entities; e++)
        whole += u->from_row[e * 4] != TAB_NULL && u->from_row[e * 4 + 1] != TAB_NULL &&
                 u->from_row[e * 4 + 2] != TAB_NULL && u->from_row[e * 4 + 3] != TAB_NULL;
    cr_expect_geq(whole, 85, "%zu whole", whole);
    tab_arena_free(w.arena);
}

/* Three tables of one row; p: of a~b, b~c, a~c (0: no candidate). Strangers have log-odds -none. */
static size_t matches_of_three(const float p[3], double none, bool named[3], size_t *entities)
{
    static uint32_t zero[1] = { 0 };
    tab_arena *a = tab_arena_new(SIZE_MAX / 2);
    tab_table_view t[3] = { { .rows = 1 }, { .rows = 1 }, { .rows = 1 } };
    tab_views v = { .n = 3, .table = t, .total_rows = 3 };
    static const size_t ends[3][2] = { { 0, 1 }, { 1, 2 }, { 0, 2 } };
    bool kept[3];
    float q[3];
    tab_linkage l[3];
    for (int i = 0; i < 3; i++) {
        kept[i] = p[i] > 0;
        q[i] = p[i];
        l[i] = (tab_linkage){ .ta = ends[i][0], .tb = ends[i][1], .log_none = none };
        l[i].c = (tab_candidates){ .n = 1, .a = zero, .b = zero, .p = &q[i], .kept = &kept[i] };
        named[i] = false;
    }
    tab_clusters cl;
    tab_error err;
    cr_assert_eq(tab_clusters_build(&v, l, 3, NULL, 0.5, a, &cl, &err), TAB_OK);
    for (size_t i = 0; i < cl.matches; i++)
        named[cl.match[i].link] = true;
    *entities = cl.entities.n;
    size_t n = cl.matches;
    tab_arena_free(a);
    return n;
}

Test(entities, a_conflict_is_resolved_by_the_weights)
{
    bool named[3];
    size_t entities;
    /* a~b and b~c, and a and c hardly speak against it: one entity, a~c follows */
    cr_expect_eq(matches_of_three((const float[]){ 0.95f, 0.9f, 0 }, 1, named, &entities), 3);
    cr_expect_eq(entities, 1);
    /* a and c contradict one another: the weaker of the two goes */
    cr_expect_eq(matches_of_three((const float[]){ 0.95f, 0.9f, 0 }, 9, named, &entities), 1);
    cr_expect(named[0] && !named[1] && !named[2]);
    cr_expect_eq(entities, 2);
    cr_expect_eq(matches_of_three((const float[]){ 0.8f, 0.9f, 0 }, 9, named, &entities), 1);
    cr_expect(named[1] && !named[0]);
    /* a candidate that is improbable speaks against as far as it is so: less than b~c speaks for */
    cr_expect_eq(matches_of_three((const float[]){ 0.95f, 0.9f, 0.3f }, 9, named, &entities), 3);
    cr_expect_eq(matches_of_three((const float[]){ 0.95f, 0.6f, 0.05f }, 9, named, &entities), 1);
    /* three sure ones */
    cr_expect_eq(matches_of_three((const float[]){ 0.9f, 0.9f, 0.9f }, 9, named, &entities), 3);
    cr_expect_eq(entities, 1);
    /* none */
    cr_expect_eq(matches_of_three((const float[]){ 0.4f, 0.3f, 0 }, 9, named, &entities), 0);
    cr_expect_eq(entities, 3);
}

/* ---- blocking and places --------------------------------------------------------------------- */

enum { WORDS = 12, COMMON = 60 };

static void common_words(size_t r, size_t other, char out[CELL])
{
    static const char *const syllable[] = { "ba", "de", "fi", "go", "ku", "la", "me", "ni" };
    size_t n = 0;
    for (size_t i = 0; i < WORDS; i++) {
        uint32_t w = chance(r, i == other ? 500 : i, COMMON);
        n += (size_t)snprintf(out + n, CELL - n, "%s%s ", syllable[w / 8], syllable[w % 8]);
    }
}

static void common_words_a(size_t r, size_t col, char out[CELL])
{
    (void)col;
    common_words(r, SIZE_MAX, out);
}

static void common_words_b(size_t r, size_t col, char out[CELL])
{
    (void)col;
    common_words(r, r % WORDS, out);
}

Test(blocks, texts_of_common_words_meet)
{
    enum { ROWS = 6000 };
    tab_arena *a = tab_arena_new(SIZE_MAX / 2);
    tab_table t[2] = { table_of(a, "a", ROWS, 1, common_words_a), table_of(a, "b", ROWS, 1, common_words_b) };
    tab_profile *p[2];
    tab_views *v;
    tab_error err = { 0 };
    tab_engine e = { .arena = a };
    for (int i = 0; i < 2; i++)
        cr_assert_eq(tab_profile_table(&e, &t[i], &p[i], &err), TAB_OK);
    cr_assert_eq(tab_views_new(&e, p, 2, &v, &err), TAB_OK);
    tab_attribute attr = { .scale = 1, .confidence = 1 };
    tab_candidates c;
    cr_assert_eq(tab_block_pairs(&e, v, 0, 1, &attr, 1, NULL, NULL, a, &c, &err), TAB_OK);
    size_t met = 0;
    for (size_t i = 0; i < c.n; i++)
        met += c.a[i] == c.b[i];
    cr_expect_geq(met, ROWS * 9 / 10, "%zu of %d", met, ROWS);
    cr_expect_leq(c.n, 12 * ROWS, "%zu candidates", c.n);
    tab_views_free(v);
    tab_arena_free(a);
}

Test(geo, distances_are_those_of_the_globe)
{
    cr_expect_float_eq(tab_haversine(48.2082, 16.3738, 48.8566, 2.3522), 1033.6, 1);
    cr_expect_float_eq(tab_haversine(0, 179.9, 0, -179.9), 22.24, 0.01);
    cr_expect_float_eq(tab_haversine(90, 10, -90, 77), 20015.1, 0.1);
    cr_expect_eq(tab_haversine(12.5, -70, 12.5, -70), 0);
}

/* Places on both sides of the date line, each near a partner; some lie across the line from theirs. */
static void place(size_t r, size_t col, double metres, char out[CELL])
{
    double lat = -40 + chance(r, 1, 700000) / 1e4, lon = 176 + chance(r, 2, 80000) / 1e4;
    lat += metres / 111000 * (chance(r, 3, 2) ? 1 : -1);
    lon += metres / 111000 * (chance(r, 4, 2) ? 1 : -1);
    lon -= lon > 180 ? 360 : 0;
    if (col == 0)
        snprintf(out, CELL, "%.5f", lat);
    else if (col == 1)
        snprintf(out, CELL, "%.5f", lon);
    else if (metres == 0 || r % 2 == 0)
        snprintf(out, CELL, "%s %s Airfield", given[chance(r, 5, 18)], family[chance(r, 6, 18)]);
    else /* renamed */
        snprintf(out, CELL, "%s International", town[chance(r, 7, 7)]);
}

static void places(size_t r, size_t col, char out[CELL])
{
    place(r, col, 0, out);
}

static void places_elsewhere(size_t r, size_t col, char out[CELL])
{
    place(r < 250 ? r + 150 : r + 5000, col, 300, out);
}

Test(geo, places_match_by_their_distance)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "a", 400, 3, places);
    w.table[1] = table_of(w.arena, "b", 400, 3, places_elsewhere);
    cross(&w);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    size_t right = 0;
    for (size_t i = 0; i < m->n_a_row; i++)
        right += m->b_row[i] < 250 && m->a_row[i] == m->b_row[i] + 150;
    cr_expect_geq(right, 225, "%zu of 250", right);
    cr_expect_leq(m->n_a_row - right, 8, "%zu wrong", m->n_a_row - right);
    tab_arena_free(w.arena);
}

/* ---- records --------------------------------------------------------------------------------- */

/* A person, and when the row was written: b's rows are later where r is even. Half of b's towns are
 * others. */
static void dated(size_t r, size_t col, bool b, char out[CELL])
{
    if (col < 5)
        person(r, col, out);
    else
        snprintf(out, CELL, "202%d-%02u-%02uT%02u:%02u:%02u", b ? (r % 2 == 0 ? 4 : 2) : 3,
                 1 + chance(r, 61 + b, 12), 1 + chance(r, 62, 28), chance(r, 63, 24), chance(r, 64, 60),
                 chance(r, 65 + b, 60));
    if (b && col == 2)
        snprintf(out, CELL, "%s", town[(chance(r, 5, 7) + r % 4 / 2) % 7]);
}

static void dated_a(size_t r, size_t col, char out[CELL])
{
    dated(r, col, false, out);
}

static void dated_b(size_t r, size_t col, char out[CELL])
{
    dated(r, col, true, out);
}

Test(unify, of_values_that_differ_the_one_written_last_survives)
{
    enum { ROWS = 200 };
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "a", ROWS, 6, dated_a);
    w.table[1] = table_of(w.arena, "b", ROWS, 6, dated_b);
    cross(&w);
    const Tabella__UnifiedRows *u = w.unified;
    const Tabella__Column *c = NULL;
    for (size_t k = 0; k < u->records->n_columns; k++)
        if (u->records->columns[k]->name.len == 2 && memcmp(u->records->columns[k]->name.data, "c2", 2) == 0)
            c = u->records->columns[k];
    cr_assert_not_null(c);
    tab_column record;
    cr_assert(tab_column_view(c, u->records->rows, &record));
    size_t both = 0;
    for (size_t e = 0; e < u->records->rows; e++) {
        uint32_t a = u->from_row[2 * e], b = u->from_row[2 * e + 1];
        if (a == TAB_NULL || b != a)
            continue;
        char want[CELL];
        dated(a, 2, a % 2 == 0, want);
        cr_expect(tab_str_eq(tab_cell_at(&record, e).text, tab_str_of(want)), "row %u: %.*s, not %s", a,
                  TAB_STR(tab_cell_at(&record, e).text), want);
        both++;
    }
    cr_expect_geq(both, ROWS * 9 / 10);
    tab_arena_free(w.arena);
}
