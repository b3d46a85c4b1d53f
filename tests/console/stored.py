"""The page Data: datasets, sources, made tables, snapshots and what they differ by."""

from checks import CHOOSE, check


def connect(b, a):
    """Every kind of source has its own fields, which the service knows: it refuses the address alone."""
    b.press("Data", "nav")
    b.press("Connect a source")
    b.one("dialog select[name=kind]")
    schemas = a("GET", "/v2/openapi").json["components"]["schemas"]
    fill = (
        "for (const d of document.querySelectorAll('dialog details')) d.open = true;"
        "const all = [...document.querySelectorAll('dialog [name]')];"
        "for (const f of all) if (f.tagName === 'INPUT' && f.name.startsWith('credentials.')) f.value = 'x';"
        "document.querySelector('dialog input[name=source]').value = arguments[0];"
        "return all.map(f => f.name).filter(n => n.startsWith('credentials.'))"
    )
    for ref in [x["$ref"] for x in schemas["ConnectRequest"]["oneOf"]]:
        kind, seen = ref.split("/")[-1], set()
        properties = schemas[kind]["properties"]
        scheme = properties["source"]["examples"][0].split("://")[0]
        inside = scheme + {
            "s3": "+https://10.1.2.3/bucket/x.csv",
            "azblob": "+https://10.1.2.3/account/folder/x.csv",
            "postgres": "://10.1.2.3/shop/public/orders",
            "snowflake": "+https://10.1.2.3/account/SHOP/PUBLIC/ORDERS",
            "bigquery": "+https://10.1.2.3/project/shop/orders",
            "databricks": "://10.1.2.3/main/shop/orders",
            "gdrive": "+https://10.1.2.3/id",
            "supabase": "+https://10.1.2.3/public/orders",
            "qdrant": "://10.1.2.3/orders",
        }.get(scheme, "://10.1.2.3/shop/orders")
        b.script(CHOOSE, "kind", kind)
        b.until(lambda: scheme in b.one("dialog input[name=source]").get_attribute("placeholder"))
        ways = b.script(
            "return [...document.querySelectorAll('dialog [name=login] option')].map(o => o.value)"
        )
        for way in ways[1:] or [None]:
            if way:
                b.script(CHOOSE, "login", way)
                b.until(lambda: b.all("dialog input[type=password]"))
            seen |= set(b.script(fill, inside))
            b.press("Connect", "dialog")
            said = b.until(lambda: b.all("dialog .note.bad code"))
            param = said[0].text if said else ""
            check(
                f"{kind} {way or ''}: its address alone is refused",
                param == "source",
                [param, seen, b.text()],
            )
            b.press("Cancel", "dialog")
            b.press("Connect a source")
            b.one("dialog select[name=kind]")
        known = {"credentials." + n for n, p in properties["credentials"]["properties"].items()}
        tops = {".".join(n.split(".")[:2]) for n in seen}
        check(f"{kind}: the form has the fields of the description", tops == known, [tops, known])
    b.press("Cancel", "dialog")


def datasets(b, a, folder):
    b.go("data")
    check("the endpoint's table is a dataset", b.shows("customers", "1 endpoint"), b.text())
    upload = folder / "Sheet of sales.csv"
    upload.write_text(
        "region,amount\n" + "".join(f"{'north' if i % 3 else 'south'},{i}\n" for i in range(40))
    )
    b.all("input[type=file]")[0].send_keys(str(upload))
    check("a file is uploaded", b.shows("Sheet of sales", "40"), b.text())
    b.press("Sheet of sales")
    b.press("Pin")
    b.button("Unpin")
    check("a dataset is pinned", b.shows("Pinned", "yes"))
    b.press("Delete")
    b.press("Delete", "dialog")
    check(
        "and deleted",
        b.until(lambda: b.at().endswith("#/data") and "Sheet of sales" not in b.text()),
        b.text(),
    )
    b.press("customers")
    b.press("Delete")
    b.press("Delete", "dialog")
    check("one that an endpoint pins is kept, and says why", b.shows("first", "req_", "Copy id"), b.text())
    b.press("Cancel", "dialog")

    connect(b, a)
    b.press("Data", "nav")
    b.press("Generate")
    b.one("dialog input[name=name]").send_keys("made up")
    b.press("Generate", "dialog")
    check("tables are made", b.shows("made up"), b.text())


def orders(stack, *sql):
    stack.sql("; ".join(sql), "shop")


def snapshots(b, a, stack):
    """A source of one's own is connected by the form, changed and synced: what came, went and changed is
    shown."""
    secret = "reader-of-the-shop"
    stack.sql(f"CREATE ROLE shop_reader LOGIN PASSWORD '{secret}'", "postgres")
    stack.sql("CREATE DATABASE shop", "postgres")
    orders(
        stack,
        "CREATE TABLE orders (id int PRIMARY KEY, city text, amount int, note text)",
        "INSERT INTO orders SELECT i, CASE WHEN i % 3 = 0 THEN 'Rome' ELSE 'Oslo' END, i * 7, 'n' || i "
        "FROM generate_series(1, 120) i",
        "GRANT SELECT ON orders TO shop_reader",
    )
    b.press("Data", "nav")
    b.press("Connect a source")
    b.one("dialog select[name=kind]")
    b.script(CHOOSE, "kind", "ConnectPostgres")
    b.until(lambda: "postgres" in b.one("dialog input[name=source]").get_attribute("placeholder"))
    b.one("dialog input[name=source]").send_keys(
        f"postgres://127.0.0.1:{stack.ports['postgres']}/shop/public/orders"
    )
    fill = (
        "for (const d of document.querySelectorAll('dialog details')) d.open = true;"
        "for (const [name, v] of Object.entries(arguments[0])) {"
        "const f = document.querySelector(`dialog [name='credentials.${name}']`); f.value = v;"
        "f.dispatchEvent(new Event('change', {bubbles: true})); }"
    )
    b.script(fill, {"user": "shop_reader", "password": secret, "tls": "disable"})
    b.press("Connect", "dialog")
    check("a source of one's own is connected", b.shows("orders", "120"), b.text())
    dataset = next(
        d["id"] for d in a("GET", "/v2/data").json["datasets"] if d["name"] == "orders" and d.get("rows")
    )
    b.go("data/" + dataset)
    check(
        "its values are drawn",
        b.shows("Values as they are stored.", "Oslo", "120") and b.all("td svg"),
        b.text(),
    )
    b.tab("snapshots")
    check("one snapshot has nothing to differ from", b.shows("Nothing to compare yet", "current"), b.text())
    orders(
        stack,
        "DELETE FROM orders WHERE id <= 10",
        "UPDATE orders SET city = 'Bergen' WHERE id BETWEEN 11 AND 14",
        "INSERT INTO orders SELECT i, 'Turin', 1, NULL FROM generate_series(121, 180) i",
        "ALTER TABLE orders DROP COLUMN note",
        "ALTER TABLE orders ADD COLUMN paid boolean",
        "ALTER TABLE orders ALTER COLUMN amount TYPE text USING 'EUR ' || amount",
    )
    b.press("Sync")
    check("a sync says what it found", b.shows("60 rows added", "10 removed"), b.text())
    b.tab("snapshots")
    check("snapshots are compared", b.shows("Rows added"), b.text())
    check("columns came, went and changed their kind", b.shows("paid", "note", "retyped", "EUR 77"), b.text())
    check("what came is held against what was", b.shows("checks of", "these fail"), b.text())
    check("with what told rows apart", b.shows("Rows are identified by", "id"), b.text())
    show = (
        "const s = [...document.querySelectorAll('main select')].at(-1); s.value = arguments[0];"
        "s.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    b.script(show, "removed")
    gone = lambda: len(b.all("main tbody td:first-child .tag.bad")) >= 10
    check("rows that went are listed", b.until(gone), b.text())
    b.script(show, "added")
    check("rows that came are listed by pages", b.shows("50 of 60", "Turin"), b.text())
    b.press("Show more", "main")
    check("and the rest is asked for", b.shows("60 of 60"), b.text())
    refused = a("GET", f"/platform/v1/data/{dataset}/diff?change=moved")
    check.refused("no such change", refused, 400, "validation_error", "change")
    return "data/" + dataset
