"""Tables too large for a request. Of a run or a new endpoint each becomes a dataset, which the request names:
a run's are deleted when it has ended; an endpoint's are pinned by it, as those that it makes of a request's
tables are. Rows to be answered (`endpoints.predict`) go in calls of the most that one may have, a few at a
time: large frames as Arrow streams, and their answers come as Arrow, so that neither side makes a text of
them; what Arrow cannot hold, or nobody here can read, as JSON. The answers are the same."""

from __future__ import annotations

import collections
import concurrent.futures
import functools
import json
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Iterator, List, Optional, Sequence, Tuple

from . import _transport
from ._arrow import CELLS, stream_of
from ._bundle import Bundle
from ._frames import PIECE_CELLS, Table, TablesBody, as_dtype, frame, kind_of, library, table_of
from ._transport import ARROW, Body, Pieces, Stream

if TYPE_CHECKING:
    from ._client import Tabella
    from ._endpoints import Endpoints

LARGEST = 60 << 20  # bytes of a request's tables; the service takes 64 MiB in all


def stored_of(
    client: Tabella, tables: List[Table], fields: Dict[str, Any], key: Optional[str]
) -> Tuple[List[Table], List[str]]:
    """What is left to be sent, and the datasets that were made, which `fields` then name. key: the call's
    idempotency key; under it, each table is stored once."""
    if not is_large(tables):
        return tables, []
    ids: List[str] = []
    try:
        for i, t in enumerate(tables):
            own = None if key is None else f"{key[:240]}-table-{i}"
            made = client.data.upload(file_of(t), name=t.id, idempotency_key=own).dataset
            assert made is not None
            ids.append(made.id)
    except BaseException:
        forget(client, ids)
        raise
    fields["data"] = [*fields.get("data", []), *ids]
    return [], ids


def forget(client: Tabella, ids: Sequence[str]) -> None:
    """Deletes what was stored for one call; what goes wrong with that is not its caller's."""
    for id in ids:
        try:
            client.data.delete(id)
        except Exception:
            pass


def is_large(tables: Sequence[Table]) -> bool:
    """Whether these tables go as datasets, since the service reads no such request."""
    return sum(_bytes_of(t) for t in tables) > LARGEST


def _bytes_of(table: Table) -> int:
    if table.kind == "arrow":
        return int(table.frame.nbytes)
    if table.kind == "polars":
        return int(table.frame.estimated_size())
    if table.kind == "pandas" and not any(str(d) == "object" for d in table.frame.dtypes):
        return int(table.frame.memory_usage(index=False, deep=True).sum())
    pieces = table.pieces()
    next(pieces)
    rows = max(1, min(table.rows, PIECE_CELLS // max(1, len(table.columns))))
    return table.rows * len(next(pieces)) // rows


def file_of(table: Table) -> Tuple[str, Stream]:
    """The table as a file to upload."""
    stream = stream_of(table)
    return ("table.arrow", stream) if stream is not None else ("table.ndjson", _Lines(table))


class _Lines(Stream):
    def __init__(self, table: Table) -> None:
        if len(set(table.columns)) < len(table.columns):
            raise ValueError(f"table {table.id}: a table as large as this has columns of unlike names")
        self.table = table

    def pieces(self) -> Iterator[bytes]:
        for rows in self.table.parts():
            lines = [json.dumps(dict(zip(self.table.columns, r)), allow_nan=False) for r in rows]
            yield "\n".join([*lines, ""]).encode()


# ---- rows to be answered -----------------------------------------------------------------------

CALL_ROWS = 10_000  # of a serve call

# Columns of the service's table of answers, as `Bundle.predictions` calls them.
_NAMES = {
    "classification": {"predicted": "label", "probability": "confidence"},
    "regression": {"predicted": "value"},
}


class FileBody(Body):
    """A request that is one table."""

    type = ARROW

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def pieces(self) -> Pieces:
        yield from self.stream.pieces()


def part_of(table: Table, start: int, end: int) -> Table:
    """Some rows of a table; a frame's are no copy."""
    if table.kind == "pandas":
        return table_of(table.id, table.frame.iloc[start:end])
    if table.kind in ("polars", "arrow"):
        return table_of(table.id, table.frame.slice(start, end - start))

    def shifted(read: Callable[[int, int], List[Any]]) -> Callable[[int, int], List[Any]]:
        return lambda a, b: read(start + a, start + b)

    return Table(table.id, table.columns, end - start, [shifted(r) for r in table.read], "", None)


def predictions(
    endpoints: "Endpoints", id: str, table: Table, connections: int, timeout: Optional[float]
) -> Any:
    """One answer a row, as a frame of the caller's library."""
    target = endpoints._target_of(id)
    reads = library("polars" if table.kind == "polars" else "pyarrow") if table.kind else None
    arrow = reads is not None and table.rows * len(table.columns) >= CELLS
    ask = functools.partial(_arrow_answers if arrow else _json_answers, endpoints, id, target, timeout)
    parts = [(at, min(at + CALL_ROWS, table.rows)) for at in range(0, max(1, table.rows), CALL_ROWS)]
    stop = getattr(_transport.here, "stop", None)

    def one(start: int, end: int) -> Any:
        _transport.here.stop = stop
        part = part_of(table, start, end)
        if target is not None and target not in part.columns:
            part = part.called(part.columns, (target, [None] * part.rows))
        return ask(part, start)

    found: List[Any] = []
    going: Deque[Any] = collections.deque()
    with concurrent.futures.ThreadPoolExecutor(max(1, connections)) as pool:
        try:
            for start, end in parts:
                if len(going) > connections:
                    found.append(going.popleft().result())
                going.append(pool.submit(one, start, end))
            found += [x.result() for x in going]
        except BaseException:
            for x in going:
                x.cancel()
            raise
    return _whole(found, table, target, arrow)


def _json_answers(
    endpoints: "Endpoints", id: str, target: Optional[str], timeout: Optional[float], part: Table, at: int
) -> Any:
    raw = endpoints._call("POST_SERVE", id, body=TablesBody([part], {}), timeout=timeout).json
    made = Bundle.of(raw, [part], True, None).predictions
    if made is None:
        raise ValueError(f"endpoint {id} predicts nothing")
    if part.kind == "pandas":
        return made
    return _at(made, kind_of([part]), at)


def _at(made: Any, kind: str, at: int) -> Any:
    """The answers to rows from `at` on."""
    if kind == "pandas":  # rows of plain Python
        return made.set_axis(made.index + at)
    if kind == "polars":
        polars = library("polars")
        return made.with_columns((polars.col("row") + at).alias("row")) if at else made
    if kind == "arrow":
        pyarrow = library("pyarrow")
        rows = pyarrow.array([x + at for x in made.column("row").to_pylist()])
        return made.set_column(made.column_names.index("row"), "row", rows)
    return [{**x, "row": x["row"] + at} for x in made]


def _arrow_answers(
    endpoints: "Endpoints", id: str, target: Optional[str], timeout: Optional[float], part: Table, at: int
) -> Any:
    stream = stream_of(part)
    body: Body = FileBody(stream) if stream is not None else TablesBody([part], {})
    raw = endpoints._call("POST_SERVE", id, body=body, timeout=timeout, accept=ARROW).json
    if part.kind == "polars":
        import io

        made = library("polars").read_ipc_stream(io.BytesIO(raw))
    else:
        pyarrow = library("pyarrow")
        made = pyarrow.ipc.open_stream(pyarrow.BufferReader(raw)).read_all()
    return _named(made, "polars" if part.kind == "polars" else "arrow", at)


def _named(made: Any, kind: str, at: int) -> Any:
    """The service's table as `Bundle.predictions` would have it."""
    columns = list(made.columns if kind == "polars" else made.column_names)
    task = "regression" if "std" in columns else "classification" if "predicted" in columns else "anomaly"
    names = _NAMES.get(task, {})
    order = [c for c in columns if c not in ("row", "target_missing", "regime", "low_confidence_reason")]
    called = {c: names.get(c, f"q({c[9:]})" if c.startswith("quantile_") else c) for c in order}
    if task == "regression":
        order = [order[0], "quantile_0.5", *order[1:]]
    made = _at(made, kind, at)
    out: Dict[str, Any] = {"row": made["row"]}
    for i, c in enumerate(order):
        out["median" if task == "regression" and i == 1 else called[c]] = made[c]
    if task != "anomaly":
        out["target_missing"], out["regime"] = made["target_missing"], made["regime"]
    return library("polars").DataFrame(out) if kind == "polars" else library("pyarrow").table(out)


def _whole(found: List[Any], table: Table, target: Optional[str], arrow: bool) -> Any:
    """The answers of all calls as one frame."""
    if table.kind == "polars":
        return library("polars").concat(found)
    if kind_of([table]) == "pandas" and not arrow:
        import pandas

        return found[0] if len(found) == 1 else pandas.concat(found)
    if table.kind in ("pandas", "arrow"):
        whole = library("pyarrow").concat_tables(found)
        if table.kind == "arrow":
            return whole
        made = whole.drop_columns(["row"]).to_pandas()
        made.index = table.frame.index
        if "label" in made and target is not None:
            made["label"] = as_dtype(made["label"], table.dtype(target))
        return made
    return frame("", {k: [x[k] for part in found for x in part] for k in found[0][0]})
