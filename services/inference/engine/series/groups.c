/* See series.h: of which groups asked rows are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/series/internal.h"

/* CHANCE: how unlikely a random choice of rows must make it that all asked groups are new, in nats. SHARE:
 * of the asked rows that are new where some are known. */
static const double CHANCE = 9, SHARE = 0.2;
/* PAIRED: columns whose pairs are looked at, those with fewest levels. CELLS: levels of a pair, or four to a
 * row: of more hardly one repeats. By hand. */
enum { PAIRED = 12, CELLS = 1 << 16 };

/* level (rows) 0..n-1 of a column; TAB_NULL where it is missing. NULL: memory. */
static const uint32_t *levels_of(const tab_column_profile *c, size_t rows, tab_ranked *r, size_t *n)
{
    if (c->column->layout == TAB_CODED) {
        *n = c->code != NULL ? c->levels : c->column->levels;
        return c->code != NULL ? c->code : c->column->code;
    }
    memcpy(r->when, c->column->num, rows * sizeof *r->when);
    bool ok = tab_rank_times(rows, false, r);
    *n = r->times;
    return ok ? r->rank : NULL;
}

static double choose(double n, double k)
{
    int sign;
    return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

typedef struct {
    size_t groups, asked, fresh, fresh_groups;
    double nats;     /* against a random choice of rows */
    double expected; /* new rows of a random choice */
} grouping;

static void measure(const uint32_t *level, size_t n, size_t rows, const bool *asked, uint32_t *given,
                    uint32_t *wanted, grouping *g)
{
    double all = 0, m = 0;
    *g = (grouping){ 0 };
    memset(given, 0, n * sizeof *given);
    memset(wanted, 0, n * sizeof *wanted);
    for (size_t r = 0; r < rows; r++)
        if (level[r] != TAB_NULL) {
            *(asked[r] ? &wanted[level[r]] : &given[level[r]]) += 1;
            all++, m += asked[r];
        }
    for (size_t k = 0; k < n; k++) {
        g->groups += given[k] + wanted[k] > 0;
        g->asked += wanted[k];
        g->fresh += given[k] == 0 ? wanted[k] : 0;
        g->fresh_groups += given[k] == 0 && wanted[k] > 0;
        /* the other rows of a group are asked as well, each with a chance of m in all */
        if (wanted[k] > 0)
            g->expected += wanted[k] * pow(m / fmax(1, all), given[k] + wanted[k] - 1.0);
    }
    /* choices of whole groups among all choices of so many rows */
    g->nats = choose(all, m) - choose((double)g->groups, (double)g->fresh_groups);
}

/* Whether all asked rows are of new groups, or more than a random choice of rows would make. */
static bool all_new(const grouping *g)
{
    return g->fresh == g->asked && g->asked > 0 && g->groups >= 3 && g->nats > CHANCE;
}

static bool some_new(const grouping *g)
{
    return (double)g->fresh >= SHARE * (double)g->asked &&
           (double)g->fresh > 3 + g->expected + 8 * sqrt(g->expected + 1);
}

/* Whether a column may name groups: it repeats, is no measure and no time. */
static bool may_group(const tab_profile *p, const tab_series *s, size_t target, size_t column)
{
    const tab_column_profile *c = &p->col[column];
    for (size_t i = 0; s != NULL && i < s->times; i++)
        if (s->time[i] == column)
            return false;
    bool measure = c->column->layout == TAB_NUMBERS && c->decimals > 0;
    return column != target && c->use != TAB_USE_IGNORE && c->type != TAB_DATETIME && !measure &&
           c->distinct >= 3 && 10 * c->distinct <= 9 * c->present;
}

bool tab_asked_groups(tab_arena *a, const tab_profile *p, const tab_series *s, size_t target,
                      const bool *asked, size_t *ret_column, bool **ret_new_rows)
{
    size_t rows = p->table->rows, cols = p->table->cols, best_groups = SIZE_MAX, any = 0;
    TAB_AUTO(tab_arena) *scratch = tab_arena_new((size_t)8 << 30);
    bool *fresh = tab_arena_new_of(a, bool, rows + 1), best_whole = false;
    *ret_column = cols, *ret_new_rows = fresh;
    if (scratch == NULL || fresh == NULL)
        return false;
    uint32_t *given = tab_arena_new_of(scratch, uint32_t, rows + 1);
    uint32_t *wanted = tab_arena_new_of(scratch, uint32_t, rows + 1);
    tab_ranked ranked;
    if (!tab_ranked_new(scratch, rows, &ranked) || tab_arena_full(scratch))
        return false;
    for (size_t r = 0; r < rows; r++)
        any += asked[r];
    for (size_t c = 0; c < cols && any > 0; c++) {
        size_t n;
        grouping g;
        if (!may_group(p, s, target, c))
            continue;
        const uint32_t *level = levels_of(&p->col[c], rows, &ranked, &n);
        if (level == NULL)
            return false;
        if (n > rows)
            continue;
        measure(level, n, rows, asked, given, wanted, &g);
        bool whole = all_new(&g), part = some_new(&g);
        /* whole before part, then the coarsest */
        bool better = best_groups == SIZE_MAX || (best_whole != whole ? whole : g.groups < best_groups);
        if (!(whole || part) || !better)
            continue;
        best_whole = whole, best_groups = g.groups;
        *ret_column = c;
        for (size_t r = 0; r < rows; r++)
            fresh[r] = asked[r] && level[r] != TAB_NULL && given[level[r]] == 0;
    }
    return true;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

typedef struct {
    size_t column, n;
    const uint32_t *level; /* (rows) 0..n-1, or TAB_NULL */
} named;

/* Words and keys that repeat; numbers that measure make new pairs wherever they drift. */
static bool may_pair(const tab_column_profile *c, size_t rows)
{
    bool words = c->type == TAB_CATEGORICAL || c->type == TAB_TEXT || c->type == TAB_BOOLEAN;
    return (words || c->identifying || c->use == TAB_USE_KEY) && c->distinct >= 2 && 4 * c->distinct <= rows;
}

/* The PAIRED columns with fewest levels, in the table's order where these are as many. False: memory. */
static bool find_named(tab_arena *a, const tab_profile *p, const tab_series *s, size_t target, named *ret,
                       size_t *n)
{
    size_t rows = p->table->rows;
    *n = 0;
    for (size_t c = 0; c < p->table->cols; c++) {
        tab_ranked ranked;
        const tab_column_profile *q = &p->col[c];
        bool timed = false;
        for (size_t i = 0; s != NULL && i < s->times; i++)
            timed = timed || s->time[i] == c;
        if (timed || c == target || q->use == TAB_USE_IGNORE || q->type == TAB_DATETIME || !may_pair(q, rows))
            continue;
        size_t at = *n;
        while (at > 0 && ret[at - 1].n > q->distinct)
            at--;
        if (at == PAIRED)
            continue;
        named own = { .column = c };
        if (q->column->layout != TAB_CODED && !tab_ranked_new(a, rows, &ranked))
            return false;
        own.level = levels_of(q, rows, &ranked, &own.n);
        if (own.level == NULL)
            return false;
        *n += *n < PAIRED;
        memmove(&ret[at + 1], &ret[at], (*n - at - 1) * sizeof *ret);
        ret[at] = own;
    }
    return true;
}

bool tab_asked_pairs(tab_arena *a, const tab_profile *p, const tab_series *s, size_t target,
                     const bool *asked, tab_asked_pair *ret)
{
    size_t rows = p->table->rows, n, most = 4 * rows > CELLS ? 4 * rows : CELLS, best = SIZE_MAX;
    TAB_AUTO(tab_arena) *scratch = tab_arena_new((size_t)8 << 30);
    named of[PAIRED + 1];
    bool best_whole = false;
    *ret = (tab_asked_pair){ .column = { p->table->cols, p->table->cols } };
    if (scratch == NULL || !find_named(scratch, p, s, target, of, &n))
        return false;
    uint32_t *given = tab_arena_new_of(scratch, uint32_t, most + 1);
    uint32_t *wanted = tab_arena_new_of(scratch, uint32_t, most + 1);
    uint32_t *level = tab_arena_new_of(scratch, uint32_t, rows + 1);
    ret->member = tab_arena_new_of(a, uint32_t, rows + 1);
    ret->fresh = tab_arena_new_of(a, bool, rows + 1);
    if (tab_arena_full(scratch) || tab_arena_full(a))
        return false;
    for (size_t i = 0; i < n * n; i++) {
        const named *x = &of[i / n], *y = &of[i % n];
        grouping g;
        if (x >= y || x->n * y->n > most)
            continue;
        for (size_t r = 0; r < rows; r++)
            level[r] = x->level[r] == TAB_NULL || y->level[r] == TAB_NULL
                           ? TAB_NULL
                           : (uint32_t)(x->level[r] * y->n + y->level[r]);
        measure(level, x->n * y->n, rows, asked, given, wanted, &g);
        bool whole = all_new(&g);
        bool better = best == SIZE_MAX || (best_whole != whole ? whole : g.groups < best);
        if (!(whole || some_new(&g)) || !better)
            continue;
        best_whole = whole, best = g.groups;
        ret->column[0] = x->column, ret->column[1] = y->column;
        memcpy(ret->member, level, rows * sizeof *level);
        for (size_t r = 0; r < rows; r++)
            ret->fresh[r] = asked[r] && level[r] != TAB_NULL && given[level[r]] == 0;
    }
    return true;
}
