/* See file_table.h. The file was written by somebody else: it is opened from memory, read-only, with the
 * functions, virtual tables and views of its own schema held back (sqlite.org/security.html), and what it may
 * do is a list of four actions. */
#include <sqlite3.h>
#include <stdio.h>

#include "services/data-connector/data.h"
#include "services/data-connector/providers/file_table.h"
#include "services/data-connector/source/cells.h"

enum { TABLES_NAMED = 8, PROGRESS_STEPS = 10000 };

static int only_reads(void *arg, int action, const char *a, const char *function, const char *c,
                      const char *d)
{
    (void)arg, (void)a, (void)c, (void)d;
    if (action == SQLITE_FUNCTION)
        return strcmp(function, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE ? SQLITE_OK
                                                                                          : SQLITE_DENY;
}

static int late(void *arg)
{
    const source *s = arg;
    return *s->cancel || tab_left_ms(s->deadline, 1) == 0;
}

static tab_status failed(const source *s, sqlite3 *db, tab_error *err)
{
    switch (sqlite3_errcode(db)) {
    case SQLITE_INTERRUPT:
        return tab_fail(err, TAB_CANCELLED, "", "Reading the source took too long.");
    case SQLITE_NOMEM:
        return tab_no_memory(err);
    default:
        (void)s;
        return tab_fail(err, TAB_VALIDATION, "source",
                        "The SQLite database is damaged or of a newer version.");
    }
}

/* The table to read: the one that was named, or the only one. */
static tab_status choose(const source *s, sqlite3 *db, tab_arena *a, const char **ret, tab_error *err)
{
    static const char sql[] = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name";
    sqlite3_stmt *q;
    size_t n = 0;
    char all[200] = "";
    bool found = false;
    int e;
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
        return failed(s, db, err);
    while ((e = sqlite3_step(q)) == SQLITE_ROW && !found) {
        const char *name = (const char *)sqlite3_column_text(q, 0);
        size_t used = strlen(all);
        if (name == NULL || !cell_is_text(name, strlen(name)) || strncmp(name, "sqlite_", 7) == 0)
            continue;
        found = strcmp(name, s->sheet) == 0;
        if (n++ == 0 || found)
            *ret = tab_arena_copy(a, tab_str_of(name)).p;
        if (n <= TABLES_NAMED)
            snprintf(all + used, sizeof all - used, "%s%.40s", used > 0 ? ", " : "", name);
    }
    sqlite3_finalize(q);
    if (e != SQLITE_DONE && e != SQLITE_ROW)
        return failed(s, db, err);
    if (n == 0)
        return tab_fail(err, TAB_VALIDATION, "source", "The SQLite database has no tables.");
    if (found || (n == 1 && s->sheet[0] == '\0'))
        return *ret == NULL ? tab_no_memory(err) : TAB_OK;
    return tab_fail(
        err, TAB_VALIDATION, "options.sheet",
        s->sheet[0] != '\0'
            ? "The database has no such table; its tables are %s."
            : "The database has several tables and a connection reads one; choose it with `sheet` from %s.",
        all);
}

static void add(tab_builder *b, sqlite3_stmt *q, int k)
{
    int64_t x;
    char digits[24];
    size_t n = (size_t)sqlite3_column_bytes(q, k);
    const char *p;
    switch (sqlite3_column_type(q, k)) {
    case SQLITE_INTEGER:
        x = sqlite3_column_int64(q, k);
        cell_number(b, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)x));
        break;
    case SQLITE_FLOAT:
        cell_double(b, sqlite3_column_double(q, k));
        break;
    case SQLITE_TEXT:
        p = (const char *)sqlite3_column_text(q, k);
        n = (size_t)sqlite3_column_bytes(q, k);
        if (p != NULL && cell_is_text(p, n))
            cell_text(b, p, n);
        else
            cell_size(b, "bytes", n);
        break;
    case SQLITE_BLOB:
        cell_size(b, "bytes", n);
        break;
    default:
        tab_builder_null(b);
    }
}

static tab_status read_rows(const source *s, sqlite3 *db, sqlite3_stmt *q, tab_arena *a, tab_str id,
                            const tab_table **ret, tab_error *err)
{
    size_t cols = (size_t)sqlite3_column_count(q), rows = 0;
    int e;
    if (cols == 0 || cols > DATA_MOST_COLS)
        return tab_fail(err, TAB_VALIDATION, "source", "A table must have 1 to %d columns.", DATA_MOST_COLS);
    tab_builder **b = tab_arena_new_of(a, tab_builder *, cols);
    tab_column *col = tab_arena_new_of(a, tab_column, cols);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    for (size_t k = 0; k < cols && b != NULL; k++) {
        const char *name = sqlite3_column_name(q, (int)k);
        if (name == NULL || !cell_is_text(name, strlen(name)))
            return tab_fail(err, TAB_VALIDATION, "source", "The name of a column is not UTF-8.");
        b[k] = tab_builder_new(a, tab_arena_copy(a, tab_str_of(name)));
    }
    if (tab_arena_full(a))
        return tab_no_memory(err);
    while ((e = sqlite3_step(q)) == SQLITE_ROW) {
        for (size_t k = 0; k < cols; k++)
            add(b[k], q, (int)k);
        if (++rows > DATA_MOST_CELLS / cols)
            return tab_fail(err, TAB_VALIDATION, "source", "A table can have at most %d cells.",
                            DATA_MOST_CELLS);
        if (tab_arena_full(a))
            return tab_no_memory(err);
    }
    if (e != SQLITE_DONE)
        return failed(s, db, err);
    for (size_t k = 0; k < cols; k++)
        if (!tab_builder_finish(b[k], &col[k]))
            return tab_no_memory(err);
    *t = (tab_table){ .id = id, .rows = rows, .cols = cols, .col = col };
    *ret = t;
    return TAB_OK;
}

static tab_status read_named(const source *s, sqlite3 *db, tab_arena *a, const char *table,
                             const tab_table **ret, tab_error *err)
{
    sqlite3_stmt *q = NULL;
    char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
    if (sql == NULL)
        return tab_no_memory(err);
    int e = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    sqlite3_free(sql);
    tab_status st = e == SQLITE_OK ? read_rows(s, db, q, a, tab_str_of(table), ret, err) : failed(s, db, err);
    sqlite3_finalize(q);
    return st;
}

/* Names of its own tables, in their order; what another program's code would have to make is none of them. */
static tab_status list(const source *s, sqlite3 *db, tab_arena *a, size_t most, tab_str *ret, size_t *ret_n,
                       tab_error *err)
{
    static const char sql[] =
        "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name";
    sqlite3_stmt *q;
    int e;
    *ret_n = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
        return failed(s, db, err);
    while ((e = sqlite3_step(q)) == SQLITE_ROW && *ret_n < most) {
        const char *name = (const char *)sqlite3_column_text(q, 0);
        if (name != NULL && cell_is_text(name, strlen(name)) && strncmp(name, "sqlite_", 7) != 0)
            ret[(*ret_n)++] = tab_arena_copy(a, tab_str_of(name));
    }
    sqlite3_finalize(q);
    if (e == SQLITE_ROW)
        return tab_fail(err, TAB_VALIDATION, "", "the database has more than %zu tables", most);
    if (e != SQLITE_DONE)
        return failed(s, db, err);
    return *ret_n > 0 ? TAB_OK : tab_fail(err, TAB_VALIDATION, "", "the database has no tables");
}

static tab_status read_all(const source *s, sqlite3 *db, tab_arena *a, size_t most, tab_file *ret,
                           tab_error *err)
{
    tab_str *name = tab_arena_new_of(a, tab_str, most);
    const tab_table **table = tab_arena_new_of(a, const tab_table *, most);
    tab_str *reading = tab_arena_new_of(a, tab_str, most);
    uint64_t cells = 0;
    size_t n = 0;
    if (name == NULL || table == NULL || reading == NULL)
        return tab_no_memory(err);
    TAB_TRY(list(s, db, a, most, name, &n, err));
    for (size_t i = 0; i < n; i++) {
        const tab_table *t = NULL;
        TAB_TRY(read_named(s, db, a, name[i].p, &t, err));
        cells += (uint64_t)t->rows * t->cols;
        if (cells > DATA_MOST_CELLS)
            return tab_fail(err, TAB_VALIDATION, "", "it has more than %d cells", DATA_MOST_CELLS);
        tab_table *named = tab_arena_new_of(a, tab_table, 1);
        char *id = (char *)(uintptr_t)tab_arena_copy(a, name[i]).p;
        if (named == NULL || id == NULL)
            return tab_no_memory(err);
        for (char *dot = id; (dot = strchr(dot, '.')) != NULL;)
            *dot = '_'; /* an id holds none */
        *named = *t;
        named->id = tab_str_of(id);
        table[i] = named;
        reading[i] = TAB_S("{\"format\":\"sqlite\",\"skipped\":[]}");
    }
    *ret = (tab_file){ .table = table, .sheet = name, .reading = reading, .n = n };
    return TAB_OK;
}

static tab_status opened(const source *s, tab_str bytes, sqlite3 **ret, tab_error *err)
{
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        sqlite3_close(db);
        return tab_no_memory(err);
    }
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 64 << 20);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
    sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 25000);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_progress_handler(db, PROGRESS_STEPS, late, (void *)(uintptr_t)s);
    if (sqlite3_deserialize(db, "main", (unsigned char *)(uintptr_t)bytes.p, (sqlite3_int64)bytes.n,
                            (sqlite3_int64)bytes.n, SQLITE_DESERIALIZE_READONLY) == SQLITE_OK &&
        sqlite3_set_authorizer(db, only_reads, NULL) == SQLITE_OK) {
        *ret = db;
        return TAB_OK;
    }
    tab_status st = failed(s, db, err);
    sqlite3_close(db);
    return st;
}

tab_status sqlite_table(const source *s, tab_arena *a, tab_str bytes, tab_str id, const tab_table **ret,
                        tab_error *err)
{
    sqlite3 *db = NULL;
    const char *table = NULL;
    (void)id; /* the table has a name of its own */
    TAB_TRY(opened(s, bytes, &db, err));
    tab_status st = choose(s, db, a, &table, err);
    if (st == TAB_OK)
        st = read_named(s, db, a, table, ret, err);
    sqlite3_close(db);
    return st;
}

tab_status sqlite_tables(const source *s, tab_arena *a, tab_str bytes, size_t most, tab_file *ret,
                         tab_error *err)
{
    sqlite3 *db = NULL;
    TAB_TRY(opened(s, bytes, &db, err));
    tab_status st = read_all(s, db, a, most, ret, err);
    sqlite3_close(db);
    return st;
}

bool sqlite_is(tab_str bytes)
{
    return bytes.n >= 16 && memcmp(bytes.p, "SQLite format 3", 16) == 0;
}
