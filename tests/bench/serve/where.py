"""Where the CPU time of a served call goes within api and inference: samples of perf while a load runs, each
counted for the first part below whose functions stand in its stack. Shares of samples are laid on the CPU
time that the kernel counts for the process, so the parts sum to it."""
import collections, re, shutil, subprocess, time

# In this order: what stands within another comes first.
PARTS = {
    "api": [
        ("read the body", "body_read"),
        ("write the answer", "write_answer"),
        ("bill: journal, events", "bill_begin bill_end write_all settle_all relay"),
        ("places (Redis)", "place_take place_release"),
        ("message to inference", "ask tab_rpc_call rpc_answered"),
        ("admit: cache, cells, hold", "serve_at_once post_serve"),
        ("identity, headers", "api_arrived take_headers"),
        ("send the answer", "answer on_wake"),
        ("batch, the rest", "run_batch lead alone serve_join"),
        ("HTTP, the rest", "on_request event_base_loop run_loop"),
        ("workers, the rest", "work worked_on"),
    ],
    "inference": [
        ("decode the message", "rpc_body_read"),
        ("match columns, check types", "serve_request_read"),
        ("cells to features", "tab_score_read"),
        ("boosted trees", "boost_predict tab_boost_margins"),
        ("forests", "forest_predict"),
        ("kernel, neighbours", "kernel_predict knn_predict"),
        ("network", "mlp_predict"),
        ("models, the rest", "tab_score_together"),
        ("reasons, missing cells, drift", "tab_score_end serve_impute drift_count"),
        ("profile merged, parts shared", "serve_answer"),
        ("encode and send the answer", "answer_ok answer"),
        ("take a call, hand it over", "asked asked_here worker work_off"),
    ],
}
WAKE = (
    "waits and wakes of threads",
    re.compile(r"^(schedule|__schedule|try_to_wake_up|futex_wake|futex_wait)$"),
)


def part_of(process, stack):
    names = set(stack)
    if any(WAKE[1].match(s) for s in stack):
        return WAKE[0]
    for part, functions in PARTS[process]:
        if names & set(functions.split()):
            return part
    return "libraries (libevent, malloc, NATS, libpq)"


def samples(text):
    """(pid, [functions of the stack]) of each sample that perf script wrote."""
    for block in text.split("\n\n"):
        lines = block.strip().splitlines()
        if lines and (m := re.match(r"\s*(?:\S+\s+)?(\d+)", lines[0])):
            yield int(m[1]), [
                re.sub(r"\+0x[0-9a-f]+$", "", l.split()[1]) for l in lines[1:] if len(l.split()) > 1
            ]


def record(pids, work, seconds, load):
    """pids: {"api": [...], "inference": [...]}. What load() gives, and {process: {part: share}}; None without
    perf."""
    if shutil.which("perf") is None:
        return load(), None
    data, of = work / "perf.data", {p: name for name in PARTS for p in pids[name]}
    perf = subprocess.Popen(
        ["perf", "record", "-q", "-F", "2000", "-e", "cpu-clock", "-g", "-o", data]
        + ["-p", ",".join(map(str, of)), "--", "sleep", str(seconds)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(0.3)
    got = load()
    perf.wait()
    text = subprocess.run(
        ["perf", "script", "-i", data, "-F", "pid,ip,sym"], capture_output=True, text=True
    ).stdout
    count = {name: collections.Counter() for name in PARTS}
    for pid, stack in samples(text):
        if pid in of:
            count[of[pid]][part_of(of[pid], stack)] += 1
    return got, {name: {p: n / max(1, c.total()) for p, n in c.items()} for name, c in count.items()}


def tell(shares, ms):
    """ms: CPU milliseconds a call, by process."""
    for name, of in shares.items():
        for part, share in sorted(of.items(), key=lambda x: -x[1]):
            print(f"    {name + ': ' + part:<56}{1000 * share * ms[name]:7.1f} us", flush=True)
