// A bundle as people read it: what the tables are, how they relate, what was filled, what can be predicted.
// `source` says where its further pages are, and has the tables' rows where this tab sent them.
import { html, useState, useMemo, Bar, Facts, Panel, Tabs, Table, VirtualTable, Empty } from "../ui.js";
import { cell, columnNames, count, number, percent, plural, splitRef, words } from "../format.js";
import { Spread, spread, spreadOf } from "./plots.js";
import { TableMap } from "./map.js";
import { Duplicates } from "./duplicates.js";
import { Matches } from "./matches.js";
import { Prediction } from "./prediction.js";
import { Forecast } from "./forecast.js";
import { Doubts } from "./doubts.js";
import { useArray } from "../paged.js";

const ROW_IS = { entity: "A row is a thing of its own", observation: "A row is an observation", line: "A row is a line", bridge: "A row joins two things" };
const grainOf = (t) => t.grain && ROW_IS[t.grain.kind] + (t.grain.of.length ? (t.grain.kind === "entity" ? ", named by " : ": ") + t.grain.of.map((a) => a.slice(a.indexOf(".") + 1)).join(", ") : "") + ` (${percent(t.grain.confidence)})`;
const sectorOf = (t) => t.sector && t.sector.top1;

function Overview({ b, go }) {
    const s = b.summary, m = b.cross_table_map, t = b.target_selection;
    const pii = b.tables.flatMap((x) => x.column_profile.filter((c) => c.pii).map((c) => `${x.id}.${c.name || "c" + c.index}`));
    return html`<div class="stack">
        <${Facts} of=${[
            ["Tables", count(s.tables), plural(s.records_total, "row")],
            m && ["Shared attributes", count(s.shared_attributes), s.keys_used === "none" ? "no shared key" : "keys: " + s.keys_used],
            m && ["Linked rows", count(s.records_linked), (m.summary.children ? plural(m.summary.children, "row") + " by key" : "the same entity")],
            ["Filled cells", count(b.imputation.total_filled), b.imputation.not_filled && b.imputation.not_filled.length ? plural(b.imputation.not_filled.length, "column") + " left empty" : null],
            ["Target", b.prediction ? (b.prediction.target || "every row") : "none", b.prediction ? b.prediction.task_type : null],
            ["Personal data", plural(pii.length, "column"), pii.slice(0, 3).join(", ")],
        ]} />
        <div class="two">
            ${b.tables.map((x) => html`<section class="card" key=${x.id}><header><h2 class="break">${x.id}</h2><span class="soft small">${plural(x.rows, "row")}, ${plural(x.cols, "column")}</span></header>
                <div class="body stack tight">
                    ${grainOf(x) && html`<p title=${x.grain.reason}>${grainOf(x)}</p>`}
                    <h3>Looks like</h3>
                    ${sectorOf(x) ? x.sector.top5.slice(0, 3).map((y) => html`<div class="spread" key=${y.slug}><span>${y.name}</span><${Bar} value=${y.confidence} label=${percent(y.confidence)} /></div>`) : html`<p class="soft">The values point to no sector.</p>`}
                    ${x.sector && x.sector.evidence && x.sector.evidence.length > 0 && html`<p class="small soft">From ${x.sector.evidence.slice(0, 3).map((e) => (e.words.length ? `${e.column || "c" + e.index} (${e.words.slice(0, 3).join(", ")})` : e.column || "c" + e.index)).join("; ")}</p>`}
                </div></section>`)}
        </div>
        ${t && html`<section class="card"><header><h2>What can be predicted</h2><button type="button" class="plain" onClick=${() => go("target")}>All candidates</button></header>
            <div class="body"><p>${t.column ? html`<span class="strong">${t.column}</span>: ` : ""}${t.reason}</p></div></section>`}
    </div>`;
}

/* What is to be known of a column besides: marks, and what its texts hold of persons. */
function notes(c) {
    const marks = (c.missing_marks || []).map((x) => JSON.stringify(x.value ?? x)).slice(0, 3).join(", ");
    const held = (c.pii_kinds || []).map((k) => `${words(k.kind)} in ${percent(k.share, k.share < 0.1 ? 1 : 0)}`).join(", ");
    return [marks && "stand for missing: " + marks, held && "cells hold " + held].filter(Boolean).join("; ");
}

function Tables({ b, source }) {
    const [at, go] = useState(b.tables[0] && b.tables[0].id);
    const t = b.tables.find((x) => x.id === at) || b.tables[0];
    const own = source.rows && source.rows[t.id];
    // the service draws all but personal data, which only the tab that sent them has
    const spreads = useMemo(() => (own || t.column_profile.some((c) => c.spread)) && t.column_profile.map((c) => spreadOf(c.spread) || (own && spread(own.rows.map((r) => r[c.index])))), [t, own]);
    return html`<div class="stack">
        ${b.tables.length > 1 && html`<label class="field">Table<select value=${t.id} onChange=${(e) => go(e.target.value)}>${b.tables.map((x) => html`<option key=${x.id} value=${x.id}>${x.id} (${plural(x.rows, "row")})</option>`)}</select></label>`}
        <${Table} label=${"Columns of " + t.id} rows=${t.column_profile} keyOf=${(c) => c.index} columns=${[
            { name: "Column", class: "strong break", cell: (c) => c.name || html`<span class="soft">c${c.index} (no name)</span>` },
            { name: "Role", cell: (c) => html`<div class="row"><span>${words(c.role)}</span>${c.pii && html`<span class="tag warn" title=${"personal data, " + percent(c.pii_confidence)}>PII</span>`}</div>` },
            { name: "Confidence", cell: (c) => html`<${Bar} value=${c.role_confidence} label=${percent(c.role_confidence)} />` },
            { name: "Type", cell: (c) => c.type },
            { name: "Missing", cell: (c) => (c.missing_pct > 0 ? html`<${Bar} value=${c.missing_pct} label=${percent(c.missing_pct, c.missing_pct < 0.1 ? 1 : 0)} />` : html`<span class="soft">none</span>`) },
            ...(spreads ? [{ name: "Values", cell: (c, i) => html`<${Spread} of=${spreads[i]} />` }] : []),
            { name: "Notes", class: "small soft", cell: notes },
        ]} />
    </div>`;
}

const RELATION = { one_to_one: "one to one", one_to_many: "one to many", many_to_one: "many to one", many_to_many: "many to many" };

function Map_({ b }) {
    const m = b.cross_table_map;
    return html`<div class="stack">
        <${TableMap} bundle=${b} />
        ${m.relations && m.relations.length > 0 && html`<section class="stack tight"><h2>Relations</h2><${Table} label="Relations" rows=${m.relations} columns=${[
            { name: "Tables", class: "strong", cell: (r) => `${r.a} → ${r.b}` },
            { name: "Relation", cell: (r) => html`${RELATION[r.relation]} ${r.key && html`<span class="tag accent">key</span>`}` },
            { name: "Columns", cell: (r) => r.a_columns.map((a, i) => `${a} = ${r.b_columns[i]}`).join(", ") || "the same things" },
            { name: "Rows", num: true, cell: (r) => count(r.matches) },
            { name: "Confidence", cell: (r) => html`<${Bar} value=${r.confidence} label=${percent(r.confidence)} />` },
            { name: "Why", class: "small soft", cell: (r) => r.evidence },
        ]} /></section>`}
        <section class="stack tight"><h2>Columns with the same content</h2>
        ${m.column_alignment.length ? html`<${Table} label="Aligned columns" rows=${m.column_alignment} columns=${[
            { name: "Attribute", class: "strong", cell: (x) => x.attribute },
            { name: "Column", cell: (x) => x.a },
            { name: "and column", cell: (x) => x.b },
            { name: "Example", class: "small", cell: (x) => (x.example ? html`<span class="mono">${cell(x.example.a)}</span> <span class="soft">and</span> <span class="mono">${cell(x.example.b)}</span>` : "") },
            { name: "Confidence", cell: (x) => html`<${Bar} value=${x.confidence} label=${percent(x.confidence)} />` },
        ]} />` : html`<p class="soft">These tables share no columns at this confidence.</p>`}</section>
    </div>`;
}

// What was filled: "table\nrow\ncolumn" to the cell's entry.
export const filledCells = (items) => new Map(items.map((f) => [`${f.table}\n${f.row}\n${f.column}`, f]));

function Rows({ b, source }) {
    const u = b.unified_rows;
    const list = useArray(u.rows, u.next_cursor, u.total, source);
    const marks = useMemo(() => filledCells(b.imputation.filled), [b]);
    const from = useMemo(() => new Map(b.cross_table_map.unified_schema.shared.map((s) => [s.attribute, s.from])), [b]);
    const sourcesOf = (attribute) => from.get(attribute) || b.tables.filter((t) => columnNames(t).includes(attribute)).map((t) => `${t.id}.${attribute}`);
    const columns = [{ name: "Entity", num: true }, { name: "From" }, ...u.schema.map((name) => ({ name })), { name: "Confidence", num: true }];
    const filled = (r, attribute) => sourcesOf(attribute).some((ref) => {
        const [t, c] = splitRef(ref);
        return r.from.rows && r.from.rows[t] != null && marks.has(`${t}\n${r.from.rows[t]}\n${c}`);
    });
    return html`<div class="stack tight">
        <p class="small soft">Each row is one entity, combined from all tables. <span class="tag filled">Marked</span> cells were empty and have been filled. ${u.provenance.survivorship && `Where sources differ, the record takes ${u.provenance.survivorship}.`}</p>
        <${VirtualTable} label="Unified rows" columns=${columns} total=${list.total} near=${list.near}
            row=${(i) => {
                const r = list.items[i];
                if (!r) return null;
                const children = (r.children || []).map((c) => `${c.rows.length} ${c.table}`);
                const rows = Object.entries(r.from.rows || {}).map(([t, n]) => `${t} ${n}`);
                return [r.entity, [...rows, ...children].join(", "), ...u.schema.map((a) => cell(r.record[a])), percent(r.confidence)];
            }}
            classOf=${(i, k) => {
                const r = list.items[i], a = u.schema[k - 2];
                return r && a !== undefined && filled(r, a) ? "filled" : "";
            }} />
        ${list.foot}
    </div>`;
}

function Filled({ b, source }) {
    const m = b.imputation;
    const list = useArray(m.filled, m.next_cursor, m.total_filled, source);
    const sure = useMemo(() => new Map(m.row_confidence.map((r) => [`${r.table}\n${r.row}`, r.confidence])), [b]);
    if (!m.total_filled && !(m.not_filled || []).length) return html`<${Empty} title="Nothing was missing"><p>Every cell that can be filled has a value.</p><//>`;
    return html`<div class="stack">
        ${m.columns && m.columns.length > 0 && html`<section class="stack tight"><h2>By column</h2><${Table} label="Filled columns" rows=${m.columns} columns=${[
            { name: "Column", class: "strong", cell: (c) => `${c.table}.${c.column}` },
            { name: "Method", cell: (c) => c.method },
            { name: "Score on known cells", num: true, cell: (c) => (c.score == null ? "–" : `${c.metric} ${number(c.score)}`) },
            { name: "Baseline", num: true, cell: (c) => number(c.baseline) },
        ]} /></section>`}
        <section class="stack tight"><h2>Cells</h2>
        <${VirtualTable} label="Filled cells" total=${list.total} near=${list.near} columns=${[{ name: "Table" }, { name: "Row", num: true }, { name: "Column" }, { name: "Value" }, { name: "Method" }, { name: "Confidence of the row", num: true }]}
            row=${(i) => {
                const f = list.items[i];
                return f && [f.table, f.row, f.column, cell(f.value), f.method, percent(sure.get(`${f.table}\n${f.row}`))];
            }} classOf=${(i, k) => (k === 3 ? "filled" : "")} />
        ${list.foot}</section>
        ${(m.not_filled || []).length > 0 && html`<section class="stack tight"><h2>Left empty</h2><${Table} label="Columns left empty" rows=${m.not_filled} columns=${[
            { name: "Column", class: "strong", cell: (c) => `${c.table}.${c.column}` }, { name: "Why", cell: (c) => c.reason },
        ]} /></section>`}
    </div>`;
}

function Target({ b, choose }) {
    const t = b.target_selection;
    return html`<div class="stack">
        <div class="note"><div><span class="strong">${t.column || "No target"}</span> <span class="tag">${t.mode}</span></div><p>${t.reason}</p>${b.task_selection && b.task_selection.type && html`<p class="soft">${b.task_selection.type}: ${b.task_selection.reason}</p>`}</div>
        ${t.candidates && html`<${Table} label="Candidates for the target" rows=${[...t.candidates].sort((x, y) => y.selected - x.selected || y.eligible - x.eligible || (y.score || 0) - (x.score || 0))} keyOf=${(c) => c.col} columns=${[
            { name: "Column", class: "strong", cell: (c) => c.col },
            { name: "State", cell: (c) => (c.selected ? html`<span class="tag accent">chosen</span>` : c.eligible ? html`<span class="tag good">eligible</span>` : html`<span class="tag">not eligible</span>`) },
            { name: "Explained", cell: (c) => (c.explained == null ? "–" : html`<${Bar} value=${c.explained} label=${percent(c.explained)} />`) },
            { name: "Why", class: "small", cell: (c) => c.reason },
            ...(choose ? [{ name: "Use", hidden: true, class: "actions", cell: (c) => c.eligible && !c.selected && html`<button type="button" class="plain" onClick=${() => choose(c.col)}>Predict this<span class="hidden">: ${c.col}</span></button>` }] : []),
        ]} />`}
    </div>`;
}

export function Bundle({ bundle: b, source, choose, without }) {
    const [at, go] = useState("overview");
    const m = b.cross_table_map;
    const tabs = [
        ["overview", "Overview"],
        ["tables", "Columns", b.tables.reduce((n, t) => n + t.cols, 0)],
        m && ["map", "Map", m.column_alignment.length],
        m && ["matches", "Matches", m.entity_matches.length + (m.duplicates || []).length],
        (b.duplicates || []).length > 0 && ["duplicates", "Duplicates", b.duplicates.reduce((n, d) => n + d.rows_in_groups, 0)],
        b.unified_rows && ["rows", "Rows", b.unified_rows.total],
        ["filled", "Filled cells", b.imputation.total_filled],
        ["target", "Target"],
        b.prediction && b.prediction.forecast && ["forecast", "Forecast", b.prediction.forecast.total],
        b.prediction && ["prediction", "Prediction", b.prediction.total],
    ].filter(Boolean);
    return html`<div>
        <${Doubts} leaks=${b.prediction && b.prediction.likely_leaks} warnings=${b.warnings} without=${without} />
        <${Tabs} tabs=${tabs} at=${at} go=${go} label="Parts of the result" />
        <${Panel} at=${at}>
            ${at === "overview" && html`<${Overview} b=${b} go=${go} />`}
            ${at === "tables" && html`<${Tables} b=${b} source=${source} />`}
            ${at === "map" && html`<${Map_} b=${b} />`}
            ${at === "matches" && html`<${Matches} b=${b} source=${source} />`}
            ${at === "duplicates" && html`<${Duplicates} b=${b} source=${source} />`}
            ${at === "rows" && html`<${Rows} b=${b} source=${source} />`}
            ${at === "filled" && html`<${Filled} b=${b} source=${source} />`}
            ${at === "target" && html`<${Target} b=${b} choose=${choose} />`}
            ${at === "forecast" && html`<${Forecast} b=${b} source=${source} />`}
            ${at === "prediction" && html`<${Prediction} b=${b} source=${source} />`}
        <//>
    </div>`;
}
