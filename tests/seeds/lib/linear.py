"""Whether a history is linearizable: Wing and Gong's search (1993) with Lowe's cache of visited
configurations (2017), as Porcupine has it. A history is judged key by key, since what holds for each object
holds for all together (Herlihy and Wing 1990).

A model has `start`, a state that can be hashed, and `step(state, op)`, which gives the states that may
follow; none: the answer is not one that this state gives. `reads(op)`: the call changes nothing whatever it
answers.

A call whose end nobody knows may have had its effect at any time after its start, or never. Such calls stand
aside, in queues of those that are alike, of which only the first need be tried; and they are tried last.

Each call has a random number of 128 bits, and a set of calls is known by their exclusive or (Zobrist 1970):
a configuration is as small in a history of a million events as in one of ten, and the time is linear where
few calls overlap. That two sets of n configurations have one number has a chance below n^2 / 2^129."""
import dataclasses, random
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

    __slots__ = ("op", "bits", "end", "prev", "next")

    def __init__(self, op, bits):
        self.op, self.bits, self.end, self.prev, self.next = op, bits, None, None, None

    def lift(self):
        for e in (self, self.end):
            e.prev.next = e.next
            if e.next is not None:
                e.next.prev = e.prev

    def unlift(self):
        for e in (self.end, self):
            e.prev.next = e
            if e.next is not None:
                e.next.prev = e


def in_time(ops, draw):
    """The list of calls whose end is known; a begin comes before an end of the same moment, so that the two
    calls overlap."""
    marks = []
    for i, op in enumerate(ops):
        begin = Entry(op, draw())
        begin.end = Entry(op, 0)
        marks += [(op.begin, 0, i, begin), (op.end, 1, i, begin.end)]
    head = last = Entry(None, 0)
    for *_, e in sorted(marks, key=lambda m: m[:3]):
        last.next, e.prev = e, last
        last = e
    return head


class Queue:
    """Calls of unknown end that are alike, by their begin: `next` is the first that has not been taken."""

    __slots__ = ("entries", "next")

    def __init__(self):
        self.entries, self.next = [], 0

    @property
    def first(self):
        return self.entries[self.next]

    def open(self, moment):
        return self.next < len(self.entries) and self.first.op.begin <= moment

    def lift(self):
        self.next += 1

    def unlift(self):
        self.next -= 1


def queues_of(ops, draw):
    alike = {}
    for op in sorted(ops, key=lambda o: o.begin):
        alike.setdefault((op.kind, op.value), Queue()).entries.append(Entry(op, draw()))
    return list(alike.values())


class Search:
    """One history's search. `at` is where a call is looked for: an entry of the list, or the number of a
    queue; None: nowhere, go back."""

    def __init__(self, model, ops):
        draw = random.Random(len(ops)).getrandbits
        known = [op for op in ops if op.known]
        loose = [
            op for op in ops if not op.known and not model.reads(op)
        ]  # a read that is lost tells nothing
        self.model, self.left = model, len(known)
        self.head = in_time(known, lambda: draw(128))
        self.queues = queues_of(loose, lambda: draw(128))
        self.state, self.done, self.seen, self.path = model.start, 0, set(), []
        self.at, self.limit = self.head.next, NEVER

    def take(self, place, entry, choices):
        """The first state that was not visited; whether there is one."""
        for after in choices:
            bits = self.done ^ entry.bits
            if (bits, after) not in self.seen:
                self.seen.add((bits, after))
                # a read that fits now can as well be now: no other order need be tried for it
                alone = after == self.state and self.model.reads(entry.op)
                self.path.append((place, self.state, self.done, None if alone else choices))
                self.state, self.done = after, bits
                self.left -= entry.op.known
                place.lift()
                self.at = self.head.next
                return True
        return False

    def back(self):
        """The choices that the last call that was taken has left, None for none, or False at the start."""
        if not self.path:
            return False
        self.at, self.state, self.done, choices = self.path.pop()
        self.left += isinstance(self.at, Entry)
        self.at.unlift()
        return choices

    def following(self):
        """Where to look after `at`: the begins before the first end in the list, then the queues."""
        if isinstance(self.at, Entry):
            self.at = self.at.next
            if self.at.bits:
                return
            at, self.limit = 0, self.at.op.end
        else:
            at = self.queues.index(self.at) + 1
            self.limit = self.first_end()
        self.at = next((q for q in self.queues[at:] if q.open(self.limit)), None)

    def first_end(self):
        e = self.head.next
        while e.bits:
            e = e.next
        return e.op.end

    def run(self, budget):
        choices = None
        while self.left > 0:
            if self.at is None:
                choices = self.back()
                if choices is False:
                    return False
                if choices is None:
                    self.at = None
                    continue
            entry = self.at if isinstance(self.at, Entry) else self.at.first
            if choices is None:
                choices = iter(tuple(self.model.step(self.state, entry.op)))
            if not self.take(self.at, entry, choices):
                self.following()
            choices = None
            if len(self.seen) > budget:
                return None
        return True


def linearizable(model, ops, budget=200_000):
    """True where some order of the calls, each between its begin and its end, is one that the model allows.
    None: not decided within so many configurations, or four for each call."""
    return Search(model, ops).run(max(budget, 4 * len(ops)))


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
