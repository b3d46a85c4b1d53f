/* Cells of asked rows that are not written as the known ones are: another file, another export. A level that
 * differs from a known one in case, accents or blanks alone is that one. A number that stands for "not known"
 * (0, -1, 999 ...) outside of all known ones, and numbers that are the known ones in another unit (grams in
 * place of kilograms), tell nothing in the way in which the known cells do: they are read as empty, and what is
 * found is said (decision 0781). */
#ifndef TAB_ASKED_CELLS_H
#define TAB_ASKED_CELLS_H

#include "services/inference/engine/predict/fitted.h"

/* p with the asked rows' cells as they are to be read. use (cols): columns that explain. *ret is p itself
 * where all cells stand as they are, else f->unlike says which do not. All lives in f's arena.
 * Errors: INTERNAL (memory). */
tab_status tab_asked_cells(const tab_profile *p, const bool *use, tab_fitted *f, const tab_profile **ret,
                           tab_error *err) TAB_CHECKED;
#endif
