/* PostgreSQL: postgres://host[:port]/database/schema/table, or options.query in place of the table.
 *
 * One REPEATABLE READ READ ONLY transaction with a cursor: DECLARE takes one SELECT or VALUES and
 * nothing that writes. Rows come ordered by the primary key where there is one, so that a
 * snapshot's order is reproducible. What a run writes is a new table, made and filled in one transaction. A
 * source's own error text may hold a secret and is never passed
 * on: SQLSTATE decides our sentence. */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "common/json/json.h"
#include "services/data-connector/data.h"
#include "services/data-connector/source/cells.h"
#include "services/data-connector/source/source.h"

enum { FETCH = 5000 };
static const size_t SCRATCH = (size_t)2 << 30; /* of rows that are written */
enum {
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_TEXT = 25,
    OID_OID = 26,
    OID_FLOAT4 = 700,
    OID_FLOAT8 = 701,
    OID_MONEY = 790,
    OID_BPCHAR = 1042,
    OID_VARCHAR = 1043,
    OID_DATE = 1082,
    OID_TIMESTAMP = 1114,
    OID_TIMESTAMPTZ = 1184,
    OID_BIT = 1560,
    OID_NUMERIC = 1700,
    OID_UUID = 2950
};

static const char *const members[] = { "user", "password", "tls", "ca", NULL }, *const options[] = { "query",
                                                                                                     NULL };

static tab_status failed(const source *s, const PGresult *r, const char *what, tab_error *err)
{
    const char *state = r == NULL ? NULL : PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *at = r == NULL ? NULL : PQresultErrorField(r, PG_DIAG_STATEMENT_POSITION);
    bool query = s->query[0] != '\0';
    if (state != NULL && (strlen(state) != 5 || strspn(state, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 5))
        state = NULL; /* an untrusted server: only what has the form of a code is passed on */
    if (at != NULL && (strlen(at) > 9 || strspn(at, "0123456789") != strlen(at)))
        at = NULL;
    if (state == NULL)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source closed the connection.");
    if (strcmp(state, "42501") == 0)
        return source_grants_nothing(err);
    if (strncmp(state, "28", 2) == 0)
        return tab_fail(err, TAB_VALIDATION, "credentials",
                        "The source refuses these credentials (SQLSTATE %s).", state);
    if (strcmp(state, "57014") == 0)
        return tab_fail(err, TAB_CANCELLED, "", "The source took too long.");
    /* the caller's query is at fault, unless the server is (out of room, shutting down, broken) */
    if (query && strncmp(state, "53", 2) != 0 && strncmp(state, "57", 2) != 0 &&
        strncmp(state, "58", 2) != 0 && strncmp(state, "XX", 2) != 0)
        return tab_fail(err, TAB_VALIDATION, "options.query",
                        "The source refuses the query: SQLSTATE %s at position %s.", state,
                        at == NULL ? "unknown" : at);
    if (strncmp(state, "42", 2) == 0 || strncmp(state, "3D", 2) == 0 || strncmp(state, "3F", 2) == 0)
        return tab_fail(err, TAB_VALIDATION, "source", "The source has no such table (SQLSTATE %s).", state);
    return tab_fail(err, TAB_UNAVAILABLE, "", "The source failed while %s (SQLSTATE %s).", what, state);
}

static void hush(void *arg, const PGresult *notice) /* libpq would print it */
{
    (void)arg;
    (void)notice;
}

/* Whether the socket is ready within a quarter of a second. Between two calls the caller checks the
 * deadline, and whether anybody still waits. */
static bool ready(const PGconn *c, short events, tab_deadline deadline)
{
    struct pollfd p = { PQsocket(c), events, 0 };
    return poll(&p, 1, (int)tab_left_ms(deadline, 250)) > 0;
}

static bool too_late(const source *s, tab_deadline deadline)
{
    return *s->cancel || tab_left_ms(deadline, 1) == 0;
}

/* libpq's own waiting knows no deadline after the connect, and no caller who leaves during it. */
static bool connected(const source *s, PGconn *c)
{
    tab_deadline end = tab_within_ms(s->deadline, (s->connect_s < 1 ? 1 : s->connect_s) * 1000);
    PostgresPollingStatusType st = PGRES_POLLING_WRITING;
    if (PQstatus(c) == CONNECTION_BAD)
        return false;
    PQsetNoticeReceiver(c, hush, NULL);
    while (st != PGRES_POLLING_OK) {
        if (st == PGRES_POLLING_FAILED || too_late(s, end))
            return false;
        if (ready(c, st == PGRES_POLLING_READING ? POLLIN : POLLOUT, end))
            st = PQconnectPoll(c);
    }
    return PQsetnonblocking(c, 1) == 0;
}

/* Waits for a result of what was sent. */
static tab_status settled(const source *s, PGconn *c, tab_error *err)
{
    for (;;) {
        int unsent = PQflush(c);
        if (unsent < 0)
            return source_broke(err);
        if (unsent == 0 && !PQisBusy(c))
            return TAB_OK;
        if (too_late(s, s->deadline))
            return source_too_late(err);
        if (ready(c, unsent ? POLLIN | POLLOUT : POLLIN, s->deadline) && PQconsumeInput(c) == 0)
            return source_broke(err);
    }
}

static PGconn *start_connect(const source *s, bool plain, const char *roots, bool writes)
{
    char port[8], seconds[24];
    snprintf(port, sizeof port, "%u", s->ref->port);
    snprintf(seconds, sizeof seconds, "%lld", (long long)(s->connect_s < 2 ? 2 : s->connect_s));
    const struct {
        const char *name, *value;
    } option[] = {
        { "host", s->ref->host },
        { "hostaddr", s->address },
        { "port", port },
        { "dbname", s->ref->segment[0] },
        { "user", credential(s, "user") },
        { "password", credential(s, "password") },
        { "sslmode", plain ? "disable" : "verify-full" },
        { "sslrootcert", roots },
        { "connect_timeout", seconds },
        { "passfile", "/dev/null/none" },
        { "gssencmode", "disable" },
        { "application_name", "tabella" },
        { "client_encoding", "UTF8" },
        { "options",
          writes ? "-c timezone=UTC"
                 : "-c datestyle=ISO -c timezone=UTC -c intervalstyle=iso_8601 -c extra_float_digits=1 "
                   "-c bytea_output=hex -c default_transaction_read_only=on" },
        { "keepalives_idle", "15" },
        { "tcp_user_timeout", "30000" },
    };
    enum { OPTIONS = sizeof option / sizeof *option };
    const char *name[OPTIONS + 1] = { NULL }, *value[OPTIONS + 1] = { NULL };
    for (size_t i = 0; i < OPTIONS; i++) {
        name[i] = option[i].name;
        value[i] = option[i].value;
    }
    return PQconnectStartParams(name, value, 0);
}

/* Why there is no connection. libpq gives no SQLSTATE of a failed login; the server's own text is only looked
 * at, never shown. */
static tab_status unreachable(PGconn *c, tab_error *err)
{
    const char *why = c == NULL ? "" : PQerrorMessage(c);
    bool login = strstr(why, "authentication failed") != NULL ||
                 strstr(why, "no pg_hba.conf entry") != NULL || strstr(why, "role \"") != NULL ||
                 strstr(why, "no password supplied") != NULL;
    bool database = strstr(why, "database \"") != NULL;
    bool certificate = strstr(why, "SSL") != NULL || strstr(why, "certificate") != NULL;
    if (guard_laboured())
        return tab_fail(err, TAB_VALIDATION, "source",
                        "The source asks for more iterations of the password hash than the limit (%d).",
                        GUARD_KEYINGS);
    if (login)
        return source_refuses_login(err);
    if (database)
        return tab_fail(err, TAB_VALIDATION, "source", "The source has no such database.");
    if (certificate)
        return source_without_tls(err);
    if (strstr(why, "Connection refused") != NULL)
        return source_not_listening(err);
    return tab_fail(err, TAB_UNAVAILABLE, "", "The source does not respond.");
}

static tab_status dial(const source *s, bool writes, PGconn **ret, tab_error *err)
{
    char roots[64];
    int root = -1;
    bool plain;
    TAB_TRY(source_plain(s, &plain, err));
    if (!plain)
        TAB_TRY(source_roots(s, roots, &root, err));
    PGconn *c = start_connect(s, plain, plain ? "" : roots, writes);
    bool reached = c != NULL && connected(s, c);
    if (root >= 0)
        close(root);
    if (!reached) {
        tab_status st = unreachable(c, err);
        PQfinish(c);
        return st;
    }
    *ret = c;
    return TAB_OK;
}

/* The one result of the statement that was sent. After a failure the connection is of no more use. */
static tab_status take(const source *s, PGconn *c, const char *what, PGresult **ret, tab_error *err)
{
    PGresult *r = NULL, *more = NULL;
    tab_status f = settled(s, c, err);
    if (f != TAB_OK)
        return f;
    r = PQgetResult(c);
    ExecStatusType st = PQresultStatus(r);
    if (st != PGRES_COMMAND_OK && st != PGRES_TUPLES_OK)
        f = guard_spent() ? source_broke(err) : failed(s, r, what, err);
    while (f == TAB_OK && (f = settled(s, c, err)) == TAB_OK && (more = PQgetResult(c)) != NULL) {
        PQclear(more); /* one statement has one result: more of them is no PostgreSQL */
        f = tab_fail(err, TAB_UNAVAILABLE, "", "The source closed the connection.");
    }
    if (f == TAB_OK && ret != NULL)
        *ret = r;
    else
        PQclear(r);
    return f;
}

/* One statement by the extended protocol. */
static tab_status run(const source *s, PGconn *c, const char *sql, int n, const char *const *values,
                      const char *what, PGresult **ret, tab_error *err)
{
    if (PQsendQueryParams(c, sql, n, NULL, values, NULL, NULL, 0) == 0)
        return source_broke(err);
    return take(s, c, what, ret, err);
}

/* DECLARE for the table, ordered by its primary key; or for the caller's query. */
static tab_status declare(const source *s, PGconn *c, tab_arena *a, tab_error *err)
{
    static const char order[] =
        "SELECT string_agg(quote_ident(t.attname), ', ' "
        "ORDER BY k.n) "
        "FROM pg_index i "
        "CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, n) "
        "JOIN pg_attribute t ON t.attrelid = i.indrelid AND t.attnum = k.attnum "
        "WHERE i.indisprimary AND i.indrelid = to_regclass(format('%I.%I', $1::text, $2::text))";
    PGresult *r = NULL;
    const char *sql;
    if (s->query[0] != '\0') {
        sql = tab_arena_printf(a, "DECLARE rows NO SCROLL CURSOR FOR %s", s->query);
    } else {
        const char *values[] = { s->ref->segment[1], s->ref->segment[2] };
        TAB_TRY(run(s, c, order, 2, values, "looking for the table's key", &r, err));
        const char *keys = PQgetisnull(r, 0, 0) ? "" : PQgetvalue(r, 0, 0);
        char *schema = PQescapeIdentifier(c, values[0], strlen(values[0]));
        char *table = PQescapeIdentifier(c, values[1], strlen(values[1]));
        sql = schema == NULL || table == NULL
                  ? NULL
                  : tab_arena_printf(a, "DECLARE rows NO SCROLL CURSOR FOR SELECT * FROM %s.%s%s%s", schema,
                                     table, keys[0] != '\0' ? " ORDER BY " : "", keys);
        PQfreemem(schema);
        PQfreemem(table);
        PQclear(r);
    }
    if (sql == NULL)
        return tab_no_memory(err);
    return run(s, c, sql, 0, NULL, "declaring the query", NULL, err);
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* A column of a result. Texts wait until there are some, or until another cell comes. */
typedef struct {
    tab_builder *b;
    tab_str wait[TAB_BUILDER_AT_ONCE];
    size_t n;
} texts;

static void add_waiting(texts *t)
{
    tab_builder_texts(t->b, t->wait, t->n);
    t->n = 0;
}

static void wait_for(texts *t, const char *text, size_t n)
{
    t->wait[t->n++] = (tab_str){ text, n };
    if (t->n == TAB_BUILDER_AT_ONCE)
        add_waiting(t);
}

/* What no text stands for as it came. */
static void add_cell(tab_builder *b, Oid type, const char *text, size_t n)
{
    switch (type) {
    case OID_BOOL:
        tab_builder_bool(b, text[0] == 't');
        break;
    case OID_INT2:
    case OID_INT4:
    case OID_INT8:
    case OID_OID:
    case OID_NUMERIC:
        cell_number(b, text, n);
        break;
    case OID_FLOAT4:
    case OID_FLOAT8:
        cell_double_text(b, text, n);
        break;
    case OID_DATE:
    case OID_TIMESTAMP:
    case OID_TIMESTAMPTZ:
        cell_time(b, text, n, type == OID_TIMESTAMPTZ);
        break;
    case OID_BYTEA:
        cell_size(b, "bytes", n < 2 ? 0 : (n - 2) / 2);
        break;
    default:
        cell_text(b, text, n);
    }
}

/* good: it is text, of whatever type. */
static void add_other(tab_builder *b, Oid type, bool vector, bool good, const char *text, size_t n)
{
    if (!good)
        cell_size(b, "bytes", n);
    else if (vector)
        cell_vector(b, text, n);
    else
        add_cell(b, type, text, n);
}

static bool is_text(Oid type)
{
    return type == OID_TEXT || type == OID_VARCHAR || type == OID_BPCHAR || type == OID_UUID;
}

/* All rows of column k. */
static void add_column(tab_builder *b, Oid type, bool vector, const PGresult *r, int k)
{
    texts t = { .b = b };
    for (int i = 0, rows = PQntuples(r); i < rows; i++) {
        const char *text = PQgetvalue(r, i, k);
        size_t n = (size_t)PQgetlength(r, i, k);
        if (n == 0) {
            wait_for(&t, PQgetisnull(r, i, k) ? NULL : "", 0);
            continue;
        }
        bool good = cell_is_text(text, n);
        if (good && is_text(type) && n <= CELL_BYTES) {
            wait_for(&t, text, n);
            continue;
        }
        add_waiting(&t);
        add_other(b, type, vector, good, text, n);
    }
    add_waiting(&t);
}

typedef struct {
    size_t cols, rows;
    tab_builder **b;
    Oid *type;
    bool *vector;
} reading;

static tab_status begin_columns(const source *s, PGconn *c, const PGresult *r, tab_arena *a, reading *t,
                                tab_error *err)
{
    PGresult *v = NULL;
    t->cols = (size_t)PQnfields(r);
    if (t->cols == 0 || t->cols > DATA_MOST_COLS)
        return tab_fail(err, TAB_VALIDATION, "source", "A table must have 1 to %d columns.", DATA_MOST_COLS);
    TAB_TRY(run(s, c, "SELECT oid FROM pg_type WHERE typname IN ('vector', 'halfvec', 'sparsevec')", 0, NULL,
                "looking for types", &v, err));
    t->b = tab_arena_new_of(a, tab_builder *, t->cols);
    t->type = tab_arena_new_of(a, Oid, t->cols);
    t->vector = tab_arena_new_of(a, bool, t->cols);
    for (size_t i = 0; i < t->cols && !tab_arena_full(a); i++) {
        tab_str name = tab_str_of(PQfname(r, (int)i));
        if (!tab_utf8_valid(name)) {
            PQclear(v);
            return tab_fail(err, TAB_VALIDATION, "source", "The name of a column is not UTF-8.");
        }
        t->b[i] = tab_builder_new(a, tab_arena_copy(a, name));
        t->type[i] = PQftype(r, (int)i);
        for (int k = 0; k < PQntuples(v); k++)
            t->vector[i] |= strtoul(PQgetvalue(v, k, 0), NULL, 10) == t->type[i];
    }
    PQclear(v);
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

static tab_status ask_rows(PGconn *c, tab_error *err)
{
    char fetch[40];
    snprintf(fetch, sizeof fetch, "FETCH %d FROM rows", FETCH);
    return PQsendQueryParams(c, fetch, 0, NULL, NULL, NULL, NULL, 0) != 0 ? TAB_OK : source_broke(err);
}

/* The server makes rows while we read those before them. */
static tab_status fetch_all(const source *s, PGconn *c, tab_arena *a, reading *t, tab_error *err)
{
    int n = FETCH;
    TAB_TRY(ask_rows(c, err));
    while (n == FETCH) {
        PGresult *r = NULL;
        TAB_TRY(take(s, c, "reading rows", &r, err));
        n = PQntuples(r);
        tab_status st = t->b == NULL ? begin_columns(s, c, r, a, t, err) : TAB_OK;
        if (st == TAB_OK && n == FETCH)
            st = ask_rows(c, err);
        for (size_t k = 0; k < t->cols && st == TAB_OK; k++)
            add_column(t->b[k], t->type[k], t->vector[k], r, (int)k);
        t->rows += (size_t)n;
        PQclear(r);
        if (st != TAB_OK)
            return st;
        if (t->rows > DATA_MOST_CELLS / t->cols)
            return tab_fail(err, TAB_VALIDATION, "source", "A table can have at most %d cells.",
                            DATA_MOST_CELLS);
        if (tab_arena_full(a))
            return tab_fail(err, TAB_INTERNAL, "", "the table does not fit in memory");
    }
    return TAB_OK;
}

static tab_status read_rows(const source *s, PGconn *c, tab_arena *a, reading *t, tab_error *err)
{
    char limit[64];
    TAB_TRY(run(s, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", 0, NULL, "beginning", NULL, err));
    snprintf(limit, sizeof limit, "SET LOCAL statement_timeout = %lld",
             (long long)tab_left_ms(s->deadline, 3600000) + 1);
    TAB_TRY(run(s, c, limit, 0, NULL, "beginning", NULL, err));
    TAB_TRY(run(s, c, "SELECT 1", 0, NULL, "beginning", NULL,
                err)); /* after a query the transaction cannot be made to write */
    TAB_TRY(declare(s, c, a, err));
    return fetch_all(s, c, a, t, err);
}

static tab_status read_postgres(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    PGconn *c = NULL;
    reading t = { 0 };
    TAB_TRY(dial(s, false, &c, err));
    tab_status st = read_rows(s, c, a, &t, err);
    PQfinish(c);
    if (st != TAB_OK)
        return st;
    tab_column *col = tab_arena_new_of(a, tab_column, t.cols);
    tab_table *table = tab_arena_new_of(a, tab_table, 1);
    for (size_t i = 0; i < t.cols; i++)
        if (col == NULL || table == NULL || !tab_builder_finish(t.b[i], &col[i]))
            return tab_fail(err, TAB_INTERNAL, "", "the table does not fit in memory");
    *table = (tab_table){
        .id = tab_str_of(s->ref->segment[s->ref->segments - 1]), .rows = t.rows, .cols = t.cols, .col = col
    };
    *ret = table;
    return TAB_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A column's rows [from, to) as an array: {"a","b\"c",NULL}. */
static tab_status array(tab_arena *a, const tab_column *c, size_t from, size_t to, const char **ret,
                        tab_error *err)
{
    tab_out o = { 0 };
    char digits[32];
    tab_out_bytes(&o, "{", 1);
    for (size_t i = from; i < to; i++) {
        tab_str x = cell_out(c, i, digits);
        tab_out_bytes(&o, ",", i > from);
        tab_out_bytes(&o, x.p == NULL ? "NULL" : "\"", x.p == NULL ? 4 : 1);
        for (size_t k = 0; k < x.n; k++) {
            if (x.p[k] == '"' || x.p[k] == '\\')
                tab_out_bytes(&o, "\\", 1);
            tab_out_bytes(&o, x.p + k, 1);
        }
        tab_out_bytes(&o, "\"", x.p != NULL);
    }
    tab_out_bytes(&o, "}", 2); /* and the zero behind */
    bool good = !o.failed && tab_arena_adopt(a, o.p, o.cap);
    if (o.failed)
        tab_out_free(&o);
    *ret = o.p;
    return good ? TAB_OK : tab_no_memory(err);
}

/* "schema"."table" */
static const char *table_name(const source *s, PGconn *c, tab_arena *a)
{
    char *schema = PQescapeIdentifier(c, s->ref->segment[1], strlen(s->ref->segment[1]));
    char *table = PQescapeIdentifier(c, s->ref->segment[2], strlen(s->ref->segment[2]));
    const char *both = schema == NULL || table == NULL ? NULL : tab_arena_printf(a, "%s.%s", schema, table);
    PQfreemem(schema);
    PQfreemem(table);
    return both;
}

static const char *const types[] = {
    [CELLS_NUMBER] = "double precision", [CELLS_BOOL] = "boolean", [CELLS_TEXT] = "text"
};

static tab_status create(const source *s, PGconn *c, tab_arena *a, const char *name, const output *o,
                         tab_error *err)
{
    const char *sql = tab_arena_printf(a, "CREATE TABLE %s (", name);
    for (size_t k = 0; k < o->table->cols && sql != NULL; k++) {
        char *column = PQescapeIdentifier(c, o->table->col[k].name.p, o->table->col[k].name.n);
        sql = column == NULL ? NULL
                             : tab_arena_printf(a, "%s%s%s %s", sql, k > 0 ? ", " : "", column,
                                                types[output_kind(o, k)]);
        PQfreemem(column);
    }
    sql = sql == NULL ? NULL : tab_arena_printf(a, "%s)", sql);
    return sql == NULL ? tab_no_memory(err) : run(s, c, sql, 0, NULL, "making the table", NULL, err);
}

/* Whose table it is. */
static tab_status sign(const source *s, PGconn *c, tab_arena *a, const char *name, const char *comment,
                       tab_error *err)
{
    char *by = comment == NULL ? NULL : PQescapeLiteral(c, comment, strlen(comment));
    const char *sql = by == NULL ? NULL : tab_arena_printf(a, "COMMENT ON TABLE %s IS %s", name, by);
    PQfreemem(by);
    return sql == NULL ? tab_no_memory(err) : run(s, c, sql, 0, NULL, "making the table", NULL, err);
}

static tab_status insert(const source *s, PGconn *c, const char *sql, const tab_table *t, tab_error *err)
{
    for (size_t from = 0; from < t->rows; from += FETCH) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
        const char **values = a == NULL ? NULL : tab_arena_new_of(a, const char *, t->cols);
        size_t to = t->rows - from < FETCH ? t->rows : from + FETCH;
        if (values == NULL)
            return tab_no_memory(err);
        for (size_t k = 0; k < t->cols; k++)
            TAB_TRY(array(a, &t->col[k], from, to, &values[k], err));
        TAB_TRY(run(s, c, sql, (int)t->cols, values, "writing rows", NULL, err));
    }
    return TAB_OK;
}

/* All rows, as they come. */
static tab_status insert_all(const source *s, PGconn *c, tab_arena *a, const char *name, const output *o,
                             tab_error *err)
{
    const char *sql = tab_arena_printf(a, "INSERT INTO %s SELECT * FROM unnest(", name);
    for (size_t k = 0; k < o->table->cols && sql != NULL; k++)
        sql = tab_arena_printf(a, "%s%s$%zu::%s[]", sql, k > 0 ? ", " : "", k + 1, types[output_kind(o, k)]);
    sql = sql == NULL ? NULL : tab_arena_printf(a, "%s)", sql);
    if (sql == NULL)
        return tab_no_memory(err);
    TAB_TRY(insert(s, c, sql, o->table, err));
    for (;;) {
        TAB_AUTO(tab_arena) *of = tab_arena_new(SCRATCH);
        const tab_table *t = NULL;
        if (of == NULL)
            return tab_no_memory(err);
        TAB_TRY(output_more(o, of, &t, err));
        if (t == NULL)
            return TAB_OK;
        TAB_TRY(insert(s, c, sql, t, err));
    }
}

/* Comment (NULL: there is no such table, "": it has none) and columns of the table. */
static tab_status look(const source *s, PGconn *c, tab_arena *a, const char **ret_comment,
                       const char *const **ret_columns, size_t *ret_n, tab_error *err)
{
    const char *there[] = { s->ref->segment[1], s->ref->segment[2] };
    PGresult *r = NULL;
    TAB_TRY(
        run(s, c,
            "SELECT coalesce(obj_description(t, 'pg_class'), ''), attname FROM (SELECT "
            "to_regclass(format('%I.%I', $1::text, $2::text))) x(t) LEFT JOIN pg_attribute ON attrelid = t "
            "AND attnum > 0 AND NOT attisdropped WHERE t IS NOT NULL ORDER BY attnum",
            2, there, "looking for the table", &r, err));
    size_t n = (size_t)PQntuples(r);
    const char **columns = tab_arena_new_of(a, const char *, n + 1);
    *ret_comment = n == 0 ? NULL : tab_proto_text(a, PQgetvalue(r, 0, 0));
    for (*ret_n = 0; columns != NULL && *ret_n < n; ++*ret_n)
        columns[*ret_n] = tab_proto_text(a, PQgetvalue(r, (int)*ret_n, 1));
    PQclear(r);
    *ret_columns = columns;
    return columns == NULL || tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

/* In one transaction; a table that is there is held from its second look on, so that writings follow each
 * other. */
static tab_status write_table(const source *s, PGconn *c, tab_arena *a, const output *o, tab_error *err)
{
    const char *name = table_name(s, c, a), *comment, *const * columns;
    size_t n;
    bool done;
    if (name == NULL)
        return tab_no_memory(err);
    TAB_TRY(run(s, c, "BEGIN", 0, NULL, "beginning", NULL, err));
    /* a writing that was given up lets go of its locks, also while it waits for one (PostgreSQL 14 on) */
    TAB_TRY(run(s, c,
                "SELECT set_config(name, '2s', true) FROM pg_settings "
                "WHERE name = 'client_connection_check_interval'",
                0, NULL, "beginning", NULL, err));
    TAB_TRY(look(s, c, a, &comment, &columns, &n, err));
    TAB_TRY(output_may(o, comment, columns, n, &done, err));
    if (o->check || done)
        return TAB_OK;
    if (comment == NULL) {
        TAB_TRY(create(s, c, a, name, o, err));
    } else {
        TAB_TRY(run(s, c, tab_arena_printf(a, "LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE", name), 0, NULL,
                    "writing rows", NULL, err));
        TAB_TRY(look(s, c, a, &comment, &columns, &n, err));
        TAB_TRY(output_may(o, comment, columns, n, &done, err));
        if (done)
            return TAB_OK;
        if (o->mode == OUT_REPLACE)
            TAB_TRY(
                run(s, c, tab_arena_printf(a, "DELETE FROM %s", name), 0, NULL, "writing rows", NULL, err));
    }
    TAB_TRY(sign(s, c, a, name, output_comment(o, a, comment), err));
    TAB_TRY(insert_all(s, c, a, name, o, err));
    return run(s, c, "COMMIT", 0, NULL, "committing", NULL, err);
}

static tab_status write_postgres(const source *s, tab_arena *a, const output *o, tab_error *err)
{
    PGconn *c = NULL;
    TAB_TRY(dial(s, true, &c, err));
    tab_status st = write_table(s, c, a, o, err);
    PQfinish(c);
    return st;
}

const provider provider_postgres = { .scheme = "postgres",
                                     .port = 5432,
                                     .least = 3,
                                     .most = 3,
                                     .credentials = members,
                                     .options = options,
                                     .read = read_postgres,
                                     .write = write_postgres };
