"""The product's two images, built by the local engine, and images of the servers that it runs on."""
import pathlib, re, subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PUBLIC = {"postgres": "postgres:15", "nats": "nats:2.9-alpine", "redis": "redis:7.0"}
VERSION = re.search(r'TAB_VERSION "(.*)"', (ROOT / "common/base/config.h").read_text())[1]


def commit():
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return said.stdout.strip() or "unknown"


def product(engine, base, revision=None):
    """{target of deploy/Dockerfile: image}. revision: what it is said to be of, in place of the commit: under
    the same name nothing is built again whose sources are the same."""
    about = ["--build-arg", f"BASE={base}", "--build-arg", f"VERSION={VERSION}"]
    about += ["--build-arg", f"COMMIT={revision or commit()}", "--network", "host", "-f", "deploy/Dockerfile"]
    made = {}
    for target, name in (("daemons", "tabella"), ("gateway", "tabella-gateway")):
        made[target] = f"{name}-test:{VERSION}"
        engine.run("build", *about, "--target", target, "-t", made[target], ".", cwd=ROOT)
    return made


def stand_ins(engine, base):
    """{server: image}: the public one, or one of Debian's packages."""
    out = {}
    for name, public in PUBLIC.items():
        out[name] = public
        if engine.has(public) or engine.run("pull", public, check=False).returncode == 0:
            continue
        out[name] = f"tabella-test-{name}"
        about = ["--network", "host", "--build-arg", f"BASE={base}", "--target", name]
        engine.run("build", *about, "-t", out[name], str(HERE))
        print(f"     {public} cannot be had; {name} of Debian stands in", flush=True)
    return out
