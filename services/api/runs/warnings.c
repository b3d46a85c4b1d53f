/* Fields of a body that its request does not have. Those of run, create and serve are ignored, since a client
 * may be newer than the server, and named in warnings[], since one may be mistyped; warnings[] also holds
 * what the pass doubts. Those of a change of settings are refused. */
#include <stdio.h>

#include "common/base/nearest.h"
#include "services/api/api.h"
#include "services/api/render/members.h"
#include "services/api/runs/body.h"

enum { MOST_WARNINGS = 16, SHOWN = 64 };

/* The fields of each route. A change of settings on the platform refuses every other one: a cap that is
 * misspelt must not pass. */
#define FIELDS(...)  \
    {                \
        __VA_ARGS__, \
        {            \
            NULL, 0  \
        }            \
    }
static const struct {
    tab_route_id route;
    bool refuses;
    tab_str field[12];
} ROUTES[] = {
    { TAB_POST_RUN, false,
      FIELDS(TAB_S("tables"), TAB_S("data"), TAB_S("base"), TAB_S("target"), TAB_S("task"), TAB_S("options"),
             TAB_S("dry_run")) },
    { TAB_POST_ENDPOINTS, false,
      FIELDS(TAB_S("name"), TAB_S("tables"), TAB_S("data"), TAB_S("base"), TAB_S("target"), TAB_S("task"),
             TAB_S("options"), TAB_S("dry_run")) },
    { TAB_POST_SERVE, false,
      FIELDS(TAB_S("tables"), TAB_S("data"), TAB_S("options"), TAB_S("dry_run"), TAB_S("verbose")) },
    { TAB_POST_ENDPOINT_REFRESH, false, FIELDS(TAB_S("dry_run"), TAB_S("accept_schema"), TAB_S("options")) },
    { TAB_PUT_ORGANIZATION, true,
      FIELDS(TAB_S("name"), TAB_S("emails"), TAB_S("alerts"), TAB_S("add_usage"), TAB_S("spend_cap_usd"),
             TAB_S("id"), TAB_S("plan"), TAB_S("created_at"), TAB_S("networks"), TAB_S("retention"),
             TAB_S("plan_retention")) },
    { TAB_PATCH_KEY, true,
      FIELDS(TAB_S("name"), TAB_S("expires_at"), TAB_S("networks"), TAB_S("endpoints")) },
    { TAB_POST_WEBHOOKS, true,
      FIELDS(TAB_S("name"), TAB_S("url"), TAB_S("types"), TAB_S("token"), TAB_S("usage_format"),
             TAB_S("customer"), TAB_S("meter")) },
    { TAB_PATCH_WEBHOOK, true,
      FIELDS(TAB_S("name"), TAB_S("url"), TAB_S("types"), TAB_S("enabled"), TAB_S("token"),
             TAB_S("usage_format"), TAB_S("customer"), TAB_S("meter")) },
    { TAB_POST_KEY_ROTATE, true, FIELDS(TAB_S("overlap_s")) },
    { TAB_PATCH_ENDPOINT, true, FIELDS(TAB_S("name"), TAB_S("target"), TAB_S("task"), TAB_S("options")) },
    { TAB_POST_OUTCOMES, true, FIELDS(TAB_S("rows"), TAB_S("tables")) },
    { TAB_POST_OUTCOMES_FORGET, true, FIELDS(TAB_S("receipts")) },
    { TAB_POST_PROMPTS, true, FIELDS(TAB_S("name"), TAB_S("body"), TAB_S("active"), TAB_S("order")) },
    { TAB_PATCH_PROMPT, true, FIELDS(TAB_S("name"), TAB_S("body"), TAB_S("active"), TAB_S("order")) },
    { TAB_POST_SIGNIN, true, FIELDS(TAB_S("organization"), TAB_S("provider")) },
    { TAB_POST_SIGNIN_COMPLETE, true, FIELDS(TAB_S("state"), TAB_S("code")) },
    { TAB_POST_PROVIDERS, true,
      FIELDS(TAB_S("name"), TAB_S("issuer"), TAB_S("client_id"), TAB_S("client_secret"), TAB_S("scopes"),
             TAB_S("role"), TAB_S("groups_claim"), TAB_S("subject_claim"), TAB_S("roles"),
             TAB_S("domains")) },
    { TAB_PATCH_PROVIDER, true,
      FIELDS(TAB_S("name"), TAB_S("client_id"), TAB_S("client_secret"), TAB_S("scopes"), TAB_S("role"),
             TAB_S("groups_claim"), TAB_S("roles"), TAB_S("domains")) },
    { TAB_PATCH_PERSON, true, FIELDS(TAB_S("role"), TAB_S("active")) },
    { TAB_POST_UPLOADS, true,
      FIELDS(TAB_S("file_name"), TAB_S("name"), TAB_S("size_bytes"), TAB_S("options")) },
    { TAB_POST_SESSION, true, FIELDS(TAB_S("key")) },
};

static size_t shown_of(tab_str field)
{
    size_t n = field.n < SHOWN ? field.n : SHOWN;
    while (n < field.n && n > 0 && ((unsigned char)field.p[n] & 0xc0) == 0x80)
        n--; /* within a letter */
    return n;
}

tab_status unknown_field(tab_str field, const char *within, const tab_str *known, size_t n, tab_error *err)
{
    char path[128];
    size_t near = tab_nearest(field, known, n);
    int shown = (int)shown_of(field);
    snprintf(path, sizeof path, "%s%s%.*s", within, *within != 0 ? "." : "", shown, field.p);
    if (near < n)
        return tab_fail(err, TAB_VALIDATION, path, "this request has no field `%s`; did you mean `%.*s`?",
                        path, TAB_STR(known[near]));
    char all[160] = "";
    for (size_t i = 0, at = 0; i < n && at < sizeof all; i++)
        at += (size_t)snprintf(all + at, sizeof all - at, "%s%.*s", i > 0 ? ", " : "", TAB_STR(known[i]));
    return tab_fail(err, TAB_VALIDATION, path, "this request has no field `%s`; its fields are %s", path,
                    all);
}

static const char *warning(request *r, tab_str field, const tab_str *known, size_t n)
{
    size_t shown = shown_of(field), near = tab_nearest(field, known, n);
    if (near == n)
        return tab_arena_printf(r->arena, "`%.*s` is not a field of this request and was ignored", (int)shown,
                                field.p);
    return tab_arena_printf(r->arena,
                            "`%.*s` is not a field of this request and was ignored; did you mean `%.*s`?",
                            (int)shown, field.p, TAB_STR(known[near]));
}

tab_status warnings_read(request *r, const tab_json *root, tab_error *err)
{
    size_t at = 0, n = 0, found = 0;
    while (at < sizeof ROUTES / sizeof *ROUTES && ROUTES[at].route != r->route)
        at++;
    if (at == sizeof ROUTES / sizeof *ROUTES || root == NULL || root->kind != TAB_JSON_OBJECT)
        return TAB_OK;
    const tab_str *known = ROUTES[at].field;
    while (known[n].n > 0)
        n++;
    for (const tab_json *m = root->first; m != NULL && found < MOST_WARNINGS; m = m->next) {
        size_t k = 0;
        while (k < n && !tab_str_eq(m->key, known[k]))
            k++;
        if (k < n)
            continue;
        if (ROUTES[at].refuses)
            return unknown_field(m->key, "", known, n, err);
        if (r->warnings == NULL)
            r->warnings = tab_arena_new_of(r->arena, const char *, MOST_WARNINGS + 1);
        const char *text = r->warnings == NULL ? NULL : warning(r, m->key, known, n);
        if (text == NULL)
            return tab_no_memory(err);
        r->warnings[found++] = text;
    }
    return TAB_OK;
}

void warnings_member(request *r, const Tabella__Bundle *b)
{
    open_member(&r->out, "warnings", '[');
    for (size_t i = 0; r->warnings != NULL && r->warnings[i] != NULL; i++)
        tab_out_cstr(&r->out, r->warnings[i]);
    for (size_t i = 0; b != NULL && i < b->n_warnings; i++)
        tab_out_cstr(&r->out, b->warnings[i]);
    tab_out_close(&r->out, ']');
}
