// What changes an endpoint: its name, what it predicts, its data, its base, its prompts, its end.
import { html, useEffect, useState, Dialog, Problem, StepsAhead, Waiting, useAction, useLoad } from "./ui.js";
import { api, get, may, newKey, p, post } from "./api.js";
import { columnNames, plural, stepsOf } from "./format.js";
import { Cost, useCost } from "./cost.js";

export function Upgrade({ e, open, close, done }) {
    const models = useLoad(() => (open ? get("/v2/models") : Promise.resolve(null)), [open]);
    const [act, busy, error] = useAction(async (form) => {
        const job = await post(p`/v2/endpoints/${e.id}/upgrade`, { base: form.get("base") }, { key: newKey() });
        close();
        done(job);
    });
    const others = models.data ? models.data.models.filter((m) => m.id !== e.base && m.status === "available") : [];
    return html`<${Dialog} title="Move to another base" open=${open} close=${close} onSubmit=${act} action="Upgrade" busy=${busy || !others.length} error=${error}>
        <p class="soft">The pinned data are scored again on the other base. The endpoint keeps serving; the report shows both scores.</p>
        ${models.loading ? html`<${Waiting} />` : html`<label class="field">Base<select name="base">${others.map((m) => html`<option key=${m.id} value=${m.id}>${m.name} (${m.id})${m.default ? ", the default" : ""}</option>`)}</select></label>`}
    <//>`;
}

export function Remove({ e, open, close }) {
    const [act, busy, error] = useAction(async () => {
        await api("DELETE", p`/v2/endpoints/${e.id}`);
        location.hash = "#/endpoints";
    });
    return html`<${Dialog} title=${"Delete " + e.endpoint} open=${open} close=${close} onSubmit=${act} action="Delete" danger busy=${busy} error=${error}>
        <p>Its URL stops answering at once. Reports stay; datasets stay under Data, unpinned.</p><//>`;
}

export function Refresh({ e, open, close, done }) {
    const url = p`/v2/endpoints/${e.id}/refresh`;
    const [takes, setTakes] = useState(false), [kept, setKept] = useState(0);
    useEffect(() => {
        setTakes(false);
        if (open) get(p`/v2/endpoints/${e.id}/outcomes`).then((o) => setKept(o.kept), () => setKept(0));
    }, [open, e.id]);
    const asked = takes ? { options: { use_outcomes: true } } : undefined;
    const cost = useCost(url, open ? asked || {} : null, [], [open, e.data_revision, takes]);
    const [act, busy, error] = useAction(async () => {
        const job = await post(url, asked, { key: newKey() });
        close();
        done(job);
    });
    return html`<${Dialog} title="Refresh" open=${open} close=${close} onSubmit=${act} action="Refresh" busy=${busy} error=${error}>
        <p class="soft">The newest snapshots of its datasets are pinned and scored. The endpoint keeps serving.</p>
        ${kept > 0 && html`<label class="row"><input type="checkbox" name="use_outcomes" checked=${takes} onChange=${(x) => setTakes(x.target.checked)} /> Also learn from ${plural(kept, "outcome")} reported with their rows</label>`}
        <${Cost} of=${cost} />
    <//>`;
}

// Sends what differs from what is, and nothing else: every change of what is predicted is scored anew.
export function Settings({ e, open, close, done }) {
    const target = e.target_selection && e.target_selection.mode === "user" ? "=" + e.target_selection.column : e.prediction && e.prediction.target ? "auto" : "none";
    const type = e.task_selection && e.task_selection.mode === "user" ? e.task_selection.type : "auto";
    const was = e.options && e.options.confidence_threshold != null ? Math.round(1e6 * e.options.confidence_threshold) / 1e4 : "";
    const ahead = (e.options && e.options.horizon) || "";
    const adapt = !!(e.options && e.options.adapt);
    const columns = (e.tables || []).flatMap((t) => columnNames(t).map((c) => `${t.id}.${c}`));
    const [act, busy, error] = useAction(async (form) => {
        const body = {}, to = form.get("target"), task = form.get("task"), threshold = form.get("threshold");
        if (form.get("name") !== e.endpoint) body.name = form.get("name");
        if (to !== target) body.target = to.startsWith("=") ? { column: to.slice(1) } : { mode: to };
        if (task !== type) body.task = task === "auto" ? { mode: "auto" } : { type: task };
        if (threshold !== "" && Number(threshold) !== was) body.options = { confidence_threshold: Number(threshold) / 100 };
        const steps = form.get("horizon") === "" ? null : stepsOf(form.get("horizon"));
        if ((steps ?? "") !== ahead) body.options = { ...body.options, horizon: steps };
        if ((form.get("adapt") === "on") !== adapt) body.options = { ...body.options, adapt: !adapt };
        if (Object.keys(body).length) await api("PATCH", p`/platform/v1/endpoints/${e.id}`, body);
        close();
        done();
    });
    return html`<${Dialog} title="Settings" open=${open} close=${close} onSubmit=${act} busy=${busy} error=${error}>
        <label class="field">Name<input name="name" required maxlength="63" value=${e.endpoint} pattern="[a-z0-9]([a-z0-9\\-]{0,61}[a-z0-9])?" /></label>
        <label class="field">Predict<select name="target">
            <option value="auto" selected=${target === "auto"}>the most predictable column</option><option value="none" selected=${target === "none"}>nothing</option>
            ${columns.map((c) => html`<option key=${c} value=${"=" + c} selected=${target === "=" + c}>${c}</option>`)}</select></label>
        <label class="field">Task<select name="task">${[["auto", "from the target"], ["classification", "classification"], ["regression", "regression"], ["anomaly", "anomalies, no target"]].map(([v, text]) => html`<option key=${v} value=${v} selected=${type === v}>${text}</option>`)}</select></label>
        <label class="field">Minimum match confidence (%)<input name="threshold" type="number" min="0" max="100" step="any" value=${was} /></label>
        <${StepsAhead} name="horizon" value=${ahead} />
        <label class="row"><input type="checkbox" name="adapt" checked=${adapt} /> Recalibrate intervals and probabilities with outcomes</label>
        <p class="small soft">A change of target or task is scored again on the pinned data before it serves.</p>
    <//>`;
}

export function Prompts({ e, done }) {
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
