"""Lists of people as two systems have them, for unasked.py: customers, users, staff, and what is true."""
import collections, datetime, os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from overlaps import CITY, FIRST, FORM, LAST, MAKE, THING, WORD, day, often, pick, words

JOB = often(words("job_title", 80), 0.6)
ROAD = often([f"{x} {y}" for x in words("last_name", 40) for y in ("Street", "Road", "Lane")][:90], 0.4)
LINES = ["drill", "grinder", "saw", "pump", "fan", "heater", "lamp", "router", "monitor", "printer", "scale"]


class Lists:
    """Tables by name: header, and rows with the entity that each is of (None: of none that recurs)."""

    def __init__(self):
        self.head, self.rows, self.of = {}, {}, {}

    def add(self, name, head, rows, r=None):
        rows = list(rows)
        if r is not None:
            r.shuffle(rows)
        self.head[name] = head
        self.rows[name] = [[str(x) for x in row] for _, row in rows]
        self.of[name] = [who for who, _ in rows]

    def pairs(self, within=False):
        by = collections.defaultdict(list)
        for t, of in self.of.items():
            for i, who in enumerate(of):
                if who is not None:
                    by[who].append((t, i))
        out = set()
        for rows in by.values():
            for k, x in enumerate(rows):
                out |= {(min(x, y), max(x, y)) for y in rows[:k] if (x[0] == y[0]) == within}
        return out


def typo(r, s):
    if len(s) < 4:
        return s
    k = r.randrange(1, len(s) - 1)
    return r.choice([s[:k] + s[k + 1 :], s[:k] + s[k + 1] + s[k] + s[k + 2 :], s[:k] + s[k] + s[k:]])


def size(r, few=200, most=3000):
    return r.choice([few, 600, most])


def split(r, n, share, tables):
    """Of n entities those that each table holds: a share of all in two tables or more."""
    held = [[] for _ in range(tables)]
    for i in range(n):
        if r.random() < share:
            in_ = r.sample(range(tables), r.choice([2, 2, tables]))
        else:
            in_ = [r.randrange(tables)]
        for t in in_:
            held[t].append(i)
    return held


# ---- people -----------------------------------------------------------------------------------------------


class Person:
    def __init__(self, r, family=None):
        self.first, self.last = pick(r, FIRST), family.last if family else pick(r, LAST)
        self.city = family.city if family else pick(r, CITY)
        self.street = family.street if family else f"{pick(r, ROAD)} {r.randrange(1, 150)}"
        self.zip = (
            family.zip if family else f"{10000 + sum(map(ord, self.city)) * 37 % 80000 + r.randrange(40)}"
        )
        self.phone = (
            family.phone
            if family and r.random() < 0.5
            else f"{r.randrange(200, 999)} {r.randrange(10**6, 10**7)}"
        )
        self.born = datetime.date(1940, 1, 1) + datetime.timedelta(r.randrange(23000))
        tail = r.choice(["", "", str(r.randrange(1, 99)), str(self.born.year)])
        self.mail = (
            r.choice(
                [
                    f"{self.first}.{self.last}{tail}",
                    f"{self.first[0]}{self.last}{tail}",
                    f"{self.first}{tail}",
                ]
            )
            .lower()
            .replace(" ", "")
            + "@"
            + r.choice(["gmail.com", "web.de", "outlook.com", "mail.example"])
        )


def households(r, n):
    all_ = []
    while len(all_) < n:
        p = Person(r)
        all_.append(p)
        while r.random() < 0.35:
            all_.append(Person(r, p))
    return all_[:n]


def crm3(r, share=None):
    """Three systems' customers, each with columns, formats and duplicates of its own."""
    n = size(r)
    share = r.choice([0.1, 0.25, 0.4]) if share is None else share
    all_, c = households(r, n), Lists()
    a, b, d = split(r, n, share, 3)

    def own(held):
        return [(i, j) for i in held for j in range(1 + (r.random() < 0.07))]

    def one(i, again):
        p = all_[i]
        return [
            typo(r, p.first) if again and r.random() < 0.3 else p.first,
            p.last,
            "" if r.random() < (0.5 if again else 0.15) else p.mail,
            "" if r.random() < 0.2 else "+49 " + p.phone,
            p.street,
            p.zip,
            p.city,
            r.choice(["new", "active", "lost"]),
        ]

    def two(i, again):
        p = all_[i]
        return [
            f"{p.last}, {p.first}" if not again else f"{p.last.upper()}, {p.first}",
            typo(r, p.mail) if again and r.random() < 0.5 else p.mail.upper() if r.random() < 0.1 else p.mail,
            f"{p.street}, {p.zip} {p.city}"
            if r.random() < 0.93
            else f"{pick(r, ROAD)} {r.randrange(99)}, {p.city}",
            f"{p.born:%d.%m.%Y}" if r.random() < 0.7 else "",
            f"{r.randrange(1, 4000)},{r.randrange(100):02}",
        ]

    def three(i, again):
        p = all_[i]
        return [
            f"{p.first} {p.last}" if r.random() < 0.8 else f"{p.first[0]}. {p.last}",
            "0" + p.phone.replace(" ", "/") if r.random() < 0.8 else "",
            p.city,
            str(p.born) if r.random() < 0.6 else "",
            r.choice(["web", "fair", "partner"]),
        ]

    def rows(held, how, first):
        x = [(i, how(i, again)) for i, again in own(held)]
        r.shuffle(x)
        return [(i, [first + k] + row) for k, (i, row) in enumerate(x)]

    c.add(
        "crm_a",
        ["id", "first_name", "last_name", "email", "phone", "street", "zip", "city", "status"],
        rows(a, one, 1),
    )
    c.add("crm_b", ["customer_no", "name", "mail", "address", "birth_date", "revenue"], rows(b, two, 100001))
    c.add("crm_c", ["contact_id", "contact", "tel", "town", "dob", "source"], rows(d, three, 5001))
    return c


def version(r, ids, kind, share=0.9):
    """A list and an older state of it: a tenth added, a tenth removed, some edited."""
    n, c = size(r), Lists()
    all_ = households(r, n) if kind == "people" else [article(r) for _ in range(n)]

    def row(x, new):
        if kind == "people":
            x.note = getattr(x, "note", r.choice(["gold", "silver", "basic"]))
            change = new and r.random() < 0.15
            what = r.randrange(4)
            return [
                x.first,
                pick(r, LAST) if change and what == 0 else x.last,
                f"{x.first}@new.example".lower() if change and what == 1 else x.mail,
                f"{r.randrange(200, 999)} {r.randrange(10**6, 10**7)}" if change and what >= 2 else x.phone,
                f"{pick(r, ROAD)} {r.randrange(1, 150)}" if change and what == 3 else x.street,
                x.city,
                x.note if r.random() < 0.9 else "gold",
            ]
        return [x[0], x[1], f"{float(x[2]) * (r.uniform(0.95, 1.1) if new else 1):.2f}", r.randrange(500)]

    old, new = [], []
    for i in range(n):
        if share == 0:
            (old if r.random() < 0.5 else new).append(i)
            continue
        k = r.random()
        if k < 0.9:
            old.append(i)
        if k >= 0.1:
            new.append(i)
    r.shuffle(new)
    head = (
        ["first", "last", "email", "phone", "street", "city", "plan"]
        if kind == "people"
        else ["article", "text", "price", "stock"]
    )
    left, right = [(i, row(all_[i], False)) for i in old], [(i, row(all_[i], True)) for i in new]
    if ids:
        kept = ids == "kept"
        left = [(i, [(i if kept else k) + 1001] + x) for k, (i, x) in enumerate(left)]
        right = [(i, [(i if kept else k) + 1001] + x) for k, (i, x) in enumerate(right)]
        head = ["id"] + head
    c.add("march", head, left)
    c.add("june", head, right)
    return c


def shops(r, share=0.01):
    """Two shops' customers of the same towns, with families, of whom hardly any buy in both."""
    n, c = r.choice([600, 2000, 8000]), Lists()
    all_ = households(r, n)
    a, b = [], []
    for i in range(n):
        (a if r.random() < 0.5 else b).append(i)
    both = set(r.sample(range(n), int(n * share)))
    a += [i for i in b if i in both and i not in a]
    b += [i for i in a if i in both and i not in b]
    c.add(
        "shop",
        ["name", "email", "street", "zip", "city", "orders"],
        [
            (i, [f"{p.first} {p.last}", p.mail, p.street, p.zip, p.city, r.randrange(1, 20)])
            for i in a
            for p in [all_[i]]
        ],
        r,
    )
    c.add(
        "store",
        ["first", "last", "address", "postcode", "town", "mail", "birthday"],
        [
            (i, [p.first, p.last, p.street, p.zip, p.city, p.mail if r.random() < 0.7 else "", p.born])
            for i in b
            for p in [all_[i]]
        ],
        r,
    )
    return c


def staff(r, share=0.8):
    """Employees beside the users of a badge system: j.smith, and j.smith2 for the next one."""
    n, c = r.choice([200, 500, 1500]), Lists()
    all_, user, taken = [Person(r) for _ in range(n)], {}, collections.Counter()
    for i, p in enumerate(all_):
        u = f"{p.first[0]}.{p.last}".lower().replace(" ", "").replace("'", "")
        taken[u] += 1
        user[i] = u + (str(taken[u]) if taken[u] > 1 else "")
    a, b = split(r, n, share, 2)
    c.add(
        "employees",
        ["name", "job", "hired", "salary"],
        [
            (
                i,
                [
                    f"{all_[i].first} {all_[i].last}",
                    pick(r, JOB),
                    day(r, 2000, 2023),
                    r.randrange(28000, 99000),
                ],
            )
            for i in a
        ],
        r,
    )
    c.add(
        "badges",
        ["user", "card", "last_door", "last_seen"],
        [
            (
                i,
                [
                    user[i],
                    f"{r.randrange(16**6):06X}",
                    f"D{r.randrange(1, 30)}",
                    f"{day(r, 2024, 2025)} {r.randrange(6, 20):02}:{r.randrange(60):02}",
                ],
            )
            for i in b
        ],
        r,
    )
    return c


# ---- few rows ---------------------------------------------------------------------------------------------


def one_of(r, kind):
    """A thing of a kind: how a list writes it, and how somebody who looks it up does."""
    if kind == "people":
        p = Person(r)
        there = {
            "name": f"{p.first} {p.last}",
            "email": p.mail,
            "born": str(p.born),
            "phone": "+49 " + p.phone,
            "city": p.city,
            "plan": r.choice(["gold", "silver", "basic"]),
        }
        return there, there | {"phone": "0" + p.phone.replace(" ", "/"), "city": p.city.upper()}
    if kind == "firms":
        name = f"{pick(r, WORD)} {pick(r, WORD)} {r.choice([pick(r, FORM), 'Ltd'])}".strip()
        there = {
            "name": name,
            "street": f"{pick(r, ROAD)} {r.randrange(1, 150)}",
            "zip": str(r.randrange(10000, 99999)),
            "city": pick(r, CITY),
            "vat": f"DE{r.randrange(10**8, 10**9)}",
            "site": name.lower().rsplit(" ", 1)[0].replace(" ", "") + ".com",
        }
        return there, there | {
            "name": name.replace("Ltd", "Limited").upper(),
            "site": "www." + there["site"],
        }
    make, thing, number = pick(r, MAKE), pick(r, THING), f"{r.choice('ABCGHKMPR')}{r.randrange(100, 99999)}"
    there = {
        "title": f"{make} {thing} {number} {r.choice(['black', 'white', 'red', 'blue'])}",
        "maker": make,
        "ean": str(r.randrange(4 * 10**12, 5 * 10**12)),
        "price": f"{10 ** r.uniform(0.8, 3):.2f}",
    }
    return there, there | {
        "title": f"{thing} {make} {number}",
        "price": f"{float(there['price']) * r.uniform(0.9, 1.1):.2f}",
    }


SAID = {  # which columns somebody has who looks up
    "people": [
        ["name", "email", "born"],
        ["name", "email"],
        ["name", "born", "city"],
        ["name", "phone", "city"],
        ["email", "name", "phone", "born", "city"],
    ],
    "firms": [["name", "city", "zip"], ["name", "vat"], ["name", "street", "city"], ["name", "site", "city"]],
    "goods": [["title", "ean"], ["title", "maker", "price"], ["ean", "title", "price"]],
}
OTHERWISE = {"name": "who", "email": "mail", "born": "birthday", "city": "town", "title": "text"}


def nearly(r, kind, there):
    """Another one that is only alike: a relative or a namesake, a firm of the group, a variant."""
    there = dict(there)
    if kind == "people":
        other = Person(r)
        first, last = there["name"].split(" ", 1)
        if r.random() < 0.5:  # a relative of one address
            there |= {"name": f"{other.first} {last}", "email": f"{other.first}.{last}@web.de".lower()}
        else:
            there |= {"email": f"{first}.{last}{r.randrange(99)}@web.de".lower(), "city": other.city}
            there["phone"] = "+49 " + other.phone
        return there | {"born": str(other.born)}
    if kind == "firms":
        stem = there["name"].rsplit(" ", 1)[0]
        return there | {
            "name": f"{stem} {r.choice(['Holding', 'Services', 'Logistics'])}",
            "street": f"{pick(r, ROAD)} {r.randrange(1, 150)}",
            "vat": f"DE{r.randrange(10**8, 10**9)}",
        }
    make, thing = there["maker"], pick(r, THING)
    number = f"{r.choice('ABCGHKMPR')}{r.randrange(100, 99999)}"
    title = there["title"].split(" ")
    title[-2] = number
    return there | {
        "title": " ".join(title) if r.random() < 0.5 else f"{make} {thing} {number} {title[-1]}",
        "ean": str(r.randrange(4 * 10**12, 5 * 10**12)),
    }


def look_up(r, share=0.6, alike=False):
    """One to five rows looked up in a list; some stand in it, the others are new, or only alike."""
    c, kind = Lists(), r.choice(list(SAID))
    n, few = r.choice([50, 200, 1000, 5000]), r.randrange(1, 6)
    all_ = [one_of(r, kind) for _ in range(n + few)]
    known = [k for k in range(few) if k == 0 or r.random() < share] if share else []
    at = {k: i for k, i in zip(known, r.sample(range(n), len(known)))}
    said, written = r.choice(SAID[kind]), r.random() < 0.5
    rows = []
    for k in range(few):
        there, here = all_[at.get(k, n + k)]
        cells = there if written else here
        if alike and k not in at:
            cells = nearly(r, kind, all_[r.randrange(n)][0])
        rows.append((at.get(k, n + k), [cells[x] for x in said]))
    c.add("asked", [x if written else OTHERWISE.get(x, x) for x in said], rows, r)
    c.add("list", list(all_[0][0]), [(i, list(x[0].values())) for i, x in enumerate(all_[:n])])
    return c


def handful(r, share=0.5):
    """Two tables of three to six rows each."""
    c, kind = Lists(), r.choice(list(SAID))
    a, b = split(r, r.randrange(5, 9), share, 2)
    a, b = a or [90], b or [91]
    all_ = collections.defaultdict(lambda: one_of(r, kind))
    said = r.choice(SAID[kind])
    c.add("left", said, [(i, [all_[i][1][x] for x in said]) for i in a], r)
    c.add("right", list(all_[a[0]][0]), [(i, list(all_[i][0].values())) for i in b], r)
    return c


def repeated(r, share=0.3):
    """Five to eight rows of one table, some of which stand twice, equal or written otherwise."""
    c, kind, rows = Lists(), r.choice(list(SAID)), []
    n, way = r.randrange(5, 9), r.choice(["equal", "numbered", "written"])
    while len(rows) < n:
        there, here = one_of(r, kind)
        i = len(rows)
        rows.append((i, list(there.values())))
        if r.random() < share:
            rows.append((i, list((here if way == "written" else there).values())))
    r.shuffle(rows)
    if way != "equal":
        rows = [(i, [k + 1] + x) for k, (i, x) in enumerate(rows)]
    c.add("rows", ["id"] * (way != "equal") + list(one_of(r, kind)[0]), rows)
    return c


# ---- money and things -------------------------------------------------------------------------------------
