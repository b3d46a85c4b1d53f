/* Whatever the bytes: reading a body neither crashes nor outgrows its arena, and a table that was
 * read, written and read again is the same table. */
#include "common/json/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_table(tab_out *o, const tab_table *t)
{
    tab_out_open(o, '{');
    tab_out_key(o, "tables");
    tab_out_open(o, '[');
    tab_out_open(o, '{');
    tab_out_key(o, "id");
    tab_out_str(o, t->id);
    tab_out_key(o, "columns");
    tab_out_open(o, '[');
    for (size_t c = 0; c < t->cols; c++)
        tab_out_str(o, t->col[c].name);
    tab_out_close(o, ']');
    tab_out_key(o, "rows");
    tab_out_open(o, '[');
    for (size_t r = 0; r < t->rows; r++) {
        tab_out_open(o, '[');
        for (size_t c = 0; c < t->cols; c++)
            tab_out_cell(o, &t->col[c], r);
        tab_out_close(o, ']');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    tab_out_bytes(o, "", 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tab_body_limits limits = TAB_BODY_LIMITS;
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    tab_arena *a = tab_arena_new(64 * size + (1 << 22)), *again = tab_arena_new(64 * size + (1 << 22));
    tab_body b, b2;
    tab_error err = { 0 };
    tab_status st = tab_body_read(a, (tab_str){ text, size }, &limits, &b, &err);
    if (st != TAB_OK && (st != err.status || err.message[0] == 0))
        abort();
    for (size_t i = 0; st == TAB_OK && i < b.n_tables; i++) {
        tab_out o = { 0 };
        write_table(&o, b.tables[i]);
        if (o.failed || tab_body_read(again, tab_out_text(&o), &limits, &b2, &err) != TAB_OK ||
            !tab_table_equal(b.tables[i], b2.tables[0]))
            abort();
        tab_out_free(&o);
    }
    tab_arena_free(a);
    tab_arena_free(again);
    free(text);
    return 0;
}
