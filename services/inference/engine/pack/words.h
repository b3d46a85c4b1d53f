/* Arrays of plain values in few bytes, for pack.c and the compressor behind it. An array's elements are cut
 * into 32-bit words; the words at one place of all elements are a column, and each column has one of three
 * forms, whichever takes least:
 *
 *   planes     all first bytes, all second bytes ...       floats, whose first bytes are alike
 *   deltas     the same of the differences of neighbours    places that rise
 *   levels     the distinct words, and which each is        few distinct values
 *
 * (Byte planes: Alted, Computing in Science & Engineering 2010.) Elements that are no whole number of words
 * follow as they are. */
#ifndef TAB_WORDS_H
#define TAB_WORDS_H

#include "common/base/base.h"

/* Most bytes that n elements of `size` bytes take. */
size_t tab_words_room(size_t n, size_t size);
/* Bytes written to `to`; 0: out of memory. */
size_t tab_words_write(const void *from, size_t n, size_t size, uint8_t *to);
/* Bytes of from[0..room) that were read into n elements at `to`, aligned to words; 0: they are none. n > 0 */
size_t tab_words_read(const uint8_t *from, size_t room, void *to, size_t n, size_t size);

#endif
