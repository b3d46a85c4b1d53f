"""Splink: rows of one table, or of two, that are one entity. Comparisons, blocking rules and training are
taken and not needed: the engine has learned its own."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Optional, Tuple

from .._verbs import dedupe, match

MOST = 1 - 1e-12  # a weight is finite


class _Nothing:
    """Takes every call."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


comparison_library = _Nothing()


def block_on(*columns: str, **unused: Any) -> Tuple[str, ...]:
    return columns


def DuckDBAPI(*args: Any, **unused: Any) -> None:
    """Rows stay where they are."""


class SettingsCreator:
    """link_type: dedupe_only or link_only."""

    def __init__(self, link_type: str, unique_id_column_name: str = "unique_id", **unused: Any) -> None:
        if link_type not in ("dedupe_only", "link_only"):
            raise ValueError(f"link_type: {link_type} is none of dedupe_only and link_only")
        self.link_type, self.unique_id = link_type, unique_id_column_name


class SplinkDataFrame:
    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def as_pandas_dataframe(self, limit: Optional[int] = None) -> Any:
        return self._frame if limit is None else self._frame.head(limit)


class Linker:
    """input_table_or_tables: a data frame of pandas (dedupe_only), or two (link_only)."""

    def __init__(
        self, input_table_or_tables: Any, settings: SettingsCreator, *args: Any, **unused: Any
    ) -> None:
        tables = input_table_or_tables
        self._tables = list(tables) if isinstance(tables, (list, tuple)) else [tables]
        wanted = 1 if settings.link_type == "dedupe_only" else 2
        if len(self._tables) != wanted:
            raise ValueError(f"{settings.link_type} takes {wanted} tables, and these are {len(self._tables)}")
        self._settings = settings
        self.training, self.inference, self.clustering = _Nothing(), _Inference(self), _Clustering(self)

    def _pairs(self) -> List[Tuple[Any, Any, float]]:
        """Labels of both rows, and the probability."""
        if len(self._tables) == 2:
            found = match(*self._tables)
            return list(zip(found["a_row"], found["b_row"], found["confidence"]))
        pairs = []
        found = dedupe(self._tables[0])
        for _, group in found.groupby("group"):
            rows, p = list(group["row"]), float(group["confidence"].iloc[0])
            pairs += [(a, b, p) for i, a in enumerate(rows) for b in rows[i + 1 :]]
        return pairs

    def _id(self, side: int, label: Any) -> Any:
        table = self._tables[side % len(self._tables)]
        name = self._settings.unique_id
        return table.at[label, name] if name in table.columns else label


class _Inference:
    def __init__(self, linker: Linker) -> None:
        self._linker = linker

    def predict(
        self,
        threshold_match_probability: Optional[float] = None,
        threshold_match_weight: Optional[float] = None,
        **unused: Any,
    ) -> SplinkDataFrame:
        """A pair a row: match_weight, match_probability, unique_id_l, unique_id_r."""
        import pandas

        name = self._linker._settings.unique_id
        columns: Dict[str, List[Any]] = {
            "match_weight": [],
            "match_probability": [],
            f"{name}_l": [],
            f"{name}_r": [],
        }
        for a, b, p in self._linker._pairs():
            sure = min(p, MOST)
            weight = math.log2(sure / (1 - sure)) if sure > 0 else -math.inf
            if p >= (threshold_match_probability or 0) and weight >= (
                -math.inf if threshold_match_weight is None else threshold_match_weight
            ):
                cells = weight, p, self._linker._id(0, a), self._linker._id(1, b)
                for column, value in zip(columns.values(), cells):
                    column.append(value)
        return SplinkDataFrame(pandas.DataFrame(columns))


class _Clustering:
    def __init__(self, linker: Linker) -> None:
        self._linker = linker

    def cluster_pairwise_predictions_at_threshold(
        self, df_predict: SplinkDataFrame, threshold_match_probability: float = 0.5, **unused: Any
    ) -> SplinkDataFrame:
        """All rows, those of one entity with one cluster_id."""
        import pandas

        name, first = self._linker._settings.unique_id, {}  # type: str, Dict[Any, Any]

        def root(x: Any) -> Any:
            while first.get(x, x) != x:
                x = first[x]
            return x

        two = len(self._linker._tables) == 2
        for row in df_predict.as_pandas_dataframe().itertuples(index=False):
            if row[1] >= threshold_match_probability:
                a, b = sorted((root((0, row[2])), root((int(two), row[3]))), key=str)
                first[b] = a
        frames = []
        for side, table in enumerate(self._linker._tables):
            ids = [self._linker._id(side, label) for label in table.index]
            made = table.copy()
            made.insert(0, "cluster_id", [root((side, x))[1] for x in ids])
            if name not in made.columns:
                made.insert(1, name, ids)
            frames.append(made)
        return SplinkDataFrame(pandas.concat(frames, ignore_index=True))
