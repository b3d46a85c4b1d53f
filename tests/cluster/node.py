"""One node of Kubernetes, control plane and all, in the namespaces that namespaces.py has made."""
import base64, json, os, pathlib, subprocess, tempfile, time

from namespaces import NODE

PODS, SERVICES = "10.244.0.0/24", "10.96.0.0/16"
FIRST_SERVICE, DNS = "10.96.0.1", "10.96.0.10"
API = f"https://{NODE}:6443"
CONTAINERD = """version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "tabella.test/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni"
"""
# hairpin: a pod may reach itself through its Service
NETWORK = {
    "cniVersion": "0.4.0",
    "name": "pods",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "pods",
            "isGateway": True,
            "hairpinMode": True,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]},
        }
    ],
}


class Failed(Exception):
    pass


def until(what, seconds, why):
    end = time.monotonic() + seconds
    while not (said := what()):
        if time.monotonic() > end:
            raise Failed(f"not in {seconds} s: {why}")
        time.sleep(0.3)
    return said


class Pki:
    """An authority, and the certificates that it gives, as files."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.openssl("req", "-x509", *self.new("ca"), "-subj", "/CN=node", "-days", "30")
        self.openssl("genpkey", "-algorithm", "RSA", "-out", folder / "accounts.key")

    def openssl(self, *words):
        done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(done.stderr)

    def new(self, name):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        return [*key, "-keyout", self.folder / f"{name}.key", "-out", self.folder / f"{name}.crt"]

    def give(self, name, subject, usage, names=""):
        more = ["-addext", f"subjectAltName={names}"] if names else []
        by = ["-CA", self.folder / "ca.crt", "-CAkey", self.folder / "ca.key", "-days", "30"]
        uses = ["-addext", f"extendedKeyUsage={usage}", "-addext", "basicConstraints=critical,CA:false"]
        self.openssl("req", "-x509", *self.new(name), "-subj", subject, *by, *more, *uses)

    def kubeconfig(self, name):
        """A file with which a program calls the API server as `name`."""
        text = lambda file: base64.b64encode((self.folder / file).read_bytes()).decode()
        user = {
            "client-certificate-data": text(f"{name}.crt"),
            "client-key-data": text(f"{name}.key"),
        }
        at = self.folder / f"{name}.conf"
        about = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "n", "cluster": {"server": API, "certificate-authority-data": text("ca.crt")}}
            ],
            "users": [{"name": "n", "user": user}],
            "contexts": [{"name": "n", "context": {"cluster": "n", "user": "n"}}],
            "current-context": "n",
        }
        at.write_text(json.dumps(about))
        return at


class Node:
    def __init__(self, folder, programs):
        self.folder, self.programs, self.running = folder, programs, {}
        (folder / "log").mkdir()
        self.pki = Pki(folder / "pki")
        alt = f"IP:{NODE},IP:{FIRST_SERVICE},IP:127.0.0.1,DNS:kubernetes.default.svc"
        self.pki.give("server", "/CN=kube-apiserver", "serverAuth", alt)
        self.pki.give("admin", "/O=system:masters/CN=admin", "clientAuth")
        self.pki.give("kubelet", "/O=system:nodes/CN=system:node:node", "clientAuth")
        self.admin = self.pki.kubeconfig("admin")
        self.env = {**os.environ, "KUBECONFIG": str(self.admin)}

    # ---- programs

    def begin(self, name, *flags):
        with open(self.folder / "log" / name, "ab") as log:
            words = [str(self.programs.get(name, name)), *map(str, flags)]
            self.running[name] = subprocess.Popen(words, stdout=log, stderr=log, env=self.env)

    def start(self):
        """The whole node; returns when it is ready for pods."""
        self.control_plane()
        self.worker()
        until(self.ready, 120, "the node is ready")

    def control_plane(self):
        pki, conf = self.pki.folder, ["--kubeconfig", self.admin, "--leader-elect=false"]
        self.begin("etcd", "--data-dir", self.folder / "etcd", "--unsafe-no-fsync", "--log-level=warn")
        self.begin(
            "kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            f"--advertise-address={NODE}",
            f"--tls-cert-file={pki}/server.crt",
            f"--tls-private-key-file={pki}/server.key",
            f"--client-ca-file={pki}/ca.crt",
            f"--kubelet-client-certificate={pki}/admin.crt",
            f"--kubelet-client-key={pki}/admin.key",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-account-key-file={pki}/accounts.key",
            f"--service-account-signing-key-file={pki}/accounts.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-cluster-ip-range={SERVICES}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
        )
        until(lambda: self.kubectl("get", "--raw", "/readyz", check=False) == "ok", 180, "the API server")
        self.begin(
            "kube-controller-manager",
            *conf,
            f"--service-account-private-key-file={pki}/accounts.key",
            f"--root-ca-file={pki}/ca.crt",
        )
        self.begin("kube-scheduler", *conf)

    def worker(self):
        cni = pathlib.Path("/etc/cni/pods.conflist")
        cni.write_text(json.dumps(NETWORK))
        config = self.folder / "containerd.toml"
        config.write_text(CONTAINERD)
        self.begin("containerd", "--config", config)
        until(lambda: self.ctr("version", check=False), 60, "containerd")
        (self.folder / "resolv.conf").write_text("")
        kubelet = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": False},
                "x509": {"clientCAFile": str(self.pki.folder / "ca.crt")},
            },
            "authorization": {"mode": "AlwaysAllow"},
            "cgroupDriver": "cgroupfs",
            "failSwapOn": False,
            "clusterDNS": [DNS],
            "clusterDomain": "cluster.local",
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "resolvConf": str(self.folder / "resolv.conf"),
            "evictionHard": {"memory.available": "100Mi"},
            "imageGCHighThresholdPercent": 100,
        }
        at = self.folder / "kubelet.json"
        at.write_text(json.dumps(kubelet))
        self.begin(
            "kubelet",
            "--config",
            at,
            "--kubeconfig",
            self.pki.kubeconfig("kubelet"),
            "--hostname-override=node",
            f"--node-ip={NODE}",
        )
        # what of connection tracking is the whole machine's is left as it is
        own = ["--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0"]
        own += ["--conntrack-tcp-timeout-close-wait=0", "--proxy-mode=iptables", "--hostname-override=node"]
        self.begin("kube-proxy", "--kubeconfig", self.admin, f"--cluster-cidr={PODS}", *own)

    def ready(self):
        said = self.get("node", "node", check=False)
        conditions = (said or {}).get("status", {}).get("conditions", [])
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    # ---- what a test says to it

    def call(self, program, *words, check=True, stdin=None, timeout=600):
        command = [str(self.programs.get(program, program)), *map(str, words)]
        done = subprocess.run(
            command, env=self.env, capture_output=True, text=True, input=stdin, timeout=timeout
        )
        if check and done.returncode != 0:
            raise Failed(f"{program} {' '.join(map(str, words))}: {(done.stderr + done.stdout)[-2000:]}")
        return done.stdout if done.returncode == 0 else ""

    def kubectl(self, *words, **how):
        return self.call("kubectl", *words, **how)

    def helm(self, *words, **how):
        return self.call("helm", *words, **how)

    def ctr(self, *words, **how):
        return self.call("ctr", "-n", "k8s.io", *words, **how)

    def get(self, *words, check=True):
        said = self.kubectl("get", *words, "-o", "json", check=check)
        return json.loads(said) if said else None

    def apply(self, *objects):
        """Objects as dictionaries."""
        self.kubectl(
            "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        )

    def logs(self, name, lines=20):
        text = (self.folder / "log" / name).read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def ended(self):
        """Programs that are no more."""
        return [name for name, p in self.running.items() if p.poll() is not None]
