"""Kinds of tables for `probes` of a third round: files that were filled, sorted, weighted, exported or
labelled otherwise where they are asked. A kind is as in questions.py; names in *_class are of classes."""

import datetime, math

from questions import num

KINDS, HEADS, CLASSES = {}, {}, set()


def kind(head, classes=False):
    def add(make):
        KINDS[make.__name__], HEADS[make.__name__] = make, head.split(",")
        if classes:
            CLASSES.add(make.__name__)
        return make

    return add


def chance(d, logit):
    return "yes" if d.random() < 1 / (1 + math.exp(-max(-50, min(50, logit)))) else "no"


def day(i):
    return (datetime.date(2022, 1, 3) + datetime.timedelta(i)).isoformat()


# ---- cells of asked rows that are not what they were -------------------------------------------------


def changed(change):
    """Patients; change(height, weight, age, sex, d): what an asked row says."""

    def rows(d, classes):
        for _ in range(700):
            height, sex, age = d.gauss(172, 9), d.choice("fm"), d.uniform(20, 80)
            weight = 0.9 * (height - 172) + 74 + d.gauss(0, 10)
            pressure = 0.7 * (weight - 74) + 0.3 * (age - 50) - 0.3 * (height - 172) + 4 * (sex == "m")
            asked = d.random() < 0.3
            y = chance(d, pressure / 5) if classes else num(125 + pressure + d.gauss(0, 3))
            said = [num(height), num(weight), num(age), sex]
            if asked:
                said = [v if isinstance(v, str) else num(v) for v in change(height, weight, age, sex, d)]
            yield said + [y], (1 if asked else None)

    return rows


for name, says, change in (
    ("exchanged", "Height and weight stand in each other's column.", lambda h, w, a, s, d: (w, h, a, s)),
    ("pounds", "Weights are in pounds, heights in centimetres.", lambda h, w, a, s, d: (h, 2.2046 * w, a, s)),
    ("inch", "Heights are in inches, weights in pounds.", lambda h, w, a, s, d: (h / 2.54, 2.2046 * w, a, s)),
    (
        "filled",
        "Six in ten weights are one value.",
        lambda h, w, a, s, d: (h, 74 if d.random() < 0.6 else w, a, s),
    ),
    ("one_value", "All weights are one value.", lambda h, w, a, s, d: (h, 70, a, s)),
    ("one_level", "Sex is f in all asked rows, which a form had set.", lambda h, w, a, s, d: (h, w, a, "f")),
    ("rounded", "Weights are rounded to tens.", lambda h, w, a, s, d: (h, round(w, -1), a, s)),
    ("clipped", "Weights end at 75, as the scale does.", lambda h, w, a, s, d: (h, min(w, 75), a, s)),
    ("other_scale", "Another scale adds six.", lambda h, w, a, s, d: (h, w + 6, a, s)),
    ("mistaken", "Weights are those of other persons.", lambda h, w, a, s, d: (h, d.gauss(74, 13), a, s)),
):
    for classes in (False, True):
        make = lambda d, rows=changed(change), classes=classes: rows(d, classes)
        make.__name__, make.__doc__ = name + ("_class" if classes else ""), says
        kind("height,weight,age,sex,y", classes)(make)

# ---- other shares ------------------------------------------------------------------------------------


def classes_by(d, share, n, known, asked, columns=3):
    """Rows whose numbers follow their class; known and asked: the share of yes there."""
    for _ in range(n):
        late = d.random() < share
        y = d.random() < (asked if late else known)
        x = [d.gauss(0.7 * y, 1) for _ in range(columns)]
        word = d.choice("aabc" if y else "abcc")
        yield [num(v) for v in x] + [word, "yes" if y else "no"], (1 if late else None)


@kind("x,z,w,kind,y", True)
def rarer_class(d):
    """Half of the known rows are ill, as in a study, and a tenth of the asked."""
    yield from classes_by(d, 0.4, 1200, 0.5, 0.1)


@kind("x,z,w,kind,y", True)
def commoner_class(d):
    """A sixth of the known rows, most of the asked."""
    yield from classes_by(d, 0.4, 1200, 0.17, 0.6)


@kind("x,z,w,kind,y", True)
def rarer_small_class(d):
    """The first in a table of 250 rows."""
    yield from classes_by(d, 0.4, 250, 0.5, 0.1)


@kind("x,z,w,kind,y", True)
def same_share_class(d):
    """The same shares."""
    yield from classes_by(d, 0.4, 1200, 0.3, 0.3)


@kind("x,z,y", True)
def older_class(d):
    """Asked rows lie farther up in x, which decides: a share that moves for a reason."""
    for _ in range(1200):
        asked = d.random() < 0.4
        x, z = d.gauss(1 if asked else 0, 1), d.gauss(0, 1)
        yield [num(x), num(z), chance(d, 1.5 * x + z - 1)], (1 if asked else None)


@kind("age,region,income,weight,y", True)
def weighted_class(d):
    """A survey that asked the small regions ten times as often, with its weights; all persons are asked."""
    lean = [d.gauss(0, 1.5) for _ in range(8)]
    for _ in range(1500):
        asked = d.random() < 0.4
        region = d.choice([0] * 10 + list(range(1, 8))) if asked else d.randrange(8)
        age, income = d.uniform(18, 80), d.lognormvariate(7, 0.5)
        logit = lean[region] + 0.03 * (age - 50)
        row = ["%d" % age, "R%d" % region, num(income), "10" if region == 0 else "1"]
        yield row + [chance(d, logit)], (1 if asked else None)


@kind("x,z,y", True)
def one_in_hundred_class(d):
    """One yes in a hundred, 6,000 rows, half asked."""
    for _ in range(6000):
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        yield [num(x), num(z), chance(d, 1.5 * x + z - 6.3)], (1 if d.random() < 0.5 else None)


@kind("x,z,w,y")
def two_populations(d):
    """Two populations whose slopes are opposite and which nothing names; the asked rows are of one."""
    for _ in range(900):
        asked = d.random() < 0.3
        second = asked or d.random() < 0.3
        x, z, w = d.gauss(0, 1), d.gauss(0.7 * second, 1), d.gauss(0.7 * second, 1)
        yield [num(x), num(z), num(w), num((-2 if second else 2) * x + z + d.gauss(0, 0.7))], (
            1 if asked else None
        )


@kind("x,z,w,y", True)
def two_populations_class(d):
    """Classes of them."""
    for _ in range(900):
        asked = d.random() < 0.3
        second = asked or d.random() < 0.3
        x, z, w = d.gauss(0, 1), d.gauss(0.7 * second, 1), d.gauss(0.7 * second, 1)
        yield [num(x), num(z), num(w), chance(d, (-3 if second else 3) * x + z)], (1 if asked else None)


# ---- how the file was made ---------------------------------------------------------------------------


@kind("id,x,z,y", True)
def by_answer_class(d):
    """Ids were given class by class; those of the asked rows go on."""
    rows = [(d.gauss(0, 1), d.gauss(0, 1)) for _ in range(800)]
    given = sorted(([x, z, chance(d, 1.2 * x)] for x, z in rows), key=lambda r: r[2])
    for i, (x, z, y) in enumerate(given):
        yield [str(1000 + i), num(x), num(z), y], None
    for i in range(300):
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        yield [str(1800 + i), num(x), num(z), chance(d, 1.2 * x)], 1


@kind("x,z,y", True)
def sorted_class(d):
    """Known rows are sorted by class and x."""
    rows = [[x, d.gauss(0, 1)] for x in (d.gauss(0, 1) for _ in range(800))]
    given = sorted(([*r, chance(d, 1.2 * r[0])] for r in rows), key=lambda r: (r[2], r[0]))
    yield from (([num(x), num(z), y], None) for x, z, y in given)
    for _ in range(300):
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        yield [num(x), num(z), chance(d, 1.2 * x)], 1


@kind("code,x,z,y", True)
def telling_code_class(d):
    """Codes begin with a letter of the class in the known rows, with P, for pending, in the asked."""
    for i in range(900):
        asked = d.random() < 0.3
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        y = chance(d, 1.2 * x)
        yield ["%s%05d" % ("P" if asked else y[0].upper(), d.randrange(10**5)), num(x), num(z), y], (
            1 if asked else None
        )


@kind("x,z,state,y", True)
def state_after_class(d):
    """A state that is set once the answer is known; all asked rows are open, as one known in thirty is."""
    for _ in range(900):
        asked = d.random() < 0.3
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        y = chance(d, 1.2 * x)
        state = (
            "open"
            if asked or d.random() < 0.03
            else d.choice(["lost", "closed"] if y == "yes" else ["closed", "won"])
        )
        yield [num(x), num(z), state, y], (1 if asked else None)


@kind("x,z,paid,y", True)
def paid_after_class(d):
    """What was paid back, 0 in all asked rows and in a fifth of the known."""
    for _ in range(900):
        asked = d.random() < 0.3
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        y = chance(d, 1.2 * x)
        paid = (
            0
            if asked or d.random() < (0.35 if y == "yes" else 0.05)
            else d.uniform(0, 60 if y == "yes" else 100)
        )
        yield [num(x), num(z), num(paid), y], (1 if asked else None)


@kind("date,x,z,y", True)
def redefined_class(d):
    """From a day on, a third of the past ago, another share counts as yes; later rows are asked."""
    for i in range(1000):
        x, z = d.gauss(0, 1), d.gauss(0, 1)
        y = x + 0.5 * z + d.gauss(0, 0.5) > (1.0 if i > 550 else -0.5)
        yield [day(i // 3), num(x), num(z), "yes" if y else "no"], (1 if i >= 850 else None)


@kind("x,z,group,lab,y")
def lab_by_group(d):
    """A lab value that three of five groups have; all asked rows are of the others."""
    for _ in range(900):
        g, asked = d.randrange(5), False
        x, z, lab = d.gauss(0, 1), d.gauss(0, 1), d.gauss(0, 1)
        asked = g > 2 and d.random() < 0.6
        yield [
            num(x),
            num(z),
            "g%d" % g,
            num(lab) if g < 3 else "",
            num(2 * lab + x + g + d.gauss(0, 0.5)),
        ], (1 if asked else None)


@kind("id,x,z,w,y")
def augmented(d):
    """Each known row stands there five times, its numbers moved a little, under ids of its own."""
    for i in range(300):
        x, z, w = d.gauss(0, 1), d.gauss(0, 1), d.gauss(0, 1)
        y, asked = x + d.gauss(0, 1), i % 3 == 0
        for k in range(1 if asked else 5):
            cells = [num(v + d.gauss(0, 0.03)) for v in (x, z, w)]
            yield ["%06d" % d.randrange(10**6), *cells, num(y + d.gauss(0, 0.02))], (1 if asked else None)


@kind("id,x,z,w,y", True)
def augmented_class(d):
    """Classes of them, which nothing tells."""
    for i in range(300):
        x, z, w, y = d.gauss(0, 1), d.gauss(0, 1), d.gauss(0, 1), d.choice(["yes", "no"])
        asked = i % 3 == 0
        for k in range(1 if asked else 5):
            cells = [num(v + d.gauss(0, 0.03)) for v in (x, z, w)]
            yield ["%06d" % d.randrange(10**6), *cells, y], (1 if asked else None)


def moved(d, times, jitter, known=False, columns=5, originals=400):
    """Rows that stand there `times()` times, moved by `jitter`; known: asked are some of each."""
    for i in range(originals):
        x = [d.gauss(0, 1) for _ in range(columns)]
        kind, y, n = d.choice("abcd"), d.choice(["yes", "no"]), times()
        for k in range(n):
            cells = [num(v + d.gauss(0, jitter)) for v in x]
            asked = k == n - 1 if known else i % 3 == 0
            yield [*cells, kind, y], (1 if asked else None)


@kind("a,b,c,d,e,kind,y", True)
def twice_class(d):
    """Each row twice, its numbers moved a little, in a class that nothing tells."""
    return moved(d, lambda: 2, 0.05)


@kind("a,b,c,d,e,kind,y", True)
def uneven_copies_class(d):
    """One to six times."""
    return moved(d, lambda: d.randint(1, 6), 0.05)


@kind("a,b,c,d,e,kind,y", True)
def moved_tenth_class(d):
    """Six times, by a tenth of the deviation."""
    return moved(d, lambda: 6, 0.1)


@kind("a,b,c,d,e,kind,y", True)
def copies_asked_class(d):
    """The fifth of each five is asked: these are known."""
    return moved(d, lambda: 5, 0.05, True)


# ---- targets -----------------------------------------------------------------------------------------


@kind("x,z,kind,y", True)
def almost_sure_class(d):
    """A rule, one label in a hundred of it wrong."""
    for _ in range(1500):
        x, z, k = d.gauss(0, 1), d.gauss(0, 1), d.choice("abcd")
        y = (x > 0.3) if k in "ab" else (z > -0.2)
        yield [num(x), num(z), k, "yes" if y != (d.random() < 0.01) else "no"], (
            1 if d.random() < 0.4 else None
        )


@kind("a,b,c,d,e,f,g,h,y")
def noise(d):
    """Nothing tells the target; 90 rows."""
    for i in range(150):
        yield [num(d.gauss(0, 1)) for _ in range(8)] + [num(d.lognormvariate(0, 1))], (
            1 if i % 5 < 2 else None
        )


@kind("a,b,c,d,e,f,g,h,y", True)
def noise_class(d):
    """Nothing tells the class; 90 rows."""
    for i in range(150):
        yield [num(d.gauss(0, 1)) for _ in range(8)] + [d.choice("pqr")], (1 if i % 5 < 2 else None)


@kind("x,z,kind,y")
def rows_25(d):
    """25 known rows."""
    for i in range(65):
        x, z, k = d.gauss(0, 1), d.gauss(0, 1), d.choice("ab")
        yield [num(x), num(z), k, num(2 * x + (k == "a") + d.gauss(0, 1))], (1 if i >= 25 else None)


@kind("x,z,kind,y", True)
def rows_25_class(d):
    """25 known rows of two classes."""
    for i in range(65):
        x, z, k = d.gauss(0, 1), d.gauss(0, 1), d.choice("ab")
        yield [num(x), num(z), k, chance(d, 2 * x)], (1 if i >= 25 else None)


@kind("age,kind,visits,y")
def mostly_zero(d):
    """Seven in ten claims are nothing, the others of any size."""
    for _ in range(1000):
        age, k, v = d.uniform(18, 80), d.choice("abc"), d.randrange(6)
        some = d.random() < 1 / (1 + math.exp(1.5 - 0.25 * v))
        y = d.lognormvariate(5 + 0.01 * age + 0.3 * (k == "a"), 1) if some else 0
        yield ["%d" % age, k, str(v), num(y)], (1 if d.random() < 0.4 else None)


@kind("x,z,kind,y")
def magnitudes(d):
    """A target over six powers of ten."""
    for _ in range(800):
        x, z, k = d.gauss(0, 1), d.gauss(0, 1), d.choice("abc")
        yield [num(x), num(z), k, "%.4g" % 10 ** (3 + x + 0.5 * z + d.gauss(0, 0.4))], (
            1 if d.random() < 0.4 else None
        )


@kind("x,z,kind,y", True)
def ordered_words_class(d):
    """Five words in order, from very bad to very good."""
    words = ["very bad", "bad", "fair", "good", "very good"]
    for _ in range(700):
        x, z, k = d.gauss(0, 1), d.gauss(0, 1), d.choice("abc")
        at = min(4, max(0, round(2 + x + 0.5 * z + d.gauss(0, 0.8))))
        yield [num(x), num(z), k, words[at]], (1 if d.random() < 0.4 else None)


@kind("x,z,kind,y")
def comma(d):
    """One known target in ten has a decimal comma."""
    for _ in range(700):
        x, z, k, asked = d.gauss(0, 1), d.gauss(0, 1), d.choice("abc"), d.random() < 0.4
        y = num(20 + 4 * x + z + d.gauss(0, 1))
        yield [num(x), num(z), k, y.replace(".", ",") if not asked and d.random() < 0.1 else y], (
            1 if asked else None
        )


@kind("x,z,y")
def uneven_noise(d):
    """Noise that grows twentyfold with z."""
    for _ in range(1000):
        x, z = d.gauss(0, 1), d.uniform(0, 3)
        yield [num(x), num(z), num(x + math.exp(z) * d.gauss(0, 0.3))], (1 if d.random() < 0.4 else None)


@kind("x,z,region,y", True)
def large_class(d):
    """20,000 rows of thirty regions with slopes of their own; of six, mostly rows far up in x are asked."""
    slope = [d.gauss(0, 2) for _ in range(30)]
    for _ in range(20000):
        r = d.randrange(30)
        asked = r < 6 and d.random() < 0.6
        x, z = d.gauss(1.5 if asked else 0, 1), d.gauss(0, 1)
        yield [num(x), num(z), "r%d" % r, chance(d, slope[r] * x + z)], (1 if asked else None)
