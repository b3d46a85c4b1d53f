#!/usr/bin/env python3
"""Tables as people bring them and no other bench has: what is said of them, beside what is true.

  asked.py OUT [SEED ...]    makes each kind for each seed, asks `tabella run`, and says by kind what is
                             right, wrong and missed: references, pairs of rows, duplicates
"""
import collections, csv, datetime, json, os, random, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from overlaps import CITY, JOB, MAKE, SECTOR, THING, companies, day, people, pick

TABELLA = os.environ.get("TABELLA", "build/release/bin/tabella")


class Case:
    """Tables by name, rows of cells each; what is one entity, and which columns refer to which."""

    def __init__(self):
        self.tables, self.same, self.refs, self.sets = {}, set(), set(), set()

    def add(self, name, rows):
        self.tables[name] = rows

    def pair(self, a, i, b, k):
        self.same.add(((a, i), (b, k)) if (a, i) < (b, k) else ((b, k), (a, i)))

    def refer(self, child, c, parent, p=0):
        self.refs.add((child, c, parent, p))

    def refer_by(self, child, c, parent, p):
        """By several columns."""
        self.sets.add((child, frozenset(zip(c, p)), parent))


def dirty(r, row):
    """A row written anew by somebody else: a letter wrong, a cell lost, in capitals."""
    row = list(row)
    at = r.randrange(len(row))
    how = r.randrange(4)
    if how == 0:
        row[at] = ""
    elif how == 1:
        row = [x.upper() for x in row]
    elif how == 2 and len(row[0]) > 4:
        k = r.randrange(1, len(row[0]) - 1)
        row[0] = row[0][:k] + row[0][k + 1 :]
    return row


def product(r):
    return [f"{pick(r, MAKE)} {pick(r, THING)} {r.randrange(100, 999)}", f"{10 ** r.uniform(0.7, 3):.2f}"]


def numbered(rows, first=1):
    return [[str(i + first)] + row for i, row in enumerate(rows)]


def three(r):
    """Three lists of one thing, the columns of each in another order, each with ids of its own."""
    c, n = Case(), r.choice([80, 300])
    all_ = [people(r) for _ in range(n)]
    lies = {}
    for name, first in ("one", 1), ("two", 501), ("three", 70001):
        who = [i for i in range(n) if r.random() < 0.6]
        r.shuffle(who)
        order = list(range(9))
        r.shuffle(order)
        c.add(name, numbered([[dirty(r, all_[i])[k] for k in order] for i in who], first))
        lies[name] = {i: at for at, i in enumerate(who)}
    for a, b in ("one", "two"), ("one", "three"), ("two", "three"):
        for i in lies[a].keys() & lies[b].keys():
            c.pair(a, lies[a][i], b, lies[b][i])
    return c


def copied(r, first, shuffle, kind=people, n=0):
    """A table copied under other ids."""
    c, n = Case(), n or r.choice([50, 200, 600])
    rows = [kind(r) for _ in range(n)]
    at = list(range(n))
    if shuffle:
        r.shuffle(at)
    c.add("old", numbered(rows))
    c.add("new", numbered([rows[i] for i in at], first))
    for k, i in enumerate(at):
        c.pair("old", i, "new", k)
    return c


def shifted(r):
    """Ids that are off by one: where they are equal, they name two."""
    return copied(r, 2, False, r.choice([people, companies]))


def renumbered(r):
    return copied(r, 1, True, r.choice([people, companies]))


def few(r):
    """Five rows beside five thousand, three of them in both."""
    c, kind = Case(), r.choice([people, companies, product])
    rows, extra = [kind(r) for _ in range(5000)], [kind(r) for _ in range(2)]
    c.add("all", numbered(rows))
    at = r.sample(range(5000), 3)
    c.add("few", [dirty(r, rows[i]) for i in at] + extra)
    for k, i in enumerate(at):
        c.pair("few", k, "all", i)
    return c


def unlike(r, n, m):
    """Two tables of unlike things, each with a number that counts its rows."""
    c = Case()
    a, b = r.sample(
        [
            lambda: people(r)[:4] + [pick(r, CITY)],
            lambda: product(r) + [r.choice(["in stock", "sold out"])],
            lambda: [day(r, 2019, 2024), f"{r.gauss(20, 6):.1f}", f"{r.gauss(1000, 30):.1f}"],
            lambda: [pick(r, SECTOR), pick(r, JOB), f"{r.gauss(4e4, 1e4):.0f}"],
        ],
        2,
    )
    c.add("a", numbered([a() for _ in range(n)]))
    c.add("b", numbered([b() for _ in range(m)]))
    return c


def counters_round(r):
    n = r.choice([20, 50, 100, 200, 500, 1000])
    return unlike(r, n, n)


def counters_any(r):
    return unlike(r, r.randrange(20, 1000), r.randrange(20, 1000))


def torn(r):
    """One table torn into two that share its number alone, which counts the rows: one to one."""
    c, n = Case(), r.randrange(37, 1200)
    c.add("a", numbered([people(r)[:4] + [pick(r, CITY)] for _ in range(n)]))
    c.add("b", numbered([[day(r, 2019, 2024), f"{r.gauss(4e4, 1e4):.0f}", pick(r, JOB)] for _ in range(n)]))
    c.refer("b", 0, "a")
    return c


def counted(r):
    """A shop in which every key counts from 1 on."""
    c, n, m, k = Case(), r.choice([60, 300]), r.choice([25, 80]), r.choice([400, 1500])
    c.add("customers", numbered([people(r)[:7] for _ in range(n)]))
    c.add("products", numbered([product(r) for _ in range(m)]))
    c.add("staff", numbered([[people(r)[0], pick(r, JOB), day(r, 2000, 2020)] for _ in range(9)]))
    w = [r.expovariate(1) for _ in range(n)]
    orders = [
        [
            str(1 + r.choices(range(n), w)[0]),
            str(r.randrange(1, 10)),
            day(r, 2021, 2024),
            f"{10 ** r.uniform(1, 3):.2f}",
        ]
        for _ in range(k)
    ]
    c.add("orders", numbered(orders))
    lines = []
    for o in range(k):
        for _ in range(r.choice([1, 1, 2, 3])):
            lines.append([str(o + 1), str(r.randrange(1, m + 1)), str(r.choice([1, 1, 1, 2, 3, 5]))])
    c.add("lines", numbered(lines))
    c.refer("orders", 1, "customers")
    c.refer("orders", 2, "staff")
    c.refer("lines", 1, "orders")
    c.refer("lines", 2, "products")
    return c


def bosses(r):
    """Few people, of whom a few lead others; the numbers count them."""
    c, n = Case(), r.choice([8, 9, 12, 20, 40])
    heads = max(1, n // 5)
    rows = []
    for i in range(n):
        boss = "" if i == 0 else str(1 + r.randrange(min(i, heads)))
        rows.append([people(r)[0], pick(r, JOB), day(r, 2000, 2020), boss])
    c.add("staff", numbered(rows))
    c.add("orders", numbered([[str(r.randrange(1, n + 1)), day(r, 2021, 2024)] for _ in range(200)]))
    c.refer("staff", 4, "staff")
    c.refer("orders", 1, "staff")
    return c


def sliced(r):
    """Two years' exports of one log: the same things at other moments, no row is another."""
    c, who = Case(), [people(r) for _ in range(60)]
    for name, year in ("before", 2022), ("now", 2023):
        c.add(
            name,
            [
                [day(r, year, year + 1), w[0], w[5], f"{r.gauss(120, 12):.0f}", f"{r.gauss(80, 9):.0f}"]
                for w in (r.choice(who) for _ in range(500))
            ],
        )
    return c


def visits(r):
    """Patients, and what each visit repeats of its patient."""
    c, n = Case(), r.choice([60, 250])
    all_ = [people(r) for _ in range(n)]
    ids = r.sample(range(10000, 99999), n)
    c.add("patients", [[str(ids[i])] + w[:7] for i, w in enumerate(all_)])
    rows = []
    for _ in range(n * 3):
        i = r.randrange(n)
        rows.append([str(ids[i]), all_[i][0], all_[i][3], day(r, 2020, 2024), f"{r.gauss(37, 0.5):.1f}"])
    c.add("visits", rows)
    c.refer("visits", 0, "patients")
    return c


def moved(r):
    """A list and its next year's: a third have another address and telephone."""
    c, n = Case(), r.choice([200, 800])
    old = [people(r) for _ in range(n)]
    new = []
    for w in old:
        w = list(w)
        if r.random() < 0.33:
            w[2], w[4], w[5], w[6] = people(r)[2], *people(r)[4:7]
        new.append(w)
    at = list(range(n))
    r.shuffle(at)
    c.add("old", old)
    c.add("new", [new[i] for i in at])
    for k, i in enumerate(at):
        c.pair("old", i, "new", k)
    return c


def strangers(r, kind):
    """Two lists of one form that share nobody."""
    c, n = Case(), r.choice([100, 500, 1000])
    c.add("a", [kind(r) for _ in range(n)])
    c.add("b", [kind(r) for _ in range(n)])
    return c


def monthly(r):
    """Three months' orders of one shop, numbered on; customers come again, no order does."""
    c, who, first = Case(), [people(r) for _ in range(80)], r.randrange(1000, 9000)
    for month in 1, 2, 3:
        rows = []
        for _ in range(200):
            w = r.choice(who)
            rows.append(
                [
                    str(first),
                    f"2024-0{month}-{r.randrange(1, 29):02}",
                    w[0],
                    w[1],
                    f"{pick(r, THING)}",
                    f"{10 ** r.uniform(0.7, 2.5):.2f}",
                ]
            )
            first += 1
        c.add(f"m{month}", rows)
    return c


def tickers(r):
    """Two shares' prices on the same days: one row a day in each, and no row is the other's."""
    c = Case()
    for name in "north", "south":
        price, rows = 10 ** r.uniform(1, 2.5), []
        for d in range(400):
            price *= 1 + r.gauss(0, 0.015)
            rows.append(
                [
                    str(datetime.date(2022, 1, 3) + datetime.timedelta(d)),
                    *(f"{price * (1 + r.gauss(0, 0.008)):.2f}" for _ in range(4)),
                    str(int(10 ** r.uniform(4, 6))),
                ]
            )
        c.add(name, rows)
    return c


def survey(r):
    """Two waves of a questionnaire, other people each time."""
    c = Case()
    for name in "first", "second":
        rows = [
            [str(r.randrange(18, 80)), r.choice("mf")]
            + [str(r.choice([1, 2, 3, 3, 4, 4, 5])) for _ in range(10)]
            for _ in range(300)
        ]
        c.add(name, numbered(rows))
    return c


def towns(r):
    """Two tables of one row a town, which share the town's name alone: one refers to the other by it."""
    c = Case()
    towns = sorted({pick(r, CITY) for _ in range(300)})
    c.add("a", [[t, f"{r.uniform(-90, 90):.3f}", f"{r.uniform(-180, 180):.3f}"] for t in towns])
    at = r.sample(range(len(towns)), len(towns) * 3 // 4)
    c.add("b", [[towns[i], str(r.randrange(1, 99) * 1000), f"{r.uniform(0, 40):.1f}"] for i in at])
    c.refer("b", 0, "a")
    return c


def variants(r):
    """A catalogue: one article in sizes and colours. No row is another."""
    c, rows = Case(), []
    for _ in range(60):
        name, price = f"{pick(r, MAKE)} {pick(r, THING)}", f"{10 ** r.uniform(1, 2):.2f}"
        for size in r.sample(["S", "M", "L", "XL"], r.randrange(1, 5)):
            for colour in r.sample(["red", "blue", "black", "white"], r.randrange(1, 3)):
                rows.append([f"{r.randrange(10**5):05}-{size}", name, size, colour, price])
    c.add("articles", rows)
    return c


def invoices(r):
    """Invoices of a few clients, the same amount each month. No row is another."""
    c, rows, number = Case(), [], r.randrange(100, 9000)
    who = [(companies(r), f"{10 ** r.uniform(2, 3.5):.2f}") for _ in range(25)]
    for month in range(1, 13):
        for w, amount in who:
            rows.append(
                [f"R-{number:06}", f"2024-{month:02}-01", w[0], w[3], amount, r.choice(["paid", "open"])]
            )
            number += 1
    c.add("invoices", rows)
    return c


def families(r):
    """A parish list: families share name, address and telephone. No row is another."""
    c, rows = Case(), []
    for _ in range(90):
        w = people(r)
        last = w[0].split(" ", 1)[1]
        for _ in range(r.randrange(1, 5)):
            v = people(r)
            rows.append([f"{v[0].split(' ')[0]} {last}", v[3], w[2], w[4], w[5], w[6]])
    c.add("members", rows)
    return c


def branches(r):
    """Branches of companies: one name, other towns. No row is another."""
    c, rows = Case(), []
    for _ in range(50):
        w = companies(r)
        for _ in range(r.randrange(1, 7)):
            v = people(r)
            rows.append([w[0], w[1], v[4], v[5], v[6], v[2]])
    r.shuffle(rows)
    c.add("branches", rows)
    return c


def hours(r):
    """A time sheet: person, day, project, hours. Rows may be equal and are two."""
    c, rows = Case(), []
    for d in range(60):
        for w in ["A. Meza", "J. Roth", "K. Ilves", "P. Dunn"]:
            for _ in range(r.randrange(1, 4)):
                rows.append(
                    [
                        str(datetime.date(2024, 1, 1) + datetime.timedelta(d)),
                        w,
                        r.choice(["site", "app", "audit"]),
                        r.choice(["0.5", "1", "1.5", "2", "4"]),
                    ]
                )
    c.add("hours", rows)
    return c


KINDS = {
    "monthly": monthly,
    "tickers": tickers,
    "survey": survey,
    "towns": towns,
    "variants": variants,
    "invoices": invoices,
    "families": families,
    "branches": branches,
    "hours": hours,
    "three": three,
    "copied": lambda r: copied(r, r.choice([10001, 5000]), r.random() < 0.5, r.choice([people, companies])),
    "shifted": shifted,
    "renumbered": renumbered,
    "few": few,
    "counters-round": counters_round,
    "counters-any": counters_any,
    "torn": torn,
    "counted": counted,
    "bosses": bosses,
    "sliced": sliced,
    "visits": visits,
    "moved": moved,
    "strangers-people": lambda r: strangers(r, people),
    "strangers-firms": lambda r: strangers(r, companies),
    "strangers-goods": lambda r: strangers(r, product),
}


def ask(case, folder):
    os.makedirs(folder, exist_ok=True)
    for name, rows in case.tables.items():
        with open(f"{folder}/{name}.csv", "w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows([[f"c{i}" for i in range(len(rows[0]))]] + rows)
    files = [f"{folder}/{name}.csv" for name in case.tables]
    said = subprocess.run(
        [TABELLA, "run", "--json", "--target", "none", "--header-rows", "1", *files],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return json.loads(said)


def column(text):
    table, _, c = text.partition(".c")
    return table, int(c)


def judge_set(case, r, k, verbose):
    """A reference by several columns."""
    a, b = [column(x) for x in r["a_columns"]], [column(x) for x in r["b_columns"]]
    by = frozenset((x[1], y[1]) for x, y in zip(a, b))
    back = frozenset((y, x) for x, y in by)
    right = (a[0][0], by, b[0][0]) in case.sets or (b[0][0], back, a[0][0]) in case.sets
    k["sets right" if right else "sets wrong"] += 1
    k["sets sure and wrong"] += not right and r["confidence"] >= 0.7
    if verbose and not right:
        print("   wrong", a, b, r["relation"], r["confidence"])


def judge(case, bundle, k, verbose):
    m = bundle["cross_table_map"] or {"relations": [], "entity_matches": []}
    said = set()
    for r in m["relations"]:
        if not r["key"]:
            continue
        if len(r["a_columns"]) > 1:
            judge_set(case, r, k, verbose)
            continue
        a, b = column(r["a_columns"][0]), column(r["b_columns"][0])
        # one to one has no side, else the child is the side of many
        right = a + b in case.refs or b + a in case.refs
        said.add((a, b) if a < b else (b, a))
        k["refs right" if right else "refs wrong"] += 1
        k["refs sure and wrong"] += not right and r["confidence"] >= 0.7
        if verbose and not right:
            print("   wrong", a, b, r["relation"], r["confidence"])
    missed = [x for x in case.refs if ((x[:2], x[2:]) if x[:2] < x[2:] else (x[2:], x[:2])) not in said]
    k["refs missed"] += len(missed)
    k["sets missed"] += len(case.sets)
    if verbose and missed:
        print("   missed", missed)
    pairs = set()
    for e in m["entity_matches"]:
        a, b = (e["a_table"], e["a_row"]), (e["b_table"], e["b_row"])
        pair = (a, b) if a < b else (b, a)
        pairs.add(pair)
        k["pairs right" if pair in case.same else "pairs wrong"] += 1
        k["pairs sure and wrong"] += pair not in case.same and e["confidence"] >= 0.9
        if verbose and pair not in case.same:
            print("   wrong pair", *pair, e["confidence"])
    k["pairs missed"] += len(case.same - pairs)
    for group in (g for d in bundle["duplicates"] for g in d["groups"]):
        k["duplicates wrong"] += len(group["rows"]) - 1
        k["duplicates sure and wrong"] += (len(group["rows"]) - 1) * (group["confidence"] >= 0.9)
        if verbose:
            print("   duplicates", group["rows"], group["confidence"])


def main(kinds_):
    out, verbose = sys.argv[1], "--verbose" in sys.argv
    seeds = [x for x in sys.argv[2:] if x.isdigit()] or ["1", "2", "3"]
    kinds = [x for x in sys.argv[2:] if x in kinds_] or list(kinds_)
    for name in kinds:
        k = collections.Counter()
        for seed in seeds:
            case = kinds_[name](random.Random(f"{name} {seed}"))
            judge(case, ask(case, f"{out}/{name}-{seed}"), k, verbose)
        k["sets missed"] -= k["sets right"]
        print(f"{name:16} " + ", ".join(f"{x} {n}" for x, n in sorted(k.items()) if n), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(KINDS)
