/* Matching cases on disk (data/match/README.md of the shared data): tables, true columns, true rows. */
#ifndef TAB_BENCH_CASES_H
#define TAB_BENCH_CASES_H

#include "services/inference/engine/profile/profile.h"

enum { CASE_TABLES = 8 };

typedef struct {
    uint32_t ta, tb, a, b;
} true_pair;

typedef struct {
    char name[128];
    size_t n;
    tab_table table[CASE_TABLES];
    true_pair *column, *row; /* ascending; indices, not names */
    size_t columns, rows;
    bool has_rows;
} match_case;

/* Reads folder dir/name. Prints what is wrong and returns false. */
bool case_read(tab_arena *a, const char *dir, const char *name, match_case *ret);

/* A CSV file as a table: a column whose every cell is a JSON number is numbers, an empty cell is null.
 * NULL when it cannot be read. */
bool csv_table(tab_arena *a, const char *path, const char *id, tab_table *ret);

/* within.c: what is found of the duplicates of one table (duplicates.csv, moved.csv: some of them), by number
 * of pairs; bins of p by tenths. */
typedef struct {
    double there, said, right, moved, moved_found, sure, sure_right, oracle, seconds;
    double bin_p[10], bin_right[10], bin_n[10];
} within_found;

/* Prints one line. False: the case has no such table. */
bool within_run(const char *dir, const char *name, within_found *ret);
void within_header(void);
void within_means(const within_found *o, size_t n);

/* scale.c: prints one line. threads: 1 to 16. */
void scale_run(size_t rows, size_t threads);
#endif
