/* See units.h and decision 0391. A row's hash is the sum of its cells' hashes, so the hash of a row without
 * one column is a subtraction: rows that are equal but for a column are found by sorting those, column by
 * column, in time linear in the cells but for the sorting. Of a large table the columns are looked at by a
 * sample of hashes, which holds whole classes of equal rows.
 *
 *   read_target ─> exact     classes of equal rows: how many pairs, how far their targets agree
 *               ─> near      the same without one column each: near copies, and what chance makes
 *               ─> decide    copies, repeats or neither
 *               ─> groups    a column whose levels have one target each */
#include "services/inference/engine/features/units.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/features/noisy_copies.h"
#include "services/inference/engine/lexicon/fold_text.h"

/* LEAST_PAIRS: fewer say nothing. SAMPLE: rows of one look at a large table; CELLS: of all looks together.
 * LARGEST: rows of the largest unit of near copies, and a 64th of the table: chains of rows that differ by a
 * cell each are a dense table. LEAST_GROUPS: levels with two rows and more. By hand. */
enum {
    LEAST_PAIRS = 5,
    SAMPLE = 20000,
    CELLS = 4000000,
    LARGEST = 32,
    LEAST_GROUPS = 8,
    COLUMN_PAIRS = 128,
    PAIR_ROWS = 400000,
    LEAST_LOOKS = 16
};
/* How far targets agree: 0 as those of any two rows, 1 always. SAME and NEARLY_SAME: of copies and near
 * copies, of which one cell may be the target's, at least; by equality. ONE: of groups with one target.
 * ORDERED: of neighbouring levels, above which the column is a measure.
 * BY_CHANCE: the share of equal pairs that chance must make. MOSTLY: rows with an equal, of a table of
 * repeats. BEYOND: near pairs by those of independent columns. ALL: near pairs that differ in one and the
 * same column, which are rows of one thing, unless that column hardly repeats. NEIGHBOURS: how far targets
 * agree a column further, by how far they do so here. COLUMN_PAIRS: looked at
 * for that, in a table of few rows; PAIR_ROWS: rows of all of them. */
static const double SAME = 0.9, NEARLY_SAME = 0.6, ONE = 0.85, ORDERED = 0.25, BY_CHANCE = 0.5, MOSTLY = 0.5,
                    BEYOND = 3, ALL = 0.9, NEIGHBOURS = 0.7;

typedef struct {
    uint64_t key;
    double y; /* NaN: no target */
    uint32_t row;
} keyed;

/* What the columns say and the scratch of one search. */
typedef struct {
    const tab_profile *p;
    size_t rows, target;
    bool numeric;
    double *y;      /* (rows) */
    double apart;   /* of two rows at random: unlike, or the mean difference ... */
    double unlike;  /* ... and unlike in any case */
    uint64_t *hash; /* (rows) of the cells in `used` columns */
    bool *used;     /* (cols) */
    size_t columns; /* of them */
    uint64_t *cell; /* (rows) of one column */
    keyed *k;       /* (rows) */
    uint32_t *unit; /* (rows) union-find */
    bool once;      /* of a unit its first row alone is looked at */
} search;

/* Classes of one key. */
typedef struct {
    double pairs, rows;
    double agree, same; /* by the measure of the target, by equality */
    size_t largest, classes;
} tally;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (isnan(x->y) || isnan(y->y))
        return (int)!isnan(y->y) - (int)!isnan(x->y);
    if (x->y < y->y || x->y > y->y)
        return x->y < y->y ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* How far apart the targets of m rows are that stand in their order, in the mean of their pairs, times
 * m - 1. */
static double apart(bool numeric, const keyed *k, size_t m)
{
    double sum = 0;
    if (numeric) { /* Gini's mean difference */
        for (size_t i = 0; i < m; i++)
            sum += (2 * (double)i - (double)m + 1) * k[i].y;
        return 2 * sum / (double)m;
    }
    for (size_t i = 0; i < m;) {
        size_t j = i;
        while (j < m && !(k[j].y > k[i].y))
            j++;
        sum += (double)(j - i) * (double)(j - i - 1);
        i = j;
    }
    return (double)(m - 1) - sum / (double)m;
}

/* Sorts n keyed rows and counts their classes. */
static tally count(const search *s, size_t n)
{
    tally t = { 0 };
    double off = 0, unlike = 0, pairs = 0;
    qsort(s->k, n, sizeof *s->k, by_key);
    for (size_t i = 0; i < n;) {
        size_t j = i, m = 0;
        for (; j < n && s->k[j].key == s->k[i].key; j++)
            m += !isnan(s->k[j].y);
        size_t all = j - i;
        if (all > 1) {
            t.pairs += (double)all * (double)(all - 1) / 2;
            t.rows += (double)all;
            t.classes++;
            t.largest = all > t.largest ? all : t.largest;
        }
        if (m > 1) { /* those with a target come first */
            off += apart(s->numeric, s->k + i, m);
            unlike += apart(false, s->k + i, m);
            pairs += (double)(m - 1);
        }
        i = j;
    }
    t.agree = pairs > 0 ? 1 - off / pairs / s->apart : 0;
    t.same = pairs > 0 ? 1 - unlike / pairs / s->unlike : 0;
    return t;
}

/* The target as a number, or its level; and how far apart two rows are. False: memory. */
static bool read_target(search *s)
{
    const tab_column_profile *c = &s->p->col[s->target];
    size_t n = 0;
    for (size_t r = 0; r < s->rows; r++) {
        bool code = c->code != NULL && !s->numeric;
        s->y[r] = code                ? c->code[r] == TAB_NULL ? (double)NAN : (double)c->code[r]
                                 : c->number != NULL ? c->number[r]
                                      : (double)NAN;
        if (!isnan(s->y[r]))
            s->k[n++] = (keyed){ 0, s->y[r], (uint32_t)r };
    }
    qsort(s->k, n, sizeof *s->k, by_key);
    s->apart = n > 1 ? apart(s->numeric, s->k, n) / (double)(n - 1) : 0;
    s->unlike = n > 1 ? apart(false, s->k, n) / (double)(n - 1) : 0;
    return n > 1 && s->apart > 0 && isfinite(s->apart);
}

/* Hashes the cells of a column into s->cell: by content, so that codes in another order hash alike. False:
 * memory, or it has no cells. */
static bool hash_cells(const search *s, size_t column)
{
    const tab_column_profile *c = &s->p->col[column];
    uint64_t salt = 0;
    if (c->code != NULL) {
        uint64_t *level = malloc((c->levels + 1) * sizeof *level);
        if (level == NULL)
            return false;
        for (size_t l = 0; l < c->levels; l++)
            level[l] = tab_wyhash(c->level[l].p, c->level[l].n, 0);
        for (size_t r = 0; r < s->rows; r++)
            s->cell[r] = c->code[r] == TAB_NULL ? 1 : level[c->code[r]];
        free(level);
    } else {
        if (c->number == NULL)
            return false;
        for (size_t r = 0; r < s->rows; r++) {
            double d = c->number[r] == 0 ? 0 : c->number[r]; // NOLINT: -0 and 0 are one number
            memcpy(&s->cell[r], &d, 8);
            s->cell[r] = isnan(d) ? 1 : s->cell[r];
        }
    }
    for (size_t r = 0; r < s->rows; r++)
        salt += tab_mix(s->cell[r]);
    for (size_t r = 0; r < s->rows; r++)
        s->cell[r] = tab_mix2(s->cell[r], salt);
    return true;
}

/* Whether most of a text column's texts have several words: it says something, and is no name of the row. */
static bool speaks(const tab_column_profile *c)
{
    size_t words = 0;
    for (size_t l = 0; c->type == TAB_TEXT && c->code != NULL && l < c->levels; l++)
        words += memchr(c->level[l].p, ' ', c->level[l].n) != NULL;
    return 2 * words > c->levels;
}

/* Whether a column can tell that two rows are equal. Keys, moments and row numbers, whose values all differ,
 * cannot, as those of a copy are its own; a measure or a text whose values all differ says that no two rows
 * are. */
static bool tells(const tab_column_profile *c)
{
    bool key = c->identifying && 2 * c->distinct > c->present;
    bool measure = !c->identifying && ((c->type == TAB_NUMERIC && c->decimals > 0) || speaks(c));
    return c->distinct > 1 && (c->distinct < c->present || measure) && !key && c->use != TAB_USE_KEY &&
           c->use != TAB_USE_IGNORE && (c->code != NULL || c->number != NULL);
}

/* ---- union-find ------------------------------------------------------------------------------ */

static uint32_t root(uint32_t *u, uint32_t r)
{
    while (u[r] != r)
        r = u[r] = u[u[r]];
    return r;
}

/* The first row stands for the unit. */
static void join(uint32_t *u, uint32_t a, uint32_t b)
{
    a = root(u, a), b = root(u, b);
    if (a < b)
        u[b] = a;
    else
        u[a] = b;
}

/* Joins the rows of one key; they stand sorted. */
static void join_keyed(const search *s, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (s->k[i].key == s->k[i - 1].key)
            join(s->unit, s->k[i].row, s->k[i - 1].row);
}

static size_t largest_unit(const search *s, uint32_t *size)
{
    size_t most = 0;
    memset(size, 0, s->rows * sizeof *size);
    for (size_t r = 0; r < s->rows; r++) {
        uint32_t n = ++size[root(s->unit, (uint32_t)r)];
        most = n > most ? n : most;
    }
    return most;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Keyed rows whose key is in the sample: whole classes. sum NULL: by the cells of the column alone. */
static size_t pick(const search *s, const uint64_t *sum, size_t most)
{
    size_t n = 0;
    double share = s->rows > most ? (double)most / (double)s->rows : 1;
    for (size_t r = 0; r < s->rows; r++) {
        uint64_t key = sum != NULL ? sum[r] - s->cell[r] : s->cell[r];
        if (s->once && s->unit[r] != r)
            continue; /* a copy says nothing new */
        if (share >= 1 || tab_unit(tab_mix(key)) < share)
            s->k[n++] = (keyed){ key, s->y[r], (uint32_t)r };
    }
    return n;
}

/* Of what near copies there are, and what chance makes. */
typedef struct {
    double pairs, same; /* that differ in one column; how far their targets are equal */
    double most;        /* of them, those of one column that repeats */
    double chance;      /* equal pairs that such near misses tell of, by the column that tells of most */
    double independent; /* equal pairs if the columns were independent; logarithm */
    double missed;      /* near pairs, by that */
} nearness;

/* Joins the rows that are equal but for a column. False: memory. */
static bool join_near(search *s)
{
    for (size_t c = 0; c < s->p->table->cols; c++) {
        if (!s->used[c])
            continue;
        if (!hash_cells(s, c))
            return false;
        size_t n = pick(s, s->hash, s->rows);
        qsort(s->k, n, sizeof *s->k, by_key);
        join_keyed(s, n);
    }
    return true;
}

/* What chance makes of equal and nearly equal rows, by how often two rows agree in each column. near (cols).
 * False: memory. */
static bool look_chance(search *s, const double *near, size_t most, nearness *t)
{
    double all = (double)s->rows, pairs = all * (all - 1) / 2, odds = 0;
    t->independent = log(pairs);
    for (size_t c = 0; c < s->p->table->cols; c++) {
        if (!s->used[c])
            continue;
        if (!hash_cells(s, c))
            return false;
        double scale = s->rows > most ? all / (double)most : 1;
        double same = count(s, pick(s, NULL, most)).pairs * scale / pairs;
        same = fmin(fmax(same, 1 / (all * all)), 1 - 1 / all);
        t->independent += log(same);
        odds += (1 - same) / same;
        t->chance = fmax(t->chance, near[c] * same / (1 - same));
    }
    t->missed = exp(t->independent) * odds;
    return true;
}

/* Rows equal but for a column: counted in samples. False: memory. */
static bool look_near(search *s, const tally *equal, nearness *t)
{
    size_t most = s->columns > 0 ? CELLS / s->columns : SAMPLE, cols = s->p->table->cols;
    most = most < SAMPLE ? most : SAMPLE;
    double weighed = 0, scale = s->rows > most ? (double)s->rows / (double)most : 1;
    double *near = calloc(cols + 1, sizeof *near);
    bool ok = near != NULL;
    for (size_t c = 0; ok && c < cols; c++) {
        if (!s->used[c])
            continue;
        ok = hash_cells(s, c);
        tally without = count(s, ok ? pick(s, s->hash, most) : 0);
        near[c] = fmax(0, without.pairs * scale - equal->pairs);
        weighed += near[c] * without.same;
        t->pairs += near[c];
        if (10 * s->p->col[c].distinct < 9 * s->p->col[c].present)
            t->most = fmax(t->most, near[c]);
    }
    t->same = t->pairs > 0 ? weighed / t->pairs : 0;
    if (ok && (t->pairs > 0 || equal->pairs > 0)) /* else there is nothing to explain */
        ok = look_chance(s, near, most, t);
    free(near);
    return ok;
}

/* Whether rows that are equal but for two columns, and stand in different units, have like targets as well:
 * then those that are equal but for one are neighbours, of which the nearest tell most, and no copies. Some
 * pairs of columns are looked at. *ret is false where there are too few such rows to tell. False: memory. */
static bool are_neighbours(search *s, double same, bool *ret)
{
    size_t cols = s->p->table->cols, used = 0;
    uint64_t *sum = malloc((s->rows + 1) * sizeof *sum);
    size_t *column = malloc((cols + 1) * sizeof *column);
    bool ok = sum != NULL && column != NULL;
    size_t looks = PAIR_ROWS / (s->rows + 1);
    looks = looks > COLUMN_PAIRS ? COLUMN_PAIRS : looks < LEAST_LOOKS ? LEAST_LOOKS : looks;
    double pairs = 0, alike = 0;
    for (size_t c = 0; ok && c < cols; c++)
        if (s->used[c])
            column[used++] = c;
    s->once = true; /* no two rows of one unit */
    for (size_t r = 0; r < s->rows; r++)
        s->unit[r] = root(s->unit, (uint32_t)r);
    for (size_t k = 0; ok && used > 2 && k < looks; k++) {
        size_t i = (size_t)(tab_unit(tab_mix2(k, 1)) * (double)used);
        size_t j = (i + 1 + (size_t)(tab_unit(tab_mix2(k, 2)) * (double)(used - 1))) % used;
        ok = hash_cells(s, column[i]);
        for (size_t r = 0; ok && r < s->rows; r++)
            sum[r] = s->hash[r] - s->cell[r];
        ok = ok && hash_cells(s, column[j]);
        tally t = count(s, ok ? pick(s, sum, SAMPLE) : 0);
        pairs += t.pairs;
        alike += t.pairs * t.same;
    }
    s->once = false;
    *ret = pairs >= LEAST_PAIRS && alike > NEIGHBOURS * same * pairs;
    free(sum), free(column);
    return ok;
}

/* Whether the classes of equal rows are more alike in size than those of draws from so many values, of which
 * the likeliest are equally likely: Fisher's index of dispersion, three standard deviations below its mean.
 * The rows stand joined. */
static bool is_even(const search *s, uint32_t *size)
{
    double classes = 0, square = 0, n = (double)s->rows;
    largest_unit(s, size);
    for (size_t r = 0; r < s->rows; r++)
        classes += size[r] > 0, square += (double)size[r] * (double)size[r];
    double mean = n / classes, dispersion = (square - n * mean) / mean;
    return classes > 1 && dispersion < classes - 1 - 3 * sqrt(2 * (classes - 1));
}

/* Equal and nearly equal rows: what they are, and the units of copies. False: memory. */
static bool find_copies(search *s, uint32_t *size, tab_units *u)
{
    nearness near = { 0 };
    memset(s->cell, 0, s->rows * sizeof *s->cell); /* no column is left out */
    tally equal = count(s, pick(s, s->hash, SAMPLE));
    if (s->rows <= SAMPLE || equal.pairs > 0)
        equal = count(s, pick(s, s->hash, s->rows));
    join_keyed(s, equal.pairs > 0 ? s->rows : 0);
    if (!look_near(s, &equal, &near))
        return false;
    bool blind = s->target == s->p->table->cols;
    if (!blind && s->columns > 1 && near.pairs >= LEAST_PAIRS && near.pairs >= 0.02 * (double)s->rows &&
        near.same >= NEARLY_SAME && near.pairs > BEYOND * near.missed && near.most < ALL * near.pairs) {
        uint32_t *before = malloc((s->rows + 1) * sizeof *before);
        if (before == NULL)
            return false;
        memcpy(before, s->unit, s->rows * sizeof *before);
        if (!join_near(s)) {
            free(before);
            return false;
        }
        size_t most = LARGEST + s->rows / 64;
        most = most < s->rows / 4 ? most : s->rows / 4;
        bool neighbours = true, ok = true;
        if (largest_unit(s, size) <= most)
            ok = are_neighbours(s, near.same, &neighbours);
        if (!neighbours)
            u->kind = TAB_UNITS_COPIES;
        else
            memcpy(s->unit, before, s->rows * sizeof *before);
        free(before);
        if (!ok)
            return false;
    }
    if (u->kind == TAB_UNITS_COPIES || equal.pairs < LEAST_PAIRS)
        return true;
    /* of one column chance makes all pairs, but not so that each value comes as often as any other */
    bool chance = fmax(near.chance, exp(near.independent)) >= BY_CHANCE * equal.pairs &&
                  !(s->columns == 1 && is_even(s, size));
    if (!chance && (blind || equal.same >= SAME))
        u->kind = TAB_UNITS_COPIES;
    else if (chance && equal.rows >= MOSTLY * (double)s->rows)
        u->kind = TAB_UNITS_REPEATS;
    return true;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Whether neighbouring values of a column of numbers have like targets: then it measures something, and its
 * next value is told by those beside it. */
static bool is_ordered(const search *s, const tab_column_profile *c)
{
    size_t n = 0;
    double off = 0, pairs = 0;
    if (c->number == NULL)
        return false;
    for (size_t r = 0; r < s->rows; r++)
        if (!isnan(c->number[r]) && !isnan(s->y[r])) {
            uint64_t bits;
            double d = c->number[r] + 0.0;
            memcpy(&bits, &d, 8); /* the order of doubles as that of whole numbers */
            s->k[n++] = (keyed){ bits >> 63 ? ~bits : bits | (uint64_t)1 << 63, s->y[r], (uint32_t)r };
        }
    qsort(s->k, n, sizeof *s->k, by_key);
    for (size_t i = 1; i < n; i++)
        if (s->k[i].key != s->k[i - 1].key) {
            double d = fabs(s->k[i].y - s->k[i - 1].y);
            off += s->numeric ? d : d > 0;
            pairs++;
        }
    return pairs > 0 && 1 - off / pairs / s->apart > ORDERED;
}

/* Whether most rows without a target are of levels that have one. The column's cells stand sorted in s->k,
 * those with a target first in each level. */
static bool is_known(const search *s, size_t n)
{
    size_t asked = 0, known = 0;
    for (size_t i = 0, first = 0; i < n; i++) {
        first = i > 0 && s->k[i].key == s->k[i - 1].key ? first : i;
        if (isnan(s->k[i].y))
            asked++, known += !isnan(s->k[first].y);
    }
    return 2 * known > asked;
}

/* The column whose levels have one target each; of several the one of fewest levels, then the one whose
 * targets agree most. False: memory. */
static bool find_groups(search *s, tab_units *u)
{
    size_t fewest = SIZE_MAX;
    double best = 0;
    for (size_t c = 0; c < s->p->table->cols; c++) {
        const tab_column_profile *q = &s->p->col[c];
        /* places and kinds, of more rows a level than levels, are met again */
        bool open = q->distinct >= LEAST_GROUPS && 2 * q->distinct * q->distinct >= q->present &&
                    3 * q->distinct <= 2 * q->present;
        if (c == s->target || !open || q->use == TAB_USE_IGNORE || (q->code == NULL && q->number == NULL))
            continue;
        if (!hash_cells(s, c))
            return false;
        size_t n = pick(s, NULL, SAMPLE);
        tally t = count(s, n);
        if (t.classes < LEAST_GROUPS || t.rows < MOSTLY * (double)n || t.agree < ONE || is_known(s, n) ||
            is_ordered(s, q))
            continue;
        if (q->distinct > fewest || (q->distinct == fewest && t.agree <= best))
            continue;
        fewest = q->distinct, best = t.agree;
        u->kind = TAB_UNITS_GROUPS;
        u->column = c;
    }
    if (u->kind != TAB_UNITS_GROUPS)
        return true;
    if (!hash_cells(s, u->column))
        return false;
    size_t n = 0;
    for (size_t r = 0; r < s->rows; r++)
        if (!(s->p->col[u->column].code != NULL && s->p->col[u->column].code[r] == TAB_NULL))
            s->k[n++] = (keyed){ s->cell[r], s->y[r], (uint32_t)r };
    qsort(s->k, n, sizeof *s->k, by_key);
    join_keyed(s, n);
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool run_search(tab_arena *a, search *s, uint32_t *size, tab_units *u)
{
    bool blind = s->target == s->p->table->cols;
    for (size_t r = 0; blind && r < s->rows; r++)
        s->y[r] = (double)NAN;
    if (!blind && !read_target(s))
        return true;
    for (size_t c = 0; c < s->p->table->cols; c++) {
        s->used[c] = c != s->target && tells(&s->p->col[c]);
        if (!s->used[c])
            continue;
        if (!hash_cells(s, c))
            return false;
        s->columns++;
        for (size_t r = 0; r < s->rows; r++)
            s->hash[r] += s->cell[r];
    }
    if (s->columns > 0 && !find_copies(s, size, u))
        return false;
    if (u->kind != TAB_UNITS_COPIES) /* equal rows that are none stand by themselves */
        for (size_t r = 0; r < s->rows; r++)
            s->unit[r] = (uint32_t)r;
    bool noisy = false;
    if (!blind && u->kind == TAB_UNITS_ROWS &&
        !tab_noisy_copies(s->p, s->used, s->hash, s->y, s->numeric, s->apart, s->unit, &noisy))
        return false;
    if (noisy)
        u->kind = TAB_UNITS_COPIES;
    for (size_t r = 0; r < s->rows; r++)
        u->copies += u->kind == TAB_UNITS_COPIES && root(s->unit, (uint32_t)r) != r;
    for (size_t r = 0; r < s->rows; r++)
        s->unit[r] = root(s->unit, (uint32_t)r);
    s->once = true;
    if (!blind && u->kind != TAB_UNITS_REPEATS && !find_groups(s, u))
        return false;
    if (u->kind == TAB_UNITS_ROWS || u->kind == TAB_UNITS_REPEATS)
        return true;
    u->unit = tab_arena_new_of(a, uint32_t, s->rows + 1);
    for (size_t r = 0; u->unit != NULL && r < s->rows; r++)
        u->unit[r] = root(s->unit, (uint32_t)r);
    return u->unit != NULL;
}

bool tab_units_find(tab_arena *a, const tab_profile *p, size_t target, bool numeric, tab_units *ret)
{
    size_t rows = p->table->rows, cols = p->table->cols;
    *ret = (tab_units){ .column = cols };
    if (rows < LEAST_PAIRS)
        return true;
    TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)8 << 30);
    search s = { .p = p, .rows = rows, .target = target, .numeric = numeric };
    if (work == NULL)
        return false;
    s.y = tab_arena_new_of(work, double, rows + 1);
    s.hash = tab_arena_new_of(work, uint64_t, rows + 1);
    s.used = tab_arena_new_of(work, bool, cols + 1);
    s.cell = tab_arena_new_of(work, uint64_t, rows + 1);
    s.k = tab_arena_new_of(work, keyed, rows + 1);
    s.unit = tab_arena_new_of(work, uint32_t, rows + 1);
    uint32_t *size = tab_arena_new_of(work, uint32_t, rows + 1);
    if (tab_arena_full(work))
        return false;
    for (size_t r = 0; r < rows; r++)
        s.unit[r] = (uint32_t)r;
    return run_search(a, &s, size, ret);
}

uint32_t *tab_units_joined(tab_arena *a, const uint32_t *unit, const uint32_t *with, size_t rows)
{
    uint32_t *u = tab_arena_new_of(a, uint32_t, rows + 1), most = 0;
    for (size_t r = 0; r < rows; r++)
        most = with[r] > most ? with[r] : most;
    uint32_t *first = malloc(((size_t)most + 1) * sizeof *first);
    if (u == NULL || first == NULL) {
        free(first);
        return NULL;
    }
    memset(first, 0xff, ((size_t)most + 1) * sizeof *first);
    for (size_t r = 0; r < rows; r++)
        u[r] = (uint32_t)r;
    for (size_t r = 0; r < rows; r++) {
        join(u, (uint32_t)r, unit[r]);
        if (first[with[r]] == TAB_NULL)
            first[with[r]] = (uint32_t)r;
        join(u, (uint32_t)r, first[with[r]]);
    }
    for (size_t r = 0; r < rows; r++)
        u[r] = root(u, (uint32_t)r);
    free(first);
    return u;
}

bool tab_units_of(tab_arena *a, const tab_units *u, const tab_data *d, uint32_t **ret)
{
    *ret = NULL;
    if (u->unit == NULL)
        return true;
    size_t wholes = 0; /* by rows of the table, of which d may be a few */
    for (size_t i = 0; i < d->rows; i++)
        wholes = u->unit[d->row[i]] >= wholes ? (size_t)u->unit[d->row[i]] + 1 : wholes;
    uint32_t *first = tab_arena_new_of(a, uint32_t, wholes + 1),
             *unit = tab_arena_new_of(a, uint32_t, d->rows + 1);
    if (first == NULL || unit == NULL)
        return false;
    memset(first, 0xff, wholes * sizeof *first);
    for (size_t i = 0; i < d->rows; i++) {
        uint32_t *of = &first[u->unit[d->row[i]]];
        *of = *of == TAB_NULL ? (uint32_t)i : *of;
        unit[i] = *of;
    }
    *ret = unit;
    return true;
}

uint64_t tab_units_key(const tab_values *v, size_t row)
{
    if (v->number != NULL) {
        double d = v->number[row] == 0 ? 0 : v->number[row]; // NOLINT: -0 and 0 are one number
        uint64_t bits;
        memcpy(&bits, &d, 8);
        return isnan(d) ? 0 : tab_mix(bits) | 1;
    }
    uint32_t c = v->code == NULL ? TAB_NULL : v->code[row];
    return c == TAB_NULL ? 0 : tab_wyhash(v->level[c].p, v->level[c].n, 0) | 1;
}
