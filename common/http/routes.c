/* See routes.h: a path is held against each pattern of the list; a literal one wins over one with a
 * parameter. */
#include "common/http/routes.h"

const tab_route tab_routes[TAB_ROUTE_COUNT] = {
#define TAB_X(e, method, path, scope, flags) { #e, #method, path, TAB_SCOPE_##scope, flags },
    TAB_ROUTE_LIST(TAB_X)
#undef TAB_X
};

enum { PARAM_LENGTH = 128 };

static bool param_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Does `path` have the shape of `pattern`? Fills param in order. */
static bool fits(const char *pattern, tab_str path, tab_str param[2])
{
    size_t at = 0, params = 0;
    while (*pattern != '\0') {
        if (*pattern != ':') {
            if (at == path.n || path.p[at] != *pattern)
                return false;
            at++;
            pattern++;
            continue;
        }
        size_t from = at;
        while (at < path.n && param_byte(path.p[at]))
            at++;
        if (at == from || at - from > PARAM_LENGTH || params == 2)
            return false;
        param[params++] = (tab_str){ path.p + from, at - from };
        while (*pattern != '\0' && *pattern != '/')
            pattern++;
    }
    return at == path.n;
}

/* A literal path wins over one with a parameter: /v2/data/connect is no dataset id. */
static bool literal(const char *pattern)
{
    return strchr(pattern, ':') == NULL;
}

/* The Allow header of a path that lacks the method asked for. Few combinations exist, so that each
 * is a constant: bits GET 1, POST 2, DELETE 4, PATCH 8, PUT 16. */
static const char *allow_text(unsigned methods)
{
#define COMBINATIONS(more)                                                                          \
    "GET, HEAD" more, "POST" more, "GET, HEAD, POST" more, "DELETE" more, "GET, HEAD, DELETE" more, \
        "POST, DELETE" more, "GET, HEAD, POST, DELETE" more, "PATCH" more, "GET, HEAD, PATCH" more, \
        "POST, PATCH" more, "GET, HEAD, POST, PATCH" more, "DELETE, PATCH" more,                    \
        "GET, HEAD, DELETE, PATCH" more, "POST, DELETE, PATCH" more, "GET, HEAD, POST, DELETE, PATCH" more
    static const char *const text[32] = { "", COMBINATIONS(""), "PUT", COMBINATIONS(", PUT") };
#undef COMBINATIONS
    return text[methods & 31];
}

static unsigned method_bit(const char *m)
{
    return m[0] == 'G' ? 1 : m[0] == 'D' ? 4 : m[1] == 'O' ? 2 : m[1] == 'U' ? 16 : 8;
}

tab_status tab_route_find(tab_str method, tab_str path, tab_route_match *ret)
{
    unsigned methods = 0;
    tab_route_match best = { .id = TAB_ROUTE_COUNT };
    if (tab_str_eq(method, TAB_S("HEAD")))
        method = TAB_S("GET");

    for (unsigned i = 0; i < TAB_ROUTE_COUNT; i++) {
        const tab_route *r = &tab_routes[i];
        tab_str param[2] = { { NULL, 0 }, { NULL, 0 } };
        if (!fits(r->path, path, param))
            continue;
        methods |= method_bit(r->method);
        if (!tab_str_eq(method, tab_str_of(r->method)))
            continue;
        if (best.id == TAB_ROUTE_COUNT || literal(r->path)) {
            best.id = (tab_route_id)i;
            best.param[0] = param[0];
            best.param[1] = param[1];
        }
    }
    best.allow = allow_text(methods);
    *ret = best;
    return best.id == TAB_ROUTE_COUNT ? TAB_NOT_FOUND : TAB_OK;
}

unsigned tab_scope_named(tab_str name)
{
#define TAB_X(e, text, bit)            \
    if (tab_str_eq(name, TAB_S(text))) \
        return bit;
    TAB_SCOPE_LIST(TAB_X)
#undef TAB_X
    return 0;
}

const char *tab_scope_name(unsigned scope)
{
#define TAB_X(e, text, bit) \
    if (scope == (bit))     \
        return text;
    TAB_SCOPE_LIST(TAB_X)
#undef TAB_X
    return "";
}

static const struct {
    const char *name;
    unsigned scopes;
} roles[TAB_PERSON_COUNT] = { [TAB_PERSON_NONE] = { "", 0 },
#define TAB_X(e, text, bits) [TAB_PERSON_##e] = { text, (bits) },
                              TAB_PERSON_ROLES(TAB_X)
#undef TAB_X
                                  [TAB_PERSON_DIRECTORY] = { "directory", TAB_DIRECTORY_SCOPES } };

tab_person_role tab_role_named(tab_str name)
{
    for (unsigned i = 1; i < TAB_PERSON_COUNT; i++)
        if (tab_str_eq(name, tab_str_of(roles[i].name)))
            return (tab_person_role)i;
    return TAB_PERSON_NONE;
}

tab_person_role tab_person_role_named(tab_str name)
{
    tab_person_role role = tab_role_named(name);
    return role == TAB_PERSON_DIRECTORY ? TAB_PERSON_NONE : role;
}

const char *tab_person_role_name(tab_person_role role)
{
    return role < TAB_PERSON_COUNT ? roles[role].name : "";
}

unsigned tab_person_role_scopes(tab_person_role role)
{
    return role < TAB_PERSON_COUNT ? roles[role].scopes : 0;
}

bool tab_person_role_allows(tab_person_role role, const tab_route *route)
{
    if ((route->flags & TAB_ROUTE_SCIM) != 0)
        return role == TAB_PERSON_DIRECTORY;
    switch (role) {
    case TAB_PERSON_NONE:
    case TAB_PERSON_ADMIN:
        return true;
    case TAB_PERSON_VIEWER:
    case TAB_PERSON_BUILDER:
        return (route->flags & TAB_ROUTE_ADMIN) == 0;
    case TAB_PERSON_BILLING:
        return (route->flags & (TAB_ROUTE_BILLING | TAB_ROUTE_ROLES)) != 0;
    case TAB_PERSON_DIRECTORY:
    case TAB_PERSON_COUNT:
        break;
    }
    return false;
}
