"""Files of Parquet (FOLDER, such as data/ of apache/parquet-testing) read by the bench program and by
pyarrow, cell by cell: PYTHON parquet.py BENCH FOLDER. What only one of them reads is listed; what differs
fails."""

import datetime, decimal, json, math, pathlib, subprocess, sys, uuid

import pyarrow as pa
import pyarrow.parquet as pq


def plain(x, kind):
    """A value of pyarrow as JSON has it."""
    if x is None:
        return None
    if pa.types.is_struct(kind):
        return {f.name: plain(x[f.name], f.type) for f in kind}
    if pa.types.is_map(kind):
        return {key(plain(k, kind.key_type)): plain(v, kind.item_type) for k, v in x}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [plain(v, kind.value_type) for v in x]
    if isinstance(x, bytes):
        return x.decode()
    if isinstance(x, float):
        if kind in (pa.float32(), pa.float16()):
            return ("single", x) if math.isfinite(x) else None
        return x if math.isfinite(x) else None
    if isinstance(x, decimal.Decimal):
        return x
    if isinstance(x, datetime.datetime):
        return x.astimezone(datetime.timezone.utc).replace(tzinfo=None) if x.tzinfo else x
    return x.isoformat() if isinstance(x, (datetime.date, datetime.time)) else x


def key(x):
    return x if isinstance(x, str) else json.dumps(x)


def same(a, b):
    """a: ours, b: plain()."""
    if isinstance(b, tuple):
        return isinstance(a, (int, float, decimal.Decimal)) and math.isclose(
            a, b[1], rel_tol=1e-6, abs_tol=1e-45
        )
    if isinstance(b, datetime.datetime):
        text = a.rstrip("Z") if isinstance(a, str) else ""
        return text != "" and datetime.datetime.fromisoformat(text[:26]) == b.replace(tzinfo=None)
    if isinstance(b, dict):
        return isinstance(a, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in b)
    if isinstance(b, list):
        return isinstance(a, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(b, bool) or isinstance(a, bool):
        return a is b
    if isinstance(b, (int, float, decimal.Decimal)):
        return isinstance(a, (int, float, decimal.Decimal)) and (a == b or float(a) == float(b))
    return a == b


def columns(schema):
    """The columns that a schema's fields become: structs taken apart."""

    def walk(name, kind, get):
        if pa.types.is_struct(kind):
            for f in kind:
                step = lambda x, f=f, get=get: None if (y := get(x)) is None else y[f.name]
                yield from walk(f"{name}.{f.name}", f.type, step)
        else:
            yield name, kind, get

    for i, f in enumerate(schema):
        yield from walk(f.name, f.type, lambda row, i=i: row[i])


def compare(ours, table):
    names, rows = ours[0], ours[1:]
    want = list(columns(table.schema))
    if names != [n for n, _, _ in want]:
        return f"columns {names} for {[n for n, _, _ in want]}"
    values = [c.to_pylist() for c in table.columns]
    if len(rows) != table.num_rows:
        return f"{len(rows)} rows for {table.num_rows}"
    for r, row in enumerate(rows):
        whole = [v[r] for v in values]
        for (name, kind, get), got in zip(want, row):
            w = plain(get(whole), kind)
            if isinstance(w, (list, dict)) and isinstance(got, str):
                got = json.loads(got, parse_float=decimal.Decimal)
            if not same(got, w):
                return f"row {r}, {name}: {got!r} for {w!r}"
    return None


def main(bench, folder):
    count = {"alike": 0, "not pyarrow": 0, "not here": 0, "neither": 0, "differ": 0}
    for path in sorted(pathlib.Path(folder).rglob("*.parquet")):
        out = subprocess.run([bench, "cells", path], capture_output=True, text=True, timeout=120)
        lines = [json.loads(l, parse_float=decimal.Decimal) for l in out.stdout.splitlines()]
        refused = lines[0]["error"] if isinstance(lines[0], dict) else None
        try:
            table = pq.ParquetFile(path).read()
            table.schema.names and [c.to_pylist() for c in table.columns]
        except Exception as e:
            count["neither" if refused else "not pyarrow"] += 1
            print(
                f"  {path.name}: not by pyarrow ({str(e)[:70]})"
                + (f"; nor here: {refused}" if refused else "")
            )
            continue
        if refused:
            count["not here"] += 1
            print(f"  {path.name}: not here: {refused}")
            continue
        try:
            why = compare(lines, table)
        except UnicodeDecodeError:
            why = "bytes"
        count["differ" if why else "alike"] += 1
        if why:
            print(f"  {path.name}: {why}")
    print("Parquet files: " + ", ".join(f"{k} {n}" for k, n in count.items()))
    return count["differ"] > 0


sys.exit(main(*sys.argv[1:]))
