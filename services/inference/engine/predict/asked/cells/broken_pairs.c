/* See broken_pairs.h. Numbers are read by quarters of the known rows, words by their commonest levels; how
 * much two columns tell of each other is chi-square beyond its degrees of freedom. */
#include "services/inference/engine/predict/asked/cells/broken_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/order.h"

/* CELLS: of a column. LEAST: rows of either kind. WORK: rows times pairs, beyond which nothing is tried. By
 * hand, as are the others. */
enum { CELLS = 4, LEAST = 40, NONE = 255 };
static const double WORK = 5e7;
/* In deviations of what independent columns give: ALIKE, how far known and asked rows of one distribution may
 * lie apart; SURE, what asked rows would have of a pair that holds; LOST, what they have of one that does
 * not. SHORT: by how many deviations of what they would have that is less. HELD: the share of what known rows
 * have that they have of a pair that holds. SELDOM: the share of the known rows of which fewer are no cell,
 * as chi-square is no measure of it. */
static const double ALIKE = 4, SURE = 8, LOST = 3, SHORT = 3, HELD = 0.5, SELDOM = 0.05;

typedef struct {
    size_t column;
    uint8_t *cell; /* (rows) */
    size_t set;    /* the first column of those that hold together */
    bool broken;   /* with a column of another set */
} place;

typedef struct {
    double n[2][CELLS][CELLS]; /* of the known rows, and of the asked ones */
} counts;

/* ---- cells ----------------------------------------------------------------------------------- */

/* Quarters of the known rows. False: memory. */
static bool cells_of_numbers(const double *x, const bool *asked, size_t rows, uint8_t *cell)
{
    double *known = malloc((rows + 1) * sizeof *known), upto[CELLS - 1];
    size_t n = 0;
    if (known == NULL)
        return false;
    for (size_t r = 0; r < rows; r++)
        if (!asked[r] && !isnan(x[r]))
            known[n++] = x[r];
    qsort(known, n, sizeof *known, tab_ascending_double);
    for (size_t k = 0; k + 1 < CELLS; k++)
        upto[k] = n > 0 ? known[(k + 1) * n / CELLS] : 0;
    for (size_t r = 0; r < rows; r++) {
        cell[r] = isnan(x[r]) ? NONE : 0;
        for (size_t k = 0; cell[r] != NONE && k + 1 < CELLS; k++)
            cell[r] = (uint8_t)(cell[r] + (x[r] >= upto[k]));
    }
    free(known);
    return true;
}

/* The commonest levels of the known rows, and all others. False: memory. */
static bool cells_of_words(const tab_column_profile *c, const bool *asked, size_t rows, uint8_t *cell)
{
    size_t *count = calloc(c->levels + 1, sizeof *count);
    uint32_t top[CELLS - 1];
    if (count == NULL)
        return false;
    for (size_t r = 0; r < rows; r++)
        if (!asked[r] && c->code[r] != TAB_NULL)
            count[c->code[r]]++;
    for (size_t k = 0; k + 1 < CELLS; k++) {
        size_t best = 0;
        for (size_t l = 1; l < c->levels; l++)
            if (count[l] > count[best])
                best = l;
        top[k] = (uint32_t)best;
        count[best] = 0;
    }
    for (size_t r = 0; r < rows; r++) {
        cell[r] = c->code[r] == TAB_NULL ? NONE : CELLS - 1;
        for (size_t k = CELLS - 1; cell[r] != NONE && k > 0; k--)
            if (top[k - 1] == c->code[r])
                cell[r] = (uint8_t)(k - 1);
    }
    free(count);
    return true;
}

/* Cells that few known rows have are none. */
static void leave_seldom(const bool *asked, size_t rows, uint8_t *cell)
{
    size_t count[CELLS] = { 0 }, all = 0;
    for (size_t r = 0; r < rows; r++)
        if (!asked[r] && cell[r] != NONE)
            count[cell[r]]++, all++;
    for (size_t r = 0; r < rows; r++)
        if (cell[r] != NONE && (double)count[cell[r]] < SELDOM * (double)all)
            cell[r] = NONE;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static void count(const place *a, const place *b, const bool *asked, size_t rows, counts *ret)
{
    memset(ret, 0, sizeof *ret);
    for (size_t r = 0; r < rows; r++)
        if (a->cell[r] != NONE && b->cell[r] != NONE)
            ret->n[asked[r]][a->cell[r]][b->cell[r]]++;
}

/* Chi-square of a table's independence less its degrees of freedom, those, and the rows. */
typedef struct {
    double beyond, degrees, rows;
} link;

static link linked(const double (*n)[CELLS], size_t lines)
{
    double row[CELLS] = { 0 }, col[CELLS] = { 0 }, all = 0, chi = 0, used[2] = { 0 };
    for (size_t a = 0; a < lines; a++)
        for (size_t b = 0; b < CELLS; b++)
            row[a] += n[a][b], col[b] += n[a][b], all += n[a][b];
    for (size_t a = 0; a < CELLS; a++)
        used[0] += row[a] > 0, used[1] += col[a] > 0;
    for (size_t a = 0; a < lines; a++)
        for (size_t b = 0; b < CELLS; b++) {
            double expected = all > 0 ? row[a] * col[b] / all : 0;
            if (expected > 0)
                chi += (n[a][b] - expected) * (n[a][b] - expected) / expected;
        }
    double degrees = (used[0] - 1) * (used[1] - 1);
    return (link){ chi - degrees, degrees, all };
}

/* In deviations of what independence gives. */
static double sure(const link *k, double beyond)
{
    return k->degrees > 0 ? beyond / sqrt(2 * k->degrees) : 0;
}

/* Whether a column's asked cells are distributed as its known ones. */
static bool alike(const place *p, const bool *asked, size_t rows)
{
    double n[2][CELLS] = { { 0 } };
    for (size_t r = 0; r < rows; r++)
        if (p->cell[r] != NONE)
            n[asked[r]][p->cell[r]]++;
    link k = linked((const double(*)[CELLS])n, 2);
    return sure(&k, k.beyond) <= ALIKE;
}

/* Joins the sets of columns that hold together, or marks two that do not. */
static void judge(place *of, size_t n, size_t i, size_t j, const counts *c)
{
    link known = linked((const double(*)[CELLS])c->n[0], CELLS);
    link open = linked((const double(*)[CELLS])c->n[1], CELLS);
    if (known.rows < LEAST || open.rows < LEAST || open.degrees < known.degrees)
        return;
    double expected = known.beyond / known.rows * open.rows;
    if (sure(&open, expected) < SURE)
        return;
    /* that of a noncentral chi-square, and of the known rows' own */
    double deviation = sqrt((2 * open.degrees + 4 * expected) * (1 + open.rows / known.rows));
    if (sure(&open, open.beyond) <= LOST && expected - open.beyond > SHORT * deviation)
        of[i].broken = of[j].broken = true;
    if (open.beyond < HELD * expected)
        return;
    size_t from = of[i].set > of[j].set ? of[i].set : of[j].set;
    size_t to = of[i].set > of[j].set ? of[j].set : of[i].set;
    for (size_t k = 0; k < n; k++)
        if (of[k].set == from)
            of[k].set = to;
}

/* The set with the most columns; n: two have as many. */
static size_t largest(const place *of, size_t n)
{
    size_t best = n, most = 0;
    for (size_t s = 0; s < n; s++) {
        size_t columns = 0;
        for (size_t i = 0; i < n; i++)
            columns += of[i].set == s;
        if (columns > 0 && columns == most)
            best = n;
        if (columns > most)
            best = s, most = columns;
    }
    return best;
}

/* The columns that are read. False: memory. */
static bool places(const tab_column_profile *col, const bool *use, size_t cols, const bool *asked,
                   size_t rows, place *of, size_t *n)
{
    bool ok = true;
    for (size_t c = 0; ok && c < cols; c++) {
        bool words = col[c].number == NULL && col[c].code != NULL;
        if (!use[c] || col[c].identifying || (!words && col[c].number == NULL))
            continue;
        place *p = &of[*n];
        *p = (place){ .column = c, .set = *n, .cell = malloc(rows + 1) };
        ok = p->cell != NULL && (words ? cells_of_words(&col[c], asked, rows, p->cell)
                                       : cells_of_numbers(col[c].number, asked, rows, p->cell));
        if (ok)
            leave_seldom(asked, rows, p->cell);
        if (ok && alike(p, asked, rows))
            (*n)++;
        else
            free(p->cell);
    }
    return ok;
}

bool tab_asked_broken_pairs(const tab_column_profile *col, const bool *use, size_t cols, const bool *asked,
                            size_t rows, bool *ret)
{
    size_t n = 0, used = 0;
    memset(ret, 0, cols * sizeof *ret);
    for (size_t c = 0; c < cols; c++)
        used += use[c];
    if ((double)used * (double)used / 2 * (double)rows > WORK)
        return true;
    place *of = calloc(cols + 1, sizeof *of);
    bool ok = of != NULL && places(col, use, cols, asked, rows, of, &n), any = false;
    for (size_t i = 0; ok && i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            counts c;
            count(&of[i], &of[j], asked, rows, &c);
            judge(of, n, i, j, &c);
            any = any || of[i].broken;
        }
    size_t kept = any ? largest(of, n) : n;
    for (size_t i = 0; i < n; i++) {
        ret[of[i].column] = of[i].broken && of[i].set != kept;
        free(of[i].cell);
    }
    free(of);
    return ok;
}
