/* Tools as a client sees them, their arguments, and parts of an answer that is there. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/mcp/mcp.h"

/* One shape for all but the answer. */
static const char OUTPUT[] =
    "{\"type\":\"object\",\"properties\":{\"run\":{\"type\":[\"string\",\"null\"]},\"answer\":";
static const char OUTPUT_END[] =
    ",\"left_out\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"part\":{\"type\":"
    "\"string\"},\"shown\":{\"type\":\"integer\"},\"of\":{\"type\":\"integer\"}},\"required\":[\"part\","
    "\"shown\",\"of\"]}},\"ask\":{\"type\":\"string\"}},\"required\":[\"run\",\"answer\",\"left_out\","
    "\"ask\"],\"additionalProperties\":false}";

static void bytes(tab_out *o, const char *s)
{
    tab_out_bytes(o, s, strlen(s));
}

void tab_mcp_tools(tab_out *o, const tab_mcp_tool *tool, size_t n)
{
    tab_out_open(o, '[');
    for (size_t i = 0; i < n; i++) {
        tab_out_open(o, '{');
        tab_out_key(o, "name");
        tab_out_cstr(o, tool[i].name);
        tab_out_key(o, "description");
        tab_out_cstr(o, tool[i].words);
        tab_out_key(o, "inputSchema");
        tab_out_raw(o, TAB_S("{\"type\":\"object\",\"properties\":{"));
        bytes(o, tool[i].properties);
        bytes(o, "},\"required\":[");
        bytes(o, tool[i].required);
        bytes(o, "],\"additionalProperties\":false}");
        tab_out_key(o, "outputSchema");
        tab_out_raw(o, tab_str_of(OUTPUT));
        bytes(o, tool[i].answer);
        bytes(o, OUTPUT_END);
        tab_out_key(o, "annotations");
        tab_out_raw(o, TAB_S("{\"readOnlyHint\":true,\"destructiveHint\":false,\"idempotentHint\":true,"
                             "\"openWorldHint\":false}"));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

const tab_mcp_tool *tab_mcp_tool_find(const tab_mcp_tool *tool, size_t n, tab_str name)
{
    for (size_t i = 0; i < n; i++)
        if (tab_str_eq(name, tab_str_of(tool[i].name)))
            return &tool[i];
    return NULL;
}

bool tab_mcp_whole(const tab_json *args, const char *key, double least, double most, size_t *ret)
{
    const tab_json *x = tab_json_get(args, key);
    if (x == NULL)
        return true;
    if (x->kind != TAB_JSON_NUMBER || !(x->num >= least && x->num <= most) || x->num != floor(x->num))
        return false;
    *ret = (size_t)x->num;
    return true;
}

tab_status tab_mcp_arguments(const tab_mcp_tool *tool, const tab_json *args, size_t *ret_bytes,
                             tab_error *err)
{
    size_t tokens = TAB_MCP_TOKENS;
    if (args != NULL && args->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "arguments", "`arguments` must be an object");
    for (const tab_json *m = args != NULL ? args->first : NULL; m != NULL; m = m->next) {
        char key[64];
        int n = snprintf(key, sizeof key, "\"%.*s\":{", TAB_STR(m->key));
        if (m->key.n >= 32 || n < 0 || strstr(tool->properties, key) == NULL)
            return tab_fail(err, TAB_VALIDATION, "arguments",
                            "this tool has no argument `%.*s`; see its inputSchema",
                            (int)(m->key.n < 32 ? m->key.n : 32), m->key.p);
    }
    if (!tab_mcp_whole(args, "max_tokens", TAB_MCP_TOKENS_LEAST, TAB_MCP_TOKENS_MOST, &tokens))
        return tab_fail(err, TAB_VALIDATION, "max_tokens", "`max_tokens` must be between 500 and 1000000");
    *ret_bytes = 4 * tokens;
    return TAB_OK;
}

void tab_mcp_failed(tab_out *o, const tab_error *err)
{
    char words[sizeof err->param + sizeof err->message + 4];
    snprintf(words, sizeof words, "%s%s%s", err->param, err->param[0] != 0 ? ": " : "", err->message);
    tab_out_key(o, "content");
    tab_out_raw(o, TAB_S("[{\"type\":\"text\",\"text\":"));
    o->comma = false;
    tab_out_cstr(o, words);
    tab_out_bytes(o, "}]", 2);
    tab_out_key(o, "isError");
    tab_out_bool(o, true);
}

/* The part that a path names: names parted by dots, places in brackets. NULL: none. */
static const tab_json *part_of(const tab_json *of, tab_str path)
{
    size_t i = 0;
    while (of != NULL && i < path.n) {
        if (path.p[i] == '[') {
            size_t k = 0;
            for (i++; i < path.n && path.p[i] >= '0' && path.p[i] <= '9' && k < 1000000000; i++)
                k = 10 * k + (size_t)(path.p[i] - '0');
            if (of->kind != TAB_JSON_ARRAY || i == path.n || path.p[i++] != ']')
                return NULL;
            for (of = of->first; of != NULL && k > 0; k--)
                of = of->next;
            continue;
        }
        i += path.p[i] == '.';
        size_t from = i;
        while (i < path.n && path.p[i] != '.' && path.p[i] != '[')
            i++;
        const tab_json *m = of->kind == TAB_JSON_OBJECT && i > from ? of->first : NULL;
        while (m != NULL && !tab_str_eq(m->key, (tab_str){ path.p + from, i - from }))
            m = m->next;
        of = m;
    }
    return of;
}

static bool holds(const tab_json *of, tab_str word)
{
    if (of->kind == TAB_JSON_STRING && memmem(of->text.p, of->text.n, word.p, word.n) != NULL)
        return true;
    bool container = of->kind == TAB_JSON_ARRAY || of->kind == TAB_JSON_OBJECT;
    for (const tab_json *m = container ? of->first : NULL; m != NULL; m = m->next)
        if (holds(m, word))
            return true;
    return false;
}

/* Items of a list from offset on that hold the word, at most limit of them. */
static const tab_json *page(tab_arena *a, const tab_json *list, tab_str word, size_t offset, size_t limit)
{
    tab_json *copy = tab_arena_alloc(a, 1, sizeof *copy), **end;
    if (copy == NULL)
        return NULL;
    *copy = (tab_json){ .kind = TAB_JSON_ARRAY };
    end = &copy->first;
    for (const tab_json *m = list->first; m != NULL && copy->count < limit; m = m->next) {
        if ((word.n > 0 && !holds(m, word)) || (offset > 0 && offset-- > 0))
            continue;
        tab_json *item = tab_arena_alloc(a, 1, sizeof *item);
        if (item == NULL)
            return NULL;
        *item = *m;
        item->next = NULL;
        *end = item;
        end = &item->next;
        copy->count++;
    }
    return copy;
}

tab_status tab_mcp_part(tab_arena *a, const tab_json *whole, const tab_json *args, tab_str *ret_path,
                        const tab_json **ret, tab_error *err)
{
    const tab_json *part = tab_json_get(args, "part"), *filter = tab_json_get(args, "filter");
    size_t offset = 0, limit = 100000;
    if (!tab_mcp_whole(args, "offset", 0, 1e9, &offset) || !tab_mcp_whole(args, "limit", 1, 100000, &limit) ||
        (part != NULL && part->kind != TAB_JSON_STRING) ||
        (filter != NULL && filter->kind != TAB_JSON_STRING))
        return tab_fail(
            err, TAB_VALIDATION, "arguments",
            "`part` and `filter` must be strings, `offset` 0 or more and `limit` between 1 and 100000");
    *ret_path = part != NULL ? part->text : TAB_S("");
    const tab_json *of = part_of(whole, *ret_path);
    if (of == NULL)
        return tab_fail(err, TAB_NOT_FOUND, "part", "no such part; name one of those listed in left_out");
    if (of->kind == TAB_JSON_ARRAY)
        of = page(a, of, filter != NULL ? filter->text : TAB_S(""), offset, limit);
    if (of == NULL)
        return tab_no_memory(err);
    *ret = of;
    return TAB_OK;
}
