// Receivers of the organization's notifications, and what was sent to them.
import { html, useState, Copy, Dialog, Empty, Head, Loaded, Table, useAction, useLoad, usePages } from "./ui.js";
import { api, get, may, p, post, query } from "./api.js";
import { ago, count, time } from "./format.js";

const TYPES = ["job.ended", "connection.failing", "usage.alert", "quality.alert", "data.changed", "audit.entries", "usage.events", "key.created", "key.revoked", "key.expiring", "key.expired", "key.network"];
const TITLES = { create: "Create a webhook", change: "Change a webhook", rotate: "Give a webhook a new secret", delete: "Delete a webhook" };
const ACTIONS = { create: "Create", change: "Save", rotate: "Rotate", delete: "Delete" };
const STATE = { delivered: "good", failed: "bad", disabled: "bad" };

const Fields = ({ of = { types: [] } }) => html`
    <label class="field">Name<input name="name" required maxlength="128" defaultValue=${of.name || ""} /></label>
    <label class="field">Address<input name="url" type="url" required maxlength="512" placeholder="https://example.org/tabella" defaultValue=${of.url || ""} /></label>
    <label class="field">Token of the receiver's own<input name="token" type="password" autocomplete="off" maxlength="512" placeholder=${of.has_token ? "stays as it is" : "none"} /></label>
    <label class="field">Form of usage<select name="usage_format" defaultValue=${of.usage_format || "cloudevents"}><option value="cloudevents">CloudEvents</option><option value="stripe">Stripe meter events</option></select></label>
    <label class="field">What the receiver calls us<input name="customer" maxlength="255" placeholder="our organization's id" defaultValue=${of.customer || ""} /></label>
    <label class="field">Stripe's event name<input name="meter" maxlength="100" placeholder="tabella_cells" defaultValue=${of.meter || ""} /></label>
    <fieldset class="stack tight"><legend class="strong small">Sent are (none chosen: all)</legend>${TYPES.map((t) => html`<label class="row" key=${t}><input type="checkbox" name=${t} defaultChecked=${of.types.includes(t)} /> ${t}</label>`)}</fieldset>`;

function Deliveries({ of }) {
    const list = usePages((cursor) => get(p`/platform/v1/webhooks/${of.id}/deliveries` + query({ cursor, limit: 50 })), "deliveries", [of.id]);
    const [replay, busy, error] = useAction(async (d) => {
        await post(p`/platform/v1/webhooks/${of.id}/deliveries/${d.id}/replay`);
        await list.reload();
    });
    return html`<section class="stack"><h2>What was sent to ${of.name}</h2>${error && html`<p class="note bad">${error.message}</p>`}
        <${Loaded} of=${list}>${() => (list.items.length ? html`<div class="stack tight"><${Table} label="Deliveries" rows=${list.items} keyOf=${(d) => d.id} columns=${[
            { name: "Type", cell: (d) => d.type },
            { name: "About", class: "mono break", cell: (d) => d.subject },
            { name: "State", cell: (d) => html`<span class=${"tag " + (STATE[d.status] || "")}>${d.status}</span>${d.error && html`<div class="soft small">${d.response_status} ${d.error}</div>`}` },
            { name: "Tries", num: true, cell: (d) => count(d.tries) },
            { name: "Fired", cell: (d) => html`<span title=${time(d.created_at)}>${ago(d.created_at)}</span>` },
            { name: "Again", hidden: true, class: "actions", cell: (d) => may("manage") && html`<button type="button" class="plain" disabled=${busy} onClick=${() => replay(d)}>Send again<span class="hidden"> ${d.type} ${d.subject}</span></button>` },
        ]} />${list.foot}</div>` : html`<p class="soft">Nothing yet.</p>`)}<//></section>`;
}

export default function Webhooks() {
    const load = useLoad(() => get("/platform/v1/webhooks"), []);
    const [asks, ask] = useState(null); // {what: create | change | rotate | delete, of}
    const [made, show] = useState(null);
    const [chosen, choose] = useState(null);
    const [act, busy, error, forget] = useAction(async (form) => {
        const { what, of } = asks;
        const body = () => ({
            name: form.get("name"),
            url: form.get("url"),
            types: TYPES.filter((t) => form.get(t) === "on"),
            ...(form.get("token") ? { token: form.get("token") } : {}),
            usage_format: form.get("usage_format"),
            customer: form.get("customer") || null,
            meter: form.get("meter") || null,
        });
        if (what === "create") show(await post("/platform/v1/webhooks", body()));
        else if (what === "change") await api("PATCH", p`/platform/v1/webhooks/${of.id}`, body());
        else if (what === "rotate") show(await post(p`/platform/v1/webhooks/${of.id}/rotate`));
        else await api("DELETE", p`/platform/v1/webhooks/${of.id}`);
        if (what === "delete") choose(null);
        ask(null);
        load.reload();
    });
    const [now] = useAction(async (fn) => {
        await fn();
        load.reload();
    });
    const open = (what, of) => {
        forget();
        ask({ what, of });
    };
    const what = asks && asks.what;
    return html`<div><${Head} title="Webhooks" about="Signed notifications to your own systems, sent until they are accepted.">${may("manage") && html`<button type="button" class="main-action" onClick=${() => open("create")}>Create a webhook</button>`}<//>
        <div class="stack">
            ${made && made.secret && html`<div class="note good" role="status"><div class="strong">The secret of ${made.name}. It is shown only once.</div><div class="row"><code class="break">${made.secret}</code><${Copy} text=${made.secret} /><button type="button" onClick=${() => show(null)}>Done</button></div></div>`}
            <${Loaded} of=${load}>${(d) => (d.webhooks.length ? html`<${Table} label="Webhooks" rows=${d.webhooks} keyOf=${(w) => w.id} columns=${[
                { name: "Name", class: "strong break", cell: (w) => w.name },
                { name: "Address", class: "break", cell: (w) => w.url },
                { name: "Types", class: "small", cell: (w) => (w.types.length ? w.types.join(", ") : "all") },
                { name: "State", cell: (w) => html`<span class=${"tag " + (STATE[w.status] || "")} title=${w.disabled_why || ""}>${w.status}</span>` },
                { name: "Waiting", num: true, cell: (w) => count(w.waiting) },
                { name: "Change", hidden: true, class: "actions", cell: (w) => html`<button type="button" class="plain" onClick=${() => choose(w)}>Deliveries<span class="hidden"> of ${w.name}</span></button>${may("manage") && html`<button type="button" class="plain" onClick=${() => now(() => post(p`/platform/v1/webhooks/${w.id}/test`))}>Test<span class="hidden"> ${w.name}</span></button><button type="button" class="plain" onClick=${() => now(() => api("PATCH", p`/platform/v1/webhooks/${w.id}`, { enabled: w.status !== "active" }))}>${w.status === "active" ? "Disable" : "Enable"}<span class="hidden"> ${w.name}</span></button><button type="button" class="plain" onClick=${() => open("change", w)}>Change<span class="hidden"> ${w.name}</span></button><button type="button" class="plain" onClick=${() => open("rotate", w)}>Rotate<span class="hidden"> ${w.name}</span></button>`}${may("delete") && html`<button type="button" class="plain" onClick=${() => open("delete", w)}>Delete<span class="hidden"> ${w.name}</span></button>`}` },
            ]} />` : html`<${Empty} title="No webhook yet"><p>A receiver gets finished jobs, alerts and changes to keys as signed calls (Standard Webhooks).</p><//>`)}<//>
            ${chosen && html`<${Deliveries} key=${chosen.id} of=${chosen} />`}
        </div>
        <${Dialog} title=${what && TITLES[what]} open=${!!asks} close=${() => ask(null)} onSubmit=${act} busy=${busy} error=${error} danger=${what === "delete"} action=${what && ACTIONS[what]}>
            ${what === "create" || what === "change" ? html`<${Fields} of=${asks.of} />`
            : what === "rotate" ? html`<p>For a day, calls are signed with both the old and the new secret.</p>`
            : html`<p>Waiting deliveries are no longer sent, and past ones no longer shown.</p>`}
        <//>
    </div>`;
}
