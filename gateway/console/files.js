// Files that the browser reads by itself: CSV with any of four delimiters, and JSON as rows or as objects. What it
// cannot read is sent as it is: Parquet and Arrow with the run, the rest (Excel, packed files, large ones) is uploaded, and the service reads it.

export const INLINE_MOST = 8 << 20; // bytes of all files of a run
export const PARTS_MOST = 60 << 20; // bytes of files that go along with a run as they are; a body has 64 MiB at most

// Files by column, which the service reads as they are sent: a part of the run, kept nowhere.
export const isColumnar = (file) => /\.(parquet|arrow|arrows|feather)$/i.test(file.name);

const PLAIN = /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/;

// A CSV field as a JSON cell: empty is missing, a plain number is a number, the rest is text.
export function cellOf(text) {
    if (text === "") return null;
    if (PLAIN.test(text)) return Number(text);
    return text;
}

function fieldsOf(text, delimiter) {
    const rows = [];
    let row = [], at = 0;
    const n = text.length;
    while (at < n) {
        let value;
        if (text[at] === '"') {
            let out = "", from = ++at;
            for (;;) {
                const q = text.indexOf('"', at);
                if (q < 0) {
                    out += text.slice(from);
                    at = n;
                    break;
                }
                if (text[q + 1] === '"') {
                    out += text.slice(from, q + 1);
                    from = at = q + 2;
                    continue;
                }
                out += text.slice(from, q);
                at = q + 1;
                break;
            }
            value = out;
            while (at < n && text[at] !== delimiter && text[at] !== "\n" && text[at] !== "\r") value += text[at++];
        } else {
            const from = at;
            while (at < n && text[at] !== delimiter && text[at] !== "\n" && text[at] !== "\r") at++;
            value = text.slice(from, at);
        }
        row.push(value);
        if (text[at] === delimiter) {
            at++;
            if (at === n) row.push("");
            if (at < n) continue;
        }
        if (text[at] === "\r") at++;
        if (text[at] === "\n") at++;
        if (row.length > 1 || row[0] !== "") rows.push(row);
        row = [];
    }
    return rows;
}

// The delimiter whose first lines agree most on more than one field.
function delimiterOf(text) {
    const head = text.slice(0, 20000);
    let best = ",", bestScore = 0;
    for (const d of [",", ";", "\t", "|"]) {
        const rows = fieldsOf(head, d).slice(0, 50);
        const width = rows.length ? rows[0].length : 1;
        const score = width < 2 ? 0 : (rows.filter((r) => r.length === width).length / rows.length) * Math.min(width, 50);
        if (score > bestScore) [best, bestScore] = [d, score];
    }
    return best;
}

export function tableOfCsv(text) {
    if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    const rows = fieldsOf(text, delimiterOf(text));
    if (!rows.length) throw new Error("The file is empty.");
    const columns = rows.shift();
    const bad = rows.findIndex((r) => r.length !== columns.length);
    if (bad >= 0) throw new Error(`Row ${bad + 1} has ${rows[bad].length} fields, the header ${columns.length}.`);
    return { columns, rows: rows.map((r) => r.map(cellOf)) };
}

const scalar = (v) => (v === undefined ? null : v !== null && typeof v === "object" ? JSON.stringify(v) : v);

export function tableOfJson(text) {
    let json;
    try {
        json = JSON.parse(text);
    } catch {
        json = text.split(/\r?\n/).filter((l) => l.trim()).map((l) => JSON.parse(l)); // one value a line
    }
    if (json && !Array.isArray(json) && Array.isArray(json.columns) && Array.isArray(json.rows)) return { columns: json.columns, rows: json.rows };
    if (!Array.isArray(json)) json = Object.values(json || {}).find(Array.isArray);
    if (!json || !json.length || typeof json[0] !== "object") throw new Error("The file holds no list of rows.");
    if (Array.isArray(json[0])) return { columns: json[0].map(String), rows: json.slice(1).map((r) => r.map(scalar)) };
    const columns = [...new Set(json.flatMap((o) => Object.keys(o)))];
    return { columns, rows: json.map((o) => columns.map((c) => scalar(o[c]))) };
}

export const nameOf = (file) => file.name.replace(/\.[^.]*$/, "").replaceAll(".", "_").slice(0, 128) || "table";

// A table, or null for a file that the service is to read.
export async function readFile(file) {
    const csv = /\.(csv|tsv|tab|txt)$/i.test(file.name), json = /\.(json|ndjson|jsonl)$/i.test(file.name);
    if ((!csv && !json) || file.size > INLINE_MOST) return null;
    let text;
    try {
        text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
        return null; // another encoding: the service finds out which
    }
    const table = csv ? tableOfCsv(text) : tableOfJson(text);
    return { id: nameOf(file), ...table };
}

// Names that differ, as tables of one run must.
export function unlike(name, names) {
    let out = name;
    for (let i = 2; names.includes(out); i++) out = `${name}_${i}`;
    return out;
}
