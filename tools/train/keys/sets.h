/* Fits and judges the weights of references by several columns (engine/keys/sets.h). */
#ifndef TAB_TRAIN_KEY_SETS_H
#define TAB_TRAIN_KEY_SETS_H

#include "tools/train/keys/schemas.h"

/* Fits on all schemas that are not silent and writes the weights as a header. False: printed what is wrong. */
bool sets_write(schema *s, size_t n, const char *path);

/* Judges each family by weights that learnt on the others; what is chosen is counted, and how sure it is.
 * verbose: names what is wrong and missed. */
bool sets_leave_out(schema *s, size_t n, bool verbose);

#endif
