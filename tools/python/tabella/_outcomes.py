"""`tabella outcomes`: tells an endpoint what became true, and shows how good its answers were."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from typing import Any, Dict, Iterator, List, Optional, Sequence

from ._client import Tabella
from ._errors import TabellaError

ABOUT = """Tells an endpoint what became true of rows that it served with receipts, and shows how good its
answers were: score, coverage or accuracy, beside what chance would do. FILE is CSV, an Arrow stream or file,
or Parquet, with the columns receipt and outcome, perhaps at; further columns are the cells of the rows that
were served, which are kept for a refresh that learns from them, until --forget names their receipts. The service and the key are those of TABELLA_URL and
TABELLA_API_KEY."""
REASONS = 10  # that are shown of rows refused


def _cell(text: str) -> Any:
    """As the service reads a file: a number, a truth value, a text; nothing where nothing stands."""
    if text in ("true", "false"):
        return text == "true"
    try:
        number = float(text)
    except ValueError:
        return text or None
    if number != number or number in (float("inf"), float("-inf")) or _written(number) != text:
        return text
    return number


def _written(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def _rows(path: str, needed: Sequence[str] = ("receipt", "outcome")) -> List[Dict[str, Any]]:
    kind = os.path.splitext(path)[1].lower()
    if kind in (".arrow", ".arrows", ".feather", ".parquet"):
        try:
            import pyarrow.ipc as ipc
            import pyarrow.parquet as parquet
        except ImportError:
            raise TabellaError(
                "Arrow and Parquet files are read by pyarrow, which is not installed"
            ) from None
        if kind == ".parquet":
            return list(parquet.read_table(path).to_pylist())
        with open(path, "rb") as f:
            whole = f.read(6) == b"ARROW1"
            f.seek(0)
            return list((ipc.open_file if whole else ipc.open_stream)(f).read_all().to_pylist())
    with open(path, newline="", encoding="utf-8-sig") as f:
        lines = csv.DictReader(f)
        missing = set(needed) - set(lines.fieldnames or ())
        if missing:
            raise TabellaError(f"{path} has no column `{sorted(missing)[0]}`")
        return [{k: _cell(v or "") for k, v in line.items() if k is not None} for line in lines]


def _figure(x: Optional[float], share: bool = False) -> str:
    return "" if x is None else f"{100 * x:.1f}%" if share else f"{x:.4g}"


def _lines(said: Dict[str, Any]) -> Iterator[str]:
    if not said["total"]:
        yield "no outcomes yet"
    for t in said["total"]:
        days = [d for d in said["days"] if d["task_type"] == t["task_type"]]
        number = t["task_type"] == "regression"
        right = "within 80%" if number else "accuracy"
        yield f"{t['task_type']}, {t['rows']} outcomes"
        yield f"  {'':24}{t['metric']:>18}{'baseline':>12}{right:>14}{'expected':>20}"
        for name, x in [
            ("in all", t),
            *((d["day"], d) for d in days),
            *((s["slice"], s) for s in t["slices"]),
        ]:
            low, high = x.get("chance_low"), x.get("chance_high")
            chance = "" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}%"
            held = x.get("coverage") if number else x.get("accuracy")
            yield (
                f"  {name:24}{_figure(x.get('score')):>18}{_figure(x.get('baseline')):>12}"
                f"{_figure(held, True):>14}{chance:>20}{'  significant' if x.get('beyond_chance') else ''}"
            ).rstrip()
    if said.get("kept"):
        yield f"{said['kept']} outcomes are stored with their cells for a refresh that uses them"


def main(arguments: Sequence[str]) -> int:
    """0; 1: the file or the call failed, or a row was refused."""
    parser = argparse.ArgumentParser(prog="tabella outcomes", description=ABOUT)
    parser.add_argument("endpoint", help="its name or id")
    parser.add_argument("file", nargs="?", help="what became true; without it the figures alone are shown")
    parser.add_argument("--csv", action="store_true", help="the figures as CSV, a line a day and slice")
    parser.add_argument(
        "--forget", action="store_true", help="rows of FILE's receipts that are stored with their cells go"
    )
    asked = parser.parse_args(arguments)
    if asked.forget and asked.file is None:
        parser.error("--forget needs the file with the receipts")
    refused: List[Dict[str, Any]] = []
    try:
        with Tabella() as client:
            if asked.forget:
                receipts = [str(row.get("receipt") or "") for row in _rows(asked.file, ("receipt",))]
                done = client.endpoints.forget_outcomes(asked.endpoint, receipts)
                unnamed = f", {done['unnamed']} of an earlier release have no receipt" * bool(done["unnamed"])
                print(f"{done['forgotten']} forgotten, {done['kept']} still stored{unnamed}")
                return 0
            if asked.file is not None:
                told = client.endpoints.report_outcomes(asked.endpoint, _rows(asked.file))
                refused = told["refused"]
                print(
                    f"{told['accepted']} accepted, {told['kept']} of them stored with their cells, "
                    f"{told['ignored']} already known, {len(refused)} refused",
                    file=sys.stderr,
                )
                for r in refused[:REASONS]:
                    print(f"  row {r['row']}: {r['reason']}", file=sys.stderr)
            if asked.csv:
                sys.stdout.write(client.endpoints.outcomes(asked.endpoint, format="csv"))
            else:
                print("\n".join(_lines(client.endpoints.outcomes(asked.endpoint))))
    except (TabellaError, OSError, UnicodeDecodeError, csv.Error) as e:
        print(f"tabella outcomes: {e}", file=sys.stderr)
        return 1
    return 1 if refused else 0
