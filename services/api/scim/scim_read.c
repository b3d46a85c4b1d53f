/* See scim_read.h. A whole user is read as the changes that its members are, so that a path and a member mean
 * one thing. */
#include "services/api/scim/scim_read.h"

#include <stdlib.h>
#include <strings.h>

#include "common/json/json.h"

enum { DEPTH = 8 };

bool scim_same(tab_str a, const char *b)
{
    return a.n == strlen(b) && strncasecmp(a.p, b, a.n) == 0;
}

static tab_status wrong(tab_error *err, const char *type, const char *what)
{
    return tab_fail(err, TAB_VALIDATION, type, "%s", what);
}

static const tab_json *get(const tab_json *of, const char *key)
{
    for (const tab_json *m = of != NULL && of->kind == TAB_JSON_OBJECT ? of->first : NULL; m != NULL;
         m = m->next)
        if (scim_same(m->key, key))
            return m;
    return NULL;
}

static tab_status read_body(tab_arena *a, tab_str body, const tab_json **ret, tab_error *err)
{
    tab_error why;
    if (tab_json_read(a, body, DEPTH, ret, &why) != TAB_OK || (*ret)->kind != TAB_JSON_OBJECT)
        return wrong(err, "invalidSyntax", "The body is no JSON object.");
    return TAB_OK;
}

/* A text, or none where the member is null or is removed. */
static tab_status take(const tab_json *v, scim_text *ret, tab_error *err)
{
    *ret = (scim_text){ true, TAB_S("") };
    if (v == NULL || v->kind == TAB_JSON_NULL)
        return TAB_OK;
    if (v->kind != TAB_JSON_STRING || v->text.n > SCIM_TEXT ||
        (v->text.n > 0 && memchr(v->text.p, 0, v->text.n) != NULL))
        return wrong(err, "invalidValue", "A text must be a string of at most 255 bytes.");
    ret->text = v->text;
    return TAB_OK;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* "emails[type eq \"work\"].value" is name "emails", filter `type eq "work"`, sub "value". */
typedef struct {
    tab_str name, filter, sub;
} path;

static tab_status read_path(tab_str text, path *ret, tab_error *err)
{
    static const char *const schemas[] = { "urn:ietf:params:scim:schemas:core:2.0:User:",
                                           "urn:ietf:params:scim:schemas:core:2.0:Group:" };
    *ret = (path){ { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(schemas[i]);
        if (text.n > n && strncasecmp(text.p, schemas[i], n) == 0)
            text = (tab_str){ text.p + n, text.n - n };
    }
    if (text.n == 0 || text.n > SCIM_TEXT)
        return wrong(err, "invalidPath", "A path must have 1 to 255 bytes.");
    if (text.n > 4 && strncasecmp(text.p, "urn:", 4) == 0) { /* of an extension: not kept */
        ret->name = text;
        return TAB_OK;
    }
    const char *open = memchr(text.p, '[', text.n), *end = text.p + text.n;
    const char *dot = memchr(text.p, '.', open != NULL ? (size_t)(open - text.p) : text.n);
    if (open != NULL && dot == NULL) {
        const char *close = memrchr(open, ']', (size_t)(end - open));
        if (close == NULL || (close + 1 < end && close[1] != '.'))
            return wrong(err, "invalidPath", "The path's brackets do not match.");
        ret->filter = (tab_str){ open + 1, (size_t)(close - open - 1) };
        dot = close + 1 < end ? close + 1 : NULL;
        ret->name = (tab_str){ text.p, (size_t)(open - text.p) };
    } else {
        ret->name = (tab_str){ text.p, dot != NULL ? (size_t)(dot - text.p) : text.n };
    }
    if (dot != NULL)
        ret->sub = (tab_str){ dot + 1, (size_t)(end - dot - 1) };
    return ret->name.n == 0 || (dot != NULL && ret->sub.n == 0)
               ? wrong(err, "invalidPath", "The path lacks a name.")
               : TAB_OK;
}

/* `ATTRIBUTE eq "TEXT"` at the front of *text, which moves behind it; the text decoded. */
static tab_status read_equal(tab_arena *a, tab_str *text, tab_str *ret_name, tab_str *ret_value,
                             tab_error *err)
{
    const char *p = text->p, *end = text->p + text->n;
    while (p < end && *p == ' ')
        p++;
    const char *name = p;
    while (p < end && *p != ' ')
        p += *p == '[' && memchr(p, ']', (size_t)(end - p)) != NULL
                 ? (const char *)memchr(p, ']', (size_t)(end - p)) - p
                 : 1;
    *ret_name = (tab_str){ name, (size_t)(p - name) };
    while (p < end && *p == ' ')
        p++;
    if (ret_name->n == 0 || end - p < 3 || strncasecmp(p, "eq ", 3) != 0)
        return wrong(err, "invalidFilter",
                     "Filters are of the form ATTRIBUTE eq \"TEXT\", with `and` between.");
    for (p += 3; p < end && *p == ' ';)
        p++;
    const char *value = p;
    for (p += p < end; p < end && *p != '"'; p++)
        p += *p == '\\' && p + 1 < end;
    if (value == end || *value != '"' || p >= end)
        return wrong(err, "invalidFilter", "A filter's text stands in quotes.");
    p++;
    tab_str copy = tab_arena_copy(a, (tab_str){ value, (size_t)(p - value) });
    const tab_json *read;
    tab_error why;
    if (copy.p == NULL)
        return tab_no_memory(err);
    if (tab_json_read(a, copy, 1, &read, &why) != TAB_OK || read->kind != TAB_JSON_STRING)
        return wrong(err, "invalidFilter", "A filter's text is no string of JSON.");
    *ret_value = read->text;
    *text = (tab_str){ p, (size_t)(end - p) };
    return TAB_OK;
}

/* ---- users ----------------------------------------------------------------------------------- */

typedef struct {
    scim_user *user;
    scim_text display, formatted;
} user_reader;

static tab_status take_active(const tab_json *v, scim_user *u, tab_error *err)
{
    bool text = v != NULL && v->kind == TAB_JSON_STRING;
    if (v != NULL && v->kind == TAB_JSON_BOOL)
        u->active = v->yes;
    else if (text && (scim_same(v->text, "true") || scim_same(v->text, "false")))
        u->active = scim_same(v->text, "true");
    else
        return wrong(err, "invalidValue", "`active` must be true or false.");
    u->set_active = true;
    return TAB_OK;
}

/* The primary address of a list, else the first. */
static tab_status take_emails(const tab_json *v, scim_user *u, tab_error *err)
{
    const tab_json *best = NULL;
    if (v != NULL && v->kind == TAB_JSON_OBJECT)
        return take(get(v, "value"), &u->email, err);
    if (v != NULL && v->kind == TAB_JSON_STRING)
        return take(v, &u->email, err);
    if (v != NULL && v->kind != TAB_JSON_ARRAY && v->kind != TAB_JSON_NULL)
        return wrong(err, "invalidValue", "`emails` must be an array.");
    for (const tab_json *m = v != NULL && v->kind == TAB_JSON_ARRAY ? v->first : NULL; m != NULL;
         m = m->next) {
        const tab_json *primary = get(m, "primary");
        if (best == NULL || (primary != NULL && primary->kind == TAB_JSON_BOOL && primary->yes))
            best = get(m, "value");
    }
    return take(best, &u->email, err);
}

/* One address is kept: of several the one at work, or the primary one. */
static bool kept_email(tab_str filter)
{
    return filter.p == NULL || scim_same(filter, "type eq \"work\"") ||
           scim_same(filter, "primary eq true") || scim_same(filter, "primary eq \"true\"");
}

static tab_status take_name(const tab_json *v, user_reader *u, tab_error *err)
{
    static const char *const sub[] = { "formatted", "givenName", "familyName" };
    scim_text *to[] = { &u->formatted, &u->user->given, &u->user->family };
    if (v != NULL && v->kind != TAB_JSON_OBJECT && v->kind != TAB_JSON_NULL)
        return wrong(err, "invalidValue", "`name` must be an object.");
    for (size_t i = 0; i < 3; i++)
        if (v == NULL || v->kind == TAB_JSON_NULL || get(v, sub[i]) != NULL)
            TAB_TRY(take(get(v, sub[i]), to[i], err));
    return TAB_OK;
}

/* v NULL: it is removed. */
static tab_status apply_user(user_reader *u, const path *p, const tab_json *v, tab_error *err)
{
    scim_user *to = u->user;
    if (scim_same(p->name, "userName") && p->sub.p == NULL)
        return take(v, &to->user_name, err);
    if (scim_same(p->name, "externalId") && p->sub.p == NULL)
        return take(v, &to->external_id, err);
    if (scim_same(p->name, "displayName") && p->sub.p == NULL)
        return take(v, &u->display, err);
    if (scim_same(p->name, "active") && p->sub.p == NULL)
        return take_active(v, to, err);
    if (scim_same(p->name, "emails") && kept_email(p->filter) &&
        (p->sub.p == NULL || scim_same(p->sub, "value")))
        return take_emails(v, to, err);
    if (!scim_same(p->name, "name"))
        return TAB_OK;
    if (p->sub.p == NULL)
        return take_name(v, u, err);
    return scim_same(p->sub, "formatted")    ? take(v, &u->formatted, err)
           : scim_same(p->sub, "givenName")  ? take(v, &to->given, err)
           : scim_same(p->sub, "familyName") ? take(v, &to->family, err)
                                             : TAB_OK;
}

static tab_status apply_members_of(user_reader *u, const tab_json *object, tab_error *err)
{
    for (const tab_json *m = object->first; m != NULL; m = m->next) {
        path p;
        TAB_TRY(read_path(m->key, &p, err));
        TAB_TRY(apply_user(u, &p, m, err));
    }
    return TAB_OK;
}

/* The name that people are shown by: the display name, else what the name says. */
static tab_status name_user(tab_arena *a, const user_reader *u, bool patch, tab_error *err)
{
    scim_user *to = u->user;
    const scim_text *said = u->display.text.n > 0 ? &u->display : &u->formatted;
    to->name = *said;
    if (said->text.n > 0 || patch) {
        to->name.set = said->text.n > 0;
        return TAB_OK;
    }
    tab_str given = to->given.text, family = to->family.text;
    to->name = (scim_text){ true, to->user_name.text };
    if (given.n + family.n == 0 || given.n + family.n >= SCIM_TEXT)
        return TAB_OK;
    const char *joined =
        tab_arena_printf(a, "%.*s%s%.*s", (int)given.n, given.n > 0 ? given.p : "",
                         given.n > 0 && family.n > 0 ? " " : "", (int)family.n, family.n > 0 ? family.p : "");
    if (joined == NULL)
        return tab_no_memory(err);
    to->name.text = tab_str_of(joined);
    return TAB_OK;
}

/* ---- changes --------------------------------------------------------------------------------- */

typedef tab_status apply_fn(void *to, scim_change change, const path *p, const tab_json *value,
                            tab_error *err);

static tab_status read_change(const tab_json *op, scim_change *ret, tab_error *err)
{
    tab_str text = op != NULL && op->kind == TAB_JSON_STRING ? op->text : TAB_S("");
    if (scim_same(text, "add"))
        *ret = SCIM_ADD;
    else if (scim_same(text, "remove"))
        *ret = SCIM_REMOVE;
    else if (scim_same(text, "replace"))
        *ret = SCIM_REPLACE;
    else
        return wrong(err, "invalidSyntax", "`op` must be add, remove or replace.");
    return TAB_OK;
}

/* Each operation of a PATCH, in its order. p NULL: it names no path, and value is an object. */
static tab_status each_operation(const tab_json *root, apply_fn *apply, void *to, tab_error *err)
{
    const tab_json *list = get(root, "Operations");
    if (list == NULL || list->kind != TAB_JSON_ARRAY || list->count == 0 || list->count > SCIM_OPERATIONS)
        return wrong(err, "invalidSyntax", "`Operations` must be an array of 1 to 1000 operations.");
    for (const tab_json *m = list->first; m != NULL; m = m->next) {
        scim_change change;
        path p;
        TAB_TRY(read_change(get(m, "op"), &change, err));
        const tab_json *where = get(m, "path"), *value = get(m, "value");
        bool has = where != NULL && where->kind != TAB_JSON_NULL;
        if (has && where->kind != TAB_JSON_STRING)
            return wrong(err, "invalidPath", "`path` must be a text.");
        if (!has && (change == SCIM_REMOVE || value == NULL || value->kind != TAB_JSON_OBJECT))
            return wrong(err, change == SCIM_REMOVE ? "noTarget" : "invalidValue",
                         "An operation without a path must have an object as its value.");
        if (has)
            TAB_TRY(read_path(where->text, &p, err));
        if (has && change != SCIM_REMOVE && value == NULL)
            return wrong(err, "invalidValue", "An operation lacks its value.");
        TAB_TRY(apply(to, change, has ? &p : NULL, value, err));
    }
    return TAB_OK;
}

static tab_status patch_user(void *to, scim_change change, const path *p, const tab_json *value,
                             tab_error *err)
{
    return p == NULL ? apply_members_of(to, value, err)
                     : apply_user(to, p, change == SCIM_REMOVE ? NULL : value, err);
}

tab_status scim_read_user(tab_arena *a, tab_str body, bool patch, scim_user *ret, tab_error *err)
{
    const tab_json *root;
    user_reader u = { .user = ret };
    *ret = (scim_user){ .set_active = false };
    TAB_TRY(read_body(a, body, &root, err));
    if (patch) {
        TAB_TRY(each_operation(root, patch_user, &u, err));
    } else {
        ret->external_id.set = ret->given.set = ret->family.set = ret->email.set = true;
        TAB_TRY(apply_members_of(&u, root, err));
    }
    if (ret->user_name.text.n == 0 && (!patch || ret->user_name.set))
        return wrong(err, "invalidValue", "`userName` is required.");
    return name_user(a, &u, patch, err);
}

/* ---- groups ---------------------------------------------------------------------------------- */

typedef struct {
    tab_arena *a;
    scim_group *group;
    size_t ids;
} group_reader;

static tab_status add_change(group_reader *g, scim_change change, size_t most, scim_members **ret,
                             tab_error *err)
{
    scim_members *m = &g->group->members[g->group->n_members];
    m->change = change;
    m->n = 0;
    m->id = tab_arena_new_of(g->a, tab_str, most + 1);
    if (m->id == NULL)
        return tab_no_memory(err);
    g->group->n_members++;
    *ret = m;
    return TAB_OK;
}

/* Groups within groups are not kept. */
static tab_status take_members(group_reader *g, scim_change change, const tab_json *v, tab_error *err)
{
    scim_members *m;
    bool list = v != NULL && v->kind == TAB_JSON_ARRAY;
    if (v != NULL && !list && v->kind != TAB_JSON_OBJECT && v->kind != TAB_JSON_NULL)
        return wrong(err, "invalidValue", "`members` must be an array.");
    bool all = v == NULL || v->kind == TAB_JSON_NULL;
    TAB_TRY(add_change(g, all ? SCIM_REPLACE : change, list ? v->count : 1, &m, err));
    for (const tab_json *x = list ? v->first : all ? NULL : v; x != NULL; x = list ? x->next : NULL) {
        const tab_json *type = get(x, "type");
        scim_text id;
        TAB_TRY(take(get(x, "value"), &id, err));
        if (id.text.n == 0 || ++g->ids > SCIM_MEMBERS)
            return wrong(err, "invalidValue",
                         "A member must have a `value`; at most 10000 are taken at once.");
        if (type == NULL || type->kind != TAB_JSON_STRING || !scim_same(type->text, "Group"))
            m->id[m->n++] = id.text;
    }
    return TAB_OK;
}

static tab_status apply_group(group_reader *g, scim_change change, const path *p, const tab_json *v,
                              tab_error *err)
{
    if (scim_same(p->name, "displayName") && p->sub.p == NULL)
        return take(change == SCIM_REMOVE ? NULL : v, &g->group->name, err);
    if (scim_same(p->name, "externalId") && p->sub.p == NULL)
        return take(change == SCIM_REMOVE ? NULL : v, &g->group->external_id, err);
    if (!scim_same(p->name, "members"))
        return TAB_OK;
    if (p->filter.p == NULL)
        return take_members(g, change, v, err);
    tab_str rest = p->filter, name, value;
    scim_members *m;
    TAB_TRY(read_equal(g->a, &rest, &name, &value, err));
    if (!scim_same(name, "value") || rest.n > 0 || change != SCIM_REMOVE || value.n > SCIM_TEXT ||
        (value.n > 0 && memchr(value.p, 0, value.n) != NULL))
        return wrong(err, "invalidPath", "Members are removed by members[value eq \"ID\"].");
    TAB_TRY(add_change(g, SCIM_REMOVE, 1, &m, err));
    m->id[m->n++] = value;
    return TAB_OK;
}

static tab_status apply_group_members_of(group_reader *g, scim_change change, const tab_json *object,
                                         tab_error *err)
{
    for (const tab_json *m = object->first; m != NULL; m = m->next) {
        path p;
        TAB_TRY(read_path(m->key, &p, err));
        if (p.filter.p == NULL) /* a name is no filter */
            TAB_TRY(apply_group(g, change, &p, m, err));
    }
    return TAB_OK;
}

static tab_status patch_group(void *to, scim_change change, const path *p, const tab_json *value,
                              tab_error *err)
{
    return p == NULL ? apply_group_members_of(to, change, value, err)
                     : apply_group(to, change, p, value, err);
}

/* How many changes of members it can be at most: one for each operation, or member of its object. */
static size_t changes_most(const tab_json *root, bool patch)
{
    size_t n = 2;
    const tab_json *list = patch ? get(root, "Operations") : NULL;
    for (const tab_json *m = list != NULL && list->kind == TAB_JSON_ARRAY ? list->first : NULL; m != NULL;
         m = m->next) {
        const tab_json *v = get(m, "value");
        n += 1 + (v != NULL ? v->count : 0);
    }
    return patch ? n : n + root->count;
}

tab_status scim_read_group(tab_arena *a, tab_str body, bool patch, scim_group *ret, tab_error *err)
{
    const tab_json *root;
    *ret = (scim_group){ .n_members = 0 };
    TAB_TRY(read_body(a, body, &root, err));
    group_reader g = { a, ret, 0 };
    ret->members = tab_arena_new_of(a, scim_members, changes_most(root, patch));
    if (ret->members == NULL)
        return tab_no_memory(err);
    if (patch) {
        TAB_TRY(each_operation(root, patch_group, &g, err));
    } else {
        ret->external_id.set = true;
        if (get(root, "members") == NULL)
            TAB_TRY(take_members(&g, SCIM_REPLACE, NULL, err));
        TAB_TRY(apply_group_members_of(&g, SCIM_REPLACE, root, err));
    }
    if (ret->name.text.n == 0 && (!patch || ret->name.set))
        return wrong(err, "invalidValue", "`displayName` is required.");
    return TAB_OK;
}

/* ---- filters --------------------------------------------------------------------------------- */

static tab_str *asked(scim_filter *f, bool groups, tab_str name)
{
    path p;
    tab_error why;
    if (read_path(name, &p, &why) != TAB_OK)
        return NULL;
    bool value = p.sub.p == NULL || scim_same(p.sub, "value");
    if (p.sub.p == NULL && p.filter.p == NULL && scim_same(p.name, "id"))
        return &f->id;
    if (p.sub.p == NULL && p.filter.p == NULL && scim_same(p.name, "externalId"))
        return &f->external_id;
    if (groups)
        return value && scim_same(p.name, "members")                 ? &f->member
               : p.sub.p == NULL && scim_same(p.name, "displayName") ? &f->name
                                                                     : NULL;
    return value && scim_same(p.name, "emails") && kept_email(p.filter) ? &f->email
           : p.sub.p == NULL && scim_same(p.name, "userName")           ? &f->user_name
                                                                        : NULL;
}

tab_status scim_read_filter(tab_arena *a, tab_str text, bool groups, scim_filter *ret, tab_error *err)
{
    *ret = (scim_filter){ .nothing = false };
    if (text.n > 1024)
        return wrong(err, "invalidFilter", "The filter is too long.");
    for (;;) {
        tab_str name, value;
        TAB_TRY(read_equal(a, &text, &name, &value, err));
        tab_str *to = asked(ret, groups, name);
        if (to == NULL || to->p != NULL)
            return wrong(err, "invalidFilter",
                         groups ? "Groups are found by id, displayName, externalId and members, each once."
                                : "Users are found by id, userName, externalId and emails, each once.");
        ret->nothing |= value.n == 0 || value.n > SCIM_TEXT || memchr(value.p, 0, value.n) != NULL;
        *to = value.n > 0 ? value : TAB_S("");
        if (strspn(text.p, " ") >= text.n)
            return TAB_OK;
        size_t blank = strspn(text.p, " ");
        if (blank == 0 || text.n - blank < 4 || strncasecmp(text.p + blank, "and ", 4) != 0)
            return wrong(err, "invalidFilter", "Parts of a filter have `and` between.");
        text = (tab_str){ text.p + blank + 4, text.n - blank - 4 };
    }
}
