"""Every answer that a suite's Client got, held against the service's own OpenAPI document once the suite has
ended: its path and method are in the document, its status is one that the route answers with, and its JSON
is as the schema says. The document is asked for last, so that a suite meets the service as if nobody had.

Of long lists the first and last elements are looked at, and of one route and status so many answers: reading
all of 5,000 like ones takes longer than the suite."""
import re, threading

HEAD, TAIL, ALIKE, LARGEST, MOST = 20, 5, 60, 4 << 20, 128 << 20  # bytes: of one answer, of all that are kept

STANDARD = (
    "/scim/",
    "/platform/v1/signin/logout/",
)  # routes that a standard describes, and no document of ours

TYPES = {
    "object": lambda x: isinstance(x, dict),
    "array": lambda x: isinstance(x, list),
    "string": lambda x: isinstance(x, str),
    "integer": lambda x: isinstance(x, int)
    and not isinstance(x, bool)
    or isinstance(x, float)
    and x % 1 == 0,
    "number": lambda x: isinstance(x, (int, float)) and not isinstance(x, bool),
    "boolean": lambda x: isinstance(x, bool),
    "null": lambda x: x is None,
}
# what says nothing of an answer's shape
SILENT = {"description", "title", "format", "writeOnly", "readOnly", "examples", "default"}


class Document:
    def __init__(self, doc):
        self.schemas = doc["components"]["schemas"]
        self.paths = []
        for path, routes in doc["paths"].items():
            shape = re.compile(re.sub(r"\\\{[^/]*?\\\}", "[^/]+", re.escape(path)) + r"/?$")
            self.paths.append((path.count("{"), path, shape, routes))
        self.paths.sort(key=lambda x: x[0])  # what is written out goes before what is any id

    def route(self, method, path):
        path = path.split("?")[0]
        for _, name, shape, routes in self.paths:
            if shape.match(path) and method.lower() in routes:
                return name, routes[method.lower()]
        return None

    def misfit(self, route, status, type, value):
        """Why an answer is not one of the route's; "" where it is."""
        said = route["responses"].get(str(status), route["responses"].get("default"))
        if said is None:
            return f"the route does not say that it answers {status}"
        content = said.get("content", {}).get(type)
        return self.unlike(content["schema"], value, "answer") if content and "schema" in content else ""

    def unlike(self, schema, x, at):
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            why = self.unlike(self.schemas[name], x, at) or self.unnamed(name, x, at)
            if why:
                return why
        for word, of in schema.items():
            look = LOOKS.get(word)
            if look is None:
                assert word in SILENT or word in TOLD_BY_OTHERS, f"the document says {word}: not looked at"
                continue
            why = look(self, schema, of, x, at)
            if why:
                return why
        return ""

    def unnamed(self, name, x, at):
        """Of a schema that names every field an answer has no other."""
        if name not in NAME_ALL or not isinstance(x, dict):
            return ""
        more = [k for k in x if k not in self.schemas[name]["properties"]]
        return f"{at} has {more}, which {name} does not name" if more else ""


# lists and small answers, whose schemas name each field; a bundle's do not yet
NAME_ALL = set(
    """Connected DataPage SyncDiff Synced SyncJob RunJob ServeJob GenerateJob EndpointPage EndpointLogPage
    OpenapiDocument ReportPage JobPage Models Usage KeyPage WebhookPage Removed SignedOut Star SigninPage
    ProviderPage PersonPage SessionPage McpAnswer Result""".split()
)
TOLD_BY_OTHERS = {"$ref", "additionalProperties", "patternProperties"}


def of_type(doc, schema, of, x, at):
    if not any(TYPES[t](x) for t in ([of] if isinstance(of, str) else of)):
        return f"{at} is no {of}: {x!r:.80}"


def one_of_values(doc, schema, of, x, at):
    if x not in of:
        return f"{at} is {x!r:.60}, none of {of!r:.80}"


def const(doc, schema, of, x, at):
    if x != of:
        return f"{at} is {x!r:.60}, not {of!r}"


def required(doc, schema, of, x, at):
    missing = [k for k in of if isinstance(x, dict) and k not in x]
    if missing:
        return f"{at} has no {missing}"


def properties(doc, schema, of, x, at):
    if not isinstance(x, dict):
        return ""
    patterns, others = schema.get("patternProperties", {}), schema.get("additionalProperties", {})
    for name, value in x.items():
        fit = [of[name]] if name in of else []
        fit += [s for p, s in patterns.items() if re.search(p, name)]
        if not fit and others is False:
            return f"{at} has {name}, which the schema does not know"
        for s in fit or [others if isinstance(others, dict) else {}]:
            why = doc.unlike(s, value, f"{at}.{name}")
            if why:
                return why


def items(doc, schema, of, x, at):
    if isinstance(x, list):
        for i in list(range(len(x)))[:HEAD] + list(range(len(x)))[HEAD:][-TAIL:]:
            why = doc.unlike(of, x[i], f"{at}[{i}]")
            if why:
                return why


def all_of(doc, schema, of, x, at):
    return next((why for s in of if (why := doc.unlike(s, x, at))), "")


def any_of(doc, schema, of, x, at):
    whys = [doc.unlike(s, x, at) for s in of]
    if all(whys):
        return f"{at} is none of {len(of)} schemas: " + "; ".join(f"{w:.200}" for w in whys)


def one_of(doc, schema, of, x, at):
    whys = [doc.unlike(s, x, at) for s in of]
    if sum(not why for why in whys) != 1:
        return f"{at} is {sum(not why for why in whys)} of {len(of)} schemas: {max(whys, key=len):.300}"


def bound(kind, measure, fits):
    def look(doc, schema, of, x, at):
        if isinstance(x, kind) and not isinstance(x, bool) and not fits(measure(x), of):
            return f"{at} is {x!r:.60}, beyond {of}"

    return look


def pattern(doc, schema, of, x, at):
    if isinstance(x, str) and not re.search(of, x):
        return f"{at} is {x!r:.60}, which {of} does not match"


def least(a, b):
    return a >= b


def most(a, b):
    return a <= b


LOOKS = {
    "type": of_type,
    "enum": one_of_values,
    "const": const,
    "required": required,
    "properties": properties,
    "items": items,
    "allOf": all_of,
    "anyOf": any_of,
    "oneOf": one_of,
    "pattern": pattern,
    "minimum": bound((int, float), lambda x: x, least),
    "maximum": bound((int, float), lambda x: x, most),
    "minLength": bound(str, len, least),
    "maxLength": bound(str, len, most),
    "minItems": bound(list, len, least),
    "maxItems": bound(list, len, most),
    "uniqueItems": lambda doc, schema, of, x, at: "",
    "minProperties": bound(dict, len, least),
    "maxProperties": bound(dict, len, most),
}


def described(client):
    """The document, or None where this client gets none."""
    try:
        a = client("GET", "/v2/openapi", timeout=20)
    except OSError:
        return None
    return Document(a.json) if a.status == 200 and a.json else None


class Kept:
    """What a suite was answered, by route and status as far as a path tells it, until a document is there."""

    def __init__(self):
        self.lock, self.answers, self.number, self.askers = threading.Lock(), {}, {}, {}
        self.wrong, self.checked, self.bytes = {}, 0, 0

    def keep(self, client, method, path, answer):
        type = answer.headers.get("content-type", "").split(";")[0]
        if method == "HEAD" or type != "application/json" or len(answer.body) > LARGEST:
            return
        words = [w for w in path.split("?")[0].split("/") if not re.search(r"\d|[A-Z]", w[1:])]
        key = (client.port, method, "/".join(words), answer.status)
        with self.lock:
            n = self.number[key] = self.number.get(key, 0) + 1
            kept = self.answers.setdefault(key, {})
            few = n <= ALIKE or n & (n - 1) == 0  # the first ones, then ever fewer
            if few and self.bytes + len(answer.body) <= MOST:
                self.bytes += len(answer.body)
                kept[n] = (path, answer)
            if answer.status == 200 and client.key and client.source == "127.0.0.1":
                self.askers.setdefault(client.port, {})[client.key] = client

    def check(self, port):
        """Of a gateway that still answers somebody; else nothing is held against anything."""
        asked = (described(c) for c in list(self.askers.get(port, {}).values())[-10:])
        doc = next((d for d in asked if d is not None), None)
        for key in [k for k in self.answers if k[0] == port]:
            for path, answer in self.answers.pop(key).values():
                if doc is not None:
                    self.look(doc, key[1], path, answer)

    def look(self, doc, method, path, answer):
        found = doc.route(method, path)
        if found is None:
            if answer.status < 400 and not path.startswith(STANDARD):
                self.wrong.setdefault((method, path, answer.status), "the document has no such route")
            return
        self.checked += 1
        why = doc.misfit(found[1], answer.status, "application/json", answer.json)
        if why:
            self.wrong.setdefault((method, found[0], answer.status), why)


def misfit(schema, x):
    """Why a value is not as a schema without references says; "" where it is."""
    return Document({"components": {"schemas": {}}, "paths": {}}).unlike(schema, x, "answer")


def proves_itself():
    """What must be found is found, so that silence means something."""
    page = {"type": "array", "items": {"$ref": "#/components/schemas/T"}, "maxItems": 2}
    doc = Document(
        {
            "components": {
                "schemas": {
                    "T": {
                        "type": "object",
                        "required": ["id"],
                        "properties": {"id": {"type": ["string", "null"]}, "n": {"enum": [1, 2]}},
                        "additionalProperties": False,
                    },
                    "Star": {"properties": {"id": {}}},
                }
            },
            "paths": {
                "/a/{id}": {
                    "get": {"responses": {"200": {"content": {"application/json": {"schema": page}}}}}
                },
                "/a/b": {"get": {"responses": {}}},
            },
        }
    )
    assert doc.route("GET", "/a/x?y=1")[0] == "/a/{id}" and doc.route("GET", "/a/b")[0] == "/a/b"
    assert doc.route("GET", "/a/x/y") is None and doc.route("PUT", "/a/x") is None
    route = doc.route("GET", "/a/x")[1]
    assert not doc.misfit(route, 200, "application/json", [{"id": None}, {"id": "x", "n": 2}])
    assert doc.misfit(route, 404, "application/json", {})
    assert doc.unlike({"$ref": "#/Star"}, {"id": 1, "z": 1}, "") and not doc.unlike(
        {"$ref": "#/Star"}, {"id": 1}, ""
    )
    for bad in ({}, [{}], [{"id": 1}], [{"id": "x", "n": 3}], [{"id": "x", "z": 1}], [{"id": "x"}] * 3):
        assert doc.misfit(route, 200, "application/json", bad), bad


proves_itself()
