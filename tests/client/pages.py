"""The pages of docs/python: every block of code, from top to bottom of its page, against the suite.

A block is what is indented. `customers`, `billing` and `sales` are there, as the pages say; in pandas where
it is installed, else as lists of dicts. A block that imports what is not installed is skipped, and with it
what uses its names."""

import ast
import csv
import importlib.util
import os
import pathlib

from notebooks import shown
from package import has

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHELL = ("make ", "export ", "pip ")
# What must be there when a page has run to its end: of each block's names, where it was not skipped.
FOUND = {
    "checks": lambda n: len(n["mended"]) == len(n["customers"])
    and n["bundle"].raw["suspects"]["total"] == len(n["doubted"]),
    "data": lambda n: n["sales"].rows == 2
    and len(n["links"]) >= 3
    and {"billing", "sales", "orders"} <= n["names"]
    and n["linked"].prediction["target"] == "orders.returned",
    "duplicates": lambda n: 60 < len(n["bundle"].duplicates) <= len(n["more"].duplicates)
    and ("clean" not in n or 230 < len(n["clean"]) < 270),
    "endpoints": lambda n: len(n["served"].array("prediction.results")) == 3
    and n["told"]["accepted"] == 3
    and n["report"].metrics,
    "forecast": lambda n: len(n["bundle"].array("prediction.forecast.rows")) == 18
    and n["found"]["series"] == ["sales.shop"]
    and n["cost"].total_cells > 0
    and ("axes" not in n or n["axes"].has_data()),
    "matching": lambda n: 50 < len(n["sure"].matches) <= len(n["bundle"].matches)
    and ("joined" not in n or len(n["joined"]) == len(n["bundle"].matches)),
    "python": lambda n: n["bundle"].prediction["task_type"] == "classification",
    "run": lambda n: n["cost"].allowed
    and n["later"].prediction["task_type"] == "regression"
    and ("axes" not in n or all(ax.has_data() for ax in n["axes"])),
    "scikit-learn": lambda n: "scores" not in n
    or (len(n["scores"]) == 3 and (n["low"] < n["high"]).all() and len(n["a_rows"]) > 50),
}


def blocks(text):
    """Line and text of each block of Python."""
    found, block, start = [], [], 0
    for number, line in enumerate(text.split("\n") + ["end"], 1):
        if line.startswith("    ") or (not line and block):
            start = start if block else number
            block.append(line[4:])
        elif block:
            found.append((start, "\n".join(block).rstrip() + "\n"))
            block = []
    return [(n, b) for n, b in found if not b.startswith(SHELL)]


def missing(tree):
    """A library that the block imports and that is not installed."""
    for x in ast.walk(tree):
        names = [a.name for a in x.names] if isinstance(x, ast.Import) else []
        names += [x.module] if isinstance(x, ast.ImportFrom) else []
        for name in names:
            top = "sklearn" if name == "tabella.sklearn" else name.split(".")[0]
            if importlib.util.find_spec(top) is None:
                return top
    return None


def names_of(tree, kind):
    return {x.id for x in ast.walk(tree) if isinstance(x, ast.Name) and isinstance(x.ctx, kind)}


def run(path, names):
    """Runs a page; the libraries that it missed. What a line only shows is shown, as a notebook does."""
    lacking, unset = set(), set()
    for number, text in blocks(path.read_text(encoding="utf-8")):
        tree = ast.parse(text, f"{path.name}:{number}")
        why = missing(tree)
        if why or names_of(tree, ast.Load) & unset:
            lacking |= {why} - {None}
            unset |= names_of(tree, ast.Store) - set(names)
            for x in ast.walk(tree):
                if isinstance(x, (ast.Import, ast.ImportFrom)):
                    unset |= {a.asname or a.name.split(".")[0] for a in x.names} - set(names)
            continue
        for statement in tree.body:
            if isinstance(statement, ast.Expr):
                shown(eval(compile(ast.Expression(statement.value), tree_name(path, number), "eval"), names))
            else:
                exec(compile(ast.Module([statement], []), tree_name(path, number), "exec"), names)
    return lacking


def tree_name(path, number):
    return f"{path.name}, block of line {number}"


def table(name):
    path = ROOT / "tests" / "samples" / f"{name}.csv"
    if has("pandas"):
        import pandas

        return pandas.read_csv(path)
    with open(path, newline="", encoding="utf-8") as f:
        return [{k: v or None for k, v in r.items()} for r in csv.DictReader(f)]


def everything(check):
    """Address and key come from the environment."""
    os.environ["MPLBACKEND"] = "Agg"
    paths = [ROOT / "docs" / "python.md", *sorted((ROOT / "docs" / "python").glob("*.md"))]
    check("every page says what must be found", sorted(p.stem for p in paths) == sorted(FOUND))
    before, there = os.getcwd(), set(os.listdir(ROOT))
    os.chdir(ROOT)  # files are named from there
    try:
        for path in paths:
            names = {"__name__": "__main__", "customers": table("customers"), "billing": table("billing")}
            names["sales"] = table("sales/sales")
            try:
                lacking = run(path, names)
            except Exception as e:
                check(f"{path.name} runs", False, f"{type(e).__name__}: {e}")
                continue
            check(f"{path.name} runs", True)
            check(f"{path.name} finds what is there", bool(FOUND[path.stem](names)))
            if lacking:
                check.skip(f"{path.name}, blocks of it", f"not installed: {', '.join(sorted(lacking))}")
    finally:
        os.chdir(before)
        for name in set(os.listdir(ROOT)) - there:  # what a page wrote
            if (ROOT / name).is_file():
                (ROOT / name).unlink()
