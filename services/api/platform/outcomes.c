/* POST /v2/endpoints/:id/outcomes: what became true of rows that were served, as a list, a table or a
 * file; and, where they are told, the cells of those rows, for a refresh that takes them. POST .../forget:
 * such rows are kept no longer. */
#include <stdio.h>

#include "common/security/receipt.h"
#include "proto/jobs.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

enum { ROWS_MOST = 10000 };

/* ---- what came true -------------------------------------------------------------------------- */

typedef struct {
    request *r;
    Tabella__OutcomeRow **row;
    size_t n;
} rows_read;

/* What was written of a row's cells, as o's. */
static tab_status take_cells(request *r, tab_out *w, Tabella__OutcomeRow *o, tab_error *err)
{
    tab_str text = w->failed ? (tab_str){ NULL, 0 } : tab_arena_copy(r->arena, tab_out_text(w));
    tab_out_free(w);
    if (text.p == NULL)
        return tab_no_memory(err);
    o->cells = (ProtobufCBinaryData){ text.n, (uint8_t *)(uintptr_t)text.p };
    return TAB_OK;
}

/* The outcome's row: a receipt that is no text is an empty one, which is refused by its row. */
static Tabella__OutcomeRow *add_row(rows_read *w, tab_str receipt, tab_cell outcome)
{
    Tabella__OutcomeRow *o = tab_arena_new_of(w->r->arena, Tabella__OutcomeRow, 1);
    if (o == NULL)
        return NULL;
    tabella__outcome_row__init(o);
    if (receipt.n < TAB_RECEIPT_TEXT && (receipt.n == 0 || memchr(receipt.p, 0, receipt.n) == NULL))
        o->receipt = receipt.n == 0 ? o->receipt : STR(tab_arena_copy(w->r->arena, receipt).p);
    else
        o->receipt = STR("-"); /* too long to be one */
    o->kind = outcome.kind == TAB_CELL_BOOL     ? 1
              : outcome.kind == TAB_CELL_NUMBER ? 2
              : outcome.kind == TAB_CELL_TEXT   ? 3
                                                : 0;
    o->number = outcome.kind == TAB_CELL_BOOL ? tab_str_eq(outcome.text, TAB_S("true")) : outcome.num;
    if (outcome.kind == TAB_CELL_TEXT)
        o->text = (ProtobufCBinaryData){ outcome.text.n, (uint8_t *)(uintptr_t)outcome.text.p };
    w->row[w->n++] = o;
    return o->receipt == NULL ? NULL : o;
}

static tab_status bad_time(size_t i, tab_error *err)
{
    char path[48];
    snprintf(path, sizeof path, "rows[%zu].at", i);
    return tab_fail(
        err, TAB_VALIDATION, path,
        "`at` must be an ISO 8601 time with its offset, such as 2026-11-24T10:00:00Z, or be left out");
}

static tab_cell json_cell(const tab_json *v)
{
    tab_cell c = { TAB_CELL_NULL, 0, TAB_S("") };
    if (v == NULL)
        return c;
    if (v->kind == TAB_JSON_BOOL)
        return (tab_cell){ TAB_CELL_BOOL, 0, v->yes ? TAB_S("true") : TAB_S("false") };
    c.kind = v->kind == TAB_JSON_NUMBER   ? TAB_CELL_NUMBER
             : v->kind == TAB_JSON_STRING ? TAB_CELL_TEXT
                                          : TAB_CELL_NULL;
    c.num = v->num;
    c.text = v->text;
    return c;
}

static tab_status read_cells(request *r, const tab_json *cells, size_t i, Tabella__OutcomeRow *o,
                             tab_error *err)
{
    char path[48];
    tab_out w = { 0 };
    snprintf(path, sizeof path, "rows[%zu].cells", i);
    if (cells == NULL || cells->kind == TAB_JSON_NULL)
        return TAB_OK;
    bool good = cells->kind == TAB_JSON_OBJECT;
    for (const tab_json *v = cells->first; good && v != NULL; v = v->next)
        good = v->kind != TAB_JSON_ARRAY && v->kind != TAB_JSON_OBJECT;
    if (!good)
        return tab_fail(
            err, TAB_VALIDATION, path,
            "`cells` must be an object with a number, a string, true, false or null for each column of the "
            "served row");
    tab_out_open(&w, '{');
    for (const tab_json *v = cells->first; v != NULL; v = v->next) {
        tab_out_key_str(&w, v->key);
        if (v->kind == TAB_JSON_NUMBER)
            tab_out_raw(&w, v->text);
        else if (v->kind == TAB_JSON_STRING)
            tab_out_str(&w, v->text);
        else if (v->kind == TAB_JSON_BOOL)
            tab_out_bool(&w, v->yes);
        else
            tab_out_null(&w);
    }
    tab_out_close(&w, '}');
    return take_cells(r, &w, o, err);
}

static tab_status read_json(rows_read *w, const tab_json *rows, tab_error *err)
{
    size_t i = 0;
    for (const tab_json *m = rows->first; m != NULL; m = m->next, i++) {
        const tab_json *receipt = tab_json_get(m, "receipt"), *outcome = tab_json_get(m, "outcome"),
                       *at = tab_json_get(m, "at");
        char path[48];
        snprintf(path, sizeof path, "rows[%zu]", i);
        if (m->kind != TAB_JSON_OBJECT)
            return tab_fail(err, TAB_VALIDATION, path,
                            "a row must be an object with `receipt` and `outcome`");
        if (outcome != NULL && (outcome->kind == TAB_JSON_ARRAY || outcome->kind == TAB_JSON_OBJECT))
            return tab_fail(err, TAB_VALIDATION, path,
                            "an outcome must be a number, a string, true or false");
        bool text = receipt != NULL && receipt->kind == TAB_JSON_STRING;
        Tabella__OutcomeRow *o = add_row(w, text ? receipt->text : TAB_S(""), json_cell(outcome));
        if (o == NULL)
            return tab_no_memory(err);
        if (at != NULL && at->kind != TAB_JSON_NULL &&
            (at->kind != TAB_JSON_STRING || !tab_time_parse(at->text, &o->at_us)))
            return bad_time(i, err);
        TAB_TRY(read_cells(w->r, tab_json_get(m, "cells"), i, o, err));
    }
    return TAB_OK;
}

/* The column's place; t->cols: there is none. */
static size_t column_of(const tab_table *t, const char *name)
{
    size_t c = 0;
    while (c < t->cols && !tab_str_eq(t->col[c].name, tab_str_of(name)))
        c++;
    return c;
}

/* The row's other columns. */
static tab_status table_cells(request *r, const tab_table *t, size_t i, const size_t apart[3],
                              Tabella__OutcomeRow *o, tab_error *err)
{
    tab_out w = { 0 };
    tab_out_open(&w, '{');
    for (size_t c = 0; c < t->cols; c++) {
        if (c == apart[0] || c == apart[1] || c == apart[2])
            continue;
        tab_out_key_str(&w, tab_column_address(r->arena, t, c));
        tab_out_cell(&w, &t->col[c], i);
    }
    tab_out_close(&w, '}');
    return take_cells(r, &w, o, err);
}

static tab_status read_table(rows_read *w, const tab_table *t, tab_error *err)
{
    size_t receipt = column_of(t, "receipt"), outcome = column_of(t, "outcome"), at = column_of(t, "at");
    if (receipt == t->cols || outcome == t->cols)
        return tab_fail(
            err, TAB_VALIDATION, "tables[0].columns",
            "a table of outcomes must have the columns `receipt` and `outcome`, and can have `at` and those "
            "of the rows that were served");
    const size_t apart[] = { receipt, outcome, at };
    bool others = t->cols > (at < t->cols ? 3 : 2);
    for (size_t i = 0; i < t->rows; i++) {
        tab_cell r = tab_cell_at(&t->col[receipt], i);
        tab_cell when = at < t->cols ? tab_cell_at(&t->col[at], i) : (tab_cell){ .kind = TAB_CELL_NULL };
        Tabella__OutcomeRow *o =
            add_row(w, r.kind == TAB_CELL_TEXT ? r.text : TAB_S(""), tab_cell_at(&t->col[outcome], i));
        if (o == NULL)
            return tab_no_memory(err);
        if (when.kind != TAB_CELL_NULL &&
            (when.kind != TAB_CELL_TEXT || !tab_time_parse(when.text, &o->at_us)))
            return bad_time(i, err);
        if (others)
            TAB_TRY(table_cells(w->r, t, i, apart, o, err));
    }
    return TAB_OK;
}

static tab_status read_rows(request *r, Tabella__OutcomesRequest *q, tab_error *err)
{
    tab_body b = { 0 };
    TAB_TRY(body_read(r, &b, err));
    const tab_json *rows = tab_json_get(b.root, "rows");
    if (rows == NULL ? b.n_tables != 1 : b.n_tables != 0 || rows->kind != TAB_JSON_ARRAY)
        return tab_fail(err, TAB_VALIDATION, "rows",
                        "send outcomes as a list in `rows` or as one table in `tables`");
    size_t n = rows != NULL ? rows->count : b.tables[0]->rows;
    if (n > ROWS_MOST)
        return tab_fail(err, TAB_VALIDATION, "rows",
                        "a call can have at most %d outcomes; split them over several calls", ROWS_MOST);
    rows_read w = { r, tab_arena_new_of(r->arena, Tabella__OutcomeRow *, n + 1), 0 };
    if (w.row == NULL)
        return tab_no_memory(err);
    TAB_TRY(rows != NULL ? read_json(&w, rows, err) : read_table(&w, b.tables[0], err));
    q->rows = w.row;
    q->n_rows = w.n;
    return TAB_OK;
}

tab_status post_outcomes(request *r, tab_error *err)
{
    Tabella__OutcomesRequest q = TABELLA__OUTCOMES_REQUEST__INIT;
    const Tabella__OutcomesReply *y = NULL;
    tab_out *o = &r->out;
    TAB_TRY(read_rows(r, &q, err));
    q.id_or_name = STR(tab_arena_copy(r->arena, r->param[0]).p);
    TAB_TRY(call(r, "jobs", "Outcomes", &q.base, &tabella__outcomes_reply__descriptor, &y, err));
    tab_out_open(o, '{');
    uint_member(o, "accepted", y->accepted);
    uint_member(o, "ignored", y->ignored);
    uint_member(o, "kept", y->kept);
    open_member(o, "refused", '[');
    for (size_t i = 0; i < y->n_refused; i++) {
        tab_out_open(o, '{');
        uint_member(o, "row", y->refused[i]->row);
        text_member(o, "reason", y->refused[i]->reason);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    return TAB_OK;
}

/* ---- what is to be forgotten ----------------------------------------------------------------- */

static tab_status read_receipts(request *r, Tabella__ForgetOutcomesRequest *q, tab_error *err)
{
    tab_body b = { 0 };
    TAB_TRY(body_read(r, &b, err));
    const tab_json *receipts = tab_json_get(b.root, "receipts");
    if (receipts == NULL || receipts->kind != TAB_JSON_ARRAY || receipts->count == 0 ||
        receipts->count > ROWS_MOST)
        return tab_fail(err, TAB_VALIDATION, "receipts", "`receipts` must be an array of 1 to %d receipts",
                        ROWS_MOST);
    q->receipts = tab_arena_new_of(r->arena, char *, receipts->count);
    for (const tab_json *m = receipts->first; m != NULL && q->receipts != NULL; m = m->next) {
        char path[48];
        snprintf(path, sizeof path, "receipts[%zu]", q->n_receipts);
        if (m->kind != TAB_JSON_STRING || m->text.n == 0 || memchr(m->text.p, 0, m->text.n) != NULL)
            return tab_fail(err, TAB_VALIDATION, path,
                            "a receipt must be the text that came with the answer");
        /* one that is too long is cut, and so none of the endpoint's */
        tab_str text = { m->text.p, m->text.n < TAB_RECEIPT_TEXT ? m->text.n : TAB_RECEIPT_TEXT };
        q->receipts[q->n_receipts++] = STR(tab_arena_copy(r->arena, text).p);
    }
    return tab_arena_full(r->arena) ? tab_no_memory(err) : TAB_OK;
}

tab_status post_outcomes_forget(request *r, tab_error *err)
{
    Tabella__ForgetOutcomesRequest q = TABELLA__FORGET_OUTCOMES_REQUEST__INIT;
    const Tabella__ForgetOutcomesReply *y = NULL;
    tab_out *o = &r->out;
    TAB_TRY(read_receipts(r, &q, err));
    q.id_or_name = STR(tab_arena_copy(r->arena, r->param[0]).p);
    TAB_TRY(call(r, "jobs", "ForgetOutcomes", &q.base, &tabella__forget_outcomes_reply__descriptor, &y, err));
    tab_out_open(o, '{');
    uint_member(o, "forgotten", y->forgotten);
    uint_member(o, "kept", y->kept);
    uint_member(o, "unnamed", y->unnamed);
    tab_out_close(o, '}');
    return TAB_OK;
}
