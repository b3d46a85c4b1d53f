// API keys. A secret is shown once, when it is made.
import { html, useState, Copy, Dialog, Head, Loaded, Problem, Table, useAction, useLoad } from "./ui.js";
import { api, get, may, p, post, session } from "./api.js";
import { ago, count, time } from "./format.js";

const SCOPES = [["read", "list and view everything"], ["run", "quick runs"], ["serve", "call live endpoints: all that production needs"], ["manage", "create, refresh, connect, create keys"], ["delete", "remove endpoints, data and keys"]];

const OVERLAPS = [[0, "at once"], [3600, "in an hour"], [86400, "in a day"], [604800, "in a week"]];
const STATE = { expiring: "warn", expired: "bad" };

const list = (text) => (text || "").split(/[\s,]+/).filter((x) => x);
// What bounds a key, as the form says it.
const bounds = (form) => ({
    expires_at: form.get("expires_at") ? new Date(form.get("expires_at")).toISOString() : null,
    networks: list(form.get("networks")),
    endpoints: list(form.get("endpoints")),
});
// A time as an input of date and time has it: in the browser's zone.
const local = (t) => (t ? new Date(new Date(t) - new Date().getTimezoneOffset() * 60000).toISOString().slice(0, 16) : "");
// What of it differs from the key.
const changes = (form, key) => {
    const now = { name: form.get("name"), ...bounds(form) };
    if (form.get("expires_at") === local(key.expires_at)) delete now.expires_at; // to the minute
    return Object.fromEntries(Object.entries(now).filter(([k, v]) => JSON.stringify(v) !== JSON.stringify(key[k])));
};

const Bounds = ({ of = {} }) => html`
    <label class="field">Ends<input type="datetime-local" name="expires_at" defaultValue=${local(of.expires_at)} /><span class="soft small">empty: never. You are notified a week and a day before.</span></label>
    <label class="field">Networks<textarea name="networks" rows="2" defaultValue=${(of.networks || []).join("\n")} placeholder="10.0.0.0/8"></textarea><span class="soft small">addresses or blocks it may be used from; empty: anywhere</span></label>
    <label class="field">Endpoints<textarea name="endpoints" rows="2" defaultValue=${(of.endpoints || []).join("\n")}></textarea><span class="soft small">names or ids it may call, for keys with only the scope serve; empty: all</span></label>`;

export default function Keys() {
    const load = useLoad(() => get("/v2/keys"), []);
    const org = useLoad(() => get("/platform/v1/organization"), []);
    const [asks, ask] = useState(null); // {what: create | networks | change | rotate | delete, key}
    const [made, show] = useState(null);
    const [act, busy, error, forget] = useAction(async (form) => {
        const { what, key } = asks;
        const overlap = what === "rotate" ? Number(form.get("overlap_s")) : 0;
        if (what === "create") show(await post("/v2/keys", { name: form.get("name"), scopes: SCOPES.map((s) => s[0]).filter((s) => form.get(s) === "on"), ...bounds(form) }));
        else if (what === "networks") await api("PUT", "/platform/v1/organization", { networks: list(form.get("networks")) }).then(org.reload);
        else if (what === "change") await api("PATCH", p`/platform/v1/keys/${key.id}`, changes(form, key));
        else if (what === "rotate") show(await post(p`/v2/keys/${key.id}/rotate`, { overlap_s: overlap }));
        else await api("DELETE", p`/v2/keys/${key.id}`);
        ask(null);
        if (key && (what === "delete" || (what === "rotate" && overlap === 0)) && key.id === session.me.key.id) {
            session.me = null;
            session.onEnd("The key you signed in with has expired. Sign in with another one.");
        } else load.reload();
    });
    const open = (what, key) => {
        forget();
        ask({ what, key });
    };
    const own = asks && asks.key && asks.key.id === session.me.key.id;
    return html`<div><${Head} title="API keys" about="Keys belong to the organization; scopes say what each may do.">${may("manage") && html`<button type="button" onClick=${() => open("networks")}>Networks</button><button type="button" class="main-action" onClick=${() => open("create")}>Create a key</button>`}<//>
        <div class="stack">
            ${made && made.key && html`<div class="note good" role="status"><div class="strong">The secret of ${made.name}. It is shown only once.</div><div class="row"><code class="break">${made.key}</code><${Copy} text=${made.key} /><button type="button" onClick=${() => show(null)}>Done</button></div></div>`}
            <${Loaded} of=${load}>${(d) => html`<${Table} label="API keys" rows=${d.keys} keyOf=${(k) => k.id} columns=${[
                { name: "Name", class: "strong break", cell: (k) => html`${k.name} ${k.id === session.me.key.id && html`<span class="tag accent">this session</span>`} ${STATE[k.status] && html`<span class=${"tag " + STATE[k.status]} title=${time(k.expires_at)}>${k.status}</span>`}` },
                { name: "Key", class: "mono", cell: (k) => html`${k.key_preview}${k.old_secrets.map((o) => html`<div class="soft small" key=${o.key_preview}>${o.key_preview} until ${time(o.ends_at)}</div>`)}` },
                { name: "Scopes", cell: (k) => html`<div class="row">${k.directory ? html`<span class="tag">directory</span>` : k.scopes.map((s) => html`<span class="tag" key=${s}>${s}</span>`)}</div>` },
                { name: "Bounds", class: "small", cell: (k) => html`${k.expires_at && html`<div>until ${time(k.expires_at)}</div>`}${k.networks.length > 0 && html`<div class="break">from ${k.networks.join(", ")}</div>`}${k.endpoints.length > 0 && html`<div class="break">endpoints ${k.endpoints.join(", ")}</div>`}` },
                { name: "Requests", num: true, cell: (k) => count(k.requests) },
                { name: "Last used", cell: (k) => html`<span title=${time(k.last_used)}>${ago(k.last_used)}</span>${k.last_address && html`<div class="soft small break" title=${k.last_agent || ""}>${k.last_address}</div>`}` },
                { name: "Change", hidden: true, class: "actions", cell: (k) => html`${may("manage") && html`<button type="button" class="plain" onClick=${() => open("change", k)}>Change<span class="hidden"> ${k.name}</span></button><button type="button" class="plain" onClick=${() => open("rotate", k)}>Rotate<span class="hidden"> ${k.name}</span></button>`}${may("delete") && html`<button type="button" class="plain" onClick=${() => open("delete", k)}>Revoke<span class="hidden"> ${k.name}</span></button>`}` },
            ]} />`}<//>
        </div>
        <${Dialog} title=${asks && { create: "Create a key", networks: "Networks of the organization", change: `Change ${asks.key && asks.key.name}`, rotate: `Give ${asks.key && asks.key.name} a new secret`, delete: `Revoke ${asks.key && asks.key.name}` }[asks.what]} open=${!!asks} close=${() => ask(null)} onSubmit=${act} busy=${busy} error=${error} danger=${asks && asks.what === "delete"} action=${asks && { create: "Create", networks: "Save", change: "Save", rotate: "Rotate", delete: "Revoke" }[asks.what]}>
            ${asks && asks.what === "create" ? html`<label class="field">Name<input name="name" required maxlength="128" /></label><fieldset class="stack tight"><legend class="strong small">Scopes</legend>${SCOPES.map(([s, text]) => html`<label class="row" key=${s}><input type="checkbox" name=${s} defaultChecked=${s === "read"} /> <span class="strong">${s}</span> <span class="soft small">${text}</span></label>`)}</fieldset><details><summary>Networks, endpoints and an end</summary><div class="stack"><${Bounds} /></div></details>`
            : asks && asks.what === "networks" ? html`<label class="field">Networks<textarea name="networks" rows="4" defaultValue=${((org.data && org.data.networks) || []).join("\n")} placeholder="10.0.0.0/8"></textarea><span class="soft small">addresses or blocks that any key of the organization may be used from, in addition to each key's own; empty: anywhere</span></label>`
            : asks && asks.what === "change" ? html`<label class="field">Name<input name="name" required maxlength="128" defaultValue=${asks.key.name} /></label><${Bounds} of=${asks.key} />`
            : asks && asks.what === "rotate" ? html`<label class="field">The current secret ends<select name="overlap_s">${OVERLAPS.map(([s, text]) => html`<option value=${s} key=${s}>${text}</option>`)}</select></label><p class="soft">Where it ends at once, so do the sessions that it began.${own && html` <span class="strong">You are signed in with this key, and would be signed out.</span>`}</p>`
            : html`<p>The current secret and all sessions started with it stop working at once.${own && html` <span class="strong">You are signed in with this key, and will be signed out.</span>`}</p>`}
        <//>
    </div>`;
}
