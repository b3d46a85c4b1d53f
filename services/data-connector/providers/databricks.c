/* Databricks by its Statement Execution API 2.0: databricks://workspace-host[:port]/catalog/schema/table, or
 * options.query in place of the table.
 *
 * A statement runs on the warehouse that credentials.warehouse names; while it runs it is asked for again.
 * Its rows come in chunks, each behind a link to the workspace's own store (EXTERNAL_LINKS, for what is sent
 * inline ends at 25 MiB). Such a link holds its own login and lies on another host: it is checked as any
 * address, gets no header of ours but those that come beside it, and is told to nobody. */
#include <stdio.h>

#include "common/base/integer.h"
#include "common/json/json.h"
#include "services/data-connector/data.h"
#include "services/data-connector/providers/array_rows.h"
#include "services/data-connector/providers/json_api.h"
#include "services/data-connector/source/cells.h"

enum { CHUNKS = 10000, META_DEPTH = 16, HEADERS = 8 };
#define PATH "/api/2.0/sql/statements"

static const char *const members[] = { "token", "warehouse", "ca", NULL }, *const options[] = { "query",
                                                                                                NULL };

typedef struct {
    const source *s;
    tab_arena *a;
    json_api api;
    const char *id;
    array_rows rows;
    int64_t chunks, wanted;
} session;

typedef enum { TEXT, NUMBER, BOOL, BYTES } spelling;

static void put_cell(tab_builder *b, int type, tab_str x)
{
    switch ((spelling)type) {
    case NUMBER:
        array_number(b, x);
        break;
    case BOOL:
        tab_builder_bool(b, tab_str_eq(x, TAB_S("true")));
        break;
    case BYTES:
        array_bytes(b, x, false);
        break;
    case TEXT:
        cell_text(b, x.p, x.n);
    }
}

static int type_of(tab_str t)
{
    static const struct {
        const char *name;
        spelling is;
    } types[] = { { "BYTE", NUMBER },    { "SHORT", NUMBER }, { "INT", NUMBER },
                  { "LONG", NUMBER },    { "FLOAT", NUMBER }, { "DOUBLE", NUMBER },
                  { "DECIMAL", NUMBER }, { "BOOLEAN", BOOL }, { "BINARY", BYTES } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (tab_str_eq(t, tab_str_of(types[i].name)))
            return types[i].is;
    return TEXT;
}

/* ---- the statement ---------------------------------------------------------------------------------- */

static const char *statement(const session *c, tab_error *err)
{
    const char *inner, *by = api_order(c->a, c->s, '`'), *const *name = c->s->ref->segment;
    if (c->s->query[0] != '\0')
        return api_subquery(c->a, c->s->query, &inner, err) == TAB_OK
                   ? tab_arena_printf(c->a, "SELECT * FROM (\n%s\n)", inner)
                   : NULL;
    const char *catalog = api_quoted(c->a, name[0], '`'), *schema = api_quoted(c->a, name[1], '`'),
               *table = api_quoted(c->a, name[2], '`');
    return tab_arena_full(c->a)
               ? NULL
               : tab_arena_printf(c->a, "SELECT * FROM %s.%s.%s%s", catalog, schema, table, by);
}

static tab_status submit(session *c, tab_arena *page, http_answer *ret, tab_error *err)
{
    tab_error why = { 0 };
    const char *sql = statement(c, &why);
    if (sql == NULL && why.status == TAB_VALIDATION)
        return tab_fail(err, TAB_VALIDATION, why.param, "%s", why.message);
    if (sql == NULL)
        return tab_no_memory(err);
    const http_pair said[] = { { "statement", sql },
                               { "warehouse_id", credential(c->s, "warehouse") },
                               { "catalog", c->s->ref->segment[0] },
                               { "schema", c->s->ref->segment[1] },
                               { "wait_timeout", "30s" },
                               { "on_wait_timeout", "CONTINUE" },
                               { "disposition", "EXTERNAL_LINKS" },
                               { "format", "JSON_ARRAY" } };
    tab_out body = { 0 };
    tab_out_open(&body, '{');
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        tab_out_key(&body, said[i].name);
        tab_out_cstr(&body, said[i].value);
    }
    tab_out_close(&body, '}');
    tab_status st = body.failed ? tab_no_memory(err)
                                : api_call(&c->api, page, "POST", PATH, "", tab_out_text(&body), ret, err);
    tab_out_free(&body);
    TAB_TRY(st);
    if (ret->status == 400 && c->s->query[0] == '\0')
        return tab_fail(err, TAB_VALIDATION, "credentials.warehouse",
                        "The source rejects the statement; check the warehouse id.");
    TAB_TRY(http_good(ret, err));
    TAB_TRY(api_text(c->a, ret->body, "/statement_id", &c->id, err));
    if (c->id[0] == '\0' || strspn(c->id, "0123456789abcdefABCDEF-") != strlen(c->id))
        return api_other_format(err);
    return TAB_OK;
}

static tab_status failed(const session *c, tab_str body, const char *state, tab_error *err)
{
    const char *sql = "";
    tab_error why = { 0 };
    if (strcmp(state, "FAILED") != 0)
        return tab_fail(err, TAB_UNAVAILABLE, "",
                        "The source ended the statement before its rows were read.");
    if (api_text(c->a, body, "/status/sql_state", &sql, &why) != TAB_OK ||
        strspn(sql, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 5 || sql[5] != '\0')
        sql = "?";
    if (c->s->query[0] != '\0')
        return tab_fail(err, TAB_VALIDATION, "options.query", "The source refuses the query (SQLSTATE %s).",
                        sql);
    return tab_fail(err, TAB_VALIDATION, "source",
                    "The source has no such table, or these credentials may not read it (SQLSTATE %s).", sql);
}

static tab_status cancelled(const session *c, tab_arena *page, tab_status why)
{
    http_answer x;
    tab_error ignored;
    const char *path = tab_arena_printf(page, PATH "/%s/cancel", c->id);
    tab_status st = api_call(&c->api, page, "POST", path, "", TAB_S("{}"), &x, &ignored);
    (void)st; /* it was too late already */
    return why;
}

/* Until the statement has ended well. */
static tab_status wait_for(session *c, tab_arena *page, http_answer *x, tab_error *err)
{
    const char *path = tab_arena_printf(page, PATH "/%s", c->id), *state;
    for (unsigned turn = 0;; turn++) {
        TAB_TRY(api_text(page, x->body, "/status/state", &state, err));
        if (strcmp(state, "SUCCEEDED") == 0)
            return TAB_OK;
        if (strcmp(state, "PENDING") != 0 && strcmp(state, "RUNNING") != 0)
            return failed(c, x->body, state, err);
        tab_status st = api_pause(c->s, turn, err);
        if (st != TAB_OK)
            return cancelled(c, page, st);
        TAB_TRY(api_call(&c->api, page, "GET", path, "", TAB_S(""), x, err));
        TAB_TRY(http_good(x, err));
    }
}

/* ---- its answer ------------------------------------------------------------------------------------- */

static bool count_of(const tab_json *m, const char *name, int64_t most, int64_t *ret)
{
    const tab_json *n = tab_json_get(m, name);
    return n != NULL && n->kind == TAB_JSON_NUMBER && tab_integer_read(n->text, 0, most, ret);
}

static tab_status columns(session *c, tab_str body, tab_error *err)
{
    const tab_json *m;
    TAB_TRY(api_part(c->a, body, "/manifest", META_DEPTH, &m, err));
    const tab_json *cut = tab_json_get(m, "truncated"),
                   *all = tab_json_get(tab_json_get(m, "schema"), "columns");
    if (all == NULL || all->kind != TAB_JSON_ARRAY ||
        !count_of(m, "total_row_count", INT64_MAX, &c->wanted) ||
        !count_of(m, "total_chunk_count", CHUNKS, &c->chunks))
        return api_other_format(err);
    if (cut != NULL && cut->yes)
        return source_too_large(err);
    TAB_TRY(array_rows_new(c->a, all->count, put_cell, &c->rows, err));
    return api_columns(&c->rows, all, "type_name", type_of, err);
}

static bool header_of(tab_arena *a, const tab_json *m, http_pair *ret)
{
    static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    *ret = (http_pair){ tab_arena_copy(a, m->key).p, tab_arena_copy(a, m->text).p };
    return ret->name != NULL && ret->value != NULL && m->kind == TAB_JSON_STRING && m->key.n > 0 &&
           strspn(ret->name, token) == m->key.n && strcasecmp(ret->name, "host") != 0 &&
           api_token(ret->value);
}

/* The rows behind a link: an array of arrays. */
static tab_status follow(session *c, tab_arena *page, const tab_json *link, tab_error *err)
{
    const tab_json *url = tab_json_get(link, "external_link"), *more = tab_json_get(link, "http_headers");
    http_pair headers[HEADERS];
    http_request q = { .method = "GET", .header = headers, .packed = true };
    http_answer x;
    for (const tab_json *m = more == NULL || more->kind != TAB_JSON_OBJECT ? NULL : more->first; m != NULL;
         m = m->next)
        if (q.n_header == HEADERS || !header_of(page, m, &headers[q.n_header++]))
            return api_other_format(err);
    const char *text = url == NULL || url->kind != TAB_JSON_STRING ? NULL : tab_arena_copy(page, url->text).p;
    if (text == NULL || !api_link(page, text, &q))
        return tab_fail(err, TAB_VALIDATION, "source",
                        "The source's rows are at an address that is not allowed.");
    TAB_TRY(http_call(c->s, page, &q, &x, err));
    if (x.status < 200 || x.status > 299) /* a store's 403 says nothing of our credentials */
        return tab_fail(err, TAB_UNAVAILABLE, "",
                        "The source's storage refuses to return the rows (HTTP %d).", x.status);
    return array_rows_read(&c->rows, x.body, err);
}

/* The chunk's links, of the answer that holds them at a pointer. */
static tab_status take(session *c, tab_arena *page, tab_str body, const char *pointer, int64_t chunk,
                       tab_error *err)
{
    const tab_json *links;
    int64_t index;
    TAB_TRY(api_part(page, body, pointer, META_DEPTH, &links, err));
    if (links->kind != TAB_JSON_ARRAY)
        return api_other_format(err);
    for (const tab_json *l = links->first; l != NULL; l = l->next)
        if (count_of(l, "chunk_index", CHUNKS, &index) && index == chunk)
            return follow(c, page, l, err);
    return api_other_format(err);
}

static tab_status run(session *c, tab_error *err)
{
    TAB_AUTO(tab_arena) *page = tab_arena_new((size_t)c->s->read_mib << 21);
    http_answer x;
    if (page == NULL)
        return tab_no_memory(err);
    TAB_TRY(submit(c, page, &x, err));
    TAB_TRY(wait_for(c, page, &x, err));
    TAB_TRY(columns(c, x.body, err));
    return c->chunks == 0 ? TAB_OK : take(c, page, x.body, "/result/external_links", 0, err);
}

static tab_status chunk(session *c, int64_t i, tab_error *err)
{
    TAB_AUTO(tab_arena) *page = tab_arena_new((size_t)c->s->read_mib << 21);
    http_answer x;
    if (page == NULL)
        return tab_no_memory(err);
    const char *path = tab_arena_printf(page, PATH "/%s/result/chunks/%lld", c->id, (long long)i);
    TAB_TRY(api_call(&c->api, page, "GET", path, "", TAB_S(""), &x, err));
    TAB_TRY(http_good(&x, err));
    return take(c, page, x.body, "/external_links", i, err);
}

static tab_status read_databricks(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    session c = { .s = s, .a = a, .api = { .s = s, .host = s->ref->host, .port = s->ref->port } };
    const char *token = credential(s, "token");
    if (token[0] == '\0' || !api_token(token))
        return tab_fail(err, TAB_VALIDATION, "credentials.token", "Give a token for the workspace.");
    if (credential(s, "warehouse")[0] == '\0')
        return tab_fail(err, TAB_VALIDATION, "credentials.warehouse",
                        "Give the id of the SQL warehouse that is to run the statement.");
    c.api.secret[c.api.n_secret++] = (http_pair){ "Authorization", tab_arena_printf(a, "Bearer %s", token) };
    if (tab_arena_full(a))
        return tab_no_memory(err);
    TAB_TRY(run(&c, err));
    for (int64_t i = 1; i < c.chunks; i++)
        TAB_TRY(chunk(&c, i, err));
    if (c.rows.rows != (uint64_t)c.wanted)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source sent other rows than it announced; try again.");
    return array_rows_finish(&c.rows, tab_str_of(s->ref->segment[2]), ret, err);
}

const provider provider_databricks = { .scheme = "databricks",
                                       .port = 443,
                                       .least = 3,
                                       .most = 3,
                                       .credentials = members,
                                       .options = options,
                                       .read = read_databricks };
