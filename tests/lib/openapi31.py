"""A validator of OpenAPI 3.1.0 descriptions, written from the specification: the objects that a description
may hold, their required and known fields, and what a schema of fields alone cannot say (path templates,
unique operation ids, references that lead somewhere). Schema Objects are JSON Schema 2020-12: where
python3-jsonschema is installed they are held against its meta schema and examples against their schemas;
without it those two checks are left out (`skipped`)."""
import re

try:
    import jsonschema
    from jsonschema import Draft202012Validator as Draft
except ImportError:
    jsonschema = None

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
# object: (required fields, fields with the object that they hold; "": anything, "[x]": a list of x, "{x}": a
# map to x)
OBJECTS = {
    "OpenAPI": (
        {"openapi", "info"},
        {
            "openapi": "text",
            "info": "Info",
            "jsonSchemaDialect": "text",
            "servers": "[Server]",
            "paths": "Paths",
            "webhooks": "{PathItem}",
            "components": "Components",
            "security": "[Security]",
            "tags": "[Tag]",
            "externalDocs": "Docs",
        },
    ),
    "Info": (
        {"title", "version"},
        {
            "title": "text",
            "summary": "text",
            "description": "text",
            "termsOfService": "text",
            "contact": "",
            "license": "License",
            "version": "text",
        },
    ),
    "License": ({"name"}, {"name": "text", "identifier": "text", "url": "text"}),
    "Server": ({"url"}, {"url": "text", "description": "text", "variables": ""}),
    "Docs": ({"url"}, {"url": "text", "description": "text"}),
    "Tag": ({"name"}, {"name": "text", "description": "text", "externalDocs": "Docs"}),
    "PathItem": (
        set(),
        {
            "$ref": "text",
            "summary": "text",
            "description": "text",
            "servers": "[Server]",
            "parameters": "[Parameter]",
            **{m: "Operation" for m in METHODS},
        },
    ),
    "Operation": (
        set(),
        {
            "tags": "[text]",
            "summary": "text",
            "description": "text",
            "externalDocs": "Docs",
            "operationId": "text",
            "parameters": "[Parameter]",
            "requestBody": "RequestBody",
            "responses": "Responses",
            "callbacks": "",
            "deprecated": "flag",
            "security": "[Security]",
            "servers": "[Server]",
        },
    ),
    "Parameter": (
        {"name", "in"},
        {
            "name": "text",
            "in": "text",
            "description": "text",
            "required": "flag",
            "deprecated": "flag",
            "allowEmptyValue": "flag",
            "style": "text",
            "explode": "flag",
            "allowReserved": "flag",
            "schema": "Schema",
            "example": "",
            "examples": "",
            "content": "{MediaType}",
        },
    ),
    "RequestBody": ({"content"}, {"description": "text", "content": "{MediaType}", "required": "flag"}),
    "MediaType": (set(), {"schema": "Schema", "example": "", "examples": "", "encoding": ""}),
    "Response": (
        {"description"},
        {"description": "text", "headers": "{Header}", "content": "{MediaType}", "links": ""},
    ),
    "Header": (
        set(),
        {
            "description": "text",
            "required": "flag",
            "deprecated": "flag",
            "style": "text",
            "explode": "flag",
            "schema": "Schema",
            "example": "",
            "examples": "",
            "content": "{MediaType}",
        },
    ),
    "Components": (
        set(),
        {
            "schemas": "{Schema}",
            "responses": "{Response}",
            "parameters": "{Parameter}",
            "examples": "",
            "requestBodies": "{RequestBody}",
            "headers": "{Header}",
            "securitySchemes": "{SecurityScheme}",
            "links": "",
            "callbacks": "",
            "pathItems": "{PathItem}",
        },
    ),
    "SecurityScheme": (
        {"type"},
        {
            "type": "text",
            "description": "text",
            "name": "text",
            "in": "text",
            "scheme": "text",
            "bearerFormat": "text",
            "flows": "",
            "openIdConnectUrl": "text",
        },
    ),
}
REFERENCED = {"Parameter", "RequestBody", "Response", "Header", "SecurityScheme", "PathItem"}


def faults(d):
    """(what is wrong, a sentence each; what was left out)."""
    out, operations, skipped = (
        [],
        {},
        [] if jsonschema else ["schemas and examples: python3-jsonschema is not installed"],
    )

    def lead(ref, at):
        x = d
        if not ref.startswith("#/"):
            return out.append(f"{at}: a reference to elsewhere, {ref}")
        for part in ref[2:].split("/"):
            part = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(x, dict) or part not in x:
                return out.append(f"{at}: {ref} leads nowhere")
            x = x[part]
        return x

    def refs(x, at):
        if isinstance(x, dict):
            if isinstance(x.get("$ref"), str):
                lead(x["$ref"], at)
            for k, v in x.items():
                refs(v, f"{at}/{k}")
        elif isinstance(x, list):
            for i, v in enumerate(x):
                refs(v, f"{at}/{i}")

    def schema(x, at):
        if isinstance(x, bool):
            return
        if not isinstance(x, dict):
            return out.append(f"{at}: a schema is an object or a boolean")
        refs(x, at)
        if jsonschema:
            try:
                Draft.check_schema(x)
            except jsonschema.SchemaError as e:
                out.append(f"{at}: {e.message}")

    def example(x, value, at):
        if jsonschema and isinstance(x, (dict, bool)):
            whole = (
                {**x, "components": d.get("components", {})} if isinstance(x, dict) else x
            )  # so that #/components/... resolves
            for e in Draft(whole).iter_errors(value):
                out.append(
                    f"{at}: the example does not fit its schema at {'/'.join(map(str, e.absolute_path))}: "
                    f"{e.message[:200]}"
                )

    def walk(kind, x, at):
        if kind == "":
            return
        if kind in ("text", "flag"):
            if not isinstance(x, str if kind == "text" else bool):
                out.append(f"{at}: not a {kind}")
            return
        if kind[0] in "[{":
            if not isinstance(x, list if kind[0] == "[" else dict):
                return out.append(f"{at}: not {'a list' if kind[0] == '[' else 'a map'}")
            for k, v in enumerate(x) if kind[0] == "[" else x.items():
                if (
                    at.startswith("#/components/")
                    and kind[0] == "{"
                    and at.count("/") == 2
                    and not re.fullmatch(r"[A-Za-z0-9._-]+", k)
                ):
                    out.append(f"{at}: no name for a component: {k}")
                walk(kind[1:-1], v, f"{at}/{k}")
            return
        if kind == "Schema":
            return schema(x, at)
        if not isinstance(x, dict):
            return out.append(f"{at}: not an object")
        if kind == "Security":
            for name, scopes in x.items():
                if name not in d.get("components", {}).get("securitySchemes", {}) or not isinstance(
                    scopes, list
                ):
                    out.append(f"{at}: no such security scheme, or its scopes are no list: {name}")
            return
        if kind == "Paths":
            shapes = {}
            for p, item in x.items():
                if p.startswith("x-"):
                    continue
                if not p.startswith("/"):
                    out.append(f"{at}: a path begins with a slash: {p}")
                if shapes.setdefault(re.sub(r"\{[^}]*\}", "{}", p), p) != p:
                    out.append(f"{at}: two paths of one shape: {p}")
                walk("PathItem", item, f"{at}/{p}")
                names = re.findall(r"\{([^}]*)\}", p)
                for m in METHODS:
                    if m in item:
                        given = [
                            q if "$ref" not in q else lead(q["$ref"], at) or {}
                            for q in item.get("parameters", []) + item[m].get("parameters", [])
                        ]
                        own = sorted(q.get("name") for q in given if q.get("in") == "path")
                        if own != sorted(names):
                            out.append(f"{at}/{p}/{m}: path parameters {own}, the path has {names}")
                        if len({(q.get("name"), q.get("in")) for q in given}) != len(given):
                            out.append(f"{at}/{p}/{m}: a parameter stands twice")
                        id = item[m].get("operationId")
                        if id is not None and operations.setdefault(id, (p, m)) != (p, m):
                            out.append(f"{at}/{p}/{m}: operationId {id} stands twice")
            return
        if kind == "Responses":
            if not x:
                out.append(f"{at}: no response")
            for code, r in x.items():
                if not re.fullmatch(r"default|[1-5](\d\d|XX)", code):
                    out.append(f"{at}: no status: {code}")
                walk("Response", r, f"{at}/{code}")
            return
        if kind in REFERENCED and "$ref" in x and kind != "PathItem":
            if set(x) - {"$ref", "summary", "description"}:
                out.append(f"{at}: fields beside a reference")
            return lead(x["$ref"], at)
        required, fields = OBJECTS[kind]
        for f in required - set(x):
            out.append(f"{at}: {kind} without {f}")
        for f, v in x.items():
            if f in fields:
                walk(fields[f], v, f"{at}/{f}")
            elif not f.startswith("x-"):
                out.append(f"{at}: {kind} has no field {f}")
        if kind in ("Parameter", "Header") and ("schema" in x) == ("content" in x):
            out.append(f"{at}: one of schema and content")
        if kind == "Parameter" and (
            x.get("in") not in ("query", "header", "path", "cookie")
            or (x["in"] == "path" and x.get("required") is not True)
        ):
            out.append(f"{at}: `in` is query, header, path or cookie; a path parameter is required")
        if kind == "SecurityScheme" and (
            x.get("type") not in ("apiKey", "http", "mutualTLS", "oauth2", "openIdConnect")
            or (x["type"] == "http" and "scheme" not in x)
        ):
            out.append(f"{at}: no type of security scheme, or http without its scheme")
        if kind in ("MediaType", "Parameter") and "example" in x and "schema" in x:
            example(x["schema"], x["example"], f"{at}/example")

    walk("OpenAPI", d, "#")
    if isinstance(d, dict):
        if not re.fullmatch(r"3\.1\.\d+(-.+)?", str(d.get("openapi", ""))):
            out.append("#: openapi is not 3.1")
        if not {"paths", "components", "webhooks"} & set(d):
            out.append("#: one of paths, components and webhooks")
    return out, skipped
