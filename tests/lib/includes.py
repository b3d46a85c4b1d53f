"""Who may include whom: the rooms of common/, services, tools and tests as common/README.md lists them, the
floors of the engine, which knows no server, as its own README does.

usage: includes.py [ROOT], default: the project's root. Prints what does not hold and exits 1 when
there is something."""
import re
import sys
from pathlib import Path

ENGINE = "services/inference/engine/"
FOR_ALL = {"engine", "message"}  # headers at the engine's root that every folder may include
COMMON = {"base/arena", "base/base", "base/hash", "base/order", "json/spread", "table/table"}
# the lists of roles and of sectors, which the API promises
SHARED = (ENGINE + "profile/roles/roles.h", ENGINE + "sector/sectors.h")
SERVERS = re.compile(r"(nats|libpq|hiredis|event2?|evhttp|openssl|curl)\b|.*(libpq-fe|hiredis)\.h")


def place(path, named=()):
    """The folder of a file below the engine as the list names it (its rooms are not in the list), or the stem
    of one that lies at its root."""
    folder, _, name = path.rpartition("/")
    return (folder if folder in named else folder.split("/")[0]) or name.split(".")[0]


def allowed(readme):
    rows = re.findall(r"^    ([a-z/]+):((?: [a-z/]+)*)$", readme, re.M)
    return {who: set(whom.split()) for who, whom in rows}


def headers(path):
    return re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', path.read_text(encoding="utf-8"), re.M)


def whole(root):
    """What the tree includes against the list of common/README.md."""
    arrows = allowed((root / "common/README.md").read_text(encoding="utf-8"))
    if len(arrows) < 10:
        yield "common/README.md: the list of who may include whom is not there"
    for top in ("common", "gateway", "services", "tools", "tests"):
        for path in sorted(p for p in (root / top).rglob("*") if p.suffix in (".c", ".h", ".cc")):
            name = path.relative_to(root).as_posix()
            if "/tests/" in name:
                continue
            own = "/".join(name.split("/")[:2]) if top == "common" else top
            if own not in arrows:
                yield f"{name}: the list of common/README.md does not name {own}"
                continue
            for header in headers(path):
                room = "/".join(header.split("/")[:2])
                house = header.split("/")[0]
                if house not in ("proto", "common", "gateway", "services", "tools", "tests"):
                    continue
                same = own == (room if top == "common" else house)
                if not same and not arrows[own] & {room, house}:
                    yield f"{name}: {own} may not include {header}"
                foreign = house == "services" and top == "services" and room != "/".join(name.split("/")[:2])
                if foreign and header not in SHARED:
                    yield f"{name}: a service includes no other service's headers ({header})"


def findings(root):
    arrows = allowed((root / ENGINE / "README.md").read_text(encoding="utf-8"))
    if len(arrows) < 10:
        yield "README.md: the list of who may include whom is not there"
    for path in sorted((root / ENGINE).rglob("*.[ch]")):
        if "tests" in path.parts:
            continue
        name = path.relative_to(root / ENGINE).as_posix()
        own = place(name, arrows)
        if own not in arrows and own not in FOR_ALL:
            yield f"{name}: the README's list does not name {own}"
            continue
        for header in headers(path):
            if header.startswith(ENGINE):
                other = place(header[len(ENGINE) :], arrows)
                if other != own and other not in FOR_ALL | arrows.get(own, set()):
                    yield f"{name}: {own} may not include {other} ({header})"
            elif header.startswith("common/"):
                if header[len("common/") : -len(".h")] not in COMMON:
                    yield f"{name}: {header} is not for the engine"
            elif header.startswith("proto/"):
                if header != "proto/bundle.pb-c.h":
                    yield f"{name}: {header} is not for the engine"
            elif "/" in header and not header.startswith("sys/") or SERVERS.match(header):
                yield f"{name}: {header} is not for the engine"


ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
found = [*whole(ROOT), *findings(ROOT)]
print("\n".join(found), end="\n" if found else "")
sys.exit(bool(found))
