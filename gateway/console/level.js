// What became of serve calls, by month and day, as the gateways counted them.
import { html, useState, Empty, Facts, Head, Loaded, Table, save, useLoad } from "./ui.js";
import { get } from "./api.js";
import { count, csv, number } from "./format.js";
import { Bars } from "./bundle/plots.js";

const COLUMNS = ["calls", "answered", "failed", "refused", "abandoned", "availability", "p50_ms", "p95_ms", "p99_ms"];
// A share of 1 that is not all of them must not read as 100 %.
const share = (x) => (x == null ? "–" : `${(Math.floor(100000 * x) / 1000).toFixed(x === 1 ? 0 : 3)} %`);
const ms = (x) => (x == null ? "–" : x >= 30000 ? "over 30 s" : x >= 1000 ? `${number(Math.round(x / 10) / 100)} s` : `${number(Math.round(10 * x) / 10)} ms`);

const Spans = ({ label, of, name }) => html`<${Table} label=${label} rows=${of} keyOf=${(s) => s[name]} columns=${[
    { name: name === "day" ? "Day" : "Month", class: "nowrap", cell: (s) => s[name] }, { name: "Availability", num: true, class: "strong", cell: (s) => share(s.availability) },
    { name: "Answered", num: true, cell: (s) => count(s.answered) }, { name: "Failed", num: true, cell: (s) => count(s.failed) },
    { name: "Refused", num: true, cell: (s) => count(s.refused) }, { name: "Abandoned", num: true, cell: (s) => count(s.abandoned) },
    { name: "p50", num: true, cell: (s) => ms(s.p50_ms) }, { name: "p95", num: true, cell: (s) => ms(s.p95_ms) }, { name: "p99", num: true, cell: (s) => ms(s.p99_ms) },
]} />`;

function Level({ level }) {
    const [month, choose] = useState(level.months[0].month);
    const m = level.months.find((x) => x.month === month) || level.months[0];
    const days = level.days.filter((d) => d.day.startsWith(m.month));
    const bars = [...days].reverse().map((d) => [d.day.slice(5), d.failed]);
    return html`<div class="stack">
        <div class="spread"><label class="row">Month <select value=${m.month} onChange=${(e) => choose(e.target.value)}>${level.months.map((x) => html`<option key=${x.month} value=${x.month}>${x.month}</option>`)}</select></label>
            <button type="button" onClick=${() => save("service-level.csv", "text/csv", csv(["day", ...COLUMNS], level.days.map((d) => [d.day, ...COLUMNS.map((c) => d[c])])))}>CSV</button></div>
        <${Facts} of=${[["Availability", share(m.availability), `of ${count(m.answered + m.failed)} calls`], ["Failed", count(m.failed), "on our side (5xx)"], ["Refused", count(m.refused), "over a limit, or wrong (4xx)"], ["Half within", ms(m.p50_ms), `95 % within ${ms(m.p95_ms)}`], ["99 % within", ms(m.p99_ms), "of those answered"]]} />
        <section class="card"><header><h2>Failed calls by day</h2></header><div class="body"><${Bars} bars=${bars} text=${(v) => count(Math.round(v))} label=${"Failed calls by day: " + bars.map(([d, n]) => `${d} ${n}`).join(", ")} /></div></section>
        <${Spans} label="Days" of=${days} name="day" />
        <h2>By month</h2>
        <${Spans} label="Months" of=${level.months} name="month" />
        <p class="small soft">Availability is the share of answered calls among those that were answered or failed on our side. Refused calls, and calls whose caller hung up first, count neither way. Times are without the sending of the body, from a histogram. Days are in UTC.</p>
    </div>`;
}

export default function ServiceLevel() {
    const load = useLoad(() => get("/platform/v1/service-level?months=12"), []);
    return html`<div><${Head} title="Service level" about="What became of serve calls, as the gateways saw them." />
        <${Loaded} of=${load}>${(level) => (level.months.length ? html`<${Level} level=${level} />` : html`<${Empty} title="No serve call yet"><p>Serve rows by an endpoint, and what became of the calls appears here within seconds.</p><a class="button" href="#/endpoints">Endpoints</a><//>`)}<//>
    </div>`;
}
