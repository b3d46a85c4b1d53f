"""Network policies, enforced: the bridge's plugin knows none, so this keeps the node's packet filter at what
the cluster's NetworkPolicies say. IPv4, one node.

    FORWARD -> POLICIES   what is part of a connection passes
                 -s POD -> E-POD   what a policy lets out returns, the rest is dropped
                 -d POD -> I-POD   what a policy lets in returns, the rest is dropped

A packet passes where both chains return. Services are rewritten before (PREROUTING), so rules see pods."""
import http.client, ipaddress, json, ssl, subprocess, threading, time

from namespaces import NODE

WATCHED = {
    "pods": "/api/v1/pods",
    "namespaces": "/api/v1/namespaces",
    "policies": "/apis/networking.k8s.io/v1/networkpolicies",
}


def selects(selector, labels):
    """A label selector of Kubernetes."""
    if any(labels.get(k) != v for k, v in (selector.get("matchLabels") or {}).items()):
        return False
    for e in selector.get("matchExpressions") or []:
        has, among = e["key"] in labels, labels.get(e["key"]) in (e.get("values") or [])
        holds = {"In": among, "NotIn": not among, "Exists": has, "DoesNotExist": not has}
        if not holds[e["operator"]]:
            return False
    return True


def address(pod):
    status = pod.get("status", {})
    over = status.get("phase") in ("Succeeded", "Failed")
    return None if over or pod["spec"].get("hostNetwork") else status.get("podIP")


def labels(thing):
    return thing["metadata"].get("labels") or {}


def networks(block):
    """An ipBlock without its exceptions, as networks."""
    whole = ipaddress.ip_network(block["cidr"])
    if whole.version != 4:
        return []
    left = [whole]
    for gap in map(ipaddress.ip_network, block.get("except") or []):
        cut = []
        for net in left:
            cut += net.address_exclude(gap) if gap.subnet_of(net) else [] if net.subnet_of(gap) else [net]
        left = cut
    return [str(n) for n in left]


class World:
    """What is there at one moment."""

    def __init__(self, pods, namespaces, policies):
        self.pods = [p for p in pods if address(p)]
        self.spaces = {n["metadata"]["name"]: labels(n) for n in namespaces}
        self.policies = policies

    def peers(self, peer, own):
        """[(network, pod or None)] that a peer of a policy of namespace `own` is."""
        if "ipBlock" in peer:
            return [(n, None) for n in networks(peer["ipBlock"])]
        out = []
        for pod in self.pods:
            space = pod["metadata"]["namespace"]
            if "namespaceSelector" in peer:
                near = selects(peer["namespaceSelector"], self.spaces.get(space, {}))
            else:
                near = space == own
            if near and selects(peer.get("podSelector", {}), labels(pod)):
                out.append((address(pod), pod))
        return out

    def applying(self, pod, way):
        """Policies that shut a pod in a direction, Ingress or Egress."""
        space = pod["metadata"]["namespace"]
        for p in self.policies:
            spec = p["spec"]
            ways = spec.get("policyTypes") or ["Ingress"] + ["Egress"] * ("egress" in spec)
            if (
                p["metadata"]["namespace"] == space
                and way in ways
                and selects(spec["podSelector"], labels(pod))
            ):
                yield p

    def chain(self, pod, way):
        """Rules of a pod's chain; None: no policy shuts it."""
        applying = list(self.applying(pod, way))
        if not applying:
            return None
        flag, side = ("-s", "from") if way == "Ingress" else ("-d", "to")
        out = []
        for policy in applying:
            for rule in policy["spec"].get(way.lower()) or []:
                own = policy["metadata"]["namespace"]
                peers = [x for p in rule.get(side) or [] for x in self.peers(p, own)]
                for net, other in peers if rule.get(side) else [("0.0.0.0/0", None)]:
                    for port in ports(rule, pod if way == "Ingress" else other):
                        out.append(f"{flag} {net} {port} -j RETURN")
        return [*out, "-j DROP"]

    def restore(self):
        """What iptables-restore reads."""
        declared, entries, rules = [":POLICIES - [0:0]"], [], []
        for pod in self.pods:
            for way, flag in (("Egress", "-s"), ("Ingress", "-d")):
                chain = self.chain(pod, way)
                if chain is None:
                    continue
                name = f"{way[0]}-{address(pod)}"
                declared.append(f":{name} - [0:0]")
                entries.append(f"-A POLICIES {flag} {address(pod)} -j {name}")
                rules += [f"-A {name} {rule}" for rule in chain]
        known = "-A POLICIES -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN"
        return "\n".join(["*filter", *declared, known, *entries, *rules, "COMMIT", ""])


def ports(rule, target):
    """What a rule says of ports, as iptables' words; a name is one of the target's."""
    if not rule.get("ports"):
        return [""]
    out = []
    for p in rule["ports"]:
        protocol, port = p.get("protocol", "TCP").lower(), p.get("port")
        if isinstance(port, str):
            named = [
                q
                for c in (target or {"spec": {"containers": []}})["spec"]["containers"]
                for q in c.get("ports", [])
            ]
            port = next((q["containerPort"] for q in named if q.get("name") == port), None)
            if port is None:
                continue
        last = f":{p['endPort']}" if "endPort" in p else ""
        out.append(f"-p {protocol}" + (f" --dport {port}{last}" if port else ""))
    return out


class Enforcer:
    """Watches the cluster, and keeps the filter."""

    def __init__(self, pki):
        self.context = ssl.create_default_context(cafile=pki / "ca.crt")
        self.context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self.things = {name: {} for name in WATCHED}
        self.changed, self.lock, self.last = threading.Event(), threading.Lock(), ""
        self.wrong = []
        filter_("-N", "POLICIES")
        filter_("-I", "FORWARD", "-j", "POLICIES")
        for name, path in WATCHED.items():
            threading.Thread(target=self.watch, args=(name, path), daemon=True).start()
        threading.Thread(target=self.keep, daemon=True).start()

    def watch(self, name, path):
        while True:
            try:
                self.stream(name, path)
            except (OSError, ValueError, http.client.HTTPException):
                time.sleep(0.2)

    def stream(self, name, path):
        c = http.client.HTTPSConnection(NODE, 6443, context=self.context, timeout=330)
        try:
            c.request("GET", f"{path}?watch=1&timeoutSeconds=300")
            answer = c.getresponse()
            with self.lock:
                self.things[name] = {}  # all there is comes anew
            while line := answer.readline():
                event = json.loads(line)
                thing = event["object"]
                with self.lock:
                    if event["type"] == "DELETED":
                        self.things[name].pop(thing["metadata"]["uid"], None)
                    elif event["type"] in ("ADDED", "MODIFIED"):
                        self.things[name][thing["metadata"]["uid"]] = thing
                self.changed.set()
        finally:
            c.close()

    def keep(self):
        while True:
            self.changed.wait()
            time.sleep(0.05)  # what comes together is set together
            self.changed.clear()
            with self.lock:
                now = World(*(list(self.things[n].values()) for n in WATCHED)).restore()
            if now == self.last:
                continue
            done = subprocess.run(
                ["iptables-restore", "--noflush", "-w", "10"], input=now, capture_output=True, text=True
            )
            if done.returncode == 0:
                self.last = now
            else:
                self.wrong.append(done.stderr)


def filter_(*words):
    subprocess.run(["iptables", "-w", "10", *words], check=True)
