#!/usr/bin/env python3
"""Writes the Arrow streams beside this file, and what is in them as NDJSON. Needs pyarrow and polars; the
tests read what it wrote."""

import datetime
import decimal
import json
import pathlib

import polars
import pyarrow as pa
import pyarrow.feather

HERE = pathlib.Path(__file__).parent


def text(x):
    """The cell that the reader makes of a value."""
    if isinstance(x, dict):
        return {k: text(v) for k, v in x.items()}
    if isinstance(x, float):
        return x if x - x == 0 else None
    if isinstance(x, (datetime.datetime, datetime.date, datetime.time)):
        return x.isoformat()
    if isinstance(x, datetime.timedelta):
        return x.total_seconds()
    return x


def dump(value):
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(k) + ":" + dump(v) for k, v in value.items()) + "}"
    return str(value) if isinstance(value, decimal.Decimal) else json.dumps(value, ensure_ascii=False)


def rows_of(name, rows):
    lines = [dump({k: text(v) for k, v in row.items()}) for row in rows]
    (HERE / f"{name}.ndjson").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write(name, table, rows=None, **options):
    with pa.ipc.new_stream(
        str(HERE / f"{name}.arrows"), table.schema, options=pa.ipc.IpcWriteOptions(**options)
    ) as out:
        out.write_table(table, max_chunksize=3)
    if rows is not None:
        rows_of(name, rows)


day, noon = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30, 15, 250000)
utc = datetime.timezone.utc
plain = {
    "i8": pa.array([-128, None, 127, 0, 5], pa.int8()),
    "u16": pa.array([0, 65535, None, 1, 2], pa.uint16()),
    "i64": pa.array([1, None, -3, 2**53, 4], pa.int64()),
    "big": pa.array([2**63 - 1, 1, 2, None, -(2**63)], pa.int64()),
    "huge": pa.array([2**64 - 1, 1, 2, None, 0], pa.uint64()),
    "f64": pa.array([0.1, None, float("nan"), float("inf"), -1e300]),
    "yes": pa.array([True, False, None, True, False]),
    "text": pa.array(["a", "", None, "ünï ☃", "a long text, longer than twelve bytes"]),
    "large": pa.array(["x", None, "y", "x", ""], pa.large_string()),
    "nothing": pa.array([None, "here", None, None, None]),
    "day": pa.array(
        [day, None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(1969, 12, 31)]
    ),
    "day64": pa.array([day, None, day, day, day], pa.date64()),
    "second": pa.array(
        [noon.replace(microsecond=0), None] + [datetime.datetime(1900, 3, 1, 1)] * 3, pa.timestamp("s")
    ),
    "micro": pa.array([noon, None, noon, noon.replace(microsecond=0), noon], pa.timestamp("us")),
    "zone": pa.array([noon.replace(tzinfo=utc), None] * 2 + [None], pa.timestamp("ms", "UTC")),
    "clock": pa.array([datetime.time(23, 59, 59, 7), None] + [datetime.time(0)] * 3, pa.time64("us")),
    "took": pa.array([datetime.timedelta(seconds=90), None] + [datetime.timedelta(milliseconds=-1500)] * 3),
    "price": pa.array(
        [
            decimal.Decimal("12.50"),
            None,
            decimal.Decimal("-0.07"),
            decimal.Decimal("0"),
            decimal.Decimal("12345678901234567890.12"),
        ],
        pa.decimal128(22, 2),
    ),
    "kind": pa.array(["a", "b", None, "a", "b"]).dictionary_encode(),
    "code": pa.array([7, 8, 7, None, 8]).dictionary_encode(),
    "at": pa.array(
        [{"x": 1, "deep": {"y": "p"}}, {"x": None, "deep": {"y": "q"}}, {"x": 3, "deep": None}]
        + [{"x": 4, "deep": {"y": "r"}}] * 2,
        pa.struct([("x", pa.int32()), ("deep", pa.struct([("y", pa.string())]))]),
    ),
}
table = pa.table(plain)


def as_read(rows):
    out = []
    for row in rows:
        row = dict(row)
        row["price"] = (
            None if row["price"] is None else decimal.Decimal(format(row["price"].normalize(), "f"))
        )
        if row["at"]["deep"] is None:
            row["at"] = dict(row["at"], deep={"y": None})
        out.append(row)
    return out


write("plain", table, as_read(table.to_pylist()))
write("lz4", table, compression="lz4")
write("zstd", table, compression="zstd")

midnights = pa.table(
    {"at": pa.array([datetime.datetime(2024, 1, d) for d in (1, 2, 3, 4)], pa.timestamp("ns"))}
)
write("midnights", midnights, [{"at": datetime.date(2024, 1, d)} for d in (1, 2, 3, 4)])

single = pa.table(
    {
        "x": pa.array([0.1, 1e-7, 16777216, None, 3.4e38], pa.float32()),
        "h": pa.array([0.5, 1, None, -2, 65504], pa.float16()),
    }
)
write(
    "single",
    single,
    [{"x": a, "h": b} for a, b in zip([0.1, 1e-7, 16777216, None, 3.4e38], [0.5, 1, None, -2, 65504])],
)

views = polars.DataFrame(
    {
        "name": [
            "short",
            None,
            "exactly12by!",
            "a text of more than twelve bytes",
            "another long one, of other bytes",
        ],
        "group": polars.Series(["a", "b", "a", None, "c"], dtype=polars.Categorical),
    }
)
views.write_ipc_stream(HERE / "views.arrows", compat_level=polars.CompatLevel.newest())
rows_of("views", views.to_dicts())

pa.feather.write_feather(table, str(HERE / "file.arrow"), compression="lz4", chunksize=2)
write("empty", table.slice(0, 0))
write("list", pa.table({"tags": [[1], [2, 3]]}))
