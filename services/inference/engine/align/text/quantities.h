/* Sizes within texts, the same however they are written:
 *
 *   "0,5 l", "0.5L", "50 cl", "500ml"   ->  500ml
 *   "1.5 kg", "1500 gr"                 ->  1500g
 *   "M10X20", "M10 x 20", "M10×20"      ->  m10x20
 *
 * Volumes and masses alone: lengths and sizes of memory are mostly written in the unit that their kind of
 * thing has (decision 0785). */
#ifndef TAB_ALIGN_QUANTITIES_H
#define TAB_ALIGN_QUANTITIES_H

#include "common/base/base.h"

enum { TAB_QUANTITY_MAX = 24 };

/* The quantity that begins at s.p[at], a digit: its one form in lower case, ASCII, without blanks. *read: the
 * bytes of s that it takes. Returns the length of out; 0 where none begins there. */
size_t tab_quantity(tab_str s, size_t at, char out[TAB_QUANTITY_MAX], size_t *read);

/* The measures that begin at s.p[at], the beginning of a word: at most two letters, then whole numbers
 * with an x between them and nothing behind. As tab_quantity. */
size_t tab_measures(tab_str s, size_t at, char out[TAB_QUANTITY_MAX], size_t *read);
#endif
