"""One request to the service: a pool of kept connections, retries, and errors by type.

A call may be sent again when its connection broke or the service asked for it (429, 5xx), as far as the
route's row says that twice does no harm; where the service takes an idempotency key, all attempts of a call
carry the same one. Between attempts lie 0.5, 1, 2 ... 8 s, less up to a quarter by chance so that many
callers do not come back at one moment, or what Retry-After asks for, up to two minutes.

Why so: Decision 0290."""

from __future__ import annotations

import http.client
import json
import os
import select
import socket
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union
from urllib.parse import quote, urlencode, urlsplit

from ._errors import APIConnectionError, APIError, APITimeoutError, TabellaError, error_of
from ._routes import ROUTES, Route

CONNECT_S = 5.0  # a host that takes longer to accept is away
IDLE_S = 50.0  # nginx closes a kept connection after 75 s by default
KEPT = 16  # idle connections
FILE_S = 300.0  # until a file's first byte: the service may look through the whole before
ARROW = "application/vnd.apache.arrow.stream"
WHOLE = 1 << 20  # bytes: a shorter body goes in one piece with its length
FIRST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_RETRY_AFTER_S = 0.5, 8.0, 120.0
VERSION = "0.3.0"

Pieces = Iterator[bytes]


class Stopped(BaseException):
    """The asynchronous caller of this thread's call is gone."""


here = threading.local()  # .stop: set by the asynchronous client for each call of this thread


def pause(seconds: float) -> None:
    """Sleeps, and ends early with Stopped when nobody waits for this thread's call any more."""
    stop: Optional[threading.Event] = getattr(here, "stop", None)
    if stop is None:
        time.sleep(seconds)
    elif stop.wait(seconds):
        raise Stopped()


def chance() -> float:
    """From 0 to 1, evenly."""
    return int.from_bytes(os.urandom(4), "big") / 2.0**32


class Body:
    """A request's body in pieces, made anew for each attempt."""

    type = "application/json"

    def pieces(self) -> Pieces:
        raise NotImplementedError


class Stream:
    """A file in pieces, made anew for each attempt."""

    def pieces(self) -> Pieces:
        raise NotImplementedError


File = Union[str, "os.PathLike[str]", Tuple[str, bytes], Tuple[str, Stream]]


class JsonBody(Body):
    def __init__(self, value: Any) -> None:
        self.text = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()

    def pieces(self) -> Pieces:
        yield self.text


class FormBody(Body):
    """multipart/form-data: texts, and a file that is read as it is sent. told: hears how many bytes of the
    file are sent, each time from nothing on that the request is made anew."""

    def __init__(
        self, texts: Mapping[str, str], file: File, told: Optional[Callable[[int], None]] = None
    ) -> None:
        self.told = told
        self.mark = b"tabella-" + os.urandom(16).hex().encode()
        self.type = "multipart/form-data; boundary=" + self.mark.decode()
        self.texts, self.file = texts, file
        self.name = os.path.basename(file[0] if isinstance(file, tuple) else os.fspath(file))

    def pieces(self) -> Pieces:
        for name, text in self.texts.items():
            yield self._head(name) + text.encode() + b"\r\n"
        yield self._head("file", self.name)
        sent = 0
        for piece in self._content():
            yield piece
            sent += len(piece)
            if self.told is not None:
                self.told(sent)
        yield b"\r\n--" + self.mark + b"--\r\n"

    def _content(self) -> Pieces:
        if isinstance(self.file, tuple):
            content = self.file[1]
            if isinstance(content, Stream):
                yield from content.pieces()
            else:
                yield from (content[i : i + (1 << 18)] for i in range(0, len(content), 1 << 18))
        else:
            with open(self.file, "rb") as f:
                yield from iter(lambda: f.read(1 << 18), b"")

    def size(self) -> int:
        """Of the file, in bytes; 0 where it is not known before it is sent."""
        if not isinstance(self.file, tuple):
            return os.path.getsize(self.file)
        return 0 if isinstance(self.file[1], Stream) else len(self.file[1])

    def _head(self, name: str, file_name: str = "") -> bytes:
        plain = file_name.replace('"', "_").replace("\r", "_").replace("\n", "_")
        said = f'; filename="{plain}"' if file_name else ""
        head = f'Content-Disposition: form-data; name="{name}"{said}\r\n\r\n'
        return b"--" + self.mark + b"\r\n" + head.encode()


class Reply:
    """json: the answer; of one that is a text file, its text, of an Arrow stream its bytes."""

    def __init__(self, status: int, headers: Dict[str, str], json: Any) -> None:
        self.status, self.headers, self.json = status, headers, json


def retry_after_of(headers: Mapping[str, str]) -> Optional[float]:
    """Seconds, from either form of Retry-After; None where there is none that can be read."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        from email.utils import parsedate_to_datetime

        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except (TypeError, ValueError):
            return None


class Transport:
    """Connections to one service with one key. Threads may share it."""

    def __init__(
        self, base_url: str, api_key: str, timeout: float, max_retries: int, ssl_context: Any
    ) -> None:
        url = urlsplit(base_url if "//" in base_url else "//" + base_url, scheme="https")
        if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment:
            raise TabellaError("base_url is http:// or https://, a host, and a port where it needs one")
        if url.username is not None or url.password is not None:
            raise TabellaError("base_url holds no user or password: the key goes in api_key")
        self.tls = url.scheme == "https"
        self.host, self.port, self.prefix = url.hostname, url.port, url.path.rstrip("/")
        self.key, self.timeout, self.max_retries = api_key, timeout, max_retries
        self.ssl_context = ssl_context
        self.idle: List[Tuple[float, http.client.HTTPConnection]] = []
        self.lock = threading.Lock()
        self.pid = os.getpid()

    # ---- connections ---------------------------------------------------------------------------

    def _new(self, timeout: float) -> http.client.HTTPConnection:
        first = min(timeout, CONNECT_S)
        made: http.client.HTTPConnection
        if self.tls:
            import ssl

            if self.ssl_context is None:
                self.ssl_context = ssl.create_default_context()
            made = http.client.HTTPSConnection(self.host, self.port, timeout=first, context=self.ssl_context)
        else:
            made = http.client.HTTPConnection(self.host, self.port, timeout=first)
        made.connect()
        return made

    def _take(self) -> Optional[http.client.HTTPConnection]:
        """A kept connection that the other side has not closed, the youngest first."""
        if self.pid != os.getpid():  # a fork's connections belong to its parent
            self.pid, self.idle, self.lock = os.getpid(), [], threading.Lock()
        while True:
            with self.lock:
                if not self.idle:
                    return None
                since, kept = self.idle.pop()
            if time.monotonic() - since < IDLE_S and kept.sock is not None:
                watch = select.poll() if hasattr(select, "poll") else None
                if watch is None:
                    return kept
                watch.register(kept.sock, select.POLLIN)
                if not watch.poll(0):  # readable without a question: closed, or a stray answer
                    return kept
            kept.close()

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self.lock:
            if len(self.idle) < KEPT:
                self.idle.append((time.monotonic(), connection))
                return
        connection.close()

    def close(self) -> None:
        with self.lock:
            kept, self.idle = self.idle, []
        for _, connection in kept:
            connection.close()

    # ---- one attempt ---------------------------------------------------------------------------

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        head: Dict[str, str],
        body: Optional[Body],
    ) -> http.client.HTTPResponse:
        """A body that is known to end below WHOLE goes with its length, a longer one in chunks as it is made:
        a large frame never lies here as text."""
        content: Union[bytes, Iterator[bytes], None] = None
        if body is not None:
            pieces = body.pieces()
            start = []
            for piece in pieces:
                start.append(piece)
                if sum(map(len, start)) > WHOLE:
                    break
            whole = b"".join(start)
            if len(whole) <= WHOLE:
                content = whole
            else:

                def all_pieces() -> Iterator[bytes]:
                    yield whole
                    yield from pieces

                head = {**head, "Transfer-Encoding": "chunked"}
                content = all_pieces()
        chunked = "Transfer-Encoding" in head
        try:
            connection.request(method, path, body=content, headers=head, encode_chunked=chunked)
        except (BrokenPipeError, ConnectionResetError):
            # A request that is refused is not read to its end; the refusal may be there to be read.
            try:
                return connection.getresponse()
            except (OSError, http.client.HTTPException):
                pass
            raise
        return connection.getresponse()

    def _once(
        self, method: str, path: str, head: Dict[str, str], body: Optional[Body], timeout: float
    ) -> Reply:
        """Raises APIConnectionError with .sent: whether the service may have the call."""
        sent = False
        connection = self._take()
        try:
            connection = connection or self._new(timeout)
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            sent = True
            answer = self._send(connection, method, path, head, body)
            raw = answer.read()
        except socket.timeout as e:
            if connection is not None:
                connection.close()
            raise self._broken(APITimeoutError(f"no answer within {timeout:g} s"), sent) from e
        except (OSError, http.client.HTTPException) as e:
            if connection is not None:
                connection.close()
            what = f"{type(e).__name__}: {e}".rstrip(": ")
            raise self._broken(APIConnectionError(f"{self.host}: {what}"), sent) from e
        except BaseException:  # Ctrl-C, or a cell that cannot be sent: the connection is halfway
            if connection is not None:
                connection.close()
            raise
        if answer.will_close:
            connection.close()
        else:
            self._keep(connection)
        headers = {k.lower(): v for k, v in answer.getheaders()}
        if headers.get("content-type", "").startswith("text/csv"):
            return Reply(answer.status, headers, raw.decode())
        if headers.get("content-type") == ARROW:
            return Reply(answer.status, headers, raw)
        try:
            parsed = json.loads(raw) if raw else None
        except ValueError:
            parsed = None
            if 200 <= answer.status < 300:
                raise self._broken(APIConnectionError(f"{self.host}: the answer is not JSON"), True) from None
        return Reply(answer.status, headers, parsed)

    @staticmethod
    def _broken(error: APIConnectionError, sent: bool) -> APIConnectionError:
        error.sent = sent  # type: ignore[attr-defined]
        return error

    # ---- a call --------------------------------------------------------------------------------

    def call(
        self,
        operation: str,
        *ids: str,
        query: Optional[Mapping[str, Any]] = None,
        body: Union[Body, Mapping[str, Any], None] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        accept: str = "application/json",
    ) -> Reply:
        """One call of a route, all its attempts. Raises APIError and APIConnectionError."""
        route = ROUTES[operation]
        path = self._path(route, ids, query)
        head = {
            "Authorization": "Bearer " + self.key,
            "Accept": accept,
            "User-Agent": "tabella-python/" + VERSION,
        }
        content = body if isinstance(body, Body) or body is None else JsonBody(body)
        if content is not None:
            head["Content-Type"] = content.type
        if route.key:
            head["Idempotency-Key"] = idempotency_key or "py-" + os.urandom(16).hex()
        limit = self.timeout if timeout is None else timeout
        for attempt in range(self.max_retries + 1):
            last = attempt == self.max_retries
            try:
                reply = self._once(route.method, path, head, content, limit)
            except APIConnectionError as e:
                if last or (not route.again and getattr(e, "sent", True)):
                    raise
                pause(self._pause_of(attempt, None))
                continue
            if 200 <= reply.status < 300:
                return reply
            asked = retry_after_of(reply.headers)
            error = error_of(reply.status, reply.headers, reply.json, asked)
            if last or not self._worth(error, route) or (asked or 0) > LONGEST_RETRY_AFTER_S:
                raise error
            pause(self._pause_of(attempt, asked))
        raise AssertionError("a call has at least one attempt")

    def stream(
        self,
        operation: str,
        *ids: str,
        query: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> Pieces:
        """The bytes of a file, as they come, over a connection of its own. It is asked for again until its
        first byte is there. Raises APIError and APIConnectionError; one that breaks off is no file."""
        route = ROUTES[operation]
        path = self._path(route, ids, query)
        head = {"Authorization": "Bearer " + self.key, "User-Agent": "tabella-python/" + VERSION}
        limit = self.timeout if timeout is None else timeout
        for attempt in range(self.max_retries + 1):
            last, asked = attempt == self.max_retries, None
            connection: Optional[http.client.HTTPConnection] = None
            begun = False
            try:
                connection = self._new(limit)
                if connection.sock is not None:
                    connection.sock.settimeout(max(limit, FILE_S))
                answer = self._send(connection, route.method, path, head, None)
                if answer.status == 200:
                    while True:
                        piece = answer.read(1 << 18)
                        begun = begun or bool(piece)
                        if not piece:
                            return
                        yield piece
                headers = {k.lower(): v for k, v in answer.getheaders()}
                asked = retry_after_of(headers)
                error = error_of(answer.status, headers, self._json_of(answer.read()), asked)
                if last or not self._worth(error, route) or (asked or 0) > LONGEST_RETRY_AFTER_S:
                    raise error
            except (OSError, http.client.HTTPException) as e:
                if last or begun:
                    what = f"{type(e).__name__}: {e}".rstrip(": ")
                    raise APIConnectionError(f"{self.host}: the file broke off: {what}") from e
            finally:
                if connection is not None:
                    connection.close()
            pause(self._pause_of(attempt, asked))
        raise AssertionError("a call has at least one attempt")

    @staticmethod
    def _json_of(raw: bytes) -> Any:
        try:
            return json.loads(raw) if raw else None
        except ValueError:
            return None

    @staticmethod
    def _worth(error: APIError, route: Route) -> bool:
        """Whether another attempt may fare better. What is refused for its rate has not been begun."""
        if error.status == 429:
            return True
        return error.status in (408, 500, 502, 503, 504) and error.type != "job_failed" and route.again

    @staticmethod
    def _pause_of(attempt: int, asked: Optional[float]) -> float:
        if asked is not None:
            return asked + chance() * 0.1 * asked
        return min(FIRST_PAUSE_S * 2.0**attempt, LONGEST_PAUSE_S) * (1 - 0.25 * chance())

    def _path(self, route: Route, ids: Tuple[str, ...], query: Optional[Mapping[str, Any]]) -> str:
        path = route.path
        for name, value in zip(("{id}", "{sub}"), ids):
            if not isinstance(value, str) or not value:
                raise TypeError(f"an id is a text that is not empty, not {value!r}")
            path = path.replace(name, quote(value, safe=""))
        given = {k: v for k, v in (query or {}).items() if v is not None}
        return self.prefix + path + ("?" + urlencode(given) if given else "")
