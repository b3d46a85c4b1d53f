/* See sets.h. First the keys of each table: the smallest sets of two to four columns that name its rows,
 * among the columns that hold values of other tables. Then, for each, as many columns of another table
 * whose values lie in its columns, compared tuple by tuple:
 *
 *   h of the child's m tuples are held; were one of their values put in anew, a share u of them would be
 *
 *   logit p = PRIOR + min(FREE (h log(KEPT / u) + (m - h) log((1 - KEPT) / (1 - u))), BOUND)
 *
 * u is the greatest over the columns, so that each of them has to tell something. The sum is bounded:
 * values of two columns may go together for a reason that both tables share. */
#include "services/inference/engine/keys/sets.h"

#include <math.h>

#include "services/inference/engine/align/normalize_text.h"
#include "services/inference/engine/keys/inclusions_internal.h"
#include "services/inference/engine/keys/tuple_set.h"

/* LEAST_ROWS: of a table with such a key. SAMPLED: rows that are looked at before all are. PARTS: columns
 * of a table that may be part of one, the first ones, and where sets of four are asked, FEW_PARTS.
 * MOST_KEYS: of a table. MOST_CHECKED: sets of which all rows are looked at. MOST_WAYS: in which columns
 * of one table may refer to one key. JOINED: rows of a child. */
enum {
    LEAST_ROWS = 8,
    SAMPLED = 1000,
    PARTS = 24,
    FEW_PARTS = 10,
    MOST_KEYS = 8,
    MOST_CHECKED = 100,
    MOST_WAYS = 64,
    JOINED = 20000
};
/* EXACT: share of rows that a key tells apart. PRESENT: of rows with a value, of its columns. ONCE: of
 * the child's tuples, where they are a key of the child, too. */
static const double EXACT = 0.99, PRESENT = 0.98, ONCE = 0.98;
/* FREE: what a tuple counts, since tuples of one row's values are seldom free of one another. Chosen on made
 * schemas, FREE with an eye on public ones (decision 0348). */
static const double PRIOR = -4, KEPT = 0.99, BOUND = 8, LEAST_HELD = 0.9, FREE = 1.0 / 3;
static const double STEPS = 50; /* what is held is compared in */

/* A few columns that name the rows of their table; columns of tab_key_columns.col. */
typedef struct {
    uint32_t n, col[TAB_KEY_WIDEST];
} set_key;

/* What all of it needs. */
typedef struct {
    const tab_engine *e;
    const tab_views *v;
    const tab_key_columns *k;
    const bool *linked;
    const bool *refers;
    const uint32_t *key;
} search;

/* A row's partner when values are put together anew: any row. (A fixed step would keep what a regular
 * table has, such as a line a day of every station.) */
static size_t other_row(size_t r, size_t rows)
{
    return tab_hash_mix(r, 17) % rows;
}

static const tab_table_view *table_of(const search *s, uint32_t column, const uint32_t *col, uint32_t n,
                                      uint32_t *ret)
{
    for (uint32_t i = 0; i < n; i++)
        ret[i] = s->k->col[col[i]].column;
    return &s->v->table[s->k->col[column].table];
}

/* Whether rows [from, to) of a table hold each tuple of q once, but for one in a hundred. False also when
 * out of memory. */
static bool once_in(const search *s, const set_key *q, size_t from, size_t to)
{
    uint32_t col[TAB_KEY_WIDEST];
    const tab_table_view *t = table_of(s, q->col[0], q->col, q->n, col);
    tab_tuple_set set;
    uint64_t tuple;
    size_t all = 0, most = (size_t)((1 - EXACT) * (double)(to - from)), twice = 0;
    if (!tab_tuple_set_new(&set, to - from + 1))
        return false;
    for (size_t r = from; r < to && twice <= most; r++)
        if (tab_tuple_of(t, col, q->n, r, q->n, 0, &tuple)) {
            all++;
            twice += !tab_tuple_set_add(&set, tuple, (uint32_t)r);
        }
    tab_tuple_set_free(&set);
    return twice <= most && (double)all >= PRESENT * (double)(to - from);
}

/* Whether a set of columns names the rows of its table; *checked counts those of which all rows were
 * asked. */
static bool names_rows(const search *s, const set_key *q, size_t *checked)
{
    size_t rows = s->v->table[s->k->col[q->col[0]].table].rows;
    double most = 1;
    for (uint32_t i = 0; i < q->n; i++)
        most *= s->k->col[q->col[i]].n;
    if (most < EXACT * (double)rows || *checked >= MOST_CHECKED)
        return false;
    if (rows > 2 * SAMPLED) {
        size_t from = rows / 2 - SAMPLED / 2;
        if (!once_in(s, q, from, from + SAMPLED))
            return false;
    }
    ++*checked;
    return once_in(s, q, 0, rows);
}

/* Whether a known key is among the columns of q: then these name rows, but are not the fewest that do. */
static bool holds_key(const set_key *q, const set_key *known, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t in = 0;
        for (uint32_t a = 0; a < known[i].n; a++)
            for (uint32_t b = 0; b < q->n; b++)
                in += known[i].col[a] == q->col[b];
        if (in == known[i].n)
            return true;
    }
    return false;
}

/* The next set of `size` of n places, in order; false: it was the last. */
static bool next_set(uint32_t *at, uint32_t size, uint32_t n)
{
    uint32_t i = size;
    while (i-- > 0)
        if (at[i] < n - size + i) {
            at[i]++;
            while (++i < size)
                at[i] = at[i - 1] + 1;
            return true;
        }
    return false;
}

/* The keys of one table, at most MOST_KEYS: sets of two columns, then of three, then of four. held
 * (columns): whether a column holds most values of one of another table. */
static size_t keys_of(const search *s, size_t table, const bool *held, set_key *ret)
{
    uint32_t part[PARTS], n = 0;
    size_t keys = 0, rows = s->v->table[table].rows, checked = 0;
    for (size_t i = s->k->at[table]; i < s->k->at[table + 1] && n < PARTS && rows >= LEAST_ROWS; i++)
        if (held[i])
            part[n++] = (uint32_t)i;
    for (uint32_t size = 2; size <= TAB_KEY_WIDEST; size++) {
        uint32_t of = size < TAB_KEY_WIDEST || n < FEW_PARTS ? n : FEW_PARTS;
        uint32_t at[TAB_KEY_WIDEST] = { 0, 1, 2, 3 };
        bool more = of >= size;
        for (; more && keys < MOST_KEYS; more = next_set(at, size, of)) {
            set_key q = { .n = size };
            for (uint32_t i = 0; i < size; i++)
                q.col[i] = part[at[i]];
            if (!holds_key(&q, ret, keys) && names_rows(s, &q, &checked))
                ret[keys++] = q;
        }
    }
    return keys;
}

/* Compares the child's tuples with the parent's, which are in `set`. False: out of memory. */
static bool compare(const search *s, const tab_tuple_set *set, tab_key_set *r)
{
    uint32_t col[TAB_KEY_WIDEST];
    const tab_table_view *t = table_of(s, r->child[0], r->child, r->n, col);
    size_t step = t->rows / JOINED + 1, all = 0, seen[TAB_KEY_WIDEST] = { 0 }, lucky[TAB_KEY_WIDEST] = { 0 };
    tab_tuple_set own;
    uint64_t tuple;
    if (!tab_tuple_set_new(&own, t->rows / step + 1))
        return false;
    for (size_t i = 0; i < t->rows; i += step) {
        if (tab_tuple_of(t, col, r->n, i, r->n, 0, &tuple)) {
            all++;
            if (tab_tuple_set_add(&own, tuple, (uint32_t)i))
                r->held += tab_tuple_set_row(set, tuple) != TAB_NULL;
        }
        for (uint32_t c = 0; c < r->n; c++)
            if (tab_tuple_of(t, col, r->n, i, c, other_row(i, t->rows), &tuple)) {
                seen[c]++;
                lucky[c] += tab_tuple_set_row(set, tuple) != TAB_NULL;
            }
    }
    r->tuples = own.n;
    r->parent_tuples = set->n;
    r->parent_rows = s->v->table[s->k->col[r->parent[0]].table].rows;
    r->once = (double)own.n >= ONCE * (double)all;
    for (uint32_t c = 0; c < r->n; c++)
        r->chance = fmax(r->chance, ((double)lucky[c] + 0.5) / ((double)seen[c] + 1));
    tab_tuple_set_free(&own);
    double m = r->tuples, h = r->held;
    if (m < 2 || h < LEAST_HELD * m)
        return true; /* p stays 0 */
    double u = fmin(r->chance, KEPT);
    r->told = fmin(FREE * (h * log(KEPT / u) + (m - h) * log((1 - KEPT) / (1 - u))), BOUND);
    r->p = 1 / (1 + exp(-(PRIOR + r->told)));
    return true;
}

/* A list that grows. */
typedef struct {
    tab_key_set *x;
    size_t n, cap;
} found;

static bool add(found *l, const tab_key_set *x)
{
    if (l->n == l->cap) {
        size_t cap = l->cap == 0 ? 32 : 2 * l->cap;
        tab_key_set *grown = realloc(l->x, cap * sizeof *grown);
        if (grown == NULL)
            return false;
        l->x = grown;
        l->cap = cap;
    }
    l->x[l->n++] = *x;
    return true;
}

/* Whether columns of keys a and b may be of one key: TAB_NULL is not known. */
static bool one_key(uint32_t a, uint32_t b)
{
    return a == b || a == TAB_NULL || b == TAB_NULL;
}

/* Whether column c may refer to part p of a key of another table. A column that names the rows of its own
 * table needs no second one. */
static bool may_refer(const search *s, size_t c, size_t p)
{
    const tab_key_column *x = &s->k->col[c], *y = &s->k->col[p];
    return x->table != y->table && !x->unique && x->n > 1 && one_key(s->key[c], s->key[p]) &&
           !s->linked[x->table * s->v->n + y->table] && tab_key_holds_most(x, y);
}

/* All ways in which columns of table `child` refer to key q, whose tuples are in `set`; part[i] lists the
 * n[i] columns that may refer to its column i. False: out of memory. */
static bool ways(const search *s, const tab_tuple_set *set, const set_key *q, uint32_t *const *part,
                 const uint32_t *n, found *l)
{
    uint32_t at[TAB_KEY_WIDEST] = { 0 };
    for (size_t tried = 0; tried < MOST_WAYS; tried++) {
        tab_key_set r = { .n = q->n };
        bool twice = false;
        for (uint32_t i = 0; i < q->n; i++) {
            r.child[i] = part[i][at[i]];
            r.parent[i] = q->col[i];
            for (uint32_t j = 0; j < i; j++)
                twice = twice || r.child[j] == r.child[i];
        }
        if (!twice && (!compare(s, set, &r) || (r.p >= 0.5 && !add(l, &r))))
            return false;
        uint32_t i = 0;
        while (i < q->n && ++at[i] == n[i])
            at[i++] = 0;
        if (i == q->n)
            break;
    }
    return true;
}

/* Room for the columns of each part of a key: (parts, columns). */
typedef struct {
    uint32_t *part[TAB_KEY_WIDEST], n[TAB_KEY_WIDEST];
} parts;

/* All children of one key. */
static bool children_of(const search *s, const set_key *q, parts *w, found *l)
{
    uint32_t col[TAB_KEY_WIDEST];
    const tab_table_view *t = table_of(s, q->col[0], q->col, q->n, col);
    size_t parent = s->k->col[q->col[0]].table;
    tab_tuple_set set = { 0 };
    uint64_t tuple;
    bool ok = true;
    for (size_t c = 0; ok && c < s->v->n && !tab_engine_cancelled(s->e); c++) {
        bool all = c != parent && !s->linked[c * s->v->n + parent];
        for (uint32_t i = 0; all && i < q->n; i++) {
            w->n[i] = 0;
            for (size_t x = s->k->at[c]; x < s->k->at[c + 1]; x++)
                if (may_refer(s, x, q->col[i]))
                    w->part[i][w->n[i]++] = (uint32_t)x;
            all = w->n[i] > 0;
        }
        if (all && set.tuple == NULL) { /* once for all children */
            ok = tab_tuple_set_new(&set, t->rows);
            for (size_t r = 0; ok && r < t->rows; r++)
                if (tab_tuple_of(t, col, q->n, r, q->n, 0, &tuple))
                    (void)tab_tuple_set_add(&set, tuple, (uint32_t)r);
        }
        ok = ok && (!all || ways(s, &set, q, w->part, w->n, l));
    }
    tab_tuple_set_free(&set);
    return ok;
}

/* For qsort: what most speaks for first, then the fewest columns, what is held, and the smallest parent,
 * which has the least room for chance. */
static int likeliest_first(const void *a, const void *b)
{
    const tab_key_set *x = a, *y = b;
    int hx = (int)(STEPS * x->held / x->tuples), hy = (int)(STEPS * y->held / y->tuples);
    if (x->told != y->told)
        return x->told > y->told ? -1 : 1;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    if (hx != hy)
        return hx > hy ? -1 : 1;
    if (x->parent_rows != y->parent_rows)
        return x->parent_rows < y->parent_rows ? -1 : 1;
    int c = memcmp(x->child, y->child, sizeof x->child);
    return c != 0 ? c : memcmp(x->parent, y->parent, sizeof x->parent);
}

/* Whether the child's columns repeat what one column of its table that refers elsewhere leads to: the name
 * and the date of a match, beside the match's number. False also when out of memory. */
static bool repeats(const search *s, const tab_key_set *x)
{
    size_t table = s->k->col[x->child[0]].table;
    size_t asked = 0;
    for (size_t i = s->k->at[table]; i < s->k->at[table + 1] && asked < PARTS; i++) {
        set_key q = { .n = x->n };
        uint32_t col[TAB_KEY_WIDEST], own = s->k->col[i].column;
        bool part = false;
        for (size_t k = 0; k < x->n; k++)
            part |= x->child[k] == (uint32_t)i;
        if (!s->refers[i] || part)
            continue;
        asked++;
        memcpy(q.col, x->child, sizeof q.col);
        const tab_table_view *t = table_of(s, q.col[0], q.col, q.n, col);
        size_t values = t->col[own].values, other = 0, rows = 0;
        uint64_t *first = calloc(values + 1, sizeof *first), tuple;
        for (size_t r = 0; first != NULL && r < t->rows; r++) {
            uint32_t code = t->col[own].code[r];
            if (code == TAB_NULL || !tab_tuple_of(t, col, q.n, r, q.n, 0, &tuple))
                continue;
            rows++;
            if (first[code] == 0)
                first[code] = tuple + 1;
            other += first[code] != tuple + 1;
        }
        bool known = first != NULL && (double)other < (1 - EXACT) * (double)rows && values * 2 < rows;
        free(first);
        if (known)
            return true;
    }
    return false;
}

/* For qsort: by child table, child columns. */
static int by_child(const void *a, const void *b)
{
    const tab_key_set *x = a, *y = b;
    for (int i = 0; i < TAB_KEY_WIDEST; i++)
        if (x->child[i] != y->child[i])
            return x->child[i] < y->child[i] ? -1 : 1;
    return 0;
}

/* How many columns of a are among those of b. */
static uint32_t shared(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
    uint32_t same = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < m; j++)
            same += a[i] == b[j];
    return same;
}

/* Whether a set says nothing beside one that was taken: the same columns of the child, or some of them; or
 * the same two tables, the other way round or by other columns of the parent. (A row may refer to two rows
 * of one table: the winner and the loser.) */
static bool said(const tab_key_columns *k, const tab_key_set *x, const tab_key_set *y)
{
    uint32_t child = k->col[x->child[0]].table, parent = k->col[x->parent[0]].table;
    uint32_t its_child = k->col[y->child[0]].table, its_parent = k->col[y->parent[0]].table;
    uint32_t same = shared(x->child, x->n, y->child, y->n);
    bool other = shared(x->parent, x->n, y->parent, y->n) < x->n || x->n != y->n;
    return (same == x->n && x->n <= y->n) || (child == its_parent && parent == its_child) ||
           (child == its_child && parent == its_parent && other);
}

/* Takes the likeliest first; what is taken moves to the front. Returns how many. */
static size_t choose(const search *s, found *l)
{
    size_t n = 0;
    if (l->n > 0)
        qsort(l->x, l->n, sizeof *l->x, likeliest_first);
    for (size_t i = 0; i < l->n; i++) {
        bool known = repeats(s, &l->x[i]);
        for (size_t o = 0; o < n && !known; o++)
            known = said(s->k, &l->x[i], &l->x[o]);
        if (!known)
            l->x[n++] = l->x[i];
    }
    if (n > 0)
        qsort(l->x, n, sizeof *l->x, by_child);
    return n;
}

/* Whether two columns of a table say the same of each row: a code and its name. False also when out of
 * memory. */
static bool say_the_same(const search *s, size_t a, size_t b)
{
    set_key q = { 2, { (uint32_t)a, (uint32_t)b } };
    uint32_t col[TAB_KEY_WIDEST];
    const tab_table_view *t = table_of(s, q.col[0], q.col, q.n, col);
    size_t most = s->k->col[a].n;
    tab_tuple_set set;
    uint64_t tuple;
    if (s->k->col[b].n != most || !tab_tuple_set_new(&set, most + 1))
        return false;
    for (size_t r = 0; r < t->rows && set.n <= most; r++)
        if (tab_tuple_of(t, col, q.n, r, q.n, 0, &tuple))
            (void)tab_tuple_set_add(&set, tuple, (uint32_t)r);
    tab_tuple_set_free(&set);
    return set.n <= most;
}

/* Marks columns that may be part of a key that other tables refer to. Moments are none: what two tables
 * tell of one thing on one day need not be one thing more. */
static void mark_held(const search *s, bool *held)
{
    size_t columns = s->k->at[s->v->n];
    for (size_t t = 0; t < s->v->n; t++) {
        uint32_t n = 0;
        for (size_t p = s->k->at[t]; p < s->k->at[t + 1] && n < PARTS; p++) {
            const tab_key_column *c = &s->k->col[p];
            if (c->kind == TAB_KEY_OTHER || c->kind == TAB_KEY_DATE || c->unique || c->n < 2 ||
                (double)c->present < PRESENT * (double)s->v->table[t].rows)
                continue;
            for (size_t x = 0; x < columns && !held[p]; x++)
                held[p] = may_refer(s, x, p);
            for (size_t x = s->k->at[t]; x < p && held[p]; x++)
                held[p] = !(held[x] && say_the_same(s, x, p));
            n += held[p];
        }
    }
}

tab_status tab_key_sets_find(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                             const bool *linked, const bool *refers, const uint32_t *key, tab_arena *a,
                             tab_key_set **ret, size_t *ret_n, tab_error *err)
{
    search s = { e, v, k, linked, refers, key };
    found l = { 0 };
    parts w = { 0 };
    size_t columns = k->at[v->n];
    bool *held = tab_arena_new_of(a, bool, columns + 1), ok = held != NULL;
    for (int i = 0; i < TAB_KEY_WIDEST; i++) {
        w.part[i] = tab_arena_new_of(a, uint32_t, columns + 1);
        ok = ok && w.part[i] != NULL;
    }
    if (ok)
        mark_held(&s, held);
    for (size_t t = 0; ok && t < v->n && !tab_engine_cancelled(e); t++) {
        set_key own[MOST_KEYS];
        size_t keys = keys_of(&s, t, held, own);
        for (size_t q = 0; ok && q < keys; q++)
            ok = children_of(&s, &own[q], &w, &l);
    }
    size_t n = ok ? choose(&s, &l) : 0;
    *ret = ok ? tab_arena_new_of(a, tab_key_set, n + 1) : NULL;
    if (*ret != NULL && n > 0)
        memcpy(*ret, l.x, n * sizeof *l.x);
    *ret_n = n;
    free(l.x);
    if (tab_engine_cancelled(e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    return *ret != NULL ? TAB_OK : tab_no_memory(err);
}

uint32_t *tab_key_set_rows(const tab_table_view *child, const uint32_t *c, const tab_table_view *parent,
                           const uint32_t *p, uint32_t n)
{
    tab_tuple_set set;
    uint64_t tuple;
    uint32_t *to = malloc((child->rows + 1) * sizeof *to);
    if (to == NULL || !tab_tuple_set_new(&set, parent->rows)) {
        free(to);
        return NULL;
    }
    for (size_t r = 0; r < parent->rows; r++)
        if (tab_tuple_of(parent, p, n, r, n, 0, &tuple))
            (void)tab_tuple_set_add(&set, tuple, (uint32_t)r);
    for (size_t r = 0; r < child->rows; r++)
        to[r] = tab_tuple_of(child, c, n, r, n, 0, &tuple) ? tab_tuple_set_row(&set, tuple) : TAB_NULL;
    tab_tuple_set_free(&set);
    return to;
}
