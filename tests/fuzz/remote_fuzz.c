/* What servers answer, whatever they send: ClickHouse's binary rows, JSON of which parts are taken, a
 * SQLite database; and a caller's GraphQL document. The first byte chooses. A table that comes out can be
 * written and read again; a part of a JSON text lies within it. */
#include "services/data-connector/providers/rest.c"

#include <stdlib.h>

#include "common/table/table_wire.h"
#include "services/data-connector/providers/file_table.h"
#include "services/data-connector/providers/row_binary.h"

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

static bool within(tab_str part, tab_str all)
{
    return part.p == NULL || (part.p >= all.p && part.p + part.n <= all.p + all.n);
}

static void json(tab_arena *a, tab_str text, bool deep)
{
    tab_str span, again;
    const char *pointer;
    tab_error err = { 0 };
    if (json_rows_span(a, text, deep, &span, &pointer, &err) != TAB_OK || span.p == NULL)
        return;
    must(within(span, text));
    must(json_span(a, text, pointer, &again, &err) != TAB_OK || (again.p == span.p && again.n == span.n));
    (void)!json_span_text(a, span, &again, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const atomic_bool never;
    tab_str notes = TAB_S(""), read = TAB_S("");
    const source s = { .sheet = "",
                       .reading = "",
                       .deadline = tab_in_ms(2000),
                       .read_mib = 64,
                       .cancel = &never,
                       .notes = &notes,
                       .read = &read };
    const tab_table *t;
    tab_error err = { 0 };
    if (size == 0)
        return 0;
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 * size + (4 << 20));
    tab_str text = tab_arena_copy(a, (tab_str){ (const char *)data + 1, size - 1 });
    if (text.p == NULL)
        return 0;
    switch (data[0] % 5) {
    case 0:
        if (row_binary_read(a, text, TAB_S("t"), &t, &err) == TAB_OK)
            holds(a, t);
        break;
    case 1:
        json(a, text, data[0] > 127);
        break;
    case 2:
        (void)only_queries(text.p);
        break;
    case 3:
        (void)link_of(a, text.p);
        break;
    default:
        if (sqlite_table(&s, a, text, TAB_S("t"), &t, &err) == TAB_OK)
            holds(a, t);
    }
    return 0;
}
