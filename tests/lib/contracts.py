"""Contracts change by addition only: every message, field and enumerator of the last release's proto/ is
there with its number, name and type; a break takes a new message and a new subject. So messages of the
release's processes are read by today's, and the other way round.

usage: contracts.py, from the project's root. deploy/released names the release and its commit."""
import re, subprocess, sys
from pathlib import Path

TOKEN = re.compile(r'"[^"]*"|[A-Za-z_][\w.]*|-?\d+|[{}=;<>,\[\]()]')


def shapes(text):
    """Message or enum, by its full name -> number -> (label, type, name), of one file."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    tokens, found, path = TOKEN.findall(text), {}, []
    words = []
    for t in tokens:
        if t == "{":
            kind = words[0] if words else ""
            if kind in ("message", "enum"):
                path.append(words[1])
                found[".".join(path)] = {}
            else:  # a oneof: its fields are the message's
                path.append("")
            words = []
        elif t == "}":
            path.pop()
            words = []
        elif t != ";":
            words.append(t)
        else:
            if path and "=" in words and words[0] not in ("option", "reserved"):
                at = words.index("=")
                owner = ".".join(p for p in path if p)
                found[owner][int(words[at + 1])] = " ".join(words[:at])
            words = []
    return found


def all_shapes(files):
    found = {}
    for text in files:
        found |= shapes(text)
    return found


def broken(before, now):
    for message, fields in before.items():
        if message not in now:
            yield f"{message} is gone"
            continue
        for number, what in fields.items():
            is_now = now[message].get(number)
            if is_now != what:
                yield f"{message} {number} was '{what}', is '{is_now or 'gone'}'"


def proves_itself():
    """What must be found is found, so that silence means something."""
    rest = "message B { repeated bytes z = 1; } } enum E { O = 0; }"
    old = shapes("message A { int64 x = 1; oneof k { string y = 2; } " + rest)
    assert old == {
        "A": {1: "int64 x", 2: "string y"},
        "A.B": {1: "repeated bytes z"},
        "E": {0: "O"},
    }, old
    fine = "message A { int64 x = 1; string y = 2; bool w = 3; " + rest.replace("O = 0;", "O = 0; P = 1;")
    assert not list(broken(old, shapes(fine)))
    for bad in (
        fine.replace("int64 x = 1", "int32 x = 1"),
        fine.replace("int64 x = 1", "int64 x = 4"),
        fine.replace("string y = 2;", ""),
        fine.replace("string y", "string q"),
        fine.replace("repeated bytes", "bytes"),
        fine.replace("enum E", "enum F"),
    ):
        assert list(broken(old, shapes(bad))), bad


def main():
    proves_itself()
    version, commit = Path("deploy/released").read_text(encoding="utf-8").split()

    def git(*args):
        return subprocess.run(["git", *args], capture_output=True, text=True)

    listed = git("ls-tree", "--name-only", commit, "proto/")
    if listed.returncode != 0:
        print(f"the commit of release {version} is not in this clone: contracts are not compared")
        return 0
    before = all_shapes(git("show", f"{commit}:{f}").stdout for f in listed.stdout.split())
    now = all_shapes(p.read_text(encoding="utf-8") for p in sorted(Path("proto").glob("*.proto")))
    found = list(broken(before, now))
    for f in found:
        print(f"since {version}: {f}")
    print(f"{len(before)} messages of release {version}")
    return 1 if found or not before else 0


sys.exit(main())
