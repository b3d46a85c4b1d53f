"""Names of metrics: which processes tell, and which are used by docs, alerts and dashboards."""
import json, pathlib, re

NAME = re.compile(r"\b(?:tabella|process)_[a-z0-9_]+\b")
SERIES = ("_bucket", "_sum", "_count")


def told(texts):
    """Every name of a series in these expositions."""
    found = set()
    for text in texts:
        for line in text.splitlines():
            if line and line[0] != "#":
                found.add(re.match(r"\w+", line)[0])
            elif line.startswith("# TYPE"):
                found.add(line.split()[2])
    return found


def used(root):
    """Where: the names used there."""
    root = pathlib.Path(root)
    ret = {}
    text = (root / "docs" / "operations.md").read_text()
    rows = [l for l in text.splitlines() if re.match(r"\| `(tabella|process)_", l)]
    ret["docs/operations.md"] = {n for l in rows for n in NAME.findall(l.split("|")[1])}
    for path in sorted((root / "charts" / "tabella" / "files").glob("dashboards/*.json")):
        board = json.loads(path.read_text())
        ret[path.name] = {n for e in expressions(board) for n in NAME.findall(e)}
    for path in sorted((root / "charts" / "tabella" / "files").glob("alerts.yaml")):
        exprs = re.findall(r"expr: *(.*(?:\n {12,}.*)*)", path.read_text())
        ret[path.name] = {n for e in exprs for n in NAME.findall(e)}
    return ret


def expressions(board):
    """Every query of a dashboard."""
    if isinstance(board, dict):
        for k, v in board.items():
            if k in ("expr", "query") and isinstance(v, str):
                yield v
            else:
                yield from expressions(v)
    elif isinstance(board, list):
        for v in board:
            yield from expressions(v)
