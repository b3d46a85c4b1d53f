/* What a plan that is read becomes for so many rows: the size of each table, the columns that are shown, the
 * rows that sums read. */
#include <assert.h>
#include <math.h>

#include "services/inference/engine/generate/plan.h"

/* "CHILD.COL" or "CHILD" of a sum: the table below whose rows hang on this one's, and its column. */
static tab_status find_below(tab_generator *g, size_t at, column *c, tab_error *err)
{
    tab_str s = c->pattern, name = plan_part(&s, '.');
    for (size_t k = 0; k < g->tables; k++) {
        const table *t = &g->table[k];
        if (!tab_str_eq(t->name, name) || t->parents == 0 || t->parent[0].way != PARENT_LINES ||
            t->parent[0].table != at)
            continue;
        c->of_parent = (int)k;
        c->of_col = plan_column(t, t->cols, s);
        if (c->of_col >= 0 || c->agg == 1)
            return TAB_OK;
    }
    return tab_fail(err, TAB_INTERNAL, "sector", "%.*s: nothing below to sum", TAB_STR(c->name));
}

static tab_status size_of(tab_generator *g, size_t at, uint64_t asked, tab_error *err)
{
    table *t = &g->table[at];
    double rows = 0;
    if (at == g->main) {
        t->rows = asked;
    } else if (t->count.n > 0) {
        tab_generate_reader r = { .g = g };
        context c = { .t = t };
        rows = rows_formula(&r, &c, &t->count, true);
        t->rows = rows < 1 ? 1 : (uint64_t)rows;
    } else if (t->parents > 0 && t->parent[0].way == PARENT_LINES) {
        const parent *p = &t->parent[0];
        uint64_t above = g->table[p->table].rows, first = 0, n = 0;
        TAB_AUTO(tab_arena) *scratch = tab_arena_new(1 << 24);
        tab_generate_reader *r = scratch == NULL ? NULL : tab_generate_reader_new(scratch, g);
        if (r == NULL)
            return tab_no_memory(err);
        rows_lines(r, at, above - 1, &first, &n);
        t->rows = first + n;
    }
    return t->rows > 0 && t->rows <= 100 * TAB_GENERATE_MOST_ROWS
               ? TAB_OK
               : tab_fail(err, TAB_INTERNAL, "sector", "table %.*s has no size", TAB_STR(t->name));
}

static tab_status show(tab_generator *g, table *t, tab_error *err)
{
    tab_generated_column *col = tab_arena_new_of(g->a, tab_generated_column, t->cols);
    tab_generated_table *s = &t->shown;
    if (col == NULL)
        return tab_no_memory(err);
    *s = (tab_generated_table){
        .name = t->name, .rows = t->rows, .col = col, .checks = t->checks, .check = t->check_text
    };
    for (size_t i = 0; i < t->cols; i++) {
        const column *c = &t->col[i];
        if (c->hidden)
            continue;
        if (c->kind == KIND_REF) {
            size_t to = t->parent[c->of_parent - 1].table;
            s->ref[s->refers++] = (struct tab_generated_reference){ s->cols, to == g->main  ? 0
                                                                             : to < g->main ? to + 1
                                                                                            : to };
        }
        assert(s->cols < TAB_GENERATE_COLS);
        t->shown_at[s->cols] = i;
        col[s->cols++] = (tab_generated_column){ c->name, c->stated };
    }
    return TAB_OK;
}

tab_status plan_finish(tab_generator *g, uint64_t rows, tab_error *err)
{
    g->rows = rows;
    for (size_t i = 0; i < g->tables; i++) {
        for (size_t k = 0; k < g->table[i].cols; k++)
            if (g->table[i].col[k].kind == KIND_AGG)
                TAB_TRY(find_below(g, i, &g->table[i].col[k], err));
        TAB_TRY(size_of(g, i, rows, err));
        TAB_TRY(show(g, &g->table[i], err));
    }
    return TAB_OK;
}
