/* What a driver of ODBC reaches: odbc://NAME/table, NAME/schema/table, NAME/catalog/schema/table. NAME is an
 * entry of the operator's odbc.ini (TAB_ODBC), which says the driver, the server and its TLS
 * (decision 0368).
 *
 * A caller gives names and a login, never a part of a connection string: in one, DRIVER= loads any library by
 * its path. So the entry must be there, and SQLConnect takes it, user and password as values of their own.
 * Tables and views are read, no queries: what one statement is in a driver's dialect is not known here, and
 * MariaDB's driver would send local files for one. Rows come ordered by the primary key where there is one.
 * A driver that hangs is ended with its process, from outside (child.h). */
#include <sql.h>
#include <sqlext.h>
#include <sqlucode.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json/json.h"
#include "services/data-connector/data.h"
#include "services/data-connector/source/cells.h"
#include "services/data-connector/source/source.h"

enum { NAME_UNITS = 512, TEXT_UNITS = 8192, KEYS = 16 };

static const char *const members[] = { "user", "password", NULL }, *const options[] = { NULL };

typedef struct {
    const source *s;
    tab_arena *a;
    SQLHENV env;
    SQLHDBC link;
    SQLHSTMT rows;
    const char *catalog, *schema, *table; /* NULL: none */
    int64_t left;                         /* bytes that may still come */
    SQLWCHAR *text;                       /* (CELL_BYTES) of a cell */
} session;

typedef enum { COLUMN_NUMBER, COLUMN_DOUBLE, COLUMN_BIT, COLUMN_TIME, COLUMN_BYTES, COLUMN_TEXT } column_kind;

typedef struct {
    column_kind kind;
    tab_builder *b;
} column;

static bool good(SQLRETURN r)
{
    return r == SQL_SUCCESS || r == SQL_SUCCESS_WITH_INFO;
}

/* ---- the operator's list ------------------------------------------------------------------------- */

static bool listed(const char *path, const char *name)
{
    char line[1024];
    bool found = false;
    size_t n = strlen(name);
    FILE *f = path[0] != '\0' ? fopen(path, "re") : NULL;
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
        found = line[0] == '[' && strncmp(line + 1, name, n) == 0 && line[1 + n] == ']';
    if (f != NULL)
        fclose(f);
    return found;
}

/* ---- errors -------------------------------------------------------------------------------------- */

/* Why a step failed: the state decides our sentence; the driver's text is only looked at, never shown. */
static tab_status failed(const session *c, SQLSMALLINT type, SQLHANDLE h, const char *what, tab_error *err)
{
    SQLCHAR state[6] = "", text[1024] = "";
    SQLINTEGER native = 0;
    SQLSMALLINT n = 0;
    if (!good(SQLGetDiagRec(type, h, 1, state, &native, text, sizeof text, &n)) ||
        strspn((char *)state, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 5)
        memcpy(state, "HY000", 6);
    const char *said = (char *)text, *code = (char *)state;
    bool connecting = type == SQL_HANDLE_DBC;
    if (guard_spent())
        return source_too_large(err);
    if (source_left_ms(c->s, 1) == 0 || strncmp(code, "HYT", 3) == 0)
        return source_too_late(err);
    if (strncmp(code, "28", 2) == 0 ||
        (connecting &&
         (strstr(said, "authentication failed") != NULL || strstr(said, "password supplied") != NULL ||
          (strstr(said, "role ") != NULL && strstr(said, "does not exist") != NULL))))
        return source_refuses_login(err);
    if (strncmp(code, "IM", 2) == 0 || (connecting && strcmp(code, "01000") == 0))
        return tab_fail(err, TAB_VALIDATION, "source",
                        "This installation cannot load the driver for the source (SQLSTATE %s).", code);
    if (connecting)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source does not answer (SQLSTATE %s).", code);
    if (strcmp(code, "42501") == 0)
        return source_grants_nothing(err);
    if (strncmp(code, "42", 2) == 0 || strncmp(code, "3D", 2) == 0 || strncmp(code, "3F", 2) == 0)
        return tab_fail(err, TAB_VALIDATION, "source", "The source has no such table (SQLSTATE %s).", code);
    return tab_fail(err, TAB_UNAVAILABLE, "", "The source failed while %s (SQLSTATE %s).", what, code);
}

/* ---- connecting ---------------------------------------------------------------------------------- */

static SQLPOINTER as_pointer(uintptr_t x)
{
    return (SQLPOINTER)x; /* as ODBC takes numbers */
}

static tab_status dial(session *c, tab_error *err)
{
    const source *s = c->s;
    const char *user = credential(s, "user"), *password = credential(s, "password");
    if (!listed(s->odbc, s->ref->host))
        return tab_fail(err, TAB_VALIDATION, "source",
                        "This installation has no ODBC source with that name.");
    /* drivers convert texts by the locale, which psqlodbc takes from there */
    if (setenv("LC_ALL", "C.UTF-8", 1) != 0 || setenv("ODBCINI", s->odbc, 1) != 0 ||
        !good(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &c->env)) ||
        !good(SQLSetEnvAttr(c->env, SQL_ATTR_ODBC_VERSION, as_pointer(SQL_OV_ODBC3), 0)) ||
        !good(SQLAllocHandle(SQL_HANDLE_DBC, c->env, &c->link)))
        return tab_no_memory(err);
    (void)SQLSetConnectAttr(c->link, SQL_ATTR_LOGIN_TIMEOUT, as_pointer((uintptr_t)s->connect_s), 0);
    (void)SQLSetConnectAttr(c->link, SQL_ATTR_ACCESS_MODE, as_pointer(SQL_MODE_READ_ONLY), 0);
    if (!good(SQLConnect(c->link, (SQLCHAR *)s->ref->host, SQL_NTS, (SQLCHAR *)user, SQL_NTS,
                         (SQLCHAR *)password, SQL_NTS)))
        return failed(c, SQL_HANDLE_DBC, c->link, "connecting", err);
    if (!good(SQLAllocHandle(SQL_HANDLE_STMT, c->link, &c->rows)))
        return failed(c, SQL_HANDLE_DBC, c->link, "connecting", err);
    (void)SQLSetStmtAttr(c->rows, SQL_ATTR_QUERY_TIMEOUT,
                         as_pointer((uintptr_t)(source_left_ms(s, 3600000) / 1000 + 1)), 0);
    return TAB_OK;
}

static void hang_up(session *c)
{
    if (c->rows != NULL)
        SQLFreeHandle(SQL_HANDLE_STMT, c->rows);
    if (c->link != NULL) {
        SQLDisconnect(c->link);
        SQLFreeHandle(SQL_HANDLE_DBC, c->link);
    }
    if (c->env != NULL)
        SQLFreeHandle(SQL_HANDLE_ENV, c->env);
    free(c->text);
}

/* ---- the statement ------------------------------------------------------------------------------- */

static const char *told(session *c, SQLUSMALLINT what)
{
    char text[64] = "";
    SQLSMALLINT n = 0;
    if (!good(SQLGetInfo(c->link, what, text, sizeof text, &n)))
        text[0] = '\0';
    return tab_arena_copy(c->a, tab_str_of(text)).p;
}

static SQLUINTEGER flags(session *c, SQLUSMALLINT what)
{
    SQLUINTEGER x = 0;
    SQLSMALLINT n = 0;
    return good(SQLGetInfo(c->link, what, &x, sizeof x, &n)) ? x : 0;
}

/* What the parts of the path are in this driver: two are a schema and a table, or where there are no schemas
 * a catalog and a table. */
static tab_status name_parts(session *c, tab_error *err)
{
    const source_ref *r = c->s->ref;
    bool schemas = flags(c, SQL_SCHEMA_USAGE) != 0, catalogs = flags(c, SQL_CATALOG_USAGE) != 0;
    c->table = r->segment[r->segments - 1];
    if (r->segments == 2)
        *(schemas ? &c->schema : &c->catalog) = r->segment[0];
    if (r->segments == 3) {
        c->catalog = r->segment[0];
        c->schema = r->segment[1];
    }
    if ((c->catalog != NULL && !catalogs) || (c->schema != NULL && !schemas))
        return tab_fail(err, TAB_VALIDATION, "source",
                        "Tables of this source are named with fewer parts; it has %s.",
                        catalogs  ? "catalogs and no schemas"
                        : schemas ? "schemas and no catalogs"
                                  : "neither catalogs nor schemas");
    return TAB_OK;
}

/* A name between the driver's quotes, those in it doubled. A driver without quotes takes plain names only. */
static tab_status quoted(session *c, const char *name, const char **ret, tab_error *err)
{
    const char *quote = told(c, SQL_IDENTIFIER_QUOTE_CHAR);
    tab_out o = { 0 };
    bool none = quote == NULL || quote[0] == '\0' || quote[0] == ' ';
    if (none &&
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != strlen(name))
        return tab_fail(err, TAB_VALIDATION, "source",
                        "Names at this source can only have letters, digits and _.");
    for (size_t i = 0, n = strlen(name); i < n + 2; i++) {
        bool edge = i == 0 || i == n + 1;
        if (edge && !none)
            tab_out_bytes(&o, quote, 1);
        if (!edge && !none && name[i - 1] == quote[0])
            tab_out_bytes(&o, quote, 1);
        if (!edge)
            tab_out_bytes(&o, name + i - 1, 1);
    }
    *ret = o.failed ? NULL : tab_arena_copy(c->a, tab_out_text(&o)).p;
    tab_out_free(&o);
    return *ret != NULL ? TAB_OK : tab_no_memory(err);
}

/* " ORDER BY ..." of the primary key, in its order; "" where there is none, or the driver does not tell. */
static tab_status order(session *c, const char **ret, tab_error *err)
{
    const char *key[KEYS] = { NULL };
    SQLCHAR name[NAME_UNITS];
    SQLSMALLINT at = 0;
    SQLLEN n = 0, m = 0;
    size_t keys = 0;
    SQLCHAR *of[] = { (SQLCHAR *)c->catalog, (SQLCHAR *)c->schema, (SQLCHAR *)c->table };
    *ret = "";
    if (good(SQLPrimaryKeys(c->rows, of[0], of[0] != NULL ? SQL_NTS : 0, of[1], of[1] != NULL ? SQL_NTS : 0,
                            of[2], SQL_NTS)))
        while (good(SQLFetch(c->rows)))
            if (good(SQLGetData(c->rows, 4, SQL_C_CHAR, name, sizeof name, &n)) && n > 0 &&
                (size_t)n < sizeof name && good(SQLGetData(c->rows, 5, SQL_C_SSHORT, &at, 0, &m)) && at > 0 &&
                at <= KEYS && ++keys <= KEYS)
                key[at - 1] = tab_arena_copy(c->a, (tab_str){ (char *)name, (size_t)n }).p;
    (void)SQLFreeStmt(c->rows, SQL_CLOSE);
    for (size_t k = 0; k < keys && k < KEYS && key[k] != NULL && *ret != NULL; k++) {
        const char *q;
        TAB_TRY(quoted(c, key[k], &q, err));
        *ret = tab_arena_printf(c->a, "%s%s%s", *ret, k == 0 ? " ORDER BY " : ", ", q);
    }
    return *ret != NULL ? TAB_OK : tab_no_memory(err);
}

static tab_status statement(session *c, const char **ret, tab_error *err)
{
    const char *parts[] = { c->catalog, c->schema, c->table }, *from = "", *by, *q;
    for (size_t i = 0; i < 3 && from != NULL; i++) {
        if (parts[i] == NULL)
            continue;
        TAB_TRY(quoted(c, parts[i], &q, err));
        from = tab_arena_printf(c->a, "%s%s%s", from, from[0] == '\0' ? "" : ".", q);
    }
    TAB_TRY(order(c, &by, err));
    *ret = from == NULL ? NULL : tab_arena_printf(c->a, "SELECT * FROM %s%s", from, by);
    return *ret != NULL ? TAB_OK : tab_no_memory(err);
}

/* ---- cells --------------------------------------------------------------------------------------- */

static column_kind kind_of(SQLSMALLINT type)
{
    switch (type) {
    case SQL_TINYINT:
    case SQL_SMALLINT:
    case SQL_INTEGER:
    case SQL_BIGINT:
    case SQL_DECIMAL:
    case SQL_NUMERIC:
        return COLUMN_NUMBER;
    case SQL_REAL:
    case SQL_FLOAT:
    case SQL_DOUBLE:
        return COLUMN_DOUBLE;
    case SQL_BIT:
        return COLUMN_BIT;
    case SQL_TYPE_DATE:
    case SQL_TYPE_TIMESTAMP:
        return COLUMN_TIME;
    case SQL_BINARY:
    case SQL_VARBINARY:
    case SQL_LONGVARBINARY:
        return COLUMN_BYTES;
    default:
        return COLUMN_TEXT;
    }
}

/* UTF-16 to UTF-8; what is half of a pair is U+FFFD. */
static tab_str utf8_of(const SQLWCHAR *u, size_t n, char *out)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t x = u[i];
        bool high = x >= 0xD800 && x < 0xDC00,
             pair = high && i + 1 < n && u[i + 1] >= 0xDC00 && u[i + 1] < 0xE000;
        if (pair)
            x = 0x10000 + ((x - 0xD800) << 10) + (uint32_t)(u[++i] - 0xDC00);
        else if (x >= 0xD800 && x < 0xE000)
            x = 0xFFFD;
        m += tab_utf8_put(x, out + m);
    }
    return (tab_str){ out, m };
}

static void add_utf16(session *c, tab_builder *b, size_t n)
{
    char small[3 * 256], *out = n <= 256 ? small : malloc(3 * n);
    if (out == NULL)
        return; /* the row is short of a cell, which finish tells */
    tab_str s = utf8_of(c->text, n, out);
    if (cell_is_text(s.p, s.n))
        cell_text(b, s.p, s.n);
    else
        cell_size(b, "bytes", s.n);
    if (out != small)
        free(out);
}

/* A text of any length, in pieces; what is beyond a cell's bytes is left there. */
static SQLRETURN add_text(session *c, SQLUSMALLINT k, tab_builder *b)
{
    size_t n = 0;
    SQLLEN m = 0;
    SQLRETURN r = SQL_SUCCESS_WITH_INFO;
    while (n + TEXT_UNITS < CELL_BYTES) {
        r = SQLGetData(c->rows, k, SQL_C_WCHAR, c->text + n, TEXT_UNITS * sizeof *c->text, &m);
        if (r == SQL_NO_DATA || !good(r))
            break;
        if (m == SQL_NULL_DATA) {
            tab_builder_null(b);
            return r;
        }
        bool more = m == SQL_NO_TOTAL || m >= (SQLLEN)(TEXT_UNITS * sizeof *c->text);
        n += more ? TEXT_UNITS - 1 : m > 0 ? (size_t)m / sizeof *c->text : 0;
        if (!more)
            break;
    }
    c->left -= (int64_t)n;
    if (r != SQL_NO_DATA && !good(r))
        return r;
    add_utf16(c, b, n);
    return SQL_SUCCESS;
}

static SQLRETURN add_bytes(session *c, SQLUSMALLINT k, tab_builder *b)
{
    size_t n = 0, most = TEXT_UNITS * sizeof *c->text;
    SQLLEN m = 0;
    SQLRETURN r;
    while (good(r = SQLGetData(c->rows, k, SQL_C_BINARY, c->text, (SQLLEN)most, &m)) && m != SQL_NULL_DATA) {
        bool more = m == SQL_NO_TOTAL || m > (SQLLEN)most;
        n += m == SQL_NO_TOTAL ? most : m > 0 ? (size_t)m : 0; /* the first call tells all of it */
        if (!more || m != SQL_NO_TOTAL)
            break;
    }
    c->left -= (int64_t)n;
    if (r != SQL_NO_DATA && !good(r))
        return r;
    if (m == SQL_NULL_DATA)
        tab_builder_null(b);
    else
        cell_size(b, "bytes", n);
    return SQL_SUCCESS;
}

static SQLRETURN add_cell(session *c, SQLUSMALLINT k, const column *col)
{
    char text[128];
    double x = 0;
    SQLLEN n = 0;
    bool real = col->kind == COLUMN_DOUBLE, bit = col->kind == COLUMN_BIT;
    if (col->kind == COLUMN_TEXT)
        return add_text(c, k, col->b);
    if (col->kind == COLUMN_BYTES)
        return add_bytes(c, k, col->b);
    SQLRETURN r = real  ? SQLGetData(c->rows, k, SQL_C_DOUBLE, &x, sizeof x, &n)
                  : bit ? SQLGetData(c->rows, k, SQL_C_BIT, text, 1, &n)
                        : SQLGetData(c->rows, k, SQL_C_CHAR, text, sizeof text, &n);
    if (!good(r))
        return r;
    c->left -= n > 0 ? (int64_t)n : 0;
    if (n == SQL_NULL_DATA || (!real && (n <= 0 || (size_t)n >= sizeof text)))
        tab_builder_null(col->b);
    else if (real)
        cell_double(col->b, x);
    else if (col->kind == COLUMN_BIT)
        tab_builder_bool(col->b, text[0] != 0);
    else if (col->kind == COLUMN_TIME)
        cell_time(col->b, text, (size_t)n, false);
    else
        cell_number(col->b, text, (size_t)n);
    return SQL_SUCCESS;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static tab_status begin_columns(session *c, SQLSMALLINT n, column *col, tab_error *err)
{
    for (SQLSMALLINT k = 0; k < n; k++) {
        SQLWCHAR name[NAME_UNITS];
        char text[3 * NAME_UNITS];
        SQLSMALLINT length = 0, type = 0, digits = 0, nullable = 0;
        SQLULEN size = 0;
        if (!good(SQLDescribeColW(c->rows, (SQLUSMALLINT)(k + 1), name, NAME_UNITS, &length, &type, &size,
                                  &digits, &nullable)))
            return failed(c, SQL_HANDLE_STMT, c->rows, "describing columns", err);
        size_t units = length < 0 ? 0 : length < NAME_UNITS ? (size_t)length : NAME_UNITS - 1;
        col[k].kind = kind_of(type);
        col[k].b = tab_builder_new(c->a, tab_arena_copy(c->a, utf8_of(name, units, text)));
        if (col[k].b == NULL)
            return tab_no_memory(err);
    }
    return TAB_OK;
}

static tab_status fetch_all(session *c, size_t cols, const column *col, size_t *ret_rows, tab_error *err)
{
    SQLRETURN r;
    size_t rows = 0;
    while (good(r = SQLFetch(c->rows))) {
        for (size_t k = 0; k < cols; k++)
            if (!good(add_cell(c, (SQLUSMALLINT)(k + 1), &col[k])))
                return failed(c, SQL_HANDLE_STMT, c->rows, "reading rows", err);
        if (++rows > DATA_MOST_CELLS / cols)
            return tab_fail(err, TAB_VALIDATION, "source", "A table can have at most %d cells.",
                            DATA_MOST_CELLS);
        if (c->left < 0)
            return source_too_large(err);
        if (tab_arena_full(c->a))
            return tab_fail(err, TAB_INTERNAL, "", "the table does not fit in memory");
    }
    *ret_rows = rows;
    return r == SQL_NO_DATA ? TAB_OK : failed(c, SQL_HANDLE_STMT, c->rows, "reading rows", err);
}

static tab_status read_table(session *c, const tab_table **ret, tab_error *err)
{
    const char *sql;
    SQLSMALLINT n = 0;
    size_t rows = 0;
    TAB_TRY(dial(c, err));
    TAB_TRY(name_parts(c, err));
    TAB_TRY(statement(c, &sql, err));
    if (!good(SQLExecDirect(c->rows, (SQLCHAR *)sql, SQL_NTS)))
        return failed(c, SQL_HANDLE_STMT, c->rows, "reading the table", err);
    if (!good(SQLNumResultCols(c->rows, &n)) || n < 1 || n > DATA_MOST_COLS)
        return tab_fail(err, TAB_VALIDATION, "source", "A table must have 1 to %d columns.", DATA_MOST_COLS);
    column *col = tab_arena_new_of(c->a, column, (size_t)n);
    tab_column *made = tab_arena_new_of(c->a, tab_column, (size_t)n);
    tab_table *t = tab_arena_new_of(c->a, tab_table, 1);
    c->text = malloc(CELL_BYTES * sizeof *c->text);
    if (col == NULL || made == NULL || t == NULL || c->text == NULL)
        return tab_no_memory(err);
    TAB_TRY(begin_columns(c, n, col, err));
    TAB_TRY(fetch_all(c, (size_t)n, col, &rows, err));
    for (size_t k = 0; k < (size_t)n; k++)
        if (tab_builder_rows(col[k].b) != rows || !tab_builder_finish(col[k].b, &made[k]))
            return tab_no_memory(err);
    *t = (tab_table){ .id = tab_str_of(c->table), .rows = rows, .cols = (size_t)n, .col = made };
    *ret = t;
    return TAB_OK;
}

static tab_status read_odbc(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    session c = { .s = s, .a = a, .left = s->read_mib << 20 };
    tab_status st = read_table(&c, ret, err);
    hang_up(&c);
    return st;
}

const provider provider_odbc = { .scheme = "odbc",
                                 .least = 1,
                                 .most = 3,
                                 .by_name = true,
                                 .cased = true,
                                 .credentials = members,
                                 .options = options,
                                 .read = read_odbc };
