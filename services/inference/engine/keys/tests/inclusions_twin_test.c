/* Columns and pairs of columns beside their definitions (key_columns.h, inclusions.h), counted anew from the
 * cells: a shop's orders, customers, a calendar and a list that was copied by hand. */
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/keys/inclusions_internal.h"
#include "services/inference/engine/keys/tests/cells.h"

enum { TABLES = 4, COLS = 6, ROWS = 260, CELL = 24 };
static const size_t rows_of[TABLES] = { 260, 60, 120, 45 }, cols_of[TABLES] = { 6, 4, 2, 4 };
static char cell[TABLES][COLS][ROWS][CELL];

static uint32_t draw(uint64_t a, uint64_t b, uint32_t n)
{
    return (uint32_t)(tab_unit(tab_mix2(a + 11, b + 5)) * n);
}

static void put_customer(size_t r)
{
    snprintf(cell[1][0][r], CELL, "%zu", 100 + (r * 7 % 60) * 3);
    snprintf(cell[1][1][r], CELL, "k%c%zu west", 'a' + (int)(r % 5), 10 + r);
    snprintf(cell[1][2][r], CELL, "place %c", 'a' + (int)draw(r, 1, 3));
    if (r % 4 > 0)
        snprintf(cell[1][3][r], CELL, "%u", draw(r, 2, 40));
}

static void put_order(size_t r)
{
    uint32_t customer = draw(r, 3, 60) * draw(r, 4, 60) / 60, day = draw(r, 5, 119);
    snprintf(cell[0][0][r], CELL, "%zu", r + 1);
    snprintf(cell[0][1][r], CELL, "%s", cell[1][0][customer]);
    snprintf(cell[0][2][r], CELL, "%u", 1 + draw(r, 6, 6) * draw(r, 7, 6));
    snprintf(cell[0][3][r], CELL, "%s", cell[1][1][customer]);
    snprintf(cell[0][4][r], CELL, "%s", cell[2][0][day]);
    snprintf(cell[0][5][r], CELL, "%s", r % 11 == 0 ? "" : cell[1][2][customer]);
}

static void put_all(void)
{
    for (size_t r = 0; r < 120; r++) { /* days of January to April 2023 */
        static const int length[] = { 31, 28, 31, 30 };
        int day = (int)r, month = 0;
        while (day >= length[month])
            day -= length[month++];
        snprintf(cell[2][0][r], CELL, "2023-%02d-%02d", month + 1, day + 1);
        snprintf(cell[2][1][r], CELL, "%zu", 1 + r % 7);
    }
    for (size_t r = 0; r < 60; r++)
        put_customer(r);
    for (size_t r = 0; r < ROWS; r++)
        put_order(r);
    for (size_t r = 0; r < 45; r++) {
        snprintf(cell[3][0][r], CELL, "%s", r == 7 || r == 30 ? "zz new" : cell[1][1][(r * 11) % 60]);
        if (r % 6 > 0)
            snprintf(cell[3][1][r], CELL, "%s", cell[1][0][r * 13 % 60]);
        snprintf(cell[3][2][r], CELL, "%zu", 1990 + (r * 4 % 45));
        snprintf(cell[3][3][r], CELL, "%zu.5", r);
    }
}

/* A column counted from its cells: distinct values by size or first row, and the rows of each. */
typedef struct {
    size_t table, col, rows, n, present, count[ROWS];
    const char *value[ROWS];
    bool text, date;
} column;

static const char *at(const column *c, size_t r)
{
    return cell[c->table][c->col][r];
}

static column read(size_t table, size_t col)
{
    column c = { .table = table, .col = col, .rows = rows_of[table] };
    for (size_t r = 0; r < c.rows; r++) {
        const char *s = at(&c, r);
        size_t i = 0;
        if (*s == 0)
            continue;
        c.date = strlen(s) == 10 && s[4] == '-';
        c.text = !c.date && (*s < '0' || *s > '9');
        c.present++;
        while (i < c.n && strcmp(c.value[i], s) != 0)
            i++;
        c.value[i] = s;
        c.count[i]++;
        c.n += i == c.n;
    }
    for (size_t i = 1; i < c.n && !c.text; i++)
        for (size_t j = i; j > 0 && (c.date ? strcmp(c.value[j], c.value[j - 1]) < 0
                                            : atof(c.value[j]) < atof(c.value[j - 1]));
             j--) {
            const char *v = c.value[j];
            size_t n = c.count[j];
            c.value[j] = c.value[j - 1], c.value[j - 1] = v;
            c.count[j] = c.count[j - 1], c.count[j - 1] = n;
        }
    return c;
}

/* Where a value stands in a column; n: nowhere. */
static size_t place_of(const column *c, const char *value)
{
    size_t i = 0;
    while (i < c->n && strcmp(c->value[i], value) != 0)
        i++;
    return i;
}

static void near(const char *what, size_t i, size_t j, double is, double want)
{
    cr_expect_float_eq(is, want, 2e-6 * fmax(1, fabs(want)), "%s of %zu, %zu: %.9g, not %.9g", what, i, j, is,
                       want);
}

/* Pearson's correlation of x and y. */
static double correlation(const double *x, const double *y, size_t n)
{
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++)
        mx += x[i] / (double)n, my += y[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        xx += pow(x[i] - mx, 2), yy += pow(y[i] - my, 2), xy += (x[i] - mx) * (y[i] - my);
    return xx > 0 && yy > 1e-12 ? xy / sqrt(xx * yy) : 0;
}

static double climbing(const column *c)
{
    const char *before = NULL;
    size_t up = 0, newest = 0;
    for (size_t r = 0; r < c->rows; r++) {
        const char *s = at(c, r);
        if (*s == 0)
            continue;
        size_t place = place_of(c, s);
        if (before != NULL)
            up += c->text ? place > newest : place > place_of(c, before);
        newest = place > newest ? place : newest;
        before = s;
    }
    return (double)up / (double)(c->present - 1);
}

/* How the rows of neighbouring numbers are alike, by logarithms. */
static double smooth(const column *c)
{
    double mean = 0, all = 0, next = 0;
    for (size_t i = 0; i < c->n; i++)
        mean += log((double)c->count[i]) / (double)c->n;
    for (size_t i = 0; i < c->n; i++) {
        all += pow(log((double)c->count[i]) - mean, 2);
        if (i > 0)
            next += (log((double)c->count[i]) - mean) * (log((double)c->count[i - 1]) - mean);
    }
    return c->n < 8 || all <= 1e-9 ? 0 : next / all;
}

static void check_column(const column *c, const tab_key_column *k)
{
    double size[ROWS], rows[ROWS], digits = 0, bytes = 0, words = 0, fives = 0, five_rows = 0;
    for (size_t i = 0; i < c->n; i++) {
        size[i] = (double)i;
        rows[i] = log((double)c->count[i]);
        words++;
        for (const char *s = c->value[i]; *s != 0; s++) {
            bytes++;
            digits += *s >= '0' && *s <= '9';
            words += *s == ' ';
        }
        if (!c->text && !c->date && atoi(c->value[i]) % 5 == 0)
            fives++, five_rows += (double)c->count[i];
    }
    bool whole = !c->text && !c->date && strchr(c->value[0], '.') == NULL;
    cr_expect_eq(k->kind, c->text   ? TAB_KEY_TEXT
                          : c->date ? TAB_KEY_DATE
                          : whole   ? TAB_KEY_WHOLE
                                    : TAB_KEY_OTHER);
    cr_expect(k->n == c->n && k->present == c->present, "%zu, %zu", c->table, c->col);
    cr_expect_eq(k->unique, (double)c->n >= 0.98 * (double)c->present);
    near("slope", c->table, c->col, k->slope, correlation(size, rows, c->n));
    near("climbing", c->table, c->col, k->climbing, climbing(c));
    if (!c->date) { /* whose normal form is another text */
        near("digits", c->table, c->col, k->digits, digits / bytes);
        near("words", c->table, c->col, k->words, words / (double)c->n);
        near("length", c->table, c->col, k->length, bytes / (double)c->n);
    }
    near("smooth", c->table, c->col, k->smooth, whole ? smooth(c) : 0);
    near("round", c->table, c->col, k->round,
         whole ? five_rows / (double)c->present - fives / (double)c->n : 0);
    for (uint32_t i = 1; i < k->n; i++)
        cr_expect_lt(k->key[i - 1], k->key[i]);
    for (uint32_t i = 0; i < k->n; i++)
        cr_expect_eq(k->rows[i], c->count[k->rank[i]]);
    cr_expect_eq(k->counter, c->table == 0 && c->col == 0);
    cr_expect_eq(k->calendar, c->date || (c->table == 3 && c->col == 2), "nearly each day, each year");
    if (whole)
        cr_expect(k->least == atof(c->value[0]) && k->most == atof(c->value[c->n - 1]));
}

/* Numbers of a column in [lo, hi]. */
static double within(const column *c, double lo, double hi)
{
    double n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += atof(c->value[i]) >= lo && atof(c->value[i]) <= hi;
    return n;
}

/* The greatest difference of the held values' places from even ones, over 64 parts of the parent. */
static double spread(const column *c, const column *p, bool by_rows)
{
    double d = 0, all = 0;
    for (size_t i = 0; i < c->n; i++)
        all += place_of(p, c->value[i]) == p->n ? 0 : by_rows ? (double)c->count[i] : 1;
    for (size_t b = 0; b < 64; b++) {
        double sum = 0, even = 0;
        for (size_t i = 0; i < p->n; i++)
            even += i * 64 / p->n <= b;
        for (size_t i = 0; i < c->n; i++) {
            size_t place = place_of(p, c->value[i]);
            if (place < p->n && place * 64 / p->n <= b)
                sum += by_rows ? (double)c->count[i] : 1;
        }
        d = fmax(d, fabs(sum / all - even / (double)p->n));
    }
    return d;
}

/* How much other columns agree over joined rows, above rows that are shifted. */
static double together(const column all[TABLES][COLS], const column *c, const column *p)
{
    size_t a[ROWS], b[ROWS], n = 0;
    double best = 0;
    for (size_t r = 0; r < c->rows; r++)
        for (size_t q = 0; q < p->rows && *at(c, r) != 0; q++)
            if (strcmp(at(c, r), at(p, q)) == 0) {
                a[n] = r;
                b[n++] = q;
                break;
            }
    for (size_t i = 0; n >= 10 && i < cols_of[c->table]; i++)
        for (size_t j = 0; j < cols_of[p->table]; j++) {
            const column *x = &all[c->table][i], *y = &all[p->table][j];
            double same = 0, other = 0, seen = 0;
            bool alike = x->text == y->text && x->date == y->date &&
                         (strchr(x->value[0], '.') == NULL) == (strchr(y->value[0], '.') == NULL);
            if (i == c->col || j == p->col || x->n < 3 || y->n < 3 || !alike)
                continue;
            for (size_t q = 0; q < n; q++) {
                const char *s = at(x, a[q]), *t = at(y, b[q]), *u = at(y, b[(q + 1 + n / 3) % n]);
                if (*s == 0 || *t == 0 || *u == 0)
                    continue;
                seen++;
                same += strcmp(s, t) == 0;
                other += strcmp(s, u) == 0;
            }
            if (seen >= 10)
                best = fmax(best, (same - other) / seen);
        }
    return best;
}

static void check_numbers(const column *c, const column *p, double held, const float *f, size_t i, size_t j)
{
    double lo = atof(c->value[0]), hi = atof(c->value[c->n - 1]), range = hi - lo + 1;
    double plo = atof(p->value[0]), phi = atof(p->value[p->n - 1]), n = (double)p->n;
    double dense = fmin(1, within(p, lo, hi) / range);
    double drawn = n * (1 - pow(1 - 1 / n, (double)c->present));
    near("dense", i, j, (double)f[TAB_KEY_F_DENSE], dense);
    near("chance", i, j, (double)f[TAB_KEY_F_CHANCE], fmin(200, -held * log(fmax(dense, 1e-9))));
    near("child's density", i, j, (double)f[TAB_KEY_F_CHILD_DENSE], fmin(1, (double)c->n / range));
    near("parent's density", i, j, (double)f[TAB_KEY_F_PARENT_DENSE], fmin(1, n / (phi - plo + 1)));
    near("drawn", i, j, (double)f[TAB_KEY_F_DRAWN], log((double)c->n / fmax(1, drawn)));
    near("spread of rows", i, j, (double)f[TAB_KEY_F_SPREAD_ROWS], spread(c, p, true));
    near("least", i, j, (double)f[TAB_KEY_F_LEAST], plo);
    near("child's least", i, j, (double)f[TAB_KEY_F_CHILD_LEAST], lo);
}

static void check_pair(const column all[TABLES][COLS], const column *c, const column *p,
                       const tab_inclusion *x, const tab_key_column *ck, const tab_key_column *pk)
{
    double held = 0, rows = 0, low = 1e9, high = -1, n = (double)p->n;
    size_t i = x->child, j = x->parent;
    for (size_t v = 0; v < c->n; v++) {
        size_t place = place_of(p, c->value[v]);
        if (place == p->n)
            continue;
        held++;
        rows += (double)c->count[v];
        low = fmin(low, (double)place), high = fmax(high, (double)place);
    }
    const float *f = x->f;
    cr_expect_eq(x->held, held, "%zu in %zu", i, j);
    cr_expect_eq(x->held_rows, rows);
    near("held", i, j, (double)f[TAB_KEY_F_HELD], held / (double)c->n);
    near("held rows", i, j, (double)f[TAB_KEY_F_HELD_ROWS], rows / (double)c->present);
    near("covered", i, j, (double)f[TAB_KEY_F_COVERED], held / n);
    near("values", i, j, (double)f[TAB_KEY_F_CHILD_N], log((double)c->n));
    near("parent's values", i, j, (double)f[TAB_KEY_F_PARENT_N], log(n));
    near("top", i, j, (double)f[TAB_KEY_F_TOP], held * log((high + 1) / n));
    near("bottom", i, j, (double)f[TAB_KEY_F_BOTTOM], held * log((n - low) / n));
    near("gap", i, j, (double)f[TAB_KEY_F_TOP_GAP], (n - 1 - high) / n);
    near("spread", i, j, (double)f[TAB_KEY_F_SPREAD], spread(c, p, false));
    near("spread by root", i, j, (double)f[TAB_KEY_F_SPREAD_N], spread(c, p, false) * sqrt(held));
    near("once", i, j, (double)f[TAB_KEY_F_CHILD_ONCE], (double)c->n / (double)c->present);
    near("no value", i, j, (double)f[TAB_KEY_F_CHILD_NULL], 1 - (double)c->present / (double)c->rows);
    near("parent's no value", i, j, (double)f[TAB_KEY_F_PARENT_NULL],
         1 - (double)p->present / (double)p->rows);
    near("kind", i, j, (double)f[TAB_KEY_F_KIND], c->date ? 2 : !c->text);
    near("lengths", i, j, (double)f[TAB_KEY_F_LENGTHS],
         fabs(ck->length - pk->length) / fmax(ck->length, pk->length));
    near("counters", i, j, (double)f[TAB_KEY_F_COUNTERS], pk->counter + 2 * ck->counter);
    near("rows", i, j, (double)f[TAB_KEY_F_ROWS], log((double)c->rows / (double)p->rows));
    near("place", i, j, (double)f[TAB_KEY_F_CHILD_PLACE], (double)c->col);
    near("parent's place", i, j, (double)f[TAB_KEY_F_PARENT_PLACE], (double)p->col);
    near("columns", i, j, (double)f[TAB_KEY_F_CHILD_COLS], log((double)cols_of[c->table]));
    near("parent's columns", i, j, (double)f[TAB_KEY_F_PARENT_COLS], log((double)cols_of[p->table]));
    near("together", i, j, (double)f[TAB_KEY_F_TOGETHER], together(all, c, p));
    cr_expect_eq(x->calendar, c->date);
    if (!c->text && !c->date)
        check_numbers(c, p, held, f, i, j);
    else
        cr_expect(f[TAB_KEY_F_CHANCE] == 200 && f[TAB_KEY_F_LEAST] == -1);
    cr_expect(c->date ? held >= .9 * (double)c->n : held >= .8 * (double)c->n);
}

static const char *cell_of(size_t table, size_t row, size_t col)
{
    return cell[table][col][row];
}

Test(inclusions_twin, columns_and_pairs_are_as_defined)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    tab_engine e = { .arena = a };
    cells of[TABLES];
    static column all[TABLES][COLS];
    tab_key_columns k;
    tab_inclusion *x;
    size_t n, places = 0;
    put_all();
    for (size_t t = 0; t < TABLES; t++)
        of[t] = (cells){ rows_of[t], cols_of[t], NULL, cell_of };
    tab_views *v = cells_seen(&e, of, TABLES);
    cr_assert_eq(tab_key_columns_new(&e, v, a, &k, NULL), TAB_OK);
    for (size_t t = 0; t < TABLES; t++)
        for (size_t c = 0; c < cols_of[t]; c++) {
            all[t][c] = read(t, c);
            check_column(&all[t][c], &k.col[k.at[t] + c]);
        }
    cr_assert_eq(tab_inclusions_find(&e, v, &k, a, &x, &n, NULL), TAB_OK);
    for (size_t i = 0; i < n; i++) {
        const tab_key_column *c = &k.col[x[i].child], *p = &k.col[x[i].parent];
        cr_assert(p->unique && c->table != p->table && (i == 0 || x[i - 1].child <= x[i].child));
        check_pair(all, &all[c->table][c->column], &all[p->table][p->column], &x[i], c, p);
    }
    /* what is wholly held by a column that names rows is there */
    for (uint32_t c = 0; c < k.at[TABLES]; c++)
        for (uint32_t p = 0; p < k.at[TABLES]; p++) {
            const column *x1 = &all[k.col[c].table][k.col[c].column],
                         *y1 = &all[k.col[p].table][k.col[p].column];
            size_t held = 0;
            for (size_t i = 0; i < x1->n; i++)
                held += place_of(y1, x1->value[i]) < y1->n;
            bool is = held == x1->n && k.col[p].unique && x1->table != y1->table && !k.col[c].counter &&
                      k.col[p].kind != TAB_KEY_OTHER && held >= 2;
            places += is;
            cr_expect(!is || tab_inclusion_at(x, n, c, p) < n, "%u in %u", c, p);
        }
    cr_expect_geq(places, 5);
    tab_views_free(v);
}

Test(inclusions_twin, a_pair_is_found_where_it_stands)
{
    tab_inclusion x[] = { { .child = 1, .parent = 2 },
                          { .child = 1, .parent = 5 },
                          { .child = 4, .parent = 0 } };
    cr_expect_eq(tab_inclusion_at(x, 3, 1, 2), 0);
    cr_expect_eq(tab_inclusion_at(x, 3, 1, 5), 1);
    cr_expect_eq(tab_inclusion_at(x, 3, 4, 0), 2);
    cr_expect_eq(tab_inclusion_at(x, 3, 1, 3), 3);
    cr_expect_eq(tab_inclusion_at(x, 3, 4, 1), 3);
    cr_expect_eq(tab_inclusion_at(x, 3, 0, 2), 3);
    cr_expect_eq(tab_inclusion_at(x, 0, 1, 2), 0);
}

enum { PAIRED = 24, WIDE = 6 };

/* What pairs tell of one another, beside the definitions. */
Test(inclusions_twin, pairs_compete_as_defined)
{
    tab_key_column col[PAIRED] = { 0 };
    static tab_inclusion x[PAIRED * PAIRED];
    size_t n = 0;
    for (uint32_t c = 0; c < PAIRED; c++)
        col[c] = (tab_key_column){ .table = c / WIDE,
                                   .n = 5 + draw(c, 30, 90),
                                   .kind = draw(c, 31, 2) ? TAB_KEY_TEXT : TAB_KEY_WHOLE,
                                   .unique = draw(c, 32, 2) };
    for (uint32_t c = 0; c < PAIRED; c++)
        for (uint32_t p = 0; p < PAIRED; p++)
            if (col[c].table != col[p].table && draw(c, 40 + p, 5) < 2) {
                x[n] = (tab_inclusion){ .child = c, .parent = p, .held = 3 + draw(c, 70 + p, 4) };
                x[n].f[TAB_KEY_F_COVERED] = (float)(draw(c, 100 + p, 50) + 1) / 50;
                x[n].f[TAB_KEY_F_TOP] = -(float)draw(c, 130 + p, 50) / 7;
                x[n++].f[TAB_KEY_F_SPREAD] = (float)draw(c, 160 + p, 50) / 60;
            }
    tab_key_columns k = { .col = col };
    cr_assert(tab_inclusions_compete(&k, x, n, PAIRED));
    for (size_t i = 0; i < n; i++) {
        const tab_inclusion *r = &x[i];
        double liked[PAIRED] = { 0 }, up[PAIRED] = { 0 }, siblings = -1, texts = 0, back = 0, rivals = -1;
        double covered = 0, least = 1e9, most_liked = 0, top = -1e9, even = 1e9;
        for (size_t o = 0; o < n; o++) {
            liked[x[o].parent]++, up[x[o].child]++;
            siblings += x[o].parent == r->parent && col[x[o].child].table == col[r->child].table;
            back += x[o].child == r->parent && x[o].parent == r->child;
        }
        for (size_t o = 0; o < n; o++)
            if (x[o].child == r->child) {
                rivals += x[o].held >= r->held;
                covered = fmax(covered, (double)x[o].f[TAB_KEY_F_COVERED]);
                least = fmin(least, col[x[o].parent].n);
                most_liked = fmax(most_liked, liked[x[o].parent]);
                top = fmax(top, (double)x[o].f[TAB_KEY_F_TOP]);
                even = fmin(even, (double)x[o].f[TAB_KEY_F_SPREAD]);
            }
        for (size_t c = 0; c < PAIRED; c++)
            texts += col[c].table == col[r->parent].table && col[c].kind == TAB_KEY_TEXT && !col[c].unique;
        const float *f = r->f;
        near("siblings", i, 0, (double)f[TAB_KEY_F_SIBLINGS], siblings);
        near("rivals", i, 0, (double)f[TAB_KEY_F_RIVALS], log(1 + rivals));
        near("best", i, 0, (double)f[TAB_KEY_F_BEST], (double)f[TAB_KEY_F_COVERED] / covered);
        near("size", i, 0, (double)f[TAB_KEY_F_SIZE], log(col[r->parent].n / least));
        near("liked", i, 0, (double)f[TAB_KEY_F_LIKED], log(1 + liked[r->parent]));
        near("back", i, 0, (double)f[TAB_KEY_F_BACK], back);
        near("up", i, 0, (double)f[TAB_KEY_F_PARENT_UP], log(1 + up[r->parent]));
        near("child liked", i, 0, (double)f[TAB_KEY_F_CHILD_LIKED], log(1 + liked[r->child]));
        near("liked best", i, 0, (double)f[TAB_KEY_F_LIKED_BEST],
             log((1 + liked[r->parent]) / (1 + most_liked)));
        near("top best", i, 0, (double)f[TAB_KEY_F_TOP_BEST], (double)f[TAB_KEY_F_TOP] - top);
        near("spread best", i, 0, (double)f[TAB_KEY_F_SPREAD_BEST], (double)f[TAB_KEY_F_SPREAD] - even);
        near("texts", i, 0, (double)f[TAB_KEY_F_PARENT_TEXTS], texts);
    }
}
