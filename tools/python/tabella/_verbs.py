"""The questions as functions: asked of the service where TABELLA_URL names one, else of the engine in this
process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ._questions import Verbs

if TYPE_CHECKING:
    from typing import Union

    from ._bundle import Bundle
    from ._client import Tabella
    from ._local import Local


def _place() -> "Union[Tabella, Local]":
    """The service, or else the engine in this process."""
    if (os.environ.get("TABELLA_URL") or "").strip():
        from ._client import Tabella

        return Tabella()
    from ._local import Local

    return Local()


def run(tables: Any = None, **arguments: Any) -> "Bundle":
    """`Local().run`: with the engine in this process, no server and no key, whatever TABELLA_URL says."""
    from ._local import Local

    return Local().run(tables, **arguments)


def match(a: Any, b: Any, **arguments: Any) -> Any:
    with _place() as place:
        return place.match(a, b, **arguments)


def dedupe(tables: Any = None, **arguments: Any) -> Any:
    with _place() as place:
        return place.dedupe(tables, **arguments)


def profile(tables: Any = None, **arguments: Any) -> Any:
    with _place() as place:
        return place.profile(tables, **arguments)


def fill(tables: Any = None, **arguments: Any) -> Any:
    with _place() as place:
        return place.fill(tables, **arguments)


def check(tables: Any = None, **arguments: Any) -> Any:
    with _place() as place:
        return place.check(tables, **arguments)


def forecast(tables: Any = None, *, horizon: int, target: Any = None, **arguments: Any) -> Any:
    with _place() as place:
        return place.forecast(tables, horizon=horizon, target=target, **arguments)


def predict(train: Any, rows: Any, *, target: Any, **arguments: Any) -> Any:
    with _place() as place:
        return place.predict(train, rows, target=target, **arguments)


for _verb in (match, dedupe, profile, fill, check, forecast, predict):
    _verb.__doc__ = getattr(Verbs, _verb.__name__).__doc__
