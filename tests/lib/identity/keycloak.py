"""Keycloak (keycloak.org, Apache-2.0, written in Java), an identity provider of others: sign-in by its own
pages, its groups, keys that it rotates, sessions that it ends. Called by tests/suite/people where
TAB_KEYCLOAK names its folder."""

import html, http.client, json, os, re, shutil, subprocess, tempfile, urllib.parse

from identity.visitor import Visitor
from suite import until

REALM = {
    "realm": "tabella",
    "enabled": True,
    "sslRequired": "none",
    "groups": [{"name": "owners"}],
    "users": [
        {
            "username": "ann",
            "email": "ann@example.org",
            "emailVerified": True,
            "firstName": "Ann",
            "lastName": "Example",
            "enabled": True,
            "groups": ["/owners"],
            "credentials": [{"type": "password", "value": "password"}],
        }
    ],
}
GROUPS = {
    "name": "groups",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-group-membership-mapper",
    "config": {"claim.name": "groups", "full.path": "false", "id.token.claim": "true"},
}
NEW_KEY = {
    "name": "newer",
    "providerId": "rsa-generated",
    "providerType": "org.keycloak.keys.KeyProvider",
    "config": {"priority": ["200"], "enabled": ["true"], "active": ["true"]},
}


class Keycloak:
    """One that keeps all in memory, with a realm of its own."""

    def __init__(self, home, port, console):
        self.folder, self.port = tempfile.mkdtemp(prefix="tabella-keycloak-"), port
        self.issuer = f"http://127.0.0.1:{port}/realms/tabella"
        self.visitor = Visitor(self.issuer, console)
        log = open(self.folder + "/log", "wb")
        command = [home + "/bin/kc.sh", "start-dev", "--http-host=127.0.0.1", f"--http-port={port}"]
        env = {"KC_BOOTSTRAP_ADMIN_USERNAME": "admin", "KC_BOOTSTRAP_ADMIN_PASSWORD": "admin"}
        self.process = subprocess.Popen(
            [*command, "--db=dev-mem", "--cache=local"],
            stdout=log,
            stderr=log,
            env=os.environ | env,
            start_new_session=True,
        )
        if not until(lambda: self.is_up() or self.process.poll() is not None, 180) or not self.is_up():
            raise RuntimeError(open(self.folder + "/log").read()[-2000:])
        client = {
            "clientId": "tabella",
            "secret": "s3cret",
            "publicClient": False,
            "redirectUris": [console],
            "protocolMappers": [GROUPS],
        }
        self.admin("POST", "", REALM | {"clients": [client]})

    def is_up(self):
        try:
            return self.visitor.get("/realms/master")[0] == 200
        except OSError:
            return False

    def admin(self, method, path, body=None):
        """An operator's call. Its answer as JSON, if it has one."""
        who = {"client_id": "admin-cli", "grant_type": "password", "username": "admin", "password": "admin"}
        text = self.visitor.get("/realms/master/protocol/openid-connect/token", who)[2]
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": "Bearer " + json.loads(text)["access_token"]}
        headers["Content-Type"] = "application/json"
        c.request(method, "/admin/realms" + path, None if body is None else json.dumps(body), headers)
        got = c.getresponse()
        said = got.read().decode()
        c.close()
        if got.status >= 300:
            raise RuntimeError(f"{method} {path}: {got.status} {said}")
        return json.loads(said) if said else None

    def authorize(self, url, password="password"):
        """What a browser gets of the provider's pages: code and state; or the page at which it ends."""

        def form_of(page):
            form = re.search(r'<form id="kc-form-login"[^>]* action="([^"]+)"', page)
            return form and (html.unescape(form[1]), {"username": "ann", "password": password})

        return self.visitor.authorize(url, form_of)

    def keys(self):
        page = self.visitor.get(self.issuer + "/protocol/openid-connect/certs")[2]
        return {k["kid"] for k in json.loads(page)["keys"]}

    def tells(self, url):
        """Where it says that a session has ended."""
        client = self.admin("GET", "/tabella/clients?clientId=tabella")[0]
        attributes = {"backchannel.logout.url": url, "backchannel.logout.session.required": "true"}
        client["attributes"] = client.get("attributes", {}) | attributes
        self.admin("PUT", "/tabella/clients/" + client["id"], client)

    def signs_out(self, user):
        found = self.admin("GET", "/tabella/users?username=" + user)[0]
        self.admin("POST", f"/tabella/users/{found['id']}/logout")

    def stop(self):
        os.killpg(self.process.pid, 9)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def keycloak(check, a, console, browser, port):
    home = os.environ.get("TAB_KEYCLOAK")
    if not home or not os.access(home + "/bin/kc.sh", os.X_OK):
        return check.skip("sign-in by Keycloak", "it is not installed (TAB_KEYCLOAK)")
    p = Keycloak(home, port, console)
    try:
        signed_in(check, a, p, browser)
    finally:
        p.stop()


def signed_in(check, a, p, browser):
    fields = {"name": "Keycloak", "issuer": p.issuer, "client_id": "tabella", "client_secret": "s3cret"}
    fields |= {"scopes": "openid email profile", "roles": {"owners": "builder"}, "domains": ["example.org"]}
    made = a("POST", "/platform/v1/providers", fields)
    check("Keycloak: its description is read", made.status == 201, made)
    idp = made.json["id"]
    url = urllib.parse.urlsplit(made.json["logout_url"])
    p.tells(f"http://127.0.0.1:{a.port}{url.path}")
    b = browser()
    code, page = p.authorize(b.begin(a, idp).json["url"], "wrong")
    check("Keycloak: a wrong password gives no code", code is None, page)
    code, state = p.authorize(b.begin(a, idp).json["url"])
    check("Keycloak: its pages give a code", code is not None, state)
    done = b.end(code, state)
    check("Keycloak: it ends in a session", done.status == 201, done)
    who = done.json["person"]
    check(
        "Keycloak: of a person with its groups' role",
        (who["email"], who["role"]) == ("ann@example.org", "builder"),
        who,
    )
    check.refused("Keycloak: the code counts once", b.end(code, state), 401, "auth_error")
    before = p.keys()
    p.admin("POST", "/tabella/components", NEW_KEY)
    check("Keycloak: it has a new key", p.keys() - before != set(), before)
    other = browser()
    again = other.end(*p.authorize(other.begin(a, idp).json["url"]))
    check(
        "Keycloak: which holds at once, for the same person", again.json["person"]["id"] == who["id"], again
    )
    check("Keycloak: both are in", b("GET", "/v2/data").status == other("GET", "/v2/data").status == 200)
    p.signs_out("ann")
    check("Keycloak: who is signed out there is out", until(lambda: other("GET", "/v2/data").status == 401))
    check("Keycloak: it is deleted", a("DELETE", f"/platform/v1/providers/{idp}").status == 200)
