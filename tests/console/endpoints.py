"""Endpoints and reports: made of a run, tried, watched, changed."""

import csv

from suite import until

from browser import Keys
from checks import NASTY, SAMPLES, check, choose


def serve_files(b, a, folder):
    """Rows of a file are predicted, and held beside the pinned ones."""
    lines = (SAMPLES / "customers.csv").read_text().splitlines()
    at = lines[0].split(",").index("city")
    moved = folder / "moved.csv"
    moved.write_text(
        "\n".join(
            [lines[0]] + [",".join([*f[:at], "Atlantis", *f[at + 1 :]]) for f in map(fields, lines[1:])]
        )
        + "\n"
    )
    b.tab("try")
    b.one("[name=by]")
    b.script("document.querySelectorAll('[name=by]')[1].click()")
    b.one("main input[type=file]").send_keys(str(moved))
    b.press("Predict rows")
    check("a file's rows are predicted", b.shows("101 rows predicted.", "80% interval"), b.text())
    b.press("CSV")
    saved = b.downloaded("predictions.csv").splitlines()
    check("and saved as CSV", len(saved) == 102 and saved[0].startswith("row,"), saved[:2])
    until(lambda: (d := a("GET", "/v2/endpoints/first").json["drift"]) and d["columns_drifted"] > 0)
    b.tab("drift")
    check("a column whose values are new has drifted", b.shows("drifted:", "customers.city"), b.text())
    first = b.one("main table tbody tr").text
    check("and stands on top", "customers.city" in first and "drifted" in first, first)


def outcomes(b, a):
    """What became true, as curves by day; and whether answers follow it is a setting."""
    b.tab("outcomes")
    check("outcomes wait to be told", b.shows("No outcomes yet"), b.text())
    lines = (SAMPLES / "customers.csv").read_text().splitlines()
    e = a("GET", "/v2/endpoints/first").json
    table = {
        "id": e["data"]["datasets"][0]["table"],
        "columns": fields(lines[0]),
        "rows": [fields(l) for l in lines[1:61]],
    }
    asked = {"tables": [table], "options": {"receipts": True}}
    results = b.script(  # by the session, as all that the console does
        "const asked = arguments[0];"
        "return import('/console/api.js').then((m) => m.post('/v2/serve/first', asked))",
        asked,
    )
    results = results["prediction"]["results"]
    told = [{"receipt": r["receipt"], "outcome": r["label"] if "label" in r else r["value"]} for r in results]
    said = a("POST", "/v2/endpoints/first/outcomes", {"rows": told}).json
    b.tab("drift")
    b.tab("outcomes")
    check("they are counted and said", b.shows("Mean delay", f"{said['accepted']}"), b.text())
    curves = b.all("main svg[role=img]")
    names = [c.get_attribute("aria-label") for c in curves]
    check("as curves with names", len(curves) == 2 and "by day" in names[0], names)
    check("each day is a mark", all(c.find_elements("tag name", "circle") for c in curves))
    link = b.one("main a[download]").get_attribute("href")
    check("and there is a file of them", link.endswith("/outcomes?format=csv"), link)
    b.press("Settings")
    b.script("document.querySelector('dialog input[name=adapt]').click()")
    b.press("Save", "dialog")
    check(
        "answers follow them when that is set",
        b.until(lambda: a("GET", "/v2/endpoints/first").json["options"]["adapt"]),
    )
    b.until(lambda: not b.all("dialog"))
    b.press("Settings")
    check(
        "and the settings say so",
        b.until(lambda: b.script("return document.querySelector('dialog input[name=adapt]').checked"), 30),
    )
    b.press("Cancel", "dialog")


def fields(line):
    return next(csv.reader([line]))


def settings(b, a):
    b.press("Settings")
    b.script(
        "const s = document.querySelector('dialog select[name=target]'); s.value = '=customers.tickets';"
        "document.querySelector('dialog input[name=threshold]').value = '60'"
    )
    b.press("Save", "dialog")
    moved = lambda: a("GET", "/v2/endpoints/first").json
    check(
        "another target is scored and served at once",
        b.until(lambda: moved()["target_selection"]["column"] == "customers.tickets"),
        moved()["target_selection"],
    )
    b.until(lambda: not b.all("dialog"))
    b.press("Settings")
    chosen = lambda: b.script("return document.querySelector('dialog select[name=target]').value")
    check("and the settings say so", b.until(lambda: chosen() == "=customers.tickets", 30), chosen())
    b.press("Cancel", "dialog")


def ahead(b, a):
    """Steps ahead of an endpoint: when it is made of the forecast that is shown, tried, and set anew."""
    put = (
        "const e = document.querySelector(arguments[0]); e.value = arguments[1];"
        "e.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    b.press("Make this an endpoint")
    steps = lambda where: b.one(where + " input[max='10000']").get_attribute("value")
    check("the dialog knows how many steps the run was asked", steps("dialog") == "6", steps("dialog"))
    check("and what they cost", b.shows("486 cells will be counted"), b.text())
    b.script(put, "dialog input[max='10000']", "4")
    check("another number costs something else", b.shows("468 cells will be counted"), b.text())
    name = b.one("dialog input[name=name]")
    name.clear()
    name.send_keys("months", Keys.ENTER)
    check("it is live", b.shows("live", "/v2/serve/"), b.text())
    check("with its steps", a("GET", "/v2/endpoints/months").json["options"]["horizon"] == 4)
    b.tab("try")
    b.one("[name=by]")
    b.script("document.querySelectorAll('[name=by]')[2].click()")
    check("its steps are asked for", b.until(lambda: steps("main") == "4"), b.text())
    check("their cost is said before", b.shows("Of serve 36 cells"), b.text())
    b.press("Forecast", "main form")
    fan = lambda: b.one("svg.plot[role=img]").get_attribute("aria-label")
    check("and drawn", b.until(lambda: fan().startswith("north: 4 steps ahead")), b.text())
    b.press("Settings")
    b.script("document.querySelector('dialog input[name=horizon]').value = '3'")
    b.press("Save", "dialog")
    kept = lambda: a("GET", "/v2/endpoints/months").json["options"].get("horizon")
    check("another number of steps is set", b.until(lambda: kept() == 3), kept())
    b.until(lambda: not b.all("dialog"))
    b.press("Settings")
    b.script("document.querySelector('dialog input[name=horizon]').value = ''")
    b.press("Save", "dialog")
    check("and taken away", b.until(lambda: kept() is None), kept())
    b.until(lambda: not b.all("dialog"))


def endpoints(b, a, folder):
    b.go("run")
    choose(b, SAMPLES / "customers.csv")
    b.press("Run", "main")
    b.one("[role=tab]")
    b.press("Make this an endpoint")
    check("what it costs is said before", b.shows("909 cells will be counted", "will be left"), b.text())
    name = b.one("dialog input[name=name]")
    name.clear()
    name.send_keys("first", Keys.ENTER)
    check("an endpoint is made of a run", b.shows("Score", "Baseline", "Held-out rows"), b.text())
    check("and is live", b.shows("live", "/v2/serve/"))
    id = b.at().rsplit("/", 1)[1]
    b.tab("try")
    b.press("Predict")
    check("it is tried with a form", b.shows("Answer", "Row 0"), b.text())
    b.tab("drift")
    check(
        "drift waits for rows", b.shows("Nothing has been served yet") or b.shows("Columns drifted"), b.text()
    )
    serve_files(b, a, folder)
    outcomes(b, a)
    b.tab("understanding")
    check("it shows what its data are", b.shows("Personal data"), b.text())
    b.tab("prompts")
    b.press("Add a fragment")
    b.one("dialog input[name=name]").send_keys("tone")
    b.one("dialog textarea").send_keys(NASTY)
    b.press("Save")
    check("a fragment is added, as text", b.shows("tone", NASTY) and not b.all("main img"), b.text())
    settings(b, a)
    b.press("Refresh")
    check("a refresh says what it costs", b.shows("cells will be counted", "cached 909 cells"), b.text())
    b.press("Refresh", "dialog")
    check(
        "a refresh makes a revision",
        b.until(lambda: a("GET", "/v2/endpoints/first").json["data_revision"] == 2),
    )
    check("which the page shows", b.shows("Last refresh"), b.text())
    b.until(lambda: not b.all("progress"))
    b.press("Upgrade")
    other = b.one("dialog select[name=base] option").get_attribute("value")
    b.press("Upgrade", "dialog")
    moved = b.until(lambda: a("GET", "/v2/endpoints/first").json["base"] == other)
    check("it moves to another base", moved and b.shows(other))
    b.tab("history")
    check("its history tells", b.shows("create.done", "refresh.done", "upgrade.done"), b.text())
    b.go("reports")
    check(
        "reports list all three, the upgrade with its change",
        b.shows("create", "refresh", "upgrade"),
        b.text(),
    )
    b.one("button[aria-pressed=false]").click()
    check("one gets a star", b.until(lambda: b.all("button[aria-pressed=true]")))
    b.one("td a").click()
    check("a report opens", b.shows("Print", "Created", "Base"))
    return id
