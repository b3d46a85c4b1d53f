// Small pictures of our own, in SVG. Each says in its label what it shows; no meaning is in colour alone.
import { html } from "../ui.js";
import { count, isNumber, number, percent } from "../format.js";

// How a column's values are spread: bars of a histogram, or the shares of the most frequent values.
export function spread(values) {
    const present = values.filter((v) => v !== null && v !== undefined && v !== "");
    if (!present.length) return null;
    const numbers = present.filter(isNumber);
    if (numbers.length > 0.9 * present.length && new Set(numbers).size > 12) {
        let low = Infinity, high = -Infinity;
        for (const x of numbers) {
            if (x < low) low = x;
            if (x > high) high = x;
        }
        const bins = new Array(16).fill(0);
        for (const x of numbers) bins[Math.min(15, Math.floor((16 * (x - low)) / (high - low || 1)))]++;
        return { kind: "histogram", bins, low, high };
    }
    const counts = new Map();
    for (const v of present) counts.set(v, (counts.get(v) || 0) + 1);
    const top = [...counts].sort((a, b) => b[1] - a[1]);
    return { kind: "values", distinct: counts.size, top: top.slice(0, 5), of: present.length };
}

// The same as the service says it: of a bundle's column, or of a snapshot's.
export const spreadOf = (s) => (!s || !s.present ? null : s.bins ? { kind: "histogram", ...s } : { kind: "values", distinct: s.distinct, top: s.values.map((v) => [v.value, v.rows]), of: s.present });

export function Spread({ of }) {
    if (!of) return html`<span class="soft">–</span>`;
    const W = 112, H = 24;
    if (of.kind === "histogram") {
        const most = Math.max(...of.bins), w = W / of.bins.length;
        const end = (v) => (of.time ? new Date(1000 * v).toISOString().slice(0, 10) : number(v));
        const label = `from ${end(of.low)} to ${end(of.high)}`;
        return html`<div title=${label}><svg class="plot" width=${W} height=${H} role="img" aria-label=${"Values " + label}>
            ${of.bins.map((n, i) => html`<rect class="bar-mark" key=${i} x=${i * w + 0.5} width=${w - 1} y=${H - (H * n) / most} height=${(H * n) / most} />`)}
        </svg></div>`;
    }
    if (!of.top.length || (of.distinct > 0.9 * of.of && of.of > 20)) return html`<span class="soft small">${of.distinct === of.of ? "all differ" : `${percent(of.distinct / of.of)} differ`}</span>`;
    const label = of.top.map(([v, n]) => `${String(v).slice(0, 30)} ${percent(n / of.of)}`).join(", ");
    let x = 0;
    return html`<div title=${label}><svg class="plot" width=${W} height=${H} role="img" aria-label=${label}>
        <rect class="bar-soft" width=${W} height="10" y="2" rx="2" />
        ${of.top.map(([v, n], i) => {
            const w = (W * n) / of.of, at = x;
            x += w;
            return html`<rect class="bar-mark" key=${i} x=${at} y="2" width=${Math.max(0, w - 1)} height="10" opacity=${1 - 0.17 * i} />`;
        })}
        <text x="0" y="23">${String(of.top[0][0]).slice(0, 14)}${of.distinct > 1 ? ` +${of.distinct - 1}` : ""}</text>
    </svg></div>`;
}

const BOX = { W: 340, H: 220, L: 56, B: 34, T: 10, R: 12 };
const sx = (x) => BOX.L + x * (BOX.W - BOX.L - BOX.R);
const sy = (y) => BOX.H - BOX.B - y * (BOX.H - BOX.B - BOX.T);

function Axes({ xs, ys, x, y }) {
    return html`<g>
        ${ys.map(([at, text]) => html`<g key=${"y" + at}><line class="grid" x1=${sx(0)} x2=${sx(1)} y1=${sy(at)} y2=${sy(at)} /><text x=${sx(0) - 6} y=${sy(at) + 4} text-anchor="end">${text}</text></g>`)}
        ${xs.map(([at, text]) => html`<text key=${"x" + at} x=${sx(at)} y=${sy(0) + 14} text-anchor="middle">${text}</text>`)}
        <line class="axis" x1=${sx(0)} x2=${sx(1)} y1=${sy(0)} y2=${sy(0)} />
        <text x=${sx(0.5)} y=${BOX.H - 4} text-anchor="middle">${x}</text>
        <text x="9" y=${sy(0.5)} text-anchor="middle" transform=${`rotate(-90 9 ${sy(0.5)})`}>${y}</text>
    </g>`;
}
const HUNDREDS = [0, 0.25, 0.5, 0.75, 1].map((v) => [v, percent(v)]);

// points: [{said, was, rows}]; x and y say what they are.
export function Calibration({ points, label, x, y }) {
    const most = Math.max(...points.map((b) => b.rows));
    const d = points.map((b, i) => `${i ? "L" : "M"}${sx(b.said)} ${sy(b.was)}`).join("");
    return html`<svg class="plot" viewBox=${`0 0 ${BOX.W} ${BOX.H}`} width="100%" role="img" aria-label=${label}>
        <${Axes} xs=${HUNDREDS} ys=${HUNDREDS} x=${x} y=${y} />
        <line class="ideal" x1=${sx(0)} y1=${sy(0)} x2=${sx(1)} y2=${sy(1)} />
        <path class="line" d=${d} />
        ${points.map((b) => html`<circle class="mark" key=${b.said} cx=${sx(b.said)} cy=${sy(b.was)} r=${2 + 3 * Math.sqrt(b.rows / most)}><title>${`${x} ${percent(b.said)}: ${percent(b.was)} of ${b.rows} rows ${y}`}</title></circle>`)}
    </svg>`;
}

// pairs: [[actual, predicted]]
export function Scatter({ pairs, label }) {
    const all = pairs.flat();
    const low = Math.min(...all), high = Math.max(...all), of = high - low || 1;
    const at = (v) => (v - low) / of;
    const ticks = [0, 0.5, 1].map((v) => [v, number(low + v * of)]);
    return html`<svg class="plot" viewBox=${`0 0 ${BOX.W} ${BOX.H}`} width="100%" role="img" aria-label=${label}>
        <${Axes} xs=${ticks} ys=${ticks} x="actual" y="predicted" />
        <line class="ideal" x1=${sx(0)} y1=${sy(0)} x2=${sx(1)} y2=${sy(1)} />
        ${pairs.slice(0, 1000).map(([a, p], i) => html`<circle class="mark" key=${i} cx=${sx(at(a))} cy=${sy(at(p))} r="2.5" opacity="0.55" />`)}
    </svg>`;
}

// counts of rows in equally wide parts of 0 to 1, with a threshold where there is one; x says what lies there.
export function Shares({ bins, threshold, x, y = "rows", label }) {
    const most = Math.max(1, ...bins), w = 1 / bins.length;
    const ys = [0, 0.5, 1].map((v) => [v, count(Math.round(v * most))]);
    return html`<svg class="plot" viewBox=${`0 0 ${BOX.W} ${BOX.H}`} width="100%" role="img" aria-label=${label}>
        <${Axes} xs=${[0, 0.25, 0.5, 0.75, 1].map((v) => [v, number(v)])} ys=${ys} x=${x} y=${y} />
        ${bins.map((n, i) => html`<rect class="bar-mark" key=${i} x=${sx(i * w) + 0.5} width=${sx(w) - sx(0) - 1} y=${sy(n / most)} height=${sy(0) - sy(n / most)}><title>${`${number(i * w)} to ${number((i + 1) * w)}: ${count(n)}`}</title></rect>`)}
        ${isNumber(threshold) && html`<line class="base" x1=${sx(threshold)} x2=${sx(threshold)} y1=${sy(1)} y2=${sy(0) + 4} />`}
    </svg>`;
}

// How much something speaks for or against, in bits: a bar to the right or to the left of the middle.
export function Evidence({ weight, text }) {
    const w = Math.min(10, Math.abs(weight)) * 3.2;
    return html`<span class="bar" title=${`${number(weight)} bits`}><svg class="plot" width="68" height="8" aria-hidden="true"><line class="axis" x1="34" x2="34" y1="0" y2="8" /><rect class=${weight < 0 ? "bar-soft" : "bar-mark"} x=${weight < 0 ? 34 - w : 34} width=${w} height="8" /></svg><span>${text}</span></span>`;
}

// A score between its bounds, with the baseline marked.
export function Score({ score, low, high, base, name }) {
    const W = 260, H = 40, known = [score, low, high, base].filter(isNumber);
    const from = Math.min(0, ...known), to = Math.max(1, ...known);
    const x = (v) => 6 + ((W - 12) * (v - from)) / (to - from || 1);
    const label = `${name} ${number(score)}${isNumber(low) ? `, between ${number(low)} and ${number(high)}` : ""}${isNumber(base) ? `, baseline ${number(base)}` : ""}`;
    return html`<svg class="plot" width=${W} height=${H} viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${label}>
        <line class="axis" x1=${x(from)} x2=${x(to)} y1="14" y2="14" />
        ${isNumber(low) && html`<line class="range" x1=${x(low)} x2=${x(high)} y1="14" y2="14" />`}
        ${isNumber(base) && html`<line class="base" x1=${x(base)} x2=${x(base)} y1="5" y2="23" />`}
        ${isNumber(score) && html`<circle class="mark" cx=${x(score)} cy="14" r="5" />`}
        ${!(isNumber(base) && x(base) < 70) && html`<text x=${x(from)} y="36">${number(from)}</text>`}
        ${!(isNumber(base) && x(base) > W - 70) && html`<text x=${x(to)} y="36" text-anchor="end">${number(to)}</text>`}
        ${isNumber(base) && html`<text x=${Math.max(0, Math.min(W, x(base)))} y="36" text-anchor=${x(base) < 40 ? "start" : x(base) > W - 40 ? "end" : "middle"}>${`baseline ${number(base)}`}</text>`}
    </svg>`;
}

// bars: [[name, value]]
export function Bars({ bars, label, height = 180, width = innerWidth < 700 ? 360 : 960, text = String }) {
    const most = Math.max(1, ...bars.map((b) => b[1])), w = (width - 64) / Math.max(1, bars.length), step = Math.ceil(bars.length / (width < 700 ? 4 : 8));
    const y = (v) => height - 22 - ((height - 34) * v) / most;
    return html`<svg class="plot" viewBox=${`0 0 ${width} ${height}`} width="100%" role="img" aria-label=${label}>
        ${[0, 0.5, 1].map((v) => html`<g key=${v}><line class="grid" x1="64" x2=${width} y1=${y(v * most)} y2=${y(v * most)} /><text x="58" y=${y(v * most) + 4} text-anchor="end">${text(v * most)}</text></g>`)}
        ${bars.map(([name, v], i) => html`<g key=${name}><rect class="bar-mark" x=${66 + i * w} width=${Math.max(1, Math.min(48, w - 4))} y=${y(v)} height=${height - 22 - y(v)} rx="2"><title>${`${name}: ${text(v)}`}</title></rect>${i % step === 0 && html`<text x=${66 + i * w} y=${height - 6}>${name}</text>`}</g>`)}
    </svg>`;
}
