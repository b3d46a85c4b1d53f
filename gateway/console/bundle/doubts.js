// What the service doubts, in words: columns that may give the target away, and its other warnings.
import { html } from "../ui.js";
import { percent } from "../format.js";

const KIND = { copy: "is the target in other units", computed: "is a part that the target is computed from", alone: "predicts the target alone, where all other columns do not" };

const LEAK = "likely_leak: ";

// Warnings of leaks say again what the leaks say.
export function Doubts({ leaks, warnings, without }) {
    const some = leaks || [], rest = (warnings || []).filter((w) => !some.length || !w.startsWith("likely_leak"));
    if (!some.length && !rest.length) return null;
    return html`<div class="stack tight doubts">
        ${some.map((l, i) => html`<div class="note warn" key=${"leak" + i}>
            <div class="break"><span class="strong">${l.column || "A linked table"}</span> ${KIND[l.kind] || "may give the target away"}.</div>
            <p>Is it known before the target is? If not, the score is too good to be true: leave the column out.${l.alone != null ? ` Alone it explains ${percent(l.alone)}${l.others != null ? `, all others together ${percent(l.others)}` : ""}.` : ""}</p>
            ${without && l.column && html`<div><button type="button" onClick=${() => without(l.column)}>Run again without it<span class="hidden">: ${l.column}</span></button></div>`}
        </div>`)}
        ${rest.map((w) => html`<div class="note warn break" key=${w}>${w.startsWith(LEAK) ? html`<p><span class="strong">Likely leak.</span> ${w.slice(LEAK.length)}</p>` : w}</div>`)}
    </div>`;
}
