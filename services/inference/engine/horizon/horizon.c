/* See horizon.h. */
#include "services/inference/engine/horizon/horizon.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/message.h"

/* ROWS: made rows that a pass may have. */
enum { ROWS = 50000000 };

/* ---- which rows are made ---------------------------------------------------------------------------- */

static bool missing(const tab_column_profile *c, size_t r)
{
    return c->number != NULL ? isnan(c->number[r])
           : c->code != NULL ? c->code[r] == TAB_NULL
                             : tab_cell_at(c->column, r).kind == TAB_CELL_NULL;
}

/* The last labelled row of each series by time: last (series.n), TAB_NULL where it has none. *ret: how
 * many have one. */
static size_t last_rows(const tab_series *s, size_t rows, const bool *asked, uint32_t *last)
{
    size_t n = 0;
    for (size_t k = 0; k < s->n; k++)
        last[k] = TAB_NULL;
    for (size_t r = 0; r < rows; r++) {
        uint32_t k = s->series[r];
        if (asked[r] || k == TAB_NULL || s->index[r] == INT64_MIN)
            continue;
        n += last[k] == TAB_NULL;
        if (last[k] == TAB_NULL || s->index[r] >= s->index[last[k]])
            last[k] = (uint32_t)r;
    }
    return n;
}

/* Which step, from 0, a row was sent for; horizon: none. */
static size_t step_of(const tab_series *s, size_t r, const bool *asked, const uint32_t *last, size_t horizon)
{
    uint32_t k = s->series[r];
    if (!asked[r] || k == TAB_NULL || last[k] == TAB_NULL || s->index[r] == INT64_MIN)
        return horizon;
    int64_t ahead = s->index[r] - s->index[last[k]];
    return ahead < 1 || ahead > (int64_t)horizon ? horizon : (size_t)ahead - 1;
}

/* Lists the steps: rows that were sent keep their place, the others follow the table's. from (n): the last
 * row of the series that a step continues. */
static bool list_steps(tab_arena *a, const bool *asked, const uint32_t *last, size_t horizon,
                       uint32_t **ret_from, tab_horizon *h)
{
    const tab_series *s = &h->series;
    uint32_t *from = tab_arena_new_of(a, uint32_t, h->n + 1), *place = malloc((s->n + 1) * sizeof *place);
    bool ends = tab_month_ends(s, h->rows);
    h->row = tab_arena_new_of(a, uint32_t, h->n + 1);
    h->when = tab_arena_new_of(a, double, h->n + 1);
    if (from == NULL || place == NULL || tab_arena_full(a)) {
        free(place);
        return false;
    }
    for (size_t k = 0, at = 0; k < s->n; k++) {
        place[k] = last[k] == TAB_NULL ? TAB_NULL : (uint32_t)at;
        for (size_t i = 0; last[k] != TAB_NULL && i < horizon; i++, at++) {
            from[at] = last[k];
            h->row[at] = TAB_NULL;
            h->when[at] = s->kind == TAB_TIME_ORDER ? (double)s->index[last[k]] + (double)i + 1
                                                    : tab_step_after(s, s->when[last[k]], i + 1, ends);
        }
    }
    for (size_t r = 0; r < h->rows; r++) {
        size_t step = step_of(s, r, asked, last, horizon);
        if (step == horizon || h->row[place[s->series[r]] + step] != TAB_NULL)
            continue;
        h->row[place[s->series[r]] + step] = (uint32_t)r;
        if (s->kind != TAB_TIME_ORDER)
            h->when[place[s->series[r]] + step] = s->when[r];
    }
    for (size_t i = 0; i < h->n; i++)
        if (h->row[i] == TAB_NULL)
            h->row[i] = (uint32_t)(h->rows + h->made++);
    free(place);
    *ret_from = from;
    return true;
}

/* ---- the longer table -------------------------------------------------------------------------------- */

/* A column's cells, then null for each made row. */
static bool longer_column(tab_arena *a, const tab_column *c, const tab_horizon *h, tab_column *ret)
{
    size_t all = h->rows + h->made;
    *ret = *c;
    if (c->layout == TAB_NUMBERS) {
        double *num = tab_arena_new_of(a, double, all + 1);
        if (num == NULL)
            return false;
        memcpy(num, c->num, h->rows * sizeof *num);
        for (size_t r = h->rows; r < all; r++)
            num[r] = (double)NAN;
        ret->num = num;
        return true;
    }
    uint32_t *code = tab_arena_new_of(a, uint32_t, all + 1);
    if (code == NULL)
        return false;
    memcpy(code, c->code, h->rows * sizeof *code);
    for (size_t r = h->rows; r < all; r++)
        code[r] = TAB_NULL;
    ret->code = code;
    return true;
}

/* The value of the series' last row for each made one. */
static void copy_keys(const tab_horizon *h, const uint32_t *from, tab_column *c)
{
    for (size_t i = 0; i < h->n; i++) {
        if (h->row[i] < h->rows)
            continue;
        if (c->layout == TAB_NUMBERS)
            ((double *)(uintptr_t)c->num)[h->row[i]] = c->num[from[i]];
        else
            ((uint32_t *)(uintptr_t)c->code)[h->row[i]] = c->code[from[i]];
    }
}

static bool write_times(tab_arena *a, const tab_column_profile *p, const tab_horizon *h, tab_column *c)
{
    tab_time_writing w = tab_time_writing_of(p, &h->series, h->rows);
    if (c->layout == TAB_NUMBERS) {
        for (size_t i = 0; i < h->n; i++)
            if (h->row[i] >= h->rows)
                ((double *)(uintptr_t)c->num)[h->row[i]] = tab_time_numbered(&w, h->when[i]);
        return true;
    }
    /* texts that no row has yet: the column is built anew */
    uint32_t *known = tab_arena_new_of(a, uint32_t, c->levels + 1);
    tab_builder *b = tab_builder_new(a, c->name);
    double *when = malloc((h->made + 1) * sizeof *when);
    bool ok = known != NULL && b != NULL && when != NULL;
    for (size_t i = 0; ok && i < h->n; i++)
        if (h->row[i] >= h->rows)
            when[h->row[i] - h->rows] = h->when[i];
    for (size_t r = 0; ok && r < h->rows; r++)
        tab_builder_copy(b, c, r, known);
    for (size_t r = 0; ok && r < h->made; r++)
        tab_builder_text(b, tab_time_written(a, &w, &h->series, when[r]));
    free(when);
    return ok && tab_builder_finish(b, c);
}

static bool make_table(tab_arena *a, const tab_profile *p, const uint32_t *from, tab_horizon *h)
{
    const tab_table *t = p->table;
    const tab_series *s = &h->series;
    tab_table *longer = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    if (longer == NULL || col == NULL)
        return false;
    for (size_t c = 0; c < t->cols; c++)
        if (!longer_column(a, &t->col[c], h, &col[c]))
            return false;
    for (size_t k = 0; k < s->keys; k++)
        copy_keys(h, from, &col[s->key[k]]);
    for (size_t k = 0; k < s->times; k++)
        if (!write_times(a, &p->col[s->time[k]], h, &col[s->time[k]]))
            return false;
    *longer = (tab_table){ .id = t->id, .rows = h->rows + h->made, .cols = t->cols, .col = col };
    h->table = longer;
    return true;
}

/* The time structure, and each series' last labelled row: what the steps follow from. */
static tab_status find_steps(tab_arena *a, const tab_profile *p, size_t target, size_t horizon,
                             bool **ret_asked, uint32_t **ret_last, tab_horizon *h, tab_error *err)
{
    size_t rows = p->table->rows;
    bool *asked = tab_arena_new_of(a, bool, rows + 1);
    tab_str id = p->table->id;
    *h = (tab_horizon){ .rows = rows };
    if (asked == NULL)
        return tab_no_memory(err);
    for (size_t r = 0; r < rows; r++)
        asked[r] = missing(&p->col[target], r);
    TAB_TRY(tab_series_find(a, p, target, asked, &h->series, err));
    if (h->series.kind == TAB_TIME_NONE)
        return tab_fail(err, TAB_VALIDATION, "options.horizon",
                        "the rows of \"%.*s\" have no time column, so there are no next steps to forecast",
                        (int)(id.n > 64 ? 64 : id.n), id.p);
    uint32_t *last = tab_arena_new_of(a, uint32_t, h->series.n + 1);
    if (last == NULL)
        return tab_no_memory(err);
    size_t series = last_rows(&h->series, rows, asked, last);
    if (series == 0)
        return tab_fail(err, TAB_VALIDATION, "options.horizon", "no row has both a time and a known target");
    if (series > ROWS / horizon || series * horizon > UINT32_MAX - 2 - rows)
        return tab_fail(err, TAB_VALIDATION, "options.horizon",
                        "%zu steps for each of %zu series exceed the limit of %d rows", horizon, series,
                        ROWS);
    h->n = series * horizon;
    *ret_asked = asked;
    *ret_last = last;
    return TAB_OK;
}

tab_status tab_horizon_make(tab_arena *a, const tab_profile *p, size_t target, size_t horizon,
                            tab_horizon *ret, tab_error *err)
{
    bool *asked = NULL;
    uint32_t *last = NULL, *from = NULL;
    TAB_TRY(find_steps(a, p, target, horizon, &asked, &last, ret, err));
    return list_steps(a, asked, last, horizon, &from, ret) && make_table(a, p, from, ret)
               ? TAB_OK
               : tab_no_memory(err);
}

static int by_step(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

tab_status tab_horizon_count(tab_arena *a, const tab_profile *p, size_t target, size_t horizon,
                             size_t *ret_steps, size_t *ret_made, tab_error *err)
{
    bool *asked = NULL;
    uint32_t *last = NULL;
    tab_horizon h;
    size_t sent = 0, n = 0;
    TAB_TRY(find_steps(a, p, target, horizon, &asked, &last, &h, err));
    uint64_t *step = tab_arena_new_of(a, uint64_t, h.rows + 1); /* that a row was sent for */
    if (step == NULL)
        return tab_no_memory(err);
    for (size_t r = 0; r < h.rows; r++) {
        uint32_t k = h.series.series[r];
        size_t i = step_of(&h.series, r, asked, last, horizon);
        if (i < horizon)
            step[n++] = (uint64_t)k * horizon + i;
    }
    qsort(step, n, sizeof *step, by_step);
    for (size_t i = 0; i < n; i++)
        sent += i == 0 || step[i] != step[i - 1];
    *ret_steps = h.n;
    *ret_made = h.n - sent;
    return TAB_OK;
}

/* ---- the forecast ------------------------------------------------------------------------------------- */

/* Ends r before its first row that was made; results are in the order of rows. */
static void cut_results(Tabella__Results *r, size_t rows)
{
    size_t k = r->n_row, n = r->n_row;
    while (k > 0 && r->row[k - 1] >= rows)
        k--;
    if (n == 0)
        return;
    r->n_row = k;
    r->n_label = r->n_label > 0 ? k : 0;
    r->n_probabilities = r->n_probabilities / n * k;
    r->n_value = r->n_value > 0 ? k : 0;
    r->n_std = r->n_std > 0 ? k : 0;
    r->n_quantiles = r->n_quantiles / n * k;
    r->n_anomaly_score = r->n_anomaly_score > 0 ? k : 0;
    r->n_reasons = r->n_reasons > 0 ? k : 0;
    r->n_doubt = r->n_doubt > 0 ? k : 0;
    r->n_regime = r->n_regime > 0 ? k : 0;
}

static size_t level_at(const Tabella__Prediction *m, double level)
{
    size_t k = 0;
    while (k < m->n_quantile_levels && fabs(m->quantile_levels[k] - level) > 1e-9)
        k++;
    return k;
}

/* The three numbers of each step. */
static bool tell_values(tab_arena *a, const tab_horizon *h, const Tabella__Prediction *m,
                        Tabella__Forecast *f)
{
    const Tabella__Results *r = m->missing_target_results;
    size_t levels = m->n_quantile_levels, low = level_at(m, 0.1), high = level_at(m, 0.9);
    uint32_t *at = tab_arena_new_of(a, uint32_t, h->rows + h->made + 1); /* result of a row, from 1 */
    f->value = tab_arena_new_of(a, double, h->n + 1);
    f->low = tab_arena_new_of(a, double, h->n + 1);
    f->high = tab_arena_new_of(a, double, h->n + 1);
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; r != NULL && i < r->n_row && i < r->n_value; i++)
        at[r->row[i]] = (uint32_t)i + 1;
    for (size_t i = 0; i < h->n; i++) {
        size_t k = at[h->row[i]];
        f->value[i] = k > 0 ? r->value[k - 1] : (double)NAN;
        f->low[i] = k > 0 && low < levels ? r->quantiles[(k - 1) * levels + low] : (double)NAN;
        f->high[i] = k > 0 && high < levels ? r->quantiles[(k - 1) * levels + high] : (double)NAN;
    }
    f->n_value = f->n_low = f->n_high = h->n;
    return true;
}

/* The cells of a column at the steps. */
static Tabella__Column *tell_column(tab_arena *a, const tab_horizon *h, size_t column)
{
    tab_column c = h->table->col[column];
    double *num = c.layout == TAB_NUMBERS ? tab_arena_new_of(a, double, h->n + 1) : NULL;
    uint32_t *code = c.layout == TAB_CODED ? tab_arena_new_of(a, uint32_t, h->n + 1) : NULL;
    if (num == NULL && code == NULL)
        return NULL;
    for (size_t i = 0; i < h->n; i++)
        if (num != NULL)
            num[i] = c.num[h->row[i]];
        else
            code[i] = c.code[h->row[i]];
    c.num = num;
    c.code = code;
    return tab_cells_message(a, &c, h->n);
}

/* One column of times: the table's own; of times in parts as ISO 8601 has them, of the order of rows
 * places. */
static Tabella__Column *tell_times(tab_arena *a, const tab_horizon *h)
{
    const tab_series *s = &h->series;
    if (s->times == 1)
        return tell_column(a, h, s->time[0]);
    bool days = s->unit != TAB_STEP_SECONDS;
    tab_time_writing w = { .format = days ? "%Y-%m-%d" : "%Y-%m-%dT%H:%M:%S",
                           .number = -1,
                           .slope = 1,
                           .before = TAB_S(""),
                           .after = TAB_S("") };
    tab_builder *b = tab_builder_new(a, TAB_S("time"));
    tab_column c;
    for (size_t i = 0; b != NULL && i < h->n; i++)
        if (s->kind == TAB_TIME_ORDER || !s->calendar)
            tab_builder_number(b, h->when[i]);
        else
            tab_builder_text(b, tab_time_written(a, &w, s, h->when[i]));
    return b != NULL && tab_builder_finish(b, &c) ? tab_cells_message(a, &c, h->n) : NULL;
}

bool tab_horizon_tell(tab_arena *a, const tab_horizon *h, uint32_t table, const char *method,
                      Tabella__Prediction *m)
{
    const tab_series *s = &h->series;
    Tabella__Forecast *f = tab_message(a, Tabella__Forecast, TABELLA__FORECAST__INIT);
    bool number;
    if (f == NULL)
        return false;
    f->time = tab_arena_new_of(a, Tabella__ColumnRef *, s->times + 1);
    f->series = tab_arena_new_of(a, Tabella__ColumnRef *, s->keys + 1);
    f->series_value = tab_arena_new_of(a, Tabella__Column *, s->keys + 1);
    f->seasons = tab_arena_new_of(a, double, s->seasons + 1);
    f->notes = tab_arena_new_of(a, char *, s->notes + 1);
    if (tab_arena_full(a) || !tell_values(a, h, m, f) || (f->at = tell_times(a, h)) == NULL)
        return false;
    for (; f->n_time < s->times; f->n_time++)
        f->time[f->n_time] = tab_column_ref(a, h->table, table, s->time[f->n_time]);
    for (; f->n_series < s->keys; f->n_series++, f->n_series_value++) {
        f->series[f->n_series] = tab_column_ref(a, h->table, table, s->key[f->n_series]);
        f->series_value[f->n_series] = tell_column(a, h, s->key[f->n_series]);
    }
    for (; f->n_seasons < s->seasons; f->n_seasons++)
        f->seasons[f->n_seasons] = s->season[f->n_seasons];
    for (; f->n_notes < s->notes; f->n_notes++)
        f->notes[f->n_notes] = tab_text(s->note[f->n_notes]);
    f->step = tab_text(tab_step_text(a, s, &number));
    f->step_is_number = number;
    f->regular = s->regular;
    f->method = tab_text(method == NULL ? "the models of the other rows"
                                        : tab_arena_printf(a, "%s", method)); /* it outlives the model */
    if (m->missing_target_results != NULL)
        cut_results(m->missing_target_results, h->rows);
    m->missing_target -= h->made;
    m->forecast = f;
    return !tab_arena_full(a);
}
