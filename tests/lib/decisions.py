"""Every decision has the one form and stands in the index; every number that is cited exists.

usage: decisions.py, from the project's root. Prints what does not hold and exits 1 when there is
something."""
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path("docs/decisions")
SECTIONS = ["Context", "Decision", "Consequences", "Measured"]
MOST_PAGES = 60


def findings(number, lines):
    """What is wrong with one decision: its lines below the heading."""
    head = [line for line in lines[:5] if line]
    if len(head) < 2 or head[0] != "Status: in force" or not re.match(r"Date: \d{4}-\d\d-\d\d$", head[1]):
        yield "no 'Status: in force' and 'Date: YYYY-MM-DD' below the heading; what is replaced leaves"
    sections = [line[4:] for line in lines if line.startswith("### ")]
    if [s for s in SECTIONS if s in sections] != sections:
        yield f"sections are {sections}, not of {SECTIONS} in this order"
    if not {"Context", "Decision"} <= set(sections):
        yield "Context or Decision is missing"


def main():
    found, numbers = [], {}
    pages = sorted(p for p in FOLDER.glob("*.md") if p.name != "README.md")
    if len(pages) > MOST_PAGES:
        found.append(f"{len(pages)} pages; a reader finds a subject among at most {MOST_PAGES}")
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    for page in pages:
        parts = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M)
        for part in parts[1:]:
            title, *lines = part.split("\n")
            number = title[:4]
            if not re.match(r"\d{4} \S", title):
                found.append(f"{page}: the heading is not '## NNNN Title' but {title}")
                continue
            found += [f"{page} {number}: {what}" for what in findings(number, lines)]
            if number in numbers:
                found.append(f"{page} {number}: {numbers[number]} has it, too")
            numbers[number] = page.name
            if f"| {number} |" not in index:
                found.append(f"{page} {number}: not in the index")
    replaced = set(re.findall(r"\d{4}", index.partition("\n## ")[0]))
    for number in re.findall(r"^\| (\d{4}) \|", index, re.M):
        if number not in numbers:
            found.append(f"the index names {number}, which is not there")
    cited = subprocess.run(
        ["git", "grep", "-noiE", r"decisions? [0-9]{4}", "--", "*.c", "*.h", "*.md"],
        capture_output=True,
        text=True,
    )
    for line in cited.stdout.splitlines():
        before = line.startswith("docs/decisions/") and line[-4:] in replaced  # told as history
        if line[-4:] not in numbers and not before and not line.startswith("CHANGELOG.md"):
            found.append(f"{line}: no such decision")
    print("\n".join(found) or f"{len(numbers)} decisions")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
