#!/usr/bin/env python3
"""Makes schemas at random whose keys are known, for the training of engine/keys: varied.py OUT [SCHEMAS].

Nothing in them is of a trade: tables of 3 to 3,000 rows refer to one another at random, and beside the
references stand columns that could be taken for some: marks from 1 to as many as a short table has rows,
counts and measures that end within another table's keys, years, ranks, names that are repeated from the table
that is referred to, towns that two tables name and neither refers to.  Half of the schemas count all their
keys from 1; a tenth has no reference at all."""

import csv
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from made import STYLES, WORDS, Keys, above  # noqa: E402

FAMILIES = 12
STYLE = ("dense", "dense", "shuffled", "gaps", "offset", "code", "letters") + STYLES
TOWNS = [w.title() + e for w in WORDS[:40] for e in ("", "ton", "ford")]


class Table:
    def __init__(self, name, rows, key):
        self.name, self.rows, self.key = name, rows, key
        self.columns = []  # name, values
        self.label = None  # a text of each row that others may repeat


def spread(rng, keys, n, some):
    """n of the keys `some`, evenly or not."""
    how = rng.randrange(3)
    if how == 0 and n >= len(some) and rng.random() < 0.5:  # each at least once
        x = some + rng.choices(some, k=n - len(some))
        rng.shuffle(x)
        return x
    weights = [1.0 if how == 0 else rng.lognormvariate(0, how) for _ in some]
    return rng.choices(some, weights, k=n)


def refer(rng, parent, n):
    if 6 <= n <= len(parent.key) and rng.random() < 0.1:  # one to one
        return rng.sample(parent.key, n)
    used = rng.choice([1, 1, 1, 0.9, 0.7, 0.4, 0.2])
    some = rng.sample(parent.key, max(min(3, len(parent.key)), int(len(parent.key) * used)))
    x = spread(rng, parent.key, n, some)
    if rng.random() < 0.25 and n > 3 * len(some):
        at = {k: i for i, k in enumerate(parent.key)}
        x.sort(key=at.get)
    none = rng.choice([0, 0, 0, 0, 0.05, 0.3, 0.7])
    return [None if rng.random() < none else v for v in x]


def measure(rng, n, tables):
    """Whole numbers that count or measure."""
    near = rng.choice(tables).rows if tables else 40
    how = rng.randrange(9)
    if how == 0:  # a mark
        top = rng.choice([3, 4, 5, 5, 6, 10, near if near < 15 else 5])
        weights = [rng.lognormvariate(0, rng.choice([0.2, 0.8])) for _ in range(top)]
        first = rng.choice([0, 1, 1, 1, 1])
        if rng.random() < 0.6:
            weights.sort(reverse=rng.random() < 0.3)
        return [first + v for v in rng.choices(range(top), weights, k=n)]
    if how == 1:  # how many
        mean = rng.choice([1, 2, 3, 5, 10, 25])
        return [min(1 + int(rng.expovariate(1 / mean)), 9 * mean) for _ in range(n)]
    if how == 2:  # places, beds: between two bounds within another table's keys
        top = max(3, int(near * rng.choice([0.05, 0.2, 0.4, 0.7, 0.95])))
        low = rng.choice([1, 1, 2, max(1, top // 4), max(1, top // 2)])
        return [rng.randint(low, max(low + 1, top)) for _ in range(n)]
    if how == 3:
        mean = rng.choice([20, 35, 45, max(8, near // 3), max(8, near // 2)])
        return [max(1, round(rng.gauss(mean, mean / rng.choice([3, 5, 8])))) for _ in range(n)]
    if how == 4:
        first = rng.choice([1950, 1990, 2005])
        return [rng.randint(first, 2024) for _ in range(n)]
    if how == 5:
        return [int(rng.lognormvariate(rng.choice([1, 2, 3, 4]), 0.8)) for _ in range(n)]
    if how == 6:  # minutes, weeks, months, percents
        top = rng.choice([7, 12, 24, 31, 52, 60, 90, 100, 120])
        return [rng.randint(1, top) for _ in range(n)]
    if how == 7 and rng.random() < 0.3:  # a rank
        x = list(range(1, n + 1))
        rng.shuffle(x)
        return x
    step = rng.choice([1, 5, 10, 50])  # round ones
    return [step * rng.randint(1, rng.choice([6, 12, 40])) for _ in range(n)]


def words(rng, n, towns):
    how = rng.randrange(5)
    if how == 0 or (how == 1 and rng.random() < 0.5):
        return [rng.choice(towns) for _ in range(n)]
    if how == 1:
        some = rng.sample(WORDS, rng.randrange(2, 9))
        return [rng.choice(some) for _ in range(n)]
    if how == 2:
        return [" ".join(rng.choice(WORDS) for _ in range(rng.randrange(3, 9))) for _ in range(n)]
    if how == 3:
        return [rng.choice(["yes", "no"]) for _ in range(n)]
    return [f"{rng.choice(WORDS)} {rng.choice(WORDS)} {rng.randrange(100)}" for _ in range(n)]


def other(rng, n):
    if rng.random() < 0.5:
        return [round(rng.lognormvariate(rng.choice([0, 3, 6]), 1), 2) for _ in range(n)]
    return [
        "%d-%02d-%02d" % (rng.randrange(2019, 2025), rng.randrange(1, 13), rng.randrange(1, 29))
        for _ in range(n)
    ]


def rows_of(rng, i, small):
    least, most = rng.choice(
        [(3, 9), (8, 60), (40, 600), (300, 3000)] if i > 1 else [(3, 9), (8, 60), (40, 600)]
    )
    n = rng.randrange(least, most)
    return max(3, n // 5) if small and n > 40 else n


class Schema:
    def __init__(self, number):
        self.rng = random.Random(f"varied {number}")
        self.number, self.truth, self.tables, self.pairs = number, [], [], []
        self.counted = self.rng.random() < 0.5
        self.towns = self.rng.sample(TOWNS, self.rng.randrange(10, 60))
        self.alone = self.rng.random() < 0.1
        self.small = self.rng.random() < 0.35
        for i in range(self.rng.randrange(3, 12)):
            self.add(i)

    def columns_of_parents(self, t):
        rng = self.rng
        refs, taken = [], []
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]) if self.tables and not self.alone else 0):
            p = rng.choice(taken) if taken and rng.random() < 0.15 else rng.choice(self.tables)
            if p.key is None:
                continue
            taken.append(p)
            name = f"r{len(refs)}"
            x = refer(rng, p, t.rows)
            refs.append((name, x))
            self.truth.append((t.name, name, p.name, "k"))
            if p.label is not None and rng.random() < 0.15:  # repeats the name of what it refers to
                of = dict(zip(p.key, p.label))
                refs.append((name + "name", [of.get(v) for v in x]))
        return refs

    def numbered(self, t):
        """Rows of a whole, numbered within it: both columns name a row."""
        rng = self.rng
        whole = [p for p in self.tables if p.key is not None and p.rows >= 6]
        if not whole or self.alone:
            return False
        p = rng.choice(whole)
        each = max(1, t.rows // p.rows)
        pairs = [
            (k, i + 1) for k in p.key if rng.random() < 0.9 for i in range(rng.randrange(1, 2 * each + 1))
        ][:4000]
        if len(pairs) < 5:
            return False
        t.rows, t.key = len(pairs), None
        t.columns = [("of", [a for a, _ in pairs]), ("no", [b for _, b in pairs])]
        self.truth.append((t.name, "of", p.name, "k"))
        self.pairs.append((t.name, pairs))
        return True

    def add(self, i):
        rng = self.rng
        t = Table(f"t{i:02d}", rows_of(rng, i, self.small), None)
        own = rng.random() < 0.85 or not self.tables
        if not (rng.random() < 0.12 and self.numbered(t)) and own:
            style = "dense" if self.counted else rng.choice(STYLE)
            t.key = getattr(Keys(rng), style)(t.rows)
        wholes = [p for p in self.tables if p.key is not None and p.rows >= 12]
        if t.key is not None and wholes and rng.random() < 0.1 and not self.alone:  # more of the same things
            p = rng.choice(wholes)
            some = set(
                p.key if rng.random() < 0.5 else rng.sample(p.key, int(p.rows * rng.uniform(0.5, 0.95)))
            )
            t.key = [v for v in p.key if v in some]
            t.rows = len(t.key)
            self.truth.append((t.name, "k", p.name, "k"))
        columns = self.columns_of_parents(t)
        if self.pairs and rng.random() < 0.2 and self.pairs[-1][0] != t.name:
            of, pairs = rng.choice(self.pairs)
            if of != t.name:
                x = rng.choices(pairs, k=t.rows)
                columns += [("po", [a for a, _ in x]), ("pn", [b for _, b in x])]
                self.truth.append((t.name, "po|pn", of, "of|no"))
        if t.key is not None and t.rows >= 12 and rng.random() < 0.1 and not self.alone:
            columns.append(("up", above(rng, t.key)))
            self.truth.append((t.name, "up", t.name, "k"))
        if t.key is not None and rng.random() < 0.5:
            named = t.rows >= len(self.towns) and t.rows < 2 * len(TOWNS) and rng.random() < 0.7
            rest = [f"{a} {b}" for a in TOWNS for b in ("North", "South")]
            t.label = (
                rng.sample(self.towns + rng.sample(rest, t.rows - len(self.towns)), t.rows)
                if named
                else [f"{rng.choice(WORDS)} {rng.choice(WORDS)} {i}" for i in range(t.rows)]
            )
            columns.insert(0, ("name", t.label))
        more = []
        for k in range(rng.randrange(1, 6)):
            how = rng.random()
            x = (
                measure(rng, t.rows, self.tables)
                if how < 0.6
                else words(rng, t.rows, self.towns)
                if how < 0.8
                else other(rng, t.rows)
            )
            more.append((f"m{k}", x))
        columns = columns + more
        if rng.random() < 0.4:
            rng.shuffle(columns)
        if t.key is not None:
            columns.insert(0 if rng.random() < 0.93 else rng.randrange(len(columns) + 1), ("k", t.key))
        t.columns += columns
        self.tables.append(t)

    def write(self, out):
        folder = os.path.join(out, f"varied-{self.number:03d}")
        os.makedirs(folder, exist_ok=True)
        for t in self.tables:
            rows = [["" if v is None else v for v in r] for r in zip(*[x for _, x in t.columns])]
            if self.rng.random() < 0.12:
                self.rng.shuffle(rows)
            with open(os.path.join(folder, t.name + ".csv"), "w", newline="") as f:
                w = csv.writer(f, lineterminator="\n")
                w.writerow([c for c, _ in t.columns])
                w.writerows(rows)
        with open(os.path.join(folder, "truth.csv"), "w", newline="") as f:
            w = csv.writer(f, lineterminator="\n")
            w.writerow(["child", "columns", "parent", "parent_columns"])
            w.writerows(self.truth)
        with open(os.path.join(folder, "family.txt"), "w") as f:
            f.write(f"made-varied-{self.number % FAMILIES}\n")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for n in range(int(sys.argv[2]) if len(sys.argv) > 2 else 420):
        Schema(n).write(sys.argv[1])
