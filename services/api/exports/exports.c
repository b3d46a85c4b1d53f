/* POST /platform/v1/exports: all that the organization owns as one archive, made by a job (decision 0814).
 *
 * What is small is collected here, as its own routes show it to the caller, and stands in the archive as it
 * is now; a job finds out size and digest of the snapshots; archive.c makes the archive while it is fetched.
 * Members and their form are those of `tabella export`, so `tabella import` reads either. */
#include "services/api/exports/exports.h"

#include <stdio.h>
#include <string.h>

#include "common/mcp/mcp.h"
#include "proto/jobs.pb-c.h"
#include "services/api/handlers.h"
#include "services/api/idempotency.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/service_calls.h"

enum {
    SHOWN_MOST = 32 << 20, /* bytes of all that routes show */
    DEPTH = 24,
    COLLECT_MS = 50000 /* the gateway waits for a minute */
};

typedef struct {
    const tab_json **item;
    size_t n, room;
} list;

typedef struct {
    request *r;
    tab_deadline until;
    size_t bytes; /* shown so far */
    Tabella__ExportMember **member;
    size_t members, room;
    list endpoints, data, keys, webhooks, providers;
    const tab_json *organization;
} collecting;

tab_status export_allowed(const request *r, tab_error *err)
{
    if ((r->who.scopes & TAB_SCOPE_READ) == 0)
        return tab_fail(err, TAB_AUTH_SCOPE, "",
                        "an export holds all that the organization has, so the key needs the scope `read` "
                        "beside `manage`");
    return TAB_OK;
}

/* ---- what routes show ------------------------------------------------------------------------- */

static tab_status too_much(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "",
                    "settings and lists of this organization exceed the %d MiB that an export by the "
                    "service holds; run `tabella export`",
                    SHOWN_MOST >> 20);
}

/* The answer of a route to this caller, as a tree and as it is. */
static tab_status shown(collecting *x, tab_route_id id, const char *of, const char *query,
                        const tab_json **ret, tab_str *ret_text, tab_error *err)
{
    request *r = x->r;
    const tab_route_id route = r->route;
    const tab_str param = r->param[0], asked = r->query;
    tab_out out = r->out;
    r->out = (tab_out){ 0 };
    r->route = id;
    r->param[0] = tab_str_of(of);
    r->query = tab_str_of(query);
    r->deadline = x->until;
    tab_status s = tab_left_ms(x->until, 1) == 0
                       ? tab_fail(err, TAB_UNAVAILABLE, "", "the organization could not be read in time")
                       : request_handle(r, err);
    tab_str text = s == TAB_OK && !r->out.failed ? tab_arena_copy(r->arena, tab_out_text(&r->out))
                                                 : (tab_str){ NULL, 0 };
    tab_out_free(&r->out);
    r->out = out;
    r->route = route;
    r->param[0] = param;
    r->query = asked;
    TAB_TRY(s);
    if (text.p == NULL)
        return tab_no_memory(err);
    x->bytes += text.n;
    if (x->bytes > SHOWN_MOST)
        return too_much(err);
    *ret_text = text;
    return tab_json_read_own(r->arena, text, DEPTH, ret, err);
}

static tab_status push(collecting *x, list *to, const tab_json *item, tab_error *err)
{
    if (to->n == to->room) {
        size_t room = to->room == 0 ? 64 : 2 * to->room;
        const tab_json **more = tab_arena_new_of(x->r->arena, const tab_json *, room);
        if (more == NULL)
            return tab_no_memory(err);
        if (to->n > 0)
            memcpy(more, to->item, to->n * sizeof *more);
        to->item = more;
        to->room = room;
    }
    to->item[to->n++] = item;
    return TAB_OK;
}

/* All pages of a list. */
static tab_status listed(collecting *x, tab_route_id id, const char *of, const char *field, list *ret,
                         tab_error *err)
{
    const bool paged = (tab_routes[id].flags & TAB_ROUTE_PAGED) != 0;
    const char *query = paged ? "limit=100" : "";
    while (query != NULL) {
        const tab_json *page;
        tab_str text;
        TAB_TRY(shown(x, id, of, query, &page, &text, err));
        const tab_json *items = tab_json_get(page, field), *next = tab_json_get(page, "next_cursor");
        for (const tab_json *m = items == NULL ? NULL : items->first; m != NULL; m = m->next)
            TAB_TRY(push(x, ret, m, err));
        query = NULL;
        if (next != NULL && next->kind == TAB_JSON_STRING &&
            (query = tab_arena_printf(x->r->arena, "limit=100&cursor=%.*s", TAB_STR(next->text))) == NULL)
            return tab_no_memory(err);
    }
    return TAB_OK;
}

static tab_str text_of(const tab_json *of, const char *key)
{
    const tab_json *m = tab_json_get(of, key);
    return m != NULL && m->kind == TAB_JSON_STRING ? m->text : TAB_S("");
}

static const char *copied(collecting *x, tab_str text)
{
    return tab_arena_copy(x->r->arena, text).p; /* NULL: out of memory */
}

/* ---- members ---------------------------------------------------------------------------------- */

static Tabella__ExportMember *new_member(collecting *x, const char *name)
{
    if (x->members == x->room) {
        size_t room = x->room == 0 ? 64 : 2 * x->room;
        Tabella__ExportMember **more = tab_arena_new_of(x->r->arena, Tabella__ExportMember *, room);
        if (more == NULL)
            return NULL;
        if (x->members > 0)
            memcpy(more, x->member, x->members * sizeof *more);
        x->member = more;
        x->room = room;
    }
    Tabella__ExportMember *m = tab_arena_new_of(x->r->arena, Tabella__ExportMember, 1);
    if (m == NULL || name == NULL)
        return NULL;
    tabella__export_member__init(m);
    m->name = STR(name);
    return x->member[x->members++] = m;
}

/* Ends the text of a member and takes it over. */
static tab_status put(collecting *x, const char *name, tab_out *o, tab_error *err)
{
    Tabella__ExportMember *m = o->failed ? NULL : new_member(x, name);
    if (m != NULL)
        m->content = tab_proto_bytes(x->r->arena, tab_out_text(o));
    size_t n = o->n;
    tab_out_free(o);
    return m == NULL || m->content.len != n ? tab_no_memory(err) : TAB_OK;
}

static bool empty(const tab_json *m)
{
    return m == NULL || m->kind == TAB_JSON_NULL || (m->kind == TAB_JSON_ARRAY && m->count == 0);
}

static void copy_fields(tab_out *o, const tab_json *of, const char *const *field, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const tab_json *m = tab_json_get(of, field[i]);
        if (m == NULL || m->kind == TAB_JSON_NULL)
            continue;
        tab_out_key(o, field[i]);
        tab_mcp_tree(o, m);
    }
}
#define FIELDS(...) \
    (const char *const[]){ __VA_ARGS__ }, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)

/* The name of the thing with this id; the id itself where there is none. */
static tab_str name_of(const list *of, const char *field, tab_str id)
{
    for (size_t i = 0; i < of->n; i++)
        if (tab_str_eq(text_of(of->item[i], "id"), id))
            return text_of(of->item[i], field);
    return id;
}

/* Keys of people are theirs, and what has expired opens nothing. */
static void write_key(const collecting *x, tab_out *o, const tab_json *k)
{
    const tab_json *endpoints = tab_json_get(k, "endpoints");
    if (!empty(tab_json_get(k, "owner")) || tab_str_eq(text_of(k, "status"), TAB_S("expired")))
        return;
    tab_out_key_str(o, text_of(k, "name"));
    tab_out_open(o, '{');
    if (!empty(tab_json_get(k, "directory"))) {
        str_member(o, "directory", name_of(&x->providers, "name", text_of(k, "directory")));
    } else {
        copy_fields(o, k, FIELDS("scopes"));
        if (!empty(tab_json_get(k, "networks")))
            copy_fields(o, k, FIELDS("networks"));
        copy_fields(o, k, FIELDS("expires_at"));
        if (!empty(endpoints)) {
            open_member(o, "endpoints", '[');
            for (const tab_json *e = endpoints->first; e != NULL; e = e->next)
                tab_out_str(o, name_of(&x->endpoints, "endpoint", e->text));
            tab_out_close(o, ']');
        }
    }
    tab_out_close(o, '}');
}

static void write_webhook(tab_out *o, const tab_json *w)
{
    tab_out_key_str(o, text_of(w, "name"));
    tab_out_open(o, '{');
    copy_fields(o, w, FIELDS("url", "types"));
    bool_member(o, "enabled", tab_str_eq(text_of(w, "status"), TAB_S("active")));
    tab_out_close(o, '}');
}

/* Settings, keys, webhooks and providers, as `tabella apply` makes them; no secret is shown by any route. */
static tab_status put_settings(collecting *x, tab_error *err)
{
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    open_member(&o, "organization", '{');
    const char *const settings[] = {
        "emails", "alerts", "add_usage", "spend_cap_usd", "networks", "retention"
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const tab_json *m = tab_json_get(x->organization, settings[i]);
        tab_out_key(&o, settings[i]);
        if (m == NULL)
            tab_out_null(&o);
        else
            tab_mcp_tree(&o, m);
    }
    tab_out_close(&o, '}');
    open_member(&o, "keys", '{');
    for (size_t i = 0; i < x->keys.n; i++)
        write_key(x, &o, x->keys.item[i]);
    tab_out_close(&o, '}');
    open_member(&o, "webhooks", '{');
    for (size_t i = 0; i < x->webhooks.n; i++)
        write_webhook(&o, x->webhooks.item[i]);
    tab_out_close(&o, '}');
    open_member(&o, "providers", '{');
    for (size_t i = 0; i < x->providers.n; i++) {
        tab_out_key_str(&o, text_of(x->providers.item[i], "name"));
        tab_out_open(&o, '{');
        copy_fields(&o, x->providers.item[i],
                    FIELDS("issuer", "client_id", "scopes", "role", "groups_claim", "subject_claim", "roles",
                           "domains"));
        tab_out_close(&o, '}');
    }
    tab_out_close(&o, '}');
    tab_out_close(&o, '}');
    return put(x, "org.json", &o, err);
}

static tab_status put_endpoints(collecting *x, tab_error *err)
{
    tab_out o = { 0 };
    tab_status s = TAB_OK;
    tab_out_open(&o, '[');
    for (size_t i = 0; i < x->endpoints.n && s == TAB_OK; i++) {
        const tab_json *tree;
        tab_str text;
        const char *id = copied(x, text_of(x->endpoints.item[i], "id"));
        s = id == NULL ? tab_no_memory(err) : shown(x, TAB_GET_ENDPOINT, id, "limit=1", &tree, &text, err);
        if (s == TAB_OK)
            tab_out_raw(&o, text);
    }
    tab_out_close(&o, ']');
    if (s == TAB_OK)
        return put(x, "endpoints.json", &o, err);
    tab_out_free(&o);
    return s;
}

static tab_status put_connections(collecting *x, tab_error *err)
{
    tab_out o = { 0 };
    tab_out_open(&o, '[');
    for (size_t i = 0; i < x->data.n; i++)
        if (tab_str_eq(text_of(x->data.item[i], "kind"), TAB_S("connection")))
            tab_mcp_tree(&o, x->data.item[i]);
    tab_out_close(&o, ']');
    return put(x, "connections.json", &o, err);
}

/* ---- datasets --------------------------------------------------------------------------------- */

/* One with its snapshots; those whose rows are there are members of their own, later. */
static tab_status write_dataset(collecting *x, tab_out *o, const tab_json *d, list *kept, tab_error *err)
{
    list snapshots = { 0 };
    const char *id = copied(x, text_of(d, "id"));
    if (id == NULL)
        return tab_no_memory(err);
    TAB_TRY(listed(x, TAB_GET_DATA_SNAPSHOTS, id, "snapshots", &snapshots, err));
    tab_out_open(o, '{');
    for (const tab_json *m = d->first; m != NULL; m = m->next) {
        tab_out_key_str(o, m->key);
        tab_mcp_tree(o, m);
    }
    open_member(o, "snapshots", '[');
    for (size_t i = 0; i < snapshots.n; i++) {
        const tab_json *s = snapshots.item[i], *there = tab_json_get(s, "kept");
        tab_mcp_tree(o, s);
        if (there == NULL || there->kind != TAB_JSON_BOOL || !there->yes)
            continue;
        TAB_TRY(push(x, kept, d, err));
        TAB_TRY(push(x, kept, s, err));
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    return TAB_OK;
}

static tab_status put_snapshots(collecting *x, const list *kept, tab_error *err)
{
    for (size_t i = 0; i + 1 < kept->n; i += 2) {
        tab_str dataset = text_of(kept->item[i], "id"), snapshot = text_of(kept->item[i + 1], "id");
        Tabella__ExportMember *m = new_member(
            x, tab_arena_printf(x->r->arena, "data/%.*s/%.*s.tabella", TAB_STR(dataset), TAB_STR(snapshot)));
        if (m == NULL || (m->dataset = STR(copied(x, dataset))) == NULL ||
            (m->snapshot = STR(copied(x, snapshot))) == NULL)
            return tab_no_memory(err);
    }
    return TAB_OK;
}

static tab_status put_datasets(collecting *x, tab_error *err)
{
    tab_out o = { 0 };
    tab_status s = TAB_OK;
    list kept = { 0 };
    tab_out_open(&o, '[');
    for (size_t i = 0; i < x->data.n && s == TAB_OK; i++)
        if (tab_str_eq(text_of(x->data.item[i], "kind"), TAB_S("dataset")))
            s = write_dataset(x, &o, x->data.item[i], &kept, err);
    tab_out_close(&o, ']');
    if (s != TAB_OK) {
        tab_out_free(&o);
        return s;
    }
    TAB_TRY(put(x, "datasets.json", &o, err));
    return put_snapshots(x, &kept, err);
}

/* ---- the job ---------------------------------------------------------------------------------- */

static tab_status collect(collecting *x, tab_error *err)
{
    tab_str text;
    TAB_TRY(shown(x, TAB_GET_ORGANIZATION, "", "", &x->organization, &text, err));
    TAB_TRY(listed(x, TAB_GET_PROVIDERS, "", "providers", &x->providers, err));
    TAB_TRY(listed(x, TAB_GET_ENDPOINTS, "", "endpoints", &x->endpoints, err));
    TAB_TRY(listed(x, TAB_GET_KEYS, "", "keys", &x->keys, err));
    TAB_TRY(listed(x, TAB_GET_WEBHOOKS, "", "webhooks", &x->webhooks, err));
    TAB_TRY(listed(x, TAB_GET_DATA_LIST, "", "datasets", &x->data, err));
    TAB_TRY(put_settings(x, err));
    TAB_TRY(put_endpoints(x, err));
    TAB_TRY(put_connections(x, err));
    return put_datasets(x, err);
}

tab_status post_exports(request *r, tab_error *err)
{
    collecting x = { .r = r, .until = tab_in_ms(COLLECT_MS) };
    Tabella__SubmitRequest q = TABELLA__SUBMIT_REQUEST__INIT;
    const Tabella__Job *j;
    TAB_TRY(export_allowed(r, err));
    tab_status s = idempotency_begin(r, err);
    if (s != TAB_OK || r->replayed)
        return s;
    TAB_TRY(collect(&x, err));
    q.job_id = tab_arena_printf(r->arena, "job_%s", r->seed);
    if (q.job_id == NULL)
        return tab_no_memory(err);
    q.kind = STR("export");
    q.label = STR("export");
    q.key_id = r->who.key;
    q.surface = request_surface(r);
    q.batch_concurrency = r->who.batch_concurrency;
    q.members = x.member;
    q.n_members = x.members;
    r->deadline = tab_in_ms(COLLECT_MS);
    TAB_TRY(call(r, "jobs", "Submit", &q.base, &tabella__job__descriptor, &j, err));
    r->status = 202;
    tab_out_open(&r->out, '{');
    job_members(r, j, false);
    tab_out_close(&r->out, '}');
    return TAB_OK;
}
