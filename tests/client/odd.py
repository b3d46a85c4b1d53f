"""Frames as notebooks have them: what is odd is read as what it says, or refused with words that help."""

import datetime
import decimal

from package import has
from rest import raises
import tabella

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


def everything(check, local):
    plain(check, local)
    filled(check, local)
