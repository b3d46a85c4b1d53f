/* See data.h. A method checks its request, opens one transaction bound to the caller's organization and
 * calls store.c; the sweeper drops what has expired. */
#include "services/data-connector/data.h"

#include <stdio.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/proto.h"
#include "common/pg/tally.h"

/* ---- tables in and out ----------------------------------------------------------------------- */

/* Makes a new dataset and its first snapshot, and commits. */
static tab_status add_dataset(data_service *self, tab_call *call, tab_tx **tx, const store_dataset *d,
                              const tab_table *t, tab_error *err)
{
    char snapshot[TAB_ID];
    tab_id_new(snapshot, "dsv_");
    TAB_TRY(store_hold_blocks(*tx, call->org, false, err));
    TAB_TRY(store_dataset_add(*tx, call->org, d, err));
    TAB_TRY(store_snapshot_add(*tx, call->org, d->id, snapshot, NULL, t, &self->keys, d->temporary, err));
    bool generated = d->source != NULL && strcmp(d->source, "generate") == 0;
    if (generated)
        TAB_TRY(store_audit(*tx, call, "", "dataset.generate", d->id, d->name, err));
    TAB_TRY(tab_tx_commit(tx, err));
    if (generated)
        tab_relay_nudge(self->relay);
    return TAB_OK;
}

static tab_status ingest_once(data_service *self, tab_call *call, const char **ret_id, tab_error *err)
{
    const Tabella__IngestRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    if (q->ingest_id[0] != '\0') {
        tab_status s = store_dataset_ingested(tx, call->arena, call->org, q->ingest_id, ret_id, err);
        if (s != TAB_NOT_FOUND)
            return s;
    }
    if (call->n_tables != 1)
        return tab_fail(err, TAB_VALIDATION, "tables", "One call can ingest only one table.");
    const tab_table *t = call->tables[0];
    uint64_t cells;
    if (t->cols == 0 || t->cols > DATA_MOST_COLS)
        return tab_fail(err, TAB_VALIDATION, "tables", "A table must have 1 to %d columns.", DATA_MOST_COLS);
    if (__builtin_mul_overflow((uint64_t)t->rows, (uint64_t)t->cols, &cells) || cells > DATA_MOST_CELLS)
        return tab_fail(err, TAB_VALIDATION, "tables", "A table can have at most %d cells.", DATA_MOST_CELLS);

    char id[TAB_ID];
    tab_id_new(id, "ds_");
    store_dataset d = { .id = id,
                        .name =
                            q->name[0] != '\0' ? q->name : (const char *)tab_arena_copy(call->arena, t->id).p,
                        .source = q->source[0] != '\0' ? q->source : "upload",
                        .ingest_id = q->ingest_id[0] != '\0' ? q->ingest_id : NULL,
                        .owner = q->owner,
                        .temporary = q->temporary };
    if (q->temporary)
        d.expires = q->expires_at;
    else
        TAB_TRY(store_audit(tx, call, call->actor, "dataset.create", id, d.source, err));
    TAB_TRY(add_dataset(self, call, &tx, &d, t, err));
    *ret_id = tab_proto_text(call->arena, id);
    return TAB_OK;
}

/* What is shown of a dataset, also of a temporary one. */
static tab_status show_any(tab_tx *tx, tab_call *call, const char *id, Tabella__DataObject **ret,
                           tab_error *err)
{
    tab_status s = store_object(tx, call->arena, call->org, id, ret, err);
    if (s != TAB_NOT_FOUND)
        return s;
    store_snapshot snap;
    TAB_TRY(store_snapshot_get(tx, call->arena, call->org, id, &snap, err));
    Tabella__DataObject *o = tab_arena_new_of(call->arena, Tabella__DataObject, 1);
    if (o == NULL)
        return tab_no_memory(err);
    tabella__data_object__init(o);
    o->id = (char *)snap.dataset;
    o->kind = tab_proto_text(call->arena, "dataset");
    o->name = (char *)snap.name;
    o->snapshot = (char *)snap.id;
    o->snapshot_at = snap.created;
    o->rows = snap.rows;
    o->cols = snap.cols;
    o->cells = snap.rows * snap.cols;
    *ret = o;
    return TAB_OK;
}

static tab_status ingest(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    Tabella__IngestReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    const char *id = NULL;
    tab_status s = ingest_once(self, call, &id, err);
    if (s == TAB_CONFLICT) /* another call with this ingest id was faster: its dataset is the answer */
        s = ingest_once(self, call, &id, err);
    if (s != TAB_OK)
        return s;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(show_any(tx, call, id, &out->dataset, err));
    return tab_tx_commit(&tx, err);
}

static tab_status read_snapshot(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__ReadRequest *q = call->in;
    Tabella__ReadReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    store_snapshot s;
    const tab_table **tables = tab_arena_new_of(call->arena, const tab_table *, 1);
    if (tables == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(store_snapshot_get(tx, call->arena, call->org, q->snapshot, &s, err));
    if (q->first_row > s.rows)
        return tab_fail(err, TAB_VALIDATION, "first_row", "The snapshot has fewer rows.");
    uint64_t rows = q->rows == 0 || q->rows > s.rows - q->first_row ? s.rows - q->first_row : q->rows;
    TAB_TRY(store_snapshot_read(tx, call->arena, call->org, &s, q->first_row, rows, q->columns, q->n_columns,
                                q->table_id[0] != '\0' ? q->table_id : s.name, &self->keys, &tables[0], err));
    TAB_TRY(tab_tx_commit(&tx, err));
    out->snapshot = (char *)s.id;
    out->dataset = (char *)s.dataset;
    out->name = (char *)s.name;
    out->rows = s.rows;
    out->cols = s.cols;
    out->snapshot_at = s.created;
    out->file = s.file;
    call->out_tables = tables;
    call->n_out_tables = 1;
    return TAB_OK;
}

/* ---- what a request's data[] stands for ------------------------------------------------------ */

static Tabella__Resolved *resolved(tab_arena *a, const char *ref, const store_snapshot *s)
{
    Tabella__Resolved *r = tab_arena_new_of(a, Tabella__Resolved, 1);
    if (r == NULL)
        return NULL;
    tabella__resolved__init(r);
    r->ref = tab_proto_text(a, ref);
    r->dataset = s->temporary ? tab_proto_text(a, "") : (char *)s->dataset;
    r->snapshot = (char *)s->id;
    r->name = tab_proto_text(a, s->name);
    for (char *p = r->name; *p != '\0'; p++)
        if (*p == '.')
            *p = '_';
    r->rows = s->rows;
    r->cols = s->cols;
    r->pinned = s->pinned;
    r->last_used = s->last_used;
    r->snapshot_at = s->created;
    r->reading = (char *)s->reading;
    return r;
}

/* Where two datasets have one name, their ids are the tables' ids. */
static void apart(Tabella__Resolved **t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool meets = false;
        for (size_t k = 0; k < n; k++)
            meets |= k != i && strcmp(t[k]->name, t[i]->name) == 0;
        if (!meets)
            continue;
        for (size_t k = i + 1; k < n; k++)
            if (strcmp(t[k]->name, t[i]->name) == 0)
                t[k]->name = t[k]->dataset[0] != '\0' ? t[k]->dataset : t[k]->snapshot;
        t[i]->name = t[i]->dataset[0] != '\0' ? t[i]->dataset : t[i]->snapshot;
    }
}

/* A connection that a run reads, or a ref that nothing registered (id NULL). */
typedef struct {
    const char *id, *dataset, *name;
    source_ref plain;
    bool file;
} named;

/* The connection that a ref names: its id, or the source it was registered with, however that is spelt. */
static tab_status connection_of(data_service *self, tab_call *call, const char *ref, named *ret,
                                tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    bool source = strstr(ref, "://") != NULL;
    *ret = (named){ .id = NULL };
    if (source)
        TAB_TRY(ref_parse(call->arena, ref, &ret->plain, err));
    ret->file = source && data_of_file(ref);
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT id, dataset, name, source "
                         "FROM data_connector.connection "
                         "WHERE org = $1 AND (id = $2 OR source = $2) "
                         "ORDER BY created "
                         "LIMIT 1",
                         TAB_P(tab_p_text(call->org), tab_p_text(source ? ret->plain.text : ref))));
    if (tab_rows_count(r) == 0)
        return source ? TAB_OK
                      : tab_fail(err, TAB_NOT_FOUND, "data", "There is no such dataset or connection.");
    ret->id = tab_proto_text(call->arena, tab_rows_text(r, 0, 0));
    ret->dataset = tab_proto_text(call->arena, tab_rows_text(r, 0, 1));
    ret->name = tab_proto_text(call->arena, tab_rows_text(r, 0, 2));
    ret->file = data_of_file(tab_proto_text(call->arena, tab_rows_text(r, 0, 3)));
    return tab_tx_commit(&tx, err);
}

/* Reads a source into a temporary dataset of the owner. */
static tab_status read_transient(data_service *self, tab_call *call, named *from, const char *owner,
                                 char id[TAB_ID], tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    const tab_table *t;
    if (from->id != NULL)
        TAB_TRY(data_read_source(self, call, from->id, &t, err));
    else
        TAB_TRY(data_read_plain(self, call, &from->plain, &t, &from->name, err));
    tab_id_new(id, "ds_");
    store_dataset d = { .id = id,
                        .name = from->name,
                        .source = "connection",
                        .owner = owner,
                        .temporary = true,
                        .file = from->file };
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    return add_dataset(self, call, &tx, &d, t, err);
}

static tab_status resolve_one(data_service *self, tab_call *call, const char *ref, Tabella__Resolved **ret,
                              tab_error *err)
{
    const Tabella__ResolveRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    named connection;
    const char *id = ref;
    char transient[TAB_ID];
    if (strncmp(ref, "ds_", 3) != 0 && strncmp(ref, "dsv_", 4) != 0) {
        TAB_TRY(connection_of(self, call, ref, &connection, err));
        if (q->for_endpoint && connection.id == NULL)
            return tab_fail(
                err, TAB_VALIDATION, "data",
                "An endpoint can only pin datasets; register this source first (POST /v2/data/connect).");
        if (q->for_endpoint && !q->peek) {
            TAB_TRY(data_sync_now(self, call, connection.id, "", call->actor, NULL, err));
            id = connection.dataset;
        } else {
            TAB_TRY(read_transient(self, call, &connection, q->owner, transient, err));
            id = transient;
        }
    }
    store_snapshot s;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(store_snapshot_get(tx, call->arena, call->org, id, &s, err));
    if (s.temporary && id != transient)
        return tab_fail(err, TAB_NOT_FOUND, "data", "There is no such dataset or connection.");
    if (!q->peek)
        TAB_TRY(store_used(tx, call->org, s.dataset, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    *ret = resolved(call->arena, ref, &s);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

static tab_status resolve(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__ResolveRequest *q = call->in;
    Tabella__ResolveReply *out = call->out;
    out->tables = tab_arena_new_of(call->arena, Tabella__Resolved *, q->n_refs);
    if (out->tables == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < q->n_refs; i++) {
        tab_error why = { 0 };
        tab_status s = resolve_one(self, call, q->refs[i], &out->tables[i], &why);
        if (s == TAB_NOT_FOUND || s == TAB_VALIDATION) {
            char param[32];
            snprintf(param, sizeof param, "data[%zu]", i);
            return tab_fail(err, s, param, "%s",
                            s == TAB_NOT_FOUND ? "There is no such dataset or connection." : why.message);
        }
        if (s != TAB_OK)
            return tab_fail(err, s, why.param, "%s", why.message);
        out->n_tables++;
    }
    apart(out->tables, out->n_tables);
    return TAB_OK;
}

/* ---- pins ------------------------------------------------------------------------------------ */

static tab_status acquire(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__AcquireRequest *q = call->in;
    Tabella__AcquireReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    store_snapshot *s = tab_arena_new_of(call->arena, store_snapshot, q->n_snapshots);
    out->tables = tab_arena_new_of(call->arena, Tabella__Resolved *, q->n_snapshots);
    if (s == NULL || out->tables == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(store_hold_blocks(tx, call->org, false, err)); /* so that none of them is dropped meanwhile */
    for (size_t i = 0; i < q->n_snapshots; i++) {
        tab_status found = store_snapshot_get(tx, call->arena, call->org, q->snapshots[i], &s[i], err);
        if (found == TAB_NOT_FOUND || (found == TAB_OK && (!s[i].kept || s[i].temporary)))
            return tab_fail(err, TAB_CONFLICT, "data", "A dataset was deleted in the meantime.");
        if (found != TAB_OK)
            return found;
    }
    TAB_TRY(store_pins_set(tx, call->org, q->endpoint_id, q->endpoint, s, q->n_snapshots, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    for (size_t i = 0; i < q->n_snapshots; i++) {
        s[i].pinned = true;
        if ((out->tables[i] = resolved(call->arena, s[i].id, &s[i])) == NULL)
            return tab_no_memory(err);
        out->n_tables++;
    }
    apart(out->tables, out->n_tables);
    return TAB_OK;
}

static tab_status release(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__ReleaseRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(store_pins_set(tx, call->org, q->endpoint_id, "", NULL, 0, err));
    return tab_tx_commit(&tx, err);
}

static tab_status show(tab_tx *tx, tab_call *call, const char *id, tab_error *err)
{
    Tabella__DataObject *o;
    TAB_TRY(store_object(tx, call->arena, call->org, id, &o, err));
    *(Tabella__DataObject *)call->out = *o;
    return TAB_OK;
}

static tab_status pin_or_unpin(data_service *self, tab_call *call, bool pin, tab_error *err)
{
    const Tabella__DataRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    const char *snapshot, *connection, *names;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    if (strncmp(q->id, "conn_", 5) == 0) {
        TAB_TRY(show(tx, call, q->id, err)); /* a connection that is not there is not found */
        return tab_fail(err, TAB_VALIDATION, "id",
                        "A connection cannot be pinned; pin the dataset it feeds.");
    }
    TAB_TRY(store_dataset_lock(tx, call->arena, call->org, q->id, false, &snapshot, &connection, err));
    TAB_TRY(store_pins_names(tx, call->arena, call->org, q->id, &names, err));
    if (!pin && names[0] != '\0')
        return tab_fail(err, TAB_CONFLICT, "id", "The dataset is pinned by the endpoint %s.", names);
    TAB_TRY(store_dataset_pin(tx, call->org, q->id, pin, err));
    TAB_TRY(show(tx, call, q->id, err));
    return tab_tx_commit(&tx, err);
}

static tab_status pin(void *self, tab_call *call, tab_error *err)
{
    return pin_or_unpin(self, call, true, err);
}

static tab_status unpin(void *self, tab_call *call, tab_error *err)
{
    return pin_or_unpin(self, call, false, err);
}

/* ---- reading, deleting ----------------------------------------------------------------------- */

static tab_status get(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__DataRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(show(tx, call, q->id, err));
    return tab_tx_commit(&tx, err);
}

/* Temporary datasets are a run's own for as long as it takes. */
static tab_status storage(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    Tabella__StorageReply *y = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tally_total(tx, "data_connector", call->org, "kept", &y->snapshots, err));
    TAB_TRY(tab_tally_total(tx, "data_connector", call->org, "kept bytes", &y->snapshot_bytes, err));
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "WITH pinned AS (SELECT dataset, snapshot FROM data_connector.pin WHERE org = $1 "
        "UNION SELECT id, snapshot FROM data_connector.dataset WHERE org = $1 AND pinned) "
        "SELECT coalesce(sum(s.bytes), 0)::bigint, count(*) "
        "FROM pinned p JOIN data_connector.snapshot s ON s.org = $1 AND s.id = p.snapshot "
        "AND s.dataset = p.dataset JOIN data_connector.dataset d ON d.org = $1 AND d.id = s.dataset "
        "WHERE s.kept AND NOT d.temporary",
        TAB_P(tab_p_text(call->org))));
    y->pinned_bytes = (uint64_t)tab_rows_int(r, 0, 0);
    y->pinned_snapshots = (uint64_t)tab_rows_int(r, 0, 1);
    return tab_tx_commit(&tx, err);
}

static tab_status list(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__ListDataRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    uint32_t limit = q->limit == 0 || q->limit > 100 ? 100 : q->limit;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(store_objects(tx, call->arena, call->org, limit, q->after, call->out, err));
    return tab_tx_commit(&tx, err);
}

/* Deleting a dataset also removes the connection that feeds it, with its credentials; deleting a
 * connection leaves its dataset as it is. Neither while an endpoint lives on it. */
static tab_status delete (void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__DataRequest *q = call->in;
    Tabella__DeleteDataReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    const char *snapshot, *connection, *names;
    bool is_connection = strncmp(q->id, "conn_", 5) == 0;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    if (is_connection) {
        TAB_TRY(store_connection_pins(tx, call->arena, call->org, q->id, &names, err));
        if (names[0] != '\0')
            return tab_fail(err, TAB_CONFLICT, "id", "The connection feeds a dataset of the endpoint %s.",
                            names);
        TAB_TRY(tab_tx_query(
            tx, &r, err, "DELETE FROM data_connector.connection WHERE org = $1 AND id = $2 RETURNING dataset",
            TAB_P(tab_p_text(call->org), tab_p_text(q->id))));
        if (tab_rows_count(r) == 0)
            return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such dataset or connection.");
        TAB_TRY(store_pins_names(tx, call->arena, call->org, tab_rows_text(r, 0, 0), &names, err));
        if (names[0] != '\0')
            return tab_fail(err, TAB_CONFLICT, "id", "The connection feeds a dataset of the endpoint %s.",
                            names);
        TAB_TRY(tab_tx_query(tx, NULL, err,
                             "UPDATE data_connector.dataset "
                             "SET connection = NULL "
                             "WHERE org = $1 AND connection = $2",
                             TAB_P(tab_p_text(call->org), tab_p_text(q->id))));
    } else {
        TAB_TRY(store_hold_blocks(tx, call->org, true, err));
        TAB_TRY(store_dataset_lock(tx, call->arena, call->org, q->id, false, &snapshot, &connection, err));
        TAB_TRY(store_pins_names(tx, call->arena, call->org, q->id, &names, err));
        if (names[0] != '\0')
            return tab_fail(err, TAB_CONFLICT, "id", "The dataset is pinned by the endpoint %s.", names);
        TAB_TRY(store_certify(tx, call, call->org, q->actor, "dataset", q->id, err));
        TAB_TRY(store_dataset_drop(tx, call->org, q->id, NULL, err));
    }
    TAB_TRY(store_audit(tx, call, q->actor, is_connection ? "connection.delete" : "dataset.delete", q->id, "",
                        err));
    TAB_TRY(tab_tx_commit(&tx, err));
    tab_relay_nudge(self->relay);
    out->id = tab_proto_text(call->arena, q->id);
    out->deleted_at = tab_now_us();
    return TAB_OK;
}

static tab_status drop(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__DropRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    if (q->owner[0] == '\0')
        return tab_fail(err, TAB_VALIDATION, "owner", "the owner of the datasets to drop is missing");
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(store_hold_blocks(tx, call->org, true, err));
    TAB_TRY(store_dataset_drop(tx, call->org, NULL, q->owner, err));
    TAB_TRY(data_upload_owned(tx, call->org, q->owner, err));
    return tab_tx_commit(&tx, err);
}

#define METHOD(name, in, out, fn)                                             \
    {                                                                         \
        name, &tabella__##in##__descriptor, &tabella__##out##__descriptor, fn \
    }
const tab_rpc_method data_methods[] = {
    METHOD("Ingest", ingest_request, ingest_reply, ingest),
    METHOD("Read", read_request, read_reply, read_snapshot),
    METHOD("Resolve", resolve_request, resolve_reply, resolve),
    METHOD("Acquire", acquire_request, acquire_reply, acquire),
    METHOD("Release", release_request, empty, release),
    METHOD("Connect", connect_request, connect_reply, data_connect),
    METHOD("Sync", sync_request, sync_reply, data_sync),
    METHOD("Reseal", reseal_request, reseal_reply, data_reseal),
    METHOD("Diff", diff_request, diff_reply, data_diff),
    METHOD("Label", label_request, label_reply, data_label),
    METHOD("Snapshots", snapshots_request, snapshots_reply, data_snapshots),
    METHOD("Compare", compare_request, compare_reply, data_compare),
    METHOD("Profile", profile_request, profile_reply, data_profile),
    METHOD("Write", write_request, write_reply, data_write),
    METHOD("WriteRows", write_request, write_reply, data_write_rows),
    METHOD("UploadPart", upload_part_request, upload_part_reply, data_upload_part),
    METHOD("UploadBegin", upload_state, upload_state, data_upload_begin),
    METHOD("UploadState", upload_request, upload_state, data_upload_state),
    METHOD("UploadDrop", upload_request, empty, data_upload_drop),
    METHOD("Load", load_request, load_reply, data_load),
    METHOD("Get", data_request, data_object, get),
    METHOD("List", list_data_request, list_data_reply, list),
    METHOD("Pin", data_request, data_object, pin),
    METHOD("Unpin", data_request, data_object, unpin),
    METHOD("Delete", data_request, delete_data_reply, delete),
    METHOD("Storage", empty, storage_reply, storage),
    METHOD("Drop", drop_request, empty, drop),
    TAB_RPC_METHODS_END,
};
