"""The client's groups of calls: `client.endpoints`, `client.jobs` and their like. Each method is one route of
_routes.py; what a route answers with 202 is followed to its end unless `wait=False`."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Iterator, List, Literal, Mapping, Optional
from typing import Sequence, Tuple, Type, TypeVar, Union

from ._arrow import body_of
from ._bundle import Bundle
from ._errors import APITimeoutError, JobCancelledError, JobExpiredError, JobFailedError, NotFoundError
from ._errors import ValidationError
from ._frames import tables_of
from ._large import forget, stored_of
from ._transport import File, FormBody, Stopped, pause
from ._types import A, AuditEntry, Connected, Cost, Data, Deleted, Endpoint, Generated, Job, Key, LogEntry
from ._types import Model, Notification, OrganizationSettings, Prompt, Report, ReportSummary, Snapshot
from ._types import SnapshotDiff, SnapshotProfile, Sync, Uploaded
from ._types import Usage

if TYPE_CHECKING:
    from ._client import Tabella

T = TypeVar("T")
Target = Union[str, bool, Mapping[str, str], None]
FIRST_LOOK_S, LAST_LOOK_S = 0.25, 5.0  # between two looks at a job: 12 requests a minute in the long run


class Page(Generic[T]):
    """One page of a list. Iterating goes through all pages; `items` are this one's, `total` counts all."""

    def __init__(
        self, items: List[T], next_cursor: Optional[str], total: int, follow: Callable[[str], "Page[T]"]
    ) -> None:
        self.items, self.next_cursor, self.total, self._follow = items, next_cursor, total, follow

    def next_page(self) -> Optional["Page[T]"]:
        return self._follow(self.next_cursor) if self.next_cursor else None

    def __iter__(self) -> Iterator[T]:
        page: Optional[Page[T]] = self
        while page is not None:
            yield from page.items
            page = page.next_page()

    def __repr__(self) -> str:
        return f"Page({len(self.items)} of {self.total})"


class Resource:
    def __init__(self, client: "Tabella") -> None:
        self._client = client
        self._call = client._transport.call

    def _page(
        self,
        operation: str,
        *ids: str,
        field: str,
        kind: Type[A],
        limit: Optional[int],
        cursor: Optional[str],
        **query: Any,
    ) -> Page[A]:
        raw = self._call(operation, *ids, query={"limit": limit, "cursor": cursor, **query}).json

        def follow(next_cursor: str) -> Page[A]:
            return self._page(
                operation, *ids, field=field, kind=kind, limit=limit, cursor=next_cursor, **query
            )

        items = [kind.read(x) for x in raw[field]]
        if kind is Job:
            items = [self._client._bound(x) for x in items]  # type: ignore
        return Page(items, raw.get("next_cursor"), raw.get("total", len(items)), follow)


def target_of(target: Target) -> Optional[Mapping[str, str]]:
    """None: the service chooses. A text: that column. False: no prediction."""
    if target is None or target is True:
        return None
    if target is False:
        return {"mode": "none"}
    return {"column": target} if isinstance(target, str) else target


def fields_of(
    data: Optional[Sequence[str]],
    target: Target,
    task: Optional[str],
    base: Optional[str],
    options: Optional[Mapping[str, Any]],
    **more: Any,
) -> Dict[str, Any]:
    """A request's fields besides its tables; `more` are options that have an argument of their own."""
    chosen = {**(options or {}), **{k: v for k, v in more.items() if v is not None}}
    fields: Dict[str, Any] = {
        "data": [data] if isinstance(data, str) else list(data) if data is not None else None,
        "target": target_of(target),
        "task": {"type": task} if task is not None else None,
        "base": base,
        "options": chosen or None,
    }
    return {k: v for k, v in fields.items() if v is not None}


def cost_of(arguments: Mapping[str, Any]) -> Dict[str, Any]:
    """The fields of a request that is only asked what it would cost."""
    rest = dict(arguments)
    first = {k: rest.pop(k, None) for k in ("data", "target", "task", "base", "options")}
    return {**fields_of(**first, **rest), "dry_run": True}


class Endpoints(Resource):
    """Pinned data under a stable address, graded on rows that were held out."""

    def create(
        self,
        name: str,
        tables: Any = None,
        *,
        data: Optional[Sequence[str]] = None,
        target: Target = None,
        task: Optional[str] = None,
        base: Optional[str] = None,
        confidence_threshold: Optional[float] = None,
        explain: Optional[bool] = None,
        columns: Optional[Sequence[Mapping[str, Any]]] = None,
        missing_values: Union[str, Sequence[Union[str, float]], None] = None,
        split: Optional[str] = None,
        options: Optional[Mapping[str, Any]] = None,
        wait: bool = True,
        progress: bool = False,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Endpoint:
        """Makes an endpoint of tables or of stored data (dataset ids), and gives it once it is live.

        wait=False gives it as it is, `creating`; its `wait()` waits then.

        A single table goes by the endpoint's name; the other arguments are those of `Tabella.run`."""
        given, _ = tables_of(tables, name) if tables is not None else ([], True)
        fields = fields_of(
            data,
            target,
            task,
            base,
            options,
            confidence_threshold=confidence_threshold,
            explain=explain,
            columns=columns,
            missing_values=missing_values,
            split=split,
        )
        body = {"name": name, **fields}
        given, stored = stored_of(self._client, given, body, idempotency_key)
        try:
            reply = self._call(
                "POST_ENDPOINTS",
                body=body_of(given, body),
                idempotency_key=idempotency_key,
                timeout=timeout,
            )
        except BaseException:
            forget(self._client, stored)
            raise
        return self._followed(reply.json, wait, progress)

    def create_cost(
        self, /, name: str, tables: Any = None, *, timeout: Optional[float] = None, **arguments: Any
    ) -> Cost:
        """What `create` with these arguments would be billed, and what is left. Nothing is made."""
        given, _ = tables_of(tables, name) if tables is not None else ([], True)
        body = {"name": name, **cost_of(arguments)}
        given, stored = stored_of(self._client, given, body, None)
        try:
            reply = self._call("POST_ENDPOINTS", body=body_of(given, body), timeout=timeout)
        finally:
            forget(self._client, stored)
        return Cost.read(reply.json)

    def _followed(self, raw: Any, wait: bool, progress: bool) -> Endpoint:
        """The endpoint when its job has ended."""
        begun = Endpoint.read(raw)
        begun.job = {"job_id": raw.get("job_id")}
        begun._client = self._client
        return begun.wait(progress=progress) if wait else begun

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[Endpoint]:
        return self._page("GET_ENDPOINTS", field="endpoints", kind=Endpoint, limit=limit, cursor=cursor)

    def retrieve(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Endpoint:
        """The endpoint, by id or name, with the bundle of its pinned data. With a cursor: `raw` is a page of
        one of the bundle's arrays."""
        raw = self._call("GET_ENDPOINT", id, query={"limit": limit, "cursor": cursor}).json
        made = Endpoint.read(raw)
        made._client = self._client
        if cursor is None and isinstance(raw.get("tables"), list):
            known = raw.get("id", id)

            def fetch(at: str) -> Dict[str, Any]:
                return self._call("GET_ENDPOINT", known, query={"cursor": at}).json

            made.bundle = Bundle.of(raw, [], True, fetch)
        return made

    def serve(self, id: str, tables: Any, *, timeout: Optional[float] = None) -> Bundle:
        """The bundle of new rows, answered by the endpoint. A single table goes by the name of the endpoint's
        table; the target's column stays, its cells may be missing. At most 10,000 rows a call."""
        given, single = tables_of(tables, "")
        if single:
            given[0].id = self._table_name(id)
        try:
            reply = self._call("POST_SERVE", id, body=body_of(given, {}), timeout=timeout)
        except (NotFoundError, ValidationError):
            self._client._table_names.pop(id, None)  # another endpoint may go by this name now
            raise
        return Bundle.of(reply.json, given, single, None)

    def serve_cost(self, id: str, tables: Any, *, timeout: Optional[float] = None) -> Cost:
        """What `serve` with these tables would be billed, and what is left. Nothing is computed."""
        given, single = tables_of(tables, "")
        if single:
            given[0].id = self._table_name(id)
        return Cost.read(
            self._call("POST_SERVE", id, body=body_of(given, {"dry_run": True}), timeout=timeout).json
        )

    def _table_name(self, id: str) -> str:
        """What the endpoint calls its only table; asked once."""
        names = self._client._table_names
        if id not in names:
            raw = self._call("GET_ENDPOINT", id, query={"limit": 1}).json
            found = [d.get("table") or d.get("name") for d in (raw.get("data") or {}).get("datasets", [])]
            if len(found) != 1:
                raise ValueError(f"endpoint {id} has {len(found)} tables: give a dict of tables by name")
            names[id] = found[0]
        return names[id]

    def refresh(
        self,
        id: str,
        *,
        wait: bool = True,
        progress: bool = False,
        idempotency_key: Optional[str] = None,
    ) -> Endpoint:
        """Moves the endpoint onto the newest snapshots of its data; `diff` says what changed."""
        raw = self._call("POST_ENDPOINT_REFRESH", id, idempotency_key=idempotency_key).json
        return self._followed(raw, wait, progress)

    def refresh_cost(self, id: str) -> Cost:
        """What `refresh` would be billed now, and what is left. The source is read, nothing is changed."""
        return Cost.read(self._call("POST_ENDPOINT_REFRESH", id, body={"dry_run": True}).json)

    def upgrade(
        self,
        id: str,
        base: str,
        *,
        wait: bool = True,
        progress: bool = False,
        idempotency_key: Optional[str] = None,
    ) -> Endpoint:
        """Moves the endpoint to another base; its report says what that changed."""
        raw = self._call(
            "POST_ENDPOINT_UPGRADE", id, body={"base": base}, idempotency_key=idempotency_key
        ).json
        return self._followed(raw, wait, progress)

    def update(
        self,
        id: str,
        *,
        name: Optional[str] = None,
        target: Target = None,
        task: Optional[str] = None,
        confidence_threshold: Optional[float] = None,
        columns: Optional[Sequence[Mapping[str, Any]]] = None,
        missing_values: Union[str, Sequence[Union[str, float]], None] = None,
        split: Optional[str] = None,
        options: Optional[Mapping[str, Any]] = None,
    ) -> Endpoint:
        """Changes name, target, task, threshold, columns, missing marks or split, at once."""
        fields = fields_of(
            None,
            target,
            task,
            None,
            options,
            confidence_threshold=confidence_threshold,
            columns=columns,
            missing_values=missing_values,
            split=split,
        )
        if target is True:
            fields["target"] = {"mode": "auto"}
        if name is not None:
            fields["name"] = name
        return Endpoint.read(self._call("PATCH_ENDPOINT", id, body=fields).json)

    def logs(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[LogEntry]:
        """What was done with the endpoint, newest first."""
        return self._page("GET_ENDPOINT_LOGS", id, field="logs", kind=LogEntry, limit=limit, cursor=cursor)

    def openapi(self, id: str) -> Dict[str, Any]:
        """The OpenAPI document of the endpoint's own serve call."""
        return self._call("GET_ENDPOINT_OPENAPI", id).json

    def delete(self, id: str) -> Deleted:
        """Ends the endpoint at once; its reports stay."""
        self._client._table_names.pop(id, None)
        return Deleted.read(self._call("DELETE_ENDPOINT", id).json)


class Prompts(Resource):
    """Fragments of an endpoint's system prompt. Each call answers the endpoint with all its fragments."""

    def create(
        self,
        id: str,
        name: str,
        body: str,
        *,
        active: Optional[bool] = None,
        order: Optional[int] = None,
    ) -> Endpoint:
        fields = {"name": name, "body": body, "active": active, "order": order}
        given = {k: v for k, v in fields.items() if v is not None}
        return Endpoint.read(self._call("POST_PROMPTS", id, body=given).json)

    def update(
        self,
        id: str,
        sub: str,
        *,
        name: Optional[str] = None,
        body: Optional[str] = None,
        active: Optional[bool] = None,
        order: Optional[int] = None,
    ) -> Endpoint:
        """sub: the fragment's id."""
        fields = {"name": name, "body": body, "active": active, "order": order}
        given = {k: v for k, v in fields.items() if v is not None}
        return Endpoint.read(self._call("PATCH_PROMPT", id, sub, body=given).json)

    def delete(self, id: str, sub: str) -> Endpoint:
        return Endpoint.read(self._call("DELETE_PROMPT", id, sub).json)


def _generation(sector: str, rows: int, name: Optional[str], **options: Any) -> Dict[str, Any]:
    given = {k: v for k, v in options.items() if v is not None}
    fields = {"sector": sector, "rows": rows, "name": name, "options": given or None}
    return {k: v for k, v in fields.items() if v is not None}


class DataSets(Resource):
    """Datasets and connections."""

    def connect(
        self,
        source: str,
        *,
        name: Optional[str] = None,
        credentials: Optional[Mapping[str, Any]] = None,
        query: Optional[str] = None,
        sheet: Optional[str] = None,
        key: Optional[Sequence[str]] = None,
        records: Optional[str] = None,
        write: Optional[bool] = None,
    ) -> Connected:
        """Registers a source and takes its first snapshot. Credentials are never answered again. query: read
        instead of the table; sheet: the one of a workbook; key: the columns that identify a row; records: a
        JSON pointer to the rows of an answer; write: runs may write below it."""
        asked: Dict[str, Any] = {
            "query": query,
            "sheet": sheet,
            "key": None if key is None else list(key),
            "records": records,
            "write": write,
        }
        options = {k: v for k, v in asked.items() if v is not None}
        fields = {"source": source, "name": name, "credentials": credentials, "options": options or None}
        given = {k: v for k, v in fields.items() if v is not None}
        return Connected.read(self._call("POST_DATA_CONNECT", body=given).json)

    def upload(
        self,
        file: File,
        *,
        name: Optional[str] = None,
        sheet: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        progress: bool = False,
    ) -> Uploaded:
        """A file, by its path or as its name and bytes: CSV, JSON, NDJSON, xlsx, ods, Parquet, Arrow, SAS,
        SPSS or Stata, packed (gz, zip) or not, up to 1 GiB, read as it is sent. Its tables become datasets:
        of a large file by a job, which is waited for. name: of its only table; sheet: the one of a
        workbook."""
        texts = {} if name is None else {"name": name}
        if sheet is not None:
            texts["options"] = json.dumps({"sheet": sheet})
        body = FormBody(texts, file)
        reply = self._call("POST_DATA_UPLOAD", body=body, idempotency_key=idempotency_key)
        if reply.status != 202:
            return Uploaded.read(reply.json)
        job = self._client._bound(Job.read(reply.json))
        return Uploaded.read(job.wait(progress=progress).result)

    def generate(
        self,
        sector: str,
        rows: int,
        *,
        name: Optional[str] = None,
        tables: Optional[bool] = None,
        seed: Optional[int] = None,
        processing: Optional[Literal["realtime", "batch"]] = None,
        idempotency_key: Optional[str] = None,
        progress: bool = False,
    ) -> Generated:
        """A sector's main table from nothing, as a dataset; tables: all its linked tables. The same sector,
        rows and seed give the same tables. A large or batch one by a job, which is waited for."""
        body = _generation(sector, rows, name, tables=tables, seed=seed, processing=processing)
        reply = self._call("POST_DATA_GENERATE", body=body, idempotency_key=idempotency_key)
        if reply.status != 202:
            return Generated.read(reply.json)
        job = self._client._bound(Job.read(reply.json))
        return Generated.read(job.wait(progress=progress).result)

    def generate_cost(self, sector: str, rows: int, *, tables: Optional[bool] = None) -> Cost:
        """What `generate` would be billed, and what is left. Nothing is made."""
        body = {**_generation(sector, rows, None, tables=tables), "dry_run": True}
        return Cost.read(self._call("POST_DATA_GENERATE", body=body).json)

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[Data]:
        return self._page("GET_DATA_LIST", field="datasets", kind=Data, limit=limit, cursor=cursor)

    def retrieve(self, id: str) -> Data:
        return Data.read(self._call("GET_DATA", id).json)

    def sync(self, id: str, *, progress: bool = False) -> Sync:
        """A new snapshot of a connection's source; of a large one by a job, which is waited for."""
        reply = self._call("POST_DATA_SYNC", id)
        if reply.status != 202:
            return Sync.read(reply.json)
        job = self._client._bound(Job.read(reply.json))
        return Sync.read(job.wait(progress=progress).result)

    def snapshots(
        self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[Snapshot]:
        """A dataset's snapshots, the newest first. The rows of old ones are not kept."""
        return self._page(
            "GET_DATA_SNAPSHOTS", id, field="snapshots", kind=Snapshot, limit=limit, cursor=cursor
        )

    def diff(
        self,
        id: str,
        *,
        before: Optional[str] = None,
        after: Optional[str] = None,
        change: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> SnapshotDiff:
        """What two snapshots differ by, column by column and row by row; `changes` is a page of the rows, of
        one `change` ("added", "removed", "changed") or of all. Default: the current one and the one before
        it."""
        query = {"before": before, "after": after, "change": change, "limit": limit, "cursor": cursor}
        return SnapshotDiff.read(self._call("GET_DATA_DIFF", id, query=query).json)

    def profile(self, id: str, *, snapshot: Optional[str] = None) -> SnapshotProfile:
        """How the values of a snapshot's columns are spread; nothing is learned from them, or billed."""
        return SnapshotProfile.read(self._call("GET_DATA_PROFILE", id, query={"snapshot": snapshot}).json)

    def pin(self, id: str) -> Data:
        return Data.read(self._call("POST_DATA_PIN", id).json)

    def unpin(self, id: str) -> Data:
        return Data.read(self._call("POST_DATA_UNPIN", id).json)

    def delete(self, id: str) -> Deleted:
        return Deleted.read(self._call("DELETE_DATA", id).json)


class Reports(Resource):
    """What endpoints are worth on rows that they did not see, and records of runs."""

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[ReportSummary]:
        return self._page("GET_REPORTS", field="reports", kind=ReportSummary, limit=limit, cursor=cursor)

    def retrieve(self, id: str) -> Report:
        return Report.read(self._call("GET_REPORT", id).json)

    def star(self, id: str) -> ReportSummary:
        """Keeps the report at the top of the list."""
        return ReportSummary.read(self._call("POST_REPORT_STAR", id).json)

    def unstar(self, id: str) -> ReportSummary:
        return ReportSummary.read(self._call("POST_REPORT_UNSTAR", id).json)


class Jobs(Resource):
    """Work that goes on without its caller."""

    def list(
        self, *, status: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[Job]:
        return self._page("GET_JOBS", field="jobs", kind=Job, limit=limit, cursor=cursor, status=status)

    def retrieve(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Job:
        """The job, with its result once it is done. With a cursor: `raw` is a page of the result's arrays."""
        return self._client._bound(
            Job.read(self._call("GET_JOB", id, query={"limit": limit, "cursor": cursor}).json)
        )

    def cancel(self, id: str) -> Job:
        return self._client._bound(Job.read(self._call("POST_JOB_CANCEL", id).json))

    def wait(self, job: Union[Job, str], *, progress: bool = False, timeout: Optional[float] = None) -> Job:
        """See Job.wait."""
        id = job if isinstance(job, str) else job.job_id
        tables, stored = getattr(job, "_tables", None), getattr(job, "_stored", ())
        if isinstance(job, Job) and job.status == "done" and job.result is not None:
            return job
        end = None if timeout is None else time.monotonic() + timeout
        bar = Bar(id) if progress else None
        look = FIRST_LOOK_S
        try:
            while True:
                now = self.retrieve(id)
                if bar is not None:
                    bar.show(now)
                if now.ended:
                    break
                if end is not None and time.monotonic() + look > end:
                    raise APITimeoutError(f"job {id} is {now.status} after {timeout:g} s, and goes on")
                pause(look)
                look = min(1.2 * look, LAST_LOOK_S)  # a job is seen at most a sixth of its time late
        except (KeyboardInterrupt, Stopped):
            self._cancel_quietly(id)
            forget(self._client, stored)
            raise
        finally:
            if bar is not None:
                bar.close()
        forget(self._client, stored)
        if tables is not None and isinstance(now.result, Bundle):
            now.result = Bundle.of(now.result.raw, tables[0], tables[1], now.result._fetch)
        return self._done(now)

    def _cancel_quietly(self, id: str) -> None:
        """The caller is leaving: what the cancellation answers matters to nobody."""
        try:
            self.cancel(id)
        except Exception:
            pass

    @staticmethod
    def _done(job: Job) -> Job:
        if job.status == "done":
            return job
        kinds = {"cancelled": JobCancelledError, "expired": JobExpiredError}
        said = job.error or f"the job is {job.status}"
        error = kinds.get(job.status, JobFailedError)(said, status=500, type="job_failed", body=job.raw)
        error.job = job
        raise error


class Bar:
    """A job's progress on standard error: tqdm's bar where it is installed, else one line that changes."""

    def __init__(self, id: str) -> None:
        self.id, self.bar, self.last = id, None, ""
        try:
            from tqdm.auto import tqdm

            self.bar = tqdm(total=100, desc=id, unit="%", leave=True)
        except ImportError:
            pass

    def show(self, job: Job) -> None:
        if self.bar is not None:
            self.bar.set_description(job.phase or job.status)
            self.bar.update(max(0, job.progress - self.bar.n))
            return
        done = 20 * job.progress // 100
        line = f"{self.id} [{'#' * done}{'.' * (20 - done)}] {job.progress} % {job.phase or job.status}"
        if line != self.last:
            sys.stderr.write("\r" + line.ljust(len(self.last)))
            sys.stderr.flush()
            self.last = line

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        elif self.last:
            sys.stderr.write("\n")


class Models(Resource):
    """Bases: what computes the answers."""

    def list(self) -> List[Model]:
        return [Model.read(x) for x in self._call("GET_MODELS").json["models"]]


class Usages(Resource):
    """The organization's meter."""

    def retrieve(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Usage:
        """`events` come in pages: limit a page, next_cursor the next one's."""
        return Usage.read(self._call("GET_USAGE", query={"limit": limit, "cursor": cursor}).json)


class Keys(Resource):
    """API keys of the organization."""

    def list(self) -> List[Key]:
        return [Key.read(x) for x in self._call("GET_KEYS").json["keys"]]

    def create(self, name: str, scopes: Sequence[str]) -> Key:
        """scopes: of read, run, serve, manage, delete. The answer's `key` is the secret, shown this once."""
        return Key.read(self._call("POST_KEYS", body={"name": name, "scopes": [*scopes]}).json)

    def rotate(self, id: str) -> Key:
        """A new secret; the old one ends at once."""
        return Key.read(self._call("POST_KEY_ROTATE", id).json)

    def delete(self, id: str) -> Deleted:
        """Revokes the key at once."""
        return Deleted.read(self._call("DELETE_KEY", id).json)


class Audit(Resource):
    """Who did what to connections, keys, data and prompts."""

    def list(
        self,
        *,
        event: Optional[str] = None,
        actor: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Page[AuditEntry]:
        """Newest first. since, until: times like 2026-11-21T09:24:05Z."""
        return self._page(
            "GET_AUDIT",
            field="audit",
            kind=AuditEntry,
            limit=limit,
            cursor=cursor,
            event=event,
            actor=actor,
            since=since,
            until=until,
        )


class Notifications(Resource):
    """What the organization is told: ended jobs, usage, keys, failing connections."""

    def list(
        self, *, unread: Optional[bool] = None, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[Notification]:
        asked = None if unread is None else str(unread).lower()
        return self._page(
            "GET_NOTIFICATIONS",
            field="notifications",
            kind=Notification,
            limit=limit,
            cursor=cursor,
            unread=asked,
        )

    def read(self, id: str) -> Notification:
        """Marks it as read."""
        return Notification.read(self._call("POST_NOTIFICATION_READ", id).json)


class Organization(Resource):
    """Settings of the key's organization."""

    def retrieve(self) -> OrganizationSettings:
        return OrganizationSettings.read(self._call("GET_ORGANIZATION").json)

    def update(
        self,
        *,
        name: Optional[str] = None,
        emails: Optional[Sequence[str]] = None,
        alerts: Optional[Mapping[str, bool]] = None,
        add_usage: Optional[bool] = None,
        spend_cap_usd: Union[float, None, Literal["none"]] = None,
    ) -> OrganizationSettings:
        """What is not given stays. spend_cap_usd "none" takes the cap away."""
        given = {
            "name": name,
            "emails": None if emails is None else [*emails],
            "alerts": None if alerts is None else dict(alerts),
            "add_usage": add_usage,
            "spend_cap_usd": spend_cap_usd,
        }
        fields: Dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        if spend_cap_usd == "none":
            fields["spend_cap_usd"] = None
        return OrganizationSettings.read(self._call("PUT_ORGANIZATION", body=fields).json)
