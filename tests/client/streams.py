"""Arrow C streams without pyarrow: callers' tables are read where they lie, answers are offered to whoever
reads such streams."""

import datetime
import gc
import pickle
import sys

from package import has
import tabella
from tabella import _cdata
from tabella._cdata import Columns, Held, Rows
from tabella._download import frame_of

DAY = datetime.date(2026, 1, 31)
MOMENT = datetime.datetime(2026, 1, 31, 10, 30, 0, 5)
VALUES = {
    "whole": [1, None, -(2**62)],
    "real": [0.5, None, -2.25],
    "flag": [True, None, False],
    "text": ["", None, "é€"],
    "day": [DAY, None, datetime.date(1931, 2, 3)],
    "moment": [MOMENT, None, datetime.datetime(1931, 2, 3)],
    "zoned": [MOMENT.replace(tzinfo=datetime.timezone.utc), None, None],
    "time": [datetime.time(1, 2, 3, 4), None, datetime.time()],
    "span": [datetime.timedelta(-1, 5, 7), None, datetime.timedelta(2)],
    "nothing": [None, None, None],
    "": ["no name", "x" * 40, None],
}


class Stream:
    """A table of nobody's library: it offers a stream and no more."""

    def __init__(self, of):
        self.of = of

    def __arrow_c_stream__(self, requested_schema=None):
        return self.of.__arrow_c_stream__(requested_schema)


def back(x):
    held = Held(x)
    return {name: held.column(c) for c, name in enumerate(held.names)}


def plain(check):
    """With no library of Arrow at all."""
    columns = list(VALUES.items())
    check("a stream says what went in", back(Columns(columns)) == VALUES, back(Columns(columns)))
    twice = Held(Columns(columns))
    check("one that was read is offered again", back(twice) == back(twice) == VALUES)
    mixed = back(Columns([("m", [1, "x", None]), ("n", [2**70, None, 3])]))
    check(
        "numbers and texts are texts, large numbers reals",
        mixed == {"m": ["1", "x", None], "n": [2.0**70, None, 3.0]},
        mixed,
    )
    check("nothing is a stream, too", Held(Columns([("a", [])])).rows == 0)
    many = Columns([("i", list(range(1000))), ("t", [None if i % 9 == 0 else "v" * i for i in range(1000)])])
    check("a thousand rows", back(many)["t"][998] == "v" * 998 and back(many)["t"][999] is None)
    many.__arrow_c_stream__()  # a capsule that nobody reads
    del many, twice
    gc.collect()
    check("and all of it is given back", len(_cdata._alive) == 0, len(_cdata._alive))
    rows = Rows({"a": [1, 2], "b": ["x", None]})
    check("rows are a list of dicts", rows == [{"a": 1, "b": "x"}, {"a": 2, "b": None}])
    check("which offers a stream", back(rows) == {"a": [1, 2], "b": ["x", None]})


def answers(check, local):
    """A run of a stream, and its answers as streams."""
    n = 120
    table = {
        "id": list(range(n)),
        "kind": ["uvw"[i % 3] for i in range(n)],
        "day": [None if i % 17 == 0 else DAY + datetime.timedelta(i) for i in range(n)],
        "size": [None if i % 7 == 0 else 2.5 * (i % 3) for i in range(n)],
    }
    given = Columns(list(table.items()))
    rows = [dict(zip(table, cells)) for cells in zip(*table.values())]
    bundle = local.run(Held(Stream(given)), target="size")  # as where pyarrow is not installed
    check("a stream is answered as its rows are", bundle.raw == local.run(rows, target="size").raw)
    told = back(bundle.arrow("predictions"))
    asked = bundle.array("prediction.results") + bundle.array("prediction.missing_target_results")
    want = {x["row"]: x["value"] for x in asked}
    check("predictions are a stream", dict(zip(told["row"], told["value"])) == want and len(want) == n)
    filled = back(bundle.arrow("imputed"))
    check("so is the filled table", set(filled) == set(table) and None not in filled["size"])
    check("in its own types", type(filled["day"][1]) is datetime.date, filled["day"][:3])
    supplied = all(f == v for c in table for f, v in zip(filled[c], table[c]) if v is not None)
    check("with every supplied cell", supplied)
    check("columns", back(bundle.arrow("columns"))["name"] == list(table))
    check("what is not there is None", bundle.arrow("unified") is None)
    try:
        bundle.arrow("raw")
        check("a name that is none of an answer's", False)
    except ValueError as e:
        check("a name that is none of an answer's", "predictions" in str(e), e)
    both = local.run({"a": rows, "b": [{"k": r["kind"], "n": r["id"]} for r in rows]}, target=False)
    one = back(both.arrow("imputed")["a"])
    check("of several tables each is one", one["id"] == table["id"])
    if has("duckdb"):
        import duckdb

        tabella_result = bundle.arrow("predictions")
        found = duckdb.sql("select count(*), max(row) from tabella_result").fetchall()[0]
        check("duckdb selects from an answer", found == (n, n - 1), found)
    if has("polars"):
        import polars

        check("polars reads it", polars.DataFrame(bundle.arrow("predictions")).height == n)
        check("and columns of every type", back(polars.DataFrame(Columns(list(VALUES.items())))) == VALUES)
        coded = polars.DataFrame({"c": polars.Series(["x", None, "y", "x"], dtype=polars.Categorical)})
        check("codes are read", back(coded) == {"c": ["x", None, "y", "x"]})
    if has("pyarrow"):
        import pyarrow

        whole = pyarrow.table(bundle.arrow("predictions"))
        whole.validate(full=True)
        check("pyarrow reads it", whole.num_rows == n)
        kinds = {
            "ns": pyarrow.array([MOMENT, None], pyarrow.timestamp("ns", "Europe/Berlin")),
            "short": pyarrow.array([3, None], pyarrow.int8()),
            "view": pyarrow.array(["v" * 20, "v"], pyarrow.string_view()),
            "exact": pyarrow.array([None, "1.25"]).cast(pyarrow.decimal128(6, 2)),
            "code": pyarrow.array(["p", "q"]).dictionary_encode(),
        }
        table = pyarrow.table(kinds)
        check("kinds that others write", back(table) == {k: v.to_pylist() for k, v in kinds.items()})
        part = back(table.slice(1))
        check("and a slice", part == {k: v.to_pylist()[1:] for k, v in kinds.items()}, part)


def native(check, local):
    """Parts of a result as the library's own streams: by every kind of caller, with pyarrow and without."""
    n = 120
    rows = [
        {
            "id": i,
            "kind": "uvw"[i % 3],
            "day": DAY + datetime.timedelta(i),
            "size": None if i % 7 == 0 else 2.5 * (i % 3),
        }
        for i in range(n)
    ]
    bundle = local.run(rows, target="size")
    asked = bundle.array("prediction.results") + bundle.array("prediction.missing_target_results")
    want = sorted((x["row"], x["value"]) for x in asked)
    part = bundle.stream("results")
    told = back(part)
    same = all(r == w[0] and abs(p - w[1]) < 1e-5 for r, p, w in zip(told["row"], told["predicted"], want))
    check("the library's stream of predictions", same and len(told["row"]) == n, told["predicted"][:4])
    check("which is read again", back(part) == told)
    filled = back(bundle.stream("filled", table=bundle.tables[0].id))
    check("of a filled table", None not in filled["size"] and filled["day"] == [r["day"] for r in rows])
    check("with its flags", filled["size_filled"] == [r["size"] is None for r in rows])
    names = back(bundle.stream("profile"))["name"]
    check("of what columns are", names == list(rows[0]), names)
    listed = frame_of(part, "")
    check("rows as dicts for a caller without frames", listed[5] == {k: v[5] for k, v in told.items()})
    held = bundle.stream("filled")
    fitted = local.fit(rows, target="kind")
    served = fitted.serve([{k: v for k, v in r.items() if k != "kind"} for r in rows[:3]])
    shares = back(served.stream("results"))
    del bundle, part, fitted
    gc.collect()
    check("a stream outlives its bundle", back(held) == filled)
    total = [sum(shares[f"p({k})"][i] for k in "uvw") for i in range(3)]
    check("of rows that were served, with each class's share", all(abs(x - 1) < 1e-6 for x in total), shares)
    for name, given, error in (
        ("a part that is not there", {"part": "matches"}, tabella.NotFoundError),
        ("a part that there is not", {"part": "answers"}, tabella.ValidationError),
        ("a table of a part that has none", {"part": "results", "table": "t"}, tabella.ValidationError),
    ):
        try:
            served.stream(**given)
            check(name, False, "a stream")
        except error:
            check(name, True)
    again = pickle.loads(pickle.dumps(served))
    try:
        again.stream("results")
        check("a pickle has none, and says so", False)
    except tabella.TabellaError as e:
        check("a pickle has none, and says so", "arrow(NAME)" in str(e), e)
    if has("pandas"):
        import pandas

        frames = local.run(pandas.DataFrame(rows), target="size")
        without, library = frames.frame("filled"), sys.modules.get("pyarrow")
        sys.modules["pyarrow"] = None
        try:
            bare = frames.frame("filled")
        finally:
            del sys.modules["pyarrow"]
            if library is not None:
                sys.modules["pyarrow"] = library
        for made in (without, bare):
            good = isinstance(made, pandas.DataFrame) and made["size"].notna().all() and len(made) == n
            check("a frame of pandas, with pyarrow and without", good and list(made) == list(filled))
        check("the same one", bare.astype(str).equals(without.astype(str)))
    if has("polars"):
        import polars

        frames = local.run(polars.DataFrame(rows), target="size")
        check("a frame of polars", frames.frame("filled")["day"].dtype == polars.Date)
    if has("pyarrow"):
        import pyarrow

        whole = pyarrow.table(held)
        whole.validate(full=True)
        check("pyarrow reads every buffer", whole.num_rows == n)


def everything(check, local):
    plain(check)
    answers(check, local)
    native(check, local)
