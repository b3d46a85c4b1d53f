"""What a stack is made of: its folder, ports and secrets, the processes that run in it and their
configuration."""
import hashlib, http.client, json, os, pathlib, pwd, re, secrets, shutil, signal, socket, subprocess, sys

import access
from ports import free_port, is_free

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN = pathlib.Path(os.environ.get("TAB_RUN", ROOT / "run")).resolve()
MODE = os.environ.get("TAB_MODE", "release")
BIN = ROOT / "build" / MODE / "bin"
MONITOR = os.environ.get("TAB_STACK_MONITOR", "") != ""  # tests that count subscriptions
FAST = os.environ.get("TAB_STACK_FAST", "") != ""  # tests: no fsync; a killed process still loses nothing
PRELOAD = os.environ.get("TAB_STACK_PRELOAD", "")  # a library that every process loads first
AS_ROOT = os.geteuid() == 0
REPLICAS = {k: int(n) for k, n in re.findall(r"([\w-]+)=(\d+)", os.environ.get("TAB_STACK_REPLICAS", ""))}
NATS = ["nats", *[f"nats-{i}" for i in range(2, REPLICAS.get("nats", 1) + 1)]]  # several: one cluster
SERVERS = ["postgres", *NATS, "redis"]
VIA = json.loads(os.environ.get("TAB_STACK_VIA", "{}"))
OWN = json.loads(os.environ.get("TAB_STACK_OWN", "{}"))  # {"inference": {"TAB_DRAIN_S": "3"}}
NODES = json.loads(os.environ.get("TAB_STACK_NODES", "{}"))  # {"api-2": "/proc/7/fd/5"}
# A folder with authority.pem, server.pem, server.key, client.pem and client.key: all servers by TLS, and NATS
# asks for a certificate. Secrets then come from files, too, as they do where secrets are mounted.
TLS = pathlib.Path(os.environ["TAB_STACK_TLS"]) if "TAB_STACK_TLS" in os.environ else None
FROM_FILES = ("TAB_POSTGRES", "TAB_NATS_PASSWORD", "TAB_REDIS_PASSWORD")
ENV_FILE = RUN / "tabella.env"


def die(message):
    sys.exit(f"stack: {message}")


# ---- who runs -------------------------------------------------------------------------------------------


def say(text):
    """A line of the supervisor's log. Where the disk is full the line is lost, and the supervisor goes on."""
    try:
        os.write(2, (text + "\n").encode())
    except OSError:
        pass


def started(pid):
    """When the process started, in clock ticks since boot; with its pid this names it for ever."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    return None if fields[0] == "Z" else int(fields[19])


def alive(who):
    return bool(who) and who["started"] is not None and started(who["pid"]) == who["started"]


def name_of(pid):
    return {"pid": pid, "started": started(pid)}


def read_json(path, otherwise):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return otherwise


def write_file(path, text, mode=0o644):
    """All of it or, where the disk is full, what was there before; OSError then."""
    fd = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(fd, "w") as f:
            f.write(text)
        os.replace(f"{path}.new", path)
    except OSError:
        pathlib.Path(f"{path}.new").unlink(missing_ok=True)
        raise


def listens(port):
    with socket.socket() as s:
        s.settimeout(0.5)
        return s.connect_ex(("127.0.0.1", port)) == 0


def get(port, path, timeout=2):
    try:
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        c.request("GET", path)
        r = c.getresponse()
        return r.status, r.read().decode()
    except OSError:
        return 0, ""


# ---- what runs ------------------------------------------------------------------------------------------


def daemons():
    """The services that are built, by the folder that makes them one, and their replicas."""
    names = [p.parent.name for p in sorted((ROOT / "services").glob("*/main.c"))]
    return [
        n
        for s in names
        if (BIN / s).exists()
        for n in [s, *[f"{s}-{i}" for i in range(2, REPLICAS.get(s, 1) + 1)]]
    ]


def service_of(name):
    return re.sub(r"-\d+$", "", name)


def api_ports():
    return [f"{n}-http" for n in daemons() if service_of(n) == "api"]


def gateway_built():
    return (ROOT / "build" / MODE / "gateway" / "ngx_http_tab_module.so").exists()


def made(name):
    """When what the process runs was built; 0 for a server, which we do not build."""
    if name == "gateway":
        return os.stat(BIN.parent / "gateway" / "ngx_http_tab_module.so").st_mtime_ns
    return 0 if name in SERVERS else os.stat(BIN / service_of(name)).st_mtime_ns


def postgres_bin():
    found = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True).stdout.strip()
    return pathlib.Path(found or "/usr/lib/postgresql/15/bin")


def searchable(path):
    """Whether another user can reach the path."""
    return all(os.stat(p).st_mode & 0o001 for p in [path, *path.parents] if p.exists())


def postgres_dir():
    """Under run/, except where root's folders hide it from the user postgres."""
    if not AS_ROOT or searchable(RUN):
        return RUN / "postgres"
    return pathlib.Path("/var/tmp") / f"tabella-postgres-{hashlib.sha256(str(RUN).encode()).hexdigest()[:12]}"


def prepare_run():
    for d in [RUN, RUN / "log", RUN / "nats", RUN / "redis", RUN / "gateway"]:
        d.mkdir(parents=True, exist_ok=True)
    (RUN / "redis").chmod(0o700)  # its files hold what it knows of keys
    known = read_json(RUN / "ports.json", {})
    health = [f"{d}-health" for d in daemons()]
    for name in [
        "gateway",
        "gateway-health",
        "postgres",
        *NATS,
        *([f"{n}-cluster" for n in NATS] if len(NATS) > 1 else []),
        "nats-monitor",
        "redis",
        "api-http",
        *api_ports(),
        *health,
    ]:
        if name not in known or not is_free(known[name]):
            known[name] = free_port()
    write_file(RUN / "ports.json", json.dumps(known, indent=1))
    path = RUN / "secrets.json"
    if not path.exists():
        write_file(
            path,
            json.dumps(
                {
                    "admin": secrets.token_hex(16),
                    "postgres": secrets.token_hex(16),
                    "gateway": secrets.token_hex(32),
                    "kek": secrets.token_hex(32),
                }
            ),
            0o600,
        )
    return known, read_json(path, None)


def derived(secret, what):
    """A secret of its own for each role of the database."""
    return hashlib.sha256(f"{secret['postgres']} {what}".encode()).hexdigest()


def role_of(service):
    return f"tabella_{service.replace('-', '_')}"


def postgres_of(ports, secret, service=None):
    """Where a service connects; without one, the role that owns the tables, for migrations."""
    role = role_of(service) if service else "tabella"
    password = derived(secret, role) if service else secret["postgres"]
    tls = f" sslmode=verify-full sslrootcert={TLS}/authority.pem" if TLS else ""
    return f"host=127.0.0.1 port={ports['postgres']} dbname=tabella user={role} password={password}{tls}"


def roles_sql(secret):
    """What a superuser runs in the database: the services' roles, with their passwords."""
    roles = [role_of(p.parent.name) for p in sorted((ROOT / "services").glob("*/main.c"))]
    words = [f"SELECT set_config('password.{r}', '{derived(secret, r)}', false);\n" for r in roles]
    return "".join(words) + (ROOT / "deploy" / "postgres-roles.sql").read_text()


def hidden(secret, what):
    """A secret of its own for each purpose, from one that no process of ours is given."""
    return hashlib.sha256(f"{secret['admin']} {what}".encode()).hexdigest()


def nats_password(secret, user):
    return "n" + hidden(secret, f"nats {user}")  # a letter first: bare, 12e3 would be a number to NATS


def redis_password(secret, user):
    return hidden(secret, f"redis {user}")


def environment(ports, secret, process=None):
    """What a process reads; `NAME --help` says what each is for. Each gets its own secrets alone; without a
    name: all of them, as the user `tests`, whom only a stack for tests or of servers alone has."""
    env = {
        k: v
        for k, v in os.environ.items()
        if k in ("PATH", "LANG", "HOME", "TMPDIR")
        or k.startswith(("TAB_", "ASAN_", "UBSAN_", "LSAN_", "TSAN_", "OPENBLAS_"))
    }
    if PRELOAD:
        env["LD_PRELOAD"] = PRELOAD
    user = process or "tests"
    env.update(
        {
            "TAB_POSTGRES": postgres_of(ports, secret),
            "TAB_ORG_KEY": derived(secret, "organizations"),
            "TAB_NATS": ",".join(f"nats://127.0.0.1:{ports[n]}" for n in NATS),
            "TAB_NATS_USER": user,
            "TAB_NATS_PASSWORD": nats_password(secret, user),
            "TAB_REDIS": f"127.0.0.1:{ports['redis']}",
            "TAB_REDIS_USER": user,
            "TAB_REDIS_PASSWORD": redis_password(secret, user),
            "TAB_API_HTTP": f"127.0.0.1:{ports['api-http']}",
            "TAB_API_JOURNAL": str(RUN / "journal"),
            "TAB_BASE_URL": f"http://127.0.0.1:{ports['gateway']}",
            "TAB_GATEWAY_SECRET": secret["gateway"],
            "TAB_GRANT_SECRET": hidden(secret, "grants"),
            "TAB_KEK": f"k1:{secret['kek']}",
            "TAB_STATE_KEK": "",
            "TAB_RUN_KEY": f"r1:{derived(secret, 'runs')}",
            "OPENBLAS_NUM_THREADS": "1",
        }
    )
    if process:
        for name in access.SECRETS.keys() - access.secrets_of(process):
            env.pop(name, None)
            env.pop(f"{name}_FILE", None)
            env.pop(name.replace("_PASSWORD", "_USER"), None)
    else:  # programs that know one address and nothing else
        env["TAB_NATS"] = f"nats://tests:{env.pop('TAB_NATS_PASSWORD')}@127.0.0.1:{ports['nats']}"
        env.pop("TAB_NATS_USER")
    env.setdefault("TAB_DRAIN_S", "10")
    for server in ("NATS", "REDIS") if TLS else ():
        env[f"TAB_{server}_TLS"] = "1"
        for what, file in (("CA", "authority.pem"), ("CERT", "client.pem"), ("KEY", "client.key")):
            env[f"TAB_{server}_{what}_FILE"] = str(TLS / file)
    return env


def into_files(name, env):
    """A daemon's secrets as files of its own; one that is there has been changed since."""
    folder = RUN / "secrets"
    folder.mkdir(mode=0o700, exist_ok=True)
    for secret in FROM_FILES:
        if secret in env:
            path = folder / f"{name}.{secret}"
            if not path.exists():
                write_file(path, env[secret] + "\n", 0o400)
            del env[secret]
            env[f"{secret}_FILE"] = str(path)


# ---- servers --------------------------------------------------------------------------------------------


def postgres_user():
    return pwd.getpwnam("postgres") if AS_ROOT else None


def init_postgres(ports, secret):
    data = postgres_dir()
    if (data / "PG_VERSION").exists():
        return
    user = postgres_user()
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(mode=0o700, parents=True)
    if user:
        os.chown(data, user.pw_uid, user.pw_gid)
    password = data.with_name(data.name + ".password")
    write_file(password, secret["admin"] + "\n", 0o600)
    if user:
        os.chown(password, user.pw_uid, user.pw_gid)
    done = subprocess.run(
        [
            postgres_bin() / "initdb",
            "-D",
            data,
            "-U",
            "admin",
            f"--pwfile={password}",
            "-A",
            "scram-sha-256",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "--data-checksums",
            "--no-sync",
            "--no-instructions",
        ],
        capture_output=True,
        text=True,
        cwd="/",
        preexec_fn=become(user),
    )
    password.unlink()
    if done.returncode != 0:
        shutil.rmtree(data, ignore_errors=True)
        die(f"initdb: {done.stderr.strip()}")


def postgres_certificate():
    """PostgreSQL's own copy, as its user reads it."""
    user = postgres_user()
    for file in ("server.pem", "server.key"):
        path = postgres_dir() / file.replace("pem", "crt")
        write_file(path, (TLS / file).read_text(), 0o600)
        if user:
            os.chown(path, user.pw_uid, user.pw_gid)


def become(user):
    def fn():
        if user:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)

    return fn


def psql(ports, secret, sql, database="postgres"):
    return subprocess.run(
        [
            postgres_bin() / "psql",
            "-XqtA",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            "127.0.0.1",
            "-p",
            str(ports["postgres"]),
            "-U",
            "admin",
            "-d",
            database,
            "-f",
            "-",
        ],
        input=sql,
        capture_output=True,
        text=True,
        env={**os.environ, "PGPASSWORD": secret["admin"]},
    )


def nats_cluster(ports, secret, name):
    """Where there are several: what one's clients are sent, the others' clients hear."""
    if len(NATS) == 1:
        return ""
    word = nats_password(secret, "cluster")
    routes = ", ".join(
        f'"nats-route://cluster:{word}@127.0.0.1:{ports[f"{n}-cluster"]}"' for n in NATS if n != name
    )
    return (
        f"cluster {{ name: tabella, listen: 127.0.0.1:{ports[f'{name}-cluster']}, routes: [{routes}]\n"
        f'  authorization {{ user: cluster, password: "{word}", timeout: 2 }} }}\n'
    )


def nats_tls():
    if not TLS:
        return ""
    return (
        f'tls {{ cert_file: "{TLS}/server.pem", key_file: "{TLS}/server.key", '
        f'ca_file: "{TLS}/authority.pem", verify: true }}\n'
    )


def redis_listens(port):
    if not TLS:
        return f"port {port}"
    return (
        f"port 0\ntls-port {port}\ntls-cert-file {TLS}/server.pem\ntls-key-file {TLS}/server.key\n"
        f"tls-ca-cert-file {TLS}/authority.pem\ntls-auth-clients no"
    )


def write_configs(ports, secret, tests=FAST):
    """tests: with a user who may do all."""
    monitor = f"http: 127.0.0.1:{ports['nats-monitor']}\n" if MONITOR else ""
    users = access.nats_users(lambda u: f'"{nats_password(secret, u)}"', tests)
    for name in NATS:
        write_file(
            RUN / f"{name}.conf",
            f"""listen: 127.0.0.1:{ports[name]}
{monitor if name == "nats" else ""}max_payload: 8MB
write_deadline: "10s"
ping_interval: "2s"
ping_max: 2
{nats_cluster(ports, secret, name)}{nats_tls()}{users}""",
            0o600,
        )
    operator = f"operator:{nats_password(secret, 'operator')}"
    write_file(
        RUN / "nats.url", f"nats://{operator}@127.0.0.1:{ports['nats']}\n", 0o600
    )  # for `tabella admin`
    users = access.redis_users(lambda u: access.hashed(redis_password(secret, u)), tests)
    write_file(
        RUN / "redis.conf",
        f"""bind 127.0.0.1
{redis_listens(ports['redis'])}
dir {RUN}/redis
save ""
appendonly yes
appendfsync everysec
{users}""",
        0o600,
    )
    if not gateway_built():
        return
    write_file(RUN / "gateway.secret", secret["gateway"] + "\n", 0o400)
    write_file(RUN / "gateway-redis.secret", redis_password(secret, "gateway") + "\n", 0o400)
    write_file(RUN / "gateway-grant.secret", hidden(secret, "grants") + "\n", 0o400)
    text = (ROOT / "gateway" / "nginx.conf.template").read_text()
    values = {
        "MODULE": str(ROOT / "build" / MODE / "gateway" / "ngx_http_tab_module.so"),
        "RUN": str(RUN / "gateway"),
        "USER": "user nobody nogroup;" if AS_ROOT else "",
        "WORKERS": str(min(os.cpu_count() or 1, 4)),
        "LISTEN": f"127.0.0.1:{ports['gateway']}",
        "HEALTH": f"127.0.0.1:{ports['gateway-health']}",
        "REDIS": f"127.0.0.1:{ports['redis']}",
        "ACCESS": f"tab_redis_user gateway; tab_redis_password_file {RUN}/gateway-redis.secret; "
        f"tab_grant_secret_file {RUN}/gateway-grant.secret;{redis_trusted()}{trace()}",
        "SECRET_FILE": str(RUN / "gateway.secret"),
        "API": api_servers([f"127.0.0.1:{ports[p]}" for p in api_ports() or ["api-http"]]),
        "SERVER": "",
        "CONSOLE": str(ROOT / "gateway" / "console"),
    }
    for k, v in values.items():
        text = text.replace(f"@{k}@", v)
    write_file(RUN / "gateway" / "nginx.conf", text)


def api_servers(at):
    """As deploy/gateway-start writes them (see @API@ in gateway/nginx.conf.template)."""
    lines = [f"server {a} fail_timeout=2s;" for a in at]
    if len(at) > 1:
        lines += [f"server {a} max_fails=0 backup;" for a in at]
    return " ".join(lines)


def redis_trusted():
    return f" tab_redis_tls on; tab_redis_trusted_certificate {TLS}/authority.pem;" if TLS else ""


def trace():
    """As deploy/gateway-start has it."""
    how = os.environ.get("TAB_GATEWAY_TRACE", "")
    share = os.environ.get("TAB_GATEWAY_TRACE_SHARE", "0.01")
    return f" tab_trace {how}; tab_trace_share {share};" if how else ""


def commands(ports):
    """Each process: argv, the signal that stops it gracefully, the user that it runs as."""
    fsync = ["-c", "fsync=off", "-c", "full_page_writes=off"] if FAST else []
    tls = ["-c", "ssl=on"] if TLS else []  # its certificate is in its folder, for it alone reads the key
    c = {
        "postgres": (
            [
                postgres_bin() / "postgres",
                "-D",
                postgres_dir(),
                "-p",
                str(ports["postgres"]),
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "unix_socket_directories=",
                "-c",
                "max_connections=200",
                "-c",
                "shared_buffers=64MB",
                "-c",
                "jit=off",
                "-c",
                "max_wal_size=512MB",
                *fsync,
                *tls,
            ],
            signal.SIGINT,
            postgres_user(),
        ),
        **{n: (["nats-server", "-c", RUN / f"{n}.conf"], signal.SIGTERM, None) for n in NATS},
        "redis": (["redis-server", RUN / "redis.conf"], signal.SIGTERM, None),
    }
    for d in daemons():
        c[d] = ([BIN / service_of(d)], signal.SIGTERM, None)
    if gateway_built():
        c["gateway"] = (
            ["nginx", "-c", RUN / "gateway" / "nginx.conf", "-p", RUN / "gateway", "-g", "daemon off;"],
            signal.SIGQUIT,
            None,
        )
    return c
