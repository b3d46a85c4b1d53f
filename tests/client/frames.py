"""Frames of the caller's libraries, there and back."""

import datetime
import decimal
import json
import pathlib
import tempfile

from package import has
from rest import raises
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
    check("or as a text", b.to_html() == text)
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
    texts = client.run(odd, target=False)
    check("a list goes as JSON, as a text", texts.columns["name"].tolist() == list(odd.columns))
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
        for t in b["tables"]:  # a file says how it was read, which a request's own tables do not
            check(f"stored: {name or 'a list'} says how it was read", t.pop("reading", None) is not None)
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


def scored(check, client):
    """Answers to more rows than one call may have: of every library those that `serve` gives."""
    if not has("pandas", "pyarrow", "numpy"):
        return check.skip("scored frames", "no pandas with pyarrow")
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    r = np.random.default_rng(3)
    n = 20500
    x = pd.DataFrame({"size": r.normal(0, 1, n).round(3), "kind": pd.Categorical(r.choice(list("uvw"), n))})
    x["price"] = (2 * x["size"] + (x["kind"] == "u") + r.normal(0, 0.1, n)).round(3)
    x["big"] = pd.Categorical(np.where(x["size"] > 0, "yes", "no"))
    x.index += 100
    for target, other in (("price", "big"), ("big", "price")):
        given = x.drop(columns=other)
        client.endpoints.create("scored", given[:300], target=target)
        asked = given.drop(columns=target)
        want = client.endpoints.serve("scored", asked[10000:].head(9000).assign(**{target: None})).predictions
        frames = {"pandas": asked, "Arrow": pa.Table.from_pandas(asked, preserve_index=False)}
        frames["mixed"] = asked.assign(size=[str(v) if i % 99 == 5 else v for i, v in enumerate(x["size"])])
        if has("polars"):
            import polars as pl

            frames["polars"] = pl.from_pandas(asked)
        for name, frame in frames.items():
            got = client.endpoints.predict("scored", frame, connections=3)
            if name in ("Arrow", "polars"):
                got = got.to_pandas()
                check(f"scored: {name} numbers its rows", (got["row"] == np.arange(n)).all(), got["row"])
                got = got.drop(columns="row").set_index(x.index)
            part = got[10000:].head(9000)
            alike = list(part.columns) == list(want.columns) and (part.index == want.index).all()
            for c in want.columns if alike else ():
                if want[c].dtype.kind == "f":
                    alike = alike and (part[c] - want[c]).abs().max() < 1e-5 * max(1, want[c].abs().max())
                else:
                    alike = alike and (part[c].astype(str) == want[c].astype(str)).all()
            check(f"scored: {target} of {name}, as served", alike and len(got) == n, (part[:2], want[:2]))
        client.endpoints.delete("scored")
    for d in client.data.list():
        client.data.delete(d.id) if d.name == "scored" else None


def everything(check, client):
    plain(check)
    pandas(check, client)
    polars(check, client)
    arrow(check, client)
    large(check, client)
    scored(check, client)
    stored(check, client)


def random_frame(pandas, numpy, r):
    """A frame of some columns of all types, with gaps, whose index has repetitions."""
    n = int(r.integers(1, 90))
    day = pandas.Timestamp("2020-01-01")
    made = {
        "float": lambda: numpy.round(r.normal(0, 1e3, n), int(r.integers(0, 6))),
        "single": lambda: (r.normal(0, 1, n) * 10.0 ** r.integers(-30, 30)).astype("float32"),
        "whole": lambda: r.integers(-(2**62), 2**62, n),
        "small": lambda: r.integers(0, 200, n).astype("uint8"),
        "gaps": lambda: pandas.array(r.integers(0, 99, n), dtype="Int32"),
        "yes": lambda: r.random(n) < 0.5,
        "kind": lambda: pandas.Categorical(r.choice(["a", "\u00e9t\u00e9", "c d"], n)),
        "text": lambda: numpy.array([str(x) * int(x % 5) for x in r.integers(0, 10**6, n)], dtype=object),
        "day": lambda: day + pandas.to_timedelta(r.integers(0, 900, n), "D"),
        "at": lambda: day + pandas.to_timedelta(r.integers(0, 10**9, n), "ms"),
        "zone": lambda: (day + pandas.to_timedelta(r.integers(0, 10**6, n), "s")).tz_localize("UTC"),
        "took": lambda: pandas.to_timedelta(r.integers(0, 10**6, n), "ms"),
        "date": lambda: [(day + pandas.Timedelta(days=int(d))).date() for d in r.integers(0, 900, n)],
        "none": lambda: [None] * n,
    }
    names = list(r.choice(list(made), int(r.integers(1, len(made))), replace=False))
    frame = pandas.DataFrame({name: made[name]() for name in names})
    for name in names:
        if name not in ("whole", "small", "yes") and r.random() < 0.5:
            frame.loc[r.random(n) < 0.2, name] = None
    frame.index = frame.index // 2
    return frame


def streams(check, local):
    """Frames as Arrow streams in this process: the bundle of their JSON, whoever's frame it is."""
    if not has("pandas", "pyarrow"):
        return check.skip("Arrow streams", "pandas or pyarrow is not installed")
    import numpy
    import pandas
    import pyarrow

    from tabella import _local

    streamed, r, unlike, used = _local.capsule_of, numpy.random.default_rng(7), [], 0

    def answer(frame, by):
        _local.capsule_of = by
        try:
            return local.run(frame, target=False).raw
        finally:
            _local.capsule_of = streamed

    def counted(table):
        nonlocal used
        made = streamed(table)
        used += made[0] is not None
        return made

    for i in range(40):
        frame = random_frame(pandas, numpy, r)
        arrow = pyarrow.Table.from_pandas(frame, preserve_index=False)
        frames = {"pandas": frame, "arrow": arrow, "a batch": arrow.to_batches()[0]}
        if has("polars"):
            import polars

            frames["polars"] = polars.from_arrow(arrow)
        from_, to = sorted(int(x) for x in r.integers(0, len(frame) + 1, 2))
        frames["sliced"], want = arrow[from_:to], None
        for name, x in frames.items():
            told = answer(x, counted)
            if told != answer(x, lambda table: (None, [])):
                unlike.append(f"{i} {name}: not as its JSON")
            if want is not None and name != "sliced" and told != want:
                unlike.append(f"{i} {name}: not as pandas")
            want = want or told
    check("streams: 40 random frames, each the bundle of its JSON", not unlike, unlike[:5])
    check("and most of them went as streams", used > 150, used)
    bad = pandas.DataFrame({"a": [1.0, float("inf")]})
    check("streams: infinity is a ValueError", raises(ValueError, lambda: local.run(bad)))
    nested = pyarrow.table({"a": [[1], [2]]})
    check("streams: a list is a text", local.run(nested, target=False).tables[0].column_profile)
