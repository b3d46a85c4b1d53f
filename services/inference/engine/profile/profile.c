#include "services/inference/engine/profile/profile.h"

#include <math.h>

#include "services/inference/engine/profile/column.h"
#include "services/inference/engine/profile/roles.h"

/* What the readings alone say of a column, by rule. */
static int role_by_rule(const tab_reading *r, size_t distinct, size_t present)
{
    if (present == 0)
        return TAB_ROLE_EMPTY;
    if (r->can_bool)
        return TAB_ROLE_FLAG;
    if (r->can_date && !(r->can_number && r->compact < r->dates))
        return r->period * 2 > r->dates                          ? TAB_ROLE_PERIOD
               : r->datetime > r->date_only && r->midnight < r->datetime ? TAB_ROLE_DATETIME
                                                                 : TAB_ROLE_DATE;
    if (r->can_clock)
        return TAB_ROLE_TIME;
    if (r->can_duration && !r->can_number)
        return TAB_ROLE_DURATION;
    if (r->can_number && r->leading_zero * 10 < present) {
        if (r->affix[TAB_AFFIX_CURRENCY] * 2 > present)
            return TAB_ROLE_AMOUNT;
        if (r->affix[TAB_AFFIX_PERCENT] * 2 > present)
            return TAB_ROLE_PERCENTAGE;
        if (r->decimals == 0 && distinct == present && present > 2)
            return TAB_ROLE_ID;
        return r->decimals > 0 ? TAB_ROLE_MEASURE : TAB_ROLE_COUNT;
    }
    size_t bytes = 0;
    for (size_t k = 0; k < r->levels; k++)
        bytes += r->level[k].n;
    if (bytes > 60 * r->levels)
        return TAB_ROLE_TEXT;
    return distinct * 2 <= present ? TAB_ROLE_CATEGORY : TAB_ROLE_LABEL;
}

typedef struct {
    const tab_table *table;
    tab_column_profile *col;
    tab_arena **arena; /* one a column, so that columns are read side by side */
    bool *ok;
} job;

static void profile_column(void *ctx, size_t i)
{
    job *j = ctx;
    tab_column_profile *p = &j->col[i];
    tab_reading r;
    j->ok[i] = tab_read_column(j->arena[i], &j->table->col[i], j->table->rows, &r);
    if (!j->ok[i])
        return;
    *p = (tab_column_profile){ .index = i, .column = &j->table->col[i] };
    p->present = r.rows - r.nulls;
    p->distinct = r.levels;
    p->missing = r.rows == 0 ? 0 : (double)r.nulls / (double)r.rows;
    p->role = role_by_rule(&r, p->distinct, p->present);
    p->role_confidence = 0.5;
    p->type = tab_role_type(p->role, p->distinct, p->present);
    p->type_confidence = 0.9;
    p->pii = tab_role_pii[p->role];
    p->pii_confidence = p->pii ? 0.5 : 0;
    p->identifying = tab_role_identifying[p->role];
    j->ok[i] = tab_view_column(&r, p);
}

static void free_arena(void *arg)
{
    tab_arena_free(arg);
}

enum { COLUMN_BYTES_PER_CELL = 256 };

tab_status tab_profile_table(const tab_engine *e, const tab_table *t, tab_profile **ret, tab_error *err)
{
    tab_profile *p = tab_arena_new_of(e->arena, tab_profile, 1);
    job j = { .table = t,
              .col = tab_arena_new_of(e->arena, tab_column_profile, t->cols),
              .arena = tab_arena_new_of(e->arena, tab_arena *, t->cols),
              .ok = tab_arena_new_of(e->arena, bool, t->cols) };
    if (p == NULL || j.col == NULL || j.arena == NULL || j.ok == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    for (size_t i = 0; i < t->cols; i++) {
        j.arena[i] = tab_arena_new(((size_t)1 << 20) + COLUMN_BYTES_PER_CELL * t->rows);
        if (j.arena[i] == NULL || !tab_arena_defer(e->arena, free_arena, j.arena[i])) {
            tab_arena_free(j.arena[i]);
            return tab_fail(err, TAB_INTERNAL, "", "out of memory");
        }
    }
    tab_engine_for(e, t->cols, profile_column, &j);
    if (tab_engine_cancelled(e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    for (size_t i = 0; i < t->cols; i++)
        if (!j.ok[i])
            return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    p->table = t;
    p->col = j.col;
    *ret = p;
    return TAB_OK;
}
