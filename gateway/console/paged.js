// Arrays of a bundle that come by pages.
import { html, useState, Problem } from "./ui.js";
import { get, query } from "./api.js";
import { count } from "./format.js";

// An array whose first page is in the bundle: the next ones are asked for as they come into sight. total: null
// where the bundle does not say it.
export function useArray(items, cursor, total, source) {
    const [state, set] = useState({ items, cursor, busy: false });
    const near = async (last) => {
        if (!state.cursor || state.busy || !source.path || last < state.items.length - 20) return;
        state.busy = true;
        try {
            const page = await get(source.path + query({ cursor: state.cursor, limit: 100 }));
            set((s) => ({ items: [...s.items, ...page.items], cursor: page.next_cursor, busy: false }));
        } catch (error) {
            set((s) => ({ ...s, busy: false, cursor: null, kept: s.cursor, error }));
        }
    };
    const retry = () => set((s) => ({ ...s, cursor: s.kept, error: null }));
    const more = total === null ? state.cursor : state.items.length < total;
    const foot = html`<p class="small soft">${count(state.items.length)}${total === null ? "" : ` of ${count(total)}`} loaded${more ? "; scroll for more" : ""}</p>
        <${Problem} error=${state.error} retry=${retry} />`;
    return { items: state.items, total, near, foot };
}
