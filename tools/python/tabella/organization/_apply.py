"""`tabella apply`: an organization as one file says it. What is and what is wanted are compared first; the
plan is shown, then carried out. Secrets are named in the file, by a variable or another file, and are in no
plan."""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import sys
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .._client import Tabella
from .._errors import TabellaError

ABOUT = """Makes an organization what FILE says: JSON, or YAML where Python has a module yaml. The plan is
shown, and carried out once it is confirmed. What is there and not in the file is told, and deleted with
--prune alone. The service and the key are those of TABELLA_URL and TABELLA_API_KEY."""

# Fields by section, in the order in which they are applied; those of CHANGES can be changed later.
FIELDS: Dict[str, Tuple[str, ...]] = {
    "connections": ("source", "credentials", "options"),
    "datasets": ("file", "sheet", "reading"),
    "endpoints": ("data", "base", "target", "task", "options"),
    "providers": (
        "issuer",
        "client_id",
        "client_secret",
        "scopes",
        "role",
        "groups_claim",
        "subject_claim",
        "roles",
        "domains",
    ),
    "keys": ("scopes", "expires_at", "networks", "endpoints", "directory"),
    "webhooks": ("url", "types", "enabled"),
}
CHANGES: Dict[str, Tuple[str, ...]] = {
    "connections": (),
    "datasets": (),
    "endpoints": ("target", "task", "options"),
    "providers": ("client_id", "scopes", "role", "groups_claim", "roles", "domains"),
    "keys": ("expires_at", "networks", "endpoints"),
    "webhooks": ("url", "types", "enabled"),
}
NEEDS = {
    "connections": ("source",),
    "datasets": ("file",),
    "endpoints": ("data",),
    "providers": ("issuer", "client_id"),
    "keys": (),
    "webhooks": ("url",),
}
ORGANIZATION = ("name", "emails", "alerts", "add_usage", "spend_cap_usd", "networks", "retention")
UNSEEN = (
    "credentials",
    "client_secret",
    "file",
    "sheet",
    "reading",
)  # what no answer shows, so nothing compares


class Step(NamedTuple):
    sign: str  # + made, ~ changed, - deleted, ! cannot be done, ? there and not in the file
    what: str  # "key checkout"
    why: str  # what of it, without secrets
    do: Optional[Callable[[], None]]


# ---- the file --------------------------------------------------------------------------------


def read(path: str) -> Dict[str, Any]:
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if path.endswith(".json"):
        return checked(json.loads(text))
    try:
        yaml = importlib.import_module("yaml")
    except ImportError:
        raise TabellaError(
            f"{path} is read by a module yaml, which is not installed; JSON needs none"
        ) from None
    try:
        return checked(yaml.safe_load(text))
    except yaml.YAMLError as e:
        raise TabellaError(f"{path} is no YAML: {str(e).splitlines()[0]}") from None


def checked(given: Any) -> Dict[str, Any]:
    """The file's form: sections, names, fields. What they may be says the service."""
    if not isinstance(given, dict):
        raise TabellaError("the file must be an object of sections")
    for section, things in given.items():
        if section == "organization":
            known(things, ORGANIZATION, section)
            continue
        if section not in FIELDS:
            raise TabellaError(
                f"there is no section `{section}`; the sections are organization, {', '.join(FIELDS)}"
            )
        if not isinstance(things, dict):
            raise TabellaError(f"`{section}` must be an object of names")
        for name, fields in things.items():
            known(fields, FIELDS[section], f"{section}.{name}")
            for need in NEEDS[section]:
                if need not in fields:
                    raise TabellaError(f"`{section}.{name}` needs `{need}`")
            if section == "keys" and ("scopes" in fields) == ("directory" in fields):
                raise TabellaError(f"`keys.{name}` needs one of `scopes` and `directory`")
    return given


def known(fields: Any, names: Sequence[str], at: str) -> None:
    if not isinstance(fields, dict):
        raise TabellaError(f"`{at}` must be an object")
    for field in fields:
        if field not in names:
            raise TabellaError(f"`{at}` has no field `{field}`; its fields are {', '.join(names)}")


def secret(value: Any, at: str) -> Any:
    """{"env": NAME} and {"file": PATH} become what they name, at any depth."""
    if isinstance(value, dict) and set(value) == {"env"}:
        if value["env"] not in os.environ:
            raise TabellaError(f"`{at}` is to be in the variable {value['env']}, which is not set")
        return os.environ[value["env"]]
    if isinstance(value, dict) and set(value) == {"file"}:
        with open(value["file"], encoding="utf-8") as f:
            return f.read().rstrip("\n")
    if isinstance(value, dict):
        return {k: secret(v, f"{at}.{k}") for k, v in value.items()}
    return value


# ---- what differs ----------------------------------------------------------------------------


def holds(is_: Any, wanted: Any) -> bool:
    """Whether what is shown has everything that is wanted; what the service adds is no difference."""
    if isinstance(wanted, dict):
        return isinstance(is_, dict) and all(k in is_ and holds(is_[k], v) for k, v in wanted.items())
    if isinstance(wanted, list) and isinstance(is_, list):
        return len(is_) == len(wanted) and all(holds(a, b) for a, b in zip(is_, wanted))
    if isinstance(wanted, float) and isinstance(is_, (int, float)):
        return abs(is_ - wanted) < 1e-9
    return bool(is_ == wanted)


def moment(text: Any) -> datetime.datetime:
    at = datetime.datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    return at if at.tzinfo else at.replace(tzinfo=datetime.timezone.utc)


def shown(x: Any) -> str:
    text = json.dumps(x, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."


class Planner:
    def __init__(
        self, client: Tabella, wanted: Dict[str, Any], folder: str, secrets: Optional[str], prune: bool
    ):
        self.client, self.call, self.wanted, self.folder = client, client._transport.call, wanted, folder
        self.secrets, self.prune = secrets, prune
        self.made: Dict[str, str] = {}  # secrets that the service gave, by what they are of
        self.is_: Dict[str, Dict[str, Dict[str, Any]]] = {
            s: dict(self._there(s)) for s in FIELDS if s in wanted
        }

    def _there(self, section: str) -> Iterator[Tuple[str, Dict[str, Any]]]:
        """What the organization has, by name."""
        c = self.client
        if section in ("connections", "datasets"):
            for d in c.data.list():
                own = d.kind != "connection" and d.source == "upload"  # others come with their connection
                if own if section == "datasets" else d.kind == "connection":
                    yield d.name, {"id": d.id, "source": d.source}
        elif section == "endpoints":
            for e in c.endpoints.list():
                now = self.call("GET_ENDPOINT", e.id, query={"limit": 1}).json
                predicts = now.get("prediction") or {}
                table, target = predicts.get("table", ""), predicts.get("target", "")
                of = {"table": table, "column": target[len(table) + 1 :]} if target else {"mode": "none"}
                yield e.endpoint, {**now, "target": of, "task": {"type": predicts.get("task_type")}}
        else:
            route = {"keys": "GET_KEYS", "webhooks": "GET_WEBHOOKS", "providers": "GET_PROVIDERS"}[section]
            for x in self.call(route).json[section]:
                if section == "webhooks":
                    x["enabled"] = x["status"] == "active"
                if x.get("owner") is None:  # people's keys are theirs
                    yield x["name"], x

    def steps(self) -> List[Step]:
        found = list(self._organization(self.wanted.get("organization", {})))
        for section in FIELDS:
            things = self.wanted.get(section, {})
            for name, fields in things.items():
                found += self._thing(section, str(name), fields)
        for section in reversed(list(FIELDS)):  # what others rest on goes last
            for name in sorted(set(self.is_.get(section, {})) - set(map(str, self.wanted.get(section, {})))):
                found += self._extra(section, name)
        return found

    def _organization(self, fields: Dict[str, Any]) -> Iterator[Step]:
        now = self.call("GET_ORGANIZATION").json if fields else {}
        change = {k: v for k, v in fields.items() if not holds(now.get(k), v)}
        if change:
            why = ", ".join(f"{k} {shown(now.get(k))} -> {shown(v)}" for k, v in change.items())
            yield Step("~", "organization", why, lambda: self._send("PUT_ORGANIZATION", None, change))

    def _ids(self, section: str, fields: Dict[str, Any]) -> Dict[str, Any]:
        """Endpoints of a key by id, as they are shown; those that are yet to be made by their name."""
        if section != "keys" or "endpoints" not in fields:
            return fields
        there = self.is_.get("endpoints")
        if there is None:
            there = self.is_["endpoints"] = dict(self._there("endpoints"))
            self.wanted.setdefault("endpoints", {n: {} for n in there})
        ids = [there[n]["id"] if n in there else n for n in fields["endpoints"]]
        return {**fields, "endpoints": ids}

    def _provider(self, name: str) -> str:
        """The id of a provider that the file names; one may be made while the file is carried out."""
        return {x["name"]: x["id"] for x in self.call("GET_PROVIDERS").json["providers"]}.get(name, name)

    def _thing(self, section: str, name: str, fields: Dict[str, Any]) -> Iterator[Step]:
        what, now = f"{section[:-1]} {name}", self.is_[section].get(name)
        if now is None:
            seen = ", ".join(
                f"{k} {shown(v)}" for k, v in fields.items() if k not in ("credentials", "client_secret")
            )
            yield Step("+", what, seen, lambda: self._make(section, name, fields))
            return
        wanted = self._ids(section, fields)
        differ = {k: v for k, v in wanted.items() if k not in UNSEEN and not self._same(section, k, now, v)}
        fixed = [k for k in differ if k not in CHANGES[section]]
        for k in fixed:
            why = f"{k} is {shown(now.get(k))}, wanted {shown(differ.pop(k))}: only made anew"
            yield Step("!", what, why, None)
        if differ:
            why = ", ".join(f"{k} {shown(now.get(k))} -> {shown(v)}" for k, v in differ.items())
            id = now["id"]
            yield Step("~", what, why, lambda: self._change(section, id, differ))

    def _same(self, section: str, field: str, now: Dict[str, Any], wanted: Any) -> bool:
        if section == "endpoints" and field == "data":
            sets = (now.get("data") or {}).get("datasets", [])
            return {d["name"] for d in sets} == set(wanted) or {d["dataset"] for d in sets} == set(wanted)
        if field in ("scopes", "types", "domains", "networks", "endpoints") and isinstance(wanted, list):
            return sorted(now.get(field) or []) == sorted(wanted)
        if field == "expires_at" and wanted is not None and now.get(field):
            return moment(now[field]) == moment(wanted)
        if field == "directory":
            return bool(now.get(field) == self._provider(wanted))
        if section == "endpoints" and field == "target" and wanted.get("mode") == "auto":
            return True  # the service chooses
        return holds(now.get(field), wanted)

    def _extra(self, section: str, name: str) -> Iterator[Step]:
        now = self.is_[section][name]
        what = f"{section[:-1]} {name}"
        asks = section == "keys" and now["key_preview"][-4:] == self.client._transport.key[-4:]
        if asks or not self.prune:
            why = "is the key of this call" if asks else "is there and not in the file"
            yield Step("?", what, why, None)
            return
        route = {"connections": "DELETE_DATA", "datasets": "DELETE_DATA"}.get(
            section, f"DELETE_{section[:-1].upper()}"
        )
        yield Step("-", what, "is not in the file", lambda: self._gone(route, now["id"]))

    # ---- carrying it out ----

    def _send(self, route: str, id: Optional[str], body: Dict[str, Any]) -> Any:
        return self.call(route, id, body=body).json if id else self.call(route, body=body).json

    def _gone(self, route: str, id: str) -> None:
        self.call(route, id)

    def _change(self, section: str, id: str, fields: Dict[str, Any]) -> None:
        self._send(f"PATCH_{section[:-1].upper()}", id, fields)

    def _make(self, section: str, name: str, fields: Dict[str, Any]) -> None:
        c = self.client
        if section == "datasets":
            path = os.path.join(self.folder, fields["file"])
            c.data.upload(path, name=name, sheet=fields.get("sheet"), reading=fields.get("reading"))
            return
        body: Dict[str, Any] = {
            "name": name,
            **{k: secret(v, f"{section}.{name}.{k}") for k, v in fields.items()},
        }
        if section == "connections":
            self.call("POST_DATA_CONNECT", body=body)
        elif section == "endpoints":
            there = {d.name: d.id for d in c.data.list() if d.kind != "connection"}
            body["data"] = [there.get(n, n) for n in fields["data"]]
            made = self.call("POST_ENDPOINTS", body=body).json
            c.jobs.wait(made["job_id"])
        else:
            if "directory" in body:
                body["directory"] = self._provider(body["directory"])
            enabled = body.pop("enabled", True)
            made = self._send(f"POST_{section.upper()}", None, body)
            if made.get("key") or made.get("secret"):
                self._keep(f"{section[:-1]} {name}", made.get("key") or made["secret"])
            if not enabled:
                self._send("PATCH_WEBHOOK", made["id"], {"enabled": False})

    def _keep(self, what: str, value: str) -> None:
        """At once, so that nothing is lost if a later step fails."""
        assert self.secrets is not None
        with open(self.secrets, "a", encoding="utf-8") as f:
            f.write(json.dumps({"of": what, "secret": value}) + "\n")


# ---- the command -----------------------------------------------------------------------------


def confirmed() -> bool:
    if not sys.stdin.isatty():
        raise TabellaError("nobody is here to confirm: --yes carries the plan out, --plan shows it alone")
    return input("Carry this out? (yes/no) ").strip() == "yes"


def secrets_file(path: Optional[str], steps: Sequence[Step]) -> None:
    """Secrets that are shown once need a place, which only its owner reads."""
    needs = [s.what for s in steps if s.sign == "+" and s.what.split(" ")[0] in ("key", "webhook")]
    if not needs:
        return
    if path is None:
        raise TabellaError(f"the secret of {needs[0]} is shown once: --secrets FILE keeps it")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))


def carried_out(steps: Sequence[Step]) -> int:
    n = 0
    for s in steps:
        if s.do is None:
            continue
        try:
            s.do()
        except TabellaError as e:
            raise TabellaError(f"{s.what}: {e}; {n} steps before it are done") from None
        n += 1
        print(f"done {s.what}", flush=True)
    return n


def main(arguments: Sequence[str]) -> int:
    """0: as the file says. 1: something failed or cannot be done. 2, with --plan: something is to be done."""
    parser = argparse.ArgumentParser(prog="tabella apply", description=ABOUT)
    parser.add_argument("file")
    parser.add_argument("--plan", action="store_true", help="show what would be done, and do nothing")
    parser.add_argument("--yes", action="store_true", help="carry the plan out without asking")
    parser.add_argument("--prune", action="store_true", help="delete what is there and not in the file")
    parser.add_argument(
        "--secrets", metavar="FILE", help="where secrets of new keys and webhooks are appended"
    )
    asked = parser.parse_args(arguments)
    try:
        wanted = read(asked.file)
        with Tabella() as client:
            folder = os.path.dirname(os.path.abspath(asked.file))
            steps = Planner(client, wanted, folder, asked.secrets, asked.prune).steps()
            for s in steps:
                print(f"{s.sign} {s.what}: {s.why}")
            todo, wrong = [s for s in steps if s.do], [s for s in steps if s.sign == "!"]
            if not todo:
                print("nothing to do")
            if asked.plan or not todo:
                return 1 if wrong else 2 if todo else 0
            secrets_file(asked.secrets, todo)
            if not asked.yes and not confirmed():
                return 1
            carried_out(todo)
            return 1 if wrong else 0
    except (TabellaError, OSError, ValueError) as e:
        print(f"tabella apply: {e}", file=sys.stderr)
        return 1
