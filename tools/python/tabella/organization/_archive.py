"""`tabella export` and `tabella import`: all that an organization owns as one archive, a tar that is written
and read piece by piece. Secrets are not in it; what `tabella apply` makes is in that form (org.json)."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import tempfile
from typing import IO, Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from ._apply import Planner, secrets_file
from .._client import Tabella
from .._errors import TabellaError

FORM = "tabella export 1"
PIECE = 1 << 20
ABOUT = "The service and the key are those of TABELLA_URL and TABELLA_API_KEY."
Say = Callable[[str], None]

# ---- export ----------------------------------------------------------------------------------


class Writer:
    """Members of the archive, and what the manifest says of them."""

    def __init__(self, tar: tarfile.TarFile):
        self.tar, self.members = tar, {}  # type: Tuple[tarfile.TarFile, Dict[str, Dict[str, Any]]]

    def put(self, name: str, size: int, content: IO[bytes], sha256: str) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o600
        self.tar.addfile(info, content)
        self.members[name] = {"bytes": size, "sha256": sha256}

    def json(self, name: str, value: Any) -> None:
        text = json.dumps(value, ensure_ascii=False, indent=1).encode()
        self.put(name, len(text), io.BytesIO(text), hashlib.sha256(text).hexdigest())


def pages(client: Tabella, route: str, field: str, *ids: str) -> Iterator[Dict[str, Any]]:
    cursor: Optional[str] = None
    while True:
        page = client._transport.call(route, *ids, query={"limit": 100, "cursor": cursor}).json
        yield from page[field]
        cursor = page.get("next_cursor")
        if not cursor:
            return


def as_code(client: Tabella, endpoints: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The settings, keys, webhooks and providers as `tabella apply` makes them, without their secrets."""
    call = client._transport.call
    names = {e["id"]: e["endpoint"] for e in endpoints}
    organization = call("GET_ORGANIZATION").json
    providers = call("GET_PROVIDERS").json["providers"]
    of = {p["id"]: p["name"] for p in providers}
    keys: Dict[str, Any] = {}
    for k in call("GET_KEYS").json["keys"]:
        if k.get("owner") is not None or k["status"] == "expired":
            continue  # people's keys are theirs
        if k.get("directory"):
            keys[k["name"]] = {"directory": of.get(k["directory"], k["directory"])}
            continue
        key = {"scopes": k["scopes"], "networks": k["networks"], "expires_at": k["expires_at"]}
        if k["endpoints"]:
            key["endpoints"] = [names[i] for i in k["endpoints"] if i in names]
        keys[k["name"]] = {f: v for f, v in key.items() if v}
    hooks = call("GET_WEBHOOKS").json["webhooks"]
    settings = ("emails", "alerts", "add_usage", "spend_cap_usd", "networks", "retention")
    form = ("issuer", "client_id", "scopes", "role", "groups_claim", "subject_claim", "roles", "domains")
    return {
        "organization": {f: organization[f] for f in settings},
        "keys": keys,
        "webhooks": {
            w["name"]: {"url": w["url"], "types": w["types"], "enabled": w["status"] == "active"}
            for w in hooks
        },
        "providers": {p["name"]: {f: p[f] for f in form if p.get(f) is not None} for p in providers},
    }


def export(client: Tabella, path: str, say: Say = lambda text: None) -> Dict[str, Any]:
    """Writes the archive beside the path and moves it there whole; gives its manifest."""
    call, beside = client._transport.call, f"{path}.{os.getpid()}.part"
    try:
        with tarfile.open(beside, "w") as tar:
            w = Writer(tar)
            endpoints = [
                call("GET_ENDPOINT", e["id"], query={"limit": 1}).json
                for e in pages(client, "GET_ENDPOINTS", "endpoints")
            ]
            data = list(pages(client, "GET_DATA_LIST", "datasets"))
            sets = [d for d in data if d["kind"] == "dataset"]
            for d in sets:
                d["snapshots"] = list(pages(client, "GET_DATA_SNAPSHOTS", "snapshots", d["id"]))
            w.json("org.json", as_code(client, endpoints))
            w.json("endpoints.json", endpoints)
            w.json("connections.json", [d for d in data if d["kind"] == "connection"])
            w.json("datasets.json", sets)
            for i, d in enumerate(sets):
                for s in (s for s in d["snapshots"] if s["kept"]):
                    say(f"dataset {i + 1} of {len(sets)}: {d['name']}, {s['rows']} rows")
                    snapshot(client, w, d["id"], s["id"], os.path.dirname(beside))
            manifest = {
                "form": FORM,
                "organization": call("GET_ORGANIZATION").json["id"],
                "members": w.members,
            }
            w.json("manifest.json", manifest)
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise
    return manifest


def fetch(client: Tabella, path: str, say: Say = lambda text: None) -> Dict[str, Any]:
    """The same archive, made by a job of the service; gives its manifest."""
    job = client.organization.export()
    say(f"{job.job_id}: the service reads the snapshots")
    client.jobs.wait(job)
    say("the archive is fetched")
    client.organization.archive(job.job_id, path)
    with tarfile.open(path, "r:") as tar:
        return Reader(tar).manifest


def snapshot(client: Tabella, w: Writer, dataset: str, id: str, folder: str) -> None:
    """By way of a file, since a tar says a member's length before it."""
    with tempfile.TemporaryFile(dir=folder or ".") as f:
        digest = hashlib.sha256()
        for piece in client._transport.stream("GET_DATA_STORED", dataset, query={"snapshot": id}):
            f.write(piece)
            digest.update(piece)
        size = f.tell()
        f.seek(0)
        w.put(f"data/{dataset}/{id}.tabella", size, f, digest.hexdigest())


# ---- import ----------------------------------------------------------------------------------


class Reader:
    """An archive that is whole: each member is what the manifest, the last one, says of it."""

    NAME = re.compile(r"[a-z]+\.json|data/ds_\w{1,40}/dsv_\w{1,40}\.tabella")

    def __init__(self, tar: tarfile.TarFile):
        self.tar = tar
        try:
            self.info = {i.name: i for i in tar if i.isfile() and self.NAME.fullmatch(i.name)}
        except tarfile.TarError as e:
            raise TabellaError(f"the archive is not whole: {e}") from None
        if "manifest.json" not in self.info:
            raise TabellaError("the archive is not whole: it has no manifest")
        self.manifest = json.load(self._open("manifest.json"))
        if self.manifest.get("form") != FORM:
            raise TabellaError(f"the archive has the form {self.manifest.get('form')!r}; this reads {FORM!r}")
        for name in self.manifest["members"]:
            with open(os.devnull, "wb") as nowhere:
                self.copy(name, nowhere)

    def _open(self, name: str) -> IO[bytes]:
        f = self.tar.extractfile(self.info[name]) if name in self.info else None
        if f is None:
            raise TabellaError(f"the archive is not whole: it has no {name}")
        return f

    def copy(self, name: str, to: IO[bytes]) -> str:
        """Into a file, piece by piece; gives its SHA-256, which is the manifest's."""
        digest, f = hashlib.sha256(), self._open(name)
        for piece in iter(lambda: f.read(PIECE), b""):
            digest.update(piece)
            to.write(piece)
        said = self.manifest["members"].get(name, {}).get("sha256")
        if digest.hexdigest() != said:
            raise TabellaError(f"the archive is damaged: {name} is not what its manifest says")
        return digest.hexdigest()

    def json(self, name: str) -> Any:
        text = io.BytesIO()
        self.copy(name, text)
        return json.loads(text.getvalue())


def pinned(e: Dict[str, Any]) -> List[Tuple[str, str]]:
    return [(d["dataset"], d["snapshot"]) for d in (e.get("data") or {}).get("datasets", [])]


def asked(e: Dict[str, Any], data: List[str]) -> Dict[str, Any]:
    """The request that makes this endpoint anew, from the same rows."""
    predicts = e.get("prediction") or {}
    target = predicts.get("target", "")
    body: Dict[str, Any] = {"name": e["endpoint"], "data": data, "base": e["base"]}
    body["target"] = {"column": target} if target else {"mode": "none"}
    if target and predicts.get("task_type"):
        body["task"] = {"type": predicts["task_type"]}
    options = {k: v for k, v in (e.get("options") or {}).items() if v not in (None, [], False)}
    return {**body, "options": options} if options else body


class Importer:
    def __init__(self, client: Tabella, archive: Reader, folder: str, say: Say):
        self.client, self.archive, self.folder, self.say = client, archive, folder, say
        self.made: Dict[Tuple[str, str], str] = {}  # dataset and snapshot there: dataset here
        self.left: List[str] = []  # what was not made, and why

    def datasets(self, endpoints: Sequence[Dict[str, Any]]) -> None:
        """The current snapshot of each, and those that endpoints were made of."""
        wanted: Set[Tuple[str, str]] = {x for e in endpoints for x in pinned(e)}
        for d in self.archive.json("datasets.json"):
            for s in d["snapshots"]:
                at = (d["id"], s["id"])
                if s["kept"] and (s["current"] or at in wanted):
                    self.say(f"dataset {d['name']}, {s['rows']} rows")
                    self.made[at] = self._upload(d["name"], *at)
                elif s["kept"]:
                    self.left.append(f"snapshot {s['id']} of {d['name']}: neither current nor an endpoint's")

    def _upload(self, name: str, dataset: str, snapshot: str) -> str:
        member = f"data/{dataset}/{snapshot}.tabella"
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = os.path.join(folder, f"{snapshot}.tabella")
            with open(path, "wb") as f:
                sha256 = self.archive.copy(member, f)
            # again within days it is the same dataset, so an import that broke off goes on
            key = f"import {snapshot} {sha256[:32]}"
            made = self.client.data.upload(path, name=name, idempotency_key=key).dataset
            if made is None:
                raise TabellaError(f"{member} was read to no dataset")
            return made.id

    def endpoints(self, endpoints: Sequence[Dict[str, Any]]) -> None:
        there = {e.endpoint for e in self.client.endpoints.list()}
        for e in endpoints:
            data = [self.made.get(x, "") for x in pinned(e)]
            if e["endpoint"] in there:
                self.left.append(f"endpoint {e['endpoint']}: there is one of this name")
            elif not data or "" in data:
                self.left.append(f"endpoint {e['endpoint']}: its rows are not in the archive")
            else:
                self.say(f"endpoint {e['endpoint']}")
                made = self.client._transport.call("POST_ENDPOINTS", body=asked(e, data)).json
                self.client.jobs.wait(made["job_id"])
                self._prompts(made["id"], e)

    def _prompts(self, id: str, e: Dict[str, Any]) -> None:
        call = self.client._transport.call
        now = call("GET_ENDPOINT", id, query={"limit": 1}).json["system_prompts"]
        there = {p["name"]: p for p in now}
        for p in e.get("system_prompts", []):
            if p["name"] not in there:
                call("POST_PROMPTS", id, body={"name": p["name"], "body": p["body"]})
            elif there[p["name"]]["body"] != p["body"]:
                call("PATCH_PROMPT", id, there[p["name"]]["id"], body={"body": p["body"]})

    def rest(self, secrets: Optional[str]) -> None:
        """Settings, keys, webhooks and providers, as `tabella apply` makes them."""
        wanted = self.archive.json("org.json")
        # a list that does not hold this call's address would be refused: it is set by hand
        networks = wanted["organization"].pop("networks", None)
        if networks:
            self.left.append(f"networks of the organization: {', '.join(networks)}")
        keys = {k["name"] for k in self.client._transport.call("GET_KEYS").json["keys"]}
        wanted["keys"] = {n: k for n, k in wanted["keys"].items() if n not in keys}
        steps = Planner(self.client, wanted, self.folder, secrets, False).steps()
        todo = [s for s in steps if s.do]
        secrets_file(secrets, todo)
        for s in todo:
            self.say(f"{s.sign} {s.what}")
            assert s.do is not None
            s.do()
        for c in self.archive.json("connections.json"):
            self.left.append(
                f"connection {c['name']} to {c['source']}: its credentials are not in the archive"
            )


def import_(client: Tabella, path: str, secrets: Optional[str], say: Say = lambda text: None) -> List[str]:
    """Makes in the client's organization what the archive has; gives what is left to do by hand."""
    with tarfile.open(path, "r:") as tar:
        archive = Reader(tar)
        endpoints = archive.json("endpoints.json")
        i = Importer(client, archive, os.path.dirname(os.path.abspath(path)), say)
        i.datasets(endpoints)
        i.endpoints(endpoints)
        i.rest(secrets)
        return i.left


# ---- the commands ----------------------------------------------------------------------------


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(command: str, arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"tabella {command}", description=ABOUT)
    parser.add_argument("file", help="the archive, a tar")
    parser.add_argument("--quiet", action="store_true", help="do not tell what is being done")
    if command == "export":
        parser.add_argument("--job", action="store_true", help="have the service make it, as a job")
    if command == "import":
        parser.add_argument(
            "--secrets", metavar="FILE", help="where secrets of new keys and webhooks are appended"
        )
    asked_for = parser.parse_args(arguments)
    say: Say = (lambda text: None) if asked_for.quiet else tell
    try:
        with Tabella() as client:
            if command == "export":
                made = (fetch if asked_for.job else export)(client, asked_for.file, say)
                members = made["members"]
                size = sum(m["bytes"] for m in members.values())
                print(f"{asked_for.file}: {len(members)} members, {size} bytes")
                return 0
            for left in import_(client, asked_for.file, asked_for.secrets, say):
                print(f"left: {left}")
            return 0
    except (TabellaError, OSError, ValueError, KeyError, tarfile.TarError) as e:
        print(f"tabella {command}: {e}", file=sys.stderr)
        return 1
