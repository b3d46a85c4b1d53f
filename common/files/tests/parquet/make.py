#!/usr/bin/env python3
"""Writes the Parquet files beside this file, and what is in them as NDJSON. Needs pyarrow, polars, pandas and
fastparquet; the tests read what it wrote."""

import datetime
import decimal
import json
import pathlib
import uuid

import fastparquet
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

HERE = pathlib.Path(__file__).parent


def text(x):
    """The cell that the reader makes of a value."""
    if isinstance(x, dict):
        return {k: text(v) for k, v in x.items()}
    if isinstance(x, float):
        return x if x - x == 0 else None
    if isinstance(x, list):
        return [text(v) for v in x]
    if isinstance(x, (datetime.datetime, datetime.date, datetime.time)):
        return x.isoformat()
    if isinstance(x, decimal.Decimal):
        return decimal.Decimal(format(x.normalize(), "f"))
    return str(x) if isinstance(x, uuid.UUID) else x


def dump(value):
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(k) + ":" + dump(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump, value)) + "]"
    return str(value) if isinstance(value, decimal.Decimal) else json.dumps(value, ensure_ascii=False)


def rows_of(name, rows):
    lines = [dump({k: text(v) for k, v in row.items()}) for row in rows]
    (HERE / f"{name}.ndjson").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write(name, table, rows=None, **options):
    options = {"row_group_size": 3, "write_statistics": False, "store_schema": False, **options}
    pq.write_table(table, HERE / f"{name}.parquet", **options)
    if rows is not None:
        rows_of(name, rows)


D = decimal.Decimal
day, noon = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30, 15, 250000)
utc = datetime.timezone.utc
plain = {
    "i8": pa.array([-128, None, 127, 0, 5], pa.int8()),
    "u16": pa.array([0, 65535, None, 1, 2], pa.uint16()),
    "u32": pa.array([2**32 - 1, None, 0, 1, 2], pa.uint32()),
    "i64": pa.array([1, None, -3, 2**53, 4], pa.int64()),
    "big": pa.array([2**63 - 1, 1, 2, None, -(2**63)], pa.int64()),
    "huge": pa.array([2**64 - 1, 1, 2, None, 0], pa.uint64()),
    "f64": pa.array([0.1, None, float("nan"), float("inf"), -1e300]),
    "yes": pa.array([True, False, None, True, False]),
    "text": pa.array(["a", "", None, "ünï ☃", "a long text, longer than twelve bytes"]),
    "nothing": pa.array([None] * 5, pa.string()),
    "day": pa.array(
        [day, None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(1969, 12, 31)]
    ),
    "micro": pa.array([noon, None, noon, noon.replace(microsecond=0), noon], pa.timestamp("us")),
    "zone": pa.array([noon.replace(tzinfo=utc), None] * 2 + [None], pa.timestamp("ms", "UTC")),
    "clock": pa.array([datetime.time(23, 59, 59, 7), None] + [datetime.time(0)] * 3, pa.time64("us")),
    "milli": pa.array([datetime.time(1, 2, 3, 4000), None] + [datetime.time(0)] * 3, pa.time32("ms")),
    "price": pa.array(
        [D("12.50"), None, D("-0.07"), D("0"), D("12345678901234567890.12")], pa.decimal128(22, 2)
    ),
    "kind": pa.array(["a", "b", None, "a", "b"]).dictionary_encode(),
    "at": pa.array(
        [{"x": 1, "deep": {"y": "p"}}, {"x": None, "deep": {"y": "q"}}, {"x": 3, "deep": {"y": None}}]
        + [{"x": 4, "deep": {"y": "r"}}] * 2,
        pa.struct([("x", pa.int32()), ("deep", pa.struct([("y", pa.string())]))]),
    ),
}
table = pa.table(plain)
write("plain", table, table.to_pylist())
for codec in ("none", "gzip", "brotli", "zstd", "lz4"):
    write(codec, table, compression=codec)
write("v2", table, data_page_version="2.0", use_dictionary=False, compression="zstd")
write("v2_none", table, data_page_version="2.0", compression="none")
write("old", table.drop_columns(["zone"]), version="1.0")  # without LogicalType's unsigned 32 and nanoseconds
rows_of("old", table.drop_columns(["zone"]).to_pylist())
write("empty", table.slice(0, 0))
point = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])
nested = {
    "id": [1, 2, 3, 4, 5],
    "tags": pa.array([["a", None, 'q"'], [], None, ["ünï"], ["a", "a"]]),
    "matrix": pa.array([[[1, 2], []], [None, [3]], [], None, [[None]]], pa.list_(pa.list_(pa.int64()))),
    "counts": pa.array([[("a", 1), ("b", None)], [], None, [("c", 3)], []], pa.map_(pa.string(), pa.int32())),
    "by": pa.array(
        [[(7, [0.5])], None, [(-1, None), (8, [])], [], []], pa.map_(pa.int32(), pa.list_(pa.float64()))
    ),
    "points": pa.array(
        [[{"x": 1, "tags": ["p"]}, None], None, [{"x": None, "tags": None}], [], [{"x": 2, "tags": []}]],
        pa.list_(point),
    ),
    "at": pa.array(
        [
            {"x": 1, "tags": ["p", "q"]},
            None,
            {"x": 3, "tags": None},
            {"x": None, "tags": []},
            {"x": 5, "tags": [None]},
        ],
        point,
    ),
    "when": pa.array([[noon, None], [], None, [noon], [noon]], pa.list_(pa.timestamp("us"))),
    "price": pa.array([[D("1.50")], [D("-2")], [], None, [None]], pa.list_(pa.decimal128(22, 2))),
    "yes": pa.array([[True, False], [], None, [None], [True]]),
}
nested = pa.table(nested)
same = nested.to_pylist()
for row in same:
    row["counts"] = None if row["counts"] is None else dict(row["counts"])
    row["by"] = None if row["by"] is None else {str(k): v for k, v in row["by"]}
    row["at"] = row["at"] or {"x": None, "tags": None}
same = [{k: text(v) for k, v in row.items()} for row in same]
as_text = lambda v: v if v is None else dump(v)
for row in same:  # lists and maps are texts
    row["at"]["tags"] = as_text(row["at"]["tags"])
    for k in ("tags", "matrix", "counts", "by", "points", "when", "price", "yes"):
        row[k] = as_text(row[k])
write("nested", nested, same)
write("nested_v2", nested, data_page_version="2.0", compression="zstd", use_dictionary=False)
write("nested_pages", nested, compression="none", data_page_size=1, write_batch_size=1, row_group_size=5)
write("bytes", pa.table({"b": pa.array([b"\xff\xfe"], pa.binary())}))

n = 300
many = pa.table(
    {
        "i": pa.array([(k * 7919) % 1000 - 500 if k % 7 else None for k in range(n)], pa.int32()),
        "l": pa.array([k * k * k * 1000003 if k % 5 else None for k in range(n)], pa.int64()),
        "wide": pa.array([(-1) ** k * (2**62 + k) for k in range(n)], pa.int64()),
        "length": pa.array([None if k % 11 == 0 else "x" * (k % 13) + str(k) for k in range(n)]),
        "prefix": pa.array([None if k % 10 == 3 else f"https://example.org/{k // 7}/{k}" for k in range(n)]),
        "f": pa.array([k / 8 for k in range(n)], pa.float32()),
        "d": pa.array([k / 10 for k in range(n)], pa.float64()),
        "yes": pa.array([k % 3 == 0 if k % 4 else None for k in range(n)]),
        "runs": pa.array(["left" if k < 200 else "right" for k in range(n)]),
        "when": pa.array([noon + datetime.timedelta(days=k // 20) for k in range(n)], pa.timestamp("us")),
    }
)
encodings = {
    "i": "DELTA_BINARY_PACKED",
    "l": "DELTA_BINARY_PACKED",
    "wide": "DELTA_BINARY_PACKED",
    "length": "DELTA_LENGTH_BYTE_ARRAY",
    "prefix": "DELTA_BYTE_ARRAY",
    "f": "BYTE_STREAM_SPLIT",
    "d": "BYTE_STREAM_SPLIT",
    "yes": "RLE",
}
write(
    "encodings",
    many,
    many.to_pylist(),
    use_dictionary=["runs", "when"],
    column_encoding=encodings,
    row_group_size=200,
    data_page_size=400,
)
write("pages", many, row_group_size=n, data_page_size=256, data_page_version="2.0")

rare = pa.table(
    {
        "at": pa.array([noon, None, datetime.datetime(1900, 1, 1)], pa.timestamp("us")),
        "half": pa.array([0.5, None, -2], pa.float16()),
        "single": pa.array([0.1, 3.4e38, 1e-7], pa.float32()),
        "small": pa.array([D("1.25"), D("-1.5"), None], pa.decimal128(5, 2)),
        "id": pa.array([uuid.UUID(int=k * 2**100 + 7).bytes for k in range(3)], pa.uuid()),
        "within": pa.array(
            [{"x": {"y": 1}}, None, {"x": None}],
            pa.struct([("x", pa.struct([pa.field("y", pa.int64(), False)]))]),
        ),
        "json": pa.array(['{"a":1}', None, "[]"], pa.json_()),
        "raw": pa.array([b"abc", None, "é".encode()], pa.binary()),
    }
)
same = rare.to_pylist()
for row, single in zip(same, [0.1, 3.4e38, 1e-7]):
    row["single"] = single
    row["within"] = {"x": {"y": None if row["within"] is None or row["within"]["x"] is None else 1}}
    row["raw"] = row["raw"].decode() if row["raw"] is not None else None
write("rare", rare, same, use_deprecated_int96_timestamps=True)
whole = pa.schema([pa.field("d32", pa.decimal128(5, 2)), pa.field("d64", pa.decimal128(15, 3), False)])
whole = pa.table([[D("1.25"), D("-1.5"), None], [D("1.002"), D("7"), D("-9.1")]], whole)
write("decimals", whole, whole.to_pylist(), store_decimal_as_integer=True)
required = pa.table(
    [[1, 2, 3], ["a", "b", "a"]], pa.schema([("x", pa.int64(), False), ("y", pa.string(), False)])
)
write("required", required, required.to_pylist())
midnights = [datetime.datetime(2024, 1, d) for d in (1, 2, 3, 4)]
write(
    "midnights",
    pa.table({"at": pa.array(midnights, pa.timestamp("ns"))}),
    [{"at": x.date()} for x in midnights],
)

frame = polars.DataFrame(
    {
        "name": ["short", None, "exactly12by!", "a text of more than twelve bytes", "another long one"],
        "group": polars.Series(["a", "b", "a", None, "c"], dtype=polars.Categorical),
        "n": [1, 2, None, 4, 5],
        "x": [0.5, None, 2.5, 1e9, -0.125],
        "on": [day, None, day, day, day],
        "at": [noon, None, noon, noon, noon],
        "ok": [True, None, False, True, True],
        "s": [
            {"p": 1, "q": "u"},
            {"p": None, "q": "v"},
            {"p": 3, "q": None},
            {"p": 4, "q": ""},
            {"p": 5, "q": "w"},
        ],
    }
)
frame.write_parquet(HERE / "polars.parquet", compression="zstd")
rows_of("polars", frame.to_dicts())
lazy = {"compression": "lz4", "statistics": False}
frame.write_parquet(HERE / "polars_lz4.parquet", **lazy)

panda = pandas.DataFrame(
    {
        "n": [1, 2, 3, 4],
        "x": [0.5, 1.5, float("nan"), -2.0],
        "name": ["a", "b", None, "ünï"],
        "kind": pandas.Categorical(["u", "v", "u", "u"]),
        "at": pandas.to_datetime([noon, noon, None, datetime.datetime(2023, 1, 1)]),
        "ok": [True, False, True, True],
    }
)
fastparquet.write(str(HERE / "fast.parquet"), panda, compression="GZIP", stats=False)
rows = [
    {"n": a, "x": b, "name": c, "kind": d, "at": e, "ok": f}
    for a, b, c, d, e, f in zip(
        [1, 2, 3, 4],
        [0.5, 1.5, None, -2.0],
        ["a", "b", None, "ünï"],
        ["u", "v", "u", "u"],
        [noon, noon, None, datetime.datetime(2023, 1, 1)],
        [True, False, True, True],
    )
]
rows_of("fast", rows)


class Kms(pe.KmsClient):
    def __init__(self, _config):
        super().__init__()

    def wrap_key(self, key, _id):
        return key.hex()

    def unwrap_key(self, key, _id):
        return bytes.fromhex(key)


def encrypted(name, **options):
    factory = pe.CryptoFactory(Kms)
    config = pe.EncryptionConfiguration(footer_key="f", column_keys={"k": ["x"]}, **options)
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    with pq.ParquetWriter(HERE / f"{name}.parquet", required.schema, encryption_properties=properties) as out:
        out.write_table(required)


encrypted("encrypted")
encrypted("encrypted_columns", plaintext_footer=True)
