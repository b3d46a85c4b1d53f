/* Cells of an organization's minute. */
#ifndef TAB_API_CELLS_H
#define TAB_API_CELLS_H

#include "services/api/api.h"

/* Debits the organization's cells of the minute; RATE_LIMIT with r->retry_after. ahead: the calls
 * are so small that a share of the minute is debited at once. What a request debited is given back when it
 * was refused, unless its body was at fault. */
tab_status cells_debit(request *r, uint64_t cells, bool ahead, tab_error *err) TAB_CHECKED;
/* Whether the share that was debited ahead serves the cells; asks nobody. */
bool cells_take(request *r, uint64_t cells) TAB_CHECKED;
void cells_untake(request *r, uint64_t cells);
void cells_give_back(request *r, tab_status s);

#endif
