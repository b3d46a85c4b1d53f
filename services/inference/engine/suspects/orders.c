/* Dates and numbers in order: columns of which one is never after, or above, the other (admitted, discharged;
 * least, mean, most), and the rows where it is.
 *
 * a <= b is a law where it hardly ever fails and would often fail with b of another row, and where it does
 * not merely run out: where b lies a few days after a, and now and then a day before it, as many rows lie as
 * far on the one side of 0 as on the other. So the failures within their own median are held against the rows
 * as near on the right side: under a density that goes on across 0 they are about as many, or fewer by as
 * much as these are fewer than the next ones (a tail; Poisson; false laws are bounded over all pairs that are
 * tried, Bonferroni).
 *
 * Which of two cells is wrong is told by the other laws of the row (a chain of three), by how far each lies
 * from its column and from the rows above and below it, and by what would mend the row: both exchanged,
 * another year of a date, a number times a power of ten; of numbers also by how far each is from what the
 * row's other cells make of it (given.c). Decisions 0656 and 0755. */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/suspects/given.h"

enum { DATES = 12, LAWS = 128, YEAR_DIGITS = 4, FIRST_TRIED = 100, SCALES = 3 };
static const double MOST_BROKEN = 0.05, OF_CHANCE = 0.1, FALSE_LAWS = 0.01, YEAR = 365.25 * 86400,
                    DAY = 86400, COPIES = 0.9;

typedef struct {
    size_t a, b;                 /* members: a <= b */
    double broken, median, wide; /* share of rows; of the gap b - a: its median and its 0.95 quantile */
    double chance;               /* share of rows that another row's b would break */
    double edge;                 /* log10 of how many times as many rows would break it were there no law */
    size_t rows;
} law;

/* All dates of a table, or all other numbers. */
typedef struct {
    tab_search *s;
    const tab_numbers *u;
    bool dates;
    size_t member[TAB_SUSPECT_NUMBERS], n; /* numbers of tab_numbers */
    double step[TAB_SUSPECT_NUMBERS];      /* how far a member is from the rows above and below, as a rule */
    tab_residuals given[TAB_SUSPECT_NUMBERS]; /* of numbers: what the row's other cells leave over */
    law law[LAWS];
    size_t laws;
} orders;

static double at(const orders *o, size_t k, size_t row)
{
    return o->s->seen[o->u->col[o->member[k]]].num[row];
}

static const tab_scale *scale_of(const orders *o, size_t k)
{
    return &o->u->q[o->member[k]];
}

/* A step that is none to speak of. */
static double least_step(const orders *o, size_t k)
{
    const tab_scale *q = scale_of(o, k);
    return o->dates ? DAY : fmax((q->most - q->least) / 1000, 1e-12);
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

/* Whether a <= b may be a law, on a few rows. */
static bool may_be_law(const orders *o, const law *d)
{
    size_t most = o->s->rows < FIRST_TRIED ? o->s->rows : FIRST_TRIED, n = 0, broken = 0, same = 0;
    for (size_t i = 0; i < most; i++) {
        size_t row = tab_sampled_row(o->s->rows, most, i);
        double a = at(o, d->a, row), b = at(o, d->b, row);
        if (isfinite(a) && isfinite(b))
            n++, broken += a > b, same += a == b;
    }
    return (double)broken <= 2 + 2 * MOST_BROKEN * (double)n && (double)same <= COPIES * (double)n;
}

/* Whether no density that goes on across 0 breaks a law as seldom; gap: sorted, n of them, of which the first
 * `broken` are below 0. looks: laws that are tried. *ret_edge: law.edge. */
static bool ends_at_zero(const double *gap, size_t n, size_t broken, double looks, double *ret_edge)
{
    size_t half = broken / 2;
    double near = 0, next = 0;
    for (size_t i = broken; i < n && broken > 0; i++)
        near += gap[i] <= -gap[half], next += gap[i] > -gap[half] && gap[i] <= -2 * gap[half];
    near = next > near ? near * near / next : near;
    *ret_edge = fmin(*ret_edge, log10(near / 2 + 1) - log10((double)(broken - half) + 1));
    return broken == 0 || at_most(near / 2, (double)(broken - half)) < FALSE_LAWS / looks;
}

/* Whether a <= b is a law; *ret_ok false: memory ran out. */
static bool is_law(const orders *o, law *d, bool *ret_ok)
{
    size_t rows = o->s->rows, sample = o->dates ? TAB_SUSPECT_QUANTILES : TAB_SUSPECT_SAMPLE, n = 0;
    size_t most = rows < sample ? rows : sample;
    *ret_ok = true;
    if (!o->dates && !may_be_law(o, d))
        return false;
    TAB_AUTO(tab_arena) *arena = tab_arena_new(TAB_SUSPECT_BYTES);
    double *gap = arena == NULL ? NULL : tab_arena_new_of(arena, double, most + 1);
    double *a = arena == NULL ? NULL : tab_arena_new_of(arena, double, most + 1);
    double *b = arena == NULL ? NULL : tab_arena_new_of(arena, double, most + 1), chance = 0;
    *ret_ok = gap != NULL && a != NULL && b != NULL;
    for (size_t i = 0; *ret_ok && i < most; i++) {
        size_t row = tab_sampled_row(rows, most, i);
        if (!isfinite(at(o, d->a, row)) || !isfinite(at(o, d->b, row)))
            continue;
        if (!o->dates && at(o, d->a, row) == 0 && at(o, d->b, row) == 0)
            continue; /* both are off */
        a[n] = at(o, d->a, row), b[n] = at(o, d->b, row);
        gap[n] = b[n] - a[n];
        n++;
    }
    if (n < TAB_SUSPECT_ROWS)
        return false;
    for (size_t i = 0; i < n; i++)
        chance += 0.5 * ((a[i] > b[(i + n / 2) % n]) + (a[i] > b[(i + n / 3) % n]));
    qsort(gap, n, sizeof *gap, tab_ascending_double);
    size_t broken = 0;
    while (broken < n && gap[broken] < 0)
        broken++;
    if (chance < 1 / OF_CHANCE || (double)broken > fmin(MOST_BROKEN * (double)n, OF_CHANCE * chance))
        return false;
    d->rows = n;
    d->chance = chance / (double)n;
    d->broken = (double)broken / (double)n;
    d->median = tab_quantile_of(gap + broken, n - broken, 0.5);
    d->wide = tab_quantile_of(gap + broken, n - broken, 0.95);
    double looks = (double)(o->n * o->n);
    d->edge = INFINITY;
    bool ends = ends_at_zero(gap, n, broken, looks, &d->edge);
    if (o->dates || !ends)
        return ends;
    for (size_t i = 0; i < n; i++) { /* noise that grows with the numbers heaps their gaps at 0 */
        double size = fabs(a[i]) + fabs(b[i]);
        gap[i] = size > 0 ? (b[i] - a[i]) / size : 0;
    }
    qsort(gap, n, sizeof *gap, tab_ascending_double);
    return ends_at_zero(gap, n, broken, looks, &d->edge);
}

/* -1: one is missing. */
static int holds(double a, double b)
{
    return !isfinite(a) || !isfinite(b) ? -1 : a <= b;
}

/* Of the laws of the row, with x in place of member k (and y in place of l; SIZE_MAX: none), how many do
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
        o->step[k] = n > 0 ? fmax(least_step(o, k), tab_quantile_of(x, n, 0.9)) : (double)INFINITY;
    }
    return x != NULL;
}

/* ---- what would mend it -------------------------------------------------------------------------------- */

/* Whether the gaps of member k at x to those of its laws are as others are. */
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

/* x as the column of member k writes numbers. */
static tab_str number_text(const orders *o, size_t k, double x)
{
    return tab_suspects_number_text(o->s->arena, x, o->s->seen[o->u->col[o->member[k]]].col->decimals);
}

static tab_str text_of(const orders *o, size_t k, size_t row)
{
    const tab_seen *v = &o->s->seen[o->u->col[o->member[k]]];
    if (!o->dates)
        return number_text(o, k, at(o, k, row));
    bool text = v->code != NULL && v->code[row] != TAB_NULL && v->col->column->layout == TAB_CODED;
    return text ? v->text[v->code[row]] : (tab_str){ NULL, 0 };
}

/* The power of ten times which number k would be in order and as far from the others as numbers are; 0:
 * none. */
static int other_scale(const orders *o, size_t row, size_t k)
{
    const tab_scale *q = scale_of(o, k);
    for (int i = 1; i <= SCALES; i++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            double x = at(o, k, row) * pow(10, sign * i);
            bool in_range = x >= q->least && x <= q->most && (!q->whole || x == floor(x));
            if (in_range && failing(o, row, k, x, SIZE_MAX, 0) == 0 && usual(o, row, k, x))
                return sign * i;
        }
    return 0;
}

/* Years more or less with which date k would be in order and as far from the others as dates are; 0: none. */
static int other_year(const orders *o, size_t row, size_t k)
{
    static const int tried[] = { 1, -1, 100, -100, 10, -10, 2, -2 };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        double x = at(o, k, row) + tried[i] * YEAR;
        /* a leap day more or less */
        if (failing(o, row, k, x + DAY, SIZE_MAX, 0) == 0 && failing(o, row, k, x - DAY, SIZE_MAX, 0) == 0 &&
            usual(o, row, k, x))
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
    const tab_scale *q = scale_of(o, k);
    double y = tab_on_scale(q, at(o, k, row)), spread = o->dates ? fmax(q->spread, DAY) : q->spread;
    if (!isfinite(y) || !(spread > 0))
        return y == q->median ? 0 : 30;
    return fabs(y - q->median) / spread;
}

static double off_of(const orders *o, size_t row, size_t k)
{
    double d = distance_to_neighbours(o, k, row);
    return isfinite(d) ? d / o->step[k] : 0;
}

/* Two members of a row that were exchanged: no cell alone is in all laws that the row breaks, and of the
 * pairs this one alone mends them all. */
typedef struct {
    size_t k, l; /* SIZE_MAX: none */
} pair;

static bool exchange_mends(const orders *o, size_t row, size_t k, size_t l)
{
    double x = at(o, k, row), y = at(o, l, row);
    return isfinite(x) && isfinite(y) && x != y && failing(o, row, k, y, l, x) == 0 && usual(o, row, k, y) &&
           usual(o, row, l, x);
}

static pair exchanged_in(const orders *o, size_t row)
{
    pair none = { SIZE_MAX, SIZE_MAX }, found = none;
    size_t broken = failing(o, row, SIZE_MAX, 0, SIZE_MAX, 0), of[TAB_SUSPECT_NUMBERS] = { 0 };
    for (size_t i = 0; i < o->laws; i++)
        if (holds(at(o, o->law[i].a, row), at(o, o->law[i].b, row)) == 0)
            of[o->law[i].a]++, of[o->law[i].b]++;
    for (size_t k = 0; k < o->n; k++)
        if (of[k] == broken)
            return none;
    for (size_t k = 0; k < o->n; k++)
        for (size_t l = k + 1; l < o->n; l++) {
            if (of[k] == 0 || of[l] == 0 || !exchange_mends(o, row, k, l))
                continue;
            if (found.k != SIZE_MAX)
                return none;
            found = (pair){ k, l };
        }
    return found;
}

/* log10 of how far a number is from what the row's other cells make of it, in spreads. */
static double odd_of(const orders *o, size_t row, size_t k)
{
    const tab_residuals *m = &o->given[k];
    double floor_ = 1e-7 * m->whole, left = m->left == NULL ? (double)NAN : m->left[row];
    return isfinite(left) ? fmin(tab_log_count(1 + fabs(left) / fmax(m->spread, floor_)), 4) : 0;
}

static float hundredfold(double x)
{
    return (float)(fmin(tab_log_count(1 + x), 2) / 2);
}

static float thousandfold(double x)
{
    return (float)(fmin(tab_log_count(1 + x), 3) / 3);
}

/* What mends the row. */
typedef struct {
    bool exchanged; /* both cells */
    int own, its;   /* years, or powers of ten, of the one and the other; 0: none */
} mending;

static mending mending_of(const orders *o, const law *d, size_t row, size_t k, size_t other)
{
    double x = at(o, k, row), y = at(o, other, row);
    mending m = { .exchanged = failing(o, row, k, y, other, x) == 0 && fabs(x - y) <= d->wide };
    m.own = o->dates ? other_year(o, row, k) : other_scale(o, row, k);
    m.its = o->dates ? other_year(o, row, other) : other_scale(o, row, other);
    return m;
}

static void doubt(orders *o, const law *d, size_t row, size_t k, size_t other)
{
    double hold, broken, its_hold, its_broken, gap = fabs(at(o, k, row) - at(o, other, row));
    tab_suspect *c = tab_suspects_add(o->s, row, o->u->col[o->member[k]],
                                      o->dates ? TAB_SUSPECT_ORDER : TAB_SUSPECT_INEQUALITY);
    if (c == NULL)
        return;
    counts_of(o, row, k, &hold, &broken);
    counts_of(o, row, other, &its_hold, &its_broken);
    mending m = mending_of(o, d, row, k, other);
    c->f[0] = (float)(broken / (broken + hold));
    c->f[1] = (float)(its_broken / (its_broken + its_hold));
    c->f[2] = m.exchanged;
    c->f[3] = m.own != 0;
    c->f[4] = m.its != 0;
    c->f[5] = hundredfold(far_of(o, row, k));
    c->f[6] = hundredfold(far_of(o, row, other));
    c->f[7] = thousandfold(off_of(o, row, k));
    c->f[8] = thousandfold(off_of(o, row, other));
    c->f[9] = (float)(-log10(d->broken + 1e-4) / 4);
    c->f[10] = d->b == k;
    c->f[11] = o->dates ? (float)(fmin(tab_log_count(gap / DAY), 5) / 5) : thousandfold(gap / d->wide);
    c->f[12] = m.exchanged && (m.own != 0 || m.its != 0);
    if (!o->dates) {
        c->f[4] = (float)(log10(d->chance + 1e-3) / -3);
        c->f[12] = (float)(fmin(fmax(d->edge, 0), 3) / 3);
        c->f[13] = (float)(odd_of(o, row, k) / 4);
    }
    c->other = o->u->col[o->member[other]];
    c->agree = (uint32_t)((1 - d->broken) * (double)d->rows + 0.5);
    c->of = (uint32_t)d->rows;
    if (m.exchanged && c->f[8] <= c->f[7])
        c->suggestion = text_of(o, other, row);
    else if (m.own != 0)
        c->suggestion = o->dates ? with_year(o->s->arena, text_of(o, k, row), m.own)
                                 : number_text(o, k, at(o, k, row) * pow(10, m.own));
}

static bool breaks_a_law(const orders *o, size_t row)
{
    for (size_t i = 0; i < o->laws; i++)
        if (holds(at(o, o->law[i].a, row), at(o, o->law[i].b, row)) == 0)
            return true;
    return false;
}

/* The law between two members; NULL: there is none. */
static const law *law_of(const orders *o, size_t k, size_t l)
{
    for (size_t i = 0; i < o->laws; i++)
        if ((o->law[i].a == k && o->law[i].b == l) || (o->law[i].a == l && o->law[i].b == k))
            return &o->law[i];
    return NULL;
}

/* A cell that holds what belongs into another of its row; nothing else of it counts. */
static void doubt_exchanged(orders *o, const law *d, size_t row, size_t k, size_t other)
{
    tab_suspect *c = tab_suspects_add(o->s, row, o->u->col[o->member[k]], TAB_SUSPECT_INEQUALITY);
    if (c == NULL)
        return;
    c->f[TAB_INEQUALITY_ABOVE] = d->b == k;
    c->f[14] = 1;
    c->other = o->u->col[o->member[other]];
    c->agree = (uint32_t)((1 - d->broken) * (double)d->rows + 0.5);
    c->of = (uint32_t)d->rows;
    c->suggestion = text_of(o, other, row);
}

/* The members of a row that take part in a law that it breaks, each with the law that it breaks by most. */
static void judge(orders *o, size_t row)
{
    pair p = o->dates ? (pair){ SIZE_MAX, SIZE_MAX } : exchanged_in(o, row);
    const law *between = p.k == SIZE_MAX ? NULL : law_of(o, p.k, p.l);
    if (between != NULL) {
        doubt_exchanged(o, between, row, p.k, p.l);
        doubt_exchanged(o, between, row, p.l, p.k);
        return;
    }
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

/* What the row's other cells leave over of the numbers of a law. False: memory ran out. */
static bool leave_over(orders *o, tab_arena *a, const tab_group_sample *g)
{
    bool in_law[TAB_SUSPECT_NUMBERS] = { false };
    for (size_t i = 0; i < o->laws; i++)
        if (o->law[i].broken > 0)
            in_law[o->law[i].a] = in_law[o->law[i].b] = true;
    for (size_t k = 0; k < o->n && !o->dates; k++)
        if (in_law[k] && !tab_best_given(o->s, a, o->u, g, o->member[k], &o->given[k]))
            return false;
    return true;
}

/* Rows of which a sum or a product is broken: which of their numbers is wrong is told there. NULL: memory ran
 * out. */
static bool *told_by_identities(const tab_search *s, tab_arena *a)
{
    bool *told = tab_arena_new_of(a, bool, s->rows + 1);
    for (size_t i = 0; told != NULL && i < s->n; i++)
        if (s->found[i].kind == TAB_SUSPECT_IDENTITY)
            told[s->found[i].row] = true;
    return told;
}

/* False: memory ran out. */
static bool judge_rows(orders *o, const tab_group_sample *g)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    bool *told = a == NULL ? NULL : told_by_identities(o->s, a);
    if (told == NULL || !steps_of(o) || !leave_over(o, a, g))
        return false;
    for (size_t row = 0; row < o->s->rows && !o->s->failed && !tab_engine_cancelled(o->s->e); row++)
        if (breaks_a_law(o, row) && (o->dates || !told[row]))
            judge(o, row);
    return true;
}

/* The laws of all dates, or of all other numbers. False: memory ran out. */
static bool laws_among(tab_search *s, const tab_numbers *u, const tab_group_sample *g, bool dates)
{
    orders *o = tab_arena_new_of(s->scratch, orders, 1);
    bool ok = o != NULL;
    if (!ok)
        return false;
    *o = (orders){ .s = s, .u = u, .dates = dates };
    for (size_t k = 0; k < u->n && o->n < (dates ? DATES : TAB_SUSPECT_NUMBERS); k++)
        if ((s->seen[u->col[k]].col->type == TAB_DATETIME) == dates)
            o->member[o->n++] = k;
    for (size_t a = 0; a < o->n && ok && !tab_engine_cancelled(s->e); a++)
        for (size_t b = 0; b < o->n && ok && o->laws < LAWS; b++) {
            law d = { .a = a, .b = b };
            if (a != b && is_law(o, &d, &ok))
                o->law[o->laws++] = d;
        }
    return ok && (o->laws == 0 || judge_rows(o, g));
}

bool tab_suspects_orders(tab_search *s, const tab_numbers *u, const tab_group_sample *g)
{
    return laws_among(s, u, g, true) && laws_among(s, u, g, false);
}
