/* Rows that are held against each other, known ones and those to be judged, in one list. */
#ifndef DATA_EXPECTATIONS_POOL_H
#define DATA_EXPECTATIONS_POOL_H

#include "common/table/table.h"
#include "services/data-connector/expectations/chance.h"
#include "services/data-connector/expectations/expectations.h"

#define EXPECT_SCRATCH ((size_t)1 << 31)

/* Rows of a table: those listed, else n from `first` on. */
typedef struct {
    const tab_table *t;
    const uint32_t *list;
    size_t first, n;
} expect_rows;

/* Known rows, then judged ones. */
typedef struct {
    tab_arena *a;
    size_t n, known;
    bool appended;
    bool *learnt; /* (n) known rows that pairs of columns are learnt on, and not judged by */
    uint32_t *at; /* (n) its row in its table */
    const tab_table *of[2];
    tab_str *address[2]; /* (columns) of each table */
} expect_pool;

/* Cells among known rows and among judged ones. */
typedef struct {
    double known, judged;
} expect_counts;

static inline void expect_count(const expect_pool *p, size_t row, expect_counts *c)
{
    *(row < p->known ? &c->known : &c->judged) += 1;
}

/* Of each at most so many rows, drawn over all of them. */
bool expect_pool_new(tab_arena *a, const expect_rows *known, const expect_rows *judged, size_t most,
                     expect_pool *ret) TAB_CHECKED;

/* One column over all rows. */
typedef enum { CELL_MISSING, CELL_NUMBER, CELL_BOOL, CELL_TIME, CELL_TEXT, CELL_KINDS } expect_cell;
typedef struct {
    tab_str name;
    uint64_t *id;   /* (n) alike where the cells are; 0 for a missing one */
    uint64_t *form; /* (n) the same of how texts are written; 0 for what is no text */
    double *number; /* (n) of numbers, and of times in microseconds; NaN */
    double *length; /* (n) of texts; NaN */
    uint8_t *kind;  /* (n) */
    expect_counts present, kinds[CELL_KINDS];
} expect_column;

/* address: of the column, as the known table has it. */
bool expect_column_read(tab_arena *a, const expect_pool *p, tab_str address, expect_column *ret) TAB_CHECKED;

bool expect_column_there(const expect_pool *p, tab_str address); /* among judged rows */

/* The value of a cell that has this id, to be shown. */
tab_str expect_value(tab_arena *a, const expect_pool *p, const expect_column *c, size_t row);

/* What a mark says: `marked` of `among` cells. p: how likely it is that by chance the judged cells bear it as
 * unlike the known ones. */
typedef struct {
    double p, before, after; /* shares */
} expect_verdict;
expect_verdict expect_test(const expect_counts *marked, const expect_counts *among);
/* The known and the judged cells as a draw of the latter out of both. */
chance_draw expect_draw(const expect_counts *marked, const expect_counts *among);

#endif
