/* See labels.h: the told rows are written behind the table's, in its own kinds of cells, and rows are
 * compared by hashes of what stands there. */
#include "services/data-connector/store/labels.h"

#include "services/data-connector/store/diff.h"

enum { NONE = UINT32_MAX };

/* A cell as a column of that kind would have it. */
static tab_cell as_kind(tab_arena *a, tab_cell x, const char *kind)
{
    char digits[32];
    double number;
    size_t n;
    if (strcmp(kind, "number") == 0 && x.kind == TAB_CELL_TEXT &&
        tab_number_read(x.text.p, x.text.p + x.text.n, &n, &number) == TAB_NUMBER_EXACT && n == x.text.n)
        return (tab_cell){ TAB_CELL_NUMBER, number, TAB_S("") };
    if (strcmp(kind, "boolean") == 0 && x.kind == TAB_CELL_TEXT &&
        (tab_str_eq(x.text, TAB_S("true")) || tab_str_eq(x.text, TAB_S("false"))))
        x.kind = TAB_CELL_BOOL;
    if (strcmp(kind, "text") == 0 && x.kind == TAB_CELL_NUMBER && x.text.n == 0)
        x.text = tab_arena_copy(a, (tab_str){ digits, tab_number_text(x.num, digits) });
    if (strcmp(kind, "text") == 0 && x.kind != TAB_CELL_NULL)
        x.kind = TAB_CELL_TEXT;
    return x;
}

/* Column c of t, then that column of told, or nulls where it has none (told->cols). */
static bool behind(tab_arena *a, const tab_table *t, size_t c, const tab_table *told, size_t of,
                   tab_column *ret)
{
    const char *kind = diff_kind(&t->col[c], t->rows);
    tab_builder *b = tab_builder_new(a, t->col[c].name);
    uint32_t *known = tab_arena_new_of(a, uint32_t, t->col[c].levels + 1);
    if (b == NULL || known == NULL)
        return false;
    tab_builder_reserve(b, t->rows + told->rows);
    for (size_t r = 0; r < t->rows; r++)
        tab_builder_copy(b, &t->col[c], r, known);
    for (size_t r = 0; of < told->cols && r < told->rows; r++)
        tab_builder_cell(b, as_kind(a, tab_cell_at(&told->col[of], r), kind));
    tab_builder_pad(b, t->rows + told->rows);
    return tab_builder_finish(b, ret);
}

static size_t column_of(tab_arena *a, const tab_table *t, tab_str address)
{
    size_t c = 0;
    while (c < t->cols && !tab_str_eq(tab_column_address(a, t, c), address))
        c++;
    return c;
}

/* Both tables as one, and which of its columns the told rows are compared by. */
typedef struct {
    tab_table all;
    size_t own, target; /* rows of the table itself */
    const tab_row_hash *hash;
    uint32_t *first, *next; /* chains of the table's rows by hash: by slot, by row */
    size_t mask;
    bool *taken;       /* (own) */
    uint32_t *becomes; /* (own) the row whose label it gets; NONE: its own */
} joined;

static tab_status join(tab_arena *a, const tab_table *t, size_t target, const tab_table *told, size_t outcome,
                       joined *j, tab_error *err)
{
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    bool *by = tab_arena_new_of(a, bool, t->cols + 1);
    if (col == NULL || by == NULL)
        return tab_no_memory(err);
    for (size_t c = 0; c < t->cols; c++) {
        size_t of = column_of(a, told, tab_column_address(a, t, c));
        if (c == target || of == outcome)
            of = c == target ? outcome : told->cols;
        by[c] = c != target && of < told->cols;
        if (!behind(a, t, c, told, of, &col[c]))
            return tab_no_memory(err);
    }
    *j = (joined){ .own = t->rows, .target = target };
    j->all = (tab_table){ .id = t->id, .rows = t->rows + told->rows, .cols = t->cols, .col = col };
    j->hash = diff_row_hashes(a, &j->all, by);
    j->taken = tab_arena_new_of(a, bool, t->rows + 1);
    j->becomes = tab_arena_new_of(a, uint32_t, t->rows + 1);
    j->next = tab_arena_new_of(a, uint32_t, t->rows + 1);
    for (j->mask = 15; j->mask < 2 * t->rows; j->mask = 2 * j->mask + 1)
        ;
    j->first = tab_arena_new_of(a, uint32_t, j->mask + 1);
    if (j->hash == NULL || tab_arena_full(a))
        return tab_no_memory(err);
    for (size_t i = 0; i <= j->mask; i++)
        j->first[i] = NONE;
    for (size_t r = t->rows; r-- > 0;) { /* so that each chain is in the order of its rows */
        uint32_t *slot = &j->first[j->hash[r].x & j->mask];
        j->next[r] = *slot;
        *slot = (uint32_t)r;
        j->becomes[r] = NONE;
    }
    return TAB_OK;
}

static bool alike(const joined *j, size_t r, size_t s)
{
    return j->hash[r].x == j->hash[s].x && j->hash[r].y == j->hash[s].y;
}

static bool same_label(const joined *j, size_t r, size_t s)
{
    const tab_column *c = &j->all.col[j->target];
    if (c->layout == TAB_NUMBERS)
        return c->num[r] == c->num[s]; // NOLINT: the very number
    return c->code[r] == c->code[s];
}

static bool labelled(const joined *j, size_t r)
{
    return tab_cell_at(&j->all.col[j->target], r).kind != TAB_CELL_NULL;
}

/* Which row of the table the told row s is, NONE: a new one. */
static uint32_t row_of(const joined *j, size_t s)
{
    uint32_t alone = NONE, same = NONE, empty = NONE;
    size_t n = 0;
    for (uint32_t r = j->first[j->hash[s].x & j->mask]; r != NONE; r = j->next[r]) {
        if (!alike(j, r, s))
            continue;
        n++;
        alone = r;
        if (j->taken[r])
            continue;
        if (!labelled(j, r))
            empty = empty == NONE ? r : empty;
        else if (same == NONE && same_label(j, r, s))
            same = r;
    }
    if (n == 1 && !j->taken[alone])
        return alone;
    return empty != NONE ? empty : same;
}

static bool write_column(tab_arena *a, const joined *j, size_t c, const uint32_t *added, size_t n,
                         tab_column *ret)
{
    const tab_column *from = &j->all.col[c];
    tab_builder *b = tab_builder_new(a, from->name);
    uint32_t *known = tab_arena_new_of(a, uint32_t, from->levels + 1);
    if (b == NULL || known == NULL)
        return false;
    tab_builder_reserve(b, j->own + n);
    for (size_t r = 0; r < j->own; r++)
        tab_builder_copy(b, from, c == j->target && j->becomes[r] != NONE ? j->becomes[r] : r, known);
    for (size_t i = 0; i < n; i++)
        tab_builder_copy(b, from, added[i], known);
    return tab_builder_finish(b, ret);
}

tab_status labels_put(tab_arena *a, const tab_table *t, size_t target, const tab_table *told, size_t outcome,
                      labels *ret, tab_error *err)
{
    joined j;
    uint32_t *added = tab_arena_new_of(a, uint32_t, told->rows + 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    tab_table *out = tab_arena_new_of(a, tab_table, 1);
    if (added == NULL || col == NULL || out == NULL)
        return tab_no_memory(err);
    TAB_TRY(join(a, t, target, told, outcome, &j, err));
    *ret = (labels){ .table = out };
    for (size_t s = j.own; s < j.all.rows; s++) {
        uint32_t r = row_of(&j, s);
        if (r == NONE) {
            added[ret->added++] = (uint32_t)s;
            continue;
        }
        j.taken[r] = true;
        if (labelled(&j, r)) {
            ret->known++;
        } else {
            j.becomes[r] = (uint32_t)s;
            ret->labelled++;
        }
    }
    for (size_t c = 0; c < t->cols; c++)
        if (!write_column(a, &j, c, added, ret->added, &col[c]))
            return tab_no_memory(err);
    *out = (tab_table){ t->id, j.own + ret->added, t->cols, col, t->file };
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}
