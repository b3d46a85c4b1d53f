// Endpoints: the list, and one of them: its score, trying it, its history, its prompts, and what changes it.
import { html, useState, useMemo, Code, Dialog, Empty, Facts, Head, Loaded, Panel, Problem, State, Table, Tabs, Waiting, useAction, useEvery, useLoad, usePages } from "./ui.js";
import { api, get, may, newKey, p, patient, post, query } from "./api.js";
import { ago, cell, count, number, plural, time } from "./format.js";
import { Score } from "./plots.js";
import { Bundle } from "./bundle.js";
import { Results } from "./prediction.js";
import { cellOf } from "./files.js";

// The majority's share is on the score's own scale. The mean's error is on that of RMSE; as R² the mean is 0.
export const baselineOf = (h) => (!h ? undefined : h.baseline_majority ?? (h.metric === "r2" ? 0 : h.metric === "rmse" ? h.baseline_mean : h.baseline));

export function HeldOut({ h }) {
    if (!h || h.score == null) return html`<p class="soft">Nothing is predicted, so there is no score.</p>`;
    return html`<div class="stack">
        <div class="row wide"><${Score} score=${h.score} low=${h.score_low} high=${h.score_high} base=${baselineOf(h)} name=${h.metric} />
            <div><div class="strong">${h.metric} ${number(h.score)}</div><div class="soft small">${h.score_low != null && `${number(h.score_low)} to ${number(h.score_high)} is the 95 % interval`}</div></div></div>
        <${Facts} of=${[
            ["Baseline", number(baselineOf(h)), h.baseline_majority != null ? "the largest class" : h.baseline_mean != null ? `the mean; its RMSE is ${number(h.baseline_mean)}` : null],
            h.lift_pp != null && ["Lift", `${number(h.lift_pp)} points`, "over the baseline"],
            h.auc != null && ["AUC", number(h.auc)],
            h.rmse != null && ["RMSE", number(h.rmse)],
            h.r2 != null && ["R²", number(h.r2)],
            h.split && ["Held-out rows", count(h.split.test_rows), `${count(h.split.train_rows)} to learn from; ${h.split.kind || h.split.method}`],
        ]} />
        ${h.weakest_slice && html`<div class="note warn"><div><span class="strong">Weakest slice:</span> ${h.weakest_slice}</div></div>`}
        ${h.low_confidence && html`<div class="note warn">${h.low_confidence_reason}</div>`}
        ${h.per_class && html`<${Table} label="By class" rows=${h.per_class} columns=${[
            { name: "Class", class: "strong", cell: (c) => cell(c.label) }, { name: "Precision", num: true, cell: (c) => number(c.precision) },
            { name: "Recall", num: true, cell: (c) => number(c.recall) }, { name: "F1", num: true, cell: (c) => number(c.f1) }, { name: "Rows", num: true, cell: (c) => count(c.support) },
        ]} />`}
        <p class="small soft">${h.note}</p>
    </div>`;
}

function List() {
    const list = usePages((cursor) => get("/v2/endpoints" + query({ cursor, limit: 50 })), "endpoints", []);
    useEvery(4000, list.items.some((e) => e.status === "creating"), list.reload);
    return html`<div><${Head} title="Endpoints" about="A prediction that stays: pinned data, a score on held-out rows, a URL that answers." />
        <${Loaded} of=${list}>${() => (list.items.length ? html`<div class="stack tight"><${Table} label="Endpoints" rows=${list.items} keyOf=${(e) => e.id} columns=${[
            { name: "Name", class: "strong", cell: (e) => html`<a href=${"#/endpoints/" + e.id}>${e.endpoint}</a>` },
            { name: "State", cell: (e) => html`<${State} of=${e.job && e.job.status === "failed" ? "failed" : e.status} />` },
            { name: "Score", num: true, cell: (e) => (e.held_out && e.held_out.score != null ? `${number(e.held_out.score)} ${e.held_out.metric}` : "–") },
            { name: "Baseline", num: true, cell: (e) => number(baselineOf(e.held_out)) },
            { name: "Base", cell: (e) => e.base },
            { name: "Calls", num: true, cell: (e) => count(e.calls) },
            { name: "Made", cell: (e) => html`<span title=${time(e.created_at)}>${ago(e.created_at)}</span>` },
        ]} />${list.foot}</div>` : html`<${Empty} title="No endpoint yet"><p>Run your tables first; a result that you like becomes an endpoint with one click.</p><a class="button" href="#/run">Run tables</a><//>`)}<//>
    </div>`;
}

// ---- trying it ------------------------------------------------------------------------------------------------------

function Try({ e, openapi }) {
    const body = useMemo(() => {
        const post_ = openapi.paths && Object.values(openapi.paths)[0].post;
        const media = post_ && post_.requestBody.content["application/json"];
        const example = media && (media.example || (media.examples && Object.values(media.examples)[0].value) || media.schema.example);
        return example || { tables: e.tables.map((t) => ({ id: t.id, columns: t.column_profile.map((c) => c.name), rows: [t.column_profile.map(() => null)] })) };
    }, [openapi]);
    const [target] = [e.prediction && e.prediction.table ? e.prediction.table : body.tables[0].id];
    const main = Math.max(0, body.tables.findIndex((t) => t.id === target));
    const [values, set] = useState(() => Object.fromEntries(body.tables[main].columns.map((c, i) => [i, cell(body.tables[main].rows[0] ? body.tables[main].rows[0][i] : null)])));
    const [result, show] = useState(null);
    const column = e.prediction && e.prediction.target ? e.prediction.target.slice(target.length + 1) : null;
    const [serve, busy, error] = useAction(async () => {
        const tables = body.tables.map((t, i) => (i === main ? { ...t, rows: [t.columns.map((c, k) => (c === column ? null : cellOf(values[k])))] } : t));
        show(await post(p`/v2/serve/${e.id}`, { tables }));
    });
    const curl = `curl -s ${e.url} \\\n  -H "Authorization: Bearer $TABELLA_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify({ tables: body.tables }).replaceAll("'", "'\\''")}'`;
    return html`<div class="stack">
        <div class="two">
            <form class="card" onSubmit=${(ev) => { ev.preventDefault(); serve(); }}><header><h2>A row of ${target}</h2><button class="main-action" disabled=${busy || !may("serve")}>${busy ? "Asking …" : "Predict"}</button></header>
                <div class="body stack tight">${body.tables[main].columns.map((c, i) => html`<label class="field" key=${i}>${c || "c" + i}${c === column ? html`<span class="soft small">is predicted</span>` : html`<input value=${values[i]} onInput=${(ev) => set({ ...values, [i]: ev.target.value })} />`}</label>`)}</div></form>
            <div class="stack" aria-live="polite"><${Problem} error=${error} />
                ${result && result.prediction ? html`<div class="card"><header><h2>Answer</h2></header><div class="body"><${Results} key=${result.request_id || Math.random()} p=${result.prediction} source=${{}} /></div></div>` : html`<p class="soft">Fill in what you know; what you leave empty is treated as missing.</p>`}
            </div>
        </div>
        <h2>The same by curl</h2><${Code} text=${curl.length > 4000 ? curl.slice(0, 4000) + " …" : curl} label="curl" />
    </div>`;
}

// ---- what changes it ------------------------------------------------------------------------------------------------

function Upgrade({ e, open, close, done }) {
    const models = useLoad(() => (open ? get("/v2/models") : Promise.resolve(null)), [open]);
    const [act, busy, error] = useAction(async (form) => {
        const job = await post(p`/v2/endpoints/${e.id}/upgrade`, { base: form.get("base") }, { key: newKey() });
        close();
        done(job);
    });
    const others = models.data ? models.data.models.filter((m) => m.id !== e.base && m.status === "available") : [];
    return html`<${Dialog} title="Move to another base" open=${open} close=${close} onSubmit=${act} action="Upgrade" busy=${busy || !others.length} error=${error}>
        <p class="soft">The pinned data are scored anew on the other base. It goes on serving meanwhile; the report shows both scores.</p>
        ${models.loading ? html`<${Waiting} />` : html`<label class="field">Base<select name="base">${others.map((m) => html`<option key=${m.id} value=${m.id}>${m.name} (${m.id})${m.default ? ", the default" : ""}</option>`)}</select></label>`}
    <//>`;
}

function Remove({ e, open, close }) {
    const [act, busy, error] = useAction(async () => {
        await api("DELETE", p`/v2/endpoints/${e.id}`);
        location.hash = "#/endpoints";
    });
    return html`<${Dialog} title=${"Delete " + e.endpoint} open=${open} close=${close} onSubmit=${act} action="Delete" danger busy=${busy} error=${error}>
        <p>Its URL answers no more, at once. Reports stay; datasets stay under Data, unpinned.</p><//>`;
}

function Rename({ e, open, close, done }) {
    const [act, busy, error] = useAction(async (form) => {
        await api("PATCH", p`/platform/v1/endpoints/${e.id}`, { name: form.get("name") });
        close();
        done();
    });
    return html`<${Dialog} title="Rename" open=${open} close=${close} onSubmit=${act} busy=${busy} error=${error}>
        <label class="field">Name<input name="name" required maxlength="63" value=${e.endpoint} pattern="[a-z0-9]([a-z0-9\\-]{0,61}[a-z0-9])?" /></label><//>`;
}

function Prompts({ e, done }) {
    const [at, edit] = useState(null);
    const [act, busy, error, forget] = useAction(async (form) => {
        const body = { name: form.get("name"), body: form.get("body"), active: form.get("active") === "on" };
        await (at.id ? api("PATCH", p`/platform/v1/endpoints/${e.id}/prompts/${at.id}`, body) : post(p`/platform/v1/endpoints/${e.id}/prompts`, { name: body.name, body: body.body }));
        edit(null);
        done();
    });
    const [remove, , refused] = useAction(async (s) => {
        await api("DELETE", p`/platform/v1/endpoints/${e.id}/prompts/${s.id}`);
        done();
    });
    return html`<div class="stack"><div class="spread"><p class="soft">Fragments that your own language model is given; read from the endpoint, in this order.</p>${may("manage") && html`<button type="button" onClick=${() => { forget(); edit({ name: "", body: "", active: true }); }}>Add a fragment</button>`}</div>
        <${Problem} error=${refused} />
        ${(e.system_prompts || []).map((s) => html`<section class="card" key=${s.id}><header><h2>${s.name} ${s.active ? html`<span class="tag good">active</span>` : html`<span class="tag">off</span>`} <span class="small soft">version ${s.version}</span></h2>
            ${may("manage") && html`<div class="row"><button type="button" onClick=${() => { forget(); edit(s); }}>Edit<span class="hidden"> ${s.name}</span></button><button type="button" class="danger" onClick=${() => remove(s)}>Remove<span class="hidden"> ${s.name}</span></button></div>`}</header><div class="body break">${s.body}</div></section>`)}
        <${Dialog} title=${at && at.id ? "Edit a fragment" : "Add a fragment"} open=${!!at} close=${() => edit(null)} onSubmit=${act} busy=${busy} error=${error}>
            <label class="field">Name<input name="name" required maxlength="128" value=${at && at.name} /></label>
            <label class="field">Text<textarea name="body" rows="8" required maxlength="20000" value=${at && at.body}></textarea></label>
            ${at && at.id && html`<label class="row"><input type="checkbox" name="active" checked=${at.active} /> Active</label>`}
        <//></div>`;
}

function History({ e }) {
    const logs = usePages((cursor) => get(p`/v2/endpoints/${e.id}/logs` + query({ cursor, limit: 50 })), "logs", [e.id, e.data_revision, e.config_revision, e.base]);
    return html`<${Loaded} of=${logs}>${() => html`<div class="stack tight"><${Table} label="Log" rows=${logs.items} columns=${[
        { name: "When", class: "nowrap", cell: (l) => time(l.at) }, { name: "Event", class: "strong", cell: (l) => l.event },
        { name: "Message", cell: (l) => l.message }, { name: "Job", class: "small", cell: (l) => l.job_id && html`<a href=${"#/jobs/" + l.job_id}>${l.job_id.slice(0, 12)}</a>` }, { name: "By", class: "small soft", cell: (l) => l.actor },
    ]} />${logs.foot}</div>`}<//>`;
}

function One({ id }) {
    const [at, go] = useState("score");
    const [asks, ask] = useState("");
    const [job, follow] = useState(null);
    const load = useLoad(() => patient(() => get(p`/v2/endpoints/${id}`)), [id]);
    const openapi = useLoad(() => (load.data && load.data.status === "live" && at === "try" ? patient(() => get(p`/v2/openapi/${load.data.id}`)) : Promise.resolve(null)), [load.data && load.data.id, load.data && load.data.status, at]);
    const e = load.data;
    const waits = e && (e.status === "creating" && !(e.job && ["failed", "cancelled"].includes(e.job.status)));
    useEvery(2500, !!waits, load.reload);
    useEvery(2500, !!job, async () => {
        const now = await get(p`/v2/jobs/${job.job_id}`).catch(() => null);
        if (!now) return;
        follow(["queued", "running"].includes(now.status) ? now : null);
        if (!["queued", "running"].includes(now.status)) load.reload();
    });
    const [refresh, refreshing, refused] = useAction(async () => follow(await post(p`/v2/endpoints/${id}/refresh`, undefined, { key: newKey() })));
    const close = () => ask("");
    return html`<div><${Loaded} of=${load} page=${["Endpoints", "#/endpoints"]}>${() => html`
        <${Head} title=${e.endpoint} crumb=${["Endpoints", "#/endpoints"]}>
            ${may("manage") && e.status === "live" && html`<button type="button" disabled=${refreshing || !!job} onClick=${refresh}>Refresh</button><button type="button" disabled=${!!job} onClick=${() => ask("upgrade")}>Upgrade</button><button type="button" onClick=${() => ask("rename")}>Rename</button>`}
            ${may("delete") && html`<button type="button" class="danger" onClick=${() => ask("delete")}>Delete</button>`}
        <//>
        <div class="stack">
            <${Problem} error=${refused} />
            ${job && html`<div class="note" role="status"><div class="spread"><span><span class="strong waiting">${job.kind || "Work"} is under way</span> ${job.phase || ""}; it goes on serving.</span><a href=${"#/jobs/" + job.job_id}>The job</a></div><progress aria-label="progress" max="100" value=${job.progress}></progress></div>`}
            <${Facts} of=${[
                ["State", html`<${State} of=${e.job && e.job.status === "failed" ? "failed" : e.status} />`],
                ["Base", e.base || "–"],
                ["Calls", count(e.calls)],
                ["Data revision", count(e.data_revision), "configuration " + e.config_revision],
                e.diff && ["Last refresh", `+${count(e.diff.rows_added)} −${count(e.diff.rows_removed)}`, `${count(e.diff.rows_changed)} changed`],
                ["Made", ago(e.created_at), time(e.created_at)],
            ]} />
            ${e.status !== "live" ? html`${waits ? html`<div class="note" role="status"><span class="waiting">The data are pinned and scored. This page shows it when it is live.</span></div>` : html`<${Problem} error=${{ message: (e.job && e.job.error) || "The creation was cancelled." }} />`}` : html`
            <dl class="pairs small"><dt>URL</dt><dd><code>${e.url}</code></dd><dt>Id</dt><dd><code>${e.id}</code></dd><dt>Data</dt><dd>${e.data.datasets.map((d, i) => html`${i > 0 && ", "}<a href=${"#/data/" + d.dataset} key=${d.dataset}>${d.name}</a>`)}</dd></dl>
            <${Tabs} label="Parts of the endpoint" at=${at} go=${go} tabs=${[["score", "Score"], ["try", "Try it"], ["understanding", "Understanding"], ["history", "History"], ["prompts", "System prompts", (e.system_prompts || []).length]]} />
            <${Panel} at=${at}>
                ${at === "score" && html`<div class="stack"><${HeldOut} h=${e.held_out} />${e.report_id && html`<p><a href=${"#/reports/" + e.report_id}>Report ${e.report}</a></p>`}</div>`}
                ${at === "try" && html`<${Loaded} of=${openapi}>${(o) => html`<${Try} key=${e.data_revision} e=${e} openapi=${o} />`}<//>`}
                ${at === "understanding" && html`<${Bundle} bundle=${e} source=${{ path: p`/v2/endpoints/${e.id}` }} />`}
                ${at === "history" && html`<${History} e=${e} />`}
                ${at === "prompts" && html`<${Prompts} e=${e} done=${load.reload} />`}
            <//>`}
        </div>
        <${Upgrade} e=${e} open=${asks === "upgrade"} close=${close} done=${follow} />
        <${Remove} e=${e} open=${asks === "delete"} close=${close} />
        <${Rename} e=${e} open=${asks === "rename"} close=${close} done=${load.reload} />`}<//>
    </div>`;
}

export default ({ path }) => (path[0] ? html`<${One} id=${path[0]} />` : html`<${List} />`);
