"""Servers that stand for customers' data: MariaDB, a file server, a store of S3's protocol; with a private
authority for their TLS. Each is started under a folder, on a free port, and stopped by stop()."""
import base64, datetime, hashlib, hmac, http.client, http.server, os, pathlib, shutil, socket, ssl
import subprocess, sys, threading, time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from ports import free_port

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Authority:
    """An authority, and a certificate of it for 127.0.0.1."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        os.chmod(self.folder, 0o755)
        self.ca, self.cert, self.key = (self.folder / n for n in ("ca.pem", "cert.pem", "key.pem"))
        make = lambda *a: subprocess.run(["openssl", *map(str, a)], check=True, **QUIET)
        ca_key, request, extra = self.folder / "ca.key", self.folder / "r.csr", self.folder / "x.cnf"
        extra.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n")
        make(
            *"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca".split(),
            "-keyout",
            ca_key,
            "-out",
            self.ca,
        )
        make(*f"req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout {self.key} -out {request}".split())
        make(
            *f"x509 -req -in {request} -CA {self.ca} -CAkey {ca_key} -CAcreateserial -days 2".split(),
            *f"-extfile {extra} -out {self.cert}".split(),
        )
        for f in self.folder.iterdir():
            os.chmod(f, 0o644)
        self.pem = self.ca.read_text()


def waited(what, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if what():
                return True
        except OSError:
            pass
        time.sleep(0.05)
    raise TimeoutError("a source did not start")


class MariaDB:
    """User `reader` with the password `read` reads the database `shop`; `writer` also writes there."""

    def __init__(self, folder, authority, read="hunter2-read", write="hunter2-write"):
        self.folder, self.port = pathlib.Path(folder), free_port()
        self.folder.mkdir(parents=True)
        root = os.geteuid() == 0
        if root:
            shutil.chown(self.folder, "mysql", "mysql")
        who = ["--user=mysql"] if root else []
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={self.folder}/data", *who]
            + ["--auth-root-authentication-method=normal", "--skip-test-db"],
            check=True,
            **QUIET,
        )
        self.socket = f"{self.folder}/s"
        self.process = subprocess.Popen(
            ["mariadbd", "--no-defaults", f"--datadir={self.folder}/data", f"--port={self.port}", *who]
            + [f"--socket={self.socket}", "--bind-address=127.0.0.1", f"--pid-file={self.folder}/pid"]
            + [f"--ssl-ca={authority.ca}", f"--ssl-cert={authority.cert}", f"--ssl-key={authority.key}"]
            + ["--skip-log-bin", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M"],
            **QUIET,
        )
        waited(lambda: self.client("SELECT 1", "mysql").returncode == 0)
        self.sql(
            "CREATE DATABASE shop CHARACTER SET utf8mb4; "
            f"CREATE USER reader@'%' IDENTIFIED BY '{read}'; GRANT SELECT ON shop.* TO reader@'%'; "
            f"CREATE USER writer@'%' IDENTIFIED BY '{write}'; GRANT ALL ON shop.* TO writer@'%'",
            "mysql",
        )

    def client(self, text, database):
        return subprocess.run(
            ["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "-N", "-B"]
            + ["--default-character-set=utf8mb4", database, "-e", text],
            capture_output=True,
            text=True,
        )

    def sql(self, text, database="shop"):
        done = self.client(text, database)
        if done.returncode != 0:
            raise RuntimeError(f"{text[:80]}: {done.stderr}")
        return done.stdout.strip()

    def stop(self):
        self.process.kill()
        self.process.wait()


class ClickHouse:
    """User `reader` with the password `read` may read; `default` with none may do all."""

    def __init__(self, folder, authority, read="hunter2-read"):
        self.folder = pathlib.Path(folder)
        self.port, self.plain, tcp = free_port(), free_port(), free_port()
        self.folder.mkdir(parents=True)
        profile = "<profile>{}</profile><quota>default</quota><networks><ip>127.0.0.1</ip></networks>"
        (self.folder / "users.xml").write_text(
            "<yandex><profiles><default/><readonly><readonly>1</readonly></readonly></profiles>"
            f"<users><default><password></password>{profile.format('default')}</default>"
            f"<reader><password>{read}</password>{profile.format('readonly')}</reader></users>"
            "<quotas><default/></quotas></yandex>"
        )
        tls = f"<certificateFile>{authority.cert}</certificateFile>"
        tls += f"<privateKeyFile>{authority.key}</privateKeyFile>"
        (self.folder / "config.xml").write_text(
            f"<yandex><logger><level>error</level><log>{folder}/log</log>"
            f"<errorlog>{folder}/err</errorlog></logger>"
            f"<http_port>{self.plain}</http_port><https_port>{self.port}</https_port>"
            f"<tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>"
            f"<openSSL><server>{tls}<verificationMode>none</verificationMode></server></openSSL>"
            f"<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path>"
            f"<user_files_path>{folder}/files/</user_files_path>"
            f"<format_schema_path>{folder}/schemas/</format_schema_path>"
            "<users_config>users.xml</users_config><default_profile>default</default_profile>"
            "<default_database>default</default_database><mark_cache_size>5368709</mark_cache_size>"
            "<timezone>UTC</timezone></yandex>"
        )
        if os.geteuid() == 0:
            os.chmod(self.folder, 0o777)
        self.process = subprocess.Popen(
            ["clickhouse-server", f"--config-file={self.folder}/config.xml"], cwd=self.folder, **QUIET
        )
        waited(lambda: socket.create_connection(("127.0.0.1", self.port), 1).close() is None)

    def sql(self, *texts):
        for text in texts:
            c = http.client.HTTPConnection("127.0.0.1", self.plain)
            c.request("POST", "/", text.encode())
            answer = c.getresponse()
            said = answer.read().decode()
            if answer.status != 200:
                raise RuntimeError(f"{text[:80]}: {said[:300]}")
        return said.strip()

    def stop(self):
        self.process.kill()
        self.process.wait()


class Files:
    """Serves what `pages` holds: path to bytes, or to a function of the request that gives (status, headers,
    bytes). user: name and password that are asked for. With an authority over TLS."""

    def __init__(self, authority=None, user=None):
        pages, counts = {}, {}

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                path = self.path.split("?")[0]
                counts[path] = counts.get(path, 0) + 1
                n = int(self.headers.get("Content-Length") or 0)
                self.content = self.rfile.read(n)
                want = user and "Basic " + base64.b64encode(":".join(user).encode()).decode()
                status, headers, body = 404, {}, b"none"
                if want and self.headers.get("Authorization") != want:
                    status, body = 401, b"secret of the server"
                elif path in pages:
                    page = pages[path]
                    status, headers, body = page(self) if callable(page) else (200, {}, page)
                if status is None:  # the page has answered, or broke the connection
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *args):
                pass

        self.pages, self.counts = pages, counts
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *args: None
        if authority:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(authority.cert, authority.key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()


def s3_program():
    """versitygw, a store of S3's protocol over a folder, which checks signatures (Apache-2.0, written in Go:
    `go install github.com/versity/versitygw/cmd/versitygw@latest`). None: it is not here."""
    for place in (os.environ.get("TAB_S3_SERVER"), shutil.which("versitygw"), "~/go/bin/versitygw"):
        if place and os.access(os.path.expanduser(place), os.X_OK):
            return os.path.expanduser(place)
    return None


class S3:
    """Buckets are folders of `objects`; the one key is `access` with `secret`."""

    access, secret = "AKTESTACCESS", "hunter2/secret+key"

    def __init__(self, program, folder, authority):
        self.folder, self.port = pathlib.Path(folder), free_port()
        self.objects = self.folder / "objects"
        self.objects.mkdir(parents=True)
        self.process = subprocess.Popen(
            [program, "--port", f"127.0.0.1:{self.port}", "--access", self.access, "--secret", self.secret]
            + ["--cert", str(authority.cert), "--key", str(authority.key), "--quiet", "posix"]
            + ["--nometa", str(self.objects)],
            env={**os.environ, "HOME": str(self.folder)},
            **QUIET,
        )
        waited(lambda: socket.create_connection(("127.0.0.1", self.port), 1).close() is None)

    def put(self, bucket, key, content):
        path = self.objects / bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def stop(self):
        self.process.kill()
        self.process.wait()


def azurite_program():
    """Azure's own emulator, which checks signatures (`npm install azurite`). None: it is not here."""
    for place in (os.environ.get("TAB_AZURITE"), shutil.which("azurite-blob")):
        if place and os.access(place, os.X_OK):
            return place
    return None


class Azurite:
    """One account, `shop`, with `key`."""

    account, key = "shop", base64.b64encode(b"hunter2 is the account's own key").decode()

    def __init__(self, program, folder, authority):
        self.folder, self.port, self.authority = pathlib.Path(folder), free_port(), authority
        self.folder.mkdir(parents=True)
        self.process = subprocess.Popen(
            [program, "-l", str(self.folder), "--blobHost", "127.0.0.1", "--blobPort", str(self.port), "-s"]
            + ["--cert", str(authority.cert), "--key", str(authority.key), "--skipApiVersionCheck"],
            env={**os.environ, "AZURITE_ACCOUNTS": f"{self.account}:{self.key}"},
            **QUIET,
        )
        waited(lambda: socket.create_connection(("127.0.0.1", self.port), 1).close() is None)
        self.connection = None

    def call(self, method, path, query="", body=b""):
        """A request as the documentation of Shared Key signs it: a second reading of it beside ours."""
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
        head = {"x-ms-blob-type": "BlockBlob", "x-ms-date": date, "x-ms-version": "2021-08-06"}
        lines = "".join(f"{k}:{v}\n" for k, v in sorted(head.items()))
        what = "".join(f"\n{k}:{v}" for k, _, v in sorted(x.partition("=") for x in query.split("&") if x))
        length = str(len(body)) if body else ""
        text = f"{method}\n\n\n{length}\n\n\n\n\n\n\n\n\n{lines}/{self.account}/{self.account}{path}{what}"
        mac = hmac.new(base64.b64decode(self.key), text.encode(), hashlib.sha256).digest()
        head |= {"Authorization": f"SharedKey {self.account}:{base64.b64encode(mac).decode()}"}
        target = f"/{self.account}{path}" + (f"?{query}" if query else "")
        for fresh in (False, True):  # it closes connections that were idle
            if fresh or self.connection is None:
                context = ssl.create_default_context(cafile=self.authority.ca)
                self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context)
            try:
                self.connection.request(method, target, body, head)
                answer = self.connection.getresponse()
                break
            except (OSError, http.client.HTTPException):
                if fresh:
                    raise
        said = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {said[:300]}")
        return said

    def stop(self):
        self.process.kill()
        self.process.wait()
