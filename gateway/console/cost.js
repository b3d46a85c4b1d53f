// What a call would be billed, asked of the service before it is made (dry_run), and what would be left.
import { html, useState, useEffect } from "./ui.js";
import { patient, post } from "./api.js";
import { count, money, plural, words } from "./format.js";

// The body of a call whose tables lie partly in files: JSON alone, or parts.
export function bodyOf(request, files = []) {
    if (!files.length) return request;
    const form = new FormData();
    form.append("request", JSON.stringify(request));
    for (const f of files) form.append(`tables[${f.id}]`, f.file, f.file.name);
    return form;
}

// {cost, error, asking} of a call; asked anew, a moment later, when what is sent changes. request null: nothing yet.
export function useCost(url, request, files, deps) {
    const [state, set] = useState({});
    useEffect(() => {
        set(request ? { asking: true } : {});
        if (!request) return;
        const stop = new AbortController();
        const t = setTimeout(async () => {
            try {
                const cost = await patient(() => post(url, bodyOf({ ...request, dry_run: true }, files), { signal: stop.signal }));
                if (!stop.signal.aborted) set({ cost });
            } catch (error) {
                if (!stop.signal.aborted) set({ error });
            }
        }, 300);
        return () => {
            clearTimeout(t);
            stop.abort();
        };
    }, deps);
    return state;
}

export function Cost({ of: { cost, error, asking } }) {
    if (asking) return html`<p class="soft small" role="status">Calculating the cost …</p>`;
    if (error) return html`<div class="note bad small" role="alert">${error.message}${error.param ? html` <span>Field <code>${error.param}</code></span>` : ""}</div>`;
    if (!cost) return null;
    const raw = Object.entries(cost.by_op_raw).filter(([, n]) => n > 0);
    const parts = raw.length > 1 || (raw[0] && raw[0][1] !== cost.total_cells) ? raw.map(([op, n]) => `${words(op)} ${plural(n, "cell")}`).join(", ") : "";
    return html`<div class="stack tight cost" role="status">
        <p class="small"><span class="strong">${plural(cost.total_cells, "cell")} will be counted.</span> <span class="soft">${parts && `Of ${parts}. `}${cost.left_cells == null ? "Your plan has no limit." : `${count(Math.max(0, cost.left_cells - cost.total_cells))} will be left.`}${cost.amount_usd > 0 ? ` It costs ${money(cost.amount_usd)} USD.` : ""}</span></p>
        ${!cost.allowed && html`<div class="note warn small">This call would be refused: ${cost.reason}</div>`}
        ${cost.warnings.map((w) => html`<div class="note warn small" key=${w}>${w}</div>`)}
    </div>`;
}
