#!/usr/bin/env python3
"""Makes schemas as trades keep them, whose references are known, for tests/bench/keys.

  everyday.py OUT [--counter] [SEED...]

Twenty trades, each with keys counted from 1 in every table (`counted`), with other keys table by table
(`mixed`: gaps, offsets, codes, shuffled) and with few rows (`small`).  References within a table, two to one
parent, bridges, keys of two and three columns, lists of 3 to 8 values, references that may be missing,
catalogues of which a part is used, tables without any reference, and measures that lie in the range of a
counted key.  With --counter the first column of each table counts its rows.  They judge and teach nothing."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from everyday_more import (
    hotel,
    strangers,
    music,
    insurance,
    city,
    trial,
    tickets,
    factory,
    forum,
    campus,
)  # noqa: E402
from everyday_schema import Schema  # noqa: E402
from everyday_trades import (
    shop,
    school,
    hospital,
    airline,
    library,
    staff,
    league,
    university,
    warehouse,
    bank,
)  # noqa: E402

TRADES = (
    shop,
    school,
    hospital,
    airline,
    library,
    staff,
    league,
    university,
    warehouse,
    bank,
    hotel,
    strangers,
    music,
    insurance,
    city,
    trial,
    tickets,
    factory,
    forum,
    campus,
)

if __name__ == "__main__":
    args = [a for a in sys.argv[1:] if a != "--counter"]
    if not args:
        sys.exit(__doc__)
    for seed in args[1:] or ["1"]:
        for trade in TRADES:
            for style in ("counted", "mixed", "small"):
                made = Schema(args[0], trade.__name__, style, seed, "--counter" in sys.argv)
                trade(made)
                made.write()
