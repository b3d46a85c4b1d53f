/* A column of numbers in two units: a third of the weights in pounds, prices in cents beside prices in euros.
 *
 * What the row's other cells leave over of the column (given.c), the number itself, or its ratio to another
 * of the row falls into two heaps with next to nothing between them. The lesser heap is in another unit where
 * a known conversion lays it on the greater one: in its middle within its standard error, and in its width. A
 * heap of another kind lies anywhere on the way from the least conversion to the largest, and one of as many
 * conversions as are as common might meet it: the odds are the density of the middle where the conversion
 * puts it, times that way, divided by their number, at most ODDS. Heaps that another column tells apart
 * (adults and children, rents and incomes) are two things and not two units. Of heaps that are as good as
 * halves the lesser one is the rarer unit by chance alone, and as sure. Decisions 0757, 0910. */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/suspects/given.h"

enum { LEAST_CELLS = 60, LEAST_HEAP = 5, APART = 4, ERRORS = 3 };
static const double BETWEEN = 0.04, BETWEEN_LESSER = 0.25, WIDTHS = 1.6, TELLS = 0.25, LEAST_ODDS = 10,
                    ODDS = 20, ONE_VALUE = 0.3, WAY = 7; /* from 1 to 1000 in logarithms */

/* A number in one unit is `times` it plus `plus` in the other. */
typedef struct {
    double times, plus;
} conversion;

/* The commoner ones first. */
static const conversion UNITS[] = {
    { 100, 0 },     { 1000, 0 },    { 10, 0 },      { 2.20462, 0 }, /* of decimals; pounds of a kilogram */
    { 18.0156, 0 }, { 3.28084, 0 }, { 2.54, 0 },    { 30.48, 0 },   /* of mmol of glucose, feet, inches */
    { 1.60934, 0 }, { 60, 0 },      { 12, 0 },      { 3.6, 0 },     /* of miles, minutes, dozens, m/s */
    { 25.4, 0 },    { 453.592, 0 }, { 28.3495, 0 }, { 3.78541, 0 }, /* of inches, pounds, ounces, gallons */
    { 4.184, 0 },   { 88.42, 0 },   { 38.67, 0 }, /* of calories, mmol of creatinine, of cholesterol */
    { 1.8, 32 },                                  /* degrees Fahrenheit of degrees Celsius */
};
enum { CONVERSIONS = 2 * sizeof UNITS / sizeof *UNITS };

/* The i-th way from one unit to another. */
static double converted(size_t i, double x)
{
    conversion c = UNITS[i / 2];
    return i % 2 == 0 ? x * c.times + c.plus : (x - c.plus) / c.times;
}

/* A heap of n sorted numbers. */
typedef struct {
    double middle, wide;
    size_t n;
} heap;

typedef struct {
    tab_search *s;
    size_t column;
    const double *num;
    const tab_residuals *m; /* the model: what it leaves over; NULL: there is none */
    const double *by;       /* or another column, of which the number is a multiple */
    double number;          /* one in its middle */
    bool log;               /* what is left over is a ratio */
    uint32_t *row;          /* (rows) the rows looked at */
    double *left;           /* (rows) of these */
    double *sorted;
    double *moved; /* the lesser heap, converted */
    size_t n;
    double cut; /* between the heaps */
    bool above; /* the lesser heap is the upper one */
} mixed;

/* What is left over of a row, with x for its number. */
static double left_over(const mixed *x, size_t row, double v)
{
    double model = x->log ? 1 : 0;
    if (x->by != NULL)
        model = x->by[row];
    else if (x->m != NULL)
        model = x->m->log ? x->num[row] * exp(-x->m->left[row]) : x->num[row] - x->m->left[row];
    if (x->log)
        return v > 0 && model > 0 ? log(v / model) : (double)NAN;
    return v - model;
}

static bool collect(mixed *x, tab_arena *a)
{
    size_t rows = x->s->rows, most = rows < TAB_SUSPECT_SAMPLE ? rows : TAB_SUSPECT_SAMPLE;
    x->row = tab_arena_new_of(a, uint32_t, most + 1);
    x->left = tab_arena_new_of(a, double, most + 1);
    x->sorted = tab_arena_new_of(a, double, most + 1);
    x->moved = tab_arena_new_of(a, double, most + 1);
    if (x->row == NULL || x->left == NULL || x->sorted == NULL || x->moved == NULL)
        return false;
    x->n = 0;
    for (size_t i = 0; i < most; i++) {
        size_t row = tab_sampled_row(rows, most, i);
        double left = left_over(x, row, x->num[row]);
        if (!isfinite(left))
            continue;
        x->row[x->n] = (uint32_t)row;
        x->left[x->n++] = left;
    }
    if (x->n > 0) {
        memcpy(x->sorted, x->left, x->n * sizeof *x->sorted);
        qsort(x->sorted, x->n, sizeof *x->sorted, tab_ascending_double);
    }
    return true;
}

/* Where n sorted numbers are best cut in two (least squares; Fisher 1958): how many are below. */
static size_t best_cut(const double *v, size_t n)
{
    double sum = 0, below = 0, most = -1, centre = v[n / 2];
    size_t best = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] - centre;
    for (size_t i = 1; i < n; i++) {
        below += v[i - 1] - centre;
        double d = below / (double)i - (sum - below) / (double)(n - i);
        double between = d * d * (double)i * (double)(n - i);
        if (between > most)
            most = between, best = i;
    }
    return best;
}

/* By quartiles: a heap has tails. v: sorted. */
static heap heap_of(const double *v, size_t n)
{
    heap h = { .n = n, .middle = tab_quantile_of(v, n, 0.5) };
    h.wide = (tab_quantile_of(v, n, 0.75) - tab_quantile_of(v, n, 0.25)) / 1.349;
    return h;
}

/* Whether one value fills much of n sorted numbers: a heap of one kind of thing and no measure of many. */
static bool of_one_value(const double *v, size_t n)
{
    size_t most = 0;
    for (size_t i = 0, k = 0; i < n; i++) {
        k = i > 0 && v[i] == v[i - 1] ? k + 1 : 1;
        most = k > most ? k : most;
    }
    return most > 2 && (double)most > ONE_VALUE * (double)n;
}

/* Whether the numbers are two heaps apart from each other, k of them in the lower one. */
static bool in_two_heaps(mixed *x, size_t k, heap *ret_greater, heap *ret_lesser)
{
    size_t lesser = k < x->n - k ? k : x->n - k, between = 0;
    if (lesser < LEAST_HEAP)
        return false;
    heap low = heap_of(x->sorted, k), high = heap_of(x->sorted + k, x->n - k);
    double way = high.middle - low.middle, wide = fmax(low.wide, high.wide);
    if (!(way > APART * wide) || !(wide > 0))
        return false;
    for (size_t i = 0; i < x->n; i++)
        between += x->sorted[i] > low.middle + 0.4 * way && x->sorted[i] < low.middle + 0.6 * way;
    if (of_one_value(x->sorted, k) || of_one_value(x->sorted + k, x->n - k))
        return false;
    x->cut = (x->sorted[k - 1] + x->sorted[k]) / 2;
    x->above = x->n - k < k;
    *ret_greater = x->above ? low : high;
    *ret_lesser = x->above ? high : low;
    return (double)between <= fmin(BETWEEN * (double)x->n, BETWEEN_LESSER * (double)lesser);
}

static bool in_lesser(const mixed *x, double left)
{
    return x->above ? left > x->cut : left < x->cut;
}

/* How far the lesser heap lies from the greater one by the i-th conversion, in standard errors; INFINITY: it
 * does not fit. *ret_error: the standard error. */
static double misfit(const mixed *x, const heap *greater, size_t i, double *ret_error)
{
    size_t n = 0;
    for (size_t k = 0; k < x->n; k++) {
        double v =
            in_lesser(x, x->left[k]) ? left_over(x, x->row[k], converted(i, x->num[x->row[k]])) : (double)NAN;
        if (isfinite(v))
            x->moved[n++] = v;
    }
    if (n < LEAST_HEAP)
        return (double)INFINITY;
    qsort(x->moved, n, sizeof *x->moved, tab_ascending_double);
    heap h = heap_of(x->moved, n);
    double wide = fmax(h.wide, greater->wide);
    *ret_error = 1.2533 * wide * sqrt(1 / (double)n + 1 / (double)greater->n);
    double few = 1 / sqrt((double)n);
    bool as_wide =
        h.wide < WIDTHS * (1 + few) * greater->wide && greater->wide < WIDTHS * (1 + 2 * few) * h.wide;
    return as_wide ? fabs(h.middle - greater->middle) / *ret_error : (double)INFINITY;
}

/* ---- what else tells the heaps apart ------------------------------------------------------------------- */

/* Of the lesser heap the share that the values of a column tell apart from the greater one, and not by
 * chance. */
static double told_by_values(const mixed *x, const tab_seen *g, uint32_t *of)
{
    double told = 0, all = 0;
    memset(of, 0, 2 * g->levels * sizeof *of);
    for (size_t k = 0; k < x->n; k++)
        if (g->code[x->row[k]] != TAB_NULL)
            of[2 * g->code[x->row[k]] + in_lesser(x, x->left[k])]++;
    for (size_t l = 0; l < g->levels; l++) {
        all += of[2 * l + 1];
        double more = (double)of[2 * l + 1] - (double)of[2 * l];
        told += more > sqrt((double)of[2 * l + 1] + (double)of[2 * l]) ? more : 0;
    }
    return all > 0 ? told / all : 0;
}

/* How far the heaps lie apart in another column of numbers, and not by chance: |2 AUC - 1|, 0 to 1 (Mann and
 * Whitney 1947). */
static double told_by_numbers(const mixed *x, const double *num, double *buf)
{
    size_t n = 0, lesser = 0;
    double below = 0;
    for (size_t k = 0; k < x->n; k++)
        if (isfinite(num[x->row[k]]) && !in_lesser(x, x->left[k]))
            buf[n++] = num[x->row[k]];
    if (n == 0)
        return 0;
    qsort(buf, n, sizeof *buf, tab_ascending_double);
    for (size_t k = 0; k < x->n; k++) {
        double v = num[x->row[k]];
        if (!isfinite(v) || !in_lesser(x, x->left[k]))
            continue;
        size_t from = 0, to = n;
        while (from < to) {
            size_t mid = (from + to) / 2;
            if (buf[mid] < v)
                from = mid + 1;
            else
                to = mid;
        }
        size_t end = from;
        while (end < n && buf[end] == v)
            end++;
        below += ((double)from + (double)end) / 2;
        lesser++;
    }
    if (lesser == 0)
        return 0;
    double pairs = (double)n * (double)lesser, by_chance = sqrt((double)(n + lesser + 1) / (3 * pairs));
    double apart = fabs(2 * below / pairs - 1);
    return apart > ERRORS * by_chance ? apart : 0;
}

/* Whether another column tells the heaps apart; *ret_ok false: memory ran out. */
static bool told_elsewhere(const mixed *x, tab_arena *a, bool *ret_ok)
{
    size_t cols = x->s->p->table->cols;
    double *buf = tab_arena_new_of(a, double, x->n + 1);
    *ret_ok = buf != NULL;
    for (size_t c = 0; *ret_ok && c < cols && c < TAB_SUSPECT_COLUMNS; c++) {
        const tab_seen *v = &x->s->seen[c];
        if (c == x->column)
            continue;
        if (v->num != NULL && told_by_numbers(x, v->num, buf) > TELLS)
            return true;
        if (v->code == NULL || v->levels < 2 || v->levels > x->n / LEAST_HEAP)
            continue;
        uint32_t *of = tab_arena_new_of(a, uint32_t, 2 * v->levels);
        *ret_ok = of != NULL;
        if (*ret_ok && told_by_values(x, v, of) > TELLS)
            return true;
    }
    return false;
}

/* ---- the column ---------------------------------------------------------------------------------------- */

/* The share of tables with so many of n rows in a heap in which that is the rarer unit (any share as likely
 * before). */
static double rarer(size_t lesser, size_t n)
{
    return 0.5 * erfc(-((double)n - 2 * (double)lesser) / sqrt(2 * (double)n));
}

static void doubt(mixed *x, size_t way, double odds)
{
    uint32_t lesser = 0, all = 0;
    for (size_t i = 0; i < x->s->rows; i++) {
        double left = left_over(x, i, x->num[i]);
        all += isfinite(left);
        lesser += isfinite(left) && in_lesser(x, left);
    }
    double sure = odds / (1 + odds) * rarer(lesser, all);
    for (size_t i = 0; i < x->s->rows; i++) {
        double left = left_over(x, i, x->num[i]);
        if (!isfinite(left) || !in_lesser(x, left))
            continue;
        tab_suspect *c = tab_suspects_add(x->s, i, x->column, TAB_SUSPECT_UNIT);
        if (c == NULL)
            return;
        c->f[0] = (float)log(sure / (1 - sure));
        c->agree = lesser;
        c->of = all;
        c->suggestion = tab_suspects_number_text(x->s->arena, converted(way, x->num[i]),
                                                 x->s->seen[x->column].col->decimals);
    }
}

/* The mixed column with what converts its lesser heap. */
typedef struct {
    mixed x;
    size_t way;
    double odds;
} finding;

/* The conversion that lays the lesser heap on the greater one, of which the odds are highest. looks: models
 * that are tried. Takes the place of `best` where it is the surer one. False: memory ran out. */
static bool look_at_heaps(mixed *x, tab_arena *a, const heap *greater, const heap *lesser, size_t looks,
                          finding *best)
{
    size_t found = SIZE_MAX;
    double most = 0;
    bool ok = true;
    for (size_t i = 0; i < CONVERSIONS; i++) {
        if ((UNITS[i / 2].plus == 0) != x->log)
            continue;
        double error = 0, rank = x->log ? (double)(i / 2 + 1) : 1;
        double way = x->log ? WAY : fabs(lesser->middle - greater->middle), z = misfit(x, greater, i, &error);
        double odds =
            z < ERRORS ? exp(-z * z / 2) / sqrt(2 * M_PI) / error * way / ((double)looks * rank) : 0;
        if (odds > most)
            most = odds, found = i;
    }
    if (most <= best->odds || told_elsewhere(x, a, &ok) || !ok)
        return ok;
    *best = (finding){ *x, found, most };
    return true;
}

/* How many of the sorted numbers are below x. */
static size_t below(const mixed *x, double cut)
{
    size_t from = 0, to = x->n;
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (x->sorted[mid] < cut)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* The column by one model and on one scale: factors are ratios, degrees are not. It is cut where squares are
 * least and, for heaps too small for that, half the way that each conversion goes. */
static bool look(mixed *x, tab_arena *a, size_t looks, finding *best)
{
    heap greater, lesser;
    if (!collect(x, a))
        return false;
    if (x->n < LEAST_CELLS)
        return true;
    double middle = tab_quantile_of(x->sorted, x->n, 0.5);
    size_t own = best_cut(x->sorted, x->n);
    if (in_two_heaps(x, own, &greater, &lesser))
        return look_at_heaps(x, a, &greater, &lesser, looks, best);
    for (size_t i = 0; i < CONVERSIONS; i++) {
        if ((UNITS[i / 2].plus == 0) != x->log)
            continue;
        double shift = x->log ? log(converted(i, 1)) : converted(i, x->number) - x->number;
        if (in_two_heaps(x, below(x, middle + shift / 2), &greater, &lesser) &&
            !look_at_heaps(x, a, &greater, &lesser, looks, best))
            return false;
    }
    return true;
}

/* The ratio of the column to each other one of numbers above 0. False: memory ran out. */
static bool look_at_ratios(const mixed *own, tab_arena *a, const tab_numbers *u, finding *best)
{
    for (size_t k = 0; k < u->n; k++) {
        const tab_seen *v = &own->s->seen[u->col[k]];
        if (u->col[k] == own->column || !u->q[k].positive || v->col->type == TAB_DATETIME)
            continue;
        mixed x = *own;
        x.m = NULL, x.by = v->num, x.log = true;
        if (!look(&x, a, u->n, best))
            return false;
    }
    return true;
}

bool tab_suspects_units(tab_search *s, const tab_numbers *u, size_t k, const tab_residuals *m)
{
    size_t column = u->col[k];
    const tab_seen *v = &s->seen[column];
    finding best = { .odds = LEAST_ODDS };
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    if (a == NULL || v->col->type == TAB_DATETIME || u->q[k].n < LEAST_CELLS)
        return a != NULL;
    double middle = u->q[k].log ? exp(u->q[k].median) : u->q[k].median;
    for (int log_scale = u->q[k].positive; log_scale >= 0; log_scale--)
        for (int given = m->left != NULL; given >= 0; given--) {
            mixed x = { .s = s,
                        .column = column,
                        .num = v->num,
                        .number = middle,
                        .m = given ? m : NULL,
                        .log = log_scale };
            if (!look(&x, a, 1, &best))
                return false;
        }
    mixed own = { .s = s, .column = column, .num = v->num };
    if (u->q[k].positive && !look_at_ratios(&own, a, u, &best))
        return false;
    if (best.x.num != NULL)
        doubt(&best.x, best.way, fmin(ODDS, best.odds));
    return true;
}
