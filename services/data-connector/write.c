/* Write: what a run leaves at a source (decision 0327).
 *
 * `out` is {connection id}/path, or a ref; the connection was registered with options.write. It reaches
 * what lies beside its own source: the folder of its file, the schema or database of its table. Nothing
 * else there is changed: of tables that are there only those that runs wrote are added to or replaced, where
 * the run says so (0397), and a file is put whole. */
#include <stdio.h>
#include <strings.h>

#include "common/base/proto.h"
#include "common/table/table_wire.h"
#include "proto/jobs.pb-c.h"
#include "services/data-connector/connection.h"

enum { ROWS_MS = 60000 };

static tab_status bad_out(tab_error *err, tab_status s, const char *why)
{
    return tab_fail(err, s, "options.out", "%s", why);
}

static tab_status only_read(tab_error *err)
{
    return bad_out(
        err, TAB_AUTH_SCOPE,
        "This connection is read-only. Register its source with options.write: true (POST /v2/data/connect, "
        "with a key that has the scope manage) and name that connection.");
}

/* The connection that covers a ref: of several, the one whose place is the longest. AUTH_SCOPE where only
 * connections that are read do; NULL where none does. */
static tab_status covering(tab_tx *tx, tab_call *call, const char *text, const char **ret_id, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    size_t longest = 0;
    bool read = false;
    *ret_id = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT id, source, writable FROM data_connector.connection WHERE org = $1 "
                         "ORDER BY created, id",
                         TAB_P(tab_p_text(call->org))));
    for (size_t i = 0; i < tab_rows_count(r); i++) {
        const char *from = tab_rows_text(r, i, 1);
        size_t n = ref_location(from);
        bool covers = n > 0 && strncmp(text, from, n) == 0;
        read = read || covers;
        if (covers && n > longest && tab_rows_bool(r, i, 2)) {
            longest = n;
            *ret_id = tab_proto_text(call->arena, tab_rows_text(r, i, 0));
        }
    }
    return *ret_id == NULL && read ? only_read(err) : TAB_OK;
}

/* "{connection id}/path": the ref below it, not parsed yet. */
static tab_status below(tab_tx *tx, tab_call *call, const char *out, const char **ret_id,
                        const char **ret_text, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    const char *slash = strchr(out, '/');
    if (slash == NULL || slash[1] == '\0')
        return bad_out(err, TAB_VALIDATION, "`options.out` must be {connection id}/path or a ref.");
    *ret_id = tab_arena_copy(call->arena, (tab_str){ out, (size_t)(slash - out) }).p;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT source, writable FROM data_connector.connection WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(*ret_id))));
    if (tab_rows_count(r) == 0)
        return bad_out(err, TAB_NOT_FOUND, "There is no such connection; `GET /v2/data` lists them.");
    if (!tab_rows_bool(r, 0, 1))
        return only_read(err);
    const char *from = tab_rows_text(r, 0, 0);
    *ret_text = tab_arena_printf(call->arena, "%.*s%s", (int)ref_location(from), from, slash + 1);
    return *ret_text == NULL ? tab_no_memory(err) : TAB_OK;
}

static bool ends_in(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n > m && strcasecmp(text + n - m, ending) == 0;
}

typedef struct {
    source_ref ref;
    const char *connection, *kind;
} target;

static tab_status find_target(data_service *self, tab_call *call, const char *out, target *ret,
                              tab_error *err)
{
    static const char none[] = "No writable connection (options.write) covers this reference.";
    TAB_AUTO(tab_tx) *tx = NULL;
    const char *text = NULL, *id = NULL;
    bool by_id = strstr(out, "://") == NULL;
    tab_error why = { 0 };
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    if (by_id)
        TAB_TRY(below(tx, call, out, &id, &text, err));
    if (ref_parse(call->arena, by_id ? text : out, &ret->ref, &why) != TAB_OK)
        return bad_out(err, TAB_VALIDATION, why.message);
    if (!by_id)
        TAB_TRY(covering(tx, call, ret->ref.text, &id, err));
    if (id == NULL)
        return bad_out(err, TAB_VALIDATION, none);
    TAB_TRY(tab_tx_commit(&tx, err));
    const provider *p = provider_of(ret->ref.scheme);
    ret->connection = id;
    ret->kind = !p->files ? "table" : ends_in(ret->ref.text, ".json") ? "json" : "csv";
    if (p->files && (ret->ref.folder || strchr(ret->ref.text, '*') != NULL ||
                     (strcmp(ret->kind, "csv") == 0 && !ends_in(ret->ref.text, ".csv"))))
        return bad_out(err, TAB_VALIDATION, "The name of an output file must end in .json or .csv.");
    return TAB_OK;
}

static tab_status table_bytes(tab_arena *a, const tab_table *t, ProtobufCBinaryData *ret, tab_error *err)
{
    tab_wire *w;
    TAB_TRY(tab_wire_new(a, &t, 1, &w, err));
    char *bytes = tab_arena_alloc(a, tab_wire_bytes(w) + 1, 8);
    if (bytes == NULL)
        return tab_no_memory(err);
    tab_wire_copy(w, 0, tab_wire_bytes(w), bytes);
    *ret = (ProtobufCBinaryData){ tab_wire_bytes(w), (uint8_t *)bytes };
    return TAB_OK;
}

/* Whether a table may be written is asked at the source; a file is put in any case. */
static tab_status may_write(data_service *self, tab_call *call, const target *t, tab_error *err)
{
    const Tabella__WriteRequest *q = call->in;
    Tabella__SourceTask task = TABELLA__SOURCE_TASK__INIT;
    connection c;
    source_read none;
    if (strcmp(t->kind, "table") != 0)
        return q->mode[0] == '\0' || strcmp(q->mode, "append") != 0
                   ? TAB_OK
                   : tab_fail(err, TAB_VALIDATION, "options.out_mode",
                              "Rows can only be appended to tables; a file is always written whole.");
    TAB_TRY(connection_load(self, call, t->connection, &c, err));
    task.source = c.source;
    task.out = (char *)t->ref.text;
    task.once = q->once;
    task.out_mode = q->mode;
    task.out_check = true;
    tab_status s = connection_task(self, call, &task, NULL, &none, err);
    connection_forget(&c);
    if (s == TAB_VALIDATION && strncmp(err->param, "options", 7) != 0)
        snprintf(err->param, sizeof err->param, "options.out"); /* the request names no source */
    return s;
}

/* ---- the rows that a job keeps --------------------------------------------------------------------- */

/* Asks jobs for them piece by piece, so that nobody ever holds them all (decision 0890). */
typedef struct {
    tab_call *call;
    const Tabella__WriteRequest *q;
    uint64_t results, missing, steps; /* that were given */
} rows_of;

/* *ret NULL: there are no more. ret_kinds may be NULL. */
static tab_status next_rows(rows_of *x, tab_arena *a, const tab_table **ret,
                            const Tabella__OutRowsReply **ret_reply, tab_error *err)
{
    Tabella__OutRowsRequest q = TABELLA__OUT_ROWS_REQUEST__INIT;
    tab_answer answer = { 0 };
    tab_ask ask = { .service = "jobs",
                    .method = "OutRows",
                    .in = &q.base,
                    .reply = &tabella__out_rows_reply__descriptor,
                    .arena = a };
    q.job_id = x->q->job_id;
    q.attempt = x->q->attempt;
    q.results = x->results;
    q.missing = x->missing;
    q.steps = x->steps;
    tab_ask_inherit(&ask, x->call);
    ask.deadline = tab_within_ms(x->call->deadline, ROWS_MS);
    TAB_TRY(tab_rpc_call(x->call->rpc, &ask, &answer, err));
    const Tabella__OutRowsReply *y = answer.msg;
    bool any = y->rows > 0;
    if (answer.n_tables != any ||
        (any && (answer.tables[0]->rows != y->rows || y->n_kinds != answer.tables[0]->cols)))
        return tab_fail(err, TAB_INTERNAL, "", "jobs gave rows that are damaged");
    for (size_t k = 0; k < y->n_kinds; k++)
        if (y->kinds[k] > CELLS_TEXT)
            return tab_fail(err, TAB_INTERNAL, "", "jobs gave rows that are damaged");
    x->results = y->results;
    x->missing = y->missing;
    x->steps = y->steps;
    *ret = any ? answer.tables[0] : NULL;
    *ret_reply = y;
    return TAB_OK;
}

static tab_status feed_rows(void *arg, tab_arena *a, tab_str *ret, tab_error *err)
{
    const Tabella__OutRowsReply *y = NULL;
    const tab_table *t = NULL;
    ProtobufCBinaryData bytes = { 0 };
    *ret = (tab_str){ NULL, 0 };
    TAB_TRY(next_rows(arg, a, &t, &y, err));
    if (t == NULL)
        return TAB_OK;
    TAB_TRY(table_bytes(a, t, &bytes, err));
    *ret = (tab_str){ (const char *)bytes.data, bytes.len };
    return TAB_OK;
}

/* ---- writing --------------------------------------------------------------------------------------- */

/* rows: of a table or a .csv, where they come in pieces; NULL: with the call. */
static tab_status write_to(data_service *self, tab_call *call, const target *t, rows_of *rows, tab_error *err)
{
    const Tabella__WriteRequest *q = call->in;
    Tabella__SourceTask task = TABELLA__SOURCE_TASK__INIT;
    const Tabella__OutRowsReply *first = NULL;
    const tab_table *table = rows == NULL && call->n_tables == 1 ? call->tables[0] : NULL;
    const child_feed feed = { feed_rows, rows };
    connection c;
    source_read none;
    bool json = strcmp(t->kind, "json") == 0;
    if (rows != NULL)
        TAB_TRY(next_rows(rows, call->arena, &table, &first, err));
    if (!json && table == NULL)
        return bad_out(err, TAB_VALIDATION, "The run made no predictions to write.");
    if (json)
        task.file = q->file;
    else
        TAB_TRY(table_bytes(call->arena, table, &task.table, err));
    if (first != NULL) {
        task.out_kinds = first->kinds;
        task.n_out_kinds = first->n_kinds;
        task.out_more = true;
    }
    task.out_csv = strcmp(t->kind, "csv") == 0;
    TAB_TRY(connection_load(self, call, t->connection, &c, err));
    task.source = c.source;
    task.out = (char *)t->ref.text;
    task.once = q->once;
    task.out_mode = q->mode;
    tab_status s = connection_task(self, call, &task, rows != NULL ? &feed : NULL, &none, err);
    connection_forget(&c);
    return s;
}

/* in_pieces: rows come from jobs. */
static tab_status put(data_service *self, tab_call *call, bool in_pieces, tab_error *err)
{
    const Tabella__WriteRequest *q = call->in;
    Tabella__WriteReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    target t = { 0 };
    rows_of rows = { .call = call, .q = q };
    TAB_TRY(find_target(self, call, q->out, &t, err));
    out->out = (char *)t.ref.text;
    out->kind = (char *)t.kind;
    if (q->check)
        return may_write(self, call, &t, err);
    TAB_TRY(write_to(self, call, &t, in_pieces && strcmp(t.kind, "json") != 0 ? &rows : NULL, err));
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(store_audit(tx, call, "", "connection.write", t.connection, t.ref.text, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    tab_relay_nudge(self->relay);
    return TAB_OK;
}

tab_status data_write(void *self, tab_call *call, tab_error *err)
{
    return put(self, call, false, err);
}

tab_status data_write_rows(void *self, tab_call *call, tab_error *err)
{
    return put(self, call, true, err);
}
