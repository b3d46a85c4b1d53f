/* Columns of codes: part numbers, number plates, postal codes, tax numbers. One code is written with and
 * without what divides it: "K-EB 4751", "KEB4751" (decision 0763). */
#ifndef TAB_ALIGN_CODES_H
#define TAB_ALIGN_CODES_H

#include "services/inference/engine/profile/profile.h"

/* Which columns are compared without the spaces of their normal forms: nearly all of their values are codes,
 * and a column of another table, or the column itself, holds some of them divided otherwise. Not where two
 * values of one column differ in the place of a division between digits alone, as shelves 1-12 and 11-2 do.
 * ret[table][column]; false: out of memory. */
bool tab_codes_find(tab_profile *const *profiles, size_t n, tab_arena *a, bool ***ret);

/* Takes the spaces out of a normal form; returns its length. */
size_t tab_code_close(char *text, size_t n);
#endif
