/* options.columns, options.missing_values, options.split, options.horizon, options.as_of and
 * options.anomaly_* of a body: what the caller says of columns, cells and times. body.c reads the other
 * options. */
#include <math.h>
#include <stdio.h>

#include "common/json/json_told.h"
#include "services/api/api.h"
#include "services/api/runs/body.h"
#include "services/inference/engine/profile/roles/roles.h"

enum { HORIZON_MOST = 10000 };

/* One of the words; NULL ends them. */
static bool one_of(tab_str s, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++)
        if (tab_str_eq(s, tab_str_of(words[i])))
            return true;
    return false;
}

static const char *const roles[] = {
#define TAB_X(e, name, family, type, pii, ident) name,
    TAB_ROLE_LIST(TAB_X)
#undef TAB_X
        NULL
};

static tab_status read_columns(request *r, const tab_json *list, Tabella__RunOptions *o, tab_error *err)
{
    const tab_told_column *told;
    size_t n;
    TAB_TRY(tab_told_columns(r->arena, list, roles, &told, &n, err));
    Tabella__ColumnOption *c = tab_arena_new_of(r->arena, Tabella__ColumnOption, n + 1);
    o->columns = tab_arena_new_of(r->arena, Tabella__ColumnOption *, n + 1);
    if (c == NULL || o->columns == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++, c++) {
        tabella__column_option__init(c);
        c->table = tab_proto_bytes(r->arena, told[i].table);
        c->column = tab_proto_bytes(r->arena, told[i].column);
        c->role = STR(told[i].role.n > 0 ? tab_arena_copy(r->arena, told[i].role).p : "");
        c->type = STR(told[i].type.n > 0 ? tab_arena_copy(r->arena, told[i].type).p : "");
        c->use = STR(told[i].use.n > 0 ? tab_arena_copy(r->arena, told[i].use).p : "");
        o->columns[o->n_columns++] = c;
    }
    return TAB_OK;
}

static tab_status read_marks(request *r, const tab_json *list, Tabella__RunOptions *o, tab_error *err)
{
    tab_told_marks told;
    if (list == NULL)
        return TAB_OK;
    TAB_TRY(tab_told_marks_read(r->arena, list, &told, err));
    o->missing_told = 1;
    o->missing_auto = told.automatic;
    o->missing_texts = tab_arena_new_of(r->arena, ProtobufCBinaryData, told.texts + 1);
    o->missing_numbers = tab_arena_new_of(r->arena, double, told.numbers + 1);
    if (o->missing_texts == NULL || o->missing_numbers == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < told.texts; i++)
        o->missing_texts[o->n_missing_texts++] = tab_proto_bytes(r->arena, told.text[i]);
    for (size_t i = 0; i < told.numbers; i++)
        o->missing_numbers[o->n_missing_numbers++] = told.number[i];
    return TAB_OK;
}

/* null in an edit: no steps ahead any more; the moment by evidence again. */
static tab_status read_times(request *r, const tab_json *options, Tabella__RunOptions *o, tab_error *err)
{
    const tab_json *h = tab_json_get(options, "horizon"), *m = tab_json_get(options, "as_of");
    if (h != NULL && h->kind != TAB_JSON_NULL) {
        if (h->kind != TAB_JSON_NUMBER || !(h->num >= 1 && h->num <= HORIZON_MOST) || h->num != floor(h->num))
            return tab_fail(err, TAB_VALIDATION, "options.horizon",
                            "`options.horizon` must be a whole number of steps from 1 to %d", HORIZON_MOST);
        o->horizon = (uint32_t)h->num;
    }
    if (m != NULL && m->kind != TAB_JSON_NULL) {
        if (m->kind != TAB_JSON_STRING || m->text.n == 0 || m->text.n > 4096)
            return tab_fail(err, TAB_VALIDATION, "options.as_of",
                            "`options.as_of` must be a column of the target's table, or \"none\"");
        o->as_of = tab_proto_bytes(r->arena, m->text);
    }
    return TAB_OK;
}

/* One of two ways to say which rows are flagged; null in an edit: as the scores tell again. */
static tab_status read_anomaly_cut(const tab_json *options, Tabella__RunOptions *o, tab_error *err)
{
    static const struct {
        const char *name, *cut, *path;
        double most;
    } ways[] = { { "anomaly_share", "share", "options.anomaly_share", 0.5 },
                 { "anomaly_threshold", "threshold", "options.anomaly_threshold", 1 } };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const tab_json *v = tab_json_get(options, ways[i].name);
        if (v == NULL || v->kind == TAB_JSON_NULL)
            continue;
        if (v->kind != TAB_JSON_NUMBER || !(v->num >= 0 && v->num <= ways[i].most))
            return tab_fail(err, TAB_VALIDATION, ways[i].path, "`%s` must be a number from 0 to %g",
                            ways[i].path, ways[i].most);
        if (o->anomaly_cut[0] != 0)
            return tab_fail(err, TAB_VALIDATION, ways[i].path,
                            "`options` can have `anomaly_share` or `anomaly_threshold`, not both");
        o->anomaly_cut = STR(ways[i].cut);
        o->anomaly_value = v->num;
    }
    return TAB_OK;
}

tab_status body_serve(request *r, const tab_json *options, uint32_t *ret_horizon, bool *ret_receipts,
                      tab_error *err)
{
    Tabella__RunOptions o = TABELLA__RUN_OPTIONS__INIT;
    *ret_horizon = 0;
    *ret_receipts = false;
    if (options != NULL && options->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "options", "`options` must be an object");
    for (const tab_json *m = options == NULL ? NULL : options->first; m != NULL; m = m->next)
        if (!tab_str_eq(m->key, TAB_S("horizon")) && !tab_str_eq(m->key, TAB_S("receipts"))) {
            char path[96];
            snprintf(path, sizeof path, "options.%.*s", (int)(m->key.n < 64 ? m->key.n : 64), m->key.p);
            return tab_fail(
                err, TAB_VALIDATION, path,
                "`options` of a serve call has no such field; its fields are horizon and receipts");
        }
    const tab_json *receipts = tab_json_get(options, "receipts");
    if (receipts != NULL && receipts->kind != TAB_JSON_BOOL)
        return tab_fail(err, TAB_VALIDATION, "options.receipts", "`options.receipts` must be true or false");
    TAB_TRY(read_times(r, options, &o, err));
    *ret_horizon = o.horizon;
    *ret_receipts = receipts != NULL && receipts->yes;
    return TAB_OK;
}

tab_status body_columns(request *r, const tab_json *options, Tabella__RunOptions *o, tab_error *err)
{
    static const char *const splits[] = { "auto", "random", "time", "group", NULL };
    const tab_json *split = tab_json_get(options, "split");
    TAB_TRY(read_columns(r, tab_json_get(options, "columns"), o, err));
    TAB_TRY(read_marks(r, tab_json_get(options, "missing_values"), o, err));
    if (split != NULL && (split->kind != TAB_JSON_STRING || !one_of(split->text, splits)))
        return tab_fail(err, TAB_VALIDATION, "options.split",
                        "`options.split` must be one of: auto, random, time, group");
    TAB_TRY(read_times(r, options, o, err));
    TAB_TRY(read_anomaly_cut(options, o, err));
    o->split = STR(split == NULL ? "" : tab_arena_copy(r->arena, split->text).p);
    return tab_arena_full(r->arena) ? tab_no_memory(err) : TAB_OK;
}

tab_status body_adapt(const tab_json *options, bool *ret_said, bool *ret, tab_error *err)
{
    const tab_json *adapt = tab_json_get(options, "adapt");
    *ret_said = adapt != NULL;
    *ret = adapt != NULL && adapt->yes;
    return adapt == NULL || adapt->kind == TAB_JSON_BOOL
               ? TAB_OK
               : tab_fail(err, TAB_VALIDATION, "options.adapt", "`options.adapt` must be true or false");
}

void given_options(tab_out *o, const Tabella__RunOptions *q, bool adapt)
{
    tab_out_open(o, '{');
    tab_out_key(o, "confidence_threshold");
    if (q != NULL)
        tab_out_fixed(o, q->threshold);
    else
        tab_out_null(o);
    tab_out_key(o, "columns");
    tab_out_open(o, '[');
    for (size_t i = 0; q != NULL && i < q->n_columns; i++) {
        const Tabella__ColumnOption *c = q->columns[i];
        const char *const word[] = { c->role, c->type, c->use };
        tab_out_open(o, '{');
        if (c->table.len > 0) {
            tab_out_key(o, "table");
            tab_out_str(o, (tab_str){ (const char *)c->table.data, c->table.len });
        }
        tab_out_key(o, "column");
        tab_out_str(o, (tab_str){ (const char *)c->column.data, c->column.len });
        for (size_t k = 0; k < 3; k++)
            if (word[k][0] != 0) {
                tab_out_key(o, tab_told_member(k + 2));
                tab_out_cstr(o, word[k]);
            }
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_key(o, "missing_values");
    if (q != NULL && q->missing_auto) {
        tab_out_cstr(o, "auto");
    } else {
        tab_out_open(o, '[');
        for (size_t i = 0; q != NULL && i < q->n_missing_texts; i++)
            tab_out_str(o, (tab_str){ (const char *)q->missing_texts[i].data, q->missing_texts[i].len });
        for (size_t i = 0; q != NULL && i < q->n_missing_numbers; i++)
            tab_out_real(o, q->missing_numbers[i]);
        tab_out_close(o, ']');
    }
    tab_out_key(o, "split");
    tab_out_cstr(o, q == NULL || q->split[0] == 0 ? "auto" : q->split);
    tab_out_key(o, "horizon");
    if (q == NULL || q->horizon == 0)
        tab_out_null(o);
    else
        tab_out_uint(o, q->horizon);
    tab_out_key(o, "as_of");
    if (q == NULL || q->as_of.len == 0)
        tab_out_null(o);
    else
        tab_out_str(o, (tab_str){ (const char *)q->as_of.data, q->as_of.len });
    for (int i = 0; i < 2; i++) {
        static const char *const cut[] = { "share", "threshold" };
        tab_out_key(o, i == 0 ? "anomaly_share" : "anomaly_threshold");
        if (q != NULL && strcmp(q->anomaly_cut, cut[i]) == 0)
            tab_out_real(o, q->anomaly_value);
        else
            tab_out_null(o);
    }
    tab_out_key(o, "adapt");
    tab_out_bool(o, adapt);
    tab_out_close(o, '}');
}
