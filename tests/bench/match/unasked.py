#!/usr/bin/env python3
"""Questions of which rows are the same that no other bench asks: three systems' customers with duplicates
of their own, an older state of a list, shops that share hardly anybody, invoices beside a bank's lines, price
lists by model number, offers, staff beside users, a street's houses, seats, tickers, songs and films made
again, groups of companies; and of each what two lists say that share nobody (KIND-none).

  unasked.py OUT [SEED ...] [KIND ...] [--verbose]    makes each kind for each seed, asks `tabella run`, and
             says: pairs at 0.5 and what of these is right, the same at 0.9, recall, calibration error, pairs
             in 1,000 rows where nobody is shared, duplicates right, wrong and missed
"""
import collections, csv, datetime, json, os, random, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from overlaps import CITY, FIRST, LAST, MAKE, SECTOR, THING, WORD, day, pick

from unasked_lists import ROAD, LINES, Lists, size, split, crm3, version, shops, staff
from unasked_lists import handful, look_up, repeated

TABELLA = os.environ.get("TABELLA", "build/release/bin/tabella")
ENDS = ["free shipping", "2 years warranty", "best price"]


def payments(r, share=0.8):
    """Invoices beside a bank's lines: the amount, a day some days later, the name shortened."""
    n, c = size(r), Lists()
    firms = [
        f"{pick(r, WORD)} {pick(r, WORD)} {r.choice(['GmbH', 'Ltd', 'AG', 'Inc'])}" for _ in range(n // 6 + 5)
    ]
    a, b = split(r, n, share, 2)
    inv, bank = {}, {}
    for i in range(n):
        who, amount, when = (
            r.choice(firms),
            r.choice([r.uniform(20, 4000), r.choice([49, 99, 199, 250])]),
            datetime.date(2024, 1, 1) + datetime.timedelta(r.randrange(180)),
        )
        inv[i] = [f"R{20240000 + i}", when, who, f"{amount:.2f}"]
        paid = when + datetime.timedelta(r.randrange(0, 25))
        text = who.upper().rsplit(" ", 1)[0][: r.choice([12, 16, 20])]
        if r.random() < 0.3:
            text += f" RG {20240000 + i}"
        bank[i] = [
            f"{paid:%d.%m.%Y}",
            text,
            f"{amount:.2f}".replace(".", ","),
            r.choice(["SEPA", "transfer", "card"]),
        ]
    c.add("invoices", ["number", "date", "customer", "total"], [(i, inv[i]) for i in a], r)
    c.add("bank", ["booked", "purpose", "amount", "kind"], [(i, bank[i]) for i in b], r)
    return c


def article(r):
    """A model's number, its text, a price."""
    model = (
        f"{r.choice('ABCGHKMPRSTX')}{r.choice('ACDRSTXZ')}{r.choice(['-', '', ' '])}{r.randrange(100, 9999)}"
    )
    return [
        model,
        f"{pick(r, MAKE)} {r.choice(LINES)} {r.choice([12, 18, 24, 230])}V",
        f"{10 ** r.uniform(0.9, 3):.2f}",
    ]


def models(r, n):
    """Families of models that differ in a digit or a letter behind."""
    out, seen = [], set()
    while len(out) < n:
        make, line = pick(r, MAKE), r.choice(LINES)
        stem, base = r.choice("ABCGHKMPRSTX") + r.choice("ACDRSTXZ"), r.randrange(10, 900) * 10
        for _ in range(r.randrange(1, 6)):
            model = f"{stem}{base + r.randrange(10)}{r.choice(['', '', '', 'B', 'S'])}"
            if model not in seen:
                seen.add(model)
                out.append(
                    (make, line, model, r.choice(["black", "white", "grey", ""]), 10 ** r.uniform(1.2, 3))
                )
    return out[:n]


def pricelists(r, share=0.6):
    """A supplier's price lists of two years: one digit more is another product."""
    n, c = size(r), Lists()
    all_ = models(r, n)
    a, b = split(r, n, share, 2)
    c.add(
        "prices_2023",
        ["model", "description", "price", "unit"],
        [(i, [m, f"{k} {l} {m} {x}".strip(), f"{p:.2f}", "pc"]) for i in a for k, l, m, x, p in [all_[i]]],
        r,
    )
    c.add(
        "prices_2024",
        ["text", "net", "stock"],
        [
            (
                i,
                [
                    f"{l.capitalize()} {m[:2]}-{m[2:]} {x}, {k}".replace(" ,", ","),
                    f"{p * r.uniform(1, 1.12):.2f}".replace(".", ","),
                    r.randrange(90),
                ],
            )
            for i in b
            for k, l, m, x, p in [all_[i]]
        ],
        r,
    )
    return c


def offers(r, share=0.4):
    """Three shops' offers: titles that each writes its own way, prices that differ a little."""
    n, c = size(r, 300, 2000), Lists()
    all_ = models(r, n)

    def title(k, l, m, x):
        m = r.choice([m, m, f"{m[:2]}-{m[2:]}", f"{m[:2]} {m[2:]}"])
        return r.choice(
            [
                f"{k} {m} {l} {x}",
                f"{k} {l} {m} ({x})" if x else f"{k} {l} {m}",
                f"{l.capitalize()} {k} {m}, {x or 'new'}, {r.choice(ENDS)}",
            ]
        ).strip()

    for name, held in zip(("shop_a", "shop_b", "shop_c"), split(r, n, share, 3)):
        c.add(
            name,
            ["sku", "title", "price"],
            [
                (
                    i,
                    [
                        f"{name[-1].upper()}{r.randrange(10**6):06}",
                        title(k, l, m, x),
                        f"{p * r.uniform(0.9, 1.1):.2f}",
                    ],
                )
                for i in held
                for k, l, m, x, p in [all_[i]]
            ],
            r,
        )
    return c


def street(r, share=0.7):
    """All houses of some streets in two registers: owner and year here, meter and owner there."""
    c, all_ = Lists(), []
    for road in {pick(r, ROAD) for _ in range(r.choice([1, 3, 10]))}:
        for k in range(1, r.randrange(60, 200)):
            all_.append((road, f"{k}{r.choice(['', '', '', 'a'])}", pick(r, LAST), r.randrange(1890, 2020)))
    a, b = split(r, len(all_), share, 2)
    if share == 0:  # the odd side beside the even one
        a = [i for i, x in enumerate(all_) if int(x[1].rstrip("a")) % 2]
        b = [i for i, x in enumerate(all_) if int(x[1].rstrip("a")) % 2 == 0]
    c.add("register", ["street", "house", "owner", "built"], [(i, list(all_[i])) for i in a], r)
    c.add(
        "meters",
        ["address", "meter", "reading"],
        [
            (
                i,
                [
                    f"{x[0].replace('Street', 'St.').replace('Road', 'Rd')} {x[1]}",
                    r.randrange(10**6, 10**7),
                    r.randrange(9999),
                ],
            )
            for i in b
            for x in [all_[i]]
        ],
        r,
    )
    return c


def seats(r):
    """The seats of two halls; weekdays, shelves and terms that two lists count alike: none is the other's."""
    c, kind = Lists(), r.randrange(5)
    labels = [
        [f"{x}{k}" for x in "AB"[: r.choice([1, 2])] for k in range(1, 21)],
        [f"Room {k}" for k in range(101, 140)],
        [f"{x}-{k:02}" for x in "ABC" for k in range(1, 13)],
        [f"Week {k}" for k in range(1, 53)],
        [f"Team {k}" for k in range(1, 25)],
    ][kind]
    c.add(
        "hall",
        ["place", "price", "state"],
        [(None, [x, r.choice([20, 35, 50]), r.choice(["free", "sold"])]) for x in labels],
    )
    c.add(
        "theatre",
        ["seat", "visitor", "row_height"],
        [(None, [x, pick(r, LAST), f"{r.uniform(0, 4):.1f}"]) for x in labels],
        r,
    )
    return c


def tickers(r, share=0.6):
    """Symbols of shares: holdings beside quotes."""
    c, n = Lists(), r.choice([14, 40, 300])
    sym = set()
    while len(sym) < n:
        sym.add("".join(r.choice("ABCDEFGHIKLMNOPRSTUVWX") for _ in range(r.choice([3, 4, 4]))))
    sym = sorted(sym)
    r.shuffle(sym)
    a, b = split(r, n, share, 2)
    c.add(
        "holdings",
        ["symbol", "shares", "bought"],
        [(i, [sym[i], r.randrange(5, 500), day(r, 2015, 2024)]) for i in a],
        r,
    )
    c.add(
        "quotes",
        ["ticker", "close", "volume"],
        [(i, [sym[i], f"{10 ** r.uniform(0.5, 2.7):.2f}", r.randrange(10**4, 10**7)]) for i in b],
        r,
    )
    return c


def songs(r, share=0.5):
    """Songs of two catalogues with live versions and covers."""
    n, c, all_ = size(r), Lists(), []
    while len(all_) < n:
        artist, title = (
            f"{pick(r, WORD)} {r.choice(['Band', 'Brothers', 'Trio', pick(r, LAST)])}",
            f"{pick(r, WORD)} {pick(r, THING)}",
        )
        year, length = r.randrange(1960, 2015), r.randrange(130, 330)
        all_.append((title, artist, year, length, ""))
        if r.random() < 0.25:
            all_.append((title, artist, year + r.randrange(1, 8), length + r.randrange(15, 90), "Live"))
        if r.random() < 0.2:
            all_.append(
                (
                    title,
                    f"{pick(r, FIRST)} {pick(r, LAST)}",
                    year + r.randrange(3, 30),
                    length + r.randrange(-30, 30),
                    "",
                )
            )
        if r.random() < 0.1:
            all_.append((title, artist, year, length + r.randrange(-25, -5), "Radio Edit"))
    a, b = split(r, len(all_), share, 2)
    c.add(
        "library",
        ["track", "artist", "year", "length"],
        [
            (i, [f"{t} ({v})" if v else t, x, y, f"{l // 60}:{l % 60:02}"])
            for i in a
            for t, x, y, l, v in [all_[i]]
        ],
        r,
    )
    c.add(
        "chart",
        ["performer", "title", "seconds", "plays"],
        [
            (
                i,
                [
                    x.upper() if r.random() < 0.1 else x,
                    f"{t} - {v}" if v else t,
                    l + r.randrange(-1, 2),
                    r.randrange(10**5),
                ],
            )
            for i in b
            for t, x, y, l, v in [all_[i]]
        ],
        r,
    )
    return c


def films(r, share=0.5):
    """Films of two sites, some made again decades later."""
    n, c, all_ = size(r), Lists(), []
    while len(all_) < n:
        t, y = f"{r.choice(['The ', '', ''])}{pick(r, WORD)} {pick(r, THING)}", r.randrange(1935, 2000)
        all_.append((t, y, f"{pick(r, FIRST)} {pick(r, LAST)}", r.randrange(75, 170)))
        if r.random() < 0.2:
            all_.append(
                (t, y + r.randrange(12, 40), f"{pick(r, FIRST)} {pick(r, LAST)}", r.randrange(75, 170))
            )
        if r.random() < 0.1:
            all_.append((t + " 2", y + r.randrange(1, 5), all_[-1][2], r.randrange(75, 170)))
    a, b = split(r, len(all_), share, 2)
    c.add("site", ["title", "year", "director", "minutes"], [(i, list(all_[i])) for i in a], r)
    c.add(
        "guide",
        ["film", "by", "rating"],
        [
            (
                i,
                [
                    f"{t[4:]}, The ({y})" if t.startswith("The ") else f"{t} ({y})",
                    d.split(" ", 1)[1],
                    f"{r.uniform(2, 9):.1f}",
                ],
            )
            for i in b
            for t, y, d, m in [all_[i]]
        ],
        r,
    )
    return c


def groups(r, share=0.5):
    """Companies of groups: Acme Ltd, Acme Holding, Acme GmbH, each an entity of its own."""
    n, c, all_ = size(r), Lists(), []
    while len(all_) < n:
        name, city = f"{pick(r, WORD)} {pick(r, WORD)}" if r.random() < 0.6 else pick(r, LAST), pick(r, CITY)
        kinds = [
            "Ltd",
            "GmbH",
            "Holding AG",
            "Services GmbH",
            "Logistics Ltd",
            "Holding Ltd",
            "Inc",
            "Real Estate GmbH",
        ]
        for k in r.sample(kinds, r.choice([1, 1, 1, 2, 3, 4])):
            all_.append(
                (
                    f"{name} {k}",
                    city if r.random() < 0.7 else pick(r, CITY),
                    f"{pick(r, ROAD)} {r.randrange(1, 99)}",
                    r.choice(SECTOR[0]),
                    f"HRB {r.randrange(1000, 99999)}",
                )
            )
    a, b = split(r, len(all_), share, 2)
    c.add(
        "suppliers",
        ["company", "street", "city", "sector"],
        [(i, [x[0], x[2], x[1], x[3]]) for i in a for x in [all_[i]]],
        r,
    )
    c.add(
        "register",
        ["firm", "seat", "number", "capital"],
        [
            (
                i,
                [
                    x[0].upper() if r.random() < 0.2 else x[0].replace("Ltd", "Limited"),
                    x[1],
                    x[4],
                    r.choice([25000, 50000, 100000]),
                ],
            )
            for i in b
            for x in [all_[i]]
        ],
        r,
    )
    return c


def partners(r, share=0.4):
    """Companies of groups in three systems, with addresses, sites and duplicates."""
    n, c, all_ = size(r), Lists(), []
    while len(all_) < n:
        name = f"{pick(r, WORD)} {pick(r, WORD)}" if r.random() < 0.7 else pick(r, LAST)
        site, city = name.lower().replace(" ", "") + r.choice([".com", ".de", ".eu"]), pick(r, CITY)
        for k in r.sample(["Ltd", "GmbH", "Holding", "Services", "Logistics"], r.choice([1, 1, 1, 2, 3])):
            all_.append(
                (
                    name,
                    k,
                    city,
                    f"{pick(r, ROAD)} {r.randrange(1, 99)}",
                    site,
                    f"{r.randrange(200, 999)} {r.randrange(10**5, 10**6)}",
                )
            )
    tables = split(r, len(all_), share, 3)
    for name, head, held, how in zip(
        ("erp", "leads", "fair"),
        (
            ["name", "street", "city", "site"],
            ["company", "phone", "town", "web", "owner"],
            ["exhibitor", "tel", "address"],
        ),
        tables,
        (
            lambda x: [f"{x[0]} {x[1]}", x[3], x[2], x[4]],
            lambda x: [
                f"{x[0].upper()} {x[1]}" if r.random() < 0.3 else f"{x[0]} {x[1]}",
                x[5],
                x[2],
                "www." + x[4] if r.random() < 0.7 else "",
                pick(r, LAST),
            ],
            lambda x: [f"{x[0]} {x[1]}", "+44 " + x[5], f"{x[3]}, {x[2]}"],
        ),
    ):
        c.add(name, head, [(i, how(all_[i])) for i in held for _ in range(1 + (r.random() < 0.04))], r)
    return c


def none(kind):
    return lambda r: kind(r, share=0)


KINDS = {
    "crm3": crm3,
    "versions-kept": lambda r: version(r, "kept", r.choice(["people", "goods"])),
    "versions-renumbered": lambda r: version(r, "again", r.choice(["people", "goods"])),
    "versions-no-ids": lambda r: version(r, "", r.choice(["people", "goods"])),
    "shops": shops,
    "payments": payments,
    "pricelists": pricelists,
    "offers": offers,
    "staff": staff,
    "street": street,
    "seats": seats,
    "tickers": tickers,
    "songs": songs,
    "films": films,
    "groups": groups,
    "partners": partners,
    "look_up": look_up,
    "look_up-alike": lambda r: look_up(r, 0, True),
    "look_up-beside": lambda r: look_up(r, 0.4, True),
    "handful": handful,
    "repeated": repeated,
    "versions-none": lambda r: version(r, "", r.choice(["people", "goods"]), 0),
} | {
    f"{f.__name__}-none": none(f)
    for f in (
        crm3,
        shops,
        payments,
        pricelists,
        offers,
        staff,
        street,
        tickers,
        songs,
        films,
        groups,
        partners,
        look_up,
        handful,
        repeated,
    )
}


def ask(case, folder):
    os.makedirs(folder, exist_ok=True)
    for name, rows in case.rows.items():
        with open(f"{folder}/{name}.csv", "w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows([case.head[name]] + rows)
    files = [f"{folder}/{name}.csv" for name in case.rows]
    said = subprocess.run(
        [TABELLA, "run", "--json", "--target", "none", "--header-rows", "1", *files],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return json.loads(said)


def calibration(pairs):
    """Mean distance of what is said from what is right, by tenths of confidence, by their pairs."""
    bins = collections.defaultdict(list)
    for p, right in pairs:
        bins[min(int(p * 10), 9)].append((p, right))
    return sum(abs(sum(p - x for p, x in b)) for b in bins.values()) / max(len(pairs), 1)


def judge(case, bundle, verbose):
    """(confidence, right) of pairs, of duplicates, and how many of either there are."""
    true, within = case.pairs(), case.pairs(True)
    said, dups = [], []

    def show(a, b, p, right):
        if verbose and not right:
            print(f"   wrong {p:.3f}", a[0], case.rows[a[0]][a[1]], "|", b[0], case.rows[b[0]][b[1]])

    for e in (bundle["cross_table_map"] or {"entity_matches": []})["entity_matches"]:
        a, b = (e["a_table"], e["a_row"]), (e["b_table"], e["b_row"])
        pair = (min(a, b), max(a, b))
        said.append((e["confidence"], pair in true, pair))
        show(a, b, e["confidence"], pair in true)
    for d in bundle["duplicates"]:
        for g in d["groups"]:
            rows = sorted(g["rows"])
            for k, x in enumerate(rows):
                for y in rows[:k]:
                    pair = ((d["table"], y), (d["table"], x))
                    dups.append((g["confidence"], pair in within, pair))
                    if verbose and pair not in within:
                        print("   wrong duplicate", end="")
                        show(*pair, g["confidence"], False)
    if verbose == 2:
        for a, b in sorted(true - {x[2] for x in said})[:20]:
            print("   missed", a[0], case.rows[a[0]][a[1]], "|", b[0], case.rows[b[0]][b[1]])
    return said, len(true), dups, len(within)


def main():
    out, verbose = sys.argv[1], 2 * ("--missed" in sys.argv) or "--verbose" in sys.argv
    seeds = [x for x in sys.argv[2:] if x.isdigit()] or ["1", "2", "3"]
    for name in [x for x in sys.argv[2:] if x in KINDS] or list(KINDS):
        all_, there, dups, copies, rows, begun = [], 0, [], 0, 0, time.time()
        for seed in seeds:
            case = KINDS[name](random.Random(f"{name} {seed}"))
            bundle = ask(case, f"{out}/{name}-{seed}")
            said, n, d, m = judge(case, bundle, verbose)
            k = sum(len(x) for x in case.rows.values())
            if verbose:
                print(
                    f"  {name} {seed}: rows {k}, pairs {n}, said {len(said)}, right {sum(x[1] for x in said)}"
                )
            all_, there, dups, copies, rows = all_ + said, there + n, dups + d, copies + m, rows + k
        right, sure = sum(x[1] for x in all_), [x for x in all_ if x[0] >= 0.9]
        line = f"{name:20} rows {rows:6} said {len(all_):5} right {right:5}"
        line += f" sure {len(sure):5} wrong {sum(not x[1] for x in sure):4}"
        if there:
            line += f" recall {right / there:.3f} calibration {calibration([x[:2] for x in all_]):.3f}"
        else:
            line += f" in 1,000 rows {1000 * len(all_) / rows:.2f}"
        if copies or dups:
            sure = [x for x in dups if x[0] >= 0.9]
            line += f"; duplicates right {sum(x[1] for x in dups)} of {copies}"
            line += f" wrong {sum(not x[1] for x in dups)} sure and wrong {sum(not x[1] for x in sure)}"
        print(line, f"({time.time() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
