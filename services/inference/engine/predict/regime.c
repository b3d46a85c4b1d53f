/* See regime.h; fitted.c asks before anything is kept apart. */
#include "services/inference/engine/predict/regime.h"

#include <math.h>
#include <stdlib.h>

#include "common/order.h"

const char *const tab_regime_names[TAB_REGIMES] = { "alike", "later", "new_group", "out_of_range" };

/* LEAST_GROUPS: labelled groups from which on a column groups rows. */
enum { LEAST_GROUPS = 3, MOST_GROUPS = 1 << 20 };
/* So many standard deviations more unseen groups than rows drawn at random would have are no chance; and the
 * share of the asked rows in them from which a column counts beside the one that has most. */
static const double BEYOND = 4, NEARLY = 0.9;
/* Rows that come after their own series' labelled rows: from this share of the asked on, that is what was
 * asked for. */
static const double ONWARDS = 0.9;

/* ---- groups ---------------------------------------------------------------------------------- */

/* The value of each row as a number 0..n-1, TAB_NULL where there is none. NULL: not a column of groups, or
 * memory. */
static uint32_t *values_of(tab_arena *a, const tab_column_profile *c, size_t rows, size_t *ret_n)
{
    const tab_column *col = c->column;
    uint32_t *of = tab_arena_new_of(a, uint32_t, rows + 1);
    if (of == NULL)
        return NULL;
    if (c->code != NULL) {
        memcpy(of, c->code, rows * sizeof *of);
        *ret_n = c->levels;
        return of;
    }
    if (col->layout != TAB_NUMBERS)
        return NULL;
    double *sorted = malloc((rows + 1) * sizeof *sorted);
    size_t n = 0, distinct = 0;
    for (size_t r = 0; sorted != NULL && r < rows; r++)
        if (!isnan(col->num[r]))
            sorted[n++] = col->num[r];
    if (sorted == NULL)
        return NULL;
    qsort(sorted, n, sizeof *sorted, tab_ascending_double);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] > sorted[i - 1])
            sorted[distinct++] = sorted[i];
    for (size_t r = 0; r < rows; r++) {
        const double *at = isnan(col->num[r]) ? NULL
                                              : bsearch(&col->num[r], sorted, distinct, sizeof *sorted,
                                                        tab_ascending_double);
        of[r] = at == NULL ? TAB_NULL : (uint32_t)(at - sorted);
    }
    free(sorted);
    *ret_n = distinct;
    return of;
}

/* Whether a column may name groups of rows at all: its values repeat and are no measurement. */
static bool may_group(const tab_column_profile *c)
{
    bool whole = c->type != TAB_NUMERIC || c->decimals == 0;
    return c->type != TAB_DATETIME && c->type != TAB_BOOLEAN && whole && c->use != TAB_USE_IGNORE &&
           c->present > 0 && 3 * c->distinct <= 2 * c->present;
}

/* A column's groups. */
typedef struct {
    size_t groups, fresh;    /* labelled; asked without a labelled row */
    size_t unseen;           /* asked rows of the fresh ones */
    double expected, spread; /* of unseen, were the asked rows drawn at random */
} grouping;

/* Of a group of k rows all are drawn with the chance (asked / rows)^k, if the draw is at random. */
static bool count_groups(const uint32_t *of, size_t n, size_t rows, const bool *asked, grouping *ret)
{
    size_t *all = calloc(n + 1, sizeof *all), *open = calloc(n + 1, sizeof *open), present = 0, missing = 0;
    bool ok = all != NULL && open != NULL;
    *ret = (grouping){ 0 };
    for (size_t r = 0; ok && r < rows; r++)
        if (of[r] != TAB_NULL) {
            all[of[r]]++, present++;
            open[of[r]] += asked[r], missing += asked[r];
        }
    double share = present > 0 ? (double)missing / (double)present : 0, square = 0;
    for (size_t g = 0; ok && g < n; g++) {
        double whole = pow(share, (double)all[g]), size = (double)all[g];
        ret->groups += all[g] > open[g];
        ret->fresh += all[g] > 0 && all[g] == open[g];
        ret->unseen += all[g] == open[g] ? all[g] : 0;
        ret->expected += size * whole;
        square += size * size * whole * (1 - whole);
    }
    ret->spread = sqrt(square);
    free(all), free(open);
    return ok;
}

/* The column whose new groups say most of the asked rows: the one that has most of them in new groups, and of
 * those that have nearly as many the one of fewest groups, as the groups of the others lie within its own. */
static bool find_group(tab_arena *a, const tab_profile *p, size_t target, size_t own, const bool *asked,
                       tab_asked *ret)
{
    size_t rows = p->table->rows, most = 0;
    grouping *g = calloc(own + 1, sizeof *g);
    TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)2 << 30);
    bool ok = g != NULL && work != NULL;
    for (size_t c = 0; ok && c < own; c++) {
        bool time = false;
        size_t n = 0;
        for (size_t k = 0; k < ret->series.times; k++)
            time = time || ret->series.time[k] == c;
        if (c == target || time || !may_group(&p->col[c]))
            continue;
        const uint32_t *of = values_of(work, &p->col[c], rows, &n);
        if (of == NULL || n > MOST_GROUPS)
            continue;
        ok = count_groups(of, n, rows, asked, &g[c]);
        bool chance = (double)g[c].unseen <= g[c].expected + BEYOND * g[c].spread + 1;
        if (chance || g[c].groups < LEAST_GROUPS)
            g[c].unseen = 0;
        most = g[c].unseen > most ? g[c].unseen : most;
    }
    ret->group = p->table->cols;
    for (size_t c = 0; ok && most > 0 && c < own; c++) {
        bool near = (double)g[c].unseen >= NEARLY * (double)most;
        if (near && (ret->group == p->table->cols || g[c].groups < g[ret->group].groups))
            ret->group = c;
    }
    if (ok && ret->group < own) {
        size_t n = 0;
        ret->groups = g[ret->group].groups;
        ret->new_groups = g[ret->group].fresh;
        ret->member = values_of(a, &p->col[ret->group], rows, &n);
        ok = ret->member != NULL;
    }
    free(g);
    return ok;
}

/* Marks the asked rows of groups that no labelled row is of. */
static bool mark_new(size_t rows, const bool *asked, tab_asked *ret)
{
    uint32_t most = 0;
    for (size_t r = 0; ret->member != NULL && r < rows; r++)
        most = ret->member[r] != TAB_NULL && ret->member[r] > most ? ret->member[r] : most;
    bool *known = calloc((size_t)most + 1, sizeof *known);
    for (size_t r = 0; known != NULL && ret->member != NULL && r < rows; r++)
        if (!asked[r] && ret->member[r] != TAB_NULL)
            known[ret->member[r]] = true;
    for (size_t r = 0; known != NULL && ret->member != NULL && r < rows; r++)
        if (asked[r] && ret->member[r] != TAB_NULL && !known[ret->member[r]])
            ret->of[r] = TAB_REGIME_NEW_GROUP;
    bool ok = known != NULL;
    free(known);
    return ok;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Marks the asked rows after all labelled ones. Where nearly all come after those of their own series, which
 * end at other times, each is later than these. */
static bool mark_later(size_t rows, const bool *asked, tab_asked *ret)
{
    const tab_series *s = &ret->series;
    double *last = malloc((s->n + 1) * sizeof *last);
    size_t onwards = 0;
    if (last == NULL)
        return false;
    ret->last = -INFINITY;
    for (size_t k = 0; k <= s->n; k++)
        last[k] = -INFINITY;
    for (size_t r = 0; r < rows; r++)
        if (!asked[r] && !isnan(s->when[r])) {
            ret->last = fmax(ret->last, s->when[r]);
            if (s->series[r] != TAB_NULL)
                last[s->series[r]] = fmax(last[s->series[r]], s->when[r]);
        }
    for (size_t r = 0; r < rows; r++)
        onwards += asked[r] && s->series[r] != TAB_NULL && isfinite(last[s->series[r]]) &&
                   s->when[r] > last[s->series[r]];
    bool each = (double)onwards >= ONWARDS * (double)ret->asked;
    for (size_t r = 0; r < rows; r++) {
        if (!asked[r] || isnan(s->when[r]))
            continue;
        bool own = each && s->series[r] != TAB_NULL && s->when[r] > last[s->series[r]];
        if (own || s->when[r] > ret->last)
            ret->of[r] = TAB_REGIME_LATER;
    }
    free(last);
    return true;
}

tab_status tab_regime_find(tab_arena *a, const tab_profile *p, size_t target, size_t own, const bool *asked,
                           tab_asked *ret, tab_error *err)
{
    size_t rows = p->table->rows;
    *ret = (tab_asked){ .group = p->table->cols, .of = tab_arena_new_of(a, uint8_t, rows + 1) };
    if (ret->of == NULL)
        return tab_no_memory(err);
    for (size_t r = 0; r < rows; r++)
        ret->asked += asked[r];
    TAB_TRY(tab_series_find(a, p, target, asked, &ret->series, err));
    ret->timed = ret->series.kind != TAB_TIME_NONE;
    bool any = ret->asked > 0 && ret->asked < rows;
    if (any && (!find_group(a, p, target, own, asked, ret) || !mark_new(rows, asked, ret)))
        return tab_no_memory(err);
    if (any && ret->timed && !mark_later(rows, asked, ret))
        return tab_no_memory(err);
    for (size_t r = 0; r < rows; r++)
        ret->rows[ret->of[r]] += asked[r];
    return TAB_OK;
}
