/* See mcp.h: messages, their headers, and what goes out. Nothing is kept between two requests: a run is kept
 * as every run is, for a day, and `ask` names it by its job. */
#include "services/api/mcp/mcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "services/api/handlers.h"
#include "services/api/http/progress.h"

enum { MESSAGE_MOST = 8 << 20, DEPTH = 64 };

/* An error of the protocol's own. */
static tab_status refused(request *r, const tab_json *id, int code, const char *message)
{
    tab_mcp_error(&r->out, id, code, message);
    r->status = code == TAB_MCP_METHOD ? 404 : 400;
    return TAB_OK;
}

/* A page of another site has no business here: who comes with an Origin comes from ours. */
static bool foreign(const request *r)
{
    const char *own = r->api->cfg.base_url, *host = strstr(own, "://");
    size_t n = host != NULL ? (size_t)(host + 3 - own) + strcspn(host + 3, "/") : 0;
    const char *from = r->mcp_header.origin;
    return from != NULL && *from != 0 && (strncasecmp(from, own, n) != 0 || from[n] != 0);
}

static bool equals(const char *header, const tab_json *x)
{
    return header != NULL && x != NULL && x->kind == TAB_JSON_STRING &&
           tab_str_eq(x->text, tab_str_of(header));
}

/* The place of the header's version; -1: it is none, or there is none. */
static int header_version(const request *r)
{
    const tab_json said = { .kind = TAB_JSON_STRING,
                            .text = tab_str_of(r->mcp_header.version != NULL ? r->mcp_header.version : "") };
    return tab_mcp_version(&said);
}

/* What of the message the headers repeat: all of it in the stateless form, the version at most in others. */
static bool headers_agree(const request *r, const tab_mcp_message *m)
{
    const tab_json *v = tab_mcp_stated(m), *name = tab_json_get(m->params, "name");
    if (v == NULL)
        return r->mcp_header.version == NULL || header_version(r) > 0;
    bool call = tab_str_eq(m->method, TAB_S("tools/call"));
    return equals(r->mcp_header.version, v) && r->mcp_header.method != NULL &&
           tab_str_eq(m->method, tab_str_of(r->mcp_header.method)) &&
           (!call || equals(r->mcp_header.name, name));
}

/* One notification. */
static void write_progress(tab_out *o, const request *r, int percent, const char *phase)
{
    tab_mcp_progress(o, r->mcp->token, percent, phase);
}

/* A client that sent a token and takes events hears of its run while it computes. */
static tab_status tell_progress(request *r, mcp_call *c, const tab_mcp_message *m, tab_error *err)
{
    c->token = tab_mcp_token(m);
    if (c->token == NULL || r->accept == NULL || strcasestr(r->accept, "text/event-stream") == NULL)
        return TAB_OK;
    r->progress = tab_arena_new_of(r->arena, progress, 1);
    if (r->progress == NULL)
        return tab_no_memory(err);
    r->progress->write = write_progress;
    return TAB_OK;
}

static tab_status call_tool(request *r, const tab_mcp_message *m, tab_error *err)
{
    size_t tools;
    const tab_mcp_tool *tool = mcp_tools(&tools);
    mcp_call *c = tab_arena_new_of(r->arena, mcp_call, 1);
    if (c == NULL)
        return tab_no_memory(err);
    c->id = m->id;
    c->stateless = tab_mcp_stated(m) != NULL;
    c->args = tab_json_get(m->params, "arguments");
    c->tool = tab_mcp_tool_find(tool, tools, tab_json_get(m->params, "name")->text);
    c->most = (size_t)4 * TAB_MCP_TOKENS;
    r->mcp = c;
    TAB_TRY(tab_mcp_arguments(c->tool, c->args, &c->most, err));
    TAB_TRY(mcp_route(r, c, err));
    TAB_TRY(tell_progress(r, c, m, err));
    return request_handle(r, err);
}

tab_status post_mcp(request *r, tab_error *err)
{
    size_t tools;
    const tab_mcp_tool *tool = mcp_tools(&tools);
    if (foreign(r))
        return tab_fail(err, TAB_AUTH_SCOPE, "", "requests from pages of another origin are not accepted");
    if (r->body_n > MESSAGE_MOST)
        return refused(r, NULL, TAB_MCP_REQUEST,
                       "a message can have at most 8 MiB; upload larger tables and name the datasets");
    r->idempotency_key = NULL; /* a message has an id of its own */
    tab_str text = tab_arena_copy(r->arena, (tab_str){ r->body, r->body_n });
    if (text.p == NULL)
        return tab_no_memory(err);
    tab_mcp_message m = tab_mcp_read(r->arena, text);
    if (m.code != 0)
        return refused(r, m.id, m.code, m.wrong);
    if (tab_mcp_stated(&m) == NULL && header_version(r) == 0)
        return refused(r, m.id, TAB_MCP_PARAMS, "_meta lacks io.modelcontextprotocol/protocolVersion");
    if (!headers_agree(r, &m))
        return refused(
            r, m.id, TAB_MCP_HEADERS,
            "MCP-Protocol-Version, Mcp-Method and Mcp-Name repeat _meta's version, method and name");
    if (m.id == NULL) { /* a notification */
        r->status = 202;
        return TAB_OK;
    }
    int code = tab_mcp_answer(&r->out, &m, tool, tools);
    if (code == TAB_MCP_CALL)
        return call_tool(r, &m, err);
    if (code != 0 && tab_mcp_stated(&m) != NULL)
        r->status = code == TAB_MCP_METHOD ? 404 : 400;
    return TAB_OK;
}

static void wrap(request *r, const mcp_call *c, tab_out *o)
{
    tab_error err = { 0 };
    const tab_json *answer = NULL;
    tab_out_bytes(&r->out, "", 1); /* the 0 behind */
    TAB_AUTO(tab_arena) *a = r->out.failed ? NULL : tab_arena_new(SIZE_MAX / 2);
    tab_status s = a == NULL
                       ? tab_no_memory(&err)
                       : tab_json_read_own(a, (tab_str){ r->out.p, r->out.n - 1 }, DEPTH, &answer, &err);
    const tab_json *error = tab_json_get(answer, "error"), *message = tab_json_get(error, "message"),
                   *param = tab_json_get(error, "param");
    bool failed = r->status >= 400 && message != NULL && message->kind == TAB_JSON_STRING;
    tab_mcp_begin(o, c->id, c->stateless);
    if (failed)
        tab_fail(&err, TAB_VALIDATION, "", "%.*s", TAB_STR(message->text));
    if (failed && param != NULL && param->kind == TAB_JSON_STRING)
        snprintf(err.param, sizeof err.param, "%.*s", TAB_STR(param->text));
    else if (s == TAB_OK && !failed)
        s = mcp_result(c, a, answer, o, &err);
    if (failed || s != TAB_OK)
        tab_mcp_failed(o, &err);
    tab_mcp_end(o);
}

void mcp_finish(request *r)
{
    tab_out o = { 0 };
    if (r->mcp == NULL)
        return;
    wrap(r, r->mcp, &o);
    tab_out_free(&r->out);
    r->out = o;
    r->status = 200; /* the result says what went wrong */
    r->media = NULL;
}
