"""Data frames on their way to the service, and answers on their way to data frames.

A table is read by what it can do, and no library of frames is imported here before the caller has done so:
pandas, polars, Arrow (or what offers an Arrow stream), a list of dicts, a two-dimensional array. Rows are
written in pieces, so that a large frame never lies in memory a second time."""

from __future__ import annotations

import datetime
import decimal
import functools
import json
import math
import struct
import sys
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ._transport import Body

PIECE_CELLS = 20_000  # of one piece of a body: a few hundred kilobytes of text
Column = Callable[[int, int], List[Any]]  # cells of the rows from, to; missing ones are None


def cell(x: Any) -> Any:
    """A Python value as the JSON value that the service reads; None where it is missing."""
    if x is None or isinstance(x, (str, bool, int)):
        return x
    if isinstance(x, float):
        if math.isfinite(x):
            return x
        if x != x:
            return None
        raise ValueError("a cell cannot hold infinity; replace it, with None where the value is missing")
    if isinstance(x, datetime.datetime):
        return x.isoformat() if x == x else None  # pandas' NaT is unequal to itself
    if isinstance(x, (datetime.date, datetime.time)):
        return x.isoformat()
    if isinstance(x, datetime.timedelta):
        return x.total_seconds() if x == x else None
    if type(x).__name__ == "Decimal":
        return cell(int(x) if x == x.to_integral_value() else float(x)) if x.is_finite() else None
    if type(x).__name__ in ("NAType", "NaTType", "Null"):
        return None
    if hasattr(x, "item") and getattr(x, "ndim", None) == 0:  # a number of numpy
        item = x.item()
        return cell(float(x) if type(item) is type(x) else item)  # a long double is its own item
    if isinstance(x, (list, tuple, dict)):  # as those of Parquet files are
        return json.dumps(x, ensure_ascii=False, default=_inner)
    if hasattr(x, "tolist"):
        return cell(x.tolist())
    if isinstance(x, (bytes, bytearray)):
        try:
            return x.decode()
        except UnicodeDecodeError:
            raise TypeError("cells must be text, and these bytes are not UTF-8") from None
    if isinstance(x, (set, complex)) or hasattr(x, "__array__"):
        raise TypeError(f"cells must be numbers, strings, booleans, dates or None, not {type(x).__name__}")
    return str(x)  # UUIDs, periods, intervals, and what else has a text


def _inner(x: Any) -> Any:
    """A value within a list or a dict, for JSON."""
    return x.tolist() if hasattr(x, "tolist") else cell(x)


class Table:
    """One table of a request. kind: whose frame it was: pandas, polars, arrow, or "" for plain Python.
    frame: the caller's, never changed. columns: names in order."""

    def __init__(
        self, id: str, columns: Sequence[Any], rows: int, read: Sequence[Column], kind: str, frame: Any
    ) -> None:
        self.id, self.columns, self.rows, self.read = id, [str(c) for c in columns], rows, read
        self.kind, self.frame = kind, frame
        self.own: Sequence[Callable[[], List[Any]]] = ()  # of plain Python: the values as the caller has them

    def called(self, columns: Sequence[str], last: Optional[Tuple[str, List[Any]]] = None) -> Table:
        """The same rows under these names, and one more column last. A small table is sent from `read`, a
        large one from its frame: both have these names and this column."""
        if self.kind == "pandas":
            frame = self.frame.copy(deep=False)
            frame.columns = list(columns)
            if last is not None:
                more = library("pandas").Series(last[1], index=frame.index)
                frame.insert(len(columns), last[0], more, allow_duplicates=True)
            return table_of(self.id, frame)
        if self.kind == "polars":
            polars = library("polars")
            frame = self.frame.rename(dict(zip(self.columns, columns)))
            return table_of(
                self.id, frame if last is None else frame.with_columns(polars.Series(last[0], last[1]))
            )
        if self.kind == "arrow":
            arrow, frame = library("pyarrow"), self.frame
            frame = arrow.Table.from_batches([frame]) if isinstance(frame, arrow.RecordBatch) else frame
            frame = frame.rename_columns(list(columns))
            return table_of(
                self.id, frame if last is None else frame.append_column(last[0], _arrow_array(arrow, last[1]))
            )
        if last is None:
            return Table(self.id, columns, self.rows, self.read, "", None)
        name, cells = last
        return Table(self.id, [*columns, name], self.rows, [*self.read, lambda a, b: cells[a:b]], "", None)

    def pieces(self) -> Iterator[bytes]:
        head = {"id": self.id, "columns": self.columns}
        yield json.dumps(head, separators=(",", ":"))[:-1].encode() + b',"rows":['
        for n, rows in enumerate(self.parts()):
            text = json.dumps(rows, allow_nan=False, separators=(",", ":"))[1:-1]
            if "\\ud" in text:
                self._unicode(rows)
            yield (b"," if n else b"") + text.encode()
        yield b"]}"

    def _unicode(self, rows: List[Tuple[Any, ...]]) -> None:
        """Refuses texts with half of a pair of surrogates, which no reader of JSON takes."""
        for row in rows:
            for name, x in zip(self.columns, row):
                try:
                    x.encode() if isinstance(x, str) else None
                except UnicodeEncodeError:
                    raise ValueError(f"table {self.id}, column {name}: a text that is no Unicode") from None

    def parts(self) -> Iterator[List[Tuple[Any, ...]]]:
        """Some rows at a time."""
        step = max(1, PIECE_CELLS // max(1, len(self.columns)))
        for start in range(0, self.rows, step):
            parts = [self._cells(c, start, min(start + step, self.rows)) for c in range(len(self.columns))]
            yield list(zip(*parts))

    def _cells(self, c: int, start: int, end: int) -> List[Any]:
        try:
            return self.read[c](start, end)
        except UnicodeError:  # which is made of more than a text
            raise ValueError(
                f"table {self.id}, column {self.columns[c]}: a text that is no Unicode"
            ) from None
        except (TypeError, ValueError) as e:
            raise type(e)(f"table {self.id}, column {self.columns[c]}: {e}") from None

    def __reduce__(self) -> Any:
        """As the caller's frame; what was made of others' cells as these."""
        frame = self.frame
        if frame is None or not (self.kind or isinstance(frame, (list, dict)) or hasattr(frame, "__array__")):
            cells = [own() for own in self.own] or [read(0, self.rows) for read in self.read]
            return _columns_table, (self.id, dict(enumerate(cells)), list(self.columns))
        return table_of, (self.id, frame)

    def labels(self, rows: Sequence[int]) -> Sequence[Any]:
        """The caller's index at these rows."""
        if self.kind == "pandas":
            return self.frame.index.take(list(rows))
        return list(rows)

    def dtype(self, column: str) -> Any:
        """pandas' type of a column, None where there is none."""
        if self.kind != "pandas" or self.columns.count(column) != 1:
            return None
        return self.frame.dtypes.iloc[self.columns.index(column)]


class TablesBody(Body):
    """A request with tables: the other fields first."""

    def __init__(self, tables: Sequence[Table], fields: Mapping[str, Any]) -> None:
        self.tables = tables
        self.fields = json.dumps(fields, allow_nan=False, separators=(",", ":"))[:-1].encode()

    def pieces(self) -> Iterator[bytes]:
        yield self.fields + (b"," if len(self.fields) > 1 else b"") + b'"tables":['
        for i, table in enumerate(self.tables):
            for n, piece in enumerate(table.pieces()):
                yield b"," + piece if i and not n else piece
        yield b"]}"


# ---- reading -----------------------------------------------------------------------------------


def library(name: str) -> Any:
    """A library that the caller has imported, or None."""
    return sys.modules.get(name)


def _pandas_column(series: Any) -> Column:
    dtype = series.dtype
    kind = getattr(dtype, "kind", "O") if type(dtype).__module__.startswith("numpy") else "O"
    if kind in "iub":
        return lambda a, b: series.iloc[a:b].tolist()
    if kind == "f":
        single, long = dtype.itemsize < 8, dtype.itemsize > 8

        def floats(a: int, b: int) -> List[Any]:
            cells = series.iloc[a:b].tolist()
            if long:
                cells = [float(x) for x in cells]
            if single:  # its own shortest digits, 0.1 and not 0.10000000149
                values = series.iloc[a:b].to_numpy()
                cells = [float(str(x)) for x in values]
            return [cell(x) if x - x != 0 else x for x in cells]

        return floats
    if "datetime64" in str(dtype):
        known = series[series.notna()]
        if len(known) and bool((known == known.dt.normalize()).all()):
            return lambda a, b: [None if x != x else x.date().isoformat() for x in series.iloc[a:b]]
    return lambda a, b: [cell(x) for x in series.iloc[a:b].tolist()]


def _array_column(array: Any, c: int) -> Column:
    return lambda a, b: [cell(x) for x in array[a:b, c].tolist()]


def _single(x: Any) -> Any:
    """A float of 32 bits by its own shortest digits."""
    if x is None or x - x != 0:
        return cell(x)
    for digits in range(1, 9):
        y = float(f"{x:.{digits}g}")
        try:
            if struct.unpack("f", struct.pack("f", y))[0] == x:
                return y
        except OverflowError:  # rounded up beyond the largest single
            pass
    return float(f"{x:.9g}")


def _series_column(frame: Any, c: int, to: str) -> Column:
    """Cells as the same column of an Arrow stream has them: singles by their digits, midnights as dates."""

    def cells(a: int, b: int) -> List[Any]:
        part = frame.slice(a, b - a)
        return list(part.to_series(c).to_list() if to == "polars" else part.column(c).to_pylist())

    kind = frame.dtypes[c] if to == "polars" else frame.schema.field(c).type
    if str(kind) in ("Float32", "float"):
        return lambda a, b: [_single(x) for x in cells(a, b)]
    zone = getattr(kind, "time_zone", None) or getattr(kind, "tz", None)
    if str(kind).startswith(("Datetime", "timestamp")) and zone is None:
        known = [x for x in cells(0, len(frame) if to == "polars" else frame.num_rows) if x is not None]
        if known and all(x.time() == datetime.time() for x in known):
            return lambda a, b: [None if x is None else x.date().isoformat() for x in cells(a, b)]
    return lambda a, b: [cell(x) for x in cells(a, b)]


def _key_column(rows: Sequence[Any], key: Any) -> Column:
    """Of dicts by name, of lists by position."""
    if isinstance(key, int) and rows and isinstance(rows[0], list):
        return lambda a, b: [cell(r[key]) for r in rows[a:b]]
    return lambda a, b: [cell(r.get(key)) for r in rows[a:b]]


def _own(rows: Sequence[Any], key: Any) -> List[Any]:
    """Of dicts by name, of lists by position: the caller's values."""
    return [r.get(key) if isinstance(r, Mapping) else r[key] for r in rows]


def _held_table(id: str, held: Any) -> Table:
    """Of a stream of Arrow that was read without pyarrow."""

    def column(c: int) -> Column:
        single, midnights = held.fields[c].format == b"f", held.fields[c].format.startswith(b"ts")

        def cells(a: int, b: int) -> List[Any]:
            values = held.column(c)
            if midnights and all(
                v is None or v.tzinfo is None and v.time() == datetime.time() for v in values
            ):
                return [None if v is None else v.date().isoformat() for v in values[a:b]]
            return [_single(v) if single else cell(v) for v in values[a:b]]

        return cells

    made = Table(id, held.names, held.rows, [column(c) for c in range(len(held.names))], "", held)
    made.own = [functools.partial(held.column, c) for c in range(len(held.names))]
    return made


def table_of(id: str, x: Any) -> Table:
    """A table of whatever holds one. Raises TypeError for what does not."""
    done = getattr(x, "__tabella_table__", None)
    if done is not None:
        done.id = id
        return done
    pandas, polars, arrow = library("pandas"), library("polars"), library("pyarrow")
    if pandas is not None and isinstance(x, pandas.Series):
        x = x.to_frame(x.name if x.name is not None else "c0")
    if pandas is not None and isinstance(x, pandas.DataFrame):
        read = [_pandas_column(x.iloc[:, c]) for c in range(x.shape[1])]
        return Table(id, x.columns, len(x), read, "pandas", x)
    if polars is not None and isinstance(x, polars.LazyFrame):
        x = x.collect()
    if polars is not None and isinstance(x, polars.Series):
        x = x.to_frame(x.name or "c0")
    if arrow is not None and isinstance(x, (arrow.Array, arrow.ChunkedArray)):
        x = arrow.table({"c0": x})
    if polars is not None and isinstance(x, polars.DataFrame):
        return Table(
            id, x.columns, x.height, [_series_column(x, c, "polars") for c in range(x.width)], "polars", x
        )
    if not (arrow is not None and isinstance(x, arrow.Table)) and hasattr(x, "__arrow_c_stream__"):
        from ._cdata import Held, Rows

        if isinstance(x, Held):
            return _held_table(id, x)
        if not isinstance(x, Rows):
            try:
                import pyarrow
            except ImportError:
                return _held_table(id, Held(x))
            arrow, x = pyarrow, pyarrow.table(x)
    if arrow is not None and isinstance(x, (arrow.Table, arrow.RecordBatch)):
        read = [_series_column(x, c, "arrow") for c in range(x.num_columns)]
        return Table(id, x.schema.names, x.num_rows, read, "arrow", x)
    if getattr(getattr(x, "dtype", None), "names", None) and getattr(x, "ndim", 0) == 1:
        return _columns_table(id, {n: x[n] for n in x.dtype.names})  # a structured array
    if hasattr(x, "__array__") and getattr(x, "ndim", 0) == 2:
        columns = [f"c{c}" for c in range(x.shape[1])]
        return Table(id, columns, x.shape[0], [_array_column(x, c) for c in range(x.shape[1])], "", x)
    if isinstance(x, Mapping) and "columns" in x and "rows" in x:
        rows = [list(r) for r in x["rows"]]
        if any(len(r) != len(x["columns"]) for r in rows):
            raise ValueError(f"table {id}: a row has another number of cells than there are columns")
        read = [_key_column(rows, c) for c in range(len(x["columns"]))]
        made = Table(id, x["columns"], len(rows), read, "", x)
        made.own = [functools.partial(_own, rows, c) for c in range(len(x["columns"]))]
        return made
    if isinstance(x, Mapping) and _is_columns(x):
        return _columns_table(id, x)
    if isinstance(x, Mapping) and _is_row(x):
        x = [x]
    if _is_rows(x):
        return table_of(id, {"columns": [f"c{c}" for c in range(len(x[0]))], "rows": x})
    if isinstance(x, Sequence) and not isinstance(x, (str, bytes)) and all(isinstance(r, Mapping) for r in x):
        names = list(dict.fromkeys(k for r in x for k in r))
        made = Table(id, names, len(x), [_key_column(x, k) for k in names], "", x)
        made.own = [functools.partial(_own, x, k) for k in names]
        return made
    if isinstance(x, (str, bytes)) or hasattr(x, "__fspath__"):
        raise TypeError(
            "tables must be data frames or dicts, not paths: tabella.Local().run_files([path]) reads a file "
            "here, client.data.upload(path) makes datasets of it (then data=[its id]), and "
            "pandas.read_csv(path) makes a data frame of it"
        )
    if isinstance(x, (list, tuple)) and any(_is_frame(t) for t in x):
        raise TypeError("several tables are given by their names: {'first': ..., 'second': ...}")
    raise TypeError(
        f"{type(x).__name__} is no table: a data frame of pandas or polars, an Arrow table, a list of dicts, "
        "a dict of columns, a list of rows, a two-dimensional array, or a dict with `columns` and `rows`"
    )


def _is_columns(x: Mapping[Any, Any]) -> bool:
    """Whether these are a table's columns by name, as pandas.DataFrame takes them, and no tables by name."""

    def column(v: Any) -> bool:
        if hasattr(v, "__array__"):
            return getattr(v, "ndim", 0) == 1 and not hasattr(v, "__arrow_c_array__")
        return isinstance(v, (list, tuple)) and not any(isinstance(r, Mapping) for r in v)

    return len(x) > 0 and all(column(v) for v in x.values()) and any(len(v) > 0 for v in x.values())


def _is_frame(x: Any) -> bool:
    return hasattr(x, "__arrow_c_stream__") or hasattr(x, "columns") or getattr(x, "ndim", 0) == 2


def _is_plain(x: Any) -> bool:
    """Whether this is a cell's value and no table or column."""
    known = (str, bytes, bool, int, float, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)
    return x is None or isinstance(x, known) or (hasattr(x, "item") and getattr(x, "ndim", None) == 0)


def _is_row(x: Mapping[Any, Any]) -> bool:
    """Whether these are one row's cells by column. Texts alone may be files by name: they are none."""
    return all(_is_plain(v) for v in x.values()) and any(not isinstance(v, (str, bytes)) for v in x.values())


def _is_rows(x: Any) -> bool:
    """Whether these are rows of cells without names, as scikit-learn's examples have them."""
    return (
        isinstance(x, (list, tuple))
        and len(x) > 0
        and all(isinstance(r, (list, tuple)) and len(r) > 0 for r in x)
        and all(_is_plain(v) for v in x[0])
    )


def _columns_table(id: str, x: Mapping[Any, Any], names: Optional[Sequence[str]] = None) -> Table:
    """Of columns by name, or under these names in their order."""
    values = [v.tolist() if hasattr(v, "tolist") else list(v) for v in x.values()]
    if len(set(map(len, values))) > 1:
        raise ValueError(f"table {id}: its columns are of different lengths")
    rows = [list(r) for r in zip(*values)]
    reads = [_key_column(rows, c) for c in range(len(values))]
    made = Table(id, list(x) if names is None else names, len(rows), reads, "", None)
    made.own = [functools.partial(_own, rows, c) for c in range(len(values))]
    return made


def behind(first: Table, second: Table) -> Table:
    """The first one's rows and behind them the second's, by the first one's columns; a column that the second
    lacks is missing there."""
    n, at = first.rows, {c: i for i, c in reversed(list(enumerate(second.columns)))}
    same = second.columns == first.columns

    def both(one: Column, two: Optional[Column]) -> Column:
        def read(a: int, b: int) -> List[Any]:
            known = one(a, min(b, n)) if a < n else []
            start, end = max(a - n, 0), max(b - n, 0)
            return [*known, *(two(start, end) if two is not None and end > 0 else [None] * (end - start))]

        return read

    places = [i if same else at.get(c) for i, c in enumerate(first.columns)]
    reads = [both(r, None if i is None else second.read[i]) for r, i in zip(first.read, places)]
    return Table(first.id, first.columns, n + second.rows, reads, "", None)


def tables_of(x: Any, name: str) -> Tuple[List[Table], bool]:
    """The tables of a call, and whether it is a single one that has no name of its own. Tables in the API's
    own form ({"id", "columns", "rows"}, or a list of such) have theirs."""
    if _is_api(x):
        x = [x]
    if isinstance(x, (list, tuple)) and x and all(_is_api(t) for t in x):
        return [table_of(str(t["id"]), t) for t in x], False
    named = isinstance(x, Mapping) and not ("columns" in x and "rows" in x)
    if named and not _is_columns(x) and not (len(x) > 0 and _is_row(x)):
        return [table_of(str(k), v) for k, v in x.items()], False
    return [table_of(name, x)], True


def _is_api(x: Any) -> bool:
    return isinstance(x, Mapping) and {"id", "columns", "rows"} <= set(x) and isinstance(x["id"], str)


# ---- writing -----------------------------------------------------------------------------------


def kind_of(tables: Sequence[Table]) -> str:
    """Whose frames the caller is answered with: his own, else pandas where it is installed."""
    for t in tables:
        if t.kind:
            return t.kind
    try:
        import pandas  # noqa: F401
    except ImportError:
        return ""
    return "pandas"


def frame(kind: str, columns: Dict[str, List[Any]], index: Optional[Any] = None) -> Any:
    """A data frame; a list of dicts where the caller has no library of frames. index: pandas only; the others
    hold the row's number in the column `row`."""
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(columns, index=index)
    if kind == "polars":
        import polars

        return polars.DataFrame({k: polars.Series(k, v, strict=False) for k, v in columns.items()})
    if kind == "arrow":
        import pyarrow

        return pyarrow.table({k: _arrow_array(pyarrow, v) for k, v in columns.items()})
    from ._cdata import Columns, Rows

    return Columns(list(columns.items())) if kind == "stream" else Rows(columns)


def _arrow_array(pyarrow: Any, values: List[Any]) -> Any:
    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):  # of several kinds
        return pyarrow.array([None if v is None else str(v) for v in values])


def as_dtype(series: Any, dtype: Any) -> Any:
    """A pandas series in the type that the caller's column has, where its values can be that."""
    if dtype is None or series.dtype == dtype:
        return series
    try:
        if hasattr(dtype, "categories"):
            known = dtype.categories
            by_text = {str(cell(c)): c for c in known}
            values = [None if v is None else by_text.get(str(v), v) for v in series]
            return type(series)(values, index=series.index, name=series.name, dtype="object").astype(dtype)
        return series.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return series


def filled(table: Table, values: Dict[int, Dict[int, Any]]) -> Any:
    """A copy of the caller's table in which these cells, by column and row, are filled."""
    if table.kind == "pandas":
        return _filled_pandas(table.frame, values)
    if table.kind == "polars":
        import polars

        out = table.frame.clone()
        for c, cells in values.items():
            column = out.to_series(c)
            whole = _filled_values(column.to_list(), cells)
            try:
                made = polars.Series(column.name, whole, dtype=column.dtype, strict=True)
            except (TypeError, ValueError, polars.exceptions.PolarsError):
                made = polars.Series(column.name, whole, strict=False)
            out = out.with_columns(made)
        return out
    if table.kind == "arrow":
        import pyarrow

        out = pyarrow.table(table.frame) if isinstance(table.frame, pyarrow.RecordBatch) else table.frame
        for c, cells in values.items():
            field = out.schema.field(c)
            whole = _filled_values(out.column(c).to_pylist(), cells)
            try:
                made = pyarrow.array(whole, type=field.type)
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
                made = _arrow_array(pyarrow, whole)
            out = out.set_column(c, field.name, made)
        return out
    return _filled_plain(table, values)


def _filled_plain(table: Table, values: Dict[int, Dict[int, Any]]) -> Any:
    """In the caller's own form: an array, the API's, or else rows of dicts."""
    whole = table.frame
    if hasattr(whole, "__array__"):
        out = whole.copy()
        for c, cells in values.items():
            for row, value in cells.items():
                try:
                    out[row, c] = value
                except (TypeError, ValueError):
                    out = out.astype(object)
                    out[row, c] = value
        return out
    columns = [list(own()) for own in table.own] or [read(0, table.rows) for read in table.read]
    for c, cells in values.items():
        columns[c] = _filled_values(columns[c], cells)
    if isinstance(whole, Mapping):
        return {**whole, "rows": [list(row) for row in zip(*columns)]}
    return frame("", dict(zip(table.columns, columns)))


def _filled_values(values: Sequence[Any], cells: Dict[int, Any]) -> List[Any]:
    """A column's values with these cells filled."""
    known = next((v for v in values if v is not None and v == v), None)
    return [_like(known, cells[i]) if i in cells else v for i, v in enumerate(values)]


def _like(known: Any, value: Any) -> Any:
    """A filled value as its column's own are: a date, a duration (the engine's are seconds) or a decimal."""
    if isinstance(value, str) and isinstance(known, datetime.date):
        try:
            made = datetime.datetime.fromisoformat(value)
        except ValueError:
            return value
        return made if isinstance(known, datetime.datetime) else made.date()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if isinstance(known, datetime.timedelta):
            return datetime.timedelta(seconds=value)
        if isinstance(known, decimal.Decimal):
            scale = decimal.Decimal(1).scaleb(int(known.as_tuple().exponent))
            return decimal.Decimal(repr(value)).quantize(scale)
    return value


def as_stream(x: Any) -> Any:
    """A frame of any kind as a table that offers an Arrow stream, of whatever library there is."""
    from ._cdata import Columns, Rows

    if isinstance(x, Rows):
        return x.columns()
    pandas = library("pandas")
    if pandas is not None and isinstance(x, pandas.DataFrame):
        cells = [_pandas_values(x.iloc[:, c]) for c in range(x.shape[1])]
        return Columns(list(zip(map(str, x.columns), cells)))
    if hasattr(x, "__array__"):
        return Columns([(f"c{c}", x[:, c].tolist()) for c in range(x.shape[1])])
    if isinstance(x, Mapping):
        return Columns([(str(n), [r[c] for r in x["rows"]]) for c, n in enumerate(x["columns"])])
    return x


def _pandas_values(series: Any) -> List[Any]:
    """Python's values of a column, None where they are missing."""
    return [None if gap else v for v, gap in zip(series.tolist(), series.isna())]


def _filled_pandas(whole: Any, values: Dict[int, Dict[int, Any]]) -> Any:
    import pandas

    out = whole.copy()
    for c, cells in values.items():
        column = whole.iloc[:, c]
        rows, new = list(cells), list(cells.values())
        if "datetime64" in str(column.dtype):
            new = list(pandas.to_datetime(pandas.Series(new)))
        elif "timedelta64" in str(column.dtype):
            new = list(pandas.to_timedelta(new, unit="s"))
        elif str(column.dtype) == "object":
            known = next(iter(column[column.notna()]), None)
            new = [_like(known, v) for v in new]
        if hasattr(column.dtype, "categories"):
            by_text = {str(cell(x)): x for x in column.cat.categories}
            new = [by_text.get(str(v), v) for v in new]
            column = column.cat.add_categories([v for v in dict.fromkeys(new) if v not in by_text.values()])
        try:
            made = column.copy()
            made.iloc[rows] = new
        except (TypeError, ValueError):  # whole numbers that get a fraction
            made = column.astype("object")
            made.iloc[rows] = new
            made = made.infer_objects()
        out.isetitem(c, made)
    return out
