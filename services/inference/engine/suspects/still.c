/* A sensor that stands still: in a series of numbers in the order of time one value many times in a row.
 *
 *   series    all rows, where a date or a number goes up, or down, from row to row; or the rows of each value
 *             of another column, where it does within these
 *   chance    how often a number is followed by the same one: over all other runs, once a run is three long,
 *             and of this very value elsewhere; the largest of these. Then as many runs of at least this
 *             length come up as the series has cells, times that share to the power of the length.
 *
 * A run is doubted where chance makes fewer than EXPECTED of it in the column, where it is LONGER times as
 * long as any run of another value, and where its value is neither 0 nor at the column's end, with next to no
 * cell beyond it: no rain, a full tank and a sensor at its end stay where they are, and rightly. Runs that
 * hold more than MOST of the column are how it is. The first cell of a run is right as likely as not and is
 * not doubted. Decision 0756. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/suspects/given.h"

enum { FIRST = 4000, SHORTEST = 6, RUNS = 16, LEAST_CELLS = 60, LONG = 3, LONGER = 3 };
static const double IN_ORDER = 0.98, MAYBE = 0.9, EXPECTED = 1e-3, MOST = 0.25, PRIOR = 0.3, ODDS = 20,
                    BEYOND = 0.01;

/* The rows of a table in the order of their series: of each row the one before it. */
typedef struct {
    uint32_t *before; /* (rows) TAB_NULL: it is a first one */
    size_t steps;     /* rows that have one before them */
} series;

/* Consecutive cells of one value. */
typedef struct {
    double value;
    uint32_t last, n; /* its last row, how many cells */
} run;

/* A column as its runs. */
typedef struct {
    const double *num;
    run *run;
    size_t n;
    size_t cells;
} still;

/* The row before each of the first rows, within those of its value of g (NULL: of all). */
static void link_rows(const tab_seen *g, size_t rows, uint32_t *last, series *ret)
{
    size_t levels = g == NULL ? 1 : g->levels;
    memset(last, 0xff, levels * sizeof *last);
    ret->steps = 0;
    for (size_t i = 0; i < rows; i++) {
        uint32_t l = g == NULL ? 0 : g->code[i];
        ret->before[i] = l == TAB_NULL ? TAB_NULL : last[l];
        ret->steps += ret->before[i] != TAB_NULL;
        if (l != TAB_NULL)
            last[l] = (uint32_t)i;
    }
}

/* The share of the steps of the first rows in which time goes one way; NaN: there are few. */
static double one_way(const series *x, size_t rows, const double *time)
{
    size_t up = 0, down = 0, known = 0;
    for (size_t i = 0; i < rows; i++) {
        double a = x->before[i] == TAB_NULL ? (double)NAN : time[x->before[i]];
        if (!isfinite(a) || !isfinite(time[i]))
            continue;
        known++;
        up += time[i] > a;
        down += time[i] < a;
    }
    return known < LEAST_CELLS ? (double)NAN : (double)(up > down ? up : down) / (double)known;
}

/* Whether time goes up, or down, from each row to the next of its series: by the first rows, where these say
 * that it does not, else by all. */
static bool in_order(const tab_search *s, const tab_seen *g, const double *time, uint32_t *last, series *ret)
{
    size_t first = s->rows < FIRST ? s->rows : FIRST;
    link_rows(g, first, last, ret);
    if (one_way(ret, first, time) < MAYBE)
        return false;
    link_rows(g, s->rows, last, ret);
    return one_way(ret, s->rows, time) >= IN_ORDER;
}

static bool can_split(const tab_search *s, const tab_seen *g)
{
    return g->code != NULL && g->levels >= 2 && g->levels * TAB_SUSPECT_ROWS <= s->rows &&
           g->col->type != TAB_DATETIME;
}

/* The table's series by the first column of dates or numbers that orders it; *ret_found false: none does.
 * False: memory ran out. */
static bool series_of(tab_search *s, series *x, bool *ret_found)
{
    uint32_t *last = tab_arena_new_of(s->scratch, uint32_t, s->rows + 1);
    x->before = tab_arena_new_of(s->scratch, uint32_t, s->rows + 1);
    size_t cols = s->p->table->cols < TAB_SUSPECT_COLUMNS ? s->p->table->cols : TAB_SUSPECT_COLUMNS;
    *ret_found = false;
    if (last == NULL || x->before == NULL)
        return false;
    for (size_t t = 0; t < cols; t++) {
        const tab_seen *time = &s->seen[t];
        if (time->num == NULL)
            continue;
        for (size_t g = 0; g <= cols; g++) { /* first all rows as one */
            const tab_seen *by = g == 0 ? NULL : &s->seen[g - 1];
            if (by != NULL && !can_split(s, by))
                continue;
            *ret_found = in_order(s, by, time->num, last, x);
            if (*ret_found)
                return true;
        }
    }
    return true;
}

/* The runs of a column. False: memory ran out. */
static bool runs_of(tab_search *s, tab_arena *a, const series *x, size_t column, still *r)
{
    uint32_t *at = tab_arena_new_of(a, uint32_t, s->rows + 1); /* the run of a row */
    *r = (still){ .num = s->seen[column].num };
    r->run = tab_arena_new_of(a, run, s->rows + 1);
    if (at == NULL || r->run == NULL)
        return false;
    for (size_t i = 0; i < s->rows; i++) {
        double v = r->num[i];
        uint32_t b = x->before[i];
        at[i] = TAB_NULL;
        if (!isfinite(v))
            continue;
        r->cells++;
        if (b == TAB_NULL || at[b] == TAB_NULL || r->num[b] != v)
            at[i] = (uint32_t)r->n++;
        else
            at[i] = at[b];
        run *own = &r->run[at[i]];
        *own = (run){ v, (uint32_t)i, own->n + 1 };
    }
    return true;
}

static int longest_first(const void *a, const void *b)
{
    const run *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : (x->last > y->last) - (x->last < y->last);
}

/* How often a cell is followed by its own value, in the runs from the k-th on: from a run's first cell on, or
 * from its third; `value`: of its runs alone. */
static double share_repeated(const still *r, size_t k, size_t from, double value)
{
    double again = 0, asked = 0;
    for (size_t i = k; i < r->n; i++) {
        if (r->run[i].n < from || (!isnan(value) && r->run[i].value != value))
            continue;
        again += r->run[i].n - from;
        asked += r->run[i].n - from + 1;
    }
    return (again + PRIOR) / (asked + 1);
}

/* How many runs of this length chance makes, of a column whose k longest are left out. */
static double expected(const still *r, size_t k, const run *x)
{
    double q = fmax(share_repeated(r, k, LONG, (double)NAN), share_repeated(r, k, 1, x->value));
    q = fmax(q, share_repeated(r, k, 1, (double)NAN));
    return (double)r->cells * pow(q, (double)(x->n - 1));
}

/* Whether next to no cell is beyond v on one side: there a sensor, or a rank, is at its end. */
static bool is_at_end(const still *r, double v)
{
    double below = 0, above = 0;
    for (size_t i = 0; i < r->n; i++) {
        below += r->run[i].value < v ? r->run[i].n : 0;
        above += r->run[i].value > v ? r->run[i].n : 0;
    }
    return fmin(below, above) <= BEYOND * (double)r->cells;
}

/* How many of the runs, longest first, stand still. */
static size_t count_still(const still *r)
{
    size_t held = 0, k = 0;
    while (k < r->n && k < RUNS && r->run[k].n >= SHORTEST) {
        held += r->run[k].n;
        k++;
    }
    for (; k > 0; k--) { /* the most runs of which each is beyond the others */
        size_t other = k < r->n ? r->run[k].n : 1;
        bool all = (double)held <= MOST * (double)r->cells && r->run[k - 1].n >= LONGER * other;
        for (size_t i = 0; all && i < k; i++) {
            double v = r->run[i].value;
            all = v != 0 && !is_at_end(r, v) && expected(r, k, &r->run[i]) < EXPECTED;
        }
        if (all)
            return k;
        held -= r->run[k - 1].n;
    }
    return 0;
}

static void doubt(tab_search *s, const series *x, size_t column, const still *r, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        uint32_t row = r->run[i].last;
        double odds = fmin(ODDS, EXPECTED / expected(r, k, &r->run[i]));
        for (uint32_t j = 1; j < r->run[i].n; j++, row = x->before[row]) {
            tab_suspect *c = tab_suspects_add(s, row, column, TAB_SUSPECT_STILL);
            if (c == NULL)
                return;
            c->f[0] = (float)log(odds);
            c->agree = k < r->n ? r->run[k].n : 1;
            c->of = r->run[i].n;
        }
    }
}

/* False: memory ran out. */
static bool of_column(tab_search *s, const series *x, size_t column)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    still r;
    if (a == NULL || !runs_of(s, a, x, column, &r))
        return false;
    if (r.cells < LEAST_CELLS || r.n == 0)
        return true;
    qsort(r.run, r.n, sizeof *r.run, longest_first);
    doubt(s, x, column, &r, count_still(&r));
    return true;
}

void tab_suspects_still(tab_search *s)
{
    series x = { 0 };
    bool found = false;
    s->failed |= !series_of(s, &x, &found);
    for (size_t c = 0; found && c < s->p->table->cols && !s->failed && !tab_engine_cancelled(s->e); c++) {
        const tab_seen *v = &s->seen[c];
        if (v->num != NULL && v->col->type == TAB_NUMERIC)
            s->failed = !of_column(s, &x, c);
    }
}
