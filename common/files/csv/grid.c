/* See grid.h. */
#include "common/files/csv/grid.h"

#include <stdlib.h>

#include "common/files/csv/top.h"
#include "common/files/csv/total.h"

typedef struct {
    uint32_t row, col;
    tab_cell x;
} early;

struct tab_grid {
    tab_arena *a;
    const tab_reading_asked *asked;
    size_t cols_most;
    uint64_t cells_most;
    early *cell; /* (n) of the first rows */
    size_t n, cap;
    bool any, decided;
    size_t base, row, col;         /* the first row with a cell; the cell before */
    size_t first;                  /* row of the first record */
    tab_str *name;                 /* (cols_most) */
    tab_str *upper[TAB_TOP_HEADS]; /* (cols_most) the header's rows above the names */
    size_t uppers;
    tab_builder **b;         /* (cols_most) */
    size_t from, cols, rows; /* columns [from, cols) */
    tab_grid_notes notes;
};

tab_grid *tab_grid_new(tab_arena *a, size_t cols, uint64_t cells, const tab_reading_asked *asked)
{
    tab_grid *g = tab_arena_new_of(a, tab_grid, 1);
    if (g == NULL)
        return NULL;
    *g = (tab_grid){ .a = a, .asked = asked, .cols_most = cols, .cells_most = cells, .from = cols };
    g->name = tab_arena_new_of(a, tab_str, cols);
    g->b = tab_arena_new_of(a, tab_builder *, cols);
    return g->name == NULL || g->b == NULL ? NULL : g;
}

/* Rows are padded up to the widest, so both count. */
static tab_status place(tab_grid *g, size_t row, size_t col, tab_error *err)
{
    if (col >= g->cols_most)
        return tab_fail(err, TAB_VALIDATION, "", "row %zu: the sheet has more than %zu columns", row + 1,
                        g->cols_most);
    g->from = col < g->from ? col : g->from;
    g->cols = col + 1 > g->cols ? col + 1 : g->cols;
    if (row - g->base >= g->cells_most / g->cols)
        return tab_fail(err, TAB_VALIDATION, "", "row %zu: the sheet has more than %llu cells", row + 1,
                        (unsigned long long)g->cells_most);
    return TAB_OK;
}

static tab_status put(tab_grid *g, size_t row, size_t col, tab_cell x, tab_error *err)
{
    size_t at = row - g->first;
    if (g->b[col] == NULL)
        g->b[col] = tab_builder_new(g->a, g->name[col].p != NULL ? g->name[col] : TAB_S(""));
    if (g->b[col] == NULL)
        return tab_no_memory(err);
    tab_builder_pad(g->b[col], at);
    tab_builder_cell(g->b[col], x);
    g->rows = at + 1 > g->rows ? at + 1 : g->rows;
    return TAB_OK;
}

static tab_str text_of(tab_cell x, char buf[32])
{
    return x.kind == TAB_CELL_NUMBER ? (tab_str){ buf, tab_number_text(x.num, buf) } : x.text;
}

/* The last line of one text among the first rows. */
static void title_of(tab_grid *g, const tab_top_record *record, size_t rows)
{
    for (size_t i = 0; i < g->n && g->cell[i].row - g->base < rows; i++)
        if (record[g->cell[i].row - g->base].filled == 1 && g->cell[i].x.kind == TAB_CELL_TEXT)
            g->notes.seen.title = g->cell[i].x.text;
}

/* Where the table begins; then what was kept goes where it belongs. */
static tab_status decide(tab_grid *g, tab_error *err)
{
    tab_top_record *record = calloc(TAB_TOP_RECORDS, sizeof *record);
    char buf[32];
    size_t records = 0;
    if (record == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < g->n; i++) {
        records = g->cell[i].row - g->base + 1;
        tab_top_cell(&record[records - 1], g->cell[i].col - g->from, text_of(g->cell[i].x, buf));
    }
    for (size_t i = 0; i < records; i++) /* as in CSV, where all lines of a sheet are of one width */
        record[i].width = g->cols - g->from;
    int64_t skip = g->asked->skip_lines;
    tab_top top = tab_top_find(record, records, skip >= 0 ? 0 : -1, g->asked->header_rows);
    g->notes = (tab_grid_notes){ .skipped = skip >= 0 ? (size_t)skip : top.skip, .header = top.heads > 0 };
    title_of(g, record, top.skip);
    free(record);
    g->first = g->base + top.skip + top.heads;
    g->decided = true;
    g->uppers = top.heads > 1 ? top.heads - 1 : 0;
    for (size_t i = 0; i < g->uppers; i++)
        if ((g->upper[i] = tab_arena_new_of(g->a, tab_str, g->cols_most)) == NULL)
            return tab_no_memory(err);
    for (size_t i = 0; i < g->n; i++) {
        const early *e = &g->cell[i];
        if (e->row >= g->first)
            TAB_TRY(put(g, e->row, e->col, e->x, err));
        else if (e->row + 1 == g->first && top.heads > 0)
            g->name[e->col] = tab_arena_copy(g->a, text_of(e->x, buf));
        else if (e->row + top.heads >= g->first)
            g->upper[e->row + top.heads - g->first][e->col] = tab_arena_copy(g->a, text_of(e->x, buf));
    }
    return TAB_OK;
}

static tab_status keep(tab_grid *g, size_t row, size_t col, tab_cell x, tab_error *err)
{
    if (g->n == g->cap) {
        size_t cap = 2 * g->cap + 256;
        early *e = tab_arena_new_of(g->a, early, cap);
        if (e == NULL)
            return tab_no_memory(err);
        if (g->n > 0)
            memcpy(e, g->cell, g->n * sizeof *e);
        g->cell = e;
        g->cap = cap;
    }
    x.text = tab_arena_copy(g->a, x.text);
    g->cell[g->n++] = (early){ (uint32_t)row, (uint32_t)col, x };
    return TAB_OK;
}

tab_status tab_grid_cell(tab_grid *g, size_t row, size_t col, tab_cell x, tab_error *err)
{
    if (g->any && (row < g->row || (row == g->row && col <= g->col)))
        return tab_fail(err, TAB_VALIDATION, "", "row %zu: the cells of the sheet are out of order", row + 1);
    if (g->asked->skip_lines >= 0 && row < (size_t)g->asked->skip_lines)
        return TAB_OK;
    if (!g->any)
        g->base = row;
    g->any = true;
    g->row = row;
    g->col = col;
    TAB_TRY(place(g, row, col, err));
    if (row - g->base < TAB_TOP_RECORDS)
        return keep(g, row, col, x, err);
    if (!g->decided)
        TAB_TRY(decide(g, err));
    return put(g, row, col, x, err);
}

/* For layout.h, of a table whose columns begin at g->from. */
static tab_status seen(tab_grid *g, size_t cols, tab_error *err)
{
    tab_layout_seen *s = &g->notes.seen;
    s->header = g->notes.header;
    tab_str *cell = g->uppers > 0 ? tab_arena_new_of(g->a, tab_str, g->uppers * cols) : NULL;
    if (cell == NULL)
        return g->uppers > 0 ? tab_no_memory(err) : TAB_OK;
    for (size_t i = 0; i < g->uppers; i++)
        for (size_t k = 0; k < cols; k++)
            if (g->upper[i][g->from + k].p != NULL)
                cell[i * cols + k] = g->upper[i][g->from + k];
    s->upper = cell;
    s->uppers = g->uppers;
    s->cols = cols;
    return TAB_OK;
}

tab_status tab_grid_table(tab_grid *g, tab_str id, const tab_table **ret, tab_grid_notes *notes,
                          tab_error *err)
{
    *ret = NULL;
    if (!g->any)
        return TAB_OK;
    if (!g->decided)
        TAB_TRY(decide(g, err));
    while (g->from + 1 < g->cols && g->b[g->from] == NULL && g->name[g->from].p == NULL)
        g->from++; /* a title alone stood there */
    size_t cols = g->cols - g->from;
    tab_table *t = tab_arena_new_of(g->a, tab_table, 1);
    tab_column *col = tab_arena_new_of(g->a, tab_column, cols);
    bool ok = t != NULL && col != NULL;
    for (size_t k = 0; k < cols && ok; k++) {
        tab_builder **b = &g->b[g->from + k];
        if (*b == NULL)
            *b = tab_builder_new(g->a, g->name[g->from + k].p != NULL ? g->name[g->from + k] : TAB_S(""));
        tab_builder_pad(*b, g->rows);
        ok = *b != NULL && tab_builder_finish(*b, &col[k]);
    }
    if (!ok)
        return tab_no_memory(err);
    *t = (tab_table){ .id = tab_arena_copy(g->a, id), .rows = g->rows, .cols = cols, .col = col };
    g->notes.total = tab_total_row_cut(t, col);
    TAB_TRY(seen(g, cols, err));
    *ret = t;
    *notes = g->notes;
    return TAB_OK;
}
