/* Endpoints: rows beside the jobs that move them.
 *
 *   (none) --create--> creating --done--> live --delete--> (gone: the name is free, the id never used again)
 *                          \--failed, cancelled--> creating, with its job's state; deleted or created anew
 *
 * The state that serve sees is (base, data_revision, config_revision); state_version rises with each
 * change of it, and one statement changes all of it, in the transaction that ends the job. */
#ifndef TAB_JOBS_ENDPOINT_H
#define TAB_JOBS_ENDPOINT_H

#include "common/rpc/rpc.h"
#include "services/jobs/store.h"

/* An endpoint with its row's columns filled in over its stored body. Lives in the arena.
 * id_or_name: an id wins over a name. NOT_FOUND for unknown and deleted ones. lock: for update. */
tab_status endpoint_get(tab_tx *tx, tab_arena *a, const char *org, const char *id_or_name, bool lock,
                        Tabella__Endpoint **ret, tab_error *err) TAB_CHECKED;
tab_status endpoint_list(tab_tx *tx, tab_arena *a, const char *org, const Tabella__ListEndpointsRequest *q,
                         Tabella__ListEndpointsReply *y, tab_error *err) TAB_CHECKED;

/* The row `creating` and its job, in one transaction. CONFLICT on "name" when the name is in use; the remains
 * of a creation that failed or was cancelled give way. The same ids again change nothing. */
tab_status endpoint_create(tab_tx *tx, tab_arena *a, const char *org, const Tabella__CreateEndpointRequest *q,
                           const char *request_id, tab_error *err) TAB_CHECKED;

/* A refresh or an upgrade (base not NULL) as a job. CONFLICT while creating, while another mutating job runs
 * (param running_job_id:...), and for an upgrade to the base that is served. */
tab_status endpoint_mutate(tab_tx *tx, const char *org, const Tabella__Endpoint *e, const jobs_new *j,
                           const char *base, tab_error *err) TAB_CHECKED;

/* Writes e over the stored endpoint: body, name, status, base, revisions; state_version rises by one.
 * `output_job`, unless NULL, is the job whose output becomes its bundle; the old bundle is deleted after
 * JOBS_OUTPUT_HOURS. */
tab_status endpoint_put(tab_tx *tx, tab_arena *a, const char *org, const Tabella__Endpoint *e,
                        const char *output_job, tab_error *err) TAB_CHECKED;
/* Notes that its data could not be read by this job; what it serves stays as it is. */
tab_status endpoint_stale(tab_tx *tx, tab_arena *a, const char *org, const char *endpoint_id,
                          const char *job_id, const char *reason, tab_error *err) TAB_CHECKED;
/* *ret_busy: nothing was done, for a job of it is being committed: roll back and ask again. *ret_attempt: as
 * of jobs_cancel. */
tab_status endpoint_delete(tab_tx *tx, const tab_call *call, const Tabella__Endpoint *e, const char *actor,
                           int64_t *ret_deleted_us, int64_t *ret_attempt, bool *ret_busy,
                           tab_error *err) TAB_CHECKED;

/* Those of the ids (an array's text) that no living endpoint of the organization has. */
tab_status endpoints_gone(tab_tx *tx, tab_arena *a, const char *org, const char *ids, char ***ret,
                          size_t *ret_n, tab_error *err) TAB_CHECKED;

/* The same of any organizations (an array's text beside the ids'), on a transaction of all, which it ends:
 * their places, ascending; and, where asked for, how often each of the ids was called. */
enum { GONE_MOST = 5000 };
tab_status endpoints_gone_of_all(tab_tx **tx, tab_arena *a, const char *orgs, const char *ids,
                                 bool with_calls, Tabella__GoneReply *ret, tab_error *err) TAB_CHECKED;

tab_status endpoint_log(tab_tx *tx, const char *org, const char *endpoint_id, const char *event,
                        const char *job_id, const char *actor, tab_error *err, const char *fmt,
                        ...) TAB_CHECKED __attribute__((format(printf, 8, 9)));
tab_status endpoint_logs(tab_tx *tx, tab_arena *a, const char *org, const Tabella__EndpointLogsRequest *q,
                         Tabella__EndpointLogsReply *y, tab_error *err) TAB_CHECKED;

/* The job whose output is the endpoint's bundle, "" while there is none. */
tab_status endpoint_output_job(tab_tx *tx, const char *org, const char *endpoint_id, char ret[TAB_ID],
                               tab_error *err) TAB_CHECKED;

/* Stores fragments of the system prompt; every version of a body is kept. Fills in ids and versions of q's
 * prompts by comparing them with e's, and leaves the new list in e. VALIDATION on system_prompts[i]. */
tab_status endpoint_prompts(tab_tx *tx, tab_arena *a, const char *org, Tabella__Endpoint *e,
                            Tabella__SystemPrompt *const *prompts, size_t n, tab_error *err) TAB_CHECKED;

/* What a pass over the endpoint's data reads: a source for each of its pinned snapshots, in the arena. */
tab_status endpoint_sources(tab_arena *a, const Tabella__Endpoint *e, Tabella__TableSource ***ret,
                            size_t *ret_n, tab_error *err) TAB_CHECKED;

/* Adds calls[i] to the count of calls of e[i]'s endpoint; n endpoints, none twice. */
tab_status endpoints_called(tab_tx *tx, tab_arena *a, const Tabella__WorkDone *const *e, const int64_t *calls,
                            size_t n, tab_error *err) TAB_CHECKED;

#endif
