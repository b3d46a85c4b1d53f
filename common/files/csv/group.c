/* See group.h. */
#include "common/files/csv/group.h"

#include <strings.h>

#include "common/files/csv/top.h"

enum { COLS_LEAST = 3, LABELS_LEAST = 2, CELLS_A_HOLE = 20 };

static bool alone(const tab_table *t, size_t row)
{
    for (size_t k = 1; k < t->cols; k++)
        if (tab_cell_at(&t->col[k], row).kind != TAB_CELL_NULL)
            return false;
    return true;
}

static size_t missing_of(const tab_table *t, size_t row)
{
    size_t n = 0;
    for (size_t k = 0; k < t->cols; k++)
        n += tab_cell_at(&t->col[k], row).kind == TAB_CELL_NULL;
    return n;
}

/* What the first cells are: of labels each level once, of rows none of these. */
enum { OF_LABEL = 1, OF_ROW = 2 };

typedef struct {
    size_t labels, rows, cells, holes; /* of the rows */
    bool behind_label, fits;
} run;

static void look_at(const tab_table *t, size_t row, uint8_t *what, run *x)
{
    const tab_column *first = &t->col[0];
    uint32_t level = first->code[row];
    if (level == TAB_NULL) {
        x->fits = false;
    } else if (alone(t, row)) {
        tab_cell cell = tab_cell_at(first, row);
        x->fits &= what[level] == 0 && !x->behind_label && cell.kind == TAB_CELL_TEXT &&
                   tab_top_kind_of(cell.text) == TAB_TOP_TEXT;
        what[level] = OF_LABEL;
        x->labels++;
        x->behind_label = true;
    } else {
        x->fits &= x->labels > 0 && what[level] != OF_LABEL;
        what[level] |= OF_ROW;
        x->rows++;
        x->cells += t->cols;
        x->holes += missing_of(t, row);
        x->behind_label = false;
    }
}

size_t tab_group_labels(tab_arena *a, const tab_table *t, size_t from, size_t to, uint8_t *drop,
                        uint32_t **ret_of)
{
    run x = { .fits = t->cols >= COLS_LEAST && t->col[0].layout == TAB_CODED };
    uint8_t *what = x.fits ? tab_arena_alloc(a, t->col[0].levels + 1, 1) : NULL;
    for (size_t i = from; i < to && what != NULL && x.fits; i++)
        if (!drop[i])
            look_at(t, i, what, &x);
    if (what == NULL || !x.fits || x.behind_label || x.labels < LABELS_LEAST || x.rows < 2 * x.labels ||
        x.holes * CELLS_A_HOLE > x.cells)
        return 0;
    *ret_of = tab_arena_new_of(a, uint32_t, t->rows + 1);
    if (*ret_of == NULL)
        return 0;
    uint32_t label = 0;
    for (size_t i = from; i < to; i++) {
        if (drop[i])
            continue;
        bool is = alone(t, i);
        label = is ? (uint32_t)i : label;
        drop[i] = is;
        (*ret_of)[i] = label;
    }
    return x.labels;
}

bool tab_group_column(tab_arena *a, const tab_table *t, size_t from, size_t to, const uint8_t *drop,
                      const uint32_t *of, tab_column *ret)
{
    tab_str name = TAB_S("group");
    for (size_t k = 0; k < t->cols; k++)
        if (t->col[k].name.n == name.n && strncasecmp(t->col[k].name.p, name.p, name.n) == 0)
            name = TAB_S("group of rows");
    tab_builder *b = tab_builder_new(a, name);
    if (b == NULL)
        return false;
    for (size_t i = from; i < to; i++)
        if (!drop[i])
            tab_builder_cell(b, tab_cell_at(&t->col[0], of[i]));
    return tab_builder_finish(b, ret);
}
