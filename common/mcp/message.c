/* JSON-RPC 2.0, one message at a time. Batches ended with protocol version 2025-06-18 and are refused. */
#include "common/mcp/mcp.h"

enum { DEPTH = 32 };

static tab_mcp_message wrong(const tab_json *id, int code, const char *why)
{
    return (tab_mcp_message){ .id = id, .code = code, .wrong = why };
}

/* A table in a message is a part of its tree: each cell counts as a value. */
static const char *cannot_read(tab_arena *a, const tab_error *err)
{
    const char *why = tab_arena_printf(
        a, "%s; send one JSON-RPC message per line, in UTF-8, and upload tables of more than 250,000 cells",
        err->message);
    return why != NULL ? why : "the message cannot be read";
}

tab_mcp_message tab_mcp_read(tab_arena *a, tab_str text)
{
    const tab_json *root = NULL;
    tab_error err = { 0 };
    if (tab_json_read(a, text, DEPTH, &root, &err) != TAB_OK)
        return wrong(NULL, TAB_MCP_PARSE, cannot_read(a, &err));
    if (root->kind != TAB_JSON_OBJECT)
        return wrong(NULL, TAB_MCP_REQUEST, "a message must be an object; batches are not supported");
    const tab_json *version = tab_json_get(root, "jsonrpc"), *id = tab_json_get(root, "id"),
                   *method = tab_json_get(root, "method"), *params = tab_json_get(root, "params");
    if (id != NULL && id->kind != TAB_JSON_STRING && id->kind != TAB_JSON_NUMBER)
        return wrong(NULL, TAB_MCP_REQUEST, "`id` must be a string or a number");
    if (version == NULL || version->kind != TAB_JSON_STRING || !tab_str_eq(version->text, TAB_S("2.0")))
        return wrong(id, TAB_MCP_REQUEST, "jsonrpc is \"2.0\"");
    if (method == NULL || method->kind != TAB_JSON_STRING)
        return wrong(id, TAB_MCP_REQUEST, "`method` must be the name of a method");
    if (params != NULL && params->kind != TAB_JSON_OBJECT)
        return wrong(id, TAB_MCP_PARAMS, "`params` must be an object");
    return (tab_mcp_message){ .method = method->text, .id = id, .params = params };
}

void tab_mcp_tree(tab_out *o, const tab_json *of)
{
    switch (of->kind) {
    case TAB_JSON_NULL:
        tab_out_null(o);
        return;
    case TAB_JSON_BOOL:
        tab_out_bool(o, of->yes);
        return;
    case TAB_JSON_NUMBER:
        tab_out_raw(o, of->text);
        return;
    case TAB_JSON_STRING:
        tab_out_str(o, of->text);
        return;
    case TAB_JSON_ARRAY:
    case TAB_JSON_OBJECT:
        tab_out_open(o, of->kind == TAB_JSON_ARRAY ? '[' : '{');
        for (const tab_json *m = of->first; m != NULL; m = m->next) {
            if (of->kind == TAB_JSON_OBJECT)
                tab_out_key_str(o, m->key);
            tab_mcp_tree(o, m);
        }
        tab_out_close(o, of->kind == TAB_JSON_ARRAY ? ']' : '}');
    }
}

void tab_mcp_open(tab_out *o, const tab_json *id)
{
    tab_out_open(o, '{');
    tab_out_key(o, "jsonrpc");
    tab_out_cstr(o, "2.0");
    tab_out_key(o, "id");
    if (id == NULL)
        tab_out_null(o);
    else
        tab_mcp_tree(o, id);
}

void tab_mcp_error(tab_out *o, const tab_json *id, int code, const char *message)
{
    tab_mcp_open(o, id);
    tab_out_key(o, "error");
    tab_out_open(o, '{');
    tab_out_key(o, "code");
    tab_out_int(o, code);
    tab_out_key(o, "message");
    tab_out_cstr(o, message);
    tab_out_close(o, '}');
    tab_out_close(o, '}');
}
