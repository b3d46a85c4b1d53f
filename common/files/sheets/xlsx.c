/* See sheets.h. The workbook names the sheets, its relations say where each is; shared strings and styles
 * are kept, sheets are streamed cell by cell. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/sheets/number_format.h"
#include "common/files/sheets/sheets.h"
#include "common/files/sheets/xml.h"

enum { STRINGS_MOST = 1 << 24 };

typedef struct {
    tab_str name, relation, path;
    bool hidden;
} sheet_ref;

typedef struct {
    tab_arena *a;
    const tab_zip *z;
    tab_sheet_limits most;
    sheet_ref *sheet; /* (most.sheets) */
    size_t sheets;
    tab_str *text; /* (texts) shared strings */
    size_t texts, texts_cap;
    struct {
        unsigned id;
        tab_number_format kind;
    } * format; /* (formats) of the workbook's own */
    size_t formats, formats_cap;
    uint8_t *style; /* (styles) a tab_number_format by style */
    size_t styles, styles_cap;
    bool date1904, phonetic, cell_styles;
    /* the cell being read */
    tab_grid *grid;
    size_t row, col; /* of the next cell without a reference */
    size_t at_row, at_col;
    size_t hidden; /* rows of the sheet */
    char type[12];
    size_t cell_style;
    bool data, in_cell;
} book;

/* An array in the arena that doubles; its elements may move. */
static bool room(tab_arena *a, void *pp, size_t n, size_t *cap, size_t size)
{
    void **p = pp;
    if (n < *cap)
        return true;
    void *q = tab_arena_alloc(a, 2 * n + 64, size);
    if (q == NULL)
        return false;
    if (n > 0)
        memcpy(q, *p, n * size);
    *p = q;
    *cap = 2 * n + 64;
    return true;
}

static unsigned whole(const char *s)
{
    unsigned x = 0;
    for (; *s >= '0' && *s <= '9' && x < 100000000; s++)
        x = 10 * x + (unsigned)(*s - '0');
    return x;
}

static void nothing(tab_xml *x, const char *name)
{
    (void)x, (void)name;
}

/* ---- what the workbook says -------------------------------------------------------------------- */

static void workbook_start(tab_xml *x, const char *name, const char **attributes)
{
    book *b = x->arg;
    if (strcmp(name, "workbookPr") == 0) {
        const char *on = tab_xml_attribute(attributes, "date1904");
        b->date1904 = strcmp(on, "1") == 0 || strcmp(on, "true") == 0;
    }
    if (strcmp(name, "sheet") != 0)
        return;
    if (b->sheets == b->most.sheets) {
        tab_xml_fail(
            x, tab_fail(x->err, TAB_VALIDATION, "", "the workbook has more than %zu sheets", b->most.sheets));
        return;
    }
    sheet_ref *s = &b->sheet[b->sheets++];
    s->name = tab_arena_copy(b->a, tab_str_of(tab_xml_attribute(attributes, "name")));
    /* "id" of the relations' name space; sheetId is another */
    s->relation = tab_arena_copy(b->a, tab_str_of(tab_xml_attribute(attributes, "id")));
    const char *state = tab_xml_attribute(attributes, "state");
    s->hidden = *state != 0 && strcmp(state, "visible") != 0;
}

static void relation_start(tab_xml *x, const char *name, const char **attributes)
{
    book *b = x->arg;
    char path[512];
    tab_str id = tab_str_of(tab_xml_attribute(attributes, "Id"));
    const char *target = tab_xml_attribute(attributes, "Target");
    if (strcmp(name, "Relationship") != 0)
        return;
    int n = *target == '/' ? snprintf(path, sizeof path, "%s", target + 1)
                           : snprintf(path, sizeof path, "xl/%s", target);
    for (size_t i = 0; i < b->sheets && n > 0 && (size_t)n < sizeof path; i++)
        if (tab_str_eq(b->sheet[i].relation, id))
            b->sheet[i].path = tab_arena_copy(b->a, tab_str_of(path));
}

static void strings_start(tab_xml *x, const char *name, const char **attributes)
{
    (void)attributes;
    book *b = x->arg;
    b->phonetic |= strcmp(name, "rPh") == 0;
    x->take = strcmp(name, "t") == 0 && !b->phonetic;
}

static void strings_end(tab_xml *x, const char *name)
{
    book *b = x->arg;
    x->take = false;
    if (strcmp(name, "rPh") == 0)
        b->phonetic = false;
    if (strcmp(name, "si") != 0)
        return;
    if (b->texts == STRINGS_MOST) {
        tab_xml_fail(x, tab_fail(x->err, TAB_VALIDATION, "", "the workbook has more than %d shared texts",
                                 STRINGS_MOST));
        return;
    }
    if (!room(b->a, &b->text, b->texts, &b->texts_cap, sizeof *b->text)) {
        tab_xml_fail(x, tab_no_memory(x->err));
        return;
    }
    b->text[b->texts++] = tab_arena_copy(b->a, (tab_str){ x->text.p, x->text.n });
    x->text.n = 0;
}

static void styles_start(tab_xml *x, const char *name, const char **attributes)
{
    book *b = x->arg;
    unsigned id = whole(tab_xml_attribute(attributes, "numFmtId"));
    bool ok = true;
    if (strcmp(name, "cellXfs") == 0) {
        b->cell_styles = true;
    } else if (strcmp(name, "numFmt") == 0) {
        ok = room(b->a, &b->format, b->formats, &b->formats_cap, sizeof *b->format);
        if (ok) {
            b->format[b->formats].id = id;
            b->format[b->formats++].kind = tab_number_format_of(tab_xml_attribute(attributes, "formatCode"));
        }
    } else if (strcmp(name, "xf") == 0 && b->cell_styles) {
        tab_number_format kind = tab_number_format_builtin(id);
        for (size_t i = 0; i < b->formats; i++)
            if (b->format[i].id == id)
                kind = b->format[i].kind;
        ok = room(b->a, &b->style, b->styles, &b->styles_cap, sizeof *b->style);
        if (ok)
            b->style[b->styles++] = (uint8_t)kind;
    }
    if (!ok)
        tab_xml_fail(x, tab_no_memory(x->err));
}

static void styles_end(tab_xml *x, const char *name)
{
    book *b = x->arg;
    if (strcmp(name, "cellXfs") == 0)
        b->cell_styles = false;
}

/* ---- a sheet ----------------------------------------------------------------------------------- */

/* "BC12": column 54, row 11; a missing reference is the next cell's. */
static bool position(const char *ref, size_t *row, size_t *col)
{
    size_t c = 0, r = 0;
    if (*ref == 0)
        return true;
    for (; *ref >= 'A' && *ref <= 'Z' && c < 100000; ref++)
        c = 26 * c + (size_t)(*ref - 'A' + 1);
    r = whole(ref);
    *row = r - 1;
    *col = c - 1;
    return c > 0 && c <= 16384 && r > 0 && r <= 16777216;
}

/* "A2:A5": one cell in the place of all. What is no such range is none. */
static void merge(tab_xml *x, const char *ref)
{
    book *b = x->arg;
    size_t row, col, last_row, last_col;
    const char *last = strchr(ref, ':');
    if (last == NULL || !position(ref, &row, &col) || !position(last + 1, &last_row, &last_col) ||
        last[1] == 0 || last == ref || last_row <= row)
        return;
    tab_status s = tab_grid_span(b->grid, row, col, last_row - row + 1, x->err);
    if (s != TAB_OK)
        tab_xml_fail(x, s);
}

static void sheet_start(tab_xml *x, const char *name, const char **attributes)
{
    book *b = x->arg;
    if (strcmp(name, "sheetData") == 0) {
        b->data = true;
    } else if (strcmp(name, "mergeCell") == 0) {
        merge(x, tab_xml_attribute(attributes, "ref"));
    } else if (!b->data) {
        return;
    } else if (strcmp(name, "row") == 0) {
        unsigned r = whole(tab_xml_attribute(attributes, "r"));
        b->row = r > 0 ? r - 1 : b->row;
        const char *hidden = tab_xml_attribute(attributes, "hidden");
        b->hidden += strcmp(hidden, "1") == 0 || strcmp(hidden, "true") == 0;
        b->col = 0;
    } else if (strcmp(name, "c") == 0) {
        b->at_row = b->row;
        b->at_col = b->col;
        if (!position(tab_xml_attribute(attributes, "r"), &b->at_row, &b->at_col))
            tab_xml_fail(x, tab_fail(x->err, TAB_VALIDATION, "", "a cell reference is invalid"));
        snprintf(b->type, sizeof b->type, "%s", tab_xml_attribute(attributes, "t"));
        b->cell_style = whole(tab_xml_attribute(attributes, "s"));
        b->in_cell = true;
        x->text.n = 0;
    } else if (b->in_cell) {
        b->phonetic |= strcmp(name, "rPh") == 0;
        x->take = strcmp(name, "v") == 0 || (strcmp(name, "t") == 0 && !b->phonetic);
    }
}

/* The cell that was read; false where it holds nothing. */
static bool cell_of(const book *b, tab_str s, char buf[40], tab_cell *ret)
{
    double x;
    size_t n = 0;
    *ret = (tab_cell){ .kind = TAB_CELL_TEXT, .text = s };
    if (strcmp(b->type, "s") == 0) {
        size_t i = s.n > 0 && s.n < 10 ? whole(s.p) : SIZE_MAX;
        ret->text = i < b->texts ? b->text[i] : TAB_S("");
    } else if (strcmp(b->type, "b") == 0) {
        *ret = (tab_cell){ .kind = TAB_CELL_BOOL,
                           .text = s.n == 1 && *s.p == '1' ? TAB_S("true") : TAB_S("false") };
    } else if ((b->type[0] == 0 || strcmp(b->type, "n") == 0) && s.n > 0) {
        tab_number_kind kind = tab_number_read(s.p, s.p + s.n, &n, &x);
        if (n != s.n || (kind != TAB_NUMBER_EXACT && kind != TAB_NUMBER_DIGITS))
            return true;
        tab_number_format format = b->cell_style < b->styles ? b->style[b->cell_style] : TAB_FORMAT_NUMBER;
        size_t date = tab_number_format_text(format, x, b->date1904, buf);
        if (date > 0)
            ret->text = (tab_str){ buf, date };
        else
            *ret = (tab_cell){ .kind = TAB_CELL_NUMBER, .num = x };
    }
    return ret->kind != TAB_CELL_TEXT || ret->text.n > 0;
}

static void sheet_end(tab_xml *x, const char *name)
{
    book *b = x->arg;
    char buf[40];
    tab_cell cell;
    x->take = false;
    if (strcmp(name, "sheetData") == 0)
        b->data = false;
    if (strcmp(name, "rPh") == 0)
        b->phonetic = false;
    if (!b->data)
        return;
    if (strcmp(name, "row") == 0)
        b->row++;
    if (strcmp(name, "c") != 0 || !b->in_cell)
        return;
    b->in_cell = false;
    b->col = b->at_col + 1;
    if (!cell_of(b, (tab_str){ x->text.p, x->text.n }, buf, &cell))
        return;
    tab_status s = tab_grid_cell(b->grid, b->at_row, b->at_col, cell, x->err);
    if (s != TAB_OK)
        tab_xml_fail(x, s);
}

/* ---- the book ------------------------------------------------------------------------------------ */

typedef void (*start_fn)(tab_xml *x, const char *name, const char **attributes);
typedef void (*end_fn)(tab_xml *x, const char *name);

/* A part that may be absent where it is not required. */
static tab_status part(book *b, tab_str path, bool required, start_fn start, end_fn end, tab_error *err)
{
    const tab_zip_entry *e = tab_zip_find(b->z, path);
    if (e == NULL && required)
        return tab_fail(err, TAB_VALIDATION, "", "the workbook lacks its part %.*s", TAB_STR(path));
    tab_xml x = { .start = start, .end = end, .arg = b };
    return e == NULL ? TAB_OK : tab_xml_read(b->z, e, b->most.bytes, &x, err);
}

tab_status tab_xlsx_read(tab_arena *a, const tab_zip *z, tab_sheet_limits most, tab_sheet **ret,
                         size_t *ret_n, tab_error *err)
{
    book b = { .a = a, .z = z, .most = most, .sheet = tab_arena_new_of(a, sheet_ref, most.sheets) };
    tab_sheet *sheet = tab_arena_new_of(a, tab_sheet, most.sheets);
    size_t n = 0;
    if (b.sheet == NULL || sheet == NULL)
        return tab_no_memory(err);
    TAB_TRY(part(&b, TAB_S("xl/workbook.xml"), true, workbook_start, nothing, err));
    TAB_TRY(part(&b, TAB_S("xl/_rels/workbook.xml.rels"), true, relation_start, nothing, err));
    TAB_TRY(part(&b, TAB_S("xl/styles.xml"), false, styles_start, styles_end, err));
    TAB_TRY(part(&b, TAB_S("xl/sharedStrings.xml"), false, strings_start, strings_end, err));
    for (size_t i = 0; i < b.sheets; i++) {
        if (b.sheet[i].hidden || b.sheet[i].path.n == 0)
            continue;
        b.row = b.col = b.hidden = 0;
        b.data = b.in_cell = b.phonetic = false;
        b.grid = tab_grid_new(a, most.cols, most.cells, most.asked);
        if (b.grid == NULL)
            return tab_no_memory(err);
        TAB_TRY(part(&b, b.sheet[i].path, true, sheet_start, sheet_end, err));
        sheet[n].name = b.sheet[i].name;
        TAB_TRY(tab_grid_table(b.grid, sheet[n].name, &sheet[n].table, &sheet[n].notes, err));
        sheet[n].notes.hidden = b.hidden;
        n += sheet[n].table != NULL;
    }
    *ret = sheet;
    *ret_n = n;
    return TAB_OK;
}
