"""MongoDB's protocol in Python: BSON, messages, a client, FerretDB as a real server (it stores in SQLite),
and a server of the published protocol for what FerretDB lacks: replica sets, hostile answers."""
import base64, hashlib, hmac, os, pathlib, secrets, shutil, socket, ssl, struct, subprocess, threading

from source_servers import QUIET, free_port, waited

# ---- BSON ------------------------------------------------------------------------------------------------


class Raw:
    """A value by its type and bytes."""

    def __init__(self, type, value):
        self.type, self.value = type, value


oid = lambda hex: Raw(0x07, bytes.fromhex(hex))
date = lambda ms: Raw(0x09, struct.pack("<q", ms))
stamp = lambda seconds, n: Raw(0x11, struct.pack("<II", n, seconds))
decimal = lambda high, low: Raw(0x13, struct.pack("<QQ", low, high))
binary = lambda kind, b: Raw(0x05, struct.pack("<iB", len(b), kind) + b)
pattern = lambda p, o="": Raw(0x0B, p.encode() + b"\0" + o.encode() + b"\0")
NOTHING, LEAST = Raw(0x06, b""), Raw(0xFF, b"")


def element(name, x):
    head = lambda type: bytes([type]) + name.encode() + b"\0"
    if isinstance(x, Raw):
        return head(x.type) + x.value
    if isinstance(x, bool):
        return head(0x08) + bytes([x])
    if isinstance(x, float):
        return head(0x01) + struct.pack("<d", x)
    if isinstance(x, int):
        small = -(2**31) <= x < 2**31
        return head(0x10 if small else 0x12) + struct.pack("<i" if small else "<q", x)
    if isinstance(x, str):
        b = x.encode()
        return head(0x02) + struct.pack("<i", len(b) + 1) + b + b"\0"
    if isinstance(x, bytes):
        return head(0x05) + struct.pack("<iB", len(x), 0) + x
    if isinstance(x, dict):
        return head(0x03) + bson(x)
    if isinstance(x, list):
        return head(0x04) + bson({str(i): v for i, v in enumerate(x)})
    return head(0x0A)


def bson(d):
    body = b"".join(element(k, v) for k, v in d.items())
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def unbson(b, at=0):
    """A document; ids as Raw, other rare types as their bytes."""
    end, out = at + struct.unpack_from("<i", b, at)[0] - 1, {}
    at += 4
    while at < end:
        kind, stop = b[at], b.index(b"\0", at + 1)
        name, at = b[at + 1 : stop].decode(), stop + 1
        n = struct.unpack_from("<i", b, at)[0] if at + 4 <= len(b) else 0
        fixed = {0x01: "<d", 0x10: "<i", 0x12: "<q", 0x09: "<q", 0x11: "<q"}
        if kind in fixed:
            out[name] = struct.unpack_from(fixed[kind], b, at)[0]
            at += struct.calcsize(fixed[kind])
        elif kind == 0x02:
            out[name], at = b[at + 4 : at + 3 + n].decode(), at + 4 + n
        elif kind in (0x03, 0x04):
            d = unbson(b, at)
            out[name], at = (d if kind == 3 else list(d.values())), at + n
        elif kind == 0x05:
            out[name], at = b[at + 5 : at + 5 + n], at + 5 + n
        elif kind == 0x08:
            out[name], at = bool(b[at]), at + 1
        elif kind == 0x07:
            out[name], at = Raw(7, b[at : at + 12]), at + 12
        elif kind == 0x0A:
            out[name] = None
        else:
            raise ValueError(f"type {kind}")
    return out


# ---- messages ------------------------------------------------------------------------------------------


def receive(c, n):
    out = b""
    while len(out) < n:
        out += c.recv(n - len(out)) or (_ for _ in ()).throw(OSError("closed"))
    return out


def get_message(c):
    """A message's request number and document."""
    length, request, _, code = struct.unpack("<iiii", receive(c, 16))
    body = receive(c, length - 16)
    if code != 2013 or body[:5] != b"\0\0\0\0\0":
        raise ValueError("no OP_MSG of one document")
    return request, unbson(body, 5)


def message(d, number, to=0, code=2013):
    body = b"\0\0\0\0\0" + (d if isinstance(d, bytes) else bson(d))
    return struct.pack("<iiii", 16 + len(body), number, to, code) + body


def h(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()


class Client:
    def __init__(self, port, authority, user, password):
        context = ssl.create_default_context(cafile=authority.ca)
        plain = socket.create_connection(("127.0.0.1", port), 10)
        self.c, self.n = context.wrap_socket(plain, server_hostname="127.0.0.1"), 0
        self.c.settimeout(300)
        nonce = base64.b64encode(secrets.token_bytes(18)).decode()
        bare = f"n={user},r={nonce}"
        first = {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": f"n,,{bare}".encode()}
        y = self.call("admin", first)
        said = y["payload"].decode()
        r, s, i = (p[2:] for p in said.split(","))
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(s), int(i))
        key = h(salted, b"Client Key")
        last = f"c=biws,r={r}"
        signature = h(hashlib.sha256(key).digest(), f"{bare},{said},{last}".encode())
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature))).decode()
        more = {"saslContinue": 1, "conversationId": y["conversationId"]}
        y = self.call("admin", {**more, "payload": f"{last},p={proof}".encode()})
        while not y["done"]:
            y = self.call("admin", {**more, "payload": b""})

    def call(self, database, command):
        self.n += 1
        self.c.sendall(message({**command, "$db": database}, self.n))
        y = get_message(self.c)[1]
        if y["ok"] != 1:
            raise RuntimeError(f"{command}: {y}")
        return y

    def put(self, database, collection, rows):
        """The collection anew."""
        try:
            self.call(database, {"drop": collection})
        except RuntimeError:
            pass
        for i in range(0, len(rows), 1000):
            self.call(database, {"insert": collection, "documents": rows[i : i + 1000]})


# ---- servers --------------------------------------------------------------------------------------------


def ferretdb_program():
    """FerretDB 1.24 (Apache-2.0, written in Go), which stores in SQLite: of the module
    github.com/FerretDB/FerretDB, `go build ./cmd/ferretdb`. None: it is not here."""
    for place in (os.environ.get("TAB_MONGO_SERVER"), shutil.which("ferretdb"), "~/go/bin/ferretdb"):
        if place and os.access(os.path.expanduser(place), os.X_OK):
            return os.path.expanduser(place)
    return None


class FerretDB:
    """One user, `reader` with `password`, over TLS."""

    user, password = "reader", "hunter2-mongo"

    def __init__(self, program, folder, authority):
        self.folder, self.port = pathlib.Path(folder), free_port()
        (self.folder / "data").mkdir(parents=True)
        self.process = subprocess.Popen(
            [program, "--handler=sqlite", f"--sqlite-url=file:{folder}/data/", f"--state-dir={folder}"]
            + ["--listen-addr=", f"--listen-tls=127.0.0.1:{self.port}", "--debug-addr=-"]
            + [f"--listen-tls-cert-file={authority.cert}", f"--listen-tls-key-file={authority.key}"]
            + ["--telemetry=disable", "--log-level=error", "--test-enable-new-auth"]
            + [f"--setup-username={self.user}", f"--setup-password={self.password}"]
            + ["--setup-database=admin"],
            cwd=folder,
            **QUIET,
        )
        waited(lambda: socket.create_connection(("127.0.0.1", self.port), 1).close() is None)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Peer:
    """A member of a replica set by the published protocol: hello, SCRAM-SHA-256, find, getMore. It knows
    `collections` by (database, name); `mode` says what it does wrong on purpose."""

    user, password = "reader", "hunter2-mongo"

    def __init__(self, authority=None):
        self.collections, self.mode, self.heard, self.open, self.size = {}, "", [], {}, 40
        self.context = None
        if authority:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(authority.cert, authority.key)
        self.sock = socket.socket()
        self.sock.bind(("127.0.0.1", 0))
        self.sock.listen(16)
        self.port = self.sock.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                c, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(c,), daemon=True).start()

    def talk(self, c):
        c.settimeout(60)
        state = {}
        try:
            if self.context:
                c = self.context.wrap_socket(c, server_side=True)
            while True:
                number, q = get_message(c)
                self.heard.append(q)
                c.sendall(self.spoiled(q, self.answer(q, state), number))
        except (OSError, ValueError, KeyError):
            pass
        c.close()

    def spoiled(self, q, y, number):
        """The answer's bytes; what is wrong in them, the mode says."""
        good, first = message(y, 7, number), next(iter(q))
        if self.mode == "http":
            return b"HTTP/1.1 400 Bad Request\r\n\r\nsecret of the server"
        if first not in ("find", "getMore"):
            return good
        if self.mode == "another request":
            return message(y, 7, number + 1)
        if self.mode == "a length that lies":
            return struct.pack("<i", 2**31 - 1) + good[4:]
        if self.mode == "a document that lies":
            return good[:21] + struct.pack("<i", len(good) * 2) + good[25:]
        if self.mode == "an unknown type":
            return message(bson(y).replace(b"\x10size\0", b"\x77size\0"), 7, number)
        if self.mode == "a text that lies":
            return message(bson(y).replace(b"\x07\0\0\0item ", b"\xff\xff\xff\x7fitem "), 7, number)
        if self.mode == "another code":
            return message(y, 7, number, 1)
        return good

    def answer(self, q, state):
        no = lambda code, words="": {
            "ok": 0.0,
            "errmsg": f"secret of the server {words}",
            "code": code,
            "codeName": "X",
        }
        if "hello" in q:
            return {"isWritablePrimary": True, "setName": "rs0", "maxWireVersion": 21, "ok": 1.0}
        if "saslStart" in q or "saslContinue" in q:
            return self.sasl(q, state) or no(18)
        if not state.get("in"):
            return no(13)
        if q["$db"] == "busy":
            return no(11600)
        if "find" in q:
            if q["sort"] != {"_id": 1} or q["readConcern"] != {"level": "snapshot"} or q["maxTimeMS"] <= 0:
                return no(2)
            rows = self.collections.get((q["$db"], q["find"]), [])
            rows = [r for r in rows if all(r.get(k) == v for k, v in q.get("filter", {}).items())]
            self.open[77] = sorted(rows, key=lambda r: r["_id"])
            return self.batch(q, "firstBatch")
        if "getMore" in q:
            if q["getMore"] not in self.open:
                return no(43)
            return self.batch(q, "nextBatch")
        return no(59)

    def batch(self, q, name):
        n = min(self.size, q["batchSize"])
        rows, self.open[77] = self.open[77][:n], self.open[77][n:]
        if self.mode == "documents without end":
            rows = [{"_id": i, "text": "x" * 60000} for i in range(100)]
        elif not self.open[77]:
            del self.open[77]
        if self.mode == "too deep":
            deep = 1
            for _ in range(60):
                deep = {"a": deep}
            rows = [{"_id": 1, "deep": deep}]
        more = Raw(0x12, struct.pack("<q", 77 if 77 in self.open else 0))
        return {"cursor": {name: rows, "id": more, "ns": "x"}, "ok": 1.0}

    def sasl(self, q, state):
        if "saslStart" in q:
            if q["mechanism"] != "SCRAM-SHA-256" or q["$db"] != "admin":
                return None
            bare = q["payload"].decode()[3:]
            user, nonce = (p[2:] for p in bare.split(","))
            if not q["payload"].startswith(b"n,,") or user != self.user:
                return None
            salt = b"0123456789abcdef"
            i = {"easy": 1, "endless": 2**31 - 1}.get(self.mode, 4096)
            r = nonce + "server" if self.mode != "another nonce" else "x" * 40
            said = f"r={r},s={base64.b64encode(salt).decode()},i={i}"
            salted = hashlib.pbkdf2_hmac("sha256", self.password.encode(), salt, 4096)
            state |= {"text": f"{bare},{said}", "salted": salted, "r": nonce + "server"}
            return {"conversationId": 1, "done": False, "payload": said.encode(), "ok": 1.0}
        if q["payload"] == b"" and state.get("shown"):
            state["in"] = True
            return {"conversationId": 1, "done": True, "payload": b"", "ok": 1.0}
        without, _, proof = q["payload"].decode().rpartition(",p=")
        key = h(state["salted"], b"Client Key")
        text = f"{state['text']},{without}".encode()
        wanted = bytes(a ^ b for a, b in zip(key, h(hashlib.sha256(key).digest(), text)))
        if without != f"c=biws,r={state['r']}" or base64.b64decode(proof) != wanted:
            return None
        shown = h(h(state["salted"], b"Server Key"), text)
        if self.mode == "knows no password":
            shown = bytes(32)
        state["shown"] = True
        payload = b"v=" + base64.b64encode(shown)
        return {"conversationId": 1, "done": False, "payload": payload, "ok": 1.0}

    def stop(self):
        self.sock.close()
