/* Texts of asked rows that are made of other letters than the known ones: codes that begin otherwise, another
 * language, another encoding (decision 0793). */
#ifndef TAB_PREDICT_NOVEL_TEXTS_H
#define TAB_PREDICT_NOVEL_TEXTS_H

#include "services/inference/engine/profile/profile.h"

/* Whether the asked texts of a column are of another kind than its known ones: they hold runs of three
 * characters that no known text has, and known texts hardly hold any that no other one has. asked (rows).
 * False: memory. */
bool tab_asked_novel_texts(const tab_column_profile *c, const bool *asked, size_t rows,
                           bool *ret) TAB_CHECKED;
#endif
