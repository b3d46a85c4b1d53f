// An API key, given once, becomes a session; the field is emptied as it is sent. People of an organization that has
// identity providers sign in there: the link #/signin/ORGANIZATION says which, and the browser remembers it.
import { html, useEffect, useLoad, useRef, Problem, useAction, useTitle } from "./ui.js";
import { get, post, query } from "./api.js";

const PLACE = "tabella.organization";

function organization() {
    const said = location.hash.match(/^#\/signin\/(org_[A-Za-z0-9]+)$/);
    try {
        if (said) localStorage.setItem(PLACE, said[1]);
        return said ? said[1] : localStorage.getItem(PLACE);
    } catch {
        return said && said[1]; // no room in this browser
    }
}

// What the provider's page sent along, taken out of the address at once; null: nothing.
export function returned() {
    const q = new URLSearchParams(location.search);
    if (!q.has("state")) return null;
    history.replaceState(null, "", location.pathname);
    return { state: q.get("state"), code: q.get("code"), error: q.get("error") };
}

export async function complete({ state, code, error }) {
    if (!code) throw new Error(error === "access_denied" ? "The sign-in was cancelled." : "The identity provider refused the sign-in.");
    return post("/platform/v1/signin/complete", { state, code });
}

function Providers({ of }) {
    const load = useLoad(() => get("/platform/v1/signin" + query({ organization: of })), [of]);
    const [go, busy, refused] = useAction(async (id) => {
        const { url } = await post("/platform/v1/signin", { organization: of, provider: id });
        if (!/^https?:\/\//.test(url)) throw new Error("The provider's address is invalid.");
        location.assign(url);
    });
    const list = load.data ? load.data.providers : [];
    if (list.length === 0) return null;
    return html`<div class="stack tight">${list.map((x) => html`<button type="button" key=${x.id} class="main-action" disabled=${busy} onClick=${() => go(x.id)}>Sign in with ${x.name}</button>`)}<${Problem} error=${refused} /></div>`;
}

export function SignIn({ why, error, done }) {
    const field = useRef(null);
    const org = organization();
    useTitle("Sign in");
    useEffect(() => field.current.focus(), []);
    const [send, busy, refused] = useAction(async () => {
        const key = field.current.value.trim();
        field.current.value = "";
        try {
            done(await post("/platform/v1/session", { key }));
        } catch (e) {
            field.current.focus();
            throw e;
        }
    });
    return html`<main class="signin">
        <form onSubmit=${(e) => { e.preventDefault(); send(); }}>
            <div class="row"><img src="/console/icon.svg" alt="" width="28" height="28" /><h1>Sign in to Tabella</h1></div>
            ${why && html`<p class="soft" role="status">${why}</p>`}
            ${org && html`<${Providers} of=${org} />`}
            <label class="field">API key
                <input ref=${field} name="key" type="password" autocomplete="off" spellcheck="false" required placeholder="sk_live_…" aria-describedby="kept" />
            </label>
            <p id="kept" class="soft small">The key is exchanged for a session that expires. It is not stored in this browser.</p>
            <${Problem} error=${refused || error} />
            <div class="spread"><button class="main-action" disabled=${busy}>${busy ? "Signing in …" : "Sign in"}</button><a class="small" href="/console/reference/">API reference</a></div>
        </form>
    </main>`;
}
