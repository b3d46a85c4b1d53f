/* See table.h. A column is one that any row has told; rows without it are empty there. */
#include "services/jobs/outcomes/table.h"

#include <assert.h>

#include "common/json/json.h"

enum { DEPTH = 2 };

bool outcome_is_kept(const Tabella__Endpoint *e, const Tabella__OutcomeRow *row, const counted *c)
{
    return row->cells.len > 0 && c->receipt.task != TAB_RECEIPT_ANOMALY &&
           c->receipt.config_revision >= e->target_revision;
}

struct outcome_table {
    tab_arena *a;
    tab_builder **column; /* (cols), the outcomes first */
    tab_str *name;
    size_t cols, rows;
};

static tab_builder *column_of(outcome_table *x, tab_str name)
{
    size_t c = 1;
    while (c < x->cols && !tab_str_eq(x->name[c], name))
        c++;
    if (c == x->cols && c < OUTCOME_COLUMNS) {
        x->name[c] = tab_arena_copy(x->a, name);
        x->column[c] = tab_builder_new(x->a, x->name[c]);
        x->cols += x->column[c] != NULL;
    }
    return c < x->cols ? x->column[c] : NULL;
}

static void add_json(tab_builder *b, const tab_json *v)
{
    double number;
    size_t n;
    if (v->kind == TAB_JSON_BOOL)
        tab_builder_bool(b, v->yes);
    else if (v->kind == TAB_JSON_STRING)
        tab_builder_text(b, v->text);
    else if (v->kind != TAB_JSON_NUMBER)
        tab_builder_null(b);
    else if (tab_number_read(v->text.p, v->text.p + v->text.n, &n, &number) == TAB_NUMBER_EXACT)
        tab_builder_number(b, number);
    else
        tab_builder_number_text(b, v->text);
}

tab_status outcome_table_add(outcome_table *x, const Tabella__OutcomeRow *o, tab_error *err)
{
    tab_str cells = tab_arena_copy(x->a, (tab_str){ (const char *)o->cells.data, o->cells.len });
    const tab_json *row;
    if (cells.p == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_json_read_own(x->a, cells, DEPTH, &row, err));
    if (o->kind == 1)
        tab_builder_bool(x->column[0], o->number != 0);
    else if (o->kind == 2)
        tab_builder_number(x->column[0], o->number);
    else
        tab_builder_text(x->column[0], (tab_str){ (const char *)o->text.data, o->text.len });
    for (const tab_json *v = row->first; v != NULL; v = v->next) {
        tab_builder *b = column_of(x, v->key);
        if (b == NULL && x->cols < OUTCOME_COLUMNS)
            return tab_no_memory(err);
        if (b == NULL)
            continue;
        assert(tab_builder_rows(b) <= x->rows); /* the reader takes no key twice */
        tab_builder_pad(b, x->rows);
        add_json(b, v);
    }
    x->rows++;
    return TAB_OK;
}

outcome_table *outcome_table_new(tab_arena *a)
{
    outcome_table *x = tab_arena_new_of(a, outcome_table, 1);
    if (x == NULL)
        return NULL;
    *x = (outcome_table){ .a = a,
                          .column = tab_arena_new_of(a, tab_builder *, OUTCOME_COLUMNS),
                          .name = tab_arena_new_of(a, tab_str, OUTCOME_COLUMNS),
                          .cols = 1 };
    bool ok =
        x->name != NULL && x->column != NULL && (x->column[0] = tab_builder_new(a, TAB_S("outcome"))) != NULL;
    return ok ? x : NULL;
}

tab_status outcome_table_end(outcome_table *x, tab_status s, const tab_table **ret, tab_error *err)
{
    tab_column *col = tab_arena_new_of(x->a, tab_column, x->cols);
    tab_table *t = tab_arena_new_of(x->a, tab_table, 1);
    tab_column none;
    for (size_t c = 0; c < x->cols; c++) {
        tab_builder_pad(x->column[c], x->rows);
        if (!tab_builder_finish(x->column[c], col == NULL ? &none : &col[c]) && s == TAB_OK)
            s = tab_no_memory(err);
    }
    if (s != TAB_OK)
        return s;
    if (col == NULL || t == NULL)
        return tab_no_memory(err);
    *t = (tab_table){ .id = TAB_S("outcomes"), .rows = x->rows, .cols = x->cols, .col = col };
    *ret = x->rows > 0 ? t : NULL;
    return TAB_OK;
}
