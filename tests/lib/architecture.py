"""The ways of docs/architecture.md are those of the code: the functions and tables that a step names are in
its file, and each step's calls the next.

A step is an item of a numbered list that begins with `NAME` of a link to its file. A step calls the next one
of its own indentation; steps that are indented under one are called by it, or by each other. A step that does
not call the next itself says over what the way goes on, by `WORD` (a method of an RPC, a table of handlers, a
callback): the word stands in the step itself and in the file of the next.

usage: architecture.py [ROOT], default: the project's root. Prints what does not hold and exits 1 when there
is something."""
import re
import sys
from pathlib import Path

STEP = re.compile(r"^( *)\d+\. `(\w+)` of \[([\w.-]+)\]\(\.\./([\w./-]+)\)(.*)$", re.S)
HOP = re.compile(r"\bby\s+`([^`]+)`")
LEAST = 5  # ways that the page has


def body(text, name):
    """A function or a table that the file defines; None where it does not."""
    head = rf"^(?!#)[A-Za-z_][^;{{}}=]*\b{name}\b[^;{{}}]*?"
    m = re.search(head + r"\n\{(.*?)^\}", text, re.M | re.S) or re.search(
        head + r"= \{(.*?)\};", text, re.M | re.S
    )
    return m and m[1]


def steps(lines):
    """The ways, each as its steps: (line number, the item's text). A list that begins anew is another way."""
    ways, item = [], False
    for n, line in enumerate(lines, 1):
        if re.match(r"^ *\d+\. ", line):
            if line.startswith("1. "):
                ways.append([])
            ways[-1].append((n, line))
            item = True
        elif item and line.startswith("  "):
            ways[-1][-1] = ways[-1][-1][0], ways[-1][-1][1] + "\n" + line
        else:
            item = False
    return ways


def leads(before, name, text):
    """Whether a step leads to the next: by its word, or by a call."""
    if before["hop"]:
        return before["hop"] in before["body"] and before["hop"] in text
    return re.search(rf"\b{name}\b", before["body"]) is not None


def way(root, page, of):
    above = []  # the step before, at each indentation
    for n, item in of:
        where = f"{page}:{n}"
        step = STEP.match(item)
        if not step:
            yield f"{where}: no step: {item.strip()}"
            continue
        depth, name, path = len(step[1]), step[2], step[4]
        if step[3] != path.rpartition("/")[2] or not (root / path).is_file():
            yield f"{where}: no file {path} of this name"
            continue
        text = (root / path).read_text(encoding="utf-8")
        own = body(text, name)
        if own is None:
            yield f"{where}: {path} defines no {name}"
            continue
        while above and above[-1]["depth"] > depth:
            above.pop()
        before = above.pop() if above and above[-1]["depth"] == depth else None
        parent = above[-1] if above else None
        called = parent and re.search(rf"\b{name}\b", parent["body"])
        if not called and (before or parent) and not (before and leads(before, name, text)):
            by = before or parent
            how = f"not both have `{by['hop']}`" if before and by["hop"] else "no call"
            yield f"{where}: {by['name']} of {by['path']} does not lead to {name} of {path}: {how}"
        hop = HOP.search(step[5])
        above.append({"depth": depth, "name": name, "path": path, "body": own, "hop": hop and hop[1]})


def findings(root):
    page = "docs/architecture.md"
    ways = steps((root / page).read_text(encoding="utf-8").split("\n"))
    if len(ways) < LEAST:
        yield f"{page}: {len(ways)} ways of at least {LEAST}"
    for of in ways:
        yield from way(root, page, of)


if __name__ == "__main__":
    found = list(findings(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
