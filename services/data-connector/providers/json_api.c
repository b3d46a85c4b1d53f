/* See json_api.h. */
#include "services/data-connector/providers/json_api.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <time.h>

enum { CANCEL_MS = 2000, PAUSE_MS = 200, PAUSE_MOST_MS = 5000 };

tab_status api_call(const json_api *api, tab_arena *a, const char *method, const char *path,
                    const char *query, tab_str body, http_answer *ret, tab_error *err)
{
    const http_pair header[] = { { "Accept", "application/json" }, { "Content-Type", "application/json" } };
    const http_request q = { .method = method,
                             .plain = api->plain,
                             .host = api->host,
                             .port = api->port,
                             .path = path,
                             .query = query,
                             .header = header,
                             .n_header = body.n > 0 ? 2 : 1,
                             .secrets = api->secret,
                             .n_secrets = api->n_secret,
                             .body = body,
                             .packed = true };
    return path == NULL || query == NULL ? tab_no_memory(err) : http_call(api->s, a, &q, ret, err);
}

bool api_link(tab_arena *a, const char *url, http_request *ret)
{
    char *scheme = NULL, *host = NULL, *port = NULL, *path = NULL, *query = NULL, *user = NULL;
    CURLU *u = curl_url();
    bool good = u != NULL && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_PATH, &path, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_USER, &user, 0) != CURLUE_OK && strcmp(scheme, "https") == 0 &&
                host[0] != '[' && strlen(host) < 254;
    if (good) {
        (void)curl_url_get(u, CURLUPART_QUERY, &query, 0);
        ret->host = tab_arena_copy(a, tab_str_of(host)).p;
        ret->port = (uint16_t)strtoul(port, NULL, 10);
        ret->path = tab_arena_copy(a, tab_str_of(path)).p;
        ret->query = tab_arena_copy(a, tab_str_of(query != NULL ? query : "")).p;
        good = !tab_arena_full(a);
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

tab_status api_text(tab_arena *a, tab_str body, const char *pointer, const char **ret, tab_error *err)
{
    tab_str span, text;
    *ret = "";
    TAB_TRY(json_span(a, body, pointer, &span, err));
    if (span.p == NULL)
        return TAB_OK;
    TAB_TRY(json_span_text(a, span, &text, err));
    if (text.n > 0 && memchr(text.p, 0, text.n) == NULL)
        *ret = tab_arena_copy(a, text).p;
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

tab_status api_part(tab_arena *a, tab_str body, const char *pointer, size_t depth, const tab_json **ret,
                    tab_error *err)
{
    tab_str span;
    tab_error why = { 0 };
    TAB_TRY(json_span(a, body, pointer, &span, err));
    tab_str text = span.p == NULL ? span : tab_arena_copy(a, span);
    return text.p != NULL && tab_json_read(a, text, depth, ret, &why) == TAB_OK ? TAB_OK
                                                                                : api_other_format(err);
}

tab_status api_columns(array_rows *rows, const tab_json *all, const char *type,
                       int (*type_of)(tab_str spelling), tab_error *err)
{
    for (const tab_json *t = all->first; t != NULL; t = t->next) {
        const tab_json *name = tab_json_get(t, "name"), *is = tab_json_get(t, type);
        if (name == NULL || name->kind != TAB_JSON_STRING || is == NULL || is->kind != TAB_JSON_STRING)
            return api_other_format(err);
        TAB_TRY(array_rows_column(rows, name->text, type_of(is->text), err));
    }
    return TAB_OK;
}

bool api_token(const char *s)
{
    for (; *s != '\0'; s++)
        if (*s <= 0x20 || *s >= 0x7f)
            return false;
    return true;
}

tab_status api_pause(const source *s, unsigned turn, tab_error *err)
{
    int64_t ms = PAUSE_MS;
    for (unsigned i = 0; i < turn && ms < PAUSE_MOST_MS; i++)
        ms += ms / 2;
    ms = ms < PAUSE_MOST_MS ? ms : PAUSE_MOST_MS;
    if (source_left_ms(s, ms + CANCEL_MS) < ms + CANCEL_MS)
        return source_too_late(err);
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
    return TAB_OK;
}

tab_status api_subquery(tab_arena *a, const char *query, const char **ret, tab_error *err)
{
    size_t n = strlen(query);
    while (n > 0 && (isspace((unsigned char)query[n - 1]) || query[n - 1] == ';'))
        n--;
    if (n == 0)
        return tab_fail(err, TAB_VALIDATION, "options.query", "The query is empty.");
    *ret = tab_arena_copy(a, (tab_str){ query, n }).p;
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

const char *api_quoted(tab_arena *a, const char *name, char quote)
{
    char *q = tab_arena_alloc(a, 2 * strlen(name) + 3, 1), *to = q;
    if (q == NULL)
        return NULL;
    *to++ = quote;
    for (; *name != '\0'; name++) {
        if (*name == quote)
            *to++ = quote;
        *to++ = *name;
    }
    *to = quote;
    return q;
}

const char *api_order(tab_arena *a, const source *s, char quote)
{
    const char *by = "";
    for (size_t i = 0; i < s->n_key && by != NULL; i++) {
        const char *name = api_quoted(a, s->key[i], quote);
        by = name == NULL ? NULL : tab_arena_printf(a, "%s%s%s", by, i == 0 ? " ORDER BY " : ", ", name);
    }
    return by;
}

tab_status api_other_format(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "source", "The source answered in an unexpected format.");
}
