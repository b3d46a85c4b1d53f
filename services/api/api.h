/* The api's own things: the daemon and one request. What handlers share has a door in its room:
 *
 *   http/params.h, http/body_quota.h, http/clock.h  what is asked, bytes that are here, whose time counts
 *   idempotency.h, service_calls.h                  keys of requests; calls to the other daemons
 *   runs/body.h, runs/outputs.h, runs/allowance.h   bodies of runs, what they leave, what they cost
 *   serve/cells.h and serve/serve_*.h               cells of a minute; serve calls
 *   data/datasets.h, platform/endpoints.h           tables as datasets; endpoints
 *   render/render.h, render/members.h               answers as JSON
 *   mcp/mcp.h                                       tools of agents, as requests of these routes
 *
 *   event loop (http.c) --request--> its lane --> worker thread: dispatch.c -> handler --answer--> event loop
 *                                                                      |
 *                         parked: waits for a pass, another call, a key; no thread is held
 *
 * A handler runs on a worker thread, may block on short calls and SQL, and either fills r->out (status
 * 200 unless it sets another), returns an error, which dispatch.c writes as the envelope, or parks the
 * request. Decisions 0031 and 0236.
 *
 * Calls go one way, down (decision 0256); main.c hands the top in at the bottom:
 *
 *   http.c -> dispatch.c                              api.handlers and api.parked are called by request.c
 *   handlers.c -> the routes' files -> idempotency_wait.c
 *                                        |
 *   idempotency.c, cells.c, body_quota.c, bills.c, body.c, params.c, render.c, service_calls.c ...
 *                                        |
 *   request.c                         the request itself */
#ifndef TAB_API_H
#define TAB_API_H

#include <pthread.h>

#include "common/base/config.h"
#include "common/base/proto.h"
#include "common/base/wait_time.h"
#include "common/http/routes.h"
#include "common/json/json.h"
#include "common/redis/redis.h"
#include "common/rpc/outbox.h"
#include "common/rpc/rpc.h"
#include "common/run/trace.h"
#include "common/security/crypto.h"
#include "common/security/identity.h"
#include "common/security/ids.h"
#include "proto/inference.pb-c.h"

typedef struct {
    TAB_COMMON_CONFIG;
    TAB_RUN_KEY_CONFIG;
    TAB_REDIS_CONFIG;
    const char *http, *secret, *base_url, *journal;
    int64_t owed_s, owed_cells, workers, queue, body_most, run_cells, inline_cells, inline_s, redis_ms,
        held_org, held_all, upload_most, upload_inline, uploads, uploads_org, downloads, downloads_org;
    bool bill_pinned;
} api_config;

typedef struct request request;
typedef tab_status handler(request *r, tab_error *err);

/* How http.c takes a parked request back: request_end, request_again, request_soon; and tells of it
 * meanwhile: progress_begin. */
typedef struct {
    void (*end)(request *r, tab_status s, tab_error *err);
    void (*again)(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg);
    void (*soon)(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg);
    void (*tell)(request *r);
} request_parked;

typedef struct api {
    api_config cfg;
    tab_run_keys run_keys; /* seal outputs and answers */
    tab_pg *pg;
    tab_rpc *rpc;
    tab_redis *redis;
    tab_relay *relay;
    struct {
        tab_identity_key identity;
        uint8_t cursor_key[32];
    } secret[TAB_IDENTITY_SECRETS]; /* the gateway's: the newest, and the one before it or to come */
    size_t secrets;
    char owner[TAB_ID];        /* this process, in idempotency rows */
    _Atomic int64_t cut_since; /* tab_mono_ms since when PostgreSQL does not answer us; 0: it does */
    struct {
        pthread_mutex_t lock;
        tab_arena *arena;
        const Tabella__ModelsReply *reply;
        int64_t asked_ms;
        bool asking;
    } models;
    struct api_housekeeping *housekeeping; /* the thread that renews leases and sweeps (housekeeping.c) */
    struct {
        pthread_mutex_t lock;
        request *first;
    } claims;                         /* requests that hold a row of an idempotency key now */
    struct idempotency_wait *waiting; /* for the first request with their key */
    atomic_int arriving;              /* serve calls in this process, neither in a batch nor done */
    handler *const *handlers;         /* one a route, NULL for none: handlers.c's table */
    handler *const *at_once;          /* the same, for what the loop's thread may try first */
    request_parked parked;            /* http.c's */
} api;

/* Each lane has worker threads of its own, so a key is looked up and a list is read however much else
 * waits. */
typedef enum { LOOKUPS, READS, WORK, LANES } request_lane;

struct request {
    api *api;
    tab_arena *arena;
    /* asked */
    const char *method; /* of the request line; a literal */
    tab_route_id route;
    tab_str path, query, param[2]; /* views into texts of the arena */
    char request_id[64];
    size_t secret;     /* the one of api.secret that the gateway signed with */
    int64_t signed_ms; /* when the gateway signed it, by its clock; 0: nobody did */
    char state[64];    /* the endpoint's state version as the gateway saw it, "" */
    tab_grant who;
    tab_person_role role; /* of the person that calls, or whose key does; NONE: the organization's key */
    tab_deadline deadline;
    atomic_bool gone;      /* the client left: work that is only for it stops */
    struct stream *stream; /* its body is taken as it comes (stream.h); NULL: it is in body */
    struct upload *upload; /* what of an upload has been taken (upload.c) */
    char *body;            /* NUL behind; malloc'ed; request_body_drop frees it early */
    size_t body_n;
    uint32_t held; /* body_quota.c */
    uint8_t body_sha256[32];
    const char *content_type, *content_encoding, *idempotency_key, *accept; /* NULL: no such header */
    const char *address; /* the client's, as the gateway saw it; NULL: it did not say */
    const char *agent;   /* what the client calls itself; NULL: it did not say */
    const char *session; /* hash of the token of the session that calls, in hex; NULL: none */
    const char *signin;  /* the cookie of a sign-in that was begun; NULL: none */
    int idempotency_headers;
    bool uncounted; /* internal authenticate */
    bool dry_run;   /* the body says so (dry_run.c) */
    struct {
        const char *version, *method, *name, *origin; /* NULL: no such header */
    } mcp_header;
    struct progress *progress; /* the client wants to hear of it (http/progress.h); NULL: it does not */
    struct mcp_call *mcp;      /* the tool's call that became this request (mcp/mcp.h); NULL: none */
    /* idempotency (idempotency.c) */
    char seed[TAB_ID]; /* the ids that this request's work makes are derived from it */
    bool claimed, replayed, completed;
    request *next_claim; /* in api.claims while claimed */
    uint64_t debited;    /* cells of the organization's minute (cells.c) */
    int64_t attempt;
    /* answered */
    int status;
    tab_out out;
    const char **warnings; /* NULL-terminated, or NULL: see warnings_read */
    unsigned retry_after;
    const char *allow;
    const char *cookie;   /* Set-Cookie, or NULL */
    const char *media;    /* of the answer; NULL: application/json */
    const char *location; /* of what was made; NULL: not said */
    char grant[TAB_GRANT_TEXT];
    /* its way through the api */
    int64_t began;                /* tab_mono_ms of its arrival */
    int64_t arrived_us, taken_us; /* tab_mono_us of its arrival, and of when a worker took it */
    const char *trace;            /* context of its caller, as the gateway says; NULL: none */
    tab_span span;
    tab_wait_time spent;    /* what took its time; told to the gateway, for its log */
    const char *error_type; /* of its envelope; NULL: none */
    const char *endpoint;   /* id of the one that it serves, for the gateway's counts; NULL: none */
    request_lane lane;
    bool arrives; /* one of api.arriving */
    bool at_once; /* its handler has run on the loop's thread, and no worker has had it yet */
    bool internal;
    tab_status who_status; /* result of its identity; refused: why is in who_error */
    tab_error who_error;
    tab_status (*again)(void *arg,
                        tab_error *err); /* what a worker thread is to do with it next; NULL: dispatch */
    void *again_arg;
};

/* A handler returns this when it has handed its request on. The new owner calls request_end once. */
#define PARKED ((tab_status)TAB_STATUS_COUNT)

/* request.c. The handler of the request's route. */
tab_status request_handle(request *r, tab_error *err) TAB_CHECKED;
/* For parked requests: sends the answer; or runs fn(arg) on a worker thread, which gives the status that
 * ends the request, or PARKED. */
void request_end(request *r, tab_status s, tab_error *err);
void request_again(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg);
/* The same from a handler of api.at_once: as soon as all that arrived with the request has been read. */
void request_soon(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg);
void request_body_drop(request *r); /* after idempotency_begin, which may have the handler called again */
void request_arrived(request *r);   /* is no longer one of api.arriving */
bool api_serves(const api *a, tab_route_id id); /* false: not_found, so OpenAPI leaves the route out */

#define STR(literal) ((char *)(uintptr_t)(literal)) /* protobuf-c's texts are not const */

#endif
