/* Columns that a refresh would take away: callers send the old ones, and would be refused from then on. */
#ifndef TAB_JOBS_COLUMNS_H
#define TAB_JOBS_COLUMNS_H

#include "services/jobs/jobs.h"

/* x: the changes of a dataset of e. VALIDATION where the target is gone, or a column that callers send is and
 * nobody accepted that. */
tab_status columns_accepted(const Tabella__SchemaChange *x, const Tabella__Endpoint *e, bool accept,
                            tab_error *err) TAB_CHECKED;
#endif
