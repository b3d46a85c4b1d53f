/* Messages of the Model Context Protocol (JSON-RPC 2.0), and answers cut to a budget (decision 0455). */
#ifndef TAB_MCP_H
#define TAB_MCP_H

#include "common/json/json.h"

enum {
    TAB_MCP_PARSE = -32700,
    TAB_MCP_REQUEST = -32600,
    TAB_MCP_METHOD = -32601,
    TAB_MCP_PARAMS = -32602,
    TAB_MCP_HEADERS = -32020,
    TAB_MCP_VERSION = -32022,
    TAB_MCP_CALL = 1 /* no error: a call of a tool that there is */
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
 * at most `most` bytes; so characters / 4 are at most the budget. at: the path of `of` within the run. first:
 * the path in `of` of what was asked for, which is cut last; "" where that is all of it. */
void tab_mcp_fit(tab_out *o, const tab_json *of, const char *run, tab_str at, const char *first, size_t most);

/* ---- protocol.c: what every server answers alike ------------------------------------------------ */

/* A tool: a sentence, its arguments as members of a JSON schema, the required ones, the schema of its answer,
 * and what of that is cut last (tab_mcp_fit). */
typedef struct {
    const char *name, *words, *properties, *required, *answer, *first;
} tab_mcp_tool;

/* Answers' schemas: the API's documented bundle, whose members may be left out, and cells in doubt. */
/* clang-format off */
#define TAB_MCP_MAYBE(name) "\"" name "\":{\"type\":[\"object\",\"null\"]},"
#define TAB_MCP_LIST(name) "\"" name "\":{\"type\":\"array\"}"
#define TAB_MCP_BUNDLE                                                                              \
    "{\"type\":\"object\",\"properties\":{\"tables\":{\"type\":\"array\",\"items\":{\"type\":"      \
    "\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"rows\":{\"type\":\"integer\"},"      \
    TAB_MCP_LIST("column_profile") "}}},"                                                           \
    TAB_MCP_MAYBE("cross_table_map") TAB_MCP_MAYBE("unified_rows") TAB_MCP_MAYBE("imputation")      \
    TAB_MCP_MAYBE("target_selection") TAB_MCP_MAYBE("task_selection")                               \
    "\"prediction\":{\"type\":[\"object\",\"null\"],\"properties\":{"                               \
    "\"task_type\":{\"type\":\"string\"}," TAB_MCP_MAYBE("forecast")                                \
    TAB_MCP_LIST("results") "," TAB_MCP_LIST("missing_target_results")                              \
    "}},\"warnings\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}"
#define TAB_MCP_DOUBTS(list)                                                                        \
    "{\"type\":\"object\",\"properties\":{\"" list "\":{\"type\":\"array\",\"items\":{"             \
    "\"type\":\"object\",\"properties\":{\"column\":{\"type\":\"string\"},\"kind\":{\"type\":"      \
    "\"string\"},\"confidence\":{\"type\":\"number\"},\"reason\":{\"type\":\"string\"}}}}}}"
/* clang-format on */

/* The place of a version among those that are spoken, the stateless one first; -1: none of them. */
int tab_mcp_version(const tab_json *v);
/* The version that a request of the stateless form states; NULL: a legacy one. */
const tab_json *tab_mcp_stated(const tab_mcp_message *m);
/* {"jsonrpc", "id", "result": { ... the caller writes members, and the end of both. stateless: of a request
 * that states its version; its result says that it is complete. */
void tab_mcp_begin(tab_out *o, const tab_json *id, bool stateless);
void tab_mcp_end(tab_out *o);

/* The token of a request that wants to hear of its progress; NULL: it does not. */
const tab_json *tab_mcp_token(const tab_mcp_message *m);
/* A whole notification of progress: percent of 100, which has to rise. */
void tab_mcp_progress(tab_out *o, const tab_json *token, int percent, const char *phase);

/* The whole answer to a request that needs no tool: 0, or the code of the error that was written.
 * TAB_MCP_CALL: it calls one of these, and nothing was written. */
int tab_mcp_answer(tab_out *o, const tab_mcp_message *m, const tab_mcp_tool *tool, size_t tools);

/* ---- tools.c ------------------------------------------------------------------------------------- */

void tab_mcp_tools(tab_out *o, const tab_mcp_tool *tool, size_t n); /* a JSON array */
const tab_mcp_tool *tab_mcp_tool_find(const tab_mcp_tool *tool, size_t n, tab_str name);

/* VALIDATION for an argument that the tool has not. *ret_bytes: what an answer may have. */
tab_status tab_mcp_arguments(const tab_mcp_tool *tool, const tab_json *args, size_t *ret_bytes,
                             tab_error *err) TAB_CHECKED;
/* A whole number within bounds; *ret stays where it was not given. False: it is none. */
bool tab_mcp_whole(const tab_json *args, const char *key, double least, double most, size_t *ret);

/* The part of an answer that the arguments part, filter, offset and limit name, and its path. */
tab_status tab_mcp_part(tab_arena *a, const tab_json *whole, const tab_json *args, tab_str *ret_path,
                        const tab_json **ret, tab_error *err) TAB_CHECKED;

/* The members of a tool's result that says what is wrong. */
void tab_mcp_failed(tab_out *o, const tab_error *err);

#endif
