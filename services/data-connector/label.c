/* Label: a snapshot's rows with what became true of an endpoint's answers, for a refresh that takes outcomes.
 * */
#include "common/base/proto.h"
#include "services/data-connector/data.h"
#include "services/data-connector/store/labels.h"

/* What was answered under this `once` before, or NULL. */
static tab_status answered(tab_tx *tx, tab_call *call, const char *dataset, const char *once,
                           const Tabella__LabelReply **ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    *ret = NULL;
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "SELECT diff FROM data_connector.snapshot WHERE org = $1 AND dataset = $2 AND sync_id = $3",
        TAB_P(tab_p_text(call->org), tab_p_text(dataset), tab_p_text(once))));
    if (tab_rows_count(r) == 0)
        return TAB_OK;
    *ret =
        tab_proto_read(call->arena, &tabella__label_reply__descriptor, tab_rows_bytes(r, 0, 0, call->arena));
    return *ret != NULL ? TAB_OK : tab_fail(err, TAB_INTERNAL, "", "a stored answer cannot be read");
}

static tab_status put_labels(data_service *self, tab_tx *tx, tab_call *call, const store_snapshot *s,
                             labels *ret, tab_error *err)
{
    const Tabella__LabelRequest *q = call->in;
    tab_arena *a = call->arena;
    const tab_table *t;
    size_t target = 0;
    uint64_t cells;
    TAB_TRY(store_snapshot_read(tx, a, call->org, s, 0, s->rows, NULL, 0, s->name, &self->keys, &t, err));
    while (target < t->cols && !tab_str_eq(tab_column_address(a, t, target),
                                           (tab_str){ (const char *)q->target.data, q->target.len }))
        target++;
    if (target == t->cols)
        return tab_fail(err, TAB_NOT_FOUND, "target", "the table has no such column");
    TAB_TRY(labels_put(a, t, target, call->tables[0], q->outcome, ret, err));
    if (__builtin_mul_overflow((uint64_t)ret->table->rows, (uint64_t)t->cols, &cells) ||
        cells > DATA_MOST_CELLS)
        return tab_fail(err, TAB_VALIDATION, "", "with its outcomes the table has more than %d cells",
                        DATA_MOST_CELLS);
    return TAB_OK;
}

/* For a dry run: its owner drops it. */
static tab_status temporary(data_service *self, tab_tx *tx, tab_call *call, const store_snapshot *s,
                            const labels *l, const char *snapshot, tab_error *err)
{
    const Tabella__LabelRequest *q = call->in;
    char id[TAB_ID];
    tab_id_new(id, "ds_");
    store_dataset d = { .id = id,
                        .name = s->name,
                        .source = "connection",
                        .owner = q->owner,
                        .temporary = true,
                        .file = s->file };
    TAB_TRY(store_dataset_add(tx, call->org, &d, err));
    return store_snapshot_add(tx, call->org, id, snapshot, NULL, l->table, &self->keys, true, err);
}

tab_status data_label(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__LabelRequest *q = call->in;
    Tabella__LabelReply *y = call->out;
    const Tabella__LabelReply *before = NULL;
    TAB_AUTO(tab_tx) *tx = NULL;
    store_snapshot s;
    labels l;
    const char *current, *feeds;
    char snapshot[TAB_ID];
    if (call->n_tables != 1 || q->outcome >= call->tables[0]->cols)
        return tab_fail(err, TAB_VALIDATION, "tables", "One call can have only one table of outcomes.");
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(store_hold_blocks(tx, call->org, false, err));
    TAB_TRY(store_snapshot_get(tx, call->arena, call->org, q->snapshot, &s, err));
    if (q->owner[0] == '\0') { /* one at a time */
        TAB_TRY(store_dataset_lock(tx, call->arena, call->org, s.dataset, false, &current, &feeds, err));
        TAB_TRY(answered(tx, call, s.dataset, q->once, &before, err));
        if (before != NULL) {
            *y = *before;
            return TAB_OK;
        }
    }
    TAB_TRY(put_labels(self, tx, call, &s, &l, err));
    tab_id_new(snapshot, "dsv_");
    y->snapshot = tab_proto_text(call->arena, snapshot);
    y->rows = l.table->rows;
    y->cols = l.table->cols;
    y->added = l.added;
    y->labelled = l.labelled;
    y->known = l.known;
    if (q->owner[0] != '\0') {
        TAB_TRY(temporary(self, tx, call, &s, &l, snapshot, err));
        return tab_tx_commit(&tx, err);
    }
    tab_str answer = tab_proto_write(call->arena, &y->base);
    if (answer.p == NULL)
        return tab_no_memory(err);
    TAB_TRY(store_snapshot_beside(tx, call->org, s.dataset, snapshot, q->once, answer, l.table, &self->keys,
                                  err));
    return tab_tx_commit(&tx, err);
}
