/* See fitted_parts.h; fitted.c asks before anything is encoded. Cells of asked rows that are not written as
 * the known ones are: another file, another export. A level that differs from a known one in case, accents or
 * blanks alone is that one. A number that stands for "not known" (0, -1, 999 ...) outside of all known ones,
 * and numbers that are the known ones in another unit (grams in place of kilograms), tell nothing in the way
 * in which the known cells do: they are read as empty, and what is found is said (decision 0781).
 *
 *   respell    levels that only asked rows have, by their folded texts
 *   fillers    one number, many times, that no known row reaches: told in one pass over the column, as is
 *              whether its asked and known numbers may lie apart at all; only then they are sorted
 *   filled     one value of many asked rows in a column of which the others are as known: asked_numbers.h
 *   units      asked numbers, all of them or those out of range, that are distributed as the known ones in
 *              another unit (two_samples.h)
 *   exchange   columns that hold each other's numbers: asked_numbers.h (decision 0790)
 *   texts      codes that begin otherwise, another language: novel_texts.h (decision 0793)
 *   unrelated  columns of other rows: broken_pairs.h (decision 0794) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/order.h"
#include "services/inference/engine/predict/asked/cells/asked_numbers.h"
#include "services/inference/engine/predict/asked/cells/broken_pairs.h"
#include "services/inference/engine/predict/asked/cells/novel_texts.h"
#include "services/inference/engine/predict/asked/cells/two_samples.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* LEAST: asked cells that tell of a filler; LEAST_UNITS: of another unit; LEAST_KNOWN: known ones. By
 * hand. */
enum { LEAST = 5, LEAST_UNITS = 20, LEAST_KNOWN = 30 };
/* SHARE: of the asked rows that have one filler. APART: by how much asked and known distributions differ as
 * they stand; ALIKE: standard errors by which they may once they are in one unit. FARTHER: units are looked
 * for among the cells out of range where so large a share of the asked is. By hand. */
static const double SHARE = 0.05, APART = 0.8, ALIKE = 1.95, FARTHER = 0.1;
/* A known number x is written as by * x + more. */
typedef struct {
    double by, more;
} conversion;

/* Units that one thing is written in, by what one of the larger is in the other; each is tried both ways.
 * Tens, dozens and bytes; times; lengths; areas; volumes; weights; speeds; energy and pressure; mg/dl and
 * mmol/l; degrees. A ratio near one moves no distribution apart, and is left out. */
static const conversion UNIT[] = {
    { 10, 0 },     { 100, 0 },    { 1000, 0 },   { 1e4, 0 },    { 1e6, 0 },    { 1e9, 0 },    { 12, 0 },
    { 16, 0 },     { 1024, 0 },   { 24, 0 },     { 30.44, 0 },  { 60, 0 },     { 365.25, 0 }, { 1440, 0 },
    { 3600, 0 },   { 86400, 0 },  { 2.54, 0 },   { 25.4, 0 },   { 3.2808, 0 }, { 30.48, 0 },  { 1.6093, 0 },
    { 1.852, 0 },  { 10.764, 0 }, { 2.4711, 0 }, { 43560, 0 },  { 3.7854, 0 }, { 35.315, 0 }, { 158.99, 0 },
    { 2.2046, 0 }, { 28.35, 0 },  { 6.3503, 0 }, { 14, 0 },     { 3.6, 0 },    { 2.2369, 0 }, { 1.9438, 0 },
    { 4.184, 0 },  { 3.4121, 0 }, { 14.504, 0 }, { 7.5006, 0 }, { 18.016, 0 }, { 38.67, 0 },  { 88.42, 0 },
    { 1.8, 32 },   { 1, 273.15 },
};
/* BINS: numbers by the first 16 of their bits, a sixteenth of their size; NINES: digits of a filler. */
enum { UNITS = 2 * sizeof UNIT / sizeof *UNIT, BINS = 1 << 16, NINES = 9, FILLERS = 2 + 2 * NINES };
/* By how much the bins must differ: what is ten times as large is many bins on. */
static const double GLANCE = 0.5, HEAPED = 0.15;
/* THINNED: numbers of a column that are held against another column's. By hand. */
enum { THINNED = 4000 };

typedef struct {
    const tab_profile *p;
    tab_fitted *f;
    const bool *asked; /* (rows) */
    size_t rows;
    double *known, *open; /* (rows) a column's numbers, ascending */
    size_t n, m;          /* of them */
    uint32_t *bin[2];     /* (BINS) how many known and asked numbers a bin holds */
    bool any;             /* a column is read otherwise than it stands */
} search;

/* A column in one pass. */
typedef struct {
    double least, most;     /* of the known numbers */
    size_t n, m, far;       /* known ones, asked ones, those of these that lie outside */
    size_t filler[FILLERS]; /* asked ones by what they may stand for */
    double apart;           /* the largest distance of both distributions at a bin's end */
    bool heaped;            /* a bin holds many more asked numbers than known ones */
} glance;

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
static bool respell(search *w, tab_column_profile *c)
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
        w->any = true;
        ok = own != NULL;
    }
    free(seen);
    free(s);
    free(to);
    return ok;
}

/* Empties all asked words of a column. False: the arena is full. */
static bool empty_words(search *w, tab_column_profile *c)
{
    uint32_t *own = tab_arena_new_of(w->f->arena, uint32_t, w->rows + 1);
    for (size_t r = 0; own != NULL && r < w->rows; r++)
        own[r] = w->asked[r] ? TAB_NULL : c->code[r];
    c->code = own;
    w->any = true;
    return own != NULL;
}

/* Texts that are of another kind where they are asked. False: memory. */
static bool read_texts(search *w, tab_column_profile *c)
{
    bool novel = false;
    if (!tab_asked_novel_texts(c, w->asked, w->rows, &novel))
        return false;
    return !novel || (say(w->f, tab_arena_printf(w->f->arena,
                                                 "`%.*s` is made of other letters in rows to predict than in "
                                                 "the others, and is read as empty there",
                                                 TAB_STR(c->column->name))) &&
                      empty_words(w, c));
}

/* A word that all known rows have and no asked one: days are known and sums of months are asked; but "train"
 * and "test" are told apart so as well, so that it is said and no more. False: memory. */
static bool say_other_word(search *w, const tab_column_profile *c)
{
    uint32_t only = TAB_NULL;
    size_t known = 0, open = 0;
    for (size_t r = 0; r < w->rows; r++) {
        if (!w->asked[r] && (c->code[r] == TAB_NULL || (known++ > 0 && c->code[r] != only)))
            return true;
        if (!w->asked[r])
            only = c->code[r];
    }
    for (size_t r = 0; r < w->rows; r++) {
        if (w->asked[r] && c->code[r] == only)
            return true;
        open += w->asked[r] && c->code[r] != TAB_NULL;
    }
    return known < LEAST_KNOWN || open == 0 ||
           say(w->f,
               tab_arena_printf(w->f->arena,
                                "`%.*s` has one value in all rows with a target and another one in rows "
                                "to predict: how they differ is not known",
                                TAB_STR(c->column->name)));
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

/* What systems write where a number is not known: 0, -1, and nines. Which of these x is; FILLERS: none. */
static size_t filler_of(double x)
{
    double nines = 9;
    if (x == 0 || x == -1) // NOLINT: the very numbers
        return x < 0;
    for (size_t k = 0; k < NINES; k++, nines = 10 * nines + 9)
        if (fabs(x) == nines) // NOLINT: the very number
            return 2 + 2 * k + (x < 0);
    return FILLERS;
}

static double filler_at(size_t i)
{
    double nines = pow(10, (double)(i / 2)) - 1;
    return i == 0 ? 0 : i == 1 ? -1 : i % 2 == 0 ? nines : -nines;
}

/* The bin of a number; bins ascend as numbers do. */
static size_t bin_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits >> 63 != 0 ? ~bits : bits | (uint64_t)1 << 63) >> 48;
}

static void look(search *w, const double *x, glance *g)
{
    double known = 0, open = 0;
    *g = (glance){ .least = INFINITY, .most = -INFINITY };
    for (size_t k = 0; k < 2; k++)
        memset(w->bin[k], 0, BINS * sizeof **w->bin);
    for (size_t r = 0; r < w->rows; r++) {
        if (isnan(x[r]))
            continue;
        w->bin[w->asked[r]][bin_of(x[r])]++;
        if (w->asked[r]) {
            size_t filler = filler_of(x[r]);
            g->m++;
            if (filler < FILLERS)
                g->filler[filler]++;
        } else {
            g->n++, g->least = fmin(g->least, x[r]), g->most = fmax(g->most, x[r]);
        }
    }
    for (size_t r = 0; r < w->rows; r++)
        g->far += w->asked[r] && (x[r] < g->least || x[r] > g->most);
    for (size_t b = 0; b < BINS && g->n > 0 && g->m > 0; b++) {
        known += w->bin[0][b], open += w->bin[1][b];
        g->apart = fmax(g->apart, fabs(known / (double)g->n - open / (double)g->m));
        g->heaped = g->heaped || w->bin[1][b] / (double)g->m - w->bin[0][b] / (double)g->n > HEAPED;
    }
}

/* The filler that most asked cells have. NaN: there is none. */
static double filler(const glance *g)
{
    size_t best = FILLERS, most = 0;
    for (size_t i = 0; i < FILLERS; i++) {
        double x = filler_at(i);
        bool many = g->filler[i] >= LEAST && (double)g->filler[i] >= SHARE * (double)g->m;
        if (many && g->filler[i] > most && (x < g->least || x > g->most))
            best = i, most = g->filler[i];
    }
    return best < FILLERS ? filler_at(best) : (double)NAN;
}

/* The k-th conversion, k < UNITS: those of the table, then the same the other way. */
static conversion conversion_at(size_t k)
{
    conversion c = UNIT[k % (UNITS / 2)];
    return k < UNITS / 2 ? c : (conversion){ 1 / c.by, -c.more / c.by };
}

/* The unit that asked numbers x (m), ascending, are in where it is another one than the known numbers'. By is
 * 0: there is none. */
static conversion unit(const search *w, const double *x, size_t m)
{
    conversion best = { 0, 0 };
    double least = ALIKE;
    if (m < LEAST_UNITS || w->n < LEAST_KNOWN || tab_two_samples(w->known, w->n, x, m, 1, 0) < APART)
        return best;
    for (size_t k = 0; k < UNITS; k++) {
        conversion c = conversion_at(k);
        double d = tab_two_samples_errors(w->known, w->n, x, m, 1 / c.by, -c.more / c.by);
        if (d < least)
            best = c, least = d;
    }
    return best;
}

/* Empties the asked cells for which `gone` holds. False: the arena is full. */
static bool empty(search *w, tab_column_profile *c, double fill, bool all, bool far)
{
    double *own = tab_arena_new_of(w->f->arena, double, w->rows + 1);
    for (size_t r = 0; own != NULL && r < w->rows; r++) {
        double x = c->number[r];
        bool gone = w->asked[r] && (all || (far && outside(w, x)) || x == fill); // NOLINT: the very number
        own[r] = gone ? (double)NAN : x;
    }
    c->number = own;
    w->any = true;
    return own != NULL;
}

/* Fillers of one column. False: memory. */
static bool read_fillers(search *w, tab_column_profile *c, glance *g)
{
    double fill = filler(g);
    if (isnan(fill))
        return true;
    if (!say(w->f, tab_arena_printf(
                       w->f->arena,
                       "`%.*s` is %g in rows to predict and in no other row (%.6g to %.6g), and is read "
                       "as empty there",
                       TAB_STR(c->column->name), fill, g->least, g->most)) ||
        !empty(w, c, fill, false, false))
        return false;
    look(w, c->number, g);
    return true;
}

/* What was filled in for one column's numbers. False: memory. */
static bool read_filled(search *w, tab_column_profile *c, glance *g)
{
    if (!g->heaped || g->m < TAB_ASKED_LEAST)
        return true;
    read_numbers(w, c->number);
    double fill = tab_asked_filled(w->known, w->n, w->open, w->m);
    if (isnan(fill))
        return true;
    size_t many = 0, rare = 0;
    for (size_t i = 0; i < w->m; i++)
        many += w->open[i] == fill; // NOLINT: the very number
    for (size_t i = 0; i < w->n; i++)
        rare += w->known[i] == fill; // NOLINT: the very number
    if (!say(w->f, tab_arena_printf(w->f->arena,
                                    "`%.*s` is %.6g in %zu rows to predict and in %zu others, as if filled "
                                    "in or truncated, and is read as empty there",
                                    TAB_STR(c->column->name), fill, many, rare)) ||
        !empty(w, c, fill, false, false))
        return false;
    look(w, c->number, g);
    return true;
}

/* Numbers of one column in another unit. False: memory. */
static bool read_units(search *w, tab_column_profile *c, const glance *g)
{
    bool some = (double)g->far >= FARTHER * (double)g->m;
    if (g->m < LEAST_UNITS || (g->apart < GLANCE && !some))
        return true;
    read_numbers(w, c->number);
    double *far = w->open + w->m;
    size_t n = 0;
    bool later = false;
    conversion all = unit(w, w->open, w->m), part = { 0, 0 };
    for (size_t i = 0; i < w->m; i++)
        if (outside(w, w->open[i]))
            far[n++] = w->open[i];
    if (all.by <= 0 && some && n < w->m)
        part = unit(w, far, n);
    if (all.by <= 0 && part.by <= 0)
        return true;
    /* a counter or a time that goes on is ten times as far where it is asked */
    if (tab_regime_mostly_later(w->p, w->f->target, w->asked, &later, NULL) != TAB_OK || later)
        return later;
    conversion is = all.by > 0 ? all : part;
    return say(w->f, tab_arena_printf(
                         w->f->arena,
                         "`%.*s` is distributed in %zu rows to predict as in the others times %g%s, as in "
                         "another unit, and is read as empty there",
                         TAB_STR(c->column->name), all.by > 0 ? w->m : n, is.by,
                         is.more == 0 ? "" : tab_arena_printf(w->f->arena, " plus %g", is.more))) &&
           empty(w, c, (double)NAN, all.by > 0, true);
}

/* Fillers, what was filled in, and other units of one column. *ret: by how much asked and known numbers lie
 * apart where they stand. False: memory. */
static bool read_column(search *w, tab_column_profile *c, double *ret)
{
    glance g;
    const double *as;
    look(w, c->number, &g);
    *ret = 0;
    if (g.n < LEAST_KNOWN || g.m < LEAST || !(g.most > g.least))
        return true;
    if (!read_fillers(w, c, &g) || !read_filled(w, c, &g))
        return false;
    as = c->number;
    if (!read_units(w, c, &g))
        return false;
    *ret = as == c->number && g.m >= TAB_ASKED_LEAST ? g.apart : 0;
    return true;
}

/* ---- all columns ----------------------------------------------------------------------------- */

/* Every so many of n ascending numbers. NULL: memory. */
static double *thinned(const double *v, size_t n, size_t *ret)
{
    size_t step = n / THINNED + 1;
    double *own = malloc((n / step + 1) * sizeof *own);
    *ret = 0;
    for (size_t i = step / 2; own != NULL && i < n; i += step)
        own[(*ret)++] = v[i];
    return own;
}

/* Columns (of, k) whose asked numbers are each other's are empty there. False: memory. */
static bool read_exchanged(search *w, tab_column_profile *col, tab_asked_place *of, size_t k)
{
    bool ok = true;
    tab_asked_exchanged(of, k);
    for (size_t i = 0; ok && i < k; i++) {
        tab_column_profile *c = &col[of[i].column];
        if (of[i].as != i)
            ok = say(w->f, tab_arena_printf(w->f->arena,
                                            "`%.*s` holds in rows to predict the numbers that `%.*s` holds "
                                            "in the others, and is read as empty there",
                                            TAB_STR(c->column->name),
                                            TAB_STR(col[of[of[i].as].column].column->name))) &&
                 empty(w, c, (double)NAN, true, false);
    }
    return ok;
}

/* Columns that may hold each other's numbers. apart (cols): by how much asked numbers lie apart. False:
 * memory. */
static bool exchange(search *w, tab_column_profile *col, const double *apart)
{
    tab_asked_place of[TAB_ASKED_PLACES];
    size_t k = 0;
    bool ok = true;
    for (size_t c = 0; ok && c < w->p->table->cols && k < TAB_ASKED_PLACES; c++) {
        if (apart[c] < GLANCE)
            continue;
        read_numbers(w, col[c].number);
        of[k] = (tab_asked_place){ .column = c };
        of[k].known = thinned(w->known, w->n, &of[k].n);
        of[k].open = thinned(w->open, w->m, &of[k].m);
        ok = of[k].known != NULL && of[k].open != NULL;
        k++;
    }
    ok = ok && (k < 2 || read_exchanged(w, col, of, k));
    for (size_t i = 0; i < k; i++)
        free(of[i].known), free(of[i].open);
    return ok;
}

/* Columns that tell nothing of each other where they are asked. False: memory. */
static bool unrelated(search *w, const bool *use, tab_column_profile *col)
{
    size_t cols = w->p->table->cols;
    bool *broken = tab_arena_new_of(w->f->arena, bool, cols + 1);
    bool ok = broken != NULL && tab_asked_broken_pairs(col, use, cols, w->asked, w->rows, broken);
    for (size_t c = 0; ok && c < cols; c++)
        if (broken[c])
            ok = say(w->f, tab_arena_printf(w->f->arena,
                                            "`%.*s` tells nothing of other columns in rows to predict, of "
                                            "which it tells much in the others, as if its cells were those "
                                            "of other rows, and is read as empty there",
                                            TAB_STR(col[c].column->name))) &&
                 (col[c].number == NULL ? empty_words(w, &col[c])
                                        : empty(w, &col[c], (double)NAN, true, false));
    return ok;
}

/* False: memory. */
static bool read_all(search *w, const bool *use, tab_column_profile *col)
{
    bool ok = true;
    double *apart = tab_arena_new_of(w->f->arena, double, w->p->table->cols + 1);
    for (size_t c = 0; apart != NULL && ok && c < w->p->table->cols; c++) {
        bool key = col[c].identifying || col[c].use == TAB_USE_KEY;
        if (use[c] && col[c].code != NULL && col[c].number == NULL)
            ok = respell(w, &col[c]) && say_other_word(w, &col[c]) &&
                 (col[c].type != TAB_TEXT || read_texts(w, &col[c]));
        else if (use[c] && col[c].type == TAB_NUMERIC && col[c].number != NULL && !key)
            ok = read_column(w, &col[c], &apart[c]);
    }
    return apart != NULL && ok && exchange(w, col, apart) && unrelated(w, use, col);
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
    w.bin[0] = malloc(2 * BINS * sizeof **w.bin);
    w.bin[1] = w.bin[0] == NULL ? NULL : w.bin[0] + BINS;
    bool ok = w.known != NULL && w.open != NULL && w.bin[0] != NULL && read_all(&w, use, col);
    free(w.known);
    free(w.open);
    free(w.bin[0]);
    *own = *p;
    own->col = col;
    if (w.any)
        *ret = own;
    return ok ? TAB_OK : tab_no_memory(err);
}
