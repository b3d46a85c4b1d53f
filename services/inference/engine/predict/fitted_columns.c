/* See fitted_parts.h: what a fitted model keeps of its table's columns. fitted.c asks once they are
 * encoded. */
#include <assert.h>
#include <math.h>

#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* The one value of a column of words; empty: there are others, or rows without one. */
static tab_str only_word(tab_arena *a, const tab_column_profile *q, size_t rows)
{
    bool words = (q->type == TAB_CATEGORICAL || q->type == TAB_TEXT) && q->code != NULL && rows > 1;
    tab_values v = tab_values_of(q);
    uint64_t key = words ? tab_units_key(&v, 0) : 0;
    for (size_t r = 1; key != 0 && r < rows; r++)
        key = tab_units_key(&v, r) == key ? key : 0;
    return key == 0 ? (tab_str){ NULL, 0 } : tab_arena_copy(a, v.level[v.code[0]]);
}

bool tab_fitted_columns(tab_fitted *f, const tab_profile *p, size_t own)
{
    tab_arena *a = f->arena;
    f->cols = p->table->cols;
    f->column = tab_arena_new_of(a, tab_fitted_column, f->cols + 1);
    bool *levels = tab_arena_new_of(a, bool, f->cols + 1);
    if (f->column == NULL || levels == NULL)
        return false;
    tab_levels_numbered(f->enc, levels);
    for (size_t c = 0; c < f->cols; c++) {
        const tab_column_profile *q = &p->col[c];
        f->column[c] = (tab_fitted_column){ .name = tab_arena_copy(a, q->column->name),
                                            .type = q->type,
                                            .role = q->role,
                                            .made = own > 0 && c >= own,
                                            .levels = levels[c] };
        /* the address outlives the table: reasons name columns by it */
        Tabella__ColumnRef *ref = tab_column_ref(a, p->table, f->table, c);
        if (ref == NULL)
            return false;
        f->column[c].address =
            f->column[c].made ? f->column[c].name : (tab_str){ (char *)ref->address.data, ref->address.len };
        f->column[c].only = only_word(a, q, f->rows);
        f->column[c].least = f->column[c].most = (double)NAN;
        tab_values values = tab_values_of(q);
        const double *number;
        if (!tab_numbers_read(a, levels[c], &values, f->rows, &number))
            return false;
        for (size_t r = 0; number != NULL && r < f->rows; r++) {
            f->column[c].least = fmin(f->column[c].least, number[r]);
            f->column[c].most = fmax(f->column[c].most, number[r]);
        }
    }
    /* columns that no feature reads are not asked of a request */
    for (size_t i = 0; i < f->enc->n; i++) {
        assert(f->enc->f[i].source < f->cols);
        assert(f->task == TAB_TASK_ANOMALY || f->enc->f[i].source != f->target); /* or it would be told */
        f->column[f->enc->f[i].source].used = true;
    }
    return !tab_arena_full(a);
}
