/* ClickHouse over HTTP: clickhouse://host[:port]/database/table, or options.query in place of the table.
 *
 * A query fails late: after status 200 and millions of rows its error is the last line of the text. So the
 * format is binary, the server answers when the query has ended (wait_end_of_query), and an answer that ends
 * inside a row is an error. Rows come by the table's sorting key. */
#include <stdio.h>
#include <stdlib.h>

#include "common/json/json.h"
#include "services/data-connector/protocols/http.h"
#include "services/data-connector/providers/row_binary.h"

enum { READ_ONLY_ALREADY = 164, NO_SUCH_FORMAT = 73 };
#define WITH_TYPES "RowBinaryWithNamesAndTypes"

static const char *const members[] = { "user", "password", "ca", NULL }, *const options[] = { "query", NULL };

/* "Code: 60, ..." and "Code: 60. ...": the number, 0 for none. */
static long code_of(const http_answer *x)
{
    const char *at = memmem(x->body.p, x->body.n < 256 ? x->body.n : 256, "Code: ", 6);
    return x->status < 300 || at == NULL ? 0 : strtol(at + 6, NULL, 10);
}

static tab_status refused(const source *s, const http_answer *x, tab_error *err)
{
    long code = code_of(x);
    switch (code) {
    case 192: /* no such user, a wrong password, an address that may not, no right */
    case 193:
    case 194:
    case 195:
    case 291:
    case 497:
    case 516:
        return tab_fail(err, TAB_VALIDATION, "credentials",
                        "The source refuses these credentials (code %ld).", code);
    case 81:
        return tab_fail(err, TAB_VALIDATION, "source", "The source has no such database.");
    case 159:
    case 160:
        return source_too_late(err);
    case 0:
        return http_good(x, err);
    default:
        break;
    }
    if (s->query[0] != '\0')
        return tab_fail(err, TAB_VALIDATION, "options.query", "The source refuses the query (code %ld).",
                        code);
    if (code == 60)
        return tab_fail(err, TAB_VALIDATION, "source", "The source has no such table (code %ld).", code);
    return tab_fail(err, TAB_UNAVAILABLE, "", "The source failed (code %ld).", code);
}

/* Only reads: the session is told so, unless its user may do nothing else, whom the server lets set
 * nothing. */
typedef struct {
    const source *s;
    tab_arena *a;
    bool reads_only; /* by itself */
} session;

static tab_status post(const session *c, const char *sql, const char *format, http_answer *ret,
                       tab_error *err)
{
    const source *s = c->s;
    const char *user = credential(s, "user"), *password = credential(s, "password");
    const http_pair params[] = { { "database", s->ref->segment[0] },
                                 { "default_format", format },
                                 { "wait_end_of_query", "1" },
                                 { "readonly", "2" } };
    const http_pair login[] = { { "X-ClickHouse-User", user }, { "X-ClickHouse-Key", password } };
    http_request q = { .method = "POST",
                       .plain = strcmp(s->ref->scheme, "clickhouse+http") == 0,
                       .host = s->ref->host,
                       .port = s->ref->port,
                       .path = "/",
                       .query = http_query(c->a, params, c->reads_only ? 3 : 4),
                       .secrets = login,
                       .n_secrets = user[0] != '\0' ? 2 : 0,
                       .body = tab_str_of(sql),
                       .final = true };
    return q.query == NULL ? tab_no_memory(err) : http_call(s, c->a, &q, ret, err);
}

static tab_status ask(const session *c, const char *sql, const char *format, http_answer *ret, tab_error *err)
{
    TAB_TRY(post(c, sql, format, ret, err));
    return refused(c->s, ret, err);
}

/* A query that can be refused for one reason alone tells whether the user reads only. Another query's refusal
 * would not: it may be one that writes. */
static tab_status begin(session *c, tab_error *err)
{
    http_answer x;
    if (strpbrk(credential(c->s, "user"), "\r\n") != NULL ||
        strpbrk(credential(c->s, "password"), "\r\n") != NULL)
        return tab_fail(err, TAB_VALIDATION, "credentials", "A credential contains a control character.");
    TAB_TRY(post(c, "SELECT 1", "RowBinary", &x, err));
    c->reads_only = code_of(&x) == READ_ONLY_ALREADY;
    return c->reads_only ? TAB_OK : refused(c->s, &x, err);
}

/* In backquotes, with what they could end on escaped. */
static const char *quoted(tab_arena *a, const char *name, char quote)
{
    char *q = tab_arena_alloc(a, 2 * strlen(name) + 3, 1), *to = q;
    if (q == NULL)
        return NULL;
    *to++ = quote;
    for (; *name != '\0'; name++) {
        if (*name == quote || *name == '\\')
            *to++ = '\\';
        *to++ = *name;
    }
    *to = quote;
    return q;
}

static void put_count(tab_out *o, size_t n)
{
    do {
        uint8_t b = (uint8_t)((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
        tab_out_bytes(o, &b, 1);
    } while ((n >>= 7) > 0);
}

static bool put(tab_out *o, tab_str s)
{
    put_count(o, s.n);
    tab_out_bytes(o, s.p, s.n);
    return !o->failed;
}

/* The head that an answer in RowBinary lacks: number, names and types of columns, as JSON's `meta` has
 * them. */
static tab_status head(tab_arena *a, const http_answer *x, tab_out *o, tab_error *err)
{
    static const char *const parts[] = { "name", "type" };
    const tab_json *root;
    tab_error why = { 0 };
    if (tab_json_read(a, x->body, 16, &root, &why) != TAB_OK)
        return tab_fail(err, TAB_VALIDATION, "source", "The source answered in an unexpected format.");
    const tab_json *meta = tab_json_get(root, "meta");
    size_t n = meta == NULL || meta->kind != TAB_JSON_ARRAY ? 0 : meta->count;
    put_count(o, n);
    for (int i = 0; i < 2 && meta != NULL; i++)
        for (const tab_json *m = meta->first; m != NULL; m = m->next) {
            const tab_json *t = tab_json_get(m, parts[i]);
            if (t == NULL || t->kind != TAB_JSON_STRING || !put(o, t->text))
                return tab_fail(err, TAB_VALIDATION, "source",
                                "The source answered in an unexpected format.");
        }
    return TAB_OK;
}

/* Servers before 19.5 know no RowBinary with types: they are asked for those apart. */
static tab_status ask_apart(const session *c, const char *sql, http_answer *ret, tab_error *err)
{
    tab_arena *a = c->a;
    const char *types = tab_arena_printf(a, "SELECT * FROM (\n%s\n) LIMIT 0", sql);
    tab_out whole = { 0 };
    http_answer x = { 0 };
    if (types == NULL)
        return tab_no_memory(err);
    TAB_TRY(ask(c, types, "JSON", &x, err));
    TAB_TRY(ask(c, sql, "RowBinary", ret, err));
    tab_status st = head(a, &x, &whole, err);
    tab_out_bytes(&whole, ret->body.p, ret->body.n);
    tab_out_bytes(&whole, "", 1);
    if (st == TAB_OK && (whole.failed || !tab_arena_adopt(a, whole.p, whole.cap)))
        return tab_no_memory(err);
    if (st != TAB_OK)
        tab_out_free(&whole);
    else
        ret->body = (tab_str){ whole.p, whole.n - 1 };
    return st;
}

static tab_status ask_rows(const session *c, const char *sql, tab_str id, const tab_table **ret,
                           http_answer *x, tab_error *err)
{
    tab_status st = ask(c, sql, WITH_TYPES, x, err);
    if (st != TAB_OK && code_of(x) == NO_SUCH_FORMAT)
        st = ask_apart(c, sql, x, err);
    return st != TAB_OK ? st : row_binary_read(c->a, x->body, id, ret, err);
}

/* " ORDER BY ...": the table's sorting key, an expression in the server's own words; "" where it has none. */
static tab_status order(const session *c, const char **ret, tab_error *err)
{
    const source *s = c->s;
    tab_arena *a = c->a;
    const char *db = quoted(a, s->ref->segment[0], '\''), *table = quoted(a, s->ref->segment[1], '\'');
    const char *sql = db == NULL || table == NULL ? NULL
                                                  : tab_arena_printf(a,
                                                                     "SELECT sorting_key FROM system.tables "
                                                                     "WHERE database = %s AND name = %s",
                                                                     db, table);
    const tab_table *t;
    http_answer x = { 0 };
    *ret = "";
    if (sql == NULL)
        return tab_no_memory(err);
    tab_status st = ask_rows(c, sql, TAB_S("key"), &t, &x, err);
    if (st != TAB_OK && code_of(&x) != 47 && code_of(&x) != 497) /* before 18.12; no right to look */
        return st;
    if (st == TAB_OK && t->rows == 1) {
        tab_cell key = tab_cell_at(&t->col[0], 0);
        if (key.kind == TAB_CELL_TEXT && key.text.n > 0)
            *ret = tab_arena_printf(a, " ORDER BY %.*s", TAB_STR(key.text));
    }
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

static tab_status read_clickhouse(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    session c = { s, a, false };
    const char *sql = s->query, *by;
    http_answer x = { 0 };
    TAB_TRY(begin(&c, err));
    if (s->query[0] == '\0') {
        TAB_TRY(order(&c, &by, err));
        const char *db = quoted(a, s->ref->segment[0], '`'), *table = quoted(a, s->ref->segment[1], '`');
        sql =
            db == NULL || table == NULL ? NULL : tab_arena_printf(a, "SELECT * FROM %s.%s%s", db, table, by);
    }
    if (sql == NULL)
        return tab_no_memory(err);
    return ask_rows(&c, sql, tab_str_of(s->ref->segment[1]), ret, &x, err);
}

#define CLICKHOUSE(text, number)                                                                           \
    {                                                                                                      \
        .scheme = text, .port = number, .least = 2, .most = 2, .credentials = members, .options = options, \
        .read = read_clickhouse                                                                            \
    }
const provider provider_clickhouse = CLICKHOUSE("clickhouse", 8443),
               provider_clickhouse_http = CLICKHOUSE("clickhouse+http", 8123);
