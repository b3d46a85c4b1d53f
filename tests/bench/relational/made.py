#!/usr/bin/env python3
"""Makes sets of linked tables whose target depends on the other tables, and sets where it does not, for
tests/bench/relational: made.py OUT.

Each set is a folder of OUT: TABLE.csv and target.txt (table.column).  Sets named noise-* have other tables
that say nothing.  In leak-* rows after the target's time give it away, and rows before say nothing: they are
noise to who looks at times.  The same bytes on each run."""

import csv
import datetime
import math
import os
import random
import sys

DAY = datetime.date(2023, 1, 1)


def date(n):
    return (DAY + datetime.timedelta(days=int(n))).isoformat()


def chance(rng, logit):
    return rng.random() < 1 / (1 + math.exp(-max(-30, min(30, logit))))


def few(rng, mean):
    """A Poisson number."""
    n, p, least = 0, 1.0, math.exp(-mean)
    while True:
        p *= rng.random()
        if p <= least:
            return n
        n += 1


def write(out, name, tables, target):
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    for t, (header, rows) in tables.items():
        with open(os.path.join(folder, t + ".csv"), "w", newline="", encoding="utf-8") as f:
            w = csv.writer(f, lineterminator="\n")
            w.writerow(header)
            w.writerows(rows)
    with open(os.path.join(folder, "target.txt"), "w", encoding="utf-8") as f:
        f.write(target + "\n")


def keys(rng, n, style):
    if style == "text":
        return [f"K{v:06d}" for v in rng.sample(range(10**6), n)]
    if style == "large":
        return rng.sample(range(10**8, 10**9), n)
    return list(range(1, n + 1))


def churn(rng, out):
    """Customers leave who have not ordered for long, and who send things back."""
    ids = keys(rng, 900, "large")
    customers, orders = [], []
    for k in ids:
        signup, rate, end = rng.randrange(300), rng.lognormvariate(1.6, 0.6), rng.randrange(400, 730)
        sent_back = rng.random() ** 2
        n, last, back = few(rng, rate), 0, 0
        for _ in range(n):
            day = rng.randrange(signup + 1, max(signup + 2, end))
            status = "returned" if rng.random() < sent_back else rng.choice(["paid", "paid", "open"])
            back += status == "returned"
            last = max(last, day)
            orders.append([k, date(day), round(rng.lognormvariate(3, 0.8), 2), status])
        logit = -1.2 + (730 - last if n else 500) / 120 - 0.15 * n + 2.5 * back / max(1, n)
        plan = rng.choice(["basic", "plus", "pro"])
        logit += {"basic": 0.5, "plus": 0, "pro": -0.5}[plan] - 1.5
        customers.append(
            [k, date(signup), plan, rng.randrange(18, 80), "yes" if chance(rng, logit) else "no"]
        )
    orders.sort(key=lambda r: r[1])
    orders = [[50000 + i] + r for i, r in enumerate(orders)]
    write(
        out,
        "churn",
        {
            "customers": (["id", "signed_up", "plan", "age", "left"], customers),
            "orders": (["order_id", "customer", "day", "amount", "status"], orders),
        },
        "customers.left",
    )


def readmission(rng, out):
    """Admissions of patients: age and illness of the patient, and what was diagnosed."""
    patients, admissions, diagnoses = [], [], []
    ids = keys(rng, 450, "text")
    for k in ids:
        age, smoker, frail = rng.randrange(20, 95), rng.random() < 0.3, rng.gauss(0, 1)
        patients.append([k, rng.choice("MF"), age, "yes" if smoker else "no"])
        for _ in range(1 + few(rng, 1.6)):
            a = len(admissions) + 70001
            kinds = [
                rng.choice(["I10", "E11", "J44", "N18", "K21", "M54"])
                for _ in range(1 + few(rng, 2 + frail / 2))
            ]
            stay = 1 + few(rng, 3)
            logit = (
                -3.2 + 0.025 * age + 0.7 * smoker + 0.5 * len(kinds) + 1.2 * ("N18" in kinds) + 0.05 * stay
            )
            ward = rng.choice(["surgery", "internal", "heart"])
            admissions.append([a, k, ward, stay, "yes" if chance(rng, logit - 1) else "no"])
            diagnoses += [[a, c, rng.randrange(1, 5)] for c in kinds]
    write(
        out,
        "readmission",
        {
            "patients": (["patient", "sex", "age", "smoker"], patients),
            "admissions": (["admission", "patient", "ward", "stay", "readmitted"], admissions),
            "diagnoses": (["admission", "code", "rank"], diagnoses),
        },
        "admissions.readmitted",
    )


def returns(rng, out):
    """Items sent back, by the product's size and price and by the customer's habit."""
    products, customers, items = [], [], []
    pk, ck = keys(rng, 150, "text"), keys(rng, 300, "large")
    kind = {}
    for k in pk:
        kind[k] = (
            rng.choice(["shoes", "dress", "hat", "bag"]),
            rng.lognormvariate(3.5, 0.6),
            rng.gauss(0, 1),
        )
        products.append(
            [k, kind[k][0], round(kind[k][1], 2), round(3.5 - 0.8 * kind[k][2] + rng.gauss(0, 0.2), 1)]
        )
    loyal = {}
    for k in ck:
        loyal[k] = rng.gauss(0, 1)
        customers.append([k, rng.choice(["DE", "FR", "IT"]), round(50 + 20 * loyal[k] + rng.gauss(0, 6))])
    for i in range(1800):
        p, c = rng.choice(pk), rng.choice(ck)
        k, price, bad = kind[p]
        logit = (
            {"shoes": 0.7, "dress": 1, "hat": -0.8, "bag": -1}[k] + 0.9 * bad - 0.9 * loyal[c] + 0.01 * price
        )
        items.append([900000 + i, c, p, rng.randrange(1, 4), "back" if chance(rng, logit - 1) else "kept"])
    write(
        out,
        "returns",
        {
            "products": (["sku", "kind", "price", "stars"], products),
            "customers": (["customer", "country", "points"], customers),
            "items": (["item", "customer", "sku", "quantity", "outcome"], items),
        },
        "items.outcome",
    )


def loans(rng, out, name="loans", leak=False):
    """Loans by what went over the account before: after it says nothing (leak: gives it away)."""
    accounts, loan, moves = [], [], []
    ids = keys(rng, 700, "large")
    for k in ids:
        income, spread = rng.lognormvariate(7, 0.4), rng.random()
        accounts.append([k, rng.choice(["monthly", "weekly"]), date(rng.randrange(0, 60))])
        at = rng.randrange(200, 600)
        before, negative = [], 0
        for _ in range(6 + few(rng, 14)):
            day = rng.randrange(60, 700)
            amount = rng.gauss(income / 10, income * spread / 3)
            if day < at:
                before.append(amount)
                negative += amount < 0
            moves.append([k, date(day), round(amount, 2), "transfer" if rng.random() < 0.5 else "card"])
        share = negative / max(1, len(before))
        size = rng.lognormvariate(8, 0.5)
        logit = (rng.gauss(0, 1) if leak else 6 * share - 2.2) + 0.00005 * size
        bad = chance(rng, logit)
        if leak and bad:
            for _ in range(3):
                moves.append(
                    [
                        k,
                        date(min(729, at + rng.randrange(5, 120))),
                        round(-rng.uniform(2, 3) * income, 2),
                        "card",
                    ]
                )
        loan.append(
            [
                4000 + len(loan),
                k,
                date(at),
                round(size),
                rng.choice([12, 24, 36]),
                "default" if bad else "paid",
            ]
        )
    rng.shuffle(moves)
    write(
        out,
        name,
        {
            "accounts": (["account", "statement", "opened"], accounts),
            "loans": (["loan", "account", "granted", "amount", "months", "result"], loan),
            "moves": (["account", "day", "amount", "kind"], moves),
        },
        "loans.result",
    )


def machines(rng, out):
    """Hours to failure (a number) by what sensors told before the check."""
    fleet, events, checks = [], [], []
    ids = keys(rng, 120, "text")
    for k in ids:
        model, wear = rng.choice(["A7", "B2", "C9"]), rng.gauss(0, 1)
        fleet.append([k, model, 2005 + rng.randrange(18)])
        heat = 60 + 6 * wear
        log = [(rng.uniform(0, 700), rng.gauss(heat, 5), rng.choice(["ok", "ok", "warn"])) for _ in range(60)]
        for day, t, state in log:
            events.append([k, date(day), round(t, 1), state])
        for _ in range(8):
            at = rng.randrange(150, 690)
            seen = [e for e in log if e[0] < at]
            mean = sum(e[1] for e in seen) / max(1, len(seen))
            warn = sum(e[2] == "warn" for e in seen) / max(1, len(seen))
            left = (
                900 - 18 * (mean - 60) - 500 * warn + {"A7": 60, "B2": 0, "C9": -90}[model] + rng.gauss(0, 60)
            )
            checks.append([k, date(at), rng.choice(["day", "night"]), round(max(5, left), 1)])
    rng.shuffle(checks)
    checks = [[i + 1] + c for i, c in enumerate(checks)]
    write(
        out,
        "machines",
        {
            "machines": (["serial", "model", "year"], fleet),
            "sensor_events": (["serial", "at", "heat", "state"], events),
            "checks": (["check", "serial", "day", "shift", "hours_left"], checks),
        },
        "checks.hours_left",
    )


def spending(rng, out):
    """Next year's spending of a customer (a number) by the items of the orders: two steps down."""
    customers, orders, items, products = [], [], [], []
    pk = list(range(1, 121))
    price = {p: rng.lognormvariate(2.5, 0.7) for p in pk}
    group = {p: rng.choice(["food", "toys", "books", "tools", "music"]) for p in pk}
    products = [[p, group[p], round(price[p], 2)] for p in pk]
    for c in keys(rng, 800, "dense"):
        taste, paid = rng.choice(["food", "toys", "books"]), 0.0
        for _ in range(few(rng, 3.5)):
            o = 10001 + len(orders)
            orders.append([o, c, date(rng.randrange(720)), rng.choice(["web", "shop"])])
            for _ in range(1 + few(rng, 1.5)):
                p = rng.choice(pk)
                n = 1 + few(rng, 0.8)
                paid += n * price[p] * (2 if group[p] == taste else 1)
                items.append([o, p, n, round(n * price[p], 2)])
        customers.append(
            [
                c,
                rng.choice(["north", "south"]),
                rng.randrange(18, 80),
                round(20 + 0.8 * paid * rng.lognormvariate(0, 0.25), 2),
            ]
        )
    write(
        out,
        "spending",
        {
            "customers": (["id", "region", "age", "next_year"], customers),
            "orders": (["order_id", "customer_id", "placed", "channel"], orders),
            "items": (["order_id", "product_id", "n", "total"], items),
            "products": (["product_id", "kind", "price"], products),
        },
        "customers.next_year",
    )


def grades(rng, out):
    """A pupil's result by the school (parent), the district (its parent) and the pupil's lessons missed."""
    dk, sk = keys(rng, 25, "text"), keys(rng, 120, "large")
    wealth = {d: rng.gauss(0, 1) for d in dk}
    districts = [[d, round(30000 + 6000 * wealth[d]), rng.choice(["town", "country"])] for d in dk]
    schools, pupils, missed = [], [], []
    size, of = {}, {}
    for s in sk:
        of[s], size[s] = rng.choice(dk), rng.randrange(12, 32)
        schools.append([s, of[s], size[s], rng.choice(["public", "private"])])
    for i in range(1300):
        s, n = rng.choice(sk), few(rng, rng.choice([1, 3, 8]))
        k = 300000 + i
        hours = rng.randrange(0, 15)
        missed += [[k, rng.choice(["ill", "late", "other"]), rng.randrange(1, 7)] for _ in range(n)]
        score = 60 + 5 * wealth[of[s]] - 0.5 * (size[s] - 20) - 1.5 * n + 0.6 * hours + rng.gauss(0, 5)
        pupils.append([k, s, rng.choice("MF"), hours, round(max(0, min(100, score)), 1)])
    write(
        out,
        "grades",
        {
            "districts": (["district", "income", "kind"], districts),
            "schools": (["school", "district", "class_size", "type"], schools),
            "pupils": (["pupil", "school", "sex", "hours", "score"], pupils),
            "absences": (["pupil", "why", "lessons"], missed),
        },
        "pupils.score",
    )


def claims(rng, out):
    """Fraud in claims: the policy's age, its car (one to one), and earlier claims of the garage."""
    garages, policies, cars, claims_ = [], [], [], []
    gk, pk = keys(rng, 350, "text"), keys(rng, 700, "large")
    shady = {g: rng.gauss(0, 1) for g in gk}
    for g in gk:
        garages.append([g, round(4 - shady[g] + rng.gauss(0, 0.3), 1), rng.randrange(2, 40)])
    value = {}
    for p in pk:
        value[p] = rng.lognormvariate(9, 0.5)
        policies.append([p, rng.choice(["full", "part"]), rng.randrange(1, 20)])
        cars.append([p, rng.choice(["VW", "Fiat", "Ford", "Opel", "Audi"]), round(value[p])])
    for i in range(1500):
        p, g = rng.choice(pk), rng.choice(gk)
        amount = rng.lognormvariate(7.5, 0.7)
        logit = -2.5 + 1.3 * shady[g] + 1.2 * math.log(amount / value[p] * 4)
        claims_.append(
            [
                800000 + i,
                p,
                g,
                round(amount, 2),
                rng.choice(["glass", "crash", "theft"]),
                int(chance(rng, logit)),
            ]
        )
    write(
        out,
        "claims",
        {
            "garages": (["garage", "stars", "staff"], garages),
            "policies": (["policy", "cover", "years"], policies),
            "cars": (["policy", "make", "value"], cars),
            "claims": (["claim", "policy", "garage", "amount", "kind", "fraud"], claims_),
        },
        "claims.fraud",
    )


def support(rng, out):
    """Do customers renew: calls of the last weeks before the contract's end, with their moods and agents."""
    ids = keys(rng, 900, "text")
    contracts, calls = [], []
    agents = [[a, rng.choice(["junior", "senior"]), rng.randrange(1, 15)] for a in range(1, 41)]
    for k in ids:
        end, angry, n = rng.randrange(300, 700), rng.random() ** 2, few(rng, 6)
        bad = 0
        for _ in range(n):
            day = rng.randrange(0, 729)
            mood = "angry" if rng.random() < angry else rng.choice(["calm", "pleased"])
            bad += mood == "angry" and day < end
            calls.append(
                [
                    k,
                    rng.randrange(1, 41),
                    f"{date(day)} {rng.randrange(8, 18):02d}:{rng.randrange(60):02d}:00",
                    mood,
                    rng.randrange(1, 40),
                ]
            )
        fee = rng.choice([9, 19, 29, 49])
        contracts.append([k, fee, date(end), "yes" if chance(rng, 1.5 - 1.1 * bad - 0.02 * fee) else "no"])
    rng.shuffle(calls)
    write(
        out,
        "support",
        {
            "contracts": (["contract", "fee", "ends", "renewed"], contracts),
            "calls": (["contract", "agent", "at", "mood", "minutes"], calls),
            "agents": (["agent", "level", "years"], agents),
        },
        "contracts.renewed",
    )


def noise(rng, out, which):
    """The target follows from its own table; the others are linked and say nothing."""
    n = [300, 800, 1500][which % 3]
    style = ["large", "text", "dense"][which % 3]
    pk, rows, child, parent = keys(rng, n // 5, style), [], [], []
    for p in pk:
        parent.append([p, rng.choice(["a", "b", "c", "d"]), round(rng.gauss(0, 1), 3), rng.randrange(100)])
    ck = rng.sample(range(10**7, 10**8), n)
    for c in ck:
        x, y, z = rng.gauss(0, 1), rng.gauss(0, 1), rng.choice(["u", "v", "w"])
        score = x - 0.5 * y + {"u": 0.8, "v": 0, "w": -0.5}[z] + x * y
        value = (
            ("yes" if chance(rng, 1.3 * score) else "no")
            if which % 2 == 0
            else round(score + rng.gauss(0, 0.7), 3)
        )
        rows.append([c, rng.choice(pk), date(rng.randrange(200, 500)), round(x, 3), round(y, 3), z, value])
        for _ in range(few(rng, 3)):
            child.append(
                [c, date(rng.randrange(700)), round(rng.lognormvariate(2, 1), 2), rng.choice("ABCDE")]
            )
    rng.shuffle(child)
    write(
        out,
        f"noise-{which}",
        {
            "groups": (["group", "kind", "level", "points"], parent),
            "rows": (["id", "group", "day", "x", "y", "z", "target"], rows),
            "events": (["id", "day", "amount", "type"], child),
        },
        "rows.target",
    )


def weather(rng, days, towns):
    """Warmth and rain of each town's days, with seasons."""
    return {
        (d, t): (round(10 + 10 * math.sin(d / 58) + rng.gauss(0, 4), 1), round(max(0, rng.gauss(-2, 4)), 1))
        for d in range(days)
        for t in towns
    }


def calendar(rng, out, name, towns, sales_from, shops):
    """Sales follow the weather of their day, or of their town and day; both tables have a row a moment, and
    sales begin and end later."""
    days, said = 400, weather(rng, 400, towns)
    sales, several = [], len(towns) > 1
    for d in range(sales_from, days + sales_from // 2):
        for shop in range(shops):
            town = towns[shop % len(towns)]
            warm, rain = said.get((d, town), (10, 0))
            sold = round(100 + 8 * warm - 10 * rain + 15 * (d % 7 == 5) + rng.gauss(0, 25))
            day = (DAY + datetime.timedelta(days=d)).strftime("%d.%m.%Y")
            sales.append([day, f"shop {shop}", town, sold] if several else [day, sold])
    rng.shuffle(sales)
    rows = [[date(d), *([t] if several else []), *said[d, t]] for d, t in said]
    write(
        out,
        name,
        {
            "sales": (["day", "shop", "town", "sold"] if several else ["day", "sold"], sales),
            "weather": (["date", *(["city"] if several else []), "warmth", "rain"], rows),
        },
        "sales.sold",
    )


def calendars(out):
    calendar(random.Random(4000), out, "calendar-days", ["Porto"], 60, 1)
    calendar(random.Random(4001), out, "calendar-towns", ["Porto", "Lima", "Bergen", "Hamburg"], 60, 4)
    calendar(random.Random(4002), out, "calendar-shops", ["Porto", "Lima", "Bergen"], 0, 8)


def main(out):
    makers = [churn, readmission, returns, loans, machines, spending, grades, claims, support]
    calendars(out)
    for i, make in enumerate(makers):
        make(random.Random(1000 + i), out)
    for i in range(6):
        noise(random.Random(2000 + i), out, i)
    loans(random.Random(3000), out, "leak-loans", True)


if __name__ == "__main__":
    main(sys.argv[1])
