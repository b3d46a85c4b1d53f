// Who did what, from where. Entries are a chain: the head is its newest link, to be noted elsewhere.
import { html, useState, Copy, Empty, Head, Loaded, Table, usePages } from "./ui.js";
import { get, query } from "./api.js";
import { time } from "./format.js";

export default function Audit() {
    const [filter, set] = useState({ event: "", actor: "" });
    const [draft, write] = useState(filter);
    const list = usePages((cursor) => get("/platform/v1/audit" + query({ ...filter, cursor, limit: 50 })), "audit", [filter.event, filter.actor]);
    return html`<div><${Head} title="Audit log" about="Connections, syncs, keys, sessions, deletions and edits, stored permanently." />
        <div class="stack">
            <form class="row fields" onSubmit=${(e) => { e.preventDefault(); set(draft); }}>
                <label class="field">Event<input value=${draft.event} placeholder="key.create" onInput=${(e) => write({ ...draft, event: e.target.value.trim() })} /></label>
                <label class="field">Actor<input value=${draft.actor} placeholder="key_…" onInput=${(e) => write({ ...draft, actor: e.target.value.trim() })} /></label>
                <button>Filter</button></form>
            <${Loaded} of=${list}>${(d) => html`<div class="stack tight">
                ${d.head && d.head.hash && html`<p class="small soft row">Head ${d.head.seq} <code class="cut">${d.head.hash}</code> <${Copy} plain text=${`${d.head.seq}:${d.head.hash}`} /></p>`}
                ${list.items.length ? html`<${Table} label="Audit log" rows=${list.items} keyOf=${(a) => a.id} columns=${[
                    { name: "#", num: true, cell: (a) => a.seq }, { name: "When", class: "nowrap", cell: (a) => time(a.at) }, { name: "Event", class: "strong nowrap", cell: (a) => a.action },
                    { name: "Object", class: "mono break", cell: (a) => a.object }, { name: "Detail", class: "small break", cell: (a) => a.detail || "" },
                    { name: "By", class: "mono small break", cell: (a) => a.actor }, { name: "From", class: "small", cell: (a) => a.address || "" },
                ]} />${list.foot}` : html`<${Empty} title="Nothing matches"><p>Change the filter to see other entries.</p><//>`}
            </div>`}<//>
        </div></div>`;
}
