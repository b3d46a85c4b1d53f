/* Cells that are written as the dates of their column and are none: a month of 13, the 30th of February. A
 * date that nobody could read is no number and no odd form, so no other finder sees it. One that stands more
 * often is somebody's mark for "not known". Decision 0721. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/suspects/parts.h"

enum { REPEATED = 2 };
static const double MOST_NONE = 0.05, ODDS = 30;

static int by_form(const void *a, const void *b)
{
    const tab_formed *x = a, *y = b;
    return x->form != y->form ? (x->form > y->form) - (x->form < y->form)
                              : (x->level > y->level) - (x->level < y->level);
}

/* How many of the cells of f (n, by form) have this one. */
static size_t cells_of(const tab_seen *v, const tab_formed *f, size_t n, uint64_t form)
{
    size_t from = 0, to = n, cells = 0;
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (f[mid].form < form)
            from = mid + 1;
        else
            to = mid;
    }
    for (; from < n && f[from].form == form && cells < TAB_SUSPECT_ROWS; from++)
        cells += v->count[f[from].level];
    return cells;
}

static void doubt(tab_search *s, size_t column, const tab_formed *f, size_t n, size_t dates)
{
    const tab_seen *v = &s->seen[column];
    for (size_t i = 0; i < s->rows; i++) {
        uint32_t l = v->code[i];
        if (l == TAB_NULL || isfinite(v->num[i]) || v->count[l] > REPEATED ||
            cells_of(v, f, n, tab_suspects_form(v->text[l], true)) < TAB_SUSPECT_ROWS)
            continue;
        tab_suspect *c = tab_suspects_add(s, i, column, TAB_SUSPECT_CALENDAR);
        if (c == NULL)
            return;
        c->f[0] = (float)log(ODDS);
        c->other = UINT32_MAX;
        c->agree = (uint32_t)dates;
        c->of = (uint32_t)v->present;
    }
}

/* False: memory ran out. */
static bool of_column(tab_search *s, size_t column)
{
    const tab_seen *v = &s->seen[column];
    tab_formed *f = tab_arena_new_of(s->scratch, tab_formed, v->levels + 1);
    bool *is_date = tab_arena_new_of(s->scratch, bool, v->levels + 1);
    size_t dates = 0, n = 0;
    if (f == NULL || is_date == NULL)
        return false;
    for (size_t i = 0; i < s->rows; i++)
        if (v->code[i] != TAB_NULL && isfinite(v->num[i]))
            is_date[v->code[i]] = true, dates++;
    if (dates < TAB_SUSPECT_ROWS || dates == v->present ||
        (double)(v->present - dates) > MOST_NONE * (double)v->present)
        return true;
    for (size_t l = 0; l < v->levels; l++)
        if (is_date[l])
            f[n++] = (tab_formed){ tab_suspects_form(v->text[l], true), (uint32_t)l };
    qsort(f, n, sizeof *f, by_form);
    doubt(s, column, f, n, dates);
    return true;
}

void tab_suspects_calendar(tab_search *s)
{
    for (size_t c = 0; c < s->p->table->cols && !s->failed && !tab_engine_cancelled(s->e); c++) {
        const tab_seen *v = &s->seen[c];
        if (v->col->type == TAB_DATETIME && v->num != NULL && v->code != NULL)
            s->failed = !of_column(s, c);
    }
}
