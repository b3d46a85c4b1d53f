/* Dates in order: columns of which one is never after the other (admitted, discharged), and the rows where it
 * is.
 *
 * a <= b is a law where it hardly ever fails and would often fail with b of another row, and where it does
 * not merely run out: where b lies a few days after a, and now and then a day before it, as many rows lie as
 * far on the one side of 0 as on the other. So the failures within their own median are held against the rows
 * as near on the right side: under a density that goes on across 0 they are about as many (Poisson; false
 * laws are bounded over all pairs that are tried, Bonferroni).
 *
 * Which of two dates is wrong is told by the other laws of the row (a chain of three), by how far each lies
 * from its column and from the rows above and below it, and by what would mend the row: both exchanged, or
 * another year of one. Decision 0656. */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/suspects/given.h"

enum { DATES = 12, LAWS = 32, YEAR_DIGITS = 4 };
static const double MOST_BROKEN = 0.05, OF_CHANCE = 0.1, FALSE_LAWS = 0.01, YEAR = 365.25 * 86400;

typedef struct {
    size_t a, b;                 /* dates: a <= b */
    double broken, median, wide; /* share of rows; of the gap b - a: its median and its 0.95 quantile */
    size_t rows;
} law;

typedef struct {
    tab_search *s;
    const tab_numbers *u;
    size_t date[DATES], n; /* numbers of tab_numbers */
    double step[DATES];    /* how far a date is from the rows above and below, as a rule */
    law law[LAWS];
    size_t laws;
} orders;

static double at(const orders *o, size_t k, size_t row)
{
    return o->s->seen[o->u->col[o->date[k]]].num[row];
}

/* P(X <= k) of a Poisson variable. */
static double at_most(double mean, double k)
{
    double term = exp(-mean), sum = 0;
    for (double i = 0; i <= k && i < 1000; i++) {
        sum += term;
        term *= mean / (i + 1);
    }
    return sum;
}

/* Whether a <= b is a law; *ret_ok false: memory ran out. */
static bool is_law(const orders *o, law *d, bool *ret_ok)
{
    size_t rows = o->s->rows, most = rows < TAB_SUSPECT_QUANTILES ? rows : TAB_SUSPECT_QUANTILES, n = 0;
    TAB_AUTO(tab_arena) *arena = tab_arena_new(TAB_SUSPECT_BYTES);
    double *gap = arena == NULL ? NULL : tab_arena_new_of(arena, double, most + 1);
    double *a = arena == NULL ? NULL : tab_arena_new_of(arena, double, most + 1);
    double *b = arena == NULL ? NULL : tab_arena_new_of(arena, double, most + 1), chance = 0, near = 0;
    *ret_ok = gap != NULL && a != NULL && b != NULL;
    for (size_t i = 0; *ret_ok && i < most; i++) {
        size_t row = tab_sampled_row(rows, most, i);
        if (!isfinite(at(o, d->a, row)) || !isfinite(at(o, d->b, row)))
            continue;
        a[n] = at(o, d->a, row), b[n] = at(o, d->b, row);
        gap[n] = b[n] - a[n];
        n++;
    }
    if (n < TAB_SUSPECT_ROWS)
        return false;
    for (size_t i = 0; i < n; i++)
        chance += 0.5 * ((a[i] > b[(i + n / 2) % n]) + (a[i] > b[(i + n / 3) % n]));
    qsort(gap, n, sizeof *gap, tab_ascending_double);
    size_t broken = 0, half;
    while (broken < n && gap[broken] < 0)
        broken++;
    if (chance < 1 / OF_CHANCE || (double)broken > fmin(MOST_BROKEN * (double)n, OF_CHANCE * chance))
        return false;
    half = broken / 2;
    for (size_t i = broken; i < n && broken > 0; i++)
        near += gap[i] <= -gap[half];
    d->rows = n;
    d->broken = (double)broken / (double)n;
    d->median = tab_quantile_of(gap + broken, n - broken, 0.5);
    d->wide = tab_quantile_of(gap + broken, n - broken, 0.95);
    return broken == 0 || at_most(near / 2, (double)(broken - half)) < FALSE_LAWS / (double)(o->n * o->n);
}

/* -1: a date is missing. */
static int holds(double a, double b)
{
    return !isfinite(a) || !isfinite(b) ? -1 : a <= b;
}

/* Of the laws of the row, with x in place of date k (and y in place of date l; SIZE_MAX: none), how many do
 * not hold. */
static size_t failing(const orders *o, size_t row, size_t k, double x, size_t l, double y)
{
    size_t n = 0;
    for (size_t i = 0; i < o->laws; i++) {
        const law *d = &o->law[i];
        double a = d->a == k ? x : d->a == l ? y : at(o, d->a, row);
        double b = d->b == k ? x : d->b == l ? y : at(o, d->b, row);
        n += holds(a, b) == 0;
    }
    return n;
}

static double distance_to_neighbours(const orders *o, size_t k, size_t row)
{
    double x = at(o, k, row), above = row > 0 ? at(o, k, row - 1) : (double)NAN,
           below = row + 1 < o->s->rows ? at(o, k, row + 1) : (double)NAN;
    if (!isfinite(above) || !isfinite(below))
        return (double)NAN;
    return fmax(0, fmax(fmin(above, below) - x, x - fmax(above, below)));
}

static bool steps_of(orders *o)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    double *x = a == NULL ? NULL : tab_arena_new_of(a, double, TAB_SUSPECT_SAMPLE);
    size_t most = o->s->rows < TAB_SUSPECT_SAMPLE ? o->s->rows : TAB_SUSPECT_SAMPLE;
    for (size_t k = 0; x != NULL && k < o->n; k++) {
        size_t n = 0;
        for (size_t i = 0; i < most; i++) {
            double d = distance_to_neighbours(o, k, tab_sampled_row(o->s->rows, most, i));
            if (isfinite(d))
                x[n++] = d;
        }
        if (n > 0)
            qsort(x, n, sizeof *x, tab_ascending_double);
        o->step[k] = n > 0 ? fmax(86400, tab_quantile_of(x, n, 0.9)) : (double)INFINITY;
    }
    return x != NULL;
}

/* ---- what would mend it -------------------------------------------------------------------------------- */

/* Whether the gaps of date k at x to the dates of its laws are as others are. */
static bool usual(const orders *o, size_t row, size_t k, double x)
{
    for (size_t i = 0; i < o->laws; i++) {
        const law *d = &o->law[i];
        double other = d->a == k ? at(o, d->b, row) : d->b == k ? at(o, d->a, row) : (double)NAN;
        if (isfinite(other) && fabs(x - other) > d->wide)
            return false;
    }
    return true;
}

static tab_str text_of(const orders *o, size_t k, size_t row)
{
    const tab_seen *v = &o->s->seen[o->u->col[o->date[k]]];
    bool text = v->code != NULL && v->code[row] != TAB_NULL && v->col->column->layout == TAB_CODED;
    return text ? v->text[v->code[row]] : (tab_str){ NULL, 0 };
}

/* Years more or less with which date k would be in order and as far from the others as dates are; 0: none. */
static int other_year(const orders *o, size_t row, size_t k)
{
    static const int tried[] = { 1, -1, 100, -100, 10, -10, 2, -2 };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        double x = at(o, k, row) + tried[i] * YEAR;
        /* a leap day more or less */
        if (failing(o, row, k, x + 86400, SIZE_MAX, 0) == 0 &&
            failing(o, row, k, x - 86400, SIZE_MAX, 0) == 0 && usual(o, row, k, x))
            return tried[i];
    }
    return 0;
}

/* The text with the year that it holds (four digits alone) moved; n = 0: it holds none. */
static tab_str with_year(tab_arena *a, tab_str t, int by)
{
    for (size_t i = 0; i + YEAR_DIGITS <= t.n; i++) {
        size_t k = i;
        while (k < t.n && t.p[k] >= '0' && t.p[k] <= '9')
            k++;
        if (k - i == YEAR_DIGITS) {
            int year = 0;
            for (size_t j = i; j < k; j++)
                year = 10 * year + (t.p[j] - '0');
            return tab_str_of(
                tab_arena_printf(a, "%.*s%04d%.*s", (int)i, t.p, year + by, (int)(t.n - k), t.p + k));
        }
        i = k > i ? k - 1 : i;
    }
    return (tab_str){ NULL, 0 };
}

/* ---- the rows ------------------------------------------------------------------------------------------ */

static void counts_of(const orders *o, size_t row, size_t k, double *ret_hold, double *ret_broken)
{
    *ret_hold = *ret_broken = 0;
    for (size_t i = 0; i < o->laws; i++)
        if (o->law[i].a == k || o->law[i].b == k) {
            int h = holds(at(o, o->law[i].a, row), at(o, o->law[i].b, row));
            *ret_hold += h == 1, *ret_broken += h == 0;
        }
}

static double far_of(const orders *o, size_t row, size_t k)
{
    const tab_scale *q = &o->u->q[o->date[k]];
    double spread = fmax(q->spread, 86400);
    return fabs(at(o, k, row) - q->median) / spread;
}

static double off_of(const orders *o, size_t row, size_t k)
{
    double d = distance_to_neighbours(o, k, row);
    return isfinite(d) ? d / o->step[k] : 0;
}

static void doubt(orders *o, const law *d, size_t row, size_t k, size_t other)
{
    double hold, broken, its_hold, its_broken, x = at(o, k, row), y = at(o, other, row);
    tab_suspect *c = tab_suspects_add(o->s, row, o->u->col[o->date[k]], TAB_SUSPECT_ORDER);
    if (c == NULL)
        return;
    counts_of(o, row, k, &hold, &broken);
    counts_of(o, row, other, &its_hold, &its_broken);
    int years = other_year(o, row, k), its = other_year(o, row, other);
    bool exchanged = failing(o, row, k, y, other, x) == 0 && fabs(x - y) <= d->wide;
    c->f[0] = (float)(broken / (broken + hold));
    c->f[1] = (float)(its_broken / (its_broken + its_hold));
    c->f[2] = exchanged;
    c->f[3] = years != 0;
    c->f[4] = its != 0;
    c->f[5] = (float)(fmin(tab_log_count(1 + far_of(o, row, k)), 2) / 2);
    c->f[6] = (float)(fmin(tab_log_count(1 + far_of(o, row, other)), 2) / 2);
    c->f[7] = (float)(fmin(tab_log_count(1 + off_of(o, row, k)), 3) / 3);
    c->f[8] = (float)(fmin(tab_log_count(1 + off_of(o, row, other)), 3) / 3);
    c->f[9] = (float)(-log10(d->broken + 1e-4) / 4);
    c->f[10] = d->b == k;
    c->f[11] = (float)(fmin(tab_log_count(fabs(x - y) / 86400), 5) / 5);
    c->f[12] = exchanged && (years != 0 || its != 0);
    c->other = o->u->col[o->date[other]];
    c->agree = (uint32_t)((1 - d->broken) * (double)d->rows + 0.5);
    c->of = (uint32_t)d->rows;
    if (exchanged && c->f[8] <= c->f[7])
        c->suggestion = text_of(o, other, row);
    else if (years != 0)
        c->suggestion = with_year(o->s->arena, text_of(o, k, row), years);
}

/* The dates of a row that take part in a law that it breaks, each with the law that it breaks by most. */
static void judge(orders *o, size_t row)
{
    for (size_t k = 0; k < o->n && !o->s->failed; k++) {
        const law *worst = NULL;
        double most = 0;
        for (size_t i = 0; i < o->laws; i++) {
            const law *d = &o->law[i];
            double gap = at(o, d->a, row) - at(o, d->b, row);
            if ((d->a == k || d->b == k) && gap > most)
                most = gap, worst = d;
        }
        if (worst != NULL)
            doubt(o, worst, row, k, worst->a == k ? worst->b : worst->a);
    }
}

bool tab_suspects_orders(tab_search *s, const tab_numbers *u)
{
    orders *o = tab_arena_new_of(s->scratch, orders, 1);
    bool ok = o != NULL;
    if (!ok)
        return false;
    o->s = s;
    o->u = u;
    for (size_t k = 0; k < u->n && o->n < DATES; k++)
        if (s->seen[u->col[k]].col->type == TAB_DATETIME)
            o->date[o->n++] = k;
    for (size_t a = 0; a < o->n && ok; a++)
        for (size_t b = 0; b < o->n && ok && o->laws < LAWS; b++) {
            law d = { .a = a, .b = b };
            if (a != b && is_law(o, &d, &ok))
                o->law[o->laws++] = d;
        }
    if (!ok || (o->laws > 0 && !steps_of(o)))
        return false;
    for (size_t row = 0; o->laws > 0 && row < s->rows && !s->failed && !tab_engine_cancelled(s->e); row++)
        judge(o, row);
    return true;
}
