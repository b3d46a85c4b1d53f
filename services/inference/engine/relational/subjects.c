/* Rows of the target's table by what ways read of them: keys and dates. */
#include <math.h>

#include "services/inference/engine/profile/features/column.h"
#include "services/inference/engine/relational/parts.h"

static bool begin(tab_arena *a, const tab_links *l, size_t rows, tab_subjects *ret)
{
    size_t cols = l->p[l->table]->table->cols;
    *ret = (tab_subjects){ .rows = rows,
                           .key = tab_arena_new_of(a, uint64_t *, cols + 1),
                           .date = tab_arena_new_of(a, double *, cols + 1) };
    if (ret->key == NULL || ret->date == NULL)
        return false;
    for (size_t i = 0; i < l->ways; i++) {
        const tab_way *w = &l->way[i];
        size_t c = w->hop[0].from->column;
        if (ret->key[c] == NULL)
            ret->key[c] = tab_arena_new_of(a, uint64_t, rows + 1);
        for (c = 0; c < cols; c++)
            if (w->cut && l->moment[c] && ret->date[c] == NULL)
                ret->date[c] = tab_arena_new_of(a, double, rows + 1);
    }
    return !tab_arena_full(a);
}

bool tab_subjects_pinned(tab_arena *a, const tab_links *l, const uint32_t *row, size_t n, tab_subjects *ret)
{
    const tab_profile *p = l->p[l->table];
    if (!begin(a, l, n, ret))
        return false;
    for (size_t w = 0; w < l->ways; w++) {
        const tab_keyed *k = l->way[w].hop[0].from;
        for (size_t i = 0; i < n; i++)
            ret->key[k->column][i] = k->hash[row == NULL ? i : row[i]];
    }
    for (size_t c = 0; c < p->table->cols; c++)
        for (size_t i = 0; ret->date[c] != NULL && i < n; i++)
            ret->date[c][i] = p->col[c].number[row == NULL ? i : row[i]];
    return true;
}

bool tab_subjects_new(tab_arena *a, const tab_links *l, const tab_table *t, tab_subjects *ret)
{
    const tab_profile *p = l->p[l->table];
    if (!begin(a, l, t->rows, ret))
        return false;
    for (size_t c = 0; c < p->table->cols; c++) {
        if (ret->key[c] != NULL && !tab_key_hashes(&t->col[c], t->rows, ret->key[c]))
            return false;
        if (ret->date[c] == NULL)
            continue;
        /* read as the pinned column's dates, whatever the cells would look like alone */
        tab_column_profile q = {
            .index = c, .column = &t->col[c], .type = TAB_DATETIME, .role = p->col[c].role
        };
        tab_reading r;
        if (!tab_read_column(a, &t->col[c], t->rows, &r) || !tab_view_column(&r, &q))
            return false;
        for (size_t i = 0; i < t->rows; i++)
            ret->date[c][i] = q.number == NULL ? (double)NAN : q.number[i];
    }
    return true;
}
