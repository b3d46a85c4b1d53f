"""The notes of a release: the part of CHANGELOG.md that is headed by the version or, before it has a heading,
by [Unreleased].

usage: notes.py VERSION, from the project's root."""

import re
import sys


def notes(text, version):
    """The part's lines without its heading. An empty part is no release."""
    parts = dict(re.findall(r"(?ms)^## \[([^\]]+)\][^\n]*\n(.*?)(?=^## \[|\Z)", text))
    for name in (version, "Unreleased"):
        if parts.get(name, "").strip():
            return parts[name].strip()
    raise SystemExit(f"notes.py: CHANGELOG.md says nothing of {version}")


if __name__ == "__main__":
    with open("CHANGELOG.md", encoding="utf-8") as f:
        print(f"# Tabella {sys.argv[1]}\n\n{notes(f.read(), sys.argv[1])}")
