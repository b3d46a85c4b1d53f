/* /platform/v1/data/:id: a dataset's snapshots, what two of them differ by, and how one's values are spread.
 * None of them is metered: nothing is learned from the data. */
#include <stdio.h>

#include "common/json/spread.h"
#include "proto/data.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/service_calls.h"

static tab_str text_of(ProtobufCBinaryData d)
{
    return (tab_str){ (const char *)d.data, d.len };
}

/* A cursor of ours holds a number. */
static uint64_t number(tab_str digits)
{
    uint64_t x = 0;
    for (size_t i = 0; i < digits.n; i++)
        x = 10 * x + (uint64_t)(digits.p[i] - '0'); /* our own digits: the signature held */
    return x;
}

static tab_status id_param(request *r, const char *name, char **ret, tab_error *err)
{
    tab_str value;
    TAB_TRY(query_param(r, name, &value, err));
    if (value.n > 128 || (value.n > 0 && memchr(value.p, 0, value.n) != NULL))
        return tab_fail(err, TAB_VALIDATION, name, "`%s` must be the id of a snapshot", name);
    *ret = value.n > 0 ? STR(tab_arena_copy(r->arena, value).p) : STR("");
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

static void snapshot_entry(request *r, const void *reply, size_t i)
{
    const Tabella__SnapshotEntry *e = ((const Tabella__SnapshotsReply *)reply)->snapshots[i];
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    text_member(o, "id", e->id);
    time_member(o, "created_at", e->created);
    uint_member(o, "rows", e->rows);
    uint_member(o, "cols", e->cols);
    uint_member(o, "size_bytes", e->bytes);
    bool_member(o, "kept", e->kept);
    bool_member(o, "current", e->current);
    bool_member(o, "outcomes", e->outcomes);
    tab_out_close(o, '}');
}

tab_status get_data_snapshots(request *r, tab_error *err)
{
    Tabella__SnapshotsRequest q = TABELLA__SNAPSHOTS_REQUEST__INIT;
    const Tabella__SnapshotsReply *y = NULL;
    tab_str after;
    char next[24] = "";
    q.id = STR(tab_arena_copy(r->arena, r->param[0]).p);
    char *list = tab_arena_printf(r->arena, "snapshots:%s", q.id);
    if (list == NULL)
        return tab_no_memory(err);
    TAB_TRY(query_page(r, list, 20, &q.limit, &after, err));
    q.before = (int64_t)number(after);
    TAB_TRY(call(r, "data-connector", "Snapshots", &q.base, &tabella__snapshots_reply__descriptor, &y, err));
    if (y->n_snapshots > 0 && y->n_snapshots == q.limit)
        snprintf(next, sizeof next, "%lld", (long long)y->snapshots[y->n_snapshots - 1]->created);
    list_answer(
        r, &(list_page){ list, "snapshots", y, y->n_snapshots, snapshot_entry, tab_str_of(next), y->total });
    return TAB_OK;
}

/* ---- differences ----------------------------------------------------------------------------- */

static void texts(tab_out *o, const char *key, size_t n, const ProtobufCBinaryData *text)
{
    open_member(o, key, '[');
    for (size_t i = 0; i < n; i++)
        tab_out_str(o, text_of(text[i]));
    tab_out_close(o, ']');
}

static void cells(tab_out *o, const char *key, const tab_table *t, size_t row, bool there)
{
    tab_out_key(o, key);
    if (!there) {
        tab_out_null(o);
        return;
    }
    tab_out_open(o, '[');
    for (size_t c = 0; c < t->cols; c++)
        tab_out_cell(o, &t->col[c], row);
    tab_out_close(o, ']');
}

static void row_number(tab_out *o, const char *key, uint64_t row, bool there)
{
    tab_out_key(o, key);
    if (there)
        tab_out_uint(o, row);
    else
        tab_out_null(o);
}

static void change_entry(request *r, const void *reply, size_t i)
{
    const tab_answer *answer = reply;
    const Tabella__CompareReply *y = answer->msg;
    bool was = strcmp(y->change[i], "added") != 0, is = strcmp(y->change[i], "removed") != 0;
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    text_member(o, "change", y->change[i]);
    row_number(o, "row_before", y->row_before[i], was);
    row_number(o, "row_after", y->row_after[i], is);
    cells(o, "before", answer->tables[0], i, was);
    cells(o, "after", answer->tables[1], i, is);
    tab_out_close(o, '}');
}

static void change_sums(request *r, const void *reply)
{
    const Tabella__CompareReply *y = ((const tab_answer *)reply)->msg;
    tab_out *o = &r->out;
    text_member(o, "before", y->from);
    text_member(o, "after", y->to);
    row_diff_member(o, y->diff);
    expectations_member(o, y->expectations);
    open_member(o, "columns", '[');
    for (size_t i = 0; i < y->n_columns; i++) {
        const Tabella__ColumnChange *c = y->columns[i];
        tab_out_open(o, '{');
        tab_out_key(o, "name");
        tab_out_str(o, text_of(c->name));
        text_member(o, "change", c->change);
        text_member(o, "was", c->was[0] != 0 ? c->was : NULL);
        text_member(o, "is", c->is[0] != 0 ? c->is : NULL);
        texts(o, "examples_before", c->n_examples_before, c->examples_before);
        texts(o, "examples_after", c->n_examples_after, c->examples_after);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

tab_status get_data_diff(request *r, tab_error *err)
{
    static const char *const changes[] = { "added", "removed", "changed" };
    Tabella__CompareRequest q = TABELLA__COMPARE_REQUEST__INIT;
    tab_answer answer;
    tab_str change, after;
    char next[24] = "";
    TAB_TRY(id_param(r, "before", &q.from, err));
    TAB_TRY(id_param(r, "after", &q.to, err));
    TAB_TRY(query_param(r, "change", &change, err));
    for (size_t i = 0; i < sizeof changes / sizeof *changes && change.p != NULL; i++)
        if (tab_str_eq(change, tab_str_of(changes[i])))
            q.change = STR(changes[i]);
    if (change.p != NULL && q.change[0] == 0)
        return tab_fail(err, TAB_VALIDATION, "change",
                        "`change` must be \"added\", \"removed\" or \"changed\"");
    q.id = STR(tab_arena_copy(r->arena, r->param[0]).p);
    char *list = tab_arena_printf(r->arena, "diff:%s:%s:%s:%s", q.id, q.from, q.to, q.change);
    if (list == NULL)
        return tab_no_memory(err);
    TAB_TRY(query_page(r, list, 20, &q.limit, &after, err));
    q.first = number(after);
    tab_ask ask = { .service = "data-connector",
                    .method = "Compare",
                    .in = &q.base,
                    .reply = &tabella__compare_reply__descriptor };
    TAB_TRY(call_with(r, &ask, &answer, err));
    const Tabella__CompareReply *y = answer.msg;
    if (answer.n_tables != 2 || answer.tables[0]->rows != y->n_change || y->diff == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "a comparison without its rows");
    if (q.first + y->n_change < y->total)
        snprintf(next, sizeof next, "%llu", (unsigned long long)(q.first + y->n_change));
    list_answer_with(
        r, &(list_page){ list, "changes", &answer, y->n_change, change_entry, tab_str_of(next), y->total },
        change_sums);
    return TAB_OK;
}

/* ---- how values are spread ------------------------------------------------------------------- */

tab_status get_data_profile(request *r, tab_error *err)
{
    Tabella__ProfileRequest q = TABELLA__PROFILE_REQUEST__INIT;
    const Tabella__ProfileReply *y = NULL;
    tab_out *o = &r->out;
    q.id = STR(tab_arena_copy(r->arena, r->param[0]).p);
    TAB_TRY(id_param(r, "snapshot", &q.snapshot, err));
    TAB_TRY(call(r, "data-connector", "Profile", &q.base, &tabella__profile_reply__descriptor, &y, err));
    tab_out_open(o, '{');
    text_member(o, "snapshot", y->snapshot);
    time_member(o, "snapshot_at", y->created);
    uint_member(o, "rows", y->rows);
    if (y->reading[0] != 0) {
        tab_out_key(o, "reading");
        tab_out_raw(o, tab_str_of(y->reading));
    }
    open_member(o, "columns", '[');
    for (size_t i = 0; i < y->n_columns; i++) {
        const Tabella__ColumnShape *c = y->columns[i];
        tab_out_open(o, '{');
        tab_out_key(o, "name");
        tab_out_str(o, text_of(c->name));
        text_member(o, "kind", c->kind);
        uint_member(o, "missing", c->missing);
        if (c->spread != NULL) {
            tab_out_key(o, "spread");
            tab_spread_json(o, c->spread);
        }
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    return TAB_OK;
}
