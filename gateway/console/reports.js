// Reports: what a state was worth when it was made. Printable; a star keeps one on top.
import { html, Empty, Facts, Head, Loaded, Problem, Table, useAction, useLoad, usePages } from "./ui.js";
import { get, may, p, post, query } from "./api.js";
import { count, number, percent, time } from "./format.js";
import { HeldOut } from "./endpoints.js";

function Star({ r, done }) {
    const [act, busy, error] = useAction(async () => {
        await post(p`/platform/v1/reports/${r.id}` + (r.pinned ? "/unstar" : "/star"));
        done();
    });
    if (!may("manage")) return r.pinned ? "★" : null;
    return html`<button type="button" class="plain" disabled=${busy} aria-pressed=${String(!!r.pinned)} title=${error ? error.message : ""} onClick=${act}>${r.pinned ? "★" : "☆"}<span class="hidden"> star ${r.name}</span></button>`;
}

function List() {
    const list = usePages((cursor) => get("/v2/reports" + query({ cursor, limit: 50 })), "reports", []);
    return html`<div><${Head} title="Reports" about="Every creation, refresh and upgrade of an endpoint writes one; reports never change." />
        <${Loaded} of=${list}>${() => (list.items.length ? html`<div class="stack tight"><${Table} label="Reports" rows=${list.items} keyOf=${(r) => r.id} columns=${[
            { name: "Star", hidden: true, cell: (r) => html`<${Star} r=${r} done=${list.reload} />` },
            { name: "Name", class: "strong break", cell: (r) => html`<a href=${"#/reports/" + r.id}>${r.name}</a>` },
            { name: "Kind", cell: (r) => html`<span class="tag">${r.kind}</span>` },
            { name: "Base", cell: (r) => r.base },
            { name: "Score", num: true, cell: (r) => (r.score == null ? "–" : `${number(r.score)} ${r.metric}`) },
            { name: "Change", num: true, cell: (r) => r.delta || "" },
            { name: "Created", class: "nowrap", cell: (r) => time(r.created_at) },
        ]} />${list.foot}</div>` : html`<${Empty} title="No report yet"><p>Turn a run into an endpoint; its first report shows how well it predicts rows it has not seen.</p><a class="button" href="#/run">Run tables</a><//>`)}<//>
    </div>`;
}

function One({ id }) {
    const load = useLoad(() => get(p`/v2/reports/${id}`), [id]);
    return html`<${Loaded} of=${load} page=${["Reports", "#/reports"]}>${(r) => html`
        <${Head} title=${r.name} crumb=${["Reports", "#/reports"]}><${Star} r=${r} done=${load.reload} />${r.endpoint_id && html`<a class="button" href=${"#/endpoints/" + r.endpoint_id}>Endpoint</a>`}<button type="button" onClick=${() => print()}>Print</button><//>
        <div class="stack">
            <${Facts} of=${[["Kind", r.kind], ["Base", r.base], r.target && r.target.column && ["Target", r.target.column, r.target.task], r.data && r.data.rows != null && ["Rows", count(r.data.rows)], ["Created", time(r.created_at)],
                r.previous && ["Before", number(r.previous.score), `${r.previous.base}; ${r.delta || r.previous.delta || ""}`]]} />
            ${r.metrics ? html`<${HeldOut} h=${{ ...r.metrics, split: r.split, weakest_slice: r.weakest_slice, note: r.estimate_note, warnings: r.warnings, likely_leaks: r.likely_leaks }} />` : html`<p class="soft">Runs have no held-out score; endpoints do.</p>`}
            ${r.confidence && html`<dl class="pairs"><dt>Confidences</dt><dd>${r.confidence.calibrated ? "calibrated" : "not calibrated on these rows"}; ${r.confidence.spread}</dd></dl>`}
            ${r.cross_table && r.cross_table.column_alignment && r.cross_table.column_alignment.length > 0 && html`<section class="stack tight"><h2>Columns with the same content</h2><${Table} label="Aligned columns" rows=${r.cross_table.column_alignment} columns=${[
                { name: "Attribute", class: "strong", cell: (x) => x.attribute }, { name: "Column", cell: (x) => x.a }, { name: "and column", cell: (x) => x.b }, { name: "Confidence", num: true, cell: (x) => percent(x.confidence) }]} /></section>`}
        </div>`}<//>`;
}

export default ({ path }) => (path[0] ? html`<${One} id=${path[0]} />` : html`<${List} />`);
