/* Single identifiers: what codes.c fills columns with, and nothing else calls. */
#ifndef TAB_TRAIN_IDENTIFIERS_H
#define TAB_TRAIN_IDENTIFIERS_H

#include "tools/train/maker.h"

/* One value of the role in t (size), in one of ten ways of writing it (way 0 .. 9, drawn once a column).
 * False: the role's values are not made one by one. */
bool one_identifier(maker *m, int role, size_t way, char *t, size_t size);

#endif
