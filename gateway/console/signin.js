// An API key, given once, becomes a session. The field is emptied as it is sent.
import { html, useEffect, useRef, Problem, useAction, useTitle } from "./ui.js";
import { post } from "./api.js";

export function SignIn({ why, error, done }) {
    const field = useRef(null);
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
            <label class="field">API key
                <input ref=${field} name="key" type="password" autocomplete="off" spellcheck="false" required placeholder="sk_live_…" aria-describedby="kept" />
            </label>
            <p id="kept" class="soft small">The key is exchanged for a session that ends by itself. It is not kept in this browser.</p>
            <${Problem} error=${refused || error} />
            <div class="spread"><button class="main-action" disabled=${busy}>${busy ? "Signing in …" : "Sign in"}</button><a class="small" href="/console/reference/">API reference</a></div>
        </form>
    </main>`;
}
