#!/usr/bin/env python3
"""A training directory to the engine's weight file, and the vectors that its parity test checks.

  export.py weights DIR --out NAME.tabw [--init SIZE]   ship.w (or, without a decay yet, stable.w) to a file
  export.py vectors NAME.tabw --out FILE                32 tables through PyTorch: the test's expectations
  export.py state NAME.tabw --out DIR                   a state to train on from (decision 0387)
"""
import argparse
import json
import math
import os
import struct
import sys

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import net  # noqa: E402
import prior  # noqa: E402
import tabw  # noqa: E402
from muon import Optimiser  # noqa: E402


def weights(a):
    if a.init:
        tabw.write(a.out, net.init(net.SIZES[a.init], 0), net.SIZES[a.init], {"size": a.init, "tasks": 0})
        return
    ship = os.path.join(a.dir, "ship.w")
    if os.path.exists(ship):
        s = torch.load(ship, map_location="cpu")
        P, note = s["P"], s["note"]
    else:
        P = torch.load(os.path.join(a.dir, "stable.w"), map_location="cpu")
        note = json.load(open(os.path.join(a.dir, "state.json")))
    note.update(
        task="classification, regression" if "num.c1" in P else "classification",
        prior_version=prior.version(),
        slots=net.SLOTS,
    )
    tabw.write(a.out, P, net.SIZES[note["size"]], note)


def state(a):
    """The file's numbers as a training state: matrices as bf16 rounded them and with the gains folded in,
    gains of one, and an optimiser that remembers nothing."""
    P, c, note = tabw.read(a.file)
    own = net.init(c, 0)  # tensors that an old file lacks begin at random
    with torch.no_grad():
        for k, v in P.items():
            own[k].copy_(v)
    size = next(k for k, v in net.SIZES.items() if v == c)
    kept = {k: note.get(k, 0) for k in ("seed", "step", "batch", "tasks", "seconds")}
    os.makedirs(a.out, exist_ok=True)
    torch.save({k: p.detach() for k, p in own.items()}, os.path.join(a.out, "stable.w"))
    torch.save(Optimiser(own).state(), os.path.join(a.out, "opt.w"))
    with open(os.path.join(a.out, "state.json"), "w") as f:
        json.dump(dict(size=size, **kept), f)


# (rows, context, columns, classes, what is odd about it)
TABLES = [
    (3, 2, 1, 2, ""),
    (30, 20, 3, 2, "taps"),
    (40, 24, 5, 3, "taps missing"),
    (64, 48, 8, 2, ""),
    (33, 32, 4, 2, ""),
    (50, 30, 6, 10, ""),
    (20, 12, 2, 1, ""),
    (40, 20, 4, 2, "categories"),
    (60, 40, 7, 5, "categories missing"),
    (40, 30, 3, 2, "duplicates"),
    (40, 30, 3, 2, "outliers"),
    (40, 30, 4, 2, "gone"),
    (40, 30, 4, 2, "constant"),
    (120, 100, 2, 2, "ties"),
    (80, 70, 12, 4, "missing"),
    (40, 20, 33, 2, ""),
    (24, 16, 100, 3, ""),
    (30, 20, 20, 7, "missing"),
    (260, 200, 3, 2, ""),
    (600, 560, 2, 3, ""),
    (1100, 1040, 1, 2, ""),
    (2, 1, 3, 1, ""),
    (90, 17, 5, 2, ""),
    (70, 64, 9, 9, ""),
]
# with numeric targets: classes 0
NUMERIC = [
    (30, 20, 3, 0, ""),
    (60, 40, 5, 0, "missing"),
    (40, 30, 4, 0, "categories"),
    (700, 600, 2, 0, ""),
    (20, 12, 3, 0, "same"),
    (120, 100, 2, 0, "ties"),
    (50, 40, 3, 0, "far"),
    (3, 1, 2, 0, ""),
]


def vectors(a):
    P, c, _ = tabw.read(a.file)
    rng = np.random.RandomState(5)
    tables = TABLES + (NUMERIC if "num.c1" in P else [])
    out = [struct.pack("<I", len(tables))]
    for n, nc, m, classes, odd in tables:
        x = rng.randn(m, n).astype(np.float32)
        cat = np.zeros(m, np.uint8)
        if "categories" in odd:
            for j in range(0, m, 2):
                cat[j] = 1
                x[j] = rng.randint(0, 7, n)
                x[j, nc : nc + 2] = 50  # a level that the context lacks
        if "ties" in odd:
            x = np.round(x * 2) / 2
        if "outliers" in odd:
            x[0, 3] = 1e6
            x[1, nc + 1] = -1e6
        if "duplicates" in odd:
            x[:, 1::2] = x[:, 0::2]
        if "missing" in odd:
            x[rng.rand(m, n) < 0.3] = np.nan
        if "gone" in odd:
            x[1] = np.nan
            x[2, :nc] = np.nan
        if "constant" in odd:
            x[1] = 3
        code = ((rng.rand(m, net.COLUMN_CODE) * 2 - 1) * math.sqrt(3)).astype(np.float32)
        if classes == 0:
            y = (1000 + 10 * np.nan_to_num(x[0, :nc]) + rng.randn(nc)).astype(np.float32)
            if "same" in odd:
                y[:] = 7
            if "far" in odd:
                y[3] = 1e5
            z = (
                (y.astype(np.float64) - y.mean(dtype=np.float64)) / (y.std(dtype=np.float64) + 1e-12)
            ).astype(np.float32)
            with torch.no_grad():
                t = [
                    torch.from_numpy(v)[None]
                    for v in (x, np.clip(z, -net.CLIP, net.CLIP), cat.astype(bool), code)
                ]
                w = net.forward(P, c, *t)[0].double().numpy()
            mean, order = w @ y.astype(np.float64), np.argsort(y, kind="stable")
            w = w[:, order]
            middle = np.cumsum(w, 1) - w / 2
            levels = np.arange(1, 20) / 20
            quantiles = np.stack([np.interp(levels, m, y[order].astype(np.float64)) for m in middle])
            out += [
                struct.pack("<5I", n, nc, m, 0, 0),
                x.tobytes(),
                y.tobytes(),
                cat.tobytes(),
                code.tobytes(),
                mean.astype("<f4").tobytes(),
                quantiles.astype("<f4").tobytes(),
            ]
            continue
        y = rng.permutation(10)[:classes][
            np.concatenate([np.arange(classes), rng.randint(0, classes, nc)])[:nc]
        ]
        y = np.where(np.nan_to_num(x[0, :nc]) > 0.5, y[0], y).astype(np.int64)
        taps = {}
        with torch.no_grad():
            t = [torch.from_numpy(v)[None] for v in (x, y, cat.astype(bool), code)]
            logp = net.forward(P, c, *t, taps=taps)
            logp = torch.log_softmax(logp.masked_fill(~net.present(t[1])[:, None], -1e9), -1)[0].numpy()
        out += [
            struct.pack("<5I", n, nc, m, classes, "taps" in odd),
            x.tobytes(),
            y.astype(np.uint8).tobytes(),
            cat.tobytes(),
            code.tobytes(),
            logp.astype("<f4").tobytes(),
        ]
        if "taps" in odd:
            for name in ("cells", "column1", "rows", "column2", "pool", "icl"):
                v = taps[name][0]
                v = v[:, :nc] if v.dim() == 3 else v[:nc] if name == "pool" else v[: c["registers"] + nc]
                v = v.contiguous().numpy().astype("<f4")
                out += [name.encode().ljust(8, b"\0"), struct.pack("<I", v.size), v.tobytes()]
    open(a.out, "wb").write(b"".join(out))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(dest="what", required=True)
    w = sub.add_parser("weights")
    w.add_argument("dir", nargs="?")
    w.add_argument(
        "--init", default="", choices=["", *net.SIZES], help="no training: random weights of this size"
    )
    v = sub.add_parser("vectors")
    v.add_argument("file")
    s = sub.add_parser("state")
    s.add_argument("file")
    for q in (w, v, s):
        q.add_argument("--out", required=True)
    a = p.parse_args()
    dict(weights=weights, vectors=vectors, state=state)[a.what](a)


if __name__ == "__main__":
    main()
