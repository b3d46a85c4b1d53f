/* An organization's export: what both of its routes do. */
#ifndef TAB_API_EXPORTS_H
#define TAB_API_EXPORTS_H

#include "services/api/api.h"

/* An archive shows whatever there is, so the key must be allowed to read all of it. AUTH_SCOPE. */
tab_status export_allowed(const request *r, tab_error *err) TAB_CHECKED;

#endif
