"""The notebooks of examples/, from top to bottom as a notebook runs them: the last expression of a cell is
shown."""

import ast
import json
import os
import pathlib

from package import has

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
# What must be there when a notebook has run to its end.
FOUND = {
    "churn": lambda n: n["hit"] > 0.6
    and len(n["served"]) == 3
    and n["bundle"].imputed.isna().sum().sum() < 60,
    "shop": lambda n: len(n["people_matched"]) > 60
    and (
        n["joined"]["name"].str.split().str[-1].str.upper() == n["joined"]["subscriber"].str.split(",").str[0]
    ).mean()
    > 0.95,
    "linked": lambda n: n["linked"].held_out["score"] > 0.9 > n["alone"].held_out["score"] + 0.3
    and len(n["relations"]) >= 3
    and n["moved"]["column"].str.startswith("order_items").any(),
    "anomaly": lambda n: n["found"] == 5 and list(n["judged"])[0] == 1,
}
# Of the engine in this process, without a service.
HERE = {
    "local": lambda n: list(n["doubted"]["row"]) == [41]
    and n["twice"]["group"].nunique() == 6
    and n["whole"].isna().sum().sum() == 0
    and all(
        low < truth < high
        for low, truth, high in zip(n["asked"]["q(0.05)"], (794, 934), n["asked"]["q(0.95)"])
    ),
}
IMAGES = ("image/png", "text/html")


def shown(value):
    """What a notebook would draw."""
    for way in ("_repr_html_", "__repr__"):
        if hasattr(value, way):
            return getattr(value, way)()


def run(path):
    """The names that the notebook leaves, and how many cells showed something."""
    names, pictures = {"__name__": "__main__"}, 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            pictures += bool(shown(value)) if value is not None else 0
    return names, pictures


def everything(check):
    """Address and key come from the environment."""
    paths = sorted(EXAMPLES.glob("*.ipynb"))
    check("there is a notebook for each task", [p.stem for p in paths] == sorted({**FOUND, **HERE}))
    look(check, [p for p in paths if p.stem in FOUND])


def here(check):
    """Those that need no service; and in a kernel, as a notebook's reader has it, where there is one."""
    paths = [EXAMPLES / f"{name}.ipynb" for name in HERE]
    look(check, paths)
    if not has("nbclient", "ipykernel", "pandas", "matplotlib"):
        check.skip("in a kernel", "nbclient or ipykernel is not installed")
        return
    import nbclient, nbformat

    os.environ.pop("MPLBACKEND", None)  # the kernel has its own
    os.environ["PYTHONPATH"] = str(EXAMPLES.parent / "tools" / "python")
    for path in paths:
        book = nbformat.read(path, 4)
        nbclient.NotebookClient(book, timeout=300).execute()
        told = [o for c in book.cells for o in c.get("outputs", [])]
        kinds = {k for o in told for k in o.get("data", {})}
        wrong = [o.text[:200] for o in told if o.output_type == "stream" and "rror" in o.text]
        check(
            f"{path.name} in a kernel: tables and pictures",
            set(IMAGES) <= kinds and not wrong,
            wrong or kinds,
        )


def look(check, paths):
    for path in paths:
        clean = all(not c.get("outputs") for c in json.loads(path.read_text(encoding="utf-8"))["cells"])
        check(f"{path.name} is stored without outputs", clean)
        if not has("pandas", "sklearn"):
            check.skip(path.name, "pandas or scikit-learn is not installed")
            continue
        names, pictures = run(path)
        check(f"{path.name} runs from top to bottom", pictures >= 2, pictures)
        check(f"{path.name} finds what is there", bool({**FOUND, **HERE}[path.stem](names)))
