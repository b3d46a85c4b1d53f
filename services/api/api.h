/* The api's own things: the daemon, one request, and what handlers share.
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
 *   handlers.c -> the routes' files -> joins.c
 *                                        |
 *   idempotency.c, cells.c, held.c, bills.c, body.c, params.c, render.c, service_calls.c ...
 *                                        |
 *   request.c                         the request itself */
#ifndef TAB_API_H
#define TAB_API_H

#include <pthread.h>

#include "common/bundle_json.h"
#include "common/config.h"
#include "common/crypto.h"
#include "common/health.h"
#include "common/identity.h"
#include "common/ids.h"
#include "common/outbox.h"
#include "common/proto.h"
#include "common/redis.h"
#include "common/routes.h"
#include "common/rpc.h"
#include "proto/data.pb-c.h"
#include "proto/events.pb-c.h"
#include "proto/inference.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/members.h"

typedef struct {
    TAB_COMMON_CONFIG;
    TAB_RUN_KEY_CONFIG;
    TAB_REDIS_CONFIG;
    const char *http, *secret, *base_url;
    int64_t workers, queue, body_most, run_cells, inline_cells, inline_s, redis_ms, held_org, held_all;
    bool bill_pinned;
} api_config;

typedef struct request request;
typedef tab_status handler(request *r, tab_error *err);

/* How http.c takes a parked request back: see request_end and request_again. */
typedef struct {
    void (*end)(request *r, tab_status s, tab_error *err);
    void (*again)(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg);
} request_parked;

typedef struct api {
    api_config cfg;
    tab_run_keys run_keys; /* seal outputs and answers */
    tab_pg *pg;
    tab_rpc *rpc;
    tab_redis *redis;
    tab_relay *relay;
    tab_identity_key identity;
    uint8_t cursor_key[32];
    char owner[TAB_ID]; /* this process, in idempotency rows */
    struct {
        pthread_mutex_t lock;
        tab_arena *arena;
        const Tabella__ModelsReply *reply;
        int64_t asked_ms;
        bool asking;
    } models;
    struct api_housekeeping *housekeeping; /* the thread that renews leases and sweeps (housekeeping.c) */
    atomic_int keyed;                      /* requests that hold an idempotency row now */
    struct api_joins *joins;               /* requests that wait for the first with their key (joins.c) */
    atomic_int arriving;                   /* serve calls that are here and not yet with others, or done */
    handler *const *handlers;              /* one a route, NULL for none: handlers.c's table */
    request_parked parked;                 /* http.c's */
} api;

/* Each has worker threads of its own: a key is looked up and a list is read whatever else there is to do. */
typedef enum { LOOKUPS, READS, WORK, LANES } request_lane;

struct request {
    api *api;
    tab_arena *arena;
    /* asked */
    const char *method; /* of the request line; a literal */
    tab_route_id route;
    tab_str path, query, param[2]; /* views into texts of the arena */
    char request_id[64];
    int64_t signed_ms; /* when the gateway signed it, by its clock; 0: nobody did */
    char state[64];    /* the endpoint's state version as the gateway saw it, "" */
    tab_grant who;
    tab_deadline deadline;
    atomic_bool gone; /* the client left: what is only computed for it stops */
    char *body;       /* NUL behind; malloc'ed; request_body_drop frees it early */
    size_t body_n;
    uint32_t held; /* held.c */
    uint8_t body_sha256[32];
    const char *content_type, *content_encoding, *idempotency_key; /* NULL: no such header */
    int idempotency_headers;
    bool uncounted; /* internal authenticate */
    /* idempotency (idempotency.c) */
    char seed[TAB_ID]; /* ids of this request's work are made from it */
    bool claimed, replayed, completed;
    uint64_t debited; /* cells of the organization's minute (cells.c) */
    int64_t attempt;
    /* answered */
    int status;
    tab_out out;
    unsigned retry_after;
    const char *allow;
    char grant[TAB_GRANT_TEXT];
    /* its way through the api */
    int64_t began; /* tab_mono_ms of its arrival */
    request_lane lane;
    bool arrives; /* one of api.arriving */
    bool internal;
    tab_status who_status; /* what its identity came to; refused: in who_error */
    tab_error who_error;
    tab_status (*again)(void *arg,
                        tab_error *err); /* what a worker thread is to do with it next; NULL: dispatch */
    void *again_arg;
};

/* What a handler returns that has given its request away: whoever has it calls request_end once. */
#define PARKED ((tab_status)TAB_STATUS_COUNT)

/* dispatch.c. On arrival, on the loop's thread: who asks, and the lane of the request. */
void api_arrived(request *r, tab_str identity_header);
/* Fills out and status, whatever comes. False: the request is parked, and not the caller's any more. */
bool api_dispatch(request *r) TAB_CHECKED;
/* The answer or the envelope, and what is counted. */
void request_finish(request *r, tab_status s, tab_error *err);

/* request.c. The handler of the request's route. */
tab_status request_handle(request *r, tab_error *err) TAB_CHECKED;
/* For parked requests: the answer leaves; or fn(arg), on a worker thread, gives the status that ends it, or
 * PARKED. */
void request_end(request *r, tab_status s, tab_error *err);
void request_again(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg);
void request_body_drop(request *r); /* after idempotency_begin, which may have the handler called again */
void request_arrived(request *r);   /* is no longer one of api.arriving */
bool api_serves(const api *a, tab_route_id id); /* false: not_found, so OpenAPI leaves the route out */

/* params.c: query parameters and signed cursors. */
tab_status query_param(const request *r, const char *name, tab_str *ret,
                       tab_error *err) TAB_CHECKED; /* p NULL: absent */
/* limit (1..100, otherwise when absent) and the position that the cursor of `list` holds (n 0:
 * none). */
tab_status query_page(request *r, const char *list, uint32_t otherwise, uint32_t *ret_limit,
                      tab_str *ret_after, tab_error *err) TAB_CHECKED;
void cursor_write(const request *r, tab_out *o, const char *list, tab_str position); /* as one JSON string */
void next_cursor_member(request *r, const char *list, tab_str position); /* null when it is empty */

/* body.c: shapes that several routes read. */
tab_status body_read(request *r, tab_body *ret,
                     tab_error *err) TAB_CHECKED; /* checks media type, syntax, sizes */
tab_status body_options(request *r, const tab_body *b, Tabella__RunOptions **ret, bool *ret_batch,
                        tab_str *ret_out, tab_error *err) TAB_CHECKED;
/* A target that neither an inline table nor one of the sources with a snapshot holds: VALIDATION on
 * `target.column`. */
tab_status target_check(request *r, const tab_body *b, const Tabella__RunOptions *o,
                        Tabella__TableSource *const *source, size_t n, tab_error *err) TAB_CHECKED;
tab_status body_text(const tab_json *of, const char *key, bool required, size_t most, tab_str *ret,
                     tab_error *err) TAB_CHECKED;
tab_status body_refs(request *r, const tab_body *b, size_t *ret_n, char ***ret, tab_error *err) TAB_CHECKED;

/* cells.c: the organization's cells a minute; RATE_LIMIT with r->retry_after. ahead: for calls so small
 * that a share of the minute is debited at once. What a request debited is given back when it was refused
 * for no fault in its body. */
tab_status cells_debit(request *r, uint64_t cells, bool ahead, tab_error *err) TAB_CHECKED;
void cells_give_back(request *r, tab_status s);

/* joins.c. r->replayed: the answer is in r->out. PARKED, where the first request with the key is still at
 * work: the handler returns it at once and touches nothing of the request any more; it is called again, from
 * its beginning, should the first fail. It waits without a thread until the first has ended. */
tab_status idempotency_begin(request *r, tab_error *err) TAB_CHECKED;
struct api_joins *joins_open(api *a);
void joins_free(struct api_joins *j);

/* idempotency.c: the rows of keys. */
tab_status idempotency_key_check(const request *r, tab_error *err) TAB_CHECKED; /* the header's form */
/* One try: claimed, answered by another (replayed), or neither (it is in flight). */
tab_status idempotency_claim(request *r, tab_error *err) TAB_CHECKED;
tab_status idempotency_complete(request *r, tab_tx *tx,
                                tab_error *err) TAB_CHECKED;           /* in the work's transaction */
tab_status idempotency_finish(request *r, tab_error *err) TAB_CHECKED; /* in one of its own */
void idempotency_done(request *r); /* after the commit of the transaction that completed it */
void idempotency_release(request *r, tab_status why);
#define IDEMPOTENCY_LEASE "interval '5 seconds'" /* of the rows of requests at work */

/* housekeeping.c */
struct api_housekeeping *housekeeping_open(api *a);
void housekeeping_free(struct api_housekeeping *h);

/* held.c: bytes of bodies and answers that are here. */
bool held_open(void) TAB_CHECKED;
/* A body of so many bytes of r->who: RATE_LIMIT or UNAVAILABLE where they are too many; held_give ends it. */
tab_status held_arrive(request *r, size_t bytes) TAB_CHECKED;
uint32_t held_answer(request *r); /* from now on r->out's: what held_give is to be told */
void held_give(uint32_t held);    /* 0: nothing */

/* clock.c: whether the gateway signed it just now. May ask Redis: on a worker's thread. */
bool clock_timely(api *a, int64_t signed_ms) TAB_CHECKED;

/* service_calls.c: one call on behalf of the request; the answer lives in its arena. */
tab_status call(request *r, const char *service, const char *method, const void *in,
                const ProtobufCMessageDescriptor *reply, void *ret, tab_error *err) TAB_CHECKED;
tab_status call_with(request *r, tab_ask *ask, tab_answer *ret, tab_error *err) TAB_CHECKED;
/* The same without waiting: `done` gets the answer on the thread of answers.c, which must not block. False:
 * not started. All that the ask points to stays until then. */
bool call_start(request *r, tab_ask *ask, tab_rpc_done *done, void *arg, tab_error *err) TAB_CHECKED;
struct api_answers *answers_open(api *a);
void answers_free(struct api_answers *w);
tab_status models(request *r, const Tabella__ModelsReply **ret,
                  tab_error *err) TAB_CHECKED; /* 2 s old at most */
/* Unknown: VALIDATION on `base`; retired: CAPABILITY. An empty name becomes the default base. */
tab_status base_check(request *r, char **base, tab_error *err) TAB_CHECKED;
tab_str request_id_hex(request *r,
                       const char *prefix); /* prefix and 32 hexadecimal digits made from the seed */

/* bills.c: what a serve call costs into the outbox, together with other calls; committed on OK. */
/* A call begins that ends in bill_put or bill_none: the bills of others wait a moment for it. */
void bill_coming(void);
void bill_none(void);
tab_status bill_put(request *r, const Tabella__WorkDone *const *work, size_t n,
                    tab_error *err) TAB_CHECKED; /* n calls' */
/* The events of n calls: those that the ledger would not tell apart are summed under the first one's id.
 * ret has room for n; 0: no memory. */
size_t bills_sum(tab_arena *a, const Tabella__WorkDone *const *work, size_t n,
                 Tabella__WorkDone **ret) TAB_CHECKED;

/* render.c */
void time_member(tab_out *o, const char *key, int64_t us); /* ISO 8601, null for 0 */
void deleted_json(tab_out *o, const char *id, int64_t at_us);
void job_members(request *r, const Tabella__Job *j, bool logs);
void held_out_json(tab_out *o, const Tabella__HeldOut *h, const char *snapshot, int64_t version_us,
                   const char *report_id);
void metrics_json(tab_out *o, const Tabella__HeldOut *h);
void diff_json(tab_out *o, const Tabella__Diff *d);
/* The bundle's members into r->out, first pages, with cursors of `list`. held_out: JSON or empty.
 */
tab_status bundle_members(request *r, const Tabella__Bundle *b, const char *list, tab_str held_out,
                          tab_error *err) TAB_CHECKED;
/* All of it and without cursors. memory, or NULL: what bundles of one answer have in common is written
 * once. */
tab_status bundle_whole(request *r, const Tabella__Bundle *b, tab_str held_out, tab_bundle_memory *memory,
                        tab_error *err) TAB_CHECKED;
/* One page of a bundle's array, by the position that its cursor held. */
tab_status bundle_page(request *r, const Tabella__Bundle *b, const char *list, tab_str position,
                       uint32_t limit, tab_error *err) TAB_CHECKED;

/* The answer of a route that lists: {NAME: [n entries], "next_cursor", "total"}. */
typedef struct {
    const char *list, *name; /* what its cursors are signed for; the array's member */
    const void *reply;       /* of the service */
    size_t n;
    void (*entry)(request *r, const void *reply, size_t i); /* writes one as a JSON object */
    tab_str next;                                           /* where the next page begins; empty: none */
    uint64_t total;
} list_page;
void list_answer(request *r, const list_page *p);

void sync_members(request *r, const Tabella__SyncReply *y); /* as one object */
void sync_json(request *r, tab_str reply);                  /* the same of a serialized one: a job's answer */

/* datasets.c: a table of the body becomes a dataset, named by its id; asked again with the same job and the
 * same i, the same dataset. temporary: the job drops it when it ends, whatever its end. */
tab_status table_ingest(request *r, const char *job_id, size_t i, const tab_table *const *table,
                        bool temporary, const Tabella__DataObject **ret, tab_error *err) TAB_CHECKED;

/* outputs.c: what inline runs leave for 24 hours. */
typedef struct {
    const Tabella__Bundle *bundle;
    const char *run_id, *report_id, *base, *feed;
    int64_t created_us;
} output;
tab_status output_put(request *r, tab_tx *tx, const char *job_id, const output *o,
                      tab_error *err) TAB_CHECKED;
tab_status output_get(request *r, const char *job_id, output *ret, tab_error *err) TAB_CHECKED;

/* endpoints.c */
tab_status endpoint_of(request *r, const Tabella__Endpoint **ret,
                       tab_error *err) TAB_CHECKED; /* the one of :id */
tab_status endpoint_live(const Tabella__Endpoint *e, tab_error *err) TAB_CHECKED;
/* Before a pass over all that the endpoint of :id pins: it is live and its cells fit into the
 * organization's minute. A job under way is left to jobs to name. */
tab_status endpoint_may_pass(request *r, const Tabella__Endpoint **ret, tab_error *err) TAB_CHECKED;
void endpoint_members(request *r, const Tabella__Endpoint *e, bool prompts);
tab_str endpoint_held_out(const Tabella__Endpoint *e, tab_out *scratch); /* its JSON, in the scratch */

/* handlers.c: the table, by tab_route_id; and its handlers, one a route. */
extern handler *const api_handlers[TAB_ROUTE_COUNT];
handler get_models, get_keys, post_keys, post_key_rotate, delete_key, post_run, get_jobs, get_job,
    post_job_cancel, get_reports, get_report, get_usage, get_data_list, get_data, post_data_connect,
    post_data_sync, post_data_pin, post_data_unpin, delete_data, post_endpoints, get_endpoints, get_endpoint,
    post_serve, post_endpoint_refresh, post_endpoint_upgrade, get_endpoint_logs, delete_endpoint,
    patch_endpoint, post_prompts, patch_prompt, delete_prompt, post_report_star, post_report_unstar,
    get_audit, get_openapi, get_endpoint_openapi;

#define STR(literal) ((char *)(uintptr_t)(literal)) /* protobuf-c's texts are not const */

#endif
