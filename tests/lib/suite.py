"""A private stack for black-box tests (tools/stack under a folder of its own), a client, and checks that
count."""
import http.client, json, os, pathlib, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import answers

LONG_S = 300  # how long a state is waited for: a machine may be slow, and a test is not a bench
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def until(what, seconds=LONG_S):
    """Asks until what() is true; gives its last answer. A machine's speed decides when, never whether. The
    pauses grow, so that waiting long does not spend a plan's requests a minute."""
    end, pause = time.monotonic() + seconds, 0.05
    while not (last := what()) and time.monotonic() < end:
        time.sleep(pause)
        pause = min(1.2 * pause, 1.5)
    return last


class Stack:
    def __init__(self, name):
        self.run = pathlib.Path(tempfile.mkdtemp(prefix=f"tabella-{name}-"))
        os.chmod(self.run, 0o755)
        self.env = {**os.environ, "TAB_RUN": str(self.run), "TAB_STACK_FAST": "1"}
        self.stack("up", "--no-sample")
        self.ports = json.loads((self.run / "ports.json").read_text())
        self.all = json.loads(self.stack("env"))  # of the user who may do all
        self.env["TAB_NATS"] = self.all["TAB_NATS"]
        self.daemons = sorted(p.parent.name for p in (ROOT / "services").glob("*/main.c"))

    def stack(self, *args):
        done = subprocess.run([ROOT / "tools" / "stack", *args], env=self.env, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"stack {args}: {done.stdout}{done.stderr}")
        return done.stdout

    def redis(self, *words):
        """What Redis answers to a command, as text."""
        return subprocess.run(
            ["redis-cli", "-p", str(self.ports["redis"]), "--user", self.all["TAB_REDIS_USER"], *words],
            env={**os.environ, "REDISCLI_AUTH": self.all["TAB_REDIS_PASSWORD"]},
            capture_output=True,
            text=True,
        ).stdout

    def admin(self, *args):
        done = subprocess.run(
            [ROOT / "build" / "tabella", "admin", *args], env=self.env, capture_output=True, text=True
        )
        return done.returncode, done.stdout, done.stderr

    def org(self, name="test", plan="pro"):
        """A client of a new organization; asked until keys answers."""
        said = until(lambda: (x := self.admin("org", "create", "--name", name, "--plan", plan))[0] == 0 and x)
        if not said:
            raise RuntimeError(f"no organization {name}")
        made = json.loads(said[1])
        return Client(self.ports["gateway"], made["key"], made["org"])

    def pid(self, name):
        return self.children()[name]["pid"]

    def killed(self, name, how=signal.SIGKILL):
        """Kills a child and waits for its successor; gives that one's pid."""
        old = self.pid(name)
        os.kill(old, how)
        return until(lambda: (new := self.children().get(name, {}).get("pid", old)) != old and new)

    def children(self):
        try:
            return json.loads((self.run / "state.json").read_text())["children"]
        except ValueError:  # it is being written
            return {}

    def servers(self):
        """The addresses of NATS, Postgres and Redis, as another daemon of this stack reads them."""
        out = self.stack("up", "--servers")
        return dict(l[7:].split("=", 1) for l in out.replace("'", "").splitlines() if l.startswith("export "))

    def open_psql(self, *args, database="tabella", **more):
        """psql as the owner of the cluster, for whom there is no row security."""
        password = json.loads((self.run / "secrets.json").read_text())["admin"]
        return subprocess.Popen(
            [
                "psql",
                "-XqtA",
                "-h",
                "127.0.0.1",
                "-p",
                str(self.ports["postgres"]),
                "-U",
                "admin",
                "-d",
                database,
                *args,
            ],
            env={**os.environ, "PGPASSWORD": password, "PGCONNECT_TIMEOUT": "5"},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            **{"stderr": subprocess.PIPE, **more},
        )

    def sql(self, text, database="tabella"):
        """A server that is just coming up is waited for."""
        end = time.monotonic() + 20
        while True:
            p = self.open_psql("-v", "ON_ERROR_STOP=1", "-c", text, database=database)
            out, err = p.communicate()
            coming = "starting up" in err or "not yet accepting connections" in err
            if p.returncode == 0 or not coming or time.monotonic() > end:
                break
            time.sleep(0.2)
        if p.returncode != 0:
            raise RuntimeError(f"{text[:60]}: {err}")
        return out.strip()

    def settled(self):
        """Waits until all that was done is in the ledger: a serve call's bill comes a moment after its
        answer, and later where who answered has died. False: it did not come."""
        way = ["(SELECT count(*) FROM api.bill)"]
        for service in ("api", "jobs"):
            way.append(f"(SELECT count(*) FROM {service}.outbox WHERE published IS NULL)")
            way.append(f"(SELECT count(*) FROM {service}.outbox_due)")
        return until(lambda: self.sql(f"SELECT {' + '.join(way)}") == "0")

    def metrics(self, port):
        """A daemon's metrics: name (with its labels) to number."""
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        c.request("GET", "/metrics")
        lines = c.getresponse().read().decode().splitlines()
        c.close()
        return {l.rsplit(" ", 1)[0]: float(l.rsplit(" ", 1)[1]) for l in lines if l and l[0] != "#"}

    def close(self):
        try:
            kept.check(self.ports["gateway"])
            self.stack("down")
        finally:
            shutil.rmtree(self.run, ignore_errors=True)


kept = answers.Kept()


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        try:
            self.json = json.loads(body) if body else None
        except ValueError:
            self.json = None

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"

    @property
    def error(self):
        return (self.json or {}).get("error", {})


class Client:
    def __init__(self, port, key, org="", source="127.0.0.1"):
        self.port, self.key, self.org, self.source = port, key, org, source

    def __call__(
        self, method, path, body=None, headers=None, raw=None, timeout=LONG_S, type="application/json"
    ):
        c = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=timeout, source_address=(self.source, 0)
        )
        h = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        if body is not None and raw is None:
            raw = json.dumps(body)
        if raw is not None and type:
            h["Content-Type"] = type
        h.update(headers or {})
        try:
            c.request(method, path, body=raw.encode() if isinstance(raw, str) else raw, headers=h)
            r = c.getresponse()
            answer = Answer(r.status, {k.lower(): v for k, v in r.getheaders()}, r.read())
            kept.keep(self, method, path, answer)
            return answer
        finally:
            c.close()

    def with_key(self, key):
        return Client(self.port, key, self.org)

    def wait_job(self, job_id, seconds=LONG_S):
        """The last answer about it: terminal, or what there was after a long time."""
        last = None

        def ended():
            nonlocal last
            last = self("GET", f"/v2/jobs/{job_id}")
            return last.status == 200 and last.json["status"] in ("done", "failed", "cancelled", "expired")

        until(ended, seconds)
        return last

    def usage(self, op, want):
        """The cells billed for an operation, once they are as many: events come after the answers they
        bill."""
        got = 0

        def there():
            nonlocal got
            got = self("GET", "/v2/usage").json["by_op_raw"].get(op, 0)
            return got >= want

        until(there)
        return got


class Checks:
    def __init__(self, name):
        self.name, self.passed, self.failed, self.skipped = name, 0, 0, 0

    def __call__(self, name, ok, detail=""):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAIL {name}   {detail}", flush=True)
        return ok

    def skip(self, name, why):
        self.skipped += 1
        print(f"skip {name}: {why}", flush=True)

    def refused(self, name, answer, status, type, param=None):
        """An envelope of the specification with exactly this status, type and param."""
        e = answer.error
        ok = (
            answer.status == status
            and e.get("type") == type
            and e.get("message")
            and e.get("request_id", "").startswith("req_")
            and answer.headers.get("x-request-id") == e.get("request_id")
            and answer.headers.get("content-type", "").startswith("application/json")
            and (param is None or e.get("param") == param)
        )
        return self(name, ok, f"wanted {status} {type} {param}, got {answer}")

    def end(self):
        if kept.checked:
            self("each answer is as the OpenAPI document says", not kept.wrong, kept.wrong)
        print(f"{self.name}: {self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        sys.exit(1 if self.failed else 0)
