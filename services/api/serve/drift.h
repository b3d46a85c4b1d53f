/* How the rows that an endpoint serves differ from those that it pins (decision 0322). */
#ifndef TAB_API_DRIFT_H
#define TAB_API_DRIFT_H

#include "proto/jobs.pb-c.h"
#include "services/api/api.h"

/* The member `drift`, null where nothing was served. number: answers are numbers. */
void drift_member(tab_out *o, const Tabella__Drift *d, bool number);
#endif
