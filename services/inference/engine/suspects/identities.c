/* Numbers that others of their row make: sums, products, quotients, shares, multiples; and where they do not.
 *
 *   sum       y = a + b, a + b + c, a + b - c           (a difference is a sum of another column)
 *             y = a + b - c + d ...                     columns beside each other, or any (try_relation)
 *   product   y = k a, a b, a b c, a / b                 k: a rate of two units; 100 or 1/100 beside products
 *             y = k a b, a b + c, a b - c               a rate that no column holds; with freight
 *
 * where a factor may also be what is left of it or comes on top (1 - d, 1 + d, in hundredths as well):
 * price x quantity x (1 - discount). Numbers are rounded as their columns write them, so an identity holds
 * in a row where both sides differ by one unit of the last decimal of y at most.
 *
 * What is tried is first held against TAB_IDENTITY_TRIED rows; a row of which is wrong in few places leaves
 * enough of them. What is left is held against every row, and is an identity where it holds in HOLDS of the
 * rows in which each of its columns does something (no summand 0, no factor 1), and where the neighbour's y,
 * by the order of what is made, would hardly do: numbers that only go together differ there as well, and not
 * to the last digit. Which cell of a broken row is wrong is told in broken.c. */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/learn/linear/solve.h"
#include "services/inference/engine/suspects/identities.h"

enum { MISSES = 4, ACTIVE = 20, DECIMALS = 9, UNITS_OF = 1000, DRAWS = 12, RATED = 3 };
static const double HOLDS = 0.8, NEIGHBOUR = 0.1, CHANCE = 0.05, NEAR = 5, NEAR_MISSED = 0.2, FINE = 0.98,
                    WORTH_MORE = 0.02, RATE_STEP = 0.01, SAME = 0.6;
static const double FACTORS[] = { 1, 100, 0.01 };

/* Whether a column does nothing in this row; of long sums, next to all. */
static bool idle(const tab_identities *x, const tab_identity *d, size_t row)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        double a = x->num[d->of[i]][row];
        n += tab_identity_adds(d, i) ? a == 0 : tab_form_of(d->form[i], a) == 1;
    }
    return d->n <= TAB_IDENTITY_TERMS ? n > 0 : n + 2 > d->n;
}

static bool holds_on_few(const tab_identities *x, const tab_identity *d)
{
    size_t missed = 0, held = 0;
    for (size_t i = 0; i < x->tried && missed <= MISSES + held / 4; i++) {
        int h = idle(x, d, x->row[i]) ? -1 : tab_identity_holds(x, d, x->row[i]);
        held += h == 1;
        missed += h == 0;
    }
    return missed <= MISSES + held / 4 && held >= 3 && held > 2 * missed;
}

typedef struct {
    double v, y;
} point;

static int by_made(const void *a, const void *b)
{
    const point *x = a, *y = b;
    return x->v != y->v ? (x->v < y->v ? -1 : 1) : (x->y > y->y) - (x->y < y->y);
}

static bool divides(const tab_identity *d)
{
    bool any = false;
    for (size_t i = 0; !d->sum && i < d->n; i++)
        any |= !tab_identity_adds(d, i) && d->form[i] == TAB_FORM_INVERSE;
    return any;
}

/* Whether it holds in the table, and not in the neighbours. False in *ret_ok: memory ran out. */
static bool holds_in_table(const tab_identities *x, tab_identity *d, bool *ret_ok)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    size_t rows = x->s->rows, most = rows < TAB_SUSPECT_QUANTILES ? rows : TAB_SUSPECT_QUANTILES;
    point *p = a == NULL ? NULL : tab_arena_new_of(a, point, most + 1);
    size_t n = 0, held = 0, asked = 0, beside = 0, known = 0, good = 0, chance = 0, near = 0, whole = 0;
    tab_identity exact = *d; /* products of whole numbers need no rounding, and lie densely */
    exact.unit = 0;
    *ret_ok = p != NULL;
    for (size_t i = 0; p != NULL && i < most; i++) {
        size_t row = tab_sampled_row(rows, most, i);
        int h = tab_identity_holds(x, d, row);
        known += h >= 0;
        good += h == 1;
        if (h < 0 || idle(x, d, row))
            continue;
        p[n] = (point){ tab_identity_made(x, d, row, SIZE_MAX, 0), x->num[d->y][row] };
        held += (size_t)h;
        whole += tab_identity_equal(&exact, p[n].y, p[n].v);
        near += h == 0 && fabs(p[n].y - p[n].v) <= NEAR * d->unit;
        n++;
    }
    if (n < ACTIVE || (double)held < HOLDS * (double)n || (double)near > 1 + NEAR_MISSED * (double)(n - held))
        return false;
    qsort(p, n, sizeof *p, by_made);
    const tab_identity *by = !divides(d) && (double)whole >= FINE * (double)held ? &exact : d;
    for (size_t i = 0; i < n; i++) /* another row's y, far from it in the order */
        chance += tab_identity_equal(by, p[(i + n / 2) % n].y, p[i].v) +
                  tab_identity_equal(by, p[(i + n / 3) % n].y, p[i].v);
    for (size_t i = 0, next = 0; i < n; i++) {
        while (next < n && !(p[next].v > p[i].v + 1e-9 * fabs(p[i].v)))
            next++;
        if (next == n)
            break;
        asked++;
        beside += tab_identity_equal(by, p[next].y, p[i].v);
    }
    d->rows = known;
    d->broken = 1 - (double)good / (double)known;
    return asked >= ACTIVE / 2 && (double)beside < NEIGHBOUR * (double)asked &&
           (double)chance < 2 * CHANCE * (double)n;
}

/* ---- the search -----------------------------------------------------------------------------------------
 * */

uint32_t tab_identity_columns(const tab_identity *d)
{
    uint32_t set = 1u << d->y;
    for (size_t i = 0; i < d->n; i++)
        set |= 1u << d->of[i];
    return set;
}

/* Whether `old` says what d does, of these columns or fewer; beside a long sum, of what it makes. */
static bool is_part(const tab_identity *old, const tab_identity *d)
{
    bool same = d->n <= TAB_IDENTITY_TERMS || (tab_identity_columns(old) & 1u << d->y) != 0;
    return same && (tab_identity_columns(old) & ~tab_identity_columns(d)) == 0;
}

/* The least share of broken rows of an identity of these columns or fewer; 1: there is none. */
static double known(const tab_identities *x, const tab_identity *d)
{
    double least = 1;
    for (size_t k = 0; k < x->n; k++)
        if (is_part(&x->found[k], d))
            least = fmin(least, x->found[k].broken);
    return least;
}

/* Takes d in place of those of its columns. */
static void take(tab_identities *x, const tab_identity *d)
{
    size_t n = 0;
    for (size_t k = 0; k < x->n; k++)
        if (!is_part(&x->found[k], d))
            x->found[n++] = x->found[k];
    x->n = n;
    if (x->n < TAB_IDENTITIES)
        x->found[x->n++] = *d;
}

/* What more columns explain no better is the same again. False: memory ran out. */
static bool try_one(tab_identities *x, tab_identity *d)
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
static bool try_multiple(tab_identities *x, size_t y, size_t a)
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
        tab_identity d = { .y = y, .n = 1, .of = { a }, .k = x->num[y][row] / x->num[a][row] };
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

static bool try_products(tab_identities *x, size_t y, const size_t *of, size_t n)
{
    size_t combinations = 1;
    for (size_t i = 0; i < n; i++)
        combinations *= TAB_FORMS;
    for (size_t c = 0; c < combinations; c++) {
        tab_identity d = { .y = y, .n = n, .k = 1 };
        size_t rest = c, changed = 0;
        bool may = true;
        for (size_t i = 0; i < n; i++, rest /= TAB_FORMS) {
            d.of[i] = of[i];
            d.form[i] = (tab_form)(rest % TAB_FORMS);
            may = may && x->form[of[i]][d.form[i]];
            changed += d.form[i] != TAB_FORM_PLAIN;
        }
        if (!may || changed == n || (n == TAB_IDENTITY_TERMS && changed > 1))
            continue;
        for (size_t k = 0; k < (n == TAB_IDENTITY_TERMS ? 1 : sizeof FACTORS / sizeof *FACTORS); k++) {
            d.k = FACTORS[k];
            if (!try_one(x, &d))
                return false;
        }
    }
    return true;
}

static bool try_sums(tab_identities *x, size_t y, const size_t *of, size_t n)
{
    tab_identity d = { .sum = true, .y = y, .n = n };
    for (size_t i = 0; i < n; i++)
        d.of[i] = of[i], d.sign[i] = 1;
    if (!try_one(x, &d))
        return false;
    d.sign[n - 1] = -1;
    for (size_t last = 0; n == TAB_IDENTITY_TERMS && last < n; last++) {
        for (size_t i = 0; i < n; i++)
            d.of[i] = of[(last + 1 + i) % n];
        if (!try_one(x, &d))
            return false;
    }
    return true;
}

static bool is_time(const tab_identities *x, size_t k)
{
    return x->s->seen[x->u->col[k]].col->type == TAB_DATETIME;
}

/* y = k a b with a rate k that no column holds: the row of the largest y says it most exactly, and the next
 * ones, should that row be wrong. A rate is a short number. False: memory ran out. */
static bool try_rated(tab_identities *x, size_t y, size_t a, size_t b)
{
    double above = INFINITY;
    for (size_t i = 0; i < RATED && x->varies[a] && x->varies[b]; i++) {
        size_t best = SIZE_MAX, n = x->n;
        double most = 0;
        for (size_t r = 0; r < x->tried; r++) {
            double v = fabs(x->num[y][x->row[r]]), with = x->num[a][x->row[r]] * x->num[b][x->row[r]];
            if (isfinite(v) && isfinite(with) && with != 0 && v > most && v < above)
                most = v, best = x->row[r];
        }
        if (best == SIZE_MAX)
            return true;
        above = most;
        double with = x->num[a][best] * x->num[b][best];
        double step = pow(10, ceil(log10(x->unit[y] / fabs(with))));
        tab_identity d = { .y = y, .n = 2, .of = { a, b } };
        d.k = step > 0 ? round(x->num[y][best] / with / step) * step : 0;
        if (d.k == 0 || step > RATE_STEP * fabs(d.k))
            continue;
        if (!try_one(x, &d))
            return false;
        if (x->n > n)
            return true;
    }
    return true;
}

/* y = a b + c, or - c: what a line of an invoice costs with its freight, or less what is taken off it. False:
 * memory ran out. */
static bool try_added(tab_identities *x, size_t y)
{
    size_t m = x->u->n;
    for (size_t a = 0; a < m; a++)
        for (size_t b = a + 1; b < m; b++)
            for (size_t c = 0; c < m; c++) {
                bool mine = a == y || b == y || c == y || c == a || c == b;
                if (mine || is_time(x, a) || is_time(x, b) || is_time(x, c))
                    continue;
                tab_identity d = { .added = true, .y = y, .n = 3, .of = { a, b, c }, .k = 1 };
                for (int sign = 1; sign >= -1; sign -= 2) {
                    d.sign[2] = sign;
                    if (!try_one(x, &d))
                        return false;
                }
            }
    return true;
}

/* Whether y is in an identity already. */
static bool is_known(const tab_identities *x, size_t y)
{
    bool known = false;
    for (size_t k = 0; k < x->n; k++)
        known |= (tab_identity_columns(&x->found[k]) & 1u << y) != 0;
    return known;
}

/* All of y by n others, the smaller sets first. */
static bool search_for(tab_identities *x, size_t y, size_t n)
{
    size_t of[TAB_IDENTITY_TERMS] = { 0, 1, 2 }, m = x->u->n;
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
        if (!mine && n == 2 && !try_rated(x, y, of[0], of[1]))
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
static bool try_runs(tab_identities *x, size_t y)
{
    for (size_t from = 0; from < x->u->n; from++) {
        tab_identity d = { .sum = true, .y = y };
        for (size_t k = from; k < x->u->n && !is_time(x, k); k++) {
            if (k == y)
                continue;
            d.sign[d.n] = 1;
            d.of[d.n++] = k;
            if (d.n <= TAB_IDENTITY_TERMS)
                continue;
            if (!try_one(x, &d))
                return false;
            tab_identity less = d;
            for (size_t i = 1; i < d.n; i++)
                less.sign[i] = -1;
            if (!try_one(x, &less))
                return false;
        }
    }
    return true;
}

/* The numbers that y may be a sum of: none that others make, or y itself makes. */
static size_t free_numbers(const tab_identities *x, size_t y, size_t *ret)
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
static bool try_relation(tab_identities *x, size_t y)
{
    size_t of[TAB_SUSPECT_NUMBERS], n = free_numbers(x, y, of), rows = x->s->rows;
    for (size_t draw = 0; draw < DRAWS && n > TAB_IDENTITY_TERMS && rows >= 4 * n; draw++) {
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
        tab_identity d = { .sum = true, .y = y };
        bool whole = true;
        for (size_t k = 0; k < n; k++) {
            double f = round(b[k]);
            whole = whole && fabs(b[k] - f) < 0.05 && fabs(f) <= 1;
            if (whole && f != 0)
                d.of[d.n] = of[k], d.sign[d.n++] = f;
        }
        size_t found = x->n;
        if (whole && d.n > TAB_IDENTITY_TERMS && !try_one(x, &d))
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

/* Whether no number stands in most of the rows tried: what is next to constant is no factor beside a rate. */
static bool varies(const tab_identities *x, size_t k)
{
    size_t most = 0;
    for (size_t i = 0; i < x->tried; i++) {
        size_t same = 0;
        for (size_t j = 0; j < x->tried; j++)
            same += x->num[k][x->row[i]] == x->num[k][x->row[j]];
        most = same > most ? same : most;
    }
    return (double)most <= SAME * (double)x->tried;
}

/* The numbers as they are held against each other, and the rows tried first: those of a number each. */
static void prepare(tab_identities *x)
{
    size_t rows = x->s->rows;
    for (size_t k = 0; k < x->u->n; k++) {
        const tab_seen *v = &x->s->seen[x->u->col[k]];
        const tab_scale *q = &x->u->q[k];
        x->num[k] = v->num != NULL ? v->num : v->amount;
        x->unit[k] = unit_of(x->num[k], rows);
        bool share = q->least >= 0 && q->most <= 1, hundredths = q->least >= 0 && q->most <= 100;
        x->form[k][TAB_FORM_PLAIN] = true;
        x->form[k][TAB_FORM_LESS] = x->form[k][TAB_FORM_MORE] = share && !q->whole;
        x->form[k][TAB_FORM_LESS_HUNDREDTHS] = x->form[k][TAB_FORM_MORE_HUNDREDTHS] =
            hundredths && q->most > 1;
        x->form[k][TAB_FORM_INVERSE] = q->positive;
    }
    for (size_t i = 0; i < 8 * TAB_IDENTITY_TRIED && x->tried < TAB_IDENTITY_TRIED; i++) {
        size_t row = tab_sampled_row(rows, 8 * TAB_IDENTITY_TRIED, i < rows ? i : 0), known = 0;
        for (size_t k = 0; k < x->u->n; k++)
            known += isfinite(x->num[k][row]) && x->num[k][row] != 0;
        if (i < rows && 2 * known > x->u->n)
            x->row[x->tried++] = row;
    }
    for (size_t k = 0; k < x->u->n; k++)
        x->varies[k] = varies(x, k);
}

static void group_identities(tab_identities *x)
{
    for (size_t k = 0; k < x->n; k++)
        x->found[k].group = (uint32_t)k + 1;
    for (size_t round = 0; round < x->n; round++)
        for (size_t i = 0; i < x->n; i++)
            for (size_t k = 0; k < x->n; k++)
                if ((tab_identity_columns(&x->found[i]) & tab_identity_columns(&x->found[k])) != 0 &&
                    x->found[k].group > x->found[i].group)
                    x->found[k].group = x->found[i].group;
}

/* The cells of which an identity holds. False: memory ran out. */
static bool confirm(const tab_identities *x, tab_numbers *u)
{
    for (size_t i = 0; i < x->n; i++) {
        const tab_identity *d = &x->found[i];
        for (size_t k = 0; k < u->n; k++) {
            if ((tab_identity_columns(d) & 1u << k) == 0)
                continue;
            if (u->confirmed[k] == NULL)
                u->confirmed[k] = tab_arena_new_of(x->s->scratch, bool, x->s->rows + 1);
            for (size_t row = 0; u->confirmed[k] != NULL && row < x->s->rows; row++)
                u->confirmed[k][row] |= tab_identity_holds(x, d, row) == 1 && !idle(x, d, row);
            if (u->confirmed[k] == NULL)
                return false;
        }
    }
    return true;
}

tab_identities *tab_identities_find(tab_search *s, const tab_numbers *u)
{
    tab_identities *x = tab_arena_new_of(s->scratch, tab_identities, 1);
    if (x == NULL)
        return NULL;
    x->s = s;
    x->u = u;
    prepare(x);
    for (size_t n = 1; n <= TAB_IDENTITY_TERMS; n++)
        for (size_t y = 0; y < u->n && !tab_engine_cancelled(s->e); y++)
            if (!search_for(x, y, n))
                return NULL;
    for (size_t y = 0; y < u->n && !tab_engine_cancelled(s->e); y++)
        if (!is_time(x, y) && (!try_runs(x, y) || !try_relation(x, y)))
            return NULL;
    for (size_t y = 0; y < u->n && !tab_engine_cancelled(s->e); y++)
        if (!is_time(x, y) && !is_known(x, y) && !try_added(x, y))
            return NULL;
    group_identities(x);
    return x;
}

bool tab_suspects_identities(tab_search *s, tab_numbers *u)
{
    tab_identities *x = tab_identities_find(s, u);
    for (size_t k = 0; x != NULL && k < x->n && !s->failed; k++)
        tab_identity_broken(x, k);
    return x != NULL && confirm(x, u);
}
