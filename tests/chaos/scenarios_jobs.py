"""Jobs of endpoints killed in each phase: the old state byte for byte, or the new one whole; billed once or
not."""
import concurrent.futures, os, time

from experiment import fault
from ledger import Cut

# where the job is when its worker dies: what its link carries then
PHASES = [
    ("pins", "jobs.nats", ["tabella.v1.data-connector.", "Acquire "], "up"),
    ("pass", "jobs.nats", ["tabella.v1.inference.", "Evaluate "], "up"),
    ("stage", "jobs.postgres", ["were not used for fitting", "COMMIT"], "up"),
    ("mint", "jobs.nats", ["tabella.v1.reports.", "Mint "], "up"),
    ("end, before its commit", "jobs.postgres", ["tabella.event.work.done", "COMMIT"], "up"),
    ("end, after its commit", "jobs.postgres", ["tabella.event.work.done", "COMMIT"], "down"),
]


@fault("J01", "jobs killed in each phase of create, refresh and upgrade", within=10)
def each_phase(x):
    """The three kinds at once on three endpoints: the first to come into the phase pulls the trigger, the
    others die where they are. TAB_CHAOS_LONG: each kind alone in each phase."""
    w, org = x.world, x.organization("j01")
    other = lambda e: next(b for b in x.bases if b != e.base)
    kinds = {
        "create": lambda e: org.create(x.rng, x.bases[0]) is not None,
        "refresh": lambda e: org.move(e, "refresh") == "done",
        "upgrade": lambda e: org.move(e, "upgrade", other(e)) == "done",
    }
    mine = {k: org.create(x.rng, x.bases[0]) for k in ("refresh", "upgrade")} | {"create": None}
    x.load.stop.set()  # the background load would pull the trigger, too
    x.end()
    sets = [[k] for k in kinds] if os.environ.get("TAB_CHAOS_LONG") else [list(kinds)]
    for phase, link, texts, side in PHASES:
        for kinds_now in sets:
            w.all_ready(15)
            for e in mine.values():
                if e:
                    org.serve(e, patient=True)
            w.trap(link, texts, "jobs", side=side, deliver=side == "up" and link.endswith("nats"))
            with concurrent.futures.ThreadPoolExecutor() as pool:
                done = dict(zip(kinds_now, pool.map(lambda k: kinds[k](mine[k]), kinds_now)))
            x.check(
                f"killed in {phase}: all come to their end", w.sprung(link, 0.1) and all(done.values()), done
            )
            time.sleep(2.6)  # then the state must be the new one
            for e in mine.values():
                if e:
                    org.serve(e, patient=True)


@fault("J02", "cancelled in each phase: the old state, and nothing billed", within=10)
def cancelled(x):
    """Also how soon cancelling stops the computation: within 1 s."""
    org = x.organization("j02")
    e = org.create(x.rng, x.bases[0])
    for i in range(6):
        org.serve(e, patient=True)
        org.move(
            e,
            "refresh" if i % 2 else "upgrade",
            None if i % 2 else next(b for b in x.bases if b != e.base),
            cancel_after=i * 0.05,
        )
        time.sleep(0.1)
        org.serve(e, patient=True)
    x.end()  # so that what inference computes is the job's
    slow = []
    for _ in range(3):
        job = x.slow_job(org)
        x.check("a pass is under way", x.running(org, job))
        at = time.monotonic()
        org.cancel(job)
        slow.append(round(idle_at(x, "inference") - at, 2))
        x.check(
            "cancelled, and nothing is billed",
            x.job(org, job)["status"] == "cancelled" and x.events(job) == 0,
        )
    x.check("the computation stops within 1 s", max(slow) < 1.0, slow)
    print(f"#    J02 the pass had stopped after {slow} s", flush=True)


def idle_at(x, name, seconds=10):
    """When the process last used more than a fifth of a core."""
    stat, tick = f"/proc/{x.world.pid(name)}/stat", 1 / os.sysconf("SC_CLK_TCK")
    used = lambda: sum(map(int, open(stat).read().rsplit(")", 1)[1].split()[11:13])) * tick
    end, busy, cpu, at = time.monotonic() + seconds, time.monotonic(), used(), time.monotonic()
    while time.monotonic() < min(end, busy + 1.0):
        time.sleep(0.1)
        now, t = used(), time.monotonic()
        if now - cpu > 0.2 * (t - at):
            busy = t
        cpu, at = now, t
    return busy


@fault("J03", "endpoints deleted while they are served", within=5)
def deleted_under_load(x):
    """Readers race with the deletion: what they have read too late must not bring the endpoint back (I7
    tells)."""
    org = x.organization("j03")
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        ends = list(pool.map(lambda i: org.create(x.rng, x.bases[0]), range(4)))

        def serve(e):
            end = None
            while end is None or time.monotonic() < end:
                if e.deleted and end is None:
                    end = time.monotonic() + 2.5
                try:
                    org.serve(e)
                except Cut:
                    pass

        for e in ends:
            busy = [pool.submit(serve, e) for _ in range(6)]
            time.sleep(0.3)
            org.delete(e)
            for b in busy:
                b.result()
    late = [s for e in ends for s in e.serves if s[5]]
    x.check(
        "each call that began after a deletion is 404",
        len(late) > 20 and {s[2] for s in late} == {404},
        {s[2] for s in late},
    )
