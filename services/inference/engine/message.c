/* See message.h: parts of bundle messages that several steps write. All of it is copied into the arena, since
 * tables may go before the bundle does. */
#include "services/inference/engine/message.h"

/* A copy of n bytes in the arena. */
static ProtobufCBinaryData bytes(tab_arena *a, const void *p, size_t n)
{
    tab_str s = tab_arena_copy(a, (tab_str){ p, n });
    return (ProtobufCBinaryData){ .len = s.p == NULL ? 0 : s.n, .data = (uint8_t *)(uintptr_t)s.p };
}

/* Numbers travel as doubles. Coded columns travel as codes, the levels' text end to end, where each ends, and
 * each one's kind. */
Tabella__Column *tab_cells_message(tab_arena *a, const tab_column *c, size_t rows)
{
    Tabella__Column *m = tab_message(a, Tabella__Column, TABELLA__COLUMN__INIT);
    if (m == NULL)
        return NULL;
    m->name = bytes(a, c->name.p, c->name.n);
    m->coded = c->layout == TAB_CODED;
    if (!m->coded) {
        m->numbers = bytes(a, c->num, rows * sizeof *c->num);
        return m;
    }
    m->codes = bytes(a, c->code, rows * sizeof *c->code);
    m->level_text = bytes(a, c->text, c->levels > 0 ? c->end[c->levels - 1] : 0);
    m->level_end = bytes(a, c->end, c->levels * sizeof *c->end);
    m->level_kind = bytes(a, c->kind, c->levels);
    return m;
}

/* Numbers as their shortest decimal text. */
ProtobufCBinaryData tab_class_text(tab_arena *a, const Tabella__Column *classes, size_t k)
{
    if (!classes->coded) {
        /* numbers travel as doubles, which need not be aligned */
        double v;
        char buf[32];
        memcpy(&v, classes->numbers.data + k * sizeof v, sizeof v);
        return bytes(a, buf, tab_number_text(v, buf));
    }
    /* a text is the run of level_text from the end of the level before to its own */
    uint32_t code, from = 0, to;
    memcpy(&code, classes->codes.data + k * sizeof code, sizeof code);
    if (code > 0)
        memcpy(&from, classes->level_end.data + (code - 1) * sizeof from, sizeof from);
    memcpy(&to, classes->level_end.data + code * sizeof to, sizeof to);
    return bytes(a, classes->level_text.data + from, to - from);
}

/* The reference by which people and programs name a column: its numbers, and "table.column" as text. */
Tabella__ColumnRef *tab_column_ref(tab_arena *a, const tab_table *t, uint32_t table, size_t col)
{
    Tabella__ColumnRef *r = tab_message(a, Tabella__ColumnRef, TABELLA__COLUMN_REF__INIT);
    if (r == NULL)
        return NULL;
    /* the table's id, a point, and the column's name or number */
    tab_str name = tab_column_address(a, t, col);
    char *text = tab_arena_alloc(a, t->id.n + name.n + 2, 1);
    if (text == NULL)
        return NULL;
    memcpy(text, t->id.p, t->id.n);
    text[t->id.n] = '.';
    if (name.n > 0)
        memcpy(text + t->id.n + 1, name.p, name.n);
    r->table = table;
    r->column = (uint32_t)col;
    r->address = (ProtobufCBinaryData){ .len = t->id.n + 1 + name.n, .data = (uint8_t *)text };
    return r;
}
