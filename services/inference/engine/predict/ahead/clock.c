/* See clock.h; beyond.c and later.c ask. */
#include "services/inference/engine/predict/ahead/clock.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/features/units.h"
#include "services/inference/engine/predict/asked/arrange.h"

static int by_key(const void *a, const void *b)
{
    const tab_clock_key *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* The key of row r by the columns that name series; 0: one of them is missing. */
static uint64_t key_of(const tab_series *s, const tab_values *values, size_t r)
{
    uint64_t key = 0x5e;
    for (size_t k = 0; k < s->keys; k++) {
        uint64_t own = tab_units_key(&values[s->key[k]], r);
        if (own == 0)
            return 0;
        key = tab_mix2(key, own);
    }
    return key;
}

bool tab_clock_fit(tab_arena *a, const tab_profile *p, const tab_asked *asked, tab_clock *ret)
{
    const tab_series *s = &asked->series;
    size_t rows = p->table->rows;
    *ret = (tab_clock){ .first = INFINITY, .last = -INFINITY };
    if (!asked->timed || tab_times_told(asked, rows) == NULL)
        return true;
    tab_values *values = tab_arena_new_of(a, tab_values, p->table->cols + 1);
    bool *seen = tab_arena_new_of(a, bool, s->n + 1);
    ret->key = tab_arena_new_of(a, tab_clock_key, s->n + 1);
    if (tab_arena_full(a))
        return false;
    for (size_t c = 0; c < p->table->cols; c++)
        values[c] = tab_values_of(&p->col[c]);
    for (size_t r = 0; r < rows; r++) {
        bool known = asked->open == NULL || !asked->open[r];
        if (known && !isnan(s->when[r]))
            ret->first = fmin(ret->first, s->when[r]), ret->last = fmax(ret->last, s->when[r]);
        if (s->series[r] != TAB_NULL && !seen[s->series[r]]) {
            seen[s->series[r]] = true;
            ret->key[ret->keys++] = (tab_clock_key){ key_of(s, values, r), s->series[r] };
        }
    }
    qsort(ret->key, ret->keys, sizeof *ret->key, by_key);
    if (ret->last > ret->first)
        ret->s = s;
    return true;
}

double tab_clock_when(const tab_clock *c, const tab_values *values, size_t r)
{
    double cell[TAB_TIME_COLUMNS];
    for (size_t k = 0; k < c->s->times; k++) {
        const tab_values *v = &values[c->s->time[k]];
        bool coded = v->code != NULL && v->code[r] != TAB_NULL && v->level != NULL;
        cell[k] = tab_series_cell(c->s, k, v->number == NULL ? (double)NAN : v->number[r],
                                  coded ? v->level[v->code[r]] : (tab_str){ NULL, 0 });
    }
    return tab_series_when(c->s, cell);
}

uint32_t tab_clock_series(const tab_clock *c, const tab_values *values, size_t r)
{
    tab_clock_key own = { key_of(c->s, values, r), 0 };
    const tab_clock_key *at = own.key == 0 ? NULL : bsearch(&own, c->key, c->keys, sizeof own, by_key);
    return at == NULL ? TAB_NULL : at->series;
}
