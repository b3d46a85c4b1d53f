#!/usr/bin/env python3
"""Makes schemas whose keys have several columns, for tests/bench/keys: several.py OUT.

Eleven kinds, each a family that is left out as a whole: seasons, cups, races, places, courses, games, stock, ledgers,
sensors, languages, seats.  Each has tables that refer to such a key and tables that only look like it: other
facts about the same pair of things, numbers that start anew in each group, small grids that hold everything.
The same bytes on each run."""

import csv
import os
import random
import sys

from made import WORDS, Keys, attribute

VARIANTS = 6
STYLES = ("dense", "dense", "shuffled", "gaps", "offset", "nine", "code", "letters")


class World:
    """The tables and the keys of one schema as they are made."""

    def __init__(self, rng):
        self.rng, self.tables, self.truth = rng, {}, []

    def keys(self, n, style=None):
        return getattr(Keys(self.rng), style or self.rng.choice(STYLES))(n)

    def size(self, least, most):
        """Small sizes as often as large ones."""
        return int(least * (most / least) ** self.rng.random())

    def add(self, name, columns, rows, number=0.3):
        """rows: the columns that are keys or parts of keys; attributes are put beside them, and before them
        in a share of the tables a number of the row."""
        rng = self.rng
        cells = [list(x) for x in zip(*rows)]
        named = list(zip(columns, cells))
        for i in range(rng.randrange(1, 5)):
            what, x = attribute(rng, len(rows), len(rows))
            named.append((f"{what}{i}", x))
        if rng.random() < 0.1:
            rng.shuffle(named)
        if len(columns) > 1 and rng.random() < number:
            named.insert(0, ("id", list(range(1, len(rows) + 1))))
        if rng.random() < 0.3:
            order = list(range(len(rows)))
            rng.shuffle(order)
            named = [(c, [x[i] for i in order]) for c, x in named]
        self.tables[name] = named

    def refer(self, child, columns, parent, theirs=None):
        self.truth.append((child, columns, parent, theirs or columns))

    def some(self, rows, n):
        """n rows of a parent, of a share of them; some are taken more often than others."""
        rng = self.rng
        few = rng.sample(rows, max(4, int(len(rows) * rng.choice([1.0, 0.9, 0.6, 0.3]))))
        few = few[: len(rows)]
        if rng.random() < 0.5:
            return [rng.choice(few) for _ in range(n)]
        weights = [rng.paretovariate(1.3) for _ in few]
        return rng.choices(few, weights, k=n)

    def grid(self, a, b, share):
        """Pairs of a share of the grid, by the first."""
        return [(x, y) for x in a for y in b if self.rng.random() < share]


def codes(rng, pairs, years):
    """Other names of the teams, by other books: a few had another one in their first years."""
    teams = sorted({t for t, _ in pairs}, key=str)
    until = {t: rng.choice(years) for t in rng.sample(teams, max(1, len(teams) // 10))}
    name = {t: "".join(rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(3)) for t in until}
    return [name[t] if y < until.get(t, 0) else t for t, y in pairs]


def seasons(w):
    rng = w.rng
    teams, years = w.keys(w.size(10, 60)), list(range(rng.randrange(1950, 2005), 2020))[-w.size(5, 40) :]
    people = w.keys(w.size(60, 500))
    since = {t: rng.choice(years) for t in teams}
    team_years = [(t, y) for y in years for t in teams if y >= since[t]]
    w.add("team", ["team"], [(t,) for t in teams])
    w.add("player", ["player"], [(p,) for p in people])
    w.add(
        "team_season",
        ["team", "year", "code", "other_code", "games"],
        [
            (*ty, a, b, rng.randrange(30, 60))
            for ty, a, b in zip(team_years, codes(rng, team_years, years), codes(rng, team_years, years))
        ],
    )
    played = list({(p, *ty) for p, ty in zip(rng.choices(people, k=2500), w.some(team_years, 2500))})
    w.add("batting", ["player", "team", "year"], played)
    w.add("salary", ["player", "team", "year"], [x for x in played if rng.random() < 0.4])
    # what a player did after the season, in three ways: facts beside one another
    after = [
        (p, t, y, rng.choice(["F", "H", "Q"]), rng.randrange(1, 8))
        for p, t, y in rng.sample(played, len(played) // 3)
    ]
    for t, share in (("batting_post", 1.0), ("fielding_post", 0.9), ("pitching_post", 0.4)):
        w.add(t, ["player", "team", "year", "round", "games"], [x for x in after if rng.random() < share])
    w.add("manager", ["player", "team", "year"], [(rng.choice(people), *x) for x in w.some(team_years, 200)])
    w.add(
        "award", ["player", "year"], [(rng.choice(people), rng.choice(years)) for _ in range(w.size(40, 400))]
    )
    final = [
        (y, *rng.sample([t for t in teams if since[t] <= y], 2))
        for y in years
        if y > sorted(since.values())[2]
    ]
    w.add("final", ["year", "winner", "loser"], final)
    for t in ("batting", "manager", "salary", "batting_post", "fielding_post", "pitching_post"):
        w.refer(t, ("team", "year"), "team_season")
        w.refer(t, ("player",), "player")
    w.refer("award", ("player",), "player")
    for c in ("winner", "loser"):
        w.refer("final", (c,), "team", ("team",))
        w.refer("final", (c, "year"), "team_season", ("team", "year"))
    w.refer("team_season", ("team",), "team")
    for t in ("team_season", "award"):
        w.refer(t, ("year",), "final")


def cups(w):
    """Of the teams of a season some are seeded, and those play: whether a match is said to refer to the seed or
    to the season's team is a matter of taste, and is drawn."""
    rng = w.rng
    team, season = w.keys(w.size(16, 90)), list(range(1990, 2024))[-w.size(6, 30) :]
    there = w.grid(season, team, rng.choice([0.5, 0.8, 0.95]))
    seeds = [x for x in there if rng.random() < rng.choice([0.3, 0.7])]
    by = {y: [x for x in seeds if x[0] == y] for y in season}
    w.add("team", ["team"], [(t,) for t in team])
    w.add("season", ["season"], [(y,) for y in season])
    w.add("league_team", ["season", "team"], there)
    w.add("seed", ["season", "team"], seeds)
    w.add("coach", ["season", "team"], [x for x in there for _ in range(rng.choice([1] * 15 + [2]))])
    games = []
    for y in season:
        for _ in range(rng.randrange(10, 40)):
            if len(by[y]) >= 2:
                (_, a), (_, b) = rng.sample(by[y], 2)
                games.append((y, rng.randrange(100, 130), a, rng.randrange(55, 95), b, rng.randrange(40, 80)))
    games = list({(x[0], x[1], x[2]): x for x in games}.values())
    columns = ["season", "day", "winner", "score", "loser", "lost"]
    w.add("game", columns, games)
    w.add("game_detail", columns, [x for x in games if x[0] >= season[len(season) // 3]])
    w.add(
        "friendly",
        ["season", "home", "guest"],
        [(x[0], x[1], w.some([z for z in there if z[0] == x[0]] * 2, 1)[0][1]) for x in w.some(there, 300)],
    )
    seeded = "seed" if rng.random() < 0.5 else "league_team"
    for t in ("game", "game_detail"):
        for c in ("winner", "loser"):
            w.refer(t, ("season", c), seeded, ("season", "team"))
    for c in ("home", "guest"):
        w.refer("friendly", ("season", c), "league_team", ("season", "team"))
    for t in ("seed", "coach"):
        w.refer(t, ("season", "team"), "league_team")
    w.refer("league_team", ("season",), "season")
    w.refer("league_team", ("team",), "team")


def races(w):
    rng = w.rng
    race, driver, maker = w.keys(w.size(20, 200)), w.keys(w.size(25, 200)), w.keys(w.size(8, 30))
    of = {d: rng.choice(maker) for d in driver}
    results = []
    for r in race:
        for i, d in enumerate(rng.sample(driver, min(len(driver), 20))):
            results.append((r, d, of[d] if rng.random() < 0.9 else rng.choice(maker), i + 1))
    w.add("race", ["race"], [(r,) for r in race])
    w.add("driver", ["driver"], [(d,) for d in driver])
    w.add("maker", ["maker"], [(m,) for m in maker])
    w.add("result", ["race", "driver", "maker", "place"], results)
    stops = [(r[0], r[1], i + 1) for r in w.some(results, 900) for i in range(rng.randrange(1, 4))]
    w.add("stop", ["race", "driver", "stop"], list(dict.fromkeys(stops)))
    w.add(
        "lap", ["race", "driver", "lap"], [(r[0], r[1], i) for r in w.some(results, 60) for i in range(1, 20)]
    )
    # sums by race and maker are facts beside one another: neither refers to the other
    sums = list(dict.fromkeys((r[0], r[2]) for r in results))
    w.add("maker_result", ["race", "maker"], [x for x in sums if rng.random() < 0.97])
    w.add("maker_standing", ["race", "maker"], sums)
    w.add(
        "practice",
        ["race", "driver", "number"],
        [(r[0], r[1], rng.randrange(1, 90)) for r in results if rng.random() < 0.5],
    )
    w.add("driver_standing", ["race", "driver"], [r[:2] for r in results if rng.random() < 0.98])
    w.add(
        "penalty",
        ["race", "points"],
        [(rng.choice(race), rng.randrange(1, 8)) for _ in range(w.size(30, 300))],
    )
    for t in ("stop", "lap", "practice"):
        w.refer(t, ("race", "driver"), "result")
    w.refer("driver_standing", ("race",), "race")
    w.refer("driver_standing", ("driver",), "driver")
    w.refer("result", ("race",), "race")
    w.refer("result", ("driver",), "driver")
    w.refer("result", ("maker",), "maker")
    w.refer("penalty", ("race",), "race")
    for t in ("maker_result", "maker_standing"):
        w.refer(t, ("race",), "race")
        w.refer(t, ("maker",), "maker")


def places(w):
    rng = w.rng
    country = w.keys(w.size(12, 80), "letters")
    names = [" ".join(x).title() for x in zip(rng.choices(WORDS, k=4000), rng.choices(WORDS, k=4000))]
    few = [x.title() for x in rng.sample(WORDS, 60)]
    province = list({(rng.choice(few), c) for c in country for _ in range(rng.randrange(2, 14))})
    pool = rng.sample(names, w.size(150, 1500))
    city = list({(rng.choice(pool), *rng.choice(province)) for _ in range(w.size(300, 3000))})
    w.add("country", ["code"], [(c,) for c in country])
    w.add("province", ["name", "country"], province)
    w.add("city", ["name", "province", "country"], city)
    w.refer("province", ("country",), "country", ("code",))
    w.refer("city", ("province", "country"), "province", ("name", "country"))
    for t, least, most in (("airport", 60, 600), ("station", 100, 900), ("factory", 40, 200)):
        w.add(t, ["city", "province", "country"], w.some(city, w.size(least, most)))
        w.refer(t, ("city", "province", "country"), "city", ("name", "province", "country"))
    for t, least, most in (("mountain", 60, 300), ("lake", 40, 200)):
        w.add(t, ["province", "country"], w.some(province, w.size(least, most)))
        w.refer(t, ("province", "country"), "province", ("name", "country"))
    w.add("treaty", ["country", "partner"], [(rng.choice(country), rng.choice(country)) for _ in range(200)])
    for c in ("country", "partner"):
        w.refer("treaty", (c,), "country", ("code",))
    # a seat is told by town and country, or by town and province: not the whole of the key
    w.add("office", ["city", "country"], [(x[0], x[2]) for x in w.some(city, w.size(40, 300))])
    w.add("harbour", ["city", "province"], [(x[0], x[1]) for x in w.some(city, w.size(40, 300))])
    river = [f"{x.title()} River" for x in rng.sample(WORDS, 40)]
    course = list({(rng.choice(river), *x) for x in w.some(province, w.size(60, 300))})
    w.add("river_course", ["river", "province", "country"], course)
    w.add("river_mouth", ["river", "province", "country"], rng.sample(course, len(course) // 4))
    for t in ("river_course", "river_mouth"):
        w.refer(t, ("province", "country"), "province", ("name", "country"))
    w.refer("office", ("country",), "country", ("code",))
    # people give the name of a town and a country as they come to mind
    guest = [(rng.choice(pool), rng.choice(country)) for _ in range(w.size(60, 400))]
    w.add("guest", ["town", "country"], guest)
    w.refer("guest", ("country",), "country", ("code",))


def courses(w):
    rng = w.rng
    course, terms = w.keys(w.size(20, 200)), [
        f"{y}{t}" for y in range(2010, 2010 + w.size(3, 12)) for t in "SW"
    ]
    student = w.keys(w.size(80, 900))
    section = [
        (c, t, i + 1)
        for c in course
        for t in terms
        if rng.random() < 0.6
        for i in range(rng.choice([1, 1, 2, 3, 4]))
    ]
    w.add("course", ["course"], [(c,) for c in course])
    w.add("student", ["student"], [(s,) for s in student])
    w.add("section", ["course", "term", "section"], section)
    w.add(
        "enrolment",
        ["student", "course", "term", "section"],
        [(rng.choice(student), *x) for x in w.some(section, w.size(400, 4000))],
    )
    w.add("exam", ["course", "term", "section"], w.some(section, w.size(80, 700)))
    w.refer("section", ("course",), "course")
    for t in ("enrolment", "exam"):
        w.refer(t, ("course", "term", "section"), "section")
    w.refer("enrolment", ("student",), "student")
    # a list of books by course and term is nothing that rooms or plans refer to
    w.add("book", ["course", "term"], w.grid(course, terms, rng.choice([0.5, 0.9, 1.0])))
    w.add("plan", ["course", "term"], w.grid(course, terms, rng.choice([0.2, 0.5])))
    for t in ("book", "plan"):
        w.refer(t, ("course",), "course")
    w.add("fee", ["student", "term"], w.grid(rng.sample(student, 60), terms, 0.3))
    w.refer("fee", ("student",), "student")


def games(w):
    """Small tables that are counted from 1: no key of several columns refers to anything."""
    rng = w.rng
    n = {
        t: w.size(*s)
        for t, s in (("generation", (5, 9)), ("kind", (8, 20)), ("place", (20, 90)), ("item", (60, 900)))
    }
    for t in n:
        w.add(t, ["id"], [(i,) for i in range(1, n[t] + 1)])
    every = lambda t: range(1, n[t] + 1)  # noqa: E731

    # of each generation another number of things is numbered from 1 on; all that is counted grows with it
    def index(of, most):
        x = []
        for g in every("generation"):
            many = rng.sample(list(every(of)), max(4, int(n[of] * (g / n["generation"]) ** most)))
            x += [(i, g, k + 1) for k, i in enumerate(sorted(many))]
        return x

    w.add("item_index", ["item", "generation", "index"], index("item", 2), 0)
    w.add("place_index", ["place", "generation", "index"], index("place", 1), 0)
    w.add("kind_effect", ["kind", "against"], w.grid(every("kind"), every("kind"), rng.choice([0.7, 1.0])), 0)
    # numbers of tables that are not there: effects, chains, colours, shapes
    w.add(
        "being",
        ["generation", "kind", "colour", "chain", "shape"],
        [
            (
                1 + i * n["generation"] // 400,
                rng.choice(every("kind")),
                rng.randrange(1, 10),
                1 + rng.randrange(1 + i // 20),
                rng.randrange(1, 15),
            )
            for i in range(400)
        ],
        0,
    )
    moves = w.size(100, 700)
    w.add(
        "move",
        ["generation", "kind", "effect", "power", "turns"],
        [
            (
                1 + i * n["generation"] // moves,
                rng.choice(every("kind")),
                rng.randrange(1, rng.choice([5, 20])),
                rng.randrange(1, 30),
                rng.randrange(1, 9),
            )
            for i in range(moves)
        ],
        0,
    )
    w.add(
        "machine",
        ["number", "generation", "move"],
        [(k + 1, g, rng.randrange(1, 300)) for g in every("generation") for k in range(rng.randrange(5, 60))],
        0,
    )
    w.add(
        "learn",
        ["kind", "item", "level"],
        [
            (rng.choice(every("kind")), rng.choice(every("item")), rng.randrange(1, 60))
            for _ in range(w.size(300, 2000))
        ],
        0,
    )
    for t, c in (
        ("item_index", "item"),
        ("place_index", "place"),
        ("item_index", "generation"),
        ("place_index", "generation"),
        ("kind_effect", "kind"),
        ("kind_effect", "against"),
        ("being", "kind"),
        ("being", "generation"),
        ("move", "kind"),
        ("move", "generation"),
        ("learn", "kind"),
        ("learn", "item"),
    ):
        w.refer(t, (c,), "kind" if c == "against" else c, ("id",))


def stock(w):
    rng = w.rng
    store, product = w.keys(w.size(8, 40)), w.keys(w.size(40, 400))
    held = w.grid(store, product, rng.choice([0.15, 0.4, 0.8]))
    w.add("store", ["store"], [(s,) for s in store])
    w.add("product", ["product"], [(p,) for p in product])
    w.add("assortment", ["store", "product"], held)
    w.add("movement", ["store", "product"], w.some(held, w.size(400, 4000)))
    w.add("reorder", ["store", "product"], w.some(held, w.size(60, 500)))
    weeks = list(range(1, 53))[: w.size(10, 52)]
    # both tell of the same stores and weeks
    told = w.grid(store, weeks, rng.choice([0.6, 0.8, 1.0]))
    w.add("week_sales", ["store", "week"], told)
    w.add("week_target", ["store", "week"], [x for x in told if rng.random() < 0.9])
    w.add("week_staff", ["store", "week"], [x for x in told if rng.random() < 0.98])
    w.add(
        "complaint",
        ["store", "product", "rating"],
        [(rng.choice(store), rng.choice(product), rng.randrange(1, 6)) for _ in range(w.size(50, 400))],
    )
    w.refer("assortment", ("store",), "store")
    w.refer("assortment", ("product",), "product")
    for t in ("movement", "reorder"):
        w.refer(t, ("store", "product"), "assortment")
    for t in ("week_sales", "week_target", "week_staff", "complaint"):
        w.refer(t, ("store",), "store")
    w.refer("complaint", ("product",), "product")


def ledgers(w):
    rng = w.rng
    company = w.keys(w.size(4, 40))
    count = lambda most: [(c, i + 1) for c in company for i in range(w.size(3, most))]  # noqa: E731
    invoice, contract = count(120), count(40)
    w.add("company", ["company"], [(c,) for c in company])
    w.add("invoice", ["company", "number"], invoice)
    w.add("contract", ["company", "number"], contract)
    w.add("payment", ["company", "number"], w.some(invoice, w.size(200, 2000)))
    w.add("reminder", ["company", "number"], w.some(invoice, w.size(40, 300)))
    w.add(
        "clause",
        ["company", "number", "clause"],
        [(*x, i + 1) for x in contract for i in range(rng.randrange(1, 6))],
    )
    w.add(
        "visit",
        ["company", "visitors"],
        [(rng.choice(company), rng.randrange(1, 12)) for _ in range(w.size(40, 300))],
    )
    for t in ("payment", "reminder"):
        w.refer(t, ("company", "number"), "invoice")
    w.refer("clause", ("company", "number"), "contract")
    for t in ("invoice", "contract", "visit"):
        w.refer(t, ("company",), "company")


def sensors(w):
    rng = w.rng
    station = w.keys(w.size(10, 80))
    if rng.random() < 0.5:
        sensor = [(s, i + 1) for s in station for i in range(rng.randrange(1, 9))]
    else:
        kinds = ["air", "co", "dust", "hum", "no", "ozone", "press", "rain", "sun", "temp", "wind"]
        sensor = [(s, k) for s in station for k in rng.sample(kinds, rng.randrange(1, 9))]
    what = sorted({b for _, b in sensor})
    w.add("station", ["station"], [(s,) for s in station])
    w.add("sensor", ["station", "channel"], sensor)
    w.add("reading", ["station", "channel"], w.some(sensor, w.size(800, 5000)))
    w.add("calibration", ["station", "channel"], w.some(sensor, w.size(50, 400)))
    w.add(
        "alarm",
        ["station", "level"],
        [(rng.choice(station), rng.choice(what[:5])) for _ in range(w.size(50, 600))],
    )
    w.refer("sensor", ("station",), "station")
    w.refer("alarm", ("station",), "station")
    for t in ("reading", "calibration"):
        w.refer(t, ("station", "channel"), "sensor")


def languages(w):
    rng = w.rng
    product, language = (
        w.keys(w.size(30, 300)),
        ["de", "en", "es", "fr", "it", "nl", "pl", "pt"][: w.size(3, 8)],
    )
    currency = ["CHF", "EUR", "GBP", "JPY", "SEK", "USD"][: w.size(3, 6)]
    text, price = w.grid(product, language, rng.choice([0.5, 0.8])), w.grid(
        product, currency, rng.choice([0.4, 0.7])
    )
    w.add("product", ["product"], [(p,) for p in product])
    w.add("text", ["product", "language"], text)
    w.add("price", ["product", "currency"], price)
    w.add("item", ["product", "currency"], w.some(price, w.size(300, 3000)))
    w.add("proofread", ["product", "language"], w.some(text, w.size(40, 400)))
    w.add(
        "review",
        ["product", "language"],
        [(rng.choice(product), rng.choice(language)) for _ in range(w.size(60, 900))],
    )
    w.refer("item", ("product", "currency"), "price")
    w.refer("proofread", ("product", "language"), "text")
    for t in ("text", "price", "review"):
        w.refer(t, ("product",), "product")


def seats(w):
    rng = w.rng
    hall = w.keys(w.size(4, 15))
    seat = []
    for h in hall:
        for r in "ABCDEFGHIJKLMNOP"[: rng.randrange(4, 16)]:
            seat += [(h, r, i + 1) for i in range(rng.randrange(5, 14))]
    showing = w.keys(w.size(40, 300))
    where = {s: rng.choice(hall) for s in showing}
    by_hall = {h: [x for x in seat if x[0] == h] for h in hall}
    w.add("hall", ["hall"], [(h,) for h in hall])
    w.add("seat", ["hall", "row", "number"], seat)
    w.add("showing", ["showing", "hall"], [(s, where[s]) for s in showing])
    tickets = []
    for _ in range(w.size(400, 4000)):
        s = rng.choice(showing)
        tickets.append((s, *rng.choice(by_hall[where[s]])))
    w.add("ticket", ["showing", "hall", "row", "number"], tickets)
    w.add("defect", ["hall", "row", "number"], w.some(seat, w.size(30, 200)))
    w.add("cleaning", ["hall", "weekday"], [(h, d) for h in hall for d in range(1, 8)])
    w.add(
        "shift", ["hall", "people"], [(rng.choice(hall), rng.randrange(1, 7)) for _ in range(w.size(40, 300))]
    )
    for t in ("ticket", "defect"):
        w.refer(t, ("hall", "row", "number"), "seat")
    w.refer("seat", ("hall",), "hall")
    w.refer("showing", ("hall",), "hall")
    w.refer("ticket", ("showing",), "showing")
    for t in ("cleaning", "shift"):
        w.refer(t, ("hall",), "hall")


KINDS = (seasons, cups, races, places, courses, games, stock, ledgers, sensors, languages, seats)


def through(truth):
    """And what follows: a column of a key that itself refers to a table leads there as well."""
    truth = list(dict.fromkeys(truth))
    for child, columns, parent, theirs in truth:
        for a, b in zip(columns, theirs):
            for t, c, further, own in list(truth):
                if (
                    len(columns) > 1
                    and t == parent
                    and c == (b,)
                    and further != child
                    and (child, (a,), further, own) not in truth
                ):
                    truth.append((child, (a,), further, own))
    return truth


def spoil(w):
    """In one of four tables that refer by several columns a few rows refer to nothing."""
    for child, columns, _, _ in w.truth:
        if len(columns) < 2 or w.rng.random() < 0.75:
            continue
        of = dict(w.tables[child])[columns[-1]]
        for i in w.rng.sample(range(len(of)), int(len(of) * w.rng.choice([0.005, 0.02, 0.04]))):
            of[i] = w.rng.choice(of)


def write(out, name, family, w):
    spoil(w)
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    for table, named in w.tables.items():
        with open(os.path.join(folder, table + ".csv"), "w", newline="") as f:
            rows = csv.writer(f, lineterminator="\n")
            rows.writerow([c for c, _ in named])
            rows.writerows(zip(*[x for _, x in named]))
    with open(os.path.join(folder, "truth.csv"), "w", newline="") as f:
        rows = csv.writer(f, lineterminator="\n")
        rows.writerow(["child", "columns", "parent", "parent_columns"])
        rows.writerows([[a, "|".join(b), c, "|".join(d)] for a, b, c, d in through(w.truth)])
    with open(os.path.join(folder, "family.txt"), "w") as f:
        f.write(family + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for kind in KINDS:
        for i in range(VARIANTS):
            made = World(random.Random(f"several {kind.__name__} {i}"))
            kind(made)
            write(sys.argv[1], f"made-{kind.__name__}-{i}", f"made-{kind.__name__}", made)
