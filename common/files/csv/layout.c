/* See layout.h. */
#include "common/files/csv/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "common/files/csv/group.h"
#include "common/files/csv/top.h"
#include "common/files/csv/total.h"

enum { BLOCKS = 128, LOOKED = 64, WORDS_NOTE = 4 };

typedef struct {
    size_t from, to;    /* rows */
    size_t head, heads; /* its header begins at this row; 0 heads: it is the whole table's */
    tab_str title;      /* "" */
    size_t notes, repeated, totals, labels;
    uint32_t *label; /* (rows) the row that holds a row's label; labels > 0 */
} band;

typedef struct {
    tab_arena *a;
    const tab_table *t;
    const tab_layout_seen *seen;
    uint8_t *drop; /* (rows) what is no row of any part */
    band *band;    /* (TAB_LAYOUT_PARTS) */
    size_t bands;
    tab_layout_part *part; /* (TAB_LAYOUT_PARTS) */
    size_t parts;
    tab_error *err;
} layout;

/* ---- cells --------------------------------------------------------------------------------------- */

static bool is_null(const tab_column *c, size_t row)
{
    return c->layout == TAB_NUMBERS ? c->num[row] != c->num[row] : c->code[row] == TAB_NULL;
}

/* A cell's text; numbers have none. */
static tab_str text_at(const tab_table *t, size_t row, size_t col)
{
    tab_cell x = tab_cell_at(&t->col[col], row);
    return x.kind == TAB_CELL_TEXT ? x.text : TAB_S("");
}

static tab_top_kind kind_at(const tab_table *t, size_t row, size_t col)
{
    tab_cell x = tab_cell_at(&t->col[col], row);
    switch (x.kind) {
    case TAB_CELL_NULL:
        return TAB_TOP_EMPTY;
    case TAB_CELL_TEXT:
        return tab_top_kind_of(x.text);
    default:
        return TAB_TOP_VALUE;
    }
}

static size_t filled(const tab_table *t, size_t row, size_t *ret_first)
{
    size_t n = 0;
    for (size_t k = t->cols; k-- > 0;)
        if (!is_null(&t->col[k], row)) {
            n++;
            *ret_first = k;
        }
    return n;
}

static bool is_empty(const tab_table *t, size_t row)
{
    for (size_t k = 0; k < t->cols; k++)
        if (!is_null(&t->col[k], row))
            return false;
    return true;
}

static tab_str line_of(const tab_table *t, size_t row)
{
    size_t first = 0;
    return filled(t, row, &first) > 0 ? text_at(t, row, first) : TAB_S("");
}

static size_t words(tab_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] != ' ' && (i == 0 || s.p[i - 1] == ' ');
    return n;
}

/* What a line begins with that says where a table comes from or what its signs mean. */
static bool is_marked(tab_str s)
{
    static const char *const begin[] = { "source", "note",  "quelle", "anmerkung", "hinweis", "stand",
                                         "fuente", "nota",  "fonte",  "bron",      "remark",  "footnote",
                                         "legend", "as of", "data",   "prepared",  "report",  "printed" };
    enum { COLON_WITHIN = 24 };
    if (s.n > 2 && (s.p[0] == '*' || strncmp(s.p, "\u00a9", 2) == 0 || strncasecmp(s.p, "(c)", 3) == 0))
        return true;
    if (memchr(s.p, ':', s.n < COLON_WITHIN ? s.n : COLON_WITHIN) == NULL)
        return false;
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (s.n > strlen(begin[i]) && strncasecmp(s.p, begin[i], strlen(begin[i])) == 0)
            return true;
    return false;
}

/* A sign that a legend explains: no letter, no digit. */
static bool is_sign(tab_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] | 32) >= 'a' || (s.p[i] >= '0' && s.p[i] <= '9'))
            return false;
    return s.n > 0 && s.n <= 3;
}

/* Does the row hold nothing but one text? One that says where it belongs may have been cut at its commas. */
static bool is_line(const tab_table *t, size_t row)
{
    size_t first = 0, n = filled(t, row, &first);
    if (n == 0 || (kind_at(t, row, first) != TAB_TOP_TEXT && !is_sign(text_at(t, row, first))))
        return false;
    if (n == 1)
        return true;
    if (n == 2 && t->cols > 3 && is_sign(text_at(t, row, 0)) && text_at(t, row, 1).n > 0)
        return true; /* ": | not available" */
    for (size_t k = 0; k < n; k++)
        if (kind_at(t, row, k) != TAB_TOP_TEXT)
            return false;
    return n < t->cols && is_marked(text_at(t, row, 0));
}

/* Such a line, or a sentence. */
static bool is_note(tab_str s)
{
    return is_marked(s) || is_sign(s) || words(s) >= WORDS_NOTE;
}

/* ---- bands: what stands one above the other -------------------------------------------------------- */

typedef struct {
    size_t from, to;
} rows;

/* Do the row's texts stand as the names of the band's columns? */
static bool names_again(const layout *l, const band *b, size_t row)
{
    size_t same = 0;
    for (size_t k = 0; k < l->t->cols; k++) {
        tab_str name = b->heads > 0 ? text_at(l->t, b->head + b->heads - 1, k) : l->t->col[k].name;
        tab_str s = text_at(l->t, row, k);
        if (!tab_str_eq(name, s))
            return false;
        same += s.n > 0;
    }
    return same >= 2;
}

/* Does the row hold one cell, the first, right above the names of the whole table again? A title may be a
 * year, and need no gap there. */
static bool is_title_above_names(const layout *l, size_t row)
{
    static const band whole;
    size_t first = 0;
    return row + 1 < l->t->rows && names_again(l, &whole, row + 1) && filled(l->t, row, &first) == 1 &&
           first == 0;
}

static bool is_above(const layout *l, size_t row)
{
    return is_line(l->t, row) || is_title_above_names(l, row);
}

/* Runs of rows that a gap parts, or such a title; 0 where there are too many to be a report's parts. */
static size_t blocks_of(const layout *l, rows *ret)
{
    size_t n = 0, g = 0;
    bool open = false;
    for (size_t i = 0; i < l->t->rows; i++) {
        bool gap = false;
        while (g < l->seen->gaps && l->seen->gap[g] <= i)
            gap |= l->seen->gap[g++] == i;
        if (is_empty(l->t, i)) {
            open = false;
            continue;
        }
        if (!open || gap || is_title_above_names(l, i)) {
            if (n == BLOCKS)
                return 0;
            ret[n++] = (rows){ i, i };
        }
        ret[n - 1].to = i + 1;
        open = true;
    }
    return n;
}

/* Columns whose cells in [from, to) are values. */
static bool holds_values(const tab_table *t, size_t from, size_t to, size_t col, size_t *ret_filled)
{
    size_t n = 0, value = 0;
    for (size_t i = from; i < to && i < from + LOOKED; i++) {
        tab_top_kind kind = kind_at(t, i, col);
        n += kind != TAB_TOP_EMPTY;
        value += kind == TAB_TOP_VALUE;
    }
    *ret_filled = n;
    return n > 0 && value * 10 >= n * 9;
}

/* Is every filled cell of a row a text, at least two, no two of them the same? */
static bool all_names(const tab_table *t, size_t row)
{
    size_t n = 0;
    for (size_t k = 0; k < t->cols; k++) {
        tab_str s = text_at(t, row, k);
        if (is_null(&t->col[k], row))
            continue;
        if (kind_at(t, row, k) != TAB_TOP_TEXT)
            return false;
        for (size_t i = 0; i < k; i++)
            if (tab_str_eq(text_at(t, row, i), s))
                return false;
        n++;
    }
    return n >= 2;
}

/* The columns of values in [row + 1, to) that the row names; 0: it is no such header. */
static size_t values_named(const tab_table *t, size_t row, size_t to)
{
    size_t over = 0, n;
    for (size_t k = 0; k < t->cols; k++) {
        if (!holds_values(t, row + 1, to, k, &n))
            continue;
        if (kind_at(t, row, k) != TAB_TOP_TEXT)
            return 0;
        over++;
    }
    return over;
}

/* Does the header fill its own block, and other columns than the band's? */
static bool other_width(const layout *l, const band *b, size_t row, size_t to)
{
    size_t own = 0, theirs = 0, body = 0, first;
    own = filled(l->t, row, &first);
    for (size_t i = row + 1; i < to && i < row + LOOKED; i++)
        body = filled(l->t, i, &first) > body ? filled(l->t, i, &first) : body;
    for (size_t i = b->from; i < b->to && i < b->from + LOOKED; i++)
        theirs = filled(l->t, i, &first) > theirs ? filled(l->t, i, &first) : theirs;
    return own == body && own != theirs;
}

typedef enum { GOES_ON, AGAIN, ANOTHER } verdict;

/* A line that counts pages, or the title again: what a print has on each page. */
static bool turns_page(tab_str line, tab_str title)
{
    static const char *const begin[] = { "page ", "seite ", "blatt ", "pagina ", "p\u00e1gina ", "strona " };
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (line.n > strlen(begin[i]) && strncasecmp(line.p, begin[i], strlen(begin[i])) == 0)
            return true;
    return line.n > 0 && tab_str_eq(line, title);
}

/* What a block is whose lines of one text end at row h. */
static verdict judge(const layout *l, const band *b, size_t h, size_t to, bool titled)
{
    enum { BODY_LEAST = 2 };
    if (h + 1 + BODY_LEAST > to || !all_names(l->t, h))
        return GOES_ON;
    if (titled && turns_page(line_of(l->t, h - 1), b->title) && names_again(l, b, h))
        return AGAIN;
    if (names_again(l, b, h))
        return titled ? ANOTHER : AGAIN;
    if (values_named(l->t, h, to) > 0)
        return ANOTHER;
    return titled && other_width(l, b, h, to) ? ANOTHER : GOES_ON;
}

static void drop(layout *l, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        l->drop[i] = 1;
}

/* The header of a block at row h: a second row of names may stand below the first. */
static size_t heads_at(const tab_table *t, size_t h, size_t to)
{
    return h + 5 < to && values_named(t, h + 1, to) >= 2 ? 2 : 1;
}

/* From `words` to the block's header at h are lines, of which the last names the table. */
static void begin_band(layout *l, size_t lines, size_t h, rows block)
{
    size_t heads = heads_at(l->t, h, block.to);
    drop(l, lines, h + heads);
    tab_str title = TAB_S("");
    for (size_t i = lines; i < h; i++)
        if (is_above(l, i))
            title = line_of(l->t, i);
    l->band[l->bands++] =
        (band){ .from = h + heads, .to = block.to, .head = h, .heads = heads, .title = title };
}

/* Does a marked line stand where no row of the band holds one, nor one text alone? */
static bool is_alone(const layout *l, const band *b, size_t row)
{
    size_t first = 0;
    if (!is_line(l->t, row) || filled(l->t, row, &first) == 0 || first != 0 || !is_marked(line_of(l->t, row)))
        return false;
    for (size_t i = b->from; i < row && i < b->from + LOOKED; i++)
        if (is_marked(text_at(l->t, i, 0)) && !is_line(l->t, i))
            return false;
    return true;
}

/* Notes at the end of a band: the lines behind a gap, and in a table of three columns marked ones. */
static void cut_notes(layout *l, band *b, size_t lines)
{
    size_t end = b->to;
    for (size_t i = lines; i < l->t->rows && lines > b->from && i < b[1].from; i++)
        b->notes += !is_empty(l->t, i);
    drop(l, lines, b[1].from);
    for (; end > b->from + 2 && l->t->cols > 2; end--) {
        if (is_empty(l->t, end - 1))
            continue;
        if (!is_alone(l, b, end - 1))
            break;
        b->notes++;
        l->drop[end - 1] = 1;
    }
    while (end > b->from && is_empty(l->t, end - 1))
        end--;
    b->to = b->notes > 0 ? end : b->to;
}

/* Texts alone do not make a note where the column holds such texts: a list of them is a table. */
static bool lines_are_notes(const layout *l, const band *b, size_t from, size_t to)
{
    size_t first;
    if (from >= to || b->to < b->from + 2 || l->t->cols < 2)
        return false;
    for (size_t i = b->from; i < b->to && i < b->from + LOOKED; i++)
        if (!l->drop[i] && filled(l->t, i, &first) == 1)
            return false;
    bool note = false; /* then what stands beside it needs to be none */
    for (size_t i = from; i < to; i++)
        note |= !is_empty(l->t, i) && is_note(line_of(l->t, i));
    for (size_t i = from; i < to && !note; i++)
        if (!is_empty(l->t, i) && words(line_of(l->t, i)) < 2)
            return false;
    return true;
}

/* Rows amid a band that are none: its header again, as on each page of a print, and totals of groups. */
static void leave_out(layout *l, band *b)
{
    size_t own = 0;
    for (size_t i = b->from; i < b->to; i++)
        own += !l->drop[i] && !names_again(l, b, i);
    for (size_t i = b->from; i < b->to && own > 0; i++)
        if (!l->drop[i] && names_again(l, b, i)) {
            l->drop[i] = 1;
            b->repeated++;
        }
    b->totals = tab_group_totals(l->a, l->t, b->from, b->to, l->drop);
    b->labels = tab_group_labels(l->a, l->t, b->from, b->to, l->drop, &b->label);
}

static void bands_of(layout *l, const rows *block, size_t n)
{
    size_t lines = SIZE_MAX; /* the first of the lines that wait for what they belong to */
    l->band[0] = (band){ .from = 0, .to = block[0].to, .title = l->seen->title };
    l->bands = 1;
    for (size_t j = 1; j < n; j++) {
        band *b = &l->band[l->bands - 1];
        size_t h = block[j].from;
        while (h < block[j].to && is_above(l, h))
            h++;
        if (h > block[j].from && lines == SIZE_MAX)
            lines = block[j].from;
        if (h == block[j].to)
            continue; /* lines alone */
        size_t from = lines == SIZE_MAX ? h : lines;
        verdict v = l->bands + 1 < TAB_LAYOUT_PARTS ? judge(l, b, h, block[j].to, from < h) : GOES_ON;
        if (v == ANOTHER) {
            begin_band(l, from, h, block[j]);
        } else {
            if (v == AGAIN)
                drop(l, from, h + 1);
            b->repeated += v == AGAIN;
            b->to = block[j].to;
        }
        lines = SIZE_MAX;
    }
    l->band[l->bands] = (band){ .from = l->t->rows }; /* a guard */
    for (size_t i = 0; i < l->bands; i++) {
        bool last = i + 1 == l->bands;
        size_t to = l->t->rows;
        bool notes = last && lines != SIZE_MAX && lines_are_notes(l, &l->band[i], lines, to);
        if (last && !notes)
            l->band[i].to = to;
        size_t next = last ? to : l->band[i + 1].from;
        cut_notes(l, &l->band[i], notes ? lines : next);
        leave_out(l, &l->band[i]);
    }
}

/* ---- parts: what stands side by side --------------------------------------------------------------- */

typedef struct {
    size_t left, right, end; /* columns; behind the last row that holds something */
} strip;

static tab_str head_cell(const layout *l, const band *b, size_t head, size_t col)
{
    if (b->heads > 0)
        return text_at(l->t, b->head + head, col);
    if (head == l->seen->uppers)
        return l->t->col[col].name;
    return col < l->seen->cols ? l->seen->upper[head * l->seen->cols + col] : TAB_S("");
}

static size_t heads_of(const layout *l, const band *b)
{
    return b->heads > 0 ? b->heads : l->seen->uppers + 1;
}

static bool column_empty(const layout *l, const band *b, size_t col)
{
    for (size_t i = 0; i < heads_of(l, b); i++)
        if (head_cell(l, b, i, col).n > 0)
            return false;
    for (size_t i = b->from; i < b->to; i++)
        if (!l->drop[i] && !is_null(&l->t->col[col], i))
            return false;
    return true;
}

static size_t last_row(const layout *l, const band *b, size_t left, size_t right)
{
    for (size_t i = b->to; i > b->from; i--)
        for (size_t k = left; k < right && !l->drop[i - 1]; k++)
            if (!is_null(&l->t->col[k], i - 1))
                return i;
    return b->from;
}

/* A strip's cells above its last row are there, and so are its names. */
static bool is_dense(const layout *l, const band *b, const strip *s)
{
    size_t there = 0, all = 0;
    for (size_t k = s->left; k < s->right; k++) {
        if (head_cell(l, b, heads_of(l, b) - 1, k).n == 0)
            return false;
        for (size_t i = b->from; i < s->end; i++)
            if (!l->drop[i]) {
                all++;
                there += !is_null(&l->t->col[k], i);
            }
    }
    return s->right - s->left >= 2 && all > 0 && there * 10 >= all * 9;
}

/* The one cell of the header's first row that a strip has, above its first column. */
static tab_str strip_title(const layout *l, const band *b, const strip *s)
{
    tab_str title = TAB_S("");
    if (heads_of(l, b) < 2)
        return title;
    for (size_t k = s->left; k < s->right; k++) {
        tab_str x = head_cell(l, b, 0, k);
        if (x.n > 0 && k > s->left)
            return TAB_S("");
        title = k == s->left ? x : title;
    }
    return title;
}

static bool shares_name(const layout *l, const band *b, const strip *x, const strip *y)
{
    size_t last = heads_of(l, b) - 1;
    for (size_t i = x->left; i < x->right; i++)
        for (size_t k = y->left; k < y->right; k++) {
            tab_str s = head_cell(l, b, last, i);
            if (s.n > 0 && tab_str_eq(s, head_cell(l, b, last, k)))
                return true;
        }
    return false;
}

/* Does a strip begin with a column of texts of which none is missing and none stands twice, as names of
 * things do? */
static bool has_own_names(const layout *l, const band *b, const strip *s)
{
    enum { ROWS_LEAST = 4 };
    const tab_column *c = &l->t->col[s->left];
    size_t n = 0;
    if (c->layout != TAB_CODED)
        return false;
    uint8_t *met = tab_arena_alloc(l->a, c->levels + 1, 1);
    for (size_t i = b->from; i < s->end && met != NULL; i++) {
        if (l->drop[i])
            continue;
        if (c->code[i] == TAB_NULL || met[c->code[i]] || kind_at(l->t, i, s->left) != TAB_TOP_TEXT)
            return false;
        met[c->code[i]] = 1;
        n++;
    }
    return n >= ROWS_LEAST;
}

/* Strips that are tables of their own; else one, as wide as the band. */
static size_t strips_of(const layout *l, const band *b, strip *ret, bool *ret_titled)
{
    size_t n = 0, cols = l->t->cols;
    bool titled = true, dense = true, apart = false, named = true;
    for (size_t k = 0; k < cols && n < TAB_LAYOUT_PARTS; k++) {
        size_t left = k;
        while (k < cols && !column_empty(l, b, k))
            k++;
        if (k > left)
            ret[n++] = (strip){ left, k, last_row(l, b, left, k) };
    }
    for (size_t i = 0; i < n; i++) {
        titled = titled && strip_title(l, b, &ret[i]).n > 0;
        dense = dense && is_dense(l, b, &ret[i]);
        named = named && has_own_names(l, b, &ret[i]);
        apart = apart || (i > 0 && (ret[i].end != ret[i - 1].end || shares_name(l, b, &ret[i - 1], &ret[i])));
    }
    *ret_titled = n > 1 && titled && dense;
    if (n > 1 && dense && (titled || apart || named))
        return n;
    bool whole = n == 0 || l->bands == 1;
    ret[0] = (strip){ whole ? 0 : ret[0].left, whole ? cols : ret[n - 1].right, b->to };
    return 1;
}

/* ---- what they become ------------------------------------------------------------------------------ */

/* The rows of a header together; a cell of an upper row counts for those on its right that have none. */
static tab_str joined(layout *l, const band *b, const strip *s, size_t col, size_t from)
{
    char text[512];
    size_t n = 0, heads = heads_of(l, b);
    tab_str own = head_cell(l, b, heads - 1, col), before = TAB_S("");
    if (from + 1 == heads)
        return own;
    for (size_t i = from; i < heads; i++) {
        tab_str x = head_cell(l, b, i, col);
        for (size_t k = col; x.n == 0 && own.n > 0 && i + 1 < heads && k-- > s->left;)
            x = head_cell(l, b, i, k);
        if (x.n == 0 || tab_str_eq(x, before) || n + x.n + 1 > sizeof text)
            continue;
        if (n > 0)
            text[n++] = ' ';
        memcpy(text + n, x.p, x.n);
        n += x.n;
        before = x;
    }
    return tab_arena_copy(l->a, (tab_str){ text, n });
}

static bool number(tab_str s, double *ret)
{
    size_t n = 0;
    return s.n > 0 && tab_number_read(s.p, s.p + s.n, &n, ret) == TAB_NUMBER_EXACT && n == s.n;
}

/* Are the cells that are left all numbers, which were texts beside others' names? */
static bool all_numbers(const layout *l, const tab_column *c, size_t from, size_t to)
{
    size_t n = 0;
    double x;
    for (size_t i = from; i < to; i++) {
        tab_cell cell = tab_cell_at(c, i);
        if (l->drop[i] || cell.kind == TAB_CELL_NULL)
            continue;
        if (cell.kind == TAB_CELL_BOOL || (cell.kind == TAB_CELL_TEXT && !l->seen->texts) ||
            !(c->layout == TAB_NUMBERS || number(cell.text, &x)))
            return false;
        n++;
    }
    return n > 0 || l->seen->texts;
}

static bool copy_column(layout *l, const tab_column *c, size_t from, size_t to, tab_str name, tab_column *ret)
{
    tab_builder *b = tab_builder_new(l->a, name);
    bool numbers = all_numbers(l, c, from, to);
    if (b == NULL)
        return false;
    for (size_t i = from; i < to; i++) {
        tab_cell x = tab_cell_at(c, i);
        if (l->drop[i])
            continue;
        if (numbers && x.kind != TAB_CELL_NULL && c->layout != TAB_NUMBERS)
            x = number(x.text, &x.num) ? (tab_cell){ .kind = TAB_CELL_NUMBER, .num = x.num } : x;
        tab_builder_cell(b, x);
    }
    return tab_builder_finish(b, ret);
}

static tab_status add_part(layout *l, const band *b, const strip *s, bool titled)
{
    tab_table *t = tab_arena_new_of(l->a, tab_table, 1);
    bool grouped = b->labels > 0 && s->left == 0; /* labels stand in the first column */
    size_t cols = s->right - s->left, n = 0, to = s->end < b->to ? s->end : b->to;
    tab_column *col = tab_arena_new_of(l->a, tab_column, cols + grouped);
    bool ok = t != NULL && col != NULL;
    for (size_t i = b->from; i < to; i++)
        n += !l->drop[i];
    if (ok && grouped)
        ok = tab_group_column(l->a, l->t, b->from, to, l->drop, b->label, col);
    for (size_t k = 0; k < cols && ok; k++) {
        tab_str name = joined(l, b, s, s->left + k, titled ? 1 : 0);
        ok = copy_column(l, &l->t->col[s->left + k], b->from, to, name, &col[grouped + k]);
    }
    if (!ok)
        return tab_no_memory(l->err);
    *t = *l->t;
    t->rows = n;
    t->cols = cols + grouped;
    t->col = col;
    tab_layout_part *p = &l->part[l->parts++];
    *p = (tab_layout_part){ .table = t,
                            .title = titled ? strip_title(l, b, s) : b->title,
                            .notes = b->notes,
                            .repeated = b->repeated,
                            .totals = b->totals,
                            .labels = b->labels,
                            .heads = titled ? 1 : heads_of(l, b),
                            .total = tab_total_row_cut(t, col) };
    return TAB_OK;
}

/* Nothing to part, to join or to leave out: the table stays as it is. */
static bool is_plain(const layout *l, const strip *s, size_t strips)
{
    return l->bands == 1 && strips == 1 && l->seen->uppers == 0 && l->band[0].notes == 0 &&
           l->band[0].repeated == 0 && l->band[0].totals == 0 && l->band[0].labels == 0 && s->left == 0 &&
           s->right == l->t->cols;
}

static tab_status parts_of(layout *l)
{
    strip s[TAB_LAYOUT_PARTS];
    for (size_t i = 0; i < l->bands; i++) {
        bool titled;
        size_t n = strips_of(l, &l->band[i], s, &titled);
        if (is_plain(l, s, n))
            return TAB_OK;
        if (l->parts + n > TAB_LAYOUT_PARTS) {
            l->parts = 0; /* more than a report has: it stays whole, and nothing is lost */
            return TAB_OK;
        }
        for (size_t k = 0; k < n; k++)
            TAB_TRY(add_part(l, &l->band[i], &s[k], titled));
    }
    return TAB_OK;
}

tab_status tab_layout_parts(tab_arena *a, const tab_table *t, const tab_layout_seen *seen,
                            tab_layout_part *ret, size_t *ret_n, tab_error *err)
{
    layout l = { .a = a, .t = t, .seen = seen, .part = ret, .err = err };
    rows block[BLOCKS];
    ret[0] = (tab_layout_part){ .table = t, .title = seen->title, .heads = seen->header };
    *ret_n = 1;
    bool small = t->rows <= TAB_LAYOUT_ROWS && t->cols <= TAB_TOP_COLS;
    size_t n = small && t->rows > 0 && t->cols > 1 && seen->header ? blocks_of(&l, block) : 0;
    if (n == 0 && seen->uppers == 0)
        return TAB_OK;
    l.drop = tab_arena_alloc(a, t->rows + 1, 1);
    l.band = tab_arena_new_of(a, band, TAB_LAYOUT_PARTS + 1);
    if (l.drop == NULL || l.band == NULL)
        return tab_no_memory(err);
    block[0] = n > 0 ? block[0] : (rows){ 0, t->rows };
    bands_of(&l, block, n > 0 ? n : 1);
    TAB_TRY(parts_of(&l));
    if (l.parts == 0)
        ret[0] = (tab_layout_part){ .table = t, .title = seen->title, .heads = seen->header };
    else
        *ret_n = l.parts;
    return TAB_OK;
}
