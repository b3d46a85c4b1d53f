"""Errors sown into tables whose cells are taken for right: eight kinds, each as a person or a program makes
them.

Kinds: typo, format, outlier, slip (of scale), sign, rule (another value of the column), swapped, foreign
(text in a column of numbers). What is sown is a change of the cell's text; a change that leaves it equal does
not count."""
import random
import string

KINDS = ("typo", "format", "outlier", "slip", "sign", "rule", "swapped", "foreign")


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
        if kind == "typo" and not numeric[c]:
            new = typo(rnd, was)
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
