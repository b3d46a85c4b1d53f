/* What the files of SCIM share, and the form of its errors. */
#ifndef TAB_SCIM_H
#define TAB_SCIM_H

#include "proto/keys.pb-c.h"
#include "services/api/api.h"

#define SCIM_MEDIA "application/scim+json"

/* The error's body by the request's status; type: a scimType, or anything else for none. */
void scim_error(request *r, const char *type, const char *message);
/* Whether there is a body of JSON, not too long. VALIDATION. */
tab_status scim_body(const request *r, tab_error *err) TAB_CHECKED;

#endif
