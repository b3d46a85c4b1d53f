"""What is done to the chart in a cluster, in order: it is installed, tested, asked, held to its policies,
upgraded, rolled back, scaled, drained and shot at under load; the bill is made up in the end."""
import collections, json, pathlib, random, subprocess, time

import system
from load import PINNED, Client, Load, Phase, bill_of, table
from namespaces import OUTSIDE
from node import Failed, Node, until
from policies import Enforcer

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CHART = ROOT / "charts" / "tabella"
VALUES = pathlib.Path(__file__).resolve().parent / "values.yaml"
SPACE, RELEASE = "tables", "t"
DAEMONS = ["api", "data-connector", "inference", "jobs", "keys", "metering", "reports"]
TWICE = ["gateway", *DAEMONS]  # what stands twice
SHOTS = 60
HUNG_S = 75  # the gateway gives up a connection to an api that says nothing after 60
PUBLIC = {"postgres": "postgres:15", "nats": "nats:2.9-alpine", "redis": "redis:7.0"}  # as in values.yaml


class Cluster:
    def __init__(self, node):
        self.node = node
        self.log = lambda words: print(f"     {time.strftime('%T')} {words}", flush=True)

    def kubectl(self, *words, **how):
        return self.node.kubectl("-n", SPACE, *words, **how)

    def helm(self, verb, *words, **how):
        return self.node.helm(verb, *words, "-n", SPACE, **how)

    def chart(self, verb, *sets):
        """Installs or upgrades, and waits until all is ready."""
        words = [RELEASE, CHART, "-f", VALUES, "--wait", "--timeout", "15m"]
        return self.helm(verb, *words, *(w for s in sets for w in ("--set", s)), timeout=1000)

    def pods(self, component=None):
        """Pods that are not on their way out."""
        which = "app.kubernetes.io/component" + (f"={component}" if component else "")
        found = json.loads(self.kubectl("get", "pods", "-l", which, "-o", "json"))["items"]
        return [p for p in found if "deletionTimestamp" not in p["metadata"]]

    def whole(self):
        """Every Deployment has all its pods, of its last template, and no others."""
        for d in json.loads(self.kubectl("get", "deployments", "-o", "json"))["items"]:
            status, want = d["status"], d["spec"]["replicas"]
            if (status.get("replicas"), status.get("availableReplicas")) != (want, want):
                return False
            if (
                status.get("updatedReplicas") != want
                or status["observedGeneration"] != d["metadata"]["generation"]
            ):
                return False
        return all(ready(p) for c in ("postgres", "nats", "redis") for p in self.pods(c))

    def calm(self, why, seconds=600):
        until(self.whole, seconds, why)

    def address(self, service):
        return json.loads(self.kubectl("get", "service", service, "-o", "json"))["spec"]["clusterIP"]

    def org(self, name):
        words = ["tabella", "admin", "org", "create", "--name", name, "--plan", "enterprise"]
        return json.loads(self.kubectl("exec", f"deploy/{RELEASE}-tabella-keys", "-c", "keys", "--", *words))

    def restarts(self):
        """{pod: its containers' restarts}"""
        return {
            p["metadata"]["name"]: n
            for p in self.pods()
            if (n := sum(c["restartCount"] for c in p["status"].get("containerStatuses", [])))
        }


def ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


# ---- before the chart ------------------------------------------------------------------------------------


def prepare(node, folder, kept, names):
    """The node, its images, names, a volume; gives what enforces policies."""
    node.start()
    for file in sorted(kept.glob("*.tar")):
        node.ctr("images", "import", file)
    whole = lambda image: f"docker.io/library/{image}" + ("" if ":" in image else ":latest")
    for server, public in PUBLIC.items():
        if names[server] != public:
            node.ctr("images", "tag", whole(names[server]), whole(public))
    for target, name in (("daemons", "tabella"), ("gateway", "tabella-gateway")):
        for tag in ("one", "two"):
            node.ctr("images", "tag", whole(names[target]), whole(f"{name}:{tag}"))
    disk = folder / "volume"
    disk.mkdir()
    node.apply(*system.names(), *system.volume(disk))
    node.kubectl("-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=120s")
    return Enforcer(node.pki.folder)


def namespace(node):
    """The release's own, where the API server refuses what is not restricted."""
    strict = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    node.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE, "labels": strict}})
    made = subprocess.run(
        [ROOT / "deploy" / "chart-secret", "tabella", RELEASE], capture_output=True, text=True
    )
    node.kubectl("-n", SPACE, "apply", "-f", "-", stdin=made.stdout)


# ---- the steps -------------------------------------------------------------------------------------------


def installed(check, c):
    began = time.monotonic()
    said = c.chart("install", "image.tag=one", "gatewayImage.tag=one")
    check("helm installs it", "STATUS: deployed" in said, said[-600:])
    c.log(f"installed in {time.monotonic() - began:.0f} s")
    c.calm("all pods after the installation")
    again = {k: n for k, n in c.restarts().items()}
    check("no container was restarted on the way", again == {}, again)
    key = c.org("smoke")["key"]
    c.kubectl("create", "secret", "generic", "smoke", f"--from-literal=key={key}")
    said = c.helm("test", RELEASE, "--logs", check=False)
    check("helm test passes, with a key", "usage grew by 60 cells" in said, said[-1500:])


def asked(check, c):
    """A run, and an endpoint that serves; gives the client, the endpoint and the bill."""
    client = Client(c.address(f"{RELEASE}-tabella-gateway"), c.org("load")["key"])
    status, said = client("POST", "/v2/run", {"tables": [table(20)]})
    check("a run is answered", status == 200 and said["run_id"], (status, said))
    made = {"name": "served", "tables": [table(PINNED)], "target": {"column": "kind"}}
    status, said = client("POST", "/v2/endpoints", made)
    check("an endpoint is begun", status == 202, (status, said))
    done = client.done(said["job_id"])
    check("and made", done["status"] == "done", done)
    status, answer = client("POST", f"/v2/serve/{said['id']}", {"tables": [table(2)]})
    check("and serves", status == 200, (status, answer))
    want = {"run": 60, "serve": 6, "cached": 3 * PINNED}
    usage = lambda: client("GET", "/v2/usage")[1]["by_op_raw"]
    until(lambda: want.items() <= usage().items(), 120, f"a bill of {want}")
    return client, said["id"], usage()


def under(check, c, load, name, act, failures=0):
    """Does something under load; more calls than `failures` that fail are an error. Gives the phase."""
    phase = Phase(load)
    act()
    c.calm(f"all pods after: {name}")
    phase.end()
    c.log(f"{name}: {phase}")
    check(f"{name}: no call fails", len(phase.wrong) <= failures, phase.wrong[:5])
    return phase


def upgraded(check, c, load):
    changed = ["image.tag=two", "gatewayImage.tag=two", "pod.env.TAB_LOG_LEVEL=debug"]
    under(check, c, load, "helm upgrade", lambda: c.chart("upgrade", *changed))
    shown = {k["image"] for p in c.pods("api") for k in p["spec"]["containers"]}
    check("the pods have the new image", shown == {"tabella:two"}, shown)
    back = lambda: c.helm("rollback", RELEASE, "1", "--wait", "--timeout", "15m", timeout=1000)
    under(check, c, load, "helm rollback", back)
    shown = {k["image"] for p in c.pods("api") for k in p["spec"]["containers"]}
    check("and the old one again", shown == {"tabella:one"}, shown)


def scaled(check, c, load):
    def to(n):
        c.kubectl("scale", f"deployment/{RELEASE}-tabella-inference", f"--replicas={n}")
        until(lambda: len([p for p in c.pods("inference") if ready(p)]) == n, 300, f"{n} pods of inference")

    under(check, c, load, "inference at 1 pod", lambda: to(1))
    under(check, c, load, "inference at 3 pods", lambda: (to(3), time.sleep(10)))
    cells = {
        p["metadata"]["name"]: metric(c, p, "tabella_inference_cells_total") for p in c.pods("inference")
    }
    check("each of them works", all(n > 0 for n in cells.values()), cells)
    under(check, c, load, "inference at 2 pods", lambda: to(2))


def metric(c, pod, name):
    """The sum of a metric of a pod over its labels; the node's own network reaches its health port."""
    import urllib.request

    with urllib.request.urlopen(f"http://{pod['status']['podIP']}:9100/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(l.rsplit(" ", 1)[1]) for l in lines if l.startswith(name))


def evict(c, pod):
    """True: it goes. False: its budget says no."""
    name = pod["metadata"]["name"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": SPACE}}
    try:
        path = f"/api/v1/namespaces/{SPACE}/pods/{name}/eviction"
        c.node.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(body))
        return True
    except Failed as e:
        if "disruption budget" not in str(e):
            raise
        return False


def drained(check, c, load):
    """A node is drained that is the only one: what is taken cannot come back until it is open again."""

    def act():
        c.kubectl("cordon", "node")
        for component in TWICE:
            first, second = c.pods(component)
            check(f"a drain takes one pod of {component}", evict(c, first))
            check(f"and not the other", not evict(c, second))
        time.sleep(15)  # until those taken are gone, one of each serves
        c.kubectl("uncordon", "node")

    under(check, c, load, "drain", act)


def shot(check, c, load, hard):
    """A pod a second goes for a minute, asked to or (`hard`) killed at once, with its network."""
    rng = random.Random(7)
    how = ["--grace-period=0", "--force"] if hard else []

    def act():
        for _ in range(SHOTS):
            began = time.monotonic()
            pods = [p for p in c.pods() if p["metadata"]["labels"]["app.kubernetes.io/component"] in TWICE]
            if pods:
                c.kubectl("delete", "pod", rng.choice(pods)["metadata"]["name"], "--wait=false", *how)
            time.sleep(max(0, 1 - (time.monotonic() - began)))

    name = "a pod killed a second" if hard else "a pod deleted a second"
    phase = under(check, c, load, name, act, failures=10**9)
    kinds = collections.Counter(
        f"{method} {path.split('/')[2]} {status}" for _, method, path, status, _ in phase.wrong
    )
    c.log(f"failures: {dict(kinds)}")
    words = collections.Counter(said[:110] for *_, said in phase.wrong)
    c.log(f"in words: {dict(words.most_common(4))}")
    if hard:
        time.sleep(HUNG_S)  # whoever waits for a pod that is no more
    calls = Phase(load)
    time.sleep(10)
    calls.end()
    check(f"after {name} no call fails", not calls.wrong and calls.calls > 0, calls.wrong[:5])


def billed(check, c, load, client, before):
    check("the load ends", load.end())
    check("every run was answered in the end", load.unanswered == [], load.unanswered)
    least, most, had = bill_of(load, client, before)
    good = all(least[op] <= had.get(op, 0) <= most[op] for op in least)
    check("what was answered is billed, once", good, (least, had, most))
    check("runs to the cell", had.get("run") == least["run"], (had, least))
    c.log(f"{load.runs} runs, {load.serves} serve calls, {load.lost} of those lost; billed {had}")


# ---- policies --------------------------------------------------------------------------------------------


def shut(check, c):
    """Who may call whom, over connections that are made from inside the pods."""
    name = f"{RELEASE}-tabella"
    stranger = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stranger", "namespace": "default"},
        "spec": {
            "containers": [
                {
                    "name": "s",
                    "image": "tabella:one",
                    "imagePullPolicy": "Never",
                    "command": ["sleep", "3600"],
                }
            ]
        },
    }
    c.node.apply(stranger)
    c.node.kubectl("wait", "pod/stranger", "--for=condition=Ready", "--timeout=120s")
    at = {s: c.address(f"{name}-{s}") for s in ("gateway", "api", "postgres", "redis", "nats")}
    pod = {d: c.pods(d)[0] for d in DAEMONS + ["gateway"]}
    health = pod["api"]["status"]["podIP"]

    def tries(who, host, port):
        place = ["-n", "default", "exec", "stranger", "-c", "s"]
        if who != "stranger":
            place = ["-n", SPACE, "exec", pod[who]["metadata"]["name"], "-c", who]
        words = ["timeout", "4", "bash", "-c", f"exec 3<>/dev/tcp/{host}/{port} && echo reached"]
        return "reached" in c.node.kubectl(*place, "--", *words, check=False)

    for who, what, host, port, may in (
        ("stranger", "the gateway", at["gateway"], 80, True),
        ("stranger", "the api", at["api"], 8081, False),
        ("stranger", "PostgreSQL", at["postgres"], 5432, False),
        ("stranger", "NATS", at["nats"], 4222, False),
        ("stranger", "Redis", at["redis"], 6379, False),
        ("stranger", "metrics", health, 9100, False),
        ("gateway", "the api", at["api"], 8081, True),
        ("gateway", "Redis", at["redis"], 6379, True),
        ("gateway", "PostgreSQL", at["postgres"], 5432, False),
        ("gateway", "NATS", at["nats"], 4222, False),
        ("api", "PostgreSQL", at["postgres"], 5432, True),
        ("api", "NATS", at["nats"], 4222, True),
        ("reports", "Redis", at["redis"], 6379, False),
        ("inference", "PostgreSQL", at["postgres"], 5432, True),
        ("inference", "the api", at["api"], 8081, False),
        ("inference", "what is outside", OUTSIDE, 80, False),
        ("data-connector", "what is outside", OUTSIDE, 80, True),
    ):
        got = tries(who, host, port)
        check(f"{who} {'reaches' if may else 'does not reach'} {what}", got == may, got)


# ---- all of it -------------------------------------------------------------------------------------------


def whole(check, kept, folder, names):
    built = {p.name: p for p in (kept / "bin").iterdir() if p.suffix != ".sum"}
    node = Node(folder, built)
    c = Cluster(node)
    try:
        enforcer = prepare(node, folder, kept, names)
        c.log("the node is ready")
        namespace(node)
        installed(check, c)
        client, endpoint, before = asked(check, c)
        shut(check, c)
        load = Load(client, endpoint)
        under(check, c, load, "nothing", lambda: time.sleep(15))
        upgraded(check, c, load)
        scaled(check, c, load)
        drained(check, c, load)
        shot(check, c, load, hard=False)
        shot(check, c, load, hard=True)
        billed(check, c, load, client, before)
        check("policies were kept", enforcer.wrong == [], enforcer.wrong[:1])
        check("the node's programs all run", node.ended() == [], node.ended())
    except (Failed, subprocess.SubprocessError, OSError) as e:
        check("it ran to its end", False, f"{type(e).__name__}: {e}")
        tell(node)


def tell(node):
    """What went wrong, as far as the cluster knows."""
    for name in node.ended():
        print(f"== {name} ended\n{node.logs(name)}", flush=True)
    for words in (
        ["get", "pods", "-A", "-o", "wide"],
        ["get", "events", "-A", "--sort-by=.lastTimestamp"],
    ):
        print(node.kubectl(*words, check=False)[-6000:], flush=True)
