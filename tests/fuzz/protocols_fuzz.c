/* What servers of warehouses and stores answer, whatever they send: rows as arrays, BigQuery's rows, BSON,
 * a login by SCRAM, Supabase's ranges; and what a caller gives: a key, a filter. The first byte chooses. A
 * table that comes out can be written and read again; a document that is read is JSON that can be read. */
#include "services/data-connector/providers/bigquery.c"

#include <stdlib.h>

#include "common/table/table_wire.h"
#include "services/data-connector/protocols/bson.h"
#include "services/data-connector/protocols/jwt.h"
#include "services/data-connector/protocols/scram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void holds(tab_arena *a, const tab_table *t)
{
    const tab_table *const *back;
    tab_wire *w;
    size_t n;
    if (tab_wire_new(a, &t, 1, &w, NULL) != TAB_OK)
        return;
    char *p = tab_arena_alloc(a, tab_wire_bytes(w) + 1, 8);
    if (p == NULL)
        return;
    tab_wire_copy(w, 0, tab_wire_bytes(w), p);
    must(tab_wire_read(a, (tab_str){ p, tab_wire_bytes(w) }, &back, &n, NULL) == TAB_OK && n == 1);
    must(tab_table_equal(back[0], t));
}

static void arrays(tab_arena *a, tab_str text)
{
    array_rows r;
    const tab_table *t;
    if (array_rows_new(a, 5, put_cell, &r, NULL) != TAB_OK)
        return;
    for (int i = 0; i < 5; i++) /* each spelling */
        if (array_rows_column(&r, TAB_S("x"), i, NULL) != TAB_OK)
            return;
    if (array_rows_read(&r, text, NULL) == TAB_OK && array_rows_finish(&r, TAB_S("t"), &t, NULL) == TAB_OK)
        holds(a, t);
}

static void big(tab_arena *a, tab_str text)
{
    session c = { .a = a, .token = "", .wanted = -1 };
    const tab_table *t;
    tab_error err = { 0 };
    if (columns(&c, text, &err) != TAB_OK || take(&c, a, text, &err) != TAB_OK)
        return;
    for (size_t k = 0; k < c.rows.cols; k++)
        tab_builder_pad(c.rows.b[k], c.rows.rows);
    if (array_rows_finish(&c.rows, TAB_S("t"), &t, NULL) == TAB_OK)
        holds(a, t);
}

static void document(tab_arena *a, tab_str bytes)
{
    tab_str d;
    tab_out o = { 0 };
    tab_error err = { 0 };
    const tab_json *x;
    if (bson_document(bytes, &d) && bson_to_json(&o, d)) {
        tab_str text = tab_arena_copy(a, tab_out_text(&o));
        if (text.p != NULL && tab_json_read(a, text, BSON_DEPTH + 2, &x, &err) == TAB_VALIDATION)
            must(strstr(err.message, "twice") != NULL || strstr(err.message, "repeated") != NULL ||
                 strstr(err.message, "key") != NULL || strstr(err.message, "than") != NULL);
    }
    tab_out_free(&o);
}

static void a_filter(tab_arena *a, tab_str text)
{
    const tab_json *f;
    const char *bad;
    bson_writer w = { 0 };
    tab_str d;
    tab_out o = { 0 };
    if (tab_json_read(a, text, 16, &f, NULL) == TAB_OK && f->kind == TAB_JSON_OBJECT &&
        bson_json(&w, NULL, f, &bad) && !w.out.failed && w.depth == 0) {
        must(bson_document(tab_out_text(&w.out), &d) && d.n == w.out.n);
        must(bson_to_json(&o, d) || o.failed);
    }
    tab_out_free(&w.out);
    tab_out_free(&o);
}

static void a_login(tab_arena *a, tab_str text)
{
    scram s;
    tab_str said;
    if (scram_first(&s, a, "u", "p", "nonce", &said, NULL) == TAB_OK) {
        /* the bound of iterations is the tests'; here each costs time */
        const char *many = memmem(text.p, text.n, "i=", 2);
        if (many == NULL || strtol(many + 2, NULL, 10) <= 5000)
            (void)!scram_last(&s, text, &said, NULL);
        (void)scram_proven(&s, text);
    }
    (void)!scram_first(&s, a, text.p, text.p, "nonce", &said, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    TAB_AUTO(tab_arena) *a = tab_arena_new(256 * size + (8 << 20));
    tab_str text = tab_arena_copy(a, (tab_str){ (const char *)data + 1, size - 1 });
    jwt_key *key;
    http_request q = { 0 };
    int64_t seconds;
    uint32_t nanos;
    if (text.p == NULL)
        return 0;
    switch (data[0] % 8) {
    case 0:
        arrays(a, text);
        break;
    case 1:
        big(a, text);
        break;
    case 2:
        document(a, text);
        break;
    case 3:
        a_filter(a, text);
        break;
    case 4:
        a_login(a, text);
        break;
    case 5:
        (void)!jwt_key_read(a, text.p, "x", &key, NULL);
        break;
    case 6:
        (void)!api_link(a, text.p, &q);
        break;
    default:
        (void)array_seconds(text, &seconds, &nanos);
    }
    return 0;
}
