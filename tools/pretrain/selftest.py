#!/usr/bin/env python3
"""Does training work, from the prior to the engine? Two minutes on one core. Run by tests/suite/pretrain:
selftest.py PARITY_PROGRAM   (the engine's parity test, which is held against the file trained here)"""
import json
import math
import os
import subprocess
import sys
import tempfile

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import kernels  # noqa: E402
import net  # noqa: E402
import prior  # noqa: E402
import tabw  # noqa: E402
from train import losses, place  # noqa: E402

passed = failed = skipped = 0


def report(ok, what):
    global passed, failed
    print("%-4s %s" % ("ok" if ok else "FAIL", what), flush=True)
    passed, failed = passed + bool(ok), failed + (not ok)


def batch(lib, count=4, numeric=0):
    b = prior.draw(lib, 5, 0, count, prior.Shape(96, 64, 6, numeric, 0))
    return place(b, "cpu", torch.Generator().manual_seed(0))


def gradients(lib):
    c, got = net.SIZES["T"], []
    for fused in (False, True):
        kernels.lib = None
        if fused:
            kernels.load()
        P = net.init(c, 1)
        loss = torch.cat([losses(P, c, batch(lib, numeric=k))[0] for k in (0, 1)])
        loss.mean().backward()
        got.append((loss.detach(), {k: p.grad for k, p in P.items()}))
    kernels.lib = None
    worst = max(((got[0][1][k] - g).norm() / (g.norm() + 1e-12)).item() for k, g in got[1][1].items())
    report(
        (got[0][0] - got[1][0]).abs().max() < 1e-5 and worst < 1e-4,
        "fused kernels: gradients as PyTorch's (%.1e)" % worst,
    )


def half_precision(lib):
    """The types of a GPU's pass: bf16 but for rows, statistics and the vote."""
    c, P = net.SIZES["T"], net.init(net.SIZES["T"], 1)
    off = 0.0
    with torch.no_grad():
        for numeric in (0, 1):
            x, y, cat, code, nc = batch(lib, numeric=numeric)
            a, b = (
                net.forward({k: p.to(t) for k, p in P.items()}, c, x, y[:, :nc].contiguous(), cat, code)
                for t in (torch.float32, torch.bfloat16)
            )
            off = max(off, ((a if numeric else a.exp()) - (b if numeric else b.exp())).abs().mean().item())
    report(off < 0.02, "in bf16 as in float: mean difference %.4f" % off)


def score_of_a_distribution():
    """The integral is |value - target| of one value, and E|Y - t| - E|Y - Y'| / 2 of several."""
    y, w, t = torch.tensor([[0.3, -1.2, 2.0]]), torch.tensor([[[0.2, 0.5, 0.3]]]), torch.tensor([[0.9]])
    near = (w * (y[:, None] - t[..., None]).abs()).sum() - 0.5 * (
        w[0, 0][:, None] * w[0, 0] * (y[0][:, None] - y[0]).abs()
    ).sum()
    one = net.crps(torch.ones(1, 1, 1), torch.tensor([[2.0]]), torch.tensor([[-1.0]]))
    report(
        (net.crps(w, y, t) - near).abs().max() < 1e-6 and one == 3,
        "the score of a distribution is its two-point form",
    )


def queries_are_apart(lib):
    """What a query is told does not depend on the other queries, nor on the order of the context."""
    c, P = net.SIZES["T"], net.init(net.SIZES["T"], 2)
    x, y, cat, code, nc = batch(lib, 2)
    with torch.no_grad():
        a = net.forward(P, c, x, y[:, :nc].contiguous(), cat, code)
        b = net.forward(P, c, x[:, :, : nc + 5].contiguous(), y[:, :nc].contiguous(), cat, code)
        turn = torch.cat([torch.arange(nc - 1, -1, -1), torch.arange(nc, x.shape[2])])
        d = net.forward(P, c, x[:, :, turn].contiguous(), y[:, turn[:nc]].contiguous(), cat, code)
    report(
        (a[:, :5] - b).abs().max() < 1e-4 and (a - d).abs().max() < 1e-4,
        "queries stand alone, context order is no matter",
    )


def folding(lib, where):
    """The exported file computes what the trained tensors do, but for bf16's rounding."""
    c, P = net.SIZES["T"], net.init(net.SIZES["T"], 3)
    with torch.no_grad():
        for k, p in P.items():  # gains that are not one
            if p.dim() == 1:
                p += 0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(len(k)))
    path = os.path.join(where, "fold.tabw")
    tabw.write(path, P, c, {"size": "T"})
    Q, d, note = tabw.read(path)
    x, y, cat, code, nc = batch(lib, 4)
    with torch.no_grad():
        a, b = (torch.exp(net.forward(W, c, x, y[:, :nc].contiguous(), cat, code)) for W in (P, Q))
    report(
        d == c and note["size"] == "T" and (a - b).abs().mean() < 0.01,
        "export folds norms: mean difference %.4f" % (a - b).abs().mean(),
    )
    with open(path, "r+b") as f:
        f.seek(5000)
        f.write(b"x")
    try:
        tabw.read(path)
        report(False, "a damaged file is refused")
    except ValueError:
        report(True, "a damaged file is refused")


def goes_on_from_a_file(where):
    """A weight file as a training state is the same numbers: exported again, every tensor is equal."""
    first, state, again = (os.path.join(where, n) for n in ("first.tabw", "from", "again.tabw"))
    export = [sys.executable, os.path.join(HERE, "export.py")]
    P = net.init(net.SIZES["T"], 4)
    with torch.no_grad():
        for p in P.values():
            if p.dim() == 1:
                p += 0.1
    note = {"size": "T", "seed": 3, "step": 40, "batch": 41, "tasks": 800, "seconds": 9.5}
    tabw.write(first, P, net.SIZES["T"], note)
    subprocess.run([*export, "state", first, "--out", state], check=True)
    subprocess.run([*export, "weights", state, "--out", again], check=True)
    (a, c, _), (b, d, now) = tabw.read(first), tabw.read(again)
    report(
        c == d and all(torch.equal(a[k], b[k]) for k in P) and all(now[k] == v for k, v in note.items()),
        "a file alone is a state to train on from",
    )


def training(where, program):
    """In two pieces, as on a machine that is lent for minutes: each from one folder into another."""
    global skipped
    half, end = os.path.join(where, "half"), os.path.join(where, "end")
    options = [
        "--size",
        "T",
        "--workers",
        "1",
        "--batch",
        "16",
        "--threads",
        "1",
        "--ahead",
        "4",
        "--warm",
        "30",
        "--easy",
        "100000",
        "--low",
        "64",
        "--high",
        "128",
        "--cells",
        "400",
        "--rate",
        "3e-3",
        "--log",
        "20",
        "--reserve",
        "2",
        "--held",
        "0",
        "--numeric",
        "4",
    ]
    piece = [os.path.join(HERE, "piece")]
    env = dict(os.environ, TAB_PYTHON=sys.executable)
    subprocess.run(
        piece + ["70", "nowhere", half, *options, "--steps", "160"],
        check=True,
        stdout=subprocess.DEVNULL,
        env=env,
    )
    first = open(os.path.join(half, "state.json")).read()
    subprocess.run(
        piece + ["20", half, end, *options, "--steps", str(json.loads(first)["step"] + 40), "--decay", "0.9"],
        check=True,
        stdout=subprocess.DEVNULL,
        env=env,
    )
    report(open(os.path.join(half, "state.json")).read() == first, "a piece leaves what it began from")
    files = sorted(os.listdir(end))
    M = sum(math.prod(v[0]) for v in net.shapes(net.SIZES["M"]).values())
    report(
        files == ["log.csv", "opt.w", "ship.w", "stable.w", "state.json"] and 4 * M + 2**16 < 16 * 2**20,
        "a piece is five files, M's largest of %.1f MiB" % (4 * M / 2**20),
    )
    where = end
    lines = [[float(v) for v in l.split(",")] for l in open(os.path.join(where, "log.csv")) if l[0] != "#"]
    report(all(b[0] > a[0] for a, b in zip(lines, lines[1:])), "a second call goes on where the first ended")
    if len(lines) < 5:
        print("skip the loss falls: %d steps in 90 s are too few to tell" % lines[-1][0] if lines else 0)
        skipped += 1
    else:
        low = min(l[4] for l in lines[2:])
        report(
            low < 0.97, "the loss falls: %.3f of the class shares' at best of %d steps" % (low, lines[-1][0])
        )
    for name in ("weights", "vectors"):
        args = (
            ["weights", where, "--out", where + "/t.tabw"]
            if name == "weights"
            else ["vectors", where + "/t.tabw", "--out", where + "/t.bin"]
        )
        subprocess.run([sys.executable, os.path.join(HERE, "export.py"), *args], check=True)
    done = subprocess.run(
        [program, "--filter", "pfn/*equal*pytorch"],
        capture_output=True,
        text=True,
        env=dict(os.environ, TAB_PFN_WEIGHTS=where + "/t.tabw", TAB_PFN_VECTORS=where + "/t.bin"),
    )
    report(done.returncode == 0 and "Passing: 2" in done.stderr, "the engine computes what was trained here")
    if done.returncode != 0:
        print(done.stderr)


def main():
    torch.set_num_threads(1)
    lib = prior.load()
    gradients(lib)
    half_precision(lib)
    score_of_a_distribution()
    queries_are_apart(lib)
    with tempfile.TemporaryDirectory() as where:
        folding(lib, where)
        goes_on_from_a_file(where)
        training(where, sys.argv[1])
    print("pretrain: %d passed, %d failed, %d skipped" % (passed, failed, skipped))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
