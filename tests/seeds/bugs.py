#!/usr/bin/env python3
"""The test of the tests:  tests/seeds/bugs.py [--seeds N] [--seconds S] [NAME ...]

Each bug is sown into a copy of the tree, which is built with it, and seeds are run there until one finds it.
Prints how many seeds and seconds that took. `make seeds-bugs` runs them all."""
import argparse, json, os, pathlib, shutil, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEPT = ("common", "deploy", "gateway", "proto", "services", "tests", "tools", "Makefile")  # of the tree
BUILT = ("gen", "nginx", "points", "release", "tabella")  # of what is built

# name -> file, what stands there, what stands there with the bug
BUGS = {
    "stale key cache": (
        "services/keys/cache.c",
        "    tab_error why = { 0 };\n    if (!TAB_POINT_FAILS",
        "    tab_error why = { 0 };\n    if (t->version > 0)\n        return TAB_OK;\n"
        "    if (!TAB_POINT_FAILS",
    ),
    "rotation before the old secret ends": (
        "services/keys/keys.c",
        "        s = keys_cache_fence(&self->cache, &ended[i], err);",
        "        s = ended == NULL ? keys_cache_fence(&self->cache, &ended[i], err) : TAB_OK;",
    ),
    "double settlement": (
        "services/api/serve/bills_settle.c",
        "ON CONFLICT DO NOTHING RETURNING id",
        "ON CONFLICT (id) DO UPDATE SET until = excluded.until RETURNING id",
    ),
    "lost hold": (
        "services/metering/reserve.c",
        "tab_p_int(cost), tab_p_int(more), tab_p_int(limit)",
        "tab_p_int(cost), tab_p_int(more), tab_p_int(limit + cost)",
    ),
    "early acknowledgement": (
        "services/api/runs/run.c",
        "    if (s == TAB_OK)\n        tab_relay_nudge(r->api->relay);\n",
        "    if (s == TAB_UNAVAILABLE || s == TAB_CANCELLED)\n        return TAB_OK;\n",
    ),
    "cursor off by one": (
        "services/jobs/store_read.c",
        'WHERE org = $1 AND seq < $2 "\n                                                             "AND $3',
        'WHERE org = $1 AND seq <= $2 "\n'
        '                                                             "AND $3',
    ),
    "cache after delete": (
        "services/jobs/state.c",
        "    redisReply *reply = NULL;\n"
        '    tab_status s = tab_redis_command(self->redis, REDIS_MS, &reply, NULL, "SET',
        "    redisReply *reply = NULL;\n    if (e->id[0] != 0)\n        return true;\n"
        '    tab_status s = tab_redis_command(self->redis, REDIS_MS, &reply, NULL, "SET',
    ),
    "retry without its key": (
        "services/api/idempotency.c",
        '"THEN excluded.seed ELSE i.seed END, "',
        '"THEN excluded.seed ELSE excluded.seed END, "',
    ),
    "end after another's end": (
        "services/jobs/store.c",
        "phase = '' \"\n"
        "                     \"WHERE org = $1 AND job_id = $2 AND attempt = $3 AND status = 'running' \"\n"
        '                     "RETURNING 1',
        'phase = \'\' "\n                     "WHERE org = $1 AND job_id = $2 AND attempt = $3 "\n'
        '                     "RETURNING 1',
    ),
}


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


def hunt(at, seeds, seconds):
    """(found, seeds, seconds of hunting, what was found first)"""
    out, began = at / "found.jsonl", time.monotonic()
    out.unlink(missing_ok=True)
    subprocess.run(
        ["tests/seeds/run", "--seeds", str(seeds), "--seconds", str(seconds), "--until-wrong", "--out", out],
        cwd=at,
        env={**os.environ, "TAB_MODE": "points"},
        stdout=subprocess.DEVNULL,
    )
    if not out.exists():
        sys.exit("no seed ran")
    rows = [r for r in map(json.loads, out.read_text().splitlines()) if "seed" in r]
    wrong = rows[-1]["wrong"] if rows else []
    return bool(wrong), len(rows), time.monotonic() - began, wrong[0].split("\n")[0] if wrong else ""


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--seeds", type=int, default=200, help="at most, for each bug")
    p.add_argument("--seconds", type=float, default=60, help="of load, each seed")
    p.add_argument("names", nargs="*", help=f"of {', '.join(BUGS)}")
    args = p.parse_args()
    missed = []
    with tempfile.TemporaryDirectory(prefix="tabella-bugs-") as folder:
        at = pathlib.Path(folder)
        os.chmod(at, 0o755)
        copy(at)
        for name in args.names or BUGS:
            path, right, wrong = BUGS[name]
            text = (at / path).read_text()
            if text.count(right) != 1:
                sys.exit(f"{name}: {path} has its place {text.count(right)} times")
            (at / path).write_text(text.replace(right, wrong))
            build(at)
            found, seeds, took, what = hunt(at, args.seeds, args.seconds)
            missed += [] if found else [name]
            said = (
                f"found by seed {seeds} after {took:.0f} s: {what}"
                if found
                else f"not found in {seeds} seeds"
            )
            print(f"{'ok  ' if found else 'MISS'} {name}: {said}", flush=True)
            (at / path).write_text(text)
    print(f"bugs: {len(args.names or BUGS) - len(missed)} found, {len(missed)} missed")
    sys.exit(bool(missed))


main()
