"""scikit-learn's own checks of estimators, live against the suite, and what it does not check."""

import functools
import pathlib
import pickle
import warnings

from package import has
from rest import raises

# Estimators and their parameters: each passes all checks.
CHECKED = [
    ("TabellaClassifier", {}),
    ("TabellaRegressor", {}),
    ("TabellaAnomaly", {}),
    ("TabellaAnomaly", {"contamination": 0.1}),
    ("TabellaMatcher", {}),
]


def checks_of(estimator):
    """Each check of scikit-learn for it: a name and what runs it."""
    from sklearn.utils import estimator_checks

    generator = getattr(estimator_checks, "estimator_checks_generator", None)  # from 1.6 on
    made_so = generator or functools.partial(estimator_checks.check_estimator, generate_only=True)
    for made, run in made_so(estimator):
        name = getattr(run, "func", run).__name__
        yield name, lambda made=made, run=run: run(made)


def all_checks(check, show=False):
    """Address and key come from the environment; without them the engine in this process answers. Some
    minutes at a service."""
    import unittest

    from tabella import sklearn as ours

    for name, given in CHECKED:
        failed, ran = {}, 0
        for what, run in checks_of(getattr(ours, name)(**given)):
            ran += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    run()
            except unittest.SkipTest:
                pass
            except Exception as e:
                failed[what] = f"{type(e).__name__}: {str(e)[:300]}"
                if show:
                    print(f"     {name} {what}: {failed[what]}", flush=True)
        check(f"{name} {given or ''}: {ran} checks of scikit-learn", ran > 20 and not failed, failed)


def short(check, client):
    """What scikit-learn does not check."""
    if not has("sklearn", "numpy"):
        return check.skip("scikit-learn", "not installed")
    import numpy as np

    from tabella import sklearn as ours

    rng = np.random.RandomState(0)
    X, Q = rng.randn(200, 3), rng.randn(40, 3)
    y = np.where(X[:, 0] > 0, "up", "down")
    one = ours.TabellaClassifier(client).fit(X, y)
    stored = client.endpoints.retrieve(one.endpoint_).data["datasets"][0]["dataset"]
    check("classifier: classes of its own type", set(one.predict(Q)) == {"up", "down"})
    check("and good ones", np.mean(one.predict(Q) == np.where(Q[:, 0] > 0, "up", "down")) > 0.85)
    text = pickle.dumps(one)
    check(
        "a pickle holds no key",
        client._transport.key.encode() not in text and pickle.loads(text).client is None,
    )
    old = one.endpoint_
    one.fit(X, y)
    check("fitted again, the endpoint before is gone", old not in [e.id for e in client.endpoints.list()])
    one.delete()
    check("deleted, nothing is left", client.endpoints.list().total == 0)
    check("of its data neither", stored not in [d.id for d in client.data.list()])
    kept = ours.TabellaClassifier(client, endpoint=False).fit(X, y)
    check(
        "without an endpoint", kept.predict_proba(Q).shape == (40, 2) and client.endpoints.list().total == 0
    )
    check(
        "and pickled",
        (pickle.loads(pickle.dumps(kept)).set_params(client=client).predict(Q) == kept.predict(Q)).all(),
    )
    number = ours.TabellaRegressor(client).fit(X, 1000 + 50 * X[:, 0])
    q = number.predict_quantiles(Q, [0.1, 0.5, 0.9])
    error = np.mean(np.abs(number.predict(Q) - 1000 - 50 * Q[:, 0]))
    check("regressor: in the target's own unit", error < 15, error)
    check("quantiles rise", q.shape == (40, 3) and (np.diff(q, axis=1) >= 0).all())
    check("outside the levels: ValueError", raises(ValueError, lambda: number.predict_quantiles(Q, [0.001])))
    few = ours.TabellaRegressor(client).fit(X, np.arange(200) % 3)
    check("few whole numbers are a quantity when asked", np.abs(few.predict(Q) - 1).max() < 2)
    check(
        "a target that never varies",
        (ours.TabellaRegressor(client).fit(X, np.full(200, 7.0)).predict(Q) == 7).all(),
    )
    many = number.predict(np.repeat(Q, 260, axis=0))
    check("more rows than one call takes", len(many) == 10_400 and (many[::260] == number.predict(Q)).all())
    strange = ours.TabellaAnomaly(client).fit(X)
    far = strange.predict(np.array([[40.0, -40.0, 40.0], [0.0, 0.1, -0.1]]))
    check("anomalies", list(far) == [-1, 1], far)
    apart = ours.TabellaAnomaly(client, endpoint=False).fit(X)
    check(
        "without an endpoint too", apart.predict(np.array([[40.0, -40.0, 40.0], [0.0, 0.1, -0.1]]))[0] == -1
    )
    away = ours.TabellaRegressor(client, endpoint=False).fit(X, 50 * X[:, 0]).predict(Q)
    check("and the regressor", np.mean(np.abs(away - 50 * Q[:, 0])) < 15)
    strangest(check, ours, np, client)
    for x in (number, few, strange):
        x.delete()
    check("nothing is left behind", client.endpoints.list().total == 0 and client.data.list().total == 0)
    if has("pandas"):
        with_frames(check, client, ours, np)


def local(check):
    """Without an address: the model is in this process."""
    if not has("sklearn", "numpy"):
        return check.skip("scikit-learn without a service", "not installed")
    import numpy as np

    import tabella
    from tabella import sklearn as ours

    rng = np.random.RandomState(0)
    X, Q = rng.randn(200, 3), rng.randn(40, 3)
    y = np.where(X[:, 0] > 0, "up", "down")
    one = ours.TabellaClassifier().fit(X, y)
    shares = one.predict_proba(Q)
    check("local: good classes", np.mean(one.predict(Q) == np.where(Q[:, 0] > 0, "up", "down")) > 0.85)
    check("local: a row asked alone is answered alike", (one.predict_proba(Q[7:8]) == shares[7]).all())
    again = pickle.loads(pickle.dumps(one))
    check("local: pickled, it holds no model", getattr(again, "_model", None) is None)
    check("and answers the same", (again.predict_proba(Q) == shares).all())
    given = ours.TabellaClassifier(tabella.Local(threads=1)).fit(X, y)
    kept = pickle.loads(pickle.dumps(given))
    check("a Local that was given is kept in a pickle", kept.client.threads == 1)
    check("one thread: the same", (kept.predict_proba(Q) == shares).all())
    number = ours.TabellaRegressor().fit(X, 1000 + 50 * X[:, 0])
    q = number.predict_quantiles(Q, [0.1, 0.5, 0.9])
    check("local: quantiles rise", q.shape == (40, 3) and (np.diff(q, axis=1) >= 0).all())
    error = np.mean(np.abs(number.predict(Q) - 1000 - 50 * Q[:, 0]))
    check("local: in the target's own unit", error < 15, error)
    away = ours.TabellaRegressor(endpoint=False).fit(X, 50 * X[:, 0])
    check("local: rows asked together, no model", np.mean(np.abs(away.predict(Q) - 50 * Q[:, 0])) < 15)
    strange = ours.TabellaAnomaly().fit(X).predict(np.array([[40.0, -40.0, 40.0], [0.0, 0.1, -0.1]]))
    check("local: anomalies", list(strange) == [-1, 1], strange)
    strangest(check, ours, np)
    asked = ours.TabellaAnomaly(contamination=0.1).fit(X).predict(X)
    check("local: the share of anomalies that is asked for", np.sum(asked == -1) == 20, asked)
    for wrong in (0, 0.7, "some"):
        off = ours.TabellaAnomaly(contamination=wrong)
        check(f"contamination {wrong!r}: ValueError", raises(ValueError, lambda: off.fit(X)))
    one.delete()
    check("local: delete frees the model", raises(ValueError, lambda: one.predict(Q)))
    all_checks(check)
    if has("pandas"):
        of_any_size(check, tabella.Local(), ours, np)


def strangest(check, ours, np, client=None):
    """What the default calls an anomaly where no fitted row stands apart, and where rows are all alike."""
    clouds = np.random.RandomState(5).randn(300, 2) * 0.3 + np.repeat([[0, 0], [4, 0], [0, 4]], 100, axis=0)
    one = ours.TabellaAnomaly(client).fit(clouds)
    scores, called = one.score_samples(clouds), one.predict(clouds)
    check("no row stands apart", -scores.min() < one.threshold_, (scores.min(), one.threshold_))
    check(
        "the strangest fitted row is -1, and it alone",
        list(np.flatnonzero(called == -1)) == [scores.argmin()],
    )
    check("of new rows like them hardly any", (one.predict(clouds * 0.9 + 0.05) == -1).sum() <= 5)
    pairs = np.repeat([[1.0, 2.0], [3.0, 4.0]], 20, axis=0)
    alike = ours.TabellaAnomaly(client).fit(pairs)
    check("of rows that are all alike none is", (alike.predict(pairs) == 1).all())
    for x in (one, alike):
        x.delete()


def with_frames(check, client, ours, np):
    import pandas as pd

    samples = pathlib.Path(__file__).resolve().parents[1] / "samples"
    a, b = pd.read_csv(samples / "customers.csv"), pd.read_csv(samples / "billing.csv")
    rows, others, sure = ours.TabellaMatcher(client).fit(a).match(b)
    check("matcher: two tables with columns of their own", len(rows) > 50 and (sure >= 0.5).all())
    surname = a["customer"].str.split().str[-1].str.upper()
    same = [surname[i] in b["name"].str.upper()[k] for i, k in zip(rows, others)]
    check("the same people", np.mean(same) > 0.9)
    X, y = a.drop(columns="monthly_fee", errors="ignore").drop(columns="cancelled"), a["cancelled"]
    mixed = ours.TabellaClassifier(client).fit(X, y)
    check("frames with texts, dates and gaps", len(mixed.predict(X.head(5))) == 5)
    check("by their names", list(mixed.feature_names_in_) == list(X.columns))
    mixed.delete()
    of_any_size(check, client, ours, np)


def of_any_size(check, client, ours, np):
    """Frames of every library and all types, few cells and many (which go as Arrow where it is there), with
    pyarrow and as if it were not installed."""
    import pandas as pd

    from tabella import _arrow

    if has("pyarrow"):
        import pyarrow  # noqa: F401
    n, r = 2500, np.random.default_rng(3)
    day = pd.Timestamp("2026-01-01")
    x = pd.DataFrame(
        {
            "price": np.round(r.gamma(2, 30, n), 2),
            "share": r.random(n).astype("float32"),
            "count": r.integers(0, 9, n).astype("int16"),
            "gaps": pd.array(r.integers(0, 99, n), dtype="Int64"),
            "kind": pd.Categorical(r.choice(["a", "b", "c"], n)),
            "note": r.choice(["", "one", "two of them", None], n),
            "paid": r.random(n) < 0.5,
            "day": day + pd.to_timedelta(r.integers(0, 900, n), "D"),
            "target": r.choice(["x", "y"], n),
        }
    )
    x.loc[3:9, ["price", "gaps", "kind", "day"]] = None
    x.index = x.index // 2  # of an index with repetitions
    y, whether = 3.0 * x["share"].to_numpy(float) + x["count"].to_numpy(float), x["paid"].to_numpy()
    frames = {"pandas": x}
    if has("polars"):
        import polars as pl

        frames["polars"] = pl.from_pandas(x) if has("pyarrow") else pl.DataFrame(x.to_dict("list"))
    was, library = (_arrow.CELLS, _arrow.library), _arrow.library
    for arrow in (True, False) if has("pyarrow") else (False,):
        for cells in (10**9, 1000):
            _arrow.CELLS = cells
            _arrow.library = library if arrow else lambda name: None if name == "pyarrow" else library(name)
            for name, frame in frames.items():
                size, there = "few" if cells > n * 9 else "many", "there" if arrow else "not there"
                what = f"{name}, {size} cells, pyarrow {there}"
                try:
                    number = ours.TabellaRegressor(client).fit(frame, y)
                    error = np.abs(number.predict(frame[:300]) - y[:300]).mean()
                    classes = ours.TabellaClassifier(client).fit(frame, whether)
                    right = (classes.predict(frame[:300]) == whether[:300]).mean()
                    number.delete(), classes.delete()
                    check(f"estimators: {what}", error < 0.8 and right > 0.95, (error, right))
                except Exception as e:
                    check(f"estimators: {what}", False, f"{type(e).__name__}: {e}")
    _arrow.CELLS, _arrow.library = was
    columns = ours._names(["", "c0", "target", "z"])
    check(
        "estimators: a column without a name has one of its own", columns == ["c0_", "c0", "c2", "z"], columns
    )
