"""Errors sown into tables whose cells are taken for right: ten kinds, each as a person or a program makes
them.

Kinds of `sow`: typo (in numbers of a digit), format, outlier, slip (of scale), sign, rule (another value of
the column), swapped, foreign (text in a column of numbers), year (of a date), lookalike (O for 0, a lost
zero). What is sown is a change of the cell's text; a change that leaves it equal does not count.

`respell` writes a value of a column in several ways, or makes two values of one that differ in case alone
("US", "us"), or a column of codes of letters of both cases: the latter two are right."""
import collections
import datetime
import random
import re
import string
import unicodedata

KINDS = ("typo", "format", "outlier", "slip", "sign", "rule", "swapped", "foreign", "year", "lookalike")
ALIKE = {"0": "O", "O": "0", "1": "l", "l": "1", "I": "1", "5": "S", "S": "5", "8": "B", "B": "8"}


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def typo(rnd, text):
    letters = [i for i, c in enumerate(text) if c.isalpha()]
    if len(letters) < 4:
        return text
    for _ in range(rnd.choice((1, 1, 1, 2))):
        i = rnd.choice([i for i in letters if i < len(text)])
        new = rnd.choice(string.ascii_lowercase + "x")
        new = new.upper() if text[i].isupper() else new
        how = rnd.randrange(4)
        if how == 0:
            text = text[:i] + new + text[i + 1 :]
        elif how == 1:
            text = text[:i] + text[i + 1 :]
        elif how == 2:
            text = text[:i] + new + text[i:]
        elif i + 1 < len(text):
            text = text[:i] + text[i + 1] + text[i] + text[i + 2 :]
    return text


def digit_typo(rnd, text):
    at = [i for i, c in enumerate(text) if c.isdigit()]
    if len(at) < 2:
        return text
    i, how = rnd.choice(at), rnd.randrange(4)
    if how == 0:
        return text[:i] + rnd.choice(string.digits) + text[i + 1 :]
    if how == 1:
        return text[:i] + text[i + 1 :]
    if how == 2:
        return text[:i] + text[i] + text[i:]
    j = rnd.choice(at[:-1])
    return text[:j] + text[j + 1] + text[j] + text[j + 2 :] if text[j + 1].isdigit() else text


DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
YEAR = re.compile(r"(?<!\d)(19|20)\d\d(?!\d)")


def other_year(rnd, text):
    found = YEAR.search(text)
    if found is None:
        return text
    year = int(found.group()) + rnd.choice((-100, 100, -10, 10, -1, 1, -100))
    return text[: found.start()] + str(year) + text[found.end() :]


def lookalike(rnd, text):
    if text[0] == "0" and text.isdigit() and len(text) > 3:
        return text.lstrip("0") or text
    at = [i for i, c in enumerate(text) if c in ALIKE]
    if not at or not any(c.isdigit() for c in text):
        return text
    i = rnd.choice(at)
    return text[:i] + ALIKE[text[i]] + text[i + 1 :]


def reformat(rnd, text):
    how = rnd.randrange(6)
    if how == 0:
        return text.upper() if text != text.upper() else text.lower()
    if how == 1:
        return text + rnd.choice((".", ";", ",", "*", " oz", " kg", "%", "?", "-"))
    if how == 2:
        return rnd.choice(("'", '"', "(", "$", "~", "ca. ")) + text
    if how == 3 and len(text) > 3:
        i = rnd.randrange(1, len(text))
        return text[:i] + rnd.choice((" ", "-", "/", ".")) + text[i:]
    if how == 4:
        for a, b in (("-", "/"), ("/", "."), (":", "."), (" ", "_"), (".", ",")):
            if a in text:
                return text.replace(a, b)
    return text + text[-1:] * rnd.choice((1, 2))


def shown(x, like):
    decimals = len(like.partition(".")[2])
    return f"{x:.{decimals}f}" if decimals or x == int(x) else f"{x:.2f}"


def sow(rnd, rows, share):
    """rows (lists of texts, changed in place) -> {(row, column): (kind, what stood there)}."""
    done = {}
    cols = len(rows[0])
    column = [[r[c] for r in rows] for c in range(cols)]
    numeric = [
        sum(number(v) is not None for v in k if v) > 0.95 * max(1, sum(v != "" for v in k)) for k in column
    ]
    dates = [sum(bool(DATE.match(v)) for v in k if v) > 0.9 * max(1, sum(v != "" for v in k)) for k in column]
    spread = {}
    for c in range(cols):
        if numeric[c]:
            v = sorted(x for x in map(number, column[c]) if x is not None)
            if len(v) > 10:
                spread[c] = (v[0], v[-1], v[len(v) // 4], v[3 * len(v) // 4])
    rates = {k: rnd.random() for k in KINDS}
    total = sum(rates.values())
    for _ in range(max(1, int(share * len(rows) * cols))):
        kind = rnd.choices(KINDS, [rates[k] / total for k in KINDS])[0]
        r, c = rnd.randrange(len(rows)), rnd.randrange(cols)
        was = rows[r][c]
        if not was or (r, c) in done:
            continue
        x, new = number(was), was
        if kind == "typo":
            new = digit_typo(rnd, was) if numeric[c] else typo(rnd, was)
        elif kind == "year" and dates[c]:
            new = other_year(rnd, was)
        elif kind == "lookalike" and not numeric[c]:
            new = lookalike(rnd, was)
        elif kind == "format":
            new = reformat(rnd, was)
        elif kind == "outlier" and c in spread:
            lo, hi, q1, q3 = spread[c]
            far = (q3 - q1 or hi - lo) * rnd.uniform(4, 40)
            new = shown(q3 + far if rnd.random() < 0.6 else q1 - far, was)
        elif kind == "slip" and c in spread and x:
            new = shown(x * 10 ** rnd.choice((1, 1, 2, 3, -1, -2)), was)
        elif kind == "sign" and c in spread and x:
            new = shown(-x, was)
        elif kind == "rule":
            new = rnd.choice(column[c])
        elif kind == "foreign" and numeric[c]:
            new = rnd.choice(
                (was.replace("0", "O", 1), was + rnd.choice("abcx"), "see note", was + " " + was)
            )
        elif kind == "swapped" and cols > 1:
            d = rnd.choice([i for i in range(cols) if i != c])
            if rows[r][d] and rows[r][d] != was and (r, d) not in done and numeric[c] == numeric[d]:
                done[r, d] = (kind, rows[r][d])
                done[r, c] = (kind, was)
                rows[r][c], rows[r][d] = rows[r][d], was
            continue
        if new != was:
            rows[r][c] = new
            done[r, c] = (kind, was)
    return done


def bare(text):
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def accented(rnd, text):
    at = [i for i, c in enumerate(text) if c in "aeiounc"]
    if bare(text) != text or not at:
        return bare(text)
    i = rnd.choice(at)
    other = dict(zip("aeiounc", "\u00e1\u00e9\u00ed\u00f3\u00fc\u00f1\u00e7"))[text[i]]
    return text[:i] + other + text[i + 1 :]


def without_signs(rnd, text):
    return "".join(c for c in text if c not in " .,-_/'():;&") or text


def with_signs(rnd, text):
    if text.isupper() and text.isalpha() and len(text) < 5:
        return "".join(c + "." for c in text)
    signs = [i for i, c in enumerate(text) if c in " -_/"]
    if not signs:
        return text + "."
    i = rnd.choice(signs)
    return text[:i] + rnd.choice(("-", " ", "_", "  ")) + text[i + 1 :]


SPELLINGS = (
    lambda rnd, t: t.upper(),
    lambda rnd, t: t.lower(),
    lambda rnd, t: t.title(),
    lambda rnd, t: t.capitalize(),
    accented,
    without_signs,
    with_signs,
)


def respell(rnd, rows):
    """Like sow, in one column whose values repeat."""
    cells = list(range(len(rows)))
    columns = []
    for c in range(len(rows[0])):
        count = collections.Counter(r[c] for r in rows if r[c].strip())
        letters = sum(k for v, k in count.items() if any(x.isalpha() for x in v))
        if len(count) > 1 and letters > 0.8 * len(rows) and max(count.values()) >= 8:
            columns.append((c, count))
    done = {}
    if not columns:
        return done
    c, count = rnd.choice(columns)
    often = [v for v, k in count.most_common() if k >= 3]
    kind = rnd.choice(("spelling", "spelling", "spelling", "clash", "codes"))
    if kind == "clash" and len(often) > 1:
        for _ in range(rnd.choice((1, 1, 2, 4))):
            a, b = rnd.sample(often, 2)
            new = rnd.choice(SPELLINGS)(rnd, a)
            for r in rows:
                if r[c] == b and new != a:
                    r[c] = new
    elif kind == "codes":
        long, letters = rnd.choice((1, 1, 2, 2, 3, 8)), string.ascii_letters
        letters = letters + string.digits * (long > 1) if rnd.random() < 0.7 else "aAbBcCdDeE"
        code = {v: "".join(rnd.choices(letters, k=long)) for v in count}
        for r in rows:
            r[c] = code.get(r[c], r[c])
    elif kind == "spelling":
        share, ways = 10 ** rnd.uniform(-2.5, -0.7), rnd.sample(SPELLINGS, rnd.choice((1, 1, 2)))
        only = set(rnd.sample(often, min(len(often), rnd.choice((1, 3, len(often))))))
        for r in rnd.sample(cells, len(cells)):
            was = rows[r][c]
            new = rnd.choice(ways)(rnd, was) if rnd.random() < share and was in only else was
            if new != was and new.strip():
                rows[r][c] = new
                done[r, c] = (kind, was)
    return done


def in_order(rnd):
    """A table of dates in order, or now and then nearly so: head, rows, and what was sown."""
    n, k, span = (
        rnd.choice((60, 120, 300, 800, 2000)),
        rnd.choice((2, 2, 3, 3, 4)),
        rnd.choice((60, 400, 8000)),
    )
    form = rnd.choice(("%Y-%m-%d", "%Y-%m-%d", "%d/%m/%Y", "%Y-%m-%d %H:%M:%S"))
    gaps = [(rnd.choice((2, 5, 20, 90, 400)), rnd.randrange(4)) for _ in range(k - 1)]
    start = datetime.datetime(rnd.randint(1990, 2024), 1, 1)
    rows = [[start + datetime.timedelta(days=rnd.random() * span)] for _ in range(n)]
    if rnd.random() < 0.5:
        rows.sort()
    nearly = rnd.choice((0, 0, 0, 1.5, 2.2))  # no law: a gap may be below nothing
    for row in rows:
        for mean, how in gaps:
            days = (rnd.expovariate(1 / mean), rnd.uniform(0, 2 * mean), abs(rnd.gauss(mean, mean / 3)), 0)[
                how
            ]
            if how == 3 and rnd.random() < 0.5:
                days = rnd.expovariate(1 / mean)
            if nearly:
                days = rnd.gauss(mean, mean / nearly)
            row.append(row[-1] + datetime.timedelta(days=days))
    done, share = {}, 0 if nearly else rnd.choice((0, 0.002, 0.005, 0.01, 0.02))
    for r, row in enumerate(rows):
        if rnd.random() >= share:
            continue
        c, was, how = rnd.randrange(k - 1), list(row), rnd.randrange(5)
        if how == 0:
            row[c], row[c + 1] = row[c + 1], row[c]
        elif how == 1:
            row[c] = rnd.choice(rows)[c]
        else:
            c += rnd.randrange(2)
            years = (rnd.choice((-1, 1)), -100, rnd.choice((-10, 10, -2, 2)))[how - 2]
            row[c] += datetime.timedelta(days=round(365.25 * years))
        for i in range(k):
            if row[i] != was[i]:
                done[r, i + 1] = ("order", was[i].strftime(form))
    text = [
        [str(r + 1), *(x.strftime(form) for x in row), str(rnd.randint(1, 99))] for r, row in enumerate(rows)
    ]
    return ["id", *(f"d{i}" for i in range(k)), "v"], text, done


def near(rnd, base, spread):
    return abs(rnd.gauss(0, spread)) * base


def summary(rnd, level):
    """Least, mean and most of a few readings."""
    x = [level * (1 + rnd.gauss(0, 0.1)) for _ in range(rnd.choice((2, 5, 20)))]
    return [min(x), sum(x) / len(x), max(x)]


def day_of_prices(rnd, level):
    opened, closed = level, level * (1 + rnd.gauss(0, 0.02))
    low, high = min(opened, closed), max(opened, closed)
    return [opened, high + near(rnd, level, 0.01), low - near(rnd, level, 0.01), closed]


def part_of(rnd, level):
    whole = int(level) + 1
    return [
        whole,
        sum(rnd.random() < 0.3 for _ in range(whole)) if whole < 200 else int(whole * rnd.random()),
    ]


def span(rnd, level):
    """A stretch of a road, a meter read twice: the second is above the first."""
    return [level, level + rnd.choice((0, 1, 1)) * rnd.expovariate(10 / (1 + level))]


def prices(rnd, level):
    cost = level * rnd.uniform(0.3, 0.9)
    return [cost, max(cost, level * rnd.choice((1, 1, 0.9, 0.8))), level]


def percentiles(rnd, level):
    out = [level]
    for _ in range(3):
        out.append(out[-1] * (1 + rnd.expovariate(2)))
    return out


def nearly(rnd, level):
    """No law: two numbers of which the second is larger as a rule."""
    return [level, level + level * rnd.gauss(0.2, 0.1)]


SETS = (summary, day_of_prices, part_of, span, prices, percentiles, nearly)


def one_error(rnd, rows, row, cols):
    """Changes a cell or two of `row`: exchanged, another row's, another scale, a digit, far off."""
    c, how = rnd.choice(cols), rnd.randrange(5)
    d = rnd.choice([k for k in cols if k != c])
    if how == 0:
        row[c], row[d] = row[d], row[c]
    elif how == 1:
        row[c] = rnd.choice(rows)[c]
    elif how == 2:
        row[c] = shown(float(row[c]) * 10 ** rnd.choice((1, 1, 2, -1, -1, -2)), row[c])
    elif how == 3:
        row[c] = digit_typo(rnd, row[c])
    else:
        row[c] = shown(float(row[c]) * rnd.choice((0.1, 0.3, 0.6, 1.5, 2, 5)), row[c])


def numbers_in_order(rnd, make):
    """A table of numbers in order by one of SETS: head, rows, and what was sown."""
    n, decimals = rnd.choice((60, 120, 300, 800, 2000)), rnd.choice((0, 1, 2, 2))
    groups = [rnd.lognormvariate(4, rnd.choice((0.1, 0.5, 1))) for _ in range(rnd.choice((1, 1, 5, 20)))]
    walk, wide, rows = rnd.random() < 0.4, rnd.choice((0.02, 0.2, 0.6)), []
    level = groups[0]
    for r in range(n):
        g = rnd.randrange(len(groups))
        level = level * (1 + rnd.gauss(0, 0.02)) if walk else groups[g] * rnd.lognormvariate(0, wide)
        made = make(rnd, level)
        if make is summary and rnd.random() < 0.1:
            made = [made[0]] * len(made)  # of one reading
        beside = [str(rnd.randint(1, 99)), f"{level * rnd.lognormvariate(0, 0.3):.1f}"]
        rows.append([f"G{g}", *(f"{v:.{decimals}f}" for v in made), *beside])
    k = len(rows[0]) - 3
    order = rnd.sample(range(1, k + 1), k) if rnd.random() < 0.3 else list(range(1, k + 1))
    rows = [[row[0], *(row[i] for i in order), *row[k + 1 :]] for row in rows]
    was, share = [list(row) for row in rows], 0 if make is nearly else rnd.choice(
        (0, 0.002, 0.005, 0.01, 0.02)
    )
    for r in range(n):
        if rnd.random() < share:
            one_error(rnd, was, rows[r], list(range(1, k + 1)))
    done = {
        (r, c): ("inequality", was[r][c]) for r in range(n) for c in range(k + 3) if rows[r][c] != was[r][c]
    }
    return ["group", *(f"n{i}" for i in range(k)), "v", "w"], rows, done
