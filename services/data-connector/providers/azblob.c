/* Azure's blobs: azblob://account/container/dir/orders.csv; azblob+https://host[:port]/account/container/...
 * for an emulator or a private endpoint.
 *
 * Signed with the account's key (Shared Key of the Blob service: HMAC-SHA256 over method, headers and the
 * resource), or with a shared access signature, which is the query. A path that ends in / or holds * in
 * its last part is the union of what it matches; each blob is read as it was when it was listed. */
#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/files/sheets/xml.h"
#include "common/security/crypto.h"
#include "services/data-connector/protocols/http.h"
#include "services/data-connector/providers/file_table.h"

enum { BLOBS = 1000, PAGES = 10000, KEY_MOST = 128 };
#define VERSION "2021-08-06"

static const char *const members[] = { "account_key", "sas", "ca", NULL }, *const options[] = { "sheet",
                                                                                                "reading",
                                                                                                NULL };

typedef struct {
    const source *s;
    tab_arena *a;
    const char *host, *account, *prefix; /* prefix: "/account" where the host does not name it */
    bool plain;
    size_t from; /* the container's segment */
    uint8_t key[KEY_MOST];
    size_t key_n;
    const char *sas;
} store;

static tab_status open_store(const source *s, tab_arena *a, store *ret, tab_error *err)
{
    const char *key = credential(s, "account_key"), *sas = credential(s, "sas");
    store t = { .s = s, .a = a, .sas = sas[0] == '?' ? sas + 1 : sas, .host = s->ref->host };
    if (sas[0] != '\0' && key[0] != '\0')
        return tab_fail(err, TAB_VALIDATION, "credentials", "Give either account_key or sas, not both.");
    for (const char *p = t.sas; *p != '\0'; p++)
        if (!isalnum((unsigned char)*p) && strchr("-._~%=&:/+", *p) == NULL)
            return tab_fail(err, TAB_VALIDATION, "credentials.sas", "This is not a shared access signature.");
    if (key[0] != '\0' && sodium_base642bin(t.key, sizeof t.key, key, strlen(key), NULL, &t.key_n, NULL,
                                            sodium_base64_VARIANT_ORIGINAL) != 0)
        return tab_fail(err, TAB_VALIDATION, "credentials.account_key", "An account key must be base64.");
    if (strcmp(s->ref->scheme, "azblob") == 0) {
        t.account = s->ref->host;
        t.host = tab_arena_printf(a, "%s.blob.core.windows.net", s->ref->host);
        t.prefix = "";
    } else {
        t.account = s->ref->segment[0];
        t.plain = strcmp(s->ref->scheme, "azblob+http") == 0;
        t.prefix = tab_arena_printf(a, "/%s", http_encode(a, t.account, false));
        t.from = 1;
    }
    *ret = t;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const http_pair *)a)->name, ((const http_pair *)b)->name);
}

/* What is signed (Microsoft's "Authorize with Shared Key"), headers that are empty left empty. */
static const char *authorization(const store *t, const char *method, const char *path,
                                 const http_pair *params, size_t n, const http_pair *ms, size_t n_ms,
                                 const char *match, size_t body, const char *type)
{
    tab_arena *a = t->a;
    char length[24] = "";
    uint8_t mac[TAB_SHA256];
    char text[sodium_base64_ENCODED_LEN(TAB_SHA256, sodium_base64_VARIANT_ORIGINAL)];
    http_pair sorted[8];
    if (body > 0)
        snprintf(length, sizeof length, "%zu", body);
    memcpy(sorted, params, n * sizeof *params);
    qsort(sorted, n, sizeof *sorted, by_name);
    const char *sign = tab_arena_printf(a, "%s\n\n\n%s\n\n%s\n\n\n%s\n\n\n\n", method, length, type, match);
    for (size_t i = 0; i < n_ms && sign != NULL; i++)
        sign = tab_arena_printf(a, "%s%s:%s\n", sign, ms[i].name, ms[i].value);
    sign = sign == NULL ? NULL : tab_arena_printf(a, "%s/%s%s", sign, t->account, path);
    for (size_t i = 0; i < n && sign != NULL; i++)
        sign = tab_arena_printf(a, "%s\n%s:%s", sign, sorted[i].name, sorted[i].value);
    if (sign == NULL)
        return NULL;
    tab_hmac_sha256((tab_str){ (const char *)t->key, t->key_n }, tab_str_of(sign), mac);
    sodium_bin2base64(text, sizeof text, mac, sizeof mac, sodium_base64_VARIANT_ORIGINAL);
    return tab_arena_printf(a, "SharedKey %s:%s", t->account, text);
}

static tab_status ask(const store *t, const char *method, const char *path, const http_pair *params, size_t n,
                      const char *match, const tab_str *body, http_answer *ret, tab_error *err)
{
    static const char octets[] = "application/octet-stream";
    tab_arena *a = t->a;
    char date[40];
    time_t now = time(NULL);
    struct tm utc;
    const char *all = tab_arena_printf(a, "%s%s", t->prefix, path);
    const char *query = http_query(a, params, n);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
    http_pair sent[6];
    size_t m = 0;
    if (body != NULL)
        sent[m++] = (http_pair){ "x-ms-blob-type", "BlockBlob" };
    sent[m++] = (http_pair){ "x-ms-date", date };
    sent[m++] = (http_pair){ "x-ms-version", VERSION };
    if (query == NULL || tab_arena_full(a))
        return tab_no_memory(err);
    if (t->key_n > 0) {
        const char *by = authorization(t, method, all, params, n, sent, m, match != NULL ? match : "",
                                       body != NULL ? body->n : 0, body != NULL ? octets : "");
        sent[m++] = (http_pair){ "Authorization", by };
    }
    if (match != NULL)
        sent[m++] = (http_pair){ "If-Match", match };
    if (body != NULL)
        sent[m++] = (http_pair){ "Content-Type", octets };
    if (t->sas[0] != '\0')
        query = tab_arena_printf(a, "%s%s%s", query, query[0] != '\0' ? "&" : "", t->sas);
    if (tab_arena_full(a) || query == NULL)
        return tab_no_memory(err);
    http_request q = { .method = method,
                       .plain = t->plain,
                       .host = t->host,
                       .port = t->s->ref->port,
                       .path = all,
                       .query = query,
                       .header = sent,
                       .n_header = m,
                       .body = body != NULL ? *body : TAB_S("") };
    TAB_TRY(http_call(t->s, a, &q, ret, err));
    if (ret->status == 412)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The blob changed while it was being read; try again.");
    return http_good(ret, err);
}

/* ---- what a folder holds ------------------------------------------------------------------------- */

typedef struct {
    const char *name, *etag;
} blob;

typedef struct {
    tab_arena *a;
    blob *found; /* (BLOBS) */
    size_t n;
    const char *folder, *pattern;
    const char *name, *etag, *next; /* being read */
    bool inside, too_many;
} listing;

static void on_start(tab_xml *x, const char *name, const char **attributes)
{
    listing *l = x->arg;
    (void)attributes;
    x->take = true;
    x->text.n = 0;
    if (strcmp(name, "Blob") == 0) {
        l->inside = true;
        l->name = l->etag = NULL;
    }
}

static void on_end(tab_xml *x, const char *name)
{
    listing *l = x->arg;
    const char **to = !l->inside                      ? strcmp(name, "NextMarker") == 0 ? &l->next : NULL
                      : strcmp(name, "Name") == 0     ? &l->name
                      : strcasecmp(name, "Etag") == 0 ? &l->etag
                                                      : NULL;
    if (to != NULL &&
        (*to = tab_arena_copy(l->a, (tab_str){ x->text.p != NULL ? x->text.p : "", x->text.n }).p) == NULL)
        tab_xml_fail(x, tab_no_memory(x->err));
    x->take = false;
    x->text.n = 0;
    if (strcmp(name, "Blob") != 0)
        return;
    l->inside = false;
    if (!key_matches(l->folder, l->pattern, l->name))
        return;
    if (l->n == BLOBS)
        l->too_many = true;
    else
        l->found[l->n++] = (blob){ l->name, l->etag };
}

static int by_blob(const void *a, const void *b)
{
    return strcmp(((const blob *)a)->name, ((const blob *)b)->name);
}

static const char *container(const store *t)
{
    return tab_arena_printf(t->a, "/%s", http_encode(t->a, t->s->ref->segment[t->from], false));
}

static tab_status list(const store *t, listing *l, tab_error *err)
{
    const char *path = container(t), *marker = "";
    l->found = tab_arena_new_of(t->a, blob, BLOBS);
    if (l->found == NULL || path == NULL)
        return tab_no_memory(err);
    for (int page = 0; page < PAGES; page++) {
        http_pair params[6] = {
            { "comp", "list" }, { "restype", "container" }, { "delimiter", "/" }, { "maxresults", "1000" }
        };
        size_t n = 4;
        http_answer x;
        if (l->folder[0] != '\0')
            params[n++] = (http_pair){ "prefix", l->folder };
        if (marker[0] != '\0')
            params[n++] = (http_pair){ "marker", marker };
        TAB_TRY(ask(t, "GET", path, params, n, NULL, NULL, &x, err));
        tab_xml xml = { .start = on_start, .end = on_end, .arg = l };
        tab_error why = { 0 };
        l->next = "";
        size_t mark = x.body.n >= 3 && memcmp(x.body.p, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        tab_status s = tab_xml_read_text((tab_str){ x.body.p + mark, x.body.n - mark }, &xml, &why);
        if (s != TAB_OK)
            return tab_fail(err, s == TAB_INTERNAL ? s : TAB_UNAVAILABLE, "",
                            "The source's list of blobs cannot be read.");
        if (l->too_many)
            return tab_fail(err, TAB_VALIDATION, "source", "A connection's folder can hold at most %d files.",
                            BLOBS);
        if (l->next[0] == '\0' || strcmp(l->next, marker) == 0)
            break;
        marker = l->next;
    }
    qsort(l->found, l->n, sizeof *l->found, by_blob);
    return TAB_OK;
}

/* ---- reading and writing ------------------------------------------------------------------------- */

static const char *blob_path(const store *t, const char *name)
{
    const char *in = container(t), *coded = http_encode(t->a, name, true);
    return in == NULL || coded == NULL ? NULL : tab_arena_printf(t->a, "%s/%s", in, coded);
}

static tab_status read_blob(const store *t, const char *name, const char *etag, const tab_table **ret,
                            tab_error *err)
{
    const char *path = blob_path(t, name), *slash = strrchr(name, '/');
    http_answer x;
    if (path == NULL)
        return tab_no_memory(err);
    TAB_TRY(ask(t, "GET", path, NULL, 0, etag, NULL, &x, err));
    return file_table(t->s, t->a, tab_str_of(slash != NULL ? slash + 1 : name), x.body, ret, err);
}

/* The blob's folder, and the last part of its name, "" for a folder. */
static const char *folder_of(const store *t, const char **ret_last)
{
    const source_ref *r = t->s->ref;
    const char *folder = "";
    bool whole = r->folder || r->segments == t->from + 1;
    for (size_t i = t->from + 1; i + !whole < r->segments && folder != NULL; i++)
        folder = tab_arena_printf(t->a, "%s%s/", folder, r->segment[i]);
    *ret_last = whole ? "" : r->segment[r->segments - 1];
    return folder;
}

static tab_status read_azblob(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    store t;
    const char *last;
    TAB_TRY(open_store(s, a, &t, err));
    const char *folder = folder_of(&t, &last);
    const char *name = folder == NULL ? NULL : tab_arena_printf(a, "%s%s", folder, last);
    if (name == NULL)
        return tab_no_memory(err);
    if (last[0] != '\0' && strchr(last, '*') == NULL)
        return read_blob(&t, name, NULL, ret, err);
    listing l = { .a = a, .folder = folder, .pattern = last[0] != '\0' ? last : "*" };
    TAB_TRY(list(&t, &l, err));
    const tab_table **table = tab_arena_new_of(a, const tab_table *, l.n + 1);
    if (table == NULL)
        return tab_no_memory(err);
    if (l.n == 0)
        return tab_fail(err, TAB_VALIDATION, "source", "No file at the source matches the path.");
    for (size_t i = 0; i < l.n; i++)
        TAB_TRY(read_blob(&t, l.found[i].name, l.found[i].etag, &table[i], err));
    return tables_union(a, table, l.n, tab_str_of(s->ref->segment[s->ref->segments - 1]), ret, err);
}

static tab_status write_azblob(const source *s, tab_arena *a, const output *o, tab_error *err)
{
    store t;
    http_answer x;
    const char *last;
    TAB_TRY(open_store(s, a, &t, err));
    const char *folder = folder_of(&t, &last);
    const char *name = folder == NULL ? NULL : tab_arena_printf(a, "%s%s", folder, last);
    const char *path = name == NULL ? NULL : blob_path(&t, name);
    if (path == NULL)
        return tab_no_memory(err);
    output_parts p = { 0 };
    tab_status st = output_whole(&p, o, err);
    if (st == TAB_OK)
        st = ask(&t, "PUT", path, NULL, 0, NULL, &p.bytes, &x, err);
    output_parts_free(&p);
    return st;
}

#define AZBLOB(text, number, named, first)                                                          \
    {                                                                                               \
        .scheme = text, .port = number, .least = (first) + 2, .most = REF_SEGMENTS, .folder = true, \
        .by_name = named, .credentials = members, .options = options, .read = read_azblob,          \
        .write = write_azblob, .files = true                                                        \
    }
const provider provider_azblob = AZBLOB("azblob", 443, true, 0),
               provider_azblob_https = AZBLOB("azblob+https", 443, false, 1),
               provider_azblob_http = AZBLOB("azblob+http", 80, false, 1);
