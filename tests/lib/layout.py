"""What no formatter holds: no line over the limit, no sentence torn into literals that would fit in one.

usage: layout.py FILE...   prints each finding as FILE:LINE: what, and exits 1 when there is one.

- C: every line; torn strings too. Between `clang-format off` and `on` a table's row may have TABLE_LIMIT
  columns.
- Python: every line, except data: the lines of a triple-quoted string that is no docstring are read by
  another program (SQL, Lua, nginx), and a break would be part of them.
- Shell: every line, except the text of a here-document.
- Markdown: every line, except table rows, headings, code blocks, and a link that does not fit on a line.
- SQL, proto, make: comment lines. A statement of a migration is not edited once it is merged, and proto and
  make have lines that cannot be broken."""
import ast
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


def too_long(lines, skipped=()):
    for n, line in enumerate(lines, 1):
        if len(line) > LIMIT and n not in skipped:
            yield n, f"{len(line)} columns"


def long_python(lines):
    tree = ast.parse("\n".join(lines))
    docs = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    data = set()
    for n in ast.walk(tree):
        if isinstance(n, (ast.Constant, ast.JoinedStr)) and id(n) not in docs:
            if any(q in lines[n.lineno - 1] and q in lines[n.end_lineno - 1] for q in ('"""', "'''")):
                data |= set(range(n.lineno, n.end_lineno + 1))
    return too_long(lines, data)


def long_shell(lines):
    text, end = set(), None
    for n, line in enumerate(lines, 1):
        if end is not None:
            text.add(n)
            end = None if line.strip() == end else end
        elif m := re.search(r"(?<!<)<<-?\s*(['\"]?)(\w+)\1", line):
            end = m[2]
    return too_long(lines, text)


def long_markdown(lines):
    """A list's text may be indented as far as its marker asks; code stands four columns further."""
    free, fence, column, after_blank = set(), None, 0, True
    for n, line in enumerate(lines, 1):
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if fence or text.startswith("```"):
            free.add(n)
            fence = None if fence and text.startswith("```") else "```"
        elif text:
            item = re.match(r"\s*([-*+]|\d+[.)])\s+", line)
            if indent >= column + 4 and (after_blank or n - 1 in free):
                free.add(n)
            elif item:
                column = item.end()
            elif after_blank and indent < column:
                column = 0
            words = re.sub(r"^([-*+]|\d+[.)])\s+", "", text)
            if text.startswith(("|", "#")) or re.match(r"(\[[^\]]*\]\(\S*\)|https?:\S+|<\S+>)\S*$", words):
                free.add(n)
        after_blank = not text
    return too_long(lines, free)


def long_comments(mark):
    def check(lines):
        return too_long(lines, {n for n, line in enumerate(lines, 1) if not line.lstrip().startswith(mark)})

    return check


def checks_of(name, lines):
    if name.endswith((".c", ".h", ".cc")):
        return [long_lines, torn_strings]
    if name.endswith(".py") or re.match(r"#!.*python", lines[0]):
        return [long_python]
    if name.endswith(".sh") or re.match(r"#!.*\b(ba)?sh\b", lines[0]):
        return [long_shell]
    if name.endswith(".md"):
        return [long_markdown]
    if name.endswith(".sql"):
        return [long_comments("--")]
    if name.endswith(".proto"):
        return [long_comments("//")]
    if name.endswith((".mk", "Makefile")):
        return [long_comments("#")]
    raise SystemExit(f"layout.py: no rule for {name}")


def main(files):
    found = 0
    for name in files:
        with open(name, encoding="utf-8") as f:
            lines = f.read().split("\n")
        for check in checks_of(name, lines):
            for n, what in check(lines):
                print(f"{name}:{n}: {what}")
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
