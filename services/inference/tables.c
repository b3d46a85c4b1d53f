/* What a pass works on: inline tables that came with the call, snapshots that data-connector holds. */
#include <stdio.h>

#include "proto/data.pb-c.h"
#include "services/inference/inference.h"

enum { HORIZON_MOST = 10000 };

tab_status snapshot_load(inference *self, const tab_call *call, tab_arena *a,
                         const Tabella__TableSource *source, const tab_table **ret, tab_error *err)
{
    Tabella__ReadRequest q = TABELLA__READ_REQUEST__INIT;
    tab_str id = tab_arena_copy(a, (tab_str){ (const char *)source->id.data, source->id.len });
    if (id.p == NULL)
        return tab_no_memory(err);
    q.snapshot = source->snapshot;
    q.table_id = (char *)id.p;
    tab_ask ask = { .service = "data-connector",
                    .method = "Read",
                    .in = &q.base,
                    .reply = &tabella__read_reply__descriptor,
                    .arena = a };
    tab_answer answer = { 0 };
    tab_ask_inherit(&ask, call);
    tab_status s = tab_rpc_call(self->rpc, &ask, &answer, err);
    if (s == TAB_NOT_FOUND)
        return tab_fail(err, TAB_NOT_FOUND, "data", "snapshot %s is no longer stored", source->snapshot);
    if (s != TAB_OK)
        return s;
    if (answer.n_tables != 1)
        return tab_fail(err, TAB_INTERNAL, "", "a snapshot that is not one table");
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    if (t == NULL)
        return tab_no_memory(err);
    *t = *answer.tables[0];
    t->id = id;
    t->file = ((const Tabella__ReadReply *)answer.msg)->file;
    *ret = t;
    return TAB_OK;
}

tab_status sources_load(inference *self, tab_call *call, Tabella__TableSource *const *sources, size_t n,
                        const tab_table *const **ret, uint64_t *ret_cells, tab_error *err)
{
    /* Without a list of sources, the inline tables are all, in their own order. */
    size_t total = n == 0 ? call->n_tables : n, inline_at = 0;
    if (total == 0 || total > MAX_TABLES)
        return tab_fail(err, TAB_VALIDATION, "tables", "1 to %d tables are required", MAX_TABLES);
    const tab_table **t = tab_arena_new_of(call->arena, const tab_table *, total);
    if (t == NULL)
        return tab_no_memory(err);
    *ret_cells = 0;
    for (size_t i = 0; i < total; i++) {
        if (n == 0 || sources[i]->snapshot[0] == 0) {
            if (inline_at == call->n_tables)
                return tab_fail(err, TAB_VALIDATION, "tables", "a table is missing from the call");
            t[i] = call->tables[inline_at++];
        } else {
            tab_status s = snapshot_load(self, call, call->arena, sources[i], &t[i], err);
            if (s != TAB_OK)
                return s;
        }
        *ret_cells += (uint64_t)t[i]->rows * t[i]->cols;
        for (size_t k = 0; k < i; k++)
            if (tab_str_eq(t[k]->id, t[i]->id)) {
                char param[40];
                snprintf(param, sizeof param, "tables[%zu].id", i);
                return tab_fail(err, TAB_VALIDATION, param, "two tables have the same id");
            }
    }
    *ret = t;
    return TAB_OK;
}

static tab_str str_of(ProtobufCBinaryData d)
{
    return (tab_str){ (const char *)d.data, d.len };
}

/* What is said of cells and columns; texts stay the message's. */
static tab_status given_of(tab_arena *a, const Tabella__RunOptions *o, tab_given *ret, tab_error *err)
{
    tab_column_option *column = tab_arena_new_of(a, tab_column_option, o->n_columns + 1);
    tab_str *text = tab_arena_new_of(a, tab_str, o->n_missing_texts + 1);
    if (column == NULL || text == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < o->n_columns; i++) {
        const Tabella__ColumnOption *c = o->columns[i];
        column[i] = (tab_column_option){ str_of(c->table), str_of(c->column), tab_str_of(c->role),
                                         tab_str_of(c->type), tab_str_of(c->use) };
    }
    for (size_t i = 0; i < o->n_missing_texts; i++)
        text[i] = str_of(o->missing_texts[i]);
    *ret = (tab_given){ .column = column,
                        .columns = o->n_columns,
                        .missing_auto = o->missing_auto,
                        .missing_told = o->missing_told,
                        .missing_text = text,
                        .missing_texts = o->n_missing_texts,
                        .missing_number = o->missing_numbers,
                        .missing_numbers = o->n_missing_numbers };
    return TAB_OK;
}

static tab_status anomaly_cut_of(const Tabella__RunOptions *o, tab_anomaly_cut *ret, tab_error *err)
{
    bool share = strcmp(o->anomaly_cut, "share") == 0, cut = strcmp(o->anomaly_cut, "threshold") == 0;
    *ret = (tab_anomaly_cut){ share ? TAB_CUT_SHARE
                              : cut ? TAB_CUT_THRESHOLD
                                    : TAB_CUT_TOLD,
                              o->anomaly_value };
    if (share && !(o->anomaly_value >= 0 && o->anomaly_value <= 0.5))
        return tab_fail(err, TAB_VALIDATION, "options.anomaly_share",
                        "`anomaly_share` must be from 0 to 0.5");
    if (cut && !(o->anomaly_value >= 0 && o->anomaly_value <= 1))
        return tab_fail(err, TAB_VALIDATION, "options.anomaly_threshold",
                        "`anomaly_threshold` must be from 0 to 1");
    return TAB_OK;
}

tab_status options_of(tab_arena *a, const Tabella__RunOptions *o, const char *base, tab_run_options *ret,
                      tab_error *err)
{
    *ret = (tab_run_options){ .base = base, .threshold = 0.5 };
    if (o == NULL)
        return TAB_OK;
    static const struct {
        const char *name;
        tab_task task;
    } tasks[] = { { "", TAB_TASK_AUTO },
                  { "auto", TAB_TASK_AUTO },
                  { "classification", TAB_TASK_CLASSIFICATION },
                  { "regression", TAB_TASK_REGRESSION },
                  { "anomaly", TAB_TASK_ANOMALY } };
    size_t i = 0;
    while (i < sizeof tasks / sizeof *tasks && strcmp(tasks[i].name, o->task) != 0)
        i++;
    if (i == sizeof tasks / sizeof *tasks)
        return tab_fail(err, TAB_VALIDATION, "task.type",
                        "`task.type` must be classification, regression or anomaly");
    ret->task = tasks[i].task;
    if (strcmp(o->target_mode, "none") == 0) {
        ret->target = TAB_TARGET_NONE;
    } else if (strcmp(o->target_mode, "column") == 0) {
        ret->target = TAB_TARGET_COLUMN;
        ret->target_column = (tab_str){ (const char *)o->target_column.data, o->target_column.len };
    } else if (o->target_mode[0] != 0 && strcmp(o->target_mode, "auto") != 0) {
        return tab_fail(err, TAB_VALIDATION, "target.mode", "`target.mode` must be auto or none");
    }
    if (!(o->threshold >= 0 && o->threshold <= 1))
        return tab_fail(err, TAB_VALIDATION, "options.confidence_threshold",
                        "`confidence_threshold` must be from 0 to 1");
    ret->threshold = o->threshold;
    ret->explain = o->explain;
    static const char *const splits[] = { "", "auto", "random", "time", "group" };
    static const tab_split kinds[] = { TAB_SPLIT_AUTO, TAB_SPLIT_AUTO, TAB_SPLIT_RANDOM, TAB_SPLIT_TIME,
                                       TAB_SPLIT_GROUP };
    size_t k = 0;
    while (k < sizeof kinds / sizeof *kinds && strcmp(splits[k], o->split) != 0)
        k++;
    if (k == sizeof kinds / sizeof *kinds)
        return tab_fail(err, TAB_VALIDATION, "options.split", "`split` must be auto, random, time or group");
    ret->split = kinds[k];
    if (o->horizon > HORIZON_MOST)
        return tab_fail(err, TAB_VALIDATION, "options.horizon",
                        "`horizon` must be a whole number from 1 to %d", HORIZON_MOST);
    ret->horizon = o->horizon;
    ret->as_of = str_of(o->as_of);
    TAB_TRY(anomaly_cut_of(o, &ret->anomaly, err));
    return given_of(a, o, &ret->given, err);
}
