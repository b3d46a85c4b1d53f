/* Alignments that the matched rows do not confirm are taken back. */
#ifndef TAB_LINK_CONFIRM_H
#define TAB_LINK_CONFIRM_H

#include "services/inference/engine/link/pairs/link.h"

/* Takes out of l->match the columns that matched rows (of at least `threshold`) do not confirm: where five
 * and more of them have a value in both columns, and these are alike no more than those of other rows, go
 * not up together and do not follow from one another (align/agreement.h); what is nearly sure stays.
 * TAB_INTERNAL: out of memory. */
tab_status tab_link_confirm(const tab_views *v, tab_linkage *l, double threshold, tab_error *err) TAB_CHECKED;

#endif
