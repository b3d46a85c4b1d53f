/* See diff.h. Which rows came, went and changed between two snapshots that have no version numbers, often no
 * declared key, and columns in any order.
 *
 * Everything is decided on hashes, so that the work is a few passes over columns, whatever their types:
 *
 *   cells    a 64-bit keyed hash of each cell after typing, 0 for null        one column at a time
 *   rows     the 128-bit sum over the columns of mix(column, cell)           null adds nothing
 *   keys     a chain of the same hashes over a candidate key's columns       64 bits, none where one is null
 *
 * A row's hash is a sum and not a chain: the order of columns does not count, and a column that was added
 * changes exactly the rows in which it holds something. A column's hash is of its address, so a renamed
 * column is one that went and one that came. Levels of a dictionary are hashed once, however many rows have
 * them. Numbers are hashed as doubles, and as their digits where no double holds them; a column that is of
 * another type on the other side is compared as text, or every row of it would have changed.
 *
 * Then rows are paired:
 *
 *   1. By key. The declared one, if it is unique and without gaps on both sides; else the best of columns,
 *      pairs and triples that are (MOST_SETS of them are tried). A candidate that repeats among the first
 *      PROBE_ROWS rows is given up before the whole column is read. Equal keys and equal rows: unchanged;
 *      equal keys alone: changed; the rest came or went.
 *   2. Without a key, as multisets of whole rows: a row that occurs three times before and five times after
 *      is three unchanged and two added. Nothing is `changed`, for nothing says which row became which.
 *
 * What holds: added + changed + unchanged is the number of rows after, removed + changed + unchanged that
 * before; the same two snapshots give the same answer for ever (the hash's key is fixed, and no clock and no
 * order of threads is in it); billing reads these counts (services/jobs/cost.c), so they are exact but for
 * collisions: a million distinct values meet with a probability of 3e-8. A collision of rows calls a changed
 * row unchanged; the snapshot itself is stored whole and never depends on it. */
#include "services/data-connector/store/diff.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>

#include "common/base/time.h"

enum { MOST_SETS = 64, MOST_KEY = 3, PROBE_ROWS = 16384 };
enum { BEFORE, AFTER };

static const unsigned char sip_key[16] = "tabella row diff";

static uint64_t hash(char tag, const void *p, size_t n)
{
    unsigned char out[crypto_shorthash_BYTES], small[64], *in = small;
    if (n + 1 > sizeof small && (in = malloc(n + 1)) == NULL)
        in = small, n = sizeof small - 1; /* out of memory: a prefix, the caller's arena fails soon after */
    in[0] = (unsigned char)tag;
    if (n > 0)
        memcpy(in + 1, p, n);
    crypto_shorthash(out, in, n + 1, sip_key);
    if (in != small)
        free(in);
    uint64_t h;
    memcpy(&h, out, sizeof h);
    return h == 0 ? 1 : h; /* 0 stands for null */
}

static uint64_t mix(uint64_t x, uint64_t y)
{
    x ^= y + 0x9e3779b97f4a7c15u + (x << 6) + (x >> 2);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* ---- cells ----------------------------------------------------------------------------------- */

typedef enum { KIND_NONE, KIND_NUMBER, KIND_BOOL, KIND_TEXT } column_kind;

static column_kind kind_of(const tab_column *c)
{
    column_kind k = KIND_NONE;
    if (c->layout == TAB_NUMBERS)
        return KIND_NUMBER; /* of nulls alone too: compares with anything that is null */
    for (size_t i = 0; i < c->levels; i++) {
        column_kind is = c->kind[i] == TAB_CELL_NUMBER ? KIND_NUMBER
                         : c->kind[i] == TAB_CELL_BOOL ? KIND_BOOL
                                                       : KIND_TEXT;
        if (k == KIND_NONE)
            k = is;
        else if (k != is)
            return KIND_TEXT;
    }
    return k;
}

static uint64_t number_hash(double x, bool as_text)
{
    char text[32];
    if (x == 0)
        x = 0; /* -0 is 0 */
    return as_text ? hash('t', text, tab_number_text(x, text)) : hash('n', &x, sizeof x);
}

static uint64_t level_hash(const tab_column *c, size_t i, bool as_text)
{
    tab_str s = tab_level(c, i);
    int64_t us;
    if (c->kind[i] == TAB_CELL_NUMBER && !as_text) {
        char digits[64], again[32];
        if (s.n < sizeof digits) {
            memcpy(digits, s.p, s.n);
            digits[s.n] = '\0';
            double x = strtod(digits, NULL);
            if (isfinite(x) && tab_str_eq(s, (tab_str){ again, tab_number_text(x, again) }))
                return number_hash(x, false);
        }
        return hash('d', s.p, s.n);
    }
    if (c->kind[i] == TAB_CELL_TEXT && s.n >= 19 && s.n <= 35 && tab_time_parse(s, &us))
        return hash('i', &us, sizeof us);
    return hash(c->kind[i] == TAB_CELL_BOOL && !as_text ? 'b' : 't', s.p, s.n);
}

/* ret (rows): the first cells' hashes, 0 for null. False: the arena is full. */
static bool cells(tab_arena *a, const tab_column *c, size_t rows, bool as_text, uint64_t *ret)
{
    if (c->layout == TAB_NUMBERS) {
        for (size_t r = 0; r < rows; r++)
            ret[r] = isnan(c->num[r]) ? 0 : number_hash(c->num[r], as_text);
        return true;
    }
    if (c->levels >= rows) {
        for (size_t r = 0; r < rows; r++)
            ret[r] = c->code[r] == TAB_NULL ? 0 : level_hash(c, c->code[r], as_text);
        return true;
    }
    uint64_t *level = tab_arena_new_of(a, uint64_t, c->levels + 1);
    if (level == NULL)
        return false;
    for (size_t i = 0; i < c->levels; i++)
        level[i] = level_hash(c, i, as_text);
    for (size_t r = 0; r < rows; r++)
        ret[r] = c->code[r] == TAB_NULL ? 0 : level[c->code[r]];
    return true;
}

/* ---- sets of hashes -------------------------------------------------------------------------- */

typedef struct {
    uint64_t *slot;
    uint32_t *row;
    size_t mask;
} hash_set;

static bool set_new(tab_arena *a, size_t n, hash_set *s)
{
    size_t size = 16;
    while (size < 2 * n)
        size *= 2;
    *s = (hash_set){ tab_arena_new_of(a, uint64_t, size), tab_arena_new_of(a, uint32_t, size), size - 1 };
    return s->slot != NULL && s->row != NULL;
}

static size_t set_at(const hash_set *s, uint64_t h)
{
    size_t i = (size_t)mix(h, 7) & s->mask;
    while (s->slot[i] != 0 && s->slot[i] != h)
        i = (i + 1) & s->mask;
    return i;
}

/* All of h, if they are distinct and none is null. */
static bool set_fill(hash_set *s, const uint64_t *h, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        size_t i = h[r] == 0 ? 0 : set_at(s, h[r]);
        if (h[r] == 0 || s->slot[i] != 0)
            return false;
        s->slot[i] = h[r];
        s->row[i] = (uint32_t)r;
    }
    return true;
}

/* ---- keys ------------------------------------------------------------------------------------ */

typedef struct {
    size_t col[2]; /* of the two tables */
    bool as_text, complete;
    size_t distinct; /* at most so many values in the table that has fewer */
} pair;

typedef struct {
    tab_arena *a;
    const tab_table *t[2];
    pair *pairs;
    size_t n_pairs;
    size_t best_matched, n_best, best[MOST_KEY];
    size_t tried;
} search;

/* *ret (rows): hashes of the set's cells in the first rows, 0 where one of them is null. */
static bool key_hashes(tab_arena *a, const search *s, int side, const size_t *set, size_t n, size_t rows,
                       uint64_t **ret)
{
    uint64_t *sum = tab_arena_new_of(a, uint64_t, rows + 1), *one = tab_arena_new_of(a, uint64_t, rows + 1);
    if (sum == NULL || one == NULL)
        return false;
    for (size_t k = 0; k < n; k++) {
        const pair *p = &s->pairs[set[k]];
        if (!cells(a, &s->t[side]->col[p->col[side]], rows, p->as_text, one))
            return false;
        for (size_t r = 0; r < rows; r++)
            sum[r] = one[r] == 0 || (k > 0 && sum[r] == 0) ? 0 : k == 0 ? one[r] : mix(sum[r], one[r]) | 1;
    }
    *ret = sum;
    return true;
}

/* Whether the first rows of one table already hold a value twice: then nothing else needs to be looked at. Of
 * d equally frequent values two are alike among 1.2 sqrt(d) rows, so that few sets that are no key get past
 * 16,384 rows (decision 0367). */
static bool repeats_early(const search *s, int side, const size_t *set, size_t n)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)PROBE_ROWS * 512 + (1 << 20));
    uint64_t *h;
    hash_set in;
    return s->t[side]->rows > PROBE_ROWS && a != NULL && key_hashes(a, s, side, set, n, PROBE_ROWS, &h) &&
           set_new(a, PROBE_ROWS, &in) && !set_fill(&in, h, PROBE_ROWS);
}

/* Whether the set of columns is unique and complete in both tables; counts the rows that it matches. */
static bool try_set(search *s, const size_t *set, size_t n)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 31);
    uint64_t *h[2];
    hash_set in[2];
    size_t matched = 0;
    s->tried++;
    if (repeats_early(s, BEFORE, set, n) || repeats_early(s, AFTER, set, n))
        return false;
    for (int side = 0; side < 2; side++)
        if (a == NULL || !key_hashes(a, s, side, set, n, s->t[side]->rows, &h[side]) ||
            !set_new(a, s->t[side]->rows, &in[side]) || !set_fill(&in[side], h[side], s->t[side]->rows))
            return false;
    for (size_t r = 0; r < s->t[AFTER]->rows; r++)
        matched += in[BEFORE].slot[set_at(&in[BEFORE], h[AFTER][r])] != 0;
    if (matched > s->best_matched) { /* smaller sets and those further left come first, so only more
                                        is better */
        s->best_matched = matched;
        s->n_best = n;
        memcpy(s->best, set, n * sizeof *set);
    }
    return true;
}

static size_t level_bound(const tab_column *c, size_t rows)
{
    return c->layout == TAB_CODED && c->levels < rows ? c->levels : rows;
}

static bool has_null(const tab_column *c, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        if (c->layout == TAB_NUMBERS ? isnan(c->num[r]) : c->code[r] == TAB_NULL)
            return true;
    return false;
}

static bool enough(const search *s, size_t most)
{
    return s->best_matched >= most || s->tried >= MOST_SETS;
}

static void find_key(search *s)
{
    size_t n[2] = { s->t[BEFORE]->rows, s->t[AFTER]->rows }, most = n[0] < n[1] ? n[0] : n[1];
    size_t larger = n[0] < n[1] ? n[1] : n[0];
    bool unique_alone[2048] = { false };
    for (size_t i = 0; i < s->n_pairs; i++) {
        pair *p = &s->pairs[i];
        p->complete = true;
        p->distinct = SIZE_MAX;
        for (int side = 0; side < 2; side++) {
            const tab_column *c = &s->t[side]->col[p->col[side]];
            p->complete = p->complete && !has_null(c, n[side]);
            size_t d = level_bound(c, n[side]);
            /* both tables must satisfy it: keep the worse figure */
            if (d < n[side] && d < p->distinct)
                p->distinct = d;
        }
    }
    for (size_t i = 0; i < s->n_pairs && !enough(s, most); i++) {
        bool may = s->pairs[i].complete && s->pairs[i].distinct == SIZE_MAX;
        unique_alone[i % 2048] = may && try_set(s, &i, 1);
    }
    /* a set with a column that is unique alone matches no row that this column does not */
    for (size_t i = 0; i < s->n_pairs; i++)
        for (size_t k = i + 1; k < s->n_pairs && !enough(s, most); k++) {
            const pair *p = &s->pairs[i], *q = &s->pairs[k];
            size_t set[2] = { i, k }, could;
            if (!p->complete || !q->complete || unique_alone[i % 2048] || unique_alone[k % 2048])
                continue;
            if (p->distinct != SIZE_MAX && q->distinct != SIZE_MAX &&
                !__builtin_mul_overflow(p->distinct, q->distinct, &could) && could < larger)
                continue;
            (void)try_set(s, set, 2);
        }
    for (size_t i = 0; i < s->n_pairs; i++)
        for (size_t k = i + 1; k < s->n_pairs && s->n_best == 0; k++)
            for (size_t l = k + 1; l < s->n_pairs && s->n_best == 0 && !enough(s, most); l++) {
                size_t set[3] = { i, k, l };
                if (s->pairs[i].complete && s->pairs[k].complete && s->pairs[l].complete)
                    (void)try_set(s, set, 3);
            }
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct {
    uint64_t x, y;
    uint32_t row;
} wide;

static int by_value(const void *p, const void *q)
{
    const wide *a = p, *b = q;
    return a->x != b->x ? (a->x < b->x ? -1 : 1) : a->y != b->y ? (a->y < b->y ? -1 : 1) : 0;
}

/* Of equal rows the first stands first, so that those without a partner are the last ones. */
static int by_value_and_row(const void *p, const void *q)
{
    const wide *a = p, *b = q;
    int c = by_value(p, q);
    return c != 0 ? c : a->row < b->row ? -1 : 1;
}

/* Adds what stands in column c to the rows' hashes: x and y of each lie `stride` words behind those of the
 * row before. */
static bool add_column(tab_arena *scratch, const tab_table *t, size_t c, bool as_text, tab_str name,
                       uint64_t *one, uint64_t *x, size_t stride)
{
    uint64_t of = hash('c', name.p, name.n), too = hash('C', name.p, name.n);
    if (!cells(scratch, &t->col[c], t->rows, as_text, one))
        return false;
    for (size_t r = 0; r < t->rows; r++)
        if (one[r] != 0) {
            x[r * stride] += mix(of, one[r]);
            x[r * stride + 1] += mix(too, one[r]);
        }
    return true;
}

/* A row's hash: the sum over its cells that are not null of the hash of (column, value). So the order of
 * columns does not matter. */
static bool row_values(tab_arena *a, const search *s, int side, const bool *as_text, wide **ret)
{
    TAB_AUTO(tab_arena) *scratch = tab_arena_new((size_t)1 << 31);
    const tab_table *t = s->t[side];
    wide *w = tab_arena_new_of(a, wide, t->rows + 1);
    uint64_t *one = scratch == NULL ? NULL : tab_arena_new_of(scratch, uint64_t, t->rows + 1);
    if (w == NULL || one == NULL)
        return false;
    for (size_t r = 0; r < t->rows; r++)
        w[r].row = (uint32_t)r;
    for (size_t c = 0; c < t->cols; c++) {
        if (!add_column(scratch, t, c, as_text[c], tab_column_address(a, t, c), one, &w->x,
                        sizeof *w / sizeof w->x))
            return false;
    }
    *ret = w;
    return !tab_arena_full(a);
}

tab_row_hash *diff_row_hashes(tab_arena *a, const tab_table *t, const bool *by)
{
    TAB_AUTO(tab_arena) *scratch = tab_arena_new((size_t)1 << 31);
    tab_row_hash *w = tab_arena_new_of(a, tab_row_hash, t->rows + 1);
    uint64_t *one = scratch == NULL ? NULL : tab_arena_new_of(scratch, uint64_t, t->rows + 1);
    if (w == NULL || one == NULL)
        return NULL;
    for (size_t c = 0; c < t->cols; c++)
        if (by[c] && !add_column(scratch, t, c, kind_of(&t->col[c]) == KIND_TEXT, tab_column_address(a, t, c),
                                 one, &w->x, sizeof *w / sizeof w->x))
            return NULL;
    return w;
}

/* What became of the rows: partner[BEFORE][r] is the row of the other table that row r is, or NONE; a pair
 * with unlike cells is marked in `unlike`, by its row after. */
enum { NONE = UINT32_MAX };
typedef struct {
    uint32_t *partner[2];
    bool *unlike;
} pairing;

static bool pairing_new(tab_arena *a, const size_t n[2], pairing *p)
{
    for (int side = 0; side < 2; side++) {
        p->partner[side] = tab_arena_new_of(a, uint32_t, n[side] + 1);
        for (size_t r = 0; p->partner[side] != NULL && r < n[side]; r++)
            p->partner[side][r] = NONE;
    }
    p->unlike = tab_arena_new_of(a, bool, n[AFTER] + 1);
    return !tab_arena_full(a);
}

static void pair_multiset(wide *w[2], const size_t n[2], pairing *p)
{
    size_t i = 0, k = 0;
    for (int side = 0; side < 2; side++)
        qsort(w[side], n[side], sizeof *w[side], by_value_and_row);
    while (i < n[BEFORE] && k < n[AFTER]) {
        int c = by_value(&w[BEFORE][i], &w[AFTER][k]);
        if (c == 0) {
            p->partner[BEFORE][w[BEFORE][i].row] = w[AFTER][k].row;
            p->partner[AFTER][w[AFTER][k].row] = w[BEFORE][i].row;
        }
        i += c <= 0;
        k += c >= 0;
    }
}

static bool pair_by_key(tab_arena *a, const search *s, wide *w[2], pairing *p)
{
    uint64_t *h[2];
    hash_set in;
    for (int side = 0; side < 2; side++)
        if (!key_hashes(a, s, side, s->best, s->n_best, s->t[side]->rows, &h[side]))
            return false;
    if (!set_new(a, s->t[BEFORE]->rows, &in))
        return false;
    (void)set_fill(&in, h[BEFORE], s->t[BEFORE]->rows);
    for (size_t r = 0; r < s->t[AFTER]->rows; r++) {
        size_t i = set_at(&in, h[AFTER][r]);
        if (in.slot[i] == 0)
            continue;
        p->partner[BEFORE][in.row[i]] = (uint32_t)r;
        p->partner[AFTER][r] = in.row[i];
        p->unlike[r] = by_value(&w[BEFORE][in.row[i]], &w[AFTER][r]) != 0;
    }
    return true;
}

/* Counts them, and lists those that are not as before where that is asked for. */
static bool tell(tab_arena *a, const size_t n[2], const pairing *p, row_diff *d, row_changes *list)
{
    for (size_t r = 0; r < n[AFTER]; r++)
        (*(p->partner[AFTER][r] == NONE ? &d->added : p->unlike[r] ? &d->changed : &d->unchanged))++;
    d->removed = n[BEFORE] - d->changed - d->unchanged;
    if (list == NULL)
        return true;
    list->n = 0;
    list->row = tab_arena_new_of(a, row_change, d->added + d->changed + d->removed + 1);
    if (list->row == NULL)
        return false;
    for (uint32_t r = 0; r < n[AFTER]; r++)
        if (p->partner[AFTER][r] != NONE && p->unlike[r])
            list->row[list->n++] = (row_change){ ROW_CHANGED, p->partner[AFTER][r], r };
    for (uint32_t r = 0; r < n[BEFORE]; r++)
        if (p->partner[BEFORE][r] == NONE)
            list->row[list->n++] = (row_change){ ROW_REMOVED, r, r };
    for (uint32_t r = 0; r < n[AFTER]; r++)
        if (p->partner[AFTER][r] == NONE)
            list->row[list->n++] = (row_change){ ROW_ADDED, r, r };
    return true;
}

static bool declared_key(search *s, const tab_str *declared, size_t n, tab_arena *a)
{
    size_t set[MOST_KEY];
    if (n == 0 || n > MOST_KEY)
        return false;
    for (size_t k = 0; k < n; k++) {
        set[k] = SIZE_MAX;
        for (size_t i = 0; i < s->n_pairs; i++)
            if (tab_str_eq(tab_column_address(a, s->t[AFTER], s->pairs[i].col[AFTER]), declared[k]))
                set[k] = i;
        if (set[k] == SIZE_MAX)
            return false;
    }
    (void)try_set(s, set, n);
    return s->n_best > 0;
}

const char *diff_kind(const tab_column *c, size_t rows)
{
    static const char *const names[] = { "empty", "number", "boolean", "text" };
    size_t r = 0;
    while (c->layout == TAB_NUMBERS && r < rows && isnan(c->num[r]))
        r++;
    return names[c->layout == TAB_NUMBERS && r == rows ? KIND_NONE : kind_of(c)];
}

tab_status diff_rows(tab_arena *a, const tab_table *before, const tab_table *after, const tab_str *declared,
                     size_t n, row_diff *ret, row_changes *list, tab_error *err)
{
    size_t cols = before->cols + after->cols + 1;
    row_diff d = { .columns_added = tab_arena_new_of(a, tab_str, cols),
                   .columns_removed = tab_arena_new_of(a, tab_str, cols),
                   .types_changed = tab_arena_new_of(a, tab_str, cols),
                   .key = tab_arena_new_of(a, tab_str, MOST_KEY) };
    search s = { .a = a, .t = { before, after }, .pairs = tab_arena_new_of(a, pair, cols) };
    bool *as_text[2] = { tab_arena_new_of(a, bool, cols), tab_arena_new_of(a, bool, cols) };
    bool *met = tab_arena_new_of(a, bool, cols);
    wide *w[2];
    if (tab_arena_full(a))
        return tab_no_memory(err);

    for (size_t c = 0; c < after->cols; c++) {
        tab_str name = tab_column_address(a, after, c);
        size_t o = 0;
        while (o < before->cols && !tab_str_eq(tab_column_address(a, before, o), name))
            o++;
        if (o == before->cols) {
            d.columns_added[d.n_added++] = name;
            continue;
        }
        met[o] = true;
        column_kind was = kind_of(&before->col[o]), is = kind_of(&after->col[c]);
        bool retyped = was != is && was != KIND_NONE && is != KIND_NONE;
        if (retyped)
            d.types_changed[d.n_types++] = name;
        as_text[BEFORE][o] = as_text[AFTER][c] = retyped || was == KIND_TEXT;
        s.pairs[s.n_pairs++] = (pair){ .col = { o, c }, .as_text = retyped || was == KIND_TEXT };
    }
    for (size_t o = 0; o < before->cols; o++)
        if (!met[o])
            d.columns_removed[d.n_removed++] = tab_column_address(a, before, o);

    if (before->rows > 0 && after->rows > 0 && !declared_key(&s, declared, n, a))
        find_key(&s);
    for (size_t k = 0; k < s.n_best; k++)
        d.key[d.n_key++] = tab_column_address(a, after, s.pairs[s.best[k]].col[AFTER]);

    const size_t rows[2] = { before->rows, after->rows };
    pairing p;
    bool good = row_values(a, &s, BEFORE, as_text[BEFORE], &w[BEFORE]) &&
                row_values(a, &s, AFTER, as_text[AFTER], &w[AFTER]) && pairing_new(a, rows, &p);
    if (good && s.n_best > 0)
        good = pair_by_key(a, &s, w, &p);
    else if (good)
        pair_multiset(w, rows, &p);
    if (!good || !tell(a, rows, &p, &d, list))
        return tab_no_memory(err);
    *ret = d;
    return TAB_OK;
}

tab_status diff_tables(tab_arena *a, const tab_table *before, const tab_table *after, const tab_str *declared,
                       size_t n, row_diff *ret, tab_error *err)
{
    return diff_rows(a, before, after, declared, n, ret, NULL, err);
}
