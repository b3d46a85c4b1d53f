/* Whatever a caller names as a source, and whatever a server that claims to be PostgreSQL puts into a
 * cell: a ref that is accepted has one spelling and no secret in it, and a cell becomes a value that the
 * rest can hold. The first byte chooses; for a cell it is the type, and the reader's own file is part of
 * this one. */
#include "services/data-connector/providers/postgres.c"

#include "common/json/json.h"
#include "common/table/table_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void ref(tab_arena *a, const char *text)
{
    source_ref r, again;
    tab_error err = { 0 };
    (void)looks_secret(text);
    if (ref_parse(a, text, &r, &err) != TAB_OK) {
        must(err.message[0] != 0);
        return;
    }
    must(r.segments <= REF_SEGMENTS && strlen(r.text) <= REF_LENGTH && strchr(r.host, '@') == NULL);
    must(ref_parse(a, r.text, &again, NULL) == TAB_OK && strcmp(again.text, r.text) == 0 &&
         again.port == r.port);
}

/* A cell is null, a number as JSON has it, or a text that JSON can hold. */
static void holds(const tab_column *c, size_t row)
{
    tab_cell v = tab_cell_at(c, row);
    double x;
    size_t used;
    if (v.kind == TAB_CELL_NUMBER && v.text.n > 0)
        must(tab_number_read(v.text.p, v.text.p + v.text.n, &used, &x) != TAB_NUMBER_NONE &&
             used == v.text.n);
    if (v.kind == TAB_CELL_TEXT)
        must(tab_utf8_valid(v.text) && memchr(v.text.p, 0, v.text.n) == NULL);
}

static void cell(tab_arena *a, uint8_t type, const char *text, size_t n)
{
    static const Oid types[] = { OID_BOOL,      OID_INT4,        OID_NUMERIC, OID_FLOAT8, OID_DATE,
                                 OID_TIMESTAMP, OID_TIMESTAMPTZ, OID_BYTEA,   25,         3802 };
    tab_column col;
    tab_builder *b = tab_builder_new(a, TAB_S("x"));
    if (b == NULL)
        return;
    bool good = cell_is_text(text, n);
    add_other(b, types[type % 10], type >= 240, good, text, n);
    add_other(b, types[type % 10], false, good, text, n);
    if (!tab_builder_finish(b, &col))
        return;
    tab_table t = { .id = TAB_S("t"), .rows = 2, .cols = 1, .col = &col };
    const tab_table *one = &t, *const * back;
    tab_wire *w;
    size_t m;
    if (tab_wire_new(a, &one, 1, &w, NULL) != TAB_OK)
        return;
    char *p = tab_arena_alloc(a, tab_wire_bytes(w) + 1, 8);
    if (p == NULL)
        return;
    tab_wire_copy(w, 0, tab_wire_bytes(w), p);
    must(tab_wire_read(a, (tab_str){ p, tab_wire_bytes(w) }, &back, &m, NULL) == TAB_OK && m == 1);
    must(tab_table_equal(back[0], &t));
    for (size_t i = 0; i < 2; i++)
        holds(&col, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 * size + (1 << 20));
    tab_str text =
        tab_arena_copy(a, (tab_str){ (const char *)data + 1, size - 1 }); /* a zero behind, as libpq has it */
    if (text.p == NULL)
        return 0;
    if (data[0] < 128)
        ref(a, text.p);
    else if (text.n > 0) /* an empty value is no cell of a type: the reader takes it before */
        cell(a, data[0], text.p, text.n);
    return 0;
}
