"""The bundle: what the service says of tables, as data frames of the caller's library with the caller's rows.

Long arrays come in pages. The properties fetch what is missing when they are first read; `load` fetches all
at once. A run's outputs are kept by the service for 24 hours."""

from __future__ import annotations

import copy
import dataclasses
import os
from typing import Any, Callable, Dict, List, Literal, Optional, Sequence, Tuple, Union

from . import _download, _frames
from ._download import Part, Parts, frame_of
from ._errors import TabellaError
from ._types import Answer, TableProfile

Fetch = Callable[[str], Dict[str, Any]]  # a cursor to its page

# Paged arrays: where they stand in the bundle, and their cursor beside them.
PAGED: Dict[str, Tuple[str, str, str]] = {
    "prediction.results": ("prediction", "results", "next_cursor"),
    "prediction.missing_target_results": (
        "prediction",
        "missing_target_results",
        "missing_target_next_cursor",
    ),
    "imputation.filled": ("imputation", "filled", "next_cursor"),
    "unified_rows.rows": ("unified_rows", "rows", "next_cursor"),
    "suspects.cells": ("suspects", "cells", "next_cursor"),
    "prediction.forecast.rows": ("prediction.forecast", "rows", "next_cursor"),
}


@dataclasses.dataclass(repr=False, eq=False)
class Bundle(Answer):
    """tables: what each table is. The rest of the JSON stands under its own name, as the specification has
    it; `bundle["summary"]` is the JSON's summary, `bundle.summary()` a text for people."""

    mode: Optional[str] = None
    run_id: Optional[str] = None
    warnings: List[str] = dataclasses.field(default_factory=list)
    job_id: Optional[str] = None
    base: Optional[str] = None
    feed: Optional[str] = None
    status: Optional[str] = None
    calibration_state: Optional[int] = None
    tables: List[TableProfile] = dataclasses.field(default_factory=list)
    cross_table_map: Optional[Dict[str, Any]] = None
    unified_rows: Optional[Dict[str, Any]] = None
    imputation: Dict[str, Any] = dataclasses.field(default_factory=dict)
    target_selection: Dict[str, Any] = dataclasses.field(default_factory=dict)
    task_selection: Dict[str, Any] = dataclasses.field(default_factory=dict)
    prediction: Optional[Dict[str, Any]] = None

    _given = ()  # type: Sequence[_frames.Table]
    _single = False
    _fetch = None  # type: Optional[Fetch]
    _asked = None  # type: Optional[str]
    _parts = None  # type: Optional[Parts]

    @classmethod
    def of(
        cls, raw: Dict[str, Any], given: Sequence[_frames.Table], single: bool, fetch: Optional[Fetch]
    ) -> "Bundle":
        """The bundle of tables that the caller sent (empty where they lie with the service)."""
        made = cls.read(raw)
        made._given, made._single, made._fetch = given, single, fetch
        return made

    def __copy__(self) -> "Bundle":
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __getstate__(self) -> Dict[str, Any]:
        """A pickle holds every page and the caller's tables, and no client."""
        self.load()
        return {**self.__dict__, "_fetch": None, "_parts": None}

    @property
    def _kind(self) -> str:
        """Looked up when a frame is asked for: pandas is not imported before."""
        return self._asked or _frames.kind_of(self._given)

    # ---- pages ---------------------------------------------------------------------------------

    def array(self, name: str) -> List[Dict[str, Any]]:
        """All elements of a paged array, such as `prediction.results`; what is missing is fetched."""
        holder, field, cursor = PAGED[name]
        inside: Any = self.raw
        for part in holder.split("."):
            inside = inside.get(part) if isinstance(inside, dict) else None
        return self._pages(inside, field, cursor) if isinstance(inside, dict) else []

    def _pages(self, inside: Dict[str, Any], field: str, cursor: str) -> List[Dict[str, Any]]:
        found: List[Dict[str, Any]] = inside.setdefault(field, [])
        while inside.get(cursor) and self._fetch is not None:
            page = self._fetch(inside[cursor])
            found.extend(page["items"])
            inside[cursor] = page.get("next_cursor")
        return found

    def _groups(self) -> List[Tuple[str, List[Dict[str, Any]]]]:
        """The groups of duplicates of each table that has any."""
        return [(d["table"], self._pages(d, "groups", "next_cursor")) for d in self.raw.get("duplicates", [])]

    def load(self) -> "Bundle":
        """Fetches every page now."""
        for name in PAGED:
            self.array(name)
        self._groups()
        return self

    # ---- files ---------------------------------------------------------------------------------

    def download(
        self,
        part: str,
        path: "Union[str, os.PathLike[str]]",
        *,
        table: Optional[str] = None,
        format: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> str:
        """Writes a part of the result to a file, while the service keeps it: see `client.jobs.download`."""
        return self._jobs().download(self.job_id, part, path, table=table, format=format, timeout=timeout)

    def frame(self, part: str, *, table: Optional[str] = None, timeout: Optional[float] = None) -> Any:
        """A part of the result as a data frame of the caller's library: of a run at the service in one
        request, which needs pyarrow (or polars); of a run in this process from `stream`. part:
        results, filled,
        unified_rows, matches, duplicates, suspects, forecast; in this process also profile. `filled`: the
        whole table, with the columns NAME_filled that say which cells were filled."""
        if self._parts is not None:
            return frame_of(self._parts.stream(part, table), self._kind)
        transport = self._jobs()._client._transport
        return _download.frame(transport, str(self.job_id), part, table, self._kind, timeout)

    def stream(self, part: str, *, table: Optional[str] = None) -> Part:
        """A part of the result of a run in this process (`frame` has their names) as a table that offers an
        Arrow stream (`__arrow_c_stream__`), made by the engine's library batch by batch: pandas, polars,
        pyarrow and duckdb read it where it lies, any number of times. The columns are those of the service's
        files.
        Raises NotFoundError where the result has no such part."""
        if self._parts is None:
            raise TabellaError(
                "streams of parts are those of a run in this process, by its own bundle and not by a pickle "
                "of it; arrow(NAME) gives any bundle's frames as streams"
            )
        return self._parts.stream(part, table)

    def _jobs(self) -> Any:
        jobs = getattr(self._fetch, "jobs", None)
        if jobs is None or not self.job_id:
            raise TabellaError(
                "this bundle is of no run whose result the service keeps: it has its frames here "
                "(predictions, imputed, matches, duplicates ...), and arrow(NAME) gives them as streams"
            )
        return jobs

    # ---- frames --------------------------------------------------------------------------------

    def arrow(self, name: str) -> Any:
        """One of the frames below by its name ("predictions", "imputed", "matches", "unified",
        ...) as a table
        that offers an Arrow stream (`__arrow_c_stream__`), which pandas, polars, pyarrow and
        duckdb read where
        it lies; no library is needed here. Rows are numbered from 0 in `row`. Of several filled tables a dict
        by name; None where there is no such answer."""
        if name not in _ARROW:
            raise ValueError(f"{name}: there are {', '.join(_ARROW)}")
        asked = copy.copy(self)
        asked._asked = "stream"
        made = getattr(asked, name)
        if isinstance(made, dict) and name == "imputed" and not self._single:
            return {k: _frames.as_stream(v) for k, v in made.items()}
        return _frames.as_stream(made)

    def _frame(self, columns: Dict[str, List[Any]], index: Any = None) -> Any:
        return _frames.frame(self._kind, columns, index)

    def _table(self, id: Optional[str]) -> Optional[_frames.Table]:
        for t in self._given:
            if t.id == id:
                return t
        return None

    def _label(self, id: str, row: Optional[int], pinned: bool = False) -> Any:
        table = self._table(id)
        if row is None or table is None or pinned or self._asked:
            return row
        return table.labels([row])[0]

    @property
    def columns(self) -> Any:
        """One row for each column of each table: role, type, missing share, personal data."""
        fields = ("name", "role", "role_confidence", "type", "missing_pct", "pii")
        cells: Dict[str, List[Any]] = {"table": []}
        cells.update({f: [] for f in fields})
        for t in self.tables:
            for c in t.column_profile:
                cells["table"].append(t.id)
                for f in fields:
                    cells[f].append(getattr(c, f))
        return self._frame(cells)

    @property
    def alignment(self) -> Any:
        """Columns of two tables that hold the same attribute."""
        names = ("a", "b", "attribute", "confidence")
        found = (self.cross_table_map or {}).get("column_alignment", [])
        return self._frame({n: [x.get(n) for x in found] for n in names})

    @property
    def matches(self) -> Any:
        """Rows of two tables that are one entity; a_row and b_row are labels of the caller's index."""
        found = (self.cross_table_map or {}).get("entity_matches", [])
        return self._frame(
            {
                "a_table": [x["a_table"] for x in found],
                "a_row": [self._label(x["a_table"], x["a_row"], x.get("a_pinned", False)) for x in found],
                "b_table": [x["b_table"] for x in found],
                "b_row": [self._label(x["b_table"], x["b_row"], x.get("b_pinned", False)) for x in found],
                "confidence": [x["confidence"] for x in found],
                "matched_on": [", ".join(x.get("matched_on", [])) for x in found],
            }
        )

    @property
    def duplicates(self) -> Any:
        """Rows of one table that are one entity: one row for each grouped row, with its table, the group's
        number, row (the caller's label), the group's confidence and the columns that speak for it
        (matched_on). Surest groups first."""
        cells: Dict[str, List[Any]] = {n: [] for n in ("table", "group", "row", "confidence", "matched_on")}
        group = 0
        for id, groups in self._groups():
            for g in groups:
                speaks = ", ".join(x["column"] for x in g["evidence"] if x["weight"] > 0)
                rows = [(r, False) for r in g["rows"]] + [(r, True) for r in g.get("pinned_rows", [])]
                for row, pinned in rows:
                    cells["table"].append(id)
                    cells["group"].append(group)
                    cells["row"].append(self._label(id, row, pinned))
                    cells["confidence"].append(g["confidence"])
                    cells["matched_on"].append(speaks)
                group += 1
        return self._frame(cells)

    @property
    def unified(self) -> Any:
        """One row for each entity, with the value chosen for each attribute; None for a single table. Columns
        named row(TABLE) hold the label of the entity's row there."""
        if self.unified_rows is None:
            return None
        rows = self.array("unified_rows.rows")
        attributes = list(self.unified_rows.get("schema") or [])
        for x in rows:
            attributes.extend(k for k in x["record"] if k not in attributes)
        tables = [t.id for t in self.tables]
        cells: Dict[str, List[Any]] = {"entity": [x["entity"] for x in rows]}
        for a in attributes:
            cells[a] = [x["record"].get(a) for x in rows]
        for t in tables:
            cells[f"row({t})"] = [self._label(t, (x["from"].get("rows") or {}).get(t)) for x in rows]
        cells["confidence"] = [x.get("confidence") for x in rows]
        made = self._frame(cells)
        if self._kind == "pandas":
            for t in tables:  # an entity without a row there: whole numbers stay whole
                if made[f"row({t})"].dtype.kind == "f":
                    made[f"row({t})"] = made[f"row({t})"].astype("Int64")
            for name, dtype in self._attribute_dtypes(attributes).items():
                made[name] = _frames.as_dtype(made[name], dtype)
            made = made.set_index("entity")
        return made

    def _attribute_dtypes(self, attributes: Sequence[str]) -> Dict[str, Any]:
        """The type of the caller's first column that an attribute comes from."""
        schema = (self.cross_table_map or {}).get("unified_schema") or {}
        sources = {s["attribute"]: s["from"] for s in schema.get("shared", [])}
        for addresses in (schema.get("only") or {}).values():
            for a in addresses:
                sources.setdefault(a.split(".", 1)[1], [a])
        found = {}
        for a in attributes:
            for address in sources.get(a, []):
                id, column = address.split(".", 1)
                table = self._table(id)
                if table is not None and table.dtype(column) is not None:
                    found[a] = table.dtype(column)
                    break
        return found

    @property
    def imputed(self) -> Any:
        """A copy of the caller's table with its gaps filled, in its own types; of several tables a dict by
        name. What the service does not fill stays missing."""
        values: Dict[str, Dict[int, Dict[int, Any]]] = {}
        names = {t.id: self._positions(t) for t in self.tables}
        for x in self.array("imputation.filled"):
            if not x.get("pinned", False):
                c = names[x["table"]][x["column"]]
                values.setdefault(x["table"], {}).setdefault(c, {})[x["row"]] = x["value"]
        made = {t.id: _frames.filled(t, values.get(t.id, {})) for t in self._given}
        return made[self._given[0].id] if self._single and made else made

    @staticmethod
    def _positions(table: TableProfile) -> Dict[str, int]:
        """Columns by the name that the service addresses them with: a name that is empty or stands twice is
        `c` and its position."""
        names = [c.name for c in table.column_profile]
        return {n if n and names.count(n) == 1 else f"c{i}": i for i, n in enumerate(names)}

    @property
    def filled(self) -> Any:
        """One row for each cell that was filled: table, row (the caller's label), column, value, method."""
        found = self.array("imputation.filled")
        return self._frame(
            {
                "table": [x["table"] for x in found],
                "row": [self._label(x["table"], x["row"]) for x in found],
                "column": [x["column"] for x in found],
                "value": [x["value"] for x in found],
                "method": [x["method"] for x in found],
            }
        )

    @property
    def suspects(self) -> Any:
        """One row for each cell that breaks what the rest of its table says, the surest first: table, row
        (the caller's label), column, value, kind, suggestion (None where no right value is likely),
        confidence and reason. Nothing is changed by it; `repaired` makes a copy with the suggestions."""
        found = self.array("suspects.cells")
        fields = ("column", "value", "kind", "suggestion", "confidence", "reason")
        cells = {name: [x[name] for x in found] for name in fields}
        return self._frame(
            {
                "table": [x["table"] for x in found],
                "row": [self._label(x["table"], x["row"]) for x in found],
                **cells,
            }
        )

    def repaired(self, min_confidence: float = 0.9) -> Any:
        """A copy of the caller's table in which suspect cells of this confidence and more have the value that
        is suggested, where one is; of several tables a dict by name."""
        values: Dict[str, Dict[int, Dict[int, Any]]] = {}
        names = {t.id: self._positions(t) for t in self.tables}
        for x in self.array("suspects.cells"):
            if x["confidence"] >= min_confidence and x["suggestion"] is not None:
                c = names[x["table"]][x["column"]]
                values.setdefault(x["table"], {}).setdefault(c, {})[x["row"]] = x["suggestion"]
        made = {t.id: _frames.filled(t, values.get(t.id, {})) for t in self._given}
        return made[self._given[0].id] if self._single and made else made

    @property
    def predictions(self) -> Any:
        """One row for each row of the predicted table, under the caller's index; None without a prediction.

        Classification: label, confidence, and p(CLASS) for each class. Regression: value, median, std, and
        q(LEVEL) for each quantile. Anomaly: anomaly_score, is_anomaly. target_missing tells the rows whose
        target the caller did not give; the others are answered by models that did not see their target.
        regime says how a row stands to those whose target is known: alike, later, new_group or
        out_of_range."""
        p = self.prediction
        if not p:
            return None
        known, missing = self.array("prediction.results"), self.array("prediction.missing_target_results")
        rows = sorted(
            [(x["row"], False, x) for x in known] + [(x["row"], True, x) for x in missing], key=_row
        )
        results = [x for _, _, x in rows]
        cells: Dict[str, List[Any]] = {}
        task = p.get("task_type")
        for name in _FIELDS.get(str(task), ()):
            cells[name] = [x.get(name) for x in results]
        if task == "classification":
            shares = [list(x["probabilities"].values()) for x in results]  # in the order of classes
            for k, c in enumerate(p.get("classes") or []):
                cells[f"p({text_of(c)})"] = [x[k] for x in shares]
        elif task == "regression":
            levels = sorted({q for x in results[:1] for q in x.get("quantiles", {})}, key=float)
            for q in levels:
                cells[f"q({q})"] = [x["quantiles"].get(q) for x in results]
        if task != "anomaly":
            cells["target_missing"] = [m for _, m, _ in rows]
            cells["regime"] = [x.get("regime", "alike") for x in results]
        table = self._table(p.get("table") or (self._given[0].id if len(self._given) == 1 else None))
        at = [r for r, _, _ in rows]
        if self._kind != "pandas":
            return self._frame({"row": at, **cells})
        made = self._frame(cells, table.labels(at) if table is not None else at)
        if task == "classification" and table is not None:
            target = str(p.get("target") or "").split(".", 1)[-1]
            made["label"] = _frames.as_dtype(made["label"], table.dtype(target))
        return made

    @property
    def forecast(self) -> Any:
        """One row for each step ahead of each series (run(..., horizon=...)): the columns that name a series,
        time, value, and low and high of its 80% interval; None where no steps ahead were asked."""
        f = (self.prediction or {}).get("forecast")
        if not f:
            return None
        rows = self.array("prediction.forecast.rows")
        cells: Dict[str, List[Any]] = {}
        dtypes: Dict[str, Any] = {}
        for address in f.get("series") or []:
            id, name = address.split(".", 1)
            column = f"series({name})" if name in _FORECAST else name
            cells[column] = [x["series"].get(address) for x in rows]
            dtypes[column] = (id, name)
        for name in _FORECAST:
            cells[name] = [x.get(name) for x in rows]
        if isinstance(f.get("time"), str):
            dtypes["time"] = tuple(f["time"].split(".", 1))
        made = self._frame(cells)
        if self._kind == "pandas":
            for column, (id, name) in dtypes.items():
                table = self._table(id)
                if table is not None:
                    made[column] = _frames.as_dtype(made[column], table.dtype(name))
        return made

    # ---- for people ----------------------------------------------------------------------------

    def summary(self) -> str:
        """What the bundle says, in a few lines."""
        from ._report import text_summary

        return text_summary(self)

    def _repr_html_(self) -> str:
        from ._report import html_summary

        return html_summary(self)

    def to_html(self, path: Optional[str] = None) -> Optional[str]:
        """Writes a page of its own: pictures and styles inside, no script, nothing to be loaded. Without a
        path it is given as a text."""
        from ._page import page

        if path is None:
            return page(self.raw)
        with open(path, "w", encoding="utf-8", newline="") as f:
            f.write(page(self.raw))
        return None

    def plot(
        self,
        kind: Optional[Literal["predictions", "reasons", "missing", "distribution", "forecast"]] = None,
        *,
        ax: Any = None,
        table: Optional[str] = None,
        column: Optional[str] = None,
        series: Any = None,
    ) -> Any:
        """Draws by matplotlib, on `ax` or a new figure, and gives the axes.

        predictions: of rows whose target is known, predicted against actual (regression) or how often an
        answer is right by how sure it is (classification); the scores of anomalies. reasons: how far each
        column moved the answers (needs run(..., explain=True)). missing: by column, of one `table` or all.
        distribution: of one `column`. forecast: the steps ahead of one series with their 80% intervals,
        behind what is known of it; `series` is its name, or a tuple of names (default: the first one's).
        Default: distribution with a column, else forecast and predictions where there are any, else
        missing."""
        from ._plots import bundle_plot, forecast_plot

        p = self.prediction or {}
        if kind == "forecast" or (kind is None and column is None and p.get("forecast")):
            return forecast_plot(self, ax, series)
        return bundle_plot(self, kind, ax, table, column)

    def __repr__(self) -> str:
        return self.summary()


_ARROW = "predictions imputed filled unified matches alignment duplicates suspects forecast columns".split()
_FORECAST = ("time", "value", "low", "high")
_FIELDS = {
    "classification": ("label", "confidence"),
    "regression": ("value", "median", "std"),
    "anomaly": ("anomaly_score", "is_anomaly"),
}


def _row(x: Tuple[int, bool, Any]) -> int:
    return x[0]


def text_of(label: Any) -> str:
    """A class in the name of its column."""
    if isinstance(label, bool):
        return "true" if label else "false"
    return str(label)
