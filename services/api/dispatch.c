/* From a verified identity to the handler of its route, and from an error to the envelope.
 *
 * The gateway decided key, route, scope and rates; its signed line says so. The api finds the route
 * of its own method and path again and refuses what does not agree, so nothing that reaches its
 * port another way is served. */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "common/base/log.h"
#include "common/security/crypto.h"
#include "proto/keys.pb-c.h"
#include "services/api/api.h"
#include "services/api/counts.h"
#include "services/api/dispatch.h"
#include "services/api/http/clock.h"
#include "services/api/idempotency.h"
#include "services/api/mcp/mcp.h"
#include "services/api/render/members.h"
#include "services/api/scim/scim.h"
#include "services/api/serve/cells.h"
#include "services/api/service_calls.h"
#include "services/api/uses.h"

/* ---- the gateway's question about a key ------------------------------------------------------ */

static tab_status authenticate(request *r, tab_error *err)
{
    Tabella__AuthenticateRequest q = TABELLA__AUTHENTICATE_REQUEST__INIT;
    uint8_t digest[TAB_SHA256];
    const char *hex = r->who.key;
    for (size_t i = 0; i < TAB_SHA256; i++) {
        unsigned byte;
        if (strlen(hex) != 2 * TAB_SHA256 || sscanf(hex + 2 * i, "%2x", &byte) != 1)
            return tab_fail(err, TAB_AUTH_MISSING, "", "missing or invalid API key");
        digest[i] = (uint8_t)byte;
    }
    q.secret_sha256 = (ProtobufCBinaryData){ sizeof digest, digest };
    q.uncounted = r->uncounted;
    q.bounds = true;
    const Tabella__AuthenticateReply *y;
    tab_ask ask = { .service = "keys",
                    .method = "Authenticate",
                    .in = &q.base,
                    .deadline = tab_in_ms(2500),
                    .reply = &tabella__authenticate_reply__descriptor };
    tab_answer answer;
    r->who.org[0] = r->who.key[0] = 0;
    tab_status s = call_with(r, &ask, &answer, err);
    if (s != TAB_OK)
        return s == TAB_CANCELLED ? tab_fail(err, TAB_UNAVAILABLE, "",
                                             "API keys cannot be checked at the moment; retry with backoff")
                                  : s;
    y = answer.msg;
    if (!y->known || y->grant == NULL)
        return tab_fail(err, TAB_AUTH_MISSING, "", "missing or invalid API key");
    tab_grant g = { .scopes = y->grant->scopes,
                    .key_rpm = y->grant->key_rpm,
                    .org_rpm = y->grant->org_rpm,
                    .endpoint_rpm = y->grant->endpoint_rpm,
                    .cells_per_minute = y->grant->cells_per_minute,
                    .endpoint_concurrency = y->grant->endpoint_concurrency,
                    .batch_concurrency = y->grant->batch_concurrency,
                    .version = y->grant->version,
                    .bounds = tab_str_of(y->grant->bounds) };
    snprintf(g.org, sizeof g.org, "%s", y->grant->org);
    snprintf(g.key, sizeof g.key, "%s", y->grant->key_id);
    snprintf(g.plan, sizeof g.plan, "%s", y->grant->plan);
    if (tab_grant_write(&g, r->grant, sizeof r->grant) == 0)
        return tab_fail(err, TAB_INTERNAL, "", "a grant that does not fit");
    r->status = 204;
    return TAB_OK;
}

/* ---- identity -------------------------------------------------------------------------------- */

static tab_status stranger(tab_error *err)
{
    return tab_fail(err, TAB_AUTH_MISSING, "", "missing or invalid API key");
}

static bool copy_text(char *to, size_t size, tab_str from)
{
    if (from.n >= size)
        return false;
    memcpy(to, from.p, from.n);
    to[from.n] = 0;
    return true;
}

static bool verified(request *r, tab_str header, tab_identity *ret)
{
    for (r->secret = 0; r->secret < r->api->secrets; r->secret++)
        if (tab_identity_verify(&r->api->secret[r->secret].identity, header, ret))
            return true;
    return false;
}

/* False: it has a role that is none of ours. */
static bool role_of(request *r)
{
    tab_bounds b;
    r->role = TAB_PERSON_NONE;
    if (r->who.bounds.n == 0)
        return true;
    if (!tab_bounds_read(r->who.bounds, &b))
        return false;
    r->role = b.role.p == NULL ? TAB_PERSON_NONE : tab_role_named(b.role);
    return b.role.p == NULL || r->role != TAB_PERSON_NONE;
}

static tab_status identify(request *r, tab_str header, tab_str method, tab_error *err, bool *ret_internal)
{
    tab_identity id;
    tab_route_match m;
    *ret_internal = false;
    if (header.n == 0 || !verified(r, header, &id) || !tab_str_eq(id.path, r->path) ||
        !copy_text(r->request_id, sizeof r->request_id, id.request_id))
        return stranger(err);
    r->signed_ms = id.time_ms;
    r->who = id.grant;
    if (tab_str_eq(id.path, TAB_S(TAB_AUTHENTICATE_PATH))) {
        *ret_internal = true;
        return tab_str_eq(id.route, TAB_S(TAB_AUTHENTICATE_ROUTE)) && tab_str_eq(method, TAB_S("GET"))
                   ? TAB_OK
                   : stranger(err);
    }
    if (tab_route_find(method, r->path, &m) != TAB_OK ||
        !tab_str_eq(id.route, tab_str_of(tab_routes[m.id].name)))
        return stranger(err);
    r->route = m.id;
    r->param[0] = m.param[0];
    r->param[1] = m.param[1];
    r->allow = m.allow;
    if (!tab_str_eq(id.state, TAB_S("-")) && !copy_text(r->state, sizeof r->state, id.state))
        return stranger(err);
    if ((r->who.scopes & tab_routes[m.id].scope) == 0 && (tab_routes[m.id].flags & TAB_ROUTE_OPEN) == 0)
        return tab_fail(err, TAB_AUTH_SCOPE, "", "the key lacks the scope `%s`",
                        tab_scope_name(tab_routes[m.id].scope));
    if (!role_of(r))
        return stranger(err);
    if (!tab_person_role_allows(r->role, &tab_routes[m.id]))
        return r->role == TAB_PERSON_NONE
                   ? tab_fail(err, TAB_AUTH_SCOPE, "", "only keys of a directory may do this")
                   : tab_fail(err, TAB_AUTH_SCOPE, "", "the role `%s` does not allow this",
                              tab_person_role_name(r->role));
    return TAB_OK;
}

/* ---- the envelope ---------------------------------------------------------------------------- */

static void envelope(request *r, const tab_error *err)
{
    static const char running[] = "running_job_id:";
    const char *param = tab_rpc_own_param(err->status, err) ? "" : err->param, *job = NULL;
    if (strncmp(param, running, sizeof running - 1) == 0) {
        job = param + sizeof running - 1;
        param = "";
    }
    tab_status s = err->status == TAB_OK ? TAB_INTERNAL : err->status;
    const char *message = s == TAB_INTERNAL ? "an internal error occurred; retry with backoff" : err->message;
    tab_out_free(&r->out);
    tab_out *o = &r->out;
    r->status = tab_status_http(s);
    r->media = NULL;
    if (r->route < TAB_ROUTE_COUNT && (tab_routes[r->route].flags & TAB_ROUTE_SCIM) != 0) {
        scim_error(r, param, message);
    } else {
        tab_out_open(o, '{');
        open_member(o, "error", '{');
        text_member(o, "type", tab_status_name(s));
        text_member(o, "message", message);
        if (*param != 0)
            text_member(o, "param", param);
        if (job != NULL)
            text_member(o, "running_job_id", job);
        text_member(o, "request_id", r->request_id);
        tab_out_close(o, '}');
        tab_out_close(o, '}');
    }
    r->error_type = tab_status_name(s);
    if (r->retry_after == 0 && (s == TAB_UNAVAILABLE || s == TAB_RATE_LIMIT))
        r->retry_after = 1;
}

static const char *method_of(const request *r)
{
    return r->route < TAB_ROUTE_COUNT ? tab_routes[r->route].name : "NONE";
}

void api_arrived(request *r, tab_str identity_header)
{
    bool reads = strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0;
    r->began = tab_mono_ms();
    r->arrived_us = tab_mono_us();
    r->route = TAB_ROUTE_COUNT;
    r->who_status = identify(r, identity_header, tab_str_of(r->method), &r->who_error, &r->internal);
    if (r->who_status == TAB_OK && !r->internal && (tab_routes[r->route].flags & TAB_ROUTE_OPEN) == 0)
        uses_note(r);
    r->lane = r->internal ? LOOKUPS : reads ? READS : WORK;
    /* A daemon that is killed during a read never answers it: after 6 s the caller is told, and asks
     * again. The gateway waits for a serve call for 10 s; an answer that it no longer takes is not billed. */
    r->deadline = tab_in_ms(reads ? 6000 : r->route == TAB_POST_SERVE ? 9000 : 50000);
}

/* The request whose handler this thread began last: what the thread waited for since is that request's. */
static _Thread_local const request *here;

/* A parked request waited for others all the time, on no thread of ours. */
static void tell_spent(request *r)
{
    int64_t now = tab_mono_us();
    if (here == r)
        r->spent = tab_wait_time_of_thread;
    else if (r->taken_us > 0)
        r->spent.services_us = now - r->taken_us;
    r->spent.queue_us = (r->taken_us > 0 ? r->taken_us : now) - r->arrived_us;
    here = NULL;
}

void api_leave(void)
{
    tab_log_context(NULL, NULL);
    tab_span_leave();
}

static void end_span(const request *r)
{
    char status[16], parts[4][24];
    const int64_t us[4] = { r->spent.queue_us, r->spent.postgres_us, r->spent.redis_us,
                            r->spent.services_us };
    if (r->span.context[0] == 0)
        return;
    for (size_t i = 0; i < 4; i++)
        snprintf(parts[i], sizeof parts[i], "%.1f", (double)us[i] / 1e3);
    snprintf(status, sizeof status, "%d", r->status);
    tab_span_end(&r->span, r->internal ? "AUTHENTICATE" : method_of(r), r->status >= 500,
                 "tabella.request_id", r->request_id, "tabella.org", r->internal ? "" : r->who.org,
                 "http.response.status_code", status, "tabella.queue_ms", parts[0], "tabella.postgres_ms",
                 parts[1], "tabella.redis_ms", parts[2], "tabella.services_ms", parts[3], NULL);
}

/* This thread works on the request from now on. */
static void enter(request *r)
{
    r->taken_us = tab_mono_us();
    tab_wait_time_of_thread = (tab_wait_time){ 0 };
    here = r;
    tab_log_context(r->request_id, r->internal ? "" : r->who.org);
}

static void begin(request *r)
{
    if (r->request_id[0] == 0)
        tab_id_new(r->request_id, "req_");
    enter(r);
    r->span = tab_span_begin(r->trace);
    tab_id_new(r->seed, "");
    r->status = 200;
}

bool api_at_once(request *r)
{
    tab_error err;
    handler *h = r->route < TAB_ROUTE_COUNT ? r->api->at_once[r->route] : NULL;
    if (h == NULL || r->who_status != TAB_OK || r->internal || r->idempotency_key != NULL ||
        !clock_agrees(r->signed_ms))
        return false;
    begin(r);
    r->at_once = true;
    bool parked = h(r, &err) == PARKED; /* then r is no longer ours */
    here = NULL;
    api_leave();
    return parked;
}

void api_resume(request *r)
{
    if (r->at_once)
        enter(r);
    else
        tab_log_context(r->request_id, r->who.org);
    r->at_once = false;
    tab_span_enter(&r->span);
}

bool api_dispatch(request *r)
{
    tab_error err = r->who_error;
    tab_status s = r->who_status;
    r->at_once = false;
    begin(r);
    if (r->signed_ms != 0 && !clock_timely(r->api, r->signed_ms)) /* never a 401 to a valid key for a clock */
        s = tab_fail(&err, TAB_UNAVAILABLE, "",
                     "the service is unavailable at the moment; retry with backoff");
    if (s == TAB_OK && tab_left_ms(r->deadline, 1) == 0) {
        s = tab_fail(&err, TAB_UNAVAILABLE, "", "too many requests are waiting; retry with backoff");
    } else if (s == TAB_OK && r->internal) {
        s = authenticate(r, &err);
    } else if (s == TAB_OK) {
        if (r->idempotency_key != NULL)
            tab_sha256((tab_str){ r->body, r->body_n }, r->body_sha256);
        s = request_handle(r, &err);
        if (s == PARKED) {
            here = NULL;
            api_leave();
            return false;
        }
    }
    request_finish(r, s, &err);
    return true;
}

void request_finish(request *r, tab_status s, tab_error *err)
{
    request_arrived(r);
    tab_log_context(r->request_id, r->internal ? "" : r->who.org);
    if (r->route < TAB_ROUTE_COUNT) {
        if (s == TAB_OK && (r->out.failed || tab_arena_full(r->arena)))
            s = tab_no_memory(err);
        if (s == TAB_OK && r->completed)
            idempotency_done(r);
        else if (s == TAB_OK)
            s = idempotency_finish(r, err);
        if (s != TAB_OK)
            idempotency_release(r, s);
        cells_give_back(r, s);
    }
    if (s != TAB_OK) {
        if (err->status != s) /* a service that gave no message */
            tab_fail(err, s, "", "the request could not be served");
        count_error(r, err);
        if (s == TAB_INTERNAL)
            tab_log(TAB_ERROR, "%s: %s", method_of(r), err->message);
        envelope(r, err);
    }
    count_answer(r);
    mcp_finish(r);
    tell_spent(r);
    end_span(r);
    api_leave();
}
