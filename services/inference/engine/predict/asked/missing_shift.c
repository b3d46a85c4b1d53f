/* See missing_shift.h; fitted.c asks before anything is encoded. Each row with a target takes the gaps of one
 * asked row, by chance thinned so that every column is empty as often among the ones as among the others:
 * gaps that come together stay together. */
#include "services/inference/engine/predict/asked/missing_shift.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/features/missingness.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* NAMED: columns that a reason names. Of rows that mostly come later, columns known in the past alone
 * are read from there (ahead.h). */
enum { NAMED = 3 };

typedef struct {
    size_t column;
    tab_gap_count of;
    double *number; /* (rows) as they are to be fitted; NULL where the profile has none */
    uint32_t *code;
} shifted;

typedef struct {
    uint64_t key;
    size_t row;
} keyed_row;

static bool lacks(const tab_column_profile *c, size_t row)
{
    return c->number != NULL ? isnan(c->number[row]) : c->code == NULL || c->code[row] == TAB_NULL;
}

/* Whether a column is empty in more of the asked rows. */
static bool differs(const tab_column_profile *c, const bool *asked, size_t rows, size_t columns, shifted *ret)
{
    size_t n[2] = { 0 }, gaps[2] = { 0 };
    for (size_t r = 0; r < rows; r++)
        n[asked[r]]++, gaps[asked[r]] += lacks(c, r);
    ret->of = (tab_gap_count){ n[0], gaps[0], n[1], gaps[1] };
    return tab_gaps_differ(&ret->of, columns);
}

static int by_key(const void *a, const void *b)
{
    const keyed_row *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* The asked rows by their cells, and each row's key: neither depends on the order of rows or columns. */
static void key_rows(const tab_profile *p, const bool *use, const bool *asked, uint64_t *key, keyed_row *of)
{
    size_t rows = p->table->rows, n = 0;
    for (size_t r = 0; r < rows; r++)
        key[r] = 0;
    for (size_t c = 0; c < p->table->cols; c++) {
        tab_values v = tab_values_of(&p->col[c]);
        tab_str name = p->col[c].column->name;
        uint64_t named = tab_fnv1a(TAB_FNV1A, name.p, name.n);
        for (size_t r = 0; use[c] && r < rows; r++)
            key[r] += tab_mix2(tab_units_key(&v, r), named);
    }
    for (size_t r = 0; r < rows; r++)
        if (asked[r])
            of[n++] = (keyed_row){ key[r], r };
    qsort(of, n, sizeof *of, by_key);
}

/* Copies of a column's cells, empty in the rows with a target as often as in the asked ones. */
static bool blank(const tab_profile *p, const bool *asked, const uint64_t *key, const keyed_row *of, size_t n,
                  tab_arena *a, shifted *s)
{
    tab_column_profile *c = &p->col[s->column];
    size_t rows = p->table->rows;
    double thin = tab_gaps_thin(&s->of);
    assert(thin >= 0 && thin <= 1);
    tab_str name = c->column->name;
    uint64_t named = tab_fnv1a(TAB_FNV1A, name.p, name.n);
    s->number = c->number == NULL ? NULL : tab_arena_new_of(a, double, rows + 1);
    s->code = c->code == NULL ? NULL : tab_arena_new_of(a, uint32_t, rows + 1);
    if ((c->number != NULL && s->number == NULL) || (c->code != NULL && s->code == NULL))
        return false;
    for (size_t r = 0; r < rows; r++) {
        size_t drawn = (size_t)(tab_unit(tab_mix(key[r])) * (double)n);
        assert(drawn < n);
        const keyed_row *from = &of[drawn];
        bool gone = !asked[r] && lacks(c, from->row) && tab_unit(tab_mix2(key[r], named)) < thin;
        if (s->number != NULL)
            s->number[r] = gone ? (double)NAN : c->number[r];
        if (s->code != NULL)
            s->code[r] = gone ? TAB_NULL : c->code[r];
    }
    return true;
}

/* "`a` is empty in 70% of the rows to be answered and in 5% of the others" */
static char *words(tab_arena *a, const tab_profile *p, const shifted *s, size_t n)
{
    char *all = tab_arena_printf(a, "%s", "");
    for (size_t i = 0; all != NULL && i < n && i < NAMED; i++)
        all = tab_arena_printf(
            a, "%s%s`%.*s` is empty in %.0f%% of the rows to predict and %.0f%% of the others", all,
            i > 0 ? ", " : "", TAB_STR(p->col[s[i].column].column->name),
            100.0 * (double)s[i].of.asked_gaps / (double)s[i].of.asked,
            100.0 * (double)s[i].of.known_gaps / (double)s[i].of.known);
    if (all != NULL && n > NAMED)
        all = tab_arena_printf(a, "%s, and %zu more columns like it", all, n - NAMED);
    return all;
}

tab_status tab_missing_shift(const tab_profile *p, bool *use, tab_fitted *f, const tab_profile **ret,
                             tab_error *err)
{
    size_t rows = p->table->rows, cols = p->table->cols, n = 0, used = 0, open = 0;
    tab_arena *a = f->arena;
    bool *asked = tab_arena_new_of(a, bool, rows + 1), later = false;
    *ret = p;
    if (asked == NULL)
        return tab_no_memory(err);
    for (size_t r = 0; r < rows; r++)
        open += asked[r] = f->task == TAB_TASK_CLASSIFICATION ? f->label[r] == TAB_NULL : isnan(f->y[r]);
    for (size_t c = 0; c < cols; c++)
        used += use[c];
    if (open == 0 || open == rows || used == 0)
        return TAB_OK;
    shifted *s = tab_arena_new_of(a, shifted, used + 1);
    for (size_t c = 0; s != NULL && c < cols; c++)
        if (use[c] && differs(&p->col[c], asked, rows, used, &s[n]))
            s[n++].column = c;
    if (s == NULL)
        return tab_no_memory(err);
    if (n > 0)
        TAB_TRY(tab_regime_mostly_later(p, f->target, asked, &later, err));
    for (size_t i = later ? 0 : n; i < n;)
        if (s[i].of.asked_gaps == s[i].of.asked)
            s[i] = s[--n];
        else
            i++;
    if (n == 0)
        return TAB_OK;
    uint64_t *key = tab_arena_new_of(a, uint64_t, rows + 1);
    keyed_row *of = tab_arena_new_of(a, keyed_row, open + 1);
    tab_profile *own = tab_arena_new_of(a, tab_profile, 1);
    tab_column_profile *col = tab_arena_new_of(a, tab_column_profile, cols + 1);
    if (key == NULL || of == NULL || own == NULL || col == NULL)
        return tab_no_memory(err);
    key_rows(p, use, asked, key, of);
    memcpy(col, p->col, cols * sizeof *col);
    for (size_t i = 0; i < n; i++) {
        tab_column_profile *c = &col[s[i].column];
        if (!blank(p, asked, key, of, open, a, &s[i]))
            return tab_no_memory(err);
        c->number = s[i].number, c->code = s[i].code;
        use[s[i].column] = s[i].of.asked_gaps < s[i].of.asked;
    }
    *own = *p;
    own->col = col;
    *ret = own;
    f->lacking = words(a, p, s, n);
    return f->lacking == NULL ? tab_no_memory(err) : TAB_OK;
}
