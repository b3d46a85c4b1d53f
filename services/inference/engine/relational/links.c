/* See relational.h: the ways of one table, and its rows with what was chosen of them. */
#include <math.h>

#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/relational/parts.h"

/* Which rows have no target. */
static bool read_open(tab_arena *a, tab_links *l)
{
    const tab_table *t = l->p[l->table]->table;
    l->open = tab_arena_new_of(a, bool, t->rows + 1);
    for (size_t i = 0; l->open != NULL && l->target < t->cols && i < t->rows; i++) {
        l->open[i] = tab_cell_at(&t->col[l->target], i).kind == TAB_CELL_NULL;
        l->asked += l->open[i];
    }
    return l->open != NULL;
}

tab_status tab_links_new(const tab_engine *e, tab_profile *const *p, size_t n, const tab_references *refs,
                         size_t table, size_t target, size_t as_of, tab_links **ret, tab_error *err)
{
    tab_arena *a = e->arena;
    tab_links *l = tab_arena_new_of(a, tab_links, 1);
    *ret = NULL;
    if (l == NULL)
        return tab_no_memory(err);
    *l = (tab_links){ .p = p, .n = n, .table = table, .target = target, .as_of = as_of };
    if (!read_open(a, l) || !tab_link_clocks(a, l) || !tab_ways_find(a, l, refs))
        return tab_no_memory(err);
    for (size_t i = 0; i < l->ways; i++) {
        if (tab_engine_cancelled(e))
            return tab_fail(err, TAB_CANCELLED, "", "cancelled");
        if (!tab_way_group_rows(a, l, &l->way[i]))
            return tab_no_memory(err);
    }
    if (!tab_link_moments(a, l) || !tab_link_absences(a, l))
        return tab_no_memory(err);
    if (!tab_link_candidates(a, l))
        return tab_no_memory(err);
    TAB_TRY(tab_link_shifts(e, l, err));
    *ret = l->ways == 0 ? NULL : l;
    return TAB_OK;
}

size_t tab_link_set_size(const tab_link_set *s)
{
    return s->n;
}

tab_str tab_link_set_name(const tab_link_set *s, size_t i)
{
    return tab_str_of(s->feature[i]->name);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* A column of categories: the levels of the column that they are read of. */
static bool code_column(tab_arena *a, const tab_column_profile *of, tab_str name, const uint32_t *code,
                        size_t rows, tab_column *ret)
{
    tab_builder *b = tab_builder_new(a, name);
    if (b == NULL)
        return false;
    for (size_t i = 0; i < rows; i++) {
        if (code[i] == TAB_NULL)
            tab_builder_null(b);
        else
            tab_builder_text(b, of->level[code[i]]);
    }
    return tab_builder_finish(b, ret);
}

/* The made columns as a table's; col (n). */
static bool columns_of(tab_arena *a, const tab_links *l, const tab_link_feature *const *f, size_t n,
                       const tab_link_values *v, size_t rows, tab_column *col)
{
    for (size_t k = 0; k < n; k++) {
        tab_str name = tab_str_of(f[k]->name);
        if (f[k]->kind != TAB_LINK_CODE)
            col[k] = (tab_column){ .name = name, .layout = TAB_NUMBERS, .num = v->number[k] };
        else if (!code_column(a, &l->p[f[k]->table]->col[f[k]->column], name, v->code[k], rows, &col[k]))
            return false;
    }
    return true;
}

/* The profile of a made column, whose cells are counted. False: out of memory. */
static bool profile_of(tab_arena *a, const tab_links *l, const tab_link_feature *f, const tab_column *col,
                       size_t rows, tab_column_profile *c)
{
    c->column = col;
    c->type = TAB_NUMERIC;
    c->role = TAB_ROLE_MEASURE;
    for (size_t i = 0; i < rows; i++)
        c->present += col->layout == TAB_CODED ? col->code[i] != TAB_NULL : !isnan(col->num[i]);
    c->distinct = c->present;
    c->missing = rows == 0 ? 0 : 1 - (double)c->present / (double)rows;
    if (f->kind != TAB_LINK_CODE) {
        c->number = col->num;
        return true;
    }
    const tab_column_profile *of = &l->p[f->table]->col[f->column];
    tab_str *level = tab_arena_new_of(a, tab_str, col->levels + 1);
    uint32_t *none = col->layout == TAB_CODED ? NULL : tab_arena_new_of(a, uint32_t, rows + 1);
    if (level == NULL || (none == NULL && col->layout != TAB_CODED))
        return false;
    for (size_t k = 0; k < col->levels; k++)
        level[k] = tab_level(col, k);
    for (size_t i = 0; none != NULL && i < rows; i++) /* a column without a cell has no codes */
        none[i] = TAB_NULL;
    c->type = of->type;
    c->role = of->role;
    c->code = none != NULL ? none : col->code;
    c->level = level;
    c->levels = c->distinct = none != NULL ? 0 : col->levels;
    return true;
}

bool tab_link_profiles(tab_arena *a, const tab_links *l, const tab_link_feature *const *f, size_t n,
                       const tab_link_values *v, size_t rows, size_t first, tab_column_profile *c)
{
    tab_column *col = tab_arena_new_of(a, tab_column, n + 1);
    if (col == NULL || !columns_of(a, l, f, n, v, rows, col))
        return false;
    for (size_t k = 0; k < n; k++) {
        c[k] = (tab_column_profile){ .index = first + k };
        if (!profile_of(a, l, f[k], &col[k], rows, &c[k]))
            return false;
    }
    return true;
}

tab_status tab_links_widen(const tab_engine *e, const tab_links *l, const tab_link_set *s,
                           const tab_profile *p, const uint32_t *row, tab_profile **ret, tab_error *err)
{
    tab_arena *a = e->arena;
    size_t rows = p->table->rows, own = p->table->cols;
    tab_subjects subjects;
    tab_link_values v;
    tab_profile *wide = tab_arena_new_of(a, tab_profile, 1);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, own + s->n);
    tab_column_profile *c = tab_arena_new_of(a, tab_column_profile, own + s->n);
    if (wide == NULL || t == NULL || col == NULL || c == NULL ||
        !tab_subjects_pinned(a, l, row, rows, &subjects))
        return tab_no_memory(err);
    TAB_TRY(tab_link_fill(e, l, s->feature, s->n, &subjects, &v, err));
    memcpy(c, p->col, own * sizeof *c);
    if (!tab_link_profiles(a, l, s->feature, s->n, &v, rows, own, c + own))
        return tab_no_memory(err);
    memcpy(col, p->table->col, own * sizeof *col);
    for (size_t k = 0; k < s->n; k++)
        col[own + k] = *c[own + k].column;
    *t = (tab_table){ .id = p->table->id, .rows = rows, .cols = own + s->n, .col = col };
    *wide = *p;
    wide->table = t;
    wide->col = c;
    *ret = wide;
    return TAB_OK;
}

tab_status tab_links_rows(const tab_engine *e, const tab_links *l, const tab_link_set *s, const tab_table *t,
                          tab_table **ret, tab_error *err)
{
    tab_arena *a = e->arena;
    tab_subjects subjects;
    tab_link_values v;
    tab_table *wide = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + s->n);
    if (wide == NULL || col == NULL || !tab_subjects_new(a, l, t, &subjects))
        return tab_no_memory(err);
    TAB_TRY(tab_link_fill(e, l, s->feature, s->n, &subjects, &v, err));
    memcpy(col, t->col, t->cols * sizeof *col);
    if (!columns_of(a, l, s->feature, s->n, &v, t->rows, col + t->cols))
        return tab_no_memory(err);
    *wide = (tab_table){ .id = t->id, .rows = t->rows, .cols = t->cols + s->n, .col = col };
    *ret = wide;
    return TAB_OK;
}
