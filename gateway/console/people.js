// Who signs in to the organization, by which identity providers, and which sessions are open.
import { html, useState, Copy, Dialog, Empty, Head, Loaded, Table, useAction, useLoad } from "./ui.js";
import { api, get, may, p, post, session } from "./api.js";
import { ago, time } from "./format.js";

const ROLES = ["viewer", "billing", "builder", "admin"];
const TITLES = { provider: "Add an identity provider", drop: "Delete an identity provider", role: "Change a role", out: "End a person's access", scim: "Provision people from a directory (SCIM)" };
const ACTIONS = { provider: "Add", drop: "Delete", role: "Save", out: "End access", scim: "Make a key" };

// Lines of "group role".
const roles = (text) => Object.fromEntries(text.split("\n").map((l) => l.trim()).filter(Boolean).map((l) => [l.replace(/\s+\S+$/, ""), l.split(/\s+/).pop()]));
const words = (text) => text.split(/[\s,]+/).filter(Boolean);

const Fields = () => html`
    <label class="field">Name<input name="name" required maxlength="128" placeholder="Work account" /></label>
    <label class="field">Issuer<input name="issuer" type="url" required maxlength="256" placeholder="https://login.example.org" /></label>
    <label class="field">Client id<input name="client_id" required maxlength="256" /></label>
    <label class="field">Client secret<input name="client_secret" type="password" autocomplete="off" maxlength="1024" /></label>
    <label class="field">Roles by group<textarea name="roles" rows="4" placeholder="data-team builder"></textarea><span class="soft small">a group and its role on each line: ${ROLES.join(", ")}</span></label>
    <label class="field">E-mail domains<input name="domains" placeholder="example.org" /></label>`;

export default function People() {
    const people = useLoad(() => get("/platform/v1/people"), []);
    const providers = useLoad(() => get("/platform/v1/providers"), []);
    const open = useLoad(() => get("/platform/v1/sessions"), []);
    const [asks, ask] = useState(null); // {what, of}
    const [made, show] = useState(null); // the key of a directory, this once
    const all = () => Promise.all([people.reload(), providers.reload(), open.reload()]);
    const [act, busy, error, forget] = useAction(async (form) => {
        const { what, of } = asks;
        const text = (name) => form.get(name) || undefined;
        if (what === "provider") await post("/platform/v1/providers", { name: text("name"), issuer: text("issuer"), client_id: text("client_id"), client_secret: text("client_secret"), roles: roles(form.get("roles")), domains: words(form.get("domains")) });
        else if (what === "drop") await api("DELETE", p`/platform/v1/providers/${of.id}`);
        else if (what === "scim") show(await post("/v2/keys", { name: form.get("name"), directory: of.id }));
        else if (what === "role") await api("PATCH", p`/platform/v1/people/${of.id}`, { role: form.get("role") || null });
        else await api("PATCH", p`/platform/v1/people/${of.id}`, { active: false });
        ask(null);
        await all();
    });
    const [end, ending, endError] = useAction(async (path, method, body) => {
        await api(method, path, body);
        await all();
    });
    const start = (what, of) => {
        forget();
        ask({ what, of });
    };
    const link = `${location.origin}/console/#/signin/${session.me.organization.id}`;
    return html`<div><${Head} title="People" about="Who signs in with an identity provider, and what their roles allow.">${may("manage") && html`<button type="button" class="main-action" onClick=${() => start("provider")}>Add a provider</button>`}<//>
        <div class="stack">${made && html`<div class="note good" role="status"><div class="strong">The secret of ${made.name}. It is shown only once.</div><div class="row"><code class="break">${made.key}</code><${Copy} text=${made.key} /><button type="button" onClick=${() => show(null)}>Done</button></div><div class="small">Give it to the directory as its bearer token, with the address <code class="break">${location.origin}/scim/v2</code></div></div>`}
            ${endError && html`<p class="note bad">${endError.message}</p>`}
            <${Loaded} of=${people}>${(d) => (d.people.length ? html`<${Table} label="People" rows=${d.people} keyOf=${(x) => x.id} columns=${[
                { name: "Name", class: "strong break", cell: (x) => html`${x.name} ${!x.active && html`<span class="tag bad">out</span>`}<div class="soft small">${x.email}${x.user_name && html` <span class="tag" title=${"in the directory as " + x.user_name}>directory</span>`}</div>` },
                { name: "Role", cell: (x) => html`<span class="tag">${x.role}</span> ${x.role_by_hand && html`<span class="soft small">by hand</span>`}` },
                { name: "Signed in", cell: (x) => html`<span title=${time(x.signed_in_at)}>${ago(x.signed_in_at)}</span>` },
                { name: "Change", hidden: true, class: "actions", cell: (x) => may("manage") && html`<button type="button" class="plain" onClick=${() => start("role", x)}>Role<span class="hidden"> of ${x.name}</span></button>${x.active ? html`<button type="button" class="plain" onClick=${() => start("out", x)}>End access<span class="hidden"> of ${x.name}</span></button>` : html`<button type="button" class="plain" disabled=${ending} onClick=${() => end(p`/platform/v1/people/${x.id}`, "PATCH", { active: true })}>Let in again<span class="hidden"> ${x.name}</span></button>`}` },
            ]} />` : html`<${Empty} title="Nobody has signed in yet." />`)}<//>
            <section class="stack"><h2>Identity providers</h2>
                <${Loaded} of=${providers}>${(d) => (d.providers.length ? html`<p class="soft">People sign in at <span class="mono break">${link}</span></p><${Table} label="Identity providers" rows=${d.providers} keyOf=${(x) => x.id} columns=${[
                    { name: "Name", class: "strong break", cell: (x) => x.name },
                    { name: "Issuer", class: "mono break", cell: (x) => html`${x.issuer}<div class="soft small" title="for the provider's back-channel logout">logout at ${x.logout_url}</div>` },
                    { name: "Roles", class: "small", cell: (x) => html`${Object.entries(x.roles).map(([g, r]) => html`<div key=${g}>${g}: ${r}</div>`)}${x.role && html`<div>all others: ${x.role}</div>`}` },
                    { name: "Domains", class: "small break", cell: (x) => x.domains.join(", ") },
                    { name: "Change", hidden: true, class: "actions", cell: (x) => html`${may("manage") && html`<button type="button" class="plain" onClick=${() => start("scim", x)}>Directory<span class="hidden"> of ${x.name}</span></button>`}${may("delete") && html`<button type="button" class="plain" onClick=${() => start("drop", x)}>Delete<span class="hidden"> ${x.name}</span></button>`}` },
                ]} />` : html`<p class="soft">None: sign-in is with keys only.</p>`)}<//></section>
            <section class="stack"><h2>Open sessions</h2>
                <${Loaded} of=${open}>${(d) => html`<${Table} label="Open sessions" rows=${d.sessions} keyOf=${(x) => x.id} columns=${[
                    { name: "Of", class: "strong break", cell: (x) => html`${x.name} ${x.id === session.me.id && html`<span class="tag accent">this session</span>`}` },
                    { name: "From", class: "mono", cell: (x) => x.address },
                    { name: "Started", cell: (x) => html`<span title=${time(x.created_at)}>${ago(x.created_at)}</span>` },
                    { name: "Ends", cell: (x) => time(x.expires_at) },
                    { name: "Change", hidden: true, class: "actions", cell: (x) => may("delete") && x.id !== session.me.id && html`<button type="button" class="plain" disabled=${ending} onClick=${() => end(p`/platform/v1/sessions/${x.id}`, "DELETE")}>End<span class="hidden"> the session of ${x.name}</span></button>` },
                ]} />`}<//></section>
        </div>
        <${Dialog} title=${asks && TITLES[asks.what]} open=${!!asks} close=${() => ask(null)} onSubmit=${act} busy=${busy} error=${error} danger=${asks && (asks.what === "drop" || asks.what === "out")} action=${asks && ACTIONS[asks.what]}>
            ${asks && asks.what === "provider" ? html`<${Fields} />`
            : asks && asks.what === "scim" ? html`<label class="field">Name of the key<input name="name" required maxlength="128" defaultValue=${`Directory of ${asks.of.name}`.slice(0, 128)} /></label><p class="soft">With it ${asks.of.name} says who your people are and in which groups, and whoever leaves there is out here at once. It may do nothing else.</p>`
            : asks && asks.what === "role" ? html`<label class="field">Role of ${asks.of.name}<select name="role">${ROLES.map((r) => html`<option value=${r} key=${r} selected=${r === asks.of.role}>${r}</option>`)}<option value="">from the person's groups</option></select></label>`
            : asks && asks.what === "out" ? html`<p>The sessions and personal keys of <span class="strong">${asks.of.name}</span> end at once, and the person can no longer sign in.</p>`
            : html`<p>Its people are signed out: their sessions and personal keys end.</p>`}
        <//>
    </div>`;
}
