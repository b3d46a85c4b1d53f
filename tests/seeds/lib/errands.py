"""Calls of those who administer: sessions of the console, settings, webhooks, files, prompts, stars. Each is
about one object with a promise of its own, and two callers meet on it."""
import uuid

from linear import NEVER
from load import STEP_S, Caller, digest, now
import models

PLACES = (  # what is read and has no order of its own
    "/v2/models /v2/openapi /v2/keys /v2/data /v2/endpoints /v2/reports?limit=3 /v2/jobs?limit=3 "
    "/platform/v1/audit?limit=5 /platform/v1/notifications /platform/v1/webhooks /platform/v1/providers "
    "/platform/v1/people /platform/v1/sessions /v2/data?limit=2 /v2/endpoints?limit=2 /v2/reports"
).split()
SOURCE = "seeds_source"  # a database that is somebody else's, at the world's own server


ERRANDS = (
    "session_life settings settings settings webhook_life file_life star read_notices source_life "
    "soft_rotation costs reads reads reads"
).split()


def form(name, text):
    mark = uuid.uuid4().hex
    head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}.csv"\r\n\r\n'
    return f"{head}{text}\r\n--{mark}--\r\n".encode(), {
        "Content-Type": f"multipart/form-data; boundary={mark}"
    }


def lay_source(world):
    """Where it is read; made once."""
    if not world.sql("SELECT 1 FROM pg_database WHERE datname = %s", SOURCE):
        world.sql(f"CREATE ROLE seeds_reader LOGIN PASSWORD '{SOURCE}'")
        world.sql(f"CREATE DATABASE {SOURCE} OWNER seeds_reader")
    return f"postgres://127.0.0.1:{world.ports['postgres']}/{SOURCE}/public/items"


class Administrator(Caller):
    source = None

    def __init__(self, client, name, histories, seed):
        super().__init__(client, name, histories, seed)
        self.named, self.stars, self.left = models.Register(name), {}, []

    def errand(self, rng):
        """Each kind once, in an order of this caller's, before any comes again."""
        with self.lock:
            if not self.left:
                self.left = rng.sample(ERRANDS, len(ERRANDS))
            what = self.left.pop()
        getattr(self, what)(rng)

    def reads(self, rng):
        self.timed("GET", rng.choice(PLACES))

    def session_life(self, rng):
        """A session is a key that its cookie stands for: used from two callers until one of them leaves."""
        a = self.patient("POST", "/platform/v1/session", {"key": self.key})
        if a is None or a.status != 201:
            return
        cookie, csrf = a.headers["set-cookie"].split(";")[0], a.json["csrf_token"]
        with_it, model, over = {"Authorization": "", "Cookie": cookie}, models.Key(), [False]
        name = f"session {digest(cookie.encode())}"

        def use():
            while not over[0]:
                begin, end, a = self.timed("GET", "/v2/models", headers=with_it)
                if a is not None and a.status in (200, 401):
                    self.note(model, name, "use", begin, end, a.status == 200)
                self.stop.wait(STEP_S)

        def leave():
            self.stop.wait(0.3 * rng.random())
            leaves = {**with_it, "X-CSRF-Token": csrf}
            begin, end, a = self.timed("DELETE", "/platform/v1/session", headers=leaves)
            good = a is not None and a.status in (200, 204, 401)
            self.note(model, name, "end", begin, end if good else NEVER)
            self.stop.wait(0.3 + 0.5 * rng.random())
            over[0] = True

        self.together(use, use, leave)

    def settings(self, rng):
        """The organization's name is what the last one wrote."""
        key, model = f"{self.name} name", self.named
        if rng.random() < 0.4:
            name = f"n-{rng.randrange(10**6)}"
            begin, end, a = self.timed("PUT", "/platform/v1/organization", {"name": name})
            if a is None or a.status == 200:
                self.note(model, key, "write", begin, end, name)
            return
        begin, end, a = self.timed("GET", "/platform/v1/organization")
        if a is not None and a.status == 200:
            self.note(model, key, "read", begin, end, a.json["name"])

    def listed(self, model, key, path, field, id):
        begin, end, a = self.timed("GET", path)
        if a is not None and a.status == 200:
            self.note(model, key, "read", begin, end, id in [x["id"] for x in a.json[field]])

    def webhook_life(self, rng):
        """Made, listed, changed, ended: it is in the list from one answer to the other."""
        path = "/platform/v1/webhooks"
        hook = {
            "name": f"w-{rng.randrange(10**6)}",
            "url": "http://127.0.0.1:9/nobody",
            "types": ["job.ended"],
        }
        begin, end, a = self.timed("POST", path, hook)
        if a is None or a.status != 201:
            return
        id, model = a.json["id"], models.Existence()
        key = f"webhook {id}"
        self.note(model, key, "make", begin, end)
        for _ in range(rng.randrange(1, 4)):
            self.listed(model, key, path, "webhooks", id)
        self.timed("PATCH", f"{path}/{id}", {"name": "renamed"})
        self.timed("GET", f"{path}/{id}/deliveries")
        begin, end, a = self.sure("DELETE", f"{path}/{id}")
        good = a is not None and a.status in (200, 204, 404)
        self.note(model, key, "delete", begin, end if good else NEVER)
        for _ in range(2):
            self.listed(model, key, path, "webhooks", id)

    def file_life(self, rng):
        """A file becomes a dataset, whose snapshot is what it is until it is deleted."""
        rows = "".join(f"{i},{rng.randrange(100)}\n" for i in range(20))
        body, headers = form(f"f-{rng.randrange(10**6)}", "id,n\n" + rows)
        begin, end, a = self.timed("POST", "/platform/v1/data/upload", body, headers=headers)
        if a is None or a.status != 201:
            return
        path = f"/v2/data/{a.json['dataset']['id']}"
        there, same = models.Existence(), models.Immutable()
        self.note(there, path, "make", begin, end)
        for ask in ("", "/profile", "/snapshots", "/profile"):
            begin, end, a = self.timed("GET", path.replace("/v2/", "/platform/v1/") + ask if ask else path)
            if a is not None and a.status in (200, 404):
                self.note(there, path, "read", begin, end, a.status == 200)
            if a is not None and a.status == 200 and ask == "/profile":
                self.note(same, path + ask, "read", begin, end, digest(repr(a.json["columns"]).encode()))
        for pin in ("/pin", "/unpin"):
            self.timed("POST", path + pin)
        begin, end, a = self.sure("DELETE", path)
        good = a is not None and a.status in (200, 204, 404)
        self.note(there, path, "delete", begin, end if good else NEVER)
        self.look(there, path)

    def source_life(self, rng):
        """A table of another database: read, read again, told apart, forgotten."""
        query = f"SELECT i AS id, i * {rng.randrange(1, 9)} AS n FROM generate_series(1, 20) i"
        how = {"user": "seeds_reader", "password": SOURCE, "tls": "disable"}
        body = {"source": self.source, "credentials": how, "options": {"query": query}}
        begin, end, a = self.timed("POST", "/v2/data/connect", body)
        if a is None or a.status != 201:
            return
        path, there = f"/v2/data/{a.json['dataset']['id']}", models.Existence()
        self.note(there, path, "make", begin, end)
        a = self.timed("POST", path + "/sync")[2]
        if a is not None and a.status == 202:
            self.wait(a.json["job_id"])
        self.timed("GET", path.replace("/v2/", "/platform/v1/") + "/diff")
        begin, end, a = self.timed("GET", path)
        if a is not None and a.status in (200, 404):
            self.note(there, path, "read", begin, end, a.status == 200)
        begin, end, a = self.sure("DELETE", path)
        good = a is not None and a.status in (200, 204, 404)
        self.note(there, path, "delete", begin, end if good else NEVER)
        self.look(there, path)

    def soft_rotation(self, rng):
        """Old and new secret side by side: both pass until the key ends, and neither after."""
        a = self.patient("POST", "/v2/keys", {"name": "k", "scopes": ["read"]}, f"n-{uuid.uuid4()}")
        if a is None or a.status != 201:
            return
        id, secrets = a.json["id"], [a.json["key"]]
        self.timed("PATCH", f"/platform/v1/keys/{id}", {"name": "renamed"})
        begin, end, a = self.timed("POST", f"/v2/keys/{id}/rotate", {"overlap_s": 600})
        if a is None:  # whether there is a second one nobody knows
            return
        secrets += [a.json["key"]] if a.status == 200 else []
        asked, ended, a = self.sure("DELETE", f"/v2/keys/{id}")
        good = a is not None and a.status in (200, 404)
        for secret in secrets:
            model = models.Key()
            self.note(model, secret[:12], "end", asked, ended if good else NEVER)
            begin, end, a = self.timed("GET", "/v2/models", key=secret)
            if a is not None and a.status in (200, 401):
                self.note(model, secret[:12], "use", begin, end, a.status == 200)

    def costs(self, rng):
        """What is only asked for: the price of a run and of a generation, the logs of an endpoint."""
        body = {**self.run_body(rng), "dry_run": True}
        self.timed("POST", "/v2/run", body)
        self.timed("POST", "/v2/data/generate", {"sector": "retail", "rows": 20, "dry_run": True})
        for e in self.endpoints[-1:]:
            self.timed("GET", f"/v2/endpoints/{e.id}/logs?limit=5")
            self.timed("POST", f"/v2/endpoints/{e.id}/refresh", {"dry_run": True})

    def star(self, rng):
        """A report's star is as the last one left it."""
        if not self.batches:
            return
        a = self.patient("GET", f"/v2/jobs/{rng.choice(self.batches)}")
        if a is None or not (a.json or {}).get("report_id"):
            return
        report, on = a.json["report_id"], rng.random() < 0.5
        model = self.stars.setdefault(report, models.Register(False))
        path = f"/platform/v1/reports/{report}/{'star' if on else 'unstar'}"
        begin, end, a = self.timed("POST", path)
        if a is None or a.status in (200, 204):
            self.note(model, f"star {report}", "write", begin, end, on)
        begin, end, a = self.timed("GET", f"/v2/reports/{report}")
        if a is not None and a.status == 200:
            self.note(model, f"star {report}", "read", begin, end, a.json["pinned"])

    def read_notices(self, rng):
        a = self.timed("GET", "/platform/v1/notifications")[2]
        for n in a.json["notifications"][:2] if a is not None and a.status == 200 else []:
            self.timed("POST", f"/platform/v1/notifications/{n['id']}/read")
