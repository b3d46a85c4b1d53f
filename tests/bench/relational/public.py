#!/usr/bin/env python3
"""Makes sets for tests/bench/relational of the public sample databases that tests/bench/keys/public.py wrote:
public.py SCHEMAS OUT.  A schema that is not there is skipped and named.

Each set is some tables of a schema, a target, and what must go because it is told only with the target.  Of
the target's table at most 3,000 rows are kept, evenly."""

import csv
import os
import sys

MOST_ROWS = 3000
SETS = {
    # name: schema, target, columns that go, tables
    "berka-status": ("berka", "loan.status", [], "loan account disp client district order card"),
    "lahman-salary": (
        "lahman",
        "salaries.salary",
        [],
        "salaries people allstarfull awardsplayers battingpost pitchingpost teamsfranchises halloffame",
    ),
    "lahman-inducted": (
        "lahman",
        "halloffame.inducted",
        ["votes", "ballots", "needed", "votedby"],
        "halloffame people allstarfull awardsplayers battingpost pitchingpost managers",
    ),
    "formula1-place": (
        "formula1",
        "results.positionorder",
        "position positiontext points laps time milliseconds fastestlap rank fastestlaptime fastestlapspeed"
        " statusid".split(),
        "results drivers constructors races circuits qualifying",
    ),
    "formula1-wins": (
        "formula1",
        "constructor_standings.wins",
        ["points", "position", "positiontext"],
        "constructor_standings constructors races circuits",
    ),
    "movielens-rating": ("movielens", "ratings.rating", [], "ratings movies tags links"),
    "employees-salary": ("employees", "salary.amount", [], "salary employee title dept_emp department"),
    "northwind-freight": (
        "northwind",
        "orders.freight",
        [],
        "orders customers employees order_details products shippers",
    ),
}


def read(path):
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.reader(f))


def make(name, schemas, out):
    schema, target, gone, tables = SETS[name]
    table, column = target.split(".")
    folder = os.path.join(schemas, schema)
    if not os.path.exists(os.path.join(folder, table + ".csv")):
        print(f"{name}: skipped, no {schema}.{table}")
        return
    os.makedirs(os.path.join(out, name), exist_ok=True)
    for t in tables.split():
        path = os.path.join(folder, t + ".csv")
        if not os.path.exists(path):
            continue
        rows = read(path)
        if t == table:
            keep = [i for i, c in enumerate(rows[0]) if c not in gone]
            body = [r for r in rows[1:] if r[rows[0].index(column)] != ""]
            step = max(1, -(-len(body) // MOST_ROWS))
            rows = [[r[i] for i in keep] for r in rows[:1] + body[::step]]
        with open(os.path.join(out, name, t + ".csv"), "w", newline="", encoding="utf-8") as f:
            csv.writer(f, lineterminator="\n").writerows(rows)
    with open(os.path.join(out, name, "target.txt"), "w", encoding="utf-8") as f:
        f.write(target + "\n")


if __name__ == "__main__":
    for name in SETS:
        make(name, sys.argv[1], sys.argv[2])
