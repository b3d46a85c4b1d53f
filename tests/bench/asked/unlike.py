"""Kinds of tables for `probes` whose asked rows are written otherwise than the known ones, or hold pairs of
known levels that no known row has. A kind is as in questions.py; names in *_class are of classes."""

import math

from questions import num

KINDS, HEADS, CLASSES = {}, {}, set()
TOWNS = {"Berlin": 0, "Hamburg": 3, "Leipzig": -5, "Köln": -3, "Trier": 6}


def kind(head, classes=False):
    def add(make):
        KINDS[make.__name__], HEADS[make.__name__] = make, head.split(",")
        if classes:
            CLASSES.add(make.__name__)
        return make

    return add


def chance(d, logit):
    return "yes" if d.random() < 1 / (1 + math.exp(-logit)) else "no"


# ---- the same in other words and units ------------------------------------------------------------


def written(change):
    """Parcels by weight, z and town; change(weight, town, d): how an asked row writes both."""

    def rows(d, classes):
        for _ in range(900):
            x, z, town = d.gauss(50, 10), d.gauss(0, 2), d.choice(list(TOWNS))
            logit, asked = 0.4 * (x - 50) + z + TOWNS[town], d.random() < 0.3
            y = chance(d, 0.7 * logit) if classes else num(logit + d.gauss(0, 1))
            x, town = change(x, town, d) if asked else (x, town)
            yield ["" if x is None else num(x), num(z), town, y], (1 if asked else None)

    return rows


for name, says, change in (
    ("capitals", "Towns are written in capitals where they are asked.", lambda x, t, d: (x, t.upper())),
    ("thousandfold", "Weights are in grams where they are asked.", lambda x, t, d: (1000 * x, t)),
    (
        "half_thousandfold",
        "Half of the asked weights are in grams.",
        lambda x, t, d: (x * d.choice([1, 1000]), t),
    ),
    ("inches", "Asked lengths are in inches, known ones in centimetres.", lambda x, t, d: (x / 2.54, t)),
    ("zero_weight", "Asked weights are 0, which no known one is.", lambda x, t, d: (0.0, t)),
    (
        "sentinel",
        "Three in ten asked weights are -999.",
        lambda x, t, d: (-999.0 if d.random() < 0.3 else x, t),
    ),
    ("lacking", "No asked row has its weight.", lambda x, t, d: (None, t)),
    ("one_weight", "All asked rows have one weight, which is not theirs.", lambda x, t, d: (50.0, t)),
    (
        "recoded",
        "Towns are written by their first three letters where they are asked.",
        lambda x, t, d: (x, t[:3].upper()),
    ),
):
    for classes in (False, True):
        make = lambda d, rows=written(change), classes=classes: rows(d, classes)
        make.__name__, make.__doc__ = name + ("_class" if classes else ""), says
        kind("weight,z,town,y", classes)(make)

# ---- pairs that no known row has -----------------------------------------------------------------


def crossed(d, own, part):
    """Rows of six by six levels: their effects, and `own` of each pair's. Pairs are asked as a whole; part:
    and three in ten rows of the others."""
    a, b = ({k: d.gauss(0, 3) for k in ks} for ks in ("abcdef", "uvwxyz"))
    pair = {(i, j): own * d.gauss(0, 5) for i in a for j in b}
    away = {k for k in pair if d.random() < 0.3}
    for _ in range(900):
        i, j = d.choice("abcdef"), d.choice("uvwxyz")
        asked = (i, j) in away or (part and d.random() < 0.3)
        yield i, j, a[i] + b[j] + pair[i, j], 1 if asked else None


@kind("a,b,y")
def new_pairs(d):
    """Known levels are asked in pairs that no known row has; their effects add up."""
    for a, b, y, asked in crossed(d, 0, False):
        yield [a, b, num(y + d.gauss(0, 1))], asked


@kind("a,b,y")
def own_pairs(d):
    """The same where each pair has an effect of its own."""
    for a, b, y, asked in crossed(d, 1, False):
        yield [a, b, num(y + d.gauss(0, 1))], asked


@kind("a,b,y")
def own_pairs_part(d):
    """The same, asked beside other rows of known pairs."""
    for a, b, y, asked in crossed(d, 1, True):
        yield [a, b, num(y + d.gauss(0, 1))], asked


@kind("a,b,y", True)
def own_pairs_class(d):
    """Classes of such pairs."""
    for a, b, y, asked in crossed(d, 1, False):
        yield [a, b, chance(d, 0.4 * y)], asked


@kind("user,item,y")
def ratings(d):
    """Twenty ratings of each of 150 users, a quarter asked: no pair comes twice, known or asked."""
    users, items = ([d.gauss(0, 0.7) for _ in range(n)] for n in (150, 80))
    for u in range(150):
        for v in d.sample(range(80), 20):
            stars = min(5, max(1, round(3.4 + users[u] + items[v] + d.gauss(0, 0.8))))
            yield ["u%d" % u, "m%d" % v, str(stars)], (1 if d.random() < 0.25 else None)


@kind("shop,item,price,y")
def listed_anew(d):
    """Sales of sixty items in forty shops; asked are items in shops that did not have them."""
    shops, items = [d.gauss(0, 1) for _ in range(40)], [d.gauss(3, 1) for _ in range(60)]
    for s in range(40):
        for i in d.sample(range(60), 25):
            own, new = d.gauss(0, 0.6), d.random() < 0.12
            for _ in range(3):
                price = d.uniform(1, 9)
                y = math.exp(0.4 * shops[s] + 0.5 * items[i] + own - 0.08 * price + d.gauss(0, 0.2))
                yield ["S%d" % s, "item %d" % i, num(price), num(y)], (1 if new else None)


@kind("plant,shift,x,y", True)
def first_night_class(d):
    """Plants begin with a night shift, which others have."""
    for p in range(8):
        for shift in ("early", "late", "night"):
            lean = d.gauss(0, 1.2)
            for _ in range(40):
                x = d.gauss(0, 1)
                asked = shift == "night" and p >= 5
                yield ["plant %d" % p, shift, num(x), chance(d, lean + x)], (1 if asked else None)
