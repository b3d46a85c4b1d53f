/* What the workflows use of the job that they work on, and what tells the workers of other processes. */
#include <assert.h>
#include <nats/nats.h>
#include <stdio.h>

#include "common/base/hash.h"
#include "services/jobs/work.h"

enum { CLEAR_MS = 120000 }; /* what an attempt left that died over a result of 10 million rows */

void work_phase(work *w, const char *phase, double from, double to)
{
    assert(from >= 0 && from < to && to < 1); /* the end is said by the transaction that ends the job */
    pthread_mutex_lock(&w->self->lock);
    snprintf(w->phase, sizeof w->phase, "%s", phase);
    w->from = from;
    w->to = to;
    w->progress = (int)(100 * from);
    pthread_mutex_unlock(&w->self->lock);
}

tab_status work_call(work *w, const char *service, const char *method, int64_t ms, const ProtobufCMessage *in,
                     const ProtobufCMessageDescriptor *reply, tab_arena *a, const void **ret, tab_error *err)
{
    return work_call_with(w, service, method, ms, in, NULL, 0, reply, a, ret, err);
}

static tab_status asked(work *w, tab_ask *ask, tab_answer *ret, tab_error *err)
{
    if (atomic_load(&w->gone))
        return tab_fail(err, TAB_CANCELLED, "",
                        atomic_load(&w->lost) ? "the job has been taken over by another worker"
                                              : "the worker is shutting down");
    ask->org = w->c->org;
    ask->request_id = w->c->request_id;
    ask->actor = w->c->key_id;
    ask->tell_begun = true;
    ask->returns = true;
    ask->gone = &w->gone;
    return tab_rpc_call(w->self->rpc, ask, ret, err);
}

tab_status work_call_with(work *w, const char *service, const char *method, int64_t ms,
                          const ProtobufCMessage *in, const tab_table *const *tables, size_t n_tables,
                          const ProtobufCMessageDescriptor *reply, tab_arena *a, const void **ret,
                          tab_error *err)
{
    tab_ask ask = { .service = service,
                    .method = method,
                    .deadline = tab_in_ms(ms),
                    .in = in,
                    .tables = tables,
                    .n_tables = n_tables,
                    .reply = reply,
                    .arena = a };
    tab_answer answer = { 0 };
    TAB_TRY(asked(w, &ask, &answer, err));
    *ret = answer.msg;
    return TAB_OK;
}

tab_status work_read(work *w, const Tabella__ReadRequest *q, int64_t ms, tab_arena *a,
                     const Tabella__ReadReply **ret_reply, const tab_table **ret, tab_error *err)
{
    tab_ask ask = { .service = "data-connector",
                    .method = "Read",
                    .deadline = tab_in_ms(ms),
                    .in = &q->base,
                    .reply = &tabella__read_reply__descriptor,
                    .arena = a };
    tab_answer answer = { 0 };
    TAB_TRY(asked(w, &ask, &answer, err));
    if (answer.n_tables != 1)
        return tab_fail(err, TAB_INTERNAL, "", "a snapshot that was read as no table");
    if (ret_reply != NULL)
        *ret_reply = answer.msg;
    *ret = answer.tables[0];
    return TAB_OK;
}

tab_status work_pieces(work *w, Tabella__PieceOwner *ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    ret->job_id = w->c->job_id;
    ret->attempt = w->c->attempt;
    TAB_TRY(tab_tx_begin(w->self->pg, w->c->org, tab_in_ms(CLEAR_MS), &tx, err));
    TAB_TRY(jobs_output_clear(tx, w->c->org, w->c->job_id, err));
    return tab_tx_commit(&tx, err);
}

tab_status work_output(work *w, tab_tx *tx, const Tabella__Bundle *b, bool in_pieces, const tab_run_keys *run,
                       tab_error *err)
{
    return in_pieces ? jobs_output_head(tx, w->c->org, w->c->job_id, b, run, err)
                     : jobs_output_put(tx, w->c->org, w->c->job_id, b, run, err);
}

void jobs_cancel_call(jobs *self, const char *job_id, int64_t attempt)
{
    char subject[TAB_ID + 48];
    natsConnection *nc = tab_rpc_nats(self->rpc);
    snprintf(subject, sizeof subject, "tabella.cancel.%s-%lld", job_id, (long long)attempt);
    if (nc != NULL && natsConnection_Publish(nc, subject, "", 0) == NATS_OK)
        natsConnection_Flush(nc);
}

tab_status work_begin(work *w, int64_t ms, tab_tx **ret, tab_error *err)
{
    TAB_TRY(tab_tx_begin(w->self->pg, w->c->org, tab_in_ms(ms), ret, err));
    tab_tx_silence(*ret, 1000 * JOBS_LEASE_S);
    return TAB_OK;
}

tab_status work_ended(work *w, tab_status s)
{
    if (s != TAB_OK && s != TAB_CANCELLED)
        return s;
    jobs_wake(w->self);
    return TAB_OK;
}

void jobs_wake(jobs *self)
{
    natsConnection *nc = tab_rpc_nats(self->rpc);
    tab_relay_nudge(self->relay);
    atomic_store(&self->woken, true);
    pthread_cond_signal(&self->wake);
    if (nc != NULL)
        (void)natsConnection_Publish(nc, "tabella.jobs.wake", "", 0);
}
