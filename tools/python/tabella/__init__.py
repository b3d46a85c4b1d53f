"""Tabella: tables in, one bundle of answers out.

    from tabella import Tabella

    client = Tabella()              # TABELLA_URL and TABELLA_API_KEY
    bundle = client.run(df)         # what the table is, what is missing, what can be predicted
    bundle.predictions              # a data frame with df's index
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._async import AsyncTabella
    from ._bundle import Bundle
    from ._client import Tabella
    from ._errors import (
        APIConnectionError,
        APIError,
        APITimeoutError,
        AuthenticationError,
        CapabilityUnavailableError,
        ConflictError,
        InternalError,
        JobCancelledError,
        JobExpiredError,
        JobFailedError,
        NotFoundError,
        PermissionDeniedError,
        RateLimitError,
        TabellaError,
        ValidationError,
    )
    from ._local import Local
    from ._resource import Page
    from ._transport import VERSION as __version__
    from ._types import (
        Cost,
        Data,
        Endpoint,
        Generated,
        Job,
        Key,
        Model,
        Report,
        ReportSummary,
        ServiceLevel,
        Sync,
        Upload,
        Uploaded,
        Usage,
    )
    from ._verbs import check, dedupe, fill, forecast, match, predict, profile, run

__all__ = [
    "APIConnectionError",
    "APIError",
    "APITimeoutError",
    "AsyncTabella",
    "AuthenticationError",
    "Bundle",
    "CapabilityUnavailableError",
    "ConflictError",
    "Cost",
    "Data",
    "Endpoint",
    "InternalError",
    "Generated",
    "Job",
    "JobCancelledError",
    "JobExpiredError",
    "JobFailedError",
    "Key",
    "Local",
    "Model",
    "NotFoundError",
    "Page",
    "PermissionDeniedError",
    "RateLimitError",
    "Report",
    "ReportSummary",
    "ServiceLevel",
    "Sync",
    "Upload",
    "Uploaded",
    "Tabella",
    "TabellaError",
    "Usage",
    "ValidationError",
    "__version__",
    "check",
    "dedupe",
    "fill",
    "forecast",
    "match",
    "predict",
    "profile",
    "run",
]


# Where each name is: a module is imported when a name of it is asked for, so that `import tabella` costs
# nothing (http, ssl, dataclasses and ctypes are slow to come).
_NAMES = {
    "_async": "AsyncTabella",
    "_bundle": "Bundle",
    "_client": "Tabella",
    "_errors": "APIConnectionError APIError APITimeoutError AuthenticationError CapabilityUnavailableError "
    "ConflictError InternalError JobCancelledError JobExpiredError JobFailedError NotFoundError "
    "PermissionDeniedError RateLimitError TabellaError ValidationError",
    "_local": "Local",
    "_resource": "Page",
    "_types": "Cost Data Endpoint Generated Job Key Model Report ReportSummary ServiceLevel Sync Upload "
    "Uploaded Usage",
    "_verbs": "check dedupe fill forecast match predict profile run",
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ._transport import VERSION

        return VERSION
    if name not in _WHERE:
        raise AttributeError(f"module tabella has no attribute {name}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module("." + _WHERE[name], __name__), name)
    return value


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
