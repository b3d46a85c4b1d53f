/* MariaDB and MySQL: mysql://host[:port]/database/table, or options.query in place of the table.
 *
 * One read-only transaction with a consistent snapshot. The text protocol, row by row; rows come ordered by
 * the primary key where there is one. A server may ask its client for any local file (LOAD DATA LOCAL), which
 * is refused before the connection is made, and for a plugin of its choice, of which three are taken. */
#include <ctype.h>
#include <mariadb/errmsg.h>
#include <mariadb/mysql.h>
#include <mariadb/mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/proto.h"
#include "common/json/json.h"
#include "common/security/crypto.h"
#include "services/data-connector/data.h"
#include "services/data-connector/source/cells.h"
#include "services/data-connector/source/source.h"

enum { BINARY = 63, PACKET_MOST = 64 << 20, IDLE_S = 30, QUERY_TIMEOUT = 3024, INSERT_BYTES = 1 << 20 };
static const size_t SCRATCH = (size_t)2 << 30; /* of rows that are written */

static const char *const members[] = { "user", "password", "tls", "ca", NULL }, *const options[] = { "query",
                                                                                                     NULL };

static void mysql_freep(MYSQL **m)
{
    mysql_close(*m);
}

static void result_freep(MYSQL_RES **r)
{
    mysql_free_result(*r);
}

#define AUTO(fn) __attribute__((cleanup(fn)))

/* Why a statement, or the connection, failed: our own sentence. The server's text may hold a secret. */
static tab_status failed(const source *s, MYSQL *m, tab_error *err)
{
    unsigned n = mysql_errno(m);
    const char *state = mysql_sqlstate(m);
    if (state == NULL || strlen(state) != 5 || strspn(state, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 5)
        state = "HY000"; /* an untrusted server: only what has the form of a code is passed on */
    if (guard_spent())
        return source_too_large(err);
    if (source_left_ms(s, 1) == 0)
        return source_too_late(err);
    switch (n) {
    case ER_ACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
    case ER_DBACCESS_DENIED_ERROR:
    case CR_AUTH_PLUGIN_CANNOT_LOAD:
    case CR_AUTH_PLUGIN_ERR:
        return tab_fail(err, TAB_VALIDATION, "credentials",
                        "The source refuses these credentials (SQLSTATE %s).", state);
    case ER_TABLEACCESS_DENIED_ERROR:
    case ER_COLUMNACCESS_DENIED_ERROR:
        return source_grants_nothing(err);
    case ER_BAD_DB_ERROR:
        return tab_fail(err, TAB_VALIDATION, "source", "The source has no such database.");
    case CR_SSL_CONNECTION_ERROR:
        return source_without_tls(err);
    case CR_CONN_HOST_ERROR:
    case CR_CONNECTION_ERROR:
        if (source_refuses(s))
            return source_not_listening(err);
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source does not respond.");
    case ER_STATEMENT_TIMEOUT:
    case QUERY_TIMEOUT:
        return source_too_late(err);
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case CR_MALFORMED_PACKET:
    case CR_COMMANDS_OUT_OF_SYNC:
        return source_broke(err);
    default:
        break;
    }
    if (n < 2000 && s->query[0] != '\0')
        return tab_fail(err, TAB_VALIDATION, "options.query", "The source refuses the query: SQLSTATE %s.",
                        state);
    if (n == ER_NO_SUCH_TABLE || n == ER_BAD_TABLE_ERROR)
        return tab_fail(err, TAB_VALIDATION, "source", "The source has no such table (SQLSTATE %s).", state);
    if (n == CR_OUT_OF_MEMORY)
        return tab_no_memory(err);
    return tab_fail(err, TAB_UNAVAILABLE, "", "The source failed (SQLSTATE %s).", state);
}

static tab_status dial(const source *s, MYSQL **ret, tab_error *err)
{
    char roots[64];
    int root = -1;
    bool plain;
    my_bool yes = 1;
    unsigned off = 0, idle = IDLE_S, connect_s = s->connect_s < 1 ? 1 : (unsigned)s->connect_s;
    unsigned long packet = PACKET_MOST;
    TAB_TRY(source_plain(s, &plain, err));
    if (!plain)
        TAB_TRY(source_roots(s, roots, &root, err));
    AUTO(mysql_freep) MYSQL *m = mysql_init(NULL);
    if (m == NULL)
        return tab_no_memory(err);
    mysql_optionsv(m, MYSQL_OPT_LOCAL_INFILE, &off);
    mysql_optionsv(m, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
    mysql_optionsv(m, MYSQL_OPT_READ_TIMEOUT, &idle);
    mysql_optionsv(m, MYSQL_OPT_WRITE_TIMEOUT, &idle);
    mysql_optionsv(m, MYSQL_OPT_MAX_ALLOWED_PACKET, &packet);
    mysql_optionsv(m, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(m, MARIADB_OPT_RESTRICTED_AUTH,
                   plain ? "mysql_native_password,client_ed25519"
                         : "mysql_native_password,client_ed25519,caching_sha2_password");
    if (!plain) {
        mysql_optionsv(m, MYSQL_OPT_SSL_ENFORCE, &yes);
        mysql_optionsv(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
        mysql_optionsv(m, MYSQL_OPT_SSL_CA, roots);
    }
    /* by name, which the certificate must have; what it resolves to now is judged by connect() */
    bool good = mysql_real_connect(m, s->ref->host, credential(s, "user"), credential(s, "password"),
                                   s->ref->segment[0], s->ref->port, NULL, 0) != NULL;
    if (root >= 0)
        close(root);
    if (!good)
        return failed(s, m, err);
    *ret = tab_take(&m);
    return TAB_OK;
}

static tab_status run(const source *s, MYSQL *m, const char *sql, size_t n, tab_error *err)
{
    return mysql_real_query(m, sql, (unsigned long)n) == 0 ? TAB_OK : failed(s, m, err);
}

/* `name`, a backtick in it doubled. */
static char *quoted(tab_arena *a, const char *name)
{
    char *q = tab_arena_alloc(a, 2 * strlen(name) + 3, 1), *to = q;
    if (q == NULL)
        return NULL;
    *to++ = '`';
    for (; *name != '\0'; name++) {
        if (*name == '`')
            *to++ = '`';
        *to++ = *name;
    }
    *to = '`';
    return q;
}

static tab_status escaped(MYSQL *m, tab_arena *a, tab_str text, const char **ret, tab_error *err)
{
    char *to = tab_arena_alloc(a, 2 * text.n + 1, 1);
    if (to == NULL)
        return tab_no_memory(err);
    mysql_real_escape_string(m, to, text.p, (unsigned long)text.n);
    *ret = to;
    return TAB_OK;
}

/* " ORDER BY `a`, `b`", the table's primary key; "" where it has none. */
static tab_status order(const source *s, MYSQL *m, tab_arena *a, const char **ret, tab_error *err)
{
    const char *db = "", *table = "", *text = "";
    TAB_TRY(escaped(m, a, tab_str_of(s->ref->segment[0]), &db, err));
    TAB_TRY(escaped(m, a, tab_str_of(s->ref->segment[1]), &table, err));
    char *sql = tab_arena_printf(a,
                                 "SELECT column_name FROM information_schema.statistics WHERE table_schema "
                                 "= '%s' AND table_name = '%s' AND index_name = 'PRIMARY' "
                                 "ORDER BY seq_in_index",
                                 db, table);
    if (sql == NULL)
        return tab_no_memory(err);
    TAB_TRY(run(s, m, sql, strlen(sql), err));
    AUTO(result_freep) MYSQL_RES *r = mysql_store_result(m);
    for (MYSQL_ROW row; r != NULL && (row = mysql_fetch_row(r)) != NULL && row[0] != NULL;) {
        const char *name = quoted(a, row[0]);
        if (name == NULL ||
            (text = tab_arena_printf(a, "%s%s%s", text, text[0] == '\0' ? " ORDER BY " : ", ", name)) == NULL)
            return tab_no_memory(err);
    }
    *ret = text;
    return r == NULL ? failed(s, m, err) : TAB_OK;
}

/* A query reads: its first word says so, and the transaction lets nothing be written. */
static bool reads(const char *q)
{
    static const char *const words[] = { "SELECT", "WITH", "VALUES", "TABLE" };
    while (isspace((unsigned char)*q) || *q == '(')
        q++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncasecmp(q, words[i], strlen(words[i])) == 0 && !isalnum((unsigned char)q[strlen(words[i])]) &&
            q[strlen(words[i])] != '_')
            return true;
    return false;
}

/* ---- cells ----------------------------------------------------------------------------------- */

typedef struct {
    size_t cols, rows;
    tab_builder **b;
    const MYSQL_FIELD *field;
} reading;

static void add_bits(tab_builder *b, const char *p, size_t n, bool one)
{
    uint64_t x = 0;
    char text[32];
    for (size_t i = 0; i < n && i < 8; i++)
        x = x << 8 | (uint8_t)p[i];
    if (one)
        tab_builder_bool(b, x != 0);
    else
        cell_number(b, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)x));
}

static void add_cell(tab_builder *b, const MYSQL_FIELD *f, const char *p, size_t n)
{
    char zoned[48];
    bool binary = f->charsetnr == BINARY;
    switch ((int)f->type) {
    case MYSQL_TYPE_BIT:
        add_bits(b, p, n, f->length == 1);
        return;
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_STRING:
    case MYSQL_TYPE_VAR_STRING:
    case MYSQL_TYPE_VARCHAR:
        break;
    case MYSQL_TYPE_GEOMETRY:
        cell_size(b, "bytes", n);
        return;
    default:
        binary = false;
    }
    if (binary || !cell_is_text(p, n)) {
        cell_size(b, "bytes", n);
        return;
    }
    if (n == 0) {
        tab_builder_text(b, TAB_S(""));
        return;
    }
    switch ((int)f->type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NEWDECIMAL:
        cell_number(b, p, n);
        break;
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
        cell_double(b, strtod(p, NULL));
        break;
    case MYSQL_TYPE_DATE:
    case MYSQL_TYPE_NEWDATE:
    case MYSQL_TYPE_DATETIME:
        cell_time(b, p, n, false);
        break;
    case MYSQL_TYPE_TIMESTAMP: /* the session's zone is UTC */
        cell_time(b, zoned, (size_t)snprintf(zoned, sizeof zoned, "%.*s+00", n < 40 ? (int)n : 40, p), true);
        break;
    default:
        cell_text(b, p, n);
    }
}

static tab_status begin_columns(MYSQL_RES *r, tab_arena *a, reading *t, tab_error *err)
{
    t->cols = mysql_num_fields(r);
    t->field = mysql_fetch_fields(r);
    if (t->cols == 0 || t->cols > DATA_MOST_COLS)
        return tab_fail(err, TAB_VALIDATION, "source", "A table must have 1 to %d columns.", DATA_MOST_COLS);
    t->b = tab_arena_new_of(a, tab_builder *, t->cols);
    for (size_t i = 0; i < t->cols && t->b != NULL; i++) {
        tab_str name = { t->field[i].name, t->field[i].name_length };
        if (!cell_is_text(name.p, name.n))
            return tab_fail(err, TAB_VALIDATION, "source", "The name of a column is not UTF-8.");
        t->b[i] = tab_builder_new(a, tab_arena_copy(a, name));
    }
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

static tab_status fetch_all(const source *s, MYSQL *m, MYSQL_RES *r, tab_arena *a, reading *t, tab_error *err)
{
    MYSQL_ROW row;
    while ((row = mysql_fetch_row(r)) != NULL) {
        const unsigned long *n = mysql_fetch_lengths(r);
        for (size_t k = 0; k < t->cols; k++)
            if (row[k] == NULL)
                tab_builder_null(t->b[k]);
            else
                add_cell(t->b[k], &t->field[k], row[k], n[k]);
        if (++t->rows > DATA_MOST_CELLS / t->cols)
            return tab_fail(err, TAB_VALIDATION, "source", "A table can have at most %d cells.",
                            DATA_MOST_CELLS);
        if (tab_arena_full(a))
            return tab_no_memory(err);
        if (t->rows % 1024 == 0 && source_left_ms(s, 1) == 0)
            return source_too_late(err);
    }
    return mysql_errno(m) == 0 ? TAB_OK : failed(s, m, err);
}

/* tinyint(1) is MySQL's boolean where it holds nothing else. */
static tab_status booleans(tab_arena *a, const MYSQL_FIELD *f, size_t rows, tab_column *c, tab_error *err)
{
    if (f->type != MYSQL_TYPE_TINY || f->length != 1 || c->layout != TAB_NUMBERS)
        return TAB_OK;
    bool any = false;
    for (size_t i = 0; i < rows; i++) {
        tab_cell x = tab_cell_at(c, i);
        if (x.kind == TAB_CELL_NULL)
            continue;
        any = true;
        if (x.num != 0 && x.num != 1)
            return TAB_OK;
    }
    tab_builder *b = any ? tab_builder_new(a, c->name) : NULL;
    for (size_t i = 0; i < rows && b != NULL; i++) {
        tab_cell x = tab_cell_at(c, i);
        if (x.kind == TAB_CELL_NULL)
            tab_builder_null(b);
        else
            tab_builder_bool(b, x.num != 0);
    }
    return !any || (b != NULL && tab_builder_finish(b, c)) ? TAB_OK : tab_no_memory(err);
}

static tab_status begin(const source *s, MYSQL *m, tab_error *err)
{
    static const char *const steps[] = {
        "SET SESSION time_zone = '+00:00', sql_mode = '', transaction_isolation = 'REPEATABLE-READ'",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    };
    /* the old name of the setting: MariaDB before 11.1, MySQL before 5.7.20 */
    static const char old[] =
        "SET SESSION time_zone = '+00:00', sql_mode = '', tx_isolation = 'REPEATABLE-READ'";
    if (mysql_real_query(m, steps[0], strlen(steps[0])) != 0)
        TAB_TRY(run(s, m, old, sizeof old - 1, err));
    return run(s, m, steps[1], strlen(steps[1]), err);
}

static tab_status read_mysql(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    reading t = { 0 };
    AUTO(mysql_freep) MYSQL *m = NULL;
    const char *by, *sql = s->query;
    if (s->query[0] != '\0' && !reads(s->query))
        return tab_fail(err, TAB_VALIDATION, "options.query",
                        "A query must begin with SELECT, WITH or VALUES.");
    TAB_TRY(dial(s, &m, err));
    TAB_TRY(begin(s, m, err));
    if (s->query[0] == '\0') {
        TAB_TRY(order(s, m, a, &by, err));
        const char *table = quoted(a, s->ref->segment[1]);
        sql = table == NULL ? NULL : tab_arena_printf(a, "SELECT * FROM %s%s", table, by);
    }
    if (sql == NULL)
        return tab_no_memory(err);
    TAB_TRY(run(s, m, sql, strlen(sql), err));
    AUTO(result_freep) MYSQL_RES *r = mysql_use_result(m);
    if (r == NULL)
        return mysql_errno(m) != 0
                   ? failed(s, m, err)
                   : tab_fail(err, TAB_VALIDATION, "options.query", "The query returns no rows.");
    TAB_TRY(begin_columns(r, a, &t, err));
    TAB_TRY(fetch_all(s, m, r, a, &t, err));
    tab_column *col = tab_arena_new_of(a, tab_column, t.cols);
    tab_table *table = tab_arena_new_of(a, tab_table, 1);
    for (size_t i = 0; i < t.cols; i++) {
        if (col == NULL || table == NULL || !tab_builder_finish(t.b[i], &col[i]))
            return tab_no_memory(err);
        TAB_TRY(booleans(a, &t.field[i], t.rows, &col[i], err));
    }
    *table = (tab_table){ .id = tab_str_of(s->ref->segment[1]), .rows = t.rows, .cols = t.cols, .col = col };
    *ret = table;
    return TAB_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static tab_status statement(const source *s, MYSQL *m, const char *sql, tab_error *err)
{
    return sql == NULL ? tab_no_memory(err) : run(s, m, sql, strlen(sql), err);
}

/* Comment (NULL: there is no such table) and columns of the table. */
static tab_status look(const source *s, MYSQL *m, tab_arena *a, const char **ret_comment,
                       const char *const **ret_columns, size_t *ret_n, tab_error *err)
{
    const char *db = "", *table = "";
    TAB_TRY(escaped(m, a, tab_str_of(s->ref->segment[0]), &db, err));
    TAB_TRY(escaped(m, a, tab_str_of(s->ref->segment[1]), &table, err));
    TAB_TRY(
        statement(s, m,
                  tab_arena_printf(a,
                                   "SELECT t.table_comment, c.column_name FROM information_schema.tables t "
                                   "JOIN information_schema.columns c USING (table_schema, table_name) "
                                   "WHERE table_schema = '%s' AND table_name = '%s' "
                                   "ORDER BY c.ordinal_position",
                                   db, table),
                  err));
    AUTO(result_freep) MYSQL_RES *r = mysql_store_result(m);
    if (r == NULL)
        return failed(s, m, err);
    const char **columns = tab_arena_new_of(a, const char *, mysql_num_rows(r) + 1);
    *ret_comment = NULL;
    *ret_n = 0;
    for (MYSQL_ROW row; columns != NULL && (row = mysql_fetch_row(r)) != NULL;) {
        *ret_comment = tab_proto_text(a, row[0] == NULL ? "" : row[0]);
        columns[(*ret_n)++] = tab_proto_text(a, row[1] == NULL ? "" : row[1]);
    }
    *ret_columns = columns;
    return columns == NULL || tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

static tab_status create(const source *s, MYSQL *m, tab_arena *a, const char *name, const output *o,
                         const char *comment, tab_error *err)
{
    static const char *const types[] = {
        [CELLS_NUMBER] = "double", [CELLS_BOOL] = "boolean", [CELLS_TEXT] = "longtext"
    };
    const char *once = "", *sql = tab_arena_printf(a, "CREATE TABLE %s (", name);
    if (comment == NULL)
        return tab_no_memory(err);
    TAB_TRY(escaped(m, a, tab_str_of(comment), &once, err));
    for (size_t k = 0; k < o->table->cols && sql != NULL; k++) {
        const char *plain = tab_arena_copy(a, o->table->col[k].name).p;
        const char *column = plain == NULL ? NULL : quoted(a, plain);
        sql = column == NULL ? NULL
                             : tab_arena_printf(a, "%s%s%s %s", sql, k > 0 ? ", " : "", column,
                                                types[output_kind(o, k)]);
    }
    return statement(
        s, m,
        sql == NULL
            ? NULL
            : tab_arena_printf(a, "%s) ENGINE = InnoDB, CHARSET = utf8mb4, COMMENT = '%s'", sql, once),
        err);
}

static tab_status put_cell(MYSQL *m, tab_arena *a, tab_out *sql, const tab_column *c, cells_kind kind,
                           size_t row, tab_error *err)
{
    char digits[32];
    const char *text = "";
    tab_str x = cell_out(c, row, digits);
    bool quotes = x.p != NULL && kind == CELLS_TEXT;
    if (x.p == NULL)
        x = TAB_S("NULL");
    tab_out_bytes(sql, "'", quotes);
    if (quotes) {
        TAB_TRY(escaped(m, a, x, &text, err));
        x = tab_str_of(text);
    }
    tab_out_bytes(sql, x.p, x.n);
    tab_out_bytes(sql, "'", quotes);
    return sql->failed ? tab_no_memory(err) : TAB_OK;
}

static tab_status insert(const source *s, MYSQL *m, tab_arena *a, const char *name, const output *o,
                         const tab_table *t, tab_error *err)
{
    tab_out sql = { 0 };
    tab_status st = TAB_OK;
    for (size_t i = 0; i < t->rows && st == TAB_OK; i++) {
        if (sql.n == 0) {
            tab_out_bytes(&sql, "INSERT INTO ", 12);
            tab_out_bytes(&sql, name, strlen(name));
            tab_out_bytes(&sql, " VALUES ", 8);
        } else {
            tab_out_bytes(&sql, ",", 1);
        }
        for (size_t k = 0; k < t->cols && st == TAB_OK; k++) {
            tab_out_bytes(&sql, k == 0 ? "(" : ",", 1);
            st = put_cell(m, a, &sql, &t->col[k], output_kind(o, k), i, err);
        }
        tab_out_bytes(&sql, ")", 1);
        if (st == TAB_OK && (sql.n > INSERT_BYTES || i + 1 == t->rows)) {
            st = sql.failed ? tab_no_memory(err) : run(s, m, sql.p, sql.n, err);
            sql.n = 0;
        }
    }
    tab_out_free(&sql);
    return st;
}

/* All rows, as they come. */
static tab_status insert_all(const source *s, MYSQL *m, const char *name, const output *o, tab_error *err)
{
    bool first = true;
    for (const tab_table *t = o->table; t != NULL; first = false) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
        if (a == NULL)
            return tab_no_memory(err);
        if (!first)
            TAB_TRY(output_more(o, a, &t, err));
        if (t != NULL)
            TAB_TRY(insert(s, m, a, name, o, t, err));
    }
    return TAB_OK;
}

/* One writing of a table after the other: the table's lock, which ends with the connection. */
static tab_status lock(const source *s, MYSQL *m, tab_arena *a, tab_error *err)
{
    uint8_t hash[TAB_SHA256];
    char hex[2 * TAB_SHA256 + 1];
    tab_sha256(tab_str_of(s->ref->text), hash); /* a lock's name has 64 characters at most */
    tab_hex(hash, sizeof hash, hex);
    TAB_TRY(statement(s, m, tab_arena_printf(a, "SELECT GET_LOCK('tabella_%.48s', 600)", hex), err));
    AUTO(result_freep) MYSQL_RES *r = mysql_store_result(m);
    MYSQL_ROW row = r == NULL ? NULL : mysql_fetch_row(r);
    return row != NULL && row[0] != NULL && row[0][0] == '1'
               ? TAB_OK
               : tab_fail(err, TAB_UNAVAILABLE, "", "Another run is writing to this table; try again.");
}

/* A statement that makes a table commits by itself here. So the table is made and filled under a name of the
 * run's own (with the rows that it is to be added to), and takes the wanted name at last, in one step with
 * that which had it; it fails where somebody else has taken it. */
static tab_status write_mysql(const source *s, tab_arena *a, const output *o, tab_error *err)
{
    AUTO(mysql_freep) MYSQL *m = NULL;
    const char *comment = NULL, *const *columns = NULL;
    size_t n = 0;
    bool done;
    TAB_TRY(dial(s, &m, err));
    if (!o->check)
        TAB_TRY(lock(s, m, a, err));
    TAB_TRY(look(s, m, a, &comment, &columns, &n, err));
    TAB_TRY(output_may(o, comment, columns, n, &done, err));
    if (o->check || done)
        return TAB_OK;
    const char *own = tab_arena_printf(a, "tabella_%s", o->once), *gone = tab_arena_printf(a, "%s_old", own);
    const char *name = own == NULL ? NULL : quoted(a, own), *last = quoted(a, s->ref->segment[1]);
    const char *old = gone == NULL ? NULL : quoted(a, gone);
    if (name == NULL || last == NULL || old == NULL)
        return tab_no_memory(err);
    const char *drop = tab_arena_printf(a, "DROP TABLE IF EXISTS %s, %s", name, old);
    TAB_TRY(statement(s, m, drop, err)); /* of an attempt that died */
    tab_status st = create(s, m, a, name, o, output_comment(o, a, comment), err);
    if (st == TAB_OK && comment != NULL && o->mode == OUT_APPEND)
        st = statement(s, m, tab_arena_printf(a, "INSERT INTO %s SELECT * FROM %s", name, last), err);
    if (st == TAB_OK)
        st = insert_all(s, m, name, o, err);
    if (st == TAB_OK && comment == NULL)
        st = statement(s, m, tab_arena_printf(a, "RENAME TABLE %s TO %s", name, last), err);
    else if (st == TAB_OK)
        st = statement(s, m, tab_arena_printf(a, "RENAME TABLE %s TO %s, %s TO %s", last, old, name, last),
                       err);
    if (st != TAB_OK || comment != NULL)
        (void)mysql_query(m, drop);
    return st;
}

#define MYSQL(text)                                                                                      \
    {                                                                                                    \
        .scheme = text, .port = 3306, .least = 2, .most = 2, .credentials = members, .options = options, \
        .read = read_mysql, .write = write_mysql                                                         \
    }
const provider provider_mysql = MYSQL("mysql"), provider_mariadb = MYSQL("mariadb");
