/* See reference.h: takes scheme, host, port and path apart by hand, and refuses whatever another parser
 * might read in another way. */
#include "services/data-connector/source/reference.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>

#include "common/base/integer.h"
#include "services/data-connector/source/source.h"

/* What a reference looks like, by its scheme up to a plus sign; the API's description has the same ones. */
static const struct {
    const char *scheme, *shape;
} SHAPES[] = {
    { "azblob", "azblob://ACCOUNT/CONTAINER/FOLDER/orders.csv" },
    { "bigquery", "bigquery://PROJECT/DATASET/TABLE" },
    { "clickhouse", "clickhouse://HOST/DATABASE/TABLE" },
    { "databricks", "databricks://WORKSPACE-HOST/CATALOG/SCHEMA/TABLE" },
    { "gdrive", "gdrive://ID" },
    { "graphql", "graphql+https://HOST/graphql" },
    { "http", "http://HOST/FOLDER/orders.csv" },
    { "https", "https://HOST/FOLDER/orders.csv" },
    { "mariadb", "mariadb://HOST/DATABASE/TABLE" },
    { "mongodb", "mongodb://HOST/DATABASE/COLLECTION" },
    { "mysql", "mysql://HOST/DATABASE/TABLE" },
    { "odbc", "odbc://NAME/SCHEMA/TABLE" },
    { "postgres", "postgres://HOST/DATABASE/SCHEMA/TABLE" },
    { "qdrant", "qdrant://HOST/COLLECTION" },
    { "rest", "rest+https://HOST/v1/orders" },
    { "s3", "s3://BUCKET/FOLDER/orders.csv" },
    { "snowflake", "snowflake://ACCOUNT/DATABASE/SCHEMA/TABLE" },
    { "supabase", "supabase://PROJECT/SCHEMA/TABLE" },
};

const char *reference_shape(const char *scheme)
{
    size_t n = strcspn(scheme, "+");
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++)
        if (strlen(SHAPES[i].scheme) == n && memcmp(SHAPES[i].scheme, scheme, n) == 0)
            return SHAPES[i].shape;
    return "SCHEME://HOST/PATH";
}

/* scheme: "" where the text has none. */
static tab_status bad_ref(tab_error *err, const char *scheme, const char *why)
{
    return tab_fail(err, TAB_VALIDATION, "source", "The source is not a valid reference: %s. Write it as %s.",
                    why, reference_shape(scheme));
}

/* What there is instead. */
static tab_status no_provider(const char *scheme, tab_error *err)
{
    const provider *const *all;
    size_t n = provider_all(&all), at = 0;
    char list[300] = "";
    for (size_t i = 0; i < n && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s://", i > 0 ? ", " : "", all[i]->scheme);
    bool sqlite = strcmp(scheme, "sqlite") == 0 || strcmp(scheme, "sqlite3") == 0;
    return tab_fail(
        err, TAB_VALIDATION, "source", "This installation cannot read `%.32s://`; %suse one of %s", scheme,
        sqlite ? "upload a SQLite file or name its address (https://host/file.db), or " : "", list);
}

bool looks_secret(const char *text)
{
    const char *at = strchr(text, '@');
    if (strstr(text, "sk_live_") != NULL)
        return true;
    for (const char *key = text; (key = strstr(key, "AKIA")) != NULL; key++)
        if (strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") >= 20)
            return true;
    if (at == NULL)
        return false;
    for (const char *p = at; p > text && p[-1] != '/' && p[-1] != ' ';)
        if (*--p == ':')
            return true;
    return false;
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : -1;
}

/* Decodes one segment in place; false for a wrong escape, a control byte or a slash hidden in one.
 */
static bool decode(char *s)
{
    char *to = s;
    for (; *s != '\0'; s++) {
        char c = *s;
        if (c == '%') {
            int hi = hex_digit(s[1]), lo = hi < 0 ? -1 : hex_digit(s[2]);
            if (lo < 0)
                return false;
            c = (char)(hi * 16 + lo);
            s += 2;
        }
        if ((unsigned char)c < 0x20 || c == 0x7f || c == '/')
            return false;
        *to++ = c;
    }
    *to = '\0';
    return true;
}

/* A name, a dotted quad as inet_pton reads it, or an IPv6 address in brackets. What getaddrinfo
 * would also take for an address (127.1, 0x7f.1, 2130706433) is no name: its last label is a
 * number. */
static bool good_host(const char *host)
{
    unsigned char quad[4];
    const char *last = strrchr(host, '.');
    last = last == NULL ? host : last + 1;
    if (host[0] == '\0' || strlen(host) > 253)
        return false;
    if (inet_pton(AF_INET, host, quad) == 1)
        return true;
    if (isdigit((unsigned char)last[0]) || last[0] == '\0')
        return false;
    for (const char *p = host; *p != '\0'; p++)
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '.' && *p != '_')
            return false;
    return true;
}

static bool take_host(char *text, source_ref *r)
{
    char *colon = strrchr(text, ':'), *close = NULL;
    if (text[0] == '[') {
        unsigned char v6[16];
        close = strchr(text, ']');
        if (close == NULL)
            return false;
        *close = '\0';
        r->host = text + 1;
        colon = close[1] == ':' ? close + 1 : NULL;
        if (inet_pton(AF_INET6, r->host, v6) != 1 || (close[1] != '\0' && colon == NULL))
            return false;
    } else {
        r->host = text;
    }
    if (colon != NULL) {
        int64_t port;
        if (!tab_integer_read(tab_str_of(colon + 1), 1, 65535, &port))
            return false;
        r->port = (uint16_t)port;
        *colon = '\0';
    }
    for (char *p = text; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    return close != NULL || good_host(r->host);
}

/* What is no host by itself: a bucket, an account; `cased`: a file's id. */
static bool take_name(char *text, bool cased, source_ref *r)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyz0123456789-._ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (char *p = text; *p != '\0' && !cased; p++)
        *p = (char)tolower((unsigned char)*p);
    r->host = text;
    return text[0] != '\0' && strlen(text) <= 253 && strspn(text, good) == strlen(text);
}

size_t ref_location(const char *text)
{
    return (size_t)(strrchr(text, '/') + 1 - text);
}

static bool unreserved(char c)
{
    return isalnum((unsigned char)c) || strchr("-._~ ", c) != NULL;
}

enum { WRITTEN = 3 * REF_LENGTH + 64 };

/* One source, one spelling. Gives the bytes written. */
static size_t write_ref(const source_ref *r, char out[WRITTEN])
{
    bool v6 = strchr(r->host, ':') != NULL;
    size_t n =
        (size_t)snprintf(out, WRITTEN, "%s://%s%s%s", r->scheme, v6 ? "[" : "", r->host, v6 ? "]" : "");
    if (r->port != 0)
        n += (size_t)snprintf(out + n, WRITTEN - n, ":%u", r->port);
    for (size_t i = 0; i < r->segments; i++) {
        out[n++] = '/';
        for (const char *c = r->segment[i]; *c != '\0'; c++)
            if (unreserved(*c) || (unsigned char)*c >= 0x80)
                out[n++] = *c;
            else
                n += (size_t)snprintf(out + n, WRITTEN - n, "%%%02X", (unsigned char)*c);
    }
    if (r->folder)
        out[n++] = '/';
    return n;
}

/* What no ref may hold, whatever its scheme. */
static tab_status form_check(const char *text, tab_error *err)
{
    if (strlen(text) > REF_LENGTH)
        return bad_ref(err, "", "it is longer than 2,048 bytes");
    if (looks_secret(text) || strchr(text, '@') != NULL)
        return bad_ref(err, "", "it must not contain credentials; put them in `credentials`");
    for (const char *p = text; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '?' || *p == '#' || *p == '\\')
            return bad_ref(err, "", "it contains a query, a fragment or a control character");
    return TAB_OK;
}

/* The path's parts, in place. */
static bool take_path(char *at, bool folders, source_ref *r)
{
    while (at != NULL) {
        if (folders && at[0] == '\0') {
            r->folder = true;
            return true;
        }
        char *end = strchr(at, '/');
        if (end != NULL)
            *end = '\0';
        if (r->segments == REF_SEGMENTS || at[0] == '\0' || !decode(at) || at[0] == '\0' ||
            strcmp(at, ".") == 0 || strcmp(at, "..") == 0)
            return false;
        r->segment[r->segments++] = at;
        at = end == NULL ? NULL : end + 1;
    }
    return true;
}

/* r->text: the one spelling, of which no part looks like a secret. */
static tab_status spell(tab_arena *a, source_ref *r, tab_error *err)
{
    char out[WRITTEN];
    size_t n = write_ref(r, out);
    if (n > REF_LENGTH)
        return bad_ref(err, "", "written with its escapes it is longer than 2,048 bytes");
    r->text = tab_arena_copy(a, (tab_str){ out, n }).p;
    if (r->text == NULL)
        return tab_no_memory(err);
    bool secret = looks_secret(r->text);     /* once its host is of one case */
    for (size_t i = 0; i < r->segments; i++) /* and its escapes are undone */
        secret = secret || looks_secret(r->segment[i]);
    return secret ? bad_ref(err, "", "it must not contain credentials; put them in `credentials`") : TAB_OK;
}

tab_status ref_parse(tab_arena *a, const char *text, source_ref *ret, tab_error *err)
{
    source_ref r = { 0 };
    const char *sep = strstr(text, "://");
    TAB_TRY(form_check(text, err));
    if (sep == NULL || sep == text)
        return bad_ref(err, "", "it must begin with a scheme and ://");
    char *copy = (char *)tab_arena_copy(a, tab_str_of(text)).p;
    if (copy == NULL)
        return tab_no_memory(err);
    copy[sep - text] = '\0';
    r.scheme = strcmp(copy, "postgresql") == 0 ? "postgres" : copy; /* libpq reads both */
    for (const char *p = copy; *p != '\0'; p++)
        if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '+' && *p != '-')
            return bad_ref(err, "", "its scheme is not valid");
    const provider *p = provider_of(r.scheme);
    if (p == NULL)
        return no_provider(copy, err);

    char *rest = copy + (sep - text) + 3, *slash = strchr(rest, '/');
    if (slash == NULL && p->least > 0)
        return bad_ref(err, r.scheme, "it names no table or location");
    if (slash != NULL)
        *slash = '\0';
    if (p->by_name ? !take_name(rest, p->cased, &r) : !take_host(rest, &r))
        return bad_ref(err, r.scheme, "its host or port is not valid");
    if (slash != NULL && !take_path(slash + 1, p->folder, &r))
        return bad_ref(err, r.scheme, "its path is not valid");
    if (r.segments + r.folder < p->least || r.segments > p->most)
        return bad_ref(err, r.scheme, "its path has too few or too many parts");
    if (r.port == p->port) /* it is not written */
        r.port = 0;
    TAB_TRY(spell(a, &r, err));
    if (r.port == 0)
        r.port = p->port;
    *ret = r;
    return TAB_OK;
}
