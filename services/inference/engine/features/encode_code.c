/* How a category is read (encode.h): its levels get codes by falling frequency, and a level of other rows is
 * found again by the hash of its text, or, where that is none of them, by that of its text in one case and
 * without accents: "BERLIN " is "Berlin" where no other level is written so (decision 0781). encode.c calls
 * it for each feature of codes.
 *
 *   level_hash, folded, share (levels)   by code
 *   slot (slots)                         open addressing by hash; a code + 1, 0 is free; a level that is
 *                                        written otherwise when folded stands in two */
#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/features/encode.h"
#include "services/inference/engine/lexicon/fold_text.h"

/* LONGEST: bytes of a text that is folded. */
enum { LONGEST = 256 };

/* Levels by falling frequency, the rarest sharing the last bin. */
uint8_t tab_code_bin(const tab_feature *f, uint32_t code)
{
    if (code == TAB_NULL)
        return TAB_BIN_MISSING;
    return (uint8_t)(code < f->bins - 1 ? code : f->bins - 1);
}

/* A level while its column is counted. */
typedef struct {
    uint64_t hash;
    size_t count;
    uint32_t level;
} counted;

/* For qsort: most frequent first. */
static int by_count(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

/* The slot of a hash, or the free one where it would stand. */
static uint32_t *slot_of(const tab_feature *f, uint64_t hash)
{
    size_t s = tab_place(hash) & (f->slots - 1);
    while (f->slot[s] != 0 && f->level_hash[f->slot[s] - 1] != hash && f->folded[f->slot[s] - 1] != hash)
        s = (s + 1) & (f->slots - 1);
    return &f->slot[s];
}

/* Level i is found by a hash from now on; of those with one hash the first is. */
static void place(const tab_feature *f, size_t i, uint64_t hash)
{
    uint32_t *at = slot_of(f, hash);
    if (*at == 0)
        *at = (uint32_t)i + 1;
}

/* All levels are found by their texts, and by their folded ones where these are another's text in no case. */
static void place_all(const tab_feature *f)
{
    for (size_t i = 0; i < f->levels; i++)
        place(f, i, f->level_hash[i]);
    for (size_t i = 0; i < f->levels; i++)
        if (f->folded[i] != 0)
            place(f, i, f->folded[i]);
}

uint64_t tab_folded_hash(tab_str text)
{
    char buf[LONGEST];
    if (text.n >= sizeof buf)
        return 0;
    tab_str own = tab_fold(text, buf, sizeof buf);
    return own.n > 0 ? tab_wyhash(own.p, own.n, 0) : 0;
}

static int by_hash(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->level > y->level) - (x->level < y->level);
}

/* c (levels): scratch; the texts are those of the codes in their order. */
static void fold_levels(tab_feature *f, const tab_values *v, counted *c)
{
    for (size_t i = 0; i < f->levels; i++)
        c[i] = (counted){ tab_folded_hash(v->level[c[i].level]), 0, (uint32_t)i };
    qsort(c, f->levels, sizeof *c, by_hash);
    for (size_t i = 0; i < f->levels; i++) {
        bool one =
            (i == 0 || c[i - 1].hash != c[i].hash) && (i + 1 == f->levels || c[i + 1].hash != c[i].hash);
        f->folded[c[i].level] = one ? c[i].hash : 0;
    }
}

/* Codes by falling frequency. Ties go by the text's hash, so that the order of rows does not matter. False:
 * out of memory. */
bool tab_code_fit(tab_feature *f, const tab_values *v, size_t rows)
{
    counted *c = calloc(v->levels + 1, sizeof *c);
    if (c == NULL)
        return false;
    size_t present = 0;
    /* levels by the hash of their text, then how many rows hold each */
    for (size_t i = 0; i < v->levels; i++)
        c[i] = (counted){ tab_wyhash(v->level[i].p, v->level[i].n, 0), 0, (uint32_t)i };
    for (size_t i = 0; i < rows; i++) {
        if (v->code[i] == TAB_NULL)
            f->has_missing = true;
        else
            c[v->code[i]].count++, present++;
    }
    qsort(c, v->levels, sizeof *c, by_count);
    f->levels = 0;
    for (size_t i = 0; i < v->levels && c[i].count > 0; i++) {
        /* The text itself is not kept: a level of other rows is found by its hash. */
        f->level_hash[i] = c[i].hash;
        f->share[i] = (float)((double)c[i].count / (double)present);
        f->levels++;
    }
    fold_levels(f, v, c);
    place_all(f);
    /* one bin more than levels, for texts that fitting has not seen */
    f->bins = f->levels + 1 < TAB_BINS ? f->levels + 1 : TAB_BINS;
    free(c);
    return true;
}

/* The code of a level's text; `levels` where fitting has not seen it, in no spelling. */
uint32_t tab_code_find(const tab_feature *f, tab_str text)
{
    if (f->slots == 0)
        return (uint32_t)f->levels;
    uint32_t at = *slot_of(f, tab_wyhash(text.p, text.n, 0));
    uint64_t folded = at == 0 ? tab_folded_hash(text) : 0;
    if (folded != 0)
        at = *slot_of(f, folded);
    return at > 0 ? at - 1 : (uint32_t)f->levels;
}

/* Where a hash stands is another place in each process: slots are made anew. */
void tab_pack_code(tab_pack *p, tab_feature *f)
{
    bool places = f->slots > 0;
    TAB_PACK(p, f->level_hash, f->levels);
    TAB_PACK(p, f->folded, f->levels);
    TAB_PACK(p, f->share, f->levels);
    if (tab_pack_writes(p))
        return;
    f->slot = NULL;
    for (f->slots = places ? 16 : 0; places && f->slots < 4 * f->levels; f->slots *= 2)
        ;
    if (!tab_pack_reads(p) || !places)
        return;
    f->slot = f->level_hash == NULL || f->folded == NULL
                  ? NULL
                  : tab_arena_new_of(tab_pack_arena(p), uint32_t, f->slots);
    if (f->slot == NULL) {
        tab_pack_refuse(p);
        return;
    }
    place_all(f);
}
