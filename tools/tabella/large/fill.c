/* Cells that are missing, in every row. Each column that the engine fills in the sample has a model of its
 * own, of the sample's rows that have it; it answers for the rows that lack it, as a prediction does. Missing
 * cells of the target take the prediction. */
#include <math.h>
#include <stdlib.h>

#include "tools/tabella/large/large.h"
#include "tools/tabella/out.h"

enum { FILLS_MOST = 32 };

/* Columns that the engine filled, but the target. */
tab_status large_fit_fills(large *l, tab_error *err)
{
    const Tabella__Imputation *m = l->b->imputation;
    l->fill = tab_arena_new_of(l->e.arena, large_fill, FILLS_MOST);
    if (l->fill == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; m != NULL && i < m->n_columns && l->fills < FILLS_MOST; i++) {
        size_t c = m->columns[i]->column;
        bool target = l->b->prediction != NULL && c == l->parts.selection.column;
        const tab_fit_options fit = { .base = "base-1", .target = c };
        tab_fitted *f = NULL;
        if (target || m->columns[i]->table != 0 || c >= l->size.cols)
            continue;
        tab_status s = tab_fit(&l->e, l->profile, &fit, &f, err);
        if (s == TAB_VALIDATION) /* a column that no model can be made of */
            continue;
        TAB_TRY(s);
        l->fill[l->fills++] = (large_fill){ c, f };
    }
    return TAB_OK;
}

static bool is_missing(const large *l, size_t c, tab_cell x)
{
    const tab_column_profile *q = &l->profile->col[c];
    char buf[32];
    if (x.kind == TAB_CELL_NULL)
        return true;
    tab_str text = x.kind == TAB_CELL_NUMBER && x.text.n == 0
                       ? (tab_str){ buf, q->marks > 0 ? tab_number_text(x.num, buf) : 0 }
                       : x.text;
    for (size_t i = 0; i < q->marks; i++)
        if (tab_str_eq(q->mark[i], text))
            return true;
    return false;
}

/* Rows of t that lack the cell, as a table; *ret_n of them. NULL: out of memory. */
static const tab_table *lacking(const large *l, tab_arena *a, const tab_table *t, size_t c, uint32_t *place)
{
    tab_table *own = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    size_t n = 0;
    for (size_t i = 0; i < t->rows; i++)
        if (is_missing(l, c, tab_cell_at(&t->col[c], i)))
            place[n++] = (uint32_t)i;
    bool good = own != NULL && col != NULL;
    for (size_t k = 0; good && n > 0 && k < t->cols; k++) {
        tab_builder *b = tab_builder_new(a, t->col[k].name);
        uint32_t *known = tab_arena_new_of(a, uint32_t, t->col[k].levels + 1);
        good = b != NULL && known != NULL;
        for (size_t i = 0; good && i < n; i++)
            tab_builder_copy(b, &t->col[k], place[i], known);
        good = good && tab_builder_finish(b, &col[k]);
    }
    if (!good)
        return NULL;
    *own = (tab_table){ .id = t->id, .rows = n, .cols = t->cols, .col = col };
    return own;
}

static tab_cell cell_of(const Tabella__Results *r, size_t i, const tab_column *classes)
{
    if (r->n_label > i)
        return tab_cell_at(classes, r->label[i]);
    return (tab_cell){ .kind = TAB_CELL_NUMBER, .num = r->n_value > i ? r->value[i] : (double)NAN };
}

tab_status large_fill_rows(const large *l, const tab_engine *e, const tab_table *t,
                           const Tabella__Prediction *answers, tab_cell *ret, tab_error *err)
{
    tab_arena *a = e->arena;
    uint32_t *place = tab_arena_new_of(a, uint32_t, t->rows + 1);
    if (place == NULL)
        return tab_no_memory(err);
    for (size_t c = 0; c < t->cols; c++)
        for (size_t i = 0; i < t->rows; i++)
            ret[i * t->cols + c] = tab_cell_at(&t->col[c], i);
    for (size_t k = 0; k <= l->fills; k++) {
        bool target = k == l->fills;
        const Tabella__Prediction *p = target ? answers : NULL;
        Tabella__Prediction *made = NULL;
        tab_column classes = { 0 };
        size_t c = target ? l->parts.selection.column : l->fill[k].column;
        if (target && (answers == NULL || answers->results->n_anomaly_score > 0))
            break;
        const tab_table *own = lacking(l, a, t, c, place);
        if (own == NULL)
            return tab_no_memory(err);
        if (own->rows == 0)
            continue;
        if (!target) {
            TAB_TRY(tab_score_any(e, l->fill[k].fitted, own, false, &made, err));
            p = made;
        }
        size_t n = p->results->n_row > 0 ? p->results->n_probabilities / p->results->n_row : 0;
        if (n > 0 && (p->classes == NULL || !tab_column_view(p->classes, n, &classes)))
            return tab_no_memory(err);
        for (size_t i = 0; i < own->rows; i++)
            ret[place[i] * t->cols + c] = cell_of(p->results, target ? place[i] : i, &classes);
    }
    return TAB_OK;
}
