"""Large frames on their way to the service: Arrow streams as parts of a multipart body.

A frame goes this way where its library writes Arrow (polars does, pandas where pyarrow is there) and all of
its columns are plain; its cells are read as those of the JSON would be. Everything else goes as JSON."""

from __future__ import annotations

import io
import json
import math
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._cdata import PLAIN_FORMATS, Held
from ._frames import Table, TablesBody, library
from ._transport import Body, Stream

CELLS = 20_000  # fewer of them are as quick as JSON
BATCH_CELLS = (
    1 << 17
)  # of one record batch: a megabyte of numbers, which lies here a few times while it is sent


def body_of(tables: Sequence[Table], fields: Mapping[str, Any]) -> Union[Body, Mapping[str, Any]]:
    """The body of a request with these tables and fields."""
    if not tables:
        return fields
    if sum(t.rows * len(t.columns) for t in tables) >= CELLS:
        streams = [stream_of(t) for t in tables]
        if all(s is not None for s in streams):
            return PartsBody({t.id: s for t, s in zip(tables, streams) if s is not None}, fields)
    return TablesBody(tables, fields)


def capsule_of(table: Table) -> Tuple[Any, List[Exception]]:
    """The table as a capsule of the Arrow C stream interface, with the cells that its JSON would have, to be
    read once in this process; None where its library does not write Arrow, or a column is not plain. And what
    is raised while it is read, of which a stream could only tell the text."""
    if isinstance(table.frame, Held):
        return _held_capsule(table), []
    stream, wrong = stream_of(table), []  # type: Tuple[Any, List[Exception]]
    if isinstance(stream, _PolarsStream):
        return getattr(table.frame, "__arrow_c_stream__", lambda: None)(), wrong
    if not isinstance(stream, _ArrowStream):
        return None, wrong

    def batches() -> Iterator[Any]:
        try:
            yield from stream.batches()
        except Exception as e:
            wrong.append(e)
            raise

    reader = stream.pyarrow.RecordBatchReader.from_batches(stream.schema, batches())
    return reader.__arrow_c_stream__(), wrong


def _held_capsule(table: Table) -> Any:
    """Of a stream that was read without pyarrow: the same arrays once more."""
    for c, field in enumerate(table.frame.fields):
        plain = Held.value_format(field)
        if not (plain in PLAIN_FORMATS or plain.startswith((b"ts", b"tt", b"tD", b"d:"))):
            return None
        if plain in (b"f", b"g") and any(v in (math.inf, -math.inf) for v in table.frame.column(c)):
            raise _infinite(table, c)
    return table.frame.__arrow_c_stream__() if table.columns else None


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


def stream_of(table: Table) -> Optional[Stream]:
    if not _plain_name(table.id):
        return None
    if table.kind == "polars":
        return _polars_stream(table)
    pyarrow = library("pyarrow")
    if pyarrow is None or table.kind not in ("pandas", "arrow"):
        return None
    if table.kind == "arrow":
        return _arrow_stream(pyarrow, table)
    schema = _schema_of(pyarrow, table)
    return (
        _PandasStream(pyarrow, table, schema) if schema is not None and _is_plain(pyarrow, schema) else None
    )


def _rows_of(columns: Any) -> int:
    """Rows of a batch of a table with these columns."""
    return max(1, BATCH_CELLS // max(1, len(columns)))


def _infinite(table: Table, c: int) -> ValueError:
    said = "a cell cannot hold infinity; replace it, with None where the value is missing"
    return ValueError(f"table {table.id}, column {table.columns[c]}: {said}")


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


def _arrow_stream(pyarrow: Any, table: Table) -> Optional[Stream]:
    frame = table.frame
    whole = pyarrow.Table.from_batches([frame]) if isinstance(frame, pyarrow.RecordBatch) else frame
    whole = whole.unify_dictionaries()  # a column of one dictionary says it once
    return _ArrowStream(pyarrow, table, whole) if _is_plain(pyarrow, whole.schema) else None


class _ArrowStream(Stream):
    """Batches of an Arrow table."""

    def __init__(self, pyarrow: Any, table: Table, whole: Any) -> None:
        self.pyarrow, self.table, self.whole, self.schema = pyarrow, table, whole, whole.schema

    def pieces(self) -> Iterator[bytes]:
        sink = _Sink()
        with self.pyarrow.ipc.new_stream(sink, self.schema) as writer:
            for batch in self.batches():
                writer.write_batch(batch)
                yield sink.take()
        yield sink.take()

    def batches(self) -> Iterator[Any]:
        for batch in self._batches(_rows_of(self.schema)):
            self._finite(batch)
            yield batch

    def _batches(self, rows: int) -> Iterator[Any]:
        yield from self.whole.to_batches(max_chunksize=rows)

    def _finite(self, batch: Any) -> None:
        for c, column in enumerate(batch.columns):
            if self.pyarrow.types.is_floating(column.type):
                import pyarrow.compute as compute

                if compute.any(compute.is_inf(column)).as_py():
                    raise _infinite(self.table, c)


class _PandasStream(_ArrowStream):
    """Each batch is made of its own rows when it is sent: the frame never lies here a second time."""

    def __init__(self, pyarrow: Any, table: Table, schema: Any) -> None:
        self.pyarrow, self.table, self.schema = pyarrow, table, schema

    def _batches(self, rows: int) -> Iterator[Any]:
        for start in range(0, self.table.rows, rows):
            part = self.table.frame.iloc[start : start + rows]
            arrays = [self._array(part.iloc[:, c], c) for c in range(len(self.schema))]
            whole = self.pyarrow.Table.from_arrays(arrays, schema=self.schema)
            yield from whole.unify_dictionaries().to_batches(max_chunksize=rows)

    def _array(self, series: Any, c: int) -> Any:
        try:
            made = self.pyarrow.Array.from_pandas(series, type=self.schema.field(c).type)
        except ValueError as e:  # a text that is no Unicode
            raise ValueError(f"table {self.table.id}, column {self.table.columns[c]}: {e}") from None
        return self.pyarrow.chunked_array(made) if isinstance(made, list) else made


def _schema_of(pyarrow: Any, table: Table) -> Any:
    """Names and types of a frame of pandas; None where a column is of several kinds."""
    frame, types = table.frame, []
    try:
        for c in range(len(table.columns)):
            series = frame.iloc[:, c]
            if str(series.dtype) == "object":
                types.append(_type_of_objects(pyarrow, series))
            else:
                types.append(pyarrow.Array.from_pandas(series.iloc[:0]).type)
    except (TypeError, ValueError, OverflowError, pyarrow.ArrowException):
        return None
    return pyarrow.schema(list(zip(table.columns, types)))


def _type_of_objects(pyarrow: Any, series: Any) -> Any:
    """The one type that all cells can be. Raises what pyarrow raises where there is none."""
    found = pyarrow.infer_type(series.to_numpy(), from_pandas=True)  # of a series it asks by label
    if pyarrow.types.is_string(found):  # said of a column whose first cell is one
        if library("pandas").api.types.infer_dtype(series, skipna=True) != "string":
            raise TypeError("texts and others")
    else:  # numbers of Python may be too large for it
        for start in range(0, len(series), BATCH_CELLS):
            pyarrow.Array.from_pandas(series.iloc[start : start + BATCH_CELLS], type=found)
    return found


def _is_plain(pyarrow: Any, schema: Any) -> bool:
    """Whether the service reads each column's type as JSON's cells."""
    t = pyarrow.types
    plain: List[Any] = [t.is_integer, t.is_floating, t.is_boolean, t.is_string, t.is_large_string, t.is_null]
    plain += [t.is_date, t.is_time, t.is_timestamp, t.is_duration]
    view = getattr(t, "is_string_view", lambda x: False)
    for column in schema.types:
        kind = column.value_type if t.is_dictionary(column) else column
        decimal = t.is_decimal(kind) and kind.bit_width == 128 and 0 <= kind.scale
        if not decimal and not view(kind) and not any(is_kind(kind) for is_kind in plain):
            return False
    return True


# ---- polars ------------------------------------------------------------------------------------


class _PolarsStream(Stream):
    """polars writes a whole stream of each slice; behind the first one's schema come the batches of all, each
    behind its own dictionaries. A stream is messages (0xffffffff, the length of its head, the head, a body;
    a schema has no body) up to one of length 0."""

    END = b"\xff\xff\xff\xff\0\0\0\0"

    def __init__(self, frame: Any, rows: int) -> None:
        self.frame, self.rows = frame, rows

    def pieces(self) -> Iterator[bytes]:
        for start in range(0, max(1, self.frame.height), self.rows):
            one = io.BytesIO()
            self.frame.slice(start, self.rows).write_ipc_stream(one)
            view = one.getbuffer()
            schema = 8 + int.from_bytes(view[4:8], "little")
            assert view[:4] == self.END[:4] and view[-8:] == self.END
            yield bytes(view[schema if start else 0 : -8])
        yield self.END


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
    coded = [c for c, d in enumerate(frame.dtypes) if d.base_type().__name__ in ("Categorical", "Enum")]
    levels = [frame.to_series(c).n_unique() for c in coded]
    return _PolarsStream(frame, max([_rows_of(frame.columns), *levels]))  # no dictionary outweighs its batch
