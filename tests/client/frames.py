"""Frames of the caller's libraries, there and back."""

import datetime
import decimal
import json
import pathlib
import tempfile

from package import has
import tabella
from tabella import _arrow, _large
from tabella._frames import TablesBody, cell, table_of, tables_of

SAMPLES = pathlib.Path(__file__).resolve().parents[1] / "samples"


def rows_of(x):
    """What the service would read of a table."""
    body = b"".join(TablesBody([table_of("t", x)], {"base": "b"}).pieces())
    return json.loads(body)["tables"][0]


def plain(check):
    """Without any library of frames."""
    x = [{"a": 1, "b": "x"}, {"b": None, "c": 2.5}, {"a": float("nan"), "c": True}]
    check(
        "dicts",
        rows_of(x)
        == {
            "id": "t",
            "columns": ["a", "b", "c"],
            "rows": [[1, "x", None], [None, None, 2.5], [None, None, True]],
        },
        rows_of(x),
    )
    day = datetime.datetime(2026, 11, 22, 13, 5, tzinfo=datetime.timezone.utc)
    values = {
        day: "2026-11-22T13:05:00+00:00",
        day.date(): "2026-11-22",
        decimal.Decimal("7"): 7,
        decimal.Decimal("7.25"): 7.25,
        datetime.timedelta(minutes=2): 120.0,
        2**60 + 1: 2**60 + 1,
    }
    check("values of Python", all(cell(k) == v for k, v in values.items()))
    wide = {"columns": ["a", "a"], "rows": [[i, str(i)] for i in range(50_000)]}
    pieces = list(TablesBody(tables_of({"one": wide, "two": wide}, "")[0], {}).pieces())
    whole = json.loads(b"".join(pieces))
    check("a long table goes in short pieces", max(map(len, pieces)) < 1 << 20 and len(pieces) > 8)
    check("and arrives whole", [t["rows"] == wide["rows"] for t in whole["tables"]] == [True, True])
    check("columns of one name stay two", whole["tables"][0]["columns"] == ["a", "a"])
    own = {"id": "t", "columns": ["a"], "rows": [[1]]}
    for given in (own, [own, {**own, "id": "u"}]):
        tables, single = tables_of(given, "table")
        names = [t.id for t in tables]
        check("tables in the API's own form", names in (["t"], ["t", "u"]) and not single, names)
    for path in ("orders.csv", pathlib.Path("orders.csv"), b"a,b"):
        try:
            tables_of(path, "t")
            check("a path is no table", False)
        except TypeError as e:
            check(
                "a path is no table, and what to do with it", "upload" in str(e) and "read_csv" in str(e), e
            )
    check("an empty table", rows_of({"columns": ["a"], "rows": []})["rows"] == [])


def pandas(check, client):
    if not has("pandas", "numpy"):
        return check.skip("pandas", "not installed")
    import numpy as np
    import pandas as pd

    x = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "float": [0.1, np.nan, 2.0],
            "single": np.array([0.1, 2.5, np.nan], dtype="float32"),
            "text": ["a", None, "c"],
            "kind": pd.Categorical(["u", None, "v"]),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "day": pd.to_datetime(["2026-01-31", None, "2026-02-01"]),
            "at": pd.to_datetime(["2026-01-31T10:30:00", None, "2026-02-01T00:00:00"]),
            "zone": pd.to_datetime(["2026-01-31T10:30:00", None, "2026-02-01T00:00:00"]).tz_localize("UTC"),
        },
        index=["p", "q", "r"],
    )
    told = rows_of(x)["rows"]
    check(
        "pandas: every type",
        told
        == [
            [1, 0.1, 0.1, "a", "u", True, "2026-01-31", "2026-01-31T10:30:00", "2026-01-31T10:30:00+00:00"],
            [None, None, 2.5, None, None, None, None, None, None],
            [3, 2.0, None, "c", "v", False, "2026-02-01", "2026-02-01T00:00:00", "2026-02-01T00:00:00+00:00"],
        ],
        told,
    )
    d = pd.read_csv(SAMPLES / "customers.csv")
    d.index = [f"k{i}" for i in range(len(d))]
    d["city"] = d["city"].astype("category")
    d["cancelled"] = d["cancelled"].astype("category")
    d["seats"] = d["seats"].astype("Int64")
    before = d.copy(deep=True)
    d.loc["k3", "cancelled"] = None
    given = d.copy(deep=True)
    b = client.run(d, target="cancelled", name="customers")
    p = b.predictions
    check("predictions have the caller's index", list(p.index) == list(d.index))
    check("labels the caller's type", p["label"].dtype == before["cancelled"].dtype, p["label"].dtype)
    check("the row without a target is told", list(p.index[p["target_missing"]]) == ["k3"])
    check(
        "probabilities of its classes",
        {"p(no)", "p(yes)"} <= set(p.columns) and np.allclose(p["p(no)"] + p["p(yes)"], 1, atol=1e-5),
    )
    i = b.imputed
    check(
        "imputed keeps index, columns and types",
        i.index.equals(d.index) and list(i.columns) == list(d.columns) and list(i.dtypes) == list(d.dtypes),
        i.dtypes,
    )
    held = d.notna()
    check("and every supplied cell", all((i[c][held[c]] == d[c][held[c]]).all() for c in d.columns))
    gaps = b.raw["imputation"]["total_filled"]
    check(
        "and fills what the service filled", d.isna().sum().sum() - i.isna().sum().sum() == gaps and gaps > 5
    )
    check(
        "filled cells by the caller's labels", set(b.filled["row"]) <= set(d.index) and len(b.filled) == gaps
    )
    check("the caller's frame is untouched", d.equals(given))
    c = b.columns
    check("columns", list(c["name"]) == list(d.columns) and set(c["type"]) >= {"numeric", "categorical"})
    both = {"customers": before, "billing": pd.read_csv(SAMPLES / "billing.csv")}
    b = client.run(both)
    m = b.matches
    check("matches point into the caller's frames", set(m["a_row"]) <= set(before.index) and len(m) > 50)
    name = before.loc[m["a_row"], "customer"].str.split().str[-1].str.upper().reset_index(drop=True)
    other = both["billing"].loc[m["b_row"], "name"].str.upper().reset_index(drop=True)
    same = [n in o for n, o in zip(name, other)]
    check("and to the same people", sum(same) > 0.9 * len(same), sum(same))
    u = b.unified
    check("one row for each entity, from all pages", len(u) == b.unified_rows["total"] and len(u) > 100)
    check(
        "with the caller's types",
        u["city"].dtype == before["city"].dtype and u["row(billing)"].dtype == "Int64",
    )
    check("both tables imputed by name", set(b.imputed) == {"customers", "billing"})
    check("alignments", {"a", "b", "confidence"} <= set(b.alignment.columns))
    check("a run without prediction", client.run(before, target=False).predictions is None)
    r = client.run(before, target="seats", task="regression").predictions
    check("quantiles rise", (r["q(0.1)"] <= r["q(0.9)"]).all() and len(r) == len(before))
    check("each row says how it is asked", set(r["regime"]) == {"alike"}, set(r["regime"]))
    ahead = client.forecast(sales := pd.read_csv(SAMPLES / "sales/sales.csv"), horizon=3, target="units")
    check(
        "a forecast is a frame of series, time and interval",
        list(ahead.columns) == ["shop", "time", "value", "low", "high"]
        and len(ahead) == 9
        and set(ahead["shop"]) == set(sales["shop"])
        and (ahead["low"] <= ahead["high"]).all(),
        ahead,
    )
    dated = client.forecast(
        sales.assign(month=pd.to_datetime(sales["month"])), horizon=2, target="units", name="sales"
    )
    check("its times are of the column's type", dated["time"].dtype.kind == "M", dated.dtypes)
    check("and come next", dated["time"].min() > pd.Timestamp(sales["month"].max()), dated)
    a = client.run(before, task="anomaly").predictions
    check("anomalies", set(a.columns) == {"anomaly_score", "is_anomaly"} and len(a) == len(before))
    twice = pd.DataFrame(
        [[i, i % 7, None if i == 4 else float(i % 5)] for i in range(60)], columns=["x", "y", "y"]
    )
    check("columns of one name", client.run(twice, target=False).imputed.iloc[4, 2] is not None)
    odd = before.rename(columns={"city": "<script>alert(1)</script>"})
    html(check, client.run(odd, target=False), "&lt;script&gt;")


def html(check, b, escaped):
    page = b._repr_html_()
    check("HTML escapes what comes from the table", "<script" not in page and escaped in page)
    check("and draws distributions", any(x in page for x in "▂▃▄▅▆▇"))
    with tempfile.TemporaryDirectory() as folder:
        b.to_html(f"{folder}/page.html")
        text = pathlib.Path(folder, "page.html").read_text(encoding="utf-8")
    check("a page of its own loads nothing", text.startswith("<!doctype html>") and "://" not in text)


def polars(check, client):
    if not has("polars"):
        return check.skip("polars", "not installed")
    import polars as pl

    x = pl.DataFrame({"a": [1, None], "b": ["x", "y"], "c": [datetime.date(2026, 1, 1), None]})
    check("polars", rows_of(x)["rows"] == [[1, "x", "2026-01-01"], [None, "y", None]], rows_of(x))
    d = pl.read_csv(SAMPLES / "customers.csv")
    b = client.run(d, target="cancelled")
    check(
        "answers are polars frames",
        isinstance(b.predictions, pl.DataFrame) and b.predictions.height == d.height,
    )
    i = b.imputed
    filled = d.null_count().sum_horizontal()[0] - i.null_count().sum_horizontal()[0]
    check("polars imputed", filled == b.raw["imputation"]["total_filled"] and i.columns == d.columns)
    check("its types", [i.schema[n] for n in ("city", "seats")] == [d.schema[n] for n in ("city", "seats")])


def arrow(check, client):
    if not has("pyarrow"):
        return check.skip("pyarrow", "not installed")
    import pyarrow as pa
    import pyarrow.csv

    d = pa.csv.read_csv(SAMPLES / "customers.csv")
    b = client.run(d, target="cancelled")
    check(
        "Arrow tables go out and come back",
        isinstance(b.predictions, pa.Table) and b.predictions.num_rows == d.num_rows,
    )
    check("imputed", isinstance(b.imputed, pa.Table) and b.imputed.schema.names == d.schema.names)

    class Stream:
        """What other libraries offer."""

        def __arrow_c_stream__(self, requested_schema=None):
            return d.to_reader().__arrow_c_stream__(requested_schema)

    check("any Arrow stream", rows_of(Stream())["columns"] == d.schema.names)


def large(check, client):
    """A large frame goes as an Arrow stream, and is answered as its JSON is."""
    if not has("pandas", "pyarrow", "numpy"):
        return check.skip("large frames", "no pandas with pyarrow")
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    n, r = 3000, np.random.default_rng(1)
    day = pd.Timestamp("2026-01-01")
    x = pd.DataFrame(
        {
            "id": np.arange(n),
            "price": np.round(r.gamma(2, 30, n), 2),
            "share": r.random(n).astype("float32"),
            "kind": pd.Categorical(r.choice(["a", "b", "c"], n)),
            "note": r.choice(["", "one", "two of them", None], n),
            "paid": r.random(n) < 0.5,
            "day": day + pd.to_timedelta(r.integers(0, 900, n), "D"),
            "at": day + pd.to_timedelta(r.integers(0, 9**9, n), "s"),
        }
    )
    x.loc[3:9, ["price", "kind", "day", "at"]] = None
    frames = {"pandas": x, "Arrow": pa.Table.from_pandas(x, preserve_index=False)}
    if has("polars"):
        import polars as pl

        frames["polars"] = pl.from_pandas(x)
    drop = ("run_id", "job_id", "report_id")

    def told(cells, frame, batch=_arrow.BATCH_CELLS):
        """How it goes, what is answered, and the lengths of its pieces."""
        before = _arrow.CELLS, _arrow.BATCH_CELLS
        _arrow.CELLS, _arrow.BATCH_CELLS = cells, batch
        try:
            body = _arrow.body_of(tables_of(frame, "t")[0], {})
            lengths = [len(p) for p in body.pieces()]
            raw = client.run(frame, target=False).raw
        finally:
            _arrow.CELLS, _arrow.BATCH_CELLS = before
        return type(body).__name__, {k: v for k, v in raw.items() if k not in drop}, lengths

    as_json = told(10**9, x)
    for name, frame in frames.items():
        got = told(_arrow.CELLS, frame)
        check(f"large: {name} goes as Arrow", (as_json[0], got[0]) == ("TablesBody", "PartsBody"), got[0])
        check(
            f"large: {name} is answered as its JSON",
            got[1] == as_json[1],
            [k for k in got[1] if got[1][k] != as_json[1].get(k)],
        )
        got = told(_arrow.CELLS, frame, 4000)
        check(f"large: {name} goes in short pieces", len(got[2]) >= 8 and max(got[2]) < 90_000, got[2])
        check(f"large: {name} in short pieces is answered alike", got[1] == as_json[1])
    odd = x.assign(odd=[[1]] * n)
    check("a list goes as JSON, which says what it is", raises(TypeError, lambda: client.run(odd)))
    x["note"] = pd.Series(["\ud800"] * n, dtype=object)
    check("a text that is no Unicode is refused", raises(ValueError, lambda: client.run(x)))
    x["note"], x["price"] = "", np.inf
    check("an infinity is refused", raises(ValueError, lambda: client.run(x)))


def stored(check, client):
    """Tables that are too large for a request go as datasets, which are gone when the run has ended."""
    rows = [
        {"id": i, "size": i * 37 % 91, "kind": "uvw"[i % 3], "left": [1, 2, None][i % 3]} for i in range(400)
    ]
    frames = {"": rows}
    if has("pandas", "pyarrow"):
        import pandas as pd

        frames["pandas"] = pd.DataFrame(rows)
    if has("polars"):
        import polars as pl

        frames["polars"] = pl.DataFrame(rows)
    drop = ("run_id", "job_id", "report_id", "credits")
    before = client.data.list().total
    for name, frame in frames.items():
        told, was = [], _large.LARGEST
        for largest in (was, 2000):
            _large.LARGEST = largest
            try:
                told.append(client.run({"sales": frame}, target="kind"))
                cost = client.run_cost({"sales": frame}, target="kind")
            finally:
                _large.LARGEST = was
        a, b = ({k: v for k, v in x.raw.items() if k not in drop} for x in told)
        what = name or "a list of dicts"
        check(f"stored: {what} is answered as one that was sent", a == b, [k for k in a if a[k] != b.get(k)])
        check(
            f"stored: {what} comes back whole",
            len(told[1].imputed["sales"]) == 400 and len(told[1].predictions) == 400,
        )
        check(f"stored: {what} costs what it has cells", cost.by_op_raw == {"run": 1600}, cost)
    _large.LARGEST = 2000
    try:
        wrong = raises(tabella.ValidationError, lambda: client.run({"sales": rows}, target="nothing"))
        job = client.submit({"sales": rows}, target="kind", processing="batch")
        held = client.data.list().total
        done = job.wait().result
        one = client.endpoints.create("large", {"sales": rows}, target="kind")
    finally:
        _large.LARGEST = was
    check("stored: what is refused is refused", wrong)
    check(
        "stored: a job's datasets stay until it has ended",
        held == before + 1 and len(done.predictions) == 400,
    )
    check("stored: an endpoint pins them", len(one.raw["data"]["datasets"]) == 1)
    client.endpoints.delete(one.id)
    for d in client.data.list():
        client.data.delete(d.id) if d.name == "sales" else None
    check("stored: nothing is left behind", client.data.list().total == before, client.data.list().items)


def raises(kind, what):
    try:
        what()
    except kind:
        return True
    return False


def everything(check, client):
    plain(check)
    pandas(check, client)
    polars(check, client)
    arrow(check, client)
    large(check, client)
    stored(check, client)
