/* The inside of relational/: shared by its files only. */
#ifndef TAB_RELATIONAL_PARTS_H
#define TAB_RELATIONAL_PARTS_H

#include "services/inference/engine/features/encode.h"
#include "services/inference/engine/relational/relational.h"

/* Bounds of what is tried; LINKED_ROWS: rows at the ends of all ways together, some 30 bytes each. Chosen by
 * hand, not measured. */
enum { TAB_WAY_HOPS = 3, TAB_WAYS = 40, TAB_LINK_FEATURES = 300, TAB_LINKED_ROWS = 8000000 };

/* ---- keys ------------------------------------------------------------------------------------ */

/* The columns that join a table to another one, as a hash a row of their cells in normal form; 0: one is
 * missing. */
typedef struct {
    size_t table, rows;
    uint32_t columns, column[TAB_KEY_ALSO + 1];
    uint64_t *hash; /* (rows) */
    uint32_t *slot; /* (slots) open addressing: row + 1 of the first row with a hash, or 0 */
    size_t slots;
} tab_keyed;

/* hash (rows): of any rows of the table, whose columns are col. date: (columns) its dates as numbers, so that
 * a day is the same however it is written; NULL where a column is none. False: out of memory. */
bool tab_key_hashes(const tab_keyed *k, const tab_column *col, const double *const *date, size_t rows,
                    uint64_t *hash) TAB_CHECKED;
/* A column's dates as numbers; NULL: it is none. */
const double *tab_key_dates(const tab_column_profile *c);
/* Of columns column[columns]. False: out of memory. */
bool tab_keyed_new(tab_arena *a, const tab_profile *p, size_t table, const uint32_t *column, uint32_t columns,
                   tab_keyed *ret) TAB_CHECKED;
tab_pack_fn tab_pack_keyed;
/* The first row with the hash, or TAB_NULL. */
uint32_t tab_keyed_row(const tab_keyed *k, uint64_t hash);

/* ---- ways ------------------------------------------------------------------------------------ */

/* From rows of one table to rows of another that hold the same key. */
typedef struct {
    const tab_keyed *from, *to;
} tab_hop;

/* Up to two hops to single rows, then up to two to many, then one from each of these to a single row:
 *
 *   loans ─> accounts <─ transactions        up, many
 *   customers <─ orders <─ items ─> products many, many, side */
typedef struct {
    tab_hop hop[TAB_WAY_HOPS];
    size_t ups, downs, sides;
    /* downs > 0: rows of the leaf table, grouped by the key that the first of them share, in order of time */
    uint64_t *key; /* (groups) */
    size_t groups;
    uint32_t *slot; /* (slots) group + 1 by key, or 0 */
    size_t slots;
    uint32_t *at;   /* (groups + 1) */
    uint32_t *leaf; /* rows, group by group, in order of time and row */
    double *time;   /* beside leaf; NULL: they have none */
    size_t side_rows;
    uint32_t
        *side;   /* (side_rows, of the leaf table) row of the side table, or TAB_NULL; NULL without a side */
    double now;  /* the latest time */
    bool own;    /* what it leads to belongs to one of the target's rows alone */
    bool cut;    /* rows count that are before the target's row: the least of its moments */
    bool absent; /* rows without a target have nothing here, though those with one have: it is not read */
    double with, without; /* share of the rows with and without a target that have something here */
    const char *by;       /* the column that the way starts from, where its end is reached in several ways */
} tab_way;

/* The table that groups are of (downs > 0), and the one that columns are read of. */
size_t tab_way_leaf(const tab_way *w);
size_t tab_way_end(const tab_way *w);
/* From the first hop's key: the row at the end of the ups, or TAB_NULL; the key of the group, or 0. */
uint32_t tab_way_row(const tab_way *w, uint64_t key);
uint64_t tab_way_key(const tab_way *w, uint64_t key);
/* The group of a key, or TAB_NULL. */
uint32_t tab_way_group(const tab_way *w, uint64_t key);

typedef enum {
    TAB_LINK_NUMBER, /* of the one row: a number, */
    TAB_LINK_CODE,   /* a category, */
    TAB_LINK_AGE,    /* days since a date */
    TAB_LINK_COUNT,  /* of many rows */
    TAB_LINK_SUM,
    TAB_LINK_MEAN,
    TAB_LINK_LEAST,
    TAB_LINK_MOST,
    TAB_LINK_LAST,
    TAB_LINK_SINCE, /* days since the last row */
    TAB_LINK_SHARE, /* of rows with the category `level` */
    TAB_LINK_HITS,  /* how many of those */
    TAB_LINK_DISTINCT
} tab_link_kind;

typedef struct {
    const tab_way *way;
    tab_link_kind kind;
    size_t table, column; /* read; no column for COUNT and SINCE */
    uint32_t level;
    char *name;
} tab_link_feature;

/* What a date of the target's table is held to be. */
typedef enum {
    TAB_DATE_NONE,      /* no date, or nothing linked has one */
    TAB_DATE_MOMENT,    /* it lies after what it should see */
    TAB_DATE_BEGINNING, /* what belongs to the row came after it */
    TAB_DATE_KNOWN /* in doubt: but rows that are asked about have later rows as often as the others do */
} tab_link_date;

/* Rows that are linked, and how many of them are before a date. */
typedef struct {
    double before, of;
} tab_link_share;

typedef struct {
    tab_link_date kind;
    tab_link_share own, around,
        single; /* rows of its own; those it shares with others; the row it refers to */
} tab_link_dates;

/* What was not made of a table, since it differs between labelled rows and rows to predict. */
typedef struct {
    size_t columns;
    char *name;       /* of the first; NULL: there are none */
    double middle[2]; /* its medians */
} tab_link_shift;

struct tab_links {
    tab_profile *const *p;
    size_t n, table, target;
    bool *open;   /* (rows) without a target: rows that are asked about */
    size_t asked; /* how many */
    size_t as_of; /* as given: TAB_AS_OF_EVIDENCE, TAB_AS_OF_NONE, or a column */
    bool *moment; /* (columns) dates whose least is when the row is asked about */
    size_t moments;
    tab_link_dates *date; /* (columns) what was seen of the dates */
    size_t *clock;        /* (n) the date column that is a table's time; its width: none */
    tab_keyed *keyed;
    size_t keys;
    tab_way *way;
    size_t ways, rows; /* rows at their ends */
    tab_link_feature *feature;
    size_t features;
    tab_link_shift *shift; /* (n) */
};

/* Which of the links' keys a way starts from. */
static inline size_t tab_way_start(const tab_links *l, const tab_way *w)
{
    return (size_t)(w->hop[0].from - l->keyed);
}

struct tab_link_set {
    size_t n;
    const tab_link_feature **feature; /* (n) in the order of candidates */
};

/* Fills l's ways. False: out of memory. */
bool tab_ways_find(tab_arena *a, tab_links *l, const tab_references *refs) TAB_CHECKED;
/* Rows of a way's leaf table in groups, in order of time. False: out of memory. */
bool tab_way_group_rows(tab_arena *a, const tab_links *l, tab_way *w) TAB_CHECKED;
tab_pack_fn tab_pack_way; /* context: the links */
/* The times of a table's rows; NULL: it has none. */
const double *tab_link_clock(const tab_links *l, size_t table);
/* Which dates of the target's table are when its rows are asked about, and which ways they cut. False: out of
 * memory. */
bool tab_link_moments(tab_arena *a, tab_links *l) TAB_CHECKED;
/* Which ways lead nowhere from the rows that are asked about. False: out of memory. */
bool tab_link_absences(tab_arena *a, tab_links *l) TAB_CHECKED;
/* The least of a row's moments; NaN where one is missing. date (columns): of moments. */
double tab_link_moment(const tab_links *l, double *const *date, size_t row);
/* Whether a column is a date that a row's time may be. */
bool tab_link_dated(const tab_column_profile *c);
/* A column's numbers, also of codes that are whole numbers and identify nobody; NULL: it has none. */
const double *tab_link_numbers(const tab_column_profile *c);
/* Fills l's clocks. False: out of memory. */
bool tab_link_clocks(tab_arena *a, tab_links *l) TAB_CHECKED;
/* Fills l's candidates. False: out of memory. */
bool tab_link_candidates(tab_arena *a, tab_links *l) TAB_CHECKED;
/* Takes out candidates of many rows that are distributed otherwise in the rows to predict (shifted.c).
 * Errors: CANCELLED, INTERNAL (memory). */
tab_status tab_link_shifts(const tab_engine *e, tab_links *l, tab_error *err) TAB_CHECKED;
/* made (candidates): numbers of rows that are referred to which were computed from the targets of p's rows,
 * rows row[] of the table (NULL: all) (made_of_target.c). False: memory. */
bool tab_link_made_of_target(const tab_links *l, const tab_profile *p, const uint32_t *row, size_t target,
                             bool *made) TAB_CHECKED;

/* ---- values ---------------------------------------------------------------------------------- */

/* Rows of the target's table, pinned or new, by what ways read of them. */
typedef struct {
    size_t rows;
    uint64_t **key; /* (keys of the links) hashes, where a way starts; else NULL */
    double **date;  /* (columns) where a way is cut; else NULL */
} tab_subjects;

/* Of rows row[] of the pinned table (NULL: the first n), or of new rows. False: out of memory. */
bool tab_subjects_pinned(tab_arena *a, const tab_links *l, const uint32_t *row, size_t n,
                         tab_subjects *ret) TAB_CHECKED;
bool tab_subjects_new(tab_arena *a, const tab_links *l, const tab_table *t, tab_subjects *ret) TAB_CHECKED;

/* Values of n candidates: number[i] (rows), or code[i] (rows) into the levels of the column that it reads. */
typedef struct {
    double **number;
    uint32_t **code;
} tab_link_values;

tab_status tab_link_fill(const tab_engine *e, const tab_links *l, const tab_link_feature *const *f, size_t n,
                         const tab_subjects *s, tab_link_values *ret, tab_error *err) TAB_CHECKED;

/* The made columns as the encoder reads them: c (n), with column numbers from `first` on. False: out of
 * memory. */
bool tab_link_profiles(tab_arena *a, const tab_links *l, const tab_link_feature *const *f, size_t n,
                       const tab_link_values *v, size_t rows, size_t first,
                       tab_column_profile *c) TAB_CHECKED;

#endif
