"""Where the node lives: control groups, mounts, processes and a network of its own, so that it meets nobody
on this machine, and all of it ends with its first process.

    outside: a group is made in every hierarchy, then `unshare` runs this program again in it
    inside:  /sys, /run and the folders that Kubernetes has fixed names for are this node's own

The network has no way out of this machine: a loopback, and a device whose other end is a further
namespace, in which one web server stands for all that is outside of the cluster."""
import os, pathlib, subprocess, sys, time

NODE, OUTSIDE = "198.18.0.1", "198.18.0.2"
FIXED = ["/var/lib/kubelet", "/var/lib/containerd", "/var/lib/cni", "/var/log", "/etc/cni"]
# what a kubelet sets for the whole machine, put back in the end
KERNEL = ["vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"]


def hierarchies():
    """[(controllers, path of our group)] of cgroups' first version."""
    out = []
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers:
            out.append((controllers, path))
    return out


def groups(name):
    """Folders of a new group in each hierarchy."""
    out = []
    for controllers, path in hierarchies():
        root = pathlib.Path("/sys/fs/cgroup") / controllers.removeprefix("name=")
        out.append(root / path.lstrip("/") / name)
    return out


def enter(name):
    """Makes the groups, and gives what a child calls to be in them."""
    made = groups(name)
    for group in made:
        group.mkdir()
        for file in ("cpuset.cpus", "cpuset.mems"):
            if (group / file).exists():
                (group / file).write_text((group.parent / file).read_text())
        if (
            group / "cpu.shares"
        ).exists():  # a group counts as one thread beside those outside: as a machine's here
            (group / "cpu.shares").write_text(str(1024 * (os.cpu_count() or 1)))

    def join():
        for group in made:
            (group / "cgroup.procs").write_text("0")

    return join


def leave(name):
    """Takes the groups away, as soon as the last process in them is no more."""
    end = time.monotonic() + 20
    for group in groups(name):
        for folder, _, _ in os.walk(group, topdown=False):
            while os.path.isdir(folder):
                try:
                    os.rmdir(folder)
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.1)


def run_inside(program, *args):
    """Runs `program` again in namespaces of its own; gives its exit status."""
    name = f"tabella-cluster-{os.getpid()}"
    kernel = {k: pathlib.Path("/proc/sys", k).read_text() for k in KERNEL}
    own = ["--mount", "--net", "--pid", "--ipc", "--uts", "--cgroup", "--propagation", "private"]
    command = ["unshare", *own, "--fork", "--kill-child", "--mount-proc", sys.executable, program, *args]
    try:
        return subprocess.run(command, preexec_fn=enter(name)).returncode
    finally:
        for k, value in kernel.items():
            pathlib.Path("/proc/sys", k).write_text(value)
        leave(name)


def sh(*words):
    subprocess.run([str(w) for w in words], check=True, stdout=subprocess.DEVNULL)


def furnish(folder):
    """Inside: mounts and the network."""
    sh("hostname", "node")
    sh("mount", "-t", "sysfs", "sysfs", "/sys")
    sh("mount", "-t", "tmpfs", "tmpfs", "/sys/fs/cgroup")
    for controllers, _ in hierarchies():
        at = pathlib.Path("/sys/fs/cgroup") / controllers.removeprefix("name=")
        at.mkdir()
        named = f"none,{controllers}" if controllers.startswith("name=") else controllers
        sh("mount", "-t", "cgroup", "-o", named, "cgroup", at)
        for one in controllers.split(",") if "," in controllers else []:
            (at.parent / one).symlink_to(at.name)
    sh("mount", "-t", "tmpfs", "tmpfs", "/run")
    for at in FIXED:
        own = folder / "fixed" / at.lstrip("/").replace("/", "-")
        own.mkdir(parents=True, exist_ok=True)
        os.makedirs(at, exist_ok=True)
        sh("mount", "--bind", own, at)
    sh("mount", "--make-rshared", "/")  # a container's mounts are seen where they are asked for
    sh("ip", "link", "set", "lo", "up")
    sh("ip", "netns", "add", "outside")
    sh("ip", "link", "add", "node", "type", "veth", "peer", "name", "node", "netns", "outside")
    sh("ip", "address", "add", f"{NODE}/24", "dev", "node")
    sh("ip", "link", "set", "node", "up")
    sh("ip", "route", "add", "default", "via", OUTSIDE)  # services have no device
    sh("ip", "-n", "outside", "address", "add", f"{OUTSIDE}/24", "dev", "node")
    sh("ip", "-n", "outside", "link", "set", "node", "up")
    sh("ip", "-n", "outside", "route", "add", "default", "via", NODE)
    (folder / "outside").mkdir()
    server = [sys.executable, "-m", "http.server", "80", "--directory", str(folder / "outside")]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(["ip", "netns", "exec", "outside", *server], **quiet)
    for name in ("net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables"):
        pathlib.Path("/proc/sys", name).write_text("1")
