#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/link/cross_tables.h"
#include "services/inference/engine/link/pairs/compare.h"

enum { COLS = 5 };

typedef struct {
    tab_arena *arena;
    tab_table table[2];
    Tabella__CrossTableMap *map;
    Tabella__UnifiedRows *unified;
    uint64_t linked;
} world;

static uint32_t draw(uint64_t *s, uint32_t n)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 33) % n;
}

/* People `from` to `from + rows`; format 1 writes the same values otherwise. */
static tab_table people(tab_arena *a, const char *id, uint32_t from, size_t rows, int format,
                        const char *const *names)
{
    static const char *const first[] = {
        "anna", "bruno", "clara", "dario", "elena", "felix", "greta", "hugo"
    };
    static const char *const last[] = { "abbot", "keller", "castle", "moreau", "eriksen",
                                        "novak", "greco",  "haas",   "ibsen" };
    static const char *const town[] = { "Lisbon", "Turin", "Graz", "Bergen", "Leeds", "Lyon" };
    tab_builder *b[COLS];
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(names == NULL ? "" : names[c]));
    for (uint32_t r = from; r < from + rows; r++) {
        uint64_t s = (r + 1) * 0x9e3779b97f4a7c15u; /* neighbouring people have nothing in common */
        s = (s ^ s >> 29) * 0xbf58476d1ce4e5b9u;
        char text[64];
        draw(&s, 2);
        const char *f = first[draw(&s, 8)], *l = last[draw(&s, 9)];
        snprintf(text, sizeof text, format ? "%c%s, %s" : "%c%s %s", format ? l[0] - 32 : f[0],
                 format ? l + 1 : f + 1, format ? f : l);
        tab_builder_text(b[0], tab_str_of(text));
        uint32_t x = draw(&s, 900), y = draw(&s, 9000);
        snprintf(text, sizeof text, format ? "(212) %u-%u" : "212/%u %u", 100 + x, 1000 + y);
        tab_builder_text(b[1], tab_str_of(text));
        tab_builder_text(b[2], tab_str_of(town[draw(&s, 6)]));
        tab_builder_number(b[3], 1000 + draw(&s, 80000));
        snprintf(text, sizeof text, "%u Mill Lane", 1 + draw(&s, 400));
        tab_builder_text(b[4], tab_str_of(text));
    }
    tab_column *col = tab_arena_new_of(a, tab_column, COLS);
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    return (tab_table){ tab_str_of(id), rows, COLS, col };
}

static tab_status cross(world *w, const tab_engine *e)
{
    tab_profile *p[2];
    tab_error err = { 0 };
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(tab_profile_table(&(tab_engine){ .arena = w->arena }, &w->table[i], &p[i], &err),
                     TAB_OK);
    return tab_cross_tables(e, p, 2, 0.5, &w->map, &w->unified, &w->linked, NULL, &err);
}

static tab_arena *arena(void)
{
    return tab_arena_new(SIZE_MAX / 2);
}

static size_t bytes_of(const world *w, uint8_t **ret)
{
    size_t n = tabella__cross_table_map__get_packed_size(w->map),
           m = tabella__unified_rows__get_packed_size(w->unified);
    *ret = malloc(n + m);
    tabella__cross_table_map__pack(w->map, *ret);
    tabella__unified_rows__pack(w->unified, *ret + n);
    return n + m;
}

Test(cross_tables, finds_shared_rows_in_other_formats)
{
    world w = { .arena = arena() };
    w.table[0] = people(w.arena, "a", 0, 300, 0, NULL);
    w.table[1] = people(w.arena, "b", 150, 300, 1, NULL);
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    size_t right = 0;
    for (size_t i = 0; i < m->n_a_row; i++)
        right += m->a_row[i] == m->b_row[i] + 150;
    cr_expect_geq(right, 145, "%zu of 150 found", right);
    cr_expect_leq(m->n_a_row - right, 5, "%zu wrong", m->n_a_row - right);
    cr_expect_geq(w.map->n_column_alignment, COLS - 1, "%zu columns", w.map->n_column_alignment);
    cr_expect_eq(w.unified->records->rows, 600 - m->n_a_row);
    cr_expect_eq(w.linked, 2 * m->n_a_row);
    tab_arena_free(w.arena);
}

Test(cross_tables, a_match_says_what_speaks_for_and_against_it)
{
    world w = { .arena = arena() };
    w.table[0] = people(w.arena, "a", 0, 300, 0, NULL);
    w.table[1] = people(w.arena, "b", 150, 300, 1, NULL);
    tab_builder *b = tab_builder_new(w.arena, TAB_S("")); /* every third number of b is another */
    for (size_t r = 0; r < 300; r++)
        tab_builder_number(b, r % 3 == 0 ? 90001.0 + (double)r : w.table[1].col[3].num[r]);
    tab_column col[COLS];
    memcpy(col, w.table[1].col, sizeof col);
    cr_assert(tab_builder_finish(b, &col[3]));
    w.table[1].col = col;
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    cr_assert_geq(m->n_a_row, 145);
    cr_assert_eq(m->n_similarity, m->n_matched_on);
    cr_assert_eq(m->n_weight, m->n_matched_on);
    size_t said = 0;
    for (size_t i = 0, at = 0; i < m->n_a_row; i++)
        for (; at < m->matched_on_end[i]; at++) {
            cr_expect(m->similarity[at] >= 0 && m->similarity[at] <= 1);
            ProtobufCBinaryData name = m->attributes[m->matched_on[at]];
            if (m->a_row[i] != m->b_row[i] + 150 || name.len != 2 || memcmp(name.data, "c3", 2) != 0)
                continue;
            said++;
            bool other = m->b_row[i] % 3 == 0;
            cr_expect_eq(m->similarity[at] == 1, !other, "%f", m->similarity[at]);
            cr_expect_eq(m->weight[at] > 0, !other, "%f", m->weight[at]);
        }
    cr_expect_geq(said, 145, "the number is spoken of in %zu matches", said);
    tab_arena_free(w.arena);
}

Test(cross_tables, identical_tables_match_in_every_row)
{
    world w = { .arena = arena() };
    w.table[0] = people(w.arena, "a", 0, 200, 0, NULL);
    w.table[1] = people(w.arena, "b", 0, 200, 0, NULL);
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    cr_assert_eq(w.map->entity_matches->n_a_row, 200);
    for (size_t i = 0; i < 200; i++)
        cr_expect_eq(w.map->entity_matches->a_row[i], w.map->entity_matches->b_row[i]);
    tab_arena_free(w.arena);
}

Test(cross_tables, tables_with_nothing_in_common_have_no_matches)
{
    world w = { .arena = arena() };
    w.table[0] = people(w.arena, "a", 0, 200, 0, NULL);
    tab_builder *b[2] = { tab_builder_new(w.arena, TAB_S("x")), tab_builder_new(w.arena, TAB_S("y")) };
    uint64_t s = 5;
    for (int r = 0; r < 150; r++) {
        char text[32];
        snprintf(text, sizeof text, "ZQ-%06u-%c", draw(&s, 1000000), 'A' + (char)draw(&s, 26));
        tab_builder_text(b[0], tab_str_of(text));
        tab_builder_number(b[1], draw(&s, 1000) / 1000.0);
    }
    tab_column *col = tab_arena_new_of(w.arena, tab_column, 2);
    cr_assert(tab_builder_finish(b[0], &col[0]) && tab_builder_finish(b[1], &col[1]));
    w.table[1] = (tab_table){ TAB_S("b"), 150, 2, col };
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    cr_expect_eq(w.map->entity_matches->n_a_row, 0);
    cr_expect_eq(w.unified->records->rows, 350);
    tab_arena_free(w.arena);
}

Test(cross_tables, disjoint_rows_of_one_kind_have_hardly_a_match)
{
    world w = { .arena = arena() };
    w.table[0] = people(w.arena, "a", 0, 300, 0, NULL);
    w.table[1] = people(w.arena, "b", 1000, 300, 0, NULL);
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    /* eight by nine names in six towns: some agree in both by chance, but no match is certain */
    size_t sure = 0;
    for (size_t i = 0; i < w.map->entity_matches->n_a_row; i++)
        sure += w.map->entity_matches->confidence[i] >= 0.9;
    cr_expect_leq(sure, 3, "%zu sure", sure);
    cr_expect_leq(w.map->entity_matches->n_a_row, 45, "%zu of 300", w.map->entity_matches->n_a_row);
    tab_arena_free(w.arena);
}

/* Pairs of tables of 300 people, every fourth or tenth of them in both, in two formats; and as many that
 * share nobody. */
Test(cross_tables, a_confidence_is_the_share_that_is_right)
{
    enum { TABLES = 4, ROWS = 300 };
    static const uint32_t shared[] = { ROWS / 4, ROWS / 10, 0 };
    double said = 0, right = 0, off = 0, sure = 0, sure_right = 0, stranger = 0;
    for (uint32_t k = 0; k < TABLES * 3; k++) {
        world w = { .arena = arena() };
        uint32_t from = 5000 * (k + 1), both = shared[k % 3], shift = ROWS - both;
        w.table[0] = people(w.arena, "a", from, ROWS, 0, NULL);
        w.table[1] = people(w.arena, "b", from + shift, ROWS, k % 2, NULL);
        cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
        const Tabella__EntityMatches *m = w.map->entity_matches;
        for (size_t i = 0; i < m->n_a_row; i++) {
            bool ok = m->a_row[i] == m->b_row[i] + shift;
            stranger += both == 0 && m->confidence[i] >= 0.9;
            if (both == 0)
                continue;
            said++;
            right += ok;
            off += m->confidence[i] - (ok ? 1 : 0);
            sure += m->confidence[i] >= 0.9;
            sure_right += ok && m->confidence[i] >= 0.9;
        }
        tab_arena_free(w.arena);
    }
    double there = TABLES * (shared[0] + shared[1]);
    cr_expect_geq(right, 0.95 * there, "%.0f of %.0f found", right, there);
    cr_expect_leq(fabs(off), 0.05 * said, "%.1f too sure of %.0f", off, said);
    cr_expect_geq(sure_right, 0.95 * sure, "%.0f of %.0f sure ones are right", sure_right, sure);
    cr_expect_geq(sure, 0.9 * right);
    cr_expect_leq(stranger, 3, "%.0f sure ones in tables that share nobody", stranger);
}

Test(cross_tables, values_that_stand_alone_and_repeat_are_no_entities)
{
    /* half of the rows are people, half hold the name of a town and nothing else, each town often */
    static const char *const town[] = { "lisbon", "turin", "graz", "bergen", "leeds", "lyon" };
    world w = { .arena = arena() };
    for (uint32_t t = 0; t < 2; t++) {
        tab_table p = people(w.arena, "p", 100 * t, 200, 0, NULL);
        tab_column *col = tab_arena_new_of(w.arena, tab_column, COLS);
        for (size_t c = 0; c < COLS; c++) {
            tab_builder *b = tab_builder_new(w.arena, TAB_S(""));
            for (size_t r = 0; r < 200; r++) {
                tab_cell x = tab_cell_at(&p.col[c], r);
                x.kind == TAB_CELL_NUMBER ? tab_builder_number(b, x.num) : tab_builder_text(b, x.text);
            }
            for (size_t r = 0; r < 200; r++)
                c == 2 ? tab_builder_text(b, tab_str_of(town[(r * 7 + t) % 6])) : tab_builder_null(b);
            cr_assert(tab_builder_finish(b, &col[c]));
        }
        w.table[t] = (tab_table){ t ? TAB_S("b") : TAB_S("a"), 400, COLS, col };
    }
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    size_t right = 0;
    for (size_t i = 0; i < m->n_a_row; i++)
        right += m->a_row[i] < 200 && m->a_row[i] == m->b_row[i] + 100;
    cr_expect_geq(right, 95, "%zu of 100", right);
    cr_expect_leq(m->n_a_row - right, 2, "%zu wrong", m->n_a_row - right);
    tab_arena_free(w.arena);
}

Test(cross_tables, names_of_columns_change_nothing_but_names)
{
    static const char *const other[COLS] = { "phone", "name", "phone", "", "zzz" };
    world w = { .arena = arena() }, x = { .arena = arena() };
    w.table[0] = people(w.arena, "a", 0, 120, 0, NULL);
    w.table[1] = people(w.arena, "b", 60, 120, 1, NULL);
    x.table[0] = people(x.arena, "a", 0, 120, 0, other);
    x.table[1] = people(x.arena, "b", 60, 120, 1, other);
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    cr_assert_eq(cross(&x, &(tab_engine){ .arena = x.arena }), TAB_OK);
    const Tabella__EntityMatches *m = w.map->entity_matches, *n = x.map->entity_matches;
    cr_assert_eq(m->n_a_row, n->n_a_row);
    for (size_t i = 0; i < m->n_a_row; i++)
        cr_expect(m->a_row[i] == n->a_row[i] && m->b_row[i] == n->b_row[i] &&
                  m->confidence[i] == n->confidence[i]);
    cr_assert_eq(w.map->n_column_alignment, x.map->n_column_alignment);
    for (size_t i = 0; i < w.map->n_column_alignment; i++) {
        const Tabella__ColumnAlignment *c = w.map->column_alignment[i], *d = x.map->column_alignment[i];
        cr_expect(c->a->column == d->a->column && c->b->column == d->b->column &&
                  c->confidence == d->confidence);
    }
    tab_arena_free(w.arena);
    tab_arena_free(x.arena);
}

static void backwards(void *arg, size_t n, void (*fn)(void *, size_t), void *ctx)
{
    (void)arg;
    while (n-- > 0)
        fn(ctx, n);
}

Test(cross_tables, is_the_same_whatever_the_order_of_work)
{
    world w = { .arena = arena() }, x = { .arena = arena() };
    uint8_t *p, *q;
    w.table[0] = x.table[0] = people(w.arena, "a", 0, 150, 0, NULL);
    w.table[1] = x.table[1] = people(w.arena, "b", 70, 150, 1, NULL);
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    cr_assert_eq(cross(&x, &(tab_engine){ .arena = x.arena, .parallel_for = backwards }), TAB_OK);
    size_t n = bytes_of(&w, &p), m = bytes_of(&x, &q);
    cr_expect(n == m && memcmp(p, q, n) == 0);
    free(p);
    free(q);
    tab_arena_free(w.arena);
    tab_arena_free(x.arena);
}

enum { THREADS = 4 };

typedef struct {
    atomic_size_t next;
    size_t n;
    void (*fn)(void *, size_t);
    void *ctx;
} shared_work;

static void *take_work(void *arg)
{
    shared_work *w = arg;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->n;)
        w->fn(w->ctx, i);
    return NULL;
}

static void on_threads(void *arg, size_t n, void (*fn)(void *, size_t), void *ctx)
{
    (void)arg;
    shared_work w = { .n = n, .fn = fn, .ctx = ctx };
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&t[i], NULL, take_work, &w), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
}

Test(cross_tables, is_the_same_on_any_number_of_threads)
{
    world w = { .arena = arena() };
    uint8_t *p;
    w.table[0] = people(w.arena, "a", 0, 400, 0, NULL);
    w.table[1] = people(w.arena, "b", 200, 400, 1, NULL);
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    size_t n = bytes_of(&w, &p);
    for (int round = 0; round < 3; round++) {
        world x = { .arena = arena() };
        uint8_t *q;
        x.table[0] = w.table[0];
        x.table[1] = w.table[1];
        cr_assert_eq(cross(&x, &(tab_engine){ .arena = x.arena, .parallel_for = on_threads }), TAB_OK);
        size_t m = bytes_of(&x, &q);
        cr_expect(n == m && memcmp(p, q, n) == 0);
        free(q);
        tab_arena_free(x.arena);
    }
    free(p);
    tab_arena_free(w.arena);
}

Test(cross_tables, a_table_ten_thousand_times_the_other_is_searched)
{
    world w = { .arena = arena() };
    w.table[0] = people(w.arena, "a", 7000, 3, 0, NULL);
    w.table[1] = people(w.arena, "b", 0, 30000, 0, NULL);
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    for (size_t i = 0; i < m->n_a_row; i++)
        cr_expect_eq(m->b_row[i], m->a_row[i] + 7000);
    cr_expect_eq(m->n_a_row, 3, "%zu of 3", m->n_a_row);
    tab_arena_free(w.arena);
}

static tab_table texts(tab_arena *a, const char *id, size_t rows, void (*write)(char *, size_t, size_t))
{
    tab_builder *b = tab_builder_new(a, TAB_S("")), *c = tab_builder_new(a, TAB_S(""));
    char *text = tab_arena_alloc(a, 1, 1 << 17);
    for (size_t r = 0; r < rows; r++) {
        write(text, 1 << 17, r);
        tab_builder_text(b, tab_str_of(text));
        tab_builder_number(c, (double)((r * 7919 + 13) % 1000));
    }
    tab_column *col = tab_arena_new_of(a, tab_column, 2);
    cr_assert(tab_builder_finish(b, &col[0]) && tab_builder_finish(c, &col[1]));
    return (tab_table){ tab_str_of(id), rows, 2, col };
}

static const char *const composed[] = { "Jos\xc3\xa9",
                                        "Zo\xc3\xab",
                                        "\xc3\x85sa",
                                        "\xef\xac\x81nn",
                                        "\xd9\x85\xd9\x8f\xd8\xad\xd9\x85\xd8\xaf",
                                        "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
                                        "\xef\xbc\xa1\xef\xbd\x8e\xef\xbd\x8e",
                                        "\xe1\xb8\xaavetlana" };
static const char *const decomposed[] = { "Jose\xcc\x81",
                                          "Zoe\xcc\x88",
                                          "A\xcc\x8asa",
                                          "finn",
                                          "\xe2\x80\xab\xd9\x85\xd8\xad\xd9\x85\xd8\xaf\xe2\x80\xac",
                                          "\xd7\xa9\xd6\xb8\xd7\x9c\xd7\x95\xd7\x9d",
                                          "Ann",
                                          "H\xcc\xaevetlana" };

static void write_name(const char *const *first, char *out, size_t n, size_t r)
{
    static const char *const rest[] = { "karim",    "weber",   "lindgren", "moreau",
                                        "castelli", "bergman", "ozturk" };
    snprintf(out, n, "%s %s %zu", first[r % 8], rest[r / 8 % 7], 100 + r * 37 % 9001);
}

static void write_composed(char *out, size_t n, size_t r)
{
    write_name(composed, out, n, r);
}

static void write_decomposed(char *out, size_t n, size_t r)
{
    write_name(decomposed, out, n, r);
}

static void write_long(char *out, size_t n, size_t r)
{
    uint64_t s = (r + 1) * 0x9e3779b97f4a7c15u;
    size_t at = 0;
    while (at + 32 < n)
        at += (size_t)snprintf(out + at, n - at, "%c%05x ", 'a' + (int)draw(&s, 26), draw(&s, 100000));
}

Test(cross_tables, one_text_in_two_encodings_is_one)
{
    world w = { .arena = arena() };
    w.table[0] = texts(w.arena, "a", 120, write_composed);
    w.table[1] = texts(w.arena, "b", 120, write_decomposed);
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    size_t right = 0;
    for (size_t i = 0; i < m->n_a_row; i++)
        right += m->a_row[i] == m->b_row[i];
    cr_expect_geq(right, 118, "%zu of 120", right);
    tab_arena_free(w.arena);
}

Test(cross_tables, long_texts_are_cut_and_matched)
{
    world w = { .arena = arena() };
    w.table[0] = texts(w.arena, "a", 40, write_long);
    w.table[1] = texts(w.arena, "b", 40, write_long);
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    cr_expect_eq(w.map->entity_matches->n_a_row, 40);
    tab_arena_free(w.arena);
}

Test(cross_tables, empty_tables_null_columns_and_a_lone_row_are_tables)
{
    static const size_t rows[][2] = { { 0, 0 }, { 0, 5 }, { 5, 0 }, { 1, 1 }, { 1, 2000 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        world w = { .arena = arena() };
        w.table[0] = people(w.arena, "a", 0, rows[i][0], 0, NULL);
        w.table[1] = people(w.arena, "b", 0, rows[i][1], 0, NULL);
        cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
        cr_expect_leq(w.unified->records->rows, rows[i][0] + rows[i][1]);
        tab_arena_free(w.arena);
    }
    world w = { .arena = arena() };
    w.table[0] = people(w.arena, "a", 0, 20, 0, NULL);
    tab_builder *b = tab_builder_new(w.arena, TAB_S("x"));
    for (int r = 0; r < 9; r++)
        tab_builder_null(b);
    tab_column *col = tab_arena_new_of(w.arena, tab_column, 1);
    cr_assert(tab_builder_finish(b, col));
    w.table[1] = (tab_table){ TAB_S("b"), 9, 1, col };
    cr_assert_eq(cross(&w, &(tab_engine){ .arena = w.arena }), TAB_OK);
    cr_expect_eq(w.map->entity_matches->n_a_row, 0);
    cr_expect_eq(w.map->n_column_alignment, 0);
    tab_arena_free(w.arena);
}

Test(cross_tables, stops_when_cancelled)
{
    world w = { .arena = arena() };
    atomic_bool cancel = true;
    w.table[0] = people(w.arena, "a", 0, 50, 0, NULL);
    w.table[1] = people(w.arena, "b", 0, 50, 0, NULL);
    cr_expect_eq(cross(&w, &(tab_engine){ .arena = w.arena, .cancel = &cancel }), TAB_CANCELLED);
    tab_arena_free(w.arena);
}

/* The textbook matrix, kept as the reference of the bit-parallel one. */
static size_t plain_distance(tab_str x, tab_str y)
{
    size_t d[20][20];
    for (size_t i = 0; i <= x.n; i++)
        for (size_t j = 0; j <= y.n; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = d[i - 1][j - 1] + (x.p[i - 1] != y.p[j - 1]);
            best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
            best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && x.p[i - 1] == y.p[j - 2] && x.p[i - 2] == y.p[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[x.n][y.n];
}

Test(compare, edit_similarity_equals_the_plain_matrix)
{
    uint64_t s = 9;
    for (int round = 0; round < 3000; round++) {
        char a[20], b[20];
        size_t n = 4 + draw(&s, 12), m = 4 + draw(&s, 8);
        for (size_t i = 0; i < n; i++)
            a[i] = (char)('a' + draw(&s, 3));
        for (size_t i = 0; i < m; i++)
            b[i] = i < n && draw(&s, 4) ? a[i] : (char)('a' + draw(&s, 3));
        tab_str x = { a, n }, y = { b, m };
        double want = 1 - (double)plain_distance(x, y) / (double)(n > m ? n : m);
        if (3 * (n < m ? n : m) >= (n > m ? n : m))
            cr_assert_float_eq(tab_edit_similarity(x, y), want, 1e-12, "%.*s %.*s", TAB_STR(x), TAB_STR(y));
    }
}
