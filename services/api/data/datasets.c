/* v2/data: datasets and connections of the organization. A handler reads the request, calls the
 * data-connector, which keeps them, and writes the answer as JSON; a sync that is too large to wait for
 * becomes a job. */
#include <stdio.h>

#include "proto/data.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/api.h"
#include "services/api/data/datasets.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

enum { CREDENTIALS = 64 };

static void data_entry(request *r, const void *reply, size_t i)
{
    data_json(&r->out, ((const Tabella__ListDataReply *)reply)->data[i]);
}

tab_status get_data_list(request *r, tab_error *err)
{
    Tabella__ListDataRequest q = TABELLA__LIST_DATA_REQUEST__INIT;
    const Tabella__ListDataReply *y = NULL;
    tab_str after;
    tab_status s = query_page(r, "data", 20, &q.limit, &after, err);
    if (s != TAB_OK)
        return s;
    q.after = STR(tab_arena_copy(r->arena, after).p);
    s = call(r, "data-connector", "List", &q.base, &tabella__list_data_reply__descriptor, &y, err);
    if (s != TAB_OK)
        return s;
    list_answer(r,
                &(list_page){ "data", "datasets", y, y->n_data, data_entry, tab_str_of(y->next), y->total });
    return TAB_OK;
}

static tab_status object(request *r, const char *method, tab_error *err)
{
    Tabella__DataRequest q = TABELLA__DATA_REQUEST__INIT;
    const Tabella__DataObject *d = NULL;
    q.id = STR(tab_arena_copy(r->arena, r->param[0]).p);
    q.actor = r->who.key;
    tab_status s = call(r, "data-connector", method, &q.base, &tabella__data_object__descriptor, &d, err);
    if (s == TAB_OK)
        data_json(&r->out, d);
    return s;
}

tab_status get_data(request *r, tab_error *err)
{
    return object(r, "Get", err);
}

tab_status post_data_pin(request *r, tab_error *err)
{
    return object(r, "Pin", err);
}

tab_status post_data_unpin(request *r, tab_error *err)
{
    return object(r, "Unpin", err);
}

tab_status delete_data(request *r, tab_error *err)
{
    Tabella__DataRequest q = TABELLA__DATA_REQUEST__INIT;
    const Tabella__DeleteDataReply *y = NULL;
    q.id = STR(tab_arena_copy(r->arena, r->param[0]).p);
    q.actor = r->who.key;
    tab_status s =
        call(r, "data-connector", "Delete", &q.base, &tabella__delete_data_reply__descriptor, &y, err);
    if (s == TAB_OK)
        deleted_json(&r->out, y->id, y->deleted_at);
    return s;
}

tab_status table_ingest(request *r, const char *job_id, size_t i, const tab_table *const *table,
                        int64_t until_us, const Tabella__DataObject **ret, tab_error *err)
{
    Tabella__IngestRequest q = TABELLA__INGEST_REQUEST__INIT;
    tab_answer answer;
    q.ingest_id = tab_arena_printf(r->arena, "%s/%zu", job_id, i);
    q.name = tab_arena_printf(r->arena, "%.*s", TAB_STR((*table)->id));
    if (tab_arena_full(r->arena))
        return tab_no_memory(err);
    q.temporary = until_us > 0;
    q.expires_at = until_us;
    if (q.temporary)
        q.owner = STR(job_id);
    tab_ask ask = { .service = "data-connector",
                    .method = "Ingest",
                    .in = &q.base,
                    .tables = table,
                    .n_tables = 1,
                    .reply = &tabella__ingest_reply__descriptor };
    TAB_TRY(call_with(r, &ask, &answer, err));
    *ret = ((const Tabella__IngestReply *)answer.msg)->dataset;
    return *ret != NULL ? TAB_OK : tab_fail(err, TAB_INTERNAL, "", "an ingest without a dataset");
}

/* ---- connections ----------------------------------------------------------------------------- */

/* One credential, a string; the members of an object are credentials by the path "object.member". */
static tab_status read_credential(request *r, const tab_json *m, tab_str parent, Tabella__ConnectRequest *q,
                                  tab_error *err)
{
    char path[160];
    int n = snprintf(path, sizeof path, "credentials.%.*s%s%.*s", (int)(parent.n < 64 ? parent.n : 64),
                     parent.p, parent.n > 0 ? "." : "", (int)(m->key.n < 64 ? m->key.n : 64), m->key.p);
    if (m->kind == TAB_JSON_OBJECT && parent.n == 0) {
        for (const tab_json *k = m->first; k != NULL; k = k->next)
            TAB_TRY(read_credential(r, k, m->key, q, err));
        return TAB_OK;
    }
    if (m->kind != TAB_JSON_STRING || m->text.n > 65536)
        return tab_fail(err, TAB_VALIDATION, path, "a credential must be a string");
    if (q->n_credentials == CREDENTIALS)
        return tab_fail(err, TAB_VALIDATION, "credentials", "`credentials` can have at most %d fields",
                        CREDENTIALS);
    Tabella__Credential *x = tab_arena_new_of(r->arena, Tabella__Credential, 1);
    if (x == NULL)
        return tab_no_memory(err);
    tabella__credential__init(x);
    x->name = STR(tab_arena_copy(r->arena, (tab_str){ path + 12, (size_t)n - 12 }).p);
    x->value = STR(tab_arena_copy(r->arena, m->text).p);
    q->credentials[q->n_credentials++] = x;
    return TAB_OK;
}

static tab_status read_credentials(request *r, const tab_json *c, Tabella__ConnectRequest *q, tab_error *err)
{
    if (c == NULL)
        return TAB_OK;
    if (c->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "credentials",
                        "`credentials` must be an object whose values are strings");
    q->credentials = tab_arena_new_of(r->arena, Tabella__Credential *, CREDENTIALS);
    if (q->credentials == NULL)
        return tab_no_memory(err);
    for (const tab_json *m = c->first; m != NULL; m = m->next)
        TAB_TRY(read_credential(r, m, TAB_S(""), q, err));
    return TAB_OK;
}

static tab_status read_key(request *r, const tab_json *m, Tabella__ConnectRequest *q, tab_error *err)
{
    if (m->kind != TAB_JSON_ARRAY)
        return tab_fail(err, TAB_VALIDATION, "options.key", "`options.key` must be an array of column names");
    q->key = tab_arena_new_of(r->arena, char *, m->count + 1);
    for (const tab_json *k = m->first; k != NULL && q->key != NULL; k = k->next) {
        if (k->kind != TAB_JSON_STRING)
            return tab_fail(err, TAB_VALIDATION, "options.key",
                            "`options.key` must be an array of column names");
        q->key[q->n_key++] = STR(tab_arena_copy(r->arena, k->text).p);
    }
    return TAB_OK;
}

static tab_status read_connect_options(request *r, const tab_json *o, Tabella__ConnectRequest *q,
                                       tab_error *err)
{
    const struct {
        const char *name;
        char **to;
    } texts[] = { { "query", &q->query }, { "sheet", &q->sheet }, { "records", &q->records } };
    char path[128];
    if (o == NULL)
        return TAB_OK;
    if (o->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "options", "`options` must be an object");
    for (const tab_json *m = o->first; m != NULL; m = m->next) {
        char **to = NULL;
        snprintf(path, sizeof path, "options.%.*s", (int)(m->key.n < 64 ? m->key.n : 64), m->key.p);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            if (tab_str_eq(m->key, tab_str_of(texts[i].name)))
                to = texts[i].to;
        if (tab_str_eq(m->key, TAB_S("key"))) {
            TAB_TRY(read_key(r, m, q, err));
        } else if (tab_str_eq(m->key, TAB_S("write"))) {
            if (m->kind != TAB_JSON_BOOL)
                return tab_fail(err, TAB_VALIDATION, path, "`options.write` must be true or false");
            q->write = m->yes;
        } else if (to == NULL) {
            return tab_fail(
                err, TAB_VALIDATION, path,
                "`options` has no such field; its fields are query, sheet, records, key and write");
        } else {
            if (m->kind != TAB_JSON_STRING || m->text.n == 0 || m->text.n > 65536)
                return tab_fail(err, TAB_VALIDATION, path, "`%s` must be a string", path);
            *to = STR(tab_arena_copy(r->arena, m->text).p);
        }
    }
    return TAB_OK;
}

tab_status post_data_connect(request *r, tab_error *err)
{
    Tabella__ConnectRequest q = TABELLA__CONNECT_REQUEST__INIT;
    const Tabella__ConnectReply *y = NULL;
    tab_body b;
    tab_str source, name;
    tab_status s = body_read(r, &b, err);
    if (s != TAB_OK || (s = body_text(b.root, "source", true, 2048, &source, err)) != TAB_OK ||
        (s = body_text(b.root, "name", false, 128, &name, err)) != TAB_OK ||
        (s = read_credentials(r, tab_json_get(b.root, "credentials"), &q, err)) != TAB_OK ||
        (s = read_connect_options(r, tab_json_get(b.root, "options"), &q, err)) != TAB_OK)
        return s;
    q.source = STR(tab_arena_copy(r->arena, source).p);
    q.name = STR(tab_arena_copy(r->arena, name).p);
    q.actor = r->who.key;
    if (tab_arena_full(r->arena))
        return tab_no_memory(err);
    s = call(r, "data-connector", "Connect", &q.base, &tabella__connect_reply__descriptor, &y, err);
    if (s != TAB_OK)
        return s;
    r->status = 201;
    tab_out_open(&r->out, '{');
    open_member(&r->out, "connection", '{');
    if (y->connection != NULL) {
        text_member(&r->out, "id", y->connection->id);
        text_member(&r->out, "kind", y->connection->kind);
        text_member(&r->out, "name", y->connection->name);
        text_member(&r->out, "source", y->connection->source);
    }
    tab_out_close(&r->out, '}');
    tab_out_key(&r->out, "dataset");
    if (y->dataset != NULL)
        data_json(&r->out, y->dataset);
    else
        tab_out_null(&r->out);
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

/* A sync runs as a job where the source last held more than an inline answer reads. */
static tab_status sync_as_job(request *r, const Tabella__SyncRequest *sync, uint64_t cells, tab_error *err)
{
    Tabella__SubmitRequest q = TABELLA__SUBMIT_REQUEST__INIT;
    const Tabella__Job *j;
    tab_str bytes = tab_proto_write(r->arena, &sync->base);
    q.job_id = tab_arena_printf(r->arena, "job_%s", r->seed);
    if (bytes.p == NULL || q.job_id == NULL)
        return tab_no_memory(err);
    q.kind = STR("sync");
    q.label = sync->id;
    q.processing = STR("realtime");
    q.request = (ProtobufCBinaryData){ bytes.n, (uint8_t *)(uintptr_t)bytes.p };
    q.key_id = r->who.key;
    q.surface = request_surface(r);
    q.cells = cells;
    tab_status s = call(r, "jobs", "Submit", &q.base, &tabella__job__descriptor, &j, err);
    if (s != TAB_OK)
        return s;
    tab_out_open(&r->out, '{');
    text_member(&r->out, "job_id", j->job_id);
    text_member(&r->out, "kind", j->kind);
    text_member(&r->out, "status", strcmp(j->status, "queued") == 0 ? "queued" : "running");
    text_member(&r->out, "id", sync->id);
    result_member(r, j->job_id);
    tab_out_close(&r->out, '}');
    r->status = 202;
    return TAB_OK;
}

/* Rows x columns that the source of a connection (or of a dataset that one feeds) had at its last sync; 0:
 * an upload. */
static tab_status last_cells(request *r, char *id, uint64_t *ret, tab_error *err)
{
    Tabella__DataRequest q = TABELLA__DATA_REQUEST__INIT;
    const Tabella__DataObject *d = NULL;
    q.id = id;
    tab_status s = call(r, "data-connector", "Get", &q.base, &tabella__data_object__descriptor, &d, err);
    if (s == TAB_OK && strcmp(d->kind, "connection") == 0 && d->dataset[0] != 0) {
        q.id = d->dataset;
        s = call(r, "data-connector", "Get", &q.base, &tabella__data_object__descriptor, &d, err);
    }
    *ret = s == TAB_OK && strcmp(d->source, "upload") != 0 ? d->cells : 0;
    return s;
}

tab_status post_data_sync(request *r, tab_error *err)
{
    Tabella__SyncRequest q = TABELLA__SYNC_REQUEST__INIT;
    const Tabella__SyncReply *y = NULL;
    uint64_t cells = 0;
    q.id = STR(tab_arena_copy(r->arena, r->param[0]).p);
    q.actor = r->who.key;
    tab_status s = last_cells(r, q.id, &cells, err);
    if (s == TAB_OK && cells > (uint64_t)r->api->cfg.inline_cells)
        return sync_as_job(r, &q, cells, err);
    if (s == TAB_OK)
        s = call(r, "data-connector", "Sync", &q.base, &tabella__sync_reply__descriptor, &y, err);
    if (s == TAB_OK)
        sync_members(r, y);
    return s;
}
