/* See suspects.h. */
#include <math.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/features/column.h"
#include "services/inference/engine/suspects/parts.h"

/* The level of each cell, marks ("?", "N/A") left out, and how many cells each level has. */
static bool codes_of(tab_search *s, const tab_reading *r, tab_seen *v)
{
    tab_arena *a = s->e->arena;
    uint32_t *code = tab_arena_new_of(a, uint32_t, s->rows + 1);
    uint32_t *count = tab_arena_new_of(a, uint32_t, r->levels + 1);
    if (code == NULL || count == NULL)
        return false;
    for (size_t i = 0; i < s->rows; i++) {
        uint32_t l = r->code[i];
        bool mark = l != TAB_NULL && r->foreign != NULL && r->foreign[l] != TAB_FOREIGN_NO;
        code[i] = mark ? TAB_NULL : l;
        if (code[i] != TAB_NULL)
            count[l]++, v->present++;
    }
    v->code = code;
    v->count = count;
    v->text = r->level;
    v->levels = r->levels;
    return true;
}

/* The cells as numbers: of numbers, amounts and the like, or of dates; names of things are none. */
static bool numbers_of(tab_search *s, const tab_reading *r, tab_seen *v)
{
    const tab_column_profile *c = v->col;
    const double *of = c->type == TAB_NUMERIC && r->can_number  ? r->num
                       : c->type == TAB_DATETIME && r->can_date ? r->time
                                                                : NULL;
    if (of == NULL || c->identifying)
        return true;
    double *num = tab_arena_new_of(s->e->arena, double, s->rows + 1);
    if (num == NULL)
        return false;
    bool by_row = c->column->layout == TAB_NUMBERS && c->type == TAB_NUMERIC;
    for (size_t i = 0; i < s->rows; i++) {
        num[i] = by_row ? of[i] : r->code[i] != TAB_NULL ? of[r->code[i]] : (double)NAN;
        if (num[i] == r->sentinel)
            num[i] = (double)NAN;
    }
    v->num = num;
    return true;
}

static bool view_column(tab_search *s, size_t c)
{
    tab_seen *v = &s->seen[c];
    tab_reading r = { 0 };
    v->col = &s->p->col[c];
    if (v->col->use == TAB_USE_IGNORE)
        return true;
    if (!tab_read_column(s->e->arena, v->col->column, s->rows, &r))
        return false;
    bool numbers = v->col->column->layout == TAB_NUMBERS;
    for (size_t i = 0; numbers && i < s->rows; i++)
        v->present += !isnan(v->col->column->num[i]);
    if (!numbers || (r.levels > 0 && r.levels <= v->present / 2)) {
        v->present = 0;
        if (!tab_read_levels(&r) || !codes_of(s, &r, v))
            return false;
    }
    v->key = v->col->proven_key || (v->levels > 0 && v->levels >= v->present - v->present / 50);
    return numbers_of(s, &r, v);
}

bool tab_suspects_view(tab_search *s)
{
    s->seen = tab_arena_new_of(s->e->arena, tab_seen, s->p->table->cols + 1);
    for (size_t c = 0; s->seen != NULL && c < s->p->table->cols; c++)
        if (!view_column(s, c))
            return false;
    return s->seen != NULL;
}
