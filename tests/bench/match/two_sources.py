#!/usr/bin/env python3
"""The same things as two sources write them (fixtures, papers, episodes, hotels, houses, plates ...), and
things that are only alike (covers, fathers and sons, spouses, courses of two schools), with known truth.

  two_sources.py OUT [SEED ...] [KIND ...] [--verbose]    as brought.py
"""
import datetime, os, random, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from asked import Case
from brought import main, two
from overlaps import CITY, FIRST, JOB, LAST, MAKE, ROAD, THING, TOPIC, WORD, day, people, pick


def date(r, first, last):
    return datetime.date(first, 1, 1) + datetime.timedelta(r.randrange(365 * (last - first)))


def fixtures(r):
    """Matches of a season from two sites: one writes clubs short, and a night match on the day after."""
    clubs = {}
    while len(clubs) < 20:
        town = pick(r, CITY)
        clubs.setdefault(town, r.choice(["United", "City", "Rovers", "Athletic", "FC", "Wanderers"]))
    names, all_ = list(clubs), []
    first = datetime.date(2023, 8, 12)
    for k in range(19):
        r.shuffle(names)
        for i in range(0, 20, 2):
            all_.append((first + datetime.timedelta(7 * k + r.randrange(3)), *names[i : i + 2]))
    return two(
        r,
        [x + (r.choice("0112234"), r.choice("0011223")) for x in all_],
        lambda w: [str(w[0]), f"{w[1]} {clubs[w[1]]}", f"{w[2]} {clubs[w[2]]}", w[3], w[4]],
        lambda w: [
            f"{w[0] + datetime.timedelta(r.random() < 0.2):%d/%m/%Y}",
            w[1],
            w[2],
            f"{w[3]}-{w[4]}",
            str(r.randrange(4000, 60000)),
        ],
        0.8,
    )


def author(w):
    return f"{w[0]} {w[1]}"


def preprints(r):
    """Preprints beside what was published of them a year or two later, the title a little changed."""
    all_ = []
    for _ in range(r.choice([150, 400])):
        names = [(pick(r, FIRST), pick(r, LAST)) for _ in range(r.randrange(1, 5))]
        title = [pick(r, TOPIC) for _ in range(r.randrange(4, 9))]
        all_.append((title, names, r.randrange(2012, 2022)))

    def published(w):
        title = list(w[0])
        if r.random() < 0.3:
            title[r.randrange(len(title))] = pick(r, TOPIC)
        return [
            " ".join(title).capitalize(),
            "; ".join(f"{b}, {a[0]}." for a, b in w[1]),
            str(w[2] + r.randrange(1, 3)),
            f"Journal of {pick(r, TOPIC)}",
            f"{r.randrange(1, 60)}({r.randrange(1, 12)})",
        ]

    return two(
        r,
        all_,
        lambda w: [
            f"{w[2] % 100:02}{r.randrange(1, 13):02}.{r.randrange(10**5):05}",
            " ".join(w[0]),
            ", ".join(author(x) for x in w[1]),
            str(w[2]),
        ],
        published,
    )


def episodes(r):
    """Episodes of some series: S02E05 here, season and number there; titles that many have."""
    titles = [f"{pick(r, WORD)} {pick(r, THING)}" for _ in range(300)] + ["Pilot", "The End", "Home"] * 9
    all_ = []
    for show in {f"The {pick(r, WORD)}" for _ in range(8)}:
        for season in range(1, r.randrange(2, 6)):
            for n in range(1, r.randrange(7, 14)):
                all_.append((show, season, n, r.choice(titles), date(r, 2005, 2022)))
    return two(
        r,
        all_,
        lambda w: [w[0], f"S{w[1]:02}E{w[2]:02}", w[3], str(w[4])],
        lambda w: [
            w[0].removeprefix("The ") + ", The",
            str(w[1]),
            str(w[2]),
            w[3].lower(),
            f"{r.uniform(5, 9.5):.1f}",
        ],
        0.8,
    )


def hotels(r):
    """Hotels from two booking sites: the word hotel and the town in the name or not, two ratings."""
    all_ = []
    for _ in range(r.choice([150, 500])):
        name = r.choice([pick(r, WORD), "Astoria", "Central", "Park", "Royal", "Europa", "Bristol"])
        all_.append(
            (
                name,
                pick(r, CITY),
                f"{pick(r, ROAD)} Street {r.randrange(1, 99)}",
                r.randrange(2, 6),
                r.uniform(6, 9.6),
            )
        )
    return two(
        r,
        all_,
        lambda w: [f"Hotel {w[0]}", w[1], w[2], f"{w[3]} stars", f"{w[4]:.1f}", str(r.randrange(60, 400))],
        lambda w: [
            r.choice([f"{w[0]} {w[1]}", f"{w[0]} Hotel", f"The {w[0]}"]),
            f"{w[2].replace('Street', 'St.')}, {w[1]}",
            str(w[3]),
            f"{w[4] / 2 + r.gauss(0, 0.2):.1f}",
        ],
    )


def fathers(r):
    """A register here, another there: fathers and sons of one name and address, who are two."""
    all_ = []
    for _ in range(r.choice([150, 400])):
        w = people(r)
        f, l, born = pick(r, FIRST), pick(r, LAST), date(r, 1935, 1970)
        all_.append([f, l, str(born), w[4], w[5]])
        if r.random() < 0.2:
            all_.append([f, l, str(born + datetime.timedelta(int(365.25 * r.uniform(20, 40)))), w[4], w[5]])
    return two(
        r,
        all_,
        lambda w: w + [r.choice(["yes", "no"])],
        lambda w: [f"{w[1]} {w[0]}"] + w[2:] + [pick(r, JOB)],
        0.5,
    )


def covers(r):
    """Two charts of songs, none of them in both: titles that others sing too."""
    titles = [f"{pick(r, WORD)} {pick(r, WORD)}" for _ in range(120)]
    c = Case()
    for name, first in ("a", 1965), ("b", 1995):
        c.add(
            name,
            [
                [
                    r.choice(titles),
                    f"{pick(r, FIRST)} {pick(r, LAST)}",
                    str(first + r.randrange(25)),
                    str(r.randrange(1, 40)),
                ]
                for _ in range(150)
            ],
        )
    return c


def payroll(r):
    """Staff of a human resources system beside the payroll's: the initial alone, and the day of entry."""
    all_ = [
        (pick(r, FIRST), pick(r, LAST), pick(r, JOB), date(r, 2005, 2024))
        for _ in range(r.choice([120, 500]))
    ]
    return two(
        r,
        all_,
        lambda w: [f"E{r.randrange(10**5):05}", w[0], w[1], w[2], str(w[3])],
        lambda w: [
            f"{w[1].upper()} {w[0][0]}.",
            f"{w[3]:%d.%m.%y}",
            f"{r.gauss(4200, 900):.2f}",
            str(r.randrange(1, 7)),
        ],
        0.8,
    )


def samples(r):
    """The same samples measured by two laboratories that number them each their own way: numbers alone."""
    all_ = [
        [r.gauss(m, s) for m, s in ((7, 0.6), (120, 30), (4, 1.5), (0.8, 0.2), (55, 12))] for _ in range(200)
    ]
    return two(
        r,
        all_,
        lambda w: [f"{x:.2f}" for x in w],
        lambda w: [f"{x * (1 + r.gauss(0, 0.003)):.2f}" for x in w],
        0.7,
    )


def houses(r):
    """Houses on two portals: area, rooms, price a little apart, the street without its number."""
    all_ = []
    for _ in range(r.choice([150, 400])):
        area = int(10 ** r.uniform(1.6, 2.4))
        all_.append(
            (
                pick(r, ROAD),
                pick(r, CITY),
                area,
                max(1, area // 28),
                int(area * r.uniform(2, 6)) * 1000,
                r.randrange(1900, 2020),
            )
        )
    return two(
        r,
        all_,
        lambda w: [f"{w[3]}-room flat in {w[1]}", f"{w[0]} Street", w[1], str(w[2]), str(w[4]), str(w[5])],
        lambda w: [
            w[1],
            f"{w[0]} St",
            f"{w[2]} m²",
            f"{w[3]}",
            f"EUR {int(w[4] * r.choice([1, 1, 1.02])):,}",
            r.choice(["agent", "owner"]),
        ],
    )


def plates(r):
    """Vehicles as registered and as insured: the plate with and without its blanks."""
    all_ = []
    for _ in range(r.choice([150, 500])):
        all_.append(
            (
                r.choice(["B", "HH", "M", "K", "S"]),
                "".join(r.choice("ABCDEFHKMNPX") for _ in range(2)),
                r.randrange(1, 9999),
                pick(r, MAKE),
                r.randrange(1998, 2024),
                f"{pick(r, FIRST)} {pick(r, LAST)}",
            )
        )
    return two(
        r,
        all_,
        lambda w: [f"{w[0]}-{w[1]} {w[2]}", w[3], str(w[4])],
        lambda w: [f"{w[0]}{w[1]}{w[2]}", w[5], f"{r.uniform(200, 1400):.2f}"],
    )


def courses(r):
    """Courses of two universities: titles that both have, nothing shared."""
    subjects = [
        "Algebra",
        "Statistics",
        "Biology",
        "Economics",
        "Chemistry",
        "Logic",
        "Physics",
        "History",
        "Law",
        "Genetics",
    ]
    c = Case()
    for name in "a", "b":
        c.add(
            name,
            [
                [
                    f"{pick(r, WORD)[:4].upper()}{r.randrange(100, 499)}",
                    f"{r.choice(['Introduction to', 'Advanced', 'Topics in', 'Seminar:'])} {s}",
                    str(r.choice([3, 5, 6, 10])),
                    f"{pick(r, FIRST)} {pick(r, LAST)}",
                ]
                for s in subjects
                for _ in range(8)
            ],
        )
    return c


def mails(r):
    """Accounts of two systems: addresses in capitals or with a +tag, under another name."""
    all_ = [people(r) for _ in range(r.choice([150, 500]))]

    def there(w):
        user, host = w[1].split("@")
        how = r.random()
        mail = w[1].upper() if how < 0.3 else f"{user}+shop@{host}" if how < 0.6 else w[1]
        return [f"user{r.randrange(10**6)}", mail, day(r, 2020, 2024)]

    return two(r, all_, lambda w: [w[0], w[1], w[7]], there)


def american(r):
    """Birth dates as month/day/year here and day.month.year there, names last first."""
    all_ = [
        (pick(r, FIRST), pick(r, LAST), date(r, 1940, 2005), pick(r, CITY))
        for _ in range(r.choice([200, 600]))
    ]
    return two(
        r,
        all_,
        lambda w: [w[0], w[1], f"{w[2]:%m/%d/%Y}", w[3]],
        lambda w: [f"{w[1]}, {w[0]}", f"{w[2]:%d.%m.%Y}", str(r.randrange(1, 9))],
    )


def spouses(r):
    """Husbands here, wives there: one family name, address, telephone; nobody in both."""
    c, a, b = Case(), [], []
    for _ in range(r.choice([150, 300])):
        w, l = people(r), pick(r, LAST)
        he, she = pick(r, FIRST), pick(r, FIRST)
        while she == he:
            she = pick(r, FIRST)
        a.append([he, l, w[2], w[4], w[5], day(r, 1950, 1990)])
        b.append([she, l, w[2], w[4], w[5], day(r, 1950, 1990)])
    r.shuffle(b)
    c.add("a", a)
    c.add("b", b)
    return c


def groups(r):
    """Companies and companies of their groups: Acme Holding and Acme Logistics are two."""
    part = ["Holding", "Logistics", "Healthcare", "Energy", "Services", "Bank", "Real Estate"]
    all_ = []
    for _ in range(r.choice([60, 150])):
        name, town = f"{pick(r, WORD)} {pick(r, WORD)}", pick(r, CITY)
        for p in r.sample(part, r.choice([1, 1, 2, 3, 4])):
            all_.append((f"{name} {p}", town, int(10 ** r.uniform(1, 4))))
    return two(
        r,
        all_,
        lambda w: [f"{w[0]} {r.choice(['AG', 'SE', 'GmbH'])}", w[1], str(w[2])],
        lambda w: [w[0].upper(), w[1], r.choice("ABC")],
    )


def coded(r):
    """Two waves of a questionnaire, people under a code of their own: initials, birthday, house."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    all_ = [
        f"{r.choice(letters)}{r.choice(letters)}{r.randrange(1, 32):02}{r.randrange(1, 99):02}"
        for _ in range(300)
    ]

    def wave(w):
        return [w.lower() if r.random() < 0.2 else w] + [str(r.randrange(1, 6)) for _ in range(8)]

    return two(r, all_, wave, wave, 0.7)


def stations(r):
    """Stations of two networks by name and place: coordinates of four digits and of two."""
    all_ = [
        (
            f"{pick(r, CITY)} {r.choice(['North', 'South', 'Airport', 'Harbour', 'Centre', 'University'])}",
            r.uniform(45, 55),
            r.uniform(5, 15),
            r.randrange(0, 1200),
        )
        for _ in range(250)
    ]
    return two(
        r,
        all_,
        lambda w: [w[0], f"{w[1]:.4f}", f"{w[2]:.4f}", str(w[3])],
        lambda w: [
            f"{r.randrange(10**5):05}",
            w[0].upper().replace("AIRPORT", "APT").replace("UNIVERSITY", "UNIV"),
            f"{w[1]:.2f}",
            f"{w[2]:.2f}",
            day(r, 1950, 2010),
        ],
    )


KINDS = {
    f.__name__: f
    for f in (
        fixtures,
        preprints,
        episodes,
        hotels,
        fathers,
        covers,
        payroll,
        samples,
        houses,
        plates,
        courses,
        mails,
        american,
        spouses,
        groups,
        coded,
        stations,
    )
}

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(KINDS)
