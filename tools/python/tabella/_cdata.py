"""Tables by the Arrow C stream interface (version 1), with no library of Arrow: those of callers are read
where they lie, and those of answers offered to whoever reads such streams (pandas, polars,
pyarrow, duckdb)."""

from __future__ import annotations

import ctypes
import datetime
import decimal
from array import array
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

NAME = b"arrow_array_stream"
_void, _text, _long = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64


def _fields(said: str) -> Any:
    """Names of a structure's members behind what they are: t a text, n a number, p a pointer."""
    kinds = {"t": _text, "n": _long, "p": _void}
    return [(member[1:], kinds[member[0]]) for member in said.split()]


class _Schema(ctypes.Structure):
    _fields_ = _fields("tformat tname pmetadata nflags nn_children pchildren pdictionary prelease pprivate")


class _Array(ctypes.Structure):
    _fields_ = _fields(
        "nlength nnulls noffset nn_buffers nn_children pbuffers pchildren pdictionary prelease pprivate"
    )


class _Stream(ctypes.Structure):
    _fields_ = _fields("pget_schema pget_next plast_error prelease pprivate")


_Release = ctypes.CFUNCTYPE(None, _void)
_Get = ctypes.CFUNCTYPE(ctypes.c_int, _void, _void)
_Error = ctypes.CFUNCTYPE(_text, _void)
_api = ctypes.pythonapi
_pointer_of = _api.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = _void, [ctypes.py_object, _text]
_dying_pointer = ctypes.PYFUNCTYPE(_void, _void, _text)(("PyCapsule_GetPointer", _api))
_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, _void, _text, _void)(("PyCapsule_New", _api))


def _release(x: Any) -> None:
    """A structure of the interface that is not released yet."""
    if x.release:
        ctypes.cast(x.release, _Release)(ctypes.addressof(x))


# ---- reading -----------------------------------------------------------------------------------


class Held:
    """A stream that was read: its batches lie where they lay, until this is gone. Raises ValueError with what
    the stream says, and where it is none of a table's batches."""

    def __init__(self, source: Any) -> None:
        self.schema, self.batches = _Schema(), []  # type: Any, List[Any]
        self._decoded: Dict[int, List[Any]] = {}
        capsule = source.__arrow_c_stream__()
        stream = _Stream.from_address(_pointer_of(capsule, NAME))
        at = ctypes.addressof(stream)
        try:
            self._call(stream.get_schema, stream, at, self.schema)
            if self.schema.format != b"+s":
                raise ValueError("the stream is none of a table's batches")
            while True:
                batch = _Array()
                self._call(stream.get_next, stream, at, batch)
                if not batch.release:
                    break
                self.batches.append(batch)
        finally:
            _release(stream)
        self.fields = [_child(self.schema, i) for i in range(self.schema.n_children)]
        self.names = [(f.name or b"").decode() for f in self.fields]
        self.rows = sum(b.length for b in self.batches)

    def __del__(self) -> None:
        for x in (*self.batches, self.schema):
            _release(x)

    @staticmethod
    def _call(function: int, stream: Any, at: int, into: Any) -> None:
        if ctypes.cast(function, _Get)(at, ctypes.addressof(into)) != 0:
            said = ctypes.cast(stream.last_error, _Error)(at) if stream.last_error else None
            raise ValueError((said or b"the stream failed").decode("utf-8", "replace"))

    @staticmethod
    def value_format(field: Any) -> bytes:
        """Of a column, or of its dictionary's values."""
        return bytes((_Schema.from_address(field.dictionary) if field.dictionary else field).format)

    def column(self, c: int) -> List[Any]:
        """The values of a column, decoded once."""
        if c not in self._decoded:
            found: List[Any] = []
            for b in self.batches:
                found += _values(self.fields[c], _child(b, c), b.offset, b.length)
            self._decoded[c] = found
        return self._decoded[c]

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The same batches once more; whoever reads them keeps this alive."""
        return offered(self.schema, self.batches, self)


def _child(x: Any, i: int) -> Any:
    at = ctypes.cast(x.children, ctypes.POINTER(_void))[i]
    return type(x).from_address(at)


def _buffer(x: Any, i: int) -> int:
    return ctypes.cast(x.buffers, ctypes.POINTER(_void))[i] or 0 if i < x.n_buffers else 0


def _bits(at: int, start: int, n: int) -> List[bool]:
    held = ctypes.string_at(at + start // 8, (start % 8 + n + 7) // 8) if n else b""
    return [bool(held[(start % 8 + i) >> 3] >> ((start + i) & 7) & 1) for i in range(n)]


_NUMBERS = {
    b"c": ctypes.c_int8,
    b"C": ctypes.c_uint8,
    b"s": ctypes.c_int16,
    b"S": ctypes.c_uint16,
    b"i": ctypes.c_int32,
    b"I": ctypes.c_uint32,
    b"l": ctypes.c_int64,
    b"L": ctypes.c_uint64,
    b"f": ctypes.c_float,
    b"g": ctypes.c_double,
}  # type: Dict[bytes, Any]


PLAIN_FORMATS = {*_NUMBERS, b"n", b"b", b"u", b"U", b"vu", b"tdD", b"tdm"}


def _numbers(x: Any, kind: Any, start: int, n: int) -> List[Any]:
    at = _buffer(x, 1) + start * ctypes.sizeof(kind)
    return (kind * n).from_address(at)[:] if n else []


def _values(field: Any, x: Any, start: int, n: int) -> List[Any]:
    """n values of a column from `start`, as Python has them; None where they are missing."""
    start += x.offset
    if field.dictionary:
        levels = _Array.from_address(x.dictionary)
        known = _values(_Schema.from_address(field.dictionary), levels, 0, levels.length)
        codes = _numbers(x, _NUMBERS[field.format], start, n)
        found: List[Any] = [known[c] if 0 <= c < len(known) else None for c in codes]
    else:
        found = _plain(field, x, start, n)
    valid = _buffer(x, 0)
    if valid and x.nulls != 0 and field.format != b"n":
        found = [v if good else None for v, good in zip(found, _bits(valid, start, n))]
    return found


def _plain(field: Any, x: Any, start: int, n: int) -> List[Any]:
    f = field.format
    if f == b"n":
        return [None] * n
    if f in _NUMBERS:
        return _numbers(x, _NUMBERS[f], start, n)
    if f == b"b":
        return _bits(_buffer(x, 1), start, n)
    if f in (b"u", b"U"):
        at = _numbers(x, ctypes.c_int32 if f == b"u" else ctypes.c_int64, start, n + 1)
        base = _buffer(x, 2) + at[0]
        held = ctypes.string_at(base, at[-1] - at[0]) if at[-1] > at[0] else b""
        return [held[a - at[0] : b - at[0]].decode() for a, b in zip(at, at[1:])]
    if f == b"vu":
        return _views(x, start, n)
    if f in (b"tdD", b"tdm"):
        days = _numbers(x, ctypes.c_int32 if f == b"tdD" else ctypes.c_int64, start, n)
        return [_EPOCH.date() + datetime.timedelta(days=d if f == b"tdD" else d // 86_400_000) for d in days]
    if f[:2] == b"d:":
        return _decimals(f, x, start, n)
    if f[:2] in (b"ts", b"tt", b"tD"):
        return _times(f, x, start, n)
    name = (field.name or b"").decode()
    raise TypeError(f"column {name}: a cell cannot hold the Arrow type {f.decode()}")


def _views(x: Any, start: int, n: int) -> List[Any]:
    found = []
    for i in range(start, start + n):
        view = ctypes.string_at(_buffer(x, 1) + 16 * i, 16)
        size = int.from_bytes(view[:4], "little")
        if size <= 12:
            found.append(view[4 : 4 + size].decode())
        else:
            which, at = int.from_bytes(view[8:12], "little"), int.from_bytes(view[12:], "little")
            found.append(ctypes.string_at(_buffer(x, 2 + which) + at, size).decode())
    return found


def _decimals(f: bytes, x: Any, start: int, n: int) -> List[Any]:
    said = [int(v) for v in f[2:].split(b",")]
    width, scale = (said[2] if len(said) > 2 else 128) // 8, said[1]
    held = ctypes.string_at(_buffer(x, 1) + start * width, n * width) if n else b""
    whole = (int.from_bytes(held[i * width : (i + 1) * width], "little", signed=True) for i in range(n))
    exact = decimal.Context(prec=100)
    return [decimal.Decimal(v).scaleb(-scale, exact) for v in whole]


_EPOCH = datetime.datetime(1970, 1, 1)
_UNITS = {b"s": 1, b"m": 1_000, b"u": 1_000_000, b"n": 1_000_000_000}


def _times(f: bytes, x: Any, start: int, n: int) -> List[Any]:
    """Timestamps, times of day and durations, to the microsecond."""
    unit = _UNITS[f[2:3]]
    short = f[:2] == b"tt" and unit <= 1_000
    valid = _buffer(x, 0)
    counts = _numbers(x, ctypes.c_int32 if short else ctypes.c_int64, start, n)
    if valid and x.nulls != 0:  # what stands in a gap may be any number
        counts = [v if good else 0 for v, good in zip(counts, _bits(valid, start, n))]
    spans = [datetime.timedelta(seconds=v // unit, microseconds=v % unit * 1_000_000 // unit) for v in counts]
    if f[:2] == b"tD":
        return spans
    moments = [_EPOCH + s for s in spans]
    if f[:2] == b"tt":
        return [m.time() for m in moments]
    zone = _zone(f[4:].decode())
    utc = datetime.timezone.utc
    return moments if zone is None else [m.replace(tzinfo=utc).astimezone(zone) for m in moments]


def _zone(name: str) -> Optional[datetime.tzinfo]:
    if not name:
        return None
    if name[0] in "+-":
        minutes = int(name[1:3]) * 60 + int(name[-2:])
        return datetime.timezone(datetime.timedelta(minutes=-minutes if name[0] == "-" else minutes))
    try:
        from zoneinfo import ZoneInfo

        return ZoneInfo(name)
    except (ImportError, ValueError, KeyError, OSError):  # the moment is the same
        return datetime.timezone.utc


# ---- writing -----------------------------------------------------------------------------------

# What a structure of ours points to, by its address, until it is released.
_alive: Dict[int, Any] = {}


def _freed(x: Any) -> None:
    """Releases a structure of ours, and those of its children that nobody has moved."""
    kept, x.release = _alive.pop(x.private, None), None
    for child in kept[1] if kept else ():
        _release(child)


def _free_schema(at: int) -> None:
    _freed(_Schema.from_address(at))


def _free_array(at: int) -> None:
    _freed(_Array.from_address(at))


def _free_stream(at: int) -> None:
    x = _Stream.from_address(at)
    kept = x.private
    x.release = None
    _alive.pop(kept, None)


def _next_schema(at: int, into: int) -> int:
    schema, _, holder, _ = _alive[_Stream.from_address(at).private]
    _hand_over(_Schema, schema, into, _FREE_SCHEMA, holder)
    return 0


def _next_array(at: int, into: int) -> int:
    state = _alive[_Stream.from_address(at).private]
    _, batches, holder, given = state
    if given == len(batches):
        _Array.from_address(into).release = None
    else:
        _hand_over(_Array, batches[given], into, _FREE_ARRAY, holder)
        state[3] += 1
    return 0


def _no_error(at: int) -> Optional[bytes]:
    return None


def _at(callback: Any) -> Optional[int]:
    return ctypes.cast(callback, _void).value


def _hand_over(kind: Any, x: Any, into: int, free: Any, holder: Any) -> None:
    """A copy of the structure, whose children are copies, too: a reader may move and release each of them."""
    made = kind.from_address(into)
    ctypes.memmove(into, ctypes.addressof(x), ctypes.sizeof(kind))
    children: List[Any] = []
    pointers = (_void * max(1, x.n_children))()
    for i in range(x.n_children):
        children.append(kind())
        pointers[i] = ctypes.addressof(children[i])
        _hand_over(kind, _child(x, i), ctypes.addressof(children[i]), free, holder)
    if x.n_children > 0:
        made.children = ctypes.addressof(pointers)
    if x.dictionary:
        children.append(kind())
        made.dictionary = ctypes.addressof(children[-1])
        _hand_over(kind, kind.from_address(x.dictionary), made.dictionary, free, holder)
    kept = (holder, children, pointers)
    made.release = _at(free)
    made.private = _keep(kept)


_count = 0


def _keep(x: Any) -> int:
    global _count
    _count += 1
    _alive[_count] = x
    return _count


def _free_capsule(at: int) -> None:
    """Of a capsule that nobody has taken the stream out of."""
    where = _dying_pointer(at, NAME)
    _release(_Stream.from_address(where))
    _alive.pop(-where, None)


# What C calls; they live as long as this module.
_FREE_SCHEMA, _FREE_ARRAY, _FREE_STREAM = (
    _Release(_free_schema),
    _Release(_free_array),
    _Release(_free_stream),
)
_NEXT_SCHEMA, _NEXT_ARRAY, _NO_ERROR = _Get(_next_schema), _Get(_next_array), _Error(_no_error)
_FREE_CAPSULE = ctypes.PYFUNCTYPE(None, _void)(_free_capsule)


def offered(schema: Any, batches: Sequence[Any], holder: Any) -> Any:
    """A capsule with these batches, which `holder` keeps."""
    room = StreamRoom()
    stream = _Stream.from_address(room.at)
    stream.get_schema = _at(_NEXT_SCHEMA)
    stream.get_next = _at(_NEXT_ARRAY)
    stream.last_error = _at(_NO_ERROR)
    stream.release = _at(_FREE_STREAM)
    stream.private = _keep([schema, batches, holder, 0])
    return room.capsule()


class StreamRoom:
    """Room for a stream that C makes at `at`; a capsule of it then."""

    def __init__(self) -> None:
        self._stream = _Stream()
        self.at = ctypes.addressof(self._stream)

    def capsule(self) -> Any:
        _alive[-self.at] = self._stream
        return _capsule(self.at, NAME, _at(_FREE_CAPSULE))


def _packed(bits: Sequence[Any]) -> bytearray:
    held = bytearray((len(bits) + 7) // 8)
    for i, b in enumerate(bits):
        if b:
            held[i >> 3] |= 1 << (i & 7)
    return held


def _fixed(code: str, values: Sequence[Any], of: Callable[[Any], Any]) -> "array[Any]":
    return array(code, [0 if v is None else of(v) for v in values])


def _micros(x: datetime.timedelta) -> int:
    return (x.days * 86_400 + x.seconds) * 1_000_000 + x.microseconds


def _moment(x: Any) -> int:
    if x.tzinfo is not None:
        x = x.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return _micros(x - _EPOCH)


def _encoded(values: Sequence[Any]) -> Tuple[bytes, List[Any]]:
    """The format and the buffers behind the first of a column of these: of the one type that all have, else
    of texts."""
    kinds = {type(v) for v in values if v is not None}
    if not kinds:
        return b"n", []
    if kinds == {bool}:
        return b"b", [_packed(values)]
    if kinds == {int} and all(-(1 << 63) <= v < 1 << 63 for v in values if v is not None):
        return b"l", [_fixed("q", values, int)]
    if kinds <= {int, float, decimal.Decimal}:
        return b"g", [_fixed("d", values, float)]
    if kinds == {datetime.date}:
        return b"tdD", [_fixed("i", values, lambda x: (x - _EPOCH.date()).days)]
    if kinds == {datetime.time} and all(v is None or v.tzinfo is None for v in values):
        day = datetime.date(1970, 1, 1)
        return b"ttu", [_fixed("q", values, lambda x: _moment(datetime.datetime.combine(day, x)))]
    if kinds == {datetime.timedelta}:
        return b"tDu", [_fixed("q", values, _micros)]
    if all(issubclass(k, datetime.datetime) for k in kinds):
        zoned = {v.tzinfo is not None for v in values if v is not None}
        if len(zoned) == 1:
            return b"tsu:UTC" if zoned == {True} else b"tsu:", [_fixed("q", values, _moment)]
    texts = [b"" if v is None else str(v).encode("utf-8", "replace") for v in values]
    ends = array("q", [0])
    for t in texts:
        ends.append(ends[-1] + len(t))
    return b"U", [ends, bytearray(b"".join(texts))]


class Rows(List[Dict[str, Any]]):
    """Rows of an answer, for callers with no library of frames: a list of dicts that offers its columns as an
    Arrow stream as well."""

    def __init__(self, columns: Dict[str, List[Any]]) -> None:
        names = list(columns)
        super().__init__(dict(zip(names, row)) for row in zip(*columns.values()))
        self._names = names

    def columns(self) -> Columns:
        return Columns([(n, [r.get(n) for r in self]) for n in self._names])

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.columns().__arrow_c_stream__()


class Columns:
    """A table of Python's values that offers an Arrow stream, of one batch, to any number of readers; they
    read where it lies."""

    def __init__(self, columns: Sequence[Tuple[str, List[Any]]]) -> None:
        self.names = [name for name, _ in columns]
        self.rows = len(columns[0][1]) if columns else 0
        self._kept: List[Any] = []
        self._made = self._build(columns)

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"<Arrow stream of {self.rows} rows: {', '.join(self.names)}>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return offered(self._made[0], [self._made[1]], self)

    def _build(self, columns: Sequence[Tuple[str, List[Any]]]) -> Tuple[Any, Any]:
        fields, arrays = [], []
        for name, values in columns:
            values = [v.item() if hasattr(v, "item") else v for v in values]  # numbers of numpy
            values = [None if v != v else v for v in values]
            format, buffers = _encoded(values)
            fields.append(_Schema(format=format, name=name.encode("utf-8", "replace"), flags=2))
            nulls = sum(v is None for v in values)
            if format != b"n":
                buffers = [_packed([v is not None for v in values]) if nulls else None, *buffers]
            arrays.append(self._array(len(values), nulls, buffers, []))
        schema = _Schema(format=b"+s", name=b"", n_children=len(fields), children=self._pointers(fields))
        return schema, self._array(self.rows, 0, [None], arrays)

    def _array(self, rows: int, nulls: int, buffers: Sequence[Any], children: List[Any]) -> Any:
        at = [None if b is None else self._address(b) for b in buffers]
        pointers = (_void * max(1, len(at)))(*at)
        self._kept.append(pointers)
        return _Array(
            length=rows,
            nulls=nulls,
            n_buffers=len(at),
            buffers=ctypes.addressof(pointers),
            n_children=len(children),
            children=self._pointers(children),
        )

    def _address(self, held: Any) -> int:
        self._kept.append(held)
        if isinstance(held, array):
            return held.buffer_info()[0]
        if not held:
            held = bytearray(8)
        view = (ctypes.c_char * len(held)).from_buffer(held)
        self._kept.append(view)
        return ctypes.addressof(view)

    def _pointers(self, of: List[Any]) -> Optional[int]:
        if not of:
            return None
        pointers = (_void * len(of))(*(ctypes.addressof(x) for x in of))
        self._kept += [of, pointers]
        return ctypes.addressof(pointers)
