"""docs/coming-from.md: the examples of other libraries' READMEs, in this process."""

import os
import tempfile

from package import has
import pages

SAMPLES = pages.ROOT / "tests" / "samples"


def everything(check):
    if not has("pandas", "sklearn"):
        return check.skip("coming from other libraries", "pandas or scikit-learn is not installed")
    import pandas

    customers = pandas.read_csv(SAMPLES / "customers.csv")
    sales = pandas.read_csv(SAMPLES / "sales" / "sales.csv")
    people = pandas.read_csv(SAMPLES / "dirty" / "customers.csv")
    names = {"series": sales.copy(), "people": people}
    named = {"shop": "unique_id", "month": "ds", "units": "y"}
    names["df"] = sales.assign(month=pandas.to_datetime(sales["month"])).rename(columns=named)
    before, where = people.copy(), os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            customers[:100].to_csv("train.csv", index=False)
            customers[100:].to_csv("test.csv", index=False)
            lacking = pages.run(pages.ROOT / "docs" / "coming-from.md", names)
        finally:
            os.chdir(where)
    check("coming from scikit-learn", list(names["classes"]) == [0, 1], names["classes"])
    told = names["predictions"]
    good = (
        told.index.equals(names["test_data"].index)
        and set(told) <= {"yes", "no"}
        and told.name == "cancelled"
    )
    check("from AutoGluon: a label for each row", good, told)
    usual = (names["test_data"]["cancelled"] == "no").mean()
    check(
        "of some use", names["scores"]["accuracy"] >= max(usual, 1 - usual) - 0.05, (names["scores"], usual)
    )
    ahead = names["ahead"]
    check("series: three steps of each", ahead.groupby("item_id").size().tolist() == [3, 3, 3], ahead)
    check("within their interval", (ahead["0.1"] <= ahead["0.9"]).all(), ahead)
    check("which come next", ahead.reset_index()["timestamp"].min() > names["df"]["ds"].max(), ahead)
    steps = names["steps"]
    check("from statsforecast: twelve of each", steps.groupby("unique_id").size().tolist() == [12] * 3, steps)
    wanted = ["unique_id", "ds", "Tabella", "Tabella-lo-80", "Tabella-hi-80"]
    check("with the names of its columns", list(steps.columns) == wanted, steps.columns)
    clusters = names["df_clusters"]
    check("from Splink: a cluster for each row", len(clusters) == len(people))
    sizes = clusters.groupby("cluster_id").size()
    pairs = names["pairwise_predictions"].as_pandas_dataframe()
    check("some are of two rows", 0 < (sizes > 1).sum() < len(people) / 2 and len(pairs) > 10, sizes.max())
    of_one = clusters.groupby("cluster_id")["born"].nunique()[sizes > 1]
    check("mostly born on one day", (of_one == 1).mean() > 0.7, (of_one == 1).mean())
    hidden = names["anonymized"]
    check(
        "from Presidio: names are replaced",
        set(hidden["first"]) | set(hidden["last"]) <= {"REDACTED", None},
        hidden,
    )
    masked = hidden["email"].dropna()
    check("mail addresses are masked", len(masked) and masked.str.endswith("********").all(), masked[:3])
    check("the rest is as it was", hidden["city"].equals(people["city"]) and people.equals(before))
    if "duckdb" in lacking:
        return check.skip("from DuckDB", "it is not installed")
    check("from DuckDB: an answer is a table", ("email", "email") in names["personal"], names["personal"])
