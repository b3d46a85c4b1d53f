"""The page Run: tables in, a bundle out, as files, after a reload, with strangers' cells."""

import json

from suite import until

from browser import Keys
from checks import NASTY, ROOT, SAMPLES, check, choose


def run(b, downloads):
    b.go("run")
    choose(b, SAMPLES / "customers.csv", SAMPLES / "billing.csv")
    check(
        "the tables are counted",
        b.shows("customers", "101 rows", "1,818 cells will be counted"),
        b.text(),
    )
    check("Run is reached by Tab", b.tab_to("Run"), b.focused())
    b.keys(Keys.ENTER)
    b.one("[role=tab]")
    check("and started by Enter", b.shows("Make this an endpoint"), b.text())
    tabs = [t.get_attribute("data-tab") for t in b.all("[role=tab]")]
    want = ["overview", "tables", "map", "matches", "rows", "filled", "target", "prediction"]
    check("the bundle has its parts", tabs == want, tabs)
    b.one('[data-tab="overview"]').click()
    for name in tabs[1:]:
        b.keys(Keys.ARROW_RIGHT)
        b.until(lambda: b.all(f'[data-tab="{name}"][aria-selected="true"]'))
    check("arrows go through them", b.all('[data-tab="prediction"][aria-selected="true"]') != [])
    check(
        "the prediction has its quality, its slices and its reasons",
        b.shows("Weakest:", "the baseline", "Reasons"),
        b.text(),
    )
    b.tab("tables")
    check(
        "columns have role, type, PII and a picture",
        b.shows("email", "PII") and len(b.all("td svg[role=img]")) > 3,
    )
    b.tab("map")
    check(
        "the map draws its lines", len(b.all("svg.map path")) > 1 and b.shows("Columns with the same content")
    )
    b.tab("matches")
    check(
        "a match is shown side by side", b.shows("the same", "agrees", "% alike", "Only in billing"), b.text()
    )
    drawn = lambda: b.one("figure svg[role=img]").get_attribute("aria-label")
    check("the pairs are drawn by confidence", "pairs by confidence; " in drawn(), drawn())
    before = b.all("output")[0].text
    b.script(
        "const r = document.querySelector('input[type=range]'); r.value = 0.98;"
        "r.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    check("and filtered by confidence", b.until(lambda: b.all("output")[0].text == "98%"), before)
    check("and the picture says where", b.until(lambda: drawn().endswith("at 98% or more")), drawn())
    b.tab("rows")
    check("unified rows come by pages", b.shows("100 of 130 loaded"), b.text())
    b.script("document.querySelector('.virtual').scrollTop = 1e6")
    check("the rest when it is scrolled to", b.shows("130 of 130 loaded"), b.text())
    check("and few of them are in the document", len(b.all(".virtual tbody tr")) < 60)
    b.tab("filled")
    check("filled cells are marked", b.shows("By column") and b.all("td.filled"))
    b.tab("target")
    check("the target has its runners-up", b.shows("chosen", "Predict this"))
    check(
        "with the share that is explained, not a bare score", b.shows("Explained") and "Score" not in b.text()
    )
    b.press("JSON")
    bundle = json.loads(b.downloaded("bundle.json"))
    check("the bundle is saved as JSON", len(bundle["tables"]) == 2)
    b.press("Files")
    job, p = bundle["job_id"], bundle["prediction"]

    def part(name):
        b.script(f"document.querySelector('a[href*=\"/result/{name}?format=csv\"]').click()")
        return b.downloaded(f"{job}-{name}.csv").splitlines()

    rows = p["total"] + p["missing_target_total"]
    lines = part("results")
    check("predictions as a file", len(lines) == 1 + rows and lines[0].startswith("row,"), lines[:2])
    check("unified rows too, all of them", len(part("unified_rows")) == 1 + 130)
    matches = bundle["cross_table_map"]["entity_matches"]
    check("and matches", len(part("matches")) == 1 + len(matches))
    b.press("Files")
    b.press("HTML page")
    page = b.downloaded("tables.html")
    check("and all of it as a page without scripts", "<h2>Prediction of" in page and "<script" not in page)
    b.script("document.querySelector('details').open = true")
    check("curl and Python say the same", b.shows("curl -s " + b.url, "from tabella import Tabella"))
    b.driver.refresh()
    b.one("[role=tab]")
    check("a reload finds the run again", b.shows("customers, billing", "Make this an endpoint"), b.text())
    return bundle


def doubts(b, a, folder):
    """Sample tables for who has none; a column that gives the target away; files that the service reads."""
    b.go("run")
    b.press("Try two sample tables")
    check("sample tables are there at one press", b.shows("customers", "billing", "1,818 cells"), b.text())

    leak = folder / "flats.csv"
    made = ["price,price_eur,area,rooms"]
    for i in range(120):
        area, rooms = 40 + i * 37 % 90, 1 + i * 13 % 5
        price = area * 31 + rooms * 250 + i * 7919 % 997
        made.append(f"{price},{price * 0.92:.2f},{area},{rooms}")
    leak.write_text("\n".join(made) + "\n")
    b.driver.refresh()
    choose(b, leak)
    b.script(
        "const s = document.querySelector('main select'); s.value = '=flats.price';"
        "s.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    b.press("Run", "main")
    b.one("[role=tab]")
    check("a leak is doubted in words", b.shows("flats.price_eur is the target in other units"), b.text())
    b.press("Run again without it: flats.price_eur")
    check("the run without it is prepared", b.shows("without flats.price_eur", "will be counted"), b.text())
    b.press("Run", "main")
    b.one("[role=tab]")
    check("and doubts it no more", b.shows("Overview") and "other units" not in b.text(), b.text())

    b.go("run/new")
    b.driver.refresh()
    arrow = ROOT / "common/files/tests/arrow/plain.arrows"
    choose(b, arrow)
    check("an Arrow file is sent as it is", b.shows("read by the service, not stored", "will be counted"))
    before = a("GET", "/v2/data").json["total"]
    b.press("Run", "main")
    b.one("[role=tab]")
    check("and run", b.shows("plain", "5 rows"), b.text())
    check("nothing of it is kept", a("GET", "/v2/data").json["total"] == before)
    check(
        "its code is curl with parts",
        "tables[plain]=@plain.arrows" in b.script("return document.body.textContent"),
    )
    b.driver.refresh()
    b.one("[role=tab]")
    hidden = "Make this an endpoint" not in b.text()
    check("after a reload its file is gone, and so is what needs it", b.shows("plain") and hidden, b.text())


def forecast(b, folder):
    """Steps ahead: a fan by series, found without being told what the columns are."""
    b.go("run/new")
    b.driver.refresh()
    choose(b, SAMPLES / "sales" / "sales.csv")
    b.script(
        "const set = (e, v, what) => { e.value = v; e.dispatchEvent(new Event(what, {bubbles: true})); };"
        "set(document.querySelector('main select'), '=sales.units', 'change');"
        "set(document.querySelector('main input[max=\"10000\"]'), '6', 'input')"
    )
    check("steps ahead are counted before they are asked", b.shows("486 cells will be counted"), b.text())
    b.press("Run", "main")
    b.one("[role=tab]")
    b.tab("forecast")
    check("the forecast says what it found", b.shows("each month", "3", "sales.month", "in steps"), b.text())
    label = lambda: b.one("svg[role=img]").get_attribute("aria-label")
    check("and draws the first series", label().startswith("north: 6 steps ahead"), label())
    check("with its band and its past", b.all("svg path.band") and b.all("svg path.known"))
    b.press("Next", "main")
    check("then the next", b.until(lambda: label().startswith("south: 6 steps ahead")), label())
    b.press("Forecast as CSV", "main")
    lines = b.downloaded("forecast.csv").splitlines()
    check("all of it is saved as CSV", len(lines) == 19 and lines[0] == "shop,time,value,low,high", lines[:2])


TWELVE = """
    const done = arguments[arguments.length - 1];
    const ids = [...Array(12).keys()].map((i) => "t" + i);
    const columns = (i) => ["id", ...ids.slice(0, 5).map((t) => t + "_id"), "x", "y", "z"].map((name, index) => ({ name, index }));
    const pairs = [];
    for (let i = 1; i < 12; i++) for (const k of [0, 3]) if (k < i) pairs.push([k, i]);
    const bundle = { tables: ids.map((id, i) => ({ id, rows: 9, column_profile: columns(i) })), cross_table_map: { relations: [],
        column_alignment: pairs.map(([k, i]) => ({ a: `t${k}.id`, b: `t${i}.t${k}_id`, attribute: "t" + k, confidence: 1 })) } };
    import("/console/bundle/map.js").then((m) => {
        const { boxes, edges, width, height } = m.tableMap(bundle);
        const crossed = [], drawn = edges.filter((e) => e.corners).length;
        for (const e of edges) for (let k = 1; k < e.corners.length; k++) {
            const [[x, y], [z, w]] = [e.corners[k - 1], e.corners[k]];
            for (const b of boxes)
                if (Math.max(x, z) > b.x + 1 && Math.min(x, z) < b.x + 179 && Math.max(y, w) > b.y + 1 && Math.min(y, w) < b.y + b.height - 1) crossed.push([e.a, e.b, b.id]);
        }
        const out = edges.some((e) => e.corners.some(([x, y]) => x < 0 || y < 0 || x > width || y > height));
        done({ width, height, drawn, of: pairs.length, crossed, out });
    }, (e) => done(String(e)));
"""


def twelve(b):
    """The map of twelve tables: one screen, and no line crosses a box."""
    m = b.driver.execute_async_script(TWELVE)
    check("a map of twelve tables draws each line", m["drawn"] == m["of"] == 19 and not m["out"], m)
    check("and fits one screen", m["width"] <= 1100 and m["height"] <= 800, m)
    check("and no line crosses a box", m["crossed"] == [], m)


def unusual(b, folder):
    """Anomalies: the scores with their threshold, and the rows that score most, each with what is unusual."""
    lines = [f"{i % 7 + 1},{i * 37 % 90 + 10}.5,{'ab'[i % 2]}" for i in range(120)]
    lines[40] = "3,99999.5,a"
    path = folder / "planted.csv"
    path.write_text("pieces,price,kind\n" + "\n".join(lines) + "\n")
    b.go("run/new")
    b.driver.refresh()
    choose(b, path)
    b.script(
        "const s = document.querySelectorAll('main select')[1]; s.value = 'anomaly';"
        "s.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    b.press("Run", "main")
    b.one("[role=tab]")
    b.tab("prediction")
    label = lambda: b.one("figure svg[role=img]").get_attribute("aria-label")
    check("the scores are drawn with their threshold", "of 120 score at least" in label(), label())
    check("as bars and a line", len(b.all("figure rect.bar-mark")) == 20 and b.all("figure line.base"))
    first = b.one('[aria-label="Most unusual rows"] tbody tr').text.split()
    check(
        "the planted row comes first, with its reason", first[0] == "40" and "price" in " ".join(first), first
    )
    check("and is explained beside the picture", b.shows("Row 40", "Reasons", "planted.price"), b.text())


def strangers_cells(b, folder):
    path = folder / "nasty.csv"
    values = [NASTY, "=1+1", "javascript:alert(1)", "{{7*7}}"]
    quoted = ['"' + v.replace('"', '""') + '"' for v in values]
    rows = [f"{quoted[i % 4]},{i},{'ab'[i > 29]}" for i in range(60)]
    header = '"' + NASTY.replace('"', '""') + '"'
    path.write_text("\n".join([f"{header},n,kind", *rows]) + "\n")
    b.go("run")
    choose(b, path)
    b.script(
        "const s = document.querySelector('main select'); s.value = '=nasty.kind';"
        "s.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    b.press("Run", "main")
    b.one("[role=tab]")
    for t in ("tables", "filled", "target", "prediction", "overview"):
        b.tab(t)
        b.until(lambda: b.all("[role=tabpanel]"))
    b.tab("tables")
    check("a cell's markup is shown as it is", NASTY in b.text(), b.text())
    check(
        "and is no element",
        b.script("return window.broken === undefined && !document.querySelector('main img')"),
    )
    b.press("HTML page")
    check("and the page has no markup of strangers", "<img" not in b.downloaded("tables.html"))
    bad = folder / "torn.csv"
    bad.write_text("a,b\n1,2,3\n")
    b.go("run")
    b.one("input[type=file]").send_keys(str(bad))
    check("a torn file is refused in words", b.shows("Row 1 has 3 fields, the header 2."), b.text())


def reload(b, a, folder):
    """The page is left while a run is under way: it is found again, and counted once."""
    path = folder / "long.csv"
    path.write_text(
        "a,b,c,d\n" + "".join(f"{i},{i * 7919 % 1000},{i * 31 % 17},{'xy'[i % 2]}\n" for i in range(4000))
    )
    before = a("GET", "/v2/usage").json["by_op_raw"]["run"]
    jobs = a("GET", "/v2/jobs").json["total"]
    b.go("run")
    b.driver.refresh()
    choose(b, path)
    b.press("Run", "main")
    b.until(lambda: b.all("main progress") or b.all("[role=tab]"))
    b.driver.refresh()
    b.one("[role=tab]")
    check("a reload in the middle of a run loses nothing", b.shows("long", "4,000 rows"), b.text())
    counted = until(lambda: (x := a("GET", "/v2/usage").json["by_op_raw"]["run"]) > before and x)
    check("and the run is counted once", counted == before + 16000, counted)
    check("for it was one", a("GET", "/v2/jobs").json["total"] == jobs + 1)
