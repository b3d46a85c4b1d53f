/* Tables of Supabase by its REST interface (PostgREST):
 *
 *   supabase://PROJECT/SCHEMA/TABLE                    at PROJECT.supabase.co
 *   supabase+https://host[:port]/SCHEMA/TABLE          one's own
 *
 * Pages are ranges of one order, the rows' key: options.key, or the primary key that the interface
 * describes. How many rows there are is counted with every page; where that changes, what was read is no
 * one state. A table that is one page needs no key. options.query chooses as the interface does:
 * select=id,total&paid=eq.true */
#include <ctype.h>
#include <stdio.h>

#include "common/base/integer.h"
#include "common/files/json_rows.h"
#include "common/json/json.h"
#include "services/data-connector/data.h"
#include "services/data-connector/providers/json_api.h"

enum { PAGES = 1000000, PAGE_ROWS = 10000, PARAMS = 32, META_DEPTH = 16 };

static const char *const members[] = { "service_key", "ca", NULL }, *const options[] = { "query", NULL };

typedef struct {
    const source *s;
    tab_arena *a;
    json_api api;
    const char *schema, *table;
    const char *order; /* "": no key is known */
    const char *query; /* of every page */
    int64_t at, total; /* total < 0: not counted yet */
    tab_out rows;
} paging;

static tab_status call(const paging *g, tab_arena *a, const char *path, const char *query,
                       const http_pair *more, size_t n, http_answer *ret, tab_error *err)
{
    http_pair header[6] = { { "Accept-Profile", g->schema } };
    memcpy(header + 1, more, n * sizeof *more);
    const http_request q = { .method = "GET",
                             .plain = g->api.plain,
                             .host = g->api.host,
                             .port = g->api.port,
                             .path = path,
                             .query = query,
                             .header = header,
                             .n_header = n + 1,
                             .secrets = g->api.secret,
                             .n_secrets = g->api.n_secret,
                             .packed = true };
    return path == NULL || query == NULL ? tab_no_memory(err) : http_call(g->s, a, &q, ret, err);
}

static tab_status good(const paging *g, const http_answer *x, tab_error *err)
{
    if (x->status == 406)
        return tab_fail(err, TAB_VALIDATION, "source", "The source does not expose this schema (HTTP 406).");
    if (x->status == 400 && g->s->n_key > 0)
        return tab_fail(err, TAB_VALIDATION, "options",
                        "The source rejects the key or the query (HTTP 400).");
    if (x->status == 400 && g->s->query[0] != '\0')
        return tab_fail(err, TAB_VALIDATION, "options.query", "The source refuses the query (HTTP 400).");
    return http_good(x, err);
}

/* ---- the order ---------------------------------------------------------------------------------------- */

static tab_status add_order(paging *g, tab_str name, tab_error *err)
{
    for (size_t i = 0; i < name.n; i++)
        if (strchr("\"\\", name.p[i]) != NULL || (unsigned char)name.p[i] < 0x20)
            return tab_fail(err, TAB_VALIDATION, "options.key", "This is not a valid column name.");
    g->order =
        tab_arena_printf(g->a, "%s%s\"%.*s\".asc", g->order, g->order[0] != '\0' ? "," : "", TAB_STR(name));
    return g->order == NULL ? tab_no_memory(err) : TAB_OK;
}

/* The description at / marks a primary key's columns by <pk/>. It may be closed to this key. */
static tab_status described_key(paging *g, tab_error *err)
{
    const http_pair accept = { "Accept", "application/openapi+json" };
    http_answer x;
    tab_str all, span;
    const tab_json *columns;
    tab_error why = { 0 };
    TAB_TRY(call(g, g->a, "/rest/v1/", "", &accept, 1, &x, err));
    if (x.status == 401) /* the key itself */
        return http_good(&x, err);
    if (x.status != 200 || json_span(g->a, x.body, "/definitions", &all, &why) != TAB_OK || all.p == NULL)
        return TAB_OK;
    const char *at = "/";
    for (const char *p = g->table; *p != '\0' && at != NULL; p++) /* RFC 6901; a segment holds no / */
        at = tab_arena_printf(g->a, "%s%s%c", at, *p == '~' ? "~" : "", *p == '~' ? '0' : *p);
    at = at == NULL ? NULL : tab_arena_printf(g->a, "/definitions%s/properties", at);
    if (at == NULL)
        return tab_no_memory(err);
    TAB_TRY(json_span(g->a, x.body, at, &span, err));
    tab_str text = span.p == NULL ? span : tab_arena_copy(g->a, span);
    if (text.p == NULL || tab_json_read(g->a, text, META_DEPTH, &columns, &why) != TAB_OK)
        return TAB_OK;
    for (const tab_json *c = columns->first; c != NULL; c = c->next) {
        const tab_json *said = tab_json_get(c, "description");
        if (said != NULL && said->kind == TAB_JSON_STRING &&
            memmem(said->text.p, said->text.n, "<pk/>", 5) != NULL)
            TAB_TRY(add_order(g, c->key, err));
    }
    return TAB_OK;
}

/* options.query in pairs, with the order. */
static tab_status prepare(paging *g, tab_error *err)
{
    http_pair pair[PARAMS];
    size_t n = 0;
    for (size_t i = 0; i < g->s->n_key; i++)
        TAB_TRY(add_order(g, tab_str_of(g->s->key[i]), err));
    if (g->s->n_key == 0)
        TAB_TRY(described_key(g, err));
    for (const char *p = g->s->query; *p != '\0';) {
        size_t m = strcspn(p, "&"), name = strcspn(p, "=");
        if (n + 2 > PARAMS || name >= m || name == 0)
            return tab_fail(err, TAB_VALIDATION, "options.query",
                            "A query must be name=value pairs joined by &.");
        pair[n] = (http_pair){ tab_arena_copy(g->a, (tab_str){ p, name }).p,
                               tab_arena_copy(g->a, (tab_str){ p + name + 1, m - name - 1 }).p };
        if (tab_arena_full(g->a))
            return tab_no_memory(err);
        if (strcmp(pair[n].name, "order") == 0 || strcmp(pair[n].name, "limit") == 0 ||
            strcmp(pair[n].name, "offset") == 0)
            return tab_fail(err, TAB_VALIDATION, "options.query",
                            "The query cannot set the order or the pages.");
        n++;
        p += m + (p[m] == '&');
    }
    if (g->order[0] != '\0')
        pair[n++] = (http_pair){ "order", g->order };
    g->query = http_query(g->a, pair, n);
    return g->query == NULL ? tab_no_memory(err) : TAB_OK;
}

/* ---- pages -------------------------------------------------------------------------------------------- */

/* "0-999/3573", or "*" "/0": no rows from here. */
static bool range_of(const char *text, int64_t *ret_to, int64_t *ret_total)
{
    const char *slash = strchr(text, '/'), *dash = strchr(text, '-');
    int64_t from;
    if (slash == NULL || !tab_integer_read(tab_str_of(slash + 1), 0, INT64_MAX, ret_total))
        return false;
    if (text[0] == '*') {
        *ret_to = -1;
        return slash == text + 1;
    }
    return dash != NULL && dash < slash &&
           tab_integer_read((tab_str){ text, (size_t)(dash - text) }, 0, INT64_MAX, &from) &&
           tab_integer_read((tab_str){ dash + 1, (size_t)(slash - dash - 1) }, from, INT64_MAX - 1, ret_to);
}

static tab_status take(paging *g, bool *ret_more, tab_error *err)
{
    TAB_AUTO(tab_arena) *page = tab_arena_new((size_t)g->s->read_mib << 21);
    http_answer x;
    tab_str span;
    int64_t to, total;
    if (page == NULL)
        return tab_no_memory(err);
    const char *path = tab_arena_printf(page, "/rest/v1/%s", http_encode(page, g->table, false));
    const char *range =
        tab_arena_printf(page, "%lld-%lld", (long long)g->at, (long long)(g->at + PAGE_ROWS - 1));
    if (tab_arena_full(page))
        return tab_no_memory(err);
    const http_pair header[] = { { "Accept", "application/json" },
                                 { "Range-Unit", "items" },
                                 { "Range", range },
                                 { "Prefer", "count=exact" } };
    TAB_TRY(call(g, page, path, g->query, header, 4, &x, err));
    if (x.status != 416) /* behind the last row: it has become shorter */
        TAB_TRY(good(g, &x, err));
    if (x.status == 416 || !range_of(x.range, &to, &total))
        return x.status == 416 ? tab_fail(err, TAB_UNAVAILABLE, "",
                                          "The table changed while it was being read; try again.")
                               : api_other_format(err);
    if (g->total >= 0 && total != g->total)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The table changed while it was being read; try again.");
    g->total = total;
    if (to < g->at)
        return total == g->at ? (*ret_more = false, TAB_OK) : api_other_format(err);
    TAB_TRY(json_span(page, x.body, "", &span, err));
    if (span.n < 2 || span.p[0] != '[')
        return api_other_format(err);
    tab_out_bytes(&g->rows, ",", g->rows.n > 1);
    tab_out_bytes(&g->rows, span.p + 1, span.n - 2);
    g->at = to + 1;
    *ret_more = g->at < total;
    if (*ret_more && g->order[0] == '\0')
        return tab_fail(
            err, TAB_VALIDATION, "options.key",
            "The table has more than one page and shows no primary key; name the columns that identify a "
            "row.");
    return g->rows.failed ? tab_no_memory(err) : TAB_OK;
}

static tab_status read_rows(paging *g, const tab_table **ret, tab_error *err)
{
    bool more = true;
    tab_out_bytes(&g->rows, "[", 1);
    for (size_t page = 0; more; page++) {
        if (page == PAGES)
            return tab_fail(err, TAB_VALIDATION, "source", "The source has more than %d pages.", PAGES);
        TAB_TRY(take(g, &more, err));
    }
    tab_out_bytes(&g->rows, "]", 2); /* and the zero behind */
    if (g->rows.failed)
        return tab_no_memory(err);
    if (g->rows.n == 3)
        return tab_fail(err, TAB_VALIDATION, "source", "The source has no rows.");
    TAB_TRY(tab_json_rows_read(g->a, (tab_str){ g->rows.p, g->rows.n - 1 }, tab_str_of(g->table),
                               DATA_MOST_COLS, DATA_MOST_CELLS, ret, err));
    return (*ret)->rows == (size_t)g->total ? TAB_OK : api_other_format(err);
}

static tab_status read_supabase(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    bool own = strcmp(s->ref->scheme, "supabase") == 0;
    const char *key = credential(s, "service_key");
    paging g = { .s = s, .a = a, .order = "", .total = -1 };
    g.schema = s->ref->segment[0];
    g.table = s->ref->segment[1];
    g.api = (json_api){ .s = s,
                        .port = s->ref->port,
                        .plain = strcmp(s->ref->scheme, "supabase+http") == 0,
                        .host = own ? tab_arena_printf(a, "%s.supabase.co", s->ref->host) : s->ref->host };
    if (key[0] == '\0' || !api_token(key))
        return tab_fail(err, TAB_VALIDATION, "credentials.service_key",
                        "Give the service key of the project.");
    if (!api_token(g.schema))
        return tab_fail(err, TAB_VALIDATION, "source", "This is not a valid schema name.");
    g.api.secret[g.api.n_secret++] = (http_pair){ "apikey", key };
    g.api.secret[g.api.n_secret++] = (http_pair){ "Authorization", tab_arena_printf(a, "Bearer %s", key) };
    if (tab_arena_full(a))
        return tab_no_memory(err);
    TAB_TRY(prepare(&g, err));
    tab_status st = read_rows(&g, ret, err);
    tab_out_free(&g.rows);
    if (st == TAB_VALIDATION && err != NULL && err->param[0] == '\0')
        snprintf(err->param, sizeof err->param, "source");
    return st;
}

#define SUPABASE(text, number, named)                                                                    \
    {                                                                                                    \
        .scheme = text, .port = number, .least = 2, .most = 2, .by_name = named, .credentials = members, \
        .options = options, .read = read_supabase                                                        \
    }
const provider provider_supabase = SUPABASE("supabase", 443, true),
               provider_supabase_https = SUPABASE("supabase+https", 443, false),
               provider_supabase_http = SUPABASE("supabase+http", 80, false);
