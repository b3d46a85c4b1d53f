/* See internal.h. Of a window of the table's times the rows are looked at: with a series' key a time stands
 * once, and the series has (nearly) all of the table's times between its first and its last. A column of
 * noise with many values makes times stand once too, but each of its values then has few of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/order.h"
#include "services/inference/engine/series/internal.h"

/* WINDOW: rows that sets of columns are compared on; TIMES: of at least so many times. POOL: columns of
 * which pairs and more are made. */
enum { WINDOW = 4096, TIMES = 12, POOL = 10 };
static const double ALONE = 0.95, COVER = 0.6;

/* ---- levels ------------------------------------------------------------------------------------- */

static const uint32_t *levels_of(tab_search *s, size_t column)
{
    const tab_column_profile *c = &s->p->col[column];
    if (c->column->layout == TAB_CODED)
        return c->code != NULL ? c->code : c->column->code;
    if (s->level[column] != NULL)
        return s->level[column];
    /* only the ranks are kept, of each column that is asked for */
    tab_ranked *r = &s->work;
    uint32_t *rank = tab_arena_new_of(s->scratch, uint32_t, s->rows + 1);
    if (rank == NULL || (r->when == NULL && !tab_ranked_new(s->scratch, s->rows, r)))
        return NULL;
    memcpy(r->when, c->column->num, s->rows * sizeof *r->when);
    if (!tab_rank_times(s->rows, false, r))
        return NULL;
    memcpy(rank, r->rank, s->rows * sizeof *rank);
    return s->level[column] = rank;
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xe9846af9b1a615dULL;
    x ^= x >> 32;
    x *= 0xe9846af9b1a615dULL;
    return x ^ x >> 28;
}

typedef struct {
    uint64_t key;
    uint32_t id; /* 1 and more; 0: free */
} slot;

bool tab_series_ids(tab_search *s, const size_t *key, size_t keys, uint32_t *series, size_t *ret_n)
{
    const uint32_t *level[TAB_SERIES_KEYS];
    size_t size = 1024, n = 0;
    for (size_t k = 0; k < keys; k++)
        if ((level[k] = levels_of(s, key[k])) == NULL)
            return false;
    slot *table = calloc(size, sizeof *table);
    if (table == NULL)
        return false;
    for (size_t r = 0; r < s->rows; r++) {
        uint64_t h = keys == 0 ? 7 : 0;
        bool none = false;
        for (size_t k = 0; k < keys; k++)
            none = none || level[k][r] == TAB_NULL, h = mix(h ^ (level[k][r] + 0x9e3779b97f4a7c15ULL));
        if (none) {
            series[r] = TAB_NULL;
            continue;
        }
        if (2 * n >= size) {
            slot *more = calloc(4 * size, sizeof *more);
            for (size_t i = 0; more != NULL && i < size; i++)
                if (table[i].id != 0) {
                    size_t at = table[i].key & (4 * size - 1);
                    while (more[at].id != 0)
                        at = (at + 1) & (4 * size - 1);
                    more[at] = table[i];
                }
            free(table);
            table = more;
            size *= 4;
            if (table == NULL)
                return false;
        }
        size_t at = h & (size - 1);
        while (table[at].id != 0 && table[at].key != h)
            at = (at + 1) & (size - 1);
        if (table[at].id == 0)
            table[at] = (slot){ h, (uint32_t)++n };
        series[r] = table[at].id - 1;
    }
    *ret_n = n;
    free(table);
    return true;
}

/* ---- sets of columns ---------------------------------------------------------------------------- */

typedef struct {
    size_t key[TAB_SERIES_KEYS], keys;
    double alone, next, cover, each; /* each: times a series has, in the mean */
    double share; /* pairs of rows of a time that share their series, of those expected by chance; 1: noise */
    double sure;  /* how far below 1, in standard errors */
    bool apart;   /* nearly no pair does where many would by chance */
    size_t series;
} keyed;

typedef struct {
    uint64_t key;
    uint32_t first, last, n, rows, here; /* here: rows of the last time before this one */
} track;

typedef struct {
    tab_search *s;
    const tab_axis *x;
    size_t from, to; /* of x->at.order */
    track *table;    /* (tracks) a power of two, twice the series at least */
    size_t tracks;
} window;

/* A window in the middle of the times. */
static void place_window(window *w)
{
    const tab_ranked *t = &w->x->at;
    if (t->known <= WINDOW) {
        w->from = 0, w->to = t->known;
        return;
    }
    w->from = (t->known - WINDOW) / 2;
    while (w->from > 0 && t->rank[t->order[w->from - 1]] == t->rank[t->order[w->from]])
        w->from--;
    uint32_t first = t->rank[t->order[w->from]];
    w->to = w->from;
    while (w->to < t->known && (w->to - w->from < WINDOW || t->rank[t->order[w->to]] < first + TIMES))
        w->to++;
    while (w->to < t->known && t->rank[t->order[w->to]] == t->rank[t->order[w->to - 1]])
        w->to++;
    while (w->from > 0 && t->rank[t->order[w->to - 1]] - t->rank[t->order[w->from]] + 1 < TIMES)
        w->from--;
}

/* How times stand under a set of columns: of the window's rows, or of a part of its series. */
static bool try_keys(const window *w, keyed *k)
{
    const uint32_t *level[TAB_SERIES_KEYS];
    const tab_ranked *t = &w->x->at;
    size_t rows = 0, again = 0, moves = 0, next = 0, series = 0, span = 0, here = 0;
    uint32_t now = 0;
    double pairs = 0, same = 0, together = 0;
    double share = (double)WINDOW / (double)(w->to - w->from + 1);
    uint64_t most = share >= 1 || k->keys == 0 ? UINT64_MAX : (uint64_t)(share * 18446744073709549568.0);
    for (size_t i = 0; i < k->keys; i++)
        if ((level[i] = levels_of(w->s, k->key[i])) == NULL)
            return false;
    memset(w->table, 0, w->tracks * sizeof *w->table);
    for (size_t i = w->from; i < w->to && 2 * series < w->tracks; i++) {
        uint32_t r = t->order[i], at_time = t->rank[r] + 1;
        uint64_t h = 7;
        for (size_t j = 0; j < k->keys; j++)
            h = mix(h ^ (level[j][r] + 0x9e3779b97f4a7c15ULL));
        if (h > most)
            continue;
        rows++;
        here = at_time == now ? here + 1 : 1, now = at_time;
        pairs += (double)(here - 1);
        size_t at = (h >> 7) & (w->tracks - 1);
        while (w->table[at].n > 0 && w->table[at].key != h)
            at = (at + 1) & (w->tracks - 1);
        track *o = &w->table[at];
        if (o->n == 0) {
            *o = (track){ h, at_time, at_time, 1, 0, 0 };
            series++;
        } else if (o->last == at_time) {
            again++, o->here++;
            together += o->here;
        } else {
            moves++, next += at_time == o->last + 1;
            o->last = at_time, o->n++, o->here = 0;
        }
        o->rows++;
    }
    for (size_t i = 0; i < w->tracks; i++) {
        same += w->table[i].rows * (w->table[i].rows - 1.0);
        span += w->table[i].n > 0 ? w->table[i].last - w->table[i].first : 0;
    }
    double by_chance = rows > 0 ? pairs * same / ((double)rows * fmax(1, (double)rows - 1)) : 0;
    k->share = by_chance > 0 ? together / by_chance : 1;
    k->sure = by_chance > 0 ? (by_chance - together) / sqrt(by_chance) : 0;
    k->apart = by_chance >= 10 && together <= 0.15 * by_chance;
    k->series = series;
    k->alone = rows > 0 ? 1 - (double)again / (double)rows : 0;
    k->next = moves > 0 ? (double)next / (double)moves : 0;
    k->cover = span > 0 ? (double)moves / (double)span : 0;
    k->each = series > 0 ? (double)(rows - again) / (double)series : 0;
    return true;
}

static bool in_axis(const tab_axis *x, size_t column)
{
    for (size_t i = 0; i < x->clues; i++)
        if (x->clue[i]->column == column)
            return true;
    return false;
}

bool tab_series_may_name(const tab_search *s, const tab_axis *x, size_t column)
{
    const tab_column_profile *c = &s->p->col[column];
    bool numbers = c->column->layout == TAB_NUMBERS;
    if (column == s->target || in_axis(x, column) || c->use == TAB_USE_IGNORE || c->missing > 0.1)
        return false;
    if (c->distinct < 2 || 2 * c->distinct > c->present || (numbers && c->decimals > 0))
        return false;
    return !(c->type == TAB_DATETIME);
}

/* Whether k is better than the best so far. */
static bool better(const keyed *k, const keyed *best)
{
    if (best->keys == SIZE_MAX)
        return true;
    if (fabs(k->cover - best->cover) > 0.03)
        return k->cover > best->cover;
    return k->series < best->series;
}

/* Whether a set names the series; where few rows share their times without it, it must tell most of those
 * apart. */
static bool good(const keyed *k, const keyed *none)
{
    if (none->alone >= 0.9 && 1 - k->alone > 0.2 * (1 - none->alone))
        return false;
    return k->alone >= ALONE && k->each >= 2 && (k->cover >= COVER || k->apart);
}

/* Adds a set to the pool, kept by how far from chance they tell the rows of a time apart. */
static void keep(keyed *pool, size_t *n, const keyed *k)
{
    size_t at = *n < POOL ? (*n)++ : POOL;
    if (at == POOL && pool[POOL - 1].share <= k->share)
        return;
    at = at == POOL ? POOL - 1 : at;
    while (at > 0 && pool[at - 1].share > k->share) {
        pool[at] = pool[at - 1];
        at--;
    }
    pool[at] = *k;
}

/* Sets of two, three and four, grown from the pool. */
static bool grow(const window *w, keyed *pool, size_t n, const keyed *none, keyed *best)
{
    keyed single[POOL];
    size_t singles = n;
    memcpy(single, pool, n * sizeof *pool);
    for (size_t size = 2; size <= TAB_SERIES_KEYS && best->keys == SIZE_MAX && n > 0; size++) {
        keyed next[POOL];
        size_t kept = 0, from = size == 2 ? n : n < 3 ? n : 3;
        for (size_t i = 0; i < from; i++)
            for (size_t j = size == 2 ? i + 1 : 0; j < singles; j++) {
                keyed k = pool[i];
                bool has = false;
                for (size_t m = 0; m < k.keys; m++)
                    has = has || k.key[m] == single[j].key[0];
                if (has)
                    continue;
                k.key[k.keys++] = single[j].key[0];
                if (!try_keys(w, &k))
                    return false;
                if (good(&k, none) && better(&k, best))
                    *best = k;
                if (k.alone > pool[i].alone + 0.01)
                    keep(next, &kept, &k);
            }
        memcpy(pool, next, kept * sizeof *next);
        n = kept;
    }
    return true;
}

/* Rises and falls of time from one labelled row to the next where the level stays; *changes of the level. */
static void turns_of(const tab_search *s, const tab_axis *x, const uint32_t *level, size_t most, size_t *up,
                     size_t *down, size_t *changes)
{
    const uint32_t *rank = x->at.rank;
    size_t last = SIZE_MAX;
    *up = *down = *changes = 0;
    for (size_t r = 0; r < s->rows && *changes <= most; r++) {
        if (rank[r] == TAB_NULL || (s->asked != NULL && s->asked[r]))
            continue;
        bool stays = last == SIZE_MAX || level == NULL || level[r] == level[last];
        *changes += !stays;
        if (last != SIZE_MAX && stays)
            *up += rank[r] > rank[last], *down += rank[r] < rank[last];
        last = r;
    }
}

/* Histories put one below the other: rows stand in blocks of a column's values, each block in the order of
 * time, the table as a whole not. *ret: such a column, the table's width where there is none. False:
 * memory. */
static bool block_key(tab_search *s, const tab_axis *x, size_t *ret)
{
    size_t up, down, changes;
    *ret = s->cols;
    turns_of(s, x, NULL, 0, &up, &down, &changes);
    size_t turns = up < down ? up : down;
    for (size_t c = 0; c < s->cols && turns >= 3; c++) {
        size_t most = s->p->col[c].distinct;
        if (!tab_series_may_name(s, x, c) || most > 2 * turns + 2)
            continue;
        const uint32_t *level = levels_of(s, c);
        if (level == NULL)
            return false;
        turns_of(s, x, level, most, &up, &down, &changes);
        size_t against = up < down ? up : down;
        bool fewer = *ret == s->cols || most < s->p->col[*ret].distinct;
        if (changes <= most && up + down >= most && 50 * against <= up + down && 10 * against <= turns &&
            fewer)
            *ret = c;
    }
    return true;
}

bool tab_series_keys(tab_search *s, tab_axis *x)
{
    window w = { .s = s, .x = x };
    keyed none = { 0 }, best = { .keys = SIZE_MAX }, pool[POOL];
    size_t n = 0;
    place_window(&w);
    w.tracks = 64;
    while (w.tracks < 2 * (w.to - w.from) && w.tracks < 4 * WINDOW)
        w.tracks *= 2;
    w.table = malloc(w.tracks * sizeof *w.table);
    if (w.table == NULL || !try_keys(&w, &none)) {
        free(w.table);
        return false;
    }
    bool ok = true, seek = none.alone < 0.98;
    for (size_t c = 0; ok && seek && c < s->cols; c++) {
        keyed k = { .key = { c }, .keys = 1 };
        if (!tab_series_may_name(s, x, c))
            continue;
        ok = try_keys(&w, &k);
        if (good(&k, &none) && better(&k, &best))
            best = k;
        if (k.each >= 2 && k.sure > 1)
            keep(pool, &n, &k);
    }
    ok = ok && (best.keys != SIZE_MAX || grow(&w, pool, n, &none, &best));
    free(w.table);
    size_t block = s->cols;
    if (ok && best.keys == SIZE_MAX && none.alone > 0.5)
        ok = block_key(s, x, &block);
    if (best.keys == SIZE_MAX)
        best = none;
    if (block < s->cols)
        best.key[0] = block, best.keys = 1;
    memcpy(x->key, best.key, sizeof x->key);
    x->keys = best.keys;
    x->alone = best.alone, x->alone0 = none.alone;
    x->next = best.next, x->cover = best.cover;
    return ok;
}
