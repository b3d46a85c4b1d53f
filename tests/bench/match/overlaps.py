#!/usr/bin/env python3
"""Pairs of tables of one schema that share a known part of their rows: nobody, a few, all.

  overlaps.py OUT [SEED ...]    one case a kind of row, size and share of common rows, for
                                build/release/bench/match --dir OUT

Common rows are written anew in table b: a word misspelt, a cell lost, in capitals. Words come from the
engine's lexicon; a common one is as much commoner than the next as names and towns are. What columns say of
one another (an e-mail of its name, a postcode of its town, a total of price and quantity) they say here too:
what two rows share is not independent.
"""
import csv, datetime, os, random, sys

LEXICON = os.path.join(os.path.dirname(__file__), "../../../services/inference/engine/lexicon")


def words(name, n):
    with open(f"{LEXICON}/{name}.txt", encoding="utf-8") as f:
        all_ = [w.strip() for x in f if x[0] != "#" for w in x.split(";") if w.strip() and w.isascii()]
    random.Random(name).shuffle(all_)
    return all_[:n]


def often(list_, slope):
    return list_, [1 / (i + 3) ** slope for i in range(len(list_))]


FIRST, LAST = often(words("first_name", 250), 0.7), often(words("last_name", 500), 0.6)
CITY, ROAD = often(words("city", 80), 1), often(
    ["Oak", "Mill", "Church", "High", "Park", "King", "Station", "Lake", "Hill"], 0.3
)
WORD, FORM = often(words("org_word", 300), 0.6), often(["Ltd", "Inc", "GmbH", "SA", "AB", ""], 0.5)
THING, JOB = often(words("product_word", 200), 0.8), often(words("job_title", 150), 0.9)
MAKE, SECTOR = often(words("company", 60), 0.8), often(
    ["retail", "energy", "banking", "media", "health", "food"], 0.6
)
TOPIC = often(words("sector_technology", 150) + words("sector_healthcare", 150), 0.5)


def pick(r, pool):
    return r.choices(*pool)[0]


def day(r, first, last):
    return str(datetime.date(first, 1, 1) + datetime.timedelta(r.randrange(365 * (last - first))))


def people(r):
    f, l, c = pick(r, FIRST), pick(r, LAST), pick(r, CITY)
    number, host = r.choice(["", "", r.randrange(100)]), r.choice(["post", "mail", "corp", "uni"])
    mail = f"{f}.{l}{number}@{host}.example".lower().replace(" ", "")
    return [
        f"{f} {l}",
        mail,
        f"+1 {r.randrange(200, 999)} {r.randrange(1000):03} {r.randrange(10000):04}",
        day(r, 1940, 2005),
        f"{r.randrange(1, 220)} {pick(r, ROAD)} Street",
        c,
        f"{10000 + len(c) * 7919 % 80000 + r.randrange(90)}",
        r.choice(["basic", "plus", "pro"]),
        f"{r.gauss(42000, 11000):.2f}",
    ]


def staff(r):  # little that tells people apart
    return [pick(r, FIRST), pick(r, LAST), pick(r, JOB), pick(r, CITY), day(r, 1995, 2024)]


def named(r):
    return [f"{pick(r, FIRST)} {pick(r, LAST)}", pick(r, CITY)]


def companies(r):
    n = f"{pick(r, WORD)} {pick(r, WORD)}"
    return [
        f"{n} {pick(r, FORM)}".strip(),
        n.lower().replace(" ", "") + r.choice([".com", ".net", ".example"]),
        pick(r, SECTOR),
        pick(r, CITY),
        str(r.randrange(1890, 2020)),
        str(int(10 ** r.uniform(0.5, 4.5))),
        f"{r.choice('ABCDE')}{r.randrange(10**8):08}",
    ]


def products(r):
    m, t = pick(r, MAKE), pick(r, THING)
    model = f"{r.choice('ABCDEFGHKLMNPRSTX')}{r.choice('ABCDEFGHKLMNPRSTX')}{r.randrange(10, 9999)}"
    size = r.choice(["10 cm", "20 cm", "1 l", "2 l", "black", "white", "set of 4"])
    return [
        f"{m} {t} {model} {size}",
        m,
        t,
        f"{10 ** r.uniform(0.7, 3):.2f}",
        r.choice(["in stock", "sold out", "on order"]),
    ]


def texts(r):
    t = " ".join(pick(r, TOPIC) for _ in range(r.randrange(4, 9)))
    return [
        t,
        ", ".join(f"{pick(r, FIRST)[0]}. {pick(r, LAST)}" for _ in range(r.randrange(1, 5))),
        pick(r, SECTOR) + " letters",
        str(r.randrange(1995, 2024)),
    ]


def orders(r):
    q, p, d = (
        r.randrange(1, 5),
        10 ** r.uniform(0.7, 2.5),
        datetime.date(2021, 1, 1) + datetime.timedelta(r.randrange(1200)),
    )
    return [
        f"{r.choice(['EX', 'SO', 'WB'])}-{r.randrange(10**6):06}",
        f"{pick(r, THING)} {r.choice('SML')}",
        str(q),
        f"{p:.2f}",
        f"{p * q:.2f}",
        str(d),
        str(d + datetime.timedelta(r.randrange(1, 15))),
        r.choice(["open", "shipped", "returned"]),
        pick(r, CITY),
        r.choice(["DHL", "UPS", "GLS"]),
    ]


def readings(r):
    return [
        str(r.randrange(100, 9999)),
        day(r, 2022, 2024),
        f"{r.gauss(20, 6):.1f}",
        f"{r.gauss(60, 15):.0f}",
        r.choice(["ok", "low", "fault"]),
    ]


KINDS = [people, staff, named, companies, products, texts, orders, readings]


def written_anew(r, row):
    row = list(row)
    for c, x in enumerate(row):
        luck = r.random()
        if luck < 0.04:
            row[c] = ""
        elif luck < 0.12 and len(x) > 4 and not x[0].isdigit():
            i = r.randrange(1, len(x) - 1)
            row[c] = x[:i] + x[i + 1] + x[i] + x[i + 2 :]
        elif luck < 0.18:
            row[c] = x.upper()
    return row if any(row) else list(row)


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as f:
        csv.writer(f, lineterminator="\n").writerows(rows)


def make(out, kind, n, m, share, seed):
    r = random.Random(f"{kind.__name__} {n} {m} {share} {seed}")
    both = round(share * min(n, m))
    a = [kind(r) for _ in range(n)]
    b = [(written_anew(r, a[i]), i) for i in range(both)] + [(kind(r), None) for _ in range(m - both)]
    at = list(range(n))
    r.shuffle(at)
    r.shuffle(b)
    columns = [f"c{i}" for i in range(len(a[0]))]
    where = {i: k for k, i in enumerate(at)}
    path = f"{out}/{kind.__name__}-{n}x{m}-{round(100 * share)}-{seed}"
    os.makedirs(path, exist_ok=True)
    write(f"{path}/a.csv", [columns] + [a[i] for i in at])
    write(f"{path}/b.csv", [columns] + [row for row, _ in b])
    write(f"{path}/columns.csv", [["a_column", "b_column"]] + [[c, c] for c in columns])
    write(
        f"{path}/entities.csv",
        [["a_row", "b_row"]] + [[where[i], k] for k, (_, i) in enumerate(b) if i is not None],
    )


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    for seed in sys.argv[2:] or ["1"]:
        for kind in KINDS:
            for n, m in (250, 250), (700, 700), (200, 2000):
                for share in 0, 0.02, 0.05, 0.2, 1:
                    make(sys.argv[1], kind, n, m, share, seed)
