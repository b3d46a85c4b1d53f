"""AutoGluon's predictors of tables and of series."""

from __future__ import annotations

from typing import Any, Dict, Optional

from .._errors import TabellaError
from .._local import Fitted, Local
from .._verbs import forecast

_TASKS = {None: None, "binary": "classification", "multiclass": "classification", "regression": "regression"}


def TabularDataset(data: Any) -> Any:
    """A data frame of pandas, from a CSV file's path or of what pandas makes one of."""
    import pandas

    if isinstance(data, str) or hasattr(data, "__fspath__"):
        return pandas.read_csv(data)
    return pandas.DataFrame(data)


class TabularPredictor:
    """Learns the column `label` of a data frame. problem_type: binary, multiclass, regression, or None to be
    told by the column. Other arguments of AutoGluon's are taken and not needed."""

    def __init__(self, label: Any, problem_type: Optional[str] = None, **unused: Any) -> None:
        if problem_type not in _TASKS:
            raise ValueError(f"problem_type: {problem_type} is none of binary, multiclass and regression")
        self.label, self._task = label, _TASKS[problem_type]
        self._model: Optional[Fitted] = None
        self._columns: Any = None

    def fit(self, train_data: Any, **unused: Any) -> "TabularPredictor":
        """Of all rows of a data frame, or of a CSV file, whose label is there."""
        train = TabularDataset(train_data)
        train = train[train[self.label].notna()]
        self._columns = train.columns
        self._model = Local().fit(train, target=self.label, task=self._task)
        return self

    def _answers(self, data: Any) -> Any:
        if self._model is None:
            raise TabellaError("the predictor is to be fitted first: fit(train_data)")
        rows = TabularDataset(data)
        lacking = [c for c in self._columns if c != self.label and c not in rows.columns]
        if lacking:
            raise ValueError(f"the rows lack columns of the fitted ones: {', '.join(map(str, lacking[:4]))}")
        bundle = self._model.serve(rows.reindex(columns=self._columns))
        return bundle.prediction, bundle.predictions

    def predict(self, data: Any, **unused: Any) -> Any:
        """A series of the label, under the rows' index."""
        said, found = self._answers(data)
        return found["value" if said["task_type"] == "regression" else "label"].rename(self.label)

    def predict_proba(self, data: Any, **unused: Any) -> Any:
        """A column for each class."""
        said, found = self._answers(data)
        if said["task_type"] == "regression":
            raise ValueError("a number has no probabilities: predict gives its values")
        from .._bundle import text_of

        return found[[f"p({text_of(c)})" for c in said["classes"]]].set_axis(said["classes"], axis=1)

    def evaluate(self, data: Any, **unused: Any) -> Dict[str, float]:
        """accuracy of classes, or root_mean_squared_error, negative as AutoGluon has it: more is better."""
        rows = TabularDataset(data)
        said, found = self._answers(rows)
        if said["task_type"] == "regression":
            off = found["value"].astype(float) - rows[self.label].astype(float)
            return {"root_mean_squared_error": -(float((off**2).mean()) ** 0.5)}
        return {"accuracy": float((found["label"].astype(str) == rows[self.label].astype(str)).mean())}

    def leaderboard(self, data: Any, **unused: Any) -> Any:
        """The one model there is, and its score."""
        import pandas

        ((metric, value),) = self.evaluate(data).items()
        return pandas.DataFrame({"model": ["Tabella"], "score_test": [value], "eval_metric": [metric]})


class TimeSeriesDataFrame:
    """Makes data frames of pandas whose index is item_id and timestamp."""

    def __new__(cls, data: Any, id_column: str = "item_id", timestamp_column: str = "timestamp") -> Any:
        import pandas

        frame = TabularDataset(data)
        frame[timestamp_column] = pandas.to_datetime(frame[timestamp_column])
        names = {id_column: "item_id", timestamp_column: "timestamp"}
        return frame.rename(columns=names).set_index(["item_id", "timestamp"])

    @classmethod
    def from_data_frame(
        cls, df: Any, id_column: str = "item_id", timestamp_column: str = "timestamp", **unused: Any
    ) -> Any:
        return cls(df, id_column, timestamp_column)


class TimeSeriesPredictor:
    """The next `prediction_length` steps of each series. Nothing is learned before `predict`, which reads the
    series that it is given."""

    def __init__(self, prediction_length: int = 1, target: str = "target", **unused: Any) -> None:
        self.prediction_length, self.target = prediction_length, target

    def fit(self, train_data: Any, **unused: Any) -> "TimeSeriesPredictor":
        if self.target not in train_data.columns:
            raise ValueError(f"the series have no column {self.target}")
        return self

    def predict(self, data: Any, **unused: Any) -> Any:
        """mean, and the ends of the 80% interval as "0.1" and "0.9", by item_id and timestamp."""
        rows = data[[self.target]].reset_index()
        made = forecast(rows, horizon=self.prediction_length, target=self.target)
        names = {"time": "timestamp", "value": "mean", "low": "0.1", "high": "0.9"}
        made = made.rename(columns=names)
        if "item_id" not in made.columns:
            made["item_id"] = rows["item_id"].iloc[0]
        return made.set_index(["item_id", "timestamp"])
