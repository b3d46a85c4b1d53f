/* See noisy_copies.h. Where rows are drawn one by one, the distances r[1] <= r[2] <= ... from a row to its
 * nearest others grow evenly: j log(r[j+1] / r[j]) has the same mean for every j, the inverse of the
 * dimension of the rows (Facco et al., "Estimating the intrinsic dimension of datasets by a minimal
 * neighborhood information", 2017). Where each stands there m times the step from r[m-1] to r[m] is many
 * times as large.
 *
 *   read_numbers ─> look_from  steps from a sample of rows, and how far targets agree before and behind them
 *                ─> gap        whether they stand out, and neighbours behind tell of the target much less
 *                ─> join       rows that are nearer than the middle of that step */
#include "services/inference/engine/features/noisy_copies.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"

/* NEAR: neighbours looked at; SAMPLE: rows from which; FEWEST and MOST: rows with a target. VALUES: a
 * column of fewer is one of levels. LARGEST: a unit has at most so small a part of the rows: some
 * originals lie close to each other, but of a dense table all rows hang together. */
enum { NEAR = 12, SAMPLE = 300, FEWEST = 60, MOST = 20000, VALUES = 20, LARGEST = 8 };
/* STANDS_OUT: the largest steps by the others; 4 where rows are drawn one by one. WIDE: the mean
 * logarithm of how much the distance grows there. TOLD: how far targets agree before the gap; FURTHER:
 * at most, of that, behind it. ASKED: rows without a target that lie by rows with one, above which these
 * are asked about what is known. By hand: tables of copies had 11 to 22, of 252 public ones with such
 * targets the most was 8. */
static const double STANDS_OUT = 9, WIDE = 0.5, TOLD = 0.5, FURTHER = 0.7, ASKED = 0.5;

typedef struct {
    const tab_column_profile **col; /* (cols) numbers first */
    size_t cols, numbers, rows;
    double *x;     /* (rows, numbers) in standard deviations */
    uint32_t *row; /* (rows) those with a target first */
    size_t known;
    const double *y;
    const uint64_t *hash; /* (rows) of their cells: a sample is the same in any order */
    double apart;
    bool numeric;
} search;

typedef struct {
    double d;
    uint32_t at;
} neighbour;

/* Sums over the rows of the sample, each of which has its largest step j log(r[j+1] / r[j]) at a j of
 * its own. */
typedef struct {
    double rows, largest, others; /* that step, and the mean of the row's others */
    double wider, middle;         /* log(r[j+1] / r[j]), log(r[j+1] r[j]) / 2 there */
    double before, behind;        /* how far apart the targets of the row and of its neighbours are */
} steps;

/* Levels and whole numbers of which hardly two are equal number the rows. */
static bool numbers_rows(const tab_column_profile *c)
{
    bool measure = c->number != NULL && c->type == TAB_NUMERIC && c->decimals > 0;
    return !measure && 10 * c->distinct > 9 * c->present;
}

static bool is_numbers(const tab_column_profile *c)
{
    return c->number != NULL && c->type == TAB_NUMERIC && c->distinct >= VALUES;
}

/* Columns, and their numbers in standard deviations. False: memory. */
static bool read_numbers(const tab_profile *p, const bool *used, search *s)
{
    size_t cols = p->table->cols;
    s->col = malloc((cols + 1) * sizeof *s->col);
    s->row = malloc((s->rows + 1) * sizeof *s->row);
    if (s->col == NULL || s->row == NULL)
        return false;
    for (int numbers = 1; numbers >= 0; numbers--)
        for (size_t c = 0; c < cols; c++)
            if (used[c] && !numbers_rows(&p->col[c]) && is_numbers(&p->col[c]) == (numbers == 1)) {
                s->col[s->cols++] = &p->col[c];
                s->numbers += numbers == 1;
            }
    size_t open = s->rows;
    for (size_t r = s->rows; r-- > 0;) {
        if (isnan(s->y[r]))
            s->row[--open] = (uint32_t)r;
        else
            s->known++;
    }
    for (size_t r = 0, n = 0; r < s->rows; r++)
        if (!isnan(s->y[r]))
            s->row[n++] = (uint32_t)r;
    s->x = malloc((s->rows * s->numbers + 1) * sizeof *s->x);
    for (size_t c = 0; s->x != NULL && c < s->numbers; c++) {
        const double *v = s->col[c]->number;
        double mean = 0, square = 0, n = 0;
        for (size_t r = 0; r < s->rows; r++)
            if (!isnan(v[r])) {
                double d = v[r] - mean;
                mean += d / ++n;
                square += d * (v[r] - mean);
            }
        double sd = n > 1 && square > 0 ? sqrt(square / n) : 1;
        for (size_t i = 0; i < s->rows; i++)
            s->x[i * s->numbers + c] = (v[s->row[i]] - mean) / sd;
    }
    return s->x != NULL;
}

/* The square of the distance of two rows, or `most` where it is as large. A cell that is missing in one of
 * them, and a level that differs, are a standard deviation each. */
static double distance(const search *s, size_t i, size_t k, double most)
{
    const double *a = s->x + i * s->numbers, *b = s->x + k * s->numbers;
    double d = 0;
    for (size_t c = 0; c < s->numbers && d < most; c++) {
        double off = a[c] - b[c];
        d += !isnan(off) ? off * off : isnan(a[c]) != isnan(b[c]);
    }
    for (size_t c = s->numbers; c < s->cols && d < most; c++) {
        const tab_column_profile *q = s->col[c];
        uint32_t x = s->row[i], y = s->row[k];
        d += q->code != NULL ? q->code[x] != q->code[y] : q->number[x] != q->number[y]; // NOLINT: equal cells
    }
    return d < most ? d : most;
}

/* The NEAR + 1 nearest rows with a target of row i, ascending. */
static void nearest(const search *s, size_t i, neighbour *ret)
{
    for (size_t j = 0; j <= NEAR; j++)
        ret[j] = (neighbour){ INFINITY, 0 };
    for (size_t k = 0; k < s->known; k++) {
        if (k == i)
            continue;
        double d = distance(s, i, k, ret[NEAR].d);
        size_t j = NEAR;
        if (d >= ret[NEAR].d)
            continue;
        for (; j > 0 && ret[j - 1].d > d; j--)
            ret[j] = ret[j - 1];
        ret[j] = (neighbour){ d, (uint32_t)k };
    }
}

static double off(const search *s, size_t i, size_t k)
{
    double d = fabs(s->y[s->row[i]] - s->y[s->row[k]]);
    return s->numeric ? d : d > 0;
}

/* Whether row i is in a sample of n. */
static bool picked(const search *s, size_t i, size_t n)
{
    return n <= SAMPLE || tab_unit(tab_mix(s->hash[s->row[i]])) * (double)n < SAMPLE;
}

/* How far off the targets of neighbours from .. to - 1 are, in the mean. */
static double apart(const search *s, size_t i, const neighbour *n, size_t from, size_t to)
{
    double sum = 0;
    for (size_t j = from; j < to; j++)
        sum += off(s, i, n[j].at);
    return sum / (double)(to - from);
}

/* The steps from one row of the sample; of equal rows nothing is said. */
static void look_from(const search *s, size_t i, steps *of)
{
    neighbour n[NEAR + 1];
    double best = 0, all = 0;
    size_t at = 0;
    nearest(s, i, n);
    if (!(n[0].d > 0) || isinf(n[NEAR].d))
        return;
    for (size_t j = 0; j < NEAR; j++) {
        double step = (double)(j + 1) * log(n[j + 1].d / n[j].d) / 2; /* of squares */
        all += step;
        if (step > best)
            best = step, at = j;
    }
    of->rows++;
    of->largest += best, of->others += (all - best) / (NEAR - 1);
    of->wider += best / (double)(at + 1);
    of->middle += log(n[at + 1].d * n[at].d) / 4;
    of->before += apart(s, i, n, 0, at + 1);
    of->behind += apart(s, i, n, at + 1, NEAR + 1);
}

/* Whether steps stand out behind which neighbours tell less; *ret: the distance in their middle. */
static bool gap(const search *s, const steps *of, double *ret)
{
    double before = 1 - of->before / of->rows / s->apart, behind = 1 - of->behind / of->rows / s->apart;
    *ret = exp(of->middle / of->rows);
    return of->largest >= STANDS_OUT * of->others && of->wider >= WIDE * of->rows && before >= TOLD &&
           behind <= FURTHER * before;
}

/* Whether most rows without a target lie by rows that have one: by a sample of them. */
static bool are_known(const search *s, double middle)
{
    size_t seen = 0, by = 0;
    for (size_t i = s->known; i < s->rows; i++) {
        bool near = false;
        if (!picked(s, i, s->rows - s->known))
            continue;
        for (size_t k = 0; k < s->known && !near; k++)
            near = distance(s, i, k, middle * middle) < middle * middle;
        by += near;
        seen++;
    }
    return (double)by > ASKED * (double)seen;
}

static uint32_t root(uint32_t *u, uint32_t r)
{
    while (u[r] != r)
        r = u[r] = u[u[r]];
    return r;
}

/* Joins rows nearer than `middle`; false where more hang together than are copies of one: a dense table. */
static bool join(const search *s, double middle, size_t most, uint32_t *unit, uint32_t *size)
{
    for (size_t i = 0; i < s->known; i++)
        size[s->row[i]] = 1;
    for (size_t i = 0; i < s->known; i++)
        for (size_t k = i + 1; k < s->known; k++) {
            if (distance(s, i, k, middle * middle) >= middle * middle)
                continue;
            uint32_t a = root(unit, s->row[i]), b = root(unit, s->row[k]);
            uint32_t first = a < b ? a : b, other = a < b ? b : a;
            if (a == b)
                continue;
            unit[other] = first;
            size[first] += size[other];
            if (size[first] > most)
                return false;
        }
    return true;
}

static bool find(const search *s, uint32_t *unit, bool *ret)
{
    steps of = { 0 };
    double middle = 0;
    for (size_t i = 0; i < s->known; i++)
        if (picked(s, i, s->known))
            look_from(s, i, &of);
    if (of.rows < FEWEST / 2 || !gap(s, &of, &middle) || are_known(s, middle))
        return true;
    uint32_t *before = malloc(2 * (s->rows + 1) * sizeof *before);
    if (before == NULL)
        return false;
    memcpy(before, unit, s->rows * sizeof *unit);
    *ret = join(s, middle, s->known / LARGEST, unit, before + s->rows);
    if (!*ret)
        memcpy(unit, before, s->rows * sizeof *unit);
    free(before);
    return true;
}

bool tab_noisy_copies(const tab_profile *p, const bool *used, const uint64_t *hash, const double *y,
                      bool numeric, double apart, uint32_t *unit, bool *ret)
{
    search s = { .rows = p->table->rows, .y = y, .hash = hash, .apart = apart, .numeric = numeric };
    *ret = false;
    bool ok = true;
    size_t known = 0;
    for (size_t r = 0; r < s.rows; r++)
        known += !isnan(y[r]);
    if (known < FEWEST || known > MOST)
        return true;
    ok = read_numbers(p, used, &s);
    if (ok && s.numbers > 1)
        ok = find(&s, unit, ret);
    free(s.col), free(s.row), free(s.x);
    return ok;
}
