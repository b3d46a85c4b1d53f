"""What the trades of everyday.py are made of: words, and a schema that is filled and written."""

import csv
import os
import random

FIRST = (
    "Anna Ben Carla David Elif Farid Greta Hugo Ines Jonas Karim Lena Mia Noah Olga Paul Quinn Rosa Sven Tara"
    " Umut Vera Willem Xenia Yara Zoe Aaron Berta Cem Dora Emil Fenna Goran Hana Igor"
    " Jana Kofi Luca Mara Nils"
).split()
LAST = (
    "Adler Brandt Costa Dietz Ekman Fuchs Gruber Horvat Ivanov Jensen Kaya Lopez Meyer Novak Okafor Peeters"
    " Quist Rossi Silva Tanaka Ulrich Visser Weber Xu Yilmaz Zeller Arslan Boucher Conti Dubois Engel Farkas"
    " Garcia Hansen Ito Jung Klein Lang Moreau Nagy"
).split()
CITIES = (
    "Aachen Bergen Cadiz Delft Essen Faro Ghent Hull Izmir Jena Kiel Lyon Malmo Nantes Oslo Porto Riga Sofia"
    " Turin Ulm Vigo Wroclaw York Zagreb"
).split()
NOUNS = (
    "lamp chair table bottle jacket shovel kettle mirror pillow carpet wallet helmet basket candle ladder"
    " drill hammer bucket blanket curtain printer speaker monitor keyboard camera tripod backpack tent rope"
    " stove whistle compass lantern hammock canoe paddle net hook reel"
).split()
ADJ = "red blue large small light heavy old new folding steel oak cotton wool plain striped".split()
STREETS = "Oak Mill Station Church Park High School Garden River Castle Market North".split()


class Schema:
    """Tables, their keys and the references between them."""

    def __init__(self, out, trade, style, seed, counter):
        self.rng = random.Random(f"{trade} {style} {seed}")
        self.out, self.trade, self.style, self.seed, self.counter = out, trade, style, seed, counter
        self.scale = 0.2 if style == "small" else 1
        self.tables, self.truth = {}, []

    def n(self, n, least=6):
        """About n rows, fewer in a small schema."""
        return max(least, int(n * self.scale * self.rng.uniform(0.8, 1.25)))

    def key(self, n):
        """n keys in the order of their rows."""
        rng = self.rng
        style = (
            "counted" if self.style != "mixed" else rng.choice("counted shuffled gaps offset code".split())
        )
        if style == "code":
            head = "".join(rng.choice("ABCDEFGHKLMNPRSTV") for _ in range(2))
            x = [f"{head}{i:04d}" for i in rng.sample(range(10 * n + 10), n)]
        elif style == "gaps":
            x, at = [], 0
            for _ in range(n):
                at += 1 + int(rng.expovariate(0.8))
                x.append(at)
        else:
            start = rng.choice([100, 1000, 5001]) if style == "offset" else 1
            x = list(range(start, start + n))
        if style == "shuffled":
            rng.shuffle(x)
        return x

    def table(self, name, /, **columns):
        self.tables[name] = columns
        return columns

    def ref(self, child, columns, parent, theirs):
        self.truth.append((child, columns.replace(" ", "|"), parent, theirs.replace(" ", "|")))

    def of(self, keys, n, none=0.0, used=1.0, skew=None):
        """n references to a share of the keys, some of them oftener than others."""
        rng = self.rng
        some = rng.sample(keys, max(min(3, len(keys)), int(len(keys) * used)))
        skew = rng.random() < 0.5 if skew is None else skew
        weights = [rng.lognormvariate(0, 1.0) if skew else 1.0 for _ in some]
        return [None if rng.random() < none else x for x in rng.choices(some, weights, k=n)]

    def people(self, n):
        return [f"{self.rng.choice(FIRST)} {self.rng.choice(LAST)}" for _ in range(n)]

    def things(self, n):
        return [
            f"{self.rng.choice(ADJ)} {self.rng.choice(NOUNS)} {self.rng.randrange(10, 99)}" for _ in range(n)
        ]

    def cities(self, n):
        return [self.rng.choice(CITIES) for _ in range(n)]

    def streets(self, n):
        return [f"{self.rng.randrange(1, 180)} {self.rng.choice(STREETS)} Street" for _ in range(n)]

    def ints(self, n, lo, hi):
        return [self.rng.randint(lo, hi) for _ in range(n)]

    def bell(self, n, mean, sd, lo, hi):
        return [max(lo, min(hi, round(self.rng.gauss(mean, sd)))) for _ in range(n)]

    def few(self, n, mean=2.5, hi=30):
        """Quantities: 1 most often."""
        return [min(hi, 1 + int(self.rng.expovariate(1 / mean))) for _ in range(n)]

    def money(self, n, mu=3.0):
        return [round(self.rng.lognormvariate(mu, 1), 2) for _ in range(n)]

    def days(self, n, years=(2021, 2025)):
        return [
            "%d-%02d-%02d" % (self.rng.randint(*years), self.rng.randint(1, 12), self.rng.randint(1, 28))
            for _ in range(n)
        ]

    def above(self, keys, roots=1):
        """For each key one of an earlier hire, in no circle; who is above all has none."""
        order = keys[:]
        head = order[: max(roots, 1)]
        rest = order[len(head) :]
        up = {k: None for k in head}
        bosses = head[:]
        for k in rest:
            up[k] = self.rng.choice(bosses[-12:])
            if self.rng.random() < 0.25:
                bosses.append(k)
        return [up[k] for k in keys]

    def write(self):
        name = f"{self.trade}-{self.style}" + (f"-{self.seed}" if self.seed != "1" else "")
        folder = os.path.join(self.out, name)
        os.makedirs(folder, exist_ok=True)
        for table, columns in self.tables.items():
            columns = dict(columns)
            if self.counter:
                columns = {"": range(len(next(iter(columns.values())))), **columns}
            with open(os.path.join(folder, table + ".csv"), "w", newline="") as f:
                w = csv.writer(f, lineterminator="\n")
                w.writerow(columns)
                w.writerows(zip(*[["" if v is None else v for v in x] for x in columns.values()]))
        with open(os.path.join(folder, "truth.csv"), "w", newline="") as f:
            w = csv.writer(f, lineterminator="\n")
            w.writerow(["child", "columns", "parent", "parent_columns"])
            w.writerows(self.truth)
        with open(os.path.join(folder, "family.txt"), "w") as f:
            f.write(f"everyday-{self.trade}\n")
