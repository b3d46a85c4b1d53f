// The parts of a run's result that are there, each a file of any of three formats. The service sends them whole, as they are
// made, so that nothing of them lies in this tab, however long they are.
import { html } from "../ui.js";
import { p } from "../api.js";
import { count } from "../format.js";

const FORMATS = [["csv", "CSV"], ["parquet", "Parquet"], ["arrow", "Arrow"]];

// [part in the path, what it is, how many rows (null: as many as its table has)]
export function partsOf(b) {
    const q = b.prediction, m = b.cross_table_map, u = b.unified_rows, f = q && q.forecast, parts = [];
    const predicted = q ? (q.total || 0) + (q.missing_target_total || 0) : 0;
    if (predicted) parts.push(["results", q.task_type === "anomaly" ? "Anomaly scores" : "Predictions", predicted]);
    if (f && f.total) parts.push(["forecast", "Steps ahead", f.total]);
    const filled = b.imputation.total_filled ? [...new Set(b.imputation.columns.map((c) => c.table))] : [];
    for (const id of filled) {
        const at = b.tables.findIndex((t) => t.id === id), name = /^[A-Za-z0-9_-]{1,128}$/.test(id) && !/^\d+$/.test(id) ? id : String(at);
        parts.push([filled.length > 1 ? "filled/" + name : "filled", `${id}, filled`, b.tables[at].rows]);
    }
    if (u && u.total) parts.push(["unified_rows", "Unified rows", u.total]);
    if (m && m.entity_matches.length) parts.push(["matches", "Matches", m.entity_matches.length]);
    if (m && m.duplicates.length) parts.push(["duplicates", "Duplicates", null]);
    return parts;
}

export function ResultFiles({ id, bundle }) {
    const parts = partsOf(bundle);
    if (!parts.length) return html`<section class="card"><p class="body soft">This result has no part that is a file of its own.</p></section>`;
    return html`<section class="card" aria-label="Files"><header><h2>Files</h2><span class="small soft">each part in full, as long as the result is stored</span></header>
        <table><thead><tr><th>Part</th><th class="num">Rows</th>${FORMATS.map(([f, name]) => html`<th key=${f}><span class="hidden">${name}</span></th>`)}</tr></thead>
        <tbody>${parts.map(([part, name, rows]) => html`<tr key=${part}><th scope="row" class="break">${name}</th><td class="num">${rows === null ? "" : count(rows)}</td>
            ${FORMATS.map(([f, label]) => html`<td key=${f}><a download href=${p`/v2/jobs/${id}/result/` + part + "?format=" + f} aria-label=${`${name} as ${label}`}>${label}</a></td>`)}</tr>`)}</tbody></table></section>`;
}
