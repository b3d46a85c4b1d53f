"""A provider's directory (SCIM): who is there before signing in, what groups make of a role, and that whoever
leaves is out; whom a token of one directory sees and changes. Called by tests/suite/people."""

import threading, time

from suite import Client

USER, GROUP = "urn:ietf:params:scim:schemas:core:2.0:User", "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
PROVIDERS = "/platform/v1/providers"


class Directory:
    """A directory that speaks to us with a key of its own."""

    def __init__(self, a, idp, name="directory"):
        self.made = a("POST", "/v2/keys", {"name": name, "directory": idp})
        self.client = Client(a.port, self.made.json.get("key"))

    def __call__(self, method, path, body=None):
        return self.client(method, "/scim/v2" + path, body, {"Content-Type": "application/scim+json"})

    def user(self, user_name, **more):
        return self("POST", "/Users", {"schemas": [USER], "userName": user_name, **more})

    def change(self, path, *operations):
        return self("PATCH", path, {"schemas": [PATCH], "Operations": list(operations)})

    def active(self, id, active):
        return self.change("/Users/" + id, {"op": "Replace", "path": "active", "value": active})

    def add(self, group, *ids):
        members = [{"value": i} for i in ids]
        return self.change("/Groups/" + group, {"op": "add", "path": "members", "value": members})

    def drop(self, group, id):
        return self.change("/Groups/" + group, {"op": "remove", "path": f'members[value eq "{id}"]'})


def refused(check, name, got, status, kind=None):
    right = got.status == status and got.json["status"] == str(status) and got.json.get("scimType") == kind
    check(name, right and got.headers["content-type"] == "application/scim+json", got)


def directory_keys(check, a, idp):
    got = a("POST", "/v2/keys", {"name": "d", "directory": "idp_none"})
    check.refused("a key of no directory", got, 400, "validation_error", "directory")
    got = a("POST", "/v2/keys", {"name": "d", "directory": idp, "scopes": ["read"]})
    check.refused("one with scopes", got, 400, "validation_error", "directory")
    d = Directory(a, idp)
    check("a key of a directory", d.made.status == 201 and d.made.json["directory"] == idp, d.made)
    for method, path in (("GET", "/v2/data"), ("GET", "/v2/usage"), ("GET", "/v2/keys"), ("GET", PROVIDERS)):
        check.refused(f"it may not {path}", d.client(method, path), 403, "auth_error")
    made = d.client("POST", "/v2/keys", {"name": "more", "scopes": ["read"]})
    check.refused("nor make keys", made, 403, "auth_error")
    got = Client(a.port, None)("POST", "/platform/v1/session", {"key": d.made.json["key"]})
    check.refused("nor sign in", got, 403, "auth_error")
    refused(check, "and no other key is a directory's", a("GET", "/scim/v2/Users"), 403)
    check.refused("a stranger's is none", Client(a.port, None)("GET", "/scim/v2/Users"), 401, "auth_error")
    for path in ("/ServiceProviderConfig", "/ResourceTypes", "/Schemas"):
        got = d("GET", path)
        check(f"{path} is said", got.status == 200 and got.json["schemas"], got)
    return d


def users(check, d):
    made = d.user(
        "Zoe@example.org",
        externalId="z1",
        name={"givenName": "Zoe", "familyName": "Zahn"},
        emails=[{"value": "zoe@example.org", "type": "work", "primary": True}],
        active=True,
    )
    zoe = made.json["id"]
    check("a user", made.status == 201 and made.headers["location"].endswith("/scim/v2/Users/" + zoe), made)
    check("as it was said", made.json["displayName"] == "Zoe Zahn" and made.json["active"] is True, made)
    check("is there", d("GET", "/Users/" + zoe).json == made.json)
    refused(check, "twice it is not", d.user("zoe@EXAMPLE.org"), 409, "uniqueness")
    refused(check, "nor without a name", d("POST", "/Users", {"active": True}), 400, "invalidValue")
    for asked, n in (
        ('userName eq "zoe@example.org"', 1),
        ('externalId eq "z1" and emails.value eq "ZOE@example.org"', 1),
        ('userName eq "nobody"', 0),
        ('userName eq ""', 0),
        ('externalId eq "\' OR 1=1 --"', 0),
    ):
        got = d("GET", "/Users?filter=" + asked.replace(" ", "%20").replace("'", "%27"))
        check(f"users of {asked}", got.json["totalResults"] == n == len(got.json["Resources"]), got)
    refused(check, "a filter of another form", d("GET", "/Users?filter=title%20pr"), 400, "invalidFilter")
    refused(check, "and a number that is none", d("GET", "/Users?startIndex=x"), 400, "invalidValue")
    for name in ("yan@example.org", "xia@example.org"):
        d.user(name)
    page = d("GET", "/Users?startIndex=2&count=1").json
    check("pages", page["totalResults"] == 3 and page["itemsPerPage"] == 1 and page["startIndex"] == 2, page)
    check("none of them", d("GET", "/Users?count=0").json["Resources"] == [])
    got = d.change("/Users/" + zoe, {"op": "replace", "value": {"displayName": "Zoe Z", "externalId": "z2"}})
    check("a change", got.json["displayName"] == "Zoe Z" and got.json["externalId"] == "z2", got)
    got = d("PUT", "/Users/" + zoe, {"userName": "zoe@example.org", "externalId": "z3", "active": True})
    check("a whole one", got.json["externalId"] == "z3" and got.json["emails"] == [], got)
    refused(check, "nobody's", d.active("usr_none", True), 404)
    refused(check, "what is no change", d("PATCH", "/Users/" + zoe, {}), 400, "invalidSyntax")
    return zoe


def groups(check, a, idp, d, zoe):
    """A role comes by a group, and goes with it."""

    def person():
        return next(x for x in a("GET", "/platform/v1/people").json["people"] if x["id"] == zoe)

    check("of no group nobody is in", not person()["active"] and person()["user_name"], person())
    made = d("POST", "/Groups", {"schemas": [GROUP], "displayName": "readers", "members": [{"value": zoe}]})
    readers = made.json["id"]
    check("a group", made.status == 201 and [m["value"] for m in made.json["members"]] == [zoe], made)
    check("makes a role", person()["active"] and person()["role"] == "viewer", person())
    refused(check, "twice it is not", d("POST", "/Groups", {"displayName": "readers"}), 409, "uniqueness")
    owners = d("POST", "/Groups", {"displayName": "owners"}).json["id"]
    got = d.add(owners, zoe, "usr_none", d.made.json["id"])
    check("who is nobody here is passed over", [m["value"] for m in got.json["members"]] == [zoe], got)
    check("the role that counts most", person()["role"] == "admin", person())
    shown = d("GET", "/Users/" + zoe).json["groups"]
    check("a user's groups", {g["display"] for g in shown} == {"readers", "owners"}, shown)
    got = d("GET", "/Groups?filter=displayName%20eq%20%22owners%22&excludedAttributes=members").json
    check("found by name", [g["id"] for g in got["Resources"]] == [owners], got)
    check("without members", "members" not in got["Resources"][0], got)
    got = d("GET", f"/Groups?filter=id%20eq%20%22{owners}%22%20and%20members%20eq%20%22{zoe}%22").json
    check("found by member", got["totalResults"] == 1, got)
    d.drop(owners, zoe)
    check("a group less", person()["role"] == "viewer", person())
    a("PATCH", f"{PROVIDERS}/{idp}", {"roles": {"engineers": "builder", "readers": "billing"}})
    check("the provider's roles hold at once", person()["role"] == "billing", person())
    return readers, owners


def signing_in(check, a, idp, p, d, zoe, readers, browser):
    """The first sign-in finds whom the directory named; groups of a token do not count then."""
    roles = {"engineers": "builder", "finance": "billing", "owners": "admin", "readers": "viewer"}
    a("PATCH", f"{PROVIDERS}/{idp}", {"roles": roles})
    got = browser().sign_in(a, idp, p, "mal", email="zoe@example.org", email_verified=False)
    check.refused("an address that nobody verified is nobody", got, 403, "auth_error")
    b = browser()
    got = b.sign_in(a, idp, p, "z3", email="zoe@example.org", groups=["owners"])
    check("the directory's person", got.status == 201 and got.json["person"]["id"] == zoe, got)
    check("has the directory's role", got.json["person"]["role"] == "viewer", got)
    again = browser().sign_in(a, idp, p, "z3", email="zoe@new.example.org", email_verified=True)
    check.refused("a provider's domains hold", again, 403, "auth_error")
    d.change("/Groups/" + readers, {"op": "replace", "path": "displayName", "value": "engineers"})
    check("a group's new name is a new role, mid-session", b("POST", "/v2/run", run()).status == 200)
    d.change("/Groups/" + readers, {"op": "replace", "path": "displayName", "value": "readers"})
    check.refused("and is lowered mid-session", b("POST", "/v2/run", run()), 403, "auth_error")
    return b


def run():
    return {"tables": [{"id": "t", "columns": ["a", "b"], "rows": [[i, "xy"[i % 2]] for i in range(40)]}]}


def leaver(check, stack, a, idp, p, d, zoe, readers, b, browser):
    d.change("/Groups/" + readers, {"op": "replace", "path": "displayName", "value": "engineers"})
    key = b("POST", "/v2/keys", {"name": "own", "scopes": ["read"]}).json
    mine = Client(a.port, key["key"])
    check("before", b("GET", "/v2/data").status == 200 and mine("GET", "/v2/data").status == 200)
    began = time.monotonic()
    got = d.active(zoe, "False")
    check("somebody leaves", got.status == 200 and got.json["active"] is False, got)
    check.refused("its session is out", b("GET", "/v2/data"), 401, "auth_error")
    check.refused("and its key", mine("GET", "/v2/data"), 401, "auth_error")
    check("within a minute", time.monotonic() - began < 60)
    audit = a("GET", "/platform/v1/audit").json["audit"]
    ended = [x for x in audit if x["action"] == "key.delete" and x["object"] == key["id"]]
    check("the key's end is written down", ended and ended[0]["actor"] == d.made.json["id"], audit[:5])
    got = browser().sign_in(a, idp, p, "z3", email="zoe@example.org")
    check.refused("it cannot come back", got, 403, "auth_error")
    got = a("PATCH", f"/platform/v1/people/{zoe}", {"active": True})
    check.refused("nor does an admin let it in", got, 409, "conflict", "active")
    stack.redis("FLUSHALL")
    check.refused("nor once Redis forgot", b("GET", "/v2/data"), 401, "auth_error")
    check("the directory lets it in again", d.active(zoe, True).json["active"] is True)
    b = browser()
    check("as the same person", b.sign_in(a, idp, p, "z3").json["person"]["id"] == zoe)
    check.refused("its key stays ended", mine("GET", "/v2/data"), 401, "auth_error")
    a("PATCH", f"/platform/v1/people/{zoe}", {"active": False})
    d.active(zoe, True)
    d.drop(readers, zoe)
    d.add(readers, zoe)
    got = browser().sign_in(a, idp, p, "z3", email="zoe@example.org")
    check.refused("whom an admin put out no directory lets in", got, 403, "auth_error")
    a("PATCH", f"/platform/v1/people/{zoe}", {"active": True})
    b = browser()
    check("but the admin does", b.sign_in(a, idp, p, "z3").status == 201)
    d.drop(readers, zoe)
    check.refused("without a group its session ends", b("GET", "/v2/data"), 401, "auth_error")
    d.add(readers, zoe)
    check("with one it may sign in", b.sign_in(a, idp, p, "z3").status == 201)
    gone = d("DELETE", "/Users/" + zoe)
    check("a user is deleted", gone.status == 204 and not gone.body, gone)
    check.refused("and out", b("GET", "/v2/data"), 401, "auth_error")
    refused(check, "it is no longer there", d("GET", "/Users/" + zoe), 404)
    refused(check, "nor to be deleted", d("DELETE", "/Users/" + zoe), 404)
    got = browser().sign_in(a, idp, p, "z3", email="zoe@example.org", groups=["owners"])
    check.refused("and cannot sign in by a token's groups", got, 403, "auth_error")
    again = d.user("zoe@example.org", externalId="z9").json
    check("another of its name is another", again["id"] != zoe, again)
    d("DELETE", "/Users/" + again["id"])
    back = d.user("zoe@example.org", externalId="z9").json
    check("the same of its name is the same", back["id"] == again["id"], back)


def adopted(check, a, idp, p, d, browser):
    """Who signed in before the directory came is the directory's from then on, where its address is sure."""
    b = browser()
    vera = b.sign_in(a, idp, p, "vera", groups=["owners"]).json["person"]["id"]
    got = d.user("vera@example.org", externalId="other")
    check("a person is found by its address", got.json["id"] == vera, got)
    check.refused("and has the directory's role: none", b("GET", "/v2/data"), 401, "auth_error")


def objects(check, a, p, browser):
    """Entra ID: the directory's externalId is the claim oid, and no address is called verified."""
    fields = {"name": "Objects", "issuer": p.issuer, "client_id": p.client, "client_secret": p.secret}
    fields |= {"roles": {"owners": "builder"}, "subject_claim": "oid"}
    got = a("POST", PROVIDERS, {**fields, "subject_claim": "email"})
    check.refused("a claim that others can get", got, 400, "validation_error", "subject_claim")
    idp = a("POST", PROVIDERS, fields).json["id"]
    got = a("PATCH", f"{PROVIDERS}/{idp}", {"subject_claim": "sub"})
    check("it does not change", got.status == 400, got)
    d = Directory(a, idp)
    oda = d.user("oda@example.org", externalId="o-1").json["id"]
    d("POST", "/Groups", {"displayName": "owners", "members": [{"value": oda}]})
    said = {"email": "oda@example.org", "email_verified": False}
    got = browser().sign_in(a, idp, p, "pairwise", **said)
    check.refused("a token without the claim", got, 401, "auth_error")
    got = browser().sign_in(a, idp, p, "pairwise", oid="o-2", **said)
    check.refused("with another's", got, 403, "auth_error")
    got = browser().sign_in(a, idp, p, "pairwise", oid="o-1", **said)
    check("with its own it is the directory's person", got.json["person"]["id"] == oda, got)
    a("DELETE", f"{PROVIDERS}/{idp}")


def at_once(check, a, idp, p, d, browser):
    """First sign-in, groups and leaving at once: whoever is out in the end is out."""
    readers = d("GET", "/Groups?filter=displayName%20eq%20%22engineers%22").json["Resources"][0]["id"]
    made = [d.user(f"w{i}@example.org").json["id"] for i in range(4)]
    d.add(readers, *made)
    inside = []

    def enter(i):
        b = browser()
        b.sign_in(a, idp, p, f"w{i}")
        inside.append(b)

    work = [threading.Thread(target=enter, args=(i,)) for i in range(4)]
    work += [threading.Thread(target=d.active, args=(id, False)) for id in made]
    for t in work:
        t.start()
    for t in work:
        t.join()
    for b in inside:
        got = b("GET", "/v2/data")
        check("whoever came in while leaving is out", got.status == 401, got)


def strangers(check, stack, a, idp, p, d):
    """Of two providers and two organizations: none sees, names or changes the other's."""
    two = a("POST", PROVIDERS, {"name": "Two", "issuer": p.issuer, "client_id": "two", "roles": {}}).json[
        "id"
    ]
    b = stack.org("other")
    fields = {"name": "Work", "issuer": p.issuer, "client_id": p.client, "client_secret": p.secret}
    theirs = b("POST", PROVIDERS, {**fields, "roles": {"owners": "admin"}}).json["id"]
    got = b("POST", "/v2/keys", {"name": "d", "directory": idp})
    check.refused("a key of another's directory", got, 400, "validation_error", "directory")
    id, group = d.user("u@example.org").json["id"], d("POST", "/Groups", {"displayName": "g"}).json["id"]
    for name, x in (
        ("another provider's", Directory(a, two)),
        ("another organization's", Directory(b, theirs)),
    ):
        for method, path, body in (
            ("GET", "/Users/" + id, None),
            ("PUT", "/Users/" + id, {"userName": "u"}),
            ("PATCH", "/Users/" + id, {"Operations": [{"op": "replace", "value": {"active": False}}]}),
            ("DELETE", "/Users/" + id, None),
            ("GET", "/Groups/" + group, None),
            ("PUT", "/Groups/" + group, {"displayName": "g"}),
            ("PATCH", "/Groups/" + group, {"Operations": [{"op": "replace", "value": {"displayName": "h"}}]}),
            ("DELETE", "/Groups/" + group, None),
        ):
            refused(check, f"{name} {method} {path}", x(method, path, body), 404)
        for path in ("/Users", "/Groups", f"/Users?filter=id%20eq%20%22{id}%22"):
            got = x("GET", path).json
            check(f"{name} list of {path} is empty", got["totalResults"] == 0, got)
        own = x("POST", "/Groups", {"displayName": "owners", "members": [{"value": id}]})
        check(f"{name} group takes no stranger", own.status == 201 and own.json["members"] == [], own)
    check("all is as it was", d("GET", "/Users/" + id).json["active"] is True)
    check("a provider's end", a("DELETE", f"{PROVIDERS}/{two}").status == 200)
    check.refused("is its key's", x_ended(a, two), 400, "validation_error", "directory")


def x_ended(a, idp):
    return a("POST", "/v2/keys", {"name": "d", "directory": idp})


def directory(check, stack, a, idp, p, browser):
    d = directory_keys(check, a, idp)
    zoe = users(check, d)
    readers, _ = groups(check, a, idp, d, zoe)
    b = signing_in(check, a, idp, p, d, zoe, readers, browser)
    leaver(check, stack, a, idp, p, d, zoe, readers, b, browser)
    adopted(check, a, idp, p, d, browser)
    objects(check, a, p, browser)
    at_once(check, a, idp, p, d, browser)
    strangers(check, stack, a, idp, p, d)
    return d
