/* How a category is read (encode.h): its levels get codes by falling frequency, and a level of other rows is
 * found again by the hash of its text. encode.c calls it for each feature of codes.
 *
 *   level_hash, share (levels)   by code
 *   slot (slots)                 open addressing by hash; a code + 1, 0 is free */
#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/features/encode.h"
#include "services/inference/engine/lexicon/fold_text.h"

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
        size_t s = tab_place(c[i].hash) & (f->slots - 1);
        while (f->slot[s] != 0 && f->level_hash[f->slot[s] - 1] != c[i].hash)
            s = (s + 1) & (f->slots - 1);
        if (f->slot[s] == 0) /* of those with one hash the first is found */
            f->slot[s] = (uint32_t)i + 1;
        f->levels++;
    }
    /* one bin more than levels, for texts that fitting has not seen */
    f->bins = f->levels + 1 < TAB_BINS ? f->levels + 1 : TAB_BINS;
    free(c);
    return true;
}

/* The code of a level's text; `levels` where fitting has not seen it. */
uint32_t tab_code_find(const tab_feature *f, tab_str text)
{
    uint64_t h = tab_wyhash(text.p, text.n, 0);
    if (f->slots > 0)
        for (size_t s = tab_place(h) & (f->slots - 1); f->slot[s] != 0; s = (s + 1) & (f->slots - 1))
            if (f->level_hash[f->slot[s] - 1] == h)
                return f->slot[s] - 1;
    return (uint32_t)f->levels;
}
