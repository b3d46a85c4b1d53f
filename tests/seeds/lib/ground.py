"""What a seed's stack stands on: namespaces of its own, a network that loses packets, a disk that is slow,
full, or loses what was not synced.

`apart()` runs the rest of the program in a network, process and mount namespace of its own (root alone
can). There `Network` drops packets between a daemon and a server, in one direction or both: TCP sends them
again, as after a real partition. `Disk` is disk.c, which PostgreSQL and the daemons have loaded."""
import ctypes, fcntl, mmap, os, pathlib, shutil, signal, struct, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
NEW = 0x00020000 | 0x20000000 | 0x40000000  # CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET
WITHIN = "TAB_SEEDS_WITHIN"
HEAD = 16  # a journal's first line, which comes with its name


def within():
    return bool(os.environ.get(WITHIN))


def init(argv):
    """The first process of the namespace: runs the program, and takes in what others left behind."""
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    child = subprocess.Popen([sys.executable, *argv], env={**os.environ, WITHIN: "1"})
    for s in (signal.SIGTERM, signal.SIGINT):
        signal.signal(s, lambda n, _: child.send_signal(n))
    while True:
        pid, status = os.wait()
        if pid == child.pid:
            os._exit(os.waitstatus_to_exitcode(status) & 255)


def apart():
    """Does not return where it can; says so where it cannot."""
    if within():
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or shutil.which("nft") is None or libc.unshare(NEW) != 0:
        print("# no namespaces of its own, and no lost packets: that needs root and nftables", flush=True)
        return
    pid = os.fork()
    if pid == 0:
        libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: with the first one all of them end
        try:
            init(sys.argv)
        finally:
            os._exit(1)
    for s in (signal.SIGTERM, signal.SIGINT):
        signal.signal(s, lambda n, _: os.kill(pid, n))
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)


def nft(text):
    done = subprocess.run(["nft", "-f", "-"], input=text, text=True, capture_output=True)
    if done.returncode != 0:
        raise OSError(done.stderr)


class Network:
    """Packets to a port, or from it, are dropped in the kernel."""

    def __init__(self):
        sets = "".join(f"set {s} {{ type inet_service; }}\n" for s in ("mute", "deaf"))
        rules = "tcp dport @mute drop\ntcp sport @deaf drop"
        chain = f"chain input {{ type filter hook input priority 0;\n{rules}\n}}\n"
        nft(f"table inet seeds {{\n{sets}{chain}}}\n")

    def lose(self, port, way):
        """way: mute, what is said to the port; deaf, what it answers; or both. Gives what ends it."""
        sets = ("mute", "deaf") if way == "both" else (way,)
        nft("".join(f"add element inet seeds {s} {{ {port} }}\n" for s in sets))
        return lambda: nft("".join(f"delete element inet seeds {s} {{ {port} }}\n" for s in sets))

    def close(self):
        nft("delete table inet seeds\n")


class Disk:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tabella-disk-"))
        os.chmod(self.folder, 0o755)
        library, orders = self.folder / "disk.so", self.folder / "orders"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, HERE / "disk.c"], check=True)
        orders.write_bytes(bytes(16))
        orders.chmod(0o644)
        with open(orders, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 0)
        os.environ |= {"TAB_DISK_FILE": str(orders), "TAB_STACK_PRELOAD": str(library)}

    def order(self, slow=0, full=0):
        struct.pack_into("<II", self.map, 0, slow, full)

    def close(self):
        os.environ.pop("TAB_STACK_PRELOAD", None)
        self.map.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def ended(pid):
    """Waits until a process that was killed is gone, or waits to be taken in."""
    state = pathlib.Path(f"/proc/{pid}/stat")
    try:
        while state.read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.002)
    except (FileNotFoundError, ProcessLookupError):
        pass


def unsynced(journal):
    """The power is gone: what no sync has told the disk of the journal's files is lost. A file that another
    process has locked is that one's."""
    for path in [p for p in pathlib.Path(journal).iterdir() if p.suffix == ".bills"]:
        kept = pathlib.Path(f"{path}.synced")
        with open(path, "r+b") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            f.truncate(min(f.seek(0, os.SEEK_END), int(kept.read_text() or 0) if kept.exists() else HEAD))
