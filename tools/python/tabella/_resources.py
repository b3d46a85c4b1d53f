"""The client's other groups of calls: `client.jobs`, `client.reports` and their like. Each method is one
route of _routes.py; what a route answers with 202 is followed to its end unless `wait=False`."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Dict, List, Literal, Mapping, Optional, Sequence, Union

from . import _download
from ._bundle import Bundle
from ._errors import APITimeoutError, JobCancelledError, JobExpiredError, JobFailedError
from ._frames import kind_of
from ._large import forget
from ._resource import Page, Resource
from ._transport import Stopped, pause
from ._types import AuditEntry, Deleted, Delivery, Job, Key, Model, Notification, OrganizationSettings, Report
from ._types import OpenSession, Person, Provider, ReportSummary, ServiceLevel, Usage, Webhook

FIRST_LOOK_S, LAST_LOOK_S = 0.25, 5.0  # between two looks at a job: 12 requests a minute in the long run


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

    def delete(self, id: str) -> Deleted:
        """A job that has ended goes, with its result, its log and the record of its run."""
        return Deleted.read(self._call("DELETE_JOB", id).json)

    def download(
        self,
        id: str,
        part: str,
        path: "Union[str, os.PathLike[str]]",
        *,
        table: Optional[str] = None,
        format: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> str:
        """Writes a part of a run's result to a file, whatever its length, and gives its path.

        part: `results`, `filled`, `unified_rows`, `matches`, `duplicates`, `suspects` or `forecast`; one that
        the result does not have is NotFoundError. table: of `filled`, which table, where several were filled.
        format: csv, arrow or parquet (default: by the path's ending)."""
        return _download.download(self._client._transport, id, part, path, table, format, timeout)

    def frame(
        self, id: str, part: str, *, table: Optional[str] = None, timeout: Optional[float] = None
    ) -> Any:
        """The same as a data frame (of pandas, where it is installed); it needs pyarrow."""
        return _download.frame(self._client._transport, id, part, table, kind_of([]), timeout)

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
    """Progress on standard error, of a job or of what is sent: tqdm's bar where it is installed, else one
    line that changes."""

    def __init__(self, id: str) -> None:
        self.id, self.bar, self.last = id, None, ""
        try:
            from tqdm.auto import tqdm

            self.bar = tqdm(total=100, desc=id, unit="%", leave=True)
        except ImportError:
            pass

    def show(self, job: Job) -> None:
        self.at(job.progress, job.phase or job.status)

    def at(self, percent: int, phase: str) -> None:
        if self.bar is not None:
            self.bar.set_description(phase)
            self.bar.update(max(0, percent - self.bar.n))
            return
        done = 20 * percent // 100
        line = f"{self.id} [{'#' * done}{'.' * (20 - done)}] {percent}% {phase}"
        if line != self.last:
            sys.stderr.write("\r" + line.ljust(len(self.last)))
            sys.stderr.flush()
            self.last = line

    def at_share(self, phase: str, done: float) -> None:
        self.at(int(100 * done), phase)

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

    def service_level(self, *, months: Optional[int] = None, endpoint: Optional[str] = None) -> ServiceLevel:
        """What became of serve calls in so many months, this one included (3), on each of their days, and by
        endpoint; or of one endpoint's, by id or name."""
        query = {"months": months, "endpoint": endpoint}
        return ServiceLevel.read(self._call("GET_SERVICE_LEVEL", query=query).json)


class Keys(Resource):
    """API keys of the organization."""

    def list(self) -> List[Key]:
        return [Key.read(x) for x in self._call("GET_KEYS").json["keys"]]

    def create(
        self,
        name: str,
        scopes: Sequence[str] = (),
        *,
        expires_at: Optional[str] = None,
        networks: Sequence[str] = (),
        endpoints: Sequence[str] = (),
        personal: bool = False,
        directory: Optional[str] = None,
    ) -> Key:
        """scopes: of read, run, serve, manage, delete. The answer's `key` is the secret, shown this once.
        expires_at: a time like 2026-11-21T09:24:05Z. networks: addresses and blocks from which it may be
        used. endpoints: ids or names of those that it may ask, with the scope serve alone. personal: it is
        its maker's own, where that is a key of a person, and ends with the person. directory: the id of a
        provider, which says by SCIM with this key whom it has; such a key has no scopes."""
        fields: Dict[str, Any] = {"name": name, "scopes": [*scopes]}
        if directory is not None:
            fields["directory"] = directory
            if not fields["scopes"]:
                del fields["scopes"]
        if personal:
            fields["personal"] = True
        if expires_at is not None:
            fields["expires_at"] = expires_at
        if networks:
            fields["networks"] = [*networks]
        if endpoints:
            fields["endpoints"] = [*endpoints]
        return Key.read(self._call("POST_KEYS", body=fields).json)

    def update(
        self,
        id: str,
        *,
        name: Optional[str] = None,
        expires_at: Union[str, None, Literal["never"]] = None,
        networks: Optional[Sequence[str]] = None,
        endpoints: Optional[Sequence[str]] = None,
    ) -> Key:
        """What is not given stays. expires_at "never" takes the end away, an empty list the bound."""
        given = {
            "name": name,
            "expires_at": expires_at,
            "networks": None if networks is None else [*networks],
            "endpoints": None if endpoints is None else [*endpoints],
        }
        fields: Dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        if expires_at == "never":
            fields["expires_at"] = None
        return Key.read(self._call("PATCH_KEY", id, body=fields).json)

    def rotate(self, id: str, *, overlap_s: int = 0) -> Key:
        """A new secret; the old one stays good for so long, or ends at once."""
        body = {"overlap_s": overlap_s} if overlap_s else None
        return Key.read(self._call("POST_KEY_ROTATE", id, body=body).json)

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


class Webhooks(Resource):
    """Receivers of the organization's notifications."""

    def list(self) -> List[Webhook]:
        return [Webhook.read(x) for x in self._call("GET_WEBHOOKS").json["webhooks"]]

    def create(
        self,
        name: str,
        url: str,
        types: Sequence[str] = (),
        *,
        token: Optional[str] = None,
        usage_format: Optional[str] = None,
        customer: Optional[str] = None,
        meter: Optional[str] = None,
    ) -> Webhook:
        """types: of notifications; none: all. The answer's `secret` verifies what comes, and is shown this
        once. For billing systems, with types ["usage.events"]: token, sent as `Authorization: Bearer`;
        usage_format "cloudevents" or "stripe"; customer, what they call this organization; meter, Stripe's
        event_name."""
        fields: Dict[str, Any] = {"name": name, "url": url}
        if types:
            fields["types"] = [*types]
        more = {"token": token, "usage_format": usage_format, "customer": customer, "meter": meter}
        fields.update({k: v for k, v in more.items() if v is not None})
        return Webhook.read(self._call("POST_WEBHOOKS", body=fields).json)

    def update(
        self,
        id: str,
        *,
        name: Optional[str] = None,
        url: Optional[str] = None,
        types: Optional[Sequence[str]] = None,
        enabled: Optional[bool] = None,
        token: Optional[str] = None,
        usage_format: Optional[str] = None,
        customer: Optional[str] = None,
        meter: Optional[str] = None,
    ) -> Webhook:
        """What is not given stays; token, customer and meter "": none from now on. enabled False: what waits
        is kept until True, and what fires meanwhile is not sent. A new url needs the token again."""
        given = {"name": name, "url": url, "types": None if types is None else [*types], "enabled": enabled}
        given["usage_format"] = usage_format
        fields: Dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        more = {"token": token, "customer": customer, "meter": meter}
        fields.update({k: v or None for k, v in more.items() if v is not None})
        return Webhook.read(self._call("PATCH_WEBHOOK", id, body=fields).json)

    def rotate(self, id: str) -> Webhook:
        """A new secret; for a day both sign."""
        return Webhook.read(self._call("POST_WEBHOOK_ROTATE", id).json)

    def test(self, id: str) -> Webhook:
        """Sends a webhook.test to this receiver alone."""
        return Webhook.read(self._call("POST_WEBHOOK_TEST", id).json)

    def delete(self, id: str) -> Deleted:
        return Deleted.read(self._call("DELETE_WEBHOOK", id).json)

    def deliveries(
        self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[Delivery]:
        return self._page("GET_DELIVERIES", id, field="deliveries", kind=Delivery, limit=limit, cursor=cursor)

    def replay(self, id: str, delivery: str) -> Delivery:
        """Sends it again, under the same message_id."""
        return Delivery.read(self._call("POST_DELIVERY_REPLAY", id, delivery).json)


class Providers(Resource):
    """Identity providers (OpenID Connect) that people sign in to the console with."""

    def list(self) -> List[Provider]:
        return [Provider.read(x) for x in self._call("GET_PROVIDERS").json["providers"]]

    def create(
        self,
        name: str,
        issuer: str,
        client_id: str,
        *,
        client_secret: Optional[str] = None,
        scopes: Optional[str] = None,
        role: Optional[str] = None,
        groups_claim: Optional[str] = None,
        roles: Optional[Mapping[str, str]] = None,
        domains: Optional[Sequence[str]] = None,
        subject_claim: Optional[str] = None,
    ) -> Provider:
        """roles: by group of the claim `groups_claim`; role: of everybody else, which needs domains.
        subject_claim: "oid" for Entra ID; "sub", if not given."""
        fields: Dict[str, Any] = {
            "name": name,
            "issuer": issuer,
            "client_id": client_id,
            "client_secret": client_secret,
            "scopes": scopes,
            "role": role,
            "groups_claim": groups_claim,
            "subject_claim": subject_claim,
            "roles": roles,
            "domains": None if domains is None else [*domains],
        }
        body = {k: v for k, v in fields.items() if v is not None}
        return Provider.read(self._call("POST_PROVIDERS", body=body).json)

    def update(
        self,
        id: str,
        *,
        name: Optional[str] = None,
        client_id: Optional[str] = None,
        client_secret: Optional[str] = None,
        scopes: Optional[str] = None,
        role: Optional[str] = None,
        groups_claim: Optional[str] = None,
        roles: Optional[Mapping[str, str]] = None,
        domains: Optional[Sequence[str]] = None,
    ) -> Provider:
        """What is not given stays. role "none": people of no group are refused."""
        given: Dict[str, Any] = {
            "name": name,
            "client_id": client_id,
            "client_secret": client_secret,
            "scopes": scopes,
            "role": role,
            "groups_claim": groups_claim,
            "roles": roles,
            "domains": None if domains is None else [*domains],
        }
        fields = {k: v for k, v in given.items() if v is not None}
        if role == "none":
            fields["role"] = None
        return Provider.read(self._call("PATCH_PROVIDER", id, body=fields).json)

    def delete(self, id: str) -> Deleted:
        """Its people are out: their sessions and keys end."""
        return Deleted.read(self._call("DELETE_PROVIDER", id).json)


class People(Resource):
    """Who has signed in with an identity provider."""

    def list(self) -> List[Person]:
        return [Person.read(x) for x in self._call("GET_PEOPLE").json["people"]]

    def update(self, id: str, *, role: Optional[str] = None, active: Optional[bool] = None) -> Person:
        """role "groups": they decide again. active False: sessions and keys of the person end at once."""
        fields: Dict[str, Any] = {k: v for k, v in (("role", role), ("active", active)) if v is not None}
        if role == "groups":
            fields["role"] = None
        return Person.read(self._call("PATCH_PERSON", id, body=fields).json)


class Sessions(Resource):
    """Sessions of the console."""

    def list(self) -> List[OpenSession]:
        return [OpenSession.read(x) for x in self._call("GET_SESSIONS").json["sessions"]]

    def end(self, id: str) -> Deleted:
        return Deleted.read(self._call("DELETE_SESSIONS", id).json)


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
        networks: Optional[Sequence[str]] = None,
        retention: Optional[Mapping[str, Optional[int]]] = None,
    ) -> OrganizationSettings:
        """What is not given stays. spend_cap_usd "none" takes the cap away. networks: from which its keys may
        be used, all of them; an empty list: from anywhere. retention: days for which `runs`, `logs`,
        `snapshots` and `outcomes` are kept; None: as the plan has it."""
        given = {
            "name": name,
            "emails": None if emails is None else [*emails],
            "alerts": None if alerts is None else dict(alerts),
            "add_usage": add_usage,
            "spend_cap_usd": spend_cap_usd,
            "networks": None if networks is None else [*networks],
            "retention": None if retention is None else dict(retention),
        }
        fields: Dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        if spend_cap_usd == "none":
            fields["spend_cap_usd"] = None
        return OrganizationSettings.read(self._call("PUT_ORGANIZATION", body=fields).json)

    def export(self, *, idempotency_key: Optional[str] = None) -> Job:
        """A job that exports all that the organization owns; `archive` gives its file once it is done. The
        key needs the scopes `read` and `manage`."""
        reply = self._call("POST_EXPORTS", idempotency_key=idempotency_key)
        return self._client._bound(Job.read(reply.json))

    def archive(
        self, id: str, path: "Union[str, os.PathLike[str]]", *, timeout: Optional[float] = None
    ) -> str:
        """Writes the archive of an export to a file, for `tabella import`, and gives its path. It is there
        for a day after the job is done."""
        pieces = self._client._transport.stream("GET_EXPORT", id, timeout=timeout)
        return _download.written(pieces, os.fspath(path))
