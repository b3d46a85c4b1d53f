"""Whether a history is linearizable: Wing and Gong's search (1993) with Lowe's cache of visited
configurations (2017), as Porcupine has it. A history is judged key by key, since what holds for each object
holds for all together (Herlihy and Wing 1990).

A model has `start`, a state that can be hashed, and `step(state, op)`, which gives the states that may
follow; none: the answer is not one that this state gives. `reads(op)`: the call changes nothing whatever it
answers.

A call whose end nobody knows may have had its effect at any time after its start, or never."""
import dataclasses
from typing import Any

NEVER = float("inf")


@dataclasses.dataclass(frozen=True)
class Op:
    """One call as its client saw it. end NEVER: it is not known whether, or when, it had its effect."""

    kind: str
    begin: float
    end: float
    value: Any = None
    client: str = ""

    @property
    def known(self):
        return self.end != NEVER

    def __str__(self):
        end = f"{self.end:9.3f}" if self.known else "  unknown"
        return f"{self.begin:9.3f} .. {end}  {self.client:<10} {self.kind} {self.value}"


class Entry:
    """A call's begin, or its end, in the list of what is left in the order of time."""

    __slots__ = ("op", "bit", "end", "prev", "next")

    def __init__(self, op, bit):
        self.op, self.bit, self.end, self.prev, self.next = op, bit, None, None, None

    def lift(self):
        for e in (self, self.end):
            if e is not None:
                e.prev.next = e.next
                if e.next is not None:
                    e.next.prev = e.prev

    def unlift(self):
        for e in (self.end, self):
            if e is not None:
                e.prev.next = e
                if e.next is not None:
                    e.next.prev = e


def in_time(ops):
    """The list; a begin comes before an end of the same moment, so that the two calls overlap."""
    marks = []
    for i, op in enumerate(ops):
        begin = Entry(op, 1 << i)
        marks.append((op.begin, 0, i, begin))
        if op.known:
            begin.end = Entry(op, 0)
            marks.append((op.end, 1, i, begin.end))
    head = last = Entry(None, 0)
    for *_, e in sorted(marks, key=lambda m: m[:3]):
        last.next, e.prev = e, last
        last = e
    return head


def linearizable(model, ops, budget=200_000):
    """True where some order of the calls, each between its begin and its end, is one that the model allows.
    None: not decided within so many configurations."""
    head, left = in_time(ops), sum(op.known for op in ops)
    state, done, seen, path = model.start, 0, set(), []
    at, choices = head.next, None
    while left > 0:
        if at is not None and at.bit:  # a begin: take the call now, where the model has a state after it
            choices = iter(tuple(model.step(state, at.op))) if choices is None else choices
            for after in choices:
                if (done | at.bit, after) not in seen:
                    seen.add((done | at.bit, after))
                    # a read that fits now can as well be now: no other order need be tried for it
                    alone = after == state and model.reads(at.op)
                    path.append((at, state, done, None if alone else choices))
                    state, done = after, done | at.bit
                    left -= at.op.known
                    at.lift()
                    at, choices = head.next, None
                    break
            else:
                at, choices = at.next, None
        elif path:  # an end of a call that was not taken before it, or no call left: go back
            at, state, done, choices = path.pop()
            left += at.op.known
            at.unlift()
            at, choices = (None, None) if choices is None else (at, choices)
        else:
            return False
        if len(seen) > budget:
            return None
    return True


def judge(model, ops, budget=200_000):
    """A model may judge by itself, where its calls are alike and a search among them were without end."""
    own = getattr(model, "judge", None)
    return own(ops) if own else linearizable(model, ops, budget)


# ---- the shortest failing history -----------------------------------------------------------------------

SHRINK = 20_000  # configurations of one question while shrinking: what is not decided so soon stays in


def first_failing(model, ops):
    """The shortest prefix in time that fails. What has not ended in it is a call of which nothing is
    known."""
    ends = sorted(op.end for op in ops if op.known)

    def until(moment):
        part = [o for o in ops if o.begin <= moment]
        return [o if o.end <= moment else dataclasses.replace(o, end=NEVER) for o in part]

    low, high = 0, len(ends) - 1
    while low < high:  # a longer prefix of a failing one fails
        mid = (low + high) // 2
        low, high = (low, mid) if judge(model, until(ends[mid])) is False else (mid + 1, high)
    part = until(ends[low])
    return part if judge(model, part) is False else list(ops)


def shortest(model, ops):
    """The calls that fail whatever became of all others: a read is left out where the rest fails without it,
    any other call where the rest fails even if that one had its effect at any time after its begin, or never.
    """
    left = first_failing(model, ops)
    told, free = [o for o in left if o.known], [o for o in left if not o.known]
    size = max(1, len(told) // 2)
    while size >= 1:
        i = 0
        while i < len(told):
            part, rest = told[i : i + size], told[:i] + told[i + size :]
            loose = free + [dataclasses.replace(o, end=NEVER) for o in part if not model.reads(o)]
            if rest and judge(model, rest + loose, SHRINK) is False:
                told, free = rest, loose
            else:
                i += size
        size //= 2
    return sorted(told, key=lambda o: o.begin)


def failure(name, key, model, ops):
    """(the text of a history that fails, or nothing; whether it was decided)"""
    held = judge(model, ops)
    if held is not False:
        return "", held is not None
    told = shortest(model, ops)
    lines = "\n".join(f"      {o}" for o in told)
    rest = len(ops) - len(told)
    return f"{name} {key}: whatever became of {rest} others, no order of these is allowed\n{lines}", True
