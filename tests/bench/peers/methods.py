"""The methods that `run` compares. Each takes the rows of one split as a frame of pandas and answers the test
rows: probabilities by class, or values. All get the same cores."""

import os
import time

import numpy as np

LEVELS_MOST = 200  # of a category that trees are told; what is rarer is one level


class Prepared:
    """The columns as trees take them: numbers as they are, the rest as categories of the training rows."""

    def __init__(self, train, test):
        import pandas as pd

        self.train, self.test, self.coded = train.copy(), test.copy(), []
        for c in train.columns:
            if pd.api.types.is_numeric_dtype(train[c]):
                continue
            known = train[c].astype(str).where(train[c].notna())
            levels = list(known.value_counts().index[:LEVELS_MOST])
            self.coded.append(c)
            for frame in (self.train, self.test):
                text = frame[c].astype(str).where(frame[c].notna())
                text = text.where(text.isna() | text.isin(levels), "(rare)")
                frame[c] = pd.Categorical(text, categories=[*levels, "(rare)"])

    def codes(self):
        """Numbers alone, gaps filled by medians."""
        middle, made = None, []
        for frame in (self.train, self.test):
            whole = frame.copy()
            for c in self.coded:
                whole[c] = whole[c].cat.codes
            whole = whole.astype(float)
            middle = whole.median().fillna(0) if middle is None else middle
            made.append(whole.fillna(middle).to_numpy())
        return made

    def texts(self):
        """Categories as texts, as CatBoost takes them."""
        made = []
        for frame in (self.train, self.test):
            whole = frame.copy()
            for c in self.coded:
                whole[c] = whole[c].astype(object).where(whole[c].notna(), "(missing)").astype(str)
            made.append(whole)
        return made


def loss_of(task, answer, truth):
    if task == "regression":
        return float(np.sqrt(np.mean((answer - truth) ** 2)))
    own = np.clip(answer[np.arange(len(truth)), truth], 1e-7, 1)
    return float(-np.mean(np.log(own)))


def _forest(task, x, y, told):
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    train, test = x.codes()
    kind = RandomForestClassifier if task == "classification" else RandomForestRegressor
    model = kind(300, n_jobs=told["threads"], random_state=0)
    fitted = time.perf_counter()
    model.fit(train, y)
    told["fit_s"] = time.perf_counter() - fitted
    return model.predict_proba(test) if task == "classification" else model.predict(test)


def _draw(r, space):
    """One choice of each parameter: (low, high, "log" or "int" or "real")."""
    made = {}
    for name, (low, high, how) in space.items():
        x = np.exp(r.uniform(np.log(low), np.log(high))) if how == "log" else r.uniform(low, high)
        made[name] = int(round(x)) if how == "int" else float(x)
    return made


def _tuned(task, y, told, space, fit):
    """Random search: `fit(parameters, training rows, validation rows or None, rounds)` gives its
    predictor and
    rounds; the best by an inner validation part is fitted again on all rows. The first trial is the library's
    own choice of parameters."""
    r = np.random.default_rng(0)
    order = r.permutation(len(y))
    inner, rest = order[: len(y) // 5], order[len(y) // 5 :]
    if "inner" in told:  # a mask of the rows to choose by, as whole groups
        inner, rest = np.flatnonzero(told["inner"]), np.flatnonzero(~told["inner"])
    if task == "classification" and len(np.unique(y[rest])) < len(np.unique(y)):
        first = np.unique(y, return_index=True)[1]
        rest = np.union1d(rest, first)
    best, until = (
        None,
        time.process_time() + told["limit_s"] * told["threads"],
    )  # so others' load costs nobody
    for trial in range(told["trials"]):
        chosen = {} if trial == 0 else _draw(r, space)
        predict, rounds = fit(chosen, rest, inner, told["rounds"])
        loss = loss_of(task, predict(inner), y[inner])
        if best is None or loss < best[0]:
            best = (loss, chosen, rounds)
        told["tried"] = trial + 1
        if time.process_time() > until:
            break
    return fit(best[1], np.arange(len(y)), None, max(1, int(best[2] * 1.1)))[0]


def _lightgbm(task, x, y, told):
    import lightgbm

    space = {
        "learning_rate": (0.01, 0.3, "log"),
        "num_leaves": (4, 200, "log"),
        "min_child_samples": (1, 80, "int"),
        "subsample": (0.5, 1, "real"),
        "colsample_bytree": (0.4, 1, "real"),
        "reg_lambda": (1e-3, 10, "log"),
    }
    kind = lightgbm.LGBMClassifier if task == "classification" else lightgbm.LGBMRegressor

    def fit(chosen, rows, inner, rounds):
        chosen = {**chosen, "num_leaves": int(chosen.get("num_leaves", 31)), "subsample_freq": 1}
        model = kind(n_estimators=rounds, n_jobs=told["threads"], random_state=0, verbose=-1, **chosen)
        more = {}
        if inner is not None:
            stop = lightgbm.early_stopping(25, verbose=False)
            more = {"eval_set": [(x.train.iloc[inner], y[inner])], "callbacks": [stop]}
        model.fit(x.train.iloc[rows], y[rows], **more)
        return _predictor(task, model, x.train, x.test), model.best_iteration_ or rounds

    return _tuned(task, y, told, space, fit)(None)


def _xgboost(task, x, y, told):
    import xgboost

    space = {
        "learning_rate": (0.01, 0.3, "log"),
        "max_depth": (2, 10, "int"),
        "min_child_weight": (0.5, 50, "log"),
        "subsample": (0.5, 1, "real"),
        "colsample_bytree": (0.4, 1, "real"),
        "reg_lambda": (1e-3, 10, "log"),
    }
    kind = xgboost.XGBClassifier if task == "classification" else xgboost.XGBRegressor

    def fit(chosen, rows, inner, rounds):
        common = {"enable_categorical": True, "tree_method": "hist", "random_state": 0}
        stop = {} if inner is None else {"early_stopping_rounds": 25}
        model = kind(n_estimators=rounds, n_jobs=told["threads"], **common, **stop, **chosen)
        more = {} if inner is None else {"eval_set": [(x.train.iloc[inner], y[inner])]}
        model.fit(x.train.iloc[rows], y[rows], verbose=False, **more)
        return _predictor(task, model, x.train, x.test), 1 + getattr(model, "best_iteration", rounds - 1)

    return _tuned(task, y, told, space, fit)(None)


def _catboost(task, x, y, told):
    import catboost

    train, test = x.texts()
    space = {
        "learning_rate": (0.01, 0.3, "log"),
        "depth": (3, 8, "int"),
        "l2_leaf_reg": (0.5, 20, "log"),
        "random_strength": (0.1, 5, "log"),
    }
    kind = catboost.CatBoostClassifier if task == "classification" else catboost.CatBoostRegressor

    def fit(chosen, rows, inner, rounds):
        more = {"thread_count": told["threads"], "random_seed": 0, "verbose": False}
        model = kind(iterations=rounds, cat_features=x.coded, allow_writing_files=False, **more, **chosen)
        held = {}
        if inner is not None:
            held = {"eval_set": (train.iloc[inner], y[inner]), "early_stopping_rounds": 25}
        model.fit(train.iloc[rows], y[rows], **held)
        return _predictor(task, model, train, test), model.tree_count_

    return _tuned(task, y, told, space, fit)(None)


def _predictor(task, model, train, test):
    """Answers rows of the training part by their places, or the test rows."""

    def predict(rows):
        asked = test if rows is None else train.iloc[rows]
        return model.predict_proba(asked) if task == "classification" else np.ravel(model.predict(asked))

    return predict


def _cpu_clock(threads):
    """A clock that goes on with this process' CPU time on so many cores. A stage on one core counts half on
    two: its owner has more than the limit, never less (decision 0820)."""
    begun, used = time.time(), time.process_time()
    return lambda: begun + (time.process_time() - used) / threads


def _autogluon(task, train, y, test, told):
    """`best_quality`: boosters, forests and the networks that it trains here (with its extra "fastai"), none
    of them with weights to download. Its limit of time is read from `time.time`, which is the clock of CPU
    time here: on a busy machine it has all of its cores' seconds."""
    import tempfile

    from autogluon.tabular import TabularPredictor

    time.time = _cpu_clock(told["threads"])
    kind = "regression" if task == "regression" else "binary" if y.max() == 1 else "multiclass"
    with tempfile.TemporaryDirectory() as folder:
        model = TabularPredictor("(target)", problem_type=kind, path=folder, verbosity=0)
        model.fit(
            train.assign(**{"(target)": y}),
            presets="best_quality",
            time_limit=told["limit_s"],
            num_cpus=told["threads"],
        )
        told["models"] = len(model.model_names())
        if task == "regression":
            return model.predict(test).to_numpy()
        found = model.predict_proba(test, as_multiclass=True)
        return found[sorted(found.columns)].to_numpy()


def _tabella(task, train, y, test, told):
    import tabella
    from tabella.sklearn import TabellaClassifier, TabellaRegressor

    kind = TabellaClassifier if task == "classification" else TabellaRegressor
    model = kind(tabella.Local(threads=told["threads"]))
    fitted = time.perf_counter()
    model.fit(train, y)
    told["fit_s"] = time.perf_counter() - fitted
    return model.predict_proba(test) if task == "classification" else np.asarray(model.predict(test))


TREES = {"forest": _forest, "lightgbm": _lightgbm, "xgboost": _xgboost, "catboost": _catboost}
WHOLE = {"tabella": _tabella, "autogluon": _autogluon}
NEEDS = {"forest": "sklearn", "autogluon": "autogluon.tabular"}  # others: what they are called
METHODS = [*WHOLE, *TREES]


def answer(method, task, train, y, test, told):
    """The method's answer for the test rows; `told` has threads, trials, rounds and limit_s, and
    gets fit_s."""
    os.environ["OMP_NUM_THREADS"] = str(told["threads"])
    if method in WHOLE:
        return WHOLE[method](task, train, y, test, told)
    return TREES[method](task, Prepared(train, test), y, told)
