// Whether answers came true: by day as curves, beside what chance would do and what the report promised.
import { html, Empty, Facts, Loaded, Table, useLoad } from "./ui.js";
import { get, p } from "./api.js";
import { count, number, percent } from "./format.js";

const WIDE = 560, HIGH = 160, LEFT = 40, BOTTOM = 20, TOP = 8;

// Days from left to right, values up: of(day), within low(day) to high(day), beside also(day).
function Curve({ title, days, of, low, high, also, show }) {
    const seen = days.flatMap((d) => [of(d), low && low(d), high && high(d), also && also(d)]).filter((v) => typeof v === "number");
    if (!seen.length) return null;
    const least = Math.min(...seen), most = Math.max(...seen), span = most - least || Math.abs(most) || 1;
    const bottom = least - 0.1 * span, top = most + 0.1 * span;
    const x = (i) => LEFT + (days.length === 1 ? 0.5 : i / (days.length - 1)) * (WIDE - LEFT - 8);
    const y = (v) => TOP + (1 - (v - bottom) / (top - bottom)) * (HIGH - TOP - BOTTOM);
    const points = (f) => days.map((d, i) => [x(i), f(d)]).filter(([, v]) => typeof v === "number").map(([at, v]) => `${at.toFixed(1)},${y(v).toFixed(1)}`);
    const band = low ? [...points(low), ...points(high).reverse()] : [];
    const ticks = [bottom + 0.1 * (top - bottom), (bottom + top) / 2, top - 0.1 * (top - bottom)];
    const said = `${title}, ${days.length} days: first ${show(of(days[0]))}, last ${show(of(days[days.length - 1]))}`;
    return html`<figure class="stack tight"><figcaption class="strong small">${title}</figcaption>
        <svg class="plot" viewBox=${`0 0 ${WIDE} ${HIGH}`} width=${WIDE} height=${HIGH} role="img" aria-label=${said}>
            ${ticks.map((v) => html`<g key=${v}><line class="grid" x1=${LEFT} x2=${WIDE} y1=${y(v)} y2=${y(v)} /><text x=${LEFT - 4} y=${y(v) + 4} text-anchor="end">${show(v)}</text></g>`)}
            ${band.length > 2 && html`<polygon class="band" points=${band.join(" ")} />`}
            ${also && html`<polyline class="known" points=${points(also).join(" ")} />`}
            <polyline class="line" points=${points(of).join(" ")} />
            ${days.map((d, i) => typeof of(d) === "number" && html`<circle key=${d.day} class="mark" cx=${x(i)} cy=${y(of(d))} r="3"><title>${d.day}: ${show(of(d))}, ${count(d.rows)} rows</title></circle>`)}
            <text x=${LEFT} y=${HIGH - 4}>${days[0].day}</text>${days.length > 1 && html`<text x=${WIDE - 4} y=${HIGH - 4} text-anchor="end">${days[days.length - 1].day}</text>`}
        </svg></figure>`;
}

const held = (t) => (t.task_type === "regression" ? t.coverage : t.accuracy);
const verdict = (t) => (t.beyond_chance == null ? "" : t.beyond_chance ? html`<span class="tag warn">significant</span>` : html`<span class="tag good">holds</span>`);

function Task({ t, days }) {
    const number_ = t.task_type === "regression", of = [...days].reverse(), bounds = t.chance_low != null;
    const what = number_ ? "Within the 80% interval" : "Accuracy";
    return html`<section class="stack" aria-label=${t.task_type}>
        ${bounds && html`<div class=${"note " + (t.beyond_chance ? "warn" : "good")}><p>${t.beyond_chance
            ? html`<span class="strong">Confidences no longer hold:</span> ${percent(held(t), 1)} of the answers are correct; ${percent(t.chance_low, 1)} to ${percent(t.chance_high, 1)} was expected. Look at the drift of columns, refresh, or turn on recalibration under Settings.`
            : `${what}: ${percent(held(t), 1)}; expected ${percent(t.chance_low, 1)} to ${percent(t.chance_high, 1)}.`}</p></div>`}
        <${Facts} of=${[
            ["Outcomes", count(t.rows)],
            [t.metric.toUpperCase().replaceAll("_", " "), number(t.score), "baseline " + number(t.baseline)],
            bounds && [what, percent(held(t), 1), `expected ${percent(t.chance_low, 1)} to ${percent(t.chance_high, 1)}`],
            number_ && ["Width", number(t.width)],
            t.confidence != null && ["Stated confidence", percent(t.confidence, 1)],
            ["Mean delay", t.delay_s < 5400 ? Math.round(t.delay_s / 60) + " min" : t.delay_s < 172800 ? Math.round(t.delay_s / 3600) + " h" : Math.round(t.delay_s / 86400) + " days"],
        ]} />
        ${bounds && html`<${Curve} title=${what + ", by day of serving; the band shows what is expected"} days=${of} of=${held} low=${(d) => d.chance_low} high=${(d) => d.chance_high} show=${(v) => percent(v)} />`}
        <${Curve} title=${t.metric.toUpperCase().replaceAll("_", " ") + ", by day; pale: the baseline"} days=${of} of=${(d) => d.score} also=${(d) => d.baseline} show=${number} />
        ${t.calibration.length > 0 && html`<${Table} label="Calibration" rows=${t.calibration} keyOf=${(c) => c.said} columns=${[
            { name: number_ ? "Quantile" : "Confidence", num: true, cell: (c) => percent(c.said, 1) },
            { name: number_ ? "Outcomes at or below" : "Correct", num: true, cell: (c) => percent(c.was, 1) },
            { name: "Rows", num: true, cell: (c) => count(c.rows) },
        ]} />`}
        <${Table} label="Parts of the rows" rows=${t.slices} keyOf=${(s) => s.slice} columns=${[
            { name: "Rows where", class: "strong break", cell: (s) => s.slice }, { name: "Rows", num: true, cell: (s) => count(s.rows) },
            { name: "Score", num: true, cell: (s) => number(s.score) }, { name: what, num: true, cell: (s) => percent(held(s), 1) }, { name: "Verdict", cell: verdict },
        ]} />
    </section>`;
}

export function Outcomes({ e }) {
    const path = p`/v2/endpoints/${e.id}/outcomes`;
    const load = useLoad(() => get(path), [e.id]);
    return html`<${Loaded} of=${load}>${(o) => (!o.total.length ? html`<${Empty} title="No outcomes yet"><p>Serve with receipts and report what became true: the error, coverage and calibration of served answers then appear here.</p><//>` : html`<div class="stack">
        <div class="spread"><p class="soft">Outcomes reported for served rows.${e.calibration_state != null && ` Answers are recalibrated with outcomes; calibration ${count(e.calibration_state)}.`}</p><a class="button" href=${path + "?format=csv"} download=${e.endpoint + "-outcomes.csv"}>Outcomes as CSV</a></div>
        ${o.total.map((t) => html`<${Task} key=${t.task_type} t=${t} days=${o.days.filter((d) => d.task_type === t.task_type)} />`)}</div>`)}<//>`;
}
