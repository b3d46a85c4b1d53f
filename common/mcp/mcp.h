/* Messages of the Model Context Protocol (JSON-RPC 2.0), and answers cut to a budget (decision 0455). */
#ifndef TAB_MCP_H
#define TAB_MCP_H

#include "common/json/json.h"

enum {
    TAB_MCP_PARSE = -32700,
    TAB_MCP_REQUEST = -32600,
    TAB_MCP_METHOD = -32601,
    TAB_MCP_PARAMS = -32602,
    TAB_MCP_VERSION = -32022
};
enum { TAB_MCP_TOKENS = 4000, TAB_MCP_TOKENS_LEAST = 500, TAB_MCP_TOKENS_MOST = 1000000 };

typedef struct {
    tab_str method;
    const tab_json *id;     /* a text or a number; NULL: a notification, or an id that cannot be told */
    const tab_json *params; /* an object, or NULL */
    int code;               /* 0, or the error's code */
    const char *wrong;      /* what is wrong; NULL with code 0 */
} tab_mcp_message;

/* One message; text.p[text.n] is readable and 0. Borrows from text and from a. */
tab_mcp_message tab_mcp_read(tab_arena *a, tab_str text);

/* {"jsonrpc":"2.0","id":ID, ... the caller writes "result" or "error" and closes. */
void tab_mcp_open(tab_out *o, const tab_json *id);
/* A whole error answer. */
void tab_mcp_error(tab_out *o, const tab_json *id, int code, const char *message);
/* Any tree as it was read. */
void tab_mcp_tree(tab_out *o, const tab_json *of);

/* The members `content` and `structuredContent` of a tool's result, both with the same object:
 *
 *   {"run": RUN or null, "answer": of, "left_out": [{"part", "shown", "of"}], "ask": how to have more}
 *
 * Lists and texts of `answer` are cut to the longest of a ladder of lengths with which both together have
 * at most `most` bytes; so characters / 4 are at most the budget. at: the path of `of` within the run. */
void tab_mcp_fit(tab_out *o, const tab_json *of, const char *run, tab_str at, size_t most);

#endif
