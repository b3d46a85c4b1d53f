/* Tables of an organization of a sector, made from nothing: customers, orders and items that refer to
 * each other, with values, seasons, gaps and outcomes as such an organization has them.
 *
 * What there is in a sector is data (sectors/SLUG.txt, lists.txt; README.md beside them says how to
 * read them): tables, their columns, how each is drawn from those before it. One interpreter makes the
 * rows. Chance is counted, not carried along: every draw is a hash of the seed, its place in the plan
 * and the row, so row i of a table is a function of sector, rows asked for, seed and i. Rows can be
 * made in any order, by any number of threads, and streamed without end (decision 0329). No
 * customer's data is read anywhere. */
#ifndef TAB_GENERATE_H
#define TAB_GENERATE_H

#include <stdatomic.h>

#include "common/base/arena.h"
#include "common/table/table.h"

#define TAB_GENERATE_MOST_ROWS UINT64_C(1000000000)
enum { TAB_GENERATE_TABLES = 8, TAB_GENERATE_COLS = 64 };

typedef struct tab_generator tab_generator; /* read-only once open */

/* sector: slug or name. VALIDATION on `sector` or `rows`, saying what there is. The main table has `rows`
 * rows, the others as many as go with it. Lives in the arena. */
tab_status tab_generate_open(tab_arena *a, tab_str sector, uint64_t rows, uint64_t seed, tab_generator **ret,
                             tab_error *err) TAB_CHECKED;

typedef struct {
    tab_str name;
    tab_str stated; /* "rate 0.2, AUC 0.8" of an outcome, "R2 0.7" of a quantity; empty for others */
} tab_generated_column;

typedef struct {
    tab_str name;
    uint64_t rows;
    size_t cols;
    const tab_generated_column *col;
    size_t refers; /* columns that are keys of other tables */
    struct tab_generated_reference {
        size_t col, table; /* that table's column 0 */
    } ref[TAB_GENERATE_TABLES];
    size_t checks;
    const tab_str *check; /* what holds in every row, as written in the plan */
} tab_generated_table;

size_t tab_generate_tables(const tab_generator *g);
const tab_generated_table *tab_generate_table(const tab_generator *g, size_t i); /* 0 is the main one */

/* A cell as it is shown: NULL, a number of so many decimals (its double is the nearest), or a text. */
typedef struct {
    tab_cell_kind kind;
    int decimals;
    double num;
    tab_str text;
} tab_generated_cell;

/* Makes rows; one a thread. */
typedef struct tab_generate_reader tab_generate_reader;
tab_generate_reader *tab_generate_reader_new(tab_arena *a, const tab_generator *g); /* NULL: no memory */
/* All cells of a row (cols); texts are good until the next call. */
void tab_generate_row(tab_generate_reader *r, size_t table, uint64_t row, tab_generated_cell *ret);
/* How many of the row's checks do not hold (0, unless a plan is wrong). */
size_t tab_generate_broken(tab_generate_reader *r, size_t table, uint64_t row);

/* Rows [first, first + n) as a table named as in the plan. CANCELLED when *cancel (or NULL) is set. */
tab_status tab_generate_build(tab_arena *a, const tab_generator *g, size_t table, uint64_t first, uint64_t n,
                              const atomic_bool *cancel, const tab_table **ret, tab_error *err) TAB_CHECKED;

/* A number's text with its decimals, into buf (40); gives its length. */
size_t tab_generate_number(double x, int decimals, char *buf);
#endif
