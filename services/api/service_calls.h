/* Calls to the other daemons on behalf of a request. */
#ifndef TAB_API_SERVICE_CALLS_H
#define TAB_API_SERVICE_CALLS_H

#include "services/api/api.h"

/* service_calls.c: one call on behalf of the request; the answer lives in its arena. */
tab_status call(request *r, const char *service, const char *method, const void *in,
                const ProtobufCMessageDescriptor *reply, void *ret, tab_error *err) TAB_CHECKED;
tab_status call_with(request *r, tab_ask *ask, tab_answer *ret, tab_error *err) TAB_CHECKED;
/* read_your_writes.c. The same of a thing by its id: one that an answer has named and that is on its way to
 * the service is waited for. */
tab_status call_promised(request *r, const char *service, const char *method, const void *in,
                         const ProtobufCMessageDescriptor *reply, void *ret, tab_error *err) TAB_CHECKED;
/* As call_with without waiting: `done` gets the answer on the thread of answers.c and must not block. False:
 * the call was not started. What the ask points to must live until then. */
bool call_start(request *r, tab_ask *ask, tab_rpc_done *done, void *arg, tab_error *err) TAB_CHECKED;
struct api_answers *answers_open(api *a);
void answers_free(struct api_answers *w);
tab_status models(request *r, const Tabella__ModelsReply **ret,
                  tab_error *err) TAB_CHECKED; /* 2 s old at most */
/* VALIDATION on `base` for an unknown one, CAPABILITY for a retired one. An empty name becomes the default
 * base. */
tab_status base_check(request *r, char **base, tab_error *err) TAB_CHECKED;
char *request_surface(const request *r); /* what is billed came over the api or the ui */
tab_str request_id_hex(request *r,
                       const char *prefix); /* prefix and 32 hexadecimal digits made from the seed */

#endif
