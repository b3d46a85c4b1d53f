"""Forty-one files as offices, instruments and exports write them, each with what a reader must find: its
tables, by the names of their columns, their rows, and columns that are numbers with their greatest value."""
import datetime, random, zipfile
from xml.sax.saxutils import escape

HEAD = ["Name", "City", "Amount"]
NAMES = "Ann Bob Cleo Dirk Emma Finn Gerda Hugo Ida Jan Kim Lea Max Nora Otto Pia Quin Rosa Sven Tina".split()
CITIES = ["Bonn", "Ulm", "Kiel", "Graz", "Gent"]


class Table:
    """numbers: {column: its greatest value}; dates: columns of dates."""

    def __init__(self, columns, rows, numbers=None, dates=()):
        self.columns, self.rows, self.numbers, self.dates = columns, rows, numbers or {}, dates


class Form:
    def __init__(self, name, data, *tables):
        self.name, self.data, self.tables = name, data, tables


def people(r, n=18):
    return [[f"{NAMES[i % 20]} {chr(65 + i)}", r.choice(CITIES), r.randint(100, 9000) / 4] for i in range(n)]


def stock(r, n=9):
    return [[f"K-{300 + 7 * i}", r.randint(1, 50), r.choice(["red", "blue"])] for i in range(n)]


STOCK = ["Article", "Pieces", "Colour"]


def lines(rows, delimiter=",", end="\n"):
    return "".join(delimiter.join("" if x is None else str(x) for x in row) + end for row in rows)


def of_people(rows):
    return Table(HEAD, len(rows), {"Amount": max(x[2] for x in rows)})


def of_stock(rows):
    return Table(STOCK, len(rows), {"Pieces": max(x[1] for x in rows)})


def beside(left, right, gap=1):
    """Rows of two tables next to each other, an empty column between them."""
    height = max(len(left), len(right))
    pad = lambda t, i: t[i] if i < len(t) else [None] * len(t[0])
    return [[*pad(left, i), *[None] * gap, *pad(right, i)] for i in range(height)]


# ---- lines of text ------------------------------------------------------------------------------------


def heads(r):
    """No header, titles and notes above one, headers of several rows."""
    p, q = people(r), stock(r, 20)
    a = max(x[2] for x in p)
    yield Form("no header, values.csv", lines([[i + 11, *x] for i, x in enumerate(p)]), Table(None, 18))
    dated = [[x[0], f"2024-{i % 12 + 1:02}-{i + 1:02}", x[1]] for i, x in enumerate(p)]
    yield Form("no header, a date.csv", lines(dated, ";"), Table(None, 18))
    texts = [[r.choice(CITIES), r.choice(["open", "closed"]), r.choice(["day", "night"])] for _ in range(30)]
    yield Form("no header, words that return.csv", lines(texts), Table(None, 30))
    yield Form("a title.csv", "Staff of 2024\n\n" + lines([HEAD, *p]), of_people(p))
    above = "Export of the register\nCreated by: J. Doe\nCreated on: 2024-05-03\n"
    yield Form("notes above without a gap.csv", above + lines([HEAD, *p], ";"), of_people(p))
    pairs = "Report;Staff\nFrom;2024-01-01\nTo;2024-12-31\nUser;jdoe\n\n"
    yield Form("names and values above.csv", pairs + lines([HEAD, *p], ";"), of_people(p))
    months = [[x[0], *(r.randint(10, 99) for _ in range(4))] for x in p]
    two = [["", "2023", "", "2024", ""], ["Name", "Sales", "Cost", "Sales", "Cost"]]
    names = ["Name", "2023 Sales", "2023 Cost", "2024 Sales", "2024 Cost"]
    yield Form("a header of two rows.csv", lines(two + months), Table(names, 18))
    three = [["", "Plant", "", "Plant", ""], ["", "North", "", "South", ""], two[1]]
    names = ["Name", "Plant North Sales", "Plant North Cost", "Plant South Sales", "Plant South Cost"]
    yield Form("a header of three rows.csv", lines(three + months), Table(names, 18))
    units = [["Time", "Flow", "Load"], ["s", "l/min", "kg"]] + [
        [i / 10, r.random(), i * 3] for i in range(40)
    ]
    yield Form(
        "units below the names.csv", lines(units, "\t"), Table(["Time s", "Flow l/min", "Load kg"], 40)
    )
    again = lines([HEAD, *p[:9], HEAD, *p[9:]])
    yield Form("a header on each page.csv", again, Table(HEAD, 18, {"Amount": a}))
    del q


def several(r):
    """Several tables in one file."""
    p, q = people(r), stock(r)
    one, two = lines([HEAD, *p]), lines([STOCK, *q])
    yield Form("two tables, a gap.csv", one + "\n" + two, of_people(p), of_stock(q))
    yield Form("two tables, titles.csv", "Staff\n" + one + "\nStock\n" + two, of_people(p), of_stock(q))
    rates = [["Currency", "Rate"], *([c, round(r.uniform(0.5, 9), 3)] for c in ("USD", "GBP", "CHF", "SEK"))]
    yield Form(
        "three tables.csv",
        one + "\n" + lines(rates) + "\n\n" + two,
        of_people(p),
        Table(rates[0], 4, {"Rate": max(x[1] for x in rates[1:])}),
        of_stock(q),
    )
    q = stock(r, 18)
    yield Form(
        "side by side, one length.csv", lines(beside([HEAD, *p], [STOCK, *q])), of_people(p), of_stock(q)
    )
    q = stock(r, 7)
    yield Form("side by side.csv", lines(beside([HEAD, *p], [STOCK, *q]), ";"), of_people(p), of_stock(q))


def feet(r):
    """Totals, sources and groups."""
    p = people(r)
    s, head = sum(x[2] for x in p), lines([HEAD, *p])
    yield Form("a total.csv", head + f"Total,,{s}\n", of_people(p))
    rows = [[x[2], x[1], x[0]] for x in p]
    text = lines([HEAD[::-1], *rows], ";") + f"{s};;Summe\n"
    yield Form("a total, its label last.csv", text, Table(HEAD[::-1], 18, {"Amount": max(x[2] for x in p)}))
    notes = "\nSource: Register of 2024, own figures\n* provisional\n"
    yield Form("a source below.csv", head + notes, of_people(p))
    yield Form("a total and a source.csv", head + f"\nGrand total,,{s}\n" + notes, of_people(p))
    groups = []
    for city in CITIES:
        own = [[city, n, r.randint(5, 90)] for n in r.sample(NAMES, 4)]
        groups += own + [[f"Total {city}", None, sum(x[2] for x in own)]]
    groups.append(["Total", None, sum(x[2] for x in groups if x[1])])
    plain = [x for x in groups if x[1]]
    text = lines([["City", "Name", "Amount"], *groups], ";")
    yield Form(
        "totals of groups.csv",
        text,
        Table(["City", "Name", "Amount"], 20, {"Amount": max(x[2] for x in plain)}),
    )


def grouped(x, thousand, decimal):
    return f"{x:,.2f}".replace(",", "\0").replace(".", decimal).replace("\0", thousand)


def signs(r):
    """Numbers, quotes, delimiters, encodings."""
    p = [[x[0], x[1], round(x[2] * 1000 + 0.25, 2)] for x in people(r)]
    t = Table(HEAD, 18, {"Amount": max(x[2] for x in p)})
    for name, thousand, decimal, delimiter in (
        ("1.234,56.csv", ".", ",", ";"),
        ("1 234,56.csv", "\u00a0", ",", ";"),
        ("1'234.50.csv", "'", ".", "\t"),
    ):
        rows = [[a, b, grouped(x, thousand, decimal)] for a, b, x in p]
        yield Form(name, lines([HEAD, *rows], delimiter), t)
    rows = [[f'"{a} "{a[0]}" is, here"', b, x] for a, b, x in p]
    yield Form("quotes in quotes.csv", lines([HEAD, *rows]), t)
    rows = [[f'"{a} says ""so, {b}""\nand on"', b, x] for a, b, x in p]
    yield Form("quotes over lines.csv", lines([HEAD, *rows]), t)
    rows = [[f"'{a}, {b}'", f"'{b}'", x] for a, b, x in p]
    yield Form("single quotes.csv", lines([HEAD, *rows]), t)
    rows = [[f'"{a} \\"{b}\\", x"', b, x] for a, b, x in p]
    yield Form("a backslash before quotes.csv", lines([HEAD, *rows]), t)
    rows = [[f" {x} " for x in row] for row in [HEAD, *p]]
    yield Form("bars and blanks.txt", lines(rows, "|"), t)
    rows = [f"{a:<14}{b:<9}{x:>12}\n" for a, b, x in [HEAD, *([a.replace(" ", "-"), b, x] for a, b, x in p)]]
    yield Form("aligned by blanks.txt", "".join(rows), t)
    yield Form("UTF-16.txt", ("\ufeff" + lines([HEAD, *p], "\t", "\r\n")).encode("utf-16-le"), t)
    rows = [[a.replace("o", "ö"), b, x] for a, b, x in p]
    yield Form("sep= and latin-1.csv", ("sep=;\r\n" + lines([HEAD, *rows], ";", "\r\n")).encode("latin-1"), t)


# ---- workbooks ----------------------------------------------------------------------------------------

STYLES = {"plain": 0, "date": 1, "percent": 2, "money": 3}
MONEY = '#,##0.00\\ "€";[Red]\\-#,##0.00\\ "€"'


class Cell:
    def __init__(self, value, style="plain", formula=False, across=1, down=1):
        self.value, self.style, self.formula = value, style, formula
        self.across, self.down = across, down


def xlsx_cell(x, epoch):
    x = x if isinstance(x, Cell) else Cell(x)
    style, v = STYLES[x.style], x.value
    if x.formula:
        return f'<c s="{style}"><f>SUM(C2:C9)</f></c>'
    if v is None:
        return "<c/>"
    if isinstance(v, datetime.date):
        return f'<c s="1"><v>{(v - epoch).days}</v></c>'
    if isinstance(v, (int, float)):
        return f'<c s="{style}"><v>{v}</v></c>'
    return f'<c t="inlineStr"><is><t>{escape(str(v))}</t></is></c>'


def xlsx(path, sheets, epoch=datetime.date(1899, 12, 30), hidden=()):
    """sheets: {name: rows}; hidden: rows, counted from 0, that a filter hides."""
    names, links, parts = "", "", {}
    for n, (name, rows) in enumerate(sheets.items(), 1):
        names += f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>'
        links += f'<Relationship Id="r{n}" Target="worksheets/{n}.xml"/>'
        text, merged = "", ""
        for i, row in enumerate(rows):
            off = ' hidden="1"' if i in hidden else ""
            text += f'<row r="{i + 1}"{off}>' + "".join(xlsx_cell(x, epoch) for x in row) + "</row>"
            for k, x in enumerate(row):
                if isinstance(x, Cell) and (x.across > 1 or x.down > 1):
                    last = f"{chr(64 + k + x.across)}{i + x.down}"
                    merged += f'<mergeCell ref="{chr(65 + k)}{i + 1}:{last}"/>'
        parts[n] = f"<worksheet><sheetData>{text}</sheetData><mergeCells>{merged}</mergeCells></worksheet>"
    since = '<workbookPr date1904="1"/>' if epoch.year == 1904 else ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("xl/workbook.xml", f'<workbook xmlns:r="r">{since}<sheets>{names}</sheets></workbook>')
        z.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{links}</Relationships>")
        z.writestr(
            "xl/styles.xml",
            f'<styleSheet><numFmts><numFmt numFmtId="170" formatCode="{escape(MONEY, {chr(34): "&quot;"})}"/>'
            '</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="170"/>'
            "</cellXfs></styleSheet>",
        )
        for n, text in parts.items():
            z.writestr(f"xl/worksheets/{n}.xml", text)


ODS_TYPES = {"plain": "float", "percent": "percentage", "money": "currency"}


def ods_cell(x):
    x = x if isinstance(x, Cell) else Cell(x)
    v, span = x.value, ""
    if x.across > 1 or x.down > 1:
        span = f' table:number-columns-spanned="{x.across}" table:number-rows-spanned="{x.down}"'
    if v is None:
        return "<table:table-cell/>"
    if isinstance(v, datetime.date):
        kind = f'office:value-type="date" office:date-value="{v}"'
        return f"<table:table-cell{span} {kind}><text:p>{v:%d.%m.%y}</text:p></table:table-cell>"
    if isinstance(v, (int, float)):
        kind = f'office:value-type="{ODS_TYPES[x.style]}" office:value="{v}"'
        return f"<table:table-cell{span} {kind}><text:p>{v:.1f} shown</text:p></table:table-cell>"
    text = f"<text:p>{escape(str(v))}</text:p>"
    return f'<table:table-cell{span} office:value-type="string">{text}</table:table-cell>'


def ods(path, sheets, hidden=()):
    text = ""
    for name, rows in sheets.items():
        text += f'<table:table table:name="{name}">'
        for i, row in enumerate(rows):
            off = ' table:visibility="filter"' if i in hidden else ""
            cells = "".join(ods_cell(x) for x in row)
            cells += '<table:table-cell table:number-columns-repeated="1000"/>'
            text += f"<table:table-row{off}>{cells}</table:table-row>"
        text += '<table:table-row table:number-rows-repeated="60000"><table:table-cell/></table:table-row>'
        text += "</table:table>"
    space = "".join(f' xmlns:{x}="urn:{x}"' for x in ("office", "table", "text"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        body = f"<office:body><office:spreadsheet>{text}</office:spreadsheet></office:body>"
        z.writestr("content.xml", f"<office:document-content{space}>{body}</office:document-content>")


def books(r):
    """(form, rows by sheet, what the writer is told): each is written as it says, by its ending."""
    p, q = people(r), stock(r, 18)
    groups = [
        [None, Cell("2023", across=2), None, Cell("2024", across=2), None],
        ["Name", "Sales", "Cost", "Sales", "Cost"],
        *([x[0], *(r.randint(10, 99) for _ in range(4))] for x in p),
    ]
    names = ["Name", "2023 Sales", "2023 Cost", "2024 Sales", "2024 Cost"]
    yield "merged headers.xlsx", {"A": groups}, {}, [Table(names, 18)]
    rows = [["City", "Name", "Amount"]]
    for city in CITIES:
        for k, name in enumerate(r.sample(NAMES, 4)):
            rows.append([Cell(city, down=4) if k == 0 else None, name, r.randint(10, 900)])
    yield "merged groups.xlsx", {"A": rows}, {}, [Table(rows[0], 20, {"Amount": max(x[2] for x in rows[1:])})]
    yield "hidden rows.xlsx", {"A": [HEAD, *p]}, {"hidden": (3, 4, 9)}, [of_people(p)]
    day = datetime.date
    dated = [["Day", "Name", "Amount"], *([day(2024, 1 + i % 12, 1 + i), *x[::2]] for i, x in enumerate(p))]
    since = {"epoch": day(1904, 1, 1)}
    dates = Table(dated[0], 18, {"Amount": max(x[2] for x in p)}, ("Day",))
    yield "dates since 1904.xlsx", {"A": dated}, since, [dates]
    rates = [
        ["Name", "Share", "Price"],
        *([x[0], Cell(round(r.random(), 3), "percent"), Cell(x[2], "money")] for x in p),
    ]
    best = {"Share": max(x[1].value for x in rates[1:]), "Price": max(x[2] for x in p)}
    shares = Table(rates[0], 18, best)
    yield "percent and money.xlsx", {"A": rates}, {}, [shares]
    yield "side by side.xlsx", {"A": beside([HEAD, *p], [STOCK, *q])}, {}, [of_people(p), of_stock(q)]
    under = [["Staff"], HEAD, *p, [], [], ["Stock"], STOCK, *q]
    yield "one below the other.xlsx", {"A": under}, {}, [of_people(p), of_stock(q)]
    foot = [["Staff of 2024"], [], HEAD, *p, ["Total", None, Cell(0, formula=True)]]
    yield "a formula without a value.xlsx", {"A": foot}, {}, [of_people(p)]
    yield "percent and money.ods", {"A": rates, "B": dated}, {}, [shares, dates]
    yield "merged groups.ods", {"A": [["Cities"], [], *rows, [], ["Source: register"]]}, {"hidden": (4, 5)}, [
        Table(rows[0], 20, {"Amount": max(x[2] for x in rows[1:])})
    ]


def write(folder, seed=1):
    """[(path, tables)]: a file each in the folder."""
    r, out = random.Random(seed), []
    for form in (f for kind in (heads, several, feet, signs) for f in kind(r)):
        path = f"{folder}/{form.name}"
        with open(path, "wb") as f:
            f.write(form.data if isinstance(form.data, bytes) else form.data.encode())
        out.append((path, list(form.tables)))
    for name, sheets, how, tables in books(r):
        (xlsx if name.endswith(".xlsx") else ods)(f"{folder}/{name}", sheets, **how)
        out.append((f"{folder}/{name}", tables))
    return out


def reaches(spread, most):
    """Of a profile: is that the greatest value? Of few distinct ones it shows those that are frequent."""
    if "high" in spread:
        return abs(spread["high"] - most) <= 1e-6 * abs(most)
    try:
        values = [float(v["value"]) for v in spread["values"]]
    except ValueError:
        return False
    return max(values, default=0) <= most and (most in values or len(values) < spread["distinct"])


def wrong(found, wanted):
    """What of the tables of a bundle is not as wanted; "" where all is."""
    if [t["rows"] for t in found] != [t.rows for t in wanted]:
        return f"rows {[t['rows'] for t in found]}, not {[t.rows for t in wanted]}"
    for got, want in zip(found, wanted):
        names = [c["name"] for c in got["column_profile"]]
        if want.columns is None and got["reading"]["header_rows"] != 0:
            return f"takes {names} for a header"
        if want.columns is not None and names != want.columns:
            return f"columns {names}, not {want.columns}"
        column = {c["name"]: c for c in got["column_profile"]}
        for name, most in want.numbers.items():
            c = column[name]
            if c["missing_pct"] > 0 or not reaches(c["spread"], most):
                return (
                    f"{name} is {c['type']}, {c['missing_pct']:.0%} missing, not up to {most}: {c['spread']}"
                )
        for name in want.dates:
            if column[name]["type"] != "datetime":
                return f"{name} is {column[name]['type']}, not a date"
    return ""
