"""The package itself: what it imports, the language it is written in, and what `make dist-python` builds."""

import ast
import importlib.util
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tools" / "python"
OLDEST = (3, 9)
OF_THE_CALLER = ("pandas", "polars", "pyarrow", "sklearn", "numpy", "matplotlib", "tqdm", "IPython")


def has(*names):
    return all(importlib.util.find_spec(n) is not None for n in names)


def imports(check):
    """A fresh Python that sees the package and nothing else of ours, and gets an answer."""
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, tabella; from tabella._bundle import Bundle; Bundle.of({}, [], True, None); "
            "print(*sorted({m.split('.')[0] for m in sys.modules}))",
        ],
        env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    loaded = set(told.stdout.split())
    check("the package is imported", "tabella" in loaded, told.stderr)
    check(
        "and brings no library of the caller's", not loaded & set(OF_THE_CALLER), loaded & set(OF_THE_CALLER)
    )
    check("nor asyncio", "asyncio" not in loaded)
    slow = (
        "ctypes",
        "dataclasses",
        "datetime",
        "email",
        "http",
        "inspect",
        "json",
        "socket",
        "ssl",
        "tempfile",
    )
    told = subprocess.run(
        [
            *(sys.executable, "-S", "-c"),
            "import sys; before = set(sys.modules); import tabella; "
            "print(*sorted(set(sys.modules) - before)); "
            "missing = [n for n in tabella.__all__ if not hasattr(tabella, n)]; print(*missing)",
        ],
        env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    first, missing = (told.stdout.split("\n") + ["", "none of it"])[:2]
    parts = [m for m in first.split() if m.startswith("tabella.") or m.split(".")[0] in slow]
    check("nothing of it comes before it is asked for", "tabella" in first.split() and not parts, first)
    check("and each name is there when it is", missing == "", missing or told.stderr)


def language(check):
    """Python 3.9 by its grammar, and by mypy where it is installed."""
    for path in sorted((SOURCE / "tabella").glob("*.py")):
        try:
            ast.parse(path.read_text(), feature_version=OLDEST)
            check(f"{path.name}: grammar of 3.9", True)
        except SyntaxError as e:
            check(f"{path.name}: grammar of 3.9", False, e)
    if not has("mypy"):
        check.skip("types", "mypy is not installed")
        return
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            "pyproject.toml",
            "--python-version",
            _mypy_version(),
            "tabella",
        ],
        cwd=SOURCE,
        capture_output=True,
        text=True,
    )
    check("types: mypy --strict", done.returncode == 0, done.stdout[-2000:])


def _mypy_version():
    """The oldest Python that this mypy knows."""
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--python-version", "3.9", "-c", ""], capture_output=True, text=True
    )
    return "3.10" if "not supported" in said.stdout + said.stderr else "3.9"


def dist(check):
    """The wheel is unpacked as an installer does, and imported from there."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["make", "-s", "-C", ROOT, "dist-python", f"DIST={folder}"], capture_output=True, text=True
        )
        if "No module named" in done.stderr:
            check.skip("make dist-python", "setuptools or wheel is not installed")
            return
        wheels, sources = list(pathlib.Path(folder).glob("*.whl")), list(
            pathlib.Path(folder).glob("*.tar.gz")
        )
        if not check(
            "make dist-python: one wheel, one sdist", len(wheels) == 1 and len(sources) == 1, done.stderr
        ):
            return
        with zipfile.ZipFile(wheels[0]) as z:
            names = z.namelist()
            z.extractall(f"{folder}/unpacked")
            metadata = z.read([n for n in names if n.endswith("METADATA")][0]).decode()
        kept = [p for p in (SOURCE / "tabella").rglob("*") if p.is_file() and "__pycache__" not in p.parts]
        written = {str(p.relative_to(SOURCE)) for p in kept}
        packed = {n for n in names if n.startswith("tabella/")}
        check("the wheel has every file, py.typed too", packed == written, packed ^ written)
        check("it requires nothing", "Requires-Dist" not in metadata and "Requires-Python: >=3.9" in metadata)
        check(
            "and installs no command: `tabella` is the engine's", not any("entry_points" in n for n in names)
        )
        with tarfile.open(sources[0]) as t:
            inside = t.getnames()
        check(
            "the sdist builds from its own files", any(n.endswith("/pyproject.toml") for n in inside), inside
        )
        told = subprocess.run(
            [sys.executable, "-c", "import tabella; print(tabella.__file__, tabella.__version__)"],
            env={"PYTHONPATH": f"{folder}/unpacked", "PATH": "/usr/bin:/bin"},
            cwd="/",
            capture_output=True,
            text=True,
        )
        check("the unpacked wheel is imported", "unpacked" in told.stdout, told.stderr)
        version = told.stdout.split()[-1] if told.stdout else ""
        config = (ROOT / "common" / "base" / "config.h").read_text()
        check(
            "its version is the product's", f'TAB_VERSION "{version}"' in config and version in wheels[0].name
        )
