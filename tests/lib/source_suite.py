"""What the suites of source families share: connecting, what a snapshot holds, and what every family must
show (as Airbyte's acceptance tests have it): two full reads that are equal, columns added, removed and
retyped between two syncs, a source that is gone."""
import subprocess, sys


def connect(org, ref, credentials=None, **options):
    body = {"source": ref}
    if credentials is not None:
        body["credentials"] = credentials
    if options:
        body["options"] = options
    return org("POST", "/v2/data/connect", body)


class Sources:
    def __init__(self, stack, check):
        self.stack, self.check = stack, check

    def pieces(self, snapshot):
        return self.stack.sql(
            "SELECT string_agg(encode(hash, 'hex'), ' ' ORDER BY first_row, first_col) FROM "
            f"data_connector.piece WHERE snapshot = '{snapshot}'"
        )

    def text(self, snapshot):
        """What a snapshot's cells are, as text: of small tables, whose blocks are read by zstd."""
        hexes = self.stack.sql(
            "SELECT string_agg(encode(bytes, 'hex'), ' ') FROM data_connector.block b JOIN "
            "data_connector.piece p "
            f"ON p.hash = b.hash AND p.org = b.org WHERE p.snapshot = '{snapshot}'"
        )
        out = b""
        for block in hexes.split():
            out += subprocess.run(["zstd", "-dcq"], input=bytes.fromhex(block), capture_output=True).stdout
        return out.decode(errors="replace")

    def syncs(self, org, name, made, change, back):
        """Columns added, removed and retyped; equal reads; `change(step)` alters the source."""
        check, ds, first = self.check, made["dataset"]["id"], made["dataset"]["snapshot"]
        a = org("POST", f"/v2/data/{ds}/sync")
        equal = a.status == 200 and a.json["diff"]["rows_unchanged"] == made["dataset"]["rows"]
        same = equal and self.pieces(first) == self.pieces(a.json["snapshot"])
        check(f"{name}: two full reads are equal", same, a)
        for step, added, removed, retyped in (
            ("add", ["extra"], [], []),
            ("retype", [], [], ["extra"]),
            ("remove", [], ["extra"], []),
        ):
            change(step)
            a = org("POST", f"/v2/data/{ds}/sync")
            d = a.json["diff"] if a.status == 200 else {}
            check(
                f"{name}: a sync tells of a column: {step}",
                d.get("columns_added") == added
                and d.get("columns_removed") == removed
                and d.get("types_changed") == retyped,
                a,
            )
        before = org("GET", f"/v2/data/{ds}").json["snapshot"]
        change("gone")
        a = org("POST", f"/v2/data/{ds}/sync")
        check(f"{name}: a source that is gone fails the sync", a.status in (400, 503), a)
        check(f"{name}: and leaves the snapshot", org("GET", f"/v2/data/{ds}").json["snapshot"] == before)
        c = org("GET", f"/v2/data/{made['connection']['id']}").json
        check(f"{name}: and is told", c["last_sync_outcome"] == "failed" and c["last_sync_message"], c)
        back()
        check(f"{name}: then it works again", org("POST", f"/v2/data/{ds}/sync").status == 200)

    def quiet(self, *secrets):
        """No log and nothing that is shown of a connection holds a secret or a server's words."""
        logs = b"".join(
            f.read_bytes() for f in (self.stack.run / "log").glob("*.log") if f.name != "postgres.log"
        )
        found = [s for s in ("hunter2", "secret of", *secrets) if s.encode() in logs]
        self.check("no log holds a secret or a source's words", not found, found)
        said = self.stack.sql(
            "SELECT coalesce(string_agg(sync_said || source || name, ' '), '') FROM data_connector.connection"
        )
        shown = [s for s in ("hunter2", "secret of", *secrets) if s in said]
        self.check("nor does what is shown of a connection", said and not shown, shown)

    def run(self, *parts):
        """Each part with an organization of its own; a suite's arguments choose among them."""
        for part in parts:
            if len(sys.argv) > 1 and part.__name__ not in sys.argv[1:]:
                continue
            try:
                part(self.stack.org(part.__name__, "enterprise"))
            except Exception as problem:
                at = problem.__traceback__
                while at.tb_next:
                    at = at.tb_next
                self.check(
                    f"{part.__name__} ran to its end",
                    False,
                    f"{type(problem).__name__}: {problem} at line {at.tb_lineno}",
                )
