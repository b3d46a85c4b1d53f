"""Plots of bundles and reports: what is drawn is what the service said."""

import csv
import os
import pathlib
import sys

from package import has
from rest import raises
from tabella import TabellaError

SAMPLES = pathlib.Path(__file__).resolve().parents[1] / "samples"


def rows():
    with open(SAMPLES / "customers.csv", newline="", encoding="utf-8") as f:
        return [{k: v or None for k, v in r.items()} for r in csv.DictReader(f)]


def bars(ax):
    """Label and length of each, from the top."""
    labels = [t.get_text() for t in ax.get_yticklabels()]
    return list(zip(labels, [p.get_width() for p in ax.patches]))


def refused(check, bundle, report):
    """What cannot be drawn says what would have to be there."""
    held = {n: m for n, m in sys.modules.items() if n.split(".")[0] == "matplotlib"}
    for n in held:
        del sys.modules[n]
    sys.modules["matplotlib"] = None  # as an import finds it where it is not installed
    try:
        for what in bundle.plot, report.plot:
            said = _said(TabellaError, what)
            check("without matplotlib: a clear error", "pip install matplotlib" in said, said)
    finally:
        del sys.modules["matplotlib"]
        sys.modules.update(held)
    check("no such plot", "distribution" in _said(ValueError, lambda: bundle.plot("pie")))
    check("no such plot of a report", "calibration" in _said(ValueError, lambda: report.plot("pie")))
    check("no reasons", "explain=True" in _said(TabellaError, lambda: bundle.plot("reasons")))
    check("no column", "column=" in _said(ValueError, lambda: bundle.plot("distribution")))
    check("another column", raises(ValueError, lambda: bundle.plot(column="nothing")))
    check("another table", raises(ValueError, lambda: bundle.plot("missing", table="nothing")))
    check("a report without classes", raises(TabellaError, lambda: report.plot("classes")))


def _said(kind, what):
    try:
        what()
    except kind as e:
        return str(e)
    return ""


def everything(check, client):
    given = rows()
    numbers = client.run(given, name="customers", target="seats", task="regression")
    endpoint = client.endpoints.create("plots-seats", {"customers": given}, target="seats", task="regression")
    report = client.reports.retrieve(endpoint.report_id)
    refused(check, numbers, report)
    if not has("matplotlib"):
        client.endpoints.delete(endpoint.id)
        return check.skip("plots", "matplotlib is not installed")
    os.environ["MPLBACKEND"] = "Agg"
    from matplotlib import pyplot

    ax = numbers.plot()
    points = [tuple(p) for p in ax.collections[-1].get_offsets()]
    told = {x["row"]: x["value"] for x in numbers.array("prediction.results")}
    want = [(float(given[r]["seats"]), v) for r, v in sorted(told.items())]
    check("regression: predicted against actual", sorted(points) == sorted(want) and len(want) > 90)
    lines = [s[:, 1] for s in ax.collections[0].get_segments()]
    low = [x["quantiles"]["0.1"] for x in numbers.array("prediction.results")]
    check("with the middle 80 % of each", sorted(s[0] for s in lines) == sorted(low))

    with open(SAMPLES / "sales" / "sales.csv", newline="", encoding="utf-8") as f:
        sales = [{**r, "units": float(r["units"])} for r in csv.DictReader(f)]
    ahead = client.run(sales, name="sales", target="units", horizon=6)
    ax = ahead.plot("forecast", series="west")
    past, line = ax.lines[0].get_data(), ax.lines[1].get_data()
    told = [x["value"] for x in ahead.array("prediction.forecast.rows") if "west" in x["series"].values()]
    check(
        "forecast: what is known of the series",
        list(past[1]) == [r["units"] for r in sales if r["shop"] == "west"],
    )
    check("and what is to come", list(line[1]) == told and min(line[0]) > max(past[0]), line)
    check("the default where there is one", ahead.plot().get_title() == "north")

    own = pyplot.subplots()[1]
    sure = client.run(given, name="customers", target="cancelled", explain=True)
    ax = sure.plot(ax=own)
    x, y = ax.lines[-1].get_data()
    results = sure.array("prediction.results")
    right = sum(given[r["row"]]["cancelled"] == r["label"] for r in results) / len(results)
    check("the caller's axes", ax is own)
    check("classification: confidence beside what is right", list(x) == sorted(x) and len(x) == 10, x)
    check("bins of one size", abs(sum(y) / len(y) - right) < 0.03, (y, right))
    ax = sure.plot("reasons")
    moved = {}
    for r in results:
        for reason in r["reasons"]:
            name = reason["column"].split(".", 1)[1]
            moved[name] = moved.get(name, 0) + abs(reason["contribution"]) / len(results)
    drawn = bars(ax)
    check(
        "reasons, the strongest at the top", [n for n, _ in drawn] == sorted(moved, key=lambda n: -moved[n])
    )
    check("their mean", all(abs(moved[n] - v) < 1e-9 for n, v in drawn) and len(drawn) > 3, drawn)
    profile = {c.name: 100 * c.missing_pct for c in sure.tables[0].column_profile if c.missing_pct}
    check("missing cells by column", dict(bars(sure.plot("missing"))) == profile and profile, profile)
    whole = client.run([r for r in given if all(r.values())], name="customers", target=False)
    ax = whole.plot()
    check("nothing is missing", not ax.patches and "no cell" in ax.texts[0].get_text())
    heights = [p.get_height() for p in sure.plot(column="seats").patches]
    check("a histogram of every row", sum(heights) == sum(r["seats"] is not None for r in given))
    cities = dict(bars(sure.plot(column="city")))
    check("or the frequent values", sum(cities.values()) == sum(r["city"] is not None for r in given), cities)

    odd = client.run(given, name="customers", task="anomaly")
    ax = odd.plot()
    check("anomaly scores", sum(p.get_height() for p in ax.patches) == len(given))
    check("and their threshold", ax.lines[0].get_xdata()[0] == odd.prediction["threshold"])
    x, y = report.plot().lines[-1].get_data()
    found = report.metrics["quantile_calibration"]
    check("a report's calibration", list(zip(x, y)) == [(q["nominal"], q["observed"]) for q in found])
    client.endpoints.delete(endpoint.id)

    endpoint = client.endpoints.create("plots-cancelled", {"customers": given}, target="cancelled")
    report = client.reports.retrieve(endpoint.report_id)
    ax = report.plot()
    classes = report.metrics["per_class"]
    want = sorted([c[k] for c in classes for k in ("precision", "recall")])
    check("a report's classes", sorted(p.get_width() for p in ax.patches) == want, want)
    unknown = [{**r, "cancelled": None} for r in given[:5]]
    served = client.endpoints.serve(endpoint.id, {"customers": unknown})
    check("served rows without a target", "known target" in _said(TabellaError, served.plot))
    served = client.endpoints.serve(endpoint.id, {"customers": given[:40]})
    check("with it they are drawn", len(served.plot().lines[-1].get_xdata()) == 4)
    client.endpoints.delete(endpoint.id)
    pyplot.close("all")
