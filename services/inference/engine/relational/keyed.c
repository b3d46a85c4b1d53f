/* Cells that join tables, by the hash of their normal form: numbers by value ("12", 12.0), other texts
 * without case, spaces around and marks, as align/ compares them. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/align/text/normalize_text.h"
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

/* Of one column. False: out of memory. */
static bool hash_column(const tab_column *c, const double *date, size_t rows, uint64_t *hash)
{
    for (size_t i = 0; date != NULL && i < rows; i++)
        hash[i] = number_hash(date[i]);
    if (date != NULL)
        return true;
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

bool tab_key_hashes(const tab_keyed *k, const tab_column *col, const double *const *date, size_t rows,
                    uint64_t *hash)
{
    uint64_t *next = k->columns > 1 ? malloc((rows + 1) * sizeof *next) : NULL;
    bool ok =
        (next != NULL || k->columns == 1) && hash_column(&col[k->column[0]], date[k->column[0]], rows, hash);
    for (uint32_t c = 1; ok && c < k->columns; c++) {
        ok = hash_column(&col[k->column[c]], date[k->column[c]], rows, next);
        for (size_t i = 0; ok && i < rows; i++) {
            uint64_t both = tab_mix(hash[i] ^ tab_mix(next[i] + c));
            hash[i] = hash[i] == 0 || next[i] == 0 ? 0 : both == 0 ? 1 : both;
        }
    }
    free(next);
    return ok;
}

/* The slots of k's hashes (rows). Where a hash stands is another place in each process. */
static bool place_rows(tab_arena *a, tab_keyed *k, size_t rows)
{
    for (k->slots = 16; k->slots < 2 * rows; k->slots *= 2)
        ;
    k->slot = tab_arena_new_of(a, uint32_t, k->slots);
    for (size_t i = 0; k->slot != NULL && i < rows; i++) {
        uint64_t h = k->hash[i];
        size_t at = tab_place(h) & (k->slots - 1);
        while (k->slot[at] != 0 && k->hash[k->slot[at] - 1] != h)
            at = (at + 1) & (k->slots - 1);
        if (h != 0 && k->slot[at] == 0)
            k->slot[at] = (uint32_t)i + 1;
    }
    return k->slot != NULL;
}

const double *tab_key_dates(const tab_column_profile *c)
{
    return c->type == TAB_DATETIME ? c->number : NULL;
}

bool tab_keyed_new(tab_arena *a, const tab_profile *p, size_t table, const uint32_t *column, uint32_t columns,
                   tab_keyed *ret)
{
    const tab_table *t = p->table;
    const double **date = tab_arena_new_of(a, const double *, t->cols + 1);
    *ret = (tab_keyed){ .table = table,
                        .rows = t->rows,
                        .columns = columns,
                        .hash = tab_arena_new_of(a, uint64_t, t->rows + 1) };
    assert(columns >= 1 && columns <= TAB_KEY_ALSO + 1);
    memcpy(ret->column, column, columns * sizeof *column);
    for (uint32_t c = 0; date != NULL && c < columns; c++)
        date[column[c]] = tab_key_dates(&p->col[column[c]]);
    return date != NULL && ret->hash != NULL && tab_key_hashes(ret, t->col, date, t->rows, ret->hash) &&
           place_rows(a, ret, t->rows);
}

void tab_pack_keyed(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_keyed *k = each;
    TAB_PACK(p, k->hash, k->rows);
    if (!tab_pack_writes(p))
        k->slot = NULL, k->slots = 0;
    if (tab_pack_reads(p) && (k->hash == NULL || !place_rows(tab_pack_arena(p), k, k->rows)))
        tab_pack_refuse(p);
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
