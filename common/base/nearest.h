/* Names that are nearly another: for messages to people who mistyped one. */
#ifndef TAB_NEAREST_H
#define TAB_NEAREST_H

#include "common/base/base.h"

/* The first of the n known names that is nearest to `word`, by insertions, deletions, changes and swaps of
 * neighbouring bytes (Damerau 1964), letters' case apart; n where even that one is further than a third of
 * its length, unless it is the only name that begins with `word`, of 4 letters or more (spend_cap ->
 * spend_cap_usd). Names over 64 bytes are near nothing. */
size_t tab_nearest(tab_str word, const tab_str *known, size_t n);
#endif
