"""What schemathesis does not know of the service, and what is noted of each answer (`run` in this folder).

A call's random ids become those of things that are there, rows get as many cells as there are columns, and a
target is one of them, each of it for half of the calls: so handlers are reached and not only their first
refusals. Every answer to a request that fits its schema is noted, one line of JSON each, in FUZZ_NOTES."""

import copy
import json
import os
import zlib

import schemathesis

THINGS = json.load(open(os.environ["FUZZ_THINGS"]))
NOTES = open(os.environ["FUZZ_NOTES"], "a", buffering=1)


def half(*of):
    """The same half of all calls in every run."""
    return zlib.crc32(repr(of).encode()) % 2 == 0


def one_of(things, *of):
    return things[zlib.crc32(repr(of).encode()) % len(things)]


def real_id(path, method, given):
    kind = path.split("/")[3] if path.startswith("/platform/v1/") else path.split("/")[2]
    ending = method == "DELETE" or path.endswith(("/rotate", "/cancel"))
    things = THINGS["spare" if ending else "kept"].get(
        {"serve": "endpoints", "openapi": "endpoints"}.get(kind, kind)
    )
    return one_of(things, path, given) if things else given


def whole(tables):
    """Rows as wide as their table, and ids that are unlike."""
    seen = set()
    for i, t in enumerate(tables):
        n = len(t["columns"])
        t["rows"] = [(list(r) + [None] * n)[:n] for r in t["rows"]]
        if t["id"] in seen:
            t["id"] = f"t{i}"
        seen.add(t["id"])


def fitted(path, body):
    """A body that also holds together."""
    tables = body.get("tables", [])
    whole(tables)
    if path.startswith("/v2/serve") and tables:
        pinned = THINGS["table"]
        rows = [
            (list(r) + [None] * len(pinned["columns"]))[: len(pinned["columns"])] for r in tables[0]["rows"]
        ]
        body["tables"] = [{"id": pinned["id"], "columns": pinned["columns"], "rows": rows}]
    if path in ("/v2/run", "/v2/endpoints"):
        if not tables or sum(len(t["rows"]) for t in tables) == 0:
            body["tables"] = tables = [copy.deepcopy(THINGS["table"])]
        body.pop("data", None)
        body.pop("base", None)
        names = [f'{t["id"]}.{c}' for t in tables for c in t["columns"]]
        if isinstance(body.get("target"), dict) and "column" in body["target"]:
            body["target"]["column"] = one_of(names, path)
        for c in body.get("options", {}).get("columns", []):
            c["table"], c["column"] = one_of(names, repr(c)).split(".", 1)
        body.get("options", {}).pop("out", None)


@schemathesis.hook
def before_call(context, case, kwargs):
    path, method = case.operation.path, case.operation.method.upper()
    for name, given in list((case.path_parameters or {}).items()):
        if half(path, given):
            case.path_parameters[name] = THINGS["prompt"] if name == "sub" else real_id(path, method, given)
    fits = case.meta is not None and case.meta.generation.mode.is_positive
    if fits and isinstance(case.body, dict) and case.media_type == "application/json":
        if half(path, case.body):
            fitted(path, case.body)
        if path == "/v2/data/generate":  # many rows say no more than few
            case.body["rows"] = 1 + int(case.body["rows"]) % 50
    if method == "PUT" or "session" in path:  # a cap would end the runs of this organization
        case.headers["Authorization"] = "Bearer " + THINGS["other_key"]


@schemathesis.hook
def after_call(context, case, response):
    try:
        said = response.json().get("error", {}) if response.status_code >= 400 else {}
    except (ValueError, AttributeError):
        said = {}
    mode = case.meta.generation.mode.value if case.meta else ""
    body = case.body if isinstance(case.body, (dict, list, str, int, float, type(None))) else repr(case.body)
    note = {
        "call": case.operation.label,
        "mode": mode,
        "status": response.status_code,
        "type": said.get("type"),
        "param": said.get("param"),
        "message": said.get("message"),
    }
    if response.status_code >= 400:
        note["sent"] = {"path": case.path_parameters, "query": case.query, "media": case.media_type}
        note["body"] = json.dumps(body, default=repr)[:2000]
    NOTES.write(json.dumps(note, default=repr) + "\n")
