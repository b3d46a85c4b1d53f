/* What bodies of several routes have in common: media type and size, options of a pass, references.
 */
#include <stdio.h>
#include <strings.h>

#include "proto/data.pb-c.h"
#include "proto/inference.pb-c.h"
#include "services/api/runs/allowance.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

static bool takes_parts(const request *r)
{
    return r->route == TAB_POST_RUN || r->route == TAB_POST_ENDPOINTS || r->route == TAB_POST_SERVE ||
           r->route == TAB_POST_OUTCOMES;
}

static tab_status media_type(const request *r, bool parts, tab_error *err)
{
    static const char json[] = "application/json";
    if (r->content_encoding != NULL && *r->content_encoding != 0 &&
        strcasecmp(r->content_encoding, "identity") != 0)
        return tab_fail(err, TAB_VALIDATION, "body", "Content-Encoding is not supported");
    const char *t = r->content_type;
    if (t == NULL || *t == 0 || parts)
        return TAB_OK;
    bool ok = strncasecmp(t, json, sizeof json - 1) == 0;
    t += ok ? sizeof json - 1 : 0;
    while (ok && *t != 0) {
        t += strspn(t, " \t;");
        if (strncasecmp(t, "charset=", 8) == 0) {
            t += 8;
            bool quoted = *t == '"';
            t += quoted;
            ok = strncasecmp(t, "utf-8", 5) == 0;
            t += ok ? 5 : 0;
            t += quoted && *t == '"';
            ok = ok && strchr("; \t", *t) != NULL;
        } else if (*t != 0) {
            ok = strchr("; \t", t[-1]) != NULL; /* another parameter: "application/jsonx" is none */
            t += strcspn(t, ";");
        }
    }
    return ok ? TAB_OK
              : tab_fail(err, TAB_VALIDATION, "body", "Content-Type must be application/json in UTF-8%s",
                         takes_parts(r) ? ", or multipart/form-data with tables as files" : "");
}

/* No body is the same as {}. */
static bool says_nothing(const request *r)
{
    return r->body_n == 0 || strspn(r->body, " \t\r\n") == r->body_n;
}

tab_status body_read(request *r, tab_body *ret, tab_error *err)
{
    const tab_body_limits limits = { 8, 64, 2000,
                                     r->route == TAB_POST_SERVE || r->route == TAB_POST_OUTCOMES ? 10000 : 0,
                                     (uint64_t)r->api->cfg.run_cells };
    if (r->body_n > (size_t)r->api->cfg.body_most)
        return tab_fail(err, TAB_VALIDATION, "body", "the body is larger than the limit of %lld bytes",
                        (long long)r->api->cfg.body_most);
    if (r->body == NULL)
        return tab_no_memory(err);
    bool parts = takes_parts(r) && body_has_parts(r);
    bool file = body_is_file(r);
    tab_status s = media_type(r, parts || file, err);
    if (s == TAB_OK && file)
        s = body_file_read(r, &limits, ret, err);
    else if (s == TAB_OK && parts)
        s = body_parts_read(r, &limits, ret, err);
    else if (s == TAB_OK)
        s = tab_body_read(r->arena, says_nothing(r) ? TAB_S("{}") : (tab_str){ r->body, r->body_n }, &limits,
                          ret, err);
    if (s == TAB_OK &&
        (r->route == TAB_POST_RUN || r->route == TAB_POST_ENDPOINTS || r->route == TAB_POST_SERVE ||
         r->route == TAB_POST_ENDPOINT_REFRESH || r->route == TAB_POST_DATA_GENERATE))
        s = dry_run_read(r, ret->root, err);
    return s == TAB_OK ? warnings_read(r, ret->root, err) : s;
}

tab_status body_text(const tab_json *of, const char *key, bool required, size_t most, tab_str *ret,
                     tab_error *err)
{
    const tab_json *m = tab_json_get(of, key);
    *ret = TAB_S("");
    if (m == NULL && !required)
        return TAB_OK;
    if (m == NULL)
        return tab_fail(err, TAB_VALIDATION, key, "`%s` is required", key);
    if (m->kind != TAB_JSON_STRING || m->text.n == 0 || tab_utf8_count(m->text) > most)
        return tab_fail(err, TAB_VALIDATION, key, "`%s` must be a string of 1 to %zu characters", key, most);
    *ret = m->text;
    return TAB_OK;
}

/* The refusal of a member, with those that there are. */
static tab_status no_member(const char *name, const char *const *members, const char *path, tab_error *err)
{
    char all[256] = "";
    for (size_t i = 0; members[i] != NULL; i++) {
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", i > 0 ? ", " : "", members[i]);
    }
    return tab_fail(err, TAB_VALIDATION, path, "`%s` has no such field; its fields are %s", name, all);
}

/* The objects `target`, `task` and `options` hold known members only: a misspelt option must not
 * pass silently. */
static tab_status known(const tab_json *of, const char *name, const char *const *members, tab_error *err)
{
    char path[128];
    if (of == NULL)
        return TAB_OK;
    if (of->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, name, "`%s` must be an object", name);
    for (const tab_json *m = of->first; m != NULL; m = m->next) {
        bool found = false;
        for (size_t i = 0; members[i] != NULL; i++)
            found |= tab_str_eq(m->key, tab_str_of(members[i]));
        if (!found) {
            snprintf(path, sizeof path, "%s.%.*s", name, (int)(m->key.n < 64 ? m->key.n : 64), m->key.p);
            return no_member(name, members, path, err);
        }
    }
    return TAB_OK;
}

/* One of the words, NULL when the member is absent. */
static tab_status word(const tab_json *of, const char *parent, const char *key, const char *const *words,
                       const char **ret, tab_error *err)
{
    char path[64], all[128] = "";
    const tab_json *m = tab_json_get(of, key);
    *ret = NULL;
    if (m == NULL)
        return TAB_OK;
    for (size_t i = 0; words[i] != NULL; i++) {
        if (m->kind == TAB_JSON_STRING && tab_str_eq(m->text, tab_str_of(words[i])))
            *ret = words[i];
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    snprintf(path, sizeof path, "%s.%s", parent, key);
    return *ret != NULL ? TAB_OK : tab_fail(err, TAB_VALIDATION, path, "`%s` must be one of: %s", path, all);
}

static tab_status read_target(request *r, const tab_json *t, Tabella__RunOptions *o, tab_error *err)
{
    static const char *const members[] = { "mode", "column", NULL }, *const modes[] = { "auto", "none",
                                                                                        NULL };
    const char *mode;
    tab_status s = known(t, "target", members, err);
    if (s != TAB_OK || (s = word(t, "target", "mode", modes, &mode, err)) != TAB_OK)
        return s;
    const tab_json *column = tab_json_get(t, "column");
    if (column != NULL && mode != NULL)
        return tab_fail(err, TAB_VALIDATION, "target", "`target` can have `mode` or `column`, not both");
    if (column != NULL && (column->kind != TAB_JSON_STRING || column->text.n == 0))
        return tab_fail(err, TAB_VALIDATION, "target.column", "`target.column` must be the name of a column");
    o->target_mode = STR(column != NULL ? "column" : mode != NULL ? mode : "auto");
    if (column != NULL)
        o->target_column = tab_proto_bytes(r->arena, column->text);
    return TAB_OK;
}

static tab_status read_task(const tab_json *t, Tabella__RunOptions *o, tab_error *err)
{
    static const char *const members[] = { "mode", "type", NULL }, *const modes[] = { "auto", NULL },
                             *const types[] = { "classification", "regression", "anomaly", NULL };
    const char *mode, *type;
    tab_status s = known(t, "task", members, err);
    if (s != TAB_OK || (s = word(t, "task", "mode", modes, &mode, err)) != TAB_OK ||
        (s = word(t, "task", "type", types, &type, err)) != TAB_OK)
        return s;
    if (mode != NULL && type != NULL)
        return tab_fail(err, TAB_VALIDATION, "task", "`task` can have `mode` or `type`, not both");
    o->task = STR(type != NULL ? type : "auto");
    return TAB_OK;
}

/* In the arena: the body goes before the work. */
static tab_status read_out(request *r, const tab_json *options, tab_str *ret, tab_error *err)
{
    const tab_json *out = tab_json_get(options, "out");
    if (out != NULL && (out->kind != TAB_JSON_STRING || out->text.n == 0 || out->text.n > 2112))
        return tab_fail(err, TAB_VALIDATION, "options.out",
                        "`options.out` must be a reference that can be written to");
    *ret = out != NULL ? tab_arena_copy(r->arena, out->text) : TAB_S("");
    return ret->p == NULL ? tab_no_memory(err) : TAB_OK;
}

tab_status body_serve_data(request *r, const tab_json *options, tab_str *ret_out, tab_error *err)
{
    static const char *const members[] = { "out", "out_mode", NULL };
    TAB_TRY(known(options, "options", members, err));
    return read_out(r, options, ret_out, err);
}

tab_status body_options(request *r, const tab_body *b, Tabella__RunOptions **ret, bool *ret_batch,
                        tab_str *ret_out, tab_error *err)
{
    static const char *const members[] = { "confidence_threshold",
                                           "processing",
                                           "out",
                                           "explain",
                                           "columns",
                                           "missing_values",
                                           "split",
                                           "out_mode",
                                           "horizon",
                                           "as_of",
                                           "anomaly_share",
                                           "anomaly_threshold",
                                           "adapt",
                                           NULL },
                             *const ways[] = { "realtime", "batch", NULL };
    Tabella__RunOptions *o = tab_arena_new_of(r->arena, Tabella__RunOptions, 1);
    const char *way;
    tab_str base;
    if (o == NULL)
        return tab_no_memory(err);
    tabella__run_options__init(o);
    const tab_json *options = tab_json_get(b->root, "options");
    tab_status s = body_text(b->root, "base", false, 128, &base, err);
    if (s != TAB_OK || (s = read_target(r, tab_json_get(b->root, "target"), o, err)) != TAB_OK ||
        (s = read_task(tab_json_get(b->root, "task"), o, err)) != TAB_OK ||
        (s = known(options, "options", members, err)) != TAB_OK ||
        (s = word(options, "options", "processing", ways, &way, err)) != TAB_OK)
        return s;
    tab_str copy = tab_arena_copy(r->arena, base);
    if (copy.p == NULL)
        return tab_no_memory(err);
    o->base_model = STR(copy.p);
    const tab_json *t = tab_json_get(options, "confidence_threshold");
    o->threshold = t != NULL ? t->num : 0.5;
    if (t != NULL && (t->kind != TAB_JSON_NUMBER || !(t->num >= 0 && t->num <= 1)))
        return tab_fail(err, TAB_VALIDATION, "options.confidence_threshold",
                        "`options.confidence_threshold` must be a number from 0 to 1");
    const tab_json *explain = tab_json_get(options, "explain");
    if (explain != NULL && explain->kind != TAB_JSON_BOOL)
        return tab_fail(err, TAB_VALIDATION, "options.explain", "`options.explain` must be true or false");
    o->explain = explain != NULL && explain->yes;
    TAB_TRY(body_columns(r, options, o, err));
    TAB_TRY(read_out(r, options, ret_out, err));
    *ret_batch = way != NULL && strcmp(way, "batch") == 0;
    *ret = o;
    return TAB_OK;
}

tab_status body_out_mode(const tab_body *b, const char **ret, tab_error *err)
{
    static const char *const modes[] = { "new", "append", "replace", NULL };
    const tab_json *options = tab_json_get(b->root, "options");
    TAB_TRY(word(options, "options", "out_mode", modes, ret, err));
    if (*ret != NULL && tab_json_get(options, "out") == NULL)
        return tab_fail(err, TAB_VALIDATION, "options.out_mode",
                        "`options.out_mode` needs `options.out`, which is missing");
    *ret = *ret == NULL ? "" : *ret;
    return TAB_OK;
}

tab_status body_refs(request *r, const tab_body *b, size_t *ret_n, char ***ret, tab_error *err)
{
    char path[32];
    const tab_json *data = tab_json_get(b->root, "data");
    *ret_n = 0;
    if (data == NULL)
        return TAB_OK;
    if (data->kind != TAB_JSON_ARRAY)
        return tab_fail(err, TAB_VALIDATION, "data",
                        "`data` must be an array of dataset ids or connection refs");
    if (data->count + b->n_tables > 64)
        return tab_fail(err, TAB_VALIDATION, "data", "a request can have at most 64 tables");
    *ret = tab_arena_new_of(r->arena, char *, data->count + 1);
    for (const tab_json *m = data->first; m != NULL && *ret != NULL; m = m->next) {
        snprintf(path, sizeof path, "data[%zu]", *ret_n);
        if (m->kind != TAB_JSON_STRING || m->text.n == 0 || m->text.n > 2048)
            return tab_fail(err, TAB_VALIDATION, path, "`%s` must be a dataset id or a connection ref", path);
        tab_str copy = tab_arena_copy(r->arena, m->text);
        (*ret)[(*ret_n)++] = STR(copy.p);
    }
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

/* options.as_of names a column of the target's table, or of one of them where the target is chosen. */
static tab_status as_of_check(request *r, const tab_table *const *t, size_t m, const Tabella__RunOptions *o,
                              size_t target, tab_error *err)
{
    size_t table, column;
    tab_str name = { (char *)o->as_of.data, o->as_of.len };
    if (name.n == 0 || tab_str_eq(name, TAB_S("none")))
        return TAB_OK;
    bool one = target < m;
    tab_error why;
    tab_status s = tab_column_find(r->arena, one ? t + target : t, one ? 1 : m, name, &table, &column, &why);
    return s == TAB_VALIDATION ? tab_fail(err, s, "options.as_of", "`options.as_of`: %s", why.message)
           : s != TAB_OK       ? tab_fail(err, s, why.param, "%s", why.message)
                               : TAB_OK;
}

tab_status target_check(request *r, const tab_body *b, const Tabella__RunOptions *o,
                        Tabella__TableSource *const *source, size_t n, tab_error *err)
{
    bool named = strcmp(o->target_mode, "column") == 0;
    if (!named && o->n_columns == 0 && o->as_of.len == 0)
        return TAB_OK;
    size_t m = 0, table = SIZE_MAX, column;
    const tab_table **t = tab_arena_new_of(r->arena, const tab_table *, b->n_tables + n + 1);
    if (t == NULL)
        return tab_no_memory(err);
    while (m < b->n_tables) {
        t[m] = b->tables[m];
        m++;
    }
    for (size_t i = 0; i < n; i++) {
        Tabella__ReadRequest q = TABELLA__READ_REQUEST__INIT;
        tab_answer answer;
        tab_str id = { (const char *)source[i]->id.data, source[i]->id.len };
        if (source[i]->snapshot[0] == 0)
            continue;
        q.snapshot = source[i]->snapshot;
        q.rows = 1;
        q.table_id = STR(tab_arena_copy(r->arena, id).p);
        tab_ask ask = { .service = "data-connector",
                        .method = "Read",
                        .in = &q.base,
                        .reply = &tabella__read_reply__descriptor };
        tab_status s = call_with(r, &ask, &answer, err);
        if (s != TAB_OK)
            return s;
        const Tabella__ReadReply *y = answer.msg;
        if (answer.n_tables != 1 || answer.tables[0]->cols != y->cols)
            return TAB_OK; /* a table without rows names no columns: the pass will tell */
        t[m++] = answer.tables[0];
    }
    for (size_t i = 0; m > 0 && i < o->n_columns; i++) {
        const Tabella__ColumnOption *c = o->columns[i];
        size_t of;
        TAB_TRY(tab_column_given(r->arena, t, m, (tab_str){ (char *)c->table.data, c->table.len },
                                 (tab_str){ (char *)c->column.data, c->column.len }, i, &of, &column, err));
    }
    if (named)
        TAB_TRY(tab_column_find(r->arena, t, m,
                                (tab_str){ (char *)o->target_column.data, o->target_column.len }, &table,
                                &column, err));
    return as_of_check(r, t, m, o, table, err);
}
