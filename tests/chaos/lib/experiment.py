"""One experiment: its load, its checks, how the service comes back. And the list of all of them."""
import os, random, signal, time

from ledger import Cut, Load, Org

EXPERIMENTS = []
CALM_S = float(os.environ.get("TAB_CHAOS_CALM_S", "1.5"))  # of load before the fault
FREEZE_S = float(os.environ.get("TAB_CHAOS_FREEZE_S", "10"))  # of the experiments that freeze something


class Skip(Exception):
    pass


class Fault:
    def __init__(self, id, what, fn, twins, within):
        self.id, self.what, self.fn, self.twins, self.within = id, what, fn, twins, within


def fault(id, what, twins=False, within=10):
    """Registers an experiment. twins: every daemon runs twice. within: seconds of recovery, at most."""

    def take(fn):
        EXPERIMENTS.append(Fault(id, what, fn, twins, within))
        return fn

    return take


class Experiment:
    prober, bases = None, None

    @classmethod
    def prepare(cls, world):
        """An organization of its own, whose calls tell when every route works again; and the bases."""
        cls.prober = Org(world.org("green", "enterprise"), "green")
        models = cls.prober.patient("GET", "/v2/models").json["models"]
        cls.bases = [m["id"] for m in models if m["id"] in ("base-1", "base-2")]
        cls.live = cls.prober.create(random.Random(1), cls.bases[0])
        assert cls.live is not None, "the first endpoint does not come to life"
        for _ in range(20):  # warm: pools and caches are at their size
            cls.prober.run(random.Random(2))
            cls.prober.serve(cls.live)

    def __init__(self, world, e):
        self.world, self.e, self.checks, self.recovery, self.load = world, e, [], {}, None
        self.seed = int(os.environ.get("TAB_CHAOS_SEED", "0")) or random.randrange(1, 10**6)
        self.rng = random.Random(self.seed)
        self.healed = None
        self.extra = []

    def start(self, calm=CALM_S):
        self.load = Load(self.world, self.bases, self.seed)
        time.sleep(calm)

    def check(self, what, ok, detail=""):
        self.checks.append((what, bool(ok), detail))
        return ok

    def heal(self):
        """After the fault: seconds until each class of routes has its last failure before 20 rounds of
        successes."""
        if self.healed is not None:
            return
        self.healed = time.monotonic()
        o, rng = self.prober, random.Random(5)
        classes = {
            "read": lambda: o.call("GET", "/v2/jobs", timeout=8).status == 200,
            "run": lambda: self.probe_run(rng),
            "serve": lambda: o.serve(self.live).status == 200,
            "keys": self.probe_key,
        }
        bad_until = dict.fromkeys(classes, self.healed)
        good = 0
        # as long as it takes where nothing fails: how soon rounds follow is the machine's
        while good < 20 and max(bad_until.values()) < self.healed + 60:
            good += 1
            for name, probe in classes.items():
                if name == "keys" and good % 5:
                    continue
                try:
                    ok = probe()
                except Cut:
                    ok = False
                if not ok:
                    bad_until[name], good = time.monotonic(), 0
            if good == 0:
                time.sleep(0.05)
        self.recovery = {k: round(v - self.healed, 1) if good >= 20 else None for k, v in bad_until.items()}
        worst = max((60 if v is None else v) for v in self.recovery.values())
        self.check(
            f"{self.e.what}: recovers within {self.e.within} s", worst <= self.e.within, str(self.recovery)
        )

    def probe_run(self, rng):
        n = len(self.prober.runs)
        self.prober.run(rng)
        return len(self.prober.runs) > n

    def probe_key(self):
        a = self.prober.call("POST", "/v2/keys", {"name": "p", "scopes": ["read"]})
        if a.status != 201:
            return False
        self.prober.audited.append(("key.create", a.json["id"]))
        self.prober.keys[a.json["id"]] = a.json["key"]
        return True

    def end(self):
        return self.load.end() if self.load else True

    def orgs(self):
        return (self.load.orgs if self.load else []) + [self.prober] + self.extra

    def rescue(self):
        """After an experiment that broke off: everything runs again, as far as can be."""
        for name in list(self.world.via):
            for server in self.world.via[name]:
                self.world.link(f"{name}.{server}", mode="pass", trap=[], kill=0)
        self.world.supervisor(signal.SIGCONT)
        for name in ["postgres", "nats", "redis", *self.world.daemons]:
            try:
                self.world.thaw(self.world.family(name))
            except (KeyError, OSError):
                pass
        self.end()

    # ---- for the scenarios

    def organization(self, name, plan="enterprise"):
        o = Org(self.world.org(name, plan), name)
        self.extra.append(o)
        return o

    def raw_failures(self):
        """Of the client that does not retry, since the start: (cut or 5xx)."""
        return [
            (c.method, c.path, c.answer)
            for o in self.load.orgs
            for c in o.calls
            if c.ended is not None and (c.answer in (None, "hangs") or c.answer.status >= 500)
        ]

    def requests(self):
        return sum(len(o.calls) for o in self.load.orgs) if self.load else 0

    def failures(self):
        out = {}
        for _, _, a in self.raw_failures() if self.load else []:
            kind = (
                "cut"
                if a is None
                else a
                if isinstance(a, str)
                else f"{a.status} {(a.json or {}).get('error', {}).get('type')}"
            )
            out[kind] = out.get(kind, 0) + 1
        return out

    def frozen(self, name, seconds=FREEZE_S):
        pids = self.world.freeze(name)
        time.sleep(seconds)
        self.world.thaw(pids)

    def killed(self, *names):
        old = {n: self.world.pid(n) for n in names}
        for n in names:
            self.world.kill(n)
        for n in names:
            self.check(f"{n} is started again", self.world.restarted(n, old[n]))

    def slow_job(self, org, rows=4000, name="slow"):
        """A batch run whose pass takes seconds; gives the job."""
        rng = self.rng
        body = [[round(rng.random() * 100, 2) for _ in range(7)] + [rng.choice("abc")] for _ in range(rows)]
        a = org.patient(
            "POST",
            "/v2/run",
            {
                "tables": [{"id": name, "columns": [f"c{i}" for i in range(8)], "rows": body}],
                "target": {"column": "c7"},
                "base": self.bases[0],
                "options": {"processing": "batch"},
            },
            f"slow-{rng.random()}",
        )
        org.odd_cells[a.json["job_id"]] = rows * 8
        return a.json["job_id"]

    def running(self, org, job, seconds=20):
        """Waits until the job's pass is under way."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            j = org.patient("GET", f"/v2/jobs/{job}").json
            if j["status"] == "running" and j["progress"] > 2:
                return True
            if j["status"] not in ("queued", "running"):
                return False
            time.sleep(0.03)
        return False

    def job(self, org, job):
        return org.patient("GET", f"/v2/jobs/{job}").json

    def events(self, job):
        return int(
            self.world.sql("SELECT count(*) FROM metering.event WHERE event_id = %s", f"job/{job}")[0][0]
        )
