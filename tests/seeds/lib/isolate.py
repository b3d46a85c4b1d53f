"""Interleavings that are asked for, one after the other, as PostgreSQL's isolation tester runs them: a file
in specs/ names sessions and steps, and the points at which a process waits, fails or dies (points.py).

    wait POINT [in DAEMON]       whoever comes there next waits       reached POINT     somebody waits there
    fail POINT [xN]              the next N fail there                release POINT     and goes on
    crash POINT [in DAEMON]      the next one dies there              fired POINT       all who were to came
    start SESSION CALL           a call of its own thread; what calls there are: Calls below
    ended SESSION STATUS,...     it has ended with one of these: lost stands for a cut connection
    open SESSION                 it has not ended
    same SESSION SESSION         both were answered the same
    usage OP CELLS               so much is billed, and it stays so much
    jobs STATUS N                so many jobs of the organization are in this state
    cap CALLS                    the organization may make so many runs more
    kill DAEMON                  kill -9, and it is ready again
    freeze POINT, thaw POINT     the whole process that waits there; released, it goes on from the point
    stop DAEMON, go DAEMON       a daemon that stands still, and goes on
    backlog SCHEMA ROWS          so many old events lie in its inbox
    swept SCHEMA MOST            they are gone, and no statement deleted more than that
    wipe                         Redis loses all it has
    power DAEMON...              their machine has no power: kill -9, and what was not synced is gone
    away SERVER                  it is killed, and comes back with the next power
    sleep SECONDS                for what has no point: a lease that must run out

A line that begins with # is a remark; the first one says what is shown."""
import os, pathlib, random, signal, threading, time

from campaign import Faults
from ledger import Cut, Org
from points import WHO

SPECS = pathlib.Path(__file__).resolve().parent.parent / "specs"
USD_A_CELL = 0.1 / 1e6
RUN_CELLS = 48


class Wrong(Exception):
    pass


class Left(Exception):
    """A machine too busy: the meter did not answer in time, and a call went on without its word."""


class Calls(Org):
    """What a session may ask. Each gives the answer; what comes later names what came before by its
    session."""

    def __init__(self, client, name):
        super().__init__(client, name)
        self.job, self.secret = {}, {}
        self.live = None

    def run(self, session, key=None):
        """run [KEY]: a run of 48 cells, under this Idempotency-Key"""
        a = self.call("POST", "/v2/run", self.run_body(random.Random(1)), key)
        if a.status == 200:
            self.job[session] = a.json["job_id"]
        return a

    def read_job(self, session, of):
        """job SESSION: the job that this session's answer has named"""
        return self.call("GET", f"/v2/jobs/{self.job[of]}")

    def patient_run(self, session, key):
        """patient_run KEY: the same by a client that tries again"""
        return self.patient("POST", "/v2/run", self.run_body(random.Random(1)), key)

    def report(self, session, of):
        """report SESSION: the report of that job"""
        job = self.patient("GET", f"/v2/jobs/{self.job[of]}")
        return self.call("GET", f"/v2/reports/{job.json['report_id']}")

    def batch(self, session, key=None):
        """batch [KEY]: a job"""
        a = self.call("POST", "/v2/run", self.run_body(random.Random(2), processing="batch"), key)
        if a.status == 202:
            self.job[session] = a.json["job_id"]
        return a

    def cancel(self, session, of):
        """cancel SESSION: the job that this session has made"""
        return self.call("POST", f"/v2/jobs/{self.job[of]}/cancel")

    def end(self, session, of):
        """end SESSION: waits until its job has ended; the answer's status is the job's"""
        self.wait(self.job[of])
        return self.call("GET", f"/v2/jobs/{self.job[of]}")

    def serve_live(self, session):
        """serve: an endpoint that is made before the spec begins"""
        return self.call("POST", f"/v2/serve/{self.live.id}", self.live.request)

    def patient_serve(self, session, key):
        """patient_serve KEY: the same by a client that tries again"""
        return self.patient("POST", f"/v2/serve/{self.live.id}", self.live.request, key)

    def tell(self, session):
        """tell: outcomes of a call of its own"""
        body = {**self.live.request, "options": {"receipts": True}}
        a = self.patient("POST", f"/v2/serve/{self.live.id}", body)
        rows = [{"receipt": r["receipt"], "outcome": "a"} for r in a.json["prediction"]["results"]]
        return self.call("POST", f"/v2/endpoints/{self.live.id}/outcomes", {"rows": rows})

    def outcomes(self, session):
        """outcomes: what they say"""
        return self.call("GET", f"/v2/endpoints/{self.live.id}/outcomes")

    def delete(self, session):
        """delete: that endpoint"""
        return self.call("DELETE", f"/v2/endpoints/{self.live.id}")

    def make_key(self, session):
        """make_key: an API key"""
        a = self.patient("POST", "/v2/keys", {"name": "k", "scopes": ["read"]})
        self.secret[session] = (a.json["id"], a.json["key"])
        return a

    def use_key(self, session, of):
        """use_key SESSION: a call with the key that this session has made"""
        return self.call("GET", "/v2/models", key=self.secret[of][1])

    def revoke(self, session, of):
        """revoke SESSION"""
        return self.call("DELETE", f"/v2/keys/{self.secret[of][0]}")

    def sign_in(self, session):
        """sign_in: a session of the console"""
        a = self.patient("POST", "/platform/v1/session", {"key": self.key})
        cookie = a.headers["set-cookie"].split(";")[0]
        self.secret[session] = {
            "Authorization": "",
            "Cookie": cookie,
            "X-CSRF-Token": a.json["csrf_token"],
        }
        return a

    def use_session(self, session, of):
        """use_session SESSION: a call with its cookie"""
        return self.call("GET", "/v2/models", headers=self.secret[of])

    def leave(self, session, of):
        """leave SESSION: it signs out"""
        return self.call("DELETE", "/platform/v1/session", headers=self.secret[of])

    def rotate(self, session, of):
        """rotate SESSION: the old secret stays the session's"""
        return self.call("POST", f"/v2/keys/{self.secret[of][0]}/rotate")


class Spec:
    def __init__(self, world, has, path, base):
        self.w, self.points, self.path = world, has["points"], path
        self.faults = Faults(world, [], **has)
        self.unasked = self.faults.unasked()
        self.lines = [l.strip() for l in path.read_text().splitlines() if l.strip()]
        self.what = self.lines[0].lstrip("# ")
        capped = any(l.startswith("cap ") for l in self.lines)
        self.org = Calls(world.org(path.stem, "api" if capped else "enterprise"), path.stem)
        if any(
            set(l.split()[2:3]) & {"serve", "patient_serve", "tell"}
            for l in self.lines
            if l.startswith("start ")
        ):
            self.org.live = self.org.create(random.Random(1), base)
            self.settled = self.usage()
        self.thread, self.answer, self.frozen, self.stopped = {}, {}, set(), []

    def usage(self):
        a = self.org.patient("GET", "/v2/usage")
        if a is None or a.status != 200:
            raise Wrong(f"the usage cannot be read: {a}")
        return a.json["by_op_raw"]

    def play(self):
        """What went wrong, or nothing."""
        try:
            for line in self.lines:
                if not line.startswith("#"):
                    verb, *words = line.split()
                    try:
                        getattr(self, f"do_{verb}")(*words)
                    except Wrong as w:
                        return f"{line}: {w}"
                    except Left as l:
                        print(f"     left at: {line} ({l.__doc__})", flush=True)
                        return ""
        finally:
            self.w.supervisor(signal.SIGCONT)
            for pids in self.stopped:
                self.w.thaw(pids)
            for name in list(self.frozen):
                self.do_thaw(name)
            self.points.clear()
            for t in self.thread.values():
                t.join(90)
        return ""

    # ---- steps

    def attach(self, action, name, *more):
        times = next((int(m[1:]) for m in more if m[0] == "x"), 1)
        pid = self.w.pid(more[more.index("in") + 1]) if "in" in more else 0
        self.points.attach(name, action, times, pid)

    def do_wait(self, *words):
        self.attach("wait", *words)

    def do_fail(self, *words):
        self.attach("fail", *words)

    def do_crash(self, *words):
        self.attach("crash", *words)

    def do_reached(self, name):
        if not self.points.reached(name):
            raise Wrong("nobody came")

    def do_fired(self, name):
        if not self.points.fired(name):
            raise Wrong("not all came")

    def do_release(self, name):
        self.points.release(name)

    def do_start(self, session, call, *words):
        do = getattr(self.org, {"serve": "serve_live", "job": "read_job"}.get(call, call))

        def ask():
            try:
                self.answer[session] = do(session, *words)
            except Cut:
                self.answer[session] = None

        self.answer.pop(session, None)
        self.thread[session] = threading.Thread(target=ask, daemon=True)
        self.thread[session].start()

    def do_ended(self, session, statuses):
        self.thread[session].join(120)
        if self.thread[session].is_alive():
            raise Wrong("it has not ended")
        a = self.answer[session]
        said = "lost" if a is None else str(a.status)
        state = (a.json or {}).get("status") if a is not None else None
        if statuses == "429" and said != "429" and self.faults.unasked() > self.unasked:
            raise Left
        if not {said, state} & set(statuses.split(",")):
            raise Wrong(f"it ended with {a or 'a cut'}")

    def do_open(self, session):
        self.thread[session].join(0.5)
        if not self.thread[session].is_alive():
            raise Wrong(f"it has ended with {self.answer[session]}")

    def do_same(self, one, other):
        a, b = self.answer[one], self.answer[other]
        if a.raw != b.raw:
            raise Wrong(f"{a} and {b}")

    def do_usage(self, op, cells):
        before = self.settled.get(op, 0) if self.org.live else 0
        end, got = time.monotonic() + 40, None
        while got != int(cells) and time.monotonic() < end:
            got = self.usage().get(op, 0) - before
            time.sleep(0.1)
        time.sleep(2)  # for what would come twice
        late = self.usage().get(op, 0) - before
        if not got == late == int(cells):
            raise Wrong(f"{got} are billed, then {late}")

    def do_jobs(self, status, n):
        ask = "SELECT count(*) FROM jobs.job WHERE org = %s AND status = %s"
        got = int(self.w.sql(ask, self.org.org, status)[0][0])
        if got != int(n):
            raise Wrong(f"{got} are")

    def do_cap(self, calls):
        usd = int(calls) * RUN_CELLS * USD_A_CELL
        code, _, err = self.w.admin("org", "set", self.org.org, "--spend-cap", f"{usd:.9f}")
        if code != 0:
            raise Wrong(err)

    def do_kill(self, name):
        old = self.w.pid(name)
        self.w.kill(name)
        if not (self.w.restarted(name, old) and self.w.all_ready(60)):
            raise Wrong("it does not come back")

    def do_power(self, *names):
        old = {name: self.w.pid(name) for name in names}
        self.faults.without_power(names)
        if not all(self.w.restarted(name, pid) for name, pid in old.items()):
            raise Wrong("not all come back")

    def do_away(self, name):
        self.w.supervisor(signal.SIGSTOP)
        self.w.kill(name)

    def do_freeze(self, name):
        os.kill(self.points.get(name, WHO), signal.SIGSTOP)
        self.frozen.add(name)

    def do_thaw(self, name):
        os.kill(self.points.get(name, WHO), signal.SIGCONT)
        self.frozen.discard(name)

    def do_stop(self, name):
        self.stopped.append(self.w.freeze(name))

    def do_go(self, name):
        self.w.thaw(self.w.family(name))

    def do_backlog(self, schema, rows):
        self.w.sql(
            "CREATE TABLE swept (n bigint); CREATE FUNCTION swept() RETURNS trigger LANGUAGE plpgsql "
            "SECURITY DEFINER AS $$ BEGIN INSERT INTO public.swept SELECT count(*) FROM gone; "
            f"RETURN NULL; END $$; CREATE TRIGGER swept AFTER DELETE ON {schema}.inbox "
            "REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.swept(); "
            f"INSERT INTO {schema}.inbox (event_id, org, at) SELECT 'old-' || i, 'org_old', "
            f"now() - interval '40 days' FROM generate_series(1, {int(rows)}) i"
        )

    def do_swept(self, schema, most):
        left = f"SELECT count(*) FROM {schema}.inbox WHERE event_id ^@ 'old-'"
        end = time.monotonic() + 60
        while int(self.w.sql(left)[0][0]) > 0 and time.monotonic() < end:
            time.sleep(0.2)
        left, largest = int(self.w.sql(left)[0][0]), int(self.w.sql("SELECT max(n) FROM swept")[0][0] or 0)
        self.w.sql(f"DROP TRIGGER swept ON {schema}.inbox; DROP FUNCTION swept(); DROP TABLE swept")
        if left > 0 or not 0 < largest <= int(most):
            raise Wrong(f"{left} are left, and one statement deleted {largest}")

    def do_wipe(self):
        self.w.redis("FLUSHALL")

    def do_sleep(self, seconds):
        time.sleep(float(seconds))


def play_all(world, has, base, only=()):
    """[(file, what it shows, what is wrong)]; without a disk of ours what asks for its power is left out."""
    out = []
    for path in sorted(SPECS.glob("*.spec")):
        if "\npower " in path.read_text() and "disk" not in has:
            continue
        if not only or path.stem in only:
            spec = Spec(world, has, path, base)
            began = time.monotonic()
            wrong = spec.play()
            out.append((path.stem, spec.what, wrong))
            took = time.monotonic() - began
            print(f"{'FAIL' if wrong else 'ok  '} {path.stem} ({took:.1f} s): {spec.what}", flush=True)
            if wrong:
                print(f"     {wrong}", flush=True)
            if not world.all_ready(60):
                print("     not all daemons are ready again", flush=True)
    return out
