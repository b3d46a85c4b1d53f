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

/* What is decided of them. GCRA, as in Redis: *tat is when the bucket will be full, in milliseconds, as now
 * is. 0: the cells were debited; else after how many milliseconds they may be. cells < 0 gives back. */
int64_t cells_bucket(double *tat, double now, int64_t cells, uint64_t limit);
/* What an organization has debited ahead in this process, and its bucket while Redis is away. turn: the
 * slot is org's from now on; what is given is another one's, whose cells go back, or nothing. */
typedef struct {
    char org[48];
    uint64_t cells, limit;
    double tat; /* milliseconds of tab_mono_ms() */
} cells_slot;
cells_slot cells_slot_turn(cells_slot *p, const char *org);
bool cells_slot_take(cells_slot *p, const char *org, uint64_t cells) TAB_CHECKED;
void cells_slot_return(cells_slot *p, const char *org, uint64_t cells);
/* How many cells are debited beyond those of a small call, for those to come: a 64th of the minute in all. */
uint64_t cells_ahead(uint64_t cells, uint64_t limit);

#endif
