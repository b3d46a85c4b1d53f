// The frame: who is signed in, which page is shown. A page's code comes when it is first gone to.
import { html, render, useState, useEffect, useRef, Problem, Waiting } from "./ui.js";
import { api, get, session, tab } from "./api.js";
import { SignIn, complete, returned } from "./signin.js";

const PAGES = [
    ["", [["run", "Run", () => import("./run.js")], ["endpoints", "Endpoints", () => import("./endpoints.js")], ["data", "Data", () => import("./data.js")]]],
    ["Activity", [["jobs", "Jobs", () => import("./jobs.js")], ["reports", "Reports", () => import("./reports.js")], ["usage", "Usage", () => import("./usage.js")], ["service-level", "Service level", () => import("./usage.js").then((m) => ({ default: m.ServiceLevel }))]]],
    ["Organization", [["keys", "API keys", () => import("./keys.js")], ["audit", "Audit log", () => import("./audit.js")], ["notifications", "Notifications", () => import("./notifications.js")], ["webhooks", "Webhooks", () => import("./webhooks.js")], ["people", "People", () => import("./people.js")]]],
];
// What a person's role has no page of; a key sees all, and what its scopes do not allow says so.
const HIDDEN = { viewer: ["audit", "webhooks", "people"], builder: ["audit", "webhooks", "people"], admin: [], billing: ["run", "endpoints", "data", "jobs", "reports", "keys", "audit", "notifications", "webhooks", "people"] };
const page = (name) => PAGES.flatMap((g) => g[1]).find((p) => p[0] === name);
const here = () => location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);

function Page({ path }) {
    const [name, ...rest] = path;
    const [state, set] = useState({});
    useEffect(() => {
        let mine = true;
        const load = page(name);
        set({ name });
        load[2]().then((m) => mine && set({ name, view: m.default }), (error) => mine && set({ name, error }));
        return () => (mine = false);
    }, [name]);
    if (state.error) return html`<${Problem} error=${{ message: "The page could not be loaded: " + state.error.message }} retry=${() => location.reload()} />`;
    if (state.name !== name || !state.view) return html`<${Waiting} />`;
    return html`<${state.view} key=${rest.join("/")} path=${rest} />`;
}

function Frame({ me, signOut }) {
    const [path, set] = useState(here);
    const [unread, setUnread] = useState(0);
    const main = useRef(null);
    useEffect(() => {
        const go = () => {
            set(here());
            scrollTo(0, 0);
            main.current.focus({ preventScroll: true });
        };
        addEventListener("hashchange", go);
        set(here()); // the address may have changed since the first drawing
        return () => removeEventListener("hashchange", go);
    }, []);
    const hidden = me.person ? HIDDEN[me.person.role] || [] : [];
    const known = page(path[0]) && !hidden.includes(path[0]) ? path : [hidden.includes("run") ? "usage" : "run"];
    useEffect(() => {
        if (me.key.scopes.includes("read") && !hidden.includes("notifications")) get("/platform/v1/notifications?unread=true&limit=1").then((n) => setUnread(n.unread), () => {});
    }, [path[0]]);
    useEffect(() => {
        const link = document.querySelector("nav [aria-current]"); // on a narrow page the pages lie in a row
        if (link) link.scrollIntoView({ block: "nearest", inline: "center" });
    }, [known[0]]);
    return html`<div class="frame">
        <div class="side">
            <a class="brand" href="#/run"><img src="/console/icon.svg" alt="" />Tabella</a>
            <nav aria-label="Pages"><div class="groups">
                ${PAGES.map(([title, pages]) => html`<div key=${title}>
                    ${title && html`<h2>${title}</h2>`}
                    <ul>${pages.filter(([id]) => !hidden.includes(id)).map(([id, text]) => html`<li key=${id}><a href=${"#/" + id} aria-current=${known[0] === id ? "page" : undefined}>${text}${id === "notifications" && unread > 0 && html`<span class="tag accent">${unread}<span class="hidden"> unread</span></span>`}</a></li>`)}</ul>
                </div>`)}
            </div></nav>
            <div class="who small">
                <div><div class="strong cut">${me.organization.name}</div><div class="soft">${me.organization.plan} plan · ${me.key.name}</div></div>
                <div class="spread"><button type="button" onClick=${signOut}>Sign out</button><a href="/console/reference/">API reference</a></div>
            </div>
        </div>
        <main class="main" ref=${main} tabindex="-1"><${Page} path=${known} /></main>
    </div>`;
}

function App() {
    const [state, set] = useState({ asking: true });
    session.onEnd = (why) => {
        tab.clear();
        set({ why });
    };
    const signedIn = (me) => {
        session.me = me;
        set({ me });
    };
    const signOut = async () => {
        try {
            await api("DELETE", "/platform/v1/session");
        } catch (e) {
            if (e.status !== 401) return set({ me: session.me, error: e });
        }
        session.me = null;
        session.onEnd("You are signed out.");
    };
    useEffect(() => {
        const back = returned();
        if (back) complete(back).then(signedIn, (error) => set({ error }));
        else get("/platform/v1/session").then(signedIn, (error) => set(error.status === 401 ? {} : { error }));
    }, []);
    if (state.asking) return null;
    if (state.me) return html`${state.error && html`<${Problem} error=${state.error} />`}<${Frame} me=${state.me} signOut=${signOut} />`;
    return html`<${SignIn} why=${state.why} error=${state.error} done=${signedIn} />`;
}

render(html`<${App} />`, document.getElementById("app"));
