"""The calls of a seed. They contend on purpose: several callers use one key while it ends, ask under one
Idempotency-Key at once, cancel one job, move and serve one endpoint. Each call becomes an Op of the object
that it is about (linear.py), and models.py says what each object may answer."""
import collections, hashlib, random, threading, time, uuid

from ledger import COLS, PINNED, REQUEST, ROWS, Cut, Endpoint, Org
from linear import NEVER, Op
import models

FRESH_S = 2.0  # a moved endpoint serves its new state within it
STEP_S = 0.02
CELLS = {"run": ROWS * COLS, "batch": ROWS * COLS, "serve": REQUEST * COLS, "cached": PINNED * COLS}
CELLS["create"] = PINNED * COLS
now = time.monotonic


def digest(raw):
    return hashlib.sha256(raw).hexdigest()[:12]


class Histories:
    """(model's name, key) -> its model and its calls."""

    def __init__(self):
        self.lock, self.model, self.ops = threading.Lock(), {}, collections.defaultdict(list)

    def add(self, what, model, *ops):
        with self.lock:
            self.model.setdefault(what, model)
            self.ops[what].extend(ops)

    def count(self):
        with self.lock:
            return sum(len(v) for v in self.ops.values())


class Caller(Org):
    """An organization whose calls are written down as histories."""

    def __init__(self, client, name, histories, seed):
        super().__init__(client, name)
        self.h, self.stop, self.seed, self.healed = histories, threading.Event(), seed, threading.Event()
        self.counters = {op: models.Counter(size) for op, size in CELLS.items()}
        self.live = []  # endpoints that anybody may serve

    def note(self, model, key, kind, begin, end, value=None):
        name = type(model).__name__.lower()
        op = Op(kind, round(begin, 4), round(end, 4), value, threading.current_thread().name)
        self.h.add((name, key), model, op)

    def timed(self, *args, **more):
        """(begin, end, answer); answer None and end NEVER: cut, or a failure that may have had its effect."""
        begin = now()
        try:
            a = self.call(*args, **more)
        except Cut:
            a = None
        return (begin, NEVER, None) if a is None or a.status >= 500 else (begin, now(), a)

    def sure(self, *args, **more):
        """The same by the client that tries again; its first try is the begin."""
        begin = now()
        a = self.patient(*args, **more)
        return (begin, NEVER, None) if a is None else (begin, now(), a)

    def together(self, *jobs):
        """Runs them at once, and waits for all."""
        name = threading.current_thread().name
        threads = [threading.Thread(target=j, name=f"{name}.{i}", daemon=True) for i, j in enumerate(jobs)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def billed(self, op, begin, end, n=1):
        for _ in range(n):
            self.note(self.counters[op], f"{self.name} {op}", "add", begin, end, CELLS[op])

    # ---- what is asked

    def one_run(self, rng):
        begin, end, a = self.timed("POST", "/v2/run", self.run_body(rng))
        self.ran(begin, end, a)

    def ran(self, begin, end, a):
        """What a run owes: it is billed once if it is answered, once or never if nobody knows."""
        if a is None:
            self.billed("run", begin, NEVER)
        elif a.status == 200:
            self.runs.append((a.json["run_id"], a.json["job_id"]))
            self.billed("run", begin, end)
            self.readable(f"/v2/jobs/{a.json['job_id']}", begin, end)
        elif a.status == 202:
            self.ends(a.json["job_id"], "run", begin)

    def ends(self, job, op, begin):
        """A job is billed when it is done, and never otherwise."""
        status = self.wait(job)
        if status == "done":
            self.billed(op, begin, now())
        elif status == "stuck":
            self.billed(op, begin, NEVER)
        return status

    def readable(self, path, begin, end, times=2):
        """What an answer has named is there for the next request; asked often enough to meet every
        instance."""
        model = models.Existence()
        self.note(model, path, "make", begin, end)
        for _ in range(times):
            self.look(model, path)

    def look(self, model, path):
        begin, end, a = self.timed("GET", path)
        if a is not None and a.status in (200, 404):
            self.note(model, path, "read", begin, end, a.status == 200)
        return a

    def keyed(self, rng):
        """One Idempotency-Key, asked from two callers at once and once more."""
        key, body, first = f"k-{uuid.uuid4()}", self.run_body(rng), now()
        model, jobs = models.Idempotent(), set()

        def ask():
            begin, end, a = self.sure("POST", "/v2/run", body, key)
            if a is None or a.status >= 300:
                return self.note(model, key, "call", begin, NEVER)
            self.note(model, key, "call", begin, end, digest(a.raw))
            jobs.add((a.status, a.json["job_id"], a.json.get("run_id")))

        self.together(ask, ask)
        ask()
        if not jobs:
            return self.billed("run", first, NEVER)
        for status, job, run in jobs:  # more than one: the model has seen two answers
            if status == 202:
                self.ends(job, "run", first)
            else:
                self.runs.append((run, job))
                self.billed("run", first, now())

    def key_life(self, rng):
        """A secret that is used from two callers while it is rotated or revoked."""
        a = self.patient("POST", "/v2/keys", {"name": "k", "scopes": ["read"]}, f"n-{uuid.uuid4()}")
        if a is None or a.status != 201:
            return
        secret, path, over = a.json["key"], f"/v2/keys/{a.json['id']}", threading.Event()
        model, before, after = models.Key(), 0.3 * rng.random(), 0.3 + rng.random()
        rotates = rng.random() < 0.4

        def use():
            while not over.is_set():
                begin, end, a = self.timed("GET", "/v2/models", key=secret)
                if a is not None and a.status in (200, 401):
                    self.note(model, secret[:12], "use", begin, end, a.status == 200)
                over.wait(STEP_S)

        def end():
            over.wait(before)
            if rotates:
                begin, ended, a = self.timed("POST", path + "/rotate")
            else:
                begin, ended, a = self.sure("DELETE", path)
            good = a is not None and a.status in (200, 404)  # 404: an earlier try of it had been done
            self.note(model, secret[:12], "end", begin, ended if good else NEVER)
            over.wait(after)
            over.set()

        self.together(use, use, end)

    def job_life(self, rng):
        """A batch that two callers read while two others cancel it, or nobody does."""
        begin, end, a = self.sure(
            "POST", "/v2/run", self.run_body(rng, processing="batch"), f"b-{uuid.uuid4()}"
        )
        if a is None or a.status != 202:
            return self.billed("batch", begin, NEVER)
        job, model, over = a.json["job_id"], models.Job(), threading.Event()
        self.batches.append(job)
        waits = [rng.random() * 0.5 for _ in range(2)] if rng.random() < 0.6 else []

        def watch():
            while not over.is_set():
                b, e, a = self.timed("GET", f"/v2/jobs/{job}")
                if a is not None and a.status == 200:
                    self.note(model, job, "get", b, e, a.json["status"])
                over.wait(STEP_S * 2)

        def cancel(wait):
            time.sleep(wait)
            b, e, a = self.timed("POST", f"/v2/jobs/{job}/cancel")
            value = (a.status, (a.json or {}).get("status")) if a is not None else None
            if a is None or a.status in (200, 409):
                self.note(model, job, "cancel", b, e, value)

        def wait():
            if self.ends(job, "batch", begin) == "done":
                self.immutable(job)
            over.wait(STEP_S * 4)
            over.set()

        self.together(watch, wait, *[lambda w=w: cancel(w) for w in waits])

    def immutable(self, job):
        """The report of what is done: there at once, and the same for ever."""
        a = self.patient("GET", f"/v2/jobs/{job}")
        if a is None or a.status != 200 or not a.json.get("report_id"):
            return
        path, model = f"/v2/reports/{a.json['report_id']}", models.Immutable()
        self.readable(path, now(), now(), times=1)
        for _ in range(3):
            begin, end, a = self.timed("GET", path)
            if a is not None and a.status == 200:
                said = {k: v for k, v in a.json.items() if k not in ("request_id", "pinned")}
                self.note(model, path, "read", begin, end, digest(repr(sorted(said.items())).encode()))

    def usage(self, rng):
        self.read_usage("read")

    def read_usage(self, kind):
        begin, end, a = self.timed("GET", "/v2/usage")
        if a is not None and a.status == 200:
            for op, n in a.json["by_op_raw"].items():
                if op in self.counters:
                    self.note(self.counters[op], f"{self.name} {op}", kind, begin, end, n)
        return a is not None and a.status == 200

    # ---- an endpoint

    def served(self, e):
        """Served as anybody may; what it answers is one of its states of the last FRESH_S."""
        begin, end, a = self.timed("POST", f"/v2/serve/{e.id}", e.request)
        if a is None:
            self.billed("serve", begin, NEVER), self.billed("cached", begin, NEVER)
        elif a.status == 200:
            self.billed("serve", begin, end), self.billed("cached", begin, end)
            self.note(e.model, e.id, "serve", begin - FRESH_S, end, (a.json["base"], digest(a.raw)))
        if a is not None and a.status in (200, 404):
            self.note(e.exists, f"endpoint {e.id}", "read", begin, end, a.status == 200)

    def shown(self, e):
        begin, end, a = self.timed("GET", f"/v2/endpoints/{e.id}")
        if a is not None and a.status == 200 and a.json["status"] == "live":
            value = (a.json["base"], a.json["data_revision"], a.json["config_revision"])
            self.note(e.model, e.id, "get", begin, end, value)
        if a is not None and a.status in (200, 404):
            self.note(e.exists, f"endpoint {e.id}", "read", begin, end, a.status == 200)

    def changed(self, e, rng, bases):
        """A refresh, an upgrade, one of them cancelled, or an edit."""
        dice, begin = rng.random(), now()
        cancels = rng.random() * 0.4 if rng.random() < 0.3 else None
        if dice < 0.25:
            body = {"options": {"confidence_threshold": round(0.3 + 0.4 * rng.random(), 3)}}
            a = self.patient("PATCH", f"/platform/v1/endpoints/{e.id}", body, f"p-{uuid.uuid4()}")
            good = a is not None and a.status == 200
            return self.note(e.model, e.id, "edit", begin, now() if good else NEVER, ("done", None))
        kind = "refresh" if dice < 0.65 else "upgrade"
        to = rng.choice(bases)
        body = {"base": to} if kind == "upgrade" else None
        a = self.patient("POST", f"/v2/endpoints/{e.id}/{kind}", body, f"m-{uuid.uuid4()}")
        if a is None or a.status != 202:
            unknown = a is None
            if unknown:
                self.note(e.model, e.id, kind, begin, NEVER, ("done", to))
                self.billed("cached", begin, NEVER)
            return
        if cancels is not None:
            time.sleep(cancels)
            self.patient("POST", f"/v2/jobs/{a.json['job_id']}/cancel")
        status = self.ends(a.json["job_id"], "cached", begin)  # its data are what they were
        self.note(e.model, e.id, kind, begin, NEVER if status == "stuck" else now(), (status, to))

    def told(self, e, rng):
        """Outcomes of one call, told by two callers at once: each row counts once."""
        body = {**e.request, "options": {"receipts": True}}
        begin, end, a = self.timed("POST", f"/v2/serve/{e.id}", body)
        if a is None or a.status != 200:
            if a is None:
                self.billed("serve", begin, NEVER), self.billed("cached", begin, NEVER)
            return
        self.billed("serve", begin, end), self.billed("cached", begin, end)
        rows = [{"receipt": r["receipt"], "outcome": "a"} for r in a.json["prediction"]["results"]]
        ends = []

        def tell():
            _, ended, a = self.sure("POST", f"/v2/endpoints/{e.id}/outcomes", {"rows": rows})
            ends.append(ended if a is not None and a.status == 200 else NEVER)

        self.together(tell, tell)
        for _ in rows:
            self.note(e.outcomes, f"outcomes {e.id}", "add", begin, min(ends), 1)

    def read_outcomes(self, e, kind):
        begin, end, a = self.timed("GET", f"/v2/endpoints/{e.id}/outcomes")
        if a is not None and a.status == 200:
            n = a.json["total"][0]["rows"] if a.json["total"] else 0
            self.note(e.outcomes, f"outcomes {e.id}", kind, begin, end, n)

    def made(self, rng, base):
        name, begin = f"e-{uuid.uuid4().hex[:12]}", now()
        table = self.table(rng, "items", PINNED)
        body = {"name": name, "tables": [table], "base": base, "target": {"column": "items.kind"}}
        a = self.patient("POST", "/v2/endpoints", body, f"c-{name}")
        if a is None or a.status != 202:
            return self.billed("create", begin, NEVER)
        e = Endpoint(a.json["id"], base)
        e.request = {"tables": [self.table(random.Random(7), "items", REQUEST)]}
        e.model, e.exists, e.outcomes = models.Endpoint(base), models.Existence(), models.Counter(1)
        self.note(e.exists, f"endpoint {e.id}", "make", begin, now())
        if self.ends(a.json["job_id"], "create", begin) != "done":
            return None
        self.endpoints.append(e)
        return e

    def endpoint_life(self, rng, bases):
        """Made, then changed by one and used by two others at once; sometimes deleted under their hands."""
        e = self.made(rng, rng.choice(bases))
        if e is None:
            return
        over, deletes, n = threading.Event(), rng.random() < 0.6, rng.randrange(2, 5)

        def use(seed):
            mine = random.Random(seed)
            while not over.is_set():
                dice = mine.random()
                if dice < 0.6:
                    self.served(e)
                elif dice < 0.85:
                    self.shown(e)
                elif dice < 0.95:
                    self.told(e, mine)
                else:
                    self.read_outcomes(e, "read")
                over.wait(STEP_S)

        def change(seed, last):
            mine = random.Random(seed)
            for _ in range(n):
                if self.stop.is_set():
                    break
                self.changed(e, mine, bases)
                over.wait(0.3 * mine.random())
            if not last:
                return
            if deletes:
                begin, end, a = self.sure("DELETE", f"/v2/endpoints/{e.id}")
                good = a is not None and a.status in (200, 404)
                self.note(e.exists, f"endpoint {e.id}", "delete", begin, end if good else NEVER)
                e.deleted = now()
            over.wait(0.5)
            over.set()

        seeds = [rng.random() for _ in range(4)]
        self.together(
            lambda: use(seeds[0]),
            lambda: use(seeds[1]),
            lambda: change(seeds[2], True),
            *([lambda: change(seeds[3], False)] if not deletes else []),
        )


class Capped(Caller):
    """An organization that may make `room` runs, and asks for more of them than that."""

    def __init__(self, client, name, histories, seed, room):
        super().__init__(client, name, histories, seed)
        self.cap, self.unasked = models.Cap(room), lambda: 0

    def one_run(self, rng):
        before = self.unasked()
        begin, end, a = self.timed("POST", "/v2/run", self.run_body(rng))
        if a is not None and a.status == 429:
            if "cap" in (a.json or {}).get("error", {}).get("message", ""):
                self.note(self.cap, self.name, "call", begin, end, ("refused", 0))
            return
        if a is not None and a.status == 200:
            self.note(self.cap, self.name, "call", begin, end, ("in", self.unasked() - before))
        elif a is None or a.status == 202:
            self.note(self.cap, self.name, "call", begin, NEVER)
        self.ran(begin, end, a)
