#!/usr/bin/env python3
"""The network between nodes: a switch in user space, so that packets are lost and late as on a real one.

    wire.py '{"front": {"at": "198.18.7.1", "ports": [5432]}, "a": {"at": ..., "ports": [...]}}'

The first node is the network namespace that this program runs in, each other one a new namespace. Programs
of a node find all servers at 127.0.0.1, as on one machine: the kernel translates the addresses of ports that
another node listens on. One line of JSON names the namespaces; each line of standard input, a list of
{"from": NODE, "to": NODE, "lose": share, "ms": N} (no node: any), is what holds from then on, and is
acknowledged by an empty line."""
import collections, ctypes, fcntl, heapq, itertools, json, os, random, select, struct, subprocess, sys
import threading, time

NEW_NETWORK, ATTACH, TAP_WITHOUT_HEADER = 0x40000000, 0x400454CA, 0x1002
libc = ctypes.CDLL(None, use_errno=True)


def ports_of(node):
    return "{ " + ", ".join(map(str, node["ports"])) + " }"


def translation(me, others):
    """Rules of nft. What comes from outside is a local caller's to a server: its access rules know those."""
    out = "".join(
        f"ip daddr 127.0.0.1 tcp dport {ports_of(o)} dnat to {o['at']}\n" for o in others if o["ports"]
    )
    come = f"iifname wire tcp dport {ports_of(me)} dnat to 127.0.0.1\n" if me["ports"] else ""
    chains = {
        "out": ("output priority -100", out),
        "leave": ("postrouting priority 100", "oifname wire ip saddr 127.0.0.0/8 masquerade\n"),
        "come": ("prerouting priority -100", come),
        "local": ("input priority 100", "ip saddr 198.18.7.0/24 ip daddr 127.0.0.1 snat to 127.0.0.1\n"),
    }
    text = "".join(f"chain {c} {{\ntype nat hook {hook};\n{r}}}\n" for c, (hook, r) in chains.items())
    return f"table ip nodes {{\n{text}}}\n"


def settle(nodes, name, new, ret):
    """In a thread, whose namespace it is; ret[name]: (the device, the namespace), both open."""
    if new and libc.unshare(NEW_NETWORK) != 0:
        raise OSError(ctypes.get_errno(), "no namespace")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, ATTACH, struct.pack("16sH22x", b"wire", TAP_WITHOUT_HEADER))
    me = nodes[name]
    local = "/proc/sys/net/ipv4/conf/all/route_localnet"
    setup = f"ip link set lo up; ip addr add {me['at']}/24 dev wire; ip link set wire up; echo 1 >{local}"
    subprocess.run(["sh", "-ec", setup], check=True)
    rules = translation(me, [o for n, o in nodes.items() if n != name])
    subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)
    ret[name] = device, os.open("/proc/thread-self/ns/net", os.O_RDONLY)


class Switch:
    def __init__(self, devices):
        self.devices, self.names = devices, {d: n for n, d in devices.items()}
        self.rules, self.late, self.turn = [], [], itertools.count()
        self.lost = collections.Counter()

    def fate(self, a, b):
        """Whether a frame arrives, and how many ms later."""
        ms = 0
        for r in self.rules:
            if r.get("from", a) == a and r.get("to", b) == b:
                if random.random() < r.get("lose", 0):
                    return False, 0
                ms += r.get("ms", 0)
        return True, ms

    def pass_on(self, device, frame):
        try:
            os.write(device, frame)
        except OSError:
            pass  # its queue is full: a switch drops, too

    def take(self, device):
        try:
            frame = os.read(device, 65536)
        except BlockingIOError:
            return
        for name, other in self.devices.items():
            if other == device:
                continue
            arrives, ms = self.fate(self.names[device], name)
            if arrives and ms == 0:
                self.pass_on(other, frame)
            elif arrives:
                heapq.heappush(self.late, (time.monotonic() + ms / 1000, next(self.turn), other, frame))

    def run(self, commands):
        while True:
            wait = max(0, self.late[0][0] - time.monotonic()) if self.late else None
            for fd in select.select([*self.names, commands], [], [], wait)[0]:
                if fd is not commands:
                    self.take(fd)
                    continue
                line = commands.readline()
                if not line:
                    return
                self.rules = json.loads(line)
                print(flush=True)
            while self.late and self.late[0][0] <= time.monotonic():
                self.pass_on(*heapq.heappop(self.late)[2:])


def main():
    nodes, made = json.loads(sys.argv[1]), {}
    for i, name in enumerate(nodes):
        t = threading.Thread(target=settle, args=(nodes, name, i > 0, made))
        t.start()
        t.join()
        if name not in made:
            sys.exit(f"{name}: no network")
    print(json.dumps({n: f"/proc/{os.getpid()}/fd/{space}" for n, (_, space) in made.items()}), flush=True)
    Switch({n: device for n, (device, _) in made.items()}).run(sys.stdin)


main()
