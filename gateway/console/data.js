// Datasets and the connections that feed them.
import { html, useState, useRef, Dialog, Empty, Facts, Head, Loaded, Panel, Problem, Table, Tabs, useAction, useLoad, usePages } from "./ui.js";
import { api, get, may, newKey, p, post, query, upload } from "./api.js";
import { ago, bytes, count, plural, time } from "./format.js";
import { Connect } from "./connect.js";
import { Snapshots } from "./snapshots.js";
import { Values } from "./bundle/values.js";

// The names of sectors by which data are made; the service refuses what it does not know by name.
const SECTORS = "agriculture energy-utilities manufacturing automotive real-estate retail food-beverage transportation hospitality banking capital-markets insurance healthcare life-sciences education government public-safety nonprofit media sports telecom technology marketing human-resources environment".split(" ");

function Generate({ open, close, done }) {
    const [act, busy, error] = useAction(async (form) => {
        const body = { sector: form.get("sector"), rows: Number(form.get("rows")), options: { tables: form.get("tables") === "on" } };
        if (form.get("name")) body.name = form.get("name");
        const r = await post("/v2/data/generate", body, { key: newKey() });
        close();
        done(r);
    });
    return html`<${Dialog} title="Generate tables" open=${open} close=${close} onSubmit=${act} action="Generate" busy=${busy} error=${error}>
        <p class="soft">Synthetic tables typical of the sector, for trying things out. Their cells are counted at the synthetic rate.</p>
        <label class="field">Sector<select name="sector">${SECTORS.map((s) => html`<option key=${s} value=${s} selected=${s === "retail"}>${s.replaceAll("-", " ")}</option>`)}</select></label>
        <label class="field">Rows of the main table<input name="rows" type="number" min="1" max="1000000" required value="1000" /></label>
        <label class="field">Name<input name="name" maxlength="128" placeholder="default: the sector's name" /></label>
        <label class="row"><input type="checkbox" name="tables" /> All linked tables of the sector</label>
    <//>`;
}

function List() {
    const list = usePages((cursor) => get("/v2/data" + query({ cursor, limit: 50 })), "datasets", []);
    const [connecting, connect] = useState(false);
    const [generating, generate] = useState(false);
    const file = useRef(null);
    const [uploadAll, busy, error] = useAction(async (files) => {
        for (const f of files) await upload(f);
        list.reload();
    });
    return html`<div><${Head} title="Data" about="Datasets are immutable snapshots of tables; connections bring new ones from a source.">
            ${may("manage") && html`<button type="button" disabled=${busy} onClick=${() => file.current.click()}>${busy ? "Uploading …" : "Upload files"}</button>
            <input ref=${file} type="file" multiple class="hidden" tabindex="-1" aria-label="Files to upload" onChange=${(e) => { uploadAll([...e.target.files]); e.target.value = ""; }} />
            <button type="button" onClick=${() => generate(true)}>Generate</button>
            <button type="button" class="main-action" onClick=${() => connect(true)}>Connect a source</button>`}
        <//>
        <${Problem} error=${error} />
        <${Loaded} of=${list}>${() => (list.items.length ? html`<div class="stack tight"><${Table} label="Data" rows=${list.items} keyOf=${(d) => d.id} columns=${[
            { name: "Name", class: "strong break", cell: (d) => html`<a href=${"#/data/" + d.id}>${d.name}</a>` },
            { name: "Kind", cell: (d) => html`<span class="tag">${d.kind}</span>` },
            { name: "Source", class: "small soft break", cell: (d) => d.source },
            { name: "Rows", num: true, cell: (d) => count(d.rows) }, { name: "Columns", num: true, cell: (d) => count(d.cols) },
            { name: "Size", num: true, cell: (d) => bytes(d.size_bytes) },
            { name: "Pinned", cell: (d) => d.pinned && html`<span class="tag accent">${d.pinned_by && d.pinned_by.length ? plural(d.pinned_by.length, "endpoint") : "pinned"}</span>` },
            { name: "Snapshot of", class: "nowrap", cell: (d) => html`<span title=${time(d.snapshot_at)}>${d.snapshot_at ? ago(d.snapshot_at) : "–"}</span>` },
        ]} />${list.foot}</div>` : html`<${Empty} title="No data yet"><p>Upload a file, connect a source, or turn a run into an endpoint: its tables are stored here.</p><//>`)}<//>
        <${Connect} open=${connecting} close=${() => connect(false)} done=${list.reload} />
        <${Generate} open=${generating} close=${() => generate(false)} done=${(r) => (r.job_id && !r.dataset ? (location.hash = "#/jobs/" + r.job_id) : list.reload())} />
    </div>`;
}

function One({ id }) {
    const load = useLoad(() => get(p`/v2/data/${id}`), [id]);
    const [synced, show] = useState(null);
    const [removing, remove] = useState(false);
    const [at, go] = useState("values");
    const [act, busy, error] = useAction(async (what) => {
        const r = await post(p`/v2/data/${id}` + "/" + what);
        if (what === "sync") show(r);
        load.reload();
    });
    const [drop, dropping, kept] = useAction(async () => {
        await api("DELETE", p`/v2/data/${id}`);
        location.hash = "#/data";
    });
    return html`<${Loaded} of=${load} page=${["Data", "#/data"]}>${(d) => html`
        <${Head} title=${d.name} crumb=${["Data", "#/data"]}>
            ${may("manage") && d.source !== "upload" && html`<button type="button" disabled=${busy} onClick=${() => act("sync")}>Sync</button>`}
            ${may("manage") && d.kind === "dataset" && html`<button type="button" disabled=${busy} onClick=${() => act(d.pinned ? "unpin" : "pin")}>${d.pinned ? "Unpin" : "Pin"}</button>`}
            ${may("delete") && html`<button type="button" class="danger" onClick=${() => remove(true)}>Delete</button>`}
        <//>
        <div class="stack"><${Problem} error=${error} />
            ${synced && html`<div class="note good" role="status">${synced.job_id ? html`The sync is large and runs as <a href=${"#/jobs/" + synced.job_id}>a job</a>.` : html`Synced ${time(synced.synced_at)}: ${synced.diff ? `${plural(synced.diff.rows_added, "row")} added, ${count(synced.diff.rows_changed)} changed, ${count(synced.diff.rows_removed)} removed, ${count(synced.diff.rows_unchanged)} unchanged` : "a new snapshot"}.`}</div>`}
            <${Facts} of=${[["Kind", d.kind], d.rows != null && ["Rows", count(d.rows)], d.cols != null && ["Columns", count(d.cols)], d.cells != null && ["Cells", count(d.cells), "counted in a fresh pass"], d.size_bytes != null && ["Size", bytes(d.size_bytes)], ["Pinned", d.pinned ? "yes" : "no"]]} />
            <dl class="pairs"><dt>Source</dt><dd><code>${d.source}</code></dd><dt>Id</dt><dd><code>${d.id}</code></dd><dt>Snapshot</dt><dd><code>${d.snapshot || "–"}</code> ${d.snapshot_at && html`<span class="soft">of ${time(d.snapshot_at)}</span>`}</dd>
                ${d.dataset && html`<dt>Feeds</dt><dd><a href=${"#/data/" + d.dataset}>${d.dataset}</a></dd>`}
                ${d.pinned_by && d.pinned_by.length > 0 && html`<dt>Pinned by</dt><dd>${d.pinned_by.map((e, i) => html`${i > 0 && ", "}<a key=${e} href=${"#/endpoints/" + e}>${e.slice(0, 8)}</a>`)}</dd>`}</dl>
            ${d.kind === "dataset" && html`<div>
                <${Tabs} label="Parts of the dataset" at=${at} go=${go} tabs=${[["values", "Values", d.cols], ["snapshots", "Snapshots and differences"]]} />
                <${Panel} at=${at}>${at === "values" ? html`<${Values} key=${d.snapshot} id=${d.id} snapshot=${d.snapshot} />` : html`<${Snapshots} key=${d.snapshot} id=${d.id} />`}<//></div>`}
        </div>
        <${Dialog} title=${"Delete " + d.name} open=${removing} close=${() => remove(false)} onSubmit=${drop} action="Delete" danger busy=${dropping} error=${kept}><p>It is deleted at once and cannot be restored. Data pinned by a live endpoint cannot be deleted.</p><//>`}<//>`;
}

export default ({ path }) => (path[0] ? html`<${One} id=${path[0]} />` : html`<${List} />`);
