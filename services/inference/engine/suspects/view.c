/* See suspects.h. */
#include <math.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/features/column.h"
#include "services/inference/engine/suspects/given.h"

static void free_arena(void *a)
{
    tab_arena_free(a);
}

/* The level of each cell, marks ("?", "N/A") left out, and how many cells each level has. */
static bool codes_of(const tab_search *s, tab_arena *a, const tab_reading *r, tab_seen *v)
{
    bool marks = false;
    uint32_t *count = tab_arena_new_of(a, uint32_t, r->levels + 1);
    for (size_t l = 0; r->foreign != NULL && l < r->levels; l++)
        marks |= r->foreign[l] != TAB_FOREIGN_NO;
    uint32_t *code = marks ? tab_arena_new_of(a, uint32_t, s->rows + 1) : NULL;
    if (count == NULL || (marks && code == NULL))
        return false;
    for (size_t i = 0; i < s->rows; i++) {
        uint32_t l = r->code[i];
        l = l != TAB_NULL && marks && r->foreign[l] != TAB_FOREIGN_NO ? TAB_NULL : l;
        if (marks)
            code[i] = l;
        if (l != TAB_NULL)
            count[l]++, v->present++;
    }
    v->code = marks ? code : r->code;
    v->count = count;
    v->text = r->level;
    v->levels = r->levels;
    return true;
}

/* The cells as numbers: of numbers, amounts and the like, or of dates (a date of birth as well); names of
 * things are none. */
static const double *numbers_of(const tab_reading *r, const tab_column_profile *c)
{
    bool number = c->type == TAB_NUMERIC && r->can_number && !c->identifying;
    return number || (c->type == TAB_DATETIME && r->can_date) ? c->number : NULL;
}

/* The numbers of a column that is told as categories or keys by plurality: quantities from 1 to 19, answers
 * from 1 to 5; of so many columns and rows as are held against each other. False: memory ran out. */
static bool amounts_of(tab_search *s, tab_seen *v)
{
    enum { LEAST_VALUES = 3 };
    tab_column_profile as = *v->col;
    bool may = as.type == TAB_CATEGORICAL || as.type == TAB_TEXT, are = false;
    may = may && s->amounts < TAB_SUSPECT_AMOUNTS && s->rows <= TAB_SUSPECT_AMOUNT_ROWS;
    if (v->num != NULL || !may || !as.numbers || as.proven_key || as.distinct < LEAST_VALUES)
        return true;
    if (!tab_view_as_number(s->arena, &as, s->rows, &are))
        return false;
    v->amount = are ? as.number : NULL;
    s->amounts += are;
    return true;
}

static bool view_column(tab_search *s, size_t c)
{
    tab_seen *v = &s->seen[c];
    tab_reading r = { 0 };
    v->col = &s->p->col[c];
    if (v->col->use == TAB_USE_IGNORE)
        return true;
    tab_arena *own = tab_arena_new(TAB_SUSPECT_BYTES); /* goes at once where no levels are kept */
    if (own == NULL || !tab_read_column(own, v->col->column, s->rows, &r)) {
        tab_arena_free(own);
        return false;
    }
    bool numbers = v->col->column->layout == TAB_NUMBERS, ok;
    for (size_t i = 0; numbers && i < s->rows; i++)
        v->present += !isnan(v->col->column->num[i]);
    v->num = numbers_of(&r, v->col);
    ok = amounts_of(s, v);
    bool keep = !numbers || (r.levels > 0 && r.levels <= v->present / 2);
    if (keep) {
        v->present = 0;
        ok = ok && tab_read_levels(&r) && codes_of(s, own, &r, v);
    }
    v->key = v->col->proven_key || (v->levels > 0 && v->levels >= v->present - v->present / 50);
    ok = ok && (!keep || tab_arena_defer(s->arena, free_arena, own));
    if (!keep || !ok)
        tab_arena_free(own);
    return ok;
}

bool tab_suspects_view(tab_search *s)
{
    s->seen = tab_arena_new_of(s->arena, tab_seen, s->p->table->cols + 1);
    for (size_t c = 0; s->seen != NULL && c < s->p->table->cols; c++)
        if (!view_column(s, c))
            return false;
    return s->seen != NULL;
}

bool tab_suspects_view_numbers(tab_search *s)
{
    s->seen = tab_arena_new_of(s->arena, tab_seen, s->p->table->cols + 1);
    for (size_t c = 0; s->seen != NULL && c < s->p->table->cols; c++) {
        tab_seen *v = &s->seen[c];
        v->col = &s->p->col[c];
        if (v->col->use == TAB_USE_IGNORE)
            continue;
        v->num = v->col->type == TAB_NUMERIC && !v->col->identifying ? v->col->number : NULL;
        if (!amounts_of(s, v))
            return false;
    }
    return s->seen != NULL;
}
