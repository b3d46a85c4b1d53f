"""The other side of common/base/point.h: the file that all processes of a test share, mapped here as
there."""
import mmap, os, pathlib, re, struct, time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
NAME, SLOTS, CLOCKS = 88, 2048, 64  # as in common/base/point.c
CLOCK = struct.Struct("<IIq")  # pid, unused, microseconds
SLOT = struct.Struct(f"<8IQ{NAME}s")  # the numbers of the next line, and the name
NAMED, ACTION, LEFT, PID, ENTERED, RELEASED, WHO, _, HITS = range(0, 36, 4)
FIRST = CLOCKS * CLOCK.size
ACTIONS = {"none": 0, "wait": 1, "fail": 2, "crash": 3}
ALWAYS = 2**31


class Points:
    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.truncate(FIRST + SLOTS * SLOT.size)
        os.chmod(path, 0o666)  # the daemons may be another user's
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 0)
        os.environ["TAB_POINTS_FILE"] = str(path)

    def close(self):
        os.environ.pop("TAB_POINTS_FILE", None)
        self.map.close()
        os.unlink(self.path)

    # ---- slots, found as the daemons find them

    def at(self, name):
        h, raw = 2166136261, name.encode()[: NAME - 1]
        for c in raw:
            h = (h ^ c) * 16777619 % 2**32
        for i in range(SLOTS):
            at = FIRST + (h + i) % SLOTS * SLOT.size
            named, *_, text = SLOT.unpack_from(self.map, at)
            if named == 0:
                struct.pack_into(f"<{NAME}s", self.map, at + SLOT.size - NAME, raw)
                struct.pack_into("<I", self.map, at, 2)
                return at
            if text.rstrip(b"\0") == raw:
                return at
        raise RuntimeError("no room for points")

    def get(self, name, what):
        return struct.unpack_from("<Q" if what == HITS else "<I", self.map, self.at(name) + what)[0]

    def put(self, name, what, value):
        struct.pack_into("<I", self.map, self.at(name) + what, value)

    # ---- what a test does

    def attach(self, name, action, times=1, pid=0):
        """The next `times` who come to this point (of this process) wait, fail or die."""
        self.put(name, PID, pid)
        self.put(name, LEFT, times)
        self.put(name, ACTION, ACTIONS[action])

    def waiting(self, name):
        return self.get(name, ENTERED) - self.get(name, RELEASED)

    def reached(self, name, seconds=60):
        end = time.monotonic() + seconds
        while self.waiting(name) <= 0 and time.monotonic() < end:
            time.sleep(0.005)
        return self.waiting(name) > 0

    def fired(self, name, seconds=60):
        """All that were to fail or to die here have come."""
        end = time.monotonic() + seconds
        while self.get(name, LEFT) > 0 and time.monotonic() < end:
            time.sleep(0.005)
        return self.get(name, LEFT) == 0

    def release(self, name):
        self.put(name, ACTION, ACTIONS["none"])
        self.put(name, RELEASED, self.get(name, ENTERED))

    def clear(self):
        """Nobody waits any more, and nothing happens to anybody."""
        for name in self.hits():
            self.release(name)

    def clock(self, pid, seconds):
        """The wall clock of a process, moved."""
        for i in range(CLOCKS):
            who, _, _ = CLOCK.unpack_from(self.map, i * CLOCK.size)
            if who in (0, pid) or not os.path.exists(f"/proc/{who}"):
                return CLOCK.pack_into(self.map, i * CLOCK.size, pid, 0, int(seconds * 1e6))

    # ---- coverage

    def hits(self):
        out = {}
        for i in range(SLOTS):
            named, *_, hits, text = SLOT.unpack_from(self.map, FIRST + i * SLOT.size)
            if named == 2:
                out[text.rstrip(b"\0").decode()] = hits
        return out


def of_sources():
    """The points that the sources name: each TAB_POINT, and one on either side of each commit of a
    function."""
    found = set()
    for path in [*ROOT.glob("common/**/*.c"), *ROOT.glob("services/**/*.c")]:
        if "/tests/" in str(path) or path.name in ("point.c", "pg_points.c", "pg.c"):
            continue
        text, name = path.read_text(), str(path.relative_to(ROOT)).removeprefix("services/")
        found |= set(re.findall(r'TAB_POINT(?:_FAILS)?\("([^"]+)"\)', text))
        for fn in re.finditer(r"^[a-z][^\n;]*?\b(\w+)\([^;{]*\)\n\{\n(.*?)^\}", text, re.S | re.M):
            if re.search(r"\btab_tx_(commit|finish)\(", fn[2]):
                found |= {f"{name}:{fn[1]}.{x}"[: NAME - 1] for x in ("commit", "committed")}
    return found
