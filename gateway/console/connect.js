// Connecting a source. The kinds, their fields and what is said of each come from the API's own description
// (ConnectRequest of /v2/openapi), which is tested against the providers.
import { html, useState, Dialog, Loaded, useAction, useLoad } from "./ui.js";
import { get, post } from "./api.js";

// The families of sources: [{id, title, source, credentials, options}].
function familiesOf(openapi) {
    const schemas = openapi.components.schemas;
    return schemas.ConnectRequest.oneOf.map((r) => {
        const id = r.$ref.split("/").pop(), s = schemas[id];
        const part = (name) => fieldsOf(s.properties[name] || {}, name);
        return { id, title: s.title, source: s.properties.source.examples[0], credentials: part("credentials"), options: part("options").filter((f) => !["options.key", "options.reading"].includes(f.path)) };
    });
}

// An object's leaves: [{path, schema, group}]; a group is the title of the object that they lie in.
const fieldsOf = (schema, path, group = "") => Object.entries(schema.properties || {}).flatMap(([name, s]) => (s.type === "object" ? fieldsOf(s, `${path}.${name}`, s.title) : [{ path: `${path}.${name}`, schema: s, group }]));

// Where credentials come in groups, one way is chosen: a group, or a field that stands alone.
const waysOf = (fields) => (!fields.some((f) => f.group) ? [] : [...new Set(fields.map((f) => f.group || f.schema.title))].map((title) => ({ title, fields: fields.filter((f) => (f.group || f.schema.title) === title) })));

function Field({ of: { path, schema } }) {
    const name = schema.title || path.split(".").pop();
    const text = schema.description;
    if (schema.type === "boolean") return html`<label class="row"><input type="checkbox" name=${path} /> ${name}</label>`;
    const field = schema.enum
        ? html`<select name=${path}>${schema.enum.map((v) => html`<option key=${v} value=${v === schema.default ? "" : v}>${v}</option>`)}</select>`
        : /\.(ca|query|private_key|service_account)$/.test(path)
          ? html`<textarea name=${path} rows="3" spellcheck="false"></textarea>`
          : html`<input name=${path} type=${schema.format === "password" ? "password" : "text"} autocomplete="off" spellcheck="false" />`;
    return html`<label class="field">${name}${field}${text && html`<span class="soft small">${text}</span>`}</label>`;
}

// What was filled in, as the members of the request.
function bodyOf(form, family) {
    const body = { source: form.get("source") };
    if (form.get("name")) body.name = form.get("name");
    for (const f of [...family.credentials, ...family.options]) {
        const v = form.get(f.path);
        if (!v) continue;
        const keys = f.path.split(".");
        let at = body;
        for (const k of keys.slice(0, -1)) at = at[k] = at[k] || {};
        at[keys.at(-1)] = f.schema.type === "boolean" ? true : v;
    }
    return body;
}

export function Connect({ open, close, done }) {
    const [at, choose] = useState("");
    const [way, login] = useState("");
    const openapi = useLoad(async () => (open ? familiesOf(await get("/v2/openapi")) : null), [open]);
    const family = openapi.data && (openapi.data.find((x) => x.id === at) || openapi.data[0]);
    const [act, busy, error] = useAction(async (form) => {
        await post("/v2/data/connect", bodyOf(form, family));
        close();
        done();
    });
    const asked = (f) => !/\.(ca|tls)$/.test(f.path);
    const ways = family ? waysOf(family.credentials.filter(asked)) : [];
    const usual = !family ? [] : ways.length ? (ways.find((w) => w.title === way) || { fields: [] }).fields : family.credentials.filter(asked);
    const rare = !family ? [] : [...family.credentials.filter((f) => !asked(f)), ...family.options.filter((f) => f.schema.type === "boolean")];
    return html`<${Dialog} title="Connect a source" open=${open} close=${close} onSubmit=${act} action="Connect" busy=${busy || !family} error=${error}>
        <${Loaded} of=${openapi}>${() => html`
            <label class="field">Kind<select name="kind" value=${family.id} onChange=${(e) => { choose(e.target.value); login(""); }}>${openapi.data.map((x) => html`<option key=${x.id} value=${x.id}>${x.title}</option>`)}</select></label>
            <label class="field">Source<input name="source" required placeholder=${family.source} autocomplete="off" spellcheck="false" /></label>
            <label class="field">Name<input name="name" maxlength="128" placeholder="default: the last part of the source" /></label>
            ${ways.length > 0 && html`<label class="field">Sign in by<select name="login" value=${way} onChange=${(e) => login(e.target.value)}><option value="">nothing</option>${ways.map((w) => html`<option key=${w.title} value=${w.title}>${w.title}</option>`)}</select></label>`}
            ${[...usual, ...family.options.filter((f) => f.schema.type !== "boolean")].map((f) => html`<${Field} key=${family.id + f.path} of=${f} />`)}
            <details><summary class="small strong">More</summary><div class="stack tight more">${rare.map((f) => html`<${Field} key=${family.id + f.path} of=${f} />`)}</div></details>
            <p class="small soft">Credentials are encrypted and never shown again.</p>`}<//>
    <//>`;
}
