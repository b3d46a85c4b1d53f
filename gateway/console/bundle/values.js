// How the values of a stored table are spread. What they mean is said by a run, which is counted; this is not.
import { html, Bar, Loaded, Table, useLoad } from "../ui.js";
import { get, p, query } from "../api.js";
import { count, percent } from "../format.js";
import { Spread, spreadOf } from "./plots.js";

export function Values({ id, snapshot }) {
    const load = useLoad(() => get(p`/platform/v1/data/${id}/profile` + query({ snapshot })), [id, snapshot]);
    return html`<${Loaded} of=${load}>${(d) => html`<div class="stack tight">
        <${Table} label="Values by column" rows=${d.columns} columns=${[
            { name: "Column", class: "strong break", cell: (c, i) => c.name || html`<span class="soft">c${i} (no name)</span>` },
            { name: "Holds", cell: (c) => (c.kind === "empty" ? html`<span class="soft">nothing</span>` : c.kind) },
            { name: "Values", cell: (c) => html`<${Spread} of=${spreadOf(c.spread)} />` },
            { name: "Different", num: true, cell: (c) => count(c.spread.distinct) },
            { name: "Missing", cell: (c) => (c.missing ? html`<${Bar} value=${c.missing / d.rows} label=${percent(c.missing / d.rows, c.missing < 0.1 * d.rows ? 1 : 0)} />` : html`<span class="soft">none</span>`) },
        ]} />
        <p class="small soft">Values as they are stored. Run the table to see what its columns are, which hold personal data and what can be predicted.</p>
    </div>`}<//>`;
}
