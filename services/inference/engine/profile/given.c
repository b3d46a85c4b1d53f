/* See given.h. bundle.c, evaluate/ and the serving of endpoints profile tables by it.
 *
 *   named marks ─> null ─> profile ─> marks by evidence ─> null ─> profile anew ─> columns as given */
#include "services/inference/engine/profile/given.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/profile/features/column.h"
#include "services/inference/engine/profile/roles/roles.h"

/* What counts as missing. `by` says which texts of a column do, beside the named ones. */
struct tab_voids {
    bool evidence; /* the columns' own marks as well */
    const tab_str *text;
    size_t texts;
    const double *number;
    size_t numbers;
};

/* ---- void cells ------------------------------------------------------------------------------ */

static tab_str trimmed(tab_str s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s.p++, s.n--;
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static bool among(tab_str s, const tab_str *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tab_str_eq(s, list[i]))
            return true;
    return false;
}

/* Whether a cell that is not null is void; mark (marks): the column's own. */
static bool is_void(const struct tab_voids *v, tab_cell x, const tab_str *mark, size_t marks)
{
    char buf[32];
    tab_str s = trimmed(x.text);
    if (x.kind == TAB_CELL_NUMBER)
        for (size_t i = 0; i < v->numbers; i++)
            if (x.num == v->number[i]) // NOLINT: the very number
                return true;
    if (x.kind == TAB_CELL_TEXT && (among(s, v->text, v->texts) || among(x.text, v->text, v->texts)))
        return true;
    if (marks > 0 && x.kind == TAB_CELL_NUMBER && x.text.n == 0)
        s = (tab_str){ buf, tab_number_text(x.num, buf) };
    return x.kind != TAB_CELL_BOOL && among(s, mark, marks);
}

/* gone (rows): which cells are null or void; a level is judged once. Whether any is void in *ret_any. */
static bool find_voids(const struct tab_voids *v, const tab_column *c, size_t rows, const tab_str *mark,
                       size_t marks, bool *gone, bool *ret_any)
{
    enum { UNASKED, STAYS, GOES };
    uint8_t *level = calloc(c->levels + 1, sizeof *level);
    for (size_t r = 0; level != NULL && r < rows; r++) {
        bool coded = c->layout == TAB_CODED, null = coded ? c->code[r] == TAB_NULL : isnan(c->num[r]);
        uint8_t *known = coded && !null ? &level[c->code[r]] : &(uint8_t){ UNASKED };
        if (!null && *known == UNASKED)
            *known = is_void(v, tab_cell_at(c, r), mark, marks) ? GOES : STAYS;
        gone[r] = null || *known == GOES;
        *ret_any = *ret_any || *known == GOES;
    }
    bool ok = level != NULL;
    free(level);
    return ok;
}

/* One column without its void cells. gone (rows) and known (levels) are scratch. False: memory. */
static bool clean_column(tab_arena *a, const struct tab_voids *v, const tab_column *c, size_t rows,
                         const tab_str *mark, size_t marks, bool *gone, tab_column *ret, bool *ret_any)
{
    bool any = false;
    *ret = *c;
    if (!find_voids(v, c, rows, mark, marks, gone, &any))
        return false;
    if (!any)
        return true;
    *ret_any = true;
    uint32_t *known = calloc(c->levels + 1, sizeof *known);
    tab_builder *b = known == NULL ? NULL : tab_builder_new(a, c->name);
    for (size_t r = 0; b != NULL && r < rows; r++) {
        double x;
        tab_cell cell = gone[r] ? (tab_cell){ 0 } : tab_cell_at(c, r);
        size_t n = 0;
        if (gone[r])
            tab_builder_null(b);
        else if (cell.kind == TAB_CELL_NUMBER && cell.text.n > 0 &&
                 tab_number_read(cell.text.p, cell.text.p + cell.text.n, &n, &x) == TAB_NUMBER_EXACT)
            tab_builder_number(b, x); /* without its marks the column may be one of numbers */
        else
            tab_builder_copy(b, c, r, known);
    }
    free(known);
    return b != NULL && tab_builder_finish(b, ret);
}

/* t without the cells that v, or where asked for a column's marks by p, make void. */
static const tab_table *clean(tab_arena *a, const struct tab_voids *v, const tab_profile *p, bool evidence,
                              const tab_table *t)
{
    tab_table *own = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    bool any = false, *gone = tab_arena_new_of(a, bool, t->rows + 1);
    if (own == NULL || col == NULL || gone == NULL)
        return NULL;
    for (size_t c = 0; c < t->cols; c++)
        if (!clean_column(a, v, &t->col[c], t->rows, evidence ? p->col[c].mark : NULL,
                          evidence ? p->col[c].marks : 0, gone, &col[c], &any))
            return NULL;
    *own = (tab_table){ .id = t->id, .rows = t->rows, .cols = t->cols, .col = col };
    return any ? own : t;
}

const tab_table *tab_void_cells(tab_arena *a, const tab_profile *p, const tab_table *t)
{
    return p->voids == NULL ? t : clean(a, p->voids, p, p->voids->evidence, t);
}

/* A copy that lives as long as the profile; NULL: the arena is full. */
static const struct tab_voids *keep_voids(tab_arena *a, const tab_given *g)
{
    struct tab_voids *v = tab_arena_new_of(a, struct tab_voids, 1);
    tab_str *text = tab_arena_new_of(a, tab_str, g->missing_texts + 1);
    double *number = tab_arena_new_of(a, double, g->missing_numbers + 1);
    if (v == NULL || text == NULL || number == NULL)
        return NULL;
    for (size_t i = 0; i < g->missing_texts; i++)
        text[i] = tab_arena_copy(a, g->missing_text[i]);
    if (g->missing_numbers > 0)
        memcpy(number, g->missing_number, g->missing_numbers * sizeof *number);
    *v = (struct tab_voids){ g->missing_auto, text, g->missing_texts, number, g->missing_numbers };
    return tab_arena_full(a) ? NULL : v;
}

/* ---- columns as given ------------------------------------------------------------------------ */

static tab_status refuse(tab_error *err, size_t i, const char *member, const char *why, tab_str what)
{
    char param[64];
    snprintf(param, sizeof param, "options.columns[%zu].%s", i, member);
    return tab_fail(err, TAB_VALIDATION, param, "%s \"%.*s\"", why, (int)(what.n < 64 ? what.n : 64), what.p);
}

/* The type by its name; false: there is none. */
static bool type_of(tab_str name, tab_type *ret)
{
    for (tab_type t = TAB_CATEGORICAL; t <= TAB_BOOLEAN; t++)
        if (tab_str_eq(name, tab_str_of(tab_type_name(t)))) {
            *ret = t;
            return true;
        }
    return false;
}

/* Views the column anew by its given type. */
static tab_status view(tab_arena *a, size_t i, const tab_column_option *o, size_t rows, tab_column_profile *c,
                       tab_error *err)
{
    tab_reading r;
    if (!tab_read_column(a, c->column, rows, &r))
        return tab_no_memory(err);
    if (c->present > 0 && ((c->type == TAB_NUMERIC && !r.can_number) ||
                           (c->type == TAB_DATETIME && !r.can_date && !r.can_number) ||
                           (c->type == TAB_BOOLEAN && !r.can_bool)))
        return refuse(err, i, o->type.n > 0 ? "type" : "role", "its values cannot be read as",
                      o->type.n > 0 ? o->type : o->role);
    return tab_view_column(&r, c) ? TAB_OK : tab_no_memory(err);
}

/* Makes column c what the caller says. */
static tab_status give(tab_arena *a, size_t i, const tab_column_option *o, size_t rows, tab_column_profile *c,
                       tab_error *err)
{
    tab_type was = c->type;
    if (o->role.n > 0) {
        int role = tab_role_of(o->role);
        if (role < 0)
            return refuse(err, i, "role", "no such role", o->role);
        c->role = role;
        c->role_confidence = c->type_confidence = 1;
        c->pii = tab_role_pii[role] != 0;
        c->pii_confidence = c->pii;
        c->identifying = tab_role_identifying[role] != 0;
        c->proven_key = role == TAB_ROLE_ID;
        c->type = tab_role_type(role, c->distinct, c->present);
    }
    if (o->type.n > 0 && !type_of(o->type, &c->type))
        return refuse(err, i, "type", "no such type", o->type);
    if (o->type.n > 0) {
        c->type_confidence = 1;
        c->numbers = c->type == TAB_NUMERIC; /* as a target, too */
    }
    if (c->type != was)
        TAB_TRY(view(a, i, o, rows, c, err));
    if (tab_str_eq(o->use, TAB_S("feature"))) {
        c->use = TAB_USE_FEATURE;
        c->identifying = false;
    } else if (tab_str_eq(o->use, TAB_S("key"))) {
        c->use = TAB_USE_KEY;
        c->identifying = c->proven_key = true;
    } else if (tab_str_eq(o->use, TAB_S("ignore"))) {
        c->use = TAB_USE_IGNORE;
    } else if (o->use.n > 0) {
        return refuse(err, i, "use", "a column is used as feature, key or ignore, not", o->use);
    }
    return TAB_OK;
}

tab_status tab_profile_given(const tab_engine *e, const tab_table *t, const tab_given *g, tab_profile **ret,
                             tab_error *err)
{
    tab_arena *a = e->arena;
    const struct tab_voids *v = NULL;
    tab_given told = g == NULL ? (tab_given){ 0 } : *g;
    told.missing_auto |= t->file && !told.missing_told;
    bool marks = told.missing_auto || told.missing_texts + told.missing_numbers > 0;
    if (marks && ((v = keep_voids(a, &told)) == NULL || (t = clean(a, v, NULL, false, t)) == NULL))
        return tab_no_memory(err);
    tab_profile *p = NULL;
    TAB_TRY(tab_profile_table(e, t, &p, err));
    if (marks && v->evidence) {
        const tab_table *own = clean(a, v, p, true, t);
        tab_profile *anew = p;
        if (own == NULL)
            return tab_no_memory(err);
        if (own != t)
            TAB_TRY(tab_profile_table(e, own, &anew, err));
        for (size_t c = 0; c < t->cols; c++) /* what was taken is told, and taken from served rows too */
            anew->col[c].mark = p->col[c].mark, anew->col[c].marks = p->col[c].marks;
        p = anew;
    }
    p->voids = v;
    for (size_t i = 0; g != NULL && i < g->columns; i++) {
        const tab_column_option *o = &g->column[i];
        size_t table, column;
        if (o->table.n > 0 && !tab_str_eq(o->table, t->id))
            continue;
        TAB_TRY(tab_column_given(a, &t, 1, o->table, o->column, i, &table, &column, err));
        TAB_TRY(give(a, i, o, t->rows, &p->col[column], err));
    }
    *ret = p;
    return TAB_OK;
}

static void pack_voids(tab_pack *p, void *each, const void *context)
{
    (void)context;
    struct tab_voids *v = each;
    tab_pack_strs(p, &v->text, v->texts);
    TAB_PACK(p, v->number, v->numbers);
}

void tab_pack_voids(tab_pack *p, const struct tab_voids *const *at)
{
    TAB_PACK_ONE(p, *at, pack_voids);
}
