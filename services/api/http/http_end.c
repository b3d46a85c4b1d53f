/* See http_end.h: a request's framing headers, and what has arrived behind it. */
#include "services/api/http/http_end.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>

/* At most 18 digits, which no 64-bit count overflows. */
static bool digits(const char *s)
{
    size_t n = strspn(s, "0123456789");
    return n > 0 && n < 19 && s[n] == 0;
}

bool http_end_is_plain(struct evhttp_request *req)
{
    enum evhttp_cmd_type method = evhttp_request_get_command(req);
    bool reads = method != EVHTTP_REQ_HEAD;
    unsigned declared = 0;
    struct evkeyvalq *in = evhttp_request_get_input_headers(req);
    for (struct evkeyval *kv = in->tqh_first; kv != NULL; kv = kv->next.tqe_next) {
        bool length = strcasecmp(kv->key, "Content-Length") == 0;
        if (!length && strcasecmp(kv->key, "Transfer-Encoding") != 0)
            continue;
        bool good = length ? digits(kv->value) && (reads || strcmp(kv->value, "0") == 0)
                           : strcasecmp(kv->value, "chunked") == 0 && reads && req->minor > 0;
        if (!good || ++declared > 1)
            return false;
    }
    return true;
}

bool http_more_has_come(struct evhttp_request *req)
{
    struct bufferevent *b = evhttp_connection_get_bufferevent(evhttp_request_get_connection(req));
    int unread = 0;
    return evbuffer_get_length(bufferevent_get_input(b)) > 0 ||
           ioctl(bufferevent_getfd(b), FIONREAD, &unread) != 0 || unread > 0;
}

void http_close_after(struct evhttp_request *req)
{
    evhttp_remove_header(evhttp_request_get_output_headers(req), "Connection");
    evhttp_add_header(evhttp_request_get_output_headers(req), "Connection", "close");
}
