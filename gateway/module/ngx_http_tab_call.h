/* One call to Redis, of up to TAB_CALL_GROUPS groups of requests that are alike, and how it is written:
 *
 *   COUNT    FCALL tab_gate     key, scope and rates by Redis
 *   READ     MGET               the keys that letting in ahead rests on, two or three a group
 *   SETTLE   FCALL tab_settle   what callers owe
 *   LEVEL    FCALL tab_level    what was seen of serve calls, by organization and day */
#ifndef NGX_HTTP_TAB_CALL_H
#define NGX_HTTP_TAB_CALL_H

#include "gateway/module/ngx_http_tab.h"
#include "gateway/module/tab_ahead.h"
#include "gateway/module/tab_level.h"

enum {
    TAB_CALL_GROUPS = 32,                              /* of one call: Redis does nothing else meanwhile */
    TAB_CALL_TEXT = 64 + TAB_CALL_GROUPS * (100 + 500) /* room for any call */
};

typedef enum { TAB_CALL_COUNT, TAB_CALL_READ, TAB_CALL_SETTLE, TAB_CALL_LEVEL } tab_call_kind;

/* One command in flight, until its reply has come or the connection is lost. */
typedef struct {
    tab_call_kind kind;
    ngx_queue_t sent;  /* in redis.sent */
    ngx_queue_t asked; /* tab_ctx.asked of those that still want the answer, in order of arrival */
    ngx_uint_t groups;
    struct {
        tab_ctx *first;           /* until it is sent */
        tab_ahead_caller *caller; /* of a read or a settlement: held */
        uint32_t n;
        bool endpoint; /* of a read */
    } group[TAB_CALL_GROUPS];
    unsigned waited : 1; /* a round is over when none of its calls is */
    ngx_event_t timer;
    ngx_http_tab_level_told *told; /* of LEVEL: its groups lie behind it */
    tab_level_entry level[];
} tab_call;

tab_str ngx_http_tab_endpoint_of(const tab_ctx *ctx); /* "": none */
unsigned ngx_http_tab_scope_of(const tab_ctx *ctx);   /* 0: no route */

/* How many keys a READ asks for group g: entry, last revocation, and an endpoint's state. */
size_t ngx_http_tab_call_keys(const tab_call *call, ngx_uint_t g);

/* Writes the call to p, room for TAB_CALL_TEXT; gives the place behind it. */
u_char *ngx_http_tab_call_write(u_char *p, const tab_call *call);

#endif
