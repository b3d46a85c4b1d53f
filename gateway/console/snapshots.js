// A dataset's snapshots, and what two of them differ by: columns first, then row by row.
import { html, useState, Empty, Facts, Loaded, Table, usePages } from "./ui.js";
import { get, p, query } from "./api.js";
import { bytes, cell, count } from "./format.js";

const KIND = { added: "good", removed: "bad", changed: "accent", retyped: "warn" };
const Change = ({ of }) => html`<span class=${"tag " + KIND[of]}>${of}</span>`;

function Columns({ columns }) {
    const unlike = columns.filter((c) => c.change !== "same");
    if (!unlike.length) return html`<p class="soft">The columns are the same.</p>`;
    return html`<${Table} label="Columns that differ" rows=${unlike} keyOf=${(c) => c.name + c.change} columns=${[
        { name: "Column", class: "strong break", cell: (c) => c.name },
        { name: "Change", cell: (c) => html`<${Change} of=${c.change} />` },
        { name: "Was", cell: (c) => (c.was ? html`${c.was} <span class="small soft break">${c.examples_before.join(", ")}</span>` : html`<span class="soft">–</span>`) },
        { name: "Is", cell: (c) => (c.is ? html`${c.is} <span class="small soft break">${c.examples_after.join(", ")}</span>` : html`<span class="soft">–</span>`) },
    ]} />`;
}

// Two snapshots may be of one minute.
const moment = (t) => (t ? new Date(t).toISOString().slice(0, 19).replace("T", " ") + " UTC" : "–");

const same = (a, b) => a === b || (a != null && b != null && String(a) === String(b));

// One cell of a row: what it is, and what it was.
function Cell({ row, i, column }) {
    const was = row.before && row.before[i], is = row.after && row.after[i];
    const shown = (v) => (v === null || v === undefined ? html`<span class="soft">missing</span>` : cell(v));
    if (row.change === "added") return is == null ? html`<span class="soft">missing</span>` : html`<ins>${cell(is)}</ins>`;
    if (row.change === "removed") return was == null ? html`<span class="soft">missing</span>` : html`<del>${cell(was)}</del>`;
    if (column.change === "removed") return was == null ? "" : html`<del>${cell(was)}</del>`;
    if (column.change === "added") return is == null ? "" : html`<ins>${cell(is)}</ins>`;
    return same(was, is) ? (is == null ? "" : cell(is)) : html`<del>${shown(was)}</del> <ins>${shown(is)}</ins>`;
}

// What came beside what the snapshots before let expect.
function Expected({ of }) {
    if (!of || !of.checks) return html`<p class="soft">There is nothing to compare with earlier rows.</p>`;
    const made = `${count(of.checks)} checks of ${count(of.rows)} rows`;
    if (!of.changed.length) return html`<p class="soft">As expected: ${made} found nothing significant.</p>`;
    return html`<div class="stack tight"><p class="soft">${made}; these fail.</p><${Table} label="Unusual changes" rows=${of.changed} keyOf=${(e) => [e.kind, e.column, e.with].join("/")} columns=${[
        { name: "Column", class: "strong break", cell: (e) => [e.column, e.with].filter(Boolean).join(", ") || "all" },
        { name: "Check", cell: (e) => html`<span class="tag warn">${e.kind.replace("_", " ")}</span>` },
        { name: "What changed", class: "break", cell: (e) => e.reason },
        { name: "By chance", num: true, cell: (e) => (e.p < 1e-9 ? "under 1e-9" : e.p.toPrecision(1)) },
    ]} /></div>`;
}

function Rows({ list, columns, rowsOf }) {
    if (!list.items.length) return html`<p class="soft">${rowsOf ? `No row was ${rowsOf}.` : "No row has changed."}</p>`;
    return html`<div class="stack tight"><${Table} label="Rows that differ" rows=${list.items} keyOf=${(r) => r.change + r.row_before + "-" + r.row_after} columns=${[
        { name: "Change", cell: (r) => html`<${Change} of=${r.change} />` },
        { name: "Row", num: true, cell: (r) => (r.row_before === r.row_after || r.row_after === null ? count(r.row_before) : r.row_before === null ? count(r.row_after) : `${count(r.row_before)} → ${count(r.row_after)}`) },
        ...columns.map((c, i) => ({ name: c.name, class: "cell", cell: (r) => html`<${Cell} row=${r} i=${i} column=${c} />` })),
    ]} />${list.foot}</div>`;
}

function Difference({ id, from, to }) {
    const [change, show] = useState("");
    const list = usePages((cursor) => get(p`/platform/v1/data/${id}/diff` + query({ before: from, after: to, change, cursor, limit: 50 })), "changes", [id, from, to, change]);
    return html`<${Loaded} of=${list}>${(d) => html`<div class="stack">
        <${Facts} of=${[
            ["Rows added", count(d.diff.rows_added)], ["Rows removed", count(d.diff.rows_removed)], ["Rows changed", count(d.diff.rows_changed)], ["Rows unchanged", count(d.diff.rows_unchanged)],
            ["Rows are identified by", d.diff.key.length ? d.diff.key.join(", ") : "all their cells", d.diff.key.length ? null : "no column identifies a row, so a changed row counts as removed and added"],
        ]} />
        <section class="stack tight"><h2>Expectations</h2><${Expected} of=${d.expectations} /></section>
        <section class="stack tight"><h2>Columns</h2><${Columns} columns=${d.columns} /></section>
        <section class="stack tight"><div class="spread"><h2>Rows</h2><label class="row small">Show <select value=${change} onChange=${(e) => show(e.target.value)}><option value="">all that differ</option><option value="changed">changed</option><option value="removed">removed</option><option value="added">added</option></select></label></div>
            <${Rows} list=${list} columns=${d.columns} rowsOf=${change} /></section>
    </div>`}<//>`;
}

export function Snapshots({ id }) {
    const list = usePages((cursor) => get(p`/platform/v1/data/${id}/snapshots` + query({ cursor, limit: 50 })), "snapshots", [id]);
    const [pair, choose] = useState(null);
    return html`<${Loaded} of=${list}>${() => {
        const kept = list.items.filter((s) => s.kept);
        const [to, from] = pair || [kept[0] && kept[0].id, kept[1] && kept[1].id];
        const options = kept.map((s) => html`<option key=${s.id} value=${s.id}>${moment(s.created_at)}${s.current ? ", current" : ""}</option>`);
        return html`<div class="stack">
            <${Table} label="Snapshots" rows=${list.items} keyOf=${(s) => s.id} columns=${[
                { name: "Created", class: "strong nowrap", cell: (s) => html`${moment(s.created_at)} ${s.current && html`<span class="tag accent">current</span>`}` },
                { name: "Rows", num: true, cell: (s) => count(s.rows) }, { name: "Columns", num: true, cell: (s) => count(s.cols) }, { name: "Size", num: true, cell: (s) => bytes(s.size_bytes) },
                { name: "Its rows", cell: (s) => (s.kept ? "stored" : html`<span class="soft">no longer stored</span>`) }, { name: "Id", class: "small soft", cell: (s) => html`<code>${s.id}</code>` },
            ]} />${list.foot}
            ${kept.length < 2
                ? html`<${Empty} title="Nothing to compare yet"><p>${list.items.length > kept.length ? "The rows of older snapshots are no longer stored." : "Sync its source: the next snapshot is compared with this one by column and by row."}</p><//>`
                : html`<div class="row fields"><label class="field">From<select value=${from} onChange=${(e) => choose([to, e.target.value])}>${options}</select></label><label class="field">To<select value=${to} onChange=${(e) => choose([e.target.value, from])}>${options}</select></label></div>
                    ${from === to ? html`<p class="soft">Choose two different snapshots.</p>` : html`<${Difference} key=${from + to} id=${id} from=${from} to=${to} />`}`}
        </div>`;
    }}<//>`;
}
