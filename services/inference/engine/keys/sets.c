/* See sets.h. First the keys of each table: the smallest sets of two to four columns that name its rows,
 * among the columns that hold values of other tables. Then, for each, as many columns of another table
 * whose values lie in its columns, compared tuple by tuple:
 *
 *   h of the child's m tuples are held; were one of their values put in anew, a share u of them would be
 *
 *   told = h log(KEPT / u) + (m - h) log((1 - KEPT) / (1 - u))
 *
 * u is the greatest over the columns, so that each of them has to tell something. Tuples of a table are
 * seldom free of one another, so that this is no more than a feature among others (decision 0461). Columns
 * that have the names of the key's, each of them, tell as well, and in tables of a dozen rows more than the
 * values do (decision 0556). */
#include "services/inference/engine/keys/sets.h"

#include <ctype.h>
#include <math.h>
#include <strings.h>

#include "services/inference/engine/keys/inclusions_internal.h"
#include "services/inference/engine/keys/tuple_set.h"

/* LEAST_ROWS: of a table with such a key. SAMPLED: rows that are looked at before all are. PARTS: columns
 * of a table that may be part of one, the first ones, and where sets of four are asked, FEW_PARTS.
 * MOST_KEYS: of a table. MOST_CHECKED: sets of which all rows are looked at. MOST_WAYS: in which columns
 * of one table may refer to one key. MOST_CANDIDATES: that are compared with one another, the first ones.
 * JOINED: rows of a child. */
enum {
    LEAST_ROWS = 8,
    SAMPLED = 1000,
    PARTS = 24,
    FEW_PARTS = 10,
    MOST_KEYS = 8,
    MOST_CHECKED = 100,
    MOST_WAYS = 64,
    MOST_CANDIDATES = 4096,
    JOINED = 20000
};
/* EXACT: share of rows that a key tells apart. PRESENT: of rows with a value, of its columns. ONCE: of
 * the child's tuples, where they are a key of the child, too. LEAST_TOLD: of a candidate. */
static const double EXACT = 0.99, PRESENT = 0.98, ONCE = 0.98, KEPT = 0.99, LEAST_HELD = 0.9, LEAST_TOLD = 3,
                    HALF = 0.5;

/* A few columns that name the rows of their table; columns of tab_key_columns.col. */
typedef struct {
    uint32_t n, col[TAB_KEY_WIDEST];
} set_key;

typedef tab_key_set_search search;

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

/* The dates among a set's columns. */
static uint32_t dates_of(const search *s, const set_key *q)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->n; i++)
        n += s->k->col[q->col[i]].kind == TAB_KEY_DATE;
    return n;
}

/* The keys of one table that have `dates` dates, at most MOST_KEYS with the `keys` known ones: sets of two
 * columns, then of three, then of four. held (columns): whether a column holds most values of one of another
 * table. */
static size_t keys_of(const search *s, size_t table, const bool *held, uint32_t dates, set_key *ret,
                      size_t keys)
{
    uint32_t part[PARTS], n = 0;
    size_t rows = s->v->table[table].rows, checked = 0;
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
            if (dates_of(s, &q) == dates && !holds_key(&q, ret, keys) && names_rows(s, &q, &checked))
                ret[keys++] = q;
        }
    }
    return keys;
}

static tab_str name_of(const search *s, uint32_t column)
{
    const tab_key_column *c = &s->k->col[column];
    return s->v->table[c->table].profile->table->col[c->column].name;
}

static size_t digits_at(tab_str s, size_t from)
{
    size_t n = 0;
    while (from + n < s.n && isdigit((unsigned char)s.p[from + n]))
        n++;
    return n;
}

static bool same_name(tab_str a, tab_str b)
{
    return a.n > 0 && a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

/* Whether row i of the child is of a moment before or after all of the parent's. */
static bool elsewhen(const search *s, const tab_key_set *r, size_t i)
{
    for (uint32_t c = 0; c < r->n; c++) {
        const tab_key_column *x = &s->k->col[r->child[c]], *y = &s->k->col[r->parent[c]];
        const tab_view *w = &s->v->table[x->table].col[x->column];
        if (!tab_key_timed(x, y) || w->code[i] == TAB_NULL)
            continue;
        double at = w->value[w->code[i]].number;
        if (at < y->least || at > y->most)
            return true;
    }
    return false;
}

/* Whether a candidate's columns are one that says when, on the parent's calendar, and others that say of
 * what: texts, or one that has the same name in both tables, of no key of their own. In a whole panel each
 * thing has each moment, so that its tuples tell nothing; within: how many of them are of the calendar's
 * span. */
static bool is_panel(const search *s, const tab_key_set *r, uint32_t within)
{
    uint32_t timed = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        const tab_key_column *x = &s->k->col[r->child[i]], *y = &s->k->col[r->parent[i]];
        bool when = tab_key_timed(x, y);
        timed += when;
        bool of_key = s->key[r->child[i]] != TAB_NULL || s->key[r->parent[i]] != TAB_NULL;
        bool texts = x->kind == TAB_KEY_TEXT && y->kind == TAB_KEY_TEXT,
             named = r->n == 2 && same_name(name_of(s, r->child[i]), name_of(s, r->parent[i]));
        if (!when && (of_key || !(texts || named)))
            return false;
    }
    return timed == 1 && r->told < LEAST_TOLD && within >= LEAST_ROWS && r->held >= LEAST_HELD * within;
}

/* Whether a column's name differs from the others of its table by more than digits: c0 beside c1 says
 * nothing. */
static bool says_something(const search *s, uint32_t column)
{
    const tab_key_column *x = &s->k->col[column];
    const tab_table *t = s->v->table[x->table].profile->table;
    tab_str name = name_of(s, column);
    for (uint32_t c = 0; c < t->cols; c++) {
        tab_str other = t->col[c].name;
        size_t i = 0, j = 0;
        while (c != x->column) { /* up to the first difference that no digit makes */
            i += digits_at(name, i);
            j += digits_at(other, j);
            if (i == name.n || j == other.n ||
                tolower((unsigned char)name.p[i]) != tolower((unsigned char)other.p[j]))
                break;
            i++, j++;
        }
        if (c != x->column && i == name.n && j == other.n)
            return false;
    }
    return true;
}

/* Whether two tables tell of the same things by the same columns: each column has its parent's name, each
 * tuple of the child is held, and none of the columns is of a key of its own. Where each value of one column
 * stands beside each of the others, as stores by months do, tuples tell nothing, and the names tell (decision
 * 0661). */
static bool is_grid(const search *s, const tab_key_set *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (s->key[r->child[i]] != TAB_NULL || s->key[r->parent[i]] != TAB_NULL ||
            !same_name(name_of(s, r->child[i]), name_of(s, r->parent[i])) ||
            !says_something(s, r->child[i]) || !says_something(s, r->parent[i]))
            return false;
    return r->told < LEAST_TOLD && r->tuples >= LEAST_ROWS && r->held == r->tuples;
}

/* Whether one of the pairs of columns is of moments on one calendar. */
static bool has_moment(const search *s, const tab_key_set *r)
{
    bool timed = false;
    for (uint32_t i = 0; i < r->n; i++)
        timed = timed || tab_key_timed(&s->k->col[r->child[i]], &s->k->col[r->parent[i]]);
    return timed;
}

/* Looks for the child's tuples, each once, among the parent's, which are in `set`; *within: how many are of
 * the parent's span of time. Stops where so many are not held that the rest could not make up for it: no
 * more than 1 - LEAST_HELD of the tuples may be missed, unless they are of another time (decision 0730).
 * False: out of memory. */
static bool look_up(const search *s, const tab_tuple_set *set, tab_key_set *r, size_t step, uint32_t *within)
{
    uint32_t col[TAB_KEY_WIDEST];
    const tab_table_view *t = table_of(s, r->child[0], r->child, r->n, col);
    bool timed = has_moment(s, r);
    tab_tuple_set own;
    uint64_t tuple;
    if (!tab_tuple_set_new(&own, t->rows / step + 1))
        return false;
    for (size_t i = 0; i < t->rows; i += step) {
        if (!tab_tuple_of(t, col, r->n, i, r->n, 0, &tuple))
            continue;
        r->child_rows++;
        if (!tab_tuple_set_add(&own, tuple, (uint32_t)i))
            continue;
        r->held += tab_tuple_set_row(set, tuple) != TAB_NULL;
        *within += timed ? !elsewhen(s, r, i) : 1;
        double most = (double)own.n + (double)(t->rows - i) / (double)step;
        if (!timed && (double)(own.n - r->held) > (1 - LEAST_HELD) * most + 1)
            break;
    }
    r->tuples = own.n;
    r->once = (double)own.n >= ONCE * (double)r->child_rows;
    tab_tuple_set_free(&own);
    return true;
}

/* The share of the child's tuples that would be held by chance, were the values of a column put in anew;
 * returns the greatest over the columns. */
static double by_chance(const search *s, const tab_tuple_set *set, tab_key_set *r, size_t step)
{
    uint32_t col[TAB_KEY_WIDEST];
    const tab_table_view *t = table_of(s, r->child[0], r->child, r->n, col);
    double u = 0;
    for (uint32_t c = 0; c < r->n; c++) {
        size_t seen = 0, lucky = 0;
        uint64_t tuple;
        for (size_t i = 0; i < t->rows; i += step)
            if (tab_tuple_of(t, col, r->n, i, c, other_row(i, t->rows), &tuple)) {
                seen++;
                lucky += tab_tuple_set_row(set, tuple) != TAB_NULL;
            }
        r->chance[c] = ((double)lucky + 0.5) / ((double)seen + 1);
        u = fmax(u, fmin(r->chance[c], KEPT));
    }
    return u;
}

/* Compares the child's tuples with the parent's, which are in `set`. What chance would do is asked only of
 * what may become a candidate: most pairs of tables do not (decision 0730). False: out of memory. */
static bool compare(const search *s, const tab_tuple_set *set, tab_key_set *r)
{
    size_t rows = s->v->table[s->k->col[r->child[0]].table].rows, step = rows / JOINED + 1;
    uint32_t within = 0; /* tuples of moments in the parent's span */
    if (!look_up(s, set, r, step, &within))
        return false;
    r->parent_tuples = set->n;
    r->parent_rows = s->v->table[s->k->col[r->parent[0]].table].rows;
    double m = r->tuples, h = r->held;
    bool held = m >= 2 && h >= LEAST_HELD * m;
    if (!held && !is_panel(s, r, within) && !is_grid(s, r))
        return true;
    double u = by_chance(s, set, r, step);
    if (held)
        r->told = h * log(KEPT / u) + (m - h) * log((1 - KEPT) / (1 - u));
    r->panel = is_panel(s, r, within);
    r->grid = !r->panel && is_grid(s, r);
    return true;
}

/* Log-odds of the names: were it chance that a column stands for another, it would be any pair of columns of
 * the two tables, of which a share have one name. 0 where not each of the columns has its parent's name. */
static double told_by_names(const search *s, const tab_key_set *r)
{
    const tab_table *child = s->v->table[s->k->col[r->child[0]].table].profile->table;
    const tab_table *parent = s->v->table[s->k->col[r->parent[0]].table].profile->table;
    size_t same = 0;
    for (uint32_t i = 0; i < r->n; i++)
        if (!same_name(name_of(s, r->child[i]), name_of(s, r->parent[i])))
            return 0;
    for (size_t i = 0; i < child->cols; i++)
        for (size_t j = 0; j < parent->cols; j++)
            same += same_name(child->col[i].name, parent->col[j].name);
    return r->n * log((double)child->cols * (double)parent->cols / (double)same);
}

/* A list that grows. */
typedef struct {
    tab_key_set *x;
    size_t n, cap;
} found;

static bool add(found *l, const tab_key_set *x)
{
    if (l->n == MOST_CANDIDATES)
        return true;
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
    size_t from = l->n, tried = 0;
    for (; tried < MOST_WAYS; tried++) {
        tab_key_set r = { .n = q->n };
        bool twice = false;
        for (uint32_t i = 0; i < q->n; i++) {
            r.child[i] = part[i][at[i]];
            r.parent[i] = q->col[i];
            for (uint32_t j = 0; j < i; j++)
                twice = twice || r.child[j] == r.child[i];
        }
        if (!twice && !compare(s, set, &r))
            return false;
        if (r.told > 0)
            r.told += told_by_names(s, &r) / TAB_KEY_SET_FREE;
        if (!twice && (r.told >= LEAST_TOLD || r.panel || r.grid) && !add(l, &r))
            return false;
        uint32_t i = 0;
        while (i < q->n && ++at[i] == n[i])
            at[i++] = 0;
        if (i == q->n)
            break;
    }
    for (size_t i = from; i < l->n; i++)
        l->x[i].ways = (uint32_t)tried + 1;
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

/* Marks columns that may be part of a key that other tables refer to: of a code and its name the first, which
 * are taken to be columns of as many values. Tables hold what they pair as well, but where that was asked as
 * many references were found and a twelfth more was wrong (decision 0901). */
static void mark_held(const search *s, bool *held)
{
    size_t columns = s->k->at[s->v->n];
    for (size_t t = 0; t < s->v->n; t++) {
        uint32_t n = 0;
        for (size_t p = s->k->at[t]; p < s->k->at[t + 1] && n < PARTS; p++) {
            const tab_key_column *c = &s->k->col[p];
            if (c->kind == TAB_KEY_OTHER || c->unique || c->n < 2 ||
                (double)c->present < PRESENT * (double)s->v->table[t].rows)
                continue;
            for (size_t x = 0; x < columns && !held[p]; x++)
                held[p] = may_refer(s, x, p);
            for (size_t x = s->k->at[t]; x < p && held[p]; x++)
                held[p] = !(held[x] && s->k->col[x].n == c->n);
            n += held[p];
        }
    }
}

bool tab_key_set_search_new(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                            const tab_keys *single, tab_arena *a, tab_key_set_search *s)
{
    size_t columns = k->at[v->n];
    *s = (tab_key_set_search){ .e = e,
                               .v = v,
                               .k = k,
                               .single = single,
                               .linked = tab_arena_new_of(a, bool, v->n * v->n),
                               .refers = tab_arena_new_of(a, double, columns),
                               .key = tab_arena_new_of(a, uint32_t, columns) };
    if (s->linked == NULL || s->refers == NULL || s->key == NULL)
        return false;
    for (size_t t = 0; t < v->n; t++)
        for (size_t c = 0; c < v->table[t].cols; c++)
            s->key[k->at[t] + c] = single->domain[t][c];
    for (size_t i = 0; i < single->n; i++) {
        const tab_reference *r = &single->ref[i];
        if (r->p < HALF || !tab_reference_plain(r))
            continue;
        double *p = &s->refers[k->at[r->child_table] + r->child];
        s->linked[r->child_table * v->n + r->parent_table] = true;
        *p = fmax(*p, r->p);
    }
    return true;
}

tab_status tab_key_sets_candidates(const tab_key_set_search *s, tab_arena *a, tab_key_set **ret,
                                   size_t *ret_n, tab_error *err)
{
    found l = { 0 };
    parts w = { 0 };
    size_t columns = s->k->at[s->v->n];
    bool *held = tab_arena_new_of(a, bool, columns + 1), ok = held != NULL;
    for (int i = 0; i < TAB_KEY_WIDEST; i++) {
        w.part[i] = tab_arena_new_of(a, uint32_t, columns + 1);
        ok = ok && w.part[i] != NULL;
    }
    if (ok)
        mark_held(s, held);
    for (size_t t = 0; ok && t < s->v->n && !tab_engine_cancelled(s->e); t++) {
        set_key own[MOST_KEYS];
        size_t keys = keys_of(s, t, held, 0, own, 0);
        keys = keys_of(s, t, held, 1, own, keys);
        for (size_t q = 0; ok && q < keys; q++)
            ok = children_of(s, &own[q], &w, &l);
    }
    tab_key_sets_features(s, l.x, l.n);
    *ret = ok ? tab_arena_new_of(a, tab_key_set, l.n + 1) : NULL;
    if (*ret != NULL && l.n > 0)
        memcpy(*ret, l.x, l.n * sizeof *l.x);
    *ret_n = l.n;
    free(l.x);
    if (tab_engine_cancelled(s->e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    return *ret != NULL ? TAB_OK : tab_no_memory(err);
}

tab_status tab_key_sets_find(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                             const tab_keys *single, tab_arena *a, tab_key_set **ret, size_t *ret_n,
                             tab_error *err)
{
    tab_key_set_search s;
    if (!tab_key_set_search_new(e, v, k, single, a, &s))
        return tab_no_memory(err);
    TAB_TRY(tab_key_sets_candidates(&s, a, ret, ret_n, err));
    *ret_n = tab_key_sets_choose(&s, tab_key_set_weights_shipped(), *ret, *ret_n);
    return TAB_OK;
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
