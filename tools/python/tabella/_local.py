"""The engine in this process: libtabella (tools/library/tabella.h) through ctypes, with no server."""

from __future__ import annotations

import ctypes
import json
import os
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._arrow import capsule_of
from ._bundle import Bundle
from ._download import Parts
from ._errors import BY_TYPE, APIError, TabellaError
from ._frames import Table, TablesBody, tables_of
from ._questions import Verbs
from ._resource import Target, target_of

INTERFACE = 1  # of the library, that this file is written for
Path = Union[str, "os.PathLike[str]"]
# Options of the library, and the fields that they are for the service.
FIELDS = {
    "target": "target.column",
    "task": "task.type",
    "threshold": "options.confidence_threshold",
    "explain": "options.explain",
    "columns": "options.columns",
    "na": "options.missing_values",
    "split": "options.split",
    "horizon": "options.horizon",
    "as-of": "options.as_of",
    "anomaly-share": "options.anomaly_share",
    "anomaly-threshold": "options.anomaly_threshold",
}
Progress = Union[bool, Callable[[str, float], None], None]
Marks = Union[str, Sequence[Union[str, float]], None]
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
        "part": (ctypes.c_int, [pointer, text, text, pointer]),
        "error": (text, [pointer]),
        "error_type": (text, [pointer]),
        "error_param": (text, [pointer]),
        "notes": (text, [pointer]),
    }
    for name, (gives, takes) in types.items():
        function = getattr(lib, "tabella_" + name)
        function.restype, function.argtypes = gives, takes
    if lib.tabella_interface() != INTERFACE:
        raise TabellaError(f"{found} has interface {lib.tabella_interface()}, and {INTERFACE} is needed")
    return lib


class Local(Verbs):
    """The engine in this process. `run`, `match`, `dedupe`, `profile`, `fill`, `check`, `forecast` and
    `predict` take what those of `Tabella` take and give the same; nothing leaves the process. The bytes of a
    bundle are those of `tabella run --json` for the same tables.

    library: where libtabella.so lies (default: TABELLA_LIBRARY, else beside this package). threads: of each
    run (default: the processors that this process may use); answers do not depend on them. One Local may be
    used by several threads at once, and in forked processes."""

    def __init__(self, *, library: Optional[Path] = None, threads: Optional[int] = None) -> None:
        self._given = (library, threads)
        self._lib = _load(library)
        self.threads = min(256, len(os.sched_getaffinity(0))) if threads is None else threads

    def __reduce__(self) -> Any:
        return _again, self._given

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def close(self) -> None:
        """Nothing is held between two calls: for code that has a client of the service elsewhere."""

    def __repr__(self) -> str:
        return f"Local(threads={self.threads})"

    @property
    def version(self) -> str:
        """The engine's, such as 0.3.0."""
        return str(self._lib.tabella_version().decode())

    def run(
        self,
        tables: Any = None,
        *,
        name: str = "table",
        target: Target = None,
        task: Optional[str] = None,
        base: Optional[str] = None,
        confidence_threshold: Optional[float] = None,
        explain: Optional[bool] = None,
        columns: Optional[Sequence[Mapping[str, Any]]] = None,
        missing_values: Marks = None,
        split: Optional[str] = None,
        horizon: Optional[int] = None,
        as_of: Optional[str] = None,
        anomaly_share: Optional[float] = None,
        anomaly_threshold: Optional[float] = None,
        progress: Progress = None,
    ) -> Bundle:
        """What tables are, how they relate, what is missing, and what can be predicted.

        Arguments as of `Tabella.run`. progress: True draws a bar (tqdm's where it is installed); or what is
        called with the phase and the share that is done, 0 to 1, from another thread. Ctrl-C cancels. Raises
        ValidationError with what is wrong, as the service's (`param`, the field), TypeError and ValueError
        for what is no table or no cell of one, MemoryError."""
        given, single = tables_of(tables, name)
        options = self._said(
            target,
            {
                "task": task,
                "base": base,
                "threshold": confidence_threshold,
                "explain": _yes(explain),
                "columns": _json(columns),
                "na": _marks(missing_values),
                "split": split,
                "horizon": horizon,
                "as-of": as_of,
                "anomaly-share": anomaly_share,
                "anomaly-threshold": anomaly_threshold,
            },
        )
        done = self._task(self._adders(given), options, progress, self._lib.tabella_run)
        return self._bundle(done, given, single)

    def run_files(
        self,
        paths: Union[Path, Sequence[Path]],
        *,
        target: Target = None,
        task: Optional[str] = None,
        base: Optional[str] = None,
        confidence_threshold: Optional[float] = None,
        explain: Optional[bool] = None,
        columns: Optional[Sequence[Mapping[str, Any]]] = None,
        missing_values: Marks = None,
        split: Optional[str] = None,
        horizon: Optional[int] = None,
        as_of: Optional[str] = None,
        anomaly_share: Optional[float] = None,
        anomaly_threshold: Optional[float] = None,
        progress: Progress = None,
    ) -> Bundle:
        """`run` of the tables in files, of every form that `tabella run` reads; ids are the files' names.
        Raises OSError where a file is not there, else as `run`."""
        options = self._said(
            target,
            {
                "task": task,
                "base": base,
                "threshold": confidence_threshold,
                "explain": _yes(explain),
                "columns": _json(columns),
                "na": _marks(missing_values),
                "split": split,
                "horizon": horizon,
                "as-of": as_of,
                "anomaly-share": anomaly_share,
                "anomaly-threshold": anomaly_threshold,
            },
        )

        def adder(path: Path) -> Callable[[int], int]:
            def add(t: int) -> int:
                with open(path, "rb") as f:
                    held = f.read()
                return int(self._lib.tabella_add_file(t, os.fsencode(path), held, len(held)))

            return add

        one = isinstance(paths, str) or hasattr(paths, "__fspath__")
        adders = [adder(p) for p in ([paths] if one else paths)]  # type: ignore
        done = self._task(adders, options, progress, self._lib.tabella_run)
        return self._bundle(done, [], False)

    def fit(
        self,
        table: Any,
        *,
        target: Target = None,
        task: Optional[str] = None,
        base: Optional[str] = None,
        columns: Optional[Sequence[Mapping[str, Any]]] = None,
        missing_values: Marks = None,
        split: Optional[str] = None,
        anomaly_share: Optional[float] = None,
        anomaly_threshold: Optional[float] = None,
        progress: Progress = None,
    ) -> Fitted:
        """A model of one table, as an endpoint of the service is one: rows are asked of it again and again,
        and each is answered by itself. Arguments and errors as of `run`."""
        given, _ = tables_of(table, "table")
        options = self._said(
            target,
            {
                "task": task,
                "base": base,
                "columns": _json(columns),
                "na": _marks(missing_values),
                "split": split,
                "anomaly-share": anomaly_share,
                "anomaly-threshold": anomaly_threshold,
            },
        )
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

    def _said(self, target: Target, given: Dict[str, Any]) -> Dict[str, str]:
        """Options as the library takes them."""
        chosen = target_of(target)
        given["target"] = None if chosen is None else chosen.get("column") or chosen.get("mode")
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
        bar = _bar_of() if progress is True else None
        task = _Task(self._lib, bar.at_share if bar is not None else progress or None)
        try:
            for add in adders:
                self._must(task.at, add(task.at))
            for key, value in options.items():
                self._must(task.at, self._lib.tabella_option(task.at, key.encode(), value.encode()))
            rc = task.wait(call)
            if task.wrong:
                raise task.wrong[0]
            self._must(task.at, rc)
            if bar is not None:
                bar.at(100, "done")
        finally:
            if bar is not None:
                bar.close()
        return task

    def _bundle(self, task: _Task, given: Sequence[Table], single: bool) -> Bundle:
        def open(part: str, table: Optional[str], at: int) -> None:
            name = None if table is None else table.encode()
            self._must(task.at, self._lib.tabella_part(task.at, part.encode(), name, at))

        made = Bundle.of(json.loads(self._result(task)), given, single, None)
        made._parts = Parts(open)
        return made

    def _result(self, task: _Task) -> bytes:
        n = ctypes.c_size_t()
        at = self._lib.tabella_result(task.at, ctypes.byref(n))
        return ctypes.string_at(at, n.value)

    def _must(self, t: int, rc: int) -> None:
        if rc == 0:
            return
        lib = self._lib
        said, kind, param = (
            f(t).decode("utf-8", "replace")
            for f in (lib.tabella_error, lib.tabella_error_type, lib.tabella_error_param)
        )
        if said == "out of memory":
            raise MemoryError(said)
        said = said[len(param) + 2 :] if param else said
        if param in FIELDS:
            said = f"{param if param in ('target', 'task') else FIELDS[param].split('.')[1]}: {said}"
        raise BY_TYPE.get(kind, APIError)(said, type=kind, param=FIELDS.get(param, param) or None)


class _Task:
    """The library's run, which its last holder frees: an interrupt may come at any instruction, and the
    thread that computes holds it for as long as it does."""

    def __init__(self, lib: ctypes.CDLL, progress: Any) -> None:
        self._lib = lib
        self.at = lib.tabella_new()
        if not self.at:
            raise MemoryError("out of memory")
        self.wrong: List[BaseException] = []  # what `progress` raised
        wrong, at = self.wrong, self.at  # not self: only its holders keep it

        def report(_: Any, phase: bytes, done: float) -> None:
            try:
                if not wrong:
                    progress(phase.decode(), done)
            except BaseException as e:
                wrong.append(e)
                lib.tabella_cancel(at)

        self._report = _Report(report)
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

    def __repr__(self) -> str:
        return f"Fitted({self._name})"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a model lives in its process: pickle an estimator of tabella.sklearn, or fit again from the rows"
        )

    def serve(self, rows: Any, *, explain: bool = False, progress: Progress = None) -> Bundle:
        """The bundle of new rows, of which `predictions` is known: one for each.

        rows: in any form that `run` takes, or one row as a dict of its cells; the columns of the fitted table
        in any order, the target's with or without cells or not at all. Raises ValidationError where a column
        is missing or not known, or a cell is none of its column's, with `param`."""
        local, fitted = self._local, self._held.at
        given, single = tables_of(rows, self._name)
        options = {"explain": "yes" if explain else "no", "threads": str(local.threads)}
        call = local._lib.tabella_serve
        done = local._task(local._adders(given), options, progress, lambda t: int(call(t, fitted)))
        return local._bundle(done, given, single)


def _again(library: Optional[Path], threads: Optional[int]) -> Local:
    return Local(library=library, threads=threads)


def _yes(said: Optional[bool]) -> Optional[str]:
    return None if said is None else "yes" if said else "no"


def _json(given: Any) -> Optional[str]:
    """An option that is the API's own JSON."""
    return None if given is None else json.dumps(given, allow_nan=False, default=_plain)


def _plain(x: Any) -> Any:
    """A number of numpy, or another sequence, as JSON has it."""
    return x.tolist() if hasattr(x, "tolist") else dict(x) if isinstance(x, Mapping) else list(x)


def _marks(given: Marks) -> Optional[str]:
    return given if given is None or isinstance(given, str) else _json(given)


def _bar_of() -> Any:
    from ._resources import Bar

    return Bar("tabella")
