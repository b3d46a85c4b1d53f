/* A table cut into blocks and put together again; no SQL here.
 *
 *              columns ->
 *            +-----------+--------+----
 *   65,536   | piece     | piece  |        a piece: neighbouring columns until a mebibyte is reached,
 *   rows     | (0, 0)    | (0, 3) |        of up to 65,536 rows; wire form of a table, zstd level 1
 *            +-----------+--------+----
 *   the next | ...
 *
 * Where a column is cut depends on the table alone, so that equal rows give equal blocks; a piece
 * is self-contained (its dictionary holds the levels of its own rows, in order of first
 * appearance). */
#ifndef DATA_BLOCKS_H
#define DATA_BLOCKS_H

#include "common/table/table.h"

enum { BLOCK_ROWS = 65536, BLOCK_BYTES = 1 << 20, BLOCK_HASH = 32, BLOCK_KEY = 32 };

typedef struct {
    size_t first_row, rows, first_col, cols;
} block_range;

/* The piece after *at (start with a zeroed one); false when there is none. */
bool block_next(const tab_table *t, block_range *at);

typedef struct {
    uint8_t hash[BLOCK_HASH];
    size_t raw;
    tab_str bytes; /* compressed; lives in the arena */
} block;

/* Whether a stored block is sealed, by whatever key: the first byte of zstd is no length of a key's id. */
bool block_sealed(tab_str stored);

/* A piece of the table before it is packed; and packing it. The one lives in a process without keys. */
tab_status block_plain(tab_arena *a, const tab_table *t, block_range at, tab_str *ret,
                       tab_error *err) TAB_CHECKED;
tab_status block_pack(tab_arena *a, tab_str plain, const uint8_t key[BLOCK_KEY], block *ret,
                      tab_error *err) TAB_CHECKED;
/* Both. */
tab_status block_write(tab_arena *a, const tab_table *t, block_range at, const uint8_t key[BLOCK_KEY],
                       block *ret, tab_error *err) TAB_CHECKED;

/* One block's table again; raw is its size before compression. */
tab_status block_read(tab_arena *a, tab_str bytes, size_t raw, const tab_table **ret,
                      tab_error *err) TAB_CHECKED;

/* Puts pieces together: rows [first, first + rows) of the columns asked for, by index. Pieces come
 * in any order of columns, but rows ascending within a column. Memory is the arena's. */
typedef struct block_joiner block_joiner;
block_joiner *block_joiner_new(tab_arena *a, size_t first, size_t rows, const uint32_t *columns, size_t n);
tab_status block_join(block_joiner *j, block_range at, const tab_table *piece, tab_error *err) TAB_CHECKED;
tab_status block_joined(block_joiner *j, tab_str id, const tab_table **ret, tab_error *err) TAB_CHECKED;

#endif
