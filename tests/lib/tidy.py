"""The tree stays easy to find one's way in: functions of at most 70 lines, files of at most 700, folders of
at most 30 files, one title a document, links of documents that lead somewhere, no large file.

Folders of data (word lists, corpora, samples, decisions, migrations) hold what they hold: FULL names them
with the reason. In the manner of TigerBeetle's tidy.zig.

usage: tidy.py, from the project's root. Prints what does not hold and exits 1 when there is something."""
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

FUNCTION, FILE, FOLDER, BLOB = 70, 700, 30, 1 << 20
CODE = (".c", ".h", ".cc", ".py", ".js", ".lua")
# Folders that may hold more files, each with the reason.
FULL = {
    "docs/decisions": "one page a decision, by number",
    "services/inference/engine/lexicon": "one list a subject",
    "tests/fuzz/corpus": "inputs",
    "tests/suite": "one program a suite",
    "tools/train/tables": "labelled tables",
    "common/files/tests": "samples of formats",
}
# Files that may be large, each with the reason.
LARGE = (".model", ".tabw")
# A function's head: a name and its parameters at the margin, the brace alone on the next line.
HEAD = re.compile(r"^[A-Za-z_].*\b(\w+)\(")


def functions(lines):
    """(line, name, length) of the functions of a C file as clang-format lays them out."""
    head = None
    for n, line in enumerate(lines, 1):
        if HEAD.match(line) and not line.rstrip().endswith(";"):
            head = n, HEAD.match(line)[1]
        if line == "{":
            start = n
        elif line == "}" and head:
            yield head[0], head[1], n - start + 1
            head = None


def slug(title):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def document(path, text):
    """A guide's titles and links."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    titles = len(re.findall(r"^# ", prose, re.M))
    if titles != 1:
        yield f"{path}: {titles} titles"
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" in target or target.startswith(("mailto:", "#")):
            continue
        file, _, anchor = target.partition("#")
        there = path.parent / file
        if not there.exists():
            yield f"{path}: no {target}"
        elif anchor and there.suffix == ".md":
            if anchor not in map(slug, re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.M)):
                yield f"{path}: {file} has no heading #{anchor}"


def main():
    listed = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout
    paths = [Path(p) for p in listed.splitlines() if Path(p).is_file()]
    found = []
    for folder, n in Counter(p.parent for p in paths).items():
        if n > FOLDER and not any(str(folder).startswith(f) for f in FULL):
            found.append(f"{folder}: {n} files")
    for path in paths:
        if path.stat().st_size > BLOB and path.suffix not in LARGE:
            found.append(f"{path}: {path.stat().st_size} bytes")
        if path.suffix not in CODE + (".md",) or path.is_symlink():
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            found += document(path, text)
            continue
        lines = text.split("\n")
        if len(lines) > FILE:
            found.append(f"{path}: {len(lines)} lines")
        if path.suffix in (".c", ".cc"):
            for n, name, length in functions(lines):
                if length > FUNCTION:
                    found.append(f"{path}:{n}: {name} has {length} lines")
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
