/* How rows are kept apart where answers are judged. Rows that lie near each other in time, or that speak of
 * one person, tell of each other; a random split then says more than the future, or a new person, will bear
 * out. Where rows are to be answered, they say what is asked: rows are kept apart by time where these come
 * later, by the groups where theirs are new, at random where they are alike (decision 0390). Where none
 * are, the choice is made from the data (decision 0294): a column of times or of repeating keys is taken
 * where rows kept apart by it are answered worse than rows kept apart at random, beyond chance. */
#ifndef TAB_ARRANGE_H
#define TAB_ARRANGE_H

#include "services/inference/engine/learn/stack/stack.h"
#include "services/inference/engine/predict/asked/regime.h"

typedef struct {
    tab_split kind; /* RANDOM, TIME or GROUP */
    size_t column;  /* of times or groups; the table's width where the kind is RANDOM */
    float *place;   /* (rows of the encoded data) as tab_problem has it; NULL where the kind is RANDOM */
    const char *reason;
    bool measured;              /* of the column, or of the nearest rival of a random split */
    double score, random_score; /* shares of the baseline's loss that a small model takes off */
    size_t time;                /* a column of times; the table's width: none */
    /* some rows are asked of new groups, where most are alike: the share of the baseline's loss that these
     * lose more, and the share of what is known of the others that is known of them */
    double fresh_gap, fresh_left;
} tab_arrangement;

/* q: the problem without a place; its data are those of p, target is its column. own: columns of p that are
 * the table's own, which alone may part rows. asked: what is to be answered, or NULL: not known. All lives
 * in a. Errors: VALIDATION ("options.split": no column of times, or of groups), CANCELLED, INTERNAL. */
tab_status tab_arrange(const tab_engine *e, tab_arena *a, const tab_profile *p, const tab_problem *q,
                       size_t target, size_t own, tab_split want, const tab_asked *asked,
                       tab_arrangement *ret, tab_error *err) TAB_CHECKED;

/* By a small model, of rows of other levels beside rows kept apart at random: lost, the share of the
 * baseline's loss that they take off less, beyond chance, or 0; left, the share of what these tell of a row
 * that those tell, 0 to 1. level (rows of the table): TAB_NULL: none. False: memory or cancelled. */
bool tab_known_of_new(const tab_engine *e, const tab_profile *p, const tab_problem *q, const uint32_t *level,
                      double *lost, double *left) TAB_CHECKED;

/* What a column says of times: its number of a row, or NaN. NULL: it orders nothing. */
const double *tab_times_of(const tab_column_profile *c, size_t rows);

/* The times of the table where columns hold them and rows came in their order, or stand by series; else
 * NULL. */
const double *tab_times_told(const tab_asked *s, size_t rows);

/* The group of each row by the column's values, `rows` + row where it has none; NULL: it groups nothing, or
 * memory (a is full). asked: a column of words will do that is no key, and of fewer values. */
uint32_t *tab_groups_of(tab_arena *a, const tab_column_profile *c, size_t rows, bool asked);
#endif
