"""Servers of published protocols whose own programs cannot be had: Snowflake's SQL API, BigQuery's and
Drive's REST, Databricks' statements, PostgREST, Qdrant. Each follows the published documentation strictly:
a request with another method, path, parameter, header or member than there is gets an error of the
protocol's own form, and so does a wrong token or signature. What a server does wrong on purpose, its `mode`
says."""
import base64, gzip, hashlib, http.server, json, pathlib, re, ssl, subprocess, tempfile, threading, time
import urllib.parse

WORDS = "secret of the server"  # in every error's message: none may be passed on


class Refusal(Exception):
    def __init__(self, status, body, headers=None):
        self.status, self.body, self.headers = status, body, headers or {}


class Request:
    def __init__(self, h, body):
        self.method, self.headers, self.body = h.command, h.headers, body
        path, _, query = h.path.partition("?")
        self.path = urllib.parse.unquote(path)
        self.parts = [urllib.parse.unquote(p) for p in path.split("/")[1:]]
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
        self.query = dict(pairs)
        self.twice = len(pairs) != len(self.query)

    @property
    def json(self):
        return json.loads(self.body)

    def bearer(self):
        kind, _, token = (self.headers.get("Authorization") or "").partition(" ")
        return token if kind == "Bearer" else ""


class Server:
    """Answers by `answer(request)`: (status, headers, body), a body that is no bytes as JSON. busy: so many
    requests are told to come again."""

    def __init__(self, authority=None):
        self.mode, self.busy, self.told_busy, self.heard = "", 0, 0, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self):
                request = Request(self, self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                outer.heard.append(request)
                try:
                    if outer.busy > 0:
                        outer.busy -= 1
                        outer.told_busy += 1
                        raise Refusal(429, {"message": WORDS}, {"Retry-After": "1"})
                    if outer.mode == "html":
                        raise Refusal(200, b"<html>" + WORDS.encode())
                    if request.twice:
                        raise Refusal(400, {"message": f"a parameter twice; {WORDS}"})
                    status, headers, body = outer.answer(request)
                except Refusal as no:
                    status, headers, body = no.status, no.headers, no.body
                except Exception as problem:  # a request that the protocol does not have
                    status, headers, body = 400, {}, {"message": f"{WORDS}: {problem!r}"}
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass

            do_GET = do_POST = do_PUT = do_DELETE = serve

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *args: None
        if authority:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(authority.cert, authority.key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Key:
    """An RSA key pair; tokens are checked by openssl with the public key."""

    def __init__(self, folder, bits=2048):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        make = lambda *a: subprocess.run(["openssl", *map(str, a)], check=True, capture_output=True).stdout
        private = self.folder / "key.pem"
        make("genpkey", "-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{bits}", "-out", private)
        self.public = self.folder / "public.pem"
        make("pkey", "-in", private, "-pubout", "-out", self.public)
        self.pem = private.read_text()
        der = make("pkey", "-in", private, "-pubout", "-outform", "DER")
        self.fingerprint = "SHA256:" + base64.b64encode(hashlib.sha256(der).digest()).decode()
        self.canary = self.pem.splitlines()[3]  # a line of the key, which no output may hold

    def claims(self, token):
        """A token's header and claims; None where the signature is not this key's."""
        unpad = lambda s: base64.urlsafe_b64decode(s + "=" * (-len(s) % 4))
        try:
            head, claims, signature = token.split(".")
            with tempfile.NamedTemporaryFile(dir=self.folder) as f:
                f.write(unpad(signature))
                f.flush()
                done = subprocess.run(
                    ["openssl", "dgst", "-sha256", "-verify", self.public, "-signature", f.name],
                    input=f"{head}.{claims}".encode(),
                    capture_output=True,
                )
            return (json.loads(unpad(head)), json.loads(unpad(claims))) if done.returncode == 0 else None
        except ValueError:
            return None


def timely(claims):
    """Issued now, for an hour at most."""
    now = time.time()
    return abs(claims["iat"] - now) < 600 and 0 < claims["exp"] - claims["iat"] <= 3600


def only(given, *known):
    unknown = set(given) - set(known)
    if unknown:
        raise Refusal(400, {"message": f"unknown: {sorted(unknown)}; {WORDS}"})


class Rows:
    """A table: (name, type) of columns and rows of texts or None, as a server's protocol spells them."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows

    def chunks(self, size):
        return [self.rows[i : i + size] for i in range(0, len(self.rows), size)] or [[]]


# ---- Snowflake -----------------------------------------------------------------------------------------


class Snowflake(Server):
    """developer-guide/sql-api: submitting requests, handling responses. `tables` by (database, schema,
    table), `queries` by their text; polls: how often a statement is still under way."""

    account, user, token = "xy12345", "reader", "hunter2-programmatic"

    def __init__(self, authority, key):
        super().__init__(authority)
        self.key, self.tables, self.queries, self.polls, self.size = key, {}, {}, 0, 40
        self.statements, self.cancelled = {}, []

    def login(self, q):
        no = Refusal(401, {"code": "390144", "message": f"JWT token is invalid. {WORDS}"})
        if q.headers.get("X-Snowflake-Authorization-Token-Type") != "KEYPAIR_JWT":
            if q.bearer() != self.token:
                raise no
            return
        found = self.key.claims(q.bearer())
        who = f"{self.account}.{self.user}".upper()
        if (
            found is None
            or found[0] != {"alg": "RS256", "typ": "JWT"}
            or set(found[1]) != {"iss", "sub", "iat", "exp"}
            or found[1]["sub"] != who
            or found[1]["iss"] != f"{who}.{self.key.fingerprint}"
            or not timely(found[1])
        ):
            raise no

    def table_of(self, body):
        no = {"code": "002003", "sqlState": "42S02", "message": f"does not exist. {WORDS}"}
        if body["parameters"] != {"MULTI_STATEMENT_COUNT": "1"}:
            raise Refusal(422, {"code": "000006", "sqlState": "0A000", "message": WORDS})
        sql = body["statement"]
        inner = re.fullmatch(r"SELECT \* FROM \(\n(.*)\n\)", sql, re.S)
        if inner:
            if inner[1] not in self.queries:
                raise Refusal(422, {"code": "001003", "sqlState": "42000", "message": WORDS})
            return self.queries[inner[1]]
        name = '"((?:[^"]|"")*)"'
        plain = re.fullmatch(rf"SELECT \* FROM {name}\.{name}\.{name}(?: ORDER BY {name})?", sql)
        named = plain and tuple(p.replace('""', '"') for p in plain.groups()[:3])
        if not plain or named not in self.tables:
            raise Refusal(422, no)
        t = self.tables[named]
        if plain[4]:
            at = [c for c, _ in t.columns].index(plain[4])
            return Rows(t.columns, sorted(t.rows, key=lambda r: int(r[at])))
        return t

    def result(self, handle):
        s = self.statements[handle]
        if s["polls"] > 0 or self.mode == "never":
            s["polls"] -= 1
            told = {"code": "333334", "message": "in progress", "statementHandle": handle}
            return 202, {}, {**told, "statementStatusUrl": f"/api/v2/statements/{handle}"}
        t, parts = s["table"], s["table"].chunks(self.size)
        kinds = [{"name": n, "type": k, "nullable": True, "scale": 0} for n, k in t.columns]
        meta = {
            "numRows": len(t.rows) + (self.mode == "lies"),
            "format": "jsonv2",
            "rowType": kinds,
            "partitionInfo": [{"rowCount": len(p), "uncompressedSize": 1} for p in parts],
        }
        data = [r[:-1] for r in parts[0]] if self.mode == "width" else parts[0]
        told = {"code": "090001", "statementHandle": handle, "sqlState": "00000", "message": "done"}
        return 200, {}, {"resultSetMetaData": meta, "data": data, **told}

    def answer(self, q):
        if q.parts[:3] != ["api", "v2", "statements"]:
            raise Refusal(404, {"message": WORDS})
        if not q.headers.get("User-Agent") or q.headers.get("Accept") != "application/json":
            raise Refusal(400, {"code": "391903", "message": WORDS})
        self.login(q)
        if q.method == "POST" and len(q.parts) == 3:
            only(q.query, "requestId", "async", "nullable")
            if q.headers.get("Content-Type") != "application/json":
                raise Refusal(415, {"message": WORDS})
            body = q.json
            known = "statement timeout database schema warehouse role bindings parameters".split()
            only(body, *known)
            if not isinstance(body["timeout"], int) or body.get("warehouse", "WH") != "WH":
                raise Refusal(422, {"code": "000606", "sqlState": "57P03", "message": WORDS})
            handle = f"01b2c3d4-0000-{len(self.statements):04x}"
            self.statements[handle] = {"table": self.table_of(body), "polls": self.polls}
            return self.result(handle)
        if q.method == "POST" and len(q.parts) == 5 and q.parts[4] == "cancel":
            self.cancelled.append(q.parts[3])
            return 200, {}, {"code": "000604", "message": "cancelled"}
        if q.method != "GET" or len(q.parts) != 4 or q.parts[3] not in self.statements:
            raise Refusal(404 if q.method == "GET" else 405, {"message": WORDS})
        only(q.query, "partition", "requestId")
        if "partition" not in q.query:
            return self.result(q.parts[3])
        part = self.statements[q.parts[3]]["table"].chunks(self.size)[int(q.query["partition"])]
        if "gzip" not in q.headers.get("Accept-Encoding", ""):
            raise Refusal(406, {"message": WORDS})
        if self.mode == "bomb":
            return 200, {"Content-Encoding": "gzip"}, gzip.compress(b'{"data": [' + b" " * (80 << 20), 1)
        return 200, {"Content-Encoding": "gzip"}, gzip.compress(json.dumps({"data": part}).encode())


# ---- Google ----------------------------------------------------------------------------------------------


class Google(Server):
    """identity/protocols/oauth2/service-account: an assertion gets a token for its scope."""

    token, mail = "hunter2-ya29.token", "reader@shop.iam.gserviceaccount.com"

    def __init__(self, authority, key):
        super().__init__(authority)
        self.key, self.scope = key, ""

    def account(self, **other):
        """The JSON of the account's key, as Google gives it."""
        return json.dumps(
            {
                "type": "service_account",
                "project_id": "shop",
                "private_key_id": "k1",
                "private_key": self.key.pem,
                "client_email": self.mail,
                "token_uri": f"https://127.0.0.1:{self.port}/token",
            }
            | other
        )

    def give_token(self, q):
        no = Refusal(400, {"error": "invalid_grant", "error_description": f"Invalid JWT. {WORDS}"})
        form = dict(urllib.parse.parse_qsl(q.body.decode(), strict_parsing=True))
        found = self.key.claims(form.get("assertion", ""))
        if (
            q.method != "POST"
            or q.headers.get("Content-Type") != "application/x-www-form-urlencoded"
            or set(form) != {"grant_type", "assertion"}
            or form["grant_type"] != "urn:ietf:params:oauth:grant-type:jwt-bearer"
            or found is None
            or found[0] != {"alg": "RS256", "typ": "JWT", "kid": "k1"}
            or set(found[1]) != {"iss", "scope", "aud", "iat", "exp"}
            or found[1]["iss"] != self.mail
            or found[1]["aud"] != f"https://127.0.0.1:{self.port}/token"
            or not timely(found[1])
        ):
            raise no
        if found[1]["scope"] not in self.scopes:
            raise Refusal(400, {"error": "invalid_scope", "error_description": WORDS})
        return 200, {}, {"access_token": self.token, "expires_in": 3599, "token_type": "Bearer"}

    @staticmethod
    def error(status, reason):
        said = {"code": status, "message": WORDS, "errors": [{"reason": reason, "message": WORDS}]}
        return Refusal(status, {"error": said})

    def answer(self, q):
        if q.path == "/token":
            return self.give_token(q)
        if q.bearer() != self.token:
            raise self.error(401, "authError")
        return self.api(q)


class BigQuery(Google):
    """bigquery/docs/reference/rest/v2: tables.get, tabledata.list, jobs.insert (dryRun), jobs.query,
    jobs.getQueryResults. `tables` by (dataset, table): (type, schema, rows as `f`/`v`)."""

    scopes = ["https://www.googleapis.com/auth/bigquery"]
    project = "shop-1"

    def __init__(self, authority, key):
        super().__init__(authority, key)
        self.tables, self.queries, self.size, self.polls, self.jobs = {}, {}, 50, 0, {}

    def page(self, q, schema, rows, given, first_schema):
        if given.get("useInt64Timestamp") not in (True, "true"):
            raise self.error(400, "invalid")
        at = int(q.query["pageToken"][1:]) if "pageToken" in q.query else 0
        some = rows[at : at + self.size]
        total = len(rows) + (1 if self.mode == "lies" else at if self.mode == "moves" else 0)
        out = {"totalRows": str(total)}
        if some:
            out["rows"] = [{"f": r["f"][:-1]} if self.mode == "width" else r for r in some]
        if at + self.size < len(rows):
            out["pageToken"] = f"t{at + self.size}"
        return out | ({"schema": {"fields": schema}} if first_schema else {})

    def api(self, q):
        if q.parts[:3] != ["bigquery", "v2", "projects"] or q.parts[3] != self.project:
            raise self.error(403, "accessDenied")
        rest, dotted = q.parts[4:], {k.split(".")[-1]: v for k, v in q.query.items()}
        if self.mode == "quota":
            self.mode = ""
            raise self.error(403, "rateLimitExceeded")
        if q.method == "GET" and rest[:1] == ["datasets"] and rest[2] == "tables":
            found = self.tables.get((rest[1], rest[3]))
            if not found:
                raise self.error(404, "notFound")
            kind, schema, rows = found
            if len(rest) == 4:
                only(q.query, "selectedFields", "view")
                return 200, {}, {"type": kind, "schema": {"fields": schema}, "numRows": str(len(rows))}
            if kind != "TABLE":
                raise self.error(400, "invalid")
            only(q.query, "maxResults", "pageToken", "startIndex", "formatOptions.useInt64Timestamp")
            return 200, {}, self.page(q, schema, rows, dotted, False)
        if q.method == "POST" and rest == ["jobs"]:
            asked = q.json["configuration"]
            only(asked, "dryRun", "query")
            self.query_of(asked["query"])
            if asked["dryRun"] is not True:
                raise self.error(400, "invalid")
            return 200, {}, {"statistics": {"query": {"statementType": self.kind(asked["query"]["query"])}}}
        if q.method == "POST" and rest == ["queries"]:
            body = q.json
            known = "query useLegacySql defaultDataset maxResults timeoutMs formatOptions location".split()
            only(body, *known)
            found = self.query_of(body)
            job = f"job_{len(self.jobs)}"
            self.jobs[job] = {"found": found, "polls": self.polls}
            return 200, {}, self.result(q, job, body["formatOptions"])
        if q.method == "GET" and rest[:1] == ["queries"]:
            only(
                q.query,
                "maxResults",
                "pageToken",
                "startIndex",
                "timeoutMs",
                "location",
                "formatOptions.useInt64Timestamp",
            )
            if q.query.get("location") != "EU":  # a job is found where it ran
                raise self.error(404, "notFound")
            return 200, {}, self.result(q, rest[1], dotted)
        raise self.error(404, "notFound")

    def kind(self, sql):
        return "SELECT" if sql in self.queries and sql.startswith("SELECT") else "SCRIPT"

    def query_of(self, asked):
        if asked["useLegacySql"] is not False or asked["defaultDataset"]["projectId"] != self.project:
            raise self.error(400, "invalid")
        if asked["query"] not in self.queries:
            raise self.error(400, "invalidQuery")
        return self.queries[asked["query"]]

    def result(self, q, job, given):
        j = self.jobs[job]
        said = {"jobReference": {"projectId": self.project, "jobId": job, "location": "EU"}}
        if j["polls"] > 0:
            j["polls"] -= 1
            return said | {"jobComplete": False}
        return said | {"jobComplete": True} | self.page(q, *j["found"], given, True)


class Drive(Google):
    """drive/api/reference/rest/v3: files.get, files.list, files.export. `files` by id: (name, type, content,
    parent)."""

    scopes = ["https://www.googleapis.com/auth/drive.readonly"]
    folder = "application/vnd.google-apps.folder"
    sheets = "application/vnd.google-apps.spreadsheet"
    xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

    def __init__(self, authority, key):
        super().__init__(authority, key)
        self.files, self.size = {}, 2

    def api(self, q):
        if q.method != "GET" or q.parts[:3] != ["drive", "v3", "files"]:
            raise self.error(404, "notFound")
        told = lambda i: {"id": i, "name": self.files[i][0], "mimeType": self.files[i][1]}
        if len(q.parts) == 3:
            only(
                q.query,
                "q",
                "fields",
                "pageSize",
                "pageToken",
                "supportsAllDrives",
                "includeItemsFromAllDrives",
            )
            asked = re.fullmatch(r"'([\w-]+)' in parents and trashed = false", q.query["q"])
            if (
                not asked
                or not 1 <= int(q.query["pageSize"]) <= 1000
                or "nextPageToken" not in q.query["fields"]
            ):
                raise self.error(400, "invalid")
            inside = [i for i, f in self.files.items() if f[3] == asked[1]]
            at = int(q.query.get("pageToken", "0"))
            more = {"nextPageToken": str(at + self.size)} if at + self.size < len(inside) else {}
            return 200, {}, {"files": [told(i) for i in inside[at : at + self.size]]} | more
        id = q.parts[3]
        if id not in self.files:
            raise self.error(404, "notFound")
        name, kind, content, _ = self.files[id]
        if q.parts[4:] == ["export"]:
            only(q.query, "mimeType")
            if kind != self.sheets or q.query["mimeType"] != self.xlsx:
                raise self.error(400, "badRequest")
            if len(content) > 10_000_000:
                raise self.error(403, "exportSizeLimitExceeded")
            return 200, {"Content-Type": self.xlsx}, content
        only(q.query, "alt", "fields", "supportsAllDrives")
        if "alt" not in q.query:
            return 200, {}, told(id)
        if kind.startswith("application/vnd.google-apps."):
            raise self.error(403, "fileNotDownloadable")
        return 200, {"Content-Type": kind}, content


# ---- Databricks --------------------------------------------------------------------------------------------


class Databricks(Server):
    """api/workspace/statementexecution: rows lie behind links to another server, which takes no Authorization
    and wants the header that comes beside the link."""

    token, warehouse, store_key = "hunter2-dapi", "abcdef0123456789", "hunter2-store"

    def __init__(self, authority):
        super().__init__(authority)
        self.tables, self.queries, self.size, self.polls = {}, {}, 40, 0
        self.statements, self.cancelled, self.store = {}, [], Server(authority)
        self.store.answer = self.stored
        self.host = "localhost"  # of the links

    def stored(self, q):
        if q.headers.get("Authorization") or q.headers.get("X-Store-Key") != self.store_key:
            raise Refusal(403, b"<Error>" + WORDS.encode())
        s = self.statements[q.parts[1]]["table"].chunks(self.size)[int(q.query["chunk"])]
        return 200, {}, [r[:-1] for r in s] if self.mode == "width" else s

    def link(self, id, i, parts):
        n = sum(len(p) for p in parts[:i])
        more = {}
        if i + 1 < len(parts):
            more["next_chunk_index"] = i + 1
            more["next_chunk_internal_link"] = f"/api/2.0/sql/statements/{id}/result/chunks/{i + 1}"
        host = "169.254.169.254" if self.mode == "inside" else f"{self.host}:{self.store.port}"
        url = f"https://{host}/rows/{id}?chunk={i}"
        if self.mode == "plain":
            url = url.replace("https", "http")
        return {
            "external_links": [
                {
                    "chunk_index": i,
                    "row_offset": n,
                    "row_count": len(parts[i]),
                    "external_link": url,
                    "expiration": "2999-01-01T00:00:00.000Z",
                    "http_headers": {"X-Store-Key": self.store_key},
                }
                | more
            ]
        }

    def result(self, id):
        s = self.statements[id]
        out = {"statement_id": id}
        if s["polls"] > 0 or self.mode == "never":
            s["polls"] -= 1
            return 200, {}, out | {"status": {"state": "RUNNING" if s["polls"] % 2 else "PENDING"}}
        if s["table"] is None:
            error = {"error_code": "BAD_REQUEST", "message": f"[TABLE_OR_VIEW_NOT_FOUND] {WORDS}"}
            return 200, {}, out | {"status": {"state": "FAILED", "error": error, "sql_state": "42P01"}}
        t, parts = s["table"], s["table"].chunks(self.size)
        parts = parts if t.rows else []
        columns = [
            {"name": n, "type_name": k, "type_text": k, "position": i} for i, (n, k) in enumerate(t.columns)
        ]
        manifest = {
            "format": "JSON_ARRAY",
            "schema": {"column_count": len(columns), "columns": columns},
            "total_chunk_count": len(parts),
            "total_row_count": len(t.rows) + (self.mode == "lies"),
            "truncated": self.mode == "truncated",
        }
        first = self.link(id, 0, parts) if parts else {}
        return 200, {}, out | {"status": {"state": "SUCCEEDED"}, "manifest": manifest, "result": first}

    def table_of(self, sql):
        inner = re.fullmatch(r"SELECT \* FROM \(\n(.*)\n\)", sql, re.S)
        if inner:
            return self.queries.get(inner[1])
        name = "`((?:[^`]|``)*)`"
        plain = re.fullmatch(rf"SELECT \* FROM {name}\.{name}\.{name}(?: ORDER BY {name})?", sql)
        return self.tables.get(plain.groups()[:3]) if plain else None

    def answer(self, q):
        if q.bearer() != self.token:
            raise Refusal(403, {"error_code": "403", "message": f"Invalid access token. {WORDS}"})
        if q.parts[:4] != ["api", "2.0", "sql", "statements"]:
            raise Refusal(404, {"error_code": "ENDPOINT_NOT_FOUND", "message": WORDS})
        if q.method == "POST" and len(q.parts) == 4:
            body = q.json
            known = "statement warehouse_id catalog schema wait_timeout on_wait_timeout disposition format"
            only(body, *known.split())
            if (
                body["warehouse_id"] != self.warehouse
                or body["disposition"] != "EXTERNAL_LINKS"
                or body["format"] != "JSON_ARRAY"
                or body["on_wait_timeout"] not in ("CONTINUE", "CANCEL")
                or not re.fullmatch(r"([5-9]|[1-4]\d|50)s", body["wait_timeout"])
            ):
                raise Refusal(400, {"error_code": "INVALID_PARAMETER_VALUE", "message": WORDS})
            id = f"01eed0da-{len(self.statements):04x}"
            self.statements[id] = {"table": self.table_of(body["statement"]), "polls": self.polls}
            return self.result(id)
        if len(q.parts) < 5 or q.parts[4] not in self.statements:
            raise Refusal(404, {"error_code": "NOT_FOUND", "message": WORDS})
        if q.method == "POST" and q.parts[5:] == ["cancel"]:
            self.cancelled.append(q.parts[4])
            return 200, {}, {}
        if q.method == "GET" and len(q.parts) == 5:
            return self.result(q.parts[4])
        if q.method == "GET" and q.parts[5:7] == ["result", "chunks"]:
            parts = self.statements[q.parts[4]]["table"].chunks(self.size)
            return 200, {}, self.link(q.parts[4], int(q.parts[7]), parts)
        raise Refusal(405, {"error_code": "METHOD", "message": WORDS})

    def stop(self):
        self.store.stop()
        super().stop()


# ---- Supabase's REST -------------------------------------------------------------------------------------


class PostgREST(Server):
    """docs.postgrest.org: tables and views, pagination and count, OpenAPI. `tables` by (schema, table): rows;
    keys: the primary key of each, which the description marks."""

    service_key = "hunter2.eyJ.service"

    def __init__(self, authority):
        super().__init__(authority)
        self.tables, self.keys, self.most, self.closed = {}, {}, 40, False

    def answer(self, q):
        if q.headers.get("apikey") != self.service_key or q.bearer() != self.service_key:
            raise Refusal(401, {"message": f"Invalid API key {WORDS}"})
        schema = q.headers.get("Accept-Profile", "public")
        if schema not in {s for s, _ in self.tables}:
            raise Refusal(406, {"code": "PGRST106", "message": WORDS})
        if q.method != "GET" or q.parts[:2] != ["rest", "v1"]:
            raise Refusal(404, {"message": WORDS})
        if q.parts[2:] == [""]:
            return self.describe(q, schema)
        rows = self.tables.get((schema, q.parts[2]))
        if rows is None:
            raise Refusal(404, {"code": "PGRST205", "message": WORDS})
        return self.rows(q, rows() if callable(rows) else rows)

    def describe(self, q, schema):
        if self.closed:
            raise Refusal(403, {"message": WORDS})
        if q.headers.get("Accept") != "application/openapi+json":
            raise Refusal(406, {"message": WORDS})
        said = lambda name, c: (
            {"description": "Note:\nThis is a Primary Key.<pk/>"} if c in self.keys.get(name, ()) else {}
        )
        tables = {
            t: {"properties": {c: {"type": "string"} | said(t, c) for c in (rows[0] if rows else {})}}
            for (s, t), rows in self.tables.items()
            if s == schema and not callable(rows)
        }
        return 200, {}, {"swagger": "2.0", "definitions": tables}

    def rows(self, q, rows):
        q.query.pop("select", None)
        order = q.query.pop("order", "")
        for name, value in q.query.items():
            op, _, want = value.partition(".")
            if op != "eq" or (rows and name not in rows[0]):
                raise Refusal(400, {"code": "PGRST100", "message": WORDS})
            rows = [r for r in rows if str(r[name]) == want]
        for by in reversed(re.findall(r'"([^"]+)"\.asc', order)):
            if rows and by not in rows[0]:
                raise Refusal(400, {"code": "42703", "message": WORDS})
            rows = sorted(rows, key=lambda r: r[by])
        if q.headers.get("Prefer") != "count=exact" or q.headers.get("Range-Unit") != "items":
            raise Refusal(400, {"message": WORDS})
        first, last = map(int, q.headers["Range"].split("-"))
        total = len(rows) + (first if self.mode == "moves" else 0)
        if first > 0 and first >= len(rows):
            raise Refusal(416, {"code": "PGRST103", "message": WORDS}, {"Content-Range": f"*/{total}"})
        some = rows[first : min(last + 1, first + self.most)]
        at = f"{first}-{first + len(some) - 1}/{total}" if some else f"*/{total}"
        whole = len(some) == total
        body = json.dumps(some).encode()
        return 200 if whole else 206, {"Content-Range": at}, body[:-5] if self.mode == "cut" else body


# ---- Qdrant ----------------------------------------------------------------------------------------------


class Qdrant(Server):
    """api.qdrant.tech: collection details, points/scroll. `collections` by name: (vectors, points), the
    points by their id."""

    api_key = "hunter2-qdrant"

    def __init__(self, authority=None, api_key=api_key):
        super().__init__(authority)
        self.collections, self.wanted = {}, api_key

    def answer(self, q):
        error = lambda status, why: Refusal(status, {"status": {"error": f"{why} {WORDS}"}, "time": 0})
        if self.wanted and q.headers.get("api-key") != self.wanted:
            raise error(401, "Must provide an API key")
        if q.parts[:1] != ["collections"] or q.parts[1] not in self.collections:
            raise error(404, "Not found")
        vectors, points = self.collections[q.parts[1]]
        done = lambda result: (200, {}, {"result": result, "status": "ok", "time": 0.001})
        if q.method == "GET" and len(q.parts) == 2:
            return done({"status": "green", "config": {"params": {"vectors": vectors}}})
        if q.method != "POST" or q.parts[2:] != ["points", "scroll"]:
            raise error(404, "Not found")
        body = q.json
        only(body, "offset", "limit", "filter", "with_payload", "with_vector", "shard_key", "order_by")
        if body["limit"] < 1 or body["with_vector"] is not False:
            raise error(400, "Bad request")
        if "filter" in body:
            must = body["filter"]["must"][0]
            points = [p for p in points if p["payload"].get(must["key"]) == must["match"]["value"]]
        order = lambda i: (isinstance(i, str), i)
        points = sorted(points, key=lambda p: order(p["id"]))
        if "offset" in body:
            points = [p for p in points if order(p["id"]) >= order(body["offset"])]
        page, rest = points[: body["limit"]], points[body["limit"] :]
        next_ = page[0]["id"] if self.mode == "same" else rest[0]["id"] if rest else None
        return done({"points": page, "next_page_offset": next_})
