"""`client.data`: datasets and connections."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any, Dict, Iterator, Literal, Mapping, Optional, Sequence, Union

from . import _download
from ._errors import NotFoundError
from ._resource import Page, Resource
from ._resources import Bar
from ._transport import File, FormBody, Stream
from ._types import A, Connected, Cost, Data, Deleted, Generated, Job, Snapshot, SnapshotDiff
from ._types import SnapshotProfile, Sync, Uploaded
from ._uploads import LARGE, Content, sent


def _generation(sector: str, rows: int, name: Optional[str], **options: Any) -> Dict[str, Any]:
    given = {k: v for k, v in options.items() if v is not None}
    fields = {"sector": sector, "rows": rows, "name": name, "options": given or None}
    return {k: v for k, v in fields.items() if v is not None}


@contextlib.contextmanager
def _sending(body: FormBody, progress: bool) -> Iterator[None]:
    """A bar of what is sent."""
    size = body.size() if progress else 0
    if size == 0:
        yield
        return
    bar = Bar(body.name)
    body.told = lambda sent: bar.at(100 * sent // size, "sent")
    try:
        yield
    finally:
        bar.close()


def _in_parts(file: File) -> bool:
    if not isinstance(file, tuple):
        return os.path.getsize(file) > LARGE
    return not isinstance(file[1], Stream) and len(file[1]) > LARGE


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
        reading: Optional[Mapping[str, Any]] = None,
        write: Optional[bool] = None,
    ) -> Connected:
        """Registers a source and takes its first snapshot. Credentials are never answered again. query: read
        instead of the table; sheet: the one of a workbook; key: the columns that identify a row; records: a
        JSON pointer to the rows of an answer; reading: how a file is to be read, as of upload; write: runs
        may write below it."""
        asked: Dict[str, Any] = {
            "query": query,
            "sheet": sheet,
            "key": None if key is None else list(key),
            "records": records,
            "reading": None if reading is None else dict(reading),
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
        reading: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
        progress: bool = False,
    ) -> Uploaded:
        """A file, by its path or as its name and bytes: CSV, JSON, NDJSON, xlsx, ods, Parquet, Arrow, SAS,
        SPSS or Stata, packed (gz, zip) or not, read as it is sent. One of more than 16 MiB goes in parts, and
        goes on where its connection broke (`client.uploads`). Its tables become datasets: of a large file by
        a job, which is waited for. name: of its only table; sheet: the one of a
        workbook; reading: how the file is to be read (delimiter, quote, encoding, header_rows, skip_lines,
        one_table) where `dataset.reading` shows that it was read wrongly. progress: draws a bar while the
        file is sent, and while a job reads it."""
        texts = {} if name is None else {"name": name}
        options = {k: v for k, v in (("sheet", sheet), ("reading", reading)) if v is not None}
        if options:
            texts["options"] = json.dumps(options)
        if _in_parts(file):
            try:
                return self._parts(file, name, sheet, reading, idempotency_key, progress)
            except NotFoundError as e:
                if e.param != "begin":
                    raise
        body = FormBody(texts, file)
        with _sending(body, progress):
            reply = self._call("POST_DATA_UPLOAD", body=body, idempotency_key=idempotency_key)
        if reply.status != 202:
            return Uploaded.read(reply.json)
        job = self._client._bound(Job.read(reply.json))
        return Uploaded.read(job.wait(progress=progress).result)

    def download(
        self,
        id: str,
        path: "Union[str, os.PathLike[str]]",
        *,
        snapshot: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> str:
        """Writes a dataset's rows as they are stored, of its current snapshot or of another, and gives the
        path. An upload of the file, here or elsewhere, has the same cells."""
        pieces = self._client._transport.stream(
            "GET_DATA_STORED", id, query={"snapshot": snapshot}, timeout=timeout
        )
        return _download.written(pieces, os.fspath(path))

    def _parts(
        self,
        file: Any,
        name: Optional[str],
        sheet: Optional[str],
        reading: Optional[Mapping[str, Any]],
        key: Optional[str],
        progress: bool,
    ) -> Uploaded:
        """In parts; under one key, once."""
        uploads = self._client.uploads
        named, own = isinstance(file, tuple), None if key is None else f"{key[:240]}-begin"
        content = Content(file[1] if named else file)
        file_name = os.path.basename(file[0] if named else os.fspath(file))
        bar = Bar(file_name) if progress else None
        told = None if bar is None else lambda n: bar.at(100 * n // content.size, "sent")
        try:
            try:
                id = uploads.begin(
                    file_name,
                    name=name,
                    size_bytes=content.size,
                    sheet=sheet,
                    reading=reading,
                    idempotency_key=own,
                ).id
            except NotFoundError as e:  # a service of a release that takes a file as a whole
                e.param = "begin"
                raise
            try:
                sent(self._client, id, content, told)
            except NotFoundError:  # it was completed under this key before, which will say so, or has expired
                if key is None:
                    raise
            if bar is not None:
                bar.close()
            return uploads.complete(id, idempotency_key=key, progress=progress)
        finally:
            content.close()

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
