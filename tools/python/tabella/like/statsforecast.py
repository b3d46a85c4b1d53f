"""StatsForecast: the next steps of series in the columns unique_id, ds and y."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

from .._errors import TabellaError
from .._verbs import forecast

LEVEL = 80  # percent, of the intervals that there are


class StatsForecast:
    """models and freq are taken and not needed: the engine weighs its own, and finds the step."""

    def __init__(self, models: Any = None, freq: Any = None, **unused: Any) -> None:
        self._rows: Any = None

    def fit(self, df: Any, **unused: Any) -> "StatsForecast":
        self._rows = df
        return self

    def predict(self, h: int, level: Optional[Sequence[int]] = None, **unused: Any) -> Any:
        """unique_id, ds and Tabella; with level=[80] the ends of the interval as well. Others are not there:
        ValueError."""
        if self._rows is None:
            raise TabellaError("series are to be given first: fit(df), or forecast(df=df, h=12)")
        if level is not None and list(level) != [LEVEL]:
            raise ValueError(f"level: intervals have {LEVEL}%, level=[{LEVEL}]")
        made = forecast(self._rows, horizon=h, target="y")
        if "unique_id" not in made.columns:
            made.insert(0, "unique_id", self._rows["unique_id"].iloc[0])
        names = {"time": "ds", "value": "Tabella"}
        names.update({"low": f"Tabella-lo-{LEVEL}", "high": f"Tabella-hi-{LEVEL}"})
        made = made.rename(columns=names)
        return made if level is not None else made[["unique_id", "ds", "Tabella"]]

    def forecast(self, h: int, df: Any, level: Optional[Sequence[int]] = None, **unused: Any) -> Any:
        return self.fit(df).predict(h, level)


def __getattr__(name: str) -> Callable[..., str]:
    """A model by its name, such as AutoARIMA(season_length=12)."""
    if name.startswith("_"):
        raise AttributeError(name)
    return lambda *args, **kwargs: name
