"""The client beside the service's own OpenAPI document, both ways: what the document has and the client
lacks, and what the client has and the document lacks. Findings are sentences; none is a contract that
holds."""

import inspect

from tabella import _errors, _types
from tabella._bundle import Bundle
from tabella._routes import ROUTES

# Methods that are no route of their own.
HELPERS = {
    "submit": "run, without waiting",
    "forecast": "run, with a horizon",
    "check": "run, without a target",
    "match": "run of two tables, without a target",
    "dedupe": "run, without a target",
    "profile": "run, without a target",
    "fill": "run, without a target",
    "predict": "run of known and new rows",
    "jobs.wait": "jobs.retrieve until it ends",
    "jobs.frame": "jobs.download, read as a frame",
    "close": "connections",
    "run_cost": "run, with dry_run",
    "endpoints.create_cost": "endpoints.create, with dry_run",
    "endpoints.serve_cost": "endpoints.serve, with dry_run",
    "endpoints.score": "endpoints.serve, of a stored dataset: a job",
    "endpoints.score_cost": "endpoints.score, with dry_run",
    "endpoints.predict": "endpoints.serve, in calls of the most rows that one may have",
    "endpoints.refresh_cost": "endpoints.refresh, with dry_run",
    "data.generate_cost": "data.generate, with dry_run",
}
# A route whose jobs are asked for by a method of their own.
JOBS_OF = {"endpoints.serve": ("endpoints.score",)}
# A session is a browser's: a program has its key. An agent's client speaks a protocol of its own.
BROWSERS = {"POST_SESSION", "GET_SESSION", "DELETE_SESSION", "POST_MCP"}
BROWSERS |= {"GET_SIGNIN", "POST_SIGNIN", "POST_SIGNIN_COMPLETE"}
# Arguments that are the client's own, and those that carry a field under another name.
OWN = {"self", "wait", "progress", "timeout", "options"}
OF_CALL = {
    "run": {"name"},
    "jobs.download": {"path", "table"},
    "data.download": {"path"},
    "organization.archive": {"path"},
    "uploads.send": {"content", "told"},
}  # a single table's name; where a file goes
# `from` is a word of Python's own; a part of a result is one
NAMED = {
    "endpoints.report_outcomes": {"tables": "rows"},
    "data.diff": {"from": "before", "to": "after"},
    "jobs.download": {"sub": "part"},
    "webhooks.replay": {"sub": "delivery"},
}
ANSWERS = {
    "Bundle": Bundle,
    "Cost": _types.Cost,
    "Data": _types.Data,
    "Endpoint": _types.Endpoint,
    "Generated": _types.Generated,
    "Job": _types.Job,
    "Key": _types.Key,
    "Report": _types.Report,
    "Upload": _types.Upload,
    "Uploaded": _types.Uploaded,
    "Webhook": _types.Webhook,
    "Delivery": _types.Delivery,
    "Provider": _types.Provider,
    "Person": _types.Person,
}
GROUPS = (
    "endpoints",
    "prompts",
    "data",
    "uploads",
    "reports",
    "jobs",
    "models",
    "usage",
    "keys",
    "audit",
    "notifications",
    "webhooks",
    "providers",
    "people",
    "sessions",
    "organization",
)


def methods_of(client):
    """Every public method: "run", "endpoints.create"."""
    found = {}
    for group in ("",) + GROUPS:
        holder = getattr(client, group) if group else client
        for name, method in inspect.getmembers(holder, callable):
            if not name.startswith("_"):
                found[f"{group}.{name}" if group else name] = method
    return found


def resolved(doc, schema):
    while "$ref" in schema:
        schema = doc["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def arguments_of(doc, operation):
    """What a call takes, by the names that the client's arguments have."""
    names = set()
    for p in operation.get("parameters", []):
        names.add("idempotency_key" if p["name"] == "Idempotency-Key" else p["name"])
    content = operation.get("requestBody", {}).get("content", {})
    body = next((x.get("schema") for x in content.values()), None)
    for name, schema in (resolved(doc, body).get("properties", {}) if body else {}).items():
        own = resolved(doc, schema).get("properties")
        if schema.get("readOnly"):  # what is shown may be sent back; nothing is asked by it
            continue
        if name == "options" and own:
            names |= set(own)
        else:
            names.add(name)
    return names


def findings(doc, client):
    out, methods = [], methods_of(client)
    seen = set()
    for path, operations in doc["paths"].items():
        for method, operation in operations.items():
            id = operation["operationId"]
            seen.add(id)
            if id in BROWSERS:
                continue
            route = ROUTES.get(id)
            if route is None:
                out.append(f"{id}: the client has no such route")
                continue
            if (route.method, route.path) != (method.upper(), path):
                out.append(f"{id}: {method.upper()} {path}, the client has {route.method} {route.path}")
            if route.call not in methods:
                out.append(f"{id}: the client has no method {route.call}")
                continue
            own = NAMED.get(route.call, {})
            takes = {own.get(name, name) for name in arguments_of(doc, operation)}
            if "dry_run" in takes:  # another answer, so a method of its own
                takes.remove("dry_run")
                if f"{route.call}_cost" not in methods:
                    out.append(f"{id}: {route.call} has no dry run")
            calls = [route.call, *JOBS_OF.get(route.call, ())]
            has = {n for c in calls for n in inspect.signature(methods[c]).parameters}
            for name in sorted(takes - has):
                out.append(f"{id}: {route.call} has no argument {name}")
            for name in sorted(has - takes - OWN - OF_CALL.get(route.call, set())):
                out.append(f"{id}: {route.call} has an argument {name} that the service does not know")
            if route.key != ("idempotency_key" in takes):
                out.append(f"{id}: Idempotency-Key")
            told = {s for s in operation["responses"] if s.startswith("2")}
            if route.call not in ("run",) and not told <= {"200", "201", "202"}:
                out.append(f"{id}: an unknown status of success")
    for id in sorted(BROWSERS - seen):
        out.append(f"{id} is no route of the service")
    for id, route in ROUTES.items():
        if id not in seen:
            out.append(f"{id}: {route.call} is no route of the service")
    calls = {r.call for r in ROUTES.values()}
    for name in sorted(set(methods) - calls - set(HELPERS)):
        out.append(f"{name} belongs to no route")
    schemas = doc["components"]["schemas"]
    types = set(schemas["Error"]["properties"]["error"]["properties"]["type"]["enum"])
    for t in sorted(types ^ set(_errors.BY_TYPE)):
        out.append(f"error {t}: on one side only")
    told = set(schemas["Error"]["properties"]["error"]["properties"])
    for name in sorted(told - {"type", "message", "param", "request_id", "running_job_id"}):
        out.append(f"error field {name}")
    for name, kind in ANSWERS.items():
        fields = set(inspect.signature(kind).parameters) | {
            "summary",
            "duplicates",
            "suspects",
            "result",
        }  # made of the JSON
        for p in sorted(set(schemas[name]["properties"]) - fields):
            out.append(f"{name}.{p}: the client has no such field")
    return out


def asynchronous(client, other):
    """Methods that one of the two clients has alone."""
    return sorted(set(methods_of(client)) ^ set(methods_of(other)))


def _serve(doc):
    return doc["paths"]["/v2/serve/{id}"]["post"]


# Changes of the document that must be found.
CHANGES = {
    "a new route": lambda d: d["paths"].update({"/v2/new": {"get": {**_serve(d), "operationId": "GET_NEW"}}}),
    "a route that is gone": lambda d: d["paths"].pop("/v2/usage"),
    "a route that moved": lambda d: d["paths"].update({"/v2/used": d["paths"].pop("/v2/usage")}),
    "a new parameter": lambda d: _serve(d)["parameters"].append({"name": "seed", "in": "query"}),
    "a new field of a body": lambda d: d["components"]["schemas"]["ServeRequest"]["properties"].update(x={}),
    "an option that is gone": lambda d: d["components"]["schemas"]["RunRequest"]["properties"]["options"][
        "properties"
    ].pop("explain"),
    "a new error": lambda d: d["components"]["schemas"]["Error"]["properties"]["error"]["properties"]["type"][
        "enum"
    ].append("teapot"),
    "a new field of an answer": lambda d: d["components"]["schemas"]["Job"]["properties"].update(colour={}),
}
