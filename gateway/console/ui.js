// Parts that pages share. Cells are text nodes and nothing else.
import { html, render, useState, useEffect, useRef, useCallback, useMemo, useLayoutEffect } from "./vendor/htm-preact-3.1.1.js";
import { count } from "./format.js";

export { html, render, useState, useEffect, useRef, useCallback, useMemo, useLayoutEffect };

// What fn answers: {data, error, loading, reload, set}. A later question wins.
export function useLoad(fn, deps) {
    const [state, set] = useState({ loading: true });
    const turn = useRef(0);
    const reload = useCallback(async () => {
        const mine = ++turn.current;
        set((s) => ({ ...s, loading: true }));
        try {
            const data = await fn();
            if (mine === turn.current) set({ data, loading: false });
            return data;
        } catch (error) {
            if (mine === turn.current) set((s) => ({ data: s.data, error, loading: false }));
        }
    }, deps);
    useEffect(() => {
        reload();
        return () => turn.current++;
    }, [reload]);
    return { ...state, reload, set: (data) => set({ data, loading: false }) };
}

// Asks anew every ms while `on`, as long as the page is looked at.
export function useEvery(ms, on, fn) {
    const latest = useRef(fn);
    latest.current = fn;
    useEffect(() => {
        if (!on) return;
        const t = setInterval(() => document.visibilityState === "visible" && latest.current(), ms);
        return () => clearInterval(t);
    }, [ms, on]);
}

export function useTitle(text) {
    useEffect(() => {
        document.title = `${text} · Tabella`;
    }, [text]);
}

export function Head({ title, crumb, about, children }) {
    useTitle(title);
    return html`<div class="head">
        <div>
            ${crumb && html`<div class="crumb"><a href=${crumb[1]}>${crumb[0]}</a></div>`}
            <h1 tabindex="-1">${title}</h1>
            ${about && html`<p>${about}</p>`}
        </div>
        <div class="row">${children}</div>
    </div>`;
}

export function Copy({ text, label = "Copy", plain }) {
    const [done, set] = useState(false);
    const copy = async () => {
        try {
            await navigator.clipboard.writeText(text);
        } catch {
            const t = document.createElement("textarea"); // pages without TLS have no clipboard
            t.value = text;
            document.body.append(t);
            t.select();
            document.execCommand("copy");
            t.remove();
        }
        set(true);
        setTimeout(() => set(false), 1500);
    };
    return html`<button type="button" class=${plain ? "plain" : ""} onClick=${copy}>${done ? "Copied" : label}</button>`;
}

export function Code({ text, label }) {
    return html`<div class="code">
        <pre tabindex="0" aria-label=${label}>${text}</pre>
        <${Copy} text=${text} />
    </div>`;
}

export function Problem({ error, retry }) {
    if (!error) return null;
    return html`<div class="note bad" role="alert">
        <div class="strong">${error.message}</div>
        <div class="row small">
            ${error.param && html`<span>Field <code>${error.param}</code></span>`}
            ${error.retry > 0 && html`<span>Retry in ${error.retry} s</span>`}
            ${error.runningJob && html`<a href=${"#/jobs/" + error.runningJob}>The job that runs</a>`}
            ${error.requestId && html`<span>Request <code>${error.requestId}</code></span><${Copy} plain text=${error.requestId} label="Copy id" />`}
            ${retry && html`<button type="button" class="plain" onClick=${retry}>Try again</button>`}
        </div>
    </div>`;
}

export const Waiting = ({ what = "Loading" }) => html`<p class="soft waiting" role="status">${what} …</p>`;

export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2>${children}</div>`;

// Data of a load, or why there are none yet. page: the crumb of a page whose heading is in the data.
export function Loaded({ of, page, children }) {
    if (of.error && !of.data) return html`${page && html`<${Head} title=${of.error.status === 404 ? "Not found" : "Not loaded"} crumb=${page} />`}<${Problem} error=${of.error} retry=${of.reload} />`;
    if (!of.data) return html`<${Waiting} />`;
    return html`${of.error && html`<${Problem} error=${of.error} retry=${of.reload} />`}${children(of.data)}`;
}

const KINDS = { live: "good", done: "good", running: "accent", queued: "accent", creating: "accent", failed: "bad", expired: "warn", cancelled: "warn" };
export const State = ({ of }) => html`<span class=${"tag " + (KINDS[of] || "")}>${of}</span>`;

// A long name breaks after its dots and underscores.
export const breakable = (v) => (typeof v !== "string" || v.length <= 16 ? v : v.split(/(?<=[._])/).map((x, i) => html`${i > 0 && html`<wbr />`}${x}`));

export function Facts({ of }) {
    return html`<dl class="facts">
        ${of.filter(Boolean).map(([name, value, more]) => html`<div key=${name}><dt>${name}</dt><dd class=${typeof value === "string" && value.length > 16 ? "long" : ""}>${breakable(value)}${more && html`<small>${more}</small>`}</dd></div>`)}
    </dl>`;
}

export function Bar({ value, label, of = 1 }) {
    const share = value == null ? 0 : Math.max(0, Math.min(1, value / of));
    return html`<span class="bar"><svg class="plot" width="64" height="6" aria-hidden="true"><rect class="bar-soft" width="64" height="6" rx="3" /><rect class="bar-mark" width=${64 * share} height="6" rx="3" /></svg><span>${label}</span></span>`;
}

// A plain table. columns: [{name, num, cell(row)}].
export function Table({ label, columns, rows, keyOf }) {
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table>
        <caption class="hidden">${label}</caption>
        <thead><tr>${columns.map((c, k) => html`<th scope="col" class=${c.num ? "num" : ""} key=${k}>${c.hidden ? html`<span class="hidden">${c.name}</span>` : c.name}</th>`)}</tr></thead>
        <tbody>${rows.map((r, i) => html`<tr key=${keyOf ? keyOf(r) : i}>${columns.map((c, k) => html`<td class=${(c.num ? "num " : "") + (c.class || "")} key=${k}>${c.cell(r, i)}</td>`)}</tr>`)}</tbody>
    </table></div>`;
}

// A table of any number of rows, of which only those in sight are in the document. row(i) gives the cells'
// contents, or null where it is not loaded; near(i) is told when the last loaded ones come into sight.
const ROW = 34;
export function VirtualTable({ label, columns, total, row, classOf, near, chosen, onChoose }) {
    const box = useRef(null);
    const [top, setTop] = useState(0);
    const shown = 20, margin = 8;
    const first = Math.max(0, Math.floor(top / ROW) - margin);
    const last = Math.min(total, first + shown + 2 * margin);
    useEffect(() => {
        if (near) near(last);
    }, [last, total]);
    const rows = [];
    for (let i = first; i < last; i++) {
        const cells = row(i);
        rows.push(html`<tr key=${i} aria-rowindex=${i + 2} class=${chosen === i ? "chosen" : ""} onClick=${onChoose && (() => onChoose(i))}>
            ${columns.map((c, k) => {
                const v = cells ? cells[k] : k === 0 ? "…" : "";
                const own = classOf ? classOf(i, k) : "";
                return html`<td key=${k} class=${`cell ${c.num ? "num" : ""} ${own}`} title=${typeof v === "string" && v.length > 30 ? v : undefined}>${v}</td>`;
            })}
        </tr>`);
    }
    return html`<div class="scroll virtual" tabindex="0" role="region" aria-label=${label} ref=${box} onScroll=${(e) => setTop(e.currentTarget.scrollTop)}><table aria-rowcount=${total + 1}>
        <caption class="hidden">${label}</caption>
        <thead><tr>${columns.map((c, k) => html`<th scope="col" key=${k} class=${c.num ? "num" : ""}>${c.name}</th>`)}</tr></thead>
        <tbody>
            ${first > 0 && html`<tr class="space" aria-hidden="true"><td colspan=${columns.length} style=${{ height: first * ROW + "px" }}></td></tr>`}
            ${rows}
            ${last < total && html`<tr class="space" aria-hidden="true"><td colspan=${columns.length} style=${{ height: (total - last) * ROW + "px" }}></td></tr>`}
        </tbody>
    </table></div>`;
}

// tabs: [[id, title, count?]]
export function Tabs({ tabs, at, go, label }) {
    const onKey = (e) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
        if (!step) return;
        e.preventDefault();
        const i = tabs.findIndex((t) => t[0] === at);
        const next = tabs[(i + step + tabs.length) % tabs.length][0];
        go(next);
        e.currentTarget.querySelector(`[data-tab="${next}"]`).focus();
    };
    return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${onKey}>
        ${tabs.map(([id, title, n]) => html`<button type="button" role="tab" key=${id} data-tab=${id} id=${"tab-" + id} aria-controls="panel" aria-selected=${String(id === at)} tabindex=${id === at ? 0 : -1} onClick=${() => go(id)}>${title}${n != null && html` <span class="count">${count(n)}</span>`}</button>`)}
    </div>`;
}
export const Panel = ({ at, children }) => html`<div role="tabpanel" id="panel" aria-labelledby=${"tab-" + at} tabindex="-1">${children}</div>`;

// A question before something is done. `ask` is null while it is closed.
export function Dialog({ title, open, close, children, onSubmit, action = "Save", danger, busy, error }) {
    const at = useRef(null);
    useEffect(() => {
        if (open && at.current && !at.current.open) at.current.showModal();
    }, [open]);
    if (!open) return null;
    return html`<dialog ref=${at} onClose=${close} aria-labelledby="dialog-title">
        <form onSubmit=${(e) => { e.preventDefault(); onSubmit(new FormData(e.currentTarget)); }}>
            <h2 id="dialog-title">${title}</h2>
            ${children}
            <${Problem} error=${error} />
            <div class="row">
                <button class=${danger ? "danger" : "main-action"} disabled=${busy}>${busy ? "Working …" : action}</button>
                <button type="button" onClick=${() => at.current.close()}>Cancel</button>
            </div>
        </form>
    </dialog>`;
}

// How many next steps of every series are asked for. Without set a form reads it by its name.
export const StepsAhead = ({ value, set, name }) => html`<label class="field">Steps ahead<input type="number" name=${name} min="1" max="10000" step="1" placeholder="none" title="The next steps of every series, in a table with times" value=${value ?? ""} onInput=${set && ((e) => set(e.target.value))} /></label>`;

// One change at a time: [do, busy, error, forget].
export function useAction(fn) {
    const [state, set] = useState({ busy: false, error: null });
    const act = async (...args) => {
        set({ busy: true, error: null });
        try {
            const r = await fn(...args);
            set({ busy: false, error: null });
            return r;
        } catch (error) {
            set({ busy: false, error });
        }
    };
    return [act, state.busy, state.error, () => set({ busy: false, error: null })];
}

// A list by pages of a cursor: {items, total, more, loading, error, reload}.
export function usePages(ask, name, deps) {
    const first = useLoad(() => ask(""), deps);
    const [more, setMore] = useState({ items: [], busy: false });
    useEffect(() => setMore({ items: [], busy: false }), [first.data]);
    const cursor = more.cursor === undefined ? first.data && first.data.next_cursor : more.cursor;
    const next = async () => {
        setMore((m) => ({ ...m, busy: true, error: null }));
        try {
            const page = await ask(cursor);
            setMore((m) => ({ items: [...m.items, ...page[name]], cursor: page.next_cursor, busy: false }));
        } catch (error) {
            setMore((m) => ({ ...m, busy: false, error }));
        }
    };
    return {
        ...first,
        items: first.data ? [...first.data[name], ...more.items] : [],
        total: first.data ? first.data.total : 0,
        foot: first.data && html`<div class="spread small soft"><span>${count(first.data[name].length + more.items.length)} of ${count(first.data.total)}</span>
            ${cursor && html`<button type="button" disabled=${more.busy} onClick=${next}>Show more</button>`}</div><${Problem} error=${more.error} />`,
    };
}

export function save(name, type, text) {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([text], { type }));
    a.download = name;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}
