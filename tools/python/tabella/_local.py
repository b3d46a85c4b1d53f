"""The engine in this process: libtabella (tools/library/tabella.h) through ctypes, with no server."""

from __future__ import annotations

import ctypes
import json
import os
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from ._arrow import capsule_of
from ._bundle import Bundle
from ._errors import TabellaError
from ._frames import Table, TablesBody, tables_of
from ._resource import Target, target_of

INTERFACE = 1  # of the library, that this file is written for
Path = Union[str, "os.PathLike[str]"]
_Report = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double)
_stream_at = ctypes.pythonapi.PyCapsule_GetPointer  # with the interpreter's lock, which CDLL gives back
_stream_at.restype, _stream_at.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _load(path: Optional[Path]) -> ctypes.CDLL:
    """The library at `path`, at TABELLA_LIBRARY, or beside this file."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtabella.so")
    found = os.fspath(path or os.environ.get("TABELLA_LIBRARY") or beside)
    try:
        lib = ctypes.CDLL(found)
    except OSError as e:
        raise TabellaError(
            f"the engine's library is not there ({e}): `make library` builds it, and TABELLA_LIBRARY names it"
        ) from None
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    types: Dict[str, Tuple[Any, List[Any]]] = {
        "interface": (ctypes.c_int, []),
        "version": (text, []),
        "new": (pointer, []),
        "free": (None, [pointer]),
        "add_file": (ctypes.c_int, [pointer, text, text, size]),
        "add_json": (ctypes.c_int, [pointer, text, size]),
        "add_stream": (ctypes.c_int, [pointer, text, pointer]),
        "option": (ctypes.c_int, [pointer, text, text]),
        "progress": (None, [pointer, _Report, pointer]),
        "run": (ctypes.c_int, [pointer]),
        "fit": (ctypes.c_int, [pointer]),
        "serve": (ctypes.c_int, [pointer, pointer]),
        "cancel": (None, [pointer]),
        "result": (pointer, [pointer, ctypes.POINTER(size)]),
        "error": (text, [pointer]),
        "notes": (text, [pointer]),
    }
    for name, (gives, takes) in types.items():
        function = getattr(lib, "tabella_" + name)
        function.restype, function.argtypes = gives, takes
    if lib.tabella_interface() != INTERFACE:
        raise TabellaError(f"{found} has interface {lib.tabella_interface()}, and {INTERFACE} is needed")
    return lib


class Local:
    """The engine in this process. Its `run` takes tables as `Tabella.run` does and gives the same `Bundle`;
    nothing leaves the process. The bytes are those of `tabella run --json` for the same tables.

    library: where libtabella.so lies (default: TABELLA_LIBRARY, else beside this package). threads: of each
    run (default: the processors that this process may use); answers do not depend on them. One Local may be
    used by several threads at once, and in forked processes."""

    def __init__(self, *, library: Optional[Path] = None, threads: Optional[int] = None) -> None:
        self._given = (library, threads)
        self._lib = _load(library)
        self.threads = min(256, len(os.sched_getaffinity(0))) if threads is None else threads

    def __reduce__(self) -> Any:
        return _again, self._given

    def __repr__(self) -> str:
        return f"Local(threads={self.threads})"

    @property
    def version(self) -> str:
        """The engine's, such as 0.3.0."""
        return str(self._lib.tabella_version().decode())

    def run(
        self,
        tables: Any,
        *,
        name: str = "table",
        target: Target = None,
        task: Optional[str] = None,
        base: Optional[str] = None,
        confidence_threshold: Optional[float] = None,
        explain: bool = False,
        missing_values: Optional[str] = None,
        horizon: Optional[int] = None,
        as_of: Optional[str] = None,
        anomaly_share: Optional[float] = None,
        anomaly_threshold: Optional[float] = None,
        progress: Optional[Callable[[str, float], None]] = None,
    ) -> Bundle:
        """What tables are, how they relate, what is missing, and what can be predicted.

        Arguments as of `Tabella.run`; of missing_values "auto" is known here.
        progress: called with the phase and the share that is done, 0 to 1, from another thread. Ctrl-C
        cancels. Raises TabellaError with what is wrong, MemoryError."""
        given, single = tables_of(tables, name)
        options = self._options(
            target,
            task,
            base,
            confidence_threshold,
            explain,
            horizon,
            as_of,
            anomaly_share,
            anomaly_threshold,
        )
        if missing_values is not None:
            options["na"] = missing_values
        raw = self._run(self._adders(given), options, progress)
        return Bundle.of(json.loads(raw), given, single, None)

    def run_files(
        self,
        paths: Sequence[Path],
        *,
        target: Target = None,
        task: Optional[str] = None,
        base: Optional[str] = None,
        confidence_threshold: Optional[float] = None,
        explain: bool = False,
        horizon: Optional[int] = None,
        as_of: Optional[str] = None,
        anomaly_share: Optional[float] = None,
        anomaly_threshold: Optional[float] = None,
        progress: Optional[Callable[[str, float], None]] = None,
    ) -> Bundle:
        """`run` of the tables in files, of every form that `tabella run` reads; ids are the files' names."""
        options = self._options(
            target,
            task,
            base,
            confidence_threshold,
            explain,
            horizon,
            as_of,
            anomaly_share,
            anomaly_threshold,
        )

        def adder(path: Path) -> Callable[[int], int]:
            def add(t: int) -> int:
                with open(path, "rb") as f:
                    held = f.read()
                return int(self._lib.tabella_add_file(t, os.fsencode(path), held, len(held)))

            return add

        raw = self._run([adder(p) for p in paths], options, progress)
        return Bundle.of(json.loads(raw), [], False, None)

    def fit(
        self,
        table: Any,
        *,
        target: Target = None,
        task: Optional[str] = None,
        base: Optional[str] = None,
        missing_values: Optional[str] = None,
        anomaly_share: Optional[float] = None,
        anomaly_threshold: Optional[float] = None,
        progress: Optional[Callable[[str, float], None]] = None,
    ) -> Fitted:
        """A model of one table, as an endpoint of the service is one: rows are asked of it again and again,
        and each is answered by itself. Arguments as of `run`."""
        given, _ = tables_of(table, "table")
        names = ("task", "base", "anomaly-share", "anomaly-threshold", "na")
        told = dict(zip(names, (task, base, anomaly_share, anomaly_threshold, missing_values)))
        options = self._said({**told, "target": target})
        done = self._task(self._adders(given), options, progress, self._lib.tabella_fit)
        return Fitted(self, done, given[0].id)

    def _adders(self, tables: Sequence[Table]) -> List[Callable[[int], int]]:
        """Each table as a stream of Arrow, from where it lies, or else as JSON, in their order."""

        def adder(table: Table) -> Callable[[int], int]:
            capsule, wrong = capsule_of(table)
            if capsule is None:
                body = b"".join(TablesBody([table], {}).pieces())
                return lambda t: int(self._lib.tabella_add_json(t, body, len(body)))

            def add(t: int) -> int:
                stream = _stream_at(capsule, b"arrow_array_stream")
                rc = int(self._lib.tabella_add_stream(t, table.id.encode(), stream))
                if wrong:
                    raise wrong[0]
                return rc

            return add

        return [adder(t) for t in tables]

    def _options(self, target: Target, *rest: Any) -> Dict[str, str]:
        names = ("task", "base", "threshold", "explain", "horizon", "as-of", "anomaly-share")
        given = dict(zip((*names, "anomaly-threshold"), rest))
        given["explain"] = "yes" if given["explain"] else "no"
        return self._said({**given, "target": target})

    def _said(self, given: Dict[str, Any]) -> Dict[str, str]:
        """Options as the library takes them."""
        target = target_of(given.get("target"))
        given["target"] = None if target is None else target.get("column") or target.get("mode")
        given["threads"] = self.threads
        for k, v in given.items():
            if v is not None and (isinstance(v, bool) or not isinstance(v, (str, int, float))):
                raise TypeError(f"{k}: {type(v).__name__} is neither a text nor a number")
        return {k: str(v) for k, v in given.items() if v is not None}

    def _run(self, adders: Sequence[Callable[[int], int]], options: Dict[str, str], progress: Any) -> bytes:
        """The bundle's JSON, byte for byte that of the command line."""
        return self._result(self._task(adders, options, progress, self._lib.tabella_run))

    def _task(
        self,
        adders: Sequence[Callable[[int], int]],
        options: Dict[str, str],
        progress: Any,
        call: Callable[[int], int],
    ) -> _Task:
        """One of the library's that is over: tables and options in, then this call."""
        task = _Task(self._lib, progress)
        for add in adders:
            self._must(task.at, add(task.at))
        for key, value in options.items():
            self._must(task.at, self._lib.tabella_option(task.at, key.encode(), value.encode()))
        self._must(task.at, task.wait(call))
        return task

    def _result(self, task: _Task) -> bytes:
        n = ctypes.c_size_t()
        at = self._lib.tabella_result(task.at, ctypes.byref(n))
        return ctypes.string_at(at, n.value)

    def _must(self, t: int, rc: int) -> None:
        if rc != 0:
            said = self._lib.tabella_error(t).decode("utf-8", "replace")
            raise MemoryError(said) if said == "out of memory" else TabellaError(said)


class _Task:
    """The library's run, which its last holder frees: an interrupt may come at any instruction, and the
    thread that computes holds it for as long as it does."""

    def __init__(self, lib: ctypes.CDLL, progress: Any) -> None:
        self._lib = lib
        self.at = lib.tabella_new()
        if not self.at:
            raise MemoryError("out of memory")
        self._report = _Report(lambda _, phase, done: progress(phase.decode(), done))
        if progress is not None:
            lib.tabella_progress(self.at, self._report, None)

    def __del__(self) -> None:
        self._lib.tabella_free(self.at)

    def wait(self, call: Callable[[int], int]) -> int:
        """Computes in a thread: the calling one stays free to be interrupted."""
        answer: List[int] = []
        over = threading.Event()

        def compute() -> None:
            try:
                answer.append(call(self.at))
            finally:
                over.set()

        worker = threading.Thread(target=compute, name="tabella")
        try:
            worker.start()
            over.wait()
        except BaseException:
            self._lib.tabella_cancel(self.at)
            if worker.is_alive():
                worker.join()
            raise
        return answer[0]


class Fitted:
    """A model in this process, which `Local.fit` made. Several threads may ask it at once."""

    def __init__(self, local: Local, task: _Task, name: str) -> None:
        self._local, self._held, self._name = local, task, name

    def serve(
        self, rows: Any, *, explain: bool = False, progress: Optional[Callable[[str, float], None]] = None
    ) -> Bundle:
        """The bundle of new rows, of which `predictions` is known: one for each. The rows have the columns
        of the fitted table in its order, the target's too, whose cells may be missing.
        """
        local, fitted = self._local, self._held.at
        given, single = tables_of(rows, self._name)
        options = {"explain": "yes" if explain else "no", "threads": str(local.threads)}
        call = local._lib.tabella_serve
        done = local._task(local._adders(given), options, progress, lambda t: int(call(t, fitted)))
        return Bundle.of(json.loads(local._result(done)), given, single, None)


def _again(library: Optional[Path], threads: Optional[int]) -> Local:
    return Local(library=library, threads=threads)
