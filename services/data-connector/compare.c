/* What a dataset's snapshots are, what two of them differ by, and how one's values are spread: for who looks
 * at data that are kept. */
#include <stdio.h>
#include <string.h>

#include "common/base/proto.h"
#include "common/json/spread.h"
#include "services/data-connector/data.h"
#include "services/data-connector/store/diff.h"

/* MOST_KEY: columns of a declared key. COMPARED: cells of the snapshots that one call looks at, which lie in
 * memory as a whole. EXAMPLES: values that stand for a column. */
enum { MOST_KEY = 3, COMPARED = 20000000, EXAMPLES = 3, PAGE = 100 };

/* ---- the sums -------------------------------------------------------------------------------- */

static tab_status names(tab_arena *a, const tab_str *from, size_t n, char ***ret, size_t *ret_n,
                        tab_error *err)
{
    *ret = tab_arena_new_of(a, char *, n);
    if (*ret == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (((*ret)[i] = (char *)tab_arena_copy(a, from[i]).p) == NULL)
            return tab_no_memory(err);
    *ret_n = n;
    return TAB_OK;
}

tab_status data_diff_message(tab_arena *a, const row_diff *d, Tabella__RowDiff **ret, tab_error *err)
{
    Tabella__RowDiff *m = tab_arena_new_of(a, Tabella__RowDiff, 1);
    if (m == NULL)
        return tab_no_memory(err);
    tabella__row_diff__init(m);
    m->rows_added = d->added;
    m->rows_changed = d->changed;
    m->rows_removed = d->removed;
    m->rows_unchanged = d->unchanged;
    TAB_TRY(names(a, d->columns_added, d->n_added, &m->columns_added, &m->n_columns_added, err));
    TAB_TRY(names(a, d->columns_removed, d->n_removed, &m->columns_removed, &m->n_columns_removed, err));
    TAB_TRY(names(a, d->types_changed, d->n_types, &m->types_changed, &m->n_types_changed, err));
    TAB_TRY(names(a, d->key, d->n_key, &m->key, &m->n_key, err));
    *ret = m;
    return TAB_OK;
}

/* A snapshot's rows, and the key that their connection declared. */
typedef struct {
    store_snapshot s;
    const tab_table *t;
} stored;

static tab_status load(data_service *self, tab_tx *tx, tab_call *call, stored *x, tab_error *err)
{
    return store_snapshot_read(tx, call->arena, call->org, &x->s, 0, x->s.rows, NULL, 0, x->s.name,
                               &self->keys, &x->t, err);
}

static tab_status declared_key(tab_tx *tx, tab_call *call, const stored x[2], tab_str key[MOST_KEY],
                               size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(
        tab_tx_query(tx, &r, err,
                     "SELECT unnest(row_key) "
                     "FROM data_connector.connection "
                     "WHERE org = $1 AND dataset IN ($2, $3) " /* a dry run reads the second one by itself */
                     "LIMIT 3",
                     TAB_P(tab_p_text(call->org), tab_p_text(x[0].s.dataset), tab_p_text(x[1].s.dataset))));
    for (*ret_n = 0; *ret_n < tab_rows_count(r); (*ret_n)++)
        key[*ret_n] = tab_str_of(tab_proto_text(call->arena, tab_rows_text(r, *ret_n, 0)));
    return TAB_OK;
}

tab_status data_diff(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__DiffRequest *q = call->in;
    Tabella__DiffReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_str key[MOST_KEY];
    size_t n_key = 0;
    const char *id[2] = { q->from, q->to };
    stored x[2];
    row_diff d;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    for (int i = 0; i < 2; i++) {
        TAB_TRY(store_snapshot_get(tx, call->arena, call->org, id[i], &x[i].s, err));
        TAB_TRY(load(self, tx, call, &x[i], err));
    }
    TAB_TRY(declared_key(tx, call, x, key, &n_key, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    TAB_TRY(diff_tables(call->arena, x[0].t, x[1].t, key, n_key, &d, err));
    return data_diff_message(call->arena, &d, &out->diff, err);
}

/* ---- the list -------------------------------------------------------------------------------- */

/* A snapshot of the dataset by its id, "" for the current one. NOT_FOUND for what is of another dataset. */
static tab_status snapshot_of(tab_tx *tx, tab_call *call, const char *dataset, const char *id,
                              const char *param, store_snapshot *ret, tab_error *err)
{
    tab_status s = store_snapshot_get(tx, call->arena, call->org, dataset, ret, err);
    if (s == TAB_NOT_FOUND || (s == TAB_OK && ret->temporary))
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such dataset.");
    if (s != TAB_OK || id[0] == '\0')
        return s;
    s = store_snapshot_get(tx, call->arena, call->org, id, ret, err);
    if (s == TAB_NOT_FOUND || (s == TAB_OK && strcmp(ret->dataset, dataset) != 0))
        return tab_fail(err, TAB_NOT_FOUND, param, "The dataset has no such snapshot.");
    return s;
}

tab_status data_snapshots(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__SnapshotsRequest *q = call->in;
    Tabella__SnapshotsReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    store_snapshot now;
    int64_t limit = q->limit == 0 || q->limit > PAGE ? PAGE : q->limit;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(snapshot_of(tx, call, q->id, "", "id", &now, err));
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "SELECT id, created, rows, cols, bytes, kept, outcomes, "
        "(SELECT count(*) FROM data_connector.snapshot WHERE org = $1 AND dataset = $2) "
        "FROM data_connector.snapshot "
        "WHERE org = $1 AND dataset = $2 AND ($3 = 0 OR created < "
        "timestamptz '1970-01-01 UTC' + $3 * interval '1 microsecond') "
        "ORDER BY created DESC LIMIT $4",
        TAB_P(tab_p_text(call->org), tab_p_text(q->id), tab_p_int(q->before), tab_p_int(limit))));
    size_t n = tab_rows_count(r);
    out->snapshots = tab_arena_new_of(call->arena, Tabella__SnapshotEntry *, n + 1);
    for (size_t i = 0; out->snapshots != NULL && i < n; i++) {
        Tabella__SnapshotEntry *e = tab_arena_new_of(call->arena, Tabella__SnapshotEntry, 1);
        if (e == NULL)
            return tab_no_memory(err);
        tabella__snapshot_entry__init(e);
        e->id = tab_proto_text(call->arena, tab_rows_text(r, i, 0));
        e->created = tab_rows_time(r, i, 1);
        e->rows = (uint64_t)tab_rows_int(r, i, 2);
        e->cols = (uint64_t)tab_rows_int(r, i, 3);
        e->bytes = (uint64_t)tab_rows_int(r, i, 4);
        e->kept = tab_rows_bool(r, i, 5);
        e->current = strcmp(e->id, now.id) == 0;
        e->outcomes = tab_rows_bool(r, i, 6);
        out->total = (uint64_t)tab_rows_int(r, i, 7);
        out->snapshots[out->n_snapshots++] = e;
    }
    if (out->snapshots == NULL)
        return tab_no_memory(err);
    return tab_tx_commit(&tx, err);
}

/* ---- row by row ------------------------------------------------------------------------------ */

/* The state of its source before this snapshot, of the same dataset. */
static tab_status before(tab_tx *tx, tab_call *call, const store_snapshot *s, store_snapshot *ret,
                         tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT id FROM data_connector.snapshot "
                         "WHERE org = $1 AND dataset = $2 AND NOT outcomes AND created < (SELECT created "
                         "FROM data_connector.snapshot WHERE org = $1 AND id = $3) "
                         "ORDER BY created DESC LIMIT 1",
                         TAB_P(tab_p_text(call->org), tab_p_text(s->dataset), tab_p_text(s->id))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "before", "The dataset has no snapshot before this one.");
    return store_snapshot_get(tx, call->arena, call->org, tab_rows_text(r, 0, 0), ret, err);
}

/* Where a column of this address is, or cols. */
static size_t column_at(tab_arena *a, const tab_table *t, tab_str address)
{
    size_t c = 0;
    while (c < t->cols && !tab_str_eq(tab_column_address(a, t, c), address))
        c++;
    return c;
}

/* The first values of a column that differ from each other. */
static bool examples(tab_arena *a, const tab_column *c, size_t rows, ProtobufCBinaryData **ret, size_t *ret_n)
{
    char digits[32];
    *ret = tab_arena_new_of(a, ProtobufCBinaryData, EXAMPLES);
    *ret_n = 0;
    for (size_t r = 0; *ret != NULL && r < rows && *ret_n < EXAMPLES; r++) {
        tab_cell x = tab_cell_at(c, r);
        if (x.kind == TAB_CELL_NULL)
            continue;
        tab_str s = x.kind == TAB_CELL_NUMBER && x.text.n == 0
                        ? (tab_str){ digits, tab_number_text(x.num, digits) }
                        : x.text;
        size_t k = 0;
        while (k < *ret_n && !tab_str_eq(s, (tab_str){ (const char *)(*ret)[k].data, (*ret)[k].len }))
            k++;
        if (k < *ret_n)
            continue;
        s = tab_arena_copy(a, s);
        (*ret)[(*ret_n)++] = (ProtobufCBinaryData){ .len = s.n, .data = (uint8_t *)(uintptr_t)s.p };
    }
    return *ret != NULL;
}

/* Where each column that the answer shows lies in the two tables; cols of a table that lacks it. */
typedef struct {
    tab_str name;
    size_t at[2];
} both;

static bool line_up(tab_arena *a, const stored x[2], both **ret, size_t *ret_n)
{
    both *b = tab_arena_new_of(a, both, x[0].t->cols + x[1].t->cols + 1);
    size_t n = 0;
    for (size_t c = 0; b != NULL && c < x[1].t->cols; c++) {
        tab_str name = tab_column_address(a, x[1].t, c);
        b[n++] = (both){ name, { column_at(a, x[0].t, name), c } };
    }
    for (size_t c = 0; b != NULL && c < x[0].t->cols; c++) {
        tab_str name = tab_column_address(a, x[0].t, c);
        if (column_at(a, x[1].t, name) == x[1].t->cols)
            b[n++] = (both){ name, { c, x[1].t->cols } };
    }
    *ret = b, *ret_n = n;
    return b != NULL;
}

static Tabella__ColumnChange *column_change(tab_arena *a, const stored x[2], const both *b, const row_diff *d)
{
    Tabella__ColumnChange *m = tab_arena_new_of(a, Tabella__ColumnChange, 1);
    if (m == NULL)
        return NULL;
    tabella__column_change__init(m);
    bool was = b->at[0] < x[0].t->cols, is = b->at[1] < x[1].t->cols, retyped = false;
    for (size_t k = 0; k < d->n_types; k++)
        retyped = retyped || tab_str_eq(d->types_changed[k], b->name);
    m->name = (ProtobufCBinaryData){ .len = b->name.n, .data = (uint8_t *)(uintptr_t)b->name.p };
    m->change = tab_proto_text(a, !was ? "added" : !is ? "removed" : retyped ? "retyped" : "same");
    if (was)
        m->was = tab_proto_text(a, diff_kind(&x[0].t->col[b->at[0]], x[0].t->rows));
    if (is)
        m->is = tab_proto_text(a, diff_kind(&x[1].t->col[b->at[1]], x[1].t->rows));
    bool shown = !was || !is || retyped;
    if (shown && was &&
        !examples(a, &x[0].t->col[b->at[0]], x[0].t->rows, &m->examples_before, &m->n_examples_before))
        return NULL;
    if (shown && is &&
        !examples(a, &x[1].t->col[b->at[1]], x[1].t->rows, &m->examples_after, &m->n_examples_after))
        return NULL;
    return tab_arena_full(a) ? NULL : m;
}

/* The rows of the page as they lie in one of the tables: null where it has none. */
static const tab_table *page_table(tab_arena *a, const stored *x, int side, const both *b, size_t cols,
                                   const row_change *row, size_t n)
{
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, cols + 1);
    if (t == NULL || col == NULL)
        return NULL;
    row_change_kind absent = side == 0 ? ROW_ADDED : ROW_REMOVED;
    for (size_t c = 0; c < cols; c++) {
        tab_builder *build = tab_builder_new(a, b[c].name);
        for (size_t i = 0; build != NULL && i < n; i++) {
            if (row[i].kind == absent || b[c].at[side] >= x->t->cols)
                tab_builder_null(build);
            else
                tab_builder_cell(
                    build, tab_cell_at(&x->t->col[b[c].at[side]], side == 0 ? row[i].before : row[i].after));
        }
        if (build == NULL || !tab_builder_finish(build, &col[c]))
            return NULL;
    }
    *t = (tab_table){
        .id = side == 0 ? TAB_S("before") : TAB_S("after"), .rows = n, .cols = cols, .col = col
    };
    return t;
}

static const char *const CHANGE[] = { "changed", "removed", "added" };

/* Of the list those of one kind ("": of all), and of these the page. */
static size_t cut_page(const Tabella__CompareRequest *q, row_changes *list, uint64_t *ret_total)
{
    size_t total = 0, n = 0, limit = q->limit == 0 || q->limit > PAGE ? PAGE : q->limit;
    for (size_t i = 0; i < list->n; i++) {
        if (q->change[0] != '\0' && strcmp(q->change, CHANGE[list->row[i].kind]) != 0)
            continue;
        if (total++ >= q->first && n < limit)
            list->row[n++] = list->row[i];
    }
    *ret_total = total;
    return n;
}

static tab_status compared(tab_call *call, const stored x[2], const row_diff *d, const row_change *row,
                           size_t n, tab_error *err)
{
    tab_arena *a = call->arena;
    Tabella__CompareReply *out = call->out;
    const tab_table **tables = tab_arena_new_of(a, const tab_table *, 2);
    both *b;
    size_t cols;
    if (tables == NULL || !line_up(a, x, &b, &cols))
        return tab_no_memory(err);
    out->columns = tab_arena_new_of(a, Tabella__ColumnChange *, cols + 1);
    out->change = tab_arena_new_of(a, char *, n + 1);
    out->row_before = tab_arena_new_of(a, uint64_t, n + 1);
    out->row_after = tab_arena_new_of(a, uint64_t, n + 1);
    if (tab_arena_full(a))
        return tab_no_memory(err);
    for (; out->n_columns < cols; out->n_columns++)
        if ((out->columns[out->n_columns] = column_change(a, x, &b[out->n_columns], d)) == NULL)
            return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        out->change[out->n_change++] = tab_proto_text(a, CHANGE[row[i].kind]);
        out->row_before[out->n_row_before++] = row[i].before;
        out->row_after[out->n_row_after++] = row[i].after;
    }
    for (int side = 0; side < 2; side++)
        if ((tables[side] = page_table(a, &x[side], side, b, cols, row, n)) == NULL)
            return tab_no_memory(err);
    call->out_tables = tables;
    call->n_out_tables = 2;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status data_compare(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__CompareRequest *q = call->in;
    Tabella__CompareReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_str key[MOST_KEY];
    size_t n_key = 0;
    stored x[2];
    row_diff d;
    row_changes list;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(snapshot_of(tx, call, q->id, q->to, "after", &x[1].s, err));
    TAB_TRY(q->from[0] != '\0' ? snapshot_of(tx, call, q->id, q->from, "before", &x[0].s, err)
                               : before(tx, call, &x[1].s, &x[0].s, err));
    if (x[0].s.rows * x[0].s.cols + x[1].s.rows * x[1].s.cols > COMPARED)
        return tab_fail(err, TAB_VALIDATION, "after",
                        "Snapshots with more than %d cells in total cannot be compared.", COMPARED);
    for (int i = 0; i < 2; i++)
        TAB_TRY(load(self, tx, call, &x[i], err));
    TAB_TRY(declared_key(tx, call, x, key, &n_key, err));
    TAB_TRY(diff_rows(call->arena, x[0].t, x[1].t, key, n_key, &d, &list, err));
    data_step step = { &x[0].s, x[0].t, x[1].t, &d, &list };
    if (q->first == 0) /* later pages are of the rows */
        TAB_TRY(data_expected(self, tx, call, &step, &out->expectations, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    TAB_TRY(data_diff_message(call->arena, &d, &out->diff, err));
    size_t n = cut_page(q, &list, &out->total);
    out->from = (char *)x[0].s.id;
    out->to = (char *)x[1].s.id;
    return compared(call, x, &d, list.row, n, err);
}

/* ---- how values are spread ------------------------------------------------------------------- */

static tab_status reading_of(tab_tx *tx, const tab_call *call, const char *id, char **ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT reading FROM data_connector.dataset WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(id))));
    *ret = tab_proto_text(call->arena, tab_rows_count(r) > 0 ? tab_rows_text(r, 0, 0) : "");
    return *ret != NULL ? TAB_OK : tab_no_memory(err);
}

tab_status data_profile(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    const Tabella__ProfileRequest *q = call->in;
    Tabella__ProfileReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    stored x;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(snapshot_of(tx, call, q->id, q->snapshot, "snapshot", &x.s, err));
    if (x.s.rows * x.s.cols > COMPARED)
        return tab_fail(err, TAB_VALIDATION, "id", "Snapshots with more than %d cells cannot be shown here.",
                        COMPARED);
    TAB_TRY(load(self, tx, call, &x, err));
    TAB_TRY(reading_of(tx, call, q->id, &out->reading, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    out->snapshot = (char *)x.s.id;
    out->created = x.s.created;
    out->rows = x.s.rows;
    out->columns = tab_arena_new_of(call->arena, Tabella__ColumnShape *, x.t->cols + 1);
    for (size_t c = 0; out->columns != NULL && c < x.t->cols; c++) {
        Tabella__ColumnShape *m = tab_arena_new_of(call->arena, Tabella__ColumnShape, 1);
        if (m == NULL)
            return tab_no_memory(err);
        tabella__column_shape__init(m);
        tab_str name = x.t->col[c].name;
        m->name = (ProtobufCBinaryData){ .len = name.n, .data = (uint8_t *)(uintptr_t)name.p };
        m->kind = tab_proto_text(call->arena, diff_kind(&x.t->col[c], x.t->rows));
        if ((m->spread = tab_spread_column(call->arena, &x.t->col[c], x.t->rows)) == NULL)
            return tab_no_memory(err);
        m->missing = x.t->rows - m->spread->present;
        out->columns[out->n_columns++] = m;
    }
    return out->columns == NULL ? tab_no_memory(err) : TAB_OK;
}
