/* See regime.h; fitted.c asks before anything is kept apart. */
#include "services/inference/engine/predict/asked/regime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/order.h"

const char *const tab_regime_names[TAB_REGIMES] = { "alike", "later", "new_group", "out_of_range" };

/* Rows that come after their own series' labelled rows: from this share of the asked on, that is what was
 * asked for. */
static const double ONWARDS = 0.9;
/* The share of the asked rows from which on they come later. */
static const double MOSTLY = 0.5;

/* ---- groups ---------------------------------------------------------------------------------- */

uint32_t *tab_group_values(tab_arena *a, const tab_column_profile *c, size_t rows)
{
    const tab_column *col = c->column;
    uint32_t *of = tab_arena_new_of(a, uint32_t, rows + 1);
    if (of == NULL)
        return NULL;
    if (c->code != NULL) {
        memcpy(of, c->code, rows * sizeof *of);
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
    return of;
}

/* Marks the asked rows of groups that no labelled row is of, by the column of the table's own that has
 * them. */
static bool mark_new(tab_arena *a, const tab_profile *p, size_t target, size_t own, const bool *asked,
                     tab_asked *ret)
{
    size_t rows = p->table->rows, column = own;
    bool *fresh = NULL;
    if (!tab_asked_groups(a, p, &ret->series, target, asked, &column, &fresh))
        return false;
    if (column >= own)
        return true;
    ret->group = column;
    ret->member = tab_group_values(a, &p->col[column], rows);
    for (size_t r = 0; r < rows; r++)
        if (fresh[r])
            ret->of[r] = TAB_REGIME_NEW_GROUP;
    return ret->member != NULL;
}

/* Marks asked rows of pairs of known levels that no labelled row has; the pairs are the groups then. */
static bool mark_pairs(tab_arena *a, const tab_profile *p, size_t target, size_t own, const bool *asked,
                       tab_asked *ret)
{
    size_t rows = p->table->rows;
    tab_asked_pair pair;
    if (!tab_asked_pairs(a, p, &ret->series, target, asked, &pair))
        return false;
    if (pair.column[0] >= own || pair.column[1] >= own)
        return true;
    ret->group = pair.column[0], ret->with = pair.column[1];
    ret->member = pair.member;
    for (size_t r = 0; r < rows; r++)
        if (pair.fresh[r] && ret->of[r] == TAB_REGIME_ALIKE)
            ret->of[r] = TAB_REGIME_NEW_GROUP;
    return true;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Marks the asked rows after all labelled ones. Where nearly all come after those of their own series,
 * which end at other times, each is later than these. */
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

/* Time the other way round. */
static int64_t turn(size_t rows, tab_series *s)
{
    int64_t most = 0;
    for (size_t r = 0; r < rows; r++)
        most = s->index[r] > most ? s->index[r] : most;
    for (size_t r = 0; r < rows; r++) {
        s->when[r] = -s->when[r];
        s->index[r] = s->index[r] == INT64_MIN ? INT64_MIN : most - s->index[r];
    }
    return most;
}

bool tab_regime_turn(size_t rows, tab_asked *ret)
{
    uint8_t *of = ret->of, *turned = calloc(rows + 1, sizeof *turned);
    double last = ret->last;
    size_t n[TAB_REGIMES] = { 0 };
    if (turned == NULL)
        return false;
    if (ret->timed && ret->asked < rows && 2 * ret->rows[TAB_REGIME_ALIKE] > ret->asked) {
        ret->mirror = turn(rows, &ret->series);
        memcpy(turned, of, rows * sizeof *of);
        ret->of = turned;
        ret->turned = mark_later(rows, ret->open, ret);
        ret->of = of;
        for (size_t r = 0; r < rows; r++)
            n[turned[r]] += ret->open[r];
        ret->turned = ret->turned && 2 * (n[TAB_REGIME_LATER] - ret->rows[TAB_REGIME_LATER]) > ret->asked;
        if (ret->turned) {
            memcpy(of, turned, rows * sizeof *of);
            memcpy(ret->rows, n, sizeof n);
        } else {
            turn(rows, &ret->series);
            ret->last = last;
        }
    }
    free(turned);
    return true;
}

bool tab_regime_turned(tab_arena *a, size_t rows, const tab_asked *of, tab_asked *ret)
{
    *ret = *of;
    ret->turned = !of->turned;
    ret->series.when = tab_arena_new_of(a, double, rows + 1);
    ret->series.index = tab_arena_new_of(a, int64_t, rows + 1);
    ret->of = tab_arena_new_of(a, uint8_t, rows + 1); /* TAB_REGIME_ALIKE */
    if (tab_arena_full(a))
        return false;
    memcpy(ret->series.when, of->series.when, rows * sizeof *ret->series.when);
    memcpy(ret->series.index, of->series.index, rows * sizeof *ret->series.index);
    ret->mirror = turn(rows, &ret->series);
    return true;
}

tab_status tab_regime_find(tab_arena *a, const tab_profile *p, size_t target, size_t own, const bool *asked,
                           tab_asked *ret, tab_error *err)
{
    size_t rows = p->table->rows;
    *ret = (tab_asked){ .open = asked,
                        .group = p->table->cols,
                        .with = p->table->cols,
                        .of = tab_arena_new_of(a, uint8_t, rows + 1) };
    if (ret->of == NULL)
        return tab_no_memory(err);
    for (size_t r = 0; r < rows; r++)
        ret->asked += asked[r];
    TAB_TRY(tab_series_find(a, p, target, asked, &ret->series, err));
    ret->timed = ret->series.kind != TAB_TIME_NONE;
    bool any = ret->asked > 0 && ret->asked < rows;
    if (any && !mark_new(a, p, target, own, asked, ret))
        return tab_no_memory(err);
    if (any && ret->timed && !mark_later(rows, asked, ret))
        return tab_no_memory(err);
    for (size_t r = 0; r < rows; r++)
        ret->rows[ret->of[r]] += asked[r];
    if (any && ret->member == NULL && 2 * ret->rows[TAB_REGIME_LATER] < ret->asked) {
        if (!mark_pairs(a, p, target, own, asked, ret))
            return tab_no_memory(err);
        memset(ret->rows, 0, sizeof ret->rows);
        for (size_t r = 0; r < rows; r++)
            ret->rows[ret->of[r]] += asked[r];
    }
    return TAB_OK;
}

tab_status tab_regime_mostly_later(const tab_profile *p, size_t target, const bool *asked, bool *ret,
                                   tab_error *err)
{
    TAB_AUTO(tab_arena) *scratch = tab_arena_new(SIZE_MAX / 2);
    tab_asked how;
    if (scratch == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_regime_find(scratch, p, target, p->table->cols, asked, &how, err));
    *ret = (double)how.rows[TAB_REGIME_LATER] > MOSTLY * (double)how.asked;
    return TAB_OK;
}
