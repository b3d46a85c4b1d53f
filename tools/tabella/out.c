#include "tools/tabella/out.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/time.h"

static void text(tab_out *o, const char *s)
{
    tab_out_bytes(o, s, strlen(s));
}

/* A field by RFC 4180: in quotes where it holds a comma, a quote or a line's end. */
static void field(tab_out *o, tab_str s)
{
    bool plain = true;
    for (size_t i = 0; plain && i < s.n; i++)
        plain = strchr(",\"\r\n", s.p[i]) == NULL && s.p[i] != 0;
    if (plain) {
        tab_out_bytes(o, s.p, s.n);
        return;
    }
    text(o, "\"");
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            text(o, "\"");
        tab_out_bytes(o, &s.p[i], 1);
    }
    text(o, "\"");
}

static void number(tab_out *o, double x)
{
    char buf[40];
    snprintf(buf, sizeof buf, "%.10g", x);
    text(o, buf);
}

/* A number of a table keeps all its digits; the ones above are ours. */
static void table_number(tab_out *o, double x)
{
    char buf[32];
    tab_out_bytes(o, buf, tab_number_text(x, buf));
}

void out_cell(tab_out *o, tab_cell x)
{
    if (x.kind == TAB_CELL_NUMBER && x.text.n == 0)
        table_number(o, x.num);
    else if (x.kind == TAB_CELL_BOOL)
        text(o, x.num > 0 ? "true" : "false");
    else if (x.kind != TAB_CELL_NULL)
        field(o, x.text);
}

static void cell(tab_out *o, const tab_column *c, size_t row)
{
    out_cell(o, tab_cell_at(c, row));
}

void out_header(tab_out *o, const tab_table *t)
{
    for (size_t c = 0; c < t->cols; c++) {
        if (c > 0)
            text(o, ",");
        field(o, t->col[c].name);
    }
}

/* ---- predictions ----------------------------------------------------------------------------- */

/* Index of the quantile level, or n. */
static size_t level(const Tabella__Prediction *p, double q)
{
    size_t k = 0;
    while (k < p->n_quantile_levels && (p->quantile_levels[k] < q - 1e-9 || p->quantile_levels[k] > q + 1e-9))
        k++;
    return k;
}

/* An answer: a number, or the date that it stands for. */
static void answer(tab_out *o, const Tabella__Prediction *p, double x)
{
    char at[TAB_TIME_TEXT];
    if (!p->time || !(fabs(x) < 2e11)) {
        number(o, x);
        return;
    }
    tab_time_text_s((int64_t)(x * 1e6), at);
    text(o, at);
}

void out_answer(tab_out *o, const Tabella__Prediction *p, const Tabella__Results *r, size_t i,
                const tab_column *classes)
{
    size_t levels = p->n_quantile_levels, low = level(p, 0.1), high = level(p, 0.9);
    if (r->n_label > i) {
        size_t k = r->n_probabilities / r->n_row;
        cell(o, classes, r->label[i]);
        text(o, ",");
        number(o, r->probabilities[i * k + r->label[i]]);
    } else if (r->n_value > i) {
        answer(o, p, r->value[i]);
        text(o, ",");
        if (low < levels)
            answer(o, p, r->quantiles[i * levels + low]);
        text(o, ",");
        if (high < levels)
            answer(o, p, r->quantiles[i * levels + high]);
    } else if (r->n_anomaly_score > i) {
        number(o, r->anomaly_score[i]);
        text(o, r->anomaly_score[i] >= p->threshold ? ",true" : ",false");
    }
}

void out_top(tab_out *o, const tab_table *t, const Tabella__Prediction *p)
{
    text(o, "row,");
    out_header(o, t);
    text(o, p->results == NULL                ? ","
            : p->results->n_anomaly_score > 0 ? ",anomaly_score,is_anomaly"
            : p->n_quantile_levels > 0        ? ",predicted,low_0.1,high_0.9"
                                              : ",predicted,probability");
    text(o, "\r\n");
}

void out_row(tab_out *o, const tab_table *t, size_t row, uint64_t at)
{
    number(o, (double)at);
    for (size_t c = 0; c < t->cols; c++) {
        text(o, ",");
        cell(o, &t->col[c], row);
    }
    text(o, ",");
}

/* The table's columns and, beside them, what was predicted for the row. */
static bool predictions(tab_out *o, tab_arena *a, const tab_table *t, const Tabella__Prediction *p)
{
    const Tabella__Results *parts[] = { p->results, p->missing_target_results };
    uint32_t *of =
        tab_arena_new_of(a, uint32_t, t->rows + 1); /* result of a row, twice, with its part; from 2 */
    tab_column classes = { 0 };
    size_t k =
        p->results != NULL && p->results->n_row > 0 ? p->results->n_probabilities / p->results->n_row : 0;
    if (of == NULL || (k > 0 && (p->classes == NULL || !tab_column_view(p->classes, k, &classes))))
        return false;
    for (uint32_t part = 0; part < 2; part++)
        for (uint32_t i = 0; parts[part] != NULL && i < parts[part]->n_row; i++)
            if (parts[part]->row[i] < t->rows) /* steps ahead are rows of no table */
                of[parts[part]->row[i]] = 2 * (i + 1) + part;
    out_top(o, t, p);
    for (size_t row = 0; row < t->rows; row++) {
        out_row(o, t, row, row);
        if (of[row] > 0)
            out_answer(o, p, parts[of[row] % 2], of[row] / 2 - 1, &classes);
        text(o, "\r\n");
    }
    return true;
}

/* The columns that name the series, the time, the value and its 80 % interval. */
static bool forecast(tab_out *o, tab_arena *a, const tab_table *t, const Tabella__Forecast *f)
{
    tab_column at, *key = tab_arena_new_of(a, tab_column, f->n_series + 1);
    if (key == NULL || !tab_column_view(f->at, f->n_value, &at))
        return false;
    for (size_t k = 0; k < f->n_series; k++) {
        if (!tab_column_view(f->series_value[k], f->n_value, &key[k]))
            return false;
        field(o, tab_column_address(a, t, f->series[k]->column));
        text(o, ",");
    }
    text(o, "time,predicted,low_0.1,high_0.9\r\n");
    for (size_t i = 0; i < f->n_value; i++) {
        const double told[] = { f->value[i], f->low[i], f->high[i] };
        for (size_t k = 0; k < f->n_series; k++) {
            cell(o, &key[k], i);
            text(o, ",");
        }
        cell(o, &at, i);
        for (size_t k = 0; k < 3; k++) {
            text(o, ",");
            if (!isnan(told[k]))
                number(o, told[k]);
        }
        text(o, "\r\n");
    }
    return true;
}

/* ---- filled and joined ----------------------------------------------------------------------- */

/* Table t with its filled cells; *ret: whether there are any. False: out of memory. */
static bool filled(tab_out *o, tab_arena *a, const tab_table *t, uint32_t table, const Tabella__Imputation *m,
                   bool *ret)
{
    tab_column values;
    uint32_t *of = tab_arena_new_of(a, uint32_t, t->rows * t->cols + 1); /* filled cell, from 1 */
    *ret = false;
    if (of == NULL || m->value == NULL || !tab_column_view(m->value, m->n_row, &values))
        return of != NULL;
    for (uint32_t i = 0; i < m->n_row; i++)
        if (m->table[i] == table && m->row[i] < t->rows && m->column[i] < t->cols) {
            of[(size_t)m->row[i] * t->cols + m->column[i]] = i + 1;
            *ret = true;
        }
    out_header(o, t);
    text(o, "\r\n");
    for (size_t row = 0; *ret && row < t->rows; row++)
        for (size_t c = 0; c < t->cols; c++) {
            uint32_t k = of[row * t->cols + c];
            cell(o, k > 0 ? &values : &t->col[c], k > 0 ? k - 1 : row);
            text(o, c + 1 < t->cols ? "," : "\r\n");
        }
    return true;
}

/* One row an entity; the tables' row numbers first. */
static bool joined(tab_out *o, tab_arena *a, const Tabella__Bundle *b)
{
    const Tabella__UnifiedRows *u = b->unified_rows;
    size_t cols = u->records->n_columns, tables = b->n_tables;
    tab_column *view = tab_arena_new_of(a, tab_column, cols + 1);
    if (view == NULL)
        return false;
    for (size_t t = 0; t < tables; t++) {
        text(o, t > 0 ? ",row in " : "row in ");
        field(o, (tab_str){ (const char *)b->tables[t]->id.data, b->tables[t]->id.len });
    }
    for (size_t c = 0; c < cols; c++) {
        const Tabella__Column *x = u->records->columns[c];
        if (!tab_column_view(x, u->records->rows, &view[c]))
            return false;
        text(o, ",");
        field(o, (tab_str){ (const char *)x->name.data, x->name.len });
    }
    text(o, "\r\n");
    for (size_t i = 0; i < u->records->rows; i++) {
        for (size_t t = 0; t < tables; t++) {
            if (t > 0)
                text(o, ",");
            if ((i + 1) * tables <= u->n_from_row && u->from_row[i * tables + t] != UINT32_MAX)
                number(o, u->from_row[i * tables + t]);
        }
        for (size_t c = 0; c < cols; c++) {
            text(o, ",");
            cell(o, &view[c], i);
        }
        text(o, "\r\n");
    }
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Writes o as FOLDER/name and empties it. */
static bool save(const char *folder, const char *name, tab_out *o)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = n > 0 && (size_t)n < sizeof path ? fopen(path, "wbe") : NULL;
    bool ok = f != NULL && !o->failed && fwrite(o->p, 1, o->n, f) == o->n;
    if (f != NULL && fclose(f) != 0)
        ok = false;
    if (!ok)
        fprintf(stderr, "tabella run: %s/%s: %s\n", folder, name,
                o->failed ? "out of memory" : strerror(errno));
    tab_out_free(o);
    *o = (tab_out){ 0 };
    return ok;
}

void out_filled_name(tab_str id, char *ret, size_t n)
{
    size_t at = (size_t)snprintf(ret, n, "filled-");
    for (size_t i = 0; i < id.n && at + 5 < n; i++)
        ret[at++] = (unsigned char)id.p[i] <= ' ' || strchr("/\\:*?\"<>|", id.p[i]) != NULL ? '_' : id.p[i];
    snprintf(ret + at, n - at, ".csv");
}

static bool make_folder(const char *folder)
{
    if (mkdir(folder, 0777) == 0 || errno == EEXIST)
        return true;
    fprintf(stderr, "tabella run: %s: %s\n", folder, strerror(errno));
    return false;
}

bool write_out_page(const tab_engine *e, const char *folder, const tab_table *const *tables,
                    const Tabella__Bundle *b, const findings *f)
{
    tab_out o = { 0 };
    bool ok = make_folder(folder) && write_page(&o, e, tables, b, f) && save(folder, "report.html", &o);
    tab_out_free(&o);
    return ok;
}

bool write_out(const tab_engine *e, const char *folder, const tab_table *const *tables,
               const Tabella__Bundle *b, const findings *f)
{
    tab_out o = { 0 };
    bool ok = true;
    if (!make_folder(folder))
        return false;
    const Tabella__Prediction *p = b->prediction;
    if (p != NULL)
        ok = predictions(&o, e->arena, tables[p->table], p) && save(folder, "predictions.csv", &o);
    if (ok && p != NULL && p->forecast != NULL)
        ok = forecast(&o, e->arena, tables[p->table], p->forecast) && save(folder, "forecast.csv", &o);
    for (uint32_t t = 0; ok && b->imputation != NULL && t < b->n_tables; t++) {
        char name[160];
        bool any;
        out_filled_name(tables[t]->id, name, sizeof name);
        ok = filled(&o, e->arena, tables[t], t, b->imputation, &any);
        if (ok && any)
            ok = save(folder, name, &o);
        tab_out_free(&o);
        o = (tab_out){ 0 };
    }
    if (ok && b->unified_rows != NULL)
        ok = joined(&o, e->arena, b) && save(folder, "joined.csv", &o);
    ok = ok && write_page(&o, e, tables, b, f) && save(folder, "report.html", &o);
    tab_out_free(&o);
    return ok;
}

/* ---- what a run shows -------------------------------------------------------------------------- */

void show_progress(void *arg, const char *phase, double done)
{
    (void)arg;
    static int last = -1;
    int percent = (int)(done * 100);
    if (percent != last)
        fprintf(stderr, "\r%3d%%  %-24.24s", percent, phase);
    last = percent;
}

int print_bundle(const Tabella__Bundle *b)
{
    tab_out o = { 0 };
    tab_bundle_run_json(&o, b);
    tab_out_bytes(&o, "\n", 1);
    bool ok = !o.failed && fwrite(o.p, 1, o.n, stdout) == o.n && fflush(stdout) == 0;
    tab_out_free(&o);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
