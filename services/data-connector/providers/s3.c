/* Objects of S3 and of stores that speak its protocol:
 *
 *   s3://bucket/dir/orders.csv            Amazon's, in the region of credentials.region
 *   s3+https://host[:port]/bucket/dir/    any other, by path
 *
 * A path that ends in / or holds * in its last part is the union of the files that it matches, in byte order
 * of their names (ListObjectsV2). Each object is read as it was when it was listed (If-Match), so that a read
 * is never half of one state and half of the next. Without credentials: public objects. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/files/sheets/xml.h"
#include "common/security/crypto.h"
#include "services/data-connector/protocols/http.h"
#include "services/data-connector/providers/file_table.h"

enum { OBJECTS = 1000, PAGES = 10000, PARTS = 10000, ETAG = 80 };

static const char *const members[] = { "access_key_id",
                                       "secret_access_key",
                                       "session_token",
                                       "region",
                                       "ca",
                                       NULL },
                         *const options[] = { "sheet", "reading", NULL };

typedef struct {
    const source *s;
    tab_arena *a;
    sigv4_key key;
    const char *token;  /* "" : none */
    const char *host;   /* of the requests */
    const char *bucket; /* "/bucket", "" where the host names it */
    bool plain;
    uint16_t port;
    size_t from; /* the first segment of the key */
} store;

static bool good_word(const char *s, const char *good)
{
    return strlen(s) <= 2048 && strspn(s, good) == strlen(s);
}

static tab_status open_store(const source *s, tab_arena *a, store *ret, tab_error *err)
{
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    store t = { .s = s, .a = a, .token = credential(s, "session_token"), .port = s->ref->port };
    const char *region = credential(s, "region");
    t.key = (sigv4_key){ credential(s, "access_key_id"), credential(s, "secret_access_key"),
                         region[0] != '\0' ? region : "us-east-1", "s3" };
    if (!good_word(region, LETTERS "-"))
        return tab_fail(err, TAB_VALIDATION, "credentials.region", "This is not a valid region name.");
    if (!good_word(t.key.access_key, LETTERS "-_.:@") || !good_word(t.token, LETTERS "-_.:@+/="))
        return tab_fail(err, TAB_VALIDATION, "credentials", "The access keys contain an invalid character.");
    if ((t.key.access_key[0] == '\0') != (t.key.secret_key[0] == '\0'))
        return tab_fail(err, TAB_VALIDATION, "credentials",
                        "access_key_id and secret_access_key must be given together.");
    if (strcmp(s->ref->scheme, "s3") == 0) {
        bool dots = strchr(s->ref->host, '.') != NULL; /* which no certificate's * covers */
        t.host = dots ? tab_arena_printf(a, "s3.%s.amazonaws.com", t.key.region)
                      : tab_arena_printf(a, "%s.s3.%s.amazonaws.com", s->ref->host, t.key.region);
        t.bucket = dots ? tab_arena_printf(a, "/%s", s->ref->host) : "";
    } else {
        const char *name = http_encode(a, s->ref->segment[0], false);
        t.host = s->ref->host;
        t.plain = strcmp(s->ref->scheme, "s3+http") == 0;
        t.bucket = name == NULL ? NULL : tab_arena_printf(a, "/%s", name);
        t.from = 1;
    }
    *ret = t;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

/* What a store says by its codes, whatever status it gives them. */
static tab_status refused(const http_answer *x, tab_error *err)
{
    static const char *const login[] = { "InvalidAccessKeyId",
                                         "SignatureDoesNotMatch",
                                         "AccessDenied",
                                         "ExpiredToken",
                                         "InvalidToken",
                                         "XAdminUserNotFound" /* versitygw's, with a 404 */ };
    char code[64];
    for (size_t i = 0; i < sizeof login / sizeof *login && x->status >= 300; i++) {
        snprintf(code, sizeof code, "<Code>%s</Code>", login[i]);
        if (memmem(x->body.p, x->body.n < 4096 ? x->body.n : 4096, code, strlen(code)) != NULL)
            return tab_fail(err, TAB_VALIDATION, "credentials", "The source refuses these credentials (%s).",
                            login[i]);
    }
    return http_good(x, err);
}

static tab_status ask(const store *t, const char *method, const char *path, const http_pair *params, size_t n,
                      const char *match, tab_str body, http_answer *ret, tab_error *err)
{
    tab_arena *a = t->a;
    char date[20], payload[TAB_SHA256_HEX];
    time_t now = time(NULL);
    struct tm utc;
    bool v6 = strchr(t->host, ':') != NULL, usual = t->port == (t->plain ? 80 : 443);
    const char *query = http_query(a, params, n);
    const char *all = tab_arena_printf(a, "%s%s", t->bucket, path);
    const char *host =
        tab_arena_printf(a, usual ? "%s%s%s" : "%s%s%s:%u", v6 ? "[" : "", t->host, v6 ? "]" : "", t->port);
    strftime(date, sizeof date, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    tab_sha256_hex(body, payload);
    http_pair signed_[4] = { { "host", host }, { "x-amz-content-sha256", payload }, { "x-amz-date", date } };
    size_t m = 3;
    if (t->token[0] != '\0')
        signed_[m++] = (http_pair){ "x-amz-security-token", t->token };
    sigv4_request sign = { method, all, query, signed_, m, payload, date };
    if (query == NULL || tab_arena_full(a))
        return tab_no_memory(err);
    http_pair sent[6];
    memcpy(sent, signed_, m * sizeof *sent);
    if (match != NULL)
        sent[m++] = (http_pair){ "If-Match", match };
    if (t->key.access_key[0] != '\0')
        sent[m++] = (http_pair){ "Authorization", sigv4_authorization(a, &t->key, &sign) };
    if (tab_arena_full(a))
        return tab_no_memory(err);
    http_request q = { .method = method,
                       .plain = t->plain,
                       .host = t->host,
                       .port = t->port,
                       .path = all,
                       .query = query,
                       .header = sent,
                       .n_header = m,
                       .body = body };
    TAB_TRY(http_call(t->s, a, &q, ret, err));
    if (ret->status == 301 || ret->status == 307)
        return tab_fail(err, TAB_VALIDATION, "credentials.region", "The bucket is in another region.");
    if (ret->status == 412)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The object changed while it was being read; try again.");
    return refused(ret, err);
}

/* ---- what a folder holds ------------------------------------------------------------------------- */

typedef struct {
    const char *key, *etag;
} object;

typedef struct {
    tab_arena *a;
    object *found; /* (OBJECTS) */
    size_t n;
    const char *prefix, *pattern;  /* a key is prefix and what the pattern matches */
    const char *key, *etag, *next; /* being read */
    bool more, too_many, inside;   /* inside: of Contents */
} listing;

static const char *text_of(listing *l, tab_xml *x)
{
    const char *t = tab_arena_copy(l->a, (tab_str){ x->text.p != NULL ? x->text.p : "", x->text.n }).p;
    x->text.n = 0;
    if (t == NULL)
        tab_xml_fail(x, tab_no_memory(x->err));
    return t;
}

static void on_start(tab_xml *x, const char *name, const char **attributes)
{
    listing *l = x->arg;
    (void)attributes;
    x->take = true;
    x->text.n = 0;
    if (strcmp(name, "Contents") == 0) {
        l->inside = true;
        l->key = l->etag = NULL;
    }
}

static void keep(listing *l)
{
    if (!key_matches(l->prefix, l->pattern, l->key))
        return;
    if (l->n == OBJECTS)
        l->too_many = true;
    else
        l->found[l->n++] = (object){ l->key, l->etag };
}

static void on_end(tab_xml *x, const char *name)
{
    listing *l = x->arg;
    if (l->inside && strcmp(name, "Key") == 0)
        l->key = text_of(l, x);
    else if (l->inside && strcmp(name, "ETag") == 0)
        l->etag = text_of(l, x);
    else if (!l->inside && strcmp(name, "NextContinuationToken") == 0)
        l->next = text_of(l, x);
    else if (!l->inside && strcmp(name, "IsTruncated") == 0)
        l->more = x->text.n == 4 && memcmp(x->text.p, "true", 4) == 0;
    if (strcmp(name, "Contents") == 0) {
        l->inside = false;
        keep(l);
    }
    x->take = false;
    x->text.n = 0;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const object *)a)->key, ((const object *)b)->key);
}

static tab_status list(const store *t, listing *l, tab_error *err)
{
    l->found = tab_arena_new_of(t->a, object, OBJECTS);
    if (l->found == NULL)
        return tab_no_memory(err);
    l->next = "";
    for (int page = 0; page < PAGES; page++) {
        const http_pair params[] = { { "list-type", "2" },
                                     { "delimiter", "/" },
                                     { "prefix", l->prefix },
                                     { "continuation-token", l->next } };
        const char *before = l->next;
        http_answer x;
        TAB_TRY(ask(t, "GET", t->bucket[0] != '\0' ? "" : "/", params, l->next[0] != '\0' ? 4 : 3, NULL,
                    TAB_S(""), &x, err));
        tab_xml xml = { .start = on_start, .end = on_end, .arg = l };
        l->more = false;
        tab_error why = { 0 };
        tab_status s = tab_xml_read_text(x.body, &xml, &why);
        if (s != TAB_OK)
            return tab_fail(err, s == TAB_INTERNAL ? s : TAB_UNAVAILABLE, "",
                            "The source's list of objects cannot be read.");
        if (l->too_many)
            return tab_fail(err, TAB_VALIDATION, "source", "A connection's folder can hold at most %d files.",
                            OBJECTS);
        if (!l->more || l->next[0] == '\0' || strcmp(before, l->next) == 0)
            break;
    }
    qsort(l->found, l->n, sizeof *l->found, by_key);
    return TAB_OK;
}

/* ---- reading ------------------------------------------------------------------------------------- */

static tab_status read_object(const store *t, const char *key, const char *etag, const tab_table **ret,
                              tab_error *err)
{
    const char *path = http_encode(t->a, key, true), *slash = strrchr(key, '/');
    http_answer x;
    path = path == NULL ? NULL : tab_arena_printf(t->a, "/%s", path);
    if (path == NULL)
        return tab_no_memory(err);
    TAB_TRY(ask(t, "GET", path, NULL, 0, etag, TAB_S(""), &x, err));
    return file_table(t->s, t->a, tab_str_of(slash != NULL ? slash + 1 : key), x.body, ret, err);
}

/* The key that the ref names, decoded; its last part goes to *last. */
static const char *key_of(const store *t, const char **ret_folder, const char **ret_last)
{
    const source_ref *r = t->s->ref;
    const char *folder = "", *last = r->folder || r->segments == t->from ? "" : r->segment[r->segments - 1];
    for (size_t i = t->from; i + !r->folder < r->segments && folder != NULL; i++)
        folder = tab_arena_printf(t->a, "%s%s/", folder, r->segment[i]);
    *ret_folder = folder;
    *ret_last = last;
    return folder == NULL ? NULL : tab_arena_printf(t->a, "%s%s", folder, last);
}

static tab_status read_s3(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    store t;
    const char *folder, *last;
    TAB_TRY(open_store(s, a, &t, err));
    const char *key = key_of(&t, &folder, &last);
    if (key == NULL)
        return tab_no_memory(err);
    if (last[0] != '\0' && strchr(last, '*') == NULL)
        return read_object(&t, key, NULL, ret, err);
    listing l = { .a = a, .prefix = folder, .pattern = last[0] != '\0' ? last : "*" };
    TAB_TRY(list(&t, &l, err));
    const tab_table **table = tab_arena_new_of(a, const tab_table *, l.n + 1);
    if (table == NULL)
        return tab_no_memory(err);
    if (l.n == 0)
        return tab_fail(err, TAB_VALIDATION, "source", "No file at the source matches the path.");
    for (size_t i = 0; i < l.n; i++)
        TAB_TRY(read_object(&t, l.found[i].key, l.found[i].etag, &table[i], err));
    return tables_union(
        a, table, l.n,
        tab_str_of(s->ref->segments > 0 ? s->ref->segment[s->ref->segments - 1] : s->ref->host), ret, err);
}

/* ---- writing ---------------------------------------------------------------------------------- */

/* With memory of its own: an object of any length is written in the room of a part. */
static tab_status ask_once(const store *t, const char *method, const char *path, const http_pair *params,
                           size_t n, tab_str body, char etag[ETAG], tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    store own = *t;
    http_answer x;
    own.a = a;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(ask(&own, method, path, params, n, NULL, body, &x, err));
    if (etag == NULL)
        return TAB_OK;
    size_t m = x.etag == NULL ? 0 : strlen(x.etag);
    if (m == 0 || m >= ETAG || strpbrk(x.etag, "<&>") != NULL)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source answered a part of a file with no tag.");
    memcpy(etag, x.etag, m + 1);
    return TAB_OK;
}

/* An upload in parts: nobody sees the object before it is completed. */
typedef struct {
    const char *path, *id;
    char (*etag)[ETAG]; /* (PARTS) */
    unsigned n;
} upload;

static tab_status upload_begin(const store *t, upload *u, tab_error *err)
{
    static const char open[] = "<UploadId>", close[] = "</UploadId>";
    const http_pair q[] = { { "uploads", "" } };
    http_answer x;
    TAB_TRY(ask(t, "POST", u->path, q, 1, NULL, TAB_S(""), &x, err));
    const char *at = memmem(x.body.p, x.body.n, open, sizeof open - 1);
    const char *end = at == NULL ? NULL : strstr(at, close);
    at = at == NULL ? NULL : at + sizeof open - 1;
    if (end == NULL || end == at || end - at > 1024 || memchr(at, '&', (size_t)(end - at)) != NULL)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source begins no upload in parts.");
    u->id = tab_arena_copy(t->a, (tab_str){ at, (size_t)(end - at) }).p;
    u->etag = tab_arena_alloc(t->a, (size_t)PARTS * ETAG, 1);
    return u->id == NULL || u->etag == NULL ? tab_no_memory(err) : TAB_OK;
}

static tab_status upload_part(const store *t, upload *u, tab_str bytes, tab_error *err)
{
    char number[16];
    if (u->n == PARTS)
        return tab_fail(err, TAB_VALIDATION, "options.out", "The file is too long for the source.");
    snprintf(number, sizeof number, "%u", u->n + 1);
    const http_pair q[] = { { "partNumber", number }, { "uploadId", u->id } };
    TAB_TRY(ask_once(t, "PUT", u->path, q, 2, bytes, u->etag[u->n], err));
    u->n++;
    return TAB_OK;
}

static tab_status upload_end(const store *t, const upload *u, tab_error *err)
{
    static const char done[] = "<CompleteMultipartUploadResult";
    const http_pair q[] = { { "uploadId", u->id } };
    tab_out o = { 0 };
    char text[ETAG + 80];
    http_answer x;
    tab_out_bytes(&o, "<CompleteMultipartUpload>", 25);
    for (unsigned i = 0; i < u->n; i++) {
        int n = snprintf(text, sizeof text, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", i + 1,
                         u->etag[i]);
        tab_out_bytes(&o, text, (size_t)n);
    }
    tab_out_bytes(&o, "</CompleteMultipartUpload>", 26);
    tab_status s =
        o.failed ? tab_no_memory(err) : ask(t, "POST", u->path, q, 1, NULL, tab_out_text(&o), &x, err);
    tab_out_free(&o);
    if (s == TAB_OK &&
        memmem(x.body.p, x.body.n, done, sizeof done - 1) == NULL) /* errors come under 200 too */
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source did not complete an upload in parts.");
    return s;
}

static tab_status write_parts(const store *t, upload *u, output_parts *p, const output *o, tab_error *err)
{
    tab_status s = upload_begin(t, u, err);
    for (bool last = false; s == TAB_OK && !last;) {
        last = p->last;
        if (p->bytes.n > 0)
            s = upload_part(t, u, p->bytes, err);
        if (s == TAB_OK && !last)
            s = output_part(p, o, err);
    }
    if (s == TAB_OK)
        s = upload_end(t, u, err);
    if (s != TAB_OK && u->id != NULL) {
        const http_pair q[] = { { "uploadId", u->id } };
        (void)ask_once(t, "DELETE", u->path, q, 1, TAB_S(""), NULL, NULL);
    }
    return s;
}

/* An object is there whole or not at all, and twice the same is the same: one PUT, or parts. */
static tab_status write_s3(const source *s, tab_arena *a, const output *o, tab_error *err)
{
    store t;
    const char *folder, *last;
    TAB_TRY(open_store(s, a, &t, err));
    const char *key = key_of(&t, &folder, &last);
    const char *path = key == NULL ? NULL : http_encode(a, key, true);
    path = path == NULL ? NULL : tab_arena_printf(a, "/%s", path);
    if (path == NULL)
        return tab_no_memory(err);
    output_parts p = { 0 };
    upload u = { .path = path };
    tab_status st = output_part(&p, o, err);
    if (st == TAB_OK)
        st =
            p.last ? ask_once(&t, "PUT", path, NULL, 0, p.bytes, NULL, err) : write_parts(&t, &u, &p, o, err);
    output_parts_free(&p);
    return st;
}

#define S3(text, number, named, first)                                                                    \
    {                                                                                                     \
        .scheme = text, .port = number, .least = (first) + 1, .most = REF_SEGMENTS, .folder = true,       \
        .by_name = named, .credentials = members, .options = options, .read = read_s3, .write = write_s3, \
        .files = true                                                                                     \
    }
const provider provider_s3 = S3("s3", 443, true, 0), provider_s3_https = S3("s3+https", 443, false, 1),
               provider_s3_http = S3("s3+http", 80, false, 1);
