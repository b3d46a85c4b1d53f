#!/usr/bin/env python3
"""Two small tables whose keys are the same values, or only look so: relation, columns and pairs of rows.

  small.py KINDS [SEED ...] [--verbose]    KINDS: `seen`, `unseen`, `all`, or names. Tables of 12 to 20 rows
           (some of 40 to 100); each kind is drawn anew by each seed and asked of `tabella run`
           (TABELLA; default build/release/bin/tabella)

Kinds named no-* hold nothing in common that would name a row: whatever is said of them is wrong. Lists that
everybody knows (months, countries) are under may-*: what is said is counted, and is neither right nor wrong.
"""
import collections, csv, datetime, json, os, random, string, subprocess, sys, tempfile

TABELLA = os.environ.get("TABELLA", "build/release/bin/tabella")
FIRST = """Anna Bob Carl Dora Emil Fritz Gina Hans Ida Jan Kim Lea Max Nora Olaf Pia Rosa Sven Tina Uwe Vera
Willi Xenia Yann Zoe Ben Clara David Eva Felix Greta Hugo""".split()
LAST = """Meyer Smith Jones Novak Rossi Blanc Garcia Olsen Keller Brandt Fischer Stone Walker Hill Green Adams
Nowak Silva Costa Lund Berg Dahl Moser Huber Wagner Becker Koch Wolf Lang Frank""".split()
WORDS = """river atlas copper meadow signal harbor lantern ember orchid falcon granite velvet comet willow
summit prairie beacon cedar marble thunder canyon mirror saffron tundra""".split()
CITIES = """Berlin Paris Rome Madrid Vienna Oslo Bern Prague Lisbon Dublin Athens Warsaw Riga Vilnius Tallinn
Helsinki Stockholm Copenhagen Budapest Zagreb Sofia Bucharest Porto Lyon Turin Ghent Leeds Graz""".split()
COUNTRIES = """Germany France Italy Spain Austria Norway Switzerland Czechia Portugal Ireland Greece Poland Latvia
Lithuania Estonia Finland Sweden Denmark Hungary Croatia Bulgaria Romania Belgium Netherlands""".split()
MONTHS = """January February March April May June July August September October November December""".split()
STATES = """Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Georgia Hawaii Idaho
Illinois Indiana Iowa Kansas Kentucky Louisiana Maine Maryland""".split()
UPPER = string.ascii_uppercase


def few(r):
    return r.randrange(12, 21)


def distinct(r, n, make):
    s = dict()
    while len(s) < n:
        s[make(r)] = None
    return list(s)


def letters(r, n):
    return "".join(r.choice(UPPER) for _ in range(n))


def digits(r, n):
    return str(r.randrange(10 ** (n - 1), 10**n))


def person(r):
    return f"{r.choice(FIRST)} {r.choice(LAST)}"


def mail(r):
    return f"{r.choice(FIRST)}.{r.choice(LAST)}@{r.choice(['firm.example', 'mail.example'])}".lower()


def company(r):
    return f"{r.choice(LAST)} {r.choice(WORDS).title()} {r.choice(['Ltd', 'GmbH', 'Inc', 'SA'])}"


def iban(r):
    return f"DE{r.randrange(10, 99)}{r.randrange(10**17, 10**18)}"


def isbn(r):
    body = "978" + str(r.randrange(10**8, 10**9))
    return body + str(-sum(int(x) * (1 + 2 * (i % 2)) for i, x in enumerate(body)) % 10)


def plain(r):
    """A column that names nothing."""
    return r.choice(
        [
            lambda: str(r.randrange(18, 66)),
            lambda: r.choice(["HR", "IT", "Ops", "Sales"]),
            lambda: f"{r.gauss(3000, 600):.2f}",
            lambda: r.choice(["yes", "no"]),
            lambda: f"{r.uniform(0, 10):.1f}",
            lambda: str(datetime.date(2020, 1, 1) + datetime.timedelta(r.randrange(1500))),
            lambda: f"R{r.randrange(1, 40)}",
            lambda: r.choice("ABCDE"),
        ]
    )


def table(r, keys, name, extra=2, at=0):
    """Rows with a header: the keys, and other columns beside them."""
    makers = [plain(r) for _ in range(extra)]
    rows = [[f"x{i}" for i in range(extra)]] + [[m() for m in makers] for _ in keys]
    for row, key in zip(rows, [name] + keys):
        row.insert(at, key)
    return rows


def both(make, n=None, shuffle=True, named=("key", "key"), extra=(2, 2), at=(0, 0), shared=1.0):
    """Two tables with the same keys, or with a share of them."""

    def draw(r):
        size = n or few(r)
        all_ = distinct(r, 2 * size, make)
        k = round(shared * size)
        a, b = all_[:size], all_[:k] + all_[size : 2 * size - k]
        if shuffle:
            r.shuffle(b)
        return (
            table(r, a, named[0], extra[0], at[0]),
            table(r, b, named[1], extra[1], at[1]),
            (at[0], at[1]) if k else None,
            {(i, b.index(x)) for i, x in enumerate(a) if x in b},
        )

    return draw


def alike(values, shuffle=True, extra=2):
    """Two tables that tell of unlike things, whose columns hold the same values: counters, ranks, marks."""

    def draw(r):
        a = list(values(r))
        b = list(a)
        if shuffle:
            r.shuffle(b)
        return table(r, a, "p", extra), table(r, b, "q", extra), None, set()

    return draw


def apart(make_a, make_b):
    """Two tables of things that have nothing in common."""

    def draw(r):
        a, b = distinct(r, few(r), make_a), distinct(r, few(r), make_b)
        b = [x for x in b if x not in a]
        return table(r, a, "p"), table(r, b, "q"), None, set()

    return draw


def class_lists(r):
    """First names of two classes of pupils, some of which are the same by chance."""
    return table(r, r.sample(FIRST, few(r)), "pupil"), table(r, r.sample(FIRST, few(r)), "pupil"), None, set()


def spread(low, high, step=1):
    return lambda r: [str(x) for x in r.sample(range(low, high, step), few(r))]


SEEN = {
    "staff": both(person, named=("name", "employee")),
    "mails": both(mail, shuffle=False),
    "codes": both(lambda r: f"{letters(r, 2)}-{digits(r, 4)}"),
    "codes-else": both(lambda r: f"{letters(r, 2)}{digits(r, 3)}", named=("ref", "code"), at=(0, 2)),
    "numbers": both(lambda r: digits(r, 5)),
    "numbers-100": both(lambda r: digits(r, 5), n=100),
    "numbers-12": both(lambda r: digits(r, 5), n=12, shuffle=False),
    "companies": both(company, named=("company", "supplier")),
    "names-alone": both(person, extra=(0, 0)),
    "most": both(person, shared=0.85),
    "half": both(mail, shared=0.5),
    "no-counters": alike(lambda r: range(1, few(r) + 1), shuffle=False),
    "no-ranks": alike(lambda r: range(1, few(r) + 1)),
    "no-people": apart(person, person),
    "no-codes": apart(lambda r: f"{letters(r, 2)}{digits(r, 3)}", lambda r: f"{letters(r, 2)}{digits(r, 3)}"),
    "no-numbers": apart(lambda r: digits(r, 5), lambda r: digits(r, 5)),
    "no-flags": alike(lambda r: [r.choice(["yes", "no"]) for _ in range(few(r))]),
    "no-ages": lambda r: (
        table(r, spread(20, 45)(r), "age"),
        table(r, spread(20, 45)(r), "age"),
        None,
        set(),
    ),
    "no-pupils": class_lists,
    "may-months": alike(lambda r: MONTHS, shuffle=False),
    "may-countries": alike(lambda r: r.sample(COUNTRIES, few(r))),
}
UNSEEN = {
    "isbn": both(isbn),
    "plates": both(
        lambda r: f"{letters(r, 1)}-{letters(r, 2)} {r.randrange(10, 9999)}", named=("plate", "car")
    ),
    "users": both(lambda r: f"{r.choice(WORDS)}{r.randrange(10, 99)}", at=(1, 0)),
    "iban": both(iban),
    "hex": both(lambda r: f"{r.randrange(16**7, 16**8):x}"),
    "titles": both(lambda r: " ".join(r.sample(WORDS, 3)), named=("title", "project")),
    "tickers": both(lambda r: letters(r, 4), shuffle=False),
    "telephones": both(lambda r: f"+49 30 {digits(r, 7)}"),
    "streets": both(lambda r: f"{r.choice(WORDS).title()} Street {r.randrange(1, 150)}"),
    "domains": both(lambda r: f"{r.choice(WORDS)}-{r.choice(WORDS)}.example", named=("site", "domain")),
    "sevens": both(lambda r: digits(r, 7)),
    "sevens-else": both(lambda r: digits(r, 7), named=("nr", "id"), at=(2, 0), extra=(3, 1)),
    "numbers-40": both(lambda r: digits(r, 5), n=40),
    "three-quarters": both(lambda r: f"{letters(r, 3)}-{digits(r, 4)}", shared=0.75),
    "no-letters": alike(lambda r: UPPER[: few(r)]),
    "no-seats": alike(lambda r: [f"A{i}" for i in range(1, few(r) + 1)]),
    "no-hours": alike(lambda r: range(few(r)), shuffle=False),
    "no-tens": alike(lambda r: range(10, 10 * few(r) + 1, 10)),
    "no-years": alike(lambda r: range(2005, 2005 + few(r)), shuffle=False),
    "no-grades": alike(lambda r: [r.choice("ABCDEF") for _ in range(few(r))]),
    "no-firms": apart(company, company),
    "no-users": apart(
        lambda r: f"{r.choice(WORDS)}{r.randrange(10, 99)}",
        lambda r: f"{r.choice(WORDS)}{r.randrange(10, 99)}",
    ),
    "no-prices": apart(lambda r: f"{r.randrange(1, 40)}.99", lambda r: f"{r.randrange(1, 40)}.99"),
    "no-percent": lambda r: (
        table(r, spread(0, 101, 5)(r), "p"),
        table(r, spread(0, 101, 5)(r), "q"),
        None,
        set(),
    ),
    "may-states": alike(lambda r: r.sample(STATES, few(r))),
    "may-cities": alike(lambda r: r.sample(CITIES, few(r))),
    "may-days": alike(
        lambda r: [str(datetime.date(2024, 3, 1) + datetime.timedelta(i)) for i in range(few(r))],
        shuffle=False,
    ),
}


def ask(a, b, folder):
    for name, rows in ("a", a), ("b", b):
        with open(f"{folder}/{name}.csv", "w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows(rows)
    said = subprocess.run(
        [
            TABELLA,
            "run",
            "--json",
            "--target",
            "none",
            "--header-rows",
            "1",
            f"{folder}/a.csv",
            f"{folder}/b.csv",
        ],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return json.loads(said)["cross_table_map"]


def judge(k, said, a, b, key, same):
    """Counts what is right, wrong and missed of relations, columns and pairs of rows."""
    names = key and {"a." + a[0][key[0]], "b." + b[0][key[1]]}
    counts = (
        (
            "relations",
            [(set(x["a_columns"] + x["b_columns"]) == names, x) for x in said["relations"] if x["key"]],
            1 if key else 0,
        ),
        ("columns", [({x["a"], x["b"]} == names, x) for x in said["column_alignment"]], 1 if key else 0),
        (
            "pairs",
            [
                (
                    ((x["a_row"], x["b_row"]) if x["a_table"] == "a" else (x["b_row"], x["a_row"])) in same,
                    x,
                )
                for x in said["entity_matches"]
            ],
            len(same),
        ),
    )
    for what, found, true in counts:
        right = sum(ok for ok, _ in found)
        k[what, "right"] += right
        k[what, "wrong"] += len(found) - right
        k[what, "missed"] += true - right
        k[what, "sure and wrong"] += sum(not ok and x["confidence"] >= 0.9 for ok, x in found)
        for ok, x in found:
            k[what, "doubt"] += abs(ok - x["confidence"])
            k[what, "said"] += x["confidence"]


def line(name, k):
    parts = []
    for what in "relations", "columns", "pairs":
        n = [k[what, x] for x in ("right", "wrong", "missed", "sure and wrong")]
        if any(n):
            mean = k[what, "said"] / max(1, n[0] + n[1])
            parts.append(f"{what} {n[0]} right, {n[1]} wrong ({n[3]} sure), {n[2]} missed, said {mean:.2f}")
    print(f"{name:16} " + ("; ".join(parts) or "nothing"), flush=True)


def main():
    kinds = SEEN | UNSEEN
    asked = [x for x in sys.argv[1:] if not x.startswith("--")]
    seeds = [x for x in asked if x.isdigit()] or ["1", "2", "3", "4", "5"]
    names = [x for x in asked if x in kinds]
    names = names or list({"seen": SEEN, "unseen": UNSEEN, "all": kinds}[asked[0]])
    total = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            k = collections.Counter()
            for seed in seeds:
                a, b, key, same = kinds[name](random.Random(f"{name} {seed}"))
                judge(k, ask(a, b, folder), a, b, key, same)
            if "--verbose" in sys.argv:
                line(name, k)
            total[name[:3] if name[:3] in ("no-", "may") else "related"] += k
    for name, k in total.items():
        line(name, k)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
