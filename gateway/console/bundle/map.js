// How tables hang together: each a box with its columns, lines between columns that hold the same attribute; thick
// ones are keys, by which rows of one table refer to rows of another.
import { html } from "../ui.js";
import { columnNames, percent, splitRef } from "../format.js";

const WIDTH = 200, ROW = 22, GAP = 140, HEAD = 30;

export function tableMap(bundle) {
    const map = bundle.cross_table_map;
    const keys = new Set((map.relations || []).filter((r) => r.key).flatMap((r) => r.a_columns.map((a, i) => [a, r.b_columns[i]].sort().join("\n"))));
    const edges = map.column_alignment.map((x) => ({ ...x, key: keys.has([x.a, x.b].sort().join("\n")) }));
    const used = new Set(edges.flatMap((e) => [e.a, e.b]));
    const degree = (t) => edges.filter((e) => splitRef(e.a)[0] === t.id || splitRef(e.b)[0] === t.id).length;
    // tables with most lines stand in the middle, so that lines cross few boxes
    const order = [];
    [...bundle.tables].sort((a, b) => degree(b) - degree(a)).forEach((t, i) => (i % 2 ? order.unshift(t) : order.push(t)));
    const boxes = order.map((t, i) => {
        const names = columnNames(t);
        const rank = (n) => (used.has(`${t.id}.${n}`) ? 0 : 1);
        const columns = names.sort((a, b) => rank(a) - rank(b));
        const shown = columns.slice(0, Math.max(12, columns.filter((n) => !rank(n)).length));
        return { id: t.id, rows: t.rows, x: i * (WIDTH + GAP), columns: shown, left: columns.length - shown.length };
    });
    return { boxes, edges };
}

export function TableMap({ bundle }) {
    const { boxes, edges } = tableMap(bundle);
    const at = new Map();
    for (const b of boxes) b.columns.forEach((c, i) => at.set(`${b.id}.${c}`, { x: b.x, y: HEAD + i * ROW + ROW / 2 }));
    const height = Math.max(...boxes.map((b) => HEAD + (b.columns.length + (b.left ? 1 : 0)) * ROW)) + 8;
    const width = boxes.length * (WIDTH + GAP) - GAP + 2;
    const path = (e) => {
        let a = at.get(e.a), b = at.get(e.b);
        if (!a || !b) return null;
        if (a.x > b.x) [a, b] = [b, a];
        const from = a.x + WIDTH, to = b.x, mid = Math.max(40, (to - from) / 2);
        return `M${from} ${a.y}C${from + mid} ${a.y} ${to - mid} ${b.y} ${to} ${b.y}`;
    };
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Map of the tables">
        <svg class="map" width=${width} height=${height} viewBox=${`-2 -2 ${width + 4} ${height + 4}`} role="img" aria-label=${`${boxes.length} tables, ${edges.length} columns aligned; the list below says the same`}>
            ${edges.map((e) => {
                const d = path(e);
                return d && html`<path key=${e.a + e.b} class=${e.key ? "key" : ""} d=${d}><title>${`${e.a} – ${e.b}: ${e.attribute}, ${percent(e.confidence)}${e.key ? ", a key" : ""}`}</title></path>`;
            })}
            ${boxes.map((b) => html`<g key=${b.id} transform=${`translate(${b.x} 0)`}>
                <rect class="box" width=${WIDTH} height=${HEAD + (b.columns.length + (b.left ? 1 : 0)) * ROW} rx="6" />
                <rect class="title" width=${WIDTH} height=${HEAD} rx="6" />
                <text class="name" x="10" y="19">${b.id.slice(0, 20)}</text>
                <text class="soft" x=${WIDTH - 10} y="19" text-anchor="end">${b.rows} rows</text>
                ${b.columns.map((c, i) => {
                    const y = HEAD + i * ROW;
                    const linked = edges.some((e) => e.a === `${b.id}.${c}` || e.b === `${b.id}.${c}`);
                    return html`<g key=${c}><text class=${linked ? "" : "soft"} x="10" y=${y + 15}>${c.slice(0, 26)}</text>${linked && html`<circle cx=${WIDTH - 10} cy=${y + ROW / 2} r="3" />`}</g>`;
                })}
                ${b.left > 0 && html`<text class="soft" x="10" y=${HEAD + b.columns.length * ROW + 15}>and ${b.left} more</text>`}
            </g>`)}
        </svg>
    </div>`;
}
