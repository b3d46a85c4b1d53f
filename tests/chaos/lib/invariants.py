"""What must hold when the fault is gone and the queues are empty: each function looks at one organization's
ledger and at what the databases hold, and gives the list of what is wrong. The ids are those of the list of
faults."""
import collections, time

from ledger import COLS, PINNED, REQUEST, ROWS

LEGAL = {
    (400, "validation_error"),
    (401, "auth_error"),
    (403, "auth_error"),
    (404, "not_found"),
    (409, "conflict"),
    (422, "capability_unavailable"),
    (429, "rate_limit"),
    (500, "job_failed"),
    (500, "internal"),
    (502, "internal"),
    (503, "internal"),
    (504, "internal"),
}
FRESH_S = 2.5  # a changed endpoint serves its new state within 2 s; a request's own time on top


def jobs_of(world, org):
    """job_id -> (kind, status, inline, endpoint_id)"""
    return {
        r[0]: r[1:]
        for r in world.sql(
            "SELECT job_id, kind, status, output_at_api, endpoint_id FROM jobs.job WHERE org = %s", org.org
        )
    }


def billed(world, org):
    """event -> {op: cells}"""
    out = collections.defaultdict(dict)
    for event, op, cells in world.sql(
        "SELECT e.event_id, coalesce(l.op, ''), coalesce(sum(l.cells), 0) FROM metering.event e LEFT JOIN "
        "metering.line l USING (org, event_id) WHERE e.org = %s GROUP BY 1, 2",
        org.org,
    ):
        if op:
            out[event][op] = int(cells)
        else:
            out[event] = {}
    return out


def I1(world, org):
    """Nothing acknowledged is lost."""
    jobs, wrong = jobs_of(world, org), []
    wrong += [f"run's job {j} is gone" for _, j in org.runs if j not in jobs]
    wrong += [f"batch job {j} is gone" for j in org.batches if j not in jobs]
    for job, status in org.seen.items():
        if job not in jobs or jobs[job][1] != status:
            wrong.append(f"{job} was {status}, is {jobs.get(job)}")
    listed = {k["id"] for k in (org.patient("GET", "/v2/keys").json or {}).get("keys", [])}
    wrong += [f"key {k} is gone" for k in org.keys if k not in listed]
    for e in org.endpoints:
        a = org.patient("GET", f"/v2/endpoints/{e.id}")
        if a is None or a.status != (404 if e.deleted else 200):
            wrong.append(f"endpoint {e.id} answers {a}")
        elif not e.deleted and any(m[3] == "done" for m in e.moves):
            r = org.patient("GET", f"/v2/reports/{a.json['report_id']}")
            if a.json["status"] != "live" or r is None or r.status != 200:
                wrong.append(f"endpoint {e.id} is {a.json['status']} with report {r}")
    for run, job in org.runs[-3:]:
        a = org.patient("GET", f"/v2/jobs/{job}")
        if a is None or a.status != 200 or a.json["status"] != "done" or a.json["result"]["run_id"] != run:
            wrong.append(f"run {run} reads {a}")
    return wrong


def I2_I3(world, org):
    """An event if and only if the work is done; its cells are the work's; the sums are those of the
    events."""
    jobs, events, wrong = jobs_of(world, org), billed(world, org), []
    run_of = {
        r[0]: r[1]
        for r in world.sql("SELECT run_id, job_id FROM jobs.job WHERE org = %s AND output_at_api", org.org)
    }
    wrong += [f"run {e} is billed and has no job" for e in events if e.startswith("run_") and e not in run_of]
    # a retry, answered inline, bills as the job that the first attempt may have made
    wrong += [f"run {r} is free" for r, j in run_of.items() if r not in events and f"job/{j}" not in events]
    wrong += [
        f"{e} is billed and {jobs.get(e[4:])}"
        for e in events
        if e.startswith("job/") and jobs.get(e[4:], (0, 0))[1] != "done"
    ]
    wrong += [
        f"{j} is done and free"
        for j, (kind, status, inline, _) in jobs.items()
        if status == "done" and inline != "t" and f"job/{j}" not in events
    ]
    whole = {
        "run": ROWS * COLS,
        "batch": ROWS * COLS,
        "create": PINNED * COLS,
        "refresh": PINNED * COLS,
        "upgrade": PINNED * COLS,
    }
    for e, lines in events.items():
        kind = (
            "run"
            if e.startswith("run_")
            else jobs[e[4:]][0]
            if e.startswith("job/") and e[4:] in jobs
            else None
        )
        if kind and e[4:] not in org.odd_cells and sum(lines.values()) != whole[kind]:
            wrong.append(f"{e} ({kind}) has cells {lines}")
    serves = [s for e in org.endpoints for s in e.serves if s[2] == 200]
    unknown = sum(
        1
        for c in org.calls
        if c.path.startswith("/v2/serve/") and (c.answer in (None, "hangs") or c.answer.status >= 500)
    )
    calls_of = {
        r[0]: int(r[1])
        for r in world.sql(
            "SELECT event_id, calls FROM metering.event WHERE org = %s AND event_id LIKE 'serve%%'", org.org
        )
    }
    n = sum(calls_of.values())  # an event may bill several calls
    if not len(serves) <= n <= len(serves) + unknown:
        wrong.append(f"{n} serve calls billed, {len(serves)} answered and {unknown} unknown")
    bad = [
        (l, calls_of[e])
        for e, l in events.items()
        if e in calls_of
        and (l.get("serve"), l.get("cached")) != (calls_of[e] * REQUEST * COLS, calls_of[e] * PINNED * COLS)
    ]
    wrong += [f"{k} serve calls have cells {l}" for l, k in bad[:2]]
    calls = int(world.sql("SELECT coalesce(sum(calls), 0) FROM jobs.endpoint WHERE org = %s", org.org)[0][0])
    if calls != n:
        wrong.append(f"endpoints count {calls} calls, {n} are billed")
    sums = collections.Counter()
    for lines in events.values():
        sums.update(lines)
    usage = org.patient("GET", "/v2/usage").json["by_op_raw"]
    if {k: v for k, v in usage.items() if v} != {k: v for k, v in sums.items() if v}:
        wrong.append(f"usage says {usage}, the events {dict(sums)}")
    return wrong


def I4(world, org):
    """Every answer is a success or an envelope; nothing hangs; the retrying client never gives up."""
    wrong = [f"{c.method} {c.path} hangs" for c in org.calls if c.answer == "hangs"]
    for c in org.calls:
        a = c.answer
        if a in (None, "hangs"):
            continue
        e = (a.json or {}).get("error") if isinstance(a.json, dict) else None
        ok = (a.status in (200, 201, 202) and a.json is not None) or (
            isinstance(e, dict)
            and (a.status, e.get("type")) in LEGAL
            and e.get("message")
            and str(e.get("request_id", "")).startswith("req_")
        )
        if not ok:
            wrong.append(f"{c.method} {c.path}: {a}")
    return wrong + [f"the retrying client gave up {f}" for f in org.finals]


def I5(world, org):
    """Jobs end, and stay ended."""
    return [f"{j} is {v[1]}" for j, v in jobs_of(world, org).items() if v[1] in ("queued", "running")] + [
        f"changed after its end: {u}" for u in org.undone
    ]


def I6(world, org):
    """Never two mutating jobs at work on one endpoint: spans from the first start to the end, from the
    history."""
    return [
        f"{a} and {b} at once"
        for a, b in world.sql(
            "WITH span AS (SELECT j.endpoint_id, j.job_id, j.updated_at AS ended, (SELECT min(at) "
            "FROM jobs.log l WHERE l.org = j.org AND "
            "l.job_id = j.job_id AND l.line LIKE 'started%%') AS began FROM jobs.job j WHERE j.org = %s "
            "AND j.endpoint_id <> '') "
            "SELECT a.job_id, b.job_id FROM span a JOIN span b USING (endpoint_id) WHERE a.job_id < b.job_id "
            "AND a.began < b.ended AND b.began < a.ended",
            org.org,
        )
    ]


def I7(world, org):
    """Between two moves an endpoint has one answer; around a move the one before or the one after; after a
    move that failed or was cancelled the one before, byte for byte; after its deletion none."""
    wrong = []
    for e in org.endpoints:
        moves = sorted(e.moves, key=lambda m: m[1])
        served = [s for s in e.serves if s[2] == 200]
        wrong += [f"{e.id} served after its deletion" for s in served if s[5]]
        quiet = []  # (from, to, base)
        for i, m in enumerate(moves):
            base = next((x[4] for x in reversed(moves[: i + 1]) if x[3] == "done"), None)
            quiet.append(
                (
                    m[2] + FRESH_S,
                    moves[i + 1][1] if i + 1 < len(moves) else e.deleted or time.monotonic(),
                    base,
                    m,
                )
            )
        answers = []
        for since, until, base, m in quiet:
            inside = {s[3] for s in served if s[0] >= since and s[1] <= until}
            bases = {s[4] for s in served if s[0] >= since and s[1] <= until}
            if len(inside) > 1:
                wrong.append(f"{e.id} has {len(inside)} answers in one state, after {m[0]} {m[3]}")
            if bases - {base}:
                wrong.append(f"{e.id} serves {bases}, should be {base}, after {m[0]} {m[3]}")
            answers.append(inside)
        for i in range(1, len(quiet)):
            m, before, after = moves[i], answers[i - 1], answers[i]
            if m[3] in ("failed", "cancelled") and before and after and before != after:
                wrong.append(f"{e.id} answers differently after a {m[0]} that was {m[3]}")
            if before and after:
                during = {s[3] for s in served if s[0] >= m[1] and s[1] <= m[2]}
                if during - before - after:
                    wrong.append(f"{e.id} mixes states during {m[0]}")
    return wrong


def I8(world, org):
    """An ended secret is refused ever after."""
    return [f"{s} was accepted after its end" for s in org.late] + [
        f"{s[:12]} is accepted"
        for s in org.dead
        if (a := org.patient("GET", "/v2/models", key=s)) is None or a.status != 401
    ]


def I9(world, org):
    """One Idempotency-Key: one execution, and the same bytes."""
    answers = collections.defaultdict(set)
    for c in org.calls:
        if c.idem and c.answer not in (None, "hangs") and c.answer.status < 300:
            answers[(c.method, c.path, c.idem)].add(c.answer.raw)
    return [f"{k} has {len(v)} answers" for k, v in answers.items() if len(v) > 1]


def I10(world, org, others=()):
    """No answer holds another organization's canary."""
    return [
        f"{c.method} {c.path} shows {o.name}'s cells"
        for o in others
        for c in org.calls
        if c.answer not in (None, "hangs") and o.canary.encode() in c.answer.raw
    ]


def I13(world, org):
    """Each acknowledged operation has its one audit entry. (What was not acknowledged may have one.)"""
    have = collections.Counter(
        (a, o) for a, o in world.sql("SELECT action, object FROM keys.audit WHERE org = %s", org.org)
    )
    wrong = []
    for what, n in collections.Counter(org.audited).items():
        if have[what] < n or (
            have[what] > n and what[0] != "key.rotate"
        ):  # a rotation whose answer was cut counts too
            wrong.append(f"{what} has {have[what]} entries, acknowledged {n} times")
    return wrong


def hashes(world):
    """Content hashes of all reports and of the pieces of all snapshots."""
    return (
        {tuple(r) for r in world.sql("SELECT report_id, encode(content_hash, 'hex') FROM reports.report")},
        {
            tuple(r)
            for r in world.sql(
                "SELECT snapshot, first_row, first_col, encode(hash, 'hex') FROM data_connector.piece p "
                "JOIN data_connector.snapshot s ON s.org = p.org AND s.id = p.snapshot WHERE s.kept"
            )
        },
    )


def I12(world, before):
    """Reports are as they were and as their hash says; pieces of kept snapshots too."""
    reports, pieces = hashes(world)
    kept = {r[0] for r in world.sql("SELECT id FROM data_connector.snapshot WHERE kept")}
    wrong = [f"report {r[0]} has changed" for r in before[0] - reports]
    wrong += [f"snapshot {p[0]} has changed" for p in before[1] - pieces if p[0] in kept]
    wrong += [
        f"report {r[0]} is not what its hash says"
        for r in world.sql("SELECT report_id FROM reports.report WHERE content_hash <> sha256(content)")
    ]
    return wrong


def I11(world, before):
    """Resources are back, within a tenth and a little: pools of connections and threads may grow to their
    caps, the gateway keeps connections to the api for a minute, inference keeps what its largest passes took
    (glibc's arenas) and TAB_STATES_MIB of fitted states.
    """
    now, wrong = world.resources(), []
    for k, was in before.items():
        room = (
            80
            if k in ("api descriptors", "api-2 descriptors")
            else 160
            if k.startswith("inference") and k.endswith("MiB")
            else {"MiB": 48, "descriptors": 12, "threads": 12, "connections": 24}.get(k.split()[-1], 12)
        )
        if now[k] > was * 1.1 + room:
            wrong.append(f"{k}: {was} before, {now[k]} now")
    return wrong


EACH = {"I1": I1, "I2 I3": I2_I3, "I4": I4, "I5": I5, "I6": I6, "I7": I7, "I8": I8, "I9": I9, "I13": I13}
SETTLE_S = 35  # queues may still be emptying: 30 s after healing no job is older than its limit


def check(world, orgs, before_hashes, before_resources):
    """name -> what is wrong, over all organizations; asked again while it may still settle."""
    end = time.monotonic() + SETTLE_S
    wrong = {}
    names = list(EACH)
    while True:
        for name in names:
            wrong[name] = [f"{o.name}: {w}" for o in orgs for w in EACH[name](world, o)]
        names = [n for n in names if wrong[n] and n in ("I1", "I2 I3", "I5", "I13")]
        if not names or time.monotonic() > end:
            break
        time.sleep(0.5)
    wrong["I10"] = [w for o in orgs for w in I10(world, o, [p for p in orgs if p is not o])]
    logs = world.logs()
    wrong["I10"] += [f"a log holds {o.name}'s cells" for o in orgs if o.canary.encode() in logs]
    wrong["I10"] += [f"a log holds {o.name}'s key" for o in orgs if o.key.encode() in logs]
    wrong["I12"] = I12(world, before_hashes)
    end = time.monotonic() + 12
    while (found := I11(world, before_resources)) and time.monotonic() < end:
        time.sleep(0.5)
    wrong["I11"] = found
    return wrong
