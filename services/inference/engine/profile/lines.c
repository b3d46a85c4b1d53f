/* See lines.h. */
#include "services/inference/engine/profile/lines.h"

static bool is_null(const tab_column *c, size_t row)
{
    return c->layout == TAB_NUMBERS ? c->num[row] != c->num[row] : c->code[row] == TAB_NULL;
}

static bool same_cell(const tab_column *c, size_t x, size_t y)
{
    return c->layout == TAB_NUMBERS ? c->num[x] == c->num[y] : c->code[x] == c->code[y];
}

/* Do the rows of each value stand together, several times more than one? */
static bool stands_together(const tab_column_profile *c, size_t rows)
{
    enum { SEVERAL_LEAST = 5 };
    size_t runs = rows > 0, several = 0, length = 1;
    if (c->present != rows || c->distinct == rows)
        return false;
    for (size_t r = 1; r < rows; r++) {
        bool same = same_cell(c->column, r, r - 1);
        several += same && length == 1;
        length = same ? length + 1 : 1;
        runs += !same;
    }
    return runs == c->distinct && several >= SEVERAL_LEAST;
}

bool tab_lines_on_first(const tab_profile *p, uint32_t document, size_t column)
{
    const tab_column *of = p->col[document].column, *c = p->col[column].column;
    size_t there = 0;
    for (size_t r = 0; r < p->table->rows; r++) {
        bool present = !is_null(c, r);
        if (present && r > 0 && same_cell(of, r, r - 1))
            return false;
        there += present;
    }
    return 10 * there >= 9 * p->col[document].distinct;
}

uint32_t tab_lines_document(const tab_profile *p)
{
    enum { MOST = 16 }; /* columns that are looked at as a document's */
    size_t tried = 0;
    for (uint32_t d = 0; d < p->table->cols && tried < MOST; d++) {
        if (!stands_together(&p->col[d], p->table->rows))
            continue;
        tried++;
        for (size_t c = 0; c < p->table->cols; c++)
            if (c != d && p->col[c].present < p->table->rows && tab_lines_on_first(p, d, c))
                return d;
    }
    return TAB_NULL;
}
