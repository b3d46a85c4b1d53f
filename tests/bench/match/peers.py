#!/usr/bin/env python3
"""Splink 4 and dedupe beside: pairs F1 on the same cases as build/release/bench/match.

  peers.py DIR    cases of --within (a.csv, duplicates.csv), or of two tables (a.csv, b.csv, entities.csv,
                  columns.csv), a folder each

Splink learns without labels, as its tutorial does: u from random pairs, m by expectation and maximization,
every column with Jaro-Winkler levels, blocked on each column of many values. dedupe is trained with 20 pairs
that are one and 20 that are not, drawn from the truth, as its users label them; its threshold is 0.5. Both
are told which columns of two tables are one; the engine is not. What is not installed is said and left out.
"""
import csv, importlib.util, io, os, random, sys, time


def read(path):
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.reader(f))
    return rows[0], rows[1:]


def case_of(folder):
    """Rows of the columns that are compared, b's behind a's, and the pairs of row numbers that are one."""
    head, a = read(f"{folder}/a.csv")
    if os.path.exists(f"{folder}/duplicates.csv"):
        truth = {(int(x), int(y)) for t, x, y in read(f"{folder}/duplicates.csv")[1] if t == "a"}
        return a, None, {(min(p), max(p)) for p in truth}
    other, b = read(f"{folder}/b.csv")
    columns = [(head.index(x), other.index(y)) for x, y in read(f"{folder}/columns.csv")[1]]
    truth = {(int(x), len(a) + int(y)) for x, y in read(f"{folder}/entities.csv")[1]}
    return [[r[x] for x, _ in columns] for r in a] + [[r[y] for _, y in columns] for r in b], len(a), truth


def splink(rows, split, _):
    import logging, pandas
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    logging.disable(logging.WARNING)
    names = [f"c{i}" for i in range(len(rows[0]))]
    table = pandas.DataFrame([[x.strip().lower() or None for x in r] for r in rows], columns=names)
    table.insert(0, "unique_id", range(len(rows)))
    names = [c for c in names if table[c].nunique() > 1]
    many = [c for c in names if table[c].nunique() * 20 > table[c].count()] or names
    settings = SettingsCreator(
        link_type="dedupe_only" if split is None else "link_only",
        comparisons=[cl.JaroWinklerAtThresholds(c, [0.92, 0.8]) for c in names],
        blocking_rules_to_generate_predictions=[block_on(c) for c in many],
    )
    tables = table if split is None else [table[:split], table[split:]]
    linker = Linker(tables, settings, db_api=DuckDBAPI())
    two = [block_on(many[i], many[j]) for i in range(len(many)) for j in range(i)] or [block_on(many[0])]
    linker.training.estimate_probability_two_random_records_match(two, recall=0.8)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    for c in many:
        try:
            linker.training.estimate_parameters_using_expectation_maximisation(block_on(c))
        except Exception:  # too few pairs agree on this column to learn from
            continue
    found = linker.inference.predict(threshold_match_probability=0.5).as_pandas_dataframe()
    return {(min(x, y), max(x, y)) for x, y in zip(found.unique_id_l, found.unique_id_r)}


def training(data, split, truth):
    """20 pairs that are one and 20 that are not, in dedupe's own form."""
    r, n = random.Random(1), len(data)
    same = r.sample(sorted(truth), min(20, len(truth)))
    apart = set()
    while len(apart) < 20:
        x, y = (
            (r.randrange(n), r.randrange(n)) if split is None else (r.randrange(split), r.randrange(split, n))
        )
        if x < y and (x, y) not in truth:
            apart.add((x, y))
    pair = lambda p: (data[p[0]], data[p[1]])
    return {"match": [pair(p) for p in same], "distinct": [pair(p) for p in sorted(apart)]}


def dedupe(rows, split, truth):
    import json
    import dedupe as library

    names = [f"c{i}" for i in range(len(rows[0])) if len({r[i] for r in rows}) > 1]
    data = {i: {c: r[int(c[1:])].strip().lower() or None for c in names} for i, r in enumerate(rows)}
    fields = [library.variables.String(c, has_missing=True) for c in names]
    labels = io.StringIO(json.dumps(training(data, split, truth)))
    if split is None:
        judge = library.Dedupe(fields, num_cores=1)
        judge.prepare_training(data, training_file=labels)
        judge.train()
        said = set()
        for group, _ in judge.partition(data, 0.5):
            said |= {(min(x, y), max(x, y)) for x in group for y in group if x != y}
        return said
    a, b = {i: data[i] for i in range(split)}, {i: data[i] for i in range(split, len(data))}
    judge = library.RecordLink(fields, num_cores=1)
    judge.prepare_training(a, b, training_file=labels)
    judge.train()
    return {tuple(sorted(map(int, pair))) for pair, _ in judge.join(a, b, 0.5)}


def main(folder):
    peers = [p for p in (splink, dedupe) if importlib.util.find_spec(p.__name__)]
    for p in (splink, dedupe):
        if p not in peers:
            print(f"bench-match: {p.__name__} skipped, the package is not installed")
    for case in sorted(os.listdir(folder)) if peers else []:
        rows, split, truth = case_of(f"{folder}/{case}")
        for peer in peers:
            from_ = time.process_time()
            try:
                said = peer(rows, split, truth)
            except Exception as e:  # a peer that fails on a case is told, and the others go on
                print(f"{case:24} {peer.__name__:7} fails: {type(e).__name__}: {e}", flush=True)
                continue
            right, there = len(said & truth), len(truth)
            precision, recall = right / max(len(said), 1), right / max(there, 1)
            f1 = 2 * right / max(len(said) + there, 1)
            print(
                f"{case:24} {peer.__name__:7} P {precision:.3f} R {recall:.3f} F1 {f1:.3f}"
                f"  {time.process_time() - from_:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
