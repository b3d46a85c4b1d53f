"""The frame: what is served, signing in and out, another organization."""

import hashlib, re

from browser import Keys
from checks import ROOT, SAMPLES, check


def served(a):
    """The files as a client without a browser sees them."""
    page = a.with_key(None)("GET", "/console/")
    policy = page.headers["content-security-policy"]
    check(
        "the policy has no unsafe- and no other host", "unsafe" not in policy and "http" not in policy, policy
    )
    check("and begins from nothing", policy.startswith("default-src 'none'; script-src 'self'"), policy)
    script = rb"<script(?![^>]* src=)|<style|\son\w+=|\sstyle="
    check("no inline script or style", not re.search(script, page.body), page)
    for path in ("/console/api.js", "/console/style.css"):
        said = a.with_key(None)("GET", path, headers={"Accept-Encoding": "gzip"})
        check(f"{path} is packed", said.headers.get("content-encoding") == "gzip", said.headers)
        check(f"{path} is asked for anew", said.headers["cache-control"] == "no-cache", said.headers)
        again = a.with_key(None)("GET", path, headers={"If-None-Match": said.headers["etag"]})
        check(f"{path} is sent once", again.status == 304, again)
    check.refused("no such file", a.with_key(None)("GET", "/console/none.js"), 404, "not_found")
    for path in ("/console/../v2/keys", "/console/%2e%2e/v2/keys", "/console//v2/keys", "/consolex"):
        check(f"{path} leads nowhere", a.with_key(None)("GET", path).status in (401, 404))
    for name in ("customers.csv", "billing.csv"):
        said = a.with_key(None)("GET", "/console/sample/" + name)
        check(f"the sample {name} is the suite's", said.body == (SAMPLES / name).read_bytes(), said.status)
    vendored = sorted((ROOT / "gateway" / "console" / "vendor").glob("*.js"))
    known = (ROOT / "THIRD_PARTY.md").read_text()
    for f in [*vendored, ROOT / "tests/console/axe-core-4.14.1/axe.min.js"]:
        check(f"{f.name} is the one of its checksum", hashlib.sha256(f.read_bytes()).hexdigest() in known)
        if f in vendored:
            said = a.with_key(None)("GET", "/console/vendor/" + f.name)
            check(f"{f.name} is kept for long", "immutable" in said.headers["cache-control"], said.headers)


def sign_in(b, a):
    b.open()
    b.one("input[name=key]")
    check("the API reference is a link away", b.all("a[href='/console/reference/']"))
    check("the key's field has the focus", b.script("return document.activeElement.name") == "key")
    b.keys("sk_live_mistyped", Keys.ENTER)
    check("a wrong key is refused, with its request's id", b.shows("missing or invalid", "req_"), b.text())
    check("and the field is empty", b.script("return document.activeElement.value") == "", b.text())
    b.keys(a.key, Keys.ENTER)
    b.one(".drop")
    check("signing in with the keyboard alone", "Drop your tables here" in b.text())
    stored = b.script("return JSON.stringify([localStorage, sessionStorage, document.cookie])")
    check(
        "neither key nor token is where a script reads",
        "sk_live" not in stored and "cs_" not in stored,
        stored,
    )
    asked = b.requests()
    check("everything came from one origin", all(n.startswith(b.url) for n, _ in asked if "://" in n), asked)
    total = sum(n for _, n in asked)
    print(f"# first page: {total / 1000:.1f} KB in {len(asked)} answers", flush=True)
    check("the first page is under 100 KB", total < 100_000, total)


def two(b, one, other, id):
    b.press("Sign out")
    check("signing out", b.shows("You are signed out."), b.text())
    b.driver.refresh()
    b.one("input[name=key]")
    check("and it stays so", not b.all(".frame"))
    check("nothing is left in the tab", b.script("return sessionStorage.length") == 0)
    b.sign_in(other.key)
    for page, title in (
        ("endpoints", "No endpoint yet"),
        ("data", "No data yet"),
        ("jobs", "No job yet"),
        ("reports", "No report yet"),
        ("usage", "No usage yet"),
        ("service-level", "No serve call yet"),
    ):
        b.go(page)
        check(f"another organization's {page}: what to do first", b.shows(title), b.text())
    b.go("endpoints/" + id)
    check("its endpoint is not found", b.shows("req_", "Copy id"), b.text())
    b.go("keys")
    b.press("Rotate first key")
    b.press("Rotate", "dialog")
    check("who rotates the own key is signed out", b.shows("Sign in with another"), b.text())
