"""CPU time of a stack's processes, from the kernel: it says more than the clock where a machine is shared."""

import json, pathlib, time

CPUCLOCK_SCHED = 2  # of a process' clocks the one that the scheduler counts


def tree(pid):
    """A process and all below it."""
    kids, out, at = {}, [], [pid]
    for p in pathlib.Path("/proc").iterdir():
        if p.name.isdigit():
            try:
                kids.setdefault(int((p / "stat").read_text().rsplit(")", 1)[1].split()[1]), []).append(
                    int(p.name)
                )
            except (OSError, IndexError):
                pass
    while at:
        p = at.pop()
        out.append(p)
        at += kids.get(p, [])
    return out


def spent(pids):
    """Their seconds so far to the nanosecond, of threads that ended as well; those of ended children are not
    among them. /proc/PID/stat tells the same in ticks of 10 ms, /proc/PID/schedstat the first thread's."""
    ns = 0
    for p in pids:
        try:
            ns += time.clock_gettime_ns((~p << 3) | CPUCLOCK_SCHED)  # what clock_getcpuclockid(3) makes of it
        except OSError:
            pass
    return ns / 1e9


def children(stack):
    """The processes of each daemon and server of a stack."""
    state = json.loads((stack.run / "state.json").read_text())
    return {n: tree(c["pid"]) for n, c in state["children"].items()}
