"""Every page of docs/decisions has the one form and stands in the index; every number that is cited exists.

usage: decisions.py, from the project's root. Prints what does not hold and exits 1 when there is
something."""
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path("docs/decisions")
SECTIONS = ["Context", "Decision", "Consequences", "Measured"]
STATUS = re.compile(r"Status: (in force|replaced by \d{4}( and \d{4})*)$")


def page_findings(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    if not re.match(rf"# {path.name[:4]} \S", lines[0]):
        yield "the title is not '# NNNN Title'"
    head = [line for line in lines[:5] if line]
    if len(head) < 3 or not STATUS.match(head[1]) or not re.match(r"Date: \d{4}-\d\d-\d\d$", head[2]):
        yield "no 'Status: in force | replaced by NNNN' and 'Date: YYYY-MM-DD' below the title"
    sections = [line[3:] for line in lines if line.startswith("## ")]
    if [s for s in SECTIONS if s in sections] != sections:
        yield f"sections are {sections}, not of {SECTIONS} in this order"
    if not {"Context", "Decision"} <= set(sections):
        yield "Context or Decision is missing"


def main():
    found = []
    pages = sorted(p for p in FOLDER.glob("*.md") if p.name != "README.md")
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    for p in pages:
        found += [f"{p}: {what}" for what in page_findings(p)]
        if f"]({p.name})" not in index:
            found.append(f"{p}: not in the index")
    for name in re.findall(r"\]\((\d{4}-[a-z0-9-]+\.md)\)", index):
        if not (FOLDER / name).exists():
            found.append(f"the index names {name}, which is not there")
    numbers = {p.name[:4] for p in pages}
    cited = subprocess.run(
        ["git", "grep", "-noiE", r"decisions? [0-9]{4}", "--", "*.c", "*.h", "*.md"],
        capture_output=True,
        text=True,
    )
    for line in cited.stdout.splitlines():
        if line[-4:] not in numbers:
            found.append(f"{line}: no such decision")
    print("\n".join(found) or f"{len(pages)} decisions")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
