"""Renders charts/tabella, with helm where there is one and with tests/lib/chart (Go's text/template, as
helm's) where there is Go; and checks manifests against Kubernetes' own schemas."""
import copy, json, os, pathlib, shutil, subprocess, tempfile
import jsonschema, yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CHART = ROOT / "charts" / "tabella"
HERE = ROOT / "tests" / "lib" / "chart"
KUBERNETES = ["1.27", "1.31", "1.35"]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
RELEASE = {"Name": "t", "Namespace": "tables", "Service": "Helm", "Revision": 1}


def merged(base, over):
    """Values over values, as helm does it."""
    out = dict(base)
    for k, v in over.items():
        if v is None:
            out.pop(k, None)
        elif isinstance(v, dict) and isinstance(out.get(k), dict):
            out[k] = merged(out[k], v)
        else:
            out[k] = v
    return out


def read(path):
    return yaml.load(pathlib.Path(path).read_text(), LOADER) or {}


def values_of(over, chart=CHART):
    return merged(read(chart / "values.yaml"), over)


def manifests(text):
    return [d for d in yaml.load_all(text, LOADER) if d]


class Failed(Exception):
    pass


class Go:
    """The renderer of tests/lib/chart."""

    name = "the renderer on Go's templates"

    def __init__(self, folder):
        self.program = pathlib.Path(folder) / "render"
        env = {
            **os.environ,
            "GO111MODULE": "off",
            "GOFLAGS": "",
            "GOCACHE": str(pathlib.Path(folder) / "cache"),
        }
        subprocess.run(["go", "build", "-o", self.program, HERE / "main.go"], check=True, env=env)

    def __call__(self, over, chart=CHART):
        about = {k[0].upper() + k[1:]: v for k, v in read(chart / "Chart.yaml").items()}
        given = {"chart": str(chart), "values": values_of(over, chart), "about": about, "release": RELEASE}
        done = subprocess.run([self.program], input=json.dumps(given), capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(done.stderr)
        self.notes = done.stderr
        return manifests(done.stdout)


class Helm:
    name = "helm"

    def __init__(self, folder):
        self.file = pathlib.Path(folder) / "values.yaml"

    def run(self, *args):
        return subprocess.run(["helm", *args], capture_output=True, text=True)

    def __call__(self, over, chart=CHART):
        self.file.write_text(yaml.safe_dump(over))
        about = [RELEASE["Name"], chart, "-n", RELEASE["Namespace"], "--kube-version", KUBERNETES[1]]
        done = self.run("template", *about, "-f", self.file)
        if done.returncode != 0:
            raise Failed(done.stderr)
        return manifests(done.stdout)

    def lint(self, over):
        self.file.write_text(yaml.safe_dump(over))
        done = self.run("lint", "--strict", CHART, "-f", self.file)
        return done.returncode == 0, done.stdout + done.stderr


def renderers(folder):
    """(the ones that can be had, why not the others)."""
    out, why = [], []
    for program, make in (("go", Go), ("helm", Helm)):
        if shutil.which(program):
            out.append(make(folder))
        else:
            why.append(f"there is no {program}")
    return out, why


# ---- Kubernetes' own schemas ---------------------------------------------------------------------------


class Schemas:
    """Strict: a field that a kind does not have is an error. Made from PyPI's kubernetes-validate."""

    # kinds of others, which Kubernetes itself does not know
    OTHERS = {"monitoring.coreos.com/v1", "gateway.networking.k8s.io/v1", "keda.sh/v1alpha1"}

    def __init__(self, version):
        self.schemas = json.loads((HERE / f"kubernetes-{version}.json").read_text())

    def errors(self, manifest):
        if manifest["apiVersion"] in self.OTHERS:
            return []
        kind = f"{manifest['apiVersion']} {manifest['kind']}"
        if kind not in self.schemas["kinds"]:
            return [f"{kind} is not known"]
        schema = {**self.schemas["kinds"][kind], "definitions": self.schemas["definitions"]}
        return [
            f"{manifest['metadata']['name']}: {'/'.join(map(str, e.path))}: {e.message[:200]}"
            for e in jsonschema.Draft7Validator(schema).iter_errors(manifest)
        ]


# ---- what is in manifests --------------------------------------------------------------------------------


def pod_of(manifest):
    """The pod's template of a manifest, or None."""
    if manifest["kind"] == "Pod":
        return manifest
    if manifest["kind"] == "CronJob":
        manifest = manifest["spec"]["jobTemplate"] | {"kind": "Job"}
    return manifest.get("spec", {}).get("template") if manifest["kind"] != "HTTPRoute" else None


def containers(pod):
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def component(manifest):
    return manifest["metadata"].get("labels", {}).get("app.kubernetes.io/component")


def of_kind(all_, kind):
    return [m for m in all_ if m["kind"] == kind]


def selected(selector, pods):
    """The components of the pods that a selector takes."""
    want = (selector.get("matchLabels") if "matchLabels" in selector else selector) or {}
    return {
        p["metadata"]["labels"]["app.kubernetes.io/component"]
        for p in pods
        if want.items() <= p["metadata"]["labels"].items()
    }


def restricted(pod):
    """What the pod security standard "restricted" (and a read-only root) has against a pod."""
    spec, wrong = pod["spec"], []
    top = spec.get("securityContext", {})
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(key):
            wrong.append(key)
    allowed = {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
    wrong += [f"volume {v['name']}" for v in spec.get("volumes", []) if not (set(v) - {"name"}) <= allowed]
    if spec.get("automountServiceAccountToken") is not False:
        wrong.append("a token of the account is mounted")
    for c in containers(pod):
        own = c.get("securityContext", {})
        rules = {
            "privileged": not own.get("privileged"),
            "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is False,
            "runAsNonRoot": own.get("runAsNonRoot", top.get("runAsNonRoot")) is True,
            "runAsUser": own.get("runAsUser", top.get("runAsUser")) not in (None, 0),
            "capabilities": own.get("capabilities", {}) == {"drop": ["ALL"]},
            "seccompProfile": own.get("seccompProfile", top.get("seccompProfile", {})).get("type")
            == "RuntimeDefault",
            "readOnlyRootFilesystem": own.get("readOnlyRootFilesystem") is True,
            "hostPort": not any("hostPort" in p for p in c.get("ports", [])),
        }
        wrong += [f"{c['name']}: {rule}" for rule, good in rules.items() if not good]
    return wrong


def changed_chart(folder, name, text):
    """A copy of the chart with another text in one of its files."""
    copy_ = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "tabella"
    shutil.copytree(CHART, copy_)
    (copy_ / name).write_text(text)
    return copy_


def with_value(path, value):
    """Values with one entry: with_value("a.b", 1) is {"a": {"b": 1}}."""
    out = value
    for name in reversed(path.split(".")):
        out = {name: out}
    return copy.deepcopy(out)
