"""The API reference that people read, gateway/console/reference/index.html, made of the service's OpenAPI
document (GET /v2/openapi) and of examples.py: each route with its fields, errors and an example in curl and
in Python; then each schema. Without a script, so that it can be searched, printed and read without signing
in.

`make reference` writes it; tests/suite/reference holds it to the document and runs its examples."""

import html
import json

from examples import EXAMPLES

GROUPS = (
    ("Runs", ("/v2/run", "/v2/jobs")),
    ("Data", ("/v2/data", "/platform/v1/data", "/platform/v1/uploads")),
    ("Endpoints", ("/v2/endpoints", "/v2/serve", "/platform/v1/endpoints")),
    ("Reports", ("/v2/reports", "/platform/v1/reports")),
    ("Webhooks", ("/platform/v1/webhooks",)),
    ("Organization", ("/v2/keys", "/v2/usage", "/platform/v1/")),
    ("Agents and descriptions", ("/mcp", "/v2/models", "/v2/openapi")),
)
BODY = "application/json"


def escaped(text):
    return html.escape(str(text))


def marked(text):
    """A sentence, in which what stands between backticks is code."""
    parts = escaped(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))


def sentence(text, limits):
    """What a field is, then its limits."""
    text = text if text.endswith(".") else text + "."
    limits = "; ".join(limits)
    return marked(text[0].upper() + text[1:]) + (f" {limits[0].upper() + limits[1:]}." if limits else "")


def code(text, label):
    return f'<pre tabindex="0" aria-label="{label}">{escaped(text)}</pre>'


# ---- what values may be --------------------------------------------------------------------------


def link(ref):
    name = ref.rsplit("/", 1)[1]
    return f'<a href="#{name}">{name}</a>'


def words(values, most=12):
    shown = [f"<code>{escaped(json.dumps(v))}</code>" for v in values[:most]]
    return ", ".join(shown) + (f" and {len(values) - most} more" if len(values) > most else "")


def bounds(s):
    """Limits of a number, a text or a list, in words."""
    for low, high, what in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " of them"),
    ):
        if low in s and high in s:
            yield f"{s[low]:,} to {s[high]:,}{what}"
        elif low in s:
            yield f"at least {s[low]:,}{what}"
        elif high in s:
            yield f"at most {s[high]:,}{what}"
    if "pattern" in s:
        yield f"<code>{escaped(s['pattern'])}</code>"
    if "default" in s:
        yield f"default <code>{escaped(json.dumps(s['default']))}</code>"


def kind(s):
    """What a value may be, on one line."""
    if "$ref" in s:
        return link(s["$ref"])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in s and "properties" not in s:
            return (" and " if several == "allOf" else " or ").join(kind(x) for x in s[several])
    if "enum" in s:
        return words(s["enum"])
    if "const" in s:
        return words([s["const"]])
    kinds = s.get("type", "any")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    said = [f"list of {kind(s['items'])}" if k == "array" and "items" in s else k for k in kinds]
    if s.get("format"):
        said[0] += f" ({s['format']})"
    return " or ".join(said)


def fields(schemas, s, before="", depth=0):
    """(name, schema, whether it must be there) of an object, those of nested ones behind theirs."""
    if "$ref" in s and depth == 0:
        s = schemas[s["$ref"].rsplit("/", 1)[1]]
    must = s.get("required", ())
    for name, x in s.get("properties", {}).items():
        yield before + name, x, name in must
        inner = x.get("items", x) if isinstance(x.get("items", x), dict) else {}
        if "$ref" not in inner and depth < 3:
            mark = "[]." if "items" in x else "."
            yield from fields(schemas, inner, before + name + mark, depth + 1)
    for name, x in s.get("patternProperties", {}).items():
        yield before + name, x, False


def table(schemas, schema, label):
    rows = list(fields(schemas, schema))
    if not rows:
        return f"<p>{kind(schema)}</p>"
    out = [f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>']
    out.append(
        '<thead><tr><th scope="col">Field</th><th scope="col">Value</th><th scope="col">What</th></tr>'
    )
    out.append("</thead><tbody>")
    for name, x, must in rows:
        what = x.get("description") or schemas[x["$ref"].rsplit("/", 1)[1]]["description"]
        tag = ' <span class="tag">required</span>' if must else ""
        out.append(
            f"<tr><td><code>{escaped(name)}</code>{tag}</td><td>{kind(x)}</td>"
            f"<td>{sentence(what, bounds(x))}</td></tr>"
        )
    return "\n".join(out) + "\n</tbody></table></div>"


# ---- examples --------------------------------------------------------------------------------------


def address(path, example):
    at = path.replace("{id}", example.at).replace("{sub}", example.sub)
    return at + ("?" + example.query if example.query else "")


def curl(method, path, example):
    """The line of a shell; what it sends is a here-document, in which variables stand for ids."""
    if example.curl:
        return example.curl
    how = (
        "" if method == "get" or (method == "post" and example.body is not None) else f"-X {method.upper()} "
    )
    line = f'curl -s {how}"$TABELLA_URL{address(path, example)}" -H "Authorization: Bearer $TABELLA_API_KEY"'
    if example.body is None:
        return line
    return f"{line} \\\n    -H 'Content-Type: application/json' -d @- <<EOF\n{pretty(example.body)}\nEOF"


def pretty(body):
    """JSON with a row of a table on a line."""
    text = json.dumps(body, ensure_ascii=False)
    if len(text) <= 100:
        return text
    if isinstance(body, dict):
        inner = [f'"{k}": {pretty(v)}' for k, v in body.items()]
    else:
        inner = [pretty(v) for v in body]
    open_, close = ("{", "}") if isinstance(body, dict) else ("[", "]")
    whole = ",\n".join(inner).replace("\n", "\n  ")
    return f"{open_}\n  {whole}\n{close}"


def undescribed(document):
    """Schemas, fields and parameters of which the document does not say what they are. A field whose value
    has a schema of its own is described by that."""
    schemas = document["components"]["schemas"]
    found = []

    def said(x):
        while "description" not in x and "$ref" in x:
            x = schemas[x["$ref"].rsplit("/", 1)[1]]
        return x.get("description", "").strip()

    def look(x, at):
        if isinstance(x, list):
            for y in x:
                look(y, at)
        if not isinstance(x, dict):
            return
        for name, y in {**x.get("properties", {}), **x.get("patternProperties", {})}.items():
            # what `anyOf` and the like add to a field is no field of its own
            only_bounds = y and set(y) <= {"minItems", "minLength", "minProperties"}
            if not said(y) and not only_bounds:
                found.append(f"{at}.{name}")
            look(y, f"{at}.{name}")
        for word in ("items", "anyOf", "oneOf", "allOf", "additionalProperties"):
            look(x.get(word), at)

    for name, schema in schemas.items():
        if not said(schema):
            found.append(name)
        look(schema, name)
    for path, methods in document["paths"].items():
        for method, o in methods.items():
            found += [f"{method} {path}: {p['name']}" for p in o.get("parameters", ()) if not said(p)]
    return found


# ---- the page ---------------------------------------------------------------------------------------


def operations(document):
    """By group: (group, [(method, path, operation)])."""
    left = [(m, p, o) for p, ms in document["paths"].items() for m, o in ms.items()]
    for name, starts in GROUPS:
        mine = [x for x in left if any(x[1].startswith(s) for s in starts)]
        left = [x for x in left if x not in mine]
        yield name, mine
    assert not left, left


def anchor(operation):
    return operation["operationId"].lower().replace("_", "-")


def parameters(operation):
    rows = []
    for p in operation["parameters"]:
        rows.append(
            f"<tr><td><code>{escaped(p['name'])}</code></td><td>{p['in']}</td><td>{kind(p['schema'])}</td>"
            f"<td>{sentence(p['description'], bounds(p['schema']))}</td></tr>"
        )
    if not rows:
        return ""
    return (
        '<h4>Parameters</h4>\n<div class="scroll" tabindex="0" role="region" aria-label="Parameters"><table>'
        '<thead><tr><th scope="col">Name</th>'
        '<th scope="col">Where</th><th scope="col">Value</th><th scope="col">What</th></tr></thead><tbody>\n'
        + "\n".join(rows)
        + "\n</tbody></table></div>"
    )


def answers(operation):
    good, bad = [], []
    for status, r in operation["responses"].items():
        if status[0] != "2":
            bad.append(f"<dt>{status}</dt><dd>{marked(r['description'])}</dd>")
            continue
        said = [
            (f"{t}: " if t != BODY else "") + kind(c["schema"]) if "schema" in c else t
            for t, c in r.get("content", {}).items()
        ]
        what = marked(r["description"]) + (f": {', '.join(said)}" if said else "")
        good.append(f"<dt>{status}</dt><dd>{what}</dd>")
    return (
        f'<h4>Answers</h4>\n<dl class="answers">{"".join(good)}</dl>\n'
        f'<h4>Errors</h4>\n<dl class="answers">{"".join(bad)}</dl>'
    )


def body(schemas, operation):
    content = operation.get("requestBody", {}).get("content", {})
    out = []
    for media, c in content.items():
        if "schema" not in c:
            out.append(f"<p>Or <code>{media}</code>.</p>")
            continue
        out.append(f"<h4>{'Body' if media == BODY else 'Body as ' + media}</h4>")
        out.append(table(schemas, c["schema"], "Fields of the body"))
    return "\n".join(out)


def section(schemas, method, path, operation):
    example = EXAMPLES[operation["operationId"]]
    scope = operation["x-scope"]
    needs = {"any": "any key"}.get(scope, f"scope <code>{scope}</code>")
    needs = "no key" if operation.get("security") == [] else needs
    parts = [
        f'<section id="{anchor(operation)}">',
        f'<h3><code class="method">{method.upper()}</code> <code>{escaped(path)}</code></h3>',
        f'<p>{marked(operation["summary"])}. <span class="soft">Needs {needs}.</span></p>',
        parameters(operation),
        body(schemas, operation),
        answers(operation),
        "<h4>Example</h4>",
        code(curl(method, path, example), "Example with curl"),
        code(example.python, "Example in Python"),
        "</section>",
    ]
    return "\n".join(p for p in parts if p)


HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API reference · Tabella</title>
<link rel="icon" href="/console/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/console/style.css">
<link rel="stylesheet" href="/console/reference/style.css">
</head>
<body class="reference">
"""
ABOUT = """<h1>API reference</h1>
<p>Every call carries a key, <code>Authorization: Bearer sk_live_…</code>, and is answered with JSON. The
examples take address and key from the shell: <code>export TABELLA_URL=… TABELLA_API_KEY=…</code>. In Python
each begins with</p>
<pre tabindex="0" aria-label="How each example in Python begins">from tabella import Tabella

client = Tabella()</pre>
<p><code>$dataset</code>, <code>$job</code> and their like (<code>dataset</code> and <code>job</code> in Python)
stand for ids that earlier answers have named. A list has pages: <code>next_cursor</code> of one is
<code>cursor</code> of the next. With an <code>Idempotency-Key</code> a call that is sent again is done once.
An error is <code>{"error": {"type", "message", "param", "request_id"}}</code>. The same as a machine reads it:
<a href="#get-openapi"><code>GET /v2/openapi</code></a>.</p>
"""


def page(document):
    schemas = document["components"]["schemas"]
    groups = list(operations(document))
    nav, main = [], []
    for name, found in groups:
        nav.append(f"<h2>{name}</h2><ul>")
        main.append(f"<h2>{name}</h2>")
        for method, path, o in found:
            nav.append(f'<li><a href="#{anchor(o)}"><span>{method.upper()}</span> {escaped(path)}</a></li>')
            main.append(section(schemas, method, path, o))
        nav.append("</ul>")
    main.append("<h2>Schemas</h2>")
    for name in sorted(schemas):
        about = schemas[name].get("description")
        main.append(f'<section id="{name}"><h3>{name}</h3>')
        main.append(f"<p>{marked(about)}</p>" if about else "")
        main.append(table(schemas, schemas[name], f"Fields of {name}") + "</section>")
    return (
        HEAD
        + f'<nav class="side" aria-label="Routes"><a class="brand" href="/console/">Tabella</a>{"".join(nav)}'
        + '<h2><a href="#Error">Schemas</a></h2></nav>\n<main>\n'
        + ABOUT
        + "\n".join(m for m in main if m)
        + "\n</main>\n</body>\n</html>\n"
    )
