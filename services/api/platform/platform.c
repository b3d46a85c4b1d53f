/* /platform/v1: what the specification makes on the platform. Configuration edits, system prompts,
 * stars; the same keys and scopes as /v2. */
#include <stdio.h>

#include "proto/jobs.pb-c.h"
#include "proto/reports.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/platform/endpoints.h"
#include "services/api/render/members.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

static tab_status edit(request *r, Tabella__EditEndpointRequest *q, tab_error *err)
{
    const Tabella__Endpoint *e = NULL;
    q->id_or_name = STR(tab_arena_copy(r->arena, r->param[0]).p);
    q->actor = r->who.key;
    tab_status s = call(r, "jobs", "EditEndpoint", &q->base, &tabella__endpoint__descriptor, &e, err);
    if (s != TAB_OK)
        return s;
    tab_out_open(&r->out, '{');
    endpoint_members(r, e, true);
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

tab_status patch_endpoint(request *r, tab_error *err)
{
    Tabella__EditEndpointRequest q = TABELLA__EDIT_ENDPOINT_REQUEST__INIT;
    tab_body b;
    tab_str name, out;
    bool batch, adapt, said;
    tab_status s = body_read(r, &b, err);
    if (s != TAB_OK || (s = body_text(b.root, "name", false, 63, &name, err)) != TAB_OK ||
        (s = body_options(r, &b, &q.options, &batch, &out, err)) != TAB_OK)
        return s;
    q.rename = STR(tab_arena_copy(r->arena, name).p);
    q.set_target = tab_json_get(b.root, "target") != NULL;
    q.set_task = tab_json_get(b.root, "task") != NULL;
    q.set_threshold = tab_json_get(tab_json_get(b.root, "options"), "confidence_threshold") != NULL;
    const tab_json *options = tab_json_get(b.root, "options");
    q.set_columns = tab_json_get(options, "columns") != NULL;
    q.set_missing_values = tab_json_get(options, "missing_values") != NULL;
    q.set_split = tab_json_get(options, "split") != NULL;
    q.set_horizon = tab_json_get(options, "horizon") != NULL;
    q.set_as_of = tab_json_get(options, "as_of") != NULL;
    q.set_anomaly_cut =
        tab_json_get(options, "anomaly_share") != NULL || tab_json_get(options, "anomaly_threshold") != NULL;
    TAB_TRY(body_adapt(options, &said, &adapt, err));
    q.set_adapt = said;
    q.adapt = adapt;
    bool any = q.set_target || q.set_task || q.set_threshold || q.set_columns || q.set_missing_values ||
               q.set_split || q.set_horizon || q.set_as_of || q.set_anomaly_cut;
    if (name.n == 0 && !any && !said)
        return tab_fail(
            err, TAB_VALIDATION, "body",
            "nothing to change: give name, target, task, or, in options, confidence_threshold, columns, "
            "missing_values, split, horizon, as_of, anomaly_share, anomaly_threshold or adapt");
    const Tabella__Endpoint *e;
    if (any && (s = endpoint_may_pass(r, &e, err)) != TAB_OK)
        return s;
    return edit(r, &q, err);
}

/* ---- system prompts -------------------------------------------------------------------------- */

/* The endpoint's fragments, with room for one more. */
static tab_status prompts_of(request *r, Tabella__EditEndpointRequest *q, tab_error *err)
{
    const Tabella__Endpoint *e = NULL;
    tab_status s = endpoint_of(r, &e, err);
    if (s != TAB_OK)
        return s;
    q->set_prompts = true;
    q->set_revision = true; /* the list as it was read: another's change must not be undone by it */
    q->config_revision = e->config_revision;
    q->prompts = tab_arena_new_of(r->arena, Tabella__SystemPrompt *, e->n_system_prompts + 1);
    if (q->prompts == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < e->n_system_prompts; i++)
        q->prompts[q->n_prompts++] = e->system_prompts[i];
    return TAB_OK;
}

static tab_status read_prompt(request *r, Tabella__SystemPrompt *p, bool create, tab_error *err)
{
    tab_body b;
    tab_str name, body;
    tab_status s = body_read(r, &b, err);
    if (s != TAB_OK || (s = body_text(b.root, "name", create, 128, &name, err)) != TAB_OK ||
        (s = body_text(b.root, "body", create, 20000, &body, err)) != TAB_OK)
        return s;
    const tab_json *active = tab_json_get(b.root, "active"), *order = tab_json_get(b.root, "order");
    if (active != NULL && active->kind != TAB_JSON_BOOL)
        return tab_fail(err, TAB_VALIDATION, "active", "`active` must be true or false");
    if (order != NULL && (order->kind != TAB_JSON_NUMBER || !(order->num >= 0 && order->num <= 1000000) ||
                          order->num != (double)(int32_t)order->num))
        return tab_fail(err, TAB_VALIDATION, "order", "`order` must be a whole number");
    if (name.n > 0)
        p->name = STR(tab_arena_copy(r->arena, name).p);
    if (body.n > 0)
        p->body = STR(tab_arena_copy(r->arena, body).p);
    if (active != NULL || create)
        p->active = active == NULL || active->yes;
    if (order != NULL)
        p->order = (int32_t)order->num;
    return TAB_OK;
}

/* The fragment at `from` goes to its own `order`; those between move up or down by one. */
static void place(Tabella__EditEndpointRequest *q, size_t from)
{
    Tabella__SystemPrompt *p = q->prompts[from];
    size_t to = (size_t)p->order < q->n_prompts ? (size_t)p->order : q->n_prompts - 1;
    for (; from < to; from++)
        q->prompts[from] = q->prompts[from + 1];
    for (; from > to; from--)
        q->prompts[from] = q->prompts[from - 1];
    q->prompts[to] = p;
}

tab_status post_prompts(request *r, tab_error *err)
{
    Tabella__EditEndpointRequest q = TABELLA__EDIT_ENDPOINT_REQUEST__INIT;
    Tabella__SystemPrompt p = TABELLA__SYSTEM_PROMPT__INIT;
    p.order = INT32_MAX; /* at the end, unless it says where */
    tab_status s = read_prompt(r, &p, true, err);
    if (s != TAB_OK || (s = prompts_of(r, &q, err)) != TAB_OK)
        return s;
    q.prompts[q.n_prompts++] = &p;
    place(&q, q.n_prompts - 1);
    return edit(r, &q, err);
}

static tab_status find_prompt(const request *r, const Tabella__EditEndpointRequest *q, size_t *ret,
                              tab_error *err)
{
    for (*ret = 0; *ret < q->n_prompts; ++*ret)
        if (tab_str_eq(tab_str_of(q->prompts[*ret]->id), r->param[1]))
            return TAB_OK;
    return tab_fail(err, TAB_NOT_FOUND, "", "this endpoint has no such fragment");
}

tab_status patch_prompt(request *r, tab_error *err)
{
    Tabella__EditEndpointRequest q = TABELLA__EDIT_ENDPOINT_REQUEST__INIT;
    size_t i;
    tab_status s = prompts_of(r, &q, err);
    if (s != TAB_OK || (s = find_prompt(r, &q, &i, err)) != TAB_OK ||
        (s = read_prompt(r, q.prompts[i], false, err)) != TAB_OK)
        return s;
    place(&q, i);
    return edit(r, &q, err);
}

tab_status delete_prompt(request *r, tab_error *err)
{
    Tabella__EditEndpointRequest q = TABELLA__EDIT_ENDPOINT_REQUEST__INIT;
    size_t i;
    tab_status s = prompts_of(r, &q, err);
    if (s != TAB_OK || (s = find_prompt(r, &q, &i, err)) != TAB_OK)
        return s;
    for (q.n_prompts--; i < q.n_prompts; i++)
        q.prompts[i] = q.prompts[i + 1];
    return edit(r, &q, err);
}

/* ---- stars ----------------------------------------------------------------------------------- */

static tab_status star(request *r, bool starred, tab_error *err)
{
    Tabella__StarRequest q = TABELLA__STAR_REQUEST__INIT;
    const Tabella__Report *x = NULL;
    q.id = STR(tab_arena_copy(r->arena, r->param[0]).p);
    q.starred = starred;
    tab_status s = call_promised(r, "reports", "Star", &q.base, &tabella__report__descriptor, &x, err);
    if (s != TAB_OK)
        return s;
    tab_out_open(&r->out, '{');
    text_member(&r->out, "id", x->id);
    bool_member(&r->out, "pinned", x->pinned);
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

tab_status post_report_star(request *r, tab_error *err)
{
    return star(r, true, err);
}

tab_status post_report_unstar(request *r, tab_error *err)
{
    return star(r, false, err);
}
