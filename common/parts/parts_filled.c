/* See parts.h: a run's tables, whole, with the cells that it filled.
 *
 *   rows as the run read them, range by range + filled cells, which are in the order of table, row and column
 *     -> the table's columns; for each that was filled in part, whether a row's cell was (NAME_filled); and
 *        how sure the filled cells of a row are (row_confidence) */
#include <stdlib.h>

#include "common/parts/own.h"

enum { RANGE_CELLS = 4 << 20, RANGE_MOST = 65536, RANGE_LEAST = 1024 };

struct part_filled {
    size_t table, cols; /* its place in the bundle */
    size_t rows, step;
    size_t *flag;      /* (cols) place of a column's flag among all; 0: none of its cells was filled */
    size_t confidence; /* place of the next row's in the imputation */
};

static tab_str bytes_of(ProtobufCBinaryData d)
{
    return (tab_str){ (const char *)d.data, d.len };
}

/* ---- which table ----------------------------------------------------------------------------- */

static bool filled_in(const Tabella__Bundle *b, size_t table)
{
    for (size_t i = 0; i < b->imputation->n_columns; i++)
        if (b->imputation->columns[i]->table == table)
            return true;
    return false;
}

/* By its id; where that cannot stand in a path, by its number among the run's tables, counted from 0. */
static tab_status find_table(const tab_part *p, size_t *ret, tab_error *err)
{
    const Tabella__Bundle *b = p->b;
    size_t filled = 0, t;
    for (t = 0; t < b->n_tables; t++)
        if (filled_in(b, t)) {
            filled++;
            *ret = t;
        }
    if (p->table.n == 0 && b->n_tables > 1 && filled > 1)
        return tab_fail(err, TAB_NOT_FOUND, "",
                        "cells of several tables were filled; name one, for example result/filled/%.64s",
                        (const char *)tab_arena_copy(p->arena, bytes_of(b->tables[*ret]->id)).p);
    if (p->table.n == 0)
        return TAB_OK;
    for (t = 0; t < b->n_tables && !tab_str_eq(bytes_of(b->tables[t]->id), p->table); t++)
        continue;
    char *end = NULL;
    if (t == b->n_tables)
        t = strtoul(p->table.p, &end, 10);
    if ((end != NULL && end != p->table.p + p->table.n) || t >= b->n_tables)
        return tab_fail(err, TAB_NOT_FOUND, "", "the run has no table `%.*s`", TAB_STR(p->table));
    *ret = t;
    return filled_in(b, t) ? TAB_OK : part_absent(err, "filled cells in this table");
}

/* ---- where its rows are ----------------------------------------------------------------------- */

static tab_status read_rows(tab_part *p, tab_arena *a, size_t from, size_t rows, const tab_table **ret,
                            tab_error *err)
{
    TAB_TRY(p->source.rows(p->source.of, a, p->filled->table, from, rows, ret, err));
    return (*ret)->cols == p->filled->cols && (*ret)->rows == rows
               ? TAB_OK
               : tab_fail(err, TAB_INTERNAL, "", "rows of another table");
}

/* Said before the head of an answer leaves. */
static tab_status find_rows(tab_part *p, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    const tab_table *first;
    return a == NULL ? tab_no_memory(err) : read_rows(p, a, 0, p->filled->rows < 1 ? 0 : 1, &first, err);
}

/* ---- its filled cells ------------------------------------------------------------------------- */

/* The first cell of the table or of a later one. */
static tab_status seek_table(tab_part *p, tab_error *err)
{
    tab_part_cursor *c = &p->cursor[0];
    size_t lo = 0, hi = c->total;
    while (lo < hi) {
        c->at = lo + (hi - lo) / 2;
        TAB_TRY(part_seek(p, c, err));
        if (c->piece->imputation->table[c->at - c->first] < p->filled->table)
            lo = c->at + 1;
        else
            hi = c->at;
    }
    c->at = lo;
    const Tabella__Imputation *m = p->b->imputation;
    size_t k = 0;
    while (k < m->n_row_confidence && m->confidence_table[k] < p->filled->table)
        k++;
    p->filled->confidence = k;
    return TAB_OK;
}

static tab_status filled_open(tab_part *p, tab_error *err)
{
    const Tabella__Imputation *m = p->b->imputation;
    p->cursor[0] =
        (tab_part_cursor){ .array = TAB_PAGE_FILLED, .total = tab_bundle_total(p->b, TAB_PAGE_FILLED) };
    struct part_filled *f = p->filled = tab_arena_new_of(p->arena, struct part_filled, 1);
    if (f == NULL)
        return tab_no_memory(err);
    if (m == NULL || p->cursor[0].total == 0)
        return part_absent(err, "filled cells");
    TAB_TRY(find_table(p, &f->table, err));
    const Tabella__TableUnderstanding *t = p->b->tables[f->table];
    f->rows = t->rows;
    f->cols = t->n_column_profile;
    f->flag = tab_arena_new_of(p->arena, size_t, f->cols + 1);
    if (f->flag == NULL)
        return tab_no_memory(err);
    size_t fits = RANGE_CELLS / (f->cols > 0 ? f->cols : 1);
    f->step = fits < RANGE_LEAST ? RANGE_LEAST : fits > RANGE_MOST ? RANGE_MOST : fits;
    TAB_TRY(find_rows(p, err));
    tab_str *name = tab_arena_new_of(p->arena, tab_str, f->cols + 1);
    for (size_t i = 0; name != NULL && i < f->cols; i++)
        if (t->column_profile[i]->index < f->cols)
            name[t->column_profile[i]->index] = bytes_of(t->column_profile[i]->name);
    for (size_t k = 0; name != NULL && k < f->cols; k++)
        (void)part_open_column(p, name[k]);
    for (size_t i = 0; name != NULL && i < m->n_columns; i++)
        if (m->columns[i]->table == f->table) {
            f->flag[m->columns[i]->column] = p->cols;
            (void)part_column(
                p,
                tab_str_of(tab_arena_printf(p->arena, "%.*s_filled", TAB_STR(name[m->columns[i]->column]))),
                TAB_FILE_BOOL);
        }
    (void)part_column(p, TAB_S("row_confidence"), TAB_FILE_REAL);
    return tab_arena_full(p->arena) ? tab_no_memory(err) : TAB_OK;
}

/* ---- a range of rows -------------------------------------------------------------------------- */

const tab_table *tab_part_rows(tab_arena *a, const tab_table *all, size_t from, size_t rows)
{
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, all->cols + 1);
    if (t == NULL || col == NULL)
        return NULL;
    for (size_t k = 0; k < all->cols; k++) {
        col[k] = all->col[k];
        if (col[k].layout == TAB_NUMBERS)
            col[k].num += from;
        else
            col[k].code += from;
    }
    *t = (tab_table){ .id = all->id, .rows = rows, .cols = all->cols, .col = col };
    return t;
}

/* A column that is being filled: its cells up to row `next` are built. */
typedef struct {
    tab_builder *b, *flag;
    uint32_t *known;
    size_t next;
} filling;

static void copy_until(filling *f, const tab_column *c, size_t row)
{
    for (; f->next < row; f->next++) {
        tab_builder_copy(f->b, c, f->next, f->known);
        tab_builder_bool(f->flag, false);
    }
}

static bool begin_filling(tab_arena *a, filling *f, const tab_column *c)
{
    f->b = tab_builder_new(a, c->name);
    f->flag = tab_builder_new(a, TAB_S(""));
    f->known = tab_arena_new_of(a, uint32_t, c->levels + 1);
    return f->b != NULL && f->flag != NULL && f->known != NULL;
}

/* The cells that were filled in rows [from, from + rows). */
static tab_status fill_cells(tab_part *p, tab_arena *a, const tab_table *t, size_t from, filling *f,
                             tab_error *err)
{
    tab_part_cursor *c = &p->cursor[0];
    for (; c->at < c->total; c->at++) {
        TAB_TRY(part_seek(p, c, err));
        const Tabella__Imputation *m = c->piece->imputation;
        size_t i = c->at - c->first, column = m->column[i];
        if (m->table[i] != p->filled->table || m->row[i] >= from + t->rows)
            return TAB_OK;
        tab_column value;
        filling *x = &f[column];
        if (column >= t->cols || m->row[i] < from || p->filled->flag[column] == 0 ||
            !tab_column_view(m->value, m->n_row, &value))
            return tab_fail(err, TAB_INTERNAL, "", "a filled cell that is not the table's");
        if (x->b == NULL && !begin_filling(a, x, &t->col[column]))
            return tab_no_memory(err);
        copy_until(x, &t->col[column], m->row[i] - from);
        tab_builder_cell(x->b, tab_cell_at(&value, i));
        tab_builder_bool(x->flag, true);
        x->next++;
    }
    return TAB_OK;
}

/* How sure the filled cells of each row are; null where none was. */
static const double *confidences(tab_part *p, tab_arena *a, size_t from, size_t rows)
{
    const Tabella__Imputation *m = p->b->imputation;
    double *x = tab_arena_new_of(a, double, rows + 1);
    for (size_t i = 0; x != NULL && i < rows; i++)
        x[i] = __builtin_nan("");
    for (size_t *k = &p->filled->confidence; x != NULL && *k < m->n_row_confidence; ++*k) {
        if (m->confidence_table[*k] != p->filled->table || m->confidence_row[*k] >= from + rows)
            break;
        if (m->confidence_row[*k] >= from)
            x[m->confidence_row[*k] - from] = m->row_confidence[*k];
    }
    return x;
}

static bool no_flags(tab_arena *a, size_t rows, tab_column *ret)
{
    tab_builder *b = tab_builder_new(a, TAB_S(""));
    for (size_t i = 0; b != NULL && i < rows; i++)
        tab_builder_bool(b, false);
    return b != NULL && tab_builder_finish(b, ret);
}

static tab_status finish_rows(tab_part *p, tab_arena *a, const tab_table *t, size_t from, filling *f,
                              const tab_table **ret, tab_error *err)
{
    tab_table *made = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, p->cols + 1);
    if (made == NULL || col == NULL)
        return tab_no_memory(err);
    for (size_t k = 0; k < t->cols; k++) {
        size_t flag = p->filled->flag[k];
        col[k] = t->col[k];
        if (f[k].b == NULL) {
            if (flag > 0 && !no_flags(a, t->rows, &col[flag]))
                return tab_no_memory(err);
            continue;
        }
        copy_until(&f[k], &t->col[k], t->rows);
        bool good = tab_builder_finish(f[k].b, &col[k]);
        good = tab_builder_finish(f[k].flag, &col[flag]) && good;
        f[k].b = f[k].flag = NULL;
        if (!good)
            return tab_no_memory(err);
    }
    col[p->cols - 1] = (tab_column){ .name = p->column[p->cols - 1].name,
                                     .layout = TAB_NUMBERS,
                                     .num = confidences(p, a, from, t->rows) };
    *made = (tab_table){ .id = t->id, .rows = t->rows, .cols = p->cols, .col = col };
    *ret = made;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

static tab_status filled_next(tab_part *p, tab_arena *a, const tab_table **ret, tab_error *err)
{
    struct part_filled *f = p->filled;
    const tab_table *t = NULL;
    size_t from = p->at, rows = f->rows - from < f->step ? f->rows - from : f->step;
    *ret = NULL;
    if (rows == 0)
        return TAB_OK;
    if (from == 0)
        TAB_TRY(seek_table(p, err));
    TAB_TRY(read_rows(p, a, from, rows, &t, err));
    filling *x = tab_arena_new_of(a, filling, f->cols + 1);
    if (x == NULL)
        return tab_no_memory(err);
    tab_status s = fill_cells(p, a, t, from, x, err);
    if (s == TAB_OK)
        s = finish_rows(p, a, t, from, x, ret, err);
    for (size_t k = 0; s != TAB_OK && k < f->cols; k++) {
        tab_builder_drop(x[k].b);
        tab_builder_drop(x[k].flag);
    }
    p->at += rows;
    return s;
}

const tab_part_kind part_filled_kind = { "filled", filled_open, filled_next };
