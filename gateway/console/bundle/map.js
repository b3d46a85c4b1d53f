// How tables relate: each a box with its columns, lines between columns that hold the same attribute; thick ones are
// keys, by which rows of one table refer to rows of another. Boxes stand in a grid, and lines run in the alleys
// between them, so that none crosses a box.
import { html } from "../ui.js";
import { columnNames, percent, splitRef } from "../format.js";

const WIDTH = 180, ROW = 20, HEAD = 28, ALLEY = 84, STREET = 40, ACROSS = 4; // ACROSS: boxes side by side

// Tables in an order in which those that share most stand near each other: the one with most lines first, then
// always the one with most lines to those that stand already.
function ordered(tables, edges) {
    const between = (t, others) => edges.filter((e) => [e.a, e.b].some((x) => splitRef(x)[0] === t.id) && (!others || [e.a, e.b].some((x) => others.has(splitRef(x)[0])))).length;
    const left = [...tables].sort((a, b) => between(b) - between(a)), out = [], there = new Set();
    while (left.length) {
        const best = left.reduce((at, t, i) => (there.size && between(t, there) > between(left[at], there) ? i : at), 0);
        const [t] = left.splice(best, 1);
        out.push(t);
        there.add(t.id);
    }
    return out;
}

// Corners of a line from column a to column b: out of a box to the alley beside it, along alleys and, where boxes stand
// between, along a street, and in again. lane(where) gives each line its own place in an alley or street.
function route(a, b, lane) {
    if (a.column > b.column) [a, b] = [b, a];
    const right = (p) => p.x + WIDTH;
    if (a.column === b.column) {
        const x = lane("alley" + a.column);
        return [[right(a), a.y], [x, a.y], [x, b.y], [right(b), b.y]];
    }
    const x = lane("alley" + a.column);
    if (b.column === a.column + 1) return [[right(a), a.y], [x, a.y], [x, b.y], [b.x, b.y]];
    const y = lane("street" + Math.max(a.row, b.row)), z = lane("alley" + (b.column - 1));
    return [[right(a), a.y], [x, a.y], [x, y], [z, y], [z, b.y], [b.x, b.y]];
}

// {boxes, edges, width, height}: where everything lies; edges with their corners.
export function tableMap(bundle) {
    const map = bundle.cross_table_map;
    const keys = new Set((map.relations || []).filter((r) => r.key).flatMap((r) => r.a_columns.map((a, i) => [a, r.b_columns[i]].sort().join("\n"))));
    const all = map.column_alignment.map((x) => ({ ...x, key: keys.has([x.a, x.b].sort().join("\n")) }));
    const used = new Set(all.flatMap((e) => [e.a, e.b]));
    const most = bundle.tables.length <= 2 ? 12 : bundle.tables.length <= ACROSS ? 8 : 4;
    const across = Math.min(ACROSS, bundle.tables.length);
    const boxes = ordered(bundle.tables, all).map((t, i) => {
        const linked = (n) => used.has(`${t.id}.${n}`), names = columnNames(t);
        const columns = [...names.filter(linked), ...names.filter((n) => !linked(n))].slice(0, Math.max(most, names.filter(linked).length));
        const left = names.length - columns.length;
        return { id: t.id, rows: t.rows, columns, left, column: i % across, row: Math.floor(i / across), height: HEAD + (columns.length + (left ? 1 : 0)) * ROW };
    });
    const rows = Math.ceil(boxes.length / across), tops = [STREET];
    for (let r = 0; r < rows; r++) tops.push(tops[r] + STREET + Math.max(...boxes.filter((b) => b.row === r).map((b) => b.height)));
    const at = new Map();
    for (const b of boxes) {
        b.x = ALLEY / 2 + b.column * (WIDTH + ALLEY);
        b.y = tops[b.row];
        b.columns.forEach((c, i) => at.set(`${b.id}.${c}`, { x: b.x, y: b.y + HEAD + i * ROW + ROW / 2, column: b.column, row: b.row }));
    }
    const ends = all.map((e) => [at.get(e.a), at.get(e.b)]);
    // how many lines each alley and street has, then where each of them runs
    const lanes = new Map(), taken = new Map();
    const count = (where) => lanes.set(where, (lanes.get(where) || 0) + 1);
    for (const [a, b] of ends) if (a && b) route(a, b, (where) => (count(where), 0));
    const lane = (where) => {
        const k = (taken.get(where) || 0) + 1, share = k / (lanes.get(where) + 1), n = Number(where.replace(/\D/g, ""));
        taken.set(where, k);
        return where.startsWith("alley") ? ALLEY / 2 + n * (WIDTH + ALLEY) + WIDTH + (n === across - 1 ? ALLEY / 2 : ALLEY) * share : tops[n] - STREET + STREET * share;
    };
    const edges = all.map((e, i) => ({ ...e, corners: ends[i][0] && ends[i][1] ? route(...ends[i], lane) : null }));
    return { boxes, edges, width: across * (WIDTH + ALLEY), height: tops[rows] - STREET / 2 };
}

export function TableMap({ bundle }) {
    const { boxes, edges, width, height } = tableMap(bundle);
    const linked = new Set(edges.flatMap((e) => [e.a, e.b]));
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Map of the tables">
        <svg class="map" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${`${boxes.length} tables, ${edges.length} columns aligned; the list below shows the same`}>
            ${edges.map((e) => e.corners && html`<path key=${e.a + e.b} class=${e.key ? "key" : ""} d=${"M" + e.corners.map((c) => c.join(" ")).join("L")}><title>${`${e.a} – ${e.b}: ${e.attribute}, ${percent(e.confidence)}${e.key ? ", a key" : ""}`}</title></path>`)}
            ${boxes.map((b) => html`<g key=${b.id} transform=${`translate(${b.x} ${b.y})`}>
                <rect class="box" width=${WIDTH} height=${b.height} rx="6" />
                <rect class="title" width=${WIDTH} height=${HEAD} rx="6" />
                <text class="name" x="10" y="18">${b.id.slice(0, 16)}</text>
                <text class="soft" x=${WIDTH - 10} y="18" text-anchor="end">${b.rows} rows</text>
                ${b.columns.map((c, i) => html`<g key=${c}><text class=${linked.has(`${b.id}.${c}`) ? "" : "soft"} x="10" y=${HEAD + i * ROW + 14}>${c.slice(0, 24)}</text>${linked.has(`${b.id}.${c}`) && html`<circle cx=${WIDTH - 10} cy=${HEAD + i * ROW + ROW / 2} r="3" />`}</g>`)}
                ${b.left > 0 && html`<text class="soft" x="10" y=${HEAD + b.columns.length * ROW + 14}>and ${b.left} more</text>`}
            </g>`)}
        </svg>
    </div>`;
}
