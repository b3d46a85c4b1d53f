// Whether the rows that are served still look like those that are pinned: column by column, and how sure answers are.
import { html, Bar, Empty, Facts, Table } from "./ui.js";
import { count, number, percent, plural, time } from "./format.js";

const LEAST = 0.1; // the stability index from which a difference counts, as the service has it

const verdict = (t) => (t.drifted ? html`<span class="tag warn">drifted</span>` : html`<span class="tag good">as pinned</span>`);

export function Drift({ d }) {
    if (!d || !d.rows) return html`<${Empty} title="Nothing has been served yet"><p>Once rows are served, each of their columns is compared with the pinned rows. Try it with a file; a refresh or a change of settings starts over.</p><//>`;
    const columns = [...d.columns].sort((a, b) => b.drifted - a.drifted || b.stability_index - a.stability_index);
    const c = d.confidence;
    return html`<div class="stack">
        ${d.columns_drifted > 0
            ? html`<div class="note warn"><div><span class="strong">${plural(d.columns_drifted, "column")} drifted:</span> ${columns.filter((x) => x.drifted).slice(0, 5).map((x) => x.column).join(", ")}</div><p>Served rows no longer look like the rows the endpoint learned from. Sync the data and refresh, or check where these values come from.</p></div>`
            : html`<div class="note good"><p>${d.rows < 20 ? "Drift can be tested from 20 served rows on." : "Served rows look like the pinned ones."}</p></div>`}
        <${Facts} of=${[
            ["Rows served", count(d.rows), `${time(d.since)} to ${time(d.until)}`],
            ["Columns drifted", `${count(d.columns_drifted)} of ${count(d.columns.length)}`],
            c && [c.measure === "probability" ? "Confidence" : "Spread of answers", (c.measure === "probability" ? percent : number)(c.served_mean), `${(c.measure === "probability" ? percent : number)(c.pinned_mean)} on pinned rows; ${c.drifted ? "drifted" : "no drift"}`],
        ]} />
        <${Table} label="Drift by column" rows=${columns} keyOf=${(x) => x.column} columns=${[
            { name: "Column", class: "strong break", cell: (x) => x.column },
            { name: "Verdict", cell: verdict },
            { name: "Difference", cell: (x) => html`<${Bar} value=${x.stability_index} of=${Math.max(4 * LEAST, ...columns.map((y) => y.stability_index))} label=${number(x.stability_index)} />` },
            { name: "By chance", num: true, cell: (x) => (x.p_value < 0.0001 ? "< 0.01%" : percent(x.p_value, 2)) },
            { name: "Missing, pinned", num: true, cell: (x) => percent(x.missing_pinned, 1) },
            { name: "Missing, served", num: true, cell: (x) => percent(x.missing_served, 1) },
        ]} />
        <p class="small soft">The difference is the population stability index; a column has drifted if it is at least ${LEAST} and significant. Only counts by bin are stored, no values.</p>
    </div>`;
}
