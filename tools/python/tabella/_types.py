"""The service's answers as dataclasses. A field that this version does not know is kept: as an attribute, in
`extra`, and in `raw`, the JSON as it came."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Literal, Optional, Sequence, Type, TypeVar
from typing import get_type_hints

if TYPE_CHECKING:
    from ._bundle import Bundle
    from ._client import Tabella

A = TypeVar("A", bound="Answer")
_readers: Dict[type, Dict[str, Any]] = {}


def _reader(hint: Any) -> Any:
    """What turns JSON into a field: a nested answer, a list of such, or nothing."""
    inner = [x for x in getattr(hint, "__args__", ()) if x is not type(None)]
    if isinstance(hint, type) and issubclass(hint, Answer):
        return hint.read
    if getattr(hint, "__origin__", None) is list and inner:
        each = _reader(inner[0])
        return (lambda v: [each(x) for x in v] if isinstance(v, list) else v) if each else None
    if len(inner) == 1 and hint is not inner[0] and getattr(hint, "__origin__", None) is not dict:
        return _reader(inner[0])
    return None


@dataclasses.dataclass(repr=False, eq=False)
class Answer:
    """raw: the JSON as it came. extra: its fields that this version does not know. Without an `__eq__` of its
    own: two answers are compared by their `raw`, and the import takes half the time."""

    raw: Dict[str, Any] = dataclasses.field(default_factory=dict)
    extra: Dict[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def read(cls: Type[A], raw: Any) -> A:
        if not isinstance(raw, dict):
            return raw
        known = _readers.get(cls)
        if known is None:
            hints = get_type_hints(cls)
            own = [f.name for f in dataclasses.fields(cls) if f.name not in ("raw", "extra")]
            known = _readers[cls] = {name: _reader(hints[name]) for name in own}
        made = cls(raw=raw)
        for name, value in raw.items():
            if name in known:
                reader = known[name]
                setattr(made, name, reader(value) if reader and value is not None else value)
            else:
                made.extra[name] = value
        return made

    def __getattr__(self, name: str) -> Any:
        extra = self.__dict__.get("extra", {})
        if name in extra:
            return extra[name]
        raise AttributeError(f"{type(self).__name__} has no field {name}")

    def __getitem__(self, name: str) -> Any:
        return self.raw[name]

    def to_dict(self) -> Dict[str, Any]:
        """The JSON as it came."""
        return self.raw

    def _repr_html_(self) -> str:
        from ._report import html_answer

        return html_answer(self)

    def __repr__(self) -> str:
        shown = []
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if (
                f.name in ("raw", "extra", "key", "secret")
                or value is None
                or isinstance(value, (dict, list))
            ):
                continue
            if f.repr:
                shown.append(f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclasses.dataclass(repr=False, eq=False)
class Model(Answer):
    """A base: what computes the answers. default: used where a call names none."""

    id: str = ""
    name: str = ""
    status: str = ""
    default: bool = False


@dataclasses.dataclass(repr=False, eq=False)
class Key(Answer):
    """An API key. status: active, expiring (within a week) or expired. endpoints: ids that it may ask, none:
    any. old_secrets: those before its newest that are still good. key: the secret, only in the answers of
    create and rotate, and in no repr.
    """

    id: str = ""
    name: str = ""
    key_preview: str = ""
    scopes: List[str] = dataclasses.field(default_factory=list)
    rate_limit: int = 0
    requests: int = 0
    created_at: Optional[str] = None
    last_used: Optional[str] = None
    last_address: Optional[str] = None
    last_agent: Optional[str] = None
    status: str = ""
    expires_at: Optional[str] = None
    owner: Optional[str] = None  # the person whose it is
    directory: Optional[str] = None  # the provider whose directory it writes, and nothing else
    networks: List[str] = dataclasses.field(default_factory=list)
    endpoints: List[str] = dataclasses.field(default_factory=list)
    old_secrets: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    key: Optional[str] = None


@dataclasses.dataclass(repr=False, eq=False)
class Usage(Answer):
    """The organization's meter. Cells of by_op are counted at the fresh rate, those of by_op_raw as sent."""

    org: str = ""
    plan: str = ""
    window: str = ""
    resets_in: str = ""
    days: int = 0
    used_pct: float = 0.0
    total_cells: int = 0
    price_usd_per_million_cells: Optional[float] = None
    amount_usd: Optional[float] = None
    by_surface: Dict[str, int] = dataclasses.field(default_factory=dict)
    by_op: Dict[str, int] = dataclasses.field(default_factory=dict)
    by_op_multiplier: Dict[str, float] = dataclasses.field(default_factory=dict)
    by_op_raw: Dict[str, int] = dataclasses.field(default_factory=dict)
    top_endpoints: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    add_usage: Dict[str, Any] = dataclasses.field(default_factory=dict)
    events: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    next_cursor: Optional[str] = None
    lifetime: bool = False
    storage: Optional[Dict[str, int]] = None


@dataclasses.dataclass(repr=False, eq=False)
class ServiceLevel(Answer):
    """What became of the organization's serve calls, by month and by day, newest first, and by endpoint."""

    months: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    days: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    endpoints: List[Dict[str, Any]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(repr=False, eq=False)
class Cost(Answer):
    """What a call would be billed, and what is left (None: there is no limit). Nothing was done."""

    dry_run: bool = True
    total_cells: int = 0
    by_op: Dict[str, int] = dataclasses.field(default_factory=dict)
    by_op_raw: Dict[str, int] = dataclasses.field(default_factory=dict)
    left_cells: Optional[int] = None
    amount_usd: Optional[float] = None
    allowed: bool = True
    reason: Optional[str] = None
    warnings: List[str] = dataclasses.field(default_factory=list)
    schema_changes: List[Any] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(repr=False, eq=False)
class Reading(Answer):
    """How a table was read from its file. skipped: lines that are no rows, each with `lines` and `reason`;
    confidence: that the delimiter is the file's."""

    format: str = ""
    encoding: Optional[str] = None
    delimiter: Optional[str] = None
    quote: Optional[str] = None
    header_rows: Optional[int] = None
    skipped: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    confidence: Optional[float] = None


@dataclasses.dataclass(repr=False, eq=False)
class Data(Answer):
    """A dataset or a connection (kind)."""

    id: str = ""
    kind: str = ""
    name: str = ""
    source: str = ""
    snapshot: Optional[str] = None
    snapshot_at: Optional[str] = None
    rows: int = 0
    cols: int = 0
    cells: int = 0
    size_bytes: int = 0
    pinned: bool = False
    pinned_by: List[str] = dataclasses.field(default_factory=list)
    dataset: Optional[str] = None
    last_sync_at: Optional[str] = None
    last_sync_outcome: Optional[str] = None
    last_sync_message: Optional[str] = None
    credentials_set: List[str] = dataclasses.field(default_factory=list)
    created_at: Optional[str] = None
    notes: List[str] = dataclasses.field(default_factory=list)
    reading: Optional[Reading] = None


@dataclasses.dataclass(repr=False, eq=False)
class Connected(Answer):
    """A new connection, and the dataset of its first snapshot."""

    connection: Optional[Data] = None
    dataset: Optional[Data] = None


@dataclasses.dataclass(repr=False, eq=False)
class Uploaded(Answer):
    """The dataset of a file; of several tables, all of them. notes: what was done to it that is not plain."""

    dataset: Optional[Data] = None
    datasets: List[Data] = dataclasses.field(default_factory=list)
    notes: List[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(repr=False, eq=False)
class Upload(Answer):
    """An upload in parts. offset: bytes that are there; size_bytes: of the whole, as far as it was said;
    most_bytes: that it may have; expires_at: when it is dropped, unless more of it comes."""

    id: str = ""
    file_name: str = ""
    name: Optional[str] = None
    offset: int = 0
    size_bytes: Optional[int] = None
    most_bytes: int = 0
    created_at: Optional[str] = None
    expires_at: Optional[str] = None


@dataclasses.dataclass(repr=False, eq=False)
class Generated(Answer):
    """A sector's main table as a dataset; of several tables, all of them (datasets). columns: their names."""

    dataset: str = ""
    name: str = ""
    sector: str = ""
    rows: int = 0
    columns: List[str] = dataclasses.field(default_factory=list)
    datasets: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    processing: Dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(repr=False, eq=False)
class Sync(Answer):
    """What a sync found. diff: rows_added, rows_changed, rows_removed, rows_unchanged. expectations: how many
    `checks` of earlier snapshots were made of the rows that came, and in `changed` those that do not hold."""

    id: str = ""
    dataset: str = ""
    snapshot: str = ""
    previous_snapshot: Optional[str] = None
    diff: Dict[str, Any] = dataclasses.field(default_factory=dict)
    expectations: Optional[Dict[str, Any]] = None
    synced_at: Optional[str] = None


@dataclasses.dataclass(repr=False, eq=False)
class Snapshot(Answer):
    """A dataset at one time. kept: its rows are there."""

    id: str = ""
    created_at: Optional[str] = None
    rows: int = 0
    cols: int = 0
    size_bytes: int = 0
    kept: bool = False
    current: bool = False


@dataclasses.dataclass(repr=False, eq=False)
class SnapshotDiff(Answer):
    """What two snapshots differ by. diff: the counts, and the key by which rows were told apart. columns:
    each with what became of it, and examples. changes: a page of rows, cells in the order of columns.
    expectations: checks of the snapshots before that the later one does not meet, as of a sync."""

    before: str = ""
    after: str = ""
    diff: Dict[str, Any] = dataclasses.field(default_factory=dict)
    expectations: Optional[Dict[str, Any]] = None
    columns: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    changes: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    next_cursor: Optional[str] = None
    total: int = 0


@dataclasses.dataclass(repr=False, eq=False)
class SnapshotProfile(Answer):
    """How a snapshot's values are spread: columns, each with name, kind, missing and spread."""

    snapshot: str = ""
    snapshot_at: Optional[str] = None
    rows: int = 0
    reading: Optional[Reading] = None
    columns: List[Dict[str, Any]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(repr=False, eq=False)
class Deleted(Answer):
    """What a deletion answers."""

    id: str = ""
    status: str = "deleted"
    deleted_at: Optional[str] = None


@dataclasses.dataclass(repr=False, eq=False)
class LogEntry(Answer):
    """One event of an endpoint's life."""

    at: str = ""
    event: str = ""
    job_id: Optional[str] = None
    actor: Optional[str] = None
    message: str = ""


@dataclasses.dataclass(repr=False, eq=False)
class AuditEntry(Answer):
    """Who did what to which object, from where. seq and hash: its place in the organization's chain."""

    id: str = ""
    at: str = ""
    actor: str = ""
    action: str = ""
    object: str = ""
    detail: Optional[str] = None
    request_id: Optional[str] = None
    address: Optional[str] = None
    seq: int = 0
    hash: str = ""


@dataclasses.dataclass(repr=False, eq=False)
class Notification(Answer):
    """What the organization is told. read_at: None while it is unread."""

    id: str = ""
    type: str = ""
    subject: str = ""
    text: str = ""
    data: Dict[str, Any] = dataclasses.field(default_factory=dict)
    created_at: str = ""
    read_at: Optional[str] = None


@dataclasses.dataclass(repr=False, eq=False)
class Webhook(Answer):
    """A receiver of notifications. secret: whsec_..., only in the answers of create and rotate, and in no
    repr. waiting: deliveries that are yet to be taken. customer, meter: of a receiver of usage."""

    id: str = ""
    name: str = ""
    url: str = ""
    types: List[str] = dataclasses.field(default_factory=list)
    status: str = ""
    disabled_at: Optional[str] = None
    disabled_why: Optional[str] = None
    waiting: int = 0
    has_token: bool = False
    usage_format: str = "cloudevents"
    customer: Optional[str] = None
    meter: Optional[str] = None
    created_at: str = ""
    secret: Optional[str] = None


@dataclasses.dataclass(repr=False, eq=False)
class Provider(Answer):
    """An identity provider. role: of whoever is in no group of `roles`; None: such people are refused."""

    id: str = ""
    name: str = ""
    issuer: str = ""
    client_id: str = ""
    has_secret: bool = False
    scopes: str = ""
    role: Optional[str] = None
    groups_claim: str = ""
    subject_claim: str = "sub"
    roles: Dict[str, str] = dataclasses.field(default_factory=dict)
    domains: List[str] = dataclasses.field(default_factory=list)
    logout_url: str = ""  # where it posts its logout tokens
    created_at: str = ""


@dataclasses.dataclass(repr=False, eq=False)
class Person(Answer):
    """Somebody who has signed in, or whom a directory has (user_name). role_by_hand: groups leave it."""

    id: str = ""
    name: str = ""
    email: Optional[str] = None
    role: str = ""
    role_by_hand: bool = False
    active: bool = True
    provider: str = ""
    subject: Optional[str] = None
    user_name: Optional[str] = None
    created_at: Optional[str] = None
    signed_in_at: Optional[str] = None
    last_used: Optional[str] = None


@dataclasses.dataclass(repr=False, eq=False)
class OpenSession(Answer):
    """A session of the console. of: the id of the key or person that signed in."""

    id: str = ""
    of: str = ""
    name: str = ""
    address: Optional[str] = None
    created_at: str = ""
    used_at: str = ""
    expires_at: str = ""


@dataclasses.dataclass(repr=False, eq=False)
class Delivery(Answer):
    """What was sent to a webhook, or waits. message_id: its header webhook-id, the same at each try."""

    id: str = ""
    message_id: str = ""
    type: str = ""
    subject: str = ""
    status: str = ""
    tries: int = 0
    created_at: str = ""
    next_try_at: Optional[str] = None
    ended_at: Optional[str] = None
    response_status: Optional[int] = None
    error: Optional[str] = None


@dataclasses.dataclass(repr=False, eq=False)
class OrganizationSettings(Answer):
    """The organization's settings. alerts: what is mailed to its addresses."""

    id: str = ""
    name: str = ""
    plan: str = ""
    emails: List[str] = dataclasses.field(default_factory=list)
    alerts: Dict[str, bool] = dataclasses.field(default_factory=dict)
    add_usage: bool = False
    spend_cap_usd: Optional[float] = None
    created_at: str = ""
    networks: List[str] = dataclasses.field(default_factory=list)
    retention: Dict[str, Optional[int]] = dataclasses.field(default_factory=dict)
    plan_retention: Dict[str, Optional[int]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(repr=False, eq=False)
class ReportSummary(Answer):
    """A report as lists show it. delta: against the report before, of upgrades."""

    id: str = ""
    name: str = ""
    kind: str = ""
    base: str = ""
    metric: Optional[str] = None
    score: Optional[float] = None
    delta: Optional[str] = None
    pinned: bool = False
    created_at: str = ""


@dataclasses.dataclass(repr=False, eq=False)
class Report(Answer):
    """What an endpoint is worth on rows that it did not see."""

    id: str = ""
    name: str = ""
    endpoint: str = ""
    endpoint_id: str = ""
    kind: str = ""
    base: str = ""
    created_at: str = ""
    pinned: bool = False
    target: Optional[Dict[str, Any]] = None
    data: Optional[Dict[str, Any]] = None
    split: Optional[Dict[str, Any]] = None
    metrics: Optional[Dict[str, Any]] = None
    confidence: Optional[Dict[str, Any]] = None
    weakest_slice: Optional[str] = None
    previous: Optional[Dict[str, Any]] = None
    delta: Optional[str] = None
    cross_table: Optional[Dict[str, Any]] = None
    estimate_note: Optional[str] = None
    warnings: List[str] = dataclasses.field(default_factory=list)
    likely_leaks: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    regimes: List[Dict[str, Any]] = dataclasses.field(default_factory=list)

    def plot(self, kind: Optional[Literal["classes", "calibration"]] = None, *, ax: Any = None) -> Any:
        """Draws the held-out rows by matplotlib, on `ax` or a new figure, and gives the axes.

        classes: precision and recall of each class. calibration: of a regression, the share of rows below
        each predicted quantile. Default: the one that the task has."""
        from ._plots import report_plot

        return report_plot(self, kind, ax)


@dataclasses.dataclass(repr=False, eq=False)
class Prompt(Answer):
    """A fragment of an endpoint's system prompt."""

    id: str = ""
    name: str = ""
    active: bool = True
    order: int = 0
    body: str = ""
    version: int = 1


@dataclasses.dataclass(repr=False, eq=False)
class Endpoint(Answer):
    """Pinned data, a base and a configuration, served at one address. bundle: what is known of the pinned
    data, where the endpoint was retrieved and is live."""

    id: str = ""
    endpoint: str = ""
    status: str = ""
    url: str = ""
    serve_url: str = ""
    base: str = ""
    feed: str = ""
    drift: Optional[Dict[str, Any]] = None
    calibration_state: Optional[int] = None
    created_at: Optional[str] = None
    calls: int = 0
    data: Optional[Dict[str, Any]] = None
    config_revision: int = 0
    data_revision: int = 0
    options: Optional[Dict[str, Any]] = None
    system_prompts: List[Prompt] = dataclasses.field(default_factory=list)
    report: Optional[str] = None
    report_id: Optional[str] = None
    held_out: Optional[Dict[str, Any]] = None
    diff: Optional[Dict[str, Any]] = None
    job: Optional[Dict[str, Any]] = None

    bundle = None  # type: Optional[Bundle]
    _client = None  # type: Optional[Tabella]

    def wait(self, *, progress: bool = False, timeout: Optional[float] = None) -> "Endpoint":
        """Waits for the job that makes or changes it (see Job.wait), and gives the endpoint as it is then."""
        assert self._client is not None, "an endpoint that no client answered"
        if self.job and self.job.get("job_id"):
            self._client.jobs.wait(self.job["job_id"], progress=progress, timeout=timeout)
        return self._client.endpoints.retrieve(self.id)

    def predict(self, table: Any, *, connections: int = 2, timeout: Optional[float] = None) -> Any:
        """The answers to any number of rows (see `client.endpoints.predict`)."""
        assert self._client is not None, "an endpoint that no client answered"
        return self._client.endpoints.predict(self.id, table, connections=connections, timeout=timeout)


ENDED = ("done", "failed", "cancelled", "expired")


@dataclasses.dataclass(repr=False, eq=False)
class Job(Answer):
    """Work that goes on without its caller. result: of a run a Bundle, else the JSON; None until done."""

    job_id: str = ""
    kind: str = ""
    status: str = ""
    progress: int = 0
    phase: Optional[str] = None
    label: str = ""
    about: Optional[str] = None
    endpoint_id: str = ""
    report_id: str = ""
    eta: Optional[Dict[str, Any]] = None
    error: str = ""
    processing: Optional[str] = None
    logs: List[str] = dataclasses.field(default_factory=list)
    created_at: Optional[str] = None
    updated_at: Optional[str] = None

    result = None  # type: Any
    _client = None  # type: Optional[Tabella]
    _tables = None  # type: Any
    _stored = ()  # type: Sequence[str]

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def wait(self, *, progress: bool = False, timeout: Optional[float] = None) -> "Job":
        """Asks until the job has ended, and gives its last state.

        progress: draws a bar, by tqdm where it is installed. timeout: seconds, after which APITimeoutError is
        raised and the job goes on. Ctrl-C cancels the job. Raises JobFailedError, JobCancelledError or
        JobExpiredError, each with .job, when it ends otherwise than done."""
        assert self._client is not None, "a job that no client answered"
        return self._client.jobs.wait(self, progress=progress, timeout=timeout)

    def cancel(self) -> "Job":
        assert self._client is not None, "a job that no client answered"
        return self._client.jobs.cancel(self.job_id)


@dataclasses.dataclass(repr=False, eq=False)
class Ranked(Answer):
    """A sector of industry, and how sure the service is of it."""

    name: str = ""
    slug: str = ""
    confidence: float = 0.0


@dataclasses.dataclass(repr=False, eq=False)
class SectorEvidence(Answer):
    """A column that spoke for the likeliest sector: its role, terms of the sector among its values, and what
    the sector's log odds lose without it."""

    column: str = ""
    index: int = 0
    role: str = ""
    words: List[str] = dataclasses.field(default_factory=list)
    weight: float = 0.0


@dataclasses.dataclass(repr=False, eq=False)
class Sector(Answer):
    """The likeliest sector of a table, the next ones, and what spoke for the first."""

    top1: Optional[Ranked] = None
    top5: List[Ranked] = dataclasses.field(default_factory=list)
    evidence: List[SectorEvidence] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(repr=False, eq=False)
class ColumnProfile(Answer):
    """missing_pct is a fraction from 0 to 1; pii: whether it tells of a person; pii_kinds: what a column of
    texts holds, each with `kind`, `share` of its cells and `confidence`."""

    name: str = ""
    index: int = 0
    role: str = ""
    role_confidence: float = 0.0
    type: str = ""
    type_confidence: float = 0.0
    missing_pct: float = 0.0
    pii: bool = False
    pii_confidence: float = 0.0
    pii_kinds: List[Dict[str, Any]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(repr=False, eq=False)
class Grain(Answer):
    """What one row of a table is: kind is entity, observation, line or bridge; of: the columns that name the
    thing."""

    kind: str = ""
    of: List[str] = dataclasses.field(default_factory=list)
    confidence: float = 0.0
    reason: str = ""


@dataclasses.dataclass(repr=False, eq=False)
class TableProfile(Answer):
    """What one table is."""

    id: str = ""
    rows: int = 0
    cols: int = 0
    sector: Optional[Sector] = None
    grain: Optional[Grain] = None
    reading: Optional[Reading] = None
    column_profile: List[ColumnProfile] = dataclasses.field(default_factory=list)


def items_of(raw: Any, name: str, kind: Type[A]) -> Iterator[A]:
    for x in raw.get(name) or []:
        yield kind.read(x)
