"""Parts of a run's result as files, and as frames: what the bundle's pages hold, whole and in one request; of
a result in this process as Arrow streams, which libtabella makes (`tabella_part`)."""

from __future__ import annotations

import contextlib
import io
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional

from . import _frames
from ._cdata import Held, StreamRoom
from ._errors import TabellaError

if TYPE_CHECKING:
    from ._transport import Transport

# How a file's ending names its format.
ENDINGS: Dict[str, str] = {".csv": "csv", ".arrow": "arrow", ".arrows": "arrow", ".parquet": "parquet"}


def format_of(path: str, format: Optional[str]) -> str:
    """The format that is asked for, else the one of the file's ending."""
    if format is not None:
        return format
    ending = os.path.splitext(path)[1].lower()
    if ending not in ENDINGS:
        raise TabellaError(
            f"which format {path!r} is to have is not clear: end it in .csv, .arrow or .parquet"
        )
    return ENDINGS[ending]


def pieces(
    transport: "Transport", id: str, part: str, table: Optional[str], format: str, timeout: Optional[float]
) -> Iterator[bytes]:
    ids = (id, part) if table is None else (id, table)
    if table is not None and part != "filled":
        raise TabellaError("only `filled` has a table of its own")
    operation = "GET_RESULT_PART" if table is None else "GET_RESULT_FILLED"
    return transport.stream(operation, *ids, query={"format": format}, timeout=timeout)


def download(
    transport: "Transport",
    id: str,
    part: str,
    path: "str | os.PathLike[str]",
    table: Optional[str],
    format: Optional[str],
    timeout: Optional[float],
) -> str:
    """Writes beside the path, and moves what came in whole there: no half of a file is found under it."""
    to = os.fspath(path)
    return written(pieces(transport, id, part, table, format_of(to, format), timeout), to)


def written(all_of_it: Iterator[bytes], to: str) -> str:
    beside = f"{to}.{os.getpid()}.part"
    try:
        with open(beside, "wb") as f:
            for piece in all_of_it:
                f.write(piece)
        os.replace(beside, to)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    return to


def frame(
    transport: "Transport", id: str, part: str, table: Optional[str], kind: str, timeout: Optional[float]
) -> Any:
    """As a frame of the caller's library, with the types of Arrow; it needs pyarrow (or polars)."""
    raw = b"".join(pieces(transport, id, part, table, "arrow", timeout))
    if kind == "polars":
        import polars

        return polars.read_ipc_stream(io.BytesIO(raw))
    try:
        import pyarrow
    except ImportError:
        raise TabellaError(
            "frames of downloads need pyarrow; download(part, path) writes files without it"
        ) from None
    whole = pyarrow.ipc.open_stream(pyarrow.BufferReader(raw)).read_all()
    return whole if kind == "arrow" else whole.to_pandas() if kind == "pandas" else whole.to_pylist()


# ---- in this process ---------------------------------------------------------------------------

Open = Callable[[str, Optional[str], int], None]  # a part and its table, as a stream at this address


class Parts:
    """Of one result, whose memory is held for as long as this is, or a stream of it."""

    def __init__(self, open: Open) -> None:
        self._open, self._lock = open, threading.Lock()

    def stream(self, part: str, table: Optional[str]) -> Part:
        """Raises NotFoundError where the result has no such part, ValidationError for another name."""
        return Part(lambda: self._capsule(part, table), part)

    def _capsule(self, part: str, table: Optional[str]) -> Any:
        room = StreamRoom()
        with self._lock:  # the library says what is wrong in one place
            self._open(part, table, room.at)
        return room.capsule()


class Part:
    """A part of a result, which any number of readers may read, where the library has made it."""

    def __init__(self, open: Callable[[], Any], name: str) -> None:
        self._open, self._name = open, name
        self._first = [open()]  # of the first reader; and what is wrong is said now

    def __repr__(self) -> str:
        return f"<Arrow stream: {self._name}>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        try:
            return self._first.pop()
        except IndexError:
            return self._open()


def frame_of(part: Part, kind: str) -> Any:
    """As a frame of the caller's library, with the types of Arrow; rows as dicts where there is none."""
    if kind == "polars":
        import polars

        return polars.DataFrame(part)
    pyarrow = None if kind == "" else _pyarrow()
    if pyarrow is not None:
        whole = pyarrow.table(part)
        return whole if kind == "arrow" else whole.to_pandas()
    held = Held(part)
    cells = {name: held.column(c) for c, name in enumerate(held.names)}
    return _frames.frame(kind, cells)


def _pyarrow() -> Any:
    """Where it is installed, and reads tables that offer streams."""
    try:
        import pyarrow
    except ImportError:
        return None
    return pyarrow if hasattr(pyarrow.RecordBatchReader, "from_stream") else None
