/* `tabella mcp`: the tools (mcp_tools.c) and the wire (mcp.c). */
#ifndef TABELLA_MCP_H
#define TABELLA_MCP_H

#include "common/mcp/mcp.h"
#include "services/inference/engine/engine.h"

enum { MCP_RUNS = 8, MCP_FOLDERS = 16 };

/* A run that ask can look into; the oldest gives way. */
typedef struct {
    char name[32];
    tab_arena *arena; /* NULL: none yet */
    char *text;
    const tab_json *bundle;
    size_t bytes; /* that text and bundle hold */
} mcp_run;

typedef struct {
    int folder[MCP_FOLDERS]; /* open folders, below which files are read */
    size_t folders;
    mcp_run run[MCP_RUNS];
    size_t runs; /* ever made */
} mcp_tools;

/* The tools that there are. */
const tab_mcp_tool *mcp_tools_all(size_t *ret);

/* One call: the members of its result (content, structuredContent, isError). e: with the caller's cancel
 * and progress; its arena lives for the call. CANCELLED: nothing was written. */
tab_status mcp_tools_call(mcp_tools *t, tab_engine *e, tab_str name, const tab_json *arguments, tab_out *o);
void mcp_tools_free(mcp_tools *t);

#endif
