/* EditEndpoint: what the platform changes without a job. A new target or task is evaluated before it is
 * put in force, so that the held-out block beside it is always its own. */
#include <stdio.h>

#include "common/proto.h"
#include "proto/inference.pb-c.h"
#include "services/jobs/jobs.h"

/* The same choice, or another one? */
static bool same_options(const Tabella__RunOptions *a, const Tabella__RunOptions *b)
{
    return strcmp(a->target_mode, b->target_mode) == 0 && strcmp(a->task, b->task) == 0 &&
           a->threshold == b->threshold && // NOLINT: the very number, as it was set
           a->target_column.len == b->target_column.len &&
           (a->target_column.len == 0 ||
            memcmp(a->target_column.data, b->target_column.data, a->target_column.len) == 0);
}

static tab_status evaluate(jobs *self, tab_call *call, const Tabella__Endpoint *e,
                           const Tabella__RunOptions *o, const Tabella__EvaluateReply **ret, tab_error *err)
{
    Tabella__EvaluateRequest q = TABELLA__EVALUATE_REQUEST__INIT;
    Tabella__RunOptions options = *o;
    options.base_model = e->base_model;
    q.options = &options;
    q.seed = e->held_out != NULL ? e->held_out->seed : work_seed(e->id);
    q.sources = tab_arena_new_of(call->arena, Tabella__TableSource *, e->n_datasets + 1);
    Tabella__TableSource *t = tab_arena_new_of(call->arena, Tabella__TableSource, e->n_datasets + 1);
    if (q.sources == NULL || t == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < e->n_datasets; i++) {
        tabella__table_source__init(&t[i]);
        t[i].id = e->datasets[i]->table_id;
        t[i].snapshot = e->datasets[i]->snapshot;
        q.sources[q.n_sources++] = &t[i];
    }
    Tabella__ServeState keep = TABELLA__SERVE_STATE__INIT;
    keep.endpoint_id = e->id;
    keep.config_revision = e->config_revision + 1;
    keep.data_revision = e->data_revision;
    q.keep = &keep;
    tab_ask ask = { .service = "inference",
                    .method = "Evaluate",
                    .in = &q.base,
                    .reply = &tabella__evaluate_reply__descriptor,
                    .arena = call->arena };
    tab_answer answer = { 0 };
    tab_ask_inherit(&ask, call);
    tab_status s = tab_rpc_call(self->rpc, &ask, &answer, err);
    if (s == TAB_OK)
        *ret = answer.msg;
    return s;
}

static tab_status audit(tab_tx *tx, tab_call *call, const Tabella__Endpoint *e, const char *actor,
                        const char *what, tab_error *err)
{
    char id[TAB_ID];
    tab_id_new(id, "evt_");
    Tabella__AuditEvent a = TABELLA__AUDIT_EVENT__INIT;
    a.event_id = id;
    a.org_id = (char *)call->org;
    a.at_us = tab_now_us();
    a.actor = (char *)actor;
    a.action = (char *)what;
    a.subject = e->id;
    a.request_id = (char *)call->request_id;
    return tab_outbox_put(tx, "jobs", id, "tabella.event.audit", call->org, &a.base, err);
}

static tab_status busy(const Tabella__Endpoint *e, tab_error *err)
{
    char param[TAB_ID + 24];
    snprintf(param, sizeof param, "running_job_id:%s", e->job_id);
    return tab_fail(err, TAB_CONFLICT, param,
                    "a mutating job of this endpoint is running: wait for it or cancel it");
}

tab_status jobs_edit_endpoint(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__EditEndpointRequest *q = call->in;
    TAB_AUTO(tab_tx) *first = NULL, *tx = NULL;
    Tabella__Endpoint *e = NULL, *now = NULL;
    const Tabella__EvaluateReply *y = NULL;
    tab_status s;
    if ((s = tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &first,
                          err)) != TAB_OK ||
        (s = endpoint_get(first, call->arena, call->org, q->id_or_name, false, &e, err)) != TAB_OK ||
        (s = tab_tx_commit(&first, err)) != TAB_OK)
        return s;
    if (strcmp(e->status, "live") != 0)
        return tab_fail(err, TAB_CONFLICT, "", "the endpoint is not live yet");

    Tabella__RunOptions options = TABELLA__RUN_OPTIONS__INIT;
    if (e->options != NULL)
        options = *e->options;
    const Tabella__RunOptions old = options;
    if (q->options != NULL && q->set_target) {
        options.target_mode = q->options->target_mode;
        options.target_column = q->options->target_column;
    }
    if (q->options != NULL && q->set_task)
        options.task = q->options->task;
    if (q->options != NULL && q->set_threshold)
        options.threshold = q->options->threshold;
    bool changed = !same_options(&old, &options);
    if (changed && e->job_id[0] != 0)
        return busy(e, err);
    if (changed && (s = evaluate(self, call, e, &options, &y, err)) != TAB_OK)
        return s;

    /* In force in one transaction, on the state that was evaluated. */
    if ((s = tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err)) !=
            TAB_OK ||
        (s = endpoint_get(tx, call->arena, call->org, e->id, true, &now, err)) != TAB_OK)
        return s;
    if (changed && now->job_id[0] != 0)
        return busy(now, err);
    if (changed && (now->data_revision != e->data_revision || now->config_revision != e->config_revision ||
                    strcmp(now->base_model, e->base_model) != 0))
        return tab_fail(err, TAB_CONFLICT, "", "the endpoint was changed meanwhile: read it and try again");
    bool renamed = q->rename[0] != 0 && strcmp(q->rename, now->name) != 0;
    state_forget(self, call->org, now);
    char output[TAB_ID] = "";
    if (changed) {
        now->options = tab_arena_new_of(call->arena, Tabella__RunOptions,
                                        1); /* outlives this function: it is packed later */
        if (now->options == NULL)
            return tab_no_memory(err);
        *now->options = options;
        now->held_out = y->held_out;
        now->config_revision++;
        tab_id_new(output, "job_"); /* its bundle is kept under an id like a job's */
        if ((s = jobs_output_put(tx, call->org, output, y->bundle, NULL, err)) != TAB_OK)
            return s;
    } else if (q->set_prompts) {
        now->config_revision++;
    }
    if (renamed) {
        now->name = tab_proto_text(call->arena, q->rename);
        if (strspn(now->name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(now->name) ||
            strlen(now->name) > 63 || now->name[0] == '-' || now->name[strlen(now->name) - 1] == '-')
            return tab_fail(err, TAB_VALIDATION, "name", "a name is 1 to 63 of a-z, 0-9 and inner hyphens");
    }
    if (q->set_prompts &&
        (s = endpoint_prompts(tx, call->arena, call->org, now, q->prompts, q->n_prompts, err)) != TAB_OK)
        return s;
    if (!changed && !renamed && !q->set_prompts) {
        *(Tabella__Endpoint *)call->out = *now;
        return TAB_OK;
    }
    if ((s = endpoint_put(tx, call->arena, call->org, now, changed ? output : NULL, err)) != TAB_OK ||
        (s = audit(tx, call, now, q->actor,
                   q->set_prompts        ? "endpoint.prompts"
                   : renamed && !changed ? "endpoint.rename"
                                         : "endpoint.config",
                   err)) != TAB_OK ||
        (s = endpoint_log(tx, call->org, now->id, "config.edited", "", q->actor, err,
                          "configuration revision %llu", (unsigned long long)now->config_revision)) !=
            TAB_OK ||
        (s = tab_tx_commit(&tx, err)) != TAB_OK)
        return s;
    now->state_version++;
    state_show(self, call->org, now);
    tab_relay_nudge(self->relay);
    *(Tabella__Endpoint *)call->out = *now;
    return TAB_OK;
}
