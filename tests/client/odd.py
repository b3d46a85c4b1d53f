"""Frames as notebooks have them: what is odd is read as what it says, or refused with words that help."""

import datetime
import decimal
import pickle

from package import has
from rest import raises
import tabella
from tabella._cdata import Columns

N = 60


def hours(i):
    return datetime.timedelta(hours=i // 2)


def plain(check, local):
    """With no library of frames."""
    columns = {"a": list(range(N)), "b": ["xyz"[i % 3] for i in range(N)]}
    rows = [dict(zip(columns, r)) for r in zip(*columns.values())]
    by_name = local.run(columns, target=False)
    check("a dict of columns is a table", by_name.raw == local.run(rows, target=False).raw)
    uneven = str(raises(ValueError, lambda: local.run({"a": [1, 2], "b": [1]})))
    check("of one length", "different lengths" in uneven, uneven)
    inner = [{"l": [i, None], "d": {"k": i}, "t": (i, "x"), "b": b"text %d" % i} for i in range(N)]
    texts = [
        {"l": f"[{i}, null]", "d": '{"k": %d}' % i, "t": f'[{i}, "x"]', "b": f"text {i}"} for i in range(N)
    ]
    told = local.run(inner, target=False).raw
    check("lists, dicts and bytes are their texts", told == local.run(texts, target=False).raw)
    for x in (b"\xff", 1j, {1}):
        said = str(raises(TypeError, lambda: local.run([{"col": x}])))
        check(f"{type(x).__name__}: refused by column", "column col" in said, said)
    said = str(raises(ValueError, lambda: local.run([{"col": float("inf")}])))
    check("infinity: and what to do", "column col" in said and "replace" in said, said)
    said = str(raises(TypeError, lambda: local.run("a.csv")))
    check("a path: the engine's own way is said", "run_files" in said, said)
    twice = {"columns": ["x", "y", "y"], "rows": [[i % 5, i % 5 * 2.0, i % 7] for i in range(N)]}
    said = str(raises(tabella.TabellaError, lambda: local.run(twice, target="y")))
    check("a target of two columns' name", "c1 or c2" in said, said)
    numbered = {"columns": [0, 1], "rows": [[i % 5, i % 5 * 2.0] for i in range(N)]}
    told = local.run(numbered, target=1).prediction
    check("a target that is no text", told["target"].endswith("1"), told["target"])
    check("and as the service has it", local.run(numbered, target={"column": "1"}).prediction == told)
    asked = tabella.predict(numbered, {"columns": [0], "rows": [[3], [4]]}, target=1)
    check("predict takes it, too", len(asked) == 2, asked)


def gaps(values):
    return [None if i % 11 == 5 else v for i, v in enumerate(values)]


def filled(check, local):
    """Cells that are filled are of their column's type and unit."""
    key = [i // 2 for i in range(N)]
    span, exact = gaps([hours(i) for i in range(N)]), gaps([decimal.Decimal(i // 2) / 4 for i in range(N)])
    frames = {"rows": [{"k": k, "span": s, "exact": e} for k, s, e in zip(key, span, exact)]}
    table = {"k": key, "span": span, "exact": exact}
    if has("pandas"):
        import pandas

        frames["pandas"] = pandas.DataFrame(table)
    if has("polars"):
        import polars

        frames["polars"] = polars.DataFrame(table)
    if has("pyarrow"):
        import pyarrow

        frames["Arrow"] = pyarrow.table(table)
    for name, frame in frames.items():
        out = local.run(frame, target=False).imputed
        if name == "pandas":
            cells = {c: out[c].tolist() for c in table}
        elif name == "rows":
            cells = {c: [r[c] for r in out] for c in table}
        else:
            cells = {c: out[c].to_list() if name == "polars" else out[c].to_pylist() for c in table}
        known = all(v is None or f == v for c in table for f, v in zip(cells[c], table[c]))
        check(f"{name}: supplied durations and decimals stay", known)
        off = [abs(f - hours(i)) for i, f in enumerate(cells["span"])]
        check(f"{name}: filled durations are durations", max(off) < hours(16), max(off))
        off = [abs(f - decimal.Decimal(i // 2) / 4) for i, f in enumerate(cells["exact"])]
        check(f"{name}: filled decimals are decimals", max(off) < 2, max(off))


def rows(check, local):
    """Rows without names, and one row as a dict."""
    named = {"columns": ["c0", "c1"], "rows": [[i % 5, "uv"[i % 2]] for i in range(N)]}
    bare = [(i % 5, "uv"[i % 2]) for i in range(N)]
    want = local.run(named, target=False).raw
    check("a list of rows is a table", local.run(bare, target=False).raw == want)
    said = str(raises(ValueError, lambda: local.run([[1, 2], [3]])))
    check("of as many cells each", "another number" in said, said)
    said = str(raises(TypeError, lambda: local.run([_Frame(), _Frame()])))
    check("a list of tables: and how to give them", "by their names" in said, said)
    said = str(raises(TypeError, lambda: local.run({"a": "a.csv", "b": "b.csv"})))
    check("files by name are no row", "run_files" in said, said)
    one = local.run({"a": 1, "b": "x", "c": None}, target=False).tables[0]
    check("a dict of cells is one row", (one.rows, one.cols) == (1, 3), (one.rows, one.cols))
    said = str(raises(ValueError, lambda: local.run([{"col": "half \ud800"}] * 3)))
    check("half of a pair of surrogates: refused by column", "column col" in said, said)


class _Frame:
    columns = ["a"]


def pickled(check, local):
    """A bundle goes to another process with the tables that it is of."""
    gaps = [{"a": i, "b": None if i % 9 == 4 else "xyz"[i // 20]} for i in range(N)]
    given = {
        "dicts": gaps,
        "a dict of columns": {c: [r[c] for r in gaps] for c in ("a", "b")},
        "the API's form": {"columns": ["a", "b"], "rows": [list(r.values()) for r in gaps]},
        "a stream": Columns([(c, [r[c] for r in gaps]) for c in ("a", "b")]),
    }
    if has("pandas"):
        import pandas

        given["pandas"] = pandas.DataFrame(gaps).set_index(pandas.Index(range(7, 7 + N)))
    if has("polars"):
        import polars

        given["polars"] = polars.DataFrame(gaps)
    if has("pyarrow"):
        import pyarrow

        given["Arrow"] = pyarrow.Table.from_pylist(gaps)
    if has("numpy"):
        import numpy

        given["an array"] = numpy.array([[i, i % 3] for i in range(N)])
    for name, table in given.items():
        bundle = local.run(table, target=False)
        again = pickle.loads(pickle.dumps(bundle))
        same = again.raw == bundle.raw and str(again.imputed) == str(bundle.imputed)
        check(f"a pickled bundle of {name}", same and repr(again) == repr(bundle))
    model = local.fit(gaps, target="b")
    said = str(raises(TypeError, lambda: pickle.dumps(model)))
    check("a fitted model: what to pickle instead", "tabella.sklearn" in said, said)


def libraries(check, local):
    """What one library's frames hold beside the usual."""
    if has("pandas", "pyarrow"):
        import pandas, pyarrow  # noqa: F401, E401

        mixed = pandas.DataFrame({"m": [f"x{i}" if i % 3 == 0 else i for i in range(N)], "k": range(N)})
        rows = [{"m": f"x{i}" if i % 3 == 0 else i, "k": i} for i in range(N)]
        told = local.run(mixed, target=False).raw
        check("texts and numbers in one column of pandas", told == local.run(rows, target=False).raw)
    if has("polars"):
        import polars

        told = local.run(polars.Series("v", list(range(N))), target=False)
        check("a series of polars", [c.name for c in told.tables[0].column_profile] == ["v"])
    if has("pyarrow"):
        import pyarrow

        told = local.run(pyarrow.chunked_array([list(range(N))]), target=False)
        check("an array of Arrow", (told.tables[0].rows, told.tables[0].cols) == (N, 1))
    if has("numpy"):
        import numpy

        made = numpy.array([(i, f"n{i}") for i in range(N)], dtype=[("k", int), ("n", "U4")])
        told = [c.name for c in local.run(made, target=False).tables[0].column_profile]
        check("a structured array", told == ["k", "n"], told)
        long = numpy.arange(2 * N, dtype="longdouble").reshape(N, 2) / 4
        check(
            "long doubles",
            local.run(long, target=False).raw == local.run(long.astype(float), target=False).raw,
        )
    if has("pandas"):
        import pandas

        times = pandas.date_range("2024-01-01", periods=90, name="day")
        level = pandas.Series([50 + i % 7 for i in range(90)], index=times, name="sold")
        ahead = local.forecast(level, horizon=2, target="sold")
        check("an index of times is a column of a forecast", str(ahead["time"].iloc[0])[:10] == "2024-03-31")
        named = pandas.DataFrame({"day": range(90), "sold": level.array}, index=times)
        ahead = local.forecast(named, horizon=2, target="sold")
        check("under a name that is free", len(ahead) == 2, ahead)


def steps(check, local):
    """First calls of a forecast, which name no target."""
    import math

    def scattered(i):  # about 200; the same on any machine
        return 200 + (i * 7919) % 29 - 14

    month = [f"{2015 + i // 12}-{i % 12 + 1:02}-01" for i in range(60)]
    quarter = [f"{2010 + i // 4}Q{i % 4 + 1}" for i in range(40)]
    asked = {
        "days and visits": {"day": month, "visits": [scattered(i) for i in range(60)]},
        "a trend": {"day": month, "sales": [2.5 * i + scattered(i) / 100 for i in range(60)]},
        "growth": {"day": month, "sales": [100 * math.exp(0.03 * i) for i in range(60)]},
        "numbers that count": {"day": month, "users": [5 + i for i in range(60)]},
        "years as numbers": {"year": list(range(1960, 2020)), "gdp": [900 + 12.5 * i for i in range(60)]},
        "quarters": {"q": quarter, "rev": [[10, 20, 30, 15][i % 4] + i for i in range(40)]},
        "five values": {"day": month[:5], "sales": [5, 6, 7, 8, 9]},
        "three values": {"day": month[:3], "sales": [5.5, 6.25, 7]},
        "a list": [scattered(i) for i in range(60)],
        "a list that rises": tuple(2.5 * i for i in range(40)),
        "rows of one column": [{"sold": scattered(i)} for i in range(60)],
        "a value that stands still": {"day": month, "sales": [12] * 60},
    }
    for name, table in asked.items():
        ahead = local.forecast(table, horizon=2)
        check(f"next steps of {name}", len(ahead) == 2, ahead)
    if has("numpy"):
        import numpy

        ahead = local.forecast(numpy.cumsum(numpy.ones(40)), horizon=2)
        check("next steps of an array", len(ahead) == 2, ahead)


def everything(check, local):
    plain(check, local)
    filled(check, local)
    rows(check, local)
    pickled(check, local)
    libraries(check, local)
    steps(check, local)
