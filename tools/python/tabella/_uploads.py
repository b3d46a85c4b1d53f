"""`client.uploads`: files that are sent in parts and gone on with where a connection broke; `data.upload`
sends large ones so by itself."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional

from ._errors import APIConnectionError, APIError, ConflictError, NotFoundError, TabellaError
from ._resource import Resource
from ._resources import Bar
from ._transport import Body, Pieces, pause
from ._types import Deleted, Job, Upload, Uploaded

if TYPE_CHECKING:
    from ._client import Tabella

LARGE = 16 << 20  # bytes: a smaller file is sent again where its connection breaks
PART = 64 << 20  # of one request
READ = 1 << 18


class BytesBody(Body):
    """Some bytes of a file, read as they are sent. told: hears how many are."""

    type = "application/octet-stream"

    def __init__(
        self, content: "Content", start: int, end: int, told: Optional[Callable[[int], None]]
    ) -> None:
        self.content, self.start, self.end, self.told = content, start, end, told

    def pieces(self) -> Pieces:
        at = self.start
        while at < self.end:
            piece = self.content.read(at, min(READ, self.end - at))
            if not piece:
                raise TabellaError(f"the file ends at byte {at}: it was cut while it was sent")
            yield piece
            at += len(piece)
            if self.told is not None:
                self.told(at)


class Content:
    """A file by its path, or bytes that are here."""

    def __init__(self, file: Any) -> None:
        here = isinstance(file, (bytes, bytearray, memoryview))
        self.bytes: Any = file if here else None
        self.file: Any = None if here else open(file, "rb")
        self.size: int = len(file) if here else self._length()

    def _length(self) -> int:
        return os.fstat(self.file.fileno()).st_size

    def read(self, at: int, n: int) -> bytes:
        if self.bytes is not None:
            return bytes(self.bytes[at : at + n])
        self.file.seek(at)
        return bytes(self.file.read(n))

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


class Uploads(Resource):
    """Uploads in parts."""

    def begin(
        self,
        file_name: str,
        *,
        name: Optional[str] = None,
        size_bytes: Optional[int] = None,
        sheet: Optional[str] = None,
        reading: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Upload:
        """An upload without a byte yet: `offset` is 0. The other arguments are those of `data.upload`.
        size_bytes: of the whole file; one larger than the plan allows (`most_bytes`) is refused now."""
        options = {k: v for k, v in (("sheet", sheet), ("reading", reading)) if v is not None}
        fields: Dict[str, Any] = {
            "file_name": file_name,
            "name": name,
            "size_bytes": size_bytes,
            "options": options or None,
        }
        body = {k: v for k, v in fields.items() if v is not None}
        return Upload.read(self._call("POST_UPLOADS", body=body, idempotency_key=idempotency_key).json)

    def retrieve(self, id: str) -> Upload:
        """How much of it is there (`offset`), and when it is dropped unless more comes."""
        return Upload.read(self._call("GET_UPLOAD", id).json)

    def send(
        self, id: str, content: bytes, *, offset: int, told: Optional[Callable[[int], None]] = None
    ) -> Upload:
        """Bytes of the file, the first of them at `offset`, which is where the upload is: ConflictError where
        it is elsewhere. Of a connection that breaks, what came counts: `retrieve` says where to go on."""
        return self._sent(id, Content(content), 0, len(content), offset, told)

    def _sent(
        self,
        id: str,
        content: Content,
        start: int,
        end: int,
        offset: int,
        told: Optional[Callable[[int], None]],
    ) -> Upload:
        body = BytesBody(content, start, end, told)
        return Upload.read(self._call("PUT_UPLOAD", id, query={"offset": offset}, body=body).json)

    def complete(self, id: str, *, idempotency_key: Optional[str] = None, progress: bool = False) -> Uploaded:
        """All bytes are there: its tables become datasets, of a large file by a job, which is waited for."""
        reply = self._call("POST_UPLOAD_COMPLETE", id, idempotency_key=idempotency_key)
        if reply.status != 202:
            return Uploaded.read(reply.json)
        job = self._client._bound(Job.read(reply.json))
        return Uploaded.read(job.wait(progress=progress).result)

    def delete(self, id: str) -> Deleted:
        return Deleted.read(self._call("DELETE_UPLOAD", id).json)


def sent(client: "Tabella", id: str, content: Content, told: Optional[Callable[[int], None]] = None) -> None:
    """Sends what an upload lacks of its file, from where it is, again and again: it is given up where several
    attempts in a row bring nothing further."""
    tries, at = 0, client.uploads.retrieve(id).offset
    while at < content.size:
        before = at
        try:
            at = client.uploads._sent(id, content, at, min(at + PART, content.size), at, told).offset
            tries = 0
            continue
        except NotFoundError:
            raise
        except ConflictError as e:
            if e.param != "offset":
                raise
            last: Exception = e
        except (APIConnectionError, APIError) as e:
            if isinstance(e, APIError) and e.status < 500 and e.status != 0:
                raise
            last = e
        pause(client._transport._pause_of(tries, None))
        at = client.uploads.retrieve(id).offset
        tries = 0 if at > before else tries + 1
        if tries > client._transport.max_retries:
            raise last


def main(words: List[str], connect: "Callable[[], Tabella]") -> int:
    """`tabella upload FILE`."""
    p = argparse.ArgumentParser(
        prog="tabella upload",
        description="Sends a file in parts, goes on where a connection broke, and makes datasets of its "
        "tables. TABELLA_URL and TABELLA_API_KEY say where to.",
    )
    p.add_argument("file")
    p.add_argument("--name", help="of the dataset, where the file holds one table")
    p.add_argument("--sheet", help="of a workbook")
    p.add_argument("--resume", metavar="ID", help="goes on with an upload that was ended")
    given = p.parse_args(words)
    id = given.resume
    try:
        client = connect()
        content = Content(given.file)
        if id is None:
            begun = client.uploads.begin(
                os.path.basename(given.file), name=given.name, sheet=given.sheet, size_bytes=content.size
            )
            id = begun.id
        bar = Bar(os.path.basename(given.file)) if sys.stderr.isatty() else None
        sent(client, id, content, lambda n: bar.at(100 * n // content.size, "sent") if bar else None)
        if bar:
            bar.close()
        made = client.uploads.complete(id, progress=sys.stderr.isatty())
    except (TabellaError, OSError) as e:
        print(f"tabella upload: {e}", file=sys.stderr)
        if id is not None:
            print(f"tabella upload: go on with --resume {id}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\ntabella upload: interrupted; go on with --resume {id}", file=sys.stderr)
        return 130
    for d in made.datasets or ([made.dataset] if made.dataset else []):
        print(f"{d.id}\t{d.name}\t{d.rows} rows, {d.cols} columns")
    return 0
