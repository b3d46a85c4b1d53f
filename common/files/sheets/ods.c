/* See sheets.h. content.xml holds all: tables of rows of cells, equal neighbours written once with their
 * number. */
#include <stdio.h>
#include <stdlib.h>

#include "common/files/sheets/sheets.h"
#include "common/files/sheets/xml.h"

typedef struct {
    tab_arena *a;
    tab_sheet_limits most;
    tab_sheet *sheet; /* (most.sheets) */
    size_t sheets, tables, row, col;
    tab_grid *grid; /* of the table being read */
    tab_str name;
    char type[16], value[64];
    size_t rows_repeated, repeated; /* of the row, of the cell */
    bool in_cell, paragraph;
    struct {
        size_t col;
        tab_cell x;
    } * cell; /* (cells) of the row, for a row that is repeated */
    size_t cells, cap;
    bool row_hidden;
    size_t hidden; /* rows of the sheet */
    bool in_tables_style;
    tab_str style;    /* of tables, being read */
    tab_grown unseen; /* names of such styles whose tables are not displayed, each between two NUL */
} book;

static size_t count_of(const char *s)
{
    unsigned long n = strtoul(s, NULL, 10);
    return n == 0 ? 1 : n > 16777216 ? 16777216 : n;
}

/* A style of tables that are not displayed is remembered by its name. */
static void style_part(tab_xml *x, book *b, const char *name, const char **attributes)
{
    if (strcmp(name, "style") == 0) {
        b->in_tables_style = strcmp(tab_xml_attribute(attributes, "family"), "table") == 0;
        b->style = tab_arena_copy(b->a, tab_str_of(tab_xml_attribute(attributes, "name")));
        return;
    }
    bool unseen = b->in_tables_style && strcmp(tab_xml_attribute(attributes, "display"), "false") == 0;
    if (unseen && b->style.n > 0 &&
        (tab_grown_add(&b->unseen, "\0", 1, x->err) != TAB_OK ||
         tab_grown_add(&b->unseen, b->style.p, b->style.n, x->err) != TAB_OK ||
         tab_grown_add(&b->unseen, "\0", 1, x->err) != TAB_OK))
        tab_xml_fail(x, TAB_INTERNAL);
}

static bool is_unseen(const book *b, const char *style)
{
    size_t n = strlen(style) + 2; /* with the NUL on either side */
    for (size_t i = 0; n > 2 && i + n <= b->unseen.n; i++)
        if (b->unseen.p[i] == 0 && memcmp(b->unseen.p + i + 1, style, n - 1) == 0)
            return true;
    return false;
}

/* A sheet that is not displayed is not read, as in xlsx. */
static void table_start(tab_xml *x, book *b, const char **attributes)
{
    if (is_unseen(b, tab_xml_attribute(attributes, "style-name")))
        return;
    if (++b->tables > b->most.sheets) {
        tab_xml_fail(
            x, tab_fail(x->err, TAB_VALIDATION, "", "the workbook has more than %zu sheets", b->most.sheets));
        return;
    }
    b->grid = tab_grid_new(b->a, b->most.cols, b->most.cells, b->most.asked);
    b->name = tab_arena_copy(b->a, tab_str_of(tab_xml_attribute(attributes, "name")));
    b->row = b->hidden = 0;
    if (b->grid == NULL)
        tab_xml_fail(x, tab_no_memory(x->err));
}

static void on_start(tab_xml *x, const char *name, const char **attributes)
{
    book *b = x->arg;
    if (strcmp(name, "table") == 0) {
        table_start(x, b, attributes);
    } else if (strcmp(name, "style") == 0 || strcmp(name, "table-properties") == 0) {
        style_part(x, b, name, attributes);
    } else if (b->grid == NULL) {
        return;
    } else if (strcmp(name, "table-row") == 0) {
        b->rows_repeated = count_of(tab_xml_attribute(attributes, "number-rows-repeated"));
        b->col = b->cells = 0;
        const char *shown = tab_xml_attribute(attributes, "visibility");
        b->row_hidden = *shown != 0 && strcmp(shown, "visible") != 0;
    } else if (strcmp(name, "table-cell") == 0 || strcmp(name, "covered-table-cell") == 0) {
        const char *of[] = { "value", "date-value", "time-value", "boolean-value" };
        b->repeated = count_of(tab_xml_attribute(attributes, "number-columns-repeated"));
        snprintf(b->type, sizeof b->type, "%s", tab_xml_attribute(attributes, "value-type"));
        b->value[0] = 0;
        size_t rows = count_of(tab_xml_attribute(attributes, "number-rows-spanned"));
        tab_status s = tab_grid_span(b->grid, b->row, b->col, rows, x->err);
        if (s != TAB_OK)
            tab_xml_fail(x, s);
        for (size_t i = 0; i < sizeof of / sizeof *of && b->value[0] == 0; i++)
            snprintf(b->value, sizeof b->value, "%s", tab_xml_attribute(attributes, of[i]));
        b->in_cell = true;
        x->text.n = 0;
    } else if (b->in_cell && strcmp(name, "p") == 0) {
        if (x->text.n > 0 && tab_grown_add(&x->text, "\n", 1, x->err) != TAB_OK)
            tab_xml_fail(x, TAB_INTERNAL);
        x->take = true;
    } else if (b->in_cell && strcmp(name, "s") == 0 && x->take) {
        if (tab_grown_add(&x->text, " ", 1, x->err) != TAB_OK)
            tab_xml_fail(x, TAB_INTERNAL);
    } else if (b->in_cell && strcmp(name, "annotation") == 0) {
        b->in_cell = false; /* its paragraphs are a remark */
    }
}

/* The cell that was read; false where it holds nothing. */
static bool cell_of(const book *b, tab_str text, tab_cell *ret)
{
    size_t n = 0, len = strlen(b->value);
    double x;
    bool amount = strcmp(b->type, "float") == 0 || strcmp(b->type, "percentage") == 0 ||
                  strcmp(b->type, "currency") == 0;
    *ret = (tab_cell){ .kind = TAB_CELL_TEXT, .text = text };
    if (strcmp(b->type, "boolean") == 0)
        *ret = (tab_cell){ .kind = TAB_CELL_BOOL, .text = tab_str_of(*b->value == 't' ? "true" : "false") };
    else if (strcmp(b->type, "date") == 0)
        ret->text = tab_str_of(b->value);
    else if (amount && tab_number_read(b->value, b->value + len, &n, &x) != TAB_NUMBER_NONE && n == len)
        *ret = (tab_cell){ .kind = TAB_CELL_NUMBER, .num = x };
    return ret->kind != TAB_CELL_TEXT || ret->text.n > 0;
}

static tab_status keep(book *b, tab_cell x, tab_error *err)
{
    if (b->repeated > b->most.cols)
        return tab_fail(err, TAB_VALIDATION, "", "the sheet has more than %zu columns", b->most.cols);
    x.text = tab_arena_copy(b->a, x.text);
    for (size_t i = 0; i < b->repeated; i++) {
        if (b->cells == b->cap) {
            size_t cap = 2 * b->cap + 64;
            void *p = realloc(b->cell, cap * sizeof *b->cell);
            if (p == NULL)
                return tab_no_memory(err);
            b->cell = p;
            b->cap = cap;
        }
        if (b->cells == b->most.cols)
            return tab_fail(err, TAB_VALIDATION, "", "the sheet has more than %zu columns", b->most.cols);
        b->cell[b->cells].col = b->col + i;
        b->cell[b->cells++].x = x;
    }
    return TAB_OK;
}

static tab_status row_end(book *b, tab_error *err)
{
    for (size_t i = 0; i < b->rows_repeated && b->cells > 0; i++)
        for (size_t k = 0; k < b->cells; k++)
            TAB_TRY(tab_grid_cell(b->grid, b->row + i, b->cell[k].col, b->cell[k].x, err));
    b->hidden += b->row_hidden && b->cells > 0 ? b->rows_repeated : 0;
    b->row += b->rows_repeated;
    return TAB_OK;
}

static tab_status table_end(book *b, tab_error *err)
{
    tab_sheet *s = &b->sheet[b->sheets];
    s->name = b->name;
    tab_status status = tab_grid_table(b->grid, s->name, &s->table, &s->notes, err);
    s->notes.hidden = b->hidden;
    b->sheets += status == TAB_OK && s->table != NULL;
    b->grid = NULL;
    return status;
}

static void on_end(tab_xml *x, const char *name)
{
    book *b = x->arg;
    tab_status s = TAB_OK;
    tab_cell cell;
    if (strcmp(name, "p") == 0)
        x->take = false;
    if (b->grid == NULL)
        return;
    if (strcmp(name, "annotation") == 0) {
        b->in_cell = true;
    } else if (strcmp(name, "table-cell") == 0 || strcmp(name, "covered-table-cell") == 0) {
        b->in_cell = false;
        if (cell_of(b, (tab_str){ x->text.p, x->text.n }, &cell))
            s = keep(b, cell, x->err);
        b->col += b->repeated;
    } else if (strcmp(name, "table-row") == 0) {
        s = row_end(b, x->err);
    } else if (strcmp(name, "table") == 0) {
        s = table_end(b, x->err);
    }
    if (s != TAB_OK)
        tab_xml_fail(x, s);
}

tab_status tab_ods_read(tab_arena *a, const tab_zip *z, tab_sheet_limits most, tab_sheet **ret, size_t *ret_n,
                        tab_error *err)
{
    const tab_zip_entry *e = tab_zip_find(z, TAB_S("content.xml"));
    book b = { .a = a, .most = most, .sheet = tab_arena_new_of(a, tab_sheet, most.sheets) };
    tab_xml x = { .start = on_start, .end = on_end, .arg = &b };
    if (b.sheet == NULL)
        return tab_no_memory(err);
    tab_status s = e != NULL ? tab_xml_read(z, e, most.bytes, &x, err)
                             : tab_fail(err, TAB_VALIDATION, "", "the workbook lacks its content.xml");
    free(b.cell);
    free(b.unseen.p);
    if (s == TAB_OK) {
        *ret = b.sheet;
        *ret_n = b.sheets;
    }
    return s;
}
