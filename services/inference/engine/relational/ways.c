/* Ways from the target's table over references: the short ones first, never over a table twice, never
 * back. */
#include "common/base/hash.h"
#include "services/inference/engine/relational/parts.h"

size_t tab_way_leaf(const tab_way *w)
{
    return w->hop[w->ups + w->downs - 1].to->table;
}

size_t tab_way_end(const tab_way *w)
{
    return w->hop[w->ups + w->downs + w->sides - 1].to->table;
}

uint32_t tab_way_row(const tab_way *w, uint64_t key)
{
    uint32_t row = tab_keyed_row(w->hop[0].to, key);
    for (size_t i = 1; i < w->ups && row != TAB_NULL; i++)
        row = tab_keyed_row(w->hop[i].to, w->hop[i].from->hash[row]);
    return row;
}

uint64_t tab_way_key(const tab_way *w, uint64_t key)
{
    if (w->ups == 0)
        return key;
    uint32_t row = tab_way_row(w, key);
    return row == TAB_NULL ? 0 : w->hop[w->ups].from->hash[row];
}

uint32_t tab_way_group(const tab_way *w, uint64_t key)
{
    size_t at = tab_place(key) & (w->slots - 1);
    while (key != 0 && w->slot[at] != 0) {
        if (w->key[w->slot[at] - 1] == key)
            return w->slot[at] - 1;
        at = (at + 1) & (w->slots - 1);
    }
    return TAB_NULL;
}

static const tab_keyed *keyed(tab_arena *a, tab_links *l, size_t table, const uint32_t *column, uint32_t n)
{
    for (size_t i = 0; i < l->keys; i++)
        if (l->keyed[i].table == table && l->keyed[i].columns == n &&
            memcmp(l->keyed[i].column, column, n * sizeof *column) == 0)
            return &l->keyed[i];
    tab_keyed *k = &l->keyed[l->keys];
    if (!tab_keyed_new(a, l->p[table], table, column, n, k))
        return NULL;
    l->keys++;
    return k;
}

static bool passes(const tab_links *l, const tab_way *w, size_t table)
{
    if (table == l->table)
        return true;
    for (size_t i = 0; i < w->ups + w->downs + w->sides; i++)
        if (w->hop[i].to->table == table)
            return true;
    return false;
}

/* The way w with one hop more. False: it is none. */
static bool extend(const tab_way *w, bool many, tab_way *ret)
{
    *ret = *w;
    if (w->sides > 0 || w->ups + w->downs == TAB_WAY_HOPS)
        return false;
    if (many)
        ret->downs++;
    else if (w->downs > 0)
        ret->sides++;
    else
        ret->ups++;
    return ret->ups <= 2 && ret->downs <= 2;
}

static bool any_is(const uint32_t *column, uint32_t n, size_t c)
{
    bool is = false;
    for (uint32_t i = 0; i < n; i++)
        is = is || column[i] == c;
    return is;
}

/* The way w, and one hop more by reference r, against it or along it. False: out of memory. */
static bool step(tab_arena *a, tab_links *l, const tab_way *w, const tab_reference *r, bool down)
{
    size_t hops = w->ups + w->downs + w->sides, here = hops == 0 ? l->table : tab_way_end(w);
    size_t from = down ? r->parent_table : r->child_table, to = down ? r->child_table : r->parent_table;
    uint32_t n = r->also + 1, child[TAB_KEY_ALSO + 1] = { r->child },
             parent[TAB_KEY_ALSO + 1] = { r->parent };
    memcpy(child + 1, r->child_also, r->also * sizeof *child);
    memcpy(parent + 1, r->parent_also, r->also * sizeof *parent);
    const uint32_t *out = down ? parent : child, *in = down ? child : parent;
    tab_way next;
    if (from != here || passes(l, w, to) || (here == l->table && any_is(out, n, l->target)) ||
        l->p[to]->table->rows == 0 || l->ways == TAB_WAYS ||
        l->p[to]->table->rows > TAB_LINKED_ROWS - l->rows || !extend(w, down && !r->one_to_one, &next))
        return true;
    next.own = w->own && (down || r->one_to_one || w->downs > 0);
    next.hop[hops].from = keyed(a, l, from, out, n);
    next.hop[hops].to = next.hop[hops].from == NULL ? NULL : keyed(a, l, to, in, n);
    if (next.hop[hops].to == NULL)
        return false;
    l->way[l->ways++] = next;
    l->rows += l->p[to]->table->rows;
    return true;
}

/* Says what a way starts from and passes, where another one ends in the same table. */
static bool tell_apart(tab_arena *a, tab_links *l)
{
    for (size_t i = 0; i < l->ways; i++) {
        tab_way *w = &l->way[i];
        size_t same = 0;
        for (size_t k = 0; k < l->ways; k++)
            same += tab_way_end(&l->way[k]) == tab_way_end(w);
        w->by = "";
        if (same == 1)
            continue;
        const tab_keyed *from = w->hop[0].from;
        for (uint32_t c = 0; w->by != NULL && c < from->columns; c++) {
            tab_str start = tab_column_address(a, l->p[l->table]->table, from->column[c]);
            w->by = tab_arena_printf(a, "%s%s%.*s", w->by, c > 0 ? " and " : "",
                                     start.n > 80 ? 80 : (int)start.n, start.p);
        }
        for (size_t h = 0; w->by != NULL && h + 1 < w->ups + w->downs + w->sides; h++) {
            tab_str id = l->p[w->hop[h].to->table]->table->id;
            w->by = tab_arena_printf(a, "%s, %.*s", w->by, id.n > 80 ? 80 : (int)id.n, id.p);
        }
        if (w->by == NULL)
            return false;
    }
    return true;
}

bool tab_ways_find(tab_arena *a, tab_links *l, const tab_references *refs)
{
    l->way = tab_arena_new_of(a, tab_way, TAB_WAYS);
    l->keyed = tab_arena_new_of(a, tab_keyed, 2 * refs->n + 1);
    if (l->way == NULL || l->keyed == NULL)
        return false;
    /* from the table itself, then from the end of each way found */
    const tab_way none = { .own = true };
    for (size_t w = 0; w <= l->ways; w++)
        for (size_t i = 0; i < refs->n; i++) {
            const tab_way from = w == 0 ? none : l->way[w - 1];
            if (refs->ref[i].child_table != refs->ref[i].parent_table &&
                (!step(a, l, &from, &refs->ref[i], false) || !step(a, l, &from, &refs->ref[i], true)))
                return false;
        }
    return tell_apart(a, l);
}
