/* See expectations.h: which rows of a step are judged. */
#include <stdlib.h>

#include "services/data-connector/expectations/expectations.h"

/* Rows that came, by their numbers. NULL: the arena is full. */
static uint32_t *came(tab_arena *a, const row_changes *list, size_t *ret_n)
{
    uint32_t *rows = tab_arena_new_of(a, uint32_t, list->n + 1);
    *ret_n = 0;
    for (size_t i = 0; rows != NULL && i < list->n; i++)
        if (list->row[i].kind == ROW_ADDED)
            rows[(*ret_n)++] = list->row[i].after;
    return rows;
}

static bool said(const expectations *of, const expectation *e)
{
    for (size_t i = 0; i < of->n_changed; i++) {
        const expectation *x = &of->changed[i];
        if (strcmp(x->kind, e->kind) == 0 && tab_str_eq(x->column, e->column) && tab_str_eq(x->with, e->with))
            return true;
    }
    return false;
}

static int by_p(const void *x, const void *y)
{
    const expectation *a = x, *b = y;
    return a->weighed != b->weighed ? (a->weighed < b->weighed ? -1 : 1) : (a > b) - (a < b);
}

static tab_status join(tab_arena *a, const expectations *more, expectations *ret, tab_error *err)
{
    expectation *of = tab_arena_new_of(a, expectation, ret->n_changed + more->n_changed + 1);
    if (of == NULL)
        return tab_no_memory(err);
    if (ret->n_changed > 0)
        memcpy(of, ret->changed, ret->n_changed * sizeof *of);
    ret->changed = of;
    ret->checks += more->checks;
    for (size_t i = 0; i < more->n_changed; i++)
        if (!said(ret, &more->changed[i]))
            of[ret->n_changed++] = more->changed[i];
    if (ret->n_changed > 0)
        qsort(of, ret->n_changed, sizeof *of, by_p);
    ret->n_changed = ret->n_changed < EXPECT_SAID ? ret->n_changed : EXPECT_SAID;
    return TAB_OK;
}

tab_status expectations_step(tab_arena *a, const expectations_case *c, const row_diff *d,
                             const row_changes *rows, expectations *ret, tab_error *err)
{
    bool appended = d->removed == 0 && d->unchanged + d->changed > 0 && d->added > 0;
    bool whole =
        d->removed > 0 || d->changed > 0 || (d->added > 0 && !appended) || d->n_removed > 0 || d->n_types > 0;
    expectations_case mine = *c;
    expectations more;
    *ret = (expectations){ 0 };
    mine.share = appended && whole ? 0.5 : 1;
    if (whole)
        TAB_TRY(expectations_judge(a, &mine, ret, err));
    if (!appended)
        return TAB_OK;
    mine.appended = true;
    mine.n_counts = whole ? 0 : mine.n_counts;
    if ((mine.rows = came(a, rows, &mine.n_rows)) == NULL)
        return tab_no_memory(err);
    TAB_TRY(expectations_judge(a, &mine, &more, err));
    ret->rows = whole ? ret->rows : more.rows;
    return join(a, &more, ret, err);
}
