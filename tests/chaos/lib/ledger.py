"""The load, and the ledger of what was meant and what was answered. Two organizations, each with a canary
text in its cells, call every route of the life of an endpoint. A retrying client and one that does not retry
stand side by side.

Each call is a row: when, what, which Idempotency-Key, which answer. Nothing here judges: invariants.py
does."""
import hashlib, http.client, json, random, threading, time, uuid

ROWS, COLS = 12, 4  # of a run
PINNED, REQUEST = 30, 2  # rows of an endpoint's table and of a serve call
HANGS_S = 70  # nginx gives up an api after 60 s: what takes longer hangs


class Cut(Exception):
    """The connection was cut or refused: allowed for what the fault itself cut."""


class Answer:
    def __init__(self, status, raw, headers=()):
        self.status, self.raw, self.headers = status, raw, {k.lower(): v for k, v in headers}
        try:
            self.json = json.loads(raw) if raw else None
        except ValueError:
            self.json = None

    def __repr__(self):
        return f"{self.status} {self.raw[:200]!r}"


class Call:
    __slots__ = ("began", "ended", "method", "path", "idem", "answer", "patient")

    def __init__(self, method, path, idem, patient):
        self.began, self.ended, self.answer = time.monotonic(), None, None
        self.method, self.path, self.idem, self.patient = method, path, idem, patient


class Endpoint:
    """moves: what was asked of it, with the span in which its state may have changed. serves: what it
    answered."""

    def __init__(self, id, base):
        self.id, self.base, self.moves, self.serves, self.deleted, self.lock = (
            id,
            base,
            [],
            [],
            None,
            threading.Lock(),
        )


class Org:
    def __init__(self, client, name):
        self.name, self.org, self.key, self.port = name, client.org, client.key, client.port
        self.canary = f"canary{random.getrandbits(60):019d}"
        self.lock = threading.Lock()
        self.calls, self.runs, self.batches, self.endpoints = [], [], [], []
        self.keys = {}  # id -> secret, of those that live
        self.dead = []  # secrets that ended, with acknowledgement
        self.late = []  # secrets that worked after their end
        self.audited = []  # (action, object) acknowledged
        self.seen = {}  # job -> terminal status, once seen
        self.undone = []  # terminal jobs that changed
        self.finals = []  # what the retrying client had to give up
        self.odd_cells = {}  # job -> cells, of jobs with tables of their own size

    # ---- one call

    def call(
        self, method, path, body=None, idem=None, key=None, timeout=HANGS_S, patient=False, headers=None
    ):
        """body: bytes go as they are, all else as JSON."""
        row = Call(method, path, idem, patient)
        with self.lock:
            self.calls.append(row)
        h = {"Authorization": f"Bearer {key or self.key}"}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if data:
            h["Content-Type"] = "application/json"
        if idem:
            h["Idempotency-Key"] = idem
        h = {k: v for k, v in (h | (headers or {})).items() if v}
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            c.request(method, path, data, h)
            r = c.getresponse()
            row.answer = Answer(r.status, r.read(), r.getheaders())
        except TimeoutError:
            row.answer = "hangs" if timeout >= HANGS_S else None
            raise Cut
        except (OSError, http.client.HTTPException):
            raise Cut
        finally:
            row.ended = time.monotonic()
            c.close()
        return row.answer

    def patient(self, method, path, body=None, idem=None, key=None, seconds=60):
        """The retrying client: again after a cut, a 5xx or a 429. None: it gave up."""
        end, pause, last = time.monotonic() + seconds, 0.1, None
        while True:
            try:
                last = self.call(method, path, body, idem, key, patient=True)
                if last.status < 500 and last.status != 429:
                    return last
            except Cut:
                pass
            if time.monotonic() > end:
                with self.lock:
                    self.finals.append((method, path, last))
                return None
            time.sleep(pause)
            pause = min(pause * 1.6, 1.0)

    # ---- what is sent

    def table(self, rng, id, rows):
        out = []
        for _ in range(rows):
            n = rng.randrange(100)
            out.append(
                [f"{self.canary} {rng.randrange(10**6)}", n, "abc"[n // 34], round(n / 7 + rng.random(), 3)]
            )
        return {"id": id, "columns": ["who", "n", "kind", "x"], "rows": out}

    def run_body(self, rng, **options):
        return {
            "tables": [self.table(rng, "t", ROWS)],
            "target": {"mode": "none"},
            **({"options": options} if options else {}),
        }

    # ---- what is done

    def run(self, rng):
        a = self.call("POST", "/v2/run", self.run_body(rng))
        if a.status == 200:
            self.runs.append((a.json["run_id"], a.json["job_id"]))

    def run_keyed(self, rng):
        idem, body = f"k-{uuid.uuid4()}", self.run_body(rng)
        a = self.patient("POST", "/v2/run", body, idem)
        if a is not None and a.status == 200:
            self.runs.append((a.json["run_id"], a.json["job_id"]))
            if rng.random() < 0.33:
                self.patient("POST", "/v2/run", body, idem)

    def batch(self, rng):
        a = self.patient("POST", "/v2/run", self.run_body(rng, processing="batch"), f"b-{uuid.uuid4()}")
        if a is not None and a.status == 202:
            self.batches.append(a.json["job_id"])
            if rng.random() < 0.3:
                self.cancel(a.json["job_id"])

    def cancel(self, job):
        a = self.patient("POST", f"/v2/jobs/{job}/cancel")
        if a is not None and a.status == 200:
            self.saw(a.json)

    def saw(self, job):
        """A terminal state never changes."""
        with self.lock:
            before = self.seen.get(job["job_id"])
            if before and before != job["status"]:
                self.undone.append((job["job_id"], before, job["status"]))
            if job["status"] in ("done", "failed", "cancelled", "expired"):
                self.seen[job["job_id"]] = job["status"]

    def read(self, rng):
        a = self.call(
            "GET",
            rng.choice(
                [
                    "/v2/jobs",
                    "/v2/usage",
                    "/v2/keys",
                    "/v2/models",
                    "/v2/reports",
                    "/v2/endpoints",
                    "/v2/data",
                ]
            ),
        )
        if a.status == 200 and "jobs" in (a.json or {}):
            for j in a.json["jobs"]:
                self.saw(j)

    def key_life(self, rng):
        a = self.call("POST", "/v2/keys", {"name": "k", "scopes": ["read"]})
        if a.status != 201:
            return
        id, secret = a.json["id"], a.json["key"]
        self.audited.append(("key.create", id))
        if rng.random() < 0.5:
            a = self.call("POST", f"/v2/keys/{id}/rotate")  # a cut leaves nobody who knows the secret
            if a.status != 200:
                return
            self.audited.append(("key.rotate", id))
            self.ended(secret)
            secret = a.json["key"]
        self.keys[id] = secret
        if rng.random() < 0.5:
            self.keys.pop(id)
            if self.call("DELETE", f"/v2/keys/{id}").status == 200:
                self.audited.append(("key.delete", id))
                self.ended(secret)

    def ended(self, secret):
        self.dead.append(secret)
        try:
            if self.call("GET", "/v2/models", key=secret).status == 200:
                self.late.append(secret[:12])
        except Cut:
            pass

    # ---- endpoints

    def create(self, rng, base):
        name = f"e-{uuid.uuid4().hex[:12]}"
        body = {
            "name": name,
            "tables": [self.table(rng, "items", PINNED)],
            "base": base,
            "target": {"column": "items.kind"},
        }
        a = self.patient("POST", "/v2/endpoints", body, f"c-{name}")
        if a is None or a.status != 202:
            self.refused("create", a)
            return None
        e = Endpoint(a.json["id"], base)
        e.request = {"tables": [self.table(random.Random(7), "items", REQUEST)]}
        self.endpoints.append(e)
        status = self.wait(a.json["job_id"])
        e.moves.append(("create", time.monotonic(), time.monotonic(), status, base, a.json["job_id"]))
        return e if status == "done" else None

    def refused(self, what, a):
        """Nobody else works on these names and endpoints: a retry that is refused was not known again."""
        if a is not None:
            with self.lock:
                self.finals.append((what, a))

    def wait(self, job, seconds=90):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            a = self.patient("GET", f"/v2/jobs/{job}")
            if a is not None and a.status == 200:
                self.saw(a.json)
                if a.json["status"] not in ("queued", "running"):
                    return a.json["status"]
            time.sleep(0.15)
        return "stuck"

    def serve(self, e, patient=False):
        began = time.monotonic()
        deleted = e.deleted is not None
        a = (self.patient if patient else self.call)("POST", f"/v2/serve/{e.id}", e.request)
        if a is not None:
            with e.lock:
                e.serves.append(
                    (
                        began,
                        time.monotonic(),
                        a.status,
                        hashlib.sha256(a.raw).hexdigest()[:12],
                        (a.json or {}).get("base"),
                        deleted,
                    )
                )
        return a

    def state(self, e):
        """The endpoint as it reads, less what counts and what its job does."""
        a = self.patient("GET", f"/v2/endpoints/{e.id}")
        if a is None or a.status != 200:
            return None
        return {
            k: v
            for k, v in a.json.items()
            if k not in ("calls", "drift", "job", "job_id", "updated_at", "request_id")
        }

    def move(self, e, kind, base=None, cancel_after=None):
        """A refresh or an upgrade, seen to its end; cancelled after so many seconds on purpose."""
        before, began = self.state(e), time.monotonic()
        body = {"base": base} if kind == "upgrade" else None
        a = self.patient("POST", f"/v2/endpoints/{e.id}/{kind}", body, f"m-{uuid.uuid4()}")
        if a is None or a.status != 202:
            self.refused(kind, a)
            return None
        if cancel_after is not None:
            time.sleep(cancel_after)
            self.cancel(a.json["job_id"])
        status = self.wait(a.json["job_id"])
        after = self.state(e)
        e.moves.append((kind, began, time.monotonic(), status, base or e.base, a.json["job_id"]))
        if status == "done":
            e.base = base or e.base
        elif before is not None and after is not None and before != after:
            self.undone.append((e.id, status, [k for k in before if before[k] != after.get(k)]))
        return status

    def delete(self, e):
        a = self.patient("DELETE", f"/v2/endpoints/{e.id}")
        if a is not None and a.status in (200, 404):  # 404: the answer of an earlier try was lost
            e.deleted = time.monotonic()
            if a.status == 200:
                self.audited.append(("endpoint.delete", e.id))

    def edit(self, e, rng):
        began = time.monotonic()
        threshold = round(0.3 + 0.4 * rng.random(), 3)
        a = self.patient(
            "PATCH", f"/platform/v1/endpoints/{e.id}", {"options": {"confidence_threshold": threshold}}
        )
        e.moves.append(
            (
                "edit",
                began,
                time.monotonic(),
                "done" if a is not None and a.status == 200 else "?",
                e.base,
                "",
            )
        )

    def endpoint_life(self, rng, stop, bases):
        while not stop.is_set():
            e = self.create(rng, rng.choice(bases))
            for _ in range(4):
                if e is None or stop.is_set():
                    break
                self.serve(e, patient=True)
                dice = rng.random()
                if dice < 0.35:
                    self.move(e, "upgrade", rng.choice([b for b in bases if b != e.base]))
                elif dice < 0.6:
                    self.move(e, "refresh")
                elif dice < 0.85:
                    self.move(e, "refresh", cancel_after=rng.random() * 0.3)
                else:
                    self.edit(e, rng)
                self.serve(e, patient=True)
            if e is not None and rng.random() < 0.5:
                self.delete(e)
                self.serve(e, patient=True)


class Load:
    """Threads that call until told to end. `raw` failures are counted by their type, of `patient` ones none
    may be."""

    MIX = [(0.25, Org.run_keyed), (0.40, Org.run), (0.50, Org.read), (0.55, Org.batch), (0.65, Org.key_life)]

    def __init__(self, world, bases, seed, threads=1, endpoints=True):
        # TAB_STACK_FAST organizations: enterprise, so that no rate limit stands in the way
        self.orgs = [Org(world.org(n, "enterprise"), n) for n in ("red", "blue")]
        self.stop, self.bases, self.seed = threading.Event(), bases, seed
        self.threads = []
        for i, org in enumerate(self.orgs):
            org.create(random.Random(seed + i), bases[0])
            for k in range(threads):
                self.threads.append(
                    threading.Thread(target=self.work, args=(org, seed * 10 + i * 5 + k), daemon=True)
                )
            if endpoints:
                self.threads.append(
                    threading.Thread(
                        target=org.endpoint_life,
                        daemon=True,
                        args=(random.Random(seed * 10 + 7 + i), self.stop, bases),
                    )
                )
        for t in self.threads:
            t.start()

    def work(self, org, seed):
        rng = random.Random(seed)
        while not self.stop.is_set():
            dice = rng.random()
            try:
                for until, what in self.MIX:
                    if dice < until:
                        what(org, rng)
                        break
                else:
                    live = [e for e in org.endpoints if e.moves and e.moves[0][3] == "done"]
                    if live:
                        org.serve(rng.choice(live[-3:]))
            except Cut:
                pass
            time.sleep(0.01)

    def end(self, seconds=90):
        self.stop.set()
        end = time.monotonic() + seconds
        for t in self.threads:
            t.join(max(0.1, end - time.monotonic()))
        return not any(t.is_alive() for t in self.threads)
