/* Cells that hold several values with a sign between them (see stages.h): "red;blue", "Action|Comedy".
 *
 * One cell alone does not say that it is a list: "Lyon, France" and "Smith, John" look alike. All together
 * do: the items are few and come back, in one cell first and in another behind others; a town and its country
 * never change places. */
#include "common/base/hash.h"
#include "services/inference/engine/profile/roles/stages.h"

enum { LOOKED = 256, ITEMS = 256, SLOTS = 1024, CELLS_LEAST = 8, LONGEST = 40, IN_CELL = 32 };

typedef struct {
    uint64_t item[SLOTS]; /* hashed; 0: none */
    uint8_t place[SLOTS]; /* bit 0: was first in a cell, bit 1: behind another */
    size_t distinct, all; /* items */
    size_t cells, several, bad;
} counts;

/* False: there are more items than lists have. */
static bool add_item(counts *n, uint64_t hash, bool first)
{
    size_t at = hash % SLOTS;
    while (n->item[at] != 0 && n->item[at] != hash)
        at = (at + 1) % SLOTS;
    if (n->item[at] == 0 && n->distinct == ITEMS)
        return false;
    n->distinct += n->item[at] == 0;
    n->item[at] = hash;
    n->place[at] |= first ? 1 : 2;
    n->all++;
    return true;
}

/* The items of a cell, hashed; 0: it is none that a list has (an item is empty, long or stands twice). */
static size_t items_of(tab_str s, char by, uint64_t *ret)
{
    size_t n = 0;
    for (size_t i = 0, begin = 0; i <= s.n; i++) {
        if (i < s.n && s.p[i] != by)
            continue;
        tab_str item = tab_trim((tab_str){ s.p + begin, i - begin });
        begin = i + 1;
        if (item.n == 0 || item.n > LONGEST || n == IN_CELL)
            return 0;
        uint64_t hash = tab_fnv1a(TAB_FNV1A, item.p, item.n) | 1;
        for (size_t k = 0; k < n; k++)
            if (ret[k] == hash)
                return 0;
        ret[n++] = hash;
    }
    return n;
}

/* Whether the levels are lists whose items stand apart by that sign. */
static bool lists_by(const tab_reading *r, char by)
{
    counts n = { 0 };
    size_t step = r->levels / LOOKED + 1, changing = 0;
    for (size_t k = 0; k < r->levels; k += step) {
        uint64_t item[IN_CELL];
        size_t items = items_of(r->level[k], by, item);
        n.cells++;
        n.several += items > 1;
        n.bad += items == 0;
        for (size_t i = 0; i < items; i++)
            if (!add_item(&n, item[i], i == 0))
                return false;
    }
    for (size_t i = 0; i < SLOTS; i++)
        changing += n.place[i] == 3;
    return n.cells >= CELLS_LEAST && n.bad * 20 <= n.cells && 10 * n.several >= 3 * n.cells &&
           n.distinct >= 3 && n.all >= 3 * n.distinct && 10 * changing >= 3 * n.distinct;
}

void tab_hear_lists(const tab_staged *c, float *p)
{
    static const float SURE = 0.99f;
    static const char signs[] = { ';', '|', ',' };
    const tab_reading *r = c->reading;
    /* combinations that come back often are kinds of their own, whatever is in them */
    if (r->level == NULL || r->can_number || r->can_date || r->can_duration || p[TAB_ROLE_LIST] >= SURE ||
        4.0 * (double)r->levels < c->features.present)
        return;
    bool is = false;
    for (size_t i = 0; i < sizeof signs && !is; i++)
        is = lists_by(r, signs[i]);
    float rest = 1 - p[TAB_ROLE_LIST];
    for (int k = 0; k < TAB_ROLES && is; k++)
        p[k] = k == TAB_ROLE_LIST ? SURE : rest > 0 ? p[k] * (1 - SURE) / rest : 0;
}
