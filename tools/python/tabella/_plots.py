"""Pictures of a bundle and of a report, where the caller has matplotlib.

Each picture is one pair of axes, which the caller may title, scale and save as any other. Rows whose target
was known are answered by models that did not see it, so what is drawn of them is as good as held out."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

from ._errors import TabellaError
from ._report import cells_of, short

if TYPE_CHECKING:
    from ._bundle import Bundle
    from ._types import Report

COLOR, PALE, LINE = "#4a7fb5", "#b5cbe0", "#888888"
MOST_BARS = 20  # of bars that are told apart by their names
BINS = 10  # of a calibration curve, each with as many rows
DRAWN = 20_000  # points of a scatter plot: more of them are one blot


def axes(ax: Any) -> Any:
    """The caller's axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise TabellaError("plots need matplotlib, which is not installed: pip install matplotlib") from None
    return pyplot.subplots(layout="constrained")[1]


def bundle_plot(
    b: "Bundle", kind: Optional[str], ax: Any, table: Optional[str], column: Optional[str]
) -> Any:
    if kind is None:
        kind = "distribution" if column is not None else "predictions" if b.prediction else "missing"
    draw = OF_BUNDLE.get(kind)
    if draw is None:
        raise ValueError(f"no plot {kind!r} of a bundle: {', '.join(OF_BUNDLE)}")
    return draw(b, ax, table, column)


def report_plot(r: "Report", kind: Optional[str], ax: Any) -> Any:
    metrics = r.metrics or {}
    there = [k for k, (field, _) in OF_REPORT.items() if metrics.get(field)]
    if kind is not None and kind not in OF_REPORT:
        raise ValueError(f"no plot {kind!r} of a report: {', '.join(OF_REPORT)}")
    if not there or (kind is not None and kind not in there):
        task = (r.target or {}).get("task") or "this task"
        raise TabellaError(f"a report of {task} has nothing to draw of {kind or ' or '.join(OF_REPORT)}")
    field, draw = OF_REPORT[kind or there[0]]
    return draw(metrics[field], ax)


def forecast_plot(b: "Bundle", ax: Any, series: Any) -> Any:
    """A fan: what is known of the series, then each step's value within its 80 % interval."""
    f = (b.prediction or {}).get("forecast")
    rows = b.array("prediction.forecast.rows")
    if not f or not rows:
        raise TabellaError("this bundle forecasts nothing: run with horizon=")
    named = series if isinstance(series, (tuple, list)) else (series,)
    wanted = list(rows[0]["series"].values()) if series is None else list(named)
    rows = [x for x in rows if [str(v) for v in x["series"].values()] == [str(v) for v in wanted]]
    if not rows:
        raise ValueError(f"no series {series!r}")
    ax = axes(ax)
    known = _history(b, f, [str(v) for v in wanted])
    moments = _moments([t for t, _ in known] + [x["time"] for x in rows])
    past, ahead = moments[: len(known)], moments[len(known) :]
    ax.plot(past, [y for _, y in known], color=LINE, lw=1)
    ax.fill_between(ahead, [x["low"] for x in rows], [x["high"] for x in rows], color=PALE, lw=0)
    ax.plot(ahead, [x["value"] for x in rows], color=COLOR, lw=1.5)
    ax.set(ylabel=_named(b, str((b.prediction or {}).get("target"))), title=", ".join(str(v) for v in wanted))
    return ax


def _history(b: "Bundle", f: Dict[str, Any], wanted: Sequence[str]) -> List[Tuple[Any, float]]:
    """What the caller's rows say of one series, in time's order; nothing where they lie with the service."""
    addresses = [f["time"], *(f.get("series") or []), (b.prediction or {}).get("target")]
    given = b._table((b.prediction or {}).get("table"))
    if given is None or not all(isinstance(a, str) for a in addresses):
        return []
    at: Dict[str, int] = next((b._positions(t) for t in b.tables if t.id == given.id), {})
    places = [at.get(a.split(".", 1)[1], len(given.read)) for a in addresses]
    if max(places) >= len(given.read):
        return []
    when, *keys, target = [given.read[c](0, given.rows) for c in places]
    found = [
        (when[i], _number(target[i]))
        for i in range(given.rows)
        if [str(k[i]) for k in keys] == list(wanted) and when[i] is not None
    ]
    return sorted(((t, y) for t, y in found if y is not None), key=lambda x: (str(type(x[0])), x[0]))


def _moments(times: Sequence[Any]) -> List[Any]:
    """Times as an axis takes them: numbers, dates where all can be read as such, else their places."""
    if all(isinstance(t, (int, float)) and not isinstance(t, bool) for t in times):
        return list(times)
    try:
        return [datetime.fromisoformat(str(t).replace("Z", "+00:00")).replace(tzinfo=None) for t in times]
    except ValueError:
        return list(range(len(times)))


# ---- of a bundle -------------------------------------------------------------------------------


def _predictions(b: "Bundle", ax: Any, table: Optional[str], column: Optional[str]) -> Any:
    p = b.prediction
    if not p:
        raise TabellaError("this bundle predicts nothing")
    if p.get("task_type") == "anomaly":
        return _scores(p, b.array("prediction.results"), ax)
    pairs, target = _known(b, p), _named(b, str(p.get("target")))
    if p.get("task_type") == "classification":
        return _calibration(target, pairs, ax)
    return _against(target, pairs, ax)


def _known(b: "Bundle", p: Dict[str, Any]) -> List[Tuple[Any, Dict[str, Any]]]:
    """What the caller's rows say of the target, and the answers that did not see it."""
    id, name = str(p.get("target") or "").split(".", 1)
    given = b._table(p.get("table") or id)
    c = None
    for t in b.tables:
        if t.id == id:
            c = b._positions(t).get(name)
    if given is None or c is None or c >= len(given.read):
        raise TabellaError(
            "the target's column is needed beside the predictions, and this call did not send it"
        )
    results = b.array("prediction.results")
    actual = given.read[c](0, given.rows)
    pairs = [(actual[x["row"]], x) for x in results if x["row"] < len(actual)]
    pairs = [(a, x) for a, x in pairs if a is not None]
    if not pairs:
        raise TabellaError("no row that was predicted has a known target")
    return pairs


def _against(target: str, pairs: Sequence[Tuple[Any, Dict[str, Any]]], ax: Any) -> Any:
    """Predicted against actual, with the middle 80% where there are few enough rows to see it."""
    points = [(n, x) for n, x in ((_number(a), x) for a, x in pairs) if n is not None]
    points = points[:: max(1, -(-len(points) // DRAWN))]
    actual, told = [a for a, _ in points], [x["value"] for _, x in points]
    ax = axes(ax)
    quantiles = [x.get("quantiles") or {} for _, x in points]
    if len(points) <= 500 and all("0.1" in q and "0.9" in q for q in quantiles):
        ax.vlines(actual, [q["0.1"] for q in quantiles], [q["0.9"] for q in quantiles], color=PALE, lw=1)
    ax.scatter(actual, told, s=12, color=COLOR, alpha=0.8 if len(points) <= 500 else 0.3, lw=0)
    ends = [min(actual + told), max(actual + told)]
    ax.plot(ends, ends, color=LINE, lw=1, ls="--")
    ax.set(xlabel=f"actual {target}", ylabel="predicted")
    return ax


def _calibration(target: str, pairs: Sequence[Tuple[Any, Dict[str, Any]]], ax: Any) -> Any:
    """How often the answers are right, by how sure they are: bins of as many rows each."""
    rows = sorted((float(x["confidence"]), same(a, x["label"])) for a, x in pairs)
    bins = min(BINS, max(1, len(rows) // 10))
    sure, right = [], []
    for k in range(bins):
        part = rows[k * len(rows) // bins : (k + 1) * len(rows) // bins]
        sure.append(sum(s for s, _ in part) / len(part))
        right.append(sum(r for _, r in part) / len(part))
    ax = axes(ax)
    ax.plot([0, 1], [0, 1], color=LINE, lw=1, ls="--")
    ax.plot(sure, right, color=COLOR, marker="o", ms=5)
    ax.set(xlabel=f"confidence in {target}", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1.02))
    return ax


def same(actual: Any, label: Any) -> bool:
    """Whether a cell of the caller's is this class: the service reads "1" as the number 1."""
    return _read(actual) == _read(label)


def _read(x: Any) -> Any:
    text, number = str(x).strip(), None if isinstance(x, bool) else _number(x)
    return text.lower() if text.lower() in ("true", "false") else text if number is None else number


def _number(x: Any) -> Optional[float]:
    """A cell as a number: None for what is none, as "n/a" among numbers, which the service leaves out too."""
    try:
        number = float(x)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _scores(p: Dict[str, Any], results: Sequence[Dict[str, Any]], ax: Any) -> Any:
    ax = axes(ax)
    ax.hist([x["anomaly_score"] for x in results], bins=40, range=(0, 1), color=COLOR)
    if p.get("threshold") is not None:
        ax.axvline(p["threshold"], color=LINE, lw=1, ls="--")
    ax.set(xlabel="anomaly score", ylabel="rows")
    return ax


def _reasons(b: "Bundle", ax: Any, table: Optional[str], column: Optional[str]) -> Any:
    """How far each column moved the answers, in the mean over all rows."""
    b.load()
    p = b.prediction or {}
    results = (p.get("results") or []) + (p.get("missing_target_results") or [])
    moved: Dict[str, float] = {}
    for x in results:
        for reason in x.get("reasons") or []:
            moved[reason["column"]] = moved.get(reason["column"], 0.0) + abs(reason["contribution"])
    if not moved:
        raise TabellaError("no reasons in this bundle: ask for them with run(..., explain=True)")
    bars = [(_named(b, name), total / len(results)) for name, total in moved.items()]
    return _bars(bars, ax, "mean of |contribution|")


def _missing(b: "Bundle", ax: Any, table: Optional[str], column: Optional[str]) -> Any:
    """The share of cells that are missing, of the columns that miss any."""
    bars = []
    for t in b.tables:
        if table in (None, t.id):
            for name, c in b._positions(t).items():
                if t.column_profile[c].missing_pct:
                    bars.append((_named(b, f"{t.id}.{name}"), 100 * t.column_profile[c].missing_pct))
    if table is not None and all(t.id != table for t in b.tables):
        raise ValueError(f"no table {table!r} in this bundle")
    ax = _bars(bars, ax, "missing cells, %")
    if not bars:
        ax.text(0.5, 0.5, "no cell is missing", ha="center", va="center", transform=ax.transAxes)
    return ax


def _distribution(b: "Bundle", ax: Any, table: Optional[str], column: Optional[str]) -> Any:
    """A column's numbers as a histogram, or its most frequent values."""
    if column is None:
        raise ValueError("a distribution is of one column: plot('distribution', column=NAME)")
    places = [(t, b._positions(t)[column]) for t in b.tables if column in b._positions(t)]
    places = [(t, c) for t, c in places if table in (None, t.id)]
    if len(places) != 1:
        said = "no table has" if not places else "several tables have"
        raise ValueError(f"{said} a column {column!r}" + ("" if not places else ": name the table too"))
    t, c = places[0]
    given = b._table(t.id)
    if given is None or c >= len(given.read):
        raise TabellaError("a distribution needs the table's rows, and this call did not send them")
    values = [x for x in cells_of(given, c) if x is not None]
    if t.column_profile[c].type == "numeric":
        numbers = [n for n in map(_number, values) if n is not None]
        ax = axes(ax)
        ax.hist(numbers, bins=min(40, max(8, int(math.sqrt(len(numbers))))), color=COLOR)
        ax.set(xlabel=column, ylabel="rows")
        return ax
    counts: Dict[str, int] = {}
    for x in values:
        counts[str(x)] = counts.get(str(x), 0) + 1
    return _bars(list(counts.items()), ax, f"rows of {column}")


def _named(b: "Bundle", name: str) -> str:
    """A column by its own name where there is one table."""
    prefix = f"{b.tables[0].id}." if len(b.tables) == 1 else ""
    return name[len(prefix) :] if prefix and name.startswith(prefix) else name


def _bars(bars: List[Tuple[str, float]], ax: Any, label: str) -> Any:
    """Horizontal bars, the longest at the top; where there are too many, the longest of them."""
    ax = axes(ax)
    shown = sorted(bars, key=_longest)[:MOST_BARS]
    ax.barh(range(len(shown)), [v for _, v in shown], color=COLOR)
    ax.set_yticks(range(len(shown)), [short(name) for name, _ in shown])
    ax.invert_yaxis()
    rest = len(bars) - len(shown)
    ax.set_xlabel(label if not rest else f"{label} ({rest:,} more not shown)")
    return ax


def _longest(bar: Tuple[str, float]) -> Tuple[float, str]:
    return -bar[1], bar[0]


# ---- of a report -------------------------------------------------------------------------------


def _quantiles(found: Sequence[Dict[str, Any]], ax: Any) -> Any:
    """Of the held-out rows, the share below each predicted quantile."""
    ax = axes(ax)
    ax.plot([0, 1], [0, 1], color=LINE, lw=1, ls="--")
    ax.plot([x["nominal"] for x in found], [x["observed"] for x in found], color=COLOR, marker="o", ms=5)
    ax.set(xlabel="quantile", ylabel="share of held-out rows below it", xlim=(0, 1), ylim=(0, 1.02))
    return ax


def _classes(found: Sequence[Dict[str, Any]], ax: Any) -> Any:
    """Precision and recall of each class on the held-out rows, the most frequent classes first."""
    ax = axes(ax)
    shown = sorted(found, key=_support)[:MOST_BARS]
    for k, (name, color) in enumerate((("precision", COLOR), ("recall", PALE))):
        at = [i + 0.4 * k - 0.2 for i in range(len(shown))]
        ax.barh(at, [x.get(name) or 0.0 for x in shown], height=0.4, color=color, label=name)
    ax.set_yticks(range(len(shown)), [f"{short(str(x['label']))} ({x['support']:,})" for x in shown])
    ax.invert_yaxis()
    rest = len(found) - len(shown)
    ax.set(xlim=(0, 1), xlabel="held-out rows" + (f" ({rest:,} classes not shown)" if rest else ""))
    ax.legend(frameon=False)
    return ax


def _support(x: Dict[str, Any]) -> float:
    return -float(x.get("support") or 0)


OF_BUNDLE: Dict[str, Callable[["Bundle", Any, Optional[str], Optional[str]], Any]] = {
    "predictions": _predictions,
    "reasons": _reasons,
    "missing": _missing,
    "distribution": _distribution,
}
# Kind of plot: the field of `metrics` that it draws, and how.
OF_REPORT: Dict[str, Tuple[str, Callable[[Sequence[Dict[str, Any]], Any], Any]]] = {
    "classes": ("per_class", _classes),
    "calibration": ("quantile_calibration", _quantiles),
}
