/* Messages that are none, and answers that stay within their budget whatever they are cut from. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/mcp/mcp.h"

static tab_mcp_message read_text(tab_arena *a, const char *text)
{
    return tab_mcp_read(a, tab_arena_copy(a, tab_str_of(text)));
}

Test(mcp, a_message_is_read_or_says_what_is_wrong)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_mcp_message m =
        read_text(a, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{\"x\":1}}");
    cr_assert(m.code == 0 && tab_str_eq(m.method, TAB_S("ping")) && m.params != NULL && m.id->num == 7);
    cr_assert(read_text(a, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}").id == NULL);
    const struct {
        const char *text;
        int code;
    } bad[] = { { "", TAB_MCP_PARSE },
                { "{\"jsonrpc\":", TAB_MCP_PARSE },
                { "[]", TAB_MCP_REQUEST },
                { "{\"id\":1,\"method\":\"ping\"}", TAB_MCP_REQUEST },
                { "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", TAB_MCP_REQUEST },
                { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":2}", TAB_MCP_REQUEST },
                { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", TAB_MCP_PARAMS } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        m = read_text(a, bad[i].text);
        cr_assert(m.code == bad[i].code && m.wrong != NULL, "%s: %d", bad[i].text, m.code);
    }
}

/* The bytes of an answer cut from a table of so many columns. */
static size_t size_of(size_t columns, size_t tokens, bool *ret_cut)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_out text = { 0 }, o = { 0 };
    tab_out_open(&text, '{');
    tab_out_key(&text, "columns");
    tab_out_open(&text, '[');
    for (size_t i = 0; i < columns; i++) {
        char name[64];
        snprintf(name, sizeof name, "column \"number\" %zu", i);
        tab_out_open(&text, '{');
        tab_out_key(&text, "name");
        tab_out_cstr(&text, name);
        tab_out_key(&text, "confidence");
        tab_out_raw(&text, TAB_S("0.125"));
        tab_out_close(&text, '}');
    }
    tab_out_close(&text, ']');
    tab_out_close(&text, '}');
    tab_out_bytes(&text, "", 1);
    const tab_json *tree;
    tab_error err = { 0 };
    tab_status st = tab_json_read_own(a, (tab_str){ text.p, text.n - 1 }, 16, &tree, &err);
    cr_assert(st == TAB_OK, "%zu columns: %s %.60s", columns, err.message, text.p);
    tab_out_open(&o, '{');
    tab_mcp_fit(&o, tree, "run-1", TAB_S(""), "", 4 * tokens);
    tab_out_close(&o, '}');
    cr_assert(!o.failed);
    size_t n = o.n;
    tab_out_bytes(&o, "", 1);
    const tab_json *answer;
    cr_assert(tab_json_read(a, (tab_str){ o.p, o.n - 1 }, 32, &answer, NULL) == TAB_OK);
    const tab_json *content = tab_json_get(answer, "structuredContent");
    cr_assert(content != NULL && tab_json_get(content, "answer") != NULL);
    *ret_cut = tab_json_get(content, "left_out")->count > 0;
    tab_out_free(&text);
    tab_out_free(&o);
    return n;
}

/* How many of 60 rows that were asked for an answer of so many tokens holds, behind 300 columns. */
static size_t rows_in(const char *first, size_t tokens)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)64 << 20);
    tab_out text = { 0 }, o = { 0 };
    const tab_json *tree, *answer;
    tab_out_open(&text, '{');
    for (size_t list = 0; list < 2; list++) {
        tab_out_key(&text, list == 0 ? "columns" : "said");
        tab_out_bytes(&text, list == 0 ? "[" : "{\"rows\":[", list == 0 ? 1 : 9);
        for (size_t i = 0; i < (list == 0 ? 300 : 60); i++)
            tab_out_bytes(&text, i > 0 ? ",{\"row\":1}" : "{\"row\":1}", i > 0 ? 10 : 9);
        tab_out_bytes(&text, list == 0 ? "]" : "]}", list == 0 ? 1 : 2);
        text.comma = true;
    }
    tab_out_close(&text, '}');
    tab_out_bytes(&text, "", 1);
    cr_assert(tab_json_read_own(a, (tab_str){ text.p, text.n - 1 }, 16, &tree, NULL) == TAB_OK, "%s", text.p);
    tab_out_open(&o, '{');
    tab_mcp_fit(&o, tree, "run-1", TAB_S(""), first, 4 * tokens);
    tab_out_close(&o, '}');
    cr_assert(o.n <= 4 * tokens);
    tab_out_bytes(&o, "", 1);
    cr_assert(tab_json_read(a, (tab_str){ o.p, o.n - 1 }, 32, &answer, NULL) == TAB_OK);
    const tab_json *rows = tab_json_get(
        tab_json_get(tab_json_get(tab_json_get(answer, "structuredContent"), "answer"), "said"), "rows");
    size_t n = rows == NULL ? 0 : rows->count;
    tab_out_free(&text);
    tab_out_free(&o);
    return n;
}

Test(mcp, progress_is_told_with_the_callers_token)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static const struct {
        const char *meta, *want;
    } cases[] = {
        { "{\"progressToken\":\"a\\\"b\"}", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                                            "\"params\":{\"progressToken\":\"a\\\"b\",\"progress\":7,"
                                            "\"total\":100,\"message\":\"read\"}}" },
        { "{\"progressToken\":12}",
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
          "\"progressToken\":12,\"progress\":7,\"total\":100,\"message\":\"read\"}}" },
        { "{\"progressToken\":{}}", NULL },
        { "{}", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":%s}}", cases[i].meta);
        tab_mcp_message m = read_text(a, text);
        const tab_json *token = tab_mcp_token(&m);
        cr_assert_eq(token == NULL, cases[i].want == NULL, "%s", cases[i].meta);
        tab_out o = { 0 };
        if (token != NULL) {
            tab_mcp_progress(&o, token, 7, "read");
            cr_expect(tab_str_eq(tab_out_text(&o), tab_str_of(cases[i].want)), "%.*s",
                      TAB_STR(tab_out_text(&o)));
        }
        tab_out_free(&o);
    }
}

Test(mcp, what_was_asked_for_is_cut_last)
{
    cr_expect_eq(rows_in("said.rows", 1000), 60);
    cr_expect_lt(rows_in("", 1000), 60);
    cr_expect_geq(rows_in("said.rows", TAB_MCP_TOKENS_LEAST), 10, "not even ten in the least budget");
    cr_expect_eq(rows_in("said.nothing", 1000), rows_in("", 1000),
                 "a part that is not there changes nothing");
}

Test(mcp, an_answer_keeps_its_budget_and_says_what_it_left_out)
{
    const size_t columns[] = { 3, 300, 10000, 200000 }, tokens[] = { TAB_MCP_TOKENS_LEAST, TAB_MCP_TOKENS };
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 2; k++) {
            bool cut;
            size_t n = size_of(columns[i], tokens[k], &cut);
            cr_assert(n <= 4 * tokens[k], "%zu columns, %zu tokens: %zu bytes", columns[i], tokens[k], n);
            cr_assert(cut == (i > 0), "%zu columns", columns[i]);
        }
}
