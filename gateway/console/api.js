// Calls of the API by the session's cookie. A change carries the session's CSRF token; a 401 ends the session here too.

export const session = { me: null, onEnd: () => {} };

export class ApiError extends Error {
    constructor(status, error, retry) {
        super(error.message || "The service did not answer.");
        Object.assign(this, { status, type: error.type || "internal", param: error.param || "", retry });
        this.requestId = error.request_id || "";
        this.runningJob = error.running_job_id || "";
    }
}

const path = (parts, ...values) => parts.map((p, i) => p + (i < values.length ? encodeURIComponent(values[i]) : "")).join("");

// p`/v2/jobs/${id}`: values are escaped.
export const p = path;

export function query(values) {
    const q = new URLSearchParams(Object.entries(values).filter(([, v]) => v !== "" && v != null));
    return q.size ? "?" + q : "";
}

async function answerOf(response) {
    let json = null;
    try {
        json = await response.json();
    } catch {
        json = null;
    }
    if (response.ok) return json;
    const retry = Number(response.headers.get("Retry-After")) || 0;
    const error = new ApiError(response.status, (json && json.error) || {}, retry);
    if (response.status === 401 && session.me) {
        session.me = null;
        session.onEnd("Your session has ended. Sign in again.");
    }
    throw error;
}

export async function api(method, url, body, { key, signal } = {}) {
    const headers = {};
    const form = body instanceof FormData;
    if (method !== "GET" && session.me) headers["X-CSRF-Token"] = session.me.csrf_token;
    if (body !== undefined && !form) headers["Content-Type"] = "application/json";
    if (key) headers["Idempotency-Key"] = key;
    let response;
    try {
        response = await fetch(url, {
            method,
            headers,
            signal,
            credentials: "same-origin",
            cache: "no-store",
            body: body === undefined ? undefined : form || typeof body === "string" ? body : JSON.stringify(body),
        });
    } catch (e) {
        if (e.name === "AbortError") throw e;
        throw new ApiError(0, { message: "The service cannot be reached. Check the connection and try again." }, 0);
    }
    return answerOf(response);
}

export const get = (url, more) => api("GET", url, undefined, more);
export const post = (url, body, more) => api("POST", url, body, more);

// A rate limit says when to ask again; anything else is the caller's.
export async function patient(ask, tries = 4) {
    for (let i = 0; ; i++) {
        try {
            return await ask();
        } catch (e) {
            if (e.type !== "rate_limit" || i + 1 >= tries) throw e;
            await pause(1000 * Math.max(1, e.retry));
        }
    }
}

// A file becomes datasets: at once, or, where it is large, by a job that is followed here. The browser reads it as it sends it.
export async function upload(file) {
    const form = new FormData();
    form.append("file", file, file.name);
    const r = await patient(() => post("/platform/v1/data/upload", form, { key: newKey() }));
    for (let wait = 500; r.job_id; wait = Math.min(4000, 1.5 * wait)) {
        await pause(wait);
        const job = await patient(() => get(path`/v2/jobs/${r.job_id}`));
        if (job.status === "done") return job.result;
        if (["failed", "cancelled", "expired"].includes(job.status)) throw new ApiError(0, { message: job.error || `The job ${job.status}.` }, 0);
    }
    return r;
}

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export const may = (scope) => !!session.me && session.me.key.scopes.includes(scope);

export const newKey = () => "console-" + Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

// What the tab remembers across a reload; forgotten at sign-out, and where the browser has no room for it.
export const tab = {
    get(name) {
        try {
            return JSON.parse(sessionStorage.getItem("tabella." + name));
        } catch {
            return null;
        }
    },
    set(name, value) {
        try {
            sessionStorage.setItem("tabella." + name, JSON.stringify(value));
            return true;
        } catch {
            sessionStorage.removeItem("tabella." + name);
            return false;
        }
    },
    drop: (name) => sessionStorage.removeItem("tabella." + name),
    clear: () => sessionStorage.clear(),
};
