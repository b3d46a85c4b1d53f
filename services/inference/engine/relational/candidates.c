/* What the ways could say: a column each, with its name. */
#include <stdlib.h>

#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/relational/parts.h"

enum { SHARES = 5, NAME = 80 };
static const double RARE = 0.01, MOST_MISSING = 0.5;

bool tab_link_dated(const tab_column_profile *c)
{
    return c->type == TAB_DATETIME && c->number != NULL && c->missing <= MOST_MISSING &&
           c->role != TAB_ROLE_BIRTH_DATE && c->role != TAB_ROLE_TIME;
}

const double *tab_link_numbers(const tab_column_profile *c)
{
    if (c->type == TAB_DATETIME || c->number != NULL)
        return c->number;
    bool plain = c->numbers && !c->identifying && c->column->layout == TAB_NUMBERS;
    return plain && c->type == TAB_TEXT ? c->column->num : NULL;
}

/* The date that tells the rows apart best; of two alike the first. */
static size_t clock_of(const tab_profile *p)
{
    size_t best = p->table->cols;
    for (size_t c = 0; c < p->table->cols; c++)
        if (tab_link_dated(&p->col[c]) &&
            (best == p->table->cols || p->col[c].distinct > p->col[best].distinct * 11 / 10))
            best = c;
    return best;
}

/* TABLE.COLUMN, or TABLE, with what is made of it. False: no room for it, or out of memory. */
static bool add(tab_arena *a, tab_links *l, const tab_way *w, tab_link_kind kind, size_t column,
                uint32_t level)
{
    static const char *const made[] = {
        [TAB_LINK_NUMBER] = "",           [TAB_LINK_CODE] = "",
        [TAB_LINK_AGE] = "age, days",     [TAB_LINK_COUNT] = "count",
        [TAB_LINK_SUM] = "sum",           [TAB_LINK_MEAN] = "mean",
        [TAB_LINK_LEAST] = "min",         [TAB_LINK_MOST] = "max",
        [TAB_LINK_LAST] = "last",         [TAB_LINK_SINCE] = "days since the last",
        [TAB_LINK_SHARE] = "share",       [TAB_LINK_HITS] = "count",
        [TAB_LINK_DISTINCT] = "distinct",
    };
    if (l->features == TAB_LINK_FEATURES)
        return true;
    size_t table = tab_way_end(w);
    const tab_table *t = l->p[table]->table;
    bool whole = kind == TAB_LINK_COUNT || kind == TAB_LINK_SINCE;
    tab_str of = whole ? (tab_str){ "", 0 } : tab_column_address(a, t, column), value = { "", 0 };
    bool level_of = kind == TAB_LINK_SHARE || kind == TAB_LINK_HITS;
    if (level_of)
        value = l->p[table]->col[column].level[level];
    const char *both = made[kind][0] != 0 && w->by[0] != 0 ? ", by " : w->by[0] != 0 ? "by " : "";
    bool said = made[kind][0] != 0 || w->by[0] != 0;
    char *name = tab_arena_printf(a, "%.*s%s%.*s%s%.*s%s%s%s%s%s", t->id.n > NAME ? NAME : (int)t->id.n,
                                  t->id.p, whole ? "" : ".", of.n > NAME ? NAME : (int)of.n, of.p,
                                  level_of ? " = " : "", value.n > NAME ? NAME : (int)value.n, value.p,
                                  said ? " (" : "", made[kind], both, w->by, said ? ")" : "");
    if (name == NULL)
        return false;
    l->feature[l->features++] = (tab_link_feature){
        .way = w, .kind = kind, .table = table, .column = column, .level = level, .name = name
    };
    return true;
}

/* The shares of the most frequent categories, and how many there are. */
static bool add_categories(tab_arena *a, tab_links *l, const tab_way *w, size_t column)
{
    const tab_column_profile *c = &l->p[tab_way_end(w)]->col[column];
    size_t rows = l->p[tab_way_end(w)]->table->rows;
    uint32_t *count = calloc(c->levels + 1, sizeof *count);
    bool ok = count != NULL;
    for (size_t r = 0; ok && r < rows; r++)
        if (c->code[r] != TAB_NULL)
            count[c->code[r]]++;
    for (size_t k = 0; ok && k < SHARES; k++) {
        uint32_t best = 0;
        for (uint32_t v = 1; v < c->levels; v++)
            best = count[v] > count[best] ? v : best;
        if (c->levels == 0 || (double)count[best] < RARE * (double)c->present || count[best] == 0)
            break;
        count[best] = 0;
        ok = add(a, l, w, TAB_LINK_SHARE, column, best) && add(a, l, w, TAB_LINK_HITS, column, best);
    }
    free(count);
    return ok && (c->levels <= 2 || add(a, l, w, TAB_LINK_DISTINCT, column, 0));
}

/* Of the one row that the way ends at. */
static bool add_single(tab_arena *a, tab_links *l, const tab_way *w, size_t column)
{
    const tab_column_profile *c = &l->p[tab_way_end(w)]->col[column];
    if (tab_link_numbers(c) != NULL && c->type != TAB_DATETIME)
        return add(a, l, w, TAB_LINK_NUMBER, column, 0);
    if (tab_link_dated(c))
        return add(a, l, w, TAB_LINK_AGE, column, 0);
    bool repeats = c->type == TAB_CATEGORICAL || c->distinct * 2 <= c->present;
    return c->type == TAB_DATETIME || c->code == NULL || !repeats || add(a, l, w, TAB_LINK_CODE, column, 0);
}

/* Of the many. */
static bool add_many(tab_arena *a, tab_links *l, const tab_way *w, size_t column)
{
    static const tab_link_kind numbers[] = { TAB_LINK_MEAN, TAB_LINK_SUM, TAB_LINK_MOST, TAB_LINK_LEAST,
                                             TAB_LINK_LAST };
    const tab_column_profile *c = &l->p[tab_way_end(w)]->col[column];
    if (c->type == TAB_CATEGORICAL && c->code != NULL)
        return add_categories(a, l, w, column);
    bool number = tab_link_numbers(c) != NULL && c->type != TAB_DATETIME, ok = true;
    for (size_t k = 0; ok && number && k < sizeof numbers / sizeof *numbers; k++)
        if ((numbers[k] != TAB_LINK_LAST || w->time != NULL) &&
            (c->type != TAB_BOOLEAN || (numbers[k] != TAB_LINK_MOST && numbers[k] != TAB_LINK_LEAST)))
            ok = add(a, l, w, numbers[k], column, 0);
    return ok;
}

/* Keys say nothing of themselves, nor does what names rows one by one. */
static bool telling(const tab_links *l, size_t table, size_t column)
{
    const tab_column_profile *c = &l->p[table]->col[column];
    for (size_t k = 0; k < l->keys; k++)
        for (uint32_t i = 0; l->keyed[k].table == table && i < l->keyed[k].columns; i++)
            if (l->keyed[k].column[i] == column)
                return false;
    return tab_explains(c) && c->distinct > 1;
}

bool tab_link_clocks(tab_arena *a, tab_links *l)
{
    l->clock = tab_arena_new_of(a, size_t, l->n);
    for (size_t t = 0; l->clock != NULL && t < l->n; t++)
        l->clock[t] = clock_of(l->p[t]);
    return l->clock != NULL;
}

bool tab_link_candidates(tab_arena *a, tab_links *l)
{
    l->feature = tab_arena_new_of(a, tab_link_feature, TAB_LINK_FEATURES);
    bool ok = l->feature != NULL;
    for (size_t i = 0; ok && i < l->ways; i++) {
        const tab_way *w = &l->way[i];
        size_t end = tab_way_end(w);
        if (w->absent)
            continue;
        if (w->downs > 0 && w->sides == 0)
            ok =
                add(a, l, w, TAB_LINK_COUNT, 0, 0) && (w->time == NULL || add(a, l, w, TAB_LINK_SINCE, 0, 0));
        for (size_t c = 0; ok && c < l->p[end]->table->cols; c++)
            if (telling(l, end, c))
                ok = w->downs > 0 ? add_many(a, l, w, c) : add_single(a, l, w, c);
    }
    return ok;
}
