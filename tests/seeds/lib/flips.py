"""Single bits changed in what is stored: in each column of bytes of each table, in files of fitted states, in
receipts, in pages of PostgreSQL's files. After each flip all that shows what is stored is read: it says what
it said before, or it is an error. Then the bit is flipped back.

Nothing stored may lie: a flip that changes an answer, kills a daemon or changes a bill is a failure."""
import contextlib, json, random, re, signal, time

from errands import form
import ground
from ledger import Cut, Org

# Columns that PostgreSQL's pages alone guard: what is changed there by SQL is taken as it is.
PLAIN = {
    ("jobs.endpoint", "body"),
    ("jobs.job", "request"),
    ("jobs.watch", "content"),
    ("keys.audit", "hash"),  # its chain tells: `tabella audit verify`
    ("metering.account", "settings"),
}
COLUMNS = """SELECT a.attrelid::regclass::text, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE a.atttypid = 'bytea'::regtype AND a.attnum > 0
    AND c.relkind = 'r' AND n.nspname !~ '^pg_|information_schema' ORDER BY 1, 2"""


def leaves(value, path=""):
    """An answer as its values, by where they stand."""
    if isinstance(value, dict):
        value = value.items()
    elif isinstance(value, list):
        value = enumerate(value)
    else:
        return {path: value}
    return {k: v for i, x in value for k, v in leaves(x, f"{path}/{i}").items()} or {path: "nothing"}


class Flips:
    def __init__(self, world, base, seed):
        self.w, self.rng, self.wrong, self.told = world, random.Random(f"flips {seed}"), [], {}
        self.org = Org(world.org("flips", "enterprise"), "flips")
        self.kills = 0
        self.made(base)

    def good(self, a, *statuses):
        assert a is not None and a.status in statuses, a
        return a

    def made(self, base):
        """One of everything that is kept."""
        o = self.org
        self.body = o.run_body(self.rng)
        self.good(o.call("POST", "/v2/run", self.body, "kept"), 200)
        batch = self.good(o.call("POST", "/v2/run", o.run_body(self.rng, processing="batch")), 202)
        self.job = batch.json["job_id"]
        assert o.wait(self.job) == "done"
        self.e = o.create(self.rng, base)
        body = {**self.e.request, "options": {"receipts": True}}
        rows = self.good(o.call("POST", f"/v2/serve/{self.e.id}", body), 200).json["prediction"]["results"]
        self.receipt = rows[0]["receipt"]
        told = {"rows": [{"receipt": rows[1]["receipt"], "outcome": "a"}]}
        self.good(o.call("POST", f"/v2/endpoints/{self.e.id}/outcomes", told), 200)
        text = "id,n\n" + "".join(f"{i},{self.rng.randrange(100)}\n" for i in range(30))
        raw, headers = form("kept", text)
        self.data = self.good(o.call("POST", "/platform/v1/data/upload", raw, headers=headers), 201)
        self.data = self.data.json["dataset"]["id"]
        report = self.good(o.call("GET", f"/v2/jobs/{self.job}"), 200).json["report_id"]
        self.paths = [
            f"/v2/jobs/{self.job}",
            f"/v2/reports/{report}",
            f"/v2/endpoints/{self.e.id}",
            f"/v2/endpoints/{self.e.id}/outcomes",
            f"/v2/data/{self.data}",
            f"/platform/v1/data/{self.data}/profile",
            f"/platform/v1/data/{self.data}/snapshots",
            "/v2/jobs?limit=5",
            "/platform/v1/audit?limit=5",
        ]

    # ---- what is read

    def ask(self, *args):
        try:
            a = self.org.call(*args)
        except Cut:
            return {"": "cut"}
        return leaves(a.json) if a.status < 400 else None

    def readings(self):
        """What each says; None: it is refused."""
        out = {p: self.ask("GET", p) for p in self.paths}
        out["the answer of a key"] = self.ask("POST", "/v2/run", self.body, "kept")
        out["a serve call"] = self.ask("POST", f"/v2/serve/{self.e.id}", self.e.request)
        run = {"data": [self.data], "target": {"mode": "none"}, "dry_run": True}
        out["a run of the dataset"] = self.ask("POST", "/v2/run", run)
        return out

    def baseline(self):
        """What is said at rest, without what differs from call to call: ids of requests, counts of calls."""
        self.first = self.readings()
        assert None not in self.first.values(), self.first
        for _ in range(4):
            time.sleep(1)
            for name, said in self.readings().items():
                self.first[name] = {k: v for k, v in self.first[name].items() if said.get(k) == v}
        for name, said in self.first.items():  # what is served here drifts, since it is always the same
            self.first[name] = {k: v for k, v in said.items() if not k.startswith("/drift/")}
        assert all(len(said) > 3 for said in self.first.values()), self.first

    def compare(self, what):
        """Whether anything was refused. An answer that differs is wrong."""
        now = self.readings()
        for name, said in now.items():
            first = self.first[name]
            odd = {} if said is None else {k: (said.get(k), v) for k, v in first.items() if said.get(k) != v}
            if odd:
                told = ", ".join(f"{k} {is_} for {was}" for k, (is_, was) in list(odd.items())[:3])
                self.wrong.append(f"{what}: {name} has {told[:300]}")
        return None in now.values()

    # ---- flips

    def columns(self, most):
        """Of each column of bytes a row, and of it a bit."""
        all_of = [tuple(r) for r in self.w.sql(re.sub(r"\s+", " ", COLUMNS))]
        self.rng.shuffle(all_of)
        seen = refused = 0
        for table, column in all_of:
            if seen == most or (table, column) in PLAIN or table.endswith(".outbox"):
                continue
            bit = f"set_bit({column}, $bit, 1 - get_bit({column}, $bit))"
            flip = f"UPDATE {table} SET {column} = {bit} WHERE ctid = "
            some = f"FROM {table} WHERE length({column}) > 0 ORDER BY random() LIMIT 1"
            row = self.w.sql(f"SELECT ctid, length({column}) {some}")
            if not row:
                continue
            flip = flip.replace("$bit", str(self.rng.randrange(8 * int(row[0][1]))))
            there = self.changed(f"{flip}'{row[0][0]}' RETURNING ctid")
            if not there:
                continue
            if table.startswith("inference."):
                self.renewed("inference")
            refused += self.compare(f"a bit of {table}.{column}")
            self.changed(f"{flip}'{there[0][0]}'")
            seen += 1
        self.told |= {"columns": seen, "refused": refused}

    def unguarded(self):
        """A disk that lies asks no constraint."""
        every = (
            "SELECT conrelid::regclass, quote_ident(conname) FROM pg_constraint WHERE contype = 'c' AND "
            "conparentid = 0 AND coninhcount = 0 AND conrelid <> 0 AND "  # parts lose theirs with the whole
            "connamespace::regnamespace::text !~ '^pg_|information_schema'"
        )
        self.w.sql("; ".join(f"ALTER TABLE {t} DROP CONSTRAINT IF EXISTS {c}" for t, c in self.w.sql(every)))

    def changed(self, update):
        """Past the triggers that keep what never changes."""
        return self.w.sql(f"SET session_replication_role = replica; {update}; RESET session_replication_role")

    def renewed(self, service):
        """So that nothing is answered from memory."""
        for name in [d for d in self.w.daemons if d.split("-2")[0] == service]:
            old = self.w.pid(name)
            self.w.kill(name)
            self.kills += 1
            assert self.w.restarted(name, old)
        assert self.w.all_ready(60)

    def pages(self, most):
        """Each time a bit in some page of a table that is read: an error, or nobody has needed that page."""
        tables = [
            t
            for t, in self.w.sql(
                "SELECT c.oid::regclass FROM pg_class c JOIN pg_namespace n ON "
                "n.oid = relnamespace WHERE relkind = 'r' AND nspname IN ('api', 'jobs', 'keys', 'metering', "
                "'reports', 'data_connector', 'inference') AND pg_relation_size(c.oid) > 0 ORDER BY 1"
            )
        ]
        seen = refused = 0
        for table in self.rng.sample(tables, min(most, len(tables))):
            self.w.sql("CHECKPOINT")
            path, folder = self.w.sql(
                f"SELECT pg_relation_filepath('{table}'), current_setting('data_directory')"
            )[0]
            at = None
            for _ in range(2):  # flipped, and back
                with self.stopped("postgres"), open(f"{folder}/{path}", "r+b") as f:
                    at = at or (self.rng.randrange(f.seek(0, 2)), 1 << self.rng.randrange(8))
                    f.seek(at[0])
                    byte = f.read(1)[0]
                    f.seek(at[0])
                    f.write(bytes([byte ^ at[1]]))
                assert self.w.all_ready(60)
                refused += self.compare(f"a bit of a page of {table}")
            seen += 1
        self.told |= {"pages": seen, "refused of pages": refused}

    @contextlib.contextmanager
    def stopped(self, server):
        """In order, so that nothing is read again from its log."""
        self.w.supervisor(signal.SIGSTOP)
        try:
            pid = self.w.pid(server)
            self.w.kill(server, signal.SIGINT)
            ground.ended(pid)
            yield
        finally:
            self.kills += 1
            self.w.supervisor(signal.SIGCONT)
        assert self.w.restarted(server, pid, 60)

    def files(self):
        """The files of fitted states: a bit of each, and each cut short."""
        n = 0
        for cut in (False, True):
            for folder in self.w.run.glob("states-*"):
                for path in [p for p in folder.rglob("*") if p.is_file() and p.stat().st_size > 0]:
                    raw = bytearray(path.read_bytes())
                    at = self.rng.randrange(len(raw))
                    raw[at] ^= 1 << self.rng.randrange(8)
                    with open(path, "r+b") as f:
                        f.truncate(at) if cut else f.write(raw)
                    n += 1
            self.renewed("inference")
            self.compare("cut files of states" if cut else "a bit of each file of states")
        self.told["files"] = n

    def receipts(self, most):
        """A receipt of which a bit was changed tells of no row."""
        path = f"/v2/endpoints/{self.e.id}/outcomes"
        for _ in range(most):
            raw = bytearray(self.receipt.encode())
            at = self.rng.randrange(len(raw))
            raw[at] ^= 1 << self.rng.randrange(7)
            text = raw.decode("ascii")
            a = self.org.call("POST", path, {"rows": [{"receipt": text, "outcome": "a"}]})
            if a.status == 200 and a.json["accepted"]:
                self.wrong.append(f"a receipt with a bit flipped at {at} is taken: {a}")
        self.compare("receipts with flipped bits")
        self.told["receipts"] = most

    def run(self, most):
        before = self.restarts()
        self.baseline()
        self.receipts(32)
        self.unguarded()
        self.columns(most)
        self.pages(most // 4)
        self.files()
        self.renewed("api")
        if self.compare("all bits as they were"):
            self.wrong.append("not all is read again")
        if self.restarts() - before != self.kills:
            self.wrong.append(f"{self.restarts() - before - self.kills} daemons died")
        return not self.wrong

    def restarts(self):
        return sum(json.loads((self.w.run / "state.json").read_text()).get("restarts", {}).values())
