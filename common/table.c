#include "common/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- reading -------------------------------------------------------------------------------- */

tab_cell tab_cell_at(const tab_column *c, size_t row)
{
    if (c->layout == TAB_NUMBERS) {
        double x = c->num[row];
        return (tab_cell){ isnan(x) ? TAB_CELL_NULL : TAB_CELL_NUMBER, x, { NULL, 0 } };
    }
    uint32_t k = c->code[row];
    if (k == TAB_NULL)
        return (tab_cell){ TAB_CELL_NULL, (double)NAN, { NULL, 0 } };
    tab_cell cell = { (tab_cell_kind)c->kind[k], (double)NAN, tab_level(c, k) };
    if (cell.kind == TAB_CELL_NUMBER) {
        char buf[400];
        if (cell.text.n < sizeof buf) {
            memcpy(buf, cell.text.p, cell.text.n);
            buf[cell.text.n] = 0;
            cell.num = strtod(buf, NULL);
        }
    }
    return cell;
}

tab_str tab_column_address(tab_arena *a, const tab_table *t, size_t col)
{
    tab_str name = t->col[col].name;
    bool alone = name.n > 0;
    for (size_t i = 0; alone && i < t->cols; i++)
        alone = i == col || !tab_str_eq(t->col[i].name, name);
    if (alone)
        return name;
    return tab_str_of(tab_arena_printf(a, "c%zu", col));
}

static bool cell_equal(tab_cell a, tab_cell b)
{
    if (a.kind != b.kind)
        return false;
    if (a.kind == TAB_CELL_NULL)
        return true;
    if (a.kind != TAB_CELL_NUMBER || (a.text.n > 0 && b.text.n > 0))
        return tab_str_eq(a.text, b.text);
    return a.num == b.num;
}

bool tab_table_equal(const tab_table *a, const tab_table *b)
{
    if (!tab_str_eq(a->id, b->id) || a->rows != b->rows || a->cols != b->cols)
        return false;
    for (size_t c = 0; c < a->cols; c++) {
        if (!tab_str_eq(a->col[c].name, b->col[c].name))
            return false;
        for (size_t r = 0; r < a->rows; r++)
            if (!cell_equal(tab_cell_at(&a->col[c], r), tab_cell_at(&b->col[c], r)))
                return false;
    }
    return true;
}

/* ---- building ------------------------------------------------------------------------------- */

/* While only representable numbers have come, `num` grows. The first other cell turns all of them into
 * codes. The dictionary is an open-addressing hash of level indices. Scratch is malloc'ed and trimmed
 * into the arena by finish, so that growth leaves no holes in it. */
struct tab_builder {
    tab_arena *arena;
    tab_str name;
    size_t rows, cap;
    bool coded, failed;
    double *num;
    uint32_t *code;
    char *text;
    size_t text_n, text_cap;
    uint32_t *end;
    uint8_t *kind;
    size_t levels, level_cap;
    uint32_t *slot; /* level + 1, 0 empty */
    size_t slots;
};

static void scratch_free(void *p)
{
    tab_builder *b = p;
    free(b->num);
    free(b->code);
    free(b->text);
    free(b->end);
    free(b->kind);
    free(b->slot);
    b->num = NULL;
    b->code = b->end = b->slot = NULL;
    b->text = NULL;
    b->kind = NULL;
}

tab_builder *tab_builder_new(tab_arena *a, tab_str name)
{
    tab_builder *b = tab_arena_new_of(a, tab_builder, 1);
    if (b == NULL || !tab_arena_defer(a, scratch_free, b))
        return NULL;
    b->arena = a;
    b->name = name;
    return b;
}

static bool fail(tab_builder *b)
{
    b->failed = true;
    return false;
}

static bool resize(tab_builder *b, void *pp, size_t n, size_t size)
{
    void **p = pp;
    void *q = realloc(*p, n * size);
    if (q == NULL)
        return fail(b);
    *p = q;
    return true;
}

static bool room_for_row(tab_builder *b)
{
    if (b->failed)
        return false;
    if (b->rows < b->cap)
        return true;
    size_t cap = b->cap == 0 ? 64 : b->cap * 2;
    if (b->coded ? !resize(b, &b->code, cap, sizeof *b->code)
                 : !resize(b, &b->num, cap, sizeof *b->num))
        return false;
    b->cap = cap;
    return true;
}

static uint64_t hash_level(tab_str s, uint8_t kind)
{
    uint64_t h = 1469598103934665603u ^ kind;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * 1099511628211u;
    return h ^ (h >> 29);
}

static tab_str level_of(const tab_builder *b, size_t i)
{
    uint32_t from = i == 0 ? 0 : b->end[i - 1];
    return (tab_str){ b->text + from, b->end[i] - from };
}

static bool rehash(tab_builder *b)
{
    size_t slots = b->slots == 0 ? 64 : b->slots * 2;
    free(b->slot);
    b->slot = calloc(slots, sizeof *b->slot);
    if (b->slot == NULL)
        return fail(b);
    b->slots = slots;
    for (size_t i = 0; i < b->levels; i++) {
        size_t at = hash_level(level_of(b, i), b->kind[i]) & (slots - 1);
        while (b->slot[at] != 0)
            at = (at + 1) & (slots - 1);
        b->slot[at] = (uint32_t)i + 1;
    }
    return true;
}

static bool code_of(tab_builder *b, tab_str s, uint8_t kind, uint32_t *ret)
{
    if (b->levels * 2 >= b->slots && !rehash(b))
        return false;
    size_t at = hash_level(s, kind) & (b->slots - 1);
    for (; b->slot[at] != 0; at = (at + 1) & (b->slots - 1)) {
        uint32_t i = b->slot[at] - 1;
        if (b->kind[i] == kind && tab_str_eq(level_of(b, i), s)) {
            *ret = i;
            return true;
        }
    }
    if (b->levels == b->level_cap) {
        size_t cap = b->level_cap == 0 ? 32 : b->level_cap * 2;
        if (!resize(b, &b->end, cap, sizeof *b->end) || !resize(b, &b->kind, cap, 1))
            return false;
        b->level_cap = cap;
    }
    if (s.n > UINT32_MAX - 1 - b->text_n || b->levels == TAB_NULL - 1)
        return fail(b);
    if (b->text_n + s.n > b->text_cap) {
        size_t cap = b->text_cap == 0 ? 256 : b->text_cap * 2;
        while (cap < b->text_n + s.n)
            cap *= 2;
        if (!resize(b, &b->text, cap, 1))
            return false;
        b->text_cap = cap;
    }
    if (s.n > 0)
        memcpy(b->text + b->text_n, s.p, s.n);
    b->text_n += s.n;
    b->end[b->levels] = (uint32_t)b->text_n;
    b->kind[b->levels] = kind;
    b->slot[at] = (uint32_t)++b->levels;
    *ret = (uint32_t)b->levels - 1;
    return true;
}

static bool to_codes(tab_builder *b)
{
    if (b->coded)
        return true;
    if (b->cap > 0 && !resize(b, &b->code, b->cap, sizeof *b->code))
        return false;
    for (size_t r = 0; r < b->rows; r++) {
        if (isnan(b->num[r])) {
            b->code[r] = TAB_NULL;
            continue;
        }
        char buf[32];
        size_t n = tab_number_text(b->num[r], buf);
        if (!code_of(b, (tab_str){ buf, n }, TAB_CELL_NUMBER, &b->code[r]))
            return false;
    }
    free(b->num);
    b->num = NULL;
    b->coded = true;
    return true;
}

static void add_level(tab_builder *b, tab_str s, uint8_t kind)
{
    uint32_t k;
    if (b->failed || !to_codes(b) || !room_for_row(b) || !code_of(b, s, kind, &k))
        return;
    b->code[b->rows++] = k;
}

void tab_builder_null(tab_builder *b)
{
    if (b == NULL || !room_for_row(b))
        return;
    if (b->coded)
        b->code[b->rows++] = TAB_NULL;
    else
        b->num[b->rows++] = (double)NAN;
}

void tab_builder_number(tab_builder *b, double x)
{
    if (b == NULL || !room_for_row(b))
        return;
    if (b->coded) {
        char buf[32];
        size_t n = tab_number_text(x, buf);
        add_level(b, (tab_str){ buf, n }, TAB_CELL_NUMBER);
    } else {
        b->num[b->rows++] = x;
    }
}

void tab_builder_number_text(tab_builder *b, tab_str digits)
{
    if (b != NULL)
        add_level(b, digits, TAB_CELL_NUMBER);
}

void tab_builder_text(tab_builder *b, tab_str s)
{
    if (b != NULL)
        add_level(b, s, TAB_CELL_TEXT);
}

void tab_builder_bool(tab_builder *b, bool x)
{
    if (b != NULL)
        add_level(b, x ? TAB_S("true") : TAB_S("false"), TAB_CELL_BOOL);
}

size_t tab_builder_rows(const tab_builder *b)
{
    return b->rows;
}

static const void *trim(tab_arena *a, const void *p, size_t n, size_t size)
{
    void *q = tab_arena_alloc(a, n, size);
    if (q != NULL && n > 0)
        memcpy(q, p, n * size);
    return q;
}

bool tab_builder_finish(tab_builder *b, tab_column *ret)
{
    if (b == NULL)
        return false;
    if (!b->failed) {
        tab_arena *a = b->arena;
        tab_column c = { .name = b->name, .layout = b->coded ? TAB_CODED : TAB_NUMBERS };
        if (b->coded) {
            c.code = trim(a, b->code, b->rows, sizeof *b->code);
            c.text = trim(a, b->text, b->text_n, 1);
            c.end = trim(a, b->end, b->levels, sizeof *b->end);
            c.kind = trim(a, b->kind, b->levels, 1);
            c.levels = b->levels;
        } else {
            c.num = trim(a, b->num, b->rows, sizeof *b->num);
        }
        b->failed = tab_arena_full(a);
        *ret = c;
    }
    scratch_free(b);
    return !b->failed;
}
