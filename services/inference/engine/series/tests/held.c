/* See held.h. */
#include "services/inference/engine/series/tests/held.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/files/csv/csv.h"

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool named(const tab_table *t, size_t column, const char *name)
{
    return name != NULL && tab_str_eq(t->col[column].name, tab_str_of(name));
}

static bool columns_right(const made_table *m, const tab_table *t, const tab_series *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->times; i++)
        for (size_t k = 0; k < m->times; k++)
            n += named(t, s->time[i], m->time[k]);
    return n == m->times && s->times == m->times;
}

static bool keys_right(const made_table *m, const tab_table *t, const tab_series *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->keys; i++)
        for (size_t k = 0; k < m->keys; k++)
            n += named(t, s->key[i], m->key[k]) || named(t, s->key[i], m->or_key[k]);
    return n == m->keys && s->keys == m->keys;
}

/* Nine in ten asked rows lie where they were put. */
static bool places_right(const made_table *m, const tab_row_place *place, const bool *asked, size_t rows)
{
    size_t n = 0, after = 0, fresh = 0;
    for (size_t r = 0; r < rows; r++)
        if (asked[r])
            n++, after += place[r].relation == TAB_PLACE_AFTER && place[r].ahead > 0,
                fresh += place[r].new_series;
    if (n == 0)
        return true;
    return m->after ? 10 * after >= 9 * n : m->fresh ? fresh == n : 2 * after < n && 10 * fresh < n;
}

static void describe(const tab_table *t, const tab_series *s, const made_table *m, held *h)
{
    int n = snprintf(h->said, sizeof h->said, "kind %d", (int)s->kind);
    for (size_t i = 0; i < s->times; i++)
        n += snprintf(h->said + n, sizeof h->said - (size_t)n, " %.12s", t->col[s->time[i]].name.p);
    n += snprintf(h->said + n, sizeof h->said - (size_t)n, " by");
    for (size_t i = 0; i < s->keys; i++)
        n += snprintf(h->said + n, sizeof h->said - (size_t)n, " %.12s", t->col[s->key[i]].name.p);
    n += snprintf(h->said + n, sizeof h->said - (size_t)n, " unit %d step %g season", (int)s->unit, s->step);
    for (size_t i = 0; i < s->seasons; i++)
        n += snprintf(h->said + n, sizeof h->said - (size_t)n, " %g", s->season[i]);
    n += snprintf(h->said + n, sizeof h->said - (size_t)n,
                  "; known: %d %zu columns %zu keys unit %d step %g season %g,", (int)m->kind, m->times,
                  m->keys, (int)m->unit, m->step, m->season);
    for (size_t k = 0; k < HELD_PARTS; k++)
        n += snprintf(h->said + n, sizeof h->said - (size_t)n, " %d", h->is[k]);
}

bool hold_series(const made_table *m, held *h)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    tab_engine e = { .arena = a };
    const tab_table *t = NULL;
    tab_csv_notes notes;
    tab_profile *p = NULL;
    tab_error err = { 0 };
    tab_series s;
    tab_row_place *place;
    *h = (held){ 0 };
    if (a == NULL || tab_csv_read(a, (tab_str){ m->text, m->n }, TAB_S("t"), &t, &notes, &err) != TAB_OK ||
        tab_profile_table(&e, t, &p, &err) != TAB_OK)
        return false;
    size_t target = t->cols - 1;
    bool *asked = tab_arena_new_of(a, bool, t->rows + 1);
    for (size_t r = 0; r < t->rows; r++)
        asked[r] = tab_cell_at(&t->col[target], r).kind == TAB_CELL_NULL;
    double began = cpu();
    if (tab_series_find(a, p, target, asked, &s, &err) != TAB_OK ||
        !tab_series_place(a, &s, t->rows, asked, &place))
        return false;
    h->seconds = cpu() - began;
    bool none = m->kind == TAB_TIME_NONE;
    h->is[HELD_KIND] = s.kind == m->kind;
    h->is[HELD_COLUMNS] = columns_right(m, t, &s);
    h->is[HELD_KEYS] = keys_right(m, t, &s);
    h->is[HELD_STEP] =
        none || !(m->step > 0) || (s.unit == m->unit && fabs(s.step - m->step) < 1e-6 * m->step);
    h->is[HELD_SEASON] = none || !(m->season > 0);
    for (size_t i = 0; i < s.seasons; i++)
        h->is[HELD_SEASON] = h->is[HELD_SEASON] || s.season[i] == m->season; // NOLINT: the very period
    h->is[HELD_PLACE] = none || places_right(m, place, asked, t->rows);
    h->right = true;
    for (size_t k = 0; k < HELD_PARTS; k++)
        h->right = h->right && h->is[k];
    describe(t, &s, m, h);
    return true;
}
