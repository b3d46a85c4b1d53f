/* The RPC methods of proto/jobs.proto. */
#include "services/jobs/jobs.h"

#include "services/jobs/drift.h"
#include "services/jobs/outcomes/outcomes.h"

#include <stdio.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "proto/data.pb-c.h"
#include "proto/inference.pb-c.h"

/* Begins the call's transaction, in one place for all methods. */
static tab_status begin(jobs *self, tab_call *call, tab_tx **tx, tab_error *err)
{
    return tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), tx, err);
}

/* The eta of a waiting job: the jobs ahead of it at the recent pace, shared by the workers. */
static void fill_eta(jobs *self, Tabella__Job *j)
{
    if (j->eta == NULL)
        return;
    int64_t now = tab_now_us();
    if (j->eta->due_us == 0) {
        int64_t ahead = atomic_load(&self->queued) + atomic_load(&self->running);
        int64_t mean = atomic_load(&self->mean_ms);
        int64_t ms = (ahead / (self->workers > 0 ? self->workers : 1) + 1) * (mean > 100 ? mean : 100);
        j->eta->due_us = now + ms * 1000;
    }
    j->eta->seconds_remaining =
        j->eta->due_us > now ? (uint64_t)((j->eta->due_us - now + 999999) / 1000000) : 0;
}

static tab_status read_job(jobs *self, tab_call *call, tab_tx *tx, const char *id, Tabella__Job *ret,
                           tab_error *err)
{
    Tabella__Job *j = NULL;
    tab_status s = jobs_get(tx, call->arena, call->org, id, &j, err);
    if (s == TAB_OK) {
        fill_eta(self, j);
        *ret = *j;
    }
    return s;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static tab_status submit(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__SubmitRequest *q = call->in;
    static const char *const kinds[] = { "run", "batch", "generate", "sync", "serve", "export" };
    bool known = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        known |= strcmp(q->kind, kinds[i]) == 0;
    if (!known || !tab_id_valid(tab_str_of(q->job_id), "job_"))
        return tab_fail(err, TAB_VALIDATION, "kind", "no such kind of job, or no job id");
    bool sync = strcmp(q->kind, "sync") == 0;
    /* in a batch, what has a worker's request of its own is a generation */
    bool generate = strcmp(q->kind, "generate") == 0 || (!sync && q->request.len > 0);
    bool export = strcmp(q->kind, "export") == 0;
    bool batch = strcmp(q->kind, "batch") == 0, serve = strcmp(q->kind, "serve") == 0;
    if (serve && (q->serve == NULL || q->serve->endpoint_id[0] == 0))
        return tab_fail(err, TAB_VALIDATION, "serve", "no endpoint to serve");
    jobs_new j = { .job_id = q->job_id,
                   .suspect = q->suspect,
                   .kind = q->kind,
                   .work = sync       ? "sync"
                           : serve    ? "serve"
                           : export   ? "export"
                           : generate ? "generate"
                                      : "run",
                   .processing = batch ? "batch" : "realtime",
                   .label = q->label[0] != 0 ? q->label : q->report_id,
                   .about = q->about,
                   .report_id = q->report_id,
                   .run_id = q->run_id,
                   .key_id = q->key_id,
                   .surface = q->surface,
                   .request_id = call->request_id,
                   .cells = q->cells,
                   .serves = serve ? q->serve->endpoint_id : "",
                   .batch_cap = q->batch_concurrency,
                   .window_s = batch ? self->window_s : 0,
                   .request = export ? (tab_str){ "", 0 } : tab_proto_write(call->arena, &q->base) };
    if (j.request.p == NULL)
        return tab_no_memory(err);
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s;
    if ((s = begin(self, call, &tx, err)) == TAB_OK &&
        (s = export ? jobs_export_begin(tx, call, q, err) : TAB_OK) == TAB_OK &&
        (s = jobs_insert(tx, call->org, &j, err)) == TAB_OK &&
        (s = jobs_queue_room(tx, call->org, q->batch_concurrency, err)) == TAB_OK &&
        (s = read_job(self, call, tx, q->job_id, call->out, err)) == TAB_OK &&
        (s = tab_tx_commit(&tx, err)) == TAB_OK)
        jobs_wake(self);
    return s;
}

static tab_status get(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__GetJobRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s;
    if ((s = begin(self, call, &tx, err)) == TAB_OK &&
        (s = read_job(self, call, tx, q->job_id, call->out, err)) == TAB_OK)
        s = tab_tx_commit(&tx, err);
    return s;
}

static tab_status list(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    Tabella__ListJobsReply *y = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s;
    if ((s = begin(self, call, &tx, err)) == TAB_OK &&
        (s = jobs_list(tx, call->arena, call->org, call->in, y, err)) == TAB_OK)
        s = tab_tx_commit(&tx, err);
    for (size_t i = 0; s == TAB_OK && i < y->n_jobs; i++)
        fill_eta(self, y->jobs[i]);
    return s;
}

static void wait_ms(long ms)
{
    struct timespec t = { 0, ms * 1000000 };
    nanosleep(&t, NULL);
}

static tab_status cancel(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__CancelJobRequest *q = call->in;
    for (bool busy = true; busy;) {
        TAB_AUTO(tab_tx) *tx = NULL;
        int64_t attempt = 0;
        tab_status s;
        if ((s = begin(self, call, &tx, err)) != TAB_OK ||
            (s = jobs_cancel(tx, call->org, q->job_id, q->actor, &busy, &attempt, err)) != TAB_OK)
            return s;
        if (!busy) {
            if ((s = read_job(self, call, tx, q->job_id, call->out, err)) != TAB_OK ||
                (s = tab_tx_commit(&tx, err)) != TAB_OK)
                return s;
            if (attempt > 0)
                jobs_cancel_call(self, q->job_id, attempt);
            jobs_wake(self);
            return TAB_OK;
        }
        /* Its end is being committed: a moment later it is terminal, and the answer is a conflict. */
        if (tab_left_ms(call->deadline, 1) == 0)
            return tab_fail(err, TAB_UNAVAILABLE, "", "the job is ending at this moment; try again");
        wait_ms(50);
    }
    return TAB_OK;
}

/* As it lies, where the caller reads it so. Callers of the version before, which do not, get bundles that are
 * whole, and for a moment no large ones. */
static tab_status bundle_of(jobs *self, tab_call *call, const char *job_id, const jobs_wanted *w, bool pieces,
                            tab_error *err)
{
    Tabella__OutputReply *y = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_str bytes;
    TAB_TRY(begin(self, call, &tx, err));
    TAB_TRY(jobs_output_get(tx, call->org, job_id, &self->run_keys, w, call->arena, &bytes, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    if (pieces) {
        y->packed = (ProtobufCBinaryData){ bytes.n, (uint8_t *)(uintptr_t)bytes.p };
        return TAB_OK;
    }
    y->bundle = tab_proto_read(call->arena, &tabella__bundle__descriptor, bytes);
    if (y->bundle == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "a stored bundle cannot be read");
    return y->bundle->n_parts == 0 ? TAB_OK
                                   : tab_fail(err, TAB_UNAVAILABLE, "",
                                              "this result has to be read in pieces; try again in a moment");
}

static tab_status output(void *arg, tab_call *call, tab_error *err)
{
    const Tabella__OutputRequest *q = call->in;
    return bundle_of(arg, call, q->job_id, &(jobs_wanted){ q->array, q->from }, q->pieces, err);
}

/* Inference has made a piece of the result of an attempt that still holds its job. Its bundle's time is set
 * with the head; until then it is that of one whose job never ends. */
static tab_status put_piece(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__PutPieceRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    int array = 0;
    while (array < TAB_PAGE_COUNT && strcmp(tab_paged_name((tab_paged)array), q->array) != 0)
        array++;
    if (array == TAB_PAGE_COUNT || q->first > INT64_MAX)
        return tab_fail(err, TAB_VALIDATION, "array", "`array` must be one of a bundle's paged arrays");
    TAB_TRY(begin(self, call, &tx, err));
    /* who takes the job over waits for this */
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT work = 'run' FROM jobs.job WHERE org = $1 AND job_id = $2 AND attempt = $3 "
                         "AND status = 'running' FOR SHARE",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->job_id), tab_p_int(q->attempt))));
    if (tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_CANCELLED, "", "the lease of this attempt is gone");
    const tab_run_keys *seal = tab_rows_bool(rows, 0, 0) ? &self->run_keys : NULL;
    tab_str bytes = { (const char *)q->bundle.data, q->bundle.len };
    TAB_TRY(jobs_output_piece(tx, call->org, q->job_id, (tab_paged)array, (size_t)q->first, bytes, seal,
                              JOBS_OUTPUT_HOURS, err));
    return tab_tx_commit(&tx, err);
}

/* What a job has told its caller follows in events: how far they are. */
static tab_status waiting(void *arg, tab_call *call, tab_error *err)
{
    const Tabella__WaitingRequest *q = call->in;
    Tabella__WaitingReply *y = call->out;
    return tab_outbox_waiting(((jobs *)arg)->pg, "jobs", call->org, q->service, q->up_to, call->deadline,
                              &y->event, err);
}

/* ---- endpoints ------------------------------------------------------------------------------- */

static bool slug(const char *s)
{
    size_t n = strlen(s);
    if (n == 0 || n > 63 || s[0] == '-' || s[n - 1] == '-')
        return false;
    return strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* Whether a base may be used: inference knows. An empty name is the default. */
static tab_status check_base(jobs *self, tab_call *call, const char *base, tab_error *err)
{
    if (base == NULL || base[0] == 0)
        return TAB_OK;
    Tabella__ModelsRequest q = TABELLA__MODELS_REQUEST__INIT;
    q.with_retired = true;
    tab_ask ask = { .service = "inference",
                    .method = "Models",
                    .in = &q.base,
                    .reply = &tabella__models_reply__descriptor,
                    .arena = call->arena };
    tab_answer answer = { 0 };
    tab_ask_inherit(&ask, call);
    tab_status s = tab_rpc_call(self->rpc, &ask, &answer, err);
    if (s != TAB_OK)
        return s;
    const Tabella__ModelsReply *y = answer.msg;
    for (size_t i = 0; i < y->n_models; i++)
        if (strcmp(y->models[i]->id, base) == 0)
            return strcmp(y->models[i]->status, "retired") != 0
                       ? TAB_OK
                       : tab_fail(err, TAB_CAPABILITY, "base", "base %s is retired; name another one", base);
    return tab_fail(err, TAB_VALIDATION, "base", "no such base");
}

static tab_status read_endpoint(tab_call *call, tab_tx *tx, const char *id, Tabella__Endpoint **ret,
                                tab_error *err)
{
    return endpoint_get(tx, call->arena, call->org, id, false, ret, err);
}

static tab_status read_both(jobs *self, tab_call *call, tab_tx *tx, const char *id, const char *job,
                            tab_error *err)
{
    Tabella__EndpointJob *y = call->out;
    tab_status s = read_endpoint(call, tx, id, &y->endpoint, err);
    if (s != TAB_OK)
        return s;
    y->job = tab_arena_new_of(call->arena, Tabella__Job, 1);
    return y->job == NULL ? tab_no_memory(err) : read_job(self, call, tx, job, y->job, err);
}

static tab_status create_endpoint(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__CreateEndpointRequest *q = call->in;
    if (!slug(q->name))
        return tab_fail(
            err, TAB_VALIDATION, "name",
            "a name must be 1 to 63 characters of a-z, 0-9 and hyphens, not beginning or ending with a "
            "hyphen");
    if (q->n_sources == 0)
        return tab_fail(err, TAB_VALIDATION, "data", "`data` or `tables` is required");
    if (q->endpoint_id[0] == 0 || !tab_id_valid(tab_str_of(q->job_id), "job_"))
        return tab_fail(err, TAB_VALIDATION, "id", "the caller must give both ids");
    tab_status s = check_base(self, call, q->options == NULL ? NULL : q->options->base_model, err);
    TAB_AUTO(tab_tx) *tx = NULL;
    if (s == TAB_OK && (s = begin(self, call, &tx, err)) == TAB_OK &&
        (s = endpoint_create(tx, call->arena, call->org, q, call->request_id, err)) == TAB_OK &&
        (s = read_both(self, call, tx, q->endpoint_id, q->job_id, err)) == TAB_OK &&
        (s = tab_tx_commit(&tx, err)) == TAB_OK)
        jobs_wake(self);
    return s;
}

static tab_status get_endpoint(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__GetEndpointRequest *q = call->in;
    Tabella__Endpoint *e = NULL;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s;
    if ((s = begin(self, call, &tx, err)) != TAB_OK ||
        (s = read_endpoint(call, tx, q->id_or_name, &e, err)) != TAB_OK ||
        (s = drift_read(tx, call->arena, call->org, e, err)) != TAB_OK ||
        (s = tab_tx_commit(&tx, err)) != TAB_OK)
        return s;
    if (strcmp(e->status, "live") == 0)
        state_show(self, call->org, e);
    *(Tabella__Endpoint *)call->out = *e;
    return TAB_OK;
}

static tab_status list_endpoints(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s;
    if ((s = begin(self, call, &tx, err)) == TAB_OK &&
        (s = endpoint_list(tx, call->arena, call->org, call->in, call->out, err)) == TAB_OK)
        s = tab_tx_commit(&tx, err);
    return s;
}

/* One try. *ret_busy: a job of the endpoint is being committed; it needs the row that this transaction
 * holds, and takes milliseconds. */
static tab_status delete_now(jobs *self, tab_call *call, int64_t *ret_attempt, bool *ret_busy,
                             Tabella__Endpoint **ret, tab_error *err)
{
    const Tabella__DeleteEndpointRequest *q = call->in;
    Tabella__DeleteEndpointReply *y = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s;
    if ((s = begin(self, call, &tx, err)) != TAB_OK ||
        (s = endpoint_get(tx, call->arena, call->org, q->id_or_name, true, ret, err)) != TAB_OK)
        return s;
    s = endpoint_delete(tx, call, *ret, q->actor, &y->deleted_us, ret_attempt, ret_busy, err);
    return s != TAB_OK || *ret_busy ? s : tab_tx_commit(&tx, err);
}

static tab_status delete_endpoint(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    Tabella__DeleteEndpointReply *y = call->out;
    Tabella__Endpoint *e = NULL;
    int64_t attempt = 0;
    for (bool busy = true; busy;) {
        tab_status s = delete_now(self, call, &attempt, &busy, &e, err);
        if (s != TAB_OK)
            return s;
        if (busy && tab_left_ms(call->deadline, 1) == 0)
            return tab_fail(err, TAB_UNAVAILABLE, "",
                            "a job of this endpoint is ending at this moment; try again");
        if (busy)
            wait_ms(50);
    }
    if (attempt > 0)
        jobs_cancel_call(self, e->job_id, attempt);
    if (!state_gone(self, call->org, e))
        wait_ms(999), wait_ms(999), wait_ms(99); /* the entry's life: nobody is served from it afterwards */
    chores_pins(self, call->arena, call->org, e->id); /* they have fallen when the deletion is answered */
    jobs_wake(self);
    y->id = e->id;
    return TAB_OK;
}

static tab_status mutate(jobs *self, tab_call *call, const char *id, const jobs_new *given, const char *base,
                         tab_error *err)
{
    Tabella__Endpoint *e = NULL;
    TAB_AUTO(tab_tx) *tx = NULL;
    char report[TAB_ID];
    tab_status s;
    if (!tab_id_valid(tab_str_of(given->job_id), "job_"))
        return tab_fail(err, TAB_VALIDATION, "job_id", "the caller must give the job's id");
    Tabella__Job *have = NULL;
    if ((s = begin(self, call, &tx, err)) != TAB_OK ||
        (s = endpoint_get(tx, call->arena, call->org, id, true, &e, err)) != TAB_OK)
        return s;
    s = jobs_get(tx, call->arena, call->org, given->job_id, &have, NULL);
    if (s == TAB_OK &&
        strcmp(have->endpoint_id, e->id) == 0) /* this very call, again: its first answer was lost */
        return (s = read_both(self, call, tx, e->id, given->job_id, err)) == TAB_OK ? tab_tx_commit(&tx, err)
                                                                                    : s;
    if (s != TAB_OK && s != TAB_NOT_FOUND)
        return tab_fail(err, s, "", "a server is not responding; try again");
    tab_id_hex(report, "r_");
    jobs_new j = *given;
    j.report_id = report;
    j.label = j.endpoint = e->name;
    j.endpoint_id = e->id;
    j.request_id = call->request_id;
    if (j.request.p == NULL)
        return tab_no_memory(err);
    if ((s = endpoint_mutate(tx, call->org, e, &j, base, err)) == TAB_OK &&
        (s = read_both(self, call, tx, e->id, j.job_id, err)) == TAB_OK &&
        (s = tab_tx_commit(&tx, err)) == TAB_OK)
        jobs_wake(self);
    return s;
}

/* Refused here rather than by a job that fails: an endpoint on a retired base is not refreshed on it. */
static tab_status base_serves(jobs *self, tab_call *call, const Tabella__RefreshRequest *q, tab_error *err)
{
    Tabella__Endpoint *e = NULL;
    Tabella__Job *have = NULL;
    tab_status s;
    {
        TAB_AUTO(tab_tx) *tx = NULL;
        if ((s = begin(self, call, &tx, err)) != TAB_OK ||
            (s = read_endpoint(call, tx, q->id_or_name, &e, err)) != TAB_OK)
            return s;
        if (jobs_get(tx, call->arena, call->org, q->job_id, &have, NULL) == TAB_OK)
            return TAB_OK; /* this very call, again */
    }
    s = check_base(self, call, e->base_model, err);
    return s == TAB_CAPABILITY
               ? tab_fail(err, s, "base", "base %s is retired; upgrade the endpoint to another one",
                          e->base_model)
               : s;
}

static tab_status refresh(void *arg, tab_call *call, tab_error *err)
{
    const Tabella__RefreshRequest *q = call->in;
    tab_status s = base_serves(arg, call, q, err);
    if (s != TAB_OK)
        return s;
    jobs_new j = { .job_id = q->job_id,
                   .kind = "refresh",
                   .work = "refresh",
                   .key_id = q->key_id,
                   .surface = q->surface,
                   .request = tab_proto_write(call->arena, &q->base) };
    return mutate(arg, call, q->id_or_name, &j, NULL, err);
}

static tab_status upgrade(void *arg, tab_call *call, tab_error *err)
{
    const Tabella__UpgradeRequest *q = call->in;
    if (q->base_model[0] == 0)
        return tab_fail(err, TAB_VALIDATION, "base", "give the base to upgrade to in `base`");
    tab_status s = check_base(arg, call, q->base_model, err);
    if (s != TAB_OK)
        return s;
    jobs_new j = { .job_id = q->job_id,
                   .kind = "upgrade",
                   .work = "upgrade",
                   .key_id = q->key_id,
                   .surface = q->surface,
                   .request = tab_proto_write(call->arena, &q->base) };
    return mutate(arg, call, q->id_or_name, &j, q->base_model, err);
}

static tab_status endpoint_logs_of(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s;
    if ((s = begin(self, call, &tx, err)) == TAB_OK &&
        (s = endpoint_logs(tx, call->arena, call->org, call->in, call->out, err)) == TAB_OK)
        s = tab_tx_commit(&tx, err);
    return s;
}

static tab_status endpoint_bundle(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__GetEndpointRequest *q = call->in;
    char job[TAB_ID] = "";
    {
        Tabella__Endpoint *e = NULL;
        TAB_AUTO(tab_tx) *tx = NULL;
        tab_status s;
        if ((s = begin(self, call, &tx, err)) != TAB_OK ||
            (s = read_endpoint(call, tx, q->id_or_name, &e, err)) != TAB_OK ||
            (s = endpoint_output_job(tx, call->org, e->id, job, err)) != TAB_OK ||
            (s = tab_tx_commit(&tx, err)) != TAB_OK)
            return s;
    }
    if (job[0] == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "this endpoint has no bundle yet");
    return bundle_of(self, call, job, &(jobs_wanted){ q->array, q->from }, q->pieces, err);
}

static tab_status gone(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__GoneRequest *q = call->in;
    Tabella__GoneReply *y = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    const char *ids = tab_pg_array(call->arena, q->ids, q->n_ids);
    if (ids == NULL)
        return tab_no_memory(err);
    tab_status s = begin(self, call, &tx, err);
    if (s == TAB_OK)
        s = endpoints_gone(tx, call->arena, call->org, ids, &y->ids, &y->n_ids, err);
    return s == TAB_OK ? tab_tx_commit(&tx, err) : s;
}

static tab_status gone_of_all(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__GoneRequest *q = call->in;
    Tabella__GoneReply *y = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    if (strcmp(call->actor, "inference") != 0 || q->n_ids != q->n_orgs || q->n_ids > GONE_MOST)
        return tab_fail(err, TAB_VALIDATION, "ids", "at most %d ids, each with its organization", GONE_MOST);
    const char *ids = tab_pg_array(call->arena, q->ids, q->n_ids);
    const char *orgs = tab_pg_array(call->arena, q->orgs, q->n_orgs);
    if (ids == NULL || orgs == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, err));
    return endpoints_gone_of_all(&tx, call->arena, orgs, ids, q->with_calls, y, err);
}

#define METHOD(name, in, out, fn)                                             \
    {                                                                         \
        name, &tabella__##in##__descriptor, &tabella__##out##__descriptor, fn \
    }

const tab_rpc_method jobs_methods[] = {
    METHOD("Submit", submit_request, job, submit),
    METHOD("Get", get_job_request, job, get),
    METHOD("List", list_jobs_request, list_jobs_reply, list),
    METHOD("Cancel", cancel_job_request, job, cancel),
    METHOD("DeleteJob", delete_job_request, delete_job_reply, jobs_delete_job),
    METHOD("Output", output_request, output_reply, output),
    METHOD("PutPiece", put_piece_request, empty, put_piece),
    METHOD("OutRows", out_rows_request, out_rows_reply, jobs_out_rows),
    METHOD("Export", export_request, export_reply, jobs_export),
    METHOD("CreateEndpoint", create_endpoint_request, endpoint_job, create_endpoint),
    METHOD("GetEndpoint", get_endpoint_request, endpoint, get_endpoint),
    METHOD("ListEndpoints", list_endpoints_request, list_endpoints_reply, list_endpoints),
    METHOD("DeleteEndpoint", delete_endpoint_request, delete_endpoint_reply, delete_endpoint),
    METHOD("Refresh", refresh_request, endpoint_job, refresh),
    METHOD("RefreshCost", refresh_request, refresh_cost, jobs_refresh_cost),
    METHOD("Upgrade", upgrade_request, endpoint_job, upgrade),
    METHOD("EditEndpoint", edit_endpoint_request, endpoint, jobs_edit_endpoint),
    METHOD("EndpointLogs", endpoint_logs_request, endpoint_logs_reply, endpoint_logs_of),
    METHOD("EndpointBundle", get_endpoint_request, output_reply, endpoint_bundle),
    METHOD("Gone", gone_request, gone_reply, gone),
    METHOD("GoneOfAll", gone_request, gone_reply, gone_of_all),
    METHOD("Waiting", waiting_request, waiting_reply, waiting),
    METHOD("Drift", drift_request, empty, drift_add),
    METHOD("Outcomes", outcomes_request, outcomes_reply, outcomes_put),
    METHOD("ForgetOutcomes", forget_outcomes_request, forget_outcomes_reply, outcomes_forget),
    METHOD("OutcomeQuality", get_endpoint_request, outcome_quality, outcomes_read),
    TAB_RPC_METHODS_END,
};

/* ---- events ---------------------------------------------------------------------------------- */

/* Serve calls are added up, and one statement notes them for all endpoints that were called. */
tab_status jobs_on_work(void *self, tab_tx *tx, const tab_event *event, size_t n, tab_error *err)
{
    (void)self;
    tab_arena *a = event->arena;
    tab_status s = TAB_OK;
    size_t m = 0;
    const Tabella__WorkDone **called = tab_arena_new_of(a, const Tabella__WorkDone *, n);
    int64_t *calls = tab_arena_new_of(a, int64_t, n);
    if (called == NULL || calls == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; s == TAB_OK && i < n; i++) {
        const Tabella__WorkDone *e = tab_proto_read(a, &tabella__work_done__descriptor, event[i].payload);
        if (e == NULL || strcmp(e->org_id, event[i].org) != 0) {
            tab_log_fields(TAB_ERROR, "an event that cannot be read", "event_id", event[i].event_id, NULL);
        } else if (strcmp(e->kind, "serve") == 0) {
            size_t k = 0;
            while (k < m && (strcmp(called[k]->endpoint_id, e->endpoint_id) != 0 ||
                             strcmp(called[k]->org_id, e->org_id) != 0))
                k++;
            if (k == m)
                called[m++] = e;
            calls[k] += e->calls == 0 ? 1 : (int64_t)e->calls;
        } else if (e->run != NULL && e->run->job_id[0] != 0) {
            s = jobs_record_run(tx, a, e, err);
        }
    }
    return s == TAB_OK && m > 0 ? endpoints_called(tx, a, called, calls, m, err) : s;
}
