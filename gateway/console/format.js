// Numbers, times and cells as people read them.

const whole = new Intl.NumberFormat("en");
const four = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

export const count = (n) => (n == null ? "–" : whole.format(n));
export const percent = (x, digits = 0) => (x == null ? "–" : `${(100 * x).toFixed(digits)}%`);
export const number = (x) => (x == null || x === "" ? "–" : typeof x === "number" ? four.format(x) : String(x));
const cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
// An amount: cents, and of less than one its first digits.
export const money = (x) => (x == null ? "–" : x > 0 && x < 0.01 ? number(x) : cents.format(x));
export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

export function bytes(n) {
    if (n == null) return "–";
    const units = ["B", "KB", "MB", "GB"];
    let i = 0;
    for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
    return `${n < 10 && i ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

export function time(t) {
    if (!t) return "–";
    const d = new Date(t);
    return isNaN(d) ? String(t) : d.toISOString().slice(0, 16).replace("T", " ") + " UTC";
}

export function ago(t, now = Date.now()) {
    if (!t) return "never";
    const s = Math.max(0, (now - new Date(t)) / 1000);
    if (s < 60) return "just now";
    if (s < 3600) return plural(Math.floor(s / 60), "minute") + " ago";
    if (s < 86400) return plural(Math.floor(s / 3600), "hour") + " ago";
    if (s < 30 * 86400) return plural(Math.floor(s / 86400), "day") + " ago";
    return time(t).slice(0, 10);
}

// A cell's own text; null has none.
export const cell = (v) => (v === null || v === undefined ? "" : typeof v === "string" ? v : JSON.stringify(v));
export const isNumber = (v) => typeof v === "number" && isFinite(v);

// A name made of anything, for ids of endpoints.
// A number of steps ahead, typed in, as the API takes it.
export const stepsOf = (text) => Math.min(10000, Math.max(1, Math.round(Number(text)) || 1));
export const slug = (text) =>
    String(text).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 63).replace(/-+$/, "");

export const words = (text) => String(text).replaceAll("_", " ");

const csvField = (v) => {
    const text = cell(v);
    // A cell that a spreadsheet would run as a formula is kept text by an apostrophe.
    const safe = typeof v === "string" && /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
export const csv = (columns, rows) => [columns, ...rows].map((r) => r.map(csvField).join(",")).join("\r\n") + "\r\n";

// A column is "table.column"; the first dot divides.
export const splitRef = (ref) => {
    const at = String(ref).indexOf(".");
    return at < 0 ? ["", String(ref)] : [ref.slice(0, at), ref.slice(at + 1)];
};

// The names by which a table's columns are addressed: those that are empty or repeated go by their position.
export function columnNames(table) {
    const names = table.column_profile.map((c) => c.name);
    return table.column_profile.map((c) => (c.name && names.indexOf(c.name) === names.lastIndexOf(c.name) ? c.name : `c${c.index}`));
}
