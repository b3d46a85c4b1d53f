/* /scim/v2 (RFC 7644): what a directory says of its people and groups, to keys. Whose directory it is keys
 * decides by the key that calls. */
#include "services/api/scim/scim.h"

#include <stdio.h>
#include <stdlib.h>

#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/scim/scim_read.h"
#include "services/api/service_calls.h"

#define SCIM_USER "urn:ietf:params:scim:schemas:core:2.0:User"
#define SCIM_GROUP "urn:ietf:params:scim:schemas:core:2.0:Group"
#define SCIM_MESSAGE "urn:ietf:params:scim:api:messages:2.0:"
enum { PAGE = 100, NUMBER_MOST = 1000000000 };

static char *text_of(request *r, tab_str s)
{
    return s.n == 0 ? STR("") : STR(tab_arena_copy(r->arena, s).p);
}

static tab_str body_of(const request *r)
{
    return (tab_str){ r->body, r->body_n };
}

/* ---- answers --------------------------------------------------------------------------------- */

static void schemas_member(tab_out *o, const char *schema)
{
    open_member(o, "schemas", '[');
    tab_out_cstr(o, schema);
    tab_out_close(o, ']');
}

static const char *location(request *r, const char *kind, const char *id)
{
    return tab_arena_printf(r->arena, "%s/scim/v2/%ss/%s", r->api->cfg.base_url, kind, id);
}

static void meta(request *r, const char *kind, const char *id, int64_t created, int64_t changed)
{
    tab_out *o = &r->out;
    open_member(o, "meta", '{');
    text_member(o, "resourceType", kind);
    time_member(o, "created", created);
    time_member(o, "lastModified", changed);
    text_member(o, "location", location(r, kind, id));
    tab_out_close(o, '}');
}

static void names(request *r, const char *key, const char *kind, size_t n,
                  Tabella__DirectoryGroupName *const *name)
{
    tab_out *o = &r->out;
    open_member(o, key, '[');
    for (size_t i = 0; i < n; i++) {
        tab_out_open(o, '{');
        text_member(o, "value", name[i]->id);
        text_member(o, "display", name[i]->name);
        text_member(o, "$ref", location(r, kind, name[i]->id));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

static void user_json(request *r, const Tabella__DirectoryUser *u)
{
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    schemas_member(o, SCIM_USER);
    text_member(o, "id", u->id);
    if (u->external_id[0] != 0)
        text_member(o, "externalId", u->external_id);
    text_member(o, "userName", u->user_name);
    text_member(o, "displayName", u->name);
    open_member(o, "name", '{');
    text_member(o, "formatted", u->name);
    if (u->given[0] != 0)
        text_member(o, "givenName", u->given);
    if (u->family[0] != 0)
        text_member(o, "familyName", u->family);
    tab_out_close(o, '}');
    open_member(o, "emails", '[');
    if (u->email[0] != 0) {
        tab_out_open(o, '{');
        text_member(o, "value", u->email);
        text_member(o, "type", "work");
        bool_member(o, "primary", true);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    bool_member(o, "active", u->active);
    names(r, "groups", "Group", u->n_groups, u->groups);
    meta(r, "User", u->id, u->created_at, u->changed_at);
    tab_out_close(o, '}');
}

static void group_json(request *r, const Tabella__DirectoryGroup *g, bool members)
{
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    schemas_member(o, SCIM_GROUP);
    text_member(o, "id", g->id);
    if (g->external_id[0] != 0)
        text_member(o, "externalId", g->external_id);
    text_member(o, "displayName", g->name);
    if (members)
        names(r, "members", "User", g->n_members, g->members);
    meta(r, "Group", g->id, g->created_at, g->changed_at);
    tab_out_close(o, '}');
}

void scim_error(request *r, const char *type, const char *message)
{
    static const char *const types[] = { "invalidFilter", "tooMany",     "uniqueness", "mutability",
                                         "invalidSyntax", "invalidPath", "noTarget",   "invalidValue" };
    tab_out *o = &r->out;
    char status[16];
    snprintf(status, sizeof status, "%d", r->status);
    tab_out_open(o, '{');
    schemas_member(o, SCIM_MESSAGE "Error");
    text_member(o, "status", status);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], type) == 0)
            text_member(o, "scimType", type);
    text_member(o, "detail", message);
    tab_out_close(o, '}');
    r->media = SCIM_MEDIA;
}

static tab_status made(request *r, const char *kind, const char *id, tab_error *err)
{
    r->media = SCIM_MEDIA;
    if (r->route != TAB_POST_SCIM_USERS && r->route != TAB_POST_SCIM_GROUPS)
        return TAB_OK;
    r->status = 201;
    r->location = location(r, kind, id);
    return r->location == NULL ? tab_no_memory(err) : TAB_OK;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static tab_status number(request *r, const char *name, int64_t otherwise, uint32_t *ret, tab_error *err)
{
    tab_str text;
    char buf[16], *end = buf;
    long x = otherwise;
    TAB_TRY(query_param(r, name, &text, err));
    if (text.p != NULL && text.n < sizeof buf) {
        snprintf(buf, sizeof buf, "%.*s", (int)text.n, text.p);
        x = strtol(buf, &end, 10);
    }
    if (text.p != NULL && (end == buf || *end != 0 || x > NUMBER_MOST))
        return tab_fail(err, TAB_VALIDATION, "invalidValue", "`%s` must be a whole number.", name);
    *ret = x > 0 ? (uint32_t)x : 0; /* RFC 7644 3.4.2.4: less is 1 of the first, and 0 of how many */
    return TAB_OK;
}

static tab_status filter_of(request *r, bool groups, scim_filter *ret, tab_error *err)
{
    tab_str text;
    *ret = (scim_filter){ .nothing = false };
    TAB_TRY(query_param(r, "filter", &text, err));
    return text.p == NULL ? TAB_OK : scim_read_filter(r->arena, text, groups, ret, err);
}

/* Whether an answer holds an attribute that can be left out. */
static tab_status wants(request *r, const char *attribute, bool *ret, tab_error *err)
{
    tab_str lists[2];
    TAB_TRY(query_param(r, "attributes", &lists[0], err));
    TAB_TRY(query_param(r, "excludedAttributes", &lists[1], err));
    bool named[2] = { false, false };
    for (size_t k = 0; k < 2; k++)
        for (size_t at = 0, n; lists[k].p != NULL && at < lists[k].n; at += n + 1) {
            const char *comma = memchr(lists[k].p + at, ',', lists[k].n - at);
            n = comma == NULL ? lists[k].n - at : (size_t)(comma - lists[k].p) - at;
            named[k] |= scim_same((tab_str){ lists[k].p + at, n }, attribute);
        }
    *ret = !named[1] && (lists[0].p == NULL || lists[0].n == 0 || named[0]);
    return TAB_OK;
}

static void page_begin(request *r, uint64_t total, uint32_t start, size_t n)
{
    tab_out *o = &r->out;
    r->media = SCIM_MEDIA;
    tab_out_open(o, '{');
    schemas_member(o, SCIM_MESSAGE "ListResponse");
    uint_member(o, "totalResults", total);
    uint_member(o, "startIndex", start > 0 ? start : 1);
    uint_member(o, "itemsPerPage", n);
    open_member(o, "Resources", '[');
}

static void page_end(request *r)
{
    tab_out_close(&r->out, ']');
    tab_out_close(&r->out, '}');
}

/* ---- users ----------------------------------------------------------------------------------- */

static tab_status users(request *r, const Tabella__ListDirectoryUsersRequest *q,
                        const Tabella__ListDirectoryUsersReply **ret, tab_error *err)
{
    return call(r, "keys", "ListDirectoryUsers", &q->base, &tabella__list_directory_users_reply__descriptor,
                ret, err);
}

tab_status get_scim_users(request *r, tab_error *err)
{
    Tabella__ListDirectoryUsersRequest q = TABELLA__LIST_DIRECTORY_USERS_REQUEST__INIT;
    const Tabella__ListDirectoryUsersReply *y = NULL;
    scim_filter f;
    TAB_TRY(number(r, "startIndex", 1, &q.start, err));
    TAB_TRY(number(r, "count", PAGE, &q.count, err));
    TAB_TRY(filter_of(r, false, &f, err));
    q.id = text_of(r, f.id);
    q.user_name = text_of(r, f.user_name);
    q.external_id = text_of(r, f.external_id);
    q.email = text_of(r, f.email);
    if (f.nothing)
        q.id = STR("-"); /* which nobody has */
    TAB_TRY(users(r, &q, &y, err));
    page_begin(r, y->total, q.start, y->n_users);
    for (size_t i = 0; i < y->n_users; i++)
        user_json(r, y->users[i]);
    page_end(r);
    return TAB_OK;
}

tab_status get_scim_user(request *r, tab_error *err)
{
    Tabella__ListDirectoryUsersRequest q = TABELLA__LIST_DIRECTORY_USERS_REQUEST__INIT;
    const Tabella__ListDirectoryUsersReply *y = NULL;
    q.id = text_of(r, r->param[0]);
    q.count = 1;
    TAB_TRY(users(r, &q, &y, err));
    if (y->n_users != 1)
        return tab_fail(err, TAB_NOT_FOUND, "", "There is no such user.");
    r->media = SCIM_MEDIA;
    user_json(r, y->users[0]);
    return TAB_OK;
}

static tab_status put_user(request *r, bool patch, tab_error *err)
{
    Tabella__SetDirectoryUserRequest q = TABELLA__SET_DIRECTORY_USER_REQUEST__INIT;
    const Tabella__DirectoryUser *u = NULL;
    scim_user s;
    TAB_TRY(scim_body(r, err));
    TAB_TRY(scim_read_user(r->arena, body_of(r), patch, &s, err));
    q.id = text_of(r, r->param[0]);
    q.user_name = text_of(r, s.user_name.text);
    q.set_external_id = s.external_id.set;
    q.external_id = text_of(r, s.external_id.text);
    q.set_name = s.name.set;
    q.name = text_of(r, s.name.text);
    q.set_given = s.given.set;
    q.given = text_of(r, s.given.text);
    q.set_family = s.family.set;
    q.family = text_of(r, s.family.text);
    q.set_email = s.email.set;
    q.email = text_of(r, s.email.text);
    q.set_active = s.set_active;
    q.active = s.active;
    if (tab_arena_full(r->arena))
        return tab_no_memory(err);
    TAB_TRY(call(r, "keys", "SetDirectoryUser", &q.base, &tabella__directory_user__descriptor, &u, err));
    user_json(r, u);
    return made(r, "User", u->id, err);
}

tab_status put_scim_user(request *r, tab_error *err)
{
    return put_user(r, false, err);
}

tab_status patch_scim_user(request *r, tab_error *err)
{
    return put_user(r, true, err);
}

static tab_status remove_one(request *r, const char *method, tab_error *err)
{
    Tabella__DeleteDirectoryRequest q = TABELLA__DELETE_DIRECTORY_REQUEST__INIT;
    const Tabella__DeleteDirectoryReply *y = NULL;
    q.id = text_of(r, r->param[0]);
    TAB_TRY(call(r, "keys", method, &q.base, &tabella__delete_directory_reply__descriptor, &y, err));
    r->status = 204;
    return TAB_OK;
}

tab_status delete_scim_user(request *r, tab_error *err)
{
    return remove_one(r, "DeleteDirectoryUser", err);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static tab_status groups(request *r, const Tabella__ListDirectoryGroupsRequest *q,
                         const Tabella__ListDirectoryGroupsReply **ret, tab_error *err)
{
    return call(r, "keys", "ListDirectoryGroups", &q->base, &tabella__list_directory_groups_reply__descriptor,
                ret, err);
}

tab_status get_scim_groups(request *r, tab_error *err)
{
    Tabella__ListDirectoryGroupsRequest q = TABELLA__LIST_DIRECTORY_GROUPS_REQUEST__INIT;
    const Tabella__ListDirectoryGroupsReply *y = NULL;
    scim_filter f;
    bool members;
    TAB_TRY(number(r, "startIndex", 1, &q.start, err));
    TAB_TRY(number(r, "count", PAGE, &q.count, err));
    TAB_TRY(filter_of(r, true, &f, err));
    TAB_TRY(wants(r, "members", &members, err));
    q.id = text_of(r, f.id);
    q.name = text_of(r, f.name);
    q.external_id = text_of(r, f.external_id);
    q.member = text_of(r, f.member);
    q.no_members = !members;
    if (f.nothing)
        q.id = STR("-");
    TAB_TRY(groups(r, &q, &y, err));
    page_begin(r, y->total, q.start, y->n_groups);
    for (size_t i = 0; i < y->n_groups; i++)
        group_json(r, y->groups[i], members);
    page_end(r);
    return TAB_OK;
}

tab_status get_scim_group(request *r, tab_error *err)
{
    Tabella__ListDirectoryGroupsRequest q = TABELLA__LIST_DIRECTORY_GROUPS_REQUEST__INIT;
    const Tabella__ListDirectoryGroupsReply *y = NULL;
    bool members;
    TAB_TRY(wants(r, "members", &members, err));
    q.id = text_of(r, r->param[0]);
    q.count = 1;
    q.no_members = !members;
    TAB_TRY(groups(r, &q, &y, err));
    if (y->n_groups != 1)
        return tab_fail(err, TAB_NOT_FOUND, "", "There is no such group.");
    r->media = SCIM_MEDIA;
    group_json(r, y->groups[0], members);
    return TAB_OK;
}

static tab_status members_of(request *r, const scim_group *g, Tabella__SetDirectoryGroupRequest *q,
                             tab_error *err)
{
    Tabella__DirectoryMembers *m = tab_arena_new_of(r->arena, Tabella__DirectoryMembers, g->n_members + 1);
    q->members = tab_arena_new_of(r->arena, Tabella__DirectoryMembers *, g->n_members + 1);
    if (m == NULL || q->members == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < g->n_members; i++) {
        const scim_members *from = &g->members[i];
        tabella__directory_members__init(&m[i]);
        m[i].change = from->change == SCIM_ADD      ? TABELLA__DIRECTORY_MEMBERS__CHANGE__ADD
                      : from->change == SCIM_REMOVE ? TABELLA__DIRECTORY_MEMBERS__CHANGE__REMOVE
                                                    : TABELLA__DIRECTORY_MEMBERS__CHANGE__REPLACE;
        m[i].ids = tab_arena_new_of(r->arena, char *, from->n + 1);
        for (size_t k = 0; k < from->n && m[i].ids != NULL; k++)
            m[i].ids[m[i].n_ids++] = text_of(r, from->id[k]);
        q->members[q->n_members++] = &m[i];
    }
    return tab_arena_full(r->arena) ? tab_no_memory(err) : TAB_OK;
}

static tab_status put_group(request *r, bool patch, tab_error *err)
{
    Tabella__SetDirectoryGroupRequest q = TABELLA__SET_DIRECTORY_GROUP_REQUEST__INIT;
    const Tabella__DirectoryGroup *g = NULL;
    scim_group s;
    bool members;
    TAB_TRY(scim_body(r, err));
    TAB_TRY(wants(r, "members", &members, err));
    TAB_TRY(scim_read_group(r->arena, body_of(r), patch, &s, err));
    TAB_TRY(members_of(r, &s, &q, err));
    q.id = text_of(r, r->param[0]);
    q.name = text_of(r, s.name.text);
    q.set_external_id = s.external_id.set;
    q.external_id = text_of(r, s.external_id.text);
    if (tab_arena_full(r->arena))
        return tab_no_memory(err);
    TAB_TRY(call(r, "keys", "SetDirectoryGroup", &q.base, &tabella__directory_group__descriptor, &g, err));
    group_json(r, g, members);
    return made(r, "Group", g->id, err);
}

tab_status put_scim_group(request *r, tab_error *err)
{
    return put_group(r, false, err);
}

tab_status patch_scim_group(request *r, tab_error *err)
{
    return put_group(r, true, err);
}

tab_status delete_scim_group(request *r, tab_error *err)
{
    return remove_one(r, "DeleteDirectoryGroup", err);
}
