"""Kinds of tables for `probes` of a fourth round: targets that are cut off, written as texts, skewed, wrong
or ordered, asked rows that stand twice, are half empty, or come from a file that is laid out otherwise. A
kind is as in questions.py; names in *_class are of classes."""

import math

from further import chance, day
from questions import num

KINDS, HEADS, CLASSES = {}, {}, set()


def kind(head, classes=False):
    def add(make):
        KINDS[make.__name__], HEADS[make.__name__] = make, head.split(",")
        if classes:
            CLASSES.add(make.__name__)
        return make

    return add


def some(d, share=0.3):
    return 1 if d.random() < share else None


# ---- targets -----------------------------------------------------------------------------------------


@kind("x,z,kind,y")
def ceiling(d):
    """A test that ends at 100, which a third reach."""
    for _ in range(600):
        x, z, k = d.gauss(0, 1), d.gauss(0, 1), d.choice("abc")
        y = min(100, 92 + 12 * x + 5 * z + 4 * (k == "a") + d.gauss(0, 5))
        yield [num(x), num(z), k, num(y)], some(d)


@kind("x,z,y")
def heavy_tails(d):
    """Noise of three degrees of freedom, ten times as large in one row of thirty."""
    for _ in range(600):
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        noise = d.gauss(0, 1) / math.sqrt(d.gammavariate(1.5, 1) / 1.5)
        yield [num(x), num(z), num(3 * x + noise * (10 if d.random() < 0.03 else 1))], some(d)


@kind("x,z,y")
def inflated(d):
    """Nine in ten are nothing, and nothing tells which."""
    for _ in range(800):
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        y = math.exp(4 + x + d.gauss(0, 0.5)) if d.random() < 0.1 else 0
        yield [num(x), num(z), num(y)], some(d)


@kind("x,z,kind,y", True)
def mislabelled_class(d):
    """A rule with three labels in ten wrong, in known and asked rows."""
    for _ in range(700):
        x, z, k = d.gauss(0, 1), d.gauss(0, 1), d.choice("abcd")
        y = (x > 0) if k in "ab" else (z > 0)
        yield [num(x), num(z), k, "yes" if y != (d.random() < 0.3) else "no"], some(d)


@kind("x,z,y", True)
def known_mislabelled_class(d):
    """A quarter of the known rows that are ill are written as well; asked rows are as they are."""
    for _ in range(900):
        x, z, asked = d.gauss(0, 1), d.gauss(0, 1), some(d)
        y = chance(d, 1.5 * x + z)
        yield [num(x), num(z), "no" if not asked and y == "yes" and d.random() < 0.25 else y], asked


@kind("x,z,y", True)
def grades_class(d):
    """Grades from 1 to 5."""
    for _ in range(600):
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        yield [num(x), num(z), str(min(5, max(1, round(3 + x + 0.5 * z + d.gauss(0, 0.7)))))], some(d)


@kind("x,z,y", True)
def three_of_one_class(d):
    """Of the rare class three rows are known, of 300."""
    n = 0
    for i in range(500):
        x, z, asked = d.gauss(0, 1), d.gauss(0, 1), 1 if i >= 300 else None
        rare = d.random() < 0.01 if asked else (n < 3 and i % 90 == 20)
        n += rare and not asked
        yield [num(x + 2 * rare), num(z), "rare" if rare else d.choice(["a", "b"])], asked


@kind("division,group,article,x,y", True)
def hierarchy_class(d):
    """Articles of groups of divisions, each leaning to one side; a third of the asked are new articles."""
    division = [d.gauss(0, 1) for _ in range(4)]
    group = [d.gauss(0, 0.8) for _ in range(16)]
    article = [d.gauss(0, 0.8) for _ in range(120)]
    for _ in range(1000):
        a, x = d.randrange(120), d.gauss(0, 1)
        g = a % 16
        asked = (1 if d.random() < 0.8 else 0) if a >= 108 else some(d, 0.2)
        row = ["D%d" % (g % 4), "G%02d" % g, "A%03d" % a, num(x)]
        yield row + [chance(d, division[g % 4] + group[g] + article[a] + x)], asked if asked != 0 else None


@kind("x,z,y")
def order_of_rows(d):
    """A gauge that drifts from row to row, without a time; asked rows stand among the others."""
    level = 50
    for _ in range(600):
        level += d.gauss(0, 0.5)
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        yield [num(x), num(z), num(level + 2 * x + d.gauss(0, 1))], some(d)


@kind("x,z,y")
def order_goes_on(d):
    """The same, and the last rows are asked."""
    level = 50
    for i in range(600):
        level += d.gauss(0, 0.5)
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        yield [num(x), num(z), num(level + 2 * x + d.gauss(0, 1))], (1 if i >= 500 else None)


# ---- asked rows --------------------------------------------------------------------------------------


def half_empty(d, classes):
    for _ in range(800):
        x = [d.gauss(0, 1) for _ in range(6)]
        k, asked, sum_ = d.choice("abc"), some(d), x[0] + x[1] - x[2] + 0.5 * x[3]
        cells = [num(v) for v in x] + [k]
        if asked:
            cells = ["" if d.random() < 0.5 else c for c in cells]
        yield cells + [chance(d, 1.5 * sum_) if classes else num(3 * sum_ + d.gauss(0, 1))], asked


@kind("a,b,c,d,e,f,kind,y")
def half_empty_cells(d):
    """Half of the asked cells are empty, none of the known."""
    return half_empty(d, False)


@kind("a,b,c,d,e,f,kind,y", True)
def half_empty_cells_class(d):
    """Classes of them."""
    return half_empty(d, True)


@kind("x,z,kind,y", True)
def contradicting_class(d):
    """Each asked row stands twice, one of its numbers another in the second."""
    for _ in range(500):
        x, z, k, asked = d.gauss(0, 1), d.gauss(0, 1), d.choice("abc"), some(d)
        y = chance(d, 1.5 * x + z)
        yield [num(x), num(z), k, y], asked
        if asked:
            yield [num(d.gauss(0, 1)), num(z), k, y], asked


@kind("date,shop,x,y")
def monthly_sums(d):
    """Days are known, but for three months their sums are asked, as rows of the month's first day."""
    for s in range(4):
        level = d.uniform(20, 40)
        y = [level + 2 * d.gauss(0, 1) for _ in range(390)]
        for i in range(300):
            yield [day(i), "shop %d" % s, "day", num(y[i])], None
        for m in range(3):
            yield [day(300 + 30 * m), "shop %d" % s, "month", num(sum(y[300 + 30 * m : 330 + 30 * m]))], 1


@kind("rooms,area,town,y")
def averaged(d):
    """Asked rows are averages of eight: numbers nearer to the middle, targets that vary less."""
    for _ in range(500):
        asked, t = some(d), d.choice(["Ulm", "Kiel", "Bonn"])
        rows = []
        for _ in range(8 if asked else 1):
            r, a = d.uniform(1, 6), 25
            a = 25 * r + d.gauss(0, 12)
            rows.append((r, a, 3 * a + 20 * r + 40 * (t == "Bonn") + d.gauss(0, 30)))
        mean = [sum(v) / len(rows) for v in zip(*rows)]
        yield [num(mean[0]), num(mean[1]), t, num(mean[2])], asked


def translated(d, classes):
    words = {"red": "rot", "green": "gruen", "blue": "blau", "white": "weiss"}
    for _ in range(700):
        c, x, asked = d.choice(sorted(words)), d.gauss(0, 1), some(d)
        up = {"red": 2, "green": 0, "blue": -1, "white": 0.5}[c]
        y = chance(d, up + x) if classes else num(4 * up + 2 * x + d.gauss(0, 1))
        yield [words[c] if asked else c, num(x), y], asked


@kind("colour,x,y")
def other_language(d):
    """Colours are in German where they are asked."""
    return translated(d, False)


@kind("colour,x,y", True)
def other_language_class(d):
    """Classes of them."""
    return translated(d, True)


@kind("text,x,y", True)
def other_language_text_class(d):
    """Complaints in English are known, in German they are asked."""
    good, bad = ["great", "happy", "thanks", "perfect", "fast"], [
        "broken",
        "late",
        "refund",
        "angry",
        "missing",
    ]
    gut, schlecht = ["toll", "zufrieden", "danke", "perfekt", "schnell"], [
        "kaputt",
        "zu spaet",
        "Geld",
        "fehlt",
    ]
    for i in range(600):
        asked, y, x = some(d), d.random() < 0.5, d.gauss(0, 1)
        words = (gut if y else schlecht) if asked else (good if y else bad)
        frame = "%s, die Lieferung %d war %s und %s" if asked else "%s, the delivery %d was %s and %s"
        text = frame % (d.choice(words), d.randrange(10**4), d.choice(words), d.choice(words))
        yield [text, num(x), "yes" if y != (d.random() < 0.1) else "no"], asked


@kind("place,x,z,y", True)
def sorted_alone_class(d):
    """One column was sorted by itself in the file that is asked."""
    rows = []
    for _ in range(700):
        x = d.gauss(0, 1)
        z, w = x + d.gauss(0, 0.6), x + d.gauss(0, 0.6)
        rows.append([[num(w), num(x), num(z), chance(d, 2 * z)], some(d)])
    own = sorted((float(r[2]) for r, asked in rows if asked))
    for r, asked in rows:
        if asked:
            r[2] = num(own.pop(0))
        yield r, asked
