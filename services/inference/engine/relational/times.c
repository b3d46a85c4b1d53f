/* Rows of a way in order of time, and which dates of the target's table they are held against: decision
 * 0282. */
#include <math.h>
#include <stdlib.h>

#include "common/hash.h"
#include "services/inference/engine/relational/parts.h"

enum { ASKED_ROWS = 2000, ASKED_EACH = 64 }; /* how many are looked at for what dates say */
static const double FEW = 0.05;              /* of rows before a date: it says when something began */

/* ---- groups ---------------------------------------------------------------------------------- */

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

static const double *clock_of(const tab_links *l, size_t table)
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
    const double *own = clock_of(l, tab_way_leaf(w)), *above = clock_of(l, first->to->table);
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
    const double *time = clock_of(l, tab_way_leaf(w));
    for (size_t r = 0; time != NULL && r < rows; r++)
        if (!isnan(time[r]))
            w->now = w->now == 0 ? time[r] : fmax(w->now, time[r]);
    if (w->downs == 0)
        return true;
    bool timed = time != NULL || clock_of(l, w->hop[w->ups].to->table) != NULL;
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

/* ---- dates ----------------------------------------------------------------------------------- */

/* How many of the rows that are linked with the target's row are before `date`; *of: how many were asked. */
static size_t before(const tab_links *l, const tab_way *w, uint64_t key, double date, size_t *of)
{
    size_t n = 0;
    if (w->downs == 0) {
        uint32_t row = tab_way_row(w, key);
        double time = row == TAB_NULL ? (double)NAN : clock_of(l, tab_way_end(w))[row];
        *of += !isnan(time);
        return time <= date;
    }
    uint32_t g = tab_way_group(w, tab_way_key(w, key));
    if (g == TAB_NULL)
        return 0;
    size_t many = w->at[g + 1] - w->at[g], each = many < ASKED_EACH ? many : ASKED_EACH;
    for (size_t i = 0; i < each; i++) {
        double time = w->time[w->at[g] + i * many / each];
        *of += !isnan(time);
        n += time < date;
    }
    return n;
}

/* Share of what is linked that is before the dates of column c. */
static double share_before(const tab_links *l, const tab_way *w, size_t c)
{
    const tab_profile *p = l->p[l->table];
    size_t rows = p->table->rows, step = rows / ASKED_ROWS + 1, n = 0, of = 0;
    for (size_t i = 0; i < rows; i += step)
        if (!isnan(p->col[c].number[i]))
            n += before(l, w, w->hop[0].from->hash[i], p->col[c].number[i], &of);
    return of == 0 ? 1 : (double)n / (double)of;
}

bool tab_way_cut(tab_arena *a, const tab_links *l, tab_way *w)
{
    const tab_profile *p = l->p[l->table];
    bool timed = w->downs > 0 ? w->time != NULL : clock_of(l, tab_way_end(w)) != NULL;
    w->dates = tab_arena_new_of(a, bool, p->table->cols + 1);
    if (w->dates == NULL)
        return false;
    size_t dates = 0, late = 0; /* with rows before them */
    for (size_t c = 0; timed && c < p->table->cols; c++)
        if (c != l->target && tab_link_dated(&p->col[c])) {
            w->dates[c] = true;
            dates++;
            late += share_before(l, w, c) >= FEW;
        }
    /* dates that all that is linked comes after say when the row began, where another date is its time or
     * where the table is of things that others happen to */
    for (size_t c = 0; dates > 0 && (late > 0 || (l->entity && w->ups == 0)) && c < p->table->cols; c++)
        if (w->dates[c] && share_before(l, w, c) < FEW) {
            w->dates[c] = false;
            dates--;
        }
    w->cut = dates > 0;
    return true;
}
