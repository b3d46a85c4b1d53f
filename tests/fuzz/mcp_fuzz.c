/* Whatever the bytes: a message is read or named as wrong, and an answer of any tree keeps its budget. */
#include <stdlib.h>
#include <string.h>

#include "common/mcp/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    tab_arena *a = tab_arena_new(64 * size + (1 << 22));
    tab_mcp_message m = tab_mcp_read(a, (tab_str){ text, size });
    if ((m.code != 0) != (m.wrong != NULL))
        abort();
    if (m.code == 0 && m.params != NULL) {
        tab_out o = { 0 };
        tab_mcp_fit(&o, m.params, "run-1", TAB_S(""), "", 4 * TAB_MCP_TOKENS_LEAST);
        if (o.failed || o.n > 4 * TAB_MCP_TOKENS_LEAST)
            abort();
        tab_out_free(&o);
    }
    tab_arena_free(a);
    free(text);
    return 0;
}
