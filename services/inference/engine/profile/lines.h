/* An export of lines that says what belongs to the whole document on its first line only, as shops' exports
 * of orders do (decision 0555):
 *
 *   order   customer   total   item    pieces
 *   #1001   Ann        28.50   cap          1
 *   #1001                      shirt        2
 *   #1002   Bob         9.50   cap          1
 *
 * The cells below are not missing, and the lines are no copies of one another. */
#ifndef TAB_PROFILE_LINES_H
#define TAB_PROFILE_LINES_H

#include "services/inference/engine/profile/profile.h"

/* The column of the documents: each of its values stands in rows one below the other, and some other column
 * has its values on the first of these alone. TAB_NULL: there is none. */
uint32_t tab_lines_document(const tab_profile *p);

/* Is the column one whose values stand on the first rows of the document's? Of ten such rows nine have a
 * value at least, of the others none. */
bool tab_lines_on_first(const tab_profile *p, uint32_t document, size_t column);

#endif
