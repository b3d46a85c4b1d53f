/* Classes that follow from two columns: no question is asked of them (decision 0419). */
#ifndef TAB_DETERMINED_H
#define TAB_DETERMINED_H

#include "services/inference/engine/features/encode.h"

/* Whether two features of d fix the classes (label (rows), TAB_NULL where missing) in all but one row of 200,
 * where no single one does and far fewer pairs of values than rows occur. Of pairs with one of the n features
 * first[]; ret: the columns that the two are of. False also: out of memory. */
bool tab_fixed_by_two(const tab_encoder *enc, const tab_data *d, const uint32_t *label, size_t classes,
                      const size_t *first, size_t n, size_t ret[2]);
#endif
