"""Every route of the client against the real suite."""

import contextlib
import io
import json
import os
import signal
import threading
import time

import tabella
from tabella import Tabella

CUSTOMERS = [
    {"id": i, "plan": "ab"[i % 2], "months": i % 17, "fee": 10.0 * (i % 2) + i % 5, "left": i % 3 == 0}
    for i in range(120)
]


def raises(kind, call):
    """The error that the call raised, None when it raised another or none."""
    try:
        call()
    except kind as e:
        return e
    except Exception as e:
        print(f"     raised {type(e).__name__}: {e}")
    return None


def errors(check, c, url, other):
    e = raises(tabella.AuthenticationError, lambda: Tabella("sk_live_none", url).models.list())
    check("a wrong key: AuthenticationError 401", e and e.status == 401 and e.type == "auth_error")
    weak = c.keys.create("reader", ["read"])
    check("a new key's secret comes once, and in no repr", weak.key and weak.key not in repr(weak))
    e = raises(tabella.PermissionDeniedError, lambda: Tabella(weak.key, url).run(CUSTOMERS))
    check("a key without the scope: PermissionDeniedError 403", e and e.status == 403)
    e = raises(tabella.NotFoundError, lambda: c.reports.retrieve("r_none"))
    check("an unknown id: NotFoundError with its request", e and e.request_id.startswith("req_"))
    e = raises(tabella.ValidationError, lambda: c.run(CUSTOMERS, target="none_such"))
    check("a field at fault is named", e and e.param == "target.column" and e.status == 400)
    check("and stands in the text with the request", e and e.param in str(e) and e.request_id in str(e))
    e = raises(tabella.ValidationError, lambda: c.jobs.list(limit=1000))
    check("a limit out of range", e and e.param == "limit")
    check("an id cannot leave its path", raises(tabella.NotFoundError, lambda: c.jobs.retrieve("../keys")))
    check("an id is not empty", raises(TypeError, lambda: c.jobs.retrieve("")))
    rotated = c.keys.rotate(weak.id)
    check("a rotated key has another secret", rotated.key and rotated.key != weak.key)
    check(
        "the old one ends", raises(tabella.AuthenticationError, lambda: Tabella(weak.key, url).models.list())
    )
    c.keys.delete(weak.id)
    check("a deleted key is listed no more", weak.id not in [k.id for k in c.keys.list()])
    check(
        "nor does it work", raises(tabella.AuthenticationError, lambda: Tabella(rotated.key, url).keys.list())
    )
    check(
        "what no cell can hold is refused here, by column",
        "column x" in str(raises(ValueError, lambda: c.run([{"x": float("inf")}])))
        and "column x" in str(raises(TypeError, lambda: c.run([{"x": b"\xff"}]))),
    )
    check("no table at all is a TypeError", raises(TypeError, lambda: c.run("customers.csv")))
    e = raises(
        tabella.APIConnectionError, lambda: Tabella("k", "http://127.0.0.1:1", max_retries=0).keys.list()
    )
    check("nobody there: APIConnectionError", e is not None)
    for wrong in ("ftp://x", "http://user:secret@x", "http://x?a=1"):
        check(f"no address: {wrong}", raises(tabella.TabellaError, lambda: Tabella("k", wrong)))
    os.environ.pop("TABELLA_API_KEY", None)
    check("no key, no client", raises(tabella.TabellaError, lambda: Tabella(base_url=url)))
    os.environ.update(TABELLA_URL=url, TABELLA_API_KEY=other._transport.key)
    check("address and key come from the environment", len(Tabella().models.list()) > 0)
    del os.environ["TABELLA_URL"], os.environ["TABELLA_API_KEY"]


def endpoints(check, c, other):
    begun = c.endpoints.create("churn", CUSTOMERS, target="left", wait=False)
    check("creation is told at once", begun.status == "creating" and begun.job["job_id"])
    e = begun.wait()
    check("and waited for", e.status == "live" and e.endpoint == "churn" and e.held_out["score"] >= 0)
    check("with the bundle of its data", e.bundle and len(e.bundle.array("prediction.results")) == 120)
    b = c.endpoints.serve("churn", [{**r, "left": None} for r in CUSTOMERS[:7]])
    p = b.array("prediction.results")
    check("serving by name answers each row", [r["row"] for r in p] == list(range(7)))
    named = c.endpoints.serve(e.id, {"churn": CUSTOMERS[:2]})
    check("and by id, the table named", len(named.array("prediction.results")) == 2)
    many = [{k: v for k, v in CUSTOMERS[i % 120].items() if k != "left"} for i in range(10003)]
    p = e.predict(many)
    last = c.endpoints.serve("churn", [{**many[-1], "left": None}]).predictions
    if hasattr(p, "to_dict"):
        p, last = p.reset_index(names="row").to_dict("records"), last.to_dict("records")
    check(
        "predict answers more rows than a call may have, without the target",
        [r["row"] for r in p] == list(range(10003))
        and abs(p[-1]["confidence"] - last[0]["confidence"]) < 1e-9
        and p[-1]["label"] == last[0]["label"],
        (len(p), p[-1], last),
    )
    none = raises(ValueError, lambda: c.endpoints.predict("churn", {"a": [many[0]], "b": [many[0]]}))
    check("of one table", none and "one table" in str(none), none)
    report = c.reports.retrieve(e.report_id)
    check("its report", report.kind == "create" and report.endpoint_id == e.id and report.metrics["metric"])
    c.reports.star(report.id)
    check("is starred", c.reports.retrieve(report.id).pinned)
    c.reports.unstar(report.id)
    check("and not", not c.reports.retrieve(report.id).pinned)
    e = c.endpoints.refresh("churn")
    check("refresh is followed", e.data_revision == 2 and e.diff["rows_unchanged"] == 120)
    e = c.endpoints.upgrade(e.id, "base-1")
    check("upgrade is followed", e.base == "base-1" and c.reports.retrieve(e.report_id).kind == "upgrade")
    clash = raises(tabella.ConflictError, lambda: c.endpoints.upgrade(e.id, "base-1"))
    check("to the base that is served: ConflictError", clash and clash.status == 409)
    e = c.endpoints.update(e.id, name="churn-two", confidence_threshold=0.7)
    check("update renames", e.endpoint == "churn-two" and e.config_revision == 2)
    e = c.prompts.create(e.id, "tone", "Be short.", order=0)
    tone = [x for x in e.system_prompts if x.name == "tone"][0]
    check("a prompt is added where it was asked to be", tone.order == 0 and tone.body == "Be short.")
    e = c.prompts.update(e.id, tone.id, body="Be kind.", active=False)
    tone = [x for x in e.system_prompts if x.id == tone.id][0]
    check("changed", (tone.body, tone.active, tone.version) == ("Be kind.", False, 2))
    e = c.prompts.delete(e.id, tone.id)
    check("and removed", tone.id not in [x.id for x in e.system_prompts])
    events = [x.event for x in c.endpoints.logs(e.id, limit=2)]
    check("its log comes through pages", "create.submitted" in events and len(events) > 4, events)
    up = c.data.upload(("churn.csv", b"id;name\n1;a\n2;b\n"), name="second")
    check("a file is uploaded", (up.dataset.name, up.dataset.rows, up.dataset.cols) == ("second", 2, 2), up)
    check(
        "not for another organization",
        raises(tabella.NotFoundError, lambda: other.data.retrieve(up.dataset.id)),
    )
    none = raises(tabella.ValidationError, lambda: c.data.upload(("x.pdf", b"%PDF-1.7")))
    check("a file that is no table", none and none.param == "file" and "PDF" in str(none), none)
    check("is deleted", c.data.delete(up.dataset.id).id == up.dataset.id)
    told, rows = io.StringIO(), b"".join(b"%d|x%d\n" % (i, i % 7) for i in range(60000))
    with contextlib.redirect_stderr(told):
        up = c.data.upload(("plain.txt", rows), reading={"delimiter": "|", "header_rows": 0}, progress=True)
    said = told.getvalue()
    check(
        "what is sent is drawn to the end", "100" in said and ("sent" in said or "plain" in said), said[-200:]
    )
    how = up.dataset.reading
    check("a file is read as said", (up.dataset.rows, how.delimiter, how.header_rows) == (60000, "|", 0), up)
    c.data.delete(up.dataset.id)
    made = c.data.generate("telecom", 30, tables=True, seed=7)
    check("a sector's tables are made", len(made.datasets) == 3 and made.rows == 30, made)
    check("and waited for as a batch", c.data.generate("retail", 20, processing="batch").rows == 20)
    for x in c.data.list().items:
        if x.source == "generate":
            c.data.delete(x.id)
    check("its own description", "/v2/serve/" + e.id in c.endpoints.openapi(e.id)["paths"])
    check("the list", [x.id for x in c.endpoints.list()] == [e.id])
    cost = c.endpoints.serve_cost(e.id, {"churn": CUSTOMERS[:2]})
    check("what a call would cost", cost.dry_run and cost.by_op_raw["serve"] == 2 * len(CUSTOMERS[0]), cost)
    check("a refresh", c.endpoints.refresh_cost(e.id).allowed)
    check("a creation", c.endpoints.create_cost("more", CUSTOMERS, target="left").by_op_raw.get("create"))
    cost = c.run_cost(CUSTOMERS, target="left", processing="batch")
    check("a run", list(cost.by_op_raw) == ["batch"] and cost.left_cells > cost.total_cells, cost)
    for name, call in {
        "retrieve": lambda: other.endpoints.retrieve(e.id),
        "serve": lambda: other.endpoints.serve(e.id, {"churn": CUSTOMERS[:2]}),
        "delete": lambda: other.endpoints.delete(e.id),
        "report": lambda: other.reports.retrieve(e.report_id),
    }.items():
        check(f"another organization finds none of it: {name}", raises(tabella.NotFoundError, call))
    check("nor lists it", other.endpoints.list().total == 0)
    data = c.data.list().items
    check("its data", len(data) == 1 and data[0].rows == 120 and data[0].pinned_by == [e.id])
    pinned = data[0].id
    check("are retrieved", c.data.retrieve(pinned).name == "churn")
    check("are not unpinned under it", raises(tabella.ConflictError, lambda: c.data.unpin(pinned)))
    check("nor synced", raises(tabella.ValidationError, lambda: c.data.sync(pinned)))
    refused = raises(
        tabella.ValidationError,
        lambda: c.data.connect("nonsense://x/y", name="n", credentials={"user": "u", "password": "hidden"}),
    )
    check("a source that is none", refused and "hidden" not in repr(refused.__dict__))
    check("delete", c.endpoints.delete(e.id).status == "deleted")
    check("lets go of its data", until(lambda: not c.data.retrieve(pinned).pinned_by))
    check("pins", c.data.pin(pinned).pinned and not c.data.unpin(pinned).pinned)
    check("of stored data runs", len(c.run(data=[pinned], target="left").array("prediction.results")) == 120)
    check("and deletes", c.data.delete(pinned).status == "deleted")
    gone = raises(tabella.NotFoundError, lambda: c.endpoints.serve(e.id, {"churn": CUSTOMERS[:2]}))
    check("a deleted endpoint's address", gone is not None)
    actions = [x.action for x in c.audit.list(limit=3)]
    check(
        "the audit log tells keys and prompts, by pages",
        "key.create" in actions and len(actions) > 3,
        actions,
    )
    check("filtered", {x.action for x in c.audit.list(event="key.create")} == {"key.create"})
    notices = [x for x in c.notifications.list(unread=True, limit=2)]
    check("notifications, by pages", len(notices) > 2 and notices[0].text, notices)
    check("one is read", c.notifications.read(notices[0].id).read_at is not None)
    bound = c.keys.create("bound", ["read"], networks=["10.0.0.0/8"], expires_at="2030-01-01T00:00:00Z")
    check("a key has bounds", bound.networks == ["10.0.0.0/8"] and bound.status == "active", bound)
    free = c.keys.update(bound.id, networks=[], expires_at="never")
    check("and loses them", free.networks == [] and free.expires_at is None, free)
    two = c.keys.rotate(bound.id, overlap_s=60)
    check("its old secret stays good", two.key != bound.key and len(two.old_secrets) == 1, two)
    c.keys.delete(bound.id)
    inside = lambda: c.webhooks.create("inside", "https://10.0.0.1/hook", ["job.ended"])
    check("a webhook at an address inside is refused", raises(tabella.ValidationError, inside).param == "url")
    check("and none was made", c.webhooks.list() == [])
    cap = c.organization.update(emails=["ann@example.org"], alerts={"jobs": False}, spend_cap_usd=5)
    check("settings", cap.emails == ["ann@example.org"] and cap.spend_cap_usd == 5 and not cap.alerts["jobs"])
    free = c.organization.update(emails=[], spend_cap_usd="none")
    check("of the organization", free.spend_cap_usd is None and c.organization.retrieve().emails == [])


def runs(check, c, stack):
    rows = [{**r, "left": None if r["id"] < 3 else r["left"]} for r in CUSTOMERS]
    b = c.run(rows, target="left", name="customers", explain=True)
    check("a run", b.status == "complete" and b.tables[0].id == "customers" and b.run_id)
    check("unknown fields are kept", b.tables[0].raw["rows"] == 120 and "summary" in b.extra)
    check(
        "its summary is text",
        "customers   120 rows, 5 columns" in b.summary() and "target: customers.left" in b.summary(),
        b.summary(),
    )
    check("its job is found", c.jobs.retrieve(b.job_id).status == "done")
    many = [{"x": i, "y": (7 * i) % 100, "z": ["u", "v", "w"][i % 3]} for i in range(3500)]
    b = c.run(many, target="z")
    check(
        "long answers come through pages",
        b.prediction["total"] == 3500
        and [r["row"] for r in b.array("prediction.results")] == list(range(3500)),
    )
    job = c.submit(many, target=False, processing="batch")
    check("a batch is a job", job.processing == "batch" and not job.ended)
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        done = job.wait(progress=True)
    check("its progress is drawn to the end", "100" in told.getvalue(), told.getvalue())
    check("whose result is the bundle", done.result.prediction is None and done.result.tables[0].rows == 3500)
    check("one that is done is no further call", c.submit(rows).wait().result.status == "complete")
    clash = raises(tabella.ConflictError, job.cancel)
    check("cancelling what is done", clash and clash.status == 409)
    listed = [j.job_id for j in c.jobs.list(status="done", limit=1)]
    check("the list of jobs, page by page", job.job_id in listed and len(listed) == len(set(listed)))
    page = c.jobs.list(limit=1)
    check("a page says how many there are", page.total >= 3 and len(page.items) == 1 and page.next_page())
    key = "order-17"
    one = c.run(rows, target="left", idempotency_key=key)
    check(
        "an idempotency key gives the first answer",
        c.run(rows, target="left", idempotency_key=key).run_id == one.run_id,
    )
    clash = raises(tabella.ConflictError, lambda: c.run(many, idempotency_key=key))
    check("another body under it: ConflictError", clash and clash.running_job_id is None)
    large = [{f"c{k}": (i * (k + 3)) % 1009 for k in range(60)} for i in range(5000)]
    b = c.run(large, target=False)
    check(
        "a large run goes in pieces and becomes a job by itself",
        b.tables[0].rows == 5000 and b.prediction is None,
    )
    for t in c.usage.retrieve().by_op_raw, c.usage.retrieve().by_op:
        check("usage", t["run"] >= 0)
    check("the service's description", c.openapi()["openapi"].startswith("3.1"))
    leaving(check, c, stack)


def leaving(check, c, stack):
    """Ctrl-C while a job is waited for. inference is frozen, so that the job does not end of itself."""
    frozen = stack.pid("inference")
    os.kill(frozen, signal.SIGSTOP)
    try:
        job = c.submit(CUSTOMERS, target="left", processing="batch")
        waited = raises(tabella.APITimeoutError, lambda: job.wait(timeout=0.1))
        check("a wait that ends leaves the job alone", waited and not c.jobs.retrieve(job.job_id).ended)
        threading.Timer(1, lambda: signal.raise_signal(signal.SIGINT)).start()
        said = None
        try:
            job.wait()
        except KeyboardInterrupt as e:
            said = e
        check("Ctrl-C ends the wait", said is not None)
        check("and cancels the job", c.jobs.retrieve(job.job_id).status == "cancelled")
    finally:
        os.kill(frozen, signal.SIGCONT)
    ended = raises(tabella.JobCancelledError, job.wait)
    check(
        "waiting for a cancelled job",
        ended and ended.job.status == "cancelled" and ended.type == "job_failed",
    )


def until(what):
    for _ in range(600):
        if found := what():
            return found
        time.sleep(0.2)
    return None


def retries(check, stack, proxy, key):
    from tabella import _transport

    pauses = []
    real, _transport.pause = _transport.pause, lambda s: pauses.append(s)
    try:
        c = Tabella(key, proxy.url)
        raw = json.loads(json.dumps(c.usage.retrieve().by_op_raw))
        proxy.clear("lost answer", "lost answer")
        b = c.run(CUSTOMERS, target="left")
        sent = proxy.header("idempotency-key")
        check("a lost answer is asked for again, under one key", len(sent) == 3 and len(set(sent)) == 1, sent)
        check(
            "after 0.5 s and 1 s, less up to a quarter",
            0.37 < pauses[0] <= 0.5 and 0.75 <= pauses[1] <= 1,
            pauses,
        )
        check("and it is one run", until(lambda: c.usage.retrieve().by_op_raw["run"] == raw["run"] + 600))
        check("which other calls do not share", c.run(CUSTOMERS, target="left").run_id != b.run_id)
        proxy.clear("lost answer", "lost answer", "lost answer")
        e = raises(tabella.APIConnectionError, lambda: c.models.list())
        check("the third time it is an error", e and len(proxy.heads) == 3)
        proxy.clear("lost request")
        check("a lost request", len(c.models.list()) > 0 and len(proxy.heads) == 2)
        before = len(c.keys.list())
        proxy.clear("lost answer")
        e = raises(tabella.APIConnectionError, lambda: c.keys.create("twice", ["read"]))
        check("what twice would harm is sent once", e and len(proxy.heads) == 1)
        check("indeed", len(c.keys.list()) == before + 1)
        once = Tabella(key, proxy.url, max_retries=0)
        proxy.clear("idle close")
        once.models.list()
        time.sleep(0.5)  # the other side's end arrives
        check("a kept connection that was closed is not used", len(once.models.list()) > 0)
        proxy.clear("lost request")
        check("no retries where none are wanted", raises(tabella.APIConnectionError, once.models.list))
    finally:
        _transport.pause = real
    slow = Tabella(key, proxy.url, timeout=0.05, max_retries=0)
    frozen = stack.pid("api")
    os.kill(frozen, signal.SIGSTOP)
    try:
        check("nothing moves: APITimeoutError", raises(tabella.APITimeoutError, slow.usage.retrieve))
    finally:
        os.kill(frozen, signal.SIGCONT)


def tls(check, key, proxy):
    """The gateway behind a certificate that only its owner trusts."""
    import ssl

    trusted = ssl.create_default_context(cafile=proxy.certificate)
    c = Tabella(key, proxy.url, ssl_context=trusted)
    check("TLS, with a certificate of one's own", len(c.models.list()) > 0 and len(c.models.list()) > 0)
    strangers = Tabella(key, proxy.url, max_retries=0)
    proxy.clear()
    e = raises(tabella.APIConnectionError, strangers.models.list)
    check("a certificate that nobody vouches for is refused", e and "CERTIFICATE_VERIFY_FAILED" in str(e), e)
    check("before the key is sent", not proxy.heads)


def rates(check, key, url):
    """The plan `free` has 60 requests a minute for each key."""
    from tabella import _transport

    once = Tabella(key, url, max_retries=0)
    limited = None
    for _ in range(300):
        try:
            once.models.list()
        except tabella.RateLimitError as e:
            limited = e
            break
    check("429: RateLimitError, with the seconds to wait", limited and limited.retry_after >= 1)
    pauses = []
    real = _transport.pause

    def pause(s):
        pauses.append(s)
        real(s)

    _transport.pause = pause
    try:
        again = Tabella(key, url, max_retries=5)
        for _ in range(3):
            again.models.list()
        check("Retry-After is waited for", pauses and all(p >= 1 for p in pauses), pauses)
    finally:
        _transport.pause = real


def asynchronous(check, key, url, stack):
    import asyncio

    async def all_of_it():
        async with tabella.AsyncTabella(key, url) as c:
            bundles = await asyncio.gather(*(c.run(CUSTOMERS, target="left") for _ in range(8)))
            check("eight runs at once", [len(b.array("prediction.results")) for b in bundles] == [120] * 8)
            page = await c.jobs.list(limit=3)
            seen = [j.job_id async for j in page]
            check("async for goes through all pages", len(seen) >= 8 and len(seen) == len(set(seen)), seen)
            wide = await c.run([{"x": i, "z": "uv"[i % 2]} for i in range(2500)], target="z")
            check("a bundle comes whole", wide.prediction["next_cursor"] is None)
            check("and whole it is", len(wide.prediction["results"]) == 2500)
            try:
                await c.reports.retrieve("r_none")
                check("errors come through", False)
            except tabella.NotFoundError:
                check("errors come through", True)
            frozen = stack.pid("inference")
            os.kill(frozen, signal.SIGSTOP)
            try:
                job = await c.submit(CUSTOMERS, processing="batch")
                waiting = asyncio.ensure_future(c.jobs.wait(job))
                await asyncio.sleep(0.5)
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
                last = ""
                for _ in range(300):
                    last = (await c.jobs.retrieve(job.job_id)).status
                    if last == "cancelled":
                        break
                    await asyncio.sleep(0.2)
                check("a cancelled task cancels its job", last == "cancelled", last)
            finally:
                os.kill(frozen, signal.SIGCONT)

    asyncio.run(all_of_it())
