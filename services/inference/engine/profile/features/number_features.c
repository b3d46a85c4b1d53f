/* See features.h: how a column's numbers are spread and written. */
#include "services/inference/engine/profile/features/features_internal.h"

#include <stdlib.h>

/* For qsort: by value. */
int tab_weighted_by_x(const void *a, const void *b)
{
    double x = ((const weighted *)a)->x, y = ((const weighted *)b)->x;
    return (x > y) - (x < y);
}

/* Signs, roundness and notation of one number. A thousandth of a cent is within rounding of whole cents. */
void tab_number_gather(const tab_number *x, double w, gather *g)
{
    double v = x->value;
    g->num += w;
    g->affix[x->affix] += w;
    g->grouped += x->grouped ? w : 0;
    g->exponent += x->exponent ? w : 0;
    g->bounded += x->bound ? w : 0;
    g->decimal[x->decimals < 7 ? x->decimals : 7] += w;
    g->dec_max = fmax(g->dec_max, x->decimals);
    g->integer += v == floor(v) ? w : 0;
    g->negative += v < 0 ? w : 0;
    g->zero += v == 0 ? w : 0;
    if (v == floor(v)) {
        int rest = fabs(v) < 0x1p62 ? (int)((int64_t)v % 1000) : (int)fmod(v, 1000);
        g->m5 += rest % 5 == 0 ? w : 0;
        g->m10 += rest % 10 == 0 ? w : 0;
        g->m100 += rest % 100 == 0 ? w : 0;
        g->m1000 += rest == 0 ? w : 0;
    }
    double c = fabs(v) * 100;
    if (fabs(c - nearbyint(c)) < 1e-6 * fmax(1, c)) {
        int cents = (int)fmod(nearbyint(c), 100);
        g->cents99 += cents == 99 || cents == 95 || cents == 49 || cents == 98 ? w : 0;
        g->half += cents == 50 || cents == 25 || cents == 75 ? w : 0;
    }
}

/* The value at which the running weight reaches q of the total: no interpolation, so it is a value of the
 * column. */
double tab_weighted_quantile(const weighted *v, size_t n, double total, double q)
{
    double at = q * total, sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += v[i].w;
        if (sum >= at)
            return v[i].x;
    }
    return n > 0 ? v[n - 1].x : 0;
}

/* Numbers of any size and sign on one scale: half of log(1 + |x|), with x's sign. */
static double signed_log(double x)
{
    return copysign(log1p(fabs(x)), x) / 2;
}

/* How people and instruments write numbers (decisions 0164, 0165, 0208). v (n) sorted; var: of the
 * column's numbers. */
static void put_habits(cursor *c, const tab_summary *s, const gather *g, const weighted *v, size_t n,
                       double var, tab_features *f)
{
    double total = 0, log1 = 0, log2 = 0, log3 = 0, digit[10] = { 0 }, positive = 0;
    double lo = n > 0 ? v[0].x : 0, hi = n > 0 ? v[n - 1].x : 0, span = hi - lo + 1;
    double scale = g->dec_max <= 6 ? pow(10, g->dec_max) : 0;
    for (size_t i = 0; i < n; i++) {
        double x = fabs(v[i].x) * scale;
        total += v[i].w;
        if (scale > 0 && x < 1e15)
            digit[(int)fmod(nearbyint(x), 10)] += v[i].w;
        if (v[i].x > 0) {
            double l = log10(v[i].x);
            positive += v[i].w;
            log1 += v[i].w * l;
            log2 += v[i].w * l * l;
            log3 += v[i].w * l * l * l;
        }
    }
    /* the last digit: people round to fives, prices end in nine, instruments in anything */
    put(c, share(digit[0], total));
    put(c, share(digit[5], total));
    put(c, share(digit[9], total));
    /* over how many decades, and leaning where */
    double mean = share(log1, positive), sd2 = share(log2, positive) - mean * mean,
           sd = sd2 > 0 ? sqrt(sd2) : 0;
    put(c, fmin(4, sd * 2));
    put(c, sd > 1e-3
               ? fmax(-4, fmin(4, (share(log3, positive) - 3 * mean * sd2 - mean * mean * mean) / (sd2 * sd)))
               : 0);
    /* how much a row has of the row before: the correlation of neighbours, by the ratio of von Neumann
     * (1941) */
    double steps = (double)(s->up + s->down + s->same);
    put(c, var > 0 && steps > 4 ? fmax(-1, fmin(1, 1 - s->steps_squared / (2 * steps * var))) : 0);
    /* Whole numbers that repeat as often as draws from their range would by chance are no keys: keys do not
     * repeat, and references to keys repeat far more. */
    bool whole = n > 1 && g->integer >= total * 0.999 && span > 30;
    double by_chance = whole ? span * -expm1(-f->present / span) : 1,
           odd = whole ? log(fmax(1, f->distinct) / by_chance) : 0;
    put(c, fmax(-4, fmin(1, 2 * odd)));
    bool repeats = whole && f->distinct < f->present;
    put(c, repeats && fabs(odd) < 0.08);
    f->drawn = repeats && fabs(odd) < 0.08 && n > 40;
    /* of the cells most end alike, yet not all: a key's digits are even, or go step by step */
    double liked = share(digit[0] + digit[5] + digit[9], total);
    /* Counts up through the rows, at least eight rows a number: decision 0208. */
    f->counted = n > 2 && (lo == 0 || lo == 1) && g->integer >= total * 0.999 && s->down == 0 && s->up > 0 &&
                 s->unit_steps == s->up && f->distinct * 8 <= f->present;
    /* More than 0.6 end in 0, 5 or 9 and not nearly all in 0 and 5: decision 0165. Below 40 values the
     * shares say nothing. */
    f->heaped = repeats && n > 40 && liked > 0.6 && share(digit[0] + digit[5], total) < 0.98;
}

/* Where the numbers lie, v (n) sorted; q (9): quantiles, which are put too. */
static void put_spread(cursor *c, const gather *g, const weighted *v, size_t n, const double *q, double mean,
                       double sd)
{
    static const int low = 1, middle = 4, high = 7, top = 8;
    const bool any = n > 0;
    const double total = g->num, lo = any ? v[0].x : 0, hi = any ? v[n - 1].x : 0;
    const double rows[] = {
        signed_log(mean),
        log1p(sd) / 2,
        sd > 0 ? fmax(-4, fmin(4, (mean - q[middle]) / sd)) * 2 : 0,                    /* skew */
        any && mean != 0 ? fmin(4, sd / fabs(mean)) : 0,                                /* relative spread */
        any && q[middle] != 0 ? fmax(-4, fmin(8, log1p(fabs(q[top] / q[middle])))) : 0, /* a long tail */
        q[high] - q[low] > 0 ? fmin(6, log1p((hi - lo) / (q[high] - q[low]))) : 0,      /* outliers */
        share(g->integer, total),  /* counts, keys, years */
        share(g->negative, total), /* balances, temperatures, longitudes */
        share(g->zero, total),     /* counts, amounts that may be nil */
        share(g->m5, total),       /* round to fives: set by people */
        share(g->m10, total),      /* to tens */
        share(g->m100, total),     /* to hundreds: salaries, prices */
        share(g->m1000, total),    /* to thousands */
        share(g->cents99, total),  /* .99, .95, .49, .98: retail prices */
        share(g->half, total),     /* .25, .50, .75: ratings, quotes */
        g->dec_max / 4,            /* most decimals written */
    };
    PUT_ROWS(c, rows);
    for (int i = 0; i < 8; i++) /* numbers of i decimals; the last: 7 and more */
        put(c, share(g->decimal[i], total));
}

/* Ranges that a role keeps to, as flags: everything in such a range at once is a hint, no proof. */
static void put_ranges(cursor *c, const gather *g, double lo, double hi, bool any, bool whole)
{
    const double many = g->decimal[3] + g->decimal[4] + g->decimal[5] + g->decimal[6] + g->decimal[7];
    const bool fine = many > g->num / 2; /* most have three decimals and more, as coordinates do */
    const double rows[] = {
        any && lo >= 0 && hi <= 1 && !whole,                   /* shares */
        any && lo >= 0 && hi <= 1 && whole,                    /* 0 and 1: flags */
        any && lo >= 0 && hi <= 100 && hi > 1,                 /* percentages, scores */
        any && lo >= 1 && hi <= 5 && hi >= 3,                  /* ratings of five stars */
        any && lo >= 0 && hi <= 10 && hi > 1,                  /* ratings of ten */
        any && lo >= 0 && hi <= 110 && hi > 30 && lo < 60,     /* ages */
        any && lo >= 14 && hi <= 100 && whole && hi - lo > 10, /* ages of those who work */
        any && lo >= -90 && hi <= 90 && fine,                  /* latitudes */
        any && lo >= -180 && hi <= 180 && fine,                /* longitudes */
        any && lo >= 1500 && hi <= 2100 && whole,              /* years */
        any && lo >= 1900 && hi <= 2030 && whole,              /* years of our time */
        any && lo == 1 && hi == 12 && whole,                   /* months, all of them */
        any && lo >= 1 && hi <= 12 && hi > 2 && whole,         /* some of them */
        any && lo >= 1 && hi <= 31 && hi > 12 && whole,        /* days of a month */
        any && lo == 1 && hi == 31 && whole,                   /* all of them */
        any && lo >= 0 && hi <= 23 && hi > 10 && whole,        /* hours */
        any && lo >= 1 && hi <= 7 && hi > 4 && whole,          /* weekdays */
        any && lo >= 0 && hi <= 59 && hi > 31 && whole,        /* minutes, weeks of a year */
        any && lo > 6e8 && hi < 4.2e9 && whole,                /* seconds since 1970, 1989 to 2103 */
        any && lo > 6e11 && hi < 4.2e12 && whole,              /* milliseconds */
        any && lo >= 0 && hi <= 2359 && hi > 1200 && whole,    /* 930 as 09:30 */
        any && lo == 0,                                        /* counts, shares */
        any && lo == 1,                                        /* ranks, row numbers */
    };
    PUT_ROWS(c, rows);
}

/* How the numbers go from row to row, and how densely they fill their range. */
static void put_order(cursor *c, const tab_summary *s, const tab_features *f, double lo, double hi, bool any,
                      bool whole)
{
    const double distinct = f->distinct, span = hi - lo + 1, sum = s->sum;
    const double steps = (double)(s->up + s->down + s->same);
    const bool one_length = floor(log10(fabs(hi) + 1)) == floor(log10(fabs(lo) + 1));
    const double rows[] = {
        whole && span > 0 ? fmin(1, distinct / span) : 0,                    /* share of the range in use */
        whole && lo == 1 && distinct == f->present && span == distinct,      /* 1..n: row numbers, ranks */
        whole && (lo == 0 || lo == 1) && span == distinct && distinct <= 12, /* codes of an enumeration */
        share((double)s->up, steps),                                         /* rising: dates, keys */
        share((double)s->down, steps),                                       /* falling: a ranking's score */
        share((double)s->same, steps),                                       /* grouped rows */
        share((double)s->unit_steps, steps),                                 /* counted up */
        steps > 0 && (s->down == 0 || s->up == 0),                           /* sorted */
        any && (fabs(sum - 1) < 0.01 || fabs(sum - 100) < 0.5) && lo >= 0,   /* parts of a whole */
        whole && any ? one_length : 0,                                       /* as many digits: keys, codes */
        whole && hi > 0 ? log10(hi + 1) / 4 : 0,                             /* how many digits */
    };
    PUT_ROWS(c, rows);
}

void tab_number_features(cursor *c, const tab_summary *s, const gather *g, weighted *v, size_t n,
                         tab_features *f)
{
    qsort(v, n, sizeof *v, tab_weighted_by_x);
    double total = g->num, mean = share(s->sum, (double)s->numbers);
    double var = share(s->sum_squares, (double)s->numbers) - mean * mean, sd = var > 0 ? sqrt(var) : 0;
    double q[9];
    static const double at[] = { 0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1 };
    for (int i = 0; i < 9; i++) {
        q[i] = n > 0 ? tab_weighted_quantile(v, n, total, at[i]) : 0;
        put(c, n > 0 ? signed_log(q[i]) : 0);
    }
    /* "Whole" allows one cell in a thousand that is not: a slip in a column of counts. */
    bool any = n > 0, whole = g->integer >= total * 0.999 && any;
    f->min = any ? v[0].x : 0;
    f->max = any ? v[n - 1].x : 0;
    f->q50 = q[4];
    f->fraction = any && !whole;
    put_spread(c, g, v, n, q, mean, sd);
    put_ranges(c, g, f->min, f->max, any, whole);
    put_order(c, s, f, f->min, f->max, any, whole);
    put_habits(c, s, g, v, n, var, f);
}

/* Soft bins: x in 0..n-1 shares its weight between the two bins beside it. */
static void put_hat(cursor *c, double x, int n, double weight)
{
    x = fmax(0, fmin(n - 1, x));
    for (int i = 0; i < n; i++)
        put(c, weight * fmax(0, 1 - fabs(x - i)));
}

/* Size in 9 soft bins of a decade each (from 0.01 to a million) and spread in 6, by four kinds of notation:
 * whole, one decimal, two decimals, more. A linear model cannot multiply its inputs; these products let it.
 * Decision 0163 measured them together; other bins were not tried. */
void tab_crossed_features(cursor *c, const gather *g, const weighted *v, size_t n, const tab_features *f)
{
    double total = g->num, q05 = 0, q50 = 0, q95 = 0, whole = share(g->integer, total), few = 0;
    if (n > 0) {
        q05 = tab_weighted_quantile(v, n, total, 0.05);
        q50 = fabs(tab_weighted_quantile(v, n, total, 0.5));
        q95 = tab_weighted_quantile(v, n, total, 0.95);
        few = v[0].x;
    }
    double size = log10(fmax(1e-4, fmax(q50, fabs(q95) / 8))) + 2, wide = q05 > 0
                                                                              ? log10(fmax(1, q95 / q05)) * 2
                                                                          : few < 0 ? 5
                                                                                    : 4;
    double two = share(g->decimal[2], total),
           more = share(total - g->decimal[0] - g->decimal[1] - g->decimal[2], total),
           one = share(g->decimal[1], total);
    bool any = n > 0;
    double kind[4] = { any * (whole >= 0.999), any * (whole < 0.999) * (one > 0.3 && two + more < 0.05),
                       any * (whole < 0.999) * (two >= 0.05) * (more < 0.05), any * (more >= 0.05) };
    for (int k = 0; k < 4; k++)
        put_hat(c, size, 9, kind[k]);
    for (int k = 0; k < 4; k++)
        put_hat(c, wide, 6, kind[k]);
    /* whole numbers: how often they repeat, by size */
    double repeat = f->present > 0 ? 3 * f->distinct / f->present : 0;
    for (int k = 0; k < 4; k++)
        put_hat(c, log10(fmax(1, fabs(q95))), 7, kind[0] * fmax(0, 1 - fabs(repeat - k)));
    /* texts: distinct share by tokens */
    double words = share(g->tokens, g->values);
    for (int k = 0; k < 2; k++)
        put_hat(c, fmin(4, words) - 1 + (words > 4), 5, (n == 0) * (k == 0 ? repeat / 3 : 1 - repeat / 3));
}
