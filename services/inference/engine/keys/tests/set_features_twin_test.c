/* References by several columns: features of made candidates beside their definitions (sets.h), the order in
 * which candidates are taken, and how many other sets of values might stand in a column, by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/keys/inclusions_internal.h"
#include "services/inference/engine/keys/sets.h"

enum { TABLES = 4, WIDE = 5, COLUMNS = TABLES * WIDE, SETS = 60 };

static uint32_t draw(uint64_t a, uint64_t b, uint32_t n)
{
    return (uint32_t)(tab_unit(tab_mix2(a + 3, b + 9)) * n);
}

typedef struct {
    tab_key_column col[COLUMNS];
    size_t at[TABLES + 1];
    tab_key_columns k;
    double refers[COLUMNS];
    uint32_t key[COLUMNS];
    tab_key_set_search s;
    tab_key_set x[SETS];
} world;

static void begin(world *w)
{
    *w = (world){ .k = { .at = w->at, .col = w->col } };
    for (uint32_t c = 0; c < COLUMNS; c++) {
        w->col[c] = (tab_key_column){ .table = c / WIDE, .column = c % WIDE, .n = 3 + draw(c, 1, 30) };
        w->key[c] = draw(c, 2, 2) ? TAB_NULL : c;
        w->refers[c] = draw(c, 3, 2) ? 0.5 + tab_unit(tab_mix2(c, 4)) / 2 : 0;
    }
    for (size_t t = 0; t <= TABLES; t++)
        w->at[t] = t * WIDE;
    w->s = (tab_key_set_search){ .k = &w->k, .refers = w->refers, .key = w->key };
}

/* Unlike columns of two tables in any order; of few tables and columns, so that candidates meet. */
static tab_key_set made(uint32_t i)
{
    tab_key_set x = { .n = 2 + draw(i, 5, 2) };
    uint32_t child = draw(i, 6, TABLES), parent = (child + 1 + draw(i, 7, TABLES - 1)) % TABLES;
    uint32_t from = draw(i, 8, WIDE), to = draw(i, 9, WIDE), step = 1 + draw(i, 10, WIDE - 1);
    for (uint32_t c = 0; c < x.n; c++) {
        x.child[c] = child * WIDE + (from + c * step) % WIDE;
        x.parent[c] = parent * WIDE + (to + c) % WIDE;
        x.chance[c] = c == 0 && i % 5 == 0 ? 1e-6 : tab_unit(tab_mix2(i, 11 + c));
    }
    x.tuples = 20 + draw(i, 20, 5);
    x.held = x.tuples - draw(i, 21, 4);
    x.parent_tuples = 25 + draw(i, 22, 30);
    x.child_rows = 30 + draw(i, 23, 100);
    x.parent_rows = x.parent_tuples + draw(i, 24, 3);
    return x;
}

static bool same(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
    uint64_t x = 0, y = 0;
    for (uint32_t i = 0; i < n; i++)
        x |= (uint64_t)1 << a[i];
    for (uint32_t i = 0; i < m; i++)
        y |= (uint64_t)1 << b[i];
    return x == y;
}

static bool touch(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
    uint64_t x = 0, y = 0;
    for (uint32_t i = 0; i < n; i++)
        x |= (uint64_t)1 << a[i];
    for (uint32_t i = 0; i < m; i++)
        y |= (uint64_t)1 << b[i];
    return (x & y) != 0;
}

static void near(const char *what, size_t i, float is, double want)
{
    cr_expect_float_eq((double)is, want, 2e-6 * fmax(1, fabs(want)), "%s of %zu: %g, not %g", what, i,
                       (double)is, want);
}

/* Whether a stands before b, column by column, or is the start of it. */
static bool before(const tab_key_set *a, const tab_key_set *b)
{
    for (uint32_t i = 0; i < a->n && i < b->n; i++)
        if (a->parent[i] != b->parent[i])
            return a->parent[i] < b->parent[i];
    return true;
}

static void check_alone(const world *w, size_t i)
{
    const tab_key_set *x = &w->x[i];
    const float *f = x->f;
    double loose = 0, refers = 1, chance = 1, n = 1, parent_n = 1, low = COLUMNS, high = 0;
    bool child_up = true, parent_up = true;
    for (uint32_t c = 0; c < x->n; c++) {
        loose += (w->key[x->child[c]] == TAB_NULL && w->key[x->parent[c]] == TAB_NULL) / (double)x->n;
        refers = fmin(refers, w->refers[x->child[c]]);
        chance = fmin(chance, x->chance[c]);
        n = fmax(n, w->col[x->child[c]].n);
        parent_n = fmax(parent_n, w->col[x->parent[c]].n);
        low = fmin(low, x->child[c]), high = fmax(high, x->child[c]);
        if (c > 0) {
            child_up = child_up && x->child[c] > x->child[c - 1];
            parent_up = parent_up && x->parent[c] > x->parent[c - 1];
        }
    }
    near("missed", i, f[TAB_KEY_SET_F_MISSED], (x->tuples - x->held) / (double)x->tuples);
    near("covered", i, f[TAB_KEY_SET_F_COVERED], x->held / (double)x->parent_tuples);
    near("chance", i, f[TAB_KEY_SET_F_CHANCE_LEAST], fmax(log(chance), log(1e-4)));
    near("loose", i, f[TAB_KEY_SET_F_LOOSE], loose);
    near("refers", i, f[TAB_KEY_SET_F_REFERS], refers);
    near("exact", i, f[TAB_KEY_SET_F_EXACT], 1 - x->parent_tuples / (double)x->parent_rows);
    near("once", i, f[TAB_KEY_SET_F_ONCE], x->tuples / (double)x->child_rows);
    near("rows", i, f[TAB_KEY_SET_F_ROWS], log((double)x->child_rows) - log((double)x->parent_rows));
    near("within", i, f[TAB_KEY_SET_F_WITHIN], fmax(0, log(x->tuples / n)));
    near("parent within", i, f[TAB_KEY_SET_F_PARENT_WITHIN], fmax(0, log(x->parent_tuples / parent_n)));
    near("apart", i, f[TAB_KEY_SET_F_APART], fmin(9, high - low + 1 - x->n));
    near("order", i, f[TAB_KEY_SET_F_ORDER], child_up == parent_up);
}

static void check_beside(const world *w, size_t i)
{
    const tab_key_set *x = &w->x[i];
    const float *f = x->f;
    double others = 0, up = 0, least = x->parent_tuples;
    bool back = false, first = true;
    for (size_t o = 0; o < SETS; o++) {
        const tab_key_set *y = &w->x[o];
        if (o == i)
            continue;
        bool one_way = x->child[0] / WIDE == y->child[0] / WIDE && x->parent[0] / WIDE == y->parent[0] / WIDE;
        if (one_way && touch(x->child, x->n, y->child, y->n)) {
            double mine = x->held / (double)x->tuples, its = y->held / (double)y->tuples;
            first = first && (its < mine || (its == mine && before(x, y)));
        } else if (same(x->child, x->n, y->child, y->n)) {
            others++;
            least = fmin(least, y->parent_tuples);
        }
        if (same(x->parent, x->n, y->child, y->n)) {
            up++;
            back = back || same(x->child, x->n, y->parent, y->n);
        }
    }
    near("others", i, f[TAB_KEY_SET_F_OTHERS], log(1 + others));
    near("smallest", i, f[TAB_KEY_SET_F_SMALLEST], log(x->parent_tuples / least));
    near("first", i, f[TAB_KEY_SET_F_FIRST], first);
    near("up", i, f[TAB_KEY_SET_F_PARENT_UP], log(1 + up));
    near("back", i, f[TAB_KEY_SET_F_BACK], back);
}

Test(set_features_twin, candidates_are_as_defined)
{
    world w;
    begin(&w);
    for (uint32_t i = 0; i < SETS; i++)
        w.x[i] = made(i);
    for (uint32_t i = 2; i < SETS; i += 3) { /* some lead back, some hold as much by other columns */
        w.x[i] = w.x[i - 1];
        memcpy(w.x[i].child, w.x[i - 1].parent, sizeof w.x[i].child);
        memcpy(w.x[i].parent, w.x[i - 1].child, sizeof w.x[i].parent);
        if (i % 2 == 0) {
            w.x[i] = w.x[i - 1];
            w.x[i].parent[0] = w.x[i - 1].parent[1];
            w.x[i].parent[1] = w.x[i - 1].parent[0];
        }
    }
    tab_key_sets_features(&w.s, w.x, SETS);
    for (size_t i = 0; i < SETS; i++) {
        check_alone(&w, i);
        check_beside(&w, i);
    }
}

/* Candidates by columns of tables of five: 0 to 4 are of table 0. told: so much that chance has no part. */
static tab_key_set wide(uint32_t a, uint32_t b, uint32_t to, double p, size_t rows)
{
    return (tab_key_set){ .n = 2,
                          .child = { a, b },
                          .parent = { to, to + 1 },
                          .told = 1e4,
                          .ways = 1,
                          .parent_rows = rows,
                          .f = { (float)log(p / (1 - p)) } };
}

static const double by_first[TAB_KEY_SET_FEATURES + 1] = { 1 };

/* Chooses, and tells which are left by their p in hundredths, in the order of their columns. */
static void chosen(tab_key_set *x, size_t n, const char *want)
{
    world w;
    char is[64] = "", *to = is;
    begin(&w);
    memset(w.refers, 0, sizeof w.refers);
    n = tab_key_sets_choose(&w.s, by_first, x, n);
    for (size_t i = 0; i < n; i++)
        to += sprintf(to, "%s%.0f", i > 0 ? " " : "", 100 * x[i].p);
    cr_expect_str_eq(is, want, "%s, not %s", is, want);
}

Test(set_features_twin, the_likeliest_candidates_are_taken)
{
    tab_key_set one[] = { wide(0, 1, 5, .6, 9), wide(0, 1, 10, .8, 9), wide(0, 1, 15, .7, 9) };
    chosen(one, 3, "80"); /* one parent for the same columns */
    tab_key_set below[] = { wide(0, 1, 5, .49, 9), wide(2, 3, 5, .5000001, 9) };
    chosen(below, 2, "50");
    tab_key_set even[] = { wide(0, 1, 5, .75, 9), wide(0, 1, 10, .75, 8) };
    chosen(even, 2, "75");
    cr_expect_eq(even[0].parent[0], 10, "of equal ones that of the smallest parent");
    tab_key_set tie[] = { wide(0, 1, 10, .75, 8), wide(0, 1, 5, .75, 8) };
    chosen(tie, 2, "75");
    cr_expect_eq(tie[0].parent[0], 5, "then the first");
    tab_key_set twice[] = { wide(2, 3, 5, .7, 9), wide(0, 1, 5, .9, 9) };
    chosen(twice, 2, "90 70"); /* a row refers to two rows of one table */
    tab_key_set other[] = { wide(2, 3, 5, .7, 9), wide(0, 1, 7, .9, 9) };
    chosen(other, 2, "90"); /* not by other columns of it */
    tab_key_set back[] = { wide(5, 6, 0, .6, 9), wide(2, 3, 7, .8, 9) };
    chosen(back, 2, "80"); /* nor the other way round */
    tab_key_set apart[] = { wide(7, 8, 15, .6, 9), wide(1, 3, 10, .8, 9), wide(1, 2, 5, .7, 9) };
    chosen(apart, 3, "70 80 60");
    tab_key_set part[] = { wide(0, 1, 5, .6, 9), wide(0, 1, 10, .9, 9) };
    part[1].n = 3, part[1].child[2] = 2, part[1].parent[2] = 12;
    chosen(part, 2, "90"); /* some of the columns of a wider one */
    tab_key_set wider[] = { wide(0, 1, 5, .9, 9), wide(0, 1, 10, .6, 9) };
    wider[1].n = 3, wider[1].child[2] = 2, wider[1].parent[2] = 12;
    chosen(wider, 2, "90 60");
    tab_key_set fewer[] = { wide(0, 1, 10, .75, 3), wide(0, 1, 5, .75, 9) };
    fewer[0].n = 3, fewer[0].child[2] = 2, fewer[0].parent[2] = 12;
    chosen(fewer, 2, "75 75");
    cr_expect_eq(fewer[0].n + fewer[1].n, 5);
}

Test(set_features_twin, panels_and_grids_come_last_and_join_what_nothing_joins)
{
    tab_key_set x[] = { wide(0, 1, 5, .2, 9), wide(0, 1, 10, .6, 9) };
    x[0].panel = true;
    chosen(x, 2, "60"); /* though a panel's p is more */
    tab_key_set y[] = { wide(0, 1, 5, .2, 9), wide(2, 3, 5, .6, 9) };
    y[0].panel = true;
    chosen(y, 2, "60"); /* the two tables are joined */
    tab_key_set z[] = { wide(0, 1, 5, .2, 9), wide(2, 3, 10, .6, 9) };
    z[0].panel = true;
    chosen(z, 2, "95 60");
    tab_key_set grid[] = { wide(0, 1, 5, .2, 9), wide(2, 3, 10, .96, 9) };
    grid[0].grid = grid[1].grid = true;
    chosen(grid, 2, "90 96");
}

/* ---- how many other sets of values might be there ---- */

static double choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Of a column of n texts, the i-th written by form with up to three numbers. */
static double other_sets(size_t n, void write(size_t i, char *out))
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 24);
    tab_engine e = { .arena = a };
    tab_builder *b = tab_builder_new(a, TAB_S("code"));
    for (size_t i = 0; i < n; i++) {
        char text[64];
        write(i, text);
        tab_builder_text(b, tab_str_of(text));
    }
    tab_column col;
    cr_assert(tab_builder_finish(b, &col));
    tab_table t = { .id = TAB_S("t"), .rows = (uint32_t)n, .cols = 1, .col = &col };
    tab_profile *p;
    tab_views *v;
    tab_key_columns k;
    double ret = -1;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_views_new(&e, &p, 1, &v, NULL), TAB_OK);
    cr_assert_eq(tab_key_columns_new(&e, v, a, &k, NULL), TAB_OK);
    k.col[0].kind = TAB_KEY_TEXT;
    cr_assert(tab_key_other_sets(v, &k.col[0], &ret));
    double date = -1;
    k.col[0].kind = TAB_KEY_DATE;
    cr_assert(tab_key_other_sets(v, &k.col[0], &date));
    cr_expect_eq(date, 0, "whoever has days has the same");
    tab_views_free(v);
    return ret;
}

static void words_of_two(size_t i, char *out) /* 12 first words, 12 second ones */
{
    static const char *const of[] = { "amber", "birch", "cedar", "drift", "ember", "frost",
                                      "gloom", "haven", "inlet", "joist", "kayak", "lilac" };
    sprintf(out, "%s %s", of[i], of[(i * 5 + 3) % 12]);
}

static void grid_of_words(size_t i, char *out) /* all of three by four: a list of everything */
{
    static const char *const of[] = { "amber", "birch", "cedar", "drift" };
    sprintf(out, "%s %s", of[i / 4], of[i % 4]);
}

static void seats(size_t i, char *out) /* A1 to C5 */
{
    sprintf(out, "%c%zu", 'a' + (int)(i / 5), 1 + i % 5);
}

static void codes(size_t i, char *out) /* a letter of 8, then digits of which 8 and 4 are unlike */
{
    sprintf(out, "%c%zu%zu", 'b' + (int)i, i, (i * 3) % 4);
}

static void two_forms(size_t i, char *out) /* half of them cut one way, half the other */
{
    i < 8 ? codes(i, out) : words_of_two(i - 8, out);
}

Test(set_features_twin, other_sets_are_what_parts_make)
{
    cr_expect_float_eq(other_sets(12, words_of_two), choose(144, 12), 1e-6);
    cr_expect_eq(other_sets(12, grid_of_words), 0);
    cr_expect_eq(other_sets(15, seats), 0);
    cr_expect_float_eq(other_sets(8, codes), choose(8 * 8 * 4, 8), 1e-6);
    cr_expect_float_eq(other_sets(16, two_forms), choose(256, 8) + choose(64, 8), 1e-6);
}
