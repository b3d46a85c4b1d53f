/* See apart.h. */
#include "services/inference/engine/impute/apart.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum {
    MOST_GROUPS = 32, /* columns that could group rows; of more the first */
    MOST_TIMES = 4,
    MOST_NUMBERS = 64, /* columns that missing cells could lie beyond; of more the first */
    MOST_KEYS = 4,     /* columns that series in time could be told by; of more the first */
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
    uint32_t *order,
        *at; /* (rows) rows of a series in time one after the other, and where each stands; NULL */
    const grouping *series; /* what tells its series; NULL: all rows are of one */
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

typedef struct {
    uint32_t series, row;
    double time;
} moment;

static int in_time(const void *a, const void *b)
{
    const moment *x = a, *y = b;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    if (x->time != y->time) // NOLINT: equal times
        return x->time < y->time ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

/* Puts rows into the order of the first column of times, by series (g; NULL: one). Returns whether hardly two
 * rows of a series are of one time. */
static bool put_in_order(const tab_apart *t, const grouping *g, moment *m)
{
    size_t rows = t->p->table->rows, same = 0;
    for (size_t r = 0; r < rows; r++) {
        double x = t->time[0][r];
        m[r] = (moment){ g == NULL ? 0 : g->code[r], (uint32_t)r, isnan(x) ? (double)INFINITY : x };
    }
    qsort(m, rows, sizeof *m, in_time);
    for (size_t i = 1; i < rows; i++)
        same += m[i].series == m[i - 1].series && m[i].time <= m[i - 1].time;
    return 50 * same <= rows;
}

/* Finds t->order, where a column of times has series. False: memory. */
static bool find_order(tab_arena *a, tab_apart *t)
{
    size_t rows = t->p->table->rows;
    if (t->times == 0)
        return true;
    moment *m = malloc((rows + 1) * sizeof *m);
    if (m == NULL)
        return false;
    bool found = put_in_order(t, NULL, m);
    for (size_t g = 0; !found && g < t->groups && g < MOST_KEYS; g++) {
        t->series = &t->group[g];
        found = put_in_order(t, t->series, m);
    }
    t->order = found ? tab_arena_new_of(a, uint32_t, rows + 1) : NULL;
    t->at = found ? tab_arena_new_of(a, uint32_t, rows + 1) : NULL;
    for (size_t i = 0; t->order != NULL && t->at != NULL && i < rows; i++) {
        t->order[i] = m[i].row;
        t->at[m[i].row] = (uint32_t)i;
    }
    free(m);
    return !tab_arena_full(a);
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
    return find_order(a, t) ? t : NULL;
}

/* LOOKS rows of those that `missing` says of them, or does not, evenly from the first to the last. False:
 * there are none. */
static bool look(const bool *missing, bool which, size_t rows, size_t *ret)
{
    size_t n = 0, seen = 0, k = 0;
    for (size_t r = 0; r < rows; r++)
        n += missing[r] == which;
    for (size_t r = 0; r < rows && k < LOOKS; r++) {
        if (missing[r] != which)
            continue;
        for (seen++; k < LOOKS && (2 * k + 1) * n / (2 * LOOKS) < seen; k++)
            ret[k] = r;
    }
    return n > 0;
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

/* Whether the row before and the row after, of its series in time, lack the cell as well. */
static bool within_gap(const tab_apart *t, const bool *missing, size_t row)
{
    size_t i = t->at[row];
    if (i == 0 || i + 1 == t->p->table->rows)
        return false;
    size_t before = t->order[i - 1], after = t->order[i + 1];
    bool own = t->series == NULL || (t->series->code[before] == t->series->code[row] &&
                                     t->series->code[after] == t->series->code[row]);
    return own && missing[before] && missing[after];
}

/* Whether half of the missing cells stand behind three quarters of the present ones, or before them. */
static bool behind(const double *time, const size_t *open, const size_t *present)
{
    double asked[LOOKS], known[LOOKS];
    for (size_t k = 0; k < LOOKS; k++) {
        asked[k] = time[open[k]];
        known[k] = time[present[k]];
        if (isnan(asked[k]) || isnan(known[k]))
            return false;
    }
    qsort(asked, LOOKS, sizeof *asked, rising);
    qsort(known, LOOKS, sizeof *known, rising);
    return asked[LOOKS / 2] > known[3 * LOOKS / 4] || asked[LOOKS / 2] < known[LOOKS / 4];
}

bool tab_apart_looks(const tab_apart *t, size_t column, const bool *missing)
{
    size_t rows = t->p->table->rows, open[LOOKS], present[LOOKS], in = 0;
    assert(column < t->p->table->cols);
    if (!look(missing, true, rows, open) || !look(missing, false, rows, present))
        return false;
    for (size_t g = 0; g < t->groups; g++) {
        size_t fresh = 0;
        for (size_t k = 0; k < LOOKS && t->group[g].column != column; k++)
            fresh += is_new(&t->group[g], missing, open[k]);
        if (fresh >= LOOKS / 4)
            return true;
    }
    for (size_t k = 0; k < t->times; k++)
        if (t->time_column[k] != column && behind(t->time[k], open, present))
            return true;
    for (size_t k = 0; t->order != NULL && t->time_column[0] != column && k < LOOKS; k++)
        in += within_gap(t, missing, open[k]);
    return in >= LOOKS / 2;
}

/* Whether half of the missing cells' rows, of those that are looked at, have numbers beyond those of all rows
 * that have the cell. */
static bool beyond(const double *x, const bool *missing, size_t rows, double *ret_low, double *ret_high)
{
    size_t out = 0, open[LOOKS];
    double low = INFINITY, high = -INFINITY;
    if (!look(missing, true, rows, open))
        return false;
    for (size_t r = 0; r < rows; r++)
        if (!missing[r] && !isnan(x[r])) {
            low = x[r] < low ? x[r] : low;
            high = x[r] > high ? x[r] : high;
        }
    for (size_t k = 0; k < LOOKS && low < high; k++)
        out += x[open[k]] < low || x[open[k]] > high;
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
