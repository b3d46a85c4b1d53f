"""Large frames on their way to the service: Arrow streams as parts of a multipart body.

A frame goes this way where its library writes Arrow (polars does, pandas where pyarrow is there) and all of
its columns are plain; its cells are read as those of the JSON would be. Everything else goes as JSON."""

from __future__ import annotations

import io
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._frames import Table, TablesBody, library
from ._transport import Body

CELLS = 20_000  # fewer of them are as quick as JSON
BATCH_CELLS = 1 << 20  # of one record batch
PIECE = 1 << 18  # bytes


def body_of(tables: Sequence[Table], fields: Mapping[str, Any]) -> Union[Body, Mapping[str, Any]]:
    """The body of a request with these tables and fields."""
    if not tables:
        return fields
    if sum(t.rows * len(t.columns) for t in tables) >= CELLS:
        streams = [_stream_of(t) for t in tables]
        if all(s is not None for s in streams):
            return PartsBody({t.id: s for t, s in zip(tables, streams) if s is not None}, fields)
    return TablesBody(tables, fields)


class Stream:
    """An Arrow stream in pieces, made anew for each attempt."""

    def pieces(self) -> Iterator[bytes]:
        raise NotImplementedError


class PartsBody(Body):
    """multipart/form-data: `request`, the JSON, and a part `tables[ID]` for each table."""

    def __init__(self, streams: Dict[str, Stream], fields: Mapping[str, Any]) -> None:
        self.mark = b"tabella-" + os.urandom(16).hex().encode()
        self.type = "multipart/form-data; boundary=" + self.mark.decode()
        self.streams = streams
        self.fields = json.dumps(fields, allow_nan=False, separators=(",", ":")).encode()

    def pieces(self) -> Iterator[bytes]:
        yield self._head("request") + self.fields + b"\r\n"
        for id, stream in self.streams.items():
            yield self._head(f"tables[{id}]", b"Content-Type: application/vnd.apache.arrow.stream\r\n")
            yield from stream.pieces()
            yield b"\r\n"
        yield b"--" + self.mark + b"--\r\n"

    def _head(self, name: str, more: bytes = b"") -> bytes:
        said = f'Content-Disposition: form-data; name="{name}"\r\n'.encode()
        return b"--" + self.mark + b"\r\n" + said + more + b"\r\n"


def _plain_name(id: str) -> bool:
    """Whether a part can be called so: between quotes, on one line."""
    return not any(c in id for c in '"\\\r\n')


def _stream_of(table: Table) -> Optional[Stream]:
    if not _plain_name(table.id):
        return None
    if table.kind == "polars":
        return _polars_stream(table)
    pyarrow = library("pyarrow")
    if pyarrow is None or table.kind not in ("pandas", "arrow"):
        return None
    made = _arrow_of(pyarrow, table)
    return _ArrowStream(pyarrow, made) if made is not None and _is_plain(pyarrow, table, made) else None


def _infinite(table: Table, c: int) -> ValueError:
    return ValueError(f"table {table.id}, column {table.columns[c]}: infinity is no value of a cell")


# ---- pandas and Arrow --------------------------------------------------------------------------


class _Sink(io.RawIOBase):
    """A file that keeps what is written until it is taken."""

    def __init__(self) -> None:
        self.kept: List[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self.kept.append(bytes(piece))
        return len(piece)

    def take(self) -> bytes:
        whole, self.kept = b"".join(self.kept), []
        return whole


class _ArrowStream(Stream):
    def __init__(self, pyarrow: Any, table: Any) -> None:
        self.pyarrow, self.table = pyarrow, table

    def pieces(self) -> Iterator[bytes]:
        sink = _Sink()
        rows = max(1, BATCH_CELLS // max(1, self.table.num_columns))
        with self.pyarrow.ipc.new_stream(sink, self.table.schema) as writer:
            for batch in self.table.to_batches(max_chunksize=rows):
                writer.write_batch(batch)
                yield sink.take()
        yield sink.take()


def _arrow_of(pyarrow: Any, table: Table) -> Any:
    """As an Arrow table; None where a column is of several kinds."""
    frame = table.frame
    if table.kind == "arrow":
        made = pyarrow.table(frame) if isinstance(frame, pyarrow.RecordBatch) else frame
        return made.unify_dictionaries()
    try:
        arrays = [pyarrow.Array.from_pandas(frame.iloc[:, c]) for c in range(len(table.columns))]
        chunked = [pyarrow.chunked_array(a) if isinstance(a, list) else a for a in arrays]
        return pyarrow.Table.from_arrays(chunked, names=table.columns).unify_dictionaries()
    except (TypeError, ValueError, OverflowError, pyarrow.ArrowException):
        return None


def _is_plain(pyarrow: Any, table: Table, made: Any) -> bool:
    """Whether the service reads each column's type as JSON's cells. Raises ValueError for an infinity."""
    t = pyarrow.types
    plain: List[Any] = [t.is_integer, t.is_floating, t.is_boolean, t.is_string, t.is_large_string, t.is_null]
    plain += [t.is_date, t.is_time, t.is_timestamp, t.is_duration]
    for c, column in enumerate(made.columns):
        kind = column.type.value_type if t.is_dictionary(column.type) else column.type
        decimal = t.is_decimal(kind) and kind.bit_width == 128 and 0 <= kind.scale
        view = getattr(t, "is_string_view", lambda x: False)
        if not decimal and not view(kind) and not any(is_kind(kind) for is_kind in plain):
            return False
        if t.is_floating(column.type) and not t.is_float16(column.type):
            import pyarrow.compute as compute

            if compute.any(compute.is_inf(column)).as_py():
                raise _infinite(table, c)
    return True


# ---- polars ------------------------------------------------------------------------------------


class _PolarsStream(Stream):
    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def pieces(self) -> Iterator[bytes]:
        whole = io.BytesIO()
        self.frame.write_ipc_stream(whole)
        view = whole.getbuffer()
        for start in range(0, len(view), PIECE):
            yield bytes(view[start : start + PIECE])


def _polars_stream(table: Table) -> Optional[Stream]:
    import polars

    frame = table.frame
    names = (
        "Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64 Boolean String Utf8 Categorical"
    )
    names += " Enum Date Datetime Time Duration Null Decimal"
    plain = {getattr(polars, n) for n in names.split() if hasattr(polars, n)}
    if not hasattr(frame, "write_ipc_stream") or any(d.base_type() not in plain for d in frame.dtypes):
        return None
    for c, dtype in enumerate(frame.dtypes):
        if dtype in (polars.Float32, polars.Float64) and bool(frame.to_series(c).is_infinite().any()):
            raise _infinite(table, c)
    return _PolarsStream(frame)
