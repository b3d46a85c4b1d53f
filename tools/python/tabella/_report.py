"""A bundle as text and as HTML."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

if TYPE_CHECKING:
    from ._bundle import Bundle
    from ._frames import Table
    from ._types import TableProfile

BARS = "▁▂▃▄▅▆▇█"
LOOKED_AT = 10_000  # rows of a distribution: a picture needs no more

STYLE = """<style>
.tabella { font: 13px/1.5 system-ui, sans-serif }
.tabella table { border-collapse: collapse; margin: 0.4em 0 1em }
.tabella td, .tabella th { padding: 0.15em 0.8em 0.15em 0; text-align: left; border: 0 }
.tabella th { font-weight: 600; border-bottom: 1px solid #8886 }
.tabella .n { text-align: right; font-variant-numeric: tabular-nums }
.tabella .bars { letter-spacing: -1px; color: #4a7fb5 }
</style>"""


def percent(x: Optional[float]) -> str:
    return "" if x is None else f"{100 * x:.0f}%"


def number(x: float) -> str:
    return f"{x:,.0f}" if x == int(x) and abs(x) < 1e15 else f"{x:.4g}"


def cells_of(table: "Table", c: int) -> List[Any]:
    """Cells of a column: all, or of a long one some thousands."""
    step = max(1, table.rows // LOOKED_AT)
    if step == 1:
        return table.read[c](0, table.rows)
    # evenly spaced pieces, not the first rows: files are often sorted
    width = LOOKED_AT // 20
    starts = range(0, table.rows - width, max(1, (table.rows - width) // 20))
    return [x for a in list(starts)[:20] for x in table.read[c](a, a + width)]


def distribution(table: Optional["Table"], c: int) -> Tuple[str, str]:
    """A column's small histogram and its ends, or its frequent values; empty without the caller's rows."""
    if table is None or table.rows == 0 or c >= len(table.read):
        return "", ""
    values = [x for x in cells_of(table, c) if x is not None]
    numbers = [float(x) for x in values if isinstance(x, (int, float)) and not isinstance(x, bool)]
    if numbers and len(numbers) == len(values):
        return histogram(numbers)
    counts: Dict[str, int] = {}
    for x in values:
        counts[str(x)] = counts.get(str(x), 0) + 1
    if not counts:
        return "", ""
    top = sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))
    if 2 * len(counts) > len(values):
        return "", f"{len(counts):,} distinct, such as {short(top[0][0])}"
    return "", ", ".join(f"{short(k)} {percent(n / len(values))}" for k, n in top[:3])


def histogram(numbers: List[float]) -> Tuple[str, str]:
    low, high = min(numbers), max(numbers)
    ends = f"{number(low)} .. {number(sorted(numbers)[len(numbers) // 2])} .. {number(high)}"
    if low == high:
        return BARS[-1], number(low)
    counts = [0] * 8
    for x in numbers:
        counts[min(7, int(8 * (x / 2 - low / 2) / (high / 2 - low / 2)))] += 1  # halves do not overflow
    tallest = max(counts)
    return "".join(BARS[min(7, 7 * n // tallest)] if n else " " for n in counts), ends


def short(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"


def facts(bundle: "Bundle") -> List[str]:
    """One sentence for each part of the bundle."""
    said = []
    s = bundle.raw.get("summary") or {}
    cross = bundle.cross_table_map
    if cross:
        linked, total = s.get("records_linked", 0), s.get("records_total", 0)
        shared = s.get("shared_attributes", 0)
        said.append(f"across tables: {linked:,} of {total:,} rows linked, {shared} shared attributes")
    filled = bundle.imputation.get("total_filled") if bundle.imputation else None
    if filled is not None and (bundle.tables or filled):  # a model here fills nothing
        said.append(f"filled: {filled:,} missing cells")
    target = bundle.target_selection or {}
    if target.get("column"):
        said.append(f"target: {target['column']} ({target.get('mode')}): {target.get('reason')}")
    elif target.get("reason"):
        said.append(f"no target: {target['reason']}".replace("target.column", "target=..."))
    p = bundle.prediction
    if p:
        held = p.get("held_out") or {}
        score = f", {held['metric']} {held['score']:.3f} held out" if held.get("score") is not None else ""
        rows = p.get("total", len(p.get("results", [])))
        said.append(f"prediction: {p.get('task_type')} of {rows:,} rows{score}")
        said.extend(regime_sentences(p))
        for link in p.get("linked") or []:
            if link.get("rows_left_out"):
                out, used = link["rows_left_out"], link["rows_used"]
                said.append(f"{link['table']}: {out:,} rows left out, {used:,} used: {link['reason']}")
        f = p.get("forecast")
        if f:
            said.append(f"forecast: {f.get('total', 0):,} steps ahead: {f.get('method')}")
    return said


def html_answer(answer: Any) -> str:
    """An answer's own fields, one in a row; of lists and dicts how many they hold."""
    rows = []
    for name, value in vars(answer).items():
        if name.startswith("_") or name in ("raw", "extra", "key", "secret") or value is None:
            continue
        if isinstance(value, (list, dict)):
            value = f"{len(value):,} inside" if value else ""
        elif hasattr(value, "_repr_html_"):
            value = repr(value)
        rows.append(f"<tr><th>{html.escape(name)}</th><td>{html.escape(short_text(value))}</td></tr>")
    kind = html.escape(type(answer).__name__)
    return f'{STYLE}<div class="tabella"><b>{kind}</b><table>{"".join(rows)}</table></div>'


def short_text(x: Any) -> str:
    text = str(x)
    return text if len(text) <= 200 else text[:199] + "…"


REGIMES = {
    "alike": "like the rows with a known target",
    "later": "later than all rows with a known target",
    "new_group": "in groups without a known target",
    "out_of_range": "with values outside the known range",
}


def regime_sentences(p: Dict[str, Any]) -> List[str]:
    """What is asked, where it is another thing than what was given, and how good answers to it are."""
    said = []
    for q in (p.get("quality") or {}).get("regimes") or []:
        if q.get("regime") == "alike" or not q.get("rows"):
            continue
        text = f"{q['rows']:,} rows to predict are {REGIMES.get(q['regime'], q['regime'])}"
        if q.get("distance") is not None:
            text += f", {number(q['distance'])} steps ahead"
        if q.get("score") is not None:
            text += f": {q['metric']} {number(q['score'])}, baseline {number(q['baseline'])}"
        if q.get("coverage") is not None:
            text += f", 80% intervals held {percent(q['coverage'])}"
        said.append(text)
    return said


def rows_of(t: "TableProfile", given: Optional["Table"]) -> List[List[str]]:
    out = []
    for i, c in enumerate(t.column_profile):
        bars, ends = distribution(given, i)
        held = ", ".join(f"{k['kind']} {100 * k['share']:.2g}%" for k in c.pii_kinds)
        ends = f"{ends} holds {held}".strip() if held else ends
        out.append(
            [
                c.name or f"c{c.index}",
                c.role,
                c.type,
                percent(c.role_confidence),
                "PII" if c.pii else "",
                percent(c.missing_pct),
                bars,
                ends,
            ]
        )
    return out


def grain(t: "TableProfile") -> str:
    """What one row is, where it is no thing of its own: ", a row is a line of order_id"."""
    if t.grain is None or t.grain.kind == "entity":
        return ""
    of = ", ".join(x.split(".", 1)[-1] for x in t.grain.of)
    kind = {"observation": "an observation", "line": "a line", "bridge": "a bridge"}.get(
        t.grain.kind, t.grain.kind
    )
    return f"; a row is {kind}" + (f" of {of}" if of else "")


def headline(t: "TableProfile") -> str:
    sector = t.sector.top1 if t.sector else None
    told = f", {sector.name} ({percent(sector.confidence)})" if sector else ""
    return f"{t.rows:,} rows, {t.cols} columns{told}{grain(t)}"


def text_summary(bundle: "Bundle") -> str:
    lines: List[str] = []
    for t in bundle.tables:
        lines.append(f"{t.id}   {headline(t)}")
        rows = rows_of(t, bundle._table(t.id))
        widths = [max((len(r[k]) for r in rows), default=0) for k in range(7)]
        for r in rows:
            lines.append(("  " + "  ".join(x.ljust(w) for x, w in zip(r, widths)) + "  " + r[7]).rstrip())
    return "\n".join(lines + facts(bundle))


def html_summary(bundle: "Bundle") -> str:
    """For a notebook. What comes from the caller's data is escaped."""
    e = html.escape
    out = [STYLE, '<div class="tabella">']
    for t in bundle.tables:
        out.append(f"<b>{e(t.id)}</b> {e(headline(t))}<table><tr>")
        for name in ("column", "role", "type", "sure", "", "missing", "", ""):
            out.append(f"<th>{name}</th>")
        out.append("</tr>")
        for name, role, type, sure, pii, missing, bars, ends in rows_of(t, bundle._table(t.id)):
            plain = "".join(f"<td>{e(x)}</td>" for x in (name, role, type))
            out.append(
                f'<tr>{plain}<td class="n">{sure}</td><td>{pii}</td><td class="n">{missing}</td>'
                f'<td class="bars">{bars}</td><td>{e(ends)}</td></tr>'
            )
        out.append("</table>")
    out.extend(f"<div>{e(x)}</div>" for x in facts(bundle))
    out.append(_sample(bundle))
    out.append("</div>")
    return "".join(out)


def _sample(bundle: "Bundle", rows: int = 5) -> str:
    """The first predictions."""
    p: Optional[Dict[str, Any]] = bundle.prediction
    found = (p or {}).get("results") or []
    if not found or p is None:
        return ""
    names = [n for n in ("row", "label", "confidence", "value", "std", "anomaly_score", "is_anomaly")]
    names = [n for n in names if n in found[0]]
    out = ["<table><tr>", *(f"<th>{n}</th>" for n in names), "</tr>"]
    for x in found[:rows]:
        cells = (number(v) if isinstance(v, float) else str(v) for v in (x.get(n) for n in names))
        out.append("<tr>" + "".join(f'<td class="n">{html.escape(c)}</td>' for c in cells) + "</tr>")
    return "".join(out) + "</table>"
