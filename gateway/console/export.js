// A bundle as a file: the predictions as CSV, or all that matters as one HTML page that needs nothing else.
import { cell, count, csv, number, percent } from "./format.js";

// Each row with its prediction, and with its own cells where this tab has them.
export function asCsv(b, rows) {
    const q = b.prediction;
    if (!q) return csv(["table", "row", "column", "value", "method"], b.imputation.filled.map((f) => [f.table, f.row, f.column, f.value, f.method]));
    const own = rows && rows[q.table];
    const head = q.task_type === "classification" ? ["label", "confidence"] : q.task_type === "regression" ? ["value", "low", "high"] : ["anomaly_score", "is_anomaly"];
    const tail = (r) => (q.task_type === "classification" ? [r.label, r.confidence] : q.task_type === "regression" ? [r.value, (r.quantiles || {})["0.1"], (r.quantiles || {})["0.9"]] : [r.anomaly_score, r.is_anomaly]);
    return csv(["row", ...(own ? own.columns : []), ...head.map((h) => "predicted_" + h)], q.results.map((r) => [r.row, ...(own && own.rows[r.row] ? own.rows[r.row] : []), ...tail(r)]));
}

const escape = (v) => String(v ?? "").replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const table = (head, rows) => `<table><thead><tr>${head.map((h) => `<th>${escape(h)}</th>`).join("")}</tr></thead><tbody>${rows.map((r) => `<tr>${r.map((v) => `<td>${escape(v)}</td>`).join("")}</tr>`).join("")}</tbody></table>`;

export function asPage(b) {
    const parts = b.tables.map((t) => `<h2>${escape(t.id)}</h2><p>${count(t.rows)} rows, ${count(t.cols)} columns${t.sector && t.sector.top1 ? `, ${escape(t.sector.top1.name)} (${percent(t.sector.top1.confidence)})` : ""}</p>` +
        table(["Column", "Role", "Confidence", "Type", "Missing", "Personal data"], t.column_profile.map((c) => [c.name || "c" + c.index, c.role, percent(c.role_confidence), c.type, percent(c.missing_pct, 1), c.pii ? "yes" : ""])));
    const m = b.cross_table_map;
    if (m) {
        parts.push("<h2>Columns that hold the same</h2>" + table(["Attribute", "Column", "and column", "Confidence"], m.column_alignment.map((x) => [x.attribute, x.a, x.b, percent(x.confidence)])));
        parts.push("<h2>Relations</h2>" + table(["Tables", "Relation", "Rows", "Why"], (m.relations || []).map((r) => [`${r.a}, ${r.b}`, r.relation.replaceAll("_", " "), count(r.matches), r.evidence])));
        if (b.unified_rows) parts.push(`<h2>Unified rows (${count(b.unified_rows.rows.length)} of ${count(b.unified_rows.total)})</h2>` + table(["Entity", ...b.unified_rows.schema], b.unified_rows.rows.map((r) => [r.entity, ...b.unified_rows.schema.map((a) => cell(r.record[a]))])));
    }
    if (b.imputation.total_filled) parts.push(`<h2>Filled cells (${count(b.imputation.filled.length)} of ${count(b.imputation.total_filled)})</h2>` + table(["Table", "Row", "Column", "Value"], b.imputation.filled.map((f) => [f.table, f.row, f.column, cell(f.value)])));
    const t = b.target_selection, q = b.prediction;
    parts.push(`<h2>Target</h2><p>${escape(t.column || "none")}: ${escape(t.reason)}</p>`);
    if (q) parts.push(`<h2>Prediction (${count(q.results.length)} of ${count(q.total)} rows)</h2>` + table(["Row", "Prediction", "Confidence or interval"], q.results.map((r) => (q.task_type === "classification" ? [r.row, r.label, percent(r.confidence, 1)] : q.task_type === "regression" ? [r.row, number(r.value), r.quantiles ? `${number(r.quantiles["0.1"])} to ${number(r.quantiles["0.9"])}` : ""] : [r.row, number(r.anomaly_score), r.is_anomaly ? "anomaly" : ""]))));
    const style = "body{font:14px/20px system-ui,sans-serif;max-width:1100px;margin:40px auto;padding:0 16px;color:#1b2330}table{border-collapse:collapse;width:100%;margin:8px 0 24px}th,td{text-align:left;padding:4px 10px;border-bottom:1px solid #e3e7ee}th{color:#5a6577;font-size:12.5px}";
    return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escape(b.tables.map((x) => x.id).join(", "))}</title><style>${style}</style><h1>${escape(b.tables.map((x) => x.id).join(", "))}</h1>${parts.join("")}</html>\n`;
}
