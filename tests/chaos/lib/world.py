"""A private stack of its own to break: processes, servers, links, and what its databases hold."""
import json, os, pathlib, re, shutil, signal, subprocess, sys, time, urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "lib"))
from servers import free_port, wait_for
from suite import Stack

SERVICES = ["api", "data-connector", "inference", "jobs", "keys", "metering", "reports"]
LINKS = {"api": ["postgres", "nats"], "jobs": ["postgres", "nats"], "inference": ["nats"], "api-2": ["nats"]}


def names_of(replicas):
    """Every process of the services: api, api-2 and so on."""
    return [d for s in SERVICES for d in [s, *[f"{s}-{i}" for i in range(2, replicas.get(s, 1) + 1)]]]


class World(Stack):
    """twins: every daemon twice; replicas: so many of each. The daemons of `links` reach their servers
    through links that fail on command."""

    def __init__(self, twins, replicas=None, links=LINKS):
        replicas = replicas or ({s: 2 for s in SERVICES} if twins else {})
        self.twins, self.proxy, self.mounted, self.psql = twins, None, False, None
        ports = {f"{d}.{s}": free_port() for d, servers in links.items() for s in servers}
        self.via = {d: {s: ports[f"{d}.{s}"] for s in servers} for d, servers in links.items()}
        os.environ["TAB_STACK_VIA"] = json.dumps(self.via)
        os.environ["TAB_STACK_REPLICAS"] = " ".join(f"{s}={n}" for s, n in replicas.items())
        os.environ["TAB_STACK_MONITOR"] = "1"  # subscriptions are counted
        os.environ.setdefault("TAB_DRAIN_S", "6")
        os.environ.setdefault("TAB_STATES_MIB", "32")  # so that a leak is not taken for a cache
        self.links = ports
        self.conducted = []  # experiments, whose organizations the last account is of
        try:
            super().__init__("chaos-twins" if twins else "chaos")
        except BaseException:  # what has begun ends with us
            self.close()
            raise
        finally:
            del os.environ["TAB_STACK_VIA"], os.environ["TAB_STACK_REPLICAS"]
        self.secret = json.loads((self.run / "secrets.json").read_text())
        self.daemons = names_of(replicas)

    def stack(self, *args):
        if (
            args[:1] == ("up",) and self.proxy is None
        ):  # the servers' ports are known once the folder is there
            self.small_redis()
            self.start_links()
        return super().stack(*args)

    def start_links(self):
        servers = {s: free_port() for s in ("postgres", "nats", "redis")}
        (self.run / "ports.json").write_text(json.dumps(servers))
        spec = {
            name: {"listen": port, "to": servers[name.split(".")[1]]} for name, port in self.links.items()
        }
        self.proxy = subprocess.Popen(
            [sys.executable, str(ROOT / "tests/chaos/lib/proxy.py"), json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.proxy.stdout.readline() == "ready\n"

    def small_redis(self):
        """A disk of 24 MiB for Redis, so that it can be full; only root can."""
        (self.run / "redis").mkdir()
        self.mounted = (
            os.geteuid() == 0
            and subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(self.run / "redis")],
                capture_output=True,
            ).returncode
            == 0
        )

    def link(self, name, **command):
        self.proxy.stdin.write(json.dumps({"link": name, **command}) + "\n")
        self.proxy.stdin.flush()
        return json.loads(self.proxy.stdout.readline())

    def trap(self, name, texts, who, side="up", deliver=False, times=1):
        """kill -9 of `who` (None: the link is cut) at the moment when its link carries the texts; see
        proxy.py."""
        self.link(name, trap=texts, side=side, kill=self.pid(who) if who else 0, deliver=deliver, times=times)

    def sprung(self, name, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.link(name)["fired"] > 0:
                return True
            time.sleep(0.02)
        self.link(name, trap=[], kill=0)
        return False

    # ---- processes

    def kill(self, name, how=signal.SIGKILL):
        os.kill(self.pid(name), how)

    def family(self, name):
        """The process and its children: PostgreSQL's backends, nginx' workers."""
        pid = self.pid(name)
        kids = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
        return [pid, *map(int, kids)]

    def freeze(self, name):
        pids = self.family(name)
        for p in pids:
            try:
                os.kill(p, signal.SIGSTOP)
            except ProcessLookupError:
                pass
        return pids

    def thaw(self, pids):
        for p in pids:
            try:
                os.kill(p, signal.SIGCONT)
            except ProcessLookupError:
                pass

    def supervisor(self, how):
        """A supervisor that is frozen restarts nothing: that is how a server stays away."""
        os.kill(json.loads((self.run / "state.json").read_text())["supervisor"]["pid"], how)

    def restarted(self, name, old, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.pid(name) != old:
                    return True
            except (KeyError, ValueError, FileNotFoundError):
                pass
            time.sleep(0.02)
        return False

    def ready(self, name):
        try:
            return (
                urllib.request.urlopen(
                    f"http://127.0.0.1:{self.ports[name + '-health']}/readyz", timeout=1
                ).status
                == 200
            )
        except OSError:
            return False

    def all_ready(self, seconds=30):
        end = time.monotonic() + seconds
        left = self.daemons
        while left and time.monotonic() < end:
            left = [d for d in left if not self.ready(d)]
            time.sleep(0.05)
        return not left

    # ---- what the servers hold

    def sql(self, text, *values):
        """Rows of texts; %s in the text are quoted values. As the owner of the cluster: no row security."""
        quoted = tuple("'" + str(v).replace("'", "''") + "'" for v in values)
        for last in (False, True):  # one psql for all; it ends when its server does
            if self.psql is None or self.psql.poll() is not None:
                self.psql = self.open_psql("-F", "\t", stderr=subprocess.STDOUT)
            rows, ended = [], False
            try:
                self.psql.stdin.write((text % quoted if values else text) + ";\n\\echo ==end==\n")
                self.psql.stdin.flush()
                for line in self.psql.stdout:
                    ended = line == "==end==\n"
                    if ended:
                        break
                    rows.append(line.rstrip("\n"))
            except BrokenPipeError:
                pass
            wrong = [
                r
                for r in rows
                if r.startswith(
                    ("ERROR:", "FATAL:", "psql:", "server closed", "You are currently not connected")
                )
            ]
            if ended and not wrong:
                return [r.split("\t") for r in rows]
            if last or (ended and wrong[0].startswith("ERROR:")):
                raise RuntimeError("\n".join(rows))
            self.psql.kill()
            self.psql.wait()

    def resources(self):
        """Descriptors and memory of each daemon, subscriptions, connections, locks, Redis keys without an
        end."""
        found = {}
        for d in self.daemons:
            pid = self.pid(d)
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            found[f"{d} descriptors"] = len(os.listdir(f"/proc/{pid}/fd"))
            found[f"{d} threads"] = int(re.search(r"Threads:\s+(\d+)", status).group(1))
            found[f"{d} MiB"] = int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) // 1024
        monitor = f"http://127.0.0.1:{self.ports['nats-monitor']}/subsz"
        found["NATS subscriptions"] = json.load(urllib.request.urlopen(monitor, timeout=5))[
            "num_subscriptions"
        ]
        found["PostgreSQL connections"] = int(
            self.sql("SELECT count(*) FROM pg_stat_activity WHERE datname = 'tabella'")[0][0]
        )
        found["advisory locks"] = int(
            self.sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted")[0][0]
        )
        endless = (
            'local n=0 for _,k in ipairs(redis.call("KEYS","*")) do if redis.call("TTL",k)==-1 then n=n+1 '
            "end end return n"
        )
        found["Redis keys without an end"] = int(self.redis("EVAL", endless, "0"))
        return found

    def logs(self):
        return b"".join(f.read_bytes() for f in self.run.rglob("*.log"))

    def close(self):
        try:
            if self.proxy is not None:
                self.supervisor(signal.SIGCONT)
        except (OSError, KeyError, ValueError):
            pass
        try:
            super(World, self).stack("down")
        finally:
            for p in (self.proxy, self.psql):
                if p is not None:
                    p.kill()
                    p.wait()
            if self.mounted:
                subprocess.run(["umount", str(self.run / "redis")], capture_output=True)
            if os.environ.get("TAB_KEEP"):
                print(f"kept: {self.run}")
            else:
                shutil.rmtree(self.run, ignore_errors=True)
