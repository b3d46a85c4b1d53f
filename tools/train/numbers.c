/* Quantities. A plan says the range in which nearly all values lie, "lo..hi", and flags behind it:
 *
 *   dN decimals   u uniform   z many zeros   w a walk in row order   o open, high, low, close (4 columns,
 *                 generate.c)
 *   like  near the column of numbers before      part  a share of it      product, total  of the two before
 *
 * What a person or a program does to numbers is drawn per column: unit (a factor), precision, rounding to
 * 5, 10, 50 ..., prices that end in .99, currency signs, thousands marks, shares as 0.12, 12 or 12 %. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/train/maker.h"

typedef struct {
    double lo, hi;
    int decimals; /* -1: by size */
    bool uniform, zeros, walk, like, part, product, total, given;
} range;

static range range_of(const char *arg)
{
    range r = { .lo = 1, .hi = 100, .decimals = -1 };
    const char *dots = strstr(arg, "..");
    if (dots != NULL) {
        r.lo = strtod(arg, NULL);
        r.hi = strtod(dots + 2, NULL);
        r.given = true;
    }
    for (const char *p = arg; *p != 0; p++) {
        if (p != arg && p[-1] != ' ')
            continue;
        if (*p == 'd' && p[1] >= '0' && p[1] <= '9')
            r.decimals = p[1] - '0';
        r.uniform |= p[0] == 'u' && (p[1] == 0 || p[1] == ' ');
        r.zeros |= p[0] == 'z';
        r.walk |= p[0] == 'w' && (p[1] == 0 || p[1] == ' ');
        r.like |= strncmp(p, "like", 4) == 0;
        r.part |= strncmp(p, "part", 4) == 0;
        r.product |= strncmp(p, "product", 7) == 0;
        r.total |= strncmp(p, "total", 5) == 0;
    }
    return r;
}

static double rounded(double x, int d)
{
    double t = pow(10, d);
    return round(x * t) / t;
}

/* Number as text: decimals fixed or as needed, the locale's marks. */
static void number_text(const locale *l, double v, int decimals, bool fixed, bool native, bool grouped,
                        char *out, size_t size)
{
    char buf[64], *p = buf;
    snprintf(buf, sizeof buf, "%.*f", decimals < 0 ? 0 : decimals, v);
    if (strcmp(buf, "-0") == 0)
        strcpy(buf, "0");
    char *dot = strchr(buf, '.');
    if (dot != NULL && !fixed) {
        char *end = buf + strlen(buf) - 1;
        while (end > dot && *end == '0')
            *end-- = 0;
        if (end == dot)
            *dot = 0;
        dot = strchr(buf, '.');
    }
    size_t whole = dot == NULL ? strlen(buf) : (size_t)(dot - buf), n = 0;
    const char *mark = native ? l->grouping : ",";
    for (size_t i = 0; i < whole && n + 8 < size; i++) {
        if (grouped && i > (buf[0] == '-') && (whole - i) % 3 == 0)
            n += (size_t)snprintf(out + n, size - n, "%s", mark);
        out[n++] = p[i];
    }
    out[n] = 0;
    if (dot != NULL)
        snprintf(out + n, size - n, "%c%s", native ? l->decimal : '.', dot + 1);
}

/* One draw within lo..hi (about 95 % of the mass), skewed when the range spans decades. */
static double draw(maker *m, const range *r, bool skewed, bool bell, size_t row)
{
    if (r->uniform)
        return r->lo + (r->hi - r->lo) * drift_unit(m, row);
    if (skewed) {
        double lo = log(fmax(r->lo, r->hi / 1e5)), hi = log(r->hi);
        return exp((lo + hi) / 2 + (hi - lo) / 4 * fmax(-3.5, fmin(3.5, drift_normal(m, row))));
    }
    if (bell)
        return (r->lo + r->hi) / 2 + (r->hi - r->lo) / 4 * drift_normal(m, row);
    return r->lo + (r->hi - r->lo) * (drift_unit(m, row) + chance_unit(m->c)) / 2;
}

/* A part of the range, somewhere in it. */
static void narrowed(chance *c, range *r, bool skewed)
{
    double wide = 0.15 + 0.75 * chance_unit(c), from = (1 - wide) * chance_unit(c);
    double lo = skewed ? log(fmax(r->lo, r->hi / 1e5)) : r->lo, hi = skewed ? log(r->hi) : r->hi;
    double a = lo + (hi - lo) * from, b = lo + (hi - lo) * (from + wide);
    if (r->lo < 0 || r->zeros)
        return;
    r->lo = skewed ? exp(a) : a;
    r->hi = skewed ? exp(b) : b;
}

/* A count about `mean`: Poisson's law (Knuth's product for small means, the normal one beyond), `loose`
 * times as uneven where things differ among each other. */
static double counted(chance *c, double mean, double loose)
{
    mean *= loose > 0 ? exp(loose * chance_normal(c) - loose * loose / 2) : 1;
    if (mean > 40)
        return fmax(0, floor(mean + sqrt(mean) * chance_normal(c) + 0.5));
    double p = 1, end = exp(-mean);
    for (int k = 0;; k++)
        if ((p *= chance_unit(c)) <= end || k > 400)
            return k;
}

/* ---- measures, counts and amounts ------------------------------------------------------------ */

/* What is drawn once for a column of quantities; the steps below fill it in the order of their draws. */
typedef struct {
    range r;
    bool money, count, measure;
    double factor; /* the unit: currency, thousands, another scale */
    bool skewed, bell;
    double size; /* the greatest absolute value, roughly */
    int decimals;
    double step;          /* rounded to multiples of it; 0: not */
    bool ninety_nine;     /* prices end in .99, .95 or .49 */
    double zero, shorter; /* share of zeros; share of cells with fewer decimals */
    bool few;             /* values come from set[0 .. sets) */
    bool trend, outliers; /* grows with the rows; one in fifty is ten times as large */
    double at, pace;      /* of a walk: its place, its step */
    bool counts;          /* Poisson counts about `about`, `loose` times as uneven */
    double loose, about;
    bool measured; /* `narrow` of the range, every third row `other` further up */
    double narrow, other;
    double set[24];
    size_t sets;
    double ratio, spread; /* to the column before */
} quantity;

/* The unit and the range: what a value is multiplied by, and where in the plan's range this column lies. */
static void scale_of(maker *m, quantity *q)
{
    chance *c = m->c;
    range *r = &q->r;
    if (!r->given) { /* only a relation is given */
        r->lo = q->count ? 0 : 1;
        r->hi = q->count ? 60 : 5000;
    }
    q->factor = 1;
    if (q->money && chance_of(c, 0.6))
        q->factor = m->loc->rate;
    if (q->money && r->hi > 3e5 && chance_of(c, 0.4))
        q->factor /= chance_of(c, 0.5) ? 1e3 : 1e6; /* in thousands, in millions */
    if (q->measure && !r->walk && chance_of(c, 0.35))
        q->factor = chance_of(c, 0.5) ? exp(chance_normal(c)) : pow(10, (double)chance_below(c, 5) - 2);
    if (q->count && r->hi > 200 && chance_of(c, 0.4))
        q->factor = exp(0.8 * chance_normal(c));
    /* columns of one plan lie in different places, too */
    double shift = exp(0.25 * chance_normal(c));
    q->factor *= r->lo >= 0 && r->hi > 30 ? shift : 1;
    q->skewed = r->lo >= 0 && r->hi / fmax(r->lo, 1e-9) > 8 && chance_of(c, 0.85);
    q->bell = chance_of(c, 0.7);
    if (r->given && !r->walk && chance_of(c, 0.5)) /* one table holds a part of what there is */
        narrowed(c, r, q->skewed);
    q->size = fmax(fabs(r->lo), fabs(r->hi)) * q->factor;
}

/* Decimals: the plan's, or by the size of the values. */
static void precision_of(chance *c, quantity *q)
{
    double size = q->size;
    int decimals = q->r.decimals;
    if (decimals < 0)
        decimals = size >= 3000  ? (int)chance_below(c, 2)
                   : size >= 100 ? (int)chance_below(c, 3)
                   : size >= 10  ? 1 + (int)chance_below(c, 2)
                   : size >= 1   ? 1 + (int)chance_below(c, 3)
                                 : 2 + (int)chance_below(c, 4);
    else if (q->factor > 20 || q->factor < 0.05)
        decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 5;
    else if (decimals > 0 && chance_of(c, 0.3))
        decimals += chance_of(c, 0.5) ? 1 : -1;
    if (q->money)
        decimals = chance_of(c, 0.6) && size < 1e5 ? 2 : chance_of(c, 0.75) ? 0 : 1 + (int)chance_below(c, 3);
    if (q->count)
        decimals = 0;
    if (q->measure && q->r.decimals < 0 && size >= 15 && chance_of(c, 0.4))
        decimals = 0;
    /* computed, not written by a person */
    if (q->measure && chance_of(c, 0.04))
        decimals = 9;
    if (q->money && chance_of(c, 0.12))
        decimals = 3 + (int)chance_below(c, 6);
    q->decimals = decimals;
}

/* What people do to numbers: round them to steps, let prices end in .99, write zeros, drop digits. */
static void habits_of(chance *c, quantity *q)
{
    double size = q->size;
    q->step = 0;
    if (q->money && q->decimals == 0 && chance_of(c, 0.6))
        q->step = (double[]){ 5, 10, 50, 100, 500, 1000 }[chance_below(c, size > 5000  ? 6
                                                                          : size > 300 ? 4
                                                                                       : 2)];
    if (q->count && size > 300 && chance_of(c, 0.15))
        q->step = (double[]){ 10, 50, 100, 1000 }[chance_below(c, 4)];
    if (q->measure && q->decimals == 1 && chance_of(c, 0.15))
        q->step = 0.5;
    q->ninety_nine = q->money && q->decimals == 2 && size < 2000 && chance_of(c, 0.25);
    q->zero = q->r.zeros                                     ? 0.2 + 0.6 * chance_unit(c)
              : (q->count || q->money) && chance_of(c, 0.12) ? 0.3 * chance_unit(c)
                                                             : 0;
    /* some cells are written shorter than the finest one */
    q->shorter = q->decimals > 0 && chance_of(c, 0.3) ? chance_unit(c) : 0;
}

/* How the values spread: a few distinct ones, a walk, a trend, counts that are counted, measures that are
 * narrow, of two kinds, or in steps of an instrument. */
static void shape_of(maker *m, quantity *q)
{
    chance *c = m->c;
    const range *r = &q->r;
    q->few = chance_of(c, q->money ? 0.2 : 0.12);
    q->trend = chance_of(c, 0.03);
    q->outliers = chance_of(c, 0.08);
    q->at = r->lo + (r->hi - r->lo) * (0.2 + 0.6 * chance_unit(c));
    q->pace = (r->hi - r->lo) * (0.004 + 0.03 * chance_unit(c));
    q->counts = q->count && r->lo >= 0 && !r->walk && chance_of(c, 0.45);
    q->loose = chance_of(c, 0.4) ? 0 : 0.3 + 0.9 * chance_unit(c);
    q->about = exp(log(fmax(1.2, r->lo)) +
                   (log(fmax(2, r->hi)) - log(fmax(1.2, r->lo))) * (0.2 + 0.5 * chance_unit(c)));
    q->measured = q->measure && !r->walk && !r->uniform && chance_of(c, 0.3);
    q->narrow = q->measured ? 0.15 + 0.6 * chance_unit(c) : 1;
    q->other = q->measured && chance_of(c, 0.25) ? 0.4 + 0.4 * chance_unit(c) : 0;
    if (q->measured && q->step == 0 && q->decimals > 0 && chance_of(c, 0.25))
        q->step = (double[]){ 2, 5, 25 }[chance_below(c, 3)] / pow(10, q->decimals);
    else if (q->measured && q->decimals == 0 && q->size > 60 && chance_of(c, 0.4))
        q->step = (double[]){ 5, 5, 10 }[chance_below(c, 3)];
    q->sets = 3 + chance_below(c, 20);
    for (size_t i = 0; i < q->sets; i++)
        q->set[i] = draw(m, r, q->skewed, q->bell, i % m->rows);
    q->ratio = 0.05 + 0.8 * chance_unit(c);
    q->spread = 0.02 + 0.15 * chance_unit(c);
    if (r->like)
        q->ratio = exp(0.3 * chance_normal(c));
}

/* The value of row i before it stands in a relation to other columns, in the column's unit. */
static double drawn_value(maker *m, quantity *q, size_t i)
{
    chance *c = m->c;
    const range *r = &q->r;
    double v = q->few ? q->set[chance_below(c, q->sets)] : draw(m, r, q->skewed, q->bell, i);
    if (q->counts)
        v = counted(c, q->about * (m->tie == 0 ? 1 : exp(0.4 * drift_normal(m, i))), q->loose);
    if (q->measured) {
        double mid = q->skewed ? sqrt(fmax(r->lo, r->hi / 1e5) * r->hi) : (r->lo + r->hi) / 2;
        v = mid + (v - mid) * q->narrow + (q->other > 0 && i % 3 == 1 ? q->other * (r->hi - mid) : 0);
    }
    if (r->walk) {
        q->at = fmax(r->lo, fmin(r->hi, q->at + q->pace * chance_normal(c)));
        v = q->at;
    }
    if (q->trend)
        v += (r->hi - r->lo) * (double)i / (double)m->rows;
    if (q->outliers && chance_of(c, 0.02))
        v *= 10;
    return v * q->factor;
}

/* The value of row i as it is written: related to the columns before, rounded. */
static double quantity_of(maker *m, quantity *q, size_t i)
{
    chance *c = m->c;
    const range *r = &q->r;
    double v = drawn_value(m, q, i);
    if (r->like && m->last[1] != NULL)
        v = m->last[1][i] * q->ratio * (1 + q->spread * chance_normal(c));
    if (r->part && m->last[1] != NULL)
        v = m->last[1][i] * fmin(1, q->ratio * 2 * chance_unit(c));
    if (r->product && m->last[0] != NULL && m->last[1] != NULL)
        v = m->last[0][i] * m->last[1][i];
    else if (r->total && m->last[0] != NULL && m->last[1] != NULL)
        v = m->last[0][i] + m->last[1][i];
    else if (q->zero > 0 && chance_of(c, q->zero))
        v = 0;
    if (r->lo >= 0 && v < 0)
        v = fabs(v);
    if (q->step > 0)
        v = round(v / q->step) * q->step;
    else if (q->ninety_nine && v > 1)
        v = floor(v) + (chance_of(c, 0.7) ? 0.99 : chance_of(c, 0.5) ? 0.95 : 0.49);
    if (q->count && r->lo >= 1)
        v = fmax(1, v);
    return rounded(v, q->shorter > 0 && chance_of(c, q->shorter) ? (int)chance_below(c, (size_t)q->decimals)
                                                                 : q->decimals);
}

/* The numbers of m->now as texts: the locale's marks, a currency's sign, a unit, thousands as "k". */
static bool write_quantities(maker *m, const quantity *q)
{
    static const char *const units[] = { " kg",
                                         " cm",
                                         "km",
                                         "%",
                                         " mm",
                                         " mg",
                                         " GB",
                                         " MPa",
                                         "\xc2\xb0"
                                         "C",
                                         " kWh",
                                         " l",
                                         " ha" };
    chance *c = m->c;
    bool fixed = chance_of(c, q->money ? 0.6 : 0.3), native = m->loc->decimal == ',' && chance_of(c, 0.25);
    bool grouped = q->size >= 1000 && chance_of(c, 0.08), sign = q->money && chance_of(c, 0.14);
    const char *unit = q->measure && chance_of(c, 0.05) ? units[chance_below(c, 12)] : "";
    bool thousands = (q->count || q->money) && q->size > 5000 && chance_of(c, 0.02);
    size_t sign_way = chance_below(c, 5);
    for (size_t i = 0; i < m->rows; i++) {
        char t[80], out[120];
        double v = thousands ? m->now[i] / 1000 : m->now[i];
        number_text(m->loc, v, thousands ? 1 : q->decimals, fixed || thousands, native, grouped, t, sizeof t);
        if (sign && sign_way < 3)
            snprintf(out, sizeof out, "%s%s%s%s", t[0] == '-' ? "-" : "", m->loc->money,
                     sign_way == 2 ? " " : "", t + (t[0] == '-'));
        else if (sign)
            snprintf(out, sizeof out, "%s %s", t, sign_way == 3 ? m->loc->money : m->loc->currency);
        else
            snprintf(out, sizeof out, "%s%s%s", t, unit, thousands ? "k" : "");
        if (!put_cell(m, i, out))
            return false;
    }
    return true;
}

static bool quantities(maker *m, const spec *s)
{
    quantity q = { .r = range_of(s->arg),
                   .money = s->role == TAB_ROLE_AMOUNT,
                   .count = s->role == TAB_ROLE_COUNT,
                   .measure = s->role == TAB_ROLE_MEASURE };
    scale_of(m, &q);
    precision_of(m->c, &q);
    habits_of(m->c, &q);
    shape_of(m, &q);
    for (size_t i = 0; i < m->rows; i++)
        m->now[i] = quantity_of(m, &q, i);
    return write_quantities(m, &q);
}

/* ---- shares, ratings, years, positions ------------------------------------------------------- */

static bool percentages(maker *m, const spec *s)
{
    chance *c = m->c;
    range r = range_of(s->arg);
    size_t way = chance_below(c, 20); /* 0..8 share of one, 9..17 of a hundred, 18, 19 with the sign */
    if (strchr(s->arg, 'f') != NULL)
        way = 0;
    double of = way < 9 ? 0.01 : 1;
    int decimals = way < 9              ? 2 + (int)chance_below(c, 3)
                   : chance_of(c, 0.35) ? 0
                                        : 1 + (int)chance_below(c, 3);
    if (chance_of(c, way < 9 ? 0.3 : 0.15)) /* a quotient as the program left it */
        decimals = 4 + (int)chance_below(c, 6);
    if (!r.given) {
        r.lo = 0;
        r.hi = 100;
    }
    bool skewed = r.lo >= 0 && r.hi < 60 && chance_of(c, 0.5);
    if (r.lo >= 0 && chance_of(c, 0.5))
        narrowed(c, &r, skewed);
    bool shares = strstr(s->arg, "rest") != NULL && m->last[1] != NULL, few = chance_of(c, 0.1);
    double set[8];
    for (int i = 0; i < 8; i++)
        set[i] = r.lo + (r.hi - r.lo) * chance_unit(c);
    bool zeros = r.zeros;
    for (size_t i = 0; i < m->rows; i++) {
        double v = few ? set[chance_below(c, 8)] : draw(m, &r, skewed, true, i);
        if (zeros && chance_of(c, 0.5))
            v = 0;
        if (r.lo >= 0)
            v = fmin(r.hi > 100 ? 1e9 : 100, fabs(v));
        v *= of;
        if (shares)
            v = fmax(0, (m->last[1][i] > 1 ? 100 : 1) - m->last[1][i] -
                            (m->last[0] != NULL ? m->last[0][i] : 0));
        m->now[i] = rounded(v, decimals);
        char t[80];
        snprintf(t, sizeof t, "%.*f%s", decimals, m->now[i], way == 18 ? "%" : way == 19 ? " %" : "");
        if (!put_cell(m, i, t))
            return false;
    }
    return true;
}

static bool ratings(maker *m, const spec *s)
{
    chance *c = m->c;
    range r = range_of(s->arg);
    if (!r.given) {
        static const double tops[] = { 5, 5, 5, 5, 10, 10, 4, 7, 100 };
        r.hi = tops[chance_below(c, 9)];
        r.lo = r.hi > 50 ? 40 : chance_of(c, 0.8) ? 1 : 0;
    }
    size_t way = chance_below(c, 6);
    double step = r.decimals == 0 || (r.decimals < 0 && way < 2) || r.hi > 50 ? 1
                  : way == 2                                                  ? 0.5
                  : way == 3                                                  ? 0.25
                  : way == 4                                                  ? 0.01
                                                                              : 0.1;
    double mid = r.lo + (r.hi - r.lo) * (0.45 + 0.4 * chance_unit(c)),
           sd = (r.hi - r.lo) * (0.08 + 0.2 * chance_unit(c));
    bool of = chance_of(c, 0.03);
    for (size_t i = 0; i < m->rows; i++) {
        double v = fmax(r.lo, fmin(r.hi, mid + sd * drift_normal(m, i)));
        v = round(v / step) * step;
        m->now[i] = v;
        char t[60];
        snprintf(t, sizeof t, "%.*f%s",
                 step >= 1                      ? 0
                 : step == 0.25 || step == 0.01 ? 2
                                                : 1,
                 v, of ? r.hi > 5 ? "/10" : "/5" : "");
        if (!put_cell(m, i, t))
            return false;
    }
    return true;
}

/* Where whole numbers of the role lie; ages about *mid with deviation *sd. *onward: numbers only grow. */
static void whole_range(chance *c, int role, range *r, double *mid, double *sd, bool *onward)
{
    switch (role) {
    case TAB_ROLE_YEAR:
        if (!r->given)
            r->lo = 1950 + (double)chance_below(c, 65),
            r->hi = fmin(2023, r->lo + 8 + (double)chance_below(c, 60));
        if (chance_of(c, 0.4)) { /* a few years only */
            r->hi = r->lo + (r->hi - r->lo) * (0.4 + 0.6 * chance_unit(c));
            r->lo = fmax(r->lo, r->hi - 1 - (double)chance_below(c, 12));
        }
        break;
    case TAB_ROLE_AGE:
        if (!r->given)
            r->lo = 18, r->hi = 80;
        *mid = r->lo + (r->hi - r->lo) * (0.3 + 0.3 * chance_unit(c));
        *sd = (r->hi - r->lo) * (0.15 + 0.15 * chance_unit(c));
        break;
    case TAB_ROLE_DATE_PART:
        if (!r->given) {
            static const double ends[][2] = { { 1, 31 }, { 0, 23 }, { 1, 52 }, { 1, 366 },
                                              { 0, 59 }, { 1, 24 }, { 1, 53 } };
            size_t k = chance_below(c, 7);
            r->lo = ends[k][0], r->hi = ends[k][1];
            if (chance_of(c, 0.2)) { /* a study's month number, which only grows */
                r->lo = 1, r->hi = 13 + (double)chance_below(c, 60);
                *onward = true;
            }
        }
        break;
    default:
        break;
    }
}

/* Years, ages, ranks, parts of dates: whole numbers with a shape of their own. */
static bool whole_numbers(maker *m, const spec *s)
{
    chance *c = m->c;
    range r = range_of(s->arg);
    size_t top = m->rows, way = chance_below(c, 10);
    bool onward = false;
    double mid = 0, sd = 1;
    whole_range(c, s->role, &r, &mid, &sd, &onward);
    bool steady = chance_of(c, s->role == TAB_ROLE_YEAR ? 0.5 : 0.25), descending = chance_of(c, 0.2),
         shuffled = chance_of(c, 0.4);
    if (s->role == TAB_ROLE_RANK && chance_of(c, 0.3))
        top = 5 + chance_below(c, 40);
    for (size_t i = 0; i < m->rows; i++) {
        double v = floor(r.lo + (r.hi - r.lo + 1) * chance_unit(c));
        if (s->role == TAB_ROLE_RANK) {
            v = (double)((shuffled ? (i * 7919 + 13) % m->rows : i) % top) + 1;
        } else if (s->role == TAB_ROLE_AGE) {
            v = fmax(r.lo, fmin(r.hi, mid + sd * drift_normal(m, i)));
            v = way == 9 ? rounded(v, 1) : floor(v);
        } else if (onward) {
            v = r.lo + floor((r.hi - r.lo + 1) * (double)i / (double)m->rows);
        } else if (steady) { /* in order, as series are */
            double n = r.hi - r.lo + 1,
                   at = m->group != NULL ? (double)(i % (size_t)n) : floor((double)i * n / (double)m->rows);
            v = descending ? r.hi - fmod(at, n) : r.lo + fmod(at, n);
        } else if (s->role == TAB_ROLE_YEAR && way < 5) { /* more of the recent */
            v = floor(r.hi - (r.hi - r.lo) * pow(chance_unit(c), 2));
        }
        m->now[i] = v;
        char t[40];
        snprintf(t, sizeof t, "%.*f", v == floor(v) ? 0 : 1, v);
        if (!put_cell(m, i, t))
            return false;
    }
    return true;
}

static bool positions(maker *m, const spec *s)
{
    chance *c = m->c;
    const locale *l = chance_of(c, 0.7) ? m->loc : &train_locales[chance_below(c, train_locale_count)];
    bool lat = s->role == TAB_ROLE_LATITUDE, world = chance_of(c, 0.3);
    double lo = lat ? l->lat[0] : l->lon[0], hi = lat ? l->lat[1] : l->lon[1];
    if (world)
        lo = lat ? -50 : -170, hi = lat ? 65 : 175;
    else if (chance_of(c, 0.4)) { /* one town */
        double at = lo + (hi - lo) * chance_unit(c);
        lo = at, hi = at + 0.05 + 0.4 * chance_unit(c);
    }
    int decimals = (int[]){ 2, 3, 4, 4, 5, 6, 6, 7, 8, 14 }[chance_below(c, 10)];
    for (size_t i = 0; i < m->rows; i++) {
        char t[60];
        m->now[i] = rounded(lo + (hi - lo) * chance_unit(c), decimals > 9 ? 9 : decimals);
        snprintf(t, sizeof t, "%.*f", decimals > 9 ? 9 : decimals, m->now[i]);
        if (!put_cell(m, i, t))
            return false;
    }
    return true;
}

bool make_numbers(maker *m, const spec *s, bool *numeric)
{
    *numeric = true;
    switch (s->role) {
    case TAB_ROLE_MEASURE:
    case TAB_ROLE_COUNT:
    case TAB_ROLE_AMOUNT:
        return quantities(m, s);
    case TAB_ROLE_PERCENTAGE:
        return percentages(m, s);
    case TAB_ROLE_RATING:
        return ratings(m, s);
    case TAB_ROLE_YEAR:
    case TAB_ROLE_AGE:
    case TAB_ROLE_DATE_PART:
    case TAB_ROLE_RANK:
        return whole_numbers(m, s);
    case TAB_ROLE_LATITUDE:
    case TAB_ROLE_LONGITUDE:
        return positions(m, s);
    default:
        *numeric = false;
        return true;
    }
}
