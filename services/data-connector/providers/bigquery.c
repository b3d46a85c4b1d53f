/* BigQuery by its REST API, version 2:
 *
 *   bigquery://PROJECT/DATASET/TABLE                     at bigquery.googleapis.com
 *   bigquery+https://host[:port]/PROJECT/DATASET/TABLE   behind a private endpoint
 *
 * A table's rows are listed (tabledata.list), which costs nothing and keeps one order. What has no rows of
 * its own (a view) and options.query run as a query; first it is asked what kind of statement it is, and
 * only a SELECT runs. Rows come as {"f": [{"v": ...}, ...]}: a record within a row is such an object again,
 * what is repeated an array of {"v": ...}; a record's fields become columns a.b, what is repeated one
 * text. */
#include <stdio.h>

#include "common/base/integer.h"
#include "common/json/json.h"
#include "services/data-connector/data.h"
#include "services/data-connector/providers/array_rows.h"
#include "services/data-connector/providers/google.h"
#include "services/data-connector/source/cells.h"

enum { PAGES = 10000, META_DEPTH = 32, DEPTH = 3, NAME_MOST = 1024, WAIT_MS = 20000 };
#define SCOPE "https://www.googleapis.com/auth/bigquery"
#define PAGE_ROWS "50000"

static const char *const members[] = { "service_account", "ca", NULL }, *const options[] = { "query", NULL };

/* A field of the schema: leaves are columns, a record holds others. */
typedef struct field {
    struct field *first, *next;
    bool record;
    size_t column;
} field;

typedef struct {
    const source *s;
    tab_arena *a;
    json_api api;
    const char *project, *dataset, *table;
    const char *job, *location; /* of a query */
    const char *token;          /* of the next page; "": none */
    field *fields;
    array_rows rows;
    int64_t wanted;
} session;

typedef enum { TEXT, NUMBER, BOOL, INSTANT, BYTES } spelling;

static void put_cell(tab_builder *b, int type, tab_str x)
{
    int64_t us;
    switch ((spelling)type) {
    case NUMBER:
        array_number(b, x);
        return;
    case BOOL:
        tab_builder_bool(b, tab_str_eq(x, TAB_S("true")));
        return;
    case INSTANT: /* microseconds, as is asked for */
        if (tab_integer_read(x, INT64_MIN / 2, INT64_MAX / 2, &us)) {
            int64_t s = us / 1000000 - (us % 1000000 < 0);
            array_instant(b, s, (uint32_t)(us - s * 1000000) * 1000, true);
            return;
        }
        break;
    case BYTES:
        array_bytes(b, x, false);
        return;
    case TEXT:
        break;
    }
    cell_text(b, x.p, x.n);
}

static int type_of(tab_str t)
{
    static const struct {
        const char *name;
        spelling is;
    } types[] = { { "INTEGER", NUMBER }, { "INT64", NUMBER },   { "FLOAT", NUMBER },
                  { "FLOAT64", NUMBER }, { "NUMERIC", NUMBER }, { "BIGNUMERIC", NUMBER },
                  { "BOOLEAN", BOOL },   { "BOOL", BOOL },      { "TIMESTAMP", INSTANT },
                  { "BYTES", BYTES } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (tab_str_eq(t, tab_str_of(types[i].name)))
            return types[i].is;
    return TEXT;
}

/* ---- the schema --------------------------------------------------------------------------------------- */

static bool is(const tab_json *m, const char *name, const char *text)
{
    const tab_json *x = tab_json_get(m, name);
    return x != NULL && x->kind == TAB_JSON_STRING && tab_str_eq(x->text, tab_str_of(text));
}

static size_t leaves(const tab_json *fields)
{
    size_t n = 0;
    for (const tab_json *f = fields == NULL ? NULL : fields->first; f != NULL; f = f->next) {
        const tab_json *inner = tab_json_get(f, "fields");
        n += inner != NULL && inner->kind == TAB_JSON_ARRAY ? leaves(inner) : 1;
    }
    return n;
}

static tab_status add_fields(session *c, const tab_json *fields, const char *prefix, unsigned depth,
                             field **ret, tab_error *err)
{
    for (const tab_json *m = fields->first; m != NULL; m = m->next) {
        const tab_json *name = tab_json_get(m, "name"), *type = tab_json_get(m, "type"),
                       *inner = tab_json_get(m, "fields");
        field *f = tab_arena_new_of(c->a, field, 1);
        if (f == NULL)
            return tab_no_memory(err);
        if (name == NULL || name->kind != TAB_JSON_STRING || type == NULL || type->kind != TAB_JSON_STRING)
            return api_other_format(err);
        bool repeated = is(m, "mode", "REPEATED"), json = repeated;
        const char *path =
            tab_arena_printf(c->a, "%s%s%.*s", prefix, prefix[0] != '\0' ? "." : "", TAB_STR(name->text));
        if (path == NULL)
            return tab_no_memory(err);
        f->record = !repeated && inner != NULL && inner->kind == TAB_JSON_ARRAY && depth < DEPTH;
        json = json || (!f->record && inner != NULL);
        f->column = c->rows.cols;
        if (f->record)
            TAB_TRY(add_fields(c, inner, path, depth + 1, &f->first, err));
        else
            TAB_TRY(array_rows_column(&c->rows, tab_str_of(path), json ? TEXT : type_of(type->text), err));
        *ret = f;
        ret = &f->next;
    }
    return TAB_OK;
}

/* Of an answer that holds a schema: a table, or a query's first page. */
static tab_status columns(session *c, tab_str body, tab_error *err)
{
    const tab_json *all;
    TAB_TRY(api_part(c->a, body, "/schema/fields", META_DEPTH, &all, err));
    if (all->kind != TAB_JSON_ARRAY)
        return api_other_format(err);
    TAB_TRY(array_rows_new(c->a, leaves(all), put_cell, &c->rows, err));
    return add_fields(c, all, "", 1, &c->fields, err);
}

/* ---- rows --------------------------------------------------------------------------------------------- */

static bool record(session *c, json_scan *s, const field *f);

/* What stands behind "v". */
static bool value(session *c, json_scan *s, const field *f)
{
    const char *from = s->p;
    tab_str text;
    if (f->record && *from != 'n')
        return record(c, s, f->first);
    if (f->record) /* null: so is each of its fields, which stay behind and are padded */
        return json_literal(s, "null", 4);
    tab_builder *b = c->rows.b[f->column];
    tab_builder_pad(b, c->rows.rows);
    if (*from == 'n') {
        tab_builder_null(b);
        return json_literal(s, "null", 4);
    }
    if (*from == '"') {
        s->p++;
        if (!json_text(s, &text) || s->nul)
            return json_bad(s, "a text");
    } else {
        if (!json_skip(s))
            return false;
        text = (tab_str){ from, (size_t)(s->p - from) };
    }
    c->rows.cell(b, c->rows.type[f->column], text);
    return true;
}

/* An object whose member of that name `read` takes; other members are passed over. none: it is no object. */
static bool member(session *c, json_scan *s, const field *f, char name, const char *none,
                   bool (*read)(session *c, json_scan *s, const field *f))
{
    bool first = true, done = false, seen = false;
    tab_str key;
    if (*s->p != '{')
        return json_bad(s, none);
    s->p++;
    if (!json_enter(s))
        return false;
    while (json_next_key(s, &first, &key, &done)) {
        if (done)
            return seen;
        bool is = key.n == 1 && key.p[0] == name;
        if (!(is ? read(c, s, f) : json_skip(s)))
            return false;
        seen = seen || is;
    }
    return false;
}

/* {"v": ...} */
static bool wrapped(session *c, json_scan *s, const field *f)
{
    return member(c, s, f, 'v', "a value that is none", value);
}

static bool list(session *c, json_scan *s, const field *f)
{
    bool first = true, done = false;
    if (*s->p != '[')
        return json_bad(s, "fields that are no array");
    s->p++;
    if (!json_enter(s))
        return false;
    for (; json_next_item(s, &first, &done); f = f->next) {
        if (done)
            return f == NULL;
        if (f == NULL || !wrapped(c, s, f))
            return json_bad(s, "a row of another width");
    }
    return false;
}

/* {"f": [...]} */
static bool record(session *c, json_scan *s, const field *f)
{
    return member(c, s, f, 'f', "a record that is none", list);
}

static bool rows(session *c, json_scan *s)
{
    bool first = true, done = false;
    json_space(s);
    if (*s->p != '[')
        return false;
    s->p++;
    if (!json_enter(s))
        return false;
    while (json_next_item(s, &first, &done)) {
        if (done)
            return true;
        if (array_rows_full(&c->rows) || !record(c, s, c->fields))
            return false;
        c->rows.rows++;
    }
    return false;
}

/* A page's rows, and where the next one is. */
static tab_status take(session *c, tab_arena *page, tab_str body, tab_error *err)
{
    tab_str span;
    json_scan s;
    int64_t n;
    const char *all;
    TAB_TRY(api_text(page, body, "/totalRows", &all, err));
    if (!tab_integer_read(tab_str_of(all), 0, INT64_MAX, &n))
        return api_other_format(err);
    if (c->wanted >= 0 && n != c->wanted)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The table was changed while it was read; try again.");
    c->wanted = n;
    TAB_TRY(api_text(c->a, body, "/pageToken", &c->token, err));
    TAB_TRY(json_span(page, body, "/rows", &span, err));
    if (span.p == NULL)
        return TAB_OK;
    TAB_TRY(json_scan_init(&s, page, span, META_DEPTH, NULL));
    bool good = rows(c, &s);
    json_scan_free(&s);
    if (array_rows_full(&c->rows) && !good)
        return tab_fail(err, TAB_VALIDATION, "source", "A table has at most %d cells.", DATA_MOST_CELLS);
    return good ? TAB_OK : api_other_format(err);
}

/* ---- requests ----------------------------------------------------------------------------------------- */

static tab_status ask(session *c, tab_arena *page, const char *method, const char *path,
                      const http_pair *params, size_t n, tab_str body, http_answer *ret, tab_error *err)
{
    const char *all = tab_arena_printf(page, "/bigquery/v2/projects/%s%s", c->project, path);
    TAB_TRY(api_call(&c->api, page, method, all, http_query(page, params, n), body, ret, err));
    if (ret->status == 400 && c->s->query[0] != '\0')
        return tab_fail(err, TAB_VALIDATION, "options.query", "The source refuses the query (HTTP 400).");
    return google_good(ret, err);
}

static const char *table_path(session *c, tab_arena *page, const char *more)
{
    const char *dataset = http_encode(page, c->dataset, false), *table = http_encode(page, c->table, false);
    return tab_arena_full(page) ? ""
                                : tab_arena_printf(page, "/datasets/%s/tables/%s%s", dataset, table, more);
}

static tab_status list_page(session *c, tab_error *err)
{
    TAB_AUTO(tab_arena) *page = tab_arena_new((size_t)c->s->read_mib << 21);
    http_answer x;
    if (page == NULL)
        return tab_no_memory(err);
    const http_pair params[] = { { "maxResults", PAGE_ROWS },
                                 { "formatOptions.useInt64Timestamp", "true" },
                                 { "pageToken", c->token } };
    TAB_TRY(ask(c, page, "GET", table_path(c, page, "/data"), params, c->token[0] != '\0' ? 3 : 2, TAB_S(""),
                &x, err));
    return take(c, page, x.body, err);
}

static void put_query(tab_out *o, const session *c, const char *sql)
{
    tab_out_key(o, "query");
    tab_out_cstr(o, sql);
    tab_out_key(o, "useLegacySql");
    tab_out_bool(o, false);
    tab_out_key(o, "defaultDataset");
    tab_out_open(o, '{');
    tab_out_key(o, "projectId");
    tab_out_cstr(o, c->project);
    tab_out_key(o, "datasetId");
    tab_out_cstr(o, c->dataset);
    tab_out_close(o, '}');
}

/* A dry run says what kind of statement a text is; it runs nothing. */
static tab_status only_select(session *c, tab_arena *page, const char *sql, tab_error *err)
{
    tab_out body = { 0 };
    http_answer x;
    const char *kind;
    tab_out_open(&body, '{');
    tab_out_key(&body, "configuration");
    tab_out_open(&body, '{');
    tab_out_key(&body, "dryRun");
    tab_out_bool(&body, true);
    tab_out_key(&body, "query");
    tab_out_open(&body, '{');
    put_query(&body, c, sql);
    tab_out_close(&body, '}');
    tab_out_close(&body, '}');
    tab_out_close(&body, '}');
    tab_status st = body.failed ? tab_no_memory(err)
                                : ask(c, page, "POST", "/jobs", NULL, 0, tab_out_text(&body), &x, err);
    tab_out_free(&body);
    TAB_TRY(st);
    TAB_TRY(api_text(page, x.body, "/statistics/query/statementType", &kind, err));
    return strcmp(kind, "SELECT") == 0
               ? TAB_OK
               : tab_fail(err, TAB_VALIDATION, "options.query", "A query is one SELECT: it only reads.");
}

static tab_status results(session *c, tab_arena *page, http_answer *ret, tab_error *err)
{
    const http_pair params[] = { { "maxResults", PAGE_ROWS },
                                 { "formatOptions.useInt64Timestamp", "true" },
                                 { "location", c->location },
                                 { "timeoutMs", "20000" },
                                 { "pageToken", c->token } };
    const char *path = tab_arena_printf(page, "/queries/%s", http_encode(page, c->job, false));
    return ask(c, page, "GET", path, params, c->token[0] != '\0' ? 5 : 4, TAB_S(""), ret, err);
}

static tab_status start(session *c, tab_arena *page, const char *sql, http_answer *ret, tab_error *err)
{
    tab_out body = { 0 };
    tab_out_open(&body, '{');
    put_query(&body, c, sql);
    tab_out_key(&body, "maxResults");
    tab_out_uint(&body, 50000);
    tab_out_key(&body, "timeoutMs");
    tab_out_uint(&body, WAIT_MS);
    tab_out_key(&body, "formatOptions");
    tab_out_open(&body, '{');
    tab_out_key(&body, "useInt64Timestamp");
    tab_out_bool(&body, true);
    tab_out_close(&body, '}');
    tab_out_close(&body, '}');
    tab_status st = body.failed ? tab_no_memory(err)
                                : ask(c, page, "POST", "/queries", NULL, 0, tab_out_text(&body), ret, err);
    tab_out_free(&body);
    TAB_TRY(st);
    TAB_TRY(api_text(c->a, ret->body, "/jobReference/jobId", &c->job, err));
    TAB_TRY(api_text(c->a, ret->body, "/jobReference/location", &c->location, err));
    return c->job[0] != '\0' ? TAB_OK : api_other_format(err);
}

static tab_status query(session *c, const char *sql, tab_error *err)
{
    TAB_AUTO(tab_arena) *page = tab_arena_new((size_t)c->s->read_mib << 21);
    http_answer x;
    tab_str done;
    if (page == NULL || sql == NULL)
        return tab_no_memory(err);
    TAB_TRY(only_select(c, page, sql, err));
    TAB_TRY(start(c, page, sql, &x, err));
    for (unsigned turn = 0;; turn++) {
        TAB_TRY(json_span(page, x.body, "/jobComplete", &done, err));
        if (tab_str_eq(done, TAB_S("true")))
            break;
        TAB_TRY(api_pause(c->s, turn, err));
        TAB_TRY(results(c, page, &x, err));
    }
    TAB_TRY(columns(c, x.body, err));
    return take(c, page, x.body, err);
}

static tab_status query_page(session *c, tab_error *err)
{
    TAB_AUTO(tab_arena) *page = tab_arena_new((size_t)c->s->read_mib << 21);
    http_answer x;
    if (page == NULL)
        return tab_no_memory(err);
    TAB_TRY(results(c, page, &x, err));
    return take(c, page, x.body, err);
}

/* The table itself: its columns, and whether it has rows of its own. */
static tab_status describe(session *c, bool *ret_rows, tab_error *err)
{
    http_answer x;
    const char *type;
    TAB_TRY(ask(c, c->a, "GET", table_path(c, c->a, ""), NULL, 0, TAB_S(""), &x, err));
    TAB_TRY(api_text(c->a, x.body, "/type", &type, err));
    *ret_rows = strcmp(type, "TABLE") == 0;
    return *ret_rows ? columns(c, x.body, err) : TAB_OK;
}

static tab_status read_bigquery(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    bool own = strcmp(s->ref->scheme, "bigquery") == 0, listed = false;
    const char *const *name = s->ref->segment + !own;
    session c = { .s = s, .a = a, .token = "", .wanted = -1 };
    c.api =
        (json_api){ .s = s, .port = s->ref->port, .host = own ? "bigquery.googleapis.com" : s->ref->host };
    c.project = http_encode(a, own ? s->ref->host : s->ref->segment[0], false);
    c.dataset = name[0];
    c.table = name[1];
    if (c.project == NULL)
        return tab_no_memory(err);
    TAB_TRY(google_login(&c.api, a, SCOPE, err));
    if (s->query[0] == '\0')
        TAB_TRY(describe(&c, &listed, err));
    if (!listed) {
        const char *sql = s->query;
        if (sql[0] == '\0' && strpbrk(c.table, "`\\\n") != NULL)
            return tab_fail(err, TAB_VALIDATION, "source", "This is not a valid view name.");
        if (sql[0] == '\0')
            sql = tab_arena_printf(a, "SELECT * FROM `%s`", c.table);
        TAB_TRY(query(&c, sql, err));
    }
    for (size_t pages = 0; (listed && pages == 0) || c.token[0] != '\0'; pages++) {
        if (pages == PAGES)
            return tab_fail(err, TAB_VALIDATION, "source", "The source has more than %d pages.", PAGES);
        TAB_TRY(listed ? list_page(&c, err) : query_page(&c, err));
    }
    if (c.rows.rows != (uint64_t)c.wanted)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source sent other rows than it said; try again.");
    for (size_t k = 0; k < c.rows.cols; k++)
        tab_builder_pad(c.rows.b[k], c.rows.rows);
    return array_rows_finish(&c.rows, tab_str_of(c.table), ret, err);
}

#define BIGQUERY(text, named, first)                                                              \
    {                                                                                             \
        .scheme = text, .port = 443, .least = 2 + (first), .most = 2 + (first), .by_name = named, \
        .credentials = members, .options = options, .read = read_bigquery                         \
    }
const provider provider_bigquery = BIGQUERY("bigquery", true, 0),
               provider_bigquery_https = BIGQUERY("bigquery+https", false, 1);
