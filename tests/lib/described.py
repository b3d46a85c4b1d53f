"""What the OpenAPI document says of requests and what the service does with them, both ways: the short form
of what `make fuzz-openapi` found (decision 0360). A request is valid by its schema exactly where the
service takes it. Where python3-jsonschema is missing, the schemas' half is left out."""

try:
    from jsonschema import Draft202012Validator as Draft
except ImportError:
    Draft = None

TABLE = {"id": "t", "columns": ["x", "y"], "rows": [[1, "a"], [2, "b"], [3, "a"]]}
NONE = {"mode": "none"}
WIDE = "\U0001f40e"  # one character, four bytes


def run(**more):
    return {"tables": [TABLE], "target": NONE, "base": "base-1", **more}


def making(**more):
    return {"name": "described", "tables": [TABLE], "dry_run": True, **more}


def made(**more):
    return {"sector": "retail", "rows": 2, "dry_run": True, **more}


# schema, method, path, body, whether it is valid
REQUESTS = (
    ("RunRequest", "POST", "/v2/run", run(), True),
    ("RunRequest", "POST", "/v2/run", run(tables=[{**TABLE, "id": WIDE * 128}]), True),
    ("RunRequest", "POST", "/v2/run", run(tables=[{**TABLE, "id": WIDE * 129}]), False),
    ("RunRequest", "POST", "/v2/run", run(tables=[{**TABLE, "id": "a.b"}]), False),
    ("RunRequest", "POST", "/v2/run", run(tables=[{**TABLE, "id": "a\0"}]), False),
    ("RunRequest", "POST", "/v2/run", run(tables=[{**TABLE, "columns": ["x", "\0"]}]), False),
    ("RunRequest", "POST", "/v2/run", run(tables=[{**TABLE, "rows": [[1, "\0"]]}]), False),
    ("RunRequest", "POST", "/v2/run", run(tables=[]), False),
    ("RunRequest", "POST", "/v2/run", {"tables": [], "data": []}, False),
    ("RunRequest", "POST", "/v2/run", run(options={"out": ""}), False),
    ("RunRequest", "POST", "/v2/run", run(options={"columns": [{"column": "x", "role": "rating"}]}), True),
    ("RunRequest", "POST", "/v2/run", run(options={"columns": [{"column": "x", "role": "ratings"}]}), False),
    ("RunRequest", "POST", "/v2/run", run(options={"columns": [{"column": "x", "role": ""}]}), False),
    ("EndpointRequest", "POST", "/v2/endpoints", making(), True),
    ("EndpointRequest", "POST", "/v2/endpoints", making(tables=[]), False),
    ("EndpointRequest", "POST", "/v2/endpoints", making(options={"processing": "batch"}), False),
    ("EndpointRequest", "POST", "/v2/endpoints", making(options={"out": "s3://bucket/x"}), False),
    ("GenerateRequest", "POST", "/v2/data/generate", made(name=WIDE * 128), True),
    ("GenerateRequest", "POST", "/v2/data/generate", made(name=WIDE * 129), False),
    ("GenerateRequest", "POST", "/v2/data/generate", made(sector="shoes"), False),
    ("GenerateRequest", "POST", "/v2/data/generate", made(rows=50_000_001), False),
    ("KeyRequest", "POST", "/v2/keys", {"name": WIDE * 128, "scopes": ["read"]}, True),
    ("KeyRequest", "POST", "/v2/keys", {"name": WIDE * 129, "scopes": ["read"]}, False),
    ("KeyRequest", "POST", "/v2/keys", {"name": "k", "scopes": ["read"], "networks": ["10.0.0.0/8"]}, True),
    ("KeyRequest", "POST", "/v2/keys", {"name": "k", "scopes": ["read"], "networks": ["::1"] * 17}, False),
    ("KeyRequest", "POST", "/v2/keys", {"name": "k", "scopes": ["read"], "expires_at": 7}, False),
    ("OrganizationEdit", "PUT", "/platform/v1/organization", {"networks": ["127.0.0.0/8"]}, True),
    ("OrganizationEdit", "PUT", "/platform/v1/organization", {"networks": []}, True),
    ("OrganizationEdit", "PUT", "/platform/v1/organization", {"networks": "127.0.0.0/8"}, False),
    ("OrganizationEdit", "PUT", "/platform/v1/organization", {"name": WIDE * 128}, True),
    ("OrganizationEdit", "PUT", "/platform/v1/organization", {"emails": ["a+b/c@[x]"]}, False),
    ("OrganizationEdit", "PUT", "/platform/v1/organization", {"emails": ["ann.o'hara+x@example.org"]}, True),
    ("OrganizationEdit", "PUT", "/platform/v1/organization", {"emails": ["a" * 254]}, False),
    ("OrganizationEdit", "PUT", "/platform/v1/organization", {"emails": []}, True),
    ("SessionRequest", "POST", "/platform/v1/session", {"key": ""}, False),
    ("SessionRequest", "POST", "/platform/v1/session", {"key": "k" * 129}, False),
)
EDITS = (
    ({"name": "described-2"}, True),
    ({"options": {"confidence_threshold": 0.4}}, True),
    ({}, False),
    ({"options": {}}, False),
    ({"options": {"explain": True}}, False),
)


def parts(check, schemas):
    """A form of a run has its request and tables, nothing else."""
    if Draft is None:
        return check.skip("forms", "python3-jsonschema is not installed")
    for what, form, good in (
        ("a table", {"request": {}, "tables[a]": "x"}, True),
        ("no table", {"request": {}}, False),
        ("no request", {"tables[a]": "x", "tables[b]": "x"}, False),
        ("an id with a dot", {"request": {}, "tables[a.b]": "x"}, False),
        ("another part", {"request": {}, "file": "x"}, False),
    ):
        found = fits(schemas, "TablesForm", form)
        check(f"described: a form with {what} is {'valid' if good else 'none'}", found == good)
    check(
        "described: an upload has no other parts", not fits(schemas, "UploadRequest", {"file": "", "x": ""})
    )


def fits(schemas, name, body):
    whole = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}}
    return Draft(whole).is_valid(body)


def agrees(check, org, schemas, name, method, path, body, good):
    a = org(method, path, body)
    what = f"{name} {str(body)[:90]!r}"
    check(f"described: {what} is {'taken' if good else 'refused'}", (a.status < 300) == good, a)
    if not good:
        check(f"described: {what}: as wrong", a.status == 400, a)
    if Draft is not None:
        check(f"described: {what}: its schema says so", fits(schemas, name, body) == good)


def described(check, org):
    schemas = org("GET", "/v2/openapi").json["components"]["schemas"]
    for request in REQUESTS:
        agrees(check, org, schemas, *request)
    job = org("POST", "/v2/endpoints", {**making(target=NONE), "dry_run": False}).json
    org.wait_job(job["job_id"])
    for body, good in EDITS:
        path = "/platform/v1/endpoints/" + job["id"]
        agrees(check, org, schemas, "EndpointEdit", "PATCH", path, body, good)
    org("DELETE", "/v2/endpoints/" + job["id"])
    check(
        "described: 25 sectors, each by slug and name",
        len(schemas["Sector"]["enum"]) == 50,
        schemas["Sector"],
    )
    refused = [
        s for s in schemas["Sector"]["enum"] if org("POST", "/v2/data/generate", made(sector=s)).status != 200
    ]
    check("described: every sector is one", not refused, refused)
    entries = [{"column": "x", "role": role} for role in schemas["Role"]["enum"]]
    a = org("POST", "/v2/run", run(options={"columns": entries[:1]}))
    b = [org("POST", "/v2/run", run(dry_run=True, options={"columns": [e]})).status for e in entries]
    check("described: every role is one", a.status == 200 and set(b) == {200} and len(b) > 80, (a, b))
    a = org("GET", "/platform/v1/audit?since=2026-01-01T00:00:00%2B16:07&until=2026-01-01T00:00:00-23:59")
    check("described: a time may have any offset", a.status == 200, a)
    a = org("PUT", "/platform/v1/organization", {"emails": ["nobody"]})
    check("described: what is wrong with addresses is said of `emails`", a.error.get("param") == "emails", a)
    a = org("GET", "/v2/jobs?cursor=")
    check("described: an empty cursor is none", a.status == 400 and a.error["param"] == "cursor", a)
    parts(check, schemas)
