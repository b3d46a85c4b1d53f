"""Each daemon killed, frozen, stopped and replaced (F05 to F12, F18, F19)."""
import os, signal, time

from experiment import FREEZE_S, fault


@fault("F05", "api killed", within=3)
def api_killed(x):
    x.killed("api")


@fault("F01", "the gateway killed", within=2)
def gateway_killed(x):
    x.killed("gateway")


@fault("F13", "metering killed, then frozen", within=5)
def metering_killed(x):
    """Requests keep working: what they owe waits in the outbox of whoever did the work."""
    at = len(x.raw_failures())
    x.killed("metering")
    x.frozen("metering", 4)
    bad = [f for f in x.raw_failures()[at:] if f[1] != "/v2/usage"]
    x.check("nothing but the usage fails", not bad, bad[:3])


@fault("F14", "keys killed", within=5)
def keys_killed(x):
    at = len(x.raw_failures())
    x.killed("keys")
    bad = [f for f in x.raw_failures()[at:] if not f[1].startswith(("/v2/keys", "/v2/models", "/v2/usage"))]
    x.check("keys that the gateway knows work on", not bad, bad[:3])


@fault("F15", "data-connector killed", within=10)
def data_killed(x):
    """While endpoints are created from inline tables: no half of a snapshot stays."""
    for _ in range(2):
        x.killed("data-connector")
        time.sleep(1)
    half = x.world.sql(
        "SELECT s.id FROM data_connector.snapshot s LEFT JOIN data_connector.piece p ON p.org = s.org "
        "AND p.snapshot = s.id "
        "WHERE s.kept GROUP BY s.org, s.id, s.rows, s.cols HAVING coalesce(sum(p.rows * p.cols), "
        "0) <> s.rows * s.cols"
    )
    x.check("every snapshot is whole", not half, half[:3])


@fault("F16", "every daemon killed at once", within=10)
def all_killed(x):
    x.killed(*x.world.daemons)


@fault("F06", "one of two apis frozen", twins=True, within=10)
def api_frozen(x):
    """What the thawed process still commits must change nothing: invariants I2 and I9 check it."""
    pids = x.world.freeze("api")
    time.sleep(3)  # the gateway finds out by a timeout; then the other api has it all
    at = len(x.raw_failures())
    time.sleep(FREEZE_S - 3)
    late = x.raw_failures()[at:]
    x.world.thaw(pids)
    x.check("no call hangs past the gateway's own time", all(a != "hangs" for _, _, a in late), late[:3])


@fault("F07", "inference killed in the middle of a pass", within=10)
def inference_killed(x):
    org = x.organization("f07")
    job = x.slow_job(org)
    x.check("a pass is under way", x.running(org, job))
    x.killed("inference")
    at, again = time.monotonic(), False
    while time.monotonic() < at + 12 and not again:
        again = int(x.world.sql("SELECT attempt FROM jobs.job WHERE job_id = %s", job)[0][0]) > 1
        time.sleep(0.05)
    x.check("taken over within 10 s", again and time.monotonic() - at < 10, f"{time.monotonic() - at:.1f} s")
    x.check("and done", org.wait(job) == "done", x.job(org, job))
    x.check("with one usage event", wait_events(x, job, 1))


def wait_events(x, job, n, seconds=8):
    end = time.monotonic() + seconds
    while x.events(job) != n and time.monotonic() < end:
        time.sleep(0.1)
    return x.events(job) == n


def until(seconds, what):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := what():
            return answer
        time.sleep(0.05)
    return False


@fault("F08", "one of two inference workers frozen past the lease", twins=True, within=10)
def inference_frozen(x):
    org = x.organization("f08")
    jobs = [x.slow_job(org), x.slow_job(org, rows=3000)]
    x.check("passes are under way", all([x.running(org, j) for j in jobs]))
    x.frozen("inference", 8 + 5)
    for j in jobs:
        x.check("done by the other worker", org.wait(j) == "done", x.job(org, j))
        x.check("with one usage event", wait_events(x, j, 1))


@fault("F09", "inference killed in every pass of one job", within=10)
def inference_killed_again_and_again(x):
    org = x.organization("f09")
    job = x.slow_job(org)
    deaths, last = 0, 0

    def at_work():
        rows = x.world.sql(
            "SELECT attempt FROM jobs.job WHERE job_id = %s AND attempt > %s AND status = 'running' AND "
            "progress > 2",
            job,
            last,
        )
        return rows or x.job(org, job)["status"] == "failed"

    while deaths < 8 and type(rows := until(120, at_work)) is list:  # an attempt may find nobody there
        last = int(rows[0][0])
        x.killed("inference")
        deaths += 1
    x.check("at the fourth death the job has failed", org.wait(job) == "failed" and deaths == 4, deaths)
    j = x.job(org, job)
    x.check("it says why", j["error"] and "time" in j["error"], j["error"])
    x.check("nothing is billed", x.events(job) == 0)


@fault("F10", "a job whose body kills its worker each time", within=10)
def poison(x):
    """The link of the worker kills it when it has brought the name of the table and the worker has begun with
    it: each try is a worker's death, also where the pass itself would have had a process of its own."""
    org, other = x.organization("f10"), x.organization("f10-other")
    w = x.world
    w.trap("inference.nats", ["poisonous", "Tab-Beat"], "inference", side="up", deliver=True)
    job = x.slow_job(org, rows=50, name="poisonous")
    deaths, end, quick = 0, time.monotonic() + 60, []
    while time.monotonic() < end:
        if w.link("inference.nats")["fired"]:
            deaths += 1
            x.check("inference is started again", w.all_ready(15))
            w.trap("inference.nats", ["poisonous", "Tab-Beat"], "inference", side="up", deliver=True)
        if x.job(org, job)["status"] not in ("queued", "running"):
            break
        time.sleep(0.1)
    w.link("inference.nats", trap=[], kill=0)
    j = x.job(org, job)
    x.check(
        "after its tries it has failed, with a message",
        j["status"] == "failed" and j["error"] and 4 <= deaths <= 6,  # one may come before its try has begun
        (deaths, j),
    )
    x.check("nothing is billed", x.events(job) == 0)
    mine = x.slow_job(other, rows=50)
    x.check("the queue goes on", other.wait(mine, 20) == "done")


@fault("F11", "jobs killed, then frozen", within=10)
def jobs_killed(x):
    org = x.organization("f11")
    job = x.slow_job(org)
    x.check("a pass is under way", x.running(org, job))
    x.killed("jobs")
    x.frozen("jobs", 6)
    at = time.monotonic()
    second = x.slow_job(org, rows=20)
    x.check(
        "a queued job starts within 5 s", x.running(org, second, 8) or x.job(org, second)["status"] == "done"
    )
    x.check("one that had begun ends done", org.wait(job) == "done", x.job(org, job))
    x.check("with one usage event", wait_events(x, job, 1))
    print(f"#    F11 the second job moved after {time.monotonic() - at:.1f} s", flush=True)


@fault("F11B", "one of two jobs daemons frozen past its lease", twins=True, within=10)
def jobs_frozen(x):
    """The worker that held the job thaws after another has taken it over: nothing that it does may count."""
    org = x.organization("f11b")
    job = x.slow_job(org)
    x.check("a pass is under way", x.running(org, job))
    holder = next(
        d for d in ("jobs", "jobs-2") if job.encode() in (x.world.run / f"log/{d}.log").read_bytes()
    )
    x.frozen(holder, 8 + 3)
    x.check("done", org.wait(job) == "done", x.job(org, job))
    attempt = int(x.world.sql("SELECT attempt FROM jobs.job WHERE job_id = %s", job)[0][0])
    x.check("by another attempt", attempt > 1, attempt)
    x.check("with one usage event", wait_events(x, job, 1))


@fault("F12", "reports killed between evaluation and mint", within=10)
def reports_killed(x):
    w, org = x.world, x.organization("f12")
    e = org.create(x.rng, x.bases[0])
    for kind, deliver in (("refresh", False), ("refresh", True)):
        w.trap("jobs.nats", ["tabella.v1.reports.", "Mint "], "reports", deliver=deliver)
        status = org.move(e, kind)
        x.check(
            f"reports was killed {'after' if deliver else 'before'} it heard of the mint",
            w.sprung("jobs.nats", 0.1),
        )
        x.check(f"the {kind} is done", status == "done", status)
    n = {
        k: int(c)
        for k, c in w.sql(
            "SELECT kind, count(*) FROM reports.report WHERE endpoint_id = %s GROUP BY kind", e.id
        )
    }
    x.check("exactly one report each", n == {"create": 1, "refresh": 2}, n)
    live = w.sql(
        "SELECT endpoint_id FROM jobs.endpoint e WHERE status = 'live' AND deleted_at IS NULL AND NOT EXISTS "
        "(SELECT 1 FROM reports.report r WHERE r.org = e.org AND r.endpoint_id = e.endpoint_id)"
    )
    x.check("no endpoint is live without its report", not live, live)


def stop_gracefully(x, names):
    """SIGTERM to each; gives (name, exit code or None, seconds)."""
    w, out = x.world, []
    for name in names:
        old = w.pid(name)
        mark = (w.run / "log/supervisor.log").stat().st_size
        at = time.monotonic()
        w.kill(name, signal.SIGTERM)
        w.restarted(name, old, 15)
        took = time.monotonic() - at
        said = (w.run / "log/supervisor.log").read_bytes()[mark:].decode()
        code = next(
            (l.split("(")[1].split(")")[0] for l in said.splitlines() if l.startswith(f"{name} ended")), None
        )
        out.append((name, code, took))
        w.all_ready(15)
    return out


@fault("F18", "SIGTERM to each daemon in turn", twins=True, within=10)
def graceful(x):
    """One of each two: no request fails, also of the client that does not retry."""
    at = len(x.raw_failures())
    for name, code, took in stop_gracefully(x, [d for d in x.world.daemons if not d.endswith("-2")]):
        x.check(f"{name} exits 0 within its time", code == "0" and took < 6 + 3, (code, f"{took:.1f} s"))
    bad = x.raw_failures()[at:]
    x.check("no request fails", not bad, bad[:4])


@fault("F18B", "SIGTERM while NATS is away", within=10)
def graceful_without_nats(x):
    w = x.world
    w.supervisor(signal.SIGSTOP)
    pids = {d: w.pid(d) for d in w.daemons}
    w.kill("nats")
    time.sleep(0.5)
    # and while jobs calls a service that is not there
    chore = "INSERT INTO jobs.chore (org, kind, owner) VALUES (%s, 'drop', 'job_of_nobody')"
    w.sql(chore, x.prober.org)
    begun = "SELECT 1 FROM jobs.chore WHERE owner = 'job_of_nobody' AND tries > 0"
    x.check("jobs is at a chore", until(60, lambda: w.sql(begun)))
    at, left, took = time.monotonic(), dict(pids), {}
    for p in pids.values():
        try:
            os.kill(p, signal.SIGTERM)
        except ProcessLookupError:
            pass
    while left and time.monotonic() < at + 20:
        for d, p in list(left.items()):
            try:
                state = open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()[0]
            except OSError:
                state = "X"
            if state in "ZX":
                took[d] = round(time.monotonic() - at, 1)
                del left[d]
        time.sleep(0.02)
    w.supervisor(signal.SIGCONT)
    x.check(
        "every daemon ends within its drain time", not left and max(took.values()) < 6 + 2, (took, list(left))
    )
    print(f"#    F18B ended after {took}", flush=True)


@fault("F18C", "SIGTERM to inference while jobs is frozen", within=10)
def graceful_without_jobs(x):
    """What it counted of many endpoints cannot be handed over: a stop waits for that once, not for each."""
    w, org = x.world, x.organization("f18c")
    x.load.stop.set()
    x.end()
    endpoints = [org.create(x.rng, x.bases[0]) for _ in range(4)]
    for e in 2 * endpoints:  # the first time they are fitted
        org.serve(e, patient=True)
    pids = w.freeze("jobs")
    [(name, code, took)] = stop_gracefully(x, ["inference"])
    w.thaw(pids)
    x.check("it ends within its drain time", code == "0" and took < 6 + 8, (code, f"{took:.1f} s"))


@fault("F19", "rolling restart of everything", twins=True, within=10)
def rolling(x):
    """One after the other, as fast as they come up."""
    at = len(x.raw_failures())
    first = [d for d in x.world.daemons if not d.endswith("-2")]
    ends = stop_gracefully(x, first)
    for name, code, took in ends + stop_gracefully(x, [d for d in x.world.daemons if d not in first]):
        x.check(f"{name} exits 0 within its time", code == "0" and took < 6 + 3, (code, f"{took:.1f} s"))
    bad = x.raw_failures()[at:]
    x.check("no request fails", not bad, bad[:4])
