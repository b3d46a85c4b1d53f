// Jobs, as they go.
import { html, useState, Empty, Facts, Head, Loaded, Problem, State, Table, useAction, useEvery, useLoad, usePages } from "./ui.js";
import { get, may, p, post, query } from "./api.js";
import { ago, time } from "./format.js";

const under = (j) => ["queued", "running"].includes(j.status);
const STATES = ["", "queued", "running", "done", "failed", "cancelled", "expired"];

function List() {
    const [status, set] = useState("");
    const list = usePages((cursor) => get("/v2/jobs" + query({ cursor, status, limit: 50 })), "jobs", [status]);
    useEvery(4000, list.items.some(under), list.reload);
    return html`<div><${Head} title="Jobs" about="Work that continues after its call, and every run." />
        <div class="stack"><label class="field">State<select value=${status} onChange=${(e) => set(e.target.value)}>${STATES.map((s) => html`<option key=${s} value=${s}>${s || "any"}</option>`)}</select></label>
        <${Loaded} of=${list}>${() => (list.items.length ? html`<div class="stack tight"><${Table} label="Jobs" rows=${list.items} keyOf=${(j) => j.job_id} columns=${[
            { name: "About", class: "strong break", cell: (j) => html`<a href=${"#/jobs/" + j.job_id}>${j.about || j.label || j.job_id.slice(0, 12)}</a>` },
            { name: "Kind", cell: (j) => j.kind },
            { name: "State", cell: (j) => html`<${State} of=${j.status} />` },
            { name: "Progress", cell: (j) => (under(j) ? html`<progress aria-label="progress" max="100" value=${j.progress}></progress>` : "") },
            { name: "Id", class: "small soft", cell: (j) => html`<code>${j.job_id.slice(0, 12)}</code>` },
            { name: "Started", cell: (j) => html`<span title=${time(j.created_at)}>${ago(j.created_at)}</span>` },
        ]} />${list.foot}</div>` : html`<${Empty} title=${status ? "No job is " + status : "No job yet"}><p>Runs, creations, refreshes and syncs are listed here.</p><a class="button" href="#/run">Run tables</a><//>`)}<//></div>
    </div>`;
}

function One({ id }) {
    const load = useLoad(() => get(p`/v2/jobs/${id}`), [id]);
    useEvery(2000, !!load.data && under(load.data), load.reload);
    const [cancel, busy, error] = useAction(async () => load.set(await post(p`/v2/jobs/${id}/cancel`)));
    return html`<${Loaded} of=${load} page=${["Jobs", "#/jobs"]}>${(j) => html`
        <${Head} title=${j.about ? `${j.kind} of ${j.about}` : `${j.kind} ${j.job_id.slice(0, 12)}`} crumb=${["Jobs", "#/jobs"]}>
            ${["run", "batch"].includes(j.kind) && j.status === "done" && html`<a class="button" href=${"#/run/" + j.job_id}>Result</a>`}
            ${j.endpoint_id && html`<a class="button" href=${"#/endpoints/" + j.endpoint_id}>Endpoint</a>`}
            ${under(j) && may("manage") && html`<button type="button" class="danger" disabled=${busy} onClick=${cancel}>Cancel</button>`}
        <//>
        <div class="stack"><${Problem} error=${error} />
            ${j.error && html`<${Problem} error=${{ message: j.error }} />`}
            ${under(j) && html`<div class="stack tight"><progress aria-label="progress" max="100" value=${j.progress}></progress><p class="soft" role="status">${j.phase || j.status}${j.eta && j.eta.due_at ? `, due ${time(j.eta.due_at)}` : ""}</p></div>`}
            <${Facts} of=${[["State", html`<${State} of=${j.status} />`], ["Progress", j.progress + "%"], ["Started", ago(j.created_at), time(j.created_at)], ["Last change", ago(j.updated_at), time(j.updated_at)]]} />
            <dl class="pairs"><dt>Id</dt><dd><code>${j.job_id}</code></dd><dt>About</dt><dd>${j.about || j.label || "–"}</dd>${j.report_id && html`<dt>Report</dt><dd><a href=${"#/reports/" + j.report_id}>${j.report_id}</a></dd>`}</dl>
            ${(j.logs || []).length > 0 && html`<section class="stack tight"><h2>Log</h2><div class="code"><pre tabindex="0" aria-label="Log">${j.logs.map((l) => (typeof l === "string" ? l : JSON.stringify(l))).join("\n")}</pre></div></section>`}
        </div>`}<//>`;
}

export default ({ path }) => (path[0] ? html`<${One} id=${path[0]} />` : html`<${List} />`);
