/* Workers: each takes the next job by lease and sees it to an end, while one beat a process renews all
 * leases.
 *
 *   take: one worker at a time asks the database; with nothing there it sleeps until woken, or a second
 *   beat: every 0.5 s: renew, store progress; a lease that is gone ends the pass (tabella.cancel.CALL)
 *
 * A pass is one call to inference. Whoever does not answer is given up by the RPC within seconds, and the
 * job goes back to the queue. What is counted against it (decision 0240):
 *
 *   a server was away, or a process stopped       nothing
 *   a worker died that had the job, in company    nothing; from now on the job runs alone
 *   a process died in which it was alone          the second one fails it
 *   the worker died that had started its process  the third one fails it, as does a third lost lease
 *
 * Calls go one way: work.c (workers, beat, sweep) -> work_endpoint.c, work_run.c, work_sync.c,
 * work_generate.c, work_serve.c, exports/work_export.c, out/work_out.c (the workflows) -> work_calls.c (calls
 * to other services, progress). */
#ifndef TAB_JOBS_WORK_H
#define TAB_JOBS_WORK_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/redis/redis.h"
#include "common/rpc/outbox.h"
#include "common/rpc/rpc.h"
#include "proto/data.pb-c.h"
#include "services/jobs/endpoint.h"

typedef struct work work;

typedef struct {
    tab_pg *pg;
    tab_rpc *rpc;
    tab_redis *redis;
    tab_relay *relay;
    tab_run_keys run_keys; /* seal a run's bundle */
    int64_t workers, window_s, give_up_s;
    int64_t outcome_days;     /* for so long a receipt is taken, */
    int64_t outcome_row_days; /* and the cells of a row are kept that came with its outcome */

    pthread_mutex_t take; /* held by the worker that asks or waits for the next job */
    pthread_cond_t wake;
    int64_t none_at; /* tab_mono_ms when somebody last asked and found nothing; under `take` */
    atomic_bool stop, woken,
        beats_end;        /* stop: no job is begun, no step of one; the beat outlives the workers */
    pthread_mutex_t lock; /* of the list of what is at work */
    work *held;
    pthread_t *thread, beat_thread, sweep_thread, chore_thread;
    int64_t n_thread;
    bool beats, sweeps, chores;
    _Atomic int64_t queued, running;
    _Atomic int64_t mean_ms;
} jobs;

/* One job at work. */
struct work {
    jobs *self;
    jobs_claimed *c;
    work *next;
    char call_id[TAB_ID + 24];
    atomic_bool lost; /* cancelled, expired, or another attempt has it */
    bool unread;      /* its data could not be read or taken: the endpoint serves what it has */
    atomic_bool gone; /* lost, or this process stops: what is called for it is given up */
    /* What the beat stores; under self->lock. */
    int progress;
    char phase[48];
    double from, to; /* the part of the job that the present pass is: 0..1 */
};

/* work.c */
bool jobs_work_start(jobs *self) TAB_CHECKED; /* threads and subscriptions */
void jobs_work_stop(jobs *self);              /* hands back what is at work, joins */

/* retention.c: a turn of what goes by its organization's retention. */
void jobs_retain(jobs *self);

/* work_calls.c */
void jobs_wake(jobs *self); /* after a commit: here and in other processes */
void jobs_cancel_call(jobs *self, const char *job_id, int64_t attempt);
void work_phase(work *w, const char *phase, double from, double to);
/* A transaction that writes what the job has become. Whoever has said nothing in it for as long as a lease
 * has lost the job, and keeps its rows from nobody. */
tab_status work_begin(work *w, int64_t ms, tab_tx **ret, tab_error *err) TAB_CHECKED;
/* After the transaction that ends the job. A job that was cancelled, has expired or was taken over meanwhile
 * has ended, too: nothing was written. */
tab_status work_ended(work *w, tab_status s) TAB_CHECKED;
/* A call to another service for this job: its organization, request id and deadline filled in. */
tab_status work_call(work *w, const char *service, const char *method, int64_t ms, const ProtobufCMessage *in,
                     const ProtobufCMessageDescriptor *reply, tab_arena *a, const void **ret,
                     tab_error *err) TAB_CHECKED;
/* The same, with tables. */
tab_status work_call_with(work *w, const char *service, const char *method, int64_t ms,
                          const ProtobufCMessage *in, const tab_table *const *tables, size_t n_tables,
                          const ProtobufCMessageDescriptor *reply, tab_arena *a, const void **ret,
                          tab_error *err) TAB_CHECKED;
/* A snapshot's rows; *ret_reply says of what, NULL: nobody asks. */
tab_status work_read(work *w, const Tabella__ReadRequest *q, int64_t ms, tab_arena *a,
                     const Tabella__ReadReply **ret_reply, const tab_table **ret, tab_error *err) TAB_CHECKED;

/* The workflows. OK: the job has ended, or is no longer ours. Else the error that ended the attempt. */
tab_status work_run(work *w, tab_arena *a, tab_error *err);
tab_status work_sync(work *w, tab_arena *a, tab_error *err);
tab_status work_generate(work *w, tab_arena *a, tab_error *err);
tab_status work_endpoint(work *w, tab_arena *a, tab_error *err);
tab_status work_serve(work *w, tab_arena *a, tab_error *err);
tab_status work_export(work *w, tab_error *err);

/* work_calls.c. Whose pieces a pass puts (jobs.PutPiece); of an attempt before there are none any more. */
tab_status work_pieces(work *w, Tabella__PieceOwner *ret, tab_error *err) TAB_CHECKED;
/* The whole of a result, or its head where the pieces have been put. run: as jobs_output_put. */
tab_status work_output(work *w, tab_tx *tx, const Tabella__Bundle *b, bool in_pieces, const tab_run_keys *run,
                       tab_error *err) TAB_CHECKED;

/* out/work_out.c: writes what a run found to options.out: a document, of the whole bundle, or the rows that
 * the job keeps already. VALIDATION: it cannot be. */
bool work_out_whole(const Tabella__SubmitRequest *q);
tab_status work_out_document(work *w, tab_arena *a, const Tabella__SubmitRequest *q,
                             const Tabella__RunReply *y, tab_error *err) TAB_CHECKED;
tab_status work_out_rows(work *w, tab_arena *a, const Tabella__SubmitRequest *q, tab_error *err) TAB_CHECKED;

/* work_outcomes.c: where the refresh was asked to take outcomes, the snapshot that they belong to becomes one
 * that holds them. *ret: how many of which kind; NULL: it was not asked. d: the datasets of the new state. */
tab_status work_outcomes(work *w, tab_arena *a, const Tabella__Endpoint *e, Tabella__PinnedDataset *const *d,
                         Tabella__OutcomesUsed **ret, tab_error *err) TAB_CHECKED;
/* The same for a dry run, of the dataset with that number: into a snapshot that owner drops. */
tab_status outcomes_dry(jobs *self, tab_call *call, const Tabella__Endpoint *e, size_t dataset, char *owner,
                        char **snapshot, tab_error *err) TAB_CHECKED;

/* cost.c: what a refresh bills, line by line: rows that were added or changed, and those that were not. */
typedef struct {
    uint64_t fresh, kept; /* cells */
} refresh_cells;
/* What a snapshot has in other columns than the pinned one; of the arena. NULL: out of memory. */
Tabella__SchemaChange *schema_change(tab_arena *a, const Tabella__PinnedDataset *d,
                                     const Tabella__RowDiff *diff);
void refresh_cells_add(refresh_cells *c, const Tabella__RowDiff *d, uint64_t cols);
/* Whether a dataset's newest rows are read from its source now: what was uploaded or generated has none. */
bool refresh_reads_source(const char *source);
/* Each line that has cells is given to add. */
void refresh_bill(const refresh_cells *c, void (*add)(void *to, const char *op, uint64_t cells), void *to);

/* state.c: the endpoint's state version in Redis, which the gateway hands to the api. */
void state_forget(jobs *self, const char *org, const Tabella__Endpoint *e);
bool state_gone(jobs *self, const char *org, const Tabella__Endpoint *e); /* false: Redis does not know */
void state_show(jobs *self, const char *org, const Tabella__Endpoint *e);

/* chores.c: calls that must happen in the end. */
void chores_do(jobs *self);
/* Tries at once what the chore of this endpoint's pins will do in any case. */
void chores_pins(jobs *self, tab_arena *a, const char *org, const char *endpoint_id);

#endif
