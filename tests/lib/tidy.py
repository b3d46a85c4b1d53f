"""The tree stays easy to find one's way in: functions of at most 70 lines, files of at most 700, folders of
at most 30 files, one title a document, links of documents that lead somewhere, no declaration that nobody
outside its own file needs, no large file, no name like an option. (Lines, the order of includes and circles
have tests of their own: layout.py, includes.py, circles.py.) In the manner of TigerBeetle's tidy.zig.

What may differ is named below with the reason; a name that is no longer needed is a finding, too.

usage: tidy.py [ROOT], default: the project's root. Prints what does not hold and exits 1 when there is
something."""
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

FUNCTION, FILE, FOLDER, BLOB = 70, 700, 30, 1 << 20
C = (".c", ".h", ".cc")
CODE = (*C, ".py", ".js", ".lua")
# Folders that may hold more files, those inside them as well.
FULL = {
    "common/files/tests": "samples of formats",
    "docs/decisions": "one page a subject",
    "services/inference/engine/lexicon": "one list a subject",
    "tests/fuzz/corpus": "inputs",
    "tests/suite": "one program a suite",
    "tools/train/tables": "labelled tables",
}
# Files that may be larger, by their ending.
LARGE = {".model": "weights", ".tabw": "weights"}
# Declarations that only their own file uses.
OWN = {
    "tab_ahead_band_of": "engine/predict: with its rooms",
    "tab_prior_new": "the library that tools/pretrain loads",
    "tab_prior_draw": "the library that tools/pretrain loads",
    "tab_prior_free": "the library that tools/pretrain loads",
}
# A function's head: a name and its parameters at the margin, the brace alone on the next line.
HEAD = re.compile(r"^[A-Za-z_].*?\b(\w+)\(")
PROTOTYPE = re.compile(r"^(?!static|typedef|return|#)(?:[A-Za-z_]\w*[ *]+)+(\w+)\([^;{}]*?\)[^;{}]*;", re.M)
CODE_OF_A_GUIDE = re.compile(r"^```.*?^```|`[^`]*`|^    [^\n]*$", re.S | re.M)
PERCENT = re.compile(r"[0-9] %(?=$|[^\w%(])")  # docs/writing.md: 79%
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


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


def long_functions(path, lines):
    for n, name, length in functions(lines):
        if length > FUNCTION:
            yield f"{path}:{n}: {name} has {length} lines"


def slug(title):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def document(root, path, text):
    """A guide's titles, links and per cent signs."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    titles = len(re.findall(r"^# ", prose, re.M))
    if titles != 1:
        yield f"{path}: {titles} titles"
    if path.name != "CHANGELOG.md":  # what was said of a release stays as it was said
        words = CODE_OF_A_GUIDE.sub(lambda m: re.sub(r"[^\n]", "x", m.group()), text)
        for n, line in enumerate(words.split("\n"), 1):
            if PERCENT.search(line):
                yield f"{path}:{n}: a space before a per cent sign"
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" in target or target.startswith("mailto:"):
            continue
        file, _, anchor = target.partition("#")
        there = root / path.parent / file if file else root / path
        if not there.exists():
            yield f"{path}: no {target}"
        elif anchor and there.suffix == ".md":
            if anchor not in map(slug, re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.M)):
                yield f"{path}: no heading {target}"


# What it declares is for programs elsewhere.
OTHERS = ("tools/library/tabella.h",)


def declarations(texts):
    """Functions of headers that nobody needs but the file that defines them: those are its own. A header's
    macros (TAB_AUTO's among them) need what they name."""
    bare = {path: COMMENT.sub("", text) for path, text in texts.items()}
    users = defaultdict(set)
    for path, text in bare.items():
        for word in set(re.findall(r"\b[A-Za-z_]\w*\b", text)):
            users[word].add(path)
    kept = set()
    for path, text in bare.items():
        if path.suffix != ".h" or path.as_posix().endswith(OTHERS):
            continue
        autos = {name + "_free" for name in re.findall(r"^TAB_DEFINE_AUTO\((\w+)\)", text, re.M)}
        for m in PROTOTYPE.finditer(text):
            name = m[1]
            by_macro = name in autos or len(re.findall(rf"\b{name}\b", text)) > 1
            if by_macro or len([p for p in users[name] if p != path]) > 1:
                continue
            if name in OWN:
                kept.add(name)
            else:
                yield f"{path}: {name} is declared for others and used by none"
    for name in OWN.keys() & users.keys() - kept:
        yield f"tidy.py: {name} needs no exception any more"


def folders(paths):
    kept = set()
    for folder, n in Counter(p.parent for p in paths).items():
        if n > FOLDER:
            excused = {f for f in FULL if folder == Path(f) or Path(f) in folder.parents}
            kept |= excused
            if not excused:
                yield f"{folder}: {n} files, of at most {FOLDER}"
    for folder in FULL.keys() - kept:
        yield f"tidy.py: {folder} needs no exception any more"


def findings(root, paths):
    yield from folders(paths)
    texts = {}
    for path in paths:
        if re.search(r"(^|/)-|\s", str(path)):
            yield f"{path}: a name that shells take for an option, or for two"
        if (root / path).stat().st_size > BLOB and path.suffix not in LARGE:
            yield f"{path}: {(root / path).stat().st_size} bytes, of at most {BLOB}"
        if path.suffix not in (*CODE, ".md") or (root / path).is_symlink():
            continue
        text = (root / path).read_text(encoding="utf-8")
        if path.suffix == ".md":
            yield from document(root, path, text)
            continue
        lines = text.split("\n")
        if len(lines) > FILE:
            yield f"{path}: {len(lines)} lines, of at most {FILE}"
        if path.suffix in (".c", ".cc"):
            yield from long_functions(path, lines)
        if path.suffix in C:
            texts[path] = text
    yield from declarations(texts)


def main(root):
    listed = subprocess.run(
        ["git", "-C", root, "ls-files"], check=True, capture_output=True, text=True
    ).stdout
    paths = [Path(p) for p in listed.splitlines() if (root / p).is_file()]
    found = list(findings(root, paths))
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
