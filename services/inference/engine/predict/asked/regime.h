/* In which regime rows are asked: how the rows without a target lie to those with one. A row of tomorrow, or
 * of a customer never seen, is answered less well than one among the others; how much so is only told by
 * labelled rows that were kept apart in the same way (decision 0390). */
#ifndef TAB_REGIME_H
#define TAB_REGIME_H

#include "services/inference/engine/series/series.h"

/* As Results.regime has them. */
typedef enum {
    TAB_REGIME_ALIKE,
    TAB_REGIME_LATER,     /* after all labelled rows in time */
    TAB_REGIME_NEW_GROUP, /* of a group that no labelled row is of */
    TAB_REGIME_OUT_OF_RANGE
} tab_regime;
enum { TAB_REGIMES = 4 };

typedef struct {
    size_t asked;             /* rows without a target */
    const bool *open;         /* (rows) which these are */
    size_t rows[TAB_REGIMES]; /* of them */
    uint8_t *of;              /* (rows) a tab_regime; ALIKE where a target is present */
    size_t group;             /* the column whose groups are new; the table's width: none */
    size_t with;              /* the column whose pairs with `group` are new; the table's width: none */
    uint32_t *member;         /* (rows) which of its groups a row is of; NULL without one */
    bool timed;               /* rows are ordered in time, in `series` */
    double last;              /* the time of the last labelled row */
    bool turned;              /* `series` runs backwards: LATER are rows that come before all labelled ones */
    int64_t mirror;           /* turned: an index is this less the one that it was */
    tab_series series;
} tab_asked;

/* asked (rows): rows that lack a target. own: columns that are the table's own. All lives in a.
 * Errors: INTERNAL (memory). */
tab_status tab_regime_find(tab_arena *a, const tab_profile *p, size_t target, size_t own, const bool *asked,
                           tab_asked *ret, tab_error *err) TAB_CHECKED;

/* Whether the asked rows mostly come later. Errors as above. */
tab_status tab_regime_mostly_later(const tab_profile *p, size_t target, const bool *asked, bool *ret,
                                   tab_error *err) TAB_CHECKED;

/* Turns time round where most asked rows come before the labelled ones, of their series or of all: what came
 * before is told by what came after as the future is by the past. For rows that are asked now; those that
 * will be served are read by the time as it runs. False: memory. */
bool tab_regime_turn(size_t rows, tab_asked *ret) TAB_CHECKED;

/* The same rows by a time that runs backwards, none of them asked. False: the arena is full. */
bool tab_regime_turned(tab_arena *a, size_t rows, const tab_asked *of, tab_asked *ret) TAB_CHECKED;

/* The value of each row as a number 0..n-1, TAB_NULL where there is none. NULL: not a column of groups, or
 * memory. */
uint32_t *tab_group_values(tab_arena *a, const tab_column_profile *c, size_t rows);

extern const char *const tab_regime_names[TAB_REGIMES];
#endif
