"""Exports as newcomers bring them: of shops, banks, bookkeeping, laboratories, statistics offices. Each with
what a reader must find: tables, names, rows, the least and greatest number of columns, dates, missing cells,
types."""
import datetime, json, random

from brought_writing import CITIES, FIRMS, NAMES, N, Table, days, grouped, locales, money, signs, text
from foreign_files import Form, ods, xlsx

# ---- systems --------------------------------------------------------------------------------------------


def books(r):
    """Bookkeeping and banks."""
    v, m = money(r), money(r, high=90)
    head = ["Umsatz (ohne Soll/Haben-Kz)", "Soll/Haben-Kennzeichen", "Konto", "Gegenkonto", "Belegdatum"]
    head += [f"Zusatzinformation - {what} {i}" for i in range(1, 21) for what in ("Art", "Inhalt")]
    extf = '"EXTF";700;21;"Buchungsstapel";13;20240305101500000;;"RE";"";"";1001;1;20240101;4;20240301;'
    extf += '20240331;"";"";1;0;0;"EUR";;"";;;"";;;"";""\r\n'
    rows = [head] + [
        [grouped(x, "", ","), "SH"[i % 2], 1200, 8400 + i % 3, f"{d:%d%m}", *[""] * 40]
        for i, (x, d) in enumerate(zip(v, days()))
    ]
    yield Form("datev.csv", (extf + text(rows, ";", "\r\n")).encode("cp1252"), Table(head, N, {head[0]: v}))
    above = "Umsatzanzeige;Datei erstellt am: 05.03.2024 10:15\n\nIBAN;DE89 3704 0044 0532 0130 00\n"
    above += "Kontoname;Girokonto\nBank;Testbank\nKunde;Erika Muster\nZeitraum;01.02.2024 - 05.03.2024\n"
    above += "Saldo;1.234,56;EUR\n\n"
    head = ["Buchung", "Valuta", "Auftraggeber/Empfänger", "Buchungstext", "Betrag", "Währung"]
    rows = [head] + [
        [f"{d:%d.%m.%Y}", f"{d:%d.%m.%Y}", r.choice(FIRMS), "Lastschrift", "-" + grouped(x, ".", ","), "EUR"]
        for x, d in zip(v, days())
    ]
    yield Form(
        "bank de.csv",
        (above + text(rows, ";")).encode("cp1252"),
        Table(head, N, {"Betrag": [-x for x in v]}, ["Buchung", "Valuta"]),
    )
    head = "Auftragskonto Buchungstag Valutadatum Buchungstext Verwendungszweck Betrag Waehrung Info".split()
    rows = [head] + [
        ["DE89370400440532013000", f"{d:%d.%m.%y}", f"{d:%d.%m.%y}", "FOLGELASTSCHRIFT"]
        + [f"RG {i} vom {d:%d.%m.}; danke", grouped(-x, "", ","), "EUR", "Umsatz gebucht"]
        for i, (x, d) in enumerate(zip(v, days()))
    ]
    quoted = "".join(";".join(f'"{x}"' for x in row) + "\r\n" for row in rows)
    yield Form("bank camt.csv", quoted, Table(head, N, {"Betrag": [-x for x in v]}, ["Buchungstag"]))
    head = ["Date", "Description", "Debit", "Credit", "Balance"]
    paid, got, balance = [], [], []
    for i, x in enumerate(v):
        paid.append(x if i % 3 else None)
        got.append(None if i % 3 else x)
        balance.append(round((balance or [500000])[-1] + (got[-1] or 0) - (paid[-1] or 0), 2))
    show = lambda x: "" if x is None else grouped(x, ",", ".")
    rows = [head] + [
        [f"{d:%d %b %Y}", "CARD 1234, LONDON", show(a), show(b), show(c)]
        for d, a, b, c in zip(days(), paid, got, balance)
    ]
    yield Form(
        "bank gb.csv",
        text(rows),
        Table(head, N, {"Debit": paid, "Credit": got, "Balance": balance}, ["Date"]),
    )
    head = ["Belegnr", "Buchungsdatum", "Sachkonto", "Betrag in HW", "Währung"]
    values = [x if i % 4 else -x for i, x in enumerate(v)]
    sap = [
        f"|{5100000000 + i}|{d:%d.%m.%Y}|{400000 + i % 5:010}|{grouped(abs(x), '.', ','):>14}"
        f"{'-' if x < 0 else ' '}|EUR  |"
        for i, (x, d) in enumerate(zip(values, days()))
    ]
    rule = "-" * len(sap[0])
    names = "|" + "|".join(f"{h:<12}" for h in head) + "|"
    yield Form(
        "sap list.txt",
        "\n".join(["05.03.2024      Dynamische Listenausgabe      1", "", rule, names, rule, *sap, rule, ""]),
        Table(head, N, {"Betrag in HW": values}, ["Buchungsdatum"]),
    )
    rows = [head] + [
        [
            5100000000 + i,
            f"{d:%Y%m%d}",
            f"{400000 + i % 5:010}",
            f"{abs(x):.2f}" + ("-" if x < 0 else ""),
            "EUR",
        ]
        for i, (x, d) in enumerate(zip(values, days()))
    ]
    yield Form(
        "sap trailing minus.csv",
        text(rows, "\t", "\r\n").encode("utf-16"),
        Table(head, N, {"Betrag in HW": values}, ["Buchungsdatum"]),
    )
    head = ["Date", "Transaction Type", "Num", "Name", "Amount"]
    rows = [["Acme Inc."], ["Transaction List by Date"], ["January - March, 2024"], [], head] + [
        [
            f"{d:%m/%d/%Y}",
            "Invoice",
            1000 + i,
            r.choice(FIRMS),
            f"({grouped(x, ',', '.')})" if i % 5 == 0 else grouped(x, ",", "."),
        ]
        for i, (x, d) in enumerate(zip(v, days()))
    ]
    rows += [
        ["TOTAL", "", "", "", grouped(sum(-x if i % 5 == 0 else x for i, x in enumerate(v)), ",", ".")],
        [],
    ]
    rows += [["", "Tuesday, Mar 05, 2024 10:15:00 AM GMT-8 - Accrual Basis"]]
    yield Form(
        "quickbooks.csv",
        text(rows),
        Table(head, N, {"Amount": [-x if i % 5 == 0 else x for i, x in enumerate(v)]}, ["Date"]),
    )
    head = ["Account", "Debit", "Credit"]
    rows = [head] + [
        [f"{1000 + 10 * i} Account {i}", f"${grouped(x, ',', '.')}", f"${m[i]:.2f}"] for i, x in enumerate(v)
    ]
    rows += [["TOTAL", f"${grouped(sum(v), ',', '.')}", f"${grouped(sum(m), ',', '.')}"]]
    yield Form("trial balance.csv", text(rows), Table(head, N, {"Debit": v, "Credit": m}))


def shops(r):
    """Shops, customers, visits, tickets."""
    v = money(r, high=400)
    head = [
        "Name",
        "Email",
        "Financial Status",
        "Paid at",
        "Currency",
        "Total",
        "Lineitem name",
        "Billing Zip",
    ]
    rows = [head] + [
        [f"#{1001 + i}", f"{NAMES[i % 20].lower()}{i}@example.com", "paid", f"{d} 10:15:{i:02} +0100", "EUR"]
        + [f"{v[i]:.2f}", 'Shirt, "XL"', f"'{1000 + 37 * i:05}"]
        for i, d in enumerate(days())
    ]
    yield Form("shopify.csv", text(rows), Table(head, N, {"Total": v}, ["Paid at"]))
    head = ["Opportunity Owner", "Account Name", "Stage", "Amount", "Close Date", "Probability (%)"]
    share = [10 * (i % 10) for i in range(N)]
    rows = [
        [
            NAMES[i % 20],
            r.choice(FIRMS),
            "Closed Won",
            f"EUR {grouped(v[i], ',', '.')}",
            f"{d.month}/{d.day}/{d.year}",
            f"{share[i]}%",
        ]
        for i, d in enumerate(days(step=6))
    ]
    quoted = "".join(",".join(f'"{x}"' for x in row) + "\n" for row in [head, *rows])
    quoted += '\n\n"Opportunities"\n"Copyright (c) 2000-2024 salesforce.com, inc. All rights reserved."\n'
    quoted += '"Confidential Information - Do Not Distribute"\n'
    quoted += '"Generated By:  Erika Muster  05/03/2024 10:15"\n"Acme"\n'
    yield Form("salesforce.csv", quoted, Table(head, N, {"Amount": v}, ["Close Date"]))
    users = [r.randint(1, 5000) for _ in range(N)]
    bounce = [round(r.uniform(20, 80), 2) for _ in range(N)]
    stay = [r.randint(5, 900) for _ in range(N)]
    head = ["Day Index", "Users", "Bounce Rate", "Avg. Session Duration"]
    rows = [
        [
            f"{d.month}/{d.day}/{d:%y}",
            f"{users[i]:,}",
            f"{bounce[i]}%",
            f"{stay[i] // 3600:02}:{stay[i] // 60:02}:{stay[i] % 60:02}",
        ]
        for i, d in enumerate(days(step=2))
    ]
    ga = "# ----------------------------------------\n# All Web Site Data\n# Audience Overview\n"
    ga += "# 20240305-20240331\n# ----------------------------------------\n\n"
    yield Form(
        "analytics.csv",
        ga + text([head, *rows]),
        Table(head, N, {"Users": users}, ["Day Index"]),
    )
    ga += "Date,Sessions\n"
    rows = [[f"{d:%Y%m%d}", users[i]] for i, d in enumerate(days())]
    yield Form(
        "analytics yyyymmdd.csv",
        ga + text(rows),
        Table(["Date", "Sessions"], N, {"Sessions": users}, ["Date"]),
    )
    head = [
        "Summary",
        "Issue key",
        "Labels",
        "Labels",
        "Labels",
        "Created",
        "Story Points",
        "Sprint",
        "Sprint",
    ]
    points = [round(r.uniform(1, 40), 1) if i % 4 else None for i in range(N)]
    rows = [head] + [
        [
            f'Fix "login" {i}\nsecond line',
            f"TAB-{100 + i}",
            "backend",
            "api" if i % 2 else "",
            "",
            f"{d:%d/%b/%y} 10:{i:02} AM",
        ]
        + [points[i], f"Sprint {i // 8}", ""]
        for i, d in enumerate(days())
    ]
    yield Form("jira.csv", text(rows), Table(head, N, {"Story Points": points}, ["Created"]))
    head = [
        "Activity ID",
        "Activity Date",
        "Activity Type",
        "Elapsed Time",
        "Distance",
        "Max Heart Rate",
        "Moving Time",
    ]
    km = [round(r.uniform(1, 40), 2) for _ in range(N)]
    rows = [head] + [
        [
            9100000000 + i,
            f"{d:%b} {d.day}, {d.year}, {i % 12 + 1}:15:05 {'AP'[i % 2]}M",
            "Run",
            60 * i + 900,
            km[i],
        ]
        + [f"{150 + i % 9}.0", f"{i % 3}h {i + 1}m {i % 60}s"]
        for i, d in enumerate(days())
    ]
    yield Form("strava.csv", text(rows), Table(head, N, {"Distance": km}, ["Activity Date"]))
    head = ["First Name", "Last Name", "Phone", "Zip", "Opted In", "Score"]
    rows = [head] + [
        [
            NAMES[i % 20],
            NAMES[(7 * i) % 20] + "son",
            f"1803535{7000 + i}.0",
            f"{2000 + 31 * i:05}",
            "Y" if i % 3 else "-",
        ]
        + ["-99" if i % 6 == 0 else i * 1.5]
        for i in range(N)
    ]
    yield Form(
        "crm floats.csv",
        text(rows),
        Table(head, N, missing={"Score": 4}),
    )


def laboratories(r):
    """Instruments: what stands above, units below the names, odd signs."""
    a, b = money(r, high=2), money(r, 40, 0, 30)
    head = ["Well", "Sample", "Abs 260", "Abs 280"]
    plate = (
        "Instrument:\tNanoDrop 2000\nSerial No.:\tD123\nOperator:\tjd\nDate:\t05/03/2024 10:15\n\n[Results]\n"
    )
    rows = [head] + [
        ["ABC"[i % 3] + str(i // 3 + 1), f"S{i}", f"{a[i]:.3f}", "#N/A" if i % 8 == 3 else f"{b[i]:.3f}"]
        for i in range(N)
    ]
    yield Form(
        "plate reader.txt",
        plate + text(rows, "\t"),
        Table(head, N, {"Abs 260": a, "Abs 280": [None if i % 8 == 3 else b[i] for i in range(N)]}),
    )
    head = ["Time", "Temp", "Pressure", "Status"]
    unit = ["[s]", "[°C]", "[mbar]", "[-]"]
    bar = [1e5 * x for x in a]
    rows = [head, unit] + [[f"{i / 10:.1f}", f"{b[i]:.2f}", f"{bar[i]:.3E}", "OK"] for i in range(N)]
    found = [f"{h} {u}" for h, u in zip(head, unit)]
    yield Form(
        "units row.csv",
        text(rows),
        Table(found, N, {found[1]: b[:N], found[2]: [float(f"{x:.3E}") for x in bar]}),
    )
    rows = [["Zeit", "Weg", "Kraft"], ["s", "mm", "N"], ["", "", ""]][:2] + [
        [grouped(i / 10, "", ","), grouped(b[i], "", ",", 3), grouped(a[i], "", ",", 4)]
        for i in range(40 if len(a) >= 40 else N)
    ]
    yield Form(
        "units row, decimal commas.txt",
        text(rows, "\t", "\r\n").encode("cp1252"),
        Table(["Zeit s", "Weg mm", "Kraft N"], N, {"Weg mm": b[:N], "Kraft N": a}),
    )
    logger = "Plot Title: Cellar 3\n" + text(
        [["#", "Date Time, GMT+01:00", "Temp, °C (LGR S/N: 1)", "Host Connected"]]
        + [
            [i + 1, f"{d:%m/%d/%y} 10:15:00 AM", f"{b[i]:.3f}", "Logged" if i % 7 == 0 else ""]
            for i, d in enumerate(days())
        ]
    )
    yield Form(
        "logger.csv",
        logger.encode("utf-8-sig"),
        Table(
            ["#", "Date Time, GMT+01:00", "Temp, °C (LGR S/N: 1)", "Host Connected"],
            N,
            {"Temp, °C (LGR S/N: 1)": b[:N]},
            ["Date Time, GMT+01:00"],
        ),
    )
    rows = [["sample", "conc", "flag"]] + [
        [f"P{i:03}", "<0.05" if i % 9 == 0 else a[i], "*" if i % 9 == 0 else ""] for i in range(N)
    ]
    yield Form("below detection.csv", text(rows), Table(rows[0], N))
    stamps = [f"2024-03-05T10:{i:02}:00.{i:03}Z" for i in range(N)]
    rows = [["ts", "value", "q"]] + [
        [stamps[i], "NaN" if i % 5 == 0 else f"{b[i]:e}", i % 2] for i in range(N)
    ]
    yield Form(
        "scientific.csv",
        text(rows, ";"),
        Table(rows[0], N, {"value": [None if i % 5 == 0 else float(f"{b[i]:e}") for i in range(N)]}, ["ts"]),
    )


def offices(r):
    """Statistics offices and R."""
    years = [str(y) for y in range(2010, 2024)]
    countries = ["Austria", "Belgium", "Czechia", "Denmark", "Estonia", "Finland", "Greece", "Hungary"]
    cells = [[round(r.uniform(10, 90), 1) for _ in years] for _ in countries]
    head = ["Country Name", "Country Code", "Indicator Name", "Indicator Code", *years]
    rows = [
        ["Data Source", "World Development Indicators"],
        [],
        ["Last Updated Date", "2024-03-05"],
        [],
        head,
    ]
    rows += [[c, c[:3].upper(), "GDP", "NY.GDP", *x] for c, x in zip(countries, cells)]
    quoted = "".join(",".join(f'"{x}"' for x in row) + ("," if len(row) > 2 else "") + "\r\n" for row in rows)
    yield Form(
        "world bank.csv",
        quoted.encode("utf-8-sig"),
        Table(head, len(countries), {"2010": [x[0] for x in cells], "2023": [x[-1] for x in cells]}),
    )
    flags = ["", " p", " b", " e"]
    rows = [["freq,unit,geo\\TIME_PERIOD", *[y + " " for y in years]]] + [
        [
            f"A,PC,{c[:2].upper()}",
            *[": " if (i + k) % 11 == 0 else f"{x}{flags[(i + k) % 4]}" for k, x in enumerate(xs)],
        ]
        for i, (c, xs) in enumerate(zip(countries, cells))
    ]
    yield Form(
        "eurostat.tsv",
        text(rows, "\t").replace('"', ""),
        Table(
            rows[0],
            len(countries),
            missing={
                y + " ": sum((i + k) % 11 == 0 for i in range(len(countries))) for k, y in enumerate(years)
            },
        ),
    )
    rows = [["TIME", *years[:6]], ["GEO (Labels)", *[""] * 6]] + [
        [c, *x[:6]] for c, x in zip(countries, cells)
    ]
    rows[3][2] = ":"
    rows = [
        ["Dataset: Unemployment rate"],
        ["Last updated: 05/03/2024"],
        [],
        *rows,
        [],
        ["Special value"],
        [":", "not available"],
    ]
    column = [x[1] for x in cells]
    column[1] = None
    yield Form(
        "eurostat sheet.csv",
        text(rows),
        Table(
            ["TIME GEO (Labels)", *years[:6]],
            len(countries),
            {years[0]: [x[0] for x in cells], years[1]: column},
        ),
    )
    rows = [["Table 1. Inhabitants by age"], []] + [
        ["", "Male", "", "Female", ""],
        ["Region", "under 18", "18+", "under 18", "18+"],
    ]
    data = [[r.randint(100, 999999) for _ in range(4)] for _ in range(N)]
    rows += [[f"Region {i}", *[f"{x:,}" for x in xs]] for i, xs in enumerate(data)]
    rows += [
        ["Total", *[f"{sum(x[k] for x in data):,}" for k in range(4)]],
        [],
        ["Note: rounded; see methods."],
        ["Source: Office, 2024"],
    ]
    yield Form(
        "census.csv",
        text(rows),
        Table(
            ["Region", "Male under 18", "Male 18+", "Female under 18", "Female 18+"],
            N,
            {"Male under 18": [x[0] for x in data], "Female 18+": [x[3] for x in data]},
        ),
    )
    length = [round(r.uniform(4, 8), 1) for _ in range(N)]
    kind = [r.choice(["setosa", "virginica"]) for _ in range(N)]
    missing = [None if i % 6 == 1 else length[i] for i in range(N)]
    table = "Length Width Species\n" + "".join(
        f"{i + 1} {'NA' if missing[i] is None else missing[i]} {length[-i]} {kind[i]}\n" for i in range(N)
    )
    yield Form("r write table.txt", table, Table(["", "Length", "Width", "Species"], N, {"Length": missing}))
    table = '"Length" "Width" "Species"\n' + "".join(
        f'"{i + 1}" {length[i]} {length[-i]} "{kind[i]}"\n' for i in range(N)
    )
    yield Form(
        "r write table quoted.txt", table, Table(["", "Length", "Width", "Species"], N, {"Length": length})
    )
    cars = [f"Mazda RX{i}" for i in range(N)]
    table = "mpg,cyl,gear\n" + "".join(f"{cars[i]},{length[i]},{4 + i % 3},{3 + i % 2}\n" for i in range(N))
    yield Form("row names one short.csv", table, Table(["", "mpg", "cyl", "gear"], N, {"mpg": length}))


def forms(r):
    """Tables as texts, JSON lines, and other ways to write one."""
    v = money(r)
    rows = [
        [100 + i, NAMES[i % 20] + " " + NAMES[(3 * i) % 20], CITIES[i % 5], v[i], d]
        for i, d in enumerate(days())
    ]
    head = ["id", "name", "city", "total", "since"]
    mark = "| " + " | ".join(head) + " |\n|" + "---:|:---|---|---:|---|" + "\n"
    mark += "".join("| " + " | ".join(str(x) for x in row) + " |\n" for row in rows)
    want = Table(head, N, {"total": v}, ["since"])
    yield Form("markdown.txt", mark, want)
    yield Form("markdown.csv", "# Staff\n\n" + mark, want)
    width = [8, 16, 10, 12, 12]
    line = lambda row: "".join(str(x).ljust(w) for x, w in zip(row, width)).rstrip() + "\n"
    yield Form("fixed width.txt", line(head) + "".join(line(row) for row in rows), want)
    rule = " ".join("-" * (w - 1) for w in width) + "\n"
    yield Form("fixed width, ruled.txt", line(head) + rule + "".join(line(row) for row in rows), want)
    show = lambda row: " " + " | ".join(str(x).ljust(w) for x, w in zip(row, width)).rstrip() + "\n"
    psql = show(head) + "-" + "-+-".join("-" * w for w in width) + "\n" + "".join(show(row) for row in rows)
    yield Form("psql.txt", psql + f"({N} rows)\n", want)
    bar = "+" + "+".join("-" * (w + 2) for w in width) + "+\n"
    my = lambda row: "| " + " | ".join(str(x).ljust(w) for x, w in zip(row, width)) + " |\n"
    yield Form("mysql.txt", bar + my(head) + bar + "".join(my(row) for row in rows) + bar, want)
    yield Form("pipes.txt", text([head, *rows], "|"), want)
    yield Form("separator line.csv", "sep=;\n" + text([head, *rows], ";"), want)
    objects = [
        {
            "id": x[0],
            "who": {"name": x[1], "city": x[2]},
            "total": x[3],
            "since": f"/Date({1700000000000 + 86400000 * i})/",
        }
        for i, x in enumerate(rows)
    ]
    nested = Table(["id", "who.name", "who.city", "total", "since"], N, {"total": v}, ["since"])
    yield Form("lines.jsonl", "".join(json.dumps(x) + "\n" for x in objects), nested)
    yield Form("wrapped.json", json.dumps({"status": "ok", "count": N, "data": objects}), nested)
    mixed = "".join(t + e for t, e in zip(text([head, *rows]).splitlines(), ["\n", "\r\n"] * N))
    yield Form("mixed ends.csv", mixed, want)
    yield Form("trailing delimiters.csv", text([[*x, ""] for x in [head, *rows]], ";"), want)
    yield Form("utf-16 bom.csv", text([head, *rows], "\t").encode("utf-16"), want)
    yield Form(
        "quotes in quotes.csv",
        text([head] + [[x[0], f'{x[1]} "the {x[2]}", Jr.', x[2] + "\nWest", *x[3:]] for x in rows]),
        want,
    )
    unnamed = [["", *head, "", "total"]] + [[i, *x, "x" * (i % 3), i * 2] for i, x in enumerate(rows)]
    yield Form("empty and double names.csv", text(unnamed), Table(unnamed[0], N, dates=["since"]))
    lines = text([["# exported by tool 1.2"], ["# do not edit"], head, *rows[:10], ["# break"], *rows[10:]])
    yield Form("comments.csv", lines, want)
    yield Form(
        "every field quoted, blanks.csv",
        "".join(", ".join(f'"{x}"' for x in row) + "\n" for row in [head, *rows]),
        want,
    )
    one = "code\n" + "".join(f"{i * 37 + 5:05}\n" for i in range(N))
    yield Form("one column.csv", one, Table(["code"], N))


def workbooks(r):
    """(name, sheets, how, tables) of workbooks."""
    v = money(r)
    head = ["Name", "City", "Amount", "Since"]
    rows = [[NAMES[i % 20] + f" {i}", CITIES[i % 5], v[i], d] for i, d in enumerate(days())]
    want = Table(head, N, {"Amount": v}, ["Since"])
    stock = [["Article", "Pieces"]] + [[f"K-{i}", i * 7 % 50] for i in range(9)]
    both = Table(stock[0], 9, {"Pieces": [x[1] for x in stock[1:]]})
    for kind in ("xlsx", "ods"):
        yield f"plain.{kind}", {"A": [head, *rows]}, {}, [want]
        yield f"title and total.{kind}", {
            "A": [["Staff 2024"], [], head, *rows, ["Total", None, sum(v), None]]
        }, {}, [want]
        yield f"two tables.{kind}", {"A": [["Staff"], head, *rows, [], ["Stock"], *stock]}, {}, [want, both]
        yield f"sheets.{kind}", {"Staff": [head, *rows], "Stock": stock, "Notes": [["made by J. Doe"]]}, {}, [
            want,
            both,
        ]
        texts = [[a, b, grouped(c, ".", ",") + " €", None] for a, b, c, _ in rows]
        texts = [[*x[:3], f"{d:%d.%m.%Y}"] for x, d in zip(texts, days())]
        yield f"all texts.{kind}", {"A": [head, *texts]}, {}, [want]
        yield f"units below.{kind}", {
            "A": [["Time", "Flow", "Load"], ["s", "l/min", "kg"]] + [[i / 10, v[i], i * 3] for i in range(N)]
        }, {}, [Table(["Time s", "Flow l/min", "Load kg"], N, {"Flow l/min": v})]


def write(folder, seed=1):
    """[(path, tables)]: a file each in the folder."""
    r, out = random.Random(seed), []
    groups = (locales, books, shops, laboratories, offices, forms, signs)
    for form in (f for kind in groups for f in kind(r)):
        path = f"{folder}/{form.name}"
        with open(path, "wb") as f:
            f.write(form.data if isinstance(form.data, bytes) else form.data.encode())
        out.append((path, list(form.tables)))
    for name, sheets, how, tables in workbooks(r):
        (xlsx if name.endswith(".xlsx") else ods)(f"{folder}/{name}", sheets, **how)
        out.append((f"{folder}/{name}", tables))
    return out


def bounds(spread):
    """The least and greatest value of a profile's column, of what it shows."""
    if "high" in spread:
        return spread["low"], spread["high"]
    try:
        values = [float(v["value"]) for v in spread["values"]]
    except ValueError:
        return None
    return (min(values), max(values)) if values and len(values) == spread["distinct"] else None


def wrong_column(c, want):
    """What of a column is not as wanted; "" where all is."""
    name, missing = c["name"], None
    if name in want.numbers:
        there = [x for x in want.numbers[name] if x is not None]
        missing = want.rows - len(there)
        if c["type"] not in ("numeric",):
            return f"{name} is {c['type']}, not numeric: {str(c.get('spread'))[:160]}"
        b = bounds(c.get("spread") or {"values": []})
        if b is not None and any(
            abs(x - y) > 1e-6 * max(abs(y), 1) for x, y in zip(b, (min(there), max(there)))
        ):
            return f"{name} goes {b}, not {min(there), max(there)}"
    if name in want.dates and c["type"] != "datetime":
        return f"{name} is {c['type']}, not a date: {str(c.get('spread'))[:160]}"
    if name in want.kinds and c["type"] != want.kinds[name]:
        return f"{name} is {c['type']}, not {want.kinds[name]}"
    missing = want.missing.get(name, missing)
    if missing is not None and round(c["missing_pct"] * want.rows) != missing:
        return f"{name}: {round(c['missing_pct'] * want.rows)} missing, not {missing} ({c['type']})"
    return ""


def wrong(found, wanted):
    """What of the tables of a bundle is not as wanted; "" where all is."""
    if [t["rows"] for t in found] != [t.rows for t in wanted]:
        return f"rows {[t['rows'] for t in found]}, not {[t.rows for t in wanted]}"
    for got, want in zip(found, wanted):
        names = [c["name"] for c in got["column_profile"]]
        if want.columns is not None and names != want.columns:
            return f"columns {names}, not {want.columns}"
        for c in got["column_profile"]:
            if why := wrong_column(c, want):
                return why
    return ""
