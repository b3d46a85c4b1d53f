/* GET /v2/openapi: the API's description (OpenAPI 3.1), made from the route table that dispatches
 * it, the platform's routes included (tag `platform`): clients are tested against it. GET
 * /v2/openapi/:id: one endpoint's serve call, its request schema made from the pinned tables. */
#include <stdio.h>

#include "proto/data.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/platform/endpoints.h"
#include "services/api/render/members.h"
#include "services/api/schemas_json.h"
#include "services/api/service_calls.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/sector/sectors.h"

/* What the route table does not say of a route: a sentence, the schema of the body, the status of success
 * and its schema. */
static const struct {
    const char *summary, *body, *answer;
    int status;
} ROUTES[TAB_ROUTE_COUNT] = {
    [TAB_POST_RUN] = { "Quick run: understand tables and predict, nothing kept", "RunRequest", "BundleOrCost",
                       200 },
    [TAB_POST_DATA_CONNECT] = { "Connect a source", "ConnectRequest", "Connected", 201 },
    [TAB_GET_DATA_LIST] = { "List datasets and connections", NULL, "DataPage", 200 },
    [TAB_GET_DATA] = { "Retrieve a dataset or a connection", NULL, "Data", 200 },
    [TAB_POST_DATA_SYNC] = { "Sync a connection", NULL, "Synced", 200 },
    [TAB_POST_DATA_PIN] = { "Pin a dataset", NULL, "Data", 200 },
    [TAB_POST_DATA_UNPIN] = { "Unpin a dataset", NULL, "Data", 200 },
    [TAB_POST_DATA_GENERATE] = { "Generate synthetic tables of a sector", "GenerateRequest",
                                 "GeneratedOrCost", 200 },
    [TAB_DELETE_DATA] = { "Delete data", NULL, "Deleted", 200 },
    [TAB_POST_ENDPOINTS] = { "Create an endpoint", "EndpointRequest", "EndpointJob", 202 },
    [TAB_GET_ENDPOINTS] = { "List endpoints", NULL, "EndpointPage", 200 },
    [TAB_GET_ENDPOINT] = { "Retrieve an endpoint and its bundle", NULL, "Endpoint", 200 },
    [TAB_POST_SERVE] = { "Serve an endpoint", "ServeRequest", "BundleOrCost", 200 },
    [TAB_POST_ENDPOINT_REFRESH] = { "Move an endpoint onto the newest snapshots", "RefreshRequest",
                                    "EndpointJob", 202 },
    [TAB_POST_ENDPOINT_UPGRADE] = { "Move an endpoint to another base", "UpgradeRequest", "EndpointJob",
                                    202 },
    [TAB_GET_ENDPOINT_LOGS] = { "An endpoint's operation log", NULL, "EndpointLogPage", 200 },
    [TAB_POST_OUTCOMES] = { "Report what became true of rows that were served with receipts",
                            "OutcomesRequest", "OutcomesTaken", 200 },
    [TAB_POST_OUTCOMES_FORGET] = { "Forget rows that were kept with their outcomes", "ForgetRequest",
                                   "OutcomesForgotten", 200 },
    [TAB_GET_OUTCOMES] = { "How good an endpoint's answers turned out to be", NULL, "Outcomes", 200 },
    [TAB_GET_OPENAPI] = { "This description", NULL, "OpenapiDocument", 200 },
    [TAB_GET_ENDPOINT_OPENAPI] = { "An endpoint's own description", NULL, "OpenapiDocument", 200 },
    [TAB_DELETE_ENDPOINT] = { "Delete an endpoint", NULL, "Deleted", 200 },
    [TAB_GET_REPORTS] = { "List reports", NULL, "ReportPage", 200 },
    [TAB_GET_REPORT] = { "Retrieve a report", NULL, "Report", 200 },
    [TAB_GET_JOBS] = { "List jobs", NULL, "JobPage", 200 },
    [TAB_GET_JOB] = { "Retrieve a job, its result, or a page of its outputs", NULL, "JobOrPage", 200 },
    [TAB_GET_RESULT_PART] = { "A part of a run's result as a file: results, filled, unified_rows, matches, "
                              "duplicates, suspects or forecast",
                              NULL, NULL, 200 },
    [TAB_GET_RESULT_FILLED] = { "One of a run's tables, whole, with the filled cells, as a file", NULL, NULL,
                                200 },
    [TAB_GET_DATA_STORED] = { "The rows of a snapshot as they are stored, for an upload elsewhere", NULL,
                              NULL, 200 },
    [TAB_POST_EXPORTS] = { "Export all that the organization owns as one archive", NULL, "Job", 202 },
    [TAB_GET_EXPORT] = { "The archive of an export, for `tabella import` elsewhere", NULL, NULL, 200 },
    [TAB_POST_JOB_CANCEL] = { "Cancel a job", NULL, "Job", 200 },
    [TAB_DELETE_JOB] = { "Delete a job that has ended, its result, its log and its run's record", NULL,
                         "Deleted", 200 },
    [TAB_GET_MODELS] = { "List bases", NULL, "Models", 200 },
    [TAB_GET_USAGE] = { "Retrieve the usage of the organization", NULL, "Usage", 200 },
    [TAB_GET_SERVICE_LEVEL] = { "What became of serve calls, by month and day", NULL, "ServiceLevel", 200 },
    [TAB_GET_KEYS] = { "List keys", NULL, "KeyPage", 200 },
    [TAB_POST_KEYS] = { "Create a key; its secret is shown once", "KeyRequest", "Key", 201 },
    [TAB_POST_KEY_ROTATE] = { "Give a key a new secret; the old one can stay valid for a while",
                              "KeyRotation", "Key", 200 },
    [TAB_GET_WEBHOOKS] = { "List webhooks", NULL, "WebhookPage", 200 },
    [TAB_POST_WEBHOOKS] = { "Have notifications sent to a receiver; its secret is shown once",
                            "WebhookRequest", "Webhook", 201 },
    [TAB_PATCH_WEBHOOK] = { "Change, stop or resume a webhook", "WebhookEdit", "Webhook", 200 },
    [TAB_DELETE_WEBHOOK] = { "Delete a webhook with its deliveries", NULL, "Removed", 200 },
    [TAB_POST_WEBHOOK_ROTATE] = { "Give a webhook a new secret; for a day both sign", NULL, "Webhook", 200 },
    [TAB_POST_WEBHOOK_TEST] = { "Send a `webhook.test` to this receiver alone", NULL, "Webhook", 200 },
    [TAB_GET_DELIVERIES] = { "List what was sent to a webhook, and what is waiting", NULL, "DeliveryPage",
                             200 },
    [TAB_POST_DELIVERY_REPLAY] = { "Send a delivery again", NULL, "Delivery", 200 },
    [TAB_PATCH_KEY] = { "Change a key's name, end, networks or endpoints", "KeyEdit", "Key", 200 },
    [TAB_DELETE_KEY] = { "Revoke a key", NULL, "Removed", 200 },
    [TAB_POST_DATA_UPLOAD] = { "Upload a file; its tables become datasets", "UploadRequest", "Uploaded",
                               201 },
    [TAB_POST_UPLOADS] = { "Begin an upload in parts", "UploadBegin", "Upload", 201 },
    [TAB_GET_UPLOAD] = { "An upload in parts, and how much of it is there", NULL, "Upload", 200 },
    [TAB_PUT_UPLOAD] = { "Send bytes of an upload, behind those that are there", NULL, "Upload", 200 },
    [TAB_DELETE_UPLOAD] = { "Give up an upload in parts", NULL, "Deleted", 200 },
    [TAB_POST_UPLOAD_COMPLETE] = { "All bytes are there; the file's tables become datasets", NULL, "Uploaded",
                                   201 },
    [TAB_PATCH_ENDPOINT] = { "Change name, target, task or threshold", "EndpointEdit", "Endpoint", 200 },
    [TAB_POST_PROMPTS] = { "Add a system prompt fragment", "PromptRequest", "Endpoint", 200 },
    [TAB_PATCH_PROMPT] = { "Change a system prompt fragment", "PromptEdit", "Endpoint", 200 },
    [TAB_DELETE_PROMPT] = { "Remove a system prompt fragment", NULL, "Endpoint", 200 },
    [TAB_POST_REPORT_STAR] = { "Star a report", NULL, "Star", 200 },
    [TAB_POST_REPORT_UNSTAR] = { "Unstar a report", NULL, "Star", 200 },
    [TAB_GET_AUDIT] = { "List the audit log", NULL, "AuditPage", 200 },
    [TAB_GET_NOTIFICATIONS] = { "List notifications", NULL, "NotificationPage", 200 },
    [TAB_POST_NOTIFICATION_READ] = { "Mark a notification as read", NULL, "Notification", 200 },
    [TAB_GET_ORGANIZATION] = { "Retrieve the settings of the organization", NULL, "Organization", 200 },
    [TAB_PUT_ORGANIZATION] = { "Change settings of the organization", "OrganizationEdit", "Organization",
                               200 },
    [TAB_GET_SIGNIN] = { "List the identity providers that people of an organization sign in with", NULL,
                         "SigninPage", 200 },
    [TAB_POST_SIGNIN] = { "Begin a sign-in at an identity provider", "SigninRequest", "Signin", 200 },
    [TAB_POST_SIGNIN_COMPLETE] = { "Complete a sign-in: the provider's code becomes a session",
                                   "SigninCompleteRequest", "Session", 201 },
    [TAB_GET_PROVIDERS] = { "List identity providers", NULL, "ProviderPage", 200 },
    [TAB_POST_PROVIDERS] = { "Let people sign in with an OpenID Connect provider", "ProviderRequest",
                             "Provider", 201 },
    [TAB_PATCH_PROVIDER] = { "Change an identity provider", "ProviderEdit", "Provider", 200 },
    [TAB_DELETE_PROVIDER] = { "Delete an identity provider; its people are signed out", NULL, "Deleted",
                              200 },
    [TAB_GET_PEOPLE] = { "List people", NULL, "PersonPage", 200 },
    [TAB_PATCH_PERSON] = { "Give a person a role, or end its access", "PersonEdit", "Person", 200 },
    [TAB_GET_SESSIONS] = { "List open sessions", NULL, "SessionPage", 200 },
    [TAB_DELETE_SESSIONS] = { "End a session", NULL, "Deleted", 200 },
    [TAB_POST_SESSION] = { "Sign in with a key: the session is in a cookie", "SessionRequest", "Session",
                           201 },
    [TAB_GET_SESSION] = { "Retrieve the session of the caller", NULL, "Session", 200 },
    [TAB_GET_DATA_SNAPSHOTS] = { "List a dataset's snapshots", NULL, "SnapshotPage", 200 },
    [TAB_GET_DATA_DIFF] = { "Compare two snapshots of a dataset", NULL, "SnapshotDiff", 200 },
    [TAB_GET_DATA_PROFILE] = { "Profile a snapshot: how its values are spread", NULL, "SnapshotProfile",
                               200 },
    [TAB_POST_MCP] = { "Model Context Protocol: one JSON-RPC message, stateless; tools of agents",
                       "McpMessage", "McpAnswer", 200 },
    [TAB_DELETE_SESSION] = { "Sign out: the session ends", NULL, "SignedOut", 200 },
};

static void head(request *r, const char *title)
{
    tab_out *o = &r->out;
    text_member(o, "openapi", "3.1.0");
    open_member(o, "info", '{');
    text_member(o, "title", title);
    text_member(o, "version", "2.0.0");
    tab_out_close(o, '}');
    open_member(o, "servers", '[');
    tab_out_open(o, '{');
    text_member(o, "url", r->api->cfg.base_url);
    tab_out_close(o, '}');
    tab_out_close(o, ']');
    raw_member(o, "security", "[{\"key\":[]}]");
}

static void parameter(tab_out *o, const char *in, const char *name, const char *schema, const char *what)
{
    tab_out_open(o, '{');
    text_member(o, "name", name);
    text_member(o, "in", in);
    bool_member(o, "required", strcmp(in, "path") == 0 || strcmp(name, "offset") == 0);
    text_member(o, "description", what);
    raw_member(o, "schema", schema);
    tab_out_close(o, '}');
}

/* Of files, behind application/json. */
static const char MEDIA[] = ",\"text/csv\":{\"schema\":{\"type\":\"string\"}},"
                            "\"application/vnd.apache.arrow.stream\":{},"
                            "\"application/vnd.apache.parquet\":{}";

/* media: further ones, or "". */
static void answer_as(tab_out *o, const char *status, const char *what, const char *schema, const char *media)
{
    open_member(o, status, '{');
    text_member(o, "description", what);
    open_member(o, "content", '{');
    open_member(o, "application/json", '{');
    open_member(o, "schema", '{');
    char ref[80];
    snprintf(ref, sizeof ref, "#/components/schemas/%s", schema);
    text_member(o, "$ref", ref);
    tab_out_close(o, '}');
    tab_out_close(o, '}');
    tab_out_bytes(o, media, strlen(media));
    tab_out_close(o, '}');
    tab_out_close(o, '}');
}

static void answer(tab_out *o, const char *status, const char *what, const char *schema)
{
    answer_as(o, status, what, schema, "");
}

/* Answers with a file, in the format asked for. */
static bool file(tab_route_id id)
{
    return id == TAB_GET_RESULT_PART || id == TAB_GET_RESULT_FILLED;
}

static const char FILES[] = "{\"description\":\"The file, sent as it is made\",\"content\":{"
                            "\"text/csv\":{\"schema\":{\"type\":\"string\"}},"
                            "\"application/vnd.apache.arrow.stream\":{},"
                            "\"application/vnd.apache.parquet\":{}}}";

static const char STORED[] = "{\"description\":\"The file, sent as it is made\",\"content\":{"
                             "\"application/vnd.tabella.table\":{}}}";
static const char ARCHIVE[] = "{\"description\":\"The archive, a tar, sent as it is made\",\"content\":{"
                              "\"application/x-tar\":{}}}";
static const char ID[] = "{\"type\":\"string\",\"maxLength\":128}",
                  TIME[] = "{\"type\":\"string\",\"format\":\"date-time\"}";

/* What `:sub` of a path is, where it is no fragment of a prompt. */
static const char *const SUBS[TAB_ROUTE_COUNT] = {
    [TAB_GET_RESULT_PART] =
        "The part: results, filled, unified_rows, matches, duplicates, suspects or forecast",
    [TAB_GET_RESULT_FILLED] = "The table's id",
    [TAB_POST_DELIVERY_REPLAY] = "The delivery's id",
};

static void page_parameters(tab_out *o)
{
    parameter(o, "query", "limit", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":100}",
              "How many entries a page has");
    parameter(o, "query", "cursor", "{\"type\":\"string\",\"minLength\":1,\"maxLength\":1024}",
              "`next_cursor` of the page before; the first page where it is left out");
}

static void query_parameters(tab_out *o, tab_route_id id)
{
    if (id == TAB_GET_JOBS)
        parameter(o, "query", "status",
                  "{\"enum\":[\"queued\",\"running\",\"done\",\"failed\",\"cancelled\",\"expired\"]}",
                  "Only jobs with this status");
    if (file(id))
        parameter(o, "query", "format", "{\"enum\":[\"csv\",\"arrow\",\"parquet\"]}",
                  "The file's format; CSV where it is left out");
    if (id == TAB_GET_OUTCOMES)
        parameter(o, "query", "format", "{\"enum\":[\"json\",\"csv\"]}",
                  "The answer's format; JSON where it is left out");
    if (id == TAB_PUT_UPLOAD)
        parameter(o, "query", "offset", "{\"type\":\"integer\",\"minimum\":0}",
                  "How many bytes of the file have arrived: where this part begins");
    if (id == TAB_GET_SERVICE_LEVEL) {
        parameter(o, "query", "months", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":24}",
                  "How many months, this one included; 3 where it is left out");
        parameter(o, "query", "endpoint", ID,
                  "Of this endpoint alone, by id or name; of all calls where it is left out");
    }
    if (id == TAB_GET_NOTIFICATIONS)
        parameter(o, "query", "unread", "{\"type\":\"boolean\"}", "`true`: only unread ones");
    if (id == TAB_GET_DATA_DIFF) {
        parameter(o, "query", "before", ID,
                  "The earlier snapshot; the one before `after` where it is left out");
        parameter(o, "query", "after", ID, "The later snapshot; the newest where it is left out");
        parameter(o, "query", "change", "{\"enum\":[\"added\",\"removed\",\"changed\"]}",
                  "Only rows that changed in this way");
    }
    if (id == TAB_GET_DATA_PROFILE || id == TAB_GET_DATA_STORED)
        parameter(o, "query", "snapshot", ID, "The snapshot; the newest where it is left out");
    if (id == TAB_GET_AUDIT) {
        parameter(o, "query", "event", ID, "Only entries with this `action`");
        parameter(o, "query", "actor", ID, "Only entries by this `actor`");
        parameter(o, "query", "since", TIME, "Only entries from this time on");
        parameter(o, "query", "until", TIME, "Only entries before this time");
    }
}

static void parameters(tab_out *o, tab_route_id id)
{
    const tab_route *t = &tab_routes[id];
    open_member(o, "parameters", '[');
    if (strstr(t->path, ":id") != NULL)
        parameter(o, "path", "id", ID,
                  strstr(t->path, "/endpoints/") != NULL || strstr(t->path, "/serve/") != NULL
                      ? "The endpoint's id or name"
                      : "The id");
    if (strstr(t->path, ":sub") != NULL)
        parameter(o, "path", "sub", ID, SUBS[id] != NULL ? SUBS[id] : "The fragment's id");
    if ((t->flags & TAB_ROUTE_PAGED) != 0)
        page_parameters(o);
    query_parameters(o, id);
    if ((t->flags & TAB_ROUTE_IDEMPOTENT) != 0)
        parameter(o, "header", "Idempotency-Key",
                  "{\"type\":\"string\",\"minLength\":1,\"maxLength\":255,\"pattern\":\"^[ -~]+$\"}",
                  "A string of your own: a call that is sent again with it is done once");
    tab_out_close(o, ']');
}

static void request_body(tab_out *o, tab_route_id id)
{
    static const char form[] = ",\"multipart/form-data\":{\"schema\":";
    char ref[96];
    if (id == TAB_PUT_UPLOAD) {
        raw_member(o, "requestBody", "{\"required\":true,\"content\":{\"application/octet-stream\":{}}}");
        return;
    }
    snprintf(ref, sizeof ref, "{\"$ref\":\"#/components/schemas/%s\"}", ROUTES[id].body);
    raw_member(o, "requestBody",
               id == TAB_POST_DATA_UPLOAD
                   ? "{\"required\":true,\"content\":{\"multipart/form-data\":{\"schema\":"
               : id == TAB_POST_ENDPOINT_REFRESH
                   ? "{\"required\":false,\"content\":{\"application/json\":{\"schema\":"
                   : "{\"required\":true,\"content\":{\"application/json\":{\"schema\":");
    o->comma = false;
    tab_out_raw(o, tab_str_of(ref));
    tab_out_bytes(o, "}", 1);
    if (id == TAB_POST_RUN || id == TAB_POST_ENDPOINTS || id == TAB_POST_SERVE || id == TAB_POST_OUTCOMES) {
        snprintf(ref, sizeof ref, "{\"$ref\":\"#/components/schemas/%s\"}}",
                 id == TAB_POST_ENDPOINTS ? "EndpointForm" : "TablesForm");
        tab_out_bytes(o, form, sizeof form - 1);
        tab_out_bytes(o, ref, strlen(ref));
    }
    if (id == TAB_POST_OUTCOMES || id == TAB_POST_SERVE)
        tab_out_bytes(o, MEDIA, sizeof MEDIA - 1);
    tab_out_bytes(o, "}}", 2);
}

/* 409 where it is more than an idempotency key with another body: when. */
static const char *const CONFLICTS[TAB_ROUTE_COUNT] = {
    [TAB_POST_RUN] = "`options.out` names a table that exists or that no run wrote",
    [TAB_DELETE_DATA] = "a live endpoint pins it or is fed by it",
    [TAB_POST_ENDPOINTS] = "another endpoint has the name",
    [TAB_POST_SERVE] = "the endpoint is not live, and `running_job_id` is the job to wait for; or "
                       "`options.out` names a table that exists or that no run wrote",
    [TAB_POST_ENDPOINT_REFRESH] = "the endpoint is not live, or another job works on it",
    [TAB_POST_ENDPOINT_UPGRADE] = "the endpoint is not live, serves this base, or another job works on it",
    [TAB_GET_ENDPOINT_OPENAPI] = "the endpoint is not live",
    [TAB_POST_JOB_CANCEL] = "the job has ended",
    [TAB_PUT_UPLOAD] = "the upload has more or fewer bytes than `offset` says, or is complete",
    [TAB_DELETE_UPLOAD] = "a job reads it",
    [TAB_POST_UPLOAD_COMPLETE] = "bytes are missing, or a job reads it already",
    [TAB_POST_EXPORTS] = "another export of the organization is being made",
    [TAB_GET_EXPORT] = "the export is not done, has failed, or what it holds was deleted since",
    [TAB_DELETE_JOB] = "the job has not ended, or its endpoint shows its output",
    [TAB_PATCH_ENDPOINT] = "the name is in use, the endpoint is not live, or it was changed meanwhile",
    [TAB_POST_PROMPTS] = "the endpoint is not live, or it was changed meanwhile",
    [TAB_PATCH_PROMPT] = "the endpoint is not live, or it was changed meanwhile",
    [TAB_DELETE_PROMPT] = "the endpoint is not live, or it was changed meanwhile",
};

/* The schema of 202, where a call may become a job. */
static const char *const JOBS_STARTED[TAB_ROUTE_COUNT] = {
    [TAB_POST_RUN] = "RunJob",
    [TAB_POST_SERVE] = "ServeJob",
    [TAB_POST_DATA_GENERATE] = "GenerateJob",
    [TAB_POST_DATA_SYNC] = "SyncJob",
    [TAB_POST_DATA_UPLOAD] = "SyncJob",
    [TAB_POST_UPLOAD_COMPLETE] = "SyncJob",
};

static bool takes_base(tab_route_id id)
{
    return id == TAB_POST_RUN || id == TAB_POST_ENDPOINTS || id == TAB_POST_ENDPOINT_UPGRADE;
}

/* What may be wrong, by status; everything else is `default`. */
static void errors(tab_out *o, tab_route_id id)
{
    const tab_route *t = &tab_routes[id];
    bool again = (t->flags & TAB_ROUTE_IDEMPOTENT) != 0;
    char conflict[200];
    snprintf(conflict, sizeof conflict, "conflict: %s%s%s", CONFLICTS[id] != NULL ? CONFLICTS[id] : "",
             CONFLICTS[id] != NULL && again ? "; or " : "",
             again ? "the Idempotency-Key came with another body before" : "");
    if (id == TAB_POST_MCP)
        answer(o, "404", "a method that is not offered", "McpError");
    answer(o, "400", "validation_error: `param` says which field, the message what it must be",
           id == TAB_POST_MCP ? "McpError" : "Error");
    answer(o, "401", "auth_error: no key, or one that is not valid", "Error");
    if (t->scope != TAB_SCOPE_ALL)
        answer(o, "403", "auth_error: the key lacks the scope", "Error");
    if (strchr(t->path, ':') != NULL || id == TAB_POST_RUN || id == TAB_POST_ENDPOINTS)
        answer(o, "404", "not_found: an id that the organization does not have", "Error");
    if (CONFLICTS[id] != NULL || again)
        answer(o, "409", conflict, "Error");
    if (takes_base(id))
        answer(o, "422", "capability_unavailable: the base is retired", "Error");
    answer(o, "429", "rate_limit: too much at once; Retry-After says when to ask again", "Error");
    answer(o, "default", "internal: ours; 503 with Retry-After where something is away for a while", "Error");
}

static void operation(tab_out *o, tab_route_id id)
{
    const tab_route *t = &tab_routes[id];
    char method[8], status[8];
    size_t n = 0;
    for (; t->method[n] != 0 && n < sizeof method - 1; n++)
        method[n] = (char)(t->method[n] | 0x20);
    method[n] = 0;
    open_member(o, method, '{');
    text_member(o, "operationId", t->name);
    text_member(o, "summary", ROUTES[id].summary);
    text_member(o, "x-scope", t->scope == TAB_SCOPE_ALL ? "any" : tab_scope_name(t->scope));
    if ((t->flags & TAB_ROUTE_OPEN) != 0)
        raw_member(o, "security", "[]");
    if ((t->flags & TAB_ROUTE_PLATFORM) != 0)
        raw_member(o, "tags", "[\"platform\"]");
    parameters(o, id);
    if ((t->flags & TAB_ROUTE_BODY) != 0)
        request_body(o, id);
    open_member(o, "responses", '{');
    snprintf(status, sizeof status, "%d", ROUTES[id].status);
    if (id == TAB_GET_DATA_STORED)
        raw_member(o, status, STORED);
    else if (id == TAB_GET_EXPORT)
        raw_member(o, status, ARCHIVE);
    else if (file(id))
        raw_member(o, status, FILES);
    else if (id == TAB_POST_SERVE)
        answer_as(o, status, "The result; as a table, a row of it each, where `Accept` names a format",
                  ROUTES[id].answer, MEDIA);
    else
        answer(o, status, "The result", ROUTES[id].answer);
    if (JOBS_STARTED[id] != NULL)
        answer(o, "202", "A job was started", JOBS_STARTED[id]);
    if (id == TAB_POST_MCP)
        raw_member(o, "202", "{\"description\":\"A notification, which gets no answer\"}");
    if (id == TAB_POST_ENDPOINTS || id == TAB_POST_ENDPOINT_REFRESH)
        answer(o, "200", "With `dry_run`", "Cost");
    errors(o, id);
    tab_out_close(o, '}');
    tab_out_close(o, '}');
}

/* A route's path as OpenAPI writes it: /v2/jobs/:id/cancel is /v2/jobs/{id}/cancel. */
static void template_of(const char *path, char *ret, size_t size)
{
    size_t n = 0;
    bool inside = false;
    for (const char *p = path; *p != 0 && n + 2 < size; p++) {
        if (inside && *p == '/')
            ret[n++] = '}';
        inside = *p == ':' || (inside && *p != '/');
        ret[n++] = *p == ':' ? '{' : *p;
    }
    if (inside)
        ret[n++] = '}';
    ret[n] = 0;
}

static void words_schema(tab_out *o, const char *name, const char *what, const char *const *word, size_t n)
{
    open_member(o, name, '{');
    text_member(o, "description", what);
    open_member(o, "enum", '[');
    for (size_t i = 0; i < n; i++)
        tab_out_cstr(o, word[i]);
    tab_out_close(o, ']');
    tab_out_close(o, '}');
}

/* The schemas of schemas.json, behind those that tables of the engine make. */
static void schemas(tab_out *o)
{
    static const char *const roles[] = {
#define TAB_X(e, name, family, type, pii, ident) name,
        TAB_ROLE_LIST(TAB_X)
#undef TAB_X
    };
    static const char *const sectors[] = {
#define TAB_X(slug, name) slug, name,
        TAB_SECTOR_LIST(TAB_X)
#undef TAB_X
    };
    open_member(o, "schemas", '{');
    words_schema(o, "Role", "what a column's values are", roles, sizeof roles / sizeof *roles);
    words_schema(o, "Sector", "a slug, or a name as a run's `sector` says it", sectors,
                 sizeof sectors / sizeof *sectors);
    tab_out_bytes(o, ",", 1);
    tab_out_bytes(o, API_SCHEMAS + 1, strlen(API_SCHEMAS) - 2);
    tab_out_close(o, '}');
}

tab_status get_openapi(request *r, tab_error *err)
{
    (void)err;
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    head(r, "Tabella");
    open_member(o, "paths", '{');
    bool written[TAB_ROUTE_COUNT] = { false };
    for (int i = 0; i < TAB_ROUTE_COUNT; i++) {
        if (written[i] || !api_serves(r->api, (tab_route_id)i) ||
            (tab_routes[i].flags & TAB_ROUTE_STANDARD) != 0)
            continue;
        char path[96];
        template_of(tab_routes[i].path, path, sizeof path);
        open_member(o, path, '{');
        for (int k = i; k < TAB_ROUTE_COUNT; k++)
            if (strcmp(tab_routes[k].path, tab_routes[i].path) == 0 && api_serves(r->api, (tab_route_id)k)) {
                operation(o, (tab_route_id)k);
                written[k] = true;
            }
        tab_out_close(o, '}');
    }
    tab_out_close(o, '}');
    open_member(o, "components", '{');
    raw_member(o, "securitySchemes", "{\"key\":{\"type\":\"http\",\"scheme\":\"bearer\"}}");
    schemas(o);
    tab_out_close(o, '}');
    tab_out_close(o, '}');
    return TAB_OK;
}

/* ---- one endpoint ---------------------------------------------------------------------------- */

enum { SAMPLE_ROWS = 100 };

/* The kinds of cells that a column's first rows hold, and null. */
static void cell_type(tab_out *o, const tab_column *c, size_t rows)
{
    bool seen[TAB_CELL_BOOL + 1] = { false };
    for (size_t i = 0; i < rows; i++)
        seen[tab_cell_at(c, i).kind] = true;
    tab_out_open(o, '{');
    open_member(o, "type", '[');
    bool none = !seen[TAB_CELL_NUMBER] && !seen[TAB_CELL_TEXT] && !seen[TAB_CELL_BOOL];
    if (seen[TAB_CELL_NUMBER] || none)
        tab_out_cstr(o, "number");
    if (seen[TAB_CELL_TEXT] || none)
        tab_out_cstr(o, "string");
    if (seen[TAB_CELL_BOOL] || none)
        tab_out_cstr(o, "boolean");
    tab_out_cstr(o, "null");
    tab_out_close(o, ']');
    tab_out_close(o, '}');
}

static void columns_json(tab_out *o, const tab_table *t)
{
    tab_out_open(o, '[');
    for (size_t c = 0; c < t->cols; c++)
        tab_out_str(o, t->col[c].name);
    tab_out_close(o, ']');
}

static void table_schema(tab_out *o, const tab_table *t)
{
    tab_out_open(o, '{');
    text_member(o, "type", "object");
    raw_member(o, "required", "[\"id\",\"columns\",\"rows\"]");
    open_member(o, "properties", '{');
    open_member(o, "id", '{');
    text_member(o, "description", "the table's id");
    str_member(o, "const", t->id);
    tab_out_close(o, '}');
    open_member(o, "columns", '{');
    text_member(o, "description", "these columns; in any order where names are unique");
    text_member(o, "type", "array");
    uint_member(o, "minItems", t->cols);
    uint_member(o, "maxItems", t->cols);
    open_member(o, "items", '{');
    tab_out_key(o, "enum");
    columns_json(o, t);
    tab_out_close(o, '}');
    tab_out_close(o, '}');
    open_member(o, "rows", '{');
    text_member(o, "description", "the rows to answer");
    text_member(o, "type", "array");
    open_member(o, "items", '{');
    text_member(o, "type", "array");
    text_member(o, "description",
                "cells in the order of `columns`; the types are those of the pinned columns in their order");
    open_member(o, "prefixItems", '[');
    for (size_t c = 0; c < t->cols; c++)
        cell_type(o, &t->col[c], t->rows);
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    tab_out_close(o, '}');
    tab_out_close(o, '}');
    tab_out_close(o, '}');
}

static void table_example(tab_out *o, const tab_table *t)
{
    tab_out_open(o, '{');
    str_member(o, "id", t->id);
    tab_out_key(o, "columns");
    columns_json(o, t);
    open_member(o, "rows", '[');
    if (t->rows > 0) {
        tab_out_open(o, '[');
        for (size_t c = 0; c < t->cols; c++)
            tab_out_cell(o, &t->col[c], 0);
        tab_out_close(o, ']');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
}

/* The first rows of each pinned table. */
static tab_status read_pinned(request *r, const Tabella__Endpoint *e, const tab_table **ret, tab_error *err)
{
    for (size_t i = 0; i < e->n_datasets; i++) {
        Tabella__ReadRequest q = TABELLA__READ_REQUEST__INIT;
        tab_answer answer_;
        q.snapshot = e->datasets[i]->snapshot;
        q.rows = SAMPLE_ROWS;
        q.table_id = tab_arena_printf(r->arena, "%.*s", (int)e->datasets[i]->table_id.len,
                                      (const char *)e->datasets[i]->table_id.data);
        tab_ask ask = { .service = "data-connector",
                        .method = "Read",
                        .in = &q.base,
                        .reply = &tabella__read_reply__descriptor };
        tab_status s = call_with(r, &ask, &answer_, err);
        if (s != TAB_OK)
            return s;
        if (answer_.n_tables != 1)
            return tab_fail(err, TAB_INTERNAL, "", "a snapshot without its table");
        ret[i] = answer_.tables[0];
    }
    return TAB_OK;
}

/* The one path that the endpoint has, with an example of its own columns. */
static void serve_path(tab_out *o, const Tabella__Endpoint *e, const tab_table *const *table)
{
    char path[96];
    snprintf(path, sizeof path, "/v2/serve/%.40s", e->id);
    open_member(o, path, '{');
    raw_member(
        o, "post",
        "{\"operationId\":\"serve\",\"summary\":\"Score rows with this endpoint\","
        "\"requestBody\":{\"required\":true,"
        "\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/ServeRequest\"},"
        "\"example\":");
    /* the members of `post` go on behind the example */
    o->comma = false;
    tab_out_open(o, '{');
    open_member(o, "tables", '[');
    for (size_t i = 0; i < e->n_datasets; i++)
        table_example(o, table[i]);
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    tab_out_bytes(o, "}}}", 3);
    open_member(o, "responses", '{');
    answer(o, "200", "The bundle of the request rows", "Bundle");
    answer(o, "default", "An error", "Error");
    tab_out_close(o, '}');
    tab_out_bytes(o, "}", 1); /* post */
    tab_out_close(o, '}');    /* the path */
}

static void serve_request(tab_out *o, const Tabella__Endpoint *e, const tab_table *const *table)
{
    open_member(o, "ServeRequest", '{');
    text_member(o, "type", "object");
    raw_member(o, "anyOf", "[{\"required\":[\"tables\"]},{\"required\":[\"options\"]}]");
    open_member(o, "properties", '{');
    raw_member(o, "options",
               "{\"type\":\"object\",\"description\":\"In place of tables: the next steps of every pinned "
               "series; receipts of the results\",\"properties\":{\"receipts\":{\"type\":\"boolean\","
               "\"description\":\"`true`: each result has a `receipt`, to be sent back with its outcome\"},"
               "\"horizon\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000,"
               "\"description\":\"How many steps ahead to forecast every pinned series\"}},"
               "\"additionalProperties\":false}");
    raw_member(o, "verbose",
               "{\"type\":\"boolean\",\"description\":\"`true`: the answer repeats the report's slices and "
               "calibration\"}");
    open_member(o, "tables", '{');
    text_member(o, "description", "rows to answer, in tables with the ids and columns of the pinned ones");
    text_member(o, "type", "array");
    open_member(o, "items", '{');
    open_member(o, "anyOf", '[');
    for (size_t i = 0; i < e->n_datasets; i++)
        table_schema(o, table[i]);
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    tab_out_close(o, '}');
    tab_out_close(o, '}');
    tab_out_close(o, '}');
}

tab_status get_endpoint_openapi(request *r, tab_error *err)
{
    const Tabella__Endpoint *e = NULL;
    tab_out *o = &r->out;
    tab_status s = endpoint_of(r, &e, err);
    if (s != TAB_OK)
        return s;
    if (strcmp(e->status, "live") != 0)
        return tab_fail(err, TAB_CONFLICT, "", "the endpoint is not live yet");
    const tab_table **table = tab_arena_new_of(r->arena, const tab_table *, e->n_datasets + 1);
    if (table == NULL)
        return tab_no_memory(err);
    if ((s = read_pinned(r, e, table, err)) != TAB_OK)
        return s;
    tab_out_open(o, '{');
    head(r, e->name);
    open_member(o, "paths", '{');
    serve_path(o, e, table);
    tab_out_close(o, '}');
    open_member(o, "components", '{');
    raw_member(o, "securitySchemes", "{\"key\":{\"type\":\"http\",\"scheme\":\"bearer\"}}");
    open_member(o, "schemas", '{');
    raw_member(o, "Error", API_SCHEMA_ERROR);
    raw_member(o, "Bundle", "{\"type\":\"object\"}");
    serve_request(o, e, table);
    tab_out_close(o, '}'); /* schemas */
    tab_out_close(o, '}'); /* components */
    tab_out_close(o, '}');
    return TAB_OK;
}
