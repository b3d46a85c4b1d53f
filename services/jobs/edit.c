/* EditEndpoint: what the platform changes without a job. A new target or task is evaluated before it is
 * put in force, so that the held-out block beside it is always its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/proto.h"
#include "proto/inference.pb-c.h"
#include "services/jobs/jobs.h"

/* What is said of columns and cells, packed; NULL: out of memory. */
static uint8_t *packed_given(const Tabella__RunOptions *o, size_t *n)
{
    Tabella__RunOptions given = TABELLA__RUN_OPTIONS__INIT;
    given.n_columns = o->n_columns, given.columns = o->columns;
    given.missing_auto = o->missing_auto, given.missing_told = o->missing_told;
    given.n_missing_texts = o->n_missing_texts, given.missing_texts = o->missing_texts;
    given.n_missing_numbers = o->n_missing_numbers, given.missing_numbers = o->missing_numbers;
    given.split = o->split;
    given.horizon = o->horizon, given.as_of = o->as_of;
    given.anomaly_cut = o->anomaly_cut, given.anomaly_value = o->anomaly_value;
    *n = tabella__run_options__get_packed_size(&given);
    uint8_t *p = malloc(*n + 1);
    if (p != NULL)
        *n = tabella__run_options__pack(&given, p);
    return p;
}

/* Without memory to tell they count as different: the endpoint is then evaluated again. */
static bool same_given(const Tabella__RunOptions *a, const Tabella__RunOptions *b)
{
    size_t n = 0, m = 0;
    uint8_t *p = packed_given(a, &n), *q = packed_given(b, &m);
    bool same = p != NULL && q != NULL && n == m && memcmp(p, q, n) == 0;
    free(p);
    free(q);
    return same;
}

/* The same choice, or another one? */
static bool same_options(const Tabella__RunOptions *a, const Tabella__RunOptions *b)
{
    return same_given(a, b) && strcmp(a->target_mode, b->target_mode) == 0 && strcmp(a->task, b->task) == 0 &&
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
    q.seed = e->held_out != NULL ? e->held_out->seed : 0;
    TAB_TRY(endpoint_sources(call->arena, e, &q.sources, &q.n_sources, err));
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
    a.address = (char *)call->address;
    return tab_outbox_put(tx, "jobs", id, "tabella.event.audit", call->org, &a.base, err);
}

static tab_status busy(const Tabella__Endpoint *e, tab_error *err)
{
    char param[TAB_ID + 24];
    snprintf(param, sizeof param, "running_job_id:%s", e->job_id);
    return tab_fail(err, TAB_CONFLICT, param,
                    "another job is changing this endpoint; wait for it or cancel it");
}

/* One edit: the request, and what follows from it. */
typedef struct {
    const Tabella__EditEndpointRequest *q;
    Tabella__RunOptions options;
    bool changed;                    /* of anything but the name: the endpoint is evaluated anew */
    const Tabella__EvaluateReply *y; /* what came of that; else NULL */
    bool renamed, told;  /* told: whether answers follow outcomes is said anew; nothing is evaluated for it */
    char output[TAB_ID]; /* the id that its new bundle is kept under, like a job's; "" without */
} edit;

static void choose_options(edit *x, const Tabella__Endpoint *e)
{
    const Tabella__EditEndpointRequest *q = x->q;
    Tabella__RunOptions old = TABELLA__RUN_OPTIONS__INIT;
    if (e->options != NULL)
        old = *e->options;
    x->options = old;
    if (q->options != NULL && q->set_target) {
        x->options.target_mode = q->options->target_mode;
        x->options.target_column = q->options->target_column;
    }
    if (q->options != NULL && q->set_task)
        x->options.task = q->options->task;
    if (q->options != NULL && q->set_threshold)
        x->options.threshold = q->options->threshold;
    if (q->options != NULL && q->set_columns) {
        x->options.n_columns = q->options->n_columns;
        x->options.columns = q->options->columns;
    }
    if (q->options != NULL && q->set_missing_values) {
        x->options.missing_auto = q->options->missing_auto;
        x->options.missing_told = q->options->missing_told;
        x->options.n_missing_texts = q->options->n_missing_texts;
        x->options.missing_texts = q->options->missing_texts;
        x->options.n_missing_numbers = q->options->n_missing_numbers;
        x->options.missing_numbers = q->options->missing_numbers;
    }
    if (q->options != NULL && q->set_split)
        x->options.split = q->options->split;
    if (q->options != NULL && q->set_horizon)
        x->options.horizon = q->options->horizon;
    if (q->options != NULL && q->set_as_of)
        x->options.as_of = q->options->as_of;
    if (q->options != NULL && q->set_anomaly_cut) {
        x->options.anomaly_cut = q->options->anomaly_cut;
        x->options.anomaly_value = q->options->anomaly_value;
    }
    x->changed = !same_options(&old, &x->options);
}

static tab_status rename_to(tab_call *call, Tabella__Endpoint *now, const char *name, tab_error *err)
{
    now->name = tab_proto_text(call->arena, name);
    if (strspn(now->name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(now->name) ||
        strlen(now->name) > 63 || now->name[0] == '-' || now->name[strlen(now->name) - 1] == '-')
        return tab_fail(
            err, TAB_VALIDATION, "name",
            "a name must be 1 to 63 characters of a-z, 0-9 and hyphens, not beginning or ending with a "
            "hyphen");
    return TAB_OK;
}

/* Applies the edit to the endpoint's row as this transaction has read it, and writes what else belongs to
 * it. */
static tab_status apply(edit *x, tab_call *call, tab_tx *tx, Tabella__Endpoint *now, tab_error *err)
{
    const Tabella__EditEndpointRequest *q = x->q;
    x->renamed = q->rename[0] != 0 && strcmp(q->rename, now->name) != 0;
    if (x->changed) {
        /* in the arena, because the answer is packed later */
        now->options = tab_arena_new_of(call->arena, Tabella__RunOptions, 1);
        if (now->options == NULL)
            return tab_no_memory(err);
        *now->options = x->options;
        now->held_out = x->y->held_out;
        now->config_revision++;
        tab_id_new(x->output, "job_");
        TAB_TRY(jobs_output_put(tx, call->org, x->output, x->y->bundle, NULL, err));
    } else if (q->set_prompts) {
        now->config_revision++;
    }
    x->told = q->set_adapt && q->adapt != now->adapt;
    if (x->told)
        now->adapt = q->adapt;
    if (x->renamed)
        TAB_TRY(rename_to(call, now, q->rename, err));
    if (q->set_prompts)
        TAB_TRY(endpoint_prompts(tx, call->arena, call->org, now, q->prompts, q->n_prompts, err));
    return TAB_OK;
}

/* The row, the audit event and the endpoint's log; committed on OK. */
static tab_status store(const edit *x, tab_call *call, tab_tx **tx, const Tabella__Endpoint *now,
                        tab_error *err)
{
    const char *what = x->q->set_prompts                       ? "endpoint.prompts"
                       : x->renamed && !x->changed && !x->told ? "endpoint.rename"
                                                               : "endpoint.config";
    TAB_TRY(endpoint_put(*tx, call->arena, call->org, now, x->changed ? x->output : NULL, err));
    TAB_TRY(audit(*tx, call, now, x->q->actor, what, err));
    TAB_TRY(endpoint_log(*tx, call->org, now->id, "config.edited", "", x->q->actor, err,
                         "configuration revision %llu", (unsigned long long)now->config_revision));
    return tab_tx_commit(tx, err);
}

tab_status jobs_edit_endpoint(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    edit x = { .q = call->in };
    TAB_AUTO(tab_tx) *first = NULL, *tx = NULL;
    Tabella__Endpoint *e = NULL, *now = NULL;
    tab_deadline soon = tab_within_ms(call->deadline, TAB_SMALL_TX_MS);
    TAB_TRY(tab_tx_begin(self->pg, call->org, soon, &first, err));
    TAB_TRY(endpoint_get(first, call->arena, call->org, x.q->id_or_name, false, &e, err));
    TAB_TRY(tab_tx_commit(&first, err));
    if (strcmp(e->status, "live") != 0)
        return tab_fail(err, TAB_CONFLICT, "", "the endpoint is not live yet");
    choose_options(&x, e);
    if (x.changed && e->job_id[0] != 0)
        return busy(e, err);
    if (x.changed)
        TAB_TRY(evaluate(self, call, e, &x.options, &x.y, err));

    /* Puts the edit in force in one transaction, on the state that was evaluated. */
    soon = tab_within_ms(call->deadline, TAB_SMALL_TX_MS);
    state_forget(self, call->org, e);
    TAB_TRY(tab_tx_begin(self->pg, call->org, soon, &tx, err));
    TAB_TRY(endpoint_get(tx, call->arena, call->org, e->id, true, &now, err));
    if (x.changed && now->job_id[0] != 0)
        return busy(now, err);
    if (x.q->set_revision && now->config_revision != x.q->config_revision)
        return tab_fail(err, TAB_CONFLICT, "",
                        "the endpoint was changed in the meantime; read it again and retry");
    if (x.changed && (now->data_revision != e->data_revision || now->config_revision != e->config_revision ||
                      strcmp(now->base_model, e->base_model) != 0))
        return tab_fail(err, TAB_CONFLICT, "",
                        "the endpoint was changed in the meantime; read it again and retry");
    TAB_TRY(apply(&x, call, tx, now, err));
    if (x.changed || x.renamed || x.told || x.q->set_prompts) {
        TAB_TRY(store(&x, call, &tx, now, err));
        now->state_version++;
        state_show(self, call->org, now);
        tab_relay_nudge(self->relay);
    }
    *(Tabella__Endpoint *)call->out = *now;
    return TAB_OK;
}
