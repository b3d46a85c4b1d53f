/* Tables whose duplicates are known, with the features of their pairs. */
#ifndef TAB_TRAIN_SAMPLES_H
#define TAB_TRAIN_SAMPLES_H

#include "services/inference/engine/link/evidence/twin_pairs.h"

typedef struct {
    char name[96], family[64]; /* family: what one source is; left out as a whole */
    bool made;                 /* not from the world */
    bool counted;              /* its truth is known; else no duplicates are supposed */
    bool unjudged;             /* only learnt from */
    bool judged_only;          /* nothing is learnt from it */
    bool apart;                /* and it has its own line in the report */
    size_t fold;
    size_t truths;         /* true pairs in the table */
    const uint32_t *truth; /* (truths, 2) rows a < b, ascending */
    tab_twin_pairs s;
    uint8_t *label; /* (s.n) */
    float *x;       /* (s.n, TAB_TWIN_FEATURES) */
} sample;

/* Adds the tables of every folder in dir that has a duplicates.csv (table,row,other_row), and where one
 * source was dealt into two tables both as one. Returns the number of samples. */
size_t samples_read(tab_arena *a, const char *dir, sample *s, size_t n, size_t most);

/* Adds the CSV files of dir as tables of which nobody says that they hold duplicates. */
size_t samples_plain(tab_arena *a, const char *dir, bool judged_only, sample *s, size_t n, size_t most);

/* Adds made tables without duplicates: plain.c. */
size_t samples_made(tab_arena *a, sample *s, size_t n, size_t most);

/* The order of true pairs. */
int sample_by_rows(const void *a, const void *b);

/* One table with its true pairs, (truths, 2) rows. */
bool sample_of(tab_arena *a, const tab_table *t, const uint32_t *truth, size_t truths, sample *ret);

#endif
