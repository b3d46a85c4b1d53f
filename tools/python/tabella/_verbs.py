"""One question each, in one call: `tabella.match(a, b)` and its like. Asked of the service where TABELLA_URL
names one, else of the engine in this process; the answers are alike."""

from __future__ import annotations

import os
from typing import Any

from ._bundle import Bundle


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
    (labels of the caller's index), confidence, matched_on. The bundle's `matches`; arguments as of `run`."""
    return _run({"a": a, "b": b}, arguments).matches


def dedupe(table: Any, **arguments: Any) -> Any:
    """The rows of one table that are one entity, a data frame: table, group, row, confidence, matched_on, the
    surest groups first. The bundle's `duplicates`; nothing is taken away. Arguments as of `run`."""
    return _run(table, arguments).duplicates


def profile(table: Any, **arguments: Any) -> Any:
    """What the columns are, a data frame of a row for each: table, name, role, role_confidence, type,
    missing_pct, pii. The bundle's `columns`; arguments as of `run`."""
    return _run(table, arguments).columns


def fill(table: Any, **arguments: Any) -> Any:
    """A copy of the table with its gaps filled, in its own types; what is not filled stays missing. The
    bundle's `imputed`, whose `filled` says how each cell was; arguments as of `run`."""
    return _run(table, arguments).imputed


def check(tables: Any = None, **arguments: Any) -> Any:
    """The cells that break what the rest of their table says, as `Tabella.check` gives them."""
    return _run(tables, arguments).suspects


def forecast(tables: Any = None, *, horizon: int, target: Any = None, **arguments: Any) -> Any:
    """The next `horizon` steps of every series, as `Tabella.forecast` gives them."""
    return _run(tables, {**arguments, "horizon": horizon, "target": target}).forecast
