"""Requests as bytes: odd framing made by hand, answers read one by one, and the verdict whether an answer is
its caller's own. Every organization has a canary (the name of one of its keys); an answer is crossed when it
holds another's canary, or names another request in its body than in its header."""
import http, json, re, socket, threading

PAIRS = {
    400: {"validation_error"},
    401: {"auth_error"},
    403: {"auth_error"},
    404: {"not_found"},
    409: {"conflict"},
    422: {"capability_unavailable"},
    429: {"rate_limit"},
    500: {"internal", "job_failed"},
    502: {"internal"},
    503: {"internal"},
    504: {"internal"},
}


class Cut(Exception):
    """The connection ended where an answer was due."""


class Answer:
    def __init__(self, status, headers, body, raw):
        self.status, self.headers, self.body, self.raw = status, headers, body, raw
        try:
            self.json = json.loads(body) if body else None
        except ValueError:
            self.json = None
        if not isinstance(self.json, dict):
            self.json = {}

    def __repr__(self):
        return f"{self.status} {self.raw[:400]!r}"

    @property
    def error(self):
        return self.json.get("error", {})

    @property
    def closes(self):
        return self.headers.get("connection", "").lower() == "close"


class Wire:
    """One connection. It reads by the rules of HTTP/1.1, so that a byte too many shows as another answer."""

    def __init__(self, port, timeout=60, source="127.0.0.1"):
        self.sock, self.left = socket.create_connection(("127.0.0.1", port), timeout, (source, 0)), b""
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        """False: the server has closed before all was sent, which is its right."""
        try:
            self.sock.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def end(self):
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def abort(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()

    def more(self):
        try:
            got = self.sock.recv(1 << 16)
        except ConnectionResetError:
            got = b""
        self.left += got
        return bool(got)

    def take(self, n):
        while len(self.left) < n:
            if not self.more():
                raise Cut(f"{len(self.left)} of {n} bytes")
        got, self.left = self.left[:n], self.left[n:]
        return got

    def until(self, mark):
        while mark not in self.left:
            if not self.more():
                raise Cut(repr(self.left[:200]))
        at = self.left.index(mark) + len(mark)
        got, self.left = self.left[:at], self.left[at:]
        return got

    def answer(self, method="GET"):
        """The next final answer, to a request of that method; Cut where the connection ends before it."""
        while True:
            head = self.until(b"\r\n\r\n")
            lines = head.decode("latin1").split("\r\n")
            if not re.fullmatch(r"HTTP/1\.[01] \d{3} .*", lines[0]):
                raise ValueError(f"no status line: {head[:200]!r}")
            status = int(lines[0].split()[1])
            headers = {k.strip().lower(): v.strip() for k, _, v in (l.partition(":") for l in lines[1:] if l)}
            if status != http.HTTPStatus.CONTINUE:
                break
        body = b""
        if method == "HEAD" or status in (204, 304):
            pass
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            while n := int(self.until(b"\r\n"), 16):
                body += self.take(n)
                self.take(2)
            self.until(b"\r\n")
        elif "content-length" in headers:
            body = self.take(int(headers["content-length"]))
        else:
            body = self.tail()
        return Answer(status, headers, body, head + body)

    def rest(self, method="GET"):
        """All answers until the server closes."""
        out = []
        try:
            while True:
                out.append(self.answer(method))
                method = "GET"
        except Cut:
            if self.left:
                raise ValueError(f"no answer: {self.left[:300]!r}")
        return out

    def tail(self):
        """All bytes until the server closes."""
        while self.more():
            pass
        got, self.left = self.left, b""
        return got


def request(method, path, key=None, headers=(), body=b"", close=False, version="HTTP/1.1"):
    lines = [f"{method} {path} {version}", "Host: t"]
    if key:
        lines.append("Authorization: Bearer " + key)
    if close:
        lines.append("Connection: close")
    return "\r\n".join([*lines, *headers]).encode("latin1") + b"\r\n\r\n" + body


def chunked(body, tail=b"\r\n"):
    return (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n" + tail


class Framing:
    """One way to frame a body: its header lines, what follows them, and how many answers are due at most.
    short: more was promised than is sent."""

    def __init__(self, name, headers, after=b"", most=1, short=False, refused=False):
        self.name, self.headers, self.after, self.most = name, headers, after, most
        self.short, self.refused = short, refused


def framings(hidden, own):
    """hidden: the request that an attacker would hide in a body; own: a whole request of the caller's own."""
    n, glue = len(hidden), hidden.rsplit(b"\r\n\r\n", 1)[0] + b"\r\nX-Rest: "
    length = lambda x: f"Content-Length: {x}"
    te = "Transfer-Encoding: chunked"
    return [
        Framing("no body", []),
        Framing("length 0", [length(0)]),
        Framing("an empty object", [length(2)], b"{}"),
        Framing("a request as body", [length(n)], hidden),
        Framing("the beginning of a request as body", [length(len(glue))], glue),
        Framing("a request as one chunk", [te], chunked(hidden)),
        Framing(
            "the beginning of a request as chunks", [te], b"1\r\n" + glue[:1] + b"\r\n" + chunked(glue[1:])
        ),
        Framing("no chunk", [te], chunked(b"")),
        Framing("a request in the trailer", [te], chunked(b"{}", b"X-A: b\r\n\r\n") + hidden, 2),
        Framing("length, then chunked", [length(n), te], chunked(hidden), refused=True),
        Framing("chunked, then length", [te, length(5)], chunked(b"") + hidden, refused=True),
        Framing("two equal lengths", [length(n)] * 2, hidden, refused=True),
        Framing("two lengths", [length(0), length(n)], hidden, refused=True),
        Framing("a list of lengths", [f"Content-Length: 0, {n}"], hidden, refused=True),
        Framing("a signed length", [f"Content-Length: +{n}"], hidden, refused=True),
        Framing("a length in hex", [f"Content-Length: {n:#x}"], hidden, refused=True),
        Framing("a space before the colon", [f"Content-Length : {n}"], hidden, refused=True),
        Framing("an unknown coding", ["Transfer-Encoding: xchunked"], chunked(hidden), refused=True),
        Framing("two codings", ["Transfer-Encoding: gzip, chunked"], chunked(hidden), refused=True),
        Framing("identity", ["Transfer-Encoding: identity"], hidden, refused=True),
        Framing("a bad chunk", [te], b"zz\r\n" + hidden, refused=True),
        Framing("a chunk of 2^64 bytes", [te], b"10000000000000000\r\n" + hidden, refused=True),
        Framing("chunks ended by bare LF", [te], b"%x\n" % n + hidden + b"\n0\n\n"),
        Framing("length too long", [length(n + 50)], hidden, short=True),
        Framing("chunk too long", [te], b"%x\r\n" % (n + 50) + hidden, short=True),
        Framing("length too short", [length(n - 20)], hidden, 2),
        Framing("trailing bytes", [], b"\x16\x03 garbage\r\n\r\n", 2),
        Framing("a second request", [], own, 2),
        Framing("a body and a second request", [length(2)], b"{}" + own, 2),
        Framing("Expect: 100-continue", ["Expect: 100-continue", length(n)], hidden),
        Framing("another Expect", ["Expect: 200-ok", length(n)], hidden),
        Framing("Upgrade: h2c", ["Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__", length(n)], hidden),
        Framing("a hidden length", [f"Content_Length: {n}", "Connection: Content-Length"], hidden, 2),
    ]


METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "FROB"]


def path_of(method, none="none"):
    """A path that has the method, where one has; nothing is there, so that nothing happens."""
    if method == "POST":
        return [f"/v2/keys/key_{none}/rotate", f"/v2/serve/{none}"]
    return [
        {"DELETE": f"/v2/keys/key_{none}", "PATCH": f"/platform/v1/endpoints/{none}"}.get(method, "/v2/keys")
    ]


class Judge:
    """Looks at every answer. Used by several threads."""

    def __init__(self, canaries):
        self.canaries = canaries  # organization to canary
        self.lock, self.tried, self.crossed, self.wrong, self.statuses = threading.Lock(), 0, [], [], {}

    def sent(self, n=1):
        with self.lock:
            self.tried += n

    def fault(self, what, detail, crossed=False):
        with self.lock:
            (self.crossed if crossed else self.wrong).append(f"{what}: {detail}")
        return False

    def look(self, who, what, a):
        """False where the answer is another's, or none that may leave the gateway."""
        with self.lock:
            self.statuses[a.status] = self.statuses.get(a.status, 0) + 1
        for org, canary in self.canaries.items():
            if org != who and canary in a.raw:
                return self.fault(what, f"{who} was given an answer of {org}: {a}", True)
        id = a.headers.get("x-request-id", "")
        named = a.json.get("request_id") or a.error.get("request_id")
        if named and named != id:
            return self.fault(what, f"{who} was given the answer of another call: {a}", True)
        if not re.fullmatch(r"req_[0-9A-Za-z]{22}", id):
            return self.fault(what, f"no request id: {a}")
        if not a.headers.get("content-type", "").startswith("application/json"):
            return self.fault(what, f"no JSON: {a}")
        if any(k.startswith("x-tabella-") for k in a.headers):
            return self.fault(what, f"an internal header: {a}")
        if a.status >= 400 and a.body and a.error.get("type") not in PAIRS.get(a.status, ()):
            return self.fault(what, f"not among the answers that may leave: {a}")
        if a.status < 400 and a.status not in (200, 201, 202):
            return self.fault(what, f"a status of its own: {a}")
        return True

    def own(self, who, what, a):
        """Is it the list of keys of that organization?"""
        self.look(who, what, a)
        if a.status != 200 or self.canaries[who] not in a.body or "keys" not in a.json:
            return self.fault(what, f"{who} was not given its own answer: {a}")
        return True


class Caller:
    """Good calls of one organization on a connection that is kept."""

    def __init__(self, judge, who, port, key):
        self.judge, self.who, self.port, self.key, self.wire = judge, who, port, key, None

    def good(self, what, wire=None, method="GET", path="/v2/keys"):
        data = request(method, path, self.key)
        self.judge.sent()
        for _ in range(2):  # a kept connection may have been closed meanwhile
            mine = wire or self.wire or Wire(self.port)
            try:
                if mine.send(data):
                    a = mine.answer(method)
                    break
            except Cut:
                pass
            if wire or self.wire is None:
                return self.judge.fault(what, f"{self.who}'s good call was not answered")
            self.drop()
        if not wire:
            self.wire = mine
            if a.closes:
                self.drop()
        if path == "/v2/keys" and method == "GET":
            return self.judge.own(self.who, what, a)
        self.judge.look(self.who, what, a)
        return a.status in (200, 404) or self.judge.fault(what, f"a good call: {a}")

    def drop(self):
        if self.wire is not None:
            self.wire.sock.close()
        self.wire = None


def attack(judge, who, port, key, method, path, f, close):
    """Sends one framing; gives its answers. Afterwards, where the connection still stands and its framing is
    whole, the next request on it gets its own answer. (Nothing is half closed before an answer: that is a
    caller who left.)
    """
    what = f"{method} {path}, {f.name}{', close' if close else ''}"
    judge.sent()
    with Wire(port) as w:
        w.send(request(method, path, key, f.headers, f.after, close))
        answers = []
        if f.short:
            w.end()
        elif not close and not f.refused and f.most == 1:
            try:
                answers = [w.answer(method)]
            except Cut:
                pass
            if answers and not answers[0].closes:
                Caller(judge, who, port, key).good(what + ", and the next", w)
            w.end()
        answers += w.rest("GET" if answers else method)
    for a in answers:
        judge.look(who, what, a)
    if len(answers) > f.most:
        judge.fault(what, f"{len(answers)} answers: {answers}")
    if not answers and not f.short:
        judge.fault(what, "no answer")
    if f.refused and answers and answers[0].status not in (400, 404):  # 404: nobody looked at the body
        judge.fault(what, f"not refused: {answers[0]}")
    return answers
