/* See internal.h: what speaks for an axis. Values that follow one another are alike where the order is that
 * of time: the mean squared successive difference within series beside the variance (von Neumann, 1941), 1
 * where the order says nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/series/internal.h"

/* TRIED: columns that are tried as the key of events. FEW: values of a target by which the order of rows is
 * not told, as sorting makes them runs. ALIKE: of the squared differences that a key of events leaves. STEPS:
 * points of a count where the next steps are asked, just enough for an axis. */
enum { LEAST = 12, BESIDE = 8, TRIED = 12, BINS = 8, FEW = 10, CENTURY = 100 };
static const double SURE = 4, ALIKE = 0.35, STEPS = 5;

/* ---- values -------------------------------------------------------------------------------------- */

bool tab_series_values(tab_search *s, const double **ret, bool *ret_class)
{
    const tab_column_profile *c = s->target < s->cols ? &s->p->col[s->target] : NULL;
    *ret = c == NULL                          ? NULL
           : c->number != NULL                ? c->number
           : c->column->layout == TAB_NUMBERS ? c->column->num
                                              : s->y;
    *ret_class = c != NULL && c->number == NULL && c->column->layout == TAB_CODED;
    if (c == NULL || *ret != NULL || c->code == NULL)
        return true;
    double *v = tab_arena_new_of(s->scratch, double, s->rows + 1);
    if (v == NULL)
        return false;
    for (size_t r = 0; r < s->rows; r++)
        v[r] = c->code[r] == TAB_NULL ? (double)NAN : c->code[r];
    *ret = s->y = v;
    return true;
}

/* ---- rows of a series, one after another ---------------------------------------------------------- */

bool tab_series_sequence(tab_search *s, const tab_axis *x, size_t n, size_t *ret_n)
{
    uint32_t *at = calloc(n + 2, sizeof *at);
    if (at == NULL)
        return false;
    for (size_t i = 0; i < x->at.known; i++) {
        uint32_t k = s->series[x->at.order[i]];
        at[k == TAB_NULL ? n + 1 : k + 1]++;
    }
    for (size_t k = 1; k <= n; k++)
        at[k] += at[k - 1];
    *ret_n = at[n];
    for (size_t i = 0; i < x->at.known; i++) {
        uint32_t r = x->at.order[i], k = s->series[r];
        if (k != TAB_NULL)
            s->seq[at[k]++] = r;
    }
    free(at);
    return true;
}

/* von Neumann's ratio of y over rows in sequence, within series; rows of one time are passed over, as they
 * have no order. Of classes: how often neighbours differ beside how often two rows of a series do. */
static void successive(const tab_search *s, const tab_axis *x, size_t n, const double *y, bool class,
                       double *ret_eta, double *ret_z, double *ret_change)
{
    double moves = 0, square = 0, spread = 0, freedom = 0;
    *ret_eta = 1, *ret_z = 0, *ret_change = INFINITY;
    for (size_t from = 0, to; from < n; from = to) {
        double sum = 0, sum2 = 0, here = 0, last = (double)NAN;
        uint32_t series = s->series[s->seq[from]], last_rank = TAB_NULL;
        for (to = from; to < n && s->series[s->seq[to]] == series; to++) {
            double v = y[s->seq[to]];
            uint32_t rank = x->at.rank[s->seq[to]];
            if (isnan(v))
                continue;
            if (!isnan(last) && rank != last_rank) {
                double d = class ? (v != last) : v - last; // NOLINT: the very class
                moves++, square += d * d;
            }
            sum += v, sum2 += v * v, here++;
            last = v, last_rank = rank;
        }
        if (here < 2)
            continue;
        freedom += here - 1;
        if (!class) {
            spread += fmax(0, sum2 - sum * sum / here);
            continue;
        }
        /* classes: two rows of the series drawn at random differ so often */
        double differ = 0;
        size_t draws = 0;
        for (size_t i = from, j = to - 1; i < j; i++, j--)
            if (!isnan(y[s->seq[i]]) && !isnan(y[s->seq[j]]))
                differ += y[s->seq[i]] != y[s->seq[j]], draws++; // NOLINT: the very class
        spread += draws > 0 ? (here - 1) * differ / (double)draws / 2 : 0;
    }
    if (moves < LEAST || !(spread > 0))
        return;
    *ret_change = square / moves;
    *ret_eta = *ret_change / (2 * spread / freedom);
    *ret_z = (1 - *ret_eta) * sqrt(moves);
}

/* The correlation of the labelled rows' times with their numbers, without its sign. */
static double along(const tab_search *s, const uint32_t *rank)
{
    double n = 0, sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
    for (size_t r = 0; r < s->rows; r++) {
        if (rank[r] == TAB_NULL || (s->asked != NULL && s->asked[r]))
            continue;
        double x = (double)r, y = rank[r];
        n++, sx += x, sy += y, xx += x * x, yy += y * y, xy += x * y;
    }
    double spread = (n * xx - sx * sx) * (n * yy - sy * sy);
    return spread > 0 ? fabs(n * xy - sx * sy) / sqrt(spread) : 0;
}

/* How the rows come, and how those that are asked lie. */
static void lie(const tab_search *s, tab_axis *x, size_t n)
{
    const uint32_t *rank = x->at.rank;
    uint32_t *last = malloc((n + 1) * sizeof *last), *most = calloc(n + 1, sizeof *most), top = 0,
             before = TAB_NULL;
    size_t up = 0, down = 0, own_up = 0, own_down = 0, asked = 0, later = 0, later_own = 0, widely = 0;
    const uint32_t ASKED = TAB_NULL - 1;
    for (size_t k = 0; last != NULL && k <= n; k++)
        last[k] = TAB_NULL;
    for (size_t r = 0; last != NULL && most != NULL && r < s->rows; r++) {
        uint32_t k = s->series[r] == TAB_NULL ? (uint32_t)n : s->series[r];
        if (rank[r] == TAB_NULL)
            continue;
        if (before != TAB_NULL)
            up += rank[r] > before, down += rank[r] < before;
        if (last[k] != TAB_NULL)
            own_up += rank[r] > last[k], own_down += rank[r] < last[k];
        before = last[k] = rank[r];
        if (s->asked == NULL || !s->asked[r]) {
            top = rank[r] + 1 > top ? rank[r] + 1 : top;
            most[k] = rank[r] + 1 > most[k] ? rank[r] + 1 : most[k];
        }
    }
    for (size_t r = 0; last != NULL && most != NULL && s->asked != NULL && r < s->rows; r++) {
        uint32_t k = s->series[r] == TAB_NULL ? (uint32_t)n : s->series[r];
        if (!s->asked[r] || rank[r] == TAB_NULL)
            continue;
        asked++;
        widely += last[k] != ASKED;
        last[k] = ASKED;
        later += rank[r] + 1 > top;
        later_own += most[k] > 0 && rank[r] + 1 > most[k];
    }
    double moves = (double)(up + down), own = (double)(own_up + own_down);
    double global = moves > 0 ? (double)(up > down ? up : down) / moves : 0;
    double within = own > 0 ? (double)(own_up > own_down ? own_up : own_down) / own : 0;
    x->blocks = n > 1 && within > global;
    x->ordered = fmax(global, within);
    x->along = along(s, rank);
    x->falls = x->ordered >= 0.9 && (x->blocks ? own_down > own_up : down > up);
    x->after = asked > 0 ? (double)later / (double)asked : 0;
    x->after_own = asked > 0 ? (double)later_own / (double)asked : 0;
    x->widely = n > 0 ? (double)widely / (double)n : 0;
    free(last);
    free(most);
}

/* ---- points -------------------------------------------------------------------------------------- */

static double points_of(const tab_search *s, const tab_axis *x)
{
    const tab_clue *first = x->clue[0];
    bool count = x->clues == 1 && first->as == TAB_AS_COUNT, year = x->clues == 1 && first->as == TAB_AS_YEAR;
    /* 66 to 84, each once, or once in each series: no counter begins there */
    bool decade =
        count && first->lo >= 32 && first->hi <= 99 && first->hi - first->lo < 1.1 * (double)first->distinct;
    bool once = x->keys == 0 && x->alone >= 1 && first->distinct >= 8;
    bool grid = x->keys > 0 && x->alone >= 1 && x->cover >= 0.95 && x->ordered >= 0.97;
    if (decade && (once || grid))
        count = false, year = true;
    bool lattice = x->alone >= 0.95 && x->next >= 0.7 &&
                   (x->at.even >= 0.6 || (x->keys > 0 && x->cover >= 0.9 && x->alone0 < 0.5));
    bool after = s->n_asked >= 2 && (x->after >= 0.95 || x->after_own >= 0.95);
    /* the last rows of a table are the last by whatever it is sorted by; not where nearly every series, one
     * below the other, has some */
    bool each = x->keys > 0 && x->blocks && x->after_own >= 0.95 && x->widely >= 0.9;
    bool told = after && s->n_asked >= 5 && (each || !(s->at_end && (x->ordered >= 0.7 || x->along > 0.9)));
    /* of few rows the order must say more, of two-digit years under keys less */
    double sure = fmax(2.6, fmin(SURE, 0.6 * sqrt((double)x->at.known)));
    if (count && first->lo >= 13 && first->hi <= 99 && lattice && x->keys > 0)
        sure = 2.6;
    bool depends = x->z > sure && x->eta < 0.85;
    /* parts that the values do not follow may be a year and the number of a place */
    bool loose = x->clues > 1 && x->z < 2.5;
    double points = x->clues > 1                ? (loose ? 1.5 : 4) - (first->hi < 100)
                    : count                     ? 0
                    : year                      ? 2
                    : first->as == TAB_AS_EPOCH ? 1
                    : first->birth              ? -1
                                                : 3;
    points += x->ordered >= 0.97 ? 2 : x->ordered >= 0.9 ? 1 : 0;
    points += !lattice ? 0 : count && x->keys == 0 && !depends ? 2 : 3;
    points += x->keys > 0 && x->alone >= 0.95 && x->alone0 < 0.8 ? 1 : 0;
    points += depends && (x->alone >= 0.95 || !(count || year)) ? 1 : 0;
    points += depends ? 2 * fmax(0, fmin(1, 1 - x->eta)) : 0;
    bool birth = x->clues == 1 && first->birth && !told;
    points +=
        !after || birth || (count && x->keys == 0 && !lattice) ? 0 : fmax(4 * x->after, 3 * x->after_own);
    points -= 0.5 * (double)x->keys;
    /* a quarter beside a year is a part of the time sooner than a key */
    for (size_t k = 0; k < x->keys; k++)
        for (size_t i = 0; i < s->clues; i++)
            if (s->clue[i].column == x->key[k] && s->clue[i].parts != 0)
                points -= year || x->clues > 1 ? 1.5 : count ? 0 : 0.5;
    bool visits = x->keys > 0 && x->alone >= 0.98 && x->alone0 < 0.5 && x->ordered >= 0.97;
    /* a column and its count, of which the next steps are asked: the count says when */
    if (count && s->p->steps && s->cols <= 2 && x->keys == 0 && lattice)
        return fmax(points, STEPS);
    if (count && !((lattice || visits) && (depends || told || (after && x->keys > 0 && x->z > 2.5))))
        return 0;
    /* a counter of the rows is their order, which the values must bear out */
    if (count && x->keys == 0 && (x->ordered >= 0.97 || x->along > 0.9) && !(s->row_order > 0))
        return 0;
    if (year && x->alone < 0.9 && !told)
        return 0;
    /* more than a hundred of them that no value follows are numbers of rows */
    if (year && x->keys == 0 && first->distinct > CENTURY && !depends && !told && !(s->row_order > 0))
        return 0;
    if (x->yearless && loose && !told)
        return 0;
    /* a length of 60 to 90 may look like a year, and be followed by the target */
    bool short_year = x->clues > 1 && x->role[0] == TAB_PART_YEAR && first->hi < 100;
    if (short_year && !lattice && !told && x->ordered < 0.9)
        return 0;
    /* parts that neither order the rows nor make them stand alone describe what a row is about */
    if (x->clues > 1 && x->ordered < 0.9 && !lattice && !after && x->alone < 0.9)
        return 0;
    return points;
}

/* The share of rows in sequence that are the first of their time in their series. */
static double first_of_time(const tab_search *s, const tab_axis *x, size_t n)
{
    size_t again = 0;
    for (size_t i = 1; i < n; i++)
        again += s->series[s->seq[i]] == s->series[s->seq[i - 1]] &&
                 x->at.rank[s->seq[i]] == x->at.rank[s->seq[i - 1]];
    return n > 0 ? 1 - (double)again / (double)n : 0;
}

bool tab_series_weigh(tab_search *s, tab_axis *x)
{
    size_t n = 0, seq = 0;
    const double *y;
    bool class;
    if (!tab_series_ids(s, x->key, x->keys, s->series, &n) || !tab_series_sequence(s, x, n, &seq) ||
        !tab_series_values(s, &y, &class))
        return false;
    lie(s, x, n);
    x->single = first_of_time(s, x, seq);
    x->eta = 1, x->z = 0, x->change = INFINITY;
    if (y != NULL)
        successive(s, x, seq, y, class, &x->eta, &x->z, &x->change);
    bool counter = x->clues == 1 && x->clue[0]->as == TAB_AS_COUNT && x->keys == 0;
    if (counter && !tab_series_row_order(s))
        return false;
    x->points = points_of(s, x);
    return true;
}

bool tab_series_value_key(tab_search *s, tab_axis *x)
{
    size_t tried = 0;
    tab_axis best = *x;
    double most = ALIKE * x->change;
    if (x->keys > 0 || (x->at.even >= 0.6 && x->single >= 1))
        return true;
    for (size_t c = 0; c < s->cols && tried < TRIED; c++) {
        tab_axis k = *x;
        if (!tab_series_may_name(s, x, c) || 4 * s->p->col[c].distinct > s->p->col[c].present)
            continue;
        tried++;
        k.key[0] = c, k.keys = 1;
        if (!tab_series_weigh(s, &k))
            return false;
        bool apart = k.single >= 0.98 && 1 - k.single <= 0.2 * (1 - x->single);
        if (apart && k.z > SURE && k.eta < 0.6 && k.change < most) {
            most = k.change;
            best = k;
        }
    }
    *x = best;
    return true;
}

/* ---- the order of rows ---------------------------------------------------------------------------- */

/* Neighbours of a column as the rows stand: *r1 of values, *d1 of their differences; repeats are taken as
 * one. Of noise about a smooth line, which is what a sorted export shows, d1 is -1/2 however high r1 is. */
static bool neighbours(const double *y, size_t rows, double *r1, double *d1, size_t *n, double *rises)
{
    double sum = 0, square = 0, product = 0, last = (double)NAN, before = (double)NAN, up = 0, down = 0;
    double d_square = 0, d_product = 0;
    size_t m = 0;
    for (size_t r = 0; r < rows; r++)
        if (!isnan(y[r]) && !(y[r] == last)) { // NOLINT: the very value
            sum += y[r], m++;
            last = y[r];
        }
    if (m < 2 * LEAST)
        return false;
    double mean = sum / (double)m;
    last = (double)NAN;
    for (size_t r = 0; r < rows; r++) {
        double v = y[r] - mean;
        if (isnan(v) || v == last) // NOLINT: the very value
            continue;
        square += v * v;
        if (!isnan(last)) {
            product += v * last;
            up += v > last, down += v < last;
            d_square += (v - last) * (v - last);
            if (!isnan(before))
                d_product += (v - last) * (last - before);
        }
        before = last, last = v;
    }
    *n = m;
    *r1 = square > 0 ? product / square : 0;
    *d1 = d_square > 0 ? d_product / d_square : 0;
    *rises = fmax(up, down) / fmax(1, up + down);
    return square > 0;
}

/* Labelled rows that stand in blocks of a column's values, or in the order of one that repeats: an export by
 * it, below which rows that are asked may have been put in blocks of their own. */
static bool grouped(const tab_search *s)
{
    for (size_t c = 0; c < s->cols; c++) {
        const tab_column_profile *p = &s->p->col[c];
        size_t changes = 0, up = 0, down = 0, last = SIZE_MAX;
        if (c == s->target || p->distinct < 5 || 10 * p->distinct > 9 * p->present)
            continue;
        bool coded = p->column->layout == TAB_CODED;
        const double *v = coded ? NULL : p->column->num;
        size_t most = (size_t)(1.2 * (double)p->distinct) + 2;
        for (size_t r = 0; r < s->rows && (changes <= most || (!coded && (up == 0 || down == 0))); r++) {
            if (s->asked != NULL && s->asked[r])
                continue;
            if (last != SIZE_MAX) {
                bool same = coded ? p->column->code[r] == p->column->code[last] : v[r] == v[last]; // NOLINT
                changes += !same;
                up += !coded && v[r] > v[last], down += !coded && v[r] < v[last];
            }
            last = r;
        }
        if (changes <= most && 2 * changes < s->rows)
            return true;
    }
    return false;
}

static bool ordered_values(const double *y, size_t rows, bool sorted)
{
    double r1, d1, rises;
    size_t n;
    if (!neighbours(y, rows, &r1, &d1, &n, &rises))
        return false;
    double sure = sqrt((double)n);
    return rises < 0.9 && r1 >= 0.3 && r1 * sure > 4 && d1 > (sorted ? -0.15 : -0.22) &&
           (d1 + 0.5) * sure > 2.5;
}

/* Whether the rows come in the order of these numbers, one way, with a fiftieth of them astray. */
static bool sorted_by(const double *v, size_t rows)
{
    size_t up = 0, down = 0, astray = rows / 50;
    for (size_t r = 1; r < rows && (up <= astray || down <= astray); r++)
        up += v[r] > v[r - 1], down += v[r] < v[r - 1];
    return (up <= astray || down <= astray) && up + down > 8;
}

/* Whether the last rows, all of them asked, were drawn from the whole table in its order, not cut off its
 * end: in each of BINS parts their mean is near that of the labelled rows' same part, which are unlike each
 * other. */
static bool drawn_throughout(const tab_search *s, const double *v)
{
    double sum[2][BINS] = { { 0 } }, count[2][BINS] = { { 0 } }, mean = 0, apart = 0, off = 0;
    size_t of[2] = { s->rows - s->n_asked, s->n_asked }, at[2] = { 0 };
    for (size_t r = 0; r < s->rows; r++) {
        size_t side = s->asked[r], bin = at[side]++ * BINS / of[side];
        if (!isnan(v[r]))
            sum[side][bin] += v[r], count[side][bin]++;
    }
    for (size_t side = 0; side < 2; side++)
        for (size_t b = 0; b < BINS; b++) {
            if (count[side][b] < 1)
                return false;
            sum[side][b] /= count[side][b];
            mean += side == 0 ? sum[side][b] / BINS : 0;
        }
    for (size_t b = 0; b < BINS; b++) {
        apart += (sum[0][b] - mean) * (sum[0][b] - mean);
        off += (sum[1][b] - sum[0][b]) * (sum[1][b] - sum[0][b]);
    }
    return off < 0.4 * apart;
}

/* A counter of the rows: in the order of what it counts, not sorted by it. */
static bool counts_rows(const tab_search *s, size_t column)
{
    for (size_t i = 0; i < s->clues; i++)
        if (s->clue[i].column == column && s->clue[i].as == TAB_AS_COUNT)
            return s->clue[i].distinct == s->clue[i].present;
    return false;
}

bool tab_series_row_order(tab_search *s)
{
    const double *y;
    bool class, sorted = false;
    size_t said = 0, tried = 0, drawn = 0;
    if (s->row_order >= 0)
        return true;
    s->row_order = 0;
    if (s->p->steps && s->cols == 1) {
        s->row_order = 0.9; /* a bare list of values, of which the next ones are asked */
        return true;
    }
    if (s->rows < 2 * LEAST || grouped(s))
        return true;
    for (size_t c = 0; c < s->cols && !sorted; c++)
        sorted = c != s->target && s->p->col[c].number != NULL && !counts_rows(s, c) &&
                 sorted_by(s->p->col[c].number, s->rows);
    if (!tab_series_values(s, &y, &class))
        return false;
    bool many = y != NULL && !class && s->p->col[s->target].distinct >= FEW;
    bool target = many && ordered_values(y, s->rows, sorted);
    for (size_t c = 0; c < s->cols && tried < BESIDE; c++) {
        const tab_column_profile *p = &s->p->col[c];
        if (c == s->target || p->type != TAB_NUMERIC || p->number == NULL || p->distinct < LEAST ||
            sorted_by(p->number, s->rows))
            continue;
        tried++;
        bool says = ordered_values(p->number, s->rows, sorted);
        said += says;
        drawn += says && s->at_end && s->n_asked >= 2 * BINS && drawn_throughout(s, p->number);
    }
    bool most = tried >= 2 && 3 * said >= 2 * tried;
    if (drawn > 0 && 2 * drawn >= said)
        return true;
    /* what a table is sorted by may well be followed by the target, and by nothing else */
    if (sorted ? target && tried > 0 && 3 * said >= 2 * tried
               : target || (most && tried > 2 && (y == NULL || class)))
        s->row_order = target && most ? 0.9 : target ? 0.8 : 0.6;
    return true;
}
