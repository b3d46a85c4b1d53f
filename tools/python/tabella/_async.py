"""The asynchronous client: the same calls, each in a thread of a pool of its own.

Threads, not streams: one implementation of connections, retries and frames serves both clients, writing a
large frame as JSON is CPU work that would hold an event loop up anyway, and the number of calls under way is
bounded by the plan of an organization, not by threads. A cancelled task stops waiting at once; what it waited
for as a job is cancelled, a request that is already sent ends by itself."""

from __future__ import annotations

import asyncio
import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, AsyncIterator, Awaitable, Callable, Generic, List, Optional, TypeVar

from . import _data as data
from . import _endpoints as endpoints
from . import _resources as r
from . import _uploads as uploads
from ._resource import Page
from ._bundle import Bundle
from ._client import Tabella
from ._transport import here
from ._types import Endpoint, Job

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")
S = TypeVar("S")


class AsyncPage(Generic[T]):
    """One page of a list. `async for` goes through all pages."""

    def __init__(self, page: Page[T], client: "AsyncTabella") -> None:
        self._page, self._client = page, client
        self.items, self.next_cursor, self.total = page.items, page.next_cursor, page.total

    async def next_page(self) -> Optional["AsyncPage[T]"]:
        page = await self._client._in_thread(self._page.next_page)
        return None if page is None else AsyncPage(page, self._client)

    async def __aiter__(self) -> AsyncIterator[T]:
        page: Optional[AsyncPage[T]] = self
        while page is not None:
            for item in page.items:
                yield item
            page = await page.next_page()


class Group:
    def __init__(self, client: "AsyncTabella", sync: Any) -> None:
        self._client, self._sync = client, sync


def _threaded(method: "Callable[Concatenate[S, P], T]") -> "Callable[Concatenate[Any, P], Awaitable[T]]":
    """The asynchronous form of a method of a group."""

    @functools.wraps(method)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await self._client._in_thread(functools.partial(method, self._sync, *args, **kwargs))

    return call  # type: ignore[return-value]


def _paged(
    method: "Callable[Concatenate[S, P], Page[T]]",
) -> "Callable[Concatenate[Any, P], Awaitable[AsyncPage[T]]]":
    @functools.wraps(method)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        page = await self._client._in_thread(functools.partial(method, self._sync, *args, **kwargs))
        return AsyncPage(page, self._client)

    return call  # type: ignore[return-value]


class AsyncEndpoints(Group):
    create = _threaded(endpoints.Endpoints.create)
    create_cost = _threaded(endpoints.Endpoints.create_cost)
    list = _paged(endpoints.Endpoints.list)
    retrieve = _threaded(endpoints.Endpoints.retrieve)
    serve = _threaded(endpoints.Endpoints.serve)
    predict = _threaded(endpoints.Endpoints.predict)
    serve_cost = _threaded(endpoints.Endpoints.serve_cost)
    score = _threaded(endpoints.Endpoints.score)
    score_cost = _threaded(endpoints.Endpoints.score_cost)
    report_outcomes = _threaded(endpoints.Endpoints.report_outcomes)
    forget_outcomes = _threaded(endpoints.Endpoints.forget_outcomes)
    outcomes = _threaded(endpoints.Endpoints.outcomes)
    refresh = _threaded(endpoints.Endpoints.refresh)
    refresh_cost = _threaded(endpoints.Endpoints.refresh_cost)
    upgrade = _threaded(endpoints.Endpoints.upgrade)
    update = _threaded(endpoints.Endpoints.update)
    logs = _paged(endpoints.Endpoints.logs)
    openapi = _threaded(endpoints.Endpoints.openapi)
    delete = _threaded(endpoints.Endpoints.delete)


class AsyncPrompts(Group):
    create = _threaded(endpoints.Prompts.create)
    update = _threaded(endpoints.Prompts.update)
    delete = _threaded(endpoints.Prompts.delete)


class AsyncDataSets(Group):
    connect = _threaded(data.DataSets.connect)
    upload = _threaded(data.DataSets.upload)
    download = _threaded(data.DataSets.download)
    generate = _threaded(data.DataSets.generate)
    generate_cost = _threaded(data.DataSets.generate_cost)
    list = _paged(data.DataSets.list)
    retrieve = _threaded(data.DataSets.retrieve)
    sync = _threaded(data.DataSets.sync)
    snapshots = _paged(data.DataSets.snapshots)
    diff = _threaded(data.DataSets.diff)
    profile = _threaded(data.DataSets.profile)
    pin = _threaded(data.DataSets.pin)
    unpin = _threaded(data.DataSets.unpin)
    delete = _threaded(data.DataSets.delete)


class AsyncUploads(Group):
    begin = _threaded(uploads.Uploads.begin)
    retrieve = _threaded(uploads.Uploads.retrieve)
    send = _threaded(uploads.Uploads.send)
    complete = _threaded(uploads.Uploads.complete)
    delete = _threaded(uploads.Uploads.delete)


class AsyncReports(Group):
    list = _paged(r.Reports.list)
    retrieve = _threaded(r.Reports.retrieve)
    star = _threaded(r.Reports.star)
    unstar = _threaded(r.Reports.unstar)


class AsyncJobs(Group):
    list = _paged(r.Jobs.list)
    retrieve = _threaded(r.Jobs.retrieve)
    cancel = _threaded(r.Jobs.cancel)
    delete = _threaded(r.Jobs.delete)
    download = _threaded(r.Jobs.download)
    frame = _threaded(r.Jobs.frame)
    wait = _threaded(r.Jobs.wait)


class AsyncModels(Group):
    list = _threaded(r.Models.list)


class AsyncUsages(Group):
    retrieve = _threaded(r.Usages.retrieve)
    service_level = _threaded(r.Usages.service_level)


class AsyncKeys(Group):
    list = _threaded(r.Keys.list)
    create = _threaded(r.Keys.create)
    update = _threaded(r.Keys.update)
    rotate = _threaded(r.Keys.rotate)
    delete = _threaded(r.Keys.delete)


class AsyncAudit(Group):
    list = _paged(r.Audit.list)


class AsyncNotifications(Group):
    list = _paged(r.Notifications.list)
    read = _threaded(r.Notifications.read)


class AsyncWebhooks(Group):
    list = _threaded(r.Webhooks.list)
    create = _threaded(r.Webhooks.create)
    update = _threaded(r.Webhooks.update)
    rotate = _threaded(r.Webhooks.rotate)
    test = _threaded(r.Webhooks.test)
    delete = _threaded(r.Webhooks.delete)
    deliveries = _paged(r.Webhooks.deliveries)
    replay = _threaded(r.Webhooks.replay)


class AsyncProviders(Group):
    list = _threaded(r.Providers.list)
    create = _threaded(r.Providers.create)
    update = _threaded(r.Providers.update)
    delete = _threaded(r.Providers.delete)


class AsyncPeople(Group):
    list = _threaded(r.People.list)
    update = _threaded(r.People.update)


class AsyncSessions(Group):
    list = _threaded(r.Sessions.list)
    end = _threaded(r.Sessions.end)


class AsyncOrganization(Group):
    retrieve = _threaded(r.Organization.retrieve)
    update = _threaded(r.Organization.update)
    export = _threaded(r.Organization.export)
    archive = _threaded(r.Organization.archive)


class AsyncTabella:
    """The asynchronous client: arguments and methods are those of Tabella, to be awaited. Bundles come with
    all their pages, so that their properties never wait. threads: calls under way at once (default: 32)."""

    def __init__(self, *args: Any, threads: int = 32, **kwargs: Any) -> None:
        self._sync = Tabella(*args, **kwargs)
        self._client = self
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tabella")
        self.endpoints = AsyncEndpoints(self, self._sync.endpoints)
        self.prompts = AsyncPrompts(self, self._sync.prompts)
        self.data = AsyncDataSets(self, self._sync.data)
        self.uploads = AsyncUploads(self, self._sync.uploads)
        self.reports = AsyncReports(self, self._sync.reports)
        self.jobs = AsyncJobs(self, self._sync.jobs)
        self.models = AsyncModels(self, self._sync.models)
        self.usage = AsyncUsages(self, self._sync.usage)
        self.keys = AsyncKeys(self, self._sync.keys)
        self.audit = AsyncAudit(self, self._sync.audit)
        self.notifications = AsyncNotifications(self, self._sync.notifications)
        self.webhooks = AsyncWebhooks(self, self._sync.webhooks)
        self.providers = AsyncProviders(self, self._sync.providers)
        self.people = AsyncPeople(self, self._sync.people)
        self.sessions = AsyncSessions(self, self._sync.sessions)
        self.organization = AsyncOrganization(self, self._sync.organization)

    run = _threaded(Tabella.run)
    submit = _threaded(Tabella.submit)
    match = _threaded(Tabella.match)  # type: ignore[arg-type]
    dedupe = _threaded(Tabella.dedupe)  # type: ignore[arg-type]
    profile = _threaded(Tabella.profile)  # type: ignore[arg-type]
    fill = _threaded(Tabella.fill)  # type: ignore[arg-type]
    check = _threaded(Tabella.check)  # type: ignore[arg-type]
    forecast = _threaded(Tabella.forecast)  # type: ignore[arg-type]
    predict = _threaded(Tabella.predict)  # type: ignore[arg-type]
    run_cost = _threaded(Tabella.run_cost)
    openapi = _threaded(Tabella.openapi)

    async def close(self) -> None:
        await self._in_thread(self._sync.close)
        self._pool.shutdown(wait=False)

    async def __aenter__(self) -> "AsyncTabella":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def _in_thread(self, call: Callable[[], T]) -> T:
        stop = threading.Event()

        def work() -> T:
            here.stop = stop
            try:
                return _loaded(call())
            finally:
                here.stop = None

        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except asyncio.CancelledError:
            stop.set()
            raise


def _loaded(answer: T) -> T:
    """A bundle's pages are fetched in the thread, not when an event loop first looks at them."""
    found: List[Any] = [answer]
    if isinstance(answer, Job):
        found.append(answer.result)
    if isinstance(answer, Endpoint):
        found.append(answer.bundle)
    for x in found:
        if isinstance(x, Bundle):
            x.load()
    return answer
