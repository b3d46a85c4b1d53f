// Drop files, see what they are. The result lives at its job's address, so a reload finds it again.
import { html, useState, useEffect, useRef, Code, Dialog, Head, Problem, State, StepsAhead, Waiting, Empty, save, useAction } from "./ui.js";
import { api, get, may, newKey, p, patient, pause, post, tab, upload } from "./api.js";
import { bytes, plural, slug, splitRef, stepsOf } from "./format.js";
import { INLINE_MOST, PARTS_MOST, isColumnar, nameOf, readFile, unlike } from "./files.js";
import { Cost, bodyOf, useCost } from "./cost.js";
import { Bundle } from "./bundle/bundle.js";
import { pasts } from "./bundle/forecast.js";
import { ResultFiles } from "./bundle/downloads.js";
import { pageOf } from "./page.js";

// What this tab sent and got, by job. One run: tables are large, and files are not kept across a reload.
let last = null;

const kept = (inputs) => ({ ...inputs, files: inputs.files.map((f) => ({ id: f.id, size: f.size })) });
const whole = (inputs) => inputs.files.every((f) => f.file);
const remember = (job, inputs) => tab.set("run", { job, inputs: kept(inputs) }) || tab.set("run", { job });
const inputsOf = (job) => (last && last.job === job && last.inputs) || ((x) => x && x.job === job && x.inputs)(tab.get("run")) || null;

const rowsOf = (inputs) => inputs && inputs.tables && Object.fromEntries(inputs.tables.map((t) => [t.id, t]));

// ---- the form -------------------------------------------------------------------------------------------------------

function Files({ tables, files, data, add, sample, remove, problems }) {
    const nothing = tables.length + files.length + data.length === 0;
    const [over, setOver] = useState(false);
    const input = useRef(null);
    const drop = (e) => {
        e.preventDefault();
        setOver(false);
        add([...e.dataTransfer.files]);
    };
    return html`<div class="stack">
        <div class=${"drop" + (over ? " over" : "")} onDragOver=${(e) => { e.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${drop}>
            <h2>Drop your tables here</h2>
            <p class="soft">CSV, Excel, OpenDocument, JSON, Parquet, Arrow, SAS, SPSS, Stata; one file or several that belong together.<br />No shared keys, labels or preparation needed.</p>
            <div class="row"><button type="button" class=${nothing ? "main-action" : ""} onClick=${() => input.current.click()}>Choose files</button>
                ${nothing && html`<button type="button" onClick=${sample}>Try two sample tables</button>`}</div>
            <input ref=${input} type="file" multiple class="hidden" tabindex="-1" aria-label="Files" accept=".csv,.tsv,.tab,.txt,.json,.ndjson,.jsonl,.xlsx,.ods,.gz,.zip,.sav,.zsav,.por,.dta,.sas7bdat,.xpt,.parquet,.arrow,.arrows,.feather" onChange=${(e) => { add([...e.target.files]); e.target.value = ""; }} />
        </div>
        ${problems.map((x) => html`<${Problem} key=${x.name} error=${x.error} />`)}
        ${!nothing && html`<div class="card"><ul>
            ${tables.map((t, i) => html`<li key=${t.id} class="spread"><span><span class="strong break">${t.id}</span> <span class="soft">${plural(t.rows.length, "row")}, ${plural(t.columns.length, "column")}</span></span>
                <button type="button" class="plain" onClick=${() => remove("tables", i)}>Remove<span class="hidden"> ${t.id}</span></button></li>`)}
            ${files.map((f, i) => html`<li key=${f.id} class="spread"><span><span class="strong break">${f.id}</span> <span class="soft">${bytes(f.size)}${f.file ? ", read by the service, not stored" : "; choose this file again, because the page was reloaded"}</span></span>
                <button type="button" class="plain" onClick=${() => remove("files", i)}>Remove<span class="hidden"> ${f.id}</span></button></li>`)}
            ${data.map((d, i) => html`<li key=${d.id} class="spread"><span><span class="strong break">${d.name}</span> <span class="soft">${plural(d.rows, "row")}, ${plural(d.cols, "column")}; stored under Data</span></span>
                <button type="button" class="plain" onClick=${() => remove("data", i)}>Remove<span class="hidden"> ${d.name}</span></button></li>`)}
        </ul></div>`}
    </div>`;
}

const Steps = () => html`<ol class="steps" aria-label="How it goes">
    <li><h3>Drop tables</h3><p class="soft">A list of customers, an export of orders, a spreadsheet: as they are. Two tables of the same things need no shared key.</p></li>
    <li><h3>Run</h3><p class="soft">You see the cost before you run; a table of 1,000 rows takes seconds.</p></li>
    <li><h3>Read the result</h3><p class="soft">What each column holds, which rows of two tables match, which missing cells were filled, and what can be predicted, how well and why.</p></li>
    <li><h3>Keep it</h3><p class="soft">One click makes an endpoint: a URL that predicts new rows, with a score on rows it has not seen.</p></li>
</ol>`;

function Options({ inputs, set }) {
    const columns = inputs.tables.flatMap((t) => t.columns.map((c, i) => (c && t.columns.indexOf(c) === t.columns.lastIndexOf(c) ? `${t.id}.${c}` : `${t.id}.c${i}`)));
    return html`<div class="row fields">
        <label class="field">Predict<select value=${inputs.target} onChange=${(e) => set({ target: e.target.value })}>
            <option value="auto">the most predictable column</option><option value="none">nothing</option>
            ${columns.map((c) => html`<option key=${c} value=${"=" + c}>${c}</option>`)}
        </select></label>
        <label class="field">Task<select value=${inputs.task} onChange=${(e) => set({ task: e.target.value })}>
            <option value="auto">from the target</option><option value="classification">classification</option><option value="regression">regression</option><option value="anomaly">anomalies, no target</option>
        </select></label>
        ${inputs.tables.length + inputs.files.length + inputs.data.length > 1 && html`<label class="field">Minimum match confidence (%)<input type="number" min="0" max="100" step="any" placeholder="50" value=${inputs.threshold ?? ""} onInput=${(e) => set({ threshold: e.target.value })} /></label>`}
        <${StepsAhead} value=${inputs.horizon} set=${(horizon) => set({ horizon })} />
        <label class="row"><input type="checkbox" checked=${inputs.explain} onChange=${(e) => set({ explain: e.target.checked })} /> Reasons for each row</label>
        ${(inputs.ignore || []).map((c) => html`<span class="tag" key=${c}>without ${c} <button type="button" class="plain" onClick=${() => set({ ignore: inputs.ignore.filter((x) => x !== c) })}>×<span class="hidden"> use ${c}</span></button></span>`)}
    </div>`;
}

export function requestOf(inputs) {
    const body = {};
    if (inputs.tables.length) body.tables = inputs.tables;
    if (inputs.data.length) body.data = inputs.data.map((d) => d.id);
    if (inputs.target === "none") body.target = { mode: "none" };
    else if (inputs.target.startsWith("=")) body.target = { column: inputs.target.slice(1) };
    if (inputs.task !== "auto") body.task = { type: inputs.task };
    const options = {};
    if (inputs.explain) options.explain = true;
    if (inputs.threshold) options.confidence_threshold = Math.min(100, Math.max(0, Number(inputs.threshold) || 0)) / 100;
    if (inputs.tables.length || inputs.files.length) options.missing_values = "auto";
    if (inputs.horizon) options.horizon = stepsOf(inputs.horizon);
    const ignored = inputs.ignore || [];
    if (ignored.length) options.columns = ignored.map((x) => ({ table: splitRef(x)[0], column: splitRef(x)[1], use: "ignore" }));
    if (Object.keys(options).length) body.options = options;
    return body;
}

const NOTHING = { tables: [], files: [], data: [], target: "auto", task: "auto", explain: true };

// Sends the run. The key makes a second sending, after a reload say, the same run.
async function send(inputs, key, signal) {
    tab.set("pending", { key, inputs: kept(inputs) });
    try {
        const r = await patient(() => post("/v2/run", bodyOf(requestOf(inputs), inputs.files), { key, signal }));
        last = { job: r.job_id, inputs, bundle: r.status === "complete" ? r : null };
        remember(r.job_id, inputs);
        location.hash = "#/run/" + r.job_id;
    } finally {
        tab.drop("pending");
    }
}

function Start({ begin }) {
    const [inputs, setInputs] = useState(begin || NOTHING);
    const [problems, setProblems] = useState([]);
    const [reading, setReading] = useState("");
    const [began, setBegan] = useState(0);
    const set = (some) => setInputs((x) => ({ ...x, ...some }));
    const stop = useRef(null);

    const add = async (files) => {
        setProblems([]);
        let now = { ...inputs, files: inputs.files.filter((f) => f.file) }; // those that a reload has lost are chosen anew
        let room = INLINE_MOST - now.tables.reduce((n, t) => n + t.rows.length * t.columns.length * 8, 0);
        for (const file of files) {
            setReading(`${file.name} (${bytes(file.size)})`);
            try {
                const table = file.size <= room ? await readFile(file) : null;
                const names = [...now.tables, ...now.files].map((t) => t.id);
                if (isColumnar(file) && now.files.reduce((n, f) => n + f.size, file.size) <= PARTS_MOST) {
                    now = { ...now, files: [...now.files, { id: unlike(nameOf(file), names), size: file.size, file }] };
                } else if (table) {
                    room -= file.size;
                    table.id = unlike(table.id, names);
                    now = { ...now, tables: [...now.tables, table] };
                } else {
                    const r = await upload(file);
                    const found = r.datasets || (r.dataset ? [r.dataset] : []);
                    now = { ...now, data: [...now.data, ...found] };
                }
                setInputs(now);
            } catch (error) {
                const said = error.status === undefined ? { message: `${file.name}: ${error.message}` } : error;
                setProblems((x) => [...x, { name: file.name, error: said }]);
            }
        }
        setReading("");
    };
    // Two made tables of the same customers, without a shared key; served with the page.
    const sample = async () => {
        try {
            await add(await Promise.all(["customers", "billing"].map(async (name) => new File([await (await fetch(`/console/sample/${name}.csv`)).blob()], name + ".csv"))));
        } catch {
            setProblems([{ name: "sample", error: { message: "The sample tables could not be loaded." } }]);
        }
    };
    const remove = (kind, i) => setInputs((x) => ({ ...x, target: "auto", ignore: [], [kind]: x[kind].filter((_, k) => k !== i) }));
    const [run, busy, error] = useAction(async (what, key) => {
        setBegan(Date.now());
        stop.current = new AbortController();
        await send(what, key, stop.current.signal);
    });
    useEffect(() => {
        const waits = tab.get("pending"); // the page was left while a run was under way
        if (waits && !begin) {
            setInputs(waits.inputs);
            if (whole(waits.inputs)) run(waits.inputs, waits.key);
            else tab.drop("pending"); // its files are to be chosen again; if it was begun, Jobs lists it
        }
        return () => stop.current && stop.current.abort();
    }, []);

    const some = inputs.tables.length + inputs.files.length + inputs.data.length > 0, ready = some && whole(inputs);
    const cost = useCost("/v2/run", ready && !busy && may("run") ? requestOf(inputs) : null, inputs.files, [inputs, ready, busy]);
    return html`<div>
        <${Head} title="Run" about="Understand tables and predict from them: what they are, how they relate, what is missing and what can be predicted. Only the result of a run is stored, for one day." />
        ${busy ? html`<${Progress} began=${began} text="The tables are being read" />` : html`<div class="stack">
            <${Files} tables=${inputs.tables} files=${inputs.files} data=${inputs.data} add=${add} sample=${sample} remove=${remove} problems=${problems} />
            ${!some && html`<${Steps} />`}
            ${reading && html`<${Waiting} what=${"Reading " + reading} />`}
            ${some && html`<${Options} inputs=${inputs} set=${set} />`}
            <${Problem} error=${error && error.name !== "AbortError" ? error : null} />
            ${some && html`<div class="row wide"><button type="button" class="main-action" disabled=${!!reading || !ready || !may("run")} onClick=${() => run(inputs, newKey())}>Run</button>
                <${Cost} of=${cost} /></div>`}
            ${!may("run") && html`<div class="note warn">Your key lacks the scope <code>run</code>.</div>`}
        </div>`}
    </div>`;
}

function Progress({ began, text, job, cancel }) {
    const [now, set] = useState(Date.now());
    useEffect(() => {
        const t = setInterval(() => set(Date.now()), 1000);
        return () => clearInterval(t);
    }, []);
    const known = job && job.status === "running";
    return html`<section class="card"><div class="body stack">
        <div class="spread"><h2 role="status">${text} …</h2><span class="soft">${Math.max(0, Math.round((now - began) / 1000))} s</span></div>
        <progress aria-label=${text} max="100" value=${known ? job.progress : undefined}></progress>
        ${job && html`<div class="row"><${State} of=${job.status} /> ${job.phase && html`<span class="soft">${job.phase}</span>`} ${cancel}</div>`}
    </div></section>`;
}

// ---- the result -----------------------------------------------------------------------------------------------------

function MakeEndpoint({ inputs, bundle, close, open }) {
    const [ahead, setAhead] = useState(inputs.horizon || "");
    const bodyOfRun = () => {
        const body = requestOf({ ...inputs, target: bundle.target_selection.column ? "=" + bundle.target_selection.column : inputs.target });
        const options = { ...(body.options || {}) };
        delete options.explain; // of a run
        delete options.horizon;
        if (ahead) options.horizon = stepsOf(ahead);
        if (Object.keys(options).length) body.options = options;
        else delete body.options;
        return body;
    };
    const [act, busy, error] = useAction(async (form) => {
        const r = await post("/v2/endpoints", bodyOf({ ...bodyOfRun(), name: form.get("name") }, inputs.files), { key: newKey() });
        location.hash = "#/endpoints/" + r.id;
    });
    // The name does not cost: an endpoint that has this one already is told when it is made.
    const cost = useCost("/v2/endpoints", open ? { ...bodyOfRun(), name: "cost-" + newKey().slice(-16) } : null, inputs.files, [open, ahead]);
    const first = slug((bundle.target_selection.column || bundle.tables[0].id).split(".").pop()) || "endpoint";
    return html`<${Dialog} title="Make this an endpoint" open=${open} close=${close} onSubmit=${act} action="Create" busy=${busy} error=${error}>
        <p class="soft">The tables are stored and pinned as datasets, the prediction is scored on held-out rows, and a stable URL predicts new rows.</p>
        <label class="field">Name<input name="name" required maxlength="63" pattern="[a-z0-9]([a-z0-9\\-]{0,61}[a-z0-9])?" value=${first} /><span class="soft small">lowercase letters, digits and hyphens</span></label>
        <${StepsAhead} value=${ahead} set=${setAhead} />
        <${Cost} of=${cost} />
    <//>`;
}

function SameByCode({ inputs }) {
    const origin = location.origin, data = inputs.data.map((d) => d.id);
    const target = inputs.target.startsWith("=") ? `, target="${inputs.target.slice(1)}"` : inputs.target === "none" ? ', target=False' : "";
    const ahead = inputs.horizon ? `, horizon=${requestOf(inputs).options.horizon}` : "";
    const read = { parquet: "read_parquet", feather: "read_feather", arrow: "read_feather", arrows: "read_feather" };
    const fileOf = (f) => (f.file && f.file.name) || f.id + ".parquet";
    const parts = inputs.files.map((f) => ` \\\n  -F 'tables[${f.id}]=@${fileOf(f)}'`).join("");
    const curl = `curl -s ${origin}/v2/run \\\n  -H "Authorization: Bearer $TABELLA_API_KEY" \\\n  ` + (parts ? `-F request=@run.json${parts}` : `-H 'Content-Type: application/json' \\\n  --data-binary @run.json`);
    const frames = [...inputs.tables.map((t) => `"${t.id}": pd.read_csv("${t.id}.csv")`), ...inputs.files.map((f) => `"${f.id}": pd.${read[fileOf(f).split(".").pop().toLowerCase()]}("${fileOf(f)}")`)].join(", ");
    const what = [frames && `{${frames}}`, data.length && `data=[${data.map((d) => `"${d}"`).join(", ")}]`].filter(Boolean).join(", ");
    const python = `${frames ? "import pandas as pd\n" : ""}from tabella import Tabella\n\nclient = Tabella(base_url="${origin}")  # the key is TABELLA_API_KEY\nbundle = client.run(${what}${target}${ahead})\nprint(bundle.summary())`;
    return html`<details class="card"><summary class="body strong">The same with curl or Python</summary><div class="body stack">
        <div class="spread"><h3>curl</h3><button type="button" onClick=${() => save("run.json", "application/json", JSON.stringify(requestOf(inputs)))}>Download run.json</button></div><${Code} text=${curl} label="curl" />
        <h3>Python</h3><${Code} text=${python} label="Python" />
    </div></details>`;
}

function Result({ id }) {
    const inputs = inputsOf(id);
    const [state, set] = useState(last && last.job === id && last.bundle ? { bundle: last.bundle } : {});
    const [making, make] = useState(false);
    useEffect(() => {
        let mine = true;
        const follow = async () => {
            for (let wait = 500; mine && !state.bundle; wait = Math.min(4000, 1.5 * wait)) {
                try {
                    const job = await patient(() => get(p`/v2/jobs/${id}`));
                    if (!mine) return;
                    if (job.status === "done" && job.result && job.result.tables) return set({ bundle: job.result, job });
                    set({ job });
                    if (["done", "failed", "cancelled", "expired"].includes(job.status)) return;
                } catch (error) {
                    return mine && set((s) => ({ ...s, error }));
                }
                await pause(wait);
            }
        };
        follow();
        return () => (mine = false);
    }, [id]);
    const [files, showFiles] = useState(false);
    const [cancel, cancelling, refused] = useAction(async () => set({ job: await post(p`/v2/jobs/${id}/cancel`) }));
    const begins = (some) => {
        begin = { ...inputs, ...some };
        location.hash = "#/run/new";
    };
    const again = (target) => begins({ target: "=" + target });
    const without = (column) => begins({ target: b.target_selection.column ? "=" + b.target_selection.column : inputs.target, ignore: [...(inputs.ignore || []), column] });
    const b = state.bundle, job = state.job;
    const name = (b ? b.tables.map((t) => t.id).join(", ") : "Run").slice(0, 80);
    if (!b) {
        const under = !job || ["queued", "running"].includes(job.status);
        return html`<div><${Head} title="Run" crumb=${["New run", "#/run"]} />
            <${Problem} error=${state.error || refused} />
            ${!state.error && under && html`<${Progress} began=${job ? new Date(job.created_at) : Date.now()} text=${job && job.status === "queued" ? "Waiting for its turn" : "The tables are being read"} job=${job} cancel=${job && may("manage") && html`<button type="button" disabled=${cancelling} onClick=${cancel}>Cancel</button>`} />`}
            ${job && !under && html`<${Empty} title=${job.status === "done" ? "This result has expired" : "The run is " + job.status}><p>${job.error || (job.status === "done" ? "Results are stored for one day." : "Nothing was billed.")}</p><a class="button" href="#/run">New run</a><//>`}
        </div>`;
    }
    return html`<div>
        <${Head} title=${name} crumb=${["New run", "#/run"]}>
            ${inputs && whole(inputs) && may("manage") && html`<button type="button" class="main-action" onClick=${() => make(true)}>Make this an endpoint</button>`}
            <button type="button" onClick=${() => save("bundle.json", "application/json", JSON.stringify(b, null, 1))}>JSON</button>
            <button type="button" aria-expanded=${files} onClick=${() => showFiles(!files)}>Files</button>
            <button type="button" onClick=${() => pageOf(b, { past: pasts(b, { rows: rowsOf(inputs) || {} }) }).then((page) => save("tables.html", "text/html", page))}>HTML page</button>
        <//>
        ${files && html`<${ResultFiles} id=${id} bundle=${b} />`}
        <${Bundle} bundle=${b} source=${{ path: p`/v2/jobs/${id}`, rows: rowsOf(inputs) }} choose=${inputs ? again : null} without=${inputs ? without : null} />
        ${inputs && html`<div class="stack" style=${{ marginTop: "24px" }}><${SameByCode} inputs=${inputs} /></div>`}
        ${inputs && html`<${MakeEndpoint} inputs=${inputs} bundle=${b} open=${making} close=${() => make(false)} />`}
    </div>`;
}

let begin = null; // what the next form starts with

export default function Run({ path }) {
    if (path[0] && path[0] !== "new") return html`<${Result} key=${path[0]} id=${path[0]} />`;
    const from = path[0] === "new" ? begin : null;
    begin = null;
    return html`<${Start} key=${path[0] || ""} begin=${from} />`;
}
