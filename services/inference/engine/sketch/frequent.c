#include "services/inference/engine/sketch/frequent.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"

enum { FEWEST = 64 };

void tab_frequent_init(tab_frequent *f, size_t most)
{
    *f = (tab_frequent){ .most = most > FEWEST ? most : FEWEST };
}

void tab_frequent_free(tab_frequent *f)
{
    free(f->value);
    free(f->slot);
}

/* The slot of a hash, or the free one where it belongs. */
static size_t slot_of(const tab_frequent *f, uint64_t hash)
{
    size_t at = tab_place(hash) & (f->slots - 1);
    while (f->slot[at] != 0 && f->value[f->slot[at] - 1].hash != hash)
        at = (at + 1) & (f->slots - 1);
    return at;
}

static void place_all(tab_frequent *f)
{
    memset(f->slot, 0, f->slots * sizeof *f->slot);
    for (size_t i = 0; i < f->n; i++)
        f->slot[slot_of(f, f->value[i].hash)] = (uint32_t)(i + 1);
}

static bool grow(tab_frequent *f)
{
    size_t room = f->room == 0 ? FEWEST : 2 * f->room;
    room = room < f->most ? room : f->most;
    size_t slots = FEWEST;
    while (slots < 2 * room)
        slots *= 2;
    tab_frequent_value *v = realloc(f->value, room * sizeof *v);
    if (v == NULL)
        return false;
    f->value = v;
    uint32_t *s = malloc(slots * sizeof *s);
    if (s == NULL)
        return false;
    free(f->slot);
    f->slot = s;
    f->slots = slots;
    f->room = room;
    place_all(f);
    return true;
}

/* The count of this rank among all, from 0, byte by byte from the highest one that any has. */
static uint64_t ranked(const tab_frequent *f, size_t rank)
{
    uint64_t most = 0, prefix = 0, mask = 0;
    for (size_t i = 0; i < f->n; i++)
        most = f->value[i].count > most ? f->value[i].count : most;
    for (int shift = 56; shift >= 0; shift -= 8) {
        size_t n[256] = { 0 }, k = 0;
        if (most >> shift == 0)
            continue;
        for (size_t i = 0; i < f->n; i++)
            if ((f->value[i].count & mask) == prefix)
                n[f->value[i].count >> shift & 255]++;
        for (; rank >= n[k]; k++)
            rank -= n[k];
        prefix |= (uint64_t)k << shift;
        mask |= (uint64_t)255 << shift;
    }
    return prefix;
}

/* The median of the counts is taken off all of them; what is left keeps its order. */
static void drop(tab_frequent *f)
{
    size_t kept = 0;
    uint64_t off = ranked(f, f->n / 2);
    for (size_t i = 0; i < f->n; i++)
        if (f->value[i].count > off) {
            f->value[kept] = f->value[i];
            f->value[kept].count -= off;
            f->value[kept++].lost += off;
        }
    f->n = kept;
    f->dropped = true;
    f->off += off;
    place_all(f);
}

bool tab_frequent_add(tab_frequent *f, uint64_t hash, double number, tab_str text, uint64_t times)
{
    size_t at = f->slots > 0 ? slot_of(f, hash) : 0;
    f->came++;
    if (f->slots > 0 && f->slot[at] != 0) {
        f->value[f->slot[at] - 1].count += times;
        return true;
    }
    if (f->n == f->room) {
        if (f->room == f->most)
            drop(f);
        else if (!grow(f))
            return false;
        at = slot_of(f, hash);
    }
    tab_frequent_value *v = &f->value[f->n++];
    size_t n = text.n < TAB_SPREAD_TEXT ? text.n : TAB_SPREAD_TEXT;
    while (n > 0 && n < text.n && (text.p[n] & 0xc0) == 0x80)
        n--;
    *v = (tab_frequent_value){
        .hash = hash, .count = times, .first = f->came, .number = number, .n = (uint8_t)n
    };
    if (isnan(number) && n > 0)
        memcpy(v->text, text.p, n);
    f->slot[at] = (uint32_t)f->n;
    return true;
}

bool tab_frequent_fill(tab_frequent *f, const char *values, size_t n)
{
    bool good = n <= f->most;
    while (good && f->room < n)
        good = grow(f);
    if (good && n > 0)
        memcpy(f->value, values, n * sizeof *f->value);
    for (size_t i = 0; good && i < n; i++)
        good = f->value[i].n <= TAB_SPREAD_TEXT;
    f->n = good ? n : 0;
    if (f->slots > 0)
        place_all(f);
    return good;
}

const tab_frequent_value *tab_frequent_find(const tab_frequent *f, uint64_t hash)
{
    size_t at = f->slots > 0 ? slot_of(f, hash) : 0;
    return f->slots > 0 && f->slot[at] != 0 ? &f->value[f->slot[at] - 1] : NULL;
}
