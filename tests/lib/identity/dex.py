"""Dex (github.com/dexidp/dex, Apache-2.0, written in Go), an identity provider of others: sign-in by its own
pages, a code twice, keys that it rotates. Called by tests/suite/people where it is installed."""

import json, os, pathlib, shutil, subprocess, tempfile

from identity.visitor import Visitor
from suite import until

HASH = "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W"  # bcrypt of "password"


def program():
    """TAB_DEX, or one that is installed. None: it is not here."""
    for place in (os.environ.get("TAB_DEX"), shutil.which("dex"), "~/go/bin/dex"):
        if place and os.access(os.path.expanduser(place), os.X_OK):
            return os.path.expanduser(place)
    return None


class Dex:
    """One that keeps all in memory. Its web pages are those of its source (web/ beside the program, or
    TAB_DEX_WEB)."""

    def __init__(self, binary, port, console):
        self.folder = tempfile.mkdtemp(prefix="tabella-dex-")
        self.issuer = f"http://127.0.0.1:{port}/dex"
        self.visitor = Visitor(self.issuer, console)
        client = {"redirectURIs": [console], "public": False}
        ann = {"email": "ann@example.org", "hash": HASH, "username": "ann", "userID": "0815", "name": "Ann"}
        config = {
            "issuer": self.issuer,
            "storage": {"type": "memory"},
            "web": {"http": f"127.0.0.1:{port}"},
            "expiry": {"signingKeys": "4s", "idTokens": "10m"},
            "oauth2": {"skipApprovalScreen": True},
            "enablePasswordDB": True,
            "staticClients": [
                {"id": "tabella", "name": "Tabella", "secret": "s3cret", **client},
                {"id": "other", "name": "Other", "secret": "0ther", **client},
            ],
            "staticPasswords": [{**ann, "groups": ["owners"]}],
        }
        web = os.environ.get("TAB_DEX_WEB")
        if web:
            config["frontend"] = {"dir": web}
        file = pathlib.Path(self.folder) / "dex.json"  # JSON is YAML
        file.write_text(json.dumps(config))
        log = open(self.folder + "/log", "wb")
        self.process = subprocess.Popen([binary, "serve", str(file)], stdout=log, stderr=log)
        if (
            not until(lambda: self.keys() or self.process.poll() is not None)
            or self.process.poll() is not None
        ):
            raise RuntimeError(open(self.folder + "/log").read())

    def keys(self):
        try:
            return {k["kid"] for k in json.loads(self.visitor.get(self.issuer + "/keys")[2])["keys"]}
        except (OSError, ValueError):
            return set()

    def authorize(self, url, password="password"):
        """What a browser gets of the provider's pages: code and state; or the page at which it ends."""
        form = {"login": "ann@example.org", "password": password}  # it posts to its own address
        return self.visitor.authorize(url, lambda page: ("", form) if 'name="password"' in page else None)

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def dex(check, a, console, browser, port):
    binary = program()
    if binary is None:
        return check.skip("sign-in by Dex", "it is not installed (TAB_DEX)")
    p = Dex(binary, port, console)
    try:
        signed_in(check, a, p, browser)
    finally:
        p.stop()


def signed_in(check, a, p, browser):
    fields = {"name": "Dex", "issuer": p.issuer, "client_id": "tabella", "client_secret": "s3cret"}
    fields |= {
        "scopes": "openid email profile groups",
        "roles": {"owners": "builder"},
        "domains": ["example.org"],
    }
    made = a("POST", "/platform/v1/providers", fields)
    check("Dex: its description is read", made.status == 201, made)
    idp = made.json["id"]
    b = browser()
    code, state = p.authorize(b.begin(a, idp).json["url"], "wrong")
    check("Dex: a wrong password gives no code", code is None, state)
    code, state = p.authorize(b.begin(a, idp).json["url"])
    check("Dex: its pages give a code", code is not None, state)
    done = b.end(code, state)
    check("Dex: it ends in a session", done.status == 201, done)
    who = done.json["person"]
    check(
        "Dex: of a person with its groups' role",
        (who["email"], who["role"]) == ("ann@example.org", "builder"),
    )
    check("Dex: who is let in", b("GET", "/v2/data").status == 200)
    check.refused("Dex: the code counts once", b.end(code, state), 401, "auth_error")
    other = browser()
    first = p.authorize(other.begin(a, idp).json["url"])[0]
    second = p.authorize(other.begin(a, idp).json["url"])
    got = other.end(first, second[1])
    check.refused("Dex: a code of another sign-in lacks the verifier", got, 401, "auth_error")
    pair = p.authorize(other.begin(a, idp).json["url"])
    a("PATCH", f"/platform/v1/providers/{idp}", {"client_id": "other", "client_secret": "0ther"})
    check.refused("Dex: a code of another client", other.end(*pair), 401, "auth_error")
    a("PATCH", f"/platform/v1/providers/{idp}", {"client_id": "tabella", "client_secret": "s3cret"})
    before = p.keys()
    check("Dex: it rotates its keys", until(lambda: p.keys() - before), before)
    b = browser()
    again = b.end(*p.authorize(b.begin(a, idp).json["url"]))
    check("Dex: a new key holds at once, for the same person", again.json["person"]["id"] == who["id"], again)
    check("Dex: it is deleted", a("DELETE", f"/platform/v1/providers/{idp}").status == 200)
    check.refused("Dex: and its people are out", b("GET", "/v2/data"), 401, "auth_error")
