#!/usr/bin/env python3
"""Makes schemas whose keys are known, for tests/bench/keys: made.py OUT.

Ten styles of keys by three structures.  Beside the keys stand columns that look like them: quantities, ages,
ratings, ranks and counts that lie in the range of an integer key.  The same bytes on each run."""

import csv
import os
import random
import sys
import uuid

WORDS = (
    "amber anchor apple arrow basin beacon birch bridge canyon cedar cloud copper coral crane delta"
    " dune ember falcon fern field flint forest garden glacier granite harbor hazel heron island"
    " ivory jasper juniper lake lantern laurel linden maple marble meadow mesa mist moss north oak"
    " ocean olive onyx opal orchard otter pearl pebble pine plum prairie quartz rain raven reef ridge"
    " river robin rose rowan sage sand shore silver sky slate snow sparrow spring spruce star stone"
    " storm summit swan thistle thorn tide timber trail valley violet willow wind winter wolf wren"
    " yarrow zephyr"
).split()


class Keys:
    """n distinct keys of a style, in the order of their rows."""

    def __init__(self, rng):
        self.rng = rng

    def dense(self, n):
        return list(range(1, n + 1))

    def shuffled(self, n):
        x = list(range(1, n + 1))
        self.rng.shuffle(x)
        return x

    def gaps(self, n):
        x, at = [], self.rng.randrange(1, 50)
        for _ in range(n):
            x.append(at)
            at += 1 + int(self.rng.expovariate(0.5))
        return x

    def offset(self, n):
        start = self.rng.choice([100, 1000, 10001, 50000])
        return list(range(start, start + n))

    def tens(self, n):
        return list(range(10, 10 * n + 10, 10))

    def nine(self, n):
        return self.rng.sample(range(100000000, 999999999), n)

    def uuid(self, n):
        return [str(uuid.UUID(int=self.rng.getrandbits(128), version=4)) for _ in range(n)]

    def code(self, n):
        head = "".join(self.rng.choice("ABCDEFGHKLMNPRSTV") for _ in range(self.rng.choice([1, 2, 4])))
        return [f"{head}-{i:05d}" for i in self.shuffled(n)]

    def letters(self, n):
        x = set()
        size = 3 if n < 2000 else 5
        while len(x) < n:
            x.add("".join(self.rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(size)))
        x = sorted(x)
        self.rng.shuffle(x)
        return x

    def hex(self, n):
        return ["%016x" % self.rng.getrandbits(64) for _ in range(n)]


STYLES = ("dense", "shuffled", "gaps", "offset", "tens", "nine", "uuid", "code", "letters", "hex")


def refer(rng, keys, n, share=1.0, none=0.0):
    """n references to a share of the keys; some rows are referred to more often than others."""
    some = rng.sample(keys, max(7, int(len(keys) * share)))
    if rng.random() < 0.5:
        weights = [1.0] * len(some)
    else:
        weights = [rng.paretovariate(1.3) for _ in some]
    out = rng.choices(some, weights, k=n)
    return [None if rng.random() < none else x for x in out]


def attribute(rng, n, rows):
    """A column that is no key."""
    kind = rng.randrange(13)
    if kind == 0:
        return "quantity", [min(1 + int(rng.expovariate(0.4)), 30) for _ in range(n)]
    if kind == 1:
        return "age", [max(18, min(95, int(rng.gauss(45, 15)))) for _ in range(n)]
    if kind == 2:
        return "rating", [rng.choice([1, 2, 3, 4, 4, 5, 5, 5]) for _ in range(n)]
    if kind == 3:
        return "year", [rng.randrange(1990, 2025) for _ in range(n)]
    if kind == 4:
        x = list(range(1, n + 1))
        rng.shuffle(x)
        return "rank", x
    if kind == 5:
        return "count", [int(rng.expovariate(1 / 12)) for _ in range(n)]
    if kind == 6:
        return "price", [round(rng.lognormvariate(3, 1), 2) for _ in range(n)]
    if kind == 7:
        return "date", [
            "%d-%02d-%02d" % (rng.randrange(2015, 2025), rng.randrange(1, 13), rng.randrange(1, 29))
            for _ in range(n)
        ]
    if kind == 8:
        few = [rng.choice(WORDS) for _ in range(rng.randrange(3, 9))]
        return "status", [rng.choice(few) for _ in range(n)]
    if kind == 9:
        return "name", [" ".join(rng.choice(WORDS).title() for _ in range(2)) for _ in range(n)]
    if kind == 10:
        return "note", [" ".join(rng.choice(WORDS) for _ in range(rng.randrange(4, 12))) for _ in range(n)]
    if kind == 11:
        return "minutes", [rng.randrange(1, 121) for _ in range(n)]
    return "share", [round(rng.random() * 100, 1) for _ in range(n)]


# table, rows, parents ("table" or "table?" where rows may have none; "table=" shares its key; "table+" with a
# number beside it, which both together name a row; "table^" refers to such a pair; "." to a row of the table)
STRUCTURES = {
    "chain": [
        ("region", (12, 30), []),
        ("store", (40, 120), ["region"]),
        ("register", (150, 400), ["store"]),
        ("sale", (800, 2500), ["register"]),
        ("line", (1500, 4000), ["sale"]),
    ],
    "star": [
        ("customer", (150, 900), []),
        ("product", (60, 400), []),
        ("employee", (15, 60), []),
        ("warehouse", (8, 25), []),
        ("fact", (1500, 4000), ["customer", "product", "employee?", "warehouse"]),
    ],
    "web": [
        ("country", (30, 120), []),
        ("person", (300, 900), ["country"]),
        ("profile", (100, 250), ["person="]),
        ("course", (40, 160), ["person?"]),
        ("enrolment", (900, 3000), ["person", "course"]),
        ("transfer", (400, 1500), ["person", "person"]),
    ],
    "lines": [
        ("staff", (60, 400), ["."]),
        ("order", (150, 700), ["staff"]),
        ("item", (800, 2500), ["order+"]),
        ("parcel", (300, 1500), ["item^"]),
        ("refund", (60, 300), ["item^"]),
        ("category", (40, 120), [".", "staff?"]),
    ],
}


def above(rng, own):
    """For each key another one above it, none in a circle; some have none. The rows are in no order."""
    at = list(range(len(own)))
    rng.shuffle(at)
    out = [None] * len(own)
    roots = rng.choice([1, 1, 2, max(2, len(own) // 12)])
    for i in range(roots, len(at)):
        out[at[i]] = own[at[rng.randrange(max(1, i // rng.choice([2, 4, 8])))]]
    return out


def numbered(rng, keys, n):
    """Rows of a whole and the number of each within it: about n of them."""
    x, each = [], max(1, round(n / len(keys)))
    for k in keys:
        x += [(k, i + 1) for i in range(rng.randrange(1, 2 * each + 1))]
    return x


def schema(out, style, structure):
    rng = random.Random(f"{style} {structure}")
    name = f"made-{style}-{structure}"
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    keys, pairs, truth = {}, {}, []
    for table, (least, most), parents in STRUCTURES[structure]:
        n = rng.randrange(least, most)
        own = getattr(Keys(rng), style)(n)
        columns = []
        for i, p in enumerate(parents):
            share = rng.choice([1.0, 0.9, 0.6, 0.35])
            parent = p.strip("?=")
            if p.endswith("="):
                n = min(n, len(keys[parent]))
                own = rng.sample(keys[parent], n)
                truth.append((table, "id", parent, "id"))
                continue
            if p == ".":
                columns.append((f"above_{i}", above(rng, own)))
                truth.append((table, f"above_{i}", table, "id"))
                continue
            if p.endswith("+") or p.endswith("^"):
                parent = p[:-1]
                if p.endswith("+"):
                    x = pairs[table] = numbered(rng, keys[parent], n)
                    n, own = len(x), None
                    truth.append((table, f"{parent}_{i}", parent, "id"))
                else:
                    x = refer(rng, pairs[parent], n, share)
                    of = STRUCTURES[structure][2][2][0][:-1]
                    truth.append((table, f"{parent}_{i}|number_{i}", parent, f"{of}_0|number_0"))
                columns.append((f"{parent}_{i}", [a for a, _ in x]))
                columns.append((f"number_{i}", [b for _, b in x]))
                continue
            x = refer(rng, keys[parent], n, share, 0.15 if p.endswith("?") else 0)
            columns.append((f"{parent}_{i}", x))
            truth.append((table, f"{parent}_{i}", parent, "id"))
        keys[table] = own
        for i in range(rng.randrange(2, 7)):
            what, x = attribute(rng, n, n)
            columns.append((f"{what}{i}", x))
        rng.shuffle(columns)
        if own is None:
            pass
        elif rng.random() < 0.8:
            columns.insert(0, ("id", own))
        else:
            columns.insert(rng.randrange(len(columns) + 1), ("id", own))
        with open(os.path.join(folder, table + ".csv"), "w", newline="") as f:
            w = csv.writer(f, lineterminator="\n")
            w.writerow([c for c, _ in columns])
            w.writerows(zip(*[["" if v is None else v for v in x[:n]] for _, x in columns]))
    with open(os.path.join(folder, "truth.csv"), "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["child", "columns", "parent", "parent_columns"])
        w.writerows(truth)
    with open(os.path.join(folder, "family.txt"), "w") as f:
        f.write(f"made-{style}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for s in STYLES:
        for t in STRUCTURES:
            schema(sys.argv[1], s, t)
