"""CPU time of a stack's processes, from the kernel: it says more than the clock where a machine is shared."""

import json, os, pathlib

TICK = os.sysconf("SC_CLK_TCK")


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
    """Their seconds so far, those of ended children not among them."""
    ticks = 0
    for p in pids:
        try:
            f = pathlib.Path(f"/proc/{p}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(f[11]) + int(f[12])
        except OSError:
            pass
    return ticks / TICK


def children(stack):
    """The processes of each daemon and server of a stack."""
    state = json.loads((stack.run / "state.json").read_text())
    return {n: tree(c["pid"]) for n, c in state["children"].items()}
