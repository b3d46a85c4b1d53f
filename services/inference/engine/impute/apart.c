/* See apart.h. */
#include "services/inference/engine/impute/apart.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum {
    MOST_GROUPS = 32, /* columns that could group rows; of more the first */
    MOST_TIMES = 4,
    MOST_NUMBERS = 64, /* columns that missing cells could lie beyond; of more the first */
    LOOKS = 16         /* missing cells that are looked at */
};

/* The rows of each level of a column. */
typedef struct {
    size_t column;
    const uint32_t *code;  /* (rows) */
    const uint32_t *start; /* (levels + 1) */
    const uint32_t *row;   /* the rows of level 0, of level 1, ... */
} grouping;

struct tab_apart {
    const tab_profile *p;
    tab_units units;
    grouping group[MOST_GROUPS];
    size_t groups;
    const double *time[MOST_TIMES]; /* (rows) */
    size_t time_column[MOST_TIMES], times;
};

/* A column of words or keys whose values stand for two rows and more on average. */
static bool can_group(const tab_column_profile *c)
{
    return c->code != NULL && c->levels >= 3 && 3 * c->levels <= 2 * c->present && c->use != TAB_USE_IGNORE &&
           (c->identifying || c->type == TAB_CATEGORICAL || c->type == TAB_TEXT);
}

static bool add_group(tab_arena *a, tab_apart *t, size_t column)
{
    const tab_column_profile *c = &t->p->col[column];
    size_t rows = t->p->table->rows;
    uint32_t *start = tab_arena_new_of(a, uint32_t, c->levels + 3);
    uint32_t *row = tab_arena_new_of(a, uint32_t, rows + 1);
    if (start == NULL || row == NULL)
        return false;
    for (size_t r = 0; r < rows; r++)
        if (c->code[r] != TAB_NULL)
            start[c->code[r] + 2]++;
    for (size_t l = 2; l <= c->levels + 1; l++)
        start[l] += start[l - 1];
    for (size_t r = 0; r < rows; r++) /* start[l + 1] goes from the beginning of level l to its end */
        if (c->code[r] != TAB_NULL)
            row[start[c->code[r] + 1]++] = (uint32_t)r;
    t->group[t->groups++] = (grouping){ column, c->code, start, row };
    return true;
}

tab_apart *tab_apart_new(tab_arena *a, const tab_profile *p)
{
    tab_apart *t = tab_arena_new_of(a, tab_apart, 1);
    if (t == NULL)
        return NULL;
    t->p = p;
    if (!tab_units_find(a, p, p->table->cols, false, &t->units))
        return NULL;
    for (size_t c = 0; c < p->table->cols; c++) {
        const double *time = t->times < MOST_TIMES ? tab_times_of(&p->col[c], p->table->rows) : NULL;
        if (time != NULL) {
            t->time_column[t->times] = c;
            t->time[t->times++] = time;
        }
        if (t->groups < MOST_GROUPS && can_group(&p->col[c]) && !add_group(a, t, c))
            return NULL;
    }
    return t;
}

/* The k-th of LOOKS rows of those that `missing` says of them, or does not; `rows`: there are none. */
static size_t look(const bool *missing, bool which, size_t rows, size_t k)
{
    size_t from = k * rows / LOOKS;
    for (size_t i = 0; i < rows; i++) {
        size_t r = from + i < rows ? from + i : from + i - rows;
        if (missing[r] == which)
            return r;
    }
    return rows;
}

/* Whether no other row of the row's group has the cell. */
static bool is_new(const grouping *g, const bool *missing, size_t row)
{
    uint32_t level = g->code[row];
    if (level == TAB_NULL)
        return false;
    for (size_t i = g->start[level]; i < g->start[level + 1]; i++)
        if (!missing[g->row[i]])
            return false;
    return true;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Whether half of the missing cells stand behind three quarters of the present ones. */
static bool behind(const double *time, const bool *missing, size_t rows)
{
    double asked[LOOKS], known[LOOKS];
    for (size_t k = 0; k < LOOKS; k++) {
        size_t a = look(missing, true, rows, k), b = look(missing, false, rows, k);
        if (a == rows || b == rows || isnan(time[a]) || isnan(time[b]))
            return false;
        asked[k] = time[a];
        known[k] = time[b];
    }
    qsort(asked, LOOKS, sizeof *asked, rising);
    qsort(known, LOOKS, sizeof *known, rising);
    return asked[LOOKS / 2] > known[3 * LOOKS / 4];
}

bool tab_apart_looks(const tab_apart *t, size_t column, const bool *missing)
{
    size_t rows = t->p->table->rows;
    assert(column < t->p->table->cols);
    for (size_t g = 0; g < t->groups; g++) {
        size_t fresh = 0;
        for (size_t k = 0; k < LOOKS && t->group[g].column != column; k++) {
            size_t r = look(missing, true, rows, k);
            fresh += r < rows && is_new(&t->group[g], missing, r);
        }
        if (fresh >= LOOKS / 4)
            return true;
    }
    for (size_t k = 0; k < t->times; k++)
        if (t->time_column[k] != column && behind(t->time[k], missing, rows))
            return true;
    return false;
}

/* Whether half of the missing cells' rows, of those that are looked at, have numbers beyond those of all rows
 * that have the cell. */
static bool beyond(const double *x, const bool *missing, size_t rows, double *ret_low, double *ret_high)
{
    size_t out = 0;
    double low = INFINITY, high = -INFINITY;
    for (size_t r = 0; r < rows; r++)
        if (!missing[r] && !isnan(x[r])) {
            low = x[r] < low ? x[r] : low;
            high = x[r] > high ? x[r] : high;
        }
    for (size_t k = 0; k < LOOKS && low < high; k++) {
        size_t r = look(missing, true, rows, k);
        out += r < rows && (x[r] < low || x[r] > high);
    }
    *ret_low = low;
    *ret_high = high;
    return out >= LOOKS / 2;
}

const double *tab_apart_beyond(const tab_apart *t, size_t column, const bool *missing, double *ret_low,
                               double *ret_high)
{
    size_t numbers = 0;
    for (size_t c = 0; c < t->p->table->cols && numbers < MOST_NUMBERS; c++) {
        const tab_column_profile *q = &t->p->col[c];
        if (c == column || q->number == NULL || q->type != TAB_NUMERIC || q->identifying)
            continue;
        numbers++;
        if (beyond(q->number, missing, t->p->table->rows, ret_low, ret_high))
            return q->number;
    }
    return NULL;
}

const tab_units *tab_apart_units(const tab_apart *t)
{
    return &t->units;
}
