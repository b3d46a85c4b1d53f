/* Connections: registering one, reading it, syncing the dataset that it feeds; and what a sync
 * changed. */
#include <sodium.h>
#include <stdio.h>
#include <strings.h>

#include "common/base/proto.h"
#include "services/data-connector/connection.h"
#include "services/data-connector/source/source.h"
#include "services/data-connector/store/diff.h"

/* ---- credentials ----------------------------------------------------------------------------- */

/* A sealed row opens only as the connection of the organization that it was written for. */
char *data_seal_context(tab_arena *a, const char *org, const char *id)
{
    return tab_arena_printf(a, "data_connector.connection %s %s", org, id);
}

static tab_status seal(data_service *self, tab_arena *a, const char *org, const char *id,
                       Tabella__Credential **credentials, size_t n, tab_str *ret, tab_error *err)
{
    Tabella__ConnectRequest m = TABELLA__CONNECT_REQUEST__INIT;
    m.credentials = credentials;
    m.n_credentials = n;
    char *context = data_seal_context(a, org, id);
    tab_str plain = tab_proto_write(a, &m.base);
    if (context == NULL || plain.p == NULL)
        return tab_no_memory(err);
    tab_status s = tab_seal(self->kek, a, plain, tab_str_of(context), ret, err);
    sodium_memzero((char *)plain.p, plain.n);
    return s;
}

/* ---- reading a source ------------------------------------------------------------------------ */

tab_status connection_task(data_service *self, tab_call *call, Tabella__SourceTask *task,
                           const child_feed *feed, source_read *ret, tab_error *err)
{
    const char *place = task->out[0] != '\0' ? task->out : task->source->source;
    tab_deadline until = tab_within_ms(call->deadline, self->read_s * 1000);
    read_turn turn;
    TAB_TRY(reads_enter(&self->reads, &turn, call->org, place, until, call->cancel, err));
    int64_t left = tab_left_ms(until, INT32_MAX);
    left = left > 1000 ? left - 500 : left; /* the rest of the deadline is for the answer */
    task->allow = (char *)self->allow;
    task->odbc = (char *)self->odbc;
    task->connect_s = self->connect_s;
    task->left_ms = left;
    task->read_mib = self->read_mib;
    task->memory_mib = self->memory_mib;
    tab_status s = child_run(call->arena, task, feed, tab_in_ms(left), call->cancel, &ret->table, &ret->notes,
                             &ret->reading, err);
    reads_leave(&self->reads, &turn);
    return s;
}

static tab_status read_ref(data_service *self, tab_call *call, const Tabella__ConnectRequest *q,
                           source_read *ret, tab_error *err)
{
    Tabella__SourceTask task = TABELLA__SOURCE_TASK__INIT;
    task.source = (Tabella__ConnectRequest *)q;
    TAB_TRY(connection_task(self, call, &task, NULL, ret, err));
    return ret->table != NULL ? TAB_OK : tab_fail(err, TAB_INTERNAL, "", "a read without a table");
}

tab_status connection_load(data_service *self, tab_call *call, const char *id, connection *ret,
                           tab_error *err)
{
    tab_arena *a = call->arena;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT id, name, dataset, query, source, sealed, coalesce(row_key[1], ''), "
                         "coalesce(row_key[2], ''), coalesce(row_key[3], ''), sheet, records, writable, "
                         "reading FROM data_connector.connection "
                         "WHERE org = $1 AND (id = $2 OR dataset = $2)",
                         TAB_P(tab_p_text(call->org), tab_p_text(id))));
    if (tab_rows_count(r) == 0) {
        Tabella__DataObject *o;
        TAB_TRY(store_object(tx, a, call->org, id, &o, err)); /* NOT_FOUND for what is not there at all */
        return tab_fail(err, TAB_VALIDATION, "id", "No connection feeds this dataset.");
    }
    connection c = { .id = tab_proto_text(a, tab_rows_text(r, 0, 0)),
                     .name = tab_proto_text(a, tab_rows_text(r, 0, 1)),
                     .dataset = tab_proto_text(a, tab_rows_text(r, 0, 2)),
                     .writable = tab_rows_bool(r, 0, 11) };
    for (int i = 0; i < 3; i++) {
        const char *k = tab_rows_text(r, 0, (size_t)(6 + i));
        if (k[0] != '\0')
            c.key[c.n_key++] = tab_str_of(tab_proto_text(a, k));
    }
    char *context = data_seal_context(a, call->org, c.id);
    tab_str plain;
    if (context == NULL)
        return tab_no_memory(err);
    if (self->kek == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "The key that decrypts stored credentials is not configured.");
    TAB_TRY(tab_unseal(self->kek, a, tab_rows_bytes(r, 0, 5, a), tab_str_of(context), &plain, err));
    c.source = tab_proto_read(a, &tabella__connect_request__descriptor, plain);
    sodium_memzero((char *)plain.p, plain.n);
    if (c.source == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "stored credentials are damaged");
    c.source->query = tab_proto_text(a, tab_rows_text(r, 0, 3));
    c.source->source = tab_proto_text(a, tab_rows_text(r, 0, 4));
    c.source->sheet = tab_proto_text(a, tab_rows_text(r, 0, 9));
    c.source->records = tab_proto_text(a, tab_rows_text(r, 0, 10));
    c.source->reading = tab_proto_text(a, tab_rows_text(r, 0, 12));
    c.source->key = tab_arena_new_of(a, char *, 3);
    if (c.source->key == NULL)
        return tab_no_memory(err);
    for (; c.source->n_key < c.n_key; c.source->n_key++)
        c.source->key[c.source->n_key] = (char *)c.key[c.source->n_key].p;
    *ret = c;
    return tab_tx_commit(&tx, err);
}

void connection_forget(const connection *c)
{
    for (size_t i = 0; i < c->source->n_credentials; i++)
        sodium_memzero(c->source->credentials[i]->value, strlen(c->source->credentials[i]->value));
}

static tab_status read_loaded(data_service *self, tab_call *call, const connection *c, source_read *ret,
                              tab_error *err)
{
    tab_status s = read_ref(self, call, c->source, ret, err);
    connection_forget(c);
    return s;
}

tab_status data_read_source(data_service *self, tab_call *call, const char *id, const tab_table **ret,
                            tab_error *err)
{
    connection c;
    source_read got;
    TAB_TRY(connection_load(self, call, id, &c, err));
    TAB_TRY(read_loaded(self, call, &c, &got, err));
    *ret = got.table;
    return TAB_OK;
}

bool data_of_file(const char *ref)
{
    char scheme[32];
    size_t n = strcspn(ref, ":");
    snprintf(scheme, sizeof scheme, "%.*s", (int)(n < sizeof scheme ? n : 0), ref);
    const provider *p = provider_of(scheme);
    return p != NULL && p->files;
}

/* The last part of its path, without a file's endings. */
static const char *default_name(tab_arena *a, const source_ref *r)
{
    static const char *const endings[] = { ".gz",  ".zip",    ".csv",    ".tsv",     ".psv",
                                           ".txt", ".json",   ".ndjson", ".jsonl",   ".xlsx",
                                           ".ods", ".sqlite", ".db",     ".parquet", ".arrow" };
    const char *last = r->segments > 0 ? r->segment[r->segments - 1] : r->host;
    size_t n = strlen(last);
    for (size_t i = 0; i < sizeof endings / sizeof *endings && provider_of(r->scheme)->files; i++) {
        size_t m = strlen(endings[i]);
        if (n > m && strcasecmp(last + n - m, endings[i]) == 0)
            last = tab_proto_text(a, tab_arena_copy(a, (tab_str){ last, n -= m }).p);
    }
    return last;
}

tab_status data_read_plain(data_service *self, tab_call *call, const source_ref *ref, const tab_table **ret,
                           const char **ret_name, tab_error *err)
{
    Tabella__ConnectRequest q = TABELLA__CONNECT_REQUEST__INIT;
    source_read got;
    q.source = (char *)ref->text;
    TAB_TRY(read_ref(self, call, &q, &got, err));
    *ret = got.table;
    *ret_name = default_name(call->arena, ref);
    return TAB_OK;
}

/* ---- connect --------------------------------------------------------------------------------- */

/* An option that the family does not have is refused, so that none passes without an effect. */
static tab_status check_options(const Tabella__ConnectRequest *q, const provider *p, tab_error *err)
{
    const struct {
        const char *name, *value;
    } given[] = {
        { "query", q->query }, { "sheet", q->sheet }, { "records", q->records }, { "reading", q->reading }
    };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        char param[32];
        bool known = given[i].value[0] == '\0';
        for (const char *const *m = p->options; *m != NULL; m++)
            known |= strcmp(*m, given[i].name) == 0;
        snprintf(param, sizeof param, "options.%s", given[i].name);
        if (!known)
            return tab_fail(err, TAB_VALIDATION, param, "Sources with the scheme %s have no such option.",
                            p->scheme);
        if (looks_secret(given[i].value))
            return tab_fail(err, TAB_VALIDATION, param,
                            "An option must not contain credentials; put them in `credentials`.");
    }
    if (q->write && p->write == NULL)
        return tab_fail(err, TAB_VALIDATION, "options.write",
                        "Sources with the scheme %s cannot be written to.", p->scheme);
    return TAB_OK;
}

static tab_status check_request(const Tabella__ConnectRequest *q, const source_ref *ref, tab_error *err)
{
    const provider *p = provider_of(ref->scheme);
    if (looks_secret(q->name) || strlen(q->name) > 256)
        return tab_fail(err, TAB_VALIDATION, "name",
                        "A name can have at most 256 bytes and must not contain credentials.");
    TAB_TRY(check_options(q, p, err));
    if (q->n_key > 3)
        return tab_fail(err, TAB_VALIDATION, "options.key", "A key can have at most 3 columns.");
    for (size_t i = 0; i < q->n_credentials; i++) {
        bool known = false;
        for (const char *const *m = p->credentials; *m != NULL; m++)
            known |= strcmp(*m, q->credentials[i]->name) == 0;
        if (!known) {
            char param[128];
            snprintf(param, sizeof param, "credentials.%.100s", q->credentials[i]->name);
            return tab_fail(err, TAB_VALIDATION, param, "This source has no such credential.");
        }
    }
    return TAB_OK;
}

static tab_status register_connection(data_service *self, tab_call *call, const char *id, const char *dataset,
                                      const source_ref *ref, const char *name, const source_read *got,
                                      tab_error *err)
{
    const Tabella__ConnectRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_arena *a = call->arena;
    char snapshot[TAB_ID], *members = tab_proto_text(a, "");
    tab_str sealed;
    for (size_t i = 0; i < q->n_credentials; i++)
        if ((members = tab_arena_printf(a, "%s%s%s", members, i > 0 ? "," : "", q->credentials[i]->name)) ==
            NULL)
            return tab_no_memory(err);
    char *key = tab_pg_array(a, q->key, q->n_key);
    if (key == NULL)
        return tab_no_memory(err);
    TAB_TRY(seal(self, a, call->org, id, q->credentials, q->n_credentials, &sealed, err));
    tab_id_new(snapshot, "dsv_");
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(store_hold_blocks(tx, call->org, false, err));
    TAB_TRY(
        tab_tx_query(tx, NULL, err,
                     "INSERT INTO data_connector.connection (org, id, name, source, query, row_key, "
                     "sealed, members, dataset, sync_at, sync_good, sheet, records, writable, reading) "
                     "VALUES ($1, $2, $3, $4, $5, $6::text[], $7, $8, $9, now(), true, $10, $11, $12, $13)",
                     TAB_P(tab_p_text(call->org), tab_p_text(id), tab_p_text(name), tab_p_text(ref->text),
                           tab_p_text(q->query), tab_p_text(key), tab_p_bytes(sealed), tab_p_text(members),
                           tab_p_text(dataset), tab_p_text(q->sheet), tab_p_text(q->records),
                           tab_p_bool(q->write), tab_p_text(q->reading))));
    store_dataset d = { .id = dataset,
                        .name = name,
                        .source = ref->text,
                        .connection = id,
                        .owner = "",
                        .file = data_of_file(ref->text) };
    TAB_TRY(store_dataset_add(tx, call->org, &d, err));
    TAB_TRY(store_dataset_noted(tx, call->org, dataset, got->notes, got->reading, err));
    TAB_TRY(store_snapshot_add(tx, call->org, dataset, snapshot, NULL, got->table, &self->keys, false, err));
    TAB_TRY(store_audit(tx, call, q->actor, "connection.create", id,
                        q->write ? tab_arena_printf(a, "%s; runs may write below it", ref->text) : ref->text,
                        err));
    return tab_tx_commit(&tx, err);
}

tab_status data_connect(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__ConnectRequest *q = call->in;
    Tabella__ConnectReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    source_ref ref;
    source_read got = { 0 };
    char id[TAB_ID], dataset[TAB_ID];
    if (self->kek == NULL)
        return tab_fail(err, TAB_VALIDATION, "source", "Connections are not enabled on this installation.");
    TAB_TRY(ref_parse(call->arena, q->source, &ref, err));
    TAB_TRY(check_request(q, &ref, err));
    TAB_TRY(read_ref(self, call, q, &got, err));
    tab_id_new(id, "conn_");
    tab_id_new(dataset, "ds_");
    TAB_TRY(register_connection(self, call, id, dataset, &ref,
                                q->name[0] != '\0' ? q->name : default_name(call->arena, &ref), &got, err));
    tab_relay_nudge(self->relay);
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(store_object(tx, call->arena, call->org, id, &out->connection, err));
    TAB_TRY(store_object(tx, call->arena, call->org, dataset, &out->dataset, err));
    return tab_tx_commit(&tx, err);
}

/* ---- sync ------------------------------------------------------------------------------------ */

/* Notes the attempt, for whoever retrieves the connection. */
static void remember(data_service *self, tab_call *call, const char *id, bool good, const char *said)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_error err;
    tab_status s = tab_tx_begin(self->pg, call->org, tab_in_ms(2000), &tx, &err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, NULL, &err,
                         "UPDATE data_connector.connection "
                         "SET sync_at = now(), sync_good = $3, sync_said = $4 "
                         "WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(id), tab_p_bool(good), tab_p_text(said)));
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, &err);
    (void)s; /* only a note: the caller loses nothing without it */
}

/* The answer of a sync that was done before under the same id, or NULL. */
static tab_status done_before(tab_tx *tx, tab_call *call, const char *dataset, const char *sync_id,
                              Tabella__SyncReply **ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    *ret = NULL;
    if (sync_id[0] == '\0')
        return TAB_OK;
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "SELECT diff FROM data_connector.snapshot WHERE org = $1 AND dataset = $2 AND sync_id = $3",
        TAB_P(tab_p_text(call->org), tab_p_text(dataset), tab_p_text(sync_id))));
    if (tab_rows_count(r) == 1)
        *ret = tab_proto_read(call->arena, &tabella__sync_reply__descriptor,
                              tab_rows_bytes(r, 0, 0, call->arena));
    return TAB_OK;
}

static tab_status mint(data_service *self, tab_call *call, const connection *c, const source_read *got,
                       const char *sync_id, const char *actor, Tabella__SyncReply **ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_arena *a = call->arena;
    const char *previous, *feeds;
    char snapshot[TAB_ID];
    store_snapshot old;
    const tab_table *before;
    row_diff d;
    row_changes list;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(store_hold_blocks(tx, call->org, false, err));
    TAB_TRY(store_dataset_lock(tx, a, call->org, c->dataset, false, &previous, &feeds,
                               err)); /* one sync at a time */
    TAB_TRY(done_before(tx, call, c->dataset, sync_id, ret, err));
    if (*ret != NULL)
        return TAB_OK;
    TAB_TRY(store_snapshot_get(tx, a, call->org, previous, &old, err));
    TAB_TRY(store_snapshot_read(tx, a, call->org, &old, 0, old.rows, NULL, 0, c->name, &self->keys, &before,
                                err));
    TAB_TRY(diff_rows(a, before, got->table, c->key, c->n_key, &d, &list, err));
    tab_id_new(snapshot, "dsv_");
    TAB_TRY(store_snapshot_add(tx, call->org, c->dataset, snapshot, sync_id[0] != '\0' ? sync_id : NULL,
                               got->table, &self->keys, false, err));
    TAB_TRY(store_dataset_noted(tx, call->org, c->dataset, got->notes, got->reading, err));

    Tabella__SyncReply *m = tab_arena_new_of(a, Tabella__SyncReply, 1);
    if (m == NULL)
        return tab_no_memory(err);
    tabella__sync_reply__init(m);
    m->id = (char *)c->id;
    m->dataset = (char *)c->dataset;
    m->snapshot = tab_proto_text(a, snapshot);
    m->previous_snapshot = (char *)previous;
    m->synced_at = tab_now_us();
    TAB_TRY(data_diff_message(a, &d, &m->diff, err));
    data_step step = { &old, before, got->table, &d, &list };
    TAB_TRY(data_expected(self, tx, call, &step, &m->expectations, err));
    TAB_TRY(data_expected_event(tx, call, c->dataset, c->name, snapshot, m->expectations, err));
    tab_str bytes = tab_proto_write(a, &m->base);
    if (bytes.p == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE data_connector.snapshot SET diff = $3 WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(snapshot), tab_p_bytes(bytes))));
    TAB_TRY(store_audit(tx, call, actor, "connection.sync", c->id, snapshot, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    *ret = m;
    return TAB_OK;
}

tab_status data_sync_now(data_service *self, tab_call *call, const char *id, const char *sync_id,
                         const char *actor, Tabella__SyncReply *ret, tab_error *err)
{
    connection c;
    source_read got = { 0 };
    tab_error why = { 0 };
    Tabella__SyncReply *m = NULL;
    TAB_TRY(connection_load(self, call, id, &c, err));
    tab_status s = read_loaded(self, call, &c, &got, &why);
    if (s == TAB_OK)
        s = mint(self, call, &c, &got, sync_id, actor, &m, &why);
    remember(self, call, c.id, s == TAB_OK, why.message);
    if (s != TAB_OK)
        return tab_fail(err, s, why.param, "%s", why.message);
    tab_relay_nudge(self->relay);
    if (ret != NULL)
        *ret = *m;
    return TAB_OK;
}

tab_status data_sync(void *self, tab_call *call, tab_error *err)
{
    const Tabella__SyncRequest *q = call->in;
    return data_sync_now(self, call, q->id, q->sync_id, q->actor, call->out, err);
}
