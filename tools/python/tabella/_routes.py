"""Every route of the service that this package knows: what the client calls, and what a test holds against
the service's own OpenAPI document (tests/suite/client)."""

from __future__ import annotations

from typing import Dict, NamedTuple


class Route(NamedTuple):
    method: str
    path: str  # {id} and {sub} are replaced by arguments
    call: str  # the client's method, from Tabella on: "endpoints.create"
    again: bool = True  # doing it twice does no harm, so a call whose answer was lost is sent again
    key: bool = False  # takes Idempotency-Key, which makes it so


# fmt: off
ROUTES: Dict[str, Route] = {
    "POST_RUN": Route("POST", "/v2/run", "run", key=True),
    "POST_DATA_CONNECT": Route("POST", "/v2/data/connect", "data.connect", again=False),
    "POST_DATA_GENERATE": Route("POST", "/v2/data/generate", "data.generate", key=True),
    "GET_DATA_LIST": Route("GET", "/v2/data", "data.list"),
    "GET_DATA": Route("GET", "/v2/data/{id}", "data.retrieve"),
    "POST_DATA_SYNC": Route("POST", "/v2/data/{id}/sync", "data.sync"),
    "POST_DATA_PIN": Route("POST", "/v2/data/{id}/pin", "data.pin"),
    "POST_DATA_UNPIN": Route("POST", "/v2/data/{id}/unpin", "data.unpin"),
    "DELETE_DATA": Route("DELETE", "/v2/data/{id}", "data.delete"),
    "POST_ENDPOINTS": Route("POST", "/v2/endpoints", "endpoints.create", key=True),
    "GET_ENDPOINTS": Route("GET", "/v2/endpoints", "endpoints.list"),
    "GET_ENDPOINT": Route("GET", "/v2/endpoints/{id}", "endpoints.retrieve"),
    "POST_SERVE": Route("POST", "/v2/serve/{id}", "endpoints.serve", key=True),
    "POST_ENDPOINT_REFRESH": Route("POST", "/v2/endpoints/{id}/refresh", "endpoints.refresh", key=True),
    "POST_ENDPOINT_UPGRADE": Route("POST", "/v2/endpoints/{id}/upgrade", "endpoints.upgrade", key=True),
    "GET_ENDPOINT_LOGS": Route("GET", "/v2/endpoints/{id}/logs", "endpoints.logs"),
    "POST_OUTCOMES": Route("POST", "/v2/endpoints/{id}/outcomes", "endpoints.report_outcomes"),
    "POST_OUTCOMES_FORGET": Route(
        "POST", "/v2/endpoints/{id}/outcomes/forget", "endpoints.forget_outcomes"
    ),
    "GET_OUTCOMES": Route("GET", "/v2/endpoints/{id}/outcomes", "endpoints.outcomes"),
    "GET_OPENAPI": Route("GET", "/v2/openapi", "openapi"),
    "GET_ENDPOINT_OPENAPI": Route("GET", "/v2/openapi/{id}", "endpoints.openapi"),
    "DELETE_ENDPOINT": Route("DELETE", "/v2/endpoints/{id}", "endpoints.delete"),
    "GET_REPORTS": Route("GET", "/v2/reports", "reports.list"),
    "GET_REPORT": Route("GET", "/v2/reports/{id}", "reports.retrieve"),
    "GET_JOBS": Route("GET", "/v2/jobs", "jobs.list"),
    "GET_JOB": Route("GET", "/v2/jobs/{id}", "jobs.retrieve"),
    "GET_RESULT_PART": Route("GET", "/v2/jobs/{id}/result/{sub}", "jobs.download"),
    "GET_RESULT_FILLED": Route("GET", "/v2/jobs/{id}/result/filled/{sub}", "jobs.download"),
    "POST_JOB_CANCEL": Route("POST", "/v2/jobs/{id}/cancel", "jobs.cancel"),
    "DELETE_JOB": Route("DELETE", "/platform/v1/jobs/{id}", "jobs.delete"),
    "GET_MODELS": Route("GET", "/v2/models", "models.list"),
    "GET_USAGE": Route("GET", "/v2/usage", "usage.retrieve"),
    "GET_SERVICE_LEVEL": Route("GET", "/platform/v1/service-level", "usage.service_level"),
    "GET_KEYS": Route("GET", "/v2/keys", "keys.list"),
    "POST_KEYS": Route("POST", "/v2/keys", "keys.create", again=False),
    "POST_KEY_ROTATE": Route("POST", "/v2/keys/{id}/rotate", "keys.rotate", again=False),
    "GET_DATA_STORED": Route("GET", "/platform/v1/data/{id}/stored", "data.download"),
    "POST_EXPORTS": Route("POST", "/platform/v1/exports", "organization.export", key=True),
    "GET_EXPORT": Route("GET", "/platform/v1/exports/{id}", "organization.archive"),
    "PATCH_KEY": Route("PATCH", "/platform/v1/keys/{id}", "keys.update"),
    "DELETE_KEY": Route("DELETE", "/v2/keys/{id}", "keys.delete"),
    "POST_DATA_UPLOAD": Route("POST", "/platform/v1/data/upload", "data.upload", key=True),
    "POST_UPLOADS": Route("POST", "/platform/v1/uploads", "uploads.begin", key=True),
    "GET_UPLOAD": Route("GET", "/platform/v1/uploads/{id}", "uploads.retrieve"),
    "PUT_UPLOAD": Route("PUT", "/platform/v1/uploads/{id}", "uploads.send", again=False),
    "DELETE_UPLOAD": Route("DELETE", "/platform/v1/uploads/{id}", "uploads.delete"),
    "POST_UPLOAD_COMPLETE": Route(
        "POST", "/platform/v1/uploads/{id}/complete", "uploads.complete", key=True
    ),
    "PATCH_ENDPOINT": Route("PATCH", "/platform/v1/endpoints/{id}", "endpoints.update"),
    "POST_PROMPTS": Route("POST", "/platform/v1/endpoints/{id}/prompts", "prompts.create", again=False),
    "PATCH_PROMPT": Route("PATCH", "/platform/v1/endpoints/{id}/prompts/{sub}", "prompts.update"),
    "DELETE_PROMPT": Route("DELETE", "/platform/v1/endpoints/{id}/prompts/{sub}", "prompts.delete"),
    "POST_REPORT_STAR": Route("POST", "/platform/v1/reports/{id}/star", "reports.star"),
    "POST_REPORT_UNSTAR": Route("POST", "/platform/v1/reports/{id}/unstar", "reports.unstar"),
    "GET_DATA_SNAPSHOTS": Route("GET", "/platform/v1/data/{id}/snapshots", "data.snapshots"),
    "GET_DATA_DIFF": Route("GET", "/platform/v1/data/{id}/diff", "data.diff"),
    "GET_DATA_PROFILE": Route("GET", "/platform/v1/data/{id}/profile", "data.profile"),
    "GET_AUDIT": Route("GET", "/platform/v1/audit", "audit.list"),
    "GET_NOTIFICATIONS": Route("GET", "/platform/v1/notifications", "notifications.list"),
    "POST_NOTIFICATION_READ": Route("POST", "/platform/v1/notifications/{id}/read", "notifications.read"),
    "GET_WEBHOOKS": Route("GET", "/platform/v1/webhooks", "webhooks.list"),
    "POST_WEBHOOKS": Route("POST", "/platform/v1/webhooks", "webhooks.create", again=False),
    "PATCH_WEBHOOK": Route("PATCH", "/platform/v1/webhooks/{id}", "webhooks.update"),
    "DELETE_WEBHOOK": Route("DELETE", "/platform/v1/webhooks/{id}", "webhooks.delete"),
    "POST_WEBHOOK_ROTATE": Route("POST", "/platform/v1/webhooks/{id}/rotate", "webhooks.rotate", again=False),
    "POST_WEBHOOK_TEST": Route("POST", "/platform/v1/webhooks/{id}/test", "webhooks.test", again=False),
    "GET_DELIVERIES": Route("GET", "/platform/v1/webhooks/{id}/deliveries", "webhooks.deliveries"),
    "POST_DELIVERY_REPLAY": Route(
        "POST", "/platform/v1/webhooks/{id}/deliveries/{sub}/replay", "webhooks.replay"
    ),
    "GET_PROVIDERS": Route("GET", "/platform/v1/providers", "providers.list"),
    "POST_PROVIDERS": Route("POST", "/platform/v1/providers", "providers.create", again=False),
    "PATCH_PROVIDER": Route("PATCH", "/platform/v1/providers/{id}", "providers.update"),
    "DELETE_PROVIDER": Route("DELETE", "/platform/v1/providers/{id}", "providers.delete"),
    "GET_PEOPLE": Route("GET", "/platform/v1/people", "people.list"),
    "PATCH_PERSON": Route("PATCH", "/platform/v1/people/{id}", "people.update"),
    "GET_SESSIONS": Route("GET", "/platform/v1/sessions", "sessions.list"),
    "DELETE_SESSIONS": Route("DELETE", "/platform/v1/sessions/{id}", "sessions.end"),
    "GET_ORGANIZATION": Route("GET", "/platform/v1/organization", "organization.retrieve"),
    "PUT_ORGANIZATION": Route("PUT", "/platform/v1/organization", "organization.update"),
}
# fmt: on
