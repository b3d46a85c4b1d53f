/* Rows of the target's table by what ways read of them: keys and dates. */
#include <math.h>

#include "services/inference/engine/profile/features/column.h"
#include "services/inference/engine/relational/parts.h"

static bool begin(tab_arena *a, const tab_links *l, size_t rows, tab_subjects *ret)
{
    size_t cols = l->p[l->table]->table->cols;
    *ret = (tab_subjects){ .rows = rows,
                           .key = tab_arena_new_of(a, uint64_t *, l->keys + 1),
                           .date = tab_arena_new_of(a, double *, cols + 1) };
    if (ret->key == NULL || ret->date == NULL)
        return false;
    for (size_t i = 0; i < l->ways; i++) {
        const tab_way *w = &l->way[i];
        uint64_t **key = &ret->key[tab_way_start(l, w)];
        if (*key == NULL)
            *key = tab_arena_new_of(a, uint64_t, rows + 1);
        for (size_t c = 0; c < cols; c++)
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
    for (size_t k = 0; k < l->keys; k++)
        for (size_t i = 0; ret->key[k] != NULL && i < n; i++)
            ret->key[k][i] = l->keyed[k].hash[row == NULL ? i : row[i]];
    for (size_t c = 0; c < p->table->cols; c++)
        for (size_t i = 0; ret->date[c] != NULL && i < n; i++)
            ret->date[c][i] = p->col[c].number[row == NULL ? i : row[i]];
    return true;
}

/* Whether a way starts from column c, alone or with others. */
static bool starts(const tab_links *l, const tab_subjects *s, uint32_t c)
{
    bool is = false;
    for (size_t k = 0; k < l->keys; k++)
        for (uint32_t i = 0; s->key[k] != NULL && i < l->keyed[k].columns; i++)
            is = is || l->keyed[k].column[i] == c;
    return is;
}

bool tab_subjects_new(tab_arena *a, const tab_links *l, const tab_table *t, tab_subjects *ret)
{
    const tab_profile *p = l->p[l->table];
    if (!begin(a, l, t->rows, ret))
        return false;
    const double **date = tab_arena_new_of(a, const double *, p->table->cols + 1);
    for (size_t c = 0; date != NULL && c < p->table->cols; c++) {
        bool joins = tab_key_dates(&p->col[c]) != NULL && starts(l, ret, (uint32_t)c);
        if (ret->date[c] == NULL && !joins)
            continue;
        /* read as the pinned column's dates, whatever the cells would look like alone */
        tab_column_profile q = {
            .index = c, .column = &t->col[c], .type = TAB_DATETIME, .role = p->col[c].role
        };
        tab_reading r;
        if (!tab_read_column(a, &t->col[c], t->rows, &r) || !tab_view_column(&r, &q))
            return false;
        double *own = joins ? tab_arena_new_of(a, double, t->rows + 1) : ret->date[c];
        if (own == NULL)
            return false;
        for (size_t i = 0; i < t->rows; i++) {
            own[i] = q.number == NULL ? (double)NAN : q.number[i];
            if (ret->date[c] != NULL)
                ret->date[c][i] = own[i];
        }
        date[c] = joins ? own : NULL;
    }
    for (size_t k = 0; date != NULL && k < l->keys; k++)
        if (ret->key[k] != NULL && !tab_key_hashes(&l->keyed[k], t->col, date, t->rows, ret->key[k]))
            return false;
    return date != NULL;
}
