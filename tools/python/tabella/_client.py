"""The client."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from ._arrow import body_of
from ._bundle import Bundle
from ._data import DataSets
from ._endpoints import Endpoints, Prompts
from ._errors import TabellaError
from ._frames import tables_of
from ._large import forget, stored_of
from ._questions import Verbs
from ._resource import Target, cost_of, fields_of
from ._resources import Audit, Jobs, Keys, Models, Notifications, Organization, People, Providers, Reports
from ._resources import Sessions, Usages, Webhooks
from ._transport import Transport
from ._types import Cost, Job
from ._uploads import Uploads

if TYPE_CHECKING:
    from ssl import SSLContext


class Tabella(Verbs):
    """A client of one Tabella service. Threads may share it.

    api_key: (default: TABELLA_API_KEY of the environment). base_url: (default: TABELLA_URL of the
    environment). timeout: seconds that a connection may stand still (default: 60; to connect, at most 5).
    max_retries: further attempts of a call that may succeed (default: 2). ssl_context: for certificates of
    one's own (default: the system's trusted ones)."""

    def __init__(
        self,
        api_key: Optional[str] = None,
        base_url: Optional[str] = None,
        *,
        timeout: float = 60.0,
        max_retries: int = 2,
        ssl_context: Optional["SSLContext"] = None,
    ) -> None:
        key = (api_key or os.environ.get("TABELLA_API_KEY") or "").strip()
        url = (base_url or os.environ.get("TABELLA_URL") or "").strip()
        if not key:
            raise TabellaError("no API key: give api_key, or set TABELLA_API_KEY")
        if not url:
            raise TabellaError("no address: give base_url, or set TABELLA_URL")
        if not key.isascii() or not key.isprintable():
            raise TabellaError("the API key holds characters that no key has")
        if timeout <= 0 or max_retries < 0:
            raise TabellaError("timeout is above 0, max_retries is 0 or more")
        self._transport = Transport(url, key, timeout, max_retries, ssl_context)
        self._known: Dict[str, Tuple[str, str]] = {}  # of an endpoint: its only table, its target
        self.endpoints = Endpoints(self)
        self.prompts = Prompts(self)
        self.data = DataSets(self)
        self.uploads = Uploads(self)
        self.reports = Reports(self)
        self.jobs = Jobs(self)
        self.models = Models(self)
        self.usage = Usages(self)
        self.keys = Keys(self)
        self.audit = Audit(self)
        self.notifications = Notifications(self)
        self.webhooks = Webhooks(self)
        self.providers = Providers(self)
        self.people = People(self)
        self.sessions = Sessions(self)
        self.organization = Organization(self)

        ...

        ...

    def run(
        self,
        tables: Any = None,
        *,
        name: str = "table",
        data: Optional[Sequence[str]] = None,
        target: Target = None,
        task: Optional[str] = None,
        base: Optional[str] = None,
        confidence_threshold: Optional[float] = None,
        processing: Optional[str] = None,
        out: Optional[str] = None,
        out_mode: Optional[str] = None,
        explain: Optional[bool] = None,
        columns: Optional[Sequence[Mapping[str, Any]]] = None,
        missing_values: Union[str, Sequence[Union[str, float]], None] = None,
        split: Optional[str] = None,
        horizon: Optional[int] = None,
        as_of: Optional[str] = None,
        anomaly_share: Optional[float] = None,
        anomaly_threshold: Optional[float] = None,
        options: Optional[Mapping[str, Any]] = None,
        progress: bool = False,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Bundle:
        """What tables are, how they relate, what is missing, and what can be predicted. Nothing is kept.

        tables: one table (a data frame of pandas or polars, an Arrow table, a list of dicts, a
        two-dimensional array), called `name`, or a dict of tables by name. data: dataset ids and references
        of connections, instead or besides. target: a column, `table.column` where there are several tables;
        False for no prediction (default: the service chooses). task: classification, regression or anomaly
        (default: by the target). base: a model's id (default: the service's). confidence_threshold: of
        matches that are reported, 0 to 1 (default: 0.5). processing: `batch` is cheaper and may take a day.
        out: where to write the bundle to. out_mode: of a table, new, append or replace (default: new).
        explain: each row's reasons. columns: what is known of columns, each a dict of table, column and role,
        type or use. missing_values: marks that stand for "missing", or "auto". split: auto, random, time or
        group. horizon: how many steps ahead of every series are asked besides (see forecast). as_of: the
        column that holds each row's own moment, as of which other tables count; "none": all their rows do.
        anomaly_share, or anomaly_threshold: so many rows, or those that score so much, are called anomalies
        (default: as the scores tell). options: what newer services take besides.

        A large run becomes a job, which is waited for. progress: draws a bar meanwhile. Ctrl-C cancels the
        job. idempotency_key: of a run that was perhaps sent before (default: a new one, kept over the
        attempts of this call)."""
        job = self.submit(
            tables,
            name=name,
            data=data,
            target=target,
            task=task,
            base=base,
            confidence_threshold=confidence_threshold,
            processing=processing,
            out=out,
            out_mode=out_mode,
            explain=explain,
            columns=columns,
            missing_values=missing_values,
            split=split,
            horizon=horizon,
            as_of=as_of,
            anomaly_share=anomaly_share,
            anomaly_threshold=anomaly_threshold,
            options=options,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return job.wait(progress=progress).result

    def submit(
        self,
        tables: Any = None,
        *,
        name: str = "table",
        data: Optional[Sequence[str]] = None,
        target: Target = None,
        task: Optional[str] = None,
        base: Optional[str] = None,
        confidence_threshold: Optional[float] = None,
        processing: Optional[str] = None,
        out: Optional[str] = None,
        out_mode: Optional[str] = None,
        explain: Optional[bool] = None,
        columns: Optional[Sequence[Mapping[str, Any]]] = None,
        missing_values: Union[str, Sequence[Union[str, float]], None] = None,
        split: Optional[str] = None,
        horizon: Optional[int] = None,
        as_of: Optional[str] = None,
        anomaly_share: Optional[float] = None,
        anomaly_threshold: Optional[float] = None,
        options: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Job:
        """As run, but gives the job at once; its result is the bundle. A small run is done in this call."""
        given, single = tables_of(tables, name) if tables is not None else ([], True)
        fields = fields_of(
            data,
            target,
            task,
            base,
            options,
            confidence_threshold=confidence_threshold,
            processing=processing,
            out=out,
            out_mode=out_mode,
            explain=explain,
            columns=columns,
            missing_values=missing_values,
            split=split,
            horizon=horizon,
            as_of=as_of,
            anomaly_share=anomaly_share,
            anomaly_threshold=anomaly_threshold,
        )
        sent, stored = stored_of(self, given, fields, idempotency_key)
        try:
            reply = self._transport.call(
                "POST_RUN",
                body=body_of(sent, fields),
                idempotency_key=idempotency_key,
                timeout=timeout,
            )
        except BaseException:
            forget(self, stored)
            raise
        if reply.status == 202:
            job = self._bound(Job.read({"kind": "run", **reply.json}))
            job._tables, job._stored = (given, single), stored
            return job
        forget(self, stored)
        id = reply.json.get("job_id")
        job = self._bound(Job.read({"job_id": id, "kind": "run", "status": "done", "progress": 100}))
        job.result = Bundle.of(reply.json, given, single, self._pages_of(id))
        return job

    def run_cost(
        self, /, tables: Any = None, *, name: str = "table", timeout: Optional[float] = None, **arguments: Any
    ) -> Cost:
        """What `run` with these arguments would be billed, and what is left. Nothing is done."""
        given, _ = tables_of(tables, name) if tables is not None else ([], True)
        fields = cost_of(arguments)
        sent, stored = stored_of(self, given, fields, None)
        try:
            reply = self._transport.call("POST_RUN", body=body_of(sent, fields), timeout=timeout)
        finally:
            forget(self, stored)
        return Cost.read(reply.json)

    def openapi(self) -> Dict[str, Any]:
        """The service's OpenAPI document."""
        return self._transport.call("GET_OPENAPI").json

    def close(self) -> None:
        """Closes the kept connections. The client may be used again."""
        self._transport.close()

    def __enter__(self) -> "Tabella":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Tabella({self._transport.host})"

    def __deepcopy__(self, _: Any) -> "Tabella":
        """Copies of what holds a client share it."""
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a client is not pickled: it holds a key")

    # ---- for the groups of calls ---------------------------------------------------------------

    def _pages_of(self, job_id: Any) -> Any:
        def fetch(cursor: str) -> Dict[str, Any]:
            return self._transport.call("GET_JOB", job_id, query={"cursor": cursor}).json

        fetch.jobs = self.jobs  # type: ignore[attr-defined]
        return fetch if job_id else None

    def _bound(self, job: Job) -> Job:
        """A job that can be waited for, its result in the form of its kind."""
        job._client = self
        result = job.extra.pop("result", None)
        if isinstance(result, dict) and job.kind in ("run", "batch", "serve") and "tables" in result:
            job.result = Bundle.of(result, [], True, self._pages_of(job.job_id))
        elif result is not None:
            job.result = result
        return job
