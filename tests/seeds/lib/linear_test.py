"""What the checker says of histories that are known: run by tests/suite/seeds."""
import itertools, pathlib, random, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "lib"))
sys.dont_write_bytecode = True
import models
from linear import NEVER, Op, Search, failure, judge, linearizable, shortest


def r(begin, end, value):
    return Op("read", begin, end, value)


def w(begin, end, value):
    return Op("write", begin, end, value)


# what Porcupine and Knossos have for a register, and their answers
REGISTER = [
    ("nothing", [], True),
    ("a read of the start", [r(0, 1, 0)], True),
    ("a read of what nobody wrote", [r(0, 1, 7)], False),
    ("a read beside the write sees either", [w(0, 10, 1), r(1, 2, 0), r(3, 4, 1)], True),
    ("but not the old value after the new", [w(0, 10, 1), r(1, 2, 1), r(3, 4, 0)], False),
    ("a read after the write sees it", [w(0, 1, 1), r(2, 3, 0)], False),
    ("two writers, the last one to be seen stays", [w(0, 5, 1), w(0, 5, 2), r(6, 7, 1), r(8, 9, 1)], True),
    ("and does not change back", [w(0, 5, 1), w(0, 5, 2), r(6, 7, 1), r(8, 9, 2)], False),
    ("a write of which nobody knows may come late", [w(0, NEVER, 1), r(2, 3, 0), r(4, 5, 1)], True),
    ("or never", [w(0, NEVER, 1), r(2, 3, 0), r(4, 5, 0)], True),
    ("and not before it is asked", [r(0, 1, 1), w(2, NEVER, 1)], False),
    ("and once alone", [w(0, NEVER, 1), w(1, 2, 2), r(3, 4, 1), w(5, 6, 2), r(7, 8, 1)], False),
]

KEY = [
    ("used, then ended", [Op("use", 0, 1, True), Op("end", 2, 3), Op("use", 4, 5, False)], True),
    ("let in while it ends", [Op("end", 2, 5), Op("use", 3, 4, True)], True),
    ("let in after its end", [Op("end", 2, 3), Op("use", 4, 5, True)], False),
    ("refused before its end", [Op("use", 0, 1, False), Op("end", 2, 3)], False),
    (
        "back after a refusal, while it ends",
        [Op("end", 0, 9), Op("use", 1, 2, False), Op("use", 3, 4, True)],
        True,
    ),
    ("an end that is not known may not have been", [Op("end", 0, NEVER), Op("use", 4, 5, True)], True),
]

JOB = [
    ("a cancel wins", [Op("cancel", 0, 1, (200, "cancelled")), Op("get", 2, 3, "cancelled")], True),
    (
        "a cancel wins and it is done",
        [Op("cancel", 0, 1, (200, "cancelled")), Op("get", 2, 3, "done")],
        False,
    ),
    ("it loses", [Op("cancel", 0, 1, (409, None)), Op("get", 2, 3, "done")], True),
    ("it loses, and it is cancelled", [Op("cancel", 0, 1, (409, None)), Op("get", 2, 3, "cancelled")], False),
    ("two ends", [Op("get", 0, 1, "done"), Op("get", 2, 3, "failed")], False),
    ("open again", [Op("get", 0, 1, "done"), Op("get", 2, 3, "running")], False),
    ("lost, then open", [Op("cancel", 0, 1, (409, None)), Op("get", 2, 3, "running")], False),
    ("a lost cancel's answer", [Op("cancel", 0, NEVER), Op("get", 2, 3, "cancelled")], True),
]


def up(begin, end, status, to):
    return Op("upgrade", begin, end, (status, to))


ENDPOINT = [
    ("serves its base", [Op("serve", 0, 1, ("a", "x")), Op("serve", 2, 3, ("a", "x"))], True),
    ("two answers of one state", [Op("serve", 0, 1, ("a", "x")), Op("serve", 2, 3, ("a", "y"))], False),
    ("moved", [Op("serve", 0, 1, ("a", "x")), up(2, 3, "done", "b"), Op("serve", 4, 5, ("b", "y"))], True),
    ("the old one after the move", [up(2, 3, "done", "b"), Op("serve", 4, 5, ("a", "x"))], False),
    ("a cancelled move", [up(2, 3, "cancelled", "b"), Op("serve", 4, 5, ("b", "x"))], False),
    (
        "back and forth in a move",
        [up(0, 9, "done", "b"), Op("serve", 1, 2, ("b", "y")), Op("get", 3, 4, ("a", 1, 1))],
        False,
    ),
    ("a revision that was left out", [Op("refresh", 0, 1, ("done", 0)), Op("get", 2, 3, ("a", 3, 1))], False),
    ("revisions in order", [Op("refresh", 0, 1, ("done", 0)), Op("get", 2, 3, ("a", 2, 1))], True),
]


def add(begin, end):
    return Op("add", begin, end, 5)


COUNTER = [
    ("late, but there at last", [add(0, 1), Op("read", 2, 3, 0), Op("last", 4, 5, 5)], True),
    ("lost", [add(0, 1), Op("last", 4, 5, 0)], False),
    ("twice", [add(0, 1), Op("last", 4, 5, 10)], False),
    ("taken back", [add(0, 1), add(0, 1), Op("read", 2, 3, 10), Op("read", 4, 5, 5)], False),
    ("half", [add(0, 1), Op("read", 2, 3, 3)], False),
    ("before it was asked", [Op("read", 0, 1, 5), add(2, 3)], False),
    ("unknown, counted", [add(0, NEVER), Op("last", 4, 5, 5)], True),
    ("unknown, not counted", [add(0, NEVER), Op("last", 4, 5, 0)], True),
]


def let(begin, end, how, unasked=0):
    return Op("call", begin, end, (how, unasked))


CAP = [
    ("as many as there is room for", [let(0, 1, "in"), let(2, 3, "in"), let(4, 5, "refused")], True),
    ("one more", [let(0, 1, "in"), let(2, 3, "in"), let(4, 5, "in")], False),
    ("one more while the meter was away", [let(0, 1, "in"), let(2, 3, "in"), let(4, 5, "in", 1)], True),
    ("refused with room", [let(0, 1, "in"), let(2, 3, "refused")], False),
    ("refused while one is held", [let(0, 1, "in"), Op("call", 2, NEVER), let(3, 4, "refused")], True),
]

E, I, K = models.Existence, models.Immutable, models.Idempotent
OTHERS = [
    (E, "there", [Op("make", 0, 1), Op("read", 2, 3, True)], True),
    (E, "not there after it was named", [Op("make", 0, 1), Op("read", 2, 3, False)], False),
    (E, "there after it was deleted", [Op("make", 0, 1), Op("delete", 2, 3), Op("read", 4, 5, True)], False),
    (I, "the same", [Op("read", 0, 1, "x"), Op("read", 2, 3, "x")], True),
    (I, "another", [Op("read", 0, 1, "x"), Op("read", 2, 3, "y")], False),
    (K, "one answer", [Op("call", 0, NEVER), Op("call", 0, 1, "x"), Op("call", 2, 3, "x")], True),
    (K, "two", [Op("call", 0, 1, "x"), Op("call", 2, 3, "y")], False),
]


def by_hand(model, ops):
    """Every order of the calls that are known and every choice of the others: slow, and plainly right."""
    known = [o for o in ops if o.known]
    loose = [o for o in ops if not o.known]
    for n in range(len(loose) + 1):
        for some in itertools.combinations(loose, n):
            for order in itertools.permutations([*known, *some]):
                if any(b.end < a.begin for i, a in enumerate(order) for b in order[i + 1 :]):
                    continue
                states = {model.start}
                for o in order:
                    states = {s for state in states for s in model.step(state, o)}
                if states:
                    return True
    return not known


def random_history(rng):
    ops = []
    for i in range(rng.randrange(1, 6)):
        begin = rng.randrange(10)
        end = NEVER if rng.random() < 0.2 else begin + rng.randrange(1, 6)
        kind = rng.choice(("read", "write"))
        ops.append(Op(kind, begin + i / 100, end + i / 100, rng.randrange(3), str(i)))
    return ops


def long_history(n):
    """n calls of four clients on an endpoint that moves: a tenth are refreshes, of which a tenth have an end
    that nobody knows, and had their effect."""
    rng, ops, revision = random.Random(n), [], 1
    for i in range(n):
        begin, end = i - 4 * rng.random(), i + 4 * rng.random()
        if rng.random() < 0.1:
            revision += 1
            ops.append(Op("refresh", begin, end if rng.random() < 0.9 else NEVER, ("done", 0)))
        else:
            ops.append(Op("get", begin, end, ("a", revision, 1)))
    return ops


def timed(n):
    """`linear_test.py --time N`: how long n events take, twice as many each time up to that."""
    import gc, time

    gc.disable()  # a search makes no circles
    for k in (n // 16, n // 8, n // 4, n // 2, n):
        ops, at = long_history(k // 2), time.process_time()
        held = judge(models.Endpoint("a"), ops)
        print(f"{k} events: {held}, {time.process_time() - at:.1f} s of CPU", flush=True)


def main():
    if sys.argv[1:2] == ["--time"]:
        return timed(int(sys.argv[2]))
    passed = failed = 0

    def check(what, ok):
        nonlocal passed, failed
        passed, failed = passed + bool(ok), failed + (not ok)
        if not ok:
            print(f"FAIL {what}")

    for model, cases in (
        (models.Register(0), REGISTER),
        (models.Key(), KEY),
        (models.Job(), JOB),
        (models.Endpoint("a"), ENDPOINT),
        (models.Counter(5), COUNTER),
        (models.Cap(2), CAP),
    ):
        for what, ops, holds in cases:
            check(f"{type(model).__name__}: {what}", judge(model, ops) is holds)
    for model, what, ops, holds in OTHERS:
        check(f"{model.__name__}: {what}", judge(model(), ops) is holds)

    rng, both = random.Random(3), [0, 0]
    for _ in range(1500):
        ops = random_history(rng)
        said = linearizable(models.Register(0), ops)
        both[said] += 1
        if said != by_hand(models.Register(0), ops):
            check(f"as by hand: {[str(o) for o in ops]}", False)
    check(f"random histories of both kinds, {both}", min(both) > 200)

    # a long history with one wrong read: its shortest form has a call that tells of the first value before
    # the second one was written, the second write, and the wrong read
    ops = (
        [w(0, 1, 5)]
        + [r(2 + i, 2.5 + i, 5) for i in range(300)]
        + [w(400, 401, 6), r(402, 403, 5), r(404, 405, 6)]
    )
    told = shortest(models.Register(0), ops)
    check(f"shortened to what fails: {[str(o) for o in told]}", [o.value for o in told] == [5, 6, 5])
    check("and what is told fails by itself", judge(models.Register(0), told) is False)
    text, decided = failure("register", "x", models.Register(0), ops)
    check("it is said what is left out", decided and "301 others" in text)
    # many calls at once: the cache makes it quick where orders are alike
    many = [Op("read", i / 100, 99, True) for i in range(60)] + [Op("make", -2, -1), Op("delete", 50, 100)]
    check("sixty calls at once", linearizable(models.Existence(), many) is True)
    late = [Op("read", 101, 102, True)]
    check("and one of them too late", linearizable(models.Existence(), many + late) is False)
    check(
        "not decided is said",
        linearizable(models.Register(0), [w(0, 100, i) for i in range(24)] + [r(0, 1, 99)], 500) is None,
    )
    # a long history is decided within a few configurations a call, and its one wrong answer is found
    ops = long_history(20_000)
    search = Search(models.Endpoint("a"), ops)
    check("a long history holds", search.run(2 * len(ops)) is True)
    check(f"by {len(search.seen)} configurations", len(search.seen) < 1.5 * len(ops))
    late = next(i for i in range(1500, 2000) if ops[i].kind == "get")
    ops[late] = Op("get", ops[late].begin, ops[late].end, ("a", 2, 1))
    told = shortest(models.Endpoint("a"), ops[:2000])
    check(f"a wrong answer late in it is found, of {len(told)} calls", ops[late] in told and len(told) < 5)
    print(f"linear: {passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


main()
