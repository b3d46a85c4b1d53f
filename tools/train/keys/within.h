/* Fits and judges the weights of references within a table (engine/keys/within.h). */
#ifndef TAB_TRAIN_KEY_WITHIN_H
#define TAB_TRAIN_KEY_WITHIN_H

#include "tools/train/keys/schemas.h"

/* Fits on all schemas that are not silent and writes the weights as a header. False: printed what is
 * wrong. */
bool within_write(const schema *s, size_t n, const char *path);

/* Judges each family by weights that learnt on the others: what is found, and how sure it is. verbose: names
 * what is wrong and missed. */
bool within_leave_out(const schema *s, size_t n, bool verbose);

#endif
