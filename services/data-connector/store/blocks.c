/* See blocks.h: cuts, compresses, and joins again, with one dictionary for a column over all blocks. */
#include "services/data-connector/store/blocks.h"

#include <sodium.h>
#include <zstd.h>

#include "common/base/hash.h"
#include "common/security/frame.h"
#include "common/table/table_wire.h"

/* About how many bytes a column's rows take. 12 a level is a guess; it only decides where pieces end. */
static size_t weight(const tab_column *c, size_t rows)
{
    if (c->layout == TAB_NUMBERS)
        return rows * 8;
    size_t levels = c->levels < rows ? c->levels : rows;
    size_t text = c->levels == 0 ? 0 : (size_t)c->end[c->levels - 1] / c->levels + 1;
    return rows * 4 + levels * (text + 5);
}

bool block_next(const tab_table *t, block_range *at)
{
    size_t row = at->first_row, col = at->first_col + at->cols;
    if (t->cols == 0)
        return false;
    if (col >= t->cols) {
        row += at->rows;
        col = 0;
        if (row >= t->rows) /* a table without rows has had one row of pieces, for its columns */
            return false;
    }
    size_t rows = t->rows - row < BLOCK_ROWS ? t->rows - row : BLOCK_ROWS, bytes = 0, end = col;
    while (end < t->cols && bytes < BLOCK_BYTES)
        bytes += weight(&t->col[end++], rows) + 16;
    *at = (block_range){ row, rows, col, end - col };
    return true;
}

/* The least and the greatest level of some rows; levels stand in order of first appearance, so a column of
 * ever new cells has few between them, however many it has in all. */
static void levels_of(const tab_column *c, size_t first, size_t rows, uint32_t *ret_least, uint32_t *ret_most)
{
    *ret_least = TAB_NULL;
    *ret_most = 0;
    for (size_t r = first; r < first + rows; r++)
        if (c->code[r] != TAB_NULL) {
            *ret_least = c->code[r] < *ret_least ? c->code[r] : *ret_least;
            *ret_most = c->code[r] > *ret_most ? c->code[r] : *ret_most;
        }
}

/* Rows of a coded column with a dictionary of their own. */
static bool slice(tab_arena *a, const tab_column *c, size_t first, size_t rows, tab_column *ret)
{
    *ret = *c;
    if (c->layout == TAB_NUMBERS) {
        ret->num = c->num + first;
        return true;
    }
    uint32_t least, last;
    levels_of(c, first, rows, &least, &last);
    uint32_t *of = tab_arena_new_of(a, uint32_t, least <= last ? (size_t)last - least + 1 : 1),
             *code = tab_arena_new_of(a, uint32_t, rows + 1);
    size_t most = c->levels < rows ? c->levels : rows, n = 0, bytes = 0;
    uint32_t *from = tab_arena_new_of(a, uint32_t, most + 1), *end = tab_arena_new_of(a, uint32_t, most + 1);
    uint8_t *kind = tab_arena_new_of(a, uint8_t, most + 1);
    if (of == NULL || code == NULL || from == NULL || end == NULL || kind == NULL)
        return false;
    for (size_t r = 0; r < rows; r++) {
        uint32_t g = c->code[first + r];
        code[r] = TAB_NULL;
        if (g == TAB_NULL)
            continue;
        if (of[g - least] == 0) {
            from[n] = g;
            kind[n] = c->kind[g];
            bytes += tab_level(c, g).n;
            end[n] = (uint32_t)bytes; /* of c's levels, as far as the length fits */
            of[g - least] = (uint32_t)++n;
        }
        code[r] = of[g - least] - 1;
    }
    char *text = tab_arena_new_of(a, char, bytes + 1);
    if (text == NULL)
        return false;
    for (size_t i = 0, at = 0; i < n; at = end[i++]) {
        tab_str s = tab_level(c, from[i]);
        if (s.n > 0)
            memcpy(text + at, s.p, s.n);
    }
    ret->code = code;
    ret->text = text;
    ret->end = end;
    ret->kind = kind;
    ret->levels = n;
    return true;
}

tab_status block_plain(tab_arena *a, const tab_table *t, block_range at, tab_str *ret, tab_error *err)
{
    tab_column *col = tab_arena_new_of(a, tab_column, at.cols);
    for (size_t i = 0; col != NULL && i < at.cols; i++)
        if (!slice(a, &t->col[at.first_col + i], at.first_row, at.rows, &col[i]))
            col = NULL;
    tab_wire *wire;
    tab_table part = { .id = TAB_S(""), .rows = at.rows, .cols = at.cols, .col = col };
    const tab_table *parts[] = { &part };
    if (col == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "a block does not fit in memory");
    TAB_TRY(tab_wire_new(a, parts, 1, &wire, err));
    size_t raw = tab_wire_bytes(wire);
    char *plain = tab_arena_new_of(a, char, raw);
    if (plain == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "a block does not fit in memory");
    tab_wire_copy(wire, 0, raw, plain);
    *ret = (tab_str){ plain, raw };
    return TAB_OK;
}

bool block_sealed(tab_str stored)
{
    return stored.n > 0 &&
           (uint8_t)stored.p[0] <= 32; /* a key's id has 1 to 32 bytes; zstd begins with 0x28 */
}

tab_status block_pack(tab_arena *a, tab_str plain, const uint8_t key[BLOCK_KEY], block *ret, tab_error *err)
{
    size_t most = ZSTD_compressBound(plain.n);
    char *packed = tab_arena_new_of(a, char, most);
    if (packed == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "a block does not fit in memory");
    crypto_generichash(ret->hash, BLOCK_HASH, (const unsigned char *)plain.p, plain.n, key, BLOCK_KEY);
    size_t n = tab_frame_pack(packed, most, plain);
    if (n == 0)
        return tab_fail(err, TAB_INTERNAL, "", "a block does not fit in memory");
    ret->raw = plain.n;
    ret->bytes = (tab_str){ packed, n };
    return TAB_OK;
}

tab_status block_write(tab_arena *a, const tab_table *t, block_range at, const uint8_t key[BLOCK_KEY],
                       block *ret, tab_error *err)
{
    tab_str plain;
    TAB_TRY(block_plain(a, t, at, &plain, err));
    return block_pack(a, plain, key, ret, err);
}

tab_status block_read(tab_arena *a, tab_str bytes, size_t raw, const tab_table **ret, tab_error *err)
{
    char *plain = tab_arena_new_of(a, char, raw);
    const tab_table *const *tables;
    size_t n;
    if (plain == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "a block does not fit in memory");
    size_t got = ZSTD_decompress(plain, raw, bytes.p, bytes.n);
    if (ZSTD_isError(got) || got != raw)
        return tab_fail(err, TAB_INTERNAL, "", "a stored block is damaged");
    tab_status s = tab_wire_read(a, (tab_str){ plain, raw }, &tables, &n, err);
    if (s != TAB_OK || n != 1)
        return tab_fail(err, TAB_INTERNAL, "", "a stored block is damaged");
    *ret = tables[0];
    return TAB_OK;
}

/* ---- together again -------------------------------------------------------------------------- */

typedef struct {
    uint32_t index; /* of the column in the snapshot */
    bool begun;
    size_t filled;
    tab_column col;
    double *num;
    uint32_t *code;
    /* the growing dictionary */
    char *text;
    uint32_t *end, *slot; /* slot: open addressing, level + 1 */
    uint8_t *kind;
    size_t text_n, text_room, levels, room, slots;
} joining;

struct block_joiner {
    tab_arena *a;
    size_t first, rows, n;
    joining *c;
};

block_joiner *block_joiner_new(tab_arena *a, size_t first, size_t rows, const uint32_t *columns, size_t n)
{
    block_joiner *j = tab_arena_new_of(a, block_joiner, 1);
    joining *c = tab_arena_new_of(a, joining, n);
    if (j == NULL || c == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        c[i].index = columns[i];
    *j = (block_joiner){ a, first, rows, n, c };
    return j;
}

static uint64_t level_hash(tab_str s, uint8_t kind)
{
    return tab_place_text(s) + kind; /* compared byte for byte besides */
}

static bool grow(tab_arena *a, void *array, size_t have, size_t room, size_t size)
{
    void **p = array, *bigger = tab_arena_alloc(a, room, size);
    if (bigger == NULL)
        return false;
    if (have > 0)
        memcpy(bigger, *p, have * size);
    *p = bigger;
    return true;
}

static bool rehash(tab_arena *a, joining *c)
{
    size_t slots = c->slots == 0 ? 64 : c->slots * 4;
    uint32_t *slot = tab_arena_new_of(a, uint32_t, slots);
    if (slot == NULL)
        return false;
    c->slot = slot;
    c->slots = slots;
    for (size_t i = 0; i < c->levels; i++) {
        uint32_t from = i == 0 ? 0 : c->end[i - 1];
        size_t at = level_hash((tab_str){ c->text + from, c->end[i] - from }, c->kind[i]) & (slots - 1);
        while (slot[at] != 0)
            at = (at + 1) & (slots - 1);
        slot[at] = (uint32_t)(i + 1);
    }
    return true;
}

/* The level's code in the joined dictionary; TAB_NULL: out of memory. */
static uint32_t level_of(tab_arena *a, joining *c, tab_str s, uint8_t kind)
{
    if (2 * (c->levels + 1) > c->slots && !rehash(a, c))
        return TAB_NULL;
    size_t at = level_hash(s, kind) & (c->slots - 1);
    for (; c->slot[at] != 0; at = (at + 1) & (c->slots - 1)) {
        size_t i = c->slot[at] - 1;
        uint32_t from = i == 0 ? 0 : c->end[i - 1];
        if (c->kind[i] == kind && c->end[i] - from == s.n &&
            (s.n == 0 || memcmp(c->text + from, s.p, s.n) == 0))
            return (uint32_t)i;
    }
    if (c->levels == c->room) {
        size_t room = c->room == 0 ? 64 : 2 * c->room;
        if (!grow(a, &c->end, c->levels, room, sizeof *c->end) || !grow(a, &c->kind, c->levels, room, 1))
            return TAB_NULL;
        c->room = room;
    }
    if (c->text_n + s.n > UINT32_MAX)
        return TAB_NULL;
    if (c->text_n + s.n > c->text_room) {
        size_t room = 2 * (c->text_n + s.n) + 256;
        if (!grow(a, &c->text, c->text_n, room, 1))
            return TAB_NULL;
        c->text_room = room;
    }
    if (s.n > 0)
        memcpy(c->text + c->text_n, s.p, s.n);
    c->text_n += s.n;
    c->end[c->levels] = (uint32_t)c->text_n;
    c->kind[c->levels] = kind;
    c->slot[at] = (uint32_t)(c->levels + 1);
    return (uint32_t)c->levels++;
}

static bool join_column(block_joiner *j, joining *c, const tab_column *from, size_t skip, size_t n)
{
    if (!c->begun) {
        c->begun = true;
        c->col = *from;
        c->col.name = tab_arena_copy(j->a, from->name);
        if (from->layout == TAB_NUMBERS)
            c->num = tab_arena_new_of(j->a, double, j->rows);
        else
            c->code = tab_arena_new_of(j->a, uint32_t, j->rows);
        if (tab_arena_full(j->a))
            return false;
    }
    if (from->layout != c->col.layout || c->filled + n > j->rows)
        return false;
    if (from->layout == TAB_NUMBERS) {
        if (n > 0)
            memcpy(c->num + c->filled, from->num + skip, n * sizeof *c->num);
    } else {
        uint32_t *of = tab_arena_new_of(j->a, uint32_t, from->levels + 1); /* code + 1 */
        if (of == NULL)
            return false;
        for (size_t r = 0; r < n; r++) {
            uint32_t g = from->code[skip + r], code = TAB_NULL;
            if (g != TAB_NULL) {
                if (of[g] == 0) {
                    code = level_of(j->a, c, tab_level(from, g), from->kind[g]);
                    if (code == TAB_NULL)
                        return false;
                    of[g] = code + 1;
                }
                code = of[g] - 1;
            }
            c->code[c->filled + r] = code;
        }
    }
    c->filled += n;
    return true;
}

tab_status block_join(block_joiner *j, block_range at, const tab_table *piece, tab_error *err)
{
    size_t from = at.first_row < j->first ? j->first : at.first_row;
    size_t to = at.first_row + at.rows < j->first + j->rows ? at.first_row + at.rows : j->first + j->rows;
    if (piece->rows != at.rows || piece->cols != at.cols)
        return tab_fail(err, TAB_INTERNAL, "", "a stored block is another one's");
    for (size_t i = 0; i < j->n; i++) {
        joining *c = &j->c[i];
        if (c->index < at.first_col || c->index >= at.first_col + at.cols)
            continue;
        if (!join_column(j, c, &piece->col[c->index - at.first_col], from < to ? from - at.first_row : 0,
                         from < to ? to - from : 0))
            return tab_fail(err, TAB_INTERNAL, "", "a snapshot's columns do not fit in memory");
    }
    return TAB_OK;
}

tab_status block_joined(block_joiner *j, tab_str id, const tab_table **ret, tab_error *err)
{
    tab_table *t = tab_arena_new_of(j->a, tab_table, 1);
    tab_column *col = tab_arena_new_of(j->a, tab_column, j->n);
    if (t == NULL || col == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "a snapshot does not fit in memory");
    for (size_t i = 0; i < j->n; i++) {
        joining *c = &j->c[i];
        if (!c->begun || c->filled != j->rows)
            return tab_fail(err, TAB_INTERNAL, "", "a snapshot lacks a part of its rows");
        col[i] = c->col;
        col[i].num = c->num;
        col[i].code = c->code;
        if (c->col.layout == TAB_CODED) {
            col[i].text = c->text;
            col[i].end = c->end;
            col[i].kind = c->kind;
            col[i].levels = c->levels;
        }
    }
    *t = (tab_table){ .id = tab_arena_copy(j->a, id), .rows = j->rows, .cols = j->n, .col = col };
    *ret = t;
    return TAB_OK;
}
