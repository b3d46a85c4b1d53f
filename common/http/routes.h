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

enum {
    TAB_ROUTE_IDEMPOTENT = 1, /* takes Idempotency-Key */
    TAB_ROUTE_PAGED = 2,      /* takes limit and cursor */
    TAB_ROUTE_BODY = 4,       /* reads a body: JSON, or a form with a file */
    TAB_ROUTE_ENDPOINT = 8,   /* :id is an endpoint: its own request rate, its state version read */
    TAB_ROUTE_PLATFORM = 16,  /* what the specification makes on the platform; tag `platform` in OpenAPI */
    TAB_ROUTE_OPEN = 32       /* without a key: what it needs to know of the caller is in its body */
};

/* clang-format off */
#define TAB_ROUTE_LIST(X)                                                                                         \
    X(POST_RUN,              POST,   "/v2/run",                       RUN,    TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY) \
    X(POST_DATA_CONNECT,     POST,   "/v2/data/connect",              MANAGE, TAB_ROUTE_BODY) \
    X(GET_DATA_LIST,         GET,    "/v2/data",                      READ,   TAB_ROUTE_PAGED) \
    X(GET_DATA,              GET,    "/v2/data/:id",                  READ,   0) \
    X(POST_DATA_SYNC,        POST,   "/v2/data/:id/sync",             MANAGE, 0) \
    X(POST_DATA_PIN,         POST,   "/v2/data/:id/pin",              MANAGE, 0) \
    X(POST_DATA_UNPIN,       POST,   "/v2/data/:id/unpin",            MANAGE, 0) \
    X(POST_DATA_GENERATE,    POST,   "/v2/data/generate",             MANAGE, TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY) \
    X(DELETE_DATA,           DELETE, "/v2/data/:id",                  DELETE, 0) \
    X(POST_ENDPOINTS,        POST,   "/v2/endpoints",                 MANAGE, TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY) \
    X(GET_ENDPOINTS,         GET,    "/v2/endpoints",                 READ,   TAB_ROUTE_PAGED) \
    X(GET_ENDPOINT,          GET,    "/v2/endpoints/:id",             READ,   TAB_ROUTE_PAGED) \
    X(POST_SERVE,            POST,   "/v2/serve/:id",                 SERVE,                                         \
      TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY | TAB_ROUTE_ENDPOINT)                                                    \
    X(POST_ENDPOINT_REFRESH, POST,   "/v2/endpoints/:id/refresh",     MANAGE, TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY) \
    X(POST_ENDPOINT_UPGRADE, POST,   "/v2/endpoints/:id/upgrade",     MANAGE, TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY) \
    X(GET_ENDPOINT_LOGS,     GET,    "/v2/endpoints/:id/logs",        READ,   TAB_ROUTE_PAGED) \
    X(POST_OUTCOMES,         POST,   "/v2/endpoints/:id/outcomes",    MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_ENDPOINT) \
    X(GET_OUTCOMES,          GET,    "/v2/endpoints/:id/outcomes",    READ,   0) \
    X(GET_OPENAPI,           GET,    "/v2/openapi",                   READ,   0) \
    X(GET_ENDPOINT_OPENAPI,  GET,    "/v2/openapi/:id",               READ,   0) \
    X(DELETE_ENDPOINT,       DELETE, "/v2/endpoints/:id",             DELETE, 0) \
    X(GET_REPORTS,           GET,    "/v2/reports",                   READ,   TAB_ROUTE_PAGED) \
    X(GET_REPORT,            GET,    "/v2/reports/:id",               READ,   0) \
    X(GET_JOBS,              GET,    "/v2/jobs",                      READ,   TAB_ROUTE_PAGED) \
    X(GET_JOB,               GET,    "/v2/jobs/:id",                  READ,   TAB_ROUTE_PAGED) \
    X(GET_RESULT_PART,       GET,    "/v2/jobs/:id/result/:sub",      READ,   0) \
    X(GET_RESULT_FILLED,     GET,    "/v2/jobs/:id/result/filled/:sub", READ, 0) \
    X(POST_JOB_CANCEL,       POST,   "/v2/jobs/:id/cancel",           MANAGE, 0) \
    X(GET_MODELS,            GET,    "/v2/models",                    READ,   0) \
    X(GET_USAGE,             GET,    "/v2/usage",                     READ,   TAB_ROUTE_PAGED) \
    X(GET_KEYS,              GET,    "/v2/keys",                      READ,   0) \
    X(POST_KEYS,             POST,   "/v2/keys",                      MANAGE, TAB_ROUTE_BODY) \
    X(POST_KEY_ROTATE,       POST,   "/v2/keys/:id/rotate",           MANAGE, TAB_ROUTE_BODY) \
    X(DELETE_KEY,            DELETE, "/v2/keys/:id",                  DELETE, 0) \
    X(POST_DATA_UPLOAD,      POST,   "/platform/v1/data/upload",      MANAGE,                                        \
      TAB_ROUTE_IDEMPOTENT | TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM)                                                    \
    X(PATCH_ENDPOINT,        PATCH,  "/platform/v1/endpoints/:id",    MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(POST_PROMPTS, POST, "/platform/v1/endpoints/:id/prompts", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(PATCH_PROMPT, PATCH, "/platform/v1/endpoints/:id/prompts/:sub", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(DELETE_PROMPT,         DELETE, "/platform/v1/endpoints/:id/prompts/:sub", MANAGE, TAB_ROUTE_PLATFORM) \
    X(POST_REPORT_STAR,      POST,   "/platform/v1/reports/:id/star",   MANAGE, TAB_ROUTE_PLATFORM) \
    X(POST_REPORT_UNSTAR,    POST,   "/platform/v1/reports/:id/unstar", MANAGE, TAB_ROUTE_PLATFORM) \
    X(GET_AUDIT,             GET,    "/platform/v1/audit",            READ,   TAB_ROUTE_PAGED | TAB_ROUTE_PLATFORM) \
    X(GET_NOTIFICATIONS, GET, "/platform/v1/notifications", READ, TAB_ROUTE_PAGED | TAB_ROUTE_PLATFORM) \
    X(POST_NOTIFICATION_READ, POST, "/platform/v1/notifications/:id/read", MANAGE, TAB_ROUTE_PLATFORM) \
    X(GET_ORGANIZATION, GET, "/platform/v1/organization", READ, TAB_ROUTE_PLATFORM) \
    X(PUT_ORGANIZATION, PUT, "/platform/v1/organization", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(POST_SESSION, POST, "/platform/v1/session", ALL, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM | TAB_ROUTE_OPEN) \
    X(GET_SESSION, GET, "/platform/v1/session", ALL, TAB_ROUTE_PLATFORM) \
    X(DELETE_SESSION, DELETE, "/platform/v1/session", ALL, TAB_ROUTE_PLATFORM) \
    X(GET_DATA_SNAPSHOTS, GET, "/platform/v1/data/:id/snapshots", READ, TAB_ROUTE_PAGED | TAB_ROUTE_PLATFORM) \
    X(GET_DATA_DIFF, GET, "/platform/v1/data/:id/diff", READ, TAB_ROUTE_PAGED | TAB_ROUTE_PLATFORM) \
    X(POST_MCP, POST, "/mcp", ALL, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(GET_DATA_PROFILE, GET, "/platform/v1/data/:id/profile", READ, TAB_ROUTE_PLATFORM) \
    X(PATCH_KEY, PATCH, "/platform/v1/keys/:id", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(GET_WEBHOOKS, GET, "/platform/v1/webhooks", READ, TAB_ROUTE_PLATFORM) \
    X(POST_WEBHOOKS, POST, "/platform/v1/webhooks", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(PATCH_WEBHOOK, PATCH, "/platform/v1/webhooks/:id", MANAGE, TAB_ROUTE_BODY | TAB_ROUTE_PLATFORM) \
    X(DELETE_WEBHOOK, DELETE, "/platform/v1/webhooks/:id", DELETE, TAB_ROUTE_PLATFORM) \
    X(POST_WEBHOOK_ROTATE, POST, "/platform/v1/webhooks/:id/rotate", MANAGE, TAB_ROUTE_PLATFORM) \
    X(POST_WEBHOOK_TEST, POST, "/platform/v1/webhooks/:id/test", MANAGE, TAB_ROUTE_PLATFORM) \
    X(GET_DELIVERIES, GET, "/platform/v1/webhooks/:id/deliveries", READ, TAB_ROUTE_PAGED | TAB_ROUTE_PLATFORM) \
    X(POST_DELIVERY_REPLAY, POST, "/platform/v1/webhooks/:id/deliveries/:sub/replay", MANAGE, TAB_ROUTE_PLATFORM)
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

/* "read,run" <-> bits. Parsing gives 0 for an unknown name. */
unsigned tab_scope_named(tab_str name);
const char *tab_scope_name(unsigned bit); /* of one bit; "" for another value */

#ifdef __cplusplus
}
#endif
#endif
