#!/usr/bin/env python3
"""The test of the tests:  tests/seeds/bugs.py [--seeds N] [--seconds S] [--of sown|reverted] [NAME ...]

Each bug of sown.py is sown into a copy of the tree, which is built with it; the specs that meet it run there,
then seeds until one finds it. Prints what found it, after how many seeds and seconds. `make seeds-bugs` runs
them all."""
import argparse, json, os, pathlib, shutil, subprocess, sys, tempfile, time

from sown import REVERTED, SOWN

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEPT = ("common", "deploy", "gateway", "proto", "services", "tests", "tools", "Makefile")  # of the tree
BUILT = ("gen", "nginx", "points", "release", "tabella")  # of what is built


def copy(to):
    for name in KEPT:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(
            source, to / name, **({"symlinks": True} if source.is_dir() else {})
        )
    for name in BUILT:
        source, target = ROOT / "build" / name, to / "build" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", source, target], check=True)
    (to / "COMMIT").write_text("bugs\n")


def build(at):
    done = subprocess.run(
        ["make", "-s", f"-j{os.cpu_count()}", "MODE=points", "build"], cwd=at, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])


def runs(at, *args):
    """The rows of a campaign in the copy: a spec's or a seed's."""
    out = at / "found.jsonl"
    out.unlink(missing_ok=True)
    with open(at / "said.txt", "w") as said:
        subprocess.run(
            ["tests/seeds/run", *map(str, args), "--until-wrong", "--out", out],
            cwd=at,
            env={**os.environ, "TAB_MODE": "points"},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    rows = [json.loads(l) for l in out.read_text().splitlines()] if out.exists() else []
    rows = [r for r in rows if "wrong" in r]
    if not rows:
        raise RuntimeError("nothing ran:\n" + (at / "said.txt").read_text()[-3000:])
    return rows


def hunt(at, bug, args):
    """What found it, or nothing; how many seeds ran."""
    if bug.specs:
        last = runs(at, "--seeds", 0, "--specs", *bug.specs.split())[-1]
        if last["wrong"]:
            return f"spec {last['spec']}: {last['wrong']}", 0
    if args.seeds == 0:
        return "", 0
    rows = runs(at, "--seeds", args.seeds, "--first", args.first, "--seconds", args.seconds)
    what = rows[-1]["wrong"]
    return f"seed {rows[-1]['seed']}: {what[0].splitlines()[0]}" if what else "", len(rows)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--seeds", type=int, default=200, help="at most, for each bug; 0: specs alone")
    p.add_argument("--first", type=int, default=1, help="the first of them")
    p.add_argument("--seconds", type=float, default=60, help="of load, each seed")
    p.add_argument("--of", choices=("sown", "reverted"), help="these alone")
    p.add_argument("names", nargs="*", help="of sown.py")
    args = p.parse_args()
    all_bugs = SOWN | REVERTED
    names = args.names or list({"sown": SOWN, "reverted": REVERTED}.get(args.of, all_bugs))
    missed = []
    with tempfile.TemporaryDirectory(prefix="tabella-bugs-") as folder:
        at = pathlib.Path(folder)
        os.chmod(at, 0o755)
        copy(at)
        for name in names:
            bug = all_bugs[name]
            edits = [(bug.file, bug.right, bug.wrong), *bug.also]
            texts = {file: (at / file).read_text() for file, *_ in edits}
            for file, right, wrong in edits:
                if texts[file].count(right) != 1:
                    sys.exit(f"{name}: {file} has its place {texts[file].count(right)} times")
                (at / file).write_text(texts[file].replace(right, wrong))
            build(at)
            began = time.monotonic()
            try:
                what, seeds = hunt(at, bug, args)
            except RuntimeError as problem:  # no stack came up: the others are hunted
                what, seeds = "", 0
                print(problem, flush=True)
            took = time.monotonic() - began
            missed += [] if what else [name]
            said = f"{took:.0f} s, {what}" if what else f"not found in {seeds} seeds"
            print(f"{'ok  ' if what else 'MISS'} {name}: {said}", flush=True)
            for file, text in texts.items():
                (at / file).write_text(text)
    print(f"bugs: {len(names) - len(missed)} found, {len(missed)} missed")
    sys.exit(bool(missed))


main()
