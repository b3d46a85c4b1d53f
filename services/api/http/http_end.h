/* Where a request ends. A connection from the gateway carries requests of all callers, one after another, so
 * a byte of one must never be read as the beginning of the next (decision 0230).
 *
 * evhttp alone does not ensure that: bytes that it has not read of a request are its next request. It reads
 * no body of a HEAD, takes the first of two lengths or codings, and ignores a coding that it does not know.
 * So a request whose end is in doubt is refused, and a connection on which more arrives before the answer is
 * closed. */
#ifndef TAB_API_HTTP_END_H
#define TAB_API_HTTP_END_H

#include <stdbool.h>

struct evhttp_request;

/* Whether evhttp reads the request to its end, and every other server would see the end at the same byte. */
bool http_end_is_plain(struct evhttp_request *req);

/* Whether bytes have arrived behind the request. */
bool http_more_has_come(struct evhttp_request *req);

/* The connection is closed once the answer has been sent. */
void http_close_after(struct evhttp_request *req);
#endif
