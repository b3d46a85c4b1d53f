"""A real nginx with our module and a real Redis, private and on free ports, before a small upstream that
records what reaches it. The upstream speaks HTTP by hand, so that a request which nginx re-framed badly
would show as a second one."""
import base64, hashlib, hmac, json, os, random, shutil, signal, socket, subprocess, tempfile
import threading, time, zlib

from servers import ROOT, free_port, wait_for

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SCOPES = {"read": 1, "run": 2, "serve": 4, "manage": 8, "delete": 16}


def new_secret(begin="sk_live_"):
    """A secret with a good checksum; one that begins as another does is the other's neighbour."""
    s = begin + "".join(random.SystemRandom().choice(BASE62) for _ in range(51 - len(begin)))
    crc, tail = zlib.crc32(s.encode()), ""
    for _ in range(6):
        crc, d = divmod(crc, 62)
        tail = BASE62[d] + tail
    return s + tail


class Answer:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin1").split("\r\n")
        self.raw, self.status = raw, int(lines[0].split()[1]) if lines[0].startswith("HTTP/") else 0
        self.headers = {}
        for line in lines[1:]:
            k, _, v = line.partition(":")
            self.headers.setdefault(k.strip().lower(), []).append(v.strip())

    def header(self, name):
        return self.headers.get(name.lower(), [None])[0]

    @property
    def error(self):
        return json.loads(self.body)["error"]


def named(h):
    """The id of the request in its identity: every answer of the api carries it."""
    return (h.get(b"x-tabella-identity", b"").split(b" ") + [b""] * 3)[2]


class Upstream:
    """Records every request; plays the api's internal authenticate route from `known`."""

    def __init__(self):
        self.seen, self.known, self.asked, self.hashes, self.fill = [], {}, 0, [], None
        self.connections = 0
        self.reply, self.auth_down, self.delay = b'{"ok":true}', False, 0.0
        self.live, self.status, self.headers = b"204 No Content", b"200 OK", b""
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind(("127.0.0.1", free_port()))
        self.sock.listen(512)
        self.port = self.sock.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                c, _ = self.sock.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(c,), daemon=True).start()

    def serve(self, c):
        data = b""
        try:
            while True:
                while b"\r\n\r\n" not in data:
                    more = c.recv(65536)
                    if not more:
                        return
                    data += more
                head, _, data = data.partition(b"\r\n\r\n")
                lines = head.split(b"\r\n")
                headers = [tuple(x.strip() for x in l.split(b":", 1)) for l in lines[1:]]
                h = {k.lower(): v for k, v in headers}
                need = int(h.get(b"content-length", b"0"))
                while len(data) < need:
                    more = c.recv(1 << 20)
                    if not more:
                        return
                    data += more
                body, data = data[:need], data[need:]
                method, path = lines[0].decode("latin1").split()[:2]
                if path == "/internal/live":  # no call of anybody's
                    self.connections -= 1
                    c.sendall(b"HTTP/1.1 %s\r\nConnection: close\r\n\r\n" % self.live)
                    return
                if path == "/internal/authenticate":
                    self.asked += 1
                    c.sendall(self.authenticate(h))
                    continue
                self.seen.append(
                    {
                        "method": method,
                        "path": path,
                        "headers": headers,
                        "h": h,
                        "body": body,
                        "line": lines[0],
                    }
                )
                if self.delay:
                    time.sleep(self.delay)
                reply = b"" if method == "HEAD" else self.reply
                c.sendall(
                    b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nX-Request-Id: %s\r\n"
                    b"X-Tabella-Grant: secret\r\n%sContent-Length: %d\r\n\r\n"
                    % (self.status, named(h), self.headers, len(self.reply))
                    + reply
                )
        except OSError:
            pass
        finally:
            c.close()

    def authenticate(self, h):
        words = h.get(b"x-tabella-identity", b"").decode().split(" ")
        name = b"X-Request-Id: %s\r\n" % named(h)
        if self.auth_down:
            return b"HTTP/1.1 503 Away\r\n%sContent-Length: 0\r\n\r\n" % name
        if len(words) < 9 or words[3] != "AUTHENTICATE":
            return b"HTTP/1.1 400 Bad\r\n%sContent-Length: 0\r\n\r\n" % name
        self.hashes.append(words[7])
        grant = self.known.get(words[7])
        if grant is None:
            return b"HTTP/1.1 401 No\r\n%sContent-Length: 0\r\n\r\n" % name
        if self.fill:
            self.fill(words[7], grant)
        return b"HTTP/1.1 204 Yes\r\n%sX-Tabella-Grant: %s\r\n\r\n" % (name, grant.encode())


class Rig:
    SECRET = "a secret that gateway and api share, of some length"
    GRANT_SECRET = "a secret that gateway and keys share, of some length"

    def __init__(
        self,
        workers=2,
        edit=lambda conf: conf,
        redis_timeout="20s",
        access="",
        waits=True,
        server="",
        listen="",
    ):
        """redis_timeout: of a busy machine, where the template's 100 ms would let the fallback answer."""
        self.dir, self.waits = tempfile.mkdtemp(prefix="tab-gateway-"), waits
        os.chmod(self.dir, 0o777)
        self.upstream = Upstream()
        self.port, self.redis_port, self.health = free_port(), free_port(), free_port()
        self.upstream.fill = self.fill
        self.start_redis()
        for name, text in (("secret", self.SECRET), ("grant", self.GRANT_SECRET)):
            with open(f"{self.dir}/{name}", "w") as f:
                f.write(text + "\n")
        access = access.replace("@DIR@", self.dir)
        with open(ROOT + "/gateway/nginx.conf.template") as f:
            conf = f.read()
        mode = os.environ.get("MODE", "release")
        for name, value in {
            "MODULE": f"{ROOT}/build/{mode}/gateway/ngx_http_tab_module.so",
            "RUN": self.dir,
            "USER": "user nobody nogroup;" if os.geteuid() == 0 else "",
            "WORKERS": str(workers),
            "LISTEN": f"127.0.0.1:{self.port}{listen}",
            "HEALTH": f"127.0.0.1:{self.health}",
            "REDIS": f"unix:{self.dir}/redis.sock",
            "ACCESS": access,
            "SECRET_FILE": self.dir + "/secret",
            "API": f"server 127.0.0.1:{self.upstream.port};",
            "SERVER": server,
            "CONSOLE": ROOT + "/gateway/console",
        }.items():
            conf = conf.replace(f"@{name}@", value)
        with open(self.dir + "/nginx.conf", "w") as f:
            f.write(
                edit(
                    conf.replace("tab_redis ", f"tab_redis_timeout {redis_timeout};\n    tab_redis ", 1)
                    if "tab_redis_timeout " not in conf.split("\nhttp {", 1)[1]
                    else conf
                )
            )
        try:
            self.start_nginx()
        except BaseException:
            self.close()
            raise

    def start_nginx(self):
        subprocess.run(["nginx", "-p", self.dir, "-c", self.dir + "/nginx.conf"], check=True)
        if self.waits:
            wait_for(lambda: self.log("redis is up"))

    def log(self, text, count=1):
        with open(self.dir + "/error.log") as f:
            return f.read().count(text) >= count

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
                "--unixsocket",
                self.dir + "/redis.sock",
                "--unixsocketperm",
                "777",
                "--appendonly",
                "no",
                "--dir",
                self.dir,
                "--loglevel",
                "warning",
            ],
            stdout=subprocess.DEVNULL,
        )
        wait_for(lambda: self.command("PING") == "PONG")

    def command(self, *args, timeout=5):
        with socket.create_connection(("127.0.0.1", self.redis_port), timeout) as s:
            f = s.makefile("rwb")
            f.write(b"*%d\r\n" % len(args))
            for a in args:
                a = str(a).encode()
                f.write(b"$%d\r\n%s\r\n" % (len(a), a))
            f.flush()
            return self.parse(f)

    def parse(self, f):
        line = f.readline().strip().decode()
        kind, rest = line[:1], line[1:]
        if kind == "-":
            raise RuntimeError(rest)
        if kind == "*":
            return [self.parse(f) for _ in range(int(rest))]
        if kind == "$":
            return None if rest == "-1" else f.read(int(rest) + 2)[:-2].decode()
        return int(rest) if kind == ":" else rest

    # ---- keys
    def grant(self, org, key, scopes, key_rpm=100000, org_rpm=100000, endpoint_rpm=100000, version=1):
        bits = sum(SCOPES[s] for s in scopes)
        return f"{org} {key} {bits} pro {key_rpm} {org_rpm} {endpoint_rpm} 50000000 64 4 {version}"

    def put(self, hash_hex, grant, version=None, timeout=5):
        w = grant.split(" ") if grant else [""] * 11
        return self.command(
            "FCALL", "tab_key_put", 1, "tab:g:" + hash_hex, version or w[10], 600, grant, timeout=timeout
        )

    def sign(self, text, kind, about, secret=None):
        """An entry signed as the keys service signs it (common/security/entry.h)."""
        key = hashlib.blake2b((secret or self.GRANT_SECRET).encode(), digest_size=32).digest()
        return (
            text
            + " "
            + hashlib.blake2b(f"{kind} {about} {text}".encode(), key=key, digest_size=32).hexdigest()
        )

    def entry(self, hash_hex, grant, epoch=0, life=600, secret=None):
        return self.sign(f"{grant} {epoch} {int(time.time()) + life}", "grant1", hash_hex, secret)

    def put_signed(self, hash_hex, entry, org, epoch=0):
        """tab_key_put with an entry ('' for a tombstone), and the organization's number."""
        version = entry.split(" ")[10] if entry else epoch
        with_epoch = [self.sign(str(epoch), "epoch1", org), 1200] if epoch else []
        keys = ["tab:g:" + hash_hex, *(["tab:v:" + org] if epoch else [])]
        return self.command("FCALL", "tab_key_put", len(keys), *keys, version, 600, entry, *with_epoch)

    def fill(self, hash_hex, grant):
        try:
            self.put(hash_hex, grant)
        except OSError:
            pass

    def key(self, org="org_a", name=None, scopes=tuple(SCOPES), cached=True, **limits):
        secret = new_secret()
        name = name or "key_" + secret[8:14]
        grant = self.grant(org, name, scopes, **limits)
        h = hashlib.sha256(secret.encode()).hexdigest()
        self.upstream.known[h] = grant
        if cached:
            self.put(h, grant)
        return secret

    def revoke(self, secret, version=99):
        h = hashlib.sha256(secret.encode()).hexdigest()
        self.upstream.known.pop(h, None)
        self.put(h, "", version)

    # ---- requests
    def raw(self, data, timeout=60.0):
        with socket.create_connection(("127.0.0.1", self.port), timeout) as s:
            s.sendall(data)
            got = b""
            try:
                while True:
                    more = s.recv(1 << 16)
                    if not more:
                        break
                    got += more
            except (socket.timeout, ConnectionResetError):
                pass
            return got

    def ask(self, method, path, secret=None, headers=(), body=b"", version="HTTP/1.1"):
        lines = [f"{method} {path} {version}", "Host: t", "Connection: close"]
        if secret is not None:
            lines.append("Authorization: Bearer " + secret)
        lines += list(headers)
        if body or method in ("POST", "PATCH", "PUT"):
            lines.append(f"Content-Length: {len(body)}")
        return Answer(self.raw("\r\n".join(lines).encode("latin1") + b"\r\n\r\n" + body))

    def verified(self, request):
        """The identity of an upstream request, as words, if its signature holds."""
        value = request["h"][b"x-tabella-identity"]
        text, mac = value[:-64], value[-64:]
        key = hashlib.blake2b(self.SECRET.encode(), digest_size=32).digest()
        good = hashlib.blake2b(text, key=key, digest_size=32).hexdigest().encode()
        return text.decode().strip().split(" ") if hmac.compare_digest(good, mac) else None

    def close(self):
        for pid in (self.pid("nginx.pid"),):
            if pid:
                os.kill(pid, signal.SIGTERM)
        self.redis.send_signal(signal.SIGCONT)
        self.redis.kill()
        self.redis.wait()
        self.upstream.sock.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def pid(self, name):
        try:
            with open(f"{self.dir}/{name}") as f:
                return int(f.read())
        except (OSError, ValueError):
            return None

    def workers(self):
        out = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.pid("nginx.pid"))], capture_output=True, text=True
        )
        return [int(x) for x in out.stdout.split()]
