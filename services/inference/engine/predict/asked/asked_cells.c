/* See fitted_parts.h; fitted.c asks before anything is encoded. Cells of asked rows that are not written as
 * the known ones are: another file, another export. A level that differs from a known one in case, accents or
 * blanks alone is that one. A number that stands for "not known" (0, -1, 999 ...) outside of all known ones,
 * and numbers that are the known ones in another unit (grams in place of kilograms), tell nothing in the way
 * in which the known cells do: they are read as empty, and what is found is said (decision 0781).
 *
 *   respell    levels that only asked rows have, by their folded texts
 *   fillers    one number, many times, that no known row reaches
 *   units      asked numbers, all of them or those out of range, that are distributed as the known ones by
 *              one factor (the two-sample statistic of Kolmogorov and Smirnov) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/order.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* LEAST: asked cells that tell of a filler; LEAST_UNITS: of another unit; LEAST_KNOWN: known ones. By
 * hand. */
enum { LEAST = 5, LEAST_UNITS = 20, LEAST_KNOWN = 30 };
/* SHARE: of the asked rows that have one filler. APART: by how much asked and known distributions differ as
 * they stand; ALIKE: standard errors by which they may once they are in one unit. FARTHER: units are looked
 * for among the cells out of range where so large a share of the asked is. By hand. */
static const double SHARE = 0.05, APART = 0.8, ALIKE = 1.95, FARTHER = 0.1;
/* Units of one thing that are ten and more of another: smaller factors are as likely to be growth. */
static const double FACTOR[] = { 10, 12, 24, 25.4, 28.35, 60, 100, 1000, 1024, 3600, 86400, 1e6 };
enum { FACTORS = sizeof FACTOR / sizeof *FACTOR };

typedef struct {
    const tab_profile *p;
    tab_fitted *f;
    const bool *asked; /* (rows) */
    size_t rows;
    double *known, *open; /* (rows) a column's numbers, ascending */
    size_t n, m;          /* of them */
} search;

typedef struct {
    uint64_t hash;
    uint32_t level;
    bool known;
} spelling;

static int by_spelling(const void *a, const void *b)
{
    const spelling *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (int)y->known - (int)x->known;
}

/* Adds a sentence to f->unlike. False: the arena is full. */
static bool say(tab_fitted *f, const char *sentence)
{
    if (sentence != NULL)
        f->unlike = f->unlike == NULL ? sentence : tab_arena_printf(f->arena, "%s; %s", f->unlike, sentence);
    return sentence != NULL && f->unlike != NULL;
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* to (levels): what each level is read as. True: one is read as another. */
static bool spell(const tab_column_profile *c, const bool *seen, spelling *s, uint32_t *to)
{
    size_t n = 0;
    bool any = false;
    for (size_t l = 0; l < c->levels; l++) {
        uint64_t hash = tab_folded_hash(c->level[l]);
        to[l] = (uint32_t)l;
        if (hash != 0)
            s[n++] = (spelling){ hash, (uint32_t)l, seen[l] };
    }
    qsort(s, n, sizeof *s, by_spelling);
    for (size_t i = 0; i < n;) {
        size_t j = i, known = 0;
        for (; j < n && s[j].hash == s[i].hash; j++)
            known += s[j].known;
        for (size_t k = i + 1; known == 1 && k < j; k++)
            to[s[k].level] = s[i].level, any = true;
        i = j;
    }
    return any;
}

/* Levels of asked rows that are a known one in another spelling. False: memory. */
static bool respell(const search *w, tab_column_profile *c)
{
    size_t levels = c->levels;
    bool *seen = calloc(levels + 1, sizeof *seen);
    spelling *s = malloc((levels + 1) * sizeof *s);
    uint32_t *to = malloc((levels + 1) * sizeof *to);
    bool ok = seen != NULL && s != NULL && to != NULL;
    for (size_t r = 0; ok && r < w->rows; r++)
        if (!w->asked[r] && c->code[r] != TAB_NULL)
            seen[c->code[r]] = true;
    if (ok && spell(c, seen, s, to)) {
        uint32_t *own = tab_arena_new_of(w->f->arena, uint32_t, w->rows + 1);
        for (size_t r = 0; own != NULL && r < w->rows; r++)
            own[r] = c->code[r] == TAB_NULL ? TAB_NULL : to[c->code[r]];
        c->code = own;
        ok = own != NULL;
    }
    free(seen);
    free(s);
    free(to);
    return ok;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Reads a column's numbers. */
static void read_numbers(search *w, const double *x)
{
    w->n = w->m = 0;
    for (size_t r = 0; r < w->rows; r++)
        if (!isnan(x[r]))
            *(w->asked[r] ? &w->open[w->m++] : &w->known[w->n++]) = x[r];
    qsort(w->known, w->n, sizeof *w->known, tab_ascending_double);
    qsort(w->open, w->m, sizeof *w->open, tab_ascending_double);
}

static bool outside(const search *w, double x)
{
    return x < w->known[0] || x > w->known[w->n - 1];
}

/* What systems write where a number is not known: 0, -1, and nines. */
static bool fills(double x)
{
    double nines = 9;
    for (int k = 0; k < 8 && nines < fabs(x); k++)
        nines = 10 * nines + 9;
    return x == 0 || x == -1 || fabs(x) == nines; // NOLINT: the very numbers
}

/* The filler that most asked cells have. NaN: there is none. */
static double filler(const search *w)
{
    double best = (double)NAN;
    size_t most = 0;
    for (size_t i = 0, j; i < w->m; i = j) {
        for (j = i; j < w->m && !(w->open[j] > w->open[i]); j++)
            ;
        bool many = j - i >= LEAST && (double)(j - i) >= SHARE * (double)w->m;
        if (many && j - i > most && fills(w->open[i]) && outside(w, w->open[i]))
            best = w->open[i], most = j - i;
    }
    return best;
}

/* The largest distance of both distributions, the asked numbers x (m) times `by`; in standard errors where
 * `errors`. */
static double distance(const search *w, const double *x, size_t m, double by, bool errors)
{
    double most = 0, n = (double)w->n, k = (double)m;
    for (size_t i = 0, j = 0; i < w->n || j < m;) {
        double at = j == m || (i < w->n && w->known[i] <= x[j] * by) ? w->known[i] : x[j] * by;
        while (i < w->n && w->known[i] <= at)
            i++;
        while (j < m && x[j] * by <= at)
            j++;
        most = fmax(most, fabs((double)i / n - (double)j / k));
    }
    return errors ? most * sqrt(n * k / (n + k)) : most;
}

/* The factor by which asked numbers x (m), ascending, are the known ones in another unit; 0: none. */
static double unit(const search *w, const double *x, size_t m)
{
    double best = 0, least = ALIKE;
    if (m < LEAST_UNITS || w->n < LEAST_KNOWN || distance(w, x, m, 1, false) < APART)
        return 0;
    for (size_t k = 0; k < 2 * FACTORS; k++) {
        double by = k % 2 == 0 ? 1 / FACTOR[k / 2] : FACTOR[k / 2];
        double d = distance(w, x, m, by, true);
        if (d < least)
            best = 1 / by, least = d;
    }
    return best;
}

/* Empties the asked cells for which `gone` holds. False: the arena is full. */
static bool empty(const search *w, tab_column_profile *c, double fill, bool all, bool far)
{
    double *own = tab_arena_new_of(w->f->arena, double, w->rows + 1);
    for (size_t r = 0; own != NULL && r < w->rows; r++) {
        double x = c->number[r];
        bool gone = w->asked[r] && (all || (far && outside(w, x)) || x == fill); // NOLINT: the very number
        own[r] = gone ? (double)NAN : x;
    }
    c->number = own;
    return own != NULL;
}

/* Fillers and other units of one column. False: memory. */
static bool read_column(search *w, tab_column_profile *c)
{
    read_numbers(w, c->number);
    if (w->n < LEAST_KNOWN || w->m < LEAST || !(w->known[w->n - 1] > w->known[0]))
        return true;
    tab_arena *a = w->f->arena;
    tab_str name = c->column->name;
    double fill = filler(w);
    if (!isnan(fill) &&
        (!say(w->f,
              tab_arena_printf(a,
                               "`%.*s` is %g in rows to predict and in no other row (%.6g to %.6g), and "
                               "is read as empty there",
                               TAB_STR(name), fill, w->known[0], w->known[w->n - 1])) ||
         !empty(w, c, fill, false, false)))
        return false;
    read_numbers(w, c->number);
    double *far = w->open + w->m;
    size_t n = 0;
    double all = unit(w, w->open, w->m), part = 0;
    for (size_t i = 0; i < w->m; i++)
        if (outside(w, w->open[i]))
            far[n++] = w->open[i];
    if (all <= 0 && (double)n >= FARTHER * (double)w->m && n < w->m)
        part = unit(w, far, n);
    if (all <= 0 && part <= 0)
        return true;
    return say(w->f,
               tab_arena_printf(a,
                                "`%.*s` is distributed in %zu rows to predict as in the others times %g, "
                                "as in another unit, and is read as empty there",
                                TAB_STR(name), all > 0 ? w->m : n, all > 0 ? all : part)) &&
           empty(w, c, (double)NAN, all > 0, true);
}

/* ---- all columns ----------------------------------------------------------------------------- */

/* False: memory. */
static bool read_all(search *w, const bool *use, tab_column_profile *col)
{
    bool ok = true;
    for (size_t c = 0; ok && c < w->p->table->cols; c++) {
        bool key = col[c].identifying || col[c].use == TAB_USE_KEY;
        if (use[c] && col[c].code != NULL && col[c].number == NULL)
            ok = respell(w, &col[c]);
        else if (use[c] && col[c].type == TAB_NUMERIC && col[c].number != NULL && !key)
            ok = read_column(w, &col[c]);
    }
    return ok;
}

tab_status tab_asked_cells(const tab_profile *p, const bool *use, tab_fitted *f, const tab_profile **ret,
                           tab_error *err)
{
    size_t rows = p->table->rows, cols = p->table->cols, open = 0;
    bool *asked = tab_arena_new_of(f->arena, bool, rows + 1);
    tab_profile *own = tab_arena_new_of(f->arena, tab_profile, 1);
    tab_column_profile *col = tab_arena_new_of(f->arena, tab_column_profile, cols + 1);
    *ret = p;
    if (asked == NULL || own == NULL || col == NULL)
        return tab_no_memory(err);
    for (size_t r = 0; r < rows; r++)
        open += asked[r] = f->task == TAB_TASK_CLASSIFICATION ? f->label[r] == TAB_NULL : isnan(f->y[r]);
    if (open == 0 || open == rows)
        return TAB_OK;
    memcpy(col, p->col, cols * sizeof *col);
    search w = { .p = p, .f = f, .asked = asked, .rows = rows };
    w.known = malloc((rows + 1) * sizeof *w.known);
    w.open = malloc(2 * (rows + 1) * sizeof *w.open);
    bool ok = w.known != NULL && w.open != NULL && read_all(&w, use, col);
    free(w.known);
    free(w.open);
    *own = *p;
    own->col = col;
    *ret = own;
    return ok ? TAB_OK : tab_no_memory(err);
}
