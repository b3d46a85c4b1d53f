"""`tabella` in a terminal, or `python -m tabella`: the command line, which is a function of the engine's
library and asks no service; but `tabella outcomes`, `apply`, `upload`, `score`, `export` and `import`, which
are calls of the client."""

import ctypes
import os
import signal
import sys


def main() -> int:
    if sys.argv[1:2] == ["outcomes"]:
        from ._outcomes import main as outcomes

        return outcomes(sys.argv[2:])
    if sys.argv[1:2] == ["apply"]:
        from .organization._apply import main as apply

        return apply(sys.argv[2:])
    if sys.argv[1:2] in (["export"], ["import"]):
        from .organization._archive import main as archive

        return archive(sys.argv[1], sys.argv[2:])
    if sys.argv[1:2] == ["upload"]:
        from ._client import Tabella
        from ._uploads import main as upload

        return upload(sys.argv[2:], Tabella)
    if sys.argv[1:2] == ["score"]:
        from ._client import Tabella
        from ._score import main as score

        return score(sys.argv[2:], Tabella)
    from ._errors import TabellaError
    from ._local import _load

    try:
        lib = _load(None)
    except TabellaError as e:
        print(f"tabella: {e}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own handler would wait for the command's end
    words = [b"tabella", *map(os.fsencode, sys.argv[1:])]
    lib.tabella_main.argtypes, lib.tabella_main.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_int
    argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    return int(lib.tabella_main(len(words), argv))


if __name__ == "__main__":
    sys.exit(main())
