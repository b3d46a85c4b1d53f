// API keys. A secret is shown once, when it is made.
import { html, useState, Copy, Dialog, Head, Loaded, Problem, Table, useAction, useLoad } from "./ui.js";
import { api, get, may, p, post, session } from "./api.js";
import { ago, count, time } from "./format.js";

const SCOPES = [["read", "list and look at everything"], ["run", "quick runs"], ["serve", "call live endpoints: enough for production"], ["manage", "create, refresh, connect, make keys"], ["delete", "remove endpoints, data and keys"]];

export default function Keys() {
    const load = useLoad(() => get("/v2/keys"), []);
    const [asks, ask] = useState(null); // {what: create | rotate | delete, key}
    const [made, show] = useState(null);
    const [act, busy, error, forget] = useAction(async (form) => {
        const { what, key } = asks;
        if (what === "create") show(await post("/v2/keys", { name: form.get("name"), scopes: SCOPES.map((s) => s[0]).filter((s) => form.get(s) === "on") }));
        else if (what === "rotate") show(await post(p`/v2/keys/${key.id}/rotate`));
        else await api("DELETE", p`/v2/keys/${key.id}`);
        ask(null);
        if (what !== "create" && key.id === session.me.key.id) {
            session.me = null;
            session.onEnd("The key that you signed in with has ended. Sign in with another.");
        } else load.reload();
    });
    const open = (what, key) => {
        forget();
        ask({ what, key });
    };
    const own = asks && asks.key && asks.key.id === session.me.key.id;
    return html`<div><${Head} title="API keys" about="A key is the organization's; what it may do are its scopes.">${may("manage") && html`<button type="button" class="main-action" onClick=${() => open("create")}>Create a key</button>`}<//>
        <div class="stack">
            ${made && made.key && html`<div class="note good" role="status"><div class="strong">The secret of ${made.name}. It is shown this once.</div><div class="row"><code class="break">${made.key}</code><${Copy} text=${made.key} /><button type="button" onClick=${() => show(null)}>Done</button></div></div>`}
            <${Loaded} of=${load}>${(d) => html`<${Table} label="API keys" rows=${d.keys} keyOf=${(k) => k.id} columns=${[
                { name: "Name", class: "strong break", cell: (k) => html`${k.name} ${k.id === session.me.key.id && html`<span class="tag accent">this session</span>`}` },
                { name: "Key", class: "mono", cell: (k) => k.key_preview },
                { name: "Scopes", cell: (k) => html`<div class="row">${k.scopes.map((s) => html`<span class="tag" key=${s}>${s}</span>`)}</div>` },
                { name: "Requests", num: true, cell: (k) => count(k.requests) },
                { name: "Last used", cell: (k) => html`<span title=${time(k.last_used)}>${ago(k.last_used)}</span>` },
                { name: "Change", hidden: true, class: "actions", cell: (k) => html`${may("manage") && html`<button type="button" class="plain" onClick=${() => open("rotate", k)}>Rotate<span class="hidden"> ${k.name}</span></button>`}${may("delete") && html`<button type="button" class="plain" onClick=${() => open("delete", k)}>Revoke<span class="hidden"> ${k.name}</span></button>`}` },
            ]} />`}<//>
        </div>
        <${Dialog} title=${asks && { create: "Create a key", rotate: `Give ${asks.key && asks.key.name} a new secret`, delete: `Revoke ${asks.key && asks.key.name}` }[asks.what]} open=${!!asks} close=${() => ask(null)} onSubmit=${act} busy=${busy} error=${error} danger=${asks && asks.what === "delete"} action=${asks && { create: "Create", rotate: "Rotate", delete: "Revoke" }[asks.what]}>
            ${asks && asks.what === "create" ? html`<label class="field">Name<input name="name" required maxlength="128" /></label><fieldset class="stack tight"><legend class="strong small">Scopes</legend>${SCOPES.map(([s, text]) => html`<label class="row" key=${s}><input type="checkbox" name=${s} defaultChecked=${s === "read"} /> <span class="strong">${s}</span> <span class="soft small">${text}</span></label>`)}</fieldset>`
            : html`<p>The secret in use stops working at once, and so do the sessions that it began.${own && html` <span class="strong">You are signed in with this key, and will be signed out.</span>`}</p>`}
        <//>
    </div>`;
}
