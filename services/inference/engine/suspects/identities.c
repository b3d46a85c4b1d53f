/* Numbers that others of their row make: sums, products, quotients, shares, multiples; and where they do not.
 *
 *   sum       y = a + b, a + b + c, a + b - c           (a difference is a sum of another column)
 *             y = a + b - c + d ...                     columns beside each other, or any (try_relation)
 *   product   y = k a, a b, a b c, a / b                 k: a rate of two units; 100 or 1/100 beside products
 *
 * where a factor may also be what is left of it or comes on top (1 - d, 1 + d, in hundredths as well):
 * price x quantity x (1 - discount). Numbers are rounded as their columns write them, so an identity holds
 * in a row where both sides differ by one unit of the last decimal of y at most.
 *
 * What is tried is first held against TRIED rows; a row of which is wrong in few places leaves enough of
 * them. What is left is held against every row, and is an identity where it holds in HOLDS of the rows in
 * which each of its columns does something (no summand 0, no factor 1), and where the neighbour's y, by the
 * order of what is made, would hardly do: numbers that only go together differ there as well, and not to the
 * last digit.
 *
 * Which cell of a broken row is wrong is told by what each would have to be: a quantity that would have to be
 * 3.27 is none, and a cell whose other identities hold is right. */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/learn/linear/solve.h"
#include "services/inference/engine/suspects/given.h"

enum {
    TRIED = 48,
    MISSES = 4,
    TERMS = 3,
    MOST = 24,
    ACTIVE = 20,
    FORMS = 6,
    DECIMALS = 9,
    UNITS_OF = 1000,
    SUMMANDS = TAB_SUSPECT_NUMBERS - 1,
    DRAWS = 12
};
static const double HOLDS = 0.9, NEIGHBOUR = 0.1, CHANCE = 0.05, NEAR = 5, NEAR_MISSED = 0.2, FINE = 0.98,
                    WORTH_MORE = 0.02;
static const double FACTORS[] = { 1, 100, 0.01 };

typedef enum { PLAIN, LESS, MORE, LESS_HUNDREDTHS, MORE_HUNDREDTHS, INVERSE } form;

/* y = k f(a) f(b) f(c), or a + b - c ... */
typedef struct {
    bool sum;
    size_t y, n;
    size_t of[SUMMANDS]; /* numbers of tab_numbers */
    form form[TERMS];
    double sign[SUMMANDS]; /* 1 or -1 of each summand */
    double k, unit;
    double broken; /* share of the rows of which all numbers are known */
    size_t rows;
    uint32_t group; /* of identities that have columns in common, themselves or by others: its first, + 1 */
} identity;

typedef struct {
    tab_search *s;
    const tab_numbers *u;
    const double *num[TAB_SUSPECT_NUMBERS];
    double unit[TAB_SUSPECT_NUMBERS]; /* of the last decimal */
    bool form[TAB_SUSPECT_NUMBERS][FORMS];
    size_t row[TRIED], tried;
    identity found[MOST];
    size_t n;
} finder;

static double factor(form f, double x)
{
    switch (f) {
    case LESS:
        return 1 - x;
    case MORE:
        return 1 + x;
    case LESS_HUNDREDTHS:
        return 1 - x / 100;
    case MORE_HUNDREDTHS:
        return 1 + x / 100;
    case INVERSE:
        return 1 / x;
    default:
        return x;
    }
}

/* What y would be; NaN where a number is missing. */
static double made(const finder *x, const identity *d, size_t row)
{
    double v = d->sum ? 0 : d->k;
    for (size_t i = 0; i < d->n; i++) {
        double a = x->num[d->of[i]][row];
        if (d->sum)
            v += d->sign[i] * a;
        else
            v *= factor(d->form[i], a);
    }
    return v;
}

static bool equal(const identity *d, double y, double v)
{
    return fabs(y - v) <= d->unit + 1e-9 * fabs(v);
}

/* Whether a column does nothing in this row; of long sums, next to all. */
static bool idle(const finder *x, const identity *d, size_t row)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        double a = x->num[d->of[i]][row];
        n += d->sum ? a == 0 : factor(d->form[i], a) == 1;
    }
    return d->n <= TERMS ? n > 0 : n + 2 > d->n;
}

/* -1: a number is missing. */
static int holds_in(const finder *x, const identity *d, size_t row)
{
    double y = x->num[d->y][row], v = made(x, d, row);
    if (!isfinite(y) || !isfinite(v))
        return -1;
    return equal(d, y, v);
}

static bool holds_on_few(const finder *x, const identity *d)
{
    size_t missed = 0, held = 0;
    for (size_t i = 0; i < x->tried && missed <= MISSES; i++) {
        int h = idle(x, d, x->row[i]) ? -1 : holds_in(x, d, x->row[i]);
        held += h == 1;
        missed += h == 0;
    }
    return missed <= MISSES && held >= 3 && held > 2 * missed;
}

typedef struct {
    double v, y;
} point;

static int by_made(const void *a, const void *b)
{
    const point *x = a, *y = b;
    return x->v != y->v ? (x->v < y->v ? -1 : 1) : (x->y > y->y) - (x->y < y->y);
}

/* Whether it holds in the table, and not in the neighbours. False in *ret_ok: memory ran out. */
static bool holds_in_table(const finder *x, identity *d, bool *ret_ok)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    size_t rows = x->s->rows, most = rows < TAB_SUSPECT_QUANTILES ? rows : TAB_SUSPECT_QUANTILES;
    point *p = a == NULL ? NULL : tab_arena_new_of(a, point, most + 1);
    size_t n = 0, held = 0, asked = 0, beside = 0, known = 0, good = 0, chance = 0, near = 0;
    *ret_ok = p != NULL;
    for (size_t i = 0; p != NULL && i < most; i++) {
        size_t row = tab_sampled_row(rows, most, i);
        int h = holds_in(x, d, row);
        known += h >= 0;
        good += h == 1;
        if (h < 0 || idle(x, d, row))
            continue;
        held += (size_t)h;
        near += h == 0 && fabs(x->num[d->y][row] - made(x, d, row)) <= NEAR * d->unit;
        p[n++] = (point){ made(x, d, row), x->num[d->y][row] };
    }
    if (n < ACTIVE || (double)held < HOLDS * (double)n || (double)near > 1 + NEAR_MISSED * (double)(n - held))
        return false;
    qsort(p, n, sizeof *p, by_made);
    for (size_t i = 0; i < n; i++) /* another row's y, far from it in the order */
        chance += equal(d, p[(i + n / 2) % n].y, p[i].v) + equal(d, p[(i + n / 3) % n].y, p[i].v);
    for (size_t i = 0, next = 0; i < n; i++) {
        while (next < n && !(p[next].v > p[i].v + 1e-9 * fabs(p[i].v)))
            next++;
        if (next == n)
            break;
        asked++;
        beside += equal(d, p[next].y, p[i].v);
    }
    d->rows = known;
    d->broken = 1 - (double)good / (double)known;
    return asked >= ACTIVE / 2 && (double)beside < NEIGHBOUR * (double)asked &&
           (double)chance < 2 * CHANCE * (double)n;
}

/* ---- the search -----------------------------------------------------------------------------------------
 * */

static uint32_t columns_of(const identity *d)
{
    uint32_t set = 1u << d->y;
    for (size_t i = 0; i < d->n; i++)
        set |= 1u << d->of[i];
    return set;
}

/* Whether `old` says what d does, of these columns or fewer; beside a long sum, of what it makes. */
static bool is_part(const identity *old, const identity *d)
{
    bool same = d->n <= TERMS || (columns_of(old) & 1u << d->y) != 0;
    return same && (columns_of(old) & ~columns_of(d)) == 0;
}

/* The least share of broken rows of an identity of these columns or fewer; 1: there is none. */
static double known(const finder *x, const identity *d)
{
    double least = 1;
    for (size_t k = 0; k < x->n; k++)
        if (is_part(&x->found[k], d))
            least = fmin(least, x->found[k].broken);
    return least;
}

/* Takes d in place of those of its columns. */
static void take(finder *x, const identity *d)
{
    size_t n = 0;
    for (size_t k = 0; k < x->n; k++)
        if (!is_part(&x->found[k], d))
            x->found[n++] = x->found[k];
    x->n = n;
    if (x->n < MOST)
        x->found[x->n++] = *d;
}

/* What more columns explain no better is the same again. False: memory ran out. */
static bool try_one(finder *x, identity *d)
{
    bool ok = true;
    d->unit = x->unit[d->y];
    if (!holds_on_few(x, d))
        return true;
    double least = known(x, d);
    if (least > WORTH_MORE && holds_in_table(x, d, &ok) && (least == 1 || d->broken < least / 2))
        take(x, d);
    return ok;
}

/* k of y = k a: of the rows tried the one with the largest a says it most exactly; and the next ones, should
 * that row be wrong. */
static bool try_multiple(finder *x, size_t y, size_t a)
{
    for (size_t i = 0; i < 3 && i < x->tried; i++) {
        size_t best = SIZE_MAX;
        double most = 0, above = INFINITY;
        for (size_t k = 0; k < i + 1; k++, above = most) {
            most = 0;
            for (size_t r = 0; r < x->tried; r++) {
                double v = fabs(x->num[a][x->row[r]]);
                if (isfinite(v) && v > most && v < above && isfinite(x->num[y][x->row[r]]))
                    most = v, best = r;
            }
        }
        if (best == SIZE_MAX || most == 0)
            return true;
        size_t row = x->row[best];
        identity d = { .y = y, .n = 1, .of = { a }, .k = x->num[y][row] / x->num[a][row] };
        double step = pow(10, ceil(log10(x->unit[y] / most)));
        double near =
            step > 0 ? round(d.k / step) * step : d.k; /* a rate is a short number, more often than not */
        size_t n = x->n;
        if (fabs(d.k) < 1e-12 || fabs(fabs(d.k) - 1) < 1e-12)
            return true; /* a copy is a dependency, and the same sign another thing */
        if (!try_one(x, &d))
            return false;
        d.k = near;
        if (x->n == n && near != 0 && !try_one(x, &d))
            return false;
        if (x->n > n)
            return true;
    }
    return true;
}

static bool try_products(finder *x, size_t y, const size_t *of, size_t n)
{
    size_t combinations = 1;
    for (size_t i = 0; i < n; i++)
        combinations *= FORMS;
    for (size_t c = 0; c < combinations; c++) {
        identity d = { .y = y, .n = n, .k = 1 };
        size_t rest = c, changed = 0;
        bool may = true;
        for (size_t i = 0; i < n; i++, rest /= FORMS) {
            d.of[i] = of[i];
            d.form[i] = (form)(rest % FORMS);
            may = may && x->form[of[i]][d.form[i]];
            changed += d.form[i] != PLAIN;
        }
        if (!may || changed == n || (n == TERMS && changed > 1))
            continue;
        for (size_t k = 0; k < (n == TERMS ? 1 : sizeof FACTORS / sizeof *FACTORS); k++) {
            d.k = FACTORS[k];
            if (!try_one(x, &d))
                return false;
        }
    }
    return true;
}

static bool try_sums(finder *x, size_t y, const size_t *of, size_t n)
{
    identity d = { .sum = true, .y = y, .n = n };
    for (size_t i = 0; i < n; i++)
        d.of[i] = of[i], d.sign[i] = 1;
    if (!try_one(x, &d))
        return false;
    d.sign[n - 1] = -1;
    for (size_t last = 0; n == TERMS && last < n; last++) {
        for (size_t i = 0; i < n; i++)
            d.of[i] = of[(last + 1 + i) % n];
        if (!try_one(x, &d))
            return false;
    }
    return true;
}

static bool is_time(const finder *x, size_t k)
{
    return x->s->seen[x->u->col[k]].col->type == TAB_DATETIME;
}

/* All of y by n others, the smaller sets first. */
static bool search_for(finder *x, size_t y, size_t n)
{
    size_t of[TERMS] = { 0, 1, 2 }, m = x->u->n;
    if (is_time(x, y) || m < n)
        return true;
    for (;;) {
        bool mine = false;
        for (size_t i = 0; i < n; i++)
            mine |= of[i] == y || is_time(x, of[i]);
        if (!mine && n == 1 && !try_multiple(x, y, of[0]))
            return false;
        if (!mine && n > 1 && (!try_products(x, y, of, n) || !try_sums(x, y, of, n)))
            return false;
        size_t i = n;
        while (i > 0 && of[i - 1] == m - n + i - 1)
            i--;
        if (i == 0)
            return true;
        of[i - 1]++;
        for (; i < n; i++)
            of[i] = of[i - 1] + 1;
    }
}

/* y by four and more numbers that stand beside each other: all of them, or the first less the others. */
static bool try_runs(finder *x, size_t y)
{
    for (size_t from = 0; from < x->u->n; from++) {
        identity d = { .sum = true, .y = y };
        for (size_t k = from; k < x->u->n && !is_time(x, k); k++) {
            if (k == y)
                continue;
            d.sign[d.n] = 1;
            d.of[d.n++] = k;
            if (d.n <= TERMS)
                continue;
            if (!try_one(x, &d))
                return false;
            identity less = d;
            for (size_t i = 1; i < d.n; i++)
                less.sign[i] = -1;
            if (!try_one(x, &less))
                return false;
        }
    }
    return true;
}

/* The numbers that y may be a sum of: none that others make, or y itself makes. */
static size_t free_numbers(const finder *x, size_t y, size_t *ret)
{
    size_t n = 0;
    for (size_t k = 0; k < x->u->n; k++) {
        bool made_up = k == y || is_time(x, k);
        for (size_t i = 0; i < x->n; i++)
            made_up |= x->found[i].y == k && (x->found[i].sum || x->found[i].n == 1);
        if (!made_up)
            ret[n++] = k;
    }
    return n;
}

/* y by any numbers, each once or not at all, with a sign: as many rows as there are numbers say the factors
 * of all, and where none of these rows is wrong they are whole. A few draws of rows. False: memory ran
 * out. */
static bool try_relation(finder *x, size_t y)
{
    size_t of[TAB_SUSPECT_NUMBERS], n = free_numbers(x, y, of), rows = x->s->rows;
    for (size_t draw = 0; draw < DRAWS && n > TERMS && rows >= 4 * n; draw++) {
        double a[TAB_SUSPECT_NUMBERS * TAB_SUSPECT_NUMBERS], b[TAB_SUSPECT_NUMBERS];
        size_t taken = 0;
        for (size_t i = 0; i < DRAWS * n && taken < n; i++) {
            size_t row = tab_sampled_row(rows, DRAWS * n, (i * DRAWS + draw) % (DRAWS * n));
            bool all = row < rows && isfinite(x->num[y][row]);
            for (size_t k = 0; all && k < n; k++) {
                a[taken * n + k] = x->num[of[k]][row];
                all = isfinite(a[taken * n + k]);
            }
            if (all)
                b[taken++] = x->num[y][row];
        }
        if (taken < n)
            return true;
        tab_eliminate(a, n, b, n);
        identity d = { .sum = true, .y = y };
        bool whole = true;
        for (size_t k = 0; k < n; k++) {
            double f = round(b[k]);
            whole = whole && fabs(b[k] - f) < 0.05 && fabs(f) <= 1;
            if (whole && f != 0)
                d.of[d.n] = of[k], d.sign[d.n++] = f;
        }
        size_t found = x->n;
        if (whole && d.n > TERMS && !try_one(x, &d))
            return false;
        if (x->n > found)
            return true;
    }
    return true;
}

/* One of the last decimal that next to every number is written with: a single cell may have others. */
static double unit_of(const double *num, size_t rows)
{
    size_t most = rows < UNITS_OF ? rows : UNITS_OF, n = 0, needs[DECIMALS + 1] = { 0 }, fit = 0;
    int d = 0;
    for (size_t i = 0; i < most; i++) {
        double v = num[tab_sampled_row(rows, most, i)], shift = 1;
        int k = 0;
        if (!isfinite(v))
            continue;
        while (k < DECIMALS && fabs(v * shift - round(v * shift)) > 1e-6)
            k++, shift *= 10;
        needs[k]++;
        n++;
    }
    for (fit = needs[0]; d < DECIMALS && (double)fit < FINE * (double)n; fit += needs[++d])
        ;
    return pow(10, -d);
}

/* The numbers as they are held against each other, and the rows tried first: those of a number each. */
static void prepare(finder *x)
{
    size_t rows = x->s->rows;
    for (size_t k = 0; k < x->u->n; k++) {
        const tab_seen *v = &x->s->seen[x->u->col[k]];
        const tab_scale *q = &x->u->q[k];
        x->num[k] = v->num;
        x->unit[k] = unit_of(v->num, rows);
        bool share = q->least >= 0 && q->most <= 1, hundredths = q->least >= 0 && q->most <= 100;
        x->form[k][PLAIN] = true;
        x->form[k][LESS] = x->form[k][MORE] = share && !q->whole;
        x->form[k][LESS_HUNDREDTHS] = x->form[k][MORE_HUNDREDTHS] = hundredths && q->most > 1;
        x->form[k][INVERSE] = q->positive;
    }
    for (size_t i = 0; i < 8 * TRIED && x->tried < TRIED; i++) {
        size_t row = tab_sampled_row(rows, 8 * TRIED, i < rows ? i : 0), known = 0;
        for (size_t k = 0; k < x->u->n; k++)
            known += isfinite(x->num[k][row]) && x->num[k][row] != 0;
        if (i < rows && 2 * known > x->u->n)
            x->row[x->tried++] = row;
    }
}

/* ---- which cell is wrong ------------------------------------------------------------------- */

/* The columns of d: y, then its terms. */
static size_t member(const identity *d, size_t i)
{
    return i == 0 ? d->y : d->of[i - 1];
}

/* What member i of a row would have to be, as its column writes numbers; NaN: nothing would do. */
static double would_be(const finder *x, const identity *d, size_t row, size_t i)
{
    double y = x->num[d->y][row], v = made(x, d, row), unit = x->unit[member(d, i)], w;
    if (i == 0) {
        w = v;
    } else if (d->sum) {
        w = x->num[d->of[i - 1]][row] + d->sign[i - 1] * (y - v);
    } else {
        double a = x->num[d->of[i - 1]][row], f = y / (v / factor(d->form[i - 1], a));
        switch (d->form[i - 1]) {
        case LESS:
            w = 1 - f;
            break;
        case MORE:
            w = f - 1;
            break;
        case LESS_HUNDREDTHS:
            w = 100 * (1 - f);
            break;
        case MORE_HUNDREDTHS:
            w = 100 * (f - 1);
            break;
        case INVERSE:
            w = 1 / f;
            break;
        default:
            w = f;
        }
    }
    return isfinite(w) ? round(w / unit) * unit : (double)NAN;
}

/* Whether the row holds with w in place of that number. */
static bool mends(const finder *x, const identity *d, size_t row, size_t number, double w)
{
    double y = d->y == number ? w : x->num[d->y][row], v = d->sum ? 0 : d->k;
    for (size_t k = 0; k < d->n; k++) {
        double a = d->of[k] == number ? w : x->num[d->of[k]][row];
        if (d->sum)
            v += d->sign[k] * a;
        else
            v *= factor(d->form[k], a);
    }
    return isfinite(w) && isfinite(v) && equal(d, y, v);
}

/* Of the identities that do not hold in the row, the share that does with w in place of that number. */
static double share_mended(const finder *x, size_t row, size_t number, double w)
{
    size_t mended = 0, broken = 0;
    for (size_t k = 0; k < x->n; k++)
        if (holds_in(x, &x->found[k], row) == 0) {
            broken++;
            mended += mends(x, &x->found[k], row, number, w);
        }
    return broken > 0 ? (double)mended / (double)broken : 0;
}

/* Of the identities that the number takes part in, how many hold and how many do not in this row. */
static void others(const finder *x, size_t number, size_t row, size_t *ret_hold, size_t *ret_broken)
{
    *ret_hold = *ret_broken = 0;
    for (size_t k = 0; k < x->n; k++)
        for (size_t i = 0; i <= x->found[k].n; i++)
            if (member(&x->found[k], i) == number) {
                int h = holds_in(x, &x->found[k], row);
                *ret_hold += h == 1;
                *ret_broken += h == 0;
            }
}

/* How far from the middle of its column a number is, in its spread. */
static double far_from(const tab_scale *q, double v)
{
    double at = tab_on_scale(q, v);
    return !isfinite(at) ? 30 : q->spread > 0 ? fabs(at - q->median) / q->spread : at == q->median ? 0 : 10;
}

/* Whether one cell alone makes all identities of the row hold again: then the others are right, for they
 * would need another error beside theirs. */
static bool one_mends_all(const finder *x, size_t row)
{
    for (size_t k = 0; k < x->n; k++) {
        const identity *d = &x->found[k];
        for (size_t i = 0; i <= d->n && holds_in(x, d, row) == 0; i++)
            if (share_mended(x, row, member(d, i), would_be(x, d, row, i)) == 1)
                return true;
    }
    return false;
}

static void blame(finder *x, const identity *d, size_t row)
{
    double would[SUMMANDS + 1];
    size_t able = 0;
    bool one = one_mends_all(x, row);
    for (size_t i = 0; i <= d->n; i++) {
        const tab_scale *q = &x->u->q[member(d, i)];
        double span = q->most - q->least;
        would[i] = would_be(x, d, row, i);
        bool may = mends(x, d, row, member(d, i), would[i]) && would[i] >= q->least - span &&
                   would[i] <= q->most + span && (!q->positive || would[i] > 0 || q->least <= 0);
        may = may && (!one || share_mended(x, row, member(d, i), would[i]) == 1);
        able += may;
        would[i] = may ? would[i] : (double)NAN;
    }
    for (size_t i = 0; i <= d->n && !x->s->failed; i++) {
        size_t k = member(d, i), hold, broken;
        const tab_scale *q = &x->u->q[k];
        double is = x->num[k][row];
        others(x, k, row, &hold, &broken);
        if (!isfinite(would[i]))
            continue;
        tab_suspect *c = tab_suspects_add(x->s, row, x->u->col[k], TAB_SUSPECT_IDENTITY);
        if (c == NULL)
            return;
        double ratio = is != 0 && would[i] != 0 ? log10(fabs(would[i] / is)) : (double)NAN;
        c->f[0] = (float)(log10(d->broken + 1e-4) / -4);
        c->f[1] = i == 0;
        c->f[2] = 1 / (float)able;
        c->f[3] = (float)hold / (float)(hold + broken);
        c->f[4] = (float)(fmin(tab_log_count(1 + far_from(q, is)), 2) / 2);
        c->f[5] = (float)(fmin(tab_log_count(1 + far_from(q, would[i])), 2) / 2);
        c->f[6] = isfinite(ratio) && fabs(ratio) > 0.5 && fabs(ratio - round(ratio)) < 1e-6;
        c->f[7] = is == -would[i] && is != 0;
        c->f[8] = (float)share_mended(x, row, k, would[i]);
        c->f[9] = (float)(tab_log_count((double)d->rows) / 4);
        c->f[10] = d->sum;
        c->f[11] = (float)(d->n < TERMS ? d->n : TERMS) / TERMS;
        c->alternatives = d->group;
        c->other = x->u->col[i == 0 ? d->of[0] : d->y];
        c->agree = (uint32_t)((1 - d->broken) * (double)d->rows + 0.5);
        c->of = (uint32_t)d->rows;
        c->suggestion =
            tab_suspects_number_text(x->s->arena, would[i], x->s->seen[x->u->col[k]].col->decimals);
    }
}

static void group_identities(finder *x)
{
    for (size_t k = 0; k < x->n; k++)
        x->found[k].group = (uint32_t)k + 1;
    for (size_t round = 0; round < x->n; round++)
        for (size_t i = 0; i < x->n; i++)
            for (size_t k = 0; k < x->n; k++)
                if ((columns_of(&x->found[i]) & columns_of(&x->found[k])) != 0 &&
                    x->found[k].group > x->found[i].group)
                    x->found[k].group = x->found[i].group;
}

bool tab_suspects_identities(tab_search *s, const tab_numbers *u)
{
    finder *x = tab_arena_new_of(s->scratch, finder, 1);
    if (x == NULL)
        return false;
    x->s = s;
    x->u = u;
    prepare(x);
    for (size_t n = 1; n <= TERMS; n++)
        for (size_t y = 0; y < u->n && !tab_engine_cancelled(s->e); y++)
            if (!search_for(x, y, n))
                return false;
    for (size_t y = 0; y < u->n && !tab_engine_cancelled(s->e); y++)
        if (!is_time(x, y) && (!try_runs(x, y) || !try_relation(x, y)))
            return false;
    group_identities(x);
    for (size_t k = 0; k < x->n && !s->failed; k++)
        for (size_t row = 0; row < s->rows && !s->failed && !tab_engine_cancelled(s->e); row++)
            if (holds_in(x, &x->found[k], row) == 0)
                blame(x, &x->found[k], row);
    return true;
}
