// What the organization is told.
import { html, useState, Empty, Head, Loaded, Problem, useAction, usePages } from "./ui.js";
import { get, may, p, post, query } from "./api.js";
import { ago, time } from "./format.js";

const where = (n) => (n.data && n.data.endpoint_id ? "#/endpoints/" + n.data.endpoint_id : n.data && n.data.job_id ? "#/jobs/" + n.data.job_id : n.type.startsWith("usage") ? "#/usage" : n.type.startsWith("key") ? "#/keys" : null);

export default function Notifications() {
    const [unread, set] = useState(false);
    const list = usePages((cursor) => get("/platform/v1/notifications" + query({ cursor, unread: unread ? "true" : "", limit: 50 })), "notifications", [unread]);
    const [read, busy, error] = useAction(async (some) => {
        for (const n of some) await post(p`/platform/v1/notifications/${n.id}/read`);
        await list.reload();
    });
    const open = list.items.filter((n) => !n.read_at);
    return html`<div><${Head} title="Notifications">${may("manage") && open.length > 0 && html`<button type="button" disabled=${busy} onClick=${() => read(open)}>Mark these as read</button>`}<//>
        <div class="stack"><label class="row"><input type="checkbox" checked=${unread} onChange=${(e) => set(e.target.checked)} /> Unread alone</label><${Problem} error=${error} />
        <${Loaded} of=${list}>${() => (list.items.length ? html`<div class="stack tight"><div class="card"><ul>${list.items.map((n) => html`<li key=${n.id} class="spread"><span>${!n.read_at && html`<span class="tag accent">new</span> `}<span class=${n.read_at ? "" : "strong"}>${n.text}</span> ${where(n) && html`<a class="in-text" href=${where(n)}>Look<span class="hidden"> at ${n.subject}</span></a>`}</span><span class="row"><span class="small soft" title=${time(n.created_at)}>${ago(n.created_at)}</span>${!n.read_at && may("manage") && html`<button type="button" class="plain" disabled=${busy} onClick=${() => read([n])}>Read<span class="hidden"> ${n.subject}</span></button>`}</span></li>`)}</ul></div>${list.foot}</div>` : html`<${Empty} title=${unread ? "Nothing is unread" : "Nothing yet"}><p>Finished jobs, usage alerts, endpoints whose confidences no longer hold and changes to keys appear here, and by e-mail if an address is set under Usage.</p><//>`)}<//></div>
    </div>`;
}
