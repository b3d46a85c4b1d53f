/* Features that compare candidates with each other: rivals for one child, columns that share a parent, and,
 * once first probabilities are there, what the likely ones of a table tell of the others (inclusions.h names
 * each). */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/keys/inclusions_internal.h"

/* The inclusions are sorted by both. */
size_t tab_inclusion_at(const tab_inclusion *x, size_t n, uint32_t child, uint32_t parent)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (x[mid].child < child || (x[mid].child == child && x[mid].parent < parent))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && x[lo].child == child && x[lo].parent == parent ? lo : n;
}

/* How many of the ascending x (n) are v or more. */
static size_t at_least(const uint32_t *x, size_t n, uint32_t v)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (x[mid] < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return n - lo;
}

/* liked: how many columns each column holds; up: how many hold it; texts: by table. */
bool tab_inclusions_compete(const tab_key_columns *k, tab_inclusion *x, size_t n, size_t columns)
{
    uint32_t *liked = calloc(3 * columns + 1, sizeof *liked);
    if (liked == NULL)
        return false;
    uint32_t *up = liked + columns, *texts = up + columns;
    for (size_t i = 0; i < n; i++) {
        liked[x[i].parent]++;
        up[x[i].child]++;
    }
    for (size_t i = 0; i < columns; i++) /* by table */
        texts[k->col[i].table] += k->col[i].kind == TAB_KEY_TEXT && !k->col[i].unique;
    uint32_t *siblings = calloc(2 * columns + 1, sizeof *siblings); /* by parent, of one child table */
    uint32_t *held = siblings + columns;                            /* of one child's parents, ascending */
    /* inclusions are sorted by child, so those of one table stand together */
    for (size_t from = 0; siblings != NULL && from < n;) {
        uint32_t table = k->col[x[from].child].table;
        size_t end = from;
        while (end < n && k->col[x[end].child].table == table)
            siblings[x[end++].parent]++;
        for (size_t i = from; i < end; i++)
            x[i].f[TAB_KEY_F_SIBLINGS] = (float)siblings[x[i].parent] - 1;
        for (size_t i = from; i < end; i++)
            siblings[x[i].parent] = 0;
        from = end;
    }
    /* the parents of one child, i to end: each against the best of them */
    for (size_t i = 0; siblings != NULL && i < n;) {
        size_t end = i;
        double covered = 0, least = INFINITY, most_liked = 0, top = -INFINITY, spread = INFINITY;
        for (; end < n && x[end].child == x[i].child; end++) {
            covered = fmax(covered, (double)x[end].f[TAB_KEY_F_COVERED]);
            least = fmin(least, k->col[x[end].parent].n);
            most_liked = fmax(most_liked, log1p(liked[x[end].parent]));
            top = fmax(top, (double)x[end].f[TAB_KEY_F_TOP]);
            spread = fmin(spread, (double)x[end].f[TAB_KEY_F_SPREAD]);
        }
        for (size_t q = i; q < end; q++)
            held[q - i] = x[q].held;
        qsort(held, end - i, sizeof *held, tab_ascending_u32);
        for (size_t q = i; q < end; q++) {
            tab_inclusion *r = &x[q];
            r->f[TAB_KEY_F_RIVALS] = (float)log1p((double)(at_least(held, end - i, r->held) - 1));
            r->f[TAB_KEY_F_BEST] = (float)((double)r->f[TAB_KEY_F_COVERED] / covered);
            r->f[TAB_KEY_F_SIZE] = (float)log(k->col[r->parent].n / least);
            r->f[TAB_KEY_F_LIKED] = (float)log1p(liked[r->parent]);
            r->f[TAB_KEY_F_BACK] = tab_inclusion_at(x, n, r->parent, r->child) < n;
            r->f[TAB_KEY_F_PARENT_UP] = (float)log1p(up[r->parent]);
            r->f[TAB_KEY_F_CHILD_LIKED] = (float)log1p(liked[r->child]);
            r->f[TAB_KEY_F_LIKED_BEST] = (float)(log1p(liked[r->parent]) - most_liked);
            r->f[TAB_KEY_F_TOP_BEST] = (float)((double)r->f[TAB_KEY_F_TOP] - top);
            r->f[TAB_KEY_F_SPREAD_BEST] = (float)((double)r->f[TAB_KEY_F_SPREAD] - spread);
            r->f[TAB_KEY_F_PARENT_TEXTS] = (float)fmin(texts[k->col[r->parent].table], 9);
        }
        i = end;
    }
    bool ok = siblings != NULL;
    free(siblings);
    free(liked);
    return ok;
}

/* Log-odds, kept finite. */
static double logit(double p)
{
    p = fmin(fmax(p, 1e-4), 1 - 1e-4);
    return log(p / (1 - p));
}

/* The sum, or the greatest, of the other members of a run of columns: prefix and suffix, so that the work is
 * that of the run and a sum of none is 0. */
typedef struct {
    double before, after;
} others;

/* What one child's other parents have at the most, where `top` is the best of them and `second` the next. */
typedef struct {
    double top, second;
    size_t at; /* the place of the top */
} best_two;

static void take(best_two *b, double p, size_t at)
{
    if (p > b->top)
        *b = (best_two){ p, b->top, at };
    else
        b->second = fmax(b->second, p);
}

/* What every column is to the others. */
typedef struct {
    double *fame;  /* (columns) sum of p as a parent */
    double *rises; /* (columns) sum of p as a child */
    double *best;  /* (columns) the greatest p as a child */
    others *refer; /* (columns) sums of `best` of the table's columns before and after */
    others *known; /* (columns) greatest `fame` of the table's columns before and after */
} standing;

/* Fills refer and known of the columns of each table. */
static void stand_beside(const tab_key_columns *k, size_t columns, const standing *s)
{
    for (size_t from = 0, to; from < columns; from = to) {
        double sum = 0, most = 0;
        for (to = from; to < columns && k->col[to].table == k->col[from].table; to++) {
            s->refer[to].before = sum, s->known[to].before = most;
            sum += s->best[to], most = fmax(most, s->fame[to]);
        }
        sum = most = 0;
        for (size_t c = to; c-- > from;) {
            s->refer[c].after = sum, s->known[c].after = most;
            sum += s->best[c], most = fmax(most, s->fame[c]);
        }
    }
}

/* TABLES of the inclusions of one child table, x[0..n): what its other columns say for the same parent table.
 * sum (2 * tables) is zero on entry and on return: what was seen before a child, and with it. */
static void say_tables(const tab_key_columns *k, tab_inclusion *x, size_t n, const float *p, double *sum,
                       double *of)
{
    for (size_t i = 0; i < n; i++)
        of[i] = 0;
    for (int way = 0; way < 2; way++) { /* children before, then children after */
        for (size_t done = 0; done < n;) {
            size_t from = way == 0 ? done : n - 1 - done, child = x[from].child, m = 0;
            while (done + m < n && x[way == 0 ? from + m : from - m].child == child)
                m++;
            for (size_t q = 0; q < m; q++) {
                size_t i = way == 0 ? from + q : from - q;
                of[i] += sum[k->col[x[i].parent].table];
            }
            for (size_t q = 0; q < m; q++) {
                size_t i = way == 0 ? from + q : from - q;
                sum[k->col[x[i].parent].table] += (double)p[i];
            }
            done += m;
        }
        for (size_t i = 0; i < n; i++)
            sum[k->col[x[i].parent].table] = 0;
    }
    for (size_t i = 0; i < n; i++)
        x[i].f[TAB_KEY_F_TABLES] = (float)of[i];
}

/* The features of one child's inclusions, x[0..n). */
static void say_child(const tab_key_columns *k, size_t columns, tab_inclusion *x, size_t n, const float *p,
                      const standing *s)
{
    best_two b = { 1e-4, 1e-4, n };
    size_t c = n > 0 ? x[0].child : 0;
    double beside = c > 0 && k->col[c - 1].table == k->col[c].table ? s->best[c - 1] : 0;
    if (c + 1 < columns && k->col[c + 1].table == k->col[c].table)
        beside = fmax(beside, s->best[c + 1]);
    for (size_t i = 0; i < n; i++)
        take(&b, (double)p[i], i);
    for (size_t i = 0; i < n; i++) {
        float *f = x[i].f;
        uint32_t child = x[i].child, parent = x[i].parent;
        const others *known = &s->known[parent], *refer = &s->refer[child];
        f[TAB_KEY_F_FIRST] = (float)logit((double)p[i]);
        f[TAB_KEY_F_RIVAL] = (float)logit(i == b.at ? b.second : b.top);
        f[TAB_KEY_F_FAME] = (float)(s->fame[parent] - (double)p[i]);
        f[TAB_KEY_F_FAME_ELSE] = (float)fmax(known->before, known->after);
        f[TAB_KEY_F_RISES] = (float)s->rises[parent];
        f[TAB_KEY_F_CHILD_FAME] = (float)s->fame[child];
        f[TAB_KEY_F_TABLE_REFERS] = (float)(refer->before + refer->after);
        f[TAB_KEY_F_BESIDE] = (float)beside;
    }
}

bool tab_inclusions_context(const tab_key_columns *k, tab_inclusion *x, size_t n, const float *p)
{
    size_t columns = 0, tables = 0;
    for (size_t i = 0; i < n; i++) {
        columns = x[i].child >= columns ? x[i].child + 1 : columns;
        columns = x[i].parent >= columns ? x[i].parent + 1 : columns;
    }
    for (size_t c = 0; c < columns; c++)
        tables = k->col[c].table >= tables ? k->col[c].table + 1 : tables;
    double *number = calloc(3 * columns + tables + n + 1, sizeof *number);
    others *side = calloc(2 * columns + 1, sizeof *side);
    standing s = { .fame = number,
                   .rises = number + columns,
                   .best = number + 2 * columns,
                   .refer = side,
                   .known = side + columns };
    bool ok = number != NULL && side != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        s.fame[x[i].parent] += (double)p[i];
        s.rises[x[i].child] += (double)p[i];
        s.best[x[i].child] = fmax(s.best[x[i].child], (double)p[i]);
    }
    if (ok)
        stand_beside(k, columns, &s);
    /* inclusions are sorted by child: those of one child stand together, and those of one child's table */
    for (size_t from = 0, to; ok && from < n; from = to) {
        for (to = from; to < n && x[to].child == x[from].child; to++)
            ;
        say_child(k, columns, x + from, to - from, p + from, &s);
    }
    double *sum = number + 3 * columns, *of = sum + tables;
    for (size_t from = 0, to; ok && from < n; from = to) {
        for (to = from; to < n && k->col[x[to].child].table == k->col[x[from].child].table; to++)
            ;
        say_tables(k, x + from, to - from, p + from, sum, of);
    }
    free(number);
    free(side);
    return ok;
}
