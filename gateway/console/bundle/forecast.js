// Steps ahead of every series as a fan: what is known of a series where this tab sent it, then each step's value within
// its 80% interval. Beside it the question itself in words: in which regimes rows are asked, what linked tables leave out.
import { html, useState, useMemo, useEffect, save, Facts, Problem, Table, VirtualTable } from "../ui.js";
import { get, query } from "../api.js";
import { cell, columnNames, count, csv, isNumber, number, percent, plural, splitRef } from "../format.js";

const REGIMES = {
    alike: "like the rows with a known target",
    later: "later than all rows with a known target",
    new_group: "in groups without a known target",
    out_of_range: "with values outside the known range",
};

export function Regimes({ of }) {
    const asked = (of || []).filter((q) => q.rows > 0 || q.judged > 0);
    if (!asked.length) return null;
    return html`<section class="card"><header><h2>Rows to predict, and how good predictions of such rows are</h2></header>
        <${Table} label="Regimes" rows=${asked} columns=${[
            { name: "Rows to predict", class: "words", cell: (q) => html`<span class="strong">${count(q.rows)}</span> ${REGIMES[q.regime] || q.regime}` },
            { name: "Steps ahead", num: true, cell: (q) => (q.distance == null ? "" : number(q.distance)) },
            { name: "Error there", num: true, cell: (q) => (q.score == null ? html`<span class="soft">too few rows to say</span>` : `${q.metric === "log_loss" ? "log-loss " : ""}${number(q.score)}`) },
            { name: "Baseline", num: true, cell: (q) => number(q.baseline) },
            { name: "Within 80% intervals", num: true, cell: (q) => percent(q.coverage) },
            { name: "Judged on", num: true, cell: (q) => plural(q.judged, "row") },
        ]} /></section>`;
}

export function Linked({ of }) {
    if (!of || !of.length) return null;
    return html`<section class="card"><header><h2>How other tables are used</h2></header>
        <${Table} label="Linked tables" rows=${of} keyOf=${(l) => l.table} columns=${[
            { name: "Table", class: "strong", cell: (l) => l.table },
            { name: "As of", cell: (l) => l.as_of || html`<span class="soft">all rows count</span>` },
            { name: "Rows used", num: true, cell: (l) => count(l.rows_used) },
            { name: "Left out", num: true, cell: (l) => (l.rows_left_out > 0.1 * (l.rows_used + l.rows_left_out) ? html`<span class="tag warn">${count(l.rows_left_out)}</span>` : count(l.rows_left_out)) },
            { name: "Why", class: "words small soft", cell: (l) => l.reason },
        ]} /></section>`;
}

// ---- the fan ----------------------------------------------------------------------------------------------------------

// P3M is 3 months.
const UNITS = { Y: "year", M: "month", W: "week", D: "day", H: "hour", TM: "minute", S: "second" };
function stepWords(step) {
    const m = /^P(T?)(\d+(?:\.\d+)?)([YMWDHS])$/.exec(step);
    const unit = m && UNITS[m[1] && m[3] === "M" ? "TM" : m[3]];
    return !m ? `${step}` : m[2] === "1" ? unit : plural(Number(m[2]), unit);
}

const keyOf = (values) => JSON.stringify(values.map((v) => (v == null ? null : String(v))));
const nameOf = (row) => Object.values(row.series).map((v) => (v == null ? "(none)" : cell(v))).join(", ") || "the table";
const ISO = /^\d{4}(-\d{2}(-\d{2}([T ].*)?)?)?$/;

// A time's place on the axis: a number, a date as ISO writes it; else none, and places count.
function moment(t) {
    if (isNumber(t)) return t;
    if (typeof t !== "string" || !ISO.test(t)) return NaN;
    return Date.parse(t.replace(" ", "T"));
}

// What this tab's rows say of each series, in time's order: key to [[time, value]].
function histories(b, source) {
    const f = b.prediction.forecast, [table, target] = splitRef(b.prediction.target || "");
    const t = b.tables.find((x) => x.id === table), own = t && source.rows && source.rows[table], found = new Map();
    if (!own || typeof f.time !== "string") return found;
    const names = columnNames(t), at = (ref) => names.indexOf(splitRef(ref)[1]);
    const when = at(f.time), y = names.indexOf(target), keys = f.series.map(at);
    if ([when, y, ...keys].some((k) => k < 0)) return found;
    for (const row of own.rows) {
        if (row[when] == null || row[y] == null || row[y] === "" || !isFinite(Number(row[y]))) continue;
        const key = keyOf(keys.map((k) => row[k]));
        if (!found.has(key)) found.set(key, []);
        found.get(key).push([row[when], Number(row[y])]);
    }
    for (const list of found.values()) if (list.every((x) => isFinite(moment(x[0])))) list.sort((x, z) => moment(x[0]) - moment(z[0]));
    return found;
}

// The last known values of each series of the forecast, in its order: what the page of a bundle draws before the steps.
export function pasts(b, source) {
    const f = b.prediction && b.prediction.forecast, out = new Map();
    if (!f) return [];
    const known = histories(b, source);
    for (const r of f.rows) {
        const key = keyOf(Object.values(r.series));
        out.set(key, (out.get(key) || 0) + 1);
    }
    return [...out].map(([key, steps]) => (known.get(key) || []).slice(-Math.min(200, Math.max(24, 4 * steps))).map((x) => x[1]));
}

function Fan({ past, rows, label }) {
    const W = innerWidth < 700 ? 360 : 960, H = innerWidth < 700 ? 240 : 320, L = 64, R = 12, T = 12, B = 26;
    const times = [...past.map((x) => x[0]), ...rows.map((r) => r.time)];
    const moments = times.map(moment), dated = moments.every(isFinite) && moments.every((m, i) => i === 0 || m >= moments[i - 1]);
    const xs = dated ? moments : times.map((_, i) => i);
    const all = [...past.map((x) => x[1]), ...rows.flatMap((r) => [r.low, r.value, r.high])].filter(isNumber);
    if (!all.length) return html`<p class="body soft">This series has no value that a forecast could start from.</p>`;
    const low = Math.min(...all), high = Math.max(...all), from = xs[0], to = xs[xs.length - 1];
    const x = (i) => L + ((W - L - R) * (xs[i] - from)) / (to - from || 1), y = (v) => H - B - ((H - T - B) * (v - low)) / (high - low || 1);
    const n = past.length, path = (points) => points.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
    const ahead = rows.map((r, i) => [x(n + i), r]).filter(([, r]) => isNumber(r.value)), banded = ahead.filter(([, r]) => isNumber(r.low) && isNumber(r.high));
    const band = banded.length ? path([...banded.map(([px, r]) => [px, y(r.high)]), ...[...banded].reverse().map(([px, r]) => [px, y(r.low)])]) + "Z" : "";
    const line = path([...(n ? [[x(n - 1), y(past[n - 1][1])]] : []), ...ahead.map(([px, r]) => [px, y(r.value)])]);
    const ticks = [...new Set([0, 0.25, 0.5, 0.75, 1].filter((_, i) => W > 400 || i % 2 === 0).map((s) => Math.round(s * (times.length - 1))))];
    return html`<svg class="plot" viewBox=${`0 0 ${W} ${H}`} width="100%" role="img" aria-label=${label}>
        ${[0, 0.5, 1].map((s) => html`<g key=${s}><line class="grid" x1=${L} x2=${W - R} y1=${y(low + s * (high - low))} y2=${y(low + s * (high - low))} /><text x=${L - 6} y=${y(low + s * (high - low)) + 4} text-anchor="end">${number(low + s * (high - low))}</text></g>`)}
        ${ticks.map((i, k) => html`<text key=${"x" + i} x=${x(i)} y=${H - 6} text-anchor=${k === 0 ? "start" : k === ticks.length - 1 ? "end" : "middle"}>${cell(times[i]).slice(0, 16)}</text>`)}
        ${n > 0 && html`<line class="ideal" x1=${x(n - 1)} x2=${x(n - 1)} y1=${T} y2=${H - B} />`}
        ${band && html`<path class="band" d=${band} />`}
        ${n > 1 && html`<path class="known" d=${path(past.map((q, i) => [x(i), y(q[1])]))} />`}
        <path class="line" d=${line} />
        ${ahead.length <= 200 && ahead.map(([px, r]) => html`<circle class="mark" key=${cell(r.time)} cx=${px} cy=${y(r.value)} r="3"><title>${`${cell(r.time)}: ${number(r.value)}, 80% within ${number(r.low)} to ${number(r.high)}`}</title></circle>`)}
    </svg>`;
}

// All rows of the forecast, page after page; of a long one as many as a chart is chosen from.
const MOST = 20000;
function useRows(f, source) {
    const [state, set] = useState({ rows: f.rows, whole: !f.next_cursor });
    useEffect(() => {
        let mine = true;
        const follow = async () => {
            let rows = f.rows, cursor = f.next_cursor;
            try {
                while (mine && cursor && source.path && rows.length < MOST) {
                    const page = await get(source.path + query({ cursor }));
                    rows = [...rows, ...page.items];
                    cursor = page.next_cursor;
                    if (mine) set({ rows, whole: !cursor });
                }
            } catch (error) {
                if (mine) set((s) => ({ ...s, error }));
            }
        };
        follow();
        return () => (mine = false);
    }, [f]);
    return state;
}

function Choose({ series, at, go, whole }) {
    if (series.length < 2) return null;
    const step = (by) => go(series[(series.findIndex(([key]) => key === at) + by + series.length) % series.length][0]);
    return html`<div class="row fields"><label class="field">Series<select value=${at} onChange=${(e) => go(e.target.value)}>${series.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}</select></label>
        <button type="button" onClick=${() => step(-1)}>Before</button><button type="button" onClick=${() => step(1)}>Next</button>
        <span class="small soft">${plural(series.length, "series", "series")}${whole ? "" : " so far"}</span></div>`;
}

export function Forecast({ b, source }) {
    const p = b.prediction, f = p.forecast;
    const { rows, whole, error } = useRows(f, source);
    const by = useMemo(() => {
        const m = new Map();
        for (const r of rows) {
            const key = keyOf(Object.values(r.series));
            if (!m.has(key)) m.set(key, []);
            m.get(key).push(r);
        }
        return m;
    }, [rows]);
    const known = useMemo(() => histories(b, source), [b]);
    const [chosen, choose] = useState(null);
    const series = [...by].map(([key, list]) => [key, nameOf(list[0])]), at = by.has(chosen) ? chosen : series.length ? series[0][0] : null;
    const shown = at === null ? [] : by.get(at), past = at === null ? [] : (known.get(at) || []).slice(-Math.max(48, 4 * shown.length));
    const name = at === null ? "" : nameOf(shown[0]), steps = [...(typeof f.time === "string" ? [f.time] : f.time || [])].join(", ") || "the order of rows";
    return html`<div class="stack">
        <${Facts} of=${[["Steps ahead", count(shown.length), f.step == null ? null : `each ${stepWords(f.step)}${f.regular ? "" : ", irregular"}`], ["Series", count(series.length), f.series.map((c) => splitRef(c)[1]).join(", ") || "the table is one"], ["Times", steps], ["Seasons", f.seasons.length ? f.seasons.map(number).join(", ") : "none", f.seasons.length ? "in steps" : null]]} />
        <p class="soft">${f.method}</p>
        ${f.notes.length > 0 && html`<ul class="small soft">${f.notes.map((n) => html`<li key=${n}>${n}</li>`)}</ul>`}
        <${Problem} error=${error} />
        ${whole && html`<div class="row"><button type="button" onClick=${() => save("forecast.csv", "text/csv", csv([...f.series.map((c) => splitRef(c)[1]), "time", "value", "low", "high"], rows.map((r) => [...f.series.map((c) => r.series[c]), r.time, r.value, r.low, r.high])))}>Forecast as CSV</button></div>`}
        <${Choose} series=${series} at=${at} go=${choose} whole=${whole} />
        ${at !== null && html`<section class="card"><header><h2 class="break">${splitRef(p.target || "")[1]}${series.length > 1 ? `: ${name}` : ""}</h2><span class="small soft">the band holds 80% of the values</span></header>
            <div class="body"><${Fan} past=${past} rows=${shown} label=${`${name}: ${plural(shown.length, "step")} ahead, from ${cell(shown[0].time)} (${number(shown[0].value)}) to ${cell(shown[shown.length - 1].time)} (${number(shown[shown.length - 1].value)})`} /></div></section>`}
        <${Regimes} of=${(p.quality || {}).regimes} />
        ${at !== null && html`<${VirtualTable} label="Steps ahead" total=${shown.length} columns=${[{ name: "Time" }, { name: "Value", num: true }, { name: "80% interval", num: true }]}
            row=${(i) => shown[i] && [cell(shown[i].time), number(shown[i].value), `${number(shown[i].low)} to ${number(shown[i].high)}`]} />`}
    </div>`;
}
