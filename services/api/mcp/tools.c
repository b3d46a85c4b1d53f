/* The tools, each a question to a route that there is: the body of a run or of a serve call, written from the
 * tool's arguments. */
#include "services/api/mcp/mcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/jobs.pb-c.h"
#include "services/api/render/members.h"
#include "services/api/service_calls.h"

#define ROWS                                                                                         \
    "\"columns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"rows\":{\"type\":\"array\"," \
    "\"items\":{\"type\":\"array\"}}"
#define TABLE_IN                                                                                    \
    "{\"type\":[\"string\",\"object\"],\"description\":\"a dataset's id or a connection's ref, or " \
    "the table itself: {columns, rows}\",\"properties\":{\"id\":{\"type\":\"string\"}," ROWS "}}"
#define COMMON                                                                  \
    "\"max_tokens\":{\"type\":\"integer\",\"minimum\":500,\"maximum\":1000000," \
    "\"description\":\"the answer's budget, characters / 4 (4000)\"}"
#define RUNS                                                                                         \
    COMMON ",\"dry_run\":{\"type\":\"boolean\",\"description\":\"only say how many cells it is and " \
           "what it costs\"}"
typedef enum { UNDERSTAND, MATCH, PREDICT, FORECAST, CHECK, ASK, SERVE, TOOLS_N } tool;

static const tab_mcp_tool TOOLS[TOOLS_N] = {
    [UNDERSTAND] = { "understand",
                     "Understand tables: columns, roles, relations, matches, and what can be predicted.",
                     "\"tables\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":64,\"items\":" TABLE_IN
                     "},\"target\":{\"type\":\"string\",\"description\":\"TABLE.COLUMN to predict; none "
                     "(default)\"}," RUNS,
                     "\"tables\"", TAB_MCP_BUNDLE, "tables" },
    [MATCH] = { "match", "Find which rows of two tables are the same entity, with confidences.",
                "\"a\":" TABLE_IN ",\"b\":" TABLE_IN "," RUNS, "\"a\",\"b\"", TAB_MCP_BUNDLE,
                "cross_table_map.entity_matches" },
    [PREDICT] = { "predict", "Predict the empty cells of a column from the other rows, with confidences.",
                  "\"target\":{\"type\":\"string\",\"description\":\"the column; default: one an analyst "
                  "would ask for\"},\"rows\":" TABLE_IN "," RUNS,
                  "\"rows\"", TAB_MCP_BUNDLE, "prediction.missing_target_results" },
    [FORECAST] = { "forecast",
                   "Forecast the next steps of every series in a table with times, with intervals.",
                   "\"series\":" TABLE_IN ",\"target\":{\"type\":\"string\",\"description\":\"the column "
                   "whose next steps are wanted\"},\"horizon\":{\"type\":\"integer\",\"minimum\":1,"
                   "\"maximum\":10000}," RUNS,
                   "\"series\",\"target\",\"horizon\"", TAB_MCP_BUNDLE, "prediction.forecast.rows" },
    [CHECK] = { "check", "Find cells that are likely wrong, with confidences and suggestions.",
                "\"table\":" TABLE_IN "," RUNS, "\"table\"", TAB_MCP_DOUBTS("cells"), "" },
    [ASK] = { "ask", "A part of a run that was made within a day: lists page by page; or whether it is done.",
              "\"run\":{\"type\":\"string\"},\"part\":{\"type\":\"string\",\"description\":\"as left_out "
              "names it: tables[0].column_profile; default: all\"},\"cursor\":{\"type\":\"string\","
              "\"description\":\"an answer's next_cursor: the next page of that list\"},\"filter\":{\"type\":"
              "\"string\",\"description\":\"only a list's items with a text that contains this\"},\"offset\":"
              "{\"type\":\"integer\",\"minimum\":0},\"limit\":{\"type\":\"integer\",\"minimum\":1,"
              "\"maximum\":100000}," COMMON,
              "\"run\"", "{}", "" },
    [SERVE] = { "serve", "Get an endpoint's answers for new rows, each on its own.",
                "\"endpoint\":{\"type\":\"string\",\"description\":\"its id or name\"},\"rows\":{\"type\":"
                "\"object\",\"description\":\"{columns, rows}; id: which of the endpoint's tables, where it "
                "has several\",\"properties\":{\"id\":{\"type\":\"string\"}," ROWS
                "},\"required\":[\"columns\",\"rows\"]}," RUNS,
                "\"endpoint\",\"rows\"", TAB_MCP_BUNDLE, "prediction.results" },
};

const tab_mcp_tool *mcp_tools(size_t *ret)
{
    *ret = TOOLS_N;
    return TOOLS;
}

/* ---- questions ----------------------------------------------------------------------------------- */

static tab_status given(const tab_json *args, const char *name, tab_json_kind kind, const char *what,
                        const tab_json **ret, tab_error *err)
{
    *ret = tab_json_get(args, name);
    return *ret != NULL && (*ret)->kind == kind ? TAB_OK : tab_fail(err, TAB_VALIDATION, name, "%s", what);
}

typedef struct {
    const tab_json *table[64];
    char name[64][16]; /* of one that has none of its own */
    size_t n;
} tables;

static tab_status add(tables *t, const tab_json *x, const char *name, tab_error *err)
{
    if (x == NULL || (x->kind != TAB_JSON_STRING && x->kind != TAB_JSON_OBJECT))
        return tab_fail(err, TAB_VALIDATION, name, "name a dataset or give the table as {columns, rows}");
    if (t->n == 64)
        return tab_fail(err, TAB_VALIDATION, "tables", "at most 64 tables at once: name fewer");
    snprintf(t->name[t->n], sizeof t->name[0], "%s", name);
    t->table[t->n++] = x;
    return TAB_OK;
}

/* The arguments that are tables. */
static tab_status gather(tool k, const tab_json *args, tables *t, tab_error *err)
{
    static const char *const NAMES[TOOLS_N][2] = {
        [MATCH] = { "a", "b" }, [PREDICT] = { "rows" }, [FORECAST] = { "series" }, [CHECK] = { "table" }
    };
    const tab_json *list;
    for (size_t i = 0; i < 2 && NAMES[k][i] != NULL; i++)
        TAB_TRY(add(t, tab_json_get(args, NAMES[k][i]), NAMES[k][i], err));
    if (k != UNDERSTAND)
        return TAB_OK;
    TAB_TRY(given(args, "tables", TAB_JSON_ARRAY, "`tables` must be a list of tables", &list, err));
    for (const tab_json *m = list->first; m != NULL; m = m->next) {
        char name[24];
        snprintf(name, sizeof name, "table%zu", t->n + 1);
        TAB_TRY(add(t, m, name, err));
    }
    return TAB_OK;
}

static void write_table(tab_out *o, const tab_json *x, tab_str name)
{
    tab_out_open(o, '{');
    if (tab_json_get(x, "id") == NULL)
        str_member(o, "id", name);
    for (const tab_json *m = x->first; m != NULL; m = m->next) {
        tab_out_key_str(o, m->key);
        tab_mcp_tree(o, m);
    }
    tab_out_close(o, '}');
}

static void write_tables(tab_out *o, const tables *t)
{
    open_member(o, "tables", '[');
    for (size_t i = 0; i < t->n; i++)
        if (t->table[i]->kind == TAB_JSON_OBJECT)
            write_table(o, t->table[i], tab_str_of(t->name[i]));
    tab_out_close(o, ']');
    open_member(o, "data", '[');
    for (size_t i = 0; i < t->n; i++)
        if (t->table[i]->kind == TAB_JSON_STRING)
            tab_out_str(o, t->table[i]->text);
    tab_out_close(o, ']');
}

static tab_status write_dry_run(tab_out *o, const tab_json *args, tab_error *err)
{
    const tab_json *dry = tab_json_get(args, "dry_run");
    if (dry != NULL && dry->kind != TAB_JSON_BOOL)
        return tab_fail(err, TAB_VALIDATION, "dry_run", "`dry_run` must be true or false");
    bool_member(o, "dry_run", dry != NULL && dry->yes);
    return TAB_OK;
}

static tab_status run_body(tool k, const tab_json *args, tab_out *o, tab_error *err)
{
    tables t = { .n = 0 };
    const tab_json *target = tab_json_get(args, "target"), *horizon;
    bool none =
        target == NULL || (target->kind == TAB_JSON_STRING && tab_str_eq(target->text, TAB_S("none")));
    TAB_TRY(gather(k, args, &t, err));
    if (target != NULL && target->kind != TAB_JSON_STRING)
        return tab_fail(err, TAB_VALIDATION, "target", "`target` must be the name of a column");
    tab_out_open(o, '{');
    write_tables(o, &t);
    open_member(o, "target", '{');
    if (!none) {
        tab_out_key(o, "column");
        tab_out_str(o, target->text);
    } else {
        text_member(o, "mode", k == PREDICT && target == NULL ? "auto" : "none");
    }
    tab_out_close(o, '}');
    if (k == FORECAST) {
        TAB_TRY(given(args, "horizon", TAB_JSON_NUMBER, "`horizon` must be a whole number from 1 to 10000",
                      &horizon, err));
        if (none)
            return tab_fail(err, TAB_VALIDATION, "target", "name the column to forecast in `target`");
        open_member(o, "options", '{');
        tab_out_key(o, "horizon");
        tab_mcp_tree(o, horizon);
        tab_out_close(o, '}');
    }
    TAB_TRY(write_dry_run(o, args, err));
    tab_out_close(o, '}');
    return TAB_OK;
}

/* What the endpoint calls its only table. */
static tab_status only_table(request *r, tab_str endpoint, tab_str *ret, tab_error *err)
{
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    const Tabella__Endpoint *e;
    q.id_or_name = STR(endpoint.p);
    TAB_TRY(call(r, "jobs", "GetEndpoint", &q.base, &tabella__endpoint__descriptor, &e, err));
    if (e->n_datasets != 1)
        return tab_fail(err, TAB_VALIDATION, "rows.id",
                        "the endpoint has %zu tables; say which one the rows are for", e->n_datasets);
    *ret = (tab_str){ (const char *)e->datasets[0]->table_id.data, e->datasets[0]->table_id.len };
    return TAB_OK;
}

static tab_status serve_body(request *r, const tab_json *args, tab_out *o, tab_error *err)
{
    const tab_json *endpoint, *rows;
    tab_str table = TAB_S("");
    TAB_TRY(given(args, "endpoint", TAB_JSON_STRING, "`endpoint` must be the id or name of an endpoint",
                  &endpoint, err));
    TAB_TRY(given(args, "rows", TAB_JSON_OBJECT, "`rows` must be {columns, rows}", &rows, err));
    r->param[0] = tab_arena_copy(r->arena, endpoint->text);
    if (r->param[0].p == NULL)
        return tab_no_memory(err);
    if (tab_json_get(rows, "id") == NULL)
        TAB_TRY(only_table(r, r->param[0], &table, err));
    tab_out_open(o, '{');
    open_member(o, "tables", '[');
    write_table(o, rows, table);
    tab_out_close(o, ']');
    TAB_TRY(write_dry_run(o, args, err));
    tab_out_close(o, '}');
    return TAB_OK;
}

/* A page's cursor goes into the query as it is: letters, digits and signs that need no escape. */
static tab_status ask_query(request *r, const tab_json *args, tab_error *err)
{
    static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
    const tab_json *run, *cursor = tab_json_get(args, "cursor");
    TAB_TRY(
        given(args, "run", TAB_JSON_STRING, "`run` must be the run named in an earlier answer", &run, err));
    r->param[0] = tab_arena_copy(r->arena, run->text);
    r->query = TAB_S("");
    if (r->param[0].p == NULL)
        return tab_no_memory(err);
    if (cursor == NULL)
        return TAB_OK;
    char *query = cursor->kind == TAB_JSON_STRING && cursor->text.n < 4096
                      ? tab_arena_printf(r->arena, "cursor=%.*s", TAB_STR(cursor->text))
                      : NULL;
    if (query == NULL || strspn(query + 7, PLAIN) != strlen(query + 7))
        return tab_fail(err, TAB_VALIDATION, "cursor",
                        "`cursor` must be the next_cursor of an earlier answer");
    r->query = tab_str_of(query);
    return TAB_OK;
}

tab_status mcp_route(request *r, const mcp_call *c, tab_error *err)
{
    tool k = (tool)(c->tool - TOOLS);
    tab_route_id route = k == SERVE ? TAB_POST_SERVE : k == ASK ? TAB_GET_JOB : TAB_POST_RUN;
    tab_out o = { 0 };
    if ((r->who.scopes & tab_routes[route].scope) == 0)
        return tab_fail(err, TAB_AUTH_SCOPE, "", "the key lacks the scope `%s`",
                        tab_scope_name(tab_routes[route].scope));
    if (!tab_person_role_allows(r->role, &tab_routes[route]))
        return tab_fail(err, TAB_AUTH_SCOPE, "", "the role `%s` does not allow this",
                        tab_person_role_name(r->role));
    r->route = route;
    request_body_drop(r);
    if (k == ASK)
        return ask_query(r, c->args, err);
    tab_status s = k == SERVE ? serve_body(r, c->args, &o, err) : run_body(k, c->args, &o, err);
    tab_out_bytes(&o, "", 1);
    if (s == TAB_OK && o.failed)
        s = tab_no_memory(err);
    if (s != TAB_OK) {
        tab_out_free(&o);
        return s;
    }
    r->body = o.p;
    r->body_n = o.n - 1;
    r->content_type = "application/json";
    r->content_encoding = NULL;
    return TAB_OK;
}

/* ---- answers ------------------------------------------------------------------------------------- */

tab_status mcp_result(const mcp_call *c, tab_arena *a, const tab_json *answer, tab_out *o, tab_error *err)
{
    tool k = (tool)(c->tool - TOOLS);
    const tab_json *job = tab_json_get(answer, "job_id"), *of = answer, *in;
    const char *run = NULL;
    tab_str path = TAB_S("");
    if (job != NULL && job->kind == TAB_JSON_STRING && k != SERVE)
        run = tab_arena_copy(a, job->text).p;
    in = tab_json_get(answer, k == ASK ? "result" : k == CHECK ? "suspects" : "");
    if (in != NULL && in->kind == TAB_JSON_OBJECT) /* else it is not done yet, or a page, or a cost */
        of = in;
    if (k == ASK)
        TAB_TRY(tab_mcp_part(a, of, c->args, &path, &of, err));
    if (k == CHECK && of != answer)
        path = TAB_S("suspects");
    tab_mcp_fit(o, of, run, path, c->tool->first, c->most);
    return TAB_OK;
}
