#!/usr/bin/env python3
"""Dirty lists: one table in which some rows are one entity, written again otherwise.

  dirty.py [--faker] [--drawn] [--hidden] [--unrelated] OUT [SEED ...]

makes OUT/dup-KIND-dirty-SEED for each kind of list. Written again are misspelt words, nicknames, other
formats, lost and outdated cells, and those who moved: equal name, e-mail, telephone and birth date, another
address (`moved.csv` names these pairs). Beside them live relatives, who share an address, and namesakes;
--unrelated: none. A list has 1,000 rows; --drawn: sizes, columns, formats and rates are drawn, for a model
to learn from. --hidden: columns have no names. --faker: names and addresses are those of the package faker,
which must be installed, and cases are called dup-KIND-faker-SEED; else of the engine's lexicon.
"""
import csv, datetime, os, random, sys

LEXICON = os.path.join(
    os.path.dirname(os.path.abspath(__file__)),
    "../../../services/inference/engine/lexicon",
)
SHORT = dict(
    p.split("=")
    for p in """
Robert=Bob William=Bill James=Jim John=Jack Richard=Rick Michael=Mike Thomas=Tom Charles=Charlie Joseph=Joe
Daniel=Dan Matthew=Matt Anthony=Tony Steven=Steve Andrew=Andy Joshua=Josh Kenneth=Ken Edward=Ted Timothy=Tim
Jeffrey=Jeff Gregory=Greg Benjamin=Ben Samuel=Sam Patrick=Pat Alexander=Alex Jonathan=Jon Nicholas=Nick
Christopher=Chris David=Dave Peter=Pete Ronald=Ron Donald=Don Elizabeth=Liz Jennifer=Jenny Margaret=Peggy
Katherine=Kate Patricia=Trish Barbara=Barb Susan=Sue Jessica=Jess Deborah=Debbie Rebecca=Becky Kimberly=Kim
Christine=Chris Samantha=Sam Victoria=Vicky Pamela=Pam Cynthia=Cindy Amanda=Mandy Stephanie=Steph Nicole=Nicki
Alexandra=Alex Theresa=Terry Judith=Judy Catherine=Cathy Dorothy=Dot Abigail=Abby Gabriella=Gabby""".split()
)
ROADS = [
    ["Street", "St", "St."],
    ["Road", "Rd", "Rd."],
    ["Avenue", "Ave", "Ave."],
    ["Lane", "Ln", "Ln."],
]
HOSTS = [
    "gmail.com",
    "yahoo.com",
    "hotmail.com",
    "outlook.com",
    "mail.example",
    "post.example",
    "web.example",
]
FORMS = [
    ["Ltd", "Limited"],
    ["Inc", "Inc.", "Incorporated"],
    ["GmbH"],
    ["LLC"],
    ["Co", "Company"],
    ["AG"],
    [""],
]
TRADES = [
    "retail",
    "energy",
    "banking",
    "media",
    "health",
    "food",
    "transport",
    "building",
]


def words(name, n):
    with open(f"{LEXICON}/{name}.txt", encoding="utf-8") as f:
        all_ = [w.strip() for x in f if x[0] != "#" for w in x.split(";") if w.strip() and w.isascii()]
    random.Random(name).shuffle(all_)
    return all_[:n]


class Lexicon:
    """Names as common as names are: the k-th as 1 / (k + 3) ^ slope."""

    def __init__(self):
        names = {
            "first": (list(SHORT) + words("first_name", 300), 0.6),
            "last": (words("last_name", 1200), 0.6),
            "city": (words("city", 200), 0.8),
            "road": (words("last_name", 1500)[1200:], 0.3),
            "firm": (words("org_word", 500), 0.4),
        }
        self.pool = {k: (x, [1 / (i + 3) ** slope for i in range(len(x))]) for k, (x, slope) in names.items()}

    def some(self, r):
        """Of each as many as a village has, or a country."""
        few = Lexicon.__new__(Lexicon)
        size = {k: max(6, int(len(x) * 10 ** r.uniform(-1.6, 0))) for k, (x, _) in self.pool.items()}
        few.pool = {k: (x[: size[k]], w[: size[k]]) for k, (x, w) in self.pool.items()}
        return few

    def pick(self, r, what):
        return r.choices(*self.pool[what])[0]


class Faker:
    def __init__(self):
        import faker

        self.fake = faker.Faker("en_US")

    def pick(self, r, what):
        self.fake.seed_instance(r.randrange(2**60))
        f = self.fake
        return {
            "first": f.first_name,
            "last": f.last_name,
            "city": f.city,
            "road": f.last_name,
        }.get(what, lambda: f.company().split(" ")[0].strip(",").split("-")[0])()


def day(r, first, last):
    return datetime.date(first, 1, 1) + datetime.timedelta(r.randrange(365 * (last - first)))


def digits(r, n):
    return "".join(r.choice("0123456789") for _ in range(n))


def address(w, r):
    city = w.pick(r, "city")
    zip_ = random.Random("zip " + city).randrange(10, 99)
    road = f"{r.randrange(1, 400)}", w.pick(r, "road"), r.choice(ROADS)
    return {"street": road, "city": city, "zip": f"{zip_}{digits(r, 3)}"}


def mail(r, first, last, host=None):
    first, last = first.lower().replace(" ", ""), last.lower().replace(" ", "")
    who = r.choice(
        [
            f"{first}.{last}",
            f"{first[0]}{last}",
            f"{first}{last}",
            f"{last}{first[0]}",
            f"{first}_{last}",
        ]
    )
    return (
        who + r.choice(["", "", digits(r, 2), str(r.randrange(1950, 2005))]) + "@" + (host or r.choice(HOSTS))
    )


def person(w, r):
    first, last = w.pick(r, "first"), w.pick(r, "last")
    return {
        "first": first,
        "last": last,
        "mail": mail(r, first, last),
        "phone": digits(r, 10),
        "born": day(r, 1935, 2006),
        "since": day(r, 2010, 2025),
        "plan": r.choice(["basic", "plus", "pro"]),
        "spent": round(r.lognormvariate(5, 1), 2),
        "number": digits(r, 9),
        "doctor": w.pick(random.Random(r.randrange(12)), "last"),
        **address(w, r),
    }


def firm(w, r):
    one, two = w.pick(r, "firm"), w.pick(r, "last")
    name = r.choice(
        [
            f"{one} {two}",
            f"{two} {one}",
            f"{two} & {w.pick(r, 'last')}",
            one + two.lower(),
        ]
    )
    host = name.lower().replace(" ", "").replace("&", "") + r.choice([".com", ".net", ".example"])
    first, last = w.pick(r, "first"), w.pick(r, "last")
    return {
        "firm": name,
        "form": r.choice(FORMS),
        "web": host,
        "first": first,
        "last": last,
        "mail": r.choice(["info", "office", "sales", f"{first}.{last}".lower().replace(" ", "")])
        + "@"
        + host,
        "phone": digits(r, 10),
        "trade": r.choice(TRADES),
        "staff": int(10 ** r.uniform(0.3, 3.5)),
        "number": digits(r, 9),
        **address(w, r),
    }


def relative(w, r, e):
    """Somebody else who looks alike: at one address, of one name, of one trade."""
    n = firm(w, r) if "firm" in e else person(w, r)
    luck = r.random()
    if "firm" in e and luck < 0.5:  # a branch
        n.update({k: e[k] for k in ("firm", "form", "web")})
        n["mail"] = n["city"].lower().replace(" ", "") + "@" + e["web"]
    elif "firm" in e:  # in one house, or founded by one family
        n.update({k: e[k] for k in (("street", "city", "zip") if luck < 0.8 else ("last", "city", "trade"))})
    elif luck < 0.6:  # a household
        n.update({k: e[k] for k in ("last", "street", "city", "zip")})
        if r.random() < 0.5:
            n["phone"] = e["phone"]
        if r.random() < 0.15:  # named after the father
            n["first"] = e["first"]
        n["mail"] = e["mail"] if r.random() < 0.1 else mail(r, n["first"], n["last"])
        if r.random() < 0.08:  # of one birth
            n["born"] = e["born"]
    else:  # a namesake
        n.update(first=e["first"], last=e["last"], mail=mail(r, e["first"], e["last"]))
    return n


def misspelt(r, x):
    if len(x) < 4:
        return x
    i = r.randrange(1, len(x) - 2)
    c = r.choice("abcdefghijklmnoprstuvwy")
    return r.choice(
        [
            x[:i] + x[i + 1 :],
            x[:i] + x[i + 1] + x[i] + x[i + 2 :],
            x[:i] + c + x[i + 1 :],
            x[:i] + c + x[i:],
        ]
    )


def again(w, r, e, rate):
    """The same entity at another time: who moved, has another telephone or e-mail, married."""
    n, moved = dict(e), r.random() < rate["move"]
    if moved:
        n.update(address(w, r))
        if "firm" not in e and r.random() < 0.1:
            n["phone"] = digits(r, 10)
    elif r.random() < rate["change"]:
        n["phone"] = digits(r, 10)
    elif r.random() < rate["change"]:
        n["mail"] = mail(r, e["first"], e["last"], e.get("web"))
    elif r.random() < rate["change"] / 3 and "firm" not in e:
        n["last"] = w.pick(r, "last")
    if r.random() < 0.5:
        n.update(
            {
                k: v
                for k, v in (person(w, r) if "born" in e else {}).items()
                if k in ("since", "plan", "spent")
            }
        )
    return n, moved


def style_of(r):
    return {
        "phone": r.randrange(5),
        "day": r.randrange(4),
        "road": r.randrange(3),
        "order": r.random() < 0.2,
    }


def shown(r, e, s, columns):
    """An entity's cells in a style: s."""
    p, d, road = e["phone"], e.get("born"), e["street"]
    phone = [
        f"({p[:3]}) {p[3:6]}-{p[6:]}",
        f"{p[:3]}-{p[3:6]}-{p[6:]}",
        p,
        f"+1 {p[:3]} {p[3:6]} {p[6:]}",
        f"{p[:3]}.{p[3:6]}.{p[6:]}",
    ]
    form = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y"][s["day"]]
    cell = {
        "name": f"{e['last']}, {e['first']}" if s["order"] else f"{e['first']} {e['last']}",
        "phone": phone[s["phone"]],
        "born": d and d.strftime(form),
        "since": "since" in e and str(e["since"]),
        "street": f"{road[0]} {road[1]} {road[2][s['road'] % len(road[2])]}",
        "road": f"{road[1]} {road[2][s['road'] % len(road[2])]}",
        "house": road[0],
        "company": "firm" in e and f"{e['firm']} {e['form'][s['road'] % len(e['form'])]}".strip(),
        "contact": f"{e['first']} {e['last']}",
    }
    return [str(cell.get(c, e.get(c, ""))) for c in columns]


CLEAN = {
    "born",
    "since",
    "plan",
    "spent",
    "staff",
    "number",
    "zip",
    "phone",
    "house",
    "trade",
    "doctor",
}


def dirt(r, row, columns, rate):
    row = list(row)
    for i, c in enumerate(columns):
        x = row[i]
        if c in ("first", "name", "contact") and r.random() < rate["nick"]:
            given = x.rsplit(" ", 1)[-1] if "," in x else ""
            short = x.replace(given, SHORT.get(given, given)) if given else None
            row[i] = x = short or " ".join(SHORT.get(p, p) for p in x.split(" "))
            if r.random() < 0.1 and c == "first":
                row[i] = x = x[0] + "."
        if c not in CLEAN and r.random() < rate["typo"]:
            row[i] = x = misspelt(r, x)
        elif c in ("phone", "zip", "number", "born") and r.random() < rate["typo"] / 3 and len(x) > 3:
            k = r.choice([k for k, q in enumerate(x) if q.isdigit()] or [0])
            row[i] = x = x[:k] + r.choice("0123456789") + x[k + 1 :]
        if c not in ("mail", "web") and not x.isdigit() and r.random() < rate["case"]:
            row[i] = x = r.choice([x.upper(), x.lower()])
        if r.random() < rate["miss"] and sum(map(bool, row)) > 2:
            row[i] = ""
    return row


KINDS = {
    "customers": (
        person,
        ["first", "last", "mail", "phone", "born", "street", "city", "zip"],
        ["since", "plan", "spent"],
    ),
    "shop": (
        person,
        ["name", "mail", "phone", "street", "zip", "city"],
        ["since", "plan", "spent"],
    ),
    "patients": (
        person,
        ["last", "first", "born", "road", "house", "city", "zip", "phone"],
        ["number", "doctor", "mail"],
    ),
    "members": (
        person,
        ["name", "born", "street", "city", "phone"],
        ["zip", "since", "plan"],
    ),
    "contacts": (
        firm,
        ["first", "last", "mail", "phone", "company", "city"],
        ["trade", "street", "zip", "staff"],
    ),
    "companies": (
        firm,
        ["company", "street", "zip", "city", "phone", "web"],
        ["contact", "mail", "trade", "staff", "number"],
    ),
}
STANDARD = dict(
    move=0.25,
    change=0.1,
    nick=0.25,
    typo=0.1,
    case=0.03,
    miss=0.04,
    style=0.3,
    relative=0.15,
    twice=0.28,
)


def drawn(r):
    dirt = r.choice([0, 0.2, 0.5, 1, 2])
    rate = {k: v * r.uniform(0.5, 2) * (1 if k in ("move", "change") else dirt) for k, v in STANDARD.items()}
    rate["relative"] = r.choice([0, 0.1, 0.3, 0.5])
    rate["twice"] = r.choice([0, 0.03, 0.1, 0.3, 0.6])
    return rate


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as f:
        csv.writer(f, lineterminator="\n").writerows(rows)


def make(out, kind, seed, w, options):
    r = random.Random(f"dirty {kind} {seed}")
    w = w.some(r) if "--drawn" in options else w
    new, columns, more = KINDS[kind]
    rate, size = (drawn(r), r.choice([200, 400, 700, 1200])) if "--drawn" in options else (STANDARD, 1000)
    if "--unrelated" in options:
        rate = {**rate, "relative": 0}
    columns = columns + (r.sample(more, r.randrange(len(more) + 1)) if "--drawn" in options else more[:1])
    if "--drawn" in options:
        gone = r.sample(columns[1:], r.choice([0, 0, 1, 2]))
        columns = [c for c in columns if c not in gone]
        if r.random() < 0.3:
            r.shuffle(columns)
    house, rows, entities = style_of(r), [], []
    while len(rows) < size:
        e = relative(w, r, r.choice(entities)) if entities and r.random() < rate["relative"] else new(w, r)
        entities.append(e)
        records = [(e, False)]
        while r.random() < rate["twice"] and len(records) < 5:
            records.append(again(w, r, records[0][0], rate))
        for x, moved in records:
            s = style_of(r) if r.random() < rate["style"] else house
            rows.append((dirt(r, shown(r, x, s, columns), columns, rate), len(entities), moved))
    r.shuffle(rows)
    of = {}
    for i, (_, e, moved) in enumerate(rows):
        of.setdefault(e, []).append((i, moved))
    pairs = sorted((p, q) for x in of.values() for p in x for q in x if p[0] < q[0])
    path = f"{out}/dup-{kind}-{'faker' if '--faker' in options else 'dirty'}-{seed}"
    os.makedirs(path, exist_ok=True)
    names = [f"c{i}" for i in range(len(columns))] if "--hidden" in options else columns
    write(f"{path}/a.csv", [names] + [row for row, _, _ in rows])
    write(
        f"{path}/duplicates.csv",
        [["table", "row", "other_row"]] + [["a", p[0], q[0]] for p, q in pairs],
    )
    there = [["a", p[0], q[0]] for p, q in pairs if p[1] or q[1]]
    write(f"{path}/moved.csv", [["table", "row", "other_row"]] + there)


if __name__ == "__main__":
    given = [x for x in sys.argv[1:] if x[0] != "-"]
    if not given:
        sys.exit(__doc__)
    names = Faker() if "--faker" in sys.argv else Lexicon()
    for seed in given[1:] or ["1"]:
        for kind in KINDS:
            make(given[0], kind, seed, names, sys.argv[1:])
