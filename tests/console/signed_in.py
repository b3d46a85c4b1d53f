"""People: a provider is set up, somebody signs in by its page, sees what its role has, and is put out."""

from checks import check


def people(b, a, idp):
    """The provider's page is of another site than the console."""
    idp.page_at = idp.issuer.replace("127.0.0.1", "localhost")
    idp.page, idp.back = ("ann", {"groups": ["data"]}), b.url + "/console/"
    b.go("people")
    check("nobody yet", b.shows("Nobody has signed in yet", "None: sign-in is with keys only"), b.text())
    b.press("Add a provider")
    for name, value in (
        ("name", "Work"),
        ("issuer", idp.issuer),
        ("client_id", idp.client),
        ("client_secret", idp.secret),
        ("roles", "data viewer"),
    ):
        b.one(f"dialog [name={name}]").send_keys(value)
    b.press("Add", "dialog")
    check(
        "a provider is there, with the link to sign in",
        b.shows("data: viewer", "#/signin/" + a.org),
        b.text(),
    )
    check("nothing serious for an accessibility checker", b.axe() == [], b.axe())
    check("and where it posts its logouts", b.shows("/platform/v1/signin/logout/" + a.org), b.text())
    b.press("Directory of Work")
    b.press("Make a key", "dialog")
    check("a directory gets a key, once", b.shows("It is shown only once", "/scim/v2", "sk_"), b.text())
    b.press("Done")
    b.press("Sign out")
    b.shows("You are signed out.")
    b.driver.get("about:blank")
    b.open("#/signin/" + a.org)
    b.press("Sign in with Work")
    b.one(".frame")
    check("somebody is in by the provider's page", b.shows("Ann"), b.text())
    check("with neither code nor state in the address", "?" not in b.at(), b.at())
    check("and without what its role has no page of", not b.all("a[href='#/audit']"), b.text())
    b.go("people")
    check("nor is it there by its address", b.one("main h1").text not in ("", "People"), b.text())
    who = a("GET", "/platform/v1/people").json["people"][0]
    a("PATCH", f"/platform/v1/people/{who['id']}", {"active": False})
    b.go("data")
    check("put out, it is at the sign-in", b.shows("Your session has ended"), b.text())
    b.press("Sign in with Work")
    check("and told why it cannot come back", b.shows("your access was ended"), b.text())
    b.sign_in(a.key)
    b.go("people")
    check("the admin sees it", b.shows("Ann", "out", "Let in again"), b.text())
