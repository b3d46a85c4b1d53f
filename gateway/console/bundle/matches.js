// Rows that are one entity: the list, and the two rows beside each other, attribute by attribute.
import { html, useState, useMemo, Empty, VirtualTable } from "../ui.js";
import { cell, count, columnNames, percent, splitRef } from "../format.js";
import { Evidence, Shares } from "./plots.js";

// The value of a row's column, where this tab has the rows.
function valueOf(source, table, names, row, column) {
    const own = source.rows && source.rows[table];
    return own && own.rows[row] ? own.rows[row][names.indexOf(column)] : undefined;
}

function Beside({ b, source, match }) {
    const names = (id) => columnNames(b.tables.find((t) => t.id === id));
    const aligned = b.cross_table_map.column_alignment.flatMap((x) => {
        const a = splitRef(x.a), c = splitRef(x.b);
        if (a[0] === match.a && c[0] === match.b) return [{ attribute: x.attribute, a: a[1], b: c[1] }];
        if (a[0] === match.b && c[0] === match.a) return [{ attribute: x.attribute, a: c[1], b: a[1] }];
        return [];
    });
    const pairs = match.a === match.b ? names(match.a).map((n) => ({ attribute: n, a: n, b: n })) : aligned;
    // without the rows, what the entity's record says of each source
    const entity = !source.rows && b.unified_rows && b.unified_rows.rows.find((r) => r.from.rows && r.from.rows[match.a] === match.aRow && r.from.rows[match.b] === match.bRow);
    const side = (table, column, row, attribute) => {
        const own = valueOf(source, table, names(table), row, column);
        if (own !== undefined || !entity) return own;
        const v = (entity.shared_variants || {})[attribute];
        return v ? v[`${table}.${column}`] : undefined;
    };
    const rest = (table, used, row) => {
        const own = source.rows && source.rows[table];
        return own && own.rows[row] ? names(table).map((n, i) => [n, own.rows[row][i]]).filter(([n, v]) => !used.includes(n) && v !== null) : [];
    };
    const shown = (v) => (v === undefined ? html`<span class="soft">not loaded here</span>` : v === null ? html`<span class="soft">missing</span>` : cell(v));
    const restA = match.a === match.b ? [] : rest(match.a, pairs.map((p) => p.a), match.aRow);
    const restB = match.a === match.b ? [] : rest(match.b, pairs.map((p) => p.b), match.bRow);
    return html`<section class="card scroll" aria-live="polite">
        <header><h2>${match.a} row ${match.aRow} and ${match.b} row ${match.bRow}</h2><span class="tag accent">${percent(match.confidence, 1)} the same</span></header>
        <table class="beside"><caption class="hidden">The two rows</caption>
            <thead><tr><th scope="col">Attribute</th><th scope="col">${match.a}</th><th scope="col">${match.b}</th><th scope="col">Evidence</th></tr></thead>
            <tbody>${pairs.map((p) => {
                const x = side(match.a, p.a, match.aRow, p.attribute), y = side(match.b, p.b, match.bRow, p.attribute);
                const on = match.evidence.find((z) => z.attribute === p.attribute);
                const equal = x !== undefined && x !== null && x === y;
                const verdict = on && (on.weight < 0 ? html`<span class="tag">differs</span>` : html`<span class="tag good">${equal ? "equal" : "agrees"}</span>`);
                return html`<tr key=${p.attribute + p.a}><th scope="row">${p.attribute}</th><td>${shown(x)}</td><td>${shown(y)}</td>
                    <td>${on ? html`<div class="row">${verdict}<${Evidence} weight=${on.weight} text=${`${percent(on.similarity)} alike`} /></div>` : equal ? html`<span class="tag">equal</span>` : html`<span class="soft small">–</span>`}</td></tr>`;
            })}</tbody>
        </table>
        ${(restA.length > 0 || restB.length > 0) && html`<div class="body two">${[[match.a, restA], [match.b, restB]].map(([t, list]) => html`<div key=${t}><h3>Only in ${t}</h3><dl class="pairs small">${list.slice(0, 24).map(([n, v]) => html`<dt key=${n}>${n}</dt><dd>${cell(v)}</dd>`)}</dl></div>`)}</div>`}
    </section>`;
}

// What the group of two duplicates says of its columns.
function evidenceOf(b, pair) {
    const entry = (b.duplicates || []).find((d) => d.table === pair.table);
    const group = entry && entry.groups.find((g) => g.rows.includes(pair.row) && g.rows.includes(pair.other_row));
    return group ? group.evidence.map((x) => ({ ...x, attribute: x.column })) : [];
}

// Pairs by confidence, in twentieths.
function binsOf(pairs) {
    const bins = new Array(20).fill(0);
    for (const x of pairs) bins[Math.min(19, Math.floor(20 * x.confidence))]++;
    return bins;
}

export function Matches({ b, source }) {
    const m = b.cross_table_map;
    const all = useMemo(() => {
        const [first, second] = b.tables;
        return [
            ...m.entity_matches.map((x) => ({ a: x.a_table || first.id, b: x.b_table || (second || first).id, aRow: x.a_row, bRow: x.b_row, confidence: x.confidence, evidence: x.evidence || [] })),
            ...(m.duplicates || []).map((x) => ({ a: x.table, b: x.table, aRow: x.row, bRow: x.other_row, confidence: x.confidence, evidence: evidenceOf(b, x) })),
        ];
    }, [b]);
    const [least, setLeast] = useState(0.5);
    const [chosen, choose] = useState(0);
    const list = useMemo(() => all.filter((x) => x.confidence >= least).sort((x, y) => y.confidence - x.confidence), [all, least]);
    const bins = useMemo(() => binsOf(all), [all]);
    if (!all.length) return html`<${Empty} title="No rows are the same entity"><p>${m.relations && m.relations.some((r) => r.key) ? "These tables are joined by keys instead; the map shows which." : "The tables share too little, or the minimum confidence is too high."}</p><//>`;
    const at = Math.min(chosen, list.length - 1);
    return html`<div class="stack">
        <figure class="card"><header><h2>Pairs by confidence</h2></header><div class="body"><${Shares} bins=${bins} threshold=${least} x="confidence" y="pairs" label=${`${count(all.length)} pairs by confidence; ${count(list.length)} at ${percent(least)} or more`} /></div></figure>
        <div class="spread"><label class="row">Confidence at least <input type="range" min="0.5" max="1" step="0.01" value=${least} onInput=${(e) => { setLeast(Number(e.target.value)); choose(0); }} /> <output>${percent(least)}</output></label>
            <span class="soft">${count(list.length)} of ${count(all.length)} pairs</span></div>
        <div class="split">
            <div><${VirtualTable} label="Matches" total=${list.length} chosen=${at} onChoose=${choose}
                columns=${[{ name: "Row" }, { name: "is row" }, { name: "Confidence", num: true }]}
                row=${(i) => {
                    const x = list[i];
                    return [html`<button type="button" class="plain" aria-pressed=${String(i === at)} onClick=${() => choose(i)}>${x.a} ${x.aRow}</button>`, `${x.b} ${x.bRow}`, percent(x.confidence, 1)];
                }} /></div>
            ${list[at] && html`<${Beside} b=${b} source=${source} match=${list[at]} />`}
        </div>
    </div>`;
}
