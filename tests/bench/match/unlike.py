#!/usr/bin/env python3
"""Tables that look alike and are not, and tables that are one another's copies.

  unlike.py OUT [SEED ...]    makes them
  unlike.py --tables OUT FOLDER ...   the same of the tables in folders: halves of one, and two unlike ones
  unlike.py --judge OUT       what build/release/bench/match says of them

`plain-*`: two tables of one shape whose columns any two tables might have (letters, ranks, flags, years,
shares): no column and no row is one with another's. `unlike-*`: the same beside names or codes that tell the
tables apart. `form-*`: three tables of one form, filled by other people: all columns are one attribute, no
rows are. `parts-*`: first and last name here, full name there. `same-*`, `shuffled-*`, `later-*`, `sample-*`:
a table beside itself as it is, shuffled, a tenth of its cells changed, a sample of it.
"""
import collections, csv, glob, os, random, re, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from overlaps import CITY, FIRST, JOB, LAST, MAKE, ROAD, THING, WORD, day, pick, write

# What any two tables may hold: a draw of a kind gives the cells of one column.


def letters(r, n):
    k = r.choice([3, 4, 5, 6])
    return [r.choice("ABCDEF"[:k]) for _ in range(n)]


def whole(r, n):
    top = r.choice([5, 10, 100, 120, 1000])
    return [str(r.randrange(0, top + 1)) for _ in range(n)]


def skewed(r, n):
    return [str(int(r.expovariate(1 / 30))) for _ in range(n)]


def rank(r, n):
    x = [str(i + 1) for i in range(n)]
    r.shuffle(x)
    return x


def counter(r, n):
    return [str(i + 1) for i in range(n)]


def shuffled_index(r, n):
    x = [str(i) for i in range(n)]
    r.shuffle(x)
    return x


def flag(r, n):
    yes, no = r.choice([("yes", "no"), ("Y", "N"), ("true", "false"), ("0", "1")])
    p = r.uniform(0.1, 0.9)
    return [yes if r.random() < p else no for _ in range(n)]


def days(r, n):
    first = r.choice([2018, 2019, 2020])
    return [day(r, first, first + r.choice([1, 3, 5])) for _ in range(n)]


def years(r, n):
    first = r.choice([1950, 1980, 2000])
    return [str(r.randrange(first, 2025)) for _ in range(n)]


def share(r, n):
    return [f"{100 * r.betavariate(2, 3):.1f}" for _ in range(n)]


def part(r, n):
    return [f"{r.random():.2f}" for _ in range(n)]


def grade(r, n):
    list_ = r.choice([["low", "medium", "high"], ["small", "medium", "large"], ["1", "2", "3", "4", "5"]])
    return [r.choice(list_) for _ in range(n)]


def measure(r, n):
    m, s = r.choice([(50, 15), (70, 12), (20, 8)])
    return [f"{r.gauss(m, s):.1f}" for _ in range(n)]


def amount(r, n):
    return [f"{10 ** r.uniform(0.7, 3):.2f}" for _ in range(n)]


PLAIN = [letters, whole, skewed, rank, flag, days, years, share, part, grade, measure, amount]
COUNTERS = [counter, shuffled_index, rank]

# What tells tables apart.


def codes(r, n):
    head, width = "".join(r.choice("ABCDEFGHKLMNPRST") for _ in range(r.choice([1, 2]))), r.choice([4, 5, 6])
    return [f"{head}{r.randrange(10**width):0{width}}" for _ in range(n)]


def persons(r, n):
    return [f"{pick(r, FIRST)} {pick(r, LAST)}" for _ in range(n)]


def things(r, n):
    return [f"{pick(r, MAKE)} {pick(r, THING)}" for _ in range(n)]


def firms(r, n):
    return [f"{pick(r, WORD)} {pick(r, WORD)}" for _ in range(n)]


def jobs(r, n):
    return [pick(r, JOB) for _ in range(n)]


def towns(r, n):
    return [pick(r, CITY) for _ in range(n)]


TELLING = [codes, persons, things, firms, jobs, towns]

FORMS = [
    [persons, days, letters, whole],
    [persons, towns, flag, years, share],
    [codes, amount, days, grade],
    [firms, towns, years, measure, flag],
    [things, codes, amount, whole],
    [counter, persons, days, towns, share],
    [letters, whole, flag, share, days],
    [rank, measure, measure, grade],
]


def table(r, kinds, n):
    columns = [k(r, n) for k in kinds]
    return [list(row) for row in zip(*columns)]


def of_form(seed, who, kinds, n):
    """Rows of a form: what ranges its columns have is the form's, what stands in them is another's."""
    columns = []
    for i, k in enumerate(kinds):
        form = random.Random(f"form {seed} {i}")
        cells = k(form, 1600)  # the form's own population of values
        r = random.Random(f"{who} {seed} {i}")
        if k in COUNTERS:
            columns.append(k(r, n))
        elif k in TELLING:
            columns.append([cells[0][:-4] + c[-4:] for c in k(r, n)] if k is codes else k(r, n))
        else:
            columns.append([r.choice(cells) for _ in range(n)])
    return [list(row) for row in zip(*columns)]


def save(path, tables, columns, rows):
    os.makedirs(path, exist_ok=True)
    for i, t in enumerate(tables):
        write(f"{path}/t{i + 1}.csv", [[f"c{k}" for k in range(len(t[0]))]] + t)
    columns = [[f"t{p + 1}", f"c{i}", f"t{q + 1}", f"c{j}"] for p, i, q, j in columns]
    write(f"{path}/columns.csv", [["table_a", "column_a", "table_b", "column_b"]] + columns)
    rows = [[f"t{p + 1}", i, f"t{q + 1}", j] for p, i, q, j in rows]
    write(f"{path}/entities.csv", [["table_a", "row_a", "table_b", "row_b"]] + rows)


def size(r):
    return r.choice([30, 80, 200, 500])


def plain(r, out, seed):
    kinds = [r.choice(PLAIN) for _ in range(r.choice([2, 3, 4, 6]))]
    n, m = size(r), size(r)
    save(f"{out}/plain-{seed}", [table(r, kinds, n), table(r, kinds, m)], [], [])


def keyed(r, out, seed):
    """As plain, with a counter of the rows before it, shuffled or not."""
    kinds = [r.choice(COUNTERS)] + [r.choice(PLAIN) for _ in range(r.choice([2, 3, 5]))]
    save(f"{out}/keyed-{seed}", [table(r, kinds, size(r)), table(r, kinds, size(r))], [], [])


def unlike(r, out, seed):
    kinds = [r.choice(PLAIN) for _ in range(r.choice([2, 3, 5]))]
    ours, theirs = r.sample(TELLING, 2)
    save(
        f"{out}/unlike-{seed}",
        [table(r, [ours] + kinds, size(r)), table(r, [theirs] + kinds, size(r))],
        [],
        [],
    )


def form(r, out, seed):
    kinds = FORMS[int(seed) % len(FORMS)]
    tables = [of_form(seed, who, kinds, size(r)) for who in range(3)]
    columns = [(p, c, q, c) for p in range(3) for q in range(p + 1, 3) for c in range(len(kinds))]
    save(f"{out}/form-{seed}", tables, columns, [])


def parts(r, out, seed):
    """First and last name beside a full one, with birth dates; a tenth to all of one list is in both."""
    n, m, both = r.choice([(40, 30, 8), (200, 150, 60), (300, 300, 30), (100, 400, 100)])
    people = [(pick(r, FIRST), pick(r, LAST), day(r, 1940, 2005)) for _ in range(n + m - both)]
    full = r.choice(
        [
            lambda f, l: f"{l}, {f}",
            lambda f, l: f"{f} {l}",
            lambda f, l: f"{l.upper()} {f}",
            lambda f, l: f"{l}, {f[0]}.",
        ]
    )
    ours = [[*p, pick(r, CITY)] for p in people[:n]]
    theirs = [
        [full(p[0], p[1]), p[2], r.choice(["basic", "plus", "pro"])] for p in people[:both] + people[n:]
    ]
    at = list(range(m))
    r.shuffle(at)
    rows = [(0, i, 1, k) for k, i in enumerate(at) if i < both]
    save(f"{out}/parts-{seed}", [ours, [theirs[i] for i in at]], [(0, 1, 1, 0), (0, 2, 1, 1)], rows)


def copy(r, out, seed):
    kinds, n = FORMS[int(seed) % len(FORMS)], size(r)
    first = of_form(seed, 0, kinds, n)
    other = of_form(seed, 1, kinds, n)
    columns = [(0, c, 1, c) for c in range(len(kinds))]
    mixed = list(range(n))
    r.shuffle(mixed)
    later = [[o if r.random() < 0.1 else x for x, o in zip(*p)] for p in zip(first, other)]
    some = sorted(r.sample(range(n), n // 3))
    for name, of, rows in (
        ("same", range(n), first),
        ("shuffled", mixed, [first[i] for i in mixed]),
        ("later", mixed, [later[i] for i in mixed]),
        ("sample", some, [first[i] for i in some]),
    ):
        save(f"{out}/{name}-{seed}", [first, rows], columns, [(0, i, 1, k) for k, i in enumerate(of)])


def real(folders, out, seed, most=150):
    """Of tables as they are: each dealt into two halves, and beside one of another source."""
    r, tables = random.Random(seed), []
    for path in sorted(p for f in folders for p in glob.glob(f"{f}/*.csv")):
        with open(path, newline="", encoding="utf-8") as f:
            rows = list(csv.reader(f))
        if len(rows) > 40 and len(rows[0]) > 1 and len({len(x) for x in rows}) == 1:
            tables.append((os.path.basename(path)[:6], rows[1:]))
    r.shuffle(tables)
    for i, (source, rows) in enumerate(tables[:most]):
        r.shuffle(rows)
        halves = [[x[:] for x in rows[0::2]], [x[:] for x in rows[1::2]]]
        both = [(0, c, 1, c) for c in range(len(rows[0])) if all(any(x[c] for x in h) for h in halves)]
        save(f"{out}/halves-{i}", halves, both, [])
        os.remove(f"{out}/halves-{i}/entities.csv")
        other = next(t for s, t in tables[i + 1 :] + tables if s != source)
        save(f"{out}/apart-{i}", [rows, other], [], [])


def judge(out):
    """What the bench says of all cases, by kind: columns said and wrong, true ones missed, rows likewise."""
    said = subprocess.run(
        ["build/release/bench/match", "--verbose", "--dir", out],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    kinds, wrong, missed = {}, [], 0
    for line in said.splitlines():
        if line.startswith("    wrong column"):
            wrong.append(float(line.split()[-1]))
        elif line.startswith("    missed column"):
            missed += 1
        elif re.match(r"[a-z]+-\d+ ", line):
            name = line.split()[0]
            k = kinds.setdefault(name.split("-")[0], collections.Counter())
            tables = len([t for t in os.listdir(f"{out}/{name}") if t[0] == "t"])
            there = sum(1 for _ in open(f"{out}/{name}/columns.csv")) - 1
            truth = f"{out}/{name}/entities.csv"
            rows = sum(1 for _ in open(truth)) - 1 if os.path.exists(truth) else 0
            at = line.split("|")[1].split() if os.path.exists(truth) else ["0"] * 8
            k["cases"] += 1
            k["columns"] += there
            k["missed"] += missed
            k["wrong"] += len(wrong)
            k["sure"] += sum(p >= 0.9 for p in wrong)
            k["rows"] += rows
            k["said"] += int(at[7])
            k["right"] += round(float(at[0]) * int(at[7]))
            k["tables"] += tables
            wrong, missed = [], 0
    print("kind      cases | columns  missed   wrong at 0.9 |    rows    said   right")
    for name, k in kinds.items():
        columns = f"{k['columns']:7} {k['missed']:7} {k['wrong']:7} {k['sure']:6}"
        print(f"{name:9} {k['cases']:5} | {columns} | {k['rows']:7} {k['said']:7} {k['right']:7}")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    if sys.argv[1] == "--judge":
        judge(sys.argv[2])
    elif sys.argv[1] == "--tables":
        real(sys.argv[3:], sys.argv[2], 1)
    else:
        for seed in sys.argv[2:] or ["1"]:
            for kind in plain, keyed, unlike, form, parts, copy:
                kind(random.Random(f"{kind.__name__} {seed}"), sys.argv[1], seed)
