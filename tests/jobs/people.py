"""Made people, and how other hands write them down."""

FIRST = (
    "Anna Bernd Carla David Elena Felix Greta Hanna Ivan Julia Karl Lena Martin Nora Oskar Paula Rita Simon"
)
LAST = (
    "Adler Becker Conrad Dietz Ebert Fuchs Graf Huber Jansen Keller Lorenz Maurer Neumann Otto Peters Quast"
)
STREET = "Lindenweg Hauptstrasse Am Markt,Bergstrasse Schulgasse Seestrasse Mozartweg Gartenallee Ringstrasse"
CITY = "Bonn Ulm Kiel Mainz Trier Essen Halle Fulda"


def person(r):
    first, last = r.choice(FIRST.split()), r.choice(LAST.split()) + r.choice(["", "", "mann", "er"])
    city = r.choice(CITY.split())
    return {
        "first": first,
        "last": last,
        "street": f"{r.choice(STREET.replace(',', ' ').split())} {r.randint(1, 180)}",
        "city": city,
        "email": f"{first}.{last}{r.randint(1, 999)}@example.org".lower(),
        "phone": f"+49 {r.randint(150, 179)} {r.randint(1000000, 9999999)}",
    }


def retyped(r, text):
    """One slip of the keys."""
    i = r.randrange(1, len(text) - 1)
    return r.choice((text[:i] + text[i + 1 :], text[:i] + text[i + 1] + text[i] + text[i + 2 :]))


def again(r, p):
    """The same person as another clerk has it: a slip here, a missing value there."""
    q = dict(p)
    q["last"] = retyped(r, q["last"]) if r.random() < 0.3 else q["last"]
    q["street"] = q["street"].replace("strasse", "str.") if r.random() < 0.5 else q["street"]
    q["phone"] = q["phone"].replace("+49 ", "0").replace(" ", "/")
    for field in ("email", "phone"):
        q[field] = "" if r.random() < 0.2 else q[field]
    return q


def two_systems(r):
    """Rows of a CRM and of a shop under their names, and the pairs that are one person: 90 of 180 and 170."""
    people = [person(r) for _ in range(260)]
    crm = [
        [p["first"] + " " + p["last"], p["street"], p["city"], p["email"], p["phone"]] for p in people[:180]
    ]
    others = [again(r, p) for p in people[:90]] + people[180:]
    order = list(range(len(others)))
    r.shuffle(order)
    fields = ("last", "first", "email", "phone", "street", "city")
    shop = [[others[i][f] for f in fields] for i in order]
    heads = ["name", "address", "town", "mail", "phone"], [
        "surname",
        "given",
        "e_mail",
        "mobile",
        "street",
        "city",
    ]
    return (heads[0], crm), (heads[1], shop), {(i, order.index(i)) for i in range(90)}
