/* The parts of a result as tables: predictions, filled tables, unified rows, matches, duplicates, suspects,
 * forecasts. What the api sends as files (decision 0410) and the library as Arrow streams (decision 0807) has
 * its columns and their types from here.
 *
 *   tab_part p = { ... };                     what it is a part of
 *   tab_part_open -> tab_part_types -> tab_part_next, until there are no rows -> tab_part_close
 *
 *   named.c          a part by its name, and all of its rows
 *   parts.c          each part as a table, batch by batch
 *   parts_filled.c   whole tables, with what was filled
 *   parts_profile.c  what each column is */
#ifndef TAB_PARTS_H
#define TAB_PARTS_H

#include "common/bundle/bundle_pieces.h"
#include "common/files/written/table_file.h"

/* Where one is in a paged array: the piece that holds element `at`, in an arena of its own. */
typedef struct {
    tab_paged array;
    size_t at, total;
    tab_arena *arena;
    const Tabella__Bundle *piece;
    size_t first, held; /* of the piece */
} tab_part_cursor;

/* Where a part's rows come from. piece NULL: the bundle is whole. */
typedef struct {
    void *of;
    /* What holds element `from` of an array, in the arena; sound. */
    tab_status (*piece)(void *of, tab_arena *a, tab_paged array, size_t from, const Tabella__Bundle **ret,
                        tab_error *err);
    /* Rows [from, from + rows) of the run's table of this number, as it was read, in the arena or for
     * longer. */
    tab_status (*rows)(void *of, tab_arena *a, size_t table, size_t from, size_t rows, const tab_table **ret,
                       tab_error *err);
} tab_part_source;

typedef struct tab_part tab_part;
typedef struct {
    const char *name;
    /* Says its columns. NOT_FOUND: the result has no such part. */
    tab_status (*open)(tab_part *p, tab_error *err);
    /* The next rows, in the arena; NULL: there are none. */
    tab_status (*next)(tab_part *p, tab_arena *a, const tab_table **ret, tab_error *err);
} tab_part_kind;

struct tab_part {
    tab_arena *arena;         /* for as long as the part */
    const Tabella__Bundle *b; /* or its head */
    const tab_part_kind *kind;
    tab_part_source source;
    tab_str table; /* filled: its id; empty: the only one */
    tab_file_column *column;
    size_t cols;
    bool shares;     /* results: the probability of every class, where there are few */
    bool *open_type; /* (cols) its type is that of its cells, which are to be looked at */
    /* where it is */
    tab_part_cursor cursor[2];
    size_t at;
    struct part_filled *filled;
};

/* By its name: results, filled, unified_rows, matches, duplicates, suspects, forecast. NULL: none. */
const tab_part_kind *tab_part_named(tab_str name);
/* tab_part_named has all of them but this one: a row for each column of each table. */
extern const tab_part_kind tab_part_profile;

/* Says the columns. NOT_FOUND: the result has no such part. */
tab_status tab_part_open(tab_part *p, tab_error *err) TAB_CHECKED;
/* The next rows, in the arena; NULL: there are none. */
tab_status tab_part_next(tab_part *p, tab_arena *a, const tab_table **ret, tab_error *err) TAB_CHECKED;

/* Columns of the caller's own are of the type that all their cells have: all rows are read once for that,
 * each batch after `step(of)`, and the part is at its first row again. step may be NULL. */
tab_status tab_part_types(tab_part *p, tab_status (*step)(void *of, tab_error *err), void *of,
                          tab_error *err) TAB_CHECKED;
void tab_part_close(tab_part *p);

/* Rows [from, from + rows) of a table that is here whole. NULL: the arena is full. */
const tab_table *tab_part_rows(tab_arena *a, const tab_table *all, size_t from, size_t rows);

#endif
