// The organization's meter, every figure a sum over the events below it; and what became of serve calls, as the gateways counted them.
import { html, useState, useMemo, Bar, Dialog, Facts, Head, Loaded, Table, Empty, save, useAction, useLoad } from "./ui.js";
import { api, get, may, query } from "./api.js";
import { count, csv, money, number } from "./format.js";
import { Bars } from "./bundle/plots.js";

const BY = [["op", "operation"], ["key", "key"], ["endpoint_id", "endpoint"], ["surface", "surface"], ["model", "base"]];

function Settings({ open, close, done }) {
    const load = useLoad(() => (open ? get("/platform/v1/organization") : Promise.resolve(null)), [open]);
    const [act, busy, error] = useAction(async (form) => {
        const cap = form.get("cap");
        await api("PUT", "/platform/v1/organization", { add_usage: form.get("add") === "on", spend_cap_usd: cap === "" ? null : Number(cap), emails: form.get("emails").split(/[\s,]+/).filter(Boolean),
            alerts: { jobs: form.get("jobs") === "on", usage: form.get("usage") === "on", keys: form.get("keys") === "on", connections: form.get("connections") === "on", quality: form.get("quality") === "on" } });
        close();
        done();
    });
    const o = load.data;
    return html`<${Dialog} title="Allowance and alerts" open=${open} close=${close} onSubmit=${act} busy=${busy || !o} error=${error || load.error}>
        ${o && html`<label class="row"><input type="checkbox" name="add" checked=${o.add_usage} /> Continue beyond the allowance</label>
        <label class="field">Spend cap in USD<input name="cap" type="number" min="0" step="0.01" value=${o.spend_cap_usd ?? ""} placeholder="no cap" /></label>
        <label class="field">E-mail to<input name="emails" value=${o.emails.join(", ")} placeholder="ann@example.org" /></label>
        <fieldset class="stack tight"><legend class="strong small">E-mail about</legend>${["jobs", "usage", "keys", "connections", "quality"].map((a) => html`<label class="row" key=${a}><input type="checkbox" name=${a} checked=${o.alerts[a]} /> ${a}</label>`)}</fieldset>`}
    <//>`;
}

function Events({ events }) {
    const [by, group] = useState("op");
    const [only, choose] = useState(null);
    const sums = useMemo(() => {
        const m = new Map();
        for (const e of events) m.set(e[by] || "–", (m.get(e[by] || "–") || 0) + e.cells);
        return [...m].sort((a, b) => b[1] - a[1]);
    }, [events, by]);
    const most = sums.length ? sums[0][1] : 1;
    const shown = only === null ? events : events.filter((e) => (e[by] || "–") === only);
    const columns = ["day", "op", "cells", "requests", "tables", "model", "key", "endpoint_id", "surface"];
    return html`<div class="stack">
        <div class="spread"><label class="row">Cells by <select value=${by} onChange=${(e) => { group(e.target.value); choose(null); }}>${BY.map(([id, text]) => html`<option key=${id} value=${id}>${text}</option>`)}</select></label>
            <button type="button" onClick=${() => save("usage.csv", "text/csv", csv(columns, events.map((e) => columns.map((c) => e[c]))))}>CSV</button></div>
        <${Table} label="Sums" rows=${sums} keyOf=${(s) => s[0]} columns=${[
            { name: BY.find((x) => x[0] === by)[1], class: "break", cell: (s) => html`<button type="button" class="plain" aria-pressed=${String(only === s[0])} onClick=${() => choose(only === s[0] ? null : s[0])}>${s[0]}</button>` },
            { name: "Cells", num: true, cell: (s) => count(s[1]) }, { name: "Share", cell: (s) => html`<${Bar} value=${s[1]} of=${most} label="" />` },
        ]} />
        <h2>${only === null ? "All events" : `Events of ${only}`} <span class="soft small">${count(shown.reduce((n, e) => n + e.cells, 0))} cells as counted</span></h2>
        <${Table} label="Events" rows=${shown.slice(0, 200)} columns=${[
            { name: "Day", class: "nowrap", cell: (e) => e.day }, { name: "Operation", cell: (e) => e.op }, { name: "Cells", num: true, cell: (e) => count(e.cells) },
            { name: "Requests", num: true, cell: (e) => count(e.requests) }, { name: "Base", cell: (e) => e.model }, { name: "Key", class: "small mono", cell: (e) => (e.key || "").slice(0, 12) },
            { name: "Endpoint", class: "small mono", cell: (e) => e.endpoint_id && html`<a href=${"#/endpoints/" + e.endpoint_id}>${e.endpoint_id.slice(0, 8)}</a>` }, { name: "Surface", cell: (e) => e.surface },
        ]} />
        ${shown.length > 200 && html`<p class="small soft">200 of ${count(shown.length)}; the CSV has all of them.</p>`}
    </div>`;
}

export default function Usage() {
    const load = useLoad(() => get("/v2/usage"), []);
    const [setting, set] = useState(false);
    return html`<div><${Head} title="Usage" about="Cells, in fresh-cell equivalents. Inputs are counted, outputs are free.">${may("manage") && html`<button type="button" onClick=${() => set(true)}>Allowance and alerts</button>`}<//>
        <${Loaded} of=${load}>${(u) => {
            const days = [...u.events.reduce((m, e) => m.set(e.day, (m.get(e.day) || 0) + e.cells * (u.by_op_multiplier[e.op] ?? 1)), new Map())].sort();
            return html`<div class="stack">
                <${Facts} of=${[["Used", u.plan === "api" ? "–" : number(u.used_pct) + "%", u.lifetime ? "of the lifetime allotment" : `of the weekly allowance`], ["Cells", count(u.total_cells), u.window.replaceAll("T00:00:00Z", "")], ...(u.amount_usd == null ? [] : [["Beyond the allowance", `${money(u.amount_usd)} USD`, u.add_usage.spend_cap_left_usd == null ? `${number(u.price_usd_per_million_cells)} USD a million cells` : `${money(u.add_usage.spend_cap_left_usd)} USD left under the cap`]]), ["Resets in", u.lifetime ? "never" : u.resets_in], ["Beyond the allowance", u.add_usage.enabled ? "calls continue" : "calls stop", u.add_usage.spend_cap_set ? `cap ${number(u.add_usage.spend_cap_usd)} USD` : "no cap"], ["By the console", count(u.by_surface.ui), `${count(u.by_surface.api)} by API`]]} />
                ${u.plan !== "api" && html`<progress aria-label="Share of the allowance used" max="100" value=${u.used_pct}></progress>`}
                ${u.events.length ? html`<section class="card"><header><h2>By day</h2></header><div class="body"><${Bars} bars=${days.map(([d, n]) => [d.slice(5), n])} text=${(v) => count(Math.round(v))} label=${"Cells by day: " + days.map(([d, n]) => `${d} ${Math.round(n)}`).join(", ")} /></div></section><${Events} events=${u.events} />` : html`<${Empty} title="No usage yet"><p>Run tables, and their cells appear here.</p><a class="button" href="#/run">Run tables</a><//>`}
            </div>`;
        }}<//>
        <${Settings} open=${setting} close=${() => set(false)} done=${load.reload} />
    </div>`;
}

// ---- the service level

const COLUMNS = ["calls", "answered", "failed", "refused", "abandoned", "availability", "p50_ms", "p95_ms", "p99_ms"];
// A share of 1 that is not all of them must not read as 100 %.
const share = (x) => (x == null ? "–" : `${(Math.floor(100000 * x) / 1000).toFixed(x === 1 ? 0 : 3)} %`);
const ms = (x) => (x == null ? "–" : x >= 30000 ? "over 30 s" : x >= 1000 ? `${number(Math.round(x / 10) / 100)} s` : `${number(Math.round(10 * x) / 10)} ms`);

const Spans = ({ label, of, name, names }) => html`<${Table} label=${label} rows=${of} keyOf=${(s) => s[name]} columns=${[
    { name: label === "Days" ? "Day" : label === "Months" ? "Month" : "Endpoint", class: "nowrap", cell: (s) => (names && names[s[name]]) || s[name] }, { name: "Availability", num: true, class: "strong", cell: (s) => share(s.availability) },
    { name: "Answered", num: true, cell: (s) => count(s.answered) }, { name: "Failed", num: true, cell: (s) => count(s.failed) },
    { name: "Refused", num: true, cell: (s) => count(s.refused) }, { name: "Abandoned", num: true, cell: (s) => count(s.abandoned) },
    { name: "p50", num: true, cell: (s) => ms(s.p50_ms) }, { name: "p95", num: true, cell: (s) => ms(s.p95_ms) }, { name: "p99", num: true, cell: (s) => ms(s.p99_ms) },
]} />`;

function Level({ level, names }) {
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
        ${level.endpoints && level.endpoints.length > 0 && html`<h2>By endpoint, of the last 12 months</h2>
            <${Spans} label="Endpoints" of=${level.endpoints} name="endpoint_id" names=${names} />`}
        <p class="small soft">Availability is the share of answered calls among those that were answered or failed on our side. Refused calls, and calls whose caller hung up first, count neither way. Times are without the sending of the body, from a histogram. Days are in UTC.</p>
    </div>`;
}

export function ServiceLevel() {
    const [endpoint, choose] = useState("");
    const load = useLoad(() => get("/platform/v1/service-level" + query({ months: 12, endpoint })), [endpoint]);
    const known = useLoad(() => get("/v2/endpoints?limit=100"), []);
    const endpoints = (known.data && known.data.endpoints) || [];
    const names = Object.fromEntries(endpoints.map((e) => [e.id, e.name]));
    return html`<div><${Head} title="Service level" about="What became of serve calls, as the gateways saw them.">${endpoints.length > 0 && html`<label class="row">Endpoint <select value=${endpoint} onChange=${(e) => choose(e.target.value)}><option value="">all calls</option>${endpoints.map((e) => html`<option key=${e.id} value=${e.id}>${e.name}</option>`)}</select></label>`}<//>
        <${Loaded} of=${load}>${(level) => (level.months.length ? html`<${Level} key=${endpoint} level=${level} names=${names} />` : html`<${Empty} title="No serve call yet"><p>Serve rows by an endpoint, and what became of the calls appears here within seconds.</p><a class="button" href="#/endpoints">Endpoints</a><//>`)}<//>
    </div>`;
}
