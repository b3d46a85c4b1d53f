/* The SQL of jobs: rows, leases, ends. A job is a row first; what wakes a worker is only a hint.
 *
 *   queued --claim--> running --finish--> done | failed
 *      ^                 |
 *      +---- requeue ----+        queued, running --cancel--> cancelled; --window missed--> expired
 *
 * The attempt number is the fence: every statement of a worker names it, so that a worker that was frozen
 * past its lease changes nothing when it thaws. */
#ifndef TAB_JOBS_STORE_H
#define TAB_JOBS_STORE_H

#include "common/bundle/bundle_json.h"
#include "common/pg/pg.h"
#include "common/security/crypto.h"
#include "common/security/ids.h"
#include "proto/events.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/jobs/figures.h"

#define JOBS_LEASE_S 8 /* seconds: a worker renews once a second */
/* JOBS_QUEUED_MOST: jobs of one organization that may wait, for each place of its batch concurrency. */
enum { JOBS_QUEUED_MOST = 1000 };
enum { JOBS_TRIES = 3, JOBS_KILLED = 2, JOBS_OUTPUT_HOURS = 24, JOBS_LOGS_SHOWN = 200 };
enum { ENDPOINTS_MOST = 1000 }; /* of an organization (decision 0157) */

/* The organization, deadline and arena that a statement works with. */
typedef struct {
    tab_pg *pg;
    const char *org;
    tab_deadline deadline;
} jobs_at;

typedef struct {
    const char *job_id, *kind, *work, *processing, *label, *endpoint_id, *endpoint, *report_id, *run_id;
    const char *key_id, *surface, *request_id; /* NULL: "" */
    tab_str request;                           /* the message that the worker reads again */
    uint64_t cells;
    uint32_t batch_cap;
    int64_t window_s;   /* 0: no completion window */
    bool suspect;       /* runs alone from the first attempt on */
    const char *about;  /* the names of a run's tables; NULL: "" */
    const char *serves; /* the endpoint that scores a dataset; NULL: "" */
} jobs_new;

/* Inserts; a job that is there stays as it is. CONFLICT with param "running_job_id:job_..." when another
 * mutating job of the endpoint is open. */
tab_status jobs_insert(tab_tx *tx, const char *org, const jobs_new *j, tab_error *err) TAB_CHECKED;
/* RATE_LIMIT where more jobs of the organization wait than its plan allows, the inserted one among them. */
tab_status jobs_queue_room(tab_tx *tx, const char *org, uint32_t batch_cap, tab_error *err) TAB_CHECKED;

/* A claimed job: what a worker holds. Texts live in the arena. */
typedef struct {
    tab_arena *arena;
    char org[64], job_id[TAB_ID];
    const char *kind, *work, *processing, *label, *endpoint_id, *endpoint, *report_id, *run_id;
    const char *key_id, *surface, *request_id;
    const char *trace; /* of the request that made it; "": none */
    tab_str request, staged;
    int64_t attempt, tries, age_s, killed;
    double waited_s; /* since it could begin */
    bool suspect;
} jobs_claimed;

/* *ret is NULL when no job is ready. full: organizations, divided by spaces, whose jobs are not taken. */
tab_status jobs_claim(tab_pg *pg, const char *full, jobs_claimed **ret, tab_error *err) TAB_CHECKED;
void jobs_claimed_free(jobs_claimed *c);
TAB_DEFINE_AUTO(jobs_claimed)

/* Renews the lease and stores progress. *ret_held false: the lease is no longer this attempt's. */
tab_status jobs_renew(tab_pg *pg, const jobs_claimed *c, int progress, const char *phase, bool *ret_held,
                      tab_error *err) TAB_CHECKED;
/* Why an attempt ended without an answer (decision 0240). */
typedef enum {
    JOBS_BLAMELESS, /* a server was away: nothing is counted */
    /* a worker died that had others, too: nothing is counted, and it runs alone from now on */
    JOBS_SUSPECTED,
    JOBS_KILLER, /* a process died in which it was alone: one of JOBS_KILLED */
    JOBS_TRIED   /* one of JOBS_TRIES */
} jobs_blame;
/* Back to the queue, ready after delay_ms. */
tab_status jobs_requeue(tab_pg *pg, const jobs_claimed *c, int64_t delay_ms, jobs_blame blame,
                        const char *why, tab_error *err) TAB_CHECKED;

/* Ends a job in the caller's transaction: status, result, event, log line, and the chore that drops what it
 * spooled. CANCELLED: the attempt no longer holds the job (cancelled, expired or taken over), so roll
 * back. */
typedef struct {
    const char *status, *error, *report_id; /* report_id NULL: as it is */
    const Tabella__JobResult *result;       /* NULL: none */
    bool keeps; /* what it spooled stays until it expires: its result refers to it */
} jobs_end;
tab_status jobs_finish(tab_tx *tx, const jobs_claimed *c, const jobs_end *e, tab_error *err) TAB_CHECKED;

/* What belongs to every end of a job: the event JobEnded, and, unless it keeps them, the chore that drops
 * temporary snapshots. */
tab_status jobs_ended(tab_tx *tx, const char *org, const char *job_id, bool keeps,
                      tab_error *err) TAB_CHECKED;

/* The event of the job's usage, for the transaction that ends it. */
tab_status jobs_bill(tab_tx *tx, const jobs_claimed *c, const Tabella__WorkDone *e,
                     tab_error *err) TAB_CHECKED;

/* ---- reading --------------------------------------------------------------------------------- */

/* A page of a list, newest first by a sequence number: rows before `before`, limit + 1 of them asked for. */
typedef struct {
    int64_t before, limit;
    bool more;
} jobs_page;
tab_status jobs_page_of(ProtobufCBinaryData after, uint32_t limit, jobs_page *ret,
                        tab_error *err) TAB_CHECKED;
size_t jobs_page_rows(jobs_page *p,
                      const tab_rows *rows); /* how many of the rows belong to it; more: there is a next */
ProtobufCBinaryData jobs_page_next(tab_arena *a, int64_t last);

/* Results live in the arena. NOT_FOUND for an unknown id. */
tab_status jobs_get(tab_tx *tx, tab_arena *a, const char *org, const char *job_id, Tabella__Job **ret,
                    tab_error *err) TAB_CHECKED;
tab_status jobs_list(tab_tx *tx, tab_arena *a, const char *org, const Tabella__ListJobsRequest *q,
                     Tabella__ListJobsReply *y, tab_error *err) TAB_CHECKED;

/* Cancels a job. CONFLICT: it has ended otherwise. *ret_busy: its end is being committed, so ask again.
 * *ret_attempt: the attempt that is at work and must be told; 0: none. */
tab_status jobs_cancel(tab_tx *tx, const char *org, const char *job_id, const char *actor, bool *ret_busy,
                       int64_t *ret_attempt, tab_error *err) TAB_CHECKED;

/* store_output.c. Stores a bundle, compressed; a large one in pieces. run: the bundle of a run, sealed under
 * these keys and deleted after JOBS_OUTPUT_HOURS. NULL: kept as long as its endpoint. */
tab_status jobs_output_put(tab_tx *tx, const char *org, const char *job_id, const Tabella__Bundle *b,
                           const tab_run_keys *run, tab_error *err) TAB_CHECKED;
/* The same in several transactions, of what comes piece by piece: what an attempt before left is cleared,
 * each slice, serialized, is put for so many hours, and the head, which gives them the time that the bundle
 * has. */
tab_status jobs_output_clear(tab_tx *tx, const char *org, const char *job_id, tab_error *err) TAB_CHECKED;
tab_status jobs_output_piece(tab_tx *tx, const char *org, const char *job_id, tab_paged array, size_t first,
                             tab_str bundle, const tab_run_keys *run, int64_t hours,
                             tab_error *err) TAB_CHECKED;
tab_status jobs_output_head(tab_tx *tx, const char *org, const char *job_id, const Tabella__Bundle *head,
                            const tab_run_keys *run, tab_error *err) TAB_CHECKED;
/* What the job has put is kept JOBS_OUTPUT_HOURS from now on. */
tab_status jobs_output_kept(tab_tx *tx, const char *org, const char *job_id, tab_error *err) TAB_CHECKED;
/* What of a bundle is wanted. array "": its first pages; else what holds element `from` of that array, at
 * least. */
typedef struct {
    const char *array;
    uint64_t from;
} jobs_wanted;
/* The Bundle's bytes, in the arena. NOT_FOUND when there is none (any more). */
tab_status jobs_output_get(tab_tx *tx, const char *org, const char *job_id, const tab_run_keys *keys,
                           const jobs_wanted *w, tab_arena *a, tab_str *ret, tab_error *err) TAB_CHECKED;
/* The endpoint's bundle, unless it is the one of job `but`, is deleted after so many hours. */
tab_status jobs_output_expire(tab_tx *tx, const char *org, const char *endpoint_id, const char *but,
                              int64_t hours, tab_error *err) TAB_CHECKED;

/* A quick run that the api answered inline, from its event: its row, done. */
tab_status jobs_record_run(tab_tx *tx, tab_arena *a, const Tabella__WorkDone *e, tab_error *err) TAB_CHECKED;

/* ---- the sweeper's turn: leases that ended, windows that were missed, outputs that are old ---- */
typedef struct {
    size_t requeued, failed, expired;
    int64_t queued, running; /* now, over all organizations */
    jobs_open of[JOBS_KINDS];
    double mean_s; /* of a job that ended lately */
} jobs_swept;
/* Deletes, requeues and ends what is due, in batches; `ret` says how many, and what is open. */
tab_status jobs_sweep(tab_pg *pg, jobs_swept *ret, tab_error *err) TAB_CHECKED;

#endif
