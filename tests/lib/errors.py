"""The catalogue of errors, docs/errors.md, from the calls of tab_fail: by folder, each with its type, the
field it names and its text. Texts keep to docs/writing.md as far as words tell.

usage: errors.py [--write]. Prints what does not hold and exits 1 when there is something."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/errors.md"
FOLDERS = ("common", "services", "tools/library", "tools/tabella")
# What callers are sent: a status of C as the API's error type (services/api/http/http_answer.c).
TYPES = {
    "VALIDATION": "validation_error",
    "AUTH_MISSING": "auth_error",
    "AUTH_SCOPE": "auth_error",
    "NOT_FOUND": "not_found",
    "CONFLICT": "conflict",
    "RATE_LIMIT": "rate_limit",
    "CAPABILITY": "capability_unavailable",
    "JOB_FAILED": "job_failed",
    "UNAVAILABLE": "internal",
}
FORBIDDEN = [
    (r"(?<![Tt]here )\bis no (?!longer)[a-z]", 'say "is not a ..."'),
    (r"; there are:? %", 'name what the list is of: "the columns are %s"'),
    (r"\bcut off\b", 'say "truncated"'),
    (r"\bzero (byte|character)", 'say "NUL"'),
    (r"\b(at work|under way)\b", 'say "in progress"'),
    (r"^`[^`]+` is (a|an|true|one) ", 'say "must be"'),
    (r"\bcheck sum\b", 'say "checksum"'),
    (r", try again", 'put a semicolon before "try again"'),
    (r"\b(un)?packed by\b", 'say "compressed with"'),
    (r"\bjudged\b", 'say "evaluated"'),
    (r"\b(please|sorry)\b|!", "no politeness, no exclamation mark"),
]
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')


def arguments(text, at):
    """The arguments of the call whose opening bracket ends before `at`, each as it is written."""
    out, depth, part, quoted = [], 1, at, False
    for i in range(at, len(text)):
        c = text[i]
        if quoted:
            quoted = c != '"' or text[i - 1] == "\\"
        elif c == '"':
            quoted = True
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return out + [text[part:i].strip()]
        elif c == "," and depth == 1:
            out.append(text[part:i].strip())
            part = i + 1
    return out


def errors_of(text):
    """(status, field, text) of each call of tab_fail whose status and text are written there."""
    for m in re.finditer(r"\btab_fail\(", text):
        args = arguments(text, m.end())
        if len(args) < 4 or not args[1].startswith("TAB_") or not LITERAL.search(args[3]):
            continue
        # of `a ? "x" : "y"` each is an error of its own; parts of one text follow each other
        for whole in re.findall(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*', args[3]):
            said = "".join(LITERAL.findall(whole)).replace('\\"', '"')
            field = LITERAL.fullmatch(args[2])
            yield args[1][4:], field.group(1) if field else "", said


def catalogue():
    files = subprocess.run(
        ["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    by = {}
    for name in files.stdout.split():
        if name.endswith(".c") and "/tests/" not in name and (ROOT / name).exists():
            for status, field, said in errors_of((ROOT / name).read_text()):
                parts = name.split("/")
                folder = "/".join(parts[:-1][:3] if parts[1:2] != ["inference"] else parts[:-1][:2])
                if status in TYPES and re.search("[a-z]{3}", re.sub(r"%[-.*0-9]*l*[a-z]+", "", said)):
                    by.setdefault(folder, set()).add((TYPES[status], field, said))
    return by


def page(by):
    lines = [
        "# Errors",
        "",
        "Every error that a caller can meet, by the folder that raises it; made by `tests/lib/errors.py --write`",
        "from the source. `%s`, `%zu` and the like stand for what the caller sent or for a limit.",
    ]
    for folder in sorted(by):
        lines += ["", f"## {folder}", "", "| type | field | text |", "|---|---|---|"]
        for kind, field, said in sorted(by[folder]):
            cells = [kind, f"`{field}`" if field else "", said.replace("|", "\\|")]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main(args):
    by = catalogue()
    if args == ["--write"]:
        PAGE.write_text(page(by))
        return 0
    wrong = [
        f'{folder}: "{said}": {what}'
        for folder, errors in sorted(by.items())
        for _, _, said in sorted(errors)
        for pattern, what in FORBIDDEN
        if re.search(pattern, said)
    ]
    if not PAGE.exists() or PAGE.read_text() != page(by):
        wrong.append("docs/errors.md is not what the source says: run tests/lib/errors.py --write")
    print("\n".join(wrong) if wrong else f"{sum(map(len, by.values()))} errors")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
