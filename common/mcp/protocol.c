/* What every server of the protocol answers alike, whatever its transport and its tools. Legacy clients open
 * with initialize; those of 2026-07-28 state the version in each request. */
#include "common/base/config.h"
#include "common/mcp/mcp.h"

static const char *const VERSIONS[] = { "2026-07-28", "2025-11-25", "2025-06-18" };
enum { VERSIONS_N = sizeof VERSIONS / sizeof *VERSIONS };
static const char INFO[] = "{\"name\":\"tabella\",\"version\":\"" TAB_VERSION "\"}";

int tab_mcp_version(const tab_json *v)
{
    for (int i = 0; i < VERSIONS_N && v != NULL && v->kind == TAB_JSON_STRING; i++)
        if (tab_str_eq(v->text, tab_str_of(VERSIONS[i])))
            return i;
    return -1;
}

const tab_json *tab_mcp_stated(const tab_mcp_message *m)
{
    return tab_json_get(tab_json_get(m->params, "_meta"), "io.modelcontextprotocol/protocolVersion");
}

void tab_mcp_begin(tab_out *o, const tab_json *id, bool stateless)
{
    tab_mcp_open(o, id);
    tab_out_key(o, "result");
    tab_out_open(o, '{');
    if (!stateless) /* older clients take no member in a result that is empty */
        return;
    tab_out_key(o, "resultType");
    tab_out_cstr(o, "complete");
}

void tab_mcp_end(tab_out *o)
{
    tab_out_close(o, '}');
    tab_out_close(o, '}');
}

const tab_json *tab_mcp_token(const tab_mcp_message *m)
{
    const tab_json *t = tab_json_get(tab_json_get(m->params, "_meta"), "progressToken");
    return t != NULL && (t->kind == TAB_JSON_STRING || t->kind == TAB_JSON_NUMBER) ? t : NULL;
}

void tab_mcp_progress(tab_out *o, const tab_json *token, int percent, const char *phase)
{
    tab_out_open(o, '{');
    tab_out_key(o, "jsonrpc");
    tab_out_cstr(o, "2.0");
    tab_out_key(o, "method");
    tab_out_cstr(o, "notifications/progress");
    tab_out_key(o, "params");
    tab_out_open(o, '{');
    tab_out_key(o, "progressToken");
    tab_mcp_tree(o, token);
    tab_out_key(o, "progress");
    tab_out_int(o, percent);
    tab_out_key(o, "total");
    tab_out_int(o, 100);
    if (*phase != 0) {
        tab_out_key(o, "message");
        tab_out_cstr(o, phase);
    }
    tab_out_close(o, '}');
    tab_out_close(o, '}');
}

static void versions(tab_out *o)
{
    tab_out_open(o, '[');
    for (int i = 0; i < VERSIONS_N; i++)
        tab_out_cstr(o, VERSIONS[i]);
    tab_out_close(o, ']');
}

static void cacheable(tab_out *o)
{
    tab_out_key(o, "ttlMs");
    tab_out_int(o, 3600000);
    tab_out_key(o, "cacheScope");
    tab_out_cstr(o, "public");
}

static void initialize(tab_out *o, const tab_mcp_message *m)
{
    int v = tab_mcp_version(tab_json_get(m->params, "protocolVersion"));
    tab_out_key(o, "protocolVersion"); /* this method belongs to the legacy versions alone */
    tab_out_cstr(o, VERSIONS[v > 0 ? v : 1]);
    tab_out_key(o, "capabilities");
    tab_out_raw(o, TAB_S("{\"tools\":{}}"));
    tab_out_key(o, "serverInfo");
    tab_out_raw(o, tab_str_of(INFO));
}

static void discover(tab_out *o)
{
    tab_out_key(o, "supportedVersions");
    versions(o);
    tab_out_key(o, "capabilities");
    tab_out_raw(o, TAB_S("{\"tools\":{}}"));
    tab_out_key(o, "_meta");
    tab_out_open(o, '{');
    tab_out_key(o, "io.modelcontextprotocol/serverInfo");
    tab_out_raw(o, tab_str_of(INFO));
    tab_out_close(o, '}');
    cacheable(o);
}

static void unsupported(tab_out *o, const tab_mcp_message *m, const tab_json *asked)
{
    tab_mcp_open(o, m->id);
    tab_out_key(o, "error");
    tab_out_open(o, '{');
    tab_out_key(o, "code");
    tab_out_int(o, TAB_MCP_VERSION);
    tab_out_key(o, "message");
    tab_out_cstr(o, "Unsupported protocol version");
    tab_out_key(o, "data");
    tab_out_open(o, '{');
    tab_out_key(o, "supported");
    versions(o);
    tab_out_key(o, "requested");
    tab_mcp_tree(o, asked);
    tab_out_close(o, '}');
    tab_mcp_end(o);
}

int tab_mcp_answer(tab_out *o, const tab_mcp_message *m, const tab_mcp_tool *tool, size_t tools)
{
    const tab_json *v = tab_mcp_stated(m), *name = tab_json_get(m->params, "name");
    bool call = tab_str_eq(m->method, TAB_S("tools/call")), list = tab_str_eq(m->method, TAB_S("tools/list")),
         begins = tab_str_eq(m->method, TAB_S("initialize")),
         finds = tab_str_eq(m->method, TAB_S("server/discover")),
         older = begins || tab_str_eq(m->method, TAB_S("ping")), modern = tab_mcp_version(v) == 0;
    const tab_json *can =
        tab_json_get(tab_json_get(m->params, "_meta"), "io.modelcontextprotocol/clientCapabilities");
    if (v != NULL && tab_mcp_version(v) < 0) {
        unsupported(o, m, v);
        return TAB_MCP_VERSION;
    }
    if (modern && (can == NULL || can->kind != TAB_JSON_OBJECT)) {
        tab_mcp_error(o, m->id, TAB_MCP_PARAMS, "_meta lacks io.modelcontextprotocol/clientCapabilities");
        return TAB_MCP_PARAMS;
    }
    if (call && name != NULL && name->kind == TAB_JSON_STRING &&
        tab_mcp_tool_find(tool, tools, name->text) != NULL)
        return TAB_MCP_CALL;
    if (call) {
        tab_mcp_error(o, m->id, TAB_MCP_PARAMS, "no such tool; tools/list names the tools available");
        return TAB_MCP_PARAMS;
    }
    if (!list && !finds && (!older || modern)) {
        tab_mcp_error(o, m->id, TAB_MCP_METHOD,
                      modern ? "no such method; the methods are server/discover, tools/list and tools/call"
                             : "no such method; the methods are initialize, server/discover, ping, "
                               "tools/list and tools/call");
        return TAB_MCP_METHOD;
    }
    tab_mcp_begin(o, m->id, v != NULL);
    if (begins)
        initialize(o, m);
    if (finds)
        discover(o);
    if (list) {
        tab_out_key(o, "tools");
        tab_mcp_tools(o, tool, tools);
        cacheable(o);
    }
    tab_mcp_end(o);
    return 0;
}
