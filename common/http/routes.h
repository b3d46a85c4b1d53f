/* Every route of the HTTP surface, in one place: the gateway's module decides route and scope from
 * this list, the api dispatches on it, and OpenAPI and the conformance tests are made from it.
 *
 * A path is matched on its raw bytes, as sent: literal segments byte for byte, a parameter segment
 * 1 to 128 characters of A-Z a-z 0-9 _ - (no percent, no dot, no slash). So what is authorized is
 * what is forwarded: a path that a server could normalise into another one matches no route at all.
 */
#ifndef TAB_ROUTES_H
#define TAB_ROUTES_H

#include "common/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAB_SCOPE_LIST(X)  \
    X(READ, "read", 1)     \
    X(RUN, "run", 2)       \
    X(SERVE, "serve", 4)   \
    X(MANAGE, "manage", 8) \
    X(DELETE, "delete", 16)

typedef enum {
#define TAB_X(e, name, bit) TAB_SCOPE_##e = (bit),
    TAB_SCOPE_LIST(TAB_X)
#undef TAB_X
        TAB_SCOPE_ALL = 31
} tab_scope;

/* What a person may do (decision 0575): scopes, in an area of the routes. A key without a person has no
 * role, and its scopes hold in all areas. */
#define TAB_PERSON_ROLES(X)                                  \
    X(VIEWER, "viewer", TAB_SCOPE_READ)                      \
    X(BILLING, "billing", TAB_SCOPE_READ | TAB_SCOPE_MANAGE) \
    X(BUILDER, "builder", TAB_SCOPE_ALL)                     \
    X(ADMIN, "admin", TAB_SCOPE_ALL)

typedef enum {
    TAB_PERSON_NONE,
#define TAB_X(e, name, scopes) TAB_PERSON_##e,
    TAB_PERSON_ROLES(TAB_X)
#undef TAB_X
        TAB_PERSON_DIRECTORY, /* of no person: of keys that say by SCIM whom a provider has (decision 0625) */
    TAB_PERSON_COUNT
} tab_person_role;
#define TAB_DIRECTORY_SCOPES (TAB_SCOPE_READ | TAB_SCOPE_MANAGE | TAB_SCOPE_DELETE)

enum {
    TAB_ROUTE_IDEMPOTENT = 1,  /* takes Idempotency-Key */
    TAB_ROUTE_PAGED = 2,       /* takes limit and cursor */
    TAB_ROUTE_BODY = 4,        /* reads a body: JSON, or a form with a file */
    TAB_ROUTE_ENDPOINT = 8,    /* :id is an endpoint: its own request rate, its state version read */
    TAB_ROUTE_PLATFORM = 16,   /* what the specification makes on the platform; tag `platform` in OpenAPI */
    TAB_ROUTE_OPEN = 32,       /* without a key: what it needs to know of the caller is in its body */
    TAB_ROUTE_ADMIN = 64,      /* of the organization itself: persons need the role admin, or see below */
    TAB_ROUTE_BILLING = 128,   /* the role billing may too, which elsewhere may not */
    TAB_ROUTE_ROLES = 256,     /* every role may */
    TAB_ROUTE_SCIM = 512,      /* keys of directories may, and nobody else */
    TAB_ROUTE_STANDARD = 1024, /* described by a standard of its own, and not by OpenAPI */
    TAB_ROUTE_OF_SCIM = TAB_ROUTE_SCIM | TAB_ROUTE_STANDARD
};

/* clang-format off */
#define TAB_ROUTE_LIST(X)                                                                                         \
    X(POST_RUN,              POST,   "/v2/run",                       RUN, \
      TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY) \
    X(POST_DATA_CONNECT,     POST,   "/v2/data/connect",              MANAGE, TAB_ROUTE_BODY) \
    X(GET_DATA_LIST,         GET,    "/v2/data",                      READ,   TAB_ROUTE_PAGED) \
    X(GET_DATA,              GET,    "/v2/data/:id",                  READ,   0) \
    X(POST_DATA_SYNC,        POST,   "/v2/data/:id/sync",             MANAGE, 0) \
    X(POST_DATA_PIN,         POST,   "/v2/data/:id/pin",              MANAGE, 0) \
    X(POST_DATA_UNPIN,       POST,   "/v2/data/:id/unpin",            MANAGE, 0) \
    X(POST_DATA_GENERATE,    POST,   "/v2/data/generate",             MANAGE, \
      TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY) \
    X(DELETE_DATA,           DELETE, "/v2/data/:id",                  DELETE, 0) \
    X(POST_ENDPOINTS,        POST,   "/v2/endpoints",                 MANAGE, \
      TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY) \
    X(GET_ENDPOINTS,         GET,    "/v2/endpoints",                 READ,   TAB_ROUTE_PAGED) \
    X(GET_ENDPOINT,          GET,    "/v2/endpoints/:id",             READ,   TAB_ROUTE_PAGED) \
    X(POST_SERVE,            POST,   "/v2/serve/:id",                 SERVE, \
       \
      TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY | TAB_ROUTE_ENDPOINT)                                                    \
    X(POST_ENDPOINT_REFRESH, POST,   "/v2/endpoints/:id/refresh",     MANAGE, \
      TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY) \
    X(POST_ENDPOINT_UPGRADE, POST,   "/v2/endpoints/:id/upgrade",     MANAGE, \
      TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY) \
    X(GET_ENDPOINT_LOGS,     GET,    "/v2/endpoints/:id/logs",        READ,   TAB_ROUTE_PAGED) \
    X(POST_OUTCOMES,         POST,   "/v2/endpoints/:id/outcomes",    MANAGE, \
      TAB_ROUTE_BODY | TAB_ROUTE_ENDPOINT) \
    X(GET_OUTCOMES,          GET,    "/v2/endpoints/:id/outcomes",    READ,   0) \
    X(POST_OUTCOMES_FORGET,  POST,   "/v2/endpoints/:id/outcomes/forget", MANAGE, \
      TAB_ROUTE_BODY | TAB_ROUTE_ENDPOINT) \
    X(GET_OPENAPI,           GET,    "/v2/openapi",                   READ, TAB_ROUTE_ROLES) \
    X(GET_ENDPOINT_OPENAPI,  GET,    "/v2/openapi/:id",               READ,   0) \
    X(DELETE_ENDPOINT,       DELETE, "/v2/endpoints/:id",             DELETE, 0) \
    X(GET_REPORTS,           GET,    "/v2/reports",                   READ,   TAB_ROUTE_PAGED) \
    X(GET_REPORT,            GET,    "/v2/reports/:id",               READ,   0) \
    X(GET_JOBS,              GET,    "/v2/jobs",                      READ,   TAB_ROUTE_PAGED) \
    X(GET_JOB,               GET,    "/v2/jobs/:id",                  READ,   TAB_ROUTE_PAGED) \
    X(GET_RESULT_PART,       GET,    "/v2/jobs/:id/result/:sub",      READ,   0) \
    X(GET_RESULT_FILLED,     GET,    "/v2/jobs/:id/result/filled/:sub", READ, 0) \
    X(POST_JOB_CANCEL,       POST,   "/v2/jobs/:id/cancel",           MANAGE, 0) \
    X(DELETE_JOB,            DELETE, "/platform/v1/jobs/:id",         DELETE, TAB_ROUTE_PLATFORM) \
    X(GET_MODELS,            GET,    "/v2/models",                    READ, TAB_ROUTE_ROLES) \
    X(GET_USAGE,             GET,    "/v2/usage",                     READ, \
      TAB_ROUTE_PAGED | TAB_ROUTE_BILLING) \
    X(GET_SERVICE_LEVEL, GET, "/platform/v1/service-level", READ, TAB_ROUTE_PLATFORM | TAB_ROUTE_ROLES) \
    X(GET_KEYS,              GET,    "/v2/keys",                      READ,   0) \
    X(POST_KEYS,             POST,   "/v2/keys",                      MANAGE, TAB_ROUTE_BODY) \
    X(POST_KEY_ROTATE,       POST,   "/v2/keys/:id/rotate",           MANAGE, TAB_ROUTE_BODY) \
    X(DELETE_KEY,            DELETE, "/v2/keys/:id",                  DELETE, 0) \
    X(POST_DATA_UPLOAD,      POST,   "/platform/v1/data/upload",      MANAGE, \
       \
      TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM)                                                    \
    X(POST_UPLOADS, POST, "/platform/v1/uploads", MANAGE, \
      TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(GET_UPLOAD, GET, "/platform/v1/uploads/:id", MANAGE, TAB_ROUTE_PLATFORM) \
    X(PUT_UPLOAD, PUT, "/platform/v1/uploads/:id", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(DELETE_UPLOAD, DELETE, "/platform/v1/uploads/:id", MANAGE, TAB_ROUTE_PLATFORM) \
    X(POST_UPLOAD_COMPLETE, POST, "/platform/v1/uploads/:id/complete", MANAGE, \
      TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_PLATFORM) \
    X(PATCH_ENDPOINT,        PATCH,  "/platform/v1/endpoints/:id",    MANAGE, \
      TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(POST_PROMPTS, POST, "/platform/v1/endpoints/:id/prompts", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(PATCH_PROMPT, PATCH, "/platform/v1/endpoints/:id/prompts/:sub", MANAGE, \
      TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(DELETE_PROMPT,         DELETE, "/platform/v1/endpoints/:id/prompts/:sub", MANAGE, TAB_ROUTE_PLATFORM) \
    X(POST_REPORT_STAR,      POST,   "/platform/v1/reports/:id/star",   MANAGE, TAB_ROUTE_PLATFORM) \
    X(POST_REPORT_UNSTAR,    POST,   "/platform/v1/reports/:id/unstar", MANAGE, TAB_ROUTE_PLATFORM) \
    X(GET_AUDIT,             GET,    "/platform/v1/audit",            READ, \
      TAB_ROUTE_PAGED | TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(GET_NOTIFICATIONS, GET, "/platform/v1/notifications", READ, TAB_ROUTE_PAGED | TAB_ROUTE_PLATFORM) \
    X(POST_NOTIFICATION_READ, POST, "/platform/v1/notifications/:id/read", MANAGE, TAB_ROUTE_PLATFORM) \
    X(GET_ORGANIZATION, GET, "/platform/v1/organization", READ, TAB_ROUTE_PLATFORM | TAB_ROUTE_ROLES) \
    X(PUT_ORGANIZATION, PUT, "/platform/v1/organization", MANAGE, \
       \
      TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN | TAB_ROUTE_BILLING) \
    X(POST_SESSION, POST, "/platform/v1/session", ALL, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM | TAB_ROUTE_OPEN) \
    X(GET_SESSION, GET, "/platform/v1/session", ALL, TAB_ROUTE_PLATFORM | TAB_ROUTE_ROLES) \
    X(DELETE_SESSION, DELETE, "/platform/v1/session", ALL, TAB_ROUTE_PLATFORM | TAB_ROUTE_ROLES) \
    X(GET_DATA_SNAPSHOTS, GET, "/platform/v1/data/:id/snapshots", READ, \
      TAB_ROUTE_PAGED | TAB_ROUTE_PLATFORM) \
    X(GET_DATA_DIFF, GET, "/platform/v1/data/:id/diff", READ, TAB_ROUTE_PAGED | TAB_ROUTE_PLATFORM) \
    X(POST_MCP, POST, "/mcp", ALL, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(GET_DATA_PROFILE, GET, "/platform/v1/data/:id/profile", READ, TAB_ROUTE_PLATFORM) \
    X(GET_DATA_STORED, GET, "/platform/v1/data/:id/stored", READ, TAB_ROUTE_PLATFORM) \
    X(POST_EXPORTS, POST, "/platform/v1/exports", MANAGE, \
      TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(GET_EXPORT, GET, "/platform/v1/exports/:id", MANAGE, TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(PATCH_KEY, PATCH, "/platform/v1/keys/:id", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(GET_WEBHOOKS, GET, "/platform/v1/webhooks", READ, TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(POST_WEBHOOKS, POST, "/platform/v1/webhooks", MANAGE, \
      TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(PATCH_WEBHOOK, PATCH, "/platform/v1/webhooks/:id", MANAGE, \
      TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(DELETE_WEBHOOK, DELETE, "/platform/v1/webhooks/:id", DELETE, TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(POST_WEBHOOK_ROTATE, POST, "/platform/v1/webhooks/:id/rotate", MANAGE, \
      TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(POST_WEBHOOK_TEST, POST, "/platform/v1/webhooks/:id/test", MANAGE, \
      TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(GET_DELIVERIES, GET, "/platform/v1/webhooks/:id/deliveries", READ, \
      TAB_ROUTE_PAGED | TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(POST_DELIVERY_REPLAY, POST, "/platform/v1/webhooks/:id/deliveries/:sub/replay", MANAGE, \
      TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(GET_SIGNIN, GET, "/platform/v1/signin", ALL, TAB_ROUTE_PLATFORM | TAB_ROUTE_OPEN) \
    X(POST_SIGNIN, POST, "/platform/v1/signin", ALL, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM | TAB_ROUTE_OPEN) \
    X(POST_SIGNIN_COMPLETE, POST, "/platform/v1/signin/complete", ALL, \
      TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM | TAB_ROUTE_OPEN) \
    X(POST_PROVIDER_LOGOUT, POST, "/platform/v1/signin/logout/:id/:sub", ALL, \
      TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM | TAB_ROUTE_OPEN | TAB_ROUTE_STANDARD) \
    X(GET_PROVIDERS, GET, "/platform/v1/providers", READ, TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(POST_PROVIDERS, POST, "/platform/v1/providers", MANAGE, \
      TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(PATCH_PROVIDER, PATCH, "/platform/v1/providers/:id", MANAGE, \
      TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(DELETE_PROVIDER, DELETE, "/platform/v1/providers/:id", DELETE, TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(GET_PEOPLE, GET, "/platform/v1/people", READ, TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(PATCH_PERSON, PATCH, "/platform/v1/people/:id", MANAGE, \
      TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(GET_SESSIONS, GET, "/platform/v1/sessions", READ, TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(DELETE_SESSIONS, DELETE, "/platform/v1/sessions/:id", DELETE, TAB_ROUTE_PLATFORM | TAB_ROUTE_ADMIN) \
    X(GET_SCIM_CONFIG, GET, "/scim/v2/ServiceProviderConfig", READ, TAB_ROUTE_OF_SCIM) \
    X(GET_SCIM_TYPES, GET, "/scim/v2/ResourceTypes", READ, TAB_ROUTE_OF_SCIM) \
    X(GET_SCIM_SCHEMAS, GET, "/scim/v2/Schemas", READ, TAB_ROUTE_OF_SCIM) \
    X(GET_SCIM_USERS, GET, "/scim/v2/Users", READ, TAB_ROUTE_OF_SCIM) \
    X(POST_SCIM_USERS, POST, "/scim/v2/Users", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_OF_SCIM) \
    X(GET_SCIM_USER, GET, "/scim/v2/Users/:id", READ, TAB_ROUTE_OF_SCIM) \
    X(PUT_SCIM_USER, PUT, "/scim/v2/Users/:id", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_OF_SCIM) \
    X(PATCH_SCIM_USER, PATCH, "/scim/v2/Users/:id", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_OF_SCIM) \
    X(DELETE_SCIM_USER, DELETE, "/scim/v2/Users/:id", DELETE, TAB_ROUTE_OF_SCIM) \
    X(GET_SCIM_GROUPS, GET, "/scim/v2/Groups", READ, TAB_ROUTE_OF_SCIM) \
    X(POST_SCIM_GROUPS, POST, "/scim/v2/Groups", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_OF_SCIM) \
    X(GET_SCIM_GROUP, GET, "/scim/v2/Groups/:id", READ, TAB_ROUTE_OF_SCIM) \
    X(PUT_SCIM_GROUP, PUT, "/scim/v2/Groups/:id", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_OF_SCIM) \
    X(PATCH_SCIM_GROUP, PATCH, "/scim/v2/Groups/:id", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_OF_SCIM) \
    X(DELETE_SCIM_GROUP, DELETE, "/scim/v2/Groups/:id", DELETE, TAB_ROUTE_OF_SCIM)
/* clang-format on */

typedef enum {
#define TAB_X(e, method, path, scope, flags) TAB_##e,
    TAB_ROUTE_LIST(TAB_X)
#undef TAB_X
        TAB_ROUTE_COUNT
} tab_route_id;

typedef struct {
    const char *name;   /* "POST_RUN": in logs, metrics and the signed identity */
    const char *method; /* "POST" */
    const char *path;   /* "/v2/endpoints/:id/refresh" */
    tab_scope scope;    /* ALL: any of them will do */
    unsigned flags;
} tab_route;

extern const tab_route tab_routes[TAB_ROUTE_COUNT];

typedef struct {
    tab_route_id id;   /* valid when the result is TAB_OK */
    tab_str param[2];  /* views into path: :id, :sub */
    const char *allow; /* "GET, HEAD, POST": the methods that the path has; "" when it has none */
} tab_route_match;

/* TAB_OK, or TAB_NOT_FOUND for an unknown path and for a known path with another method (allow then
 * says which it has). HEAD matches GET routes. `path` is the raw path without its query. */
tab_status tab_route_find(tab_str method, tab_str path, tab_route_match *ret);

/* A role by its name (NONE for another; that of directories no person can have, so only the second one knows
 * it), its name, its scopes, and whether it may use a route whose scope it has. */
tab_person_role tab_person_role_named(tab_str name);
tab_person_role tab_role_named(tab_str name);
const char *tab_person_role_name(tab_person_role role); /* "" for NONE */
unsigned tab_person_role_scopes(tab_person_role role);
bool tab_person_role_allows(tab_person_role role, const tab_route *route);

/* "read,run" <-> bits. Parsing gives 0 for an unknown name. */
unsigned tab_scope_named(tab_str name);
const char *tab_scope_name(unsigned bit); /* of one bit; "" for another value */

#ifdef __cplusplus
}
#endif
#endif
