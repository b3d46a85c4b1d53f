"""Jobs, usage, keys, the audit log, notices."""

from checks import check


def lists(b, a):
    b.go("jobs")
    check("jobs are listed", b.shows("create", "refresh", "done"), b.text())
    b.one("td a").click()
    check("a job opens", b.shows("State", "Log"), b.text())

    b.go("usage")
    check("usage sums what the console did", b.shows("By the console", "All events", "create"), b.text())
    sums = a("GET", "/v2/usage").json
    check("all of it as surface ui", sums["by_surface"]["api"] == 0 and sums["by_surface"]["ui"] > 0, sums)
    b.press("Allowance and alerts")
    b.one("dialog input[name=emails]").send_keys("ann@example.org")
    b.press("Save", "dialog")
    kept = lambda: a("GET", "/platform/v1/organization").json["emails"] == ["ann@example.org"]
    check("where mails go is set", b.until(kept))

    b.go("service-level")
    check(
        "the service level of what the console served",
        b.shows("Failed calls by day", "100 %", "By month", "over a limit, or wrong (4xx)"),
        b.text(),
    )
    month = a("GET", "/platform/v1/service-level").json["months"][0]
    check("of each serve call", month["answered"] > 0 and b.shows(month["month"]), month)
    by = a("GET", "/platform/v1/service-level").json["endpoints"]
    check("and by endpoint", by and b.shows("By endpoint"), by)

    b.go("keys")
    b.press("Create a key")
    b.one("dialog input[name=name]").send_keys("from the console")
    b.press("Create", "dialog")
    check("a key is made, its secret shown once", b.shows("shown only once", "sk_live_"), b.text())
    b.press("Done")
    check("and no longer", b.until(lambda: "shown only once" not in b.text()))
    made = lambda: next(k for k in a("GET", "/v2/keys").json["keys"] if k["name"] == "from the console")
    b.press("Change from the console")
    b.one("dialog textarea[name=networks]").send_keys("10.0.0.0/8 2001:db8::/32")
    b.press("Save", "dialog")
    bounded = b.until(lambda: made()["networks"] == ["10.0.0.0/8", "2001:db8::/32"])
    check("its networks are set", bounded and b.shows("from 10.0.0.0/8, 2001:db8::/32"), b.text())
    b.press("Rotate from the console")
    b.script("document.querySelector('dialog select[name=overlap_s]').value = '3600'")
    b.press("Rotate", "dialog")
    overlaps = b.until(lambda: len(made()["old_secrets"]) == 1)
    check("it is rotated with an overlap", overlaps and b.shows("shown only once", "until"), b.text())
    b.press("Done")
    b.press("Networks")
    b.one("dialog textarea[name=networks]").send_keys("127.0.0.0/8")
    b.press("Save", "dialog")
    kept = b.until(lambda: a("GET", "/platform/v1/organization").json["networks"] == ["127.0.0.0/8"])
    check("the organization's networks are set", kept)
    b.press("Revoke from the console")
    b.press("Revoke", "dialog")
    check("a key is revoked", b.until(lambda: len(a("GET", "/v2/keys").json["keys"]) == 1))

    b.go("audit")
    check("the audit log has it", b.shows("key.create", "key.delete", "session.create", "Head"), b.text())
    b.one("form input").send_keys("key.delete")
    b.press("Filter")
    check("and is filtered", b.until(lambda: "key.create" not in b.text() and "key.delete" in b.text()))

    b.go("webhooks")
    check("webhooks: what they are for", b.shows("No webhook yet"), b.text())
    b.press("Create a webhook")
    b.one("dialog input[name=name]").send_keys("pager")
    b.one("dialog input[name=url]").send_keys("https://10.0.0.1/hook")
    b.press("Create", "dialog")
    check("an address inside is refused, and why", b.shows("public addresses"), b.text())
    b.one("dialog input[name=url]").clear()
    b.one("dialog input[name=url]").send_keys("http://127.0.0.1:9/hook")  # nobody listens there
    b.one("dialog input[name=token]").send_keys("a-token-of-the-receiver")
    b.press("Create", "dialog")
    check("one is made, its secret shown once", b.shows("shown only once", "whsec_"), b.text())
    b.press("Done")
    b.press("Test pager")
    hook = lambda: a("GET", "/platform/v1/webhooks").json["webhooks"][0]
    sent = lambda: a("GET", f"/platform/v1/webhooks/{hook()['id']}/deliveries").json["deliveries"]
    check("a test is sent", b.until(lambda: len(sent()) == 1 and sent()[0]["error"]))
    check("its token is kept, and not shown", hook()["has_token"] and "a-token-of" not in b.text(), hook())
    b.press("Deliveries of pager")
    check("and told of", b.shows("webhook.test", "waiting", "no connection"), b.text())
    b.press("Disable pager")
    check("it is disabled", b.until(lambda: hook()["status"] == "disabled") and b.shows("Enable"), b.text())
    b.press("Delete pager")
    b.press("Delete", "dialog")
    check("and deleted", b.until(lambda: a("GET", "/platform/v1/webhooks").json["webhooks"] == []))

    b.go("notifications")
    check("notices are told", b.shows("new"), b.text())
    b.press("Mark these as read")
    check("and read", b.until(lambda: a("GET", "/platform/v1/notifications").json["unread"] == 0))
