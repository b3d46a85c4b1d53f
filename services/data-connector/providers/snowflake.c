/* Snowflake by its SQL API, version 2:
 *
 *   snowflake://ACCOUNT/DATABASE/SCHEMA/TABLE                     at ACCOUNT.snowflakecomputing.com
 *   snowflake+https://host[:port]/ACCOUNT/DATABASE/SCHEMA/TABLE   behind a private endpoint
 *
 * A statement is sent with a token that the user's key signs (KEYPAIR_JWT), or one that was given. It answers
 * with its first partition, or (202) with a handle to ask again by; further partitions come by their number,
 * packed by gzip. Values are texts, as "Handling responses" of Snowflake's documentation spells them. */
#include <ctype.h>
#include <stdio.h>
#include <time.h>

#include "common/base/integer.h"
#include "common/json/json.h"
#include "services/data-connector/data.h"
#include "services/data-connector/protocols/jwt.h"
#include "services/data-connector/providers/array_rows.h"
#include "services/data-connector/providers/json_api.h"
#include "services/data-connector/source/cells.h"

enum { PARTITIONS = 10000, TOKEN_S = 3600, META_DEPTH = 8 };
#define PATH "/api/v2/statements"

static const char *const members[] = { "user", "private_key", "token", "role", "warehouse", "ca", NULL },
                         *const options[] = { "query", NULL };

typedef struct {
    const source *s;
    tab_arena *a;
    json_api api;
    const char *account;
    const char *const *name; /* database, schema, table */
    const char *handle;
    array_rows rows;
    size_t partitions;
    int64_t wanted; /* rows that it says there are */
} session;

typedef enum { TEXT, NUMBER, BOOL, DAY, TIME, INSTANT, LOCAL, BYTES } spelling;

static void put_cell(tab_builder *b, int type, tab_str x)
{
    int64_t n;
    uint32_t nanos;
    char out[32];
    switch ((spelling)type) {
    case NUMBER:
        array_number(b, x);
        return;
    case BOOL:
        tab_builder_bool(b, tab_str_eq(x, TAB_S("true")) || tab_str_eq(x, TAB_S("1")));
        return;
    case DAY:
        if (tab_integer_read(x, -10000000, 10000000, &n)) {
            array_day(b, n);
            return;
        }
        break;
    case INSTANT:
    case LOCAL:
        if (array_seconds(x, &n, &nanos)) {
            array_instant(b, n, nanos, type == INSTANT);
            return;
        }
        break;
    case TIME:
        if (array_seconds(x, &n, &nanos) && n >= 0 && n < 86400) {
            int m = snprintf(out, sizeof out, "%02d:%02d:%02d", (int)(n / 3600), (int)(n / 60 % 60),
                             (int)(n % 60));
            cell_text(b, out, (size_t)m);
            return;
        }
        break;
    case BYTES:
        array_bytes(b, x, true);
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
    } types[] = { { "fixed", NUMBER },
                  { "number", NUMBER },
                  { "real", NUMBER },
                  { "float", NUMBER },
                  { "decfloat", NUMBER },
                  { "boolean", BOOL },
                  { "date", DAY },
                  { "time", TIME },
                  { "timestamp_ltz", INSTANT },
                  { "timestamp_tz", INSTANT },
                  { "timestamp_ntz", LOCAL },
                  { "binary", BYTES } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (t.n == strlen(types[i].name) && strncasecmp(t.p, types[i].name, t.n) == 0)
            return types[i].is;
    return TEXT;
}

/* ---- who asks --------------------------------------------------------------------------------------- */

/* The account as its own tokens name it: in upper case, without the region behind the first dot. */
static const char *issuer(const session *c, const char *user)
{
    char *p = tab_arena_printf(c->a, "%.*s.%s", (int)strcspn(c->account, "."), c->account, user);
    for (char *q = p; q != NULL && *q != '\0'; q++)
        *q = (char)toupper((unsigned char)*q);
    return p;
}

static tab_status signed_token(session *c, const char **ret, tab_error *err)
{
    jwt_key *key;
    const char *print;
    tab_out claims = { 0 };
    time_t now = time(NULL);
    TAB_TRY(jwt_key_read(c->a, credential(c->s, "private_key"), "credentials.private_key", &key, err));
    TAB_TRY(jwt_fingerprint(c->a, key, &print, err));
    const char *who = issuer(c, credential(c->s, "user"));
    const char *by = who == NULL ? NULL : tab_arena_printf(c->a, "%s.%s", who, print);
    tab_out_open(&claims, '{');
    tab_out_key(&claims, "iss");
    tab_out_cstr(&claims, by);
    tab_out_key(&claims, "sub");
    tab_out_cstr(&claims, who);
    tab_out_key(&claims, "iat");
    tab_out_int(&claims, now);
    tab_out_key(&claims, "exp");
    tab_out_int(&claims, now + TOKEN_S);
    tab_out_close(&claims, '}');
    tab_status st = claims.failed || by == NULL ? tab_no_memory(err)
                                                : jwt_sign(c->a, key, "", tab_out_text(&claims), ret, err);
    tab_out_free(&claims);
    return st;
}

static tab_status login(session *c, tab_error *err)
{
    const char *token = credential(c->s, "token"), *user = credential(c->s, "user"),
               *key = credential(c->s, "private_key");
    if ((token[0] != '\0') == (key[0] != '\0') || (key[0] != '\0' && user[0] == '\0'))
        return tab_fail(err, TAB_VALIDATION, "credentials", "Give either user and private_key or a token.");
    if (!api_token(token))
        return tab_fail(err, TAB_VALIDATION, "credentials.token", "This is not a valid token.");
    if (key[0] != '\0') {
        TAB_TRY(signed_token(c, &token, err));
        c->api.secret[c->api.n_secret++] =
            (http_pair){ "X-Snowflake-Authorization-Token-Type", "KEYPAIR_JWT" };
    }
    const char *value = tab_arena_printf(c->a, "Bearer %s", token);
    c->api.secret[c->api.n_secret++] = (http_pair){ "Authorization", value };
    return value == NULL ? tab_no_memory(err) : TAB_OK;
}

/* ---- the statement ---------------------------------------------------------------------------------- */

static tab_status refused(const session *c, const http_answer *x, tab_error *err)
{
    const char *state = "";
    tab_error why = { 0 };
    if (x->status == 408)
        return source_too_late(err);
    if (x->status != 422 && x->status != 400)
        return http_good(x, err);
    if (api_text(c->a, x->body, "/sqlState", &state, &why) != TAB_OK ||
        strspn(state, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 5 || state[5] != '\0')
        state = "?";
    if (c->s->query[0] != '\0')
        return tab_fail(err, TAB_VALIDATION, "options.query", "The source refuses the query (SQLSTATE %s).",
                        state);
    if (strncmp(state, "02", 2) == 0 || strcmp(state, "42S02") == 0)
        return tab_fail(err, TAB_VALIDATION, "source",
                        "The source has no such table, or these credentials may not see it (SQLSTATE %s).",
                        state);
    return tab_fail(err, TAB_VALIDATION, "source", "The source refuses the read (SQLSTATE %s).", state);
}

static const char *statement(const session *c, tab_error *err)
{
    const char *inner, *by = api_order(c->a, c->s, '"');
    if (c->s->query[0] != '\0')
        return api_subquery(c->a, c->s->query, &inner, err) == TAB_OK
                   ? tab_arena_printf(c->a, "SELECT * FROM (\n%s\n)", inner)
                   : NULL;
    const char *db = api_quoted(c->a, c->name[0], '"'), *schema = api_quoted(c->a, c->name[1], '"'),
               *table = api_quoted(c->a, c->name[2], '"');
    return tab_arena_full(c->a) ? NULL
                                : tab_arena_printf(c->a, "SELECT * FROM %s.%s.%s%s", db, schema, table, by);
}

static void put_text(tab_out *o, const char *key, const char *value)
{
    if (value[0] == '\0')
        return;
    tab_out_key(o, key);
    tab_out_cstr(o, value);
}

static tab_status submit(session *c, tab_arena *page, http_answer *ret, tab_error *err)
{
    tab_out body = { 0 };
    tab_error why = { 0 };
    const char *sql = statement(c, &why);
    if (sql == NULL && why.status == TAB_VALIDATION)
        return tab_fail(err, TAB_VALIDATION, why.param, "%s", why.message);
    if (sql == NULL)
        return tab_no_memory(err);
    tab_out_open(&body, '{');
    put_text(&body, "statement", sql);
    tab_out_key(&body, "timeout");
    tab_out_int(&body, source_left_ms(c->s, INT32_MAX) / 1000 + 1);
    put_text(&body, "database", c->name[0]);
    put_text(&body, "schema", c->name[1]);
    put_text(&body, "warehouse", credential(c->s, "warehouse"));
    put_text(&body, "role", credential(c->s, "role"));
    tab_out_key(&body, "parameters"); /* one statement, whatever the account's own setting is */
    tab_out_open(&body, '{');
    put_text(&body, "MULTI_STATEMENT_COUNT", "1");
    tab_out_close(&body, '}');
    tab_out_close(&body, '}');
    tab_status st = body.failed ? tab_no_memory(err)
                                : api_call(&c->api, page, "POST", PATH, "", tab_out_text(&body), ret, err);
    tab_out_free(&body);
    TAB_TRY(st);
    TAB_TRY(refused(c, ret, err));
    TAB_TRY(api_text(c->a, ret->body, "/statementHandle", &c->handle, err));
    if (c->handle[0] == '\0' || strspn(c->handle, "0123456789abcdefABCDEF-") != strlen(c->handle))
        return api_other_format(err);
    return TAB_OK;
}

static tab_status ask_again(const session *c, tab_arena *page, int64_t partition, http_answer *ret,
                            tab_error *err)
{
    const char *path = tab_arena_printf(page, PATH "/%s", c->handle);
    const char *query = partition < 0 ? "" : tab_arena_printf(page, "partition=%lld", (long long)partition);
    TAB_TRY(api_call(&c->api, page, "GET", path, query, TAB_S(""), ret, err));
    return refused(c, ret, err);
}

static tab_status cancelled(const session *c, tab_arena *page, tab_status why)
{
    http_answer x;
    tab_error ignored;
    const char *path = tab_arena_printf(page, PATH "/%s/cancel", c->handle);
    tab_status st = api_call(&c->api, page, "POST", path, "", TAB_S("{}"), &x, &ignored);
    (void)st; /* it was too late already; the statement's own time ends it */
    return why;
}

/* ---- its answer ------------------------------------------------------------------------------------- */

static tab_status columns(session *c, tab_str body, tab_error *err)
{
    const tab_json *m;
    TAB_TRY(api_part(c->a, body, "/resultSetMetaData", META_DEPTH, &m, err));
    const tab_json *types = tab_json_get(m, "rowType"), *parts = tab_json_get(m, "partitionInfo"),
                   *n = tab_json_get(m, "numRows");
    if (types == NULL || types->kind != TAB_JSON_ARRAY || n == NULL || n->kind != TAB_JSON_NUMBER ||
        !tab_integer_read(n->text, 0, INT64_MAX, &c->wanted))
        return api_other_format(err);
    c->partitions = parts != NULL && parts->kind == TAB_JSON_ARRAY ? parts->count : 1;
    if (c->partitions > PARTITIONS)
        return tab_fail(err, TAB_VALIDATION, "source", "The source has more than %d partitions.", PARTITIONS);
    TAB_TRY(array_rows_new(c->a, types->count, put_cell, &c->rows, err));
    return api_columns(&c->rows, types, "type", type_of, err);
}

static tab_status take(session *c, tab_str body, tab_error *err)
{
    tab_str data;
    TAB_TRY(json_span(c->a, body, "/data", &data, err));
    return data.p == NULL ? api_other_format(err) : array_rows_read(&c->rows, data, err);
}

static tab_status run(session *c, tab_error *err)
{
    TAB_AUTO(tab_arena) *page = tab_arena_new((size_t)c->s->read_mib << 21);
    http_answer x;
    if (page == NULL)
        return tab_no_memory(err);
    TAB_TRY(submit(c, page, &x, err));
    for (unsigned turn = 0; x.status == 202; turn++) {
        tab_status st = api_pause(c->s, turn, err);
        if (st != TAB_OK)
            return cancelled(c, page, st);
        TAB_TRY(ask_again(c, page, -1, &x, err));
    }
    TAB_TRY(columns(c, x.body, err));
    return take(c, x.body, err);
}

static tab_status partition(session *c, size_t i, tab_error *err)
{
    TAB_AUTO(tab_arena) *page = tab_arena_new((size_t)c->s->read_mib << 21);
    http_answer x;
    if (page == NULL)
        return tab_no_memory(err);
    TAB_TRY(ask_again(c, page, (int64_t)i, &x, err));
    return take(c, x.body, err);
}

static tab_status read_snowflake(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    bool own = strcmp(s->ref->scheme, "snowflake") == 0;
    session c = { .s = s, .a = a, .name = s->ref->segment + !own, .api = { .s = s, .port = s->ref->port } };
    c.account = own ? s->ref->host : s->ref->segment[0];
    c.api.host = own ? tab_arena_printf(a, "%s.snowflakecomputing.com", s->ref->host) : s->ref->host;
    if (c.api.host == NULL)
        return tab_no_memory(err);
    for (char *p = (char *)c.api.host; own && *p != '\0'; p++)
        *p = *p == '_' ? '-' : *p; /* as its certificate has it */
    TAB_TRY(login(&c, err));
    TAB_TRY(run(&c, err));
    for (size_t i = 1; i < c.partitions; i++)
        TAB_TRY(partition(&c, i, err));
    if (c.rows.rows != (uint64_t)c.wanted)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source sent other rows than it announced; try again.");
    return array_rows_finish(&c.rows, tab_str_of(c.name[2]), ret, err);
}

#define SNOWFLAKE(text, named, first)                                                             \
    {                                                                                             \
        .scheme = text, .port = 443, .least = 3 + (first), .most = 3 + (first), .by_name = named, \
        .credentials = members, .options = options, .read = read_snowflake                        \
    }
const provider provider_snowflake = SNOWFLAKE("snowflake", true, 0),
               provider_snowflake_https = SNOWFLAKE("snowflake+https", false, 1);
