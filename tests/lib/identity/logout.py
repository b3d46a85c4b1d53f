"""A provider ends sessions (back-channel logout): which ones, by which tokens, and once. Called by
tests/suite/people."""

import secrets, threading, time, urllib.parse

from identity import Key, hs256, unsigned
from suite import Client

EVENT = "http://schemas.openid.net/event/backchannel-logout"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Logouts:
    """The provider posts its tokens, from an address of its own."""

    def __init__(self, a, idp, p):
        self.p = p
        provider = next(x for x in a("GET", "/platform/v1/providers").json["providers"] if x["id"] == idp)
        self.path = urllib.parse.urlsplit(provider["logout_url"]).path
        self.client = Client(a.port, None, source="127.0.0.251")

    def token(self, bend=None, **claims):
        now = int(time.time())
        header = {"alg": self.p.keys[0].alg, "kid": self.p.keys[0].kid, "typ": "logout+jwt"}
        claims = {
            "iss": self.p.issuer,
            "aud": self.p.client,
            "iat": now,
            "exp": now + 120,
            "jti": secrets.token_urlsafe(12),
            "events": {EVENT: {}},
            **claims,
        }
        bent = bend(header, claims) if bend else None
        return bent or self.p.signed(header, claims)

    def __call__(self, token, path=None, headers=FORM):
        return self.client("POST", path or self.path, None, headers, raw=f"logout_token={token}")


def tokens(check, say, p, b):
    other, now = Key("one"), int(time.time())
    drop = lambda name: lambda h, c: c.pop(name) and None
    for name, bend, claims in (
        ("a nonce: an ID token", None, {"nonce": "x"}),
        ("no event", drop("events"), {}),
        ("another event", None, {"events": {"http://example.org/": {}}}),
        ("an event that is a text", None, {"events": {EVENT: "yes"}}),
        ("another issuer", None, {"iss": "https://evil.example"}),
        ("another audience", None, {"aud": "somebody"}),
        ("an end that has come", None, {"exp": now - 120}),
        ("an end that is a text", None, {"exp": str(now + 60)}),
        ("an age of an hour", None, {"iat": now - 3600}),
        ("a time to come", None, {"iat": now + 600}),
        ("no time", drop("iat"), {}),
        ("no id", drop("jti"), {}),
        ("nobody", None, {"sub": ""}),
        ("no signature", unsigned, {}),
        ("HS256 by the client's secret", lambda h, c: hs256(h, c, p.secret.encode()), {}),
        ("another's signature", lambda h, c: p.signed(h, c, other), {}),
        ("no token", lambda h, c: "x", {}),
    ):
        got = say(say.token(bend, **{"sub": "luc", **claims}))
        check.refused(f"a logout token with {name}", got, 400, "validation_error", "logout_token")
    good = say.token(sub="luc")
    got = say(good, headers={"Content-Type": "application/json"})
    check.refused("no form", got, 400, "validation_error", "logout_token")
    got = say(good + "&logout_token=" + good)
    check.refused("two tokens", got, 400, "validation_error", "logout_token")
    got = say(good, headers={**FORM, "Origin": "https://evil.example"})
    check.refused("a page of somebody else", got, 403, "auth_error")
    got = say(good, path=say.path.rsplit("/", 1)[0] + "/idp_none")
    check.refused("no provider", got, 404, "not_found")
    check("nobody is out by any of it", b("GET", "/v2/data").status == 200)


def logout(check, stack, a, idp, p, browser):
    say = Logouts(a, idp, p)

    def inside(user, **claims):
        b = browser()
        got = b.sign_in(a, idp, p, user, groups=["engineers"], **claims)
        check(f"{user} signs in", got.status == 201, got)
        return b

    one, two, old = inside("luc", sid="s-1"), inside("luc", sid="s-2"), inside("luc")
    kim = inside("kim", sid="s-3")
    key = one("POST", "/v2/keys", {"name": "own", "scopes": ["read"]}).json["key"]
    tokens(check, say, p, one)
    token = say.token(sub="luc", sid="s-1")
    got = say(token)
    check("a session of the provider ends", got.status == 200 and got.json == {"ended": 2}, got)
    check.refused("at once", one("GET", "/v2/data"), 401, "auth_error")
    check.refused("and one that may be of it", old("GET", "/v2/data"), 401, "auth_error")
    check("others do not", two("GET", "/v2/data").status == 200 and kim("GET", "/v2/data").status == 200)
    check.refused("a token counts once", say(token), 400, "validation_error", "logout_token")
    stack.redis("FLUSHALL")
    check.refused("nor is it back once Redis forgot", one("GET", "/v2/data"), 401, "auth_error")
    got = say(say.token(sid="s-3"))
    check("by the session alone", got.json == {"ended": 1}, got)
    check.refused("it is out", kim("GET", "/v2/data"), 401, "auth_error")
    got = say(say.token(sub="luc", sid="s-9"))
    check("a session that is not here", got.json == {"ended": 0}, got)
    got = say(say.token(lambda h, c: c.pop("exp") and None, sub="luc"))
    check("all of a person, without an end as drafts have it", got.json == {"ended": 1}, got)
    check.refused("are out", two("GET", "/v2/data"), 401, "auth_error")
    check("its own keys stay", Client(a.port, key)("GET", "/v2/data").status == 200)
    log = a("GET", "/platform/v1/audit?action=session.delete").json["audit"]
    check("it is written down", any(x["detail"] == "by its provider" for x in log), log[:3])
    before = len([x for x in p.seen if x == "/jwks"])
    for _ in range(5):
        say(say.token(lambda h, c: p.signed(h, c, Key("one")), sub="luc"))
    check("strangers make no traffic", len([x for x in p.seen if x == "/jwks"]) - before <= 1, p.seen[-5:])
    rotated(check, stack, idp, say, p, inside)
    both = inside("luc")
    again, results = say.token(sub="luc"), []
    work = [threading.Thread(target=lambda: results.append(say_of(say)(again).status)) for _ in range(4)]
    for t in work:
        t.start()
    for t in work:
        t.join()
    check("one token four times at once counts once", sorted(results) == [200, 400, 400, 400], results)
    check.refused("and holds", both("GET", "/v2/data"), 401, "auth_error")


def say_of(say):
    """The same with a connection of its own."""
    return lambda token: Client(say.client.port, None, source="127.0.0.252")(
        "POST", say.path, None, FORM, raw=f"logout_token={token}"
    )


def rotated(check, stack, idp, say, p, inside):
    """Keys are read again when none that is kept fits, once a minute at most."""
    b = inside("luc", sid="s-4")
    old, p.keys = p.keys, [Key("four", "ES256")]
    stack.sql(f"UPDATE keys.provider SET keys_read = now() - interval '61 seconds' WHERE id = '{idp}'")
    check("a new key holds", say(say.token(sid="s-4")).json == {"ended": 1})
    check.refused("for what it ends", b("GET", "/v2/data"), 401, "auth_error")
    p.keys = old
    stack.sql(f"UPDATE keys.provider SET keys_read = now() - interval '61 seconds' WHERE id = '{idp}'")
