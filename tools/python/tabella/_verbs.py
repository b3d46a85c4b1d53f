"""One question each, in one call: `tabella.match(a, b)` and its like. Asked of the service where TABELLA_URL
names one, else of the engine in this process; the answers are alike."""

from __future__ import annotations

import os
from typing import Any

from ._bundle import Bundle
from ._errors import TabellaError
from ._frames import Column, Table, behind, tables_of


def _run(tables: Any, arguments: Any) -> Bundle:
    arguments.setdefault("target", False)
    if (os.environ.get("TABELLA_URL") or "").strip():
        from ._client import Tabella

        with Tabella() as client:
            return client.run(tables, **arguments).load()
    from ._local import Local

    return Local().run(tables, **arguments)


def run(tables: Any, **arguments: Any) -> Bundle:
    """`Local().run`: with the engine in this process, no server and no key, whatever TABELLA_URL says."""
    from ._local import Local

    return Local().run(tables, **arguments)


def match(a: Any, b: Any, **arguments: Any) -> Any:
    """The rows of two tables that are one entity, a data frame: a_table ("a"), a_row, b_table ("b"), b_row
    (labels of the caller's index), confidence, matched_on. The bundle's `matches`; arguments as of `run`.
    """
    return _run({"a": a, "b": b}, arguments).matches


def dedupe(table: Any, **arguments: Any) -> Any:
    """The rows of one table that are one entity, a data frame: table, group, row, confidence, matched_on, the
    surest groups first. The bundle's `duplicates`; nothing is taken away. Arguments as of `run`.
    """
    return _run(table, arguments).duplicates


def profile(table: Any, **arguments: Any) -> Any:
    """What the columns are, a data frame of a row for each: table, name, role, role_confidence, type,
    missing_pct, pii. The bundle's `columns`; arguments as of `run`."""
    return _run(table, arguments).columns


def fill(table: Any, **arguments: Any) -> Any:
    """A copy of the table with its gaps filled, in its own types; what is not filled stays missing. The
    bundle's `imputed`, whose `filled` says how each cell was; arguments as of `run`."""
    return _run(table, arguments).imputed


def predict(train: Any, rows: Any, *, target: Any, **arguments: Any) -> Any:
    """The column `target` of new rows, learned from the rows of `train`: a data frame of a row for each of
    them under the caller's index, as the bundle's `predictions` (label and probabilities, or value and
    quantiles). `rows` has the other columns of `train` in any order; what it has of the target is not read,
    and other columns of its own are left out. Both are read together, so that rows which come later than all
    of `train` are answered as such. Arguments as of `run`. Raises ValueError where a column is missing."""
    known, new = tables_of(train, "table")[0], tables_of(rows, "table")[0]
    if len(known) != 1 or len(new) != 1:
        raise ValueError("predict takes one table of known rows and one of new rows")
    first, second, target = known[0], new[0], str(target)
    if first.columns.count(target) != 1:
        raise ValueError(f"the known rows have {first.columns.count(target)} columns {target}")
    lacking = [c for c in first.columns if c not in second.columns and c != target]
    if lacking:
        raise ValueError(f"the new rows lack columns of the known ones: {', '.join(lacking[:4])}")
    asked = [(c, r) for c, r in zip(second.columns, second.read) if c != target]
    reads: "list[Column]" = [r for _, r in asked]
    bare = Table(first.id, [c for c, _ in asked], second.rows, reads, "", None)
    bundle = _run({first.id: _Made(behind(first, bare))}, {**arguments, "target": target})
    found = bundle.array("prediction.missing_target_results")
    moved = [{**x, "row": x["row"] - first.rows} for x in found if x["row"] >= first.rows]
    if len(moved) != second.rows:
        raise TabellaError(f"the engine answered {len(moved)} of {second.rows} rows")
    said = {**(bundle.prediction or {}), "results": [], "missing_target_results": moved}
    said["next_cursor"] = said["missing_target_next_cursor"] = None
    second.id = first.id
    return Bundle.of({**bundle.raw, "prediction": said}, [second], True, None).predictions


class _Made:
    """A table that is made already."""

    def __init__(self, table: Table) -> None:
        self.__tabella_table__ = table


def check(tables: Any = None, **arguments: Any) -> Any:
    """The cells that break what the rest of their table says, as `Tabella.check` gives them."""
    return _run(tables, arguments).suspects


def forecast(tables: Any = None, *, horizon: int, target: Any = None, **arguments: Any) -> Any:
    """The next `horizon` steps of every series, as `Tabella.forecast` gives them."""
    return _run(tables, {**arguments, "horizon": horizon, "target": target}).forecast
