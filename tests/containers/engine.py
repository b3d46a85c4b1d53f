"""The container engine: the one that runs, or one of our own for this test; and compose, version 2."""
import json, os, pathlib, shutil, signal, subprocess, tempfile, time

BASE = "tabella-test-base:12"


class Missing(Exception):
    """What cannot be had here, and why."""


class Engine:
    def __init__(self, data=None):
        """data: a folder where images are kept for the next engine; without it they go with this one."""
        self.env, self.folder, self.daemon = {**os.environ, "DOCKER_BUILDKIT": "1"}, None, None
        self.data = data or os.environ.get("TAB_ENGINE_DATA")
        # Debian's own client: builds by BuildKit without a plugin
        self.docker = "/usr/bin/docker" if os.path.exists("/usr/bin/docker") else shutil.which("docker")
        if self.docker is None:
            raise Missing("there is no docker")
        if self.run("info", check=False).returncode != 0:
            self.start()
        self.compose_command = self.find_compose()

    def start(self):
        if os.geteuid() != 0 or shutil.which("dockerd") is None:
            raise Missing("no engine runs, and none can be started")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tabella-engine-"))
        where = f"unix://{self.folder}/sock"
        self.env["DOCKER_HOST"] = where
        data = self.data or self.folder / "data"
        parts = ["--data-root", data, "--exec-root", self.folder / "exec", "--pidfile", self.folder / "pid"]
        with open(self.folder / "log", "wb") as log:
            self.daemon = subprocess.Popen(["dockerd", *parts, "-H", where], stdout=log, stderr=log)
        while self.run("info", check=False).returncode != 0:
            if self.daemon.poll() is not None:
                raise Missing("dockerd ended: " + (self.folder / "log").read_text()[-300:])
            time.sleep(0.5)

    def find_compose(self):
        for command in ([self.docker, "compose"], ["docker-compose"]):
            try:
                said = subprocess.run(
                    [*command, "version", "--short"], env=self.env, capture_output=True, text=True
                )
            except OSError:
                continue
            if said.returncode == 0 and said.stdout.strip().lstrip("v")[:1] >= "2":
                return command
        return None

    def run(self, *args, check=True, **how):
        done = subprocess.run([self.docker, *args], env=self.env, capture_output=True, text=True, **how)
        if check and done.returncode != 0:
            raise RuntimeError(f"docker {' '.join(map(str, args))}: {(done.stdout + done.stderr)[-3000:]}")
        return done

    def inspect(self, what):
        return json.loads(self.run("inspect", what).stdout)[0]

    def has(self, image):
        return self.run("image", "inspect", image, check=False).returncode == 0

    def base(self):
        """Debian 12: the public image where it can be had, else made by debootstrap."""
        public = os.environ.get("BASE", "debian:12-slim")
        if self.has(public) or self.run("pull", public, check=False).returncode == 0:
            return public
        if not self.has(BASE):
            if os.geteuid() != 0 or shutil.which("debootstrap") is None:
                raise Missing(f"{public} cannot be had, and there is no debootstrap")
            with tempfile.TemporaryDirectory() as root:
                made = ["debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", root]
                subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
                tar = subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE)
                self.run("import", "-", BASE, stdin=tar.stdout)
                tar.wait()
        return BASE

    def close(self):
        if self.daemon is not None:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
