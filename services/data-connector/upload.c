/* Files on their way in (decision 0365). The api sends a file in pieces, as it comes; they are rows of
 * the database, so that any process of this service may read it and none of them holds it. Reading it:
 *
 *   rows -> an unnamed file on this machine's disk -> a process that reads it (child.h) -> pieces of tables,
 *   one at a time -> one transaction, in which the datasets appear and the file's rows go
 *
 * What its sender left behind (a client that went, an api that was killed) is dropped by the sweeper some
 * minutes after the last piece; what belongs to a job goes when that ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "services/data-connector/data.h"
#include "services/data-connector/reader/child.h"

enum {
    PIECE_MOST = 4 << 20,
    LOOK_EACH = 32,    /* pieces of a file between two looks at what all organizations hold */
    SCRATCH = 1 << 30, /* of packing one piece of a table */
    CHANGES_MS = 30000
};

/* ---- pieces of a file ------------------------------------------------------------------------ */

/* Whether what all organizations have on their way leaves room: a disk is full for everybody. */
static tab_status room_for_all(data_service *self, tab_deadline until, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, until, &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT coalesce(sum(bytes), 0)::bigint FROM data_connector.upload",
                         TAB_P_NONE));
    int64_t bytes = tab_rows_int(r, 0, 0);
    TAB_TRY(tab_tx_commit(&tx, err));
    return bytes < self->upload_all
               ? TAB_OK
               : tab_fail(err, TAB_UNAVAILABLE, "", "too many uploads are in progress; retry with backoff");
}

/* The piece of this number, once; and how long the file is now. */
static tab_status put_piece(data_service *self, tab_tx *tx, const tab_call *call, int64_t *ret_bytes,
                            tab_error *err)
{
    const Tabella__UploadPartRequest *q = call->in;
    TAB_AUTO(tab_rows) *r = NULL;
    tab_str bytes = { (const char *)q->bytes.data, q->bytes.len };
    if (q->number == 0)
        TAB_TRY(tab_tx_query(tx, NULL, err,
                             "INSERT INTO data_connector.upload (org, id) VALUES ($1, $2) "
                             "ON CONFLICT (org, id) DO NOTHING",
                             TAB_P(tab_p_text(call->org), tab_p_text(q->upload))));
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "UPDATE data_connector.upload "
        "SET bytes = bytes + CASE WHEN pieces = $3::bigint THEN $4 ELSE 0 END, "
        "pieces = pieces + CASE WHEN pieces = $3::bigint AND $4 > 0 THEN 1 ELSE 0 END, "
        "owner = CASE WHEN owner = '' THEN $5 ELSE owner END, touched = clock_timestamp() "
        "WHERE org = $1 AND id = $2 AND pieces IN ($3, $3::bigint + 1) AND (owner = '' OR owner = $5) "
        "RETURNING bytes, (SELECT coalesce(sum(o.bytes), 0)::bigint FROM data_connector.upload o "
        "WHERE o.org = $1 AND o.id <> $2)",
        TAB_P(tab_p_text(call->org), tab_p_text(q->upload), tab_p_int((int64_t)q->number),
              tab_p_int((int64_t)bytes.n), tab_p_text(q->owner))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_UNAVAILABLE, "",
                        "the upload was abandoned in the meantime; send the file again");
    *ret_bytes = tab_rows_int(r, 0, 0);
    return bytes.n == 0 ? TAB_OK
                        : store_upload_piece_add(tx, &self->keys, call->org, q->upload, (int64_t)q->number,
                                                 bytes, err);
}

tab_status data_upload_part(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__UploadPartRequest *q = call->in;
    Tabella__UploadPartReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    int64_t bytes = 0;
    if (q->upload[0] == '\0' || q->bytes.len > PIECE_MOST || q->number > INT32_MAX)
        return tab_fail(err, TAB_VALIDATION, "file", "a piece of a file that is none");
    if ((q->resumes ? q->offset >> 20 : q->number) % LOOK_EACH == 0 && q->bytes.len > 0)
        TAB_TRY(room_for_all(self, call->deadline, err));
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    if (q->bytes.len > 0) { /* before it is counted: two files at once may both find room for a last piece */
        TAB_AUTO(tab_rows) *r = NULL;
        TAB_TRY(tab_tx_query(tx, &r, err,
                             "SELECT coalesce(sum(bytes), 0)::bigint, coalesce(max(most), 0)::bigint "
                             "FROM data_connector.upload WHERE org = $1",
                             TAB_P(tab_p_text(call->org))));
        int64_t most = tab_rows_int(r, 0, 1) > self->upload_org ? tab_rows_int(r, 0, 1) : self->upload_org;
        if (tab_rows_int(r, 0, 0) + (int64_t)q->bytes.len > most)
            return tab_fail(
                err, TAB_RATE_LIMIT, "",
                "uploads of this organization already hold %lld MiB, the most they may; try again when some "
                "have been read",
                (long long)(most >> 20));
    }
    TAB_TRY(q->resumes ? data_upload_append(self, tx, call, &bytes, err)
                       : put_piece(self, tx, call, &bytes, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    out->bytes = (uint64_t)bytes;
    return TAB_OK;
}

tab_status data_upload_drop(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__UploadRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(tab_tx_query(tx, NULL, err, "DELETE FROM data_connector.upload WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->upload))));
    return tab_tx_commit(&tx, err);
}

tab_status data_upload_owned(tab_tx *tx, const char *org, const char *owner, tab_error *err)
{
    return tab_tx_query(tx, NULL, err, "DELETE FROM data_connector.upload WHERE org = $1 AND owner = $2",
                        TAB_P(tab_p_text(org), tab_p_text(owner)));
}

/* ---- the file on this machine's disk --------------------------------------------------------- */

/* Without a name: it is gone with the last process that has it open, however that ends. */
static tab_status open_unnamed(const char *folder, int *ret, tab_error *err)
{
    *ret = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*ret < 0) { /* not every file system knows it */
        char name[300];
        int n = snprintf(name, sizeof name, "%s/tabella-upload-XXXXXX", folder);
        *ret = n > 0 && (size_t)n < sizeof name ? mkostemp(name, O_CLOEXEC) : -1;
        if (*ret >= 0)
            unlink(name);
    }
    return *ret >= 0 ? TAB_OK
                     : tab_fail(err, TAB_UNAVAILABLE, "", "the uploaded file cannot be stored: %s",
                                strerror(errno));
}

static tab_status write_all(int fd, tab_str s, tab_error *err)
{
    while (s.n > 0) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return tab_fail(err, TAB_UNAVAILABLE, "", "the uploaded file cannot be stored: %s",
                            strerror(errno));
        s = (tab_str){ s.p + n, s.n - (size_t)n };
    }
    return TAB_OK;
}

static tab_status upload_size(data_service *self, tab_call *call, const char *id, int64_t *ret_bytes,
                              int64_t *ret_pieces, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "UPDATE data_connector.upload SET touched = clock_timestamp() "
                         "WHERE org = $1 AND id = $2 RETURNING bytes, pieces",
                         TAB_P(tab_p_text(call->org), tab_p_text(id))));
    TAB_TRY(tab_tx_commit(&tx, err));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_VALIDATION, "file", "the uploaded file is no longer stored; send it again");
    *ret_bytes = tab_rows_int(r, 0, 0);
    *ret_pieces = tab_rows_int(r, 0, 1);
    return *ret_bytes > 0 ? TAB_OK : tab_fail(err, TAB_VALIDATION, "file", "the file is empty");
}

/* Its pieces into the file, one at a time. */
static tab_status gather(data_service *self, tab_call *call, const char *id, int64_t pieces, int fd,
                         tab_error *err)
{
    TAB_AUTO(tab_keyring) *own = NULL;
    for (int64_t i = 0; i < pieces; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(4 * PIECE_MOST);
        TAB_AUTO(tab_tx) *tx = NULL;
        tab_str bytes;
        if (a == NULL)
            return tab_no_memory(err);
        if (*call->cancel)
            return source_too_late(err);
        TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
        TAB_TRY(store_upload_piece_read(tx, a, &self->keys, &own, call->org, id, i, &bytes, err));
        TAB_TRY(write_all(fd, bytes, err));
        TAB_TRY(tab_tx_commit(&tx, err));
    }
    return TAB_OK;
}

/* ---- its tables ------------------------------------------------------------------------------ */

typedef struct {
    data_service *self;
    tab_call *call;
    tab_tx *tx; /* from the first word about its tables on */
    org_keys keys;
    char (*dataset)[TAB_ID], (*snapshot)[TAB_ID];
    store_size *size;
    size_t n;
    tab_str notes;
} loading;

/* The file has been read, so the transaction is as long as the storing. */
static tab_status on_tables(void *arg, Tabella__FileTable *const *t, size_t n, tab_str notes, tab_error *err)
{
    loading *l = arg;
    tab_call *call = l->call;
    const Tabella__LoadRequest *q = call->in;
    l->dataset = tab_arena_alloc(call->arena, n, sizeof *l->dataset);
    l->snapshot = tab_arena_alloc(call->arena, n, sizeof *l->snapshot);
    l->size = tab_arena_new_of(call->arena, store_size, n);
    if (n == 0 || l->dataset == NULL || l->snapshot == NULL || l->size == NULL)
        return n == 0 ? tab_fail(err, TAB_INTERNAL, "", "a file without tables") : tab_no_memory(err);
    l->notes = tab_arena_copy(call->arena, notes);
    TAB_TRY(tab_tx_begin(l->self->pg, call->org, call->deadline, &l->tx, err));
    TAB_TRY(store_hold_blocks(l->tx, call->org, false, err));
    TAB_TRY(org_keys_get(l->tx, call->org, &l->self->keys, &l->keys, err));
    for (size_t i = 0; i < n; i++) {
        tab_id_new(l->dataset[i], "ds_");
        tab_id_new(l->snapshot[i], "dsv_");
        l->size[i] = (store_size){ (size_t)t[i]->rows, (size_t)t[i]->cols, 0 };
        store_dataset d = { .id = l->dataset[i],
                            .name = tab_proto_text(call->arena, t[i]->id),
                            .source = "upload",
                            .file = !t[i]->stored,
                            .ingest_id = tab_arena_printf(call->arena, "%s/%zu", q->ingest_id, i) };
        d.owner = "";
        if (t[i]->cols == 0)
            return tab_fail(err, TAB_VALIDATION, "file", "A table must have 1 to %d columns.",
                            DATA_MOST_COLS);
        TAB_TRY(store_dataset_add(l->tx, call->org, &d, err));
        TAB_TRY(store_dataset_noted(l->tx, call->org, d.id, l->notes, tab_str_of(t[i]->reading), err));
        TAB_TRY(store_audit(l->tx, call, call->actor, "dataset.create", d.id, d.source, err));
    }
    l->n = n;
    return TAB_OK;
}

static tab_status on_piece(void *arg, const child_piece *p, tab_str bytes, tab_error *err)
{
    loading *l = arg;
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    block b;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(block_pack(a, bytes, l->keys.address, &b, err));
    l->size[p->table].bytes += b.bytes.n;
    TAB_TRY(org_keys_seal(l->keys.data, a, l->call->org, &b, err));
    const block_range at = { (size_t)p->first_row, (size_t)p->rows, (size_t)p->first_col, (size_t)p->cols };
    return store_piece_add(l->tx, l->call->org, l->snapshot[p->table], at, &b, err);
}

/* The datasets of an earlier attempt; NOT_FOUND: there was none. */
static tab_status loaded_before(data_service *self, tab_call *call, tab_error *err)
{
    const Tabella__LoadRequest *q = call->in;
    Tabella__LoadReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT id, notes FROM data_connector.dataset "
                         "WHERE org = $1 AND starts_with(ingest_id, $2 || '/') AND NOT temporary "
                         "ORDER BY split_part(ingest_id, '/', 2)::int",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->ingest_id))));
    size_t n = tab_rows_count(r);
    if (n == 0)
        return TAB_NOT_FOUND;
    out->datasets = tab_arena_new_of(call->arena, Tabella__DataObject *, n);
    if (out->datasets == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const char *id = tab_proto_text(call->arena, tab_rows_text(r, i, 0));
        TAB_TRY(store_object(tx, call->arena, call->org, id, &out->datasets[i], err));
        out->n_datasets = i + 1;
    }
    out->notes = out->datasets[0]->notes;
    out->n_notes = out->datasets[0]->n_notes;
    TAB_TRY(tab_tx_query(tx, NULL, err, "DELETE FROM data_connector.upload WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->upload))));
    return tab_tx_commit(&tx, err);
}

static tab_status read_file(loading *l, int fd, int64_t bytes, tab_error *err)
{
    data_service *self = l->self;
    tab_call *call = l->call;
    const Tabella__LoadRequest *q = call->in;
    Tabella__SourceTask task = TABELLA__SOURCE_TASK__INIT;
    Tabella__ConnectRequest no_source = TABELLA__CONNECT_REQUEST__INIT;
    const child_sink sink = { on_tables, on_piece, l };
    tab_deadline until = tab_within_ms(call->deadline, self->read_s * 1000);
    read_turn turn;
    TAB_TRY(reads_enter(&self->reads, &turn, call->org, "upload://", until, call->cancel, err));
    int64_t left = tab_left_ms(until, INT32_MAX);
    no_source.sheet = q->sheet;
    no_source.reading = q->reading;
    task.source = &no_source;
    task.file_bytes = (uint64_t)bytes;
    task.file_name = q->file_name;
    task.table_name = q->name;
    task.left_ms = left;
    task.read_mib = self->read_mib;
    task.memory_mib = self->memory_mib;
    tab_status s = child_load(call->arena, &task, fd, tab_in_ms(left), call->cancel, &sink, err);
    reads_leave(&self->reads, &turn);
    return s;
}

static tab_status finish(loading *l, tab_error *err)
{
    const Tabella__LoadRequest *q = l->call->in;
    const char *org = l->call->org;
    for (size_t i = 0; i < l->n; i++)
        TAB_TRY(store_snapshot_pieced(l->tx, org, l->dataset[i], l->snapshot[i], NULL, &l->size[i], err));
    TAB_TRY(tab_tx_query(l->tx, NULL, err, "DELETE FROM data_connector.upload WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(q->upload))));
    return tab_tx_commit(&l->tx, err);
}

static tab_status load_once(data_service *self, tab_call *call, tab_error *err)
{
    const Tabella__LoadRequest *q = call->in;
    loading l = { .self = self, .call = call };
    int64_t bytes = 0, pieces = 0;
    int fd = -1;
    TAB_TRY(upload_size(self, call, q->upload, &bytes, &pieces, err));
    TAB_TRY(open_unnamed(self->upload_dir, &fd, err));
    tab_status s = gather(self, call, q->upload, pieces, fd, err);
    if (s == TAB_OK)
        s = read_file(&l, fd, bytes, err);
    close(fd);
    if (s == TAB_OK)
        s = finish(&l, err);
    tab_tx_free(l.tx);
    org_keys_freep(&l.keys);
    return s;
}

tab_status data_load(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__LoadRequest *q = call->in;
    if (q->upload[0] == '\0' || q->ingest_id[0] == '\0')
        return tab_fail(err, TAB_VALIDATION, "file", "which file is to be read, and as what, is missing");
    tab_status s = loaded_before(self, call, err);
    if (s != TAB_NOT_FOUND)
        return s;
    s = load_once(self, call, err);
    if (s != TAB_OK &&
        s != TAB_CONFLICT) /* another call with this id was faster: its datasets are the answer */
        return s;
    tab_relay_nudge(self->relay);
    s = loaded_before(self, call, err);
    return s != TAB_NOT_FOUND ? s : tab_fail(err, TAB_INTERNAL, "", "a file was read to no dataset");
}
