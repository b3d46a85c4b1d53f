// An endpoint tried with a row typed in, or with the rows of a file.
import { html, useState, useMemo, Code, Problem, StepsAhead, save, useAction } from "./ui.js";
import { may, p, post } from "./api.js";
import { bytes, cell, csv, plural, stepsOf } from "./format.js";
import { Results } from "./bundle/prediction.js";
import { Forecast } from "./bundle/forecast.js";
import { cellOf } from "./files.js";
import { Cost, bodyOf, useCost } from "./cost.js";

// Predictions of served rows as CSV: what a spreadsheet needs, no more.
function resultsCsv(r) {
    const t = r.prediction.task_type;
    const [names, of] = t === "classification" ? [["label", "confidence"], (x) => [x.label, x.confidence]] : t === "regression" ? [["value", "low_10", "high_90"], (x) => [x.value, x.quantiles && x.quantiles["0.1"], x.quantiles && x.quantiles["0.9"]]] : [["anomaly_score", "is_anomaly"], (x) => [x.anomaly_score, x.is_anomaly]];
    return csv(["row", ...names], r.prediction.results.map((x) => [x.row, ...of(x)]));
}

function ByRow({ body, main, target, column, ask, busy }) {
    const t = body.tables[main];
    const [values, set] = useState(() => Object.fromEntries(t.columns.map((c, i) => [i, cell(t.rows[0] ? t.rows[0][i] : null)])));
    const send = (ev) => {
        ev.preventDefault();
        ask({ tables: body.tables.map((x, i) => (i === main ? { ...x, rows: [x.columns.map((c, k) => (c === column ? null : cellOf(values[k])))] } : x)) });
    };
    return html`<form class="card" onSubmit=${send}><header><h2>A row of ${target}</h2><button class="main-action" disabled=${busy || !may("serve")}>${busy ? "Asking …" : "Predict"}</button></header>
        <div class="body stack tight">${t.columns.map((c, i) => html`<label class="field" key=${i}>${c || "c" + i}${c === column ? html`<span class="soft small">is predicted</span>` : html`<input value=${values[i]} onInput=${(ev) => set({ ...values, [i]: ev.target.value })} />`}</label>`)}</div></form>`;
}

function ByFile({ e, target, ask, busy }) {
    const [files, set] = useState({});
    const others = e.tables.map((t) => t.id).filter((id) => id !== target);
    const send = (ev) => {
        ev.preventDefault();
        ask({}, Object.entries(files).filter(([, f]) => f).map(([id, file]) => ({ id, file })));
    };
    return html`<form class="card" onSubmit=${send}><header><h2>A file of rows</h2><button class="main-action" disabled=${busy || !files[target] || !may("serve")}>${busy ? "Asking …" : "Predict rows"}</button></header>
        <div class="body stack">
            ${[target, ...others].map((id) => html`<label class="field" key=${id}>${id}${id !== target && html` <span class="soft small">optional: rows that these refer to</span>`}
                <input type="file" name=${"file " + id} accept=".csv,.tsv,.json,.ndjson,.xlsx,.ods,.parquet,.arrow,.arrows,.feather" onChange=${(ev) => set({ ...files, [id]: ev.target.files[0] })} />
                ${files[id] && html`<span class="soft small">${bytes(files[id].size)}</span>`}</label>`)}
            <p class="small soft">CSV, JSON, a workbook with one sheet, Parquet or an Arrow stream, with the columns of the pinned table; columns it lacks are treated as missing. The file is not stored.</p>
        </div></form>`;
}

function ByHorizon({ e, ahead, set, ask, busy }) {
    const request = ahead ? { options: { horizon: stepsOf(ahead) } } : null;
    const cost = useCost(p`/v2/serve/${e.id}`, request, [], [ahead, e.data_revision, e.config_revision]);
    const send = (ev) => {
        ev.preventDefault();
        ask(request);
    };
    return html`<form class="card" onSubmit=${send}><header><h2>Forecast</h2><button class="main-action" disabled=${busy || !request || !may("serve")}>${busy ? "Asking …" : "Forecast"}</button></header>
        <div class="body stack"><${StepsAhead} value=${ahead} set=${set} />
            <p class="small soft">The next steps of every series of the pinned table, each with its 80% interval.</p><${Cost} of=${cost} /></div></form>`;
}

export function Try({ e, openapi }) {
    const body = useMemo(() => {
        const post_ = openapi.paths && Object.values(openapi.paths)[0].post;
        const media = post_ && post_.requestBody.content["application/json"];
        const example = media && (media.example || (media.examples && Object.values(media.examples)[0].value) || media.schema.example);
        return example || { tables: e.tables.map((t) => ({ id: t.id, columns: t.column_profile.map((c) => c.name), rows: [t.column_profile.map(() => null)] })) };
    }, [openapi]);
    const [by, choose] = useState("row");
    const [ahead, setAhead] = useState((e.options && e.options.horizon) || "");
    const target = e.prediction && e.prediction.table ? e.prediction.table : body.tables[0].id;
    const main = Math.max(0, body.tables.findIndex((t) => t.id === target));
    const column = e.prediction && e.prediction.target ? e.prediction.target.slice(target.length + 1) : null;
    const [result, show] = useState(null);
    const [serve, busy, error] = useAction(async (request, files) => {
        show(null);
        show({ files: !!files, answer: await post(p`/v2/serve/${e.id}`, bodyOf(request, files)) });
    });
    const ask = (request, files) => serve(request, files);
    const r = result && result.answer;
    const json = JSON.stringify({ tables: body.tables }).replaceAll("'", "'\\''");
    const curl = `curl -s ${e.url} \\\n  -H "Authorization: Bearer $TABELLA_API_KEY" \\\n  ` + (by === "steps" ? `-H 'Content-Type: application/json' \\\n  -d '{"options": {"horizon": ${stepsOf(ahead)}}}'` : by === "row" ? `-H 'Content-Type: application/json' \\\n  -d '${json.length > 4000 ? json.slice(0, 4000) + " …" : json}'` : `-F 'request={}' \\\n  -F 'tables[${target}]=@${target}.csv'`);
    return html`<div class="stack">
        <div class="row" role="radiogroup" aria-label="Try it with">
            <label class="row"><input type="radio" name="by" checked=${by === "row"} onChange=${() => choose("row")} /> A row, typed in</label>
            <label class="row"><input type="radio" name="by" checked=${by === "file"} onChange=${() => choose("file")} /> A file of rows</label>
            ${e.prediction && e.prediction.task_type === "regression" && html`<label class="row"><input type="radio" name="by" checked=${by === "steps"} onChange=${() => choose("steps")} /> A forecast</label>`}
        </div>
        <div class="two">
            ${by === "row" ? html`<${ByRow} body=${body} main=${main} target=${target} column=${column} ask=${ask} busy=${busy} />` : by === "steps" ? html`<${ByHorizon} e=${e} ahead=${ahead} set=${setAhead} ask=${ask} busy=${busy} />` : html`<${ByFile} e=${e} target=${target} ask=${ask} busy=${busy} />`}
            <div class="stack" aria-live="polite"><${Problem} error=${error} />
                ${r && r.prediction && !result.files && !r.prediction.forecast && html`<div class="card"><header><h2>Answer</h2></header><div class="body"><${Results} key=${r.request_id || Math.random()} p=${r.prediction} source=${{}} /></div></div>`}
                ${r && r.prediction && result.files && html`<div class="note good"><div class="spread"><span>${plural(r.prediction.total, "row")} predicted.</span>${r.prediction.results.length === r.prediction.total && html`<button type="button" onClick=${() => save("predictions.csv", "text/csv", resultsCsv(r))}>CSV</button>`}</div></div>`}
                ${r && !r.prediction && html`<p class="soft">The answer has no prediction.</p>`}
                ${!r && !error && html`<p class="soft">${by === "row" ? "Fill in what you know; empty fields are treated as missing." : by === "steps" ? "For a table with times." : "Each row of the file gets its own prediction."}</p>`}
            </div>
        </div>
        ${r && r.prediction && result.files && html`<section class="stack tight"><h2>Answer</h2><${Results} key=${r.request_id || Math.random()} p=${r.prediction} source=${{}} /></section>`}
        ${r && r.prediction && r.prediction.forecast && html`<section class="stack tight"><h2>Answer</h2><${Forecast} key=${r.request_id || Math.random()} b=${{ tables: e.tables, ...r }} source=${{}} /></section>`}
        <h2>The same with curl</h2><${Code} text=${curl} label="curl" />
    </div>`;
}
