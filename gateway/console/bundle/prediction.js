// The prediction: how good it is on rows whose value is known, by slice with the weakest first, and each row with its
// interval and its reasons. The service judges; the true values beside the rows are those that this tab sent.
import { html, useState, useMemo, breakable, Bar, Facts, Table, VirtualTable } from "../ui.js";
import { columnNames, count, isNumber, number, percent, plural, splitRef, time, words } from "../format.js";
import { Calibration, Scatter, Shares } from "./plots.js";
import { Linked, Regimes } from "./forecast.js";
import { useArray } from "../paged.js";

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

// Error by slice, the weakest first; text says an error.
export function Slices({ slices, all, classes }) {
    const [show, setShow] = useState(8);
    const text = (v) => (classes ? percent(v, 1) : number(v)), first = slices[0], most = Math.max(all || 0, ...slices.map((s) => s.error));
    return html`<section class="card"><header><h2 class="break">${first.beyond_chance ? `Weakest: ${first.column} ${first.slice}` : "No slice is significantly worse"}</h2><span class="small soft">${all == null ? "" : `overall ${classes ? "error rate" : "RMSE"} ${text(all)}`}</span></header>
        <${Table} label="Error by slice" rows=${slices.slice(0, show)} columns=${[
            { name: "Slice", class: "words", cell: (s) => html`<span class="strong">${breakable(s.column)}</span> ${s.slice}` },
            { name: "Rows", num: true, cell: (s) => count(s.rows) }, { name: classes ? "Error rate" : "RMSE", cell: (s) => html`<${Bar} value=${s.error} of=${most || 1} label=${text(s.error)} />` },
            { name: "Verdict", cell: (s) => (s.beyond_chance ? html`<span class="tag warn">significantly worse</span>` : html`<span class="soft small">not significant</span>`) },
        ]} />
        ${slices.length > show && html`<div class="body"><button type="button" onClick=${() => setShow(show + 20)}>Show more</button></div>`}</section>`;
}

// Confidences beside the share that was right, or quantiles beside the share of rows below them.
export function Reliability({ points, classes }) {
    const n = points.reduce((s, q) => s + q.rows, 0);
    const off = points.reduce((s, q) => s + (q.rows / n) * Math.abs(q.said - q.was), 0);
    const [x, y] = classes ? ["confidence", "correct"] : ["quantile", "below it"];
    const least = Math.max(...points.map((q) => q.rows)), chance = off >= 0.05 && off < 1 / Math.sqrt(classes ? n : least);
    const title = chance ? `Off by ${percent(off, 1)}: not significant in ${count(classes ? n : least)} rows` : off < 0.05 ? (classes ? "Confidences are well calibrated" : "Intervals are well calibrated") : `${classes ? "Confidences" : "Quantiles"} are off by ${percent(off, 1)}`;
    return html`<figure class="card"><header><h2>${title}</h2></header><div class="body"><${Calibration} points=${points} x=${x} y=${y} label=${"Calibration: " + points.map((q) => `${x} ${percent(q.said)}, ${percent(q.was)} ${y}`).join("; ")} /></div></figure>`;
}

function Quality({ b, source, results }) {
    const p = b.prediction, q = p.quality, classes = p.task_type === "classification";
    const known = useMemo(() => judged(b, source, results), [b, results]);
    if (!q || !q.rows) return null;
    const rows = `on ${count(q.rows)} rows hidden from the models`;
    const at = (level) => (q.calibration.find((x) => Math.abs(x.said - level) < 1e-9) || {}).was;
    const pairs = classes ? [] : known.filter((x) => isNumber(x.actual)).map((x) => [x.actual, x.r.value]);
    const facts = classes
        ? [["Accuracy", percent(1 - q.error, 1), rows], ["Most frequent class", percent(1 - q.baseline, 1), "the baseline"]]
        : [["RMSE", number(q.error), rows], ["RMSE of the mean", number(q.baseline), "the baseline"], at(0.9) != null && at(0.1) != null && ["Within the 80% interval", percent(at(0.9) - at(0.1), 1), "ideally 80%"]];
    return html`<div class="stack">
        <${Facts} of=${facts} />
        <div class="two">
            ${pairs.length >= 20 && html`<figure class="card"><header><h2>Predicted against actual: ${percent(Math.max(0, 1 - (q.error / (q.baseline || 1)) ** 2))} explained</h2></header><div class="body"><${Scatter} pairs=${pairs} label=${`Predicted against actual of ${pairs.length} rows`} /></div></figure>`}
            ${q.calibration.length > 0 && html`<${Reliability} points=${q.calibration} classes=${classes} />`}
        </div>
        ${q.slices.length > 0 && html`<${Slices} slices=${q.slices} all=${q.error} classes=${classes} />`}
    </div>`;
}

// How a predicted number is written: a date's seconds as a time.
const said = (p) => (p.time ? (v) => time(1000 * v) : number);

function Why({ r, task, text }) {
    if (!r) return null;
    const most = Math.max(...(r.reasons || []).map((x) => Math.abs(x.contribution)), 1e-9);
    return html`<section class="card" aria-live="polite"><header><h2>Row ${r.row}</h2>${r.regime && html`<span class="tag">${words(r.regime)}</span>`}${r.low_confidence && html`<span class="tag warn">${r.low_confidence_reason || "low confidence"}</span>`}</header>
        <div class="body stack">
            ${r.probabilities && html`<div class="stack tight">${Object.entries(r.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 8).map(([k, v]) => html`<div class="spread" key=${k}><span class="break">${k}</span><${Bar_} value=${v} text=${percent(v, 1)} /></div>`)}</div>`}
            ${r.quantiles && html`<dl class="pairs">${Object.entries(r.quantiles).map(([q, v]) => html`<dt key=${q}>${percent(Number(q))} are below</dt><dd>${text(v)}</dd>`)}</dl>`}
            ${r.reasons && r.reasons.length > 0 && html`<div class="stack tight"><h3>Reasons</h3>${r.reasons.map((x) => html`<div class="spread" key=${x.column}><span class="break">${x.column}</span><${Bar_} value=${Math.abs(x.contribution) / most} text=${task === "anomaly" ? number(x.contribution) : (x.contribution > 0 ? "for, +" : "against, ") + number(x.contribution)} /></div>`)}</div>`}
            ${!r.reasons && task !== "anomaly" && html`<p class="small soft">Run with "Reasons for each row" to see what moved this prediction.</p>`}
        </div></section>`;
}
const Bar_ = ({ value, text }) => html`<span class="bar reason"><svg class="plot" width="96" height="8" aria-hidden="true"><rect class="bar-soft" width="96" height="8" rx="3" /><rect class="bar-mark" width=${Math.max(1, 96 * value)} height="8" rx="3" /></svg><span>${text}</span></span>`;

export function Results({ p, source, known }) {
    const list = useArray(p.results, p.next_cursor, p.total, source);
    const [chosen, choose] = useState(0);
    const task = p.task_type, text = said(p);
    const columns = [{ name: "Row", num: true },
        ...(task === "classification" ? [{ name: "Label" }, { name: "Confidence", num: true }] : task === "regression" ? [{ name: "Value", num: true }, { name: "80% interval", num: true }] : [{ name: "Anomaly score", num: true }, { name: "Verdict" }]),
        ...(known && task !== "anomaly" ? [{ name: "Actual" }] : [])];
    const cells = (r) => [
        html`<button type="button" class="plain" onClick=${() => choose(list.items.indexOf(r))}>${r.row}</button>`,
        ...(task === "classification" ? [String(r.label), percent(r.confidence, 1)] : task === "regression" ? [text(r.value), r.quantiles ? `${text(r.quantiles["0.1"])} to ${text(r.quantiles["0.9"])}` : "–"] : [number(r.anomaly_score), r.is_anomaly ? html`<span class="tag warn">anomaly</span>` : html`<span class="soft">usual</span>`]),
        ...(known && task !== "anomaly" ? [known(r)] : []),
    ];
    return html`<div class="split">
        <div class="stack tight"><${VirtualTable} label="Results" columns=${columns} total=${list.total} near=${list.near} chosen=${chosen} onChoose=${choose} row=${(i) => list.items[i] && cells(list.items[i])} />${list.foot}</div>
        <${Why} r=${list.items[chosen]} task=${task} text=${text} />
    </div>`;
}

// Of a table's anomaly scores: how they lie beside the threshold, and the rows that score most.
function Unusual({ p }) {
    const [chosen, choose] = useState(0);
    if (!p.score_bins) return html`<${Facts} of=${[["Threshold", number(p.threshold)]]} />`;
    const reason = (r) => (r.reasons || []).slice(0, 3).map((x) => splitRef(x.column)[1]).join(", ");
    const label = `Rows by anomaly score: ${count(p.anomalies)} of ${count(p.total)} score at least ${number(p.threshold)}, the threshold`;
    return html`<div class="stack">
        <${Facts} of=${[["Anomalies", count(p.anomalies), `of ${plural(p.total, "row")}`], ["Threshold", number(p.threshold)], p.most_unusual.length > 0 && ["Highest score", number(p.most_unusual[0].anomaly_score), `row ${p.most_unusual[0].row}`]]} />
        <div class="two">
            <figure class="card"><header><h2>Scores and threshold</h2></header><div class="body"><${Shares} bins=${p.score_bins} threshold=${p.threshold} x="anomaly score" label=${label} /></div></figure>
            <${Why} r=${p.most_unusual[chosen]} task=${p.task_type} text=${number} />
        </div>
        <section class="stack tight"><h2>Most unusual rows</h2><${Table} label="Most unusual rows" rows=${p.most_unusual} keyOf=${(r) => r.row} columns=${[
            { name: "Row", num: true, cell: (r, i) => html`<button type="button" class="plain" aria-pressed=${String(i === chosen)} onClick=${() => choose(i)}>${r.row}</button>` },
            { name: "Score", cell: (r) => html`<${Bar} value=${r.anomaly_score} label=${number(r.anomaly_score)} />` },
            { name: "Verdict", cell: (r) => (r.is_anomaly ? html`<span class="tag warn">anomaly</span>` : html`<span class="soft">usual</span>`) },
            { name: "What is unusual", class: "break", cell: (r) => reason(r) || html`<span class="soft small">run with "Reasons for each row"</span>` },
        ]} /></section>
    </div>`;
}

export function Prediction({ b, source }) {
    const p = b.prediction;
    const known = useMemo(() => new Map(judged(b, source, p.results).map((x) => [x.r.row, x.actual])), [b]);
    const actual = (r) => {
        const v = known.get(r.row);
        if (v === undefined) return "";
        return p.task_type === "classification" ? (same(v, r.label) ? String(v) : html`<span class="tag bad">${String(v)}</span>`) : said(p)(v);
    };
    return html`<div class="stack">
        <p class="soft">${p.note} ${p.split && p.split.reason ? `Split ${p.split.kind}: ${p.split.reason}.` : ""} ${p.dropped_rows && p.dropped_rows.missing_target ? `${count(p.dropped_rows.missing_target)} rows without a target are predicted and filled instead.` : ""}</p>
        ${p.task_type !== "anomaly" ? html`<${Quality} b=${b} source=${source} results=${p.results} />` : html`<${Unusual} p=${p} />`}
        <${Regimes} of=${(p.quality || {}).regimes} />
        <${Linked} of=${p.linked} />
        <h2>Rows</h2>
        <${Results} p=${p} source=${source} known=${known.size ? actual : null} />
    </div>`;
}
