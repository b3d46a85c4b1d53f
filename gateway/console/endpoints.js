// Endpoints: the list, and one of them: its score, trying it, its history, its prompts, and what changes it.
import { html, useState, Empty, Facts, Head, Loaded, Panel, Problem, State, Table, Tabs, useEvery, useLoad, usePages } from "./ui.js";
import { get, may, p, patient, query } from "./api.js";
import { ago, cell, count, number, time } from "./format.js";
import { Score } from "./bundle/plots.js";
import { Bundle } from "./bundle/bundle.js";
import { Doubts } from "./bundle/doubts.js";
import { Regimes } from "./bundle/forecast.js";
import { Reliability, Slices } from "./bundle/prediction.js";
import { Drift } from "./drift.js";
import { Outcomes } from "./outcomes.js";
import { Try } from "./endpoint_try.js";
import { Prompts, Refresh, Remove, Settings, Upgrade } from "./endpoint_change.js";

// The majority's share is on the score's own scale. The mean's error is on that of RMSE; as R² the mean is 0.
export const baselineOf = (h) => (!h ? undefined : h.baseline_majority ?? (h.metric === "r2" ? 0 : h.metric === "rmse" ? h.baseline_mean : h.baseline));

export function HeldOut({ h }) {
    if (!h || h.score == null) return html`<p class="soft">Nothing is predicted, so there is no score.</p>`;
    return html`<div class="stack">
        <div class="row wide"><${Score} score=${h.score} low=${h.score_low} high=${h.score_high} base=${baselineOf(h)} name=${h.metric} />
            <div><div class="strong">${h.metric} ${number(h.score)}</div><div class="soft small">${h.score_low != null && `95% interval ${number(h.score_low)} to ${number(h.score_high)}`}</div></div></div>
        <${Facts} of=${[
            ["Baseline", number(baselineOf(h)), h.baseline_majority != null ? "the most frequent class" : h.baseline_mean != null ? `the mean; its RMSE is ${number(h.baseline_mean)}` : null],
            h.lift_pp != null && ["Lift", `${number(h.lift_pp)} points`, "over the baseline"],
            h.auc != null && ["AUC", number(h.auc)],
            h.rmse != null && ["RMSE", number(h.rmse)],
            h.r2 != null && ["R²", number(h.r2)],
            h.split && ["Held-out rows", count(h.split.test_rows), `${count(h.split.train_rows)} to learn from; ${h.split.kind || h.split.method}`],
        ]} />
        <${Doubts} leaks=${h.likely_leaks} warnings=${h.warnings} />
        <${Regimes} of=${h.regimes} />
        ${(h.slices || []).length > 0 && html`<${Slices} slices=${h.slices} all=${h.metric === "accuracy" ? 1 - h.score : h.rmse} classes=${h.metric === "accuracy"} />`}
        ${(h.calibration || []).length > 0 && html`<${Reliability} points=${h.calibration} classes=${h.metric === "accuracy"} />`}
        ${h.weakest_slice && !(h.slices || []).length && html`<div class="note warn"><div><span class="strong">Weakest slice:</span> ${h.weakest_slice}</div></div>`}
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
    return html`<div><${Head} title="Endpoints" about="Predictions at a stable URL: pinned data, and a score on held-out rows." />
        <${Loaded} of=${list}>${() => (list.items.length ? html`<div class="stack tight"><${Table} label="Endpoints" rows=${list.items} keyOf=${(e) => e.id} columns=${[
            { name: "Name", class: "strong", cell: (e) => html`<a href=${"#/endpoints/" + e.id}>${e.endpoint}</a>` },
            { name: "State", cell: (e) => html`<${State} of=${e.job && e.job.status === "failed" ? "failed" : e.status} />` },
            { name: "Score", num: true, cell: (e) => (e.held_out && e.held_out.score != null ? `${number(e.held_out.score)} ${e.held_out.metric}` : "–") },
            { name: "Baseline", num: true, cell: (e) => number(baselineOf(e.held_out)) },
            { name: "Base", cell: (e) => e.base },
            { name: "Calls", num: true, cell: (e) => count(e.calls) },
            { name: "Created", cell: (e) => html`<span title=${time(e.created_at)}>${ago(e.created_at)}</span>` },
        ]} />${list.foot}</div>` : html`<${Empty} title="No endpoint yet"><p>Run your tables first; one click turns a result into an endpoint.</p><a class="button" href="#/run">Run tables</a><//>`)}<//>
    </div>`;
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
    const show = (tab) => {
        go(tab);
        if (tab === "drift") load.reload(); // what was served since
    };
    const close = () => ask("");
    return html`<div><${Loaded} of=${load} page=${["Endpoints", "#/endpoints"]}>${() => html`
        <${Head} title=${e.endpoint} crumb=${["Endpoints", "#/endpoints"]}>
            ${may("manage") && e.status === "live" && html`<button type="button" disabled=${!!job} onClick=${() => ask("refresh")}>Refresh</button><button type="button" disabled=${!!job} onClick=${() => ask("upgrade")}>Upgrade</button><button type="button" disabled=${!!job} onClick=${() => ask("settings")}>Settings</button>`}
            ${may("delete") && html`<button type="button" class="danger" onClick=${() => ask("delete")}>Delete</button>`}
        <//>
        <div class="stack">
            ${job && html`<div class="note" role="status"><div class="spread"><span><span class="strong waiting">${job.kind || "Work"} is in progress</span> ${job.phase || ""}; the endpoint keeps serving.</span><a href=${"#/jobs/" + job.job_id}>The job</a></div><progress aria-label="progress" max="100" value=${job.progress}></progress></div>`}
            <${Facts} of=${[
                ["State", html`<${State} of=${e.job && e.job.status === "failed" ? "failed" : e.status} />`],
                ["Base", e.base || "–"],
                ["Calls", count(e.calls)],
                ["Data revision", count(e.data_revision), "configuration " + e.config_revision],
                e.diff && ["Last refresh", `+${count(e.diff.rows_added)} −${count(e.diff.rows_removed)}`, `${count(e.diff.rows_changed)} changed`],
                ["Created", ago(e.created_at), time(e.created_at)],
            ]} />
            ${e.status !== "live" ? html`${waits ? html`<div class="note" role="status"><span class="waiting">The data are being pinned and scored. The endpoint appears here once it is live.</span></div>` : html`<${Problem} error=${{ message: (e.job && e.job.error) || "The creation was cancelled." }} />`}` : html`
            <dl class="pairs small"><dt>URL</dt><dd><code>${e.url}</code></dd><dt>Id</dt><dd><code>${e.id}</code></dd><dt>Data</dt><dd>${e.data.datasets.map((d, i) => html`${i > 0 && ", "}<a href=${"#/data/" + d.dataset} key=${d.dataset}>${d.name}</a>`)}</dd></dl>
            <${Tabs} label="Parts of the endpoint" at=${at} go=${show} tabs=${[["score", "Score"], ["try", "Try it"], ["drift", "Drift", e.drift ? e.drift.columns_drifted : null], ["outcomes", "Outcomes"], ["understanding", "Understanding"], ["history", "History"], ["prompts", "System prompts", (e.system_prompts || []).length]]} />
            <${Panel} at=${at}>
                ${at === "score" && html`<div class="stack"><${HeldOut} h=${e.held_out} />${e.report_id && html`<p><a href=${"#/reports/" + e.report_id}>Report ${e.report}</a></p>`}</div>`}
                ${at === "try" && html`<${Loaded} of=${openapi}>${(o) => html`<${Try} key=${e.data_revision} e=${e} openapi=${o} />`}<//>`}
                ${at === "drift" && html`<${Drift} d=${e.drift} />`}
                ${at === "outcomes" && html`<${Outcomes} e=${e} />`}
                ${at === "understanding" && html`<${Bundle} bundle=${e} source=${{ path: p`/v2/endpoints/${e.id}` }} />`}
                ${at === "history" && html`<${History} e=${e} />`}
                ${at === "prompts" && html`<${Prompts} e=${e} done=${load.reload} />`}
            <//>`}
        </div>
        <${Upgrade} e=${e} open=${asks === "upgrade"} close=${close} done=${follow} />
        <${Remove} e=${e} open=${asks === "delete"} close=${close} />
        <${Refresh} e=${e} open=${asks === "refresh"} close=${close} done=${follow} />
        <${Settings} e=${e} open=${asks === "settings"} close=${close} done=${load.reload} />`}<//>
    </div>`;
}

export default ({ path }) => (path[0] ? html`<${One} id=${path[0]} />` : html`<${List} />`);
