// The prediction: how good it is on rows whose value is known, by slice with the weakest first, and each row with its
// interval and its reasons. Figures that need the true values are made here, from the rows this tab sent.
import { html, useState, useMemo, Facts, Table, VirtualTable } from "./ui.js";
import { columnNames, count, isNumber, number, percent, splitRef } from "./format.js";
import { Calibration, Scatter } from "./plots.js";
import { useArray } from "./paged.js";

const same = (a, b) => a === b || String(a) === String(b);

// What the rows say of the results: [{r, actual}] of those whose value is known.
function judged(b, source, results) {
    const [table, column] = splitRef(b.prediction.target || "");
    const t = b.tables.find((x) => x.id === table);
    const own = t && source.rows && source.rows[table];
    if (!own) return [];
    const k = columnNames(t).indexOf(column);
    return results.map((r) => ({ r, row: own.rows[r.row], actual: own.rows[r.row] && own.rows[r.row][k] })).filter((x) => x.actual !== null && x.actual !== undefined);
}

function calibration(known) {
    const bins = Array.from({ length: 10 }, () => ({ n: 0, sum: 0, right: 0 }));
    for (const { r, actual } of known) {
        const b = bins[Math.min(9, Math.floor(r.confidence * 10))];
        b.n++;
        b.sum += r.confidence;
        b.right += same(r.label, actual);
    }
    return bins.filter((b) => b.n >= 3).map((b) => ({ n: b.n, confidence: b.sum / b.n, right: b.right / b.n }));
}

// Slices by value of a column or by its quarters, each with its mean loss; the worst first.
function slices(b, source, known, loss) {
    const [table, target] = splitRef(b.prediction.target);
    const t = b.tables.find((x) => x.id === table), names = columnNames(t), out = [];
    const least = Math.max(10, known.length * 0.04);
    for (const c of t.column_profile) {
        if (names[c.index] === target || !["categorical", "boolean", "numeric"].includes(c.type)) continue;
        let of = (v) => (v === null ? "missing" : String(v));
        if (c.type === "numeric") {
            const sorted = known.map((x) => x.row[c.index]).filter(isNumber).sort((x, y) => x - y);
            const cut = [0.25, 0.5, 0.75].map((q) => sorted[Math.floor(q * sorted.length)]);
            if (cut[0] === undefined || cut[0] === cut[2]) continue;
            of = (v) => (!isNumber(v) ? "missing" : v < cut[0] ? `below ${number(cut[0])}` : v < cut[1] ? `${number(cut[0])} to ${number(cut[1])}` : v < cut[2] ? `${number(cut[1])} to ${number(cut[2])}` : `from ${number(cut[2])}`);
        }
        const by = new Map();
        for (const x of known) {
            const name = of(x.row[c.index]);
            const s = by.get(name) || { n: 0, sum: 0 };
            s.n++;
            s.sum += loss(x);
            by.set(name, s);
        }
        for (const [value, s] of by) if (s.n >= least && s.n < known.length) out.push({ column: names[c.index], value, n: s.n, loss: s.sum / s.n });
    }
    return out.sort((x, y) => y.loss - x.loss);
}

function Quality({ b, source, results }) {
    const p = b.prediction, classes = p.task_type === "classification";
    const known = useMemo(() => judged(b, source, results), [b, results]);
    const [show, setShow] = useState(8);
    const parts = useMemo(() => known.length >= 20 && slices(b, source, known, classes ? ({ r, actual }) => (same(r.label, actual) ? 0 : 1) : ({ r, actual }) => Math.abs(r.value - actual)), [known]);
    if (known.length < 20) return null;
    const n = known.length, of = n < p.total ? ` of the ${count(n)} rows loaded` : "";
    let facts, picture;
    if (classes) {
        const right = known.filter((x) => same(x.r.label, x.actual)).length / n;
        const shares = new Map();
        for (const x of known) shares.set(String(x.actual), (shares.get(String(x.actual)) || 0) + 1);
        const base = Math.max(...shares.values()) / n;
        const points = calibration(known);
        const off = points.reduce((s, q) => s + (q.n / n) * Math.abs(q.confidence - q.right), 0);
        facts = [["Right out of fold", percent(right, 1), of || "no row saw its own value"], ["Largest class alone", percent(base, 1), "the baseline"], ["Calibration error", percent(off, 1), "confidence against truth"]];
        picture = html`<figure class="card"><header><h2>${off < 0.05 ? "Confidences can be taken as they are" : "Confidences are off by " + percent(off, 1)}</h2></header><div class="body"><${Calibration} points=${points} label=${"Calibration: " + points.map((q) => `confidence ${percent(q.confidence)} was right ${percent(q.right)}`).join("; ")} /></div></figure>`;
    } else {
        const pairs = known.filter((x) => isNumber(x.actual)).map((x) => [x.actual, x.r.value]);
        if (pairs.length < 20) return null;
        const mean = pairs.reduce((s, q) => s + q[0], 0) / pairs.length;
        const err = Math.sqrt(pairs.reduce((s, q) => s + (q[0] - q[1]) ** 2, 0) / pairs.length);
        const base = Math.sqrt(pairs.reduce((s, q) => s + (q[0] - mean) ** 2, 0) / pairs.length);
        const bound = known.filter((x) => x.r.quantiles && x.r.quantiles["0.1"] != null);
        const inside = bound.filter((x) => x.actual >= x.r.quantiles["0.1"] && x.actual <= x.r.quantiles["0.9"]).length / (bound.length || 1);
        facts = [["Error (RMSE)", number(err), of || "no row saw its own value"], ["Mean alone", number(base), "the baseline"], ["Within the 80 % interval", percent(inside, 1), "80 % is right"]];
        picture = html`<figure class="card"><header><h2>Predicted against actual: ${percent(1 - (err * err) / (base * base || 1))} explained</h2></header><div class="body"><${Scatter} pairs=${pairs} label=${`Predicted against actual of ${pairs.length} rows`} /></div></figure>`;
    }
    const overall = known.reduce((s, x) => s + (classes ? (same(x.r.label, x.actual) ? 0 : 1) : Math.abs(x.r.value - x.actual)), 0) / n;
    const text = (v) => (classes ? percent(v, 1) : number(v));
    return html`<div class="stack">
        <${Facts} of=${facts} />
        <div class="two">${picture}
            ${parts && parts.length > 0 && html`<section class="card"><header><h2>Weakest: ${parts[0].column} ${parts[0].value}</h2><span class="small soft">${classes ? "wrong" : "mean error"}, over all ${text(overall)}</span></header>
                <${Table} label="Error by slice" rows=${parts.slice(0, show)} columns=${[
                    { name: "Column", class: "strong", cell: (s) => s.column }, { name: "Slice", class: "break", cell: (s) => s.value },
                    { name: "Rows", num: true, cell: (s) => count(s.n) }, { name: classes ? "Wrong" : "Error", num: true, cell: (s) => text(s.loss) },
                ]} />
                ${parts.length > show && html`<div class="body"><button type="button" onClick=${() => setShow(show + 20)}>Show more</button></div>`}</section>`}
        </div>
    </div>`;
}

function Why({ r, task }) {
    if (!r) return null;
    const most = Math.max(...(r.reasons || []).map((x) => Math.abs(x.contribution)), 1e-9);
    return html`<section class="card" aria-live="polite"><header><h2>Row ${r.row}</h2>${r.low_confidence && html`<span class="tag warn">${r.low_confidence_reason || "low confidence"}</span>`}</header>
        <div class="body stack">
            ${r.probabilities && html`<div class="stack tight">${Object.entries(r.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 8).map(([k, v]) => html`<div class="spread" key=${k}><span class="break">${k}</span><${Bar_} value=${v} text=${percent(v, 1)} /></div>`)}</div>`}
            ${r.quantiles && html`<dl class="pairs">${Object.entries(r.quantiles).map(([q, v]) => html`<dt key=${q}>${percent(Number(q))} are below</dt><dd>${number(v)}</dd>`)}</dl>`}
            ${r.reasons && r.reasons.length > 0 && html`<div class="stack tight"><h3>Reasons</h3>${r.reasons.map((x) => html`<div class="spread" key=${x.column}><span class="break">${x.column}</span><${Bar_} value=${Math.abs(x.contribution) / most} text=${(x.contribution > 0 ? "for, +" : "against, ") + number(x.contribution)} /></div>`)}</div>`}
            ${!r.reasons && task !== "anomaly" && html`<p class="small soft">Run with "reasons of each row" to see what moved this prediction.</p>`}
        </div></section>`;
}
const Bar_ = ({ value, text }) => html`<span class="row small nowrap"><svg class="plot" width="96" height="8" aria-hidden="true"><rect class="bar-soft" width="96" height="8" rx="3" /><rect class="bar-mark" width=${Math.max(1, 96 * value)} height="8" rx="3" /></svg>${text}</span>`;

export function Results({ p, source, known }) {
    const list = useArray(p.results, p.next_cursor, p.total, source);
    const [chosen, choose] = useState(0);
    const task = p.task_type;
    const columns = [{ name: "Row", num: true },
        ...(task === "classification" ? [{ name: "Label" }, { name: "Confidence", num: true }] : task === "regression" ? [{ name: "Value", num: true }, { name: "80 % interval", num: true }] : [{ name: "Anomaly score", num: true }, { name: "Verdict" }]),
        ...(known && task !== "anomaly" ? [{ name: "Actual" }] : [])];
    const cells = (r) => [
        html`<button type="button" class="plain" onClick=${() => choose(list.items.indexOf(r))}>${r.row}</button>`,
        ...(task === "classification" ? [String(r.label), percent(r.confidence, 1)] : task === "regression" ? [number(r.value), r.quantiles ? `${number(r.quantiles["0.1"])} to ${number(r.quantiles["0.9"])}` : "–"] : [number(r.anomaly_score), r.is_anomaly ? html`<span class="tag warn">anomaly</span>` : html`<span class="soft">usual</span>`]),
        ...(known && task !== "anomaly" ? [known(r)] : []),
    ];
    return html`<div class="split">
        <div class="stack tight"><${VirtualTable} label="Results" columns=${columns} total=${list.total} near=${list.near} chosen=${chosen} onChoose=${choose} row=${(i) => list.items[i] && cells(list.items[i])} />${list.foot}</div>
        <${Why} r=${list.items[chosen]} task=${task} />
    </div>`;
}

export function Prediction({ b, source }) {
    const p = b.prediction;
    const known = useMemo(() => new Map(judged(b, source, p.results).map((x) => [x.r.row, x.actual])), [b]);
    const actual = (r) => {
        const v = known.get(r.row);
        if (v === undefined) return "";
        return p.task_type === "classification" ? (same(v, r.label) ? String(v) : html`<span class="tag bad">${String(v)}</span>`) : number(v);
    };
    return html`<div class="stack">
        <p class="soft">${p.note} ${p.split && p.split.reason ? `Split ${p.split.kind}: ${p.split.reason}.` : ""} ${p.dropped_rows && p.dropped_rows.missing_target ? `${count(p.dropped_rows.missing_target)} rows without the target are filled instead.` : ""}</p>
        ${p.task_type !== "anomaly" ? html`<${Quality} b=${b} source=${source} results=${p.results} />` : html`<${Facts} of=${[["Threshold", number(p.threshold)], ["Anomalies in the rows loaded", count(p.results.filter((r) => r.is_anomaly).length)]]} />`}
        <h2>Rows</h2>
        <${Results} p=${p} source=${source} known=${known.size ? actual : null} />
    </div>`;
}
