/* Rows of a way in order of time: decision 0282. */
#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/relational/parts.h"

typedef struct {
    uint32_t group, row;
    double time;
} entry;

/* Rows without a time come last. */
static int by_time(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    bool xt = !isnan(x->time), yt = !isnan(y->time);
    if (xt != yt)
        return xt ? -1 : 1;
    if (xt && x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* The number of a key's group, which is new where there is none. */
static uint32_t group_new(tab_way *w, uint64_t key)
{
    size_t at = tab_place(key) & (w->slots - 1);
    while (w->slot[at] != 0 && w->key[w->slot[at] - 1] != key)
        at = (at + 1) & (w->slots - 1);
    if (w->slot[at] == 0) {
        w->key[w->groups] = key;
        w->slot[at] = (uint32_t)++w->groups;
    }
    return w->slot[at] - 1;
}

const double *tab_link_clock(const tab_links *l, size_t table)
{
    size_t c = l->clock[table];
    return c < l->p[table]->table->cols ? l->p[table]->col[c].number : NULL;
}

/* Group and time of each leaf row that has a key; returns their number. A row's time is its own, or its
 * parent's. */
static size_t list_rows(const tab_links *l, tab_way *w, entry *x)
{
    const tab_hop *first = &w->hop[w->ups], *second = w->downs > 1 ? first + 1 : NULL;
    size_t rows = l->p[tab_way_leaf(w)]->table->rows, n = 0;
    const double *own = tab_link_clock(l, tab_way_leaf(w)), *above = tab_link_clock(l, first->to->table);
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t child = second == NULL ? r : tab_keyed_row(second->from, second->to->hash[r]);
        uint64_t key = child == TAB_NULL ? 0 : first->to->hash[child];
        if (key == 0)
            continue;
        double time = own != NULL ? own[r] : above != NULL ? above[child] : (double)NAN;
        x[n++] = (entry){ group_new(w, key), r, time };
    }
    return n;
}

/* The row at the side of each leaf row. */
static bool find_sides(tab_arena *a, const tab_links *l, tab_way *w)
{
    if (w->sides == 0)
        return true;
    const tab_hop *h = &w->hop[w->ups + w->downs];
    size_t rows = l->p[tab_way_leaf(w)]->table->rows;
    w->side = tab_arena_new_of(a, uint32_t, rows + 1);
    for (size_t r = 0; w->side != NULL && r < rows; r++)
        w->side[r] = tab_keyed_row(h->to, h->from->hash[r]);
    return w->side != NULL;
}

bool tab_way_group_rows(tab_arena *a, const tab_links *l, tab_way *w)
{
    size_t rows = l->p[tab_way_leaf(w)]->table->rows;
    const double *time = tab_link_clock(l, tab_way_leaf(w));
    for (size_t r = 0; time != NULL && r < rows; r++)
        if (!isnan(time[r]))
            w->now = w->now == 0 ? time[r] : fmax(w->now, time[r]);
    if (w->downs == 0)
        return true;
    bool timed = time != NULL || tab_link_clock(l, w->hop[w->ups].to->table) != NULL;
    entry *x = malloc((rows + 1) * sizeof *x);
    for (w->slots = 16; w->slots < 2 * rows; w->slots *= 2)
        ;
    w->key = tab_arena_new_of(a, uint64_t, rows + 1);
    w->slot = tab_arena_new_of(a, uint32_t, w->slots);
    w->leaf = tab_arena_new_of(a, uint32_t, rows + 1);
    w->time = timed ? tab_arena_new_of(a, double, rows + 1) : NULL;
    bool ok = x != NULL && !tab_arena_full(a) && find_sides(a, l, w);
    size_t n = ok ? list_rows(l, w, x) : 0;
    w->at = ok ? tab_arena_new_of(a, uint32_t, w->groups + 2) : NULL;
    ok = ok && w->at != NULL;
    if (ok && n > 0)
        qsort(x, n, sizeof *x, by_time);
    for (size_t i = 0; ok && i < n; i++) {
        w->leaf[i] = x[i].row;
        w->at[x[i].group + 1] = (uint32_t)i + 1;
        if (timed) {
            w->time[i] = x[i].time;
            w->now = isnan(x[i].time) ? w->now : w->now == 0 ? x[i].time : fmax(w->now, x[i].time);
        }
    }
    free(x);
    return ok;
}
