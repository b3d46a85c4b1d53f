"""Tables too large for a request: each becomes a dataset, which the request names. A run's are deleted when
it has ended; an endpoint's are pinned by it, as those that it makes of a request's tables are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple

from ._arrow import stream_of
from ._frames import PIECE_CELLS, Table
from ._transport import Stream

if TYPE_CHECKING:
    from ._client import Tabella

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
