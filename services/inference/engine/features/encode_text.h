/* Short text to a few numbers: character n-grams hashed to a fixed width, weighed by rarity, and reduced to
 * their leading directions (latent semantic analysis: Deerwester et al., JASIS 1990; the range found by
 * subspace iteration from a fixed random start: Halko, Martinsson & Tropp, SIAM Review 2011). */
#ifndef TAB_FEATURES_ENCODE_TEXT_H
#define TAB_FEATURES_ENCODE_TEXT_H

#include "services/inference/engine/features/encode.h"

enum { TAB_TEXT_DIRECTIONS = 8 };

/* Fits on a column's distinct texts. NULL when there are too few to find a direction (fewer than 20), or
 * when the arena is full (tab_arena_full tells). */
tab_text_basis *tab_text_fit(tab_arena *a, const tab_str *text, size_t n);
tab_pack_fn tab_pack_text_basis;                /* a pointer to one */
size_t tab_text_width(const tab_text_basis *b); /* 0 for NULL */
/* out (n): coordinate `part` of each text. */
void tab_text_project(const tab_text_basis *b, size_t part, const tab_str *text, size_t n, double *out);
#endif
