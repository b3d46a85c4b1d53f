/* See pairs.h. First the keys of each table: pairs of columns that name a row where neither does alone, and
 * where values put together anew would meet again and again (any two measured numbers name a row, and mean
 * nothing). Then, for each, pairs of columns of other tables whose values lie in its columns, compared
 * pair by pair:
 *
 *   h of the child's m pairs are held; were its two values put together anew, a share u of them would be
 *
 *   logit p = PRIOR + FREE (h log(KEPT / u) + (m - h) log((1 - KEPT) / (1 - u)))
 *
 * The sum is bounded: values of two columns may go together for a reason that both tables share. */
#include "services/inference/engine/keys/pairs.h"

#include <math.h>

#include "services/inference/engine/align/normalize_text.h"
#include "services/inference/engine/keys/inclusions_internal.h"
#include "services/inference/engine/keys/pair_set.h"

/* LEAST_ROWS: of a table with a key of two columns. SAMPLED: rows that are looked at before all are. WIDEST:
 * columns of a table that may be part of one, the first ones; MOST_KEYS: of a table. JOINED: rows of a
 * child. */
enum { LEAST_ROWS = 12, SAMPLED = 1000, WIDEST = 24, MOST_KEYS = 6, JOINED = 20000 };
/* ONCE: share of rows that a key tells apart. TELLING: at so many times fewer rows than chance gives
 * twice, and FEWEST of chance's. */
static const double ONCE = 0.98, TELLING = 4, FEWEST = 6;
/* FREE: what a pair counts, since pairs of one row's values are seldom free of one another. Chosen on made
 * schemas, FREE with an eye on public ones (decision 0348). */
static const double PRIOR = -4, KEPT = 0.99, BOUND = 8, LEAST_HELD = 0.9, FREE = 1.0 / 3;

/* A pair of columns of one table that names its rows. */
typedef struct {
    uint32_t col[2];
} pair_key;

/* A row's partner when values are put together anew: any row. (A fixed step would keep what a regular
 * table has, such as a line a day of every station.) */
static size_t other_row(size_t r, size_t rows)
{
    return tab_hash_mix(r, 17) % rows;
}

/* Rows of every `step` whose pair stood in a row before, of those that have both values: *twice, of *all. The
 * second value is the row's own, or `anew` another row's. False: out of memory. */
static bool count_twice(const tab_view *x, const tab_view *y, size_t rows, size_t step, bool anew,
                        size_t *twice, size_t *all)
{
    tab_pair_set set;
    uint64_t pair;
    if (!tab_pair_set_new(&set, rows / step + 1))
        return false;
    *twice = *all = 0;
    for (size_t r = 0; r < rows; r += step)
        if (tab_pair_of(x, r, y, anew ? other_row(r, rows) : r, &pair)) {
            ++*all;
            *twice += !tab_pair_set_add(&set, pair, (uint32_t)r);
        }
    tab_pair_set_free(&set);
    return true;
}

/* Whether two columns of a table name its rows, and not by chance. False also when out of memory. */
static bool names_rows(const tab_views *v, const tab_key_column *x, const tab_key_column *y)
{
    const tab_table_view *t = &v->table[x->table];
    const tab_view *a = &t->col[x->column], *b = &t->col[y->column];
    size_t twice, all, anew;
    if ((double)x->n * y->n < ONCE * (double)t->rows)
        return false;
    if (t->rows > 2 * SAMPLED && (!count_twice(a, b, t->rows, t->rows / SAMPLED, false, &twice, &all) ||
                                  (double)twice > (1 - ONCE) * (double)all))
        return false;
    if (!count_twice(a, b, t->rows, 1, false, &twice, &all) || (double)twice > (1 - ONCE) * (double)all ||
        (double)all < ONCE * (double)t->rows)
        return false;
    return count_twice(a, b, t->rows, 1, true, &anew, &all) && (double)anew >= FEWEST &&
           (double)anew >= TELLING * (double)twice;
}

/* Columns that may be part of a key. */
static bool may_join(const tab_key_column *c, size_t rows)
{
    return c->kind != TAB_KEY_OTHER && !c->unique && c->n > 1 && (double)c->present >= ONCE * (double)rows;
}

/* The keys of one table, at most MOST_KEYS. */
static size_t keys_of(const tab_views *v, const tab_key_columns *k, size_t table, pair_key *ret)
{
    uint32_t col[WIDEST];
    size_t n = 0, keys = 0, rows = v->table[table].rows;
    for (size_t i = k->at[table]; i < k->at[table + 1] && n < WIDEST && rows >= LEAST_ROWS; i++)
        if (may_join(&k->col[i], rows))
            col[n++] = (uint32_t)i;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n && keys < MOST_KEYS; j++)
            if (names_rows(v, &k->col[col[i]], &k->col[col[j]]))
                ret[keys++] = (pair_key){ { col[i], col[j] } };
    return keys;
}

/* Compares the child's pairs with the parent's, which are in `set`. False: out of memory. */
static bool compare(const tab_views *v, const tab_key_columns *k, const tab_pair_set *set, tab_key_pair *r)
{
    const tab_key_column *x = &k->col[r->child[0]], *y = &k->col[r->child[1]];
    const tab_table_view *t = &v->table[x->table];
    const tab_view *a = &t->col[x->column], *b = &t->col[y->column];
    size_t step = t->rows / JOINED + 1, all = 0, seen = 0, by_chance = 0;
    tab_pair_set own;
    uint64_t pair;
    if (!tab_pair_set_new(&own, t->rows / step + 1))
        return false;
    for (size_t i = 0; i < t->rows; i += step) {
        if (tab_pair_of(a, i, b, i, &pair)) {
            all++;
            if (tab_pair_set_add(&own, pair, (uint32_t)i))
                r->held += tab_pair_set_row(set, pair) != TAB_NULL;
        }
        if (tab_pair_of(a, i, b, other_row(i, t->rows), &pair)) {
            seen++;
            by_chance += tab_pair_set_row(set, pair) != TAB_NULL;
        }
    }
    r->pairs = own.n;
    r->parent_pairs = set->n;
    r->once = (double)own.n >= ONCE * (double)all;
    r->chance = ((double)by_chance + 0.5) / ((double)seen + 1);
    tab_pair_set_free(&own);
    double m = r->pairs, h = r->held;
    if (m < 2 || h < LEAST_HELD * m)
        return true; /* p stays 0 */
    double u = fmin(r->chance, KEPT);
    r->told = FREE * (h * log(KEPT / u) + (m - h) * log((1 - KEPT) / (1 - u)));
    r->p = 1 / (1 + exp(-(PRIOR + fmin(r->told, BOUND))));
    return true;
}

/* A list that grows. */
typedef struct {
    tab_key_pair *x;
    size_t n, cap;
} found;

static bool add(found *l, const tab_key_pair *x)
{
    if (l->n == l->cap) {
        size_t cap = l->cap == 0 ? 32 : 2 * l->cap;
        tab_key_pair *grown = realloc(l->x, cap * sizeof *grown);
        if (grown == NULL)
            return false;
        l->x = grown;
        l->cap = cap;
    }
    l->x[l->n++] = *x;
    return true;
}

/* Pairs of table `child` that key q of another table may hold. within: (columns, 2) columns whose values
 * lie in the key's first and second. False: out of memory. */
static bool children(const tab_views *v, const tab_key_columns *k, const tab_pair_set *set, const pair_key *q,
                     size_t child, const bool *within, found *l)
{
    for (size_t i = k->at[child]; i < k->at[child + 1]; i++)
        for (size_t j = k->at[child]; within[2 * i] && j < k->at[child + 1]; j++) {
            if (i == j || !within[2 * j + 1])
                continue;
            tab_key_pair r = { .child = { (uint32_t)i, (uint32_t)j }, .parent = { q->col[0], q->col[1] } };
            if (!compare(v, k, set, &r) || (r.p >= 0.5 && !add(l, &r)))
                return false;
        }
    return true;
}

/* Whether columns of keys a and b may be of one key: TAB_NULL is not known. */
static bool one_key(uint32_t a, uint32_t b)
{
    return a == b || a == TAB_NULL || b == TAB_NULL;
}

/* All children of one key. A column that names the rows of its own table needs no second one. */
static tab_status children_of(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                              const bool *linked, const uint32_t *key, const pair_key *q, found *l,
                              tab_error *err)
{
    const tab_key_column *x = &k->col[q->col[0]], *y = &k->col[q->col[1]];
    const tab_table_view *t = &v->table[x->table];
    size_t columns = k->at[v->n], both = 0;
    bool *within = calloc(2 * columns + 1, sizeof *within);
    bool ok = within != NULL;
    for (size_t i = 0; ok && i < columns; i++) {
        const tab_key_column *c = &k->col[i];
        if (c->table == x->table || c->unique || linked[c->table * v->n + x->table])
            continue;
        within[2 * i] = one_key(key[i], key[q->col[0]]) && tab_key_holds_most(c, x);
        within[2 * i + 1] = one_key(key[i], key[q->col[1]]) && tab_key_holds_most(c, y);
        both |= (size_t)within[2 * i] | (size_t)within[2 * i + 1] << 1;
    }
    tab_pair_set set = { 0 };
    uint64_t pair;
    if (ok && both == 3) { /* the key's pairs are put into a set once, for all of its children */
        ok = tab_pair_set_new(&set, t->rows);
        for (size_t r = 0; ok && r < t->rows; r++)
            if (tab_pair_of(&t->col[x->column], r, &t->col[y->column], r, &pair))
                (void)tab_pair_set_add(&set, pair, (uint32_t)r);
        for (size_t s = 0; ok && s < v->n && !tab_engine_cancelled(e); s++)
            if (s != x->table)
                ok = children(v, k, &set, q, s, within, l);
        tab_pair_set_free(&set);
    }
    free(within);
    if (tab_engine_cancelled(e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    return ok ? TAB_OK : tab_no_memory(err);
}

/* For qsort: what most speaks for first, then the smallest parent, which has the least room for chance. */
static int likeliest_first(const void *a, const void *b)
{
    const tab_key_pair *x = a, *y = b;
    if (x->told != y->told)
        return x->told > y->told ? -1 : 1;
    if (x->parent_pairs != y->parent_pairs)
        return x->parent_pairs < y->parent_pairs ? -1 : 1;
    int c = memcmp(x->child, y->child, sizeof x->child);
    return c != 0 ? c : memcmp(x->parent, y->parent, sizeof x->parent);
}

/* For qsort: by child table, child columns. */
static int by_child(const void *a, const void *b)
{
    const tab_key_pair *x = a, *y = b;
    for (int i = 0; i < 2; i++)
        if (x->child[i] != y->child[i])
            return x->child[i] < y->child[i] ? -1 : 1;
    return 0;
}

/* Whether a pair says nothing beside one that was taken: the same columns of the child, in either order;
 * or the same two tables, the other way round or by other columns of the parent. (A row may refer to two
 * rows of one table: the winner and the loser.) */
static bool said(const tab_key_columns *k, const tab_key_pair *x, const tab_key_pair *y)
{
    uint32_t child = k->col[x->child[0]].table, parent = k->col[x->parent[0]].table;
    uint32_t its_child = k->col[y->child[0]].table, its_parent = k->col[y->parent[0]].table;
    bool same = (x->child[0] == y->child[0] && x->child[1] == y->child[1]) ||
                (x->child[0] == y->child[1] && x->child[1] == y->child[0]);
    bool other = x->parent[0] != y->parent[0] || x->parent[1] != y->parent[1];
    return same || (child == its_parent && parent == its_child) ||
           (child == its_child && parent == its_parent && other);
}

tab_status tab_key_pairs_find(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                              const bool *linked, const uint32_t *key, tab_arena *a, tab_key_pair **ret,
                              size_t *ret_n, tab_error *err)
{
    found l = { 0 };
    tab_status st = TAB_OK;
    size_t n = 0;
    for (size_t t = 0; st == TAB_OK && t < v->n; t++) {
        pair_key own[MOST_KEYS];
        size_t keys = keys_of(v, k, t, own);
        for (size_t q = 0; st == TAB_OK && q < keys; q++)
            st = children_of(e, v, k, linked, key, &own[q], &l, err);
    }
    if (l.n > 0)
        qsort(l.x, l.n, sizeof *l.x, likeliest_first);
    for (size_t i = 0; i < l.n; i++) { /* what is taken moves to the front */
        bool known = false;
        for (size_t o = 0; o < n && !known; o++)
            known = said(k, &l.x[i], &l.x[o]);
        if (!known)
            l.x[n++] = l.x[i];
    }
    if (n > 0)
        qsort(l.x, n, sizeof *l.x, by_child);
    *ret = st == TAB_OK ? tab_arena_new_of(a, tab_key_pair, n) : NULL;
    if (*ret != NULL && n > 0)
        memcpy(*ret, l.x, n * sizeof *l.x);
    *ret_n = n;
    free(l.x);
    return st != TAB_OK || *ret != NULL ? st : tab_no_memory(err);
}

uint32_t *tab_key_pair_rows(const tab_table_view *child, const uint32_t c[2], const tab_table_view *parent,
                            const uint32_t p[2])
{
    tab_pair_set set;
    uint64_t pair;
    uint32_t *to = malloc((child->rows + 1) * sizeof *to);
    if (to == NULL || !tab_pair_set_new(&set, parent->rows)) {
        free(to);
        return NULL;
    }
    for (size_t r = 0; r < parent->rows; r++)
        if (tab_pair_of(&parent->col[p[0]], r, &parent->col[p[1]], r, &pair))
            (void)tab_pair_set_add(&set, pair, (uint32_t)r);
    for (size_t r = 0; r < child->rows; r++)
        to[r] = tab_pair_of(&child->col[c[0]], r, &child->col[c[1]], r, &pair) ? tab_pair_set_row(&set, pair)
                                                                               : TAB_NULL;
    tab_pair_set_free(&set);
    return to;
}
