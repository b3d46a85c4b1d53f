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

#include "common/base/config.h"
#include "common/base/proto.h"
#include "common/base/spent.h"
#include "common/bundle/bundle_json.h"
#include "common/http/routes.h"
#include "common/redis/redis.h"
#include "common/rpc/outbox.h"
#include "common/rpc/rpc.h"
#include "common/run/health.h"
#include "common/run/trace.h"
#include "common/security/crypto.h"
#include "common/security/identity.h"
#include "common/security/ids.h"
#include "proto/data.pb-c.h"
#include "proto/events.pb-c.h"
#include "proto/inference.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/render/members.h"

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

/* How http.c takes a parked request back: request_end, request_again, request_soon. */
typedef struct {
    void (*end)(request *r, tab_status s, tab_error *err);
    void (*again)(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg);
    void (*soon)(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg);
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
    char owner[TAB_ID]; /* this process, in idempotency rows */
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
    } claims;                 /* requests that hold a row of an idempotency key now */
    struct api_joins *joins;  /* requests that wait for the first with their key (joins.c) */
    atomic_int arriving;      /* serve calls in this process, neither in a batch nor done */
    handler *const *handlers; /* one a route, NULL for none: handlers.c's table */
    handler *const *at_once;  /* the same, for what the loop's thread may try first */
    request_parked parked;    /* http.c's */
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
    tab_deadline deadline;
    atomic_bool gone;      /* the client left: work that is only for it stops */
    struct stream *stream; /* its body is taken as it comes (stream.h); NULL: it is in body */
    struct upload *upload; /* what of an upload has been taken (upload.c) */
    char *body;            /* NUL behind; malloc'ed; request_body_drop frees it early */
    size_t body_n;
    uint32_t held; /* held.c */
    uint8_t body_sha256[32];
    const char *content_type, *content_encoding, *idempotency_key, *accept; /* NULL: no such header */
    const char *address; /* the client's, as the gateway saw it; NULL: it did not say */
    const char *session; /* hash of the token of the session that calls, in hex; NULL: none */
    int idempotency_headers;
    bool uncounted; /* internal authenticate */
    bool dry_run;   /* the body says so (dry_run.c) */
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
    const char *cookie; /* Set-Cookie, or NULL */
    const char *media;  /* of the answer; NULL: application/json */
    char grant[TAB_GRANT_TEXT];
    /* its way through the api */
    int64_t began;                /* tab_mono_ms of its arrival */
    int64_t arrived_us, taken_us; /* tab_mono_us of its arrival, and of when a worker took it */
    const char *trace;            /* context of its caller, as the gateway says; NULL: none */
    tab_span span;
    tab_spent spent;        /* what took its time; told to the gateway, for its log */
    const char *error_type; /* of its envelope; NULL: none */
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

/* dispatch.c. On arrival, on the loop's thread: checks who asks, and gives the request's lane. */
void api_arrived(request *r, tab_str identity_header);
/* Runs the handler; fills out and status in any case. False: the request is parked and no longer the
 * caller's. */
bool api_dispatch(request *r) TAB_CHECKED;
/* The same on the loop's thread, where a handler for that (api.at_once) can do it without waiting for
 * anything: true when the request is parked. False: it takes its turn, as if nothing had been. */
bool api_at_once(request *r) TAB_CHECKED;
void api_resume(request *r); /* a worker goes on with a request that was parked */
void api_leave(void);        /* this thread works on no request: its log and its calls say of none */
/* Writes the answer or the envelope of an error, and counts it. */
void request_finish(request *r, tab_status s, tab_error *err);

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

/* params.c: query parameters and signed cursors. */
tab_status query_param(const request *r, const char *name, tab_str *ret,
                       tab_error *err) TAB_CHECKED; /* p NULL: absent */
/* limit (1..100, otherwise when absent) and the position that the cursor of `list` holds (n 0:
 * none). */
tab_status query_page(request *r, const char *list, uint32_t otherwise, uint32_t *ret_limit,
                      tab_str *ret_after, tab_error *err) TAB_CHECKED;
void cursor_write(const request *r, tab_out *o, const char *list, tab_str position); /* as one JSON string */
void next_cursor_member(request *r, const char *list, tab_str position); /* null when it is empty */

/* warnings.c. Notes the fields of a body of run, create or serve that these do not have, texts of the arena;
 * VALIDATION for one of a change of settings. */
tab_status warnings_read(request *r, const tab_json *root, tab_error *err) TAB_CHECKED;
/* VALIDATION for a field (of the member `within`, or "") that is none of the n known ones; names the
 * nearest. */
tab_status unknown_field(tab_str field, const char *within, const tab_str *known, size_t n,
                         tab_error *err) TAB_CHECKED;

/* Writes them, and those of the bundle (or NULL), as the member warnings[]; empty where there are none. */
void warnings_member(request *r, const Tabella__Bundle *b);

/* body.c: shapes that several routes read. */
tab_status body_read(request *r, tab_body *ret,
                     tab_error *err) TAB_CHECKED; /* checks media type, syntax, sizes */
tab_status body_options(request *r, const tab_body *b, Tabella__RunOptions **ret, bool *ret_batch,
                        tab_str *ret_out, tab_error *err) TAB_CHECKED;
/* body_parts.c. The same of a multipart body; r->body_sha256 is that of its parts then. */
bool body_has_parts(const request *r);
tab_status body_parts_read(request *r, const tab_body_limits *limits, tab_body *ret,
                           tab_error *err) TAB_CHECKED;
/* body_columns.c: columns, missing_values, split, horizon and as_of of `options`, which may be NULL; and
 * the same as a member of an endpoint. */
tab_status body_columns(request *r, const tab_json *options, Tabella__RunOptions *o,
                        tab_error *err) TAB_CHECKED;
/* The same of a serve call, whose options hold a horizon (0: none) and whether receipts are wanted alone. */
tab_status body_serve(request *r, const tab_json *options, uint32_t *ret_horizon, bool *ret_receipts,
                      tab_error *err) TAB_CHECKED;
void given_options(tab_out *o, const Tabella__RunOptions *q);
/* The cells of the rows that options.horizon makes, beside `cells` of the tables; 0 without one. source:
 * of all tables, inline ones first. VALIDATION on options.horizon: no times, or more cells than a run may
 * have. */
tab_status horizon_cells(request *r, const tab_body *b, const Tabella__RunOptions *o,
                         Tabella__TableSource *const *source, size_t n, uint64_t cells, uint64_t *ret_made,
                         tab_error *err) TAB_CHECKED;
/* A target, a moment or a column of `options.columns` that neither an inline table nor one of the sources
 * with a snapshot holds: VALIDATION on `target.column`, `options.as_of`, `options.columns[i].column`. */
tab_status target_check(request *r, const tab_body *b, const Tabella__RunOptions *o,
                        Tabella__TableSource *const *source, size_t n, tab_error *err) TAB_CHECKED;
tab_status body_text(const tab_json *of, const char *key, bool required, size_t most, tab_str *ret,
                     tab_error *err) TAB_CHECKED;
tab_status body_out_mode(const tab_body *b, const char **ret, tab_error *err) TAB_CHECKED; /* "": not said */
tab_status body_refs(request *r, const tab_body *b, size_t *ret_n, char ***ret, tab_error *err) TAB_CHECKED;

/* cells.c: debits the organization's cells of the minute; RATE_LIMIT with r->retry_after. ahead: the calls
 * are so small that a share of the minute is debited at once. What a request debited is given back when it
 * was refused, unless its body was at fault. */
tab_status cells_debit(request *r, uint64_t cells, bool ahead, tab_error *err) TAB_CHECKED;
/* Whether the share that was debited ahead serves the cells; asks nobody. */
bool cells_take(request *r, uint64_t cells) TAB_CHECKED;
void cells_untake(request *r, uint64_t cells);
void cells_give_back(request *r, tab_status s);

/* joins.c. Claims the request's Idempotency-Key. r->replayed: the answer of the first request is in r->out.
 * PARKED: the first request with the key is still at work. Then the handler returns at once and does not
 * touch the request again; it is called anew, from its beginning, if the first request fails. A parked
 * request holds no thread. */
tab_status idempotency_begin(request *r, tab_error *err) TAB_CHECKED;
struct api_joins *joins_open(api *a);
void joins_free(struct api_joins *j);

/* idempotency.c: the rows of keys. */
tab_status idempotency_key_check(const request *r, tab_error *err) TAB_CHECKED; /* the header's form */
/* One try. The key is claimed, or answered already (replayed), or in flight (neither). */
tab_status idempotency_claim(request *r, tab_error *err) TAB_CHECKED;
tab_status idempotency_complete(request *r, tab_tx *tx,
                                tab_error *err) TAB_CHECKED; /* in the work's transaction */
bool idempotency_claims(api *a, tab_out *o); /* a JSON list of the rows that requests hold; false: none */
tab_status idempotency_finish(request *r, tab_error *err) TAB_CHECKED; /* in one of its own */
void idempotency_done(request *r); /* after the commit of the transaction that completed it */
void idempotency_release(request *r, tab_status why);
#define IDEMPOTENCY_LEASE "interval '5 seconds'" /* of the rows of requests at work */

/* housekeeping.c */
struct api_housekeeping *housekeeping_open(api *a);
void housekeeping_free(struct api_housekeeping *h);

/* held.c: bytes of bodies and answers that are here. */
bool held_open(void) TAB_CHECKED;
/* A body of n bytes of r->who arrives: RATE_LIMIT or UNAVAILABLE where too many are held. held_give ends
 * it. */
tab_status held_arrive(request *r, size_t bytes) TAB_CHECKED;
uint32_t held_answer(request *r); /* counts r->out from now on; gives what held_give takes */
void held_give(uint32_t held);    /* 0: nothing */

/* clock.c: whether the gateway signed the request just now. May ask Redis, so it runs on a worker's
 * thread. */
bool clock_timely(api *a, int64_t signed_ms) TAB_CHECKED;
bool clock_agrees(int64_t signed_ms) TAB_CHECKED; /* by this machine's own clock; asks nobody */

/* service_calls.c: one call on behalf of the request; the answer lives in its arena. */
tab_status call(request *r, const char *service, const char *method, const void *in,
                const ProtobufCMessageDescriptor *reply, void *ret, tab_error *err) TAB_CHECKED;
tab_status call_with(request *r, tab_ask *ask, tab_answer *ret, tab_error *err) TAB_CHECKED;
/* promised.c. The same of a thing by its id: one that an answer has named and that is on its way to the
 * service is waited for. */
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

/* render.c */
void time_member(tab_out *o, const char *key, int64_t us); /* ISO 8601, null for 0 */
/* Where the result of a 202 will lie. */
void result_member(request *r, const char *job_id);
void deleted_json(tab_out *o, const char *id, int64_t at_us);
void job_members(request *r, const Tabella__Job *j, bool logs);
void held_out_json(tab_out *o, const Tabella__HeldOut *h, const char *snapshot, int64_t version_us,
                   const char *report_id,
                   bool tables); /* with its slices and other tables, or its figures alone */
void class_member(tab_out *o, const Tabella__HeldOut *h, size_t k); /* class k as a cell of its own type */
void metrics_json(tab_out *o, const Tabella__HeldOut *h);
void diff_json(tab_out *o, const Tabella__Diff *d);
/* The bundle's members into r->out, first pages, with cursors of `list`. held_out: JSON or empty.
 */
tab_status bundle_members(request *r, const Tabella__Bundle *b, const char *list, tab_str held_out,
                          tab_error *err) TAB_CHECKED;
/* The whole bundle, without cursors. memory, or NULL: what bundles of one answer share is written once. */
tab_status bundle_whole(request *r, const Tabella__Bundle *b, const tab_bundle_view *view,
                        tab_error *err) TAB_CHECKED;
/* A bundle that jobs sent, by a version that sends it packed or by one that does not: sound. */
tab_status bundle_of_reply(tab_arena *a, const Tabella__OutputReply *y, const Tabella__Bundle **ret,
                           tab_error *err) TAB_CHECKED;
/* What holds element `from` of a bundle's array: a piece of it, or all. */
typedef tab_status piece_of(request *r, const void *of, tab_paged array, size_t from,
                            const Tabella__Bundle **ret, tab_error *err);
/* One page of a bundle's array, by the position that its cursor held. */
tab_status bundle_page(request *r, piece_of *piece, const void *of, const char *list, tab_str position,
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
/* The same, and the members that `more` writes behind them. */
void list_answer_with(request *r, const list_page *p, void (*more)(request *r, const void *reply));

void row_diff_member(tab_out *o, const Tabella__RowDiff *d); /* as the member diff */
void sync_members(request *r, const Tabella__SyncReply *y);  /* as one object */
void sync_json(request *r, tab_str reply); /* the same of a serialized one: a job's answer */

/* render.c: the answer of an uploaded file that was read, as one object. */
void upload_members(request *r, const Tabella__LoadReply *y);

void data_json(tab_out *o, const Tabella__DataObject *d); /* as one object */

/* datasets.c: makes a table of the body a dataset, named by its id. The same job and the same i give the
 * same dataset. until_us: it is temporary, dropped by its job or then; 0: it stays. */
tab_status table_ingest(request *r, const char *job_id, size_t i, const tab_table *const *table,
                        int64_t until_us, const Tabella__DataObject **ret, tab_error *err) TAB_CHECKED;

/* outputs.c: what inline runs leave for 24 hours. */
typedef struct {
    const Tabella__Bundle *bundle;
    const char *run_id, *report_id, *base, *feed;
    int64_t created_us;
    /* where cells were filled: the run's inline tables, and the sources of the others; else 0 and NULL */
    const tab_table *const *tables;
    size_t n_tables;
    const Tabella__JobResult *sources;
} output;
tab_status output_put(request *r, tab_tx *tx, const char *job_id, const output *o,
                      tab_error *err) TAB_CHECKED;
tab_status output_get(request *r, const char *job_id, output *ret, tab_error *err) TAB_CHECKED;
/* What filled tables are made of, into an output that output_get gave. */
tab_status output_tables(request *r, const char *job_id, output *o, tab_error *err) TAB_CHECKED;

/* endpoints.c */
tab_status endpoint_of(request *r, const Tabella__Endpoint **ret,
                       tab_error *err) TAB_CHECKED; /* the one of :id */
tab_status endpoint_live(const Tabella__Endpoint *e, tab_error *err) TAB_CHECKED;
/* Before a pass over all that the endpoint of :id pins: it must be live, and its cells fit into the
 * organization's minute. Whether a job of it is under way is checked by jobs. */
tab_status endpoint_may_pass(request *r, const Tabella__Endpoint **ret, tab_error *err) TAB_CHECKED;
void endpoint_members(request *r, const Tabella__Endpoint *e, bool prompts);
tab_str endpoint_held_out(const Tabella__Endpoint *e, bool tables,
                          tab_out *scratch); /* its JSON, in the scratch */

/* handlers.c: the table, by tab_route_id; and its handlers, one a route. */
extern handler *const api_handlers[TAB_ROUTE_COUNT], *const api_at_once_handlers[TAB_ROUTE_COUNT];
handler get_models, get_keys, post_keys, post_key_rotate, delete_key, post_run, get_jobs, get_job,
    post_job_cancel, get_reports, get_report, get_usage, get_data_list, get_data, get_data_snapshots,
    get_data_diff, get_data_profile, post_data_connect, post_data_upload, post_data_generate, post_data_sync,
    post_data_pin, post_data_unpin, delete_data, post_endpoints, get_endpoints, get_endpoint, post_serve,
    serve_at_once, post_endpoint_refresh, post_endpoint_upgrade, get_endpoint_logs, delete_endpoint,
    post_outcomes, get_outcomes, patch_endpoint, post_prompts, patch_prompt, delete_prompt, post_report_star,
    post_report_unstar, get_audit, get_notifications, post_notification_read, get_organization,
    put_organization, get_openapi, get_endpoint_openapi, post_session, get_session, delete_session,
    get_result_part, get_result_filled;

#define STR(literal) ((char *)(uintptr_t)(literal)) /* protobuf-c's texts are not const */

#endif
