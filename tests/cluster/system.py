"""What a cluster has before anything is installed: names, and a volume."""
from node import DNS

COREFILE = """.:53 {
    errors
    health :8080
    ready :8181
    kubernetes cluster.local in-addr.arpa
    cache 5
}
"""
LABELS = {"k8s-app": "kube-dns"}


def named(kind, version, name, **fields):
    space = {} if kind.startswith("Cluster") else {"namespace": "kube-system"}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **space}, **fields}


def names():
    """CoreDNS, as the kubernetes plugin's page asks for it."""
    rbac = "rbac.authorization.k8s.io"
    reads = ["list", "watch"]
    rules = [
        {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": reads},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": reads},
    ]
    subject = {"kind": "ServiceAccount", "name": "coredns", "namespace": "kube-system"}
    role = {"kind": "ClusterRole", "name": "coredns", "apiGroup": rbac}
    container = {
        "name": "coredns",
        "image": "tabella.test/coredns:1",
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns"}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 2},
    }
    pod = {
        "serviceAccountName": "coredns",
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": "coredns"}}],
    }
    deployment = {
        "replicas": 1,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": pod},
    }
    ports = [{"name": p.lower(), "port": 53, "targetPort": 53, "protocol": p} for p in ("UDP", "TCP")]
    return [
        named("ServiceAccount", "v1", "coredns"),
        named("ClusterRole", f"{rbac}/v1", "coredns", rules=rules),
        named("ClusterRoleBinding", f"{rbac}/v1", "coredns", roleRef=role, subjects=[subject]),
        named("ConfigMap", "v1", "coredns", data={"Corefile": COREFILE}),
        named("Deployment", "apps/v1", "coredns", spec=deployment),
        named("Service", "v1", "kube-dns", spec={"clusterIP": DNS, "selector": LABELS, "ports": ports}),
    ]


def volume(folder):
    """A storage class, and the one volume that it has."""
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node"]}
    spec = {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "node",
        "local": {"path": str(folder)},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
    }
    about = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
    return [
        {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "node"}, **about},
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "one"}, "spec": spec},
    ]
