"""The page of a bundle: page.html, filled in.

The template is the one of the console and of the command line, and this reads it as they do, so that one
bundle gives one page, byte for byte (tests/suite/page). Its language: `{{E}}` prints a value, escaped; `{{if
E}}`, `{{else}}`, `{{for x, i in E}}`, `{{end}}`; `{{let x = E}}`. An expression has members, arithmetic,
comparisons and the functions below; what is not there is null, and so is what is made of null."""

from __future__ import annotations

import functools
import math
import os
import re
from typing import Any, Callable, Dict, List, Optional, Tuple

Scope = Dict[str, Any]
Eval = Callable[[Scope], Any]
TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|'([^']*)'|([A-Za-z_]\w*)|(==|!=|<=|>=|[-+*/<>()\[\],.=]))")


# ---- values ------------------------------------------------------------------------------------


def is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def num(x: Any) -> Optional[float]:
    return float(x) if is_number(x) and math.isfinite(x) else None


def truth(x: Any) -> bool:
    return x not in (None, False, 0, "") and x != []


def fixed(x: float, places: int) -> str:
    """Rounded half up on |x| 10^places: the same digits in every language."""
    scaled = abs(x) * 10.0**places + 0.5
    if not math.isfinite(scaled):
        return "–"
    y = math.floor(scaled)
    digits = str(y).rjust(places + 1, "0")
    text = digits if places == 0 else digits[:-places] + "." + digits[-places:]
    return ("-" if x < 0 and y > 0 else "") + text


def trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def grouped(text: str) -> str:
    if not text[-1].isdigit():
        return text
    sign, whole, rest = re.match(r"(-?)(\d+)(.*)", text).groups()  # type: ignore[union-attr]
    parts: List[str] = []
    while len(whole) > 3:
        parts.insert(0, whole[-3:])
        whole = whole[:-3]
    return sign + ",".join([whole, *parts]) + rest


def four(x: float) -> str:
    """Four significant digits."""
    a = abs(x)
    if a == 0:
        return "0"
    if a >= 1e15 or a < 1e-6:
        e = 0
        while a >= 10:
            a, e = a / 10, e + 1
        while a < 1:
            a, e = a * 10, e - 1
        return ("-" if x < 0 else "") + trimmed(fixed(a, 3)) + f"e{e}"
    if a == math.floor(a):
        return fixed(x, 0)
    places, t = 3, a
    while t >= 10 and places > 0:
        t, places = t / 10, places - 1
    while t < 1:
        t, places = t * 10, places + 1
    return trimmed(fixed(x, places))


def text(x: Any) -> str:
    if x is None:
        return ""
    if isinstance(x, bool):
        return "true" if x else "false"
    n = num(x)
    return four(n) if n is not None else x if isinstance(x, str) else ""


def escaped(s: str) -> str:
    out = []
    for c in s:
        out.append(ESCAPES.get(c) or (" " if c < " " or c == "\x7f" else c))
    return "".join(out)


ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}


def member(x: Any, key: Any) -> Any:
    if isinstance(x, dict):
        return x.get(key) if isinstance(key, str) else None
    if isinstance(x, list) and is_number(key):
        i = int(key)
        return x[i] if 0 <= i < len(x) and i == key else None
    return None


# ---- functions ---------------------------------------------------------------------------------


def extreme(pick: Callable[[float, float], float]) -> Callable[..., Any]:
    """Of a list's numbers; or of a member of each, by its path."""

    def of(x: Any, *path: Any) -> Any:
        best: Optional[float] = None
        for v in x if isinstance(x, list) else []:
            for key in path:
                v = member(v, key)
            n = num(v)
            best = n if best is None else best if n is None else pick(best, n)
        return best

    return of


def either(pick: Callable[[float, float], float]) -> Callable[..., Any]:
    def of(x: Any, y: Any) -> Any:
        a, b = num(x), num(y)
        return None if a is None or b is None else pick(a, b)

    return of


def low(a: float, b: float) -> float:
    return b if b < a else a


def high(a: float, b: float) -> float:
    return b if b > a else a


def date(x: Any) -> str:
    """Seconds since 1970 as a day (H. Hinnant, "chrono-compatible low-level date algorithms")."""
    n = num(x)
    if n is None or abs(n) > 1e11:
        return ""
    z = math.floor(n / 86400) + 719468
    era = z // 146097
    doe = z - era * 146097
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3 if mp < 10 else mp - 9
    year = yoe + era * 400 + (1 if month <= 2 else 0)
    return f"{year}-{month:02d}-{doy - (153 * mp + 2) // 5 + 1:02d}"


def cut(x: Any, n: Any) -> str:
    s = text(x)
    return s if len(s) <= int(n) else s[: int(n) - 1] + "…"


def same(x: Any, y: Any) -> bool:
    if not isinstance(x, dict) or not isinstance(y, dict):
        return equal(x, y)
    pairs = zip(x.items(), y.items())
    return len(x) == len(y) and all(k == m and equal(v, w) for (k, v), (m, w) in pairs)


def groups(x: Any, key: Any) -> List[List[Any]]:
    """A list in runs of neighbours that have the same member, a list each."""
    out: List[List[Any]] = []
    for v in x if isinstance(x, list) else []:
        if out and same(member(v, key), member(out[-1][0], key)):
            out[-1].append(v)
        else:
            out.append([v])
    return out


def plain(x: Any) -> str:
    n = num(x)
    return text(x) if n is None else trimmed(fixed(n, 6))


def numeric(show: Callable[[float], str]) -> Callable[[Any], str]:
    def of(x: Any) -> str:
        n = num(x)
        return "–" if n is None else show(n)

    return of


FUNCTIONS: Dict[str, Callable[..., Any]] = {
    "count": numeric(lambda n: grouped(fixed(n, 0))),
    "number": numeric(lambda n: grouped(four(n)) if abs(n) < 1e15 else four(n)),
    "percent": lambda x, d=0: "–" if num(x) is None else fixed(100.0 * float(x), int(d)) + "%",
    "fix": lambda x, d: "0" if num(x) is None else fixed(float(x), int(d)),
    "text": text,
    "plain": plain,
    "cut": cut,
    "words": lambda x: text(x).replace("_", " "),
    "date": date,
    "size": lambda x: float(len(x)) if isinstance(x, list) else 0.0,
    "first": lambda x, n: x[: int(n)] if isinstance(x, list) else [],
    "list": lambda *x: list(x),
    "groups": groups,
    "reversed": lambda x: x[::-1] if isinstance(x, list) else [],
    "most": extreme(high),
    "least": extreme(low),
    "max": either(high),
    "min": either(low),
}


# ---- expressions -------------------------------------------------------------------------------


class Parser:
    def __init__(self, source: str) -> None:
        self.tokens: List[Tuple[str, Any]] = []
        at = 0
        while source[at:].strip():
            m = TOKEN.match(source, at)
            if m is None:
                raise ValueError(f"the template does not read: {source!r}")
            number, string, name, op = m.groups()
            kind = "n" if number else "s" if string is not None else "w" if name else "o"
            self.tokens.append((kind, float(number) if number else string if kind == "s" else name or op))
            at = m.end()
        self.at = 0

    def peek(self, *ops: str) -> bool:
        if self.at >= len(self.tokens):
            return False
        kind, value = self.tokens[self.at]
        return kind in "ow" and value in ops

    def take(self) -> Any:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def binary(self, below: Callable[[], Eval], table: Dict[str, Callable[[Any, Any], Any]]) -> Eval:
        left = below()
        while self.peek(*table):
            left = self.joined(table[self.take()], left, below())
        return left

    @staticmethod
    def joined(f: Callable[[Any, Any], Any], a: Eval, b: Eval) -> Eval:
        return lambda scope: f(a(scope), b(scope))

    def expression(self) -> Eval:
        return self.binary(self.conjunction, {"or": lambda a, b: a if truth(a) else b})

    def conjunction(self) -> Eval:
        return self.binary(self.negation, {"and": lambda a, b: b if truth(a) else a})

    def negation(self) -> Eval:
        if not self.peek("not"):
            return self.comparison()
        self.take()
        of = self.negation()
        return lambda scope: not truth(of(scope))

    def comparison(self) -> Eval:
        return self.binary(self.sum, COMPARISONS)

    def sum(self) -> Eval:
        return self.binary(self.product, {"+": arithmetic("+"), "-": arithmetic("-")})

    def product(self) -> Eval:
        return self.binary(self.postfix, {"*": arithmetic("*"), "/": arithmetic("/")})

    def postfix(self) -> Eval:
        value = self.primary()
        while self.peek(".", "["):
            if self.take() == ".":
                name = self.take()
                value = self.joined(member, value, constant(name))
            else:
                value = self.joined(member, value, self.expression())
                self.take()
        return value

    def primary(self) -> Eval:
        kind, value = self.tokens[self.at]
        self.at += 1
        if kind in "ns":
            return constant(value)
        if value == "(":
            inner = self.expression()
            self.take()
            return inner
        if kind != "w":
            raise ValueError(f"the template has {value!r} where a value is")
        if value in NAMED:
            return constant(NAMED[value])
        if not self.peek("("):
            return lambda scope: scope.get(value)
        self.take()
        args = []
        while not self.peek(")"):
            args.append(self.expression())
            if self.peek(","):
                self.take()
        self.take()
        f = FUNCTIONS[value]
        return lambda scope: f(*(a(scope) for a in args))


@functools.lru_cache(maxsize=1024)
def compiled(source: str) -> Eval:
    return Parser(source).expression()


NAMED = {"null": None, "true": True, "false": False}


def constant(x: Any) -> Eval:
    return lambda scope: x


def arithmetic(op: str) -> Callable[[Any, Any], Any]:
    def of(x: Any, y: Any) -> Any:
        a, b = num(x), num(y)
        if a is None or b is None or (op == "/" and b == 0):
            return None
        return a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a / b

    return of


def equal(x: Any, y: Any) -> bool:
    a, b = num(x), num(y)
    if a is not None or b is not None:
        return a == b
    return type(x) is type(y) and not isinstance(x, (list, dict)) and bool(x == y)


def ordered(f: Callable[[float, float], bool]) -> Callable[[Any, Any], bool]:
    def of(x: Any, y: Any) -> bool:
        a, b = num(x), num(y)
        return a is not None and b is not None and f(a, b)

    return of


COMPARISONS: Dict[str, Callable[[Any, Any], Any]] = {
    "==": equal,
    "!=": lambda a, b: not equal(a, b),
    "<": ordered(lambda a, b: a < b),
    "<=": ordered(lambda a, b: a <= b),
    ">": ordered(lambda a, b: a > b),
    ">=": ordered(lambda a, b: a >= b),
}


# ---- the template ------------------------------------------------------------------------------


def fill(template: str, scope: Scope) -> str:
    parts = re.split(r"\{\{(.*?)\}\}", template, flags=re.S)
    out: List[str] = []
    block(parts, 0, dict(scope), out, True)
    return "".join(out)


def block(parts: List[str], at: int, scope: Scope, out: List[str], on: bool) -> int:
    """Parts from `at` to the `else` or `end` that closes them; gives its place. Even parts are text."""
    while at < len(parts):
        if at % 2 == 0:
            if on:
                out.append(parts[at])
            at += 1
            continue
        tag = parts[at].strip()
        word = tag.split(" ", 1)[0]
        if word in ("else", "end"):
            return at
        if word == "if":
            yes = on and truth(compiled(tag[2:])(scope))
            at = block(parts, at + 1, scope, out, yes)
            if parts[at].strip() == "else":
                at = block(parts, at + 1, scope, out, on and not yes)
        elif word == "for":
            at = loop(parts, at, tag[3:], scope, out, on)
        elif word == "let":
            name, _, source = tag[3:].partition("=")
            if on:
                scope[name.strip()] = compiled(source)(scope)
        elif on:
            out.append(escaped(text(compiled(tag)(scope))))
        at += 1
    return at


def loop(parts: List[str], at: int, tag: str, scope: Scope, out: List[str], on: bool) -> int:
    names, _, source = tag.partition(" in ")
    item, _, index = (x.strip() for x in names.partition(","))
    over = compiled(source)(scope) if on else None
    end = block(parts, at + 1, scope, [], False)
    for i, x in enumerate(over if isinstance(over, list) else []):
        scope[item] = x
        if index:
            scope[index] = float(i)
        block(parts, at + 1, scope, out, True)
    return end


def page(bundle: Dict[str, Any]) -> str:
    here = os.path.join(os.path.dirname(__file__), "page.html")
    with open(here, encoding="utf-8", newline="") as f:
        return fill(f.read(), {"bundle": bundle})
