/* POST /mcp: the Model Context Protocol in its stateless form. A call of a tool becomes a request of the
 * route that it stands for, with that route's scope, meter and limits, and its answer is wrapped on its way
 * out. */
#ifndef TAB_API_MCP_H
#define TAB_API_MCP_H

#include "common/mcp/mcp.h"
#include "services/api/api.h"

typedef struct mcp_call {
    const tab_json *id, *args;
    const tab_json *token; /* of its progress; NULL: nobody asks */
    const tab_mcp_tool *tool;
    size_t most;    /* bytes that the answer may have */
    bool stateless; /* the request states its version */
} mcp_call;

/* tools.c */
const tab_mcp_tool *mcp_tools(size_t *ret);
/* The route that the call stands for: r's own route, parameters, query and body, once its scope is there. */
tab_status mcp_route(request *r, const mcp_call *c, tab_error *err) TAB_CHECKED;
/* The members of the result, from the route's answer. Errors: of the arguments; memory. */
tab_status mcp_result(const mcp_call *c, tab_arena *a, const tab_json *answer, tab_out *o,
                      tab_error *err) TAB_CHECKED;

/* For dispatch.c: the answer, or the envelope of an error, of a request that a tool's call became. Others
 * stay as they are. */
void mcp_finish(request *r);

#endif
