/* options.columns, options.missing_values, options.split, options.horizon, options.as_of and
 * options.anomaly_* of a body: what the caller says of columns, cells and times. body.c reads the other
 * options. */
#include <math.h>
#include <stdio.h>

#include "services/api/api.h"
#include "services/api/runs/body.h"
#include "services/inference/engine/profile/roles/roles.h"

enum { COLUMNS_MOST = 2000, MARKS_MOST = 32, MARK_BYTES = 256, HORIZON_MOST = 10000 };

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
static const char *const types[] = { "categorical", "numeric", "datetime", "text", "boolean", NULL };
static const char *const uses[] = { "feature", "key", "ignore", NULL };

/* The members of an entry, and what each may be; words NULL: any text. */
static const struct {
    const char *name, *is;
    const char *const *words;
} members[] = { { "table", "a table's id", NULL },
                { "column", "a column's name", NULL },
                { "role", "a role as profiles name it", roles },
                { "type", "one of: categorical, numeric, datetime, text, boolean", types },
                { "use", "one of: feature, key, ignore", uses } };
enum { MEMBERS = 5 };

/* One entry of options.columns. */
static tab_status read_column(request *r, const tab_json *x, size_t i, Tabella__ColumnOption *c,
                              tab_error *err)
{
    char path[128];
    tab_str text[MEMBERS] = { { NULL, 0 } };
    snprintf(path, sizeof path, "options.columns[%zu]", i);
    if (x->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, path, "`%s` must be an object", path);
    for (const tab_json *m = x->first; m != NULL; m = m->next) {
        size_t k = 0;
        while (k < MEMBERS && !tab_str_eq(m->key, tab_str_of(members[k].name)))
            k++;
        snprintf(path, sizeof path, "options.columns[%zu].%.*s", i, (int)(m->key.n < 64 ? m->key.n : 64),
                 m->key.p);
        if (k == MEMBERS)
            return tab_fail(err, TAB_VALIDATION, path, "an entry of `options.columns` has no field `%.*s`",
                            (int)(m->key.n < 64 ? m->key.n : 64), m->key.p);
        bool fits = m->kind == TAB_JSON_STRING && (m->text.n > 0 || k == 1) && m->text.n <= 4096 &&
                    (members[k].words == NULL || one_of(m->text, members[k].words));
        if (!fits)
            return tab_fail(err, TAB_VALIDATION, path, "`%s` is %s", path, members[k].is);
        text[k] = m->text;
    }
    snprintf(path, sizeof path, "options.columns[%zu].column", i);
    if (tab_json_get(x, "column") == NULL)
        return tab_fail(err, TAB_VALIDATION, path, "`%s` is required", path);
    snprintf(path, sizeof path, "options.columns[%zu]", i);
    if (text[2].n + text[3].n + text[4].n == 0)
        return tab_fail(err, TAB_VALIDATION, path, "`%s` must say a role, a type or a use", path);
    c->table = tab_proto_bytes(r->arena, text[0]);
    c->column = tab_proto_bytes(r->arena, text[1]);
    c->role = STR(text[2].n > 0 ? tab_arena_copy(r->arena, text[2]).p : "");
    c->type = STR(text[3].n > 0 ? tab_arena_copy(r->arena, text[3]).p : "");
    c->use = STR(text[4].n > 0 ? tab_arena_copy(r->arena, text[4]).p : "");
    return TAB_OK;
}

static tab_status read_columns(request *r, const tab_json *list, Tabella__RunOptions *o, tab_error *err)
{
    if (list == NULL)
        return TAB_OK;
    if (list->kind != TAB_JSON_ARRAY || list->count > COLUMNS_MOST)
        return tab_fail(err, TAB_VALIDATION, "options.columns",
                        "`options.columns` must be an array of at most %d objects", COLUMNS_MOST);
    Tabella__ColumnOption *c = tab_arena_new_of(r->arena, Tabella__ColumnOption, list->count + 1);
    o->columns = tab_arena_new_of(r->arena, Tabella__ColumnOption *, list->count + 1);
    if (c == NULL || o->columns == NULL)
        return tab_no_memory(err);
    for (const tab_json *x = list->first; x != NULL; x = x->next, c++) {
        tabella__column_option__init(c);
        TAB_TRY(read_column(r, x, o->n_columns, c, err));
        o->columns[o->n_columns++] = c;
    }
    return TAB_OK;
}

static tab_status read_marks(request *r, const tab_json *list, Tabella__RunOptions *o, tab_error *err)
{
    if (list == NULL)
        return TAB_OK;
    o->missing_told = 1;
    if (list->kind == TAB_JSON_STRING && tab_str_eq(list->text, TAB_S("auto"))) {
        o->missing_auto = 1;
        return TAB_OK;
    }
    if (list->kind != TAB_JSON_ARRAY || list->count > MARKS_MOST)
        return tab_fail(
            err, TAB_VALIDATION, "options.missing_values",
            "`options.missing_values` must be \"auto\" or an array of at most %d strings and numbers",
            MARKS_MOST);
    o->missing_texts = tab_arena_new_of(r->arena, ProtobufCBinaryData, list->count + 1);
    o->missing_numbers = tab_arena_new_of(r->arena, double, list->count + 1);
    if (o->missing_texts == NULL || o->missing_numbers == NULL)
        return tab_no_memory(err);
    for (const tab_json *x = list->first; x != NULL; x = x->next) {
        if (x->kind == TAB_JSON_NUMBER && isfinite(x->num))
            o->missing_numbers[o->n_missing_numbers++] = x->num;
        else if (x->kind == TAB_JSON_STRING && x->text.n <= MARK_BYTES)
            o->missing_texts[o->n_missing_texts++] = tab_proto_bytes(r->arena, x->text);
        else
            return tab_fail(err, TAB_VALIDATION, "options.missing_values",
                            "a missing value must be a number or a string of at most %d bytes", MARK_BYTES);
    }
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
                tab_out_key(o, members[k + 2].name);
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
