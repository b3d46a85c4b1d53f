// A bundle's predictions as CSV. Its page is in page.js.
import { csv } from "./format.js";

// Each row with its prediction, and with its own cells where this tab has them.
export function asCsv(b, rows) {
    const q = b.prediction;
    if (!q) return csv(["table", "row", "column", "value", "method"], b.imputation.filled.map((f) => [f.table, f.row, f.column, f.value, f.method]));
    const own = rows && rows[q.table];
    const head = q.task_type === "classification" ? ["label", "confidence"] : q.task_type === "regression" ? ["value", "low", "high"] : ["anomaly_score", "is_anomaly"];
    const tail = (r) => (q.task_type === "classification" ? [r.label, r.confidence] : q.task_type === "regression" ? [r.value, (r.quantiles || {})["0.1"], (r.quantiles || {})["0.9"]] : [r.anomaly_score, r.is_anomaly]);
    return csv(["row", ...(own ? own.columns : []), ...head.map((h) => "predicted_" + h)], q.results.map((r) => [r.row, ...(own && own.rows[r.row] ? own.rows[r.row] : []), ...tail(r)]));
}
