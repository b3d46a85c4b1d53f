/* Cells that join tables, by the hash of their normal form: numbers by value ("12", 12.0), other texts
 * without case, spaces around and marks, as align/ compares them. */
#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/align/normalize_text.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/relational/parts.h"

static uint64_t hash_of(tab_str s)
{
    uint64_t h = s.n;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * UINT64_C(1099511628211);
    h = tab_mix(h);
    return h == 0 ? 1 : h;
}

static uint64_t number_hash(double x)
{
    char text[32];
    return isfinite(x) ? hash_of((tab_str){ text, tab_number_text(x == 0 ? 0 : x, text) }) : 0;
}

/* A text that is all of one JSON number is that number; so "007" stays a text. */
static uint64_t text_hash(tab_str s)
{
    char normal[TAB_NORMAL_MAX];
    double x;
    size_t n = 0;
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s.p++, s.n--;
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    if (s.n > 0 && tab_number_read(s.p, s.p + s.n, &n, &x) == TAB_NUMBER_EXACT && n == s.n)
        return number_hash(x);
    n = tab_text_normal(s, normal);
    return n == 0 ? 0 : hash_of((tab_str){ normal, n });
}

bool tab_key_hashes(const tab_column *c, size_t rows, uint64_t *hash)
{
    if (c->layout == TAB_NUMBERS) {
        for (size_t i = 0; i < rows; i++)
            hash[i] = number_hash(c->num[i]);
        return true;
    }
    uint64_t *of = malloc((c->levels + 1) * sizeof *of);
    if (of == NULL)
        return false;
    for (size_t k = 0; k < c->levels; k++)
        of[k] = text_hash(tab_level(c, k));
    for (size_t i = 0; i < rows; i++)
        hash[i] = c->code[i] == TAB_NULL ? 0 : of[c->code[i]];
    free(of);
    return true;
}

bool tab_keyed_new(tab_arena *a, const tab_table *t, size_t table, size_t column, tab_keyed *ret)
{
    size_t slots = 16;
    while (slots < 2 * t->rows)
        slots *= 2;
    *ret = (tab_keyed){ .table = table,
                        .column = column,
                        .hash = tab_arena_new_of(a, uint64_t, t->rows + 1),
                        .slot = tab_arena_new_of(a, uint32_t, slots),
                        .slots = slots };
    if (ret->hash == NULL || ret->slot == NULL || !tab_key_hashes(&t->col[column], t->rows, ret->hash))
        return false;
    for (size_t i = 0; i < t->rows; i++) {
        uint64_t h = ret->hash[i];
        size_t at = tab_place(h) & (slots - 1);
        while (ret->slot[at] != 0 && ret->hash[ret->slot[at] - 1] != h)
            at = (at + 1) & (slots - 1);
        if (h != 0 && ret->slot[at] == 0)
            ret->slot[at] = (uint32_t)i + 1;
    }
    return true;
}

uint32_t tab_keyed_row(const tab_keyed *k, uint64_t hash)
{
    size_t at = tab_place(hash) & (k->slots - 1);
    while (hash != 0 && k->slot[at] != 0) {
        if (k->hash[k->slot[at] - 1] == hash)
            return k->slot[at] - 1;
        at = (at + 1) & (k->slots - 1);
    }
    return TAB_NULL;
}
