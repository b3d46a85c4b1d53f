"""One question each, in one call: methods of `Tabella` and of `Local`, whose answers are alike."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

from ._errors import TabellaError
from ._frames import Column, Table, behind, library, tables_of

if TYPE_CHECKING:
    from ._bundle import Bundle


class Verbs:
    """What a place that runs tables answers besides. Further arguments are those of its `run`."""

    run: Any  # of the place: tables in, a bundle out

    def match(self, a: Any, b: Any, **arguments: Any) -> Any:
        """The rows of two tables that are one entity.

        a, b: one table each, in any form that `run` takes. Gives a data frame of a row for each pair, the
        bundle's `matches`: a_table ("a"), a_row, b_table ("b"), b_row (labels of the caller's index),
        confidence, matched_on. Errors as of `run`."""
        return self._asked({"a": a, "b": b}, arguments).matches

    def dedupe(self, tables: Any = None, **arguments: Any) -> Any:
        """The rows of one table that are one entity; nothing is taken away.

        Gives a data frame of a row for each row that stands more than once, the bundle's `duplicates`, the
        surest groups first: table, group, row (label of the caller's index), confidence, matched_on. Errors
        as of `run`."""
        return self._asked(tables, arguments).duplicates

    def profile(self, tables: Any = None, **arguments: Any) -> Any:
        """What the columns are.

        Gives a data frame of a row for each column, the bundle's `columns`: table, name, role,
        role_confidence, type, missing_pct, pii. Errors as of `run`."""
        return self._asked(tables, arguments).columns

    def fill(self, tables: Any = None, **arguments: Any) -> Any:
        """A copy of the table with its gaps filled, in its own types; what is not filled stays missing.

        The bundle's `imputed`: of several tables a dict by name. `filled` of a run's bundle says how each
        cell was. Errors as of `run`."""
        return self._asked(tables, arguments).imputed

    def check(self, tables: Any = None, **arguments: Any) -> Any:
        """The cells that break what the rest of their table says.

        Gives a data frame of a row for each such cell, the surest first: table, row, column, value, kind,
        suggestion, confidence and reason. The bundle of a run has the same as `suspects`, and a copy of the
        table with the suggestions as `repaired`. Errors as of `run`."""
        return self._asked(tables, arguments).suspects

    def forecast(self, tables: Any = None, *, horizon: int, target: Any = None, **arguments: Any) -> Any:
        """The next `horizon` steps of every series of a table with times, each with its 80% interval: a data
        frame of the columns that name a series, time, value, low and high.

        Times, series, step and seasons are found without being told; an index of pandas that holds times is
        a column here. A bare sequence of numbers (a list, a series, an array of one dimension) is one series
        whose steps are counted from 0. Where no target is named and there are several columns of numbers, the
        one that an analyst would most likely predict is forecast: `target` of the run's bundle says it.

        Rows of the table whose target is missing and that lie ahead are what is known of the future (a price,
        a holiday). The bundle of a run with a horizon has the same as `forecast`. A service bills each step
        of each series as a row. Errors as of `run`."""
        return self._asked(
            _timed(_bare(tables)), {**arguments, "horizon": horizon, "target": target}
        ).forecast

    def predict(self, train: Any, rows: Any, *, target: Any, **arguments: Any) -> Any:
        """The column `target` of new rows, learned from the rows of `train`.

        Gives a data frame of a row for each of them under the caller's index, as the bundle's `predictions`
        (label and probabilities, or value and quantiles). `rows` has the other columns of `train` in any
        order; what it has of the target is not read, and other columns of its own are left out. Both are read
        together, so that rows which come later than all of `train` are answered as such. Raises ValueError
        where a column is missing, else as `run`."""
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
        both = {first.id: _Made(behind(first, bare))}
        return _of_new(self._asked(both, {**arguments, "target": target}), first, second)

    def _asked(self, tables: Any, arguments: Any) -> "Bundle":
        arguments.setdefault("target", False)
        bundle: "Bundle" = self.run(tables, **arguments)
        return bundle


def _is_number(x: Any) -> bool:
    return x is None or (isinstance(x, numbers.Real) and not isinstance(x, bool))


def _bare(tables: Any) -> Any:
    """A bare sequence of numbers as a table of one column; all else as it is."""
    one = hasattr(tables, "__array__") and getattr(tables, "ndim", 0) == 1 and not hasattr(tables, "index")
    if one and getattr(getattr(tables, "dtype", None), "names", None) is None:
        return {"table": {"value": tables}}
    if isinstance(tables, (list, tuple)) and tables and all(_is_number(x) for x in tables):
        return {"table": {"value": list(tables)}}
    return tables


def _timed(tables: Any) -> Any:
    """Frames of pandas whose times are their index, with these as a column."""
    pandas = library("pandas")
    if pandas is None:
        return tables
    if isinstance(tables, dict):
        return {k: _timed(v) for k, v in tables.items()}
    if isinstance(tables, pandas.Series):
        tables = tables.to_frame(tables.name if tables.name is not None else "value")
    if not isinstance(tables, pandas.DataFrame):
        return tables
    index = tables.index
    levels = index.levels if isinstance(index, pandas.MultiIndex) else [index]
    times = [isinstance(x, (pandas.DatetimeIndex, pandas.PeriodIndex)) for x in levels]
    if not any(times) or any(d.kind == "M" for d in tables.dtypes if hasattr(d, "kind")):
        return tables
    names = [
        n if n is not None else "time" if t else f"level_{i}"
        for i, (n, t) in enumerate(zip(index.names, times))
    ]
    taken = set(map(str, tables.columns))
    while any(str(n) in taken for n in names):
        names = [f"{n}_" if str(n) in taken else n for n in names]
    return tables.set_axis(index.set_names(names)).reset_index()


def _of_new(bundle: "Bundle", known: Table, new: Table) -> Any:
    """The predictions of the rows behind the known ones, under their own numbers and labels."""
    from ._bundle import Bundle

    found = bundle.array("prediction.missing_target_results")
    moved = [{**x, "row": x["row"] - known.rows} for x in found if x["row"] >= known.rows]
    if len(moved) != new.rows:
        raise TabellaError(f"the engine answered {len(moved)} of {new.rows} rows")
    said = {**(bundle.prediction or {}), "results": [], "missing_target_results": moved}
    said["next_cursor"] = said["missing_target_next_cursor"] = None
    new.id = known.id
    return Bundle.of({**bundle.raw, "prediction": said}, [new], True, None).predictions


class _Made:
    """A table that is made already."""

    def __init__(self, table: Table) -> None:
        self.__tabella_table__ = table
