/* The gateway's module: who may call what, how often, and every answer that nginx gives by itself.
 *
 *   ngx_http_tab_module.c   directives and variables
 *   ngx_http_tab_gate.c     the access phase: one request's way to its verdict
 *   ngx_http_tab_bounds.c   networks of a key, and its end
 *   ngx_http_tab_request.c  a request's context, the JSON envelope
 *   ngx_http_tab_body.c     a body where the route takes none: refused, or read and dropped
 *   ngx_http_tab_metrics.c  counters of all workers, and /metrics
 *   ngx_http_tab_level.c    what became of serve calls, by organization and day: counted here, told to Redis
 *   ngx_http_tab_log.c      what the log says of a request; trace context
 *   ngx_http_tab_echo.c     an answer of the api is passed on only to the request that it names
 *   ngx_http_tab_probe.c    which apis answer; how long a request that may be asked again waits for one
 *   ngx_http_tab_redis.c    what is asked of Redis: one round for all requests that became ready meanwhile,
 *                           with a breaker
 *   ngx_http_tab_call.c     how a call is written
 *   tab_ahead.c             requests let in ahead of Redis' count, and what is owed to it
 *   ngx_http_tab_link.c     the connection to Redis, one a worker, with user, password and TLS
 *   ngx_http_tab_body_quota.c  what bodies and answers hold of memory: limits, and the rate at which a body
 *                           comes
 *   ngx_http_tab_clock.c    the time that identities carry
 *   tab_level.c             what was seen of serve calls until Redis has it
 *   tab_limits.c            request rates kept on this node, for when Redis is away
 *
 * Calls go one way, down (decision 0256). nginx calls those of the first line by the handlers that module.c
 * installs:
 *
 *   module ---> gate, echo, log, probe, level (which calls redis, clock, metrics)
 *                 |      |
 *                body  probe
 *                 |
 *              request
 *                 |
 *               redis ---> link, clock, call, ahead      held      limits      metrics      bounds
 *
 * Redis' answers come back later, from the event loop, by the functions that were handed down with the
 * question: gate's `answered` to redis, redis' `replied` and `lost` to link. */
#ifndef NGX_HTTP_TAB_H
#define NGX_HTTP_TAB_H

#include <hiredis/hiredis.h>
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "common/http/bodies.h"
#include "common/http/routes.h"
#include "common/security/entry.h"
#include "gateway/module/tab_ahead.h"
#include "gateway/module/tab_level.h"
#include "gateway/module/tab_limits.h"

extern ngx_module_t ngx_http_tab_module;

typedef struct tab_counts tab_counts;
typedef enum { TAB_TRACE_OFF, TAB_TRACE_MAKE, TAB_TRACE_TAKE } tab_trace;

typedef struct {
    ngx_str_t redis;               /* host:port or unix:path */
    char *redis_host, *redis_port; /* of it, ending in NUL; port NULL: host is a path */
    ngx_str_t redis_user, redis_password, redis_ca, redis_cert, redis_cert_key;
    ngx_flag_t redis_tls;
    ngx_ssl_t *redis_ssl;   /* NULL: plain */
    ngx_str_t authenticate; /* uri of the internal location that asks the api */
    ngx_uint_t failures;    /* refused keys a minute from one address */
    ngx_msec_t redis_timeout;
    ngx_uint_t rates_ahead; /* ten-thousandths of a limit */
    ngx_msec_t rates_settle;
    ngx_shm_zone_t *zone, *bodies, *counts;
    ngx_uint_t trace, trace_share; /* a tab_trace; ten-thousandths */
    tab_identity_key identity_key, grant_key;
    unsigned identity_key_set : 1;
    unsigned grant_key_set : 1; /* entries in Redis must be signed */
} tab_main_conf;

typedef struct {
    ngx_flag_t gate, count;
    ngx_uint_t status; /* tab_envelope: 0 = none */
    ngx_str_t type, message, param;
    tab_bodies_limits bodies; /* under way at once */
    size_t body_rate;         /* bytes a second, at least; 0: any */
    ngx_msec_t get_timeout;   /* of the answer to a GET or HEAD; 0: as nginx's own */
    unsigned bodies_set : 1;
} tab_loc_conf;

/* Of an upstream block. */
typedef struct {
    ngx_int_t (*init_upstream)(ngx_conf_t *cf, ngx_http_upstream_srv_conf_t *us); /* tab_echo: nginx's own */
    ngx_int_t (*init)(ngx_http_request_t *r, ngx_http_upstream_srv_conf_t *us);
    ngx_flag_t probe;
} tab_srv_conf;

/* What a node's workers share. */
typedef struct {
    tab_limits *rates;
    tab_limits *epochs; /* the highest number of a revocation that was seen, by organization */
    tab_limits *good;   /* keys that were let in: 2 * seconds + 1; even: that is no longer so */
} tab_shared;

typedef enum {
    TAB_STEP_START,
    TAB_STEP_REDIS, /* waiting for tab_gate */
    TAB_STEP_ASK,   /* waiting for the api's answer about the key */
    TAB_STEP_LET_IN,
    TAB_STEP_REFUSED
} tab_step;

/* How the answer to one request to the api is read: nginx's own handlers, which ours calls. */
typedef struct {
    ngx_int_t (*process_header)(ngx_http_request_t *r);
    ngx_int_t (*reinit_request)(ngx_http_request_t *r);
    ngx_http_request_t *request;
    ngx_queue_t under_way; /* among those that wait for an api, while `request` is set */
} tab_echo;

/* What one request holds of the memory for bodies and answers. */
typedef struct {
    uint32_t hold; /* its number in the table; 0: none */
    uint64_t bytes;
    ngx_event_t tick; /* the next look at how much has come */
    ngx_msec_t every;
    off_t least;             /* bytes from one look to the next */
    off_t come;              /* r->request_length at the last one */
    ngx_buf_t *tail;         /* the piece that the next one is put behind */
    tab_bodies_verdict over; /* why it was refused on its way */
    unsigned answered : 1;   /* the answer is counted */
} tab_body_quota;

/* What tab_gate answered; code -1: Redis did not answer. */
typedef struct {
    int code;
    ngx_str_t grant, state, epoch;
    const tab_ahead_word
        *told; /* what grant and epoch say, where that is known; borrowed until the answer is given */
    int64_t limit, remaining, reset_ms, retry_ms;
} tab_redis_answer;

typedef struct tab_ctx_s tab_ctx;
typedef void tab_redis_answered(ngx_http_request_t *r, tab_ctx *ctx, const tab_redis_answer *a);

/* One request. Lives in the request's pool, and is found again after an internal redirect (which clears
 * nginx's own context pointers) through a pool cleanup. */
struct tab_ctx_s {
    ngx_http_request_t *request;
    tab_step step;
    u_char id[32];
    size_t id_len;
    char hash[65]; /* SHA-256 of the secret or of the session's token, hex */
    tab_route_match route;
    unsigned routed : 1;
    unsigned uncounted : 1;  /* Redis will count this use; keys need not */
    unsigned granted : 1;    /* grant holds */
    unsigned node_rates : 1; /* decided by this node's limits */
    unsigned body_seen : 1;  /* ngx_http_tab_body decided */
    unsigned session : 1;    /* a session calls: the token came in its cookie */
    tab_grant grant, last;   /* last: of an entry whose time is over */
    ngx_str_t path, state, identity, question;
    ngx_queue_t asked; /* among those that wait for Redis, while `waits` */
    ngx_uint_t group;  /* of its call, once that is sent */
    unsigned waits : 1;
    unsigned last_holds : 1;      /* where nobody can be asked */
    tab_redis_answered *answered; /* gets Redis' answer, while `waits` */
    ngx_http_request_t *sub;
    ngx_uint_t sub_status;
    tab_echo echo[2]; /* of the request itself, and of the question about its key */
    tab_body_quota held;
    ngx_uint_t limit, remaining, reset_s;
    unsigned rates : 1;  /* the three figures hold */
    unsigned let_in : 1; /* gate_ms holds */
    ngx_uint_t gate_ms;
    const char *error_type; /* of the envelope that was sent from here; NULL: none */
    u_char trace[52];       /* TRACE-PARENT-FLAGS */
    size_t trace_len;       /* 0: none */
};

tab_ctx *ngx_http_tab_ctx(ngx_http_request_t *r); /* made on first use; NULL: out of memory */
void ngx_http_tab_random(void *p, size_t n);      /* as good as the kernel's; 1 kB at most */
ngx_int_t ngx_http_tab_gate(ngx_http_request_t *r);
/* Of a request that is let in: NGX_OK once it has a body only if its route takes one; NGX_DONE while it is
 * read, and where it is refused. */
ngx_int_t ngx_http_tab_body(ngx_http_request_t *r, tab_ctx *ctx);

/* ngx_http_tab_metrics.c */
typedef enum {
    TAB_KEY_MISSING,
    TAB_KEY_UNKNOWN,
    TAB_KEY_REVOKED,
    TAB_KEY_SCOPE,
    TAB_KEY_BLOCKED,
    TAB_KEY_EXPIRED,
    TAB_KEY_NETWORK
} tab_failure;
typedef enum {
    TAB_LIMITED_KEY,
    TAB_LIMITED_ORG,
    TAB_LIMITED_ENDPOINT,
    TAB_LIMITED_BYTES,
    TAB_LIMITED_FAILURES,
    TAB_LIMITED_CONNECTIONS
} tab_limited;
void ngx_http_tab_count_failure(ngx_http_request_t *r, tab_failure why);
void ngx_http_tab_count_limited(ngx_http_request_t *r, tab_limited which);
void ngx_http_tab_count_here(ngx_http_request_t *r); /* decided without Redis */
ngx_int_t ngx_http_tab_count(ngx_http_request_t *r);
ngx_int_t ngx_http_tab_metrics(ngx_http_request_t *r);
ngx_int_t ngx_http_tab_metrics_zone(ngx_conf_t *cf, tab_main_conf *conf);
ngx_uint_t ngx_http_tab_ms(const ngx_http_request_t *r); /* since its first byte */
ngx_uint_t ngx_http_tab_status(const ngx_http_request_t *r);
void ngx_http_tab_count_unkept(tab_main_conf *conf, uint64_t calls); /* of no organization's service level */

/* ngx_http_tab_level.c */
ngx_int_t ngx_http_tab_level(ngx_http_request_t *r);
ngx_int_t ngx_http_tab_level_start(ngx_cycle_t *cycle, tab_main_conf *conf);
void ngx_http_tab_level_stop(void);

/* ngx_http_tab_bounds.c. Why a good key is refused; status 0: it is not. */
typedef struct {
    ngx_uint_t status;
    tab_failure why;
    const char *param, *message;
} tab_refusal;
tab_refusal ngx_http_tab_bounds(ngx_http_request_t *r, const tab_grant *g);

/* ngx_http_tab_log.c */
void ngx_http_tab_let_in(tab_ctx *ctx);
ngx_int_t ngx_http_tab_log_variables(ngx_conf_t *cf);
char *ngx_http_tab_trace_share(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

/* The directive tab_echo of an upstream block. */
char *ngx_http_tab_echo(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

/* ngx_http_tab_probe.c: questions to the servers of each upstream with tab_probe, by this worker. */
ngx_int_t ngx_http_tab_probe_start(ngx_cycle_t *cycle);
/* The request is on its way to an api, until its context ends: it is taken away from one that is found not
 * to answer. */
void ngx_http_tab_under_way(ngx_http_request_t *r, tab_echo *echo);
void ngx_http_tab_over(tab_echo *echo);
/* A GET waits for its answer as long as tab_get_timeout says: the next server may be asked. */
ngx_int_t ngx_http_tab_patience(ngx_http_request_t *r);

/* Sends the envelope; gives what ngx_http_finalize_request wants. retry_s 0: no Retry-After. */
ngx_int_t ngx_http_tab_send(ngx_http_request_t *r, ngx_uint_t status, const char *type, const char *message,
                            const char *param, ngx_uint_t retry_s);

ngx_int_t ngx_http_tab_redis_start(ngx_cycle_t *cycle, tab_main_conf *conf);
void ngx_http_tab_redis_stop(void);
/* NGX_AGAIN: `answered` will be called. NGX_DECLINED: Redis is away. */
ngx_int_t ngx_http_tab_redis_ask(tab_ctx *ctx, tab_redis_answered *answered);
void ngx_http_tab_redis_forget(tab_ctx *ctx); /* the request goes away */

/* Sends what is in `from`. Of each piece `told` hears once what became of it; where false comes back the rest
 * is still there. */
/* ngx_http_tab_log.c. A header of the api's answer, in lower case; data NULL: none. */
ngx_str_t ngx_http_tab_answered(const ngx_http_request_t *r, const char *name);
typedef enum { TAB_LEVEL_IS_KEPT, TAB_LEVEL_IS_REFUSED, TAB_LEVEL_IS_LOST } tab_level_fate;
typedef void ngx_http_tab_level_told(const tab_level_entry *e, uint32_t n, tab_level_fate fate);
bool ngx_http_tab_redis_levels(tab_level *from, ngx_http_tab_level_told *told);

/* The connection below it. What was sent is answered in its order by `replied` (which borrows the reply), or,
 * once the connection is gone, all of it by `lost`. */
void ngx_http_tab_link_start(ngx_cycle_t *cycle, tab_main_conf *conf, void (*replied)(redisReply *r),
                             void (*lost)(void));
void ngx_http_tab_link_stop(void);
bool ngx_http_tab_link_up(void);
ngx_int_t ngx_http_tab_link_send(const u_char *p, size_t n); /* NGX_ERROR: `lost` will be called */
void ngx_http_tab_link_drop(void);                           /* soon, outside of the callers */

/* The request was let in: may its body come? From then on it is watched and counted, until _end. */
tab_bodies_verdict ngx_http_tab_body_quota_begin(ngx_http_request_t *r, tab_ctx *ctx);
extern const char ngx_http_tab_body_quota_message[]; /* of the organization that holds too much */
void ngx_http_tab_body_quota_quiet(tab_ctx *ctx);    /* an answer leaves: no matter how its body comes */
void ngx_http_tab_body_quota_end(tab_ctx *ctx);
ngx_int_t ngx_http_tab_body_quota_zone(ngx_conf_t *cf, tab_main_conf *conf);
void ngx_http_tab_body_quota_install(void);
void ngx_http_tab_body_quota_start(tab_main_conf *conf); /* of a worker */
char *ngx_http_tab_body_quota_bytes(ngx_conf_t *cf, ngx_command_t *cmd, void *c);

/* Milliseconds since 1970 by the clock of Redis, as far as it is known; and what Redis said of it. */
int64_t ngx_http_tab_clock_ms(void);
void ngx_http_tab_clock_heard(int64_t redis_ms);

#endif
