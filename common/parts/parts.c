/* See parts.h. What lies in pieces is read piece by piece; matches and duplicates are the head's. */
#include <math.h>

#include "common/parts/own.h"

enum { PART_ROWS = 8192 }; /* of a batch that is made of a head */

static tab_str bytes_of(ProtobufCBinaryData d)
{
    return (tab_str){ (const char *)d.data, d.len };
}

/* ---- columns --------------------------------------------------------------------------------- */

bool part_column(tab_part *p, tab_str name, tab_file_type type)
{
    enum { FIRST = 16 };
    if ((p->cols & (p->cols - 1)) == 0 && (p->cols == 0 || p->cols >= FIRST)) { /* twice as many */
        size_t room = p->cols == 0 ? FIRST : 2 * p->cols;
        tab_file_column *column = tab_arena_new_of(p->arena, tab_file_column, room);
        bool *open = tab_arena_new_of(p->arena, bool, room);
        if (column == NULL || open == NULL)
            return false;
        if (p->cols > 0) {
            memcpy(column, p->column, p->cols * sizeof *column);
            memcpy(open, p->open_type, p->cols * sizeof *open);
        }
        p->column = column;
        p->open_type = open;
    }
    p->column[p->cols++] = (tab_file_column){ name, type };
    return true;
}

bool part_open_column(tab_part *p, tab_str name)
{
    bool good = part_column(p, name, TAB_FILE_TEXT);
    if (good)
        p->open_type[p->cols - 1] = true;
    return good;
}

tab_status part_absent(tab_error *err, const char *what)
{
    return tab_fail(err, TAB_NOT_FOUND, "", "this result has no %s", what);
}

static tab_status opened(tab_part *p, tab_error *err)
{
    return tab_arena_full(p->arena) ? tab_no_memory(err) : TAB_OK;
}

/* A table of the builders' columns. */
tab_status part_finished(tab_arena *a, tab_builder *const *b, size_t cols, size_t rows, const tab_table **ret,
                         tab_error *err)
{
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, cols + 1);
    bool good = t != NULL && col != NULL;
    for (size_t k = 0; k < cols; k++) {
        if (good)
            good = tab_builder_finish(b[k], &col[k]);
        else
            tab_builder_drop(b[k]);
    }
    if (!good)
        return tab_no_memory(err);
    *t = (tab_table){ .id = TAB_S(""), .rows = rows, .cols = cols, .col = col };
    *ret = t;
    return TAB_OK;
}

tab_status part_builders(tab_part *p, tab_arena *a, tab_builder ***ret, tab_error *err)
{
    *ret = tab_arena_new_of(a, tab_builder *, p->cols + 1);
    for (size_t k = 0; *ret != NULL && k < p->cols; k++)
        if (((*ret)[k] = tab_builder_new(a, p->column[k].name)) == NULL) {
            while (k-- > 0)
                tab_builder_drop((*ret)[k]);
            *ret = NULL;
        }
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

/* ---- paged arrays ---------------------------------------------------------------------------- */

static tab_status read_piece(tab_part *p, tab_part_cursor *c, tab_error *err)
{
    if (p->source.piece == NULL) {
        c->piece = p->b;
        c->first = 0;
        c->held = c->total;
        return TAB_OK;
    }
    c->arena = tab_arena_new((size_t)1 << 30);
    if (c->arena == NULL)
        return tab_no_memory(err);
    TAB_TRY(p->source.piece(p->source.of, c->arena, c->array, c->at, &c->piece, err));
    c->first = tab_bundle_first(c->piece, c->array);
    c->held = tab_bundle_held(c->piece, c->array);
    return TAB_OK;
}

tab_status part_seek(tab_part *p, tab_part_cursor *c, tab_error *err)
{
    if (c->piece != NULL && c->at >= c->first && c->at < c->first + c->held)
        return TAB_OK;
    tab_arena_free(c->arena);
    c->arena = NULL;
    c->piece = NULL;
    TAB_TRY(read_piece(p, c, err));
    return c->at >= c->first && c->at < c->first + c->held
               ? TAB_OK
               : tab_fail(err, TAB_INTERNAL, "", "a piece that does not hold what it should");
}

static void cursor_open(tab_part *p, size_t k, tab_paged array)
{
    p->cursor[k] = (tab_part_cursor){ .array = array, .total = tab_bundle_total(p->b, array) };
}

/* ---- results --------------------------------------------------------------------------------- */

/* The columns of every kind; then those of the kind, then what some results alone have. */
enum { ROW, MISSING, VALUE, SURE, OWN };
enum { SHARES = 64 }; /* classes, of which each has a column of its own */

static const Tabella__Results *results_at(const tab_part_cursor *c)
{
    const Tabella__Prediction *p = c->piece->prediction;
    return c->array == TAB_PAGE_RESULTS ? p->results : p->missing_target_results;
}

static tab_file_type class_type(const Tabella__Prediction *p, size_t n)
{
    tab_column c;
    return p->classes != NULL && tab_column_view(p->classes, n, &c) ? tab_file_type_of(tab_file_look(&c, n))
                                                                    : TAB_FILE_TEXT;
}

static size_t classes_of(const Tabella__Prediction *p)
{
    return p->classes == NULL  ? 0
           : p->classes->coded ? p->classes->codes.len / 4
                               : p->classes->numbers.len / 8;
}

static size_t shares_of(const tab_part *p, const Tabella__Prediction *q)
{
    size_t n = classes_of(q);
    return p->shares && n <= SHARES ? n : 0;
}

/* p(CLASS), for each. */
static void share_columns(tab_part *p)
{
    tab_column c;
    size_t n = shares_of(p, p->b->prediction);
    if (n == 0 || !tab_column_view(p->b->prediction->classes, n, &c))
        return;
    for (size_t k = 0; k < n; k++) {
        char number[32];
        tab_cell x = tab_cell_at(&c, k);
        if (x.kind == TAB_CELL_NUMBER && x.text.n == 0)
            x.text = (tab_str){ number, tab_number_text(x.num, number) };
        (void)part_column(p, tab_str_of(tab_arena_printf(p->arena, "p(%.*s)", (int)x.text.n, x.text.p)),
                          TAB_FILE_REAL);
    }
}

static tab_status results_open(tab_part *p, tab_error *err)
{
    const Tabella__Prediction *q = p->b->prediction;
    if (q == NULL ||
        tab_bundle_total(p->b, TAB_PAGE_RESULTS) + tab_bundle_total(p->b, TAB_PAGE_MISSING_TARGET) == 0)
        return part_absent(err, "predictions");
    const Tabella__Results *r =
        tab_bundle_total(p->b, TAB_PAGE_RESULTS) > 0 ? q->results : q->missing_target_results;
    cursor_open(p, 0, TAB_PAGE_RESULTS);
    cursor_open(p, 1, TAB_PAGE_MISSING_TARGET);
    (void)(part_column(p, TAB_S("row"), TAB_FILE_INT) &&
           part_column(p, TAB_S("target_missing"), TAB_FILE_BOOL));
    if (r->n_label > 0) {
        (void)(part_column(p, TAB_S("predicted"), class_type(q, classes_of(q))) &&
               part_column(p, TAB_S("probability"), TAB_FILE_REAL));
        share_columns(p);
    } else if (r->n_value > 0) {
        (void)(part_column(p, TAB_S("predicted"), TAB_FILE_REAL) &&
               part_column(p, TAB_S("std"), TAB_FILE_REAL));
        for (size_t k = 0; k < q->n_quantile_levels; k++)
            (void)part_column(p, tab_str_of(tab_arena_printf(p->arena, "quantile_%g", q->quantile_levels[k])),
                              TAB_FILE_REAL);
    } else {
        (void)(part_column(p, TAB_S("anomaly_score"), TAB_FILE_REAL) &&
               part_column(p, TAB_S("is_anomaly"), TAB_FILE_BOOL));
    }
    (void)(part_column(p, TAB_S("regime"), TAB_FILE_TEXT) &&
           part_column(p, TAB_S("low_confidence_reason"), TAB_FILE_TEXT));
    return opened(p, err);
}

/* As the answer prints it, so that both say the same of a score at the threshold. */
static double printed(double x)
{
    return round(x * 1e6);
}

static void result_row(const tab_part *p, tab_builder *const *b, const tab_part_cursor *c, bool missing)
{
    const Tabella__Prediction *q = c->piece->prediction;
    const Tabella__Results *r = results_at(c);
    size_t i = c->at - c->first, classes = classes_of(q), k = VALUE;
    tab_builder_number(b[ROW], r->row[i]);
    tab_builder_bool(b[MISSING], missing);
    if (r->n_label > 0) {
        tab_column class;
        if (tab_column_view(q->classes, classes, &class))
            tab_builder_cell(b[VALUE], tab_cell_at(&class, r->label[i]));
        tab_builder_number(b[SURE], r->probabilities[i * classes + r->label[i]]);
        for (k = OWN; k < OWN + shares_of(p, q); k++)
            tab_builder_number(b[k], r->probabilities[i * classes + k - OWN]);
    } else if (r->n_value > 0) {
        tab_builder_number(b[VALUE], r->value[i]);
        if (r->n_std > 0)
            tab_builder_number(b[SURE], r->std[i]);
        else
            tab_builder_null(b[SURE]);
        for (k = OWN; k < OWN + q->n_quantile_levels; k++)
            tab_builder_number(b[k], r->quantiles[i * q->n_quantile_levels + k - OWN]);
    } else {
        tab_builder_number(b[VALUE], r->anomaly_score[i]);
        tab_builder_bool(b[SURE], printed(r->anomaly_score[i]) >= printed(q->threshold));
        k = OWN;
    }
    uint32_t regime = r->n_regime > 0 ? r->regime[i] : 0, doubt = r->n_doubt > 0 ? r->doubt[i] : 0;
    tab_builder_text(b[k], tab_str_of(tab_bundle_regime[regime]));
    if (doubt > 0)
        tab_builder_text(b[k + 1], tab_str_of(q->doubts[doubt - 1]));
    else
        tab_builder_null(b[k + 1]);
}

/* Both arrays are in the order of rows: so is the file. */
static tab_status results_next(tab_part *p, tab_arena *a, const tab_table **ret, tab_error *err)
{
    tab_part_cursor *known = &p->cursor[0], *asked = &p->cursor[1];
    tab_builder **b;
    size_t rows = 0;
    *ret = NULL;
    if (known->at == known->total && asked->at == asked->total)
        return TAB_OK;
    TAB_TRY(part_builders(p, a, &b, err));
    tab_status s = TAB_OK;
    while (rows < PART_ROWS && s == TAB_OK && (known->at < known->total || asked->at < asked->total)) {
        if (known->at < known->total)
            s = part_seek(p, known, err);
        if (s == TAB_OK && asked->at < asked->total)
            s = part_seek(p, asked, err);
        if (s != TAB_OK)
            break;
        bool missing = known->at == known->total ||
                       (asked->at < asked->total && results_at(asked)->row[asked->at - asked->first] <
                                                        results_at(known)->row[known->at - known->first]);
        tab_part_cursor *c = missing ? asked : known;
        result_row(p, b, c, missing);
        c->at++;
        rows++;
    }
    if (s == TAB_OK)
        return part_finished(a, b, p->cols, rows, ret, err);
    for (size_t k = 0; k < p->cols; k++)
        tab_builder_drop(b[k]);
    return s;
}

/* ---- arrays whose pieces are batches ---------------------------------------------------------- */

static tab_column numbers(tab_str name, const double *x)
{
    return (tab_column){ .name = name, .layout = TAB_NUMBERS, .num = x };
}

/* The piece at the cursor as a batch, its columns made by `fill`. */
static tab_status piece_next(tab_part *p, tab_arena *a,
                             bool (*fill)(tab_part *p, tab_arena *a, const Tabella__Bundle *b,
                                          tab_column *col),
                             const tab_table **ret, tab_error *err)
{
    tab_part_cursor *c = &p->cursor[0];
    *ret = NULL;
    if (c->at == c->total)
        return TAB_OK;
    TAB_TRY(part_seek(p, c, err));
    tab_column *col = tab_arena_new_of(a, tab_column, p->cols + 1);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    if (col == NULL || t == NULL || !fill(p, a, c->piece, col))
        return tab_no_memory(err);
    *t = (tab_table){ .id = TAB_S(""), .rows = c->held, .cols = p->cols, .col = col };
    c->at = c->first + c->held;
    *ret = t;
    return TAB_OK;
}

static tab_status forecast_open(tab_part *p, tab_error *err)
{
    const Tabella__Forecast *f = p->b->prediction == NULL ? NULL : p->b->prediction->forecast;
    if (f == NULL || f->n_value == 0)
        return part_absent(err, "forecast; the run did not ask for one");
    cursor_open(p, 0, TAB_PAGE_FORECAST);
    for (size_t i = 0; i < f->n_series; i++) { /* "table.column" */
        tab_str name = bytes_of(f->series[i]->address);
        const char *dot = memchr(name.p, '.', name.n);
        if (dot != NULL)
            name = (tab_str){ dot + 1, (size_t)(name.p + name.n - dot - 1) };
        (void)part_open_column(p, name);
    }
    static const char *const figures[] = { "value", "low", "high" };
    (void)part_open_column(p, TAB_S("time"));
    for (size_t i = 0; i < 3; i++)
        (void)part_column(p, tab_str_of(figures[i]), TAB_FILE_REAL);
    return opened(p, err);
}

static bool forecast_fill(tab_part *p, tab_arena *a, const Tabella__Bundle *b, tab_column *col)
{
    const Tabella__Forecast *f = b->prediction->forecast;
    size_t k = 0;
    (void)a;
    for (; k < f->n_series; k++)
        if (!tab_column_view(f->series_value[k], f->n_value, &col[k]))
            return false;
    if (!tab_column_view(f->at, f->n_value, &col[k]))
        return false;
    const double *const figure[] = { f->value, f->low, f->high };
    for (size_t i = 0; i < 3; i++)
        col[k + 1 + i] = numbers(p->column[k + 1 + i].name, figure[i]);
    return true;
}

static tab_status forecast_next(tab_part *p, tab_arena *a, const tab_table **ret, tab_error *err)
{
    return piece_next(p, a, forecast_fill, ret, err);
}

static tab_status unified_open(tab_part *p, tab_error *err)
{
    const Tabella__UnifiedRows *u = p->b->unified_rows;
    if (u == NULL || tab_bundle_total(p->b, TAB_PAGE_UNIFIED) == 0)
        return part_absent(err, "unified rows; its tables share no entities, or there is only one table");
    cursor_open(p, 0, TAB_PAGE_UNIFIED);
    for (size_t i = 0; i < u->records->n_columns; i++)
        (void)part_open_column(p, bytes_of(u->records->columns[i]->name));
    (void)(part_column(p, TAB_S("entity"), TAB_FILE_INT) &&
           part_column(p, TAB_S("confidence"), TAB_FILE_REAL));
    for (size_t t = 0; t < u->n_from_tables; t++)
        (void)part_column(p,
                          tab_str_of(tab_arena_printf(p->arena, "row in %.*s", (int)u->from_tables[t].len,
                                                      u->from_tables[t].data)),
                          TAB_FILE_INT);
    return opened(p, err);
}

static bool unified_fill(tab_part *p, tab_arena *a, const Tabella__Bundle *b, tab_column *col)
{
    const Tabella__UnifiedRows *u = b->unified_rows;
    size_t rows = u->records->rows, tables = u->n_from_tables, k = 0;
    for (; k < u->records->n_columns; k++)
        if (!tab_column_view(u->records->columns[k], rows, &col[k]))
            return false;
    double *entity = tab_arena_new_of(a, double, rows + 1);
    for (size_t i = 0; entity != NULL && i < rows; i++)
        entity[i] = (double)(p->cursor[0].first + i);
    col[k++] = numbers(TAB_S("entity"), entity);
    col[k++] = numbers(TAB_S("confidence"), u->confidence);
    for (size_t t = 0; t < tables; t++, k++) {
        double *row = tab_arena_new_of(a, double, rows + 1);
        for (size_t i = 0; row != NULL && i < rows; i++)
            row[i] =
                u->from_row[i * tables + t] == UINT32_MAX ? __builtin_nan("") : u->from_row[i * tables + t];
        col[k] = numbers(p->column[k].name, row);
    }
    return !tab_arena_full(a);
}

static tab_status unified_next(tab_part *p, tab_arena *a, const tab_table **ret, tab_error *err)
{
    return piece_next(p, a, unified_fill, ret, err);
}

/* ---- matches, duplicates ---------------------------------------------------------------------- */

static tab_status matches_open(tab_part *p, tab_error *err)
{
    const Tabella__CrossTableMap *m = p->b->cross_table_map;
    if (m == NULL || m->entity_matches == NULL || m->entity_matches->n_a_row == 0)
        return part_absent(err, "matches; its tables share no entities, or there is only one table");
    static const tab_file_column columns[] = {
        { TAB_S("a_table"), TAB_FILE_TEXT },    { TAB_S("a_row"), TAB_FILE_INT },
        { TAB_S("b_table"), TAB_FILE_TEXT },    { TAB_S("b_row"), TAB_FILE_INT },
        { TAB_S("confidence"), TAB_FILE_REAL }, { TAB_S("matched_on"), TAB_FILE_TEXT },
    };
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        (void)part_column(p, columns[k].name, columns[k].type);
    return opened(p, err);
}

/* The attributes that speak for a match, a comma between. */
static tab_str matched_on(tab_arena *a, const Tabella__EntityMatches *e, size_t i)
{
    tab_str text = TAB_S("");
    for (size_t k = i == 0 ? 0 : e->matched_on_end[i - 1]; k < e->matched_on_end[i]; k++)
        if (e->weight[k] >= 0.0005) /* as it is printed */
            text = tab_str_of(tab_arena_printf(a, "%.*s%s%.*s", TAB_STR(text), text.n > 0 ? ", " : "",
                                               (int)e->attributes[e->matched_on[k]].len,
                                               (const char *)e->attributes[e->matched_on[k]].data));
    return text;
}

static tab_status matches_next(tab_part *p, tab_arena *a, const tab_table **ret, tab_error *err)
{
    const Tabella__EntityMatches *e = p->b->cross_table_map->entity_matches;
    tab_builder **b;
    size_t from = p->at;
    *ret = NULL;
    if (from == e->n_a_row)
        return TAB_OK;
    TAB_TRY(part_builders(p, a, &b, err));
    for (; p->at < e->n_a_row && p->at < from + PART_ROWS; p->at++) {
        size_t i = p->at;
        tab_builder_text(b[0], bytes_of(p->b->tables[e->a_table[i]]->id));
        tab_builder_number(b[1], e->a_row[i]);
        tab_builder_text(b[2], bytes_of(p->b->tables[e->b_table[i]]->id));
        tab_builder_number(b[3], e->b_row[i]);
        tab_builder_number(b[4], e->confidence[i]);
        tab_builder_text(b[5], matched_on(a, e, i));
    }
    return part_finished(a, b, p->cols, p->at - from, ret, err);
}

static tab_status duplicates_open(tab_part *p, tab_error *err)
{
    if (p->b->n_duplicates == 0)
        return part_absent(err, "duplicates");
    static const tab_file_column columns[] = { { TAB_S("table"), TAB_FILE_TEXT },
                                               { TAB_S("group"), TAB_FILE_INT },
                                               { TAB_S("row"), TAB_FILE_INT },
                                               { TAB_S("confidence"), TAB_FILE_REAL } };
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        (void)part_column(p, columns[k].name, columns[k].type);
    return opened(p, err);
}

/* One line a grouped row; groups are numbered over all tables. The table at hand is a batch. */
static tab_status duplicates_next(tab_part *p, tab_arena *a, const tab_table **ret, tab_error *err)
{
    tab_builder **b;
    size_t rows = 0, number = 0;
    *ret = NULL;
    if (p->at == p->b->n_duplicates)
        return TAB_OK;
    const Tabella__DuplicateGroups *d = p->b->duplicates[p->at];
    for (size_t t = 0; t < p->at; t++)
        number += p->b->duplicates[t]->n_confidence;
    p->at++;
    TAB_TRY(part_builders(p, a, &b, err));
    for (size_t g = 0; g < d->n_confidence; g++, number++)
        for (; rows < d->row_end[g]; rows++) {
            tab_builder_text(b[0], bytes_of(p->b->tables[d->table]->id));
            tab_builder_number(b[1], (double)number);
            tab_builder_number(b[2], d->row[rows]);
            tab_builder_number(b[3], d->confidence[g]);
        }
    return part_finished(a, b, p->cols, rows, ret, err);
}

static tab_status suspects_open(tab_part *p, tab_error *err)
{
    if (tab_bundle_total(p->b, TAB_PAGE_SUSPECTS) == 0)
        return part_absent(err, "suspects");
    cursor_open(p, 0, TAB_PAGE_SUSPECTS);
    (void)(part_column(p, TAB_S("table"), TAB_FILE_TEXT) && part_column(p, TAB_S("row"), TAB_FILE_INT) &&
           part_column(p, TAB_S("column"), TAB_FILE_TEXT) && part_open_column(p, TAB_S("value")) &&
           part_column(p, TAB_S("kind"), TAB_FILE_TEXT) && part_open_column(p, TAB_S("suggestion")) &&
           part_column(p, TAB_S("confidence"), TAB_FILE_REAL) &&
           part_column(p, TAB_S("reason"), TAB_FILE_TEXT));
    return opened(p, err);
}

/* One suspect as a row; the columns' names are those of the head. */
static void suspect_row(const tab_part *p, tab_builder *const *b, const Tabella__Suspects *s, size_t i,
                        const tab_column *value, const tab_column *suggestion)
{
    const Tabella__TableUnderstanding *t = p->b->tables[s->table[i]];
    tab_builder_text(b[0], bytes_of(t->id));
    tab_builder_number(b[1], s->row[i]);
    tab_builder_text(b[2], bytes_of(t->column_profile[s->column[i]]->name));
    tab_builder_cell(b[3], tab_cell_at(value, i));
    tab_builder_text(b[4], tab_str_of(tab_bundle_suspect[s->kind[i]]));
    tab_builder_cell(b[5], tab_cell_at(suggestion, i));
    tab_builder_number(b[6], s->confidence[i]);
    tab_builder_text(b[7], tab_str_of(s->reason[i]));
}

static tab_status suspects_next(tab_part *p, tab_arena *a, const tab_table **ret, tab_error *err)
{
    tab_part_cursor *c = &p->cursor[0];
    tab_builder **b;
    tab_column value, suggestion;
    *ret = NULL;
    if (c->at == c->total)
        return TAB_OK;
    TAB_TRY(part_seek(p, c, err));
    const Tabella__Suspects *s = c->piece->suspects;
    if (!tab_column_view(s->value, s->n_row, &value) ||
        !tab_column_view(s->suggestion, s->n_row, &suggestion))
        return tab_no_memory(err);
    TAB_TRY(part_builders(p, a, &b, err));
    for (size_t i = 0; i < c->held; i++)
        suspect_row(p, b, s, i, &value, &suggestion);
    c->at = c->first + c->held;
    return part_finished(a, b, p->cols, c->held, ret, err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

const tab_part_kind part_kinds[] = {
    { "results", results_open, results_next },
    { "unified_rows", unified_open, unified_next },
    { "matches", matches_open, matches_next },
    { "duplicates", duplicates_open, duplicates_next },
    { "suspects", suspects_open, suspects_next },
    { "forecast", forecast_open, forecast_next },
    { NULL, NULL, NULL },
};
