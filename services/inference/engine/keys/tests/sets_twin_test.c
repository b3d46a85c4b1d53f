/* Candidates for references by several columns beside their definition, each tuple compared with each; and
 * references within a table, whose chance is counted over all orders of the values. */
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/keys/inclusions_internal.h"
#include "services/inference/engine/keys/sets.h"
#include "services/inference/engine/keys/tests/cells.h"
#include "services/inference/engine/keys/within.h"

enum { TABLES = 2, COLS = 4, ROWS = 60, CELL = 16, WIDEST = TAB_KEY_WIDEST, FOUND = 400 };

static char cell[TABLES][ROWS][COLS][CELL];

static const char *cell_of(size_t table, size_t row, size_t col)
{
    return cell[table][row][col];
}

static uint32_t draw(uint64_t a, uint64_t b, uint32_t n)
{
    return (uint32_t)(tab_unit(tab_mix2(a + 31, b + 2)) * n);
}

typedef struct {
    size_t rows[TABLES], cols[TABLES];
    const char *names[TABLES][COLS];
    uint32_t keyed; /* how many columns, the first ones, are of a key of their own */
    tab_views *v;
    tab_key_columns k;
    tab_key_set_search s;
} world;

static size_t table_of(const world *w, uint32_t column)
{
    return w->k.col[column].table;
}

static const char *at(const world *w, uint32_t column, size_t row)
{
    return cell[table_of(w, column)][row][w->k.col[column].column];
}

/* Whether rows hold the same in n columns each; one's column `but` is read in row `there`. */
static bool same_tuple(const world *w, const uint32_t *x, size_t row, uint32_t but, size_t there,
                       const uint32_t *y, size_t its, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(at(w, x[i], i == but ? there : row), at(w, y[i], its)) != 0)
            return false;
    return true;
}

static bool whole_tuple(const world *w, const uint32_t *x, size_t row, uint32_t but, size_t there, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (*at(w, x[i], i == but ? there : row) == 0)
            return false;
    return true;
}

/* The first row of a table that holds a row's tuple; its rows: none. */
static size_t first_of(const world *w, const uint32_t *x, size_t row, uint32_t but, size_t there,
                       const uint32_t *y, uint32_t n)
{
    size_t r = 0, rows = w->rows[table_of(w, y[0])];
    while (r < rows && !same_tuple(w, x, row, but, there, y, r, n))
        r++;
    return r;
}

static bool may_refer(const world *w, uint32_t x, uint32_t y)
{
    const tab_key_column *c = &w->k.col[x], *p = &w->k.col[y];
    return c->table != p->table && !c->unique && c->n > 1 && tab_key_holds_most(c, p);
}

/* Columns of which keys are made: those that hold another table's, each saying something of its own. */
static uint32_t parts_of(const world *w, size_t t, uint32_t *part)
{
    uint32_t n = 0;
    for (uint32_t p = (uint32_t)w->k.at[t]; p < w->k.at[t + 1]; p++) {
        const tab_key_column *c = &w->k.col[p];
        bool held = false;
        if (c->kind == TAB_KEY_OTHER || c->unique || c->n < 2 ||
            (double)c->present < .98 * (double)w->rows[t])
            continue;
        for (uint32_t x = 0; x < w->k.at[TABLES]; x++)
            held = held || may_refer(w, x, p);
        for (uint32_t i = 0; i < n && held; i++) /* no code beside its name: of as many values the first */
            held = w->k.col[part[i]].n != c->n;
        if (held)
            part[n++] = p;
    }
    return n;
}

typedef struct {
    uint32_t n, col[WIDEST];
} key;

static bool names_rows(const world *w, size_t t, const key *q)
{
    size_t rows = w->rows[t], all = 0, twice = 0;
    double most = 1;
    for (uint32_t i = 0; i < q->n; i++)
        most *= w->k.col[q->col[i]].n;
    for (size_t r = 0; r < rows; r++)
        if (whole_tuple(w, q->col, r, q->n, 0, q->n)) {
            all++;
            twice += first_of(w, q->col, r, q->n, 0, q->col, q->n) < r;
        }
    return most >= .99 * (double)rows && twice <= (size_t)(.01 * (double)rows) &&
           (double)all >= .98 * (double)rows;
}

/* The smallest sets that name rows: without a date, then with one. */
static size_t keys_of(const world *w, size_t t, key *ret)
{
    uint32_t part[COLS], n = parts_of(w, t, part);
    size_t keys = 0;
    for (uint32_t dates = 0; dates < 2; dates++)
        for (uint32_t size = 2; size <= n; size++)
            for (uint32_t bits = (1u << n) - 1; bits > 0; bits--) { /* the first columns first */
                key q = { 0 };
                uint32_t moments = 0;
                bool holds = false;
                for (uint32_t i = 0; i < n; i++)
                    if (bits >> (n - 1 - i) & 1) {
                        moments += w->k.col[part[i]].kind == TAB_KEY_DATE;
                        q.col[q.n++] = part[i];
                    }
                for (size_t o = 0; o < keys; o++) {
                    uint32_t in = 0;
                    for (uint32_t a = 0; a < ret[o].n; a++)
                        for (uint32_t b = 0; b < q.n; b++)
                            in += ret[o].col[a] == q.col[b];
                    holds = holds || in == ret[o].n;
                }
                if (q.n == size && moments == dates && !holds && w->rows[t] >= 8 && names_rows(w, t, &q))
                    ret[keys++] = q;
            }
    return keys;
}

static const char *name_of(const world *w, uint32_t column)
{
    return w->names[table_of(w, column)][w->k.col[column].column];
}

/* Compares one way; false: it is no candidate. */
static bool compare(const world *w, tab_key_set *r)
{
    size_t rows = w->rows[table_of(w, r->child[0])], within = 0, timed = 0, free = 0, named = 0, owned = 0;
    double u = 0;
    for (size_t i = 0; i < rows; i++) {
        bool inside = true;
        if (!whole_tuple(w, r->child, i, r->n, 0, r->n))
            continue;
        r->child_rows++;
        if (first_of(w, r->child, i, r->n, 0, r->child, r->n) < i)
            continue;
        r->tuples++;
        r->held += first_of(w, r->child, i, r->n, 0, r->parent, r->n) < w->rows[table_of(w, r->parent[0])];
        for (uint32_t c = 0; c < r->n; c++) {
            const tab_key_column *x = &w->k.col[r->child[c]], *y = &w->k.col[r->parent[c]];
            const tab_view *seen = &w->v->table[x->table].col[x->column];
            double moment = seen->value[seen->code[i]].number;
            inside = inside && !(tab_key_timed(x, y) && (moment < y->least || moment > y->most));
        }
        within += inside;
    }
    r->once = (double)r->tuples >= .98 * (double)r->child_rows;
    r->parent_rows = w->rows[table_of(w, r->parent[0])];
    for (size_t i = 0; i < r->parent_rows; i++)
        r->parent_tuples += whole_tuple(w, r->parent, i, r->n, 0, r->n) &&
                            first_of(w, r->parent, i, r->n, 0, r->parent, r->n) == i;
    for (uint32_t c = 0; c < r->n; c++) {
        const tab_key_column *x = &w->k.col[r->child[c]], *y = &w->k.col[r->parent[c]];
        double seen = 1, lucky = .5;
        for (size_t i = 0; i < rows; i++) {
            size_t there = tab_hash_mix(i, 17) % rows;
            if (!whole_tuple(w, r->child, i, c, there, r->n))
                continue;
            seen++;
            lucky += first_of(w, r->child, i, c, there, r->parent, r->n) < r->parent_rows;
        }
        r->chance[c] = lucky / seen;
        u = fmax(u, fmin(.99, r->chance[c]));
        bool same = strcasecmp(name_of(w, r->child[c]), name_of(w, r->parent[c])) == 0;
        bool when = tab_key_timed(x, y), of_key = r->child[c] < w->keyed || r->parent[c] < w->keyed;
        timed += when;
        named += same;
        owned += of_key;
        free += when ||
                (!of_key && ((x->kind == TAB_KEY_TEXT && y->kind == TAB_KEY_TEXT) || (r->n == 2 && same)));
    }
    if (r->tuples >= 2 && r->held >= .9 * r->tuples)
        r->told = r->held * log(.99 / u) + (r->tuples - r->held) * log(.01 / (1 - u));
    r->panel = r->told < 3 && timed == 1 && free == r->n && within >= 8 && r->held >= .9 * (double)within;
    r->grid =
        !r->panel && r->told < 3 && owned == 0 && named == r->n && r->tuples >= 8 && r->held == r->tuples;
    if (r->told > 0 && named == r->n) {
        double pairs = (double)w->cols[0] * (double)w->cols[1], alike = 0;
        for (size_t i = 0; i < w->cols[0]; i++)
            for (size_t j = 0; j < w->cols[1]; j++)
                alike += strcasecmp(w->names[0][i], w->names[1][j]) == 0;
        r->told += 3 * r->n * log(pairs / alike);
    }
    return r->told >= 3 || r->panel || r->grid;
}

static size_t ways_of(const world *w, const key *q, tab_key_set *ret)
{
    uint32_t part[WIDEST][COLS], n[WIDEST] = { 0 }, all = 1;
    size_t found = 0, child = 1 - table_of(w, q->col[0]);
    for (uint32_t i = 0; i < q->n; i++) {
        for (uint32_t x = (uint32_t)w->k.at[child]; x < w->k.at[child + 1]; x++)
            if (may_refer(w, x, q->col[i]))
                part[i][n[i]++] = x;
        all *= n[i];
    }
    for (uint32_t way = 0; way < all && way < 64; way++) {
        tab_key_set r = { .n = q->n, .ways = all < 64 ? all : 64 };
        bool twice = false;
        for (uint32_t i = 0, rest = way; i < q->n; rest /= n[i++]) {
            r.child[i] = part[i][rest % n[i]];
            r.parent[i] = q->col[i];
            for (uint32_t j = 0; j < i; j++)
                twice = twice || r.child[j] == r.child[i];
        }
        if (!twice && compare(w, &r))
            ret[found++] = r;
    }
    return found;
}

static void begin(world *w, const tab_engine *e)
{
    tab_arena *a = e->arena;
    cells of[TABLES];
    for (size_t t = 0; t < TABLES; t++)
        of[t] = (cells){ w->rows[t], w->cols[t], w->names[t], cell_of };
    w->v = cells_seen(e, of, TABLES);
    cr_assert_eq(tab_key_columns_new(e, w->v, a, &w->k, NULL), TAB_OK);
    size_t columns = w->k.at[TABLES];
    w->s = (tab_key_set_search){ .e = e,
                                 .v = w->v,
                                 .k = &w->k,
                                 .linked = tab_arena_new_of(a, bool, TABLES *TABLES),
                                 .refers = tab_arena_new_of(a, double, columns),
                                 .key = tab_arena_new_of(a, uint32_t, columns) };
    for (uint32_t c = 0; c < columns; c++)
        w->s.key[c] = c < w->keyed ? c : TAB_NULL;
}

static size_t check_candidates(world *w, const char *what)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 26);
    tab_engine e = { .arena = a };
    tab_key_set *is;
    static tab_key_set want[FOUND];
    key keys[64];
    size_t n, must = 0;
    begin(w, &e);
    cr_assert_eq(tab_key_sets_candidates(&w->s, a, &is, &n, NULL), TAB_OK);
    for (size_t t = 0; t < TABLES; t++)
        for (size_t q = 0, all = keys_of(w, t, keys); q < all; q++)
            must += ways_of(w, &keys[q], want + must);
    cr_expect_eq(n, must, "%s: %zu candidates, not %zu", what, n, must);
    for (size_t i = 0; i < n && i < must; i++) {
        const tab_key_set *x = &is[i], *y = &want[i];
        cr_expect(x->n == y->n && memcmp(x->child, y->child, sizeof x->child) == 0 &&
                      memcmp(x->parent, y->parent, sizeof x->parent) == 0,
                  "%s: candidate %zu", what, i);
        cr_expect(x->tuples == y->tuples && x->held == y->held && x->parent_tuples == y->parent_tuples &&
                      x->child_rows == y->child_rows && x->parent_rows == y->parent_rows,
                  "%s: tuples of %zu", what, i);
        cr_expect(x->ways == y->ways && x->once == y->once && x->panel == y->panel && x->grid == y->grid,
                  "%s: %zu: %u ways, panel %d, grid %d; not %u, %d, %d", what, i, x->ways, x->panel, x->grid,
                  y->ways, y->panel, y->grid);
        cr_expect_float_eq(x->told, y->told, 1e-9 * fmax(1, fabs(y->told)), "%s: %g told, not %g", what,
                           x->told, y->told);
        for (uint32_t c = 0; c < x->n; c++)
            cr_expect_float_eq(x->chance[c], y->chance[c], 1e-12);
    }
    tab_views_free(w->v);
    return n;
}

/* Orders of one to four lines. */
static void line_at(size_t i, size_t *order, size_t *line)
{
    for (*order = 0; i >= 1 + *order % 4; ++*order)
        i -= 1 + *order % 4;
    *line = i;
}

Test(sets_twin, lines_of_orders_are_candidates_as_defined)
{
    for (uint32_t missed = 0; missed < 9; missed += 2) {
        world w = { .rows = { 50, 40 },
                    .cols = { 4, 4 },
                    .names = { { "order", "line", "part", "note" }, { "mark", "Order", "line", "note" } } };
        for (size_t r = 0; r < 50; r++) {
            size_t order, line;
            line_at(r, &order, &line);
            snprintf(cell[0][r][0], CELL, "%zu", 100 + order);
            snprintf(cell[0][r][1], CELL, "%zu", 1 + line);
            snprintf(cell[0][r][2], CELL, "p%u", draw(r, 1, 12));
            snprintf(cell[0][r][3], CELL, "q%u", draw(r, 1, 12)); /* the part by another name */
        }
        for (size_t r = 0; r < 40; r++) {
            size_t order, line;
            line_at(draw(r, 2, 50), &order, &line);
            snprintf(cell[1][r][0], CELL, "q%u", draw(r, 3, 12));
            snprintf(cell[1][r][1], CELL, r % 13 == 5 ? "" : "%zu", 100 + order);
            snprintf(cell[1][r][2], CELL, "%zu", r < missed ? 4 : 1 + line);
            snprintf(cell[1][r][3], CELL, "p%u", draw(r, 4, 12));
        }
        size_t n = check_candidates(&w, "lines");
        cr_expect(missed > 2 || n > 0, "%zu candidates where %u are missed", n, missed);
    }
}

/* Of two sets of columns that name rows each leads to candidates, also where they share one. */
Test(sets_twin, several_keys_of_a_table_are_asked)
{
    world w = { .rows = { 48, 40 },
                .cols = { 4, 4 },
                .names = { { "a", "b", "c", "d" }, { "a", "b", "c", "e" } } };
    for (size_t r = 0; r < 48; r++) { /* (a, b), (a, c) and (b, c) name rows */
        size_t a = r / 6, b = r % 6;
        snprintf(cell[0][r][0], CELL, "a%zu", a);
        snprintf(cell[0][r][1], CELL, "b%zu", b);
        snprintf(cell[0][r][2], CELL, "c%zu", r == 0 ? 8 : (a * 3 + b) % 8);
        snprintf(cell[0][r][3], CELL, "d%u", draw(r, 5, 5));
    }
    for (size_t r = 0; r < 40; r++) {
        size_t of = draw(r, 6, 48);
        for (size_t c = 0; c < 3; c++)
            strcpy(cell[1][r][c], cell[0][of][c]);
        snprintf(cell[1][r][3], CELL, "d%u", draw(r, 7, 5));
    }
    cr_expect_gt(check_candidates(&w, "keys"), 0);
}

Test(sets_twin, panels_and_grids_are_candidates_as_defined)
{
    for (int kind = 0; kind < 12; kind++) {
        world w = { .rows = { 60, 45 },
                    .keyed = kind >= 6,
                    .cols = { 3, 3 },
                    .names = { { "shop", "day", "sold" },
                               { kind % 2 ? "shop" : "store", "day", "planned" } } };
        for (size_t t = 0; t < 2; t++)
            for (size_t r = 0; r < w.rows[t]; r++) {
                size_t i = t == 0 ? r : r * 7 % 60 + (kind % 6 == 4 && r > 30 ? 12 : 0);
                if (kind % 6 < 2)
                    snprintf(cell[t][r][0], CELL, "shop %c", 'a' + (int)(i % 5));
                else
                    snprintf(cell[t][r][0], CELL, "%zu", 10 + i % 5);
                snprintf(cell[t][r][1], CELL, kind % 6 == 5 ? "w%zu" : "2024-05-%02zu", 1 + i / 5);
                snprintf(cell[t][r][2], CELL, "%u.5", draw(r, 8 + t, 500));
            }
        size_t n = check_candidates(&w, kind % 6 < 2 ? "shops" : "numbers");
        cr_expect(n > 0 || kind % 2 == 0 || kind >= 6, "kind %d", kind);
    }
}

/* What one column that refers elsewhere leads to is not said again. */
Test(sets_twin, a_set_that_repeats_a_reference_is_not_said)
{
    static const double sure[TAB_KEY_SET_FEATURES + 1] = { [TAB_KEY_SET_FEATURES] = 50 };
    for (uint32_t off = 0; off < 3; off++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 26);
        tab_engine e = { .arena = a };
        world w = { .rows = { 60, 60 }, .cols = { 3, 3 }, .names = { { "x", "y", "z" }, { "x", "y", "n" } } };
        for (size_t t = 0; t < 2; t++)
            for (size_t r = 0; r < 60; r++) {
                size_t match = r / 3, moved = t == 1 && off > 0 && (r % 60 == 7 || (off == 2 && r == 20));
                snprintf(cell[t][r][0], CELL, "x%zu", match % 5 + moved);
                snprintf(cell[t][r][1], CELL, "y%zu", match / 5);
                snprintf(cell[t][r][2], CELL, "%zu", t == 0 ? r : 40 + match);
            }
        begin(&w, &e);
        tab_key_set x = { .n = 2, .child = { 3, 4 }, .parent = { 0, 1 }, .told = 1e4, .ways = 1 };
        cr_expect_eq(tab_key_sets_choose(&w.s, sure, &x, 1), 1, "the number refers to nothing");
        w.s.refers[5] = .5;
        cr_expect_eq(tab_key_sets_choose(&w.s, sure, &x, 1), off > 0,
                     "a row in a hundred may lead elsewhere, and one is more here");
        w.s.refers[5] = .49;
        cr_expect_eq(tab_key_sets_choose(&w.s, sure, &x, 1), 1);
        tab_views_free(w.v);
    }
}

/* ---- within a table ---- */

/* The share of all orders of the rows' leaders in which each leads to an earlier row. */
static double orders_that_lead_back(const int *up, size_t rows, const size_t *leads, size_t n, bool *used,
                                    size_t placed)
{
    double good = 0;
    if (placed == n)
        return 1;
    for (size_t i = 0; i < n; i++)
        if (!used[i] && up[leads[i]] < (int)leads[placed]) {
            used[i] = true;
            good += orders_that_lead_back(up, rows, leads, n, used, placed + 1);
            used[i] = false;
        }
    return good / (double)(n - placed);
}

Test(within_twin, evidence_is_the_chance_of_no_circle_or_of_leading_back)
{
    enum { PEOPLE = 9 };
    size_t seen = 0;
    for (uint32_t kind = 0; kind < 40; kind++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 26);
        tab_engine e = { .arena = a };
        int up[PEOPLE]; /* -1: nobody */
        size_t leads[PEOPLE], n = 0, roots = 0, selves = 0, values = 0;
        bool falls = false, back = true, used[PEOPLE] = { false }, is[PEOPLE] = { false };
        for (uint32_t r = 0; r < PEOPLE; r++) {
            up[r] = r == 0 || draw(kind, 50 + r, 7) == 0 ? -1 : (int)draw(kind, 70 + r, r);
            if (kind % 4 == 3 && r == 3)
                up[r] = 3;
            if (kind % 5 == 4 && r == 2)
                up[r] = 8; /* not an earlier one; a circle, if he leads back */
        }
        int before = -1;
        bool circle = false;
        for (int r = 0; r < PEOPLE; r++) {
            int to = r, steps = 0;
            while (up[to] >= 0 && up[to] != to && steps++ < PEOPLE)
                to = up[to];
            circle = circle || steps > PEOPLE;
            roots += up[r] < 0;
            selves += up[r] == r;
            back = back && up[r] <= r;
            if (up[r] >= 0) {
                falls = falls || up[r] < before;
                before = up[r];
                values += !is[up[r]];
                is[up[r]] = true;
                if (up[r] != r)
                    leads[n++] = (size_t)r;
            }
            snprintf(cell[0][r][0], CELL, "%d", 1 + r);
            snprintf(cell[0][r][1], CELL, up[r] < 0 ? "" : "%d", 1 + up[r]);
        }
        cells of = { PEOPLE, 2, NULL, cell_of };
        tab_views *v = cells_seen(&e, &of, 1);
        tab_key_columns k;
        tab_key_within *x;
        size_t found;
        bool taken[2] = { true, false };
        cr_assert_eq(tab_key_columns_new(&e, v, a, &k, NULL), TAB_OK);
        cr_assert_eq(tab_key_within_find(&e, v, &k, taken, a, &x, &found, NULL), TAB_OK);
        bool may = values > 1 && !circle && (double)selves <= .1 * PEOPLE;
        cr_assert_eq(found, may, "kind %u", kind);
        if (may) {
            double chance = (double)roots / PEOPLE + (selves > 0 ? M_E / (double)values : 0);
            double lucky = back ? orders_that_lead_back(up, PEOPLE, leads, n, used, 0) : 1;
            double evidence = falls ? fmax(0, -log(fmin(chance, lucky))) : 0;
            cr_expect_float_eq((double)x->f[TAB_KEY_WITHIN_F_EVIDENCE], fmin(7, evidence), 1e-5,
                               "kind %u: %g, not %g", kind, (double)x->f[TAB_KEY_WITHIN_F_EVIDENCE],
                               evidence);
            cr_expect(x->child == 1 && x->parent == 0 && x->held == values);
            cr_expect_eq(x->f[TAB_KEY_WITHIN_F_SELVES], selves > 0);
            cr_expect_eq(x->f[TAB_KEY_WITHIN_F_NONE], roots > 0);
            seen += falls && back;
        }
        taken[1] = true;
        cr_assert_eq(tab_key_within_find(&e, v, &k, taken, a, &x, &found, NULL), TAB_OK);
        cr_expect_eq(found, 0, "taken columns are not asked");
        tab_views_free(v);
    }
    cr_expect_gt(seen, 5);
}
