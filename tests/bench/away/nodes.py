"""A stack over several nodes: PostgreSQL, Redis and the gateway on one, and one of each daemon and a server
of NATS on each further one, with a network of its own (wire.py). A node is lost with its packets, not with a
word: nothing is refused, and no connection ends."""
import glob, json, os, pathlib, signal, subprocess, sys

from servers import free_port
from suite import Stack

HERE = pathlib.Path(__file__).resolve().parent
CLOCK = "libfaketime.so.1"
LOST = "b"  # the node that the faults are of


def inside(argv):
    """Runs this program again with a network of its own, once."""
    if os.environ.get("TAB_NODES_INSIDE") != "1":
        os.environ["TAB_NODES_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *argv])


class Nodes(Stack):
    def __init__(self, daemons, n, clock):
        """clock: node b's daemons read a wall clock that can be moved."""
        self.wire, self.parts, self.clock = None, [*daemons, "nats"], None
        self.letters = [chr(ord("a") + i) for i in range(n)]
        os.environ["TAB_STACK_REPLICAS"] = " ".join(f"{p}={n}" for p in self.parts)
        if clock:
            self.clock_library = next(iter(glob.glob(f"/usr/lib/*/faketime/{CLOCK}")))
        self.with_clock = clock
        super().__init__("nodes")

    def on(self, letter):
        """The names of what runs on a node."""
        i = self.letters.index(letter)
        return [p if i == 0 else f"{p}-{i + 1}" for p in self.parts]

    def stack(self, *args):
        if args[:1] == ("up",) and self.wire is None:
            self.connect()
        return super().stack(*args)

    def connect(self):
        """Every port is chosen, so that the network can know who listens where, before anything starts."""
        front = ["postgres", "redis", "gateway", "gateway-health", "nats-monitor", "api-http"]
        ports, nodes = {name: free_port() for name in front}, {}
        nodes["front"] = {"at": "198.18.7.1", "ports": list(ports.values())}
        for i, letter in enumerate(self.letters):
            own = {}
            for name in self.on(letter):
                kinds = ["", "-cluster"] if name.startswith("nats") else ["-health"]
                kinds += ["-http"] * name.startswith("api")
                own |= {name + kind: free_port() for kind in kinds}
            nodes[letter] = {"at": f"198.18.7.{i + 2}", "ports": list(own.values())}
            ports |= own
        nodes["front"]["ports"].remove(ports["nats-monitor"])
        nodes["a"]["ports"].append(ports["nats-monitor"])
        (self.run / "ports.json").write_text(json.dumps(ports))
        self.wire = subprocess.Popen(
            [sys.executable, HERE / "wire.py", json.dumps(nodes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        spaces = json.loads(self.wire.stdout.readline())
        at = {name: spaces[letter] for letter in self.letters for name in self.on(letter)}
        self.env["TAB_STACK_NODES"] = json.dumps(at)
        if self.with_clock:
            self.clock = self.run / "clock"
            self.clock.write_text("+0")
            moved = {
                "LD_PRELOAD": self.clock_library,
                "FAKETIME_TIMESTAMP_FILE": str(self.clock),
                "FAKETIME_NO_CACHE": "1",
                "DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }
            own = {name: moved for name in self.on(LOST) if not name.startswith("nats")}
            self.env["TAB_STACK_OWN"] = json.dumps(own)

    def rules(self, *rules):
        self.wire.stdin.write(json.dumps(rules) + "\n")
        self.wire.stdin.flush()
        self.wire.stdout.readline()

    # ---- faults; each gives what ends it -------------------------------------------------------------------

    def network(self, *rules):
        def fault():
            self.rules(*rules)
            return self.rules

        return fault

    def signalled(self, what, *rules):
        """All of the node's processes, and its packets."""

        def fault():
            self.rules(*rules)
            there = self.children()
            pids = [there[n]["pid"] for n in self.on(LOST) if n in there]
            for p in pids:
                os.kill(p, what)

            def undo():
                self.rules()
                for p in pids if what == signal.SIGSTOP else ():
                    os.kill(p, signal.SIGCONT)

            return undo

        return fault

    def stepped(self, seconds):
        def fault():
            self.clock.write_text(f"{seconds:+d}")
            return lambda: self.clock.write_text("+0")

        return fault

    def faults(self):
        if self.clock:
            yield "b an hour ahead", self.stepped(3600)
            yield "b an hour behind", self.stepped(-3600)
            yield "b a week ahead", self.stepped(7 * 86400)
            return
        dark = ({"from": LOST, "lose": 1}, {"to": LOST, "lose": 1})
        yield "b lost", self.network(*dark)
        yield "b hears nothing", self.network(dark[1])
        yield "b is not heard", self.network(dark[0])
        yield "b and front apart", self.network(
            {"from": LOST, "to": "front", "lose": 1}, {"from": "front", "to": LOST, "lose": 1}
        )
        yield "b loses 5 %", self.network({"from": LOST, "lose": 0.05}, {"to": LOST, "lose": 0.05})
        yield "b 40 ms late", self.network({"from": LOST, "ms": 20}, {"to": LOST, "ms": 20})
        yield "b killed", self.signalled(signal.SIGKILL, *dark)
        yield "b frozen", self.signalled(signal.SIGSTOP)

    def close(self):
        try:
            if self.wire:
                self.rules()
            super().close()
        finally:
            if self.wire:
                self.wire.stdin.close()
                self.wire.wait()
