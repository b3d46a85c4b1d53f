/* A request's headers into it, and the answer's out of it, whoever speaks HTTP: evhttp (http.c) or a
 * connection whose body is taken as it comes (stream.c). */
#ifndef TAB_API_HTTP_HEAD_H
#define TAB_API_HTTP_HEAD_H

#include "services/api/api.h"

/* One header; its value is copied. identity: the gateway's line, where it is that. False: out of memory. */
bool http_header_in(request *r, const char *name, tab_str value, tab_str *identity) TAB_CHECKED;
/* The target of the request line, raw as the gateway signed it. False: out of memory. */
bool http_target_in(request *r, tab_str target) TAB_CHECKED;
/* Each header of the answer but those of its framing. */
void http_headers_out(const request *r, void (*add)(void *to, const char *name, const char *value), void *to);

#endif
