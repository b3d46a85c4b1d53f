"""One seed: its load, its faults, the end of all faults, and what is then held against the models."""
import os, random, signal, threading, time, urllib.error, urllib.request

from linear import failure
from errands import Administrator, lay_source
from load import Capped, Histories, now
from points import HITS
import ground, invariants, schedule

CONVERGE_S = 30  # after the last fault everything is at rest and right within it
ROOM = 12  # runs of the capped organization
USD_A_CELL = 0.1 / 1e6
# where a call goes on without the meter's word, and where the meter answers without having looked
UNASKED = ("allowance.unasked", "allowance.unanswered", "reserve.unknown")

# the mix of an organization's callers: weight, what
CALLS = [
    (5, "one_run"),
    (4, "keyed"),
    (3, "key_life"),
    (3, "job_life"),
    (3, "usage"),
    (6, "errand"),
]


class Faults:
    """Plays a schedule against a world, and undoes what is not undone at the end."""

    def __init__(self, world, plan, points=None, network=None, disk=None):
        self.w, self.plan, self.done, self.at = world, plan, [], []
        self.points, self.network, self.disk = points, network, disk

    def play(self, began):
        marks = sorted(
            [(at, 1, i) for i, (at, *_) in enumerate(self.plan)]
            + [(at + long, 0, i) for i, (at, _, _, long, _) in enumerate(self.plan) if long]
        )
        self.undo = {}
        for at, starts, i in marks:
            time.sleep(max(0, began + at - now()))
            if starts:
                self.start(i)
            elif i in self.undo:
                self.undo.pop(i)()
        for what in list(self.undo.values()):
            what()
        self.undo.clear()

    def start(self, i):
        _, kind, on, long, much = self.plan[i]
        began = now()
        try:
            undo = getattr(self, kind)(on, much)
        except (OSError, KeyError, ValueError, RuntimeError) as problem:  # it was not there to be broken
            self.done.append((kind, on, type(problem).__name__))
            return
        self.done.append((kind, on, "done"))
        self.at.append((began, f"{kind} for {long:g} s" if long else kind, on))
        if undo:
            self.undo[i] = undo

    def unasked(self):
        """How many calls went on without the meter's word so far. A build without points does not tell: each
        may have."""
        return sum(self.points.get(p, HITS) for p in UNASKED) if self.points else now()

    # ---- each fault; what it gives undoes it

    def kill(self, on, _):
        self.w.kill(on)

    def freeze(self, on, _):
        pids = self.w.freeze(on)
        return lambda: self.w.thaw(pids)

    def link(self, on, mode, **more):
        self.w.link(on, mode=mode, **more)
        return lambda: self.w.link(on, mode="pass")

    def lost(self, on, mode):
        """Bytes that were swallowed never come: so the connections end with it, as after a long partition."""
        self.w.link(on, mode=mode)

        def undo():
            self.w.link(on, mode="cut")
            self.w.link(on, mode="pass")

        return undo

    def deaf(self, on, _):
        return self.lost(on, "deaf")

    def mute(self, on, _):
        return self.lost(on, "mute")

    def hole(self, on, _):
        return self.lost(on, "hole")

    def late(self, on, much):
        """A short partition in one direction: what was sent comes when it is over."""
        return self.link(on, "late", side="up" if much % 2 else "down")

    def cut(self, on, _):
        return self.link(on, "cut")

    def slow(self, on, much):
        return self.link(on, "slow", ms=much)

    @staticmethod
    def aside(what):
        """What asks a server that may be frozen: the faults that follow, its thaw among them, do not wait."""
        t = threading.Thread(target=what, daemon=True)
        t.start()
        t.join(2)

    def backends(self, on, _):
        end_some = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename ^@ 'tabella' AND "
            "pid <> pg_backend_pid() AND state <> 'idle' ORDER BY random() LIMIT 3"
        )
        self.aside(lambda: self.w.open_psql("-c", end_some).communicate())

    def postgres(self, on, much):
        self.w.kill("postgres", signal.SIGINT if much % 2 else signal.SIGKILL)

    def nats(self, on, _):
        self.w.kill("nats")

    def redis(self, on, _):
        self.w.kill("redis", signal.SIGTERM)

    def wipe(self, on, _):
        self.aside(lambda: self.w.redis("FLUSHALL"))

    def packets(self, on, much):
        """Lost in the kernel, one way or both: TCP sends them again when it is over."""
        return self.network.lose(self.w.links[on], ("mute", "deaf", "both")[much % 3])

    def slow_disk(self, on, much):
        self.disk.order(slow=much)
        return self.disk.order

    def full_disk(self, on, _):
        self.disk.order(full=1)
        return self.disk.order

    def power(self, on, _):
        self.without_power([on])

    def without_power(self, names):
        """A machine without power: what was not synced is gone with its processes."""
        self.w.supervisor(signal.SIGSTOP)  # nobody takes over before it is gone
        try:
            for pid in [self.w.pid(name) for name in names]:
                os.kill(pid, signal.SIGKILL)
                ground.ended(pid)
            ground.unsynced(self.w.run / "journal")
        finally:
            self.w.supervisor(signal.SIGCONT)

    def renew(self, on, _):
        """Stopped in order and started again, as an upgrade does."""
        self.w.kill(on, signal.SIGTERM)

    def clock(self, on, much):
        pid = self.w.pid(on)
        self.points.clock(pid, much)
        return lambda: self.points.clock(pid, 0)


class Seed:
    def __init__(self, world, bases, seed, seconds, has):
        """has: points, network and disk, where they are there."""
        self.world, self.seed, self.seconds, self.bases = world, seed, seconds, bases
        self.h, self.wrong, self.told = Histories(), [], {}
        self.faults = Faults(world, schedule.faults(seed, seconds, has), **has)
        self.orgs = [
            Administrator(world.org(f"s{seed}-{n}", "enterprise"), f"s{seed}-{n}", self.h, seed)
            for n in ("red", "blue")
        ]
        source = lay_source(world)
        for o in self.orgs:
            o.source = source
        client = world.org(f"s{seed}-cap", "api")
        cents = ROOM * 48 * USD_A_CELL
        code, _, err = world.admin("org", "set", client.org, "--spend-cap", f"{cents:.9f}")
        assert code == 0, err
        self.capped = Capped(client, f"s{seed}-cap", self.h, seed, ROOM)
        self.capped.unasked = self.faults.unasked

    # ---- the load

    def work(self, org, name, do):
        rng = random.Random(f"{self.seed} {name}")
        while not org.stop.is_set():
            do(rng)
            org.stop.wait(0.005)

    def one_of(self, org, rng):
        what = rng.choices([c for _, c in CALLS], [w for w, _ in CALLS])[0]
        getattr(org, what)(rng)

    def callers(self):
        out = []
        for o in self.orgs:
            for i in range(2):
                out.append((o, f"{o.name}.{i}", lambda rng, o=o: self.one_of(o, rng)))
            out.append((o, f"{o.name}.e", lambda rng, o=o: o.endpoint_life(rng, self.bases)))

        def cap(rng):
            """Up to three at once, so that they meet where the room ends."""
            seeds = [rng.random() for _ in range(rng.randrange(1, 4))]
            self.capped.together(*[lambda s=s: self.capped.one_run(random.Random(s)) for s in seeds])
            self.capped.stop.wait(self.seconds / ROOM)

        out += [(self.capped, f"cap.{i}", cap) for i in range(2)]
        return out

    def run(self):
        self.hashes = invariants.hashes(self.world)
        threads = [
            threading.Thread(target=self.work, args=(o, n, do), name=n.split("-")[-1], daemon=True)
            for o, n, do in self.callers()
        ]
        began = now()
        for t in threads:
            t.start()
        self.faults.play(began)
        time.sleep(max(0, began + self.seconds - now()))
        healed = now()
        for o in [*self.orgs, self.capped]:
            o.stop.set()
        for t in threads:
            t.join(max(0.1, healed + 120 - now()))
        if any(t.is_alive() for t in threads):
            self.wrong.append(f"these do not end: {[t.name for t in threads if t.is_alive()]}")
        self.converge(healed)
        self.check()
        return not self.wrong

    # ---- after the faults

    REST = {
        "jobs at work": "SELECT count(*) FROM jobs.job WHERE status IN ('queued', 'running')",
        "bills": "SELECT count(*) FROM api.bill",
    } | {
        f"events of {s}": f"SELECT (SELECT count(*) FROM {s}.outbox_due) + (SELECT count(*) FROM {s}.outbox "
        "WHERE published IS NULL)"
        for s in ("api", "jobs")
    }

    def converge(self, healed):
        """Everything is ready and at rest within CONVERGE_S of the last fault, or of the last call."""
        end = max(healed, now()) + CONVERGE_S
        left = ["ready"]
        while left and now() < end:
            try:
                self.world.all_ready(max(1, end - now()))
                left = [f"{d} is not ready: {why}" for d in self.world.daemons if (why := self.unready(d))]
                left += [
                    f"{n} {what}" for what, ask in self.REST.items() if (n := int(self.world.sql(ask)[0][0]))
                ]
            except RuntimeError as away:
                left = [str(away)[:200]]
            if left:
                time.sleep(0.2)
        self.told["converged"] = round(now() - healed, 1)
        if left:
            self.wrong.append(f"not at rest {CONVERGE_S} s after the last fault: {left}")

    def unready(self, daemon):
        try:
            url = f"http://127.0.0.1:{self.world.ports[daemon + '-health']}/readyz"
            return "" if urllib.request.urlopen(url, timeout=5).status == 200 else "?"
        except urllib.error.HTTPError as e:
            return e.read().decode()[:200]
        except OSError as e:
            return str(e)

    def around(self, ops):
        """Where the whole history lies, and the faults of its time."""
        first, last = min(o.begin for o in ops), max(o.end for o in ops if o.known)
        path = f"build/seeds-{self.seed}.txt"
        with open(path, "a") as f:
            f.write("".join(f"{o}\n" for o in sorted(ops, key=lambda o: o.begin)) + "\n")
        near = [f"{at:.3f} {kind} {on}" for at, kind, on in self.faults.at if first - 10 <= at <= last]
        return f"      all of it: {path}; faults: {', '.join(near) or 'none'}"

    @staticmethod
    def pages(o):
        """Every job that was answered is in the pages of the list, and none is twice."""
        listed, cursor = [], ""
        while True:
            a = o.patient("GET", f"/v2/jobs?limit=7{cursor}")
            if a is None or a.status != 200:
                return [f"{o.name}: the list of jobs cannot be read: {a}"]
            listed += [j["job_id"] for j in a.json["jobs"]]
            if not a.json["next_cursor"]:
                break
            cursor = "&cursor=" + a.json["next_cursor"]
        wrong = [f"{o.name}: {j} is listed twice" for j in set(listed) if listed.count(j) > 1]
        wrong += [f"{o.name}: {j} is not listed" for j in {*o.batches, *(j for _, j in o.runs)} - set(listed)]
        return wrong[:3]

    def check(self):
        for o in [*self.orgs, self.capped]:
            if not any(o.read_usage("last") for _ in range(10)):
                self.wrong.append(f"{o.name}: the usage cannot be read")
            self.wrong += self.pages(o)
            for e in o.endpoints:
                if not e.deleted:
                    o.read_outcomes(e, "last")
            self.wrong += [f"{o.name}: the client that tries again gave up {f}" for f in o.finals[:2]]
            for name in ("I4", "I5", "I6", "I13"):
                found = [w for w in invariants.EACH[name](self.world, o) if "gave up" not in w]
                self.wrong += [f"{name} {o.name}: {w}" for w in found[:3]]
        self.wrong += [f"I12 {w}" for w in invariants.I12(self.world, self.hashes)[:3]]
        undecided = []
        for (name, key), ops in list(self.h.ops.items()):
            text, decided = failure(name, key, self.h.model[name, key], ops)
            if not decided:
                undecided.append(f"{name} {key}")
                self.around(ops)
            if text:
                self.wrong.append(f"{text}\n{self.around(ops)}")
        calls = sum(len(o.calls) for o in [*self.orgs, self.capped])
        self.told |= {
            "calls": calls,
            "events": 2 * calls,
            "histories": len(self.h.ops),
            "undecided": undecided,
        }
        self.told["ops"] = self.h.count()
        self.told["faults"] = sum(d[2] == "done" for d in self.faults.done)
