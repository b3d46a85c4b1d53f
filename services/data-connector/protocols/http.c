/* See http.h. */
#include "services/data-connector/protocols/http.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/files/unpack.h"

enum { TRIES = 5, PAUSE_MS = 500, PAUSE_MOST_MS = 30000, WAIT_MOST_S = 60, RETRY_MS = 180000, IDLE_S = 30 };

typedef struct {
    tab_grown body;
    size_t most;
    bool too_large;
    char etag[256], link[2048], type[128], range[64];
    int64_t wait_s; /* Retry-After */
} hearing;

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    hearing *h = arg;
    size_t bytes = size * n;
    if (bytes > h->most - h->body.n) {
        h->too_large = true;
        return 0;
    }
    return tab_grown_add(&h->body, p, bytes, NULL) == TAB_OK ? bytes : 0;
}

static void header_value(const char *p, size_t n, const char *name, char *ret, size_t size)
{
    size_t m = strlen(name);
    if (n <= m || strncasecmp(p, name, m) != 0)
        return;
    for (p += m, n -= m; n > 0 && isspace((unsigned char)*p); p++)
        n--;
    while (n > 0 && isspace((unsigned char)p[n - 1]))
        n--;
    if (n < size) /* one that is longer is none */
        snprintf(ret, size, "%.*s", (int)n, p);
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
    hearing *h = arg;
    char wait[16] = "";
    header_value(p, size * n, "ETag:", h->etag, sizeof h->etag);
    header_value(p, size * n, "Link:", h->link, sizeof h->link);
    header_value(p, size * n, "Content-Type:", h->type, sizeof h->type);
    header_value(p, size * n, "Content-Range:", h->range, sizeof h->range);
    header_value(p, size * n, "Retry-After:", wait, sizeof wait);
    if (wait[0] != '\0' && strspn(wait, "0123456789") == strlen(wait))
        h->wait_s = strtol(wait, NULL, 10);
    return size * n;
}

typedef struct {
    char url[4 * REF_LENGTH], scheme[8], host[256];
    uint16_t port;
} target;

static tab_status headers(tab_arena *a, const http_pair *h, size_t n, struct curl_slist **list,
                          tab_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *line = tab_arena_printf(a, "%s: %s", h[i].name, h[i].value);
        struct curl_slist *more = line == NULL ? NULL : curl_slist_append(*list, line);
        if (more == NULL)
            return tab_no_memory(err);
        *list = more;
    }
    return TAB_OK;
}

/* What went wrong before there was an answer. *again: it may pass. */
static tab_status unanswered(const source *s, CURL *c, CURLcode e, const hearing *h, bool *again,
                             tab_error *err)
{
    long os = 0;
    *again = false;
    if (h->too_large || guard_spent())
        return source_too_large(err);
    if (source_left_ms(s, 1) == 0)
        return source_too_late(err);
    curl_easy_getinfo(c, CURLINFO_OS_ERRNO, &os);
    if (e == CURLE_COULDNT_CONNECT && os == ECONNREFUSED)
        return source_not_listening(err);
    if (e == CURLE_PEER_FAILED_VERIFICATION || e == CURLE_SSL_CONNECT_ERROR || e == CURLE_SSL_CACERT_BADFILE)
        return source_without_tls(err);
    if (e == CURLE_OUT_OF_MEMORY) /* also what libcurl says of headers without end */
        return source_too_large(err);
    *again = true;
    if (e == CURLE_COULDNT_CONNECT || e == CURLE_OPERATION_TIMEDOUT)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source does not respond.");
    return source_broke(err);
}

/* One request, its answer in h. */
static tab_status once(const source *s, CURL *c, const target *t, const char *address, const http_request *q,
                       struct curl_slist *list, hearing *h, bool *again, tab_error *err)
{
    char resolve[512];
    bool v6 = strchr(address, ':') != NULL;
    const char *ca = credential(s, "ca");
    snprintf(resolve, sizeof resolve, "%s:%u:%s%s%s", t->host, t->port, v6 ? "[" : "", address,
             v6 ? "]" : "");
    struct curl_slist *addresses = curl_slist_append(NULL, resolve);
    struct curl_blob roots = { (void *)(uintptr_t)ca, strlen(ca), CURL_BLOB_NOCOPY };
    curl_easy_reset(c);
    curl_easy_setopt(c, CURLOPT_URL, t->url);
    curl_easy_setopt(c, CURLOPT_RESOLVE, addresses);
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, t->scheme);
    curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "tabella");
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, s->connect_s < 1 ? 1L : (long)s->connect_s);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)source_left_ms(s, INT32_MAX) + 1);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)IDLE_S);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, h);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, h);
    if (q->packed)
        curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "gzip");
    if (ca[0] != '\0')
        curl_easy_setopt(c, CURLOPT_CAINFO_BLOB, &roots);
    if (strcmp(q->method, "GET") != 0) {
        curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, q->method);
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, q->body.p);
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.n);
    }
    CURLcode e = addresses == NULL ? CURLE_OUT_OF_MEMORY : curl_easy_perform(c);
    curl_slist_free_all(addresses);
    return e == CURLE_OK ? TAB_OK : unanswered(s, c, e, h, again, err);
}

static tab_status pause(const source *s, int tries, int64_t wait_s, tab_error *err)
{
    int64_t ms = (int64_t)PAUSE_MS << tries;
    ms = ms > PAUSE_MOST_MS ? PAUSE_MOST_MS : ms;
    ms = 1 + (int64_t)randombytes_uniform((uint32_t)ms); /* many who wait do not come back at once */
    if (wait_s > 0)
        ms = 1000 * (wait_s > WAIT_MOST_S ? WAIT_MOST_S : wait_s);
    if (source_left_ms(s, ms) < ms)
        return source_too_late(err);
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
    return TAB_OK;
}

static bool may_pass(long status)
{
    return status == 408 || status == 425 || status == 429 || status >= 500;
}

/* One target, as often as it takes. */
static tab_status call_target(const source *s, tab_arena *a, CURL *c, const target *t, const http_request *q,
                              bool own, hearing *h, long *ret_status, tab_error *err)
{
    const char *address;
    bool is_public;
    struct curl_slist *list = NULL;
    tab_deadline give_up = tab_within_ms(s->deadline, RETRY_MS);
    guard_end(); /* the resolver speaks to its own servers */
    tab_status st = tab_address_resolve(a, t->host, t->port, s->allow, &address, &is_public, err);
    guard_resume();
    TAB_TRY(st);
    if (strcmp(t->scheme, "http") == 0 && is_public)
        return tab_fail(err, TAB_VALIDATION, "source",
                        "TLS (https) can only be disabled in networks that the operator allows.");
    st = headers(a, q->header, q->n_header, &list, err);
    if (st == TAB_OK && own)
        st = headers(a, q->secrets, q->n_secrets, &list, err);
    for (int tries = 0; st == TAB_OK; tries++) {
        bool again = false;
        *h = (hearing){ .most = h->most, .body = { h->body.p, 0, h->body.cap } };
        *ret_status = 0;
        st = once(s, c, t, address, q, list, h, &again, err);
        if (st == TAB_OK)
            curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, ret_status);
        if (!again && (!may_pass(*ret_status) || (q->final && *ret_status == 500)))
            break;
        if (tries + 1 >= TRIES || tab_left_ms(give_up, 1) == 0 || *ret_status == 501)
            break;
        st = pause(s, tries, h->wait_s, err);
    }
    curl_slist_free_all(list);
    return st;
}

/* Where a redirect leads: https stays https, and no user is named. */
static bool follow(CURL *c, const target *from, target *to)
{
    char *url = NULL, *scheme = NULL, *host = NULL, *port = NULL, *user = NULL;
    CURLU *u = curl_url();
    curl_easy_getinfo(c, CURLINFO_REDIRECT_URL, &url);
    bool good = u != NULL && url != NULL && strlen(url) < sizeof to->url &&
                curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_USER, &user, 0) != CURLUE_OK && strlen(host) < sizeof to->host &&
                strcmp(scheme, from->scheme) == 0 && host[0] != '[';
    if (good) {
        snprintf(to->url, sizeof to->url, "%s", url);
        snprintf(to->scheme, sizeof to->scheme, "%s", scheme);
        snprintf(to->host, sizeof to->host, "%s", host);
        to->port = (uint16_t)strtoul(port, NULL, 10);
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(user);
    curl_url_cleanup(u);
    return good;
}

static tab_status call_all(const source *s, tab_arena *a, CURL *c, const http_request *q, hearing *h,
                           long *ret_status, tab_error *err)
{
    target t = { .port = q->port };
    bool v6 = strchr(q->host, ':') != NULL, own = true;
    snprintf(t.scheme, sizeof t.scheme, "%s", q->plain ? "http" : "https");
    snprintf(t.host, sizeof t.host, "%s", q->host);
    int n = snprintf(t.url, sizeof t.url, "%s://%s%s%s:%u%s%s%s", t.scheme, v6 ? "[" : "", q->host,
                     v6 ? "]" : "", q->port, q->path, q->query[0] != '\0' ? "?" : "", q->query);
    if (n < 0 || (size_t)n >= sizeof t.url)
        return tab_fail(err, TAB_VALIDATION, "source", "The address of the source is too long.");
    for (unsigned hops = 0;; hops++) {
        target next;
        TAB_TRY(call_target(s, a, c, &t, q, own, h, ret_status, err));
        if (*ret_status < 300 || *ret_status > 399 || *ret_status == 304 || hops == q->redirects)
            return TAB_OK;
        if (!follow(c, &t, &next))
            return tab_fail(err, TAB_VALIDATION, "source",
                            "The source redirects to an address that is not allowed.");
        own = own && strcmp(next.host, t.host) == 0 && next.port == t.port;
        t = next;
    }
}

tab_status http_call(const source *s, tab_arena *a, const http_request *q, http_answer *ret, tab_error *err)
{
    static CURL *c; /* with its connections: a process reads one source, by one thread, and ends */
    hearing h = { .most = (size_t)s->read_mib << 20 };
    long status = 0;
    if (c == NULL && (c = curl_easy_init()) == NULL)
        return tab_no_memory(err);
    tab_status st = call_all(s, a, c, q, &h, &status, err);
    if (st != TAB_OK) {
        free(h.body.p);
        return st;
    }
    if (h.body.p != NULL)
        h.body.p[h.body.n] = '\0';
    if (h.body.p != NULL && !tab_arena_adopt(a, h.body.p, h.body.cap))
        return tab_no_memory(err);
    *ret = (http_answer){ .status = (int)status,
                          .body = { h.body.p != NULL ? h.body.p : "", h.body.n },
                          .etag = tab_arena_copy(a, tab_str_of(h.etag)).p,
                          .link = tab_arena_copy(a, tab_str_of(h.link)).p,
                          .type = tab_arena_copy(a, tab_str_of(h.type)).p,
                          .range = tab_arena_copy(a, tab_str_of(h.range)).p };
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status http_good(const http_answer *x, tab_error *err)
{
    int n = x->status;
    if (n >= 200 && n < 300)
        return TAB_OK;
    if (n == 401 || n == 403 || n == 407)
        return tab_fail(err, TAB_VALIDATION, "credentials", "The source refuses these credentials (HTTP %d).",
                        n);
    if (n == 404 || n == 410)
        return tab_fail(err, TAB_VALIDATION, "source", "The source has nothing at this path (HTTP %d).", n);
    if (n == 429)
        return tab_fail(err, TAB_UNAVAILABLE, "",
                        "The source is limiting the rate of requests (HTTP 429); try again later.");
    if (n >= 500)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source failed (HTTP %d).", n);
    return tab_fail(err, TAB_VALIDATION, "source", "The source refuses to return the data (HTTP %d).", n);
}

const char *http_path(tab_arena *a, const source_ref *r, size_t from)
{
    const char *path = "";
    for (size_t i = from; i < r->segments && path != NULL; i++) {
        const char *part = http_encode(a, r->segment[i], false);
        path = part == NULL ? NULL : tab_arena_printf(a, "%s/%s", path, part);
    }
    return path != NULL && r->folder ? tab_arena_printf(a, "%s/", path) : path;
}

static bool one_line(const char *s)
{
    for (; *s != '\0'; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return false;
    return true;
}

tab_status http_login(const source *s, tab_arena *a, http_pair ret[3], size_t *ret_n, tab_error *err)
{
    const char *bearer = credential(s, "bearer"), *user = credential(s, "basic.user"),
               *name = credential(s, "header.name"), *value = credential(s, "header.value");
    size_t n = 0;
    if (!one_line(bearer) || !one_line(user) || !one_line(name) || !one_line(value))
        return tab_fail(err, TAB_VALIDATION, "credentials", "A credential contains a control character.");
    if (bearer[0] != '\0')
        ret[n++] = (http_pair){ "Authorization", tab_arena_printf(a, "Bearer %s", bearer) };
    else if (user[0] != '\0') {
        const char *both = tab_arena_printf(a, "%s:%s", user, credential(s, "basic.password"));
        size_t m = both == NULL ? 0 : strlen(both);
        char *text = tab_arena_alloc(a, sodium_base64_ENCODED_LEN(m, sodium_base64_VARIANT_ORIGINAL) + 1, 1);
        if (both == NULL || text == NULL)
            return tab_no_memory(err);
        sodium_bin2base64(text, sodium_base64_ENCODED_LEN(m, sodium_base64_VARIANT_ORIGINAL),
                          (const unsigned char *)both, m, sodium_base64_VARIANT_ORIGINAL);
        ret[n++] = (http_pair){ "Authorization", tab_arena_printf(a, "Basic %s", text) };
    }
    if (name[0] != '\0') {
        static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
        if (strspn(name, token) != strlen(name) || strcasecmp(name, "host") == 0)
            return tab_fail(err, TAB_VALIDATION, "credentials.header.name",
                            "This is not a valid header name.");
        ret[n++] = (http_pair){ name, value };
    }
    *ret_n = n;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}
