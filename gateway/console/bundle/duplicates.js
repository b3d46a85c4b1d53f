// Rows of one table that are one entity: the groups, and the rows of the chosen one side by side.
import { html, useState, VirtualTable } from "../ui.js";
import { cell, columnNames, count, number, percent } from "../format.js";
import { useArray } from "../paged.js";

const SIDES = 6; // rows beside one another

// A column's evidence in words: what speaks for one entity, what against.
function Verdict({ on }) {
    if (!on) return html`<span class="soft small">–</span>`;
    const text = `${percent(on.similarity)} alike`;
    return html`<span class=${on.weight > 0 ? "tag good" : on.weight < 0 ? "tag" : "soft small"} title=${`${number(on.weight)} bits`}>${on.weight < 0 ? `${text}, against` : text}</span>`;
}

function Group({ table, names, own, group }) {
    const rows = group.rows.slice(0, SIDES);
    const on = new Map(group.evidence.map((x) => [x.column, x]));
    const value = (row, k) => {
        const v = own && own.rows[row] ? own.rows[row][k] : undefined;
        return v === undefined ? html`<span class="soft">not loaded here</span>` : v === null ? html`<span class="soft">missing</span>` : cell(v);
    };
    return html`<section class="card scroll" aria-live="polite">
        <header><h2>${table}: ${count(group.rows.length)} rows</h2><span class="tag accent">${percent(group.confidence, 1)} the same</span></header>
        <table class="beside"><caption class="hidden">The rows of the group</caption>
            <thead><tr><th scope="col">Column</th>${rows.map((r) => html`<th scope="col" key=${r}>row ${r}</th>`)}<th scope="col">Evidence</th></tr></thead>
            <tbody>${names.map((name, k) => html`<tr key=${k}><th scope="row">${name}</th>${rows.map((r) => html`<td key=${r}>${value(r, k)}</td>`)}<td><${Verdict} on=${on.get(name)} /></td></tr>`)}</tbody>
        </table>
        ${group.rows.length > SIDES && html`<p class="body small soft">and rows ${group.rows.slice(SIDES, 200).join(", ")}${group.rows.length > 200 ? " …" : ""}</p>`}
    </section>`;
}

function OfTable({ b, entry, source }) {
    const list = useArray(entry.groups, entry.next_cursor, null, source);
    const [chosen, choose] = useState(0);
    const names = columnNames(b.tables.find((t) => t.id === entry.table));
    const at = Math.min(chosen, list.items.length - 1);
    return html`<div class="split">
        <div class="stack tight"><${VirtualTable} label="Groups of duplicates" total=${list.items.length} near=${list.near} chosen=${at} onChoose=${choose}
            columns=${[{ name: "Rows" }, { name: "Confidence", num: true }]}
            row=${(i) => {
                const g = list.items[i];
                return [html`<button type="button" class="plain" aria-pressed=${String(i === at)} onClick=${() => choose(i)}>${g.rows.slice(0, 8).join(", ")}${g.rows.length > 8 ? " …" : ""}</button>`, percent(g.confidence, 1)];
            }} />${list.foot}</div>
        <${Group} table=${entry.table} names=${names} own=${source.rows && source.rows[entry.table]} group=${list.items[at]} />
    </div>`;
}

export function Duplicates({ b, source }) {
    const [table, setTable] = useState(b.duplicates[0].table);
    const entry = b.duplicates.find((d) => d.table === table);
    return html`<div class="stack">
        <p class="small soft">Rows of one table that are the same entity, most certain first. Nothing is deleted or merged.</p>
        ${b.duplicates.length > 1 && html`<label class="row">Table <select value=${table} onChange=${(e) => setTable(e.target.value)}>${b.duplicates.map((d) => html`<option key=${d.table} value=${d.table}>${d.table} (${count(d.rows_in_groups)} rows)</option>`)}</select></label>`}
        <${OfTable} key=${table} b=${b} entry=${entry} source=${source} />
    </div>`;
}
