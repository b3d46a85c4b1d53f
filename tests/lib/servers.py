"""Private PostgreSQL, NATS and Redis on free ports in a temporary folder, and daemons of the build beside
them: for tests that need the real ones. Use as a context; all is stopped at the end."""
import os, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tools")
from ports import free_port

BIN = f"{ROOT}/build/{os.environ.get('MODE', 'release')}/bin"


def wait_for(what, seconds=300.0):
    end = time.time() + seconds
    while True:
        try:
            if what():
                return
        except OSError:
            pass
        if time.time() > end:
            raise TimeoutError("waited %.0f s" % seconds)
        time.sleep(0.03)


def accepts(port):
    socket.create_connection(("127.0.0.1", port), 1).close()
    return True


class Servers:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="tab-servers-")
        os.chmod(self.dir, 0o755)
        self.pg_port, self.nats_port, self.redis_port = free_port(), free_port(), free_port()
        self.daemons, self.health = {}, {}  # by name: the process, its health port
        self.env = dict(
            os.environ,
            TAB_NATS=f"nats://127.0.0.1:{self.nats_port}",
            TAB_REDIS=f"127.0.0.1:{self.redis_port}",
            TAB_POSTGRES=f"host=127.0.0.1 port={self.pg_port} user=tab dbname=tab",
            OPENBLAS_NUM_THREADS="1",
        )

    def __enter__(self):
        try:
            self.pg_bin = subprocess.run(
                ["pg_config", "--bindir"], capture_output=True, text=True, check=True
            ).stdout.strip()
            self.pg = self.dir + "/pg"
            os.mkdir(self.pg)
            if os.geteuid() == 0:
                shutil.chown(self.pg, "postgres")
            self.as_postgres(
                f"{self.pg_bin}/initdb -D {self.pg} -U tab -A trust --no-sync -E UTF8 --locale=C.UTF-8"
            )
            self.start_postgres()
            self.as_postgres(
                f"psql -h 127.0.0.1 -p {self.pg_port} -U tab -d postgres -qc 'CREATE ROLE app LOGIN' -c "
                "'CREATE DATABASE tab OWNER app'"
            )
            self.env["TAB_POSTGRES"] = f"host=127.0.0.1 port={self.pg_port} user=app dbname=tab"
            self.start_nats()
            self.start_redis()
            subprocess.run(
                [BIN + "/migrate"],
                env=self.env,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def as_postgres(self, command):
        argv = (
            ["su", "postgres", "-s", "/bin/sh", "-c", command] if os.geteuid() == 0 else ["sh", "-c", command]
        )
        subprocess.run(
            argv,
            check=True,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )

    def start_postgres(self):
        self.as_postgres(
            f"{self.pg_bin}/pg_ctl -D {self.pg} -w -l {self.pg}/log -o '-p {self.pg_port} -k {self.pg} "
            "-c listen_addresses=127.0.0.1 -c fsync=off' start"
        )

    def stop_postgres(self):
        self.as_postgres(f"{self.pg_bin}/pg_ctl -D {self.pg} -m immediate -w stop")

    def start_nats(self):
        with open(self.dir + "/nats.conf", "w") as f:
            f.write(f"listen: 127.0.0.1:{self.nats_port}\nmax_payload: 8MB\n")
        self.nats = subprocess.Popen(
            ["nats-server", "-c", self.dir + "/nats.conf"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: accepts(self.nats_port))

    def start_redis(self):
        self.redis = subprocess.Popen(
            [
                "redis-server",
                "--port",
                str(self.redis_port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
                self.dir,
            ],
            stdout=subprocess.DEVNULL,
        )
        wait_for(lambda: accepts(self.redis_port))

    def sql(self, text):
        return subprocess.run(
            ["psql", "-h", "127.0.0.1", "-p", str(self.pg_port), "-U", "tab", "-d", "tab", "-qAtc", text],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    def redis_cli(self, *args):
        return subprocess.run(
            ["redis-cli", "-p", str(self.redis_port), *args], capture_output=True, text=True, check=True
        ).stdout.strip()

    def start(self, name, **env):
        port = free_port()
        log = open(f"{self.dir}/{name}.log", "ab")
        p = subprocess.Popen(
            [f"{BIN}/{name}"], env=dict(self.env, TAB_HEALTH_PORT=str(port), **env), stderr=log, stdout=log
        )
        self.daemons[name], self.health[name] = p, port

        def ready():
            if p.poll() is not None:
                raise RuntimeError(f"{name} ended: " + open(f"{self.dir}/{name}.log").read()[-2000:])
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=30).status == 200
            except OSError:
                return False

        wait_for(ready)
        return p

    def stop(self, name, sig=signal.SIGTERM):
        p = self.daemons.pop(name)
        p.send_signal(sig)
        return p.wait(300)

    def log(self, name):
        return open(f"{self.dir}/{name}.log").read()

    def __exit__(self, *_):
        for name in list(self.daemons):
            self.stop(name, signal.SIGKILL)
        for p in (getattr(self, "nats", None), getattr(self, "redis", None)):
            if p is not None:
                p.kill()
                p.wait()
        if os.path.exists(self.dir + "/pg/postmaster.pid"):
            self.stop_postgres()
        shutil.rmtree(self.dir, ignore_errors=True)
