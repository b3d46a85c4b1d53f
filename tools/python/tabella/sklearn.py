"""Estimators of scikit-learn, by the engine in this process or by the service. Needs scikit-learn 1.2 or
later.

    from tabella.sklearn import TabellaClassifier

    model = TabellaClassifier().fit(X, y)
    model.predict_proba(X_new)

Where no TABELLA_URL is set, fit keeps the rows and a model of them here; a pickle holds the rows, of which
what is read back makes the same model when it is asked. With the address of a service fit makes an endpoint
of X and y, which `model.delete()` ends. Either answers each row by itself. With `endpoint=False` no model is
kept: each prediction reads the fitted rows along with the rows in question, whose answers may then depend on
which rows are asked together (decisions 0291, 0485)."""

from __future__ import annotations

import functools
import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ._client import Tabella
from ._errors import ConflictError, TabellaError
from ._frames import Table, behind, cell, table_of
from ._local import Fitted, Local
from ._transport import pause

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before 1.6
    validate_data = None

TARGET = "target"
ROWS = "rows"  # what the endpoint calls its table
UNIT = (1 + 5**0.5) / 2  # no ratio of whole numbers
SERVED = 10_000  # rows of one serve call, the service's limit
STRANGEST = 100  # fitted rows that a fit at a service asks again, to find the strangest
UNPINNED_S = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # a deleted endpoint lets go of its data a moment later

Client = Union[Tabella, Local]

__all__ = ["TabellaAnomaly", "TabellaClassifier", "TabellaMatcher", "TabellaRegressor"]


@functools.lru_cache(maxsize=4)
def _from_environment(url: str, key: Optional[str]) -> Client:
    return Tabella(key, url) if url else Local()


def _checked(estimator: Any, X: Any, reset: bool, **more: Any) -> Any:
    """scikit-learn's own checks; gaps and texts are what the service is for."""
    if validate_data is not None:
        return validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan", **more)
    return estimator._validate_data(X, reset=reset, dtype=None, force_all_finite="allow-nan", **more)


def _table(X: Any, checked: Any, target: Optional[Sequence[Any]], named: bool) -> Table:
    """The rows as the service reads them: a frame's own columns, an array's as c0, c1 ... ; the target last.
    What no cell can hold is refused here and now."""
    table = table_of(ROWS, X if hasattr(X, "columns") else checked)
    for read in table.read:
        read(0, min(1, table.rows))
    values = [None] * table.rows if target is None else [cell(v) for v in target]
    return table.called(_names(table.columns), (TARGET, values) if named else None)


def _names(columns: Sequence[str]) -> List[str]:
    """A name for each column, none of them the target's; a column without one goes by its place."""
    kept = {c for c in columns if c != TARGET}

    def place(i: int) -> str:
        name = f"c{i}"
        while name in kept:
            name += "_"
        return name

    return [place(i) if not c or c == TARGET else c for i, c in enumerate(columns)]


def _part(table: Table, start: int, end: int) -> Table:
    def shifted(read: Any) -> Any:
        return lambda a, b: read(a + start, b + start)

    return Table(ROWS, table.columns, end - start, [shifted(r) for r in table.read], "", None)


def _rows(table: Table, rows: Sequence[int]) -> Table:
    columns = [[read(i, i + 1)[0] for i in rows] for read in table.read]
    return Table(ROWS, table.columns, len(rows), [_Cells(c) for c in columns], "", None)


def _just_above(x: float) -> float:
    """An offset at which x itself is below 0."""
    return float(np.nextafter(x, np.inf))


class _Common(BaseEstimator):  # type: ignore[misc]
    """What all of them share: the client, and what scikit-learn asks of every estimator."""

    client: Optional[Client]

    def _engine(self) -> Client:
        """What answers: the client given, the service of the environment, or the engine in this process."""
        if self.client is not None:
            return self.client
        url = (os.environ.get("TABELLA_URL") or "").strip()
        return _from_environment(url, os.environ.get("TABELLA_API_KEY"))

    def _service(self) -> Tabella:
        engine = self._engine()
        if isinstance(engine, Local):
            raise TabellaError("an endpoint of the service needs one: set TABELLA_URL, or give a client")
        return engine

    def __getstate__(self) -> Dict[str, Any]:
        """A pickle holds no client of the service, which has a key: what is read back takes the
        environment's."""
        state = dict(super().__getstate__())
        if isinstance(state.get("client"), Tabella):
            state["client"] = None
        for own in ("_model", "_seen"):
            state.pop(own, None)
        return state

    def _more_tags(self) -> Dict[str, Any]:  # before scikit-learn 1.6
        return {"allow_nan": True, "X_types": ["2darray", "string"]}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


class _Estimator(_Common):
    """client: a Tabella or a Local (default: the service that TABELLA_URL names, with TABELLA_API_KEY; the
    engine in this process where it names none). endpoint: False keeps no model (default: True). base:
    (default: the newest)."""

    _task = ""

    def __init__(
        self, client: Optional[Client] = None, endpoint: bool = True, base: Optional[str] = None
    ) -> None:
        self.client = client
        self.endpoint = endpoint
        self.base = base

    def _fit(self, table: Table) -> None:
        before = getattr(self, "endpoint_", None)
        self.endpoint_: Optional[str] = None
        self.context_: Optional[Table] = None
        self.threshold_: Optional[float] = None
        self._model: Optional[Fitted] = None
        self._seen: List[Dict[str, Any]] = []  # what the run that made an endpoint says of the fitted rows
        if self.endpoint and not isinstance(self._engine(), Local):
            made = self._service().endpoints.create(
                "sk-" + os.urandom(8).hex(), {ROWS: _Given(table)}, **self._asked()
            )
            self.endpoint_ = made.id
            prediction = made.bundle.prediction if made.bundle is not None else None
            if prediction is None:
                raise TabellaError("the service finds nothing to predict in these rows")
            self.threshold_ = prediction.get("threshold")
            if self._task == "anomaly":
                self._seen = made.bundle.array("prediction.results")
        else:
            self.context_ = _stored(table)
            self._fitted()
        if before is not None:
            self._delete(before)

    def _asked(self) -> Dict[str, Any]:
        target = None if self._task == "anomaly" else TARGET
        return {"target": target, "task": self._task, "base": self.base}

    def _fitted(self) -> Optional[Fitted]:
        """The model in this process; None where another place answers. A pickle left it out."""
        engine = self._engine()
        if not self.endpoint or self.context_ is None or not isinstance(engine, Local):
            return None
        if getattr(self, "_model", None) is None:
            self._model = engine.fit({ROWS: _Given(self.context_)}, **self._asked())
        return self._model

    def _predictions(self, X: Any) -> Tuple[Dict[str, Any], List[Dict[str, Any]]]:
        """The prediction without its rows, and one result for each row of X."""
        check_is_fitted(self)
        checked = _checked(self, X, reset=False)
        if self.context_ is None and self.endpoint_ is None:
            raise NotFittedError("delete took the model away: fit makes another")
        return self._asked_of(_table(X, checked, None, self._task != "anomaly"))

    def _asked_of(self, table: Table) -> Tuple[Dict[str, Any], List[Dict[str, Any]]]:
        """As _predictions, of a table."""
        found: List[Dict[str, Any]] = []
        prediction: Dict[str, Any] = {}
        model = self._fitted()
        if model is not None:
            bundle = model.serve({ROWS: _Given(table)})
            prediction, found = bundle.prediction or {}, bundle.array("prediction.results")
        elif self.context_ is not None:
            n = self.context_.rows
            bundle = self._engine().run({ROWS: _Given(behind(self.context_, table))}, **self._asked())
            name = "results" if self._task == "anomaly" else "missing_target_results"
            found = [{**x, "row": x["row"] - n} for x in bundle.array(f"prediction.{name}") if x["row"] >= n]
            prediction = bundle.prediction or {}
        elif self.endpoint_ is not None:
            for start in range(0, table.rows, SERVED):
                part = _part(table, start, min(start + SERVED, table.rows))
                bundle = self._service().endpoints.serve(self.endpoint_, {ROWS: _Given(part)})
                prediction = bundle.prediction or {}
                found.extend({**x, "row": x["row"] + start} for x in bundle.array("prediction.results"))
        if [x["row"] for x in found] != list(range(table.rows)):
            raise TabellaError(f"the engine answered {len(found)} of {table.rows} rows")
        return prediction, found

    def delete(self) -> None:
        """Ends the endpoint that fit made, and deletes its rows at the service; here, model and rows. It is
        to be fitted again."""
        check_is_fitted(self)
        id, self.endpoint_ = self.endpoint_, None
        self.context_, self._model = None, None
        if id is not None:
            self._delete(id)

    def _delete(self, id: str) -> None:
        client = self._service()
        stored = [d["dataset"] for d in (client.endpoints.retrieve(id).data or {}).get("datasets", [])]
        client.endpoints.delete(id)
        for dataset in stored:
            for wait in (*UNPINNED_S, None):
                try:
                    client.data.delete(dataset)
                    break
                except ConflictError:
                    if wait is None:
                        raise
                    pause(wait)


class _Given:
    """A table that is made already, on its way through the client's calls."""

    def __init__(self, table: Optional[Table]) -> None:
        self.__tabella_table__ = table


def _stored(table: Table) -> Table:
    """A table that holds its own cells, apart from the caller's."""
    columns = [list(read(0, table.rows)) for read in table.read]
    return Table(ROWS, table.columns, table.rows, [_Cells(c) for c in columns], "", None)


class _Cells:
    """A column of plain cells, which can be pickled."""

    def __init__(self, cells: List[Any]) -> None:
        self.cells = cells

    def __call__(self, start: int, end: int) -> List[Any]:
        return self.cells[start:end]


class TabellaClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """Classes from tables with gaps, texts and dates. Parameters: see the module."""

    _task = "classification"

    def fit(self, X: Any, y: Any) -> "TabellaClassifier":
        checked, y = _checked(self, X, reset=True, y=y, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        table = _table(X, checked, [f"k{k}" for k in codes], True)
        if len(self.classes_) > 1:
            self._fit(table)
        else:
            self.endpoint_, self.context_, self.threshold_ = None, None, None
        return self

    def predict_proba(self, X: Any) -> Any:
        """One column for each of classes_; rows sum to 1."""
        check_is_fitted(self)
        if len(self.classes_) == 1:
            return np.ones((len(_checked(self, X, reset=False)), 1))
        prediction, found = self._predictions(X)
        at = [int(c[1:]) for c in prediction["classes"]]
        out = np.zeros((len(found), len(self.classes_)))
        out[:, at] = [list(x["probabilities"].values()) for x in found]
        return out / out.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]


class TabellaRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """A number, with its distribution, from tables with gaps, texts and dates. Parameters: see the module."""

    _task = "regression"

    def fit(self, X: Any, y: Any) -> "TabellaRegressor":
        checked, y = _checked(self, X, reset=True, y=y, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=float)
        self.shift_, spread = float(y.mean()), float(y.std())
        # The service reads what a column is from its values, and few whole numbers may be codes: in this
        # unit they are none.
        self.scale_ = spread / UNIT
        if spread > 0 and np.isfinite(spread):
            self._fit(_table(X, checked, (y - self.shift_) / self.scale_, True))
        else:
            self.scale_ = 0.0
            self.endpoint_, self.context_, self.threshold_ = None, None, None
        return self

    def _answers(self, X: Any) -> List[Dict[str, Any]]:
        """In the unit of the service; of a target that never varied, its only value."""
        check_is_fitted(self)
        if self.scale_ == 0.0:
            constant = {"value": 0.0, "quantiles": {"0": 0.0, "1": 0.0}}
            return [constant] * len(_checked(self, X, reset=False))
        return self._predictions(X)[1]

    def predict(self, X: Any) -> Any:
        values = np.array([x["value"] for x in self._answers(X)], dtype=float)
        return self.shift_ + self.scale_ * values

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.1, 0.5, 0.9)) -> Any:
        """One column for each quantile, between the service's own levels by straight lines."""
        asked = np.asarray(quantiles, dtype=float)
        found = self._answers(X)
        levels = sorted(found[0]["quantiles"], key=float)
        at = np.array([float(q) for q in levels])
        if asked.min() < at[0] or asked.max() > at[-1]:
            raise ValueError(f"quantiles are from {levels[0]} to {levels[-1]}")
        values = [[x["quantiles"][q] for q in levels] for x in found]
        return self.shift_ + self.scale_ * np.array([np.interp(asked, at, v) for v in values])


class TabellaAnomaly(OutlierMixin, _Estimator):  # type: ignore[misc]
    """Rows that are unlike the fitted ones. predict: -1 of those, 1 of the others. contamination: the share
    of the fitted rows that predict calls -1, above 0 and at most 0.5. Default: "auto", the rows whose score
    reaches the engine's threshold (threshold_), and where no fitted row does, the strangest of them and what
    is as strange: of n rows like the fitted ones about one in n. Other parameters: see the module."""

    _task = "anomaly"

    def __init__(
        self,
        client: Optional[Client] = None,
        endpoint: bool = True,
        base: Optional[str] = None,
        contamination: Union[str, float] = "auto",
    ) -> None:
        super().__init__(client, endpoint, base)
        self.contamination = contamination

    def fit(self, X: Any, y: Any = None) -> "TabellaAnomaly":
        share = self.contamination
        if share != "auto" and (isinstance(share, str) or not 0 < share <= 0.5):
            raise ValueError(f'contamination is "auto" or a share above 0 and at most 0.5, not {share!r}')
        checked = _checked(self, X, reset=True, ensure_min_samples=2)
        self._fit(_table(X, checked, None, False))
        model = self._fitted()
        if model is not None and self.context_ is not None:
            first = _part(self.context_, 0, 1)
            self.threshold_ = (model.serve({ROWS: _Given(first)}).prediction or {}).get("threshold")
        elif self.threshold_ is None:
            bundle = self._engine().run({ROWS: _Given(self.context_)}, **self._asked())
            self.threshold_ = (bundle.prediction or {}).get("threshold")
        # At the threshold a row is an anomaly, at 0 of decision_function it is none.
        self.offset_ = _just_above(-float(self.threshold_ or 1.0))
        if share == "auto":
            self._set_apart(X, checked)
        else:
            self.offset_ = float(np.percentile(self.score_samples(X), 100 * float(share)))
        return self

    def _set_apart(self, X: Any, checked: Any) -> None:
        """scikit-learn asks that some fitted row is -1 (decision 0821): where none reaches the threshold, the
        strangest one, or a few that are equal. Of rows that are all alike none is."""
        table = _table(X, checked, None, False)
        seen = self._seen
        if len(seen) == table.rows:  # rows of a serve call are billed: those that the endpoint's run names
            order = sorted(seen, key=lambda x: (-x["anomaly_score"], x["row"]))
            table = _rows(table, [x["row"] for x in order[:STRANGEST]])
        scores = -np.array([x["anomaly_score"] for x in self._asked_of(table)[1]], dtype=float)
        lowest = scores.min()
        equal = int((scores == lowest).sum())
        if lowest >= self.offset_ and equal <= max(1, 0.1 * len(checked)) and equal < len(checked):
            self.offset_ = _just_above(float(lowest))

    def score_samples(self, X: Any) -> Any:
        """The service's anomaly_score with its sign turned: the lower, the stranger."""
        _, found = self._predictions(X)
        return -np.array([x["anomaly_score"] for x in found], dtype=float)

    def decision_function(self, X: Any) -> Any:
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Any:
        return np.where(self.decision_function(X) >= 0, 1, -1)


class TabellaMatcher(_Common):
    """Which rows of another table are the same entity as rows of the fitted one. There is no predict: the two
    tables are matched as wholes, and a row's match depends on the other rows.

    client: see the module. threshold: matches of at least this probability (default: 0.5). base: (default:
    the service's)."""

    def __init__(
        self, client: Optional[Client] = None, threshold: float = 0.5, base: Optional[str] = None
    ) -> None:
        self.client = client
        self.threshold = threshold
        self.base = base

    def fit(self, X: Any, y: Any = None) -> "TabellaMatcher":
        checked = _checked(self, X, reset=True)
        self.fitted_ = _stored(_table(X, checked, None, False))
        return self

    def match(self, X: Any) -> Tuple[Any, Any, Any]:
        """Three arrays: rows of the fitted table, the rows of X that they match, and the probabilities. X may
        have other columns than the fitted table."""
        check_is_fitted(self)
        given = table_of("given", X if hasattr(X, "columns") else np.asarray(X))
        bundle = self._engine().run(
            {"fitted": _Given(self.fitted_), "given": _Given(given)},
            target=False,
            base=self.base,
            confidence_threshold=self.threshold,
        )
        found = (bundle.cross_table_map or {}).get("entity_matches", [])
        pairs = [(x["a_row"], x["b_row"], x["confidence"]) for x in found if x["a_table"] == "fitted"]
        if not pairs:
            return np.empty(0, dtype=int), np.empty(0, dtype=int), np.empty(0)
        a, b, confidence = zip(*pairs)
        return np.array(a, dtype=int), np.array(b, dtype=int), np.array(confidence)
