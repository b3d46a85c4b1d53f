/* See inclusions.h. Every pair of a column and a unique column of one kind is a candidate; most are dropped
 * after a few of the child's values were looked up (the filter of De Marchi et al. 2009 for inclusion
 * dependencies). Each kept pair gets the features of inclusions.h: here those of the two columns, in
 * compete.c those that compare it with other pairs. */
#include "services/inference/engine/keys/inclusions.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/keys/inclusions_internal.h"

enum {
    PROBES = 24,  /* values of the child that are looked up before all are */
    BUCKETS = 64, /* of the parent's places, for the spread */
    JOINED = 300, /* rows that are joined for TOGETHER */
    LEAST_JOINED = 24,
    LEAST_JOINED_COLUMNS = 8
};
/* Comparisons of values that TOGETHER may take over all candidates. Every column of a wide table of few
 * rows may be a key of every other, and each such pair would compare all other columns: columns^4. Past
 * this, columns are taken at even distances. */
static const double MOST_COMPARISONS = 5e8;
/* Share of the child's values that a parent must hold to be a candidate: dirty data lacks a few. */
static const double LEAST_HELD = 0.8;
/* Share of a parent's values from which a counter may be its key over again. */
static const double NUMBERED = 0.98;
/* Share of the child's dates in a calendar's span that it holds, and how many at the least, for them to lie
 * on it. */
static const double ON_CALENDAR = 0.9;
enum { LEAST_MOMENTS = 8 };
/* Share of both columns' values from which they are the same, and how few values say nothing. */
static const double SAME = 0.98;
enum { LEAST_SAME = 6 };

/* Whether the parent holds a key; keys ascend, so the search goes on at `from`. *at: where it stands. */
static bool holds(const tab_key_column *p, uint32_t key, uint32_t from, uint32_t *at)
{
    uint32_t step = 1, lo = from, hi;
    while (lo + step < p->n && p->key[lo + step] < key) { /* gallop, then bisect */
        lo += step;
        step *= 2;
    }
    hi = lo + step < p->n ? lo + step + 1 : p->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (p->key[mid] < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    *at = lo;
    return lo < p->n && p->key[lo] == key;
}

bool tab_key_timed(const tab_key_column *c, const tab_key_column *p)
{
    return p->calendar && c->kind == p->kind && (c->kind == TAB_KEY_DATE || c->calendar);
}

/* A few of the child's values, evenly taken: whether enough of them may be held, all of them asked. */
static bool probe(const tab_key_column *c, const tab_key_column *p)
{
    uint32_t n = c->n < PROBES ? c->n : PROBES, missed = 0, at;
    for (uint32_t i = 0; i < n; i++)
        missed += !holds(p, c->key[(size_t)i * c->n / n], 0, &at);
    return missed * 5 <= n * 2;
}

/* Columns of one kind, where the parent is not much smaller. */
static bool of_one_kind(const tab_key_column *c, const tab_key_column *p)
{
    if (p->n < 2 || c->n < 2 || c->kind == TAB_KEY_OTHER || p->kind == TAB_KEY_OTHER ||
        (c->n > p->n + p->n / 4 && !tab_key_timed(c, p)))
        return false;
    return c->kind == TAB_KEY_DATE ? p->kind == TAB_KEY_DATE : p->kind != TAB_KEY_DATE;
}

/* Columns of two tables and of one kind, where the parent identifies rows. A counter of rows refers to
 * nothing, unless it is the key that two tables of one size share. */
static bool comparable(const tab_key_column *c, const tab_key_column *p)
{
    return c->table != p->table && p->unique && of_one_kind(c, p) && !(c->counter && c->n < NUMBERED * p->n);
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* The whole numbers of sorted x that lie in [lo, hi]. */
static uint32_t within(const double *x, uint32_t n, double lo, double hi)
{
    uint32_t a = 0, b = n;
    while (a < b) {
        uint32_t mid = a + (b - a) / 2;
        if (x[mid] < lo)
            a = mid + 1;
        else
            b = mid;
    }
    uint32_t from = a;
    b = n;
    while (a < b) {
        uint32_t mid = a + (b - a) / 2;
        if (x[mid] <= hi)
            a = mid + 1;
        else
            b = mid;
    }
    return a - from;
}

/* What is counted while the child's values are looked up among the parent's. */
typedef struct {
    uint32_t held, low, high; /* values held; least and greatest of their places in the parent */
    uint32_t bucket[BUCKETS]; /* how many of them lie in each part of the parent */
    size_t row[BUCKETS];      /* rows of the child that hold these */
    size_t rows;              /* rows of the child that hold them */
} tally;

/* How many of the child's values a calendar could hold: those within its span, for what two systems record
 * begins and ends on other days. */
static uint32_t within_span(const tab_key_column *c, const tab_key_column *p)
{
    return within(c->number, c->numbers, p->least, p->most);
}

/* How many a parent could: of whole numbers all, years among them. */
static uint32_t askable(const tab_key_column *c, const tab_key_column *p)
{
    return c->kind == TAB_KEY_DATE && tab_key_timed(c, p) ? within_span(c, p) : c->n;
}

/* Looks all of the child's values up, of which the parent could hold so many. False as soon as too few of
 * them can be held. */
static bool count_held(const tab_key_column *c, const tab_key_column *p, uint32_t could, tally *r)
{
    uint32_t from = 0, at, most = c->n - could;
    if (could < c->n && could < LEAST_MOMENTS)
        return false;
    *r = (tally){ .low = UINT32_MAX };
    for (uint32_t i = 0; i < c->n; i++) {
        if (holds(p, c->key[i], from, &at)) {
            uint32_t rank = p->rank[at];
            r->held++;
            r->rows += c->rows[i];
            r->low = rank < r->low ? rank : r->low;
            r->high = rank > r->high ? rank : r->high;
            r->bucket[(size_t)rank * BUCKETS / p->n]++;
            r->row[(size_t)rank * BUCKETS / p->n] += c->rows[i];
        }
        from = at;
        if (i + 1 - r->held > most + (1 - LEAST_HELD) * could)
            return false;
    }
    return r->held >= 2;
}

/* How far the places of the held values in the parent are from evenly spread: the largest difference of the
 * two distributions (Kolmogorov). rows: each value counts as often as it stands in the child. */
static double unevenness(const tally *t, double n, bool rows)
{
    double d = 0, sum = 0, all = rows ? (double)t->rows : t->held;
    for (uint32_t b = 0; b < BUCKETS; b++) {
        /* the parent's places up to the end of bucket b, as `rank * BUCKETS / n` rounds them */
        double even = fmin(ceil((b + 1) * n / BUCKETS), n) / n;
        sum += rows ? (double)t->row[b] : t->bucket[b];
        d = fmax(d, fabs(sum / all - even));
    }
    return d;
}

bool tab_key_holds_most(const tab_key_column *c, const tab_key_column *p)
{
    return tab_key_held(c, p) > 0;
}

uint32_t tab_key_held(const tab_key_column *c, const tab_key_column *p)
{
    tally t;
    if (!of_one_kind(c, p) || !(tab_key_timed(c, p) || probe(c, p)))
        return 0;
    return count_held(c, p, tab_key_timed(c, p) ? within_span(c, p) : c->n, &t) ? t.held : 0;
}

double tab_key_density(const tab_key_column *c, const tab_key_column *p)
{
    double lo = fmax(c->least, p->least), hi = fmin(c->most, p->most);
    return hi < lo ? 0 : fmin(within(p->number, p->numbers, lo, hi) / (hi - lo + 1), 1);
}

/* How many of n values as many draws of one at a time would meet. */
static double drawn(double n, double draws)
{
    return fmax(1, -n * expm1(draws * log1p(-1 / n)));
}

/* Features of the ranges of two columns of whole numbers. */
static void compare_ranges(const tab_key_column *c, const tab_key_column *p, const tally *t, float *f)
{
    double m = t->held;
    f[TAB_KEY_F_SPREAD_ROWS] = (float)unevenness(t, p->n, true);
    f[TAB_KEY_F_DRAWN] = (float)log(c->n / drawn(p->n, (double)c->present));
    double range = c->most - c->least + 1;
    double dense = fmin(within(p->number, p->numbers, c->least, c->most) / range, 1);
    f[TAB_KEY_F_DENSE] = (float)dense;
    f[TAB_KEY_F_CHANCE] = (float)fmin(-m * log(fmax(dense, 1e-9)), 200);
    f[TAB_KEY_F_CHILD_DENSE] = (float)fmin(c->n / range, 1);
    f[TAB_KEY_F_PARENT_DENSE] = (float)fmin(p->n / (p->most - p->least + 1), 1);
    f[TAB_KEY_F_LEAST] = (float)fmin(p->least, 1e4);
    f[TAB_KEY_F_CHILD_LEAST] = (float)fmin(c->least, 1e4);
}

/* Columns of a table, but for a row index. */
static double columns_of(const tab_views *v, const tab_key_columns *k, uint32_t table)
{
    const tab_key_column *first = &k->col[k->at[table]];
    return (double)v->table[table].cols - (first->counter && first->kind == TAB_KEY_OTHER);
}

/* Features of where two columns stand in their tables. */
static void say_places(const tab_views *v, const tab_key_columns *k, const tab_key_column *c,
                       const tab_key_column *p, float *f)
{
    f[TAB_KEY_F_CHILD_PLACE] = (float)(c->place < 9 ? c->place : 9);
    f[TAB_KEY_F_PARENT_PLACE] = (float)(p->place < 9 ? p->place : 9);
    f[TAB_KEY_F_PARENT_NTH] = (float)p->nth;
    f[TAB_KEY_F_CHILD_NTH] = (float)(c->unique ? (double)c->nth : -1);
    f[TAB_KEY_F_CHILD_KEYED] = (float)(c->nth > 0);
    f[TAB_KEY_F_CHILD_COLS] = (float)log(columns_of(v, k, c->table));
    f[TAB_KEY_F_PARENT_COLS] = (float)log(columns_of(v, k, p->table));
}

/* Compares two columns in full. False: too little is held. */
static bool compare(const tab_views *v, const tab_key_columns *k, const tab_key_column *c,
                    const tab_key_column *p, tab_inclusion *r)
{
    tally t;
    if (!count_held(c, p, askable(c, p), &t))
        return false;
    r->held = t.held;
    r->held_rows = t.rows;
    r->calendar = c->kind == TAB_KEY_DATE && tab_key_timed(c, p) && t.held >= LEAST_MOMENTS &&
                  t.held >= ON_CALENDAR * askable(c, p);
    if (!r->calendar && t.held < LEAST_HELD * c->n) /* of a span alone */
        return false;
    float *f = r->f;
    double m = t.held, n = p->n, d = unevenness(&t, n, false);
    size_t child_rows = v->table[c->table].rows, parent_rows = v->table[p->table].rows;
    double top = n - 1 - t.high;
    f[TAB_KEY_F_HELD] = (float)(m / c->n);
    f[TAB_KEY_F_HELD_ROWS] = (float)share((double)t.rows, (double)c->present);
    f[TAB_KEY_F_COVERED] = (float)(m / n);
    f[TAB_KEY_F_CHILD_N] = (float)log(c->n);
    f[TAB_KEY_F_PARENT_N] = (float)log(n);
    f[TAB_KEY_F_TOP] = (float)(m * log1p(-top / n));
    f[TAB_KEY_F_BOTTOM] = (float)(m * log1p(-(double)t.low / n));
    f[TAB_KEY_F_TOP_GAP] = (float)(top / n);
    f[TAB_KEY_F_SPREAD] = (float)d;
    f[TAB_KEY_F_SPREAD_N] = (float)(d * sqrt(m));
    f[TAB_KEY_F_SLOPE] = (float)c->slope;
    f[TAB_KEY_F_CLIMBING] = (float)c->climbing;
    f[TAB_KEY_F_CHILD_ONCE] = (float)share(c->n, (double)c->present);
    f[TAB_KEY_F_CHILD_NULL] = (float)(1 - share((double)c->present, (double)child_rows));
    f[TAB_KEY_F_PARENT_NULL] = (float)(1 - share((double)p->present, (double)parent_rows));
    f[TAB_KEY_F_KIND] = (float)(c->kind == TAB_KEY_DATE ? 2 : c->kind == TAB_KEY_WHOLE ? 1 : 0);
    f[TAB_KEY_F_LENGTH] = (float)c->length;
    f[TAB_KEY_F_LENGTHS] = (float)share(fabs(c->length - p->length), fmax(c->length, p->length));
    f[TAB_KEY_F_DIGITS] = (float)c->digits;
    f[TAB_KEY_F_WORDS] = (float)c->words;
    f[TAB_KEY_F_LEAST] = f[TAB_KEY_F_CHILD_LEAST] = -1;
    f[TAB_KEY_F_PARENT_CLIMB] = (float)p->climbing;
    f[TAB_KEY_F_SMOOTH] = (float)c->smooth;
    f[TAB_KEY_F_ROUND] = (float)c->round;
    f[TAB_KEY_F_COUNTERS] = (float)(p->counter + 2 * c->counter);
    say_places(v, k, c, p, f);
    f[TAB_KEY_F_ROWS] = (float)log(share((double)child_rows, (double)parent_rows));
    if (c->kind == TAB_KEY_WHOLE && p->kind == TAB_KEY_WHOLE)
        compare_ranges(c, p, &t, f);
    else
        f[TAB_KEY_F_CHANCE] = 200;
    return true;
}

/* How many columns of a table of `cols` TOGETHER steps over at a time, where it may look at `most`. */
static size_t stride(size_t cols, size_t most)
{
    return cols <= most ? 1 : (cols + most - 1) / most;
}

/* How many columns of each table TOGETHER may compare for one of n candidates. */
static size_t most_columns(size_t n)
{
    double most = sqrt(MOST_COMPARISONS / ((double)n * JOINED));
    return most > LEAST_JOINED_COLUMNS ? (size_t)most : LEAST_JOINED_COLUMNS;
}

/* How many rows TOGETHER may join for one of n candidates; fewer than JOINED only where the fewest columns
 * are compared. */
static size_t most_rows(size_t n)
{
    double most = MOST_COMPARISONS / ((double)n * LEAST_JOINED_COLUMNS * LEAST_JOINED_COLUMNS);
    return most >= JOINED ? JOINED : most > LEAST_JOINED ? (size_t)most : LEAST_JOINED;
}

/* How much the other columns of both tables agree over rows joined by the candidate: the greatest share of
 * equal values above that of rows joined at random. At most `most` columns of each table and `joined` rows
 * are looked at. */
static float together(const tab_views *v, const tab_key_columns *k, const tab_key_column *c,
                      const tab_key_column *p, const uint32_t *first_of_key, size_t most, size_t joined)
{
    const tab_table_view *A = &v->table[c->table], *B = &v->table[p->table];
    const tab_view *wc = &A->col[c->column];
    uint32_t ra[JOINED], rb[JOINED];
    size_t n = 0, step = A->rows / joined + 1;
    for (size_t r = 0; r < A->rows && n < joined; r += step) {
        uint32_t code = wc->code[r];
        if (code == TAB_NULL || first_of_key[wc->value[code].key] == TAB_NULL)
            continue;
        ra[n] = (uint32_t)r;
        rb[n++] = first_of_key[wc->value[code].key];
    }
    double best = 0;
    if (n < 10)
        return 0;
    for (size_t i = 0, by = stride(A->cols, most); i < A->cols; i += by) {
        const tab_key_column *x = &k->col[k->at[c->table] + i];
        if (i == c->column || x->n < 3)
            continue;
        for (size_t j = 0, on = stride(B->cols, most); j < B->cols; j += on) {
            const tab_key_column *y = &k->col[k->at[p->table] + j];
            if (j == p->column || y->n < 3 || x->kind != y->kind)
                continue;
            const tab_view *wa = &A->col[i], *wb = &B->col[j];
            size_t same = 0, other = 0, seen = 0;
            for (size_t q = 0; q < n; q++) {
                uint32_t a = wa->code[ra[q]], b = wb->code[rb[q]], b2 = wb->code[rb[(q + 1 + n / 3) % n]];
                if (a == TAB_NULL || b == TAB_NULL || b2 == TAB_NULL)
                    continue;
                seen++;
                same += wa->value[a].key == wb->value[b].key;
                other += wa->value[a].key == wb->value[b2].key;
            }
            if (seen >= 10)
                best = fmax(best, ((double)same - (double)other) / (double)seen);
        }
    }
    return (float)best;
}

/* A list that grows. */
typedef struct {
    tab_inclusion *x;
    size_t n, cap;
} found;

/* Room for one more, zeroed; it counts once n rises. NULL: out of memory. */
static tab_inclusion *more(found *l)
{
    if (l->n == l->cap) {
        size_t cap = l->cap == 0 ? 256 : l->cap * 2;
        tab_inclusion *x = realloc(l->x, cap * sizeof *x);
        if (x == NULL)
            return NULL;
        l->x = x;
        l->cap = cap;
    }
    l->x[l->n] = (tab_inclusion){ 0 };
    return &l->x[l->n];
}

/* Fills `others` of the candidates. False: out of memory. */
static bool say_others(const tab_views *v, const tab_key_columns *k, found *l)
{
    for (size_t i = 0; i < l->n; i++) {
        tab_inclusion *r = &l->x[i];
        const tab_key_column *c = &k->col[r->child], *p = &k->col[r->parent];
        if (!c->unique || r->held < LEAST_SAME || r->held < SAME * c->n || r->held < SAME * p->n)
            continue;
        if (!tab_key_other_sets(v, c, &r->others))
            return false;
        r->others =
            fmax(r->others - log((double)v->table[c->table].cols * (double)v->table[p->table].cols), 0);
    }
    return true;
}

/* For qsort. */
static int by_child(const void *a, const void *b)
{
    const tab_inclusion *x = a, *y = b;
    if (x->child != y->child)
        return x->child < y->child ? -1 : 1;
    return (x->parent > y->parent) - (x->parent < y->parent);
}

/* The candidates by parent, then child. False: out of memory, or cancelled. */
static bool find_candidates(const tab_engine *e, const tab_views *v, const tab_key_columns *k, found *l)
{
    size_t columns = k->at[v->n];
    for (size_t q = 0; q < columns; q++) {
        const tab_key_column *p = &k->col[q];
        if (tab_engine_cancelled(e))
            return false;
        for (size_t i = 0; p->unique && i < columns; i++) {
            const tab_key_column *c = &k->col[i];
            if (!comparable(c, p) || (askable(c, p) == c->n && !probe(c, p)))
                continue;
            tab_inclusion *r = more(l);
            if (r == NULL)
                return false;
            if (compare(v, k, c, p, r)) {
                r->child = (uint32_t)i;
                r->parent = (uint32_t)q;
                l->n++;
            }
        }
    }
    return true;
}

/* Joins the rows of each parent's children to its own, once for all of them. The candidates stand by parent.
 * False: out of memory, or cancelled. */
static bool join_candidates(const tab_engine *e, const tab_views *v, const tab_key_columns *k, found *l)
{
    uint32_t *first = malloc((v->terms + 1) * sizeof *first); /* of the parent at hand */
    size_t most = most_columns(l->n + 1), joined = most_rows(l->n + 1);
    bool ok = first != NULL;
    for (size_t i = 0; ok && i <= v->terms; i++)
        first[i] = TAB_NULL;
    for (size_t from = 0, to; ok && from < l->n; from = to) {
        const tab_key_column *p = &k->col[l->x[from].parent];
        const tab_view *w = &v->table[p->table].col[p->column];
        for (uint32_t i = 0; i < w->values; i++)
            first[w->value[i].key] = w->value[i].first;
        for (to = from; ok && to < l->n && l->x[to].parent == l->x[from].parent; to++) {
            l->x[to].f[TAB_KEY_F_TOGETHER] = together(v, k, &k->col[l->x[to].child], p, first, most, joined);
            ok = !tab_engine_cancelled(e);
        }
        for (uint32_t i = 0; i < w->values; i++)
            first[w->value[i].key] = TAB_NULL;
    }
    free(first);
    return ok;
}

tab_status tab_inclusions_find(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                               tab_arena *a, tab_inclusion **ret, size_t *ret_n, tab_error *err)
{
    found l = { 0 };
    bool ok = find_candidates(e, v, k, &l) && join_candidates(e, v, k, &l) && say_others(v, k, &l);
    if (ok && l.n > 0)
        qsort(l.x, l.n, sizeof *l.x, by_child);
    ok = ok && tab_inclusions_compete(k, l.x, l.n, k->at[v->n]);
    *ret = ok ? tab_arena_new_of(a, tab_inclusion, l.n) : NULL;
    if (*ret != NULL && l.n > 0)
        memcpy(*ret, l.x, l.n * sizeof *l.x);
    *ret_n = l.n;
    free(l.x);
    if (tab_engine_cancelled(e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    return *ret != NULL ? TAB_OK : tab_no_memory(err);
}

size_t tab_inclusions_drop(const tab_views *v, const tab_key_columns *k, tab_inclusion *x, size_t n, bool *ok)
{
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        const tab_key_column *c = &k->col[x[i].child], *p = &k->col[x[i].parent];
        if (c->kind == TAB_KEY_OTHER || p->kind == TAB_KEY_OTHER)
            continue;
        x[to] = x[i];
        say_places(v, k, c, p, x[to++].f);
    }
    *ok = tab_inclusions_compete(k, x, to, k->at[v->n]);
    return to;
}
