"""Reads what `tabella generate --describe` states of a sector's tables, and holds written CSV files to it."""
import csv, datetime, math, re, subprocess


def described(tabella, sector, rows, seed):
    """{table: (number of rows, {column: table it refers to or ""}, {column: stated}, [check])}, main first"""
    said = subprocess.run(
        [tabella, "generate", sector, "--rows", str(rows), "--seed", str(seed), "--describe"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    tables = {}
    for part in said.strip().split("\n\n"):
        head, *lines = part.split("\n")
        name, n = re.fullmatch(r"(\w+): (\d+) rows", head).groups()
        refers, stated, checks = {}, {}, []
        for line in lines:
            if line.startswith("  holds: "):
                checks.append(line[9:])
                continue
            column, to, strength = re.fullmatch(r"  (\w+)(?: -> (\w+))?(?: \((.*)\))?", line).groups()
            refers[column], stated[column] = to or "", strength or ""
        tables[name] = (int(n), refers, stated, checks)
    return tables


def seconds(text):
    """A moment in seconds since 1970, or None."""
    form = "%Y-%m-%d %H:%M:%S" if len(text) == 19 else "%Y-%m-%d"
    try:
        return datetime.datetime.strptime(text, form).replace(tzinfo=datetime.timezone.utc).timestamp()
    except ValueError:
        return None


def value(text):
    """A cell for a formula: a number, a moment's seconds, a text; None where it is missing."""
    if text == "":
        return None
    try:
        return float(text)
    except ValueError:
        moment = seconds(text) if re.fullmatch(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?", text) else None
        return text if moment is None else moment


def date(y, m, d):
    return datetime.datetime(int(y), int(m), int(d), tzinfo=datetime.timezone.utc).timestamp()


def year(moment):
    return datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).year


FUNCTIONS = {
    "of_abs": abs,
    "of_min": min,
    "of_max": max,
    "of_pow": math.pow,
    "of_date": date,
    "of_year": year,
}


def compiled(check):
    """A plan's check as Python, and the names that it reads (`table__column` for `table.column`)."""
    text = re.sub(r"([A-Za-z_]\w*)\.([A-Za-z_]\w*)", r"\1__\2", check)
    text = re.sub(r"(?<![<>!=])=(?!=)", "==", text)
    text = re.sub(r"\b([a-z]+)\(", r"of_\1(", text)  # columns may have a function's name
    parts = [f"({p.strip()})" for p in text.split("&")]  # & binds looser than comparisons in plans
    names = set(re.findall(r"(?<!')\b([A-Za-z_]\w*)\b(?!\s*\()(?!')", text))
    return compile(" and ".join(parts), check, "eval"), names


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as f:
        yield from csv.DictReader(f)


def broken(folder, tables):
    """What does not hold in the files: texts, each with its first row; and how many checks were made."""
    found, made = [], 0
    keys, above = {}, {}
    for name in tables:
        first = next(iter(tables[name][1]))
        keyed = {}
        n = 0
        wanted = any(f"{name}." in check for t in tables.values() for check in t[3])
        for n, row in enumerate(rows_of(folder / f"{name}.csv"), 1):
            keyed[row[first]] = row if wanted else None
        keys[name] = keyed
        if n != tables[name][0]:
            found.append(f"{name}: {n} rows, {tables[name][0]} stated")
    for name, (_, refers, _, checks) in tables.items():
        ways = {to: column for column, to in refers.items() if to}
        ready = [(check, *compiled(check)) for check in checks]
        for n, row in enumerate(rows_of(folder / f"{name}.csv")):
            for column, to in refers.items():
                if to and row[column] and row[column] not in keys[to]:
                    found.append(f"{name} row {n}: {column} is no key of {to}")
            cells = {k: value(v) for k, v in row.items()}
            for check, code, names in ready:
                known = dict(cells)
                for x in names:
                    table, _, column = x.partition("__")
                    if column and table in ways:
                        known[x] = value(keys[table][row[ways[table]]].get(column, ""))
                if any(known.get(x) is None for x in names):
                    continue  # a cell is missing, or hidden in the plan
                made += 1
                if not eval(code, {"__builtins__": {}}, {**FUNCTIONS, **known}):
                    found.append(f"{name} row {n}: {check}: { {x: known[x] for x in names} }")
        if len(found) > 20:
            break
    return found, made
