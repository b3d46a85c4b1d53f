"""What no formatter holds: no line over the limit, and no sentence torn into string literals that would fit
in one.

usage: layout.py FILE...   prints each finding as FILE:LINE: what, and exits 1 when there is one. C files
                           alone are
looked at for torn strings. Between `clang-format off` and `on` a table's row may have TABLE_LIMIT columns."""
import re
import sys

LIMIT, TABLE_LIMIT = 110, 120
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
ALONE = re.compile(r'^\s*"(?:[^"\\]|\\.)*"[^"]*$')  # a line that is one literal and what closes it
CLAUSE = re.compile(
    r"(FROM|WHERE|ORDER|GROUP|HAVING|LIMIT|VALUES|RETURNING|ON CONFLICT|DO UPDATE|LEFT JOIN|JOIN|CROSS JOIN"
    r"|UNION|SET|SELECT|INSERT|UPDATE|DELETE|FOR UPDATE|AND|OR|WITH|OFFSET|WINDOW)\b"
)


def long_lines(lines):
    table = False
    for n, line in enumerate(lines, 1):
        table |= "clang-format off" in line
        if len(line) > (TABLE_LIMIT if table else LIMIT):
            yield n, f"{len(line)} columns"
        if "clang-format on" in line:
            table = False


def torn_strings(lines):
    """Neighbouring literals on neighbouring lines: together they would fit, or a word is cut in two."""
    table = False
    for n, (line, after) in enumerate(zip(lines, lines[1:]), 1):
        table |= "clang-format off" in line
        if "clang-format on" in line:
            table = False
        if table or line.lstrip().startswith("#") or line.endswith("\\") or not ALONE.match(after):
            continue
        if not line.endswith('"'):
            continue
        first, second = LITERAL.findall(line), LITERAL.findall(after)
        if not first or not second or re.search(r"(\\n|\\x[0-9a-f]{2})$", first[-1]):
            continue
        tail = after.rstrip()[len(after) - len(after.lstrip()) :]
        if len(line) - 1 + len(tail) - 1 <= LIMIT and not CLAUSE.match(second[0].lstrip()):
            yield n, "torn string: it fits on one line with the next"
        elif re.search(r"[a-z]$", first[-1]) and re.match(r"[a-z]", second[0]):
            yield n, "torn string: a word is cut in two"


def main(files):
    found = 0
    for name in files:
        with open(name, encoding="utf-8") as f:
            lines = f.read().split("\n")
        checks = [long_lines(lines)]
        if name.endswith((".c", ".h", ".cc")):
            checks.append(torn_strings(lines))
        for check in checks:
            for n, what in check:
                print(f"{name}:{n}: {what}")
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
