/* What each role may do, route by route: the whole matrix, so that a route that is added says who may use
 * it. */
#include <criterion/criterion.h>

#include "common/http/routes.h"

/* Routes that not every person with the scope may use. v, b, u, a: viewer, billing, builder, admin. */
static const struct {
    tab_route_id route;
    const char *who;
} of_few[] = {
    { TAB_GET_MODELS, "vbua" },        { TAB_GET_OPENAPI, "vbua" },       { TAB_GET_USAGE, "vbua" },
    { TAB_GET_SERVICE_LEVEL, "vbua" }, { TAB_GET_ORGANIZATION, "vbua" },  { TAB_PUT_ORGANIZATION, "ba" },
    { TAB_GET_SESSION, "vbua" },       { TAB_DELETE_SESSION, "vbua" },    { TAB_GET_AUDIT, "a" },
    { TAB_GET_WEBHOOKS, "a" },         { TAB_POST_WEBHOOKS, "a" },        { TAB_PATCH_WEBHOOK, "a" },
    { TAB_DELETE_WEBHOOK, "a" },       { TAB_POST_WEBHOOK_ROTATE, "a" },  { TAB_POST_WEBHOOK_TEST, "a" },
    { TAB_GET_DELIVERIES, "a" },       { TAB_POST_DELIVERY_REPLAY, "a" }, { TAB_GET_PROVIDERS, "a" },
    { TAB_POST_PROVIDERS, "a" },       { TAB_PATCH_PROVIDER, "a" },       { TAB_DELETE_PROVIDER, "a" },
    { TAB_GET_PEOPLE, "a" },           { TAB_PATCH_PERSON, "a" },         { TAB_GET_SESSIONS, "a" },
    { TAB_DELETE_SESSIONS, "a" },      { TAB_POST_EXPORTS, "a" },         { TAB_GET_EXPORT, "a" },
};

static const struct {
    char letter;
    tab_person_role role;
    unsigned scopes;
} roles[] = {
    { 'v', TAB_PERSON_VIEWER, TAB_SCOPE_READ },
    { 'b', TAB_PERSON_BILLING, TAB_SCOPE_READ | TAB_SCOPE_MANAGE },
    { 'u', TAB_PERSON_BUILDER, TAB_SCOPE_ALL },
    { 'a', TAB_PERSON_ADMIN, TAB_SCOPE_ALL },
};

static bool may(tab_person_role role, const tab_route *r)
{
    return (tab_person_role_scopes(role) & (unsigned)r->scope) != 0 && tab_person_role_allows(role, r);
}

Test(roles, each_route_by_each_role)
{
    for (unsigned i = 0; i < TAB_ROUTE_COUNT; i++) {
        const tab_route *r = &tab_routes[i];
        const char *who = r->scope == TAB_SCOPE_READ ? "vua" : "ua"; /* of the organization's work */
        for (size_t k = 0; k < sizeof of_few / sizeof *of_few; k++)
            if (of_few[k].route == i)
                who = of_few[k].who;
        if ((r->flags & TAB_ROUTE_OPEN) != 0 || i == TAB_POST_MCP)
            continue; /* nobody's; the tool's own route is asked */
        bool scim = (r->flags & TAB_ROUTE_SCIM) != 0;
        who = scim ? "" : who;
        cr_expect_eq(may(TAB_PERSON_DIRECTORY, r), scim, "%s by a directory", r->name);
        for (size_t k = 0; k < sizeof roles / sizeof *roles; k++)
            cr_expect_eq(may(roles[k].role, r), strchr(who, roles[k].letter) != NULL, "%s by %s", r->name,
                         tab_person_role_name(roles[k].role));
        cr_expect_eq(tab_person_role_allows(TAB_PERSON_NONE, r), !scim, "a key has no role: %s", r->name);
    }
}

Test(roles, names_and_scopes)
{
    for (size_t k = 0; k < sizeof roles / sizeof *roles; k++) {
        tab_person_role r = roles[k].role;
        cr_expect_eq(tab_person_role_named(tab_str_of(tab_person_role_name(r))), r);
        cr_expect_eq(tab_person_role_scopes(r), roles[k].scopes);
    }
    cr_expect_eq(tab_person_role_named(TAB_S("")), TAB_PERSON_NONE);
    cr_expect_eq(tab_person_role_named(TAB_S("Admin")), TAB_PERSON_NONE);
    cr_expect_eq(tab_person_role_named(TAB_S("adminx")), TAB_PERSON_NONE);
    cr_expect_eq(tab_person_role_named(TAB_S("directory")), TAB_PERSON_NONE, "no person can have it");
    cr_expect_eq(tab_role_named(TAB_S("directory")), TAB_PERSON_DIRECTORY);
    cr_expect_eq(tab_role_named(TAB_S("admin")), TAB_PERSON_ADMIN);
    cr_expect_not(tab_person_role_allows(TAB_PERSON_COUNT, &tab_routes[TAB_GET_SESSION]));
}
