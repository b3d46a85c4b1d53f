#!/usr/bin/env python3
"""Pretrains the in-context transformer on the synthetic prior. docs/pretraining.md tells the whole story.

  train.py train --dir DIR --seconds N [--size M] [--decay 0.15]   begins or resumes in DIR, ends in time
  train.py bench [--size M]                                        tasks/s of some shapes, plain and compiled

DIR holds stable.w (weights, f32), opt.w (optimiser), ship.w (weights after a decay, bf16), state.json,
log.csv. The rate is constant after the warm-up until a call is given --decay F: then the last F of its
seconds fall to zero as 1 - sqrt, and ship.w is written; stable.w stays from before the decay, so that
training can go on."""
import argparse
import json
import math
import os
import signal
import sys
import time

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kernels  # noqa: E402
import net  # noqa: E402
import prior  # noqa: E402
from muon import Optimiser  # noqa: E402


def place(batch, device, gen):
    """To the device, with fresh column codes; classes go to random slots, numeric targets are
    standardised."""
    shape, x, y, cat, family, classes = batch
    x = torch.from_numpy(x)
    y = torch.from_numpy(y)
    cat = torch.from_numpy(cat)
    if device == "cuda":
        x, y, cat = (t.pin_memory().to(device, non_blocking=True) for t in (x, y, cat))
    B = x.shape[0]
    if shape.regression:
        sd, mean = torch.std_mean(y[:, : shape.context], 1, unbiased=False, keepdim=True)
        y = ((y - mean) / (sd + 1e-12)).clamp(-net.CLIP, net.CLIP)
    else:
        slots = torch.argsort(torch.rand(B, net.SLOTS, generator=gen, device=device), 1)
        y = torch.gather(slots, 1, y.long())
    code = (torch.rand(B, shape.cols, net.COLUMN_CODE, generator=gen, device=device) * 2 - 1) * math.sqrt(3.0)
    return x.transpose(1, 2).contiguous(), y, cat.bool(), code, shape.context


def losses(P, c, placed):
    """-> (B,) loss, (B,) loss of the context's class shares or, where the target is numeric, of its
    distribution"""
    x, y, cat, code, nc = placed
    dt = torch.bfloat16 if x.is_cuda else torch.float32
    Q = {k: p.to(dt) for k, p in P.items()}
    known, asked = y[:, :nc].contiguous(), y[:, nc:].contiguous()
    out = net.forward(Q, c, x, known, cat, code)
    if y.is_floating_point():
        return net.crps(out, known, asked), net.crps(torch.full_like(out[:, :1], 1.0 / nc), known, asked)
    with torch.no_grad():
        share = torch.nn.functional.one_hot(known, net.SLOTS).float().mean(1)
        base = -torch.log(torch.gather(share, 1, asked).clamp(min=1e-6)).mean(1)
    return net.loss_of(out, known, asked), base


def evaluate(P, c, held, device):
    """Loss / class-share loss by kind over held-out tasks; "all" is of the classes."""
    top, low = {}, {}
    with torch.no_grad():
        for i, b in enumerate(held):
            gen = torch.Generator(device).manual_seed(1000 + i)
            loss, base = losses(P, c, place(b, device, gen))
            for f, l, s in zip(b[4], loss.tolist(), base.tolist()):
                f = "numeric" if b[0].regression else prior.KINDS[f]
                top[f] = top.get(f, 0.0) + l
                low[f] = low.get(f, 0.0) + s
    out = {f: round(top[f] / low[f], 4) for f in sorted(top)}
    out["all"] = round(
        sum(v for k, v in top.items() if k != "numeric") / sum(v for k, v in low.items() if k != "numeric"), 4
    )
    return out


def save(tensors, path):
    torch.save(tensors, path + ".part")
    os.replace(path + ".part", path)


class Team:
    """Worker processes that average their gradients: one single-threaded process a core trains a small net
    faster than threads inside one process do. Worker 0 decides about the rate and the end."""

    def __init__(self, workers, numbers):
        self.workers = workers
        self.grads = torch.zeros(workers, numbers).share_memory_()
        self.word = torch.zeros(2, dtype=torch.float64).share_memory_()  # rate, stop
        self.barrier = torch.multiprocessing.get_context("spawn").Barrier(workers)

    def agree(self, rank, rate, stop):
        if self.workers > 1:
            if rank == 0:
                self.word[0], self.word[1] = rate, float(stop)
            self.barrier.wait()
            rate, stop = float(self.word[0]), bool(self.word[1])
        return rate, stop

    def average(self, rank, P):
        if self.workers == 1:
            return
        ps = list(P.values())
        torch.cat([p.grad.flatten() for p in ps], out=self.grads[rank])
        self.barrier.wait()
        mean, at = self.grads.mean(0), 0
        for p in ps:
            p.grad.copy_(mean[at : at + p.numel()].view_as(p))
            at += p.numel()


def train(rank, a, team):
    began = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        torch.set_num_threads(1)
        kernels.load()
    at = lambda name: os.path.join(a.dir, name)  # noqa: E731
    lib = prior.load()
    state = dict(size=a.size, seed=a.seed, step=0, batch=0, tasks=0, seconds=0.0)
    if os.path.exists(at("state.json")):
        state = json.load(open(at("state.json")))
    c = net.SIZES[state["size"]]
    P = net.init(c, state["seed"], device)
    opt = Optimiser(P)
    if state["step"] > 0:
        kept = torch.load(at("stable.w"), map_location=device)
        with torch.no_grad():
            for k in P:
                if (
                    k in kept or "dec." + k[4:] in kept
                ):  # a state from before numeric targets: their vote begins as
                    P[k].copy_(kept[k if k in kept else "dec." + k[4:]])  # that of the classes
        opt.load(torch.load(at("opt.w"), map_location=device))
    if device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = True
        if not a.plain:
            net.compile_pieces()
    gen = torch.Generator(device).manual_seed(state["seed"] * 1000003 + 64 * state["step"] + rank)

    def stream_of(tables, *regression):
        of = (a.low, a.high, a.cells, a.easy, a.threads, a.ahead, rank, team.workers)
        return prior.Stream(lib, state["seed"] + 1, state["batch"], tables, *of, *regression)

    stream = stream_of(a.batch)
    numbers = stream_of(a.numeric, 1) if a.numeric else None
    held = []
    if a.held and rank == 0:
        shapes = [
            prior.Shape(128, 64, 6, 0, 0),
            prior.Shape(256, 128, 10, 0, 0),
            prior.Shape(512, 320, 20, 0, 0),
        ]
        if a.numeric:
            shapes += [prior.Shape(128, 64, 6, 1, 0), prior.Shape(512, 320, 10, 1, 0)]
        held = [
            stream.pool.submit(prior.draw, lib, 987654321, 1000 * i, a.held, s) for i, s in enumerate(shapes)
        ]
    log = open(at("log.csv"), "a") if rank == 0 else None
    limit = a.seconds - a.reserve
    stable_until = limit * (1.0 - a.decay)
    old, acc, n_acc, last = [], torch.zeros(4, device=device), 0, (state["step"], time.time())
    mark, base_seconds, decaying = time.time(), state["seconds"], False

    def keep():
        if rank == 0:
            state["seconds"] = round(base_seconds + time.time() - began, 1)
            save({k: p.detach().cpu() for k, p in P.items()}, at("stable.w"))
            save(opt.state(), at("opt.w"))
            json.dump(state, open(at("state.json"), "w"))
            log.flush()

    told = []  # SIGTERM or SIGINT: end after this step, everything kept
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told.append(1))
    while True:
        now = time.time() - began
        rate = a.rate * min(1.0, (opt.t + 1) / a.warm)  # steps that the optimiser remembers
        if a.decay > 0 and now > stable_until:
            if not decaying:
                keep()
                decaying = True
            rate *= 1.0 - math.sqrt(min(1.0, (now - stable_until) / (limit - stable_until)))
        rate, stop = team.agree(
            rank, rate, bool(told) or now >= limit or (a.steps and state["step"] >= a.steps)
        )
        if stop:
            break
        if a.reads == 2 and state["step"] % 2 == 1 and len(old) > 8:
            batch = old.pop(0)
        else:
            batch = (stream.next(), numbers.next() if numbers else None)
            state["batch"] += 1
            if a.reads == 2:
                old.append(batch)
        share = a.numeric / (a.batch + a.numeric)
        loss, base = losses(P, c, place(batch[0], device, gen))
        mean = loss.mean()
        (mean * (1.0 - share)).backward()
        one = torch.stack([mean.detach(), base.mean(), torch.zeros_like(mean), torch.zeros_like(mean)])
        if numbers:
            loss, base = losses(P, c, place(batch[1], device, gen))
            (loss.mean() * share).backward()
            one[2:] = torch.stack([loss.mean(), base.mean()]).detach()
        for p in P.values():
            if p.grad is None:  # the numeric head's, where it is not trained
                p.grad = torch.zeros_like(p)
        team.average(rank, P)
        opt.step(rate)
        for p in P.values():
            p.grad = None
        acc += one
        n_acc += 1
        state["step"] += 1
        state["tasks"] += (a.batch + a.numeric) * team.workers
        if state["step"] % a.log == 0 and rank == 0:
            s = (acc / n_acc).tolist()
            if not math.isfinite(s[0]):
                sys.exit("the loss is not finite at step %d: the last good file stays" % state["step"])
            speed = (a.batch + a.numeric) * team.workers * (state["step"] - last[0]) / (time.time() - last[1])
            line = "%d,%d,%.1f,%.4f,%.4f,%.2e,%.0f,%d,%.4f" % (
                state["step"],
                state["tasks"],
                now,
                s[0],
                s[0] / s[1],
                rate,
                speed,
                stream.waited,
                s[2] / max(s[3], 1e-9),
            )
            print(line, flush=True)
            log.write(line + "\n")
            acc.zero_()
            n_acc, last = 0, (state["step"], time.time())
            if not decaying and time.time() - mark > 120:
                keep()
                mark = time.time()
    if not decaying:
        keep()
    for s in (stream, numbers):
        if s is not None:
            s.close()
    if rank > 0:
        return
    note = dict(state)
    if a.decay > 0:
        save(dict(P={k: p.detach().bfloat16().cpu() for k, p in P.items()}, note=note), at("ship.w"))
    if held:
        note["held_out"] = evaluate(P, c, [h.result() for h in held], device)
        print("held-out loss / class-share loss:", json.dumps(note["held_out"]), flush=True)
        log.write("# %s\n" % json.dumps(note["held_out"]))
        log.flush()
        if a.decay > 0:
            save(dict(P={k: p.detach().bfloat16().cpu() for k, p in P.items()}, note=note), at("ship.w"))
    print("step %d, %d tasks, %.0f s" % (state["step"], state["tasks"], time.time() - began), flush=True)


def start(a):
    os.makedirs(a.dir, exist_ok=True)
    size = (
        json.load(open(os.path.join(a.dir, "state.json")))["size"]
        if os.path.exists(os.path.join(a.dir, "state.json"))
        else a.size
    )
    team = Team(a.workers, sum(math.prod(v[0]) for v in net.shapes(net.SIZES[size]).values()))
    if a.workers == 1:
        train(0, a, team)
    else:
        torch.multiprocessing.spawn(train, (a, team), nprocs=a.workers)


def bench(a):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lib = prior.load()
    c = net.SIZES[a.size]
    P = net.init(c, 0, device)
    opt = Optimiser(P)
    gen = torch.Generator(device).manual_seed(0)
    t = time.time()
    shapes = [(256, 128, 8), (512, 320, 16), (704, 512, 24), (1024, 640, 38)]
    data = []
    for n, nc, m in shapes:
        b = prior.draw(lib, 5, 0, min(a.batch, 8), prior.Shape(n, nc, m, 0, 0))
        k = a.batch // min(a.batch, 8)
        data.append((b[0], b[1].repeat(k, 0), b[2].repeat(k, 0), b[3].repeat(k, 0), b[4], b[5]))
    print("drawing: %.1f s" % (time.time() - t), flush=True)
    for how in ["plain", "compiled"] if device == "cuda" else ["plain"]:
        if how == "compiled":
            net.compile_pieces()
        for b in data:
            times = []
            for i in range(a.rounds):
                t = time.time()
                loss, _ = losses(P, c, place(b, device, gen))
                loss.mean().backward()
                opt.step(0.0)
                for p in P.values():
                    p.grad = None
                if device == "cuda":
                    torch.cuda.synchronize()
                times.append(time.time() - t)
            best = sorted(times)[len(times) // 2]
            peak = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0
            print(
                "%s %s %dx%d: first %.1f s, median %.1f ms, %.0f tasks/s, peak %.1f GiB, loss %.3f"
                % (
                    how,
                    a.size,
                    b[0].rows,
                    b[0].cols,
                    times[0],
                    best * 1e3,
                    a.batch / best,
                    peak,
                    loss.mean(),
                ),
                flush=True,
            )


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["train", "bench"])
    p.add_argument("--dir", default="build/pretrain")
    p.add_argument("--size", default="M", choices=list(net.SIZES))
    p.add_argument("--seconds", type=float, default=120.0)
    p.add_argument("--reserve", type=float, default=15.0, help="seconds kept for evaluation and saving")
    p.add_argument("--steps", type=int, default=0, help="stop at this step (0: by time alone)")
    p.add_argument(
        "--decay", type=float, default=0.0, help="share of the seconds in which the rate falls to zero"
    )
    p.add_argument("--rate", type=float, default=1e-3)
    p.add_argument("--warm", type=int, default=300)
    p.add_argument("--easy", type=int, default=500, help="batches of easy tasks at the very start")
    p.add_argument("--batch", type=int, default=64, help="tasks a step and worker")
    p.add_argument("--numeric", type=int, default=0, help="tasks with a numeric target, besides")
    p.add_argument("--workers", type=int, default=1, help="processes that average their gradients (CPU)")
    p.add_argument("--cells", type=int, default=0, help="most cells of a task (0: the prior's 40,000)")
    p.add_argument("--low", type=int, default=128, help="fewest rows of a task")
    p.add_argument("--high", type=int, default=1024)
    p.add_argument("--reads", type=int, default=1, choices=[1, 2], help="how often each batch is used")
    p.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    p.add_argument("--ahead", type=int, default=32)
    p.add_argument("--held", type=int, default=64, help="held-out tasks a shape, at the end")
    p.add_argument("--log", type=int, default=50)
    p.add_argument("--rounds", type=int, default=8)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--plain", action="store_true", help="no torch.compile")
    a = p.parse_args()
    (start if a.what == "train" else bench)(a)


if __name__ == "__main__":
    main()
