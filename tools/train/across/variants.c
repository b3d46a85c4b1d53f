/* See variants.h: entities by union-find over the true pairs, drawn one by one until the tables are full. */
#include "tools/train/across/variants.h"

#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"

enum { LEAST = 30 }; /* rows */

typedef struct {
    uint32_t *up; /* nodes: rows of the first table, then those of the second */
    size_t na, n;
    uint64_t seed;
    uint32_t *row[2]; /* drawn nodes of either side */
    size_t rows[2];
} drawing;

static uint32_t root(uint32_t *up, uint32_t i)
{
    while (up[i] != i)
        i = up[i] = up[up[i]];
    return i;
}

static void unite(uint32_t *up, uint32_t x, uint32_t y)
{
    uint32_t p = root(up, x), q = root(up, y);
    up[p > q ? p : q] = p > q ? q : p;
}

static double draw(const drawing *d, uint64_t kind, uint64_t i)
{
    return (double)(tab_hash_mix(tab_hash_mix(d->seed, kind), i) >> 11) * 0x1p-53;
}

static void read_entities(const char *dir, const match_case *m, drawing *d)
{
    char path[1024], name[64];
    uint32_t p, q;
    for (size_t i = 0; i < m->rows; i++)
        if (m->row[i].ta == 0 && m->row[i].tb == 1)
            unite(d->up, m->row[i].a, (uint32_t)d->na + m->row[i].b);
    snprintf(path, sizeof path, "%s/%s/duplicates.csv", dir, m->name);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return;
    if (fscanf(f, "%*[^\n]\n") >= 0)
        while (fscanf(f, "%63[^,],%u,%u\n", name, &p, &q) == 3) {
            bool first = strcmp(name, "a") == 0 || strcmp(name, "t1") == 0;
            uint32_t from = first ? 0 : (uint32_t)d->na;
            if ((first || strcmp(name, "b") == 0 || strcmp(name, "t2") == 0) && from + p < d->n &&
                from + q < d->n)
                unite(d->up, from + p, from + q);
        }
    fclose(f);
}

typedef struct {
    double key;
    uint32_t entity, node;
} placed;

static int in_turn(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->entity != y->entity)
        return x->entity < y->entity ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The sides that row `node` of an entity goes to: bit 0 the first, bit 1 the second. */
static int sides(const drawing *d, variant kind, double share, uint32_t entity, uint32_t node, bool in_both)
{
    bool second = node >= d->na;
    if (kind == VARIANT_HALF || kind == VARIANT_DEALT) {
        if (second != (kind == VARIANT_DEALT))
            return 0;
        return draw(d, 3, kind == VARIANT_HALF ? entity : node) < 0.5 ? 1 : 2;
    }
    if (in_both && draw(d, 4, entity) >= share && (draw(d, 5, entity) < 0.5) == second)
        return 0;
    return second ? 2 : 1;
}

static void fill(drawing *d, variant kind, placed *p, bool *seen)
{
    static const double part[] = { 0.35, 0.6 }, size[] = { 300, 600, 1200, 1200 };
    double share = kind == VARIANT_PART ? part[(int)(draw(d, 1, kind) * 2)] : 0;
    size_t most = (size_t)size[(int)(draw(d, 2, kind) * 4)];
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t r = root(d->up, i);
        p[i] = (placed){ draw(d, 6, r), r, i };
        seen[2 * r + (i >= d->na)] = true;
    }
    qsort(p, d->n, sizeof *p, in_turn);
    for (size_t i = 0; i < d->n; i++) {
        bool both = seen[2 * p[i].entity] && seen[2 * p[i].entity + 1];
        int to = sides(d, kind, share, p[i].entity, p[i].node, both);
        for (int s = 0; s < 2; s++)
            if ((to >> s & 1) && d->rows[s] < most)
                d->row[s][d->rows[s]++] = p[i].node;
    }
}

static int by_key(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Where a row stands must tell nothing. */
static void shuffle(drawing *d, int side, placed *p)
{
    for (size_t i = 0; i < d->rows[side]; i++)
        p[i] = (placed){ draw(d, 7, d->row[side][i]), 0, d->row[side][i] };
    qsort(p, d->rows[side], sizeof *p, by_key);
    for (size_t i = 0; i < d->rows[side]; i++)
        d->row[side][i] = p[i].node;
}

static tab_table take(tab_arena *a, const match_case *m, const drawing *d, int side)
{
    bool second = d->row[side][0] >= d->na;
    const tab_table *t = &m->table[second];
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols);
    for (size_t c = 0; c < t->cols; c++) {
        tab_builder *b = tab_builder_new(a, t->col[c].name);
        for (size_t r = 0; r < d->rows[side]; r++) {
            tab_cell x = tab_cell_at(&t->col[c], d->row[side][r] - (second ? d->na : 0));
            if (x.kind == TAB_CELL_NULL)
                tab_builder_null(b);
            else if (x.text.n > 0)
                tab_builder_text(b, x.text);
            else
                tab_builder_number(b, x.num);
        }
        if (!tab_builder_finish(b, &col[c]))
            exit(1);
    }
    return (
        tab_table){ .id = tab_str_of(side ? "b" : "a"), .rows = d->rows[side], .cols = t->cols, .col = col };
}

static int in_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(true_pair));
}

/* Pairs of rows of one entity in the drawn tables. */
static void list_truth(tab_arena *a, drawing *d, placed *p, match_case *ret)
{
    size_t cap = 0;
    ret->rows = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t n = 0;
        for (size_t i = 0; i < d->rows[1]; i++)
            p[i] = (placed){ 0, root(d->up, d->row[1][i]), (uint32_t)i };
        qsort(p, d->rows[1], sizeof *p, in_turn);
        for (size_t i = 0; i < d->rows[0]; i++) {
            uint32_t r = root(d->up, d->row[0][i]);
            size_t lo = 0, hi = d->rows[1];
            while (lo < hi) {
                size_t mid = (lo + hi) / 2;
                if (p[mid].entity < r)
                    lo = mid + 1;
                else
                    hi = mid;
            }
            for (; lo < d->rows[1] && p[lo].entity == r; lo++, n++)
                if (pass == 1)
                    ret->row[n] = (true_pair){ 0, 1, (uint32_t)i, p[lo].node };
        }
        if (pass == 0)
            ret->row = tab_arena_new_of(a, true_pair, cap = n);
        ret->rows = n;
    }
    if (cap > 0)
        qsort(ret->row, cap, sizeof *ret->row, in_order);
}

bool variant_make(tab_arena *a, const char *dir, const match_case *m, variant kind, match_case *ret)
{
    drawing d = { .na = m->table[0].rows, .n = m->table[0].rows + m->table[1].rows };
    d.seed = tab_hash_mix(tab_hash_bytes(m->name, strlen(m->name), 1), kind);
    d.up = tab_arena_new_of(a, uint32_t, d.n);
    placed *p = tab_arena_new_of(a, placed, d.n);
    bool *seen = tab_arena_new_of(a, bool, 2 * d.n);
    for (int s = 0; s < 2; s++)
        d.row[s] = tab_arena_new_of(a, uint32_t, d.n);
    if (tab_arena_full(a))
        exit(1);
    for (uint32_t i = 0; i < d.n; i++)
        d.up[i] = i;
    read_entities(dir, m, &d);
    fill(&d, kind, p, seen);
    if (d.rows[0] < LEAST || d.rows[1] < LEAST)
        return false;
    *ret = (match_case){ .n = 2, .has_rows = true };
    memcpy(ret->name, m->name, sizeof ret->name);
    for (int s = 0; s < 2; s++) {
        shuffle(&d, s, p);
        ret->table[s] = take(a, m, &d, s);
    }
    list_truth(a, &d, p, ret);
    return true;
}
