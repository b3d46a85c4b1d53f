/* Columns of a table's own that say one number of all rows of a group and were computed from their
 * targets: a branch's churn rate beside each of its customers (features/target_means.h). A row's own
 * target is in it, and that of a row to predict is not (decision 0783). */
#ifndef TAB_GROUP_MEANS_H
#define TAB_GROUP_MEANS_H

#include "services/inference/engine/predict/fitted.h"

/* Takes such columns out of use (cols), and marks them in f->computed (cols), which it makes. own: columns of
 * p that are the table's own. False: memory. */
bool tab_group_means(const tab_profile *p, size_t own, bool *use, tab_fitted *f) TAB_CHECKED;
#endif
