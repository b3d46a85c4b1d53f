"""PostgreSQL, Redis and NATS restarted, killed, frozen, wiped, full (F21 to F24, F28 to F36); lost links
(F66, F69)."""
import os, random, signal, threading, time

from experiment import FREEZE_S, Skip, fault
from ledger import Cut


def restart(x, name, how):
    old = x.world.pid(name)
    x.world.kill(name, how)
    x.check(f"{name} is started again", x.world.restarted(name, old, 30))


def without(x, name, seconds, meanwhile=None):
    """The server is killed and stays away so long: its supervisor is frozen."""
    w = x.world
    w.supervisor(signal.SIGSTOP)
    try:
        w.kill(name)
        time.sleep(0.2)
        if meanwhile:
            meanwhile()
        time.sleep(seconds)
    finally:
        w.supervisor(signal.SIGCONT)


@fault("F21", "PostgreSQL restarted, fast", within=5)
def postgres_restarted(x):
    restart(x, "postgres", signal.SIGINT)


@fault("F22", "PostgreSQL killed", within=10)
def postgres_killed(x):
    restart(x, "postgres", signal.SIGKILL)


@fault("F23", "PostgreSQL's backends terminated at random", within=5)
def backends_terminated(x):
    end, ended = time.monotonic() + 6, 0
    while time.monotonic() < end:
        try:
            ended += len(
                x.world.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename ^@ 'tabella' "
                    "AND pid <> pg_backend_pid() "
                    "AND state <> 'idle' ORDER BY random() LIMIT 1"
                )
            )
        except RuntimeError:
            pass
        time.sleep(0.1)
    x.check("backends at work were terminated", ended > 3, ended)


@fault("F24", "PostgreSQL frozen", within=10)
def postgres_frozen(x):
    threads = {d: n for d, n in x.world.resources().items() if d.endswith("threads")}
    began = time.monotonic()
    pids = x.world.freeze("postgres")
    slow = []
    while time.monotonic() < began + 25:
        at = time.monotonic()
        try:
            x.prober.call("GET", "/v2/jobs", timeout=40)
        except Cut:
            pass
        slow.append(time.monotonic() - at)
    late = [
        (c.method, c.path, round(time.monotonic() - c.began, 1))
        for o in x.load.orgs
        for c in list(o.calls)
        if c.ended is None and began < c.began < began + 5
    ]
    now = {d: len(os.listdir(f"/proc/{x.world.pid(d.split()[0])}/task")) for d in threads}
    x.world.thaw(pids)
    # calls may wait 10 s for it; twice that is room for a busy machine
    x.check("a read is answered", max(slow) < 20, [round(s, 1) for s in slow])
    x.check("what began in its first five seconds is answered before it comes back", not late, late)
    x.check("no threads pile up", all(now[d] <= threads[d] + 12 for d in threads), (threads, now))


@fault("F28", "Redis restarted", within=2)
def redis_restarted(x):
    restart(x, "redis", signal.SIGTERM)


@fault("F29", "Redis wiped", within=5)
def redis_wiped(x):
    for _ in range(6):
        x.world.redis("FLUSHALL")
        time.sleep(0.5)
    bad = [a for _, _, a in x.raw_failures() if a is None or not isinstance(a, str) and a.status >= 500]
    x.check("no 5xx", not bad, bad[:3])


@fault("F30", "Redis killed and away", within=5)
def redis_away(x):
    without(x, "redis", 6)
    bad = [f for f in x.raw_failures() if not f[1].startswith(("/v2/keys", "/platform"))]
    x.check("no 5xx but of changes of keys, which wait for Redis", not bad, bad[:3])


@fault("F31", "Redis frozen", within=5)
def redis_frozen(x):
    def reads():
        took = []
        end = time.monotonic() + 3
        while time.monotonic() < end:
            at = time.monotonic()
            try:
                x.prober.call("GET", "/v2/models")
            except Cut:
                pass
            took.append(time.monotonic() - at)
        return sorted(took)[int(len(took) * 0.95)]

    took = []  # three times at most: what else the machine does lengthens one time, a fault every time
    while len(took) < 3 and not any(during <= before + 0.1 for before, during in took):
        before = reads()
        pids = x.world.freeze("redis")
        time.sleep(3)
        during = reads()
        time.sleep(max(0, FREEZE_S - 6))
        x.world.thaw(pids)
        took.append((round(before, 3), round(during, 3)))
    x.check("p95 within 100 ms of before", any(d <= b + 0.1 for b, d in took), took)
    bad = [f for f in x.raw_failures() if not f[1].startswith(("/v2/keys", "/platform"))]
    x.check("no 5xx but of changes of keys", not bad, bad[:3])


@fault("F32", "Redis full", within=5)
def redis_full(x):
    x.world.redis("CONFIG", "SET", "maxmemory-policy", "noeviction")
    x.world.redis("CONFIG", "SET", "maxmemory", "1mb")
    time.sleep(4)
    x.world.redis("CONFIG", "SET", "maxmemory", "0")
    bad = [f for f in x.raw_failures() if not f[1].startswith(("/v2/keys", "/platform"))]
    x.check("no 5xx but of changes of keys", not bad, bad[:3])


@fault("F33", "the disk of Redis is full", within=5)
def redis_disk_full(x):
    if not x.world.mounted:
        raise Skip("a small disk cannot be mounted here")
    fill = x.world.run / "redis" / "fill"
    with open(fill, "wb", buffering=0) as f:
        try:
            while True:
                f.write(b"x" * 65536)
        except OSError:
            pass
    time.sleep(4)
    said = x.world.redis("SET", "tab:chaos", "1", "EX", "5")
    fill.unlink()
    x.check("the disk was full", "MISCONF" in said, said)
    bad = [f for f in x.raw_failures() if not f[1].startswith(("/v2/keys", "/platform"))]
    x.check("no 5xx but of changes of keys", not bad, bad[:3])


@fault("F34", "NATS killed", within=5)
def nats_killed(x):
    restart(x, "nats", signal.SIGKILL)


@fault("F35", "NATS frozen", within=10)
def nats_frozen(x):
    memory = {k: v for k, v in x.world.resources().items() if k.endswith("MiB")}
    x.frozen("nats")
    now = {k: v for k, v in x.world.resources().items() if k.endswith("MiB")}
    x.check("no memory grows", all(now[k] < memory[k] + 64 for k in memory), (memory, now))


@fault("F36", "NATS killed and away", within=10)
def nats_away(x):
    """Events wait in their outboxes meanwhile; calls answer 503."""
    without(x, "nats", 3)


@fault("F66", "one of two apis cut off from NATS while an endpoint moves", twins=True, within=10)
def invalidation_lost(x):
    """What it has cached may not outlive the state by more than 2 s; what was deleted is never served."""
    org = x.organization("f66")
    e, gone = org.create(x.rng, x.bases[0]), org.create(x.rng, x.bases[0])
    for _ in range(10):
        org.serve(e)
        org.serve(gone)
    x.world.link("api-2.nats", mode="cut")
    try:
        x.check("upgraded through the other", org.move(e, "upgrade", x.bases[1]) == "done")
        org.delete(gone)
        for _ in range(40):
            for one in (gone, e):
                try:
                    org.serve(one)
                except Cut:
                    pass
            time.sleep(0.08)
    finally:
        x.world.link("api-2.nats", mode="pass")
    after = [s for s in gone.serves if s[5]]
    x.check(
        "a deleted endpoint is 404 at once, or the api is away",
        after and all(s[2] in (404, 503) for s in after),
        after[:3],
    )


@fault("F69", "api killed around its own commit", within=10)
def api_killed_around_commit(x):
    """Before the commit of its bill: nothing is billed and the retry works. After it, before the answer: the
    retry gets what was stored, billed once."""
    w, org = x.world, x.organization("f69")
    for when, deliver, side in (("before it", False, "up"), ("after it", False, "down")):
        for _ in range(2):
            w.trap("api.postgres", ["tabella.event.work.done", "COMMIT"], "api", side=side, deliver=deliver)
            n = len(org.runs)
            org.run_keyed(x.rng)
            fired = w.sprung("api.postgres", 0.2)
            x.check(f"killed {when}: the retry is answered", fired and len(org.runs) > n, fired)
            w.all_ready(10)
    end, done = time.monotonic() + 30, 0
    while done < 4 and time.monotonic() < end:  # records come after the answers
        done = int(w.sql("SELECT count(*) FROM jobs.job WHERE org = %s", org.org)[0][0])
        time.sleep(0.1)
    x.check("four runs, four jobs", done == len(org.runs) == 4, (done, len(org.runs)))


@fault("F69B", "answers of PostgreSQL lost on their way to api", within=10)
def commit_unknown(x):
    """A one-way partition: committed, but nobody knows. The decisive test of exactly once."""
    w, org = x.world, x.organization("f69b")
    stop = threading.Event()

    def load():
        rng = random.Random(x.seed)
        while not stop.is_set():
            org.run_keyed(rng)

    t = threading.Thread(target=load)
    t.start()
    for _ in range(4):  # each time when one more run has come through, however long that takes here
        had, end = len(org.runs), time.monotonic() + 30
        while len(org.runs) == had and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.2 + 0.5 * x.rng.random())
        w.link("api.postgres", mode="deaf")
        time.sleep(0.4)
        w.link("api.postgres", mode="cut")
        time.sleep(0.2)
        w.link("api.postgres", mode="pass")
    stop.set()
    t.join(70)
    x.check("runs went on", len(org.runs) > 3, len(org.runs))


@fault("F69C", "answers of jobs lost on their way to api", within=10)
def answer_lost(x):
    """The job is there, the api does not know: a retry under the same key finds it, whatever it has become
    meanwhile."""
    w, org = x.world, x.organization("f69c")
    e = org.create(x.rng, x.bases[0])
    x.load.stop.set()
    x.end()
    for method, call in (
        ("CreateEndpoint", lambda: org.create(x.rng, x.bases[0]) is not None),
        ("Refresh", lambda: org.move(e, "refresh") == "done"),
        ("Upgrade", lambda: org.move(e, "upgrade", x.bases[1]) == "done"),
        ("Submit", lambda: org.batch(x.rng) is None),
    ):
        w.trap("api.nats", ["tabella.v1.jobs.", f"{method} "], None, deliver=True)
        good = call()
        x.check(f"{method}: the retry is answered", good and w.sprung("api.nats", 0.2), org.finals)
    kinds = {
        k: int(n) for k, n in w.sql("SELECT kind, count(*) FROM jobs.job WHERE org = %s GROUP BY 1", org.org)
    }
    x.check("one job each", kinds == {"create": 2, "refresh": 1, "upgrade": 1, "batch": 1}, kinds)
