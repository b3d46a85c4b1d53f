#!/usr/bin/env python3
"""Columns against lists of values: where the list weights of align/alignment_weights.h comes from.

  lists.py make OUT       from the shared data's tables: one table of a case against lists of the other's
                          values, among lists of all others' (TAB_SHARED, default ../shared); then
                          build/release/bench/match --dir OUT [--columns FILE]
  lists.py fit FILE       fits the weights to FILE: logistic, each weight of one sign (needs scipy)
"""
import collections, csv, os, random, re, sys

LONG, FEATURES, LISTED = 120, 18, 18  # values of a list; features that are fitted; the one that says so


def table(path):
    with open(path, newline="") as f:
        return list(csv.reader(f))


def values(t, c):
    """The distinct values of a column of few; none for texts, ids and quantities."""
    cells = [r[c] for r in t[1:] if r[c] != ""]
    v = list(dict.fromkeys(cells))
    numbers = sum(bool(re.fullmatch(r"[-+$€£]?[\d., ]+%?", x)) for x in v)
    if not v or len(v) > 0.7 * len(cells) or (numbers > 0.8 * len(v) and len(v) > 30):
        return []
    random.Random(1).shuffle(v)
    return v[:LONG]


def base(case):
    return case.split("-")[1] if case.startswith("fab") else case


def write(path, rows):
    with open(path, "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows(rows)


def make(out):
    data = os.path.join(os.environ.get("TAB_SHARED", "../shared"), "data/match")
    if not os.path.isdir(data):
        sys.exit(f"lists: skipped, no {data} (set TAB_SHARED)")
    cases = sorted(
        c for c in os.listdir(data) if not c.startswith("gdc") and os.path.exists(f"{data}/{c}/b.csv")
    )
    tables = {c: (table(f"{data}/{c}/a.csv"), table(f"{data}/{c}/b.csv")) for c in cases}
    pool = [
        (base(c), v)
        for c in cases
        if not c.startswith("fab") or c.endswith("union0")
        for v in (values(tables[c][1], j) for j in range(len(tables[c][1][0])))
        if len(v) > 1
    ]
    for c in cases:
        if c.startswith("fab") and not re.search("-(union0|union0fmt|join50fmt)$", c):
            continue
        a, b = tables[c]
        lists = [(name, values(b, j)) for j, name in enumerate(b[0])]
        lists += [(f"x{k}", v) for k, (of, v) in enumerate(pool) if of != base(c)]
        os.makedirs(f"{out}/{c}", exist_ok=True)
        write(f"{out}/{c}/a.csv", a[:300])
        longest = max(len(v) for _, v in lists)
        write(
            f"{out}/{c}/b.csv",
            [[n for n, _ in lists]]
            + [[v[i] if i < len(v) else "" for _, v in lists] for i in range(longest)],
        )
        write(f"{out}/{c}/columns.csv", table(f"{data}/{c}/columns.csv"))


def fit(path):
    import numpy as np
    from scipy.optimize import minimize

    x, y = [], []
    with open(path) as f:
        for line in f:
            w = line.split()
            row = list(map(float, w[3:]))
            if row[LISTED] > 0 and row[-1] == 0:  # no matched rows
                x.append(row[:FEATURES] + [1])
                y.append(int(w[2]))
    x, y = np.array(x), np.array(y)
    x[:, [10, 11, 12, 13, 14, 17]] = 0  # lengths, roles and types of a list say nothing of its column's
    bounds = [
        (None, 0) if k == 8 else (None, None) if k in (7, 15, FEATURES) else (0, None)
        for k in range(FEATURES + 1)
    ]

    def loss(t):
        z = x @ t
        p = 1 / (1 + np.exp(-z))
        return (np.logaddexp(0, z) - y * z).sum() + 0.5 * (t[:-1] ** 2).sum(), x.T @ (p - y) + np.append(
            t[:-1], 0
        )

    t = minimize(loss, np.append(np.zeros(FEATURES), -5), jac=True, method="L-BFGS-B", bounds=bounds).x
    print(f"{len(y)} pairs, {y.sum()} true\n" + ", ".join(f"{q:.2f}" for q in t))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("make", "fit"):
        sys.exit(__doc__)
    (make if sys.argv[1] == "make" else fit)(sys.argv[2])
