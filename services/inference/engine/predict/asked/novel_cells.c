/* See fitted_parts.h: cells of served rows that are unlike all fitted ones, as sentences with row and column:
 * a category that no fitted row has, a number far beyond the fitted ones (beyond.c says how far). Where most
 * fitted levels occur once, the next row's will be new as well (Good, Biometrika 1953), and is no news.
 * Times go on by their nature, and columns made of linked tables hold no cell of the caller's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/predict/fitted_parts.h"

enum { ROWS_NAMED = 5, SHOWN = 48 };
static const double USUAL = 0.5; /* share of fitted rows alone at their level from which new ones are usual */

/* Rows of one column that are strange, in their order. */
typedef struct {
    uint32_t row[ROWS_NAMED];
    size_t n;
} found;

static void add(found *f, size_t row)
{
    if (f->n < ROWS_NAMED)
        f->row[f->n] = (uint32_t)row;
    f->n++;
}

/* "row 3", "rows 3 and 7", "rows 0, 1, 2, 3, 4 and 12 more". */
static void name_rows(const found *f, char *buf, size_t size)
{
    size_t named = f->n < ROWS_NAMED ? f->n : ROWS_NAMED;
    size_t at = (size_t)snprintf(buf, size, f->n == 1 ? "row" : "rows");
    for (size_t i = 0; i < named && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%u",
                               i == 0                            ? " "
                               : i + 1 == named && f->n == named ? " and "
                                                                 : ", ",
                               f->row[i]);
    if (f->n > named && at < size)
        snprintf(buf + at, size - at, " and %zu more", f->n - named);
}

static bool rare_levels(const tab_feature *f, size_t rows)
{
    size_t once = 0;
    for (size_t k = 0; k < f->levels; k++)
        once += (double)f->share[k] * (double)rows < 1.5;
    return (double)once > USUAL * (double)rows;
}

/* The sentence on a category; NULL: the arena is full. */
static char *level_words(tab_arena *a, const tab_fitted_column *c, const tab_values *v, const found *rows)
{
    char where[96];
    uint32_t code = v->code[rows->row[0]];
    tab_str text = code < v->levels ? v->level[code] : TAB_S("");
    size_t n = text.n < SHOWN ? text.n : SHOWN;
    while (n > 0 && n < text.n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--; /* within a letter */
    name_rows(rows, where, sizeof where);
    return tab_arena_printf(a, "%.*s, %s: no pinned row has %s\"%.*s%s\"", TAB_STR(c->address), where,
                            rows->n > 1 ? "such a value, the first being " : "the value ", (int)n, text.p,
                            n < text.n ? "..." : "");
}

static char *number_words(tab_arena *a, const tab_fitted_column *c, const tab_values *v, const found *rows)
{
    char where[96];
    name_rows(rows, where, sizeof where);
    return tab_arena_printf(a, "%.*s, %s: %s%.6g is far outside the pinned rows' %.6g to %.6g",
                            TAB_STR(c->address), where, rows->n > 1 ? "the first with " : "",
                            v->number[rows->row[0]], c->least, c->most);
}

bool tab_strange_cells(tab_arena *a, const tab_fitted *f, const tab_values *values, tab_scoring *ret)
{
    const tab_data *d = ret->d;
    ret->strange = tab_arena_new_of(a, char *, f->enc->n + f->cols + 1);
    if (ret->strange == NULL)
        return false;
    for (size_t c = 0; c < f->cols; c++) {
        const tab_fitted_column *own = &f->column[c];
        found level = { .n = 0 }, number = { .n = 0 };
        if (own->made || !own->used || c == f->split.time)
            continue;
        for (size_t k = 0; k < f->enc->n && own->type == TAB_CATEGORICAL && values[c].code != NULL; k++) {
            const tab_feature *q = &f->enc->f[k];
            if (q->source != c || q->derive != TAB_DERIVE_CODE || rare_levels(q, f->rows))
                continue;
            for (size_t r = 0; r < d->rows; r++)
                if (d->code[k][r] != TAB_NULL && d->code[k][r] >= q->levels)
                    add(&level, r);
        }
        for (size_t r = 0; own->type == TAB_NUMERIC && values[c].number != NULL && r < d->rows; r++)
            if (tab_beyond_range(own->least, own->most, values[c].number[r]) > 0)
                add(&number, r);
        if (level.n > 0)
            ret->strange[ret->stranges++] = level_words(a, own, &values[c], &level);
        if (number.n > 0)
            ret->strange[ret->stranges++] = number_words(a, own, &values[c], &number);
    }
    return !tab_arena_full(a);
}
