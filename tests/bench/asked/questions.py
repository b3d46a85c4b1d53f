"""Further kinds of tables for `probes`: questions that come after the first ones. A kind yields rows of
cells, the target's last, with whether it is asked (None: given, 1: asked and judged, 0: asked)."""

import datetime, math

KINDS, HEADS, CLASSES = {}, {}, set()


def kind(head="date,unit,y", classes=False):
    def add(make):
        KINDS[make.__name__], HEADS[make.__name__] = make, head.split(",")
        if classes:
            CLASSES.add(make.__name__)
        return make

    return add


def day(i):
    return (datetime.date(2022, 1, 3) + datetime.timedelta(i)).isoformat()


def month(i):
    return "%d-%02d-01" % (2018 + i // 12, i % 12 + 1)


def num(x):
    return "%.4g" % x if abs(x) < 1 else "%.2f" % x


def walk(d, n, level=100.0, step=1.5, noise=3.0, season=()):
    for i in range(n):
        level += d.gauss(0, step)
        yield level + d.gauss(0, noise) + (season[i % len(season)] if season else 0)


# ---- times -------------------------------------------------------------------------------------


@kind("date,product,price,y")
def launched(d):
    """The next quarter of twelve products, beside which two new ones start: those are judged."""
    for s in range(14):
        price = d.uniform(5, 20)
        level, wave = 40 + 8 * price + d.gauss(0, 15), [d.gauss(0, 8) for _ in range(12)]
        for i in range(36 if s > 11 else 0, 39):
            y = level + wave[i % 12] + d.gauss(0, 5)
            yield [month(i), "product %d" % s, num(price), num(y)], (int(s > 11) if i >= 36 else None)


@kind()
def closing(d):
    """Stores that close are run down in four weeks; one is in its second week of that, and is judged."""
    for s in range(8):
        wave, level = [d.gauss(0, 6) for _ in range(7)], d.uniform(80, 150)
        end = 80 + 40 * s if s < 3 else 214 if s == 3 else 400
        for i in range(214):
            left = min(1, max(0, (end - i) / 28))
            y = max(0, (level + wave[i % 7] + d.gauss(0, 4)) * left)
            if i < end:
                yield [day(i), "store %d" % s, num(y)], (int(s == 3) if i >= 200 else None)


@kind()
def backfilled(d):
    """The three months before the first known day, of four walks."""
    for s in range(4):
        for i, y in enumerate(walk(d, 390, d.uniform(80, 150))):
            yield [day(i), "shop %d" % s, num(y)], (1 if i < 90 else None)


@kind()
def backfilled_trend(d):
    """The year before the first known month, of six series that grow."""
    for s in range(6):
        level, slope, wave = d.uniform(80, 150), d.uniform(0.5, 2), [d.gauss(0, 8) for _ in range(12)]
        for i in range(72):
            yield [month(i), "land %d" % s, num(level + slope * i + wave[i % 12] + d.gauss(0, 3))], (
                1 if i < 12 else None
            )


@kind()
def between(d):
    """Thirty days of three of six walks, the others known there."""
    for s in range(6):
        for i, y in enumerate(walk(d, 240, d.uniform(80, 150))):
            yield [day(i), "shop %d" % s, num(y)], (1 if s < 3 and 120 <= i < 150 else None)


@kind("date,y")
def unlived(d):
    """Half a year of days with a yearly season is known; the other half is asked."""
    high, at = d.uniform(10, 25), d.uniform(0, 6.28)
    for i in range(360):
        y = 100 + high * math.sin(2 * math.pi * i / 365 + at) + d.gauss(0, 3)
        yield [day(i), num(y)], (1 if i >= 180 else None)


@kind()
def partial(d):
    """The last known month is not over: a third of it is counted."""
    for s in range(10):
        level, wave = d.uniform(80, 150), [d.gauss(0, 8) for _ in range(12)]
        for i in range(52):
            y = level + 0.3 * i + wave[i % 12] + d.gauss(0, 3)
            yield [month(i), "shop %d" % s, num(y * (0.33 if i == 47 else 1))], (1 if i >= 48 else None)


@kind()
def reported_late(d):
    """Cases come in over a week: of the last known days a part is lacking, the more the later."""
    for s in range(6):
        y = list(walk(d, 214, 100, 0.8, 3, [d.gauss(0, 8) for _ in range(7)]))
        for i in range(214):
            seen = 1 if i >= 200 else min(1, 0.2 + (199 - i) * 0.12)
            yield [day(i), "land %d" % s, num(y[i] * seen)], (1 if i >= 200 else None)


@kind()
def weekends(d):
    """Weekdays alone are known; the next three weeks are asked with their weekends."""
    for s in range(6):
        level = d.uniform(80, 150)
        wave = [d.gauss(0, 5) for _ in range(5)] + [d.gauss(-15, 5), d.gauss(-20, 5)]
        for i in range(221):
            if i >= 200 or i % 7 < 5:
                y = level + wave[i % 7] + d.gauss(0, 3)
                yield [day(i), "shop %d" % s, num(y)], (1 if i >= 200 else None)


@kind("date,unit,holiday,y")
def christmas(d):
    """A week of Christmas was seen once and is asked, its days marked."""
    for s in range(6):
        wave, level, up = [d.gauss(0, 6) for _ in range(7)], d.uniform(80, 150), d.uniform(30, 60)
        for i in range(370):
            eve = i < 12 and i >= 5 or i >= 363
            y = level + wave[i % 7] + up * eve + d.gauss(0, 4)
            yield [day(i), "shop %d" % s, str(int(eve)), num(y)], (1 if i >= 360 else None)


@kind()
def unequal(d):
    """Forty series of four to two hundred values; the next four of each are asked."""
    for s in range(40):
        n = int(4 * 50 ** d.random())
        for i, y in enumerate(walk(d, n + 4, math.exp(d.gauss(4, 0.7)), 1.5, 3)):
            yield [day(200 - n + i), "meter %d" % s, num(y)], (1 if i >= n else None)


@kind()
def waning(d):
    """Spare parts asked for now and then, ever more seldom; two months are asked."""
    for s in range(12):
        often, size = d.uniform(0.3, 0.8), d.uniform(1, 8)
        for i in range(240):
            p = often * math.exp(-i / 120)
            y = 1 + int(d.expovariate(1 / size)) if d.random() < p else 0
            yield [day(i), "part %d" % s, str(y)], (1 if i >= 180 else None)


@kind()
def remeasured(d):
    """Grams, and from a day on kilograms; the same goods, days at random are asked."""
    for s in range(6):
        level, at = d.uniform(800, 1500), d.randint(60, 140)
        for i in range(200):
            y = (level + d.gauss(0, 40)) / (1000 if i >= at else 1)
            yield [day(i), "scale %d" % s, num(y)], (1 if d.random() < 0.2 else None)


@kind("wave,person,age,y")
def third_wave(d):
    """Two waves of a survey are known of 300 persons, the third is asked."""
    for s in range(300):
        own, age = d.gauss(50, 10), d.randint(20, 70)
        for w in range(3):
            yield [
                str(w + 1),
                "P%04d" % (37 * s % 1000),
                str(age + 2 * w),
                num(own + 2 * w + d.gauss(0, 4)),
            ], (1 if w == 2 else None)


@kind("signed,branch,x,y")
def new_contracts(d):
    """Each row is a contract of its own, by day; the next quarter's, in a world that moves slowly."""
    drift, at = 0.0, 0.0
    for i in range(900):
        at += d.expovariate(1)
        drift += d.gauss(0, 0.6)
        b, x = d.randint(0, 4), d.gauss(0, 1)
        yield [day(int(at)), "branch %d" % b, num(x), num(100 + 10 * b + 5 * x + drift + d.gauss(0, 6))], (
            1 if i >= 800 else None
        )


@kind("quarter,shop,y")
def quarters(d):
    """Quarters as "Q3 2024" of five shops; the next four are asked."""
    for s in range(5):
        level, slope, wave = d.uniform(80, 150), d.uniform(0, 1), [d.gauss(0, 10) for _ in range(4)]
        for i in range(36):
            y = level + slope * i + wave[i % 4] + d.gauss(0, 4)
            yield ["Q%d %d" % (i % 4 + 1, 2016 + i // 4), "shop %d" % s, num(y)], (1 if i >= 32 else None)


@kind("week,shop,y")
def week_codes(d):
    """Weeks as "2024W07" of four shops; the next eight are asked."""
    for s in range(4):
        level, high = d.uniform(80, 150), d.uniform(5, 15)
        for i in range(160):
            year, week, _ = (datetime.date(2021, 1, 4) + datetime.timedelta(7 * i)).isocalendar()
            y = level + high * math.sin(2 * math.pi * i / 52.18) + d.gauss(0, 5)
            yield ["%dW%02d" % (year, week), "shop %d" % s, num(y)], (1 if i >= 152 else None)


@kind()
def lost_quarter(d):
    """Weeks of five shops; a quarter was lost half a year ago, eight weeks are asked."""
    for s in range(5):
        for i, y in enumerate(walk(d, 128, d.uniform(80, 150), 1, 4)):
            if not 90 <= i < 103:
                yield [day(7 * i), "shop %d" % s, num(y)], (1 if i >= 120 else None)


@kind()
def hardly_sold(d):
    """Months of parts of which nothing is sold in nine of ten; a year is asked."""
    for s in range(15):
        often, size = d.uniform(0.05, 0.15), d.uniform(2, 20)
        for i in range(72):
            y = 1 + int(d.expovariate(1 / size)) if d.random() < often else 0
            yield [month(i), "part %d" % s, str(y)], (1 if i >= 60 else None)


@kind()
def low_shares(d):
    """Shares of a few per cent by day, which wander near 0; two weeks are asked."""
    for s in range(5):
        at = -4 + d.gauss(0, 0.7)
        for i in range(214):
            at += d.gauss(0, 0.04)
            y = 1 / (1 + math.exp(-(at + d.gauss(0, 0.3))))
            yield [day(i), "page %d" % s, num(y)], (1 if i >= 200 else None)


@kind("month,y")
def rolling_year(d):
    """The sum of the last twelve months, by month; the next twelve are asked."""
    own = [100 + 10 * math.sin(i / 2) + d.gauss(0, 8) for i in range(140)]
    for i in range(12, 140):
        yield [month(i), num(sum(own[i - 11 : i + 1]))], (1 if i >= 128 else None)


@kind()
def three_times(d):
    """Sixty days of three walks are known, the next hundred and eighty are asked."""
    for s in range(3):
        for i, y in enumerate(walk(d, 240, d.uniform(80, 150))):
            yield [day(i), "shop %d" % s, num(y)], (1 if i >= 60 else None)


@kind("ordered,shipped,depot,y")
def two_dates(d):
    """A day of the order and one of the shipment, by which costs drift; the next month's are asked."""
    drift = 0.0
    for i in range(800):
        drift += d.gauss(0, 0.5)
        late = d.randint(0, 9)
        y = 50 + 3 * late + drift + d.gauss(0, 4)
        yield [day(i // 4), day(i // 4 + late), "depot %d" % (i % 3), num(y)], (1 if i >= 700 else None)


@kind()
def newest_first(d):
    """Days of five shops stand newest first; the next two weeks are asked, at the top."""
    rows = []
    for s in range(5):
        wave = [d.gauss(0, 8) for _ in range(7)]
        for i, y in enumerate(walk(d, 214, d.uniform(80, 150), season=wave)):
            rows.append((i, [day(i), "shop %d" % s, num(y)], 1 if i >= 200 else None))
    rows.sort(key=lambda r: -r[0])
    for _, row, asked in rows:
        yield row, asked


@kind()
def coarser(d):
    """Days until a year ago and weeks' first days since then; eight weeks are asked."""
    for s in range(5):
        for i, y in enumerate(walk(d, 800, d.uniform(80, 150), 0.7, 4)):
            if i < 400 or i % 7 == 0:
                yield [day(i), "shop %d" % s, num(y)], (1 if i >= 744 else None)


@kind("year,country,y")
def years(d):
    """Forty years of nine countries; the next five are asked."""
    for s in range(9):
        level, slope = d.uniform(80, 150), d.gauss(0, 1)
        for i, y in enumerate(walk(d, 45, level, 2, 2)):
            yield [str(1975 + i), "land %d" % s, num(y + slope * i)], (1 if i >= 40 else None)


@kind()
def stuck(d):
    """Half of six sensors repeat their last value for the last two weeks; a week is asked, at work again."""
    for s in range(6):
        own = list(walk(d, 207, d.uniform(80, 150), 1, 3, [d.gauss(0, 6) for _ in range(7)]))
        for i, y in enumerate(own):
            seen = own[185] if s < 3 and 186 <= i < 200 else y
            yield [day(i), "sensor %d" % s, num(seen)], (1 if i >= 200 else None)


@kind("date,channel,x,y")
def receipts(d):
    """Some thirty receipts a day; those of the next week are asked."""
    level = 0.0
    for i in range(67):
        level += d.gauss(0, 0.7)
        for _ in range(d.randint(20, 40)):
            c, x = d.randint(0, 2), d.gauss(0, 1)
            y = 40 + 8 * c + 5 * x + level + (6 if i % 7 > 4 else 0) + d.gauss(0, 5)
            yield [day(i), "abc"[c], num(x), num(y)], (1 if i >= 60 else None)


@kind()
def scores(d):
    """Satisfaction from 0 to 100 near its upper end, by week; a quarter is asked."""
    for s in range(6):
        at = d.uniform(2, 3.5)
        for i in range(117):
            at += d.gauss(0, 0.06)
            y = 100 / (1 + math.exp(-(at + d.gauss(0, 0.4))))
            yield [day(7 * i), "team %d" % s, num(y)], (1 if i >= 104 else None)


@kind("date,y")
def growing_half_year(d):
    """Half a year of days that grow steadily; the other half is asked, and grows on."""
    slope = d.uniform(0.05, 0.3)
    for i in range(360):
        yield [day(i), num(100 + slope * i + d.gauss(0, 3))], (1 if i >= 180 else None)


@kind("date,shop,campaign,y")
def first_campaign(d):
    """A kind of campaign that was never run before takes place in the next two weeks."""
    for s in range(6):
        wave, up = [d.gauss(0, 6) for _ in range(7)], d.uniform(10, 40)
        for i, y in enumerate(walk(d, 214, d.uniform(80, 150), 0.3, 3, wave)):
            what = "big" if i >= 204 else d.choice(["none", "none", "none", "small", "card"])
            more = {"none": 0, "small": 8, "card": 14, "big": up}[what]
            yield [day(i), "shop %d" % s, what, num(y + more)], (1 if i >= 200 else None)


# ---- groups and rows -----------------------------------------------------------------------------


@kind("plant,x,z,y")
def one_known(d):
    """The target is known in one plant alone; the rows of five others are asked."""
    for s in range(6):
        level, slope = d.gauss(100, 15), d.gauss(5, 2)
        for i in range(300 if s == 0 else 20):
            x, z = d.gauss(0, 1), d.gauss(0, 1)
            yield ["plant %d" % s, num(x), num(z), num(level + slope * x + 2 * z + d.gauss(0, 3))], (
                None if s == 0 else 1
            )


@kind("plant,x,z,y")
def two_known(d):
    """The target is known in three plants; the rows of five others are asked."""
    for s in range(8):
        level, slope = d.gauss(100, 15), d.gauss(5, 2)
        for i in range(100 if s < 3 else 20):
            x, z = d.gauss(0, 1), d.gauss(0, 1)
            yield ["plant %d" % s, num(x), num(z), num(level + slope * x + 2 * z + d.gauss(0, 3))], (
                None if s < 3 else 1
            )


@kind("x,z,kind,y")
def doubled(d):
    """Each given row stands one to four times in the file; asked rows once."""
    for i in range(400):
        x, z, k = d.gauss(0, 1), d.gauss(0, 1), d.choice("abcd")
        asked = d.random() < 0.25
        row = [num(x), num(z), k, num(5 * x + 2 * z + 3 * (k == "a") + d.gauss(0, 4))]
        for _ in range(1 if asked else d.randint(1, 4)):
            yield row, (1 if asked else None)


@kind("x,unit,y")
def cents(d):
    """Two of five sources write cents; the asked rows come mostly from those."""
    for i in range(900):
        asked = i >= 700
        s = d.choices(range(5), [1, 1, 1, 4, 4] if asked else [4, 4, 4, 1, 1])[0]
        x = d.gauss(0, 1)
        y = math.exp(3 + 0.4 * x + d.gauss(0, 0.3)) * (100 if s > 2 else 1)
        yield [num(x), "source %d" % s, num(y)], (1 if asked else None)


@kind("x,z,kind,y")
def dear(d):
    """Prices asked beyond all known ones, on a line that bends."""
    for i in range(700):
        x = d.uniform(0, 1) if i < 600 else d.uniform(1, 1.5)
        yield [num(x), num(d.gauss(0, 1)), d.choice("abc"), num(40 * x * x + d.gauss(0, 2))], (
            1 if i >= 600 else None
        )


@kind("x,kind,y")
def few_rows(d):
    """Fifteen rows are known; thirty are asked."""
    for i in range(45):
        x = d.gauss(0, 1)
        yield [num(x), d.choice("ab"), num(10 + 3 * x + d.gauss(0, 2))], (1 if i >= 15 else None)


@kind("x,kind,y")
def rare_jump(d):
    """One row in twelve is ten times the others, by nothing that is known."""
    for i in range(500):
        x = d.gauss(0, 1)
        y = (20 + 3 * x + d.gauss(0, 2)) * (10 if d.random() < 0.08 else 1)
        yield [num(x), d.choice("abc"), num(y)], (1 if d.random() < 0.3 else None)


# ---- classes -----------------------------------------------------------------------------------


@kind("x,z,kind,y", True)
def few_positives(d):
    """One row in sixty is a yes, by x; a third is asked."""
    for i in range(900):
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        p = 1 / (1 + math.exp(-(-5.2 + 1.2 * x)))
        yield [num(x), num(z), d.choice("abc"), "yes" if d.random() < p else "no"], (
            1 if d.random() < 0.33 else None
        )


@kind("plant,x,y", True)
def one_known_class(d):
    """Classes are known in one plant alone; the rows of five others are asked."""
    for s in range(6):
        lean, slope = d.gauss(0, 1.5), d.gauss(2, 1)
        for i in range(300 if s == 0 else 20):
            x = d.gauss(0, 1)
            p = 1 / (1 + math.exp(-(lean + slope * x)))
            yield ["plant %d" % s, num(x), "yes" if d.random() < p else "no"], (None if s == 0 else 1)


@kind("plant,x,y", True)
def few_known_class(d):
    """Classes are known in four plants; the rows of five others are asked."""
    for s in range(9):
        lean, slope = d.gauss(0, 1.5), d.gauss(2, 1)
        for i in range(80 if s < 4 else 20):
            x = d.gauss(0, 1)
            p = 1 / (1 + math.exp(-(lean + slope * x)))
            yield ["plant %d" % s, num(x), "yes" if d.random() < p else "no"], (None if s < 4 else 1)


@kind("date,x,y", True)
def turned(d):
    """What a column says turns round in the last fifth of the past, and stays so."""
    for i in range(600):
        x = d.gauss(0, 1)
        p = 1 / (1 + math.exp(-(2 if i < 400 else -2) * x))
        yield [day(i), num(x), "yes" if d.random() < p else "no"], (1 if i >= 500 else None)


@kind("date,branch,x,y", True)
def backfilled_class(d):
    """The rows before the first known day, of a share that falls."""
    for i in range(600):
        b, x = d.randint(0, 3), d.gauss(0, 1)
        p = 1 / (1 + math.exp(-(2.5 - 0.008 * i + x + 0.5 * b)))
        yield [day(i), "branch %d" % b, num(x), "yes" if d.random() < p else "no"], (1 if i < 120 else None)


@kind("signed,plan,x,y", True)
def young_churn(d):
    """Who has left is known once a contract is a year old; the asked are younger, and of new plans mostly."""
    for i in range(800):
        young = i >= 600
        plan = d.choices("abcd", [1, 1, 4, 4] if young else [5, 5, 1, 0])[0]
        x = d.gauss(0, 1)
        p = 1 / (1 + math.exp(-(-0.5 + x + {"a": -1, "b": 0, "c": 1.2, "d": -1.5}[plan])))
        yield [day(i), plan, num(x), "left" if d.random() < p else "stayed"], (1 if young else None)


@kind("x,kind,y", True)
def doubled_class(d):
    """Coin flips of which each given row stands one to four times, under a number of its own."""
    for i in range(300):
        x, k, y = d.gauss(0, 1), d.choice("abcd"), d.choice(["yes", "no"])
        asked = d.random() < 0.25
        for _ in range(1 if asked else d.randint(1, 4)):
            yield [num(x), k, y], (1 if asked else None)
