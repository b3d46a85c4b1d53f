/* Google's APIs: a service account signs who it is, and gets a token for an hour (OAuth 2.0 for servers, RFC
 * 7523). */
#ifndef DATA_GOOGLE_H
#define DATA_GOOGLE_H

#include "services/data-connector/providers/json_api.h"

/* Sets the api's login from credentials.service_account, the JSON of the account's key. Errors: VALIDATION on
 * credentials. */
tab_status google_login(json_api *api, tab_arena *a, const char *scope, tab_error *err) TAB_CHECKED;
/* What a status that is not 2xx means, by the reason that Google gives beside it. */
tab_status google_good(const http_answer *x, tab_error *err) TAB_CHECKED;

#endif
