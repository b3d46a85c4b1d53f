"""`client.endpoints`, and the fragments of their system prompts."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, Optional, Sequence, Tuple, Union

from ._arrow import body_of
from ._bundle import Bundle
from ._errors import NotFoundError, ValidationError
from ._frames import tables_of
from ._large import forget, predictions, stored_of
from ._resource import Page, Resource, Target, cost_of, fields_of
from ._types import A, Cost, Deleted, Endpoint, Job, LogEntry


def _missing(value: Any) -> bool:
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def _plain(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value


def _outcome_of(row: Any) -> Dict[str, Any]:
    """A row of the body: what is neither receipt, outcome nor time is a cell of the row that was served."""
    if not isinstance(row, Mapping):
        return {"receipt": _plain(row[0]), "outcome": _plain(row[1])}
    own = {k: _plain(v) for k, v in row.items() if k in ("receipt", "outcome", "at", "cells")}
    cells = {str(k): _plain(v) for k, v in row.items() if k not in own}
    return {**own, **({"cells": {**cells, **own.get("cells", {})}} if cells else {})}


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
        horizon: Optional[int] = None,
        as_of: Optional[str] = None,
        anomaly_share: Optional[float] = None,
        anomaly_threshold: Optional[float] = None,
        adapt: Optional[bool] = None,
        options: Optional[Mapping[str, Any]] = None,
        wait: bool = True,
        progress: bool = False,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Endpoint:
        """Makes an endpoint of tables or of stored data (dataset ids), and gives it once it is live.

        wait=False gives it as it is, `creating`; its `wait()` waits then.

        A single table goes by the endpoint's name. adapt: intervals and probabilities follow what
        `report_outcomes` tells; the other arguments are those of `Tabella.run`."""
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
            horizon=horizon,
            as_of=as_of,
            anomaly_share=anomaly_share,
            anomaly_threshold=anomaly_threshold,
            adapt=adapt,
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

    def serve(
        self,
        id: str,
        tables: Any = None,
        *,
        horizon: Optional[int] = None,
        verbose: bool = False,
        receipts: bool = False,
        options: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Bundle:
        """The bundle of new rows, answered by the endpoint. A single table goes by the name of the endpoint's
        table; the target's column stays, its cells may be missing. At most 10,000 rows a call.

        horizon: in place of rows, so many next steps of every pinned series (`forecast` of the bundle).
        verbose: with the report's slices and calibration. receipts: each result has a `receipt`, to be given
        to `report_outcomes` when the truth is known. `warnings` of the bundle name cells that are unlike
        all pinned ones: a category that nobody has, a number far outside. idempotency_key: of a call that was
        perhaps sent before (default: a new one, kept over the attempts of this call): for ten minutes it has
        one answer and one bill."""
        given, single = self._question(id, tables)
        fields = fields_of(None, None, None, None, options, horizon=horizon)
        if verbose:
            fields["verbose"] = True
        if receipts:
            fields["options"] = {**fields.get("options", {}), "receipts": True}
        try:
            reply = self._call(
                "POST_SERVE",
                id,
                body=body_of(given, fields),
                idempotency_key=idempotency_key,
                timeout=timeout,
            )
        except (NotFoundError, ValidationError):
            self._client._known.pop(id, None)  # another endpoint may go by this name now
            raise
        return Bundle.of(reply.json, given, single, None)

    def predict(self, id: str, table: Any, *, connections: int = 2, timeout: Optional[float] = None) -> Any:
        """The answers to any number of rows of an endpoint's only table, as a frame of the caller's library
        with the columns of `Bundle.predictions`. The target's column may be missing. Calls of 10,000 rows,
        so many at a time; a large frame goes as an Arrow stream, and its answers come as one, where pyarrow
        (polars) is imported. timeout: of a call."""
        if connections < 1:
            raise ValueError("connections must be 1 or more")
        given, single = self._question(id, table)
        if not single:
            raise ValueError("predict takes one table; serve answers several")
        try:
            return predictions(self, id, given[0], connections, timeout)
        except (NotFoundError, ValidationError):
            self._client._known.pop(id, None)
            raise

    def serve_cost(
        self,
        id: str,
        tables: Any = None,
        *,
        horizon: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Cost:
        """What `serve` with these tables would be billed, and what is left. Nothing is computed."""
        given, _ = self._question(id, tables)
        fields = cost_of({"horizon": horizon})
        return Cost.read(self._call("POST_SERVE", id, body=body_of(given, fields), timeout=timeout).json)

    def score(
        self,
        id: str,
        data: str,
        *,
        out: Optional[str] = None,
        out_mode: Optional[str] = None,
        wait: bool = True,
        progress: bool = False,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Job:
        """All rows of a stored dataset (its id; or a connection's id or reference), answered by the endpoint
        as it is now: a job, whose predictions `jobs.download` gives as a file. The predicted column may be
        missing; the others have the endpoint's names, in any order.

        out: a table or a .csv file below a connection registered for writing, which gets the predictions as
        well. out_mode: of a table, new, append or replace (default: new). wait=False gives the job as it is;
        its `wait()` waits then. progress: draws a bar meanwhile. Ctrl-C cancels the job."""
        fields = fields_of([data], None, None, None, None, out=out, out_mode=out_mode)
        reply = self._call("POST_SERVE", id, body=fields, idempotency_key=idempotency_key, timeout=timeout)
        job = self._client.jobs.retrieve(reply.json["job_id"])
        return job.wait(progress=progress) if wait else job

    def score_cost(self, id: str, data: str, *, timeout: Optional[float] = None) -> Cost:
        """What `score` of this dataset would be billed, and what is left. Nothing is computed."""
        fields = {**fields_of([data], None, None, None, None), "dry_run": True}
        return Cost.read(self._call("POST_SERVE", id, body=fields, timeout=timeout).json)

    def _question(self, id: str, tables: Any) -> Tuple[Sequence[Any], bool]:
        """The tables of a call, a single one under the endpoint's name for it; none where steps are asked."""
        if tables is None:
            return [], True
        given, single = tables_of(tables, "")
        if single:
            given[0].id = self._table_name(id)
        return given, single

    def _table_name(self, id: str) -> str:
        """What the endpoint calls its only table."""
        name, _ = self._asked(id)
        return name

    def _target_of(self, id: str) -> Optional[str]:
        """The column that the endpoint predicts, without the name of its table; None: none."""
        name, target = self._asked(id)
        return target[len(name) + 1 :] if target.startswith(name + ".") else None

    def _asked(self, id: str) -> Tuple[str, str]:
        """The endpoint's only table, and its target; asked once."""
        known = self._client._known
        if id not in known:
            raw = self._call("GET_ENDPOINT", id, query={"limit": 1}).json
            found = [d.get("table") or d.get("name") for d in (raw.get("data") or {}).get("datasets", [])]
            if len(found) != 1:
                raise ValueError(f"endpoint {id} has {len(found)} tables: give a dict of tables by name")
            known[id] = found[0], (raw.get("prediction") or {}).get("target") or ""
        return known[id]

    def report_outcomes(self, id: str, rows: Any) -> Dict[str, Any]:
        """What became true of rows that were served with receipts=True, however much later: pairs of receipt
        and outcome, dicts with receipt, outcome and perhaps at, or a data frame with these columns. Further
        members or columns are the cells of the row that was served: they are kept, and `refresh` with
        use_outcomes=True learns from them. Sends 10,000 a call; answers how many were accepted, kept, ignored
        (known before) and refused, with the reason of each row refused. Sending again counts nothing
        twice."""
        if hasattr(rows, "to_dict"):
            rows = [{k: v for k, v in row.items() if not _missing(v)} for row in rows.to_dict("records")]
        given = [_outcome_of(row) for row in rows]
        said: Dict[str, Any] = {"accepted": 0, "ignored": 0, "kept": 0, "refused": []}
        for at in range(0, len(given), 10000):
            raw = self._call("POST_OUTCOMES", id, body={"rows": given[at : at + 10000]}).json
            said["accepted"] += raw["accepted"]
            said["ignored"] += raw["ignored"]
            said["kept"] += raw.get("kept", 0)
            said["refused"] += [{**r, "row": r["row"] + at} for r in raw["refused"]]
        return said

    def forget_outcomes(self, id: str, receipts: Iterable[str]) -> Dict[str, Any]:
        """Rows that were kept with their outcomes under these receipts are kept no longer: a refresh does not
        read them. What is counted of outcomes stays; it holds no cells. Sends 10,000 a call; answers how many
        rows are forgotten and kept. The same again forgets nothing more; a receipt that is none of the
        endpoint's raises NotFoundError."""
        given = list(receipts)
        said: Dict[str, Any] = {"forgotten": 0, "kept": 0, "unnamed": 0}
        for at in range(0, max(len(given), 1), 10000):
            body = {"receipts": given[at : at + 10000]}
            raw = self._call("POST_OUTCOMES_FORGET", id, body=body).json
            said = {**raw, "forgotten": said["forgotten"] + raw["forgotten"]}
        return said

    def outcomes(self, id: str, *, format: str = "json") -> Any:
        """What of the endpoint's answers came true: score, coverage and calibration in all and by day of
        serving, each with its slices, beside the held-out report and what chance would do. format="csv": the
        text of a CSV file, a line a day and slice."""
        return self._call("GET_OUTCOMES", id, query={"format": format}).json

    def refresh(
        self,
        id: str,
        *,
        accept_schema: bool = False,
        use_outcomes: bool = False,
        wait: bool = True,
        progress: bool = False,
        idempotency_key: Optional[str] = None,
    ) -> Endpoint:
        """Moves the endpoint onto the newest snapshots of its data; `diff` says what changed. accept_schema:
        columns that callers send may be gone; else such a refresh fails. use_outcomes: rows that came with
        their outcomes (`report_outcomes`) are labelled rows beside those of the source."""
        body: Any = {
            **({"accept_schema": True} if accept_schema else {}),
            **({"options": {"use_outcomes": True}} if use_outcomes else {}),
        } or None
        raw = self._call("POST_ENDPOINT_REFRESH", id, body=body, idempotency_key=idempotency_key).json
        return self._followed(raw, wait, progress)

    def refresh_cost(self, id: str, *, use_outcomes: bool = False) -> Cost:
        """What `refresh` would be billed now, and what is left. The source is read, nothing is changed."""
        body: Dict[str, Any] = {"dry_run": True}
        if use_outcomes:
            body["options"] = {"use_outcomes": True}
        return Cost.read(self._call("POST_ENDPOINT_REFRESH", id, body=body).json)

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
        horizon: Optional[int] = None,
        as_of: Optional[str] = None,
        anomaly_share: Optional[float] = None,
        anomaly_threshold: Optional[float] = None,
        adapt: Optional[bool] = None,
        options: Optional[Mapping[str, Any]] = None,
    ) -> Endpoint:
        """Changes name, target, task, threshold, columns, missing marks, split, horizon, as_of, anomaly_share
        or anomaly_threshold, or whether answers follow outcomes (adapt), at once. To take horizon, as_of or
        one of the anomalies' away: options={"horizon": None}."""
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
            horizon=horizon,
            as_of=as_of,
            anomaly_share=anomaly_share,
            anomaly_threshold=anomaly_threshold,
            adapt=adapt,
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
        self._client._known.pop(id, None)
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
