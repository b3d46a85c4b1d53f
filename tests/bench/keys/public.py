#!/usr/bin/env python3
"""Writes the tables and the known keys of public sample databases, for tests/bench/keys.

  public.py OUT owner/name=GITDIR ...     or     public.py OUT DIR     (DIR/owner+name/repo)

GITDIR is a git directory of a public repository, read with `git show`; sources that are not given are
skipped and named.  Each schema is a folder of OUT: TABLE.csv (with a header; the bench hides names),
truth.csv (child, columns, parent, columns; several columns are joined by |) and family.txt (schemas of one
family are left out together).  README.md lists the sources and their licences."""

import csv
import io
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from dumps import Dump  # noqa: E402

csv.field_size_limit(10**9)
csv.register_dialect("plain", lineterminator="\n")
MOST_ROWS, MOST_TABLES, LEAST_ROWS = 20000, 60, 4
REPO = {}


def blob(repo, path):
    r = subprocess.run(["git", "--git-dir=" + REPO[repo], "show", "HEAD:" + path], capture_output=True)
    if r.returncode != 0:
        raise FileNotFoundError(f"{repo}:{path}")
    return r.stdout


def text_of(raw):
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def listing(repo, under):
    out = subprocess.run(
        ["git", "--git-dir=" + REPO[repo], "ls-tree", "-r", "--name-only", "HEAD", under],
        capture_output=True,
        text=True,
    )
    return out.stdout.split("\n")[:-1]


NULLS = {"\\N", "NULL", "NA"}


def read_csv(repo, path, header=None, sep=","):
    rows = [r for r in csv.reader(io.StringIO(text_of(blob(repo, path))), delimiter=sep) if r]
    if not rows:
        return header or [], []
    names = header or [c.strip().lower() for c in rows.pop(0)]
    return names, [
        [None if c in NULLS or c == "" else c for c in (r + [""] * len(names))[: len(names)]] for r in rows
    ]


COUNTED = False  # the first column of each table counts the rows that are kept


def save(out, name, family, tables, truth):
    """tables: name -> (columns, rows)."""
    tables = {t: x for t, x in tables.items() if len(x[1]) >= LEAST_ROWS and x[0]}
    parents = {k[2] for k in truth}
    kept = sorted(tables, key=lambda t: (t not in parents, -len(tables[t][1])))[:MOST_TABLES]
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    for old in os.listdir(folder):
        os.unlink(os.path.join(folder, old))
    filled = {}
    for t in sorted(kept):
        columns, rows = tables[t]
        if len(rows) > MOST_ROWS and t not in parents:
            rng = random.Random(f"{name}.{t}")
            rows = [rows[i] for i in sorted(rng.sample(range(len(rows)), MOST_ROWS))]
        if COUNTED:
            columns, rows = [""] + list(columns), [[str(i)] + list(r) for i, r in enumerate(rows)]
        filled[t] = {c: sum(r[i] not in (None, "") for r in rows) for i, c in enumerate(columns)}
        with open(os.path.join(folder, t + ".csv"), "w", newline="", encoding="utf-8") as f:
            w = csv.writer(f, "plain")
            w.writerow(columns)
            w.writerows([["" if c is None else c.replace("\x00", "") for c in r] for r in rows])
    good = [
        k
        for k in truth
        if k[0] in filled
        and k[2] in filled
        and (k[0], k[1]) != (k[2], k[3])
        and all(filled[k[0]].get(c, 0) > 0 for c in k[1])
        and all(filled[k[2]].get(c, 0) > 0 for c in k[3])
    ]
    with open(os.path.join(folder, "truth.csv"), "w", newline="", encoding="utf-8") as f:
        w = csv.writer(f, "plain")
        w.writerow(["child", "columns", "parent", "parent_columns"])
        w.writerows([[k[0], "|".join(k[1]), k[2], "|".join(k[3])] for k in sorted(set(good))])
    with open(os.path.join(folder, "family.txt"), "w") as f:
        f.write(family + "\n")
    print(f"{name:24} {len(kept):3} tables {len(good):4} keys")


# ---- SQL dumps ---------------------------------------------------------------------------------------


def dump(out, name, family, repo, paths, backslash=False, spec=""):
    d = Dump(backslash)
    for p in paths:
        d.read(
            text_of(blob(repo, p)), lambda f, p=p: text_of(blob(repo, os.path.join(os.path.dirname(p), f)))
        )
    save(out, name, family, {t: d.matrix(t) for t in d.rows}, d.truth() + keys(spec))


def lite(out, name, family, repo, path):
    with tempfile.NamedTemporaryFile(suffix=".db") as f:
        f.write(blob(repo, path))
        f.flush()
        db = sqlite3.connect(f.name)
        db.text_factory = lambda b: b.decode("utf-8", "replace")
        names = [r[0] for r in db.execute("select name from sqlite_master where type = 'table' order by 1")]
        tables, truth = {}, []
        for t in names:
            c = db.execute(f'select * from "{t}"')
            columns = [d[0].lower() for d in c.description]
            rows = [[None if v is None else v if isinstance(v, str) else str(v) for v in r] for r in c]
            tables[t.lower()] = (columns, rows)
            keys = {}
            for k in db.execute(f'pragma foreign_key_list("{t}")'):
                keys.setdefault(k[0], []).append((k[1], k[2].lower(), k[3].lower(), (k[4] or k[3]).lower()))
            for parts in keys.values():
                parts.sort()
                truth.append((t.lower(), tuple(p[2] for p in parts), parts[0][1], tuple(p[3] for p in parts)))
        save(out, name, family, tables, truth)


def bulk(out, name, family, repo, folder, script, spec=""):
    """SQL Server: tables and keys from the script, rows from the files that it loads."""
    d = Dump()
    d.read(text_of(blob(repo, folder + "/" + script)))
    tables = {}
    for path in listing(repo, folder + "/"):
        t = os.path.basename(path)[:-4].lower()
        if not path.endswith(".csv") or t not in d.tables:
            continue
        try:
            body = text_of(blob(repo, path)).replace("\r\n", "\n")
        except FileNotFoundError:
            continue
        if "+|" in body:
            rows = [r.split("+|") for r in body.replace("&|\n", "\x01").split("\x01") if r.strip()]
        else:
            rows = [r.split("\t" if "\t" in body[:2000] else "|") for r in body.split("\n") if r]
        columns = d.tables[t]
        if not rows or len(rows[0]) != len(columns):
            continue
        rows = [[c.strip()[:200] or None for c in r] for r in rows if len(r) == len(columns)]
        tables[t] = (columns, rows)
    save(out, name, family, tables, d.truth() + keys(spec))


# ---- folders of CSV files with keys written here -------------------------------------------------------


def keys(spec):
    """ "a.x>b.y; a.x,y>c.p,q": foreign keys."""
    out = []
    for part in spec.replace("\n", " ").split(";"):
        if part.strip():
            child, parent = part.strip().split(">")
            ct, cc = child.split(".", 1)
            pt, pc = parent.split(".", 1)
            out.append((ct, tuple(cc.split(",")), pt, tuple(pc.split(","))))
    return out


def files(out, name, family, repo, paths, spec, sep=",", headers=None):
    tables = {}
    for p in paths:
        t = os.path.basename(p).rsplit(".", 1)[0].lower()
        try:
            tables[t] = read_csv(repo, p, (headers or {}).get(t), sep)
        except FileNotFoundError:
            continue
    save(out, name, family, tables, [k for k in keys(spec) if k[0] in tables and k[2] in tables])


def pokemon(out, repo):
    base = "data/v2/csv/"
    skip = ("_names", "_prose", "_text", "_summaries", "changelog")
    paths = [p for p in listing(repo, base) if not any(s in p for s in skip) and "conquest" not in p]
    tables = {}
    for p in paths:
        try:
            tables[os.path.basename(p)[:-4]] = read_csv(repo, p)
        except FileNotFoundError:
            continue
    special = {
        "pokemon_id": "pokemon",
        "species_id": "pokemon_species",
        "damage_type_id": "types",
        "target_type_id": "types",
        "super_contest_effect_id": "super_contest_effects",
        "evolved_species_id": "pokemon_species",
        "evolves_from_species_id": "pokemon_species",
        "trigger_item_id": "items",
        "held_item_id": "items",
        "known_move_id": "moves",
        "party_species_id": "pokemon_species",
        "trade_species_id": "pokemon_species",
        "baby_trigger_item_id": "items",
        "decreased_stat_id": "stats",
        "increased_stat_id": "stats",
        "hates_flavor_id": "contest_types",
        "likes_flavor_id": "contest_types",
        "meta_category_id": "move_meta_categories",
        "meta_ailment_id": "move_meta_ailments",
        "target_id": "move_targets",
        "effect_id": "move_effects",
        "color_id": "pokemon_colors",
        "shape_id": "pokemon_shapes",
        "habitat_id": "pokemon_habitats",
        "category_id": "item_categories",
        "pocket_id": "item_pockets",
        "firmness_id": "berry_firmness",
        "damage_class_id": "move_damage_classes",
        "version_group_id": "version_groups",
        "location_area_id": "location_areas",
        "pokedex_id": "pokedexes",
        "ability_id": "abilities",
        "berry_id": "berries",
        "item_flag_id": "item_flags",
        "fling_effect_id": "item_fling_effects",
        "growth_rate_id": "growth_rates",
        "pokemon_move_method_id": "pokemon_move_methods",
        "introduced_in_version_group_id": "version_groups",
    }
    truth = []
    for t, (columns, _) in tables.items():
        for c in columns:
            if c.endswith("_id"):
                p = special.get(c) or c[:-3] + "s"
                if p in tables and "id" in tables[p][0]:
                    truth.append((t, (c,), p, ("id",)))
    save(out, "pokemon", "pokemon", tables, truth)


LAHMAN = """allstarfull.playerid>people.playerid; appearances.playerid>people.playerid;
 awardsmanagers.playerid>people.playerid; awardsplayers.playerid>people.playerid;
 awardssharemanagers.playerid>people.playerid; awardsshareplayers.playerid>people.playerid;
 batting.playerid>people.playerid; battingpost.playerid>people.playerid;
 collegeplaying.playerid>people.playerid; collegeplaying.schoolid>schools.schoolid;
 fielding.playerid>people.playerid; fieldingof.playerid>people.playerid;
 fieldingofsplit.playerid>people.playerid; fieldingpost.playerid>people.playerid;
 halloffame.playerid>people.playerid; managers.playerid>people.playerid;
 managershalf.playerid>people.playerid; pitching.playerid>people.playerid;
 pitchingpost.playerid>people.playerid; salaries.playerid>people.playerid;
 homegames.park.key>parks.park.key; teams.franchid>teamsfranchises.franchid;
 batting.teamid,yearid>teams.teamid,yearid; pitching.teamid,yearid>teams.teamid,yearid;
 fielding.teamid,yearid>teams.teamid,yearid; appearances.teamid,yearid>teams.teamid,yearid;
 managers.teamid,yearid>teams.teamid,yearid; managershalf.teamid,yearid>teams.teamid,yearid;
 salaries.teamid,yearid>teams.teamid,yearid; battingpost.teamid,yearid>teams.teamid,yearid;
 fieldingpost.teamid,yearid>teams.teamid,yearid; pitchingpost.teamid,yearid>teams.teamid,yearid;
 allstarfull.teamid,yearid>teams.teamid,yearid; fieldingofsplit.teamid,yearid>teams.teamid,yearid;
 battingpost.yearid,round>seriespost.yearid,round; fieldingpost.yearid,round>seriespost.yearid,round;
 pitchingpost.yearid,round>seriespost.yearid,round;
 managershalf.playerid,yearid,inseason>managers.playerid,yearid,inseason;
 teamshalf.teamid,yearid>teams.teamid,yearid; homegames.team.key,year.key>teams.teamid,yearid;
 seriespost.teamidwinner,yearid>teams.teamid,yearid; seriespost.teamidloser,yearid>teams.teamid,yearid"""

F1 = """results.raceid>races.raceid; results.driverid>drivers.driverid;
 results.constructorid>constructors.constructorid; results.statusid>status.statusid;
 races.circuitid>circuits.circuitid; races.year>seasons.year; driver_standings.raceid>races.raceid;
 driver_standings.driverid>drivers.driverid; constructor_standings.raceid>races.raceid;
 constructor_standings.constructorid>constructors.constructorid; constructor_results.raceid>races.raceid;
 constructor_results.constructorid>constructors.constructorid; qualifying.raceid>races.raceid;
 qualifying.driverid>drivers.driverid; qualifying.constructorid>constructors.constructorid;
 pit_stops.raceid>races.raceid; pit_stops.driverid>drivers.driverid; sprint_results.raceid>races.raceid;
 sprint_results.driverid>drivers.driverid; sprint_results.constructorid>constructors.constructorid;
 sprint_results.statusid>status.statusid; qualifying.raceid,driverid>results.raceid,driverid;
 pit_stops.raceid,driverid>results.raceid,driverid; sprint_results.raceid,driverid>results.raceid,driverid"""

SYNTHEA = (
    "; ".join(
        f"{t}.patient>patients.id; {t}.encounter>encounters.id"
        for t in (
            "allergies careplans conditions devices imaging_studies immunizations medications observations"
            " procedures supplies"
        ).split()
    )
    + """; encounters.patient>patients.id; encounters.organization>organizations.id;
 encounters.provider>providers.id; encounters.payer>payers.id; providers.organization>organizations.id;
 medications.payer>payers.id; payer_transitions.patient>patients.id; payer_transitions.payer>payers.id;
 claims.patientid>patients.id; claims.providerid>providers.id; claims.appointmentid>encounters.id;
 claims_transactions.claimid>claims.id; claims_transactions.patientid>patients.id;
 claims_transactions.appointmentid>encounters.id; claims_transactions.providerid>providers.id;
 claims.primarypatientinsuranceid>payers.id; claims.supervisingproviderid>providers.id;
 claims_transactions.supervisingproviderid>providers.id; payer_transitions.secondary_payer>payers.id;
 claims_transactions.placeofservice>organizations.id; claims_transactions.patientinsuranceid>patients.id"""
)

BERKA = """order.account_id>account.account_id; account.district_id>district.district_id;
 client.district_id>district.district_id; disp.client_id>client.client_id;
 disp.account_id>account.account_id; loan.account_id>account.account_id; card.disp_id>disp.disp_id"""

GTFS = """trips.route_id>routes.route_id; trips.service_id>calendar.service_id;
 stop_times.trip_id>trips.trip_id; stop_times.stop_id>stops.stop_id; routes.agency_id>agency.agency_id;
 transfers.from_stop_id>stops.stop_id; transfers.to_stop_id>stops.stop_id;
 transfers.from_trip_id>trips.trip_id; transfers.to_trip_id>trips.trip_id; trips.shape_id>shapes.shape_id"""

FLIGHTS = """routes.airline_id>airlines.airline_id; routes.source_id>airports.airport_id;
 routes.dest_id>airports.airport_id; airports.country>countries.name; airlines.country>countries.name"""
FLIGHT_HEADERS = {
    "routes": "airline airline_id source source_id dest dest_id codeshare stops equipment".split(),
    "airports": "airport_id name city country iata icao lat lon alt tz dst tzname type source".split(),
    "airlines": "airline_id name alias iata icao callsign country active".split(),
    "planes": "name iata icao".split(),
    "countries": "name iso dafif".split(),
}

MOVIES = "ratings.movieid>movies.movieid; tags.movieid>movies.movieid; links.movieid>movies.movieid"
SHOP = "raw_orders.user_id>raw_customers.id; raw_payments.order_id>raw_orders.id"
TPCH = "orders.custkey>customer.custkey; lineitem.orderkey>orders.orderkey"
TPCH_HEADERS = {
    "customer": "custkey name address nationkey phone acctbal mktsegment comment".split(),
    "orders": "orderkey custkey status totalprice date priority clerk shippriority comment".split(),
    "lineitem": (
        "orderkey partkey suppkey linenumber quantity price discount tax returnflag status ship commit"
        " receipt instruct mode comment"
    ).split(),
}
POSEY = """orders.account_id>accounts.id; web_events.account_id>accounts.id;
 accounts.sales_rep_id>sales_reps.id; sales_reps.region_id>region.id"""
AW = "samples/databases/adventure-works/"
MS = "microsoft/sql-server-samples"
DW = """dimpromotion.enddate>dimdate.datekey; dimpromotion.startdate>dimdate.datekey;
 factcallcenter.date>dimdate.datekey; factcurrencyrate.date>dimdate.datekey;
 factfinance.date>dimdate.datekey; factsalesquota.date>dimdate.datekey; factsurveyresponse.date>dimdate.datekey;
 factsurveyresponse.productsubcategorykey>dimproductsubcategory.productsubcategorykey;
 factsurveyresponse.productcategorykey>dimproductcategory.productcategorykey"""
ORACLE = "oracle-samples/db-sample-schemas"
SAKILA = "kmorisoto/try-schemaspy-github-actions"

# repository -> what is made of it
SOURCES = [
    (
        "lerocha/chinook-database",
        lambda o, r: dump(o, "chinook", "chinook", r, ["ChinookDatabase/DataSources/Chinook_PostgreSql.sql"]),
    ),
    ("pthom/northwind_psql", lambda o, r: dump(o, "northwind", "northwind", r, ["northwind.sql"])),
    (
        "datacharmer/test_db",
        lambda o, r: dump(
            o, "sakila", "sakila", r, ["sakila/sakila-mv-schema.sql", "sakila/sakila-mv-data.sql"], True
        ),
    ),
    (SAKILA, lambda o, r: dump(o, "dvdrental", "sakila", r, ["dvdrental/restore.sql"])),
    (
        "hhorak/mysql-sample-db",
        lambda o, r: dump(o, "classicmodels", "classicmodels", r, ["mysqlsampledatabase.sql"], True),
    ),
    (
        "Filip-Janjesic/world",
        lambda o, r: dump(o, "world", "world", r, ["world.sql"], True, "country.capital>city.id"),
    ),
    (MS, lambda o, r: dump(o, "pubs", "pubs", r, ["samples/databases/northwind-pubs/instpubs.sql"])),
    (
        MS,
        lambda o, r: bulk(
            o, "adventureworks", "adventureworks", r, AW + "oltp-install-script", "instawdb.sql"
        ),
    ),
    (
        MS,
        lambda o, r: bulk(
            o,
            "adventureworks-dw",
            "adventureworks",
            r,
            AW + "data-warehouse-install-script",
            "instawdbdw.sql",
            DW,
        ),
    ),
    (
        "satriaadi9-isb-uc/bike-store-dataset",
        lambda o, r: dump(
            o,
            "bikestores",
            "bikestores",
            r,
            [f"BikeStores Sample Database - {x}.sql" for x in ("create objects", "load data")],
        ),
    ),
    (
        "Chibutechie/parch-and-posey",
        lambda o, r: dump(o, "parch-posey", "parch-posey", r, ["parch-and-posey.sql"], False, POSEY),
    ),
    (
        ORACLE,
        lambda o, r: dump(
            o,
            "oracle-hr",
            "oracle-hr",
            r,
            ["human_resources/hr_create.sql", "human_resources/hr_populate.sql"],
        ),
    ),
    (
        ORACLE,
        lambda o, r: dump(
            o,
            "oracle-co",
            "oracle-co",
            r,
            ["customer_orders/co_create.sql", "customer_orders/co_populate.sql"],
        ),
    ),
    (
        "bytebase/employee-sample-database",
        lambda o, r: lite(o, "employees", "employees", r, "sqlite/dataset_small/employee.db"),
    ),
    (
        "metabrainz/musicbrainz-server",
        lambda o, r: dump(
            o,
            "musicbrainz",
            "musicbrainz",
            r,
            [
                "admin/sql/CreateTables.sql",
                "admin/sql/CreateFKConstraints.sql",
                "t/sql/initial.sql",
                "t/sql/webservice.sql",
            ],
        ),
    ),
    (
        "wz1498090183/sql-mind-agent",
        lambda o, r: lite(
            o,
            "department-store",
            "department-store",
            r,
            "spider_data/database/department_store/department_store.sqlite",
        ),
    ),
    (
        "chadwickbureau/baseballdatabank",
        lambda o, r: files(o, "lahman", "lahman", r, listing(r, "core/"), LAHMAN),
    ),
    (
        "wobetec/f1-data-until-2022-ergast",
        lambda o, r: files(o, "formula1", "formula1", r, listing(r, "data/"), F1),
    ),
    (
        "OHDSI/dbt-synthea",
        lambda o, r: files(o, "synthea", "synthea", r, listing(r, "seeds/synthea/"), SYNTHEA),
    ),
    ("fabrice-rossi/dplyr-102", lambda o, r: files(o, "berka", "berka", r, listing(r, "data/"), BERKA)),
    (
        "npaun/gtfs-inland-ferries-bc",
        lambda o, r: files(o, "gtfs-ferries", "gtfs", r, listing(r, "data/"), GTFS),
    ),
    (
        "npaun/gtfs-nelson-streetcar",
        lambda o, r: files(o, "gtfs-streetcar", "gtfs", r, listing(r, "data/"), GTFS),
    ),
    (
        "jpatokal/openflights",
        lambda o, r: files(
            o,
            "openflights",
            "openflights",
            r,
            [f"data/{t}.dat" for t in FLIGHT_HEADERS],
            FLIGHTS,
            ",",
            FLIGHT_HEADERS,
        ),
    ),
    (
        "elliotjoejordan/python-pandas-web-film-app",
        lambda o, r: files(
            o,
            "movielens",
            "movielens",
            r,
            [f"ml-latest-small/{t}.csv" for t in ("movies", "ratings", "tags", "links")],
            MOVIES,
        ),
    ),
    (
        "dbt-labs/jaffle_shop",
        lambda o, r: files(o, "jaffle-shop", "jaffle-shop", r, listing(r, "seeds/"), SHOP),
    ),
    (
        "nickgabriadze/HashJoins",
        lambda o, r: files(
            o, "tpch", "tpch", r, [f"data/{t}.tbl" for t in TPCH_HEADERS], TPCH, "|", TPCH_HEADERS
        ),
    ),
    ("PokeAPI/pokeapi", pokemon),
]


def main(out, given, only=None):
    for g in given:
        if "=" in g:
            repo, path = g.split("=", 1)
            REPO[repo] = path
        else:
            for d in sorted(os.listdir(g)):
                if os.path.isdir(os.path.join(g, d, "repo")):
                    REPO[d.replace("+", "/", 1)] = os.path.join(g, d, "repo")
    os.makedirs(out, exist_ok=True)
    for repo, make in SOURCES:
        if repo not in REPO:
            print(f"skipped: {repo} was not given")
            continue
        try:
            make(out, repo)
        except FileNotFoundError as e:
            print(f"skipped: no {e}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
