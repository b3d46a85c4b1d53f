// The page of a bundle: page.html, filled in. The template is the one of the command line and of the Python client,
// and this reads it as they do, so that one bundle gives one page, byte for byte (tests/suite/page). Its language is
// said in tools/python/tabella/_page.py.

// ---- values ---------------------------------------------------------------------------------------------------------

const num = (x) => (typeof x === "number" && isFinite(x) ? x : null);
const truth = (x) => !(x == null || x === false || x === 0 || x === "" || (Array.isArray(x) && !x.length));

// Rounded half up on |x| 10^places: the same digits in every language.
function fixed(x, places) {
    const y = Math.floor(Math.abs(x) * 10 ** places + 0.5);
    if (!isFinite(y)) return "–";
    const digits = BigInt(y).toString().padStart(places + 1, "0");
    const text = places === 0 ? digits : digits.slice(0, -places) + "." + digits.slice(-places);
    return (x < 0 && y > 0 ? "-" : "") + text;
}

const trimmed = (text) => (text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text);
const grouped = (text) => text.replace(/^(-?)(\d+)/, (_, sign, whole) => sign + whole.replace(/\B(?=(\d{3})+$)/g, ","));

// Four significant digits.
function four(x) {
    let a = Math.abs(x);
    if (a === 0) return "0";
    if (a >= 1e15 || a < 1e-6) {
        let e = 0;
        for (; a >= 10; e++) a /= 10;
        for (; a < 1; e--) a *= 10;
        return (x < 0 ? "-" : "") + trimmed(fixed(a, 3)) + "e" + e;
    }
    if (a === Math.floor(a)) return fixed(x, 0);
    let places = 3, t = a;
    for (; t >= 10 && places > 0; places--) t /= 10;
    for (; t < 1; places++) t *= 10;
    return trimmed(fixed(x, places));
}

const text = (x) => (typeof x === "string" ? x : typeof x === "boolean" ? String(x) : num(x) !== null ? four(x) : "");
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escaped = (s) => s.replace(/[&<>"'\x00-\x1f\x7f]/g, (c) => ESCAPES[c] || " ");

function member(x, key) {
    if (Array.isArray(x)) return typeof key === "number" && key >= 0 && key < x.length && Number.isInteger(key) ? x[key] : null;
    return x !== null && typeof x === "object" && typeof key === "string" && Object.hasOwn(x, key) ? x[key] : null;
}

// ---- functions ------------------------------------------------------------------------------------------------------

const low = (a, b) => (b < a ? b : a), high = (a, b) => (b > a ? b : a);

// Of a list's numbers; or of a member of each, by its path.
const extreme = (pick) => (x, ...path) => {
    let best = null;
    for (const v of Array.isArray(x) ? x : []) {
        const n = num(path.reduce(member, v));
        best = best === null ? n : n === null ? best : pick(best, n);
    }
    return best;
};
const either = (pick) => (x, y) => (num(x) === null || num(y) === null ? null : pick(x, y));

// Seconds since 1970 as a day (H. Hinnant, "chrono-compatible low-level date algorithms").
function date(x) {
    if (num(x) === null || Math.abs(x) > 1e11) return "";
    const f = Math.floor, z = f(x / 86400) + 719468, era = f(z / 146097), doe = z - era * 146097;
    const yoe = f((doe - f(doe / 1460) + f(doe / 36524) - f(doe / 146096)) / 365);
    const doy = doe - (365 * yoe + f(yoe / 4) - f(yoe / 100)), mp = f((5 * doy + 2) / 153);
    const month = mp < 10 ? mp + 3 : mp - 9, year = yoe + era * 400 + (month <= 2 ? 1 : 0);
    const two = (n) => String(n).padStart(2, "0");
    return `${year}-${two(month)}-${two(doy - f((153 * mp + 2) / 5) + 1)}`;
}

function cut(x, n) {
    const letters = Array.from(text(x));
    return letters.length <= n ? text(x) : letters.slice(0, n - 1).join("") + "…";
}

// A list in runs of neighbours that have the same member, a list each.
const entries = (x) => (x !== null && typeof x === "object" && !Array.isArray(x) ? Object.entries(x) : null);
function same(x, y) {
    const a = entries(x), b = entries(y);
    return a && b ? a.length === b.length && a.every(([k, v], i) => k === b[i][0] && equal(v, b[i][1])) : equal(x, y);
}
function groups(x, key) {
    const out = [];
    for (const v of Array.isArray(x) ? x : []) {
        if (out.length && same(member(v, key), member(out[out.length - 1][0], key))) out[out.length - 1].push(v);
        else out.push([v]);
    }
    return out;
}

const numeric = (show) => (x) => (num(x) === null ? "–" : show(x));
const FUNCTIONS = {
    count: numeric((n) => grouped(fixed(n, 0))),
    number: numeric((n) => (Math.abs(n) < 1e15 ? grouped(four(n)) : four(n))),
    percent: (x, d = 0) => (num(x) === null ? "–" : fixed(100 * x, d) + "%"),
    fix: (x, d) => (num(x) === null ? "0" : fixed(x, d)),
    text,
    plain: (x) => (num(x) === null ? text(x) : trimmed(fixed(x, 6))),
    cut,
    words: (x) => text(x).replaceAll("_", " "),
    date,
    size: (x) => (Array.isArray(x) ? x.length : 0),
    first: (x, n) => (Array.isArray(x) ? x.slice(0, n) : []),
    list: (...x) => x,
    groups,
    reversed: (x) => (Array.isArray(x) ? [...x].reverse() : []),
    most: extreme(high),
    least: extreme(low),
    max: either(high),
    min: either(low),
};

// ---- expressions ----------------------------------------------------------------------------------------------------

const equal = (a, b) => (num(a) !== null || num(b) !== null ? a === b : (a ?? null) === (b ?? null) && (a === null || typeof a !== "object"));
const ordered = (f) => (a, b) => num(a) !== null && num(b) !== null && f(a, b);
const arithmetic = (f) => (a, b) => (num(a) === null || num(b) === null ? null : num(f(a, b)));
const LEVELS = [
    { or: (a, b) => (truth(a) ? a : b) },
    { and: (a, b) => (truth(a) ? b : a) },
    { "==": equal, "!=": (a, b) => !equal(a, b), "<": ordered((a, b) => a < b), "<=": ordered((a, b) => a <= b), ">": ordered((a, b) => a > b), ">=": ordered((a, b) => a >= b) },
    { "+": arithmetic((a, b) => a + b), "-": arithmetic((a, b) => a - b) },
    { "*": arithmetic((a, b) => a * b), "/": arithmetic((a, b) => (b === 0 ? NaN : a / b)) },
];
const NAMED = { null: null, true: true, false: false };
const TOKEN = /\s*(?:(\d+(?:\.\d+)?)|'([^']*)'|([A-Za-z_]\w*)|(==|!=|<=|>=|[-+*/<>()[\],.=]))/y;

// The tokens of an expression: [kind, value].
function tokens(source) {
    const out = [];
    for (TOKEN.lastIndex = 0; TOKEN.lastIndex < source.trimEnd().length; ) {
        const m = TOKEN.exec(source);
        if (!m) throw new Error("The template does not read: " + source);
        out.push(m[1] !== undefined ? ["n", Number(m[1])] : m[2] !== undefined ? ["s", m[2]] : m[3] !== undefined ? ["w", m[3]] : ["o", m[4]]);
    }
    return out;
}

// An expression as a function of what its names mean.
function parse(source) {
    const list = tokens(source);
    let at = 0;
    const peek = (table) => at < list.length && "ow".includes(list[at][0]) && Object.hasOwn(table, list[at][1]);
    const is = (op) => peek({ [op]: 1 });
    const joined = (f, a, b) => (scope) => f(a(scope), b(scope));
    const level = (k) => {
        if (k === 2 && is("not")) {
            at++;
            const of = level(2);
            return (scope) => !truth(of(scope));
        }
        if (k === LEVELS.length) return postfix();
        let left = level(k + 1);
        while (peek(LEVELS[k])) left = joined(LEVELS[k][list[at++][1]], left, level(k + 1));
        return left;
    };
    const postfix = () => {
        let value = primary();
        while (is(".") || is("[")) {
            if (list[at++][1] === ".") {
                const name = list[at++][1];
                value = joined(member, value, () => name);
            } else {
                value = joined(member, value, level(0));
                at++;
            }
        }
        return value;
    };
    const primary = () => {
        const [kind, value] = list[at++];
        if (kind === "n" || kind === "s") return () => value;
        if (value === "(") {
            const inner = level(0);
            at++;
            return inner;
        }
        if (kind !== "w") throw new Error(`The template has ${value} where a value is.`);
        if (Object.hasOwn(NAMED, value)) return () => NAMED[value];
        if (!is("(")) return (scope) => (scope.has(value) ? scope.get(value) : null);
        at++;
        const args = [];
        while (!is(")")) {
            args.push(level(0));
            if (is(",")) at++;
        }
        at++;
        return (scope) => FUNCTIONS[value](...args.map((a) => a(scope)));
    };
    return level(0);
}

// ---- the template ---------------------------------------------------------------------------------------------------

export function fill(template, values) {
    const parts = template.split(/\{\{([^]*?)\}\}/), scope = new Map(Object.entries(values)), known = new Map();
    const of = (source) => {
        if (!known.has(source)) known.set(source, parse(source));
        return known.get(source)(scope);
    };
    const out = [];
    // Parts from `at` to the `else` or `end` that closes them; gives its place. Even parts are text.
    const block = (at, on) => {
        for (; at < parts.length; at++) {
            if (at % 2 === 0) {
                if (on) out.push(parts[at]);
                continue;
            }
            const tag = parts[at].trim(), word = tag.split(" ", 1)[0];
            if (word === "else" || word === "end") return at;
            if (word === "if") {
                const yes = on && truth(of(tag.slice(2)));
                at = block(at + 1, yes);
                if (parts[at].trim() === "else") at = block(at + 1, on && !yes);
            } else if (word === "for") {
                at = loop(at, tag.slice(3), on);
            } else if (word === "let") {
                const equals = tag.indexOf("=");
                if (on) scope.set(tag.slice(3, equals).trim(), of(tag.slice(equals + 1)));
            } else if (on) {
                out.push(escaped(text(of(tag))));
            }
        }
        return at;
    };
    const loop = (at, tag, on) => {
        const between = tag.indexOf(" in "), [item, index] = tag.slice(0, between).split(",").map((x) => x.trim());
        const over = on ? of(tag.slice(between + 4)) : null, end = block(at + 1, false);
        (Array.isArray(over) ? over : []).forEach((x, i) => {
            scope.set(item, x);
            if (index) scope.set(index, i);
            block(at + 1, true);
        });
        return end;
    };
    block(0, true);
    return out.join("");
}

// findings: what is known beside the bundle; `past` has the last values of each series of its forecast.
export const pageOf = async (bundle, findings) => fill(await (await fetch("/console/page.html")).text(), { bundle, findings });
