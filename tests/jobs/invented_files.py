"""Ten further kinds of odd files, written after the reader and never used to choose a rule of it. Each with
what a reader must find, as in brought_files.py."""
import random

from brought_writing import CITIES, FIRMS, NAMES, Table, days, grouped, money, text
from foreign_files import Cell, Form, ods, xlsx


def printed(r):
    """A list for a printer: a heading on each page, and what follows a number says its side."""
    n = 24 + r.randint(0, 12)
    v = money(r, n, 10, 90000)
    out = ""
    for i, (x, d) in enumerate(zip(v, days(n))):
        if i % 10 == 0:
            out += f"{'Musterfirma AG':<40}Seite: {i // 10 + 1}\n{'Offene Posten zum 31.03.2024':<40}\n\n"
            out += f"{'Kunde':<20}{'Datum':<12}{'Betrag':>14}\n" + "-" * 46 + "\n"
        out += f"{r.choice(FIRMS):<20}{d:%d.%m.%Y}  {grouped(x, '.', ','):>14}\n"
        out += "\n" if i % 10 == 9 else ""
    return Form("printed pages.txt", out, Table(["Kunde", "Datum", "Betrag"], n, {"Betrag": v}, ["Datum"]))


def statistics(r):
    """An office's table: a key of marks above, names over two lines in quotes, numbered notes below."""
    n = 15 + r.randint(0, 9)
    v, w = money(r, n, 1000, 900000), money(r, n, 1, 99)
    cells = [["[x]" if i % 7 == 3 else f"{x:,.2f}", f"{y:.2f}"] for i, (x, y) in enumerate(zip(v, w))]
    rows = [["Table 3: Jobs by area, seasonally adjusted"], ["Key: [x] = not available"], []]
    rows += [["Area code", "Area", "Jobs\n(thousands)", "Rate\n(%)"]]
    rows += [[f"E{12000001 + i}", f"Area {chr(65 + i % 26)}{i}", *c] for i, c in enumerate(cells)]
    rows += [[], ["1. Estimates are rounded."], ["2. Source: Annual Survey, 2024"]]
    jobs = [None if i % 7 == 3 else x for i, x in enumerate(v)]
    head = ["Area code", "Area", "Jobs\n(thousands)", "Rate\n(%)"]
    return Form("statistics.csv", "\ufeff" + text(rows, ","), Table(head, n, {head[2]: jobs, head[3]: w}))


def station(r):
    """An instrument: what it is in lines of marks, names behind one, -9999 where it was down."""
    n = 30 + r.randint(0, 20)
    v = [round(r.uniform(-9, 35), 1) for _ in range(n)]
    out = "# Station: Hohenpeissenberg\n# Latitude: 47.80\n# Elevation [m]: 977\n#\n# date\ttemp\thumidity\n"
    wet = [r.randint(20, 99) for _ in range(n)]
    for i, (x, y, d) in enumerate(zip(v, wet, days(n))):
        out += f"{d:%Y-%m-%d}\t{-9999 if i % 9 == 4 else x}\t{y}\n"
    temp = [None if i % 9 == 4 else x for i, x in enumerate(v)]
    numbers = {"temp": temp, "humidity": wet}
    return Form("station.tsv", out, Table(["date", "temp", "humidity"], n, numbers, ["date"]))


def dos(r):
    """Of an old program: letters of DOS, sep=, points beside decimal commas, the sign behind."""
    n = 18 + r.randint(0, 9)
    v = [round(x * r.choice([1, 1, -1]), 2) for x in money(r, n, 100, 90000)]
    show = lambda x: grouped(abs(x), ".", ",") + ("-" if x < 0 else "")
    rows = [["Prüfung", "Straße", "Überschuß"]]
    rows += [
        [f"Nr. {i + 1}", f"{r.choice(['Grüner', 'Höhen', 'Äußerer'])} Weg {i}", show(x)]
        for i, x in enumerate(v)
    ]
    data = ("sep=;\r\n" + text(rows, ";", "\r\n")).encode("cp850")
    return Form("dos.csv", data, Table(rows[0], n, {"Überschuß": v}))


def ledger(r):
    """A trial balance: Cr and Dr behind the numbers, a total of each class and of all."""
    rows, v = [["Account", "Name", "Opening", "Closing"]], []
    for k in range(1, 4):
        part = money(r, 4 + k, 100, 90000)
        rows += [
            [k * 1000 + i, f"Account {chr(65 + i)}{k}", grouped(x, ",", "."), grouped(2 * x, ",", ".")]
            for i, x in enumerate(part)
        ]
        rows += [["", f"Total class {k}", grouped(sum(part), ",", "."), grouped(2 * sum(part), ",", ".")]]
        v += part
    rows += [["", "Grand total", grouped(sum(v), ",", "."), grouped(2 * sum(v), ",", ".")]]
    numbers = {"Opening": v, "Closing": [round(2 * x, 2) for x in v]}
    return Form("ledger.csv", text(rows, ","), Table(rows[0], len(v), numbers))


def markdown(r):
    """A page of prose with two tables in it."""
    n, m = 8 + r.randint(0, 6), 9 + r.randint(0, 6)
    a, b = money(r, n), money(r, m)
    out = "# Minutes\n\nWe met, and **agreed** on this:\n\n| Person | Paid |\n|:-------|-----:|\n"
    out += "".join(f"| {r.choice(NAMES)} {i} | {x:.2f} |\n" for i, x in enumerate(a))
    out += "\nThe rooms, as of today:\n\n| City | Rent | Since |\n| --- | ---: | --- |\n"
    out += "".join(f"| {r.choice(CITIES)} | {x:.2f} | {d:%Y-%m-%d} |\n" for x, d in zip(b, days(m)))
    tables = Table(["Person", "Paid"], n, {"Paid": a}), Table(
        ["City", "Rent", "Since"], m, {"Rent": b}, ["Since"]
    )
    return Form("minutes.md", out + "\nNext meeting in May.\n", *tables)


def beside(r):
    """Two tables side by side, of different lengths, each with a title over it."""
    n, m = 14 + r.randint(0, 5), 8 + r.randint(0, 5)
    a, b = money(r, n), money(r, m)
    left = [["Sales", "", ""], ["Rep", "Day", "Amount"]] + [
        [NAMES[i % 20], f"{d:%d/%m/%Y}", f"{x:.2f}"] for i, (x, d) in enumerate(zip(a, days(n, 9)))
    ]
    right = [["Returns", ""], ["Reason", "Value"]] + [
        [r.choice(["late", "broken", "size"]), f"{x:.2f}"] for x in b
    ]
    rows = [x + [""] + (right[i] if i < len(right) else ["", ""]) for i, x in enumerate(left)]
    return Form(
        "beside.csv",
        text(rows, ","),
        Table(["Rep", "Day", "Amount"], n, {"Amount": a}, ["Day"]),
        Table(["Reason", "Value"], m, {"Value": b}),
    )


def bare(r):
    """A bank's lines without names: a day, a text, an amount with a decimal comma, a currency."""
    n = 25 + r.randint(0, 20)
    v = [-x for x in money(r, n, 1, 900)]
    rows = [
        [f"{d:%d.%m.%Y}", f"{r.choice(FIRMS)} {i}", grouped(x, ".", ","), "EUR"]
        for i, (x, d) in enumerate(zip(v, days(n)))
    ]
    return Form("bare.csv", text(rows, ";"), Table(None, n))


def sheets(r):
    """Of spreadsheets: a merged title, names over two rows with merged cells, a subtotal, a hidden row."""
    n = 12 + r.randint(0, 6)
    v, w = money(r, n), money(r, n)
    rows = [
        [Cell("Hours of the year", across=4)],
        [],
        [Cell("Person", down=2), Cell("Start", down=2), Cell("Hours", across=2), None],
    ]
    rows += [[None, None, "planned", "done"]]
    rows += [[f"{NAMES[i % 20]} {i}", d, x, y] for i, (x, y, d) in enumerate(zip(v, w, days(n)))]
    rows += [["Total", None, round(sum(v), 2), round(sum(w), 2)]]
    head = ["Person", "Start", "Hours planned", "Hours done"]
    table = Table(head, n, {head[2]: v, head[3]: w}, ["Start"])
    yield "hours.xlsx", {"Hours": rows}, {"hidden": {6}}, [table]
    yield "hours.ods", {"Hours": rows}, {"hidden": {6}}, [table]


KINDS = printed, statistics, station, dos, ledger, markdown, beside, bare


def write(folder, seed=1):
    """[(path, tables)]: a file each in the folder."""
    r, out = random.Random(1000 + seed), []
    for form in (kind(r) for kind in KINDS):
        with open(f"{folder}/{form.name}", "wb") as f:
            f.write(form.data if isinstance(form.data, bytes) else form.data.encode())
        out.append((f"{folder}/{form.name}", list(form.tables)))
    for name, books, how, tables in sheets(r):
        (xlsx if name.endswith(".xlsx") else ods)(f"{folder}/{name}", books, **how)
        out.append((f"{folder}/{name}", tables))
    return out
