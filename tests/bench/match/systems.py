#!/usr/bin/env python3
"""Schemas as systems keep them, with known truth: a school, a clinic, a warehouse, a ledger, a fleet, a
library, tables of versions and of translations, two systems' lists of the same people.

  systems.py OUT [SEED ...] [KIND ...] [--verbose]    as asked.py
"""
import datetime, os, random, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from asked import Case, main, numbered
from overlaps import (
    CITY,
    FIRST,
    JOB,
    LAST,
    MAKE,
    ROAD,
    THING,
    TOPIC,
    companies,
    day,
    often,
    people,
    pick,
    words,
)

DISEASE, DRUG = often(words("disease", 60), 0.8), often(words("drug", 80), 0.8)
COUNTRY = often(words("country", 60), 1)


def shares(r, n):
    """How often each of n things is meant: some often, many now and then."""
    return [r.paretovariate(1.4) for _ in range(n)]


def meant(r, keys, weights):
    return r.choices(keys, weights)[0]


def keyed(r, n, style):
    """n keys of a system: counted, in a wide range, padded with zeros, with a letter in front."""
    if style == "counted":
        return [str(i + 1) for i in range(n)]
    if style == "wide":
        return [str(x) for x in sorted(r.sample(range(10000, 99999), n))]
    if style == "padded":
        return [f"{x:06}" for x in sorted(r.sample(range(1, 30 * n), n))]
    return [f"{r.choice('KPZ')}{x}" for x in r.sample(range(1000, 9999), n)]


def style_of(r):
    return r.choice(["counted", "counted", "wide", "padded", "lettered"])


def moment(r, first, last):
    return f"{day(r, first, last)} {r.randrange(6, 22):02}:{r.randrange(60):02}"


def school(r):
    """Pupils, teachers, rooms, courses that build on others; who takes what; marks; a timetable."""
    c, n = Case(), r.choice([60, 240])
    pupils, teachers = keyed(r, n, style_of(r)), keyed(r, r.choice([9, 22]), style_of(r))
    rooms, courses = [f"{f}.{i:02}" for f in range(3) for i in range(6)], []
    for i in range(r.choice([14, 40])):
        courses.append(
            [f"{r.choice(['MA', 'PH', 'EN', 'HI'])}{101 + i}", pick(r, TOPIC), r.choice(["2", "3", "4"])]
            + [meant(r, teachers, shares(r, len(teachers)))]
            + [r.choice(courses)[0] if i > 3 and r.random() < 0.5 else ""]
        )
    c.add("pupils", [[k] + people(r)[:1] + [day(r, 2005, 2012), str(r.randrange(5, 13))] for k in pupils])
    c.add("teachers", [[k, people(r)[0], people(r)[1], day(r, 1990, 2022)] for k in teachers])
    c.add("rooms", [[k, str(r.randrange(12, 60)), r.choice(["yes", "no"])] for k in rooms])
    c.add("courses", courses)
    takes = [(p, k[0]) for p in pupils for k in r.sample(courses, 5)]
    c.add("takes", [list(x) for x in takes])
    c.add(
        "marks",
        numbered(
            [
                [*x, str(r.choice([2022, 2023])), str(r.choice([1, 1, 2, 2, 2, 3, 3, 4, 5]))]
                for x in r.sample(takes, len(takes) * 3 // 4)
            ]
        ),
    )
    c.add(
        "timetable",
        [
            [k[0], r.choice(["Mon", "Tue", "Wed", "Thu", "Fri"]), str(r.randrange(8, 17)), r.choice(rooms)]
            for k in courses
            for _ in range(int(k[2]))
        ],
    )
    c.refer("courses", 3, "teachers")
    c.refer("courses", 4, "courses")
    c.refer("takes", 0, "pupils")
    c.refer("takes", 1, "courses")
    c.refer("marks", 1, "pupils")
    c.refer("marks", 2, "courses")
    c.refer("timetable", 0, "courses")
    c.refer("timetable", 3, "rooms")
    c.refer_by("marks", (1, 2), "takes", (0, 1))
    return c


def clinic(r):
    """Patients, doctors, wards, visits; what was found in each visit, by line; what was prescribed for it."""
    c, n = Case(), r.choice([150, 600])
    patients, doctors = keyed(r, n, style_of(r)), keyed(r, r.choice([8, 25]), style_of(r))
    wards, visits = keyed(r, 7, "counted"), keyed(r, n * 2, r.choice(["counted", "wide", "padded"]))
    codes = [f"{r.choice('ABCEIJKM')}{i:02}.{r.randrange(10)}" for i in range(40)]
    w, v = shares(r, n), shares(r, len(doctors))
    c.add("patients", [[k] + people(r)[:7] for k in patients])
    c.add("doctors", [[k, people(r)[0], pick(r, JOB), r.choice(wards)] for k in doctors])
    c.add("wards", [[k, f"{pick(r, LAST)} ward", str(r.randrange(8, 40))] for k in wards])
    c.add("codes", [[k, pick(r, DISEASE)] for k in codes])
    c.add(
        "visits",
        [
            [k, meant(r, patients, w), meant(r, doctors, v), moment(r, 2021, 2024), f"{r.gauss(37, 0.6):.1f}"]
            for k in visits
        ],
    )
    found, drugs = [], []
    for k in visits:
        for line in range(r.choice([1, 1, 1, 2, 3])):
            found.append([k, str(line + 1), meant(r, codes, shares(r, len(codes)))])
            if r.random() < 0.6:
                drugs.append([k, str(line + 1), pick(r, DRUG), str(r.choice([5, 10, 20, 50])), "mg"])
    c.add("found", found)
    c.add("drugs", drugs)
    c.refer("doctors", 3, "wards")
    c.refer("visits", 1, "patients")
    c.refer("visits", 2, "doctors")
    c.refer("found", 0, "visits")
    c.refer("found", 2, "codes")
    c.refer("drugs", 0, "visits")
    c.refer_by("drugs", (0, 1), "found", (0, 1))
    return c


def warehouse(r):
    """Articles in groups of groups, places named by aisle and shelf, stock, moves from one place to another;
    the scanner writes articles in small letters."""
    c, n = Case(), r.choice([80, 300])
    articles = sorted(
        {f"{pick(r, MAKE)[:2].upper()}-{r.randrange(10**5):05}-{r.choice('AXQ')}" for _ in range(n)}
    )
    groups = [[str(i + 1), pick(r, THING), str(1 + r.randrange(min(i, 5))) if i else ""] for i in range(24)]
    makers = keyed(r, 15, style_of(r))
    places = [(f"{a}", f"{s}") for a in "ABCDE" for s in range(1, 9)]
    c.add("groups", groups)
    c.add("makers", [[k] + companies(r)[:4] for k in makers])
    c.add(
        "articles",
        [
            [k, f"{pick(r, MAKE)} {pick(r, THING)}", str(r.randrange(6, 25)), r.choice(makers)]
            + [f"{10 ** r.uniform(0, 2.5):.2f}"]
            for k in articles
        ],
    )
    c.add("places", [[*p, str(r.choice([100, 250, 500])), r.choice(["dry", "cold"])] for p in places])
    stock = [[*r.choice(places), k, str(r.randrange(0, 400))] for k in articles for _ in range(2)]
    c.add("stock", stock)
    c.add(
        "moves",
        numbered(
            [
                [moment(r, 2023, 2024), r.choice(articles).lower(), str(r.choice([1, 1, 2, 5, 10, 24]))]
                + [*r.choice(places), *r.choice(places)]
                for _ in range(900)
            ]
        ),
    )
    c.refer("groups", 2, "groups")
    c.refer("articles", 2, "groups")
    c.refer("articles", 3, "makers")
    c.refer("stock", 2, "articles")
    c.refer("moves", 2, "articles")
    c.refer_by("stock", (0, 1), "places", (0, 1))
    c.refer_by("moves", (4, 5), "places", (0, 1))
    c.refer_by("moves", (6, 7), "places", (0, 1))
    return c


def ledger(r):
    """A chart of accounts, of which some are parts of others; entries with lines, each from account to
    account; cost centres; a rate a currency and day."""
    c = Case()
    accounts, money = sorted(r.sample(range(1000, 9999, 10), 70)), [
        "EUR",
        "USD",
        "GBP",
        "CHF",
        "SEK",
        "JPY",
        "PLN",
    ]
    heads = accounts[::12]
    centres = [str(x) for x in sorted(r.sample(range(100, 999), 11))]
    c.add(
        "accounts",
        [
            [str(k), pick(r, TOPIC), "" if k in heads else str(max(h for h in heads if h <= k))]
            + [r.choice(["asset", "cost", "income"])]
            for k in accounts
        ],
    )
    c.add("centres", [[k, pick(r, WORDS), people(r)[0]] for k in centres])
    days = [str(datetime.date(2023, 1, 2) + datetime.timedelta(7 * i)) for i in range(50)]
    c.add("rates", [[d, m, f"{r.uniform(0.5, 2):.4f}"] for d in days for m in money])
    n, lines = r.choice([150, 500]), []
    first = r.choice([1, 20001])
    c.add(
        "entries",
        [
            [str(first + i), r.choice(days), pick(r, TOPIC), meant(r, money, [9, 5, 2, 1, 1, 1, 1])]
            for i in range(n)
        ],
    )
    w = shares(r, len(accounts))
    for i in range(n):
        for line in range(r.choice([1, 2, 2, 3, 5])):
            lines.append(
                [str(first + i), str(line + 1), str(meant(r, accounts, w)), str(meant(r, accounts, w))]
                + [r.choice(centres), f"{10 ** r.uniform(1, 4):.2f}"]
            )
    c.add("lines", lines)
    c.refer("accounts", 2, "accounts")
    c.refer("lines", 0, "entries")
    c.refer("lines", 2, "accounts")
    c.refer("lines", 3, "accounts")
    c.refer("lines", 4, "centres")
    c.refer_by("entries", (1, 3), "rates", (0, 1))
    return c


def fleet(r):
    """Depots, vehicles by plate, drivers; who drove what from when to when; trips between depots; fuel."""
    c, n = Case(), r.choice([25, 90])
    depots, drivers = keyed(r, r.choice([6, 14]), style_of(r)), keyed(r, n, style_of(r))
    plates = sorted(
        {f"{r.choice(['AB', 'KC', 'ZT'])} {r.randrange(100, 999)} {r.choice('EFGH')}" for _ in range(n)}
    )
    c.add(
        "depots", [[k, pick(r, CITY), f"{r.uniform(40, 60):.4f}", f"{r.uniform(-5, 20):.4f}"] for k in depots]
    )
    c.add(
        "vehicles",
        [[k, pick(r, MAKE), str(r.randrange(2008, 2024)), r.choice(depots)] for k in plates],
    )
    c.add("drivers", [[k, people(r)[0], day(r, 1960, 2000), r.choice(depots)] for k in drivers])
    c.add(
        "assigned",
        [
            [p, r.choice(drivers), f"2023-{m:02}-01", f"2023-{m + 2:02}-28"]
            for p in plates
            for m in (1, 4, 7, 10)
        ],
    )
    trips = keyed(r, 700, r.choice(["counted", "wide"]))
    c.add(
        "trips",
        [
            [
                k,
                r.choice(plates),
                r.choice(drivers),
                r.choice(depots),
                r.choice(depots),
                moment(r, 2023, 2024),
            ]
            + [f"{10 ** r.uniform(0.5, 2.8):.1f}"]
            for k in trips
        ],
    )
    c.add(
        "fuel",
        numbered(
            [
                [
                    r.choice(plates),
                    moment(r, 2023, 2024),
                    f"{r.uniform(10, 90):.2f}",
                    f"{r.uniform(1.4, 2):.3f}",
                ]
                for _ in range(400)
            ]
        ),
    )
    for table in "vehicles", "drivers":
        c.refer(table, 3, "depots")
    c.refer("assigned", 0, "vehicles")
    c.refer("assigned", 1, "drivers")
    c.refer("trips", 1, "vehicles")
    c.refer("trips", 2, "drivers")
    c.refer("trips", 3, "depots")
    c.refer("trips", 4, "depots")
    c.refer("fuel", 1, "vehicles")
    return c


def library(r):
    """Books, writers, who wrote which; readers; loans, of which some are not back."""
    c, n = Case(), r.choice([120, 500])
    style = style_of(r)
    books, writers, readers = keyed(r, n, style), keyed(r, n // 3, style), keyed(r, n // 2, style)
    c.add(
        "books",
        [
            [k, " ".join(pick(r, TOPIC) for _ in range(r.randrange(2, 5))), str(r.randrange(1950, 2024))]
            + [str(r.randrange(80, 900)), pick(r, MAKE)]
            for k in books
        ],
    )
    c.add("writers", [[k, people(r)[0], str(r.randrange(1900, 1990)), pick(r, COUNTRY)] for k in writers])
    c.add("wrote", [[k, x] for k in books for x in r.sample(writers, r.choice([1, 1, 1, 2, 3]))])
    c.add("readers", [[k] + people(r)[:6] for k in readers])
    w = shares(r, n)
    loans = []
    for _ in range(n * 3):
        d = datetime.date(2022, 1, 1) + datetime.timedelta(r.randrange(700))
        back = str(d + datetime.timedelta(r.randrange(1, 40))) if r.random() < 0.9 else ""
        loans.append([meant(r, books, w), r.choice(readers), str(d), back])
    c.add("loans", numbered(loans) if r.random() < 0.5 else loans)
    shift = len(c.tables["loans"][0]) - 4
    c.refer("wrote", 0, "books")
    c.refer("wrote", 1, "writers")
    c.refer("loans", shift, "books")
    c.refer("loans", shift + 1, "readers")
    return c


def versions(r):
    """Customers, and each earlier state of theirs: number, from when, the same columns."""
    c, n, style = Case(), r.choice([100, 400]), style_of(r)
    keys = keyed(r, n, style)
    now, was = [], []
    for k in keys:
        w = people(r)
        y = 2015
        for _ in range(r.choice([0, 1, 1, 2, 3])):
            y += 2
            was.append([k, f"{y}-{r.randrange(1, 13):02}-01"] + w[:7])
            v = people(r)
            if r.random() < 0.6:
                w = w[:4] + v[4:7] + w[7:]
            else:
                w = w[:2] + v[2:3] + w[3:]
        now.append([k] + w[:7])
    c.add("customers", now)
    c.add("versions", was)
    c.refer("versions", 0, "customers")
    return c


def languages(r):
    """Articles, and their names in each language: a row an article and language."""
    c, n = Case(), r.choice([60, 300])
    keys = keyed(r, n, style_of(r))
    c.add(
        "articles",
        [[k, f"{10 ** r.uniform(0, 3):.2f}", str(r.randrange(0, 500)), day(r, 2015, 2024)] for k in keys],
    )
    c.add("languages", [["en", "English"], ["de", "German"], ["fr", "French"], ["es", "Spanish"]])
    names = []
    for k in keys:
        t = f"{pick(r, MAKE)} {pick(r, THING)}"
        for code in ["en", "de", "fr", "es"][: r.choice([2, 4, 4])]:
            names.append([k, code, t if code == "en" else f"{t} {pick(r, TOPIC)}"])
    c.add("names", names)
    c.refer("names", 0, "articles")
    c.refer("names", 1, "languages")
    return c


def other_system(r, w):
    """The same person as a second system has her: the name turned round, in capitals, another mail, another
    address, another last name."""
    f, l = w[0].split(" ", 1)
    v = people(r)
    mail, street, town, code = w[1], w[4], w[5], w[6]
    if r.random() < 0.3:  # another name for the same box, or another box
        local, host = mail.split("@")
        mail = r.choice([f"{local}+shop@{host}", f"{f[0]}{l}@{host}".lower().replace(" ", ""), v[1]])
    if r.random() < 0.15:
        street, town, code = v[4:7]
    if r.random() < 0.08:
        l = v[0].split(" ", 1)[1]
    phone = w[2].replace(" ", "") if r.random() < 0.7 else v[2]
    born = datetime.date.fromisoformat(w[3]).strftime("%d.%m.%Y")
    return [f"{l.upper()}, {f.upper()}", mail, phone, born, street.replace("Street", "St."), town, code]


def two_systems(r):
    """Customers of a shop and of its books: other numbers, other forms, some in both."""
    c, n = Case(), r.choice([300, 900])
    all_ = [people(r) for _ in range(n)]
    a = [i for i in range(n) if r.random() < 0.7]
    b = [i for i in range(n) if r.random() < 0.6]
    r.shuffle(b)
    ka, kb = keyed(r, len(a), "counted"), keyed(r, len(b), "padded")
    c.add("shop", [[k] + all_[i][:7] for k, i in zip(ka, a)])
    c.add("books", [[k] + other_system(r, all_[i]) for k, i in zip(kb, b)])
    at = {i: x for x, i in enumerate(b)}
    for x, i in enumerate(a):
        if i in at:
            c.pair("shop", x, "books", at[i])
    return c


def translated(r):
    """A list of offices in two languages: the countries' and towns' names translated, the rest the same."""
    c, n = Case(), r.choice([60, 200])
    lands = words("country", 30)
    other = {x: x[::-1].capitalize() + "ia" for x in lands}  # a language that nobody speaks
    rows = []
    for _ in range(n):
        w, p = companies(r), people(r)
        rows.append([w[0], p[4], p[5], r.choice(lands), p[2], str(r.randrange(3, 800))])
    at = list(range(n))
    r.shuffle(at)
    c.add("here", [x for x in rows])
    c.add(
        "there",
        [[rows[i][3] and other[rows[i][3]], rows[i][0], rows[i][2], rows[i][1], rows[i][4]] for i in at],
    )
    for k, i in enumerate(at):
        c.pair("here", i, "there", k)
    return c


def shop_of_two(r):
    """A shop's customers in the books of two branches, and each branch's orders by its own numbers."""
    c, n = Case(), r.choice([150, 500])
    all_ = [people(r) for _ in range(n)]
    for name, share in ("north", 0.7), ("south", 0.7):
        who = [i for i in range(n) if r.random() < share]
        r.shuffle(who)
        keys = keyed(r, len(who), "counted")
        c.add(f"{name}_customers", [[k] + all_[i][:7] for k, i in zip(keys, who)])
        c.add(
            f"{name}_orders",
            numbered(
                [[r.choice(keys), day(r, 2022, 2024), f"{10 ** r.uniform(1, 3):.2f}"] for _ in range(n * 2)]
            ),
        )
        c.refer(f"{name}_orders", 1, f"{name}_customers")
        c.at = getattr(c, "at", []) + [{i: k for k, i in enumerate(who)}]
    for i in c.at[0].keys() & c.at[1].keys():
        c.pair("north_customers", c.at[0][i], "south_customers", c.at[1][i])
    return c


WORDS = often(words("org_word", 100), 0.6)
KINDS = {
    "school": school,
    "clinic": clinic,
    "warehouse": warehouse,
    "ledger": ledger,
    "fleet": fleet,
    "library": library,
    "versions": versions,
    "languages": languages,
    "two-systems": two_systems,
    "translated": translated,
    "shop-of-two": shop_of_two,
}

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(KINDS)
