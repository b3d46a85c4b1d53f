"""What is promised, as small machines: a state, and which answers it gives. docs/promises.md says each in
words.

A machine is asked about the calls on one object. `step` gives the states that may follow a call (several:
which one is not told); none: the promise is broken. Of a call whose end is not known (`op.known` is false)
nothing is held, and its effect may come or not."""
import bisect

TERMINAL = ("done", "failed", "cancelled", "expired")


class Model:
    start = None
    READS = ()

    def reads(self, op):
        return op.kind in self.READS


class Key(Model):
    """A secret passes from its making on, and never after the answer to its end. While its end is asked for,
    calls may pass or not, by turns: one gateway asks Redis, another the keys service. Kinds: use -> let in or
    not; end."""

    READS = ("use",)

    def judge(self, ops):
        never = float("inf")
        asked = min((o.begin for o in ops if o.kind == "end"), default=never)
        ended = min((o.end for o in ops if o.kind == "end"), default=never)
        uses = [o for o in ops if o.kind == "use" and o.known]
        return all(o.begin <= ended if o.value else asked <= o.end for o in uses)


class Existence(Model):
    """What an answer names can be read by the next request on any instance, and what is deleted cannot.
    Kinds: make, delete, read -> found or not."""

    start, READS = "none", ("read",)

    def step(self, state, op):
        if op.kind == "make":
            return ("there",) if state != "gone" else (state,)
        if op.kind == "delete":
            return ("gone",)
        if not op.known:
            return (state,)
        return (state,) if op.value == (state == "there") else ()


class Immutable(Model):
    """A snapshot, a report, a result of a job that is done: whoever reads it reads the same. Kind: read ->
    value."""

    def reads(self, op):
        return True

    def step(self, state, op):
        if not op.known:
            return (state,)
        return (op.value,) if state in (None, op.value) else ()


class Register(Model):
    """What was written last is read: a setting, a star. Kinds: write, read -> value."""

    READS = ("read",)

    def __init__(self, start):
        self.start = start

    def step(self, state, op):
        if op.kind == "write":
            return (op.value,)
        return (state,) if not op.known or op.value == state else ()


class Job(Model):
    """One terminal state, and it stays. Kinds: get -> status; cancel -> (status code, status).
    The work itself may go on between any two calls, so a state may be passed without being seen."""

    start, READS = "open", ("get",)

    def step(self, state, op):
        if op.kind == "get":
            if not op.known:
                return (state,)
            if op.value in TERMINAL:
                return (op.value,) if state in ("open", op.value) else ()
            return (state,) if state == "open" else ()
        if not op.known:
            return (state, "cancelled") if state == "open" else (state,)
        code, status = op.value
        if code == 200:  # it won, or had won before
            return ("cancelled",) if state in ("open", "cancelled") and status == "cancelled" else ()
        if code == 409:  # it lost: the job had ended otherwise, whether somebody has seen that or not
            ended = ("done", "failed", "expired")
            return ended if state == "open" else (state,) if state in ended else ()
        return ()


class Endpoint(Model):
    """One revision at a time. Each refresh that is done makes the next data revision, each upgrade another
    base, each edit the next configuration; one that failed or was cancelled nothing. Kinds: refresh, upgrade
    -> (status, base); edit -> status; get -> (base, data revision, configuration revision); serve -> (base,
    digest)."""

    READS = ("get", "serve")

    def __init__(self, base):
        # digest: what this state answers to the one question; None until the first answer tells
        self.start = (base, 1, 1, None)

    def moved(self, state, op, base):
        b, data, config, _ = state
        if op.kind == "refresh":
            return (b, data + 1, config, None)
        if op.kind == "upgrade":
            return (base, data, config, None)
        return (b, data, config + 1, None)

    def step(self, state, op):
        base, data, config, digest = state
        if op.kind in ("refresh", "upgrade", "edit"):
            status, to = op.value
            after = self.moved(state, op, to)
            if not op.known:
                return (after, state)
            return (after,) if status == "done" else (state,)
        if not op.known:
            return (state,)
        if op.kind == "get":
            return (state,) if op.value == (base, data, config) else ()
        served, said = op.value
        if served != base or digest not in (None, said):
            return ()
        return ((base, data, config, said),)


class Idempotent(Model):
    """One Idempotency-Key: one answer, whoever asks again. Kind: call -> what it answered."""

    def step(self, state, op):
        if not op.known:  # it may have been the one that made the answer, which the next one tells
            return (state,)
        return (op.value,) if state in (None, op.value) else ()

    def reads(self, op):
        return False


class Counter(Model):
    """Each acknowledged piece of work counts exactly once, one whose answer was lost once or never, and what
    was shown is never taken back. Kinds: add -> how much; read -> the sum; last -> the sum when all has come
    to rest.

    Work is counted some time after it was answered, so in any reading some of it may be missing; in the last
    one none. All adds are of one size, so they need not be told apart: a reading lies between the reading
    before it and what had begun, and the last one between what was acknowledged and what had begun."""

    def __init__(self, size):
        self.size = size

    def reads(self, op):
        return op.kind == "read"

    def judge(self, ops):
        begins = sorted(o.begin for o in ops if o.kind == "add")
        known = sum(o.kind == "add" and o.known for o in ops)
        readings = [o for o in ops if o.kind != "add" and o.known]
        ended = sorted(readings, key=lambda o: o.end)
        least = i = 0
        for o in sorted(readings, key=lambda o: o.begin):
            while ended[i].end < o.begin:
                least, i = max(least, ended[i].value), i + 1
            begun = bisect.bisect_right(begins, o.end)
            if o.value % self.size or not least <= o.value <= begun * self.size:
                return False
            if o.kind == "last" and o.value < known * self.size:
                return False
        return True


class Cap(Model):
    """An allowance of so many calls of one size: never one more, and none refused while there is room beyond
    what is held. Kind: call -> (in | refused, how many calls went on without the meter's word while this one
    was on its way, in all processes: points count them). Only where there was one may this one be beyond the
    room. A call of which nothing is known may be counted, may be held, or neither."""

    def __init__(self, room):
        self.room = room

    def reads(self, op):
        return op.known and op.value[0] == "refused"

    def judge(self, ops):
        let_in = [o for o in ops if o.known and o.value[0] == "in"]
        if sum(not o.value[1] for o in let_in) > self.room:
            return False
        begins = sorted(o.begin for o in ops if not o.known or o.value[0] == "in")
        refused = [o for o in ops if o.known and o.value[0] == "refused"]
        return all(bisect.bisect_right(begins, o.end) >= self.room for o in refused)
