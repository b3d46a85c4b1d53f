"""Every path that a guide of the project names is there: README.md, CONTRIBUTING.md, docs/architecture.md,
and tests/questions.md, and the README of common, of each of its rooms, of each service and of the engine.

A path is the target of a link, or a word in backquotes that has a slash or the ending of a source file. It
counts from the project's root, from the guide's folder, or from services/. Words in capitals stand for any
name, as does a star. What a build makes (build/) and what is no file (/v2/run, text/csv) are left out.

usage: paths.py, from the project's root. Prints what is not there and exits 1 when there is something."""
import re
import sys
from pathlib import Path

GUIDES = ["README.md", "CONTRIBUTING.md", "common/**/README.md", "services/*/README.md"]
GUIDES += ["services/inference/engine/README.md", "docs/architecture.md", "tests/questions.md"]
WORD = re.compile(r"[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)*/?")
SOURCE = re.compile(r"\.(c|h|cc|py|md|mk|json|lua|txt|proto|sql|sh|yml|yaml)$")
NO_FILE = re.compile(r"build/|(application|text)/")
PLACEHOLDER = re.compile(r"(?<![A-Za-z])[A-Z]{4,}(?![A-Za-z])")


def words(text):
    """What the text names: (line, path)."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.startswith("```")
        if fenced or line.startswith("    "):
            continue
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", line):
            if "://" not in target:
                yield number, target
        for span in re.findall(r"`([^`]+)`", line):
            for word in span.split():
                if WORD.fullmatch(word) and ("/" in word or SOURCE.search(word)) and not NO_FILE.match(word):
                    yield number, word


def is_there(guide, path):
    path = path.rstrip("/")
    roots = (guide.parent, Path("."), Path("services"))
    names = [path, PLACEHOLDER.sub("*", path)]
    if "/" not in path:  # the name of a file alone is looked for in the rooms of the guide's folder
        names += [f"*/{name}" for name in names]
    return any(any(root.glob(p)) for root in roots for p in names)


def main():
    bad = False
    for guide in sorted({p for g in GUIDES for p in Path(".").glob(g)}):
        for number, path in words(guide.read_text(encoding="utf-8")):
            if not is_there(guide, path):
                bad = True
                print(f"{guide}:{number}: there is no {path}")
    return bad


if __name__ == "__main__":
    sys.exit(main())
