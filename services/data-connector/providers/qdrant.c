/* Points of Qdrant: qdrant://host[:6333]/collection. A point is a row: its id, and its payload's members as
 * columns, nested ones as a.b. Points are scrolled by their id, a page behind the other; options.query is a
 * filter as Qdrant has it ({"must": [...]}).
 *
 * Vectors are not fetched: 768 numbers a row would drown a table. What the collection says of them is one
 * column each, vector(768). */
#include <stdio.h>

#include "common/files/json_rows.h"
#include "common/json/json.h"
#include "services/data-connector/data.h"
#include "services/data-connector/providers/json_api.h"

enum { PAGES = 1000000, PAGE_ROWS = 1000, META_DEPTH = 16, VECTORS = 64 };

static const char *const members[] = { "api_key", "ca", NULL }, *const options[] = { "query", NULL };

typedef struct {
    tab_str name;
    tab_str size; /* digits */
} vectors;

typedef struct {
    const source *s;
    tab_arena *a;
    json_api api;
    const char *collection; /* encoded */
    vectors vector[VECTORS];
    size_t n_vector;
    tab_str offset; /* the next point's id, as JSON; n 0: from the first */
    tab_out rows;   /* points of all pages, comma between */
} scroll;

static tab_status good(const http_answer *x, const source *s, tab_error *err)
{
    if (x->status == 400 && s->query[0] != '\0')
        return tab_fail(err, TAB_VALIDATION, "options.query", "The source refuses the filter (HTTP 400).");
    return http_good(x, err);
}

/* One vector a point, or several by their names; sizes are the collection's. */
static tab_status describe(scroll *c, tab_error *err)
{
    http_answer x;
    tab_str span;
    const tab_json *v;
    tab_error why = { 0 };
    const char *path = tab_arena_printf(c->a, "/collections/%s", c->collection);
    TAB_TRY(api_call(&c->api, c->a, "GET", path, "", TAB_S(""), &x, err));
    TAB_TRY(http_good(&x, err));
    TAB_TRY(json_span(c->a, x.body, "/result/config/params/vectors", &span, err));
    tab_str text = span.p == NULL ? span : tab_arena_copy(c->a, span);
    if (text.p == NULL)
        return TAB_OK; /* sparse ones only */
    if (tab_json_read(c->a, text, META_DEPTH, &v, &why) != TAB_OK || v->kind != TAB_JSON_OBJECT)
        return api_other_format(err);
    const tab_json *size = tab_json_get(v, "size");
    if (size != NULL && size->kind == TAB_JSON_NUMBER) {
        c->vector[c->n_vector++] = (vectors){ TAB_S("vector"), size->text };
        return TAB_OK;
    }
    for (const tab_json *m = v->first; m != NULL && c->n_vector < VECTORS; m = m->next) {
        size = tab_json_get(m, "size");
        const char *name = tab_arena_printf(c->a, "vector.%.*s", TAB_STR(m->key));
        if (name == NULL)
            return tab_no_memory(err);
        if (size != NULL && size->kind == TAB_JSON_NUMBER)
            c->vector[c->n_vector++] = (vectors){ tab_str_of(name), size->text };
    }
    return TAB_OK;
}

static tab_status filter(const source *s, tab_arena *a, tab_out *body, tab_error *err)
{
    const tab_json *f;
    tab_error why = { 0 };
    tab_str text = tab_arena_copy(a, tab_str_of(s->query));
    if (s->query[0] == '\0')
        return TAB_OK;
    if (text.p == NULL)
        return tab_no_memory(err);
    if (tab_json_read(a, text, META_DEPTH, &f, &why) != TAB_OK || f->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "options.query", "A Qdrant filter must be a JSON object.");
    tab_out_key(body, "filter");
    tab_out_raw(body, tab_str_of(s->query));
    return TAB_OK;
}

static tab_status ask(scroll *c, tab_arena *page, http_answer *ret, tab_error *err)
{
    tab_out body = { 0 };
    const char *path = tab_arena_printf(page, "/collections/%s/points/scroll", c->collection);
    tab_out_open(&body, '{');
    tab_out_key(&body, "limit");
    tab_out_uint(&body, PAGE_ROWS);
    tab_out_key(&body, "with_payload");
    tab_out_bool(&body, true);
    tab_out_key(&body, "with_vector");
    tab_out_bool(&body, false);
    if (c->offset.n > 0) {
        tab_out_key(&body, "offset");
        tab_out_raw(&body, c->offset);
    }
    tab_status st = filter(c->s, page, &body, err);
    tab_out_close(&body, '}');
    if (st == TAB_OK)
        st = body.failed ? tab_no_memory(err)
                         : api_call(&c->api, page, "POST", path, "", tab_out_text(&body), ret, err);
    tab_out_free(&body);
    TAB_TRY(st);
    return good(ret, c->s, err);
}

/* The page's points behind those before; *ret_more: there are others. */
static tab_status take(scroll *c, bool *ret_more, tab_error *err)
{
    TAB_AUTO(tab_arena) *page = tab_arena_new((size_t)c->s->read_mib << 21);
    http_answer x;
    tab_str points, next;
    if (page == NULL)
        return tab_no_memory(err);
    TAB_TRY(ask(c, page, &x, err));
    TAB_TRY(json_span(page, x.body, "/result/points", &points, err));
    TAB_TRY(json_span(page, x.body, "/result/next_page_offset", &next, err));
    if (points.n < 2 || points.p[0] != '[')
        return api_other_format(err);
    size_t inner = 0;
    while (inner + 2 < points.n && strchr(" \t\r\n", points.p[1 + inner]) != NULL)
        inner++;
    bool any = inner + 2 < points.n;
    tab_out_bytes(&c->rows, ",", any && c->rows.n > 1);
    tab_out_bytes(&c->rows, points.p + 1, any ? points.n - 2 : 0);
    *ret_more = next.n > 0 && (next.p[0] == '"' || (next.p[0] >= '0' && next.p[0] <= '9'));
    if (!*ret_more)
        return c->rows.failed ? tab_no_memory(err) : TAB_OK;
    if (!any || next.n > 64 || tab_str_eq(next, c->offset))
        return api_other_format(err);
    c->offset = tab_arena_copy(c->a, next);
    return c->rows.failed || c->offset.p == NULL ? tab_no_memory(err) : TAB_OK;
}

static tab_status constant(scroll *c, tab_column *ret, const vectors *v, size_t rows, tab_error *err)
{
    tab_builder *b = tab_builder_new(c->a, v->name);
    char text[48];
    size_t n = (size_t)snprintf(text, sizeof text, "vector(%.*s)", (int)(v->size.n < 20 ? v->size.n : 20),
                                v->size.p);
    for (size_t i = 0; i < rows && b != NULL; i++)
        tab_builder_text(b, (tab_str){ text, n });
    return b != NULL && tab_builder_finish(b, ret) ? TAB_OK : tab_no_memory(err);
}

static bool starts(tab_str s, const char *with)
{
    return s.n > strlen(with) && memcmp(s.p, with, strlen(with)) == 0;
}

/* What a point holds beside id and payload (shard, order) is Qdrant's own. A payload's names stand by
 * themselves, but for those that the point has. */
static tab_status columns(scroll *c, const tab_table *t, const tab_table **ret, tab_error *err)
{
    static const char own[] = "payload.";
    tab_table *out = tab_arena_new_of(c->a, tab_table, 1);
    tab_column *col = tab_arena_new_of(c->a, tab_column, t->cols + c->n_vector);
    size_t n = 0;
    if (out == NULL || col == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < t->cols; i++) {
        tab_str name = t->col[i].name;
        bool id = tab_str_eq(name, TAB_S("id"));
        if (!id && !starts(name, own))
            continue;
        tab_str bare = { name.p + sizeof own - 1, name.n - (sizeof own - 1) };
        col[n] = t->col[i];
        if (!id && !tab_str_eq(bare, TAB_S("id")) && !starts(bare, "vector") &&
            !tab_str_eq(bare, TAB_S("vector")))
            col[n].name = bare;
        n++;
    }
    for (size_t i = 0; i < c->n_vector; i++)
        TAB_TRY(constant(c, &col[n++], &c->vector[i], t->rows, err));
    *out = (tab_table){ .id = tab_str_of(c->s->ref->segment[0]), .rows = t->rows, .cols = n, .col = col };
    *ret = out;
    return TAB_OK;
}

static tab_status read_points(scroll *c, const tab_table **ret, tab_error *err)
{
    const tab_table *rows;
    bool more = true;
    tab_out_bytes(&c->rows, "[", 1);
    for (size_t page = 0; more; page++) {
        if (page == PAGES)
            return tab_fail(err, TAB_VALIDATION, "source", "The source has more than %d pages.", PAGES);
        TAB_TRY(take(c, &more, err));
    }
    tab_out_bytes(&c->rows, "]", 2); /* and the zero behind */
    if (c->rows.failed)
        return tab_no_memory(err);
    if (c->rows.n == 3)
        return tab_fail(err, TAB_VALIDATION, "source", "The source has no points.");
    TAB_TRY(tab_json_rows_read(c->a, (tab_str){ c->rows.p, c->rows.n - 1 }, TAB_S("points"), DATA_MOST_COLS,
                               DATA_MOST_CELLS, &rows, err));
    return columns(c, rows, ret, err);
}

static tab_status read_qdrant(const source *s, tab_arena *a, const tab_table **ret, tab_error *err)
{
    const char *key = credential(s, "api_key");
    scroll c = { .s = s, .a = a, .collection = http_encode(a, s->ref->segment[0], false) };
    c.api = (json_api){ .s = s,
                        .host = s->ref->host,
                        .port = s->ref->port,
                        .plain = strcmp(s->ref->scheme, "qdrant+http") == 0 };
    if (!api_token(key))
        return tab_fail(err, TAB_VALIDATION, "credentials.api_key", "This is no API key.");
    if (key[0] != '\0')
        c.api.secret[c.api.n_secret++] = (http_pair){ "api-key", key };
    if (c.collection == NULL)
        return tab_no_memory(err);
    TAB_TRY(describe(&c, err));
    tab_status st = read_points(&c, ret, err);
    tab_out_free(&c.rows);
    if (st == TAB_VALIDATION && err != NULL && err->param[0] == '\0')
        snprintf(err->param, sizeof err->param, "source");
    return st;
}

#define QDRANT(text)                                                                                     \
    {                                                                                                    \
        .scheme = text, .port = 6333, .least = 1, .most = 1, .credentials = members, .options = options, \
        .read = read_qdrant                                                                              \
    }
const provider provider_qdrant = QDRANT("qdrant"), provider_qdrant_http = QDRANT("qdrant+http");
