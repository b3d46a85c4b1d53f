"""The programs of a node, built from Go's modules into a folder that is kept, and the Debian ones."""
import hashlib, os, pathlib, shutil, subprocess

HERE = pathlib.Path(__file__).resolve().parent
VERSION = "v1.33.13"
STAMP = f"-X k8s.io/component-base/version.gitVersion={VERSION}"
# folder: (what is built, the program)
BUILT = {
    "kube": (".", "kube"),
    "dns": (".", "coredns"),
    "helm": ("helm.sh/helm/v3/cmd/helm", "helm"),
    "pause": (".", "pause"),
}
NAMES = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "kubectl",
]  # what `kube` is called by
DEBIAN = {
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "unshare": "util-linux",
    "openssl": "openssl",
}


class Missing(Exception):
    """What cannot be had here, and why."""


def check_machine():
    if os.geteuid() != 0:
        raise Missing("a node wants root")
    for program, package in DEBIAN.items():
        if shutil.which(program) is None:
            raise Missing(f"there is no {program} (Debian's {package}; tools/install-deps cluster)")
    with open("/proc/self/cgroup") as f:
        if not any(":memory:" in line for line in f):
            raise Missing("the memory controller is not one of cgroups' first version, the one that is tried")


def build(folder):
    """{program: path}. What is there already and of these sources is not built again."""
    folder.mkdir(parents=True, exist_ok=True)
    out = {}
    for module, (what, program) in BUILT.items():
        at = out[program] = folder / program
        sources = sorted((HERE / module).iterdir())
        mark = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()
        stamp = folder / f"{program}.sum"
        if at.exists() and stamp.exists() and stamp.read_text() == mark:
            continue
        if shutil.which("go") is None:
            raise Missing("there is no go to build Kubernetes with")
        command = ["go", "build", "-trimpath", "-buildvcs=false", f"-ldflags=-s -w {STAMP}", "-o", at, what]
        env = {**os.environ, "CGO_ENABLED": "0"}
        print(f"     {program} is built", flush=True)
        done = subprocess.run(command, cwd=HERE / module, env=env, capture_output=True, text=True)
        if done.returncode != 0:
            raise Missing(f"{program} cannot be built: {done.stderr[-1500:]}")
        stamp.write_text(mark)
    for name in NAMES:
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to("kube")
        out[name] = link
    return out
