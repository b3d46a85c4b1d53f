/* Rows that belong together: where one of them is learned from, another is no test. Copies and near
 * copies of a row (equal but for keys, ids and row numbers; one cell changed; all numbers moved a
 * little) are one unit, and so are the rows of a group of which every row has one target (the visits of
 * a patient, the lines of an order). Folds and held-out splits keep a unit on one side; a score of rows
 * that were told by their copies says what the copies say.
 *
 * Equal rows are not always copies. Rows of a survey, or of a table of counts, are equal since few unlike
 * rows can be: each is a measurement of its own, and the share of a cell is best learned from its other
 * rows. They are told apart by two questions: do the targets of equal rows agree more than those of any two
 * rows, and does chance make such rows (decision 0391)? */
#ifndef TAB_UNITS_H
#define TAB_UNITS_H

#include "services/inference/engine/features/encode.h"

typedef enum {
    TAB_UNITS_ROWS,    /* each row is its own; folds keep equal rows together all the same */
    TAB_UNITS_REPEATS, /* most rows have equals, which are repeated measurements: each row is its own */
    TAB_UNITS_COPIES,  /* copies and near copies are one unit */
    TAB_UNITS_GROUPS   /* rows of one level of `column` are, and copies as well */
} tab_units_kind;

typedef struct {
    tab_units_kind kind;
    uint32_t *unit; /* (rows) the first row of the unit; NULL where each row is its own */
    size_t column;  /* GROUPS: whose levels have one target each; else the table's width */
    size_t copies;  /* rows that are a copy, or nearly one, of a row before them */
} tab_units;

/* Of p's rows for one target, which is read as it is predicted: by its value or, as numbers, by how far apart
 * two are. Groups are not taken where most of the rows without a target are of groups that have one: these
 * are asked about what is known. Where no target is chosen yet (the table's width) copies are told by chance
 * alone. The partition does not depend on the order of rows or columns. False: memory. */
bool tab_units_find(tab_arena *a, const tab_profile *p, size_t target, bool numeric, tab_units *ret);

/* Units and other wholes (entities) at once: unit and with (rows) share a whole where either does. NULL:
 * memory. */
uint32_t *tab_units_joined(tab_arena *a, const uint32_t *unit, const uint32_t *with, size_t rows);

/* The units of encoded rows: the first of each in d, so that they hold for the first rows of d as well. *ret
 * is NULL where each row is its own. False: the arena is full. */
bool tab_units_of(tab_arena *a, const tab_units *u, const tab_data *d, uint32_t **ret);

/* The key of a cell by its content, the same in any table; 0: missing. */
uint64_t tab_units_key(const tab_values *v, size_t row);
#endif
