#!/usr/bin/env python3
"""Two tables that share a key and nothing else: which of their other columns are called one attribute.

  key_alone.py FIRST END    draws of seeds FIRST to END - 1: 25 to 200 rows, the key a code, an e-mail
                            address or none, four columns of each table drawn from 22 kinds, none in both
"""
import collections, csv, json, os, random, subprocess, sys, tempfile

TABELLA = os.environ.get("TABELLA", "build/release/bin/tabella")
NAMES = "Anna Bob Carl Dora Emil Fritz Gina Hans Ida Jan Kim Lea Max Nora Olaf Pia Rosa Sven Tina Uwe".split()
NOTES = "late paid call again ok returned new urgent".split()
KINDS = {
    "pay": lambda r: f"{r.gauss(3000, 500):.0f}",
    "age": lambda r: str(r.randrange(18, 66)),
    "since": lambda r: f"20{r.randrange(5, 24):02}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}",
    "born": lambda r: f"{r.randrange(1, 29):02}.{r.randrange(1, 13):02}.{r.randrange(1950, 2004)}",
    "room": lambda r: f"R{r.randrange(1, 40)}",
    "parking": lambda r: r.choice(["yes", "no"]),
    "score": lambda r: f"{r.uniform(0, 10):.1f}",
    "share": lambda r: f"{r.randrange(0, 101)}%",
    "grade": lambda r: r.choice("ABCDE"),
    "city": lambda r: r.choice("Berlin Paris Rome Madrid Wien Oslo Bern Prag".split()),
    "department": lambda r: r.choice("Sales HR IT Finance Legal Ops".split()),
    "count": lambda r: str(int(r.expovariate(0.1))),
    "time": lambda r: f"{r.randrange(6, 22):02}:{r.randrange(60):02}",
    "telephone": lambda r: f"+49 30 {r.randrange(10**6, 10**7)}",
    "plate": lambda r: f"B-{r.choice('ABCD')}{r.choice('EFGH')} {r.randrange(1, 9999)}",
    "temperature": lambda r: f"{r.gauss(20, 6):.1f}",
    "first": lambda r: r.choice(NAMES),
    "amount": lambda r: f"{r.lognormvariate(5, 1):.2f}",
    "size": lambda r: r.choice(["S", "M", "L", "XL"]),
    "year": lambda r: str(r.randrange(1990, 2024)),
    "level": lambda r: str(r.randrange(1, 6)),
    "note": lambda r: " ".join(r.choice(NOTES) for _ in range(3)),
}


def key(r, kind):
    if kind == "code":
        return f"{r.choice('ABCDEF')}{r.choice('GHKLM')}{r.randrange(100, 9999)}"
    return f"{r.choice(NAMES).lower()}.{r.randrange(9999)}@firm.example"


def draw(r, folder):
    n, kind, columns = (
        r.choice([25, 40, 60, 100, 200]),
        r.choice(["code", "mail", "none"]),
        r.sample(list(KINDS), 8),
    )
    keys = list(dict.fromkeys(key(r, kind) for _ in range(n)))
    for name, part in ("left", columns[:4]), ("right", columns[4:]):
        with open(f"{folder}/{name}.csv", "w", newline="") as f:
            write = csv.writer(f).writerow
            write(([] if kind == "none" else [f"key_{name}"]) + part)
            for k in keys:
                write(([] if kind == "none" else [k]) + [KINDS[c](r) for c in part])
        r.shuffle(keys)
    return n, kind


def main(first, end):
    k = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, end):
            n, kind = draw(random.Random(seed), folder)
            said = subprocess.run(
                [TABELLA, "run", "--json", "--target", "none", f"{folder}/left.csv", f"{folder}/right.csv"],
                check=True,
                stdout=subprocess.PIPE,
            ).stdout
            for x in json.loads(said)["cross_table_map"]["column_alignment"]:
                right = (x["a"], x["b"]) == ("left.key_left", "right.key_right")
                k["keys" if right else "wrong"] += 1
                k["wrong at 0.9"] += not right and x["confidence"] >= 0.9
                if not right:
                    print(f"seed {seed}, {n} rows, {kind}: {x['a']} = {x['b']} {x['confidence']:.2f}")
    print(", ".join(f"{name} {n}" for name, n in sorted(k.items())))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(int(sys.argv[1]), int(sys.argv[2]))
