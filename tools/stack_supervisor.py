"""The process that starts what a stack runs, and starts again what dies."""
import collections, ctypes, os, pathlib, shutil, signal, subprocess, sys, time

from stack_parts import *
from stack_watch import Watch

LOG_MOST = 64 << 20  # bytes of a log; with the one before it twice as many


def log_of(name):
    """The log, to append to; nowhere, where it cannot be opened: a process without its log beats none."""
    try:
        return open(RUN / "log" / f"{name}.log", "ab")
    except OSError as e:
        say(f"log of {name}: {e}")
        return open(os.devnull, "ab")


class Supervisor:
    """start -> running --dies--> waiting (0.1 s doubling to 5 s; from the start again after 10 s of life)

    Nothing that fails here ends the supervisor, which would end all of its children (decision 0013): what
    cannot be written is written later, what cannot be started is started later."""

    def __init__(self, servers_only):
        self.ports, self.secret = prepare_run()
        self.env = environment(self.ports, self.secret, "migrate")
        self.servers_only = servers_only
        self.running = {}  # name -> dict(process, since, made)
        self.waiting = {}  # name -> when to start it
        self.delay = collections.defaultdict(lambda: 0.1)
        self.libc = ctypes.CDLL(None)
        self.stopping = False
        self.restarts = collections.Counter()
        self.phase, self.unsaved = "starting", False
        self.logs_due = 0
        self.watch = Watch(environment(self.ports, self.secret, "nats-check"))

    def spawn(self, name):
        argv, _, user = commands(self.ports)[name]
        argv = [str(a) for a in argv]
        ports = {**self.ports, **VIA.get(name, {})}
        env = environment(ports, self.secret, service_of(name))
        if name in daemons():
            env["TAB_POSTGRES"] = postgres_of(ports, self.secret, service_of(name))
        if f"{name}-http" in self.ports:
            env["TAB_API_HTTP"] = f"127.0.0.1:{self.ports[f'{name}-http']}"
        if f"{name}-health" in self.ports:
            env["TAB_HEALTH_PORT"] = str(self.ports[f"{name}-health"])
        if service_of(name) == "inference":
            env.setdefault("TAB_THREADS", str(os.cpu_count() or 1))
            env["TAB_STATES_FOLDER"] = str(RUN / f"states-{name}")
        env.update(OWN.get(service_of(name), {}))
        env.update(OWN.get(name, {}))
        env = {k: v for k, v in env.items() if v is not None}  # null: not set at all
        if TLS and name in daemons():
            into_files(name, env)
        parent = os.getpid()

        def before():
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            os.setsid()
            if name in NODES and self.libc.setns(os.open(NODES[name], os.O_RDONLY | os.O_CLOEXEC), 0) != 0:
                os._exit(1)
            become(user)()
            # PR_SET_PDEATHSIG: nothing outlives a supervisor that was killed. After setuid, which clears it.
            self.libc.prctl(1, int(commands_stop[name]))
            if os.getppid() != parent:
                os._exit(1)

        commands_stop = {n: c[1] for n, c in commands(self.ports).items()}
        log = log_of(name)
        try:
            built = made(name)
            p = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=env,
                cwd="/" if user else ROOT,
                preexec_fn=before,
            )
        except (OSError, subprocess.SubprocessError) as e:
            say(f"{name}: {e}")
            self.wait_for(name)
            return
        finally:
            log.close()
        self.waiting.pop(name, None)
        self.running[name] = {"process": p, "since": time.monotonic(), "made": built}
        self.save()

    def wait_for(self, name):
        self.waiting[name] = time.monotonic() + self.delay[name]
        self.delay[name] = min(self.delay[name] * 2, 5)

    def save(self, ready=None):
        if ready is not None:
            self.phase = ready
        state = {
            "supervisor": name_of(os.getpid()),
            "servers_only": self.servers_only,
            "restarts": dict(self.restarts),
            "children": {n: name_of(r["process"].pid) for n, r in self.running.items()},
            "phase": self.phase,
        }
        try:
            write_file(RUN / "state.json", json.dumps(state, indent=1))
            self.unsaved = False
        except OSError as e:
            if not self.unsaved:
                say(f"state.json: {e}; written when it can be")
            self.unsaved = True

    def reap(self):
        died = False
        for name, r in list(self.running.items()):
            code = r["process"].poll()
            if code is None:
                continue
            died = True
            del self.running[name]
            if self.stopping:
                continue
            if time.monotonic() - r["since"] > 10:
                self.delay[name] = 0.1
            self.restarts[name] += 1
            say(f"{name} ended ({code}); again in {self.delay[name]:.1f} s")
            if name == "gateway":
                self.clear_gateway()
            if name == "postgres":
                self.clear_postgres()
            self.wait_for(name)
        if died:
            self.save()
        for name in [n for n, at in self.waiting.items() if at <= time.monotonic()]:
            self.spawn(name)

    @staticmethod
    def clear_postgres():
        """Removes the lock of a postmaster that died; its processes notice that and end by themselves."""
        time.sleep(0.05)
        try:
            (postgres_dir() / "postmaster.pid").unlink(missing_ok=True)
        except OSError as e:
            say(f"postmaster.pid: {e}")

    def clear_gateway(self):
        """Workers of a killed nginx master go on with its old configuration and keep the port."""
        pid = str(RUN / "gateway" / "nginx.conf")
        for p in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                ppid = p.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1]
                if (
                    p.joinpath("cmdline").read_bytes().startswith(b"nginx: worker")
                    and ppid in ("1", str(os.getpid()))
                    and os.readlink(p / "cwd")
                    and self.gateway_log_open(p, pid)
                ):
                    os.kill(int(p.name), signal.SIGTERM)
            except (OSError, IndexError):
                continue

    @staticmethod
    def gateway_log_open(proc, conf):
        """Whether the process holds this stack's gateway log open: its own workers, nobody else's."""
        folder = str(pathlib.Path(conf).parent)
        return any(os.readlink(f).startswith(folder) for f in proc.joinpath("fd").iterdir())

    def pause(self, seconds):
        """Waits for a signal or so long; True when it is time to stop."""
        now = time.monotonic()
        times = [
            now + seconds,
            *self.waiting.values(),
            self.watch.due(),
            *([now + 1] if self.unsaved else []),
        ]
        seconds = max(0.01, min(times) - now)
        info = signal.sigtimedwait(self.signals, seconds)
        if info and info.si_signo in (signal.SIGTERM, signal.SIGINT):
            return True
        if info and info.si_signo == signal.SIGHUP:
            self.renew()
        self.reap()
        self.look()
        self.bound_logs()
        if self.unsaved:
            self.save()
        return False

    def bound_logs(self):
        """A log that has grown to LOG_MOST is begun anew, and the one before it is kept. Who writes to it
        appends, and goes on as before; lines of the moment between the two may be lost."""
        if time.monotonic() < self.logs_due:
            return
        self.logs_due = time.monotonic() + 30
        for f in [*(RUN / "log").glob("*.log"), *(RUN / "gateway").glob("*.log")]:
            try:
                if f.stat().st_size > LOG_MOST:
                    shutil.copyfile(f, f"{f}.1")
                    os.truncate(f, 0)
            except OSError as e:
                say(f"{f.name}: {e}")

    def look(self):
        """Kills a NATS server that delivers no messages; reap starts it again."""
        nats = self.running.get("nats")
        if nats and self.watch.stuck(nats["since"]):
            nats["process"].kill()

    def turn(self):
        """One round of waiting and looking after the children; True when it is time to stop."""
        try:
            return self.pause(3600)
        except Exception as e:
            say(f"the supervisor goes on after {type(e).__name__}: {e}")
            return bool(signal.sigtimedwait([signal.SIGTERM, signal.SIGINT], 1))

    def until(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                say(f"{what}: not there after {seconds} s, see {RUN}/log")
                return False
            if self.pause(0.03):
                raise KeyboardInterrupt
        return True

    def renew(self):
        """New binaries: their daemons start anew, on a migrated schema."""
        self.migrate()
        stops = {n: c[1] for n, c in commands(self.ports).items()}
        for name, r in list(self.running.items()):
            try:
                if name not in SERVERS and made(name) != r["made"]:
                    r["process"].send_signal(stops[name])
                    self.delay[name] = 0.05
            except OSError:
                pass
        for name in daemons():
            if name not in self.running and name not in self.waiting and not self.servers_only:
                self.ports, self.secret = read_json(RUN / "ports.json", {}), self.secret
                if f"{name}-health" in self.ports:
                    self.spawn(name)

    def migrate(self):
        try:
            done = subprocess.run([BIN / "migrate"], env=self.env, capture_output=True)
        except OSError as e:
            say(f"migrate: {e}")
            return False
        with log_of("migrate") as f:
            try:
                os.write(f.fileno(), done.stdout + done.stderr)
            except OSError as e:
                say(f"log of migrate: {e}")
        return done.returncode == 0

    def first_database(self):
        for _ in range(100):
            done = psql(self.ports, self.secret, "SELECT count(*) FROM pg_database WHERE datname = 'tabella'")
            if done.returncode == 0:
                break
            if self.pause(0.05):
                raise KeyboardInterrupt
        if done.stdout.strip() == "0":
            psql(
                self.ports,
                self.secret,
                f"CREATE ROLE tabella LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD '{self.secret['postgres']}';\n"
                "CREATE DATABASE tabella OWNER tabella;\n",
            )
        psql(self.ports, self.secret, roles_sql(self.secret), "tabella")

    def run(self):
        self.signals = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD]
        signal.pthread_sigmask(signal.SIG_BLOCK, self.signals)
        write_configs(self.ports, self.secret, FAST or self.servers_only)
        self.save("starting")
        try:
            for name in NATS:
                self.spawn(name)
            self.spawn("redis")
            init_postgres(self.ports, self.secret)
            if TLS:
                postgres_certificate()
            (postgres_dir() / "postmaster.pid").unlink(missing_ok=True)  # of a killed stack: nobody holds it
            self.spawn("postgres")
            for name, seconds in [("postgres", 60), *((n, 20) for n in NATS), ("redis", 20)]:
                if not self.until(lambda: listens(self.ports[name]), seconds, name):
                    self.stop()
                    sys.exit(1)
                if name == "postgres":
                    self.first_database()
            self.save("servers")
            if not self.servers_only:
                if not self.migrate():
                    say(f"not migrated, see {RUN}/log/migrate.log")
                for name in daemons():
                    self.spawn(name)
                if gateway_built():
                    self.spawn("gateway")
            self.save("running")
            while not self.turn():
                pass
        except KeyboardInterrupt:
            pass
        self.stop()

    def stop(self):
        self.stopping = True
        self.watch.stop()
        self.save("stopping")
        stops = {n: c[1] for n, c in commands(self.ports).items()}
        apis = [d for d in daemons() if service_of(d) == "api"]
        wave = [["gateway"], apis, [d for d in daemons() if d not in apis], [*NATS, "redis", "postgres"]]
        for names in wave:
            names = [n for n in names if n in self.running]
            for n in names:
                self.running[n]["process"].send_signal(stops[n])
            end = time.monotonic() + 15
            while any(n in self.running for n in names) and time.monotonic() < end:
                signal.sigtimedwait([signal.SIGCHLD], 0.05)
                self.reap()
            for n in names:
                if n in self.running:
                    self.running[n]["process"].kill()
                    self.running[n]["process"].wait()
                    self.running.pop(n)
        (RUN / "state.json").unlink(missing_ok=True)
