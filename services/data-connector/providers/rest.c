/* REST and GraphQL: rest+https://host[:port]/path, graphql+https://host[:port]/path with options.query.
 *
 * Rows are the objects of one array of the answer: options.records names it by a JSON pointer; else it is the
 * answer itself, or its only array of objects. Pages follow each other by what the answer says, tried in this
 * order, as the first answer settles it:
 *
 *   Link: <..>; rel="next"; a link member (next, links.next, paging.next, @odata.nextLink, nextLink)
 *   a cursor member, sent as the parameter of its name (next_cursor as cursor, nextPageToken as pageToken)
 *   GraphQL: pageInfo beside the rows, sent as $after
 *
 * A link leads to the same scheme, host and port. Reading ends where none is, at an empty page, or at a
 * page that came before. */
#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/json_rows.h"
#include "common/json/json.h"
#include "common/security/crypto.h"
#include "services/data-connector/data.h"
#include "services/data-connector/protocols/http.h"
#include "services/data-connector/protocols/json_spans.h"

enum { PAGES = 10000, PAGE_ROWS = 500, GRAPHQL_DEPTH = 32 };

static const char *const members[] = { HTTP_LOGIN, NULL }, *const rest_options[] = { "records", NULL },
                         *const graphql_options[] = { "records", "query", NULL };

typedef struct {
    const source *s;
    tab_arena *a;
    bool graphql;
    http_pair login[3];
    size_t n_login;
    const char *path, *query, *after; /* of the next request; after: GraphQL's */
    tab_out rows;                     /* elements of all pages, comma between */
    size_t pages;
    uint8_t last[TAB_SHA256];
    const char *records; /* pointer to the rows, once it is known */
} paging;

static tab_status ask(paging *g, http_answer *ret, tab_error *err)
{
    http_pair header[] = { { "Accept", "application/json" }, { "Content-Type", "application/json" } };
    tab_out body = { 0 };
    http_request q = { .method = g->graphql ? "POST" : "GET",
                       .plain = strstr(g->s->ref->scheme, "+http") != NULL &&
                                strstr(g->s->ref->scheme, "+https") == NULL,
                       .host = g->s->ref->host,
                       .port = g->s->ref->port,
                       .path = g->path,
                       .query = g->query,
                       .header = header,
                       .n_header = g->graphql ? 2 : 1,
                       .secrets = g->login,
                       .n_secrets = g->n_login,
                       .redirects = g->graphql ? 0 : 3 };
    if (g->graphql) {
        tab_out_open(&body, '{');
        tab_out_key(&body, "query");
        tab_out_cstr(&body, g->s->query);
        tab_out_key(&body, "variables");
        tab_out_open(&body, '{');
        if (strstr(g->s->query, "$first") != NULL) {
            tab_out_key(&body, "first");
            tab_out_uint(&body, PAGE_ROWS);
        }
        if (g->after != NULL) {
            tab_out_key(&body, "after");
            tab_out_cstr(&body, g->after);
        }
        tab_out_close(&body, '}');
        tab_out_close(&body, '}');
        q.body = tab_out_text(&body);
    }
    tab_status st = body.failed ? tab_no_memory(err) : http_call(g->s, g->a, &q, ret, err);
    tab_out_free(&body);
    TAB_TRY(st);
    return http_good(ret, err);
}

/* ---- the next page ----------------------------------------------------------------------------- */

/* Path and query of a link, relative to the request before; false where it leads elsewhere. */
static bool same_place(paging *g, const char *link)
{
    char base[4 * REF_LENGTH];
    char *scheme = NULL, *host = NULL, *port = NULL, *path = NULL, *query = NULL, *user = NULL;
    const source_ref *r = g->s->ref;
    bool plain = strstr(r->scheme, "+https") == NULL, v6 = strchr(r->host, ':') != NULL;
    CURLU *u = curl_url();
    snprintf(base, sizeof base, "%s://%s%s%s:%u%s%s%s", plain ? "http" : "https", v6 ? "[" : "", r->host,
             v6 ? "]" : "", r->port, g->path, g->query[0] != '\0' ? "?" : "", g->query);
    bool good = u != NULL && curl_url_set(u, CURLUPART_URL, base, 0) == CURLUE_OK &&
                curl_url_set(u, CURLUPART_URL, link, CURLU_URLENCODE) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_PATH, &path, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_USER, &user, 0) != CURLUE_OK &&
                strcmp(scheme, plain ? "http" : "https") == 0 && strcasecmp(host, r->host) == 0 &&
                strtoul(port, NULL, 10) == r->port;
    if (good) {
        (void)curl_url_get(u, CURLUPART_QUERY, &query, 0);
        g->path = tab_arena_copy(g->a, tab_str_of(path)).p;
        g->query = tab_arena_copy(g->a, tab_str_of(query != NULL ? query : "")).p;
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(path);
    curl_free(query);
    curl_free(user);
    curl_url_cleanup(u);
    return good;
}

/* <https://..>; rel="next", among others */
static const char *link_of(tab_arena *a, const char *header)
{
    for (const char *p = header; (p = strchr(p, '<')) != NULL; p++) {
        const char *end = strchr(p, '>');
        size_t rest = end == NULL ? 0 : strcspn(end, ",");
        if (end == NULL)
            return NULL;
        if (memmem(end, rest, "rel=\"next\"", 10) != NULL || memmem(end, rest, "rel=next", 8) != NULL)
            return tab_arena_copy(a, (tab_str){ p + 1, (size_t)(end - p - 1) }).p;
    }
    return NULL;
}

static tab_status member(paging *g, tab_str body, const char *pointer, const char **ret, tab_error *err)
{
    tab_str span, text;
    *ret = NULL;
    TAB_TRY(json_span(g->a, body, pointer, &span, err));
    if (span.p == NULL)
        return TAB_OK;
    TAB_TRY(json_span_text(g->a, span, &text, err));
    *ret = text.n > 0 && memchr(text.p, 0, text.n) == NULL ? tab_arena_copy(g->a, text).p : NULL;
    return TAB_OK;
}

/* The parameter, replaced or added. */
static const char *with_parameter(tab_arena *a, const char *query, const char *name, const char *value)
{
    size_t n = strlen(name);
    const char *out = "", *coded = http_encode(a, value, false);
    while (*query != '\0' && out != NULL) {
        size_t m = strcspn(query, "&");
        if (strncmp(query, name, n) != 0 || query[n] != '=')
            out = tab_arena_printf(a, "%s%s%.*s", out, out[0] != '\0' ? "&" : "", (int)m, query);
        query += m + (query[m] == '&');
    }
    return out == NULL || coded == NULL
               ? NULL
               : tab_arena_printf(a, "%s%s%s=%s", out, out[0] != '\0' ? "&" : "", name, coded);
}

static tab_status next_rest(paging *g, const http_answer *x, bool *ret, tab_error *err)
{
    static const char *const links[] = {
        "/next",        "/next/href",       "/links/next", "/links/next/href", "/_links/next/href",
        "/paging/next", "/@odata.nextLink", "/nextLink"
    };
    static const struct {
        const char *pointer, *parameter;
    } cursors[] = { { "/next_cursor", "cursor" },
                    { "/meta/next_cursor", "cursor" },
                    { "/cursor/next", "cursor" },
                    { "/nextPageToken", "pageToken" },
                    { "/next_page_token", "page_token" } };
    const char *to = link_of(g->a, x->link);
    for (size_t i = 0; to == NULL && i < sizeof links / sizeof *links && x->body.p[0] != '['; i++)
        TAB_TRY(member(g, x->body, links[i], &to, err));
    if (to != NULL) {
        *ret = same_place(g, to);
        return *ret ? TAB_OK
                    : tab_fail(err, TAB_VALIDATION, "source",
                               "The next page is at another address, which is not allowed.");
    }
    *ret = false;
    for (size_t i = 0; !*ret && i < sizeof cursors / sizeof *cursors && x->body.p[0] != '['; i++) {
        TAB_TRY(member(g, x->body, cursors[i].pointer, &to, err));
        if (to == NULL)
            continue;
        g->query = with_parameter(g->a, g->query, cursors[i].parameter, to);
        *ret = g->query != NULL;
    }
    return tab_arena_full(g->a) ? tab_no_memory(err) : TAB_OK;
}

/* pageInfo { hasNextPage endCursor } beside the rows. */
static tab_status next_graphql(paging *g, const http_answer *x, bool *ret, tab_error *err)
{
    const char *slash = strrchr(g->records, '/'), *before = g->after;
    tab_str has;
    *ret = false;
    if (slash == NULL || strstr(g->s->query, "$after") == NULL)
        return TAB_OK;
    const char *info =
        tab_arena_printf(g->a, "%.*s/pageInfo/hasNextPage", (int)(slash - g->records), g->records);
    const char *end =
        tab_arena_printf(g->a, "%.*s/pageInfo/endCursor", (int)(slash - g->records), g->records);
    if (info == NULL || end == NULL)
        return tab_no_memory(err);
    TAB_TRY(json_span(g->a, x->body, info, &has, err));
    if (!tab_str_eq(has, TAB_S("true")))
        return TAB_OK;
    TAB_TRY(member(g, x->body, end, &g->after, err));
    *ret = g->after != NULL && (before == NULL || strcmp(before, g->after) != 0);
    return TAB_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static bool blank(tab_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!isspace((unsigned char)s.p[i]))
            return false;
    return true;
}

/* The page's rows behind those before. *ret_any false: it has none. */
static tab_status take(paging *g, const http_answer *x, bool *ret_any, tab_error *err)
{
    tab_str span;
    if (g->records != NULL) {
        TAB_TRY(json_span(g->a, x->body, g->records, &span, err));
    } else {
        TAB_TRY(json_rows_span(g->a, x->body, g->graphql, &span, &g->records, err));
        if (span.p == NULL && g->graphql)
            return tab_fail(
                err, TAB_VALIDATION, "options.records",
                "The response contains no list of objects; say where the rows are with options.records.");
        if (span.p == NULL) /* one object, one row */
            TAB_TRY(json_span(g->a, x->body, "", &span, err));
    }
    *ret_any = false;
    if (span.p == NULL && g->pages > 1)
        return TAB_OK;
    if (span.p == NULL)
        return tab_fail(err, TAB_VALIDATION, "options.records", "The response has nothing at this pointer.");
    if (span.p[0] == '[')
        span = (tab_str){ span.p + 1, span.n - 2 };
    if (blank(span))
        return TAB_OK;
    tab_out_bytes(&g->rows, ",", g->rows.n > 1);
    tab_out_bytes(&g->rows, span.p, span.n);
    *ret_any = true;
    return g->rows.failed ? tab_no_memory(err) : TAB_OK;
}

/* Errors come with status 200. */
static tab_status graphql_errors(paging *g, const http_answer *x, tab_error *err)
{
    tab_str errors;
    TAB_TRY(json_span(g->a, x->body, "/errors", &errors, err));
    if (errors.n > 2 && errors.p[0] == '[' && !blank((tab_str){ errors.p + 1, errors.n - 2 }))
        return tab_fail(err, TAB_VALIDATION, "options.query", "The source answered the query with errors.");
    return TAB_OK;
}

static tab_status read_pages(paging *g, tab_error *err)
{
    bool more = true, any = true;
    tab_out_bytes(&g->rows, "[", 1);
    while (more && any) {
        http_answer x;
        uint8_t digest[TAB_SHA256];
        if (++g->pages > PAGES)
            return tab_fail(err, TAB_VALIDATION, "source", "The source has more than %d pages.", PAGES);
        TAB_TRY(ask(g, &x, err));
        if (g->graphql)
            TAB_TRY(graphql_errors(g, &x, err));
        tab_sha256(x.body, digest);
        if (g->pages > 1 && memcmp(digest, g->last, sizeof digest) == 0)
            break;
        memcpy(g->last, digest, sizeof digest);
        TAB_TRY(take(g, &x, &any, err));
        TAB_TRY(g->graphql ? next_graphql(g, &x, &more, err) : next_rest(g, &x, &more, err));
    }
    tab_out_bytes(&g->rows, "]", 2); /* and the zero behind */
    return g->rows.failed ? tab_no_memory(err) : TAB_OK;
}

/* Rows that lie in edges[].node have their members' own names, and no cursor. */
static void bare_nodes(const paging *g, tab_table *t, tab_column *col)
{
    size_t n = strlen(g->records), k = 0;
    if (n < 6 || strcmp(g->records + n - 6, "/edges") != 0)
        return;
    for (size_t i = 0; i < t->cols; i++) {
        tab_str name = t->col[i].name;
        if (name.n <= 5 || memcmp(name.p, "node.", 5) != 0)
            continue;
        col[k] = t->col[i];
        col[k++].name = (tab_str){ name.p + 5, name.n - 5 };
    }
    if (k > 0) {
        t->col = col;
        t->cols = k;
    }
}

static tab_status read_api(const source *s, tab_arena *a, bool graphql, const tab_table **ret, tab_error *err)
{
    paging g = { .s = s,
                 .a = a,
                 .graphql = graphql,
                 .path = http_path(a, s->ref, 0),
                 .query = "",
                 .records = s->records[0] != '\0' ? s->records : NULL };
    const tab_table *rows;
    TAB_TRY(http_login(s, a, g.login, &g.n_login, err));
    if (g.path == NULL)
        return tab_no_memory(err);
    tab_status st = read_pages(&g, err);
    if (st == TAB_OK && g.rows.n == 3)
        st = tab_fail(err, TAB_VALIDATION, "source", "The source has no rows.");
    if (st == TAB_OK)
        st = tab_json_rows_read(a, (tab_str){ g.rows.p, g.rows.n - 1 }, TAB_S("rows"), DATA_MOST_COLS,
                                DATA_MOST_CELLS, &rows, err);
    tab_out_free(&g.rows);
    if (st == TAB_VALIDATION && err != NULL && err->param[0] == '\0')
        snprintf(err->param, sizeof err->param, "source");
    TAB_TRY(st);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, rows->cols);
    if (t == NULL || col == NULL)
        return tab_no_memory(err);
    *t = *rows;
    t->id = tab_str_of(s->ref->segments > 0 ? s->ref->segment[s->ref->segments - 1] : s->ref->host);
    bare_nodes(&g, t, col);
    *ret = t;
    return TAB_OK;
}

static tab_status read_rest(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    return read_api(s, a, false, ret, err);
}

/* ---- GraphQL's documents ------------------------------------------------------------------------- */

/* Whether a document holds queries and fragments alone: no mutation, no subscription; and no deeper than
 * GRAPHQL_DEPTH. Strings and comments are passed over. */
static bool only_queries(const char *p)
{
    int depth = 0;
    bool begun = false; /* inside a definition: its header, before its braces */
    while (*p != '\0') {
        if (*p == '#') {
            p += strcspn(p, "\r\n");
        } else if (strncmp(p, "\"\"\"", 3) == 0) {
            for (p += 3; *p != '\0' && strncmp(p, "\"\"\"", 3) != 0; p++)
                p += *p == '\\' && p[1] != '\0';
            p += *p != '\0' ? 3 : 0;
        } else if (*p == '"') {
            for (p++; *p != '\0' && *p != '"'; p++)
                p += *p == '\\' && p[1] != '\0';
            p += *p != '\0';
        } else if (strchr("{([", *p) != NULL) {
            begun = true;
            if (++depth > GRAPHQL_DEPTH)
                return false;
            p++;
        } else if (strchr("})]", *p) != NULL) {
            if (--depth < 0)
                return false;
            begun = begun && (depth > 0 || *p != '}');
            p++;
        } else if (isalpha((unsigned char)*p) || *p == '_') {
            size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
            if (!begun && (n != 5 || strncmp(p, "query", 5) != 0) &&
                (n != 8 || strncmp(p, "fragment", 8) != 0))
                return false;
            begun = true;
            p += n;
        } else {
            p++;
        }
    }
    return depth == 0;
}

static tab_status read_graphql(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    if (s->query[0] == '\0')
        return tab_fail(err, TAB_VALIDATION, "options.query", "A GraphQL source needs options.query.");
    if (!only_queries(s->query))
        return tab_fail(
            err, TAB_VALIDATION, "options.query",
            "A GraphQL document can hold queries and fragments at most %d deep, and no mutations or "
            "subscriptions.",
            GRAPHQL_DEPTH);
    return read_api(s, a, true, ret, err);
}

#define API(text, number, opts, fn)                                                       \
    {                                                                                     \
        .scheme = text, .port = number, .least = 1, .most = REF_SEGMENTS, .folder = true, \
        .credentials = members, .options = opts, .read = fn                               \
    }
const provider provider_rest = API("rest+https", 443, rest_options, read_rest),
               provider_rest_http = API("rest+http", 80, rest_options, read_rest),
               provider_graphql = API("graphql+https", 443, graphql_options, read_graphql),
               provider_graphql_http = API("graphql+http", 80, graphql_options, read_graphql);
