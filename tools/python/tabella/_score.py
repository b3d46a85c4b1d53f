"""`tabella score`: a stored dataset, or a file that becomes one, scored by an endpoint."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Callable, List

from ._errors import TabellaError

if TYPE_CHECKING:
    from ._client import Tabella


def main(words: List[str], connect: "Callable[[], Tabella]") -> int:
    """`tabella score ENDPOINT DATA`."""
    p = argparse.ArgumentParser(
        prog="tabella score",
        description="Scores all rows of DATA (a dataset's id, a connection's id or reference, or a file, "
        "which becomes a dataset) with an endpoint, as a job that is waited for. TABELLA_URL and "
        "TABELLA_API_KEY say where. Ctrl-C cancels the job.",
    )
    p.add_argument("endpoint", help="its id or name")
    p.add_argument("data")
    p.add_argument("-o", "--output", metavar="FILE", help="the predictions: .csv, .arrow or .parquet")
    p.add_argument("--out", help="a table or .csv file below a connection registered for writing")
    p.add_argument("--out-mode", choices=("new", "append", "replace"), help="of a table (default: new)")
    p.add_argument("--dry-run", action="store_true", help="says the price, and does nothing")
    given = p.parse_args(words)
    try:
        client = connect()
        data = given.data
        if os.path.exists(data):
            made = client.data.upload(data)
            if made.dataset is None or len(made.datasets or ()) > 1:
                raise TabellaError(f"{data} holds several tables; upload it and name the dataset")
            data = made.dataset.id
            print(f"{given.data} is {data}", file=sys.stderr)
        if given.dry_run:
            cost = client.endpoints.score_cost(given.endpoint, data)
            print(f"{cost.total_cells} cells" + ("" if cost.allowed else f"; refused: {cost.reason}"))
            return 0
        job = client.endpoints.score(
            given.endpoint, data, out=given.out, out_mode=given.out_mode, progress=sys.stderr.isatty()
        )
        print(job.job_id)
        if given.output:
            print(client.jobs.download(job.job_id, "results", given.output))
    except (TabellaError, OSError) as e:
        print(f"tabella score: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ntabella score: interrupted", file=sys.stderr)
        return 130
    return 0
