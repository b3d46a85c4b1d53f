"""Of brought_files.py: one ledger in the writing of many countries; ways to write dates, numbers, what is
missing, yes and no. And what all of its files are made of."""
import datetime

from foreign_files import Form

N = 24  # rows of most files
DAY = datetime.date(2024, 3, 5)


class Table:
    """numbers: {column: its values, None where it has none}; dates: columns of dates; missing: {column: how
    many}; kinds: {column: its type}. columns: None where it has none."""

    def __init__(self, columns, rows, numbers=None, dates=(), missing=None, **kinds):
        self.columns, self.rows, self.numbers, self.dates = columns, rows, numbers or {}, dates
        self.missing, self.kinds = missing or {}, kinds


def days(n=N, step=1):
    return [DAY + datetime.timedelta(step * i) for i in range(n)]


def money(r, n=N, low=1, high=9000):
    return [round(r.uniform(low, high), 2) for _ in range(n)]


def grouped(x, group, decimal, digits=2):
    return f"{x:,.{digits}f}".replace(",", "\1").replace(".", decimal).replace("\1", group)


def lakh(x):
    whole, cents = f"{x:.2f}".split(".")
    head, tail = whole[:-3], whole[-3:]
    parts = []
    while head:
        parts.insert(0, head[-2:])
        head = head[:-2]
    return ",".join([*parts, tail]) + "." + cents


def text(rows, delimiter=",", end="\n"):
    def field(x):
        x = "" if x is None else str(x)
        return '"' + x.replace('"', '""') + '"' if any(c in x for c in (delimiter, '"', "\n", "\r")) else x

    return "".join(delimiter.join(field(x) for x in row) + end for row in rows)


NAMES = "Ann Bob Cleo Dirk Emma Finn Gerda Hugo Ida Jan Kim Lea Max Nora Otto Pia Quin Rosa Sven Tina".split()
FIRMS = ["Acme GmbH", "Bolt AG", "Curie & Co", "Delta, Inc.", "Echo Ltd", "Fischer KG", "Gamma SA"]
CITIES = ["Bonn", "Ulm", "Kiel", "Graz", "Gent"]


# ---- locales ------------------------------------------------------------------------------------------


def locales(r):
    """One ledger in the writing of many countries."""
    writing = {
        "de": (";", ".", ",", "%d.%m.%Y", " €", ("Ja", "Nein")),
        "at": (";", " ", ",", "%d.%m.%Y", "", ("ja", "nein")),
        "ch": (";", "'", ".", "%d.%m.%Y", "", ("J", "N")),
        "ch typographic": (";", "’", ".", "%d.%m.%y", " CHF", ("J", "N")),
        "fr": (";", "\u202f", ",", "%d/%m/%Y", " €", ("Oui", "Non")),
        "fr nbsp": (";", "\u00a0", ",", "%d/%m/%Y", "", ("oui", "non")),
        "it": (";", ".", ",", "%d/%m/%Y", " EUR", ("Sì", "No")),
        "es": (";", ".", ",", "%d/%m/%y", "", ("Sí", "No")),
        "pt": (";", ".", ",", "%d-%m-%Y", "", ("Sim", "Não")),
        "nl": (";", ".", ",", "%d-%m-%Y", "", ("J", "N")),
        "pl": (";", " ", ",", "%Y-%m-%d", " zł", ("tak", "nie")),
        "cz": (";", "\u00a0", ",", "%-d. %-m. %Y", " Kč", ("ano", "ne")),
        "se": (";", " ", ",", "%Y-%m-%d", " kr", ("Ja", "Nej")),
        "dk": (";", ".", ",", "%d-%m-%Y", "", ("Ja", "Nej")),
        "fi": (";", "\u00a0", ",", "%-d.%-m.%Y", " €", ("kyllä", "ei")),
        "hu": (";", " ", ",", "%Y.%m.%d.", " Ft", ("igen", "nem")),
        "gb": (",", ",", ".", "%d/%m/%Y", "", ("Y", "N")),
        "us": (",", ",", ".", "%m/%d/%Y", "", ("Yes", "No")),
        "in": (",", None, ".", "%d-%b-%Y", "", ("Y", "N")),
        "tr": (";", ".", ",", "%d.%m.%Y", " TL", ("Evet", "Hayır")),
        "gr": (";", ".", ",", "%d/%m/%Y", "", ("Ναι", "Όχι")),
        "ru": (";", "\u00a0", ",", "%d.%m.%Y", "", ("да", "нет")),
    }
    for country, (delimiter, group, decimal, day, unit, yes) in writing.items():
        values = [round(10 ** r.uniform(1, 6.5), 2) for _ in range(N)]
        sign = r.sample(range(N), 5)
        values = [-x if i in sign else x for i, x in enumerate(values)]
        show = lakh if group is None else (lambda x: grouped(x, group, decimal))
        rows = [["date", "firm", "amount", "paid"]] + [
            [d.strftime(day), r.choice(FIRMS), ("-" if x < 0 else "") + show(abs(x)) + unit, yes[i % 3 == 0]]
            for i, (d, x) in enumerate(zip(days(step=9), values))
        ]
        yield Form(
            f"ledger {country}.csv",
            text(rows, delimiter),
            Table(rows[0], N, {"amount": values}, ["date"], paid="boolean"),
        )


def signs(r):
    """Ways to write dates, numbers, what is missing."""
    v = money(r)

    def one(name, written, want=None, dates=False, missing=0, kind=None, delimiter=";"):
        rows = [["item", "x", "n"]] + [[f"item {i}", x, i * 3 % 11] for i, x in enumerate(written)]
        kinds = {"x": kind} if kind else {}
        return Form(
            name + ".csv",
            text(rows, delimiter),
            Table(
                rows[0],
                len(written),
                {"x": want} if want else None,
                ["x"] if dates else [],
                {"x": missing},
                **kinds,
            ),
        )

    german = "Jan Feb Mrz Apr Mai Jun Jul Aug Sep Okt Nov Dez".split()
    long = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
    french = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split()
    d = days(step=13)
    yield one("day german short", [f"{x.day}.{german[x.month - 1]}.{x.year}" for x in d], dates=True)
    yield one("day german long", [f"{x.day}. {long[x.month - 1]} {x.year}" for x in d], dates=True)
    yield one("day french", [f"{x.day} {french[x.month - 1]} {x.year}" for x in d], dates=True)
    yield one("day basic", [f"{x:%Y%m%d}T101500Z" for x in d], dates=True)
    yield one("day yymmdd", [f"{x:%y%m%d}" for x in days(step=29)], dates=True)
    yield one(
        "day iso week",
        [f"{x.isocalendar()[0]}-W{x.isocalendar()[1]:02}-{x.isocalendar()[2]}" for x in d],
        dates=True,
    )
    yield one("month", [f"{x:%b-%y}" for x in days(step=31)], dates=True)
    yield one("month iso", [f"{x:%Y-%m}" for x in days(step=31)], dates=True)
    yield one("quarter", [f"FY{24 + i // 8} Q{i % 4 + 1}" for i in range(N)])
    yield one("rfc 2822", [f"{x:%a, %d %b %Y} 10:15:00 +0100" for x in d], dates=True)
    yield one("unix seconds", [1700000000 + 86417 * i for i in range(N)], dates=True)
    yield one("unix milliseconds", [1700000000123 + 86417999 * i for i in range(N)], dates=True)
    yield one("dotnet", [f"/Date({1700000000000 + 86400000 * i})/" for i in range(N)], dates=True)
    yield one("dotnet zone", [f"/Date({1700000000000 + 86400000 * i}+0100)/" for i in range(N)], dates=True)
    yield one(
        "day us time",
        [f"{x.month}/{x.day}/{x.year} {i % 12 + 1}:05 {'AP'[i % 2]}M" for i, x in enumerate(d)],
        dates=True,
    )
    yield one("day offset", [f"{x} 10:15:00.123456+02:00" for x in d], dates=True)
    steps = [r.randint(30000, 60000) for _ in range(N)]
    rows = [["order date", "x", "steps per day"]] + [[45000 + 17 * i, v[i], steps[i]] for i in range(N)]
    yield Form(
        "serial days.csv", text(rows), Table(rows[0], N, {"x": v, "steps per day": steps}, ["order date"])
    )
    spent = [r.randint(60, 200000) for _ in range(N)]
    spent = [x - x % 60 for x in spent]
    yield one("hours over a day", [f"{x // 3600}:{x % 3600 // 60:02}" for x in spent], spent)
    yield one(
        "hours, minutes",
        [f"{x // 3600}h {x % 3600 // 60}m" if x >= 3600 else f"{x // 60}m" for x in spent],
        spent,
    )
    yield one("iso duration", [f"PT{x // 3600}H{x % 3600 // 60}M" for x in spent], spent)
    yield one(
        "percent", [f"{x / 100:.1f} %".replace(".", ",") for x in v], [float(f"{x / 100:.1f}") for x in v]
    )
    yield one(
        "parentheses",
        [f"({grouped(x, ',', '.')})" if i % 4 == 1 else grouped(x, ",", ".") for i, x in enumerate(v)],
        [-x if i % 4 == 1 else x for i, x in enumerate(v)],
    )
    yield one(
        "dollar parentheses",
        [f"$({grouped(x, ',', '.')})" if i % 4 == 1 else "$" + grouped(x, ",", ".") for i, x in enumerate(v)],
        [-x if i % 4 == 1 else x for i, x in enumerate(v)],
    )
    yield one(
        "minus typographic",
        [("−" if i % 4 == 1 else "") + f"{x:.2f}" for i, x in enumerate(v)],
        [-x if i % 4 == 1 else x for i, x in enumerate(v)],
    )
    yield one("credit", [grouped(x, ",", ".") + (" CR" if i % 4 == 1 else " DR") for i, x in enumerate(v)])
    yield one("thousands in k", [f"{x:.1f}k" for x in v], [1000 * float(f"{x:.1f}") for x in v])
    yield one("leading currency", [f"€ {grouped(x, '.', ',')}" for x in v], v)
    yield one("unit behind", [f"{x:.1f} kg" for x in v], [float(f"{x:.1f}") for x in v])
    yield one(
        "plus signs",
        [f"{'+' if i % 2 else '-'}{x:.2f}" for i, x in enumerate(v)],
        [x if i % 2 else -x for i, x in enumerate(v)],
    )
    for mark in (
        "#N/A",
        "NULL",
        "-",
        "n/a",
        "k.A.",
        "NaN",
        "(null)",
        "\\N",
        "None",
        ".",
        "--",
        "?",
        "#DIV/0!",
        "missing",
        "...",
    ):
        yield one(
            "mark " + "".join(f"{ord(c):02x}" for c in mark),
            [mark if i % 6 == 2 else x for i, x in enumerate(v)],
            [None if i % 6 == 2 else x for i, x in enumerate(v)],
            missing=4,
        )
    ages = [r.randint(18, 80) for _ in range(N)]
    yield one(
        "mark -99",
        [-99 if i % 6 == 2 else x for i, x in enumerate(ages)],
        [None if i % 6 == 2 else x for i, x in enumerate(ages)],
        missing=4,
    )
    yield one(
        "mark 9999",
        [9999 if i % 6 == 2 else x for i, x in enumerate(ages)],
        [None if i % 6 == 2 else x for i, x in enumerate(ages)],
        missing=4,
    )
    for name, (yes, no) in {
        "ja": ("Ja", "Nein"),
        "true": ("TRUE", "FALSE"),
        "on": ("on", "off"),
        "wahr": ("WAHR", "FALSCH"),
        "vrai": ("VRAI", "FAUX"),
    }.items():
        yield one("boolean " + name, [yes if i % 3 else no for i in range(N)], kind="boolean")
    yield one("boolean x", ["X" if i % 3 else "" for i in range(N)], kind="boolean", missing=8)
    yield one("boolean with dash", [["Y", "N", "-"][i % 3] for i in range(N)], missing=8)
    yield one("zip codes", [f"{1000 + 911 * i:05}" for i in range(N)])
    yield one("article numbers", [f"00{12 + i}.{i % 10}0" for i in range(N)])
